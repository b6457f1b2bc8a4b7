/* exec.c - a running Deno sandbox: its connection, commands and files. */
/* SPDX-License-Identifier: MIT */
/*
 * call_sandbox() sends a request over the sandbox's WebSocket, and connects
 * first if necessary. All other functions here send such requests.
 *
 * The output of a process is lost when the socket ends. So a command runs as a
 * supervised job, which survives that, and each request of the supervisor is a
 * short process. Such a request is a single "spawn": the output arrives without
 * another request, and the end of the output is the end of the answer.
 *
 * "readFile" returns a whole file of any size in one message, so files are read
 * as the output of a process instead.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/stop.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/deno/deno.h"
#include "providers/kit/files.h"
#include "providers/kit/rest.h"
#include "sandbox/ports/ports.h"
#include "sandbox/quote.h"
#include "sandbox/supervise/supervise.h"
#include "sandbox/transfer.h"

enum {
	PARAMS_MAX = 4 << 20,
	COMMAND_MAX = 120000, /* bytes of an argument; Linux allows 128 KiB */
	ANSWER_MAX = 4 << 20, /* bytes of a job's answer */
	/* ms after attaching, while the sandbox's end is unknown */
	UNKNOWN_MS = 30000,
	EXTEND_MS = 5000,
	EXTEND_PAUSE_MS = 60000,
	PATH_MAX_BYTES = 4096,
	WORKDIR_MS = 60000,
	TRIES = 4,
	PAUSE_MS = 300,
	/* Constants for the WebSocket: */
	OPEN_MS = 60000,
	/* for pings of the WebSocket protocol; "ping" texts are in rpc.c */
	PING_MS = 15000,
	PONG_MS = 30000,
	KILL_MS = 2000,
	/* ms between two checks whether another thread has connected */
	DIAL_MS = 20,
	HEADERS = REST_HEADERS + 2,
	/* Constants for files: */
	/* bytes; sent in one message, which can be repeated */
	SMALL = 128 << 10,
	FILE_PARAMS_MAX = 1 << 20,
	FILE_TRIES = 5,
	FILE_PAUSE_MS = 200,
	WRITE_MS = 60000, /* longest wait for the answer to a write */
	/* ms without a byte, then the rest is requested again */
	IDLE_MS = 60000,
	/* bytes of a line like "ok 123", the line end included */
	HEAD_MAX = 32,
};

struct deno_box *deno_box(struct sandbox *sb)
{
	struct deno_box *b = sb->priv;

	if (!b) {
		b = xcalloc(1, sizeof(*b));
		pthread_mutex_init(&b->dial, NULL);
		pthread_mutex_init(&b->lock, NULL);
		b->rpc = deno_rpc_new();
		sb->priv = b;
	}
	return b;
}

void deno_add_hint(struct error *err)
{
	if (err->code == ERR_AUTH && !err->hint[0])
		error_hint(err, "Check that DENO_DEPLOY_TOKEN is a token of "
				"this organization: https://console.deno.com "
				"(Settings, Access Tokens)");
}

int deno_add_headers(const struct deno *d, struct rest *r, struct error *err)
{
	char *bearer = xasprintf("Bearer %s", d->token);
	int rc = rest_header(r, "Authorization", bearer, err);

	mem_wipe(bearer);
	if (rc == 0 && d->org)
		rc = rest_header(r, "X-Deno-Org", d->org, err);
	return rc;
}

int deno_server(const struct deno *d, const char *region, struct rest *r,
		struct error *err)
{
	char name[DENO_REGION] = { 0 };

	if (strncmp(region, "sbx_", 4) == 0)
		region += 4;
	snprintf(name, sizeof(name), "%.*s", DENO_REGION - 1, region);
	*r = (struct rest){ .http = d->console.http };
	r->base = d->fixed ? xstrdup(d->fixed)
			   : xasprintf("https://%s.%s", name, d->domain);
	return deno_add_headers(d, r, err);
}

int deno_call_server(struct sandbox_client *client, const char *id,
		     struct http_request *ask, struct http_response *res,
		     const struct stop *stop, struct error *err)
{
	char *path = xasprintf("/api/v3/sandbox/%s%s", id,
			       ask->path ? ask->path : "");
	struct rest server = { 0 };
	int rc = deno_server(client->priv, id, &server, err);

	ask->path = path;
	if (rc == 0)
		rc = rest_call(&server, ask, res, stop, err);
	deno_add_hint(err);
	rest_release(&server);
	free(path);
	return rc;
}

/* Returns for how many seconds from now the sandbox should live. The request
 * sets the end, it does not add to it, so a short one would shorten the life.
 * When dcode attaches, it does not know the sandbox's end, which may be
 * DENO_LIFETIME_S away: it requests all of that. After UNKNOWN_MS that end is
 * less than DENO_LONGEST_S away, so the usual request cannot shorten the life
 * any more. */
static int64_t extension_seconds(const struct deno_box *b, int64_t lifetime_s)
{
	if (b->attached && clock_ms() - b->attached < UNKNOWN_MS)
		return DENO_LIFETIME_S;
	if (b->attached || lifetime_s > DENO_LONGEST_S)
		return DENO_LONGEST_S;
	return lifetime_s;
}

/* Extends the sandbox's life. Request and answer are {"stop_at_ms":N}; the
 * server may grant less (sandbox.js of @deno/sandbox 0.13.2). */
int deno_extend(struct sandbox *sb, int64_t lifetime_s, const struct stop *stop,
		struct error *err)
{
	struct deno_box *b = deno_box(sb);
	int64_t now = clock_unix_ms();
	int64_t end = now + extension_seconds(b, lifetime_s) * 1000;
	char *body = xasprintf("{\"stop_at_ms\":%" PRId64 "}", end);
	struct http_request ask = { .method = "PATCH",
				    .body = str_of(body),
				    .what = "extending the sandbox's life",
				    .flags = REST_AGAIN };
	struct http_response res = { 0 };
	int rc = deno_call_server(sb->client, sb->id, &ask, &res, stop, err);

	if (rc == 0) {
		cJSON *tree = json_parse(buf_str(&res.body));

		if (!tree && res.body.len)
			rc = error_set(err, ERR_PROTOCOL,
				       "%s: the answer is not JSON", ask.what);
		pthread_mutex_lock(&b->lock);
		b->ends = clock_ms() + json_int(tree, "stop_at_ms", end) - now;
		pthread_mutex_unlock(&b->lock);
		cJSON_Delete(tree);
	} else if (err->code == ERR_NOT_FOUND) {
		err->code = ERR_GONE;
	}
	http_response_release(&res);
	free(body);
	return rc;
}

static void on_header(void *arg, struct str line)
{
	char **id = arg;
	size_t colon = str_find(line, ':');
	struct str name = { line.ptr, colon };
	struct str value = str_trim(str_skip(line, colon + 1));

	if (!str_is_nocase(name, "x-deno-sandbox-id") || !value.len)
		return;
	free(*id);
	*id = xstrndup(value.ptr, value.len);
}

/* Sets err->code after a refused connection, so that the caller can decide
 * about a retry. */
static void classify_failure(const struct http_response *answer,
			     struct error *err)
{
	int status = answer->status;

	if (status == 404 || status == 410)
		err->code = status == 410 ? ERR_GONE : ERR_NOT_FOUND;
	else if (status == 408 || status == 425 || status == 429 ||
		 status >= 500)
		err->code = ERR_NETWORK;
	deno_add_hint(err);
}

int deno_open_socket(struct sandbox *sb, const struct deno_opening *o,
		     const struct stop *stop, struct error *err)
{
	char *url = xasprintf("%s%s", o->server->base, o->path);
	const char *headers[HEADERS + 1] = { 0 };
	struct http_response answer = { .retry_after_ms = -1 };
	struct ws_request ask = { .url = url,
				  .headers = headers,
				  .message_max = DENO_MESSAGE_MAX,
				  .open_ms = OPEN_MS,
				  .ping_ms = PING_MS,
				  .pong_ms = PONG_MS,
				  .header = on_header,
				  .arg = o->id,
				  .answer = &answer };
	struct ws *ws = NULL;
	size_t n = 0;
	int rc;

	for (; o->server->headers[n]; n++)
		headers[n] = o->server->headers[n];
	headers[n] = o->header;
	rc = ws_open(&ws, sb->client->http, &ask, stop, err);
	if (rc < 0)
		classify_failure(&answer, err);
	else
		rc = deno_rpc_set_socket(o->rpc, ws, err);
	http_response_release(&answer);
	free(url);
	return rc;
}

/* Opens a new socket to a sandbox that already exists. */
static int open_again(struct sandbox *sb, struct deno_rpc *rpc,
		      const struct stop *stop, struct error *err)
{
	char *path = xasprintf("/api/v3/sandbox/%s/connect", sb->id);
	char *id = NULL;
	struct rest server = { 0 };
	struct deno_opening o = {
		.rpc = rpc, .server = &server, .path = path, .id = &id
	};
	int rc = deno_server(sb->client->priv, sb->id, &server, err);

	if (rc == 0)
		rc = deno_open_socket(sb, &o, stop, err);
	if (rc == 0 && id && strcmp(id, sb->id) != 0) {
		deno_rpc_end(rpc);
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: asked for sandbox "
			       "%s, got %.100s",
			       sb->id, id);
	}
	if (rc < 0 && err->code == ERR_NOT_FOUND)
		err->code = ERR_GONE;
	if (rc < 0 && err->code == ERR_GONE)
		error_set(err, ERR_GONE, "the sandbox %s has ended", sb->id);
	rest_release(&server);
	free(id);
	free(path);
	return rc;
}

/* Connects if necessary. One thread connects, the others wait for it. */
static int ensure_connected(struct sandbox *sb, const struct stop *stop,
			    struct error *err)
{
	struct deno_box *b = deno_box(sb);
	int rc = 0;

	if (deno_rpc_alive(b->rpc))
		return 0;
	while (pthread_mutex_trylock(&b->dial) != 0)
		if (stop_sleep(stop, DIAL_MS, err) < 0)
			return -1;
	if (!deno_rpc_alive(b->rpc))
		rc = open_again(sb, b->rpc, stop, err);
	pthread_mutex_unlock(&b->dial);
	return rc;
}

/* Like deno_rpc_call(), but opens a new socket if the old one has ended. Error
 * messages begin with what. ERR_GONE: the sandbox does not exist. */
static int call_sandbox(struct sandbox *sb, struct deno_call *c,
			const char *what, const struct stop *stop,
			struct error *err)
{
	int rc = ensure_connected(sb, stop, err);

	if (rc == 0)
		rc = deno_rpc_call(deno_box(sb)->rpc, c, stop, err);
	if (rc < 0 && err->code != ERR_CANCELLED && err->code != ERR_GONE)
		error_wrap(err, "%s", what);
	return rc;
}

static int add_env(struct sandbox *sb, struct buf *out, struct error *err)
{
	cJSON *env = cJSON_CreateObject();
	int rc = env_list_add(sb->client->settings, "deno", "env", env, err);

	if (rc == 0 && env->child) {
		buf_adds(out, ",\"env\":");
		json_print(out, env);
	}
	cJSON_Delete(env);
	return rc;
}

/* Runs a command in sh and reads its output until it ends. Error output is
 * dropped. */
static int run_shell(struct sandbox *sb, struct str command, struct buf *out,
		     const struct stop *stop, struct error *err)
{
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct deno_call c = { .method = "spawn", .out = out };
	int rc;

	buf_adds(&params, "{\"command\":\"/bin/sh\",\"args\":[\"-c\",");
	json_quote(&params, command);
	buf_addc(&params, ']');
	rc = add_env(sb, &params, err);
	buf_adds(&params, ",\"stdout\":\"piped\",\"stderr\":\"null\"}");
	c.params = buf_str(&params);
	if (rc == 0)
		rc = buf_check(&params, "the command", err);
	if (rc == 0)
		rc = call_sandbox(sb, &c, "running the command", stop, err);
	buf_release(&params);
	return rc;
}

/* Extends the sandbox's life when half of it is over. Errors are ignored,
 * because the command can still run. */
static void extend_if_due(struct sandbox *sb, const struct stop *stop)
{
	struct deno_box *b = deno_box(sb);
	struct stop within = stop_within(stop, EXTEND_MS);
	struct error ignored = { 0 };
	int64_t lifetime;
	bool due;

	pthread_mutex_lock(&b->lock);
	lifetime = b->lifetime_s;
	due = lease_due(b->ends, lifetime, EXTEND_PAUSE_MS, &b->asked);
	pthread_mutex_unlock(&b->lock);
	if (due)
		(void)deno_extend(sb, lifetime, &within, &ignored);
}

/* Implements supervisor.call: runs one script in the sandbox. */
static int run_script(void *arg, struct str command, int64_t wait_ms,
		      struct buf *out, const struct stop *stop,
		      struct error *err)
{
	struct sandbox *sb = arg;

	(void)wait_ms;
	extend_if_due(sb, stop);
	return run_shell(sb, command, out, stop, err);
}

int deno_execute(struct sandbox *sb, const struct exec_request *req,
		 struct exec_result *res, const struct stop *stop,
		 struct error *err)
{
	const struct supervisor s = { .call = run_script,
				      .arg = sb,
				      .max_command = COMMAND_MAX,
				      .max_answer = ANSWER_MAX };

	return supervise_execute(sb, req, res, &s, stop, err);
}

/* Sets the working directory from a line like "cwd:/home/sandbox". */
static int parse_workdir(struct sandbox *sb, struct str said, struct error *err)
{
	said = str_trim(said);
	if (!str_starts(said, "cwd:/") || memchr(said.ptr, '\n', said.len))
		return error_set(err, ERR_REMOTE,
				 "cannot enter the working directory");
	said = str_skip(said, 4);
	free(sb->workdir);
	sb->workdir = xstrndup(said.ptr, said.len);
	return 0;
}

int deno_set_workdir(struct sandbox *sb, const struct stop *stop,
		     struct error *err)
{
	struct stop within = stop_within(stop, WORKDIR_MS);
	struct buf command = BUF_INIT(PATH_MAX_BYTES * 16);
	const char *dir = NULL;
	int rc = settings_directory(sb->client->settings, "deno", "workdir",
				    &dir, err);

	if (rc == 0 && dir) {
		buf_adds(&command, "mkdir -p -- ");
		quote_word(&command, str_of(dir));
		buf_adds(&command, " && cd -- ");
		quote_word(&command, str_of(dir));
		buf_adds(&command, " && ");
	}
	buf_adds(&command, "printf 'cwd:%s' \"$(pwd)\"");
	for (int i = 1; rc == 0; i++) {
		struct buf out = BUF_INIT(PATH_MAX_BYTES);
		struct error why = { 0 };

		rc = run_shell(sb, buf_str(&command), &out, &within, &why);
		if (rc == 0)
			rc = parse_workdir(sb, buf_str(&out), &why);
		buf_release(&out);
		if (rc == 0)
			break;
		if (i < TRIES &&
		    (why.code == ERR_NETWORK || why.code == ERR_PROTOCOL))
			rc = retry_sleep(&why, i * PAUSE_MS, &within, err);
		else
			*err = why;
	}
	buf_release(&command);
	return rc;
}

/* Ports. A connection is a process with the relay (src/sandbox/ports/relay.c),
 * on a WebSocket of its own: a client that does not read stops that socket, and
 * must not stop the sandbox's commands. */

/* deno_call.sink */
static int pass_output(void *arg, struct str chunk, struct error *err)
{
	const struct exec_request *req = arg;
	struct buf ignored = BUF_INIT(0);

	return req->output(req->arg, EXEC_STDOUT, chunk, &ignored, err);
}

static void kill_process(struct deno_rpc *rpc, int64_t pid)
{
	struct stop stop = stop_cleanup(KILL_MS);
	struct error ignored = { 0 };
	char params[64];
	struct deno_call c = { .method = "processKill" };

	snprintf(params, sizeof(params),
		 "{\"pid\":%" PRId64 ",\"signal\":\"SIGKILL\"}", pid);
	c.params = str_of(params);
	(void)deno_rpc_call(rpc, &c, &stop, &ignored);
}

/* Runs a command with live output and a source: see ports_dial_by_command(). */
static int run_relay(struct sandbox *sb, const struct exec_request *req,
		     struct exec_result *res, const struct stop *stop,
		     struct error *err)
{
	struct buf params = BUF_INIT(PARAMS_MAX);
	struct buf out = BUF_INIT((size_t)DENO_FULL + DENO_MESSAGE_MAX);
	struct deno_rpc *rpc = deno_rpc_new();
	struct deno_call c = { .method = "spawn",
			       .out = &out,
			       .sink = pass_output,
			       .arg = (void *)req,
			       .source = req->source,
			       .source_arg = req->source_arg,
			       .source_fd = req->source_fd,
			       .stream = "stdinStreamId",
			       .pid = -1 };
	int rc;

	(void)res;
	buf_adds(&params, "{\"command\":\"/bin/sh\",\"args\":[\"-c\",");
	json_quote(&params, req->command);
	buf_adds(&params, "],\"stdout\":\"piped\",\"stderr\":\"null\"");
	c.params = buf_str(&params);
	rc = open_again(sb, rpc, stop, err);
	if (rc == 0)
		rc = deno_rpc_call(rpc, &c, stop, err);
	if (rc < 0 && c.pid >= 0)
		kill_process(rpc, c.pid);
	deno_rpc_free(rpc);
	buf_release(&params);
	buf_release(&out);
	return rc;
}

static int dial_port(struct sandbox *sb, unsigned port, struct port_link *link,
		     const struct stop *stop, struct error *err)
{
	extend_if_due(sb, stop);
	return ports_dial_by_command(sb, run_relay, port, link, stop, err);
}

/* exposeHttp() of @deno/sandbox 0.13.2, read 2026-11-26. */
static int publish_port(struct sandbox *sb, unsigned port, struct port_url *u,
			const struct stop *stop, struct error *err)
{
	struct http_request ask = { .method = "POST",
				    .path = "/expose/http",
				    .body = STR("{}"),
				    .what = "opening the port" };
	struct http_response res = { 0 };
	struct buf params = BUF_INIT(PATH_MAX_BYTES);
	struct deno_call c = { .method = "exposeHttp" };
	cJSON *tree = NULL;
	const char *domain;
	int rc = deno_call_server(sb->client, sb->id, &ask, &res, stop, err);

	if (rc == 0)
		tree = json_parse(buf_str(&res.body));
	domain = json_string(tree, "domain", "");
	if (rc == 0 && !port_host_ok(domain))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no domain");
	buf_addf(&params, "{\"domain\":\"%s\",\"port\":%u}", domain, port);
	c.params = buf_str(&params);
	if (rc == 0)
		rc = call_sandbox(sb, &c, "opening the port", stop, err);
	if (rc == 0)
		u->url = xasprintf("https://%s", domain);
	cJSON_Delete(tree);
	buf_release(&params);
	http_response_release(&res);
	return rc;
}

const struct port_ops deno_ports = { .dial = dial_port,
				     .publish = publish_port };

/* Maps names of system errors. For errors without such a name, maps the names
 * of Deno's error classes. */
static enum file_error file_error_of(const char *code)
{
	static const struct {
		const char *name;
		enum file_error error;
	} names[] = {
		{ "ENOENT", FILE_NOT_FOUND },
		{ "NotFound", FILE_NOT_FOUND },
		{ "EACCES", FILE_PERMISSION_DENIED },
		{ "EPERM", FILE_PERMISSION_DENIED },
		{ "EROFS", FILE_PERMISSION_DENIED },
		{ "PermissionDenied", FILE_PERMISSION_DENIED },
		{ "NotCapable", FILE_PERMISSION_DENIED },
		{ "EISDIR", FILE_IS_DIRECTORY },
		{ "IsADirectory", FILE_IS_DIRECTORY },
		{ "ENOTDIR", FILE_INVALID_PATH },
		{ "NotADirectory", FILE_INVALID_PATH },
		{ "ENAMETOOLONG", FILE_INVALID_PATH },
		{ "EEXIST", FILE_INVALID_PATH }, /* the parent is a file */
		{ "AlreadyExists", FILE_INVALID_PATH },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i].name, code) == 0)
			return names[i].error;
	return FILE_OTHER;
}

/* Appends the parameters of a write request. A file held in memory is part of
 * them. For any other file the content follows as a stream, so the closing "}"
 * is left out: see deno_call.params. */
static void add_params(const struct file_source *s, struct buf *params)
{
	buf_addc(params, '{');
	json_member(params, "path", str_of(s->file->path));
	if (s->file->mode)
		buf_addf(params, ",\"options\":{\"mode\":%d}",
			 s->file->mode & 07777);
	if (!s->is_held)
		return;
	buf_adds(params, ",\"content\":\"");
	json_base64(params, buf_str(&s->held));
	buf_adds(params, "\"}");
}

static int write_once(struct sandbox *sb, struct file_source *s, char *code,
		      const struct stop *stop, struct error *err)
{
	struct buf params = BUF_INIT(FILE_PARAMS_MAX);
	struct deno_call c = { .method = "writeFile",
			       .source = s->is_held ? NULL : file_source_read,
			       .source_arg = s,
			       .stream = "contentStreamId",
			       .idle_ms = WRITE_MS };
	int rc;

	add_params(s, &params);
	c.params = buf_str(&params);
	rc = buf_check(&params, "the file", err);
	if (rc == 0)
		rc = call_sandbox(sb, &c, "writing the file", stop, err);
	snprintf(code, DENO_CODE, "%s", c.code);
	buf_release(&params);
	return rc;
}

static int make_parent(struct sandbox *sb, const char *path, char *code,
		       const struct stop *stop, struct error *err)
{
	const char *end = strrchr(path, '/');
	struct buf params = BUF_INIT(FILE_PARAMS_MAX);
	struct deno_call c = { .method = "mkdir", .idle_ms = IDLE_MS };
	int rc = 0;

	buf_addc(&params, '{');
	json_member(&params, "path",
		    (struct str){ path, (size_t)(end - path) });
	buf_adds(&params, ",\"options\":{\"recursive\":true}}");
	c.params = buf_str(&params);
	if (end > path)
		rc = call_sandbox(sb, &c, "making the directory", stop, err);
	snprintf(code, DENO_CODE, "%s", c.code);
	buf_release(&params);
	return rc;
}

/* Writes a file. If it is held in memory, it can be sent twice: its directory
 * is created only if the first try shows that it is missing. A stream cannot be
 * sent again, so its directory is always created before. */
static int write_with_parent(struct sandbox *sb, struct file_source *s,
			     char *code, const struct stop *stop,
			     struct error *err)
{
	struct error why = { 0 };
	int rc = -1;

	if (s->is_held)
		rc = write_once(sb, s, code, stop, &why);
	if (rc < 0 && (!s->is_held || file_error_of(code) == FILE_NOT_FOUND)) {
		why = (struct error){ 0 };
		rc = make_parent(sb, s->file->path, code, stop, &why);
		if (rc == 0)
			rc = write_once(sb, s, code, stop, &why);
	}
	if (rc < 0)
		*err = why;
	return rc;
}

static bool is_passing(const struct error *why)
{
	return why->code == ERR_NETWORK || why->code == ERR_PROTOCOL;
}

static int upload_one(struct sandbox *sb, struct transfer *f,
		      const struct stop *stop, struct error *err)
{
	struct file_source s;
	int rc = file_source_open(&s, f, SMALL, err);

	for (int i = 1; rc == 0; i++) {
		char code[DENO_CODE] = "";
		struct error why = { 0 };

		if (write_with_parent(sb, &s, code, stop, &why) == 0)
			break;
		if (why.code == ERR_REMOTE) {
			enum file_error e = file_error_of(code);

			transfer_fail(f, e, e == FILE_OTHER ? why.message : "");
			break;
		}
		if (s.failed || s.sent || i == FILE_TRIES ||
		    !is_passing(&why)) {
			*err = why;
			rc = -1;
		} else {
			rc = retry_sleep(&why, (int64_t)i * FILE_PAUSE_MS, stop,
					 err);
		}
	}
	if (rc < 0 && s.failed) {
		transfer_fail(f, FILE_OTHER, s.why.message);
		rc = 0;
	}
	file_source_release(&s);
	return rc;
}

struct deno_download {
	struct transfer *file;
	char head[HEAD_MAX + 1]; /* "ok SIZE", without the line end */
	size_t head_len;
	bool headed;
	int64_t size; /* size of the file; -1: not known yet */
	int64_t got;
	/* the file's sink failed, or the file changed; why has the error */
	bool failed;
	struct error why;
};

static int fail_file(struct deno_download *d, const struct error *err)
{
	d->failed = true;
	d->why = *err;
	return -1;
}

/* Parses the line "ok SIZE" in front of the content. */
static int parse_head(struct deno_download *d, struct error *err)
{
	struct str head = { d->head, d->head_len };
	int64_t size = -1;

	if (!str_starts(head, "ok ") ||
	    !str_to_int(str_skip(head, strlen("ok ")), &size) || size < 0)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no file");
	if (d->size >= 0 && d->size != size) {
		error_set(err, ERR_REMOTE, "the file changed in the meantime");
		return fail_file(d, err);
	}
	d->headed = true;
	d->size = size;
	return 0;
}

/* Parses the first line of the output, then passes the rest to the file's
 * sink. */
static int on_output(void *arg, struct str chunk, struct error *err)
{
	struct deno_download *d = arg;

	while (!d->headed && chunk.len) {
		char c = chunk.ptr[0];

		chunk = str_skip(chunk, 1);
		if (c != '\n' && d->head_len < HEAD_MAX)
			d->head[d->head_len++] = c;
		else if (parse_head(d, err) < 0)
			return -1;
	}
	if ((int64_t)chunk.len > d->size - d->got && d->headed) {
		error_set(err, ERR_REMOTE, "the file changed in the meantime");
		return fail_file(d, err);
	}
	d->got += (int64_t)chunk.len;
	if (!chunk.len || d->file->write(d->file->arg, chunk, err) == 0)
		return 0;
	return fail_file(d, err);
}

/* Reads the rest of the file from offset d->got on. Returns 0 with d->size -1
 * if this way of reading does not work for the file. */
static int read_once(struct sandbox *sb, struct deno_download *d,
		     const struct stop *stop, struct error *err)
{
	static const char script[] =
		"exec 3<\"$1\" && [ -f \"$1\" ] && "
		"printf 'ok %s\\n' \"$(($(wc -c <\"$1\")))\" && "
		"if [ \"$2\" = 1 ]; then exec cat <&3; "
		"else exec tail -c \"+$2\" <&3; fi";
	struct buf params = BUF_INIT(FILE_PARAMS_MAX);
	struct buf out = BUF_INIT((size_t)DENO_FULL + DENO_MESSAGE_MAX);
	struct deno_call c = { .method = "spawn",
			       .out = &out,
			       .sink = on_output,
			       .arg = d,
			       .idle_ms = IDLE_MS };
	int rc;

	d->headed = false;
	d->head_len = 0;
	buf_adds(&params, "{\"command\":\"/bin/sh\",\"args\":[\"-c\",");
	json_quote(&params, str_of(script));
	buf_adds(&params, ",\"sh\",");
	json_quote(&params, str_of(d->file->path));
	buf_addf(&params, ",\"%" PRId64 "\"],", d->got + 1);
	buf_adds(&params, "\"stdout\":\"piped\",\"stderr\":\"null\"}");
	c.params = buf_str(&params);
	rc = buf_check(&params, "the file's name", err);
	if (rc == 0)
		rc = call_sandbox(sb, &c, "reading the file", stop, err);
	buf_release(&params);
	buf_release(&out);
	return rc;
}

/* Returns 1 if the file was not read. The caller then uses the helper script,
 * which reads it or reports the error. */
static int download_one(struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	struct deno_download d = { .file = f, .size = -1 };

	for (int i = 1;; i++) {
		struct error why = { 0 };
		int64_t before = d.got;

		if (read_once(sb, &d, stop, &why) == 0) {
			if (d.size < 0)
				return 1;
			if (d.got == d.size)
				return 0;
			error_set(&why, ERR_NETWORK,
				  "the file became shorter while it was read");
		}
		if (d.failed) {
			transfer_fail(f, FILE_OTHER, d.why.message);
			return 0;
		}
		if (d.got > before)
			i = 0;
		if (i == FILE_TRIES || !is_passing(&why)) {
			*err = why;
			return -1;
		}
		if (retry_sleep(&why, (int64_t)i * FILE_PAUSE_MS, stop, err) <
		    0)
			return -1;
	}
}

/* Uses the helper scripts for files whose names are not UTF-8: JSON must be
 * UTF-8. */
static int upload_file(const void *arg, struct sandbox *sb, struct transfer *f,
		       const struct stop *stop, struct error *err)
{
	(void)arg;
	return str_is_utf8(str_of(f->path))
		       ? upload_one(sb, f, stop, err)
		       : transfer_upload(sb, f, 1, stop, err);
}

static int get_file(const void *arg, struct sandbox *sb, struct transfer *f,
		    const struct stop *stop, struct error *err)
{
	int rc = str_is_utf8(str_of(f->path)) ? download_one(sb, f, stop, err)
					      : 1;

	(void)arg;
	return rc > 0 ? transfer_download(sb, f, 1, stop, err) : rc;
}

int deno_upload(struct sandbox *sb, struct transfer *files, size_t n,
		const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { upload_file, NULL };

	return transfer_each(sb, files, n, &m, stop, err);
}

int deno_download(struct sandbox *sb, struct transfer *files, size_t n,
		  const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { get_file, NULL };

	return transfer_each(sb, files, n, &m, stop, err);
}

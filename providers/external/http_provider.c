/* http_provider.c - sandboxes of a REST service that config.toml describes. */
/* SPDX-License-Identifier: MIT */
/* send_call() sends one request, which compose_request() fills in from the
 * description. A service may give each sandbox its own server for commands and
 * files (set_server). Commands run as supervised jobs (run_script). Large files
 * are transferred by requests, small ones by commands. Begin with
 * create_sandbox(); http_provider_new() is at the end. */
#include "providers/external/http_provider.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/path.h"
#include "net/events.h"
#include "net/resolve.h"
#include "net/retry.h"
#include "providers/kit/files.h"
#include "providers/kit/rest.h"
#include "sandbox/quote.h"
#include "sandbox/supervise/supervise.h"
#include "sandbox/transfer.h"

enum {
	URL_MAX = 64 << 10,
	BODY_MAX = 4 << 20,
	IDLE_MS = 60000,
	HEADER_MAX = 16 << 10,
	/* first pause; each is twice as long as the one before */
	POLL_MS = 500,
	POLL_MOST_MS = 4000,
	READY_MS = 30000, /* for the answer to one poll */
	LIFETIME_S = 3600,
	USER_COMMAND_MAX = 32 << 10, /* bytes; 80 KiB when encoded */
	/* Constants for commands: */
	/* bytes; Linux allows 128 KiB in one argument */
	COMMAND_MAX = 96 << 10,
	ANSWER_MAX = 1 << 20,
	/* bytes of a command's output if http_service.held is set */
	HELD_MAX = 8 << 20,
	SLACK_MS = 10000,
	MEMORY_MAX = 1 << 20, /* bytes of services.json */
	MEMORY_S = 7 * 24 * 3600,
	/* Constants for files: */
	SMALL = 48 << 10, /* bytes; a command transfers such files faster */
	LONGEST_MS = 3600000,
};

struct http_service { /* sandbox_client.priv points to it */
	const struct http_provider *p;
	const struct settings *settings; /* borrowed */
	struct rest rest;
	int64_t start_ms; /* see struct sandbox_client */
	/* processes end with their execute request: see supervise_probe() */
	bool held;
};

/* sandbox.priv points to it if the sandbox has its own server */
struct http_box {
	struct rest rest; /* server for execute, read and write */
	/* Set by an attach that sent no request: the first command finds out
	 * whether the sandbox runs. */
	bool unsure;
};

struct http_call { /* one request to the service */
	const struct http_service *service;
	const struct http_box *box; /* the sandbox of the request, or NULL */
	enum http_op op;
	struct http_values values;
	/* The caller sets flags, source, data, arg and, to override the
	 * operation's, timeout_ms. compose_request() fills in the rest. */
	struct http_request ask;
};

/* Returns the server for an operation: commands and files use the sandbox's own
 * server, if it has one. */
static const struct rest *server_of(const struct http_call *c)
{
	const struct http_box *box = c->box;
	bool own = c->op == OP_EXECUTE || c->op == OP_READ || c->op == OP_WRITE;

	return own && box && box->rest.base ? &box->rest : &c->service->rest;
}

/* Makes a call with the values that all requests of this sandbox have. sb may
 * be NULL. */
static struct http_call make_call(const struct sandbox_client *client,
				  const struct sandbox *sb, enum http_op op)
{
	const struct http_service *t = client->priv;
	struct http_call c = { .service = t,
			       .op = op,
			       .values = { .params = t->p->config.params,
					   .settings = t->settings } };

	c.values.is[VALUE_WORKDIR] = str_of(t->p->made.base.workdir);
	if (sb) {
		c.values.is[VALUE_ID] = str_of(sb->id);
		c.box = sb->priv;
	}
	return c;
}

/* Writes path and body into their buffers and refers to both in c->ask. */
static int compose_request(const struct http_operation *op, struct http_call *c,
			   struct buf *path, struct buf *body,
			   struct error *err)
{
	struct http_values v = c->values;
	struct buf command = BUF_INIT(BODY_MAX);
	int rc = 0;

	if (op->shell) {
		rc = http_text_expand(&command, op->shell, CONTEXT_SHELL, &v,
				      err);
		if (rc == 0)
			rc = buf_check(&command, "the command", err);
		v.is[VALUE_COMMAND] = buf_str(&command);
	}
	if (rc == 0)
		rc = http_text_path(path, op->path, &v, err);
	if (rc == 0 && op->body && op->body->kind == TOML_STRING) {
		rc = http_text_expand(body, op->body->text, CONTEXT_RAW, &v,
				      err);
		if (rc == 0)
			rc = buf_check(body, "the request", err);
		c->ask.type = op->type ? op->type : "text/plain";
	} else if (rc == 0 && op->body) {
		rc = http_text_body(body, op->body, &v, err);
		c->ask.type = op->type;
	}
	buf_wipe(&command);
	c->ask.path = path->ptr;
	c->ask.body = buf_str(body);
	return rc;
}

/* Sends the call: like rest_call() if res is given, else like rest_json(). */
static int send_call(struct http_call *c, struct http_response *res,
		     cJSON **tree, const struct stop *stop, struct error *err)
{
	static const char *const whats[OP_COUNT] = {
		[OP_CREATE] = "creating the sandbox",
		[OP_READY] = "asking for the sandbox",
		[OP_EXECUTE] = "running the command",
		[OP_READ] = "reading the file",
		[OP_WRITE] = "writing the file",
		[OP_DELETE] = "deleting the sandbox",
		[OP_LIST] = "listing the sandboxes",
	};
	const struct http_operation *op = &c->service->p->operations[c->op];
	const struct rest *rest = server_of(c);
	struct buf path = BUF_INIT(URL_MAX);
	struct buf body = BUF_INIT(BODY_MAX);
	int rc = compose_request(op, c, &path, &body, err);

	c->ask.method = op->method;
	c->ask.what = whats[c->op];
	if (c->ask.source)
		c->ask.type = "application/octet-stream";
	if (c->ask.source || c->ask.data)
		c->ask.idle_ms = IDLE_MS;
	if (!c->ask.timeout_ms)
		c->ask.timeout_ms = op->timeout_s * 1000;
	if (c->op == OP_CREATE && c->service->start_ms)
		c->ask.timeout_ms = c->service->start_ms;
	if (rc < 0)
		error_wrap(err, "%s", c->ask.what);
	else if (res)
		rc = rest_call(rest, &c->ask, res, stop, err);
	else
		rc = rest_json(rest, &c->ask, tree, NULL, stop, err);
	buf_wipe(&path);
	buf_wipe(&body);
	return rc;
}

static int set_base(struct http_service *t, const struct http_values *v,
		    struct error *err)
{
	struct buf base = BUF_INIT(4096);
	struct str s;
	int rc = http_text_expand(&base, t->p->base, CONTEXT_RAW, v, err);

	s = buf_str(&base);
	if (rc == 0 && (base.over || !loopback_or_https(s))) {
		error_set(err, ERR_CONFIG,
			  "base: refusing to send a key to this address");
		rc = error_hint(err, "Use https://..., or http:// on a "
				     "loopback address.");
	}
	while (str_ends(s, "/"))
		s.len--;
	if (rc == 0)
		t->rest.base = xstrndup(s.ptr, s.len);
	buf_wipe(&base);
	return rc;
}

static int set_headers(struct http_service *t, const struct http_values *v,
		       struct error *err)
{
	const struct toml_value *all = t->p->headers;
	int rc = 0;

	for (size_t i = 0; rc == 0 && all && i < all->n_items; i++) {
		struct buf value = BUF_INIT(HEADER_MAX);

		rc = http_text_expand(&value, all->items[i].text,
				      CONTEXT_HEADER, v, err);
		if (rc == 0)
			rc = buf_check(&value, all->items[i].key, err);
		if (rc == 0)
			rc = rest_header(&t->rest, all->items[i].key,
					 value.len ? value.ptr : "", err);
		buf_wipe(&value);
	}
	return rc;
}

static int open_client(struct sandbox_client *client,
		       const struct settings *set, struct error *err)
{
	struct http_service *t = xcalloc(1, sizeof(*t));
	struct http_values v;

	client->priv = t;
	t->p = (const struct http_provider *)client->provider;
	t->settings = set;
	t->start_ms = client->start_ms;
	t->rest.http = client->http;
	v = make_call(client, NULL, OP_CREATE).values;
	v.project_key = &client->project_key;
	if (set_base(t, &v, err) < 0 || set_headers(t, &v, err) < 0)
		return -1;
	client->endpoint = t->rest.base;
	return 0;
}

static void close_client(struct sandbox_client *client)
{
	struct http_service *t = client->priv;

	if (!t)
		return;
	rest_release(&t->rest);
	free(t);
	client->priv = NULL;
	client->endpoint = NULL;
}

static bool is_listed(const struct toml_value *list_sandboxes,
		      const char *state)
{
	for (size_t i = 0; list_sandboxes && i < list_sandboxes->n_items; i++)
		if (!strcmp(list_sandboxes->items[i].text, state))
			return true;
	return false;
}

/* Returns 1 when the sandbox is ready, 0 if not yet, -1 if it never will be. */
static int parse_state(const struct http_operation *op, const cJSON *tree,
		       struct error *err)
{
	char *state = op->state ? json_pointer_text(tree, op->state) : NULL;
	int rc = 0;

	if (!op->state || (state && is_listed(op->is, state)))
		rc = 1;
	else if (!state)
		rc = error_set(err, ERR_PROTOCOL,
			       "the answer has no state at the JSON pointer %s",
			       op->state);
	else if (is_listed(op->failed, state))
		rc = error_set(err, ERR_REMOTE,
			       "the sandbox is in the state '%.80s'", state);
	free(state);
	return rc;
}

/* Returns the host name of a URL that loopback_or_https() accepts. */
static struct str host_of(struct str url)
{
	struct str host = str_skip(url, str_search(url, STR("://")) + 3);

	if (str_starts(host, "["))
		host.len = str_find(host, ']') + 1;
	else
		host.len = strcspn(host.ptr, ":/");
	return host;
}

static bool is_within(struct str host, const struct toml_value *within)
{
	for (size_t i = 0; i < within->n_items; i++) {
		struct str name = str_of(within->items[i].text);

		if (host.len < name.len ||
		    strncasecmp(host.ptr + host.len - name.len, name.ptr,
				name.len) != 0)
			continue;
		if (host.len == name.len ||
		    host.ptr[host.len - name.len - 1] == '.')
			return true;
	}
	return false;
}

/* Copies the description's headers. If the sandbox has its own token, that
 * replaces the Authorization header. */
static int copy_headers(struct rest *to, const struct rest *from,
			const char *token, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && from->headers[i]; i++) {
		char *name = xstrdup(from->headers[i]);
		char *value = strchr(name, ':');

		if (value) {
			*value++ = '\0';
			value += strspn(value, " ");
			if (!token || strcasecmp(name, "Authorization") != 0)
				rc = rest_header(to, name, value, err);
		}
		free(name);
	}
	if (rc == 0 && token) {
		char *value = xasprintf("Bearer %s", token);

		rc = rest_header(to, "Authorization", value, err);
		sodium_memzero(value, strlen(value));
		free(value);
	}
	return rc;
}

/* Sets the sandbox's own server from the answer of create or ready. An attacker
 * who can forge the service's answers could name another host, which would
 * receive the key and the commands. So only hosts in the description's "within"
 * are accepted, and the key is never sent in cleartext. */
static int set_server(struct sandbox *sb, const cJSON *answer,
		      struct error *err)
{
	const struct http_service *t = sb->client->priv;
	const struct http_operation *op = &t->p->operations[OP_CREATE];
	struct http_box *box = sb->priv;
	struct rest made = { .http = t->rest.http };
	char *url = op->server ? json_pointer_text(answer, op->server) : NULL;
	char *token = op->token ? json_pointer_text(answer, op->token) : NULL;
	struct str base = str_of(url ? url : t->rest.base);
	int rc = 0;

	if ((op->server && !url) || (op->token && !token)) {
		rc = 1; /* this answer does not name a server */
	} else if (url && (!loopback_or_https(base) ||
			   (!str_starts(base, "https://") &&
			    str_starts(str_of(t->rest.base), "https://")) ||
			   !is_within(host_of(base), op->within))) {
		rc = error_set(err, ERR_PROTOCOL,
			       "refusing to send the key to '%.200s': not a "
			       "host of create.within",
			       url);
	} else if (op->server || op->token) {
		while (str_ends(base, "/"))
			base.len--;
		made.base = xstrndup(base.ptr, base.len);
		rc = copy_headers(&made, &t->rest, token, err);
	}
	if (rc == 0 && made.base) {
		rest_release(&box->rest);
		box->rest = made;
		made = (struct rest){ 0 };
	}
	rest_release(&made);
	if (token)
		sodium_memzero(token, strlen(token));
	free(token);
	free(url);
	return rc;
}

/* Fails if no answer has named the server. Call after the last answer that
 * may. */
static int check_server(const struct sandbox *sb, struct error *err)
{
	const struct http_service *t = sb->client->priv;
	const struct http_operation *op = &t->p->operations[OP_CREATE];
	const struct http_box *box = sb->priv;

	if (box->rest.base || (!op->server && !op->token))
		return 0;
	return error_set(err, ERR_PROTOCOL,
			 "the answer has no address or token of the sandbox at "
			 "the JSON pointer %s",
			 op->server ? op->server : op->token);
}

/* Polls "ready" until the sandbox is ready, and reads its own server from the
 * answer. Returns at once if the description has no "ready". ERR_REMOTE: it
 * will never be ready. */
static int wait_ready(struct sandbox *sb, const struct stop *stop,
		      struct error *err)
{
	const struct http_service *t = sb->client->priv;
	const struct http_operation *op = &t->p->operations[OP_READY];
	int64_t most = sandbox_start_ms(sb->client, op->timeout_s * 1000);
	struct stop limit = stop_within(stop, most);
	int64_t pause = POLL_MS;
	int state = op->given ? 0 : 1;

	while (state == 0) {
		struct http_call c = make_call(sb->client, sb, OP_READY);
		cJSON *tree = NULL;

		c.ask.flags = REST_AGAIN;
		c.ask.timeout_ms = READY_MS;
		state = send_call(&c, NULL, &tree, &limit, err);
		if (state == 0)
			state = parse_state(op, tree, err);
		if (state == 1 && set_server(sb, tree, err) < 0)
			state = -1;
		cJSON_Delete(tree);
		if (state == 0 && stop_sleep(&limit, pause, err) < 0)
			state = -1;
		pause = pause < POLL_MOST_MS ? pause * 2 : POLL_MOST_MS;
	}
	if (state < 0 && err->code == ERR_TIMEOUT &&
	    clock_ms() < stop->deadline)
		error_set(err, ERR_TIMEOUT,
			  "the sandbox was not ready within %" PRId64 " s",
			  most / 1000);
	return state < 0 ? -1 : 0;
}

/* Appends the text of an answer without its control characters, except tabs and
 * line ends. Control characters belong to the service's framing, since the
 * supervisor answers in ASCII. */
static void add_text(struct buf *out, struct str body)
{
	for (size_t i = 0; i < body.len; i++) {
		unsigned char c = (unsigned char)body.ptr[i];

		if (c >= ' ' || c == '\n' || c == '\r' || c == '\t')
			buf_addc(out, (char)c);
	}
}

struct event_reader { /* parser of a streamed answer */
	const struct http_operation *op;
	struct buf *out;
	bool ended; /* an event contained the exit status */
};

/* Reads one event's JSON document, which may have no output. */
static int parse_event(struct event_reader *r, struct str document,
		       struct error *err)
{
	const struct http_operation *op = r->op;
	cJSON *tree = json_parse(document);
	const cJSON *text = json_pointer_get(tree, op->output);
	int rc = 0;

	if (cJSON_IsString(text) && !op->base64)
		buf_adds(r->out, text->valuestring);
	else if (cJSON_IsString(text) &&
		 !json_decode_base64(r->out, str_of(text->valuestring)))
		rc = error_set(err, ERR_PROTOCOL,
			       "the command's output is not base64");
	if (op->exit_code &&
	    cJSON_IsNumber(json_pointer_get(tree, op->exit_code)))
		r->ended = true;
	cJSON_Delete(tree);
	return rc;
}

static int on_event(void *arg, struct str event, struct str data,
		    struct error *err)
{
	(void)event;
	return parse_event(arg, data, err);
}

/* Reads an answer that consists of events. It may end after any of them. */
static int parse_stream(const struct http_operation *op, struct str body,
			struct buf *out, struct error *err)
{
	struct event_reader r = { .op = op, .out = out };
	struct str line;
	struct sse sse;
	int rc = 0;

	if (op->stream == STREAM_SSE) {
		sse_init(&sse);
		rc = sse_feed(&sse, body, on_event, &r, err);
		if (rc == 0) /* the last event may lack its empty line */
			rc = sse_feed(&sse, STR("\n\n"), on_event, &r, err);
		sse_release(&sse);
	} else {
		while (rc == 0 && str_split(&body, '\n', &line))
			rc = parse_event(&r, line, err);
	}
	if (rc == 0 && op->exit_code && !r.ended)
		rc = error_set(
			err, ERR_NETWORK,
			"the answer has no exit status at the JSON pointer %s",
			op->exit_code);
	return rc < 0 ? rc : buf_check(out, "the answer", err);
}

/* Appends the output from an answer of execute. */
static int parse_output(const struct http_operation *op, struct str body,
			struct buf *out, struct error *err)
{
	cJSON *tree = NULL;
	const cJSON *text;
	int rc = 0;

	if (op->stream)
		return parse_stream(op, body, out, err);
	if (!op->output) {
		add_text(out, body);
		return buf_check(out, "the answer", err);
	}
	tree = json_parse(body);
	text = json_pointer_get(tree, op->output);
	if (!cJSON_IsString(text))
		rc = error_set(err, ERR_PROTOCOL,
			       "the response has no command output at the JSON "
			       "pointer execute.output = \"%s\"",
			       op->output);
	else if (op->exit_code &&
		 !cJSON_IsNumber(json_pointer_get(tree, op->exit_code)))
		rc = error_set(err, ERR_PROTOCOL,
			       "the response has no exit status at the JSON "
			       "pointer execute.exit_code = \"%s\"",
			       op->exit_code);
	else if (!op->base64)
		buf_adds(out, text->valuestring);
	else if (!json_decode_base64(out, str_of(text->valuestring)))
		rc = error_set(err, ERR_PROTOCOL,
			       "the command's output is not base64");
	cJSON_Delete(tree);
	return rc < 0 ? rc : buf_check(out, "the answer", err);
}

/* Sets the error code on which the supervisor's retry depends, for a service
 * that was busy or whose own time limit has passed. */
static void classify_failure(int status, struct error *err)
{
	if (err->code == ERR_CANCELLED)
		return;
	if (status == 404 || status == 410)
		err->code = ERR_GONE;
	else if (status == 408 || status == 425 || status == 429 ||
		 status >= 500)
		err->code = ERR_NETWORK;
}

/* Runs one request of the supervisor by "execute" and appends its output. */
static int call_once(struct sandbox *sb, struct str command, int64_t wait_ms,
		     struct buf *out, const struct stop *stop,
		     struct error *err)
{
	const struct http_service *t = sb->client->priv;
	struct http_call c = make_call(sb->client, sb, OP_EXECUTE);
	struct http_response res = {
		.body = BUF_INIT(4 * (t->held ? HELD_MAX : ANSWER_MAX)),
	};
	char seconds[24];
	int rc;

	snprintf(seconds, sizeof(seconds), "%" PRId64,
		 (wait_ms + SLACK_MS / 2 + 999) / 1000);
	c.ask.timeout_ms = wait_ms + SLACK_MS;
	c.values.is[VALUE_COMMAND] = command;
	c.values.is[VALUE_TIMEOUT] = str_of(seconds);
	rc = send_call(&c, &res, NULL, stop, err);
	if (rc < 0)
		classify_failure(res.status, err);
	else
		rc = parse_output(&t->p->operations[OP_EXECUTE],
				  buf_str(&res.body), out, err);
	http_response_release(&res);
	return rc;
}

/* Implements supervisor.call. An attach may send no request, so the first call
 * may find that the sandbox does not run yet. Repeating the call is safe: the
 * supervisor starts a job only once. */
static int run_script(void *arg, struct str command, int64_t wait_ms,
		      struct buf *out, const struct stop *stop,
		      struct error *err)
{
	struct sandbox *sb = arg;
	struct http_box *box = sb->priv;
	bool unsure = box && box->unsure;
	int rc = call_once(sb, command, wait_ms, out, stop, err);

	if (unsure)
		box->unsure = false;
	if (rc < 0 && unsure && err->code == ERR_GONE)
		return error_set(err, ERR_NOT_FOUND, "unknown sandbox '%.100s'",
				 sb->id);
	if (rc == 0 || !unsure || err->code == ERR_CANCELLED)
		return rc;
	*err = (struct error){ 0 };
	if (wait_ready(sb, stop, err) < 0)
		return -1;
	return call_once(sb, command, wait_ms, out, stop, err);
}

static struct supervisor supervisor_of(struct sandbox *sb)
{
	const struct http_service *t = sb->client->priv;

	return (struct supervisor){
		.call = run_script,
		.arg = sb,
		.max_command = COMMAND_MAX,
		.max_answer = t->held ? HELD_MAX : ANSWER_MAX,
		.held = t->held,
	};
}

/* Reads from ~/.deepagents/.state/services.json what earlier runs of dcode
 * found out about services: {"acme
 * https://boxes.example.org/v1":{"held":false,"at":1795687200}}. The caller
 * frees the result; NULL if the file does not exist. */
static cJSON *read_memory(const struct sandbox_client *client, char **file)
{
	const struct http_service *t = client->priv;
	const struct settings *set = t->settings;
	struct buf text = BUF_INIT(MEMORY_MAX);
	struct error ignored = { 0 };
	cJSON *all = NULL;

	*file = path_join(settings_dir(set), ".state/services.json");
	if (path_read_regular(*file, &text, &ignored) == 0)
		all = json_parse(buf_str(&text));
	buf_release(&text);
	if (cJSON_IsObject(all))
		return all;
	cJSON_Delete(all);
	return NULL;
}

static char *memory_key(const struct sandbox_client *client)
{
	return xasprintf("%s %s", client->provider->name, client->endpoint);
}

/* Returns http_service.held as an earlier run stored it: 1 or 0, or -1 if
 * unknown. */
static int recall_held(const struct sandbox_client *client)
{
	const struct http_service *t = client->priv;
	int64_t now = clock_unix_ms() / 1000;
	char *key;
	char *file;
	cJSON *all;
	const cJSON *entry;
	int64_t age;
	int held = -1;

	if (t->p->operations[OP_EXECUTE].outlives)
		return t->p->operations[OP_EXECUTE].outlives == OUTLIVES_NO;
	key = memory_key(client);
	all = read_memory(client, &file);
	entry = json_get(all, key);
	age = now - json_int(entry, "at", 0);
	if (entry && age >= 0 && age < MEMORY_S)
		held = cJSON_IsTrue(json_get(entry, "held"));
	cJSON_Delete(all);
	free(file);
	free(key);
	return held;
}

/* Stores http_service.held for later runs. If that fails, the next run finds it
 * out again. */
static void remember_held(const struct sandbox_client *client, bool held)
{
	char *file;
	cJSON *all = read_memory(client, &file);
	cJSON *entry = cJSON_CreateObject();
	char *key = memory_key(client);
	int64_t now = clock_unix_ms() / 1000;
	struct error ignored = { 0 };
	char *text;

	if (!all)
		all = cJSON_CreateObject();
	cJSON_AddBoolToObject(entry, "held", held);
	cJSON_AddNumberToObject(entry, "at", (double)now);
	cJSON_DeleteItemFromObjectCaseSensitive(all, key);
	cJSON_AddItemToObject(all, key, entry);
	text = cJSON_PrintUnformatted(all);
	if (text)
		(void)path_write(file, str_of(text), 0600, &ignored);
	cJSON_free(text);
	cJSON_Delete(all);
	free(file);
	free(key);
}

/* Sets http_service.held: from the description, from what a run of the last
 * week has stored, or else by two requests. */
static void probe_held(struct sandbox *sb, const struct stop *stop)
{
	struct http_service *t = sb->client->priv;
	int held = recall_held(sb->client);

	if (held < 0) {
		const struct supervisor s = supervisor_of(sb);

		held = supervise_probe(&s, stop);
		remember_held(sb->client, held);
	}
	t->held = held;
	if (held)
		sb->client->lacks |= SANDBOX_LIVE;
}

/* Implements sandbox_ops.execute. */
static int execute(struct sandbox *sb, const struct exec_request *req,
		   struct exec_result *res, const struct stop *stop,
		   struct error *err)
{
	const struct supervisor s = supervisor_of(sb);

	return supervise_execute(sb, req, res, &s, stop, err);
}

static int upload_large(struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	struct http_call c = make_call(sb->client, sb, OP_WRITE);
	struct file_source source = { .file = f };
	struct http_response res = { 0 };
	char *staged = transfer_stage(f);
	int rc;

	c.values.is[VALUE_PATH] = str_of(staged);
	c.ask.timeout_ms = LONGEST_MS;
	c.ask.source = file_source_read;
	c.ask.source_size = f->size;
	c.ask.arg = &source;
	rc = send_call(&c, &res, NULL, stop, err);
	http_response_release(&res);
	if (rc == 0)
		rc = transfer_place(sb, f, staged, stop, err);
	else if (source.failed || res.status) {
		transfer_fail(f, FILE_OTHER, err->message);
		rc = 0;
	}
	transfer_unstage(sb, staged);
	free(staged);
	return rc;
}

static int upload_one(const void *arg, struct sandbox *sb, struct transfer *f,
		      const struct stop *stop, struct error *err)
{
	(void)arg;
	return f->size > SMALL || f->api_only
		       ? upload_large(sb, f, stop, err)
		       : transfer_upload(sb, f, 1, stop, err);
}

static int upload(struct sandbox *sb, struct transfer *files, size_t n,
		  const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { upload_one, NULL };

	return transfer_each(sb, files, n, &m, stop, err);
}

/* Returns the size of a readable file. -1: unknown; a download by commands then
 * reports the error. */
static int64_t get_size(struct sandbox *sb, const char *path,
			const struct stop *stop)
{
	struct exec_request req = { .cwd = "/", .plain = true };
	struct exec_result res;
	struct buf command = BUF_INIT(64 << 10);
	struct buf out = BUF_INIT(64);
	struct error ignored = { 0 };
	int64_t size = -1;

	buf_adds(&command, "f=");
	quote_word(&command, str_of(path));
	buf_adds(&command, "; [ -f \"$f\" ] && [ -r \"$f\" ] && wc -c <\"$f\"");
	req.command = buf_str(&command);
	req.output = exec_collect_output;
	req.arg = &out;
	if (!command.over && execute(sb, &req, &res, stop, &ignored) == 0 &&
	    res.exit_code == 0 && !str_to_int(str_trim(buf_str(&out)), &size))
		size = -1;
	buf_release(&command);
	buf_release(&out);
	return size;
}

static int download_large(struct sandbox *sb, struct transfer *f, int64_t size,
			  const struct stop *stop, struct error *err)
{
	struct transfer_sink d = { .file = f };
	struct http_call c = make_call(sb->client, sb, OP_READ);
	struct http_response res = { 0 };
	int rc;

	c.values.is[VALUE_PATH] = str_of(f->path);
	c.ask.timeout_ms = LONGEST_MS;
	c.ask.data = transfer_sink_write;
	c.ask.arg = &d;
	rc = send_call(&c, &res, NULL, stop, err);
	http_response_release(&res);
	if (rc == 0 && d.got < size) {
		error_set(err, ERR_PROTOCOL,
			  "only %lld of %lld bytes of the file arrived",
			  (long long)d.got, (long long)size);
		transfer_fail(f, FILE_OTHER, err->message);
	}
	if (rc == 0)
		return 0;
	if (!d.got && res.status >= 400 && err->code != ERR_CANCELLED) {
		*err = (struct error){ 0 };
		return transfer_download(sb, f, 1, stop, err);
	}
	transfer_fail(f, FILE_OTHER, err->message);
	return d.failed || res.status ? 0 : -1;
}

static int download_one(const void *arg, struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	int64_t size = get_size(sb, f->path, stop);

	(void)arg;
	return size > SMALL ? download_large(sb, f, size, stop, err)
			    : transfer_download(sb, f, 1, stop, err);
}

static int download(struct sandbox *sb, struct transfer *files, size_t n,
		    const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { download_one, NULL };

	return transfer_each(sb, files, n, &m, stop, err);
}

static int parse_id(struct sandbox *sb, const cJSON *tree, struct error *err)
{
	const struct http_service *t = sb->client->priv;
	const char *pointer = t->p->operations[OP_CREATE].id;
	char *id = json_pointer_text(tree, pointer);

	if (id && provider_config_id_ok(id)) {
		sb->id = id;
		return 0;
	}
	free(id);
	return error_set(err, ERR_PROTOCOL,
			 "the answer has no sandbox id at the JSON pointer %s",
			 pointer);
}

static void make_box(struct sandbox *sb)
{
	if (!sb->priv)
		sb->priv = xcalloc(1, sizeof(struct http_box));
}

static void discard_box(struct sandbox *sb)
{
	struct http_box *box = sb->priv;

	if (box)
		rest_release(&box->rest);
	free(box);
	sb->priv = NULL;
}

/* Creates the sandbox and waits until it is ready. */
static int create_sandbox(struct sandbox *sb, const struct sandbox_spec *spec,
			  const struct stop *stop, struct error *err)
{
	const struct http_service *t = sb->client->priv;
	struct http_call c = make_call(sb->client, NULL, OP_CREATE);
	cJSON *tree = NULL;
	char lifetime[24];
	int rc;

	make_box(sb);
	snprintf(lifetime, sizeof(lifetime), "%" PRId64, spec->lifetime_s);
	c.values.is[VALUE_LABEL] = str_of(spec->label);
	c.values.is[VALUE_OWNER] = str_of(spec->owner);
	c.values.is[VALUE_SNAPSHOT] = str_of(spec->snapshot);
	c.values.is[VALUE_LIFETIME] = str_of(lifetime);
	rc = send_call(&c, NULL, &tree, stop, err);
	/* A value was missing, so the create request was not sent. */
	if (rc < 0 && !err->http_status &&
	    (err->code == ERR_AUTH || err->code == ERR_CONFIG))
		err->nothing_made = true;
	if (rc == 0)
		rc = parse_id(sb, tree, err);
	/* Retry a create only if the service refused it (then there is no
	 * sandbox that a second one would duplicate), or if config.toml allows
	 * it. */
	if (rc < 0 && !t->p->operations[OP_CREATE].repeats &&
	    !retry_was_refused(err))
		err->exhausted = true;
	if (rc == 0 && set_server(sb, tree, err) < 0)
		rc = -1;
	cJSON_Delete(tree);
	if (rc == 0)
		rc = wait_ready(sb, stop, err);
	if (rc == 0)
		rc = check_server(sb, err);
	if (rc == 0)
		probe_held(sb, stop);
	return rc;
}

static int set_not_found(const char *id, struct error *err)
{
	return error_set(err, ERR_NOT_FOUND, "unknown sandbox '%.100s'", id);
}

static int attach_sandbox(struct sandbox *sb, const char *id,
			  const struct stop *stop, struct error *err)
{
	const struct http_service *t = sb->client->priv;
	const struct http_operation *ops = t->p->operations;
	struct exec_request req = { .command = STR(":"), .plain = true };
	struct exec_result res;
	int rc;

	if (!provider_config_id_ok(id))
		return set_not_found(id, err);
	sb->id = xstrdup(id);
	make_box(sb);
	if (sb->client->one_command && !ops[OP_CREATE].server &&
	    !ops[OP_CREATE].token && recall_held(sb->client) >= 0) {
		((struct http_box *)sb->priv)->unsure = true;
		rc = 0;
	} else if (ops[OP_READY].given) {
		rc = wait_ready(sb, stop, err);
	} else {
		rc = execute(sb, &req, &res, stop, err);
	}
	if (rc < 0 && (err->code == ERR_NOT_FOUND || err->code == ERR_GONE))
		return set_not_found(id, err);
	if (rc == 0 && !((struct http_box *)sb->priv)->unsure)
		rc = check_server(sb, err);
	if (rc == 0)
		probe_held(sb, stop);
	return rc;
}

static int remove_sandbox(struct sandbox_client *client, const char *id,
			  const struct stop *stop, struct error *err)
{
	struct http_call c = make_call(client, NULL, OP_DELETE);
	struct http_response res = { 0 };
	int rc;

	if (!provider_config_id_ok(id))
		return error_set(err, ERR_USAGE, "not an id: '%.100s'", id);
	c.values.is[VALUE_ID] = str_of(id);
	c.ask.flags = REST_MISSING_OK;
	rc = send_call(&c, &res, NULL, stop, err);
	if (res.status == 404 || res.status == 410)
		rc = 1;
	http_response_release(&res);
	return rc;
}

/* Reports one sandbox of a list, if it has one of dcode's labels. */
static void emit_item(const struct http_operation *op, const cJSON *item,
		      const char *owner, const struct info_sink *sink)
{
	char *id = json_pointer_text(item, op->id);
	char *label = json_pointer_text(item, op->label);
	char *of =
		op->item_owner ? json_pointer_text(item, op->item_owner) : NULL;
	struct sandbox_info info = {
		.id = id, .label = label, .owner = of ? of : "", .image = ""
	};

	if (id && provider_config_id_ok(id) && label &&
	    str_starts(str_of(label), "dcode-") &&
	    (!owner || !op->item_owner || !strcmp(owner, info.owner)))
		info_emit(sink, &info);
	free(id);
	free(label);
	free(of);
}

static int list_sandboxes(struct sandbox_client *client, const char *owner,
			  const struct info_sink *sink, const struct stop *stop,
			  struct error *err)
{
	const struct http_service *t = client->priv;
	const struct http_operation *op = &t->p->operations[OP_LIST];
	struct http_call c = make_call(client, NULL, OP_LIST);
	const cJSON *items;
	const cJSON *item;
	cJSON *tree = NULL;
	int rc;

	c.ask.flags = REST_AGAIN;
	c.values.is[VALUE_OWNER] = str_of(owner);
	rc = send_call(&c, NULL, &tree, stop, err);
	items = json_pointer_get(tree, op->items ? op->items : "");
	if (rc == 0 && !cJSON_IsArray(items))
		rc = error_set(err, ERR_PROTOCOL,
			       "the answer has no list of sandboxes");
	if (rc == 0)
		cJSON_ArrayForEach (item, items)
			emit_item(op, item, owner, sink);
	cJSON_Delete(tree);
	return rc;
}

static void free_provider(struct made_provider *made)
{
	struct http_provider *p = (struct http_provider *)made;

	provider_config_release(&p->config);
	free(p);
}

struct made_provider *http_provider_new(struct provider_config *d,
					struct error *err)
{
	struct http_provider *p = xcalloc(1, sizeof(*p));
	const char *colon = strrchr(d->origin, ':'); /* origin is "FILE:3" */
	char *file = xstrndup(d->origin, colon ? (size_t)(colon - d->origin)
					       : strlen(d->origin));
	int rc;

	p->config = *d;
	*d = (struct provider_config){ 0 };
	rc = http_config_read(p, file, err);
	free(file);
	if (rc < 0) {
		free_provider(&p->made);
		return NULL;
	}
	p->ops = (struct sandbox_ops){
		.open = open_client,
		.close = close_client,
		.create = create_sandbox,
		.attach = attach_sandbox,
		.list = p->operations[OP_LIST].given ? list_sandboxes : NULL,
		.execute = execute,
		.upload = p->operations[OP_WRITE].given ? upload : NULL,
		.download = p->operations[OP_READ].given ? download : NULL,
		.remove = remove_sandbox,
		.discard = discard_box,
	};
	p->made.free = free_provider;
	p->made.base = (struct sandbox_provider){
		.name = p->config.name,
		.summary = "a REST service that config.toml describes",
		.workdir = p->config.workdir ? p->config.workdir : "/workspace",
		.flags = (p->config.flags & ~(unsigned)SANDBOX_LIST) |
			 SANDBOX_LIVE | (p->ops.list ? SANDBOX_LIST : 0),
		.max_command = USER_COMMAND_MAX,
		.lifetime_s = LIFETIME_S,
		.ops = &p->ops,
		.isolation = p->config.isolation,
	};
	return &p->made;
}

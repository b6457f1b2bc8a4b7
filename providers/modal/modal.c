/* modal.c - Modal: account, commands, files, ports, the provider's table. */
/* SPDX-License-Identifier: MIT */
/*
 * Reads token, servers and environment like Modal's own clients: from variables
 * first, then from the profile in ~/.modal.toml. The settings and the
 * provider's functions are tables. Begin with read_account().
 *
 * A command is a script of the supervisor, which runs as a process that Modal's
 * router starts: run_script() starts it and reads its output until it ends.
 * Files are transferred by Modal's own program in the sandbox, whose input or
 * output is the file's bytes: start_tool() and wait_tool(). Begin with
 * modal_execute() and upload_one().
 */
#include "providers/modal/modal.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "net/resolve.h"
#include "net/retry.h"
#include "providers/kit/rest.h"
#include "providers/modal/modal.pb-c.h"
#include "sandbox/ports/ports.h"
#include "sandbox/supervise/supervise.h"
#include "sandbox/transfer.h"

enum {
	COMMAND_MAX = 512 << 10,
	FILE_MAX = 1 << 20,
	TOKEN_MAX = 4096,
};

static const char default_servers[] =
	"https://api.modal.com,https://api.modal2.com";

static const struct setting settings[] = {
	{ .key = "token_id",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_REQUIRED | SETTING_ENV_ONLY,
	  .env = "MODAL_TOKEN_ID",
	  .help = "token id from https://modal.com/settings/tokens; if not "
		  "set, ~/.modal.toml is used for id and secret" },
	{ .key = "token_secret",
	  .type = SETTING_STRING,
	  .flags = SETTING_SECRET | SETTING_REQUIRED | SETTING_ENV_ONLY,
	  .env = "MODAL_TOKEN_SECRET",
	  .help = "token secret" },
	{ .key = "app",
	  .type = SETTING_STRING,
	  .fallback = "\"deepagents-sandbox\"",
	  .help = "app that the sandboxes belong to, created if it is "
		  "missing" },
	{ .key = "image",
	  .type = SETTING_STRING,
	  .fallback = "\"debian_slim\"",
	  .help = "debian_slim, an image of a registry, or an id (im-...)" },
	{ .key = "named_image",
	  .example = "\"base:1\"",
	  .type = SETTING_STRING,
	  .help = "published image to use instead: NAME or NAME:TAG" },
	{ .key = "registry_secret",
	  .example = "\"st-0123456789\"",
	  .type = SETTING_STRING,
	  .help = "id (st-...) of the secret for a private registry" },
	WORKDIR_ROW("/workspace"),
	{ .key = "cpu",
	  .unit = "CPUs",
	  .example = "\"2\"",
	  .type = SETTING_STRING,
	  .help = "CPUs: \"0.5\", \"2\"" },
	{ .key = "memory",
	  .unit = "MiB",
	  .example = "4096",
	  .type = SETTING_INT,
	  .field = "resources.memory_mb",
	  .help = "MiB of memory" },
	{ .key = "gpu",
	  .example = "\"T4\"",
	  .type = SETTING_STRING,
	  .help = "GPU and how many: \"T4\", \"H100:2\"" },
	{ .key = "cloud",
	  .example = "\"aws\"",
	  .type = SETTING_STRING,
	  .field = "cloud_provider_str",
	  .help = "cloud to run in: aws, gcp, oci" },
	{ .key = "region",
	  .example = "[\"us-east\", \"eu-west\"]",
	  .type = SETTING_LIST,
	  .field = "scheduler_placement.regions",
	  .help = "regions to run in; Modal chooses one of them" },
	{ .key = "env",
	  .example = "[\"LANG=C.UTF-8\"]",
	  .type = SETTING_LIST,
	  .help = "variables of every command: NAME=value" },
	LABELS_ROW("tags of the sandbox: NAME=value"),
	PORTS_ROW("ports that `dcode sandbox url --public` may open; Modal "
		  "gives each a public address at once"),
	NETWORK_ROW,
	LIFETIME_ROW("3600",
		     "seconds that a sandbox lives (default and maximum "
		     "86400)"),
	{ .key = "idle_timeout",
	  .unit = "seconds",
	  .type = SETTING_INT,
	  .fallback = "1800",
	  .help = "seconds without a command until it ends; 0: no limit" },
	{ 0 },
};

/* Commands in a Modal sandbox, and files moved by a tool inside. */

/*
 * Modal's program for files. Its argument is a request in JSON, its input or
 * output is the file's bytes, and it reports failures in JSON on its error
 * output (modal-client, _utils/sandbox_fs_utils.py; seen 2026-11). It creates
 * parent directories and streams the file, so that memory stays constant.
 */
static const char tool[] = "/__modal/.bin/modal-sandbox-fs-tools";

enum {
	/*
	 * bytes of all arguments together; the SDKs' limit is 64 KiB. A longer
	 * command is sent as the process's input.
	 */
	ARGUMENT_MAX = 60000,
	EXEC_BYTES = 1 << 20,
	ANSWER_MAX = 4 << 20, /* bytes of a job's answer */
	REQUEST_MAX = 60000,  /* bytes of a request to the tool */
	ERRORS_MAX = 64 << 10,
	/* bytes; smaller files are held in memory and can be sent again */
	SMALL = 1 << 20,
	TRIES = 4, /* for each file */
	PAUSE_MS = 200,
};

static int on_output(void *arg, struct str chunk, struct error *err)
{
	struct buf *out = arg;

	buf_addstr(out, chunk);
	if (!out->over)
		return 0;
	return error_set(err, ERR_PROTOCOL,
			 "unexpected server response: longer than requested");
}

/*
 * Implements supervisor.call with two calls of the router: one starts the
 * process, one reads its output until the end. A long command needs a third for
 * its input. The supervisor's script is printable and contains no NUL.
 */
static int run_script(void *arg, struct str command, int64_t wait_ms,
		      struct buf *out, const struct stop *stop,
		      struct error *err)
{
	bool large = command.len > ARGUMENT_MAX;
	char *text = xstrndup(command.ptr, command.len);
	const char *argv[] = { "/bin/sh", "-c",
			       large ? "eval \"$(cat)\"" : text, NULL };
	struct transfer file = { .size = (int64_t)command.len };
	struct file_source in = { .file = &file,
				  .is_held = true,
				  .held = { .ptr = text } };
	struct modal_exec x;
	int rc = modal_start(&x, arg, argv, false, stop, err);

	(void)wait_ms;
	if (rc == 0 && large)
		rc = modal_write(&x, &in, stop, err);
	if (rc == 0)
		rc = modal_read(&x, 0, on_output, out, stop, err);
	free(text);
	/* ERR_NETWORK makes the supervisor retry the request. */
	if (rc < 0 && err->code == ERR_REMOTE &&
	    (!err->grpc_status || retry_is_transient(err)))
		err->code = ERR_NETWORK;
	return rc;
}

static int modal_execute(struct sandbox *sb, const struct exec_request *req,
			 struct exec_result *res, const struct stop *stop,
			 struct error *err)
{
	const struct supervisor s = { .call = run_script,
				      .arg = sb,
				      .max_command = EXEC_BYTES,
				      .max_answer = ANSWER_MAX };
	const struct modal_box *b = modal_box(sb);
	const char **env = env_list_join(b->env, b->n_env, req->env);
	struct exec_request own = *req;
	int rc;

	own.env = env;
	rc = supervise_execute(sb, &own, res, &s, stop, err);
	free(env);
	return rc;
}

/* Starts the tool. verb is the name of its operation: ReadFile or WriteFile. */
static int start_tool(struct modal_exec *x, struct sandbox *sb,
		      const char *verb, struct transfer *f,
		      const struct stop *stop, struct error *err)
{
	struct buf request = BUF_INIT(REQUEST_MAX);
	const char *argv[] = { tool, NULL, NULL };
	int rc;

	buf_addf(&request, "{\"%s\": {\"path\": ", verb);
	json_quote(&request, str_of(f->path));
	buf_adds(&request, "}}");
	argv[1] = request.ptr;
	rc = buf_check(&request, "the path", err);
	if (rc == 0)
		rc = modal_start(x, sb, argv, true, stop, err);
	buf_release(&request);
	return rc;
}

static int on_errors(void *arg, struct str chunk, struct error *err)
{
	(void)err;
	/* the tool's report comes first, so output beyond max may be dropped */
	buf_addstr(arg, chunk);
	return 0;
}

/* Sets f's error from the tool's error output. */
static void parse_refusal(struct transfer *f, const struct buf *errors,
			  int status)
{
	/* A parent is a file: then the file does not exist for a read, and the
	 * path is invalid for a write. */
	const enum file_error no_parent =
		f->read ? FILE_INVALID_PATH : FILE_NOT_FOUND;
	const struct {
		const char *kind;
		enum file_error error;
	} kinds[] = {
		{ "NotFound", FILE_NOT_FOUND },
		{ "IsDirectory", FILE_IS_DIRECTORY },
		{ "PermissionDenied", FILE_PERMISSION_DENIED },
		{ "NotDirectory", no_parent },
		{ "PathAlreadyExists", no_parent },
	};
	cJSON *tree = json_parse(str_trim(buf_str(errors)));
	const char *kind = json_string(tree, "error_kind", "");
	const char *why = json_string(tree, "message", errors->ptr);
	char detail[sizeof(f->detail)];

	if (errors->len)
		snprintf(detail, sizeof(detail), "%s: %s",
			 kind[0] ? kind : "failed", why);
	else
		snprintf(detail, sizeof(detail), "exit status %d", status);
	transfer_fail(f, FILE_OTHER, detail);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			transfer_fail(f, kinds[i].error, "");
	cJSON_Delete(tree);
}

/* Waits for the tool's end. Returns 0 on success, and also if the tool failed
 * and f now has the error. */
static int wait_tool(struct modal_exec *x, struct transfer *f,
		     const struct stop *stop, struct error *err)
{
	struct buf errors = BUF_INIT(ERRORS_MAX);
	int status = 0;
	int rc = modal_wait(x, &status, stop, err);

	if (rc == 0 && status != 0) {
		rc = modal_read(x, 1, on_errors, &errors, stop, err);
		if (rc == 0)
			parse_refusal(f, &errors, status);
	}
	buf_release(&errors);
	return rc;
}

/*
 * Sends the file once. If the tool closes its input before the end, its report
 * says why.
 */
static int send_once(struct sandbox *sb, struct file_source *s,
		     const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	struct modal_exec x = { .sb = sb };

	if (start_tool(&x, sb, "WriteFile", s->file, stop, err) < 0)
		return -1;
	s->sent = 0;
	if (modal_write(&x, s, stop, &why) == 0)
		return wait_tool(&x, s->file, stop, err);
	if (!s->failed && why.code == ERR_REMOTE &&
	    wait_tool(&x, s->file, stop, err) == 0 && s->file->error != FILE_OK)
		return 0;
	*err = why;
	return -1;
}

/* Pauses before the next try. Returns -1 if another try cannot succeed. */
static int pause_before_retry(int attempt, const struct error *why,
			      const struct stop *stop, struct error *err)
{
	bool passing = why->grpc_status ? retry_is_transient(why)
					: why->code == ERR_NETWORK ||
						  why->code == ERR_REMOTE ||
						  why->code == ERR_PROTOCOL;

	*err = *why;
	if (attempt == TRIES || !passing)
		return -1;
	return stop_sleep(stop, attempt * PAUSE_MS, err);
}

static int upload_one(const void *arg, struct sandbox *sb, struct transfer *f,
		      const struct stop *stop, struct error *err)
{
	struct file_source s;
	int rc;

	(void)arg;
	if (!str_is_utf8(str_of(f->path))) /* a protobuf string must be UTF-8 */
		return transfer_upload(sb, f, 1, stop, err);
	rc = file_source_open(&s, f, SMALL, err);
	for (int i = 1; rc == 0; i++) {
		struct error why = { 0 };

		if (send_once(sb, &s, stop, &why) == 0)
			break;
		rc = pause_before_retry(s.is_held ? i : TRIES, &why, stop, err);
	}
	if (rc < 0 && s.failed) {
		transfer_fail(f, FILE_OTHER, s.why.message);
		rc = 0;
	}
	file_source_release(&s);
	return rc;
}

static int modal_upload(struct sandbox *sb, struct transfer *files, size_t n,
			const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { upload_one, NULL };

	if (transfer_each(sb, files, n, &m, stop, err) < 0)
		return -1;
	return stat_files(sb, STAT_SET_MODES, files, n, stop, err);
}

/*
 * Downloads a file. A retry starts a new process, which sends the file from its
 * beginning, so the bytes that have arrived are skipped.
 */
static int download_one(const void *arg, struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	struct transfer_sink d = { .file = f };
	int rc = 0;

	(void)arg;
	if (!str_is_utf8(str_of(f->path)))
		return transfer_download(sb, f, 1, stop, err);
	for (int i = 1; rc == 0; i++) {
		struct error why = { 0 };
		struct modal_exec x = { .sb = sb };

		d.skip = d.got;
		if (start_tool(&x, sb, "ReadFile", f, stop, &why) == 0 &&
		    modal_read(&x, 0, transfer_sink_write, &d, stop, &why) ==
			    0 &&
		    wait_tool(&x, f, stop, &why) == 0)
			break;
		rc = pause_before_retry(d.failed ? TRIES : i, &why, stop, err);
	}
	if (rc < 0 && d.failed) {
		transfer_fail(f, FILE_OTHER, err->message);
		return 0;
	}
	return rc;
}

static int modal_download(struct sandbox *sb, struct transfer *files, size_t n,
			  const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { download_one, NULL };

	return transfer_each(sb, files, n, &m, stop, err);
}

static bool is_active(const struct toml_value *profile)
{
	const struct toml_value *active = toml_get(profile, "active");

	return active && active->kind == TOML_BOOL && active->integer;
}

/* Uses the profile with this name. If name is NULL, uses the active profile,
 * else "default", else the only one. */
int modal_profile(const struct toml_value *root, const char *name,
		  const struct toml_value **profile, struct error *err)
{
	size_t n_active = 0;

	*profile = NULL;
	for (size_t i = 0; i < root->n_items; i++) {
		if (root->items[i].kind != TOML_TABLE)
			return error_set(err, ERR_CONFIG,
					 "line %d: not a profile: '%.60s'",
					 root->items[i].line,
					 root->items[i].key);
		if (!is_active(&root->items[i]))
			continue;
		n_active++;
		if (!name)
			*profile = &root->items[i];
	}
	if (name) {
		*profile = toml_get(root, name);
		if (!*profile)
			return error_set(err, ERR_CONFIG,
					 "unknown profile '%.60s'", name);
		return 0;
	}
	if (n_active > 1)
		return error_set(err, ERR_CONFIG,
				 "more than one profile is active");
	if (!*profile)
		*profile = toml_get(root, "default");
	if (!*profile && root->n_items == 1)
		*profile = &root->items[0];
	if (!*profile && root->n_items)
		return error_set(err, ERR_CONFIG, "no profile is active");
	return 0;
}

struct config { /* the file with the profiles, if it exists */
	struct toml_value root;
	const struct toml_value *profile;
};

/* Reads the file of MODAL_CONFIG_PATH, else ~/.modal.toml, if it exists.
 * complete: variables contain both parts of the token, so no profile is needed.
 * Then it is not an error if the right profile is unclear, unless MODAL_PROFILE
 * names one. */
static int load_config(const struct modal *m, bool complete, struct config *c,
		       struct error *err)
{
	const char *name = settings_env(m->settings, "MODAL_PROFILE");
	const char *given = settings_env(m->settings, "MODAL_CONFIG_PATH");
	const char *home = settings_home(m->settings);
	char *path = given ? xstrdup(given)
			   : xasprintf("%s/.modal.toml", home ? home : "");
	struct buf text = BUF_INIT(FILE_MAX);
	bool missing =
		access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR);
	int rc = missing ? 0 : path_read(path, &text, err);

	if (missing && name && !complete)
		rc = error_set(err, ERR_CONFIG,
			       "MODAL_PROFILE=%.60s is not in %s", name, path);
	if (rc == 0 && !missing)
		rc = toml_parse(&c->root, buf_str(&text), path, err);
	if (rc == 0 && !missing &&
	    modal_profile(&c->root, name, &c->profile, err) < 0) {
		rc = complete && !name ? 0 : error_wrap(err, "%s", path);
		if (rc == 0)
			*err = (struct error){ 0 };
	}
	buf_wipe(&text);
	free(path);
	return rc;
}

/* Returns a text of the profile, or NULL. */
static const char *profile_value(const struct config *c, const char *key)
{
	const struct toml_value *v =
		c->profile ? toml_get(c->profile, key) : NULL;

	if (!v || v->kind != TOML_STRING || !v->text_len ||
	    memchr(v->text, 0, v->text_len))
		return NULL;
	return v->text;
}

/* Returns the variable's value, else the profile's, or NULL. */
static const char *config_value(const struct modal *m, const struct config *c,
				const char *variable, const char *key)
{
	const char *text = settings_env(m->settings, variable);

	return text ? text : profile_value(c, key);
}

/* Like config_value(), but a project's .env may supply the value if the profile
 * contains no part of a token. */
static const char *token_value(struct modal *m, const struct config *c,
			       const char *variable, const char *key)
{
	const char *text = config_value(m, c, variable, key);

	if (text || profile_value(c, "token_id") ||
	    profile_value(c, "token_secret"))
		return text;
	return settings_credential(m->settings, variable, &m->project_key);
}

static int add_server(struct modal *m, struct str url, struct error *err)
{
	while (str_ends(url, "/"))
		url.len--;
	if (!loopback_or_https(url)) {
		error_set(err, ERR_CONFIG,
			  "MODAL_SERVER_URL: refusing to send a token to "
			  "%.*s",
			  (int)(url.len < 200 ? url.len : 200), url.ptr);
		return error_hint(err, "Use https://..., or http:// on a "
				       "loopback address.");
	}
	if (m->n_servers == MODAL_SERVERS)
		return error_set(err, ERR_CONFIG,
				 "MODAL_SERVER_URL: more than %d addresses",
				 MODAL_SERVERS);
	m->servers[m->n_servers++] = xstrndup(url.ptr, url.len);
	return 0;
}

static int set_servers(struct modal *m, const char *list, struct error *err)
{
	struct str rest = str_of(list);
	struct str item;

	while (str_split(&rest, ',', &item)) {
		item = str_trim(item);
		if (item.len && add_server(m, item, err) < 0)
			return -1;
	}
	if (!m->n_servers)
		return error_set(err, ERR_CONFIG,
				 "MODAL_SERVER_URL contains no address");
	m->local = m->near = true;
	for (size_t i = 0; i < m->n_servers; i++) {
		m->local = m->local &&
			   str_starts(str_of(m->servers[i]), "http://");
		m->near = m->near && loopback_url(str_of(m->servers[i]));
	}
	return 0;
}

/* Sets m->throttle_ms from seconds: the total time that a server may delay one
 * call. "0": no delay. NULL: no limit. */
static int set_throttle(struct modal *m, const char *text, struct error *err)
{
	char *end = NULL;
	double seconds = text ? strtod(text, &end) : 0;

	m->throttle_ms = -1;
	if (!text)
		return 0;
	if (end == text || *end || !(seconds >= 0 && seconds < 1e9))
		return error_set(err, ERR_CONFIG,
				 "MODAL_MAX_THROTTLE_WAIT=%.40s is not a "
				 "number of seconds",
				 text);
	m->throttle_ms = (int64_t)(seconds * 1000);
	return 0;
}

static int set_token(char **header, const char *name, const char *token,
		     struct error *err)
{
	if (!token) {
		error_set(err, ERR_AUTH, "%s is not set", name);
		return error_hint(err,
				  "Get a token at "
				  "https://modal.com/settings/tokens, then "
				  "export MODAL_TOKEN_ID=ak-... and "
				  "MODAL_TOKEN_SECRET=as-..., or run: modal "
				  "setup");
	}
	if (strlen(token) > TOKEN_MAX || !str_is_visible(str_of(token)))
		return error_set(err, ERR_CONFIG, "not a token: %s", name);
	*header = xasprintf("%s: %s",
			    strstr(name, "SECRET") ? "x-modal-token-secret"
						   : "x-modal-token-id",
			    token);
	return 0;
}

/* Reads credentials, servers and environment from variables, then from
 * ~/.modal.toml. */
static int read_account(struct modal *m, struct error *err)
{
	static const char *const names[] = { "MODAL_TOKEN_ID",
					     "MODAL_TOKEN_SECRET" };
	bool complete = settings_env(m->settings, names[0]) &&
			settings_env(m->settings, names[1]);
	struct config c = { 0 };
	const char *servers;
	const char *text;
	int rc = load_config(m, complete, &c, err);

	if (rc == 0)
		rc = set_token(&m->id_header, names[0],
			       token_value(m, &c, names[0], "token_id"), err);
	if (rc == 0)
		rc = set_token(&m->secret_header, names[1],
			       token_value(m, &c, names[1], "token_secret"),
			       err);
	servers = rest_variable(m->settings, "MODAL_SERVER_URL");
	if (!servers)
		servers = profile_value(&c, "server_url");
	if (rc == 0)
		rc = set_servers(m, servers ? servers : default_servers, err);
	text = config_value(m, &c, "MODAL_MAX_THROTTLE_WAIT",
			    "max_throttle_wait");
	if (rc == 0)
		rc = set_throttle(m, text, err);
	text = config_value(m, &c, "MODAL_ENVIRONMENT", "environment");
	m->environment = xstrdup(text ? text : "");
	m->builder = xstrdup(config_value(m, &c, "MODAL_IMAGE_BUILDER_VERSION",
					  "image_builder_version"));
	toml_release(&c.root);
	return rc;
}

static void modal_close(struct sandbox_client *client)
{
	struct modal *m = client->priv;

	if (!m)
		return;
	mem_wipe(m->id_header);
	mem_wipe(m->secret_header);
	mem_wipe(m->auth);
	for (size_t i = 0; i < m->n_servers; i++)
		free(m->servers[i]);
	free(m->environment);
	free(m->builder);
	free(m->app);
	pthread_mutex_destroy(&m->lock);
	free(m);
	client->priv = NULL;
	client->endpoint = NULL;
}

static int modal_open(struct sandbox_client *client, const struct settings *set,
		      struct error *err)
{
	struct modal *m = xcalloc(1, sizeof(*m));

	client->priv = m;
	m->http = client->http;
	m->settings = set;
	pthread_mutex_init(&m->lock, NULL);
	if (read_account(m, err) < 0)
		return -1;
	client->project_key = m->project_key;
	client->endpoint = m->servers[0];
	return 0;
}

static void modal_discard(struct sandbox *sb)
{
	struct modal_box *b = sb->priv;

	if (!b)
		return;
	free(b->task);
	free(b->router);
	mem_wipe(b->bearer);
	pthread_mutex_destroy(&b->lock);
	free(b);
	sb->priv = NULL;
}

enum { TUNNELS_S = 50 /* the SDK's limit */, HTTPS = 443 };

/*
 * Addresses of ports. A connect token opens one port to requests that have it,
 * at any time. A tunnel opens a port to everybody, and only a port that was
 * listed when the sandbox was created has one (createConnectToken() and
 * tunnels() of the JavaScript SDK 0.11.1, read 2026-11-26).
 */
static int ask_port(struct sandbox *sb, unsigned port, struct port_url *u,
		    const struct stop *stop, struct error *err)
{
	struct modal *m = sb->client->priv;
	const struct protobuf_ask ask = {
		"SandboxCreateConnectToken", "asking for the port's address",
		.request = protobuf_texts("sandbox_id", sb->id, NULL),
		.flags = modal_flags(sb->id)
	};
	ProtobufCMessage *answer;
	const Modal__SandboxCreateConnectTokenResponse *r;
	int rc;

	cJSON_AddNumberToObject(ask.request, "port", port);
	if (modal_ask(m, &ask, &answer, stop, err) < 0)
		return -1;
	r = (const Modal__SandboxCreateConnectTokenResponse *)answer;
	u->url = modal_take_address(m, r->url, "port", err);
	rc = u->url ? port_url_set_token(u, "Authorization", "Bearer ",
					 r->token, err)
		    : -1;
	protobuf_free(answer);
	return rc;
}

static int publish_port(struct sandbox *sb, unsigned port, struct port_url *u,
			const struct stop *stop, struct error *err)
{
	const struct protobuf_ask ask = {
		"SandboxGetTunnels", "asking for the port's address",
		.request = protobuf_texts("sandbox_id", sb->id, NULL),
		.timeout_ms = (TUNNELS_S + 10) * 1000,
		.flags = modal_flags(sb->id)
	};
	ProtobufCMessage *answer;
	const Modal__SandboxGetTunnelsResponse *r;

	cJSON_AddNumberToObject(ask.request, "timeout", TUNNELS_S);
	if (modal_ask(sb->client->priv, &ask, &answer, stop, err) < 0)
		return -1;
	r = (const Modal__SandboxGetTunnelsResponse *)answer;
	for (size_t i = 0; i < r->n_tunnels && !u->url; i++) {
		const Modal__TunnelData *t = r->tunnels[i];

		if (t->container_port != port || !port_host_ok(t->host))
			continue;
		u->url = t->port == HTTPS
				 ? xasprintf("https://%s", t->host)
				 : xasprintf("https://%s:%u", t->host, t->port);
	}
	protobuf_free(answer);
	if (u->url)
		return 0;
	error_set(err, ERR_USAGE,
		  "this sandbox was created without a public address for port "
		  "%u",
		  port);
	return error_hint(err, "List it in ports of "
			       "[sandboxes.providers.modal.params], and create "
			       "another sandbox.");
}

static const struct port_ops port_ops = { .url = ask_port,
					  .publish = publish_port };

static const struct sandbox_ops ops = {
	.open = modal_open,
	.close = modal_close,
	.create = modal_create,
	.attach = modal_attach,
	.list = modal_list,
	.info = modal_info,
	.set_network = modal_set_network,
	.snapshot = modal_snapshot,
	.find_snapshot = modal_find_snapshot,
	.ports = &port_ops,
	.remove_snapshot = modal_remove_snapshot,
	.execute = modal_execute,
	.upload = modal_upload,
	.download = modal_download,
	.remove = modal_remove,
	.clean = modal_clean,
	.discard = modal_discard,
};

/* A name is compared with the TLS server name on port 443, and "*.x" may
 * include x (SDK 0.11.1). */
static const struct network_limits network_limits = {
	.can = NETWORK_CAN_ADDRESSES | NETWORK_CAN_NETWORKS | NETWORK_CAN_IPV6 |
	       NETWORK_WILD_HAS_APEX | NETWORK_TLS_ONLY,
	.names = 100,
	.note = "Names are reached on port 443 only. Modal resolves every "
		"name, so data can leave in DNS queries.",
};

/* "*.x" includes x (SDK 0.11.1), so a secret for the hosts below x would also
 * be sent to x. */
static const struct secret_limits secret_limits = {
	.can = SECRET_CAN_HEADER | SECRET_IN_ACCOUNT | SECRET_ALONE,
	.note = "Modal calls its policy for headers experimental: it may "
		"change.",
};

const struct sandbox_provider modal_provider = {
	.name = "modal",
	.summary = "sandboxes of Modal",
	.workdir = "/workspace",
	.flags = SANDBOX_ATTACH | SANDBOX_SNAPSHOT | SANDBOX_LIVE |
		 SANDBOX_NETWORK | SANDBOX_LIST | SANDBOX_PLACED |
		 SANDBOX_PLACED_AGAIN,
	.network = &network_limits,
	.secrets = &secret_limits,
	.max_command = COMMAND_MAX,
	.lifetime_s = MODAL_LIFETIME_S,
	.settings = settings,
	.url_env = (const char *const[]){ "MODAL_SERVER_URL", NULL },
	.ops = &ops,
	/* The price cannot be computed: a sandbox is billed for the resources
	 * that it reserved or used, whichever is more, without an upper limit
	 * ($0.00003942 for a core and $0.00000667 for a GiB a second, more in
	 * some regions; modal.com/pricing, as of 2026-10-08, and
	 * modal.com/docs/guide/sandbox-resources, read 2026-11-23). */
	/* The isolation of an ordinary sandbox. Modal also has an experimental
	 * option for virtual machines, which dcode does not send. */
	.isolation = ISOLATION_GVISOR,
	.isolation_source = "modal.com/docs/guide/vm-sandboxes, 2026-11-23",
};

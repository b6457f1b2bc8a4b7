/* engine.c - finds the Docker or Podman engine and sends requests to it. */
/* SPDX-License-Identifier: MIT */
/*
 * Docker and Podman listen on a unix socket, sometimes on TCP, with the Docker
 * Engine API: JSON over HTTP. Podman's copy of it has differences, which are
 * noted where they matter. engine_init() chooses the engine from the
 * environment and the existing sockets, without connecting. engine_call() sends
 * one request; engine_json(), engine_post() and engine_inspect() are shorter
 * forms for the usual requests.
 *
 * Two requests are special. POST /exec/ID/start takes over the connection:
 * after the answer's headers both sides send raw bytes, so exec_start() uses a
 * plain connection (net/conn.h) and returns it. POST /images/create answers
 * while it works, one JSON object per line, which engine_pull() converts to
 * lines of progress.
 */
#include "providers/docker/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "config/settings_env.h"
#include "net/ws.h"
#include "providers/kit/rest.h"

enum {
	ANSWER_MAX = 8 << 20, /* bytes of an answer */
	CONNECT_MS = 10000,
	/* ms without a byte; a create can take long on a slow disk */
	IDLE_MS = 120000,
};

static const char docker_socket[] = "/var/run/docker.sock";

static const char root_socket[] = "/run/podman/podman.sock";

/* Uses a unix socket. HTTP needs some host in the URL, but the socket decides
 * where requests go. */
static void use_socket(struct engine *e, const char *path)
{
	e->socket = xstrdup(path);
	e->base = xstrdup("http://docker");
	e->shown = xasprintf("unix://%s", path);
}

/* Returns the path of the user's own Podman socket, owned by the caller. */
static char *user_socket(const struct settings *set)
{
	const char *runtime = settings_env_plain(set, "XDG_RUNTIME_DIR");

	if (runtime && runtime[0])
		return xasprintf("%s/podman/podman.sock", runtime);
	return xasprintf("/run/user/%u/podman/podman.sock", geteuid());
}

/* Looks for the socket of the user's Podman, then for root's. False if neither
 * exists. */
static bool find_podman(struct engine *e, const struct settings *set)
{
	char *user = user_socket(set);

	if (access(user, F_OK) == 0)
		use_socket(e, user);
	else if (access(root_socket, F_OK) == 0)
		use_socket(e, root_socket);
	free(user);
	return e->socket;
}

/* Adds a hint how to start Podman's service. Root has a service of its own, and
 * containers have no systemd. */
static int hint_podman(struct error *err)
{
	return error_hint(
		err,
		"Start it: systemctl %sstart podman.socket (as %s: systemctl "
		"%sstart podman.socket), or without systemd: podman system "
		"service -t 0 &. Or set DOCKER_HOST.",
		geteuid() ? "--user " : "", geteuid() ? "root" : "a user",
		geteuid() ? "" : "--user ");
}

/* Adds a hint why the user cannot use this engine: missing permissions, or no
 * engine is running or installed. */
static int hint_engine(const struct engine *e, struct error *err)
{
	if (!e->socket)
		return error_hint(err, "Start the engine there, or change "
				       "DOCKER_HOST.");
	if (access(e->socket, F_OK) == 0 && access(e->socket, W_OK) < 0)
		return error_hint(
			err,
			"You may not use this socket. Run sudo usermod -aG "
			"docker $USER and log in again (this group has the "
			"rights of root), or use your own Podman: systemctl "
			"--user start podman.socket, then --sandbox podman.");
	if (e->is_podman)
		return hint_podman(err);
	if (!e->installed)
		return error_hint(
			err, "Install Podman (apt install podman) or Docker "
			     "(docs.docker.com/engine/install), or set "
			     "DOCKER_HOST. Without either: --sandbox local.");
	return error_hint(
		err, "Start Docker (sudo systemctl start docker) or Podman "
		     "(systemctl --user start podman.socket; without systemd: "
		     "podman system service -t 0 &), or set DOCKER_HOST.");
}

static int fail_no_podman(const struct settings *set, struct error *err)
{
	char *user = user_socket(set);

	error_set(err, ERR_NETWORK, "Podman has no socket at %s or %s", user,
		  root_socket);
	free(user);
	return hint_podman(err);
}

/* Parses the part of DOCKER_HOST after the scheme: host and port, no path. */
static int use_address(struct engine *e, const char *scheme, const char *rest,
		       struct error *err)
{
	size_t len = strcspn(rest, "/?#");

	if (!len || rest[len + (rest[len] == '/')])
		return error_set(err, ERR_CONFIG,
				 "DOCKER_HOST has no host, or more than one");
	e->base = xasprintf("%s://%.*s", scheme, (int)len, rest);
	e->shown = xstrdup(e->base);
	return 0;
}

/* Adds to a network error which engine did not answer and how to start it.
 * Other errors are not changed. Always returns -1. */
static int name_engine(const struct engine *e, struct error *err)
{
	if (err->code != ERR_NETWORK && err->code != ERR_UNREACHABLE)
		return -1;
	error_wrap(err, "no answer from the engine at %s", e->shown);
	error_topic(err, "docker");
	return err->exact == CASE_PROXY ? -1 : hint_engine(e, err);
}

static bool is_installed(const struct settings *set)
{
	const char *path = settings_exported(set, "PATH");
	char *docker = proc_find("docker", path);
	char *podman = proc_find("podman", path);
	bool found = docker || podman;

	free(docker);
	free(podman);
	return found;
}

/* Fails at once if the socket does not exist. */
static int check_socket(struct engine *e, const struct settings *set,
			struct error *err)
{
	if (access(e->socket, F_OK) == 0)
		return 0;
	(void)error_errno(err, "opening it");
	e->installed = is_installed(set);
	err->code = ERR_NETWORK;
	return name_engine(e, err);
}

/* Fills base, socket and shown. Tries the engine that the user chose, then
 * DOCKER_HOST, then the usual sockets, in the order of the docker and podman
 * commands. */
static int find_engine(struct engine *e, const struct settings *set,
		       struct error *err)
{
	const char *host = settings_env(set, "DOCKER_HOST");
	const char *tls = settings_env(set, "DOCKER_TLS_VERIFY");

	if (e->is_podman && find_podman(e, set))
		return 0;
	if (!host && e->is_podman)
		return fail_no_podman(set, err);
	if (!host) {
		/* Use the first socket that exists. If none does, use Docker's,
		 * so that the message names it. */
		if (access(docker_socket, F_OK) == 0 || !find_podman(e, set))
			use_socket(e, docker_socket);
		return check_socket(e, set, err);
	}
	if (strncmp(host, "unix://", 7) == 0 && host[7] == '/') {
		use_socket(e, host + 7);
		return check_socket(e, set, err);
	}
	if (settings_env(set, "DOCKER_CERT_PATH") && tls)
		return error_set(err, ERR_CONFIG,
				 "client certificates (DOCKER_CERT_PATH) are "
				 "not supported");
	if (strncmp(host, "tcp://", 6) == 0)
		return use_address(e, tls ? "https" : "http", host + 6, err);
	if (strncmp(host, "http://", 7) == 0)
		return use_address(e, "http", host + 7, err);
	if (strncmp(host, "https://", 8) == 0)
		return use_address(e, "https", host + 8, err);
	error_set(err, ERR_CONFIG, "not a valid DOCKER_HOST: %s", host);
	return error_hint(
		err, "Use unix:///path, tcp://host:port or https://host:port.");
}

int engine_init(struct engine *e, struct http *http, const struct settings *set,
		bool is_podman, struct error *err)
{
	*e = (struct engine){ .http = http,
			      .is_podman = is_podman,
			      .installed = true };
	if (find_engine(e, set, err) == 0)
		return 0;
	engine_release(e);
	return -1;
}

void engine_release(struct engine *e)
{
	free(e->base);
	free(e->socket);
	free(e->shown);
	*e = (struct engine){ 0 };
}

int engine_call(struct engine *e, const struct engine_ask *ask,
		struct http_response *res, const struct stop *stop,
		struct error *err)
{
	struct http_request req = ask->http;
	char *type = xasprintf("Content-Type: %s",
			       req.type ? req.type : "application/json");
	const char *const headers[] = { type, NULL };
	char *url =
		xasprintf("%s%s%s%s", e->base, req.path, ask->id ? ask->id : "",
			  ask->action ? ask->action : "");
	int rc;

	if (!res->body.max)
		res->body.max = ANSWER_MAX;
	req.url = url;
	req.unix_socket = e->socket;
	req.headers = req.body.len ? headers : NULL;
	req.connect_ms = CONNECT_MS;
	req.idle_ms = req.idle_ms ? req.idle_ms : IDLE_MS;
	rc = http_do(e->http, &req, res, stop, err);
	free(type);
	free(url);
	if (rc < 0 && err->http_status && ask->http.what)
		return error_wrap(err, "%s", ask->http.what);
	return rc < 0 ? name_engine(e, err) : 0;
}

int engine_json(struct engine *e, const struct engine_ask *ask, cJSON **answer,
		const struct stop *stop, struct error *err)
{
	struct http_response res = { 0 };
	int rc = engine_call(e, ask, &res, stop, err);

	if (rc == 0 && res.status >= 400)
		rc = http_status_error(&res, ask->http.what, err);
	if (rc == 0 && answer) {
		*answer = json_parse(buf_str(&res.body));
		if (!*answer)
			rc = error_set(err, ERR_PROTOCOL,
				       "%s: the engine's answer is not JSON",
				       ask->http.what);
	}
	http_response_release(&res);
	return rc;
}

int engine_post(struct engine *e, const char *id, const char *action,
		const char *what, const struct stop *stop, struct error *err)
{
	struct engine_ask ask = { .http.method = "POST",
				  .http.path = "/containers/",
				  .id = id,
				  .action = action,
				  .http.what = what };

	return engine_json(e, &ask, NULL, stop, err);
}

bool engine_name_ok(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	size_t len = strlen(name);

	return len > 0 && len <= 255 && strspn(name, allowed) == len &&
	       name[0] != '.' && name[0] != '-';
}

int engine_inspect(struct engine *e, const char *id, cJSON **answer,
		   const struct stop *stop, struct error *err)
{
	struct engine_ask ask = { .http.method = "GET",
				  .http.path = "/containers/",
				  .id = id,
				  .action = "/json",
				  .http.what = id };
	int rc;

	if (!engine_name_ok(id))
		return error_set(err, ERR_USAGE,
				 "not a container's name or id: '%s'", id);
	rc = engine_json(e, &ask, answer, stop, err);
	if (rc < 0 && err->code == ERR_NOT_FOUND)
		error_set(err, ERR_NOT_FOUND, "unknown container '%s'", id);
	return rc;
}

enum {
	HEAD_MAX = 32 << 10, /* bytes of an answer's headers or error */
	REFUSAL_MS = 1000,   /* longest wait for the text of a refusal */
};

/* True if the container has ended. Engines report that differently when they
 * refuse an exec, so its state is requested. */
static bool has_ended(struct engine *e, const char *container,
		      const struct stop *stop)
{
	struct error err = { 0 };
	cJSON *answer = NULL;
	bool ended;

	if (engine_inspect(e, container, &answer, stop, &err) < 0)
		return err.code == ERR_NOT_FOUND;
	ended = !json_bool(json_get(answer, "State"), "Running", true);
	cJSON_Delete(answer);
	return ended;
}

/* Reports why POST /containers/ID/exec failed. ERR_GONE: the container has
 * ended. */
static int refuse_exec(struct engine *e, const char *container,
		       const struct http_response *res, const struct stop *stop,
		       struct error *err)
{
	http_status_error(res, "running a command", err);
	if (has_ended(e, container, stop))
		return error_set(err, ERR_GONE, "the container has ended");
	return -1;
}

int exec_create(struct engine *e, const char *container, struct str body,
		char **id, const struct stop *stop, struct error *err)
{
	struct http_response res = { 0 };
	struct engine_ask ask = { .http.method = "POST",
				  .http.path = "/containers/",
				  .id = container,
				  .action = "/exec",
				  .http.body = body,
				  .http.what = "running a command" };
	int rc = engine_call(e, &ask, &res, stop, err);
	cJSON *answer = NULL;
	const char *found;

	if (rc == 0 && res.status >= 400) {
		rc = refuse_exec(e, container, &res, stop, err);
	} else if (rc == 0) {
		answer = json_parse(buf_str(&res.body));
		found = json_string(answer, "Id", "");
		if (engine_name_ok(found))
			*id = xstrdup(found);
		else
			rc = error_set(err, ERR_PROTOCOL,
				       "the engine returned no exec id");
	}
	cJSON_Delete(answer);
	http_response_release(&res);
	return rc;
}

/* Sends POST /exec/ID/start. The engine switches to raw bytes when it is asked
 * to upgrade to "tcp" (docs.docker.com/reference/api/engine, "Attach to a
 * container", 2026-11). */
static int send_start(struct engine *e, struct conn *c, const char *id,
		      bool terminal, const struct stop *stop, struct error *err)
{
	const char *body = terminal ? "{\"Detach\":false,\"Tty\":true}"
				    : "{\"Detach\":false,\"Tty\":false}";
	const char *host = strstr(e->base, "://") + 3;
	char *text = xasprintf("POST /exec/%s/start HTTP/1.1\r\n"
			       "Host: %s\r\n"
			       "User-Agent: dcode\r\n"
			       "Content-Type: application/json\r\n"
			       "Connection: Upgrade\r\n"
			       "Upgrade: tcp\r\n"
			       "Content-Length: %zu\r\n\r\n%s",
			       id, host, strlen(body), body);
	int rc = conn_send(c, str_of(text), stop, err);

	free(text);
	return rc;
}

/* Receives more bytes of the answer. */
static int receive_more(struct conn *c, struct buf *in, const struct stop *stop,
			struct error *err)
{
	char *room = buf_room(in, 4096);
	int64_t n;

	if (!room)
		return error_set(err, ERR_PROTOCOL,
				 "the engine's answer is too long");
	n = conn_recv(c, room, 4096, stop, err);
	if (n == 0)
		return error_set(err, ERR_NETWORK,
				 "the engine closed the connection");
	if (n > 0)
		buf_added(in, (size_t)n);
	return n < 0 ? -1 : 0;
}

/* Reports why the engine did not start the command. in holds the answer's
 * headers and the beginning of its body, which contains the text. */
static int parse_refusal(struct conn *c, int status, struct buf *in,
			 const struct stop *stop, struct error *err)
{
	struct stop brief = stop_within(stop, REFUSAL_MS);
	struct http_response res = { .status = status,
				     .body = BUF_INIT(HEAD_MAX) };
	struct error ignored = { 0 };
	size_t head = ws_head_size(buf_str(in));

	while (!ws_head_body((struct str){ in->ptr, head },
			     str_skip(buf_str(in), head), &res.body) &&
	       receive_more(c, in, &brief, &ignored) == 0)
		buf_clear(&res.body);
	http_status_error(&res, "starting a command", err);
	if (status == 404 || status == 409)
		err->code = ERR_GONE;
	http_response_release(&res);
	return -1;
}

/* The engine, or a proxy in front of it, redirects. dcode does not follow: it
 * reports the new address. */
static int report_redirect(int status, struct str head, struct error *err)
{
	struct http_response res = { .status = status, .retry_after_ms = -1 };
	struct str line;

	while (ws_head_line(&head, &line)) {
		struct str name = { line.ptr, str_find(line, ':') };
		struct str value = str_trim(str_skip(line, name.len + 1));

		if (str_is_nocase(name, "location"))
			snprintf(res.location, sizeof(res.location), "%.*s",
				 (int)value.len, value.len ? value.ptr : "");
	}
	return http_status_error(&res, "starting a command", err);
}

int exec_start(struct engine *e, const char *id, bool terminal,
	       struct exec_link *link, const struct stop *stop,
	       struct error *err)
{
	struct conn_target to = { .url = e->base, .unix_socket = e->socket };
	struct buf *rest = &link->rest;
	size_t head;
	int status;

	*link = (struct exec_link){ .rest = BUF_INIT(HEAD_MAX) };
	if (conn_open(&link->conn, e->http, &to, stop, err) < 0)
		return name_engine(e, err);
	link->sent = true;
	if (send_start(e, link->conn, id, terminal, stop, err) < 0)
		return -1;
	while (!(head = ws_head_size(buf_str(rest))))
		if (receive_more(link->conn, rest, stop, err) < 0)
			return -1;
	status = ws_head_status(buf_str(rest));
	link->sent = status == 101 || status == 200;
	if (status >= 300 && status < 400)
		return report_redirect(status, (struct str){ rest->ptr, head },
				       err);
	if (status >= 400)
		return parse_refusal(link->conn, status, rest, stop, err);
	if (!link->sent)
		return error_set(err, ERR_PROTOCOL,
				 "the engine does not start the command");
	buf_consume(rest, head);
	return 0;
}

void exec_link_release(struct exec_link *link)
{
	conn_close(link->conn);
	buf_release(&link->rest);
	*link = (struct exec_link){ 0 };
}

int exec_inspect(struct engine *e, const char *id, struct exec_state *state,
		 const struct stop *stop, struct error *err)
{
	cJSON *answer = NULL;
	struct engine_ask ask = { .http.method = "GET",
				  .http.path = "/exec/",
				  .id = id,
				  .action = "/json",
				  .http.what = "asking for the exit status" };
	int rc = engine_json(e, &ask, &answer, stop, err);
	const cJSON *code;

	if (rc < 0 && err->code == ERR_NOT_FOUND)
		err->code = ERR_GONE; /* an exec ends with its container */
	if (rc == 0) {
		code = json_get(answer, "ExitCode");
		state->running = json_bool(answer, "Running", false);
		state->exit_code = cJSON_IsNumber(code) ? code->valueint : -1;
		state->pid = json_int(answer, "Pid", 0);
	}
	cJSON_Delete(answer);
	return rc;
}

enum {
	LINE_MAX_LEN = 1 << 20, /* bytes of one message */
	LAYERS_MAX = 256,
	STEP = 5, /* percent between two progress lines */
	PULL_IDLE_MS = 300000,
};

/* Download progress of one image layer. */
struct layer {
	char id[80];
	int64_t current, total; /* bytes */
};

struct pull {
	const char *image;
	const struct sandbox_spec *spec;
	struct buf line; /* an unfinished message */
	struct layer layers[LAYERS_MAX];
	size_t n_layers;
	int shown; /* percent in the last line; -1: none printed */
	struct error refused;
};

/* Prints a progress line. percent is negative while nothing is known. */
static void report_progress(struct pull *p, int percent)
{
	char *line;

	if (!p->spec->progress)
		return;
	line = percent < 0 ? xasprintf("pulling %s", p->image)
			   : xasprintf("pulling %s %d%%", p->image, percent);
	p->spec->progress(p->spec->arg, line);
	free(line);
}

/* Finds or adds a layer. NULL if there are too many layers; the bytes of that
 * layer are not counted. */
static struct layer *find_layer(struct pull *p, const char *id)
{
	struct layer *l;

	for (size_t i = 0; i < p->n_layers; i++)
		if (strcmp(p->layers[i].id, id) == 0)
			return &p->layers[i];
	if (p->n_layers == LAYERS_MAX || strlen(id) >= sizeof(l->id))
		return NULL;
	l = &p->layers[p->n_layers++];
	memcpy(l->id, id, strlen(id) + 1);
	return l;
}

/* Updates a layer's bytes, and prints a line when the total has grown by STEP
 * percent. The registry chooses the sizes, so they are limited. */
static void on_progress(struct pull *p, const cJSON *message)
{
	const cJSON *detail = json_get(message, "progressDetail");
	struct layer *l = find_layer(p, json_string(message, "id", ""));
	int64_t total = json_int(detail, "total", 0);
	int64_t current = json_int(detail, "current", 0);
	int64_t sum = 0;
	int64_t all = 0;
	int percent;

	if (!l || total <= 0 || total > (int64_t)1 << 45 || current < 0)
		return;
	l->total = total;
	l->current = current < total ? current : total;
	for (size_t i = 0; i < p->n_layers; i++) {
		sum += p->layers[i].current;
		all += p->layers[i].total;
	}
	percent = all > 0 ? (int)(sum * 100 / all) : 0;
	if (percent < p->shown + STEP)
		return;
	p->shown = percent;
	report_progress(p, percent);
}

/* Stores the first error of a pull. words come from the registry. */
static void set_refused(struct pull *p, const char *words)
{
	struct buf text = BUF_INIT(300);

	if (p->refused.code != ERR_NONE)
		return;
	sanitize_text(str_of(words), &text);
	error_set(&p->refused, ERR_REMOTE, "pulling %s: %s", p->image,
		  text.len ? text.ptr : "refused");
	buf_release(&text);
}

/* Handles one line of the answer: {"status":...}, or {"error":...}. The HTTP
 * status is 200 even if the pull fails. */
static void on_message(struct pull *p, struct str line)
{
	cJSON *message = json_parse(str_trim(line));
	const char *error = json_string(message, "error", NULL);

	if (!error)
		error = json_string(json_get(message, "errorDetail"), "message",
				    NULL);
	if (error) {
		set_refused(p, error);
	} else if (str_is(str_of(json_string(message, "status", "")),
			  "Downloading")) {
		on_progress(p, message);
	}
	cJSON_Delete(message);
}

static int on_data(void *arg, struct str chunk, struct error *err)
{
	struct pull *p = arg;

	for (;;) {
		bool whole = buf_add_line(&p->line, &chunk);

		if (buf_check(&p->line, "a progress message of the pull", err) <
		    0)
			return -1;
		if (!whole)
			return 0;
		on_message(p, buf_str(&p->line));
		buf_clear(&p->line);
	}
}

/* Returns /images/create?fromImage=NAME&tag=TAG, owned by the caller. Without a
 * tag the engine would pull all tags. */
static char *pull_path(const char *image)
{
	struct buf path = BUF_INIT(4096);
	const char *slash = strrchr(image, '/');
	const char *colon = strrchr(slash ? slash : image, ':');
	bool digest = strchr(image, '@');
	char *name = colon && !digest ? xstrndup(image, (size_t)(colon - image))
				      : xstrdup(image);

	buf_adds(&path, "/images/create?fromImage=");
	rest_encode(&path, str_of(name));
	if (!digest) {
		buf_adds(&path, "&tag=");
		rest_encode(&path, str_of(colon ? colon + 1 : "latest"));
	}
	free(name);
	return buf_detach(&path);
}

static void hint_image(struct error *err)
{
	error_hint(err, "Pull it yourself, or choose another: image = \"...\" "
			"in [sandboxes.providers.docker.params] of "
			"~/.deepagents/config.toml.");
	error_topic(err, "docker");
}

int engine_pull(struct engine *e, const char *image,
		const struct sandbox_spec *spec, const struct stop *stop,
		struct error *err)
{
	struct pull *p = xcalloc(1, sizeof(*p));
	struct http_response res = { 0 };
	char *path = pull_path(image);
	struct engine_ask ask = { .http.method = "POST",
				  .http.path = path,
				  .http.idle_ms = PULL_IDLE_MS,
				  .http.data = on_data,
				  .http.arg = p };
	int rc;

	p->image = image;
	p->spec = spec;
	p->shown = -STEP;
	p->line = BUF_INIT(LINE_MAX_LEN);
	report_progress(p, -1);
	rc = engine_call(e, &ask, &res, stop, err);
	if (rc == 0 && res.status >= 400)
		rc = http_status_error(&res, "pulling the image", err);
	on_message(p, buf_str(&p->line));
	if (rc == 0 && p->refused.code != ERR_NONE) {
		*err = p->refused;
		rc = -1;
	}
	if (rc < 0 && err->code != ERR_CANCELLED)
		hint_image(err);
	http_response_release(&res);
	buf_release(&p->line);
	free(p);
	free(path);
	return rc;
}

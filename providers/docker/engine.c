/* engine.c - where the engine is, and one request to it. */
/* SPDX-License-Identifier: MIT */
#include "providers/docker/engine.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

enum {
	ANSWER_MAX = 8 << 20, /* bytes of an answer */
	CONNECT_MS = 10000,
	IDLE_MS = 120000, /* a slow disk takes its time to create */
};

static void use_socket(struct engine *e, const char *path)
{
	e->socket = xstrdup(path);
	e->base = xstrdup("http://docker");
	e->shown = xasprintf("unix://%s", path);
}

static const char docker_socket[] = "/var/run/docker.sock";
static const char root_socket[] = "/run/podman/podman.sock";

/* The socket of the user's own Podman. Owned. */
static char *user_socket(const struct settings *set)
{
	const char *runtime = settings_env_plain(set, "XDG_RUNTIME_DIR");

	if (runtime && runtime[0])
		return xasprintf("%s/podman/podman.sock", runtime);
	return xasprintf("/run/user/%u/podman/podman.sock", geteuid());
}

/* The user's Podman before root's. False: neither has a socket. */
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

/* The first socket that exists; Docker's own when none does, so that the
 * message names it. */
static void find_socket(struct engine *e, const struct settings *set)
{
	if (access(docker_socket, F_OK) == 0 || !find_podman(e, set))
		use_socket(e, docker_socket);
}

static int no_podman(const struct settings *set, struct error *err)
{
	char *user = user_socket(set);

	error_set(err, ERR_NETWORK, "Podman has no socket at %s or %s", user,
		  root_socket);
	free(user);
	return error_hint(err, "Start it: systemctl --user start podman.socket "
			       "(or set DOCKER_HOST).");
}

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

/* Known without talking to anybody. */
static int check_socket(const struct engine *e, struct error *err)
{
	if (access(e->socket, F_OK) == 0)
		return 0;
	(void)error_errno(err, "opening it");
	err->code = ERR_NETWORK;
	return engine_unreachable(e, err);
}

static int find_engine(struct engine *e, const struct settings *set,
		       struct error *err)
{
	const char *host = settings_env(set, "DOCKER_HOST");
	const char *tls = settings_env(set, "DOCKER_TLS_VERIFY");

	if (e->is_podman && find_podman(e, set))
		return 0;
	if (!host && e->is_podman)
		return no_podman(set, err);
	if (!host) {
		find_socket(e, set);
		return check_socket(e, err);
	}
	if (strncmp(host, "unix://", 7) == 0 && host[7] == '/') {
		use_socket(e, host + 7);
		return check_socket(e, err);
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
	*e = (struct engine){ .http = http, .is_podman = is_podman };
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

int engine_unreachable(const struct engine *e, struct error *err)
{
	if (err->code != ERR_NETWORK && err->code != ERR_UNREACHABLE)
		return -1;
	error_wrap(err, "no answer from the engine at %s", e->shown);
	if (e->is_podman)
		return error_hint(err, "Start Podman's socket: systemctl "
				       "--user start podman.socket");
	return error_hint(err, "Start Docker, or Podman (systemctl --user "
			       "start podman.socket), or set DOCKER_HOST.");
}

int engine_call(struct engine *e, const struct engine_ask *ask,
		struct http_response *res, const struct stop *stop,
		struct error *err)
{
	const char *const type[] = {
		ask->type ? ask->type : "Content-Type: application/json", NULL
	};
	char *url = xasprintf("%s%s%s%s", e->base, ask->path,
			      ask->id ? ask->id : "",
			      ask->action ? ask->action : "");
	struct http_request req = {
		.method = ask->method,
		.url = url,
		.unix_socket = e->socket,
		.headers = ask->body.len ? type : NULL,
		.segments = &ask->body,
		.n_segments = ask->body.len ? 1 : 0,
		.data = ask->data,
		.arg = ask->arg,
		.connect_ms = CONNECT_MS,
		.idle_ms = ask->idle_ms ? ask->idle_ms : IDLE_MS,
	};
	int rc;

	if (!res->body.max)
		res->body.max = ANSWER_MAX;
	rc = http_do(e->http, &req, res, stop, err);
	free(url);
	if (rc < 0 && err->http_status && ask->what)
		return error_wrap(err, "%s", ask->what);
	return rc < 0 ? engine_unreachable(e, err) : 0;
}

int engine_json(struct engine *e, const struct engine_ask *ask, cJSON **answer,
		const struct stop *stop, struct error *err)
{
	struct http_response res = { 0 };
	int rc = engine_call(e, ask, &res, stop, err);

	if (rc == 0 && res.status >= 400)
		rc = http_status_error(&res, ask->what, err);
	if (rc == 0 && answer) {
		*answer = json_parse(buf_str(&res.body));
		if (!*answer)
			rc = error_set(err, ERR_PROTOCOL,
				       "%s: the engine's answer is not JSON",
				       ask->what);
	}
	http_response_release(&res);
	return rc;
}

int engine_post(struct engine *e, const char *id, const char *action,
		const char *what, const struct stop *stop, struct error *err)
{
	struct engine_ask ask = { .method = "POST",
				  .path = "/containers/",
				  .id = id,
				  .action = action,
				  .what = what };

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
	struct engine_ask ask = { .method = "GET",
				  .path = "/containers/",
				  .id = id,
				  .action = "/json",
				  .what = id };
	int rc;

	if (!engine_name_ok(id))
		return error_set(err, ERR_USAGE,
				 "not a container's name or id: '%s'", id);
	rc = engine_json(e, &ask, answer, stop, err);
	if (rc < 0 && err->code == ERR_NOT_FOUND)
		error_set(err, ERR_NOT_FOUND, "unknown container '%s'", id);
	return rc;
}

/* docker_engine.h - the Docker Engine API, as the docker provider uses it. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DOCKER_ENGINE_H
#define PROVIDERS_DOCKER_ENGINE_H

#include <stdatomic.h>

#include "base/json.h"
#include "net/http.h"
#include "sandbox/sandbox.h"

/*
 * Paths carry no version: the engine then speaks its newest one, and new
 * engines refuse old versions (Docker 29 refuses all below 1.44). What is used
 * here has been the same since 1.24 and works with Podman.
 */
struct engine {
	struct http *http; /* borrowed */
	char *base;        /* owned: "http://docker", "https://host:2376" */
	char *socket;      /* owned: path of the unix socket, or NULL */
	char *shown;       /* owned: for messages, "unix:///run/..." */
};

/* DOCKER_HOST, else Docker's socket, else Podman's. Talks to nobody. */
int engine_init(struct engine *e, struct http *http, const struct settings *set,
		struct error *err);
void engine_release(struct engine *e);

struct engine_ask { /* one request; all borrowed */
	const char *method;
	const char *path; /* with its query */
	struct str body;  /* JSON, or empty */
	const char *what; /* names the deed for a message */
};
/* Any status is success. */
int engine_call(struct engine *e, const struct engine_ask *ask,
		struct http_response *res, const struct stop *stop,
		struct error *err);
/* The answer must be below 400; *answer (NULL: not wanted) is the parsed
 * body, the caller's. */
int engine_json(struct engine *e, const struct engine_ask *ask, cJSON **answer,
		const struct stop *stop, struct error *err);
/* Words a failure to reach the engine. */
int engine_unreachable(const struct engine *e, struct error *err);
/* Appends text as one component of a query string. */
void engine_quote(struct buf *path, const char *text);

/* A name or id that can stand in a path. */
bool engine_name_ok(const char *name);

/* GET /containers/ID/json. ERR_NOT_FOUND when there is none. */
int engine_inspect(struct engine *e, const char *id, cJSON **answer,
		   const struct stop *stop, struct error *err);

/* Pulls the image; progress lines through spec. */
int engine_pull(struct engine *e, const char *image,
		const struct sandbox_spec *spec, const struct stop *stop,
		struct error *err);

/* The provider's own part, by file. */
struct docker {
	struct engine engine;
	const struct settings *settings; /* borrowed */
	atomic_int kills;                /* still at work behind our back */
};
extern const struct setting docker_settings[];
/* The body of POST /containers/create. */
int docker_create_body(const struct docker *d, const struct sandbox_spec *spec,
		       const char *image, struct buf *body, struct error *err);
/* What decides about the image: a snapshot's or the parameter's. Owned. */
int docker_image(const struct docker *d, const struct sandbox_spec *spec,
		 char **image, struct error *err);

int docker_list(struct sandbox_host *host, const char *owner,
		void (*each)(void *arg, const struct sandbox_info *info),
		void *arg, const struct stop *stop, struct error *err);
int docker_info(struct sandbox_host *host, const char *id,
		void (*each)(void *arg, const struct sandbox_info *info),
		void *arg, const struct stop *stop, struct error *err);
int docker_snapshot(struct sandbox *sb, const char *name, bool replace,
		    const struct stop *stop, struct error *err);
int docker_find_snapshot(struct sandbox_host *host, const char *name,
			 const struct stop *stop, struct error *err);
int docker_execute(struct sandbox *sb, const struct exec_request *req,
		   struct exec_result *res, const struct stop *stop,
		   struct error *err);
/* Runs argv (NULL-terminated) as root with all capabilities, output dropped;
 * *status is its exit status. For our own helpers. */
int docker_as_root(struct engine *e, const char *container,
		   const char *const *argv, int *status,
		   const struct stop *stop, struct error *err);
/* Kills everything that carries the token of one execute call. */
int docker_kill(struct engine *e, const char *container, const char *token,
		const struct stop *stop, struct error *err);
/* The same on a thread of its own, so that a cancel returns at once; whatever
 * runs a command next waits for it. */
void docker_kill_later(struct docker *d, const char *container,
		       const char *token);
/* Until none is at work any more; each takes 2 s at most. */
int docker_kills_done(struct docker *d, const struct stop *stop,
		      struct error *err);
int docker_upload(struct sandbox *sb, struct transfer *files, size_t n,
		  const struct stop *stop, struct error *err);
int docker_download(struct sandbox *sb, struct transfer *files, size_t n,
		    const struct stop *stop, struct error *err);

#endif

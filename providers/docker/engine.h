/* engine.h - the Docker Engine API, as the docker provider uses it. */
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
	struct http *http;    /* borrowed */
	char *base;           /* owned: "http://docker", "https://host:2376" */
	char *socket;         /* owned: path of the unix socket, or NULL */
	char *shown;          /* owned: for messages, "unix:///run/..." */
	bool is_podman;       /* Podman was asked for */
	atomic_int top_words; /* see top_read() */
};

/* DOCKER_HOST, else Docker's socket, else Podman's; is_podman: Podman's socket,
 * else DOCKER_HOST. Talks to nobody. */
int engine_init(struct engine *e, struct http *http, const struct settings *set,
		bool is_podman, struct error *err);
void engine_release(struct engine *e);

struct engine_ask { /* one request; all borrowed */
	const char *method;
	const char *path;        /* with its query; id and action follow it */
	const char *id, *action; /* of a container or an exec, or NULL */
	struct str body;         /* JSON, or empty */
	const char *what;        /* names the request for a message */
	const char *type;        /* header of the body, or NULL: JSON */
	int64_t idle_ms; /* without a byte, then it is cut; 0: 2 minutes */
	/* As in struct http_request. */
	int (*data)(void *arg, struct str chunk, struct error *err);
	void *arg;
};
/* Any status is success. */
int engine_call(struct engine *e, const struct engine_ask *ask,
		struct http_response *res, const struct stop *stop,
		struct error *err);
/* The answer must be below 400; *answer (NULL: not wanted) is the parsed
 * body, the caller's. */
int engine_json(struct engine *e, const struct engine_ask *ask, cJSON **answer,
		const struct stop *stop, struct error *err);
/* Names the engine in an error of the network; other errors stay. */
int engine_unreachable(const struct engine *e, struct error *err);

/* A name or id that can stand in a path. */
bool engine_name_ok(const char *name);

/* POST /containers/ID/ACTION without a body. */
int engine_post(struct engine *e, const char *id, const char *action,
		const char *what, const struct stop *stop, struct error *err);
/* GET /containers/ID/json. ERR_NOT_FOUND when there is none. */
int engine_inspect(struct engine *e, const char *id, cJSON **answer,
		   const struct stop *stop, struct error *err);

/* Pulls the image; progress lines through spec. */
int engine_pull(struct engine *e, const char *image,
		const struct sandbox_spec *spec, const struct stop *stop,
		struct error *err);

struct docker {
	struct engine engine;
	const struct settings *settings; /* borrowed */
};
extern const struct setting docker_settings[];
/* Limits that nobody asked for: an engine that cannot keep them (rootless,
 * without control groups) makes the container without. */
struct docker_limits {
	bool wanted;
	int64_t memory; /* bytes, three quarters of the engine's; 0: none */
	char user[48];  /* whose files are ours where "bind" is set, or "" */
};
/* GET /info, unless the user has set the memory. */
int docker_limits_init(struct docker *d, struct docker_limits *limits,
		       const struct stop *stop, struct error *err);
/* Adds the members of HostConfig that take rights from a container. */
int docker_harden(const struct docker *d, const struct docker_limits *limits,
		  cJSON *config, struct error *err);
/* What new containers run in, by the name of the runtime that is set. */
enum sandbox_isolation docker_isolation(const struct settings *set);
/* The same of a runtime's name. */
enum sandbox_isolation docker_runtime_isolation(const char *runtime);
/* After the engine refused a container: true when it has no runtime of the name
 * that is set, which err says then, with those that it has. */
bool docker_lacks_runtime(struct docker *d, const struct stop *stop,
			  struct error *err);
/* Podman 4.3 ignores a runtime in silence: a container that was to be in
 * gVisor is not used then. */
int docker_check_runtime(const struct docker *d, const cJSON *inspected,
			 struct error *err);
/* The body of POST /containers/create. */
int docker_create_body(const struct docker *d, const struct sandbox_spec *spec,
		       const char *image, const struct docker_limits *limits,
		       struct buf *body, struct error *err);
/* The snapshot's image or that of the setting. Owned. */
int docker_image(const struct docker *d, const struct sandbox_spec *spec,
		 char **image, struct error *err);

/* Appends the mount of the setting "bind", if there is one. An engine on
 * another machine cannot have it. */
int docker_bind_mount(const struct docker *d, cJSON *config, struct error *err);
/* Whether new containers have directories of this machine, or volumes. */
bool docker_has_mounts(const struct settings *set);
/* "UID:GID" in the container whose files are those of this process's user on
 * this machine; info is what GET /info says. */
void docker_bind_user(const cJSON *info, char *user, size_t size);
/* The working directory is a mount of the user's own: its owner stays. */
bool docker_is_bound(const struct sandbox *sb);

/* Makes the container's user the owner of the working directory. */
int docker_give_workdir(struct docker *d, const struct sandbox *sb,
			const cJSON *inspected, const struct stop *stop,
			struct error *err);

int docker_remove(struct sandbox_client *host, const char *id,
		  const struct stop *stop, struct error *err);
int docker_stop(struct sandbox_client *host, const char *id, int64_t *keep_s,
		const struct stop *stop, struct error *err);
int docker_list(struct sandbox_client *host, const char *owner,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err);
int docker_info(struct sandbox_client *host, const char *id,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err);
int docker_snapshot(struct sandbox *sb, const char *name, bool replace,
		    const struct stop *stop, struct error *err);
int docker_find_snapshot(struct sandbox_client *host, const char *name,
			 const struct stop *stop, struct error *err);
int docker_execute(struct sandbox *sb, const struct exec_request *req,
		   struct exec_result *res, const struct stop *stop,
		   struct error *err);

extern const struct sandbox_provider docker_provider;

#endif

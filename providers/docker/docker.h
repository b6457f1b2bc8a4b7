/* docker.h - what the rooms of the docker provider share. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DOCKER_DOCKER_H
#define PROVIDERS_DOCKER_DOCKER_H

#include <pthread.h>

#include "providers/docker/engine.h"

/*
 * docker.c is the provider: a container from its creation to its removal.
 * container.c describes new containers, exec.c runs commands, kill.c ends them.
 * All of them talk to the engine through engine.h.
 */
struct docker { /* sandbox_client.priv */
	struct engine engine;
	const struct settings *settings; /* borrowed */
};
extern const struct setting docker_settings[];

/* container.c: what new containers are like. */

/* Limits by default, which the user did not ask for. An engine that cannot keep
 * them (rootless, without control groups) makes the container without. */
struct docker_limits {
	bool wanted;
	int64_t memory; /* bytes, three quarters of the engine's; 0: none */
	char user[48];  /* with "bind": whose files are the user's; or "" */
};
/* GET /info, unless the user has set the memory. */
int docker_limits_init(struct docker *d, struct docker_limits *limits,
		       const struct stop *stop, struct error *err);
/* How well new containers are isolated, by the runtime that is set. */
enum sandbox_isolation docker_isolation(const struct settings *set);
/* The same for the name of a runtime. */
enum sandbox_isolation docker_runtime_isolation(const char *runtime);
/* Call after the engine refused a container. True if it has no runtime of the
 * name that is set; err then lists those that it has. */
bool docker_lacks_runtime(struct docker *d, const struct stop *stop,
			  struct error *err);
/* -1 if the container does not run in the runtime that is set: Podman 4.3
 * silently ignores it. */
int docker_check_runtime(const struct docker *d, const cJSON *inspected,
			 struct error *err);
/* The body of POST /containers/create. */
int docker_create_body(const struct docker *d, const struct sandbox_spec *spec,
		       const char *image, const struct docker_limits *limits,
		       struct buf *body, struct error *err);
/* The image of the snapshot, or the one of the settings. Owned. */
int docker_image(const struct docker *d, const struct sandbox_spec *spec,
		 char **image, struct error *err);
/* Whether new containers get directories of this machine, or volumes. */
bool docker_has_mounts(const struct settings *set);
/* "UID:GID" in the container whose files belong to our user on this machine.
 * info: the answer to GET /info. */
void docker_bind_user(const cJSON *info, char *user, size_t size);
/* True if the working directory is a directory of the user's, mounted: its
 * owner must not change. */
bool docker_is_bound(const struct sandbox *sb);
/* exec.c: struct sandbox_ops.execute. */
int docker_execute(struct sandbox *sb, const struct exec_request *req,
		   struct exec_result *res, const struct stop *stop,
		   struct error *err);

extern const struct sandbox_provider docker_provider;

/* kill.c: sandbox.priv, which the threads that run commands share. */
struct docker_box {
	struct docker *docker; /* borrowed */
	bool created;          /* by us: the container may be restarted */
	pthread_mutex_t restarting;
	pthread_mutex_t lock; /* for the rest */
	unsigned restarts;
	int64_t init; /* pid of the first process on the engine's machine */
	char notice[SANDBOX_NOTICE]; /* what no result has told yet */
};
struct docker_box *docker_box_new(struct docker *docker, bool created);
void docker_box_free(struct docker_box *box);
void docker_box_set_init(struct docker_box *box, const cJSON *inspected);
/* Moves what no result has told yet to the end of notice. */
void docker_box_take_notice(struct docker_box *box,
			    char notice[SANDBOX_NOTICE]);
unsigned docker_box_restarts(struct docker_box *box);
/* Whether the container has been restarted since restarts was read, by us or,
 * as GET /containers/ID/json says, by somebody else. */
bool docker_box_restarted(struct docker_box *box, const char *container,
			  unsigned restarts);

struct docker_call { /* borrowed: one command that was started */
	const char *container;
	const char *exec;  /* its id */
	const char *token; /* DCODE_EXEC in its environment */
	int64_t sent_ms;   /* when it was sent (clock_ms) */
};

/*
 * Ends every process of a call with no more rights than the container gives its
 * commands. A program in the container is asked to kill them; whether it did is
 * read from the engine, since a command may have replaced every program there.
 * What still lives after 2 s is ended by a restart if dcode made the container;
 * else it is named. Appends to notice what the user and the model have to know;
 * NULL: the box keeps it for docker_box_take_notice().
 */
void docker_kill(struct docker_box *box, const struct docker_call *call,
		 char notice[SANDBOX_NOTICE]);
#endif

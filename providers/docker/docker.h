/* docker.h - declarations shared by the files of the docker provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DOCKER_DOCKER_H
#define PROVIDERS_DOCKER_DOCKER_H

#include <pthread.h>

#include "egress/egress.h"
#include "egress/trust/trust.h"
#include "providers/docker/engine.h"

/*
 * docker.c is the provider: a container from its creation to its removal.
 * container.c describes new containers, exec.c runs commands, kill.c ends them,
 * network.c limits what a container reaches.
 * All of them talk to the engine through engine.h.
 */
struct docker { /* sandbox_client.priv points to it */
	struct engine engine;
	const struct settings *settings; /* borrowed */
};
extern const struct setting docker_settings[];

/* container.c: describes new containers. */

/* Default limits, which the user did not set. If the engine cannot apply them
 * (rootless, without control groups), the container is created without them. */
struct docker_limits {
	bool wanted;
	int64_t memory; /* bytes: 3/4 of the engine's memory; 0: no limit */
	char user[48];  /* user of "bind" (docker_bind_user()), or "" */
};
/* Fills limits. Asks GET /info, unless the user has set the memory. */
int docker_limits_init(struct docker *d, struct docker_limits *limits,
		       const struct stop *stop, struct error *err);
/* How strongly new containers are isolated, according to the runtime in the
 * settings. */
enum sandbox_isolation docker_isolation(const struct settings *set);
/* Returns how strongly the runtime with this name isolates. */
enum sandbox_isolation docker_runtime_isolation(const char *runtime);
/* Call after the engine refused a container. True if the engine does not have
 * the configured runtime; err then lists the runtimes that it has. */
bool docker_lacks_runtime(struct docker *d, const struct stop *stop,
			  struct error *err);
/* Returns -1 if the container does not use the configured runtime: Podman 4.3
 * silently ignores that setting. */
int docker_check_runtime(const struct docker *d, const cJSON *inspected,
			 struct error *err);
/* Writes the body of POST /containers/create. */
int docker_create_body(const struct docker *d, const struct sandbox_spec *spec,
		       const char *image, const struct docker_limits *limits,
		       struct buf *body, struct error *err);
/* Sets *image (owned by the caller) to the image of the snapshot in spec, or to
 * that in the settings. */
int docker_image(const struct docker *d, const struct sandbox_spec *spec,
		 char **image, struct error *err);
/* True if new containers mount directories of this machine, or volumes. */
bool docker_has_mounts(const struct settings *set);
/* Writes the "UID:GID" that commands in the container need so that their files
 * belong to dcode's user on this machine. info: the answer to GET /info. */
void docker_bind_user(const cJSON *info, char *user, size_t size);
/* True if the working directory is a mounted directory of the user. Its owner
 * must not change. */
bool docker_is_bound(const struct sandbox *sb);
/* exec.c: implements sandbox_ops.execute. */
int docker_execute(struct sandbox *sb, const struct exec_request *req,
		   struct exec_result *res, const struct stop *stop,
		   struct error *err);

extern const struct sandbox_provider docker_provider;

/* kill.c: sandbox.priv points to it. Shared by the threads that run
 * commands. */
struct docker_box {
	struct docker *docker; /* borrowed */
	bool created; /* dcode created the container and may restart it */
	/* held while the way to the hosts is opened; taken before lock */
	pthread_mutex_t opening;
	pthread_mutex_t lock; /* guards the fields below */
	unsigned restarts;
	int64_t init; /* pid of the first process on the engine's machine */
	/* what the user must know about a kill; no command's result has
	 * contained it yet */
	char notice[SANDBOX_NOTICE];
	/* owned: the way to the listed hosts; NULL: another dcode's, or none */
	struct egress *egress;
	/* egress is NULL, although the container was made with a list: at the
	 * last try another dcode served it, whose placeholders are not ours,
	 * or the try failed. The next command tries again. */
	bool yields;
	/* what it puts into requests; borrowed, set before it starts */
	struct secrets secrets;
	const struct network_gate *gate; /* of egress; or NULL */
};
struct docker_box *docker_box_new(struct docker *docker, bool created);
void docker_box_free(struct docker_box *box);
void docker_box_set_init(struct docker_box *box, const cJSON *inspected);
/* Appends box->notice to notice and clears it, so that only one command's
 * result contains it; without one, which hosts were refused. */
void docker_box_take_notice(struct docker_box *box,
			    char notice[SANDBOX_NOTICE]);
unsigned docker_box_restarts(struct docker_box *box);
/* True if the container was restarted since the caller read restarts: by dcode,
 * or by somebody else according to GET /containers/ID/json. */
bool docker_box_restarted(struct docker_box *box, const char *container,
			  unsigned restarts);

struct docker_call { /* one started command; all borrowed */
	const char *container;
	const char *exec;  /* the exec's id */
	const char *token; /* value of DCODE_EXEC in its environment */
	int64_t sent_ms;   /* clock_ms() when it was sent */
};

/* Ends all processes of a call, with no more rights than the container's
 * commands have. A program in the container kills them. Whether that worked is
 * read from the engine, since a command may have replaced every program in the
 * container. If processes live after 2 s, dcode restarts the container if it
 * created it; else it reports their names. Stores what the user and the model
 * must know for docker_box_take_notice(). */
void docker_kill(struct docker_box *box, const struct docker_call *call);

/* network.c: lists of hosts. */

/* Adds the list to the body of POST /containers/create, which has HostConfig
 * and Labels. Fails if dcode cannot enforce a list for containers of this
 * engine. */
int docker_network_add(const struct docker *d, const struct network *n,
		       cJSON *body, struct error *err);
/* Opens the way to the hosts of a container that was created with a list and
 * runs; inspected: GET /containers/ID/json. Does nothing for another container.
 * After a restart the list that was in force holds again. */
int docker_network_open(struct docker_box *box, const cJSON *inspected,
			const struct stop *stop, struct error *err);
/* Call before a command: opens the way again if somebody else has restarted the
 * container, or if the last try failed. *guarded: a proxy of this process
 * guards it, so that its placeholders are of use. After a failure the container
 * has no network; a command can still run. */
int docker_network_renew(struct sandbox *sb, bool *guarded,
			 const struct stop *stop, struct error *err);
/* Call after a container was removed: deletes what is stored about the lists of
 * those that are gone. */
void docker_network_sweep(struct docker *d, const struct stop *stop);
extern const struct reach_ops docker_reach;
/* Implement sandbox_ops.set_network and get_network. */
int docker_set_network(struct sandbox *sb, const struct network *n,
		       const struct stop *stop, struct error *err);
int docker_get_network(struct sandbox *sb, struct network *n,
		       const struct stop *stop, struct error *err);

#endif

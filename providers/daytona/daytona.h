/* daytona.h - the parts of the Daytona provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DAYTONA_DAYTONA_H
#define PROVIDERS_DAYTONA_DAYTONA_H

#include <pthread.h>

#include "providers/kit/rest.h"
#include "sandbox/sandbox.h"

/*
 * Two servers with one key: the API, which makes and ends sandboxes, and the
 * toolbox proxy that a sandbox's toolboxProxyUrl names, which runs commands
 * and moves files. Wire: the OpenAPI documents 0.190.0 and what the official
 * JavaScript SDK 0.218.0 and Python SDK 0.190.0 were seen to send (2026-11).
 */
enum {
	DAYTONA_LIFETIME_S = 1800,
	DAYTONA_ID_MAX = 128,
};

struct daytona { /* sandbox_client.priv */
	struct rest api;
	const struct settings *settings; /* borrowed */
};

struct daytona_box { /* sandbox.priv */
	pthread_mutex_t lock;
	char *base;     /* owned: the toolbox's address, with the id */
	int64_t stop_s; /* without activity, then it stops; 0: never */
	int64_t active; /* clock_ms() when we last said that we are */
};

extern const struct setting daytona_settings[];

/* daytona.c */
struct daytona *daytona_of(const struct sandbox_client *host);
bool daytona_id_ok(const char *id);
/* rest_json() on the API, with advice when the key was refused. */
int daytona_api(struct daytona *d, const struct rest_ask *ask, cJSON **tree,
		int *status, const struct stop *stop, struct error *err);
/* The sandbox's toolbox; the caller releases r. */
int daytona_toolbox(struct sandbox *sb, struct rest *r, struct error *err);
/* Every half of the time after which it would stop: tells the API that it is
 * in use. A failure of that is no failure. */
void daytona_keep(struct sandbox *sb, const struct stop *stop);

/* daytona_life.c */
/* *status is 404 and *tree NULL when there is none of this id or name. */
int daytona_get(struct daytona *d, const char *id, cJSON **tree, int *status,
		const struct stop *stop, struct error *err);
/*
 * Waits until the sandbox that answer tells of is started; a stopped one is
 * started. want: the id that it must have, or NULL. Sets sb->id. progress may
 * be NULL. Frees answer.
 */
int daytona_ready(struct sandbox *sb, cJSON *answer, const char *want,
		  const struct sandbox_spec *spec, const struct stop *stop,
		  struct error *err);
int daytona_attach(struct sandbox *sb, const char *id, const struct stop *stop,
		   struct error *err);
int daytona_extend(struct sandbox *sb, int64_t lifetime_s,
		   const struct stop *stop, struct error *err);
/* The toolbox did not answer as it should: is the sandbox there? 0 to try
 * again, a stopped one started; -1 with ERR_GONE or why nobody can tell. */
int daytona_revive(struct sandbox *sb, const struct stop *stop,
		   struct error *err);
int daytona_remove(struct sandbox_client *host, const char *id,
		   const struct stop *stop, struct error *err);

/* daytona_create.c */
int daytona_create(struct sandbox *sb, const struct sandbox_spec *spec,
		   const struct stop *stop, struct error *err);
/* daytona_list.c */
int daytona_list(struct sandbox_client *host, const char *owner,
		 const struct info_sink *sink, const struct stop *stop,
		 struct error *err);
int daytona_info(struct sandbox_client *host, const char *id,
		 const struct info_sink *sink, const struct stop *stop,
		 struct error *err);
/* daytona_snapshot.c: struct sandbox_ops.snapshot, until it can be used. */
int daytona_snapshot(struct sandbox *sb, const char *name, bool replace,
		     const struct stop *stop, struct error *err);
int daytona_find_snapshot(struct sandbox_client *host, const char *name,
			  const struct stop *stop, struct error *err);
/* daytona_exec.c */
int daytona_execute(struct sandbox *sb, const struct exec_request *req,
		    struct exec_result *res, const struct stop *stop,
		    struct error *err);
/* daytona_files.c */
int daytona_upload(struct sandbox *sb, struct transfer *files, size_t n,
		   const struct stop *stop, struct error *err);
int daytona_download(struct sandbox *sb, struct transfer *files, size_t n,
		     const struct stop *stop, struct error *err);

#endif

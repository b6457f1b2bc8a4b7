/* runloop.h - the parts of the Runloop provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_RUNLOOP_RUNLOOP_H
#define PROVIDERS_RUNLOOP_RUNLOOP_H

#include "providers/kit/duplicate_create.h"
#include "providers/kit/rest.h"
#include "sandbox/sandbox.h"

/*
 * One server makes devboxes, runs commands in them and moves files. Wire: the
 * vendor's OpenAPI document (2026-05) and what its JavaScript SDK 1.32.0 and
 * Python SDK 1.23.3 were seen to send (2026-11). What the document leaves open
 * (error bodies, what a second shutdown answers) is never relied on: the
 * devbox's status is asked for instead.
 */
enum {
	RUNLOOP_LIFETIME_S = 14400,
	RUNLOOP_LIFETIME_MAX_S = 172800, /* of keep_alive_time_seconds */
	RUNLOOP_ID_MAX = 128,
	RUNLOOP_STATUS = 32, /* room for a status' name */
};

struct runloop { /* sandbox_client.priv */
	struct rest api;
	const struct settings *settings; /* borrowed */
	struct create_log tried;
};

/* Where progress goes; the function may be NULL. */
struct runloop_progress {
	void (*line)(void *arg, const char *line);
	void *arg;
};

extern const struct setting runloop_settings[];

/* runloop_api.c */
struct runloop *runloop_of(const struct sandbox_client *host);
bool runloop_id_ok(const char *id);
/*
 * rest_json() with an x-request-id on what changes something, which stays the
 * same when it is repeated, and advice when the key was refused. *tree (may be
 * NULL) is the caller's; *status (may be NULL) is 0 when no answer came.
 */
int runloop_api(struct runloop *r, const struct rest_ask *ask, cJSON **tree,
		int *status, const struct stop *stop, struct error *err);
/* A devbox's status by GET; "" when there is none of that id. */
int runloop_status(struct runloop *r, const char *id,
		   char status[RUNLOOP_STATUS], const struct stop *stop,
		   struct error *err);
/*
 * Brings the devbox, now in the given status, to running: waits, resumes a
 * suspended one. ERR_GONE when it has ended, ERR_TIMEOUT after ten minutes.
 */
int runloop_run(struct runloop *r, const char *id,
		const char status[RUNLOOP_STATUS],
		const struct runloop_progress *progress,
		const struct stop *stop, struct error *err);
/* A request about a running devbox failed: is it there? 0 to try again, a
 * suspended one resumed; -1 with ERR_GONE or why we cannot tell. */
int runloop_revive(struct sandbox *sb, const struct stop *stop,
		   struct error *err);
/* struct sandbox_ops.remove */
int runloop_remove(struct sandbox_client *host, const char *id,
		   const struct stop *stop, struct error *err);

/* runloop_create.c */
int runloop_create(struct sandbox *sb, const struct sandbox_spec *spec,
		   const struct stop *stop, struct error *err);
/* runloop_body.c: POST /v1/devboxes' body, without a blueprint of that name. */
int runloop_describe(struct runloop *r, const struct sandbox_spec *spec,
		     cJSON *body, const struct stop *stop, struct error *err);
struct runloop_rules {
	const char *const *hosts; /* that may be reached */
	size_t n;
	bool all; /* everything may */
};
/* runloop_policy.c: the id (owned) of the network policy that allows these
 * host names, or all; made when there is none. */
int runloop_policy(struct runloop *r, const struct runloop_rules *rules,
		   char **id, const struct stop *stop, struct error *err);
/* runloop_blueprint.c: makes sure that it is built. */
int runloop_blueprint(struct runloop *r, const char *name,
		      const struct runloop_progress *progress,
		      const struct stop *stop, struct error *err);
/* runloop_list.c */
int runloop_list(struct sandbox_client *host, const char *owner,
		 const struct info_sink *sink, const struct stop *stop,
		 struct error *err);
int runloop_info(struct sandbox_client *host, const char *id,
		 const struct info_sink *sink, const struct stop *stop,
		 struct error *err);
struct runloop_query {
	const char *path;  /* without a question mark */
	const char *query; /* "name=x&" or "" */
	const char *items; /* the member that is the list */
	int limit;         /* items of a page */
	int pages;         /* at most; 0: all */
	/* Returns whether to go on. */
	bool (*each)(void *arg, const cJSON *item);
	void *arg;
};
/* GET on a list: every item of its pages. 1 when there are more pages than
 * were wanted. */
int runloop_pages(struct runloop *r, const struct runloop_query *q,
		  const struct stop *stop, struct error *err);
/* runloop_exec.c */
int runloop_execute(struct sandbox *sb, const struct exec_request *req,
		    struct exec_result *res, const struct stop *stop,
		    struct error *err);
/* runloop_output.c: appends all that an ended execution wrote to its standard
 * output, which the other answers give only the last lines of. */
int runloop_output(struct sandbox *sb, const char *execution, struct buf *out,
		   const struct stop *stop, struct error *err);
/* runloop_files.c */
int runloop_upload(struct sandbox *sb, struct transfer *files, size_t n,
		   const struct stop *stop, struct error *err);
int runloop_download(struct sandbox *sb, struct transfer *files, size_t n,
		     const struct stop *stop, struct error *err);

#endif

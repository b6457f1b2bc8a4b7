/* langsmith.h - the parts of the LangSmith provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_LANGSMITH_LANGSMITH_H
#define PROVIDERS_LANGSMITH_LANGSMITH_H

#include <pthread.h>

#include "providers/kit/rest.h"
#include "sandbox/sandbox.h"

/*
 * Two servers: the API at LANGSMITH_ENDPOINT, which makes and ends sandboxes
 * and keeps snapshots, and the data plane, whose address is in each sandbox's
 * description. A sandbox's name is its id in every path; ours is the label, so
 * that no label can be used twice. Wire: what the SDKs of Python at bc8dd672
 * and JavaScript 0.10.5 were seen to send, and their sources (2026-11).
 */
enum {
	LANGSMITH_LIFETIME_S = 1800,
	LANGSMITH_ID_MAX = 128,
};

struct langsmith { /* sandbox_client.priv */
	struct rest api;
	const struct settings *settings; /* borrowed */
	const char *key;                 /* borrowed */
};

struct langsmith_box { /* sandbox.priv */
	pthread_mutex_t lock;
	char *base; /* owned: the data plane's address */
	int64_t lifetime_s;
	bool no_ws; /* the data plane refused a WebSocket */
};

extern const struct setting langsmith_settings[];

/* langsmith.c */
struct langsmith *langsmith_of(const struct sandbox_client *host);
struct langsmith_box *langsmith_box(struct sandbox *sb);
bool langsmith_id_ok(const char *id);
/* rest_json() on the API, with advice when the key was refused. */
int langsmith_api(struct langsmith *l, const struct rest_ask *ask, cJSON **tree,
		  int *status, const struct stop *stop, struct error *err);
struct langsmith_query {
	const char *path;
	const char *more; /* of the query: begins with '&' */
	/* For every item of all pages; returns whether it wants more. */
	bool (*each)(void *arg, const cJSON *item);
	void *arg;
};
/* All pages of a list, in either dialect. */
int langsmith_pages(struct langsmith *l, const struct langsmith_query *q,
		    const struct stop *stop, struct error *err);
/* Takes the data plane's address out of the API's answer, which must be about
 * want. */
int langsmith_adopt(struct sandbox *sb, const cJSON *answer, const char *want,
		    struct error *err);
/* Waits until the sandbox runs, a stopped one is started: then sb has its
 * address. wait_ms at most. */
int langsmith_wait(struct sandbox *sb, const char *id, int64_t wait_ms,
		   const struct sandbox_spec *spec, const struct stop *stop,
		   struct error *err);
/*
 * The data plane did not answer as it should: is the sandbox there? 0 to try
 * again, a stopped one started; -1 with ERR_GONE or why the API does not
 * tell.
 */
int langsmith_revive(struct sandbox *sb, const struct stop *stop,
		     struct error *err);
/* This sandbox's data plane; the caller releases r. */
int langsmith_plane(struct sandbox *sb, struct rest *r, struct error *err);
int langsmith_extend(struct sandbox *sb, int64_t lifetime_s,
		     const struct stop *stop, struct error *err);

/* langsmith_create.c */
int langsmith_create(struct sandbox *sb, const struct sandbox_spec *spec,
		     const struct stop *stop, struct error *err);
/* langsmith_snapshot.c */
/* The id of the snapshot to start from, owned: looked up by name, built when
 * there is none. */
int langsmith_resolve(struct langsmith *l, const struct sandbox_spec *spec,
		      char **id, const struct stop *stop, struct error *err);
int langsmith_snapshot(struct sandbox *sb, const char *name, bool replace,
		       const struct stop *stop, struct error *err);
int langsmith_find_snapshot(struct sandbox_client *host, const char *name,
			    const struct stop *stop, struct error *err);
/* langsmith_list.c */
int langsmith_list(struct sandbox_client *host, const char *owner,
		   const struct info_sink *sink, const struct stop *stop,
		   struct error *err);
int langsmith_info(struct sandbox_client *host, const char *id,
		   const struct info_sink *sink, const struct stop *stop,
		   struct error *err);
/* langsmith_exec.c */
int langsmith_execute(struct sandbox *sb, const struct exec_request *req,
		      struct exec_result *res, const struct stop *stop,
		      struct error *err);
/* langsmith_ws.c */
/* The command as text over a WebSocket, by sh; only command, timeout_ms,
 * output and arg of req count, and output is UTF-8. 1 when there is no
 * WebSocket to be had, nothing was begun then. */
int langsmith_ws_execute(struct sandbox *sb, const struct exec_request *req,
			 struct exec_result *res, const struct stop *stop,
			 struct error *err);
/* langsmith_files.c */
int langsmith_upload(struct sandbox *sb, struct transfer *files, size_t n,
		     const struct stop *stop, struct error *err);
int langsmith_download(struct sandbox *sb, struct transfer *files, size_t n,
		       const struct stop *stop, struct error *err);

#endif

/* e2b.h - the parts of the E2B provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_E2B_E2B_H
#define PROVIDERS_E2B_E2B_H

#include <pthread.h>

#include "providers/kit/duplicate_create.h"
#include "providers/kit/rest.h"
#include "sandbox/sandbox.h"

/*
 * Two servers: the API at https://api.DOMAIN, which makes and ends sandboxes,
 * and envd inside each sandbox, which runs commands and moves files. Wire:
 * the OpenAPI documents and protocol files of e2b-dev/E2B at b8029973a, and
 * what its JavaScript SDK 2.51.0 was seen to send (2026-11).
 */
enum {
	E2B_LIFETIME_S = 1800,
	E2B_ID_MAX = 128,
};

struct e2b { /* sandbox_client.priv */
	struct rest api;
	const struct settings *settings; /* borrowed */
	char *domain;                    /* owned */
	char *envd;       /* owned: one address for all, or NULL */
	const char *user; /* borrowed; NULL: the template's */
	struct create_log tried;
};

struct e2b_box { /* sandbox.priv */
	pthread_mutex_t lock;
	char *base;  /* owned: envd's address */
	char *token; /* owned, or NULL */
	int version; /* of envd: 0.6.4 is 604; 0 unknown */
	int64_t lifetime_s;
	int64_t ends;  /* clock_ms() when it dies unless extended */
	int64_t asked; /* clock_ms() of the last try to extend */
};

extern const struct setting e2b_settings[];

/* e2b.c */
struct e2b *e2b_of(const struct sandbox_client *host);
bool e2b_id_ok(const char *id);
/* rest_json() on the API, with advice when the key was refused. */
int e2b_api(struct e2b *e, const struct rest_ask *ask, cJSON **tree,
	    int *status, const struct stop *stop, struct error *err);
/* Takes envd's address and token out of the API's answer. want: the id that
 * the answer must be about, or NULL. */
int e2b_adopt(struct sandbox *sb, const cJSON *answer, const char *want,
	      int64_t lifetime_s, struct error *err);
/* POST connect: resumes a paused one. */
int e2b_connect(struct sandbox *sb, const char *id, int64_t lifetime_s,
		const struct stop *stop, struct error *err);
/* Before a request to envd: extends the life when half of it has passed. A
 * failure of that is no failure of the request. */
void e2b_keep(struct sandbox *sb, const struct stop *stop);
/*
 * envd did not answer as it should: is the sandbox there? 0 to try again, its
 * token new and a paused one resumed; -1 with ERR_GONE or why the API does
 * not tell.
 */
int e2b_revive(struct sandbox *sb, const struct stop *stop, struct error *err);
/* This sandbox's envd; the caller releases r. */
int e2b_envd(struct sandbox *sb, struct rest *r, struct error *err);
int e2b_version(struct sandbox *sb);

/* e2b_create.c */
int e2b_create(struct sandbox *sb, const struct sandbox_spec *spec,
	       const struct stop *stop, struct error *err);
/* Sets the working directory, and makes it unless it is the usual one. */
int e2b_workdir(struct sandbox *sb, const struct stop *stop, struct error *err);
/* e2b_list.c */
int e2b_list(struct sandbox_client *host, const char *owner,
	     const struct info_sink *sink, const struct stop *stop,
	     struct error *err);
struct e2b_search {
	const char *key; /* of the metadata; NULL: every sandbox */
	const char *value;
	const struct info_sink *sink;
};
int e2b_find(struct e2b *e, const struct e2b_search *s, const struct stop *stop,
	     struct error *err);
int e2b_snapshot(struct sandbox *sb, const char *name, bool replace,
		 const struct stop *stop, struct error *err);
int e2b_find_snapshot(struct sandbox_client *host, const char *name,
		      const struct stop *stop, struct error *err);
int e2b_info(struct sandbox_client *host, const char *id,
	     const struct info_sink *sink, const struct stop *stop,
	     struct error *err);
/* e2b_exec.c */
int e2b_execute(struct sandbox *sb, const struct exec_request *req,
		struct exec_result *res, const struct stop *stop,
		struct error *err);
/* e2b_files.c */
int e2b_upload(struct sandbox *sb, struct transfer *files, size_t n,
	       const struct stop *stop, struct error *err);
int e2b_download(struct sandbox *sb, struct transfer *files, size_t n,
		 const struct stop *stop, struct error *err);

#endif

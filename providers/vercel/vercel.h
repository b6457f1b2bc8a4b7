/* vercel.h - the parts of the Vercel Sandbox provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_VERCEL_VERCEL_H
#define PROVIDERS_VERCEL_VERCEL_H

#include <pthread.h>

#include "archive/archive.h"
#include "providers/kit/duplicate_create.h"
#include "providers/kit/http_files.h"
#include "providers/kit/rest.h"
#include "sandbox/sandbox.h"

/*
 * One server. A sandbox of the v2 API has a name (our label, and our id of it)
 * and a session, in which commands run; one of the v1 API has only an id. Wire:
 * what the SDKs @vercel/sandbox 3.5.0 and 1.10.2 and the Python package vercel
 * 0.5.9 were seen to send, and what they accept (2026-11).
 */
enum {
	VERCEL_LIFETIME_S = 1800,
	VERCEL_ID_MAX = 128,
};

struct vercel { /* sandbox_client.priv */
	struct rest api;
	const struct settings *settings; /* borrowed */
	bool v1;
	char *project;  /* owned */
	char *team;     /* owned, percent-encoded */
	char *endpoint; /* owned */
	struct create_log tried;
};

enum vercel_status {
	VERCEL_UNKNOWN,
	VERCEL_PENDING,
	VERCEL_RUNNING,
	VERCEL_BUSY,  /* stopping, making a snapshot */
	VERCEL_ENDED, /* stopped, failed, aborted */
};

struct vercel_box { /* sandbox.priv */
	pthread_mutex_t lock;
	char *session; /* owned: part of the path of its requests */
	int64_t lifetime_s;
	int64_t ends;  /* clock_ms() when it dies unless extended */
	int64_t asked; /* clock_ms() of the last try to extend */
};

extern const struct setting vercel_settings[];

/* vercel_open.c */
int vercel_open(struct sandbox_client *host, const struct settings *set,
		struct error *err);
void vercel_close(struct sandbox_client *host);
struct vercel *vercel_of(const struct sandbox_client *host);
bool vercel_id_ok(const char *id);

/* vercel.c */
/* path with the team, and maybe more of the query ("&a=b"); owned. */
char *vercel_path(const struct vercel *v, const char *path, const char *more);
/* "&projectId=P" or, for lists, "&project=P"; owned. */
char *vercel_project(const struct vercel *v, const char *name);
/* The path of this sandbox's session with tail ("/cmd") and team; owned. */
char *vercel_session(struct sandbox *sb, const char *tail);
/* rest_json() with advice when the token was refused. */
int vercel_api(struct vercel *v, const struct rest_ask *ask, cJSON **tree,
	       int *status, const struct stop *stop, struct error *err);
/* GET the sandbox; resume: boots one that was stopped. */
int vercel_get(struct vercel *v, const char *id, bool resume, cJSON **tree,
	       const struct stop *stop, struct error *err);
enum vercel_status vercel_status(const char *word);
/*
 * Takes the session out of an answer about a sandbox. want: the id that it must
 * be about, or NULL. lifetime_s: that it was asked for just now; 0: what the
 * session has left. *status may be NULL.
 */
int vercel_adopt(struct sandbox *sb, const cJSON *answer, const char *want,
		 int64_t lifetime_s, enum vercel_status *status,
		 struct error *err);
/*
 * Waits until the sandbox of this id runs; one that can be is resumed.
 * ERR_NOT_FOUND, or ERR_GONE when it has ended. progress may be NULL.
 */
int vercel_bring(struct sandbox *sb, const char *id,
		 const struct sandbox_spec *progress, const struct stop *stop,
		 struct error *err);
/* Before a request to the sandbox: extends the life when half of it has
 * passed. A failure of that is no failure of the request. */
void vercel_keep(struct sandbox *sb, const struct stop *stop);
/* The sandbox did not answer as it should: 0 to try again, or ERR_GONE. */
int vercel_revive(struct sandbox *sb, const struct stop *stop,
		  struct error *err);

/* vercel_create.c */
int vercel_create(struct sandbox *sb, const struct sandbox_spec *spec,
		  const struct stop *stop, struct error *err);
/* vercel_remove.c */
int vercel_remove(struct sandbox_client *host, const char *id,
		  const struct stop *stop, struct error *err);
/* vercel_list.c */
int vercel_list(struct sandbox_client *host, const char *owner,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err);
int vercel_info(struct sandbox_client *host, const char *id,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err);
/* The name of the sandbox whose current session this is, owned, or NULL with
 * ERR_NOT_FOUND or why it cannot be told. */
char *vercel_name(struct vercel *v, const char *session,
		  const struct stop *stop, struct error *err);
/* vercel_exec.c */
int vercel_execute(struct sandbox *sb, const struct exec_request *req,
		   struct exec_result *res, const struct stop *stop,
		   struct error *err);
/* vercel_files.c */
extern const struct http_files vercel_files;
/* A file as an entry of an archive that is unpacked at "/". */
struct archive_file vercel_entry(const struct transfer *f);
struct vercel_upload {
	const struct archive_file *files; /* borrowed */
	size_t n;
	bool unreadable; /* set: it failed on this machine */
};
/* One request with the files. */
int vercel_send(struct sandbox *sb, struct vercel_upload *up,
		struct http_response *res, const struct stop *stop,
		struct error *err);
/*
 * Asks the sandbox about the files without an error and calls learn for each
 * with the line about it: "d" a directory; "f r w 644" a file, "-" for what may
 * not be done; "n w x" nothing there, and what may be done where it would be;
 * "x" below something that is no directory. -1: it cannot be asked.
 */
int vercel_facts(struct sandbox *sb, struct transfer *files, size_t n,
		 void (*learn)(struct transfer *f, struct str line),
		 const struct stop *stop, struct error *err);
/* vercel_upload.c */
int vercel_upload(struct sandbox *sb, struct transfer *files, size_t n,
		  const struct stop *stop, struct error *err);
int vercel_download(struct sandbox *sb, struct transfer *files, size_t n,
		    const struct stop *stop, struct error *err);

extern const struct sandbox_provider vercel_provider;

#endif

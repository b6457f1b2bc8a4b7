/* vercel.h - the parts of the Vercel Sandbox provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_VERCEL_VERCEL_H
#define PROVIDERS_VERCEL_VERCEL_H

#include "providers/kit/vendor.h"

/*
 * One server. A sandbox of the v2 API has a name (our label, and our id of it)
 * and a session, in which commands run; one of the v1 API has only an id. Wire:
 * what the SDKs @vercel/sandbox 3.5.0 and 1.10.2 and the Python package vercel
 * 0.5.9 were seen to send, and what they accept (2026-11).
 */
struct vercel { /* sandbox_client.priv */
	struct vendor_client kit;
	bool v1;
	const char *token; /* borrowed */
	char *project;     /* owned */
	char *team;        /* owned, percent-encoded */
	char *endpoint;    /* owned */
};

extern const struct setting vercel_settings[]; /* create.c */
extern const struct http_files vercel_files;   /* files.c */
extern const struct vendor vercel_v1;          /* vercel.c */
extern const struct vendor vercel_v2;

/* open.c */
int vercel_open(struct sandbox_client *client, const struct settings *set,
		struct error *err);
/* vercel.c: path with the team, and more of the query ("&a=b" or ""); owned. */
char *vercel_path(const struct vercel *v, const char *path, const char *more);
/* "&projectId=P" or, for lists, "&project=P"; owned. */
char *vercel_project_query(const struct vercel *v, const char *name);
const char *vercel_session_path(const struct vercel *v);
/* Those of v1 have no session: what is said of one is said of the sandbox. */
const cJSON *vercel_session(const struct vercel *v, const cJSON *sandbox);
/* Makes of {"sandbox":{...},"session":{...}} the sandbox, with the session as
 * its member "session" and the session's status, which is "resumable" for an
 * ended one that can be resumed. ERR_PROTOCOL for what is no such answer. */
int vercel_unwrap(const struct vercel *v, cJSON **answer, struct error *err);
/* create.c: as in struct vendor */
int vercel_describe(struct vendor_client *c, const struct sandbox_spec *spec,
		    cJSON *body, const struct stop *stop, struct error *err);
int vercel_post(struct sandbox *sb, const struct sandbox_spec *spec,
		cJSON *body, cJSON **answer, const struct stop *stop,
		struct error *err);
/* stop.c: as in struct vendor */
int vercel_end(struct vendor_client *c, const char *id, cJSON **answer,
	       const struct stop *stop, struct error *err);
int vercel_halt(struct vendor_client *c, const char *id, const cJSON *sandbox,
		const struct stop *stop, struct error *err);
int vercel_hold(struct vendor_client *c, const char *id, int64_t *keep_s,
		const struct stop *stop, struct error *err);
/*
 * exec.c: the lines of a command's answer are {"command":{"id":...,
 * "exitCode":null or a number}}, {"stream":"stdout" or "stderr","data":"..."}
 * and {"stream":"error","data":{"code","message"}}. Zero it, set out, feed it,
 * end it, release it.
 */
struct vercel_lines {
	struct buf *out; /* takes the standard output; borrowed */
	struct buf line; /* so far */
	bool ended;      /* the command has */
	char code[64];   /* of an error line, or "" */
	char message[160];
};

/* Pure. ERR_PROTOCOL for a line that is no JSON or too long; else 0. */
int vercel_lines_feed(struct vercel_lines *l, struct str chunk,
		      struct error *err);
/* The stream is over. ERR_NETWORK when it was cut: before the command's end
 * (of which logs know nothing), within a line, or by the server's words. */
int vercel_lines_end(struct vercel_lines *l, bool logs, struct error *err);
void vercel_lines_release(struct vercel_lines *l);
/* As struct supervisor.call. */
int vercel_call(void *arg, struct str command, int64_t wait_ms, struct buf *out,
		const struct stop *stop, struct error *err);
/* price.c: as sandbox_provider.price */
int vercel_price(const struct settings *set, const char *snapshot,
		 struct sandbox_price *price, struct error *err);

extern const struct sandbox_provider vercel_provider;

#endif

/* deno.h - the parts of the Deno provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_DENO_DENO_H
#define PROVIDERS_DENO_DENO_H

#include <pthread.h>

#include "providers/deno/rpc.h"
#include "providers/kit/duplicate_create.h"
#include "providers/kit/rest.h"
#include "sandbox/sandbox.h"

/*
 * Two servers: the sandboxes' own at https://REGION.DOMAIN, where a WebSocket
 * makes a sandbox (or joins one) and then carries everything that is done in
 * it, and the console, which only lists them. Wire: @deno/sandbox 0.13.2, seen
 * and read, and docs.deno.com/sandbox (2026-11).
 */
enum {
	DENO_LIFETIME_S = 1800,
	/* The longest that is asked for at once: the server allows half an hour
	 * from now, by its own clock. */
	DENO_LONGEST_S = 1780,
	DENO_LABELS = 5,
	DENO_MEMORY = 1280, /* MiB, where the settings name none */
	DENO_REGION = 4,
};

struct deno { /* sandbox_client.priv */
	struct rest console;
	const struct settings *settings; /* borrowed */
	const char *token;               /* borrowed */
	const char *org;                 /* borrowed, or NULL */
	char *fixed;        /* owned: one address for all regions, or NULL */
	const char *domain; /* borrowed */
	char *endpoint;     /* owned: sandbox_client.endpoint */
	struct create_log tried;
};

struct deno_box { /* sandbox.priv */
	struct deno_rpc *rpc;
	int64_t attached;     /* when, clock_ms(); 0: we made it */
	pthread_mutex_t dial; /* who connects */
	pthread_mutex_t lock; /* of what follows */
	int64_t lifetime_s;
	int64_t ends;  /* clock_ms() when it dies unless extended */
	int64_t asked; /* clock_ms() of the last try to extend */
};

extern const struct setting deno_settings[];

/* deno.c */
struct deno *deno_of(const struct sandbox_client *host);
struct deno_box *deno_box(struct sandbox *sb);
/* "sbx_ord_" and 20 characters. */
bool deno_id_ok(const char *id);
bool deno_region_ok(const char *region);
/* The server of a region, or of the id's; the caller releases r. */
int deno_server(const struct deno *d, const char *region, struct rest *r,
		struct error *err);
/* A hint for a refused token. */
void deno_add_hint(struct error *err);
int deno_extend(struct sandbox *sb, int64_t lifetime_s, const struct stop *stop,
		struct error *err);

/* create.c */
int deno_create(struct sandbox *sb, const struct sandbox_spec *spec,
		const struct stop *stop, struct error *err);
int deno_list(struct sandbox_client *host, const char *owner,
	      const struct info_sink *sink, const struct stop *stop,
	      struct error *err);
int deno_info(struct sandbox_client *host, const char *id,
	      const struct info_sink *sink, const struct stop *stop,
	      struct error *err);

/* exec.c */
/* Opens a WebSocket that sb then has. *id gets the id that the server told (the
 * caller frees it), or NULL; id may be NULL. */
struct deno_opening {
	const struct rest *server;
	const char *path;
	const char *header; /* one more, or NULL */
	char **id;
};
int deno_open_socket(struct sandbox *sb, const struct deno_opening *o,
		     const struct stop *stop, struct error *err);
/* As deno_rpc_call(), over a new socket where the old one has ended. ERR_GONE:
 * there is no such sandbox. what begins the messages. */
int deno_call(struct sandbox *sb, struct deno_call *c, const char *what,
	      const struct stop *stop, struct error *err);
int deno_execute(struct sandbox *sb, const struct exec_request *req,
		 struct exec_result *res, const struct stop *stop,
		 struct error *err);
/* Sets sb->workdir, once: the configured one, made when it is missing, or what
 * the sandbox says. */
int deno_set_workdir(struct sandbox *sb, const struct stop *stop,
		     struct error *err);

/* files.c */
int deno_upload(struct sandbox *sb, struct transfer *files, size_t n,
		const struct stop *stop, struct error *err);
int deno_download(struct sandbox *sb, struct transfer *files, size_t n,
		  const struct stop *stop, struct error *err);
/* price.c: as sandbox_provider.price */
int deno_price(const struct settings *set, const char *snapshot,
	       struct sandbox_price *price, struct error *err);

extern const struct sandbox_provider deno_provider;

#endif

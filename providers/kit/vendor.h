/* vendor.h - what vendors of sandboxes with a REST API have in common. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_VENDOR_H
#define PROVIDERS_KIT_VENDOR_H

#include <pthread.h>

#include "providers/kit/files.h"
#include "providers/kit/lease.h"
#include "providers/kit/rest.h"
#include "sandbox/sandbox.h"

/*
 * A vendor is a const struct vendor: its paths, the names of its JSON fields,
 * its states, and functions for what is particular about it. The functions
 * below serve as the rows of its struct sandbox_ops. providers/README.md shows
 * how a vendor is put together. vendor.c has the account, its requests and
 * lists; vendor_life.c a sandbox from its create to its end.
 */
enum { VENDOR_ID_MAX = 128, VENDOR_HEADER = 64 };

/* What to do about a sandbox in this state that shall run. */
enum vendor_step {
	STEP_WAIT, /* it is on its way; also for words that are not listed */
	STEP_READY,
	STEP_START,  /* struct vendor.start() */
	STEP_FAIL,   /* it will never run */
	STEP_ENDING, /* its end is coming */
	STEP_ENDED,
};

struct vendor_state {
	const char *word; /* the vendor's; NULL ends the table */
	enum sandbox_state state;
	enum vendor_step step;
	bool slow; /* an image is built or moved: may last half an hour */
};

/* Members of the vendor's JSON about a sandbox. */
struct vendor_fields {
	const char *id;
	const char *alias;  /* accepted in a path instead of the id, or NULL */
	const char *labels; /* an object of text, with ours; or NULL */
	const char *state;
	const char *reason;   /* why it failed; may be NULL */
	const char *created;  /* RFC 3339, or milliseconds */
	const char *image[2]; /* the first one that has text; NULL: none */
};

struct vendor_client;

/* How a list continues. One of the first two names where the next page's token
 * is, or both are NULL and the token is the last item's id, if has_more. */
struct vendor_pages {
	const char *member; /* of the answer */
	const char *header; /* of the answer */
	const char *query;  /* the parameter that takes it: "cursor" */
	const char *items;  /* the member with the array; if it is missing,
			       "items", or the answer is the array */
	/* For lists that continue in another way: appends the path of the next
	 * page, or nothing at the end. first: the path of the first page; seen:
	 * items so far. A page that begins like the one before ends the list.
	 */
	void (*next)(struct buf *path, const char *first, const cJSON *page,
		     int64_t seen);
};

struct vendor {
	const char *noun;      /* for messages: "sandbox" */
	const char *auth_hint; /* the hint when the key was refused */
	size_t client_size;    /* of what begins with a struct vendor_client */
	size_t box_size;       /* of what begins with a struct vendor_box */
	const char *path;      /* before an id: "/sandboxes/" */
	struct vendor_fields fields;
	const struct vendor_state *states;
	const struct vendor_pages *pages;
	int64_t wait_ms; /* how long one state may last before it runs */
	/* A second sandbox of the same name, our label, is refused with 409,
	 * and a GET by the name finds the first. Else list_path() finds it. */
	bool unique_names;
	bool name_is_id;      /* with them; unless the vendor chose another */
	bool attach_starts;   /* attach sends start(), not a GET */
	bool awaits_end;      /* a deleted one still exists for a while */
	const char *end_path; /* a POST to it deletes one; NULL: DELETE does */

	/* "Name: value", new for each request except GET; may be NULL. */
	void (*header)(char line[VENDOR_HEADER]);
	/* Fills the body of the create request, but for fields.labels. */
	int (*describe)(struct vendor_client *c,
			const struct sandbox_spec *spec, cJSON *body,
			const struct stop *stop, struct error *err);
	/* Replace the usual GET and DELETE if path and end_path are not enough;
	 * may be NULL. */
	int (*get)(struct vendor_client *c, const char *id, cJSON **answer,
		   const struct stop *stop, struct error *err);
	int (*end)(struct vendor_client *c, const char *id, cJSON **answer,
		   const struct stop *stop, struct error *err);
	/* Sends it once; *answer is about the new sandbox. */
	int (*post)(struct sandbox *sb, const struct sandbox_spec *spec,
		    cJSON *body, cJSON **answer, const struct stop *stop,
		    struct error *err);
	/* Starts or resumes one; *answer is about it, or NULL. The error has
	 * the status 409 while its state is changing. May be NULL if no state
	 * has STEP_START. */
	int (*start)(struct sandbox *sb, const char *id, cJSON **answer,
		     const struct stop *stop, struct error *err);
	/* Waits until the state is another than the one named; *answer is about
	 * it. NULL: a GET after a pause. */
	int (*poll)(struct sandbox *sb, const char *state, cJSON **answer,
		    const struct stop *stop, struct error *err);
	/* It runs: reads what requests to it need; may be NULL. */
	int (*set_endpoint)(struct sandbox *sb, const cJSON *answer,
			    const struct stop *stop, struct error *err);
	/* After create and attach; may be NULL. */
	int (*prepare)(struct sandbox *sb, const struct stop *stop,
		       struct error *err);
	/* vendor_stop(): a POST to this path with this body stops it, or
	 * halt() does, which gets its description. hold() asks the vendor to
	 * keep a stopped one for *keep_s seconds, and sets how long it will.
	 * NULL: the vendor has no such limit. */
	const char *stop_path, *stop_body;
	int (*halt)(struct vendor_client *c, const char *id,
		    const cJSON *sandbox, const struct stop *stop,
		    struct error *err);
	int (*hold)(struct vendor_client *c, const char *id, int64_t *keep_s,
		    const struct stop *stop, struct error *err);
	/* It ends lifetime_s from now. NULL: cannot; then sandbox_ops has no
	 * extend either. */
	int (*extend)(struct sandbox *sb, int64_t lifetime_s,
		      const struct stop *stop, struct error *err);
	/* Tells that it is in use; NULL: extend() does. */
	int (*touch)(struct sandbox *sb, const struct stop *stop,
		     struct error *err);
	/* Sets what is not in fields, such as info->ends; or NULL. */
	void (*info)(const cJSON *item, struct sandbox_info *info);
	/* The path, with a query, of the list of sandboxes whose label has
	 * this value; label NULL: of all. */
	void (*list_path)(const struct vendor_client *c, struct buf *path,
			  const char *label, const char *value);
	/* Replaces pages and list_path(): the list without a filter. */
	int (*items)(struct vendor_client *c,
		     bool (*each)(void *arg, const cJSON *item), void *arg,
		     const struct stop *stop, struct error *err);
	/* As struct supervisor.call, for a struct sandbox. */
	int (*call)(void *sb, struct str command, int64_t wait_ms,
		    struct buf *out, const struct stop *stop,
		    struct error *err);
	size_t max_command;     /* as in struct supervisor */
	size_t max_answer;      /* the same */
	const int *may_be_gone; /* statuses of call(); 0 ends them */
	/* NULL if sandbox_ops has no upload and download. */
	const struct http_files *files;
	void (*close)(struct vendor_client *c); /* may be NULL */
	void (*discard)(struct sandbox *sb);    /* may be NULL */
};

struct vendor_client { /* sandbox_client.priv begins with it */
	const struct vendor *vendor;
	struct sandbox_client *client; /* borrowed */
	struct rest api;
	struct create_log created; /* labels */
};

struct vendor_box {           /* sandbox.priv begins with it */
	pthread_mutex_t lock; /* of all below */
	struct vendor_server *server;
	int64_t lifetime_s;
	int64_t ends;  /* clock_ms() when it dies unless extended */
	int64_t asked; /* clock_ms() of the last try to extend */
};

/* For struct sandbox_ops.open: a client whose api has no address and no
 * headers yet. It is released by vendor_close() in any case. */
struct vendor_client *vendor_open(struct sandbox_client *client,
				  const struct vendor *vendor);
/* "Authorization: Bearer TOKEN". */
int vendor_bearer(struct rest *r, const char *token, struct error *err);
struct vendor_client *vendor_of(const struct sandbox_client *client);
struct vendor_box *vendor_box(struct sandbox *sb); /* made when missing */
/* Letters, digits, -, _ and, not first, dots: safe in a path. */
bool vendor_id_ok(const char *id);
/* The same, or ERR_USAGE. */
int vendor_check_id(const struct vendor *v, const char *id, struct error *err);

/*
 * The server that runs commands and moves files, with its headers: the last
 * one given to vendor_set_server(), else the client's api. Valid until the
 * sandbox is released.
 */
const struct rest *vendor_server(struct sandbox *sb);
/* Owns what server holds from now on. */
void vendor_set_server(struct sandbox *sb, struct rest *server);
/* The address of another server that an answer names, without a slash at its
 * end, owned. NULL with ERR_PROTOCOL when the key must not be sent there. */
char *vendor_server_url(const struct vendor_client *c, const char *url,
			struct error *err);
/* It ends lifetime_s from now. */
void vendor_set_lease(struct sandbox *sb, int64_t lifetime_s);
int64_t vendor_lifetime(struct sandbox *sb);

/* rest_json() on the API; 1 for 404 with REST_MISSING_OK. tree may be NULL. */
int vendor_api(struct vendor_client *c, const struct rest_ask *ask,
	       cJSON **tree, const struct stop *stop, struct error *err);
/* The same about the sandbox of this id: ask->path is what follows the id. */
int vendor_ask(struct vendor_client *c, const char *id,
	       const struct rest_ask *ask, cJSON **tree,
	       const struct stop *stop, struct error *err);
/* The same by GET; 1 when it does not exist. */
int vendor_get(struct vendor_client *c, const char *id, cJSON **tree,
	       const struct stop *stop, struct error *err);
/* vendor_api() with a tree as its body. */
int vendor_post(struct vendor_client *c, const struct rest_ask *ask,
		const cJSON *body, cJSON **tree, const struct stop *stop,
		struct error *err);
/* rest_call() at vendor_server(), for struct http_files. */
int vendor_send(struct sandbox *sb, const struct rest_ask *ask,
		struct http_response *res, const struct stop *stop,
		struct error *err);

/* Every item of all pages of a list. */
struct vendor_query {
	const struct vendor_pages *pages;
	const char *path; /* of the first page, with a query */
	bool (*each)(void *arg, const cJSON *item); /* false: no more */
	void *arg;
};
int vendor_pages(struct vendor_client *c, const struct vendor_query *q,
		 const struct stop *stop, struct error *err);
const struct vendor_state *vendor_state(const struct vendor *v,
					const cJSON *answer);
/* Lists the sandboxes of list_path() whose label has this value (NULL: all). */
int vendor_search(struct vendor_client *c, const char *label, const char *value,
		  const struct info_sink *sink, const struct stop *stop,
		  struct error *err);

/* vendor_life.c */
/* After a request to the sandbox failed: 0 to try again, a stopped one was
 * started; -1 with ERR_GONE, or with the reason that this cannot be told. */
int vendor_ensure_running(struct sandbox *sb, const struct stop *stop,
			  struct error *err);
/* Before a request to it: extends its life when half of it has passed. If that
 * fails, the request goes on. */
void vendor_touch(struct sandbox *sb, const struct stop *stop);
/* Sets err->code after a failed request of a command: the supervisor asks again
 * after ERR_NETWORK, and gives up after others. status: of the answer, or 0.
 * may_be_gone: in addition to the vendor's statuses. Returns -1. */
int vendor_exec_failed(struct sandbox *sb, int status, bool may_be_gone,
		       const struct stop *stop, struct error *err);

/* Rows of a vendor's struct sandbox_ops. */
void vendor_close(struct sandbox_client *client);
int vendor_create(struct sandbox *sb, const struct sandbox_spec *spec,
		  const struct stop *stop, struct error *err);
int vendor_attach(struct sandbox *sb, const char *id, const struct stop *stop,
		  struct error *err);
int vendor_list(struct sandbox_client *client, const char *owner,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err);
int vendor_info(struct sandbox_client *client, const char *id,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err);
int vendor_extend(struct sandbox *sb, int64_t lifetime_s,
		  const struct stop *stop, struct error *err);
int vendor_execute(struct sandbox *sb, const struct exec_request *req,
		   struct exec_result *res, const struct stop *stop,
		   struct error *err);
int vendor_upload(struct sandbox *sb, struct transfer *files, size_t n,
		  const struct stop *stop, struct error *err);
int vendor_download(struct sandbox *sb, struct transfer *files, size_t n,
		    const struct stop *stop, struct error *err);
int vendor_stop(struct sandbox_client *client, const char *id, int64_t *keep_s,
		const struct stop *stop, struct error *err);
int vendor_remove(struct sandbox_client *client, const char *id,
		  const struct stop *stop, struct error *err);
void vendor_discard(struct sandbox *sb);

#endif

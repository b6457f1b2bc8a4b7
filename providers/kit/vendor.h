/* vendor.h - what vendors of sandboxes with a REST API have in common. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_KIT_VENDOR_H
#define PROVIDERS_KIT_VENDOR_H

#include <pthread.h>

#include "providers/kit/lease.h"
#include "providers/kit/rest.h"
#include "sandbox/sandbox.h"

/* A vendor is a const struct vendor: its paths, the names of its JSON fields,
 * its states, and functions for its special cases. The functions below serve as
 * the rows of its struct sandbox_ops. providers/README.md shows how to write a
 * vendor. vendor.c has requests and lists; vendor_life.c has a sandbox's life
 * from create to removal. */
enum { VENDOR_ID_MAX = 128, VENDOR_HEADER = 64 };

/* What to do with a sandbox in this state if it must run. */
enum vendor_step {
	STEP_WAIT, /* wait for the next state; also done for unknown words */
	STEP_READY,
	STEP_START,  /* call struct vendor.start() */
	STEP_FAIL,   /* it will never run */
	STEP_ENDING, /* it is being deleted */
	STEP_ENDED,
};

struct vendor_state {
	/* the vendor's name for the state; NULL ends the table */
	const char *word;
	enum sandbox_state state;
	enum vendor_step step;
	/* this state lasts long (an image is built): up to 30 minutes */
	bool slow;
};

/* Names of the members in the vendor's JSON about a sandbox. */
struct vendor_fields {
	const char *id;
	/* name that can be used in a path like the id; or NULL */
	const char *alias;
	/* object of strings that includes dcode's labels; or NULL */
	const char *labels;
	const char *state;
	const char *reason;  /* why the sandbox failed; may be NULL */
	const char *created; /* RFC 3339 text, or milliseconds */
	/* the first member that has text is used; NULL: none */
	const char *image[2];
};

struct port_url;     /* sandbox/ports/ports.h */
struct http_files;   /* see files.h */
struct vendor_vault; /* see vault.h */
struct vendor_client;

/* Where a page of a list has the token of the next page: in the body's member,
 * or in the header. If both are NULL and the page has has_more, the token is
 * the last item's id. */
struct vendor_pages {
	const char *member; /* member of the body with the token, or NULL */
	const char *header; /* header of the answer with the token, or NULL */
	/* name of the query parameter for the token: "cursor" */
	const char *query;
	/*
	 * member with the array of items. If the page does not have it, the
	 * array is "items" or the whole body
	 */
	const char *items;
	/* For lists without such tokens: appends the path of the next page, or
	 * nothing at the end. first: path of the first page; seen: number of
	 * items so far. The list also ends when a page begins with the same
	 * item as the previous one. */
	void (*next)(struct buf *path, const char *first, const cJSON *page,
		     int64_t seen);
};

struct vendor {
	const char *noun; /* for messages: "sandbox" */
	/* hint for the user if the vendor refuses the key */
	const char *auth_hint;
	/* size of a struct that begins with a struct vendor_client */
	size_t client_size;
	/* size of a struct that begins with a struct vendor_box */
	size_t box_size;
	const char *path; /* path in front of an id: "/sandboxes/" */
	struct vendor_fields fields;
	const struct vendor_state *states;
	const struct vendor_pages *pages;
	/* how long a starting sandbox may stay in one state, in ms */
	int64_t wait_ms;
	/* The sandbox's name is its label, and the API refuses a second sandbox
	 * with that name with 409. A GET by the name then finds the first one.
	 * If false, list_path() is used to find it. */
	bool unique_names;
	/* with unique_names: the id is the name (the vendor may choose
	 * another) */
	bool name_is_id;
	bool attach_starts; /* attach calls start() instead of a GET */
	/* a deleted sandbox can still be found for a while */
	bool awaits_end;

	/* NULL, or writes a header "Name: value" that is new for each request
	 * except GET. */
	void (*header)(char line[VENDOR_HEADER]);
	/* Fills the body of the create request, except the member that
	 * fields.labels names. */
	int (*describe)(struct vendor_client *c,
			const struct sandbox_spec *spec, cJSON *body,
			const struct stop *stop, struct error *err);
	/* NULL if struct sandbox_provider has no secrets. */
	const struct vendor_vault *vault;
	/* Replace the default GET and DELETE requests where path is not enough;
	 * may be NULL. */
	int (*get)(struct vendor_client *c, const char *id, cJSON **answer,
		   const struct stop *stop, struct error *err);
	int (*end)(struct vendor_client *c, const char *id, cJSON **answer,
		   const struct stop *stop, struct error *err);
	/* Sends the create request once. *answer describes the new sandbox. */
	int (*post)(struct sandbox *sb, const struct sandbox_spec *spec,
		    cJSON *body, cJSON **answer, const struct stop *stop,
		    struct error *err);
	/* Starts or resumes a sandbox. *answer describes it, or is NULL. Fails
	 * with status 409 while the state is changing. May be NULL if no state
	 * has STEP_START. */
	int (*start)(struct sandbox *sb, const char *id, cJSON **answer,
		     const struct stop *stop, struct error *err);
	/* Waits until the sandbox leaves this state. *answer describes it.
	 * NULL: vendor_life.c pauses and sends a GET. */
	int (*poll)(struct sandbox *sb, const char *state, cJSON **answer,
		    const struct stop *stop, struct error *err);
	/* Called when the sandbox runs: reads from the answer at which address
	 * and with which token it is reached; may be NULL. */
	int (*set_endpoint)(struct sandbox *sb, const cJSON *answer,
			    const struct stop *stop, struct error *err);
	/* Called after create and attach; may be NULL. */
	int (*prepare)(struct sandbox *sb, const struct stop *stop,
		       struct error *err);
	/* For vendor_stop(). A sandbox is stopped by a POST of stop_body to
	 * stop_path, or by halt(), which receives the description of the
	 * sandbox. hold() asks the vendor to keep a stopped sandbox for *keep_s
	 * seconds, and sets *keep_s to what was granted. hold is NULL if the
	 * vendor keeps stopped sandboxes without limit. */
	const char *stop_path, *stop_body;
	int (*halt)(struct vendor_client *c, const char *id,
		    const cJSON *sandbox, const struct stop *stop,
		    struct error *err);
	int (*hold)(struct vendor_client *c, const char *id, int64_t *keep_s,
		    const struct stop *stop, struct error *err);
	/* Makes the sandbox end lifetime_s from now. NULL: not supported; then
	 * sandbox_ops has no extend either. */
	int (*extend)(struct sandbox *sb, int64_t lifetime_s,
		      const struct stop *stop, struct error *err);
	/* Tells the vendor that the sandbox is in use. NULL: extend() is called
	 * instead. */
	int (*touch)(struct sandbox *sb, const struct stop *stop,
		     struct error *err);
	/* Sets members of info that fields does not cover, such as info->ends;
	 * or NULL. */
	void (*info)(const cJSON *item, struct sandbox_info *info);
	/* Appends the path and query that list the sandboxes whose label with
	 * the key label ("dcode.owner" or "dcode.label") has this value. label
	 * NULL: lists all sandboxes. */
	void (*list_path)(const struct vendor_client *c, struct buf *path,
			  const char *label, const char *value);
	/* Replaces pages and list_path(): lists all sandboxes without a
	 * filter. */
	int (*items)(struct vendor_client *c,
		     bool (*each)(void *arg, const cJSON *item), void *arg,
		     const struct stop *stop, struct error *err);
	/* Implements supervisor.call for a struct sandbox. */
	int (*call)(void *sb, struct str command, int64_t wait_ms,
		    struct buf *out, const struct stop *stop,
		    struct error *err);
	size_t max_command; /* see struct supervisor */
	size_t max_answer;  /* see struct supervisor */
	/* HTTP statuses of call() that may mean that the sandbox is gone; ends
	 * with 0 */
	const int *may_be_gone;
	/* NULL if sandbox_ops has neither upload nor download. */
	const struct http_files *files;
	void (*close)(struct vendor_client *c); /* may be NULL */
	void (*discard)(struct sandbox *sb);    /* may be NULL */
};

/* sandbox_client.priv points to a struct that begins with it */
struct vendor_client {
	const struct vendor *vendor;
	struct sandbox_client *client; /* borrowed */
	struct rest api;
	struct create_log created; /* labels for which a create was sent */
};

/* sandbox.priv points to a struct that begins with it */
struct vendor_box {
	pthread_mutex_t lock; /* guards the fields below */
	struct vendor_server *server;
	int64_t lifetime_s;
	int64_t ends;  /* clock_ms() when it ends unless extended */
	int64_t asked; /* clock_ms() of the last request to extend */
};

/* Implements sandbox_ops.open: creates the client. Its api has no address and
 * headers yet. Call vendor_close() to release it, also if open fails later. */
struct vendor_client *vendor_open(struct sandbox_client *client,
				  const struct vendor *vendor);
/* Adds "Authorization: Bearer TOKEN". */
int vendor_bearer(struct rest *r, const char *token, struct error *err);
struct vendor_client *vendor_of(const struct sandbox_client *client);
/* Returns the sandbox's state, which the first call creates. */
struct vendor_box *vendor_box(struct sandbox *sb);
/* True if the id is safe in a path: letters, digits, '-', '_' and dots, but no
 * dot at the start. */
bool vendor_id_ok(const char *id);
/* Like vendor_id_ok(), but reports ERR_USAGE. */
int vendor_check_id(const struct vendor *v, const char *id, struct error *err);

/* Returns the server that runs commands and transfers files, with its headers.
 * This is the last one given to vendor_set_server(), else the client's api.
 * Valid until the sandbox is released. */
const struct rest *vendor_server(struct sandbox *sb);
/* Sets the server that vendor_server() returns. Takes ownership of its
 * members. */
void vendor_set_server(struct sandbox *sb, struct rest *server);
/* Checks the server address in an answer of the API. Returns it without a slash
 * at its end, owned by the caller. NULL with ERR_PROTOCOL if the key must not
 * be sent there. */
char *vendor_server_url(const struct vendor_client *c, const char *url,
			struct error *err);
/* Records that the sandbox ends lifetime_s from now. */
void vendor_set_lease(struct sandbox *sb, int64_t lifetime_s);
int64_t vendor_lifetime(struct sandbox *sb);

/* Like rest_json(), to the vendor's API. Returns 1 for 404 with
 * REST_MISSING_OK. tree may be NULL. */
int vendor_api(struct vendor_client *c, const struct http_request *ask,
	       cJSON **tree, const struct stop *stop, struct error *err);
/* Like vendor_api(), about the sandbox with this id: ask->path is appended to
 * the id's path. */
int vendor_ask(struct vendor_client *c, const char *id,
	       const struct http_request *ask, cJSON **tree,
	       const struct stop *stop, struct error *err);
/* GET of the sandbox with this id. Returns 1 if it does not exist. */
int vendor_get(struct vendor_client *c, const char *id, cJSON **tree,
	       const struct stop *stop, struct error *err);
/* Like vendor_api(), with a JSON tree as the request's body. */
int vendor_post(struct vendor_client *c, const struct http_request *ask,
		const cJSON *body, cJSON **tree, const struct stop *stop,
		struct error *err);
/* Changes the network of the sandbox by a request that may be repeated. Takes
 * ownership of path and body. */
int vendor_change_network(struct sandbox *sb, const char *method, char *path,
			  cJSON *body, const struct stop *stop,
			  struct error *err);
/* For port_ops.url: sends ask about the sandbox, and takes the members
 * url and token of the answer. ERR_PROTOCOL if the token must not be sent to
 * that address. Takes ownership of ask's path and body. */
struct port_names { /* all static */
	const char *url, *token;
	/* for the token; NULL: the address is public, and the token becomes its
	 * handle */
	const char *header;
};
int vendor_port_url(struct sandbox *sb, const struct http_request *ask,
		    const struct port_names *names, struct port_url *u,
		    const struct stop *stop, struct error *err);
/* Requests a snapshot of the sandbox with a POST of {"name": name}. ask
 * contains the path, which is appended to the id's path, and the time limit.
 * ERR_USAGE if the name is empty or too long. */
int vendor_post_snapshot(struct sandbox *sb, const struct http_request *ask,
			 const char *name, cJSON **tree,
			 const struct stop *stop, struct error *err);
/* For sandbox_ops.remove_snapshot: DELETE of path, followed by the id. */
int vendor_delete_snapshot(struct sandbox_client *client, const char *path,
			   const char *id, const struct stop *stop,
			   struct error *err);
/* Like rest_call(), to vendor_server(). For http_files.call. */
int vendor_send(struct sandbox *sb, const struct http_request *ask,
		struct http_response *res, const struct stop *stop,
		struct error *err);

/* A list with several pages, and a function for each item. */
struct vendor_query {
	const struct vendor_pages *pages;
	const char *path; /* path of the first page, with a query */
	bool (*each)(void *arg, const cJSON *item); /* false: stop */
	void *arg;
};
int vendor_pages(struct vendor_client *c, const struct vendor_query *q,
		 const struct stop *stop, struct error *err);
const struct vendor_state *vendor_state(const struct vendor *v,
					const cJSON *answer);
/* Lists the sandboxes whose label with the key label ("dcode.owner" or
 * "dcode.label") has this value. label and value NULL: lists all. */
int vendor_search(struct vendor_client *c, const char *label, const char *value,
		  const struct info_sink *sink, const struct stop *stop,
		  struct error *err);

/* vendor_life.c */
/* Call after a request to the sandbox failed. Returns 0 if the request can be
 * repeated; a stopped sandbox was started for that. -1 with ERR_GONE, or with
 * the error of the request that checked the sandbox. */
int vendor_ensure_running(struct sandbox *sb, const struct stop *stop,
			  struct error *err);
/* Call before a request to the sandbox: extends its life when half of it is
 * over. Errors are ignored. */
void vendor_touch(struct sandbox *sb, const struct stop *stop);
/* Sets err->code after a request that runs a command failed: the supervisor
 * retries after ERR_NETWORK, and gives up after other codes. status is that of
 * the answer, 0 if there was none. may_be_gone: check whether the sandbox is
 * gone, also if the status is not in struct vendor.may_be_gone. Returns -1. */
int vendor_exec_failed(struct sandbox *sb, int status, bool may_be_gone,
		       const struct stop *stop, struct error *err);

/* Functions for a vendor's struct sandbox_ops. files.h has vendor_upload() and
 * vendor_download(). */
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
int vendor_stop(struct sandbox_client *client, const char *id, int64_t *keep_s,
		const struct stop *stop, struct error *err);
int vendor_remove(struct sandbox_client *client, const char *id,
		  const struct stop *stop, struct error *err);
void vendor_discard(struct sandbox *sb);

/* The members of a struct sandbox_ops that are the same for every vendor of
 * the kit. Include files.h, too. */
#define VENDOR_OPS                                                             \
	.close = vendor_close, .create = vendor_create, .list = vendor_list,   \
	.info = vendor_info, .extend = vendor_extend, .upload = vendor_upload, \
	.download = vendor_download, .stop = vendor_stop,                      \
	.remove = vendor_remove, .discard = vendor_discard

#endif

/* modal.h - declarations shared by the files of the Modal provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_MODAL_MODAL_H
#define PROVIDERS_MODAL_MODAL_H

#include <pthread.h>

#include <protobuf-c/protobuf-c.h>

#include "base/json.h"
#include "net/grpc.h"
#include "providers/kit/files.h"
#include "providers/modal/modal.pb-c.h"
#include "sandbox/sandbox.h"

/*
 * There are two gRPC services: the control plane at api.modal.com, which
 * creates and deletes sandboxes, and the task command router, which runs
 * commands and transfers files. The control plane supplies the router's address
 * and token for each running sandbox. There are two generations of sandboxes,
 * V1 and V2, which differ in their ids. dcode creates V1. Sources of the
 * protocol: modal-labs/modal-client at 69519aef, and what its Python SDK 1.5.4
 * and JavaScript SDK 0.11.1 were seen to send (2026-11).
 *
 * rpc.c packs messages, has the calls and the processes of a sandbox; create.c
 * has the life of a sandbox; modal.c has the account, commands, files and the
 * provider's table.
 */
enum {
	MODAL_LIFETIME_S = 24 * 3600, /* the maximum; cannot be extended */
	MODAL_SERVERS = 4,
	MODAL_ID_MAX = 128,
	MODAL_UUID = 37,
};

struct modal {                           /* sandbox_client.priv points to it */
	struct http *http;               /* borrowed */
	const struct settings *settings; /* borrowed */
	char *id_header;                 /* owned: "x-modal-token-id: ..." */
	char *secret_header;             /* owned */
	char *environment; /* owned; "": the workspace's default */
	char *builder;     /* owned: version of the image builder, or NULL */
	char *servers[MODAL_SERVERS]; /* owned; without a slash at the end */
	size_t n_servers;
	bool local; /* all servers are loopback addresses without TLS */
	bool near;  /* all servers are loopback addresses */
	/* how long servers may delay one call in total; -1: no limit */
	int64_t throttle_ms;
	const char *project_key; /* see struct sandbox_client */
	_Atomic size_t server;   /* index of the server that answered last */
	pthread_mutex_t lock;
	char *app;          /* owned: id of the app; NULL until known */
	char *auth;         /* owned: token for V2 calls; NULL until fetched */
	int64_t auth_until; /* clock_ms() until which auth is used */
};

struct modal_box { /* sandbox.priv points to it */
	pthread_mutex_t lock;
	/* Owned, like router and bearer. NULL until requested; never changes
	 * afterwards. */
	char *task;
	char *router; /* the router's address */
	char *bearer; /* "authorization: Bearer ..." */
	/* when the token expires, in Unix time (seconds); 0 unknown */
	int64_t expires;
	const char *const *env; /* borrowed: NAME=value for every command */
	size_t n_env;
};

/* Unpacks a message. Returns NULL if the bytes are not a message of this type,
 * or if it would need far more memory than their size. The caller frees it with
 * protobuf_free(). Has no side effects. */
ProtobufCMessage *protobuf_unpack(const ProtobufCMessageDescriptor *type,
				  struct str bytes);
/* Builds a message from an object: each member sets the field of the same name.
 * Lists may contain strings or messages. The caller frees it with
 * protobuf_free(). Has no side effects. */
ProtobufCMessage *protobuf_build(const ProtobufCMessageDescriptor *type,
				 const cJSON *object);
void protobuf_pack(const ProtobufCMessage *message, struct buf *out);
void protobuf_free(ProtobufCMessage *message); /* NULL is allowed */
/* Builds an object of strings from name, value, ... NULL. A NULL value is left
 * out. */
cJSON *protobuf_texts(const char *name, ...) __attribute__((sentinel));

struct protobuf_ask {       /* one call; all but request are borrowed */
	const char *method; /* such as "SandboxCreate" */
	const char *what;   /* what the call does, for messages */
	cJSON *request;     /* owned; NULL: an empty message */
	/* For streams: called with each message of the answer. -1 ends the
	 * call. */
	int (*each)(void *arg, const ProtobufCMessage *message,
		    struct error *err);
	/* For a streamed request, instead of request: see grpc.h. */
	int64_t (*source)(void *arg, char *room, size_t len, struct error *err);
	int64_t source_size;
	void *arg;
	int64_t timeout_ms; /* for one try; 0: 60 s */
	unsigned flags;     /* MODAL_V2, MODAL_TOKEN */
};

struct protobuf_result {          /* zero-initialise */
	ProtobufCMessage *answer; /* the only message of the answer, or NULL */
	struct grpc_outcome outcome;
};

struct protobuf_service { /* all borrowed */
	struct http *http;
	const char *base;
	const char *service; /* such as "modal.client.ModalClient" */
	/* appended to the method's name in the path, or NULL */
	const char *suffix;
	const ProtobufCServiceDescriptor *methods; /* the service's methods */
	const char *const *headers;
	int64_t connect_ms;
};

/* rpc.c */
enum {                       /* flags of a call */
       MODAL_V2 = 1 << 0,    /* call the V2 variant of the method */
       MODAL_TOKEN = 1 << 1, /* send the token that all V2 methods need */
};
/* Calls the control plane, with retries like Modal's own clients. Frees the
 * request. *answer is the only message, which the caller frees with
 * protobuf_free(); with ask->each there is none. The error begins with
 * ask->what. */
int modal_ask(struct modal *m, const struct protobuf_ask *ask,
	      ProtobufCMessage **answer, const struct stop *stop,
	      struct error *err);
/* Like modal_ask(), but stores only the id in this field of the answer. *id,
 * owned by the caller, is freed and replaced. */
int modal_ask_id(struct modal *m, const struct protobuf_ask *ask,
		 const char *field, char **id, const struct stop *stop,
		 struct error *err);
/* Like modal_ask_id(), for an answer that has already arrived. Frees the
 * answer. */
int modal_answer_id(ProtobufCMessage *answer, const char *field, char **id,
		    struct error *err);
/* True if a retry of the call may succeed. */
bool modal_is_passing(const struct error *why);
/* Returns how many ms the server wants dcode to wait before the next try, from
 * grpc-status-details-bin; -1 if it does not say. Has no side effects. */
int64_t modal_retry_wish(struct str details);

/* True if the id is safe in a path and not longer than MODAL_ID_MAX. */
bool modal_id_ok(const char *id);
/* Returns the flags for calls about this sandbox, which depend on its
 * generation. */
unsigned modal_flags(const char *id);
/* Sets *field to value unless it is already set, and returns what *field then
 * contains. Takes ownership of value. With value NULL, *field is only read. */
const char *modal_keep_first(pthread_mutex_t *lock, char **field, char *value);
/* Returns 1 if the sandbox runs, 0 if it has ended, or -1, with ERR_NOT_FOUND
 * if it never existed. While the sandbox runs, the server delays the answer by
 * up to wait_s seconds. */
int modal_is_running(struct modal *m, const char *id, float wait_s,
		     const struct stop *stop, struct error *err);

/* Returns the sandbox's state, which the first call creates. */
struct modal_box *modal_box(struct sandbox *sb);
/* Requests the task's id and the router's address unless they are known. renew:
 * requests a new token, because the router refused the old one. ERR_GONE: the
 * sandbox has ended. */
int modal_ensure_router(struct sandbox *sb, bool renew, const struct stop *stop,
			struct error *err);
/* Calls the sandbox's router, and frees the request. ERR_GONE: the sandbox has
 * ended. */
int modal_route(struct sandbox *sb, const struct protobuf_ask *ask,
		ProtobufCMessage **answer, const struct stop *stop,
		struct error *err);

/* Returns the address of an answer without a slash at its end, owned by the
 * caller. NULL with ERR_PROTOCOL if a token must not be sent there; what names
 * it. */
char *modal_take_address(const struct modal *m, const char *url,
			 const char *what, struct error *err);

struct modal_exec { /* one process in the sandbox */
	struct sandbox *sb;
	char *task; /* borrowed */
	char id[MODAL_UUID];
};
/* Starts the program argv (NULL-terminated). errors: its error output can be
 * read later. */
int modal_start(struct modal_exec *x, struct sandbox *sb,
		const char *const *argv, bool errors, const struct stop *stop,
		struct error *err);
/* Reads a stream (0: output, 1: error output) until its end. After an
 * interruption it continues where it stopped. */
int modal_read(struct modal_exec *x, int stream,
	       int (*data)(void *arg, struct str chunk, struct error *err),
	       void *arg, const struct stop *stop, struct error *err);
/* Sends the file, from its first byte, as the process's input. After an
 * interruption it continues where it stopped. ERR_REMOTE if the process closed
 * its input before the end. */
int modal_write(struct modal_exec *x, struct file_source *in,
		const struct stop *stop, struct error *err);
/* Waits until the process ends. *status: exit status, 128 + n when killed by
 * signal n, -1 if the server does not say. */
int modal_wait(struct modal_exec *x, int *status, const struct stop *stop,
	       struct error *err);

/* create.c */
int modal_create(struct sandbox *sb, const struct sandbox_spec *spec,
		 const struct stop *stop, struct error *err);
int modal_attach(struct sandbox *sb, const char *id, const struct stop *stop,
		 struct error *err);
int modal_list(struct sandbox_client *client, const char *owner,
	       const struct info_sink *sink, const struct stop *stop,
	       struct error *err);
int modal_info(struct sandbox_client *client, const char *id,
	       const struct info_sink *sink, const struct stop *stop,
	       struct error *err);
/* Implements sandbox_ops.clean: deletes the object that store_headers() made.
 */
int modal_clean(struct sandbox_client *client, const char *label,
		const struct stop *stop, struct error *err);
int modal_set_network(struct sandbox *sb, const struct network *n,
		      const struct stop *stop, struct error *err);
int modal_snapshot(struct sandbox *sb, const char *name, bool replace,
		   const struct stop *stop, struct error *err);
int modal_find_snapshot(struct sandbox_client *client, const char *name,
			char **id, const struct stop *stop, struct error *err);
int modal_remove_snapshot(struct sandbox_client *client, const char *name,
			  const char *id, const struct stop *stop,
			  struct error *err);
int modal_remove(struct sandbox_client *client, const char *id,
		 const struct stop *stop, struct error *err);

/* modal.c */
/* Chooses the profile of a ~/.modal.toml. *profile becomes a table of root, or
 * NULL if the file is empty. ERR_CONFIG if no profile has this name, or if name
 * is NULL and it is unclear which profile is meant. Has no side effects. */
int modal_profile(const struct toml_value *root, const char *name,
		  const struct toml_value **profile, struct error *err);

extern const struct sandbox_provider modal_provider;

#endif

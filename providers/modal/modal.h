/* modal.h - the doors between the rooms of the Modal provider. */
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
 * Two gRPC services: the control plane at api.modal.com, which makes and ends
 * sandboxes, and the task command router, whose address and token the control
 * plane gives for each running sandbox and which runs commands and moves
 * files. Sandboxes come in two generations, told apart by their ids; dcode
 * creates V1. Wire: modal-labs/modal-client at 69519aef, and what its Python
 * SDK 1.5.4 and JavaScript SDK 0.11.1 were seen to send (2026-11).
 *
 * protobuf.c packs messages; rpc.c has the calls and the processes of a
 * sandbox; over it exec.c has commands and files, create.c the life of a
 * sandbox, and modal.c the account and the provider's table.
 */
enum {
	MODAL_LIFETIME_S = 24 * 3600, /* the longest; cannot be extended */
	MODAL_SERVERS = 4,
	MODAL_ID_MAX = 128,
	MODAL_UUID = 37,
};

struct modal {                           /* sandbox_client.priv */
	struct http *http;               /* borrowed */
	const struct settings *settings; /* borrowed */
	char *id_header;                 /* owned: "x-modal-token-id: ..." */
	char *secret_header;             /* owned */
	char *environment;               /* owned; "": the workspace's */
	char *builder;                   /* owned: image builder, or NULL */
	char *servers[MODAL_SERVERS];    /* owned; without a slash at the end */
	size_t n_servers;
	bool local; /* the servers are on a loopback address, in cleartext */
	bool near;  /* they are on a loopback address */
	int64_t throttle_ms; /* most that is waited when a server asks for it;
				-1: as long as it takes */
	const char *project_key; /* as in struct sandbox_client */
	_Atomic size_t server;   /* index: this one answered last */
	pthread_mutex_t lock;
	char *app;          /* owned: the app's id, once known */
	char *auth;         /* owned: token for calls about V2, once fetched */
	int64_t auth_until; /* clock_ms() */
};

struct modal_box { /* sandbox.priv */
	pthread_mutex_t lock;
	/* Owned, as are the next two; NULL until asked. Does not change. */
	char *task;
	char *router;           /* the router's address */
	char *bearer;           /* "authorization: Bearer ..." */
	int64_t expires;        /* Unix seconds of the token's end; 0 unknown */
	const char *const *env; /* borrowed: NAME=value for every command */
	size_t n_env;
};

/* protobuf.c */
/* Pure: NULL for bytes that are not such a message, or that would take far more
 * memory than their size. protobuf_free() it. */
ProtobufCMessage *protobuf_unpack(const ProtobufCMessageDescriptor *type,
				  struct str bytes);
/* Pure: the message whose fields have the names and values of the object's
 * members; lists are of texts or messages. protobuf_free() it. */
ProtobufCMessage *protobuf_build(const ProtobufCMessageDescriptor *type,
				 const cJSON *object);
void protobuf_pack(const ProtobufCMessage *message, struct buf *out);
void protobuf_free(ProtobufCMessage *message); /* NULL is fine */
/* The text in the message's field of this name, which its type has. */
const char *protobuf_text(const ProtobufCMessage *message, const char *field);
/* An object of texts: name, value, ... NULL. A NULL value is left out. */
cJSON *protobuf_texts(const char *name, ...) __attribute__((sentinel));

struct protobuf_ask {       /* one call; all but request is borrowed */
	const char *method; /* "SandboxCreate" */
	const char *what;   /* the request, for messages */
	cJSON *request;     /* owned; NULL: an empty message */
	/* For streams: each message of the answer; -1 ends the call. */
	int (*each)(void *arg, const ProtobufCMessage *message,
		    struct error *err);
	/* For streaming requests, instead of request: see grpc.h. */
	int64_t (*source)(void *arg, char *room, size_t len, struct error *err);
	int64_t source_size;
	void *arg;
	int64_t timeout_ms; /* of one try; 0: 60 s */
	unsigned flags;     /* the vendor's */
};

struct protobuf_result {          /* start from { 0 } */
	ProtobufCMessage *answer; /* the one message; NULL unless it came */
	struct grpc_outcome outcome;
};

struct protobuf_service { /* all borrowed */
	struct http *http;
	const char *base;
	const char *service; /* "modal.client.ModalClient" */
	const char *suffix;  /* of the method's name in the path, or NULL */
	const ProtobufCServiceDescriptor *methods; /* its */
	const char *const *headers;
	int64_t connect_ms;
};

/* One try. The request stays the caller's, who also releases the result's
 * outcome and answer (protobuf_free()). */
int protobuf_call(const struct protobuf_service *where,
		  const struct protobuf_ask *ask,
		  struct protobuf_result *result, const struct stop *stop,
		  struct error *err);
/* A message of a source: packed, after its head. */
void protobuf_envelope(const ProtobufCMessage *message, struct buf *out);
/* Stores the message in *answer, or frees it if answer is NULL. */
void protobuf_give(ProtobufCMessage *message, ProtobufCMessage **answer);

/* rpc.c */
enum {                       /* flags of a call */
       MODAL_V2 = 1 << 0,    /* the method's V2 */
       MODAL_TOKEN = 1 << 1, /* with the token that all of V2 wants */
};
/*
 * A call of the control plane, repeated as Modal's own clients do; frees the
 * request. *answer is the answer's only message, which the caller frees with
 * protobuf_free(); with ask->each there is none. The error begins with
 * ask->what.
 */
int modal_ask(struct modal *m, const struct protobuf_ask *ask,
	      ProtobufCMessage **answer, const struct stop *stop,
	      struct error *err);
/* modal_ask() for an answer of which only the id in this field matters. It
 * replaces *id, which the caller owns. */
int modal_ask_id(struct modal *m, const struct protobuf_ask *ask,
		 const char *field, char **id, const struct stop *stop,
		 struct error *err);
/* The id in this field of an answer, as modal_ask_id(); frees the answer. */
int modal_answer_id(ProtobufCMessage *answer, const char *field, char **id,
		    struct error *err);
/* True when the call may have another outcome when it is repeated. */
bool modal_is_passing(const struct error *why);
/* Pure: ms that grpc-status-details-bin asks to wait before the next try; -1:
 * it does not say. */
int64_t modal_retry_wish(struct str details);

/* True if the id is safe in a path and not longer than MODAL_ID_MAX. */
bool modal_id_ok(const char *id);
/* The flags for calls about this sandbox, which depend on its generation. */
unsigned modal_flags(const char *id);
/* Sets *field unless it is set already, and returns what it then holds. value
 * is owned, and may be NULL: only read. */
const char *modal_keep_first(pthread_mutex_t *lock, char **field, char *value);
/* 1 while the sandbox runs, 0 when it has ended; -1, with ERR_NOT_FOUND if it
 * never existed. The server delays its answer by up to wait_s seconds while
 * the sandbox runs. */
int modal_is_running(struct modal *m, const char *id, float wait_s,
		     const struct stop *stop, struct error *err);

/* The state of a sandbox, made at the first call. */
struct modal_box *modal_box(struct sandbox *sb);
/* Asks for the task and the router's address unless known. renew: its token
 * was refused. ERR_GONE when the sandbox has ended. */
int modal_ensure_router(struct sandbox *sb, bool renew, const struct stop *stop,
			struct error *err);
/* A call of the router; frees the request. ERR_GONE when the sandbox has ended
 * meanwhile. */
int modal_route(struct sandbox *sb, const struct protobuf_ask *ask,
		ProtobufCMessage **answer, const struct stop *stop,
		struct error *err);

struct modal_exec { /* one process in the sandbox */
	struct sandbox *sb;
	char *task; /* borrowed */
	char id[MODAL_UUID];
};
/* Starts argv, a list that ends with NULL. errors: keep its error output. */
int modal_start(struct modal_exec *x, struct sandbox *sb,
		const char *const *argv, bool errors, const struct stop *stop,
		struct error *err);
/* Reads all of a stream (0: output, 1: error output); resumed after cuts. */
int modal_read(struct modal_exec *x, int stream,
	       int (*data)(void *arg, struct str chunk, struct error *err),
	       void *arg, const struct stop *stop, struct error *err);
/* Sends the file as the process's input, from its first byte; resumed after
 * cuts. ERR_REMOTE when the process closed its input early. */
int modal_write(struct modal_exec *x, struct file_source *in,
		const struct stop *stop, struct error *err);
/* Waits for its end. *status: exit status, 128 + n when killed by signal n, -1
 * when the server does not say. */
int modal_wait(struct modal_exec *x, int *status, const struct stop *stop,
	       struct error *err);

/* exec.c */
int modal_execute(struct sandbox *sb, const struct exec_request *req,
		  struct exec_result *res, const struct stop *stop,
		  struct error *err);
int modal_upload(struct sandbox *sb, struct transfer *files, size_t n,
		 const struct stop *stop, struct error *err);
int modal_download(struct sandbox *sb, struct transfer *files, size_t n,
		   const struct stop *stop, struct error *err);

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
int modal_snapshot(struct sandbox *sb, const char *name, bool replace,
		   const struct stop *stop, struct error *err);
int modal_find_snapshot(struct sandbox_client *client, const char *name,
			const struct stop *stop, struct error *err);
int modal_remove(struct sandbox_client *client, const char *id,
		 const struct stop *stop, struct error *err);

/* modal.c */
/*
 * Pure: the profile of a ~/.modal.toml to use. *profile is a table of root, or
 * NULL when the file is empty. ERR_CONFIG when name is not among the profiles,
 * or when it is unclear which one is meant.
 */
int modal_profile(const struct toml_value *root, const char *name,
		  const struct toml_value **profile, struct error *err);

extern const struct sandbox_provider modal_provider;

#endif

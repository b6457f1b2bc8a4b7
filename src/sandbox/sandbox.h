/* sandbox.h - a sandbox: the machine on which the model's tools run. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_SANDBOX_H
#define SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/stop.h"
#include "config/settings.h"
#include "net/http.h"
#include "sandbox/exec.h"
#include "sandbox/network/network.h"
#include "sandbox/provider.h"
#include "sandbox/secrets/secrets.h"

struct sandbox_mount {
	char *inside; /* owned: "/workspace" */
	char *path;   /* owned: "/home/ann/project" */
};

struct sandbox_mounts { /* initialise with { 0 } */
	struct sandbox_mount *list;
	size_t n;
};

/* Adds a mount, unless the path inside the sandbox is already listed. */
void mounts_add(struct sandbox_mounts *m, const char *inside, const char *path);
void mounts_release(struct sandbox_mounts *m);

enum {
	SANDBOX_ATTACH = 1 << 0,   /* --sandbox-id */
	SANDBOX_SNAPSHOT = 1 << 1, /* --sandbox-snapshot-name */
	SANDBOX_LIVE = 1 << 2,     /* output arrives while a command runs */
	/* exec_request's input, source and dialog work; stderr is separate */
	SANDBOX_STDIN = 1 << 3,
	SANDBOX_NETWORK = 1 << 4,    /* --sandbox-network is supported */
	SANDBOX_UNISOLATED = 1 << 5, /* it is the user's own machine */
	SANDBOX_LIST = 1 << 6,  /* list() finds dcode's sandboxes by label */
	SANDBOX_STAYS = 1 << 7, /* its files outlive its lifetime */
	SANDBOX_BOUND = 1 << 8, /* runs only while a dcode uses it */
	/* set only in sandbox_client.lacks: stop() does not work */
	SANDBOX_STOP = 1 << 9,
	SANDBOX_RENEWS = 1 << 10, /* extend() starts the lifetime again */
	SANDBOX_SHARED = 1 << 11, /* not isolated, on a shared machine */
	/* place_expect() can predict a new sandbox's workdir */
	SANDBOX_PLACED = 1 << 12,
	SANDBOX_PLACED_AGAIN = 1 << 13, /* ... and an attached sandbox's */
	SANDBOX_FREEZES = 1 << 14, /* stopping preserves running processes */
	/* set only in sandbox_client.lacks: processes end with their command */
	SANDBOX_LEAVES = 1 << 15,
	SANDBOX_UNNAMED = 1 << 16, /* prompts do not name its workdir */
	/* set only in sandbox_client.lacks: lists of hosts */
	SANDBOX_HOSTS = 1 << 17,
};

struct sandbox_spec { /* What to create. Borrowed for the call. */
	/* dcode's label, unique, written to the ledger before create():
	 * "dcode-" and 8 characters of a-z2-7 */
	const char *label;
	const char *owner;    /* UUID of this installation */
	const char *snapshot; /* --sandbox-snapshot-name, or NULL */
	/* What the command line asks for, or NULL. Operations get the choice
	 * of network_choose(), never NULL. */
	const struct network *network;
	/* set by sandbox_create(), or NULL; the list outlives the call */
	const struct secrets *secrets;
	/* seconds after which the sandbox must end by itself */
	int64_t lifetime_s;
	/* Shows one line to the user ("pulling python:3 45%"). */
	void (*progress)(void *arg, const char *line);
	void *arg;
};

struct sandbox;
struct sandbox_client;
struct port_ops; /* ports/ports.h */
/*
 * A provider's operations. Only open, close, create or attach, execute, remove
 * and discard are required. NULL means not supported; upload and download then
 * use execute. All operations block and obey stop, except close and discard,
 * which never block. All may be called from several threads at once on the same
 * sandbox after create or attach has returned.
 */
struct sandbox_ops {
	/* Reads settings and credentials; sends no request. */
	int (*open)(struct sandbox_client *client, const struct settings *set,
		    struct error *err);
	void (*close)(struct sandbox_client *client);
	/* Determines which flags and operations really work. NULL: they are
	 * known without a request. */
	int (*probe)(struct sandbox_client *client, const struct stop *stop,
		     struct error *err);
	/* Sets sb->id as soon as it is known, even if create then fails: the
	 * caller removes a sandbox that has an id or a label. Makes one
	 * attempt; sandbox_create() repeats it. So a repeated call with the
	 * same label must not make a second sandbox. If the vendor cannot do
	 * that, errors have exhausted set, so that create is not repeated.
	 * Errors have nothing_made set if no request was sent. */
	int (*create)(struct sandbox *sb, const struct sandbox_spec *spec,
		      const struct stop *stop, struct error *err);
	/* starts a stopped sandbox, too; sets sb->id and checks it */
	int (*attach)(struct sandbox *sb, const char *id,
		      const struct stop *stop, struct error *err);
	/* Lists sandboxes with a dcode label. owner: only those with this owner
	 * id; NULL: all. */
	int (*list)(struct sandbox_client *client, const char *owner,
		    const struct info_sink *sink, const struct stop *stop,
		    struct error *err);
	/* Lists all sandboxes of the account, dcode's or not. For services
	 * without labels: the caller compares the ids. Used if list is NULL. */
	int (*list_ids)(struct sandbox_client *client,
			const struct info_sink *sink, const struct stop *stop,
			struct error *err);
	int (*info)(struct sandbox_client *client, const char *id,
		    const struct info_sink *sink, const struct stop *stop,
		    struct error *err);
	int (*extend)(struct sandbox *sb, int64_t lifetime_s,
		      const struct stop *stop, struct error *err);
	/* Changes the network of a running sandbox. NULL: it is fixed. */
	int (*set_network)(struct sandbox *sb, const struct network *n,
			   const struct stop *stop, struct error *err);
	/* What only dcode's own proxy can do; NULL: a vendor filters. */
	const struct reach_ops *proxy;
	/* Sets *n to what the vendor reports. NULL: it reports nothing. */
	int (*get_network)(struct sandbox *sb, struct network *n,
			   const struct stop *stop, struct error *err);
	/* replace: replaces a snapshot of this name. Otherwise the name is
	 * free; if find_snapshot is NULL, this function checks that. */
	int (*snapshot)(struct sandbox *sb, const char *name, bool replace,
			const struct stop *stop, struct error *err);
	/* 1; 0: none. *id: owned; the vendor's. remove: see snapshot.h. */
	int (*find_snapshot)(struct sandbox_client *client, const char *name,
			     char **id, const struct stop *stop,
			     struct error *err);
	int (*remove_snapshot)(struct sandbox_client *client, const char *name,
			       const char *id, const struct stop *stop,
			       struct error *err);
	/* The ways to its ports. NULL: there are none. */
	const struct port_ops *ports;
	/* Runs on the caller's thread, and returns promptly when stop is
	 * cancelled. A command that must be killed is handed to
	 * sandbox_kill(). */
	int (*execute)(struct sandbox *sb, const struct exec_request *req,
		       struct exec_result *res, const struct stop *stop,
		       struct error *err);
	/* execute for a request with a terminal. NULL: not possible */
	int (*shell)(struct sandbox *sb, const struct exec_request *req,
		     struct exec_result *res, const struct stop *stop,
		     struct error *err);
	/* Returns a notice that no exec_result has contained yet, or "". Called
	 * when all cancelled commands have ended. */
	void (*settle)(struct sandbox *sb, char notice[SANDBOX_NOTICE]);
	/* Transfers n files in order and sets an error per file. -1 only if
	 * nothing could be tried. Upload creates parent directories. */
	int (*upload)(struct sandbox *sb, struct transfer *files, size_t n,
		      const struct stop *stop, struct error *err);
	int (*download)(struct sandbox *sb, struct transfer *files, size_t n,
			const struct stop *stop, struct error *err);
	/* Removes a sandbox by id, with one attempt: sandbox_remove() repeats
	 * it after transient failures and while it returns ERR_BUSY. 0 once the
	 * removal is confirmed, 1 if no sandbox has this id. */
	int (*remove)(struct sandbox_client *client, const char *id,
		      const struct stop *stop, struct error *err);
	/* Deletes the account's objects whose names begin with the label of a
	 * sandbox that does not exist (any more). NULL: there are none. */
	int (*clean)(struct sandbox_client *client, const char *label,
		     const struct stop *stop, struct error *err);
	/* Stops a sandbox by id: processes end or freeze, files stay, and
	 * attach() starts it again. *keep_s, in: for how many seconds the
	 * vendor should not delete it; out: for how many it will not; 0: it
	 * never deletes. Returns 0 once it is stopped, even if it was before; 1
	 * if no sandbox has this id. */
	int (*stop)(struct sandbox_client *client, const char *id,
		    int64_t *keep_s, const struct stop *stop,
		    struct error *err);
	/* Calls each with a line for the user about what commands did to files
	 * of the user's machine since the last call. last: since the sandbox
	 * was opened; no command follows. Called on the agent's thread. */
	void (*check)(struct sandbox *sb, bool last,
		      void (*each)(void *arg, const char *line), void *arg);
	/* frees sb->priv and ends its processes */
	void (*discard)(struct sandbox *sb);
	/* Facts that hold for all sandboxes of this provider and are known
	 * before one is created. NULL: only the sandbox knows. */
	void (*facts)(const struct sandbox_client *client,
		      struct sandbox_facts *f);
	/* For dcode --install: tests whether a sandbox can start on this
	 * machine, which open() cannot tell cheaply. NULL: nothing to test. */
	int (*self_test)(const struct sandbox_client *client,
			 const struct stop *stop, struct error *err);
	/* Appends one line for dcode doctor that says which limits this machine
	 * can enforce. NULL: the vendor enforces them. */
	void (*describe_limits)(const struct sandbox_client *client,
				struct buf *out);
};

/* A provider opened with this user's settings. */
struct sandbox_client {
	const struct sandbox_provider *provider;
	const struct settings *settings; /* borrowed */
	struct http *http;               /* borrowed; may be NULL for local */
	bool also;  /* opened by the second name, provider->also */
	void *priv; /* owned by the provider */
	/* set by open(): the engine or account in use, for the user; owned by
	 * the provider. NULL: there is only one */
	const char *endpoint;
	const char *project_key; /* set by open(): see settings_credential() */
	/* set by open(): provider flags that these settings rule out */
	unsigned lacks;
	/* Set when opened: within how many ms a sandbox must be ready, if the
	 * user configured that; else 0, see sandbox_start_ms(). */
	int64_t start_ms;
	/* Set by a caller that runs a single command: attach() may skip the
	 * check that the sandbox exists, because the command fails if it does
	 * not. */
	bool one_command;
	/* Set by open() if it depends on settings; else ISOLATION_UNSET. See
	 * sandbox_isolation(). */
	enum sandbox_isolation isolation;
};

enum { SANDBOX_START_MAX_S = 86400 };
/* Returns the time in ms within which a sandbox must be ready: the user's, or
 * else own, the provider's default. */
static inline int64_t sandbox_start_ms(const struct sandbox_client *client,
				       int64_t own)
{
	return client->start_ms ? client->start_ms : own;
}

enum { FACTS_UNKNOWN, FACTS_COMING, FACTS_KNOWN };
struct sandbox {
	struct sandbox_client *client; /* borrowed */
	char *id;                      /* owned; NULL until known */
	char *workdir;  /* owned, absolute: where tools and shells start */
	char *made_dir; /* owned: workdir before sandbox_move(), or NULL */
	void *priv;     /* owned by the provider */
	struct network network;       /* if known: see reach_read() */
	struct secrets secrets;       /* owned; for attach() as for create() */
	struct sandbox_mounts mounts; /* host directories that it can write */
	struct opened *opened;        /* of reach.h; owned, or NULL */
	struct supervise_read *read;  /* of exec.h; owned, or NULL */
	_Atomic(struct background *) background; /* of exec.h; owned, or NULL */
	struct kill_queue *kills;                /* of exec.h; owned, or NULL */
	/* reported by the sandbox; valid if facts_known is FACTS_KNOWN */
	struct sandbox_facts facts;
	_Atomic int facts_known;
	/* the sandbox has the user's tree, and somebody wants to know which of
	 * its files a command changes: see tree_changes.h */
	atomic_bool names_changes;
	struct jobs *jobs; /* see jobs/jobs.h; freed by jobs_end(); or NULL */
	/* of ports/ports.h, one allocation; owned, or NULL */
	_Atomic(struct listeners *) listeners;
	/* NULL, or a cancel that is triggered when the sandbox is being
	 * deleted: then nothing new is started in it. */
	_Atomic(const struct cancel *) doomed_by;
};

/* Wrappers around the ops: always call these. They put the provider's name
 * before errors, emulate missing operations, and retry create and remove: four
 * attempts each, with the pause that the server asks for. */
int sandbox_client_open(struct sandbox_client *client,
			const struct sandbox_provider *provider,
			const struct settings *set, struct http *http,
			struct error *err);
/* Opens a client by one of the provider's names. */
int sandbox_client_open_as(struct sandbox_client *client,
			   const struct sandbox_provider *provider,
			   const char *name, const struct settings *set,
			   struct http *http, struct error *err);
void sandbox_client_close(struct sandbox_client *client);
/* Returns the name of the provider under which the client was opened, for
 * sandbox_client_open_as(). */
const char *sandbox_client_name(const struct sandbox_client *client);
/* Repeats create after transient failures (retry_is_transient() of
 * net/retry.h); once an id is known, only after a broken connection. After a
 * failure the caller must delete the sandbox if sb->id is set. Otherwise a
 * sandbox with this label may exist, unless err->nothing_made. */
int sandbox_create(struct sandbox *sb, struct sandbox_client *client,
		   const struct sandbox_spec *spec, const struct stop *stop,
		   struct error *err);
int sandbox_attach(struct sandbox *sb, struct sandbox_client *client,
		   const char *id, const struct stop *stop, struct error *err);
/* What lists of hosts the client can enforce; NULL: none. */
const struct network_limits *
sandbox_network_limits(const struct sandbox_client *client);
/* Replaces *n by the network that sandbox_create() would give a sandbox: see
 * network_choose(). Fails if the provider cannot enforce it. */
int sandbox_choose_network(struct sandbox_client *client,
			   const struct network *flag, struct network *n,
			   struct error *err);
int sandbox_check_limits(struct sandbox_client *client,
			 const struct network *flag, struct error *err);
/* True if sandbox_ops.clean() has to delete secrets of a new sandbox. */
bool sandbox_stores_secrets(const struct sandbox_client *client);
/* If cancelled, returns within about 30 ms. The command is then killed in the
 * background, and the next operation waits until that is done. */
int sandbox_execute(struct sandbox *sb, const struct exec_request *req,
		    struct exec_result *res, const struct stop *stop,
		    struct error *err);
/* Changes the directory in which tools and shells start. dir is a path in the
 * sandbox; whether it exists is not checked. False, without a change, if it is
 * not a valid path. */
bool sandbox_move(struct sandbox *sb, struct str dir);
/* Returns the directory that has the user's files: the workdir that the sandbox
 * was created with. */
const char *sandbox_tree_dir(const struct sandbox *sb);
/* Fills in the facts if they are those of this machine; else returns false. */
bool sandbox_expect_facts(const struct sandbox_client *client,
			  struct sandbox_facts *f);
/* For providers: calls kills_run() with the sandbox's queue. If the sandbox can
 * write directories of the host, always waits for the kill, because dcode
 * inspects these after each command. sb NULL: runs the kill on the caller's
 * thread. */
int sandbox_kill(struct sandbox *sb, struct kill *k, const struct stop *stop,
		 struct error *err);
/* Waits until the cancelled commands have been killed, or killing them has
 * failed. -1 only when stop ended the wait. */
int sandbox_await_kills(struct sandbox *sb, const struct stop *stop,
			struct error *err);
int sandbox_upload(struct sandbox *sb, struct transfer *files, size_t n,
		   const struct stop *stop, struct error *err);
/* Uploads bytes as the file: sets the file's size and callbacks. Returns like
 * sandbox_upload(). */
int sandbox_upload_bytes(struct sandbox *sb, struct transfer *file,
			 struct str bytes, const struct stop *stop,
			 struct error *err);
int sandbox_download(struct sandbox *sb, struct transfer *files, size_t n,
		     const struct stop *stop, struct error *err);
/* Returns 0 when the sandbox is gone; 1 if the provider knows no such id. */
int sandbox_remove(struct sandbox_client *client, const char *id,
		   const struct stop *stop, struct error *err);
int sandbox_stop(struct sandbox_client *client, const char *id, int64_t *keep_s,
		 const struct stop *stop, struct error *err);
/* Call before dcode leaves a sandbox that continues to exist. Takes a few
 * seconds at most. notice: see sandbox_ops.settle. */
void sandbox_settle(struct sandbox *sb, char notice[SANDBOX_NOTICE]);
void sandbox_check(struct sandbox *sb, bool last,
		   void (*each)(void *arg, const char *line), void *arg);
/* Asks a provider program what it supports. */
int sandbox_probe(struct sandbox_client *client, const struct stop *stop,
		  struct error *err);
bool sandbox_needs_probe(const struct sandbox_client *client);
/* Isolation of sandboxes created with these settings. For an external provider
 * program it is final only after the first request. */
enum sandbox_isolation sandbox_isolation(const struct sandbox_client *client);
/* Where the vendor documents this isolation, or NULL. */
const char *sandbox_isolation_source(const struct sandbox_provider *p,
				     enum sandbox_isolation isolation);
/* Each returns whether its function may be called. */
bool sandbox_can_list(const struct sandbox_client *client);
bool sandbox_can_get(const struct sandbox_client *client);
bool sandbox_can_extend(const struct sandbox_client *client);
bool sandbox_can_stop(const struct sandbox_client *client);
/* True if uploads need no execute. */
bool sandbox_can_upload(const struct sandbox_client *client);
int sandbox_list(struct sandbox_client *client, const char *owner,
		 const struct info_sink *sink, const struct stop *stop,
		 struct error *err);
/* sandbox_probe() may change it. */
bool sandbox_can_list_ids(const struct sandbox_client *client);
int sandbox_list_ids(struct sandbox_client *client,
		     const struct info_sink *sink, const struct stop *stop,
		     struct error *err);
int sandbox_get(struct sandbox_client *client, const char *id,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err);
int sandbox_extend(struct sandbox *sb, int64_t lifetime_s,
		   const struct stop *stop, struct error *err);
/* Advice if a variable sets an address that is not used, because the provider's
 * key is stored. Owned, or NULL. */
char *sandbox_unused_address(const struct sandbox_client *client);
/* Puts the provider's name before the error's message, and the credential's
 * name if it was refused. A cancellation stays unchanged. Always returns -1. */
int sandbox_blame(const struct sandbox_client *client, struct error *err);
/* Frees the struct's memory; the sandbox itself continues to exist. */
void sandbox_release(struct sandbox *sb);

/* True if tools can change the user's own files: with `none`, a writable mount
 * of the host, or a shared machine. Tool calls then need approval. */
bool sandbox_acts_on_host(const struct sandbox *sb);
bool sandbox_is_shared(const struct sandbox *sb);
/* Writes "job 7" or "me@build", for messages, into room and returns it. */
const char *sandbox_called(const struct sandbox *sb, char *room, size_t size);

/* Returns the workdir that a sandbox will have after create() or (attaches)
 * attach(), provided that no directory of the host is mounted in it. "." if
 * prompts do not name the directory; NULL if only the sandbox knows it.
 * Borrowed from the settings. */
const char *place_expect(const struct sandbox_client *client, bool attaches);
/* True if the sandbox has the workdir that place_expect() predicted. */
bool place_is(const struct sandbox *sb, const char *expected);

#endif

/* sandbox.h - the machine that the model's tools act on. */
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
#include "sandbox/provider.h"

struct sandbox_mount {
	char *inside; /* owned: "/workspace" */
	char *path;   /* owned: "/home/ann/project" */
};

struct sandbox_mounts { /* from { 0 } */
	struct sandbox_mount *list;
	size_t n;
};

/* Once for each place inside. */
void mounts_add(struct sandbox_mounts *m, const char *inside, const char *path);
void mounts_release(struct sandbox_mounts *m);

enum {
	SANDBOX_ATTACH = 1 << 0,   /* --sandbox-id */
	SANDBOX_SNAPSHOT = 1 << 1, /* --sandbox-snapshot-name */
	SANDBOX_LIVE = 1 << 2,     /* output arrives while a command runs */
	SANDBOX_STDIN = 1 << 3,    /* input, source, dialog; stderr is apart */
	SANDBOX_NETWORK = 1 << 4,  /* --sandbox-network works */
	SANDBOX_UNISOLATED = 1 << 5, /* no isolation: the user's own machine */
	SANDBOX_LIST = 1 << 6,       /* list() finds ours by label */
	SANDBOX_STAYS = 1 << 7,      /* its files outlast its lifetime */
	SANDBOX_BOUND = 1 << 8,      /* it runs only while a dcode uses it */
	SANDBOX_STOP = 1 << 9,       /* in lacks alone: stop() does not hold */
	SANDBOX_RENEWS = 1 << 10,    /* extend() gives its lifetime again */
	SANDBOX_SHARED = 1 << 11,    /* no isolation on a machine of others */
	SANDBOX_PLACED = 1 << 12,    /* place_expect() knows one to come; */
	SANDBOX_PLACED_AGAIN = 1 << 13, /* one that is attached to */
	SANDBOX_FREEZES = 1 << 14,      /* stop() keeps its processes */
	SANDBOX_LEAVES = 1 << 15,       /* in lacks alone: nothing outlives a
					   command */
	SANDBOX_UNNAMED = 1 << 16,      /* no prompt names its directory, which
					   only the sandbox can tell */
};

enum sandbox_network { NETWORK_DEFAULT = 0, NETWORK_FULL, NETWORK_NONE };
struct sandbox_spec {         /* what to create; borrowed for the call */
	const char *label;    /* ours, unique, in the ledger before create():
				 "dcode-" and 8 characters of a-z2-7 */
	const char *owner;    /* this installation's id, a UUID */
	const char *snapshot; /* --sandbox-snapshot-name, or NULL */
	enum sandbox_network network;
	int64_t lifetime_s; /* backstop: it must end by itself after this */
	/* One line of progress for the user ("pulling python:3 45%"). */
	void (*progress)(void *arg, const char *line);
	void *arg;
};

struct sandbox;
struct sandbox_client;
/*
 * The provider's powers. Only open, close, create or attach, execute, remove
 * and discard are required; NULL elsewhere means not supported (upload and
 * download then go through execute). All block and obey stop, but close and
 * discard, which never block. Every one may be called from several threads at
 * once on the same sandbox after create or attach returned.
 */
struct sandbox_ops {
	/* Reads settings and credentials; talks to nobody. */
	int (*open)(struct sandbox_client *client, const struct settings *set,
		    struct error *err);
	void (*close)(struct sandbox_client *client);
	/* After it the flags and what is NULL here are certain. NULL: always.
	 */
	int (*probe)(struct sandbox_client *client, const struct stop *stop,
		     struct error *err);
	/* Sets sb->id as soon as it is known, even when it then fails: the
	 * caller removes what has an id, or a label. Asked for once;
	 * sandbox_create() repeats it, so it must be idempotent by label:
	 * repeating never makes a second one. What is not, fails with an
	 * error that is exhausted. Sets nothing_made in the error of a
	 * failure before anything was asked for. */
	int (*create)(struct sandbox *sb, const struct sandbox_spec *spec,
		      const struct stop *stop, struct error *err);
	/* Starts or resumes a stopped one. Sets sb->id and checks it. */
	int (*attach)(struct sandbox *sb, const char *id,
		      const struct stop *stop, struct error *err);
	/* Every sandbox that carries a dcode label; owner NULL: any. */
	int (*list)(struct sandbox_client *client, const char *owner,
		    const struct info_sink *sink, const struct stop *stop,
		    struct error *err);
	/* Every sandbox of the account, ours or not: without labels, so that
	 * only an id tells whose it is. Where there is no list. */
	int (*list_ids)(struct sandbox_client *client,
			const struct info_sink *sink, const struct stop *stop,
			struct error *err);
	int (*info)(struct sandbox_client *client, const char *id,
		    const struct info_sink *sink, const struct stop *stop,
		    struct error *err);
	int (*extend)(struct sandbox *sb, int64_t lifetime_s,
		      const struct stop *stop, struct error *err);
	/* replace: one of this name gives way. Else the caller has asked
	 * find_snapshot, or, where that is NULL, the name is refused here. */
	int (*snapshot)(struct sandbox *sb, const char *name, bool replace,
			const struct stop *stop, struct error *err);
	/* 1: a snapshot of this name is there; 0: none. */
	int (*find_snapshot)(struct sandbox_client *client, const char *name,
			     const struct stop *stop, struct error *err);
	/* When stopped, it kills the command first (own deadline of 2 s). */
	int (*execute)(struct sandbox *sb, const struct exec_request *req,
		       struct exec_result *res, const struct stop *stop,
		       struct error *err);
	/* Gives the notice that no result has told yet, or "". Cancelled
	 * commands have ended. */
	void (*settle)(struct sandbox *sb, char notice[SANDBOX_NOTICE]);
	/* n files in order, an error per file; -1 only when nothing could be
	 * tried at all. Upload makes parent directories. */
	int (*upload)(struct sandbox *sb, struct transfer *files, size_t n,
		      const struct stop *stop, struct error *err);
	int (*download)(struct sandbox *sb, struct transfer *files, size_t n,
			const struct stop *stop, struct error *err);
	/* By id, asked for once: sandbox_remove() repeats it after a failure
	 * that may pass, and while it says ERR_BUSY. 0 once its end is
	 * confirmed, 1 when there is none with this id. */
	int (*remove)(struct sandbox_client *client, const char *id,
		      const struct stop *stop, struct error *err);
	/* By id: its processes end, or freeze, and its files stay; attach()
	 * starts it. The vendor shall not delete it for *keep_s seconds;
	 * then how long it will not, 0: never. 0 once it has stopped, also
	 * before; 1 when there is none. */
	int (*stop)(struct sandbox_client *client, const char *id,
		    int64_t *keep_s, const struct stop *stop,
		    struct error *err);
	/* Tells what commands did to files of the user's machine since the last
	 * time, or, last, at all: what follows is its end. Agent's thread. */
	void (*check)(struct sandbox *sb, bool last,
		      void (*each)(void *arg, const char *line), void *arg);
	void (*discard)(struct sandbox *sb); /* frees sb->priv, processes */
	/* What is known of all its sandboxes' commands before any is made.
	 * NULL: only the sandbox can tell. */
	void (*facts)(const struct sandbox_client *client,
		      struct sandbox_facts *f);
};

/* A provider opened with this user's settings. */
struct sandbox_client {
	const struct sandbox_provider *provider;
	const struct settings *settings; /* borrowed */
	struct http *http;               /* borrowed; may be NULL for local */
	bool also;  /* it was asked for by provider->also */
	void *priv; /* the provider's */
	/* Set by open(): which engine or account it talks to, as a user would
	 * name it; the provider's memory. NULL: there is only one. */
	const char *endpoint;
	const char *project_key; /* set by open(): see settings_credential() */
	unsigned lacks; /* set by open(): flags that do not hold with these */
	/* Set when it is opened: for how long a sandbox may take to be ready,
	 * as the user's configuration says; 0: see sandbox_start_ms(). */
	int64_t start_ms;
	/* Set by a caller that runs a single command: attach() may leave it to
	 * that command to find out whether the sandbox is there. */
	bool one_command;
	/* Set by open() where settings decide it: see sandbox_isolation(). */
	enum sandbox_isolation isolation;
};

enum { SANDBOX_START_MAX_S = 86400 };
/* The user's limit for a sandbox to be ready, else own, the provider's. */
static inline int64_t sandbox_start_ms(const struct sandbox_client *client,
				       int64_t own)
{
	return client->start_ms ? client->start_ms : own;
}

enum { FACTS_UNKNOWN, FACTS_COMING, FACTS_KNOWN };
struct sandbox {
	struct sandbox_client *client; /* borrowed */
	char *id;                      /* owned; NULL until known */
	char *workdir;                 /* owned, absolute: where tools begin */
	char *made_dir; /* owned; workdir before sandbox_move(), or NULL */
	void *priv;     /* the provider's */
	struct sandbox_mounts mounts;  /* of the host, for writing */
	struct supervise_read *read;   /* of exec.h; owned, or NULL */
	struct background *background; /* of exec.h; owned, or NULL */
	struct detached *detached;     /* of exec.h; owned, or NULL */
	/* Told by the sandbox, once facts_known is FACTS_KNOWN. */
	struct sandbox_facts facts;
	_Atomic int facts_known;
	struct jobs *jobs; /* of jobs/jobs.h, until jobs_end(); or NULL */
	/* Triggered: it is deleted, nothing is begun in it; or NULL. */
	_Atomic(const struct cancel *) doomed_by;
};

/* The wrappers: call these, never ops. They put the provider's name before
 * errors, supply what a provider lacks, and own the retries of a create and of
 * a remove: four requests each, as long apart as the server asks. */
int sandbox_client_open(struct sandbox_client *client,
			const struct sandbox_provider *provider,
			const struct settings *set, struct http *http,
			struct error *err);
/* The same by one of the provider's names. */
int sandbox_client_open_as(struct sandbox_client *client,
			   const struct sandbox_provider *provider,
			   const char *name, const struct settings *set,
			   struct http *http, struct error *err);
void sandbox_client_close(struct sandbox_client *client);
/* The name that opens the same again. */
const char *sandbox_client_name(const struct sandbox_client *client);
/* Tried again where retry_is_transient() (net/retry.h) says so, and once there
 * is an id only after a cut. After a failure there is something to delete when
 * sb->id is set, and there may be something of that label unless
 * err->nothing_made. */
int sandbox_create(struct sandbox *sb, struct sandbox_client *client,
		   const struct sandbox_spec *spec, const struct stop *stop,
		   struct error *err);
int sandbox_attach(struct sandbox *sb, struct sandbox_client *client,
		   const char *id, const struct stop *stop, struct error *err);
/* When cancelled, it returns within some 30 ms; a command elsewhere is killed
 * in the background, and what is done next there waits for that. */
int sandbox_execute(struct sandbox *sb, const struct exec_request *req,
		    struct exec_result *res, const struct stop *stop,
		    struct error *err);
/* Tools and shells begin in dir from now on: a path in the sandbox, which is
 * not looked at. False, and nothing changes, where it cannot be one. */
bool sandbox_move(struct sandbox *sb, struct str dir);
/* Where the user's tree is: the workdir that it was made with. */
const char *sandbox_tree_dir(const struct sandbox *sb);
/* Of a provider that runs commands with this machine's own system; without a
 * request. False: only the sandbox can tell. */
bool sandbox_expect_facts(const struct sandbox_client *client,
			  struct sandbox_facts *f);
/* Until the cancelled commands have been killed, or their kills have given up:
 * -1 only when stop ended the wait. */
int sandbox_await_kills(struct sandbox *sb, const struct stop *stop,
			struct error *err);
int sandbox_upload(struct sandbox *sb, struct transfer *files, size_t n,
		   const struct stop *stop, struct error *err);
int sandbox_download(struct sandbox *sb, struct transfer *files, size_t n,
		     const struct stop *stop, struct error *err);
/* 0 when it is gone; 1 when the provider knows no such id. */
int sandbox_remove(struct sandbox_client *client, const char *id,
		   const struct stop *stop, struct error *err);
/* As ops.stop. */
int sandbox_stop(struct sandbox_client *client, const char *id, int64_t *keep_s,
		 const struct stop *stop, struct error *err);
/* To be called before a sandbox that stays is left: some seconds at most. */
void sandbox_settle(struct sandbox *sb, char notice[SANDBOX_NOTICE]);
void sandbox_check(struct sandbox *sb, bool last,
		   void (*each)(void *arg, const char *line), void *arg);
/* Makes certain what a program's provider can do; 0 at once for the others. */
int sandbox_probe(struct sandbox_client *client, const struct stop *stop,
		  struct error *err);
bool sandbox_needs_probe(const struct sandbox_client *client);
/* Of what is created with these settings. A program's provider is certain of
 * it once it has been asked for something. */
enum sandbox_isolation sandbox_isolation(const struct sandbox_client *client);
/* Where the vendor documents this one, or NULL. */
const char *sandbox_isolation_source(const struct sandbox_provider *p,
				     enum sandbox_isolation isolation);
/* Whether the functions of these names may be called. */
bool sandbox_can_list(const struct sandbox_client *client);
bool sandbox_can_get(const struct sandbox_client *client);
bool sandbox_can_extend(const struct sandbox_client *client);
bool sandbox_can_stop(const struct sandbox_client *client);
bool sandbox_can_snapshot(const struct sandbox_client *client);
/* Without it sandbox_upload() works through execute. */
bool sandbox_can_upload(const struct sandbox_client *client);
int sandbox_list(struct sandbox_client *client, const char *owner,
		 const struct info_sink *sink, const struct stop *stop,
		 struct error *err);
/* Call only where sandbox_can_list_ids(), which a probe may change. */
bool sandbox_can_list_ids(const struct sandbox_client *client);
int sandbox_list_ids(struct sandbox_client *client,
		     const struct info_sink *sink, const struct stop *stop,
		     struct error *err);
int sandbox_get(struct sandbox_client *client, const char *id,
		const struct info_sink *sink, const struct stop *stop,
		struct error *err);
int sandbox_extend(struct sandbox *sb, int64_t lifetime_s,
		   const struct stop *stop, struct error *err);
int sandbox_snapshot(struct sandbox *sb, const char *name, bool replace,
		     const struct stop *stop, struct error *err);
/* Puts the provider's name before an error, and the key that was refused; a
 * cancel needs no name. Always -1. */
int sandbox_blame(const struct sandbox_client *client, struct error *err);
/* Frees what the struct holds; the machine itself stays. */
void sandbox_release(struct sandbox *sb);

struct sandbox;
/* True when tools can change the user's own files: on `none`, where a
 * directory of the user's machine is mounted for writing, and on a shared
 * machine: calls need approval then. */
bool sandbox_acts_on_host(const struct sandbox *sb);
/* SANDBOX_SHARED holds with these settings: another machine, unisolated. */
bool sandbox_is_shared(const struct sandbox *sb);
/* Its id as a sentence has it, "job 7" or "me@build": returns room. */
const char *sandbox_called(const struct sandbox *sb, char *room, size_t size);

struct sandbox;
struct sandbox_client;

/* The working directory of the sandbox that create() will make, or attach()
 * attaches to, none of whose directories is the user's; "." where no prompt
 * names it; NULL: only the sandbox can tell. Borrowed from the settings. */
const char *place_expect(const struct sandbox_client *client, bool attaches);
/* Whether the sandbox is as place_expect() said before. */
bool place_is(const struct sandbox *sb, const char *expected);

#endif

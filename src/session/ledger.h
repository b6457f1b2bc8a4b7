/* ledger.h - records every sandbox from intent to confirmed deletion. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_LEDGER_H
#define SESSION_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/*
 * A sandbox must not be forgotten, whenever dcode is killed. So the ledger is
 * written before each request that makes or deletes one, and after its answer:
 * LEDGER_INTENT, create, LEDGER_LIVE; then LEDGER_REMOVING, delete,
 * LEDGER_GONE. The label is written with the intent and sent with the create,
 * so lifecycle/gc.c finds the sandbox by it even if the answer with the id
 * never came. ledger_claim() and ledger_claim_removal() decide which process
 * may continue with a sandbox or delete it.
 */

struct store; /* session/session.h */

enum ledger_state {
	/* creation was requested or is about to be; id unknown */
	LEDGER_INTENT = 1,
	LEDGER_LIVE,     /* created: its id is known */
	LEDGER_REMOVING, /* deletion was requested, not confirmed */
	LEDGER_GONE,     /* the provider has confirmed the deletion */
	LEDGER_STOPPING, /* stopping was requested, not confirmed */
	LEDGER_STOPPED,  /* stopped, its files are kept */
};
/* Returns a static name: "creating", "live", "removing", "gone", "stopping",
 * "stopped". */
const char *ledger_state_name(enum ledger_state state);
struct ledger_row {           /* strings borrowed for the callback */
	const char *label;    /* "dcode-abcd2345"; its last 8 characters are
				 the short name */
	const char *provider; /* "docker" */
	const char *id;       /* "" until known */
	/* engine or account to which it belongs, such as the value of
	 * DOCKER_HOST; "" if the provider has only one */
	const char *endpoint;
	enum ledger_state state;
	int64_t created, ends; /* Unix seconds */
	int64_t pid; /* process id of the dcode that owns it; 0: no owner */
	/* the owner is still running (pid, start time and boot id are
	 * compared) */
	bool owned_by_live;
	bool kept; /* the user wants it to outlive the dcode that created it */
	/* kept is set, its end is not reached and no deletion was requested:
	 * only the user may delete it */
	bool held;
	/* the vendor's account may have other objects that dcode made for it,
	 * such as secrets; their names begin with the label */
	bool objects;
	const char *thread; /* thread that it belongs to, or "" */
	/* what the user has added to its network list, a line each */
	const char *hosts;
	/* the network that it was created with, as network_print_lines() writes
	 * it, or "none\n"; "": unknown, or the provider's own default */
	const char *network;
	/* who shares it, such as "directory:/home/ann/project"; or "": only its
	 * thread uses it */
	const char *scope;
	const char *note; /* why it was not deleted, or "" */
};

/* Changes are on disk (fsync) when these functions return, except those of
 * ledger_set_start_dir() and ledger_attached(). */
int ledger_intend(struct store *s, const char *provider, const char *endpoint,
		  int64_t lifetime_s, char label[16], struct error *err);
/* Call with true before the first of ledger_row.objects is created, and with
 * false when all are deleted. */
int ledger_set_objects(struct store *s, const char *label, bool objects,
		       struct error *err);
/* Sets ledger_row.scope. */
int ledger_set_scope(struct store *s, const char *label, const char *scope,
		     struct error *err);
/* Sets ledger_row.network. Call before the sandbox is created. */
int ledger_set_network(struct store *s, const char *label, const char *network,
		       struct error *err);
/* Adds to ledger_row.hosts. */
int ledger_add_host(struct store *s, const char *label, const char *host,
		    struct error *err);
int ledger_created(struct store *s, const char *label, const char *id,
		   struct error *err);
int ledger_removing(struct store *s, const char *label, struct error *err);
/* The sandbox does not exist any more. While the account still has objects of
 * it, the row stays with LEDGER_REMOVING, for gc. */
int ledger_gone(struct store *s, const char *label, struct error *err);
/* Stores the directory in which the tools of a sandbox start, if its setup
 * script changed it, also for a sandbox that dcode did not create. The entry is
 * deleted when the sandbox is gone. ledger_start_dir() sets *dir: owned; NULL
 * if none is stored. */
int ledger_set_start_dir(struct store *s, const char *provider, const char *id,
			 const char *dir, struct error *err);
int ledger_start_dir(struct store *s, const char *provider, const char *id,
		     char **dir, struct error *err);
int ledger_note(struct store *s, const char *label, const char *note,
		struct error *err);

/*
 * Keeps a sandbox after its dcode has exited, until ends (Unix seconds, greater
 * than 0). First call ledger_keep() with LEDGER_LIVE or LEDGER_STOPPING, while
 * this process owns the sandbox: from then on it is held (ledger_row.held).
 * Afterwards call ledger_kept() with the state that was reached, LEDGER_LIVE,
 * LEDGER_STOPPING or LEDGER_STOPPED: from then on it has no owner. thread NULL:
 * the row's thread stays unchanged.
 */
int ledger_keep(struct store *s, const char *label, enum ledger_state state,
		int64_t ends, const char *thread, struct error *err);
int ledger_kept(struct store *s, const char *label, enum ledger_state state,
		int64_t ends, struct error *err);
/* Sets the price of a sandbox that is kept running: trillionths of a US dollar
 * per second, -1: unknown. When the sandbox is taken over, stopped or removed,
 * the time that it ran without an owner, at most until its end, is added to the
 * costs of its thread (records.h). A stopped sandbox costs nothing. */
int ledger_price(struct store *s, const char *label, int64_t usd_s,
		 struct error *err);
/*
 * Makes this process the owner of a sandbox without a running owner and sets
 * LEDGER_LIVE; *before is the previous state. ends: the sandbox's end is set to
 * this time, unless it is later already. ERR_BUSY: a running dcode owns it.
 * ERR_GONE: it has been or is being deleted, or its id is unknown.
 */
int ledger_claim(struct store *s, const char *label, int64_t ends,
		 enum ledger_state *before, struct error *err);
enum ledger_spared {                    /* which sandboxes a removal spares */
		     LEDGER_SPARE_NONE, /* none: the user typed --force */
		     LEDGER_SPARE_USED, /* those with a running owner */
		     LEDGER_SPARE_HELD, /* the same, and those that are held */
};
/*
 * Sets LEDGER_REMOVING before anything is done to the sandbox: from then on
 * nobody can take it over. ERR_BUSY: it is spared, or another dcode has changed
 * its row while this one was deciding; the row stays unchanged.
 */
int ledger_claim_removal(struct store *s, const char *label,
			 enum ledger_spared spared, struct error *err);
/* Calls each for every sandbox, newest first; all: deleted ones too. each
 * returns false to stop. */
int ledger_each(struct store *s, bool all,
		bool (*each)(void *arg, const struct ledger_row *row),
		void *arg, struct error *err);
/* Finds a sandbox by label, short name, id or an unambiguous prefix of an id
 * (at least 4 characters). ERR_NOT_FOUND, or ERR_USAGE if several match. */
int ledger_find(struct store *s, const char *name,
		bool (*each)(void *arg, const struct ledger_row *row),
		void *arg, struct error *err);

/* Records that this process uses a sandbox that it did not create. name: what
 * the user typed. */
int ledger_attached(struct store *s, const char *provider, const char *endpoint,
		    const char *id, const char *name, struct error *err);
struct ledger_attached { /* strings borrowed for the callback */
	const char *provider, *id, *endpoint;
	int64_t user; /* pid of another running dcode that uses it, or 0 */
};
/* Finds such a sandbox by id, by the name that the user typed, or by an
 * unambiguous prefix of an id. ERR_NOT_FOUND, or ERR_USAGE if several match. */
int ledger_find_attached(struct store *s, const char *name,
			 void (*found)(void *arg,
				       const struct ledger_attached *row),
			 void *arg, struct error *err);

/*
 * Snapshots that dcode makes after a setup script ([sandboxes] cache_setup).
 * As with sandboxes, the row is written before each request:
 * LEDGER_SNAPSHOT_INTENT, is the name free?, LEDGER_SNAPSHOT_MAKING, make it,
 * LEDGER_SNAPSHOT_READY; then LEDGER_SNAPSHOT_REMOVING, delete it, no row. A
 * row has an owner while a process makes or deletes the snapshot.
 */
enum ledger_snapshot_state {
	LEDGER_SNAPSHOT_INTENT = 1, /* nothing was requested yet */
	LEDGER_SNAPSHOT_MAKING,     /* may exist, perhaps incomplete */
	LEDGER_SNAPSHOT_READY,      /* complete; its id is known */
	LEDGER_SNAPSHOT_REMOVING,   /* deletion was requested */
};
struct ledger_snapshot {  /* strings borrowed for the callback */
	const char *name; /* unique; see ledger_setup_key() */
	const char *provider, *endpoint;
	enum ledger_snapshot_state state;
	const char *id; /* the provider's id, with LEDGER_SNAPSHOT_READY */
	const char
		*dir; /* where tools start, if the script changed it; or "" */
	int64_t created, used; /* Unix seconds */
	int64_t pid;           /* of its owner; 0: none */
	bool owned_by_live;    /* the owner is still running */
	bool expired; /* made more than LEDGER_SNAPSHOT_S ago: do not use it */
};
enum {
	LEDGER_SNAPSHOT_S = 7 * 86400,
	LEDGER_SETUP_KEY = 32, /* bytes */
};
/* Reads this installation's key for the names of such snapshots, which the
 * first call makes. */
int ledger_setup_key(struct store *s, unsigned char key[LEDGER_SETUP_KEY],
		     struct error *err);
/* Adds a row with LEDGER_SNAPSHOT_INTENT that this process owns. ERR_BUSY: the
 * name has a row. */
int ledger_snapshot_intend(struct store *s, const char *name,
			   const char *provider, const char *endpoint,
			   struct error *err);
/* Sets the state and makes this process the owner. as_read: the row as
 * ledger_snapshot_each() gave it. ERR_BUSY: another process has changed it, or
 * its owner is another process that runs. */
int ledger_snapshot_claim(struct store *s,
			  const struct ledger_snapshot *as_read,
			  enum ledger_snapshot_state state, struct error *err);
/* Sets LEDGER_SNAPSHOT_READY, id and dir (may be NULL). It has no owner then.
 */
int ledger_snapshot_ready(struct store *s, const char *name, const char *id,
			  const char *dir, struct error *err);
/* Gives up the ownership: gc continues. */
int ledger_snapshot_release(struct store *s, const char *name,
			    struct error *err);
int ledger_snapshot_used(struct store *s, const char *name, struct error *err);
int ledger_snapshot_drop(struct store *s, const char *name, struct error *err);
/* Calls each for every row, last used first, until it returns false. each must
 * not use the ledger. */
int ledger_snapshot_each(struct store *s,
			 bool (*each)(void *arg,
				      const struct ledger_snapshot *row),
			 void *arg, struct error *err);

#endif

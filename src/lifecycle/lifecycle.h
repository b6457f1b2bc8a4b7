/* lifecycle.h - a sandbox from intent to confirmed end, whatever fails. */
/* SPDX-License-Identifier: MIT */
#ifndef LIFECYCLE_LIFECYCLE_H
#define LIFECYCLE_LIFECYCLE_H

#include "base/mask/mask.h"
#include "sandbox/sandbox.h"
#include "sandbox/setup/setup.h"
#include "session/ledger.h"

enum {
	LIFECYCLE_CLEANUP_MS = 10000, /* time limit of a deletion */
	/* time limit of saving work before a deletion */
	LIFECYCLE_SAVE_MS = 30000,
	LIFECYCLE_SETUP_MS = 60 * 60000, /* time limit of a setup script */
	/* time limit of stopping a kept sandbox */
	LIFECYCLE_STOP_MS = 60000,
	LIFECYCLE_KEEP_S = 7 * 86400, /* default time to keep a sandbox */
	/* A running sandbox costs money: do not request more than this time. */
	LIFECYCLE_KEEP_RUNNING_S = 86400,
};

/* what lifecycle_close() does with a sandbox that lifecycle_open() created or
 * took over */
enum lifecycle_exit {
	LIFECYCLE_DELETE = 0,
	LIFECYCLE_STOP, /* stop it, keep its files */
	LIFECYCLE_KEEP, /* keep it running if possible */
};

/* Each callback may be NULL. All but changed are called on the calling
 * thread. */
struct lifecycle_ui {
	/* A line of progress, such as "Starting Docker sandbox...". Secrets are
	 * not masked and control characters not removed. */
	void (*progress)(void *arg, const char *line);
	void (*warn)(void *arg, const char *line);
	/* The setup script's output as it arrives, masked and sanitised. NULL:
	 * if the script fails, the end of its output is part of the
	 * progress. */
	void (*output)(void *arg, enum exec_stream stream, struct str chunk);
	/* Shows a sentence and asks whether to continue: 1 yes, 0 no, -1 with
	 * err. NULL: the user cannot be asked. */
	int (*confirm)(void *arg, const char *sentence, struct error *err);
	/* Called on any thread when the known state of the sandbox changes. */
	void (*changed)(void *arg, enum sandbox_state state);
	void *arg;
};

struct lifecycle_request { /* all borrowed, until lifecycle_close() */
	struct sandbox_client *client;
	/* not used, and may be NULL, with SANDBOX_UNISOLATED */
	struct store *store;
	/* the values that the setup script gets are added to it */
	struct mask *mask;
	/* --sandbox-id: sandbox to attach to; NULL: create one */
	const char *attach_id;
	const char *snapshot; /* --sandbox-snapshot-name, or NULL */
	const char *setup;    /* --sandbox-setup: a local path, or NULL */
	/* Start from a snapshot that an earlier run of the same script left, or
	 * make one. The script then runs before fill. */
	bool cache_setup;
	/* Called after all checks that do not need the provider. May be
	 * NULL. */
	void (*begins)(void *arg);
	void *begins_arg;
	/* Called when the sandbox exists, before the setup script. -1 aborts
	 * the opening, like a failing script. May be NULL. */
	int (*fill)(void *arg, struct sandbox *sb, const struct stop *stop,
		    struct error *err);
	void *fill_arg;
	/* Called before the sandbox is deleted, with its own limit of
	 * LIFECYCLE_SAVE_MS. The deletion follows in any case. May be NULL. */
	void (*before_remove)(void *arg, struct sandbox *sb,
			      const struct stop *stop);
	void *before_remove_arg;
	/* --trust-project: do not ask before the setup script runs in an
	 * account whose key the project chose */
	bool trust_project;
	/* what the command line asks for: see network_choose(); or NULL */
	const struct network *network;
	int64_t lifetime_s; /* 0: the provider's default */
	/* Label of the thread's own sandbox, which is taken over instead of
	 * creating one, and started if it was stopped. NULL: create. */
	const char *resume;
	/* ledger_row.scope of a sandbox that is created, unless a running dcode
	 * has one with this scope: see managed_sandbox.shared. NULL: none. */
	const char *scope;
	/* May be changed until lifecycle_close(). */
	enum lifecycle_exit on_exit;
	/* If stop's cancel interrupts lifecycle_open(), it returns at once, and
	 * a thread deletes what was created. That thread uses client, store and
	 * ui until lifecycle_close() or lifecycle_await_ending() has returned.
	 * lifecycle_close() must be called then. */
	bool cancels_at_once;
	/* id of the thread to which the sandbox belongs, or NULL */
	const char *thread;
	int64_t keep_s; /* seconds to keep it; 0: the default */
	struct lifecycle_ui ui;
};

struct lifecycle_keepalive;
struct lifecycle_ending;
struct managed_sandbox { /* initialise with { 0 } */
	struct sandbox sandbox;
	char label[16]; /* its label in the ledger; "" if attached by id */
	bool ours;      /* lifecycle_close() deletes, stops or keeps it */
	bool resumed;   /* taken over: a failure never deletes it */
	bool shared;    /* it was created with request.scope */
	/* If resumed is set: the values of the ledger row before this process
	 * took the sandbox over. */
	bool was_kept;
	enum ledger_state before;
	struct lifecycle_request request;
	bool none_made; /* after a failed opening: nothing was created */
	/* seconds: lifetime to request while the sandbox is in use */
	int64_t lifetime_s;
	struct lifecycle_keepalive *keepalive; /* owned, or NULL */
	/* After an interrupted opening: what was created is being deleted, and
	 * the other fields belong to that thread. Owned, or NULL. */
	struct lifecycle_ending *ending;
};

/*
 * Reads the setup script, creates the sandbox or attaches to it, fills it and
 * runs the script. On -1 everything that was created has been deleted, within
 * a time limit that stop does not shorten, or is left in the ledger for gc with
 * a warning. Then box need not be closed, although that is allowed (exception:
 * request.cancels_at_once). A missing script is ERR_NOT_FOUND before anything
 * is created. A failing one is ERR_REMOTE "Setup failed - aborting" after its
 * progress line. With resume: ERR_GONE if that sandbox no longer exists, which
 * the ledger then records; ERR_BUSY if a running dcode uses it; after any
 * failure it is in its previous state.
 *
 * Until lifecycle_close() a thread extends the sandbox's lifetime regularly, so
 * that it survives a long answer of the model and a pause of the user: box must
 * not be moved in memory.
 */
int lifecycle_open(struct managed_sandbox *box,
		   const struct lifecycle_request *request,
		   const struct stop *stop, struct error *err);
/*
 * Deletes, stops or keeps the sandbox that lifecycle_open() created, as on_exit
 * says, and frees the rest. Takes at most LIFECYCLE_CLEANUP_MS, or
 * LIFECYCLE_STOP_MS if it stops one. A kept sandbox and its end are in the
 * ledger before this process gives it up, and printed in the last lines. -1: it
 * is left for gc or still running, and a warning was printed. Calling it twice,
 * or with a zeroed box, does nothing.
 */
int lifecycle_close(struct managed_sandbox *box, struct error *err);

/* Waits until what an interrupted lifecycle_open() created is deleted or left
 * to gc: at most LIFECYCLE_CLEANUP_MS and some seconds. -1 only when stop ended
 * the wait; 0 at once if nothing is being deleted. */
int lifecycle_await_ending(const struct managed_sandbox *box,
			   const struct stop *stop, struct error *err);

/* Call after an attach: makes tools start in the directory in which the
 * sandbox's setup script ended. store may be NULL. */
void lifecycle_restore_start(struct sandbox *sb, struct store *store);
/* Deletes a sandbox by its id, confirms that, and updates its ledger row (label
 * NULL: it has none). If the provider does not know the id, searches for the
 * label. */
int lifecycle_remove(struct sandbox_client *client, struct store *store,
		     const char *id, const char *label, const struct stop *stop,
		     struct error *err);
struct lifecycle_stopping {
	const char *id;
	const char *label; /* of its row in the ledger; NULL: it has none */
	/* to be stored in the row; NULL: leave it unchanged */
	const char *thread;
	int64_t keep_s; /* seconds to keep it; 0: the default */
	/* Output: */
	int64_t ends;     /* Unix seconds until which it is kept */
	bool vendor_ends; /* the vendor deletes it at that time; else gc does */
};
/* Stops the sandbox, keeps its files, and marks its row as kept. ERR_GONE, also
 * recorded in its row, if it does not exist or its files are lost. */
int lifecycle_stop(struct sandbox_client *client, struct store *store,
		   struct lifecycle_stopping *s, const struct stop *stop,
		   struct error *err);
/* Call before attaching by id, which starts a stopped sandbox: a row with state
 * stopped is set to running. It stays kept. */
void lifecycle_mark_started(const struct sandbox_client *client,
			    struct store *store, const char *id);
/* Returns the client's engine or account as stored in the ledger. */
const char *lifecycle_endpoint(const struct sandbox_client *client);

enum {
	LIFECYCLE_SNAPSHOTS = 5, /* of setup scripts, for each provider */
	LIFECYCLE_SNAPSHOT_NAME = 48,
};

/* All that follows up to gc is for src/lifecycle only. */

/* Formats a line of any length for lifecycle_ui.progress, or warn. */
__attribute__((format(printf, 3, 4))) void
lifecycle_tell(const struct managed_sandbox *box, bool warns, const char *fmt,
	       ...);
#define lifecycle_say(box, ...) lifecycle_tell(box, false, __VA_ARGS__)
#define lifecycle_warn(box, ...) lifecycle_tell(box, true, __VA_ARGS__)

struct lifecycle_setup { /* a setup script during lifecycle_open() */
	struct setup_script script;
	/* the snapshot to use or to make; "": neither */
	char name[LIFECYCLE_SNAPSHOT_NAME];
	bool cached; /* it exists, so the script need not run */
	char *dir;   /* owned; where tools start then; NULL or "": unchanged */
};
/* Reads the script of request.setup into *setup, whose script is initialised,
 * and names its snapshot. */
int lifecycle_setup_read(struct managed_sandbox *box,
			 struct lifecycle_setup *setup, struct error *err);
/* Sets setup->cached if the vendor has the snapshot that dcode made. Deletes an
 * incomplete or old one. A failure means that none is used or made. */
void lifecycle_setup_find(const struct managed_sandbox *box,
			  struct lifecycle_setup *setup,
			  const struct stop *stop);
/* Runs the script in the sandbox and saves the snapshot; with setup->cached
 * only sets the directory where tools start. */
int lifecycle_setup_run(struct managed_sandbox *box,
			const struct lifecycle_setup *setup,
			const struct stop *stop, struct error *err);
/* Deletes the snapshot of this row, and the row. ERR_BUSY: a running dcode
 * makes it, or a sandbox needs it. */
int lifecycle_snapshot_remove(struct sandbox_client *client,
			      struct store *store, const char *name,
			      const struct stop *stop, struct error *err);

/* True if a request may have been carried out although no answer arrived. */
bool lifecycle_was_cut(const struct error *err);
/* After a create that returned no id: deletes a sandbox with this label, and
 * closes the row if there certainly is none. why: the create's error. -1: the
 * row stays for gc. */
int lifecycle_remove_unnamed(struct sandbox_client *client, struct store *store,
			     const char *label, const struct error *why,
			     const struct stop *stop, struct error *err);
/* Starts a thread that extends the sandbox's lifetime every third of
 * lifetime_s, if the provider supports that, until
 * lifecycle_keepalive_stop(). */
void lifecycle_keepalive_start(struct managed_sandbox *box, int64_t lifetime_s);
void lifecycle_keepalive_stop(struct managed_sandbox *box);

enum gc_outcome {
	GC_REMOVED = 1, /* deleted and confirmed */
	GC_WOULD,       /* dry run: it would be deleted */
	GC_ABSENT,      /* does not exist: its row was closed */
	GC_LEFT,        /* not deleted: see reason */
};
struct gc_item { /* borrowed for the call */
	const char *provider, *label, *id;
	enum gc_outcome outcome;
	const char *reason; /* or "" */
};
struct gc_request {
	struct store *store;
	const char *provider; /* only this one, or NULL: all */
	/* delete every setup's snapshot, not only old ones */
	bool all_snapshots;
	/* All providers, NULL-terminated. */
	const struct sandbox_provider *const *providers;
	bool dry_run;
	/* Opens a provider's client, or returns -1. lifecycle_gc() closes
	 * it. */
	int (*client)(void *arg, const char *provider,
		      struct sandbox_client *client, struct error *err);
	/* Called before each deletion: see lifecycle_request. May be NULL. */
	void (*before_remove)(void *arg, struct sandbox_client *client,
			      const struct gc_item *item);
	void (*each)(void *arg, const struct gc_item *item);
	void *arg;
};
/*
 * Deletes what dead processes of this installation left: by the ledger's id, by
 * label if the id is unknown, and sandboxes that the provider lists under this
 * installation's owner id, unless they have a row with a running owner. A kept
 * sandbox is deleted only after its end. Also deletes snapshots of setup
 * scripts that are incomplete, old or too many. *left is the number of GC_LEFT
 * items. -1 only if the ledger cannot be read or stop ended it.
 */
int lifecycle_gc(const struct gc_request *request, size_t *left,
		 const struct stop *stop, struct error *err);

#endif

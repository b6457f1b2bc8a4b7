/* lifecycle.h - a sandbox from intent to confirmed end, whatever happens. */
/* SPDX-License-Identifier: MIT */
#ifndef LIFECYCLE_LIFECYCLE_H
#define LIFECYCLE_LIFECYCLE_H

#include "base/mask/mask.h"
#include "sandbox/sandbox.h"
#include "session/ledger.h"

enum {
	LIFECYCLE_CLEANUP_MS = 10000,    /* to delete, once work has ended */
	LIFECYCLE_SAVE_MS = 30000,       /* to save work before that */
	LIFECYCLE_SETUP_MS = 60 * 60000, /* longest setup script */
	LIFECYCLE_STOP_MS = 60000,       /* to stop one that is kept */
	LIFECYCLE_KEEP_S = 7 * 86400,    /* unless the user said how long */
	/* A running one costs money: no more than this is asked for. */
	LIFECYCLE_KEEP_RUNNING_S = 86400,
};

enum lifecycle_exit { /* what lifecycle_close() does with one of ours */
		      LIFECYCLE_DELETE = 0,
		      LIFECYCLE_STOP, /* its files stay */
		      LIFECYCLE_KEEP, /* it goes on running where it can */
};

struct lifecycle_ui { /* on the calling thread; each may be NULL */
	/* A whole line of progress, masked, not cleaned of controls:
	 * "Starting Docker sandbox...". */
	void (*progress)(void *arg, const char *line);
	void (*warn)(void *arg, const char *line);
	/* The setup script's output as it arrives, masked and clean. NULL: the
	 * last of it is part of the progress lines when the script fails. */
	void (*output)(void *arg, enum exec_stream stream, struct str chunk);
	/* Shows a sentence and asks whether to go on: 1 yes, 0 no, -1 with err.
	 * NULL: nobody can be asked. */
	int (*confirm)(void *arg, const char *sentence, struct error *err);
	/* Any thread: what is known of the sandbox's state has changed. */
	void (*changed)(void *arg, enum sandbox_state state);
	void *arg;
};

struct lifecycle_request { /* all borrowed, until lifecycle_close() */
	struct sandbox_client *client;
	struct store *store; /* not used with SANDBOX_UNISOLATED: may be NULL */
	struct mask *mask;   /* gets the values that setup received */
	const char *attach_id; /* --sandbox-id, or NULL: create */
	const char *snapshot;  /* --sandbox-snapshot-name, or NULL */
	const char *setup;     /* --sandbox-setup: a local path, or NULL */
	/* Called when everything that can be checked without the provider has
	 * been checked. May be NULL. */
	void (*begins)(void *arg);
	void *begins_arg;
	/* Called when the sandbox is there, before the setup script: -1 ends
	 * the opening, as a script that fails does. May be NULL. */
	int (*fill)(void *arg, struct sandbox *sb, const struct stop *stop,
		    struct error *err);
	void *fill_arg;
	/* Called before the sandbox is deleted, with LIFECYCLE_SAVE_MS of its
	 * own: whatever comes of it, the deletion follows. May be NULL. */
	void (*before_remove)(void *arg, struct sandbox *sb,
			      const struct stop *stop);
	void *before_remove_arg;
	bool trust_project; /* --trust-project: no question about its key */
	enum sandbox_network network;
	int64_t lifetime_s; /* 0: the provider's default */
	/* The label of a thread's own sandbox: it is taken over instead of a
	 * new one, started when it was stopped. NULL: create. */
	const char *resume;
	/* May change until lifecycle_close(). */
	enum lifecycle_exit on_exit;
	/* A lifecycle_open() that stop's cancel ends returns at once: what it
	 * made is deleted on a thread, with client, store and ui in use until
	 * lifecycle_close(), which must follow then, or until
	 * lifecycle_await_ending(). */
	bool cancels_at_once;
	const char *thread; /* whose sandbox it is, or NULL */
	int64_t keep_s;     /* how long it is kept; 0: the default */
	struct lifecycle_ui ui;
};

struct lifecycle_keepalive;
struct lifecycle_ending;
struct managed_sandbox { /* start from { 0 } */
	struct sandbox sandbox;
	char label[16]; /* in the ledger; "" when not ours */
	bool ours;      /* lifecycle_close() deletes or keeps it */
	bool resumed;   /* it was taken over: a failure never deletes it */
	/* With resumed: its row until then. */
	bool was_kept;
	enum ledger_state before;
	struct lifecycle_request request;
	bool none_made;     /* after a failed opening: there never was one */
	int64_t lifetime_s; /* that the vendor is asked for while it is used */
	struct lifecycle_keepalive *keepalive; /* owned, or NULL */
	/* enum sandbox_state, as far as it was asked for between commands; any
	 * thread. */
	_Atomic int seen;
	/* What an interrupted opening made is being deleted: all else here is
	 * its thread's. Owned, or NULL. */
	struct lifecycle_ending *ending;
};

/*
 * Reads the setup script, creates (or attaches to) the sandbox, fills it and
 * runs the script. On -1 everything that was created has been deleted again,
 * under a deadline of its own that stop does not shorten, or stays in the
 * ledger for gc with a warning; box needs no close, though it does no harm (but
 * see request.cancels_at_once). A
 * missing script is ERR_NOT_FOUND before anything is created; a failing one is
 * ERR_REMOTE "Setup failed - aborting" after its progress line.
 * With resume: ERR_GONE when that sandbox has ended, which the ledger knows
 * then; ERR_BUSY when a living dcode uses it; after any failure it is what it
 * was before.
 *
 * Until lifecycle_close() a thread extends the sandbox's life now and then, so
 * that neither a long answer of the model nor a user who thinks ends it: box
 * must stay where it is.
 */
int lifecycle_open(struct managed_sandbox *box,
		   const struct lifecycle_request *request,
		   const struct stop *stop, struct error *err);
/*
 * Deletes what lifecycle_open() created, or keeps it, as on_exit says, and
 * frees the rest; never longer than LIFECYCLE_CLEANUP_MS, LIFECYCLE_STOP_MS
 * where it stops one. What is kept is in the ledger before it is left, with
 * its end, and said in the last lines. -1: it is left for gc, or runs on, said
 * by a warning already. Calling it twice, or on a zeroed box, does nothing.
 */
int lifecycle_close(struct managed_sandbox *box, struct error *err);

/* Until what an interrupted lifecycle_open() has made is deleted, or left to
 * gc: LIFECYCLE_CLEANUP_MS and some seconds at most. -1 only when stop ended
 * the wait; 0 at once where nothing is being deleted. */
int lifecycle_await_ending(const struct managed_sandbox *box,
			   const struct stop *stop, struct error *err);

/* After an attach: tools begin where its setup script ended. store: or NULL. */
void lifecycle_restore_start(struct sandbox *sb, struct store *store);
/* Deletes by id, confirmed, with its ledger row (by label, NULL: none). An id
 * that the provider does not know is looked for by label. */
int lifecycle_remove(struct sandbox_client *client, struct store *store,
		     const char *id, const char *label, const struct stop *stop,
		     struct error *err);
struct lifecycle_stopping {
	const char *id;
	const char *label;  /* its row, or NULL: it has none */
	const char *thread; /* or NULL: as it was */
	int64_t keep_s;     /* how long it is kept; 0: the default */
	/* Set by the call. */
	int64_t ends;     /* Unix seconds: until when it is kept */
	bool vendor_ends; /* its vendor deletes it then; else gc does */
};
/* Stops it so that its files stay, with its row kept. ERR_GONE when there is
 * none, or nothing of it is left; its row says so then. */
int lifecycle_stop(struct sandbox_client *client, struct store *store,
		   struct lifecycle_stopping *s, const struct stop *stop,
		   struct error *err);
/* Before one is attached to by its id, which starts it: a row that has it as
 * stopped says that it runs. It stays kept. */
void lifecycle_mark_started(const struct sandbox_client *client,
			    struct store *store, const char *id);
/* Which engine or account a client talks to, as the ledger stores it. */
const char *lifecycle_endpoint(const struct sandbox_client *client);

/* For lifecycle.c itself. */
/* True when a request may have been carried out although no answer came. */
bool lifecycle_was_cut(const struct error *err);
/* After a create that returned no id: deletes what has our label, and closes
 * the row where there is certainly nothing. why: the create's error. -1: the
 * row stays for gc. */
int lifecycle_remove_unnamed(struct sandbox_client *client, struct store *store,
			     const char *label, const struct error *why,
			     const struct stop *stop, struct error *err);
/* A thread extends the sandbox's life every third of lifetime_s, where the
 * provider can, until lifecycle_keepalive_stop(). */
void lifecycle_keepalive_start(struct managed_sandbox *box, int64_t lifetime_s);
void lifecycle_keepalive_stop(struct managed_sandbox *box);

enum gc_outcome {
	GC_REMOVED = 1, /* deleted, confirmed */
	GC_WOULD,       /* dry run: it would be deleted */
	GC_ABSENT,      /* the provider does not have it: row closed */
	GC_LEFT,        /* could not be deleted: see reason */
};
struct gc_item { /* borrowed for the call */
	const char *provider, *label, *id;
	enum gc_outcome outcome;
	const char *reason; /* or "" */
};
struct gc_request {
	struct store *store;
	const char *provider; /* only this one, or NULL: all */
	/* All that there are; NULL ends them. */
	const struct sandbox_provider *const *providers;
	bool dry_run;
	/* Opens a provider, or -1. The client is closed by lifecycle_gc(). */
	int (*client)(void *arg, const char *provider,
		      struct sandbox_client *client, struct error *err);
	/* Called before each deletion: see lifecycle_request. May be NULL. */
	void (*before_remove)(void *arg, struct sandbox_client *client,
			      const struct gc_item *item);
	void (*each)(void *arg, const struct gc_item *item);
	void *arg;
};
/*
 * Deletes what dead processes of this installation left: by the ledger's id,
 * by label where no id is known, and what the provider lists under our owner
 * id without a living row; nothing that is kept and within its time. *left
 * counts the GC_LEFT ones. -1 only when the ledger cannot be read or stop ended
 * it.
 */
int lifecycle_gc(const struct gc_request *request, size_t *left,
		 const struct stop *stop, struct error *err);

#endif

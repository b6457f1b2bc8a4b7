/* ledger.h - every sandbox from intent to confirmed deletion. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_LEDGER_H
#define SESSION_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct store; /* session/session.h */

enum ledger_state {
	LEDGER_INTENT = 1, /* create was, or will be, asked for */
	LEDGER_LIVE,       /* id known */
	LEDGER_REMOVING,   /* deletion asked for, not confirmed */
	LEDGER_GONE,       /* the provider confirmed its end */
	LEDGER_STOPPING,   /* its stop was asked for, not confirmed */
	LEDGER_STOPPED,    /* kept without running */
};
/* "creating", "live", "removing", "gone", "stopping", "stopped". Static. */
const char *ledger_state_name(enum ledger_state state);
struct ledger_row {           /* strings borrowed for the callback */
	const char *label;    /* "dcode-abcd2345"; its last 8 characters are
				 the short name */
	const char *provider; /* "docker" */
	const char *id;       /* "" until known */
	const char *endpoint; /* which engine or account, "" when there is one
				 only: DOCKER_HOST's value */
	enum ledger_state state;
	int64_t created, ends; /* Unix seconds */
	int64_t pid;           /* of the dcode that owns it; 0: nobody does */
	bool owned_by_live;    /* that process still runs (pid, start time and
				  boot id compared) */
	bool kept;             /* the user wanted it to outlive its dcode */
	bool held;             /* kept, and its end has not come: only he
				  deletes it */
	const char *thread;    /* whose sandbox it is, or "" */
	const char *note;      /* why it was left, or "" */
};

/* Every change is on disk (fsync) on return. */
int ledger_intend(struct store *s, const char *provider, const char *endpoint,
		  int64_t lifetime_s, char label[16], struct error *err);
int ledger_created(struct store *s, const char *label, const char *id,
		   struct error *err);
int ledger_removing(struct store *s, const char *label, struct error *err);
int ledger_gone(struct store *s, const char *label, struct error *err);
/* Where the tools of this sandbox begin, whoever made it, if its setup script
 * ended elsewhere: forgotten once it is gone. dir: owned; NULL: not known. */
int ledger_set_start_dir(struct store *s, const char *provider, const char *id,
			 const char *dir, struct error *err);
int ledger_start_dir(struct store *s, const char *provider, const char *id,
		     char **dir, struct error *err);
int ledger_note(struct store *s, const char *label, const char *note,
		struct error *err);

/*
 * A sandbox that stays when its dcode ends, until ends (above 0). First the
 * intent, state LEDGER_LIVE or LEDGER_STOPPING, while this process owns it;
 * from then on it is held. Then what came of it, LEDGER_LIVE, LEDGER_STOPPING
 * or LEDGER_STOPPED: with that nobody owns it. thread: or NULL, as before.
 */
int ledger_keep(struct store *s, const char *label, enum ledger_state state,
		int64_t ends, const char *thread, struct error *err);
int ledger_kept(struct store *s, const char *label, enum ledger_state state,
		int64_t ends, struct error *err);
/* What it costs while it is kept running: trillionths of a US dollar a second,
 * -1: not known. Whatever takes it over, stops or removes it then adds the time
 * since, until its end at the longest, to what its thread has cost (records.h);
 * one that is stopped costs nothing. */
int ledger_price(struct store *s, const char *label, int64_t usd_s,
		 struct error *err);
/*
 * This process takes over a sandbox that no living one owns, as LEDGER_LIVE;
 * *before is its state until now. ends: the earliest one that it may have.
 * ERR_BUSY: a living dcode owns it. ERR_GONE: it has been deleted, or is being
 * deleted, or its id is not known.
 */
int ledger_claim(struct store *s, const char *label, int64_t ends,
		 enum ledger_state *before, struct error *err);
enum ledger_spared {                    /* which a removal leaves alone */
		     LEDGER_SPARE_NONE, /* the user said --force */
		     LEDGER_SPARE_USED, /* those that a living dcode owns */
		     LEDGER_SPARE_HELD, /* those, and what is held */
};
/*
 * Makes it LEDGER_REMOVING before anything is done to it: from then on nobody
 * can take it over. ERR_BUSY: it is spared, or another dcode has changed its
 * row meanwhile; the row is as it was.
 */
int ledger_claim_removal(struct store *s, const char *label,
			 enum ledger_spared spared, struct error *err);
/* Newest first; all: also those that are gone. each returns false to stop. */
int ledger_each(struct store *s, bool all,
		bool (*each)(void *arg, const struct ledger_row *row),
		void *arg, struct error *err);
/* By label, short name, id or an unambiguous prefix (4 characters at least)
 * of an id. ERR_NOT_FOUND, or ERR_USAGE when several match. */
int ledger_find(struct store *s, const char *name,
		bool (*each)(void *arg, const struct ledger_row *row),
		void *arg, struct error *err);

/* This process uses a sandbox that it did not make; name is what the user
 * called it. */
int ledger_attached(struct store *s, const char *provider, const char *endpoint,
		    const char *id, const char *name, struct error *err);
struct ledger_attached { /* strings borrowed for the callback */
	const char *provider, *id, *endpoint;
	int64_t user; /* pid of another living dcode that uses it, or 0 */
};
/* By id, name or an unambiguous prefix of an id. ERR_NOT_FOUND, or ERR_USAGE
 * when several match. */
int ledger_find_attached(struct store *s, const char *name,
			 void (*found)(void *arg,
				       const struct ledger_attached *row),
			 void *arg, struct error *err);

#endif

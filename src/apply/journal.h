/* journal.h - writes to the user's tree that a crash cannot leave half done. */
/* SPDX-License-Identifier: MIT */
#ifndef APPLY_JOURNAL_H
#define APPLY_JOURNAL_H

#include "apply/plan.h"
#include "base/stop.h"

/*
 * STORE/journal/ is there while an apply writes: plan, before/ID, after/ID,
 * index.before, index.after. A dcode that finds it there takes back what was
 * written, or, with the file "done" in it, finishes what is left to record. A
 * finished apply is kept as STORE/applied/N for undo, the last
 * JOURNAL_RECORDS of them.
 */
enum { JOURNAL_RECORDS = 10 };

struct journal_hooks {
	void *arg;
	/* One line for the user, without end. */
	void (*line)(void *arg, const char *text);
	/* Records p->base_after as the base of p->label; repeated after a
	 * crash. */
	int (*set_base)(void *arg, const struct apply_plan *p,
			struct error *err);
};

struct journal { /* start from { .lock = -1, .root = -1 } */
	char *store;
	char *dir; /* STORE/journal.new, then STORE/journal; or NULL */
	bool sealed;
	int lock, root;
	struct apply_plan plan;
	struct journal_hooks hooks; /* borrowed */
};

/* Locks the journal of a tree and finishes or takes back what a crash left.
 * journal_close() in any case. */
int journal_open(struct journal *j, const char *store, const char *root,
		 const struct journal_hooks *hooks, const struct stop *stop,
		 struct error *err);
/* Begins a new one: its directory, plan.root and plan.token. */
int journal_begin(struct journal *j, struct error *err);
/* "DIR/before/3"; owned. */
char *journal_file(const struct journal *j, const char *side, unsigned id);
/* The plan is complete and its files are there: puts all on the disk. From
 * now on it is taken back after a crash. */
int journal_seal(struct journal *j, struct error *err);
/* Carries it out; taken back again when anything is not as planned. */
int journal_write(struct journal *j, struct error *err);
/* With plan.index, once sealed: no git may write the index meanwhile. */
int journal_lock_index(struct journal *j, struct error *err);
/* Puts DIR/index.after in the place of the user's index, if that is still as
 * it was when the journal was sealed. */
int journal_write_index(struct journal *j, struct error *err);
/* Done: the base, and the record for undo. Taken back when that cannot be
 * remembered; -1 with all written when only the base or the record is left. */
int journal_finish(struct journal *j, struct error *err);
/* Takes back what was written, if anything was. */
int journal_abandon(struct journal *j, struct error *err);
/* The same after err, which then says what became of it. Returns -1. */
int journal_fail(struct journal *j, struct error *err);
void journal_close(struct journal *j);

/* The last apply that has not been taken back: its plan, and its directory
 * (owned). ERR_NOT_FOUND. */
int journal_last(const struct journal *j, struct apply_plan *p, char **dir,
		 struct error *err);

#endif

/* journal.h - writes to the user's tree that survive a crash. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_JOURNAL_H
#define WORKTREE_JOURNAL_H

#include "base/stop.h"
#include "worktree/plan.h"

/*
 * STORE/journal/ exists while an apply writes: plan, before/ID, after/ID,
 * index.before, index.after. A dcode that finds it undoes what was written or,
 * if it contains the file "done", completes the remaining steps. The last
 * JOURNAL_RECORDS applies are kept in STORE/applied/N for undo.
 */
enum { JOURNAL_RECORDS = 10 };

struct journal_hooks {
	void *arg;
	/* Shows one line to the user; text has no newline. */
	void (*line)(void *arg, const char *text);
	/* Makes p->base_after the base of p->label. May be called again after a
	 * crash. */
	int (*set_base)(void *arg, const struct apply_plan *p,
			struct error *err);
};

struct journal { /* initialise with { .lock = -1, .root = -1 } */
	char *store;
	char *dir; /* STORE/journal.new, then STORE/journal; or NULL */
	bool sealed;
	int lock, root;
	struct apply_plan plan;
	struct journal_hooks hooks; /* borrowed */
};

/* Locks the journal of a tree, and completes or undoes an apply after a crash.
 * Call journal_close() in any case. */
int journal_open(struct journal *j, const char *store, const char *root,
		 const struct journal_hooks *hooks, const struct stop *stop,
		 struct error *err);
/* Begins a new journal: its directory, plan.root and plan.token. */
int journal_begin(struct journal *j, struct error *err);
/* Returns "DIR/before/3"; owned. */
char *journal_file(const struct journal *j, const char *side, unsigned id);
/* Call when the plan is complete and its files exist: syncs everything to disk
 * and locks plan.index, so that no git writes it. If dcode crashes from now on,
 * the apply is undone. */
int journal_seal(struct journal *j, struct error *err);
/* Carries out the plan. On -1 all of it has been undone. */
int journal_write(struct journal *j, struct error *err);
/* Replaces the user's index by DIR/index.after, if it has not changed since
 * journal_seal(). */
int journal_write_index(struct journal *j, struct error *err);
/* Marks the apply as done, then updates the base and stores the record for
 * undo. If the mark cannot be written, everything is undone. If only the base
 * or record fails, it returns -1 and the files stay written. */
int journal_finish(struct journal *j, struct error *err);
/* Undoes what was written, if anything. */
int journal_abandon(struct journal *j, struct error *err);
/* Like journal_abandon(); adds to err whether that worked. Returns -1. */
int journal_fail(struct journal *j, struct error *err);
void journal_close(struct journal *j);

/* Returns the last apply that is not undone: its plan, and its directory
 * (owned). ERR_NOT_FOUND if there is none. */
int journal_last(const struct journal *j, struct apply_plan *p, char **dir,
		 struct error *err);

#endif

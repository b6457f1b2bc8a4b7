/* journal.h - writes to the user's tree that a crash cannot leave half done. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_JOURNAL_H
#define WORKTREE_JOURNAL_H

#include "base/stop.h"
#include "worktree/plan.h"

/*
 * STORE/journal/ is there while an apply writes: plan, before/ID, after/ID,
 * index.before, index.after. A dcode that finds it undoes what was written, or,
 * with the file "done" in it, finishes what is left to record. The last
 * JOURNAL_RECORDS applies are kept as STORE/applied/N for undo.
 */
enum { JOURNAL_RECORDS = 10 };

struct journal_hooks {
	void *arg;
	/* One line for the user, without end. */
	void (*line)(void *arg, const char *text);
	/* Makes p->base_after the base of p->label; called again after a
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

/* Locks the journal of a tree, and finishes or undoes what a crash left.
 * Call journal_close() in any case. */
int journal_open(struct journal *j, const char *store, const char *root,
		 const struct journal_hooks *hooks, const struct stop *stop,
		 struct error *err);
/* Begins a new one: its directory, plan.root and plan.token. */
int journal_begin(struct journal *j, struct error *err);
/* "DIR/before/3"; owned. */
char *journal_file(const struct journal *j, const char *side, unsigned id);
/* The plan is complete and its files are there: puts all on the disk, and locks
 * plan.index, so that no git writes it meanwhile. From now on a crash is
 * undone. */
int journal_seal(struct journal *j, struct error *err);
/* Carries the plan out. On -1 all of it is undone again. */
int journal_write(struct journal *j, struct error *err);
/* Replaces the user's index by DIR/index.after, if it has not changed since the
 * journal was sealed. */
int journal_write_index(struct journal *j, struct error *err);
/* Marks the apply as done, then moves the base and keeps the record for undo.
 * Without the mark all is undone; -1 with all written if only the base or the
 * record is missing. */
int journal_finish(struct journal *j, struct error *err);
/* Undoes what was written, if anything was. */
int journal_abandon(struct journal *j, struct error *err);
/* The same after err, which then also says whether that worked. Returns -1. */
int journal_fail(struct journal *j, struct error *err);
void journal_close(struct journal *j);

/* The last apply that is not undone: its plan, and its directory (owned).
 * ERR_NOT_FOUND if there is none. */
int journal_last(const struct journal *j, struct apply_plan *p, char **dir,
		 struct error *err);

#endif

/* move.h - takes a thread's work along to another sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_MOVE_H
#define CMD_SESSION_MOVE_H

#include "cmd/app.h"
#include "worktree/workspace.h"

struct move_held {
	char *path;      /* owned */
	const char *why; /* static: "a file of secrets" */
};

/* The work in the sandbox that a thread leaves. Set the first fields. */
struct move { /* borrowed, if not said otherwise */
	struct app *app;
	const char *label;       /* of that sandbox, in the ledger */
	struct sandbox *sandbox; /* running */
	const struct stop *stop;
	/* patterns of ignored files that are taken along, too */
	const char *const *include;
	size_t n_include;
	struct workspace from; /* owned: the tree that was sent to it */
	char base[GIT_OID];    /* of the new sandbox */
	char commit[GIT_OID];  /* all files that it gets */
	size_t files;          /* of them: differ from the base */
	int64_t ignored;       /* new files that git ignores: they stay */
	/* owned: files that are never sent without --include, by path */
	struct move_held *held;
	size_t n_held;
	bool takes_held; /* the user wants them in the new sandbox */
	/* Earlier states of the files have such files, so that /undo would send
	 * them: these states stay. */
	bool old_held;
	/*
	 * Gives a new sandbox, to which the user's tree was sent as the
	 * workspace `to`, the files, the base and the checkpoints of the old
	 * one. Then compares what both sandboxes have: -1 with the name of a
	 * file that is not the same. Set by move_open().
	 */
	int (*fill)(struct move *m, struct workspace *to, struct sandbox *sb,
		    struct error *err);
	bool filled; /* fill() has succeeded */
};
/*
 * Fetches the work. If there is none that can be taken along, because the
 * sandbox was not made by dcode, has no copy of the tree, or has files that
 * cannot be fetched, fails with what to type. Call move_close() in any case.
 */
int move_open(struct move *m, const char *cwd, struct error *err);
/* Asks about a move from one provider to another, and about each file that may
 * hold a secret. asks: false: such files are an error, and the rest is yes. 1:
 * yes, 0: no, -1 with err. */
int move_confirm(struct move *m, const char *from, const char *to, bool asks,
		 struct error *err);
/* Names the files that stay in the old sandbox of this provider. */
void move_print_left(const struct move *m, const char *from);
void move_close(struct move *m);

#endif

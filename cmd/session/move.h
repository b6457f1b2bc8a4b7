/* move.h - takes a thread's work along to another sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_MOVE_H
#define CMD_SESSION_MOVE_H

#include "cmd/app.h"
#include "worktree/workspace.h"

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
	char commit[GIT_OID];  /* all files of the tree in it */
	size_t files;          /* of them: differ from what was sent */
	int64_t ignored;       /* new files that git ignores: they stay */
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
/* Asks the one question of a move, from one provider to another: 1 yes, 0 no,
 * -1 with err. */
int move_confirm(const struct move *m, const char *from, const char *to,
		 struct error *err);
void move_close(struct move *m);

#endif

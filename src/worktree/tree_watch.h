/* tree_watch.h - what a command on this machine changed in the user's tree. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_TREE_WATCH_H
#define WORKTREE_TREE_WATCH_H

/*
 * For tools that run on this machine: nothing was sent, so there is no base to
 * compare with. Before a command dcode's own git (worktree/git.h) lists the
 * files that differ from a copy of the user's index, and dcode copies those
 * that are small. Afterwards it lists again and compares. Ignored files do not
 * count. Only in a git repository, and only while a listing is quick: see
 * TREE_WATCH_MS. Begin reading at tree_watch_begin(). Used by one thread at a
 * time.
 */
#include "worktree/user_repo.h"
#include "worktree/workspace.h"

enum {
	/* a longer listing is given up; three of them end the watch */
	TREE_WATCH_MS = 500,
	TREE_WATCH_FILES = 2000,     /* of a listing */
	TREE_WATCH_FILE = 256 << 10, /* bytes of a file that is compared */
	TREE_WATCH_BYTES = 16 << 20, /* of all files that are copied */
};

struct tree_watch_file;

struct tree_watch { /* initialise with { 0 } */
	/* private */
	struct workspace w;
	struct user_repo repo;
	char *index, *excludes, *objects;
	struct tree_watch_file *before; /* sorted by path */
	size_t n;
	unsigned slow;   /* listings that took too long */
	int64_t most_ms; /* for a listing; 0: TREE_WATCH_MS */
	bool opened, begun, given_up;
};

/* One changed file. A text is known if the file was small enough; a file that
 * does not exist has an empty one. */
struct tree_watch_change {
	const char *path; /* relative to the tree's root; any bytes */
	struct str before, after;
	bool known;
};

/* Who gets the changed files. */
struct tree_comparison {
	void (*each)(void *arg, const struct tree_watch_change *c);
	void *arg;
};

/* Call before a command. state: dcode's directory; cwd: in the tree; home: for
 * the user's ignore patterns, or NULL. Failures end the watch silently. */
void tree_watch_begin(struct tree_watch *t, const char *state, const char *cwd,
		      const char *home, const struct stop *stop);
/* Call after it: passes each changed file to each, sorted by path. Does nothing
 * if the state before is unknown. */
void tree_watch_end(struct tree_watch *t,
		    void (*each)(void *arg, const struct tree_watch_change *c),
		    void *arg, const struct stop *stop);
void tree_watch_close(struct tree_watch *t);

/* Passes k each file that differs from the user's index, or is not in it,
 * sorted by path; before is its text in the index. For /diff: a listing may
 * take longer, and a failure is an error. */
int tree_watch_list(const char *state, const char *cwd, const char *home,
		    const struct tree_comparison *k, const struct stop *stop,
		    struct error *err);

#endif

/* changes.h - dcode apply: merges a sandbox's changes into the tree or a
 * branch. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_CHANGES_H
#define CMD_SESSION_CHANGES_H

#include "cmd/app.h"
#include "cmd/args.h"
#include "worktree/apply.h"
#include "worktree/git.h"
#include "worktree/workspace.h"

/* The modes of dcode apply. Each is a row of the table in changes.c, which says
 * what the mode reads, where it writes, what becomes of the base and what is
 * printed. Those that do not exclude each other can be combined; then a later
 * one here prevails over an earlier one. */
enum changes_mode {
	CHANGES_TREE, /* without any option: the working tree */
	CHANGES_INDEX,
	CHANGES_CONFLICTS,
	CHANGES_INTERACTIVE,
	CHANGES_PARTIAL,
	CHANGES_PATCH,
	CHANGES_BRANCH,
	CHANGES_UNDO,
	CHANGES_MODES, /* number of modes */
};

struct change_set { /* start with { .app = ..., ... } */
	struct app *app;
	/* for each mode the value of its option, as args_value() has it;
	 * borrowed, NULL: not given */
	const char *given[CHANGES_MODES];
	bool force; /* apply despite another branch; replace an existing
		       branch; undo later changes too */
	struct workspace *workspace; /* open; with only a patch, its label is
					"" */
	const char *thread;          /* id of the thread, or NULL */
	const char *task;            /* the sandbox's task for the commit
					message, or NULL */
	const char *from_branch;     /* branch that the tree was sent from;
					"" if unknown */
	char theirs[GIT_OID];        /* the sandbox's commit */
	/* results */
	struct apply_result result;
	char commit[GIT_OID]; /* with --branch: the commit made */
	/* Files not merged: with --branch those in submodules, with --partial
	 * those that meet a file or directory of the user. */
	char **left_out;
	size_t n_left_out;
	bool nothing;     /* nothing to apply: the sandbox has no changes ... */
	bool none_picked; /* ... or the user chose none with --interactive */
};

/* Finishes or undoes an apply to this tree that was killed. Cheap if there was
 * none. Call before the tree is read. */
int changes_recover(struct app *app, struct workspace *w,
		    const struct stop *stop, struct error *err);
/* Takes the modes from the options of dcode apply. ERR_USAGE: two of them
 * contradict each other. */
int changes_read_modes(struct change_set *ch, const struct args *args,
		       struct error *err);
/* False if the modes need neither a thread nor a sandbox. */
bool changes_need_sandbox(const struct change_set *ch);
/* Recovers from a crash, then merges and writes, or undoes the last apply.
 * Returns 0 also if nothing was written: see result. */
int changes_apply(struct change_set *ch, const struct stop *stop,
		  struct error *err);
/* Returns the branch that a thread's tree was sent from; owned, or NULL. If
 * title is not NULL, it receives the thread's title; owned. */
char *changes_came_from(struct app *app, const char *thread, char **title);
/* Returns the exit status: 0 if all changes were applied, otherwise 1. */
int changes_status(const struct change_set *ch);
/* Prints the result on stderr: files, conflicts, next step. */
void changes_print(const struct change_set *ch);
/* Appends the result as members of a JSON object, without braces. */
void changes_json(const struct change_set *ch, struct buf *out);
void changes_release(struct change_set *ch);

/* True if changes of this sandbox were committed to a branch. That does not
 * move the base, because the files are not in the user's tree. */
bool changes_have_branched(const struct workspace *w, const struct stop *stop);
/* True if the commit on the branch contains all of theirs. */
bool changes_are_branched(const struct workspace *w, const char *theirs,
			  const struct stop *stop);

/* The one merge of dcode apply, on its way. The base is the tree as it was
 * sent, ours is the user's tree, theirs is the sandbox's commit. */
struct change_merge {
	struct change_set *changes;
	const struct stop *stop;
	struct journal *journal;      /* open */
	const struct user_repo *user; /* the user's repository */
	const struct mode *mode;      /* the rows of all given modes in one */
	struct git git;               /* repository in which to merge */
	char base[GIT_OID], ours[GIT_OID];
	struct merge_sides sides;    /* borrows base and ours */
	struct branching *branching; /* of changes_to_branch */
};

/* Where a merge is written. Each returns -1 with err. */
struct change_target {
	/* Asks or refuses before anything is read. close() is called in any
	 * case. */
	int (*open)(struct change_merge *m, struct error *err);
	/* Fills m->ours; may set the sides to other trees. */
	int (*read)(struct change_merge *m, struct error *err);
	/* Writes changes->result.merge. 0 also if conflicts or files in the
	 * way prevent that: see the result. */
	int (*write)(struct change_merge *m, struct error *err);
	void (*close)(struct change_merge *m); /* or NULL */
};

/* changes_select.c: chooses what the merge reads. */

/* --interactive: asks for each change and sets theirs to the base plus the
 * chosen ones. */
int changes_pick(struct change_set *ch, const struct stop *stop,
		 struct error *err);
/* --patch: sets base and theirs by applying the patch to ours. */
int changes_read_patch(struct change_merge *m, struct error *err);
/* --partial: removes from theirs the files that meet a file, link or directory
 * of the user, and those that the result has as blocked. 1: theirs has changed.
 * 0: nothing to remove. -1 with err. */
int changes_leave_out(struct change_merge *m, struct error *err);

/* A separate index file of dcode, used to derive one tree from another. */
struct tree_index {
	struct git git;
	char *file;      /* owned */
	struct buf info; /* queued changes for git update-index */
};
/* name is the index's file name in directory, which belongs to dcode. */
void tree_index_init(struct tree_index *t, const struct git *g,
		     const char *directory, const char *name);
void tree_index_release(struct tree_index *t);
/* Fills the index from a tree or commit. */
int tree_index_read(struct tree_index *t, const char *tree,
		    const struct stop *stop, struct error *err);
/* Each queues one change, which takes effect with tree_index_update(). */
void tree_index_forget(struct tree_index *t, struct str path);
void tree_index_set(struct tree_index *t, struct str mode, struct str oid,
		    struct str path);
int tree_index_update(struct tree_index *t, const struct stop *stop,
		      struct error *err);
int tree_index_write(struct tree_index *t, char tree[GIT_OID],
		     const struct stop *stop, struct error *err);

/* changes_git.c: writes to the user's repository. */

/* --branch: merges HEAD and theirs, and commits that if there is no
 * conflict. */
extern const struct change_target changes_to_branch;
/* Checks that a commit on this branch would be possible. Used before there are
 * changes. */
int changes_check_branch(struct change_set *ch, const struct stop *stop,
			 struct error *err);
/* --index: implements apply_request.stage. arg is the struct change_set. */
int changes_stage(void *arg, const char *before, const char *after,
		  struct apply_file *files, size_t n, struct error *err);
/* --undo after --index: implements apply_undo_request.unstage and restores the
 * index. arg is the struct change_set. */
int changes_unstage(void *arg, const struct apply_unstage *q,
		    struct error *err);

#endif

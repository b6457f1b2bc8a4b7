/* changes.h - dcode apply: merges a sandbox's changes into the tree or a
 * branch. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_CHANGES_H
#define CMD_SESSION_CHANGES_H

#include "cmd/app.h"
#include "worktree/apply.h"
#include "worktree/git.h"
#include "worktree/workspace.h"

/* dcode apply is one three-way merge. The base is the tree as it was sent, ours
 * is the user's tree, theirs is the sandbox's commit. --patch, --interactive
 * and --partial change what the merge reads (changes_select.c). --branch and
 * --index change where the result goes (changes_git.c); the default is the
 * working tree (src/worktree). */
struct changes_options {    /* all borrowed */
	bool conflicts;     /* write conflicts with markers */
	bool index;         /* stage the written files */
	bool force;         /* apply despite another branch, or replace an
			       existing one */
	bool interactive;   /* ask for each file and hunk */
	bool partial;       /* leave out files that meet a file or directory
			       of the user */
	const char *branch; /* commit to this branch instead; or NULL */
	const char *patch;  /* patch file to merge instead of a sandbox, or
			       NULL */
};

struct change_set { /* start with { .app = ..., ... } */
	struct app *app;
	struct changes_options options;
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
/* Recovers from a crash, then merges and writes. Returns 0 also if nothing was
 * written: see result. */
int changes_apply(struct change_set *ch, const struct stop *stop,
		  struct error *err);
/* Implements dcode apply --undo. */
int changes_undo(struct change_set *ch, const struct stop *stop,
		 struct error *err);
/* Returns the branch that a thread's tree was sent from; owned, or NULL. If
 * title is not NULL, it receives the thread's title; owned. */
char *changes_came_from(struct app *app, const char *thread, char **title);
/* Returns the exit status: 0 if all changes were applied, otherwise 1. */
int changes_status(const struct change_set *ch);
/* Prints the result on stderr: files, conflicts, next step. */
void changes_print(const struct change_set *ch, bool undo);
/* Appends the result as members of a JSON object, without braces. */
void changes_json(const struct change_set *ch, bool undo, struct buf *out);
void changes_release(struct change_set *ch);

/* True if changes of this sandbox were committed to a branch. That does not
 * move the base, because the files are not in the user's tree. */
bool changes_have_branched(const struct workspace *w, const struct stop *stop);
/* True if the commit on the branch contains all of theirs. */
bool changes_are_branched(const struct workspace *w, const char *theirs,
			  const struct stop *stop);

/* changes_select.c: chooses what the merge reads. */

/* --interactive: asks for each change and sets theirs to the base plus the
 * chosen ones. */
int changes_pick(struct change_set *ch, const struct stop *stop,
		 struct error *err);
/* --patch: sets base and theirs by applying the patch to ours. */
int changes_read_patch(struct change_set *ch, const char *ours,
		       char base[GIT_OID], const struct stop *stop,
		       struct error *err);
struct changes_sides {
	const char *base, *ours; /* commits or trees of the merge */
	char *const *blocked;    /* paths in the way that ours does not
				    contain */
	size_t n_blocked;
};
/* --partial: removes from theirs the files that meet a file, link or directory
 * of the user, and the files in blocked. 1: theirs has changed. 0: nothing to
 * remove. -1 with err. */
int changes_leave_out(struct change_set *ch, const struct changes_sides *q,
		      const struct stop *stop, struct error *err);

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

/* --branch: commits the merge of HEAD and theirs. */
int changes_commit(struct change_set *ch, const struct stop *stop,
		   struct error *err);
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

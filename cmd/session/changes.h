/* changes.h - a sandbox's changes, merged into the user's tree or a branch. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_CHANGES_H
#define CMD_SESSION_CHANGES_H

#include "cmd/app.h"
#include "worktree/apply.h"
#include "worktree/git.h"
#include "worktree/workspace.h"

/*
 * dcode apply is one three-way merge: the base is the tree as it was sent, ours
 * is the user's tree, theirs is the sandbox's commit. Options change what the
 * merge reads (--patch, --interactive, --partial: changes_select.c) and where
 * its result goes (--branch, --index: changes_git.c; else the working tree, by
 * src/worktree).
 */
struct changes_options {    /* all borrowed */
	bool conflicts;     /* write conflicts with markers */
	bool index;         /* stage what is written */
	bool force;         /* on another branch, or over an existing one */
	bool interactive;   /* ask which files and hunks come */
	bool partial;       /* leave out what has no place here */
	const char *branch; /* commit there instead; or NULL */
	const char *patch;  /* file to merge instead of a sandbox, or NULL */
};

struct change_set { /* start from { .app = ..., ... } */
	struct app *app;
	struct changes_options options;
	struct workspace *workspace; /* open; label "" for a patch alone */
	const char *thread;          /* its id, or NULL */
	const char *task;            /* what the sandbox worked on, or NULL */
	const char *from_branch;     /* that the tree came from; "" unknown */
	char theirs[GIT_OID];        /* the sandbox's commit */
	/* out */
	struct apply_result result;
	char commit[GIT_OID]; /* with --branch: the commit made */
	/* Not merged: files of submodules with --branch, else what meets a
	 * file or directory of the user's with --partial. */
	char **left_out;
	size_t n_left_out;
	bool nothing;     /* the sandbox has changed nothing, ... */
	bool none_picked; /* ... or --interactive took none of it */
};

/* Finishes or undoes an apply to this tree that was killed; cheap if there was
 * none. Call it before the tree is read. */
int changes_recover(struct app *app, struct workspace *w,
		    const struct stop *stop, struct error *err);
/* Recovers what a crash left, then merges and writes. 0 also if nothing was
 * written: see result. */
int changes_apply(struct change_set *ch, const struct stop *stop,
		  struct error *err);
/* dcode apply --undo. */
int changes_undo(struct change_set *ch, const struct stop *stop,
		 struct error *err);
/* The branch that a thread's tree came from; owned, or NULL. title, if it is
 * not NULL: the thread's, the same. */
char *changes_came_from(struct app *app, const char *thread, char **title);
/* Exit status: 0 if all changes were applied, 1 if something prevents it. */
int changes_status(const struct change_set *ch);
/* What happened, on stderr: files, conflicts, what to type. */
void changes_print(const struct change_set *ch, bool undo);
/* The same as the members of a JSON object, without braces. */
void changes_json(const struct change_set *ch, bool undo, struct buf *out);
void changes_release(struct change_set *ch);

/* True if some work of this sandbox was committed to a branch. The base does
 * not move then: the files are not in the user's tree. */
bool changes_have_branched(const struct workspace *w, const struct stop *stop);
/* True if that was all of theirs. */
bool changes_are_branched(const struct workspace *w, const char *theirs,
			  const struct stop *stop);

/* changes_select.c: what the merge reads. */

/* --interactive: asks which changes come; theirs is then the base with these.
 */
int changes_pick(struct change_set *ch, const struct stop *stop,
		 struct error *err);
/* --patch: sets theirs, and base, from the patch applied to ours. */
int changes_read_patch(struct change_set *ch, const char *ours,
		       char base[GIT_OID], const struct stop *stop,
		       struct error *err);
struct changes_sides {
	const char *base, *ours; /* of the merge */
	char *const *blocked;    /* what is in the way and not in ours */
	size_t n_blocked;
};
/* --partial: takes out of theirs what is in a directory there and below a file
 * or link of the user's here, or the reverse, and what meets blocked. 1: theirs
 * has changed; 0: nothing was found; -1. */
int changes_leave_out(struct change_set *ch, const struct changes_sides *q,
		      const struct stop *stop, struct error *err);

/* An index in a file of dcode's own, to make one tree of another. */
struct tree_index {
	struct git git;
	char *file;      /* owned */
	struct buf info; /* changes not made yet */
};
/* name: of the file in directory, which is dcode's. */
void tree_index_init(struct tree_index *t, const struct git *g,
		     const char *directory, const char *name);
void tree_index_release(struct tree_index *t);
/* Fills it from a tree or commit. */
int tree_index_read(struct tree_index *t, const char *tree,
		    const struct stop *stop, struct error *err);
/* These two take effect with tree_index_update(). */
void tree_index_forget(struct tree_index *t, struct str path);
void tree_index_set(struct tree_index *t, struct str mode, struct str oid,
		    struct str path);
int tree_index_update(struct tree_index *t, const struct stop *stop,
		      struct error *err);
int tree_index_write(struct tree_index *t, char tree[GIT_OID],
		     const struct stop *stop, struct error *err);

/* changes_git.c: the user's repository. */

/* --branch: commits the merge of HEAD and theirs. */
int changes_commit(struct change_set *ch, const struct stop *stop,
		   struct error *err);
/* Whether a commit on a branch of this name can be made; known before there are
 * changes. */
int changes_check_branch(struct change_set *ch, const struct stop *stop,
			 struct error *err);
/* --index: apply_request.stage; arg is the struct change_set. */
int changes_stage(void *arg, const char *before, const char *after,
		  struct apply_file *files, size_t n, struct error *err);
/* Takes what --index staged out of the index again:
 * apply_undo_request.unstage; arg is the struct change_set. */
int changes_unstage(void *arg, const struct apply_unstage *q,
		    struct error *err);

#endif

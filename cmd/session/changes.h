/* changes.h - dcode apply: merges a sandbox's changes into the tree or a
 * branch. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_CHANGES_H
#define CMD_SESSION_CHANGES_H

#include "cmd/app.h"
#include "cmd/args.h"
#include "worktree/apply.h"
#include "worktree/git.h"
#include "worktree/push.h"
#include "worktree/workspace.h"

/* The modes of dcode apply. Each has a row in the table in changes.c, which
 * says what the mode reads, where it writes, what happens to the base and what
 * is printed. Modes that do not exclude each other can be combined. A mode
 * further down in this list then overrides those above it. */
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

struct change_set { /* initialise with { .app = ..., ... } */
	struct app *app;
	/* the value of each mode's option, as args_value() returns it;
	 * borrowed; NULL: the option was not given */
	const char *given[CHANGES_MODES];
	bool force; /* --force: apply although another branch is checked out;
		       replace an existing branch; undo although files changed
		       since */
	struct workspace *workspace; /* open; its label is "" if the modes need
					no sandbox */
	const char *thread;          /* id of the thread, or NULL */
	const char *task;            /* the sandbox's task, for the
					commit message; or NULL */
	const char *from_branch;     /* branch that the tree was sent from;
					"" if unknown */
	char theirs[GIT_OID];        /* the sandbox's commit */
	/* with --push: the branch that was pushed before, on which further
	 * commits are made; or NULL */
	const struct push_record *pushed;
	/* with --push: called with the commit before anything is written to the
	 * user's repository; -1 with err: nothing is written. The commit is in
	 * dcode's own repository. user: a git with the user's refs. */
	int (*confirm)(void *arg, const char *commit, const struct git *user,
		       const struct stop *stop, struct error *err);
	void *confirm_arg;
	/* results, set by changes_apply() */
	struct apply_result result;
	char commit[GIT_OID]; /* with --branch: the commit made */
	/* Paths that were not merged: with --branch those in submodules, with
	 * --partial those whose place is taken by a file or directory of the
	 * user. */
	char **left_out;
	size_t n_left_out;
	bool nothing;     /* nothing to apply: the sandbox has no changes ... */
	bool none_picked; /* ... or the user chose none with --interactive */
};

/* If a dcode was killed while it applied to this tree, finishes or undoes that
 * apply. Cheap otherwise. Call before the tree is read. */
int changes_recover(struct app *app, struct workspace *w,
		    const struct stop *stop, struct error *err);
/* Sets the modes from the options of dcode apply. ERR_USAGE if two of them
 * exclude each other. */
int changes_read_modes(struct change_set *ch, const struct args *args,
		       struct error *err);
/* False if the modes need neither a thread nor a sandbox. */
bool changes_need_sandbox(const struct change_set *ch);
/* Finishes or undoes an interrupted apply. Then merges and writes, or undoes
 * the last apply. Returns 0 also if nothing was written: see result. */
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
/* True if that commit contains all changes of theirs, a commit of the sandbox's
 * files. */
bool changes_are_branched(const struct workspace *w, const char *theirs,
			  const struct stop *stop);

/* State of one merge. base is the tree as it was sent to the sandbox, ours is
 * the user's tree, and changes->theirs is the commit of the sandbox's files. */
struct change_merge {
	struct change_set *changes;
	const struct stop *stop;
	struct journal *journal;      /* open */
	const struct user_repo *user; /* the user's repository */
	const struct mode *mode;      /* the combined rows of all given modes */
	struct git git;               /* repository in which to merge */
	char base[GIT_OID], ours[GIT_OID];
	struct merge_sides sides;    /* borrows base and ours */
	struct branching *branching; /* state of the target changes_to_branch */
};

/* Where a merge is written. The callbacks return -1 with err on failure. */
struct change_target {
	/* Checks what can be checked before anything is read, and may ask the
	 * user. close() is called even if this fails. */
	int (*open)(struct change_merge *m, struct error *err);
	/* Fills m->ours; may also replace the trees in m->sides. */
	int (*read)(struct change_merge *m, struct error *err);
	/* Writes changes->result.merge. Also 0 if conflicts or files in the way
	 * prevented that: changes->result tells. */
	int (*write)(struct change_merge *m, struct error *err);
	void (*close)(struct change_merge *m); /* frees m->branching; or NULL */
};

/* changes_select.c: functions that replace or reduce the sandbox's changes. */

/* --interactive: asks for each change and sets theirs to the base plus the
 * chosen ones. */
int changes_pick(struct change_set *ch, const struct stop *stop,
		 struct error *err);
/* --patch: sets base and theirs by applying the patch to ours. */
int changes_read_patch(struct change_merge *m, struct error *err);
/* --partial: removes paths from theirs if a file, link or directory of the user
 * is in their way, and the paths in result.blocked. Returns 1 if theirs has
 * changed, 0 if nothing was removed, -1 with err. */
int changes_leave_out(struct change_merge *m, struct error *err);

/* A separate index file of dcode, used to make a new tree from an existing
 * one. */
struct tree_index {
	struct git git;
	char *file;      /* owned */
	struct buf info; /* queued changes for git update-index */
};
/* directory is one of dcode's own; name is the file name of the index in it. */
void tree_index_init(struct tree_index *t, const struct git *g,
		     const char *directory, const char *name);
void tree_index_release(struct tree_index *t);
/* Fills the index from a tree or commit. */
int tree_index_read(struct tree_index *t, const char *tree,
		    const struct stop *stop, struct error *err);
/* tree_index_forget() and tree_index_set() queue a change, which takes effect
 * with tree_index_update(). */
void tree_index_forget(struct tree_index *t, struct str path);
void tree_index_set(struct tree_index *t, struct str mode, struct str oid,
		    struct str path);
int tree_index_update(struct tree_index *t, const struct stop *stop,
		      struct error *err);
int tree_index_write(struct tree_index *t, char tree[GIT_OID],
		     const struct stop *stop, struct error *err);

/* changes_git.c: writes to the user's repository. */

/* Target of --branch: merges HEAD and theirs, and commits the result if there
 * is no conflict. */
extern const struct change_target changes_to_branch;
/* Checks that --branch could commit to this branch. Call before the sandbox
 * exists. */
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

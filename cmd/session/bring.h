/* bring.h - what a sandbox changed, brought onto the user's tree or a branch.
 */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_BRING_H
#define CMD_SESSION_BRING_H

#include "apply/apply.h"
#include "cmd/app.h"
#include "workspace/workspace.h"

/* Finishes or takes back an apply to this tree that was killed; cheap where
 * there was none. To be called before the tree is read. */
int bring_recover(struct app *app, struct workspace *w, const struct stop *stop,
		  struct error *err);

struct bring_options {      /* all borrowed */
	bool conflicts;     /* --conflicts */
	bool index;         /* --index */
	bool force;         /* --force */
	bool interactive;   /* --interactive */
	bool partial;       /* --partial */
	const char *branch; /* --branch NAME, or NULL */
	const char *patch;  /* --patch FILE, or NULL */
};

struct bring { /* start from { .app = ..., ... } */
	struct app *app;
	struct bring_options options;
	struct workspace *workspace; /* open; label "" for a patch alone */
	const char *thread;          /* its id, or NULL */
	const char *task;            /* what the sandbox worked on, or NULL */
	const char *from_branch;     /* that the tree came from; "" unknown */
	char theirs[GIT_OID];        /* the sandbox's commit */
	/* out */
	struct apply_result result;
	char commit[GIT_OID]; /* with --branch: the commit made */
	/* Without these: files of submodules with --branch, else what meets a
	 * file or directory of the user's with --partial. */
	char **left_out;
	size_t n_left_out;
	bool nothing;     /* the sandbox has changed nothing, ... */
	bool none_picked; /* ... or --interactive took none of it */
};

/* Recovers what a crash left, then merges and writes. 0 also where nothing was
 * written: see result. */
int bring_run(struct bring *b, const struct stop *stop, struct error *err);
/* dcode apply --undo. */
int bring_undo(struct bring *b, const struct stop *stop, struct error *err);
/* The branch that a thread's tree came from; owned, or NULL. title, if it is
 * not NULL: the thread's, the same. */
char *bring_came_from(struct app *app, const char *thread, char **title);
/* Exit status: 0 when all came back, 1 when something keeps it from that. */
int bring_status(const struct bring *b);
/* What happened, on stderr: files, conflicts, what to type. */
void bring_print(const struct bring *b, bool undo);
/* The same as the members of a JSON object, without braces. */
void bring_json(const struct bring *b, bool undo, struct buf *out);
void bring_release(struct bring *b);

/* Parts of it. */
int bring_index(void *bring, const char *before, const char *after,
		struct apply_file *files, size_t n, struct error *err);
/* Takes what --index staged out of the index again: apply_undo_request. */
int bring_unstage(void *bring, const struct apply_unstage *q,
		  struct error *err);
int bring_branch(struct bring *b, const struct stop *stop, struct error *err);
/* Whether a commit on a branch of this name can be made: what is wrong with it
 * can be said before there are changes. */
int bring_branch_check(struct bring *b, const struct stop *stop,
		       struct error *err);
/* Asks which changes come; theirs is then the base with these. */
int bring_pick(struct bring *b, const struct stop *stop, struct error *err);
struct bring_partial {
	const char *base, *ours; /* of the merge */
	char *const *blocked;    /* what is in the way and not in ours */
	size_t n_blocked;
};
/* --partial: takes out of theirs what is in a directory there and below a file
 * or link of the user's here, or the reverse, and what meets blocked. 1: it is
 * another theirs now; 0: nothing was found; -1. */
int bring_partial(struct bring *b, const struct bring_partial *q,
		  const struct stop *stop, struct error *err);
/* Sets theirs (and base) from --patch. */
int bring_patch(struct bring *b, const char *ours, char base[GIT_OID],
		const struct stop *stop, struct error *err);

#endif

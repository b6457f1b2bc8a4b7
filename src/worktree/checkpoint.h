/* checkpoint.h - states of a sandbox's tree after each turn, and undo. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_CHECKPOINT_H
#define WORKTREE_CHECKPOINT_H

/*
 * A checkpoint is a commit of all files of the tree in a sandbox that a fetch
 * gets, below refs/dcode/LABEL/turns/. Its ref is named
 * NUMBER.KIND.TURN.COUNT.THREAD; numbers only increase. A turn is a prompt of
 * THREAD, counted from 1. Begin reading at checkpoint_undo().
 */
#include "worktree/fetched.h"
#include "worktree/treefile.h"

enum checkpoint_kind {
	CHECKPOINT_FIRST = 'b', /* before the first turn */
	CHECKPOINT_TURN = 't',  /* after a turn that changed files */
	/* the user, or a background job, has changed files since */
	CHECKPOINT_OTHER = 's',
	CHECKPOINT_UNDO = 'u', /* after COUNT turns were undone, TURN first */
	CHECKPOINT_REDO = 'r', /* after an undo was undone */
	/* no new state: the thread begins as a copy of the one before, and its
	 * first own turn is TURN */
	CHECKPOINT_FORK = 'f',
};

enum {
	CHECKPOINTS_MOST = 100,           /* of a sandbox */
	CHECKPOINT_DAYS = 30,             /* older ones are deleted */
	CHECKPOINT_FILE = 16 << 20,       /* bytes of a file */
	CHECKPOINT_BYTES = 64 << 20,      /* of all changes since the base */
	CHECKPOINTS_KIB = 2 * 1024 * 1024 /* of all checkpoints */
};

struct checkpoint {
	unsigned long number;
	char kind; /* enum checkpoint_kind */
	int64_t turn;
	int64_t count; /* undo: number of turns; else KiB that were fetched */
	int64_t time;  /* Unix seconds; when the commit was made */
	char *thread;  /* owned */
	char *ref;     /* owned */
	char oid[GIT_OID];
	char parent[GIT_OID]; /* the last one, or "" */
};

struct checkpoints { /* initialise with { 0 } */
	struct checkpoint *list;
	size_t n;
	/* indices of the turns that are in effect, oldest first; after them the
	 * undone ones */
	size_t *turns;
	size_t n_turns;
	size_t *undone; /* indices of the undos that can be undone */
	size_t n_undone;
	size_t *popped; /* of each undo: turns that it has undone */
};
int checkpoints_read(struct checkpoints *c, const struct workspace *w,
		     const struct stop *stop, struct error *err);
void checkpoints_release(struct checkpoints *c);
/* Deletes all checkpoints of a label. */
int checkpoints_remove(const struct workspace *w, const struct stop *stop,
		       struct error *err);

/* A turn of a thread. */
struct checkpoint_turn {
	const char *thread; /* borrowed */
	int64_t turn;
};
/* Returns the index in c->turns of the first turn that an undo to before t
 * undoes; c->n_turns: none. */
size_t checkpoint_first(const struct checkpoints *c,
			const struct checkpoint_turn *t);
/* Sets the states before and after a turn. False if that is unknown, or if the
 * turn changed no files. */
bool checkpoint_of_turn(const struct checkpoints *c,
			const struct checkpoint_turn *t, const char **before,
			const char **after);

struct checkpoint_request {         /* all borrowed */
	struct fetch_request fetch; /* sandbox, exclude and include are used */
	struct checkpoint_turn turn;
	/* CHECKPOINT_TURN or CHECKPOINT_OTHER; 0: the first if the last
	 * checkpoint is of an earlier turn */
	char kind;
	int64_t most; /* checkpoints to keep */
};
/* The base, which a new sandbox has just received, is the state before the
 * first turn. */
int checkpoint_note_first(const struct workspace *w, const struct stop *stop,
			  struct error *err);
/* Fetches the sandbox's tree and, if it has changed, adds a checkpoint and
 * deletes old ones. At most one request, and those of fetch_changes(). May be
 * called on any thread with an own w. */
int checkpoint_take(struct workspace *w, const struct checkpoint_request *r,
		    const struct stop *stop, struct error *err);
/* Makes a checkpoint of what the user has sent with workspace_sync(), which has
 * moved the base from the commit `from`, without a request: an undo does not
 * undo that. */
int checkpoint_note_sync(const struct workspace *w, const char *from,
			 const struct stop *stop, struct error *err);
/* Records that a thread begins as a copy, before turn->turn of the last one. */
int checkpoint_fork(const struct workspace *w,
		    const struct checkpoint_turn *turn, const struct stop *stop,
		    struct error *err);

/* Gives the workspace `to`, of another sandbox of the same tree, the
 * checkpoints of `from`, and one more of the commit `now` if that differs from
 * the last. now may be NULL. only_now: none of the earlier ones. */
int checkpoints_copy(const struct workspace *to, const struct workspace *from,
		     const char *now, bool only_now, const struct stop *stop,
		     struct error *err);

/*
 * Without a sandbox there is no tree to fetch: tools write into the user's own.
 * A label that begins with CHECKPOINT_LOCAL has only the files that these tools
 * have written. A turn is then a commit of what they left; its last parent is a
 * commit of the same files before the turn.
 */
#define CHECKPOINT_LOCAL WORKSPACE_NO_SANDBOX "-"
struct turn_files { /* of one turn; initialise with { .turn } */
	struct checkpoint_turn turn;
	struct turn_file {
		char *path;            /* owned; relative to the tree's root */
		struct treefile after; /* what the last call has left */
	} * list;
	size_t n;
	int64_t bytes;                        /* stored so far */
	char before[GIT_OID], after[GIT_OID]; /* commits, or "" */
	bool unnamed;         /* `after` is newer than the checkpoint */
	unsigned long number; /* of the checkpoint; 0: none */
	char *ref;            /* its name; owned, or NULL */
};
/* Call before a tool writes or deletes path, and after it. Not stored, so that
 * an undo does not touch it: a directory, a file over CHECKPOINT_FILE, more
 * than CHECKPOINT_BYTES in the turn, a path through a link: the result is 1.
 * most as in struct checkpoint_request. w is the tree itself. */
int checkpoint_before_write(struct workspace *w, struct turn_files *t,
			    const char *path, const struct stop *stop,
			    struct error *err);
int checkpoint_after_write(struct workspace *w, struct turn_files *t,
			   const char *path, const struct stop *stop,
			   struct error *err);
/* Call after that: makes a new t->after the checkpoint of the turn. most as in
 * struct checkpoint_request. */
int checkpoint_name_turn(const struct workspace *w, struct turn_files *t,
			 int64_t most, const struct stop *stop,
			 struct error *err);
void turn_files_release(struct turn_files *t); /* keeps turn */

struct undo_result { /* initialise with { 0 }; release */
	bool redo;
	bool finished;  /* only an interrupted undo was completed */
	int64_t turn;   /* first turn that was undone, or done again */
	int64_t count;  /* number of turns that changed files */
	char **changed; /* owned: files that were restored or deleted */
	size_t n_changed;
	/* owned: files that stay, because somebody has changed them since */
	char **kept;
	size_t n_kept;
};
struct undo_request { /* all borrowed */
	struct checkpoint_request checkpoint;
	int64_t turn; /* undo this turn and all later ones; 0: the last */
	bool redo;    /* undo the last undo instead */
	/* Called with the result before the intention is forgotten; after a
	 * kill perhaps again. May be NULL. */
	int (*done)(const struct workspace *w, const struct undo_result *u,
		    struct error *err);
};

/*
 * Restores the files of the sandbox to the state before a turn. A file whose
 * content is not the one that the undone turns have left stays, so that nothing
 * is overwritten of which there is no checkpoint. An intention is stored before
 * the sandbox is changed: after a kill the next call completes that undo and
 * does nothing else. ERR_NOT_FOUND: there is nothing to undo.
 */
int checkpoint_undo(struct workspace *w, const struct undo_request *r,
		    struct undo_result *result, const struct stop *stop,
		    struct error *err);
void undo_result_release(struct undo_result *r);

#endif

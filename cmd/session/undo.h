/* undo.h - checkpoints of a run's sandbox, and undo of turns. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_UNDO_H
#define CMD_SESSION_UNDO_H

#include "cmd/session/run.h"
#include "worktree/checkpoint.h"

/* After a turn or a command of the user that may have changed files in the
 * sandbox: stores its tree, in the background. The next command in the sandbox
 * waits for that. kind as in struct checkpoint_request. Failures are reported
 * with the next message. Does nothing if the sandbox has no copy of a tree. */
void undo_checkpoint(struct run *r, char kind);
/* Call before run_agent(). If the last one was killed, or its checkpoint
 * failed, makes that first, so that its changes do not count as those of this
 * turn. */
void undo_begin_turn(struct run *r);
/* Call after run_agent(), which returned rc. */
void undo_end_turn(struct run *r, int rc);
/* LABEL.acting of the workspace exists while a turn has no checkpoint:
 * "TURN THREAD". */
#define UNDO_ACTING "acting"

/* The sandbox whose files are restored, and the thread; all borrowed. */
struct undo_target {
	struct app *app;
	struct workspace *workspace;
	struct sandbox *sandbox; /* NULL: files of this machine */
	const char *thread;
};
/* Opens what is stored of the files that tools have written in a thread without
 * a sandbox. 1: nothing. */
int undo_open_local(struct workspace *w, struct app *app, const char *cwd,
		    const char *thread, const struct stop *stop,
		    struct error *err);
/* Restores files as checkpoint_undo() does, and stores a text for the model in
 * LABEL.undone of the workspace, which goes before the next prompt.
 * turn and redo as in struct undo_request. Release u in any case. */
int undo_files(const struct undo_target *t, int64_t turn, bool redo,
	       struct undo_result *u, const struct stop *stop,
	       struct error *err);
/* Prints on stderr what was restored. thread: named in that line, or NULL. */
void undo_print(const struct app *app, const char *thread,
		const struct undo_result *u);

/* For a chat that goes back to before a turn of its thread. undo_count() sets
 * *n to the number of turns whose changes undo_in_chat() undoes, which also
 * prints the result. undo_forked() is called once the run's thread is the copy:
 * its first turn is `turn`. from: the thread that was copied. with_files:
 * undo_in_chat() was called, so that the model has seen nothing of what was
 * undone. */
int undo_count(struct run *r, int64_t turn, int64_t *n, struct error *err);
int undo_in_chat(struct run *r, int64_t turn, struct error *err);
int undo_forked(struct run *r, const char *from, int64_t turn, bool with_files,
		struct error *err);

/* The stored states of one thread's sandbox; initialise with { 0 }. */
struct undo_history {
	struct workspace w;
	struct checkpoints all;
};
/* Opens what is stored for the label, without a request. Nothing is found after
 * a failure. Close h in any case. */
void undo_history_open(struct undo_history *h, struct app *app,
		       const char *label);
/* Appends the names of the files that a turn changed; nothing if it is not
 * known. They are clean, but not masked. */
void undo_history_add(const struct undo_history *h,
		      const struct checkpoint_turn *t, struct buf *out);
void undo_history_close(struct undo_history *h);

#endif

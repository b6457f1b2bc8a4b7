/* save.h - what a sandbox changed, applied or saved before it is deleted. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_SAVE_H
#define CMD_SESSION_SAVE_H

#include "cmd/session/run.h"

struct save_terms { /* all borrowed */
	const char *thread;
	const char *name; /* that `dcode apply` takes for this sandbox */
	const struct stop *stop;
	const char *const *include; /* patterns of what git ignores */
	size_t n_include;
	bool quiet;     /* only what failed is said */
	bool elsewhere; /* the thread does not lead to this tree */
};

/* True when the sandbox, which is about to be left, may hold work that has not
 * come back; *files: so many, 0 where that is not known. */
bool run_has_unreturned_work(struct run *r, size_t *files);
/* lifecycle_request.before_remove; arg is the run: saves that work, or says
 * what goes with the sandbox. */
void run_save(void *arg, struct sandbox *sb, const struct stop *stop);
/* --branch NAME of -n: whether a commit can be made there. */
int run_branch_check(struct run *r, struct error *err);
/* --apply and --branch NAME of -n: whether they can be, known before the first
 * request; and what the sandbox changed, brought back while it still lives. */
int run_apply_check(struct run *r, struct error *err);
int run_apply_changes(struct run *r, struct error *err);
void saved_work_release(struct saved_work *s);
/* [workspace] save, which the callers of save_sandbox() ask first. */
bool save_is_on(struct app *app);
/* Asks the sandbox, saves what changed there since w's base, and says on stderr
 * where, or why not. */
void save_sandbox(struct saved_work *s, struct app *app, struct workspace *w,
		  struct sandbox *sb, const struct save_terms *terms);
/* -1 with err when it could not be saved. */
int save_check(const struct saved_work *s, struct error *err);
/* The same, before gc or sandbox rm deletes the sandbox of a label. -1 with
 * err: it could not be saved, which was said. */
int save_removed(struct app *app, struct sandbox_client *client, const char *id,
		 const char *label, struct error *err);
/* The member "changes" of the result event; nothing without a tree. */
void save_json(const struct saved_work *s, struct buf *out);

#endif

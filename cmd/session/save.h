/* save.h - applies or saves a sandbox's changes before it is deleted. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_SAVE_H
#define CMD_SESSION_SAVE_H

#include "cmd/session/run.h"

struct save_terms { /* all borrowed */
	const char *thread;
	const char *name; /* name of the sandbox in the printed `dcode apply`
			     command */
	const struct stop *stop;
	const char *const *include; /* patterns of --include: fetch these files
				       although git ignores them */
	size_t n_include;
	bool quiet;     /* print only failures */
	bool elsewhere; /* the thread belongs to another directory's tree */
};

/* True if the sandbox may have changes that were not fetched. Call before
 * leaving it. *files is the number of changed files, 0 if unknown. */
bool run_has_unreturned_work(struct run *r, size_t *files);
/* lifecycle_request.before_remove callback; arg is the run. Saves the changes
 * as a patch. If that is not possible, prints what is lost. */
void run_save(void *arg, struct sandbox *sb, const struct stop *stop);
/* Checks before the sandbox is created that --branch NAME of -n will be
 * possible. */
int run_branch_check(struct run *r, struct error *err);
/* run_apply_check() checks before the first request that the sandbox has a
 * tree, which --apply and --branch need. run_apply_changes() applies the
 * sandbox's changes while it still exists. */
int run_apply_check(struct run *r, struct error *err);
int run_apply_changes(struct run *r, struct error *err);
void saved_work_release(struct saved_work *s);
/* True if [workspace] save is on. Check it before save_sandbox(). */
bool save_is_on(struct app *app);
/* Fetches the sandbox's changes since w->base and saves them as a patch. Prints
 * the patch's path, or why saving failed. Fills in s. */
void save_sandbox(struct saved_work *s, struct app *app, struct workspace *w,
		  struct sandbox *sb, const struct save_terms *terms);
/* Returns -1 with err if saving failed. */
int save_check(const struct saved_work *s, struct error *err);
/*
 * Saves the changes before gc or sandbox rm deletes the sandbox of a label. -1
 * with err if that failed; the reason was already printed.
 */
int save_removed(struct app *app, struct sandbox_client *client, const char *id,
		 const char *label, struct error *err);
/* Appends the value of "changes" in the result event; nothing if the sandbox
 * has no tree. */
void save_json(const struct saved_work *s, struct buf *out);

#endif

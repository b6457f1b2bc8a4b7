/* save.h - changes that have not come back, saved before a sandbox goes. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_SAVE_H
#define CMD_SESSION_SAVE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/stop.h"

struct app;
struct sandbox;
struct sandbox_client;
struct workspace;

struct saved_work {     /* start from { 0 } */
	bool looked;    /* there is a tree, and the sandbox was asked */
	size_t files;   /* changed there since they were shared */
	size_t refused; /* names that nothing here may have */
	size_t left;    /* files that do not come */
	char *patch;    /* owned: where they were saved; or NULL */
	char *failed;   /* owned: why they were not; or NULL */
};
void saved_work_release(struct saved_work *s);

struct save_terms { /* all borrowed */
	const char *thread;
	const char *name; /* that `dcode apply` takes for this sandbox */
	const struct stop *stop;
	const char *const *include; /* patterns of what git ignores */
	size_t n_include;
	bool quiet;     /* only what failed is said */
	bool elsewhere; /* the thread does not lead to this tree */
};
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
int save_removed(struct app *app, struct sandbox_client *host, const char *id,
		 const char *label, struct error *err);
/* The member "changes" of the result event; nothing without a tree. */
void save_json(const struct saved_work *s, struct buf *out);

#endif

/* copy_upload.h - files and trees into a sandbox that replace nothing unasked.
 */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_COPY_UPLOAD_H
#define CMD_SESSION_COPY_UPLOAD_H

#include "cmd/session/copy_copy.h"

struct upload_entry; /* of a tree: what is at its place in the sandbox */

struct upload_target {      /* set the first three, the rest is { 0 } */
	const char *local;  /* borrowed */
	const char *remote; /* borrowed; "": the working directory */
	bool force;         /* replace files */
	const char *tar; /* as copy.tar; after upload_stat(), as what follows */
	char *target;    /* owned: where it goes */
	char kind;       /* of what is there, as upload_stat.sh says it */
	bool same;       /* a file with the same bytes */
	bool tree;       /* the local one is a directory */
	struct upload_entry *entries; /* owned, sorted by name */
	size_t n;
	int64_t refused; /* files of a tree that were not sent, since there
			    are others in their places */
	int top;         /* open while a tree is sent */
};

/*
 * Finds out what is at the targets of them all: one command, and a second one
 * where a directory meets one that is there. ERR_USAGE when two have the same
 * target. upload_release() each in any case.
 */
int upload_stat(struct copy *c, struct upload_target *list, size_t n,
		struct error *err);
/* Sends one of them; counts in c and u->refused. ERR_USAGE when something else
 * is at its target. */
int upload_run(struct copy *c, struct upload_target *u, struct error *err);
void upload_release(struct upload_target *u);

#endif

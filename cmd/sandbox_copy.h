/* sandbox_copy.h - files and trees between here and a sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SANDBOX_COPY_H
#define CMD_SANDBOX_COPY_H

#include <sys/types.h>

#include "sandbox/sandbox.h"

enum { COPY_BATCH = 64 }; /* files per transfer call, and files open at once */

struct copy {
	struct sandbox *sb;      /* borrowed */
	const struct stop *stop; /* borrowed */
	const char *tar;         /* how to call it there; NULL: it has none */
	int64_t files, directories, links;
	int64_t skipped; /* neither, unsafe, or failed: each had a warning */
};

/* Runs a script of ours there; its standard output is appended to out. -1 also
 * when its exit status is not 0: ERR_REMOTE with what. */
int copy_script(struct copy *c, struct str script, struct buf *out,
		const char *what, struct error *err);
/* Directory of local, "" or "x/y/" made of name, as a remote path: owned. */
char *copy_join(const char *directory, const char *name);
/* "file_not_found", or the provider's words. */
const char *copy_reason(const struct transfer *t);

/* One regular file, open at fd. */
int copy_file_up(struct copy *c, int fd, const char *remote, struct error *err);
/* What is in the local directory, into the remote one, which is made. */
int copy_tree_up(struct copy *c, const char *local, const char *remote,
		 struct error *err);
int copy_file_down(struct copy *c, const char *remote, const char *local,
		   struct error *err);
/* What is in the remote directory, into the local one, which is made. Never
 * follows a link below it nor leaves it, whatever the sandbox says. */
int copy_tree_down(struct copy *c, const char *remote, const char *local,
		   struct error *err);

/* Whole trees as one stream, in one execute each. Can it be had? */
bool copy_by_tar(const struct copy *c);
/* dir is taken over; mode is what a new remote directory gets. */
int copy_tar_up(struct copy *c, int dir, mode_t mode, const char *remote,
		struct error *err);
/* root, borrowed: unpacks below it. */
int copy_tar_down(struct copy *c, const char *remote, int root,
		  struct error *err);

#endif

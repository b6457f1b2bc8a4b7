/* copy.h - files and trees between here and a sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SANDBOX_COPY_H
#define CMD_SANDBOX_COPY_H

#include <sys/types.h>

#include "archive/archive.h"
#include "sandbox/sandbox.h"

enum { COPY_BATCH = 64 }; /* files per transfer call, and files open at once */

struct copy {
	struct sandbox *sb;      /* borrowed */
	const struct stop *stop; /* borrowed */
	const char *tar;         /* how to call it there; NULL: it has none */
	int64_t files, directories, links;
	int64_t skipped; /* neither, unsafe, or failed: each had a warning */
	/* A sandbox may send without end. */
	int64_t limit;    /* bytes that may come: sandboxes.copy_limit */
	int64_t received; /* of them */
	int disk;         /* open file or directory on the disk that they go
			     to; -1: to a pipe */
	bool unread;      /* nobody reads standard output any more */
	/* Why nothing more may come, once code is set: a transfer that was
	 * refused for it keeps its first words only. */
	struct error full;
};

/* Counts what came from the sandbox; -1 with ERR_LIMIT past the limit. */
int copy_receive(struct copy *c, size_t bytes, struct error *err);
/* Is there room for so many more on the disk? -1 with ERR_LIMIT: a part of it
 * is left to the others. */
int copy_store(struct copy *c, int64_t bytes, struct error *err);

/* Runs a script of ours there; its standard output is appended to out. -1 also
 * when its exit status is not 0: ERR_REMOTE with what. */
int copy_script(struct copy *c, struct str script, struct buf *out,
		const char *what, struct error *err);
/* Directory of local, "" or "x/y/" made of name, as a remote path: owned. */
char *copy_join(const char *directory, const char *name);
/* "file_not_found", or the provider's words. */
const char *copy_reason(const struct transfer *t);
/* -1, err says why this transfer failed. */
int copy_failed(const struct copy *c, const struct transfer *t,
		struct error *err);

/* One regular file, open at fd; mode 0: 0644, or what the file there has. */
int copy_file_up(struct copy *c, int fd, int mode, const char *remote,
		 struct error *err);
/* What is in the local directory, into the remote one, which is made. */
int copy_tree_up(struct copy *c, const char *local, const char *remote,
		 struct error *err);
int copy_file_down(struct copy *c, const char *remote, const char *local,
		   struct error *err);
/* What is in the remote directory, into the local one, which is made. Never
 * follows a link below it nor leaves it, whatever the sandbox says. */
int copy_tree_down(struct copy *c, const char *remote, const char *local,
		   struct error *err);

/* The same file by file, where there is no tar. dir is taken over. */
int copy_files_up(struct copy *c, int dir, const char *remote,
		  struct error *err);
int copy_files_down(struct copy *c, const char *remote, int root,
		    struct error *err);

/* From standard input and to standard output: a file's bytes, or a tar stream
 * of what is in a directory. */
int copy_check_stdin(struct error *err);
int copy_check_stdout(struct copy *c, struct error *err);
int copy_to_stdout(struct copy *c, struct str chunk, struct error *err);
int copy_file_in(struct copy *c, const char *remote, struct error *err);
int copy_tree_in(struct copy *c, const char *remote, struct error *err);
int copy_file_out(struct copy *c, const char *remote, struct error *err);
int copy_tree_out(struct copy *c, const char *remote, struct error *err);

/* Whole trees as one stream, in one execute each. Can it be had? */
bool copy_by_tar(const struct copy *c);
/* dir is taken over; mode is what a new remote directory gets. */
int copy_tar_up(struct copy *c, int dir, mode_t mode, const char *remote,
		struct error *err);
/* The stream comes from pull. */
int copy_tar_in(struct copy *c, const char *remote, mode_t mode,
		archive_pull *pull, void *arg, struct error *err);
/* root, borrowed: unpacks below it. */
int copy_tar_down(struct copy *c, const char *remote, int root,
		  struct error *err);
/* Unchecked, to standard output. */
int copy_tar_out(struct copy *c, const char *remote, struct error *err);

#endif

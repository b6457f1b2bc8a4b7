/* copy_copy.h - files and trees between here and a sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_COPY_COPY_H
#define CMD_SESSION_COPY_COPY_H

#include <sys/types.h>

#include "archive/archive.h"
#include "cmd/app.h"
#include "cmd/session/copy_incoming.h"
#include "sandbox/sandbox.h"

struct copy {
	struct sandbox *sb;      /* borrowed */
	const struct stop *stop; /* borrowed */
	const char *tar;         /* how to call it there; NULL: it has none */
	int64_t files, directories, links;
	int64_t skipped; /* neither, unsafe, or failed: each had a warning */
	int told;        /* warnings about them so far */
	const struct archive_log *log; /* hears of a tree's files; or NULL */
	/* A sandbox may send without end. */
	int64_t limit;    /* bytes that may come: sandboxes.copy_limit */
	int64_t received; /* of them */
	int disk;         /* open file or directory on the disk that they go
			     to; -1: to a pipe */
	/* What of a tree that goes up is left out; as archive_log.refuse. */
	const char *(*refuse)(void *arg, struct str name, mode_t type);
	void *refuse_arg;
	struct incoming incoming; /* which names come in */
	bool no_replace; /* a local file, nor add to a local directory */
	char *target;    /* where it goes, once known; the caller frees it */
	bool unread;     /* nobody reads standard output any more */
	/* Why nothing more may come, once code is set: a transfer that was
	 * refused for it keeps its first words only. */
	struct error full;
};

/* Sets limit from the settings. */
int copy_read_limit(struct copy *c, struct app *app, struct error *err);
/* As cp does it: into an existing directory under its own name. local "-":
 * standard input. Sets c->target. */
int copy_up(struct copy *c, const char *local, const char *remote,
	    struct error *err);
/* A local file or directory to this very path, which is absolute. */
int copy_up_to(struct copy *c, const char *local, const char *target,
	       struct error *err);
/* An absolute path for one that may be of the working directory there. Owned.
 */
char *copy_remote_path(const struct copy *c, const char *path);
/* Where a copy of source goes: into the directory target under its own name, or
 * to target. Owned. */
char *copy_join(const char *target, bool is_directory, const char *source);
/* Sets how the sandbox's tar is called: 't' tar, 'b' busybox. */
void copy_set_tar(struct copy *c, char kind);
/* The other way; local "-": standard output. */
int copy_down(struct copy *c, const char *remote, const char *local,
	      struct error *err);
/* Whether copy_up_to() can read it: a file or a directory. */
int copy_check_local(const char *local, struct error *err);
/* Where copy_down() would put it. Owned. */
char *copy_local_target(const char *local, const char *remote);
/* -1 with ERR_USAGE where something is there already. */
int copy_check_free(const char *target, struct error *err);

/* Says that something is left out, and why; not without end. */
void copy_tell_left_out(struct copy *c, struct str name, const char *why);
/* -1 with ERR_LIMIT where so many bytes more than before pass the limit. */
int copy_check_size(struct copy *c, int64_t before, int64_t bytes,
		    struct error *err);
/* Counts what came from the sandbox; -1 with ERR_LIMIT past the limit. */
int copy_receive(struct copy *c, size_t bytes, struct error *err);
/* Checks that there is room for so many more on the disk, of which 5 %, 1 GiB
 * at most, stay free: -1 with ERR_LIMIT. */
int copy_store(struct copy *c, int64_t bytes, struct error *err);

/* Runs a script in the sandbox and appends its output to out. -1 also
 * when its exit status is not 0: ERR_REMOTE with what. */
int copy_script(struct copy *c, struct str script, struct buf *out,
		const char *what, struct error *err);
/* -1, err says why this transfer failed. */
int copy_failed(const struct copy *c, const struct transfer *t,
		struct error *err);

/* What takes a remote file's bytes: -1 (err filled) ends the transfer. */
typedef int copy_write(void *arg, struct str chunk, struct error *err);
/* A remote file to write(). */
int copy_download(struct copy *c, const char *remote, copy_write *write,
		  void *arg, struct error *err);
/* One regular file, open at fd, from its beginning; mode 0: 0644, or what the
 * file there has. */
int copy_file_up(struct copy *c, int fd, int mode, const char *remote,
		 struct error *err);
/* Into a temporary file beside local, which it replaces when it is whole. */
int copy_file_down(struct copy *c, const char *remote, const char *local,
		   struct error *err);

/*
 * Trees are tar streams that the sandbox's own tar packs and unpacks: through
 * its standard input and output, or, where there are none, through a file in
 * its /tmp.
 */
/* What is in the local directory (borrowed), into the remote one, which is
 * made. */
int copy_tree_up(struct copy *c, int dir, const char *remote,
		 struct error *err);
/* What is in the remote directory, into the local one, which is made. Never
 * follows a link below it nor leaves it, whatever the sandbox says. */
int copy_tree_down(struct copy *c, const char *remote, const char *local,
		   struct error *err);
/* An archive that pull gives, into the remote directory, which is made. */
int copy_archive_in(struct copy *c, const char *remote, mode_t mode,
		    archive_pull *pull, void *arg, struct error *err);
/* What is in the remote directory, as an archive to write(), without the names
 * that nobody asked for (sieve.h). write() is called on another thread. */
int copy_archive_out(struct copy *c, const char *remote, copy_write *write,
		     void *arg, struct error *err);

/* From standard input and to standard output: a file's bytes, or a tar stream
 * of what is in a directory. */
int copy_check_stdin(struct error *err);
int copy_check_stdout(struct copy *c, struct error *err);
int copy_file_in(struct copy *c, const char *remote, struct error *err);
int copy_tree_in(struct copy *c, const char *remote, struct error *err);
int copy_file_out(struct copy *c, const char *remote, struct error *err);
int copy_tree_out(struct copy *c, const char *remote, struct error *err);
/* What pull gives, in a file without a name: its descriptor, or -1. */
int copy_spool(struct copy *c, archive_pull *pull, void *arg,
	       struct error *err);

#endif

/* copy.h - copies files and directories into and out of a sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_COPY_H
#define CMD_SESSION_COPY_H

#include <sys/types.h>

#include "archive/archive.h"
#include "cmd/app.h"
#include "sandbox/sandbox.h"
#include "worktree/name.h"
#include "worktree/treefile.h"

/* Filter for names that come from a sandbox. The config and hooks of a git
 * repository run commands as soon as git is started in it. Therefore a .git at
 * any depth and in any spelling (worktree/name.h), and files that make a
 * directory a bare repository, are copied only if --bring names them. */
struct incoming { /* initialise with { 0 }, then set bring and n_bring */
	const char *const *bring; /* names allowed by --bring; borrowed */
	size_t n_bring;
	struct bare_repos made; /* files copied so far that may make a directory
				   a bare repository */
	struct tree_dir disk;   /* the directory that the tree is copied to */
	bool opened;
	bool follows; /* the program that writes the files may follow links in
			 the directory */
	char *directory; /* owned: path of the directory */
	char *told;      /* owned: the last name that was reported as left
			    out */
};

/* Prepares for a tree that is copied to this existing directory. Always call
 * incoming_close() afterwards. */
int incoming_open(struct incoming *in, const char *directory,
		  struct error *err);
/* Prepares for a tree that is written to standard output as a tar stream. Its
 * destination is unknown: assumes that a tar unpacks it in the working
 * directory and follows links there. source is the directory in the sandbox. */
int incoming_open_stream(struct incoming *in, const char *source,
			 struct error *err);
/* True if this entry must not be copied. *name is then the path to report, and
 * *why the reason, or NULL if that path was already reported. */
bool incoming_leaves_out(struct incoming *in, const struct archive_item *item,
			 struct str *name, const char **why);
/* Checks that a copy may go to this local path. ERR_POLICY if not. */
int incoming_check(struct incoming *in, const char *target, struct error *err);
void incoming_close(struct incoming *in);

struct copy {
	struct sandbox *sb;      /* borrowed */
	const struct stop *stop; /* borrowed */
	const char *tar; /* the sandbox's tar command; NULL: there is none */
	int64_t files, directories, links;
	int64_t skipped; /* entries that were not copied because they are
			    unsafe, failed, or have an unsupported type; each
			    had a warning */
	int told;        /* number of warnings about skipped entries */
	const struct archive_log *log; /* receives the names of a tree's
					  files; or NULL */
	/* a malicious sandbox could send without end */
	int64_t limit;    /* maximum bytes received: sandboxes.copy_limit */
	int64_t received; /* bytes received so far */
	int disk;         /* an open file or directory on the disk that
			     receives the data; -1 for a pipe */
	/* Decides which entries of an uploaded tree are sent; see
	 * archive_log.refuse. Or NULL. */
	const char *(*refuse)(void *arg, struct str name, mode_t type);
	void *refuse_arg;
	struct incoming incoming; /* filter for names of downloads */
	bool no_replace; /* fail instead of replacing a local file or adding to
			    a local directory */
	char *target;    /* destination, once known; the caller frees it */
	bool unread;     /* the reader of standard output has closed the pipe */
	/* The error of the limit that was hit; code is 0 if none was. A failed
	 * transfer keeps only the start of its message, so the whole error is
	 * stored here. */
	struct error full;
};

/* Receives the bytes of a remote file. -1 with err aborts the transfer. */
typedef int copy_write(void *arg, struct str chunk, struct error *err);

/* Sets c->limit from the settings. */
int copy_read_limit(struct copy *c, struct app *app, struct error *err);
/* Copies into the sandbox like cp: if remote is a directory, into it under the
 * source's name. local "-" is standard input. Sets c->target. */
int copy_up(struct copy *c, const char *local, const char *remote,
	    struct error *err);
/* Returns the destination of a copy of source: target, or target plus source's
 * name if target is a directory. Owned. */
char *copy_join(const char *target, bool is_directory, const char *source);
/* Copies out of the sandbox, with the rules of copy_up(). local "-" is standard
 * output. */
int copy_down(struct copy *c, const char *remote, const char *local,
	      struct error *err);
/* Checks that local is a readable file or directory. */
int copy_check_local(const char *local, struct error *err);
/* Returns the path to which copy_down() would copy remote. Owned. */
char *copy_local_target(const char *local, const char *remote);
/* Returns -1 with ERR_USAGE if target exists. */
int copy_check_free(const char *target, struct error *err);

/* Uploads that replace files in the sandbox only if they are allowed to. */

struct upload_entry; /* a name in a local directory, and what the sandbox has at
			its place */

struct upload_target {      /* set local, remote and force; the rest is { 0 } */
	const char *local;  /* borrowed */
	const char *remote; /* borrowed; "": the working directory */
	bool force;         /* may replace files */
	const char *tar; /* as in struct copy; upload_stat() sets this and all
			    members below */
	char *target;    /* owned: destination path */
	char kind;       /* type of what is at target, as in upload_stat.sh */
	bool same;       /* the file at target has the same bytes */
	bool tree;       /* local is a directory */
	struct upload_entry *entries; /* owned, sorted by name */
	size_t n;
	int64_t refused; /* number of files not sent, because other files are at
			    their place */
	int top;         /* descriptor of local, open while its tree is sent */
};

/* Asks the sandbox what is at all targets, with one command, and with a second
 * one if a directory is merged into an existing one. ERR_USAGE if two uploads
 * have the same target. Always call upload_release() for each upload
 * afterwards. */
int upload_stat(struct copy *c, struct upload_target *list, size_t n,
		struct error *err);
/* Sends one upload and updates the counts in c and u->refused. ERR_USAGE if
 * something at the target must not be replaced. */
int upload_run(struct copy *c, struct upload_target *u, struct error *err);
void upload_release(struct upload_target *u);

/* copy_tree.c */

/* A tree is a tar stream, packed and unpacked by the sandbox's own tar. The
 * stream is passed through tar's standard input or output. If the provider does
 * not support standard input, it goes through a file in the sandbox's /tmp. */
/* Copies the content of the local directory (borrowed) into the remote one,
 * which is created if needed. */
int copy_tree_up(struct copy *c, int dir, const char *remote,
		 struct error *err);
/* Copies the content of the remote directory into the local one, which is
 * created if needed. Even if the sandbox is malicious, no link in the local
 * directory is followed and nothing is written outside it. */
int copy_tree_down(struct copy *c, const char *remote, const char *local,
		   struct error *err);
/* Unpacks the archive that pull returns into the remote directory, which is
 * created if needed. */
int copy_archive_in(struct copy *c, const char *remote, mode_t mode,
		    archive_pull *pull, void *arg, struct error *err);
/* Passes the content of the remote directory to write() as a tar archive,
 * without the names that c->incoming refuses. write() is called on another
 * thread. */
int copy_archive_out(struct copy *c, const char *remote, copy_write *write,
		     void *arg, struct error *err);

/* copy_file.c */

/* Warns that the entry name was not copied, and why. After LEFT_OUT_MOST
 * warnings only one more line is printed. */
void copy_tell_left_out(struct copy *c, struct str name, const char *why);
/* Returns -1 with ERR_LIMIT if before + bytes exceeds c->limit. */
int copy_check_size(struct copy *c, int64_t before, int64_t bytes,
		    struct error *err);
/* Counts bytes from the sandbox. -1 with ERR_LIMIT above the limit. */
int copy_receive(struct copy *c, size_t bytes, struct error *err);
/* Checks that the disk has room for bytes more. At least 5 % of it, or 1 GiB if
 * that is less, must stay free. -1 with ERR_LIMIT. */
int copy_store(struct copy *c, int64_t bytes, struct error *err);

/* Runs a script in the sandbox and appends its output to out. -1 also if its
 * exit status is not 0: ERR_REMOTE with a message about what. */
int copy_script(struct copy *c, struct str script, struct buf *out,
		const char *what, struct error *err);

/* Passes the content of a remote file to write(). */
int copy_download(struct copy *c, const char *remote, copy_write *write,
		  void *arg, struct error *err);
/* Sends the regular file open at fd, from its beginning. mode 0 means 0644 for
 * a new file; an existing one keeps its mode. */
int copy_file_up(struct copy *c, int fd, int mode, const char *remote,
		 struct error *err);
/* Downloads to a temporary file next to local, then renames it to local once
 * complete. */
int copy_file_down(struct copy *c, const char *remote, const char *local,
		   struct error *err);
/* Sets the sandbox's tar command: 't' tar, 'b' busybox tar. */
void copy_set_tar(struct copy *c, char kind);
/* Writes everything that pull returns into an unnamed temporary file. Returns
 * its descriptor, or -1 with err. */
int copy_spool(struct copy *c, archive_pull *pull, void *arg,
	       struct error *err);

#endif

/* copy.h - copies into and out of a sandbox: from where and to where. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_COPY_H
#define CMD_SESSION_COPY_H

#include <sys/types.h>

#include "archive/archive.h"
#include "cmd/app.h"
#include "sandbox/sandbox.h"
#include "worktree/name.h"
#include "worktree/treefile.h"

/*
 * The config and hooks of a git repository run commands as soon as git is
 * started in it. So a .git, at any depth and in any spelling of it
 * (worktree/name.h), and what makes a directory a repository without one
 * (worktree/name.h), come in only when --bring names them.
 */
struct incoming {                 /* start from { 0 }, with bring */
	const char *const *bring; /* names that are asked for; borrowed */
	size_t n_bring;
	struct bare_repos made; /* what came of repositories without .git */
	struct tree_dir disk;   /* the directory that a tree goes to */
	bool opened;
	bool follows;    /* who writes there may follow its links */
	char *directory; /* owned: that directory's path */
	char *told;      /* owned: the last name that was left out */
};

/* A tree goes to this directory, which is there. incoming_close() in any case.
 */
int incoming_open(struct incoming *in, const char *directory,
		  struct error *err);
/* A tree goes to nobody knows where: to the working directory, as far as what
 * is there already counts, by a tar that follows the links there. source: the
 * directory that it comes from. */
int incoming_open_stream(struct incoming *in, const char *source,
			 struct error *err);
/* Whether this entry of the tree is left out. *told: name and reason, the
 * first time that something below the name is left out; else NULL. */
bool incoming_leaves_out(struct incoming *in, const struct archive_item *item,
			 struct str *name, const char **why);
/* Whether a copy may go to this path of the user's; ERR_POLICY. */
int incoming_check(struct incoming *in, const char *target, struct error *err);
void incoming_close(struct incoming *in);

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

/* What takes a remote file's bytes: -1 (err filled) ends the transfer. */
typedef int copy_write(void *arg, struct str chunk, struct error *err);

/* Sets limit from the settings. */
int copy_read_limit(struct copy *c, struct app *app, struct error *err);
/* As cp does it: into an existing directory under its own name. local "-":
 * standard input. Sets c->target. */
int copy_up(struct copy *c, const char *local, const char *remote,
	    struct error *err);
/* Where a copy of source goes: into the directory target under its own name, or
 * to target. Owned. */
char *copy_join(const char *target, bool is_directory, const char *source);
/* The other way; local "-": standard output. */
int copy_down(struct copy *c, const char *remote, const char *local,
	      struct error *err);
/* Whether copy_up_to() can read it: a file or a directory. */
int copy_check_local(const char *local, struct error *err);
/* The path where copy_down() would put it. Owned. */
char *copy_local_target(const char *local, const char *remote);
/* -1 with ERR_USAGE where something is there already. */
int copy_check_free(const char *target, struct error *err);

/* Uploads that replace nothing unless they may. */

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

/* copy_tree.c */

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
 * that nobody asked for (struct incoming). write() is called on another thread.
 */
int copy_archive_out(struct copy *c, const char *remote, copy_write *write,
		     void *arg, struct error *err);

/* copy_file.c */

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
/* Sets how the sandbox's tar is called: 't' tar, 'b' busybox. */
void copy_set_tar(struct copy *c, char kind);
/* What pull gives, in a file without a name: its descriptor, or -1. */
int copy_spool(struct copy *c, archive_pull *pull, void *arg,
	       struct error *err);

#endif

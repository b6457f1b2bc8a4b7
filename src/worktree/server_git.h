/* server_git.h - a git that may reach the servers of the user's remotes. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_SERVER_GIT_H
#define WORKTREE_SERVER_GIT_H

#include "worktree/user_repo.h"
#include "worktree/workspace.h"

/* A remote of the user's repository. Its name and URLs have only characters
 * that can be printed. */
struct remote { /* owned */
	char *name;
	char *url; /* in the repository's configuration */
	/* where git would push: the URL after url.X.insteadOf of the user's
	 * own configuration */
	char *push_url;
};

/*
 * A git directory of dcode with the remotes of the user's repository and
 * access to its objects. git commands in it obey the user's own configuration
 * (struct git_user). Of the repository's configuration they have nothing but
 * the URLs.
 */
struct server_git {
	struct user_repo repo;
	struct git git;
	struct git_user user;
	struct buf config; /* all of the repository's: "KEY\nVALUE\0" */
	struct remote *remotes;
	size_t n;
	/* owned; made: the objects of dcode's own repository, where a commit is
	 * until the user's repository gets it */
	char *dir, *objects, *made, *ssh_command;
};

/* Opens s for the tree of w. terminal: git and ssh may ask there. ERR_USAGE if
 * the tree has no repository. Call server_git_close() in any case. */
int server_git_open(struct server_git *s, const struct workspace *w,
		    const char *home, bool terminal, const struct stop *stop,
		    struct error *err);
void server_git_close(struct server_git *s);

/* Stores the remotes as they are when the tree is sent to the sandbox of w, if
 * they are not stored yet. Starts no git if the repository has no remote. */
int server_git_record(const struct workspace *w, const char *home,
		      const struct stop *stop, struct error *err);
/*
 * Finds the remote of this name; NULL: origin, or the only one. ERR_USAGE if
 * the repository has a setting that a push to it would need, if dcode does not
 * push to such a URL, or if the remote differs from the one stored for w (NULL:
 * it is not compared).
 */
int server_git_find(const struct server_git *s, const struct workspace *w,
		    const char *name, const struct remote **remote,
		    struct error *err);
/* Sets s->remotes from s->config. Names and URLs that cannot be printed are
 * left out, and a remote with two URLs cannot be found. No I/O. */
void server_git_read_remotes(struct server_git *s);
/* Sets the push URLs from what `git remote -v` prints. No I/O. */
void server_git_read_push_urls(struct server_git *s, struct str said);
/* Appends a URL without its password. */
void server_git_show_url(const char *url, struct buf *out);

#endif

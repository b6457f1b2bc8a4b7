/* push.h - pushes one branch from the user's machine. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_PUSH_H
#define WORKTREE_PUSH_H

#include "worktree/server_git.h"

struct push { /* the caller sets the first four; borrowed */
	const struct server_git *git;
	const struct remote *remote;
	const char *branch; /* a valid name without refs/heads/ */
	const char *commit;
	/* owned; set by push_ask_server() or push_recall() */
	char *head;         /* the server's default branch, or "" */
	char tip[GIT_OID];  /* the branch's commit on the server, or "" */
	struct buf refs;    /* commits of the server's branches, one a line */
	bool asked;         /* they come from the server */
	bool is_tag;        /* the server has a tag with the branch's name */
	char base[GIT_OID]; /* push_read(): what the changes are compared with:
			       a commit or the empty tree */
	/* push_read(): the commits that the server lacks, newest first:
	 * "ID\nAUTHOR\nSUBJECT\0", raw */
	struct buf commits;
	size_t n_commits;
	struct buf said; /* push_send(): what git and the server printed, raw */
};

/* Asks the server for its branches. ERR_AUTH if it refuses the user. Call
 * push_release() in any case. */
int push_ask_server(struct push *p, const struct stop *stop, struct error *err);
/* Reads the branches that the server had when the user last fetched from it or
 * pushed to it: refs/remotes/REMOTE/. Without any, it takes HEAD for one of
 * them. Nothing is sent. user: a git with the refs of the user's repository.
 * Call push_release() in any case. */
int push_recall(struct push *p, const struct git *user, const struct stop *stop,
		struct error *err);
/* Finds the commits that would be pushed. ERR_BUSY if the server's branch is
 * not a predecessor: dcode never forces a push. Only push_ask_server() knows
 * the server's branch for sure, so after push_recall() that is no error. */
int push_read(struct push *p, const struct stop *stop, struct error *err);
/* ERR_USAGE names a file whose contents belong into Git LFS: dcode does not
 * upload them, so the branch would lack them. After push_read(). */
int push_check_lfs(const struct push *p, const struct stop *stop,
		   struct error *err);
/* Pushes the commit to the branch. ERR_AUTH, or ERR_REMOTE if the server
 * rejects it. */
int push_send(struct push *p, const struct stop *stop, struct error *err);
void push_release(struct push *p);

/* LABEL.pushed names the branch of the user's repository that dcode has made
 * to push a sandbox's changes: later changes are committed on top of it. */
struct push_record {
	char *branch;         /* owned; NULL: none */
	char commit[GIT_OID]; /* the commit that dcode made */
	char head[GIT_OID];   /* the user's HEAD at that time */
};
void push_record_read(struct push_record *r, const struct workspace *w);
int push_record_write(const struct push_record *r, const struct workspace *w,
		      struct error *err);

#endif

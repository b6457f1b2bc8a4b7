/* send.h - sends the user's tree to a sandbox, and later changes. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_SEND_H
#define WORKTREE_SEND_H

#include "sandbox/sandbox.h"
#include "worktree/rewrite.h"

struct send_request { /* all borrowed */
	struct sandbox *sandbox;
	const char *home; /* the user's home directory, for core.excludesFile */
	int64_t history;  /* number of last commits to send */
	const char *const *include; /* see select_request */
	size_t n_include;
	const struct mask *mask; /* secrets to mask in commit texts; or NULL */
	/* If git would need long for the commit, return without it:
	 * commit_begin() makes it later. */
	bool may_defer;
	/* Called after each file; or NULL. */
	void (*progress)(void *arg, size_t files, int64_t bytes);
	void *arg;
};

struct send_result {
	/* the sandbox's git made a repository of the tree */
	bool repository;
	bool git_failed;  /* the sandbox's git failed */
	size_t changed;   /* files that changed while they were read */
	bool no_git;      /* the sandbox has no git */
	bool deferred;    /* the sandbox's git has not run yet */
	bool has_history; /* the repository contains these rewritten commits: */
	/* already released, only its numbers are valid; commits 0: none */
	struct rewritten history;
	/* why the history could not be made; code 0: no error */
	struct error unwritten;
};

/*
 * Sends the selected files into the sandbox's working directory, in one stream,
 * and stores them as the base. On success w->base and the listing are updated,
 * and branch and HEAD of the user's repository are stored in w.
 */
int workspace_send(struct workspace *w, const struct selection *s,
		   const struct send_request *r, struct send_result *result,
		   const struct stop *stop, struct error *err);
/* Appends the patterns that this tree ignores in addition to .gitignore, and
 * the names that were in the sandbox's working directory before. */
int workspace_read_exclude(const struct workspace *w, struct buf *out,
			   struct error *err);

/* Starts the commit that LABEL.uncommitted requests, in the background
 * (background_start()), even if a dcode that was killed has recorded it.
 * Returns 0 also if there is nothing to do. background_end() then fails if the
 * sandbox's git could not make a repository of the tree. */
int commit_begin(const struct workspace *w, struct sandbox *sb,
		 struct error *err);

struct sync_request { /* all borrowed */
	struct sandbox *sandbox;
	struct select_request select; /* without extra */
	bool force; /* if both sides changed a file, the local one wins */
};
/* initialise with { 0 }; call sync_result_release() at the end */
struct sync_result {
	char **taken; /* files that the sandbox has now; owned */
	size_t n_taken;
	char **deleted; /* deleted locally and now in the sandbox; owned */
	size_t n_deleted;
	/* changed on both sides: the agent's version stays; owned */
	char **kept;
	size_t n_kept;
	char **held; /* not sent without --include, see select.h; owned */
	size_t n_held;
	/* those of taken that were sent only because of an --include pattern;
	 * owned */
	char **asked;
	size_t n_asked;
	int64_t bytes; /* bytes of the sent files */
};
/*
 * Sends local changes since the base. A file that is unchanged in the sandbox
 * is replaced; one that the agent changed stays. A file that an --include
 * pattern has sent before needs no --include pattern now. Takes one command, or
 * one upload and one command. The base is updated for the applied changes.
 */
int workspace_sync(struct workspace *w, const struct sync_request *r,
		   struct sync_result *result, const struct stop *stop,
		   struct error *err);
void sync_result_release(struct sync_result *result);

#endif

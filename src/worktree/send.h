/* send.h - the user's tree into a sandbox, and what changes later. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_SEND_H
#define WORKTREE_SEND_H

#include "sandbox/sandbox.h"
#include "worktree/rewrite.h"

struct send_request { /* all borrowed */
	struct sandbox *sandbox;
	const char *home;           /* the user's, for his core.excludesFile */
	int64_t history;            /* how many of the last commits go too */
	const char *const *include; /* as in selecting the files */
	size_t n_include;
	const struct mask *mask; /* for the words of commits; or NULL */
	/* A commit that takes git long is left to commit_begin(). */
	bool may_defer;
	/* Called after each file; or NULL. */
	void (*progress)(void *arg, size_t files, int64_t bytes);
	void *arg;
};

struct send_result {
	bool repository;          /* the sandbox's git made one of it */
	bool git_failed;          /* it has a git that could not */
	size_t changed;           /* files that changed while they were read */
	bool no_git;              /* it has no git */
	bool deferred;            /* its git has not been asked yet */
	bool has_history;         /* its repository has these commits: */
	struct rewritten history; /* released; commits 0: there are none */
	struct error unwritten;   /* why no history was sent: code 0, it was */
};

/*
 * Sends the selected files into the sandbox's working directory, in one stream,
 * and stores them as the base. On success w->base and the listing are new, and
 * branch and HEAD of the user's repository are noted in w.
 */
int workspace_send(struct workspace *w, const struct selection *s,
		   const struct send_request *r, struct send_result *result,
		   const struct stop *stop, struct error *err);
/* Appends the patterns that this tree ignores beside .gitignore, and the names
 * that the sandbox's working directory held before. */
int workspace_read_exclude(const struct workspace *w, struct buf *out,
			   struct error *err);

/* Begins the commit that LABEL.uncommitted asks for, also if the dcode that
 * noted it was killed: see background.h. 0 also if there is nothing to do. The
 * error of background_end() is then that the sandbox's git could not make a
 * repository of the tree. */
int commit_begin(const struct workspace *w, struct sandbox *sb,
		 struct error *err);

struct sync_request { /* all borrowed */
	struct sandbox *sandbox;
	struct select_request select; /* without extra */
	bool force; /* the local file wins where both sides changed it */
};
struct sync_result {  /* start from { 0 }; release it */
	char **taken; /* files, as the sandbox has them now; owned */
	size_t n_taken;
	char **deleted; /* gone here, and now there too; owned */
	size_t n_deleted;
	char **kept; /* changed on both sides: as the agent has them; owned */
	size_t n_kept;
	char **held; /* not sent unasked, as select.h says; owned */
	size_t n_held;
	char **asked; /* of those taken: there because an include asked; owned
		       */
	size_t n_asked;
	int64_t bytes; /* of files that went there */
};
/*
 * Sends what changed in the tree since the base. A file that the sandbox still
 * has as in the base is replaced; one that the agent changed stays. A file that
 * an include has sent before needs no include now. Takes one command, or one
 * upload and one command. The base then has what was taken over.
 */
int workspace_sync(struct workspace *w, const struct sync_request *r,
		   struct sync_result *result, const struct stop *stop,
		   struct error *err);
void sync_result_release(struct sync_result *result);

#endif

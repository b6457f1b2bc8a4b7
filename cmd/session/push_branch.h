/* push_branch.h - dcode apply --push: pushes the branch that was made. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_PUSH_BRANCH_H
#define CMD_SESSION_PUSH_BRANCH_H

#include "cmd/app.h"
#include "cmd/pull_request.h"
#include "worktree/push.h"

struct push_job {
	/* set by the caller; borrowed: */
	struct app *app;
	const struct workspace *workspace; /* open */
	const char *branch;
	const char *remote; /* name given by --remote, or NULL */
	/* no sandbox has the tree yet: do not compare the remote with the
	 * stored one */
	bool early;
	bool quiet;                 /* print only the question and failures */
	bool requests;              /* --pr: also open a pull request */
	const char *thread, *title; /* for its text; or NULL */
	/* internal: */
	struct push p;
	struct server_git git;
	struct pull_request pr;
	bool pushes; /* the server lacks the commit */
	bool done;   /* the branch was pushed */
};

/* True if push_job_run() will ask the user. A push that is not the user's own
 * idea needs this: without a question nobody has consented to it. */
bool push_can_ask(const struct app *app);
/*
 * Checks everything that does not need the commit: the policy, the branch's
 * name, the remote and its settings; and the server, unless the user is asked
 * first. Writes nothing. ERR_POLICY if [push] allow is false. Call
 * push_job_close() in any case.
 */
int push_job_open(struct push_job *j, const struct stop *stop,
		  struct error *err);
/* change_set.confirm, with the job: shows what would be pushed, and asks the
 * user and the server. Does not ask the user where nobody can answer: there
 * --push is the consent. ERR_CANCELLED if the user says no. */
int push_job_confirm(void *job, const char *commit, const struct git *user,
		     const struct stop *stop, struct error *err);
/* Pushes the commit, which is in the user's repository now. */
int push_job_run(struct push_job *j, const struct stop *stop,
		 struct error *err);
/* Appends the value of "push" in the JSON result. */
void push_job_json(const struct push_job *j, struct buf *out);
void push_job_close(struct push_job *j);

/* Returns a name for the branch of a thread: that of the record, or else one
 * made from the title. Owned. */
char *push_branch_name(const struct push_record *r, const char *title,
		       const char *thread);

#endif

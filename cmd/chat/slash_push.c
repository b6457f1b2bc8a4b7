/* slash_push.c - /push: pushes the sandbox's changes from this machine. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "cmd/chat/ends.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/print.h"
#include "cmd/session/push_branch.h"

enum {
	WORDS_MOST = 32,
	DECLINED = 130, /* app_exit_status() of ERR_CANCELLED */
};

/* Runs /apply --push, with the first word as --branch. *status is its exit
 * status. */
static int push_changes(struct run *r, int n, char **words, int *status,
			struct error *err)
{
	static char push[] = "--push";
	static char branch[] = "--branch";
	char *all[WORDS_MOST] = { push };
	int count = 1;

	if (!run_has_sandbox(r) || run_bound_directory(&r->box.sandbox)) {
		error_set(err, ERR_USAGE,
			  "the tools work in this directory itself: there is "
			  "no copy to push from");
		return error_hint(err, "Push with your own git.");
	}
	if (n && words[0][0] != '-')
		all[count++] = branch;
	for (int i = 0; i < n && count < WORDS_MOST - 1; i++)
		all[count++] = words[i];
	*status = command_run_at_terminal(
		r->app, chat_shell_command(r->app, "/apply"), count, all);
	return 0;
}

bool slash_cmd_push(struct run *r, int n, char **words)
{
	struct error err = { 0 };
	int status;

	if (push_changes(r, n, words, &status, &err) < 0)
		(void)app_fail(r->app, &err);
	return true;
}

/* The model learns the outcome in general terms: the reasons that the user has
 * seen may name things of this machine. */
void slash_push_asked(void *arg, const char *branch, struct buf *told)
{
	struct run *r = arg;
	char *words[] = { (char *)branch, NULL };
	struct error err = { 0 };
	int status = 1;

	/* Attack: the sandbox asks until the user says yes. */
	if (r->push_declined) {
		buf_adds(told, "not pushed. The user has declined a push, and "
			       "is asked again only after his next message");
		return;
	}
	print_name(r->app, "The agent asks to push branch ", branch, ".");
	/* Attack: the sandbox pushes while the user cannot see a question. */
	if (!push_can_ask(r->app)) {
		error_set(&err, ERR_USAGE,
			  "not pushed: cannot ask, because standard error is "
			  "not a terminal");
		error_hint(&err, "/push %s pushes it.", branch);
		(void)app_fail(r->app, &err);
	} else if (push_changes(r, 1, words, &status, &err) < 0)
		(void)app_fail(r->app, &err);
	r->push_declined = status == DECLINED;
	if (status == 0)
		buf_adds(told, "the user's machine has pushed the changes of "
			       "this tree to that branch, as one commit of the "
			       "user");
	else
		buf_adds(told, "not pushed. The user declined, or saw the "
			       "reason. dcode never pushes to main, master or "
			       "the server's default branch, and never with "
			       "force; for these choose another branch name. "
			       "Do not try again unless the user asks");
}

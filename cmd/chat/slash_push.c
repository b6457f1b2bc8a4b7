/* slash_push.c - /push: pushes the sandbox's changes from this machine. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "cmd/chat/ends.h"
#include "cmd/chat/slash_cmd.h"

enum { WORDS_MOST = 32 };

/* Runs /apply --push, with the first word as --branch. */
static int push_changes(struct run *r, int n, char **words, struct error *err)
{
	static char push[] = "--push";
	static char branch[] = "--branch";
	char *all[WORDS_MOST] = { push };
	int count = 1;

	if (!run_has_sandbox(r) || run_bound_directory(&r->box.sandbox)) {
		error_set(err, ERR_USAGE,
			  "the tools work in this directory itself, so there "
			  "is nothing to bring back");
		return error_hint(err, "Push with your own git.");
	}
	if (n && words[0][0] != '-')
		all[count++] = branch;
	for (int i = 0; i < n && count < WORDS_MOST - 1; i++)
		all[count++] = words[i];
	(void)command_run_at_terminal(
		r->app, chat_shell_command(r->app, "/apply"), count, all);
	return 0;
}

bool slash_cmd_push(struct run *r, int n, char **words)
{
	struct error err = { 0 };

	if (push_changes(r, n, words, &err) < 0)
		(void)app_fail(r->app, &err);
	return true;
}

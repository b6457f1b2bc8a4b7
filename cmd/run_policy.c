/* run_policy.c - which tool calls may run without a question. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/run.h"

static bool on_host(const struct run *r)
{
	return r->host.provider->flags & SANDBOX_HOST;
}

/* In a run without anybody to ask, on the user's own machine, the model is
 * offered only what it may use. */
bool run_offers(const struct run *r, const struct tool *tool)
{
	if (r->interactive || !on_host(r) || r->options.yes)
		return true;
	if (!(tool->flags & TOOL_ASKS))
		return true;
	return r->options.allow.given && !strcmp(tool->spec.name, "execute");
}

static void refuse_command(const struct run *r, const char *command,
			   struct buf *reason)
{
	buf_addf(reason,
		 "Shell command rejected: `%.400s` is not in the allow-list. "
		 "Allowed commands: ",
		 command);
	allow_list_names(&r->options.allow, reason);
	buf_adds(reason, ". Please use an allowed command or try another "
			 "approach.");
}

static bool is_execute(const struct part *call)
{
	return !strcmp(call->name, "execute");
}

/* The command of an execute call; NULL leaves the refusal to the tool. */
static char *command_of(const struct part *call)
{
	cJSON *args = call->args ? json_parse(str_of(call->args)) : NULL;
	char *command = xstrdup(json_string(args, "command", NULL));

	cJSON_Delete(args);
	return command;
}

static bool permitted(const struct run *r, const struct part *call)
{
	char *command = command_of(call);
	bool ok = command &&
		  allow_list_permits(&r->options.allow, str_of(command));

	free(command);
	return ok;
}

bool run_needs_no_question(const struct run *r, const struct part *call)
{
	if (r->options.yes || !on_host(r))
		return true;
	return is_execute(call) && permitted(r, call);
}

int run_approve_unattended(struct run *r, const struct part *call,
			   enum approval *answer, struct buf *reason)
{
	char *command;

	*answer = APPROVE_YES;
	if (r->options.yes)
		return 0;
	if (is_execute(call) && r->options.allow.given) {
		if (permitted(r, call))
			return 0;
		command = command_of(call);
		if (!command)
			return 0; /* the tool says what is wrong with it */
		refuse_command(r, command, reason);
		free(command);
		*answer = APPROVE_NO;
		return 0;
	}
	if (!on_host(r))
		return 0;
	*answer = APPROVE_NO;
	if (is_execute(call))
		buf_adds(reason,
			 "Shell commands are not permitted in non-interactive "
			 "mode without a --shell-allow-list. Use "
			 "--shell-allow-list to specify allowed commands.");
	else
		buf_addf(reason,
			 "%s is not permitted in non-interactive mode on the "
			 "user's own machine. Only reading tools are; tell the "
			 "user to run with --auto-approve or with a --sandbox.",
			 call->name);
	return 0;
}

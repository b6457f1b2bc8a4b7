/* run_policy.c - which tool calls may run without a question. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "cmd/run.h"

static bool on_host(const struct run *r)
{
	return sandbox_acts_on_host(&r->box.sandbox);
}

/* In a run without anybody to ask, on the user's own files, the model is
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

static bool is_execute(const struct approval *a)
{
	return !strcmp(a->tool->spec.name, "execute");
}

static bool permitted(const struct run *r, const struct approval *a)
{
	return allow_list_permits(&r->options.allow,
				  str_of(json_string(a->args, "command", "")));
}

bool run_needs_no_question(const struct run *r, const struct approval *a)
{
	if (r->options.yes || !on_host(r) || !(a->tool->flags & TOOL_ASKS))
		return true;
	return is_execute(a) && permitted(r, a);
}

void run_approve_unattended(struct run *r, struct approval *a)
{
	bool listed = r->options.allow.given && is_execute(a);

	a->allowed = r->options.yes || !(a->tool->flags & TOOL_ASKS) ||
		     (listed ? permitted(r, a) : !on_host(r));
	if (a->allowed)
		return;
	if (listed)
		refuse_command(r, json_string(a->args, "command", ""),
			       &a->reason);
	else if (is_execute(a))
		buf_adds(&a->reason,
			 "Shell commands are not permitted in non-interactive "
			 "mode without a --shell-allow-list. Use "
			 "--shell-allow-list to specify allowed commands.");
	else
		buf_addf(&a->reason,
			 "%s is not permitted in non-interactive mode on the "
			 "user's own machine. Only reading tools are; tell the "
			 "user to run with --auto-approve or with a --sandbox.",
			 a->tool->spec.name);
}

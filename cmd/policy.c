/* policy.c - what the machine's policy lets a run do. */
/* SPDX-License-Identifier: MIT */
#include "cmd/policy.h"

#include <string.h>

int policy_check(struct app *app, const struct subcommand *sub,
		 struct error *err)
{
	struct settings *set;
	const char *why;

	if (sub && sub->flags & SUB_EXPLAINS)
		return 0;
	if (app_settings(app, &set, err) < 0)
		return -1;
	why = settings_policy_error(set);
	if (!why)
		return 0;
	error_set(err, ERR_POLICY, "the policy of this machine: %s", why);
	return error_hint(err, "Ask whoever looks after this machine; dcode"
			       " config path shows the file.");
}

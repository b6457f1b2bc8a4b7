/* policy.c - what the machine's policy lets a run do. */
/* SPDX-License-Identifier: MIT */
#include "cmd/policy.h"

#include <string.h>

#include "cmd/secret.h"

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

int policy_go_on_without(struct app *app, const struct error *why,
			 struct error *err)
{
	int rc = 0;

	if (!app->json && secret_terminal(app)) {
		app_borrow_terminal(app);
		app_warn_line(why->message);
		rc = secret_confirm(app, "Go on without this file? [y/N] ",
				    err);
		app_return_terminal(app);
		if (rc)
			return rc < 0 ? -1 : 0;
	}
	*err = *why;
	err->code = ERR_UNGUARDED;
	return err->hint[0] ? -1
			    : error_hint(err, "It restricts what dcode may do. "
					      "Mend it, or start a chat, which "
					      "asks.");
}

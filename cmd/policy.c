/* policy.c - refuses to run if the machine's policy or the user's config.toml
 * cannot be used. */
/* SPDX-License-Identifier: MIT */
#include "cmd/policy.h"

#include "cmd/secret.h"

/* Checks that config.toml could be read. If not, restrictions in it may be
 * missing: fails, or asks the user whether to continue. */
static int check_config(struct app *app, const struct subcommand *sub,
			const struct settings *set, struct error *err)
{
	const char *fault = settings_unguarded(set);
	struct error why = { 0 };

	if (!fault || (sub && sub->flags & SUB_UNRESTRICTED))
		return 0;
	error_set(&why, ERR_UNGUARDED, "%s", fault);
	error_hint(&why, "Fix the file. Until then, only dcode config and "
			 "dcode doctor run.");
	error_topic(&why, "toml");
	if (policy_go_on_without(app, &why, err) < 0)
		return -1;
	app->goes_without = true;
	return 0;
}

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
		return check_config(app, sub, set, err);
	error_set(err, ERR_POLICY, "the policy of this machine: %s", why);
	return error_hint(err, "Ask the administrator of this machine. `dcode "
			       "config path` shows the file.");
}

/* Asks only at a terminal; otherwise fails. */
int policy_go_on_without(struct app *app, const struct error *why,
			 struct error *err)
{
	bool asks = !app->json && secret_terminal(app);
	int rc = 0;

	if (asks) {
		app_borrow_terminal(app);
		app_warn_line(why->message);
		rc = secret_confirm(app, "Continue without this file? [y/N] ",
				    err);
		app_return_terminal(app);
		if (rc)
			return rc < 0 ? -1 : 0;
	}
	*err = *why;
	err->code = ERR_UNGUARDED;
	if (err->hint[0])
		return -1;
	return error_hint(
		err,
		asks ? "This file restricts what dcode may do. Fix it first."
		     : "This file restricts what dcode may do. Fix it, or "
		       "start a chat, which asks.");
}

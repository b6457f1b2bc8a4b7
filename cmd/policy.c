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

static int forbidden(const char *flag, const char *key,
		     const struct toml_value *v, struct error *err)
{
	return error_set(err, ERR_POLICY,
			 "%s is not allowed on this machine: %s:%d sets %s",
			 flag, SETTINGS_POLICY_FILE, v->line, key);
}

/* -y would go over each of these. */
static int check_yes(const struct settings *set, struct error *err)
{
	static const char *const keys[] = { "startup.mode", "shell.allow_list",
					    "startup.yolo_switcher" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct toml_value *v = settings_policy(set, keys[i]);

		if (v && !(v->kind == TOML_BOOL && v->integer))
			return forbidden("--auto-approve (-y)", keys[i], v,
					 err);
	}
	return 0;
}

int policy_apply(struct run_options *o, const struct settings *set,
		 struct error *err)
{
	const struct toml_value *list =
		settings_policy(set, "shell.allow_list");
	const struct toml_value *steps =
		settings_policy(set, "runtime.recursion_limit");

	if (o->yes && check_yes(set, err) < 0)
		return -1;
	if (list && o->allow.given)
		return forbidden("--shell-allow-list (-S)", "shell.allow_list",
				 list, err);
	/* A turn is two steps: the model's answer, and its tools. */
	if (steps && (!o->max_turns || o->max_turns > steps->integer / 2))
		o->max_turns = steps->integer / 2;
	return 0;
}

void policy_remark(const struct run_options *o, const struct settings *set)
{
	const struct toml_value *box =
		settings_policy(set, "sandboxes.default");

	if (box && box->kind == TOML_STRING && box->text[0] &&
	    !strcmp(o->sandbox, "none"))
		app_warn("sandboxes.default of this machine is '%s', but tools"
			 " run here: no --sandbox was given",
			 box->text);
}

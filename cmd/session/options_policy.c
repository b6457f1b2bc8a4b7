/* options_policy.c - what the machine's policy forbids on the command line. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cmd/app.h"
#include "cmd/session/options.h"
#include "providers/built_in.h"

static int refuse_by_policy(const char *flag, const char *key,
			    const struct toml_value *v, struct error *err)
{
	return error_set(err, ERR_POLICY,
			 "%s is not allowed on this machine: %s:%d sets %s",
			 flag, SETTINGS_POLICY_FILE, v->line, key);
}

/* Fails if -y or yolo would bypass one of these settings of the policy. */
int run_options_check_yes(const struct settings *set, const char *what,
			  struct error *err)
{
	static const char *const keys[] = { "startup.mode", "shell.allow_list",
					    "startup.yolo_switcher" };

	static const char *const asking[][2] = {
		{ "approvals.sandbox", "ask" },
		{ "approvals.review", "all" },
	};
	const struct toml_value *v;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		v = settings_policy(set, keys[i]);
		if (v && !(v->kind == TOML_BOOL && v->integer))
			return refuse_by_policy(what, keys[i], v, err);
	}
	for (size_t i = 0; i < sizeof(asking) / sizeof(asking[0]); i++) {
		v = settings_policy(set, asking[i][0]);
		if (v && v->kind == TOML_STRING &&
		    !strcmp(v->text, asking[i][1]))
			return refuse_by_policy(what, asking[i][0], v, err);
	}
	return 0;
}

/* Flags may be stricter than the policy, but not less strict. */
int run_policy_apply(struct run_options *o, const struct settings *set,
		     struct error *err)
{
	const struct toml_value *list =
		settings_policy(set, "shell.allow_list");
	const struct toml_value *steps =
		settings_policy(set, "runtime.recursion_limit");

	if (o->yes &&
	    run_options_check_yes(set, "--auto-approve (-y)", err) < 0)
		return -1;
	if (o->yolo && run_options_check_yes(set, "--yolo", err) < 0)
		return -1;
	if (list && o->allow.given)
		return refuse_by_policy("--shell-allow-list (-S)",
					"shell.allow_list", list, err);
	/* One turn has two steps: the model's answer and its tool calls. */
	if (steps && (!o->max_turns || o->max_turns > steps->integer / 2))
		o->max_turns = steps->integer / 2;
	return 0;
}

void run_policy_remark(const struct run_options *o, const struct settings *set)
{
	const struct toml_value *box =
		settings_policy(set, "sandboxes.default");

	if (box && box->kind == TOML_STRING && box->text[0] &&
	    sandbox_is_none(o->sandbox))
		app_warn("[sandboxes] default is '%s', but tools run on this "
			 "machine: --sandbox was not given",
			 box->text);
}

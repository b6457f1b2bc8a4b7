/* run_workspace_options.c - what of the user's tree a run is to send. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/session/limits.h"
#include "cmd/session/run.h"

enum { HISTORY_MOST = 100000 }; /* commits */

static bool is_mode(const char *word)
{
	return !strcmp(word, "repo") || !strcmp(word, "none") ||
	       !strcmp(word, "bind");
}

static int read_include(struct run_options *o, const struct settings *set,
			const struct args *args, struct error *err)
{
	const char *const *names = NULL;
	const char *one;
	size_t n = 0;
	size_t at = 0;

	if (settings_list(set, NULL, "workspace.include", &names, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		o->include = xrealloc(o->include, o->n_include + 1,
				      sizeof(*o->include));
		o->include[o->n_include++] = names[i];
	}
	while ((one = args_next(args, "include", &at))) {
		o->include = xrealloc(o->include, o->n_include + 1,
				      sizeof(*o->include));
		o->include[o->n_include++] = one;
	}
	return 0;
}

/* The flag, else the setting. */
static int read_history(struct run_options *o, const struct settings *set,
			const struct args *args, struct error *err)
{
	const char *flag = args_value(args, "history");

	if (settings_int(set, NULL, "workspace.history", &o->history, err) < 0)
		return -1;
	if (!flag && o->history >= 0 && o->history <= HISTORY_MOST)
		return 0;
	if (!flag)
		return error_set(err, ERR_CONFIG,
				 "[workspace] history = %" PRId64
				 ": use 0 to %d",
				 o->history, HISTORY_MOST);
	if (!str_to_int(str_of(flag), &o->history) || o->history < 0 ||
	    o->history > HISTORY_MOST)
		return error_set(err, ERR_USAGE,
				 "argument --history: use 0 to %d, not '%s'",
				 HISTORY_MOST, flag);
	return 0;
}

/* The flag that is about a tree in the sandbox, or NULL. */
static const char *tree_flag(const struct run_options *o,
			     const struct args *args, bool unattended)
{
	if (unattended && o->apply)
		return "--apply";
	if (unattended && o->branch)
		return "--branch";
	if (args_value(args, "include"))
		return "--include";
	return args_value(args, "history") && o->history ? "--history" : NULL;
}

/* The tree must be going to be sent, asked about, or have been sent before. */
static int check_tree(const struct run_options *o, const struct args *args,
		      bool unattended, struct error *err)
{
	const char *flag = tree_flag(o, args, unattended);
	bool may_send = o->workspace ? !strcmp(o->workspace, "repo")
				     : !unattended || o->resume;

	if (!flag || (may_send && strcmp(o->sandbox, "none") != 0))
		return 0;
	return error_set(err, ERR_USAGE,
			 "%s requires --workspace repo and a --sandbox "
			 "provider",
			 flag);
}

int run_workspace_resolve(struct run_options *o, struct app *app,
			  const struct args *args, struct error *err)
{
	const char *flag = args_value(args, "workspace");
	struct settings *set;

	if (app_settings(app, &set, err) < 0 ||
	    settings_string(set, NULL, "workspace.mode", &o->workspace, err) <
		    0 ||
	    read_include(o, set, args, err) < 0 ||
	    read_history(o, set, args, err) < 0)
		return -1;
	if (o->workspace && !is_mode(o->workspace))
		return error_set(err, ERR_CONFIG,
				 "[workspace] mode = \"%s\": use repo, none or"
				 " bind",
				 o->workspace);
	if (flag && !is_mode(flag))
		return error_set(err, ERR_USAGE,
				 "argument --workspace: invalid choice: '%s' "
				 "(choose from 'repo', 'none', 'bind')",
				 flag);
	if (flag)
		o->workspace = flag;
	if (!strcmp(o->sandbox, "none")) {
		o->workspace = NULL;
		if (flag && strcmp(flag, "none") != 0)
			return error_set(err, ERR_USAGE,
					 "--workspace requires a --sandbox "
					 "provider");
	}
	if (check_tree(o, args, app->unattended, err) < 0)
		return -1;
	if (strcmp(o->sandbox, "none") != 0 && limits_check(set, err) < 0)
		return -1;
	if (o->workspace && !strcmp(o->workspace, "bind"))
		return run_bind_resolve(o, set, flag != NULL, err);
	return 0;
}

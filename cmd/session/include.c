/* include.c - the patterns that bring what else stays behind. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/include.h"

#include "base/mem.h"

static void add(const char ***all, size_t *n, const char *pattern)
{
	*all = xrealloc(*all, *n + 1, sizeof(**all));
	(*all)[(*n)++] = pattern;
}

const char **include_read(struct app *app, const struct args *args, size_t *n,
			  struct error *err)
{
	const char *const *names = NULL;
	const char **all;
	const char *one;
	struct settings *set;
	size_t n_names;
	size_t at = 0;

	*n = 0;
	if (app_settings(app, &set, err) < 0 ||
	    settings_list(set, NULL, "workspace.include", &names, &n_names,
			  err) < 0)
		return NULL;
	all = xcalloc(1, sizeof(*all));
	for (size_t i = 0; i < n_names; i++)
		add(&all, n, names[i]);
	for (size_t i = 0; app->chat && i < app->chat->n_include; i++)
		add(&all, n, app->chat->include[i]);
	while (args && (one = args_next(args, "include", &at)))
		add(&all, n, one);
	return all;
}

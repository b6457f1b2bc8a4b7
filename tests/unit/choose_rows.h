/* choose_rows.h - what is chosen of a configuration: for choose_*_test.c. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CHOOSE_ROWS_H
#define TESTS_CHOOSE_ROWS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/ids.h"
#include "base/path.h"
#include "base/str.h"
#include "model/model.h"

struct row {
	const char *config;  /* config.toml */
	const char *env[5];  /* NAME=value */
	const char *spec;    /* --model */
	const char *params;  /* --model-params */
	const char *retries; /* --max-retries */
	/* "provider model wire base_url key params retries"; or, after "!",
	 * the error's code and a part of its message and hint */
	const char *want;
};

static inline struct settings *load(const struct row *row, const char *home)
{
	static const struct setting_group groups[] = {
		{ .rows = settings_core },
		{ 0 },
	};
	struct settings_input in = {
		.home = home,
		.cwd = home,
		.environ = (char **)row->env,
		.groups = groups,
	};
	char *dir = path_join(home, ".deepagents");
	char *file = path_join(dir, "config.toml");
	struct settings *set = NULL;
	struct error err = { 0 };

	assert_int_equal(path_mkdirs(dir, 0700, &err), 0);
	assert_int_equal(path_write(file, str_of(row->config), 0600, &err), 0);
	assert_int_equal(settings_load(&set, &in, &err), 0);
	if (row->retries)
		assert_int_equal(settings_set_flag(set, "retries.max_retries",
						   row->retries, &err),
				 0);
	free(file);
	free(dir);
	return set;
}

static inline void check(const struct row *row, const char *home)
{
	struct settings *set = load(row, home);
	struct model_choice c;
	struct error err = { 0 };
	char got[2000];
	bool same;

	if (model_choose(&c, set, row->spec, row->params, &err) == 0)
		snprintf(got, sizeof(got), "%s %s %s %s %s %s %d", c.provider,
			 c.model, c.wire, c.base_url,
			 c.api_key ? c.api_key : "-", c.params, c.max_retries);
	else
		snprintf(got, sizeof(got), "!%s %s / %s", error_name(err.code),
			 err.message, err.hint);
	if (row->want[0] == '!') {
		const char *rest = strchr(row->want, ' ');

		same = strncmp(got, row->want, (size_t)(rest - row->want)) ==
			       0 &&
		       strstr(got, rest + 1);
	} else {
		same = strcmp(got, row->want) == 0;
	}
	if (!same)
		fail_msg("%s: %s\n  wanted %s", row->spec ? row->spec : "-",
			 got, row->want);
	model_choice_release(&c);
	settings_free(set);
}

static inline void check_all(const struct row *rows, size_t n)
{
	char home[] = "/tmp/choose_test.XXXXXX";
	struct error err = { 0 };

	assert_non_null(mkdtemp(home));
	for (size_t i = 0; i < n; i++)
		check(&rows[i], home);
	assert_int_equal(path_remove_tree(home, &err), 0);
}

#define ALL(rows) check_all(rows, sizeof(rows) / sizeof(rows[0]))

#endif

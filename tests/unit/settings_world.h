/* settings_world.h - a home, a project and an environment to load from. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SETTINGS_WORLD_H
#define TESTS_SETTINGS_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "config/settings.h"

static const struct setting box_rows[] = {
	{ .key = "image", .fallback = "\"python:3\"", .env = "BOX_IMAGE" },
	{ .key = "memory", .type = SETTING_INT, .fallback = "512" },
	{ .key = "privileged", .type = SETTING_BOOL, .env = "BOX_ROOT" },
	{ .key = "mounts", .type = SETTING_LIST, .env = "BOX_MOUNTS" },
	{ .key = "api_key", .flags = SETTING_SECRET, .env = "BOX_API_KEY" },
	{ .key = "token", .flags = SETTING_SECRET, .env = "BOX_TOKEN" },
	{ 0 },
};

static const struct setting_group groups[] = {
	{ .rows = settings_core },
	{ .name = "box", .rows = box_rows },
	{ 0 },
};

/* A home with a project in it, gone again after the test. */
struct world {
	char home[64];
	char *project;
	char *deep; /* below the project */
	char *environ[16];
	size_t n_environ;
	struct settings *s;
	const struct settings_store *store; /* NULL: without stored keys */
};

static inline void put(const struct world *w, const char *name,
		       const char *text)
{
	char *path = path_join(w->home, name);
	char *slash = strrchr(path, '/');
	struct error err = { 0 };

	*slash = '\0';
	assert_int_equal(path_mkdirs(path, 0700, &err), 0);
	*slash = '/';
	assert_int_equal(path_write(path, str_of(text), 0600, &err), 0);
	free(path);
}

static inline int set_up(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));
	struct error err = { 0 };

	snprintf(w->home, sizeof(w->home), "/tmp/dcode-settings-XXXXXX");
	if (!mkdtemp(w->home))
		return -1;
	w->project = path_join(w->home, "project");
	w->deep = path_join(w->project, "a/b");
	*state = w;
	return path_mkdirs(w->deep, 0700, &err);
}

static inline int tear_down(void **state)
{
	struct world *w = *state;
	struct error err = { 0 };

	settings_free(w->s);
	path_remove_tree(w->home, &err);
	free(w->project);
	free(w->deep);
	free(w);
	return 0;
}

static inline struct settings *load(struct world *w)
{
	struct settings_input in = {
		.home = w->home,
		.cwd = w->deep,
		.environ = w->environ,
		.groups = groups,
		.store = w->store,
	};
	struct error err = { 0 };

	settings_free(w->s);
	w->s = NULL;
	if (settings_load(&w->s, &in, &err) < 0)
		fail_msg("%s", err.message);
	return w->s;
}

static inline void export(struct world *w, const char *entry)
{
	w->environ[w->n_environ++] = (char *)entry;
}

static inline bool warned(const struct settings *s, const char *part)
{
	const char *const *list;
	size_t n = settings_warnings(s, &list);

	for (size_t i = 0; i < n; i++)
		if (strstr(list[i], part))
			return true;
	return false;
}

static inline size_t count_warnings(const struct settings *s)
{
	const char *const *list;

	return settings_warnings(s, &list);
}

#define IN_A_WORLD(test)                                                       \
	cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif

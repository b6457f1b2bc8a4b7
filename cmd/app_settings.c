/* app_settings.c - loads and reloads the settings of a run. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/app.h"
#include "config/settings_env.h"
#include "providers/built_in.h"
#include "providers/local/local.h"

static void add_secret(void *arg, const char *name, const char *value)
{
	(void)mask_add(arg, name, str_of(value));
}

static struct setting_group *list_groups(void)
{
	struct setting_group *groups;
	size_t n = 0;

	while (sandbox_providers[n])
		n++;
	groups = xcalloc(n + 2, sizeof(*groups));
	groups[0].rows = settings_core;
	for (size_t i = 0; i < n; i++) {
		groups[i + 1].name = sandbox_providers[i]->name;
		groups[i + 1].rows = sandbox_providers[i]->settings;
		groups[i + 1].also = sandbox_providers[i]->also;
	}
	return groups;
}

enum { TOLD_MAX = 8192 /* bytes */ };

/* Stores the last warning about ignored settings. If that fails, the next run
 * prints the warning again. */
static void keep_told(const char *dir, const char *file, const char *line)
{
	struct error ignored = { 0 };

	if (path_mkdirs(dir, 0700, &ignored) == 0)
		(void)path_write(file, str_of(line), 0600, &ignored);
}

/* A config.toml of the Python program may have settings that dcode ignores.
 * Warns once, and again when the list changes. */
static void tell_foreign(struct app *app, const struct settings *set)
{
	const char *line = settings_foreign(set);
	char *dir = path_join(settings_dir(set), ".state");
	char *file = path_join(dir, "ignored-settings");
	struct buf told = BUF_INIT(TOLD_MAX);
	struct error ignored = { 0 };

	if (path_read(file, &told, &ignored) < 0 || !told.len ||
	    strcmp(told.ptr, line) != 0) {
		app_warn("%s", line);
		app->told_foreign = true;
		keep_told(dir, file, line);
	}
	buf_release(&told);
	free(file);
	free(dir);
}

void app_tell_foreign(struct app *app)
{
	const char *line = settings_foreign(app->settings);

	if (line && !app->told_foreign)
		app_warn("%s", line);
	app->told_foreign = true;
}

/* Completes in with the members that are the same for every load, then
 * loads. */
static int load_settings(struct app *app, struct settings_input in,
			 struct settings **set, struct error *err)
{
	extern char **environ;
	const char *const *lines;
	size_t n;

	in.groups = app->groups;
	in.store = &app->keys;
	in.quiet = app->quiet;
	if (settings_load(set, &in, err) < 0)
		return -1;
	settings_wipe_environ(*set, environ);
	n = settings_warnings(*set, &lines);
	for (size_t i = 0; i < n; i++)
		app_warn("%s", lines[i]);
	if (settings_foreign(*set))
		tell_foreign(app, *set);
	if (!app->mask)
		app->mask = mask_new();
	settings_each_secret(*set, add_secret, app->mask);
	return 0;
}

/* Loads the settings on the first call and returns the same object later. */
int app_settings(struct app *app, struct settings **set, struct error *err)
{
	extern char **environ;
	char *cwd;
	int rc;

	*set = app->settings;
	if (app->settings)
		return 0;
	cwd = getcwd(NULL, 0);
	if (!app->groups)
		app->groups = list_groups();
	rc = load_settings(app,
			   (struct settings_input){
				   .environ = environ,
				   .cwd = cwd ? cwd : "/",
				   /* getenv() is safe: no thread runs yet */
				   .home = getenv("HOME"),
			   },
			   &app->settings, err);
	free(cwd);
	if (rc < 0)
		return -1;
	/* transcript files of killed runs */
	record_sweep_all(settings_dir(app->settings));
	*set = app->settings;
	return 0;
}

/* Refuses a reload that would drop restrictions, for example because
 * config.toml was saved half edited. */
static int check_reloaded(const struct settings *set, struct error *err)
{
	const char *policy = settings_policy_error(set);
	const char *fault = settings_unguarded(set);

	if (policy)
		return error_set(err, ERR_POLICY,
				 "the policy of this machine: %s", policy);
	return fault ? error_set(err, ERR_UNGUARDED, "%s", fault) : 0;
}

/* Keeps the replaced settings and providers in app->retired. */
int app_settings_reload(struct app *app, struct error *err)
{
	struct app_retired *old = xcalloc(1, sizeof(*old));
	char **environ_then = settings_environ_exported(app->settings);
	struct settings_input in = { .environ = environ_then,
				     .cwd = settings_cwd(app->settings),
				     .home = settings_home(app->settings) };
	struct settings *set;
	int rc = load_settings(app, in, &set, err);

	settings_environ_free(environ_then);
	if (rc == 0 && check_reloaded(set, err) < 0) {
		settings_free(set);
		rc = -1;
	}
	if (rc < 0) {
		free(old);
		return -1;
	}
	*old = (struct app_retired){ app->settings, app->providers,
				     app->retired };
	app->retired = old;
	app->settings = set;
	app->providers = NULL;
	return 0;
}

void app_settings_release(struct app *app)
{
	if (app->settings)
		settings_free(app->settings);
	while (app->retired) {
		struct app_retired *old = app->retired;

		app->retired = old->next;
		registry_free(old->providers);
		settings_free(old->settings);
		free(old);
	}
	free(app->groups);
}

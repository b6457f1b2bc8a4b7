/* install_uninstall.c - removes a provider that --package brought in. */
/* SPDX-License-Identifier: MIT */
#include "cmd/commands/install.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "cmd/secret.h"
#include "providers/external/provider_config.h"
#include "providers/registry.h"

enum { REMOVE_MS = 120000 };

int install_confirm(const struct install *in, const char *refusal,
		    const char *question)
{
	struct error err = { 0 };
	int rc;

	if (in->yes)
		return 0;
	if (!secret_terminal(in->app)) {
		fprintf(stderr,
			"%s in non-interactive mode. Pass --yes to proceed.\n",
			refusal);
		return 2;
	}
	rc = secret_confirm(in->app, question, &err);
	if (rc < 0)
		return 130;
	if (rc == 0)
		fputs("Aborted.\n", stderr);
	return rc ? 0 : 1;
}

static int confirm(const struct install *in)
{
	char *question = xasprintf("Remove '%s'? [y/N] ", in->name);
	int rc = install_confirm(in, "Refusing to uninstall", question);

	free(question);
	return rc;
}

/* The package that publishes a provider of this name, or the name itself.
 * Owned. */
static char *package_of(struct settings *set, const char *name)
{
	struct registry *r = registry_new(set, NULL);
	const struct sandbox_provider *p = registry_find(r, name);
	const char *origin = p ? registry_origin(r, p) : NULL;
	char *package;

	/* "acme_provider-1.2" */
	if (origin && origin[0] != '/' && !strchr(origin, ':') &&
	    strchr(origin, '-'))
		package = xstrndup(origin, strcspn(origin, "-"));
	else
		package = xstrdup(name);
	registry_free(r);
	return package;
}

/* Works on a copy, which then replaces the original. */
static int remove_package(struct settings *set, const char *name,
			  const struct stop *stop, struct error *err)
{
	struct install_log log = { .fd = -1 };
	char *home = python_home(set);
	char *site = path_join(home, "site-packages");
	char *stage = xasprintf("%s/.install-%ld", home, (long)getpid());
	char *fresh = path_join(stage, "site-packages");
	char *package = package_of(set, name);
	int rc = -1;

	if (access(site, F_OK) < 0) {
		error_set(err, ERR_NOT_FOUND, "'%s' is not installed", name);
		goto out;
	}
	install_sweep(home);
	if (install_log_open(&log, set, err) < 0 ||
	    path_mkdirs(stage, 0700, err) < 0 ||
	    install_copy(&log, site, fresh, stop, err) < 0 ||
	    install_remove_dist(fresh, package, err) < 0)
		goto out;
	rc = install_replace(site, fresh, err);
out:
	install_sweep(home);
	install_log_close(&log);
	free(package);
	free(fresh);
	free(stage);
	free(site);
	free(home);
	return rc;
}

static int remove_program(struct settings *set, const char *name,
			  struct error *err)
{
	char *dir = path_join(settings_dir(set), "providers");
	char *file = xasprintf("dcode-sandbox-%s", name);
	char *path = path_join(dir, file);
	char *gone = xasprintf("%s/.install-%ld", dir, (long)getpid());
	int rc = install_replace(path, gone, err);

	free(gone);
	free(path);
	free(file);
	free(dir);
	return rc;
}

static bool is_program(struct settings *set, const char *name)
{
	char *path = xasprintf("%s/providers/dcode-sandbox-%s",
			       settings_dir(set), name);
	bool is = access(path, F_OK) == 0;

	free(path);
	return is;
}

int install_uninstall(const struct install *in)
{
	struct stop stop = app_stop(in->app);
	struct settings *set;
	struct error err = { 0 };
	int lock;
	int rc;

	if (app_settings(in->app, &set, &err) < 0)
		return app_fail(in->app, &err);
	stop = stop_within(&stop, REMOVE_MS);
	rc = confirm(in);
	if (rc)
		return rc;
	lock = install_lock(set, &err);
	if (lock < 0)
		return app_fail(in->app, &err);
	rc = is_program(set, in->name)
		     ? remove_program(set, in->name, &err)
		     : remove_package(set, in->name, &stop, &err);
	close(lock);
	if (rc == 0) {
		printf("Uninstalled '%s'.\n", in->name);
		return 0;
	}
	if (err.code == ERR_NOT_FOUND && sandbox_provider_is_built_in(in->name))
		error_hint(&err, "It is built in.");
	return app_fail(in->app, &err);
}

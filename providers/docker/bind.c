/* bind.c - a directory of the user's as a container's working directory. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/bind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "providers/docker/engine.h"

/* Of "Mounts", unlike of "Binds", a source that the engine does not have is an
 * error, and it may have a colon. */
static void add_mount(cJSON *config, const char *source, const char *target)
{
	cJSON *mount = cJSON_CreateObject();

	cJSON_AddStringToObject(mount, "Type", "bind");
	cJSON_AddStringToObject(mount, "Source", source);
	cJSON_AddStringToObject(mount, "Target", target);
	cJSON_AddItemToArray(cJSON_AddArrayToObject(config, "Mounts"), mount);
}

bool docker_has_mounts(const struct settings *set)
{
	const char *const *list = NULL;
	struct error ignored = { 0 };
	const char *dir = NULL;
	size_t n = 0;

	(void)settings_string(set, "docker", "bind", &dir, &ignored);
	(void)settings_list(set, "docker", "mounts", &list, &n, &ignored);
	return dir || n > 0;
}

int docker_bind_mount(const struct docker *d, cJSON *config, struct error *err)
{
	const char *workdir = NULL;
	const char *dir = NULL;
	char *real = NULL;
	int rc;

	if (settings_string(d->settings, "docker", "bind", &dir, err) < 0 ||
	    settings_directory(d->settings, "docker", "workdir", &workdir,
			       err) < 0)
		return -1;
	if (!dir)
		return 0;
	if (!d->engine.socket) {
		error_set(err, ERR_CONFIG,
			  "the engine at %s is on another machine: it cannot "
			  "bind %s",
			  d->engine.shown, dir);
		return error_hint(err,
				  "Use --workspace repo: it sends a copy.");
	}
	rc = bind_check(d->settings, dir, &real, err);
	if (rc == 0)
		add_mount(config, real, workdir);
	free(real);
	return rc;
}

static bool is_rootless(const cJSON *info)
{
	const cJSON *option;

	cJSON_ArrayForEach (option, json_get(info, "SecurityOptions"))
		if (cJSON_IsString(option) &&
		    str_starts(str_of(option->valuestring), "name=rootless"))
			return true;
	return json_bool(info, "Rootless", false); /* Podman */
}

void docker_bind_user(const cJSON *info, char *user, size_t size)
{
	if (is_rootless(info))
		snprintf(user, size, "0:0");
	else
		snprintf(user, size, "%lu:%lu", (unsigned long)geteuid(),
			 (unsigned long)getegid());
}

bool docker_is_bound(const struct sandbox *sb)
{
	const struct sandbox_mounts *m = &sb->mounts;

	for (size_t i = 0; i < m->n; i++) {
		size_t len = strlen(m->list[i].inside);

		if (!strncmp(sb->workdir, m->list[i].inside, len) &&
		    (!sb->workdir[len] || sb->workdir[len] == '/'))
			return true;
	}
	return false;
}

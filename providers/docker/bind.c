/* bind.c - a directory of the user's as a container's working directory. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/bind.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/str.h"
#include "providers/docker/engine.h"
#include "sandbox/bind_git.h"

/* Of "Mounts", unlike of "Binds", a source that the engine does not have is an
 * error, and it may have a colon. */
static void add_mount(cJSON *mounts, const char *source, const char *target,
		      bool writable)
{
	cJSON *mount = cJSON_CreateObject();

	cJSON_AddStringToObject(mount, "Type", "bind");
	cJSON_AddStringToObject(mount, "Source", source);
	cJSON_AddStringToObject(mount, "Target", target);
	if (!writable)
		cJSON_AddBoolToObject(mount, "ReadOnly", true);
	cJSON_AddItemToArray(mounts, mount);
}

struct git_mounts {
	const struct bind_git *git;
	cJSON *mounts;
};

/* A mount needs something to lie on: of what is not there git would obey only
 * these two, which may stay, empty. The engine sorts mounts by their targets.
 */
static void add_git_mount(void *arg, const char *name, enum bind_git_use use)
{
	struct git_mounts *m = arg;
	char *path = path_join(m->git->common, name);
	struct stat st;
	int fd;

	if (!strcmp(name, "objects/info")) {
		(void)mkdir(path, 0755);
	} else if (str_ends(str_of(name), "/config.worktree")) {
		fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
			  0644);
		if (fd >= 0)
			close(fd);
	}
	/* The engine would mount what a link names. */
	if (lstat(path, &st) == 0 && !S_ISLNK(st.st_mode))
		add_mount(m->mounts, path, path, use == BIND_GIT_WRITES);
	free(path);
}

/* The repository of a linked worktree. That of a submodule could get a
 * commondir in its directory, which only local can prevent. */
static void add_git(cJSON *mounts, const struct settings *set, const char *dir)
{
	struct bind_git git;
	struct git_mounts m = { &git, mounts };

	if (bind_git_find(&git, set, dir) &&
	    strcmp(git.git_dir, git.common) != 0) {
		add_mount(mounts, git.common, git.common, false);
		bind_git_each(&git, add_git_mount, &m);
	}
	bind_git_release(&git);
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
	cJSON *mounts;
	int rc;

	if (settings_string(d->settings, "docker", "bind", &dir, err) < 0 ||
	    settings_directory(d->settings, "docker", "workdir", &workdir,
			       err) < 0)
		return -1;
	if (!dir)
		return 0;
	if (!d->engine.socket) {
		error_set(err, ERR_CONFIG,
			  "the engine at %s is on another machine and cannot "
			  "mount %s",
			  d->engine.shown, dir);
		return error_hint(err,
				  "Use --workspace repo, which sends a copy.");
	}
	rc = bind_check(d->settings, dir, &real, err);
	if (rc == 0) {
		mounts = cJSON_AddArrayToObject(config, "Mounts");
		add_mount(mounts, real, workdir, true);
		if (!strcmp(workdir, real))
			add_git(mounts, d->settings, real);
	}
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

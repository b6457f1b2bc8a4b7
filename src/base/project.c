/* project.c - decides which files above the working directory are trusted. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at project_check(), which follows a path from a directory that
 * is trusted and looks at the owner of each part, and at project_go_up(), which
 * decides whether the walk may enter the directory above.
 */
#include "base/project.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"

uid_t project_owner(const char *cwd)
{
	struct stat st;

	return stat(cwd, &st) == 0 ? st.st_uid : geteuid();
}

bool project_trusts(const struct stat *st, uid_t owner)
{
	return st->st_uid == 0 || st->st_uid == geteuid() ||
	       st->st_uid == owner;
}

static bool trusts_directory(const char *dir, uid_t owner)
{
	struct stat st;

	return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
	       project_trusts(&st, owner);
}

bool project_trusts_git(const char *git_dir, const char *common, uid_t owner)
{
	return trusts_directory(git_dir, owner) &&
	       trusts_directory(common, owner);
}

/* Returns the length of the parent directory's name; 0 if path is the root. */
static size_t parent_length(const char *path, size_t len)
{
	if (len <= 1)
		return 0;
	while (len && path[len - 1] != '/')
		len--;
	return len > 1 ? len - 1 : len;
}

static bool may_enter(const struct stat *st, uid_t owner)
{
	return project_trusts(st, owner) && !(st->st_mode & S_IWOTH);
}

bool project_go_up(const char *cwd, size_t *len, uid_t owner)
{
	size_t above = parent_length(cwd, *len);
	char *dir = xstrndup(cwd, above);
	struct stat st;
	bool goes_on = above && lstat(dir, &st) == 0 && may_enter(&st, owner);

	free(dir);
	if (goes_on)
		*len = above;
	return goes_on;
}

/* Calls lstat() for .git in the directory that is the first len bytes of cwd.
 * False if it does not exist. */
static bool stat_git(const char *cwd, size_t len, struct stat *st)
{
	char *dir = xstrndup(cwd, len);
	char *git = path_join(dir, ".git");
	bool exists = lstat(git, st) == 0;

	free(git);
	free(dir);
	return exists;
}

size_t project_root(const char *cwd, uid_t owner, bool *is_repository)
{
	size_t len = strlen(cwd);
	bool found = false;
	struct stat st;

	do {
		found = stat_git(cwd, len, &st) && project_trusts(&st, owner);
	} while (!found && project_go_up(cwd, &len, owner));
	if (is_repository)
		*is_repository = found;
	return found ? len : strlen(cwd);
}

static int refuse_owner(const char *path, const struct stat *st,
			struct error *err)
{
	return error_set(err, ERR_CONFIG,
			 "%s belongs to another user (uid %lu)", path,
			 (unsigned long)st->st_uid);
}

int project_check(const char *dir, const char *path, uid_t owner,
		  struct error *err)
{
	char *part = xstrdup(path);
	size_t len = strlen(dir);
	size_t end = strncmp(path, dir, len) ? 0 : len;
	int rc = 0;

	while (rc == 0 && path[end]) {
		struct stat st;

		end += strspn(path + end, "/");
		end += strcspn(path + end, "/");
		part[end] = '\0';
		if (lstat(part, &st) < 0)
			rc = 1;
		else if (!project_trusts(&st, owner))
			rc = refuse_owner(part, &st, err);
		else if (S_ISLNK(st.st_mode) && stat(part, &st) < 0)
			rc = 1;
		else if (!project_trusts(&st, owner))
			rc = refuse_owner(part, &st, err);
		part[end] = path[end];
	}
	free(part);
	return rc;
}

int project_read(const char *dir, const char *path, uid_t owner,
		 struct buf *out, struct error *err)
{
	int rc = project_check(dir, path, owner, err);
	struct stat st;
	int fd = -1;

	if (rc == 0)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (rc == 0 && fd < 0)
		rc = error_errno(err, "reading %s", path);
	else if (rc == 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
		rc = error_set(err, ERR_CONFIG, "%s is not a regular file",
			       path);
	else if (rc == 0 && !project_trusts(&st, owner))
		rc = refuse_owner(path, &st, err);
	if (rc == 0)
		return path_read_fd(fd, path, out, err);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Moves *len to the next directory upwards. After the walk of project_go_up()
 * has ended, moves once more, to the first directory beyond it, and sets
 * *ended. False after that. */
static bool move_up(const char *cwd, size_t *len, uid_t owner, bool *ended)
{
	if (*ended)
		return false;
	*ended = !project_go_up(cwd, len, owner);
	if (*ended)
		*len = parent_length(cwd, *len);
	return *len > 0;
}

/* Returns the line for the user that says why a .git is not trusted, and what
 * to type to trust it. Owned. */
static char *explain_distrust(const char *cwd, const char *dir,
			      const struct stat *git, uid_t owner)
{
	const char *slash = dir[1] ? "/" : "";
	struct stat st = { 0 };
	bool is_cwd = !strcmp(cwd, dir);

	(void)lstat(dir, &st);
	if (project_trusts(git, owner) && project_trusts(&st, owner))
		return xasprintf(
			"%s%s.git is not used, because every user may write to "
			"%s. If it is the repository of %s, run chmod o-w %s",
			dir, slash, dir, cwd, dir);
	if (!is_cwd && st.st_uid == git->st_uid && !(st.st_mode & S_IWOTH))
		return xasprintf("%s%s.git is not used, because it belongs to "
				 "another user (uid %lu), like %s. To work in "
				 "that repository, run cd %s",
				 dir, slash, (unsigned long)git->st_uid, dir,
				 dir);
	return xasprintf("%s%s.git is not used, because it belongs to another "
			 "user (uid %lu). If it is the repository of %s, run "
			 "chown -R %lu %s%s.git",
			 dir, slash, (unsigned long)git->st_uid, cwd,
			 (unsigned long)geteuid(), dir, slash);
}

char *project_ignored_git(const char *cwd)
{
	uid_t owner = project_owner(cwd);
	size_t len = strlen(cwd);
	bool ended = false;
	char *line = NULL;

	do {
		struct stat st;
		char *dir;

		if (!stat_git(cwd, len, &st))
			continue;
		if (!ended && project_trusts(&st, owner))
			break;
		dir = xstrndup(cwd, len);
		line = explain_distrust(cwd, dir, &st, owner);
		free(dir);
	} while (!line && move_up(cwd, &len, owner, &ended));
	return line;
}

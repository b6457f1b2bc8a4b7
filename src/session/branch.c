/* branch.c - the name of the git branch that a directory is on. */
/* SPDX-License-Identifier: MIT */
#include "session/branch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/project.h"
#include "base/str.h"

enum { LINE_MOST = 4096 };

/* The first line of a small file; false when it cannot be read. */
static bool read_line(const char *path, char line[LINE_MOST])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return false;
	n = io_read(fd, line, LINE_MOST - 1);
	close(fd);
	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	return n > 0;
}

static bool read_head(const char *path, char line[LINE_MOST])
{
	char *head = xasprintf("%s/HEAD", path);
	bool ok = read_line(head, line);

	free(head);
	return ok;
}

/* .git is a directory, or a file that names it: "gitdir: ../.git/worktrees/x"
 * (gitrepository-layout(5)). */
static bool read_git(const char *directory, char line[LINE_MOST])
{
	char *git = path_join(directory, ".git");
	char *named;
	bool ok = read_head(git, line);

	if (!ok && read_line(git, line) &&
	    str_starts(str_of(line), "gitdir: ")) {
		named = path_join(directory, line + strlen("gitdir: "));
		ok = read_head(named, line);
		free(named);
	}
	free(git);
	return ok;
}

void branch_read(const char *directory, char out[BRANCH_SIZE])
{
	static const char ref[] = "ref: refs/heads/";
	bool is_repository = false;
	char line[LINE_MOST];
	char *root;

	out[0] = '\0';
	if (!directory || directory[0] != '/')
		return;
	root = xstrdup(directory);
	root[project_root(root, project_owner(root), &is_repository)] = '\0';
	if (is_repository && read_git(root, line) &&
	    str_starts(str_of(line), ref))
		snprintf(out, BRANCH_SIZE, "%s", line + strlen(ref));
	free(root);
}

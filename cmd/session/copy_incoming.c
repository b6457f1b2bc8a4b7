/* copy_incoming.c - the names that a copy out of a sandbox leaves out unasked.
 */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/copy_incoming.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "worktree/name.h"

static const char is_git[] =
	"git could run commands from it (--bring NAME copies it)";
static const char is_bare[] =
	"it would make its directory a git repository, whose config can run "
	"commands (--bring DIRECTORY copies it)";
static const char leads_to_git[] = "it is a link into .git";
static const char is_behind_link[] =
	"a link that is here already leads from its path into .git";

/* The last name of a path, a slash at its end not counted. */
static struct str last_of(struct str path)
{
	size_t start;

	while (path.len && path.ptr[path.len - 1] == '/')
		path.len--;
	start = path.len;
	while (start && path.ptr[start - 1] != '/')
		start--;
	return str_skip(path, start);
}

static bool is_asked_for(const struct incoming *in, struct str name)
{
	for (size_t i = 0; i < in->n_bring; i++)
		if (str_is(name, in->bring[i]))
			return true;
	return false;
}

int incoming_open(struct incoming *in, const char *directory, struct error *err)
{
	if (tree_dir_open(&in->disk, directory, err) < 0)
		return -1;
	in->opened = true;
	in->directory = xstrdup(directory);
	return 0;
}

int incoming_open_stream(struct incoming *in, const char *source,
			 struct error *err)
{
	struct str name = str_of(source);

	while (str_ends(name, "/."))
		name.len -= 2;
	if (incoming_open(in, ".", err) < 0)
		return -1;
	in->follows = true;
	free(in->directory);
	in->directory = xstrndup(name.ptr, name.len);
	return 0;
}

/* The length of path up to a .git that nobody asked for, or 0. */
static size_t find_git(const struct incoming *in, struct str path)
{
	size_t end = 0;
	size_t more;

	while ((more = name_find_git(str_skip(path, end)))) {
		end += more;
		if (!is_asked_for(in, last_of((struct str){ path.ptr, end })))
			return end;
		end += end < path.len; /* the slash */
	}
	return 0;
}

/* Whether path would be part of a repository without .git. */
static bool is_in_bare(struct incoming *in, struct str path)
{
	char *plain;
	int len;
	struct str directory;

	/* The .git that was asked for is one. */
	if (name_find_git(path))
		return false;
	bare_repo_add(&in->made, path);
	plain = xstrndup(path.ptr, path.len);
	len = bare_repo_find(&in->made, &in->disk, plain);
	directory = len > 0 ? (struct str){ plain, (size_t)len }
			    : str_of(in->directory);
	if (len >= 0 && is_asked_for(in, last_of(directory)))
		len = -1;
	free(plain);
	return len >= 0;
}

/* Whether who writes path follows a link that is there already into a .git. */
static bool is_led_to_git(struct incoming *in, struct str path)
{
	char *plain = xstrndup(path.ptr, path.len);
	char *real = NULL;
	const char *name;
	char *slash;
	bool led;

	if (tree_dir_parent(&in->disk, plain, &name) < 0 &&
	    (errno == ELOOP || errno == ENOTDIR))
		/* Directories behind the link may be missing yet. */
		while (!real && (slash = strrchr(plain, '/'))) {
			*slash = '\0';
			real = realpath(plain, NULL);
		}
	led = real && find_git(in, str_of(real));
	free(real);
	free(plain);
	return led;
}

bool incoming_leaves_out(struct incoming *in, const struct archive_item *item,
			 struct str *name, const char **why)
{
	struct str path = item->path;
	size_t end = find_git(in, path);

	*why = end ? is_git : NULL;
	if (!end && ((item->target && find_git(in, str_of(item->target))) ||
		     (item->original && find_git(in, str_of(item->original)))))
		*why = leads_to_git;
	else if (!end && is_in_bare(in, path))
		*why = is_bare;
	else if (!end && in->follows && is_led_to_git(in, path))
		*why = is_behind_link;
	if (!*why)
		return false;
	*name = end ? (struct str){ path.ptr, end } : path;
	if (in->told && str_is(*name, in->told)) {
		*why = NULL;
	} else {
		free(in->told);
		in->told = xstrndup(name->ptr, name->len);
	}
	return true;
}

static int refuse(const char *target, const char *why, struct error *err)
{
	return error_set(err, ERR_POLICY, "%s is not written: %s", target, why);
}

int incoming_check(struct incoming *in, const char *target, struct error *err)
{
	struct str path = str_of(target);
	struct str name = last_of(path);
	size_t above = (size_t)(name.ptr - path.ptr);
	char *parent = above ? xstrndup(path.ptr, above) : xstrdup(".");
	char *real = realpath(parent, NULL);
	int rc = 0;

	if (find_git(in, path) || (real && find_git(in, str_of(real))))
		rc = refuse(target, is_git, err);
	else if (real && name.len && incoming_open(in, real, err) < 0)
		rc = -1;
	else if (real && name.len && is_in_bare(in, name))
		rc = refuse(target, is_bare, err);
	incoming_close(in);
	free(parent);
	free(real);
	return rc;
}

void incoming_close(struct incoming *in)
{
	if (in->opened)
		tree_dir_close(&in->disk);
	bare_repo_release(&in->made);
	free(in->directory);
	free(in->told);
	*in = (struct incoming){ .bring = in->bring, .n_bring = in->n_bring };
}

/* run_uploaded.c - uploads into the tree of a run are not the agent's work. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/run_uploaded.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/session/tree.h"
#include "tree/treefile.h"
#include "workspace/uploaded.h"

enum { NOTE_MS = 30000 };

/* "a/b" of "/workspace//a/./b": below the working directory. Owned, or NULL. */
static char *path_in_tree(const struct sandbox *sb, const char *target)
{
	struct buf path = BUF_INIT(1 << 16);
	struct str rest = str_of(target);
	struct str top = str_of(sandbox_tree_dir(sb));
	struct str part;

	if (str_starts(rest, sandbox_tree_dir(sb)) && rest.len > top.len &&
	    rest.ptr[top.len] == '/')
		rest = str_skip(rest, top.len);
	else
		rest = (struct str){ 0 };
	while (str_split(&rest, '/', &part)) {
		if (!part.len || str_is(part, "."))
			continue;
		if (path.len)
			buf_addc(&path, '/');
		buf_addstr(&path, part);
	}
	if (path.len && listing_path_ok(buf_str(&path)))
		return buf_detach(&path);
	buf_release(&path);
	return NULL;
}

static void add_link(struct listing *l, const char *path, const char *local)
{
	char target[PATH_MAX];
	ssize_t n = readlink(local, target, sizeof(target));
	char hash[LISTING_HASH];

	if (n < 0 || n == sizeof(target))
		return;
	listing_digest((struct str){ target, (size_t)n }, hash);
	listing_add(l, LISTING_LINK, hash, str_of(path));
}

static void add_file(struct listing *l, const char *path, const char *local)
{
	unsigned char hash[TREEFILE_HASH];
	char hex[LISTING_HASH];
	int fd = open(local, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 &&
	    treefile_copy(fd, -1, hash) == 0) {
		sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
		listing_add(l,
			    st.st_mode & S_IXUSR ? LISTING_PROGRAM
						 : LISTING_FILE,
			    hex, str_of(path));
	}
	if (fd >= 0)
		close(fd);
}

void run_uploaded(struct listing *l, const struct sandbox *sb,
		  const char *local, const char *target, bool in_tree)
{
	char *path = path_in_tree(sb, target);
	struct stat st;

	if (path && in_tree && lstat(local, &st) == 0 && S_ISLNK(st.st_mode))
		add_link(l, path, local);
	else if (path)
		add_file(l, path, local);
	free(path);
}

void run_uploaded_note(struct run *r, struct listing *l)
{
	struct stop stop = stop_cleanup(NOTE_MS);
	struct error err = { 0 };
	struct workspace w = { 0 };
	int rc =
		l->n && r->box.label[0]
			? tree_find_label(&w, r->app, r->box.label, &stop, &err)
			: 1;

	listing_sort(l);
	if (rc == 0)
		rc = uploaded_add(l, &w, &stop, &err);
	if (rc < 0)
		app_warn("`dcode diff` will show the uploaded files as "
			 "changes: %s",
			 err.message);
	workspace_close(&w);
	listing_release(l);
}

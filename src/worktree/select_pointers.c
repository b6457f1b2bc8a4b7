/* select_pointers.c - finds Git LFS's pointers among the files of a tree. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "worktree/select.h"
#include "worktree/treefile.h"

/* git-lfs's docs/spec.md: a pointer has less than 1024 bytes, and begins with
 * this; an object's id alone takes 71. */
enum { POINTER_LEAST = 120, POINTER_MOST = 1024 };

static const char mark[] = "version https://git-lfs.github.com/spec/v1\n";

static bool is_pointer(struct tree_dir *dir, const char *path)
{
	char head[sizeof(mark) - 1];
	const char *name;
	int at = tree_dir_parent(dir, path, &name);
	int fd =
		at < 0 ? -1
		       : openat(at, name,
				O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && io_read(fd, head, sizeof(head)) == sizeof(head) &&
		  memcmp(head, mark, sizeof(head)) == 0;

	if (fd >= 0)
		close(fd);
	return is;
}

size_t select_count_pointers(const struct selection *s,
			     const struct workspace *w)
{
	struct tree_dir dir;
	struct error ignored = { 0 };
	size_t n = 0;

	if (tree_dir_open(&dir, w->root, &ignored) == 0)
		for (size_t i = 0; i < s->n; i++)
			if (s->files[i].mode != LISTING_LINK &&
			    s->files[i].size >= POINTER_LEAST &&
			    s->files[i].size < POINTER_MOST)
				n += is_pointer(&dir, s->files[i].path);
	tree_dir_close(&dir);
	return n;
}

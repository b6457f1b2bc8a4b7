/* saved_patch.c - finds and reads the patches saved for a thread. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/saved_patch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "worktree/patch.h"

enum { HEAD_READ = 1 << 16 };

char *saved_patch_folder(const struct app *app)
{
	return path_join(settings_dir(app->settings), ".state/patches");
}

char *saved_patch_imported(const struct app *app, const char *id)
{
	char *folder = saved_patch_folder(app);
	char *path = xasprintf("%s/%s-imported.patch", folder, id);

	free(folder);
	return path;
}

char *saved_patch_find(const struct app *app, const char *id)
{
	char *folder = saved_patch_folder(app);
	char *path = patch_newest(folder, id);

	free(folder);
	if (path)
		return path;
	path = saved_patch_imported(app, id);
	if (access(path, F_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/* Calls each for the lines of the patch's header, which ends at the first empty
 * line. */
static void read_head(const char *path,
		      void (*each)(void *arg, struct str line), void *arg)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char *room = xcalloc(HEAD_READ, 1);
	ssize_t n = fd < 0 ? -1 : io_read(fd, room, HEAD_READ);
	struct str rest = { room, n > 0 ? (size_t)n : 0 };
	struct str line;

	while (str_split(&rest, '\n', &line) && line.len)
		each(arg, line);
	if (fd >= 0)
		close(fd);
	free(room);
}

struct missing_names {
	void (*each)(void *arg, struct str line);
	void *arg;
};

static void add_missing(void *arg, struct str line)
{
	const struct missing_names *m = arg;

	if (str_starts(line, "Left: ") || str_starts(line, "Refused: "))
		m->each(m->arg, line);
}

void saved_patch_each_missing(const char *path,
			      void (*each)(void *arg, struct str line),
			      void *arg)
{
	struct missing_names m = { each, arg };

	read_head(path, add_missing, &m);
}

struct head_label {
	const char *label;
	bool found;
};

static void compare_label(void *arg, struct str line)
{
	static const char key[] = "Sandbox: ";
	struct head_label *o = arg;

	if (str_starts(line, key) &&
	    str_is(str_skip(line, sizeof(key) - 1), o->label))
		o->found = true;
}

bool saved_patch_is_of(const char *path, const char *label)
{
	struct head_label o = { label, false };

	read_head(path, compare_label, &o);
	return o.found;
}

void saved_patch_hide_tree(struct buf *patch)
{
	const struct str key = STR("\nTree: ");
	struct str text = buf_str(patch);
	size_t head = str_search(text, STR("\n\n"));
	size_t from = str_search((struct str){ text.ptr, head }, key);
	size_t last;

	if (from >= head)
		return;
	from += key.len;
	last = from;
	for (size_t i = from; i < head && text.ptr[i] != '\n'; i++)
		if (text.ptr[i] == '/')
			last = i + 1;
	memmove(patch->ptr + from, patch->ptr + last, patch->len - last);
	patch->len -= last - from;
}

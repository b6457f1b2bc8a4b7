/* bare_repo.c - directories without .git that git takes for a repository. */
/* SPDX-License-Identifier: MIT */
#include "tree/bare_repo.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/project.h"
#include "base/str.h"
#include "tree/name.h"

enum { HEAD = 1, OBJECTS = 2, REFS = 4, COMMON = 8 };
enum { FEW = 64 }; /* new ones that are inserted one by one */

const char bare_repo_refused[] =
	"is inside a directory that git takes for a repository, whose config "
	"can run commands";

/* What a name is of a repository; last: it is no directory. */
static unsigned part_of(struct str name, bool last)
{
	/* Most names: without the bytes that HFS+ ignores. */
	if (name.len && !(name.ptr[0] & 0x80) && !strchr("hHcCoOrR", *name.ptr))
		return 0;
	if (name_reads_as(name, "HEAD"))
		return last ? HEAD : 0;
	if (name_reads_as(name, "commondir"))
		return last ? COMMON : 0;
	return name_reads_as(name, "objects") ? OBJECTS
	       : name_reads_as(name, "refs")  ? REFS
					      : 0;
}

static bool is_whole(unsigned parts)
{
	return parts & HEAD &&
	       (parts & COMMON || (parts & OBJECTS && parts & REFS));
}

static void add_part(struct bare_repos *b, struct str directory, unsigned part)
{
	struct bare_repo_part *last = b->n ? &b->list[b->n - 1] : NULL;

	if (last && str_is(directory, last->directory)) {
		last->parts |= part;
		return;
	}
	if (!b->list || !(b->n & (b->n - 1)))
		b->list = xrealloc(b->list, b->n ? b->n * 2 : 1,
				   sizeof(*b->list));
	b->list[b->n++] =
		(struct bare_repo_part){ xstrndup(directory.ptr, directory.len),
					 part };
}

void bare_repo_add(struct bare_repos *b, struct str path)
{
	struct str rest = path;
	struct str name;

	while (str_split(&rest, '/', &name)) {
		unsigned part = part_of(name, !rest.ptr);
		size_t len = (size_t)(name.ptr - path.ptr);

		if (part)
			add_part(b, (struct str){ path.ptr, len }, part);
	}
}

static int by_directory(const void *a, const void *b)
{
	return strcmp(((const struct bare_repo_part *)a)->directory,
		      ((const struct bare_repo_part *)b)->directory);
}

/* Each directory once, with all its parts. */
static void sort_parts(struct bare_repos *b)
{
	size_t kept = 0;

	if (b->n)
		qsort(b->list, b->n, sizeof(*b->list), by_directory);
	for (size_t i = 0; i < b->n; i++) {
		struct bare_repo_part *p = &b->list[i];

		if (kept && !by_directory(&b->list[kept - 1], p)) {
			b->list[kept - 1].parts |= p->parts;
			free(p->directory);
		} else {
			b->list[kept++] = *p;
		}
	}
	b->n = kept;
}

/* The same where few are new: who asks after each path that is added must not
 * have all sorted each time. */
static void insert_new(struct bare_repos *b)
{
	size_t end = b->n;

	b->n = b->sorted;
	for (size_t i = b->sorted; i < end; i++) {
		struct bare_repo_part new = b->list[i];
		size_t at = 0;
		size_t high = b->n;

		while (at < high) {
			size_t middle = at + (high - at) / 2;

			if (by_directory(&b->list[middle], &new) < 0)
				at = middle + 1;
			else
				high = middle;
		}
		if (at < b->n && !by_directory(&b->list[at], &new)) {
			b->list[at].parts |= new.parts;
			free(new.directory);
			continue;
		}
		memmove(&b->list[at + 1], &b->list[at],
			(b->n - at) * sizeof(*b->list));
		b->list[at] = new;
		b->n++;
	}
}

static unsigned find_parts(struct bare_repos *b, char *directory)
{
	const struct bare_repo_part key = { .directory = directory };
	const struct bare_repo_part *found;

	if (!b || !b->n)
		return 0;
	if (b->n - b->sorted > FEW)
		sort_parts(b);
	else
		insert_new(b);
	b->sorted = b->n;
	found = bsearch(&key, b->list, b->n, sizeof(*b->list), by_directory);
	return found ? found->parts : 0;
}

static bool has(int dir, const char *name, bool directory)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (directory || !S_ISDIR(st.st_mode));
}

static unsigned parts_on_disk(int dir)
{
	return (has(dir, "HEAD", false) ? HEAD : 0) |
	       (has(dir, "commondir", false) ? COMMON : 0) |
	       (has(dir, "objects", true) ? OBJECTS : 0) |
	       (has(dir, "refs", true) ? REFS : 0);
}

/* directory: "" or with a slash at its end. */
static bool is_repository(struct bare_repos *b, struct tree_dir *disk,
			  char *directory)
{
	unsigned parts = find_parts(b, directory);
	const char *name;
	int dir;

	if (!disk)
		return is_whole(parts);
	dir = tree_dir_parent(disk, directory, &name);
	return is_whole(parts | (dir < 0 ? 0 : parts_on_disk(dir)));
}

int bare_repo_find(struct bare_repos *b, struct tree_dir *disk,
		   const char *path)
{
	char *directory = xstrdup("");
	int found = is_repository(b, disk, directory) ? 0 : -1;

	for (const char *p = path; found < 0 && (p = strchr(p, '/')); p++) {
		size_t len = (size_t)(p - path) + 1;

		free(directory);
		directory = xstrndup(path, len);
		if (is_repository(b, disk, directory))
			found = (int)len;
	}
	free(directory);
	return found;
}

bool bare_repo_above(const char *directory)
{
	uid_t owner = project_owner(directory);
	size_t len = strlen(directory);
	bool found = false;

	do {
		char *path = xstrndup(directory, len);
		int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		found = dir >= 0 && is_whole(parts_on_disk(dir));
		if (dir >= 0)
			close(dir);
		free(path);
	} while (!found && project_go_up(directory, &len, owner));
	return found;
}

void bare_repo_release(struct bare_repos *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->list[i].directory);
	free(b->list);
	*b = (struct bare_repos){ 0 };
}

/* name.c - refuses paths with which git would run commands. */
/* SPDX-License-Identifier: MIT */
/*
 * git runs commands that the configuration and hooks of a repository name. So
 * nothing from a sandbox may be called .git, in any spelling that a file system
 * or git treats as .git (name_refuse(), name_find_git()), or complete a
 * directory that git treats as a bare repository (bare_repo_find()). A
 * directory of the tree with its own .git is another repository
 * (nested_repo_find()).
 */
#include "worktree/name.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/project.h"
#include "base/str.h"

enum { /* parts of a bare repository */
       PART_HEAD = 1,
       PART_OBJECTS = 2,
       PART_REFS = 4,
       PART_COMMON = 8,
};
/* up to this many new parts are inserted one by one */
enum { INSERT_MAX = 64 };

const char bare_repo_refused[] = "is inside a directory that git treats as a "
				 "repository, whose config can run commands";

/* HFS+ ignores these code points in names (git, utf8.c, next_hfs_char()):
 * U+200C-200F, 202A-202E, 206A-206F and FEFF. Returns the number of bytes of
 * such a code point at the start of s, else 0. */
static size_t ignored_by_hfs(struct str s)
{
	const unsigned char *p = (const unsigned char *)s.ptr;

	if (s.len < 3)
		return 0;
	if (p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf)
		return 3;
	if (p[0] != 0xe2)
		return 0;
	if (p[1] == 0x80 &&
	    ((p[2] >= 0x8c && p[2] <= 0x8f) || (p[2] >= 0xaa && p[2] <= 0xae)))
		return 3;
	return p[1] == 0x81 && p[2] >= 0xaa && p[2] <= 0xaf ? 3 : 0;
}

/* Returns the name as the most tolerant file system reads it, in at most size
 * bytes: without code points that HFS+ ignores, NTFS streams, and trailing dots
 * and blanks. */
static struct str canonical_name(struct str name, char *room, size_t size)
{
	size_t n = 0;

	name.len = str_find(name, ':');
	while (name.len && n < size) {
		size_t ignored = ignored_by_hfs(name);

		if (!ignored)
			room[n++] = name.ptr[0];
		name = str_skip(name, ignored ? ignored : 1);
	}
	while (n && (room[n - 1] == '.' || room[n - 1] == ' '))
		n--;
	return (struct str){ room, n };
}

/* True for .git in any spelling. "git~1" to "git~4" are short names that NTFS
 * may give to it. */
static bool is_dot_git(struct str name)
{
	char room[NAME_MAX];
	struct str s = canonical_name(name, room, sizeof(room));

	return str_is_nocase(s, ".git") ||
	       (s.len == 5 && s.ptr[4] >= '1' && s.ptr[4] <= '4' &&
		str_is_nocase((struct str){ s.ptr, 4 }, "git~"));
}

/* True if some file system treats the name (without slashes) as other: ignoring
 * case, and with the rules of canonical_name(). */
static bool reads_as(struct str name, const char *other)
{
	char room[NAME_MAX];

	return str_is_nocase(canonical_name(name, room, sizeof(room)), other);
}

static bool is_dot_gitmodules(struct str name)
{
	char room[NAME_MAX];
	struct str s = canonical_name(name, room, sizeof(room));

	return str_is_nocase(s, ".gitmodules") ||
	       str_is_nocase(s, "gitmod~1") || str_is_nocase(s, "gi7eba~1");
}

/* True if a part of the name is .git; NTFS separates names by backslashes. */
static bool has_dot_git(struct str name)
{
	struct str part;

	while (str_split(&name, '\\', &part))
		if (is_dot_git(part))
			return true;
	return false;
}

size_t name_find_git(struct str path)
{
	struct str rest = path;
	struct str name;

	while (str_split(&rest, '/', &name))
		if (name.len && has_dot_git(name))
			return (size_t)(name.ptr - path.ptr) + name.len;
	return 0;
}

static const char *refuse_part(struct str name)
{
	if (!name.len)
		return "has an empty name in it";
	if (str_is(name, ".") || str_is(name, ".."))
		return "leads out of the working tree";
	if (name.len > NAME_MAX)
		return "has a name that is too long";
	if (has_dot_git(name))
		return "is inside .git";
	return NULL;
}

const char *name_refuse(struct str path, unsigned mode)
{
	const char *why = NULL;
	struct str rest = path;
	struct str name = { 0 };

	if (!path.len)
		return "is not a valid name";
	if (path.len >= PATH_MAX)
		return "is too long";
	if (path.ptr[0] == '/')
		return "leads out of the working tree";
	if (memchr(path.ptr, 0, path.len) || memchr(path.ptr, 1, path.len))
		return "contains a control character";
	if (path.ptr[path.len - 1] == '/')
		return "has an empty name in it";
	while (!why && str_split(&rest, '/', &name))
		why = refuse_part(name);
	if (why)
		return why;
	if (mode == NAME_LINK && is_dot_gitmodules(name))
		return "is a link that git refuses";
	if (mode != NAME_FILE && mode != NAME_PROGRAM && mode != NAME_LINK)
		return "is neither a plain file nor a link";
	return NULL;
}

const char *name_refuse_target(struct str path, struct str target)
{
	/* number of directories above the link, within the tree */
	size_t above = 0;
	bool named = false;
	struct str name;

	for (size_t i = 0; i < path.len; i++)
		above += path.ptr[i] == '/';
	if (!target.len || target.len >= PATH_MAX ||
	    memchr(target.ptr, 0, target.len))
		return "is a link without a valid target";
	if (target.ptr[0] == '/')
		return "is a link that leads out of the working tree";
	while (str_split(&target, '/', &name)) {
		if (!name.len || str_is(name, "."))
			continue;
		if (str_is(name, "..") && (named || !above))
			return "is a link that may lead out of the working "
			       "tree";
		if (has_dot_git(name))
			return "is a link into .git";
		if (str_is(name, ".."))
			above--;
		else
			named = true;
	}
	return NULL;
}

/* Returns which part of a repository (PART_...) a name is, or 0. last: the name
 * is the last one of a file's path, so it is not a directory. */
static unsigned part_of(struct str name, bool last)
{
	/* Fast path for most names; bytes above 0x7f may be code points that
	 * HFS+ ignores. */
	if (name.len && !(name.ptr[0] & 0x80) && !strchr("hHcCoOrR", *name.ptr))
		return 0;
	if (reads_as(name, "HEAD"))
		return last ? PART_HEAD : 0;
	if (reads_as(name, "commondir"))
		return last ? PART_COMMON : 0;
	return reads_as(name, "objects") ? PART_OBJECTS
	       : reads_as(name, "refs")  ? PART_REFS
					 : 0;
}

static bool is_whole(unsigned parts)
{
	return parts & PART_HEAD &&
	       (parts & PART_COMMON ||
		(parts & PART_OBJECTS && parts & PART_REFS));
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

static int compare_directories(const void *a, const void *b)
{
	return strcmp(((const struct bare_repo_part *)a)->directory,
		      ((const struct bare_repo_part *)b)->directory);
}

/* Sorts the list and merges entries of the same directory. */
static void sort_parts(struct bare_repos *b)
{
	size_t kept = 0;

	if (b->n)
		qsort(b->list, b->n, sizeof(*b->list), compare_directories);
	for (size_t i = 0; i < b->n; i++) {
		struct bare_repo_part *p = &b->list[i];

		if (kept && !compare_directories(&b->list[kept - 1], p)) {
			b->list[kept - 1].parts |= p->parts;
			free(p->directory);
		} else {
			b->list[kept++] = *p;
		}
	}
	b->n = kept;
}

/* Inserts a few new parts: alternating calls of bare_repo_add() and
 * bare_repo_find() must not sort the whole list each time. */
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

			if (compare_directories(&b->list[middle], &new) < 0)
				at = middle + 1;
			else
				high = middle;
		}
		if (at < b->n && !compare_directories(&b->list[at], &new)) {
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
	if (b->n - b->sorted > INSERT_MAX)
		sort_parts(b);
	else
		insert_new(b);
	b->sorted = b->n;
	found = bsearch(&key, b->list, b->n, sizeof(*b->list),
			compare_directories);
	return found ? found->parts : 0;
}

static bool has_entry(int dir, const char *name, bool directory)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (directory || !S_ISDIR(st.st_mode));
}

static unsigned parts_on_disk(int dir)
{
	return (has_entry(dir, "HEAD", false) ? PART_HEAD : 0) |
	       (has_entry(dir, "commondir", false) ? PART_COMMON : 0) |
	       (has_entry(dir, "objects", true) ? PART_OBJECTS : 0) |
	       (has_entry(dir, "refs", true) ? PART_REFS : 0);
}

/* True if directory, "" or with a slash at its end, is a bare repository. */
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

size_t bare_repo_above(const char *directory)
{
	uid_t owner = project_owner(directory);
	size_t len = strlen(directory);
	bool has_git;
	size_t root = project_root(directory, owner, &has_git);
	bool found = false;

	while (!has_git || len > root) {
		char *path = xstrndup(directory, len);
		int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		found = dir >= 0 && is_whole(parts_on_disk(dir));
		if (dir >= 0)
			close(dir);
		free(path);
		if (found || !project_go_up(directory, &len, owner))
			break;
	}
	return found ? len : 0;
}

void bare_repo_release(struct bare_repos *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->list[i].directory);
	free(b->list);
	*b = (struct bare_repos){ 0 };
}

static bool has_git(struct tree_dir *disk, const char *path, size_t len)
{
	char *dot = xasprintf("%.*s/.git", (int)len, path);
	const char *name;
	struct stat st;
	int dir = tree_dir_parent(disk, dot, &name);
	bool has =
		dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;

	free(dot);
	return has;
}

static size_t find_nested(struct tree_dir *disk, const char *path, size_t from)
{
	const char *slash = strchr(path + from, '/');

	for (; slash; slash = strchr(slash + 1, '/'))
		if (has_git(disk, path, (size_t)(slash - path)))
			return (size_t)(slash - path);
	return 0;
}

size_t nested_repo_find(struct nested_repo *n, struct tree_dir *disk,
			const char *path, size_t from)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;

	if (!n->seen || strlen(n->seen) != len || memcmp(n->seen, path, len)) {
		free(n->seen);
		n->seen = xstrndup(path, len);
		n->at = find_nested(disk, path, from);
	}
	return n->at;
}

void nested_repo_release(struct nested_repo *n)
{
	free(n->seen);
	*n = (struct nested_repo){ 0 };
}

/* name.c - which names a sandbox may have written below a tree's root. */
/* SPDX-License-Identifier: MIT */
#include "tree/name.h"

#include <limits.h>
#include <string.h>

#include "base/str.h"

/* HFS+ ignores these code points in names (git, utf8.c, next_hfs_char()):
 * U+200C-200F, 202A-202E, 206A-206F and FEFF. Returns how many bytes the one
 * at the front takes, 0 for none. */
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

/* The name as the laxest file system reads it, in at most size bytes: without
 * what HFS+ ignores, and without NTFS's streams and trailing dots and blanks.
 */
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

/* "git~1" to "git~4" are the short names that NTFS may give .git. */
static bool is_dot_git(struct str name)
{
	char room[NAME_MAX];
	struct str s = canonical_name(name, room, sizeof(room));

	return str_is_nocase(s, ".git") ||
	       (s.len == 5 && s.ptr[4] >= '1' && s.ptr[4] <= '4' &&
		str_is_nocase((struct str){ s.ptr, 4 }, "git~"));
}

bool name_reads_as(struct str name, const char *other)
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

/* A backslash separates names on NTFS. */
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
		return "leaves the tree";
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
		return "leaves the tree";
	if (memchr(path.ptr, 0, path.len) || memchr(path.ptr, 1, path.len))
		return "contains a control character, which no listing can "
		       "have";
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

/* Directories above the link, within the tree. */
static size_t depth_of(struct str path)
{
	size_t n = 0;

	for (size_t i = 0; i < path.len; i++)
		n += path.ptr[i] == '/';
	return n;
}

const char *name_refuse_target(struct str path, struct str target)
{
	size_t above = depth_of(path);
	bool named = false;
	struct str name;

	if (!target.len || target.len >= PATH_MAX ||
	    memchr(target.ptr, 0, target.len))
		return "is a link to nothing";
	if (target.ptr[0] == '/')
		return "is a link that leaves the tree";
	while (str_split(&target, '/', &name)) {
		if (!name.len || str_is(name, "."))
			continue;
		if (str_is(name, "..") && (named || !above))
			return "is a link that may leave the tree";
		if (has_dot_git(name))
			return "is a link into .git";
		if (str_is(name, ".."))
			above--;
		else
			named = true;
	}
	return NULL;
}

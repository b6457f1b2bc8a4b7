/* entry_points.c - the entry points of installed Python packages. */
/* SPDX-License-Identifier: MIT */
#include "providers/external/entry_points.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"

enum { FILE_MAX = 256 << 10 };

static bool word_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || (unsigned char)c >= 0x80;
}

/* "a.b_c": names with dots between them. */
static bool dotted(struct str s)
{
	bool fresh = true;

	for (size_t i = 0; i < s.len; i++) {
		bool dot = s.ptr[i] == '.';

		if (!dot && !word_byte(s.ptr[i]))
			return false;
		if (fresh && (dot || (s.ptr[i] >= '0' && s.ptr[i] <= '9')))
			return false;
		fresh = dot;
	}
	return !fresh;
}

bool class_path_ok(struct str s)
{
	size_t colon = str_find(s, ':');

	return colon < s.len && str_is_utf8(s) &&
	       dotted((struct str){ s.ptr, colon }) &&
	       dotted(str_skip(s, colon + 1));
}

/* "[ group ]" */
static bool is_section(struct str line, const char *group)
{
	size_t end = str_find(line, ']');

	return end < line.len &&
	       str_is(str_trim((struct str){ line.ptr + 1, end - 1 }), group);
}

void entry_points_parse(struct str text, const char *group, const char *package,
			void (*each)(void *arg, const struct entry_point *e),
			void *arg)
{
	bool inside = false;
	struct str line;

	while (str_split(&text, '\n', &line)) {
		struct entry_point e = { .package = package };
		size_t n;

		line = str_trim(line);
		if (!line.len || line.ptr[0] == '#' || line.ptr[0] == ';')
			continue;
		if (line.ptr[0] == '[') {
			inside = is_section(line, group);
			continue;
		}
		n = str_find(line, '=');
		if (!inside || n == line.len)
			continue;
		e.name = str_trim((struct str){ line.ptr, n });
		e.object = str_skip(line, n + 1);
		e.object.len = str_find(e.object, '['); /* extras */
		e.object = str_trim(e.object);
		each(arg, &e);
	}
}

static int is_package(const struct dirent *e)
{
	struct str name = str_of(e->d_name);

	return str_ends(name, ".dist-info") || str_ends(name, ".egg-info");
}

void entry_points_read(const char *dir, const char *group,
		       void (*each)(void *arg, const struct entry_point *e),
		       void *arg)
{
	struct dirent **list = NULL;
	int n = scandir(dir, &list, is_package, alphasort);

	for (int i = 0; i < n; i++) {
		char *package = list[i]->d_name;
		char *path = xasprintf("%s/%s/entry_points.txt", dir, package);
		struct buf text = BUF_INIT(FILE_MAX);
		struct error ignored = { 0 };

		/* "acme-1.2" of "acme-1.2.dist-info" */
		*strrchr(package, '.') = '\0';
		if (path_read(path, &text, &ignored) == 0)
			entry_points_parse(buf_str(&text), group, package, each,
					   arg);
		buf_release(&text);
		free(path);
		free(list[i]);
	}
	free(list);
}

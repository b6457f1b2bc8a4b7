/* entry_points.c - what installed Python packages say that they provide. */
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

void entry_points_parse(struct str text, const char *group,
			void (*each)(void *arg, struct str name,
				     struct str object),
			void *arg)
{
	bool inside = false;
	struct str line;

	while (str_split(&text, '\n', &line)) {
		struct str object;
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
		object = str_skip(line, n + 1);
		object.len = str_find(object, '['); /* extras */
		each(arg, str_trim((struct str){ line.ptr, n }),
		     str_trim(object));
	}
}

struct found {
	const char *package;
	void (*each)(void *arg, const struct entry_point *e);
	void *arg;
};

static void on_entry(void *arg, struct str name, struct str object)
{
	const struct found *f = arg;

	f->each(f->arg, &(struct entry_point){ name, object, f->package });
}

static void read_package(const char *dir, const char *entry, const char *group,
			 struct found *f)
{
	char *path = xasprintf("%s/%s/entry_points.txt", dir, entry);
	char *package = xstrdup(entry);
	struct buf text = BUF_INIT(FILE_MAX);
	struct error ignored = { 0 };

	*strrchr(package, '.') = '\0'; /* "acme-1.2" of "acme-1.2.dist-info" */
	f->package = package;
	if (path_read(path, &text, &ignored) == 0)
		entry_points_parse(buf_str(&text), group, on_entry, f);
	buf_release(&text);
	free(package);
	free(path);
}

void entry_points_read(const char *dir, const char *group,
		       void (*each)(void *arg, const struct entry_point *e),
		       void *arg)
{
	struct found f = { .each = each, .arg = arg };
	struct dirent **list = NULL;
	int n = scandir(dir, &list, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		struct str name = str_of(list[i]->d_name);

		if (str_ends(name, ".dist-info") || str_ends(name, ".egg-info"))
			read_package(dir, list[i]->d_name, group, &f);
		free(list[i]);
	}
	free(list);
}

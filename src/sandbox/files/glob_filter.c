/* glob_filter.c - what find can leave out before a pattern is matched. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "sandbox/files/glob_match.h"

/* A comma only means something inside braces, but losing it is harmless. */
static bool special(char c)
{
	return c && strchr("*?[]{},\\", c);
}

/* False when it is sure that no name that starts with "." matches unless its
 * directory's name does. */
static bool may_be_hidden(struct str pattern)
{
	for (size_t i = 0; i < pattern.len; i++)
		if (pattern.ptr[i] == '.' &&
		    (!i || strchr("/{},", pattern.ptr[i - 1])))
			return true;
	return false;
}

/* Empty segments mean nothing. */
static void tidy(struct str pattern, struct buf *out)
{
	struct str segment;
	bool first = true;

	while (str_split(&pattern, '/', &segment)) {
		if (!segment.len)
			continue;
		if (!first)
			buf_addc(out, '/');
		buf_addstr(out, segment);
		first = false;
	}
}

void glob_filter(struct str pattern, struct glob_filter *filter)
{
	bool by_path = str_find(pattern, '/') < pattern.len;
	struct buf clean = BUF_INIT(pattern.len + 1);
	size_t from = 0;
	size_t to;

	tidy(pattern, &clean);
	filter->test = by_path ? "-path" : "-name";
	filter->prune = by_path && !may_be_hidden(pattern);
	filter->like = BUF_INIT(pattern.len + 16);
	if (by_path)
		buf_adds(&filter->like, ".//./");
	to = clean.len;
	while (from < clean.len && !special(clean.ptr[from]))
		from++;
	while (to > from && !special(clean.ptr[to - 1]))
		to--;
	filter->exact = !by_path;
	for (size_t i = from; i < to; i++)
		filter->exact &= clean.ptr[i] == '*' || !special(clean.ptr[i]);
	if (filter->exact) {
		buf_addstr(&filter->like, buf_str(&clean));
		goto out;
	}
	buf_add(&filter->like, clean.ptr ? clean.ptr : "", from);
	if (from < clean.len) {
		buf_addc(&filter->like, '*');
		/* "**" and its "/" may stand for nothing. */
		to += clean.ptr[to] == '/';
		buf_add(&filter->like, clean.ptr + to, clean.len - to);
	}
out:
	buf_release(&clean);
}

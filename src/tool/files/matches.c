/* matches.c - what grep says. */
/* SPDX-License-Identifier: MIT */
#include "tool/files/matches.h"

#include <inttypes.h>
#include <string.h>

#include "tool/result.h"

/* The first match of the next file. */
static size_t next_file(const struct files_matches *list, size_t i)
{
	size_t n = i + 1;

	while (n < list->n && !strcmp(list->items[n].path, list->items[i].path))
		n++;
	return n;
}

static void add_file(const struct files_match *items, size_t n,
		     enum matches_mode mode, struct buf *out)
{
	if (out->len)
		buf_addc(out, '\n');
	buf_adds(out, items->path);
	if (mode == MATCHES_COUNT)
		buf_addf(out, ": %zu", n);
	if (mode != MATCHES_CONTENT)
		return;
	buf_addc(out, ':');
	for (size_t i = 0; i < n; i++) {
		buf_addf(out, "\n  %" PRId64 ": ", items[i].line);
		buf_adds(out, items[i].text);
	}
}

void matches_render(const struct files_matches *list, enum matches_mode mode,
		    struct buf *out)
{
	struct buf text = BUF_INIT(RESULT_RAW_BYTES);

	for (size_t i = 0; i < list->n;) {
		size_t next = next_file(list, i);

		add_file(&list->items[i], next - i, mode, &text);
		i = next;
	}
	if (list->n)
		result_add_limited(buf_str(&text), out);
	else
		buf_adds(out, "No matches found");
	buf_release(&text);
}

void matches_note_left(const struct files_left *left, struct buf *out)
{
	const char *about = left->at_most ? "up to " : "";

	if (!left->n)
		return;
	buf_addf(out,
		 "\n\nNote: %s%" PRId64 " file%s that git ignores %s left "
		 "out%s. Set include_ignored, or name an ignored directory in "
		 "path, to search there, too.",
		 about, left->n, left->n == 1 ? "" : "s",
		 left->n == 1 ? "was" : "were",
		 left->no_git ? " (by .gitignore alone: there is no git, so a "
				"tracked file may be among them)"
			      : "");
}

bool matches_is_regex(const char *pattern)
{
	if (strchr(pattern, '|') || strstr(pattern, ".*") ||
	    strstr(pattern, ".+"))
		return true;
	for (const char *p = strchr(pattern, '\\'); p; p = strchr(p + 1, '\\'))
		if (p[1] && strchr(".wWdDsSbB(){}[]|+*?^$", p[1]))
			return true;
	return false;
}

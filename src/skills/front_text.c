/* front_text.c - fields of front matter as clean lines. */
/* SPDX-License-Identifier: MIT */
#include "skills/front_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/sanitize.h"
#include "base/str.h"

enum { TEXT_MAX = 16 << 10 };

/* One clean line of at most so many characters; NULL where it is empty. */
static char *clean(const char *text, size_t chars)
{
	struct buf line = BUF_INIT(TEXT_MAX);
	struct buf words = BUF_INIT(TEXT_MAX);
	struct str rest;
	struct str word;

	sanitize_line(str_of(text), &line);
	rest = str_trim(buf_str(&line));
	while (str_split(&rest, ' ', &word)) {
		if (word.len && words.len)
			buf_addc(&words, ' ');
		buf_addstr(&words, word);
	}
	buf_release(&line);
	if (!words.len) {
		buf_release(&words);
		return NULL;
	}
	words.len = str_char_offset(buf_str(&words), chars);
	words.ptr[words.len] = '\0';
	return buf_detach(&words);
}

char *front_text(const struct front_matter *f, const char *key, size_t chars)
{
	const struct front_field *field = front_matter_field(f, key);

	if (!field ||
	    (field->kind != FRONT_TEXT && field->kind != FRONT_NUMBER))
		return NULL;
	return clean(field->items[0], chars);
}

char *front_words(const struct front_matter *f, const char *key, size_t chars)
{
	const struct front_field *field = front_matter_field(f, key);
	struct buf all = BUF_INIT(TEXT_MAX);
	char *line;

	if (!field || (field->kind != FRONT_TEXT && field->kind != FRONT_LIST))
		return NULL;
	for (size_t i = 0; i < field->n; i++) {
		struct str rest = str_of(field->items[i]);

		for (size_t k = 0; k < rest.len; k++) {
			bool gap = field->kind == FRONT_TEXT &&
				   strchr(" ,\t\n", rest.ptr[k]);

			if (!gap)
				buf_addc(&all, rest.ptr[k]);
			else if (all.len && all.ptr[all.len - 1] != ' ')
				buf_adds(&all, ", ");
		}
		if (all.len && all.ptr[all.len - 1] != ' ')
			buf_adds(&all, ", ");
	}
	while (all.len && strchr(", ", all.ptr[all.len - 1]))
		all.ptr[--all.len] = '\0';
	line = all.len ? clean(all.ptr, chars) : NULL;
	buf_release(&all);
	return line;
}

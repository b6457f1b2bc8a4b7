/* changed_files.c - writes which files a command changed. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/changed_files.h"

#include "base/sanitize.h"
#include "base/str.h"

enum {
	MOST_NAMES = 5,
	MOST_CHARS = 80, /* characters of a name */
};

/* Appends a name without control characters, and its end if it is long. */
static void add_name(struct changed_files *l, struct str path)
{
	struct buf name = BUF_INIT(1 << 16);
	struct str shown;
	size_t chars = 0;

	sanitize_line(path, &name);
	shown = buf_str(&name);
	for (size_t i = 0; i < shown.len; i++)
		chars += ((unsigned char)shown.ptr[i] & 0xC0) != 0x80;
	if (chars > MOST_CHARS) {
		buf_adds(l->out, "...");
		shown = str_skip(shown,
				 str_char_offset(shown, chars - MOST_CHARS));
	}
	buf_addstr(l->out, shown);
	buf_release(&name);
}

void changed_files_add(struct changed_files *l, struct str path)
{
	l->n++;
	if (l->shown == MOST_NAMES)
		return;
	buf_adds(l->out, l->shown++ ? ", " : "");
	add_name(l, path);
}

void changed_files_end(struct changed_files *l)
{
	if (l->n > l->shown)
		buf_addf(l->out, " and %zu more", l->n - l->shown);
	if (l->counted)
		buf_addf(l->out, " (+%zu \xE2\x88\x92%zu)", l->added,
			 l->removed);
}

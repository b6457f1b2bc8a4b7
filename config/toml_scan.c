/* toml_scan.c - places, messages, and what stands between TOML values. */
/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/sanitize.h"
#include "base/str.h"
#include "config/toml_impl.h"

/* Counts on from the last place asked for, so that a long line costs its
 * length once. */
struct toml_place toml_here(struct toml_reader *r)
{
	for (; r->mark < r->at; r->mark++)
		if (((unsigned char)*r->mark & 0xC0) != 0x80)
			r->mark_column++;
	return (struct toml_place){ r->line, r->mark_column };
}

int toml_fail(struct toml_reader *r, struct toml_place at, const char *fmt, ...)
{
	char what[384];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return error_set(r->err, ERR_CONFIG, "%s:%d:%d: %s", r->name, at.line,
			 at.column, what);
}

static unsigned code_point(const char *at, const char *end)
{
	size_t len = str_char_offset((struct str){ at, (size_t)(end - at) }, 1);
	unsigned code = (unsigned char)*at;

	if (len > 1)
		code &= 0x7FU >> len;
	for (size_t i = 1; i < len; i++)
		code = code << 6 | ((unsigned char)at[i] & 0x3F);
	return code;
}

const char *toml_found(const struct toml_reader *r, char out[32])
{
	if (r->at == r->end)
		return "the end of the file";
	if (toml_at_newline(r))
		return "the end of the line";
	if (*r->at == '\r')
		return "a carriage return without a line feed";
	if (*r->at == ' ')
		return "a space";
	if (*r->at == '\t')
		return "a tab";
	if (*r->at > ' ' && *r->at < 0x7F)
		snprintf(out, 32, "'%c'", *r->at);
	else
		snprintf(out, 32, "the character U+%04X",
			 code_point(r->at, r->end));
	return out;
}

bool toml_is_bare(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static bool is_bare(struct str key)
{
	for (size_t i = 0; i < key.len; i++)
		if (!toml_is_bare(key.ptr[i]))
			return false;
	return key.len > 0;
}

const char *toml_shown(struct str key, char out[64])
{
	enum { LONGEST = 48 };
	const char *quote = is_bare(key) ? "'" : "'\"";
	const char *unquote = is_bare(key) ? "'" : "\"'";
	struct buf text = BUF_INIT(LONGEST);

	sanitize_text(key, &text);
	text.len = str_utf8_prefix(buf_str(&text));
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] == '\n' || text.ptr[i] == '\t')
			text.ptr[i] = ' ';
	snprintf(out, 64, "%s%.*s%s%s", quote, (int)text.len,
		 text.len ? text.ptr : "", text.over ? "..." : "", unquote);
	buf_release(&text);
	return out;
}

bool toml_at_newline(const struct toml_reader *r)
{
	if (r->at == r->end)
		return false;
	return *r->at == '\n' ||
	       (*r->at == '\r' && r->end - r->at > 1 && r->at[1] == '\n');
}

void toml_newline(struct toml_reader *r)
{
	r->at += *r->at == '\r' ? 2 : 1;
	r->line++;
	r->mark = r->at;
	r->mark_column = 1;
}

void toml_blanks(struct toml_reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
		r->at++;
}

/* If one stands here. */
static int skip_comment(struct toml_reader *r)
{
	char found[32];

	if (r->at == r->end || *r->at != '#')
		return 0;
	for (; r->at < r->end && !toml_at_newline(r); r->at++) {
		unsigned char c = (unsigned char)*r->at;

		if ((c < ' ' && c != '\t') || c == 0x7F)
			return toml_fail(r, toml_here(r), "%s in a comment",
					 toml_found(r, found));
	}
	return 0;
}

int toml_gap(struct toml_reader *r)
{
	for (;;) {
		toml_blanks(r);
		if (skip_comment(r) < 0)
			return -1;
		if (!toml_at_newline(r))
			return 0;
		toml_newline(r);
	}
}

int toml_line_end(struct toml_reader *r, const char *after)
{
	char found[32];

	toml_blanks(r);
	if (skip_comment(r) < 0)
		return -1;
	if (r->at == r->end)
		return 0;
	if (!toml_at_newline(r))
		return toml_fail(r, toml_here(r),
				 "expected the end of the line after %s, "
				 "found %s",
				 after, toml_found(r, found));
	toml_newline(r);
	return 0;
}

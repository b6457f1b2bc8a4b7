/* dotenv.c - reads .env files. */
/* SPDX-License-Identifier: MIT */
#include "config/dotenv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

struct dotenv_reader {
	const struct dotenv_input *in;
	struct dotenv *out;
	const char *at; /* the next byte */
	const char *end;
	int line;         /* of at */
	struct buf value; /* the one being read */
};

static void warn(struct dotenv_reader *r, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void warn(struct dotenv_reader *r, int line, const char *fmt, ...)
{
	struct dotenv *d = r->out;
	char what[256];
	va_list ap;

	if (d->n_warnings > DOTENV_MOST_WARNINGS)
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (d->n_warnings == DOTENV_MOST_WARNINGS)
		snprintf(what, sizeof(what),
			 "more warnings about this file are not shown");
	d->warnings =
		xrealloc(d->warnings, d->n_warnings + 1, sizeof(*d->warnings));
	d->warnings[d->n_warnings++] =
		xasprintf("%s:%d: %s", r->in->file, line, what);
}

static bool letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool name_char(char c)
{
	return letter(c) || (c >= '0' && c <= '9');
}

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool at_line_end(const struct dotenv_reader *r)
{
	return r->at == r->end || *r->at == '\n' || *r->at == '\r';
}

static void skip_blanks(struct dotenv_reader *r)
{
	while (r->at < r->end && blank(*r->at))
		r->at++;
}

static void skip_line(struct dotenv_reader *r)
{
	while (r->at < r->end && *r->at != '\n')
		r->at++;
}

/* Blank lines and comments; at the first byte of a statement, or the end. */
static void skip_gap(struct dotenv_reader *r)
{
	for (; r->at < r->end; r->at++) {
		if (*r->at == '#')
			skip_line(r);
		if (r->at == r->end)
			return;
		if (*r->at == '\n')
			r->line++;
		else if (!blank(*r->at) && *r->at != '\r')
			return;
	}
}

static size_t name_length(const char *at, const char *end)
{
	const char *p = at;

	if (p == end || !letter(*p))
		return 0;
	while (p < end && name_char(*p))
		p++;
	return (size_t)(p - at);
}

const char *dotenv_get(const struct dotenv *d, struct str name)
{
	uint64_t code = hash_code(name, 0);
	size_t cursor = 0;
	uint32_t i;

	while (hash_next(&d->names, code, &cursor, &i))
		if (str_is(name, d->vars[i].name))
			return d->vars[i].value;
	return NULL;
}

/* ${NAME} in a project's file means that file alone: otherwise a line such as
 * RUNLOOP_API_KEY=${GITHUB_TOKEN} would send the user's token to a vendor. */
static const char *look_up(const struct dotenv_reader *r, struct str name)
{
	char *text = xstrndup(name.ptr, name.len);
	const char *value = NULL;

	if (r->in->lookup && r->in->owner != DOTENV_PROJECT)
		value = r->in->lookup(r->in->arg, text);
	free(text);
	return value ? value : dotenv_get(r->out, name);
}

/* A reference that a project's file cannot resolve stays in the value. */
static void keep_reference(struct dotenv_reader *r, struct str name,
			   const char *end)
{
	warn(r, r->line,
	     "${%.*s} is not set in this file and stays as it is: a project's "
	     ".env file gets no other values",
	     name.len > 80 ? 80 : (int)name.len, name.ptr);
	buf_add(&r->value, r->at, (size_t)(end - r->at));
}

/* At "${": replaces it, or false when it is no reference. end bounds it. */
static bool reference(struct dotenv_reader *r, const char *end)
{
	const char *name = r->at + 2;
	size_t len = name_length(name, end);
	const char *p = name + len;
	struct str other = { 0 };
	const char *value;
	bool foreign = r->in->owner == DOTENV_PROJECT;

	if (!len)
		return false;
	if (end - p >= 2 && p[0] == ':' && p[1] == '-') {
		const char *close = memchr(p, '}', (size_t)(end - p));

		if (!close)
			return false;
		other = (struct str){ p + 2, (size_t)(close - p) - 2 };
		p = close;
	}
	if (p == end || *p != '}')
		return false;
	value = look_up(r, (struct str){ name, len });
	if (value && *value)
		buf_adds(&r->value, value);
	else if (!value && !other.ptr && foreign)
		keep_reference(r, (struct str){ name, len }, p + 1);
	else
		buf_addstr(&r->value, other);
	r->at = p + 1;
	return true;
}

static void add_plain(struct dotenv_reader *r, const char *end)
{
	if (end - r->at > 2 && r->at[0] == '$' && r->at[1] == '{' &&
	    reference(r, end))
		return;
	buf_addc(&r->value, *r->at++);
}

/* At a backslash inside quotes. */
static void add_escape(struct dotenv_reader *r, char quote)
{
	static const char letters[] = "abfnrtv\\\"'$";
	static const char bytes[] = "\a\b\f\n\r\t\v\\\"'$";
	char c = r->at + 1 < r->end ? r->at[1] : '\0';
	const char *known = c ? strchr(letters, c) : NULL;

	if (known && (quote == '"' || c == '\'' || c == '\\')) {
		buf_addc(&r->value, bytes[known - letters]);
		r->at += 2;
	} else {
		buf_addc(&r->value, *r->at++);
	}
}

/* The quote that closes the one at r->at, or NULL. */
static const char *closing_quote(const struct dotenv_reader *r)
{
	for (const char *p = r->at + 1; p < r->end; p++) {
		if (*p == '\\' && p + 1 < r->end)
			p++;
		else if (*p == *r->at)
			return p;
	}
	return NULL;
}

static int quoted_value(struct dotenv_reader *r)
{
	const char *close = closing_quote(r);
	char quote = *r->at;
	int line = r->line;

	if (!close) {
		warn(r, line, "a quote is not closed; this line is ignored");
		return -1;
	}
	r->at++;
	while (r->at < close) {
		if (*r->at == '\\')
			add_escape(r, quote);
		else if (quote == '"')
			add_plain(r, close);
		else
			add_plain(r, r->at + 1);
	}
	r->at = close + 1;
	skip_blanks(r);
	if (at_line_end(r) || *r->at == '#')
		return 0;
	warn(r, line, "text after the closing quote; this line is ignored");
	return -1;
}

static int plain_value(struct dotenv_reader *r)
{
	const char *end = r->at;
	const char *p = r->at;

	for (; p < r->end && *p != '\n' && *p != '\r'; p++) {
		if (*p == '#' && blank(p[-1]))
			break;
		if (!blank(*p))
			end = p + 1;
	}
	while (r->at < end)
		add_plain(r, end);
	return 0;
}

static void store(struct dotenv_reader *r, struct str name, int line)
{
	struct dotenv *d = r->out;
	uint64_t code = hash_code(name, 0);
	char *value = xstrndup(r->value.ptr, r->value.len);
	size_t cursor = 0;
	uint32_t i;

	while (hash_next(&d->names, code, &cursor, &i)) {
		if (!str_is(name, d->vars[i].name))
			continue;
		free(d->vars[i].value);
		d->vars[i].value = value;
		d->vars[i].line = line;
		return;
	}
	if ((d->n & (d->n - 1)) == 0)
		d->vars = xrealloc(d->vars, d->n ? d->n * 2 : 1,
				   sizeof(*d->vars));
	hash_add(&d->names, code, (uint32_t)d->n);
	d->vars[d->n++] = (struct dotenv_var){ xstrndup(name.ptr, name.len),
					       value, line };
}

/* Everything counts, kept or not: references can multiply a small file. */
static void too_large(struct dotenv_reader *r, int line)
{
	warn(r, line,
	     "the values are larger than %d bytes; the rest is ignored",
	     DOTENV_LARGEST_SUM);
	r->at = r->end;
}

static void keep(struct dotenv_reader *r, struct str name, int line)
{
	const char *owner =
		r->in->owner == DOTENV_PROJECT ? "a project's " : "a ";
	int len = name.len > 80 ? 80 : (int)name.len;

	r->out->sum += r->value.len;
	if (r->out->sum > DOTENV_LARGEST_SUM)
		too_large(r, line);
	else if (dotenv_denied(name, r->in->owner))
		warn(r, line, "%.*s may not be set in %s.env file; ignored",
		     len, name.ptr, owner);
	else if (r->value.len && memchr(r->value.ptr, '\0', r->value.len))
		warn(r, line, "%.*s contains a NUL byte; ignored", len,
		     name.ptr);
	else if (r->value.over)
		warn(r, line, "%.*s is larger than %d bytes; ignored", len,
		     name.ptr, DOTENV_LARGEST_VALUE);
	else
		store(r, name, line);
}

static void statement(struct dotenv_reader *r)
{
	int line = r->line;
	struct str name;
	int rc;

	if (r->end - r->at > 7 && !memcmp(r->at, "export", 6) &&
	    blank(r->at[6])) {
		r->at += 6;
		skip_blanks(r);
	}
	name = (struct str){ r->at, name_length(r->at, r->end) };
	r->at += name.len;
	skip_blanks(r);
	if (!name.len || r->at == r->end || *r->at != '=') {
		warn(r, line, "expected NAME=value; this line is ignored");
		skip_line(r);
		return;
	}
	r->at++;
	skip_blanks(r);
	buf_clear(&r->value);
	if (r->at < r->end && (*r->at == '"' || *r->at == '\''))
		rc = quoted_value(r);
	else
		rc = plain_value(r);
	if (rc == 0)
		keep(r, name, line);
	skip_line(r);
}

void dotenv_parse(struct dotenv *d, const struct dotenv_input *in)
{
	struct dotenv_reader r = {
		.in = in,
		.out = d,
		.at = in->text.ptr,
		.end = in->text.ptr + in->text.len,
		.line = 1,
		.value = BUF_INIT(DOTENV_LARGEST_VALUE),
	};

	if (!in->text.len)
		return;
	if (in->text.len > DOTENV_LARGEST) {
		warn(&r, 1, "larger than %d bytes; this file is ignored",
		     DOTENV_LARGEST);
		return;
	}
	if (str_starts(in->text, "\xEF\xBB\xBF"))
		r.at += 3;
	for (skip_gap(&r); r.at < r.end; skip_gap(&r)) {
		const char *start = r.at;

		statement(&r);
		for (; start < r.at; start++)
			r.line += *start == '\n';
	}
	buf_wipe(&r.value);
}

void dotenv_release(struct dotenv *d)
{
	for (size_t i = 0; i < d->n; i++) {
		explicit_bzero(d->vars[i].value, strlen(d->vars[i].value));
		free(d->vars[i].name);
		free(d->vars[i].value);
	}
	for (size_t i = 0; i < d->n_warnings; i++)
		free(d->warnings[i]);
	free(d->vars);
	free(d->warnings);
	hash_release(&d->names);
	*d = (struct dotenv){ 0 };
}

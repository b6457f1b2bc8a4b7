/* records.c - what glob.sh and grep.sh print, taken apart. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/records.h"

#include <string.h>

#include "base/str.h"

static const struct str root = { ".//./", 5 };
static const struct str next_root = { "\n.//./", 6 };

enum { PATH_BYTES = 64 << 10 };

/* A record without its newline. */
static bool deliver(struct path_records *p, struct str record,
		    bool (*each)(void *arg, struct str path), void *arg)
{
	if (str_is(record, "//") || str_ends(record, "\n//")) {
		p->incomplete = true;
		record.len -= record.len > 2 ? 3 : 2;
	}
	if (!str_starts(record, root.ptr) || record.len == root.len)
		return true;
	return each(arg, str_skip(record, root.len));
}

bool path_records_feed(struct path_records *p, struct str chunk,
		       bool (*each)(void *arg, struct str path), void *arg)
{
	bool more = true;
	size_t from = 0;

	p->held.max = SIZE_MAX / 2;
	buf_addstr(&p->held, chunk);
	while (more) {
		struct str rest = str_skip(buf_str(&p->held), from);
		size_t at = str_search(rest, next_root);

		if (at == rest.len)
			break;
		more = deliver(p, (struct str){ rest.ptr, at }, each, arg);
		from += at + 1;
	}
	buf_consume(&p->held, from);
	if (p->held.len > PATH_BYTES) {
		buf_clear(&p->held);
		p->incomplete = true;
	}
	return more;
}

void path_records_end(struct path_records *p, bool whole,
		      bool (*each)(void *arg, struct str path), void *arg)
{
	struct str last = buf_str(&p->held);

	/* Not every find that is cut ends a line. */
	if (whole && str_ends(last, "\n"))
		(void)deliver(p, (struct str){ last.ptr, last.len - 1 }, each,
			      arg); /* nothing is left to stop */
	else if (last.len)
		p->incomplete = true;
	buf_release(&p->held);
}

/* "12:text" or "12+:text" up to the line end. */
static bool take_line(struct str *rest, struct match_record *m)
{
	size_t end = str_find(*rest, '\n');
	struct str line = { rest->ptr, end };
	size_t colon = str_find(line, ':');
	struct str number = { line.ptr, colon };

	*rest = str_skip(*rest, end + 1);
	m->later = str_ends(number, "+");
	number.len -= m->later;
	if (colon == line.len || !str_to_int(number, &m->line) || m->line < 1)
		return false;
	m->text = str_skip(line, colon + 1);
	return true;
}

/* The first ":12:" or ":12+:" ends the path. */
static size_t path_end(struct str record)
{
	for (size_t i = 0; i < record.len; i++) {
		size_t digits = 0;

		if (record.ptr[i] != ':')
			continue;
		while (i + 1 + digits < record.len &&
		       record.ptr[i + 1 + digits] >= '0' &&
		       record.ptr[i + 1 + digits] <= '9')
			digits++;
		if (digits && i + 1 + digits < record.len &&
		    record.ptr[i + 1 + digits] == '+')
			digits++;
		if (digits && i + 1 + digits < record.len &&
		    record.ptr[i + 1 + digits] == ':')
			return i;
	}
	return record.len;
}

/* Cuts the root's own prefix off a path. What is before it is the rest of a
 * line with a NUL, where busybox's cut ends lines too. */
static bool below(struct str *path)
{
	for (;;) {
		size_t at = str_search(*path, next_root);

		if (at == path->len)
			break;
		*path = str_skip(*path, at + 1);
	}
	if (!str_starts(*path, root.ptr) || path->len == root.len)
		return false;
	*path = str_skip(*path, root.len);
	return true;
}

static bool take_null(struct str *rest, struct match_record *m)
{
	struct str path = { rest->ptr, str_find(*rest, '\0') };

	if (path.len == rest->len) { /* the end was cut off, or garbage */
		*rest = (struct str){ 0 };
		return false;
	}
	*rest = str_skip(*rest, path.len + 1);
	m->path = path;
	return take_line(rest, m) && below(&m->path);
}

static bool take_colon(struct str *rest, struct match_record *m)
{
	struct str record = *rest;
	size_t at;

	if (record.ptr[0] == '\0') {
		*rest = str_skip(*rest, 1);
		return take_null(rest, m);
	}
	at = path_end(record);
	m->path = (struct str){ record.ptr, at };
	if (at == record.len) {
		*rest = (struct str){ 0 };
		return false;
	}
	*rest = str_skip(record, at + 1);
	return take_line(rest, m) && below(&m->path);
}

bool match_record_next(struct str *rest, enum match_form form,
		       struct match_record *m)
{
	bool found = false;

	while (!found && rest->len) {
		*m = (struct match_record){ 0 };
		if (form == MATCH_FILE)
			found = take_line(rest, m);
		else if (form == MATCH_NULL)
			found = take_null(rest, m);
		else
			found = take_colon(rest, m);
	}
	return found;
}

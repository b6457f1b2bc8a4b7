/* edit_match.c - decides what an edit changes, on bytes alone. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/files/edit_match.h"

#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "sandbox/files/near_miss.h"

enum { AS_SENT, WITH_CRLF, WITH_LF, WITH_CR, FORMS };

static void convert(struct buf *out, struct str s, int form)
{
	for (size_t i = 0; i < s.len; i++) {
		bool pair = s.ptr[i] == '\r' && i + 1 < s.len &&
			    s.ptr[i + 1] == '\n';

		if (form != AS_SENT && pair)
			continue;
		if (form == WITH_CRLF && s.ptr[i] == '\n')
			buf_addc(out, '\r');
		buf_addc(out,
			 form == WITH_CR && s.ptr[i] == '\n' ? '\r' : s.ptr[i]);
	}
}

/* The line ends at a place of a file: those of the line there, of the one
 * before it where that is the last and has none. AS_SENT: the file has no line
 * end. */
static int line_ends_at(struct str file, size_t at)
{
	size_t end = at + str_find(str_skip(file, at), '\n');

	if (end == file.len) {
		const char *last = at ? memrchr(file.ptr, '\n', at) : NULL;

		if (!last)
			return str_find(file, '\r') < file.len ? WITH_CR
							       : AS_SENT;
		end = (size_t)(last - file.ptr);
	}
	return end && file.ptr[end - 1] == '\r' ? WITH_CRLF : WITH_LF;
}

/* Occurrences that do not overlap, from the left. */
static int64_t count(struct str file, struct str old)
{
	int64_t n = 0;

	for (;;) {
		size_t at = str_search(file, old);

		if (at >= file.len)
			return n;
		n++;
		file = str_skip(file, at + old.len);
	}
}

/* What goes in, with each kind of line ends. */
struct insertion {
	struct buf forms[FORMS];
	bool exact; /* as it was sent: the text that it replaces said how */
};

static struct str form_at(const struct insertion *new, struct str file,
			  size_t at)
{
	int form = new->exact ? AS_SENT : line_ends_at(file, at);

	return buf_str(&new->forms[form]);
}

static void replace(struct str file, struct str old,
		    const struct insertion *new, struct edit_change *change)
{
	size_t from = 0;

	for (int64_t i = 0; i < change->count; i++) {
		size_t at = from + str_search(str_skip(file, from), old);
		/* A line break that was sent as LF and is the second half of
		 * one: the first half belongs to it. */
		size_t half = !new->exact &&old.ptr[0] == '\n' &&
			      at > from &&file.ptr[at - 1] == '\r';

		if (i == 0)
			change->head = at - half;
		else
			buf_add(&change->middle, file.ptr + from,
				at - half - from);
		buf_addstr(&change->middle, form_at(new, file, at));
		from = at + old.len;
	}
	change->tail = file.len - from;
}

/* Before every character, and at the end. */
static void insert(struct str file, const struct insertion *new,
		   struct edit_change *change)
{
	struct str text = form_at(new, file, 0);

	buf_addstr(&change->middle, text);
	while (file.len && !change->middle.over) {
		size_t len = str_char_offset(file, 1);

		buf_add(&change->middle, file.ptr, len);
		buf_addstr(&change->middle, text);
		file = str_skip(file, len);
	}
}

static bool ends(struct str s, struct str with)
{
	return s.len >= with.len && str_eq(str_skip(s, s.len - with.len), with);
}

/* A newline too many at the end of old, where the file has none: the most
 * common reason why a text is not found. */
static int advise(struct str file, struct str old, struct error *err)
{
	struct str stripped = old;
	int64_t n;

	if (old.len && old.ptr[old.len - 1] == '\n')
		stripped.len--;
	if (stripped.len && stripped.len < old.len &&
	    stripped.ptr[stripped.len - 1] == '\r')
		stripped.len--;
	if (!stripped.len || stripped.len == old.len || !ends(file, stripped))
		return -1;
	n = count(file, stripped);
	if (n > 1)
		return error_hint(
			err,
			"old_string ends with a newline, but the file does not "
			"end with a newline. Without it the text occurs "
			"%" PRId64
			" times: remove the trailing newline and add "
			"surrounding context.",
			n);
	return error_hint(
		err,
		"old_string ends with a newline, but the file does not end "
		"with a newline. Retry with the trailing newline removed "
		"from old_string (and from new_string if it also ends "
		"with a newline).");
}

static int not_found(struct str file, const struct buf olds[FORMS],
		     struct buf *near, struct error *err)
{
	struct buf text = BUF_INIT(2 * near->max);

	error_reason(err, ERR_REMOTE, "string_not_found");
	for (int form = AS_SENT; form < FORMS && !err->hint[0]; form++)
		advise(file, buf_str(&olds[form]), err);
	if (!err->hint[0] && near_miss(file, buf_str(&olds[WITH_LF]), &text))
		buf_addstr(near, buf_str(&text));
	buf_release(&text);
	return -1;
}

static bool may_match(struct str file, int form)
{
	return form != WITH_CR || str_find(file, '\n') == file.len;
}

static int decide(struct str file, const struct buf olds[FORMS], struct str new,
		  bool all, struct edit_change *change, struct error *err)
{
	struct insertion in = { 0 };
	struct str old = { 0 };
	int form;

	for (form = AS_SENT; form < FORMS && !change->count; form++) {
		if (!may_match(file, form))
			continue;
		old = buf_str(&olds[form]);
		change->count = old.len ? count(file, old)
					: (int64_t)str_chars(file) + 1;
	}
	if (!change->count)
		return not_found(file, olds, &change->near, err);
	if (change->count > 1 && !all)
		return error_reason(err, ERR_REMOTE, "multiple_occurrences");
	in.exact = form - 1 == AS_SENT && str_find(old, '\r') < old.len;
	for (form = AS_SENT; form < FORMS; form++) {
		in.forms[form] = BUF_INIT(change->middle.max);
		convert(&in.forms[form], new, form);
		change->middle.over |= in.forms[form].over;
	}
	if (old.len)
		replace(file, old, &in, change);
	else
		insert(file, &in, change);
	for (form = AS_SENT; form < FORMS; form++)
		buf_release(&in.forms[form]);
	return buf_check(&change->middle, "the edited file", err);
}

int edit_match(struct str file, struct str old, struct str new, bool all,
	       struct edit_change *change, struct error *err)
{
	struct buf olds[FORMS];
	int rc;

	change->count = 0;
	change->head = 0;
	change->tail = 0;
	if (!str_is_utf8(file))
		return error_reason(err, ERR_REMOTE, "not_a_text_file");
	for (int form = AS_SENT; form < FORMS; form++) {
		olds[form] = BUF_INIT(2 * old.len + 1);
		convert(&olds[form], old, form);
	}
	rc = decide(file, olds, new, all, change, err);
	for (int form = AS_SENT; form < FORMS; form++)
		buf_release(&olds[form]);
	return rc;
}

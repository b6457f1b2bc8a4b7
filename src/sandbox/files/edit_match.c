/* edit_match.c - decides what an edit changes, on bytes alone. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/files/edit_match.h"

#include <inttypes.h>

#include "base/str.h"

enum { AS_SENT, WITH_CRLF, WITH_LF, FORMS };

static void convert(struct buf *out, struct str s, int form)
{
	for (size_t i = 0; i < s.len; i++) {
		bool pair = s.ptr[i] == '\r' && i + 1 < s.len &&
			    s.ptr[i + 1] == '\n';

		if (form != AS_SENT && pair)
			continue;
		if (form == WITH_CRLF && s.ptr[i] == '\n')
			buf_addc(out, '\r');
		buf_addc(out, s.ptr[i]);
	}
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

static void replace(struct str file, struct str old, struct str new,
		    struct edit_change *change)
{
	size_t from = str_search(file, old);

	change->head = from;
	for (int64_t i = 0; i < change->count; i++) {
		size_t at = str_search(str_skip(file, from), old);

		buf_add(&change->middle, file.ptr + from, at);
		buf_addstr(&change->middle, new);
		from += at + old.len;
	}
	change->tail = file.len - from;
}

/* Before every character, and at the end. */
static void insert(struct str file, struct str new, struct edit_change *change)
{
	buf_addstr(&change->middle, new);
	while (file.len && !change->middle.over) {
		size_t len = str_char_offset(file, 1);

		buf_add(&change->middle, file.ptr, len);
		buf_addstr(&change->middle, new);
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
		     struct error *err)
{
	error_reason(err, ERR_REMOTE, "string_not_found");
	for (int form = AS_SENT; form < FORMS && !err->hint[0]; form++)
		advise(file, buf_str(&olds[form]), err);
	return -1;
}

static int decide(struct str file, const struct buf olds[FORMS], struct str new,
		  bool all, struct edit_change *change, struct error *err)
{
	struct buf form_of_new = BUF_INIT(change->middle.max);
	struct str old = { 0 };
	int form;

	for (form = AS_SENT; form < FORMS && !change->count; form++) {
		old = buf_str(&olds[form]);
		change->count = old.len ? count(file, old)
					: (int64_t)str_chars(file) + 1;
	}
	if (!change->count)
		return not_found(file, olds, err);
	if (change->count > 1 && !all)
		return error_reason(err, ERR_REMOTE, "multiple_occurrences");
	convert(&form_of_new, new, form - 1);
	if (old.len)
		replace(file, old, buf_str(&form_of_new), change);
	else
		insert(file, buf_str(&form_of_new), change);
	change->middle.over |= form_of_new.over;
	buf_release(&form_of_new);
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

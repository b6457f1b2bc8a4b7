/* files_edit.c - replacing text in a file: seen, decided here, put back. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "sandbox/files/edit_match.h"
#include "sandbox/files/encoding.h"
#include "sandbox/files/files_impl.h"

enum {
	EDIT_BYTES = 32 << 20, /* of a file that is edited, before and after */
	NEAR_BYTES = 8 << 10,
	TRIES = 2, /* when it changes between seeing and writing */
};

struct edit {
	struct encoding encoding;
	struct buf text; /* the file as UTF-8 */
	struct helper helper;
	struct str old;
	struct str new;
	bool all;
	struct edit_change change; /* of text */
	size_t head;               /* the same of the file's bytes */
	size_t tail;
	struct buf middle;
	struct error refusal; /* why nothing is changed */
};

/* A mark that the model repeats from the file's beginning. */
static struct str without_mark(const struct edit *e, struct str s)
{
	return e->encoding.mark && str_starts(s, "\xEF\xBB\xBF")
		       ? str_skip(s, 3)
		       : s;
}

/* Matches in the file as UTF-8, and says what that is in its own bytes. */
static int match(struct edit *e, struct str file)
{
	struct str text;

	buf_clear(&e->text);
	buf_clear(&e->middle);
	if (encoding_detect(file, false, &e->encoding, &e->refusal) ||
	    encoding_decode(&e->encoding, file, &e->text, &e->refusal))
		return -1;
	text = buf_str(&e->text);
	if (edit_match(text, without_mark(e, e->old), without_mark(e, e->new),
		       e->all, &e->change, &e->refusal) ||
	    encoding_encode(&e->encoding, buf_str(&e->change.middle),
			    &e->middle, &e->refusal))
		return -1;
	e->head = e->encoding.mark +
		  encoding_size(&e->encoding,
				(struct str){ text.ptr, e->change.head });
	e->tail = encoding_size(&e->encoding,
				str_skip(text, text.len - e->change.tail));
	return 0;
}

/* Decides on what is in helper.out; -1 with the refusal kept. */
static int decide(struct edit *e)
{
	const char *status = e->helper.status;
	int rc;

	if (!str_starts(str_of(status), "file "))
		rc = helper_failed(status, &e->refusal);
	else
		rc = match(e, buf_str(&e->helper.out));
	if (str_starts(str_of(status), "too_large "))
		error_set(&e->refusal, ERR_LIMIT,
			  "the file is larger than %d MB", EDIT_BYTES >> 20);
	return rc;
}

static int reply(void *arg, struct buf *out, struct error *err)
{
	struct edit *e = arg;

	(void)err; /* a refusal still has to end the dialog in order */
	if (decide(e)) {
		buf_adds(out, "end\n");
		return 0;
	}
	buf_addf(out, "put %zu %zu %zu\n", e->head, e->tail, e->middle.len);
	buf_addstr(out, buf_str(&e->middle));
	return 0;
}

static int by_dialog(struct sandbox *sb, struct edit *e,
		     const struct stop *stop, struct error *err)
{
	e->helper.dialog = true;
	e->helper.reply = reply;
	e->helper.arg = e;
	if (helper_run(sb, &e->helper, stop, err))
		return -1;
	if (e->refusal.code) {
		*err = e->refusal;
		return -1;
	}
	return files_answered(&e->helper, err);
}

/* Sees the file, then writes it if it still looks the same. */
static int by_mark(struct sandbox *sb, const char *path, struct edit *e,
		   const struct stop *stop, struct error *err)
{
	struct files_change change = { 0 };
	char mark[HELPER_STATUS];
	const char *status = e->helper.status;

	buf_clear(&e->helper.out);
	buf_clear(&e->change.middle);
	if (helper_run(sb, &e->helper, stop, err))
		return -1;
	if (e->helper.timed_out)
		return files_answered(&e->helper, err);
	if (decide(e)) {
		*err = e->refusal;
		return -1;
	}
	snprintf(mark, sizeof(mark), "%s", strrchr(status, ' ') + 1);
	change.head = (int64_t)e->head;
	change.tail = (int64_t)e->tail;
	change.content = buf_str(&e->middle);
	change.mark = mark;
	change.exact = e->helper.exact;
	return files_put(sb, path, &change, stop, err);
}

int files_load(struct sandbox *sb, const char *path, bool exact,
	       struct buf *out, const struct stop *stop, struct error *err)
{
	char most[24];
	struct helper h = { .script = HELPER_EDIT,
			    .args = { str_of(path) },
			    .n_args = 2,
			    .exact = exact,
			    .source = "none",
			    .timeout_ms = FILES_HELPER_MS,
			    .out = BUF_INIT(EDIT_BYTES) };
	int rc;

	h.args[1] = helper_decimal((int64_t)out->max, most);
	rc = helper_run(sb, &h, stop, err);
	if (rc == 0 && h.timed_out)
		rc = files_answered(&h, err);
	else if (rc == 0 && str_starts(str_of(h.status), "too_large "))
		rc = error_set(err, ERR_LIMIT, "the file is too large");
	else if (rc == 0 && !str_starts(str_of(h.status), "file "))
		rc = helper_failed(h.status, err);
	if (rc == 0)
		buf_addstr(out, buf_str(&h.out));
	buf_release(&h.out);
	return rc < 0 ? -1 : buf_check(out, "the file", err);
}

/* Hands on the file as it was seen, and as it was put back. */
static void report_change(const struct files_replacement *change,
			  const struct edit *e)
{
	struct str before = buf_str(&e->text);
	struct buf after = BUF_INIT(2 * EDIT_BYTES);

	if (!change->made)
		return;
	buf_add(&after, before.ptr, e->change.head);
	buf_addstr(&after, buf_str(&e->change.middle));
	buf_addstr(&after, str_skip(before, before.len - e->change.tail));
	if (!after.over)
		change->made(change->arg, before, buf_str(&after));
	buf_release(&after);
}

int files_edit(struct sandbox *sb, const struct files_replacement *change,
	       int64_t *count, const struct stop *stop, struct error *err)
{
	struct edit e = { .old = change->old,
			  .new = change->new,
			  .all = change->all };
	char most[24];
	int rc = -1;

	e.helper = (struct helper){ .script = HELPER_EDIT,
				    .args = { str_of(change->path) },
				    .n_args = 2,
				    .exact = change->exact,
				    .source = "none",
				    .timeout_ms = FILES_HELPER_MS,
				    .out = BUF_INIT(EDIT_BYTES) };
	e.helper.args[1] = helper_decimal(EDIT_BYTES, most);
	e.change.middle = BUF_INIT(EDIT_BYTES);
	e.change.near = BUF_INIT(NEAR_BYTES);
	e.middle = BUF_INIT(EDIT_BYTES);
	e.text = BUF_INIT(3 * EDIT_BYTES);
	if (sb->client->provider->flags & SANDBOX_STDIN) {
		rc = by_dialog(sb, &e, stop, err);
	} else {
		for (int i = 0; i < TRIES; i++) {
			struct error again = { 0 };

			rc = by_mark(sb, change->path, &e, stop, &again);
			if (rc)
				*err = again;
			if (!rc || strcmp(again.message, "changed") != 0)
				break;
		}
	}
	*count = e.change.count;
	if (change->result)
		*change->result = (struct files_edited){
			.encoding = encoding_label(&e.encoding),
			.near = e.change.near,
		};
	else
		buf_release(&e.change.near);
	if (rc == 0)
		report_change(change, &e);
	buf_release(&e.change.middle);
	buf_release(&e.middle);
	buf_release(&e.text);
	buf_release(&e.helper.out);
	return rc;
}

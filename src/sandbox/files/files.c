/* files.c - reads, writes, edits and deletes files in a sandbox. */
/* SPDX-License-Identifier: MIT */

/*
 * Each function runs one helper in the sandbox (sandbox/helper.h): one round
 * trip. The helper moves bytes and refuses what is not a regular file. Pages,
 * edits and line ends are handled here, with files/text.h. If the provider
 * supports a dialog, an edit reads and writes in one command. Otherwise it
 * writes only if the file has not changed since it was read, and tries again if
 * it has. Begin reading at files_read() and files_edit().
 */
#include "sandbox/files/files.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "sandbox/files/text.h"
#include "sandbox/helper.h"

/* The new file: the old file's first head bytes, content, and the old file's
 * last tail bytes. */
struct files_change {
	int64_t head;
	int64_t tail;
	struct str content;
	/* expected state of the file, as the helper printed it; or "" */
	const char *mark;
	bool exact; /* the path has no links: see files_resolve() */
	/* NULL: the previous content is not needed. */
	struct files_before *before;
	/* NULL, or receives the content of a file whose form must be preserved
	 * ("special" in put.sh). Then nothing was written, is_special is set,
	 * and mark_now is the file's state. */
	struct buf *special;
	bool is_special;
	char mark_now[64];
};

enum {
	SAID_BYTES = 400, /* bytes of rm's error message */
	/* bytes of put.sh's answer with the old content (at most 8 MiB) */
	SPECIAL_BYTES = (8 << 20) + 4096,
	/* attempts if the file changes between reading and writing */
	TRIES = 2,
};

/* Appends text as one line without control characters. */
static void add_as_line(struct str text, struct buf *out)
{
	sanitize_text(str_trim(text), out);
	for (size_t i = 0; i < out->len; i++)
		if (out->ptr[i] == '\n')
			out->ptr[i] = ' ';
}

int files_answered(const struct helper *h, struct error *err)
{
	if (h->timed_out)
		return error_set(err, ERR_TIMEOUT,
				 "the sandbox did not answer within %d s",
				 FILES_HELPER_MS / 1000);
	if (strcmp(h->status, "ok") == 0 ||
	    str_starts(str_of(h->status), "ok "))
		return 0;
	return helper_failed(h->status, err);
}

int files_delete(struct sandbox *sb, const char *path, bool exact,
		 const struct stop *stop, struct error *err)
{
	struct helper h = { .script = HELPER_DELETE,
			    .args = { str_of(path) },
			    .n_args = 1,
			    .exact = exact,
			    .timeout_ms = FILES_HELPER_MS,
			    .out = BUF_INIT(1 << 20) };
	struct buf said = BUF_INIT(SAID_BYTES);
	int rc = -1;

	if (helper_run(sb, &h, stop, err))
		goto out;
	if (strcmp(h.status, "failed") == 0) {
		add_as_line(buf_str(&h.out), &said);
		error_set(err, ERR_REMOTE, "%s",
			  said.len ? said.ptr : "unknown error");
	} else {
		rc = files_answered(&h, err);
	}
out:
	buf_release(&said);
	buf_release(&h.out);
	return rc;
}

/* Uploads the content to a new file next to the target, or in /tmp. Returns its
 * path, owned, or NULL. */
static char *stage_content(struct sandbox *sb, const char *path,
			   struct str content, const struct stop *stop,
			   struct error *err)
{
	const char *slash = strrchr(path, '/');
	struct transfer file = { .mode = 0600 };
	char id[17];
	char *name = NULL;

	ids_random(id, 16);
	for (int i = 0; i < 2; i++) {
		free(name);
		name = i ? xasprintf("/tmp/.dcode-%s", id)
			 : xasprintf("%.*s/.dcode-%s", (int)(slash - path),
				     path, id);
		file.path = name;
		if (sandbox_upload_bytes(sb, &file, content, stop, err)) {
			free(name);
			return NULL;
		}
		if (file.error == FILE_OK)
			return name;
		if (file.error != FILE_PERMISSION_DENIED)
			break;
	}
	if (file.error == FILE_OTHER)
		error_set(err, ERR_REMOTE, "%s", file.detail);
	else
		helper_failed(file_error_name(file.error), err);
	free(name);
	return NULL;
}

/* Runs the helper, and again without base64 if the sandbox has none. */
static int run_put(struct sandbox *sb, struct helper *h,
		   const struct stop *stop, struct error *err)
{
	buf_clear(&h->out);
	if (helper_run(sb, h, stop, err))
		return -1;
	if (strcmp(h->status, "no_base64") == 0 && !h->no_base64 &&
	    helper_fits(sb, h->content, false)) {
		h->no_base64 = true;
		return run_put(sb, h, stop, err);
	}
	return files_answered(h, err);
}

/* Checks the number of bytes that the sandbox reports: it is untrusted. */
static void read_before(struct helper *h, struct files_before *b)
{
	const char *rest = h->status + strlen("ok");

	if (!b)
		return;
	b->known = strcmp(h->status, "ok new") == 0 && !h->out.len;
	if (str_starts(str_of(h->status), "ok was ")) {
		rest += strlen(" was");
		b->known = helper_number(&rest) == (int64_t)h->out.len;
	}
	if (b->known)
		buf_addstr(&b->text, buf_str(&h->out));
}

static int read_special(const struct helper *h, struct files_change *change,
			struct error *err)
{
	const char *rest = h->status + strlen("ok special");

	if (helper_number(&rest) != (int64_t)h->out.len)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: %s", h->status);
	change->is_special = true;
	snprintf(change->mark_now, sizeof(change->mark_now), "%s",
		 strrchr(h->status, ' ') + 1);
	buf_addstr(change->special, buf_str(&h->out));
	return buf_check(change->special, "the file that is replaced", err);
}

/* Like files_write(). -1 with "changed" if the file is not in the state
 * mark. */
static int write_content(struct sandbox *sb, const char *path,
			 struct files_change *change, const struct stop *stop,
			 struct error *err)
{
	struct files_before *before = change->before;
	char numbers[4][24];
	struct helper h = { .script = HELPER_WRITE,
			    .n_args = 6,
			    .timeout_ms = FILES_HELPER_MS,
			    .content = change->content,
			    .exact = change->exact,
			    .out = BUF_INIT(4096) };
	char *staged = NULL;
	int rc = -1;

	h.args[0] = str_of(path);
	h.args[1] = helper_decimal(change->head, numbers[0]);
	h.args[2] = helper_decimal(change->tail, numbers[1]);
	h.args[3] = helper_decimal((int64_t)change->content.len, numbers[2]);
	h.args[4] = str_of(change->mark);
	if (before) {
		h.args[5] =
			helper_decimal((int64_t)before->text.max, numbers[3]);
		h.out.max += before->text.max;
	}
	if (change->special) {
		h.args[6] =
			str_ends(change->content, "\n") ? STR("1") : STR("0");
		/* If the text contains CR, the file's line ends always
		 * matter. */
		if (str_find(change->content, '\r') < change->content.len)
			h.args[6] = STR("CR");
		h.n_args = 7;
		h.out.max += SPECIAL_BYTES;
	}
	if (helper_fits(sb, change->content, true)) {
		rc = run_put(sb, &h, stop, err);
		/* Without base64 the content may not fit: then upload it. */
		if (!rc || strcmp(h.status, "no_base64") != 0)
			goto out;
	}
	staged = stage_content(sb, path, change->content, stop, err);
	if (!staged)
		goto out;
	h.source = staged;
	h.content = (struct str){ 0 };
	rc = run_put(sb, &h, stop, err);
out:
	if (rc == 0 && str_starts(str_of(h.status), "ok special "))
		rc = read_special(&h, change, err);
	else if (rc == 0)
		read_before(&h, before);
	free(staged);
	buf_release(&h.out);
	return rc;
}

/* Converts the content to the old file's form (line ends, encoding, byte order
 * mark) and sets out to the bytes to write. held: the old file's bytes. If they
 * are text, also sets w->written (the new text as UTF-8), w->kept and
 * w->before. */
static int keep_line_ends(struct files_writing *w, struct str held,
			  struct buf *out, struct error *err)
{
	struct encoding e;
	struct error ignored = { 0 };
	struct buf old = BUF_INIT(3 * SPECIAL_BYTES);
	struct buf text = BUF_INIT(SIZE_MAX / 4);
	int rc;

	buf_clear(&w->written);
	buf_clear(&w->kept);
	if (encoding_detect(held, false, &e, &ignored) ||
	    encoding_decode(&e, held, &old, &ignored)) {
		/* The old file is not text: nothing to preserve. */
		buf_addstr(out, w->content);
		buf_release(&old);
		return buf_check(out, "the file", err);
	}
	line_ends_keep(buf_str(&old), w->content, &text, &w->kept);
	if (encoding_label(&e))
		buf_addf(&w->kept, "%s%s", w->kept.len ? ", " : "",
			 encoding_label(&e));
	if (e.mark)
		buf_addf(&w->kept, "%sa byte order mark",
			 w->kept.len ? ", " : "");
	buf_add(out, held.ptr, e.mark);
	rc = encoding_encode(&e, buf_str(&text), out, err);
	if (rc < 0 && err->code == ERR_USAGE)
		error_hint(err, "To write it as UTF-8, delete it first.");
	buf_addstr(&w->written, buf_str(&text));
	if (w->before) {
		buf_clear(&w->before->text);
		buf_addstr(&w->before->text, buf_str(&old));
		w->before->known = !w->before->text.over;
	}
	buf_release(&text);
	buf_release(&old);
	return rc;
}

/* Overwrites a file whose content was read before, and preserves its form
 * (encoding, byte order mark, line ends). */
static int overwrite_special(struct sandbox *sb, struct files_writing *w,
			     struct files_change *seen, const struct stop *stop,
			     struct error *err)
{
	struct buf bytes = BUF_INIT(SIZE_MAX / 4);
	struct files_change change = { .mark = seen->mark_now,
				       .exact = w->exact };
	int rc = keep_line_ends(w, buf_str(seen->special), &bytes, err);

	change.content = buf_str(&bytes);
	if (rc == 0)
		rc = write_content(sb, w->path, &change, stop, err);
	buf_release(&bytes);
	return rc;
}

int files_overwrite(struct sandbox *sb, struct files_writing *writing,
		    const struct stop *stop, struct error *err)
{
	struct buf held = BUF_INIT(SPECIAL_BYTES);
	int rc = -1;

	for (int i = 0; i < TRIES; i++) {
		struct files_change change = { .content = writing->content,
					       .mark = "",
					       .exact = writing->exact,
					       .before = writing->before };
		struct error again = { 0 };

		buf_clear(&held);
		if (writing->content.len)
			change.special = &held;
		rc = write_content(sb, writing->path, &change, stop, &again);
		if (rc == 0 && change.is_special)
			rc = overwrite_special(sb, writing, &change, stop,
					       &again);
		if (rc < 0)
			*err = again;
		if (rc == 0 || strcmp(again.message, "changed") != 0)
			break;
	}
	buf_release(&held);
	return rc;
}

int files_write(struct sandbox *sb, const char *path, bool exact,
		struct str content, const struct stop *stop, struct error *err)
{
	struct files_change change = { .content = content,
				       .mark = "",
				       .exact = exact };

	return write_content(sb, path, &change, stop, err);
}

enum {
	/* on slow connections, files up to this size are read completely */
	WHOLE_TEXT = 96 << 10,
	/* bytes beyond the page limit: they show whether the page was cut */
	SLACK = 64,
};

/* limit of busybox head and tail */
static const int64_t most_lines = 2000000000;

struct read_window {
	int64_t offset;
	int64_t limit;
	bool binary;
	int64_t most; /* maximum bytes of a binary file */
};

/* Requests one line more than the caller wants, to know whether more lines
 * follow. */
static int request_window(struct sandbox *sb, const char *path,
			  const struct read_window *w, struct helper *h,
			  const struct stop *stop, struct error *err)
{
	bool fast = sb->client->provider->flags & SANDBOX_STDIN;
	int64_t whole = fast ? FILES_COUNT_BYTES : WHOLE_TEXT;
	int64_t first = w->offset < most_lines ? w->offset : most_lines - 1;
	int64_t count = w->limit < most_lines ? w->limit : most_lines - 1;
	char numbers[5][24];

	h->script = HELPER_READ;
	h->n_args = 7;
	h->timeout_ms = FILES_HELPER_MS;
	h->args[0] = str_of(path);
	h->args[1] = w->binary ? STR("binary") : STR("text");
	h->args[2] = helper_decimal(first + 1, numbers[0]);
	h->args[3] = helper_decimal(count ? count + 1 : 0, numbers[1]);
	h->args[4] = helper_decimal(w->binary ? w->most : whole, numbers[2]);
	h->args[5] = helper_decimal(FILES_PAGE_BYTES + SLACK, numbers[3]);
	h->args[6] = helper_decimal(FILES_COUNT_BYTES, numbers[4]);
	/* A file that grows while it is read exceeds this limit: an error. */
	h->out.max = FILES_COUNT_BYTES + FILES_PAGE_BYTES;
	if (w->binary)
		h->out.max += (size_t)w->most;
	if (helper_run(sb, h, stop, err))
		return -1;
	return files_answered(h, err);
}

static int64_t lines_in(struct str raw)
{
	int64_t n = 0;
	struct str line;

	while (str_split(&raw, '\n', &line))
		n += line.len || raw.len;
	return n;
}

static int text_page(const struct read_window *w, const struct helper *h,
		     bool whole, int64_t total, struct files_page *page,
		     struct error *err)
{
	struct page_source src = { .raw = buf_str(&h->out),
				   .at_end = whole,
				   .total = total };

	if (!whole) {
		src.first_line = w->offset;
		src.at_end = src.raw.len &&
			     src.raw.len < FILES_PAGE_BYTES + SLACK &&
			     lines_in(src.raw) <= w->limit;
	}
	return page_cut(&src, w->offset, w->limit, page, err);
}

/* Fills the page from the helper's answer: its status has the size, the kind of
 * content and the number of lines. */
static int read_page(const struct read_window *w, struct helper *h,
		     struct files_page *page, struct error *err)
{
	const char *rest = h->status + 2;
	int64_t size = helper_number(&rest);
	struct str kind;
	int64_t total;

	while (*rest == ' ')
		rest++;
	kind = (struct str){ rest, str_find(str_of(rest), ' ') };
	rest += kind.len;
	total = helper_number(&rest);
	if (size < 0)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: no size");
	if (str_is(kind, "large")) {
		error_set(err, ERR_REMOTE,
			  "Binary file exceeds maximum preview size of "
			  "%" PRId64 " bytes",
			  w->most);
		return error_case(err, CASE_FILE_TOO_LARGE);
	}
	page->total_lines = -1;
	page->next_offset = -1;
	if (w->binary) {
		page->binary = true;
		page->text = h->out;
		h->out = (struct buf){ 0 };
		return 0;
	}
	if (size == 0) {
		page->total_lines = 0;
		return 0;
	}
	page->no_lines = str_is(kind, "none");
	if (page->no_lines)
		return 0;
	return text_page(w, h, str_is(kind, "whole"), total, page, err);
}

int files_read(struct sandbox *sb, const struct files_window *window,
	       struct files_page *page, const struct stop *stop,
	       struct error *err)
{
	struct helper h = { 0 };
	struct read_window w = {
		.offset = window->offset > 0 ? window->offset : 0,
		.limit = window->limit > 0 ? window->limit : 0,
		.binary = window->as_binary,
		.most = window->most ? window->most : FILES_BINARY_BYTES
	};
	int rc;

	*page = (struct files_page){ 0 };
	rc = request_window(sb, window->path, &w, &h, stop, err);
	if (!rc)
		rc = read_page(&w, &h, page, err);
	buf_release(&h.out);
	return rc;
}

enum {
	/* maximum size of a file before and after an edit */
	EDIT_BYTES = 32 << 20,
	NEAR_BYTES = 8 << 10,
};

struct edit {
	struct encoding encoding;
	struct buf text; /* the file as UTF-8 */
	struct helper helper;
	struct str old;
	struct str new;
	bool all;
	struct edit_change change; /* the change, with offsets in text */
	size_t head; /* the same change, with offsets in the file's own bytes */
	size_t tail;
	struct buf middle;
	struct error refusal; /* why the edit was refused */
};

/* Returns s without a byte order mark that the model copied from the file. */
static struct str without_mark(const struct edit *e, struct str s)
{
	return e->encoding.mark && str_starts(s, "\xEF\xBB\xBF")
		       ? str_skip(s, 3)
		       : s;
}

/* Applies the edit to the file's text and converts the change to the file's own
 * bytes. */
static int match_edit(struct edit *e, struct str file)
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

/* Computes the edit from the file's content in helper.out. -1: e->refusal says
 * why the edit is impossible. */
static int decide_edit(struct edit *e)
{
	const char *status = e->helper.status;
	int rc;

	if (!str_starts(str_of(status), "file "))
		rc = helper_failed(status, &e->refusal);
	else
		rc = match_edit(e, buf_str(&e->helper.out));
	if (str_starts(str_of(status), "too_large "))
		error_set(&e->refusal, ERR_LIMIT,
			  "the file is larger than %d MB", EDIT_BYTES >> 20);
	return rc;
}

static int reply_to_edit(void *arg, struct buf *out, struct error *err)
{
	struct edit *e = arg;

	(void)err; /* After a refusal the dialog must still be ended properly */
	if (decide_edit(e)) {
		buf_adds(out, "end\n");
		return 0;
	}
	buf_addf(out, "put %zu %zu %zu\n", e->head, e->tail, e->middle.len);
	buf_addstr(out, buf_str(&e->middle));
	return 0;
}

static int edit_by_dialog(struct sandbox *sb, struct edit *e,
			  const struct stop *stop, struct error *err)
{
	e->helper.dialog = true;
	e->helper.reply = reply_to_edit;
	e->helper.arg = e;
	if (helper_run(sb, &e->helper, stop, err))
		return -1;
	if (e->refusal.code) {
		*err = e->refusal;
		return -1;
	}
	return files_answered(&e->helper, err);
}

/* Edits without a dialog: reads the file, then writes it only if it has not
 * changed since. */
static int edit_by_mark(struct sandbox *sb, const char *path, struct edit *e,
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
	if (decide_edit(e)) {
		*err = e->refusal;
		return -1;
	}
	snprintf(mark, sizeof(mark), "%s", strrchr(status, ' ') + 1);
	change.head = (int64_t)e->head;
	change.tail = (int64_t)e->tail;
	change.content = buf_str(&e->middle);
	change.mark = mark;
	change.exact = e->helper.exact;
	return write_content(sb, path, &change, stop, err);
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

/* Passes the text before and after the edit to the caller. */
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
		rc = edit_by_dialog(sb, &e, stop, err);
	} else {
		for (int i = 0; i < TRIES; i++) {
			struct error again = { 0 };

			rc = edit_by_mark(sb, change->path, &e, stop, &again);
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

enum { BELOW_BYTES = 8 << 20 };

void files_target_release(struct files_target *target)
{
	free(target->real);
	free(target->workdir);
	buf_release(&target->below);
	*target = (struct files_target){ 0 };
}

/* Parses a path such as "/a//b/./c" from the body; owned. NULL if it is not a
 * valid path. The part of a path that does not exist yet may come from a link
 * and contain ".."; then the target is unknown. */
static char *parse_path(struct str *body)
{
	struct buf path = BUF_INIT(1 << 16);
	struct str part;
	struct str all;

	if (!str_split(body, '\0', &all) || !str_starts(all, "/"))
		return NULL;
	while (str_split(&all, '/', &part)) {
		if (str_is(part, "..")) {
			buf_release(&path);
			return NULL;
		}
		if (!part.len || str_is(part, "."))
			continue;
		buf_addc(&path, '/');
		buf_addstr(&path, part);
	}
	if (!path.len)
		buf_addc(&path, '/');
	return buf_detach(&path);
}

/* Parses the answer of the resolve script into target. */
static int parse_target(const struct helper *h, struct files_target *target,
			struct error *err)
{
	static const char *const kinds[] = {
		[TARGET_NONE] = "none",   [TARGET_FILE] = "file",
		[TARGET_DIR] = "dir",     [TARGET_LINK] = "link",
		[TARGET_OTHER] = "other",
	};
	struct str body = buf_str(&h->out);
	struct str words = str_skip(str_of(h->status), strlen("ok "));
	const char *numbers;
	struct str kind;

	if (!str_split(&words, ' ', &kind))
		kind = (struct str){ 0 };
	for (size_t i = TARGET_NONE; i <= TARGET_OTHER; i++)
		if (str_is(kind, kinds[i]))
			target->kind = i;
	numbers = words.ptr ? words.ptr : "";
	target->names = helper_number(&numbers);
	target->git = helper_number(&numbers) != 0;
	target->real = parse_path(&body);
	target->workdir = parse_path(&body);
	buf_addstr(&target->below, body);
	if (!target->kind || target->names < 1 || !target->workdir)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: %s", h->status);
	if (!target->real)
		return error_set(err, ERR_REMOTE, "path_not_found");
	if (target->below.len >= BELOW_BYTES)
		return error_set(err, ERR_LIMIT,
				 "the directory holds too many files");
	return 0;
}

int files_resolve(struct sandbox *sb, const char *path, unsigned how,
		  struct files_target *target, const struct stop *stop,
		  struct error *err)
{
	char number[24];
	struct helper h = { .script = HELPER_RESOLVE,
			    .args = { str_of(path), str_of(sb->workdir),
				      how & RESOLVE_SELF ? STR("self")
							 : STR("") },
			    .n_args = 4,
			    .source = "none",
			    .timeout_ms = FILES_HELPER_MS,
			    .out = BUF_INIT(BELOW_BYTES + (1 << 17)) };
	int rc = -1;

	h.args[3] =
		helper_decimal(how & RESOLVE_BELOW ? BELOW_BYTES : 0, number);
	*target = (struct files_target){ .below = BUF_INIT(BELOW_BYTES) };
	if (helper_run(sb, &h, stop, err) == 0 && files_answered(&h, err) == 0)
		rc = parse_target(&h, target, err);
	buf_release(&h.out);
	return rc;
}

/* files.c - listing, writing and deleting files in the sandbox. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/files/files.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "sandbox/files/encoding.h"
#include "sandbox/files/files_impl.h"
#include "sandbox/files/line_ends.h"
#include "sandbox/helper.h"

enum {
	LIST_BYTES = 16 << 20,
	SAID_BYTES = 400,                 /* of what rm says */
	SPECIAL_BYTES = (8 << 20) + 4096, /* as put.sh prints */
	TRIES = 2,  /* when it changes between seeing and writing */
	STEP = 256, /* names allocated at once */
};

void files_names_release(struct files_names *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->names[i]);
	free(list->names);
	*list = (struct files_names){ 0 };
}

static int by_bytes(const void *a, const void *b)
{
	const char *const *x = a;
	const char *const *y = b;

	return strcmp(*x, *y);
}

void files_names_add(struct files_names *list, const char *root,
		     struct str name)
{
	const char *slash = str_ends(str_of(root), "/") ? "" : "/";

	if (list->n % STEP == 0)
		list->names = xrealloc(list->names, list->n + STEP,
				       sizeof(*list->names));
	list->names[list->n++] =
		xasprintf("%s%s%.*s", root, slash, (int)name.len, name.ptr);
}

void files_names_sort(struct files_names *list)
{
	if (list->n)
		qsort(list->names, list->n, sizeof(*list->names), by_bytes);
}

int files_ls(struct sandbox *sb, const char *path, struct files_names *list,
	     const struct stop *stop, struct error *err)
{
	struct helper h = { .script = HELPER_LS,
			    .args = { str_of(path) },
			    .n_args = 1,
			    .timeout_ms = FILES_HELPER_MS,
			    .out = BUF_INIT(LIST_BYTES) };
	struct str rest;
	struct str name;
	int rc = -1;

	*list = (struct files_names){ 0 };
	if (helper_run(sb, &h, stop, err)) {
		if (!h.out.over)
			goto out;
		list->incomplete = true; /* too many: the last is cut */
		while (h.out.len && h.out.ptr[h.out.len - 1])
			h.out.len--;
	} else if (files_answered(&h, err)) {
		goto out;
	}
	rest = buf_str(&h.out);
	while (str_split(&rest, '\0', &name))
		if (name.len)
			files_names_add(list, path, name);
	files_names_sort(list);
	rc = 0;
out:
	buf_release(&h.out);
	return rc;
}

/* Without the control characters and line ends of a program's last words. */
static void one_line(struct str text, struct buf *out)
{
	sanitize_text(str_trim(text), out);
	for (size_t i = 0; i < out->len; i++)
		if (out->ptr[i] == '\n')
			out->ptr[i] = ' ';
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
		one_line(buf_str(&h.out), &said);
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

struct content_source {
	struct str all;
	struct str rest;
};

static int64_t read_content(void *arg, char *room, size_t len,
			    struct error *err)
{
	struct content_source *s = arg;
	size_t take = len < s->rest.len ? len : s->rest.len;

	(void)err; /* memory does not fail */
	if (take)
		memcpy(room, s->rest.ptr, take);
	s->rest = str_skip(s->rest, take);
	return (int64_t)take;
}

static int rewind_content(void *arg, struct error *err)
{
	struct content_source *s = arg;

	(void)err;
	s->rest = s->all;
	return 0;
}

/* Leaves the content in a new file beside the target, or in /tmp. Returns its
 * name, owned, or NULL. */
static char *stage(struct sandbox *sb, const char *path, struct str content,
		   const struct stop *stop, struct error *err)
{
	const char *slash = strrchr(path, '/');
	struct content_source source = { content, content };
	struct transfer file = { .size = (int64_t)content.len,
				 .mode = 0600,
				 .read = read_content,
				 .rewind = rewind_content,
				 .arg = &source };
	char id[17];
	char *name = NULL;

	ids_random(id, 16);
	for (int i = 0; i < 2; i++) {
		free(name);
		name = i ? xasprintf("/tmp/.dcode-%s", id)
			 : xasprintf("%.*s/.dcode-%s", (int)(slash - path),
				     path, id);
		file.path = name;
		source.rest = content;
		if (sandbox_upload(sb, &file, 1, stop, err)) {
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

/* A retry without base64 is the only reason to ask twice. */
static int put(struct sandbox *sb, struct helper *h, const struct stop *stop,
	       struct error *err)
{
	buf_clear(&h->out);
	if (helper_run(sb, h, stop, err))
		return -1;
	if (strcmp(h->status, "no_base64") == 0 && !h->no_base64 &&
	    helper_fits(sb, h->content, false)) {
		h->no_base64 = true;
		return put(sb, h, stop, err);
	}
	return files_answered(h, err);
}

/* The sandbox says how much it was; it may say anything. */
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

int files_put(struct sandbox *sb, const char *path, struct files_change *change,
	      const struct stop *stop, struct error *err)
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
		/* With CR in the text the file's line ends always matter. */
		if (str_find(change->content, '\r') < change->content.len)
			h.args[6] = STR("CR");
		h.n_args = 7;
		h.out.max += SPECIAL_BYTES;
	}
	if (helper_fits(sb, change->content, true)) {
		rc = put(sb, &h, stop, err);
		/* Without base64 it may be too large: then upload it. */
		if (!rc || strcmp(h.status, "no_base64") != 0)
			goto out;
	}
	staged = stage(sb, path, change->content, stop, err);
	if (!staged)
		goto out;
	h.source = staged;
	h.content = (struct str){ 0 };
	rc = put(sb, &h, stop, err);
out:
	if (rc == 0 && str_starts(str_of(h.status), "ok special "))
		rc = read_special(&h, change, err);
	else if (rc == 0)
		read_before(&h, before);
	free(staged);
	buf_release(&h.out);
	return rc;
}

/* The content in the form of what the file held, as bytes; tells the caller
 * what was kept, and what the file holds as text. */
static int keep_form(struct files_writing *w, struct str held, struct buf *out,
		     struct error *err)
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
		/* No text: there is no form to keep. */
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

/* Writes over a file whose form is to stay: sees it, then puts it back. */
static int overwrite_special(struct sandbox *sb, struct files_writing *w,
			     struct files_change *seen, const struct stop *stop,
			     struct error *err)
{
	struct buf bytes = BUF_INIT(SIZE_MAX / 4);
	struct files_change change = { .mark = seen->mark_now,
				       .exact = w->exact };
	int rc = keep_form(w, buf_str(seen->special), &bytes, err);

	change.content = buf_str(&bytes);
	if (rc == 0)
		rc = files_put(sb, w->path, &change, stop, err);
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
		rc = files_put(sb, writing->path, &change, stop, &again);
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

	return files_put(sb, path, &change, stop, err);
}

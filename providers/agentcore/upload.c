/* upload.c - files into a session: writeFiles, many at once. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "providers/agentcore/agentcore.h"
#include "providers/kit/stat_files.h"
#include "sandbox/quote.h"
#include "sandbox/transfer.h"

enum {
	PIECE = 4 << 20,  /* bytes of one file in one request */
	BATCH = 8 << 20,  /* bytes of all files in one request */
	BATCH_FILES = 64, /* of them */
	BODY_MAX = 16 << 20,
	WRITE_MS = 300000,
	APPEND_MS = 120000,
};

/* A file that is held in memory until it is written. */
struct held {
	struct transfer *file;
	char *path; /* relative, owned */
	struct buf data;
	size_t sent; /* when it is read from memory */
};

struct batch {
	struct held items[BATCH_FILES];
	size_t n;
	size_t bytes;
};

/* "path":...,"blob":... in braces. */
static void add_file(struct buf *out, const char *path, struct str data)
{
	size_t size = sodium_base64_encoded_len(data.len,
						sodium_base64_VARIANT_ORIGINAL);
	char *room;

	buf_addc(out, '{');
	json_member(out, "path", str_of(path));
	buf_adds(out, ",\"blob\":\"");
	room = buf_room(out, size);
	if (room) {
		sodium_bin2base64(room, size, (const unsigned char *)data.ptr,
				  data.len, sodium_base64_VARIANT_ORIGINAL);
		buf_added(out, size - 1);
	}
	buf_adds(out, "\"}");
}

static int on_result(void *arg, const cJSON *result, struct str raw,
		     struct error *err)
{
	bool *failed = arg;

	(void)raw;
	(void)err;
	*failed = *failed || json_bool(result, "isError", false);
	return 0;
}

/* *failed: the tool says that something was not written; it does not say what
 * in a documented way. */
static int write_files(struct sandbox *sb, struct str content, bool *failed,
		       const struct stop *stop, struct error *err)
{
	struct buf arguments = BUF_INIT(BODY_MAX);
	struct agentcore_invoke call = { .tool = "writeFiles",
					 .what = "writing the files",
					 .timeout_ms = WRITE_MS,
					 .result = on_result,
					 .arg = failed };
	int rc;

	buf_adds(&arguments, "{\"content\":[");
	buf_addstr(&arguments, content);
	buf_adds(&arguments, "]}");
	call.arguments = buf_str(&arguments);
	rc = buf_check(&arguments, "the files", err);
	if (rc == 0)
		rc = agentcore_invoke(sb, &call, stop, err);
	buf_release(&arguments);
	return rc;
}

static int64_t from_memory(void *arg, char *room, size_t len, struct error *err)
{
	struct held *h = arg;
	size_t left = h->data.len - h->sent;

	(void)err;
	if (len > left)
		len = left;
	if (len)
		memcpy(room, h->data.ptr + h->sent, len);
	h->sent += len;
	return (int64_t)len;
}

/* By the shell, which knows what is wrong and may be asked twice. */
static int by_shell(struct sandbox *sb, struct held *h, const struct stop *stop,
		    struct error *err)
{
	struct transfer copy = *h->file;
	int rc;

	copy.read = from_memory;
	copy.arg = h;
	h->sent = 0;
	rc = transfer_upload(sb, &copy, 1, stop, err);
	h->file->error = copy.error;
	memcpy(h->file->detail, copy.detail, sizeof(copy.detail));
	return rc;
}

/* Writes what is held, and lets go of it. */
static int flush(struct sandbox *sb, struct batch *b, const struct stop *stop,
		 struct error *err)
{
	struct buf content = BUF_INIT(BODY_MAX);
	struct error why = { 0 };
	bool failed = false;
	int rc = 0;

	for (size_t i = 0; i < b->n; i++) {
		if (i)
			buf_addc(&content, ',');
		add_file(&content, b->items[i].path,
			 buf_str(&b->items[i].data));
	}
	if (b->n)
		rc = write_files(sb, buf_str(&content), &failed, stop, &why);
	/* Nothing is sent a second time: the shell is another way. */
	if (rc < 0 && why.code != ERR_CANCELLED && why.code != ERR_GONE &&
	    why.code != ERR_AUTH && stop_check(stop, err) == 0)
		failed = true;
	else if (rc < 0)
		*err = why;
	if (failed)
		rc = 0;
	for (size_t i = 0; i < b->n; i++) {
		if (failed && rc == 0)
			rc = by_shell(sb, &b->items[i], stop, err);
		else if (rc < 0)
			transfer_fail(b->items[i].file, FILE_OTHER,
				      err->message);
		free(b->items[i].path);
		buf_release(&b->items[i].data);
	}
	b->n = 0;
	b->bytes = 0;
	buf_release(&content);
	return rc;
}

/* Into the batch, which is written when it is full. Takes path over. */
static int add(struct sandbox *sb, struct batch *b, struct transfer *f,
	       char *path, const struct stop *stop, struct error *err)
{
	struct held *h;
	struct error why = { 0 };

	if ((b->n == BATCH_FILES || b->bytes + (size_t)f->size > BATCH) &&
	    flush(sb, b, stop, err) < 0) {
		transfer_fail(f, FILE_OTHER, err->message);
		free(path);
		return -1;
	}
	h = &b->items[b->n];
	*h = (struct held){ .file = f, .path = path };
	h->data = BUF_INIT((size_t)f->size);
	if (transfer_read_all(f, &h->data, (size_t)f->size, &why) < 0) {
		transfer_fail(f, FILE_OTHER, why.message);
		buf_release(&h->data);
		free(path);
		return 0;
	}
	b->bytes += (size_t)f->size;
	b->n++;
	return 0;
}

/* A file that is too large for one request. */
struct large {
	struct transfer *file;
	char part[64];  /* below the interpreter's directory */
	char *part_abs; /* the same, absolute; owned */
	char *whole;    /* what grows; owned */
};

/* Runs the line; ERR_REMOTE unless it ends well. */
static int shell(struct sandbox *sb, const struct buf *line,
		 const struct stop *stop, struct error *err)
{
	struct exec_request req = { .command = buf_str(line),
				    .cwd = "/",
				    .plain = true,
				    .timeout_ms = APPEND_MS };
	struct exec_result res;

	if (agentcore_execute(sb, &req, &res, stop, err) < 0)
		return -1;
	if (res.exit_code != 0)
		return error_set(err, ERR_REMOTE, "the piece is not there");
	return 0;
}

static void add_words(struct buf *line, const char *const *words)
{
	for (size_t i = 0; words[i]; i += 2) {
		buf_adds(line, words[i]);
		if (words[i + 1])
			quote_word(line, str_of(words[i + 1]));
		else
			break;
	}
}

static int send_piece(struct sandbox *sb, struct large *l, struct str data,
		      const struct stop *stop, struct error *err)
{
	const char *const words[] = { "[ $(wc -c <", l->part_abs, NULL };
	const char *const rest[] = {
		" ] && cat -- ", l->part_abs, " >>", l->whole,
		" && rm -f -- ", l->part_abs, NULL
	};
	struct buf content = BUF_INIT(BODY_MAX);
	struct buf line = BUF_INIT(64 << 10);
	bool failed = false;
	int rc;

	add_file(&content, l->part, data);
	rc = write_files(sb, buf_str(&content), &failed, stop, err);
	if (rc == 0 && failed)
		rc = error_set(err, ERR_REMOTE, "the piece was not taken");
	add_words(&line, words);
	buf_addf(&line, ") -eq %zu", data.len);
	add_words(&line, rest);
	if (rc == 0)
		rc = shell(sb, &line, stop, err);
	buf_release(&content);
	buf_release(&line);
	return rc;
}

/* Puts the whole in its place; a file that is there keeps its mode. */
static int finish(struct sandbox *sb, struct large *l, const struct stop *stop,
		  struct error *err)
{
	const char *path = l->file->path;
	const char *const words[] = { "if [ -e ",   path,     " ];then cat ",
				      l->whole,     " >",     path,
				      " && rm -f ", l->whole, ";else mv -f ",
				      l->whole,     " ",      path,
				      ";fi",        NULL };
	struct buf line = BUF_INIT(64 << 10);
	int rc;

	add_words(&line, words);
	if (l->file->mode) {
		buf_addf(&line, " && chmod %o ", l->file->mode & 07777);
		quote_word(&line, str_of(path));
	}
	rc = shell(sb, &line, stop, err);
	buf_release(&line);
	return rc;
}

static void give_up(struct sandbox *sb, struct large *l)
{
	const char *const words[] = { "rm -f -- ", l->whole, " ", l->part_abs,
				      NULL };
	struct stop stop = stop_cleanup(5000);
	struct buf line = BUF_INIT(64 << 10);
	struct error ignored = { 0 };

	add_words(&line, words);
	(void)shell(sb, &line, &stop, &ignored);
	buf_release(&line);
}

static int send_pieces(struct sandbox *sb, struct large *l,
		       const struct stop *stop, struct error *err)
{
	struct buf data = BUF_INIT(PIECE);
	int64_t left = l->file->size;
	int rc = 0;

	while (rc == 0 && left > 0) {
		int64_t want = left < PIECE ? left : PIECE;

		buf_clear(&data);
		rc = transfer_read_all(l->file, &data, (size_t)want, err);
		if (rc == 0)
			rc = send_piece(sb, l, buf_str(&data), stop, err);
		left -= want;
	}
	buf_release(&data);
	return rc ? rc : finish(sb, l, stop, err);
}

static int upload_large(struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	struct agentcore_box *b = sb->priv;
	struct large l = { .file = f };
	struct error why = { 0 };
	char id[17];
	int rc = look(sb, STAT_FOR_UPLOAD, f, 1, stop, err);

	if (rc < 0 || f->error != FILE_OK)
		return rc;
	ids_random(id, 16);
	snprintf(l.part, sizeof(l.part), ".dcode-part-%s", id);
	l.part_abs = xasprintf("%s/%s", b->cwd, l.part);
	l.whole =
		xasprintf("%.*s/.dcode-part-%s.whole",
			  (int)(strrchr(f->path, '/') - f->path), f->path, id);
	rc = send_pieces(sb, &l, stop, &why);
	if (rc < 0) {
		transfer_fail(f, FILE_OTHER, why.message);
		if (why.code != ERR_GONE)
			give_up(sb, &l);
		*err = why;
		rc = transfer_fatal(&why) ? -1 : 0;
	}
	free(l.part_abs);
	free(l.whole);
	return rc;
}

/* Which way it goes depends on its size and on where it goes. */
static int upload_one(struct sandbox *sb, struct batch *b, struct transfer *f,
		      const struct stop *stop, struct error *err)
{
	char *path;

	if (f->size > PIECE || f->api_only)
		return upload_large(sb, f, stop, err);
	path = agentcore_relative(sb, f->path);
	if (path)
		return add(sb, b, f, path, stop, err);
	return transfer_upload(sb, f, 1, stop, err);
}

int agentcore_upload(struct sandbox *sb, struct transfer *files, size_t n,
		     const struct stop *stop, struct error *err)
{
	struct batch *b = xcalloc(1, sizeof(*b));
	struct error why = { 0 };
	int rc = agentcore_cwd(sb, stop, err);

	for (size_t i = 0; i < n; i++)
		if (transfer_path_ok(&files[i]) && rc < 0)
			transfer_fail(&files[i], FILE_OTHER, err->message);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		if (files[i].error != FILE_OK)
			continue;
		rc = upload_one(sb, b, &files[i], stop, err);
		for (size_t k = i + 1; rc < 0 && k < n; k++)
			if (files[k].error == FILE_OK)
				transfer_fail(&files[k], FILE_OTHER,
					      err->message);
	}
	if (flush(sb, b, stop, &why) < 0 && rc == 0) {
		*err = why;
		rc = -1;
	}
	free(b);
	return rc < 0 ? -1 : look(sb, STAT_SET_MODES, files, n, stop, err);
}

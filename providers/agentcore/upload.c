/* upload.c - files into a session: writeFiles, many at once. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "providers/agentcore/agentcore.h"
#include "providers/kit/file_source.h"
#include "providers/kit/stat_files.h"
#include "sandbox/quote.h"
#include "sandbox/transfer.h"

enum {
	PIECE = 4 << 20,  /* bytes of one file in one request */
	BATCH = 8 << 20,  /* bytes of all files in one request */
	BATCH_FILES = 64, /* of them */
	BODY_MAX = 16 << 20,
	COMMAND_MAX = 64 << 10,
	WRITE_MS = 300000,
	APPEND_MS = 120000,
};

/* No "." or "..", no empty part, no control characters. */
static bool is_plain(struct str path)
{
	struct str part;

	for (size_t i = 0; i < path.len; i++)
		if ((unsigned char)path.ptr[i] < ' ' || path.ptr[i] == 0x7F ||
		    path.ptr[i] == '\\')
			return false;
	if (!path.len || str_ends(path, "/") || !str_is_utf8(path))
		return false;
	while (str_split(&path, '/', &part))
		if (!part.len || str_is(part, ".") || str_is(part, ".."))
			return false;
	return true;
}

char *agentcore_relative(struct sandbox *sb, const char *path)
{
	const char *cwd = agentcore_cwd(sb);
	struct str rest = str_of(path);

	if (!cwd || !str_starts(rest, cwd))
		return NULL;
	rest = str_skip(rest, strlen(cwd));
	if (strcmp(cwd, "/") != 0) {
		if (!str_starts(rest, "/"))
			return NULL;
		rest = str_skip(rest, 1);
	}
	return is_plain(rest) ? xstrndup(rest.ptr, rest.len) : NULL;
}

/* "path":...,"blob":... in braces. */
static void add_file(struct buf *out, const char *path, struct str data)
{
	buf_addc(out, '{');
	json_member(out, "path", str_of(path));
	buf_adds(out, ",\"blob\":\"");
	json_base64(out, data);
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
static int write_files(struct sandbox *sb, const struct buf *files,
		       bool *failed, const struct stop *stop, struct error *err)
{
	const struct agentcore_invoke call = { .tool = "writeFiles",
					       .key = "content",
					       .items = buf_str(files),
					       .what = "writing the files",
					       .timeout_ms = WRITE_MS,
					       .result = on_result,
					       .arg = failed };

	if (buf_check(files, "the files", err) < 0)
		return -1;
	return agentcore_invoke(sb, &call, stop, err);
}

struct write_batch { /* files that go in one request, held in memory */
	struct {
		struct file_source source;
		char *path; /* relative, owned */
	} items[BATCH_FILES];
	size_t n;
	size_t bytes;
};

/* Sends what is held through the shell, which says what is wrong with a path
 * and may be asked twice. */
static int write_by_shell(struct sandbox *sb, struct file_source *s,
			  const struct stop *stop, struct error *err)
{
	struct transfer copy = *s->file;
	int rc;

	copy.read = file_source_read;
	copy.arg = s;
	s->sent = 0;
	rc = transfer_upload(sb, &copy, 1, stop, err);
	s->file->error = copy.error;
	memcpy(s->file->detail, copy.detail, sizeof(copy.detail));
	return rc;
}

/* Writes the files of the batch and empties it. */
static int write_batch(struct sandbox *sb, struct write_batch *b,
		       const struct stop *stop, struct error *err)
{
	struct buf content = BUF_INIT(BODY_MAX);
	struct error why = { 0 };
	bool failed = false;
	int rc = 0;

	for (size_t i = 0; i < b->n; i++) {
		if (i)
			buf_addc(&content, ',');
		add_file(&content, b->items[i].path,
			 buf_str(&b->items[i].source.held));
	}
	if (b->n)
		rc = write_files(sb, &content, &failed, stop, &why);
	/* The request is not repeated: the shell is another way. */
	if (rc < 0 && !agentcore_is_fatal(&why) && stop_check(stop, err) == 0)
		failed = true;
	else if (rc < 0)
		*err = why;
	if (failed)
		rc = 0;
	for (size_t i = 0; i < b->n; i++) {
		struct file_source *s = &b->items[i].source;

		if (failed && rc == 0)
			rc = write_by_shell(sb, s, stop, err);
		else if (rc < 0)
			transfer_fail(s->file, FILE_OTHER, err->message);
		free(b->items[i].path);
		file_source_release(s);
	}
	b->n = 0;
	b->bytes = 0;
	buf_release(&content);
	return rc;
}

/* Adds a file to the batch, which is written when it is full. Owns path. */
static int add_to_batch(struct sandbox *sb, struct write_batch *b,
			struct transfer *f, char *path, const struct stop *stop,
			struct error *err)
{
	struct file_source *s;
	struct error why = { 0 };

	if ((b->n == BATCH_FILES || b->bytes + (size_t)f->size > BATCH) &&
	    write_batch(sb, b, stop, err) < 0) {
		transfer_fail(f, FILE_OTHER, err->message);
		free(path);
		return -1;
	}
	s = &b->items[b->n].source;
	if (file_source_open(s, f, f->size, &why) < 0) {
		transfer_fail(f, FILE_OTHER, why.message);
		file_source_release(s);
		free(path);
		return 0;
	}
	b->items[b->n].path = path;
	b->bytes += (size_t)f->size;
	b->n++;
	return 0;
}

/* A file that is too large for one request: each piece is written to a file
 * below the interpreter's directory, and appended to the whole beside the
 * target, which then takes the target's place. */
struct large_file {
	struct transfer *file;
	char part[64];        /* below the interpreter's directory */
	const char *paths[3]; /* @0 target, @1 whole, @2 part: absolute */
};

/* Appends text with @N as the quoted path N. */
static void add_command(struct buf *line, const struct large_file *l,
			const char *text)
{
	for (; *text; text++)
		if (*text == '@')
			quote_word(line, str_of(l->paths[*++text - '0']));
		else
			buf_addc(line, *text);
}

/* Runs the line and releases it; ERR_REMOTE unless it exits with 0. */
static int run_line(struct sandbox *sb, struct buf *line,
		    const struct stop *stop, struct error *err)
{
	struct exec_request req = { .command = buf_str(line),
				    .cwd = "/",
				    .plain = true,
				    .timeout_ms = APPEND_MS };
	struct exec_result res;
	int rc = agentcore_execute(sb, &req, &res, stop, err);

	if (rc == 0 && res.exit_code != 0)
		rc = error_set(err, ERR_REMOTE, "the uploaded part is missing");
	buf_release(line);
	return rc;
}

static int send_piece(struct sandbox *sb, struct large_file *l, struct str data,
		      const struct stop *stop, struct error *err)
{
	struct buf content = BUF_INIT(BODY_MAX);
	struct buf line = BUF_INIT(COMMAND_MAX);
	bool failed = false;
	int rc;

	add_file(&content, l->part, data);
	rc = write_files(sb, &content, &failed, stop, err);
	buf_release(&content);
	if (rc == 0 && failed)
		rc = error_set(err, ERR_REMOTE,
			       "the uploaded part was refused");
	if (rc < 0)
		return -1;
	add_command(&line, l, "[ $(wc -c <@2) -eq ");
	buf_addf(&line, "%zu", data.len);
	add_command(&line, l, " ] && cat -- @2 >>@1 && rm -f -- @2");
	return run_line(sb, &line, stop, err);
}

/* Puts the whole in its place; a file that is there keeps its mode. */
static int replace_target(struct sandbox *sb, struct large_file *l,
			  const struct stop *stop, struct error *err)
{
	struct buf line = BUF_INIT(COMMAND_MAX);

	add_command(&line, l,
		    "if [ -e @0 ];then cat @1 >@0 && rm -f @1;else mv -f @1 "
		    "@0;fi");
	if (l->file->mode) {
		buf_addf(&line, " && chmod %o ", l->file->mode & 07777);
		add_command(&line, l, "@0");
	}
	return run_line(sb, &line, stop, err);
}

static void delete_parts(struct sandbox *sb, struct large_file *l)
{
	struct stop stop = stop_cleanup(5000);
	struct buf line = BUF_INIT(COMMAND_MAX);
	struct error ignored = { 0 };

	add_command(&line, l, "rm -f -- @1 @2");
	(void)run_line(sb, &line, &stop, &ignored);
}

static int send_pieces(struct sandbox *sb, struct large_file *l,
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
	return rc ? rc : replace_target(sb, l, stop, err);
}

static int upload_large(struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	struct large_file l = { .file = f };
	struct error why = { 0 };
	char id[17];
	char *part;
	char *whole;
	int rc = stat_files(sb, STAT_FOR_UPLOAD, f, 1, stop, err);

	if (rc < 0 || f->error != FILE_OK)
		return rc;
	ids_random(id, 16);
	snprintf(l.part, sizeof(l.part), ".dcode-part-%s", id);
	part = xasprintf("%s/%s", agentcore_cwd(sb), l.part);
	whole = xasprintf("%.*s/.dcode-part-%s.whole",
			  (int)(strrchr(f->path, '/') - f->path), f->path, id);
	l.paths[0] = f->path;
	l.paths[1] = whole;
	l.paths[2] = part;
	rc = send_pieces(sb, &l, stop, &why);
	if (rc < 0) {
		transfer_fail(f, FILE_OTHER, why.message);
		if (why.code != ERR_GONE)
			delete_parts(sb, &l);
		*err = why;
		rc = transfer_fatal(&why) ? -1 : 0;
	}
	free(part);
	free(whole);
	return rc;
}

/* Which way it goes depends on its size and on where it goes. */
static int upload_one(struct sandbox *sb, struct write_batch *b,
		      struct transfer *f, const struct stop *stop,
		      struct error *err)
{
	char *path;

	if (f->size > PIECE || f->api_only)
		return upload_large(sb, f, stop, err);
	path = agentcore_relative(sb, f->path);
	if (path)
		return add_to_batch(sb, b, f, path, stop, err);
	return transfer_upload(sb, f, 1, stop, err);
}

int agentcore_upload(struct sandbox *sb, struct transfer *files, size_t n,
		     const struct stop *stop, struct error *err)
{
	struct write_batch *b = xcalloc(1, sizeof(*b));
	struct error why = { 0 };
	int rc = agentcore_find_cwd(sb, stop, err);

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
	if (write_batch(sb, b, stop, &why) < 0 && rc == 0) {
		*err = why;
		rc = -1;
	}
	free(b);
	return rc < 0 ? -1
		      : stat_files(sb, STAT_SET_MODES, files, n, stop, err);
}

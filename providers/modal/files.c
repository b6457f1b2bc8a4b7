/* files.c - files in and out by the tool that Modal puts inside. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/modal/modal.h"
#include "sandbox/quote.h"
#include "sandbox/transfer.h"

/*
 * The tool takes one request in JSON as its argument, the file's bytes on its
 * input or output, and says what is wrong in JSON on its error output
 * (modal-client, _utils/sandbox_fs_utils.py; seen 2026-11). It makes parent
 * directories and follows the size of a file, so that memory stays constant.
 */
static const char tool[] = "/__modal/.bin/modal-sandbox-fs-tools";

enum {
	REQUEST_MAX = 60000,
	ERRORS_MAX = 64 << 10,
	SMALL = 1 << 20, /* is held in memory, so that it can be sent again */
	TRIES = 4,
	PAUSE_MS = 200,
	MODES_MAX = 100000, /* bytes of one command */
};

static int begin(struct modal_exec *x, struct sandbox *sb, const char *verb,
		 struct transfer *f, const struct stop *stop, struct error *err)
{
	struct buf request = BUF_INIT(REQUEST_MAX);
	const char *argv[] = { tool, NULL, NULL };
	int rc;

	buf_addf(&request, "{\"%s\": {\"path\": ", verb);
	json_quote(&request, str_of(f->path));
	buf_adds(&request, "}}");
	argv[1] = request.ptr;
	rc = buf_check(&request, "the path", err);
	if (rc == 0)
		rc = modal_start(x, sb, argv, true, stop, err);
	buf_release(&request);
	return rc;
}

static int on_errors(void *arg, struct str chunk, struct error *err)
{
	(void)err;
	buf_addstr(arg, chunk); /* what does not fit is of no interest */
	return 0;
}

/* What the tool says about this file. */
static void refuse(struct transfer *f, const struct buf *errors, int status)
{
	static const struct {
		const char *kind;
		enum file_error error;
	} kinds[] = {
		{ "NotFound", FILE_NOT_FOUND },
		{ "IsDirectory", FILE_IS_DIRECTORY },
		{ "PermissionDenied", FILE_PERMISSION_DENIED },
		{ "NotDirectory", FILE_NOT_FOUND },
	};
	cJSON *tree = json_parse(str_trim(buf_str(errors)));
	const char *kind = json_string(tree, "error_kind", "");
	char detail[sizeof(f->detail)];

	snprintf(detail, sizeof(detail), "%s: %s", kind[0] ? kind : "failed",
		 json_string(tree, "message",
			     errors->len ? errors->ptr : "no reason"));
	if (!errors->len)
		snprintf(detail, sizeof(detail), "exit status %d", status);
	transfer_fail(f, FILE_OTHER, detail);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			transfer_fail(f, kinds[i].error, "");
	cJSON_Delete(tree);
}

/* Its end: 0 when all is well or f has the reason. */
static int end(struct modal_exec *x, struct transfer *f,
	       const struct stop *stop, struct error *err)
{
	struct buf errors = BUF_INIT(ERRORS_MAX);
	int status = 0;
	int rc = modal_wait(x, &status, stop, err);

	if (rc == 0 && status != 0) {
		rc = modal_read(x, 1, on_errors, &errors, stop, err);
		if (rc == 0)
			refuse(f, &errors, status);
	}
	buf_release(&errors);
	return rc;
}

struct upload {
	struct transfer *file;
	struct buf whole; /* a small file */
	size_t at;
};

static int64_t from_file(void *arg, char *room, size_t len, struct error *err)
{
	struct upload *u = arg;

	return u->file->read(u->file->arg, room, len, err);
}

static int64_t from_memory(void *arg, char *room, size_t len, struct error *err)
{
	struct upload *u = arg;
	size_t n = u->whole.len - u->at < len ? u->whole.len - u->at : len;

	(void)err;
	memcpy(room, u->whole.ptr + u->at, n);
	u->at += n;
	return (int64_t)n;
}

/* A tool that closes its input early has something to say. */
static int send_once(struct sandbox *sb, struct upload *u, bool small,
		     const struct stop *stop, struct error *err)
{
	struct modal_input in = { .read = small ? from_memory : from_file,
				  .arg = u,
				  .size = u->file->size };
	struct error why = { 0 };
	struct modal_exec x;
	int rc = begin(&x, sb, "WriteFile", u->file, stop, err);

	if (rc < 0)
		return -1;
	rc = modal_write(&x, &in, stop, &why);
	if (rc == 0)
		return end(&x, u->file, stop, err);
	if (!in.failed && why.code == ERR_REMOTE &&
	    end(&x, u->file, stop, err) == 0 && u->file->error != FILE_OK)
		return 0;
	*err = why;
	if (in.failed) {
		transfer_fail(u->file, FILE_OTHER, why.message);
		return 0;
	}
	return -1;
}

static bool worth(const struct error *why)
{
	if (why->grpc_status)
		return retry_is_transient(why);
	return why->code == ERR_NETWORK || why->code == ERR_REMOTE ||
	       why->code == ERR_PROTOCOL;
}

static int upload_one(const void *arg, struct sandbox *sb, struct transfer *f,
		      const struct stop *stop, struct error *err)
{
	struct upload u = { .file = f };
	bool small = f->size <= SMALL;
	int rc = 0;

	(void)arg;
	if (!str_is_utf8(str_of(f->path))) /* a message cannot have it */
		return transfer_upload(sb, f, 1, stop, err);
	u.whole = BUF_INIT(SMALL);
	if (small && transfer_read_all(f, &u.whole, (size_t)f->size, err) < 0) {
		transfer_fail(f, FILE_OTHER, err->message);
		buf_release(&u.whole);
		return 0;
	}
	for (int i = 1;; i++) {
		struct error why = { 0 };

		u.at = 0;
		rc = send_once(sb, &u, small, stop, &why);
		if (rc == 0)
			break;
		*err = why;
		if (!small || i == TRIES || !worth(&why) ||
		    stop_sleep(stop, i * PAUSE_MS, err) < 0)
			break;
	}
	buf_release(&u.whole);
	return rc;
}

/* The tool sets no modes: one command for all files that want one. */
static int set_modes(struct sandbox *sb, const struct transfer *files, size_t n,
		     const struct stop *stop, struct error *err)
{
	struct buf command = BUF_INIT(MODES_MAX);
	struct exec_result res;
	size_t i = 0;
	int rc = 0;

	while (rc == 0 && i < n) {
		struct exec_request req = { .cwd = "/", .plain = true };

		buf_clear(&command);
		for (; i < n && command.len < MODES_MAX / 2; i++) {
			if (files[i].error != FILE_OK || !files[i].mode)
				continue;
			buf_addf(&command, "chmod %o ", files[i].mode & 07777);
			quote_word(&command, str_of(files[i].path));
			buf_addc(&command, '\n');
		}
		req.command = buf_str(&command);
		if (command.len)
			rc = modal_execute(sb, &req, &res, stop, err);
	}
	buf_release(&command);
	return rc;
}

int modal_upload(struct sandbox *sb, struct transfer *files, size_t n,
		 const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { upload_one, NULL };

	if (transfer_each(sb, files, n, &m, stop, err) < 0)
		return -1;
	return set_modes(sb, files, n, stop, err);
}

struct download {
	struct transfer *file;
	int64_t got; /* bytes given to the file */
	int64_t at;  /* bytes of this process's output */
	bool failed; /* the file's own sink */
};

/* A second process gives all of the file again. */
static int on_data(void *arg, struct str chunk, struct error *err)
{
	struct download *d = arg;
	int64_t skip = d->got - d->at;

	d->at += (int64_t)chunk.len;
	if (skip > 0)
		chunk = str_skip(chunk, (size_t)skip);
	if (!chunk.len)
		return 0;
	d->got += (int64_t)chunk.len;
	if (d->file->write(d->file->arg, chunk, err) == 0)
		return 0;
	d->failed = true;
	return -1;
}

static int download_one(const void *arg, struct sandbox *sb, struct transfer *f,
			const struct stop *stop, struct error *err)
{
	struct download d = { .file = f };
	int rc = 0;

	(void)arg;
	if (!str_is_utf8(str_of(f->path)))
		return transfer_download(sb, f, 1, stop, err);
	for (int i = 1;; i++) {
		struct error why = { 0 };
		struct modal_exec x;

		d.at = 0;
		rc = begin(&x, sb, "ReadFile", f, stop, &why);
		if (rc == 0)
			rc = modal_read(&x, 0, on_data, &d, stop, &why);
		if (rc == 0)
			rc = end(&x, f, stop, &why);
		if (rc == 0)
			break;
		*err = why;
		if (d.failed || i == TRIES || !worth(&why) ||
		    stop_sleep(stop, i * PAUSE_MS, err) < 0)
			break;
	}
	if (rc < 0 && d.failed) {
		transfer_fail(f, FILE_OTHER, err->message);
		return 0;
	}
	return rc;
}

int modal_download(struct sandbox *sb, struct transfer *files, size_t n,
		   const struct stop *stop, struct error *err)
{
	const struct transfer_mover m = { download_one, NULL };

	return transfer_each(sb, files, n, &m, stop, err);
}

/* transfer_part.c - a file beside its place, and what is said of it. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/helper.h"
#include "sandbox/quote.h"
#include "sandbox/transfer.h"

enum {
	PLACE_MS = 300000, /* it may have to be copied */
	DROP_MS = 2000,
	UNSTAGE_MS = 10000,
	PATH_SIZE = 64 << 10,
	LEN_DROP = -1, /* see upload.sh */
	LEN_BEGIN = -2,
	/* Base64 takes four bytes for three, and a line end now and then; of
	 * each five bytes, three are the file's. */
	CODED = 5,
	PLAIN = 3,
};

void transfer_fail(struct transfer *f, enum file_error code, const char *detail)
{
	f->error = code;
	snprintf(f->detail, sizeof(f->detail), "%s", detail);
}

void transfer_fail_status(struct transfer *f, const char *status)
{
	enum file_error code = FILE_OTHER;

	if (strcmp(status, "file_not_found") == 0)
		code = FILE_NOT_FOUND;
	else if (strcmp(status, "permission_denied") == 0)
		code = FILE_PERMISSION_DENIED;
	else if (strcmp(status, "is_directory") == 0)
		code = FILE_IS_DIRECTORY;
	else if (strcmp(status, "not_a_directory") == 0)
		code = FILE_INVALID_PATH;
	transfer_fail(f, code, code == FILE_OTHER ? status : "");
}

bool transfer_path_ok(struct transfer *f)
{
	size_t len = f->path ? strlen(f->path) : 0;

	transfer_fail(f, FILE_OK, "");
	if (len > 1 && f->path[0] == '/' && f->path[len - 1] != '/')
		return true;
	transfer_fail(f, FILE_INVALID_PATH, "");
	return false;
}

bool transfer_fatal(const struct error *e)
{
	return e->code == ERR_CANCELLED || e->code == ERR_GONE ||
	       e->code == ERR_TIMEOUT || e->code == ERR_NETWORK ||
	       e->code == ERR_UNREACHABLE || e->code == ERR_AUTH;
}

int transfer_each(struct sandbox *sb, struct transfer *files, size_t n,
		  const struct transfer_mover *m, const struct stop *stop,
		  struct error *err)
{
	struct error e = { 0 };
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		bool good = transfer_path_ok(&files[i]);

		if (rc < 0) /* an earlier one's */
			transfer_fail(&files[i], FILE_OTHER, e.message);
		if (rc < 0 || !good)
			continue;
		e = (struct error){ 0 };
		if (m->move(m->arg, sb, &files[i], stop, &e) == 0)
			continue;
		transfer_fail(&files[i], FILE_OTHER, e.message);
		if (!transfer_fatal(&e))
			continue;
		*err = e;
		rc = -1;
	}
	return rc;
}

int64_t transfer_read(const struct transfer *f, char *room, size_t want,
		      struct error *err)
{
	int64_t got = f->read(f->arg, room, want, err);

	if (got == 0)
		return error_set(err, ERR_SYSTEM,
				 "the file became shorter while it was read");
	if (got > 0 && (size_t)got <= want)
		return got;
	if (err->code == ERR_NONE)
		error_set(err, ERR_SYSTEM, "the file cannot be read");
	return -1;
}

int transfer_read_all(const struct transfer *f, struct buf *out, size_t want,
		      struct error *err)
{
	while (want) {
		char *room = buf_room(out, want);
		int64_t got;

		if (!room)
			return buf_check(out, "the file", err);
		got = transfer_read(f, room, want, err);
		if (got < 0)
			return -1;
		buf_added(out, (size_t)got);
		want -= (size_t)got;
	}
	return 0;
}

bool transfer_fits(const struct sandbox *sb, int64_t size)
{
	if (sb->client->provider->flags & SANDBOX_STDIN)
		return true;
	return size <= (int64_t)(helper_room(sb) / CODED * PLAIN);
}

struct step {
	const struct transfer *file;
	const struct transfer_part *part;
	int64_t len; /* bytes that are still to come, or LEN_... */
};

/* upload.sh about the part. */
static int about(struct sandbox *sb, const struct step *s, struct helper *h,
		 const struct stop *stop, struct error *err)
{
	const struct transfer *f = s->file;
	char numbers[4][24];
	int rc;

	*h = (struct helper){ .script = HELPER_UPLOAD,
			      .n_args = 6,
			      .timeout_ms = PLACE_MS,
			      .out = BUF_INIT(PATH_SIZE) };
	snprintf(numbers[3], sizeof(numbers[3]), "%o",
		 (unsigned)(f->mode ? f->mode & 07777 : 0644));
	h->args[0] = str_of(f->path);
	h->args[1] = helper_decimal(f->size, numbers[0]);
	h->args[2] = helper_decimal(s->len, numbers[1]);
	h->args[3] = helper_decimal(f->size, numbers[2]);
	h->args[4] = str_of(numbers[3]);
	h->args[5] = str_of(s->part->id);
	rc = helper_run(sb, h, stop, err);
	if (rc == 0 && h->timed_out)
		rc = error_set(err, ERR_TIMEOUT, "the upload timed out");
	return rc;
}

int transfer_begin(struct sandbox *sb, struct transfer *f,
		   struct transfer_part *p, const struct stop *stop,
		   struct error *err)
{
	struct step s = { f, p, LEN_BEGIN };
	struct helper h;
	char end[32];
	int rc;

	ids_random(p->id, 16);
	snprintf(end, sizeof(end), "/.dcode-%s", p->id);
	rc = about(sb, &s, &h, stop, err);
	if (rc == 0 && strcmp(h.status, "ok") != 0)
		transfer_fail_status(f, h.status);
	else if (rc == 0 && (!str_starts(buf_str(&h.out), "/") ||
			     !str_ends(buf_str(&h.out), end) ||
			     memchr(h.out.ptr, 0, h.out.len)))
		rc = error_set(err, ERR_PROTOCOL,
			       "unexpected server response: no place for the "
			       "file");
	buf_release(&p->path);
	p->path = h.out;
	return rc;
}

int transfer_finish(struct sandbox *sb, struct transfer *f,
		    const struct transfer_part *p, const struct stop *stop,
		    struct error *err)
{
	struct step s = { f, p, 0 };
	struct helper h;
	int rc = about(sb, &s, &h, stop, err);

	if (rc == 0 && (str_starts(str_of(h.status), "short ") ||
			strcmp(h.status, "no_base64") == 0))
		rc = 1;
	else if (rc == 0 && strcmp(h.status, "ok") != 0)
		transfer_fail_status(f, h.status);
	buf_release(&h.out);
	return rc;
}

void transfer_drop(struct sandbox *sb, const struct transfer *f,
		   const struct transfer_part *p)
{
	struct stop stop = stop_cleanup(DROP_MS);
	struct error ignored = { 0 };
	struct step s = { f, p, LEN_DROP };
	struct helper h;

	(void)about(sb, &s, &h, &stop, &ignored);
	buf_release(&h.out);
}

char *transfer_stage(const struct transfer *f)
{
	const char *slash = strrchr(f->path, '/');
	char id[17];

	ids_random(id, 16);
	if (!f->api_only || !slash)
		return xasprintf("/tmp/.dcode-%s", id);
	return xasprintf("%.*s/.dcode-%s", (int)(slash - f->path), f->path, id);
}

void transfer_unstage(struct sandbox *sb, const char *staged)
{
	struct stop stop = stop_cleanup(UNSTAGE_MS);
	struct buf command = BUF_INIT(PATH_SIZE);
	struct exec_request req = { .cwd = "/", .plain = true };
	struct error ignored = { 0 };
	struct exec_result res;

	buf_adds(&command, "rm -f -- ");
	quote_word(&command, str_of(staged));
	req.command = buf_str(&command);
	if (!command.over)
		(void)sandbox_execute(sb, &req, &res, &stop, &ignored);
	buf_release(&command);
}

/* read_file.c - the tool that shows a page of a file. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "model/media.h"
#include "sandbox/files/files.h"
#include "tool/files/read_text.h"
#include "tool/result.h"
#include "tool/table.h"

enum { DEFAULT_LIMIT = 100 }; /* lines */

static int fail(const char *path, const struct error *err, struct buf *out)
{
	if (strcmp(err->reason, "not_a_text_file"))
		return result_file_failed(out, "File", path, err);
	buf_addf(out,
		 "Error: File '%s' is not UTF-8 text. Use execute to look at "
		 "it, for example with `od -c` or `file`.",
		 path);
	return -1;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static int attach(const struct tool_env *env, struct files_page *page,
		  const char *path, struct buf *out, struct error *err)
{
	const struct part *p;

	if (!page->text.len) {
		buf_adds(out, READ_TEXT_EMPTY);
		return 0;
	}
	p = message_add_media(env->media, base_name(path), &page->text);
	if (p) {
		buf_adds(out, p->text);
		return 0;
	}
	buf_addf(out,
		 "Error: File '%s' is not a PNG, JPEG, GIF, WebP or PDF, as "
		 "its first bytes show (it has %zu bytes). Use execute to look "
		 "at it, for example with `od -c` or `file`.",
		 path, page->text.len);
	return error_reason(err, ERR_REMOTE, "not_a_text_file");
}

static int render(const struct mask *mask, struct files_page *page,
		  const struct read_text_request *req, struct buf *out,
		  struct error *err)
{
	if (!page->binary) {
		result_mask_lines(mask, &page->text);
		read_text_render(page, req, out);
		return 0;
	}
	read_text_binary(page, req->path, out);
	if (read_text_media(req->path))
		return 0;
	return error_reason(err, ERR_REMOTE, "not_a_text_file");
}

static int run(const struct tool_env *env, const cJSON *args, struct buf *out,
	       struct error *err)
{
	struct stop stop = stop_within(env->stop, RESULT_FILE_MS);
	struct read_text_request req = {
		.offset = json_int(args, "offset", 0),
		.limit = json_int(args, "limit", DEFAULT_LIMIT),
	};
	struct files_page page = { 0 };
	struct files_window window;
	char *path;
	bool shown;
	int rc;

	if (result_path(env, args, "file_path", &path, err))
		return -1;
	req.path = path;
	shown = env->media && read_text_is_shown(path);
	window = (struct files_window){ path, req.offset, req.limit,
					read_text_media(path) != NULL,
					shown ? MEDIA_MAX_BYTES : 0 };
	rc = files_read(env->sandbox, &window, &page, &stop, err);
	if (rc)
		fail(path, err, out);
	else if (shown)
		rc = attach(env, &page, path, out, err);
	else
		rc = render(env->mask, &page, &req, out, err);
	buf_release(&page.text);
	free(path);
	return rc;
}

static const struct tool_arg args[] = {
	ARG_FILE_PATH,
	{ .name = "offset",
	  .type = ARG_INT,
	  .description = "Lines to skip: 0 begins with the first line.",
	  .fallback = "0" },
	{ .name = "limit",
	  .type = ARG_INT,
	  .description = "The most lines to read.",
	  .fallback = "100" },
	{ 0 },
};

const struct tool tool_read_file = {
	.spec = {
		.name = "read_file",
		.description =
			"Reads lines of a text file, 100 unless limit says "
			"otherwise. Each row is the line number, two spaces "
			"and the text; neither the number nor the spaces are "
			"part of the file. Lines beyond 5000 characters go on "
			"in rows numbered N.1, N.2. A notice at the end says "
			"what is left and at which offset to go on. Read a "
			"file before you edit it. PNG, JPEG, GIF, WebP and PDF "
			"files are shown to you as they are, where you take "
			"them; other binary files are not. Several files may "
			"be read at once by several calls in one answer.",
	},
	.args = args,
	.summary = "{file_path}[ after line {offset}][, {limit} lines]",
	.path_arg = "file_path",
	.flags = TOOL_READS,
	.run = run,
};

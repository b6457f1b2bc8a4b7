/* read_file.c - the tool that reads lines of a file. */
/* SPDX-License-Identifier: MIT */
/*
 * read_text_render() makes a page of numbered lines that fits into a result,
 * with notices about what is left out. A file that is not text is attached if
 * the model accepts its type, otherwise described.
 */
#include "tool/files/read_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "model/message.h"
#include "sandbox/files/files.h"
#include "tool/result.h"

/* a notice may contain a path of PATHS_BYTES twice */
enum { NOTICE_BYTES = 8192 };

struct text_window {
	int64_t first; /* 1-based, inclusive */
	int64_t last;
	int64_t total; /* -1: unknown */
	bool more;     /* more lines follow */
};

/* Extensions of spec/agent.md 1.2. Types as registered with IANA, else as in
 * freedesktop.org's shared-mime-info (read 2026-11). */
static const struct read_text_media media[] = {
	{ "png", "image", "image/png" },
	{ "jpeg", "image", "image/jpeg" },
	{ "jpg", "image", "image/jpeg" },
	{ "webp", "image", "image/webp" },
	{ "gif", "image", "image/gif" },
	{ "heic", "image", "image/heic" },
	{ "heif", "image", "image/heif" },
	{ "mp4", "video", "video/mp4" },
	{ "mpeg", "video", "video/mpeg" },
	{ "mov", "video", "video/quicktime" },
	{ "avi", "video", "video/x-msvideo" },
	{ "flv", "video", "video/x-flv" },
	{ "mpg", "video", "video/mpeg" },
	{ "webm", "video", "video/webm" },
	{ "wmv", "video", "video/x-ms-wmv" },
	{ "3gpp", "video", "video/3gpp" },
	{ "mkv", "video", "video/x-matroska" },
	{ "wav", "audio", "audio/wav" },
	{ "mp3", "audio", "audio/mpeg" },
	{ "aiff", "audio", "audio/aiff" },
	{ "aac", "audio", "audio/aac" },
	{ "ogg", "audio", "audio/ogg" },
	{ "flac", "audio", "audio/flac" },
	{ "pdf", "file", "application/pdf" },
	{ "ppt", "file", "application/vnd.ms-powerpoint" },
	{ "pptx", "file",
	  "application/vnd.openxmlformats-officedocument.presentationml."
	  "presentation" },
	{ 0 },
};

/* Appends which lines were read and the offset to continue at. */
static void add_window(struct buf *out, const struct text_window *w)
{
	int64_t n = w->last - w->first + 1;
	const char *plural = n == 1 ? "" : "s";

	if (!w->more || n < 1)
		return;
	buf_addf(out,
		 "\n\n[Read %" PRId64 " line%s (lines %" PRId64 "-%" PRId64, n,
		 plural, w->first, w->last);
	if (w->total < 0)
		buf_addf(out, "). More lines remain from offset %" PRId64 ".]",
			 w->last);
	else
		buf_addf(out,
			 " of %" PRId64 " total). %" PRId64
			 " line%s remaining from offset %" PRId64 ".]",
			 w->total, w->total - w->last,
			 w->total - w->last == 1 ? "" : "s", w->last);
}

static void add_too_large(struct buf *out, const char *path)
{
	buf_addf(
		out,
		"\n\n[Output was truncated due to size limits. The file "
		"content is very large. Consider reformatting the file to "
		"make it easier to navigate. For example, if this is JSON, use "
		"execute(command='jq . %s') to pretty-print it with line "
		"breaks. For other formats, you can use appropriate formatting "
		"tools to split long lines.]",
		path);
}

/* Appends the notices for a page of which only the first n lines are shown. */
static void add_cut_notices(struct buf *out, const struct text_window *w,
			    size_t n, const char *path)
{
	struct text_window cut = *w;

	cut.last = w->first + (int64_t)n - 1;
	cut.more = true;
	add_too_large(out, path);
	add_window(out, &cut);
}

/* Returns how many whole lines fit together with the notices that are then
 * needed; 0 if none does. */
static size_t lines_that_fit(const struct numbering *nb,
			     const struct text_window *w, const char *path)
{
	struct buf notices = BUF_INIT(NOTICE_BYTES);
	size_t chars = 0;
	size_t from = 0;
	size_t fit = 0;

	for (size_t i = 0; i < nb->n && chars < RESULT_CHARS; i++) {
		chars += str_chars((struct str){ nb->text.ptr + from,
						 nb->ends[i] - from });
		from = nb->ends[i];
		buf_clear(&notices);
		add_cut_notices(&notices, w, i + 1, path);
		if (chars + str_chars(buf_str(&notices)) > RESULT_CHARS)
			break;
		fit = i + 1;
	}
	buf_release(&notices);
	return fit;
}

/* Appends as many whole lines as fit. If not even one does, appends its
 * beginning. */
static void add_cut(struct buf *out, const struct numbering *nb,
		    const struct text_window *w, const char *path)
{
	size_t n = lines_that_fit(nb, w, path);
	struct buf notice = BUF_INIT(NOTICE_BYTES);

	if (n) {
		buf_add(out, nb->text.ptr, nb->ends[n - 1]);
		add_cut_notices(&notice, w, n, path);
	} else {
		add_too_large(&notice, path);
		result_clip(buf_str(&nb->text),
			    RESULT_CHARS - str_chars(buf_str(&notice)), out);
	}
	buf_addstr(out, buf_str(&notice));
	buf_release(&notice);
}

static bool is_blank(struct str text)
{
	return !str_trim(text).len;
}

/* True if the page is the complete file. */
static bool is_whole(const struct files_page *page)
{
	return page->start_line <= 1 && page->next_offset < 0 && !page->clipped;
}

void read_text_render(const struct files_page *page,
		      const struct read_text_request *req, struct buf *out)
{
	struct text_window w = { page->start_line > 0 ? page->start_line : 1,
				 page->end_line, page->total_lines,
				 page->next_offset >= 0 };
	struct buf notice = BUF_INIT(NOTICE_BYTES);
	struct numbering nb;

	if (page->no_lines) {
		buf_addf(out,
			 "System reminder: no lines were read because `limit` "
			 "was %" PRId64 ". The file was not inspected and may "
			 "have contents; retry with `limit` >= 1 to read it.",
			 req->limit);
		return;
	}
	if (is_whole(page) && is_blank(buf_str(&page->text))) {
		buf_adds(out, READ_TEXT_EMPTY);
		return;
	}
	numbering_render(&nb, buf_str(&page->text), w.first,
			 w.last < w.first ? 0 : (size_t)(w.last - w.first + 1));
	add_window(&notice, &w);
	if (str_chars(buf_str(&nb.text)) + str_chars(buf_str(&notice)) >=
	    RESULT_CHARS) {
		add_cut(out, &nb, &w, req->path);
	} else {
		buf_addstr(out, buf_str(&nb.text));
		buf_addstr(out, buf_str(&notice));
	}
	if (req->offset < 0)
		buf_addf(out,
			 "\n\n[Requested offset %" PRId64
			 " is before the start "
			 "of the file; read from line 1 instead.]",
			 req->offset);
	if (page->encoding)
		buf_addf(out,
			 "\n\n[The file is %s. It is shown as UTF-8; edit_file "
			 "and write_file keep its encoding.]",
			 page->encoding);
	numbering_release(&nb);
	buf_release(&notice);
}

const struct read_text_media *read_text_media(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash ? slash : path, '.');

	if (!dot)
		return NULL;
	for (const struct read_text_media *m = media; m->extension; m++)
		if (str_is_nocase(str_of(dot + 1), m->extension))
			return m;
	return NULL;
}

bool read_text_is_shown(const char *path)
{
	static const char *const shown[] = { "image/png", "image/jpeg",
					     "image/gif", "image/webp",
					     "application/pdf" };
	const struct read_text_media *m = read_text_media(path);

	for (size_t i = 0; m && i < sizeof(shown) / sizeof(shown[0]); i++)
		if (strcmp(m->mime, shown[i]) == 0)
			return true;
	return false;
}

/* dcode attaches neither video nor audio to a result. The Python program does
 * if the model accepts them. */
void read_text_binary(const struct files_page *page, const char *path,
		      struct buf *out)
{
	const struct read_text_media *m = read_text_media(path);

	if (m)
		buf_addf(out,
			 "[read_file: %s was not attached because this model "
			 "does not support %s content (%s).]\nIt has %zu "
			 "bytes. Use execute to convert it or to extract text "
			 "from it.",
			 path, m->kind, m->mime, page->text.len);
	else
		buf_addf(out,
			 "Error: File '%s' is not UTF-8 text (%zu bytes). Use "
			 "execute to look at it, for example with `od -c` or "
			 "`file`.",
			 path, page->text.len);
}

enum { DEFAULT_LIMIT = 100 }; /* lines */

static int explain_failure(const char *path, const struct error *err,
			   struct buf *out)
{
	if (err->exact != CASE_NOT_TEXT)
		return result_file_failed(out, "File", path, err);
	buf_addf(out,
		 "Error: File '%s' is not UTF-8 text. Use execute to look at "
		 "it, for example with `od -c` or `file`.",
		 path);
	return -1;
}

/* Attaches a file, so that the model sees it. Fails unless its bytes are of a
 * supported type. */
static int attach_file(const struct tool_env *env, struct files_page *page,
		       const char *path, struct buf *out, struct error *err)
{
	const struct part *p;

	if (!page->text.len) {
		buf_adds(out, READ_TEXT_EMPTY);
		return 0;
	}
	p = message_add_media(env->media, path_name(path), &page->text);
	if (p) {
		buf_adds(out, p->text);
		return 0;
	}
	buf_addf(out,
		 "Error: File '%s' is not a PNG, JPEG, GIF, WebP or PDF, as "
		 "its first bytes show (it has %zu bytes). Use execute to look "
		 "at it, for example with `od -c` or `file`.",
		 path, page->text.len);
	return error_set_case(err, ERR_REMOTE, CASE_NOT_TEXT,
			      "not_a_text_file");
}

static int render_page(const struct mask *mask, struct files_page *page,
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
	return error_set_case(err, ERR_REMOTE, CASE_NOT_TEXT,
			      "not_a_text_file");
}

static int execute_read_file(const struct tool_env *env, const cJSON *args,
			     struct buf *out, struct error *err)
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
		explain_failure(path, err, out);
	else if (shown)
		rc = attach_file(env, &page, path, out, err);
	else
		rc = render_page(env->mask, &page, &req, out, err);
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
			"part of the file. A line longer than 5000 characters "
			"continues in rows numbered N.1, N.2. If lines remain, "
			"a notice at the end says at which offset to continue. "
			"Read a file before you edit it. PNG, JPEG, GIF, WebP "
			"and PDF files are shown to you directly if you accept "
			"them; other binary files are not shown. Several files "
			"may be read at once by several calls in one answer.",
	},
	.args = args,
	.summary = "{file_path}[ after line {offset}][, {limit} lines]",
	.path_arg = "file_path",
	.flags = TOOL_READS,
	.run = execute_read_file,
};

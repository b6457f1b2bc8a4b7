/* message.c - the user's messages: text, files and pictures, or commands. */
/* SPDX-License-Identifier: MIT */
/*
 * A prompt includes the files that it names ("@path"), images that were pasted
 * as a path ("[image 1: a.png, 64x48, 2 kB]"), and the output of the user's own
 * commands. Begin reading at message_run(). It calls run_agent(), and that
 * calls agent_run() (src/agent/loop.c).
 */
#include "cmd/chat/message.h"

#include <ctype.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/chat/plan_review.h"
#include "cmd/session/sandbox.h"
#include "cmd/session/skills.h"
#include "cmd/session/undo.h"
#include "model/message.h"
#include "sandbox/exec.h"
#include "sandbox/files/files.h"
#include "skills/skills.h"
#include "tool/files/read_file.h"
#include "tool/paths.h"

enum {
	MOST_AT_ONCE = 20,
	MOST_PATH = 4096,       /* bytes */
	FIRST_BYTES = 64 << 10, /* a JPEG file has its size behind thumbnails */
	MOST_NAME = 60,         /* bytes of a file's name in a mark */
};

struct pictures {
	pthread_mutex_t lock;
	char *home;   /* owned, or NULL */
	char **paths; /* owned */
	char **marks; /* owned: of each path */
	size_t n;
};

struct pictures *pictures_new(const char *home)
{
	struct pictures *p = xcalloc(1, sizeof(*p));

	pthread_mutex_init(&p->lock, NULL);
	p->home = xstrdup(home);
	return p;
}

void pictures_free(struct pictures *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++) {
		free(p->paths[i]);
		free(p->marks[i]);
	}
	free(p->paths);
	free(p->marks);
	free(p->home);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* Reads the beginning of a regular file. A pipe is not opened in a way that
 * could block. Returns the size of the file; -1: it cannot be read. */
static int64_t read_beginning(const char *path, struct buf *bytes)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char *first = xcalloc(1, FIRST_BYTES);
	int64_t size = -1;
	struct stat st;
	ssize_t n;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		n = io_read(fd, first, FIRST_BYTES);
		if (n > 0)
			buf_add(bytes, first, (size_t)n);
		size = n < 0 ? -1 : st.st_size;
	}
	if (fd >= 0)
		close(fd);
	free(first);
	return size;
}

/* True for a regular file that begins like an image. */
static bool is_image(const char *path)
{
	struct buf bytes = BUF_INIT(FIRST_BYTES);
	const char *type = NULL;

	if (read_beginning(path, &bytes) > 0)
		type = media_type(buf_str(&bytes));
	buf_release(&bytes);
	return type && !media_is_pdf(type);
}

/* True if the name of a file cannot be more than a name in a message. */
static bool is_plain_name(struct str name)
{
	return name.len && name.len <= MOST_NAME && name.ptr[0] != '@' &&
	       str_search(name, STR(" @")) == name.len &&
	       str_find(name, '[') == name.len &&
	       str_find(name, ']') == name.len;
}

/* An image from the clipboard is a file in memory, named by its descriptor. */
static const char *picture_name(const char *path)
{
	return str_starts(str_of(path), PICTURES_MEMORY) ? "clipboard"
							 : path_name(path);
}

/* Returns the mark of picture i, owned: "[image 1: shot.png, 640x480, 34 kB]".
 */
static char *make_mark(size_t i, const char *path)
{
	struct buf bytes = BUF_INIT(FIRST_BYTES);
	struct buf name = BUF_INIT(4 * MOST_PATH);
	struct buf mark = BUF_INIT(MOST_PATH);
	int64_t size = read_beginning(path, &bytes);
	char room[32];
	uint32_t width;
	uint32_t height;

	buf_addf(&mark, "[image %zu: ", i + 1);
	sanitize_line(str_of(picture_name(path)), &name);
	if (is_plain_name(buf_str(&name)))
		buf_addf(&mark, "%s, ", name.ptr);
	if (media_dimensions(buf_str(&bytes), &width, &height))
		buf_addf(&mark, "%ux%u, ", width, height);
	str_format_size(size > 0 ? size : 0, room);
	buf_addf(&mark, "%s]", room);
	buf_release(&name);
	buf_release(&bytes);
	return buf_detach(&mark);
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	const char *at = c ? strchr(digits, c) : NULL;
	int n = at ? (int)(at - digits) : -1;

	return n > 15 ? n - 6 : n;
}

/* Converts "file:///a%20b.png" to "/a b.png". Returns NULL for a file on
 * another machine. The caller owns the result. */
static char *path_of_url(struct str url)
{
	struct buf path = BUF_INIT(MOST_PATH);

	url = str_skip(url, strlen("file://"));
	if (str_starts(url, "localhost/"))
		url = str_skip(url, strlen("localhost"));
	for (size_t i = 0; str_starts(url, "/") && i < url.len; i++) {
		int high = url.len - i > 2 && url.ptr[i] == '%'
				   ? hex_digit(url.ptr[i + 1])
				   : -1;
		int low = high >= 0 ? hex_digit(url.ptr[i + 2]) : -1;

		buf_addc(&path, low < 0 ? url.ptr[i] : (char)(high << 4 | low));
		i += low < 0 ? 0 : 2;
	}
	if (path.len && !path.over && !memchr(path.ptr, '\0', path.len))
		return buf_detach(&path);
	buf_release(&path);
	return NULL;
}

/* If text is the path or URL of an image, returns its path, which the caller
 * owns; else NULL. */
static char *find_image(struct str text, const char *home)
{
	char *path = NULL;
	char *whole;

	if (text.len >= MOST_PATH || memchr(text.ptr, '\0', text.len))
		return NULL;
	if (str_starts(text, "file://")) {
		path = path_of_url(text);
	} else {
		whole = xstrndup(text.ptr, text.len);
		path = home ? path_expand(whole, home) : xstrdup(whole);
		free(whole);
	}
	if (path && is_image(path))
		return path;
	free(path);
	return NULL;
}

/* Finds the images in a paste. Returns 0 unless the whole text, or each of its
 * words, is the path of an image. */
static size_t find_images(struct str text, const char *home,
			  char *found[MOST_AT_ONCE])
{
	size_t n = 0;
	char *word;

	/* First try the text as one path, whose spaces need no quotes. */
	found[0] = find_image(text, home);
	if (found[0])
		return 1;
	while ((word = words_take(&text))) {
		char *path = n < MOST_AT_ONCE ? find_image(str_of(word), home)
					      : NULL;

		free(word);
		if (path) {
			found[n++] = path;
			continue;
		}
		while (n)
			free(found[--n]);
		return 0;
	}
	return n;
}

#define SHRINK                                                                 \
	"Make it smaller, for example: magick big.png -resize 1568x small.png"

/* Fails if the image is larger than an image in a message may be. */
static int check_picture(const char *path, struct error *err)
{
	struct buf name = BUF_INIT(4 * MOST_PATH);
	char room[32];
	struct stat st;
	int rc = 0;

	if (stat(path, &st) == 0 && st.st_size > MEDIA_MAX_BYTES) {
		sanitize_line(str_of(picture_name(path)), &name);
		str_format_size(st.st_size, room);
		rc = error_set(err, ERR_LIMIT,
			       "not attached: %s has %s, and the limit for "
			       "images is 3.75 MB",
			       name.ptr, room);
		err->exact = CASE_FILE_TOO_LARGE;
		error_hint(err, SHRINK);
	}
	buf_release(&name);
	return rc;
}

/* Finds the images of a text that consists of nothing else. -1: one of them is
 * too large. */
static int take_images(const struct pictures *p, struct str text,
		       char *found[MOST_AT_ONCE], size_t *n, struct error *err)
{
	int rc = 0;

	*n = 0;
	text = str_trim(text);
	if (p && text.len && text.len <= MOST_AT_ONCE * MOST_PATH)
		*n = find_images(text, p->home, found);
	for (size_t i = 0; i < *n && rc == 0; i++)
		rc = check_picture(found[i], err);
	while (rc < 0 && *n)
		free(found[--*n]);
	return rc;
}

/* Calls each() once for every picture whose mark is in text, until it fails. p
 * may be NULL. */
static int each_picture(struct pictures *p, struct str text,
			int (*each)(void *arg, const char *path,
				    struct error *err),
			void *arg, struct error *err)
{
	int rc = 0;

	if (!p)
		return 0;
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->n && rc == 0; i++)
		if (str_search(text, str_of(p->marks[i])) < text.len)
			rc = each(arg, p->paths[i], err);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

static int fail_full(struct error *err)
{
	error_set(err, ERR_LIMIT,
		  "not sent: the files of one message are limited to 20 MB");
	err->exact = CASE_FILE_TOO_LARGE;
	return -1;
}

/* Adds the size of a picture to that of the others in arg. */
static int add_size(void *arg, const char *path, struct error *err)
{
	int64_t *total = arg;
	struct stat st;

	if (stat(path, &st) == 0)
		*total += st.st_size;
	if (*total > MEDIA_MESSAGE_BYTES)
		return fail_full(err);
	return check_picture(path, err);
}

/* Fails if an image of the message (named by a mark or a path) is too large to
 * send, or all of them together are. */
static int check_pictures(struct pictures *p, struct str text,
			  struct error *err)
{
	char *found[MOST_AT_ONCE];
	int64_t total = 0;
	size_t n;

	if (take_images(p, text, found, &n, err) < 0)
		return -1;
	while (n)
		free(found[--n]);
	return each_picture(p, text, add_size, &total, err);
}

bool pictures_take(struct pictures *p, struct str text, struct buf *out,
		   struct error *err)
{
	char *found[MOST_AT_ONCE];
	size_t n;

	if (!out) {
		(void)check_pictures(p, text, err);
		return false;
	}
	if (take_images(p, text, found, &n, err) < 0 || !n)
		return false;
	pthread_mutex_lock(&p->lock);
	p->paths = xrealloc(p->paths, p->n + n, sizeof(*p->paths));
	p->marks = xrealloc(p->marks, p->n + n, sizeof(*p->marks));
	for (size_t i = 0; i < n; i++) {
		buf_adds(out, i ? " " : "");
		p->marks[p->n] = make_mark(p->n, found[i]);
		buf_adds(out, p->marks[p->n]);
		p->paths[p->n++] = found[i];
	}
	pthread_mutex_unlock(&p->lock);
	return true;
}

enum {
	MOST_FILES = 20,      /* files in one message */
	MAX_PATH = 4096,      /* bytes */
	MAX_FILE = 256 << 10, /* bytes of one file in a message */
	FILE_MS = 10000,
	LINES = 1 << 30,
};

struct mention_text {     /* borrowed */
	struct str typed; /* the part where "@path" names a file */
	struct str whole; /* the whole prompt */
	bool media_only;
};

static size_t count_char(const struct buf *path, char c)
{
	size_t n = 0;

	for (size_t i = 0; i < path->len; i++)
		n += path->ptr[i] == c;
	return n;
}

/* True if the last character ends the sentence rather than the path, as in
 * "(see @a.c)." */
static bool ends_sentence(const struct buf *path)
{
	static const char closing[] = ")]}>";
	static const char opening[] = "([{<";
	char last = path->ptr[path->len - 1];
	const char *pair = strchr(closing, last);

	if (strchr(".,:;!?", last))
		return true;
	if (pair)
		return count_char(path, last) >
		       count_char(path, opening[pair - closing]);
	return strchr("'\"`*", last) && count_char(path, last) % 2;
}

/*
 * Reads the path after an "@" at the front of rest and returns its length in
 * rest. The path ends at a space or at ",@", which begins another path, and
 * does not include punctuation that ends a sentence. A character after a
 * backslash always belongs to the path; completion (editor/choices.c) escapes
 * what would end it otherwise.
 */
static size_t read_path(struct str rest, struct buf *path)
{
	size_t written = 0; /* length of path up to the last escaped character,
			       which always belongs to the path */
	size_t i = 1;

	for (; i < rest.len; i++) {
		char c = rest.ptr[i];

		if (isspace((unsigned char)c) ||
		    (c == ',' && i + 1 < rest.len && rest.ptr[i + 1] == '@'))
			break;
		if (c == '\\' && i + 1 < rest.len) {
			buf_addc(path, rest.ptr[++i]);
			written = path->len;
		} else {
			buf_addc(path, c);
		}
	}
	while (path->len > written && ends_sentence(path))
		path->len--;
	return i;
}

static void warn_mention(const char *path, const char *why)
{
	struct buf line = BUF_INIT(2 * MAX_PATH);

	sanitize_line(str_of(path), &line);
	app_warn("@%s %s", line.ptr, why);
	buf_release(&line);
}

/* Appends a file's text, or only its name if the file is too large or binary.
 */
static void add_page(const char *path, const struct files_page *page,
		     struct buf *out)
{
	bool is_large = page->clipped || page->text.len > MAX_FILE;

	buf_addf(out, "\n### %s\n", path);
	if (page->encoding)
		buf_addf(out, "(%s, shown as UTF-8)\n", page->encoding);
	if (page->binary || is_large)
		buf_addf(out, "(too large, or not text: use read_file)\n");
	if (page->binary)
		warn_mention(path, "is not a text file: only its name is sent");
	else if (is_large)
		warn_mention(path,
			     "is larger than 256 KiB: only its name is sent");
	else
		buf_addf(out, "```\n%s\n```\n",
			 page->text.len ? page->text.ptr : "");
}

static bool is_other_image(const char *path)
{
	static const char *const endings[] = { ".bmp",  ".tif",  ".tiff",
					       ".heic", ".heif", ".avif" };
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < sizeof(endings) / sizeof(*endings); i++)
		if (str_is_nocase(str_of(dot), endings[i]))
			return true;
	return false;
}

/* The chat does not send a message whose image is of another kind than its name
 * says, or than models accept: the answer would be about something else. */
static int refuse_kind(const char *path, struct error *err)
{
	struct buf name = BUF_INIT(2 * MAX_PATH);

	sanitize_line(str_of(path), &name);
	error_set(err, ERR_USAGE,
		  "not sent: @%s is not a PNG, JPEG, GIF, WebP or PDF file",
		  name.ptr);
	error_hint(err, "Convert it, for example: magick picture.heic "
			"picture.png. Without the @, only its name is sent.");
	err->exact = CASE_NOT_AN_IMAGE;
	buf_release(&name);
	return -1;
}

/* Attaches an image or a PDF file to the message and names it in the text.
 * If strict is not set, returns 0 if it is another kind of file, or if there is
 * no room. */
static int attach_media(struct run *r, const char *path, struct buf *bytes,
			bool strict, struct buf *out, struct error *err)
{
	struct message *to = &r->agent.attached;
	const struct part *p;

	if (message_media_bytes(to) + bytes->len > MEDIA_MESSAGE_BYTES) {
		if (strict)
			return fail_full(err);
		warn_mention(
			path,
			"is too large: the files of one message are limited "
			"to 20 MB");
		return 0;
	}
	p = message_add_media(to, path_name(path), bytes);
	if (p)
		buf_addf(out, "\n### %s\n%s\n", path, p->text);
	else if (strict)
		return refuse_kind(path, err);
	else
		warn_mention(path, "is not a PNG, JPEG, GIF, WebP or PDF file: "
				   "sent as text");
	return p != NULL;
}

/* Without strict, the message is sent without the file. */
static int report_unread(const char *path, bool media, bool strict,
			 struct error *err)
{
	bool large = media && err->exact == CASE_FILE_TOO_LARGE;
	struct buf name = BUF_INIT(2 * MAX_PATH);

	if (!large) {
		warn_mention(path, "is not a readable file: sent as text");
	} else if (!strict) {
		warn_mention(path,
			     "is too large: the limit for images and PDF files "
			     "is 3.75 MB");
	} else {
		sanitize_line(str_of(path), &name);
		error_set(err, ERR_LIMIT,
			  "not sent: @%s is too large; the limit for images "
			  "and PDF files is 3.75 MB",
			  name.ptr);
		error_hint(err, SHRINK);
		err->exact = CASE_FILE_TOO_LARGE;
	}
	buf_release(&name);
	return large && strict ? -1 : 0;
}

/* strict: fails if an image or PDF file is too large or none. Returns 1 if the
 * file was appended, 0 if "@path" remains plain text. */
static int add_file(struct run *r, const char *path, bool strict,
		    struct buf *out, const struct stop *stop, struct error *err)
{
	bool media = read_text_is_shown(path);
	struct stop within = stop_within(stop, FILE_MS);
	struct files_page page = { 0 };
	struct files_window window = { .limit = LINES,
				       .as_binary = media,
				       .most = MEDIA_MAX_BYTES };
	/* With "./" before it, "~" or "c:" in a path has no special meaning. */
	char *name = xasprintf("%s%s", path[0] == '/' ? "" : "./", path);
	char *whole;
	int rc = paths_resolve(sandbox_tree_dir(&r->box.sandbox), name, &whole,
			       err);

	free(name);
	if (rc < 0) {
		warn_mention(path, "is not a path");
		return 0;
	}
	window.path = whole;
	rc = files_read(&r->box.sandbox, &window, &page, &within, err);
	if (rc == 0 && strict && is_other_image(path)) {
		rc = refuse_kind(path, err);
	} else if (rc == 0 && media) {
		rc = attach_media(r, path, &page.text, strict, out, err);
	} else if (rc == 0) {
		add_page(path, &page, out);
		rc = 1;
	} else if (err->code == ERR_CANCELLED || err->code == ERR_GONE) {
		rc = -1;
	} else if (err->exact == CASE_NOT_TEXT) {
		page.binary = true;
		add_page(path, &page, out);
		rc = 1;
	} else {
		rc = report_unread(path, media, strict, err);
	}
	buf_release(&page.text);
	free(whole);
	return rc;
}

/* Appends to files the contents of the files that text names. media_only: only
 * images and PDF files are attached. */
static int add_files(struct run *r, struct str text, bool media_only,
		     struct buf *files, const struct stop *stop,
		     struct error *err)
{
	struct buf path = BUF_INIT(MAX_PATH);
	size_t joined = 0; /* position after a path and a comma, where an "@"
			      begins the next path */
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < text.len && rc >= 0; i++) {
		bool begins = i == 0 || i == joined ||
			      isspace((unsigned char)text.ptr[i - 1]);

		if (text.ptr[i] != '@' || !begins)
			continue;
		buf_clear(&path);
		i += read_path(str_skip(text, i), &path) - 1;
		joined = i + 2;
		if (path.over)
			warn_mention(path.ptr, "is not a path");
		if (!path.len || path.over)
			continue;
		buf_addc(&path, '\0');
		if (media_only && !read_text_is_shown(path.ptr))
			continue;
		if (n == MOST_FILES) {
			warn_mention(path.ptr,
				     "is sent as text: the limit is 20 files "
				     "per message");
			continue;
		}
		rc = add_file(r, path.ptr, !media_only, files, stop, err);
		n += rc > 0;
	}
	buf_release(&path);
	return rc < 0 ? -1 : 0;
}

/* Attaches a picture of this machine whose path the user pasted. The message is
 * not sent without it. */
static int add_picture(void *arg, const char *path, struct error *err)
{
	struct run *r = arg;
	struct message *to = &r->agent.attached;
	struct buf bytes = BUF_INIT(MEDIA_MAX_BYTES);
	int rc = check_picture(path, err);

	if (rc == 0 && (rc = path_read(path, &bytes, err)) < 0)
		error_wrap(err, "not sent: the image cannot be read");
	if (rc == 0 &&
	    message_media_bytes(to) + bytes.len > MEDIA_MESSAGE_BYTES)
		rc = fail_full(err);
	if (rc == 0 && !message_add_media(to, picture_name(path), &bytes))
		rc = error_set(err, ERR_USAGE,
			       "not sent: an attached file is no longer an "
			       "image");
	buf_release(&bytes);
	return rc;
}

/* Appends the prompt and the contents of the files that it names. Images and
 * PDF files are attached instead. */
static int expand_prompt(struct run *r, const struct mention_text *text,
			 struct buf *out, const struct stop *stop,
			 struct error *err)
{
	struct buf files = BUF_INIT(64 << 20);
	int rc;

	message_release(&r->agent.attached);
	rc = add_files(r, text->typed, text->media_only, &files, stop, err);
	if (rc == 0)
		rc = each_picture(r->app->pictures, text->typed, add_picture, r,
				  err);
	buf_addstr(out, text->whole);
	if (files.len) {
		buf_adds(out, MESSAGE_FILES);
		buf_addstr(out, buf_str(&files));
	}
	buf_release(&files);
	if (rc == 0)
		*err = (struct error){ 0 };
	else
		message_release(&r->agent.attached);
	return rc;
}

/*
 * Appends the text, followed by each sandbox file that it names as "@path"
 * (spec/cli.md §4.4). Spaces in a path need a backslash; an "@" inside a word
 * names no file. Files over 256 KiB and binary files are only named. Images and
 * PDF files go to r->agent.attached. Prints a warning for each file that is not
 * sent. -1 with ERR_CANCELLED or ERR_GONE.
 */
static int mention_expand(struct run *r, struct str text, struct buf *out,
			  const struct stop *stop, struct error *err)
{
	const struct mention_text all = { text, text, false };

	return expand_prompt(r, &all, out, stop, err);
}

int mention_attach(struct run *r, struct str typed, struct str whole,
		   struct buf *out, const struct stop *stop, struct error *err)
{
	const struct mention_text task = { typed, whole, true };

	return expand_prompt(r, &task, out, stop, err);
}

int mention_list(struct run *r, bool ignored, struct buf *out,
		 const struct stop *stop, struct error *err)
{
	struct stop within = stop_within(stop, FILE_MS);
	const char *root = sandbox_tree_dir(&r->box.sandbox);
	struct files_names list = { 0 };
	size_t skip = strlen(root) + (strcmp(root, "/") != 0);
	const struct files_search all = { .root = root,
					  .pattern = "*",
					  .ignored = ignored };
	int rc = files_glob(&r->box.sandbox, &all, &list, &within, err);

	for (size_t i = 0; rc == 0 && i < list.n; i++) {
		const char *name = list.names[i];

		if (strlen(name) <= skip || strstr(name, "/.git/") ||
		    strchr(name, '\n'))
			continue;
		buf_adds(out, name + skip);
		buf_addc(out, '\n');
	}
	files_names_release(&list);
	return rc;
}

enum { MAX_PROMPT = 128 << 20 };

struct str message_first_word(struct str line)
{
	struct str word = { line.ptr, 0 };

	while (word.len < line.len && word.ptr[word.len] != ' ' &&
	       word.ptr[word.len] != '\t' && word.ptr[word.len] != '\n')
		word.len++;
	return word;
}

bool message_is_command(struct str line)
{
	struct str word = message_first_word(line);

	if (str_is_nocase(line, "exit"))
		return true;
	if (word.len > 1 && skill_builtin_find(str_skip(word, 1)))
		return false;
	if (word.len < 2 || !isalpha((unsigned char)word.ptr[1]))
		return false;
	for (size_t i = 2; i < word.len; i++)
		if (!isalnum((unsigned char)word.ptr[i]) &&
		    word.ptr[i] != '-' && word.ptr[i] != '_')
			return false;
	return word.ptr[0] == '/';
}

enum message_kind message_classify(struct str text)
{
	if (message_is_command(str_trim(text)))
		return MESSAGE_SLASH;
	if (str_starts(text, "!!"))
		return MESSAGE_HIDDEN_COMMAND;
	return str_starts(text, "!") ? MESSAGE_COMMAND : MESSAGE_PROMPT;
}

const char *message_prefix(enum message_kind kind)
{
	static const char *const prefixes[] = {
		[MESSAGE_PROMPT] = "",   [MESSAGE_SLASH] = "",
		[MESSAGE_COMMAND] = "!", [MESSAGE_HIDDEN_COMMAND] = "!!",
		[MESSAGE_GIVEN] = "",
	};

	return prefixes[kind];
}

int message_prepare(struct run *r, const char *text, struct buf *told,
		    struct buf *whole, const struct stop *stop,
		    struct error *err)
{
	struct buf marks = BUF_INIT(MAX_PROMPT);
	struct str typed = str_of(text);
	struct str name;
	int rc = 0;

	/* perhaps a path dragged into a terminal that does not mark pastes */
	if (pictures_take(r->app->pictures, typed, &marks, err))
		typed = buf_str(&marks);
	else if (err->exact == CASE_FILE_TOO_LARGE)
		rc = -1;
	buf_addstr(whole, buf_str(told));
	if (whole->len)
		buf_addc(whole, '\n');
	if (rc == 0 && run_skills_is_call(typed, &name, &typed))
		rc = run_skills_invoke(r, name, typed.len > 0, whole, err);
	/* Only in the typed part: an "@" in a repository's skill names no file.
	 */
	if (rc == 0)
		rc = mention_expand(r, typed, whole, stop, err);
	if (rc == 0)
		buf_clear(told);
	buf_release(&marks);
	return rc;
}

static int run_prompt(struct run *r, const char *text, struct buf *told,
		      const struct stop *stop, struct error *err)
{
	struct buf whole = BUF_INIT(MAX_PROMPT);
	int rc = message_prepare(r, text, told, &whole, stop, err);

	if (rc == 0)
		rc = run_agent(r, whole.ptr, stop, err);
	buf_release(&whole);
	return rc;
}

bool message_is_plain(enum message_kind kind, const char *typed)
{
	struct str text = str_trim(str_of(typed));
	struct str name;
	struct str rest;

	if (kind == MESSAGE_GIVEN)
		return true;
	return kind == MESSAGE_PROMPT && !strchr(typed, '@') &&
	       !strstr(typed, "[image ") && !strchr("/~\\'\"", *text.ptr) &&
	       !str_starts(text, "file:") &&
	       !run_skills_is_call(text, &name, &rest);
}

int message_run(struct run *r, enum message_kind kind, const char *text,
		struct buf *told, const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	int rc;

	r->push_declined = false;
	buf_clear(&r->plan);
	if (run_is_late(r) && !message_is_plain(kind, text) &&
	    run_await(r, err) < 0)
		return -1;
	if (!run_is_promised(r) &&
	    background_failed(r->box.sandbox.background, &why) < 0)
		app_warn("%s", why.message);
	if (kind == MESSAGE_GIVEN || kind == MESSAGE_PROMPT) {
		undo_begin_turn(r);
		rc = kind == MESSAGE_GIVEN
			     ? run_agent(r, text, stop, err)
			     : run_prompt(r, text, told, stop, err);
		undo_end_turn(r, rc);
		return rc < 0 ? -1 : plan_review(r, stop, err);
	}
	rc = agent_run_own_command(&r->agent, text,
				   kind == MESSAGE_COMMAND ? told : NULL, stop,
				   err);
	undo_checkpoint(r, CHECKPOINT_OTHER);
	return rc;
}

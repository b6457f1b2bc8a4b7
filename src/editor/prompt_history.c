/* prompt_history.c - the prompts of this and earlier sessions. */
/* SPDX-License-Identifier: MIT */
/*
 * Several processes add prompts to one file. An addition is one write() at the
 * file's end, and the file is replaced when it has become too long. Both
 * normally hold a lock. A process that does not get the lock in time appends
 * without it; append_line() and copy_late_lines() make sure that its line is
 * not lost with the replaced file. Begin reading at prompt_history_add().
 */
#include "editor/prompt_history.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/stop.h"
#include "base/str.h"

enum { LOCK_WAIT_MS = 500, APPEND_TRIES = 3 };

struct str prompt_history_text(const struct prompt_history *h, size_t i)
{
	const struct prompt *item = &h->items[i];

	return item->text ? (struct str){ item->text, item->len }
			  : spool_text(&h->texts, item->at, item->len);
}

static void drop_oldest(struct prompt_history *h, size_t n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n; i++) {
		free(h->items[i].text);
		free(h->items[i].project);
	}
	h->n -= n;
	memmove(h->items, h->items + n, h->n * sizeof(*h->items));
}

static bool is_last(const struct prompt_history *h, struct str text)
{
	return h->n && str_eq(prompt_history_text(h, h->n - 1), text);
}

/* Adds a prompt in memory. The caller limits the number of items. */
static void append_item(struct prompt_history *h, struct str text,
			const char *project, int64_t when)
{
	struct prompt *item;

	if (is_last(h, text))
		return;
	if (h->n == h->cap) {
		h->cap = h->cap ? h->cap * 2 : 64;
		h->items = xrealloc(h->items, h->cap, sizeof(*h->items));
	}
	item = &h->items[h->n++];
	*item = (struct prompt){ .text = xstrndup(text.ptr, text.len),
				 .len = text.len,
				 .project = xstrdup(project),
				 .time = when };
}

/* Moves the texts of items[from] and all later ones into the spool. */
static void spool_items(struct prompt_history *h, size_t from)
{
	struct buf all = BUF_INIT(SIZE_MAX);
	size_t at = h->texts.end;

	for (size_t i = from; i < h->n; i++)
		buf_add(&all, h->items[i].text, h->items[i].len);
	for (bool done = spool_add(&h->texts, buf_str(&all));
	     done && from < h->n; from++) {
		struct prompt *item = &h->items[from];

		free(item->text);
		item->text = NULL;
		item->at = at;
		at += item->len;
	}
	buf_release(&all);
}

static void limit_items(struct prompt_history *h)
{
	if (h->n > PROMPT_HISTORY_KEEP)
		drop_oldest(h, h->n - PROMPT_HISTORY_KEEP);
	h->at = h->n;
}

/* Opens the history; anything but a regular file is refused. */
static int open_file(const char *path, int flags, struct error *err)
{
	struct stat st;
	int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

	if (fd < 0)
		return error_errno(err, "cannot open %s", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return error_set(err, ERR_SYSTEM, "%s is not a regular file",
				 path);
	}
	return fd;
}

/* Reads the last PROMPT_HISTORY_FILE bytes. A line cut at the front is invalid
 * and will be skipped. */
static int read_tail(int fd, const char *path, struct buf *out,
		     struct error *err)
{
	off_t size = lseek(fd, 0, SEEK_END);
	ssize_t got = 1;

	size -= size > PROMPT_HISTORY_FILE ? PROMPT_HISTORY_FILE : size;
	lseek(fd, size, SEEK_SET);
	while (got > 0) {
		char *room = buf_room(out, 65536);

		got = room ? io_read(fd, room, 65536) : 0;
		if (got > 0)
			buf_added(out, (size_t)got);
	}
	if (got < 0)
		return error_errno(err, "cannot read %s", path);
	if (size)
		buf_consume(out, str_find(buf_str(out), '\n'));
	return 0;
}

/* Adds the prompt of one line of the file. */
static void parse_line(struct prompt_history *h, struct str line)
{
	cJSON *json = json_parse(line);
	const char *text = cJSON_IsString(json)
				   ? json->valuestring
				   : json_string(json, "prompt", "");

	if (str_trim(str_of(text)).len)
		append_item(h, str_of(text), json_string(json, "project", NULL),
			    json_int(json, "time", 0));
	cJSON_Delete(json);
}

static size_t parse_lines(struct prompt_history *h, struct str all)
{
	struct str line;
	size_t lines = 0;

	for (; str_split(&all, '\n', &line); lines++) {
		parse_line(h, line);
		/* Drops many at once, so that the cost is linear. */
		if (h->n == (size_t)2 * PROMPT_HISTORY_KEEP)
			drop_oldest(h, PROMPT_HISTORY_KEEP);
	}
	limit_items(h);
	return lines;
}

static bool is_here(const struct prompt_history *h, size_t i)
{
	return h->items[i].project && !strcmp(h->items[i].project, h->project);
}

/* Moves the prompts of this project behind the others, so that Up and Ctrl+R
 * find them first. */
static void sort_by_project(struct prompt_history *h)
{
	struct prompt *sorted;
	size_t n = 0;

	if (!h->project || !h->n)
		return;
	sorted = xcalloc(h->cap, sizeof(*sorted));
	for (int here = 0; here < 2; here++)
		for (size_t i = 0; i < h->n; i++)
			if (is_here(h, i) == here)
				sorted[n++] = h->items[i];
	free(h->items);
	h->items = sorted;
}

/* Reads the open file. */
static int load_prompts(struct prompt_history *h, int fd, struct error *err)
{
	struct buf all = BUF_INIT(PROMPT_HISTORY_FILE + 65536);
	int rc = read_tail(fd, h->path, &all, err);

	if (!rc)
		h->lines = parse_lines(h, buf_str(&all));
	buf_release(&all);
	spool_items(h, 0);
	return rc;
}

static void init_history(struct prompt_history *h, const char *path,
			 const char *project)
{
	*h = (struct prompt_history){
		.path = xstrdup(path),
		.project = project ? xstrdup(project) : NULL,
		.draft = BUF_INIT(SIZE_MAX),
		.filter = BUF_INIT(SIZE_MAX),
	};
}

int prompt_history_open(struct prompt_history *h, const char *path,
			const char *project, const struct mask *mask,
			struct error *err)
{
	int fd;
	int rc;

	init_history(h, path, project);
	h->mask = mask;
	if (!path || (access(path, F_OK) < 0 && errno == ENOENT))
		return 0;
	fd = open_file(path, O_RDONLY, err);
	if (fd < 0)
		return -1;
	rc = load_prompts(h, fd, err);
	sort_by_project(h);
	close(fd);
	return rc;
}

static void add_line(struct buf *out, struct str text, const char *project,
		     int64_t when)
{
	if (text.len > PROMPT_HISTORY_TEXT) {
		text.len = PROMPT_HISTORY_TEXT;
		while (((unsigned char)text.ptr[text.len] & 0xC0) == 0x80)
			text.len--;
	}
	if (project) {
		buf_addc(out, '{');
		json_member(out, "prompt", text);
		buf_addc(out, ',');
		json_member(out, "project", str_of(project));
		if (when > 0)
			buf_addf(out, ",\"time\":%" PRId64, when);
		buf_addc(out, '}');
	} else {
		json_quote(out, text);
	}
	buf_addc(out, '\n');
}

/* True if another process has replaced the file that fd refers to. */
static bool is_replaced(int fd, const char *path)
{
	struct stat open_one;
	struct stat named;

	if (fstat(fd, &open_one) < 0 || lstat(path, &named) < 0)
		return true;
	return open_one.st_ino != named.st_ino ||
	       open_one.st_dev != named.st_dev;
}

/* Appends complete lines with one write() and returns the file's new size. If a
 * crash cut the file's last line, adds its missing line end first. */
static off_t append_once(int fd, const char *path, struct str lines,
			 struct error *err)
{
	struct buf all = BUF_INIT(SIZE_MAX);
	off_t size = lseek(fd, 0, SEEK_END);
	char last = '\n';
	ssize_t put;

	if (size > 0 && io_pread(fd, &last, 1, size - 1) == 1 && last != '\n')
		buf_addc(&all, '\n');
	buf_addstr(&all, lines);
	put = io_write(fd, all.ptr, all.len);
	/* Another program may have created it with wider permissions. */
	if (fchmod(fd, 0600) < 0)
		put = -1;
	if (put >= 0 && (size_t)put < all.len) {
		errno = ENOSPC;
		put = -1;
	}
	buf_release(&all);
	return put < 0 ? error_errno(err, "cannot write %s", path) : size + put;
}

/* Appends lines to the file with this name, again if another process replaces
 * it meanwhile. Returns the file's size. */
static off_t append_line(const char *path, struct str lines, struct error *err)
{
	off_t size = -1;
	bool again = true;

	for (int i = 0; i < APPEND_TRIES && again; i++) {
		int fd = open_file(path, O_RDWR | O_APPEND | O_CREAT, err);

		if (fd < 0)
			return -1;
		size = append_once(fd, path, lines, err);
		again = size >= 0 && is_replaced(fd, path);
		close(fd);
	}
	return size;
}

/* Adds the newest prompts as lines, at most half of what is read from a file,
 * so that the file need not be replaced again soon. */
static void add_newest_lines(const struct prompt_history *h, struct buf *out)
{
	size_t bytes = 0;
	size_t from = h->n;

	while (from && bytes < PROMPT_HISTORY_FILE / 2)
		bytes += h->items[--from].len;
	for (; from < h->n; from++)
		add_line(out, prompt_history_text(h, from),
			 h->items[from].project, h->items[from].time);
}

/* A process without the lock may have appended to the file after it was read.
 * Such lines are added to the file that has replaced it. */
static int copy_late_lines(int fd, const char *path, struct error *err)
{
	struct buf late = BUF_INIT(PROMPT_HISTORY_FILE);
	ssize_t got = 1;
	int rc = 0;

	while (got > 0) {
		char *room = buf_room(&late, 65536);

		got = room ? io_read(fd, room, 65536) : 0;
		if (got > 0)
			buf_added(&late, (size_t)got);
	}
	if (late.len)
		rc = append_line(path, buf_str(&late), err) < 0 ? -1 : 0;
	buf_release(&late);
	return rc;
}

/* Replaces the file by one with its newest prompts, including those of other
 * processes. */
static int compact_file(struct prompt_history *h, struct error *err)
{
	struct prompt_history fresh;
	struct buf all = BUF_INIT(SIZE_MAX);
	int fd = open_file(h->path, O_RDONLY, err);
	int rc;

	if (fd < 0)
		return -1;
	init_history(&fresh, h->path, NULL);
	rc = load_prompts(&fresh, fd, err);
	/* Another process may have replaced it already. */
	if (!rc && (fresh.lines >= PROMPT_HISTORY_COMPACT ||
		    lseek(fd, 0, SEEK_CUR) >= PROMPT_HISTORY_FILE)) {
		add_newest_lines(&fresh, &all);
		rc = path_write(h->path, buf_str(&all), 0600, err);
		if (!rc)
			rc = copy_late_lines(fd, h->path, err);
		fresh.lines = fresh.n;
	}
	h->lines = fresh.lines;
	close(fd);
	prompt_history_release(&fresh);
	buf_release(&all);
	return rc;
}

/* Takes a lock so that prompts of other processes are not lost. If the lock is
 * not available in time, only appends. */
static int store_prompt(struct prompt_history *h, struct str text,
			struct error *err)
{
	struct stop stop = stop_cleanup(LOCK_WAIT_MS);
	struct error busy = { 0 };
	struct buf line = BUF_INIT(SIZE_MAX);
	char *name = xasprintf("%s.lock", h->path);
	const char *slash = strrchr(h->path, '/');
	char *folder = xstrndup(h->path, slash ? (size_t)(slash - h->path) : 0);
	int made = slash ? path_mkdirs(folder, 0700, &busy) : 0;
	int lock = made < 0 ? -1 : path_lock(name, &stop, &busy);
	off_t size;
	int rc;

	add_line(&line, text, h->project, (int64_t)time(NULL));
	size = append_line(h->path, buf_str(&line), err);
	rc = size < 0 ? -1 : 0;
	free(name);
	free(folder);
	buf_release(&line);
	h->lines++;
	if (!rc && lock >= 0 &&
	    (h->lines >= PROMPT_HISTORY_COMPACT || size >= PROMPT_HISTORY_FILE))
		rc = compact_file(h, err);
	if (lock >= 0)
		close(lock);
	return rc;
}

int prompt_history_add(struct prompt_history *h, struct str prompt,
		       struct error *err)
{
	bool secret = !h->path || mask_holds(h->mask, prompt);

	h->at = h->n;
	if (!str_trim(prompt).len || is_last(h, prompt))
		return 0;
	append_item(h, prompt, h->project, (int64_t)time(NULL));
	if (!secret)
		spool_items(h, h->n - 1);
	limit_items(h);
	spool_drop_pages(&h->texts);
	if (secret ||
	    (str_starts(prompt, "/") && !str_starts(prompt, "/skill:")))
		return 0;
	return store_prompt(h, prompt, err);
}

/* Saves the draft and moves back to it. Does nothing if the draft is the stored
 * prompt that was shown last, unedited. */
static void store_draft(struct prompt_history *h, struct str draft)
{
	if (h->at < h->n && str_eq(draft, prompt_history_text(h, h->at)))
		return;
	h->at = h->n;
	buf_clear(&h->draft);
	buf_addstr(&h->draft, draft);
	buf_clear(&h->filter);
	buf_addstr(&h->filter, str_trim(draft));
}

static bool has_filter(const struct prompt_history *h, size_t i)
{
	struct str filter = buf_str(&h->filter);

	return !filter.len ||
	       str_search(prompt_history_text(h, i), filter) < h->items[i].len;
}

/* Selects the prompt if it matches the filter and is not the draft itself.
 * Reading others has brought in pages that are not needed again. */
static bool select_item(struct prompt_history *h, size_t i, struct str draft,
			struct str *text)
{
	*text = prompt_history_text(h, i);
	if (!has_filter(h, i) || str_eq(*text, draft))
		return false;
	h->at = i;
	spool_drop_pages(&h->texts);
	return true;
}

bool prompt_history_older(struct prompt_history *h, struct str draft,
			  struct str *text)
{
	store_draft(h, draft);
	for (size_t i = h->at; i-- > 0;)
		if (select_item(h, i, draft, text))
			return true;
	return false;
}

bool prompt_history_newer(struct prompt_history *h, struct str draft,
			  struct str *text)
{
	store_draft(h, draft);
	if (h->at == h->n)
		return false;
	for (size_t i = h->at + 1; i < h->n; i++)
		if (select_item(h, i, draft, text))
			return true;
	h->at = h->n;
	*text = buf_str(&h->draft);
	return true;
}

void prompt_history_release(struct prompt_history *h)
{
	drop_oldest(h, h->n);
	free(h->items);
	spool_release(&h->texts);
	buf_release(&h->draft);
	buf_release(&h->filter);
	free(h->path);
	free(h->project);
	*h = (struct prompt_history){ 0 };
}

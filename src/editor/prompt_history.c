/* prompt_history.c - the prompts of this and of earlier sessions. */
/* SPDX-License-Identifier: MIT */
#include "editor/prompt_history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/stop.h"
#include "base/str.h"

enum { LOCK_WAIT_MS = 500 };

static struct str item(const struct prompt_history *h, size_t i)
{
	return buf_str(&h->items[i]);
}

static void remember(struct prompt_history *h, struct str text)
{
	if (h->n && str_eq(item(h, h->n - 1), text))
		return;
	if (h->n == PROMPT_HISTORY_KEEP) {
		buf_release(&h->items[0]);
		memmove(h->items, h->items + 1,
			(h->n - 1) * sizeof(h->items[0]));
		h->n--;
	}
	h->items[h->n] = BUF_INIT(SIZE_MAX);
	buf_addstr(&h->items[h->n++], text);
	h->at = h->n;
}

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

/* The last PROMPT_HISTORY_FILE bytes; what is cut there is no line. */
static int read_tail(const char *path, struct buf *out, struct error *err)
{
	int fd = open_file(path, O_RDONLY, err);
	off_t size;
	ssize_t got = 1;

	if (fd < 0)
		return -1;
	size = lseek(fd, 0, SEEK_END);
	size -= size > PROMPT_HISTORY_FILE ? PROMPT_HISTORY_FILE : size;
	lseek(fd, size, SEEK_SET);
	while (got > 0) {
		char *room = buf_room(out, 65536);

		got = room ? io_read(fd, room, 65536) : 0;
		if (got > 0)
			buf_added(out, (size_t)got);
	}
	close(fd);
	if (got < 0)
		return error_errno(err, "cannot read %s", path);
	if (size)
		buf_consume(out, str_find(buf_str(out), '\n'));
	return 0;
}

static size_t parse_lines(struct prompt_history *h, struct str all)
{
	struct str line;
	size_t lines = 0;

	for (; str_split(&all, '\n', &line); lines++) {
		cJSON *json = json_parse(line);
		struct str text = cJSON_IsString(json)
					  ? str_of(json->valuestring)
					  : (struct str){ 0 };

		if (str_trim(text).len)
			remember(h, text);
		cJSON_Delete(json);
	}
	return lines;
}

static int load(struct prompt_history *h, struct error *err)
{
	struct buf all = BUF_INIT(PROMPT_HISTORY_FILE + 65536);
	int rc = read_tail(h->path, &all, err);

	if (!rc)
		h->lines = parse_lines(h, buf_str(&all));
	buf_release(&all);
	return rc;
}

int prompt_history_open(struct prompt_history *h, const char *path,
			const struct mask *mask, struct error *err)
{
	*h = (struct prompt_history){ .path = xstrdup(path), .mask = mask };
	h->draft = BUF_INIT(SIZE_MAX);
	h->filter = BUF_INIT(SIZE_MAX);
	if (!path || (access(path, F_OK) < 0 && errno == ENOENT))
		return 0;
	return load(h, err);
}

static bool is_secret(const struct prompt_history *h, struct str text)
{
	struct buf masked = BUF_INIT(SIZE_MAX);
	bool differs;

	mask_text(h->mask, text, &masked);
	differs = !str_eq(buf_str(&masked), text);
	buf_wipe(&masked);
	return differs;
}

static void add_line(struct buf *out, struct str text)
{
	if (text.len > PROMPT_HISTORY_TEXT) {
		text.len = PROMPT_HISTORY_TEXT;
		while (((unsigned char)text.ptr[text.len] & 0xC0) == 0x80)
			text.len--;
	}
	json_quote(out, text);
	buf_addc(out, '\n');
}

/* One write() of a whole line; the last one may have been cut by a crash. */
static int append(const char *path, struct str text, struct error *err)
{
	struct buf line = BUF_INIT(SIZE_MAX);
	int fd = open_file(path, O_RDWR | O_APPEND | O_CREAT, err);
	off_t size;
	char last = '\n';
	ssize_t put;

	if (fd < 0)
		return -1;
	size = lseek(fd, 0, SEEK_END);
	if (size > 0 && io_pread(fd, &last, 1, size - 1) == 1 && last != '\n')
		buf_addc(&line, '\n');
	add_line(&line, text);
	put = io_write(fd, line.ptr, line.len);
	/* Made by others with more rights than it should have. */
	if (fchmod(fd, 0600) < 0)
		put = -1;
	close(fd);
	buf_release(&line);
	return put < 0 ? error_errno(err, "cannot write %s", path) : 0;
}

/* Replaces the file by its newest prompts, those of other processes too. */
static int compact(struct prompt_history *h, struct error *err)
{
	struct prompt_history *fresh = xcalloc(1, sizeof(*fresh));
	struct buf all = BUF_INIT(SIZE_MAX);
	int rc = prompt_history_open(fresh, h->path, NULL, err);

	if (!rc && fresh->lines >= PROMPT_HISTORY_COMPACT) {
		for (size_t i = 0; i < fresh->n; i++)
			add_line(&all, item(fresh, i));
		rc = path_write(h->path, buf_str(&all), 0600, err);
		fresh->lines = fresh->n;
	}
	h->lines = fresh->lines;
	prompt_history_release(fresh);
	free(fresh);
	buf_release(&all);
	return rc;
}

/* Under the lock nothing that another process adds is lost; one that waits too
 * long for it only appends. */
static int store(struct prompt_history *h, struct str text, struct error *err)
{
	struct stop stop = stop_cleanup(LOCK_WAIT_MS);
	struct error busy = { 0 };
	char *name = xasprintf("%s.lock", h->path);
	const char *slash = strrchr(h->path, '/');
	char *folder = xstrndup(h->path, slash ? (size_t)(slash - h->path) : 0);
	int made = slash ? path_mkdirs(folder, 0700, &busy) : 0;
	int lock = made < 0 ? -1 : path_lock(name, &stop, &busy);
	int rc = append(h->path, text, err);

	free(name);
	free(folder);
	h->lines++;
	if (!rc && lock >= 0 && h->lines >= PROMPT_HISTORY_COMPACT)
		rc = compact(h, err);
	if (lock >= 0)
		close(lock);
	return rc;
}

int prompt_history_add(struct prompt_history *h, struct str prompt,
		       struct error *err)
{
	bool again = h->n && str_eq(item(h, h->n - 1), prompt);

	h->at = h->n;
	if (!str_trim(prompt).len || again ||
	    (str_starts(prompt, "/") && !str_starts(prompt, "/skill:")))
		return 0;
	remember(h, prompt);
	if (!h->path || is_secret(h, prompt))
		return 0;
	return store(h, prompt, err);
}

/* Begins anew when the draft is not what was shown last. */
static void keep_draft(struct prompt_history *h, struct str draft)
{
	if (h->at < h->n && str_eq(draft, item(h, h->at)))
		return;
	h->at = h->n;
	buf_clear(&h->draft);
	buf_addstr(&h->draft, draft);
	buf_clear(&h->filter);
	buf_addstr(&h->filter, str_trim(draft));
}

static bool matches(const struct prompt_history *h, size_t i)
{
	struct str filter = buf_str(&h->filter);

	return !filter.len || str_search(item(h, i), filter) < item(h, i).len;
}

bool prompt_history_older(struct prompt_history *h, struct str draft,
			  struct str *text)
{
	keep_draft(h, draft);
	for (size_t i = h->at; i-- > 0;) {
		if (!matches(h, i) || str_eq(item(h, i), draft))
			continue;
		h->at = i;
		*text = item(h, i);
		return true;
	}
	return false;
}

bool prompt_history_newer(struct prompt_history *h, struct str draft,
			  struct str *text)
{
	keep_draft(h, draft);
	if (h->at == h->n)
		return false;
	for (size_t i = h->at + 1; i < h->n; i++) {
		if (!matches(h, i) || str_eq(item(h, i), draft))
			continue;
		h->at = i;
		*text = item(h, i);
		return true;
	}
	h->at = h->n;
	*text = buf_str(&h->draft);
	return true;
}

void prompt_history_release(struct prompt_history *h)
{
	for (size_t i = 0; i < h->n; i++)
		buf_release(&h->items[i]);
	buf_release(&h->draft);
	buf_release(&h->filter);
	free(h->path);
	*h = (struct prompt_history){ 0 };
}

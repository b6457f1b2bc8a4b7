/* prompt_history.c - the prompts of this and earlier sessions, and Ctrl+R. */
/* SPDX-License-Identifier: MIT */
#include "editor/prompt_history.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/stop.h"
#include "base/str.h"
#include "term/rows.h"

enum { LOCK_WAIT_MS = 500 };

static struct str item_text(const struct prompt_history *h, size_t i)
{
	return buf_str(&h->items[i]);
}

/* Adds a prompt in memory and drops the oldest one if there are too many. */
static void append_item(struct prompt_history *h, struct str text)
{
	if (h->n && str_eq(item_text(h, h->n - 1), text))
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
			append_item(h, text);
		cJSON_Delete(json);
	}
	return lines;
}

static int load_prompts(struct prompt_history *h, struct error *err)
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
	return load_prompts(h, err);
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

/* Appends a complete line with one write(). If a crash cut the file's last
 * line, adds its missing line end first. */
static int append_line(const char *path, struct str text, struct error *err)
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
	/* Another program may have created it with wider permissions. */
	if (fchmod(fd, 0600) < 0)
		put = -1;
	close(fd);
	buf_release(&line);
	return put < 0 ? error_errno(err, "cannot write %s", path) : 0;
}

/* Rewrites the file with its newest prompts, including those of other
 * processes. */
static int compact_file(struct prompt_history *h, struct error *err)
{
	struct prompt_history *fresh = xcalloc(1, sizeof(*fresh));
	struct buf all = BUF_INIT(SIZE_MAX);
	int rc = prompt_history_open(fresh, h->path, NULL, err);

	if (!rc && fresh->lines >= PROMPT_HISTORY_COMPACT) {
		for (size_t i = 0; i < fresh->n; i++)
			add_line(&all, item_text(fresh, i));
		rc = path_write(h->path, buf_str(&all), 0600, err);
		fresh->lines = fresh->n;
	}
	h->lines = fresh->lines;
	prompt_history_release(fresh);
	free(fresh);
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
	char *name = xasprintf("%s.lock", h->path);
	const char *slash = strrchr(h->path, '/');
	char *folder = xstrndup(h->path, slash ? (size_t)(slash - h->path) : 0);
	int made = slash ? path_mkdirs(folder, 0700, &busy) : 0;
	int lock = made < 0 ? -1 : path_lock(name, &stop, &busy);
	int rc = append_line(h->path, text, err);

	free(name);
	free(folder);
	h->lines++;
	if (!rc && lock >= 0 && h->lines >= PROMPT_HISTORY_COMPACT)
		rc = compact_file(h, err);
	if (lock >= 0)
		close(lock);
	return rc;
}

int prompt_history_add(struct prompt_history *h, struct str prompt,
		       struct error *err)
{
	bool again = h->n && str_eq(item_text(h, h->n - 1), prompt);

	h->at = h->n;
	if (!str_trim(prompt).len || again ||
	    (str_starts(prompt, "/") && !str_starts(prompt, "/skill:")))
		return 0;
	append_item(h, prompt);
	if (!h->path || mask_holds(h->mask, prompt))
		return 0;
	return store_prompt(h, prompt, err);
}

/* Saves the draft and moves back to it. Does nothing if the draft is the stored
 * prompt that was shown last, unedited. */
static void store_draft(struct prompt_history *h, struct str draft)
{
	if (h->at < h->n && str_eq(draft, item_text(h, h->at)))
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
	       str_search(item_text(h, i), filter) < item_text(h, i).len;
}

bool prompt_history_older(struct prompt_history *h, struct str draft,
			  struct str *text)
{
	store_draft(h, draft);
	for (size_t i = h->at; i-- > 0;) {
		if (!has_filter(h, i) || str_eq(item_text(h, i), draft))
			continue;
		h->at = i;
		*text = item_text(h, i);
		return true;
	}
	return false;
}

bool prompt_history_newer(struct prompt_history *h, struct str draft,
			  struct str *text)
{
	store_draft(h, draft);
	if (h->at == h->n)
		return false;
	for (size_t i = h->at + 1; i < h->n; i++) {
		if (!has_filter(h, i) || str_eq(item_text(h, i), draft))
			continue;
		h->at = i;
		*text = item_text(h, i);
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

enum { MOST_QUERY = 256 }; /* bytes */

static bool has_capitals(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (isupper((unsigned char)s.ptr[i]))
			return true;
	return false;
}

static bool starts_with(struct str s, struct str query, bool exact)
{
	if (s.len < query.len)
		return false;
	return exact ? memcmp(s.ptr, query.ptr, query.len) == 0
		     : strncasecmp(s.ptr, query.ptr, query.len) == 0;
}

/* Returns the position of the query in a prompt, or the prompt's length. */
static size_t find_query(const struct history_search *s, struct str text)
{
	struct str query = buf_str(&s->query);
	bool exact = has_capitals(query);

	if (!query.len)
		return 0;
	for (size_t at = 0; at < text.len; at++)
		if (starts_with(str_skip(text, at), query, exact))
			return at;
	return text.len;
}

static struct str searched_item(const struct history_search *s, size_t i)
{
	return buf_str(&s->history->items[i]);
}

/* Shows prompt i with the caret at the query. */
static void show_item(struct history_search *s, size_t i)
{
	struct str text = searched_item(s, i);
	size_t at = find_query(s, text);

	s->at = i;
	s->failed = false;
	editor_reset(&s->view);
	editor_set(&s->view, text);
	if (pastes_is_clean(text)) /* otherwise it is shown as a marker */
		s->view.caret = at;
}

static bool shows_same(const struct history_search *s, size_t i)
{
	return s->at < s->history->n &&
	       str_eq(searched_item(s, i), searched_item(s, s->at));
}

static bool has_query(const struct history_search *s, size_t i)
{
	return find_query(s, searched_item(s, i)) < searched_item(s, i).len;
}

/* Shows the newest prompt before `before` that contains the query. */
static void find_older(struct history_search *s, size_t before, bool other)
{
	for (size_t i = before; i-- > 0;) {
		if (!has_query(s, i) || (other && shows_same(s, i)))
			continue;
		show_item(s, i);
		return;
	}
	s->failed = true;
}

static void find_newer(struct history_search *s)
{
	for (size_t i = s->at + 1; i < s->history->n; i++) {
		if (!has_query(s, i) || shows_same(s, i))
			continue;
		show_item(s, i);
		return;
	}
	s->failed = true;
}

void history_search_begin(struct history_search *s,
			  const struct prompt_history *history)
{
	struct buf last = s->query;

	buf_release(&s->last);
	s->last = last;
	s->query = BUF_INIT(MOST_QUERY);
	s->history = history;
	s->on = true;
	s->at = history->n;
	s->failed = false;
	editor_reset(&s->view);
	find_older(s, history->n, false);
}

/* Appends typed or pasted text to the query, up to its first line end. */
static void add_text(struct history_search *s, struct str text)
{
	text.len = str_find(text, '\n');
	if (s->query.len + text.len > MOST_QUERY - 1 || !str_is_utf8(text))
		return;
	buf_addstr(&s->query, text);
	if (s->at < s->history->n && has_query(s, s->at))
		show_item(s, s->at);
	else
		find_older(s, s->at, false);
}

static void drop_last(struct history_search *s)
{
	size_t len = s->query.len;

	while (len && ((unsigned char)s->query.ptr[len - 1] & 0xC0) == 0x80)
		len--;
	s->query.len = len ? len - 1 : 0;
	s->at = s->history->n;
	find_older(s, s->at, false);
}

/* Ctrl+R again: searches further back. With an empty query, repeats the last
 * query. */
static void search_older(struct history_search *s)
{
	if (!s->query.len && s->last.len) {
		add_text(s, buf_str(&s->last));
		return;
	}
	find_older(s, s->at, true);
}

/* Handles a key that is not text. */
static enum history_search_result on_key(struct history_search *s,
					 struct key key)
{
	bool ctrl = key.name == KEY_CHAR && key.mods == KEY_CTRL;

	if (ctrl && key.c == 'r')
		search_older(s);
	else if (ctrl && key.c == 's')
		find_newer(s);
	else if (key.name == KEY_BACKSPACE || (ctrl && key.c == 'h'))
		drop_last(s);
	else if (key.name == KEY_ESCAPE ||
		 (ctrl && (key.c == 'g' || key.c == 'c')))
		return HISTORY_SEARCH_CANCELLED;
	else if (key.name == KEY_ENTER || key.name == KEY_TAB)
		return HISTORY_SEARCH_TAKEN;
	else
		return HISTORY_SEARCH_LEFT;
	return HISTORY_SEARCH_GOES_ON;
}

enum history_search_result history_search_event(struct history_search *s,
						const struct key_event *event)
{
	enum history_search_result result = HISTORY_SEARCH_GOES_ON;

	if (event->kind == KEY_EVENT_KEY)
		result = on_key(s, event->key);
	else if (event->kind == KEY_EVENT_TEXT ||
		 event->kind == KEY_EVENT_PASTE)
		add_text(s, event->text);
	s->on = result == HISTORY_SEARCH_GOES_ON;
	return result;
}

bool history_search_text(const struct history_search *s, struct str *text)
{
	if (s->at >= s->history->n)
		return false;
	*text = searched_item(s, s->at);
	return true;
}

void history_search_render(struct history_search *s, size_t columns,
			   size_t max_rows, struct rows *rows,
			   size_t *caret_row, size_t *caret_column)
{
	const struct style style = { 0, s->failed ? STYLE_WARN : STYLE_MUTED };
	struct str label =
		s->failed ? STR("No such prompt: ") : STR("History: ");
	struct str query = buf_str(&s->query);
	size_t row;
	size_t column;

	/* If the query is too long, show its end, where the caret is. */
	label.len = width_prefix(label, columns / 2);
	while (query.len &&
	       width_cells(label) + width_cells(query) + 1 > columns)
		query = str_skip(query, width_next(query, &column));
	rows_add(rows, style, label);
	rows_add(rows, (struct style){ 0, STYLE_PLAIN }, query);
	rows_end(rows);
	*caret_row = 0;
	*caret_column = width_cells(label) + width_cells(query);
	if (max_rows > 1 && s->at < s->history->n)
		editor_render(&s->view, columns, max_rows - 1, rows, &row,
			      &column);
}

void history_search_release(struct history_search *s)
{
	buf_release(&s->query);
	buf_release(&s->last);
	editor_release(&s->view);
	*s = (struct history_search){ 0 };
}

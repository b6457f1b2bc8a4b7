/* history_text.c - converts messages to text for a summary, a file or the
 * model. */
/* SPDX-License-Identifier: MIT */
/*
 * history_text_add() converts messages to text for a summary,
 * history_text_save() to the same text for a file of the user, and
 * history_text_recall() for the model, which pages through it with the
 * read_history tool.
 */
#include "agent/history_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "session/history.h"
#include "session/thread.h"
#include "tool/todos.h"

/* estimated bytes that a vendor's JSON adds to each part of a message */
enum { PART_BYTES = 80 };

/* Appends text. Of more than `most` bytes, appends the beginning and the end,
 * with a line between them that has the number of omitted bytes and note. */
static void shorten_text(struct str text, size_t most, const char *note,
			 struct buf *out)
{
	struct str head = { text.ptr, most * 2 / 3 };
	size_t tail = text.len - most / 3;

	if (!most || text.len <= most) {
		buf_addstr(out, text);
		return;
	}
	while (head.len && ((unsigned char)text.ptr[head.len] & 0xC0) == 0x80)
		head.len--;
	while (tail < text.len &&
	       ((unsigned char)text.ptr[tail] & 0xC0) == 0x80)
		tail++;
	buf_addstr(out, head);
	buf_addf(out, "\n[... %zu bytes %s ...]\n", tail - head.len, note);
	buf_addstr(out, str_skip(text, tail));
}

void history_text_shorten(struct str text, size_t most, struct buf *out)
{
	shorten_text(text, most, "are left out; read_history shows the whole",
		     out);
}

void history_text_shorten_summary(struct str text, size_t most, struct buf *out)
{
	shorten_text(text, most, "of the summary are left out", out);
}

static const char *title_of(const struct message *m)
{
	if (m->role == ROLE_USER)
		return m->summary ? "summary" : "user";
	return m->role == ROLE_ASSISTANT ? "answer" : "results";
}

/* Appends one part as text. Thinking is left out. */
static void add_part(const struct part *p, size_t most, struct buf *out)
{
	if (p->kind == PART_TOOL_CALL) {
		buf_addf(out, "call of %s: ", p->name ? p->name : "?");
		history_text_shorten(str_of(p->args), most, out);
	} else if (p->kind == PART_TOOL_RESULT) {
		buf_addf(out, "result of %s%s:\n", p->name ? p->name : "?",
			 p->failed ? " (failed)" : "");
		history_text_shorten(str_of(p->text), most, out);
	} else if (p->kind == PART_TEXT || p->kind == PART_MEDIA) {
		buf_adds(out, p->text ? p->text : "");
	} else {
		return;
	}
	buf_addc(out, '\n');
}

void history_text_add(const struct message *m, size_t number, size_t most,
		      struct buf *out)
{
	if (number)
		buf_addf(out, "## %zu %s\n", number, title_of(m));
	else
		buf_addf(out, "## %s\n", title_of(m));
	for (size_t i = 0; i < m->n; i++)
		add_part(&m->parts[i], most, out);
	buf_addc(out, '\n');
}

size_t history_text_size(const struct message *m, const struct model *model)
{
	size_t n = PART_BYTES;

	for (size_t i = 0; i < m->n; i++) {
		const struct part *p = &m->parts[i];

		if (p->kind == PART_MEDIA)
			n += model_media_weight(model, p);
		n += PART_BYTES + str_of(p->text).len + str_of(p->id).len +
		     str_of(p->name).len + str_of(p->args).len +
		     str_of(p->replay).len;
	}
	return n;
}

/* Shortens an owned text in place. True if it was shortened. */
static bool trim_text(char **text, size_t most)
{
	struct buf out = BUF_INIT(SIZE_MAX / 2);

	if (str_of(*text).len <= most + PART_BYTES)
		return false;
	history_text_shorten(str_of(*text), most, &out);
	free(*text);
	*text = buf_detach(&out);
	return true;
}

/* Shortens the strings in a call's arguments. Not in a call that the vendor has
 * signed (its `replay` must be sent back unchanged), nor in write_todos. */
static bool trim_args(struct part *p, size_t most)
{
	struct buf out = BUF_INIT(SIZE_MAX / 2);
	cJSON *args;
	cJSON *item;
	bool any = false;

	if (p->replay || p->bad_args || str_is(str_of(p->name), TODOS_TOOL) ||
	    str_of(p->args).len <= most + PART_BYTES)
		return false;
	args = json_parse(str_of(p->args));
	cJSON_ArrayForEach (item, args) {
		char *text;

		if (!cJSON_IsString(item))
			continue;
		text = xstrdup(item->valuestring);
		if (trim_text(&text, most)) {
			(void)cJSON_SetValuestring(item, text);
			any = true;
		}
		free(text);
	}
	if (any) {
		json_print(&out, args);
		free(p->args);
		p->args = buf_detach(&out);
	}
	cJSON_Delete(args);
	return any;
}

bool history_text_trim(struct message *m, size_t most)
{
	bool any = false;

	for (size_t i = 0; i < m->n; i++) {
		struct part *p = &m->parts[i];

		if (p->kind == PART_TOOL_RESULT)
			any |= trim_text(&p->text, most);
		else if (p->kind == PART_TOOL_CALL)
			any |= trim_args(p, most);
	}
	return any;
}

enum { WRITE_AT = 1 << 20 };

struct file {
	int fd;
	size_t number;
	struct buf text;
	int failed; /* errno */
};

static void flush_file(struct file *f)
{
	struct str rest;

	for (rest = buf_str(&f->text); rest.len && !f->failed;) {
		ssize_t n = write(f->fd, rest.ptr, rest.len);

		if (n >= 0)
			rest = str_skip(rest, (size_t)n);
		else if (errno != EINTR)
			f->failed = errno;
	}
	buf_clear(&f->text);
}

/* Callback of thread_export(). False: do not read more messages. */
static bool write_message(void *arg, struct thread_message *m)
{
	struct file *f = arg;

	f->number++;
	if (!m->damaged)
		history_text_add(&m->message, f->number, 0, &f->text);
	if (f->text.len > WRITE_AT)
		flush_file(f);
	return !f->failed;
}

/* Opens the file for appending. *empty: whether it is empty. */
static int open_file(const char *path, bool *empty, struct error *err)
{
	int fd = open(path,
		      O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		      0600);

	if (fd < 0)
		return error_errno(err, "opening %s", path);
	*empty = lseek(fd, 0, SEEK_END) == 0;
	return fd;
}

/* Appends the messages that were stored since the last compaction (after number
 * c->after) to the file, or all messages if the file is empty. */
static int write_messages(struct agent *a, const struct conversation *c, int fd,
			  bool empty, struct error *err)
{
	struct file f = { .fd = fd,
			  .number = empty ? 0 : c->after,
			  .text = BUF_INIT(SIZE_MAX / 2) };
	int64_t no;
	struct store *store = session_store(a->session, &no);
	const struct thread_export of = { .no = no,
					  .skip = (int64_t)f.number,
					  .mask = a->mask,
					  .each = write_message,
					  .arg = &f };
	int rc = thread_export(store, &of, err);

	flush_file(&f);
	buf_release(&f.text);
	errno = f.failed;
	if (rc == 0 && f.failed)
		rc = error_errno(err, "writing");
	return rc;
}

int history_text_save(struct agent *a, const struct conversation *c,
		      struct error *err)
{
	char *name;
	char *path;
	bool empty = true;
	int rc;
	int fd = -1;

	if (!a->history_dir || !a->thread)
		return 0;
	name = xasprintf("%s.md", a->thread);
	path = path_join(a->history_dir, name);
	rc = path_mkdirs(a->history_dir, 0700, err);
	if (rc == 0)
		rc = fd = open_file(path, &empty, err);
	if (fd >= 0)
		rc = write_messages(a, c, fd, empty, err);
	if (fd >= 0)
		close(fd);
	free(path);
	free(name);
	return rc < 0 ? -1 : 0;
}

enum {
	/* bytes of one result of read_history: it takes room in the window
	 * too */
	MOST_BYTES = 24000,
	MOST_MESSAGES = 500,
	AROUND = 200, /* bytes shown before and after a match */
	MAX_TEXT = 256 << 20,
};

struct recall {
	const struct tool_recall *what;
	struct buf *out;
	struct buf text; /* the current message as text */
	int64_t number, shown;
	/* number of the message where the next call must continue; 0: nothing
	 * is left */
	int64_t next;
	/* how many bytes of that message the next call must skip */
	size_t skip;
};

/* Returns the index of the first needle, ignoring ASCII case, or s.len. */
static size_t find_needle(struct str s, struct str needle)
{
	for (size_t i = 0; i + needle.len <= s.len; i++)
		if (strncasecmp(s.ptr + i, needle.ptr, needle.len) == 0)
			return i;
	return s.len;
}

/* True if s[at] is in the middle of an UTF-8 character. */
static bool is_inside_char(struct str s, size_t at)
{
	return at < s.len && ((unsigned char)s.ptr[at] & 0xC0) == 0x80;
}

/* Returns a match with AROUND bytes on both sides, without splitting UTF-8
 * characters. */
static struct str slice_match(struct str s, size_t at, size_t len)
{
	size_t from = at > AROUND ? at - AROUND : 0;
	size_t to = at + len + AROUND < s.len ? at + len + AROUND : s.len;

	while (is_inside_char(s, from))
		from--;
	while (is_inside_char(s, to))
		to++;
	return (struct str){ s.ptr + from, to - from };
}

/* Makes the next call continue in the current message, after `skip` bytes. */
static void stop_at(struct recall *r, size_t skip)
{
	r->next = r->number;
	r->skip = skip;
}

/* Appends the first match in the current message, if there is one. False if
 * there is no room for it. */
static bool add_found(struct recall *r, struct str needle)
{
	struct str text = buf_str(&r->text);
	size_t at = find_needle(text, needle);
	struct str part;

	if (at == text.len)
		return true;
	part = slice_match(text, at, needle.len);
	if (r->out->len + part.len > MOST_BYTES) {
		stop_at(r, 0);
		return false;
	}
	buf_addf(r->out, "-- message %" PRId64 ":\n", r->number);
	buf_addstr(r->out, part);
	buf_addc(r->out, '\n');
	r->shown++;
	return true;
}

/* Appends the current message, or as much of it as fits. False if it did not
 * fit completely. */
static bool add_whole(struct recall *r)
{
	struct str text = buf_str(&r->text);
	size_t skip = r->shown ? 0 : (size_t)r->what->skip;
	size_t room = MOST_BYTES - r->out->len;
	size_t end;

	while (is_inside_char(text, skip))
		skip--;
	text = str_skip(text, skip);
	if (text.len <= room) {
		buf_addstr(r->out, text);
		r->shown++;
		return true;
	}
	if (r->shown) {
		stop_at(r, 0);
		return false;
	}
	end = room;
	while (end && is_inside_char(text, end))
		end--;
	buf_add(r->out, text.ptr, end);
	buf_addc(r->out, '\n');
	r->shown++;
	stop_at(r, skip + end);
	return false;
}

/* Callback that appends one message to the result. False to stop: no room is
 * left, or the limit is reached. */
static bool show_message(void *arg, struct thread_message *m)
{
	struct recall *r = arg;
	struct str needle = str_of(r->what->pattern);

	r->number++;
	if (m->damaged)
		return true;
	if (r->shown >= r->what->limit || r->shown >= MOST_MESSAGES) {
		stop_at(r, 0);
		return false;
	}
	buf_clear(&r->text);
	history_text_add(&m->message, (size_t)r->number, 0, &r->text);
	return needle.len ? add_found(r, needle) : add_whole(r);
}

/* Appends how to continue. Fails if no message was shown. */
static int end_recall(struct recall *r, struct error *err)
{
	if (!r->shown) {
		buf_adds(r->out, r->what->pattern && r->what->pattern[0]
					 ? "No match in the messages from this "
					   "offset on."
					 : "Unknown message.");
		return error_set(err, ERR_NOT_FOUND, "unknown message");
	}
	if (r->next) {
		buf_addf(r->out, "[Continue with offset=%" PRId64, r->next);
		if (r->skip)
			buf_addf(r->out, ", skip=%zu", r->skip);
		buf_adds(r->out, "]\n");
	}
	return 0;
}

int history_text_recall(struct agent *a, const struct tool_recall *what,
			struct buf *out, struct error *err)
{
	struct recall r = { .what = what,
			    .out = out,
			    .text = BUF_INIT(MAX_TEXT),
			    .number = what->from - 1 };
	struct store *store;
	int64_t no = 0;
	int rc;

	store = a->session ? session_store(a->session, &no) : NULL;
	if (!no || what->skip < 0)
		return error_set(err, ERR_USAGE,
				 no ? "Error: skip is negative"
				    : "Error: this conversation is not stored");
	rc = thread_each_message_from(store, no, r.number, show_message, &r,
				      err);
	buf_release(&r.text);
	return rc < 0 ? -1 : end_recall(&r, err);
}

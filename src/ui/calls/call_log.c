/* call_log.c - the finished tool calls of this process, with their output. */
/* SPDX-License-Identifier: MIT */
#include "ui/calls/call_log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "tool/result.h"
#include "ui/summary.h"

void call_record_describe(struct call_record *r, const struct agent_event *end)
{
	struct buf line = BUF_INIT(TOOL_RESULT_BYTES);
	struct buf title = BUF_INIT(2 * TOOL_RESULT_BYTES);
	struct buf state = BUF_INIT(TOOL_RESULT_BYTES);

	summary_of_call(&r->call, &line);
	sanitize_line(buf_str(&line), &title);
	if (end)
		summary_state(end, &state);
	else
		buf_adds(&state, "runs");
	free(r->title);
	r->title = xstrndup(title.len ? title.ptr : "", title.len);
	r->lines = str_count_lines(buf_str(&r->output));
	snprintf(r->state, sizeof(r->state), "%s", state.ptr);
	if (end && end->replayed)
		r->ms = -1; /* the time of an earlier call is not stored */
	else if (end && end->ran_ms > 0)
		r->ms = end->ran_ms;
	buf_release(&line);
	buf_release(&title);
	buf_release(&state);
}

void call_record_release(struct call_record *r)
{
	free(r->call.id);
	free(r->call.name);
	free(r->call.args);
	free(r->title);
	buf_release(&r->output);
	tool_change_release(&r->change);
	*r = (struct call_record){ 0 };
}

/* Opens a file without a name: nothing stays behind, even after a kill. */
static int open_file(void)
{
	const char *dir = getenv("TMPDIR");
	char name[4096];
	int fd;

	dir = dir && dir[0] == '/' ? dir : "/tmp";
	fd = open(dir, O_RDWR | O_TMPFILE | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	if (snprintf(name, sizeof(name), "%s/dcode-XXXXXX", dir) >=
	    (int)sizeof(name))
		return -1;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(name);
	return fd;
}

static void read_at(int fd, off_t at, size_t len, struct buf *out)
{
	char piece[64 << 10];

	while (len && fd >= 0) {
		size_t most = len < sizeof(piece) ? len : sizeof(piece);
		ssize_t n = io_pread_all(fd, piece, most, at);

		if (n <= 0)
			return;
		buf_add(out, piece, (size_t)n);
		at += n;
		len -= (size_t)n;
	}
}

static void release_entry(struct call_entry *e)
{
	free(e->id);
	free(e->name);
	free(e->title);
}

/* Makes room for one more entry. */
static struct call_entry *new_entry(struct call_log *log)
{
	if (!log->list)
		log->list = xcalloc(CALL_LOG_MOST, sizeof(*log->list));
	if (log->n == CALL_LOG_MOST) {
		release_entry(&log->list[0]);
		memmove(log->list, log->list + 1,
			--log->n * sizeof(*log->list));
	}
	return &log->list[log->n++];
}

/* Writes the texts, of which the entry has the lengths. */
static bool write_texts(struct call_log *log, const struct call_record *r,
			struct call_entry *e)
{
	const struct str texts[] = { str_of(r->call.args ? r->call.args : ""),
				     buf_str(&r->output),
				     buf_str(&r->change.before),
				     buf_str(&r->change.after) };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if (texts[i].len && io_pwrite_all(log->fd, texts[i].ptr,
						  texts[i].len, log->end) < 0)
			return false;
		log->end += (off_t)texts[i].len;
	}
	e->args = r->call.args ? texts[0].len : SIZE_MAX;
	e->output = texts[1].len;
	e->before = r->change.known ? texts[2].len : SIZE_MAX;
	e->after = texts[3].len;
	return true;
}

void call_log_add(struct call_log *log, const struct call_record *r)
{
	struct call_entry *e = new_entry(log);
	off_t at = log->end;

	*e = (struct call_entry){ .id = xstrdup(r->call.id ? r->call.id : ""),
				  .name = xstrdup(r->call.name ? r->call.name
							       : "?"),
				  .title = xstrdup(r->title ? r->title : ""),
				  .lines = r->lines,
				  .ms = r->ms,
				  .at = at,
				  .args = SIZE_MAX,
				  .before = SIZE_MAX,
				  .cut = r->cut,
				  .bad_args = r->call.bad_args };
	memcpy(e->state, r->state, sizeof(e->state));
	if (log->fd < 0)
		log->fd = open_file();
	if (log->fd >= 0 && log->end < CALL_LOG_BYTES && write_texts(log, r, e))
		return;
	log->end = at;
	e->cut += r->output.len;
}

void call_log_read(const struct call_log *log, const struct call_entry *e,
		   struct call_record *out)
{
	struct buf text = BUF_INIT(SIZE_MAX / 4);
	struct buf after = BUF_INIT(SIZE_MAX / 4);
	off_t at = e->at;

	*out = (struct call_record){ .call = { .kind = PART_TOOL_CALL,
					       .id = xstrdup(e->id),
					       .name = xstrdup(e->name),
					       .bad_args = e->bad_args },
				     .output = BUF_INIT(SIZE_MAX / 4),
				     .cut = e->cut,
				     .title = xstrdup(e->title),
				     .lines = e->lines,
				     .ms = e->ms };
	memcpy(out->state, e->state, sizeof(out->state));
	if (e->args != SIZE_MAX) {
		read_at(log->fd, at, e->args, &text);
		at += (off_t)e->args;
		out->call.args = xstrndup(text.len ? text.ptr : "", text.len);
	}
	read_at(log->fd, at, e->output, &out->output);
	at += (off_t)e->output;
	if (e->before != SIZE_MAX) {
		buf_clear(&text);
		read_at(log->fd, at, e->before, &text);
		read_at(log->fd, at + (off_t)e->before, e->after, &after);
		tool_change_set(&out->change, buf_str(&text), buf_str(&after));
	}
	buf_release(&text);
	buf_release(&after);
}

void call_log_clear(struct call_log *log)
{
	for (size_t i = 0; i < log->n; i++)
		release_entry(&log->list[i]);
	free(log->list);
	if (log->fd >= 0)
		close(log->fd);
	*log = (struct call_log){ .fd = -1 };
}

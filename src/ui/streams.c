/* streams.c - agent events on stdout and stderr: as text, or as JSON lines. */
/* SPDX-License-Identifier: MIT */
/*
 * The first part writes to streams that may have no reader. The rest are two
 * consumers of events: begin at events_event() for --json, at plain_event() for
 * text.
 */
#include "ui/streams.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/str.h"
#include "model/money.h"
#include "term/rows.h"
#include "term/theme.h"
#include "tool/todos.h"
#include "ui/summary.h"

enum { GRACE_MS = 1000 };

/* Waits until fd is writable. Returns 1 then, 0 after an interruption, -1 with
 * errno. */
static int wait_room(int fd, const struct stop *stop)
{
	struct error ignored = { 0 };
	bool ended = stop && stop_check(stop, &ignored) < 0;
	struct pollfd p[2] = {
		{ .fd = fd, .events = POLLOUT },
		{ .fd = stop && !ended ? stop_fd(stop) : -1, .events = POLLIN },
	};
	int ms = stop && !ended ? stop_poll_ms(stop, -1) : -1;
	int n = poll(p, 2, ended ? GRACE_MS : ms);

	if (n < 0)
		return errno == EINTR ? 0 : -1;
	if (p[0].revents)
		return 1;
	if (!ended)
		return 0;
	errno = ECANCELED;
	return -1;
}

int output_write(int fd, struct str data, const struct stop *stop)
{
	while (data.len) {
		/* A writable pipe accepts PIPE_BUF bytes without blocking. */
		size_t most = data.len < PIPE_BUF ? data.len : PIPE_BUF;
		int rc = wait_room(fd, stop);
		ssize_t n;

		if (rc < 0)
			return -1;
		if (rc == 0)
			continue;
		n = write(fd, data.ptr, most);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -1;
		if (n > 0)
			data = str_skip(data, (size_t)n);
	}
	return 0;
}

/* A piece of this size without a line end may be only the first part of what
 * one call prints, and a secret may continue in the next piece. So bytes at its
 * end that may begin a secret are held back. A shorter piece, such as a prompt,
 * is written at once. */
enum { SPLIT_MIN = 4096 };

/* Writes to the real stderr, unless its reader has gone away. */
static void write_stderr(struct output_guard *g, struct str data)
{
	if (!g->given_up && output_write(STDERR_FILENO, data, g->stop) < 0)
		g->given_up = true;
}

/* Removes the status line, in which the cursor is. */
static void erase_status(struct output_guard *g)
{
	if (g->status_shown)
		write_stderr(g, STR("\r\x1b[K"));
	g->status_shown = false;
}

/* Ends an unfinished line of the answer or of a tool's output before data is
 * written after it. tool: data is output of a tool, so it may continue the line
 * of a tool. */
static void end_other_lines(struct output_guard *g, bool tool, struct str data)
{
	bool answer = g->shared && g->answer_open;

	if ((answer || (g->tool_open && !tool)) && data.ptr[0] != '\n')
		write_stderr(g, STR("\n"));
	if (answer)
		g->answer_open = false;
	g->tool_open = g->tool_open && tool;
}

/* Masks a piece and writes it to the real stderr, on a new line if other text
 * has left one unfinished. tool: it is output of a tool. */
static void write_piece(struct output_guard *g, bool tool, struct str piece)
{
	struct buf shown = BUF_INIT(SIZE_MAX / 4);
	struct str data;

	pthread_mutex_lock(&g->lock);
	mask_pass(*g->mask, &g->masked, piece,
		  piece.len < SPLIT_MIN || piece.ptr[piece.len - 1] == '\n',
		  &shown);
	data = buf_str(&shown);
	erase_status(g);
	if (data.len) {
		end_other_lines(g, tool, data);
		write_stderr(g, data);
		*(tool ? &g->tool_open : &g->note_open) =
			data.ptr[data.len - 1] != '\n';
	}
	pthread_mutex_unlock(&g->lock);
	buf_release(&shown);
}

/* The write function of stderr (fopencookie(3)). */
static ssize_t write_guarded(void *cookie, const char *text, size_t len)
{
	write_piece(cookie, false, (struct str){ text, len });
	return (ssize_t)len;
}

/* Writes a piece of the answer to stdout. Returns the same values as
 * output_write(). */
static int write_answer(struct output_guard *g, struct str data,
			const struct stop *stop)
{
	int rc;

	/* A slow reader of another file must not block stderr. */
	if (g->shared) {
		pthread_mutex_lock(&g->lock);
		erase_status(g);
		if (g->tool_open)
			write_stderr(g, STR("\n"));
		g->tool_open = false;
	}
	rc = output_write(STDOUT_FILENO, data, stop);
	g->answer_open = data.ptr[data.len - 1] != '\n';
	if (g->shared)
		pthread_mutex_unlock(&g->lock);
	return rc;
}

/* Reads one of the fields that the lock guards. */
static bool is_open(struct output_guard *g, const bool *line)
{
	bool open;

	pthread_mutex_lock(&g->lock);
	open = *line;
	pthread_mutex_unlock(&g->lock);
	return open;
}

void output_status(struct output_guard *g, struct str line)
{
	struct buf text = BUF_INIT(1 << 12);

	pthread_mutex_lock(&g->lock);
	if (!line.len) {
		erase_status(g);
	} else if (!g->tool_open && !g->note_open &&
		   !(g->shared && g->answer_open)) {
		buf_addc(&text, '\r');
		buf_addstr(&text, line);
		buf_adds(&text, "\x1b[K");
		write_stderr(g, buf_str(&text));
		g->status_shown = true;
	}
	pthread_mutex_unlock(&g->lock);
	buf_release(&text);
}

/* Returns the width of the terminal on stderr; 0: stderr is not a terminal. */
static size_t stderr_columns(void)
{
	struct winsize size = { 0 };

	return isatty(STDERR_FILENO) &&
			       ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0
		       ? size.ws_col
		       : 0;
}

void output_line(struct str line)
{
	struct wrap w = { .columns = stderr_columns(),
			  .words = true,
			  .soft = true };
	struct buf out = BUF_INIT(SIZE_MAX / 4);
	struct rows whole = { 0 };
	struct rows rows = { 0 };

	if (w.columns && width_cells(line) > w.columns) {
		rows_add(&whole, (struct style){ 0 }, line);
		wrap_rows(&whole, &w, &rows);
		for (size_t i = 0; i < rows.n; i++) {
			buf_addstr(&out, rows_view(&rows, i).bytes);
			buf_addc(&out, '\n');
		}
	} else {
		buf_addstr(&out, line);
		buf_addc(&out, '\n');
	}
	fwrite(out.ptr, 1, out.len, stderr);
	rows_release(&whole);
	rows_release(&rows);
	buf_release(&out);
}

static bool is_shared(void)
{
	struct stat out;
	struct stat err;

	return fstat(STDOUT_FILENO, &out) == 0 &&
	       fstat(STDERR_FILENO, &err) == 0 && out.st_dev == err.st_dev &&
	       out.st_ino == err.st_ino;
}

void output_guard(struct output_guard *g, struct mask *const *mask)
{
	const cookie_io_functions_t io = { .write = write_guarded };
	FILE *guarded = fopencookie(g, "w", io);

	if (!guarded)
		abort(); /* out of memory: nothing is printed unmasked */
	*g = (struct output_guard){ .mask = mask,
				    .shared = is_shared(),
				    .lock = PTHREAD_MUTEX_INITIALIZER,
				    .plain = stderr };
	setvbuf(guarded, NULL, _IONBF, 0);
	stderr = guarded;
}

void output_obey(struct output_guard *g, const struct stop *stop)
{
	pthread_mutex_lock(&g->lock);
	g->stop = stop;
	g->given_up = false;
	pthread_mutex_unlock(&g->lock);
}

void output_release(struct output_guard *g)
{
	output_status(g, STR(""));
	fclose(stderr);
	stderr = g->plain;
}

enum { MAX_LINES = 256 << 20, JSON_WRITE_AT = 16 << 10 };

static void flush_json(struct events *e)
{
	if (!e->started)
		return; /* the start line must be written first */
	if (e->last_only && !e->ended) {
		buf_clear(&e->out);
		return;
	}
	if (!e->failed &&
	    output_write(STDOUT_FILENO, buf_str(&e->out), e->stop) < 0)
		e->failed = errno;
	buf_clear(&e->out);
}

static void start_event(struct events *e, const char *type)
{
	e->out.max = MAX_LINES;
	buf_adds(&e->out, "{\"type\":\"");
	buf_adds(&e->out, type);
	buf_addc(&e->out, '"');
}

static void add_member(struct events *e, const char *key, struct str value)
{
	buf_addc(&e->out, ',');
	json_member(&e->out, key, value);
}

static void member_or_null(struct events *e, const char *key, const char *value)
{
	if (value)
		add_member(e, key, str_of(value));
	else
		buf_addf(&e->out, ",\"%s\":null", key);
}

static void end_event(struct events *e)
{
	buf_adds(&e->out, "}\n");
}

static void write_delta(struct events *e, const char *type, struct str text)
{
	start_event(e, type);
	add_member(e, "delta", text);
	end_event(e);
	if (e->out.len > JSON_WRITE_AT)
		flush_json(e);
}

void events_start(struct events *e, const char *thread, const char *model,
		  const char *provider, const char *id)
{
	struct buf held = e->out;

	if (e->started)
		return;
	e->started = true;
	e->out = BUF_INIT(MAX_LINES);
	buf_addf(&e->out, ",\"schema_version\":%d", EVENTS_SCHEMA);
	member_or_null(e, "thread_id", thread);
	member_or_null(e, "model", model);
	buf_adds(&e->out, ",\"sandbox\":{");
	json_member(&e->out, "provider", str_of(provider ? provider : "none"));
	member_or_null(e, "id", id);
	buf_addc(&e->out, '}');
	e->start = e->out;
	e->out = BUF_INIT(MAX_LINES);
	start_event(e, "start");
	buf_addstr(&e->out, buf_str(&e->start));
	end_event(e);
	buf_addstr(&e->out, buf_str(&held));
	buf_release(&held);
	flush_json(e);
}

/* Adds the arguments as newly printed JSON, because the model's text may
 * contain line ends. */
static void add_args(struct buf *out, const struct part *call)
{
	struct str raw = str_of(call->args);
	cJSON *args = call->bad_args ? NULL : json_parse(raw);
	struct buf text = BUF_INIT(MAX_LINES);

	if (args)
		json_print(&text, args);
	if (text.len && str_is_utf8(buf_str(&text)))
		buf_addstr(out, buf_str(&text));
	else
		json_quote(out, raw);
	cJSON_Delete(args);
	buf_release(&text);
}

static void tool_call_line(struct events *e, const struct part *call)
{
	start_event(e, "tool_call");
	add_member(e, "id", str_of(call->id));
	add_member(e, "name", str_of(call->name));
	buf_adds(&e->out, ",\"args\":");
	add_args(&e->out, call);
	end_event(e);
	flush_json(e);
}

/* Writes the todo list after the result of the call that set it. */
static void todos_line(struct events *e, const struct part *call)
{
	struct todos t = { 0 };

	if (!todos_read(&t, call))
		return;
	start_event(e, "todos");
	buf_adds(&e->out, ",\"todos\":[");
	for (size_t i = 0; i < t.n; i++) {
		buf_adds(&e->out, i ? ",{" : "{");
		json_member(&e->out, "content", str_of(t.list[i].content));
		add_member(e, "status", str_of(todos_status(t.list[i].status)));
		buf_addc(&e->out, '}');
	}
	buf_addc(&e->out, ']');
	end_event(e);
	flush_json(e);
	todos_release(&t);
}

static void tool_line(struct events *e, const struct agent_event *ev)
{
	bool result = ev->kind == EVENT_TOOL_RESULT;

	start_event(e, result ? "tool_result" : "tool_output");
	add_member(e, "id", str_of(ev->call->id));
	add_member(e, result ? "content" : "delta", ev->text);
	if (result)
		buf_adds(&e->out, ev->failed ? ",\"is_error\":true"
					     : ",\"is_error\":false");
	end_event(e);
	flush_json(e);
	if (result && !ev->failed)
		todos_line(e, ev->call);
}

static void usage_line(struct events *e, const struct usage *usage)
{
	start_event(e, "usage");
	buf_adds(&e->out, ",\"usage\":");
	usage_to_json(usage, &e->out);
	end_event(e);
	flush_json(e);
}

static void compaction_line(struct events *e, const struct agent_event *ev)
{
	const struct compact_step *s = &ev->compact;

	start_event(e, "compaction");
	buf_addf(&e->out, ",\"over\":%s,\"messages\":%zu,\"tokens\":%lld",
		 s->over ? "true" : "false", s->messages, (long long)s->before);
	if (s->over) {
		buf_addf(&e->out, ",\"tokens_after\":%lld,\"summary\":%s",
			 (long long)s->after, s->excerpt ? "false" : "true");
		buf_adds(&e->out, ",\"usage\":");
		usage_to_json(ev->usage, &e->out);
	}
	end_event(e);
	flush_json(e);
}

/* Adds a subagent's event as a nested object, in the form of the agent's own
 * line without its end. */
static void add_step(struct events *e, const struct agent_event *ev)
{
	struct events inner = { .stop = e->stop }; /* never written */

	events_event(&inner, ev);
	if (inner.out.len > 1 && inner.out.len < MAX_LINES / 2) {
		buf_adds(&e->out, ",\"event\":");
		buf_add(&e->out, inner.out.ptr, inner.out.len - 1);
	}
	events_release(&inner);
}

/* Writes an event line about a subagent's state or step. */
static void subagent_line(struct events *e, const struct agent_event *ev)
{
	const struct subagent_step *s = ev->subagent;

	start_event(e, "subagent");
	add_member(e, "id", str_of(ev->call->id));
	add_member(e, "subagent_type", str_of(s->type));
	buf_addf(&e->out, ",\"number\":%u", s->number);
	add_member(e, "state",
		   s->over    ? STR("ended")
		   : s->event ? STR("working")
			      : STR("started"));
	if (s->over)
		add_member(e, "status", str_of(s->end));
	if (s->event)
		add_step(e, s->event);
	end_event(e);
	flush_json(e);
}

void events_event(void *arg, const struct agent_event *ev)
{
	struct events *e = arg;

	switch (ev->kind) {
	case EVENT_TEXT:
		write_delta(e, "text", ev->text);
		break;
	case EVENT_THINKING:
		write_delta(e, "thinking", ev->text);
		break;
	case EVENT_RESTART:
		events_error(e, "retrying", ev->text, (struct str){ 0 });
		break;
	case EVENT_WARNING:
		events_error(e, "warning", ev->text, (struct str){ 0 });
		break;
	case EVENT_TERMINAL:
		break;
	case EVENT_JOB:
		start_event(e, "job");
		add_member(e, "text", ev->text);
		end_event(e);
		break;
	case EVENT_SUBAGENT:
		if (ev->subagent)
			subagent_line(e, ev);
		break;
	case EVENT_FILE:
		start_event(e, "file");
		add_member(e, "text", ev->text);
		end_event(e);
		break;
	case EVENT_COMPACT:
		compaction_line(e, ev);
		break;
	case EVENT_TOOL_CALL:
		tool_call_line(e, ev->call);
		break;
	case EVENT_TOOL_OUTPUT:
	case EVENT_TOOL_RESULT:
		tool_line(e, ev);
		break;
	case EVENT_TURN:
		usage_line(e, ev->usage);
		break;
	case EVENT_FLUSH:
		flush_json(e);
		break;
	case EVENT_PROMPT: /* only a chat shows earlier events */
	case EVENT_REPLAYED:
		break;
	}
}

void events_error(struct events *e, const char *code, struct str message,
		  struct str hint)
{
	start_event(e, "error");
	add_member(e, "code", str_of(code));
	add_member(e, "message", message);
	add_member(e, "hint", hint);
	end_event(e);
	flush_json(e);
}

void events_add(struct events *e, const char *key, struct str json)
{
	e->members.max = MAX_LINES;
	if (!json.len)
		return;
	buf_addf(&e->members, ",\"%s\":", key);
	buf_addstr(&e->members, json);
}

void events_members(struct events *e, struct str json)
{
	e->members.max = MAX_LINES;
	buf_addstr(&e->members, json);
}

int events_result(struct events *e, const char *status, struct str text,
		  int64_t turns, const struct usage *usage, int exit_status)
{
	flush_json(e);
	e->ended = true;
	start_event(e, "result");
	buf_addstr(&e->out, buf_str(&e->start));
	add_member(e, "status", str_of(status));
	add_member(e, "text", text);
	buf_addf(&e->out, ",\"turns\":%lld,\"usage\":", (long long)turns);
	usage_to_json(usage, &e->out);
	buf_addf(&e->out, ",\"exit_status\":%d,\"duration_ms\":%lld",
		 exit_status, (long long)(clock_ms() - e->began_ms));
	buf_addstr(&e->out, buf_str(&e->members));
	end_event(e);
	flush_json(e);
	return e->failed ? -1 : 0;
}

void events_release(struct events *e)
{
	buf_release(&e->out);
	buf_release(&e->start);
	buf_release(&e->members);
}

enum {
	MAX_HELD = 64 << 20, /* bytes of one answer */
	WRITE_AT = 16 << 10, /* bytes collected before a write is forced */
};

/* Returns the part of out that may be written now. */
static struct str get_due_output(const struct plain *p)
{
	struct str text = buf_str(&p->out);

	while (p->whole_lines && text.len && text.ptr[text.len - 1] != '\n')
		text.len--;
	if (p->no_stream)
		text.len = 0;
	return text;
}

/* Writes the output that is due: first stdout, then stderr. */
static void flush_output(struct plain *p)
{
	struct str text = get_due_output(p);

	p->out.max = p->log.max = MAX_HELD;
	if (text.len) {
		if (!p->failed && write_answer(p->guard, text, p->stop) < 0)
			p->failed = errno;
		buf_consume(&p->out, text.len);
	}
	if (p->log.len) {
		write_piece(p->guard, true, buf_str(&p->log));
		buf_clear(&p->log);
	}
}

static bool at_line_start(const struct plain *p)
{
	if (p->out.len)
		return p->out.ptr[p->out.len - 1] == '\n';
	return !is_open(p->guard, &p->guard->answer_open);
}

static void end_line(struct plain *p)
{
	p->out.max = MAX_HELD;
	if (!at_line_start(p))
		buf_addc(&p->out, '\n');
}

/* Prints a line of dcode's own on stderr. */
static void print_note(struct plain *p, const char *prefix, struct str text)
{
	struct buf line = BUF_INIT(1 << 16);

	if (p->quiet)
		return;
	flush_output(p);
	buf_adds(&line, prefix);
	sanitize_line(text, &line);
	output_line(buf_str(&line));
	buf_release(&line);
}

/* Prints a line that begins with a glyph. In ASCII mode, a glyph at the end of
 * text is replaced, too. */
static void note_sign(struct plain *p, const char *indent, enum glyph sign,
		      struct buf *text)
{
	const struct theme t = { .ascii = p->ascii };
	char prefix[16];

	if (p->ascii)
		summary_to_ascii(text);
	snprintf(prefix, sizeof(prefix), "%s%s ", indent,
		 theme_glyph(&t, sign));
	print_note(p, prefix, buf_str(text));
}

/* Printed text cannot be taken back. Says so and prints the new answer from its
 * start. */
static void print_again(struct plain *p)
{
	end_line(p);
	p->replaying = false;
	print_note(
		p, "",
		STR("The connection broke; the answer starts over. Ignore the "
		    "text above."));
	p->shown.len = p->match;
	p->text_clean = (struct sanitizer){ 0 };
	sanitize_feed(&p->text_clean, buf_str(&p->shown), &p->out);
}

/*
 * A retry repeats the answer from its start. While the new text equals the old
 * one, nothing is printed. If it differs, it is printed in full on a new line.
 */
static struct str skip_replayed(struct plain *p, struct str delta)
{
	size_t same = 0;
	size_t left = p->shown.len - p->match;

	while (same < delta.len && same < left &&
	       p->shown.ptr[p->match + same] == delta.ptr[same])
		same++;
	p->match += same;
	delta = str_skip(delta, same);
	if (!delta.len && p->match < p->shown.len)
		return delta;
	if (p->match == p->shown.len) {
		p->replaying = false;
		return delta;
	}
	print_again(p);
	return delta;
}

/* Adds a delta of the answer. During a retry, skip_replayed() decides what of
 * it is printed. */
static void on_text(struct plain *p, struct str delta)
{
	p->out.max = p->shown.max = MAX_HELD;
	if (p->last_only && !p->shown.len) {
		buf_clear(&p->out); /* a later answer has begun, so that one was
				       not the last */
		p->kept = 0;
	}
	if (p->replaying)
		delta = skip_replayed(p, delta);
	buf_addstr(&p->shown, delta);
	sanitize_feed(&p->text_clean, delta, &p->out);
	if (p->out.len > WRITE_AT)
		flush_output(p);
}

/* Ends text that was printed as an answer, but is thinking. */
static void print_thought(struct plain *p)
{
	sanitize_end(&p->text_clean, &p->out);
	end_line(p);
	print_note(p, "",
		   STR("The text above is the model's thinking. The answer "
		       "follows."));
	buf_clear(&p->shown);
	p->text_clean = (struct sanitizer){ 0 };
}

/* Prepares for an answer that starts over after a broken connection. */
static void on_restart(struct plain *p, struct str why, bool thought)
{
	if (!thought)
		print_note(p, "Retrying: ", why);
	else if (p->shown.len && !p->no_stream)
		print_thought(p);
	if (p->shown.len && !p->no_stream && !thought)
		print_note(p, "",
			   STR("The connection broke; the answer may start "
			       "over. If "
			       "it does, ignore the text above."));
	p->match = 0;
	p->replaying = !p->no_stream && p->shown.len > 0 && !thought;
	if (p->no_stream && p->out.len >= p->kept) {
		/* None of it has been printed yet: discard it. */
		p->out.len = p->kept;
		p->text_clean = (struct sanitizer){ 0 };
		buf_clear(&p->shown);
	}
}

/* Prints the rest of an answer that is complete. */
static void end_answer(struct plain *p)
{
	p->out.max = MAX_HELD;
	if (p->replaying)
		print_again(p); /* the repeated answer was shorter */
	sanitize_end(&p->text_clean, &p->out);
	if (p->shown.len)
		end_line(p);
	buf_clear(&p->shown);
	flush_output(p);
	p->kept = p->out.len;
}

static void on_call(struct plain *p, const struct agent_event *ev)
{
	struct buf line = BUF_INIT(1 << 12);

	summary_of_call(ev->call, ev->workdir, &line);
	note_sign(p, "", GLYPH_TOOL, &line);
	buf_release(&line);
	p->output_clean = (struct sanitizer){ 0 };
}

static void on_output(struct plain *p, struct str delta)
{
	if (p->quiet)
		return;
	p->log.max = MAX_HELD;
	sanitize_feed(&p->output_clean, delta, &p->log);
	flush_output(p);
}

/* Prints each step of the todo list below the line of its call. */
static void print_todos(struct plain *p, const struct part *call)
{
	struct buf text = BUF_INIT(1 << 20);
	struct todos t = { 0 };
	struct str rest;
	struct str line;

	if (todos_read(&t, call))
		todo_view_text(&t, &text);
	rest = buf_str(&text);
	while (str_split(&rest, '\n', &line))
		if (line.len)
			print_note(p, "    ", line);
	buf_release(&text);
	todos_release(&t);
}

/* Ends a line that a tool has left unfinished. */
static void end_tool_line(struct plain *p)
{
	if (is_open(p->guard, &p->guard->tool_open))
		fputc('\n', stderr);
}

static void on_result(struct plain *p, const struct agent_event *ev)
{
	struct buf line = BUF_INIT(1 << 12);

	end_tool_line(p);
	summary_of_result(ev, &line);
	if (line.len)
		note_sign(p, "  ", GLYPH_RESULT, &line);
	buf_clear(&line);
	summary_of_changes(ev, &line);
	if (line.len)
		note_sign(p, "  ", GLYPH_RESULT, &line);
	buf_clear(&line);
	summary_of_listeners(ev, &line);
	if (line.len)
		note_sign(p, "  ", GLYPH_RESULT, &line);
	buf_release(&line);
	if (!ev->failed)
		print_todos(p, ev->call);
}

/* Prints an earlier prompt of a resumed thread. */
static void on_prompt(struct plain *p, struct str text)
{
	const char *sign = "> ";
	struct str line;

	while (str_split(&text, '\n', &line)) {
		print_note(p, sign, line);
		sign = "  ";
	}
}

void plain_event(void *arg, const struct agent_event *ev)
{
	struct plain *p = arg;

	switch (ev->kind) {
	case EVENT_TEXT:
		on_text(p, ev->text);
		break;
	case EVENT_RESTART:
		on_restart(p, ev->text, ev->thought);
		break;
	case EVENT_TURN:
		end_answer(p);
		break;
	case EVENT_TOOL_CALL:
		on_call(p, ev);
		break;
	case EVENT_TOOL_OUTPUT:
		on_output(p, ev->text);
		break;
	case EVENT_TOOL_RESULT:
		on_result(p, ev);
		break;
	case EVENT_FLUSH:
		flush_output(p);
		break;
	case EVENT_WARNING:
		print_note(p, "Warning: ", ev->text);
		break;
	case EVENT_FILE:
	case EVENT_COMPACT:
	case EVENT_JOB:
		print_note(p, "", ev->text);
		break;
	case EVENT_TERMINAL:
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "%.*s", (int)ev->text.len,
				ev->text.ptr);
		break;
	case EVENT_SUBAGENT:
		if (ev->text.len)
			print_note(p, "  ", str_trim(ev->text));
		break;
	case EVENT_PROMPT:
		on_prompt(p, ev->text);
		break;
	case EVENT_THINKING:
	case EVENT_REPLAYED:
		break;
	}
}

int plain_end(struct plain *p)
{
	if (p->replaying) {
		end_line(p);
		p->replaying = false;
		print_note(p, "", STR("Ignore the text above."));
	}
	end_answer(p);
	p->no_stream = false;
	flush_output(p);
	end_tool_line(p);
	return p->failed ? -1 : 0;
}

void plain_release(struct plain *p)
{
	buf_release(&p->out);
	buf_release(&p->log);
	buf_release(&p->shown);
}

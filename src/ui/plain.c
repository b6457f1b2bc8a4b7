/* plain.c - agent events as text: the answer to stdout, the rest to stderr. */
/* SPDX-License-Identifier: MIT */
#include "ui/plain.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "term/theme.h"
#include "ui/output.h"
#include "ui/summary.h"
#include "ui/todo_view.h"

enum {
	MAX_HELD = 64 << 20, /* bytes of one answer */
	WRITE_AT = 16 << 10, /* bytes gathered before a write is forced */
};

void plain_break(struct plain *p)
{
	if (p->log_mid_line)
		fputc('\n', stderr);
	p->log_mid_line = false;
}

/* What of out may be written now. */
static struct str due(const struct plain *p)
{
	struct str text = buf_str(&p->out);

	while (p->whole_lines && text.len && text.ptr[text.len - 1] != '\n')
		text.len--;
	if (p->no_stream)
		text.len = 0;
	return text;
}

static void flush(struct plain *p)
{
	struct str text = due(p);

	p->out.max = p->log.max = MAX_HELD;
	if (text.len) {
		/* On a terminal both streams share a line. */
		plain_break(p);
		p->mid_line = text.ptr[text.len - 1] != '\n';
		if (!p->failed &&
		    output_write(STDOUT_FILENO, text, p->stop) < 0)
			p->failed = errno;
		buf_consume(&p->out, text.len);
		if (p->guard)
			p->guard->mid_line = p->mid_line;
	}
	if (p->log.len) {
		fwrite(p->log.ptr, 1, p->log.len, stderr);
		buf_clear(&p->log);
	}
}

static bool at_line_start(const struct plain *p)
{
	if (p->out.len)
		return p->out.ptr[p->out.len - 1] == '\n';
	/* Something else on the same terminal has ended the line meanwhile. */
	if (p->guard && p->guard->shared)
		return !p->guard->mid_line;
	return !p->mid_line;
}

static void end_line(struct plain *p)
{
	p->out.max = MAX_HELD;
	if (!at_line_start(p))
		buf_addc(&p->out, '\n');
}

/* A line of ours for stderr. */
static void note(struct plain *p, const char *prefix, struct str text)
{
	struct buf line = BUF_INIT(1 << 16);

	if (p->quiet)
		return;
	flush(p);
	plain_break(p);
	sanitize_line(text, &line);
	buf_adds(&p->log, prefix);
	buf_addstr(&p->log, buf_str(&line));
	buf_addc(&p->log, '\n');
	buf_release(&line);
	flush(p);
}

/* The same behind a sign; the text of it may end in one, which is ours too. */
static void note_sign(struct plain *p, const char *indent, enum glyph sign,
		      struct buf *text)
{
	const struct theme t = { .ascii = p->ascii };
	char prefix[16];

	if (p->ascii)
		summary_to_ascii(text);
	snprintf(prefix, sizeof(prefix), "%s%s ", indent,
		 theme_glyph(&t, sign));
	note(p, prefix, buf_str(text));
}

/* What is on the screen cannot be taken back: the new answer is printed from
 * its start. */
static void print_again(struct plain *p)
{
	end_line(p);
	p->replaying = false;
	note(p, "", STR("The text above is void: the answer begins again."));
	p->shown.len = p->match;
	p->text_clean = (struct sanitizer){ 0 };
	sanitize_feed(&p->text_clean, buf_str(&p->shown), &p->out);
}

/*
 * A retry repeats the answer from its start. As long as the new text equals the
 * old nothing is printed; where it differs, it is printed whole on a new line.
 */
static struct str replay(struct plain *p, struct str delta)
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

static void on_text(struct plain *p, struct str delta)
{
	p->out.max = p->shown.max = MAX_HELD;
	if (p->last_only && !p->shown.len) {
		buf_clear(&p->out); /* that was not the last one */
		p->kept = 0;
	}
	if (p->replaying)
		delta = replay(p, delta);
	buf_addstr(&p->shown, delta);
	sanitize_feed(&p->text_clean, delta, &p->out);
	if (p->out.len > WRITE_AT)
		flush(p);
}

static void on_restart(struct plain *p, struct str why)
{
	note(p, "Retrying: ", why);
	if (p->shown.len && !p->no_stream)
		note(p, "",
		     STR("The text above is void unless the new answer"
			 " begins with it."));
	p->match = 0;
	p->replaying = !p->no_stream && p->shown.len > 0;
	if (p->no_stream && p->out.len >= p->kept) {
		/* Nothing of it is on the screen yet: take it back. */
		p->out.len = p->kept;
		p->text_clean = (struct sanitizer){ 0 };
		buf_clear(&p->shown);
	}
}

static void end_answer(struct plain *p)
{
	p->out.max = MAX_HELD;
	if (p->replaying)
		print_again(p); /* the repetition was shorter */
	sanitize_end(&p->text_clean, &p->out);
	if (p->shown.len)
		end_line(p);
	buf_clear(&p->shown);
	flush(p);
	p->kept = p->out.len;
}

static void on_call(struct plain *p, const struct part *call)
{
	struct buf line = BUF_INIT(1 << 12);

	summary_of_call(call, &line);
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
	if (p->log.len)
		p->log_mid_line = p->log.ptr[p->log.len - 1] != '\n';
	flush(p);
}

/* Each step below the line of its call. */
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
			note(p, "    ", line);
	buf_release(&text);
	todos_release(&t);
}

static void on_result(struct plain *p, const struct agent_event *ev)
{
	struct buf line = BUF_INIT(1 << 12);

	if (ev->declined)
		summary_of_declined(ev->text, &line);
	else
		summary_of_result(ev->call, ev->text, ev->failed, &line);
	if (line.len)
		note_sign(p, "  ", GLYPH_RESULT, &line);
	buf_release(&line);
	if (!ev->failed)
		print_todos(p, ev->call);
}

void plain_event(void *arg, const struct agent_event *ev)
{
	struct plain *p = arg;

	switch (ev->kind) {
	case EVENT_TEXT:
		on_text(p, ev->text);
		break;
	case EVENT_RESTART:
		on_restart(p, ev->text);
		break;
	case EVENT_TURN:
		end_answer(p);
		break;
	case EVENT_TOOL_CALL:
		on_call(p, ev->call);
		break;
	case EVENT_TOOL_OUTPUT:
		on_output(p, ev->text);
		break;
	case EVENT_TOOL_RESULT:
		on_result(p, ev);
		break;
	case EVENT_FLUSH:
		flush(p);
		break;
	case EVENT_WARNING:
		note(p, "Warning: ", ev->text);
		break;
	case EVENT_FILE:
	case EVENT_COMPACT:
	case EVENT_JOB:
		note(p, "", ev->text);
		break;
	case EVENT_TERMINAL:
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "%.*s", (int)ev->text.len,
				ev->text.ptr);
		break;
	case EVENT_SUBAGENT:
		if (ev->text.len)
			note(p, "  ", str_trim(ev->text));
		break;
	case EVENT_THINKING:
		break;
	}
}

int plain_end(struct plain *p)
{
	if (p->replaying) {
		end_line(p);
		p->replaying = false;
		note(p, "", STR("The text above is void."));
	}
	end_answer(p);
	p->no_stream = false;
	flush(p);
	plain_break(p);
	return p->failed ? -1 : 0;
}

void plain_release(struct plain *p)
{
	buf_release(&p->out);
	buf_release(&p->log);
	buf_release(&p->shown);
}

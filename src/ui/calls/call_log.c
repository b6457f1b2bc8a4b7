/* call_log.c - the finished tool calls of this process, with their output. */
/* SPDX-License-Identifier: MIT */
#include "ui/calls/call_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "tool/result.h"
#include "ui/summary.h"

/* Leaves out what a result says only to the model. */
static void shorten_output(struct call_record *r, const struct agent_event *end)
{
	struct buf text = BUF_INIT(SIZE_MAX / 4);

	if (end->declined)
		summary_of_declined(end->text, &text);
	else
		buf_addstr(&text,
			   result_without_id(&r->call, buf_str(&r->output)));
	buf_clear(&r->output);
	buf_addstr(&r->output, buf_str(&text));
	buf_release(&text);
}

void call_record_describe(struct call_record *r, const struct agent_event *end,
			  const char *workdir)
{
	struct buf line = BUF_INIT(TOOL_RESULT_BYTES);
	struct buf title = BUF_INIT(2 * TOOL_RESULT_BYTES);
	struct buf state = BUF_INIT(TOOL_RESULT_BYTES);

	summary_of_call(&r->call, workdir, &line);
	sanitize_line(buf_str(&line), &title);
	if (end)
		summary_state(end, &state);
	else
		buf_adds(&state, "runs");
	free(r->title);
	r->title = xstrndup(title.len ? title.ptr : "", title.len);
	if (end && end->failed)
		shorten_output(r, end);
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
				     buf_str(r->change.known
						     ? &r->change.before
						     : &r->change.stored),
				     buf_str(&r->change.after) };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (!spool_add(&log->texts, texts[i]))
			return false;
	e->args = r->call.args ? texts[0].len : SIZE_MAX;
	e->output = texts[1].len;
	e->before = texts[2].len;
	e->after = r->change.known ? texts[3].len : SIZE_MAX;
	return true;
}

void call_log_add(struct call_log *log, const struct call_record *r)
{
	struct call_entry *e = new_entry(log);

	*e = (struct call_entry){ .id = xstrdup(r->call.id ? r->call.id : ""),
				  .name = xstrdup(r->call.name ? r->call.name
							       : "?"),
				  .title = xstrdup(r->title ? r->title : ""),
				  .lines = r->lines,
				  .ms = r->ms,
				  .at = log->texts.end,
				  .args = SIZE_MAX,
				  .after = SIZE_MAX,
				  .cut = r->cut,
				  .bad_args = r->call.bad_args };
	memcpy(e->state, r->state, sizeof(e->state));
	if (log->texts.end < CALL_LOG_BYTES && write_texts(log, r, e))
		return;
	e->cut += r->output.len;
}

void call_log_read(const struct call_log *log, const struct call_entry *e,
		   struct call_record *out)
{
	const struct spool *texts = &log->texts;
	size_t at = e->at;

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
		struct str args = spool_text(texts, at, e->args);

		at += args.len;
		out->call.args = xstrndup(args.len ? args.ptr : "", args.len);
	}
	buf_addstr(&out->output, spool_text(texts, at, e->output));
	at += e->output;
	if (e->after == SIZE_MAX)
		tool_change_store(&out->change,
				  spool_text(texts, at, e->before));
	else
		tool_change_set(&out->change, spool_text(texts, at, e->before),
				spool_text(texts, at + e->before, e->after));
	spool_drop_pages(texts);
}

void call_log_clear(struct call_log *log)
{
	for (size_t i = 0; i < log->n; i++)
		release_entry(&log->list[i]);
	free(log->list);
	spool_release(&log->texts);
	*log = (struct call_log){ 0 };
}

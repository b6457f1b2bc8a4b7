/* subagent_list.c - the running subagents and what each is doing, for a
 * screen. */
/* SPDX-License-Identifier: MIT */
#include "cmd/subagents/subagent_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "model/money.h"

enum { ORDER_CHARS = 60, LINE_BYTES = 1 << 12 };

void subagent_list_init(struct subagent_list *r)
{
	*r = (struct subagent_list){ 0 };
	pthread_mutex_init(&r->lock, NULL);
}

static void remove_row(struct subagent_list *r, size_t at)
{
	free(r->rows[at].type);
	free(r->rows[at].order);
	r->n--;
	memmove(r->rows + at, r->rows + at + 1, (r->n - at) * sizeof(*r->rows));
}

void subagent_list_release(struct subagent_list *r)
{
	while (r->n)
		remove_row(r, r->n - 1);
	free(r->rows);
	pthread_mutex_destroy(&r->lock);
}

/* Returns the start of the first line of the task that a subagent was given,
 * without control characters. Owned. */
static char *summarize_order(const char *order)
{
	struct buf line = BUF_INIT(LINE_BYTES);
	struct str text = str_trim(str_of(order));
	size_t most;

	text.len = str_find(text, '\n');
	most = str_char_offset(text, ORDER_CHARS);
	sanitize_line((struct str){ text.ptr, most }, &line);
	if (most < text.len)
		buf_adds(&line, " ...");
	return line.len ? buf_detach(&line) : xstrdup("");
}

/* If the list has too many finished subagents, drops the oldest of them. */
static void remove_oldest(struct subagent_list *r)
{
	size_t ended = 0;

	for (size_t i = 0; i < r->n; i++)
		ended += r->rows[i].ended != 0;
	for (size_t i = 0; i < r->n && ended >= SUBAGENT_LIST_KEPT;)
		if (r->rows[i].ended) {
			remove_row(r, i);
			ended--;
		} else {
			i++;
		}
}

void subagent_list_begin(struct subagent_list *r, unsigned number,
			 const char *type, const char *order,
			 const struct cancel *cancel)
{
	struct subagent_row *row;
	size_t at;

	pthread_mutex_lock(&r->lock);
	remove_oldest(r);
	r->rows = xrealloc(r->rows, r->n + 1, sizeof(*r->rows));
	/* Subagents of one group begin on their own threads, in any order. */
	for (at = r->n; at && r->rows[at - 1].number > number; at--)
		r->rows[at] = r->rows[at - 1];
	row = &r->rows[at];
	r->n++;
	*row = (struct subagent_row){ .number = number,
				      .type = xstrdup(type),
				      .order = summarize_order(order),
				      .doing = "starting",
				      .since = clock_ms(),
				      .began = clock_ms(),
				      .cancel = cancel };
	pthread_mutex_unlock(&r->lock);
}

/* Returns the row of a subagent, or NULL. Call with the lock held. */
static struct subagent_row *find_row(struct subagent_list *r, unsigned number)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->rows[i].number == number)
			return &r->rows[i];
	return NULL;
}

static void set_activity(struct subagent_row *row, const char *doing)
{
	struct str text = str_of(doing);

	if (text.len >= sizeof(row->doing))
		text.len = sizeof(row->doing) - 1;
	text.len = str_utf8_prefix(text);
	if (!str_eq(str_of(row->doing), text))
		row->since = clock_ms();
	memcpy(row->doing, text.ptr, text.len);
	row->doing[text.len] = '\0';
}

void subagent_list_note(struct subagent_list *r, unsigned number,
			const char *doing)
{
	struct subagent_row *row;

	pthread_mutex_lock(&r->lock);
	row = find_row(r, number);
	if (row && !row->ended)
		set_activity(row, doing);
	pthread_mutex_unlock(&r->lock);
}

void subagent_list_add_usage(struct subagent_list *r, unsigned number,
			     const struct usage *u)
{
	struct subagent_row *row;

	pthread_mutex_lock(&r->lock);
	row = find_row(r, number);
	if (row) {
		usage_sum(&row->usage, u);
		row->turns++;
	}
	pthread_mutex_unlock(&r->lock);
}

void subagent_list_end(struct subagent_list *r, unsigned number,
		       const char *how)
{
	struct subagent_row *row;

	pthread_mutex_lock(&r->lock);
	row = find_row(r, number);
	if (row) {
		set_activity(row, how);
		row->ended = clock_ms();
		row->cancel = NULL;
	}
	pthread_mutex_unlock(&r->lock);
}

bool subagent_list_cancel(struct subagent_list *r, unsigned number)
{
	struct subagent_row *row;
	bool works;

	pthread_mutex_lock(&r->lock);
	row = find_row(r, number);
	works = row && row->cancel;
	if (works)
		cancel_trigger(row->cancel);
	pthread_mutex_unlock(&r->lock);
	return works;
}

/* Appends "1:05". */
static void add_time(int64_t ms, struct buf *out)
{
	buf_addf(out, "%" PRId64 ":%02" PRId64, ms / 60000, ms / 1000 % 60);
}

static void add_row(const struct subagent_row *row, int64_t now,
		    struct buf *out)
{
	const struct usage *u = &row->usage;

	buf_addf(out, "%-3u %s, %s ", row->number, row->type,
		 row->ended ? "took" : "for");
	add_time((row->ended ? row->ended : now) - row->began, out);
	if (row->turns)
		buf_addf(out, ", %" PRId64 " tokens in %" PRId64 " turn%s",
			 u->input + u->cache_write + u->output, row->turns,
			 row->turns == 1 ? "" : "s");
	buf_addf(out, ": %s", row->doing);
	if (!row->ended) {
		buf_adds(out, " (");
		add_time(now - row->since, out);
		buf_addc(out, ')');
	}
	buf_adds(out, "\n    ");
	buf_adds(out, row->order);
	buf_addc(out, '\n');
}

void subagent_list_print(struct subagent_list *r, int64_t now, struct buf *out)
{
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->n; i++)
		add_row(&r->rows[i], now, out);
	pthread_mutex_unlock(&r->lock);
}

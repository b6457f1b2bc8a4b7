/* compact.c - a conversation made shorter before it passes the window. */
/* SPDX-License-Identifier: MIT */
#include "agent/compact.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/history_file.h"
#include "agent/history_text.h"
#include "agent/hooked.h"
#include "agent/pinned.h"
#include "agent/summary.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/money.h"
#include "session/history.h"

enum {                    /* percent */
       KEEP = 10,         /* of the window: newest messages */
       KEEP_ASKED = 20,   /* of the conversation, where that is less */
       ENOUGH = 60,       /* of the limit: shorter results alone do */
       FULL = 90,         /* of the limit: results that are kept go too */
       SUMMARY = 6,       /* of the window */
       OLD_RESULT = 1500, /* bytes that stay of a result */
       SUMMARY_MOST = 24 << 10,
       SUMMARY_LEAST = 1200,
       NEW_TOOL = 1100, /* bytes of read_history, offered from then on */
       WORTH = 600,     /* bytes that a summary has at least */
};

struct compaction {
	struct agent *a;
	const struct compact_order *order;
	struct conversation c;    /* what the model has now */
	struct conversation next; /* and what it goes on with */
	size_t wire, head;        /* bytes of the request now, of its head */
	size_t size;              /* of c, by history_text_size() */
	size_t cut;               /* the messages before are summarised */
	size_t room; /* bytes of a request that the summary may have */
	struct compact_step step;
	struct usage usage;
};

static size_t sizes(const struct compaction *p, const struct conversation *c,
		    size_t from, size_t to)
{
	size_t n = 0;

	for (size_t i = from; i < to; i++)
		n += history_text_size(&c->list[i], p->a->model);
	return n;
}

/* Bytes of a request with messages of this size. */
static size_t wire_bytes(const struct compaction *p, size_t size)
{
	size_t history = p->wire - p->head;

	return p->head + (p->size ? size * history / p->size : 0);
}

/* The size of messages that are so many bytes in a request. */
static size_t size_of(const struct compaction *p, size_t bytes)
{
	size_t history = p->wire - p->head;

	return history ? bytes * p->size / history : 0;
}

/* The window in bytes; without one, what the request has. */
static size_t window_size(const struct compaction *p, int64_t tokens)
{
	return p->a->window.size ? window_bytes(&p->a->window, tokens)
				 : p->wire;
}

static int load(struct compaction *p, struct error *err)
{
	const struct conversation *memory = p->a->memory;
	struct store *store;
	int64_t no = 0;

	for (size_t i = 0; memory && i < memory->n; i++) {
		struct message copy = message_copy(&memory->list[i]);

		history_add(&p->c, &copy);
	}
	store = memory ? NULL : session_store(p->a->session, &no);
	if (no && history_load(&p->c, store, no, err) < 0)
		return -1;
	p->wire = model_size(p->a->model);
	p->head = model_head_size(p->a->model);
	p->size = sizes(p, &p->c, 0, p->c.n);
	p->step.before = window_about(&p->a->window, p->wire);
	return 0;
}

/* Where the newest messages begin that are kept whole: never at results, whose
 * calls would be missing. */
static size_t find_cut(const struct compaction *p)
{
	size_t keep =
		size_of(p, window_size(p, p->a->window.size) * KEEP / 100);
	size_t most = p->size * KEEP_ASKED / 100;
	size_t cut = p->c.n;
	size_t sum = 0;

	if ((p->order->asked || p->order->refused) && keep > most)
		keep = most;
	for (size_t i = p->c.n; i > 0; i--) {
		sum += history_text_size(&p->c.list[i - 1], p->a->model);
		if (p->c.list[i - 1].role == ROLE_TOOL)
			continue;
		if (sum > keep && cut < p->c.n)
			break;
		cut = i - 1;
	}
	return cut;
}

/* What is summarised has more than what would be there anyway. */
static bool worth_summary(const struct compaction *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->cut; i++)
		n += !p->c.list[i].summary;
	if (pinned_request(&p->c) < p->cut)
		n--;
	return n > 0;
}

static bool trim(struct conversation *c, size_t from, size_t to, size_t most)
{
	bool any = false;

	for (size_t i = from; i < to; i++)
		any |= history_text_trim(&c->list[i], most);
	return any;
}

static bool fits(const struct compaction *p, const struct conversation *c,
		 int percent)
{
	size_t limit = window_size(p, p->a->window.limit);

	return wire_bytes(p, sizes(p, c, 0, c->n)) <= limit * percent / 100;
}

static void emit_step(struct compaction *p)
{
	const struct compact_step *s = &p->step;
	struct buf line = BUF_INIT(1 << 12);

	buf_addf(&line, "%s %zu messages, about %" PRId64 " tokens",
		 s->over ? "compacted" : "compacting", s->messages, s->before);
	if (s->over)
		buf_addf(&line, " -> %" PRId64 "%s", s->after,
			 s->excerpt ? ", without a summary" : "");
	else
		buf_adds(&line, " ...");
	if (!s->over && p->a->window.assumed)
		buf_addf(&line,
			 " (a window of %" PRId64 " tokens is assumed, see "
			 "/tokens)",
			 p->a->window.size);
	p->a->ui.event(p->a->ui.arg,
		       &(struct agent_event){ .kind = EVENT_COMPACT,
					      .text = buf_str(&line),
					      .usage = &p->usage,
					      .compact = *s });
	buf_release(&line);
}

/* Cuts the summary to its room, as the text of JSON that it becomes. */
static void fit_summary(const struct compaction *p, struct buf *summary)
{
	struct buf whole = *summary;
	struct buf quoted = BUF_INIT(SIZE_MAX / 2);

	*summary = BUF_INIT(whole.max);
	for (size_t most = p->room; most > WORTH / 4; most -= most / 4) {
		buf_clear(&quoted);
		buf_clear(summary);
		history_text_shorten_summary(buf_str(&whole), most, summary);
		json_quote(&quoted, buf_str(summary));
		if (quoted.len <= p->room)
			break;
	}
	buf_release(&quoted);
	buf_release(&whole);
}

/* 0 with the text; -1 where nothing may be changed. */
static int summarise(struct compaction *p, struct buf *out,
		     const struct stop *stop, struct error *err)
{
	const struct window *w = &p->a->window;
	size_t most = window_size(p, w->size) * SUMMARY / 100;
	struct summary_order o = {
		.c = &p->c,
		.to = p->cut,
		.focus = p->order->focus,
		.room = w->size ? window_safe_bytes(w, w->limit) * 3 / 4
				: p->wire,
		.most = most > SUMMARY_MOST    ? SUMMARY_MOST
			: most < SUMMARY_LEAST ? SUMMARY_LEAST
					       : most,
	};
	struct error failed = { 0 };

	if (o.most > p->room)
		o.most = p->room;
	if (summary_ask(p->a, &o, &p->usage, out, stop, &failed) == 0) {
		fit_summary(p, out);
		return 0;
	}
	if (p->order->asked || failed.code == ERR_CANCELLED ||
	    stop_check(stop, err) < 0) {
		*err = failed;
		return -1;
	}
	agent_warn(p->a, "the conversation could not be summarised", &failed);
	summary_excerpt(&o, out);
	p->step.excerpt = true;
	return 0;
}

/* The summary, what is pinned, the newest messages. */
static void build(struct compaction *p, struct str summary)
{
	size_t request = pinned_request(&p->c);
	struct message first = { .role = ROLE_USER, .summary = true };

	pinned_summary(&first, summary);
	pinned_todos(&first, &p->c, p->cut);
	history_add(&p->next, &first);
	if (request < p->cut) {
		struct message copy = p->c.list[request];

		p->c.list[request] = (struct message){ .role = ROLE_USER };
		history_add(&p->next, &copy);
	}
	for (size_t i = p->cut; i < p->c.n; i++)
		history_add(&p->next, &p->c.list[i]);
	p->c.n = p->cut;
}

/* Results of the newest messages, where these alone are too much. */
static void trim_newest(struct compaction *p)
{
	static const size_t steps[] = { 16000, 4000, OLD_RESULT, 400 };

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		for (size_t k = 0; k < p->next.n && !fits(p, &p->next, FULL);
		     k++)
			(void)history_text_trim(&p->next.list[k], steps[i]);
}

static void remember(struct compaction *p)
{
	struct conversation next = { 0 };

	for (size_t i = 0; i < p->next.n; i++) {
		struct message copy = message_copy(&p->next.list[i]);

		history_add(&next, &copy);
	}
	history_release(p->a->memory);
	*p->a->memory = next;
}

static int store(struct compaction *p, struct error *err)
{
	struct buf body = BUF_INIT(1 << 30);
	int rc;

	if (p->a->memory) {
		remember(p);
		return 0;
	}
	history_to_json(&p->next, &body);
	rc = buf_check(&body, "the compacted conversation", err);
	if (rc == 0)
		rc = session_compact(p->a->session, buf_str(&body), &p->usage,
				     err);
	buf_release(&body);
	return rc;
}

static int apply(struct compaction *p, struct error *err)
{
	struct agent *a = p->a;
	struct error failed = { 0 };

	p->next.results = p->c.results;
	if (history_file_add(a, &p->c, &failed) < 0)
		agent_warn(a, "cannot store the text of the removed messages",
			   &failed);
	if (store(p, err) < 0)
		return -1;
	usage_sum(&a->usage, &p->usage);
	if (!a->reset || a->reset(a->reset_arg, &failed) < 0)
		(void)model_reset(a->model, NULL, 0, &failed);
	history_push(&p->next, a->model);
	window_forget(&a->window);
	p->step.after = window_about(&a->window, model_size(a->model));
	p->step.over = true;
	emit_step(p);
	return 0;
}

/* Cuts old results; true when that is enough. */
static bool shorten(struct compaction *p)
{
	if (!trim(&p->c, 0, p->cut, OLD_RESULT) || p->order->asked)
		return false;
	return fits(p, &p->c, ENOUGH);
}

static int make_next(struct compaction *p, const struct stop *stop,
		     struct error *err)
{
	struct buf summary = BUF_INIT(1 << 20);
	int rc = 0;

	if (shorten(p) || !worth_summary(p)) {
		p->next.list = p->c.list;
		p->next.n = p->c.n;
		p->c.list = NULL;
		p->c.n = 0;
	} else {
		rc = summarise(p, &summary, stop, err);
		if (rc == 0)
			build(p, buf_str(&summary));
	}
	buf_release(&summary);
	if (rc == 0)
		trim_newest(p);
	return rc;
}

/* Bytes that these messages are in a request; false: nobody knows. */
static bool measure(const struct compaction *p, const struct conversation *c,
		    size_t *bytes)
{
	const struct model_brief brief = { .system = "" };
	struct error ignored = { 0 };
	struct model *m;

	if (model_open_beside(&m, p->a->model, &brief, &ignored) < 0)
		return false;
	history_push(c, m);
	*bytes = model_size(m) - model_head_size(m);
	model_close(m);
	return true;
}

/* What the conversation would be with a summary of no words: of borrowed
 * messages, but the first. */
static struct conversation bare_next(const struct compaction *p)
{
	struct conversation next = { 0 };
	struct message first = { .role = ROLE_USER, .summary = true };
	size_t request = pinned_request(&p->c);

	pinned_summary(&first, STR(""));
	pinned_todos(&first, &p->c, p->cut);
	history_add(&next, &first);
	for (size_t i = request < p->cut ? request : p->cut; i < p->c.n;
	     i = i < p->cut ? p->cut : i + 1) {
		struct message borrowed = p->c.list[i];

		history_add(&next, &borrowed);
	}
	return next;
}

/*
 * Sets what room a summary has, where the user has asked for one: it, and the
 * tool that reads what it replaces, may be more than what is taken out. False:
 * no summary could make the request shorter.
 */
static bool find_room(struct compaction *p)
{
	struct conversation next;
	size_t bytes;
	bool known;

	p->room = SIZE_MAX;
	if (!p->order->asked)
		return true;
	next = bare_next(p);
	known = measure(p, &next, &bytes);
	message_release(&next.list[0]);
	free(next.list);
	if (!known)
		return true;
	bytes += p->head + (p->c.after ? 0 : NEW_TOOL);
	if (bytes + WORTH < p->wire) {
		p->room = p->wire - bytes;
		return true;
	}
	p->step.after = window_about(&p->a->window, bytes + WORTH);
	return false;
}

/* Whether it did get shorter. */
static bool gains(struct compaction *p)
{
	size_t bytes;

	if (!p->order->asked)
		return sizes(p, &p->next, 0, p->next.n) < p->size;
	if (!measure(p, &p->next, &bytes))
		return true;
	bytes += p->head + (p->c.after ? 0 : NEW_TOOL);
	if (bytes < p->wire)
		return true;
	p->step.after = window_about(&p->a->window, bytes);
	usage_sum(&p->a->usage, &p->usage);
	return false;
}

static int run_plan(struct compaction *p, const struct stop *stop,
		    struct error *err)
{
	int rc;

	p->cut = find_cut(p);
	p->step.messages = p->c.n;
	if (p->order->asked && !worth_summary(p))
		return 0;
	if (!find_room(p))
		return 0;
	if (pinned_check(p->a, &p->c, err) < 0)
		return -1;
	emit_step(p);
	rc = make_next(p, stop, err);
	if (rc < 0 || stop_check(stop, err) < 0)
		return -1;
	if (!gains(p))
		return 0;
	return apply(p, err) < 0 ? -1 : 1;
}

int compact_now(struct agent *a, const struct compact_order *order,
		struct compact_step *step, const struct stop *stop,
		struct error *err)
{
	struct compaction p = { .a = a, .order = order };
	struct error why = { 0 };
	int rc = hooked_compact(a, order->asked ? "manual" : "auto",
				order->focus, stop, &why);

	if (rc && (rc < 0 || order->asked)) {
		*err = why;
		return -1;
	}
	if (rc) {
		agent_warn(a, "the conversation was not shortened", &why);
		return 0;
	}
	if (!a->session && !a->memory)
		return error_set(err, ERR_SYSTEM,
				 "this thread is not stored, so its messages "
				 "cannot be summarised away");
	rc = load(&p, err);
	if (rc == 0)
		rc = run_plan(&p, stop, err);
	if (rc > 0 && !a->parent &&
	    hooked_session_start(a, "compact", stop, err) < 0)
		rc = -1;
	if (step)
		*step = p.step;
	history_release(&p.c);
	history_release(&p.next);
	return rc;
}

int compact_if_full(struct agent *a, const struct stop *stop, struct error *err)
{
	static const struct compact_order order;
	const struct window *w = &a->window;

	if ((!a->session && !a->memory) ||
	    !window_is_full(w, model_size(a->model)))
		return 0;
	return compact_now(a, &order, NULL, stop, err) < 0 ? -1 : 0;
}

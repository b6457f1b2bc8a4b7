/* run_money_print.c - what a run and its thread have cost, in words. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "base/str.h"
#include "cmd/session/run_money.h"
#include "model/money.h"
#include "session/spend.h"

/* "1 min 5 s" of milliseconds. */
static void add_time(struct buf *out, int64_t ms)
{
	int64_t s = ms / 1000;

	if (s >= 3600)
		buf_addf(out, "%" PRId64 " h %" PRId64 " min", s / 3600,
			 s / 60 % 60);
	else if (s >= 60)
		buf_addf(out, "%" PRId64 " min %" PRId64 " s", s / 60, s % 60);
	else
		buf_addf(out, "%" PRId64 " s", s);
}

void run_money_line(const struct run *r, struct buf *out)
{
	struct meter_total t = { 0 };
	char room[MONEY_SIZE];
	bool no_model;

	if (r->app->meter)
		meter_total(r->app->meter, &t);
	if (!t.used)
		return;
	no_model = t.model_unpriced && !t.model;
	buf_addf(out, "Cost: %s",
		 no_model && !t.sandbox
			 ? "unknown"
			 : money_short(t.model + t.sandbox, room));
	if (t.cap)
		buf_addf(out, " of %s", money_short(t.cap, room));
	if (t.sandbox_ms) {
		buf_addf(out, " (model %s, ",
			 no_model ? "price unknown"
				  : money_short(t.model, room));
		if (t.sandbox_unpriced)
			buf_adds(out, "sandbox price unknown: ");
		else
			buf_addf(out, "sandbox %s%s for ",
				 t.sandbox_at_most ? "at most " : "",
				 money_short(t.sandbox, room));
		add_time(out, t.sandbox_ms);
		buf_addc(out, ')');
	}
	if (t.unclear)
		buf_addf(out,
			 ", and up to %s reserved for %" PRId64
			 " interrupted answer%s of unknown cost",
			 money_short(t.unclear, room), t.cut,
			 t.cut == 1 ? "" : "s");
	if (no_model && !t.sandbox_ms)
		buf_adds(out, ": the model has no price");
	else if (t.model_unpriced && !no_model)
		buf_adds(out, "; models without a price are not counted");
}

void run_money_json(const struct run *r, struct buf *out)
{
	struct meter_total t = { 0 };
	char room[MONEY_SIZE];

	if (r->app->meter)
		meter_total(r->app->meter, &t);
	if (t.model_unpriced || t.sandbox_unpriced)
		buf_adds(out, ",\"cost_usd\":null");
	else
		buf_addf(out, ",\"cost_usd\":%s",
			 money_json(t.model + t.sandbox, room));
	buf_addf(out, ",\"model_usd\":%s",
		 t.model_unpriced ? "null" : money_json(t.model, room));
	buf_addf(out, ",\"sandbox_usd\":%s",
		 t.sandbox_unpriced ? "null" : money_json(t.sandbox, room));
	buf_addf(out, ",\"unclear_usd\":%s", money_json(t.unclear, room));
	buf_addf(out, ",\"sandbox_seconds\":%" PRId64, t.sandbox_ms / 1000);
}

struct printing {
	struct buf *out;
	int64_t total;
	bool priced;
};

static void print_line(void *arg, const struct meter_line *l)
{
	struct printing *p = arg;
	const struct usage *u = &l->usage;
	char room[MONEY_SIZE];

	if (!l->calls && !l->sandbox)
		return;
	p->total += l->cost;
	p->priced &= l->priced;
	buf_addf(p->out, "  %s: %s%s, ", l->name,
		 l->at_most && l->priced ? "at most " : "",
		 l->priced    ? money_exact(l->cost, room)
		 : l->sandbox ? "sandbox price unknown"
			      : "no price known");
	if (l->sandbox) {
		buf_adds(p->out, "sandbox for ");
		add_time(p->out, l->ms);
	} else {
		buf_addf(p->out,
			 "%" PRId64 " request%s, tokens: %" PRId64
			 " in, %" PRId64 " read from the cache, %" PRId64
			 " written to it, %" PRId64 " out",
			 l->calls, l->calls == 1 ? "" : "s", u->input,
			 u->cache_read, u->cache_write, u->output);
	}
	if (l->unclear)
		buf_addf(p->out, "; up to %s more for %" PRId64 " interrupted",
			 money_exact(l->unclear, room), l->cut);
	buf_addc(p->out, '\n');
}

/* What is stored of the thread, earlier runs with it. */
static void print_thread(struct run *r, struct buf *out)
{
	struct printing p = { out, 0, true };
	struct error ignored = { 0 };
	struct thread t = { 0 };
	struct store *store;
	char room[MONEY_SIZE];

	if (!r->session || !session_is_stored(r->session) ||
	    app_store_later(r->app, &store, &ignored) < 0 ||
	    thread_find(store, session_id(r->session), NULL, &t, &ignored) < 0)
		return;
	buf_adds(out, "This thread, all runs:\n");
	(void)spend_each(store, t.no, print_line, &p, &ignored);
	buf_addf(out, "  together %s%s\n",
		 p.priced || p.total ? money_exact(p.total, room) : "unknown",
		 p.priced || !p.total ? ""
				      : ", not counting what has no price");
	thread_release(&t);
}

void run_money_print(struct run *r, struct buf *out)
{
	struct printing p = { out, 0, true };
	struct meter_total t;

	meter_total(r->app->meter, &t);
	if (!t.used) {
		buf_adds(out, "Nothing has been used yet.\n");
		return;
	}
	run_money_line(r, out);
	buf_addc(out, '\n');
	run_money_store(r);
	meter_each(r->app->meter, print_line, &p);
	print_thread(r, out);
}

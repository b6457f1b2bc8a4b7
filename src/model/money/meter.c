/* meter.c - what a run has cost so far, and what it may still cost. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "model/money/meter_impl.h"
#include "model/money/money.h"

enum {
	MOST_TOKENS = 1000000000, /* of one answer: servers say anything */
	STOPPING_MS = 45000,      /* of METER_END_S, for saving and deleting */
	CALL_S = 600,             /* of a sandbox, while a long answer comes */
};

/* A laptop that sleeps leaves its sandboxes running. */
static int64_t clock_boot_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct meter *meter_new(int64_t (*clock)(void))
{
	struct meter *m = xcalloc(1, sizeof(*m));

	m->clock = clock ? clock : clock_boot_ms;
	pthread_mutex_init(&m->lock, NULL);
	return m;
}

void meter_free(struct meter *m)
{
	if (!m)
		return;
	while (m->models) {
		struct meter_model *next = m->models->next;

		free((char *)m->models->line.name);
		free(m->models);
		m->models = next;
	}
	while (m->sandboxes) {
		struct sandbox_line *next = m->sandboxes->next;

		free((char *)m->sandboxes->line.name);
		free(m->sandboxes);
		m->sandboxes = next;
	}
	pthread_mutex_destroy(&m->lock);
	free(m);
}

static int64_t clamp(int64_t n)
{
	return n < 0 ? 0 : n > MOST_TOKENS ? MOST_TOKENS : n;
}

static int64_t plus(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static int64_t times(int64_t n, int64_t price)
{
	return price && n > INT64_MAX / price ? INT64_MAX : n * price;
}

void meter_set_cap(struct meter *m, int64_t cap)
{
	pthread_mutex_lock(&m->lock);
	m->cap = m->most && (!cap || cap > m->most) ? m->most : cap;
	pthread_mutex_unlock(&m->lock);
}

void meter_limit_cap(struct meter *m, int64_t most)
{
	pthread_mutex_lock(&m->lock);
	m->most = most;
	if (most && (!m->cap || m->cap > most))
		m->cap = most;
	pthread_mutex_unlock(&m->lock);
}

void meter_keep_time(struct meter *m, int64_t ms)
{
	pthread_mutex_lock(&m->lock);
	m->ask_ms = ms;
	pthread_mutex_unlock(&m->lock);
}

void meter_warn_at(struct meter *m, int64_t amount)
{
	pthread_mutex_lock(&m->lock);
	if (m->n_thresholds < METER_THRESHOLDS)
		m->thresholds[m->n_thresholds++] = amount;
	pthread_mutex_unlock(&m->lock);
}

struct meter_model *meter_model(struct meter *m, const char *name,
				const struct model_facts *facts)
{
	struct meter_model **at = &m->models;
	struct meter_model *mm;

	pthread_mutex_lock(&m->lock);
	while (*at && strcmp((*at)->line.name, name) != 0)
		at = &(*at)->next;
	mm = *at;
	if (!mm) {
		mm = *at = xcalloc(1, sizeof(*mm));
		mm->meter = m;
		mm->line.name = xstrdup(name);
	}
	mm->facts = *facts;
	mm->line.priced = facts->priced;
	pthread_mutex_unlock(&m->lock);
	return mm;
}

static struct model_facts facts_of(const struct meter_model *mm)
{
	struct model_facts facts;

	pthread_mutex_lock(&mm->meter->lock);
	facts = mm->facts;
	pthread_mutex_unlock(&mm->meter->lock);
	return facts;
}

int64_t meter_most_output(const struct meter_model *mm)
{
	return facts_of(mm).max_output;
}

int64_t meter_window(const struct meter_model *mm)
{
	const struct model_facts facts = facts_of(mm);

	return facts.assumed ? 0 : facts.context;
}

bool meter_limits(const struct meter_model *mm)
{
	bool capped;

	pthread_mutex_lock(&mm->meter->lock);
	capped = mm->meter->cap > 0 || mm->cap > 0;
	pthread_mutex_unlock(&mm->meter->lock);
	return capped;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Prices of a request with at most so much input, kind by kind the dearest. */
static struct model_price dearest(const struct model_facts *f, int64_t input)
{
	struct model_price p = f->price;

	if (f->long_from && input > f->long_from) {
		p.input = larger(p.input, f->long_price.input);
		p.output = larger(p.output, f->long_price.output);
		p.cache_read = larger(p.cache_read, f->long_price.cache_read);
		p.cache_write =
			larger(p.cache_write, f->long_price.cache_write);
	}
	p.input = larger(larger(p.input, p.cache_read), p.cache_write);
	return p;
}

int64_t meter_sandbox_ms(const struct meter *m, const struct sandbox_line *s)
{
	int64_t ms = (s->end ? s->end : m->clock()) - s->begin;

	return ms > 0 ? ms : 0;
}

int64_t meter_sandbox_cost(const struct meter *m, const struct sandbox_line *s)
{
	return s->usd_s > 0 ? times(meter_sandbox_ms(m, s), s->usd_s) / 1000
			    : 0;
}

/* Of those that run, for each second. */
static int64_t sandbox_rate(const struct meter *m)
{
	int64_t rate = 0;

	for (const struct sandbox_line *s = m->sandboxes; s; s = s->next)
		if (!s->end && s->usd_s > 0)
			rate = plus(rate, s->usd_s);
	return rate;
}

void meter_sum(struct meter *m, struct meter_total *t)
{
	bool answered;

	*t = (struct meter_total){ .cap = m->cap,
				   .most = m->most,
				   .held = m->held };
	for (const struct meter_model *mm = m->models; mm; mm = mm->next) {
		t->model = plus(t->model, mm->line.cost);
		t->unclear = plus(t->unclear, mm->line.unclear);
		t->cut += mm->line.unclear ? mm->line.cut : 0;
		answered = mm->line.calls > mm->line.cut;
		t->model_unpriced |= answered && !mm->line.priced;
		t->used |= answered || mm->line.cost || mm->line.unclear;
	}
	for (const struct sandbox_line *s = m->sandboxes; s; s = s->next) {
		t->sandbox = plus(t->sandbox, meter_sandbox_cost(m, s));
		t->sandbox_ms = plus(t->sandbox_ms, meter_sandbox_ms(m, s));
		t->sandbox_unpriced |= s->usd_s < 0 && !s->dropped;
		t->sandbox_at_most |= s->line.at_most;
		t->used = true;
	}
	/* so that the two can be added up */
	t->model = smaller(t->model, INT64_MAX / 2);
	t->sandbox = smaller(t->sandbox, INT64_MAX / 2);
}

/* What is gone, or will be, before another request. */
static int64_t committed(struct meter *m)
{
	struct meter_total t;

	meter_sum(m, &t);
	return plus(plus(plus(t.model, t.sandbox), plus(t.unclear, t.held)),
		    times(METER_END_S, sandbox_rate(m)));
}

static int refuse(struct meter *m, int64_t need, struct error *err)
{
	struct meter_total t;
	char spent[MONEY_SIZE];
	char cap[MONEY_SIZE];
	char most[MONEY_SIZE];

	meter_sum(m, &t);
	(void)error_set(err, ERR_BUDGET, "spent %s of %s (--max-usd)",
			money_exact(t.model + t.sandbox, spent),
			money_exact(m->cap, cap));
	if (t.unclear)
		(void)error_add(err,
				", %s is reserved for %" PRId64
				" interrupted answer%s of unknown cost",
				money_exact(t.unclear, spent), t.cut,
				t.cut == 1 ? "" : "s");
	(void)error_add(err,
			"; the next request may cost up to %s and does not fit",
			money_exact(need, most));
	if (m->cap - committed(m) + m->held >= need)
		snprintf(err->reason, sizeof(err->reason), "%s", METER_HELD);
	return -1;
}

/* The output limit that so much pays for, with a sandbox that runs for some
 * time meanwhile where that is possible. */
static int64_t lower(const struct meter *m, int64_t left,
		     const struct model_price *p, const struct meter_call *call)
{
	int64_t meanwhile = times(CALL_S, sandbox_rate(m));
	int64_t most;

	if (!p->output)
		return call->output;
	most = left > meanwhile ? (left - meanwhile) / p->output : 0;
	if (most < call->least)
		most = call->least;
	return most < call->output ? most : call->output;
}

static int refuse_part(const struct meter_model *mm, int64_t need,
		       struct error *err)
{
	char spent[MONEY_SIZE];
	char cap[MONEY_SIZE];
	char most[MONEY_SIZE];

	return error_set(err, ERR_BUDGET,
			 "spent %s of its %s; the next request may cost up to "
			 "%s and does not fit",
			 money_exact(mm->line.cost, spent),
			 money_exact(mm->cap, cap), money_exact(need, most));
}

static int reserve(struct meter_model *mm, struct meter_call *call,
		   struct error *err)
{
	struct meter *m = mm->meter;
	struct model_price p = dearest(&mm->facts, call->input);
	int64_t input = times(clamp(call->input), p.input);
	int64_t left = m->cap - committed(m);
	int64_t own =
		mm->cap - plus(plus(mm->line.cost, mm->line.unclear), mm->held);
	int64_t least = plus(input, times(call->least, p.output));

	if (m->cap && left < least)
		return refuse(m, least, err);
	if (mm->cap && own < least)
		return refuse_part(mm, least, err);
	if (m->cap)
		call->output =
			lower(m, (left - input) / (1 + m->sharers), &p, call);
	if (mm->cap)
		call->output = lower(m, own - input, &p, call);
	call->held = plus(input, times(clamp(call->output), p.output));
	call->begun = m->clock();
	m->held = plus(m->held, call->held);
	mm->held = plus(mm->held, call->held);
	return 0;
}

int meter_reserve(struct meter_model *mm, struct meter_call *call,
		  struct error *err)
{
	int rc;

	pthread_mutex_lock(&mm->meter->lock);
	if (call->least > call->output)
		call->least = call->output;
	rc = reserve(mm, call, err);
	pthread_mutex_unlock(&mm->meter->lock);
	return rc;
}

static struct usage clean(const struct usage *u)
{
	static const struct usage none;

	if (!u)
		return none;
	return (struct usage){ clamp(u->input), clamp(u->output),
			       clamp(u->cache_read), clamp(u->cache_write),
			       clamp(u->reasoning) };
}

static bool says_input(const struct usage *u)
{
	return u->input || u->cache_read || u->cache_write;
}

/* Tokens that a cut answer may have had besides those that were told. */
static int64_t untold(const struct meter_model *mm,
		      const struct meter_call *call, const struct usage *u)
{
	struct model_price p = dearest(&mm->facts, call->input);
	int64_t most = call->output           ? call->output
		       : mm->facts.max_output ? mm->facts.max_output
					      : mm->facts.context;
	int64_t seen = clamp(call->arrived);
	int64_t ms = clamp(mm->meter->clock() - call->begun) + METER_LATE_MS;
	int64_t rest;

	if (seen < ms * METER_SPEED / 1000)
		seen = ms * METER_SPEED / 1000;
	rest = smaller(clamp(most), seen) - u->output;
	return plus(says_input(u) ? 0 : times(clamp(call->input), p.input),
		    times(rest > 0 ? rest : 0, p.output));
}

static void add_noted(struct meter_noted *sum, const struct meter_noted *n,
		      int sign)
{
	sum->calls += sign * n->calls;
	sum->usage.input += sign * n->usage.input;
	sum->usage.output += sign * n->usage.output;
	sum->usage.cache_read += sign * n->usage.cache_read;
	sum->usage.cache_write += sign * n->usage.cache_write;
	sum->cost += sign * n->cost;
	sum->unclear += sign * n->unclear;
}

/* The account is that of the thread: a part counts in the whole one. */
static struct meter_model *whole(struct meter_model *mm)
{
	return mm->of ? mm->of : mm;
}

void meter_note(struct meter_model *mm, struct meter_call *call,
		const struct usage *usage)
{
	struct usage u = clean(usage);

	pthread_mutex_lock(&mm->meter->lock);
	add_noted(&whole(mm)->noted, &call->noted, -1);
	call->noted = (struct meter_noted){
		.calls = 1,
		.usage = u,
		.cost = mm->facts.priced ? model_cost(&mm->facts, &u) : 0,
		.unclear = untold(mm, call, &u),
	};
	add_noted(&whole(mm)->noted, &call->noted, 1);
	pthread_mutex_unlock(&mm->meter->lock);
}

static void add_call(struct meter_model *mm, const struct meter_call *call,
		     enum meter_end end, const struct usage *u)
{
	struct meter_line *l = &mm->line;

	mm->held -= call->held;
	if (end != METER_REFUSED) {
		l->calls++;
		usage_sum(&l->usage, u);
		l->cost =
			plus(l->cost,
			     mm->facts.priced ? model_cost(&mm->facts, u) : 0);
	}
	if (end == METER_CUT || (end == METER_DONE && !says_input(u))) {
		l->cut++;
		l->unclear = plus(l->unclear, untold(mm, call, u));
	}
}

void meter_settle(struct meter_model *mm, const struct meter_call *call,
		  enum meter_end end, const struct usage *usage)
{
	struct usage u = clean(usage);

	pthread_mutex_lock(&mm->meter->lock);
	mm->meter->held -= call->held;
	add_noted(&whole(mm)->noted, &call->noted, -1);
	add_call(mm, call, end, &u);
	if (mm->of) {
		mm->of->held += call->held; /* which it never held */
		add_call(mm->of, call, end, &u);
	}
	pthread_mutex_unlock(&mm->meter->lock);
}

int64_t meter_passed(struct meter *m)
{
	struct meter_total t;
	int64_t passed = 0;

	pthread_mutex_lock(&m->lock);
	meter_sum(m, &t);
	for (size_t i = 0; i < m->n_thresholds; i++)
		if (m->thresholds[i] > m->warned &&
		    t.model + t.sandbox >= m->thresholds[i])
			passed = larger(passed, m->thresholds[i]);
	if (passed)
		m->warned = passed;
	pthread_mutex_unlock(&m->lock);
	return passed;
}

int meter_sandbox_begin(struct meter *m, const char *name, int64_t usd_s,
			bool at_most)
{
	struct sandbox_line *s = xcalloc(1, sizeof(*s));
	struct sandbox_line **at = &m->sandboxes;
	int number = 0;

	s->line.name = xstrdup(name);
	s->line.sandbox = true;
	s->line.priced = usd_s >= 0;
	s->line.at_most = at_most;
	s->usd_s = usd_s;
	s->begin = m->clock();
	pthread_mutex_lock(&m->lock);
	for (; *at; at = &(*at)->next)
		number++;
	*at = s;
	pthread_mutex_unlock(&m->lock);
	return number;
}

static void end_sandbox(struct meter *m, int number, bool drop)
{
	struct sandbox_line *s;

	pthread_mutex_lock(&m->lock);
	s = m->sandboxes;
	while (s && number-- > 0)
		s = s->next;
	if (s && !s->end)
		s->end = larger(m->clock(), 1);
	if (s && drop) {
		s->dropped = true;
		s->begin = s->end;
	}
	pthread_mutex_unlock(&m->lock);
}

void meter_sandbox_end(struct meter *m, int number)
{
	end_sandbox(m, number, false);
}

void meter_sandbox_drop(struct meter *m, int number)
{
	end_sandbox(m, number, true);
}

static int64_t time_left(struct meter *m, bool works)
{
	int64_t ms = INT64_MAX;
	int64_t rate;
	int64_t left;

	pthread_mutex_lock(&m->lock);
	rate = sandbox_rate(m);
	left = m->cap - committed(m) + times(METER_END_S, rate);
	if (m->cap && rate)
		ms = (left > 0 ? left / rate * 1000 + left % rate * 1000 / rate
			       : 0) -
		     STOPPING_MS - (works ? m->ask_ms : 0);
	pthread_mutex_unlock(&m->lock);
	return ms > 0 ? ms : 0;
}

int64_t meter_time_to_end(struct meter *m)
{
	return time_left(m, false);
}

int64_t meter_time_left(struct meter *m)
{
	return time_left(m, true);
}

int64_t meter_model_time_left(const struct meter_model *mm)
{
	return meter_time_left(mm->meter);
}

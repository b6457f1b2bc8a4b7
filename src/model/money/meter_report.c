/* meter_report.c - what the meter tells of what it has counted. */
/* SPDX-License-Identifier: MIT */
#include "model/money/meter_impl.h"

enum { NEAR_MS = 1000 }; /* two clocks, and the way back from a request */

int meter_name_cap(struct meter *m, const struct stop *stop, int rc,
		   struct error *err)
{
	struct error ignored = { 0 };

	if (rc < 0 && err->code == ERR_TIMEOUT && m &&
	    meter_time_left(m) < NEAR_MS && stop_check(stop, &ignored) == 0)
		return error_set(err, ERR_BUDGET,
				 "the sandbox has used up --max-usd, except "
				 "what deleting it costs");
	return rc;
}

void meter_each(struct meter *m,
		void (*each)(void *arg, const struct meter_line *line),
		void *arg)
{
	pthread_mutex_lock(&m->lock);
	for (const struct meter_model *mm = m->models; mm; mm = mm->next)
		each(arg, &mm->line);
	for (struct sandbox_line *s = m->sandboxes; s; s = s->next) {
		s->line.ms = meter_sandbox_ms(m, s);
		s->line.cost = meter_sandbox_cost(m, s);
		if (!s->dropped)
			each(arg, &s->line);
	}
	pthread_mutex_unlock(&m->lock);
}

static struct meter_line subtract(const struct meter_line *now,
				  const struct meter_line *then)
{
	const struct usage *a = &now->usage;
	const struct usage *b = &then->usage;
	struct meter_line d = *now;

	d.usage = (struct usage){ a->input - b->input, a->output - b->output,
				  a->cache_read - b->cache_read,
				  a->cache_write - b->cache_write,
				  a->reasoning - b->reasoning };
	d.calls -= then->calls;
	d.cut -= then->cut;
	d.ms -= then->ms;
	d.cost -= then->cost;
	d.unclear -= then->unclear;
	return d;
}

/* As if the requests that run were cut. */
static struct meter_line with_noted(const struct meter_model *mm)
{
	struct meter_line l = mm->line;

	l.calls += mm->noted.calls;
	l.cut += mm->noted.calls;
	usage_sum(&l.usage, &mm->noted.usage);
	l.cost += mm->noted.cost;
	l.unclear += mm->noted.unclear;
	return l;
}

static bool is_change(const struct meter_line *d)
{
	const struct usage *u = &d->usage;

	return d->calls || d->cut || d->cost || d->unclear || u->input ||
	       u->output || u->cache_read || u->cache_write;
}

int meter_each_new(struct meter *m,
		   int (*each)(void *arg, const struct meter_line *added),
		   void *arg)
{
	struct meter_line added;
	struct meter_line now;
	int rc = 0;

	pthread_mutex_lock(&m->lock);
	for (struct meter_model *mm = m->models; mm && rc == 0; mm = mm->next) {
		now = with_noted(mm);
		added = subtract(&now, &mm->told);
		rc = is_change(&added) ? each(arg, &added) : 0;
		if (rc == 0)
			mm->told = now;
	}
	for (struct sandbox_line *s = m->sandboxes; s && rc == 0; s = s->next) {
		s->line.ms = meter_sandbox_ms(m, s);
		s->line.cost = meter_sandbox_cost(m, s);
		added = subtract(&s->line, &s->told);
		rc = added.ms ? each(arg, &added) : 0;
		if (rc == 0)
			s->told = s->line;
	}
	pthread_mutex_unlock(&m->lock);
	return rc;
}

void meter_total(struct meter *m, struct meter_total *t)
{
	pthread_mutex_lock(&m->lock);
	meter_sum(m, t);
	pthread_mutex_unlock(&m->lock);
}

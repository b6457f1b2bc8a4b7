/* run_subagents.c - the subagents of a run: who there are, and who works. */
/* SPDX-License-Identifier: MIT */
#include "cmd/subagents/run_subagents.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/subagents/subagents_impl.h"

enum { DESCRIPTION_MAX = 64 << 10 };

void run_subagents_open(struct run *r)
{
	struct run_subagents *s = r->subagents;
	const struct subagents_request q = {
		.config_dir = settings_dir(r->app->settings),
		.agent = r->options.agent,
		.cwd = settings_cwd(r->app->settings),
	};

	if (s)
		return;
	s = r->subagents = xcalloc(1, sizeof(*s));
	s->declined = -1;
	pthread_mutex_init(&s->events, NULL);
	pthread_mutex_init(&s->questions, NULL);
	pthread_mutex_init(&s->opening, NULL);
	pthread_mutex_init(&s->merging, NULL);
	roster_init(&s->roster);
	subagents_read(&s->all, &q);
	s->told = xcalloc(s->all.n, sizeof(*s->told));
	for (size_t i = 0; i < s->all.n_problems && !r->options.quiet; i++)
		app_warn_line(s->all.problems[i]);
}

void run_subagents_close(struct run *r)
{
	struct run_subagents *s = r->subagents;

	if (!s)
		return;
	roster_release(&s->roster);
	subagents_release(&s->all);
	pthread_mutex_destroy(&s->events);
	pthread_mutex_destroy(&s->questions);
	pthread_mutex_destroy(&s->opening);
	pthread_mutex_destroy(&s->merging);
	free(s->told);
	free(s);
	r->subagents = NULL;
}

char *run_subagents_task(const struct run *r, const struct tool *task)
{
	struct buf out = BUF_INIT(DESCRIPTION_MAX);

	buf_adds(&out, task->spec.description);
	subagents_describe(&r->subagents->all, &out);
	return buf_detach(&out);
}

void run_subagents_attach(struct run *r)
{
	struct run_subagents *s = r->subagents;

	s->ui = r->agent.ui;
	r->agent.ui.event = subagents_event;
	r->agent.ui.approve = s->ui.approve ? subagents_approve : NULL;
	r->agent.ui.ask = s->ui.ask ? subagents_ask : NULL;
	r->agent.ui.arg = s;
	r->agent.delegate = subagents_delegate;
	r->agent.delegate_arg = r;
}

static void add_kind(const struct subagent *k, struct buf *out)
{
	buf_addf(out, "  %s", k->name);
	if (k->root)
		buf_adds(out, " (the project's)");
	if (k->model)
		buf_addf(out, k->root ? ", wants the model %s" : ", model %s",
			 k->model);
	if (k->apart)
		buf_adds(out, ", in a sandbox of its own");
	buf_adds(out, ": ");
	buf_adds(out, k->description);
	buf_addc(out, '\n');
}

void run_subagents_list(const struct run *r, struct buf *out)
{
	struct run_subagents *s = r->subagents;
	size_t before = out->len;

	if (!s)
		return;
	roster_list(&s->roster, clock_ms(), out);
	if (out->len == before)
		buf_adds(out, "No subagent is running, and none has run.\n");
	buf_adds(out, "Available:\n");
	for (size_t i = 0; i < s->all.n; i++)
		add_kind(&s->all.list[i], out);
}

bool run_subagents_cancel(struct run *r, unsigned number)
{
	return r->subagents && roster_cancel(&r->subagents->roster, number);
}

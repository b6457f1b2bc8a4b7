/* live_jobs.c - what the chat's second thread does. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/chat/begin.h"
#include "cmd/chat/leave.h"
#include "cmd/chat/mention.h"
#include "cmd/live/live_impl.h"
#include "cmd/slash/slash.h"
#include "cmd/tools/startup.h"

int live_job_open(void *arg)
{
	struct live *l = arg;
	struct run *r = l->run;
	struct stop stop = app_stop(r->app);
	struct error ignored = { 0 };
	bool again = l->reopens;
	struct store *store;

	l->reopens = true;
	if (chat_open(r, again, &stop, &l->err) < 0 ||
	    startup_run(r, &stop, &l->err) < 0)
		return -1;
	if (run_is_promised(r))
		return live_run_ahead(l, &stop, &l->err);
	/* A message is stored before it is sent: the database is opened while
	 * the user still types it. */
	(void)app_store(r->app, &store, &ignored);
	return 0;
}

void live_on_event(void *arg, const struct agent_event *ev)
{
	struct live *l = arg;

	run_note_event(l->run, ev);
	eventq_push(l->events, ev);
}

int live_on_approve(void *arg, struct approval *a, const struct stop *stop,
		    struct error *err)
{
	struct live *l = arg;

	return ask_approval(&l->asker, a, stop, err);
}

enum dialog_answer live_ask(void *arg, struct question *q,
			    const struct stop *stop)
{
	struct live *l = arg;

	return (enum dialog_answer)worker_ask(&l->worker, q, stop);
}

int live_job_run(void *arg)
{
	struct live *l = arg;
	struct stop stop = app_stop(l->run->app);

	switch (l->now.kind) {
	case JOB_FILES:
		buf_clear(&l->files);
		return mention_list(l->run, &l->files, &stop, &l->err);
	case JOB_ARGUMENTS:
		buf_clear(&l->files);
		slash_list_arguments(l->run, str_of(l->now.text), &l->files);
		return 0;
	case JOB_CAP:
		return slash_raise_idle(l->run, &l->err);
	case JOB_SLASH:
		l->left = !slash_run(l->run, str_of(l->now.text), &l->told);
		return 0;
	default:
		return message_run(l->run, (enum message_kind)l->now.kind,
				   l->now.text, &l->told, &stop, &l->err);
	}
}

int live_job_close(void *arg)
{
	struct live *l = arg;

	if (l->offers)
		chat_ask_exit(l->run);
	if (run_download(l->run, &l->err) < 0)
		l->failed = app_fail(l->run->app, &l->err);
	chat_close(l->run);
	return 0;
}

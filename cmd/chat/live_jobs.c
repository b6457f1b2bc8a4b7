/* live_jobs.c - what the chat's second thread does. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/chat/leave.h"
#include "cmd/chat/live_impl.h"
#include "cmd/chat/mention.h"
#include "cmd/chat/slash.h"

int live_job_open(void *arg)
{
	struct live *l = arg;
	struct run *r = l->run;
	struct stop stop = app_stop(r->app);

	if (run_open(r, &stop, &l->err) < 0)
		return -1;
	l->here = (struct app_chat){ session_id(r->session), r->box.label,
				     &r->box.sandbox, r->options.include,
				     r->options.n_include };
	r->app->chat = &l->here;
	return 0;
}

void live_on_event(void *arg, const struct agent_event *ev)
{
	struct live *l = arg;

	run_note_event(l->run, ev);
	eventq_push(l->events, ev);
}

/* Answers of the loop's thread are enum dialog_answer; DIALOG_OPEN: the turn
 * was stopped instead. */
int live_on_approve(void *arg, struct approval *a, const struct stop *stop,
		    struct error *err)
{
	struct live *l = arg;
	enum run_verdict verdict;

	if (run_decide(l->run, a, &verdict, stop, err) < 0)
		return -1;
	if (verdict != RUN_ASK)
		return 0;
	a->allowed = run_allows_all(l->run) || grants_have(&l->grants, a);
	if (a->allowed)
		return 0;
	switch ((enum dialog_answer)worker_ask(&l->worker, a)) {
	case DIALOG_ALWAYS:
		grants_add(&l->grants, a);
		a->allowed = true;
		break;
	case DIALOG_YES:
		a->allowed = true;
		break;
	case DIALOG_OPEN:
		return stop_check(stop, err);
	default:
		break;
	}
	return 0;
}

int live_job_run(void *arg)
{
	struct live *l = arg;
	struct stop stop = app_stop(l->run->app);

	switch (l->now.kind) {
	case JOB_FILES:
		buf_clear(&l->files);
		return mention_list(l->run, &l->files, &stop, &l->err);
	case JOB_SLASH:
		worker_borrow_terminal(&l->worker);
		l->left = !slash_run(l->run, str_of(l->now.text));
		worker_return_terminal(&l->worker);
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
	l->run->app->chat = NULL;
	run_resume_hint(l->run);
	run_close(l->run);
	return 0;
}

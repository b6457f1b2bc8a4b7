/* live_done.c - what follows when the worker has ended a job. */
/* SPDX-License-Identifier: MIT */
#include <signal.h>

#include "base/str.h"
#include "cmd/chat/begin.h"
#include "cmd/chat/leave.h"
#include "cmd/live/live_impl.h"
#include "cmd/live/live_job_end.h"

/* The user goes on at the prompt, with what he has typed. */
static void stay_unopened(struct live *l)
{
	live_print(l);
	live_say(l, (struct style){ 0, STYLE_WARN }, CHAT_STOPPED);
	app_signal_clear(l->run->app);
}

static void end_opening(struct live *l, int rc)
{
	bool stopped = l->stopping && !l->over && !chat_ends(l->err.code);

	l->state = LIVE_IDLE;
	l->stopping = false;
	if (rc < 0 && stopped) {
		live_return_ahead(l);
		stay_unopened(l);
		return;
	}
	if (rc < 0 && l->over && l->err.code == ERR_CANCELLED) {
		/* Not a failure: the user has left, which cancels too, or a
		 * signal has ended the chat. */
		if (!app_signal())
			app_signal_clear(l->run->app);
		return;
	}
	if (rc < 0) {
		l->status = app_fail(l->run->app, &l->err);
		l->over = true;
		return;
	}
	l->unopened = false;
	live_status_opened(l);
	if (stopped) /* too late for it */
		app_signal_clear(l->run->app);
}

static void end_work(struct live *l, int rc)
{
	const struct style warn = { 0, STYLE_WARN };

	if (l->now.kind == JOB_FILES) {
		complete_set_files(&l->completer, buf_str(&l->files));
		complete_update(&l->completer, &l->editor);
		rc = rc < 0 && !chat_ends(l->err.code) ? 0 : rc;
	} else if (l->now.kind == JOB_ARGUMENTS) {
		complete_set_arguments(&l->completer, str_of(l->now.text),
				       buf_str(&l->files));
		complete_update(&l->completer, &l->editor);
	} else {
		complete_forget(&l->completer);
	}
	transcript_end_turn(&l->transcript, clock_ms());
	live_print(l);
	live_notify_turn(l);
	if (rc < 0 && l->refused)
		live_say(
			l, warn,
			"Not run. Tell the agent what you would like instead.");
	else if (rc < 0 && l->err.code == ERR_CANCELLED)
		live_say(l, warn, "Interrupted");
	else if (rc < 0)
		(void)app_fail(l->run->app, &l->err);
	else if (l->now.kind == JOB_PROMPT || l->now.kind == JOB_GIVEN)
		run_remark(l->run);
	if (l->now.kind == JOB_SLASH)
		live_follow_run(l);
	live_status_refresh(l);
	l->state = LIVE_IDLE;
	if (l->left)
		l->over = true;
	if (rc < 0 && l->now.kind == JOB_CAP)
		live_end_at_cap(l);
	if (rc < 0 && chat_ends(l->err.code)) {
		l->over = true;
		l->status = app_signal() ? 128 + app_signal() : 1;
	} else if (!app_signal() || app_signal() == SIGINT) {
		app_signal_clear(l->run->app);
	}
	l->stopping = false;
}

void live_done(struct live *l)
{
	int rc = l->worker.result;

	switch (l->state) {
	case LIVE_OPENING:
		end_opening(l, rc);
		break;
	case LIVE_WORKING:
		end_work(l, rc);
		break;
	default:
		l->status = l->status ? l->status : l->failed;
		l->state = LIVE_IDLE;
		break;
	}
	live_show_ended(l);
	live_next(l);
}

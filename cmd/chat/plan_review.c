/* plan_review.c - asks whether to carry out the plan of plan mode. */
/* SPDX-License-Identifier: MIT */
/*
 * The plan is the last answer of the turn, so it is on the screen already. The
 * user says yes, edits it in $EDITOR, or says no and goes on talking. A
 * yes approves no call: the calls are judged in the mode that returns. Begin
 * reading at plan_review().
 */
#include "cmd/chat/plan_review.h"

#include <stdio.h>
#include <unistd.h>

#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/external.h"
#include "cmd/session/policy.h"
#include "cmd/session/sandbox.h"

static const char accepted[] =
	"The user has accepted the plan. Carry it out now.";
static const char changed[] =
	"The user has changed the plan and accepted it. Carry out this plan "
	"now:\n\n";

enum { PLAN_YES, PLAN_EDIT, PLAN_NO };

/* True if the turn ended in plan mode with a plan. A last line that ends in a
 * question mark asks the user something first. */
static bool has_plan(const struct run *r)
{
	struct str text = str_trim(buf_str(&r->agent.answer));

	return r->mode == RUN_PLAN && r->plans && r->app->asker && text.len &&
	       r->agent.finish == FINISH_STOP && !r->agent.hook_ended &&
	       !str_ends(text, "?");
}

/* Returns PLAN_YES, PLAN_EDIT or PLAN_NO; -1 if the turn was stopped. */
static int ask_user(struct run *r, const struct stop *stop, struct error *err)
{
	static const char *const answers[] = { "yes", "edit", "no" };
	const struct app_question q = { .text = "Carry out this plan?",
					.choices = "y/e/N",
					.answers = answers,
					.n = 3,
					.usual = PLAN_NO,
					.safe = PLAN_NO,
					.escapes = true,
					.drafts = true,
					.gives_way = true };
	struct error ignored = { 0 };
	int answer = r->app->asker->choose(r->app->asker->arg, &q, &ignored);

	if (answer >= 0)
		return answer;
	return stop_check(stop, err) < 0 ? -1 : PLAN_NO;
}

/* Opens the plan in the user's editor, and shows it if it has changed. */
static void edit_plan(struct run *r, struct buf *plan)
{
	const struct external x = { r->app, STDOUT_FILENO, STDERR_FILENO };
	struct buf shown = BUF_INIT(4 * EXTERNAL_MOST);
	struct buf edited = BUF_INIT(EXTERNAL_MOST);
	struct error err = { 0 };
	int rc;

	app_borrow_terminal(r->app);
	rc = external_edit(&x, ".md", buf_str(plan), &edited, &err);
	app_return_terminal(r->app);
	if (rc < 0) {
		(void)app_fail(r->app, &err);
	} else if (!str_trim(buf_str(&edited)).len) {
		fputs("The plan is unchanged: the edited text is empty.\n",
		      stderr);
	} else if (!str_eq(buf_str(&edited), buf_str(plan))) {
		buf_clear(plan);
		buf_addstr(plan, buf_str(&edited));
		app_clean(r->app, CLEAN_TEXT, buf_str(plan), &shown);
		fprintf(stderr, "\nThe plan is now:\n%s\n", shown.ptr);
	}
	buf_release(&shown);
	buf_release(&edited);
}

int plan_review(struct run *r, const struct stop *stop, struct error *err)
{
	struct buf plan = BUF_INIT(EXTERNAL_MOST);
	struct buf prompt = BUF_INIT(2 * EXTERNAL_MOST);
	int answer;
	int rc = 0;

	if (!has_plan(r))
		return 0;
	buf_addstr(&plan, str_trim(buf_str(&r->agent.answer)));
	while ((answer = ask_user(r, stop, err)) == PLAN_EDIT)
		edit_plan(r, &plan);
	if (answer < 0) {
		rc = -1;
	} else if (answer == PLAN_YES && r->mode == RUN_PLAN) {
		bool same = str_eq(buf_str(&plan),
				   str_trim(buf_str(&r->agent.answer)));

		run_end_plan(r);
		buf_adds(&prompt, same ? accepted : changed);
		if (!same)
			buf_addstr(&prompt, buf_str(&plan));
		rc = run_agent(r, prompt.ptr, stop, err);
	}
	buf_release(&plan);
	buf_release(&prompt);
	return rc;
}

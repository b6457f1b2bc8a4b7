/* plan_review.c - asks whether to carry out the plan of plan mode. */
/* SPDX-License-Identifier: MIT */
/*
 * The plan is what the model gave to the tool present_plan, which is shown now.
 * If the model does not call it, the plan is the last answer of the turn,
 * provided that it looks like one: see has_plan(). The user says yes, edits it
 * in $EDITOR, or says no and goes on talking. A yes approves no call: the calls
 * are judged in the mode that returns. Begin reading at plan_review().
 */
#include "cmd/chat/plan_review.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/show.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/external.h"
#include "cmd/session/policy.h"
#include "cmd/session/sandbox.h"
#include "cmd/session/undo.h"
#include "model/message.h"

enum { PLAN_YES, PLAN_NO, PLAN_AUTO_EDIT, PLAN_EDIT };

/* True if one of the n words is in the text, in whatever case. */
static bool has_word(const char *text, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcasestr(text, words[i]))
			return true;
	return false;
}

/* True if the text, which ends in a question mark, asks only whether to begin:
 * "1. Fix it. Shall I start?". Words of the model decide no more than whether
 * the user is asked. */
static bool asks_to_begin(struct str text)
{
	static const char *const who[] = { "shall i ",    "should i ",
					   "may i ",      "can i ",
					   "want me to ", "like me to " };
	static const char *const deeds[] = { "start",    "begin", "proceed",
					     "go ahead", "carry", "implement" };
	static const char *const open[] = { " or ",   "where ", "what ",
					    "which ", "how ",   "when " };
	size_t at = text.len - 1;
	char *last;
	bool asks;

	/* to the end of the sentence before, not to the dot of "a.c" */
	while (at && text.ptr[at - 1] != '\n' &&
	       !(isspace((unsigned char)text.ptr[at]) &&
		 strchr(".!?:", text.ptr[at - 1])))
		at--;
	last = xstrndup(text.ptr + at, text.len - at);
	asks = at && has_word(last, who, sizeof(who) / sizeof(*who)) &&
	       has_word(last, deeds, sizeof(deeds) / sizeof(*deeds)) &&
	       !has_word(last, open, sizeof(open) / sizeof(*open));
	free(last);
	return asks;
}

/* True for a line that begins a step: "1. ", "2) ", "- [ ] ", "Step 3",
 * whatever signs of Markdown are before it. */
static bool is_step(struct str line)
{
	size_t digits = 0;

	line = str_trim(line);
	if (str_starts(line, "- [ ] ") || str_starts(line, "* [ ] "))
		return true;
	while (line.len && strchr("#*_ ", line.ptr[0]))
		line = str_skip(line, 1);
	if (line.len > 5 && !strncasecmp(line.ptr, "step ", 5))
		return isdigit((unsigned char)line.ptr[5]);
	while (digits < line.len && isdigit((unsigned char)line.ptr[digits]))
		digits++;
	return digits && digits + 1 < line.len &&
	       strchr(".)", line.ptr[digits]) && line.ptr[digits + 1] == ' ';
}

/* True for a heading, or a line in bold or before a colon, that has the word
 * "plan". */
static bool is_plan_heading(struct str line)
{
	static const char *const plan[] = { "plan" };
	bool heads;
	bool found;
	char *text;

	line = str_trim(line);
	heads = str_starts(line, "#") || str_ends(line, ":") ||
		(str_starts(line, "**") && str_ends(line, "**"));
	text = xstrndup(line.ptr, line.len);
	found = heads && has_word(text, plan, 1);
	free(text);
	return found;
}

/* True if an answer is a plan, and not only the answer to a question: it has a
 * heading with the word "plan", as plan mode asks the model to write, or at
 * least two steps. Code blocks do not count. */
static bool is_plan(struct str text)
{
	bool code = false;
	size_t steps = 0;
	struct str line;

	while (str_split(&text, '\n', &line)) {
		if (str_starts(str_trim(line), "```"))
			code = !code;
		else if (!code && is_plan_heading(line))
			return true;
		else
			steps += !code && is_step(line);
	}
	return steps > 1;
}

/* True if the turn ended in plan mode with a plan: one that was presented, or
 * an answer that is one. A question at the end of an answer asks the user
 * something first, unless it asks to begin. */
static bool has_plan(const struct run *r)
{
	struct str text = str_trim(buf_str(&r->agent.answer));

	if (r->mode != RUN_PLAN || !r->plans || !r->app->asker ||
	    r->agent.finish != FINISH_STOP || r->agent.hook_ended)
		return false;
	return r->plan.len || (text.len && is_plan(text) &&
			       (!str_ends(text, "?") || asks_to_begin(text)));
}

/* Shows the plan that was presented like an answer of the model. */
static void show_plan(struct run *r)
{
	const struct agent_event text = { .kind = EVENT_TEXT,
					  .text = buf_str(&r->plan) };

	show_event(&r->agent.ui, r->app->mask, &text);
	show_event(&r->agent.ui, r->app->mask,
		   &(struct agent_event){ .kind = EVENT_TURN });
}

/* True if the plan would run in manual mode, but may run in auto-edit. */
static bool offers_auto_edit(const struct run *r)
{
	struct error ignored = { 0 };

	return r->before_plan == RUN_MANUAL && run_asks(r) &&
	       run_check_mode(r, RUN_AUTO_EDIT, &ignored) == 0;
}

/* Returns a PLAN_ value; -1 if the turn was stopped. */
static int ask_user(struct run *r, const struct stop *stop, struct error *err)
{
	static const char *const answers[] = { "yes", "no", "auto-edit",
					       "edit" };
	static const char *const without[] = { "yes", "no", "edit" };
	bool edits = offers_auto_edit(r);
	const struct app_question q = { .text = "Carry out this plan?",
					.choices = edits ? "y/N/a/e" : "y/N/e",
					.answers = edits ? answers : without,
					.n = edits ? 4 : 3,
					.keys = edits ? "y yes  n no  a yes, "
							"with auto-edit  "
							"e edit the plan"
						      : "y yes  n no  e edit "
							"the plan",
					.usual = PLAN_NO,
					.safe = PLAN_NO,
					.escapes = true,
					.drafts = true,
					.gives_way = true };
	struct error ignored = { 0 };
	int answer = r->app->asker->choose(r->app->asker->arg, &q, &ignored);

	if (answer >= 0)
		return !edits && answer == PLAN_AUTO_EDIT ? PLAN_EDIT : answer;
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
	struct buf given = BUF_INIT(EXTERNAL_MOST);
	struct buf prompt = BUF_INIT(2 * EXTERNAL_MOST);
	int answer;
	int rc = 0;

	if (!has_plan(r))
		return 0;
	if (r->plan.len)
		show_plan(r);
	buf_addstr(&plan, r->plan.len ? buf_str(&r->plan)
				      : str_trim(buf_str(&r->agent.answer)));
	buf_addstr(&given, buf_str(&plan));
	while ((answer = ask_user(r, stop, err)) == PLAN_EDIT)
		edit_plan(r, &plan);
	if (answer < 0) {
		rc = -1;
	} else if (answer != PLAN_NO && r->mode == RUN_PLAN) {
		bool same = str_eq(buf_str(&plan), buf_str(&given));

		if (answer == PLAN_AUTO_EDIT && offers_auto_edit(r))
			r->before_plan = RUN_AUTO_EDIT;
		run_end_plan(r);
		buf_adds(&prompt,
			 same ? MESSAGE_PLAN_ACCEPTED : MESSAGE_PLAN_CHANGED);
		if (!same)
			buf_addstr(&prompt, buf_str(&plan));
		undo_begin_turn(r);
		rc = run_agent(r, prompt.ptr, stop, err);
		undo_end_turn(r, rc);
	}
	buf_release(&plan);
	buf_release(&given);
	buf_release(&prompt);
	return rc;
}

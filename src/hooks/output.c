/* output.c - what hooks said, put together. */
/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "hooks/hooks_impl.h"

enum {
	SHOWN = 60,       /* bytes of a command */
	SAID_SHOWN = 400, /* of what it wrote to its standard error */
	LINE_MAX = 4096,
	MASKED_MAX = 4 * HOOK_OUTPUT_MAX,
};

/* The first bytes, masked before they are cut: else the beginning of a value
 * that lies across the cut would be shown. */
static void add_first(const struct hooks *h, struct str text, size_t most,
		      struct buf *out)
{
	struct buf masked = BUF_INIT(MASKED_MAX);
	struct str first;

	mask_text(h->src.mask, text, &masked);
	first = buf_str(&masked);
	if (first.len > most) {
		first.len = most;
		first.len = str_utf8_prefix(first);
	}
	buf_addstr(out, first);
	buf_release(&masked);
}

void hook_notice(struct hooks *h, const struct hook_call *call, const char *fmt,
		 ...)
{
	struct buf clean = BUF_INIT(MASKED_MAX);
	struct buf shown = BUF_INIT(LINE_MAX);
	char *line;
	va_list ap;

	if (!call->notice)
		return;
	line = xcalloc(1, MASKED_MAX);
	va_start(ap, fmt);
	vsnprintf(line, MASKED_MAX, fmt, ap);
	va_end(ap);
	sanitize_line(str_of(line), &clean);
	add_first(h, buf_str(&clean), LINE_MAX, &shown);
	call->notice(call->arg, shown.len ? shown.ptr : "");
	buf_release(&shown);
	buf_release(&clean);
	free(line);
}

/* Foreign text for the model or the user. */
static void add_clean(const struct hooks *h, struct str text, struct buf *out)
{
	struct buf clean = BUF_INIT(2 * HOOK_OUTPUT_MAX);

	sanitize_text(str_trim(text), &clean);
	if (clean.len && out->len)
		buf_addc(out, '\n');
	mask_text(h->src.mask, buf_str(&clean), out);
	buf_release(&clean);
}

/* "hook PreToolUse (check.sh) of /home/me/.deepagents/hooks.json" */
static void describe_hook(const struct hooks *h, const struct hook_call *call,
			  const struct hook_process *p, struct buf *out)
{
	const struct hook_handler *x = p->handler;
	const char *command = x->command ? x->command
			      : x->argv  ? x->argv[0]
					 : "";

	buf_addf(out, "hook %s (", hook_event_name(call->event));
	add_first(h, str_of(command), SHOWN, out);
	buf_addf(out, ") of %s", x->project ? h->project_file : h->user_file);
}

static void report(struct hooks *h, const struct hook_call *call,
		   const struct hook_process *p, const char *what)
{
	struct buf name = BUF_INIT(LINE_MAX);

	describe_hook(h, call, p, &name);
	hook_notice(h, call, "%s: %s", name.len ? name.ptr : "", what);
	buf_release(&name);
}

/* "exit status 3: no such file" */
static void describe_failure(const struct hooks *h,
			     const struct hook_process *p, struct buf *out)
{
	struct str said = str_trim(buf_str(&p->run.err));

	if (p->run.failed.code) {
		buf_adds(out, p->run.failed.message);
	} else if (p->run.timed_out) {
		buf_addf(out, "killed: it took longer than %g s (timeout)",
			 (double)p->handler->timeout_ms / 1000);
	} else {
		buf_addf(out, "exit status %d%s", p->run.status,
			 said.len ? ": " : "");
		add_first(h, said, SAID_SHOWN, out);
	}
}

static void report_failure(struct hooks *h, const struct hook_call *call,
			   const struct hook_process *p)
{
	struct buf what = BUF_INIT(LINE_MAX);

	describe_failure(h, p, &what);
	report(h, call, p, what.len ? what.ptr : "");
	buf_release(&what);
}

static void set_permission(struct hooks *h, struct hook_outcome *out,
			   enum hook_permission permission, struct str reason)
{
	if (permission <= out->permission)
		return;
	out->permission = permission;
	buf_clear(&out->reason);
	add_clean(h, reason, &out->reason);
}

/* What exit status 2, or the decision "block", means for this event. p: the
 * hook that decided, NULL: none of them. */
static void block(struct hooks *h, const struct hook_call *call,
		  const struct hook_process *p, struct str reason,
		  struct hook_outcome *out)
{
	switch (call->event) {
	case HOOK_PRE_TOOL_USE:
	case HOOK_PERMISSION_REQUEST:
		set_permission(h, out, HOOK_DENY, reason);
		return;
	case HOOK_USER_PROMPT_SUBMIT:
	case HOOK_POST_TOOL_USE:
	case HOOK_POST_TOOL_USE_FAILURE:
	case HOOK_PRE_COMPACT:
	case HOOK_STOP:
		out->blocked = true;
		add_clean(h, reason, &out->reason);
		return;
	case HOOK_SUBAGENT_STOP:
		add_clean(h, reason, &out->context);
		return;
	default:
		if (p)
			report_failure(h, call, p);
	}
}

void hook_output_refuse(struct hooks *h, const struct hook_call *call,
			struct str reason, struct hook_outcome *out)
{
	block(h, call, NULL, reason, out);
}

/* Statuses of a shell, and of env(1), for a program that cannot be executed or
 * is not there (POSIX.1-2017, XCU 2.8.2). */
enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

static bool could_not_run(const struct hook_process *p)
{
	return p->run.failed.code ||
	       (!p->run.timed_out && (p->run.status == NOT_EXECUTABLE ||
				      p->run.status == NOT_FOUND));
}

/* True the first time. */
static bool tell_once(struct hooks *h, const struct hook_handler *x)
{
	bool first = true;

	pthread_mutex_lock(&h->lock);
	if (h->told) {
		bool *told = &h->told[x - h->handlers.list];

		first = !*told;
		*told = true;
	}
	pthread_mutex_unlock(&h->lock);
	return first;
}

/* One warning, and from a guard no leave to go on: one that could not judge has
 * not agreed. */
static void add_absent(struct hooks *h, const struct hook_call *call,
		       const struct hook_process *p, struct hook_outcome *out)
{
	struct buf why = BUF_INIT(LINE_MAX);

	if (tell_once(h, p->handler))
		report_failure(h, call, p);
	if (hook_event_guards(call->event)) {
		describe_hook(h, call, p, &why);
		buf_adds(&why, " could not run: ");
		describe_failure(h, p, &why);
		block(h, call, p, buf_str(&why), out);
	}
	buf_release(&why);
}

static bool takes_plain_text(enum hook_event event)
{
	return event == HOOK_SESSION_START || event == HOOK_USER_PROMPT_SUBMIT;
}

static enum hook_permission permission_of(const char *word)
{
	if (!strcmp(word, "allow"))
		return HOOK_ALLOW;
	if (!strcmp(word, "ask"))
		return HOOK_ASK;
	return !strcmp(word, "deny") ? HOOK_DENY : HOOK_NO_OPINION;
}

/* The event's own members. */
static void add_specific(struct hooks *h, const struct hook_call *call,
			 const struct hook_process *p, const cJSON *own,
			 const char *reason, struct hook_outcome *out)
{
	const char *event = json_string(own, "hookEventName", NULL);
	const cJSON *input = json_get(own, "updatedInput");
	const char *output = json_string(own, "updatedToolOutput", NULL);

	if (!own)
		return;
	if (event && strcmp(event, hook_event_name(call->event)) != 0) {
		report(h, call, p,
		       "hookSpecificOutput is for another event: ignored");
		return;
	}
	add_clean(h, str_of(json_string(own, "additionalContext", "")),
		  &out->context);
	if (call->event == HOOK_PRE_TOOL_USE ||
	    call->event == HOOK_PERMISSION_REQUEST)
		set_permission(
			h, out,
			permission_of(
				json_string(own, "permissionDecision", "")),
			str_of(json_string(own, "permissionDecisionReason",
					   reason)));
	if (cJSON_IsObject(input) && !out->input)
		out->input = cJSON_Duplicate(input, true);
	if (output && !out->has_output &&
	    (call->event == HOOK_POST_TOOL_USE ||
	     call->event == HOOK_POST_TOOL_USE_FAILURE)) {
		out->has_output = true;
		add_clean(h, str_of(output), &out->output);
	}
}

/* C1 controls, which UTF-8 has as two bytes, would end the sequence and begin
 * another one in terminals that know them. */
static bool all_printable(struct str s)
{
	struct buf clean = BUF_INIT(MASKED_MAX);
	bool same;

	sanitize_line(s, &clean);
	same = str_eq(buf_str(&clean), s);
	buf_release(&clean);
	return same;
}

/* Only what sets a title, notifies or rings: nothing that could draw, answer
 * for the user, or read the clipboard. */
static bool is_harmless_sequence(struct str s)
{
	static const char *const numbers[] = { "0;", "1;",  "2;",
					       "9;", "99;", "777;" };

	if (str_is(s, "\a"))
		return true;
	if (!str_starts(s, "\033]"))
		return false;
	s = str_skip(s, 2);
	if (str_ends(s, "\a"))
		s.len -= 1;
	else if (str_ends(s, "\033\\"))
		s.len -= 2;
	else
		return false;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (str_starts(s, numbers[i]))
			return all_printable(s);
	return false;
}

static void add_terminal(struct hooks *h, const struct hook_call *call,
			 const struct hook_process *p, const char *sequence)
{
	if (!sequence)
		return;
	if (!is_harmless_sequence(str_of(sequence)))
		report(h, call, p,
		       "terminalSequence may only be BEL, or OSC 0, 1, 2, 9, "
		       "99 or 777: ignored");
	else if (call->terminal)
		call->terminal(call->arg, sequence);
}

static void add_stop(struct hooks *h, const struct hook_call *call,
		     const struct hook_process *p, const cJSON *said,
		     struct hook_outcome *out)
{
	const char *reason = json_string(said, "stopReason", "");

	if (json_bool(said, "continue", true)) {
		if (reason[0])
			report(h, call, p,
			       "stopReason only counts with \"continue\": "
			       "false: ignored");
		return;
	}
	if (!out->stop)
		add_clean(h, str_of(reason), &out->stop_reason);
	out->stop = true;
}

static void add_object(struct hooks *h, const struct hook_call *call,
		       const struct hook_process *p, const cJSON *said,
		       struct hook_outcome *out)
{
	const char *message = json_string(said, "systemMessage", NULL);
	const char *decision = json_string(said, "decision", "");
	const char *reason = json_string(said, "reason", "");

	if (message)
		hook_notice(h, call, "%s", message);
	add_terminal(h, call, p, json_string(said, "terminalSequence", NULL));
	add_stop(h, call, p, said, out);
	if (!strcmp(decision, "block"))
		block(h, call, p, str_of(reason), out);
	else if (decision[0])
		report(h, call, p, "decision must be \"block\": ignored");
	add_specific(h, call, p, json_get(said, "hookSpecificOutput"), reason,
		     out);
}

static void add_text(struct hooks *h, const struct hook_call *call,
		     const struct hook_process *p, struct hook_outcome *out)
{
	struct str text = str_trim(buf_str(&p->run.out));
	cJSON *said;

	if (!text.len)
		return;
	said = text.ptr[0] == '{' ? json_parse_repaired(text) : NULL;
	if (cJSON_IsObject(said))
		add_object(h, call, p, said, out);
	else if (takes_plain_text(call->event))
		add_clean(h, text, &out->context);
	else
		report(h, call, p, "Hook output is not valid JSON");
	cJSON_Delete(said);
}

/* Attack: a call so long that the guard which repeats it in its reason prints
 * more than is read, so that nobody sees its verdict. */
static bool is_cut_verdict(const struct hook_call *call,
			   const struct hook_process *p)
{
	return hook_event_guards(call->event) && p->run.out.over &&
	       str_starts(str_trim(buf_str(&p->run.out)), "{");
}

void hook_output_add(struct hooks *h, const struct hook_call *call,
		     const struct hook_process *p, struct hook_outcome *out)
{
	struct str said = str_trim(buf_str(&p->run.err));

	if (p->run.out.over || p->run.err.over)
		report(h, call, p, "it printed more than 100 kB: cut");
	if (could_not_run(p))
		add_absent(h, call, p, out);
	else if (p->run.timed_out)
		report_failure(h, call, p);
	else if (p->run.status == 2)
		block(h, call, p, said.len ? said : STR("blocked by a hook"),
		      out);
	else if (p->run.status != 0)
		report_failure(h, call, p);
	else if (is_cut_verdict(call, p))
		block(h, call, p,
		      STR("the hook's answer is longer than 100 kB"), out);
	else
		add_text(h, call, p, out);
}

/* hooked.c - calls the user's hooks from the agent loop. */
/* SPDX-License-Identifier: MIT */
/*
 * hooks.c runs the commands that the user configured for an event. This file
 * builds the fields of each event and applies what the hooks return to a call,
 * a result or the prompt. Begin reading at run_hooks().
 */
#include "agent/hooked.h"

#include "agent/show.h"
#include "base/mem.h"
#include "base/str.h"

enum { MOST_LOOPS = 8, TEXT_MAX = 1 << 20, RESULT_MAX = 64 << 20 };

/* Where notices and terminal sequences of hooks are sent. */
struct hook_ui {
	hooked_emit *emit;
	void *arg;
};

static void on_notice(void *arg, const char *line)
{
	const struct hook_ui *t = arg;

	t->emit(t->arg, &(struct agent_event){ .kind = EVENT_WARNING,
					       .text = str_of(line) });
}

static void on_terminal(void *arg, const char *sequence)
{
	const struct hook_ui *t = arg;

	t->emit(t->arg, &(struct agent_event){ .kind = EVENT_TERMINAL,
					       .text = str_of(sequence) });
}

/* Runs the hooks of an event. Takes ownership of call.fields and adds the id
 * and type of a subagent to them. */
static int run_hooks(struct agent *a, const struct hook_ui *t,
		     struct hook_call call, struct hook_outcome *out,
		     const struct stop *stop, struct error *err)
{
	cJSON *fields = (cJSON *)call.fields;
	int rc;

	if (a->hook_id && !json_get(fields, "agent_id")) {
		cJSON_AddStringToObject(fields, "agent_id", a->hook_id);
		cJSON_AddStringToObject(fields, "agent_type", a->hook_type);
	}
	call.notice = on_notice;
	call.terminal = on_terminal;
	call.arg = (void *)t;
	rc = hooks_run(a->hooks, &call, out, stop, err);
	cJSON_Delete(fields);
	return rc;
}

static struct hook_call call_of(enum hook_event event, const char *match,
				cJSON *fields)
{
	return (struct hook_call){ .event = event,
				   .match = match,
				   .fields = fields };
}

static void on_agent_event(void *arg, const struct agent_event *ev)
{
	const struct agent *a = arg;

	show_event(&a->ui, a->mask, ev);
}

static struct hook_ui agent_hook_ui(struct agent *a)
{
	return (struct hook_ui){ on_agent_event, a };
}

/* Returns an object with one string. The caller owns it. */
static cJSON *one_field(const char *name, const char *value)
{
	cJSON *fields = cJSON_CreateObject();

	cJSON_AddStringToObject(fields, name, value);
	return fields;
}

/* Appends text that hooks return for the model, in a tag, so that the model
 * does not take it for the user's. */
static void add_context(const char *event, const struct buf *context,
			struct buf *out)
{
	if (!context->len)
		return;
	out->max = out->max ? out->max : RESULT_MAX;
	buf_addf(out, "%s<hook_context event=\"%s\">\n", out->len ? "\n" : "",
		 event);
	buf_addstr(out, buf_str(context));
	buf_adds(out, "\n</hook_context>");
}

/* Stores the reason of the first hook that asks to end the run. */
static void note_end(struct hooked_end *end, const struct hook_outcome *out)
{
	if (!out->stop || end->ends)
		return;
	end->ends = true;
	end->reason.max = TEXT_MAX;
	buf_addstr(&end->reason, buf_str(&out->stop_reason));
}

void hooked_merge_end(struct agent *a, struct hooked_end *end)
{
	if (end->ends && !a->hook_end.ends)
		a->hook_end = *end;
	else
		buf_release(&end->reason);
	*end = (struct hooked_end){ 0 };
}

bool hooked_ends(struct agent *a)
{
	struct hook_ui t = agent_hook_ui(a);
	struct buf line = BUF_INIT(TEXT_MAX);

	if (!a->hook_end.ends)
		return false;
	a->hook_ended = true;
	buf_adds(&line, "Operation stopped by hook");
	if (a->hook_end.reason.len)
		buf_addf(&line, ": %s", a->hook_end.reason.ptr);
	on_notice(&t, line.ptr);
	buf_release(&line);
	buf_release(&a->hook_end.reason);
	a->hook_end = (struct hooked_end){ 0 };
	return true;
}

int hooked_session_start(struct agent *a, const char *cause,
			 const struct stop *stop, struct error *err)
{
	struct hook_ui t = agent_hook_ui(a);
	struct hook_outcome out;
	int rc;

	if (!hooks_have(a->hooks, HOOK_SESSION_START))
		return 0;
	rc = run_hooks(
		a, &t,
		call_of(HOOK_SESSION_START, cause, one_field("source", cause)),
		&out, stop, err);
	add_context("SessionStart", &out.context, &a->hook_context);
	hook_outcome_release(&out);
	return rc;
}

void hooked_session_end(struct agent *a, const char *cause,
			const struct stop *stop)
{
	struct hook_ui t = agent_hook_ui(a);
	struct hook_outcome out;
	struct error ignored = { 0 };

	if (!hooks_have(a->hooks, HOOK_SESSION_END))
		return;
	(void)run_hooks(
		a, &t,
		call_of(HOOK_SESSION_END, cause, one_field("reason", cause)),
		&out, stop, &ignored);
	hook_outcome_release(&out);
}

static int refuse_prompt(const struct buf *reason, struct error *err)
{
	error_set(err, ERR_REFUSED, "a hook blocked the prompt: %s",
		  reason->len ? reason->ptr : "it gave no reason");
	return error_hint(err, "Nothing was sent. The hook is in hooks.json.");
}

int hooked_prompt(struct agent *a, const char *prompt, struct buf *text,
		  const struct stop *stop, struct error *err)
{
	struct hook_ui t = agent_hook_ui(a);
	struct hook_outcome out = { 0 };
	int rc = 0;

	buf_adds(text, prompt);
	if (hooks_have(a->hooks, HOOK_USER_PROMPT_SUBMIT))
		rc = run_hooks(a, &t,
			       call_of(HOOK_USER_PROMPT_SUBMIT, NULL,
				       one_field("prompt", prompt)),
			       &out, stop, err);
	if (rc == 0 && out.blocked)
		rc = refuse_prompt(&out.reason, err);
	if (rc == 0) {
		if (a->hook_context.len)
			buf_addf(text, "\n\n%s", a->hook_context.ptr);
		buf_release(&a->hook_context);
		a->hook_context = (struct buf){ 0 };
		if (out.context.len)
			buf_addc(text, '\n');
		add_context("UserPromptSubmit", &out.context, text);
		note_end(&a->hook_end, &out);
	}
	hook_outcome_release(&out);
	return rc;
}

/* Returns the name of the tool in hook events: Claude Code's name if the tool
 * has one, else its own. */
static const char *wire_name(const struct agent *a, const struct part *call)
{
	const struct tool *tool = tool_find_among(a->more, call->name);

	return tool && tool->hook_name ? tool->hook_name
				       : hook_tool_name(call->name);
}

/* Builds the fields that all events of a call share. The caller owns them. */
static cJSON *call_fields(const struct agent *a, const struct part *call,
			  const cJSON *args)
{
	cJSON *fields = one_field("tool_name", wire_name(a, call));

	cJSON_AddItemToObject(fields, "tool_input",
			      hook_tool_input(call->name, args));
	cJSON_AddStringToObject(fields, "tool_use_id",
				call->id ? call->id : "");
	return fields;
}

/* Merges the outcome of PreToolUse or PermissionRequest into c. A stricter
 * permission replaces an earlier one, and changed arguments replace earlier
 * ones. */
static void merge_before(struct hooked_call *c, const struct part *call,
			 cJSON **args, const struct hook_outcome *out)
{
	if (out->permission > c->permission) {
		c->permission = out->permission;
		buf_clear(&c->reason);
		buf_addstr(&c->reason, buf_str(&out->reason));
	}
	if (out->input) {
		cJSON *changed = hook_tool_args(call->name, *args, out->input);

		cJSON_Delete(*args);
		*args = changed;
		cJSON_free(c->args);
		c->args = cJSON_PrintUnformatted(changed);
	}
}

int hooked_before(struct agent *a, const struct part *call,
		  const struct tool *tool, struct hooked_call *c,
		  const struct stop *stop, struct error *err)
{
	static const enum hook_event events[] = { HOOK_PRE_TOOL_USE,
						  HOOK_PERMISSION_REQUEST };
	struct hook_ui t = { c->emit, c->arg };
	cJSON *args = NULL;
	int rc = 0;

	c->reason = BUF_INIT(TEXT_MAX);
	for (size_t i = 0; i < 2 && rc == 0; i++) {
		struct hook_outcome out;

		if (!hooks_have(a->hooks, events[i]) ||
		    c->permission == HOOK_DENY ||
		    (i && !(tool->flags & TOOL_ASKS)))
			continue;
		if (!args)
			args = json_parse(str_of(call->args));
		rc = run_hooks(a, &t,
			       call_of(events[i], wire_name(a, call),
				       call_fields(a, call, args)),
			       &out, stop, err);
		merge_before(c, call, &args, &out);
		add_context(i ? "PermissionRequest" : "PreToolUse",
			    &out.context, &c->context);
		note_end(&a->hook_end, &out);
		hook_outcome_release(&out);
	}
	cJSON_Delete(args);
	return rc;
}

void hooked_call_release(struct hooked_call *c)
{
	buf_release(&c->reason);
	buf_release(&c->context);
	cJSON_free(c->args);
	c->args = NULL;
}

/* Applies the output of hooks after a call: it replaces the result or is
 * appended to it. */
static void change_result(const struct hook_outcome *out, bool failed,
			  struct buf *result)
{
	if (out->has_output) {
		buf_clear(result);
		buf_addstr(result, buf_str(&out->output));
	}
	if (out->blocked && out->reason.len)
		buf_addf(result,
			 "\n\n<hook_feedback event=\"%s\">\n%s\n"
			 "</hook_feedback>",
			 failed ? "PostToolUseFailure" : "PostToolUse",
			 out->reason.ptr);
	if (out->context.len) {
		buf_addc(result, '\n');
		add_context(failed ? "PostToolUseFailure" : "PostToolUse",
			    &out->context, result);
	}
}

/* Runs the hooks after a call and applies what they return to the result. */
static int run_after(struct agent *a, const struct part *call,
		     const struct hooked_result *result, struct hooked_call *c,
		     const struct stop *stop, struct error *err)
{
	enum hook_event event = result->failed ? HOOK_POST_TOOL_USE_FAILURE
					       : HOOK_POST_TOOL_USE;
	struct hook_ui t = { c->emit, c->arg };
	struct hook_outcome out;
	cJSON *args;
	cJSON *fields;
	int rc;

	if (!hooks_have(a->hooks, event))
		return 0;
	args = json_parse(str_of(call->args));
	fields = call_fields(a, call, args);
	cJSON_AddStringToObject(fields,
				result->failed ? "error" : "tool_response",
				result->text->len ? result->text->ptr : "");
	cJSON_Delete(args);
	rc = run_hooks(a, &t, call_of(event, wire_name(a, call), fields), &out,
		       stop, err);
	if (rc == 0) {
		change_result(&out, result->failed, result->text);
		note_end(&c->end, &out);
	}
	hook_outcome_release(&out);
	return rc;
}

int hooked_after(struct agent *a, const struct part *call,
		 const struct hooked_result *result, struct hooked_call *c,
		 const struct stop *stop, struct error *err)
{
	int rc = run_after(a, call, result, c, stop, err);

	if (rc == 0 && c->context.len)
		buf_addf(result->text, "\n\n%s", c->context.ptr);
	return rc;
}

int hooked_stop(struct agent *a, int loops, char **prompt,
		const struct stop *stop, struct error *err)
{
	struct hook_ui t = agent_hook_ui(a);
	struct hook_outcome out;
	cJSON *fields;
	int rc;

	*prompt = NULL;
	if (!hooks_have(a->hooks, HOOK_STOP))
		return 0;
	fields = one_field("last_assistant_message",
			   a->answer.len ? a->answer.ptr : "");
	cJSON_AddBoolToObject(fields, "stop_hook_active", loops > 0);
	rc = run_hooks(a, &t, call_of(HOOK_STOP, NULL, fields), &out, stop,
		       err);
	note_end(&a->hook_end, &out);
	if (rc == 0 && out.blocked && !out.stop && loops >= MOST_LOOPS)
		on_notice(&t, "the Stop hooks made the agent continue 8 times "
			      "in a row, so dcode stops it now");
	else if (rc == 0 && out.blocked && !out.stop)
		*prompt = xstrdup(out.reason.len ? out.reason.ptr : "Go on.");
	hook_outcome_release(&out);
	return rc < 0 ? -1 : *prompt != NULL;
}

int hooked_subagent(struct agent *a, const struct hooked_subagent *s,
		    const struct stop *stop, struct error *err)
{
	enum hook_event event =
		s->last ? HOOK_SUBAGENT_STOP : HOOK_SUBAGENT_START;
	struct hook_ui t = agent_hook_ui(a);
	struct hook_outcome out;
	cJSON *fields;
	int rc;

	if (!hooks_have(a->hooks, event))
		return 0;
	fields = one_field("agent_id", s->id);
	cJSON_AddStringToObject(fields, "agent_type", s->type);
	if (s->last)
		cJSON_AddStringToObject(fields, "last_assistant_message",
					s->last);
	rc = run_hooks(a, &t, call_of(event, s->type, fields), &out, stop, err);
	if (rc == 0 && s->last && out.context.len) {
		buf_addc(s->context, '\n');
		add_context("SubagentStop", &out.context, s->context);
	}
	hook_outcome_release(&out);
	return rc;
}

int hooked_compact(struct agent *a, const char *trigger, const char *focus,
		   const struct stop *stop, struct error *err)
{
	struct hook_ui t = agent_hook_ui(a);
	struct hook_outcome out;
	cJSON *fields;
	int rc;

	if (!hooks_have(a->hooks, HOOK_PRE_COMPACT))
		return 0;
	fields = one_field("trigger", trigger);
	cJSON_AddStringToObject(fields, "custom_instructions",
				focus ? focus : "");
	rc = run_hooks(a, &t, call_of(HOOK_PRE_COMPACT, trigger, fields), &out,
		       stop, err);
	if (rc == 0 && out.blocked) {
		error_set(err, ERR_REFUSED, "a hook blocked the compaction: %s",
			  out.reason.len ? out.reason.ptr
					 : "it gave no reason");
		rc = 1;
	}
	hook_outcome_release(&out);
	return rc;
}

/* toolrun_approve.c - whether a call may run, and as what. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "agent/toolrun_impl.h"
#include "base/str.h"
#include "tool/args.h"
#include "tool/result.h"

void toolrun_emit(struct batch *b, const struct agent_event *ev)
{
	pthread_mutex_lock(&b->events);
	b->agent->ui.event(b->agent->ui.arg, ev);
	pthread_mutex_unlock(&b->events);
}

const struct tool *toolrun_tool(const struct tool_job *job)
{
	return tool_find_among(job->batch->agent->more, job->call->name);
}

bool toolrun_has_flag(const struct tool_job *job, unsigned flags)
{
	const struct tool *tool = toolrun_tool(job);

	return tool && tool->flags & flags;
}

bool toolrun_acts(const struct tool_job *job)
{
	const struct tool *tool = toolrun_tool(job);

	if (!tool || tool->flags & (TOOL_READS | TOOL_SESSION))
		return false;
	/* what is foreign and of no server reads the web */
	return !(tool->flags & TOOL_FOREIGN) || tool->spec.server;
}

/* Another call of the answer has the name of this one, which allows one. */
static bool is_repeated(const struct tool_job *job)
{
	size_t n = 0;

	if (!toolrun_has_flag(job, TOOL_SINGLE))
		return false;
	for (size_t i = 0; i < job->batch->total; i++)
		n += !strcmp(job->batch->calls[i]->name, job->call->name);
	return n > 1;
}

static void refused_result(struct tool_job *job, const struct approval *a)
{
	if (a->reason.len) /* which the user may have typed */
		mask_text(job->batch->agent->mask, buf_str(&a->reason),
			  &job->out);
	else
		buf_addf(&job->out,
			 "User rejected the tool call for `%s` with id %s",
			 job->call->name, job->call->id);
	job->failed = true;
	job->refused = true;
	job->declined = a->declined;
}

/* From here on the call is the user's. */
static void take_edited(struct tool_job *job, struct approval *a)
{
	char *hooked = job->call == &job->edited ? job->edited.args : NULL;

	approval_describe_edit(a, job->batch->agent->mask, &job->remark);
	job->edited = *job->call;
	job->edited.args = a->edited;
	cJSON_free(hooked);
	job->edited.bad_args = false;
	a->edited = NULL;
	job->call = &job->edited;
	toolrun_emit(job->batch, &(struct agent_event){ .kind = EVENT_TOOL_CALL,
							.call = job->call,
							.edited = true });
}

static void on_hook_event(void *arg, const struct agent_event *ev)
{
	toolrun_emit(arg, ev);
}

/* The call becomes what a hook made of it; readers of the events see that. */
static void take_hooked(struct tool_job *job)
{
	job->edited = *job->call;
	job->edited.args = job->hooked.args;
	job->edited.bad_args = false;
	job->hooked.args = NULL;
	job->call = &job->edited;
	toolrun_emit(job->batch, &(struct agent_event){ .kind = EVENT_TOOL_CALL,
							.call = job->call,
							.edited = true });
	buf_adds(&job->remark, "A hook of the user's changed this call before "
			       "it ran. Its arguments were:\n");
	mask_text(job->batch->agent->mask, str_of(job->call->args),
		  &job->remark);
	buf_adds(&job->remark, "\n\nThe result of the changed call:\n");
}

/* 0, 1 when the hooks refused it, -1 when the run was cancelled. */
static int ask_hooks(struct tool_job *job, struct approval *a,
		     struct error *err)
{
	struct hooked_call *c = &job->hooked;

	*c = (struct hooked_call){ .emit = on_hook_event, .arg = job->batch };
	if (!a->tool || hooked_before(job->batch->agent, job->call, a->tool, c,
				      job->batch->stop, err) < 0)
		return a->tool ? -1 : 0;
	if (c->args)
		take_hooked(job);
	a->call = job->call;
	a->hook_allows = c->permission == HOOK_ALLOW;
	a->hook_asks = c->permission == HOOK_ASK;
	if (c->permission != HOOK_DENY)
		return 0;
	buf_addf(&a->reason, "A hook of the user's refused this call%s%.*s",
		 c->reason.len ? ": " : ".", (int)c->reason.len,
		 c->reason.len ? c->reason.ptr : "");
	refused_result(job, a);
	return 1;
}

/* What the tool itself will refuse needs no approval: the same args_read()
 * decides there. -1 when the run was cancelled. */
int toolrun_approve(struct tool_job *job, struct error *err)
{
	const struct agent_ui *ui = &job->batch->agent->ui;
	struct buf ignored = BUF_INIT(RESULT_RAW_BYTES);
	struct approval a = { .call = job->call,
			      .tool = toolrun_tool(job),
			      .number = job->number,
			      .total = job->batch->total,
			      .later = job->batch->calls + job->number,
			      .n_later = job->batch->total - job->number,
			      .reason = BUF_INIT(1 << 16),
			      .place = BUF_INIT(1 << 16) };
	cJSON *args = NULL;
	int rc = 0;

	if (is_repeated(job)) {
		buf_addf(&a.reason,
			 "Error: `%s` must not be called more than once in "
			 "one answer: none of these calls has run. Call it "
			 "again, once.",
			 job->call->name);
		refused_result(job, &a);
	} else {
		rc = ask_hooks(job, &a, err);
	}
	if (rc == 0 && !job->refused && a.tool && ui->approve)
		args = args_read(a.tool, job->call, &ignored);
	job->malformed = !job->refused && (!a.tool || (ui->approve && !args));
	rc = rc < 0 ? -1 : 0;
	a.args = args;
	if (args)
		rc = ui->approve(ui->arg, &a, job->batch->stop, err);
	if (args && rc == 0 && !a.allowed)
		refused_result(job, &a);
	else if (rc == 0 && a.edited)
		take_edited(job, &a);
	job->real_path = a.real_path;
	a.real_path = NULL;
	job->change = a.change;
	a.change = (struct tool_change){ 0 };
	approval_release(&a);
	buf_release(&ignored);
	cJSON_Delete(args);
	return rc;
}

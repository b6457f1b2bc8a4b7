/* own_command.c - a command of the user's, where the tools run. */
/* SPDX-License-Identifier: MIT */
#include "agent/own_command.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

struct own_command {
	struct agent *agent;
	const struct part *call;
};

static void emit(const struct own_command *c, enum agent_event_kind kind,
		 struct str text)
{
	c->agent->ui.event(c->agent->ui.arg,
			   &(struct agent_event){ .kind = kind,
						  .call = c->call,
						  .text = text });
}

static void on_output(void *arg, struct str delta)
{
	emit(arg, EVENT_TOOL_OUTPUT, delta);
}

static void on_redraw(void *arg, struct str delta, struct str rest)
{
	const struct own_command *c = arg;

	c->agent->ui.event(c->agent->ui.arg,
			   &(struct agent_event){ .kind = EVENT_TOOL_OUTPUT,
						  .call = c->call,
						  .text = delta,
						  .end = rest });
}

/* The tool that runs command lines. */
static const struct tool *running_tool(void)
{
	for (size_t i = 0; tools[i]; i++)
		if (tools[i]->flags & TOOL_RUNS)
			return tools[i];
	return NULL;
}

static char *args_of(const char *command)
{
	cJSON *args = cJSON_CreateObject();
	char *text;

	cJSON_AddStringToObject(args, "command", command);
	text = cJSON_PrintUnformatted(args);
	cJSON_Delete(args);
	return text;
}

int agent_run_own_command(struct agent *a, const char *command,
			  struct buf *told, const struct stop *stop,
			  struct error *err)
{
	struct part call = { .kind = PART_TOOL_CALL,
			     .name = (char *)running_tool()->spec.name,
			     .id = (char *)"own",
			     .args = args_of(command) };
	struct part shown = call; /* what runs is as it was typed */
	struct buf args = BUF_INIT(TOOL_RESULT_BYTES);
	struct own_command c = { a, &shown };
	struct buf out = BUF_INIT(TOOL_RESULT_BYTES);
	struct buf end = BUF_INIT(TOOL_RESULT_BYTES);
	bool failed = false;
	struct tool_env env = {
		.sandbox = a->sandbox,
		.stop = stop,
		.mask = a->mask,
		.thread = a->thread,
		.saved = &a->saved_results,
		.secrets = a->secrets,
		.output = on_output,
		.arg = &c,
		.redraw = a->ui.redraws ? on_redraw : NULL,
		.end = &end,
	};
	int rc;

	mask_text(a->mask, str_of(call.args), &args);
	shown.args = args.ptr;
	emit(&c, EVENT_TOOL_CALL, (struct str){ NULL, 0 });
	rc = tool_call(&env, &call, &out, &failed, err);
	a->ui.event(a->ui.arg, &(struct agent_event){ .kind = EVENT_TOOL_RESULT,
						      .call = &shown,
						      .text = buf_str(&out),
						      .end = buf_str(&end),
						      .failed = failed });
	if (told)
		buf_addf(told,
			 "<user_shell_command>\n<command>%s</command>\n"
			 "<result>\n%s\n</result>\n</user_shell_command>\n",
			 command, out.len ? out.ptr : "");
	cJSON_free(call.args);
	buf_release(&args);
	buf_release(&out);
	buf_release(&end);
	return rc;
}

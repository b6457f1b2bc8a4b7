/* run_wrote.c - what the tools of a run wrote, and that it is about to go. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/print.h"
#include "cmd/session/run.h"
#include "tool/args.h"
#include "tool/result.h"

enum { LINE_MAX_BYTES = 1 << 15, PATH_MAX_BYTES = 1 << 12 };

static bool is_named(const struct run_wrote *w, const char *path)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->files[i], path))
			return true;
	return false;
}

static void add_file(struct run_wrote *w, const struct tool *tool,
		     const struct part *call)
{
	struct buf ignored = BUF_INIT(RESULT_RAW_BYTES);
	cJSON *args = args_read(tool, call, &ignored);
	const char *path = json_string(args, tool->path_arg, NULL);

	if (path && path[0] && strlen(path) < PATH_MAX_BYTES &&
	    !is_named(w, path)) {
		if (w->n < RUN_WROTE_NAMED)
			w->files[w->n++] = xstrdup(path);
		else
			w->more = true;
	}
	cJSON_Delete(args);
	buf_release(&ignored);
}

void run_note_event(struct run *r, const struct agent_event *ev)
{
	const struct tool *tool = ev->call ? tool_find(ev->call->name) : NULL;

	if (!tool || tool->flags & (TOOL_READS | TOOL_SESSION))
		return;
	if (ev->kind == EVENT_TOOL_CALL) {
		r->wrote.any = true;
		r->wrote.commands |= (tool->flags & TOOL_RUNS) != 0;
	} else if (ev->kind == EVENT_TOOL_RESULT && !ev->failed &&
		   tool->path_arg && !(tool->flags & TOOL_DELETES)) {
		add_file(&r->wrote, tool, ev->call);
	}
}

void run_wrote_release(struct run_wrote *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->files[i]);
	*w = (struct run_wrote){ 0 };
}

void run_report_lost(const struct run *r, bool has_tree)
{
	const struct run_wrote *w = &r->wrote;
	struct buf lost = BUF_INIT(LINE_MAX_BYTES);

	for (size_t i = 0; i < w->n; i++)
		buf_addf(&lost, "%s%s", i ? ", " : "", w->files[i]);
	if (w->more)
		buf_adds(&lost, " and others");
	if (w->commands)
		buf_addf(&lost, "%swhat commands wrote", w->n ? "; " : "");
	if (lost.len)
		print_line(r->app, "Lost with the sandbox%s: %s",
			   has_tree ? ", if it was not applied" : "", lost.ptr);
	if (lost.len && has_tree)
		print_line(
			r->app,
			"With [workspace] save = false no patch is saved. To "
			"keep such work: --apply, --keep, or save = true.");
	else if (lost.len)
		print_line(r->app, "Next time: --keep keeps the sandbox, "
				   "--download PATH copies a file out, "
				   "--workspace repo brings changes back.");
	buf_release(&lost);
}

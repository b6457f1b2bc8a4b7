/* run.c - functions that describe a run to other modules. */
/* SPDX-License-Identifier: MIT */

/*
 * Functions that describe a run to other modules and screens: the name of its
 * model, the user's files that it can reach, its mode, how its last answer
 * ended (run_remark_*()), and what its tools may have written
 * (run_note_event(), run_report_lost()).
 */
#include "cmd/session/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/print.h"
#include "sandbox/sandbox.h"
#include "tool/args.h"
#include "tool/result.h"

char *run_model_name(const struct run *r)
{
	return xasprintf("%s:%s", r->choice.provider, r->choice.model);
}

bool run_has_sandbox(const struct run *r)
{
	return !(r->client.provider->flags & SANDBOX_UNISOLATED);
}

/* Appends where the user's files are mounted and, on a shared machine, with
 * whose rights commands run. */
void run_mounts(const struct run *r, struct buf *out)
{
	const struct sandbox *sb = &r->box.sandbox;
	char id[APPROVAL_MACHINE];

	for (size_t i = 0; i < sb->mounts.n; i++) {
		buf_adds(out, i ? ", " : " (");
		sanitize_line(str_of(sb->mounts.list[i].inside), out);
		buf_adds(out, " = ");
		sanitize_line(str_of(sb->mounts.list[i].path), out);
		buf_adds(out, " on this machine");
	}
	buf_adds(out, sb->mounts.n ? ")" : "");
	if (sandbox_is_shared(sb)) {
		buf_adds(out,
			 " (not isolated: commands have a user's rights on ");
		sanitize_line(str_of(sandbox_called(sb, id, sizeof(id))), out);
		buf_addc(out, ')');
	}
}

bool run_allows_all(const struct run *r)
{
	return r->options.yes || r->mode == RUN_YOLO;
}

enum run_mode run_mode_shown(const struct run *r)
{
	enum run_mode mode = (enum run_mode)r->mode;

	return mode != RUN_PLAN && run_allows_all(r) ? RUN_YOLO : mode;
}

/* NULL if the sandbox has no files of the user, or only a copy. */
const char *run_bound_directory(const struct sandbox *sb)
{
	for (size_t i = 0; i < sb->mounts.n; i++)
		if (!strcmp(sb->mounts.list[i].inside, sandbox_tree_dir(sb)))
			return sb->mounts.list[i].path;
	return NULL;
}

enum { LINE_MAX_BYTES = 1 << 15, PATH_MAX_BYTES = 1 << 12 };

static bool is_named(const struct run_wrote *w, const char *path)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->files[i], path))
			return true;
	return false;
}

/* Records the path in a call, as the model wrote it. Only the first
 * RUN_WROTE_NAMED paths are kept, which is enough for a report. */
static void record_file(struct run_wrote *w, const struct tool *tool,
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

/* Any call of a tool that writes counts as a possible change. Paths are
 * recorded only from calls that succeeded. */
void run_note_event(struct run *r, const struct agent_event *ev)
{
	const struct tool *tool = ev->call ? tool_find(ev->call->name) : NULL;

	if (!tool || ev->replayed || tool->flags & (TOOL_READS | TOOL_SESSION))
		return;
	if (ev->kind == EVENT_TOOL_CALL) {
		r->wrote.any = r->wrote.turn = true;
		r->wrote.commands |= (tool->flags & TOOL_RUNS) != 0;
	} else if (ev->kind == EVENT_TOOL_RESULT && !ev->failed &&
		   tool->path_arg && !(tool->flags & TOOL_DELETES)) {
		record_file(&r->wrote, tool, ev->call);
	}
}

void run_wrote_release(struct run_wrote *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->files[i]);
	*w = (struct run_wrote){ 0 };
}

/* Prints nothing if no tool may have written anything. */
void run_report_lost(const struct run *r, bool has_tree)
{
	const struct run_wrote *w = &r->wrote;
	struct buf lost = BUF_INIT(LINE_MAX_BYTES);

	for (size_t i = 0; i < w->n; i++)
		buf_addf(&lost, "%s%s", i ? ", " : "", w->files[i]);
	if (w->more)
		buf_adds(&lost, " and others");
	if (w->commands)
		buf_addf(&lost, "%sfiles written by commands",
			 w->n ? ", and " : "");
	if (lost.len)
		print_line(r->app, "Lost with the sandbox%s: %s",
			   has_tree ? ", if it was not applied" : "", lost.ptr);
	if (lost.len && has_tree)
		print_line(r->app, "No patch was saved because [workspace] "
				   "save = false. To keep changes next time: "
				   "--apply, --keep or save = true.");
	else if (lost.len)
		print_line(r->app,
			   "To keep files next time: --workspace repo (to "
			   "apply the changes), --keep (to keep the sandbox) "
			   "or --download PATH (to copy a file out of it).");
	buf_release(&lost);
}

/* False if the answer is blank, or only characters that dcode removes. */
static bool has_answer(const struct run *r)
{
	struct str text = str_trim(buf_str(&r->agent.answer));
	struct buf shown = BUF_INIT(4 * text.len + 1);
	bool has;

	sanitize_text(text, &shown);
	has = str_trim(buf_str(&shown)).len > 0;
	buf_release(&shown);
	return has;
}

/* Appends the reason given by the vendor's content filter, if any. */
bool run_remark_add(const struct run *r, struct buf *out)
{
	static const char *const words[] = {
		[FINISH_LENGTH] = "the answer was cut at the model's output "
				  "limit; raise max_tokens with --model-params",
		[FINISH_WINDOW] = "the answer was cut: the model's context "
				  "window is full; start a new conversation",
		[FINISH_REFUSAL] = "the model refused to answer; dcode removed "
				   "the request from the conversation: "
				   "rephrase it, or choose another model",
	};
	enum finish finish = r->agent.finish;

	if (finish == FINISH_REFUSAL && r->agent.reason[0] &&
	    strcmp(r->agent.reason, "refusal") != 0)
		buf_addf(out,
			 "the vendor's filter stopped the answer (%s); dcode "
			 "removed the request from the conversation: rephrase "
			 "it, or choose another model",
			 r->agent.reason);
	else if (finish < sizeof(words) / sizeof(words[0]) && words[finish])
		buf_adds(out, words[finish]);
	else if (!has_answer(r) && !r->agent.hook_ended)
		buf_adds(out, "the model returned an empty answer: send the "
			      "message again, or choose another model");
	return out->len > 0;
}

void run_remark(const struct run *r)
{
	struct buf line = BUF_INIT(1 << 10);

	if (!r->options.quiet && run_remark_add(r, &line))
		app_warn("%s", line.ptr);
	buf_release(&line);
}

/* STATUS_REFUSED only if every call that would write or run something was
 * refused. */
int run_remark_outcome(const struct run *r, const char **status,
		       struct error *why)
{
	const struct agent *a = &r->agent;
	struct buf line = BUF_INIT(1 << 10);
	unsigned acts = a->acts;

	/* In plan mode the answer counts, whatever else the model tried. */
	if (a->finish != FINISH_REFUSAL && r->mode != RUN_PLAN && acts &&
	    a->refused_acts == acts) {
		*status = "refused";
		(void)error_set(why, ERR_REFUSED,
				"refused: %s that would write a file or run a "
				"command",
				acts == 1 ? "the only call" : "every call");
		if (!run_allows_all(r)) /* else a hook refused them */
			(void)error_hint(why,
					 "-y allows all calls, -S LIST allows "
					 "some commands, --sandbox NAME runs "
					 "them in a sandbox.");
		error_topic(why, "approvals");
		return STATUS_REFUSED;
	}
	if (a->hook_ended || (a->finish != FINISH_REFUSAL && has_answer(r)))
		return 0;
	*status = "no_answer";
	if (a->finish != FINISH_REFUSAL && a->thought)
		buf_adds(&line, "the model thought but gave no answer: send "
				"the message again, or choose another model");
	else
		(void)run_remark_add(r, &line);
	if (!line.len)
		buf_adds(&line, "the model gave no answer");
	(void)error_set(why, ERR_REMOTE, "%s", line.ptr);
	buf_release(&line);
	return STATUS_NO_ANSWER;
}

/* "finish" is null after a failure. */
void run_remark_json(struct run *r, bool failed, const char *reason,
		     struct buf *out)
{
	static const char *const names[] = {
		[FINISH_STOP] = "stop",     [FINISH_TOOLS] = "tools",
		[FINISH_LENGTH] = "length", [FINISH_REFUSAL] = "refusal",
		[FINISH_WINDOW] = "window",
	};
	enum finish finish = r->agent.finish;

	buf_addf(out, ",\"refused\":%u,\"reason\":",
		 r->agent.refused_acts + (!failed && finish == FINISH_REFUSAL));
	if (reason)
		json_quote(out, str_of(reason));
	else
		buf_adds(out, "null");
	/* what jobs have tried since the last command */
	if (r->session && r->box.sandbox.id)
		contacts_note(&r->contacts, session_id(r->session),
			      &r->box.sandbox, NULL);
	contacts_json(&r->contacts, out);
	if (failed || !finish || finish >= sizeof(names) / sizeof(names[0])) {
		buf_adds(out, ",\"finish\":null,\"finish_reason\":null");
		return;
	}
	buf_addf(out, ",\"finish\":\"%s\",\"finish_reason\":", names[finish]);
	if (r->agent.reason[0])
		json_quote(out, str_of(r->agent.reason));
	else
		buf_adds(out, "null");
}

/* toolrun.c - the tool calls of one answer: order, approval, results. */
/* SPDX-License-Identifier: MIT */
/*
 * In this order: detection of calls that fail repeatedly; approval of one call
 * (approve_call()); a command that the user typed; all calls of an answer (the
 * batch). approve_call() asks the hooks and then agent_ui.approve, which calls
 * run_decide() in cmd/session/policy.c, where the rules are. Begin reading at
 * toolrun(): each group of calls is announced, approved, prepared and run, and
 * each call ends in finish_call(). A lock serialises events, because calls that
 * only read run in parallel.
 */
#include "agent/toolrun.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/history_text.h"
#include "agent/hooked.h"
#include "agent/show.h"
#include "base/diff.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/stop.h"
#include "base/str.h"
#include "model/message.h"
#include "session/thread.h"
#include "tool/args.h"
#include "tool/result.h"

struct batch {
	struct agent *agent;
	const struct stop *stop;
	const struct part **calls; /* all calls of the answer */
	size_t total;
	/* locked while an event is emitted, so that no two overlap */
	pthread_mutex_t events;
};

struct tool_job {
	struct batch *batch;
	const struct part *call;
	size_t number; /* number of the call in the answer, from 1 */
	struct buf out;
	struct error err;
	/* the call's arguments if they were read for its approval; owned, or
	 * NULL */
	cJSON *args;
	char *real_path;  /* approval.real_path; owned, or NULL */
	struct buf opens; /* approval.opens, if the call is allowed */
	/* the call with arguments changed by the user or a hook; args is
	 * owned */
	struct part edited;
	/* text to put before the result: how the call was changed, or what was
	 * prepared */
	struct buf remark;
	struct tool_change change;
	struct buf end;     /* how execute's command ended: tool_env.end */
	struct buf changed; /* agent.watch: the files that it has changed */
	struct listen_note listens; /* with agent.names_ports: new ports */
	struct buf push;            /* agent.push: the branch to push, or "" */
	struct buf masked;          /* what was masked in the result */
	int64_t ran_ms;             /* -1: it did not run */
	struct message media;       /* files attached to the result */
	struct hooked_call hooked;
	bool exempt; /* only known values are masked in its result */
	bool failed;
	bool refused;
	bool unready; /* agent.prepare did not let the call run; out says why */
	bool declined;  /* the user refused the call */
	bool malformed; /* unknown tool or unreadable arguments */
	int exit_code; /* exit status of execute's command; 0 for other tools */
	int rc;
	pthread_t thread;
	bool started;
	bool announced; /* EVENT_TOOL_CALL was emitted */
	bool interrupted;
	unsigned subagent; /* number of the subagent that it starts, or 0 */
};

enum call_end {
	CALL_DONE,
	CALL_FAILED,
	CALL_MALFORMED, /* unknown tool or unreadable arguments */
};

enum {
	MOST_ARGS = 8 << 20,      /* bytes */
	CHANGE_STORED = 64 << 10, /* bytes of the change of an edit */
};

static uint64_t add_hash(uint64_t hash, struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		hash = (hash ^ (unsigned char)text.ptr[i]) * 0x100000001B3u;
	return hash;
}

/* Hashes the tool's name and the arguments (FNV-1a); white space between JSON
 * tokens does not matter. */
static uint64_t hash_call(const struct part *call, enum call_end end)
{
	uint64_t hash = add_hash(0xCBF29CE484222325u, str_of(call->name));
	struct buf text = BUF_INIT(MOST_ARGS);
	cJSON *args;

	if (end == CALL_MALFORMED)
		return add_hash(hash, STR("\n"));
	args = json_parse(str_of(call->args));
	if (args)
		json_print(&text, args);
	hash = add_hash(hash, STR("\t"));
	hash = add_hash(hash, args ? buf_str(&text) : str_of(call->args));
	cJSON_Delete(args);
	buf_release(&text);
	return hash;
}

/* Returns the counter of the call with this hash. A new call replaces the
 * oldest one. */
static struct repeated_call *find_call(struct repeats *r, uint64_t hash)
{
	struct repeated_call *c;

	for (size_t i = 0; i < REPEATS_KEPT; i++)
		if (r->list[i].failures && r->list[i].call == hash)
			return &r->list[i];
	c = &r->list[r->next];
	r->next = (r->next + 1) % REPEATS_KEPT;
	*c = (struct repeated_call){ .call = hash };
	return c;
}

/*
 * Call after each call of a tool: counts a failure, and from REPEATS_NOTE
 * failures on adds a note to the result. A successful call that writes or runs
 * something resets all counts, because the failing call may now succeed; one
 * that only reads does not. All malformed calls of one tool count as the same
 * call. tool is NULL if it is unknown.
 */
static void count_repeats(struct repeats *r, const struct tool *tool,
			  const struct part *call, enum call_end end,
			  struct buf *result)
{
	const unsigned harmless = TOOL_READS | TOOL_SESSION;
	struct repeated_call *c;

	if (end == CALL_DONE) {
		if (tool && !(tool->flags & harmless))
			*r = (struct repeats){ 0 };
		return;
	}
	c = find_call(r, hash_call(call, end));
	c->failures++;
	if (c->failures > r->worst) {
		r->worst = c->failures;
		snprintf(r->name, sizeof(r->name), "%s",
			 call->name ? call->name : "");
	}
	if (c->failures < REPEATS_NOTE)
		return;
	if (end == CALL_MALFORMED)
		buf_addf(result,
			 "\n\n[Calls of this tool could not be read %u times. "
			 "Write the arguments as one JSON object with the "
			 "members that the tool's description names, or try "
			 "another approach.]",
			 c->failures);
	else
		buf_addf(result,
			 "\n\n[The same call has failed %u times. Repeating it "
			 "does not help: change it, or try another approach.]",
			 c->failures);
}

bool toolrun_repeats(const struct repeats *r, struct error *why)
{
	struct buf name = BUF_INIT(4 * sizeof(r->name));

	if (r->worst < REPEATS_END)
		return false;
	sanitize_line(str_of(r->name), &name);
	(void)error_set(
		why, ERR_LIMIT,
		"the model repeats the same failing call (%.*s, %u times)",
		(int)name.len, name.ptr ? name.ptr : "", r->worst);
	(void)error_case(why, CASE_REPEATED_CALLS);
	(void)error_hint(
		why,
		"Tell it what to do instead, or choose another model (-M).");
	buf_release(&name);
	return true;
}

struct own_command {
	struct agent *agent;
	const struct part *call;
};

static void emit_own(const struct own_command *c, enum agent_event_kind kind,
		     struct str text)
{
	show_event(&c->agent->ui, c->agent->mask,
		   &(struct agent_event){ .kind = kind,
					  .call = c->call,
					  .workdir = c->agent->sandbox->workdir,
					  .text = text });
}

static void on_own_output(void *arg, struct str delta)
{
	emit_own(arg, EVENT_TOOL_OUTPUT, delta);
}

static void on_own_redraw(void *arg, struct str delta, struct str rest)
{
	const struct own_command *c = arg;

	show_event(&c->agent->ui, c->agent->mask,
		   &(struct agent_event){ .kind = EVENT_TOOL_OUTPUT,
					  .call = c->call,
					  .text = delta,
					  .end = rest });
}

/* Returns the tool that runs command lines, which is execute. */
static const struct tool *running_tool(void)
{
	for (size_t i = 0; tools[i]; i++)
		if (tools[i]->flags & TOOL_RUNS)
			return tools[i];
	return NULL;
}

/* Returns arguments for execute with this command, as JSON. Free with
 * cJSON_free(). */
static char *args_of(const char *command)
{
	cJSON *args = cJSON_CreateObject();
	char *text;

	cJSON_AddStringToObject(args, "command", command);
	text = cJSON_PrintUnformatted(args);
	cJSON_Delete(args);
	return text;
}

static bool is_watched(const struct agent *a, const struct tool *tool)
{
	return a->watch && tool && tool->flags & TOOL_RUNS;
}

static void begin_watch(const struct agent *a, const struct tool *tool,
			const struct stop *stop)
{
	if (is_watched(a, tool))
		a->watch(a->watch_arg, NULL, stop);
	if (a->ran && tool && tool->flags & TOOL_RUNS)
		a->ran(a->ran_arg, a->sandbox, NULL);
}

/* Call after a call has run. */
static void end_watch(const struct agent *a, const struct tool *tool,
		      const struct part *call, struct buf *changed,
		      const struct stop *stop)
{
	if (is_watched(a, tool))
		a->watch(a->watch_arg, changed, stop);
	if (a->ran && tool && tool->flags & TOOL_RUNS)
		a->ran(a->ran_arg, a->sandbox, call);
}

/* Tells the user, and in out the model, what was masked in the result of a call
 * by its form. Call after the result was shown, whose lines are counted. */
static void tell_masked(const struct agent *a, const struct part *call,
			struct str masked, struct buf *out)
{
	struct buf line = BUF_INIT(1 << 13);

	if (!masked.len)
		return;
	buf_addf(out, "\n[masked: %.*s]", (int)masked.len, masked.ptr);
	buf_addf(&line, "masked in the result of %s: %.*s", call->name,
		 (int)masked.len, masked.ptr);
	show_event(&a->ui, a->mask,
		   &(struct agent_event){ .kind = EVENT_WARNING,
					  .text = buf_str(&line) });
	buf_release(&line);
}

int agent_run_own_command(struct agent *a, const char *command,
			  struct buf *told, const struct stop *stop,
			  struct error *err)
{
	struct part call = { .kind = PART_TOOL_CALL,
			     .name = (char *)running_tool()->spec.name,
			     .id = (char *)"own",
			     .args = args_of(command) };
	struct own_command c = { a, &call };
	struct buf out = BUF_INIT(TOOL_RESULT_BYTES);
	struct buf end = BUF_INIT(TOOL_RESULT_BYTES);
	struct buf changed = BUF_INIT(TOOL_RESULT_BYTES);
	struct buf masked = BUF_INIT(1 << 12);
	struct listen_note listens = { 0 };
	bool failed = false;
	int64_t began;
	int64_t ran_ms;
	struct tool_env env = {
		.sandbox = a->sandbox,
		.stop = stop,
		.mask = a->mask,
		.thread = a->thread,
		.saved = &a->saved_results,
		.secrets = a->secrets,
		.output = on_own_output,
		.arg = &c,
		.redraw = a->ui.redraws ? on_own_redraw : NULL,
		.end = &end,
		.masked = &masked,
		.changed = &changed,
		.listens = a->names_ports ? &listens : NULL,
	};
	int rc;

	emit_own(&c, EVENT_TOOL_CALL, (struct str){ NULL, 0 });
	begin_watch(a, running_tool(), stop);
	began = clock_ms();
	rc = tool_call(&env, &call, &out, &failed, err);
	ran_ms = clock_ms() - began;
	end_watch(a, running_tool(), &call, &changed, stop);
	show_event(&a->ui, a->mask,
		   &(struct agent_event){
			   .kind = EVENT_TOOL_RESULT,
			   .call = &call,
			   .text = buf_str(&out),
			   .end = buf_str(&end),
			   .own = true,
			   .interrupted = rc < 0 && err->code == ERR_CANCELLED,
			   .ran_ms = ran_ms,
			   .changed = buf_str(&changed),
			   .listens = listens,
			   .failed = failed });
	tell_masked(a, &call, buf_str(&masked), &out);
	if (told)
		buf_addf(told,
			 MESSAGE_OWN_COMMAND "%s" MESSAGE_OWN_RESULT
					     "%s" MESSAGE_OWN_END,
			 command, out.len ? out.ptr : "");
	cJSON_free(call.args);
	buf_release(&out);
	buf_release(&end);
	buf_release(&changed);
	buf_release(&masked);
	return rc;
}

/* Emits an event from any thread. No two events overlap. */
static void emit_event(struct batch *b, const struct agent_event *ev)
{
	struct agent_event shown = *ev;

	shown.workdir = b->agent->sandbox->workdir;
	pthread_mutex_lock(&b->events);
	show_event(&b->agent->ui, b->agent->mask, &shown);
	pthread_mutex_unlock(&b->events);
}

/* Returns the tool of the call, or NULL. */
static const struct tool *tool_of(const struct tool_job *job)
{
	return tool_find_among(job->batch->agent->more, job->call->name);
}

/* True if the call's tool has one of these flags. */
static bool has_flag(const struct tool_job *job, unsigned flags)
{
	const struct tool *tool = tool_of(job);

	return tool && tool->flags & flags;
}

/* True if the call would write or run something. */
static bool has_side_effects(const struct tool_job *job)
{
	const struct tool *tool = tool_of(job);

	if (!tool || tool->flags & (TOOL_READS | TOOL_SESSION))
		return false;
	/* Foreign tools that have no MCP server are the web tools, which only
	 * read. */
	return !(tool->flags & TOOL_FOREIGN) || tool->spec.server;
}

/* True if this call's tool is TOOL_SINGLE and the answer calls it more than
 * once. */
static bool is_repeated(const struct tool_job *job)
{
	size_t n = 0;

	if (!has_flag(job, TOOL_SINGLE))
		return false;
	for (size_t i = 0; i < job->batch->total; i++)
		n += !strcmp(job->batch->calls[i]->name, job->call->name);
	return n > 1;
}

/* Sets the result of a call that must not run: why, for the model. */
static void set_refused_result(struct tool_job *job, const struct approval *a)
{
	if (a->reason.len)
		buf_addstr(&job->out, buf_str(&a->reason));
	else
		buf_addf(&job->out, APPROVAL_DECLINED "%s` with id %s",
			 job->call->name, job->call->id);
	job->failed = true;
	job->refused = true;
	job->declined = a->declined;
}

/* Replaces the call's arguments by those that the user edited. */
static void adopt_user_edit(struct tool_job *job, struct approval *a)
{
	char *hooked = job->call == &job->edited ? job->edited.args : NULL;

	approval_describe_edit(a, job->batch->agent->mask, &job->remark);
	job->edited = *job->call;
	job->edited.args = a->edited;
	cJSON_free(hooked);
	job->edited.bad_args = false;
	a->edited = NULL;
	cJSON_Delete(job->args);
	job->args = a->edited_args;
	a->edited_args = NULL;
	job->call = &job->edited;
	emit_event(job->batch, &(struct agent_event){ .kind = EVENT_TOOL_CALL,
						      .call = job->call,
						      .edited = true });
}

static void on_hook_event(void *arg, const struct agent_event *ev)
{
	emit_event(arg, ev);
}

/* Replaces the call's arguments by those that a hook returned, and emits the
 * call again. */
static void adopt_hook_edit(struct tool_job *job)
{
	job->edited = *job->call;
	job->edited.args = job->hooked.args;
	job->edited.bad_args = false;
	job->hooked.args = NULL;
	job->call = &job->edited;
	emit_event(job->batch, &(struct agent_event){ .kind = EVENT_TOOL_CALL,
						      .call = job->call,
						      .edited = true });
	buf_adds(&job->remark, "One of the user's hooks changed this call "
			       "before it ran. Its arguments were:\n");
	buf_adds(&job->remark, job->call->args);
	buf_adds(&job->remark, "\n\nThe result of the changed call:\n");
}

/* Runs the user's hooks for the call. Returns 0 to continue, 1 if they refused
 * the call, -1 if the run was cancelled. */
static int query_hooks(struct tool_job *job, struct approval *a,
		       struct error *err)
{
	struct hooked_call *c = &job->hooked;

	*c = (struct hooked_call){ .emit = on_hook_event, .arg = job->batch };
	if (!a->tool || hooked_before(job->batch->agent, job->call, a->tool, c,
				      job->batch->stop, err) < 0)
		return a->tool ? -1 : 0;
	if (c->args)
		adopt_hook_edit(job);
	a->call = job->call;
	a->hook_allows = c->permission == HOOK_ALLOW;
	a->hook_asks = c->permission == HOOK_ASK;
	if (c->permission != HOOK_DENY)
		return 0;
	buf_addf(&a->reason, "One of the user's hooks refused this call%s%.*s",
		 c->reason.len ? ": " : ".", (int)c->reason.len,
		 c->reason.len ? c->reason.ptr : "");
	set_refused_result(job, a);
	return 1;
}

struct mark_search { /* argument of result_has_mark() */
	struct str mark;
	bool found;
};

static bool result_has_mark(void *arg, struct thread_message *m)
{
	struct mark_search *s = arg;

	for (size_t i = 0; !m->damaged && i < m->message.n; i++) {
		const struct part *p = &m->message.parts[i];
		struct str text = str_of(p->text);

		s->found |= p->kind == PART_TOOL_RESULT &&
			    str_search(text, s->mark) < text.len;
	}
	return !s->found;
}

/* True if a result of this thread has the mark: of this run, or a stored
 * one. */
static bool was_given(const struct agent *a, struct str mark)
{
	struct mark_search s = { .mark = mark };
	struct error ignored = { 0 };
	struct store *store;
	int64_t no = 0;

	if (a->mask && mask_has_written(a->mask, mark))
		return true;
	store = a->session ? session_store(a->session, &no) : NULL;
	if (no)
		(void)thread_each_message(store, no, result_has_mark, &s,
					  &ignored);
	return s.found;
}

/* Refuses a call that would write a mask into a file: it would replace the
 * credential that was masked. */
static bool refuse_masked_text(const struct tool_job *job,
			       const struct approval *a, const cJSON *args,
			       struct buf *reason)
{
	const char *const names[] = { a->tool->old_arg, a->tool->new_arg };

	for (size_t i = 0; args && i < 2; i++) {
		struct str text =
			str_of(names[i] ? json_string(args, names[i], "") : "");
		struct str mark;

		while (mask_take_mark(&text, &mark)) {
			if (!was_given(job->batch->agent, mark))
				continue;
			buf_addf(reason,
				 "Error: nothing was written, because %s has "
				 "%.*s, which dcode has put in place of a "
				 "credential: the file would lose it. Leave "
				 "that line out: change the lines around it "
				 "with edit_file, or ask the user to change "
				 "it.",
				 names[i], (int)mark.len, mark.ptr);
			return true;
		}
	}
	return false;
}

/* Asks for approval. Not for a call that the tool would reject anyway: the
 * arguments are read and checked here, and tool_call() gets the result. Returns
 * -1 if the run was cancelled. */
static int approve_call(struct tool_job *job, struct error *err)
{
	const struct agent_ui *ui = &job->batch->agent->ui;
	struct buf ignored = BUF_INIT(RESULT_RAW_BYTES);
	struct approval a = { .call = job->call,
			      .tool = tool_of(job),
			      .number = job->number,
			      .total = job->batch->total,
			      .later = job->batch->calls + job->number,
			      .n_later = job->batch->total - job->number,
			      .reason = BUF_INIT(1 << 16),
			      .place = BUF_INIT(1 << 16) };
	int rc = 0;

	if (is_repeated(job)) {
		buf_addf(&a.reason,
			 "Error: `%s` must not be called more than once in "
			 "one answer: none of these calls has run. Call it "
			 "again, once.",
			 job->call->name);
		set_refused_result(job, &a);
	} else {
		rc = query_hooks(job, &a, err);
	}
	if (rc == 0 && !job->refused && a.tool && ui->approve)
		job->args = args_read(a.tool, job->call, &ignored);
	job->malformed =
		!job->refused && (!a.tool || (ui->approve && !job->args));
	rc = rc < 0 ? -1 : 0;
	a.args = job->args;
	if (job->args && refuse_masked_text(job, &a, job->args, &a.reason))
		set_refused_result(job, &a);
	else if (job->args && ui->approve)
		rc = ui->approve(ui->arg, &a, job->batch->stop, err);
	if (job->args && rc == 0 && !job->refused && !a.allowed)
		set_refused_result(job, &a);
	else if (rc == 0 && a.edited)
		adopt_user_edit(job, &a);
	job->real_path = a.real_path;
	a.real_path = NULL;
	if (a.allowed) {
		job->opens = a.opens;
		a.opens = (struct buf){ 0 };
	}
	job->change = a.change;
	a.change = (struct tool_change){ 0 };
	approval_release(&a);
	buf_release(&ignored);
	return rc;
}

enum {
	MOST_AT_ONCE = 8,
	/* subagents that run at once; they mostly wait for the model */
	MOST_SUBAGENTS = 20,
	MAX_RESULT = 64 << 20, /* bytes; the tools' own limits are far lower */
};

static void on_output(void *arg, struct str delta)
{
	struct tool_job *job = arg;

	emit_event(job->batch, &(struct agent_event){ .kind = EVENT_TOOL_OUTPUT,
						      .call = job->call,
						      .text = delta });
}

static void on_redraw(void *arg, struct str delta, struct str rest)
{
	struct tool_job *job = arg;

	emit_event(job->batch, &(struct agent_event){ .kind = EVENT_TOOL_OUTPUT,
						      .call = job->call,
						      .text = delta,
						      .end = rest });
}

static int on_recall(void *arg, const struct tool_recall *what, struct buf *out,
		     struct error *err)
{
	struct tool_job *job = arg;

	return history_text_recall(job->batch->agent, what, out, err);
}

static int on_delegate(void *arg, const struct tool_delegation *what,
		       struct buf *out, struct error *err)
{
	const struct tool_job *job = arg;
	struct agent *a = job->batch->agent;
	const struct delegation d = { a, job->call, job->subagent, what,
				      job->batch->stop };

	return a->delegate(a->delegate_arg, &d, out, err);
}

static bool on_offers(void *arg, const char *tool)
{
	const struct tool_job *job = arg;

	return model_offers(job->batch->agent->model, tool);
}

/* Returns the path that the call acts on, absolute; owned, or NULL. */
static char *path_of(const struct tool_job *job)
{
	const struct tool *tool = tool_of(job);
	struct error ignored = { 0 };
	cJSON *args = json_parse(str_of(job->call->args));
	char *path = NULL;

	if (tool && tool->path_arg)
		(void)paths_resolve(job->batch->agent->sandbox->workdir,
				    json_string(args, tool->path_arg, ""),
				    &path, &ignored);
	cJSON_Delete(args);
	return path;
}

/* Returns the file that the call writes; owned, or NULL: it writes none, or
 * agent.writes is not set. */
static char *written_path(const struct tool_job *job)
{
	const struct agent *a = job->batch->agent;
	const struct tool *tool = tool_of(job);
	char *path;
	char *real;

	if (!a->writes || !tool || !tool->path_arg ||
	    tool->flags & (TOOL_READS | TOOL_RUNS | TOOL_SESSION) ||
	    !(a->sandbox->client->provider->flags & SANDBOX_UNISOLATED))
		return NULL;
	if (job->real_path)
		return xstrdup(job->real_path);
	path = path_of(job);
	real = path && !(tool->flags & TOOL_DELETES) ? realpath(path, NULL)
						     : NULL;
	if (!real) /* it is new, or the link itself is deleted */
		return path;
	free(path);
	return real;
}

static void tell_write(const struct tool_job *job, const char *path, bool after)
{
	const struct agent *a = job->batch->agent;

	if (path)
		a->writes(a->writes_arg, path, after);
}

/* True if the call reads a file that a pattern of agent.exempt names: relative
 * to the working directory, or absolute. */
static bool is_exempt(const struct tool_job *job)
{
	const struct agent *a = job->batch->agent;
	const struct tool *tool = tool_of(job);
	char *path;
	bool is = false;
	size_t dir;

	if (!a->n_exempt || !tool || !tool->path_arg ||
	    strcmp(tool->spec.name, "read_file") != 0)
		return false;
	path = path_of(job);
	if (path) {
		dir = strlen(a->sandbox->workdir);
		for (size_t i = 0; i < a->n_exempt; i++)
			is |= fnmatch(a->exempt[i], path, 0) == 0 ||
			      (!strncmp(path, a->sandbox->workdir, dir) &&
			       path[dir] == '/' &&
			       fnmatch(a->exempt[i], path + dir + 1, 0) == 0);
	}
	free(path);
	return is;
}

/* Runs one call. Thread: a tool thread, or the agent's. */
static void *run_job(void *arg)
{
	struct tool_job *job = arg;
	char *path;
	int64_t began;
	struct tool_env env = {
		.more = job->batch->agent->more,
		.args = job->args,
		.sandbox = job->batch->agent->sandbox,
		.stop = job->batch->stop,
		.mask = job->batch->agent->mask,
		.real_path = job->real_path,
		.opens = job->opens.len ? job->opens.ptr : NULL,
		.caller = job->batch->agent->label,
		.thread = job->batch->agent->thread,
		.saved = &job->batch->agent->saved_results,
		.secrets = job->batch->agent->secrets,
		.change = job->batch->agent->ui.changes ||
					  job->batch->agent->session
				  ? &job->change
				  : NULL,
		.media = &job->media,
		.exit_code = &job->exit_code,
		.offers = on_offers,
		.output = on_output,
		.recall = on_recall,
		.delegate = job->batch->agent->delegate ? on_delegate : NULL,
		.shares_sandbox = agent_shares_sandbox(job->batch->agent),
		.arg = job,
		.redraw = job->batch->agent->ui.redraws ? on_redraw : NULL,
		.end = &job->end,
		.masked = &job->masked,
		.changed = &job->changed,
		.push = &job->push,
		.listens =
			job->batch->agent->names_ports ? &job->listens : NULL,
		.ask = job->batch->agent->ui.ask,
		.ask_arg = job->batch->agent->ui.arg,
		.plan = job->batch->agent->plan,
		.web = job->batch->agent->web,
	};

	if (job->refused || job->unready)
		return NULL;
	job->exempt = is_exempt(job);
	if (job->exempt)
		env.mask = mask_values(env.mask);
	begin_watch(job->batch->agent, tool_of(job), job->batch->stop);
	path = written_path(job);
	tell_write(job, path, false);
	began = clock_ms();
	job->rc =
		tool_call(&env, job->call, &job->out, &job->failed, &job->err);
	job->ran_ms = clock_ms() - began;
	end_watch(job->batch->agent, tool_of(job), job->call, &job->changed,
		  job->batch->stop);
	job->interrupted = job->rc < 0 && job->err.code == ERR_CANCELLED;
	if (job->rc == 0)
		job->rc = hooked_after(
			job->batch->agent, job->call,
			&(struct hooked_result){ job->failed, &job->out },
			&job->hooked, job->batch->stop, &job->err);
	tell_write(job, path,
		   true); /* after hooks, which may format the file */
	free(path);
	return NULL;
}

/* Sets the result of a call that did not run because the turn ended. The result
 * of a refused call stays, because it tells the model why. */
static void set_cancelled_result(struct tool_job *job)
{
	if (job->refused)
		return;
	buf_clear(&job->out);
	result_add_cancelled(job->call, false, &job->out);
	job->failed = job->interrupted = true;
}

/* Emits EVENT_TOOL_CALL, unless that was done. Every result, even of a
 * cancelled call, must follow its call in the events. */
static void announce_call(struct tool_job *job)
{
	if (job->announced)
		return;
	job->announced = true;
	emit_event(job->batch, &(struct agent_event){ .kind = EVENT_TOOL_CALL,
						      .call = job->call });
}

static void on_notice(void *arg, const char *line)
{
	emit_event(arg, &(struct agent_event){ .kind = EVENT_WARNING,
					       .text = str_of(line) });
}

/* Numbers the subagents of a group in the order of the calls. The threads would
 * number them in any order. */
static void number_subagents(struct tool_job *jobs, size_t n)
{
	const struct agent *a = jobs->batch->agent;

	for (size_t i = 0; i < n && a->number_delegate; i++)
		if (has_flag(&jobs[i], TOOL_DELEGATES) && !jobs[i].refused &&
		    !jobs[i].unready)
			jobs[i].subagent = a->number_delegate(a->delegate_arg);
}

/* Starts all calls of a group except the first, each on its own thread. */
static void start_others(struct tool_job *jobs, size_t n)
{
	for (size_t i = 1; i < n; i++)
		jobs[i].started = pthread_create(&jobs[i].thread, NULL, run_job,
						 &jobs[i]) == 0;
}

/* Waits for these threads. If one could not be started, runs its call here. */
static void join_others(struct tool_job *jobs, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (jobs[i].started)
			pthread_join(jobs[i].thread, NULL);
		else
			run_job(&jobs[i]);
	}
}

/* Puts job->remark before the result. */
static void prepend_remark(struct tool_job *job)
{
	if (!job->remark.len || job->refused)
		return;
	buf_addstr(&job->remark, buf_str(&job->out));
	buf_release(&job->out);
	job->out = job->remark;
	job->remark = (struct buf){ 0 };
}

/* Attaches the call's files to the message, as many as fit into it. */
static void attach_media(struct tool_job *job, struct message *results)
{
	for (size_t i = 0; i < job->media.n; i++) {
		struct part *p = &job->media.parts[i];

		if (message_media_bytes(results) + p->n_bytes <=
		    MEDIA_MESSAGE_BYTES)
			message_move(results, p);
	}
	message_release(&job->media);
}

/* Adds a note to the result if the call's files do not all fit into the
 * message. */
static void check_media(const struct tool_job *job,
			const struct message *results, struct buf *out)
{
	if (job->media.n &&
	    message_media_bytes(results) + message_media_bytes(&job->media) >
		    MEDIA_MESSAGE_BYTES)
		buf_addf(out,
			 "\nNot shown: with the other files that were read at "
			 "the same time it is larger than %d bytes. Read this "
			 "file alone.",
			 MEDIA_MESSAGE_BYTES);
}

/* Updates agent.acts, agent.refused_acts and the counts of repeated calls. */
static void count_call(struct tool_job *job)
{
	struct agent *a = job->batch->agent;
	struct agent *root = a->parent ? a->parent : a;
	bool failed = job->failed || job->exit_code != 0;

	if (job->rc < 0)
		return; /* the turn ends anyway */
	if (!job->malformed && has_side_effects(job)) {
		root->acts++;
		root->refused_acts += job->refused;
	}
	count_repeats(&a->repeats, tool_of(job), job->call,
		      job->malformed ? CALL_MALFORMED
		      : failed       ? CALL_FAILED
				     : CALL_DONE,
		      &job->out);
}

/* Tells the model, once, which shell and system the sandbox has: in the first
 * result after the sandbox has reported them. */
static void add_facts(const struct tool_job *job, struct buf *out)
{
	struct agent *a = job->batch->agent;

	if (a->told_facts || job->refused || job->rc < 0 ||
	    atomic_load(&a->sandbox->facts_known) != FACTS_KNOWN)
		return;
	a->told_facts = true;
	buf_adds(out, "\n[");
	facts_describe(&a->sandbox->facts, out);
	buf_addc(out, ']');
}

/* Tells the model the working directory if that is not the one it was told
 * before the sandbox existed. */
static void add_start(const struct tool_job *job, struct buf *out)
{
	struct agent *a = job->batch->agent;

	if (!a->untold_dir || job->refused || job->rc < 0)
		return;
	a->untold_dir = false;
	buf_addf(out,
		 "\n[The setup script of this sandbox ended in %s. That is the "
		 "working directory: commands and relative paths start there.]",
		 a->sandbox->workdir);
}

/* If the command wanted to push a branch, asks the user and adds the answer. */
static void finish_push(struct tool_job *job, struct buf *out)
{
	const struct agent *a = job->batch->agent;

	if (!job->push.len || job->rc < 0)
		return;
	buf_addf(out, "\n[git push of %s: ", job->push.ptr);
	if (a->push)
		a->push(a->push_arg, job->push.ptr, out);
	else
		buf_adds(out, "only the main agent of a chat can push.");
	buf_addc(out, ']');
}

/* Returns what is stored of the change, owned. NULL: nothing, or too much. */
static char *describe_change(const struct tool_job *job)
{
	struct buf text = BUF_INIT(CHANGE_STORED);

	diff_store(buf_str(&job->change.before), buf_str(&job->change.after),
		   &text);
	if (text.len && !text.over)
		return buf_detach(&text);
	buf_release(&text);
	return NULL;
}

/* Adds the call's result to the message, emits it and releases the job. Returns
 * -1 if the turn must end. */
static int finish_call(struct tool_job *job, struct message *results,
		       struct error *err)
{
	struct part *p = message_add(results, PART_TOOL_RESULT);
	bool changed = job->change.known && !job->failed;
	struct str text;

	prepend_remark(job);
	check_media(job, results, &job->out);
	count_call(job);
	add_facts(job, &job->out);
	add_start(job, &job->out);
	finish_push(job, &job->out);
	text = buf_str(&job->out);
	p->id = xstrdup(job->call->id);
	p->name = xstrdup(job->call->name);
	p->failed = job->failed;
	p->exempt = job->exempt;
	if (changed && job->batch->agent->session)
		p->change = describe_change(job);
	announce_call(job);
	emit_event(job->batch,
		   &(struct agent_event){
			   .kind = EVENT_TOOL_RESULT,
			   .call = job->call,
			   .text = text,
			   .end = buf_str(&job->end),
			   .changed = buf_str(&job->changed),
			   .listens = job->listens,
			   .ran_ms = job->ran_ms,
			   .interrupted = job->interrupted,
			   .failed = job->failed,
			   .exempt = job->exempt,
			   .declined = job->declined,
			   .unchanged = job->failed && job->change.none,
			   .change = changed ? &job->change : NULL });
	tell_masked(job->batch->agent, job->call, buf_str(&job->masked),
		    &job->out);
	p->text = buf_detach(&job->out);
	attach_media(job, results);
	cJSON_Delete(job->args);
	free(job->real_path);
	buf_release(&job->opens);
	cJSON_free(job->edited.args);
	buf_release(&job->remark);
	buf_release(&job->end);
	buf_release(&job->changed);
	buf_release(&job->push);
	buf_release(&job->masked);
	tool_change_release(&job->change);
	hooked_merge_end(job->batch->agent, &job->hooked.end);
	hooked_call_release(&job->hooked);
	if (job->rc < 0)
		*err = job->err;
	return job->rc;
}

/* Returns how many of the next calls may run in parallel: calls that only read,
 * or subagents. At least 1. */
static size_t group_size(const struct tool_job *jobs, size_t n)
{
	static const struct {
		unsigned flag;
		size_t most;
	} kinds[] = { { TOOL_READS, MOST_AT_ONCE },
		      { TOOL_DELEGATES, MOST_SUBAGENTS } };
	size_t size = 1;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		while (has_flag(&jobs[0], kinds[k].flag) && size < n &&
		       size < kinds[k].most &&
		       has_flag(&jobs[size], kinds[k].flag))
			size++;
	return size;
}

/* Announces and approves each call of a group in order. */
static int approve_group(struct tool_job *jobs, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		announce_call(&jobs[i]);
		if (approve_call(&jobs[i], err) < 0 ||
		    stop_check(jobs->batch->stop, err) < 0)
			return -1;
	}
	return 0;
}

/* Calls agent.prepare for those calls that were not refused, and puts its
 * remark before their results. */
static int prepare_group(struct tool_job *jobs, size_t n, struct error *err)
{
	const struct agent *a = jobs->batch->agent;
	struct buf remark = BUF_INIT(RESULT_RAW_BYTES);
	const struct part *calls[MOST_SUBAGENTS];
	size_t runs = 0;
	int rc;

	for (size_t i = 0; i < n; i++)
		if (!jobs[i].refused)
			calls[runs++] = jobs[i].call;
	if (!a->prepare || !runs)
		return 0;
	rc = a->prepare(a->prepare_arg, calls, runs, &remark, jobs->batch->stop,
			err);
	for (size_t i = 0; i < n; i++) {
		if (rc > 0 && !jobs[i].refused) {
			buf_addstr(&jobs[i].out, buf_str(&remark));
			jobs[i].failed = jobs[i].unready = true;
		} else {
			buf_addstr(&jobs[i].remark, buf_str(&remark));
		}
	}
	buf_release(&remark);
	return rc < 0 ? -1 : 0;
}

/* True if the call may have changed files in the sandbox, so these must be
 * checked. False in a subagent: the parent's call of task counts, so that the
 * check runs on one thread. */
static bool changes_files(const struct tool_job *job)
{
	const unsigned without = TOOL_READS | TOOL_SESSION | TOOL_FOREIGN;

	return !job->batch->agent->parent &&
	       (has_flag(job, TOOL_DELEGATES) || !has_flag(job, without));
}

int toolrun(struct agent *a, const struct message *reply,
	    struct message *results, const struct stop *stop, struct error *err)
{
	struct batch batch = { .agent = a, .stop = stop };
	struct tool_job *jobs = xcalloc(reply->n, sizeof(*jobs));
	const struct part **calls = xcalloc(reply->n, sizeof(struct part *));
	size_t n = 0;
	int rc = 0;

	pthread_mutex_init(&batch.events, NULL);
	results->role = ROLE_TOOL;
	for (size_t i = 0; i < reply->n; i++) {
		if (reply->parts[i].kind != PART_TOOL_CALL)
			continue;
		jobs[n].batch = &batch;
		jobs[n].call = calls[n] = &reply->parts[i];
		jobs[n].remark = BUF_INIT(MAX_RESULT);
		jobs[n].out = BUF_INIT(MAX_RESULT);
		jobs[n].end = BUF_INIT(TOOL_RESULT_BYTES);
		jobs[n].changed = BUF_INIT(TOOL_RESULT_BYTES);
		jobs[n].push = BUF_INIT(TOOL_RESULT_BYTES);
		jobs[n].masked = BUF_INIT(1 << 12);
		jobs[n].ran_ms = -1;
		jobs[n].number = n + 1;
		n++;
	}
	batch.calls = calls;
	batch.total = n;
	for (size_t at = 0, size; at < n; at += size) {
		struct tool_job *group = jobs + at;

		size = group_size(group, n - at);
		if (rc == 0)
			rc = approve_group(group, size, err);
		if (rc == 0)
			rc = prepare_group(group, size, err);
		if (rc == 0) {
			number_subagents(group, size);
			start_others(group, size);
			run_job(group);
			join_others(group, size);
		}
		if (rc == 0 && changes_files(group))
			sandbox_check(a->sandbox, false, on_notice, &batch);
		for (size_t i = 0; i < size && rc < 0; i++)
			set_cancelled_result(&group[i]);
		for (size_t i = 0; i < size; i++)
			if (finish_call(&group[i], results, err) < 0)
				rc = -1;
	}
	pthread_mutex_destroy(&batch.events);
	free(jobs);
	free(calls);
	return rc;
}

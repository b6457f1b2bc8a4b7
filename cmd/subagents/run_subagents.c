/* run_subagents.c - runs a run's subagents: starts, shows and ends them. */
/* SPDX-License-Identifier: MIT */
/*
 * A call of the task tool creates a child: an agent with its own model, prompt
 * and tools. It works on the thread that runs the call. Begin reading at
 * delegate(). The first part of the file forwards the events and questions of
 * all children, one at a time. Then follow the parts of a child, and its end.
 * subagent_sandbox.c gives a child its own sandbox; src/subagents reads the
 * files that define subagents.
 */
#include "cmd/subagents/run_subagents.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/hooked.h"
#include "agent/prompt.h"
#include "agent/show.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/hosts.h"
#include "cmd/print.h"
#include "cmd/project_trust.h"
#include "cmd/session/money.h"
#include "cmd/session/policy.h"
#include "cmd/session/run.h"
#include "cmd/session/skills.h"
#include "cmd/subagents/subagent_sandbox.h"
#include "mcp/mcp.h"
#include "model/money.h"
#include "tool/result.h"
#include "ui/summary.h"

enum {
	LINE_BYTES = 1 << 14,
	TURN_MS = 50,
	PROGRESS_MS = 250,   /* between two events about the tokens so far */
	BYTES_PER_TOKEN = 4, /* of an answer whose usage is not known yet */
};

/* agent_ui.event callback of the run's agent, also used for a child: forwards
 * one event at a time. */
static void forward_event(void *arg, const struct agent_event *ev)
{
	struct run_subagents *s = arg;

	pthread_mutex_lock(&s->events);
	s->ui.event(s->ui.arg, ev);
	pthread_mutex_unlock(&s->events);
}

/* Waits until no other child is asking the user something, which may take
 * hours. Returns -1 with err if stop ends the wait. Call end_turn() after the
 * question. */
static int wait_for_turn(struct run_subagents *s, const struct stop *stop,
			 struct error *err)
{
	while (pthread_mutex_trylock(&s->questions))
		if (stop_sleep(stop, TURN_MS, err) < 0)
			return -1;
	if (!s->ui.apart)
		pthread_mutex_lock(&s->events);
	return 0;
}

/* Lets the next child ask. */
static void end_turn(struct run_subagents *s)
{
	if (!s->ui.apart)
		pthread_mutex_unlock(&s->events);
	pthread_mutex_unlock(&s->questions);
}

/* Checks stop after the wait, because the user may have stopped all agents
 * meanwhile. */
static int forward_approval(void *arg, struct approval *a,
			    const struct stop *stop, struct error *err)
{
	struct run_subagents *s = arg;
	int rc;

	if (wait_for_turn(s, stop, err) < 0)
		return -1;
	rc = stop_check(stop, err);
	if (rc == 0)
		rc = s->ui.approve(s->ui.arg, a, stop, err);
	end_turn(s);
	return rc;
}

static int forward_question(void *arg, struct inquiry *q, enum inquiry_end *end,
			    const struct stop *stop, struct error *err)
{
	struct run_subagents *s = arg;
	int rc;

	if (wait_for_turn(s, stop, err) < 0)
		return -1;
	rc = s->ui.ask(s->ui.arg, q, end, stop, err);
	end_turn(s);
	return rc;
}

/* Returns the run's cap on costs, in the meter's units. */
static int64_t cap_of(const struct run *r)
{
	struct meter_total total;

	meter_total(r->app->meter, &total);
	return total.cap;
}

/* agent.raise callback. If several children reach the cap at once, the first
 * one asks the user, and the answer counts for all. */
static bool raise_cap(void *arg)
{
	struct child *c = arg;
	struct run_subagents *s = c->all;
	int64_t cap = cap_of(c->run);
	struct error ignored = { 0 };
	bool raised = false;

	subagent_list_note(&s->list, c->number,
			   "waits for you: --max-usd is reached");
	if (wait_for_turn(s, &c->stop, &ignored) < 0)
		return false;
	if (cap_of(c->run) != cap)
		raised = true;
	else if (s->declined != cap && stop_check(&c->stop, &ignored) == 0)
		raised = c->run->raise(c->run);
	if (!raised)
		s->declined = cap;
	end_turn(s);
	return raised;
}

/* Emits what the child is doing. step is NULL if that is all. Call with the
 * lock on events held. */
static void emit_progress(struct child *c, const struct subagent_step *step,
			  struct str text)
{
	c->shown = clock_ms();
	show_event(&c->all->ui, c->run->app->mask,
		   &(struct agent_event){
			   .kind = EVENT_SUBAGENT,
			   .call = c->order->call,
			   .text = text,
			   .end = str_of(c->doing),
			   .progress = { .number = c->number,
					 .calls = c->running > 0,
					 .tokens = c->tokens +
						   (int64_t)c->arrived /
							   BYTES_PER_TOKEN },
			   .subagent = step });
}

/* Reports a step of the child to the run's screens. inner is the child's event,
 * or NULL. text, if any, is shown as a line. */
static void emit_step(struct child *c, const struct agent_event *inner,
		      bool over, const char *end, const char *text)
{
	struct run_subagents *s = c->all;
	struct subagent_step step = { .type = c->kind->name,
				      .number = c->number,
				      .event = inner,
				      .over = over,
				      .end = end };
	struct buf line = BUF_INIT(LINE_BYTES);

	if (text && text[0])
		buf_addf(&line, "%s: %.4000s\n", c->label, text);
	pthread_mutex_lock(&s->events);
	if (inner)
		run_note_event(c->run, inner);
	emit_progress(c, &step, buf_str(&line));
	pthread_mutex_unlock(&s->events);
	buf_release(&line);
}

/* Sets what the child is doing: a call, or text without a call. */
static void set_doing(struct child *c, struct str what)
{
	what.len =
		what.len < sizeof(c->doing) ? what.len : sizeof(c->doing) - 1;
	what.len = str_utf8_prefix(what);
	memcpy(c->doing, what.ptr, what.len);
	c->doing[what.len] = '\0';
	subagent_list_note(&c->all->list, c->number, c->doing);
}

static void on_call(struct child *c, const struct agent_event *ev)
{
	struct buf line = BUF_INIT(LINE_BYTES);

	summary_of_call(ev->call, ev->workdir, &line);
	if (print_is_ascii(c->run->app))
		summary_to_ascii(&line);
	c->running++;
	set_doing(c, buf_str(&line));
	emit_step(c, ev, false, NULL, line.ptr);
	buf_release(&line);
}

static void on_text(struct child *c, const struct agent_event *ev)
{
	struct buf line = BUF_INIT(LINE_BYTES);

	buf_addstr(&line, ev->text);
	emit_step(c, ev, false, NULL, line.ptr);
	buf_release(&line);
}

/* Notes a piece of the child's answer or thinking; what: "answering". */
static void on_delta(struct child *c, const struct agent_event *ev,
		     const char *what)
{
	bool begins = strcmp(c->doing, what) != 0;

	c->arrived += ev->text.len;
	set_doing(c, str_of(what));
	if (!begins && clock_ms() - c->shown < PROGRESS_MS)
		return;
	pthread_mutex_lock(&c->all->events);
	emit_progress(c, NULL, (struct str){ 0 });
	pthread_mutex_unlock(&c->all->events);
}

/* Counts like the chat's own progress row: without what was read from a
 * cache. */
static void on_turn(struct child *c, const struct agent_event *ev)
{
	const struct usage *u = ev->usage;

	c->arrived = 0;
	c->tokens += u->input + u->cache_write + u->output;
	subagent_list_add_usage(&c->all->list, c->number, u);
	emit_step(c, ev, false, NULL, NULL);
}

/* agent_ui.event callback of a child: reports its events as steps, and updates
 * its row in the list of subagents. */
static void on_event(void *arg, const struct agent_event *ev)
{
	struct child *c = arg;

	switch (ev->kind) {
	case EVENT_TEXT:
		on_delta(c, ev, "answering");
		break;
	case EVENT_THINKING:
		on_delta(c, ev, "thinking");
		break;
	case EVENT_TOOL_CALL:
		on_call(c, ev);
		break;
	case EVENT_TOOL_RESULT:
		c->running -= c->running > 0;
		if (!c->running)
			set_doing(c, STR("waiting for the model"));
		emit_step(c, ev, false, NULL, NULL);
		break;
	case EVENT_TURN:
		on_turn(c, ev);
		break;
	case EVENT_RESTART:
		c->arrived = 0;
		if (ev->thought)
			break;
		set_doing(c, STR("waiting for the model"));
		/* fall through */
	case EVENT_WARNING:
	case EVENT_COMPACT:
		on_text(c, ev);
		break;
	case EVENT_TERMINAL:
		forward_event(c->all, ev);
		break;
	default:
		break;
	}
}

/* Checks a call against the tools in the subagent's file: a model may call a
 * tool that it was not offered. */
static bool is_permitted(const struct child *c, struct approval *a)
{
	const char *name = a->tool->spec.name;

	if (!(a->tool->flags & (TOOL_INTERACTIVE | TOOL_SINGLE)) &&
	    (a->tool->flags & TOOL_DELEGATES ||
	     subagent_has_tool(c->kind, name, a->tool->hook_name)))
		return true;
	buf_addf(&a->reason, "%s is not available to this subagent.", name);
	a->allowed = false;
	return false;
}

static int on_approve(void *arg, struct approval *a, const struct stop *stop,
		      struct error *err)
{
	struct child *c = arg;

	if (!is_permitted(c, a))
		return 0;
	a->subagent = c->label;
	a->acts_in = c->agent.sandbox;
	return forward_approval(c->all, a, stop, err);
}

/* Returns the callbacks of the child's agent. */
static struct agent_ui child_ui(struct child *c)
{
	return (struct agent_ui){ .event = on_event,
				  .approve = on_approve,
				  .arg = c };
}

enum {
	MOST_TOOLS = 64 + MCP_ALL_TOOLS_MAX,
	PROMPT_MAX = 1 << 20,
	ANSWER_MAX = 64 << 20,
	NAMES_MAX = 8 << 10,
};

struct child_tools {
	struct tool_spec specs[MOST_TOOLS]; /* each with an owned schema */
	size_t n;
	bool runs_commands;
};

static bool offers_tool(const struct child *c, const struct tool *tool)
{
	const unsigned never =
		TOOL_LATER | TOOL_INTERACTIVE | TOOL_DELEGATES | TOOL_SINGLE;

	return !(tool->flags & never) && run_offers(c->run, tool) &&
	       !plan_mode_hides(c->run, tool) &&
	       subagent_has_tool(c->kind, tool->spec.name, tool->hook_name);
}

static void add_tools(struct child_tools *t, const struct child *c,
		      const struct tool *const *list)
{
	for (size_t i = 0; list && list[i] && t->n < MOST_TOOLS; i++) {
		if (!offers_tool(c, list[i]))
			continue;
		t->specs[t->n] = list[i]->spec;
		t->specs[t->n++].schema = tool_schema(
			list[i],
			list[i]->flags & TOOL_RUNS &&
				hosts_are_offered(&c->run->client,
						  c->agent.sandbox,
						  &c->run->options.network));
		t->runs_commands |= (list[i]->flags & TOOL_RUNS) != 0;
	}
}

/* Drops warnings about the memory, which the run has printed already. */
static void ignore_line(const char *line)
{
	(void)line;
}

/* Opens the child's model with a system prompt for its sandbox. */
static int open_model(struct child *c, struct meter_model *account,
		      struct error *err)
{
	struct run *r = c->run;
	struct child_tools *t = xcalloc(1, sizeof(*t));
	struct buf prompt = BUF_INIT(PROMPT_MAX);
	char *name = xasprintf("%s:%s", c->choice->provider, c->choice->model);
	struct prompt_facts facts = {
		.config_dir = settings_dir(r->app->settings),
		.cwd = settings_cwd(r->app->settings),
		.model = name,
		.sandbox = c->agent.sandbox,
		.subagent = c->kind->body ? c->kind->body : "",
		.agent = r->options.agent,
		.skills = c->agent.prepare ? &r->skills->all : NULL,
		.skills_root = run_skills_root(r),
	};
	struct model_brief brief = { .tools = t->specs,
				     .meter = account,
				     .mask = r->app->mask };
	int rc;

	add_tools(t, c, tools);
	add_tools(t, c, c->agent.more);
	facts.runs_commands = t->runs_commands;
	brief.n_tools = t->n;
	prompt_build(&facts, &prompt, ignore_line);
	brief.system = prompt.ptr;
	rc = model_open(&c->model, app_http(r->app), c->choice, &brief, err);
	for (size_t i = 0; i < t->n; i++)
		free((char *)t->specs[i].schema);
	free(t);
	buf_release(&prompt);
	free(name);
	return rc;
}

/* Prints each remark once per kind of subagent. */
__attribute__((format(printf, 3, 4))) static void
warn_once(struct child *c, enum subagent_remark which, const char *fmt, ...)
{
	size_t at = (size_t)(c->kind - c->all->all.list);
	char line[1 << 13];
	bool told;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&c->all->opening);
	told = c->all->told[at] & which;
	c->all->told[at] |= which;
	pthread_mutex_unlock(&c->all->opening);
	if (!told)
		forward_event(c->all,
			      &(struct agent_event){ .kind = EVENT_WARNING,
						     .text = str_of(line) });
}

static bool is_tool_among(struct str word, const struct tool *const *list)
{
	for (size_t i = 0; list && list[i]; i++)
		if (subagent_word_means(word, list[i]->spec.name,
					list[i]->hook_name))
			return true;
	return false;
}

/* Appends the tool names in words that do not exist. Call when the tools of all
 * MCP servers are known. */
static void add_unknown(const struct child *c, const char *words,
			struct buf *out)
{
	struct str rest = str_of(words);
	struct str word;

	while (words && str_split(&rest, ',', &word)) {
		word = str_trim(word);
		if (!word.len || is_tool_among(word, tools) ||
		    is_tool_among(word, c->agent.more))
			continue;
		buf_adds(out, out->len ? ", " : "");
		buf_addstr(out, word);
	}
}

static void warn_of_unknown_tools(struct child *c)
{
	struct buf names = BUF_INIT(NAMES_MAX);

	add_unknown(c, c->kind->tools, &names);
	add_unknown(c, c->kind->denied, &names);
	if (names.len)
		warn_once(c, REMARK_TOOLS,
			  "unknown tool %s in %s: the subagent %s works "
			  "without it",
			  names.ptr, c->kind->file, c->kind->name);
	buf_release(&names);
}

/* Attack: a subagent's file in a repository chooses a model, and with it an
 * address to which the user's data is sent, or creates sandboxes that cost
 * money. So the model and sandbox in such a file are used only if the user has
 * allowed exactly what the head of this file asks for. Otherwise the subagent
 * uses those of its caller. */
static int check_trust(struct child *c, struct error *err)
{
	const struct subagent *k = c->kind;
	const struct trust_entry entry = { .kind = TRUST_SUBAGENT,
					   .root = k->root,
					   .file = k->file,
					   .name = k->name,
					   .text = str_of(k->head) };
	enum trust_verdict verdict;
	struct trust *trust;
	int rc;

	c->follows = !k->root || !(k->model || k->apart);
	if (c->follows)
		return 0;
	pthread_mutex_lock(&c->all->opening);
	rc = project_trust_open(c->run->app, &trust, err);
	pthread_mutex_unlock(&c->all->opening);
	if (rc < 0)
		return -1;
	verdict = trust_check(trust, &entry);
	if (verdict == TRUST_ASK) {
		if (wait_for_turn(c->all, &c->stop, err) < 0)
			return -1;
		rc = trust_ask(trust, &entry, &verdict, err);
		end_turn(c->all);
	}
	c->follows = verdict == TRUST_ALLOWED;
	if (rc == 0 && !c->follows)
		warn_once(c, REMARK_WISHES,
			  "the subagent %s uses its caller's model and "
			  "sandbox, because the choice in %s was not allowed "
			  "(--trust-project allows it for this run)",
			  k->name, k->file);
	return rc < 0 ? -1 : 0;
}

static void set_window(struct child *c)
{
	const struct settings *set = c->run->app->settings;
	struct error ignored = { 0 };
	struct model_facts facts;
	int64_t at = WINDOW_AT;

	if (c->choice == &c->run->choice) {
		c->agent.window = c->run->agent.window;
		window_forget(&c->agent.window);
		return;
	}
	(void)settings_int(set, NULL, "models.compact_at", &at, &ignored);
	(void)model_facts(set, c->choice->provider, c->choice->model, &facts);
	window_init(&c->agent.window, &facts, at);
}

/* Uses the model in the subagent's file, with its own account in the meter, or
 * the caller's. */
static int choose_model(struct child *c, struct meter_model **account,
			struct error *err)
{
	struct run other = { .app = c->run->app };

	*account = c->run->account;
	c->choice = &c->run->choice;
	if (!c->kind->model || !c->follows)
		return 0;
	if (model_choose(&c->own_choice, c->run->app->settings, c->kind->model,
			 NULL, err) < 0)
		return -1;
	c->choice = &c->own_choice;
	other.choice = c->own_choice;
	app_mask_model_key(other.app, c->choice);
	return run_money_model(&other, account, err);
}

/* If the subagent's file has max_usd, gives the child an account with that
 * cap. */
static int limit_money(struct child *c, struct meter_model **account,
		       struct error *err)
{
	struct model_facts facts;

	if (!(c->kind->max_usd > 0))
		return 0;
	(void)model_facts(c->run->app->settings, c->choice->provider,
			  c->choice->model, &facts);
	if (!facts.priced)
		return error_set(err, ERR_USAGE,
				 "max_usd of %s cannot be enforced: the price "
				 "of %s:%s is unknown",
				 c->kind->file, c->choice->provider,
				 c->choice->model);
	c->part = meter_part(*account,
			     (int64_t)(c->kind->max_usd * METER_DOLLAR));
	*account = c->part;
	return 0;
}

static int prepare(void *arg, const struct part *const *calls, size_t n,
		   struct buf *remark, const struct stop *stop,
		   struct error *err)
{
	struct child *c = arg;
	int rc;

	pthread_mutex_lock(&c->all->opening);
	rc = run_skills_prepare(c->run, calls, n, remark, stop, err);
	pthread_mutex_unlock(&c->all->opening);
	return rc;
}

/* Gives the child its own sandbox, if the call or the subagent's file asks for
 * it. Must be called before the model is opened, because the prompt names the
 * sandbox. If only the file asks for it and the caller's sandbox has no tree to
 * copy, or in plan mode, the child works in its caller's sandbox. */
static int open_sandbox(struct child *c, struct error *err)
{
	bool called = c->order->what->apart;
	int rc;

	if (!called && !(c->kind->apart && c->follows))
		return 0;
	if (c->run->mode == RUN_PLAN) /* it only reads */
		return called ? error_set(err, ERR_USAGE,
					  "own_sandbox is not available in "
					  "plan mode: call task without it")
			      : 0;
	rc = subagent_sandbox_open(c, err);
	if (rc == 0) {
		c->agent.prepare = NULL;
	} else if (!called && err->code == ERR_USAGE) {
		warn_once(c, REMARK_WISHES,
			  "the subagent %s works in its caller's sandbox: %s",
			  c->kind->name, err->message);
		*err = (struct error){ 0 };
		subagent_sandbox_close(c);
		rc = 0;
	}
	return rc;
}

static int open_parts(struct child *c, struct error *err)
{
	struct meter_model *account;

	if (stop_check(&c->stop, err) < 0 ||
	    choose_model(c, &account, err) < 0 ||
	    limit_money(c, &account, err) < 0)
		return -1;
	return open_model(c, account, err);
}

/* Sets up c->agent with its own model and prompt. */
static int open_child(struct child *c, struct error *err)
{
	const struct agent *parent = c->order->parent;
	int rc;

	c->agent = (struct agent){
		.sandbox = parent->sandbox,
		.mask = parent->mask,
		.secrets = parent->secrets,
		.exempt = parent->exempt,
		.n_exempt = parent->n_exempt,
		.ui = child_ui(c),
		.meter = parent->meter,
		.max_turns = c->kind->max_turns,
		.answer = BUF_INIT(ANSWER_MAX),
		.prepare = prepare,
		.prepare_arg = c,
		.ran = parent->ran,
		.ran_arg = parent->ran_arg,
		.writes = parent->writes,
		.writes_arg = parent->writes_arg,
		.more = parent->more,
		.web = parent->web,
		.hooks = parent->hooks,
		.hook_id = c->hook_id,
		.label = c->label,
		.hook_type = c->kind->name,
		.parent = c->order->parent,
		.note = plan_mode_note(c->run),
		.memory = &c->memory,
	};
	warn_of_unknown_tools(c);
	if (check_trust(c, err) < 0 || open_sandbox(c, err) < 0)
		return -1;
	pthread_mutex_lock(&c->all->opening);
	rc = open_parts(c, err);
	pthread_mutex_unlock(&c->all->opening);
	if (rc < 0)
		return -1;
	c->agent.model = c->model;
	c->agent.raise = c->run->raise && !c->part ? raise_cap : NULL;
	c->agent.raise_arg = c;
	set_window(c);
	return 0;
}

static void close_child(struct child *c)
{
	if (c->model)
		model_close(c->model);
	model_choice_release(&c->own_choice);
	meter_part_free(c->part);
	message_release(&c->agent.cut);
	message_release(&c->agent.attached);
	buf_release(&c->agent.answer);
	buf_release(&c->agent.hook_context);
	buf_release(&c->agent.hook_end.reason);
	history_release(&c->memory);
	subagent_sandbox_close(c);
	cancel_chain_release(&c->cancel);
}

enum { HOOK_MS = 5000 };

/* The wording is that of the Python program, which models know. */
static void refuse_unknown(const struct subagents *s, const char *type,
			   struct buf *out)
{
	buf_adds(out, "We cannot invoke subagent ");
	result_clip(str_of(type), RESULT_ECHO_CHARS, out);
	buf_adds(out,
		 " because it does not exist, the only allowed types are ");
	for (size_t i = 0; i < s->n; i++)
		buf_addf(out, "%s`%s`", i ? ", " : "", s->list[i].name);
}

/* Returns the word for the JSON events that says why the child ended. */
static const char *describe_end(const struct child *c, int rc,
				const struct error *err)
{
	if (rc == 0)
		return c->agent.finish == FINISH_REFUSAL ? "refused"
		       : c->agent.finish == FINISH_LENGTH ||
				       c->agent.finish == FINISH_WINDOW
			       ? "cut"
			       : "success";
	switch (err->code) {
	case ERR_CANCELLED:
		return "cancelled";
	case ERR_BUDGET:
		return "max_usd";
	case ERR_LIMIT:
		return err->exact != CASE_REPEATED_CALLS ? "max_turns"
							 : "repeated_calls";
	case ERR_TIMEOUT:
		return "timeout";
	default:
		return "error";
	}
}

static void add_answer(const struct child *c, struct buf *out)
{
	struct str text = buf_str(&c->agent.answer);

	while (text.len && strchr(" \t\r\n", text.ptr[text.len - 1]))
		text.len--;
	buf_addstr(out, text);
}

/* Appends the child's result, which the caller's model gets. */
static void add_result(const struct child *c, int rc, const struct error *err,
		       struct buf *out)
{
	const char *why =
		err->code == ERR_CANCELLED ? "the user ended it" : err->message;

	if (rc < 0) {
		buf_addf(out, "The subagent %s did not finish: %s%s", c->label,
			 why, str_ends(str_of(why), ".") ? "" : ".");
		if (!c->agent.answer.len) {
			buf_adds(out, " It did not answer. Its changes so far "
				      "are kept.");
			return;
		}
		buf_adds(out,
			 " Its changes so far are kept. Its last words:\n\n");
	} else if (c->agent.finish == FINISH_REFUSAL) {
		buf_adds(out, "The model refused this task.\n");
	} else if (c->agent.finish == FINISH_LENGTH ||
		   c->agent.finish == FINISH_WINDOW) {
		buf_adds(out, "Its answer was cut by the model's limit:\n");
	}
	add_answer(c, out);
	if (rc == 0 && !c->agent.answer.len)
		buf_adds(out, "The subagent ended without an answer.");
}

/* Opens the child and runs its one prompt. */
static int run_child(struct child *c, struct error *err)
{
	const struct hooked_subagent begins = { .id = c->hook_id,
						.type = c->kind->name };

	snprintf(c->hook_id, sizeof(c->hook_id), "subagent-%u", c->number);
	if (open_child(c, err) < 0 ||
	    hooked_subagent(&c->agent, &begins, &c->stop, err) < 0)
		return -1;
	subagent_list_note(&c->all->list, c->number, "waiting for the model");
	return agent_run(&c->agent, c->order->what->order, &c->stop, err);
}

/* Runs the SubagentStop hooks. Text that they return is appended to out, for
 * the caller's model. */
static void run_stop_hooks(struct child *c, struct buf *out)
{
	struct stop stop = *c->order->stop;
	struct error ignored = { 0 };
	const struct hooked_subagent ends = {
		.id = c->hook_id,
		.type = c->kind->name,
		.last = c->agent.answer.len ? c->agent.answer.ptr : "",
		.context = out,
	};

	if (!c->model)
		return;
	if (stop_check(&stop, &ignored) < 0)
		stop = stop_cleanup(HOOK_MS);
	(void)hooked_subagent(&c->agent, &ends, &stop, &ignored);
}

/* Appends the child's result to out. Returns -1 with err if the child has
 * failed. Only ERR_CANCELLED (the user stopped everything) and ERR_GONE (the
 * shared sandbox is gone) end the caller's turn; other errors are just a
 * result. */
static int end_child(struct child *c, int rc, const struct error *failed,
		     struct buf *out, struct error *err)
{
	struct error stopped = { 0 };
	const char *end = describe_end(c, rc, failed);
	struct buf line = BUF_INIT(1 << 13);

	add_result(c, rc, failed, out);
	subagent_sandbox_merge(c, out);
	run_stop_hooks(c, out);
	buf_adds(&line, rc == 0 ? "done" : "did not finish: ");
	if (rc < 0)
		buf_adds(&line, failed->code == ERR_CANCELLED
					? "cancelled"
					: failed->message);
	subagent_list_end(&c->all->list, c->number, line.ptr);
	emit_step(c, NULL, true, end, line.ptr);
	buf_release(&line);
	if (rc == 0)
		return 0;
	*err = *failed;
	if (failed->code == ERR_CANCELLED &&
	    (stop_check(c->order->stop, &stopped) == 0 ||
	     stopped.code != ERR_CANCELLED))
		err->code = ERR_REMOTE; /* not ERR_CANCELLED: the user cancelled
					   only this child */
	if (failed->code == ERR_GONE && c->apart)
		err->code = ERR_REMOTE; /* not ERR_GONE: only the child's own
					   sandbox is gone */
	return -1;
}

/* Gives the child a number, a row in the list, and its own cancel pipe. */
static int start_child(struct child *c, struct error *err)
{
	const struct stop *outer = c->order->stop;
	struct error ignored = { 0 };

	if (cancel_chain_init(&c->cancel, outer->cancel, err) < 0)
		return -1;
	if (stop_check(outer, &ignored) == 0)
		c->all->brings_until = 0;
	c->stop = *outer;
	c->stop.cancel = &c->cancel.cancel;
	c->number = c->order->number;
	subagent_list_begin(&c->all->list, c->number, c->kind->name,
			    c->order->what->order, &c->cancel.cancel);
	snprintf(c->label, sizeof(c->label), "%s %u", c->kind->name, c->number);
	snprintf(c->doing, sizeof(c->doing), "waiting for the model");
	emit_step(c, NULL, false, NULL, NULL);
	return 0;
}

/* Adds the tokens that the child used to those of its caller. */
static void add_usage(struct child *c)
{
	pthread_mutex_lock(&c->all->events);
	usage_sum(&c->order->parent->usage, &c->agent.usage);
	pthread_mutex_unlock(&c->all->events);
}

/* agent.delegate callback; arg is the run. */
static int delegate(void *arg, const struct delegation *d, struct buf *out,
		    struct error *err)
{
	struct run *r = arg;
	struct child c = { .run = r, .all = r->subagents, .order = d };
	struct error failed = { 0 };
	int rc;

	c.kind = subagents_find(&r->subagents->all, d->what->type);
	if (!c.kind) {
		refuse_unknown(&r->subagents->all, d->what->type, out);
		return 0;
	}
	if (start_child(&c, err) < 0)
		return -1;
	meter_share(r->app->meter, 1);
	rc = run_child(&c, &failed);
	meter_share(r->app->meter, -1);
	add_usage(&c);
	rc = end_child(&c, rc, &failed, out, err);
	close_child(&c);
	return rc;
}

/* agent.number_delegate callback; arg is the run. */
static unsigned number_delegate(void *arg)
{
	struct run *r = arg;

	return ++r->subagents->numbers;
}

enum { DESCRIPTION_MAX = 64 << 10 };

/* Reads the subagents on the first call. */
void run_subagents_open(struct run *r)
{
	struct run_subagents *s = r->subagents;
	const struct subagents_request q = {
		.config_dir = settings_dir(r->app->settings),
		.agent = r->options.agent,
		.cwd = settings_cwd(r->app->settings),
	};

	if (s)
		return;
	s = r->subagents = xcalloc(1, sizeof(*s));
	s->declined = -1;
	pthread_mutex_init(&s->events, NULL);
	pthread_mutex_init(&s->questions, NULL);
	pthread_mutex_init(&s->opening, NULL);
	pthread_mutex_init(&s->merging, NULL);
	subagent_list_init(&s->list);
	subagents_read(&s->all, &q);
	s->told = xcalloc(s->all.n, sizeof(*s->told));
	for (size_t i = 0; i < s->all.n_problems && !r->options.quiet; i++)
		app_warn_line(s->all.problems[i]);
}

void run_subagents_close(struct run *r)
{
	struct run_subagents *s = r->subagents;

	if (!s)
		return;
	subagent_list_release(&s->list);
	subagents_release(&s->all);
	pthread_mutex_destroy(&s->events);
	pthread_mutex_destroy(&s->questions);
	pthread_mutex_destroy(&s->opening);
	pthread_mutex_destroy(&s->merging);
	free(s->told);
	free(s);
	r->subagents = NULL;
}

char *run_subagents_task(const struct run *r, const struct tool *task)
{
	struct buf out = BUF_INIT(DESCRIPTION_MAX);

	buf_adds(&out, task->spec.description);
	subagents_describe(&r->subagents->all, &out);
	return buf_detach(&out);
}

void run_subagents_attach(struct run *r)
{
	struct run_subagents *s = r->subagents;

	s->ui = r->agent.ui;
	r->agent.ui.event = forward_event;
	r->agent.ui.approve = s->ui.approve ? forward_approval : NULL;
	r->agent.ui.ask = s->ui.ask ? forward_question : NULL;
	r->agent.ui.arg = s;
	r->agent.delegate = delegate;
	r->agent.number_delegate = number_delegate;
	r->agent.delegate_arg = r;
}

static void add_kind(const struct subagent *k, struct buf *out)
{
	buf_addf(out, "  %s", k->name);
	if (k->root)
		buf_adds(out, " (the project's)");
	if (k->model)
		buf_addf(out, k->root ? ", wants the model %s" : ", model %s",
			 k->model);
	if (k->apart)
		buf_adds(out, ", in its own sandbox");
	buf_adds(out, ": ");
	buf_adds(out, k->description);
	buf_addc(out, '\n');
}

void run_subagents_list(const struct run *r, struct buf *out)
{
	struct run_subagents *s = r->subagents;
	size_t before = out->len;

	if (!s)
		return;
	subagent_list_print(&s->list, clock_ms(), out);
	if (out->len == before)
		buf_adds(out, "No subagents have run yet.\n");
	buf_adds(out, "Available:\n");
	for (size_t i = 0; i < s->all.n; i++)
		add_kind(&s->all.list[i], out);
}

bool run_subagents_cancel(struct run *r, unsigned number)
{
	return r->subagents &&
	       subagent_list_cancel(&r->subagents->list, number);
}

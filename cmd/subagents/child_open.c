/* child_open.c - a subagent's model, prompt and tools. */
/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/prompt.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/project_trust.h"
#include "cmd/session/conversation.h"
#include "cmd/session/money.h"
#include "cmd/session/policy.h"
#include "cmd/session/run_skills.h"
#include "cmd/subagents/subagents_impl.h"
#include "mcp/mcp.h"

enum {
	MOST_TOOLS = 64 + MCP_ALL_TOOLS_MAX,
	PROMPT_MAX = 1 << 20,
	ANSWER_MAX = 64 << 20,
	NAMES_MAX = 8 << 10,
};

struct child_tools {
	struct tool_spec specs[MOST_TOOLS]; /* with schemas of their own */
	size_t n;
	bool runs_commands;
};

static bool offers(const struct child *c, const struct tool *tool)
{
	const unsigned never =
		TOOL_LATER | TOOL_INTERACTIVE | TOOL_DELEGATES | TOOL_SINGLE;

	return !(tool->flags & never) && run_offers(c->run, tool) &&
	       subagent_has_tool(c->kind, tool->spec.name, tool->hook_name);
}

static void add_tools(struct child_tools *t, const struct child *c,
		      const struct tool *const *list)
{
	for (size_t i = 0; list && list[i] && t->n < MOST_TOOLS; i++) {
		if (!offers(c, list[i]))
			continue;
		t->specs[t->n] = list[i]->spec;
		t->specs[t->n++].schema = tool_schema(list[i]);
		t->runs_commands |= (list[i]->flags & TOOL_RUNS) != 0;
	}
}

/* Where a model of this name has one: said when the session began. */
static void ignore_line(const char *line)
{
	(void)line;
}

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
	struct model_brief brief = { .tools = t->specs, .meter = account };
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

/* Said once of each kind. */
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
		subagents_event(c->all,
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

/* Those of MCP servers are known by now, or their server does not run. */
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

/*
 * The attack: a repository's file that has the work done by a model, and so by
 * an address, of its choice, or that makes sandboxes, which cost. So what it
 * wants of both holds only once the user has allowed just this; else it works
 * with the model and in the sandbox of its caller.
 */
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
		if (subagents_take_turn(c->all, &c->stop, err) < 0)
			return -1;
		rc = trust_ask(trust, &entry, &verdict, err);
		subagents_end_turn(c->all);
	}
	c->follows = verdict == TRUST_ALLOWED;
	if (rc == 0 && !c->follows)
		warn_once(c, REMARK_WISHES,
			  "the subagent %s uses its caller's model and "
			  "sandbox, because what %s asks for was not allowed "
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

/* The model of its file, with an account of its own. */
static int choose(struct child *c, struct meter_model **account,
		  struct error *err)
{
	struct run other = { .app = c->run->app };
	int rc;

	*account = c->run->account;
	c->choice = &c->run->choice;
	if (!c->kind->model || !c->follows)
		return 0;
	if (model_choose(&c->own_choice, c->run->app->settings, c->kind->model,
			 NULL, err) < 0)
		return -1;
	c->choice = &c->own_choice;
	other.choice = c->own_choice;
	run_watch_key(&other);
	rc = run_money_model(&other, account, err);
	return rc;
}

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

/* The prompt names the sandbox, so that comes first. Where only its file wants
 * one, and there is nothing to copy, it works like others. */
static int open_sandbox(struct child *c, struct error *err)
{
	bool called = c->order->what->apart;
	int rc;

	if (!called && !(c->kind->apart && c->follows))
		return 0;
	rc = apart_open(c, err);
	if (rc == 0) {
		c->agent.prepare = NULL;
	} else if (!called && err->code == ERR_USAGE) {
		warn_once(c, REMARK_WISHES,
			  "the subagent %s works in its caller's sandbox: %s",
			  c->kind->name, err->message);
		*err = (struct error){ 0 };
		apart_close(c);
		rc = 0;
	}
	return rc;
}

static int open_all(struct child *c, struct error *err)
{
	struct meter_model *account;

	if (stop_check(&c->stop, err) < 0 || choose(c, &account, err) < 0 ||
	    limit_money(c, &account, err) < 0)
		return -1;
	return open_model(c, account, err);
}

int child_open(struct child *c, struct error *err)
{
	const struct agent *parent = c->order->parent;
	int rc;

	c->agent = (struct agent){
		.sandbox = parent->sandbox,
		.mask = parent->mask,
		.secrets = parent->secrets,
		.ui = child_ui(c),
		.meter = parent->meter,
		.max_turns = c->kind->max_turns,
		.answer = BUF_INIT(ANSWER_MAX),
		.prepare = prepare,
		.prepare_arg = c,
		.more = parent->more,
		.web = parent->web,
		.hooks = parent->hooks,
		.hook_id = c->hook_id,
		.hook_type = c->kind->name,
		.parent = c->order->parent,
		.memory = &c->memory,
	};
	warn_of_unknown_tools(c);
	if (check_trust(c, err) < 0 || open_sandbox(c, err) < 0)
		return -1;
	pthread_mutex_lock(&c->all->opening);
	rc = open_all(c, err);
	pthread_mutex_unlock(&c->all->opening);
	if (rc < 0)
		return -1;
	c->agent.model = c->model;
	c->agent.raise = c->run->raise && !c->part ? child_raise : NULL;
	c->agent.raise_arg = c;
	set_window(c);
	return 0;
}

void child_close(struct child *c)
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
	apart_close(c);
	cancel_chain_release(&c->cancel);
}

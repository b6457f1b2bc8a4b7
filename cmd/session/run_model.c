/* run_model.c - the model of a run, with its prompt, and its session. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "agent/prompt.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/session/run_mcp.h"
#include "cmd/session/run_money.h"
#include "cmd/skills/run_skills.h"
#include "cmd/subagents/run_subagents.h"
#include "mcp/mcp.h"
#include "model/wires/bedrock_account.h"

enum {
	MAX_PROMPT = 1 << 20,
	MOST_TOOLS = 64 + MCP_ALL_TOOLS_MAX,
};

static bool on_host(const struct run *r)
{
	return r->host.provider->flags & SANDBOX_UNISOLATED;
}

struct offer { /* what the model is offered; offer_free() */
	struct tool_spec specs[MOST_TOOLS]; /* with schemas of their own */
	size_t n;
	char *task; /* what its description says here; owned */
	bool runs_commands;
};

static void add_tools(struct offer *o, const struct run *r, bool later,
		      const struct tool *const *list)
{
	for (size_t i = 0; list && list[i] && o->n < MOST_TOOLS; i++) {
		if (!run_offers(r, list[i]) ||
		    (!later && list[i]->flags & TOOL_LATER))
			continue;
		o->specs[o->n] = list[i]->spec;
		if (list[i]->flags & TOOL_DELEGATES)
			o->specs[o->n].description = o->task =
				run_subagents_task(r, list[i]);
		o->specs[o->n++].schema = tool_schema(list[i]);
		o->runs_commands |= (list[i]->flags & TOOL_RUNS) != 0;
	}
}

/* later: after the history was compacted. */
static struct offer *offer_new(const struct run *r, bool later)
{
	struct offer *o = xcalloc(1, sizeof(*o));

	add_tools(o, r, later, tools);
	add_tools(o, r, later, run_mcp_tools(r));
	return o;
}

static void offer_free(struct offer *o)
{
	for (size_t i = 0; i < o->n; i++)
		free((char *)o->specs[i].schema);
	free(o->task);
	free(o);
}

/* With -q only warnings that concern security are printed. */
static void ignore_line(const char *line)
{
	(void)line;
}

static int open_model(struct run *r, struct meter_model *account,
		      struct error *err)
{
	struct offer *offer = offer_new(r, false);
	struct buf prompt = BUF_INIT(MAX_PROMPT);
	char *name = run_model_name(r);
	struct prompt_facts facts = {
		.config_dir = settings_dir(r->app->settings),
		.cwd = settings_cwd(r->app->settings),
		.model = name,
		.sandbox = &r->box.sandbox,
		.interactive = r->interactive,
		.runs_commands = offer->runs_commands,
		.agent = r->options.agent,
		.skills = &r->skills->all,
		.skills_root = run_skills_root(r),
	};
	struct model_brief brief = {
		.tools = offer->specs,
		.n_tools = offer->n,
		.meter = account,
		.cache_key = r->session ? session_id(r->session) : NULL,
	};
	int rc;

	prompt_build(&facts, &prompt,
		     r->options.quiet ? ignore_line : app_warn_line);
	brief.system = prompt.ptr;
	rc = model_open(&r->model, app_http(r->app), &r->choice, &brief, err);
	offer_free(offer);
	buf_release(&prompt);
	free(name);
	return rc;
}

int run_open_model(struct run *r, struct error *err)
{
	struct meter_model *account = NULL;

	r->recalls = false;
	if (run_skills_open(r, err) < 0)
		return -1;
	run_subagents_open(r);
	if (run_money_model(r, &account, err) < 0)
		return -1;
	r->account = account;
	return open_model(r, account, err);
}

int run_reset_model(void *arg, struct error *err)
{
	struct run *r = arg;
	struct offer *offer = offer_new(r, true);
	int rc = model_reset(r->model, offer->specs, offer->n, err);

	r->recalls = true;
	offer_free(offer);
	return rc;
}

int run_offer_tools(struct run *r, struct error *err)
{
	struct offer *offer = offer_new(r, r->recalls);
	int rc = model_set_tools(r->model, offer->specs, offer->n, err);

	offer_free(offer);
	return rc;
}

int run_name_session(struct run *r, struct error *err)
{
	struct store *store;
	char *name;
	struct session_info info = {
		.provider = r->host.provider->name,
		.sandbox = on_host(r) ? NULL : r->box.sandbox.id,
		.label = r->box.ours ? r->box.label : "",
		.cwd = settings_cwd(r->app->settings),
		.agent = r->options.agent,
	};

	if (r->store)
		store = r->store;
	else if (app_store_later(r->app, &store, err) < 0)
		return -1;
	name = run_model_name(r);
	info.model = name;
	if (r->session)
		session_set_info(r->session, &info);
	else
		r->session = session_new(store, &info);
	free(name);
	return 0;
}

void run_watch_key(struct run *r)
{
	const struct model_choice *c = &r->choice;
	const char *secrets[3];

	if (c->project_key)
		app_warn_project_key(r->app, c->project_key, c->provider);
	if (c->api_key)
		(void)mask_add(r->app->mask,
			       c->key_env ? c->key_env : "API_KEY",
			       str_of(c->api_key));
	bedrock_account_secrets(c->aws, secrets);
	for (size_t i = 0; secrets[i]; i++)
		(void)mask_add(r->app->mask, "AWS_SECRET_ACCESS_KEY",
			       str_of(secrets[i]));
}

int run_choose_model(struct run *r, struct error *err)
{
	const char *model = r->options.model;

	if (!model && r->thread.id && r->thread.model[0])
		model = r->thread.model;
	if (model_choose(&r->choice, r->app->settings, model,
			 r->options.model_params, err) < 0) {
		if (r->thread.id && !r->options.model && !err->hint[0])
			error_hint(err,
				   "-M MODEL continues with another model.");
		error_topic(err, err->code == ERR_AUTH ? "auth" : "models");
		return -1;
	}
	run_watch_key(r);
	return run_money_check(r, err);
}

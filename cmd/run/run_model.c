/* run_model.c - the model of a run, with its prompt, and its session. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "agent/prompt.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/run/run_money.h"
#include "cmd/skills/run_skills.h"
#include "model/wires/bedrock_account.h"

enum {
	MAX_PROMPT = 1 << 20,
	MOST_TOOLS = 64,
};

static bool on_host(const struct run *r)
{
	return r->host.provider->flags & SANDBOX_UNISOLATED;
}

/* With schemas that have to be freed. */
static size_t offered_tools(const struct run *r, bool later,
			    struct tool_spec *specs, bool *runs_commands)
{
	size_t n = 0;

	*runs_commands = false;
	for (size_t i = 0; tools[i] && n < MOST_TOOLS; i++) {
		if (!run_offers(r, tools[i]) ||
		    (!later && tools[i]->flags & TOOL_LATER))
			continue;
		specs[n] = tools[i]->spec;
		specs[n++].schema = tool_schema(tools[i]);
		*runs_commands |= (tools[i]->flags & TOOL_RUNS) != 0;
	}
	return n;
}

/* With -q only warnings that concern security are printed. */
static void ignore_line(const char *line)
{
	(void)line;
}

static int open_model(struct run *r, struct meter_model *account,
		      struct error *err)
{
	struct tool_spec specs[MOST_TOOLS];
	struct buf prompt = BUF_INIT(MAX_PROMPT);
	char *name = run_model_name(r);
	struct prompt_facts facts = {
		.config_dir = settings_dir(r->app->settings),
		.cwd = settings_cwd(r->app->settings),
		.model = name,
		.sandbox = &r->box.sandbox,
		.interactive = r->interactive,
		.agent = r->options.agent,
		.skills = &r->skills->all,
		.skills_root = run_skills_root(r),
	};
	struct model_brief brief = {
		.tools = specs,
		.n_tools = offered_tools(r, false, specs, &facts.runs_commands),
		.meter = account,
		.cache_key = r->session ? session_id(r->session) : NULL,
	};
	int rc;

	prompt_build(&facts, &prompt,
		     r->options.quiet ? ignore_line : app_warn_line);
	brief.system = prompt.ptr;
	rc = model_open(&r->model, app_http(r->app), &r->choice, &brief, err);
	for (size_t i = 0; i < brief.n_tools; i++)
		free((char *)specs[i].schema);
	buf_release(&prompt);
	free(name);
	return rc;
}

int run_open_model(struct run *r, struct error *err)
{
	struct meter_model *account = NULL;

	if (run_skills_open(r, err) < 0)
		return -1;
	if (run_money_model(r, &account, err) < 0)
		return -1;
	return open_model(r, account, err);
}

int run_reset_model(void *arg, struct error *err)
{
	struct run *r = arg;
	struct tool_spec specs[MOST_TOOLS];
	bool ignored;
	size_t n = offered_tools(r, true, specs, &ignored);
	int rc = model_reset(r->model, specs, n, err);

	for (size_t i = 0; i < n; i++)
		free((char *)specs[i].schema);
	return rc;
}

int run_name_session(struct run *r, struct error *err)
{
	struct store *store;
	char *name;
	struct session_info info = {
		.provider = r->host.provider->name,
		.sandbox = on_host(r) ? "" : r->box.sandbox.id,
		.label = r->box.ours ? r->box.label : "",
		.cwd = settings_cwd(r->app->settings),
		.agent = r->options.agent,
	};

	if (app_store_later(r->app, &store, err) < 0)
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
			error_hint(err, "-M SPEC goes on with another model.");
		return -1;
	}
	run_watch_key(r);
	return run_money_check(r, err);
}

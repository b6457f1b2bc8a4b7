/* live_status.c - what the status line of the chat knows, and when it asks. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/live/live_impl.h"
#include "model/catalog/catalog.h"
#include "model/money/money.h"
#include "sandbox/rights.h"
#include "session/branch.h"

/* "~/src/dcode". Owned. */
static char *shorten_home(const struct settings *set)
{
	const char *cwd = settings_cwd(set);
	const char *home = settings_home(set);
	size_t n = home ? strlen(home) : 0;

	if (n > 1 && !strncmp(cwd, home, n) && (!cwd[n] || cwd[n] == '/'))
		return xasprintf("~%s", cwd + n);
	return xstrdup(cwd);
}

void live_status_begin(struct live *l)
{
	const char *name = l->run->options.sandbox;

	l->place = xstrdup(name && strcmp(name, "none") != 0 ? name : "");
	l->directory = shorten_home(l->run->app->settings);
	live_status_refresh(l);
}

/* Of the model, in tokens; 0: nobody knows. */
static int64_t find_window(const struct run *r)
{
	struct model_facts facts;

	if (!r->choice.provider || !r->choice.model ||
	    !model_facts(r->app->settings, r->choice.provider, r->choice.model,
			 &facts))
		return r->agent.window.learned ? r->agent.window.size : 0;
	return facts.context;
}

/* Where the vendor ends it, whatever dcode does: elsewhere its life is extended
 * while the chat lasts. It was created at `since` or a little later. */
static int64_t find_end(const struct run *r, int64_t since)
{
	const struct managed_sandbox *box = &r->box;

	if (!box->ours || box->resumed || box->lifetime_s <= 0 ||
	    sandbox_acts_on_host(&box->sandbox) || sandbox_can_extend(&r->host))
		return 0;
	return since + box->lifetime_s * 1000;
}

/* Replaces an owned text; true when it was another. */
static bool set_text(char **text, char *fresh)
{
	bool differs = !*text || strcmp(*text, fresh) != 0;

	free(*text);
	*text = fresh;
	return differs;
}

/* No job runs: the run is ours to read. */
static void read_run(struct live *l)
{
	const struct run *r = l->run;
	bool host = r->host.provider->flags & SANDBOX_UNISOLATED;
	char id[IDS_SHOWN];

	l->asks = run_asks(r);
	(void)set_text(&l->model, run_model_name(r));
	l->window = find_window(r);
	if (set_text(&l->place,
		     host ? xstrdup("this machine")
			  : xasprintf("%s %.12s", sandbox_client_name(&r->host),
				      ids_shown(r->box.sandbox.id, id))))
		l->ends = find_end(r, l->began);
}

/* What was sent before, while the sandbox was being made, comes last. */
static void open_history(struct live *l)
{
	struct app *app = l->run->app;
	struct prompt_history *early = xcalloc(1, sizeof(*early));
	struct error err = { 0 };
	struct error ignored = { 0 };
	char *path = app_state_path(app, "history.jsonl", &err);

	*early = l->history;
	if (!path ||
	    prompt_history_open(&l->history, path, app->mask, &err) < 0)
		(void)app_fail(app, &err);
	if (!path)
		l->history = (struct prompt_history){ 0 };
	for (size_t i = 0; i < early->n; i++)
		(void)prompt_history_add(&l->history, buf_str(&early->items[i]),
					 &ignored);
	prompt_history_release(early);
	free(early);
	free(path);
}

void live_status_opened(struct live *l)
{
	const char *workdir = l->run->box.sandbox.workdir;
	char *line;

	open_history(l);
	read_run(l);
	line = xasprintf("%s, tools in %s (%s%s)", l->model,
			 workdir ? workdir : "?", l->place,
			 sandbox_is_shared(&l->run->box.sandbox)
				 ? ", not isolated: each call asks"
				 : "");
	live_say(l, (struct style){ 0, STYLE_MUTED }, line);
	free(line);
}

void live_status_refresh(struct live *l)
{
	char branch[BRANCH_SIZE];

	branch_read(settings_cwd(l->run->app->settings), branch);
	(void)set_text(&l->branch, xstrdup(branch));
	if (l->model)
		read_run(l);
}

void live_status_release(struct live *l)
{
	free(l->model);
	free(l->place);
	free(l->directory);
	free(l->branch);
}

/* In an isolated sandbox nothing is asked about. */
static const char *mode_of(const struct live *l)
{
	const struct run *r = l->run;

	if (!l->asks)
		return NULL;
	return run_mode_name(run_allows_all(r) ? RUN_YOLO
					       : (enum run_mode)r->mode);
}

static int64_t seconds_left(const struct live *l)
{
	int64_t ms = l->ends - clock_ms();

	if (!l->ends || l->state == LIVE_CLOSING)
		return -1;
	return ms > 0 ? ms / 1000 : 0;
}

static const char *state_of(const struct live *l)
{
	if (l->state == LIVE_OPENING)
		return "starting";
	if (l->state == LIVE_IDLE && l->unopened && l->place[0])
		return "not started";
	if (l->state == LIVE_CLOSING && strcmp(l->place, "this machine") != 0)
		return "ending";
	if (l->run->box.seen == STATE_STOPPED)
		return "stopped";
	if (l->run->box.seen == STATE_GONE)
		return "gone";
	if (l->ends && clock_ms() >= l->ends)
		return "its time is over";
	return NULL;
}

static const char *hint_of(const struct live *l)
{
	if (l->confirms && !editor_is_empty(&l->editor))
		return "yolo has to be allowed: empty the line first";
	if (l->confirms && clock_ms() < l->typed + LIVE_QUIET_MS)
		return "yolo: every call runs on this machine, unasked.";
	if (l->confirms)
		return "yolo: every call runs on this machine, unasked. "
		       "y allows it";
	if (l->armed)
		return "Ctrl-C again leaves";
	if (l->held)
		return "stopped: Enter sends what waits, Esc takes it back";
	return NULL;
}

/* Nothing where nothing was spent, or nobody knows how much. */
static const char *cost_of(const struct live *l, char room[MONEY_SIZE])
{
	struct meter_total t = { 0 };

	/* made by the opening job */
	if (l->state != LIVE_OPENING && l->run->app->meter)
		meter_total(l->run->app->meter, &t);
	return t.model + t.sandbox > 0 ? money_short(t.model + t.sandbox, room)
				       : NULL;
}

void live_status_add(const struct live *l, struct rows *out)
{
	char cost[MONEY_SIZE];
	struct status s = {
		.model = l->model,
		.sandbox = l->place && l->place[0] ? l->place : NULL,
		.state = state_of(l),
		.mode = mode_of(l),
		.directory = l->directory,
		.branch = l->branch,
		.cost = cost_of(l, cost),
		.hint = hint_of(l),
		.left_s = seconds_left(l),
		.context = l->context,
		.window = l->window,
		.input = l->usage.input + l->usage.cache_read +
			 l->usage.cache_write,
		.output = l->usage.output,
		.queued = l->n_queue,
	};

	status_render(&s, &l->theme, screen_columns(&l->screen), out);
}

int64_t live_status_changes_at(const struct live *l)
{
	int64_t left = seconds_left(l);
	int64_t now = clock_ms();

	/* from then on its question takes an answer */
	if (l->confirms && now < l->typed + LIVE_QUIET_MS)
		return l->typed + LIVE_QUIET_MS;
	return left > 0 ? now + status_left_changes(left) * 1000 : INT64_MAX;
}

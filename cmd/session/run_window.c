/* run_window.c - a run's model and what its context window has room for. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/session/run.h"
#include "model/catalog.h"

enum { SMALL = 8000 }; /* tokens; less is warned of */

/* For a window that nobody knows: what its server has said of it, and whoever
 * will ask. */
static void open_probe(struct run *r)
{
	struct window *w = &r->agent.window;
	struct server_limits known;
	struct error ignored = { 0 };
	char *path;

	window_probe_free(r->agent.probe);
	r->agent.probe = NULL;
	if (!w->assumed)
		return;
	path = app_state_path(r->app, "model_windows.json", &ignored);
	if (!path)
		return;
	r->agent.probe = window_probe_new(r->model, path);
	if (window_probe_known(r->agent.probe, &known))
		(void)window_learn(w, known.context, known.max_output,
				   model_head_size(r->model));
	free(path);
}

/* Of a size that another model, or none, had before. */
static void warn_small(const struct run *r, int64_t before)
{
	const struct window *w = &r->agent.window;

	if (w->size > 0 && w->size < SMALL && w->size != before && !w->assumed)
		app_warn("Model '%s' has limited context (%" PRId64 " tokens)."
			 " Agent performance may be affected.",
			 r->choice.model, w->size);
}

void run_set_window(struct run *r)
{
	const struct settings *set = r->app->settings;
	int64_t before = r->agent.window.size;
	struct model_facts facts;
	struct error ignored = { 0 };
	int64_t at = WINDOW_AT;

	(void)settings_int(set, NULL, "models.compact_at", &at, &ignored);
	(void)model_facts(set, r->choice.provider, r->choice.model, &facts);
	window_init(&r->agent.window, &facts, at);
	open_probe(r);
	warn_small(r, before);
}

void run_tell_assumed(const struct run *r)
{
	struct buf clean = BUF_INIT(1 << 16);
	char *line;

	if (!r->agent.window.assumed)
		return;
	line = xasprintf(
		"The context window of %s:%s is unknown; dcode assumes %" PRId64
		" tokens.\nTo set it, add this to ~/.deepagents/config.toml:\n "
		" [models.providers.%s.profile]\n  max_input_tokens = 131072\n",
		r->choice.provider, r->choice.model, r->agent.window.size,
		r->choice.provider);
	sanitize_text(str_of(line), &clean);
	fputs(clean.ptr, stderr);
	buf_release(&clean);
	free(line);
}

int run_push_history(struct run *r, const struct conversation *c,
		     struct error *err)
{
	const struct usage seen = { .input = c->tokens };

	if (c->after && run_reset_model(r, err) < 0)
		return -1;
	history_push(c, r->model);
	run_set_window(r);
	if (c->tokens)
		window_report(&r->agent.window, &seen, model_size(r->model));
	return 0;
}

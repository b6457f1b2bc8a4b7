/* run_window.c - a run's model and what its context window has room for. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/run/run.h"
#include "model/catalog/catalog.h"

void run_set_window(struct run *r)
{
	const struct settings *set = r->app->settings;
	struct model_facts facts;
	struct error ignored = { 0 };
	int64_t at = WINDOW_AT;

	(void)settings_int(set, NULL, "models.compact_at", &at, &ignored);
	(void)model_facts(set, r->choice.provider, r->choice.model, &facts);
	window_init(&r->agent.window, &facts, at);
}

void run_tell_assumed(const struct run *r)
{
	struct buf clean = BUF_INIT(1 << 16);
	char *line;

	if (!r->agent.window.assumed)
		return;
	line = xasprintf("The window of %s:%s is not known: %" PRId64
			 " tokens are assumed.\n"
			 "Put its own into ~/.deepagents/config.toml, for the "
			 "next start:\n"
			 "  [models.providers.%s.profile]\n"
			 "  max_input_tokens = 131072\n",
			 r->choice.provider, r->choice.model,
			 r->agent.window.size, r->choice.provider);
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

/* slash_context.c - /context: what fills the model's context window. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "agent/history_text.h"
#include "agent/prompt.h"
#include "base/str.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/session/conversation.h"
#include "session/history.h"

enum kind { SUMMARY, REQUESTS, ANSWERS, CALLS, RESULTS, FILES, N_KINDS };

static const char *const kind_names[N_KINDS] = {
	[SUMMARY] = "summary of removed messages",
	[REQUESTS] = "your messages",
	[ANSWERS] = "answers and thinking",
	[CALLS] = "tool calls",
	[RESULTS] = "tool results",
	[FILES] = "images and PDF files",
};

static enum kind kind_of(const struct message *m, const struct part *p)
{
	if (p->kind == PART_MEDIA)
		return FILES;
	if (p->kind == PART_TOOL_CALL)
		return CALLS;
	if (p->kind == PART_TOOL_RESULT)
		return RESULTS;
	if (m->role == ROLE_ASSISTANT)
		return ANSWERS;
	return m->summary ? SUMMARY : REQUESTS;
}

static size_t weigh(const struct run *r, const struct conversation *c,
		    size_t sizes[N_KINDS])
{
	size_t all = 0;

	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < c->list[i].n; k++) {
			struct part *p = &c->list[i].parts[k];
			struct message one = { .parts = p, .n = 1 };
			size_t n = history_text_size(&one, r->model);

			sizes[kind_of(&c->list[i], p)] += n;
			all += n;
		}
	return all;
}

static void print(const struct run *r, const char *name, size_t bytes)
{
	const struct window *w = &r->agent.window;
	size_t all = model_size(r->model);
	int64_t total = window_about(w, all);

	if (bytes && all)
		fprintf(stderr, "%10" PRId64 "  %s\n",
			(int64_t)((double)total * (double)bytes / (double)all),
			name);
}

static void print_all(const struct run *r, const struct conversation *c)
{
	const struct window *w = &r->agent.window;
	struct str system = str_of(model_system(r->model));
	size_t head = model_head_size(r->model);
	size_t memory = prompt_memory(system);
	size_t skills = prompt_skills(system);
	size_t history = model_size(r->model) - head;
	int64_t used = window_about(w, model_size(r->model));
	size_t sizes[N_KINDS] = { 0 };
	size_t all = weigh(r, c, sizes);

	fprintf(stderr, "Next request: about %" PRId64 " tokens", used);
	if (w->size)
		fprintf(stderr, " of a window of %" PRId64, w->size);
	if (w->reported)
		fprintf(stderr, " (last reported %" PRId64 ")", w->reported);
	fputs(w->last ? ":\n" : " (estimated):\n", stderr);
	print(r, "system prompt", system.len - memory - skills);
	print(r, "skills", skills);
	print(r, "AGENTS.md", memory);
	print(r, "tool descriptions", head - system.len);
	for (int i = 0; all && i < N_KINDS; i++)
		print(r, kind_names[i], sizes[i] * history / all);
	if (w->size)
		fprintf(stderr,
			"%10" PRId64 "  free; dcode compacts at %" PRId64 "\n",
			w->size > used ? w->size - used : 0, w->limit);
	run_tell_assumed(r);
}

bool slash_cmd_context(struct run *r, int n, char **words)
{
	struct conversation c = { 0 };
	struct error err = { 0 };
	struct store *store = NULL;
	int64_t no = 0;

	(void)n;
	(void)words;
	if (r->agent.session)
		store = session_store(r->agent.session, &no);
	if (no && history_load(&c, store, no, &err) < 0)
		(void)app_fail(r->app, &err);
	else
		print_all(r, &c);
	history_release(&c);
	return true;
}

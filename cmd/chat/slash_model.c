/* slash_model.c - /model, /effort, /cost, /compact, /context. */
/* SPDX-License-Identifier: MIT */
/*
 * Commands about the model's input and its cost. Begin reading at
 * slash_cmd_model().
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/compact.h"
#include "agent/history_text.h"
#include "agent/prompt.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/print.h"
#include "cmd/session/conversation.h"
#include "cmd/session/model_names.h"
#include "cmd/session/money.h"
#include "cmd/session/run.h"
#include "model/catalog.h"
#include "model/choose.h"
#include "model/money.h"
#include "session/history.h"
#include "session/thread.h"
#include "ui/streams.h"

/* Losing this many cached tokens is worth a warning. */
enum { LARGE_CACHE = 10000 };

void slash_list_models(struct run *r, struct buf *out)
{
	struct model_names *m = model_names_list(r);

	for (size_t i = 0; i < m->n; i++) {
		buf_addstr(out, m->items[i].name);
		buf_addc(out, '\t');
		buf_addstr(out, m->items[i].summary);
		buf_addc(out, '\n');
	}
	model_names_free(m);
}

static void report_failure(struct run *r, struct error *err)
{
	char *current = run_model_name(r);

	if (err->code == ERR_AUTH && !err->hint[0])
		error_hint(err, "Type /auth set PROVIDER to store a key.");
	(void)app_fail(r->app, err);
	fprintf(stderr, "The model is still %s.\n", current);
	free(current);
}

/* Warns of a name that may be mistyped. */
static void tell_unlisted(struct run *r, const char *name)
{
	struct buf near = BUF_INIT(1 << 10);

	if (!model_names_has(r, &near))
		app_warn(
			"%s is not in the list of models; used as typed.%s%s%s",
			name, near.len ? " Did you mean " : "",
			near.len ? near.ptr : "", near.len ? "?" : "");
	buf_release(&near);
}

/* Changes the model and prints what the change costs: a lost cache, dropped
 * thinking, ignored parameters. */
static void change_model(struct run *r, const char *spec, const char *params)
{
	char *was = run_model_name(r);
	bool had_params = r->options.model_params && !params;
	struct error err = { 0 };
	char *is;

	if (conversation_set_model(r, spec, params, &err) < 0) {
		report_failure(r, &err);
		free(was);
		return;
	}
	r->options.model_params = NULL;
	is = run_model_name(r);
	fprintf(stderr, "The model is %s from the next message on.\n", is);
	tell_unlisted(r, is);
	if (strncmp(was, is, strcspn(is, ":") + 1) != 0 &&
	    session_is_stored(r->session))
		fprintf(stderr,
			"It gets the whole conversation, except the thinking "
			"of %s.\n",
			was);
	if (strcmp(was, is) != 0 && r->agent.usage.cache_read >= LARGE_CACHE)
		fprintf(stderr,
			"The next request is billed without cache discount: %s "
			"cannot use the cache of %s.\n",
			is, was);
	if (had_params)
		fputs("The new model ignores your --model-params.\n", stderr);
	free(was);
	free(is);
}

static void pick_model(struct run *r, const char *params)
{
	struct model_names *m = model_names_list(r);
	struct buf typed = BUF_INIT(SELECTION_FILTER + 1);
	const struct pick p = {
		.title = "Model", .items = m->items, .n = m->n, .typed = &typed
	};
	int chosen = r->pick(r->ui.arg, &p);

	if (chosen == 0)
		fputs("The model is unchanged.\n", stderr);
	else if (chosen > 0)
		change_model(r,
			     typed.len ? typed.ptr : m->items[chosen].name.ptr,
			     params);
	buf_release(&typed);
	model_names_free(m);
}

bool slash_cmd_model(struct run *r, int n, char **words)
{
	const char *params = NULL;
	struct error err = { 0 };

	if (n >= 2 && !strcmp(words[0], "--model-params")) {
		params = words[1];
		words += 2;
		n -= 2;
	}
	if (n > 1 || (n && words[0][0] == '-')) {
		error_set(&err, ERR_USAGE, "/model accepts only one model");
		error_hint(&err,
			   "Type /model [--model-params JSON] PROVIDER:NAME, "
			   "or /model alone for a list. [models] default in "
			   "config.toml sets it for every chat.");
		(void)app_fail(r->app, &err);
	} else if (n) {
		change_model(r, words[0], params);
	} else {
		pick_model(r, params);
	}
	return true;
}

static const char key[] = "models.effort";

/* Returns the constant string equal to a typed level, since the run stores only
 * the pointer. NULL: unknown. */
static const char *find_level(const char *level)
{
	static const char *const all[] = {
		"none", "minimal", "low", "medium",
		"high", "xhigh",   "max", "default"
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i], level))
			return all[i];
	return NULL;
}

static unsigned levels_of(const struct run *r)
{
	struct model_facts facts;

	(void)model_facts(r->app->settings, r->choice.provider, r->choice.model,
			  &facts);
	return facts.assumed && !facts.efforts ? ~0U : facts.efforts;
}

void slash_list_efforts(struct run *r, struct buf *out)
{
	struct buf names = BUF_INIT(128);
	struct str rest;
	struct str name;

	effort_names(levels_of(r), &names);
	rest = buf_str(&names);
	while (str_split(&rest, ' ', &name)) {
		while (name.len && name.ptr[name.len - 1] == ',')
			name.len--;
		if (!name.len || str_is(name, "or"))
			continue;
		buf_addstr(out, name);
		buf_adds(out, "\t\n");
	}
	buf_adds(out, "default\tthe vendor's default\n");
	buf_release(&names);
}

static void show_effort(const struct run *r)
{
	struct buf names = BUF_INIT(128);
	struct error ignored = { 0 };
	const char *level = NULL;

	(void)settings_string(r->app->settings, NULL, key, &level, &ignored);
	fprintf(stderr, "The effort is %s.\n",
		level && level[0] ? level : "default");
	effort_names(levels_of(r), &names);
	if (names.len)
		fprintf(stderr, "%s supports %s.\n", r->choice.model,
			names.ptr);
	else
		fprintf(stderr, "%s does not support effort levels.\n",
			r->choice.model);
	buf_release(&names);
}

/* Sets the effort level. If the model refuses it, the previous level is
 * restored. */
static int change_effort(struct run *r, const char *level, struct error *err)
{
	struct settings *set = r->app->settings;
	const char *now = NULL;
	char *was = settings_string(set, NULL, key, &now, err) == 0 && now
			    ? xstrdup(now)
			    : xstrdup("default");
	struct error ignored = { 0 };
	char *model = run_model_name(r);
	int rc = settings_set_flag(set, key, level, err);

	if (rc == 0)
		rc = conversation_set_model(r, model, r->options.model_params,
					    err);
	if (rc == 0)
		r->options.effort = level;
	else
		(void)settings_set_flag(set, key, was, &ignored);
	free(was);
	free(model);
	return rc;
}

bool slash_cmd_effort(struct run *r, int n, char **words)
{
	const char *level = n ? find_level(words[0]) : NULL;
	struct error err = { 0 };

	if (!n) {
		show_effort(r);
		return true;
	}
	if (n > 1)
		error_set(&err, ERR_USAGE, "/effort accepts only one level");
	else if (!level)
		(void)effort_unknown("/effort", words[0], &err);
	else if (change_effort(r, level, &err) == 0)
		fprintf(stderr, "The effort is %s from the next message on.\n",
			level);
	if (err.code)
		(void)app_fail(r->app, &err);
	return true;
}

/* Returns the next cap: one step higher, but within the policy's maximum; 0: it
 * cannot be raised. */
static int64_t next_cap(struct run *r, const struct meter_total *t)
{
	int64_t next = t->cap + (r->cap_step ? r->cap_step : t->cap);

	if (!r->cap_step)
		r->cap_step = t->cap;
	if (!t->most || next <= t->most)
		return next;
	return t->cap < t->most ? t->most : 0;
}

/* Asks whether to raise the cap. Returns true if the user agreed and the cap
 * was raised. */
static bool prompt_raise_cap(struct run *r, const char *title, const char *no)
{
	struct meter_total t;
	char room[2][MONEY_SIZE];
	char line[200];
	char go_on[64];
	struct fuzzy_item shown[2];
	struct pick pick = {
		.title = line, .items = shown, .n = 2, .asks = true
	};
	int64_t next;

	if (!r->pick)
		return false;
	meter_total(r->app->meter, &t);
	next = next_cap(r, &t);
	if (!next) {
		fprintf(stderr,
			"This machine's policy allows at most %s in one run.\n",
			money_exact(t.most, room[0]));
		return false;
	}
	snprintf(line, sizeof(line), "%s%s of %s spent", title,
		 money_exact(t.model + t.sandbox, room[0]),
		 money_exact(t.cap, room[1]));
	snprintf(go_on, sizeof(go_on), "raise the cap to %s",
		 money_exact(next, room[0]));
	/* A key meant for a message, such as Up, must not cost money. */
	shown[0] = (struct fuzzy_item){ .name = str_of(no) };
	shown[1] = (struct fuzzy_item){ .name = str_of(go_on) };
	if (r->pick(r->ui.arg, &pick) != 1)
		return false;
	meter_set_cap(r->app->meter, next);
	return true;
}

/* Implements run.raise; arg is the run. Asks whether to raise the cap by the
 * same amount again. */
static bool raise_cap(void *arg)
{
	return prompt_raise_cap(arg, "", "stop here");
}

int slash_raise_idle(struct run *r, struct error *err)
{
	struct meter_total t;
	char spent[MONEY_SIZE];
	char cap[MONEY_SIZE];

	if (prompt_raise_cap(r, "The running sandbox uses up --max-usd: ",
			     "leave the chat and its sandbox"))
		return 0;
	meter_total(r->app->meter, &t);
	return error_set(err, ERR_BUDGET,
			 "chat ended: --max-usd is used up (%s of %s, "
			 "including the idle sandbox)",
			 money_exact(t.model + t.sandbox, spent),
			 money_exact(t.cap, cap));
}

bool slash_cmd_cost(struct run *r, int n, char **words)
{
	struct buf out = BUF_INIT(1 << 20);

	(void)n;
	(void)words;
	run_money_print(r, &out);
	fputs(out.len ? out.ptr : "", stderr);
	buf_release(&out);
	return true;
}

/* Implements run.go_on; arg is the run. Asks whether to continue although the
 * model repeats a failing call. */
static bool ask_go_on(void *arg, const struct error *why)
{
	struct run *r = arg;
	struct buf title = BUF_INIT(1 << 12);
	const struct fuzzy_item shown[] = {
		{ .name = STR("stop here") },
		{ .name = STR("continue anyway") },
	};
	struct pick pick = { .items = shown, .n = 2, .asks = true };
	int chosen;

	if (!r->pick)
		return false;
	app_clean(r->app, CLEAN_LATER, str_of(why->message), &title);
	pick.title = title.ptr ? title.ptr : "";
	chosen = r->pick(r->ui.arg, &pick);
	buf_release(&title);
	return chosen == 1;
}

void slash_set_questions(struct run *r)
{
	r->raise = raise_cap;
	r->go_on = ask_go_on;
	r->push = slash_push_asked;
}

enum { FOCUS_MAX = 4000 };

static void report_compaction(const struct compact_step *s)
{
	int64_t saved = s->before > s->after ? s->before - s->after : 0;
	struct buf line = BUF_INIT(1 << 10);

	buf_addf(&line,
		 "Context: about %" PRId64 " -> %" PRId64 " tokens (%" PRId64
		 "%% less). The thread keeps every message; the model can read "
		 "them with read_history.",
		 s->before, s->after,
		 s->before > 0 ? saved * 100 / s->before : 0);
	output_line(buf_str(&line));
	buf_release(&line);
}

static void report_nothing(const struct compact_step *s)
{
	if (!s->after)
		fputs("Nothing to compact: there are no older messages.\n",
		      stderr);
	else
		fprintf(stderr,
			"Compacting would save nothing: about %" PRId64
			" -> %" PRId64
			" tokens. The conversation is unchanged.\n",
			s->before, s->after);
}

static void fail_compact(const struct run *r, struct error *err)
{
	error_wrap(err, "the conversation was not compacted");
	(void)app_fail(r->app, err);
}

bool slash_cmd_compact(struct run *r, int n, char **words)
{
	struct compact_order order = { .asked = true };
	struct compact_step step = { 0 };
	struct stop stop = app_stop(r->app);
	struct error err = { 0 };
	int rc;

	if (n && strlen(words[0]) > FOCUS_MAX) {
		fprintf(stderr,
			"/compact: the text is limited to %d bytes, and yours "
			"has %zu.\n",
			FOCUS_MAX, strlen(words[0]));
		return true;
	}
	order.focus = n ? words[0] : NULL;
	rc = compact_now(&r->agent, &order, &step, &stop, &err);
	if (rc > 0)
		report_compaction(&step);
	else if (rc == 0)
		report_nothing(&step);
	else if (err.code == ERR_CANCELLED)
		fputs("Interrupted: the conversation is unchanged.\n", stderr);
	else
		fail_compact(r, &err);
	return true;
}

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

/* Adds up the size of each kind of part in the conversation. Returns the total.
 */
static size_t sum_part_sizes(const struct run *r, const struct conversation *c,
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

/* Prints a part's share of the next request, in tokens estimated from bytes. */
static void print_share(const struct run *r, const char *name, size_t bytes)
{
	const struct window *w = &r->agent.window;
	size_t all = model_size(r->model);
	int64_t total = window_about(w, all);

	if (bytes && all)
		fprintf(stderr, "%10" PRId64 "  %s\n",
			(int64_t)((double)total * (double)bytes / (double)all),
			name);
}

/* Prints how many tokens each part of the next request takes. */
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
	size_t all = sum_part_sizes(r, c, sizes);

	fprintf(stderr, "Next request: about %" PRId64 " tokens", used);
	if (w->size)
		fprintf(stderr, " of a window of %" PRId64, w->size);
	if (w->reported)
		fprintf(stderr, " (last reported %" PRId64 ")", w->reported);
	fputs(w->last ? ":\n" : " (estimated):\n", stderr);
	print_share(r, "system prompt", system.len - memory - skills);
	print_share(r, "skills", skills);
	print_share(r, "AGENTS.md", memory);
	print_share(r, "tool descriptions", head - system.len);
	for (int i = 0; all && i < N_KINDS; i++)
		print_share(r, kind_names[i], sizes[i] * history / all);
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

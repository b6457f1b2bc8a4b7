/* slash_model.c - /model: which model the chat goes on with. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/print.h"
#include "cmd/session/conversation.h"
#include "cmd/session/run.h"
#include "model/choose.h"
#include "session/thread.h"

enum { MOST_MODELS = 300, NAME_MOST = 512, LAST_THREADS = 100 };

/* Tokens read from a cache so far that are worth a word when it is lost. */
enum { LARGE_CACHE = 10000 };

/* The models that are known by name: no vendor is asked. */
struct model_names {
	struct run *run;
	struct fuzzy_item items[MOST_MODELS]; /* texts owned */
	size_t n;
};

static bool is_known(const struct model_names *m, struct str name)
{
	for (size_t i = 0; i < m->n; i++)
		if (str_eq(m->items[i].name, name))
			return true;
	return false;
}

/* The variable that its key is missing from, or NULL. */
static const char *missing_key(const struct provider *p,
			       const struct settings *set)
{
	const struct toml_value *named =
		p->config ? toml_get(p->config, "api_key_env") : NULL;

	if (endpoint_has_key(p, set, true))
		return NULL;
	if (named && named->kind == TOML_STRING)
		return named->text;
	return p->preset ? preset_key_env(p->preset) : NULL;
}

/* What stands in the way of using it, or where it is from. */
static char *describe(const struct run *r, const char *name, const char *from)
{
	const struct settings *set = r->app->settings;
	char *vendor = xstrndup(name, strcspn(name, ":"));
	char *current = run_model_name(r);
	struct provider p;
	const char *key;
	char *text;

	if (!strcmp(current, name))
		text = xstrdup("in use");
	else if (!endpoint_find(&p, set, vendor))
		text = xasprintf("%s, unknown provider", from);
	else if (endpoint_disabled(&p))
		text = xasprintf("%s, disabled", from);
	else if ((key = missing_key(&p, set)))
		text = xasprintf("%s, no key: %s", from, key);
	else
		text = xstrdup(from);
	free(current);
	free(vendor);
	return text;
}

/* name may be foreign: one that is no clean line is left out. */
static void add_model(struct model_names *m, const char *name, const char *from)
{
	struct buf clean = BUF_INIT(NAME_MOST);

	print_add_line(m->run->app, &clean, name);
	if (m->n < MOST_MODELS && clean.len &&
	    str_eq(buf_str(&clean), str_of(name)) &&
	    !is_known(m, str_of(name))) {
		m->items[m->n].name = str_of(xstrdup(name));
		m->items[m->n++].summary = str_of(describe(m->run, name, from));
	}
	buf_release(&clean);
}

static void add_configured(struct model_names *m, const char *key,
			   const char *from)
{
	const struct toml_value *v = settings_toml(m->run->app->settings, key);

	if (v && v->kind == TOML_STRING)
		add_model(m, v->text, from);
}

static void add_list(struct model_names *m, const char *provider,
		     const struct toml_value *list)
{
	for (size_t i = 0;
	     list && list->kind == TOML_ARRAY && i < list->n_items; i++) {
		char *name;

		if (list->items[i].kind != TOML_STRING)
			continue;
		name = xasprintf("%s:%s", provider, list->items[i].text);
		add_model(m, name, "config.toml");
		free(name);
	}
}

static bool add_used(void *arg, struct thread *t)
{
	if (strchr(t->model, ':'))
		add_model(arg, t->model, "used before");
	return true;
}

static struct model_names *list_models(struct run *r)
{
	static const char *const usual[] = {
		"anthropic:claude-opus-5",
		"openai:gpt-5.6-terra",
		"google_genai:gemini-3.1-pro-preview",
	};
	const struct thread_filter last = { .limit = LAST_THREADS };
	const struct toml_value *all =
		settings_toml(r->app->settings, "models.providers");
	struct model_names *m = xcalloc(1, sizeof(*m));
	struct error ignored = { 0 };
	char *current = run_model_name(r);
	struct store *store;

	m->run = r;
	add_model(m, current, "");
	free(current);
	add_configured(m, "models.default", "models.default");
	add_configured(m, "models.recent", "models.recent");
	for (size_t i = 0; all && all->kind == TOML_TABLE && i < all->n_items;
	     i++)
		if (all->items[i].kind == TOML_TABLE)
			add_list(m, all->items[i].key,
				 toml_get(&all->items[i], "models"));
	if (app_store(r->app, &store, &ignored) == 0)
		(void)thread_each(store, &last, add_used, m, &ignored);
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		add_model(m, usual[i], "built in");
	return m;
}

static void release_models(struct model_names *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free((char *)m->items[i].name.ptr);
		free((char *)m->items[i].summary.ptr);
	}
	free(m);
}

void slash_list_models(struct run *r, struct buf *out)
{
	struct model_names *m = list_models(r);

	for (size_t i = 0; i < m->n; i++) {
		buf_addstr(out, m->items[i].name);
		buf_addc(out, '\t');
		buf_addstr(out, m->items[i].summary);
		buf_addc(out, '\n');
	}
	release_models(m);
}

static void fail(struct run *r, struct error *err)
{
	char *current = run_model_name(r);

	if (err->code == ERR_AUTH && !err->hint[0])
		error_hint(err, "Type /auth set PROVIDER to store a key.");
	(void)app_fail(r->app, err);
	fprintf(stderr, "The model is still %s.\n", current);
	free(current);
}

static void change(struct run *r, const char *spec, const char *params)
{
	char *was = run_model_name(r);
	bool had_params = r->options.model_params && !params;
	struct error err = { 0 };
	char *is;

	if (conversation_set_model(r, spec, params, &err) < 0) {
		fail(r, &err);
		free(was);
		return;
	}
	r->options.model_params = NULL;
	is = run_model_name(r);
	fprintf(stderr, "The model is %s from the next message on.\n", is);
	if (strncmp(was, is, strcspn(is, ":") + 1) != 0 &&
	    session_is_stored(r->session))
		fprintf(stderr,
			"It gets the whole conversation, except the thinking "
			"of %s.\n",
			was);
	if (strcmp(was, is) != 0 && r->agent.usage.cache_read >= LARGE_CACHE)
		fprintf(stderr,
			"The next request is billed as new input: the cache of "
			"%s is of no use to %s.\n",
			was, is);
	if (had_params)
		fputs("The new model ignores your --model-params.\n", stderr);
	free(was);
	free(is);
}

static void choose(struct run *r, const char *params)
{
	struct model_names *m = list_models(r);
	const struct pick p = { "Model", m->items, m->n, 0, false };
	int chosen = r->pick(r->ui.arg, &p);

	if (chosen > 0)
		change(r, m->items[chosen].name.ptr, params);
	release_models(m);
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
		error_set(&err, ERR_USAGE, "/model takes one model");
		error_hint(&err,
			   "Type /model [--model-params JSON] PROVIDER:NAME, "
			   "or /model alone for a list. [models] default in "
			   "config.toml sets it for every chat.");
		(void)app_fail(r->app, &err);
	} else if (n) {
		change(r, words[0], params);
	} else {
		choose(r, params);
	}
	return true;
}

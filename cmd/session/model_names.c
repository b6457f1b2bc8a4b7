/* model_names.c - the models that the user can choose from. */
/* SPDX-License-Identifier: MIT */
/*
 * The names are foreign where they come from a server or an earlier thread:
 * add_model() skips those that cannot be shown. Begin reading at
 * model_names_list().
 */
#include "cmd/session/model_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/print.h"
#include "model/catalog.h"
#include "model/choose.h"
#include "model/server.h"
#include "session/thread.h"

enum {
	NAME_MOST = 512,
	LAST_THREADS = 100,
	OFFER_MOST = 64 << 10,
	NEAR_MOST = 2
};

static bool is_known(const struct model_names *m, struct str name)
{
	for (size_t i = 0; i < m->n; i++)
		if (str_eq(m->items[i].name, name))
			return true;
	return false;
}

/* Returns the environment variable for the provider's missing key, or NULL. */
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

const char *model_names_write_tokens(int64_t n, char room[MODEL_NAMES_TOKENS])
{
	if (n >= 1000000)
		snprintf(room, MODEL_NAMES_TOKENS, "%.3gM", (double)n / 1e6);
	else if (n)
		snprintf(room, MODEL_NAMES_TOKENS, "%lldk",
			 (long long)(n / 1000));
	else
		snprintf(room, MODEL_NAMES_TOKENS, "-");
	return room;
}

/* Appends a part of a description after a comma. */
static void add_part(struct buf *out, const char *text)
{
	buf_addf(out, "%s%s", out->len && text[0] ? ", " : "", text);
}

/* Appends window and price: "1M, $4/$20". */
static void add_facts(const struct run *r, const char *vendor,
		      const char *model, struct buf *out)
{
	char window[MODEL_NAMES_TOKENS];
	struct model_facts f;
	char price[48];

	(void)model_facts(r->app->settings, vendor, model, &f);
	if (!f.assumed && f.context)
		add_part(out, model_names_write_tokens(f.context, window));
	if (!f.priced)
		return;
	snprintf(price, sizeof(price), "$%g/$%g", (double)f.price.input / 1e6,
		 (double)f.price.output / 1e6);
	add_part(out, price);
}

/* Appends why a model of this vendor cannot be used, if so. */
static void add_obstacle(const struct settings *set, const char *vendor,
			 struct buf *out)
{
	struct provider p;
	const char *key;

	if (!endpoint_find(&p, set, vendor)) {
		add_part(out, "unknown provider");
	} else if (endpoint_disabled(&p)) {
		add_part(out, "disabled");
	} else if ((key = missing_key(&p, set))) {
		add_part(out, "no key: ");
		buf_adds(out, key);
	}
}

/* True if the user has a key for the provider; arg: the settings. */
static bool is_usable(void *arg, const char *provider)
{
	struct provider p;

	return endpoint_find(&p, arg, provider) && !endpoint_disabled(&p) &&
	       !missing_key(&p, arg);
}

/* Returns the short name of "provider:model", a part of it. Empty if it has
 * none, or if that stands for another vendor's model here. */
static struct str short_alias(const struct run *r, const char *name)
{
	char *vendor = xstrndup(name, strcspn(name, ":"));
	const char *model = name + strlen(vendor) + (strchr(name, ':') != NULL);
	struct str word = short_name_of(vendor, model);
	const char *owner = NULL;

	if (word.len)
		(void)short_name_find(word, is_usable, r->app->settings,
				      &owner);
	if (!owner || strcmp(owner, vendor) != 0)
		word.len = 0;
	free(vendor);
	return word;
}

/* Describes a model: its short name, window, price, where its name comes from,
 * and why it cannot be used. */
static char *describe_model(const struct run *r, const char *name,
			    const char *from)
{
	char *vendor = xstrndup(name, strcspn(name, ":"));
	const char *model = name + strlen(vendor) + (strchr(name, ':') != NULL);
	char *current = run_model_name(r);
	struct buf text = BUF_INIT(NAME_MOST);

	buf_addstr(&text, short_alias(r, name));
	if (short_name_default(vendor) &&
	    !strcmp(short_name_default(vendor), model))
		add_part(&text, "default");
	add_facts(r, vendor, model, &text);
	add_part(&text, strcmp(current, name) != 0 ? from : "in use");
	add_obstacle(r->app->settings, vendor, &text);
	free(current);
	free(vendor);
	return buf_detach(&text);
}

/* Adds a model. A name with characters that cannot be shown is skipped; it may
 * come from a foreign file. */
static void add_model(struct model_names *m, const char *name, const char *from)
{
	struct buf clean = BUF_INIT(NAME_MOST);

	print_add_line(m->run->app, &clean, name);
	if (m->n < MODEL_NAMES_MAX && clean.len &&
	    str_eq(buf_str(&clean), str_of(name)) &&
	    !is_known(m, str_of(name))) {
		struct fuzzy_item *item = &m->items[m->n++];

		item->name = str_of(xstrdup(name));
		item->summary = str_of(describe_model(m->run, name, from));
		item->alias = short_alias(m->run, item->name.ptr);
	}
	buf_release(&clean);
}

static void add_configured(struct model_names *m, const char *key,
			   const char *from)
{
	const struct toml_value *v = settings_toml(m->run->app->settings, key);

	if (v && v->kind == TOML_STRING && strchr(v->text, ':'))
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

struct table_rows {
	struct model_names *names;
	bool usable; /* list the models that the user has a key for, or the
			others */
};

/* Adds a model of the built-in table. */
static void add_row(void *arg, const char *provider, const char *model,
		    const struct model_facts *facts)
{
	struct table_rows *t = arg;
	char *name;

	(void)facts;
	if (is_usable(t->names->run->app->settings, provider) != t->usable)
		return;
	name = xasprintf("%s:%s", provider, model);
	add_model(t->names, name, "");
	free(name);
}

/* Servers also list models that do not converse. */
static bool may_converse(const char *name)
{
	static const char *const others[] = {
		"embed",      "whisper", "tts",      "dall-e", "image",
		"moderation", "audio",   "realtime", "rerank", "transcribe",
		"imagen",     "veo",     "aqa",      "guard",  "sora",
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (strstr(name, others[i]))
			return false;
	return true;
}

static void note_offer(void *arg, const char *name)
{
	struct buf *names = arg;

	if (name[0] && !strchr(name, '\n') && may_converse(name))
		buf_addf(names, "%s\n", name);
}

/* Asks the server of the model in use, once for each address. */
static void ask_server(struct run *r)
{
	struct stop stop = app_stop(r->app);
	const char *url = r->choice.base_url;

	if (!r->model || !url ||
	    (r->offer.server && !strcmp(r->offer.server, url)))
		return;
	free(r->offer.server);
	buf_release(&r->offer.names);
	r->offer.server = xstrdup(url);
	r->offer.names = BUF_INIT(OFFER_MOST);
	server_list_names(r->model, note_offer, &r->offer.names, &stop);
}

static void add_offered(struct model_names *m)
{
	struct str rest;
	struct str line;

	rest = buf_str(&m->run->offer.names);
	while (str_split(&rest, '\n', &line)) {
		char *name = xasprintf("%s:%.*s", m->run->choice.provider,
				       (int)line.len, line.ptr);

		add_model(m, name, "offered by the server");
		free(name);
	}
}

/* Adds the models that config.toml lists for its providers. */
static void add_lists(struct model_names *m)
{
	const struct toml_value *all =
		settings_toml(m->run->app->settings, "models.providers");

	for (size_t i = 0; all && all->kind == TOML_TABLE && i < all->n_items;
	     i++)
		if (all->items[i].kind == TOML_TABLE)
			add_list(m, all->items[i].key,
				 toml_get(&all->items[i], "models"));
}

bool model_names_has(struct run *r, struct buf *near)
{
	struct model_names *m = xcalloc(1, sizeof(*m));
	char *name = run_model_name(r);
	struct str vendor = { name, strcspn(name, ":") + 1 };
	struct model_facts facts;
	size_t best = NEAR_MOST + 1;
	bool listed = false; /* there is a list of this vendor's models */
	bool has;

	m->run = r;
	add_lists(m);
	model_facts_each(NULL, add_row, &(struct table_rows){ m, true });
	model_facts_each(NULL, add_row, &(struct table_rows){ m, false });
	if (r->offer.server && r->choice.base_url &&
	    !strcmp(r->offer.server, r->choice.base_url))
		add_offered(m);
	has = is_known(m, str_of(name)) ||
	      model_facts(r->app->settings, r->choice.provider, r->choice.model,
			  &facts);
	for (size_t i = 0; i < m->n; i++) {
		struct str known = m->items[i].name;
		size_t far = nearest_distance(str_of(name), known);

		if (known.len < vendor.len ||
		    !str_eq((struct str){ known.ptr, vendor.len }, vendor))
			continue;
		listed = true;
		if (far >= best)
			continue;
		best = far;
		buf_clear(near);
		buf_addstr(near, known);
	}
	free(name);
	model_names_free(m);
	return has || !listed;
}

struct model_names *model_names_list(struct run *r)
{
	const struct thread_filter last = { .limit = LAST_THREADS };
	struct model_names *m = xcalloc(1, sizeof(*m));
	struct error ignored = { 0 };
	char *current = run_model_name(r);
	struct store *store;

	m->run = r;
	add_model(m, current, "");
	free(current);
	add_configured(m, "models.default", "models.default");
	add_configured(m, "models.recent", "models.recent");
	add_lists(m);
	model_facts_each(NULL, add_row, &(struct table_rows){ m, true });
	ask_server(r);
	add_offered(m);
	if (app_store(r->app, &store, &ignored) == 0)
		(void)thread_each(store, &last, add_used, m, &ignored);
	model_facts_each(NULL, add_row, &(struct table_rows){ m, false });
	return m;
}

void model_names_free(struct model_names *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free((char *)m->items[i].name.ptr);
		free((char *)m->items[i].summary.ptr);
	}
	free(m);
}

/* models_list.c - dcode models list. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/commands/models.h"
#include "cmd/print.h"
#include "model/catalog.h"

enum { NAME_WIDTH = 44 };

struct model_rows {
	struct app *app;
	const struct settings *set;
	const char *filter; /* or NULL */
	struct buf json;
	size_t n;
	char *provider; /* the last one that was asked for; owned */
	bool ready;     /* it has what a request needs */
};

static bool is_ready(struct model_rows *l, const char *provider,
		     const char *model)
{
	struct model_choice c;
	struct error ignored = { 0 };
	char *spec;

	if (l->provider && !strcmp(l->provider, provider))
		return l->ready;
	free(l->provider);
	l->provider = xstrdup(provider);
	spec = xasprintf("%s:%s", provider, model);
	l->ready = model_choose(&c, l->set, spec, NULL, &ignored) == 0;
	if (l->ready)
		model_choice_release(&c);
	free(spec);
	return l->ready;
}

static void add_number(struct buf *out, const char *key, int64_t n)
{
	if (n)
		buf_addf(out, ",\"%s\":%lld", key, (long long)n);
	else
		buf_addf(out, ",\"%s\":null", key);
}

/* Dollars for a million tokens. */
static void add_price(struct buf *out, const char *key, bool priced,
		      int64_t price)
{
	if (priced)
		buf_addf(out, ",\"%s\":%g", key, (double)price / 1e6);
	else
		buf_addf(out, ",\"%s\":null", key);
}

static void add_flag(struct buf *out, const char *key, bool flag)
{
	buf_addf(out, ",\"%s\":%s", key, flag ? "true" : "false");
}

static void add_json(struct model_rows *l, const char *provider,
		     const char *model, const struct model_facts *f)
{
	struct buf *out = &l->json;
	struct buf names = BUF_INIT(128);

	buf_adds(out, l->n > 1 ? ",{" : "{");
	print_add_member(l->app, out, "provider", provider);
	buf_addc(out, ',');
	print_add_member(l->app, out, "model", model);
	add_number(out, "context", f->assumed ? 0 : f->context);
	add_number(out, "max_output", f->max_output);
	add_price(out, "input_price", f->priced, f->price.input);
	add_price(out, "output_price", f->priced, f->price.output);
	add_price(out, "cache_read_price", f->priced, f->price.cache_read);
	add_price(out, "cache_write_price", f->priced, f->price.cache_write);
	add_number(out, "long_input_from", f->long_from);
	add_flag(out, "images", f->takes & MODEL_TAKES_IMAGES);
	add_flag(out, "pdf", f->takes & MODEL_TAKES_PDF);
	add_flag(out, "thinking", f->takes & MODEL_THINKS);
	effort_names(f->efforts, &names);
	buf_adds(out, ",");
	json_member(out, "efforts", buf_str(&names));
	add_flag(out, "ready", is_ready(l, provider, model));
	buf_addc(out, '}');
	buf_release(&names);
}

/* "1.05M", "200k" */
static const char *short_tokens(int64_t n, char room[16])
{
	if (n >= 1000000)
		snprintf(room, 16, "%.3gM", (double)n / 1e6);
	else if (n)
		snprintf(room, 16, "%lldk", (long long)(n / 1000));
	else
		snprintf(room, 16, "-");
	return room;
}

static void print_row(struct model_rows *l, const char *provider,
		      const char *model, const struct model_facts *f)
{
	struct buf name = BUF_INIT(1 << 10);
	char price[48] = "-";
	char window[16];
	char output[16];

	print_add_line(l->app, &name, provider);
	buf_addc(&name, ':');
	print_add_line(l->app, &name, model);
	if (f->priced)
		snprintf(price, sizeof(price), "$%g/$%g",
			 (double)f->price.input / 1e6,
			 (double)f->price.output / 1e6);
	if (l->n == 1)
		printf("%-*s %7s %7s %14s  %s\n", NAME_WIDTH, "MODEL", "WINDOW",
		       "OUTPUT", "$ IN/OUT", "READY");
	printf("%-*s %7s %7s %14s  %s\n", NAME_WIDTH, name.ptr,
	       short_tokens(f->assumed ? 0 : f->context, window),
	       short_tokens(f->max_output, output), price,
	       is_ready(l, provider, model) ? "yes" : "no");
	buf_release(&name);
}

static void add_model(struct model_rows *l, const char *provider,
		      const char *model)
{
	char *name = xasprintf("%s:%s", provider, model);
	struct model_facts facts;

	if (!l->filter || strstr(name, l->filter)) {
		l->n++;
		(void)model_facts(l->set, provider, model, &facts);
		if (l->app->json)
			add_json(l, provider, model, &facts);
		else
			print_row(l, provider, model, &facts);
	}
	free(name);
}

static void on_row(void *arg, const char *provider, const char *model,
		   const struct model_facts *facts)
{
	(void)facts; /* a profile may say more */
	add_model(arg, provider, model);
}

/* Those that the table does not have. */
static void add_configured(struct model_rows *l, const char *provider,
			   const struct toml_value *models)
{
	struct model_facts facts;

	for (size_t i = 0;
	     models && models->kind == TOML_ARRAY && i < models->n_items; i++) {
		const struct toml_value *v = &models->items[i];

		if (v->kind == TOML_STRING && v->text[0] &&
		    !model_facts(NULL, provider, v->text, &facts))
			add_model(l, provider, v->text);
	}
}

int models_cmd_list(struct app *app, const struct args *args)
{
	struct model_rows l = { .app = app, .json = BUF_INIT(1 << 20) };
	const struct toml_value *all;
	struct settings *set;
	struct error err = { 0 };

	if (app_settings(app, &set, &err) < 0)
		return app_fail(app, &err);
	l.set = set;
	l.filter = args->argc ? args->argv[0] : NULL;
	buf_addc(&l.json, '[');
	model_facts_each(NULL, on_row, &l);
	all = settings_toml(set, "models.providers");
	for (size_t i = 0; all && all->kind == TOML_TABLE && i < all->n_items;
	     i++)
		if (all->items[i].kind == TOML_TABLE)
			add_configured(&l, all->items[i].key,
				       toml_get(&all->items[i], "models"));
	buf_addc(&l.json, ']');
	if (app->json)
		app_envelope("models list", &l.json);
	else if (!l.n)
		fprintf(stderr, "No known model has this name.");
	free(l.provider);
	buf_release(&l.json);
	return 0;
}

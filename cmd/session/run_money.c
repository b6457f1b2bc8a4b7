/* run_money.c - the cap on what a run costs, and what is said of it. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/run_money.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "model/catalog.h"
#include "model/money.h"
#include "providers/price.h"
#include "session/spend.h"

enum {
	MOST_DOLLARS = 1000000,
	ASK_MS = 60000, /* for an answer, before a sandbox ends the chat */
};

/* 5, 0.5 or "0.50" */
static bool read_amount(const struct toml_value *v, int64_t *amount)
{
	if (v->kind == TOML_STRING)
		return money_read(str_of(v->text), amount);
	if (v->kind == TOML_INT && v->integer > 0 &&
	    v->integer <= MOST_DOLLARS) {
		*amount = v->integer * METER_DOLLAR;
		return true;
	}
	if (v->kind != TOML_FLOAT || !isfinite(v->real) || v->real <= 0 ||
	    v->real > MOST_DOLLARS)
		return false;
	*amount = llround(v->real * (double)METER_DOLLAR);
	return *amount > 0;
}

static int refuse_setting(const struct toml_value *v, const char *name,
			  struct error *err)
{
	return error_set(err, ERR_CONFIG,
			 "[limits] %s (line %d): use an amount in US dollars "
			 "above 0, such as 5 or 0.50",
			 name, v->line);
}

static int read_cap(const struct toml_value *v, int64_t *cap, struct error *err)
{
	int64_t amount;

	if (!v)
		return 0;
	if (!read_amount(v, &amount))
		return refuse_setting(v, "max_usd", err);
	*cap = amount;
	return 0;
}

static int add_thresholds(struct meter *m, const struct toml_value *limits,
			  struct error *err)
{
	const struct toml_value *v =
		limits ? toml_get(limits, "warn_usd") : NULL;
	int64_t amount;

	if (v && v->kind != TOML_ARRAY) {
		if (!read_amount(v, &amount))
			return refuse_setting(v, "warn_usd", err);
		meter_warn_at(m, amount);
	}
	for (size_t i = 0; v && v->kind == TOML_ARRAY && i < v->n_items; i++) {
		if (!read_amount(&v->items[i], &amount))
			return refuse_setting(&v->items[i], "warn_usd", err);
		meter_warn_at(m, amount);
	}
	return 0;
}

int run_money_begin(struct run *r, struct error *err)
{
	const struct toml_value *limits;
	struct settings *set;
	int64_t cap = r->options.max_usd;
	int64_t most = 0;

	if (r->app->meter)
		return 0;
	if (app_settings(r->app, &set, err) < 0)
		return -1;
	limits = settings_toml(set, "limits");
	if (!cap && limits &&
	    read_cap(toml_get(limits, "max_usd"), &cap, err) < 0) {
		if (!r->app->goes_without)
			return -1;
		*err = (struct error){ 0 };
	}
	/* the machine's cap is not to be passed by a flag, nor by an answer */
	if (read_cap(settings_policy(set, "limits.max_usd"), &most, err) < 0) {
		err->code = ERR_POLICY;
		return -1;
	}
	r->app->meter = meter_new(NULL);
	meter_set_cap(r->app->meter, cap);
	meter_limit_cap(r->app->meter, most);
	if (r->interactive)
		meter_keep_time(r->app->meter, ASK_MS);
	if (add_thresholds(r->app->meter, limits, err) == 0)
		return 0;
	if (!r->app->goes_without)
		return -1;
	*err = (struct error){ 0 };
	return 0;
}

int run_money_check(struct run *r, struct error *err)
{
	struct meter_model *account;

	return run_money_model(r, &account, err);
}

static int refuse_unpriced(const struct run *r, struct error *err)
{
	char *name = run_model_name(r);

	(void)error_set(
		err, ERR_USAGE,
		"--max-usd cannot be enforced: the price of %.200s is unknown",
		name);
	free(name);
	return error_hint(err,
			  "[models.providers.%.40s.profile.\"%.80s\"] in "
			  "config.toml gives one: input_price = 1.0 and "
			  "output_price = 5.0, for a million tokens",
			  r->choice.provider, r->choice.model);
}

static int refuse_param(const struct costly_param *p, struct error *err)
{
	(void)error_set(err, ERR_USAGE,
			"--max-usd cannot be enforced: the cost of the "
			"parameter %s is unknown",
			p->shown);
	return error_hint(err,
			  "Remove it from --model-params and from params in "
			  "config.toml%s, or run without a cap.",
			  p->kind == COSTLY_TIER
				  ? ", set input_price and output_price of "
				    "the model's profile to what it costs"
				  : "");
}

int run_money_model(struct run *r, struct meter_model **account,
		    struct error *err)
{
	struct costly_param param;
	struct model_facts facts;
	struct meter_total total;
	char *name;
	bool costly = costly_param_find(r->choice.params, &param);

	(void)model_facts(r->app->settings, r->choice.provider, r->choice.model,
			  &facts);
	/* the user's own price is that of what he asks for */
	if (costly && param.kind == COSTLY_TIER && facts.own_price)
		costly = false;
	meter_total(r->app->meter, &total);
	if (total.cap && costly)
		return refuse_param(&param, err);
	if (total.cap && !facts.priced)
		return refuse_unpriced(r, err);
	if (costly && param.kind != COSTLY_ANSWERS)
		facts.priced = false;
	name = run_model_name(r);
	*account = meter_model(r->app->meter, name, &facts);
	free(name);
	return 0;
}

int run_money_sandbox(struct run *r, struct error *err)
{
	const struct sandbox_provider *p = r->host.provider;
	struct meter_total total;
	struct sandbox_price price;

	if (p->flags & SANDBOX_UNISOLATED)
		return 0;
	if (price_of_sandbox(r->app->settings, p, r->options.snapshot, &price,
			     err) < 0)
		return -1;
	meter_total(r->app->meter, &total);
	if (total.cap && price.usd_s < 0)
		app_warn("the price of a %s sandbox is unknown, so --max-usd "
			 "counts only the model. Set usd_per_hour in "
			 "[sandboxes.providers.%s]",
			 p->name, p->name);
	r->usd_s = price.usd_s;
	r->metered = 1 + meter_sandbox_begin(r->app->meter, p->name,
					     price.usd_s, price.at_most);
	return 0;
}

void run_money_sandbox_end(struct run *r)
{
	if (r->metered && r->box.none_made)
		meter_sandbox_drop(r->app->meter, r->metered - 1);
	else if (r->metered)
		meter_sandbox_end(r->app->meter, r->metered - 1);
	r->metered = 0;
}

struct stop run_money_stop(const struct run *r, const struct stop *stop)
{
	int64_t ms = meter_time_to_end(r->app->meter);

	return ms == INT64_MAX ? *stop : stop_within(stop, ms);
}

static int64_t later(int64_t ms)
{
	return ms == INT64_MAX ? ms : clock_ms() + ms;
}

int64_t run_money_asks_at(const struct run *r)
{
	struct meter *m = r->app->meter;

	return m ? later(meter_time_left(m)) : INT64_MAX;
}

int64_t run_money_ends_at(const struct run *r)
{
	struct meter *m = r->app->meter;

	return m ? later(meter_time_to_end(m)) : INT64_MAX;
}

void run_money_keep(struct run *r)
{
	struct error ignored = { 0 };

	if (r->metered && r->box.ours && r->box.label[0] &&
	    r->box.request.on_exit == LIFECYCLE_KEEP)
		(void)ledger_price(r->box.request.store, r->box.label, r->usd_s,
				   &ignored);
}

void run_money_store(struct run *r)
{
	struct error ignored = { 0 };

	if (r->session && r->app->meter)
		(void)spend_store(r->session, r->app->meter, &ignored);
}

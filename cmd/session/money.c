/* money.c - counts and limits the cost of a run, and prints it. */
/* SPDX-License-Identifier: MIT */

/*
 * One meter (src/model/money.h) counts all costs: the requests of each model,
 * and the time of each sandbox. run_money_begin() creates it with the cap.
 * run_money_model() and run_money_sandbox() register what a run uses. If there
 * is a cap and the price is unknown, a model is refused, and a sandbox only
 * causes a warning. The second half prints the costs.
 */
#include "cmd/session/money.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/str.h"
#include "cmd/session/run.h"
#include "model/catalog.h"
#include "model/money.h"
#include "providers/registry.h"
#include "session/records.h"

enum {
	MOST_DOLLARS = 1000000,
	ASK_MS = 60000, /* the user's time to answer the question before a chat
			   ends at the cap */
};

/* Reads an amount: 5, 0.5 or "0.50". */
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

/* Names the line in the message, because TOML has many spellings of a
 * number. */
static int refuse_setting(const struct toml_value *v, const char *name,
			  struct error *err)
{
	return error_set(err, ERR_CONFIG,
			 "[limits] %s (line %d): use an amount in US dollars "
			 "above 0, such as 5 or 0.50",
			 name, v->line);
}

/* Reads a cap. If the setting is missing, *cap keeps its value. */
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

/* Reads warn_usd: one amount or a list. */
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

/* The first run of a chat creates the meter; later runs share it. */
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
	/* The machine's policy limits the cap of the flags and later
	 * increases. */
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

/* Refuses a model without a known price, because a cap is set. The hint shows
 * the lines in config.toml that set a price. */
static int refuse_unpriced(const struct run *r, struct error *err)
{
	char *name = run_model_name(r);

	(void)error_set(
		err, ERR_USAGE,
		"--max-usd cannot be enforced: the price of %.200s is unknown",
		name);
	free(name);
	return error_hint(err,
			  "Set it in config.toml: "
			  "[models.providers.%.40s.profile.\"%.80s\"] with, "
			  "for example, input_price = 1.0 and output_price = "
			  "5.0 (US dollars per million tokens)",
			  r->choice.provider, r->choice.model);
}

/* Refuses a parameter that changes the price in an unknown way, because a cap
 * is set. */
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

/* Some parameters change the price of a request. With them, the model's price
 * counts as unknown. */
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
	/* A price set by the user already includes the service tier. */
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

/* An unknown price causes a warning only if there is a cap. */
int run_money_sandbox(struct run *r, struct error *err)
{
	const struct sandbox_provider *p = r->client.provider;
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

/* Converts a duration to a clock_ms() time; INT64_MAX means never. */
static int64_t deadline_after(int64_t ms)
{
	return ms == INT64_MAX ? ms : clock_ms() + ms;
}

int64_t run_money_asks_at(const struct run *r)
{
	struct meter *m = r->app->meter;

	return m ? deadline_after(meter_time_left(m)) : INT64_MAX;
}

int64_t run_money_ends_at(const struct run *r)
{
	struct meter *m = r->app->meter;

	return m ? deadline_after(meter_time_to_end(m)) : INT64_MAX;
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

struct printing {
	struct buf *out;
	int64_t total;
	bool priced;
};

/* Appends a duration, such as "1 min 5 s". */
static void add_time(struct buf *out, int64_t ms)
{
	int64_t s = ms / 1000;

	if (s >= 3600)
		buf_addf(out, "%" PRId64 " h %" PRId64 " min", s / 3600,
			 s / 60 % 60);
	else if (s >= 60)
		buf_addf(out, "%" PRId64 " min %" PRId64 " s", s / 60, s % 60);
	else
		buf_addf(out, "%" PRId64 " s", s);
}

/* Amounts are rounded down to cents; the JSON result has all digits. */
void run_money_line(const struct run *r, struct buf *out)
{
	struct meter_total t = { 0 };
	char room[MONEY_SIZE];
	bool no_model;

	if (r->app->meter)
		meter_total(r->app->meter, &t);
	if (!t.used)
		return;
	no_model = t.model_unpriced && !t.model;
	buf_addf(out, "Cost: %s",
		 no_model && !t.sandbox
			 ? "unknown"
			 : money_short(t.model + t.sandbox, room));
	if (t.cap)
		buf_addf(out, " of %s", money_short(t.cap, room));
	if (t.sandbox_ms) {
		buf_addf(out, " (model %s, ",
			 no_model ? "price unknown"
				  : money_short(t.model, room));
		if (t.sandbox_unpriced)
			buf_adds(out, "sandbox price unknown: ");
		else
			buf_addf(out, "sandbox %s%s for ",
				 t.sandbox_at_most ? "at most " : "",
				 money_short(t.sandbox, room));
		add_time(out, t.sandbox_ms);
		buf_addc(out, ')');
	}
	if (t.unclear)
		buf_addf(out,
			 ", and up to %s reserved for %" PRId64
			 " interrupted answer%s of unknown cost",
			 money_short(t.unclear, room), t.cut,
			 t.cut == 1 ? "" : "s");
	if (no_model && !t.sandbox_ms)
		buf_adds(out, " (no price is known for the model)");
	else if (t.model_unpriced && !no_model)
		buf_adds(out, "; models without a price are not counted");
}

void run_money_json(const struct run *r, struct buf *out)
{
	struct meter_total t = { 0 };
	char room[MONEY_SIZE];

	if (r->app->meter)
		meter_total(r->app->meter, &t);
	if (t.model_unpriced || t.sandbox_unpriced)
		buf_adds(out, ",\"cost_usd\":null");
	else
		buf_addf(out, ",\"cost_usd\":%s",
			 money_json(t.model + t.sandbox, room));
	buf_addf(out, ",\"model_usd\":%s",
		 t.model_unpriced ? "null" : money_json(t.model, room));
	buf_addf(out, ",\"sandbox_usd\":%s",
		 t.sandbox_unpriced ? "null" : money_json(t.sandbox, room));
	buf_addf(out, ",\"unclear_usd\":%s", money_json(t.unclear, room));
	buf_addf(out, ",\"sandbox_seconds\":%" PRId64, t.sandbox_ms / 1000);
}

/* meter_each() and spend_each() callback: prints one model or sandbox. */
static void print_line(void *arg, const struct meter_line *l)
{
	struct printing *p = arg;
	const struct usage *u = &l->usage;
	char room[MONEY_SIZE];

	if (!l->calls && !l->sandbox)
		return;
	p->total += l->cost;
	p->priced &= l->priced;
	buf_addf(p->out, "  %s: %s%s, ", l->name,
		 l->at_most && l->priced ? "at most " : "",
		 l->priced    ? money_exact(l->cost, room)
		 : l->sandbox ? "sandbox price unknown"
			      : "no price known");
	if (l->sandbox) {
		buf_adds(p->out, "sandbox for ");
		add_time(p->out, l->ms);
	} else {
		buf_addf(p->out,
			 "%" PRId64 " request%s, tokens: %" PRId64
			 " in, %" PRId64 " read from the cache, %" PRId64
			 " written to it, %" PRId64 " out",
			 l->calls, l->calls == 1 ? "" : "s", u->input,
			 u->cache_read, u->cache_write, u->output);
	}
	if (l->unclear)
		buf_addf(p->out,
			 "; up to %s more for %" PRId64 " interrupted answer%s",
			 money_exact(l->unclear, room), l->cut,
			 l->cut == 1 ? "" : "s");
	buf_addc(p->out, '\n');
}

/* Prints the thread's costs from the database, including earlier runs. */
static void print_thread(struct run *r, struct buf *out)
{
	struct printing p = { out, 0, true };
	struct error ignored = { 0 };
	struct thread t = { 0 };
	struct store *store;
	char room[MONEY_SIZE];

	if (!r->session || !session_is_stored(r->session) ||
	    app_store_later(r->app, &store, &ignored) < 0 ||
	    thread_find(store, session_id(r->session), NULL, &t, &ignored) < 0)
		return;
	buf_adds(out, "This thread, all runs:\n");
	(void)spend_each(store, t.no, print_line, &p, &ignored);
	buf_addf(out, "  total: %s%s\n",
		 p.priced || p.total ? money_exact(p.total, room) : "unknown",
		 p.priced || !p.total
			 ? ""
			 : ", not counting entries without a price");
	thread_release(&t);
}

void run_money_print(struct run *r, struct buf *out)
{
	struct printing p = { out, 0, true };
	struct meter_total t;
	size_t before = out->len;

	meter_total(r->app->meter, &t);
	if (t.used) {
		run_money_line(r, out);
		buf_addc(out, '\n');
		run_money_store(r);
		meter_each(r->app->meter, print_line, &p);
	}
	/* A resumed thread has costs of earlier runs. */
	print_thread(r, out);
	if (out->len == before)
		buf_adds(out, "Nothing has been used yet.\n");
}

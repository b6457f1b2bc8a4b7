/* models.c - dcode models: lists models, and sends a test request to one. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at models_cmd_list() and models_cmd_test().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/app.h"
#include "cmd/args.h"
#include "cmd/command.h"
#include "cmd/print.h"
#include "cmd/session/model_names.h"
#include "cmd/session/money.h"
#include "cmd/session/run.h"
#include "model/catalog.h"
#include "model/money.h"

enum { NAME_WIDTH = 44 };

struct model_rows {
	struct app *app;
	const struct settings *set;
	const char *filter; /* NULL: list all */
	struct buf json;
	size_t n;
	char *provider; /* owned: provider whose readiness `ready` tells; NULL:
			   none yet */
	bool ready; /* the provider has a key and everything else that a request
		       needs */
};

/* True if a request to this provider could be sent. The result is kept for the
 * next call with the same provider. */
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

/* Adds a price in US dollars per million tokens as a member. */
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

static void print_row(struct model_rows *l, const char *provider,
		      const char *model, const struct model_facts *f)
{
	struct buf name = BUF_INIT(1 << 10);
	char price[48] = "-";
	char window[MODEL_NAMES_TOKENS];
	char output[MODEL_NAMES_TOKENS];

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
	       model_names_write_tokens(f->assumed ? 0 : f->context, window),
	       model_names_write_tokens(f->max_output, output), price,
	       is_ready(l, provider, model) ? "yes" : "no");
	buf_release(&name);
}

/* Prints the model, unless the filter excludes it. */
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
	(void)facts; /* unused: add_model() looks up the facts together with the
			user's profile */
	add_model(arg, provider, model);
}

/* Adds the models in config.toml that the built-in table does not have. */
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

/* The following functions implement subcommand.run. */
static int models_cmd_list(struct app *app, const struct args *args)
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

enum {
	CHECK_MS = 60000, /* time limit of one request */
	AT_CAP = 124,     /* exit status if the cost cap is reached */
	FACTS = 1200,     /* number of lines in the long system prompt */
};

struct trial {
	struct app *app;
	struct model_choice choice;
	struct model *model; /* connection of the current check */
	struct meter_model *account;
	struct stop stop;   /* deadline of the current check */
	struct usage usage; /* tokens of all checks */
	struct buf json;
	size_t deltas; /* number of text deltas in the last answer */
	size_t n, failed;
};

struct ability {
	const char *name;
	/* Returns 1 if the model has the ability, 0 if not, -1 with err if the
	 * request failed. */
	int (*run)(struct trial *t, struct error *err);
	bool long_prompt; /* the system prompt must be long enough to be
			   cached */
};

/* PNG of a red square, 64 by 64 pixels */
static const char red_square[] =
	"iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAS0lEQVR42u3PQQkAAAgA"
	"setfWiP4FgYrsKZeS0BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBA"
	"QEBAQEBAQEDgsqnc8OJg6Ln3AAAAAElFTkSuQmCC";

static void on_text(void *arg, struct str delta)
{
	struct trial *t = arg;

	t->deltas += delta.len > 0;
}

static void on_thinking(void *arg, struct str delta)
{
	(void)arg;
	(void)delta;
}

static void on_restart(void *arg, const char *why)
{
	struct trial *t = arg;

	(void)why;
	t->deltas = 0;
}

/* Sends a request. The caller releases reply. */
static int send_request(struct trial *t, const char *text,
			struct model_reply *reply, struct error *err)
{
	const struct model_sink sink = { .text = on_text,
					 .thinking = on_thinking,
					 .restart = on_restart,
					 .arg = t };
	struct message m = { .role = ROLE_USER };

	if (text) {
		message_add(&m, PART_TEXT)->text = xstrdup(text);
		model_push(t->model, &m);
		message_release(&m);
	}
	t->deltas = 0;
	if (model_stream(t->model, &sink, reply, &t->stop, err) < 0)
		return -1;
	usage_sum(&t->usage, &reply->usage);
	return 0;
}

static size_t count_parts(const struct model_reply *r, enum part_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < r->message.n; i++)
		n += r->message.parts[i].kind == kind;
	return n;
}

static int check_streaming(struct trial *t, struct error *err)
{
	struct model_reply r = { 0 };
	int rc = send_request(
		t, "Count from 1 to 30, in digits, separated by spaces.", &r,
		err);

	model_reply_release(&r);
	return rc < 0 ? -1 : t->deltas > 1;
}

static int count_calls(struct trial *t, const char *text, size_t least,
		       struct error *err)
{
	struct model_reply r = { 0 };
	int rc = send_request(t, text, &r, err);
	size_t n = rc < 0 ? 0 : count_parts(&r, PART_TOOL_CALL);

	model_reply_release(&r);
	return rc < 0 ? -1 : n >= least;
}

static int check_tools(struct trial *t, struct error *err)
{
	return count_calls(t, "Call the tool weather for Paris.", 1, err);
}

static int check_parallel(struct trial *t, struct error *err)
{
	return count_calls(t,
			   "Call the tool weather for Paris and for Rome, both "
			   "calls at once in one answer.",
			   2, err);
}

/* Asks the model a small puzzle and checks whether it has sent its thinking. */
static int check_thinking(struct trial *t, struct error *err)
{
	struct model_reply r = { 0 };
	int rc = send_request(
		t,
		"A farmer has 17 sheep, all but 9 die, then he buys twice "
		"as many as are left. How many has he? Think first.",
		&r, err);
	bool yes = rc == 0 &&
		   (count_parts(&r, PART_THINKING) || r.usage.reasoning > 0);

	model_reply_release(&r);
	return rc < 0 ? -1 : yes;
}

/* Sends a picture: the model must name the colour of a red square. */
static int check_images(struct trial *t, struct error *err)
{
	struct message m = { .role = ROLE_USER };
	struct buf png = BUF_INIT(1 << 12);
	struct model_reply r = { 0 };
	char *text = NULL;
	int rc;

	message_add(&m, PART_TEXT)->text =
		xstrdup("Which colour has this square? Answer with one word.");
	(void)json_decode_base64(&png, str_of(red_square));
	(void)message_add_media(&m, "square.png", &png);
	buf_release(&png);
	model_push(t->model, &m);
	message_release(&m);
	rc = send_request(t, NULL, &r, err);
	if (rc == 0)
		text = message_text(&r.message);
	rc = rc < 0 ? -1 : text && strcasestr(text, "red");
	free(text);
	model_reply_release(&r);
	return rc;
}

/* Sends the same prompt twice. The second request should read the prompt from
 * the cache. */
static int check_caching(struct trial *t, struct error *err)
{
	struct model_reply first = { 0 };
	struct model_reply second = { 0 };
	int rc = send_request(t, "Which number has fact 7? Only the number.",
			      &first, err);
	int64_t read = 0;

	if (rc == 0) {
		model_push(t->model, &first.message);
		rc = send_request(t, "And fact 9? Only the number.", &second,
				  err);
		read = second.usage.cache_read;
	}
	model_reply_release(&first);
	model_reply_release(&second);
	return rc < 0 ? -1 : read > 0;
}

static const struct ability checks[] = {
	{ "streaming", check_streaming, false },
	{ "tools", check_tools, false },
	{ "parallel tools", check_parallel, false },
	{ "thinking", check_thinking, false },
	{ "images", check_images, false },
	{ "caching", check_caching, true },
};

/* Runs one check with a new connection to the model. */
static int run_check(struct trial *t, const struct ability *c,
		     struct error *err)
{
	static const struct tool_spec weather = {
		.name = "weather",
		.description = "Tells the weather of one city.",
		.schema = "{\"type\":\"object\",\"properties\":{\"city\":{"
			  "\"type\":"
			  "\"string\"}},\"required\":[\"city\"]}"
	};
	struct buf system = BUF_INIT(1 << 20);
	struct model_brief brief = { .tools = &weather,
				     .n_tools = 1,
				     .meter = t->account };
	int rc;

	buf_adds(&system, "Answer briefly.\n");
	for (int i = 1; c->long_prompt && i <= FACTS; i++)
		buf_addf(&system, "Fact %d has the number %d.\n", i, i * i);
	brief.system = system.ptr;
	t->stop = app_stop(t->app);
	t->stop = stop_within(&t->stop, CHECK_MS);
	rc = model_open(&t->model, app_http(t->app), &t->choice, &brief, err);
	if (rc == 0) {
		rc = c->run(t, err);
		model_close(t->model);
	}
	buf_release(&system);
	return rc;
}

/* Prints the result of one check. */
static void report_check(struct trial *t, const char *name, int rc,
			 const struct error *err)
{
	struct buf why = BUF_INIT(1 << 12);
	const char *word = rc < 0 ? "failed" : rc ? "yes" : "no";

	if (rc < 0)
		print_add_line(t->app, &why, err->message);
	if (t->app->json) {
		buf_adds(&t->json, t->n ? ",{" : "{");
		json_member(&t->json, "name", str_of(name));
		buf_addc(&t->json, ',');
		json_member(&t->json, "result", str_of(word));
		buf_addc(&t->json, ',');
		json_member(&t->json, "reason", buf_str(&why));
		buf_addc(&t->json, '}');
	} else {
		printf("%-16s %s%s%s\n", name, word, why.len ? "  " : "",
		       why.len ? why.ptr : "");
		buf_clear(&why);
		print_add_line(t->app, &why, rc < 0 ? err->hint : "");
		if (why.len)
			printf("%-16s %s\n", "", why.ptr);
		fflush(stdout);
	}
	t->n++;
	t->failed += rc < 0;
	buf_release(&why);
}

/* Prints the cost of all checks. With --json prints the whole document. */
static void print_end(struct trial *t, const struct settings *set)
{
	struct buf data = BUF_INIT(1 << 20);
	struct model_facts facts;
	double dollars;

	(void)model_facts(set, t->choice.provider, t->choice.model, &facts);
	dollars = (double)model_cost(&facts, &t->usage) / 1e12;
	if (!t->app->json) {
		if (facts.priced)
			printf("cost             $%.4f\n", dollars);
		else
			printf("cost             not known\n");
		buf_release(&data);
		return;
	}
	buf_addc(&data, '{');
	print_add_member(t->app, &data, "provider", t->choice.provider);
	buf_addc(&data, ',');
	print_add_member(t->app, &data, "model", t->choice.model);
	buf_addf(&data,
		 ",\"checks\":[%s],\"usage\":", t->json.len ? t->json.ptr : "");
	usage_to_json(&t->usage, &data);
	if (facts.priced)
		buf_addf(&data, ",\"cost_usd\":%.6f}", dollars);
	else
		buf_adds(&data, ",\"cost_usd\":null}");
	app_envelope("models test", &data);
	buf_release(&data);
}

/* Creates the meter with one cap for all checks together: --max-usd, or that of
 * [limits]. */
static int open_account(struct trial *t, const struct args *args,
			struct error *err)
{
	const char *text = args_value(args, "max-usd");
	struct run r = { .app = t->app, .choice = t->choice };

	if (text && !money_read(str_of(text), &r.options.max_usd))
		return error_set(err, ERR_USAGE,
				 "argument --max-usd: must be an amount in US "
				 "dollars above 0, such as 5 or 0.50, got '%s'",
				 text);
	if (run_money_begin(&r, err) < 0)
		return -1;
	return run_money_model(&r, &t->account, err);
}

/* True for an error that all later checks would have, too. */
static bool is_fatal(const struct error *err)
{
	return err->code == ERR_AUTH || err->code == ERR_UNREACHABLE ||
	       err->code == ERR_BUDGET;
}

/* Runs all checks. Stops at an error that the remaining ones would have,
 * too. */
static void run_checks(struct trial *t, struct error *err)
{
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		int rc;

		*err = (struct error){ 0 };
		rc = run_check(t, &checks[i], err);
		if (err->code == ERR_CANCELLED)
			return;
		report_check(t, checks[i].name, rc, err);
		if (rc < 0 && is_fatal(err))
			return;
	}
}

static int models_cmd_test(struct app *app, const struct args *args)
{
	struct trial t = { .app = app, .json = BUF_INIT(1 << 18) };
	struct settings *set;
	struct error err = { 0 };

	if (app_settings(app, &set, &err) < 0 ||
	    model_choose(&t.choice, set, args->argv[0], NULL, &err) < 0) {
		error_topic(&err, "models");
		return app_fail(app, &err);
	}
	if (open_account(&t, args, &err) < 0) {
		model_choice_release(&t.choice);
		return app_fail(app, &err);
	}
	app_mask_model_key(t.app, &t.choice);
	run_checks(&t, &err);
	print_end(&t, set);
	model_choice_release(&t.choice);
	buf_release(&t.json);
	if (err.code == ERR_CANCELLED)
		return app_fail(app, &err);
	if (err.code == ERR_BUDGET)
		return AT_CAP;
	return t.failed ? 1 : 0;
}

static const struct arg_row options[] = {
	ARG_JSON,
	{ 0 },
};

static const struct arg_row test_options[] = {
	{ "max-usd", 0, ARG_VALUE, "N",
	  "Stop before spending more than this, in US dollars (status 124)" },
	ARG_JSON,
	{ 0 },
};

static const struct subcommand subs[] = {
	{ .name = "list",
	  .aliases = "ls",
	  .args = "[FILTER]",
	  .summary = "List models: context window, output limit, price, and "
		     "whether they are ready",
	  .options = options,
	  .most = 1,
	  .flags = SUB_UNRESTRICTED,
	  .run = models_cmd_list },
	{ .name = "test",
	  .args = "NAME",
	  .summary = "Test a model's features with a few cheap requests",
	  .options = test_options,
	  .least = 1,
	  .most = 1,
	  .run = models_cmd_test },
	{ 0 },
};

const struct command command_models = {
	.name = "models",
	.summary = "List models, and test one",
	.subs = subs,
};

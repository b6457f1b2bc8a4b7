/* models_test.c - dcode models test: what a model can do here, a line per
 * ability. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/commands/models.h"
#include "cmd/print.h"
#include "cmd/session/money.h"
#include "cmd/session/run.h"
#include "model/catalog.h"
#include "model/money.h"
#include "model/wires/bedrock_account.h"

enum {
	CHECK_MS = 60000, /* for one request */
	AT_CAP = 124,     /* exit status: no more may be spent */
	FACTS = 1200,     /* lines of a prompt that is worth caching */
};

struct trial {
	struct app *app;
	struct model_choice choice;
	struct model *model; /* of the check at hand */
	struct meter_model *account;
	struct stop stop;   /* its deadline */
	struct usage usage; /* of all checks */
	struct buf json;
	size_t deltas; /* pieces of text of the last answer */
	size_t n, failed;
};

struct ability {
	const char *name;
	/* 1: yes, 0: no, -1 with err: the request failed. */
	int (*run)(struct trial *t, struct error *err);
	bool long_prompt; /* with a system prompt that is worth caching */
};

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

/* Asks; the caller releases reply. */
static int ask(struct trial *t, const char *text, struct model_reply *reply,
	       struct error *err)
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
	int rc = ask(t, "Count from 1 to 30, in digits, separated by spaces.",
		     &r, err);

	model_reply_release(&r);
	return rc < 0 ? -1 : t->deltas > 1;
}

static int count_calls(struct trial *t, const char *text, size_t least,
		       struct error *err)
{
	struct model_reply r = { 0 };
	int rc = ask(t, text, &r, err);
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

static int check_thinking(struct trial *t, struct error *err)
{
	struct model_reply r = { 0 };
	int rc = ask(t,
		     "A farmer has 17 sheep, all but 9 die, then he buys twice "
		     "as many as are left. How many has he? Think first.",
		     &r, err);
	bool yes = rc == 0 &&
		   (count_parts(&r, PART_THINKING) || r.usage.reasoning > 0);

	model_reply_release(&r);
	return rc < 0 ? -1 : yes;
}

/* A red square of 64 pixels, PNG. */
static const char red_square[] =
	"iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAS0lEQVR42u3PQQkAAAgA"
	"setfWiP4FgYrsKZeS0BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBA"
	"QEBAQEBAQEDgsqnc8OJg6Ln3AAAAAElFTkSuQmCC";

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
	rc = ask(t, NULL, &r, err);
	if (rc == 0)
		text = message_text(&r.message);
	rc = rc < 0 ? -1 : text && strcasestr(text, "red");
	free(text);
	model_reply_release(&r);
	return rc;
}

/* The same prompt twice: the second answer reads what the first one left. */
static int check_caching(struct trial *t, struct error *err)
{
	struct model_reply first = { 0 };
	struct model_reply second = { 0 };
	int rc = ask(t, "Which number has fact 7? Only the number.", &first,
		     err);
	int64_t read = 0;

	if (rc == 0) {
		model_push(t->model, &first.message);
		rc = ask(t, "And fact 9? Only the number.", &second, err);
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

static void report(struct trial *t, const char *name, int rc,
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
		fflush(stdout);
	}
	t->n++;
	t->failed += rc < 0;
	buf_release(&why);
}

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

static void hide_keys(struct trial *t)
{
	const struct model_choice *c = &t->choice;
	const char *secrets[3];

	if (c->project_key)
		app_warn_project_key(t->app, c->project_key, c->provider);
	if (c->api_key)
		(void)mask_add(t->app->mask,
			       c->key_env ? c->key_env : "API_KEY",
			       str_of(c->api_key));
	bedrock_account_secrets(c->aws, secrets);
	for (size_t i = 0; secrets[i]; i++)
		(void)mask_add(t->app->mask, "AWS_SECRET_ACCESS_KEY",
			       str_of(secrets[i]));
}

/* The cap of --max-usd, else of [limits], holds for all checks together. */
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

/* No later check can do better. */
static bool ends_all(const struct error *err)
{
	return err->code == ERR_AUTH || err->code == ERR_UNREACHABLE ||
	       err->code == ERR_BUDGET;
}

static void run_checks(struct trial *t, struct error *err)
{
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		int rc;

		*err = (struct error){ 0 };
		rc = run_check(t, &checks[i], err);
		if (err->code == ERR_CANCELLED)
			return;
		report(t, checks[i].name, rc, err);
		if (rc < 0 && ends_all(err))
			return;
	}
}

int models_cmd_test(struct app *app, const struct args *args)
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
	hide_keys(&t);
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

/* money.c - what a run has cost and may still cost. */
/* SPDX-License-Identifier: MIT */
/* Four things that belong together: amounts of money, token counts, parameters
 * whose cost is not in the price list, and the meter. Begin reading at
 * meter_reserve(). There is one meter per run. It has an account for each model
 * and a line for each sandbox. Before a request, meter_reserve() reserves the
 * most that it may cost, or refuses it because of the cap. After it,
 * meter_settle() replaces the reservation by what was billed. If an answer was
 * cut, its highest possible cost stays counted as "unclear": the vendor bills
 * what it generated, and dcode cannot know how much that was. Sums saturate, so
 * that numbers from a server cannot make the cap wrap around. meter.lock guards
 * struct meter and its accounts: subagents send requests on several threads.
 *
 * The caller is account_reserve() in model/exchange.c. A running sandbox costs
 * money, too: meter_time_left() says when it would exceed the cap, and
 * stop_at_cap() in agent/loop.c ends the run then. */
#include "model/money.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "model/model.h"

enum { METER_THRESHOLDS = 16 };

struct meter_model {
	struct meter *meter;
	struct meter_model *next;
	struct model_facts facts;
	/* its name is owned; a part (see meter_part()) borrows it */
	struct meter_line line;
	struct meter_line told; /* what meter_each_new() has reported so far */
	/* sum of the notes (meter_note()) of running requests */
	struct meter_noted noted;
	/* if this is a part: the account that it is a part of; else NULL */
	struct meter_model *of;
	/* cap: a part's own cap. held: amount reserved by running requests */
	int64_t cap, held;
};

struct sandbox_line {
	struct sandbox_line *next;
	struct meter_line line; /* its name is owned */
	struct meter_line told; /* what meter_each_new() has reported so far */
	int64_t usd_s;
	int64_t begin, end; /* meter's clock in ms; end 0: still running */
	bool dropped;       /* it was never created: do not report it */
};

struct meter {
	pthread_mutex_t lock;
	int64_t (*clock)(void);
	struct meter_model *models;
	struct sandbox_line *sandboxes;
	int64_t cap, held;
	int sharers;    /* subagents that may send requests at the same time */
	int64_t most;   /* highest cap allowed; 0: any */
	int64_t ask_ms; /* ms reserved for a question to the user */
	int64_t thresholds[METER_THRESHOLDS];
	size_t n_thresholds;
	int64_t warned; /* highest threshold reported so far */
};

enum {
	MOST_DEPTH = 4,   /* limit of nesting in param_groups */
	SHOWN_VALUE = 40, /* bytes of a parameter's value in a message */
};

/* Values of service tiers that cost no more than the list price. Sources:
 * platform.openai.com/docs/guides/priority-processing and flex-processing,
 * console.groq.com/docs/service-tiers,
 * docs.aws.amazon.com/bedrock/latest/userguide/service-tiers-inference.html,
 * ai.google.dev/gemini-api/docs/priority-inference,
 * platform.claude.com/docs/en/build-with-claude/fast-mode; read 2026-11. */
static const char *const plain_tiers[] = { "auto",     "default",
					   "standard", "standard_only",
					   "flex",     "on_demand",
					   "batch",    NULL };

static const struct {
	const char *name; /* compared without regard to case and "_" */
	enum costly_kind kind;
	/* Values that cost nothing extra. Of a value that is an object, the
	 * member "type" or "latency" is compared. NULL: every value costs
	 * extra. */
	const char *const *plain;
} costly_rows[] = {
	{ "n", COSTLY_ANSWERS, NULL },
	{ "bestof", COSTLY_ANSWERS, NULL },
	{ "candidatecount", COSTLY_ANSWERS, NULL },
	{ "numreturnsequences", COSTLY_ANSWERS, NULL },
	{ "servicetier", COSTLY_TIER, plain_tiers },
	{ "speed", COSTLY_TIER, plain_tiers },
	{ "performanceconfig", COSTLY_TIER, plain_tiers },
	{ "inferencegeo", COSTLY_TIER,
	  (const char *const[]){ "global", NULL } },
	/* OpenRouter may then use other models */
	{ "models", COSTLY_UNSEEN, NULL },
	{ "plugins", COSTLY_UNSEEN, NULL },
	{ "websearchoptions", COSTLY_UNSEEN, NULL },
	{ "searchparameters", COSTLY_UNSEEN, NULL },
	{ "previousresponseid", COSTLY_UNSEEN, NULL },
	{ "conversation", COSTLY_UNSEEN, NULL },
	{ "prompt", COSTLY_UNSEEN, NULL },
	{ "cachedcontent", COSTLY_UNSEEN, NULL },
	{ "mcpservers", COSTLY_UNSEEN, NULL },
	{ "container", COSTLY_UNSEEN, NULL },
	{ "modalities", COSTLY_UNSEEN, NULL },
	{ "responsemodalities", COSTLY_UNSEEN, NULL },
};

/* Objects whose members dcode or the vendor treats as parameters. */
static const char *const param_groups[] = { "extrabody", "modelkwargs",
					    "generationconfig",
					    "inferenceconfig",
					    "additionalmodelrequestfields" };

/* True if key equals plain, ignoring case and "_": "best_of", "bestOf". */
static bool is_named(const char *key, const char *plain)
{
	for (; *key; key++) {
		char c = *key;

		if (c == '_')
			continue;
		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (c != *plain++)
			return false;
	}
	return !*plain;
}

static bool is_text_only(const cJSON *list)
{
	const cJSON *item;

	if (!cJSON_IsArray(list))
		return false;
	cJSON_ArrayForEach (item, list)
		if (!cJSON_IsString(item) ||
		    strcasecmp(item->valuestring, "text") != 0)
			return false;
	return true;
}

/* True if the value costs extra. An unknown value counts as costly. */
static bool costs_more(size_t row, const cJSON *value)
{
	const char *word;

	if (cJSON_IsNull(value))
		return false;
	if (costly_rows[row].kind == COSTLY_ANSWERS)
		return !cJSON_IsNumber(value) || value->valuedouble > 1;
	if (strstr(costly_rows[row].name, "modalities"))
		return !is_text_only(value);
	if (!costly_rows[row].plain)
		return true;
	word = cJSON_IsString(value)
		       ? value->valuestring
		       : json_string(value, "type",
				     json_string(value, "latency", ""));
	for (size_t i = 0; costly_rows[row].plain[i]; i++)
		if (strcmp(word, costly_rows[row].plain[i]) == 0)
			return false;
	return true;
}

/* Writes "name = value" for a message. Sanitized, because it may come from a
 * repository's configuration. */
static void show_param(const cJSON *item, char *out, size_t size)
{
	char *text = cJSON_PrintUnformatted(item);
	struct buf line = BUF_INIT(256);
	struct str value;

	sanitize_line(str_of(text ? text : ""), &line);
	value = buf_str(&line);
	if (value.len > SHOWN_VALUE) {
		value.len = SHOWN_VALUE;
		value.len = str_utf8_prefix(value);
	}
	snprintf(out, size, "%.40s = %.*s", item->string, (int)value.len,
		 value.len ? value.ptr : "");
	cJSON_free(text);
	buf_release(&line);
}

static bool is_group(const cJSON *item)
{
	for (size_t i = 0; i < sizeof(param_groups) / sizeof(param_groups[0]);
	     i++)
		if (is_named(item->string, param_groups[i]))
			return cJSON_IsObject(item);
	return false;
}

/* Finds the first costly parameter in an object and in its members that are in
 * param_groups. */
static bool find_costly(const cJSON *object, int depth,
			struct costly_param *found)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, object) {
		for (size_t i = 0;
		     item->string &&
		     i < sizeof(costly_rows) / sizeof(costly_rows[0]);
		     i++) {
			if (!is_named(item->string, costly_rows[i].name) ||
			    !costs_more(i, item))
				continue;
			found->kind = costly_rows[i].kind;
			show_param(item, found->shown, sizeof(found->shown));
			return true;
		}
		if (item->string && is_group(item) && depth < MOST_DEPTH &&
		    find_costly(item, depth + 1, found))
			return true;
	}
	return false;
}

bool costly_param_find(const char *params, struct costly_param *found)
{
	cJSON *tree = params ? json_parse(str_of(params)) : NULL;
	bool costly = find_costly(tree, 0, found);

	cJSON_Delete(tree);
	return costly;
}

void usage_to_json(const struct usage *u, struct buf *out)
{
	buf_addf(out,
		 "{\"input_tokens\":%" PRId64 ",\"output_tokens\":%" PRId64
		 ",\"cache_read_tokens\":%" PRId64
		 ",\"cache_write_tokens\":%" PRId64,
		 u->input, u->output, u->cache_read, u->cache_write);
	if (u->reasoning)
		buf_addf(out, ",\"reasoning_tokens\":%" PRId64, u->reasoning);
	buf_addc(out, '}');
}

/* Adds a count unless it is negative or overflows: counts come from servers. */
static void add_count(int64_t *total, int64_t n)
{
	if (n > 0 && *total <= INT64_MAX - n)
		*total += n;
}

void usage_sum(struct usage *total, const struct usage *u)
{
	add_count(&total->input, u->input);
	add_count(&total->output, u->output);
	add_count(&total->cache_read, u->cache_read);
	add_count(&total->cache_write, u->cache_write);
	add_count(&total->reasoning, u->reasoning);
}

enum { MOST_DOLLARS = 1000000 }; /* largest amount that money_read() accepts */

/* Rounds to the nearest cent, halves up. An amount below a cent is shown as
 * "<$0.01", never as zero. */
const char *money_short(int64_t amount, char room[MONEY_SIZE])
{
	int64_t cents = amount / (METER_DOLLAR / 100) +
			(amount % (METER_DOLLAR / 100) >= METER_DOLLAR / 200);

	if (amount > 0 && amount < METER_DOLLAR / 100)
		snprintf(room, MONEY_SIZE, "<$0.01");
	else
		snprintf(room, MONEY_SIZE, "$%" PRId64 ".%02d", cents / 100,
			 (int)(cents % 100));
	return room;
}

const char *money_exact(int64_t amount, char room[MONEY_SIZE])
{
	int64_t small =
		amount / (METER_DOLLAR / 10000) +
		(amount % (METER_DOLLAR / 10000) >= METER_DOLLAR / 20000);

	if (amount >= METER_DOLLAR || amount % (METER_DOLLAR / 100) == 0)
		return money_short(amount, room);
	if (!small)
		snprintf(room, MONEY_SIZE, "<$0.0001");
	else
		snprintf(room, MONEY_SIZE, "$%" PRId64 ".%04d", small / 10000,
			 (int)(small % 10000));
	return room;
}

const char *money_tokens(int64_t n, char room[MONEY_SIZE])
{
	if (n < 1000)
		snprintf(room, MONEY_SIZE, "%" PRId64, n);
	else if (n < 1000000)
		snprintf(room, MONEY_SIZE, "%.1fK", (double)n / 1e3);
	else
		snprintf(room, MONEY_SIZE, "%.1fM", (double)n / 1e6);
	return room;
}

/* Amounts are trillionths, so twelve decimal places are exact. */
const char *money_json(int64_t amount, char room[MONEY_SIZE])
{
	int len = snprintf(room, MONEY_SIZE, "%" PRId64 ".%012" PRId64,
			   amount / METER_DOLLAR, amount % METER_DOLLAR);

	while (len > 0 && room[len - 1] == '0')
		room[--len] = '\0';
	if (len > 0 && room[len - 1] == '.')
		room[len - 1] = '\0';
	return room;
}

/* Parses without floating point, so that 0.1 dollars is exact. */
bool money_read(struct str text, int64_t *amount)
{
	int64_t whole = 0;
	int64_t unit = METER_DOLLAR;
	bool point = false;
	bool digit = false;

	if (text.len && text.ptr[0] == '$')
		text = str_skip(text, 1);
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (c == '.' && !point) {
			point = true;
			continue;
		}
		if (c < '0' || c > '9' || unit == 1 ||
		    whole / METER_DOLLAR > MOST_DOLLARS)
			return false;
		digit = true;
		if (point)
			unit /= 10;
		whole = point ? whole + (c - '0') * unit
			      : whole * 10 + (c - '0') * METER_DOLLAR;
	}
	if (!digit || whole <= 0 || whole > MOST_DOLLARS * METER_DOLLAR)
		return false;
	*amount = whole;
	return true;
}

/* A part is not in the meter's list, so it is not reported. What it spends is
 * also entered in `of`. */
struct meter_model *meter_part(struct meter_model *of, int64_t cap)
{
	struct meter_model *part = xcalloc(1, sizeof(*part));

	pthread_mutex_lock(&of->meter->lock);
	part->meter = of->meter;
	part->facts = of->facts;
	part->line.name = of->line.name;
	part->of = of;
	part->cap = cap;
	pthread_mutex_unlock(&of->meter->lock);
	return part;
}

void meter_part_free(struct meter_model *part)
{
	free(part);
}

void meter_share(struct meter *m, int change)
{
	pthread_mutex_lock(&m->lock);
	m->sharers += change;
	pthread_mutex_unlock(&m->lock);
}

enum {
	MOST_TOKENS = 1000000000, /* per answer; servers may report anything */
	/* ms of METER_END_S that saving and deleting a sandbox need */
	STOPPING_MS = 45000,
	CALL_S = 600, /* seconds that sandboxes may run during one answer */
};

/* Returns a clock that includes suspended time: sandboxes keep running and
 * costing while a laptop sleeps. */
static int64_t clock_boot_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct meter *meter_new(int64_t (*clock)(void))
{
	struct meter *m = xcalloc(1, sizeof(*m));

	m->clock = clock ? clock : clock_boot_ms;
	pthread_mutex_init(&m->lock, NULL);
	return m;
}

void meter_free(struct meter *m)
{
	if (!m)
		return;
	while (m->models) {
		struct meter_model *next = m->models->next;

		free((char *)m->models->line.name);
		free(m->models);
		m->models = next;
	}
	while (m->sandboxes) {
		struct sandbox_line *next = m->sandboxes->next;

		free((char *)m->sandboxes->line.name);
		free(m->sandboxes);
		m->sandboxes = next;
	}
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* Limits a server's token count, so that multiplying it cannot overflow. */
static int64_t clamp_tokens(int64_t n)
{
	return n < 0 ? 0 : n > MOST_TOKENS ? MOST_TOKENS : n;
}

/* Saturating addition; b >= 0. */
static int64_t add_saturated(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static int64_t multiply_saturated(int64_t n, int64_t price)
{
	return price && n > INT64_MAX / price ? INT64_MAX : n * price;
}

void meter_set_cap(struct meter *m, int64_t cap)
{
	pthread_mutex_lock(&m->lock);
	m->cap = m->most && (!cap || cap > m->most) ? m->most : cap;
	pthread_mutex_unlock(&m->lock);
}

void meter_limit_cap(struct meter *m, int64_t most)
{
	pthread_mutex_lock(&m->lock);
	m->most = most;
	if (most && (!m->cap || m->cap > most))
		m->cap = most;
	pthread_mutex_unlock(&m->lock);
}

void meter_keep_time(struct meter *m, int64_t ms)
{
	pthread_mutex_lock(&m->lock);
	m->ask_ms = ms;
	pthread_mutex_unlock(&m->lock);
}

void meter_warn_at(struct meter *m, int64_t amount)
{
	pthread_mutex_lock(&m->lock);
	if (m->n_thresholds < METER_THRESHOLDS)
		m->thresholds[m->n_thresholds++] = amount;
	pthread_mutex_unlock(&m->lock);
}

struct meter_model *meter_model(struct meter *m, const char *name,
				const struct model_facts *facts)
{
	struct meter_model **at = &m->models;
	struct meter_model *mm;

	pthread_mutex_lock(&m->lock);
	while (*at && strcmp((*at)->line.name, name) != 0)
		at = &(*at)->next;
	mm = *at;
	if (!mm) {
		mm = *at = xcalloc(1, sizeof(*mm));
		mm->meter = m;
		mm->line.name = xstrdup(name);
	}
	mm->facts = *facts;
	mm->line.priced = facts->priced;
	pthread_mutex_unlock(&m->lock);
	return mm;
}

static struct model_facts facts_of(const struct meter_model *mm)
{
	struct model_facts facts;

	pthread_mutex_lock(&mm->meter->lock);
	facts = mm->facts;
	pthread_mutex_unlock(&mm->meter->lock);
	return facts;
}

int64_t meter_most_output(const struct meter_model *mm)
{
	return facts_of(mm).max_output;
}

int64_t meter_window(const struct meter_model *mm)
{
	const struct model_facts facts = facts_of(mm);

	return facts.assumed ? 0 : facts.context;
}

bool meter_limits(const struct meter_model *mm)
{
	bool capped;

	pthread_mutex_lock(&mm->meter->lock);
	capped = mm->meter->cap > 0 || mm->cap > 0;
	pthread_mutex_unlock(&mm->meter->lock);
	return capped;
}

static int64_t min_amount(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max_amount(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Returns the highest prices that a request with up to this many input tokens
 * can have. dcode cannot know which part of the input the vendor finds in its
 * cache, so p.input becomes the highest of the three input prices. */
static struct model_price find_highest_prices(const struct model_facts *f,
					      int64_t input)
{
	struct model_price p = f->price;

	if (f->long_from && input > f->long_from) {
		p.input = max_amount(p.input, f->long_price.input);
		p.output = max_amount(p.output, f->long_price.output);
		p.cache_read =
			max_amount(p.cache_read, f->long_price.cache_read);
		p.cache_write =
			max_amount(p.cache_write, f->long_price.cache_write);
	}
	p.input = max_amount(max_amount(p.input, p.cache_read), p.cache_write);
	return p;
}

/* Returns how long the sandbox has run. Call with the lock held. */
static int64_t sandbox_ms(const struct meter *m, const struct sandbox_line *s)
{
	int64_t ms = (s->end ? s->end : m->clock()) - s->begin;

	return ms > 0 ? ms : 0;
}

static int64_t sandbox_cost(const struct meter *m, const struct sandbox_line *s)
{
	return s->usd_s > 0
		       ? multiply_saturated(sandbox_ms(m, s), s->usd_s) / 1000
		       : 0;
}

/* Returns what all running sandboxes cost per second. */
static int64_t sandbox_rate(const struct meter *m)
{
	int64_t rate = 0;

	for (const struct sandbox_line *s = m->sandboxes; s; s = s->next)
		if (!s->end && s->usd_s > 0)
			rate = add_saturated(rate, s->usd_s);
	return rate;
}

/* Sums all accounts and sandboxes. Call with the lock held. */
static void sum_locked(struct meter *m, struct meter_total *t)
{
	bool answered;

	*t = (struct meter_total){ .cap = m->cap,
				   .most = m->most,
				   .held = m->held };
	for (const struct meter_model *mm = m->models; mm; mm = mm->next) {
		t->model = add_saturated(t->model, mm->line.cost);
		t->unclear = add_saturated(t->unclear, mm->line.unclear);
		t->cut += mm->line.unclear ? mm->line.cut : 0;
		answered = mm->line.calls > mm->line.cut;
		t->model_unpriced |= answered && !mm->line.priced;
		t->used |= answered || mm->line.cost || mm->line.unclear;
	}
	for (const struct sandbox_line *s = m->sandboxes; s; s = s->next) {
		t->sandbox = add_saturated(t->sandbox, sandbox_cost(m, s));
		t->sandbox_ms = add_saturated(t->sandbox_ms, sandbox_ms(m, s));
		t->sandbox_unpriced |= s->usd_s < 0 && !s->dropped;
		t->sandbox_at_most |= s->line.at_most;
		t->used = true;
	}
	/* so that adding the sandboxes' sum cannot overflow */
	t->model = min_amount(t->model, INT64_MAX / 2);
	t->sandbox = min_amount(t->sandbox, INT64_MAX / 2);
}

/* Returns the part of the cap that is spent or reserved: known costs, unclear
 * answers, running requests, and METER_END_S to end each sandbox. Call with the
 * lock held. */
static int64_t committed_amount(struct meter *m)
{
	struct meter_total t;

	sum_locked(m, &t);
	return add_saturated(add_saturated(add_saturated(t.model, t.sandbox),
					   add_saturated(t.unclear, t.held)),
			     multiply_saturated(METER_END_S, sandbox_rate(m)));
}

/* Explains why the cap does not allow the request. Call with the lock held. */
static int refuse_request(struct meter *m, int64_t need, struct error *err)
{
	struct meter_total t;
	char spent[MONEY_SIZE];
	char cap[MONEY_SIZE];
	char most[MONEY_SIZE];

	sum_locked(m, &t);
	(void)error_set(err, ERR_BUDGET, "stopped: spent %s of %s (--max-usd)",
			money_exact(t.model + t.sandbox, spent),
			money_exact(m->cap, cap));
	if (t.unclear)
		(void)error_add(err,
				", %s is reserved for %" PRId64
				" interrupted answer%s of unknown cost",
				money_exact(t.unclear, spent), t.cut,
				t.cut == 1 ? "" : "s");
	(void)error_add(err,
			"; the next request may cost up to %s and does not fit",
			money_exact(need, most));
	if (m->cap - committed_amount(m) + m->held >= need)
		(void)error_case(err, CASE_BUDGET_HELD);
	return -1;
}

/* Returns the output limit that `left` can pay for if the sandboxes also run
 * for CALL_S. It is at least call->least, even if the money then does not
 * suffice for the sandboxes. */
static int64_t affordable_output(const struct meter *m, int64_t left,
				 const struct model_price *p,
				 const struct meter_call *call)
{
	int64_t meanwhile = multiply_saturated(CALL_S, sandbox_rate(m));
	int64_t most;

	if (!p->output)
		return call->output;
	most = left > meanwhile ? (left - meanwhile) / p->output : 0;
	if (most < call->least)
		most = call->least;
	return most < call->output ? most : call->output;
}

static int refuse_part(const struct meter_model *mm, int64_t need,
		       struct error *err)
{
	char spent[MONEY_SIZE];
	char cap[MONEY_SIZE];
	char most[MONEY_SIZE];

	return error_set(err, ERR_BUDGET,
			 "spent %s of its %s; the next request may cost up to "
			 "%s and does not fit",
			 money_exact(mm->line.cost, spent),
			 money_exact(mm->cap, cap), money_exact(need, most));
}

/* Reserves the highest possible cost of a request, or refuses the request. Call
 * with the lock held. */
static int reserve_locked(struct meter_model *mm, struct meter_call *call,
			  struct error *err)
{
	struct meter *m = mm->meter;
	struct model_price p = find_highest_prices(&mm->facts, call->input);
	int64_t input = multiply_saturated(clamp_tokens(call->input), p.input);
	int64_t left = m->cap - committed_amount(m);
	int64_t own = mm->cap - add_saturated(add_saturated(mm->line.cost,
							    mm->line.unclear),
					      mm->held);
	int64_t least =
		add_saturated(input, multiply_saturated(call->least, p.output));

	/* `least` is the input plus the fewest output tokens that make sense.
	 * Of the money above that, each of those who share the cap gets its
	 * part as output. */
	if (m->cap && left < least)
		return refuse_request(m, least, err);
	if (mm->cap && own < least)
		return refuse_part(mm, least, err);
	if (m->cap)
		call->output = affordable_output(
			m, (left - input) / (1 + m->sharers), &p, call);
	if (mm->cap)
		call->output = affordable_output(m, own - input, &p, call);
	call->held = add_saturated(
		input,
		multiply_saturated(clamp_tokens(call->output), p.output));
	call->begun = m->clock();
	m->held = add_saturated(m->held, call->held);
	mm->held = add_saturated(mm->held, call->held);
	return 0;
}

int meter_reserve(struct meter_model *mm, struct meter_call *call,
		  struct error *err)
{
	int rc;

	pthread_mutex_lock(&mm->meter->lock);
	if (call->least > call->output)
		call->least = call->output;
	rc = reserve_locked(mm, call, err);
	pthread_mutex_unlock(&mm->meter->lock);
	return rc;
}

static struct usage clean_usage(const struct usage *u)
{
	static const struct usage none;

	if (!u)
		return none;
	return (struct usage){ clamp_tokens(u->input), clamp_tokens(u->output),
			       clamp_tokens(u->cache_read),
			       clamp_tokens(u->cache_write),
			       clamp_tokens(u->reasoning) };
}

static bool has_input(const struct usage *u)
{
	return u->input || u->cache_read || u->cache_write;
}

/* Returns what a cut answer may have cost in addition to the tokens in u: all
 * input, if u has none, and the output that the vendor may have generated
 * without reporting it. */
static int64_t unreported_cost(const struct meter_model *mm,
			       const struct meter_call *call,
			       const struct usage *u)
{
	struct model_price p = find_highest_prices(&mm->facts, call->input);
	int64_t most = call->output           ? call->output
		       : mm->facts.max_output ? mm->facts.max_output
					      : mm->facts.context;
	int64_t seen = clamp_tokens(call->arrived);
	int64_t ms =
		clamp_tokens(mm->meter->clock() - call->begun) + METER_LATE_MS;
	int64_t rest;

	if (seen < ms * METER_SPEED / 1000)
		seen = ms * METER_SPEED / 1000;
	rest = min_amount(clamp_tokens(most), seen) - u->output;
	return add_saturated(
		has_input(u) ? 0
			     : multiply_saturated(clamp_tokens(call->input),
						  p.input),
		multiply_saturated(rest > 0 ? rest : 0, p.output));
}

static void add_noted(struct meter_noted *sum, const struct meter_noted *n,
		      int sign)
{
	sum->calls += sign * n->calls;
	sum->usage.input += sign * n->usage.input;
	sum->usage.output += sign * n->usage.output;
	sum->usage.cache_read += sign * n->usage.cache_read;
	sum->usage.cache_write += sign * n->usage.cache_write;
	sum->cost += sign * n->cost;
	sum->unclear += sign * n->unclear;
}

/* Returns the account in which notes are stored. For a part this is the account
 * that it belongs to, because a stored thread has one account per model. */
static struct meter_model *whole_account(struct meter_model *mm)
{
	return mm->of ? mm->of : mm;
}

void meter_note(struct meter_model *mm, struct meter_call *call,
		const struct usage *usage)
{
	struct usage u = clean_usage(usage);

	pthread_mutex_lock(&mm->meter->lock);
	/* remove the previous note of this request */
	add_noted(&whole_account(mm)->noted, &call->noted, -1);
	call->noted = (struct meter_noted){
		.calls = 1,
		.usage = u,
		.cost = mm->facts.priced ? model_cost(&mm->facts, &u) : 0,
		.unclear = unreported_cost(mm, call, &u),
	};
	add_noted(&whole_account(mm)->noted, &call->noted, 1);
	pthread_mutex_unlock(&mm->meter->lock);
}

/* Records the end of a request. If the server reported no input tokens, the
 * answer is treated as cut: what was billed is unknown. */
static void add_call(struct meter_model *mm, const struct meter_call *call,
		     enum meter_end end, const struct usage *u)
{
	struct meter_line *l = &mm->line;

	mm->held -= call->held;
	if (end != METER_REFUSED) {
		l->calls++;
		usage_sum(&l->usage, u);
		l->cost = add_saturated(
			l->cost,
			mm->facts.priced ? model_cost(&mm->facts, u) : 0);
	}
	if (end == METER_CUT || (end == METER_DONE && !has_input(u))) {
		l->cut++;
		l->unclear =
			add_saturated(l->unclear, unreported_cost(mm, call, u));
	}
}

void meter_settle(struct meter_model *mm, const struct meter_call *call,
		  enum meter_end end, const struct usage *usage)
{
	struct usage u = clean_usage(usage);

	pthread_mutex_lock(&mm->meter->lock);
	mm->meter->held -= call->held;
	add_noted(&whole_account(mm)->noted, &call->noted, -1);
	add_call(mm, call, end, &u);
	if (mm->of) {
		/* add_call() subtracts the reservation, but only the part had
		 * reserved it */
		mm->of->held += call->held;
		add_call(mm->of, call, end, &u);
	}
	pthread_mutex_unlock(&mm->meter->lock);
}

int64_t meter_passed(struct meter *m)
{
	struct meter_total t;
	int64_t passed = 0;

	pthread_mutex_lock(&m->lock);
	sum_locked(m, &t);
	for (size_t i = 0; i < m->n_thresholds; i++)
		if (m->thresholds[i] > m->warned &&
		    t.model + t.sandbox >= m->thresholds[i])
			passed = max_amount(passed, m->thresholds[i]);
	if (passed)
		m->warned = passed;
	pthread_mutex_unlock(&m->lock);
	return passed;
}

int meter_sandbox_begin(struct meter *m, const char *name, int64_t usd_s,
			bool at_most)
{
	struct sandbox_line *s = xcalloc(1, sizeof(*s));
	struct sandbox_line **at = &m->sandboxes;
	int number = 0;

	s->line.name = xstrdup(name);
	s->line.sandbox = true;
	s->line.priced = usd_s >= 0;
	s->line.at_most = at_most;
	s->usd_s = usd_s;
	s->begin = m->clock();
	pthread_mutex_lock(&m->lock);
	for (; *at; at = &(*at)->next)
		number++;
	*at = s;
	pthread_mutex_unlock(&m->lock);
	return number;
}

/* Ends a sandbox's line. An end of 0 means running, so a clock value of 0
 * becomes 1. */
static void end_sandbox(struct meter *m, int number, bool drop)
{
	struct sandbox_line *s;

	pthread_mutex_lock(&m->lock);
	s = m->sandboxes;
	while (s && number-- > 0)
		s = s->next;
	if (s && !s->end)
		s->end = max_amount(m->clock(), 1);
	if (s && drop) {
		s->dropped = true;
		s->begin = s->end;
	}
	pthread_mutex_unlock(&m->lock);
}

void meter_sandbox_end(struct meter *m, int number)
{
	end_sandbox(m, number, false);
}

void meter_sandbox_drop(struct meter *m, int number)
{
	end_sandbox(m, number, true);
}

/* Subtracts from committed_amount() the METER_END_S of each sandbox:
 * STOPPING_MS already accounts for the time to end it. works: also subtract the
 * time for a question to the user. */
static int64_t time_left(struct meter *m, bool works)
{
	int64_t ms = INT64_MAX;
	int64_t rate;
	int64_t left;

	pthread_mutex_lock(&m->lock);
	rate = sandbox_rate(m);
	left = m->cap - committed_amount(m) +
	       multiply_saturated(METER_END_S, rate);
	if (m->cap && rate)
		ms = (left > 0 ? left / rate * 1000 + left % rate * 1000 / rate
			       : 0) -
		     STOPPING_MS - (works ? m->ask_ms : 0);
	pthread_mutex_unlock(&m->lock);
	return ms > 0 ? ms : 0;
}

int64_t meter_time_to_end(struct meter *m)
{
	return time_left(m, false);
}

int64_t meter_time_left(struct meter *m)
{
	return time_left(m, true);
}

int64_t meter_model_time_left(const struct meter_model *mm)
{
	return meter_time_left(mm->meter);
}

/* A request that was ended because of the cap may return this long before
 * meter_time_left() is 0: two clocks are involved. */
enum { NEAR_MS = 1000 };

int meter_name_cap(struct meter *m, const struct stop *stop, int rc,
		   struct error *err)
{
	struct error ignored = { 0 };

	if (rc < 0 && err->code == ERR_TIMEOUT && m &&
	    meter_time_left(m) < NEAR_MS && stop_check(stop, &ignored) == 0)
		return error_set(err, ERR_BUDGET,
				 "--max-usd is used up; the rest is reserved "
				 "for deleting the sandbox");
	return rc;
}

void meter_each(struct meter *m,
		void (*each)(void *arg, const struct meter_line *line),
		void *arg)
{
	pthread_mutex_lock(&m->lock);
	for (const struct meter_model *mm = m->models; mm; mm = mm->next)
		each(arg, &mm->line);
	for (struct sandbox_line *s = m->sandboxes; s; s = s->next) {
		s->line.ms = sandbox_ms(m, s);
		s->line.cost = sandbox_cost(m, s);
		if (!s->dropped)
			each(arg, &s->line);
	}
	pthread_mutex_unlock(&m->lock);
}

/* Returns how much a line has grown. */
static struct meter_line subtract_lines(const struct meter_line *now,
					const struct meter_line *then)
{
	const struct usage *a = &now->usage;
	const struct usage *b = &then->usage;
	struct meter_line d = *now;

	d.usage = (struct usage){ a->input - b->input, a->output - b->output,
				  a->cache_read - b->cache_read,
				  a->cache_write - b->cache_write,
				  a->reasoning - b->reasoning };
	d.calls -= then->calls;
	d.cut -= then->cut;
	d.ms -= then->ms;
	d.cost -= then->cost;
	d.unclear -= then->unclear;
	return d;
}

/* Returns the line as if the answers of the running requests ended now. */
static struct meter_line add_noted_usage(const struct meter_model *mm)
{
	struct meter_line l = mm->line;

	l.calls += mm->noted.calls;
	l.cut += mm->noted.calls;
	usage_sum(&l.usage, &mm->noted.usage);
	l.cost += mm->noted.cost;
	l.unclear += mm->noted.unclear;
	return l;
}

static bool is_change(const struct meter_line *d)
{
	const struct usage *u = &d->usage;

	return d->calls || d->cut || d->cost || d->unclear || u->input ||
	       u->output || u->cache_read || u->cache_write;
}

int meter_each_new(struct meter *m,
		   int (*each)(void *arg, const struct meter_line *added),
		   void *arg)
{
	struct meter_line added;
	struct meter_line now;
	int rc = 0;

	pthread_mutex_lock(&m->lock);
	for (struct meter_model *mm = m->models; mm && rc == 0; mm = mm->next) {
		now = add_noted_usage(mm);
		added = subtract_lines(&now, &mm->told);
		rc = is_change(&added) ? each(arg, &added) : 0;
		if (rc == 0)
			mm->told = now;
	}
	for (struct sandbox_line *s = m->sandboxes; s && rc == 0; s = s->next) {
		s->line.ms = sandbox_ms(m, s);
		s->line.cost = sandbox_cost(m, s);
		added = subtract_lines(&s->line, &s->told);
		rc = added.ms ? each(arg, &added) : 0;
		if (rc == 0)
			s->told = s->line;
	}
	pthread_mutex_unlock(&m->lock);
	return rc;
}

void meter_total(struct meter *m, struct meter_total *t)
{
	pthread_mutex_lock(&m->lock);
	sum_locked(m, t);
	pthread_mutex_unlock(&m->lock);
}

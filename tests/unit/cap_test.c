/* cap_test.c - that no cap is ever passed, in many random runs. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "model/exchange.h"
#include "unit.h"

enum { RUNS = 10000, MOST_CALLS = 60, CALL_S = 20, DELETE_S = 40 };

static int64_t now_ms;

static int64_t fake_clock(void)
{
	return now_ms;
}

static uint64_t dice = 88172645463325252U;

/* xorshift64: the same runs each time. */
static int64_t roll(int64_t most)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (int64_t)(dice % (uint64_t)(most + 1));
}

static struct model_price random_price(void)
{
	return (struct model_price){ roll(20000000), roll(100000000),
				     roll(2000000), roll(25000000) };
}

/* A vendor, and what it bills: never less than it could. */
struct vendor {
	struct model_facts facts;
	int64_t sandbox_s; /* money for each second */
	int64_t model;     /* the invoice */
	bool harsh;        /* bills as much as it may */
};

/* A conversation with it: that of the user, or of a compaction. */
struct talk {
	struct account a;
	size_t bytes, image_bytes; /* of the next request; base64 within it */
	int64_t image_tokens;      /* that the vendor counts for those */
	/* As the last answered request had them. */
	int64_t tokens, told_images;
	size_t told_bytes;
};

static int64_t invoice(const struct vendor *v)
{
	return v->model + now_ms * v->sandbox_s / 1000;
}

static int64_t bill(const struct vendor *v, int64_t most)
{
	return v->harsh ? most : roll(most);
}

/* Input of a request: the text of the last one as it was counted then, at most
 * a token for each byte since, and images as the vendor's documents say. */
static int64_t count_input(const struct vendor *v, const struct talk *t)
{
	size_t text = t->bytes - t->image_bytes;

	if (!t->tokens || text < t->told_bytes)
		return 1 + bill(v, (int64_t)text - 1) + t->image_tokens;
	return t->tokens + bill(v, (int64_t)(text - t->told_bytes)) +
	       t->image_tokens - t->told_images;
}

/* Divides input among its kinds, and answers within limit. */
static struct usage answer(const struct vendor *v, const struct talk *t,
			   int64_t limit)
{
	int64_t input = count_input(v, t);
	int64_t cached = v->harsh ? 0 : roll(input);
	int64_t written = v->harsh ? input : roll(input - cached);

	return (struct usage){ .input = input - cached - written,
			       .output = roll(3) ? bill(v, limit) : limit,
			       .cache_read = cached,
			       .cache_write = written };
}

enum outcome { ANSWERED, CUT_EARLY, CUT_LATE, OVERLOADED, SILENT, N_OUTCOMES };

/* One request and what comes of it; false when the cap does not pay for it. */
static bool exchange_once(struct vendor *v, struct talk *t, struct buf *head)
{
	struct exchange x = { .sent = true, .response = { .status = 200 } };
	struct stop stop = { .deadline = INT64_MAX };
	struct error err = { 0 };
	struct usage u;
	enum outcome o;
	int64_t took;

	if (account_reserve(&t->a, head, t->bytes, &stop, &err) < 0) {
		assert_int_equal(err.code, ERR_BUDGET);
		return false;
	}
	assert_int_equal(strtoll(head->ptr + t->a.limit_at, NULL, 10),
			 t->a.call.output);
	took = roll(CALL_S * 1000);
	now_ms += took;
	u = answer(v, t, t->a.call.output);
	o = (enum outcome)roll(N_OUTCOMES + 3);
	if (o <= SILENT && o != ANSWERED && u.output > took / 2)
		u.output = took / 2; /* METER_SPEED */
	if (o == OVERLOADED) {
		x.response.status = 529;
	} else {
		v->model += model_cost(&v->facts, &u);
		x.response.status = o == SILENT ? 0 : 200;
	}
	if (o > SILENT || o == ANSWERED)
		x.draft.usage = u;
	else if (o == CUT_LATE) { /* as message_start tells it */
		x.draft.usage = u;
		x.draft.usage.output = roll(u.output);
	}
	err.code = ERR_NETWORK;
	account_settle(&t->a, &x, o > SILENT || o == ANSWERED ? 0 : -1, &err);
	if (o > SILENT || o == ANSWERED) {
		t->tokens = u.input + u.cache_read + u.cache_write;
		t->told_bytes = t->bytes - t->image_bytes;
		t->told_images = t->image_tokens;
	}
	return true;
}

static void begin_talk(struct talk *t, const struct vendor *v,
		       struct meter_model *mm, size_t bytes)
{
	*t = (struct talk){ .bytes = bytes };
	t->a.meter = mm;
	t->a.limit_at = strlen("{\"max_tokens\":");
	t->a.limit = v->facts.max_output;
	t->a.least = METER_LEAST;
}

/* An image of 280 by 280 pixels: 100 patches of 28 by 28 for Claude. */
static void add_image(const struct vendor *v, struct talk *t)
{
	static unsigned char png[1 << 15] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
					    "\0\0\1\x18\0\0\1\x18";
	static const struct model_choice choice = { .wire = (char *)"anthropic",
						    .model = (char *)"m" };
	static const struct history h;
	struct part p = { .kind = PART_MEDIA,
			  .type = (char *)"image/png",
			  .bytes = (char *)png,
			  .n_bytes = 3 * (size_t)(100 + roll(10000)) };
	struct message m = { .role = ROLE_USER, .parts = &p, .n = 1 };
	size_t base64 = p.n_bytes / 3 * 4;
	size_t growth = base64 + (size_t)roll(200);

	account_add(&t->a, &choice, &h, &m, growth);
	t->bytes += growth;
	t->image_bytes += base64;
	t->image_tokens += bill(v, 100);
}

/* The history is summed up, by requests of their own, or the prompt forgotten;
 * false when the cap does not pay for that. */
static bool shorten(struct vendor *v, struct talk *t, struct buf *head)
{
	struct talk beside;
	bool paid = true;

	if (roll(1)) {
		begin_talk(&beside, v, t->a.meter, t->bytes - t->image_bytes);
		for (int64_t tries = roll(2); paid && tries >= 0; tries--)
			paid = exchange_once(v, &beside, head);
	}
	account_forget(&t->a);
	t->a.media = (struct account_media){ 0 }; /* as model_reset() does */
	*t = (struct talk){ .a = t->a, .bytes = 2000 + (size_t)roll(90000) };
	return paid;
}

/* A run with tools in between, which end when the cap does. */
static int64_t simulate(int64_t cap, bool has_sandbox, int64_t *spent)
{
	static char text[] = "{\"max_tokens\":000000000000000,";
	struct vendor v = { .facts = { .priced = true,
				       .max_output = 500 + roll(60000) } };
	struct meter *m = meter_new(fake_clock);
	struct talk t;
	struct meter_total total;
	struct buf head = BUF_INIT(1 << 10);
	bool paid = true;

	now_ms = 0;
	v.facts.price = random_price();
	v.harsh = roll(1);
	if (v.harsh) /* what is written to a cache is the dearest input */
		v.facts.price.cache_write += v.facts.price.input;
	if (roll(1)) {
		v.facts.long_from = roll(100000);
		v.facts.long_price = random_price();
	}
	v.sandbox_s = has_sandbox ? roll(200000000) : 0;
	meter_set_cap(m, cap);
	begin_talk(&t, &v, meter_model(m, "p:m", &v.facts),
		   2000 + (size_t)roll(60000));
	buf_adds(&head, text);
	if (has_sandbox && v.sandbox_s * (METER_END_S + CALL_S) <= cap)
		(void)meter_sandbox_begin(m, "box", v.sandbox_s, false);
	else
		v.sandbox_s = 0;
	for (int i = 0; i < MOST_CALLS && paid; i++) {
		int64_t left;

		if (!exchange_once(&v, &t, &head))
			break;
		left = meter_time_left(m);
		now_ms += roll(left < 600000 ? left : 600000);
		t.bytes += (size_t)roll(20000);
		if (!roll(7))
			add_image(&v, &t);
		if (!roll(20))
			paid = shorten(&v, &t, &head);
	}
	now_ms += roll(DELETE_S * 1000);
	meter_total(m, &total);
	*spent = total.model + total.sandbox + total.unclear;
	assert_int_equal(total.held, 0);
	assert_true(invoice(&v) <= *spent + 1);
	/* what is not unclear agrees to the last trillionth */
	assert_true(total.model + total.sandbox <= invoice(&v) + 1);
	buf_release(&head);
	meter_free(m);
	return invoice(&v);
}

static void test_no_cap_is_passed_in_10000_runs(void **state)
{
	int used = 0;
	const char *more = getenv("DCODE_TEST_LONG");
	int runs = more && *more ? 20 * RUNS : RUNS;

	(void)state;
	for (int i = 0; i < runs; i++) {
		int64_t cap = 1 + roll(5 * METER_DOLLAR);
		int64_t spent;
		int64_t billed = simulate(cap, roll(1), &spent);

		if (billed > cap)
			fail_msg("run %d: billed %lld of %lld", i,
				 (long long)billed, (long long)cap);
		used += billed > cap / 2;
	}
	/* it is the cap that ends them, not a lack of calls */
	assert_true(used > runs / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_cap_is_passed_in_10000_runs),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

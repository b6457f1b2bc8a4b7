/* catalog_test.c - windows, limits and prices of models. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "model/catalog.h"

static struct model_facts facts_of(const char *provider, const char *model)
{
	struct model_facts f;

	(void)model_facts(NULL, provider, model, &f);
	return f;
}

static int64_t price(const char *provider, const char *model)
{
	return facts_of(provider, model).price.input;
}

static void test_row_has_the_prices_of_its_vendor(void **state)
{
	struct model_facts f = facts_of("anthropic", "claude-opus-5-5");

	(void)state;
	assert_false(f.assumed);
	assert_true(f.priced);
	assert_int_equal(f.context, 1000000);
	assert_int_equal(f.max_output, 128000);
	assert_int_equal(f.price.input, 4000000);
	assert_int_equal(f.price.cache_read, 200000);
	assert_int_equal(f.price.cache_write, 5000000);
	assert_int_equal(f.price.output, 20000000);
	assert_true(f.takes & MODEL_TAKES_PDF);
	assert_true(f.efforts & EFFORT_XHIGH);
}

/* The numbers of a name, which rank the models of one family: 5-5 is above 5.
 */
static int64_t rank_of(const char *model)
{
	int64_t rank = 0;
	int places = 2;

	for (const char *c = model; *c && places; c++) {
		if (*c < '0' || *c > '9')
			continue;
		rank = rank * 100 + strtol(c, (char **)&c, 10);
		places--;
		c--;
	}
	return places == 1 ? rank * 100 : rank;
}

/* Removes what is not a letter: "claude-opus-5-5" becomes "claudeopus". */
static void read_family(const char *model, char family[64])
{
	size_t n = 0;

	for (; *model && n < 63; model++)
		if (*model >= 'a' && *model <= 'z')
			family[n++] = *model;
	family[n] = '\0';
}

static void test_of_a_family_the_newest_comes_first(void **state)
{
	size_t compared = 0;

	(void)state;
	for (size_t v = 0; v < 3; v++) { /* anthropic, openai, google_genai */
		const struct catalog_row *row = catalog_vendors[v].rows;

		for (size_t i = 0; row[i].model; i++) {
			for (size_t k = i + 1; row[k].model; k++) {
				char a[64];
				char b[64];

				read_family(row[i].model, a);
				read_family(row[k].model, b);
				if (strcmp(a, b) != 0 ||
				    strstr(row[k].model, "-20"))
					continue;
				compared++;
				assert_true(rank_of(row[i].model) >
					    rank_of(row[k].model));
			}
		}
	}
	assert_true(compared > 20);
}

static void test_a_date_is_the_same_model_but_a_number_is_another(void **state)
{
	(void)state;
	assert_int_equal(price("anthropic", "claude-sonnet-4-5-20250929"),
			 3000000);
	assert_int_equal(price("openai", "gpt-5-2025-08-07"), 1250000);
	assert_int_equal(price("openai", "gpt-4o-2024-05-13"), 5000000);
	assert_int_equal(price("openai", "gpt-4o-2024-08-06"), 2500000);
	assert_int_equal(price("google_vertexai", "claude-haiku-4-5@20251001"),
			 1000000);
	assert_true(facts_of("anthropic", "claude-opus-5-9").assumed);
	assert_true(facts_of("openai", "gpt-5.5-ultra").assumed);
	assert_int_equal(facts_of("openai", "gpt-5.5-ultra").context, 128000);
}

static void test_bedrock_names_lead_to_the_vendors_rows(void **state)
{
	(void)state;
	assert_int_equal(price("bedrock", "global.anthropic.claude-sonnet-5"),
			 2000000);
	assert_int_equal(price("bedrock",
			       "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"),
			 3300000);
	assert_int_equal(price("bedrock", "us.anthropic.claude-opus-4-6-v1"),
			 5500000);
	assert_int_equal(price("bedrock", "amazon.nova-lite-v1:0"), 60000);
	assert_true(facts_of("bedrock", "anthropic.claude-x").assumed);
}

static void test_a_router_names_the_vendor_in_front(void **state)
{
	(void)state;
	assert_int_equal(price("openrouter", "anthropic/claude-opus-4.8"),
			 5000000);
	assert_int_equal(price("openrouter", "openai/gpt-5.5"), 5000000);
	assert_true(facts_of("openrouter", "nobody/gpt-5.5").assumed);
	assert_true(facts_of("openai", "openai/gpt-5.5").assumed);
}

static void test_long_input_costs_more_from_its_first_token(void **state)
{
	struct model_facts f = facts_of("google_genai", "gemini-2.5-pro");
	struct usage u = { .input = 100000,
			   .cache_read = 100000,
			   .output = 10 };

	(void)state;
	assert_int_equal(model_cost(&f, &u), 100000LL * 1250000 +
						     100000LL * 125000 +
						     10LL * 10000000);
	u.input++;
	assert_int_equal(model_cost(&f, &u), 100001LL * 2500000 +
						     100000LL * 250000 +
						     10LL * 15000000);
}

static const char profile_text[] = "[own.profile]\n"
				   "max_input_tokens = 8000\n"
				   "reasoning_output = false\n"
				   "[own.profile.m]\n"
				   "max_input_tokens = 64000\n"
				   "max_output_tokens = 4000\n"
				   "image_inputs = true\n"
				   "input_price = 0.5\n"
				   "output_price = 2\n"
				   "cache_read_price = 0.05\n";

static void test_a_profile_says_more_than_the_table(void **state)
{
	struct model_facts f = facts_of("anthropic", "claude-haiku-5-5");
	struct model_facts unpriced = f;
	struct toml_value root;
	struct error err = { 0 };
	const struct toml_value *own;

	(void)state;
	assert_int_equal(toml_parse(&root, str_of(profile_text), "x", &err), 0);
	own = toml_get(&root, "own");
	assert_int_equal(profile_apply(&f, own, "m", &err), 0);
	assert_int_equal(f.context, 64000);
	assert_int_equal(f.max_output, 4000);
	assert_true(f.takes & MODEL_TAKES_IMAGES);
	assert_false(f.takes & MODEL_THINKS);
	assert_int_equal(f.efforts, 0);
	assert_int_equal(f.price.input, 500000);
	assert_int_equal(f.price.output, 2000000);
	assert_int_equal(f.price.cache_read, 50000);
	assert_int_equal(f.price.cache_write, 500000);
	assert_int_equal(f.long_from, 0);
	assert_int_equal(profile_apply(&unpriced, own, "other", &err), 0);
	assert_int_equal(unpriced.context, 8000);
	assert_int_equal(unpriced.price.input, 100000);
	assert_int_equal(unpriced.long_from, 100000);
	toml_release(&root);
}

static void test_a_profile_of_the_wrong_kind_is_refused(void **state)
{
	static const char *const texts[] = {
		"[own]\nprofile = 3\n",
		"[own.profile]\nmax_input_tokens = 'many'\n",
		"[own.profile]\nmax_output_tokens = -1\n",
		"[own.profile]\nimage_inputs = 1\n",
		"[own.profile]\ninput_price = -0.1\n",
		"[own.profile.m]\noutput_price = nan\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct model_facts f = { 0 };
		struct toml_value root;
		struct error err = { 0 };

		assert_int_equal(toml_parse(&root, str_of(texts[i]), "x", &err),
				 0);
		assert_int_equal(
			profile_apply(&f, toml_get(&root, "own"), "m", &err),
			-1);
		assert_int_equal(err.code, ERR_CONFIG);
		assert_non_null(strstr(err.message, "config.toml:2:"));
		toml_release(&root);
	}
}

static void count(void *arg, const char *provider, const char *model,
		  const struct model_facts *f)
{
	(*(int *)arg)++;
	assert_non_null(provider);
	assert_true(f->context >= 100000);
	assert_true(f->max_output > 0 && f->max_output <= f->context);
	assert_true(f->price.cache_read <= f->price.input);
	assert_true(f->price.input <= f->price.output);
	if (f->long_from)
		assert_true(f->long_price.input > f->price.input);
	if (f->efforts)
		assert_true(f->takes & MODEL_THINKS);
	assert_int_equal(price(provider, model), f->price.input);
}

static void test_every_row_makes_sense(void **state)
{
	int all = 0;
	int some = 0;

	(void)state;
	model_facts_each(NULL, count, &all);
	model_facts_each("anthropic", count, &some);
	assert_true(some > 10);
	assert_true(all > 2 * some);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_row_has_the_prices_of_its_vendor),
		cmocka_unit_test(test_of_a_family_the_newest_comes_first),
		cmocka_unit_test(
			test_a_date_is_the_same_model_but_a_number_is_another),
		cmocka_unit_test(test_bedrock_names_lead_to_the_vendors_rows),
		cmocka_unit_test(test_a_router_names_the_vendor_in_front),
		cmocka_unit_test(
			test_long_input_costs_more_from_its_first_token),
		cmocka_unit_test(test_every_row_makes_sense),
		cmocka_unit_test(test_a_profile_says_more_than_the_table),
		cmocka_unit_test(test_a_profile_of_the_wrong_kind_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

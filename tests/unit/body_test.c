/* body_test.c - settings as members of a create request. */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/rest.h"
#include "settings_fake.h"
#include "unit.h"

static const struct setting rows[] = {
	{ .key = "user", .type = SETTING_STRING, .field = "user" },
	{ .key = "cpu",
	  .type = SETTING_INT,
	  .field = "resources.vcpus",
	  .least = 1 },
	{ .key = "memory", .type = SETTING_INT, .field = "resources.memory" },
	{ .key = "pause", .type = SETTING_BOOL, .field = "autoPause" },
	{ .key = "allow", .type = SETTING_LIST, .field = "network.allowOut" },
	{ .key = "env",
	  .type = SETTING_LIST,
	  .flags = SETTING_PAIRS,
	  .field = "envVars" },
	{ 0 },
};

static const struct sandbox_provider provider = { .name = "acme",
						  .settings = rows };

static void assert_body(const struct settings *set, const char *keys,
			const char *json)
{
	const struct sandbox_client client = { .provider = &provider,
					       .settings = set };
	cJSON *body = cJSON_CreateObject();
	struct buf text = BUF_INIT(4096);
	struct error err = { 0 };

	assert_int_equal(body_add_settings(&client, keys, body, &err), 0);
	json_print(&text, body);
	assert_string_equal(text.ptr, json);
	buf_release(&text);
	cJSON_Delete(body);
}

static void assert_refused(const struct settings *set, const char *keys,
			   const char *words)
{
	const struct sandbox_client client = { .provider = &provider,
					       .settings = set };
	cJSON *body = cJSON_CreateObject();
	struct error err = { 0 };

	assert_int_equal(body_add_settings(&client, keys, body, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_non_null(strstr(err.message, words));
	assert_null(body->child);
	cJSON_Delete(body);
}

static void test_members_come_in_the_order_of_the_keys(void **state)
{
	const struct settings set = { .rows = { { "user", "root" },
						{ "pause", "true" } } };

	(void)state;
	assert_body(&set, "pause user",
		    "{\"autoPause\":true,\"user\":\"root\"}");
	assert_body(&set, "user pause",
		    "{\"user\":\"root\",\"autoPause\":true}");
}

static void test_a_field_with_a_dot_is_in_an_object(void **state)
{
	const struct settings set = { .rows = { { "cpu", "2" },
						{ "memory", "0" } } };

	(void)state;
	assert_body(&set, "cpu memory",
		    "{\"resources\":{\"vcpus\":2,\"memory\":0}}");
}

static void test_lists_are_arrays_or_pairs(void **state)
{
	const struct settings set = { .list = { "A=b=c", "D=" }, .nlist = 2 };

	(void)state;
	assert_body(&set, "allow",
		    "{\"network\":{\"allowOut\":[\"A=b=c\",\"D=\"]}}");
	assert_body(&set, "env", "{\"envVars\":{\"A\":\"b=c\",\"D\":\"\"}}");
}

static void test_what_is_not_set_has_no_member(void **state)
{
	const struct settings set = { .rows = { { "pause", "false" },
						{ "user", "" } } };

	(void)state;
	assert_body(&set, "user cpu memory pause allow env", "{}");
}

static void test_values_that_do_not_fit_are_refused(void **state)
{
	const struct settings low = { .rows = { { "cpu", "0" } } };
	const struct settings high = { .rows = { { "cpu", "1000001" } } };
	const struct settings word = { .list = { "no pair" }, .nlist = 1 };

	(void)state;
	assert_refused(&low, "cpu", "cpu must be from 1");
	assert_refused(&high, "cpu", "cpu must be from 1");
	assert_refused(&word, "env", "NAME=value");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members_come_in_the_order_of_the_keys),
		cmocka_unit_test(test_a_field_with_a_dot_is_in_an_object),
		cmocka_unit_test(test_lists_are_arrays_or_pairs),
		cmocka_unit_test(test_what_is_not_set_has_no_member),
		cmocka_unit_test(test_values_that_do_not_fit_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

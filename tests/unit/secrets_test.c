/* secrets_test.c - [secrets]: what is read, refused, matched and printed. */
/* SPDX-License-Identifier: MIT */
#include "base/ids.h"
#include "base/stop.h"
#include "sandbox/secrets/secrets.h"
#include "settings_world.h"

#define VALUE "ghp_0123456789abcdefghijklmnopqrstuvwxyz"

#define GITHUB                                                                 \
	"[secrets.GITHUB]\nenv = \"GITHUB_TOKEN\"\n"                           \
	"hosts = [\"api.github.com\", \"*.example.com\"]\n"

static const struct stop never = { .deadline = INT64_MAX };

static int read_toml(struct world *w, struct secrets *s, const char *toml,
		     struct error *err)
{
	put(w, ".deepagents/config.toml", toml);
	return secrets_read(s, load(w), err);
}

static void assert_refused(struct world *w, const char *toml, const char *why)
{
	struct secrets s = { 0 };
	struct error err = { 0 };

	if (read_toml(w, &s, toml, &err) == 0)
		fail_msg("accepted:\n%s", toml);
	if (!strstr(err.message, why))
		fail_msg("%s: not \"%s\"", err.message, why);
	assert_int_equal(s.n, 0);
}

static struct secrets read_good(struct world *w, const char *toml)
{
	struct secrets s = { 0 };
	struct error err = { 0 };

	if (read_toml(w, &s, toml, &err) < 0)
		fail_msg("%s", err.message);
	return s;
}

static void test_an_entry_is_read_with_its_place(void **state)
{
	struct secrets s = read_good(*state, GITHUB);

	assert_int_equal(s.n, 1);
	assert_string_equal(s.list[0].env, "GITHUB_TOKEN");
	assert_null(s.list[0].header);
	assert_non_null(strstr(s.list[0].source, "config.toml:1:"));
	assert_non_null(strstr(s.list[0].source, "secrets.GITHUB"));
	assert_int_equal(count_warnings(((struct world *)*state)->s), 0);
	secrets_release(&s);
}

static void test_a_preset_can_be_changed_in_parts(void **state)
{
	struct secrets s = read_good(
		*state, "[secrets.A]\npreset = \"openai\"\nenv = \"OTHER\"\n");

	assert_string_equal(s.list[0].env, "OTHER");
	assert_string_equal(s.list[0].header, "Authorization");
	assert_string_equal(s.list[0].format, "Bearer {}");
	assert_true(secret_has_host(&s.list[0], "api.openai.com"));
	secrets_release(&s);
}

static void test_what_is_not_understood_is_refused(void **state)
{
	static const struct {
		const char *toml, *why;
	} bad[] = {
		{ "secrets = 1\n", "must be a table" },
		{ "[secrets]\nA = 1\n", "must be a table" },
		{ "[secrets.\"a b\"]\nenv = \"X\"\n", "a name has only" },
		{ "[secrets.A]\nenv = \"X\"\n", "hosts: is missing" },
		{ "[secrets.A]\nhosts = [\"a.b\"]\n", "needs env" },
		{ GITHUB "path = [\"/x\"]\n", "path: unknown key" },
		{ GITHUB "paths = [\"x\"]\n", "paths: write /path" },
		{ GITHUB "paths = [\"/*/x\"]\n", "paths: write /path" },
		{ GITHUB "methods = [\"get\"]\n", "methods: write methods" },
		{ GITHUB "methods = []\n", "methods: must be a list" },
		{ GITHUB "header = \"Host\"\n", "header: cannot be set" },
		{ GITHUB "header = \"a b\"\n", "header: cannot be set" },
		{ GITHUB "format = \"Bearer\"\n", "must contain {}" },
		{ GITHUB "format = \"{}\\n{}\"\n", "must contain {}" },
		{ GITHUB "format = \"{}\\n\"\n", "printable" },
		{ GITHUB "value_env = \"A\"\nvalue_command = [\"b\"]\n",
		  "has both" },
		{ "[secrets.A]\npreset = \"x\"\n", "unknown preset" },
		{ "[secrets.A]\npreset = \"aws\"\nheader = \"X-A\"\n",
		  "neither header" },
		{ "[secrets.A]\npreset = \"aws\"\nenv = \"X\"\n",
		  "neither header" },
		{ "[secrets.A]\nenv = \"A\"\nhosts = [\"full\"]\n",
		  "name the hosts" },
		{ "[secrets.A]\nenv = \"A\"\nhosts = [\"1.2.3.4\"]\n",
		  "write host names" },
		{ "[secrets.A]\nenv = \"A\"\nhosts = [\"a.b:80\"]\n",
		  "write host names" },
		{ "[secrets.A]\nenv = \"A\"\nhosts = [\"a.b\", \"!c.b\"]\n",
		  "write host names" },
		{ "[secrets.A]\nenv = \"=\"\nhosts = [\"a.b\"]\n",
		  "not the name of a variable" },
		{ GITHUB "[secrets.B]\nenv = \"GITHUB_TOKEN\"\n"
			 "hosts = [\"c.d\"]\n",
		  "has the same variable" },
		{ "[secrets.A]\nheader = \"X-A\"\nhosts = [\"*.b.c\"]\n"
		  "[secrets.B]\nheader = \"x-a\"\nhosts = [\"a.b.c\"]\n",
		  "sets the same header" },
		{ GITHUB "[sandboxes]\nsecrets = false\n", "forbids it" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_refused(*state, bad[i].toml, bad[i].why);
}

static void test_values_come_from_variables_and_programs(void **state)
{
	struct world *w = *state;
	struct secrets s;
	struct error err = { 0 };

	export(w, "MINE=" VALUE);
	s = read_good(w, "[secrets.A]\npreset = \"github\"\n"
			 "value_env = \"MINE\"\n"
			 "[secrets.B]\nenv = \"B\"\nhosts = [\"a.b\"]\n"
			 "value_command = [\"/bin/echo\", \"12345678\"]\n");
	if (secrets_load(&s, w->s, &never, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(s.list[0].value, VALUE);
	assert_int_equal(strlen(s.list[0].placeholder), strlen(VALUE));
	assert_memory_equal(s.list[0].placeholder, "ghp_", 4);
	assert_string_not_equal(s.list[0].placeholder, VALUE);
	assert_string_equal(s.list[1].value, "12345678");
	assert_int_equal(strlen(s.list[1].placeholder), SECRET_PLACEHOLDER);
	secrets_release(&s);
}

/* A key of AWS has two or three parts. */
static void test_a_key_of_aws_is_read_from_its_forms(void **state)
{
	static const struct {
		const char *value, *token;
	} good[] = {
		{ "AKIA234567ABCDEFGHIJ:wJalr/XUtnFEMI+K7MDENGbPxRfiCY", NULL },
		{ "ASIA234567ABCDEFGHIJ:wJalr/XUtnFEMI+K7MDENGbPxRfiCY:"
		  "FQoG/token+0123456789==",
		  "FQoG/token+0123456789==" },
		{ "{\"Version\":1, \"AccessKeyId\": "
		  "\"ASIA234567ABCDEFGHIJ\", \"SecretAccessKey\": "
		  "\"wJalr/XUtnFEMI+K7MDENGbPxRfiCY\", \"SessionToken\": "
		  "\"FQoG/token+0123456789==\"}",
		  "FQoG/token+0123456789==" },
	};
	static const char *const bad[] = {
		"AKIA234567ABCDEFGHIJ",
		"AKIA234567ABCDEFGHIJ:short",
		"akia234567abcdefghij:wJalr/XUtnFEMI+K7MDENGbPxRfiCY",
		"AKIA234567ABCDEFGHIJ:wJalr/XUtnFEMI+K7MDENGbPxRfiCY:x y",
		"{\"AccessKeyId\": \"AKIA234567ABCDEFGHIJ\"}",
	};
	struct world *w = *state;
	struct error err = { 0 };

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		char *line = xasprintf("MINE=%s", good[i].value);
		struct secrets s;
		struct secret *one;

		export(w, line);
		s = read_good(w, "[secrets.A]\npreset = \"aws\"\n"
				 "value_env = \"MINE\"\n");
		if (secrets_load(&s, w->s, &never, &err) < 0)
			fail_msg("%s", err.message);
		one = &s.list[0];
		assert_string_equal(one->value + 4, "234567ABCDEFGHIJ");
		assert_string_equal(one->key, "wJalr/XUtnFEMI+K7MDENGbPxRfiCY");
		assert_int_equal(strlen(one->placeholder), 20);
		assert_memory_equal(one->placeholder, one->value, 4);
		assert_string_not_equal(one->placeholder, one->value);
		assert_int_equal(strlen(one->key_placeholder),
				 strlen(one->key));
		assert_string_not_equal(one->key_placeholder, one->key);
		assert_int_equal(!one->token, !good[i].token);
		if (one->token)
			assert_string_equal(one->token, good[i].token);
		secrets_release(&s);
		w->environ[--w->n_environ] = NULL;
		free(line);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char *line = xasprintf("MINE=%s", bad[i]);
		struct secrets s;

		export(w, line);
		s = read_good(w, "[secrets.A]\npreset = \"aws\"\n"
				 "value_env = \"MINE\"\n");
		assert_int_equal(secrets_load(&s, w->s, &never, &err), -1);
		if (!strstr(err.message, "is not a key of AWS"))
			fail_msg("%s", err.message);
		secrets_release(&s);
		w->environ[--w->n_environ] = NULL;
		free(line);
	}
}

static void test_a_value_that_cannot_be_used_is_refused(void **state)
{
	static const struct {
		const char *from, *why;
	} bad[] = {
		{ "", "no value is stored" },
		{ "value_env = \"NONE\"\n", "NONE is not set" },
		{ "value_command = [\"/bin/false\"]\n", "exited with" },
		{ "value_command = [\"./echo\"]\n", "unknown program" },
		{ "value_command = [\"/bin/echo\", \"1234567\"]\n",
		  "less than 8" },
		{ "value_command = [\"/bin/echo\", \"1234 5678\"]\n",
		  "contains a blank" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char *toml = xasprintf("%s%s", GITHUB, bad[i].from);
		struct secrets s = read_good(*state, toml);
		struct error err = { 0 };
		struct world *w = *state;

		if (secrets_load(&s, w->s, &never, &err) == 0)
			fail_msg("accepted: %s", bad[i].from);
		if (!strstr(err.message, bad[i].why))
			fail_msg("%s: not \"%s\"", err.message, bad[i].why);
		secrets_release(&s);
		free(toml);
	}
}

static void test_a_request_needs_the_path_and_the_method(void **state)
{
	static const struct {
		const char *method, *target;
		bool good;
	} all[] = {
		{ "GET", "/repos/me/app", true },
		{ "GET", "/repos/me/app?x=/..", true },
		{ "GET", "/user", true },
		{ "POST", "/user", false },
		{ "get", "/user", false },
		{ "GET", "/users", false },
		{ "GET", "/repos/me", false },
		{ "GET", "/repos/me/../you", false },
		{ "GET", "/repos/me/%2e%2e/you", false },
		{ "GET", "/repos/me//you", false },
		{ "GET", "/repos/me/x\\..\\you", false },
		{ "GET", "/repos/me/;/you", false },
		{ "GET", "*", false },
		{ "GET", "", false },
	};
	struct secrets s = read_good(*state, GITHUB
				     "methods = [\"GET\"]\n"
				     "paths = [\"/repos/me/*\", \"/user\"]\n");

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (secret_has_request(&s.list[0], str_of(all[i].method),
				       str_of(all[i].target)) != all[i].good)
			fail_msg("%s %s", all[i].method, all[i].target);
	assert_true(secret_has_host(&s.list[0], "a.example.com"));
	assert_false(secret_has_host(&s.list[0], "example.com"));
	assert_false(secret_has_host(&s.list[0], "xapi.github.com"));
	secrets_release(&s);
}

static void test_a_value_is_printed_in_its_format(void **state)
{
	struct secrets s = read_good(
		*state, "[secrets.A]\npreset = \"pypi\"\n"
			"[secrets.B]\nheader = \"X\"\nhosts = [\"a.b\"]\n");
	struct buf out = BUF_INIT(512);

	secret_print_value(&s.list[0], STR("abc"), &out);
	assert_string_equal(out.ptr, "Basic X190b2tlbl9fOmFiYw==");
	buf_clear(&out);
	secret_print_value(&s.list[1], STR("abc"), &out);
	assert_string_equal(out.ptr, "abc");
	buf_release(&out);
	secrets_release(&s);
}

static void test_a_provider_holds_only_what_it_can(void **state)
{
	static const struct {
		unsigned can;
		const char *toml, *why;
	} all[] = {
		{ SECRET_CAN_PLACEHOLDER | SECRET_CAN_WILD, "", NULL },
		{ SECRET_CAN_PLACEHOLDER, "", "all hosts below" },
		{ SECRET_CAN_HEADER | SECRET_CAN_WILD, "", "add header" },
		{ SECRET_CAN_FORMAT | SECRET_CAN_WILD, "", "add format" },
		{ SECRET_CAN_FORMAT | SECRET_CAN_WILD,
		  "format = \"Bearer {}\"\n", NULL },
		{ SECRET_CAN_FORMAT | SECRET_CAN_WILD,
		  "format = \"Basic x:{}\"\n", "inside of Basic" },
		{ SECRET_CAN_PLACEHOLDER | SECRET_CAN_WILD,
		  "header = \"X-A\"\n", "set a header" },
		{ SECRET_CAN_PLACEHOLDER | SECRET_CAN_WILD,
		  "paths = [\"/x\"]\n", "to paths" },
		{ SECRET_CAN_PLACEHOLDER | SECRET_CAN_WILD,
		  "methods = [\"GET\"]\n", "to methods" },
		{ SECRET_CAN_PLACEHOLDER | SECRET_CAN_WILD | SECRET_ONE_HOST,
		  "", "more than one host" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const struct secret_limits limits = { .can = all[i].can };
		char *toml = xasprintf("%s%s", GITHUB, all[i].toml);
		struct secrets s = read_good(*state, toml);
		struct error err = { 0 };
		int rc = secrets_check(&s, &limits, "acme", &err);

		if (!all[i].why != (rc == 0) ||
		    (all[i].why && !strstr(err.message, all[i].why)))
			fail_msg("%zu: %s", i, err.message);
		secrets_release(&s);
		free(toml);
	}
}

static void test_a_provider_signs_or_refuses_a_key_of_aws(void **state)
{
	struct secrets s = read_good(*state, "[secrets.A]\npreset = \"aws\"\n");
	struct secret_limits limits = { .can = ~(unsigned)SECRET_CAN_SIGN };
	struct error err = { 0 };

	assert_true(secret_has_host(&s.list[0], "s3.eu-west-1.amazonaws.com"));
	assert_int_equal(secrets_check(&s, &limits, "acme", &err), -1);
	assert_non_null(strstr(err.message, "acme cannot sign requests"));
	limits.can = SECRET_CAN_SIGN;
	assert_int_equal(secrets_check(&s, &limits, "acme", &err), 0);
	secrets_release(&s);
}

static void test_a_provider_without_limits_holds_none(void **state)
{
	struct secrets s = read_good(*state, GITHUB);
	struct secrets none = { 0 };
	struct error err = { 0 };

	assert_int_equal(secrets_check(&s, NULL, "acme", &err), -1);
	assert_non_null(strstr(err.message, "acme cannot put secrets"));
	assert_int_equal(secrets_check(&none, NULL, "acme", &err), 0);
	secrets_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_WORLD(test_an_entry_is_read_with_its_place),
		IN_A_WORLD(test_a_preset_can_be_changed_in_parts),
		IN_A_WORLD(test_what_is_not_understood_is_refused),
		IN_A_WORLD(test_values_come_from_variables_and_programs),
		IN_A_WORLD(test_a_key_of_aws_is_read_from_its_forms),
		IN_A_WORLD(test_a_value_that_cannot_be_used_is_refused),
		IN_A_WORLD(test_a_request_needs_the_path_and_the_method),
		IN_A_WORLD(test_a_value_is_printed_in_its_format),
		IN_A_WORLD(test_a_provider_holds_only_what_it_can),
		IN_A_WORLD(test_a_provider_signs_or_refuses_a_key_of_aws),
		IN_A_WORLD(test_a_provider_without_limits_holds_none),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

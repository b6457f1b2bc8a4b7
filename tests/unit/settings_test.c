/* settings_test.c - layers, sources, types and secrets of the settings. */
/* SPDX-License-Identifier: MIT */
#include "settings_world.h"

static const char *text_of(const struct settings *s, const char *group,
			   const char *key)
{
	const char *value = "?";
	struct error err = { 0 };

	if (settings_string(s, group, key, &value, &err) < 0)
		fail_msg("%s", err.message);
	return value;
}

static void number_is(const struct settings *s, const char *group,
		      const char *key, int64_t expected)
{
	int64_t number = -7; /* left alone when nothing is set */
	struct error err = { 0 };

	if (settings_int(s, group, key, &number, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(number, expected);
}

static void nothing_set(void **state)
{
	struct settings *s = load(*state);
	struct error err = { 0 };
	bool is = true;
	const char *const *list;
	size_t n = 9;

	assert_int_equal(count_warnings(s), 0);
	assert_null(settings_broken(s));
	assert_null(text_of(s, NULL, "models.default"));
	assert_int_equal(settings_source(s, NULL, "models.default"),
			 SOURCE_NONE);
	number_is(s, NULL, "retries.max_retries", -7);
	assert_int_equal(settings_bool(s, "box", "privileged", &is, &err), 0);
	assert_true(is);
	assert_int_equal(settings_list(s, "box", "mounts", &list, &n, &err), 0);
	assert_int_equal(n, 0);
	assert_string_equal(text_of(s, "box", "image"), "python:3");
	assert_int_equal(settings_source(s, "box", "image"), SOURCE_DEFAULT);
	number_is(s, "box", "memory", 512);
}

static void image_is(const struct settings *s, const char *value,
		     enum setting_source source)
{
	assert_string_equal(text_of(s, "box", "image"), value);
	assert_int_equal(settings_source(s, "box", "image"), source);
}

/* Each stronger layer goes over the weaker ones. */
static void layers(void **state)
{
	static const char key[] = "sandboxes.providers.box.params.image";
	struct world *w = *state;
	struct error err = { 0 };

	put(w, ".deepagents/config.toml",
	    "[sandboxes.providers.box.params]\nimage = 'toml'\n");
	image_is(load(w), "toml", SOURCE_CONFIG);
	put(w, ".deepagents/.env", "BOX_IMAGE=user\n");
	image_is(load(w), "user", SOURCE_DOTENV_USER);
	put(w, "project/.env", "BOX_IMAGE=project\n");
	image_is(load(w), "user", SOURCE_DOTENV_USER);
	export(w, "BOX_IMAGE=shell");
	image_is(load(w), "shell", SOURCE_ENV);
	assert_string_equal(settings_variable(w->s, "box", "image"),
			    "BOX_IMAGE");
	export(w, "DEEPAGENTS_CODE_BOX_IMAGE=prefixed");
	image_is(load(w), "prefixed", SOURCE_ENV);
	assert_string_equal(settings_variable(w->s, "box", "image"),
			    "DEEPAGENTS_CODE_BOX_IMAGE");
	assert_int_equal(settings_set_flag(w->s, key, "flag", &err), 0);
	image_is(w->s, "flag", SOURCE_FLAG);
	assert_null(settings_variable(w->s, "box", "image"));
}

/* An empty prefixed variable hides the plain one, and counts as unset. */
static void empty_hides(void **state)
{
	struct world *w = *state;
	struct settings *s;

	export(w, "BOX_IMAGE=shell");
	export(w, "OPENAI_API_KEY=sk-12345678");
	s = load(w);
	assert_string_equal(text_of(s, "box", "image"), "shell");
	assert_string_equal(settings_env(s, "OPENAI_API_KEY"), "sk-12345678");
	export(w, "DEEPAGENTS_CODE_BOX_IMAGE=");
	export(w, "DEEPAGENTS_CODE_OPENAI_API_KEY=");
	s = load(w);
	assert_string_equal(text_of(s, "box", "image"), "python:3");
	assert_null(settings_env(s, "OPENAI_API_KEY"));
	assert_int_equal(settings_env_source(s, "OPENAI_API_KEY"), SOURCE_NONE);
	assert_string_equal(settings_env_plain(s, "OPENAI_API_KEY"),
			    "sk-12345678");
}

/* The allow list, its items joined by spaces. */
static void allowed(const struct settings *s, const char *items)
{
	struct buf all = BUF_INIT(1000);
	struct error err = { 0 };
	const char *const *list;
	size_t n;

	if (settings_list(s, NULL, "shell.allow_list", &list, &n, &err) < 0)
		fail_msg("%s", err.message);
	for (size_t i = 0; i < n; i++)
		buf_addf(&all, "%s%s", i ? " " : "", list[i]);
	assert_string_equal(all.len ? all.ptr : "", items);
	buf_release(&all);
}

static void prefix_only(void **state)
{
	struct world *w = *state;

	export(w, "SHELL_ALLOW_LIST=rm");
	allowed(load(w), "");
	export(w, "DEEPAGENTS_CODE_SHELL_ALLOW_LIST=ls, git ,,cat");
	allowed(load(w), "ls git cat");
}

static void lists_in_toml(void **state)
{
	struct world *w = *state;
	struct error err = { 0 };
	const char *const *list;
	size_t n;

	put(w, ".deepagents/config.toml", "shell.allow_list = ['ls', 'cat']");
	allowed(load(w), "ls cat");
	put(w, ".deepagents/config.toml", "shell.allow_list = 'ls,cat,wc'");
	allowed(load(w), "ls cat wc");
	put(w, ".deepagents/config.toml", "shell.allow_list = ['ls', 1]");
	assert_int_equal(settings_list(load(w), NULL, "shell.allow_list", &list,
				       &n, &err),
			 -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_non_null(strstr(err.message, "config.toml:1:20: "));
	assert_true(warned(w->s, "shell.allow_list must be a list of strings"));
}

static void wrong_types(void **state)
{
	struct world *w = *state;
	struct error err = { 0 };
	struct settings *s;
	const char *text;
	int64_t number;
	bool is;

	put(w, ".deepagents/config.toml",
	    "[models]\ndefault = 3\n[retries]\nmax_retries = 'many'\n");
	export(w, "BOX_ROOT=perhaps");
	s = load(w);
	assert_int_equal(
		settings_string(s, NULL, "models.default", &text, &err), -1);
	assert_non_null(strstr(err.message, "config.toml:2:11: models.default "
					    "must be a string, not an "
					    "integer"));
	assert_int_equal(
		settings_int(s, NULL, "retries.max_retries", &number, &err),
		-1);
	assert_int_equal(settings_bool(s, "box", "privileged", &is, &err), -1);
	assert_string_equal(err.message, "BOX_ROOT (env) must be true or "
					 "false, not 'perhaps'");
	assert_int_equal(count_warnings(s), 3);
	assert_int_equal(settings_set_flag(s, "retries.max_retries", "x", &err),
			 -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(settings_set_flag(s, "retries.max_retries", "4", &err),
			 0);
	number_is(s, NULL, "retries.max_retries", 4);
	assert_int_equal(settings_set_flag(s, "no.such", "4", &err), -1);
}

static void broken_config(void **state)
{
	struct world *w = *state;
	struct settings *s;
	char *expected = xasprintf("invalid TOML syntax: %s/.deepagents/"
				   "config.toml:2:5: missing '=' after the key "
				   "'is', found 'b'",
				   w->home);

	put(w, ".deepagents/config.toml", "a = 1\n is broken\n");
	s = load(w);
	assert_string_equal(settings_broken(s), expected);
	assert_true(warned(s, "config.toml:2:5: missing '='"));
	assert_string_equal(text_of(s, "box", "image"), "python:3");
	free(expected);

	put(w, ".deepagents/config.toml", "sandboxes = 3\n");
	s = load(w);
	assert_string_equal(settings_broken(s), "[sandboxes] is not a table");
	put(w, ".deepagents/config.toml",
	    "[sandboxes.providers]\nx = 3\n[sandboxes.providers.y]\n"
	    "[unknown]\nkey = 1\n");
	s = load(w);
	assert_null(settings_broken(s));
	assert_int_equal(count_warnings(s), 2);
	assert_true(warned(s, ":2:5: sandboxes.providers.x is not a table"));
	assert_true(warned(s, ":4:2: unknown is not a known setting"));
}

static void add_line(void *arg, const char *name, const char *value)
{
	buf_addf(arg, "%s=%s\n", name, value);
}

static void secrets(void **state)
{
	struct world *w = *state;
	struct buf all = BUF_INIT(1 << 16);

	put(w, ".deepagents/config.toml",
	    "[models.providers.mine]\napi_key_env = 'MY_LLM'\n"
	    "base_url = 'http://public'\n"
	    "[models.providers.mine.params]\naccess_token = 'in-toml'\n"
	    "[sandboxes.providers.box.params]\napi_key = 'short'\n");
	export(w, "OPENAI_API_KEY=sk-1");
	export(w, "MY_LLM=llm-value");
	export(w, "GITHUB_TOKEN=ghp_12345678");
	export(w, "SORT_KEY=date");
	export(w, "KEYBOARD=de-latin1-nodead");
	export(w, "MODAL_TOKEN_ID=ak-12345678");
	settings_each_secret(load(w), add_line, &all);
	assert_non_null(strstr(all.ptr, "OPENAI_API_KEY=sk-1\n"));
	assert_non_null(strstr(all.ptr, "BOX_API_KEY=short\n"));
	assert_non_null(strstr(all.ptr, "MY_LLM=llm-value\n"));
	assert_non_null(strstr(all.ptr, "GITHUB_TOKEN=ghp_12345678\n"));
	assert_non_null(strstr(all.ptr, "access_token=in-toml\n"));
	assert_null(strstr(all.ptr, "date"));
	assert_null(strstr(all.ptr, "latin1"));
	assert_null(strstr(all.ptr, "public"));
	assert_null(strstr(all.ptr, "ak-"));
	buf_release(&all);
}

/* The credentials stand in the environment, not in config.toml. */
static void environment_only(void **state)
{
	struct world *w = *state;

	put(w, ".deepagents/config.toml", "[credentials]\nopenai = 'x'\n");
	assert_null(text_of(load(w), NULL, "credentials.openai"));
	export(w, "OPENAI_API_KEY=sk");
	assert_string_equal(text_of(load(w), NULL, "credentials.openai"), "sk");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_WORLD(nothing_set),      IN_A_WORLD(layers),
		IN_A_WORLD(empty_hides),      IN_A_WORLD(prefix_only),
		IN_A_WORLD(lists_in_toml),    IN_A_WORLD(wrong_types),
		IN_A_WORLD(broken_config),    IN_A_WORLD(secrets),
		IN_A_WORLD(environment_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

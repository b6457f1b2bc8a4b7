/* settings_test.c - layers, sources, files and secrets of the settings. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "config/settings.h"

static const struct setting box_rows[] = {
	{ .key = "image", .fallback = "\"python:3\"", .env = "BOX_IMAGE" },
	{ .key = "memory", .type = SETTING_INT, .fallback = "512" },
	{ .key = "privileged", .type = SETTING_BOOL, .env = "BOX_ROOT" },
	{ .key = "mounts", .type = SETTING_LIST, .env = "BOX_MOUNTS" },
	{ .key = "api_key", .flags = SETTING_SECRET, .env = "BOX_API_KEY" },
	{ 0 },
};

static const struct setting_group groups[] = {
	{ .rows = settings_core },
	{ .name = "box", .rows = box_rows },
	{ 0 },
};

/* A home with a project in it, gone again after the test. */
struct world {
	char home[64];
	char *project;
	char *deep; /* below the project */
	char *environ[16];
	size_t n_environ;
	struct settings *s;
};

static void put(const struct world *w, const char *name, const char *text)
{
	char *path = path_join(w->home, name);
	char *slash = strrchr(path, '/');
	struct error err = { 0 };

	*slash = '\0';
	assert_int_equal(path_mkdirs(path, 0700, &err), 0);
	*slash = '/';
	assert_int_equal(path_write(path, str_of(text), 0600, &err), 0);
	free(path);
}

static int set_up(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));
	struct error err = { 0 };

	snprintf(w->home, sizeof(w->home), "/tmp/dcode-settings-XXXXXX");
	if (!mkdtemp(w->home))
		return -1;
	w->project = path_join(w->home, "project");
	w->deep = path_join(w->project, "a/b");
	*state = w;
	return path_mkdirs(w->deep, 0700, &err);
}

static int tear_down(void **state)
{
	struct world *w = *state;
	struct error err = { 0 };

	settings_free(w->s);
	path_remove_tree(w->home, &err);
	free(w->project);
	free(w->deep);
	free(w);
	return 0;
}

static struct settings *load(struct world *w)
{
	struct settings_input in = { w->home, w->deep, w->environ, groups };
	struct error err = { 0 };

	settings_free(w->s);
	w->s = NULL;
	if (settings_load(&w->s, &in, &err) < 0)
		fail_msg("%s", err.message);
	return w->s;
}

static void export(struct world *w, const char *entry)
{
	w->environ[w->n_environ++] = (char *)entry;
}

static const char *text_of(const struct settings *s, const char *group,
			   const char *key)
{
	const char *value = "?";
	struct error err = { 0 };

	if (settings_string(s, group, key, &value, &err) < 0)
		fail_msg("%s", err.message);
	return value;
}

static bool warned(const struct settings *s, const char *part)
{
	const char *const *list;
	size_t n = settings_warnings(s, &list);

	for (size_t i = 0; i < n; i++)
		if (strstr(list[i], part))
			return true;
	return false;
}

static size_t count_warnings(const struct settings *s)
{
	const char *const *list;

	return settings_warnings(s, &list);
}

static void nothing_set(void **state)
{
	struct settings *s = load(*state);
	struct error err = { 0 };
	int64_t number = -7;
	bool is = true;
	const char *const *list;
	size_t n = 9;

	assert_int_equal(count_warnings(s), 0);
	assert_null(settings_broken(s));
	assert_null(text_of(s, NULL, "models.default"));
	assert_int_equal(settings_source(s, NULL, "models.default"),
			 SOURCE_NONE);
	assert_int_equal(
		settings_int(s, NULL, "retries.max_retries", &number, &err), 0);
	assert_int_equal(number, -7);
	assert_int_equal(settings_bool(s, "box", "privileged", &is, &err), 0);
	assert_true(is);
	assert_int_equal(settings_list(s, "box", "mounts", &list, &n, &err), 0);
	assert_int_equal(n, 0);
	assert_string_equal(text_of(s, "box", "image"), "python:3");
	assert_int_equal(settings_source(s, "box", "image"), SOURCE_DEFAULT);
	assert_int_equal(settings_int(s, "box", "memory", &number, &err), 0);
	assert_int_equal(number, 512);
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
	image_is(load(w), "project", SOURCE_DOTENV_PROJECT);
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
	assert_int_equal(
		settings_int(s, NULL, "retries.max_retries", &number, &err), 0);
	assert_int_equal(number, 4);
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
	assert_int_equal(count_warnings(s), 1);
	assert_true(warned(s, ":2:5: sandboxes.providers.x is not a table"));
}

static void project_file(void **state)
{
	struct world *w = *state;
	const struct settings_file *files;
	struct settings *s;

	put(w, "project/.env",
	    "GROQ_API_KEY=from-project\nOPENAI_BASE_URL=http://evil\n");
	s = load(w);
	assert_string_equal(settings_env(s, "GROQ_API_KEY"), "from-project");
	assert_int_equal(settings_env_source(s, "GROQ_API_KEY"),
			 SOURCE_DOTENV_PROJECT);
	assert_null(settings_env(s, "OPENAI_BASE_URL"));
	assert_true(warned(s, "project/.env:2: OPENAI_BASE_URL "));
	assert_false(warned(s, "evil"));

	/* The nearest one counts, and only that. */
	put(w, "project/a/.env", "XAI_API_KEY=nearer\n");
	s = load(w);
	assert_null(settings_env(s, "GROQ_API_KEY"));
	assert_string_equal(settings_env(s, "XAI_API_KEY"), "nearer");
	assert_int_equal(settings_files(s, &files), 3);
	assert_int_equal(files[0].state, SETTINGS_FILE_MISSING);
	assert_int_equal(files[1].state, SETTINGS_FILE_OK);
	assert_true(str_ends(str_of(files[1].path), "/project/a/.env"));

	put(w, ".deepagents/config.toml", "startup.read_project_dotenv=false");
	s = load(w);
	assert_null(settings_env(s, "XAI_API_KEY"));
	assert_int_equal(settings_files(s, &files), 3);
	assert_int_equal(files[1].state, SETTINGS_FILE_DISABLED);
	export(w, "DEEPAGENTS_CODE_READ_PROJECT_DOTENV=yes");
	s = load(w);
	assert_string_equal(settings_env(s, "XAI_API_KEY"), "nearer");
}

/* A virtual environment, a pipe: neither is read, neither stops the walk. */
static void odd_project_files(void **state)
{
	struct world *w = *state;
	char *pipe = path_join(w->deep, ".env");

	put(w, "project/a/.env/pyvenv.cfg", "");
	put(w, "project/.env", "XAI_API_KEY=above\n");
	assert_int_equal(mkfifo(pipe, 0600), 0);
	assert_string_equal(settings_env(load(w), "XAI_API_KEY"), "above");
	free(pipe);
}

/* ${NAME} in the user's file never means a project's value. */
static void user_file(void **state)
{
	struct world *w = *state;
	struct settings *s;

	put(w, "project/.env", "WHERE=project\n");
	put(w, ".deepagents/.env",
	    "WHERE=user\nA_URL=http://${WHERE}\nB=${SHELL_SAYS}\n");
	export(w, "SHELL_SAYS=hello");
	s = load(w);
	assert_string_equal(settings_env(s, "A_URL"), "http://user");
	assert_string_equal(settings_env(s, "B"), "hello");
	assert_string_equal(settings_env(s, "WHERE"), "project");
	assert_int_equal(count_warnings(s), 0);
}

/* Standing in ~/.deepagents, the nearest file is the user's own. */
static void user_file_is_nearest(void **state)
{
	struct world *w = *state;
	struct settings *s;

	put(w, ".deepagents/.env", "A_URL=http://user\n");
	put(w, ".deepagents/agent/AGENTS.md", "");
	free(w->deep);
	w->deep = path_join(w->home, ".deepagents/agent");
	s = load(w);
	assert_string_equal(settings_env(s, "A_URL"), "http://user");
	assert_int_equal(settings_env_source(s, "A_URL"), SOURCE_DOTENV_USER);
	assert_int_equal(count_warnings(s), 0);
}

/* As an ordinary user: root may read everything. */
static void closed_project_file(void **state)
{
	struct world *w = *state;
	char *file = path_join(w->deep, ".env");
	char *dir = path_join(w->project, "a");
	struct settings *s;

	put(w, "project/.env", "XAI_API_KEY=above\n");
	put(w, "project/a/b/.env", "XAI_API_KEY=here\n");
	assert_string_equal(settings_env(load(w), "XAI_API_KEY"), "here");
	if (geteuid() != 0) {
		chmod(file, 0);
		s = load(w);
		assert_null(settings_env(s, "XAI_API_KEY"));
		assert_true(warned(s, "b/.env: cannot be read; ignored"));
		chmod(dir, 0);
		s = load(w);
		assert_string_equal(settings_env(s, "XAI_API_KEY"), "above");
		assert_int_equal(count_warnings(s), 0);
		chmod(dir, 0700);
	}
	free(file);
	free(dir);
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

static void huge_files(void **state)
{
	struct world *w = *state;
	struct buf text = BUF_INIT(16 << 20);
	struct settings *s;

	for (size_t i = 0; i < 9 << 20; i += 64)
		buf_adds(&text, "################################"
				"###############################\n");
	put(w, ".deepagents/config.toml", text.ptr);
	put(w, "project/.env", text.ptr);
	s = load(w);
	assert_non_null(
		strstr(settings_broken(s), "could not read config file: "));
	assert_true(warned(s, "project/.env: File too large"));
	buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(nothing_set),
		TEST(layers),
		TEST(empty_hides),
		TEST(prefix_only),
		TEST(lists_in_toml),
		TEST(wrong_types),
		TEST(broken_config),
		TEST(project_file),
		TEST(odd_project_files),
		TEST(user_file),
		TEST(user_file_is_nearest),
		TEST(closed_project_file),
		TEST(secrets),
		TEST(environment_only),
		TEST(huge_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

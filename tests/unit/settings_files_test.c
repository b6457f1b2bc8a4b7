/* settings_files_test.c - which config.toml and .env files count. */
/* SPDX-License-Identifier: MIT */
#include <sys/stat.h>
#include <unistd.h>

#include "settings_world.h"

static enum settings_file_state file_state(const struct settings *s, size_t i)
{
	const struct settings_file *files;

	assert_true(i < settings_files(s, &files));
	return files[i].state;
}

/* The project's value of a variable, or NULL. */
static const char *of_project(const struct settings *s, const char *name)
{
	const char *project = NULL;
	const char *value = settings_credential(s, name, &project);

	assert_null(settings_env(s, name));
	assert_int_equal(settings_env_source(s, name), SOURCE_NONE);
	return project ? value : NULL;
}

static void project_file(void **state)
{
	struct world *w = *state;
	const struct settings_file *files;
	struct settings *s;

	put(w, "project/.env",
	    "GROQ_API_KEY=from-project\nOPENAI_BASE_URL=http://evil\n");
	s = load(w);
	assert_string_equal(of_project(s, "GROQ_API_KEY"), "from-project");
	assert_int_equal(settings_source(s, NULL, "credentials.groq"),
			 SOURCE_DOTENV_PROJECT);
	assert_null(settings_env(s, "OPENAI_BASE_URL"));
	assert_true(warned(s, "project/.env:2: OPENAI_BASE_URL "));
	assert_false(warned(s, "evil"));

	/* The nearest one counts, and only that. */
	put(w, "project/a/.env", "XAI_API_KEY=nearer\n");
	s = load(w);
	assert_null(of_project(s, "GROQ_API_KEY"));
	assert_string_equal(of_project(s, "XAI_API_KEY"), "nearer");
	assert_int_equal(file_state(s, 1), SETTINGS_FILE_MISSING);
	assert_int_equal(file_state(s, 2), SETTINGS_FILE_OK);
	settings_files(s, &files);
	assert_true(str_ends(str_of(files[2].path), "/project/a/.env"));

	put(w, ".deepagents/config.toml", "startup.read_project_dotenv=false");
	s = load(w);
	assert_null(of_project(s, "XAI_API_KEY"));
	assert_int_equal(file_state(s, 2), SETTINGS_FILE_DISABLED);
	export(w, "DEEPAGENTS_CODE_READ_PROJECT_DOTENV=yes");
	s = load(w);
	assert_string_equal(of_project(s, "XAI_API_KEY"), "nearer");
}

/* Nothing but credentials, and only where the user has none of that vendor. */
static void project_credentials(void **state)
{
	struct world *w = *state;
	struct settings *s;
	const char *project = NULL;

	put(w, "project/.env",
	    "OPENAI_API_KEY=theirs\nXAI_API_KEY=\nBOX_API_KEY=theirs\n"
	    "BOX_TOKEN=theirs\nBOX_IMAGE=evil\nMINE=theirs\n"
	    "DEEPAGENTS_CODE_OPENAI_API_KEY=theirs\nOTHER=theirs\n");
	put(w, ".deepagents/config.toml",
	    "[models.providers.mine]\napi_key_env = 'MINE'\n");
	s = load(w);
	assert_true(warned(s, ".env:7: DEEPAGENTS_CODE_OPENAI_API_KEY may "));
	assert_string_equal(of_project(s, "OPENAI_API_KEY"), "theirs");
	assert_string_equal(of_project(s, "MINE"), "theirs");
	assert_string_equal(of_project(s, "BOX_TOKEN"), "theirs");
	assert_null(of_project(s, "XAI_API_KEY"));
	assert_null(of_project(s, "BOX_IMAGE"));
	assert_null(of_project(s, "OTHER"));

	/* Another variable of the same vendor is the user's. */
	put(w, ".deepagents/.env", "BOX_API_KEY=mine\nOPENAI_API_KEY=\n");
	s = load(w);
	assert_string_equal(settings_credential(s, "BOX_API_KEY", &project),
			    "mine");
	assert_null(project);
	assert_null(of_project(s, "BOX_TOKEN"));
	/* An empty one turns it off. */
	assert_null(of_project(s, "OPENAI_API_KEY"));
	assert_string_equal(of_project(s, "MINE"), "theirs");
	export(w, "DEEPAGENTS_CODE_MINE=");
	assert_null(of_project(load(w), "MINE"));
}

static void setup_values(void **state)
{
	struct world *w = *state;
	enum setting_source source;
	struct settings *s;

	put(w, "project/.env", "A=theirs\nB=theirs\nC=theirs\n");
	put(w, ".deepagents/.env", "B=\n");
	export(w, "A=mine");
	s = load(w);
	assert_string_equal(settings_setup_value(s, "A", &source), "mine");
	assert_int_equal(source, SOURCE_ENV);
	assert_string_equal(settings_setup_value(s, "B", &source), "");
	assert_int_equal(source, SOURCE_DOTENV_USER);
	assert_string_equal(settings_setup_value(s, "C", &source), "theirs");
	assert_int_equal(source, SOURCE_DOTENV_PROJECT);
	assert_null(settings_setup_value(s, "D", &source));
}

/* A virtual environment, a pipe: neither is read, neither stops the walk. */
static void odd_project_files(void **state)
{
	struct world *w = *state;
	char *pipe = path_join(w->deep, ".env");

	put(w, "project/a/.env/pyvenv.cfg", "");
	put(w, "project/.env", "XAI_API_KEY=above\n");
	assert_int_equal(mkfifo(pipe, 0600), 0);
	assert_string_equal(of_project(load(w), "XAI_API_KEY"), "above");
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
	assert_string_equal(settings_env(s, "WHERE"), "user");
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
	assert_string_equal(of_project(load(w), "XAI_API_KEY"), "here");
	if (geteuid() != 0) {
		chmod(file, 0);
		s = load(w);
		assert_null(of_project(s, "XAI_API_KEY"));
		assert_true(warned(s, "b/.env: cannot be read; ignored"));
		chmod(dir, 0);
		s = load(w);
		assert_string_equal(of_project(s, "XAI_API_KEY"), "above");
		assert_int_equal(count_warnings(s), 0);
		chmod(dir, 0700);
	}
	free(file);
	free(dir);
}

static void huge_files(void **state)
{
	struct world *w = *state;
	struct buf text = BUF_INIT(16 << 20);
	struct settings *s;

	while (text.len < 9 << 20)
		buf_adds(&text, "# a line of which there are many\n");
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
		IN_A_WORLD(project_file),
		IN_A_WORLD(project_credentials),
		IN_A_WORLD(setup_values),
		IN_A_WORLD(odd_project_files),
		IN_A_WORLD(user_file),
		IN_A_WORLD(user_file_is_nearest),
		IN_A_WORLD(closed_project_file),
		IN_A_WORLD(huge_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

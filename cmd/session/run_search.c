/* run_search.c - what searches the web for a run. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/run_search.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/session/run.h"
#include "config/settings_env.h"

/* A key of the user's alone: with one of a repository's .env its owner would
 * see what is searched for. */
static const char *tavily_key(const struct run *r)
{
	return settings_env_unasked(r->app->settings, "TAVILY_API_KEY");
}

struct command_words { /* the user's own; n 0: none */
	const char *const *list;
	size_t n;
};

static int read_command(const struct run *r, struct command_words *words,
			struct error *err)
{
	*words = (struct command_words){ 0 };
	return settings_list(r->app->settings, NULL, "web.search_command",
			     &words->list, &words->n, err);
}

/* One that cannot be read is one: its error is for the model. */
static bool has_command(const struct run *r)
{
	struct command_words words;
	struct error ignored = { 0 };

	return read_command(r, &words, &ignored) < 0 || words.n > 0;
}

bool run_search_is_set(const struct run *r)
{
	return has_command(r) || tavily_key(r);
}

bool run_search_is_allowed(const struct run *r)
{
	struct error ignored = { 0 };
	bool allowed = false;

	return settings_bool(r->app->settings, NULL, "web.allow_search",
			     &allowed, &ignored) == 0 &&
	       allowed;
}

void run_search_name(const struct run *r, struct buf *out)
{
	struct command_words words;
	struct error ignored = { 0 };

	if (read_command(r, &words, &ignored) < 0 || !words.n) {
		buf_adds(out, "Tavily");
		return;
	}
	buf_adds(out, "the command ");
	sanitize_line(str_of(words.list[0]), out);
}

/* Absolute, or NULL. A relative path would be looked for in the repository. */
static char *find_program(const struct settings *set, const char *word)
{
	if (word[0] == '~' && word[1] == '/')
		return xasprintf("%s/%s", settings_home(set), word + 2);
	if (word[0] == '/')
		return xstrdup(word);
	return strchr(word, '/')
		       ? NULL
		       : proc_find(word, settings_exported(set, "PATH"));
}

static int run_command(const struct run *r, const struct command_words *words,
		       const struct web_query *q, struct buf *out,
		       const struct stop *stop, struct error *err)
{
	const struct settings *set = r->app->settings;
	char *program = find_program(set, words->list[0]);
	char **argv = xcalloc(words->n + 1, sizeof(char *));
	char **env = settings_environ_exported(set);
	const struct search_command c = { program, argv, env };
	int rc;

	for (size_t i = 0; i < words->n; i++)
		argv[i] = (char *)words->list[i];
	if (program)
		rc = search_command(&c, q, out, stop, err);
	else
		rc = error_set(
			err, ERR_CONFIG,
			"search_command of [web] in config.toml: %.200s is "
			"neither an absolute path nor a program on PATH",
			words->list[0]);
	settings_environ_free(env);
	free(argv);
	free(program);
	return rc;
}

int run_search(void *arg, const struct web_query *q, struct buf *out,
	       const struct stop *stop, struct error *err)
{
	const struct run *r = arg;
	struct command_words words;
	struct tavily t = { .http = app_http(r->app) };

	if (read_command(r, &words, err) < 0)
		return -1;
	if (words.n)
		return run_command(r, &words, q, out, stop, err);
	t.key = tavily_key(r);
	if (t.key) {
		t.base = settings_env(r->app->settings, "TAVILY_BASE_URL");
		return search_tavily(&t, q, out, stop, err);
	}
	error_set(err, ERR_CONFIG, "no web search is configured");
	return error_hint(err,
			  "The user can store a key (dcode auth set tavily), "
			  "or set search_command of [web] in config.toml.");
}

/* tools.c - tools that act outside the sandbox: MCP servers and web. */
/* SPDX-License-Identifier: MIT */

/*
 * Web tools and MCP servers act on the user's machine, even if there is a
 * sandbox. run_web_allows() and run_mcp_allows() tell which calls [web] and
 * [mcp] of config.toml allow without asking (policy.c). MCP servers start in
 * three steps: run_mcp_begin() before the model is chosen, run_mcp_wait()
 * before the prompt is built, and on_request_sent() after the first request for
 * servers whose tools are cached.
 */
#include "cmd/session/tools.h"

#include <stdlib.h>
#include <string.h>

#include "agent/show.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/session/mcp_servers.h"
#include "config/settings_env.h"
#include "net/resolve.h"
#include "tool/table.h"
#include "web/fetch.h"
#include "web/search.h"
#include "web/url.h"

struct command_words { /* the user's search command; n is 0 without one */
	const char *const *list;
	size_t n;
};

/* Does not use a key from the repository's .env, because the owner of that key
 * could see the user's searches. */
static const char *tavily_key(const struct run *r)
{
	return settings_env_unasked(r->app->settings, SEARCH_KEY_ENV);
}

/* Returns -1 if the setting cannot be read. */
static int read_command(const struct run *r, struct command_words *words,
			struct error *err)
{
	*words = (struct command_words){ 0 };
	return settings_list(r->app->settings, NULL, "web.search_command",
			     &words->list, &words->n, err);
}

/* True if there is a search command or a Tavily key; otherwise web_search is
 * not offered. May open the key store. */
static bool search_is_set(const struct run *r)
{
	struct command_words words;
	struct error ignored = { 0 };

	/* A command that cannot be read counts as set, so that the model sees
	 * the error. */
	return read_command(r, &words, &ignored) < 0 || words.n > 0 ||
	       tavily_key(r);
}

/* True if [web] allow_search lets searches run without approval. */
static bool search_is_allowed(const struct run *r)
{
	struct error ignored = { 0 };
	bool allowed = false;

	return settings_bool(r->app->settings, NULL, "web.allow_search",
			     &allowed, &ignored) == 0 &&
	       allowed;
}

/* Appends the search service for the question to the user: "Tavily" or "the
 * command x". */
static void add_search_name(const struct run *r, struct buf *out)
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

/* Returns the absolute path of the program, or NULL. Owned. A relative path is
 * refused, because it would name a file of the repository. */
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

/* Runs the search command with the user's exported environment, without
 * variables from the repository. */
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

/* web.search callback; arg is the run. */
static int answer_query(void *arg, const struct web_query *q, struct buf *out,
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
		t.base = settings_env(r->app->settings, SEARCH_URL_ENV);
		/* the same rule as for sandbox vendors: rest_variable() */
		if (t.base &&
		    settings_address_is_shared(r->app->settings,
					       SEARCH_URL_ENV) &&
		    !loopback_url(str_of(t.base)))
			t.base = NULL;
		return search_tavily(&t, q, out, stop, err);
	}
	error_set(err, ERR_CONFIG, "no web search is configured");
	return error_hint(
		err,
		"The user can store a key (dcode auth set " SEARCH_VENDOR "), "
		"or set search_command of [web] in config.toml.");
}

/* Reads [web] allow_hosts. A list that cannot be read allows no host. */
static void read_hosts(const struct run *r, const char *const **list, size_t *n)
{
	struct error ignored = { 0 };

	*n = 0;
	if (settings_list(r->app->settings, NULL, "web.allow_hosts", list, n,
			  &ignored) < 0)
		*n = 0;
}

static bool allows_host(void *arg, const char *host)
{
	const char *const *list = NULL;
	size_t n;

	read_hosts(arg, &list, &n);
	return web_url_matches(host, list, n);
}

static bool allows_private(void *arg)
{
	const struct run *r = arg;
	struct error ignored = { 0 };
	bool allowed = false;

	return settings_bool(r->app->settings, NULL, "web.allow_private",
			     &allowed, &ignored) == 0 &&
	       allowed;
}

/* The callbacks read the settings on each call, because /reload may change
 * them. */
void run_web_attach(struct run *r)
{
	r->web = (struct web){ .http = app_http(r->app),
			       .allows_host = allows_host,
			       .allows_private = allows_private,
			       .search = answer_query,
			       .arg = r };
	r->agent.web = &r->web;
}

bool run_web_has(const struct tool *tool)
{
	return tool == &tool_fetch_url || tool == &tool_web_search;
}

bool run_web_offers(const struct run *r, const struct tool *tool)
{
	const char *const *list = NULL;
	size_t n;

	if (tool == &tool_web_search)
		return (r->interactive || r->options.yes ||
			search_is_allowed(r)) &&
		       search_is_set(r);
	if (r->interactive || r->options.yes)
		return true;
	read_hosts(r, &list, &n);
	return n > 0;
}

/* Also true for a call that the tool will refuse: it needs no question to the
 * user. */
bool run_web_allows(const struct run *r, const struct approval *a)
{
	const char *url;

	if (a->tool == &tool_web_search)
		return search_is_allowed(r);
	url = json_string(a->args, "url", "");
	/* the tool tells the model why it refuses the address */
	return fetch_is_allowed(&r->web, url) || fetch_is_refused(&r->web, url);
}

void run_web_place(const struct run *r, const struct approval *a,
		   struct buf *place)
{
	buf_adds(place, "the web, from this machine");
	if (a->tool == &tool_web_search) {
		buf_adds(place, ", by ");
		add_search_name(r, place);
	}
}

void run_web_refuse(const struct approval *a, struct buf *reason)
{
	bool searches = a->tool == &tool_web_search;

	buf_addf(reason,
		 "%s is not permitted in non-interactive mode%s. Tell the user "
		 "to run with --auto-approve, or to %s of config.toml.",
		 a->tool->spec.name, searches ? "" : " for this host",
		 searches ? "set allow_search in [web]"
			  : "name the host in [web] allow_hosts");
}

enum { LINES_MAX = 1 << 14 };

/* Warns if a server may run code of the project that its entry does not name.
 * The user's approval of the entry did not cover that code. */
static void warn_project_code(const struct run *r, const struct mcp_entry *e)
{
	struct buf line = BUF_INIT(LINES_MAX);
	struct servers_claim claim;
	struct buf runners = BUF_INIT(LINES_MAX);

	servers_claim(&claim, e, r->app->settings);
	trust_add_runners(claim.entry.words, claim.entry.n_words, &runners);
	if (!e->project)
		buf_addf(&line, "starts in %s, as its \"cwd\" in %s says",
			 settings_cwd(r->app->settings), e->file);
	if (runners.len)
		buf_addf(
			&line,
			"%s%s: the code that it runs may come from the project",
			line.len ? "; it runs " : "runs ", runners.ptr);
	if (e->project && !trust_names_file(&claim.entry))
		buf_addf(&line,
			 "%s its command does not name a project file, so "
			 "dcode does not ask again when project files change",
			 line.len ? ";" : "is allowed, and");
	if (line.len)
		app_warn("MCP server %s %s", e->name, line.ptr);
	servers_claim_release(&claim);
	buf_release(&runners);
	buf_release(&line);
}

/* Warns about risky entries before their servers start. */
static void warn_entries(const struct run *r)
{
	for (size_t i = 0; i < mcp_count(r->mcp); i++) {
		const struct mcp_entry *e =
			mcp_server_entry(mcp_server(r->mcp, i));

		if (e->refused || e->wrong)
			continue;
		if (e->ignored)
			app_warn("MCP server %s: %s in %s is not used: see "
				 "allow and call_timeout of [mcp] in "
				 "config.toml",
				 e->name, e->ignored, e->file);
		if (mcp_entry_in_project(e))
			warn_project_code(r, e);
	}
}

/* Warns about patterns in [mcp] allow that match none of the servers. */
static void warn_unmatched_allow(const struct run *r)
{
	const char *const *list = NULL;
	struct error ignored = { 0 };
	size_t n = 0;

	(void)settings_list(r->app->settings, NULL, "mcp.allow", &list, &n,
			    &ignored);
	for (size_t i = 0; i < n; i++)
		if (!mcp_allow_means(r->mcp, list[i]))
			app_warn("[mcp] allow: \"%s\" does not match any of "
				 "your servers. Write SERVER/TOOL, for example "
				 "\"*/*\"",
				 list[i]);
}

int run_mcp_begin(struct run *r, struct error *err)
{
	if (r->mcp || r->options.no_mcp)
		return 0;
	if (servers_open(r->app, r->options.mcp_config, true, &r->mcp, err) < 0)
		return -1;
	if (!r->mcp)
		return 0;
	if (!r->options.quiet) {
		warn_entries(r);
		warn_unmatched_allow(r);
	}
	mcp_start(r->mcp, false);
	return 0;
}

/* Appends a line for each server that failed to start since the last call. */
static void add_failed(const struct run *r, struct buf *out)
{
	for (size_t i = 0; i < mcp_count(r->mcp); i++) {
		struct mcp_server *s = mcp_server(r->mcp, i);
		struct error why;

		if (mcp_server_failed(s, &why))
			buf_addf(out, "MCP server %s is left out: %s\n",
				 mcp_server_entry(s)->name, why.message);
	}
}

static void warn_failed(const struct run *r)
{
	struct buf lines = BUF_INIT(LINES_MAX);
	struct str rest;
	struct str line;

	add_failed(r, &lines);
	rest = buf_str(&lines);
	while (str_split(&rest, '\n', &line))
		app_warn("%.*s", (int)line.len, line.ptr);
	buf_release(&lines);
}

/* With -q, does not print which servers failed. */
int run_mcp_wait(struct run *r, const struct stop *stop, struct error *err)
{
	if (!r->mcp)
		return 0;
	if (mcp_wait(r->mcp, stop, err) < 0)
		return -1;
	/* mcp_rows() is set if the servers were taken over from the previous
	 * run */
	if (!mcp_rows(r->mcp) && mcp_update(r->mcp, NULL) && !r->options.quiet)
		warn_failed(r);
	return 0;
}

/* Sends the warnings as events, so that every screen can show them. */
static void show_warnings(struct run *r, const struct buf *lines)
{
	struct str rest = buf_str(lines);
	struct str line;

	while (str_split(&rest, '\n', &line))
		show_event(&r->agent.ui, r->app->mask,
			   &(struct agent_event){ .kind = EVENT_WARNING,
						  .text = line });
}

/* Appends notes about tools that mcp.c does not offer. */
static void add_notes(struct run *r, struct buf *out)
{
	char *line;

	while ((line = mcp_take_note(r->mcp))) {
		buf_addf(out, "%s\n", line);
		free(line);
	}
}

bool run_mcp_update(struct run *r)
{
	struct buf lines = BUF_INIT(LINES_MAX);
	bool changed = mcp_update(r->mcp, &lines);

	if (changed)
		r->agent.more = mcp_rows(r->mcp);
	if (!r->options.quiet)
		add_failed(r, &lines);
	add_notes(r, &lines);
	show_warnings(r, &lines);
	buf_release(&lines);
	return changed;
}

/* agent.request_sent callback: starts the servers whose tools are cached. The
 * first request did not have to wait for them. */
static void on_request_sent(void *arg)
{
	struct run *r = arg;

	mcp_start(r->mcp, true);
}

void run_mcp_attach(struct run *r)
{
	if (!r->mcp)
		return;
	r->agent.more = mcp_rows(r->mcp);
	r->agent.request_sent = on_request_sent;
	r->agent.tools_arg = r;
}

void run_mcp_end(struct run *r)
{
	mcp_free(r->mcp);
	r->mcp = NULL;
}

const struct tool *const *run_mcp_tools(const struct run *r)
{
	return r->mcp ? mcp_rows(r->mcp) : NULL;
}

/* An [mcp] allow that cannot be read allows nothing. */
bool run_mcp_allows(const struct run *r, const struct tool *tool)
{
	const char *const *list = NULL;
	struct error ignored = { 0 };
	size_t n = 0;

	if (!r->mcp || settings_list(r->app->settings, NULL, "mcp.allow", &list,
				     &n, &ignored) < 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (mcp_allow_matches(r->mcp, list[i], tool))
			return true;
	return false;
}

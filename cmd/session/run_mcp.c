/* run_mcp.c - the MCP servers of a run. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/run_mcp.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cmd/mcp/servers.h"

enum { LINES_MAX = 1 << 14 };

/* What a server may run of the project beside the files that its entry names,
 * which is all that the question about it has covered. */
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
			 "%s its command names no file, so changes to the "
			 "project run without another question",
			 line.len ? ";" : "is allowed, and");
	if (line.len)
		app_warn("MCP server %s %s", e->name, line.ptr);
	servers_claim_release(&claim);
	buf_release(&runners);
	buf_release(&line);
}

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

/* Patterns of before that would be a guess now. */
static void warn_unmeant(const struct run *r)
{
	const char *const *list = NULL;
	struct error ignored = { 0 };
	size_t n = 0;

	(void)settings_list(r->app->settings, NULL, "mcp.allow", &list, &n,
			    &ignored);
	for (size_t i = 0; i < n; i++)
		if (!mcp_allow_means(r->mcp, list[i]))
			app_warn("allow of [mcp]: \"%s\" matches none of your "
				 "servers. Write SERVER/TOOL, for example "
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
		warn_unmeant(r);
	}
	mcp_start(r->mcp, false);
	return 0;
}

/* A line for each server whose start has failed since the last time. */
static void add_failed(const struct run *r, struct buf *out)
{
	for (size_t i = 0; i < mcp_count(r->mcp); i++) {
		struct mcp_server *s = mcp_server(r->mcp, i);
		struct buf line = BUF_INIT(LINES_MAX);
		struct error why;

		if (mcp_server_failed(s, &why)) {
			mask_text(r->app->mask, str_of(why.message), &line);
			buf_addf(out, "MCP server %s is left out: %s\n",
				 mcp_server_entry(s)->name,
				 line.len ? line.ptr : "");
		}
		buf_release(&line);
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

int run_mcp_wait(struct run *r, const struct stop *stop, struct error *err)
{
	if (!r->mcp)
		return 0;
	if (mcp_wait(r->mcp, stop, err) < 0)
		return -1;
	/* Of servers that came from the run before the rows are in use. */
	if (!mcp_rows(r->mcp) && mcp_update(r->mcp, NULL) && !r->options.quiet)
		warn_failed(r);
	return 0;
}

static void announce(struct run *r, const struct buf *lines)
{
	struct str rest = buf_str(lines);
	struct str line;

	while (str_split(&rest, '\n', &line))
		r->agent.ui.event(r->agent.ui.arg,
				  &(struct agent_event){ .kind = EVENT_WARNING,
							 .text = line });
}

static void add_left_out(struct run *r, struct buf *out)
{
	char *line;

	while ((line = mcp_take_note(r->mcp))) {
		buf_addf(out, "%s\n", line);
		free(line);
	}
}

/* Lists that changed since the last request go with the next one. */
static int update_tools(void *arg, const struct stop *stop, struct error *err)
{
	struct run *r = arg;
	struct buf lines = BUF_INIT(LINES_MAX);
	int rc = 0;

	(void)stop;
	if (mcp_update(r->mcp, &lines)) {
		r->agent.more = mcp_rows(r->mcp);
		rc = run_offer_tools(r, err);
	}
	if (!r->options.quiet)
		add_failed(r, &lines);
	add_left_out(r, &lines);
	announce(r, &lines);
	buf_release(&lines);
	return rc;
}

/* Servers whose tools were known start only now: the first request has not
 * waited for them. */
static void request_sent(void *arg)
{
	struct run *r = arg;

	mcp_start(r->mcp, true);
}

void run_mcp_attach(struct run *r)
{
	if (!r->mcp)
		return;
	r->agent.more = mcp_rows(r->mcp);
	r->agent.update_tools = update_tools;
	r->agent.request_sent = request_sent;
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

/* mcp.c - all servers of a run, and their tools as the model sees them. */
/* SPDX-License-Identifier: MIT */
/* mcp_start() starts the servers: each on a thread of its own in server.c,
 * which opens the link with open_link(). child.c runs a program, remote.c
 * connects to an address. The second half makes the rows: one for each tool of
 * all servers, as the model sees it. */
#include "mcp/mcp.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "mcp/name.h"
#include "mcp/result.h"
#include "model/tool_set.h"

enum {
	PROGRESS_MAX = 512,   /* bytes of one progress line */
	PROGRESS_MS = 200,    /* minimum time between two progress lines */
	PROGRESS_LINES = 500, /* progress lines per call */
};

struct mcp_row { /* one tool; `tool` must be the first member: see row_of() */
	struct tool tool;
	struct mcp_server *server;
	struct tool_server brought;
	char name[MCP_SHOWN_NAME];
	/* the server's own name for the tool; owned, like all below */
	char *remote;
	char *description;
	char *schema;
	char *hook_name;
};

struct mcp {
	struct mcp_entries entries;
	struct mcp_host host;
	char *cache_dir; /* owned */
	struct tool_notes *notes;
	struct mcp_server **servers;
	struct mcp_row **rows;
	const struct tool **list; /* NULL-terminated */
	size_t n_rows;
	bool made;
};

static const struct mcp_row *row_of(const struct tool *tool)
{
	return (const struct mcp_row *)tool;
}

struct mcp_live { /* the progress lines of one running call */
	const struct tool_env *env;
	int64_t shown; /* clock_ms() of the last line shown */
	int lines;
};

/* Shows the server's progress message. Attack: a server sends a million of
 * them, or control sequences. So they are rate-limited and sanitized. */
static void show_progress(void *arg, const cJSON *params)
{
	const cJSON *done = json_get(params, "progress");
	const cJSON *total = json_get(params, "total");
	const char *words = json_string(params, "message", "");
	struct mcp_live *live = arg;
	struct buf line = BUF_INIT(PROGRESS_MAX);
	struct buf clean = BUF_INIT(4 * PROGRESS_MAX);

	if (live->lines >= PROGRESS_LINES ||
	    clock_ms() < live->shown + PROGRESS_MS)
		return;
	live->shown = clock_ms();
	live->lines++;
	if (cJSON_IsNumber(done))
		buf_addf(&line, "%g", done->valuedouble);
	if (cJSON_IsNumber(done) && cJSON_IsNumber(total))
		buf_addf(&line, " of %g", total->valuedouble);
	if (words[0])
		buf_addf(&line, "%s%s", line.len ? ": " : "", words);
	line.len = str_utf8_prefix(buf_str(&line));
	sanitize_line(buf_str(&line), &clean);
	buf_addc(&clean, '\n');
	if (clean.len > 1)
		live->env->output(live->env->arg, buf_str(&clean));
	buf_release(&line);
	buf_release(&clean);
}

/* Runs a tool of a server. This is the run function of every row. */
static int run_tool(const struct tool_env *env, const cJSON *args,
		    struct buf *out, struct error *err)
{
	const struct mcp_row *row = row_of(env->tool);
	struct mcp_live live = { .env = env };
	const struct mcp_call call = {
		.tool = row->remote,
		.args = args,
		.progress = env->output ? show_progress : NULL,
		.arg = &live,
	};
	cJSON *result = NULL;
	bool failed;

	if (mcp_server_call(row->server, &call, &result, env->stop, err) < 0) {
		/* to callers, ERR_GONE would mean a lost sandbox */
		if (err->code == ERR_GONE)
			err->code = ERR_NETWORK;
		return -1;
	}
	failed = mcp_result_read(result, env->media, out);
	cJSON_Delete(result);
	return failed ? error_set(err, ERR_REMOTE, "the tool failed") : 0;
}

struct mcp *mcp_new(struct mcp_entries *entries, const struct mcp_host *host)
{
	struct mcp *m = xcalloc(1, sizeof(*m));

	m->entries = *entries;
	*entries = (struct mcp_entries){ 0 };
	m->host = *host;
	m->host.cache_dir = m->cache_dir = xstrdup(host->cache_dir);
	m->notes = tool_notes_new();
	m->servers = xcalloc(m->entries.n + 1, sizeof(struct mcp_server *));
	for (size_t i = 0; i < m->entries.n; i++) {
		m->servers[i] = mcp_server_new(&m->entries.list[i], &m->host);
		mcp_server_recall(m->servers[i]);
	}
	return m;
}

static void free_rows(struct mcp *m)
{
	for (size_t i = 0; i < m->n_rows; i++) {
		free(m->rows[i]->remote);
		free(m->rows[i]->description);
		free(m->rows[i]->schema);
		free(m->rows[i]->hook_name);
		free(m->rows[i]);
	}
	free(m->rows);
	free(m->list);
	m->rows = NULL;
	m->list = NULL;
	m->n_rows = 0;
}

static void *free_server(void *arg)
{
	mcp_server_free(arg);
	return NULL;
}

/* Frees the servers in parallel: each may take seconds to end or be killed. */
static void free_servers(struct mcp *m)
{
	pthread_t threads[MCP_SERVERS_MAX];
	sigset_t all;
	sigset_t before;
	size_t n = 0;

	sigfillset(&all); /* signals must be handled by the other threads */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (size_t i = 0; i < m->entries.n; i++)
		mcp_server_leave(m->servers[i]);
	for (size_t i = 0; i < m->entries.n; i++) {
		if (n == MCP_SERVERS_MAX || i + 1 == m->entries.n ||
		    pthread_create(&threads[n], NULL, free_server,
				   m->servers[i]) != 0)
			mcp_server_free(m->servers[i]);
		else
			n++;
	}
	while (n)
		(void)pthread_join(threads[--n], NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void mcp_free(struct mcp *m)
{
	if (!m)
		return;
	free_servers(m);
	free_rows(m);
	tool_notes_free(m->notes);
	free(m->servers);
	free(m->cache_dir);
	mcp_entries_release(&m->entries);
	free(m);
}

size_t mcp_count(const struct mcp *m)
{
	return m->entries.n;
}

struct mcp_server *mcp_server(const struct mcp *m, size_t i)
{
	return m->servers[i];
}

void mcp_start(struct mcp *m, bool all)
{
	for (size_t i = 0; i < m->entries.n; i++)
		if (all || !mcp_server_is_known(m->servers[i]))
			mcp_server_start(m->servers[i]);
}

int mcp_wait(struct mcp *m, const struct stop *stop, struct error *err)
{
	for (size_t i = 0; i < m->entries.n; i++) {
		struct mcp_status s;

		mcp_server_status(m->servers[i], &s);
		if (s.state == MCP_STARTING &&
		    mcp_server_wait(m->servers[i], stop, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- rows ---- */

struct mcp_naming { /* state while the tools of one server are added */
	struct mcp *mcp;
	struct mcp_server *server;
	size_t surplus; /* tools beyond MCP_ALL_TOOLS_MAX */
};

static bool is_taken(void *arg, const char *name)
{
	const struct mcp *m = arg;

	if (tool_find(name))
		return true;
	for (size_t i = 0; i < m->n_rows; i++)
		if (!strcmp(m->rows[i]->name, name))
			return true;
	return false;
}

/* Returns the tool's description, with a sentence that says where the tool
 * runs. Owned. */
static char *describe_tool(const struct mcp_entry *e, const struct mcp_tool *t)
{
	const char *text = t->description;

	return xasprintf("%s%s(Tool of the MCP server %s, %s.)", text,
			 text[0] ? "\n" : "", e->name,
			 e->kind == MCP_STDIO
				 ? "which runs on the user's machine"
				 : "elsewhere on the network");
}

/* Adds a note for the user about tools of a server that are not offered to the
 * model. */
static void note_left_out(struct mcp *m, const struct mcp_naming *naming)
{
	const char *name = mcp_server_entry(naming->server)->name;
	struct mcp_status st;
	char *line;

	mcp_server_status(naming->server, &st);
	if (st.left_out) {
		line = xasprintf("MCP server %s: %zu of its tools %s left out: "
				 "%s%s",
				 name, st.left_out,
				 st.left_out == 1 ? "is" : "are", st.lost,
				 st.left_out > 5 ? " ..." : "");
		tool_notes_add(m->notes, line, line);
		free(line);
	}
	if (naming->surplus) {
		line = xasprintf("MCP server %s: %zu of its tools %s left out: "
				 "all servers together offer more than %d",
				 name, naming->surplus,
				 naming->surplus == 1 ? "is" : "are",
				 MCP_ALL_TOOLS_MAX);
		tool_notes_add(m->notes, line, line);
		free(line);
	}
}

/* Adds a row for a server's tool, under a name that no other tool has. */
static void add_row(void *arg, const struct mcp_tool *t)
{
	static const struct tool_arg none[] = { { 0 } };
	struct mcp_naming *naming = arg;
	struct mcp *m = naming->mcp;
	const struct mcp_entry *e = mcp_server_entry(naming->server);
	char server[MCP_SHOWN_NAME];
	struct mcp_row *row;

	if (m->n_rows >= MCP_ALL_TOOLS_MAX) {
		naming->surplus++;
		return;
	}
	row = xcalloc(1, sizeof(*row));
	row->server = naming->server;
	row->brought = (struct tool_server){ e->name, m->notes };
	row->remote = xstrdup(t->name);
	row->description = describe_tool(e, t);
	row->schema = xstrdup(t->schema);
	mcp_clean_name(e->name, server);
	row->hook_name = xasprintf("mcp__%s__%s", server, t->name);
	mcp_name(e->name, t->name, is_taken, m, row->name);
	row->tool = (struct tool){
		.spec = { row->name, row->description, row->schema,
			  &row->brought },
		.args = none,
		.hook_name = row->hook_name,
		.flags = TOOL_FOREIGN | TOOL_EVICTS,
		.run = run_tool,
	};
	/* A repository's server is not trusted to declare a tool read-only. */
	row->tool.flags |= t->reads && !e->project ? TOOL_READS : TOOL_ASKS;
	m->rows = xrealloc(m->rows, m->n_rows + 1, sizeof(struct mcp_row *));
	m->rows[m->n_rows++] = row;
}

/* Rebuilds the rows from the tool lists of all servers. */
static void make_rows(struct mcp *m)
{
	free_rows(m);
	for (size_t i = 0; i < m->entries.n; i++) {
		struct mcp_naming naming = { m, m->servers[i], 0 };

		mcp_server_each_tool(m->servers[i], add_row, &naming);
		note_left_out(m, &naming);
	}
	m->list = xcalloc(m->n_rows + 1, sizeof(struct tool *));
	for (size_t i = 0; i < m->n_rows; i++)
		m->list[i] = &m->rows[i]->tool;
	m->made = true;
}

bool mcp_update(struct mcp *m, struct buf *changed)
{
	bool any = !m->made;

	for (size_t i = 0; i < m->entries.n; i++) {
		struct mcp_status s;

		if (!mcp_server_changed(m->servers[i]))
			continue;
		any = true;
		mcp_server_status(m->servers[i], &s);
		if (changed && m->made)
			buf_addf(changed,
				 "MCP server %s changed its tools (now %zu)\n",
				 m->entries.list[i].name, s.tools);
	}
	if (any)
		make_rows(m);
	return any;
}

char *mcp_take_note(struct mcp *m)
{
	return tool_notes_take(m->notes);
}

const struct tool *const *mcp_rows(const struct mcp *m)
{
	return m->list;
}

struct mcp_server *mcp_server_of(const struct tool *tool)
{
	return tool->run == run_tool ? row_of(tool)->server : NULL;
}

const char *mcp_remote_name(const struct tool *tool)
{
	return row_of(tool)->remote;
}

/* mcp.c - all servers of a run, and their tools as the model sees them. */
/* SPDX-License-Identifier: MIT */
/* mcp_start() starts the servers: each on a thread of its own in server.c,
 * which opens the link with open_link(): link.c runs a program, remote.c
 * connects to an address. mcp_update() makes the rows: one for each tool of
 * all servers, as the model sees it. A call's answer becomes text in
 * mcp_result_read(). */
#include "mcp/mcp.h"

#include <fnmatch.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "model/message.h"
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

/* Names of MCP tools as models see them. */

enum { DIGITS = 8, WHOLE_MAX = 1024 };

/* Appends text with '_' for characters that vendors reject. True if there were
 * none. */
static bool copy_clean(const char *text, char room[MCP_SHOWN_NAME], size_t *n)
{
	static const char taken[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789_-";
	bool whole = true;

	for (; *text && *n < MCP_SHOWN_NAME - 1; text++) {
		bool good = strchr(taken, *text) != NULL;

		room[(*n)++] = good ? *text : '_';
		whole &= good;
	}
	room[*n] = '\0';
	return whole && !*text;
}

/* Replaces the end of the name by a hash of server and tool. */
static void add_hash(const char *server, const char *tool,
		     char room[MCP_SHOWN_NAME])
{
	unsigned char sum[crypto_hash_sha256_BYTES];
	struct buf both = BUF_INIT(WHOLE_MAX);
	size_t n = strlen(room);

	buf_adds(&both, server);
	buf_addc(&both, '\0');
	buf_adds(&both, tool);
	crypto_hash_sha256(sum, (const unsigned char *)both.ptr, both.len);
	buf_release(&both);
	if (n > MCP_SHOWN_NAME - 1 - DIGITS - 1)
		n = MCP_SHOWN_NAME - 1 - DIGITS - 1;
	room[n++] = '_';
	for (size_t i = 0; i < DIGITS / 2; i++)
		n += (size_t)snprintf(room + n, 3, "%02x", sum[i]);
}

/* Copies a server's name and replaces the characters that vendors reject by
 * '_'. Used in the names above, and in mcp__SERVER__TOOL for hooks and
 * subagents. */
static void mcp_clean_name(const char *text, char room[MCP_SHOWN_NAME])
{
	size_t n = 0;

	(void)copy_clean(text, room, &n);
}

void mcp_name(const char *server, const char *tool,
	      bool (*taken)(void *arg, const char *name), void *arg,
	      char room[MCP_SHOWN_NAME])
{
	size_t n = 0;
	bool whole = copy_clean(server, room, &n);

	whole &= copy_clean("_", room, &n);
	whole &= copy_clean(tool, room, &n);
	if (!whole || taken(arg, room))
		add_hash(server, tool, room);
}

/* Turns the result of a tool call into text for the model. */

enum {
	ITEMS_MAX = 4096, /* parts per result */
	MEDIA_MAX = 20,
	WORD_MAX = 200, /* bytes of a name or type in a note */
};

static void begin_item(struct buf *out)
{
	if (out->len && out->ptr[out->len - 1] != '\n')
		buf_addc(out, '\n');
}

static void add_word(const char *text, struct buf *out)
{
	struct str word = { text, strnlen(text, WORD_MAX) };

	word.len = str_utf8_prefix(word);
	sanitize_line(word, out);
}

static void add_text(const char *text, struct buf *out)
{
	begin_item(out);
	sanitize_text(str_of(text), out);
}

/* Approximate size in bytes of base64 data once decoded. */
static long long decoded_size(const char *data)
{
	return (long long)strlen(data) / 4 * 3;
}

static void note_hidden(const char *kind, const cJSON *item, const char *data,
			struct buf *out)
{
	begin_item(out);
	buf_addf(out, "[%s ", kind);
	add_word(json_string(item, "mimeType", "of unknown type"), out);
	buf_addf(out, ", %lld bytes: not shown]", decoded_size(data));
}

static bool show_image(const char *data, struct message *media)
{
	struct buf bytes = BUF_INIT(MEDIA_MAX_BYTES);
	bool shown = media && media->n < MEDIA_MAX &&
		     json_decode_base64(&bytes, str_of(data)) && !bytes.over &&
		     message_add_media(media, "image", &bytes);

	buf_release(&bytes);
	return shown;
}

static void add_image(const cJSON *item, struct message *media, struct buf *out)
{
	const char *data = json_string(item, "data", "");

	if (!show_image(data, media)) {
		note_hidden("image", item, data, out);
		return;
	}
	begin_item(out);
	buf_adds(out, "[image: shown after this result]");
}

/* Appends a line for a resource that the result only links to. */
static void add_link(const cJSON *item, struct buf *out)
{
	const char *type = json_string(item, "mimeType", NULL);
	const char *about = json_string(item, "description", NULL);

	begin_item(out);
	buf_adds(out, "[resource ");
	add_word(json_string(item, "name", ""), out);
	buf_adds(out, " <");
	sanitize_line(str_of(json_string(item, "uri", "")), out);
	buf_addc(out, '>');
	if (type) {
		buf_addc(out, ' ');
		add_word(type, out);
	}
	if (about) {
		buf_adds(out, ": ");
		add_word(about, out);
	}
	buf_addc(out, ']');
}

/* Appends an embedded resource: text, an image, or a note about it. */
static void add_resource(const cJSON *item, struct message *media,
			 struct buf *out)
{
	const cJSON *resource = json_get(item, "resource");
	const char *text = json_string(resource, "text", NULL);
	const char *blob = json_string(resource, "blob", NULL);

	add_link(resource, out);
	if (text)
		add_text(text, out);
	else if (blob && show_image(blob, media))
		buf_adds(out, "\n[shown after this result]");
	else if (blob)
		note_hidden("resource", resource, blob, out);
}

/* Appends one part of the result, by its type. */
static void add_item(const cJSON *item, struct message *media, struct buf *out)
{
	const char *type = json_string(item, "type", "");

	if (!strcmp(type, "text")) {
		add_text(json_string(item, "text", ""), out);
	} else if (!strcmp(type, "image")) {
		add_image(item, media, out);
	} else if (!strcmp(type, "audio")) {
		note_hidden("audio", item, json_string(item, "data", ""), out);
	} else if (!strcmp(type, "resource_link")) {
		add_link(item, out);
	} else if (!strcmp(type, "resource")) {
		add_resource(item, media, out);
	} else {
		begin_item(out);
		buf_adds(out, "[content of the unknown type ");
		add_word(type, out);
		buf_addc(out, ']');
	}
}

/* Appends structuredContent if the result has no text. Most servers repeat it
 * as text, for clients that know only text. */
static void add_structured(const cJSON *result, struct buf *out)
{
	const cJSON *value = json_get(result, "structuredContent");

	if (out->len || !value)
		return;
	json_print(out, value);
}

bool mcp_result_read(const cJSON *result, struct message *media,
		     struct buf *out)
{
	const cJSON *list = json_get(result, "content");
	const cJSON *item;
	int n = 0;

	if (!cJSON_IsArray(list))
		list = NULL;
	cJSON_ArrayForEach (item, list)
		if (n++ < ITEMS_MAX)
			add_item(item, media, out);
	if (n > ITEMS_MAX)
		buf_addf(out, "\n[%d more parts are left out]", n - ITEMS_MAX);
	add_structured(result, out);
	if (!out->len)
		buf_adds(out, "(the tool returned nothing)");
	return json_bool(result, "isError", false);
}

/* The servers of a run, and one row for each of their tools. */

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

/* The server's own name for the tool. */
static const char *mcp_remote_name(const struct tool *tool)
{
	return row_of(tool)->remote;
}

/* Matches the patterns of [mcp] allow against the servers' tools. */

/* Attack: a pattern for one server matches the tools of another. If patterns
 * were matched against SERVER_TOOL names, "git_*" would also match every tool
 * of a server git_evil, and of a repository's server that calls itself git. So
 * server and tool are matched separately. A repository's server matches only if
 * the pattern spells out its exact name and the user has no server of that
 * name. */

static bool may_be_meant(const struct mcp_entry *e)
{
	return !e->refused && !e->off && !e->wrong;
}

/* Server names have no slash, so the first one divides "server/tool". */
static bool matches_parts(const char *pattern, const char *slash,
			  const struct mcp_entry *e, const char *tool)
{
	char *server = xstrndup(pattern, (size_t)(slash - pattern));
	bool named = e->project ? !e->own && !strcmp(server, e->name)
				: fnmatch(server, e->name, 0) == 0;

	free(server);
	return named && fnmatch(slash + 1, tool, 0) == 0;
}

/* True if the pattern begins with the server's name as models see it. */
static bool begins_with(const char *pattern, const struct mcp_entry *e)
{
	char name[MCP_SHOWN_NAME];
	size_t n;

	mcp_clean_name(e->name, name);
	n = strlen(name);
	return !strncmp(pattern, name, n) && pattern[n] == '_';
}

/* Returns the one server of the user's own that a pattern without a slash can
 * mean. NULL if there is none or more than one. */
static const struct mcp_entry *find_only(const struct mcp *m,
					 const char *pattern)
{
	const struct mcp_entry *found = NULL;

	for (size_t i = 0; i < mcp_count(m); i++) {
		const struct mcp_entry *e = mcp_server_entry(mcp_server(m, i));

		if (e->project || !may_be_meant(e) || !begins_with(pattern, e))
			continue;
		if (found)
			return NULL;
		found = e;
	}
	return found;
}

bool mcp_allow_means(const struct mcp *m, const char *pattern)
{
	return strchr(pattern, '/') || find_only(m, pattern);
}

bool mcp_allow_matches(const struct mcp *m, const char *pattern,
		       const struct tool *tool)
{
	const struct mcp_server *s = mcp_server_of(tool);
	const char *slash = strchr(pattern, '/');
	const struct mcp_entry *e;

	if (!s)
		return false;
	e = mcp_server_entry(s);
	if (slash)
		return matches_parts(pattern, slash, e, mcp_remote_name(tool));
	return find_only(m, pattern) == e &&
	       fnmatch(pattern, tool->spec.name, 0) == 0;
}

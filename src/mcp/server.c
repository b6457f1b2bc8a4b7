/* server.c - one MCP server of a run: start, calls, restart, end. */
/* SPDX-License-Identifier: MIT */
/*
 * A server starts on its own thread, so that a slow one delays nobody: begin
 * reading at server_begin_start(). What follows is for the callers: state,
 * tools and calls. In struct mcp_server, `lock` guards every field below it. A
 * caller increments `users` while it uses the link, so that the link is not
 * closed during its call.
 *
 * mcp_list_read() reads the server's tools. The server is not trusted, and the
 * model reads what it sends. So all texts are sanitized (clean_text(),
 * clean_schema()), a long description is cut, and a tool that is invalid or too
 * large is left out with a reason (note_lost()).
 */
#include "mcp/server.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "mcp/entry.h"
#include "mcp/link.h"

struct mcp_server {
	const struct mcp_entry *entry;
	const struct mcp_host *host;
	struct cancel cancel; /* stops the thread */
	int started;          /* eventfd: readable once the start has ended */
	pthread_mutex_t lock; /* guards all fields below */
	pthread_t thread;
	bool has_thread;
	bool thread_over;
	enum mcp_state state;
	struct error why;
	struct mcp_link *link;
	unsigned users; /* callers that use the link */
	bool leaving;
	/* list is valid: read from the server in this run, or from the cache */
	bool known;
	bool recalled;
	bool changed; /* list differs from the previous one */
	/* the server announced a change of its list; set on any thread */
	_Atomic bool stale;
	unsigned relists;
	struct mcp_list list;
	struct buf said; /* the server's stderr output before a failed start */
	int64_t began, took, calls, calls_ms;
	int64_t progress; /* last progress token of a call */
	bool untold;      /* a start failed and was not reported yet */
	/* number of starts that have ended; identifies the link that the last
	 * one opened */
	unsigned starts;
	unsigned failures; /* consecutive failed starts */
	int64_t ended;     /* clock_ms() when the last start ended */
};

enum {
	PAGES_MAX = 64,     /* pages of a tool list */
	NO_METHOD = -32601, /* JSON-RPC 2.0 */
	CURSOR_MAX = 4096,  /* bytes */
	STACK = 256 << 10,
};

enum {
	MCP_TOOLS_MAX = 256,            /* per server */
	MCP_NAME_MAX = 256,             /* bytes of a tool's name */
	MCP_DESCRIPTION_MAX = 16 << 10, /* bytes */
	MCP_SCHEMA_MAX = 128 << 10,     /* bytes, per tool */
	MCP_LIST_MAX = 2 << 20,         /* bytes, all tools together */
};

/* The tools of one server, as announced, sanitized. */

enum {
	MOST_LOST = 5, /* tools named in the line about tools left out */
	MOST_LOST_NAME = 80,
};

static void release_tool(struct mcp_tool *t)
{
	free(t->name);
	free(t->description);
	free(t->schema);
}

void mcp_list_release(struct mcp_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		release_tool(&l->items[i]);
	free(l->items);
	free(l->lost);
	*l = (struct mcp_list){ 0 };
}

/* True if the server marks the tool as read-only and does not also mark it as
 * destructive. */
static bool only_reads(const cJSON *item)
{
	const cJSON *notes = json_get(item, "annotations");
	const cJSON *destroys = json_get(notes, "destructiveHint");

	return cJSON_IsTrue(json_get(notes, "readOnlyHint")) &&
	       (!destroys || cJSON_IsFalse(destroys));
}

/* Returns a sanitized copy of at most `most` bytes; owned. A character at the
 * limit is left out as a whole. */
static char *clean_text(const char *text, size_t most)
{
	struct buf clean = BUF_INIT(4 * MCP_DESCRIPTION_MAX);
	struct str raw = { text, strnlen(text, most) };

	raw.len = str_utf8_prefix(raw);
	sanitize_text(raw, &clean);
	return buf_detach(&clean);
}

/* Returns a sanitized copy (owned), or NULL if the text needs no change.
 * Attack: descriptions with control sequences, or with text that people do not
 * see but models read. */
static char *clean_string(const char *text)
{
	char *clean = clean_text(text, MCP_DESCRIPTION_MAX);

	if (strcmp(clean, text) != 0)
		return clean;
	free(clean);
	return NULL;
}

/* Removes enum values that need sanitizing: in a call, a sanitized value would
 * not be the one that the server expects. */
static void clean_values(cJSON *list)
{
	cJSON *item;
	cJSON *next;

	for (item = list->child; item; item = next) {
		char *clean = cJSON_IsString(item)
				      ? clean_string(item->valuestring)
				      : NULL;

		next = item->next;
		if (clean)
			cJSON_Delete(cJSON_DetachItemViaPointer(list, item));
		free(clean);
	}
}

/* True if the member may keep its name. Names of properties always may:
 * tool_schema.h maps them to names that the vendor accepts. */
static bool is_clean_name(const cJSON *parent, const cJSON *item)
{
	char *clean;

	if (!item->string ||
	    (parent->string && !strcmp(parent->string, "properties")))
		return true;
	clean = clean_string(item->string);
	free(clean);
	return !clean;
}

/* Sanitizes the strings of a schema in place. Removes members whose names need
 * sanitizing. */
static void clean_schema(cJSON *node)
{
	cJSON *item;
	cJSON *next;

	for (item = node->child; item; item = next) {
		char *clean;

		next = item->next;
		if (!is_clean_name(node, item)) {
			cJSON_Delete(cJSON_DetachItemViaPointer(node, item));
			continue;
		}
		if (cJSON_IsArray(item) && item->string &&
		    strcmp(item->string, "enum") == 0)
			clean_values(item);
		clean_schema(item);
		if (node->string && !strcmp(node->string, "required"))
			/* these strings name properties: see is_clean_name() */
			continue;
		clean = cJSON_IsString(item) ? clean_string(item->valuestring)
					     : NULL;
		if (!clean)
			continue;
		cJSON_SetValuestring(item, clean);
		free(clean);
	}
}

/* True if the schema may describe an object. One without "type", such as
 * {"anyOf": [...]}, may. */
static bool is_for_object(const cJSON *schema)
{
	const cJSON *type = json_get(schema, "type");
	const cJSON *item;

	if (cJSON_IsString(type))
		return strcmp(type->valuestring, "object") == 0;
	cJSON_ArrayForEach (item, type)
		if (cJSON_IsString(item) &&
		    strcmp(item->valuestring, "object") == 0)
			return true;
	return cJSON_IsObject(schema) && !cJSON_IsArray(type);
}

/* Returns the tool's input schema as JSON, owned. Its type is set to "object"
 * whatever the server sent. NULL: too large. */
static char *copy_schema(const cJSON *item)
{
	const cJSON *schema = json_get(item, "inputSchema");
	const cJSON *properties = json_get(schema, "properties");
	struct buf text = BUF_INIT(MCP_SCHEMA_MAX);
	cJSON *copy;

	if (!is_for_object(schema) ||
	    (properties && !cJSON_IsObject(properties)))
		return xstrdup("{\"type\":\"object\"}");
	copy = cJSON_Duplicate(schema, true);
	cJSON_DeleteItemFromObjectCaseSensitive(copy, "$schema");
	cJSON_DeleteItemFromObjectCaseSensitive(copy, "type");
	cJSON_AddStringToObject(copy, "type", "object");
	clean_schema(copy);
	json_print(&text, copy);
	cJSON_Delete(copy);
	if (!text.over)
		return buf_detach(&text);
	buf_release(&text);
	return NULL;
}

/* False for an empty name, one that is too long, or one with characters that
 * are not visible ASCII. */
static bool is_name(const char *name)
{
	return name[0] && strlen(name) <= MCP_NAME_MAX &&
	       str_is_visible(str_of(name));
}

static bool is_known(const struct mcp_list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->items[i].name, name))
			return true;
	return false;
}

/* Counts a tool that is left out. The names of the first few are recorded for
 * the user. */
static void note_lost(struct mcp_list *l, const char *name, const char *why)
{
	struct buf clean = BUF_INIT(MOST_LOST_NAME);
	char *old = l->lost;

	if (l->left_out++ >= MOST_LOST)
		return;
	sanitize_line(str_of(name[0] ? name : "a tool without a name"), &clean);
	l->lost = xasprintf("%s%s%.*s (%s)", old ? old : "", old ? ", " : "",
			    (int)str_utf8_prefix(buf_str(&clean)),
			    clean.ptr ? clean.ptr : "", why);
	free(old);
	buf_release(&clean);
}

/* Returns why a tool of this name cannot be offered, or NULL if it can. */
static const char *find_fault(const struct mcp_list *l, const char *name)
{
	if (!is_name(name))
		return "invalid name";
	if (is_known(l, name))
		return "the name appears twice";
	return l->n >= MCP_TOOLS_MAX ? "too many tools" : NULL;
}

/* Adds a tool from the server's list, or records why it is left out. */
static void add_tool(struct mcp_list *l, const cJSON *item)
{
	const char *name = json_string(item, "name", "");
	const char *fault = find_fault(l, name);
	struct mcp_tool t = { 0 };
	size_t bytes;

	if (fault) {
		note_lost(l, name, fault);
		return;
	}
	t.name = xstrdup(name);
	t.description = clean_text(json_string(item, "description",
					       json_string(item, "title", "")),
				   MCP_DESCRIPTION_MAX);
	t.schema = copy_schema(item);
	t.reads = only_reads(item);
	bytes = strlen(t.name) + strlen(t.description) +
		(t.schema ? strlen(t.schema) : 0);
	if (!t.schema || l->bytes + bytes > MCP_LIST_MAX) {
		note_lost(l, t.name, "too large");
		release_tool(&t);
		return;
	}
	l->bytes += bytes;
	l->items = xrealloc(l->items, l->n + 1, sizeof(*l->items));
	l->items[l->n++] = t;
}

int mcp_list_read(struct mcp_list *l, const struct mcp_entry *e,
		  const cJSON *result, struct error *err)
{
	const cJSON *list = json_get(result, "tools");
	const cJSON *item;

	if (!cJSON_IsArray(list))
		return error_set(
			err, ERR_PROTOCOL,
			"its answer to tools/list contains no list of tools");
	cJSON_ArrayForEach (item, list)
		if (mcp_entry_offers(e, json_string(item, "name", "")))
			add_tool(l, item);
	return 0;
}

void mcp_list_write(const struct mcp_list *l, struct buf *out)
{
	buf_adds(out, "{\"tools\":[");
	for (size_t i = 0; i < l->n; i++) {
		const struct mcp_tool *t = &l->items[i];

		buf_adds(out, i ? ",{" : "{");
		json_member(out, "name", str_of(t->name));
		buf_addc(out, ',');
		json_member(out, "description", str_of(t->description));
		buf_addf(out, ",\"inputSchema\":%s", t->schema);
		if (t->reads)
			buf_adds(out, ",\"annotations\":{\"readOnlyHint\":"
				      "true}");
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
	if (l->lost) {
		buf_addf(out, ",\"leftOut\":%zu,", l->left_out);
		json_member(out, "lost", str_of(l->lost));
	}
	buf_addc(out, '}');
}

void mcp_list_read_lost(struct mcp_list *l, const cJSON *tree)
{
	const char *lost = json_string(tree, "lost", NULL);
	int64_t n = json_int(tree, "leftOut", 0);

	if (!lost || n <= 0)
		return;
	free(l->lost);
	l->lost = xstrdup(lost);
	l->left_out = (size_t)n;
}

/* One server: its thread, its state and its cached list. */

static char *cache_path(const struct mcp_server *s)
{
	return xasprintf("%s/%s.json", s->host->cache_dir, s->entry->hash);
}

/* Reads the cached tool list. A file that cannot be read is ignored: the
 * server's own list replaces it anyway. */
void mcp_server_recall(struct mcp_server *s)
{
	struct buf text = BUF_INIT(2 * MCP_LIST_MAX);
	struct error ignored = { 0 };
	char *path;
	cJSON *tree = NULL;

	if (!s->host->cache_dir || s->state == MCP_OFF)
		return;
	path = cache_path(s);
	if (path_read(path, &text, &ignored) == 0)
		tree = json_parse(buf_str(&text));
	s->known =
		tree && mcp_list_read(&s->list, s->entry, tree, &ignored) == 0;
	s->recalled = s->known;
	if (s->known)
		mcp_list_read_lost(&s->list, tree);
	cJSON_Delete(tree);
	buf_release(&text);
	free(path);
}

/* Writes the tool list to the cache. Errors are ignored. */
static void cache_list(const struct mcp_server *s, struct str text)
{
	struct error ignored = { 0 };
	char *path;

	if (!s->host->cache_dir)
		return;
	path = cache_path(s);
	if (path_mkdirs(s->host->cache_dir, 0700, &ignored) == 0)
		(void)path_write(path, text, 0600, &ignored);
	free(path);
}

/* Called with the link's lock held. It must not take the server's lock, because
 * the lock order is server, then link. Therefore stale is atomic. */
static void on_notice(void *arg, const char *method)
{
	struct mcp_server *s = arg;

	if (!strcmp(method, "notifications/tools/list_changed"))
		s->stale = true;
}

/* ---- the handshake ---- */

/* True if the server says that it may announce changes of its tool list. dcode
 * ignores all other notifications, so it listens only then. */
static bool says_more(const cJSON *result)
{
	const cJSON *offers = json_get(result, "capabilities");

	return json_bool(json_get(offers, "tools"), "listChanged", false);
}

/* Does the handshake and checks the protocol version. */
static int initialize_link(struct mcp_link *l, const struct stop *stop,
			   struct error *err)
{
	static const char *const versions[] = { MCP_VERSION, "2025-06-18",
						"2025-03-26", "2024-11-05" };
	struct jsonrpc_ask ask = { .method = "initialize",
				   .params = str_of(MCP_INITIALIZE),
				   .what = "initialize",
				   .timeout_ms = INT32_MAX,
				   .lasting = true };
	cJSON *result = NULL;
	const char *version;
	int rc = l->ops->request(l, &ask, &result, stop, err);

	if (rc < 0)
		return -1;
	version = json_string(result, "protocolVersion", "");
	rc = error_set(err, ERR_PROTOCOL,
		       "it uses protocol version \"%.40s\", and dcode supports "
		       "%s to " MCP_VERSION,
		       str_is_visible(str_of(version)) ? version : "?",
		       versions[3]);
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		if (!strcmp(version, versions[i]))
			rc = 0;
	if (rc == 0) {
		*err = (struct error){ 0 };
		l->ops->set_version(l, version);
		l->ops->notify(l, "notifications/initialized", STR("{}"));
		if (says_more(result))
			l->ops->listen(l);
	}
	cJSON_Delete(result);
	return rc;
}

/* Reads one page of the tool list. *cursor is the page to read and is set to
 * the next page (owned), or to NULL after the last page. */
static int list_page(struct mcp_server *s, struct mcp_link *l,
		     struct mcp_list *list, char **cursor,
		     const struct stop *stop, struct error *err)
{
	struct buf params = BUF_INIT(2 * CURSOR_MAX);
	struct jsonrpc_ask ask = { .method = "tools/list",
				   .what = "tools/list",
				   .timeout_ms = INT32_MAX };
	cJSON *result = NULL;
	const char *next;
	int rc;

	buf_addc(&params, '{');
	if (*cursor)
		json_member(&params, "cursor", str_of(*cursor));
	buf_addc(&params, '}');
	ask.params = buf_str(&params);
	rc = l->ops->request(l, &ask, &result, stop, err);
	if (rc == 0)
		rc = mcp_list_read(list, s->entry, result, err);
	else if (ask.error_code == NO_METHOD)
		/* an error answer "no such method": the server has no tools */
		rc = 0;
	free(*cursor);
	next = json_string(result, "nextCursor", "");
	*cursor = next[0] && strlen(next) <= CURSOR_MAX ? xstrdup(next) : NULL;
	cJSON_Delete(result);
	buf_release(&params);
	return rc;
}

/* Reads all pages of the tool list. */
static int list_tools(struct mcp_server *s, struct mcp_link *l,
		      struct mcp_list *list, const struct stop *stop,
		      struct error *err)
{
	char *cursor = NULL;
	int rc = list_page(s, l, list, &cursor, stop, err);

	for (int page = 1; rc == 0 && cursor; page++) {
		if (page == PAGES_MAX || list->left_out > MCP_TOOLS_MAX)
			break;
		rc = list_page(s, l, list, &cursor, stop, err);
	}
	free(cursor);
	return rc;
}

/* True if both lists have the same tools with the same contents. */
static bool is_same(const struct mcp_list *a, const struct mcp_list *b)
{
	struct buf one = BUF_INIT(4 * MCP_LIST_MAX);
	struct buf other = BUF_INIT(4 * MCP_LIST_MAX);
	bool same;

	mcp_list_write(a, &one);
	mcp_list_write(b, &other);
	same = str_eq(buf_str(&one), buf_str(&other));
	buf_release(&one);
	buf_release(&other);
	return same;
}

/* Stores the new list and takes ownership of its contents. Writes it to the
 * cache if it differs from the old one. */
static void store_list(struct mcp_server *s, struct mcp_list *list)
{
	struct buf text = BUF_INIT(4 * MCP_LIST_MAX);
	bool same;

	pthread_mutex_lock(&s->lock);
	same = s->known && is_same(&s->list, list);
	s->changed |= !same;
	s->recalled = false;
	if (!same || !s->known)
		mcp_list_write(list, &text);
	mcp_list_release(&s->list);
	s->list = *list;
	*list = (struct mcp_list){ 0 };
	s->known = true;
	pthread_mutex_unlock(&s->lock);
	if (text.len)
		cache_list(s, buf_str(&text));
	buf_release(&text);
}

/* ---- the thread of the server ---- */

/* Opens a link to the program or the address of the entry. */
static struct mcp_link *open_link(struct mcp_server *s, struct error *err)
{
	const struct mcp_link_setup setup = {
		.entry = s->entry,
		.settings = s->host->settings,
		.http = s->host->http,
		.cwd = s->host->cwd,
		.notice = on_notice,
		.arg = s,
		.token = s->host->token,
		.scope = s->host->scope,
		.token_arg = s->host->arg,
	};

	return s->entry->kind == MCP_STDIO ? mcp_child_open(&setup, err)
					   : mcp_remote_open(&setup, err);
}

static struct mcp_link *open_if_allowed(struct mcp_server *s, struct error *err)
{
	if (s->host->may_start(s->host->arg, s->host->settings, s->entry))
		return open_link(s, err);
	error_set(err, ERR_POLICY,
		  "its entry, or a project file that it names, has changed "
		  "since you allowed it");
	return NULL;
}

/* Wakes the threads that wait for the start, whether it succeeded or not. */
static void server_signal_started(const struct mcp_server *s)
{
	uint64_t one = 1;

	(void)!io_write(s->started, &one, sizeof(one));
}

/* Records how the start ended. l: the open link, or NULL with err. */
static void end_start(struct mcp_server *s, struct mcp_link *l,
		      const struct error *err)
{
	pthread_mutex_lock(&s->lock);
	s->took = clock_ms() - s->began;
	s->link = l;
	s->starts++;
	s->state = l ? MCP_READY : MCP_FAILED;
	s->why = l ? (struct error){ 0 } : *err;
	s->failures = l ? 0 : s->failures + 1;
	s->untold = s->failures == 1 && err->code != ERR_CANCELLED;
	s->ended = clock_ms();
	s->thread_over = true;
	pthread_mutex_unlock(&s->lock);
	server_signal_started(s);
}

/* Thread: starts the server, does the handshake and reads its tools. */
static void *run_start(void *arg)
{
	struct mcp_server *s = arg;
	struct stop all = stop_on(&s->cancel);
	struct stop stop = stop_within(&all, s->host->startup_ms);
	struct mcp_list list = { 0 };
	struct error err = { 0 };
	struct mcp_link *l = open_if_allowed(s, &err);
	int rc = l ? initialize_link(l, &stop, &err) : -1;

	if (rc == 0)
		rc = list_tools(s, l, &list, &stop, &err);
	if (rc < 0 && err.code == ERR_TIMEOUT)
		error_set(&err, ERR_TIMEOUT,
			  "it did not list its tools within %lld s",
			  (long long)(s->host->startup_ms + 999) / 1000);
	if (rc == 0) {
		store_list(s, &list);
	} else if (l) {
		l->ops->said(l, &s->said);
		l->ops->close(l);
		l = NULL;
	}
	mcp_list_release(&list);
	end_start(s, l, &err);
	return NULL;
}

/* Thread: reads the tools again after the server announced a change. */
static void *run_relist(void *arg)
{
	struct mcp_server *s = arg;
	struct stop all = stop_on(&s->cancel);
	struct stop stop = stop_within(&all, s->host->startup_ms);
	struct mcp_list list = { 0 };
	struct error ignored = { 0 };

	if (list_tools(s, s->link, &list, &stop, &ignored) == 0)
		store_list(s, &list);
	mcp_list_release(&list);
	pthread_mutex_lock(&s->lock);
	s->users--;
	s->thread_over = true;
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* Call with the lock held, after the previous thread has finished. */
static bool start_thread(struct mcp_server *s, void *(*run)(void *arg))
{
	pthread_attr_t attr;
	sigset_t all;
	sigset_t old;
	int rc;

	if (s->has_thread)
		(void)pthread_join(s->thread, NULL);
	pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(&s->thread, &attr, run, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	s->has_thread = rc == 0;
	s->thread_over = false;
	return rc == 0;
}

/* Starts the server on its own thread. Call with the lock held, after the
 * previous thread has finished. */
static bool server_begin_start(struct mcp_server *s)
{
	return start_thread(s, run_start);
}

static bool server_begin_relist(struct mcp_server *s)
{
	return start_thread(s, run_relist);
}

enum {
	/* tool lists read per server: it must not keep dcode busy */
	RELISTS_MAX = 1000,
	BACKOFF_MS = 1000,
	BACKOFF_DOUBLINGS = 6,
	BACKOFF_MAX_MS = 60000,
	RECONNECT_MS = 10000, /* limit of the wait for running calls to end */
	WAIT_MS = 20,
	/* HTTP status: the server does not know the session */
	SESSION_GONE = 404,
};

/* Sets the state so that the server can be started again. Call with the lock
 * held. */
static void set_idle(struct mcp_server *s)
{
	uint64_t count;

	s->state = MCP_IDLE;
	(void)!io_read(s->started, &count, sizeof(count));
}

struct mcp_server *mcp_server_new(const struct mcp_entry *entry,
				  const struct mcp_host *host)
{
	struct mcp_server *s = xcalloc(1, sizeof(*s));
	struct error err = { 0 };

	s->entry = entry;
	s->host = host;
	s->took = -1;
	s->said = BUF_INIT(2 * JSONRPC_TAIL);
	pthread_mutex_init(&s->lock, NULL);
	s->started = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->state = MCP_IDLE;
	if (cancel_init(&s->cancel, &err) < 0 || s->started < 0) {
		s->state = MCP_FAILED;
		s->why = err;
	} else if (entry->refused) {
		s->state = MCP_OFF;
		error_set(&s->why, ERR_POLICY, "%s", entry->refused);
	} else if (entry->wrong) {
		s->state = MCP_FAILED;
		s->untold = true;
		error_set(&s->why, ERR_CONFIG, "%s (%s)", entry->wrong,
			  entry->file);
	}
	if (s->state != MCP_IDLE && s->started >= 0)
		server_signal_started(s);
	return s;
}

void mcp_server_start(struct mcp_server *s)
{
	pthread_mutex_lock(&s->lock);
	if (s->state == MCP_IDLE && !s->leaving) {
		s->state = MCP_STARTING;
		s->began = clock_ms();
		if (!server_begin_start(s)) {
			s->state = MCP_FAILED;
			error_set(&s->why, ERR_SYSTEM, "cannot start a thread");
			server_signal_started(s);
		}
	}
	pthread_mutex_unlock(&s->lock);
}

int mcp_server_wait(struct mcp_server *s, const struct stop *stop,
		    struct error *err)
{
	return stop_await(stop, s->started, err);
}

/* Returns how long to wait after a failed start before the next try: 1, 2, 4 s
 * and so on, at most 60 s. */
static int64_t backoff_ms(const struct mcp_server *s)
{
	unsigned doublings = s->failures ? s->failures - 1 : 0;

	return doublings >= BACKOFF_DOUBLINGS ? BACKOFF_MAX_MS
					      : BACKOFF_MS << doublings;
}

static bool may_retry(const struct mcp_server *s)
{
	return s->state == MCP_FAILED && s->why.code != ERR_CONFIG &&
	       s->why.code != ERR_POLICY && !s->leaving && s->thread_over &&
	       clock_ms() >= s->ended + backoff_ms(s);
}

/* Starts the server again if it has ended or failed to start. */
static void restart_if_ended(struct mcp_server *s)
{
	struct mcp_link *ended = NULL;
	bool again;

	pthread_mutex_lock(&s->lock);
	again = may_retry(s);
	if (s->state == MCP_READY && !s->users &&
	    s->link->ops->is_broken(s->link)) {
		ended = s->link;
		s->link = NULL;
		again = true;
	}
	if (again)
		set_idle(s);
	pthread_mutex_unlock(&s->lock);
	if (ended)
		ended->ops->close(ended);
	mcp_server_start(s);
}

/* Waits until the start and the running calls have ended, for up to
 * RECONNECT_MS. Returns the link, which the caller owns; NULL if there is none
 * or the wait was too short. */
static struct mcp_link *detach_link(struct mcp_server *s)
{
	struct stop soon = stop_cleanup(RECONNECT_MS);
	struct error ignored = { 0 };
	struct mcp_link *l = NULL;
	bool busy = true;

	while (busy && stop_check(&soon, &ignored) == 0) {
		pthread_mutex_lock(&s->lock);
		if (s->link)
			s->link->ops->leave(s->link);
		busy = s->users || s->state == MCP_STARTING;
		if (!busy) {
			l = s->link;
			s->link = NULL;
			if (s->state != MCP_IDLE)
				set_idle(s);
		}
		pthread_mutex_unlock(&s->lock);
		if (busy)
			(void)stop_sleep(&soon, WAIT_MS, &ignored);
	}
	return l;
}

bool mcp_server_reconnect(struct mcp_server *s)
{
	struct mcp_link *l;
	bool usable;

	pthread_mutex_lock(&s->lock);
	usable = s->state != MCP_OFF && !s->entry->wrong && !s->leaving;
	s->failures = 0;
	pthread_mutex_unlock(&s->lock);
	if (!usable)
		return false;
	l = detach_link(s);
	if (l)
		l->ops->close(l);
	mcp_server_start(s);
	return true;
}

/* Returns the link and increments `users` until release_link(). */
static struct mcp_link *use_link(struct mcp_server *s, struct error *err)
{
	struct mcp_link *l = NULL;

	pthread_mutex_lock(&s->lock);
	if (s->state == MCP_READY && !s->leaving) {
		l = s->link;
		s->users++;
	} else if (s->why.code) {
		*err = s->why;
	} else {
		error_set(err, ERR_NETWORK, "it is not running");
	}
	pthread_mutex_unlock(&s->lock);
	return l;
}

/* Reads the tool list again if the server announced a change. Call with the
 * lock held. */
static void relist_if_stale(struct mcp_server *s)
{
	if (!s->stale || s->state != MCP_READY || !s->thread_over ||
	    s->leaving || s->relists >= RELISTS_MAX)
		return;
	s->stale = false;
	s->relists++;
	s->users++;
	if (!server_begin_relist(s))
		s->users--;
}

static void release_link(struct mcp_server *s, int64_t took)
{
	pthread_mutex_lock(&s->lock);
	s->users--;
	s->calls++;
	s->calls_ms += took;
	relist_if_stale(s);
	pthread_mutex_unlock(&s->lock);
}

static int on_progress(void *arg, const char *method, const cJSON *params,
		       struct error *err)
{
	const struct mcp_call *call = arg;

	(void)method;
	(void)err;
	call->progress(call->arg, params);
	return 0;
}

static void write_params(const struct mcp_call *call,
			 const struct jsonrpc_ask *ask, struct buf *params)
{
	buf_addc(params, '{');
	json_member(params, "name", str_of(call->tool));
	buf_adds(params, ",\"arguments\":");
	json_print(params, call->args);
	if (call->progress)
		buf_addf(params, ",\"_meta\":{\"" JSONRPC_PROGRESS "\":%lld}",
			 (long long)ask->progress);
	buf_addc(params, '}');
}

/* Sends a call once. *starts identifies the link that was used. */
static int call_once(struct mcp_server *s, const struct mcp_call *call,
		     cJSON **result, unsigned *starts, const struct stop *stop,
		     struct error *err)
{
	struct buf params = BUF_INIT(MCP_MESSAGE);
	struct jsonrpc_ask ask = { .method = "tools/call",
				   .what = call->tool,
				   .timeout_ms = s->host->call_ms,
				   .notify =
					   call->progress ? on_progress : NULL,
				   .arg = (void *)call };
	struct mcp_link *l;
	int64_t began;
	int rc;

	restart_if_ended(s);
	if (mcp_server_wait(s, stop, err) < 0)
		return -1;
	l = use_link(s, err);
	if (!l)
		return error_wrap(err, "MCP server %s", s->entry->name);
	began = clock_ms();
	pthread_mutex_lock(&s->lock);
	ask.progress = ++s->progress;
	*starts = s->starts;
	pthread_mutex_unlock(&s->lock);
	write_params(call, &ask, &params);
	ask.params = buf_str(&params);
	rc = buf_check(&params, "the call", err);
	if (rc == 0)
		rc = l->ops->request(l, &ask, result, stop, err);
	release_link(s, clock_ms() - began);
	buf_wipe(&params);
	return rc;
}

/* Call after the server reported that this link's session is over. Waits until
 * no other call uses the link, so that it can be reopened. True: send the
 * request again. */
static bool await_new_session(struct mcp_server *s, unsigned starts,
			      const struct stop *stop)
{
	struct stop soon = stop_within(stop, RECONNECT_MS);
	struct error ignored = { 0 };
	bool renewed = false;
	bool lost = true;
	bool busy = true;

	while (lost && busy && !renewed) {
		pthread_mutex_lock(&s->lock);
		renewed = s->starts != starts || s->state != MCP_READY;
		lost = !renewed && s->link->ops->is_broken(s->link);
		busy = s->users > 0;
		pthread_mutex_unlock(&s->lock);
		if (lost && busy && stop_sleep(&soon, WAIT_MS, &ignored) < 0)
			return false;
	}
	return lost || renewed;
}

int mcp_server_call(struct mcp_server *s, const struct mcp_call *call,
		    cJSON **result, const struct stop *stop, struct error *err)
{
	struct error first = { 0 };
	unsigned starts = 0;

	if (call_once(s, call, result, &starts, stop, &first) == 0)
		return 0;
	/* HTTP 404 means that the session is over and the request was not
	 * executed, so it may be sent again
	 * (modelcontextprotocol.io/specification/2025-11-25/basic/transports,
	 * "Session Management", read 2026-11-26). */
	if (first.http_status == SESSION_GONE &&
	    await_new_session(s, starts, stop))
		return call_once(s, call, result, &starts, stop, err);
	*err = first;
	return -1;
}

void mcp_server_leave(struct mcp_server *s)
{
	pthread_mutex_lock(&s->lock);
	s->leaving = true;
	if (s->link)
		s->link->ops->leave(s->link);
	pthread_mutex_unlock(&s->lock);
	cancel_trigger(&s->cancel);
}

void mcp_server_free(struct mcp_server *s)
{
	mcp_server_leave(s);
	if (s->has_thread)
		(void)pthread_join(s->thread, NULL);
	if (s->link)
		s->link->ops->close(s->link);
	mcp_list_release(&s->list);
	buf_release(&s->said);
	cancel_release(&s->cancel);
	if (s->started >= 0)
		close(s->started);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

const struct mcp_entry *mcp_server_entry(const struct mcp_server *s)
{
	return s->entry;
}

bool mcp_server_is_known(struct mcp_server *s)
{
	bool known;

	pthread_mutex_lock(&s->lock);
	known = s->known;
	pthread_mutex_unlock(&s->lock);
	return known;
}

bool mcp_server_changed(struct mcp_server *s)
{
	bool changed;

	pthread_mutex_lock(&s->lock);
	changed = s->changed;
	s->changed = false;
	relist_if_stale(s);
	pthread_mutex_unlock(&s->lock);
	return changed;
}

bool mcp_server_failed(struct mcp_server *s, struct error *why)
{
	bool untold;

	pthread_mutex_lock(&s->lock);
	untold = s->untold;
	s->untold = false;
	*why = s->why;
	pthread_mutex_unlock(&s->lock);
	return untold;
}

void mcp_server_each_tool(struct mcp_server *s,
			  void (*each)(void *arg, const struct mcp_tool *t),
			  void *arg)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; s->known && i < s->list.n; i++)
		each(arg, &s->list.items[i]);
	pthread_mutex_unlock(&s->lock);
}

void mcp_server_status(struct mcp_server *s, struct mcp_status *out)
{
	pthread_mutex_lock(&s->lock);
	*out = (struct mcp_status){ .state = s->state,
				    .tools = s->list.n,
				    .left_out = s->list.left_out,
				    .recalled = s->recalled,
				    .started_ms = s->took,
				    .calls = s->calls,
				    .calls_ms = s->calls_ms,
				    .why = s->why };
	snprintf(out->lost, sizeof(out->lost), "%s",
		 s->list.lost ? s->list.lost : "");
	if (s->state == MCP_READY && s->link->ops->is_broken(s->link)) {
		out->state = MCP_FAILED;
		error_set(&out->why, ERR_NETWORK,
			  "it has ended; the next call starts it again");
	}
	pthread_mutex_unlock(&s->lock);
}

void mcp_server_said(struct mcp_server *s, struct buf *out)
{
	pthread_mutex_lock(&s->lock);
	if (s->link)
		s->link->ops->said(s->link, out);
	else if (s->state == MCP_FAILED)
		buf_addstr(out, buf_str(&s->said));
	pthread_mutex_unlock(&s->lock);
}

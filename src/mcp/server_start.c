/* server_start.c - starts a server and asks it for its tools. */
/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "mcp/server_impl.h"

enum {
	PAGES_MAX = 64,     /* of a list of tools */
	NO_METHOD = -32601, /* JSON-RPC 2.0 */
	CURSOR_MAX = 4096,  /* bytes */
	STACK = 256 << 10,
};

static char *cache_path(const struct mcp_server *s)
{
	return xasprintf("%s/%s.json", s->host->cache_dir, s->entry->hash);
}

/* Lists that were kept and that nobody can read any more cost nothing but a
 * wait. */
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

static void keep_list(const struct mcp_server *s, struct str text)
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

/* Within the link's lock, which others take within the server's: so without
 * the latter. */
static void on_notice(void *arg, const char *method)
{
	struct mcp_server *s = arg;

	if (!strcmp(method, "notifications/tools/list_changed"))
		s->stale = true;
}

/* ---- the handshake ---- */

/* Nothing else that a server says by itself changes anything here. */
static bool says_more(const cJSON *result)
{
	const cJSON *offers = json_get(result, "capabilities");

	return json_bool(json_get(offers, "tools"), "listChanged", false);
}

static int initialize(struct mcp_link *l, const struct stop *stop,
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
		       "it uses version \"%.40s\" of the protocol, not one of "
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

/* One page; *cursor (owned) of the next one, NULL: that was the last. */
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
		rc = 0; /* one that has no tools at all */
	free(*cursor);
	next = json_string(result, "nextCursor", "");
	*cursor = next[0] && strlen(next) <= CURSOR_MAX ? xstrdup(next) : NULL;
	cJSON_Delete(result);
	buf_release(&params);
	return rc;
}

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

/* Takes the list over. */
static void put_list(struct mcp_server *s, struct mcp_list *list)
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
		keep_list(s, buf_str(&text));
	buf_release(&text);
}

/* ---- its thread ---- */

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

void server_signal_started(const struct mcp_server *s)
{
	uint64_t one = 1;

	(void)!io_write(s->started, &one, sizeof(one));
}

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

static void *run_start(void *arg)
{
	struct mcp_server *s = arg;
	struct stop all = stop_on(&s->cancel);
	struct stop stop = stop_within(&all, s->host->startup_ms);
	struct mcp_list list = { 0 };
	struct error err = { 0 };
	struct mcp_link *l = open_if_allowed(s, &err);
	int rc = l ? initialize(l, &stop, &err) : -1;

	if (rc == 0)
		rc = list_tools(s, l, &list, &stop, &err);
	if (rc < 0 && err.code == ERR_TIMEOUT)
		error_set(&err, ERR_TIMEOUT,
			  "it did not list its tools within %lld s",
			  (long long)(s->host->startup_ms + 999) / 1000);
	if (rc == 0) {
		put_list(s, &list);
	} else if (l) {
		l->ops->said(l, &s->said);
		l->ops->close(l);
		l = NULL;
	}
	mcp_list_release(&list);
	end_start(s, l, &err);
	return NULL;
}

/* The server has said that its tools are others now. */
static void *run_relist(void *arg)
{
	struct mcp_server *s = arg;
	struct stop all = stop_on(&s->cancel);
	struct stop stop = stop_within(&all, s->host->startup_ms);
	struct mcp_list list = { 0 };
	struct error ignored = { 0 };

	if (list_tools(s, s->link, &list, &stop, &ignored) == 0)
		put_list(s, &list);
	mcp_list_release(&list);
	pthread_mutex_lock(&s->lock);
	s->users--;
	s->thread_over = true;
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* With the lock held; the thread before has ended its work. */
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

bool server_begin_start(struct mcp_server *s)
{
	return start_thread(s, run_start);
}

bool server_begin_relist(struct mcp_server *s)
{
	return start_thread(s, run_relist);
}

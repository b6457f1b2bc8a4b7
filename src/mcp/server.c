/* server.c - one server: started, asked for its tools, called, ended. */
/* SPDX-License-Identifier: MIT */
#include "mcp/server.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "mcp/server_impl.h"

enum { RELISTS_MAX = 1000 }; /* of one server: it may not keep us busy */

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
			error_set(&s->why, ERR_SYSTEM, "starting a thread");
			server_signal_started(s);
		}
	}
	pthread_mutex_unlock(&s->lock);
}

int mcp_server_wait(struct mcp_server *s, const struct stop *stop,
		    struct error *err)
{
	struct pollfd set[] = { { .fd = s->started, .events = POLLIN },
				{ .fd = stop_fd(stop), .events = POLLIN } };

	while (!set[0].revents) {
		if (stop_check(stop, err) < 0)
			return -1;
		(void)poll(set, 2, stop_poll_ms(stop, -1));
	}
	return 0;
}

/* A server that has ended is started once more, for the next call. */
static void restart_if_ended(struct mcp_server *s)
{
	struct mcp_link *ended = NULL;
	uint64_t count;

	pthread_mutex_lock(&s->lock);
	if (s->state == MCP_READY && !s->users &&
	    s->link->ops->is_broken(s->link)) {
		ended = s->link;
		s->link = NULL;
		s->state = MCP_IDLE;
		(void)!read(s->started, &count, sizeof(count));
	}
	pthread_mutex_unlock(&s->lock);
	if (ended)
		ended->ops->close(ended);
	mcp_server_start(s);
}

/* The link, which is used until release_link(). */
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
		error_set(err, ERR_NETWORK, "it does not run");
	}
	pthread_mutex_unlock(&s->lock);
	return l;
}

static void release_link(struct mcp_server *s, int64_t took)
{
	pthread_mutex_lock(&s->lock);
	s->users--;
	s->calls++;
	s->calls_ms += took;
	pthread_mutex_unlock(&s->lock);
}

int mcp_server_call(struct mcp_server *s, const char *tool, const cJSON *args,
		    cJSON **result, const struct stop *stop, struct error *err)
{
	struct buf params = BUF_INIT(MCP_MESSAGE);
	struct jsonrpc_ask ask = { .method = "tools/call",
				   .what = tool,
				   .timeout_ms = s->host->call_ms };
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
	buf_addc(&params, '{');
	json_member(&params, "name", str_of(tool));
	buf_adds(&params, ",\"arguments\":");
	json_print(&params, args);
	buf_addc(&params, '}');
	ask.params = buf_str(&params);
	rc = buf_check(&params, "the call", err);
	if (rc == 0)
		rc = l->ops->request(l, &ask, result, stop, err);
	release_link(s, clock_ms() - began);
	buf_wipe(&params);
	return rc;
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
	if (s->stale && s->state == MCP_READY && s->thread_over &&
	    s->relists < RELISTS_MAX) {
		s->stale = false;
		s->relists++;
		s->users++;
		if (!server_begin_relist(s))
			s->users--;
	}
	pthread_mutex_unlock(&s->lock);
	return changed;
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

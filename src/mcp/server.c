/* server.c - one server: started, asked for its tools, called, ended. */
/* SPDX-License-Identifier: MIT */
#include "mcp/server.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "mcp/server_impl.h"

enum {
	RELISTS_MAX = 1000, /* of one server: it may not keep us busy */
	BACKOFF_MS = 1000,
	BACKOFF_DOUBLINGS = 6,
	BACKOFF_MAX_MS = 60000,
	RECONNECT_MS = 10000, /* for calls under way to end */
	WAIT_MS = 20,
	SESSION_GONE = 404, /* HTTP */
};

/* It may be started; with the lock held. */
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
	struct pollfd set[] = { { .fd = s->started, .events = POLLIN },
				{ .fd = stop_fd(stop), .events = POLLIN } };

	while (!set[0].revents) {
		if (stop_check(stop, err) < 0)
			return -1;
		(void)poll(set, 2, stop_poll_ms(stop, -1));
	}
	return 0;
}

/* Until a start that failed is tried again: 1, 2, 4 s and so on. */
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

/* A server that has ended, or failed to start, is started once more. */
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

/* Until its start, and its calls, are over; the link of one that ran. */
static struct mcp_link *take_link(struct mcp_server *s)
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
	l = take_link(s);
	if (l)
		l->ops->close(l);
	mcp_server_start(s);
	return true;
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
		error_set(err, ERR_NETWORK, "it is not running");
	}
	pthread_mutex_unlock(&s->lock);
	return l;
}

/* The server has said that its tools are others now; with the lock held. */
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

/* One request of a call; *starts names the link that it went over. */
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

/* The session of this link is over, as the server has said. Waits until no
 * other call uses the link, so that it can be begun anew; true: a request may
 * be sent once more. */
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
	/* 404 says that the session is over, and that nothing was done
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

/* jsonrpc.c - requests to a child process: one JSON message per line. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "base/thread.h"
#include "rpc/jsonrpc_impl.h"

enum { KILL_MS = 2000, TEXT_SHOWN = 320 };

static void release(struct jsonrpc *w)
{
	int fds[] = { w->in, w->out, w->err, w->wake, w->end };

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	buf_wipe(&w->queue);
	buf_release(&w->line);
	buf_release(&w->tail);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static int spawn(struct jsonrpc *w, const struct proc_spec *spec, int theirs[3],
		 struct error *err)
{
	int fds[PROC_FDS_MAX];
	struct proc_spec mine = *spec;

	for (size_t i = 0; i < spec->nfds; i++)
		fds[i] = i < 3 ? theirs[i] : spec->fds[i];
	mine.fds = fds;
	mine.session = true;
	if (proc_spawn(&mine, &w->pid, err) < 0)
		return -1;
	w->end = proc_fd(w->pid, err);
	if (w->end >= 0 && thread_start(&w->thread, jsonrpc_run, w, err) == 0)
		return 0;
	jsonrpc_kill(w);
	io_reap(w->pid);
	return -1;
}

struct jsonrpc *jsonrpc_start(const struct proc_spec *spec,
			      const struct jsonrpc_peer *peer, void *arg,
			      struct error *err)
{
	struct jsonrpc *w = xcalloc(1, sizeof(*w));
	int *ours[] = { &w->in, &w->out, &w->err };
	int theirs[3] = { -1, -1, -1 };
	int rc;

	*w = (struct jsonrpc){ .peer = peer,
			       .arg = arg,
			       .in = -1,
			       .out = -1,
			       .err = -1,
			       .end = -1,
			       .queue = BUF_INIT(JSONRPC_QUEUE),
			       .line = BUF_INIT(JSONRPC_LINE),
			       .tail = BUF_INIT(16 * JSONRPC_TAIL) };
	pthread_mutex_init(&w->lock, NULL);
	w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = w->wake < 0 ? error_errno(err, "creating an event") : 0;
	for (int i = 0; rc == 0 && i < 3; i++)
		rc = proc_pipe(ours[i], &theirs[i], i > 0, err);
	if (rc == 0)
		rc = spawn(w, spec, theirs, err);
	for (int i = 0; i < 3; i++)
		if (theirs[i] >= 0)
			close(theirs[i]);
	if (rc == 0)
		return w;
	release(w);
	return NULL;
}

bool jsonrpc_broken(struct jsonrpc *w)
{
	bool broken;

	pthread_mutex_lock(&w->lock);
	broken = w->broken;
	pthread_mutex_unlock(&w->lock);
	return broken;
}

int jsonrpc_bad_answer(const struct jsonrpc_peer *peer, const char *detail,
		       struct error *err)
{
	return error_set(err, ERR_PROTOCOL, "%s's answer makes no sense: %s",
			 peer->name, detail);
}

/* With the lock held. */
static int send_line(struct jsonrpc *w, const struct buf *line,
		     struct error *err)
{
	if (w->queue.len + line->len > w->queue.max)
		return error_set(err, ERR_NETWORK,
				 "%s does not read its requests",
				 w->peer->name);
	buf_addstr(&w->queue, buf_str(line));
	jsonrpc_poke(w->wake);
	return 0;
}

static int begin_call(struct jsonrpc *w, struct pending *p,
		      const struct jsonrpc_ask *ask, struct error *err)
{
	struct buf line = BUF_INIT(JSONRPC_QUEUE);
	int rc = -1;

	pthread_mutex_lock(&w->lock);
	p->id = ++w->last_id;
	p->progress = ask->notify ? ask->progress : 0;
	buf_addf(&line,
		 "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"method\":\"%s\","
		 "\"params\":",
		 (long long)p->id, ask->method);
	buf_addstr(&line, ask->params);
	buf_adds(&line, "}\n");
	if (w->broken)
		*err = w->why;
	else if (buf_check(&line, "the request", err) == 0)
		rc = send_line(w, &line, err);
	if (rc == 0) {
		p->next = w->calls;
		w->calls = p;
	}
	pthread_mutex_unlock(&w->lock);
	buf_wipe(&line);
	return rc;
}

/* Takes the call off the list, and cancels it in a child that still works. */
static void end_call(struct jsonrpc *w, const struct jsonrpc_ask *ask,
		     struct pending *p)
{
	struct buf line = BUF_INIT(256);
	struct pending **at = &w->calls;
	struct error ignored = { 0 };

	pthread_mutex_lock(&w->lock);
	while (*at && *at != p)
		at = &(*at)->next;
	if (*at)
		*at = p->next;
	if (!p->answer && !w->broken && !ask->lasting) {
		w->peer->cancel(&line, p->id);
		(void)send_line(w, &line, &ignored);
	}
	jsonrpc_poke(w->wake); /* it may have been behind */
	pthread_mutex_unlock(&w->lock);
	buf_release(&line);
	cJSON_Delete(p->notes);
	cJSON_Delete(p->answer);
	close(p->event);
}

/* Passes on the notifications that have come. 1: so has the answer. */
static int deliver(struct jsonrpc *w, struct pending *p,
		   const struct jsonrpc_ask *ask, const struct stop *stop,
		   struct error *err)
{
	const cJSON *note;
	struct error why;
	cJSON *notes;
	bool answered;
	int rc = 0;

	pthread_mutex_lock(&w->lock);
	notes = p->notes;
	p->notes = NULL;
	if (p->behind > JSONRPC_BEHIND)
		jsonrpc_poke(w->wake);
	p->behind = 0;
	answered = p->answer;
	why = w->why;
	pthread_mutex_unlock(&w->lock);
	cJSON_ArrayForEach (note, notes) {
		if (rc == 0 && ask->notify)
			rc = ask->notify(ask->arg,
					 json_string(note, "method", ""),
					 json_get(note, "params"), err);
		if (rc == 0)
			rc = stop_check(stop, err);
	}
	cJSON_Delete(notes);
	if (rc < 0 || answered || why.code == ERR_NONE)
		return rc < 0 ? rc : answered;
	*err = why;
	return -1;
}

/* Makes an error of the one that the child answered with. */
static int set_remote_error(const struct jsonrpc_peer *peer,
			    struct jsonrpc_ask *ask, const cJSON *error,
			    struct error *err)
{
	struct buf shown = BUF_INIT(1 << 16);
	const char *text = json_string(error, "message", "");

	if (!cJSON_IsObject(error) ||
	    !cJSON_IsNumber(json_get(error, "code")) ||
	    !cJSON_IsString(json_get(error, "message")))
		return jsonrpc_bad_answer(
			peer, "its error has no code and message", err);
	sanitize_line((struct str){ text, strnlen(text, 1 << 14) }, &shown);
	if (shown.len > TEXT_SHOWN)
		shown.len =
			str_utf8_prefix((struct str){ shown.ptr, TEXT_SHOWN });
	ask->error_code = (int)json_int(error, "code", -32603);
	error_set(err, ERR_REMOTE, "%.*s", (int)shown.len,
		  shown.len ? shown.ptr : "");
	if (!shown.len)
		error_set(err, ERR_REMOTE, "error %d without a message",
			  ask->error_code);
	buf_release(&shown);
	return -1;
}

int jsonrpc_result(const struct jsonrpc_peer *peer, cJSON *message,
		   struct jsonrpc_ask *ask, cJSON **result, struct error *err)
{
	const cJSON *error = json_get(message, "error");
	cJSON *found =
		cJSON_DetachItemFromObjectCaseSensitive(message, "result");

	if (cJSON_IsObject(found) && (!error || cJSON_IsNull(error))) {
		*result = found;
		return 0;
	}
	cJSON_Delete(found);
	if (error && !cJSON_IsNull(error))
		return set_remote_error(peer, ask, error, err);
	return jsonrpc_bad_answer(peer, "its result is no object", err);
}

static int timed_out(struct jsonrpc *w, const struct jsonrpc_ask *ask,
		     struct error *err)
{
	error_set(err, ERR_TIMEOUT, "%s gave no answer within %lld s",
		  w->peer->name, (long long)(ask->timeout_ms + 999) / 1000);
	pthread_mutex_lock(&w->lock);
	jsonrpc_quote_tail(w, err);
	pthread_mutex_unlock(&w->lock);
	return -1;
}

static int wait_answer(struct jsonrpc *w, struct pending *p,
		       struct jsonrpc_ask *ask, const struct stop *stop,
		       struct error *err)
{
	struct stop limit = stop_within(stop, ask->timeout_ms);
	int rc;

	for (;;) {
		struct pollfd set[] = {
			{ .fd = p->event, .events = POLLIN },
			{ .fd = stop_fd(stop), .events = POLLIN },
		};
		uint64_t count;

		rc = deliver(w, p, ask, stop, err);
		if (rc)
			return rc < 0 ? -1 : 0;
		if (stop_check(stop, err) < 0)
			return -1;
		if (clock_ms() >= limit.deadline)
			return timed_out(w, ask, err);
		(void)poll(set, 2, stop_poll_ms(&limit, -1));
		if (set[0].revents)
			(void)!io_read(p->event, &count, sizeof(count));
	}
}

int jsonrpc_call(struct jsonrpc *w, struct jsonrpc_ask *ask, cJSON **result,
		 const struct stop *stop, struct error *err)
{
	struct pending p = { .event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	int rc;

	ask->error_code = JSONRPC_NO_ERROR;
	*result = NULL;
	if (p.event < 0)
		return error_errno(err, "creating an event");
	rc = begin_call(w, &p, ask, err);
	if (rc < 0) {
		close(p.event);
		return error_wrap(err, "%s", ask->what);
	}
	rc = wait_answer(w, &p, ask, stop, err);
	if (rc == 0)
		rc = jsonrpc_result(w->peer, p.answer, ask, result, err);
	end_call(w, ask, &p);
	if (rc < 0 && err->code != ERR_CANCELLED)
		error_wrap(err, "%s", ask->what);
	return rc;
}

void jsonrpc_notify(struct jsonrpc *w, const char *method, struct str params)
{
	struct buf line = BUF_INIT(JSONRPC_QUEUE);
	struct error ignored = { 0 };

	buf_addf(&line,
		 "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":", method);
	buf_addstr(&line, params);
	buf_adds(&line, "}\n");
	pthread_mutex_lock(&w->lock);
	if (!w->broken)
		(void)send_line(w, &line, &ignored);
	pthread_mutex_unlock(&w->lock);
	buf_release(&line);
}

void jsonrpc_tail(struct jsonrpc *w, struct buf *out)
{
	struct str tail;

	pthread_mutex_lock(&w->lock);
	tail = buf_str(&w->tail);
	if (tail.len > JSONRPC_TAIL)
		tail = str_skip(tail, tail.len - JSONRPC_TAIL);
	buf_addstr(out, tail);
	pthread_mutex_unlock(&w->lock);
}

void jsonrpc_leave(struct jsonrpc *w)
{
	pthread_mutex_lock(&w->lock);
	if (!w->leaving && w->peer->bye)
		buf_adds(&w->queue, w->peer->bye);
	w->leaving = true;
	jsonrpc_poke(w->wake);
	pthread_mutex_unlock(&w->lock);
}

/* True once it has ended by itself. */
static bool wait_end(struct jsonrpc *w, int64_t grace_ms)
{
	struct pollfd end = { .fd = w->end, .events = POLLIN };

	if (io_poll(&end, 1, (int)grace_ms) > 0)
		return true;
	if (!w->peer->terminate)
		return false;
	w->peer->terminate(w->arg);
	return io_poll(&end, 1, (int)grace_ms) > 0;
}

void jsonrpc_end(struct jsonrpc *w, int64_t grace_ms)
{
	struct pollfd end = { .fd = w->end, .events = POLLIN };

	jsonrpc_leave(w);
	if (!wait_end(w, grace_ms)) {
		pthread_mutex_lock(&w->lock);
		if (!w->reaped)
			jsonrpc_kill(w);
		pthread_mutex_unlock(&w->lock);
		(void)io_poll(&end, 1, KILL_MS);
	}
	pthread_mutex_lock(&w->lock);
	jsonrpc_break(w, "has been ended");
	jsonrpc_poke(w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	if (!w->reaped)
		(void)waitpid(w->pid, NULL, WNOHANG);
	release(w);
}

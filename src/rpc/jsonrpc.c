/* jsonrpc.c - requests to a child process: one JSON message per line. */
/* SPDX-License-Identifier: MIT */
/* The wire is the connection to the child: its pipes and the thread that serves
 * them. A broken wire fails every call. Three parts. Lines: interpret the
 * child's messages; feed_lines() and all functions above it run with the lock
 * held. Thread: run_wire() reads, writes and waits for the child's end. Calls:
 * begin reading at jsonrpc_call(), which queues a request and waits on the
 * caller's thread. */
#include "rpc/jsonrpc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
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

struct pending { /* a running call; on its caller's stack */
	int64_t id;
	int64_t progress; /* see struct jsonrpc_ask; 0: none */
	int event;        /* eventfd: a notification or the answer is there */
	cJSON *notes;     /* an array: notifications not yet delivered */
	size_t behind;    /* bytes in notes */
	cJSON *answer;    /* the whole message */
	struct pending *next;
};

struct jsonrpc {
	const struct jsonrpc_peer *peer;
	void *arg;            /* argument for the functions in peer */
	pthread_mutex_t lock; /* guards all fields below except the file
			       * descriptors */
	pthread_t thread;
	pid_t pid;
	int in, out, err; /* our ends of the child's pipes; -1 when closed */
	int wake;         /* eventfd: wakes the thread */
	int end; /* descriptor that is readable once the child has ended */
	struct buf queue; /* bytes not yet written to the child */
	struct buf line;  /* last, incomplete line of the child's output */
	struct buf tail;  /* end of the child's output other than messages */
	size_t noise;     /* bytes that belonged to no call, since the last
			   * answer */
	int64_t last_id;
	struct pending *calls;
	bool leaving; /* close the input once the queue is empty */
	bool broken;
	bool reaped;
	struct error why; /* the error of a broken wire */
};

enum { SHOWN = 240, LINE_KEPT = 512, LINE_SHOWN = 80 }; /* bytes */

static void signal_event(int event)
{
	uint64_t one = 1;

	(void)!io_write(event, &one, sizeof(one));
}

/* Appends the end of the child's output other than messages to the error. */
static void quote_tail(const struct jsonrpc *w, struct error *err)
{
	struct buf shown = BUF_INIT(64 * JSONRPC_TAIL);
	const char *dots = "";
	struct str text;

	sanitize_line(buf_str(&w->tail), &shown);
	text = str_trim(buf_str(&shown));
	if (text.len > SHOWN) {
		text = str_skip(text, text.len - SHOWN);
		while (text.len && ((unsigned char)*text.ptr & 0xc0) == 0x80)
			text = str_skip(text, 1);
		dots = "...";
	}
	if (text.len)
		error_add(err, "; it said: %s%.*s", dots, (int)text.len,
			  text.ptr);
	buf_release(&shown);
}

/* Breaks the wire: every call fails from now on, with ERR_NETWORK "NAME
 * FMT". */
__attribute__((format(printf, 2, 3))) static void
break_wire(struct jsonrpc *w, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (w->broken)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	w->broken = true;
	error_set(&w->why, ERR_NETWORK, "%s %s", w->peer->name, text);
	quote_tail(w, &w->why);
	for (struct pending *p = w->calls; p; p = p->next)
		signal_event(p->event);
}

/* Appends output that is not a message. Only the last JSONRPC_TAIL bytes are
 * kept, to be quoted in errors. */
static void add_tail(struct jsonrpc *w, struct str bytes)
{
	if (bytes.len > JSONRPC_TAIL)
		bytes = str_skip(bytes, bytes.len - JSONRPC_TAIL);
	/* Trim rarely: moving the buffer for every line would be slow. */
	if (w->tail.len + bytes.len > w->tail.max)
		buf_consume(&w->tail, w->tail.len + bytes.len - JSONRPC_TAIL);
	buf_addstr(&w->tail, bytes);
}

/* Counts bytes of the child that belong to no call and breaks the wire at a
 * limit. keep: add the line to the tail, which errors quote. */
static void count_noise(struct jsonrpc *w, struct str line, bool keep)
{
	size_t most = w->peer->lenient ? JSONRPC_NOTICES : JSONRPC_NOISE;

	if (keep && line.len) {
		if (line.len > LINE_KEPT)
			line.len = LINE_KEPT;
		add_tail(w, line);
		add_tail(w, STR("\n"));
	}
	w->noise += line.len + 1;
	if (w->noise > most)
		break_wire(w, "wrote %zu MiB of output that answers no request",
			   most >> 20);
}

/* Breaks the wire because of one message and quotes the message's beginning in
 * the error. */
static void break_by_line(struct jsonrpc *w, const char *what, struct str line)
{
	struct buf shown = BUF_INIT(1 << 10);

	if (line.len > LINE_SHOWN)
		line.len = LINE_SHOWN;
	sanitize_line(line, &shown);
	break_wire(w, "%s: %.*s", what, LINE_SHOWN, shown.len ? shown.ptr : "");
	buf_release(&shown);
}

static struct pending *find_call(struct jsonrpc *w, const cJSON *id)
{
	if (!cJSON_IsNumber(id))
		return NULL;
	for (struct pending *p = w->calls; p; p = p->next)
		if ((double)p->id == id->valuedouble)
			return p;
	return NULL;
}

/* True if dcode has sent a request with this id. So a late answer to a
 * cancelled request is not an error. */
static bool was_asked(const struct jsonrpc *w, const cJSON *id)
{
	double n = cJSON_IsNumber(id) ? id->valuedouble : 0;

	return n >= 1 && n <= (double)w->last_id && n == (double)(int64_t)n;
}

/* Hands an answer to its call. Takes ownership of message. */
static void on_answer(struct jsonrpc *w, cJSON *message, struct str line)
{
	const cJSON *id = json_get(message, "id");
	struct pending *p = find_call(w, id);

	if (p && !p->answer) {
		p->answer = message;
		w->noise = 0;
		signal_event(p->event);
		return;
	}
	if (w->peer->lenient)
		count_noise(w, line, true);
	else if (cJSON_IsNull(id) && json_get(message, "error"))
		break_by_line(w, "did not understand a request", line);
	else if (!was_asked(w, id))
		break_by_line(w, "answered a request that dcode did not send",
			      line);
	else
		count_noise(w, line, false);
	cJSON_Delete(message);
}

static struct pending *find_progress(struct jsonrpc *w, const cJSON *token)
{
	if (!cJSON_IsNumber(token) || token->valuedouble == 0)
		return NULL;
	for (struct pending *p = w->calls; p; p = p->next)
		if ((double)p->progress == token->valuedouble)
			return p;
	return NULL;
}

/* Queues a notification for the call that it belongs to. Takes ownership of
 * message. */
static void on_notification(struct jsonrpc *w, struct pending *p,
			    cJSON *message, struct str line)
{
	if (!p || p->answer || json_get(message, "id")) {
		count_noise(w, line, false);
		cJSON_Delete(message);
		return;
	}
	if (!p->notes)
		p->notes = cJSON_CreateArray();
	cJSON_AddItemToArray(p->notes, message);
	p->behind += line.len;
	signal_event(p->event);
}

/* Handles a notification or request of the child. */
static void on_method(struct jsonrpc *w, cJSON *message, struct str line)
{
	const cJSON *params = json_get(message, "params");
	struct pending *p =
		w->peer->receive
			? find_progress(w, json_get(params, JSONRPC_PROGRESS))
			: find_call(w, json_get(params, "id"));

	if (p || !w->peer->receive) {
		if (w->peer->receive)
			count_noise(w, line, false);
		on_notification(w, p, message, line);
		return;
	}
	/* Drop the requests of a child that does not read the answers. */
	if (w->queue.len < JSONRPC_NOISE)
		w->peer->receive(w->arg, message, &w->queue);
	count_noise(w, line, false);
	cJSON_Delete(message);
}

/* Handles an answer, notification or request. Takes ownership of message. */
static void on_message(struct jsonrpc *w, cJSON *message, struct str line)
{
	if (cJSON_IsString(json_get(message, "method"))) {
		on_method(w, message, line);
	} else if (json_get(message, "id")) {
		on_answer(w, message, line);
	} else {
		cJSON_Delete(message);
		count_noise(w, line, true);
	}
}

/* Handles a batch: an array of messages (JSON-RPC 2.0, section 6; in MCP only
 * version 2025-03-26). For the limits, each message counts an equal share of
 * the line's length. */
static void on_batch(struct jsonrpc *w, cJSON *batch, struct str line)
{
	struct str share = { line.ptr,
			     line.len / (size_t)cJSON_GetArraySize(batch) };
	cJSON *message;

	while ((message = cJSON_DetachItemFromArray(batch, 0)))
		on_message(w, message, share);
	cJSON_Delete(batch);
}

/* Handles one line of the child: a message, or a batch if lenient. */
static void on_line(struct jsonrpc *w, struct str line)
{
	cJSON *tree = NULL;

	line = str_trim(line);
	if (!line.len)
		return;
	if (str_is_utf8(line) &&
	    (line.ptr[0] == '{' || (line.ptr[0] == '[' && w->peer->lenient)))
		tree = json_parse_repaired(line);
	if (cJSON_IsArray(tree) && tree->child)
		on_batch(w, tree, line);
	else
		on_message(w, tree, line);
}

/* Handles each complete line of the child's output. */
static void feed_lines(struct jsonrpc *w, struct str chunk)
{
	while (!w->broken) {
		bool whole = buf_add_line(&w->line, &chunk);

		if (w->line.over) {
			buf_release(&w->line);
			w->line = BUF_INIT(JSONRPC_LINE);
			break_wire(w, "wrote a line of more than %d MiB",
				   JSONRPC_LINE >> 20);
			return;
		}
		if (!whole)
			return;
		on_line(w, buf_str(&w->line));
		buf_clear(&w->line);
	}
}

/* True if a call has too many undelivered notifications. Reading then
 * pauses. */
static bool is_behind(const struct jsonrpc *w)
{
	for (const struct pending *p = w->calls; p; p = p->next)
		if (p->behind > JSONRPC_BEHIND)
			return true;
	return false;
}

enum {
	CHUNK = 64 << 10,
	ROUNDS = 1024,   /* chunks read at most after the child has ended */
	STATUS_MS = 500, /* wait for an exit status after the output closed */
	KILL_MS = 2000,
};

enum { AT_WAKE, AT_END, AT_OUT, AT_ERR, AT_IN, AT_COUNT };

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Reads and handles one chunk. False at the end of the output, or if nothing is
 * available. */
static bool read_chunk(struct jsonrpc *w, int *fd)
{
	char room[CHUNK];
	ssize_t n = *fd < 0 ? 0 : io_read(*fd, room, sizeof(room));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		close_fd(fd);
		return false;
	}
	pthread_mutex_lock(&w->lock);
	if (fd == &w->out)
		feed_lines(w, (struct str){ room, (size_t)n });
	else
		add_tail(w, (struct str){ room, (size_t)n });
	pthread_mutex_unlock(&w->lock);
	return true;
}

/* Writes as much as the pipe takes. A child that stops reading is not an error
 * here: its calls time out. */
static void write_queue(struct jsonrpc *w)
{
	ssize_t n;

	pthread_mutex_lock(&w->lock);
	n = w->queue.len ? write(w->in, w->queue.ptr, w->queue.len) : 0;
	if (n > 0)
		buf_consume(&w->queue, (size_t)n);
	if ((n < 0 && errno != EAGAIN && errno != EINTR) ||
	    (w->leaving && !w->queue.len))
		close_fd(&w->in);
	pthread_mutex_unlock(&w->lock);
}

/* Reaps the child and reports its exit status as the error. */
static void break_by_status(struct jsonrpc *w)
{
	int status = 0;

	w->reaped = waitpid(w->pid, &status, WNOHANG) == w->pid;
	if (!w->reaped)
		break_wire(w, "cannot be stopped");
	else if (WIFSIGNALED(status))
		break_wire(w, "was killed by signal %d", WTERMSIG(status));
	else
		break_wire(w, "exited with status %d", WEXITSTATUS(status));
}

static void kill_child(struct jsonrpc *w)
{
	if (w->peer->kill)
		w->peer->kill(w->arg);
	else
		(void)kill(-w->pid, SIGKILL);
}

/* Ends the wire after handle_event() returned false. Kills the rest of the
 * child's process group before the group's id can be reused. */
static void finish_wire(struct jsonrpc *w)
{
	struct pollfd end = { .fd = w->end, .events = POLLIN };
	bool ended;

	ended = io_poll(&end, 1, jsonrpc_broken(w) ? 0 : STATUS_MS) > 0;
	for (int i = 0; i < ROUNDS && read_chunk(w, &w->out); i++)
		;
	for (int i = 0; i < ROUNDS && read_chunk(w, &w->err); i++)
		;
	pthread_mutex_lock(&w->lock);
	add_tail(w, buf_str(&w->line));
	if (!ended)
		break_wire(w, "closed its output");
	pthread_mutex_unlock(&w->lock);
	kill_child(w);
	(void)io_poll(&end, 1, KILL_MS);
	pthread_mutex_lock(&w->lock);
	break_by_status(w);
	pthread_mutex_unlock(&w->lock);
}

/* Waits for one event and handles it. False: the child has ended or closed its
 * output, or the wire is broken. */
static bool handle_event(struct jsonrpc *w)
{
	struct pollfd set[AT_COUNT] = {
		[AT_WAKE] = { .fd = w->wake, .events = POLLIN },
		[AT_END] = { .fd = w->end, .events = POLLIN },
		[AT_ERR] = { .fd = w->err, .events = POLLIN },
		[AT_OUT] = { .fd = -1, .events = POLLIN },
		[AT_IN] = { .fd = -1, .events = POLLOUT },
	};
	uint64_t count;
	bool over;

	pthread_mutex_lock(&w->lock);
	if (!is_behind(w))
		set[AT_OUT].fd = w->out;
	if (w->queue.len || w->leaving)
		set[AT_IN].fd = w->in;
	over = w->broken;
	pthread_mutex_unlock(&w->lock);
	if (over || w->out < 0)
		return false;
	if (poll(set, AT_COUNT, -1) < 0)
		return errno == EINTR;
	if (set[AT_WAKE].revents)
		(void)!io_read(w->wake, &count, sizeof(count));
	if (set[AT_IN].revents)
		write_queue(w);
	if (set[AT_ERR].revents)
		(void)read_chunk(w, &w->err);
	if (set[AT_OUT].revents)
		(void)read_chunk(w, &w->out);
	return !set[AT_END].revents;
}

/* Thread: moves data until handle_event() returns false. */
static void *run_wire(void *arg)
{
	struct jsonrpc *w = arg;

	while (handle_event(w))
		;
	finish_wire(w);
	close_fd(&w->in);
	close_fd(&w->out);
	close_fd(&w->err);
	return NULL;
}

enum { TEXT_SHOWN = 320 };

static void release_wire(struct jsonrpc *w)
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

/* Starts the child and the thread. theirs: the child's ends of the pipes. */
static int spawn_child(struct jsonrpc *w, const struct proc_spec *spec,
		       int theirs[3], struct error *err)
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
	if (w->end >= 0 && thread_start(&w->thread, run_wire, w, err) == 0)
		return 0;
	kill_child(w);
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
		rc = spawn_child(w, spec, theirs, err);
	for (int i = 0; i < 3; i++)
		if (theirs[i] >= 0)
			close(theirs[i]);
	if (rc == 0)
		return w;
	release_wire(w);
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
	return error_set(err, ERR_PROTOCOL, "%s sent an invalid answer: %s",
			 peer->name, detail);
}

/* Queues a line. Call with the lock held. */
static int send_line(struct jsonrpc *w, const struct buf *line,
		     struct error *err)
{
	if (w->queue.len + line->len > w->queue.max)
		return error_set(err, ERR_NETWORK,
				 "%s does not read its requests",
				 w->peer->name);
	buf_addstr(&w->queue, buf_str(line));
	signal_event(w->wake);
	return 0;
}

/* Queues the request and adds the call to the list. */
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

/* Removes the call from the list. If it has no answer yet and the wire still
 * works, sends the child a cancellation. */
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
	signal_event(w->wake); /* reading may have paused for this call */
	pthread_mutex_unlock(&w->lock);
	buf_release(&line);
	cJSON_Delete(p->notes);
	cJSON_Delete(p->answer);
	close(p->event);
}

/* Delivers the notifications received so far. 1: the answer is there. -1 with
 * err. */
static int deliver_notes(struct jsonrpc *w, struct pending *p,
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
		signal_event(w->wake);
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

/* Turns the child's error answer into err. */
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
	return jsonrpc_bad_answer(peer, "its result is not an object", err);
}

static int set_timeout_error(struct jsonrpc *w, const struct jsonrpc_ask *ask,
			     struct error *err)
{
	error_set(err, ERR_TIMEOUT, "%s gave no answer within %lld s",
		  w->peer->name, (long long)(ask->timeout_ms + 999) / 1000);
	pthread_mutex_lock(&w->lock);
	quote_tail(w, err);
	pthread_mutex_unlock(&w->lock);
	return -1;
}

/* Waits for the answer, until the timeout or stop. */
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

		rc = deliver_notes(w, p, ask, stop, err);
		if (rc)
			return rc < 0 ? -1 : 0;
		if (stop_check(stop, err) < 0)
			return -1;
		if (clock_ms() >= limit.deadline)
			return set_timeout_error(w, ask, err);
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
	signal_event(w->wake);
	pthread_mutex_unlock(&w->lock);
}

/* Waits up to grace_ms for the child's end. Then asks the child to terminate,
 * if the peer has a function for that, and waits as long again. True if the
 * child has ended. */
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
			kill_child(w);
		pthread_mutex_unlock(&w->lock);
		(void)io_poll(&end, 1, KILL_MS);
	}
	pthread_mutex_lock(&w->lock);
	break_wire(w, "was stopped");
	signal_event(w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	if (!w->reaped)
		(void)waitpid(w->pid, NULL, WNOHANG);
	release_wire(w);
}

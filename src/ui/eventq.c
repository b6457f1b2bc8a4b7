/* eventq.c - passes agent events from the agent's thread to the screen's. */
/* SPDX-License-Identifier: MIT */
/*
 * The agent's thread must never wait for a slow terminal longer than needed,
 * and memory must not grow while it does. So the writer waits when the queue
 * has MAX_QUEUED bytes, and pieces of one text become one event (join_delta()).
 * An event borrows what it points to from the agent, so the queue has copies.
 * Begin reading at eventq_push() and eventq_take().
 */
#include "ui/eventq.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "tool/result.h"

enum {
	MAX_QUEUED = 1 << 20, /* bytes of text in the queue; a single event may
				 be longer */
	MAX_JOINED = 1 << 16, /* bytes of text in one joined event */
	MAX_TEXT = 64 << 20,
};

struct eventq {
	pthread_mutex_t lock;
	pthread_cond_t room;
	struct queued *first, *last;
	size_t bytes; /* bytes of text of all queued events */
	bool closed;
	int fd; /* eventfd; above zero while the queue is not empty */
};

struct eventq *eventq_new(struct error *err)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct eventq *q;

	if (fd < 0) {
		error_errno(err, "making an event queue");
		return NULL;
	}
	q = xcalloc(1, sizeof(*q));
	q->fd = fd;
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->room, NULL);
	return q;
}

void queued_free(struct queued *item)
{
	if (!item)
		return;
	buf_release(&item->text);
	buf_release(&item->end);
	buf_release(&item->changed);
	free(item->call.id);
	free(item->call.name);
	free(item->call.args);
	free(item->workdir);
	tool_change_release(&item->change);
	if (item->inner)
		free((char *)item->step.type);
	queued_free(item->inner);
	free(item);
}

void eventq_free(struct eventq *q)
{
	if (!q)
		return;
	while (q->first) {
		struct queued *next = q->first->next;

		queued_free(q->first);
		q->first = next;
	}
	close(q->fd);
	pthread_cond_destroy(&q->room);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

int eventq_fd(const struct eventq *q)
{
	return q->fd;
}

static bool same_call(const struct part *a, const struct part *b)
{
	return a == b || (a && b && str_eq(str_of(a->id), str_of(b->id)));
}

/* True for the result of a subagent's call. */
static bool is_step_result(const struct agent_event *ev)
{
	return ev->subagent && ev->subagent->event &&
	       ev->subagent->event->kind == EVENT_TOOL_RESULT;
}

/* Returns the bytes of text that an event occupies in the queue. */
static size_t weight_of(const struct agent_event *ev)
{
	const struct tool_change *c = ev->change;
	size_t inner = is_step_result(ev) ? weight_of(ev->subagent->event) : 0;

	return inner + ev->text.len + ev->end.len + ev->changed.len +
	       (c ? c->before.len + c->after.len + c->stored.len : 0);
}

/* Appends a text delta to the previous event if both belong together, so that
 * the reader gets one event. */
static bool join_delta(struct eventq *q, const struct agent_event *ev)
{
	struct queued *last = q->last;

	if (!last || last->event.kind != ev->kind || is_step_result(ev) ||
	    last->inner || last->text.len + ev->text.len > MAX_JOINED)
		return false;
	if (ev->kind != EVENT_TEXT && ev->kind != EVENT_THINKING &&
	    ev->kind != EVENT_TOOL_OUTPUT && ev->kind != EVENT_SUBAGENT)
		return false;
	if (!same_call(last->event.call, ev->call))
		return false;
	q->bytes -= weight_of(&last->event);
	buf_addstr(&last->text, ev->text);
	last->event.text = buf_str(&last->text);
	buf_clear(&last->end);
	buf_addstr(&last->end, ev->end);
	last->event.end = buf_str(&last->end);
	last->event.progress = ev->progress;
	q->bytes += weight_of(&last->event);
	return true;
}

static char *copy_of(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

static struct queued *copy_event(const struct agent_event *ev);

static void copy_step(struct queued *item, const struct subagent_step *step)
{
	item->inner = copy_event(step->event);
	item->step = *step;
	item->step.type = xstrdup(step->type);
	item->step.event = &item->inner->event;
	item->step.end = NULL;
	item->event.subagent = &item->step;
}

/* Copies an event and what it points to, but of a subagent's steps only the
 * results of calls, and no arguments in events of output and subagents. */
static struct queued *copy_event(const struct agent_event *ev)
{
	struct queued *item = xcalloc(1, sizeof(*item));

	item->event = *ev;
	item->text = BUF_INIT(MAX_TEXT);
	buf_addstr(&item->text, ev->text);
	item->event.text = buf_str(&item->text);
	item->end = BUF_INIT(MAX_TEXT);
	buf_addstr(&item->end, ev->end);
	item->event.end = buf_str(&item->end);
	item->changed = BUF_INIT(MAX_TEXT);
	buf_addstr(&item->changed, ev->changed);
	item->event.changed = buf_str(&item->changed);
	item->workdir = copy_of(ev->workdir);
	item->event.workdir = item->workdir;
	if (ev->call) {
		item->call = (struct part){
			.kind = ev->call->kind,
			.id = copy_of(ev->call->id),
			.name = copy_of(ev->call->name),
			/* left out: arguments may be long, and these events are
			   many */
			.args = ev->kind == EVENT_TOOL_OUTPUT ||
						ev->kind == EVENT_SUBAGENT
					? NULL
					: copy_of(ev->call->args),
			.bad_args = ev->call->bad_args,
		};
		item->event.call = &item->call;
	}
	item->event.subagent = NULL;
	if (is_step_result(ev))
		copy_step(item, ev->subagent);
	item->event.change = tool_change_copy(&item->change, ev->change)
				     ? &item->change
				     : NULL;
	if (ev->usage) {
		item->usage = *ev->usage;
		item->event.usage = &item->usage;
	}
	return item;
}

/* Appends an item. Call with the lock held. */
static void append_item(struct eventq *q, struct queued *item)
{
	static const uint64_t one = 1;

	if (q->last)
		q->last->next = item;
	else
		q->first = item;
	q->last = item;
	if (q->first == item)
		(void)!io_write(q->fd, &one, sizeof(one));
}

void eventq_push(struct eventq *q, const struct agent_event *ev)
{
	struct queued *item;

	pthread_mutex_lock(&q->lock);
	while (!q->closed && q->first && q->bytes + weight_of(ev) > MAX_QUEUED)
		pthread_cond_wait(&q->room, &q->lock);
	if (!q->closed && !join_delta(q, ev)) {
		item = copy_event(ev);
		q->bytes += weight_of(&item->event);
		append_item(q, item);
	}
	pthread_mutex_unlock(&q->lock);
}

void eventq_notify(struct eventq *q, int notice, void *arg)
{
	struct queued *item = xcalloc(1, sizeof(*item));

	item->notice = notice;
	item->arg = arg;
	pthread_mutex_lock(&q->lock);
	append_item(q, item);
	pthread_mutex_unlock(&q->lock);
}

struct queued *eventq_take(struct eventq *q)
{
	struct queued *item;
	uint64_t count;

	pthread_mutex_lock(&q->lock);
	item = q->first;
	if (item) {
		q->first = item->next;
		q->bytes -= weight_of(&item->event);
		item->next = NULL;
		if (!q->first) {
			q->last = NULL;
			(void)!io_read(q->fd, &count, sizeof(count));
		}
		pthread_cond_broadcast(&q->room);
	}
	pthread_mutex_unlock(&q->lock);
	return item;
}

void eventq_close(struct eventq *q)
{
	pthread_mutex_lock(&q->lock);
	q->closed = true;
	pthread_cond_broadcast(&q->room);
	pthread_mutex_unlock(&q->lock);
}

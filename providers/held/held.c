/* held.c - requests to a loop of ours, which one program's streams carry. */
/* SPDX-License-Identifier: MIT */
#include "providers/held/held.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "providers/held/link.h"

enum {
	START_MS = 30000,
	LEAVE_MS = 1000,
	SCRIPTS_MAX = 128 << 10,
	SAID = 320,
	LONGEST_MS = 20000,
	FIRST_MS = 5000,
};

struct held {
	struct held_program program; /* its strings are owned */
	pthread_mutex_t lock;        /* before a link's */
	struct link *link;           /* the newest, or NULL */
	bool reached;                /* the loop has answered once */
};

static char **copy_strings(char *const *from)
{
	size_t n = 0;
	char **to;

	while (from[n])
		n++;
	to = xcalloc(n + 1, sizeof(*to));
	for (size_t i = 0; i < n; i++)
		to[i] = xstrdup(from[i]);
	return to;
}

static void free_strings(char *const *list)
{
	for (char *const *s = list; *s; s++)
		free(*s);
	free((void *)list);
}

struct held *held_new(const struct held_program *p)
{
	struct held *h = xcalloc(1, sizeof(*h));

	h->program = *p;
	h->program.path = xstrdup(p->path);
	h->program.name = xstrdup(p->name);
	h->program.argv = copy_strings(p->argv);
	h->program.env = copy_strings(p->env);
	if (p->script)
		h->program.script = xstrdup(p->script);
	if (!p->start_ms)
		h->program.start_ms = START_MS;
	pthread_mutex_init(&h->lock, NULL);
	return h;
}

void held_free(struct held *h)
{
	if (!h)
		return;
	if (h->link)
		link_free(h->link, LEAVE_MS);
	pthread_mutex_destroy(&h->lock);
	free((void *)h->program.path);
	free((void *)h->program.name);
	free((void *)h->program.script);
	free_strings(h->program.argv);
	free_strings(h->program.env);
	free(h);
}

/* The scripts of the supervisor, for the requests that follow. */
static int preload(struct link *l, struct error *err)
{
	struct buf text = BUF_INIT(SCRIPTS_MAX);
	int rc;

	supervise_preload(&text);
	pthread_mutex_lock(&l->lock);
	rc = link_send(l, NULL, 'l', buf_str(&text), err);
	pthread_mutex_unlock(&l->lock);
	buf_release(&text);
	return rc;
}

static bool is_broken(struct link *l)
{
	bool broken;

	pthread_mutex_lock(&l->lock);
	broken = l->state == LINK_BROKEN;
	pthread_mutex_unlock(&l->lock);
	return broken;
}

/* With the lock held: the link that works, or a new one. NULL with no error:
 * those who use a broken one have to leave it first, which they are about to.
 */
static struct link *get_link(struct held *h, struct error *err)
{
	if (h->link && is_broken(h->link)) {
		if (h->link->users)
			return NULL;
		link_free(h->link, 0);
		h->link = NULL;
	}
	if (!h->link) {
		h->link = link_new(&h->program, err);
		if (h->link)
			(void)preload(h->link, err);
	}
	if (h->link)
		h->link->users++;
	return h->link;
}

static struct link *acquire(struct held *h, const struct stop *stop,
			    struct error *err)
{
	struct error why = { 0 };
	struct link *l;

	for (;;) {
		pthread_mutex_lock(&h->lock);
		l = get_link(h, &why);
		pthread_mutex_unlock(&h->lock);
		if (l)
			return l;
		if (why.code) {
			*err = why;
			return NULL;
		}
		if (stop_sleep(stop, 2, err) < 0)
			return NULL;
	}
}

static void leave(struct held *h, struct link *l)
{
	pthread_mutex_lock(&h->lock);
	l->users--;
	h->reached = h->reached || l->was_ready;
	pthread_mutex_unlock(&h->lock);
}

/* The last two lines of the program's error output, printable. Of its output,
 * where it wrote nothing else: what no loop began in, a menu say. */
static void last_said(struct link *l, struct buf *said)
{
	struct str rest = str_trim(buf_str(&l->tail));
	struct str lines[2] = { 0 };
	struct str line;

	if (!rest.len && !l->was_ready) {
		link_keep_tail(&l->prelude, buf_str(&l->held));
		rest = str_trim(buf_str(&l->prelude));
	}
	while (str_split(&rest, '\n', &line)) {
		lines[0] = lines[1];
		lines[1] = str_trim(line);
	}
	sanitize_line(lines[0], said);
	if (lines[0].len)
		buf_addc(said, ' ');
	sanitize_line(lines[1], said);
	if (said->len > SAID)
		said->len = str_utf8_prefix((struct str){ said->ptr, SAID });
}

/* Why a link broke, or never worked: with its lock held. */
static int explain(const struct held *h, struct link *l, struct error *err)
{
	const struct held_program *p = &h->program;
	struct buf said = BUF_INIT(64 << 10);
	struct str line;

	last_said(l, &said);
	line = buf_str(&said);
	if (!l->spawned || l->refused || (l->was_ready && !line.len)) {
		*err = l->why;
		err->nothing_made = !l->was_ready;
	} else if (l->was_ready) {
		error_set(err, ERR_NETWORK, "the connection to %s broke: %.*s",
			  p->name, (int)line.len, line.ptr);
	} else if (p->failed) {
		p->failed(p->arg, l->status, line, err);
		/* It was there before: worth asking for longer. */
		if (h->reached && err->code == ERR_UNREACHABLE)
			err->code = ERR_NETWORK;
	} else {
		error_set(err, ERR_NETWORK, "cannot reach %s: %.*s", p->name,
			  (int)line.len, line.len ? line.ptr : "");
	}
	buf_release(&said);
	return -1;
}

/* 1: not yet, and *start is when the program has to have answered, or never.
 */
static int look(struct held *h, struct link *l, const struct link_call *c,
		int64_t *start, struct error *err)
{
	int rc = 1;

	pthread_mutex_lock(&l->lock);
	*start = l->state == LINK_STARTING ? l->began + h->program.start_ms
					   : INT64_MAX;
	if (c->done)
		rc = 0;
	else if (clock_ms() >= *start)
		link_break(l, "it did not answer");
	if (rc && l->state == LINK_BROKEN)
		rc = explain(h, l, err);
	pthread_mutex_unlock(&l->lock);
	return rc;
}

/* Whether a request that began then can be answered over it no more: nothing
 * came, or an answer whose end was damaged takes all that comes for its own. */
static bool is_stuck(const struct link *l, const struct link_call *c,
		     int64_t begun)
{
	return l->heard <= begun || (l->body && (l->body_began <= begun ||
						 !strcmp(l->body_id, c->id)));
}

static int await(struct held *h, struct link *l, const struct link_call *c,
		 const struct stop *stop, struct error *err)
{
	int64_t begun = clock_ms();
	int64_t start;
	int rc;

	while ((rc = look(h, l, c, &start, err)) == 1) {
		struct stop limit = *stop;
		struct pollfd set[] = {
			{ .fd = c->event, .events = POLLIN },
			{ .fd = stop_fd(stop), .events = POLLIN },
		};
		uint64_t count;

		rc = stop_check(stop, err);
		if (rc < 0)
			break;
		if (start < limit.deadline)
			limit.deadline = start;
		(void)poll(set, 2, stop_poll_ms(&limit, -1));
		if (set[0].revents)
			(void)!io_read(c->event, &count, sizeof(count));
	}
	if (rc == 0 || err->code != ERR_TIMEOUT)
		return rc;
	pthread_mutex_lock(&l->lock);
	/* A slow login goes on for the next request. */
	if (l->state == LINK_READY && is_stuck(l, c, begun))
		link_break(l, "it is silent");
	pthread_mutex_unlock(&l->lock);
	return rc;
}

static int call(struct held *h, char kind, struct str text, struct buf *out,
		const struct stop *stop, struct error *err)
{
	struct link_call c = { .out = out,
			       .event =
				       eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	struct link *l;
	bool waited;
	int rc;

	if (c.event < 0)
		return error_errno(err, "creating an event");
	l = acquire(h, stop, err);
	if (!l) {
		close(c.event);
		return -1;
	}
	ids_random(c.id, LINK_ID);
	pthread_mutex_lock(&l->lock);
	rc = link_send(l, &c, kind, text, err);
	pthread_mutex_unlock(&l->lock);
	if (rc == 0)
		rc = await(h, l, &c, stop, err);
	pthread_mutex_lock(&l->lock);
	waited = link_forget(l, &c);
	pthread_mutex_unlock(&l->lock);
	leave(h, l);
	if (rc < 0 && waited)
		err->nothing_made = true;
	close(c.event);
	if (rc == 0 && c.over)
		rc = error_set(err, ERR_PROTOCOL, "the answer is too large");
	return rc;
}

int held_call(void *held, struct str text, int64_t wait_ms, struct buf *out,
	      const struct stop *stop, struct error *err)
{
	(void)wait_ms;
	return call(held, 't', text, out, stop, err);
}

int held_call_job(void *held, struct str text, int64_t wait_ms, struct buf *out,
		  const struct stop *stop, struct error *err)
{
	(void)wait_ms;
	return call(held, 'j', text, out, stop, err);
}

struct supervisor held_supervisor(struct held *h)
{
	return (struct supervisor){
		.call = held_call_job,
		.arg = h,
		.max_command = LINK_REQUEST,
		.longest_ms = LONGEST_MS,
		.first_ms = FIRST_MS,
		.preloaded = true,
	};
}

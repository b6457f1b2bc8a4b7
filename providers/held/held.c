/* held.c - sends requests to a shell loop over the streams of one program. */
/* SPDX-License-Identifier: MIT */
/*
 * A link is one run of the program (ssh, srun). Its thread (run_link) starts
 * the program, transfers the bytes and reaps it. feed_bytes() finds the answers
 * in the output: each is between the lines "@held:ID:begin" and "@held:ID:end".
 * struct held exists longer than its links: it gives a caller the working link
 * or a new one (acquire_link), and explains why one broke. Begin with
 * call_loop().
 *
 * Lock order: the lock of struct held, then a link's. A caller waits on an
 * eventfd of its call, so that a cancel can wake it, too.
 */
#include "providers/held/held.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/ids.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/sanitize.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/thread.h"
#include "sandbox/quote.h"
#include "sandbox/supervise/request.h"

enum {
	START_MS = 30000,
	LEAVE_MS = 1000,
	SCRIPTS_MAX = 128 << 10,
	SAID = 320, /* bytes of the program's output that an error quotes */
	LONGEST_MS = 20000,
	FIRST_MS = 5000,
	/* Constants for links: */
	LINK_ID = 16,           /* characters of a request's id */
	LINK_REQUEST = 4 << 20, /* bytes of a request */
	/* bytes of requests that were not written to the loop yet */
	LINK_QUEUE = 64 << 20,
	/* bytes of output between two answers; more breaks the link */
	LINK_NOISE = 1 << 20,
	/* last bytes of output and error output, kept for error messages */
	LINK_TAIL = 2048,
	MARK_MAX = 64, /* bytes of a line that marks an answer's begin or end */
	CHUNK = 64 << 10,
	/* ms to wait for the exit status after the output was closed */
	STATUS_MS = 500,
	KILL_MS = 2000,
};

/* Indexes of the descriptors that a link polls. */
enum { AT_WAKE, AT_END, AT_OUT, AT_ERR, AT_IN, AT_COUNT };

enum link_state { LINK_STARTING, LINK_READY, LINK_BROKEN };

/* A request that has no complete answer yet. */
struct link_call {
	char id[LINK_ID + 1];
	struct buf *out; /* the caller's buffer for the answer */
	bool over;       /* the answer did not fit into out */
	bool done;
	int event; /* readable when the call is done or the link is broken */
	size_t from, size; /* the request's bytes in link.waiting */
	struct link_call *next;
};

/* The lock guards all fields except users, program, pid and the stream
 * descriptors. */
struct link {
	const struct held_program *program;
	pthread_mutex_t lock;
	pthread_t thread;
	enum link_state state;
	bool was_ready;
	bool leaving;
	/* calls that use the link; guarded by the lock of struct held */
	unsigned users;
	pid_t pid;
	int status; /* exit status of the program; -1: unknown */
	bool spawned;
	/* why the program did not start, or why dcode broke the link */
	struct error why;
	bool refused; /* why is about bad output of the program */
	int in, out, err, wake;
	char nonce[LINK_ID + 1];
	struct buf queue;   /* bytes to write to the program */
	struct buf waiting; /* bytes to write to it once the loop is ready */
	struct buf held;    /* bytes read but not parsed yet */
	bool body;          /* the output is inside an answer */
	char body_id[LINK_ID + 1];
	int64_t body_began; /* clock_ms() when that answer's first line came */
	size_t noise;
	struct buf tail;
	/* the last output in front of the loop's first line */
	struct buf prelude;
	int64_t began; /* clock_ms() when the program was started */
	int64_t heard; /* clock_ms() of the last output byte */
	struct link_call *calls;
};

static const unsigned char loop_sh[] = {
#include "scripts/sandbox/held.sh.inc"
};

void held_add_loop(struct buf *out)
{
	quote_script(out, SCRIPT(loop_sh));
}

static void wake_event(int event)
{
	uint64_t one = 1;

	(void)!io_write(event, &one, sizeof(one));
}

/* Appends to the output that is kept for error messages, its last LINK_TAIL
 * bytes. */
static void append_tail(struct buf *tail, struct str bytes)
{
	if (bytes.len > LINK_TAIL)
		bytes = str_skip(bytes, bytes.len - LINK_TAIL);
	buf_addstr(tail, bytes);
	if (tail->len > LINK_TAIL)
		buf_consume(tail, tail->len - LINK_TAIL);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Breaks the link and fails its calls with reason. Called with the link's lock
 * held, like the following functions. */
static void break_link(struct link *l, const char *reason)
{
	if (l->state == LINK_BROKEN)
		return;
	l->state = LINK_BROKEN;
	if (!l->why.code)
		error_set(&l->why, ERR_NETWORK, "the connection to %s: %s",
			  l->program->name, reason);
	for (struct link_call *c = l->calls; c; c = c->next)
		wake_event(c->event);
	wake_event(l->wake);
}

static struct link_call *find_call(struct link *l, const char *id)
{
	struct link_call *c = l->calls;

	while (c && strcmp(c->id, id) != 0)
		c = c->next;
	return c;
}

static void add_body(struct link *l, struct str bytes)
{
	struct link_call *c = find_call(l, l->body_id);

	if (!c)
		return;
	buf_addstr(c->out, bytes);
	c->over = c->over || c->out->over;
}

/* Parses the line "@held:ID:WORD". False for any other line. */
static bool parse_mark(struct link *l, struct str line, struct str *id,
		       struct str *word)
{
	(void)l;
	if (!str_starts(line, "@held:") || line.len > MARK_MAX)
		return false;
	line = str_skip(line, strlen("@held:"));
	return str_split(&line, ':', id) && id->len == LINK_ID &&
	       str_split(&line, ':', word) && !line.len;
}

/* Breaks the link because of bad output. Always returns false. */
static bool fail_link(struct link *l, enum err code, const char *reason)
{
	l->refused = true;
	error_set(&l->why, code, "the connection to %s: %s", l->program->name,
		  reason);
	break_link(l, reason);
	return false;
}

/* Breaks the link because of too much output. If the login printed it, this is
 * ERR_CONFIG, which is not retried: the next login would print it, too. */
static bool refuse_noise(struct link *l)
{
	return fail_link(l,
			 l->state == LINK_STARTING ? ERR_CONFIG : ERR_NETWORK,
			 "it sent unexpected output");
}

/* Breaks the link because the loop's first word was not "ready". */
static bool refuse_loop(struct link *l, struct str word)
{
	char reason[MARK_MAX + 32];

	if (!str_starts(word, "lacks-"))
		return fail_link(l, ERR_CONFIG, "it has no writable directory");
	word = str_skip(word, strlen("lacks-"));
	(void)snprintf(reason, sizeof(reason), "its PATH has no program %.*s",
		       (int)word.len, word.ptr);
	return fail_link(l, ERR_CONFIG, reason);
}

/* Handles one line of output that is not inside an answer. */
static bool feed_line(struct link *l, struct str line)
{
	struct str id = { 0 };
	struct str word = { 0 };
	bool mark = parse_mark(l, line, &id, &word);

	if (mark && str_is(id, l->nonce) && l->state == LINK_STARTING) {
		if (!str_is(word, "ready"))
			return refuse_loop(l, word);
		l->state = LINK_READY;
		l->was_ready = true;
		l->noise = 0;
		buf_clear(&l->tail); /* drop what the login has printed */
		buf_addstr(&l->queue, buf_str(&l->waiting));
		buf_clear(&l->waiting);
		return true;
	}
	if (mark && str_is(word, "begin")) {
		memcpy(l->body_id, id.ptr, LINK_ID);
		l->body = true;
		l->body_began = clock_ms();
		l->noise = 0;
		return true;
	}
	if (l->state == LINK_STARTING) {
		if (str_starts(line, "held_nonce="))
			return fail_link(
				l, ERR_CONFIG,
				"not a shell: the program that started "
				"there echoes its input");
		append_tail(&l->prelude, line);
		append_tail(&l->prelude, STR("\n"));
	}
	l->noise += line.len + 1;
	if (l->noise <= LINK_NOISE)
		return true;
	return refuse_noise(l);
}

/* Handles output inside an answer: appends all bytes that cannot be part of the
 * end line to the call's buffer. True if the end line was found. */
static bool feed_body(struct link *l)
{
	char end[MARK_MAX];
	struct str all = buf_str(&l->held);
	struct link_call *c;
	size_t at;

	(void)snprintf(end, sizeof(end), "\n@held:%s:end\n", l->body_id);
	at = str_search(all, str_of(end));
	if (at == all.len) {
		size_t keep = strlen(end) - 1;

		if (all.len > keep) {
			add_body(l, (struct str){ all.ptr, all.len - keep });
			buf_consume(&l->held, all.len - keep);
		}
		return false;
	}
	add_body(l, (struct str){ all.ptr, at });
	buf_consume(&l->held, at + strlen(end));
	c = find_call(l, l->body_id);
	if (c) {
		c->done = true;
		wake_event(c->event);
	}
	l->body = false;
	return true;
}

/* Parses output of the program. False if the link broke, so that the rest
 * cannot be parsed. */
static bool feed_bytes(struct link *l, struct str bytes)
{
	buf_addstr(&l->held, bytes);
	for (;;) {
		struct str all = buf_str(&l->held);
		size_t n;

		if (l->body) {
			if (!feed_body(l))
				return true;
			continue;
		}
		n = str_find(all, '\n');
		if (n == all.len)
			break;
		if (!feed_line(l, (struct str){ all.ptr, n }))
			return false;
		buf_consume(&l->held, n + 1);
	}
	/* A line outside of answers is too long. */
	if (l->held.len > LINK_NOISE)
		return refuse_noise(l);
	return true;
}

/* Starts the program. Must run on the link's own thread: the program is killed
 * when that thread ends. */
static int start_program(struct link *l, struct error *err)
{
	int theirs[3] = { -1, -1, -1 };
	struct proc_spec spec = { .path = l->program->path,
				  .argv = l->program->argv,
				  .env = l->program->env,
				  .fds = theirs,
				  .nfds = 3,
				  .session = true };
	int rc = proc_pipe(&l->in, &theirs[0], false, err);

	if (rc == 0)
		rc = proc_pipe(&l->out, &theirs[1], true, err);
	if (rc == 0)
		rc = proc_pipe(&l->err, &theirs[2], true, err);
	if (rc == 0)
		rc = proc_spawn_bound(&spec, &l->pid, err);
	for (int i = 0; i < 3; i++)
		if (theirs[i] >= 0)
			close(theirs[i]);
	return rc;
}

/* Reads from the output or error output. False if nothing was read. */
static bool read_chunk(struct link *l, int *fd)
{
	char room[CHUNK];
	ssize_t n = *fd < 0 ? 0 : io_read(*fd, room, sizeof(room));
	struct str bytes = { room, n > 0 ? (size_t)n : 0 };

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		close_fd(fd);
		return false;
	}
	pthread_mutex_lock(&l->lock);
	/* Only output proves that the loop works: a shell whose input is
	 * damaged may still print errors. */
	if (fd == &l->out)
		l->heard = clock_ms();
	if (fd == &l->err) {
		append_tail(&l->tail, bytes);
	} else if (l->state != LINK_BROKEN) {
		(void)feed_bytes(l, bytes);
	}
	pthread_mutex_unlock(&l->lock);
	return true;
}

static void write_queue(struct link *l)
{
	ssize_t n;

	pthread_mutex_lock(&l->lock);
	n = l->queue.len ? write(l->in, l->queue.ptr, l->queue.len) : 0;
	if (n > 0)
		buf_consume(&l->queue, (size_t)n);
	if ((n < 0 && errno != EAGAIN && errno != EINTR) ||
	    (l->leaving && !l->queue.len))
		close_fd(&l->in);
	pthread_mutex_unlock(&l->lock);
}

/* Reaps the program. Before that, kills the rest of its process group: until it
 * is reaped, no other group can get its number. */
static void reap_program(struct link *l, bool wait)
{
	struct error ignored = { 0 };
	int fd = proc_fd(l->pid, &ignored);
	struct pollfd end = { .fd = fd, .events = POLLIN };
	int status = 0;
	bool ended = fd >= 0 && io_poll(&end, 1, wait ? STATUS_MS : 0) > 0;

	while (read_chunk(l, &l->err))
		;
	(void)kill(-l->pid, SIGKILL);
	if (fd >= 0)
		(void)io_poll(&end, 1, KILL_MS);
	close_fd(&fd);
	if (waitpid(l->pid, &status, WNOHANG) != l->pid || !ended)
		return;
	pthread_mutex_lock(&l->lock);
	l->status = proc_exit_code(status);
	pthread_mutex_unlock(&l->lock);
}

/* Waits for one event of the streams and handles it. False when the program has
 * ended. */
static bool move_bytes(struct link *l, int end)
{
	struct pollfd set[AT_COUNT] = {
		[AT_WAKE] = { .fd = l->wake, .events = POLLIN },
		[AT_END] = { .fd = end, .events = POLLIN },
		[AT_ERR] = { .fd = l->err, .events = POLLIN },
		[AT_OUT] = { .fd = l->out, .events = POLLIN },
		[AT_IN] = { .fd = -1, .events = POLLOUT },
	};
	uint64_t count;
	bool over;

	pthread_mutex_lock(&l->lock);
	if (l->queue.len || l->leaving)
		set[AT_IN].fd = l->in;
	over = l->state == LINK_BROKEN;
	pthread_mutex_unlock(&l->lock);
	if (over || l->out < 0)
		return false;
	if (poll(set, AT_COUNT, -1) < 0)
		return errno == EINTR;
	if (set[AT_WAKE].revents)
		(void)!io_read(l->wake, &count, sizeof(count));
	if (set[AT_IN].revents)
		write_queue(l);
	if (set[AT_ERR].revents)
		(void)read_chunk(l, &l->err);
	if (set[AT_OUT].revents)
		(void)read_chunk(l, &l->out);
	if (!set[AT_END].revents)
		return true;
	while (read_chunk(l, &l->out))
		;
	return false;
}

/* Thread of a link: starts the program, transfers bytes until it ends, and
 * reaps it. */
static void *run_link(void *arg)
{
	struct link *l = arg;
	struct error why = { 0 };
	int end = -1;
	int rc = start_program(l, &why);

	if (rc == 0)
		end = proc_fd(l->pid, &why);
	pthread_mutex_lock(&l->lock);
	l->spawned = rc == 0;
	if (rc < 0 || end < 0) {
		l->why = why;
		break_link(l, "");
	}
	pthread_mutex_unlock(&l->lock);
	while (end >= 0 && move_bytes(l, end))
		;
	close_fd(&end);
	if (rc == 0) {
		bool asked;

		pthread_mutex_lock(&l->lock);
		asked = l->state == LINK_BROKEN;
		pthread_mutex_unlock(&l->lock);
		reap_program(l, !asked);
	}
	close_fd(&l->in);
	close_fd(&l->out);
	close_fd(&l->err);
	pthread_mutex_lock(&l->lock);
	break_link(l, "it ended");
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

static void destroy_link(struct link *l)
{
	close_fd(&l->wake);
	buf_release(&l->queue);
	buf_release(&l->waiting);
	buf_release(&l->held);
	buf_release(&l->tail);
	buf_release(&l->prelude);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

/* Starts the link's thread, which starts the program. The script that the
 * program's sh runs is queued first. */
static struct link *new_link(const struct held_program *program,
			     struct error *err)
{
	struct link *l = xcalloc(1, sizeof(*l));

	*l = (struct link){ .program = program,
			    .in = -1,
			    .out = -1,
			    .err = -1,
			    .status = -1,
			    .began = clock_ms(),
			    .heard = clock_ms(),
			    .queue = BUF_INIT(LINK_QUEUE),
			    .waiting = BUF_INIT(LINK_QUEUE),
			    .held = BUF_INIT(LINK_NOISE + 2 * CHUNK),
			    .tail = BUF_INIT(LINK_TAIL + CHUNK),
			    .prelude = BUF_INIT(LINK_TAIL + CHUNK) };
	pthread_mutex_init(&l->lock, NULL);
	ids_random(l->nonce, LINK_ID);
	buf_addf(&l->queue, "held_nonce=%s\n", l->nonce);
	if (program->script) {
		buf_adds(&l->queue, program->script);
	} else {
		held_add_loop(&l->queue);
		/* sh must read the whole script before it runs it: the loop's
		 * requests follow on the same stream */
		buf_adds(&l->queue, "held_loop; exit\n");
	}
	l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->wake < 0)
		error_errno(err, "creating an event");
	else if (thread_start(&l->thread, run_link, l, err) == 0)
		return l;
	destroy_link(l);
	return NULL;
}

/* Queues a request; kind is one of those in held.sh. c NULL: no answer is
 * expected. Requests to a broken link are accepted, too: its state explains why
 * there is no answer. */
static int queue_request(struct link *l, struct link_call *c, char kind,
			 struct str text, struct error *err)
{
	struct buf *to = l->state == LINK_READY ? &l->queue : &l->waiting;
	bool whole = text.len && text.ptr[text.len - 1] == '\n';
	size_t lines = !whole;
	size_t from = to->len;

	for (size_t i = 0; i < text.len; i++)
		lines += text.ptr[i] == '\n';
	if (text.len > LINK_REQUEST || to->len + text.len + 100 > to->max)
		return error_set(err, ERR_LIMIT, "too much unsent data for %s",
				 l->program->name);
	buf_addf(to, "%s %c %zu %zu\n", c ? c->id : "-", kind,
		 text.len + !whole, lines);
	buf_addstr(to, text);
	if (!whole)
		buf_addc(to, '\n');
	if (c) {
		c->from = from;
		c->size = to->len - from;
		c->next = l->calls;
		l->calls = c;
	}
	wake_event(l->wake);
	return 0;
}

/* Removes a request that was not written to the loop yet. */
static void remove_request(struct link *l, const struct link_call *c)
{
	struct buf *b = &l->waiting;
	size_t end = c->from + c->size;

	memmove(b->ptr + c->from, b->ptr + end, b->len - end);
	b->len -= c->size;
	for (struct link_call *o = l->calls; o; o = o->next)
		if (o->from > c->from)
			o->from -= c->size;
}

/* Removes c from the list of calls, so that its answer will be dropped. True if
 * the loop was not ready yet: then the request will never be sent. */
static bool forget_call(struct link *l, struct link_call *c)
{
	struct link_call **at = &l->calls;
	bool waits = l->state == LINK_STARTING && c->size;

	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	if (waits)
		remove_request(l, c);
	return waits;
}

/* Waits grace_ms for the program to end by itself, then kills it. Frees l. */
static void free_link(struct link *l, int64_t grace_ms)
{
	int64_t end = clock_ms() + grace_ms;
	struct stop until = stop_cleanup(grace_ms);
	struct error ignored = { 0 };
	bool over = false;

	pthread_mutex_lock(&l->lock);
	l->leaving = true;
	pthread_mutex_unlock(&l->lock);
	wake_event(l->wake);
	while (!over && clock_ms() < end) {
		pthread_mutex_lock(&l->lock);
		over = l->state == LINK_BROKEN;
		pthread_mutex_unlock(&l->lock);
		if (!over)
			(void)stop_sleep(&until, 2, &ignored);
	}
	pthread_mutex_lock(&l->lock);
	break_link(l, "it was closed");
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	destroy_link(l);
}

struct held {
	struct held_program program; /* copy; owns its strings */
	pthread_mutex_t lock;        /* taken before a link's lock */
	struct link *link;           /* the newest one, or NULL */
	bool reached;                /* a loop has answered at least once */
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
		free_link(h->link, LEAVE_MS);
	pthread_mutex_destroy(&h->lock);
	free((void *)h->program.path);
	free((void *)h->program.name);
	free((void *)h->program.script);
	free_strings(h->program.argv);
	free_strings(h->program.env);
	free(h);
}

/* Sends the supervisor's scripts, to which later requests refer. */
static int send_scripts(struct link *l, struct error *err)
{
	struct buf text = BUF_INIT(SCRIPTS_MAX);
	int rc;

	supervise_preload(&text);
	pthread_mutex_lock(&l->lock);
	rc = queue_request(l, NULL, 'l', buf_str(&text), err);
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

/* Returns the working link, or a new one. NULL without an error: other calls
 * still use the broken link, but will release it soon. Called with the lock
 * held. */
static struct link *get_link(struct held *h, struct error *err)
{
	if (h->link && is_broken(h->link)) {
		if (h->link->users)
			return NULL;
		free_link(h->link, 0);
		h->link = NULL;
	}
	if (!h->link) {
		h->link = new_link(&h->program, err);
		if (h->link)
			(void)send_scripts(h->link, err);
	}
	if (h->link)
		h->link->users++;
	return h->link;
}

/* Returns a link that works, or waits until the users of a broken one have
 * released it. */
static struct link *acquire_link(struct held *h, const struct stop *stop,
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

static void release_link(struct held *h, struct link *l)
{
	pthread_mutex_lock(&h->lock);
	l->users--;
	h->reached = h->reached || l->was_ready;
	pthread_mutex_unlock(&h->lock);
}

/* Appends the last two lines of the program's error output, made printable. If
 * it is empty and the loop was not ready, appends those of its output, which
 * may be a menu, for example. */
static void add_last_lines(struct link *l, struct buf *said)
{
	struct str rest = str_trim(buf_str(&l->tail));
	struct str lines[2] = { 0 };
	struct str line;

	if (!rest.len && !l->was_ready) {
		append_tail(&l->prelude, buf_str(&l->held));
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

/* Sets err to why the link broke or never worked. Called with the link's lock
 * held. */
static int explain_break(const struct held *h, struct link *l,
			 struct error *err)
{
	const struct held_program *p = &h->program;
	struct buf said = BUF_INIT(64 << 10);
	struct str line;

	add_last_lines(l, &said);
	line = buf_str(&said);
	if (!l->spawned || l->refused || (l->was_ready && !line.len)) {
		*err = l->why;
		err->nothing_made = !l->was_ready;
	} else if (l->was_ready) {
		error_set(err, ERR_NETWORK, "the connection to %s broke: %.*s",
			  p->name, (int)line.len, line.ptr);
	} else if (p->failed) {
		p->failed(p->arg, l->status, line, err);
		/* The host was reached before, so retries make sense. */
		if (h->reached && err->code == ERR_UNREACHABLE)
			err->code = ERR_NETWORK;
	} else {
		error_set(err, ERR_NETWORK, "cannot reach %s: %.*s", p->name,
			  (int)line.len, line.len ? line.ptr : "");
	}
	buf_release(&said);
	return -1;
}

/* Returns 1 while the call has no answer. *start is then the time by which the
 * program must have answered, or INT64_MAX. */
static int check_call(struct held *h, struct link *l, const struct link_call *c,
		      int64_t *start, struct error *err)
{
	int rc = 1;

	pthread_mutex_lock(&l->lock);
	*start = l->state == LINK_STARTING ? l->began + h->program.start_ms
					   : INT64_MAX;
	if (c->done)
		rc = 0;
	else if (clock_ms() >= *start)
		break_link(l, "it did not answer");
	if (rc && l->state == LINK_BROKEN)
		rc = explain_break(h, l, err);
	pthread_mutex_unlock(&l->lock);
	return rc;
}

/* True if this link probably cannot answer a request that was sent at begun:
 * nothing has arrived since then, or an answer that began before it, or its
 * own, is still not complete. Its end line may be damaged, and then all later
 * output would be taken for a part of it. */
static bool is_stuck(const struct link *l, const struct link_call *c,
		     int64_t begun)
{
	return l->heard <= begun || (l->body && (l->body_began <= begun ||
						 !strcmp(l->body_id, c->id)));
}

/* Waits for the call's answer, the link's failure, or stop. */
static int await_answer(struct held *h, struct link *l,
			const struct link_call *c, const struct stop *stop,
			struct error *err)
{
	int64_t begun = clock_ms();
	int64_t start;
	int rc;

	while ((rc = check_call(h, l, c, &start, err)) == 1) {
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
	/* A login may only be slow: the next request can then use the link. */
	if (l->state == LINK_READY && is_stuck(l, c, begun))
		break_link(l, "it does not answer");
	pthread_mutex_unlock(&l->lock);
	return rc;
}

/* Sends one request and waits for its answer. Sets err->nothing_made if it
 * failed before the loop could run it. */
static int call_loop(struct held *h, char kind, struct str text,
		     struct buf *out, const struct stop *stop,
		     struct error *err)
{
	struct link_call c = { .out = out,
			       .event =
				       eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	struct link *l;
	bool waited;
	int rc;

	if (c.event < 0)
		return error_errno(err, "creating an event");
	l = acquire_link(h, stop, err);
	if (!l) {
		close(c.event);
		return -1;
	}
	ids_random(c.id, LINK_ID);
	pthread_mutex_lock(&l->lock);
	rc = queue_request(l, &c, kind, text, err);
	pthread_mutex_unlock(&l->lock);
	if (rc == 0)
		rc = await_answer(h, l, &c, stop, err);
	pthread_mutex_lock(&l->lock);
	waited = forget_call(l, &c);
	pthread_mutex_unlock(&l->lock);
	release_link(h, l);
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
	return call_loop(held, 't', text, out, stop, err);
}

int held_call_job(void *held, struct str text, int64_t wait_ms, struct buf *out,
		  const struct stop *stop, struct error *err)
{
	(void)wait_ms;
	return call_loop(held, 'j', text, out, stop, err);
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

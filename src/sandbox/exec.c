/* exec.c - state of the commands of a sandbox. */
/* SPDX-License-Identifier: MIT */

/*
 * State that sandbox_execute() and supervise.c keep for each sandbox:
 * background work that the first command waits for; kills of commands whose
 * caller has returned; the shell, system and user of its commands; and the jobs
 * whose output has been read, so that the next request can remove it.
 */
#include "sandbox/exec.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "base/thread.h"
#include "sandbox/frame.h"

int exec_collect_output(void *arg, enum exec_stream stream, struct str chunk,
			struct buf *reply, struct error *err)
{
	(void)reply;
	(void)err;
	if (stream == EXEC_STDOUT)
		buf_addstr(arg, chunk);
	return 0;
}

/* One for each sandbox, for all its works, because other threads may be waiting
 * for the end of one. */
struct background {
	pthread_mutex_t lock; /* guards the members below */
	struct background_work work;
	pthread_t thread; /* valid if begun */
	bool begun;       /* the thread must be joined */
	bool known;       /* rc and why are final */
	bool said;        /* the failure was reported: do not report it again */
	int rc;
	struct error why;
	struct cancel cancel;
	struct cancel ended; /* triggered when the work has ended */
};

static void *run_background(void *arg)
{
	struct background *b = arg;
	struct stop stop = stop_on(&b->cancel);
	struct error why = { 0 };
	struct background_work work;
	int rc;

	pthread_mutex_lock(&b->lock);
	work = b->work;
	pthread_mutex_unlock(&b->lock);
	rc = work.run(work.arg, &stop, &why);
	pthread_mutex_lock(&b->lock);
	b->rc = rc;
	b->why = why;
	b->known = true;
	pthread_mutex_unlock(&b->lock);
	cancel_trigger(&b->ended);
	return NULL;
}

static void free_background(struct background *b)
{
	cancel_release(&b->cancel);
	cancel_release(&b->ended);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

static struct background *new_background(struct error *err)
{
	struct background *b = xcalloc(1, sizeof(*b));

	b->cancel = b->ended = (struct cancel){ { -1, -1 } };
	pthread_mutex_init(&b->lock, NULL);
	if (cancel_init(&b->cancel, err) == 0 &&
	    cancel_init(&b->ended, err) == 0)
		return b;
	free_background(b);
	return NULL;
}

/* True if the work has not ended, and this is not its own thread. */
static bool must_wait(struct background *b)
{
	bool must;

	pthread_mutex_lock(&b->lock);
	must = b->begun && !b->known &&
	       !pthread_equal(b->thread, pthread_self());
	pthread_mutex_unlock(&b->lock);
	return must;
}

int background_wait(struct background *b, const struct stop *stop,
		    struct error *err)
{
	return b && must_wait(b) ? cancel_await(&b->ended, stop, err) : 0;
}

int background_failed(struct background *b, struct error *err)
{
	int rc = 0;

	if (!b)
		return 0;
	pthread_mutex_lock(&b->lock);
	if (b->begun && b->known && !b->said && b->rc < 0) {
		b->said = true;
		*err = b->why;
		rc = -1;
	}
	pthread_mutex_unlock(&b->lock);
	return rc;
}

/* Waits up to ms, then cancels the work. -1 with err if it has failed. */
static int join_background(struct background *b, int64_t ms, struct error *err)
{
	struct stop limit = stop_cleanup(ms);
	struct error ignored = { 0 };
	int rc;

	if (!b->begun)
		return 0;
	if (background_wait(b, &limit, &ignored) < 0)
		cancel_trigger(&b->cancel);
	pthread_join(b->thread, NULL);
	rc = background_failed(b, err);
	pthread_mutex_lock(&b->lock);
	b->begun = false;
	pthread_mutex_unlock(&b->lock);
	if (b->work.release)
		b->work.release(b->work.arg);
	return rc;
}

int background_start(_Atomic(struct background *) *at,
		     const struct background_work *work, struct error *err)
{
	struct background *b = atomic_load(at);
	struct error ignored = { 0 };
	int rc = -1;

	if (b)
		(void)join_background(b, INT32_MAX, &ignored);
	if (!b) {
		b = new_background(err);
		atomic_store(at, b);
	}
	if (b) {
		pthread_mutex_lock(&b->lock);
		b->work = *work;
		b->known = b->said = false;
		cancel_reset(&b->cancel);
		cancel_reset(&b->ended);
		rc = thread_start(&b->thread, run_background, b, err);
		b->begun = rc == 0;
		pthread_mutex_unlock(&b->lock);
	}
	if (rc < 0 && work->release)
		work->release(work->arg);
	return rc;
}

int background_end(_Atomic(struct background *) *at, int64_t ms,
		   struct error *err)
{
	struct background *b = atomic_exchange(at, NULL);
	int rc;

	if (!b)
		return 0;
	rc = join_background(b, ms, err);
	free_background(b);
	return rc;
}

enum { RELEASE_MAX = 16 << 10 };

/* Reads PRETTY_NAME of os-release(5), which is quoted like a word of sh. */
static bool read_os_release(struct sandbox_facts *f)
{
	struct buf text = BUF_INIT(RELEASE_MAX);
	struct error ignored = { 0 };
	struct str line = { 0 };
	struct str rest;
	bool found = false;

	if (path_read("/etc/os-release", &text, &ignored) < 0)
		(void)path_read("/usr/lib/os-release", &text, &ignored);
	rest = buf_str(&text);
	while (!found && str_split(&rest, '\n', &line))
		found = str_starts(line, "PRETTY_NAME=");
	if (found) {
		line = str_skip(line, strlen("PRETTY_NAME="));
		if (line.len > 1 && (*line.ptr == '"' || *line.ptr == '\'')) {
			line = str_skip(line, 1);
			line.len -= str_ends(line, "\"") || str_ends(line, "'");
		}
		snprintf(f->system, sizeof(f->system), "%.*s", (int)line.len,
			 line.ptr);
	}
	buf_release(&text);
	return found && line.len;
}

void facts_here(struct sandbox_facts *f, const char *user)
{
	const char *own = geteuid() == 0 ? "root" : getenv("USER");
	struct utsname name;

	snprintf(f->user, sizeof(f->user), "%s", user ? user : own ? own : "");
	if (!read_os_release(f) && uname(&name) == 0)
		snprintf(f->system, sizeof(f->system), "%s", name.sysname);
}

void facts_add_script(struct buf *out, const char *nonce)
{
	buf_addf(out,
		 "(s=sh;command -v bash >/dev/null&&s=bash;"
		 "o=$(. /etc/os-release&&printf %%s \"$PRETTY_NAME\");"
		 "printf '\\036dcode-%s %%s|%%s|%%s\\036' $s "
		 "\"$(id -un||id -u)\" \"${o:-$(uname -s)}\") 2>/dev/null\n",
		 nonce);
}

/* Copies text as one line without control characters, cut to fit. */
static void copy_clean(struct str text, char *room, size_t size)
{
	struct buf clean = BUF_INIT(ASIDE_MAX);
	struct str s;

	sanitize_line(text, &clean);
	s = str_trim(buf_str(&clean));
	if (s.len >= size) {
		s.len = size - 1;
		s.len = str_utf8_prefix(s);
	}
	snprintf(room, size, "%.*s", (int)s.len, s.len ? s.ptr : "");
	buf_release(&clean);
}

void facts_read(struct sandbox_facts *f, struct str aside)
{
	struct str shell = { 0 };
	struct str user = { 0 };

	*f = (struct sandbox_facts){ 0 };
	if (!str_split(&aside, '|', &shell) || !str_split(&aside, '|', &user))
		return;
	copy_clean(shell, f->shell, sizeof(f->shell));
	copy_clean(user, f->user, sizeof(f->user));
	copy_clean(aside, f->system, sizeof(f->system));
}

void facts_describe(const struct sandbox_facts *f, struct buf *out)
{
	buf_addf(out, "Commands run in %s", f->shell[0] ? f->shell : "sh");
	if (f->system[0])
		buf_addf(out, " on %s", f->system);
	if (f->user[0])
		buf_addf(out, ", as the user %s", f->user);
	buf_addc(out, '.');
}

/* ms: how long kills_run() waits for its kill after a cancel */
enum { PROMPT_MS = 30 };

struct kill_queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* the one that runs now, followed by those that wait */
	struct kill *first;
	bool running; /* the thread has been started */
	bool leaving;
	pthread_t thread;
};

struct kill_queue *kills_new(void)
{
	struct kill_queue *ks = xcalloc(1, sizeof(*ks));

	pthread_mutex_init(&ks->lock, NULL);
	pthread_cond_init(&ks->changed, NULL);
	return ks;
}

void kill_drop(struct kill *k)
{
	if (atomic_fetch_sub(&k->others, 1) > 0)
		return;
	if (k->queued)
		cancel_release(&k->over);
	k->release(k);
}

/* Main function of the thread. A kill stays first in the queue until it is
 * over; other threads only append. */
static void *run_kills(void *arg)
{
	struct kill_queue *ks = arg;
	struct kill *k;

	pthread_mutex_lock(&ks->lock);
	for (;;) {
		while (!ks->first && !ks->leaving)
			pthread_cond_wait(&ks->changed, &ks->lock);
		k = ks->first;
		if (!k)
			break;
		pthread_mutex_unlock(&ks->lock);
		k->run(k);
		pthread_mutex_lock(&ks->lock);
		ks->first = k->next;
		cancel_trigger(&k->over);
		pthread_mutex_unlock(&ks->lock);
		kill_drop(k);
		pthread_mutex_lock(&ks->lock);
	}
	pthread_mutex_unlock(&ks->lock);
	return NULL;
}

/* Appends the kill to the queue. False if there is no thread. */
static bool queue_kill(struct kill_queue *ks, struct kill *k)
{
	struct error ignored = { 0 };
	struct kill **end = &ks->first;

	pthread_mutex_lock(&ks->lock);
	if (!ks->running)
		ks->running =
			thread_start(&ks->thread, run_kills, ks, &ignored) == 0;
	k->queued = ks->running && cancel_init(&k->over, &ignored) == 0;
	if (k->queued) {
		atomic_fetch_add(&k->others, 1);
		while (*end)
			end = &(*end)->next;
		*end = k;
		pthread_cond_signal(&ks->changed);
	}
	pthread_mutex_unlock(&ks->lock);
	return k->queued;
}

int kills_run(struct kill_queue *ks, struct kill *k, const struct stop *stop,
	      struct error *err)
{
	/* Ignore the deadline of stop: the kill has its own. */
	struct stop cancelled = stop_on(stop->cancel);
	struct error ignored = { 0 };
	struct error why = { 0 };
	struct stop prompt;

	if (!ks || !queue_kill(ks, k)) {
		k->run(k);
		return 0;
	}
	if (cancel_await(&k->over, &cancelled, &why) < 0) {
		prompt = stop_cleanup(PROMPT_MS);
		if (cancel_await(&k->over, &prompt, &ignored) < 0) {
			*err = why;
			return -1;
		}
	}
	/* The caller may now read what the kill wrote: a descriptor that became
	 * readable does not order memory, a lock does. */
	pthread_mutex_lock(&ks->lock);
	pthread_mutex_unlock(&ks->lock);
	return 0;
}

int kills_wait(struct kill_queue *ks, const struct stop *stop,
	       struct error *err)
{
	struct kill *k;
	int rc = 0;

	if (!ks)
		return 0;
	pthread_mutex_lock(&ks->lock);
	while (rc == 0 && (k = ks->first)) {
		atomic_fetch_add(&k->others, 1);
		pthread_mutex_unlock(&ks->lock);
		rc = cancel_await(&k->over, stop, err);
		kill_drop(k);
		pthread_mutex_lock(&ks->lock);
	}
	pthread_mutex_unlock(&ks->lock);
	return rc;
}

void kills_free(struct kill_queue *ks)
{
	if (!ks)
		return;
	pthread_mutex_lock(&ks->lock);
	ks->leaving = true;
	pthread_cond_signal(&ks->changed);
	pthread_mutex_unlock(&ks->lock);
	if (ks->running)
		pthread_join(ks->thread, NULL);
	pthread_cond_destroy(&ks->changed);
	pthread_mutex_destroy(&ks->lock);
	free(ks);
}

enum { MAX = SUPERVISE_READ_MAX };

struct supervise_read {
	pthread_mutex_t lock;
	char prefix[SUPERVISE_PREFIX + 1];
	bool used; /* supervise_read_name() was called */
	char ids[MAX][SUPERVISE_JOB + 1];
	size_t n;
};

struct supervise_read *supervise_read_new(void)
{
	struct supervise_read *r = xcalloc(1, sizeof(*r));

	pthread_mutex_init(&r->lock, NULL);
	ids_random(r->prefix, SUPERVISE_PREFIX);
	return r;
}

void supervise_read_name(struct supervise_read *r, char *id)
{
	ids_random(id, SUPERVISE_JOB);
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	memcpy(id, r->prefix, SUPERVISE_PREFIX);
	r->used = true;
	pthread_mutex_unlock(&r->lock);
}

bool supervise_read_prefix(struct supervise_read *r, char *prefix)
{
	bool used;

	if (!r)
		return false;
	pthread_mutex_lock(&r->lock);
	memcpy(prefix, r->prefix, sizeof(r->prefix));
	used = r->used;
	pthread_mutex_unlock(&r->lock);
	return used;
}

void supervise_read_free(struct supervise_read *r)
{
	if (!r)
		return;
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static void remove_read(struct supervise_read *r, size_t i)
{
	memmove(r->ids[i], r->ids[i + 1], (--r->n - i) * sizeof(r->ids[0]));
}

/* When the list is full the oldest entry is dropped: the sandbox removes its
 * output later by itself. */
void supervise_read_add(struct supervise_read *r, const char *id)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	if (r->n == MAX)
		remove_read(r, 0);
	memcpy(r->ids[r->n++], id, SUPERVISE_JOB + 1);
	pthread_mutex_unlock(&r->lock);
}

void supervise_read_list(struct supervise_read *r, char *ids)
{
	*ids = '\0';
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->n; i++, ids += SUPERVISE_JOB + 1) {
		memcpy(ids, r->ids[i], SUPERVISE_JOB);
		memcpy(ids + SUPERVISE_JOB, " ", sizeof(" "));
	}
	pthread_mutex_unlock(&r->lock);
}

void supervise_read_forgot(struct supervise_read *r, const char *ids)
{
	struct str all = str_of(ids);

	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	for (size_t i = r->n; i-- > 0;)
		if (str_search(all, str_of(r->ids[i])) < all.len)
			remove_read(r, i);
	pthread_mutex_unlock(&r->lock);
}

/* exec_run.h - runs one command through a provider and keeps what came. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_EXEC_RUN_H
#define UNIT_EXEC_RUN_H

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "sandbox/sandbox.h"
#include "unit.h"

struct seen {
	struct buf out;
	struct buf err;
	int64_t first_ms;     /* when the first output came; 0 none */
	const char *reply_to; /* dialog: answers "42\n" once this was read */
	bool replied;
	size_t refuse_at;   /* bytes of output after which it says no */
	atomic_bool *began; /* set by the first output */
};

static int see(void *arg, enum exec_stream stream, struct str chunk,
	       struct buf *reply, struct error *err)
{
	struct seen *s = arg;

	if (!s->first_ms)
		s->first_ms = clock_ms();
	buf_addstr(stream == EXEC_STDOUT ? &s->out : &s->err, chunk);
	if (s->began)
		atomic_store(s->began, true);
	if (s->reply_to && !s->replied &&
	    str_search(buf_str(&s->out), str_of(s->reply_to)) < s->out.len) {
		s->replied = true;
		buf_adds(reply, "42\n");
	}
	if (s->refuse_at && s->out.len >= s->refuse_at)
		return error_set(err, ERR_LIMIT, "enough");
	return 0;
}

static inline int64_t since(int64_t start)
{
	return clock_ms() - start;
}

struct ran {
	int rc;
	struct exec_result res;
	struct seen seen;
	struct error err;
	int64_t ms; /* how long it took */
};

static struct ran run_request(struct sandbox *sb, struct exec_request req,
			      const struct stop *stop, struct seen seen)
{
	struct ran r = { .seen = seen };
	struct stop never = { .deadline = INT64_MAX };
	int64_t start = clock_ms();

	r.seen.out = BUF_INIT((size_t)128 << 20);
	r.seen.err = BUF_INIT((size_t)128 << 20);
	req.output = see;
	req.arg = &r.seen;
	r.rc = sb->client->provider->ops->execute(sb, &req, &r.res,
						  stop ? stop : &never, &r.err);
	r.ms = clock_ms() - start;
	return r;
}

static inline struct ran run(struct sandbox *sb, const char *command)
{
	struct exec_request req = { .command = str_of(command) };

	return run_request(sb, req, NULL, (struct seen){ 0 });
}

static void ran_release(struct ran *r)
{
	buf_release(&r->seen.out);
	buf_release(&r->seen.err);
}

static inline const char *out_of(const struct ran *r)
{
	return r->seen.out.ptr ? r->seen.out.ptr : "";
}

static inline void expect(struct sandbox *sb, const char *command, int code,
			  const char *out, const char *err)
{
	struct ran r = run(sb, command);

	if (r.rc < 0)
		print_error("%s: %s\n", command, r.err.message);
	assert_int_equal(r.rc, 0);
	assert_string_equal(out_of(&r), out);
	assert_string_equal(r.seen.err.ptr ? r.seen.err.ptr : "", err);
	assert_int_equal(r.res.exit_code, code);
	assert_false(r.res.timed_out);
	ran_release(&r);
}

/* "sleep N", where N is this process's own: others may run the same test. */
static inline const char *own_sleep(char space[32], int mark)
{
	snprintf(space, 32, "sleep 9%07d%02d.7", (int)getpid(), mark);
	return space;
}

/* How many processes on this machine have text in their command line. */
static inline int count_running(const char *text)
{
	char *command = NULL;
	FILE *f;
	int n = -1;

	if (asprintf(&command,
		     "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | "
		     "grep -o -- '%c[%c]%s' | wc -l",
		     text[0], text[1], text + 2) < 0)
		return -1;
	f = popen(command, "r");
	if (f && fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		pclose(f);
	free(command);
	return n;
}

#endif

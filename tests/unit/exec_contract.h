/* exec_contract.h - what execute promises, for every provider on this host. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_EXEC_CONTRACT_H
#define UNIT_EXEC_CONTRACT_H

#include <pthread.h>
#include <signal.h>
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
	size_t refuse_at; /* bytes of output after which it says no */
};

static int see(void *arg, enum exec_stream stream, struct str chunk,
	       struct buf *reply, struct error *err)
{
	struct seen *s = arg;

	if (!s->first_ms)
		s->first_ms = clock_ms();
	buf_addstr(stream == EXEC_STDOUT ? &s->out : &s->err, chunk);
	if (s->reply_to && !s->replied &&
	    str_search(buf_str(&s->out), str_of(s->reply_to)) < s->out.len) {
		s->replied = true;
		buf_adds(reply, "42\n");
	}
	if (s->refuse_at && s->out.len >= s->refuse_at)
		return error_set(err, ERR_LIMIT, "enough");
	return 0;
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
	r.rc = sb->host->provider->ops->execute(sb, &req, &r.res,
						stop ? stop : &never, &r.err);
	r.ms = clock_ms() - start;
	return r;
}

static struct ran run(struct sandbox *sb, const char *command)
{
	struct exec_request req = { .command = str_of(command) };

	return run_request(sb, req, NULL, (struct seen){ 0 });
}

static void ran_release(struct ran *r)
{
	buf_release(&r->seen.out);
	buf_release(&r->seen.err);
}

static const char *out_of(const struct ran *r)
{
	return r->seen.out.ptr ? r->seen.out.ptr : "";
}

static void expect(struct sandbox *sb, const char *command, int code,
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

/* How many processes on this machine have text in their command line. */
static int count_running(const char *text)
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

static int64_t since(int64_t start)
{
	return clock_ms() - start;
}

static void contract_exit_codes(struct sandbox *sb)
{
	struct ran r;

	expect(sb, "true", 0, "", "");
	expect(sb, "false", 1, "", "");
	expect(sb, "exit 3", 3, "", "");
	expect(sb, "kill -9 $$", 137, "", "");
	expect(sb, "kill -TERM $$", 143, "", "");
	expect(sb, "", 0, "", "");
	expect(sb, "echo a; echo b >&2", 0, "a\n", "b\n");
	expect(sb, "printf '%s' \"$0\"; cat; pwd | head -c 1", 0, "sh/", "");
	r = run(sb, "/etc/passwd");
	assert_int_equal(r.res.exit_code, 126);
	ran_release(&r);
	r = run(sb, "no-such-program-at-all");
	assert_int_equal(r.res.exit_code, 127);
	assert_true(r.seen.err.len > 0);
	ran_release(&r);
}

static void contract_bytes(struct sandbox *sb)
{
	struct ran r = run(sb, "printf 'a\\000b\\377\\303('");

	assert_int_equal(r.seen.out.len, 6);
	assert_memory_equal(r.seen.out.ptr, "a\0b\377\303(", 6);
	ran_release(&r);
	r = run(sb, "head -c 1000000 /dev/zero; echo end >&2");
	assert_int_equal(r.seen.out.len, 1000000);
	assert_int_equal(r.seen.err.len, 4);
	ran_release(&r);
	r = run(sb, "head -c 67108864 /dev/zero");
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.seen.out.len, 67108864);
	ran_release(&r);
	expect(sb, "printf '\\377'", 0, "\377", "");
}

static void contract_env_cwd(struct sandbox *sb)
{
	static const char *const env[] = { "A_B=c d", "HOME=/nowhere", NULL };
	struct exec_request req = {
		.command = STR("printf '%s|%s|%s' \"$A_B\" \"$HOME\" \"$PWD\""),
		.cwd = "/tmp",
		.env = env,
	};
	struct ran r = run_request(sb, req, NULL, (struct seen){ 0 });

	assert_string_equal(out_of(&r), "c d|/nowhere|/tmp");
	ran_release(&r);
	req.plain = true;
	r = run_request(sb, req, NULL, (struct seen){ 0 });
	assert_string_equal(out_of(&r), "c d|/nowhere|/tmp");
	ran_release(&r);
	req.cwd = "/no/such/place";
	r = run_request(sb, req, NULL, (struct seen){ 0 });
	assert_int_equal(r.rc, -1);
	assert_non_null(strstr(r.err.message, "/no/such/place"));
	ran_release(&r);
	req.cwd = NULL;
	req.command = (struct str){ "echo a\0b", 8 };
	r = run_request(sb, req, NULL, (struct seen){ 0 });
	assert_int_equal(r.rc, -1);
	assert_int_equal(r.err.code, ERR_USAGE);
	ran_release(&r);
}

static void contract_stdin(struct sandbox *sb)
{
	struct exec_request req = { .command = STR("wc -c") };
	struct buf big = BUF_INIT(4 << 20);
	struct ran r;

	for (int i = 0; i < 3 << 16; i++)
		buf_adds(&big, "0123456789abcdef");
	req.input = buf_str(&big);
	r = run_request(sb, req, NULL, (struct seen){ 0 });
	assert_int_equal(strtol(out_of(&r), NULL, 10), 3 << 20);
	ran_release(&r);
	req.command = STR("exec <&-; sleep 0.05; echo done");
	r = run_request(sb, req, NULL, (struct seen){ 0 });
	assert_int_equal(r.rc, 0); /* and no SIGPIPE for us */
	assert_string_equal(out_of(&r), "done\n");
	ran_release(&r);
	buf_release(&big);
	req = (struct exec_request){
		.command =
			STR("read a; echo \"ask $a\"; read b; echo \"got $b\""),
		.input = STR("first\n"),
		.dialog = true,
	};
	r = run_request(sb, req, NULL,
			(struct seen){ .reply_to = "ask first" });
	assert_int_equal(r.rc, 0);
	assert_string_equal(out_of(&r), "ask first\ngot 42\n");
	ran_release(&r);
}

static void contract_live(struct sandbox *sb)
{
	struct exec_request req = { .command = STR("echo now; sleep 0.4") };
	int64_t start = clock_ms();
	struct ran r = run_request(sb, req, NULL, (struct seen){ 0 });

	assert_true(r.seen.first_ms - start < 300);
	assert_true(r.ms >= 390);
	ran_release(&r);
	/* The refusal of the callback ends it at once. */
	req.command = STR("while :; do echo aaaaaaaaaaaaaaaa; done");
	r = run_request(sb, req, NULL, (struct seen){ .refuse_at = 100000 });
	assert_int_equal(r.rc, -1);
	assert_int_equal(r.err.code, ERR_LIMIT);
	assert_string_equal(r.err.message, "enough");
	assert_true(r.ms < 3000);
	ran_release(&r);
}

/* A child that stays in the tree, one in a session of its own, a daemon. */
#define FAMILY(mark)                                                           \
	"sleep 9" mark " & setsid sleep 9" mark " & "                          \
	"(setsid sh -c 'setsid sleep 9" mark " & sleep 9" mark "' &) ; "       \
	"echo begun; sleep 9" mark

static void contract_timeout(struct sandbox *sb)
{
	struct exec_request req = { .command = STR(FAMILY("11.7")),
				    .timeout_ms = 400 };
	struct ran r = run_request(sb, req, NULL, (struct seen){ 0 });

	assert_int_equal(r.rc, 0);
	assert_true(r.res.timed_out);
	assert_int_equal(r.res.exit_code, 124);
	assert_string_equal(out_of(&r), "begun\n");
	assert_true(r.ms >= 390 && r.ms < 1500);
	assert_int_equal(count_running("sleep 911.7"), 0);
	ran_release(&r);
}

struct canceller {
	struct cancel cancel;
	int after_ms;
	int running; /* how many there were just before */
	int64_t at_ms;
};

static void *cancel_later(void *arg)
{
	struct canceller *c = arg;

	usleep((unsigned)c->after_ms * 1000);
	c->running = count_running("sleep 922.7");
	c->at_ms = clock_ms();
	cancel_trigger(&c->cancel);
	return NULL;
}

static void contract_cancel(struct sandbox *sb)
{
	struct exec_request req = { .command = STR(FAMILY("22.7")) };
	struct canceller c = { .after_ms = 400 };
	struct error err = { 0 };
	struct stop stop;
	pthread_t thread;
	struct ran r;

	assert_int_equal(cancel_init(&c.cancel, &err), 0);
	stop = stop_on(&c.cancel);
	pthread_create(&thread, NULL, cancel_later, &c);
	usleep(200000);
	r = run_request(sb, req, &stop, (struct seen){ 0 });
	pthread_join(thread, NULL);
	assert_int_equal(r.rc, -1);
	assert_int_equal(r.err.code, ERR_CANCELLED);
	assert_true(c.running >= 5);
	print_message("cancel took %d ms\n", (int)since(c.at_ms));
	assert_true(since(c.at_ms) < 150);
	assert_string_equal(out_of(&r), "begun\n");
	assert_int_equal(count_running("sleep 922.7"), 0);
	ran_release(&r);
	cancel_release(&c.cancel);
}

static void contract_background(struct sandbox *sb)
{
	struct ran r = run(sb, "(sleep 0.5; head -c 300000 /dev/zero && "
			       "echo ok >/tmp/dcode-bg.$PPID; sleep 933.7) & "
			       "echo /tmp/dcode-bg.$$ | tr -d '\\n'");

	assert_int_equal(r.rc, 0);
	assert_true(r.ms < 450);
	ran_release(&r);
	/* It was neither blocked by a full pipe nor ended by SIGPIPE. */
	usleep(900000);
	r = run(sb, "cat /tmp/dcode-bg.*; rm -f /tmp/dcode-bg.*; "
		    "pkill -f 'sleep 933[.]7'");
	assert_string_equal(out_of(&r), "ok\n");
	ran_release(&r);
}

static void *run_many(void *arg)
{
	struct sandbox *sb = arg;

	for (int i = 0; i < 5; i++) {
		struct ran r = run(sb, "echo one; echo two >&2; exit 7");

		assert_int_equal(r.rc, 0);
		assert_int_equal(r.res.exit_code, 7);
		assert_string_equal(out_of(&r), "one\n");
		assert_string_equal(r.seen.err.ptr, "two\n");
		ran_release(&r);
	}
	return NULL;
}

static void contract_parallel(struct sandbox *sb)
{
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, run_many, sb);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
}

#define CONTRACT(X)                                                            \
	X(exit_codes)                                                          \
	X(bytes)                                                               \
	X(env_cwd)                                                             \
	X(stdin)                                                               \
	X(live)                                                                \
	X(timeout)                                                             \
	X(cancel)                                                              \
	X(background)                                                          \
	X(parallel)

#endif

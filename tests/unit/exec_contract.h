/* exec_contract.h - what execute promises, for every provider on this host. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_EXEC_CONTRACT_H
#define UNIT_EXEC_CONTRACT_H

#include <pthread.h>

#include "exec_run.h"

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
	expect(sb, "cat; pwd | head -c 1", 0, "/", "");
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
	size_t large = (getenv("DCODE_TEST_LONG") ? 64 : 12) << 20;
	char command[64];

	assert_int_equal(r.seen.out.len, 6);
	assert_memory_equal(r.seen.out.ptr, "a\0b\377\303(", 6);
	ran_release(&r);
	r = run(sb, "head -c 1000000 /dev/zero; echo end >&2");
	assert_int_equal(r.seen.out.len, 1000000);
	assert_int_equal(r.seen.err.len, 4);
	ran_release(&r);
	snprintf(command, sizeof(command), "head -c %zu /dev/zero", large);
	r = run(sb, command);
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.seen.out.len, large);
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

struct spring { /* gives so many bytes, in chunks that differ */
	int64_t left;
	int64_t fail_at; /* left; 0: never */
	int calls;
};

static int64_t spring_pull(void *arg, char *room, size_t len, struct error *err)
{
	struct spring *s = arg;
	size_t n = 1 + (size_t)s->calls++ * 7919 % 65536;

	if (n > len)
		n = len;
	if ((int64_t)n > s->left)
		n = (size_t)s->left;
	if (s->fail_at && s->left <= s->fail_at)
		return error_set(err, ERR_LIMIT, "run dry");
	memset(room, 'x', n);
	s->left -= (int64_t)n;
	return (int64_t)n;
}

static void contract_source(struct sandbox *sb)
{
	struct spring s = { .left = 50000001 };
	struct exec_request req = { .command = STR("wc -c"),
				    .source = spring_pull,
				    .source_arg = &s };
	char command[64];
	char member[32];
	struct ran r = run_request(sb, req, NULL, (struct seen){ 0 });

	assert_int_equal(r.rc, 0);
	assert_int_equal(strtol(out_of(&r), NULL, 10), 50000001);
	ran_release(&r);
	s = (struct spring){ 0 }; /* it ends at once */
	r = run_request(sb, req, NULL, (struct seen){ 0 });
	assert_string_equal(out_of(&r), "0\n");
	ran_release(&r);
	s = (struct spring){ .left = 3000000, .fail_at = 1000000 };
	snprintf(command, sizeof(command), "wc -c; %s", own_sleep(member, 44));
	req.command = str_of(command);
	r = run_request(sb, req, NULL, (struct seen){ 0 });
	assert_int_equal(r.rc, -1);
	assert_int_equal(r.err.code, ERR_LIMIT);
	assert_int_equal(count_running(member), 0);
	ran_release(&r);
	s = (struct spring){ .left = 3000000 }; /* nobody reads it */
	req.command = STR("head -c 10; exec <&-; sleep 0.1; exit 4");
	r = run_request(sb, req, NULL, (struct seen){ 0 });
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.res.exit_code, 4);
	assert_string_equal(out_of(&r), "xxxxxxxxxx");
	ran_release(&r);
	s = (struct spring){ .left = 1000000000 };
	req.command = STR("sleep 945.7");
	req.timeout_ms = 300;
	r = run_request(sb, req, NULL, (struct seen){ 0 });
	assert_true(r.rc == 0 && r.res.timed_out && s.left > 900000000);
	ran_release(&r);
}

static void contract_live(struct sandbox *sb)
{
	struct exec_request req = { .command = STR("echo now; sleep 2") };
	int64_t start = clock_ms();
	struct ran r = run_request(sb, req, NULL, (struct seen){ 0 });

	assert_true(r.seen.first_ms - start < r.ms - 900);
	assert_true(r.ms >= 1990);
	ran_release(&r);
	/* The refusal of the callback ends it at once. */
	req.command = STR("while :; do echo aaaaaaaaaaaaaaaa; done");
	r = run_request(sb, req, NULL, (struct seen){ .refuse_at = 100000 });
	assert_int_equal(r.rc, -1);
	assert_int_equal(r.err.code, ERR_LIMIT);
	assert_string_equal(r.err.message, "enough");
	assert_true(r.ms < 20000);
	ran_release(&r);
}

/* A child that stays in the tree, one in a session of its own, a daemon. */
static struct str family(char space[256], const char *member)
{
	int n = snprintf(space, 256,
			 "%s & setsid %s & (setsid sh -c 'setsid %s & %s' &) ; "
			 "echo begun; %s",
			 member, member, member, member, member);

	return (struct str){ space, (size_t)n };
}

static void contract_timeout(struct sandbox *sb)
{
	char member[32];
	char space[256];
	struct exec_request req = {
		.command = family(space, own_sleep(member, 11)),
		.timeout_ms = 1500,
	};
	struct ran r = run_request(sb, req, NULL, (struct seen){ 0 });

	assert_int_equal(r.rc, 0);
	assert_true(r.res.timed_out);
	assert_int_equal(r.res.exit_code, 124);
	assert_string_equal(out_of(&r), "begun\n");
	assert_true(r.ms >= 1490 && r.ms < 20000);
	assert_int_equal(count_running(member), 0);
	ran_release(&r);
}

struct canceller {
	struct cancel cancel;
	char member[32]; /* what the family consists of */
	int running;     /* how many there were just before */
	atomic_bool began;
	int64_t at_ms;
};

static void *cancel_later(void *arg)
{
	struct canceller *c = arg;

	for (int i = 0; i < 400 && (c->running < 5 || !atomic_load(&c->began));
	     i++) {
		usleep(50000);
		c->running = count_running(c->member);
	}
	c->at_ms = clock_ms();
	cancel_trigger(&c->cancel);
	return NULL;
}

/* It ends soon after the wish, and nothing runs on. */
static void contract_cancel(struct sandbox *sb)
{
	struct canceller c = { .running = 0 };
	struct stop ever = stop_on(NULL);
	struct exec_request req = { 0 };
	struct error err = { 0 };
	char space[256];
	struct stop stop;
	pthread_t thread;
	struct ran r;

	req.command = family(space, own_sleep(c.member, 22));
	assert_int_equal(cancel_init(&c.cancel, &err), 0);
	stop = stop_on(&c.cancel);
	pthread_create(&thread, NULL, cancel_later, &c);
	r = run_request(sb, req, &stop, (struct seen){ .began = &c.began });
	pthread_join(thread, NULL);
	assert_int_equal(r.rc, -1);
	assert_int_equal(r.err.code, ERR_CANCELLED);
	assert_true(c.running >= 5);
	print_message("cancel took %d ms\n", (int)since(c.at_ms));
	assert_true(since(c.at_ms) < 5000);
	assert_string_equal(out_of(&r), "begun\n");
	assert_int_equal(sandbox_await_kills(sb, &ever, &err), 0);
	assert_int_equal(count_running(c.member), 0);
	ran_release(&r);
	cancel_release(&c.cancel);
}

static void contract_background(struct sandbox *sb)
{
	char command[500];
	char member[32];
	struct ran r;

	own_sleep(member, 33);
	snprintf(command, sizeof(command),
		 "(sleep 3; dd if=/dev/zero bs=1000 count=300 && echo ok "
		 ">/tmp/dcode-bg.%d; %s) & echo begun",
		 (int)getpid(), member);
	r = run(sb, command);
	assert_int_equal(r.rc, 0);
	assert_true(r.ms < 2900);
	ran_release(&r);
	/* It was neither blocked by a full pipe nor ended by SIGPIPE. */
	snprintf(command, sizeof(command),
		 "f=/tmp/dcode-bg.%d; i=0; while [ ! -s $f ] && "
		 "[ $i -lt 300 ]; do sleep 0.1; i=$((i+1)); done; cat $f; "
		 "rm -f $f; pkill -f '[s]%s'",
		 (int)getpid(), member + 1);
	r = run(sb, command);
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
	X(source)                                                              \
	X(live)                                                                \
	X(timeout)                                                             \
	X(cancel)                                                              \
	X(background)                                                          \
	X(parallel)

#endif

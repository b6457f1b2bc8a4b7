/* supervise_test.c - commands through a vendor that only runs them to the end.
 */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <sys/stat.h>

#include "base/ids.h"
#include "contract_run.h"
#include "exec_run.h"
#include "vendor.h"

static char applets[64]; /* a directory with all of busybox, nothing else */

/* Like expect(), and counts requests. */
static void costs(struct vendor *v, const char *command, int code,
		  const char *out, int calls)
{
	struct sandbox sb = box_of(v);

	v->calls = 0;
	expect(&sb, command, code, out, "");
	assert_int_equal(v->calls, calls);
}

static void each_shell(void (*test)(struct vendor *v))
{
	static const char *const shells[][3] = {
		{ "/bin/dash" },
		{ "/bin/bash" },
		{ "/bin/bash", "-l" },
		{ "/bin/busybox", "ash" },
	};

	for (size_t i = 0; i < 4; i++) {
		struct vendor v = plain_vendor();

		if (access(shells[i][0], X_OK) != 0)
			continue;
		for (int k = 0; k < 3; k++)
			v.shell[k] = shells[i][k];
		if (shells[i][1] && strcmp(shells[i][1], "ash") == 0)
			v.path = applets;
		print_message("%s %s\n", shells[i][0],
			      shells[i][1] ? shells[i][1] : "");
		test(&v);
		vendor_clean(&v);
	}
}

static void quick(struct vendor *v)
{
	struct sandbox sb = box_of(v);
	int64_t start = clock_ms();

	costs(v, "true", 0, "", 1);
	print_message("  one command: %d ms\n", (int)since(start));
	costs(v, "echo a; exit 3", 3, "a\n", 1);
	costs(v, "kill -9 $$", 137, "", 1);
	costs(v, "kill -INT $$", 130, "", 1); /* it is not ignored */
	costs(v, "cat; umask; echo ${DCODE_EXEC:+marked}", 0, "0022\nmarked\n",
	      1);
	expect(&sb, "echo a; echo b >&2", 0, "a\n", "b\n");
	expect(&sb, "printf '\\377\\303('\necho \"it's\"", 0, "\377\303(it's\n",
	       "");
	promised.sandbox = &sb;
	keeps("exit status");
	keeps("killed by a signal");
	keeps("stdout and stderr");
	keeps("every byte in argument");
	keeps("stdin at its end");
	keeps("cwd");
}

static void test_quick(void **state)
{
	(void)state;
	umask(022);
	each_shell(quick);
}

static void bytes(struct vendor *v)
{
	struct sandbox sb = box_of(v);
	struct ran r = run(&sb, "i=0; while [ $i -lt 20000 ]; do "
				"echo line $i of many, all of them different; "
				"i=$((i+1)); done; printf 'a\\000\\377'; "
				"echo end >&2");
	size_t at = 0;

	assert_int_equal(r.rc, 0);
	for (int i = 0; i < 20000; i++) {
		char line[80];
		int n = snprintf(line, sizeof(line),
				 "line %d of many, all of them different\n", i);

		assert_true(at + (size_t)n <= r.seen.out.len);
		assert_memory_equal(r.seen.out.ptr + at, line, n);
		at += (size_t)n;
	}
	assert_int_equal(r.seen.out.len, at + 3);
	assert_memory_equal(r.seen.out.ptr + at, "a\0\377", 3);
	assert_string_equal(r.seen.err.ptr, "end\n");
	ran_release(&r);
}

static void test_bytes(void **state)
{
	(void)state;
	each_shell(bytes);
}

static void test_hostile_wire(void **state)
{
	struct vendor v = plain_vendor();

	(void)state;
	v.mangle = true;
	v.noise = true;
	v.twice = true;
	v.limit = 64 << 10; /* and nobody told us */
	bytes(&v);
	costs(&v, "echo a", 0, "a\n", 1);
	vendor_clean(&v);
}

static void test_large(void **state)
{
	struct vendor v = plain_vendor();
	struct sandbox sb = box_of(&v);
	size_t size = (getenv("DCODE_TEST_LONG") ? 100 : 12) << 20;
	char command[64];
	struct ran r;

	(void)state;
	v.supervisor.max_answer = 8 << 20;
	snprintf(command, sizeof(command), "head -c %zu /dev/zero", size);
	r = run(&sb, command);
	print_message("%zu MiB: %d ms, %d requests\n", size >> 20, (int)r.ms,
		      v.calls);
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.seen.out.len, size);
	ran_release(&r);
	vendor_clean(&v);
}

static void tree_dies(struct vendor *v)
{
	struct sandbox sb = box_of(v);

	promised.sandbox = &sb;
	keeps("timeout");
	keeps("cancel");
}

static void test_kill(void **state)
{
	(void)state;
	each_shell(tree_dies);
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

struct canceller {
	struct cancel cancel;
	char member[32]; /* what the family consists of */
	int running;     /* how many there were just before */
	atomic_bool began;
};

static void *cancel_later(void *arg)
{
	struct canceller *c = arg;

	for (int i = 0; i < 400 && (c->running < 5 || !atomic_load(&c->began));
	     i++) {
		usleep(50000);
		c->running = count_running(c->member);
	}
	cancel_trigger(&c->cancel);
	return NULL;
}

/* What a call gets: a copy, because it was on the stack of an execute that has
 * returned when its job is killed. */
struct slow_call {
	struct vendor *v;
	const struct cancel *go; /* a kill waits for it */
	atomic_int *ends;        /* calls of slow_ends() */
};

static int slow_call(void *arg, struct str command, int64_t wait_ms,
		     struct buf *out, const struct stop *stop,
		     struct error *err)
{
	const struct slow_call *s = arg;

	if (str_search(command, STR("s_op=kill")) < command.len) {
		assert_int_equal(*s->ends, 1);
		if (cancel_await(s->go, stop, err) < 0)
			return -1;
	}
	return vendor_call(s->v, command, wait_ms, out, stop, err);
}

static void slow_ends(void *arg)
{
	++*((struct slow_call *)arg)->ends;
}

static struct cancel slow_go;
static atomic_int slow_ended;

static int slow_execute(struct sandbox *sb, const struct exec_request *req,
			struct exec_result *res, const struct stop *stop,
			struct error *err)
{
	struct slow_call s = { sb->priv, &slow_go, &slow_ended };
	struct supervisor supervisor = { .call = slow_call,
					 .arg = &s,
					 .arg_size = sizeof(s),
					 .ends = slow_ends,
					 .began = NULL };
	int rc = supervise_execute(sb, req, res, &supervisor, stop, err);

	memset(&s, 0xff, sizeof(s));
	memset(&supervisor, 0xff, sizeof(supervisor));
	return rc;
}

static void test_a_job_is_killed_when_its_caller_has_returned(void **state)
{
	static const struct sandbox_ops ops = { .execute = slow_execute };
	static const struct sandbox_provider slow = { .name = "slow",
						      .ops = &ops };
	struct sandbox_client client = { .provider = &slow };
	struct vendor v = plain_vendor();
	struct sandbox sb = box_of(&v);
	struct canceller c = { .running = 0 };
	struct stop ever = stop_on(NULL);
	struct exec_request req = { 0 };
	struct error err = { 0 };
	char space[256];
	struct stop stop;
	pthread_t thread;
	struct ran r;

	(void)state;
	sb.client = &client;
	sb.kills = kills_new();
	req.command = family(space, own_sleep(c.member, 23));
	assert_int_equal(cancel_init(&slow_go, &err), 0);
	assert_int_equal(cancel_init(&c.cancel, &err), 0);
	stop = stop_on(&c.cancel);
	pthread_create(&thread, NULL, cancel_later, &c);
	r = run_request(&sb, req, &stop, (struct seen){ .began = &c.began });
	pthread_join(thread, NULL);
	memset(space, 'x', sizeof(space));
	assert_int_equal(r.rc, -1);
	assert_int_equal(r.err.code, ERR_CANCELLED);
	assert_true(count_running(c.member) >= 5);
	cancel_trigger(&slow_go);
	assert_int_equal(kills_wait(sb.kills, &ever, &err), 0);
	assert_int_equal(count_running(c.member), 0);
	assert_int_equal(slow_ended, 1);
	kills_free(sb.kills);
	ran_release(&r);
	cancel_release(&c.cancel);
	cancel_release(&slow_go);
}

static void test_contract(void **state)
{
	static const char *const not_here[] = {
		"dialog",       "source of input",
		"attach by id", "list by label",
		"info",         "lifetime",
		"extend",       "network none and full",
		"snapshot",     NULL
	};
	struct vendor v = plain_vendor();
	struct sandbox sb = box_of(&v);

	promised.sandbox = &sb;
	promised_absent = not_here;
	keeps(NULL);
	test_output(state);
	test_live(state);
	test_background(state);
	test_large_file_errors(state);
	vendor_clean(&v);
	promised_absent = NULL;
}

/* Each request ends after 300 ms: longer silences are nobody's end. */
static void test_cuts(void **state)
{
	struct vendor v = plain_vendor();
	struct sandbox sb = box_of(&v);

	(void)state;
	v.cut_ms = 300;
	for (int kills = 0; kills < 2; kills++) {
		v.kills = kills;
		v.calls = 0;
		expect(&sb, "sleep 2; echo done", 0, "done\n", "");
		print_message("cut at 300 ms: %d requests in 2 s\n", v.calls);
		assert_true(v.calls <= 16);
	}
	vendor_clean(&v);
}

static void test_output_comes_in_pieces_that_a_connection_carries(void **state)
{
	struct vendor v = plain_vendor();
	struct sandbox sb = box_of(&v);

	(void)state;
	for (int cut = 0; cut < 2; cut++) {
		struct ran r;

		v.whole = cut ? 10000 : 0;
		v.calls = 0;
		r = run(&sb, "yes abcdefg | head -c 100000");
		print_message("%d requests\n", v.calls);
		assert_int_equal(r.rc, 0);
		assert_int_equal(r.seen.out.len, 100000);
		assert_true(cut ? v.calls < 50 : v.calls <= 2);
		ran_release(&r);
	}
	vendor_clean(&v);
}

static int64_t number_from(char *command)
{
	FILE *f = popen(command, "r");
	int64_t n = -1;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%" SCNd64, &n), 1);
	pclose(f);
	free(command);
	return n;
}

/* Lost answers, repeated starts: the command runs once. */
static void test_once(void **state)
{
	struct vendor v = plain_vendor();
	char file[] = "/tmp/dcode-once.XXXXXX";
	int fd = mkstemp(file);
	char *command = xasprintf("echo x >>%s; echo ran", file);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	for (int twice = 0; twice < 2; twice++) {
		for (int lose = 0; lose < 3; lose++) {
			v.twice = twice;
			v.lose = lose;
			costs(&v, command, 0, "ran\n", lose + 1);
		}
	}
	assert_int_equal(number_from(xasprintf("wc -l <%s", file)), 6);
	unlink(file);
	free(command);
	vendor_clean(&v);
}

static void test_silent(void **state)
{
	struct vendor v = plain_vendor();

	(void)state;
	v.supervisor.first_ms = 500;
	v.supervisor.longest_ms = 1000;
	costs(&v, "sleep 2.2; echo late", 0, "late\n", 3);
	vendor_clean(&v);
}

static int setup(void **state)
{
	char *install;
	int rc;

	(void)state;
	umask(022);
	snprintf(applets, sizeof(applets), "/tmp/dcode-applets.XXXXXX");
	if (!mkdtemp(applets))
		return -1;
	install = xasprintf("/bin/busybox --install -s %s", applets);
	rc = access("/bin/busybox", X_OK) == 0 ? system(install) : 0;
	free(install);
	return rc;
}

static int teardown(void **state)
{
	char *rm = xasprintf("rm -rf %s", applets);
	int rc = system(rm);

	(void)state;
	free(rm);
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quick),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_hostile_wire),
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_silent),
		cmocka_unit_test(
			test_output_comes_in_pieces_that_a_connection_carries),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_kill),
		cmocka_unit_test(
			test_a_job_is_killed_when_its_caller_has_returned),
		cmocka_unit_test(test_contract),
		cmocka_unit_test(test_large),
	};

	ids_init();
	return cmocka_run_group_tests(tests, setup, teardown);
}

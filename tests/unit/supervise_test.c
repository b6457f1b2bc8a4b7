/* supervise_test.c - commands through a vendor that only runs them to the end.
 */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <sys/stat.h>

#include "base/ids.h"
#include "exec_contract.h"
#include "vendor.h"

static char applets[64]; /* a directory with all of busybox, nothing else */

static struct vendor plain_vendor(void)
{
	return (struct vendor){ .shell = { "/bin/sh" },
				.lock = PTHREAD_MUTEX_INITIALIZER };
}

static struct sandbox box_of(struct vendor *v)
{
	return (struct sandbox){ .host = &vendor_host,
				 .workdir = (char *)"/tmp",
				 .priv = v };
}

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
	contract_exit_codes(&sb);
	contract_env_cwd(&sb);
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
	struct ran r;

	(void)state;
	v.supervisor.max_answer = 8 << 20;
	r = run(&sb, "head -c 104857600 /dev/zero");
	print_message("100 MB: %d ms, %d requests\n", (int)r.ms, v.calls);
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.seen.out.len, 104857600);
	ran_release(&r);
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

/* Runs the command in a process that is killed after ms; its job. */
static void abandon(struct vendor *v, const char *command, int ms,
		    char job[SUPERVISE_JOB + 1])
{
	struct sandbox sb = box_of(v);
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		v->tell = fds[1];
		run(&sb, command);
		_exit(0);
	}
	assert_int_equal(read(fds[0], job, SUPERVISE_JOB + 1),
			 SUPERVISE_JOB + 1);
	usleep((unsigned)ms * 1000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(fds[0]);
	close(fds[1]);
	vendor_began(v, job);
}

static struct ran follow(struct vendor *v, const char *job, struct seen seen)
{
	struct ran r = { .seen = seen };
	struct exec_request req = { .output = see, .arg = &r.seen };
	struct sandbox sb = box_of(v);
	struct stop never = { .deadline = INT64_MAX };
	int64_t start = clock_ms();

	r.seen.out = BUF_INIT((size_t)128 << 20);
	r.seen.err = BUF_INIT((size_t)128 << 20);
	v->supervisor.call = vendor_call;
	v->supervisor.arg = v;
	r.rc = supervise_follow(&sb, job, &req, &r.res, &v->supervisor, &never,
				&r.err);
	r.ms = since(start);
	return r;
}

/* The one who began it went away without a word; another one follows. */
static void test_follow(void **state)
{
	struct vendor v = plain_vendor();
	char job[SUPERVISE_JOB + 1];
	struct ran r;

	(void)state;
	abandon(&v, "echo one; sleep 1.5; echo two; echo three >&2; exit 5",
		300, job);
	r = follow(&v, job, (struct seen){ 0 });
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.res.exit_code, 5);
	/* Whether the first line was confirmed is not known. */
	assert_non_null(strstr(out_of(&r), "two\n"));
	assert_string_equal(r.seen.err.ptr, "three\n");
	ran_release(&r);
	r = follow(&v, "aaaaaaaaaaaaaaaa", (struct seen){ 0 });
	assert_int_equal(r.err.code, ERR_NOT_FOUND);
	ran_release(&r);
	r = follow(&v, "../../../etc/abc", (struct seen){ 0 });
	assert_int_equal(r.err.code, ERR_USAGE);
	ran_release(&r);
	vendor_clean(&v);
}

/* A reader that stops reading stops the command; the disk stays bounded. */
static void test_flood(void **state)
{
	struct vendor v = plain_vendor();
	struct sandbox sb = box_of(&v);
	struct exec_request req = { .command = STR("yes dcode-9221") };
	char job[SUPERVISE_JOB + 1];
	struct ran r;
	int64_t kib;

	(void)state;
	r = run_request(&sb, req, NULL, (struct seen){ .refuse_at = 3000000 });
	assert_int_equal(r.rc, -1);
	assert_string_equal(r.err.message, "enough");
	assert_true(r.ms < 5000);
	assert_int_equal(count_running("yes dcode-9221"), 0);
	ran_release(&r);
	abandon(&v, "yes dcode-9221", 300, job);
	usleep(3000000);
	kib = number_from(
		xasprintf("du -sk /tmp/.dcode-exec/%s | cut -f1", job));
	print_message("unread flood: %d KiB on disk\n", (int)kib);
	assert_true(kib > 1024 && kib < 72 << 10);
	assert_int_equal(count_running("yes dcode-9221"), 1);
	r = follow(&v, job, (struct seen){ .refuse_at = 3000000 });
	assert_int_equal(r.rc, -1);
	assert_string_equal(r.err.message, "enough");
	assert_int_equal(count_running("yes dcode-9221"), 0);
	ran_release(&r);
	vendor_clean(&v);
}

static void tree_dies(struct vendor *v)
{
	struct sandbox sb = box_of(v);

	contract_timeout(&sb);
	contract_cancel(&sb);
}

static void test_kill(void **state)
{
	(void)state;
	each_shell(tree_dies);
}

static void test_live(void **state)
{
	struct vendor v = plain_vendor();
	struct sandbox sb = box_of(&v);

	(void)state;
	(void)contract_stdin; /* a dialog is not for everyone */
	contract_bytes(&sb);
	contract_live(&sb);
	contract_background(&sb);
	contract_parallel(&sb);
	vendor_clean(&v);
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

static void test_refusals(void **state)
{
	struct vendor v = plain_vendor();
	struct sandbox sb = box_of(&v);
	struct exec_request req = { .command = STR("echo"), .dialog = true };
	struct ran r = run_request(&sb, req, NULL, (struct seen){ 0 });

	(void)state;
	assert_int_equal(r.err.code, ERR_USAGE);
	ran_release(&r);
	v.fail = ERR_GONE;
	r = run(&sb, "echo");
	assert_int_equal(r.err.code, ERR_GONE);
	assert_int_equal(v.calls, 1);
	ran_release(&r);
	v.fail = ERR_NETWORK;
	v.supervisor.patience_ms = 500;
	r = run(&sb, "echo");
	assert_int_equal(r.err.code, ERR_NETWORK);
	ran_release(&r);
	v.fail = 0;
	v.supervisor.max_command = 16 << 10;
	expect(&sb, "echo fits", 0, "fits\n", "");
	req = (struct exec_request){ .command = STR("wc -c"),
				     .input = { applets, 5 } };
	r = run_request(&sb, req, NULL, (struct seen){ 0 });
	assert_int_equal(r.rc, 0);
	assert_int_equal(strtol(out_of(&r), NULL, 10), 5);
	ran_release(&r);
	vendor_clean(&v);
}

/* A command too long for one argument, and input that is no text. */
static void test_long(void **state)
{
	struct vendor v = plain_vendor();
	struct sandbox sb = box_of(&v);
	struct buf command = BUF_INIT(1 << 20);
	struct exec_request req = { .command = STR("cat; echo \"$#\"") };
	struct ran r;

	(void)state;
	v.supervisor.max_command = 128000;
	buf_adds(&command, "echo $# ");
	while (command.len < 105000)
		buf_adds(&command, "aaaaaaaaaaaaaaa ");
	buf_adds(&command, " | wc -c");
	r = run(&sb, command.ptr);
	assert_int_equal(r.rc, 0);
	assert_true(strtol(out_of(&r), NULL, 10) > 104000);
	ran_release(&r);
	buf_release(&command);
	req.input = (struct str){ "a\0\377\n%s\\", 7 };
	r = run_request(&sb, req, NULL, (struct seen){ 0 });
	assert_int_equal(r.seen.out.len, 9);
	assert_memory_equal(r.seen.out.ptr, "a\0\377\n%s\\0\n", 9);
	ran_release(&r);
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
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_live),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_flood),
	};

	ids_init();
	return cmocka_run_group_tests(tests, setup, teardown);
}

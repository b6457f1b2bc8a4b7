/* docker_test.c - commands in a container of a real engine. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "tests/unit/docker_box.h"

/* Processes of the container whose command line has this word. */
static int processes(const char *word)
{
	struct seen s;
	char *command = xasprintf("for f in /proc/[0-9]*/cmdline; do "
				  "tr '\\0' ' ' <$f; echo; done 2>/dev/null | "
				  "grep -c '^sleep %s'",
				  word);
	int n;

	run(command, &s);
	n = (int)strtol(s.out.ptr, NULL, 10);
	seen_release(&s);
	free(command);
	return n;
}

static void test_exit_codes(void **state)
{
	static const struct {
		const char *command;
		int code;
	} cases[] = {
		{ "true", 0 },
		{ "false", 1 },
		{ "exit 3", 3 },
		{ "/etc/passwd", 126 },
		{ "no-such-command", 127 },
		{ "kill -9 $$", 137 },
		{ "kill -TERM $$", 143 },
		{ "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct seen s;

		assert_int_equal(run(cases[i].command, &s), cases[i].code);
		seen_release(&s);
	}
}

static void test_streams(void **state)
{
	struct seen s;

	(void)state;
	assert_int_equal(run("echo out; echo err >&2; pwd; echo \"$0 $#\"", &s),
			 0);
	assert_string_equal(s.out.ptr, "out\n/workspace\nsh 0\n");
	assert_string_equal(s.err.ptr, "err\n");
	seen_release(&s);
	run("head -c 1000000 /dev/zero | tr '\\0' x", &s);
	assert_int_equal(s.out.len, 1000000);
	seen_release(&s);
	run("printf 'a\\000b\\377\\n'", &s);
	assert_int_equal(s.out.len, 5);
	assert_memory_equal(s.out.ptr, "a\0b\377\n", 5);
	seen_release(&s);
	/* Bytes of the command that are no UTF-8, quotes, backslashes. */
	run("printf %s '\xff\\n\"$x\xc3\xa4' | od -An -tx1", &s);
	assert_string_equal(s.out.ptr, " ff 5c 6e 22 24 78 c3 a4\n");
	seen_release(&s);
}

static void test_is_live(void **state)
{
	int64_t begun = clock_ms();
	struct seen s;

	(void)state;
	run("echo now; sleep 1.5; echo later", &s);
	assert_string_equal(s.out.ptr, "now\nlater\n");
	assert_in_range(s.first_ms - begun, 0, 1200);
	seen_release(&s);
}

static void test_long_command(void **state)
{
	struct buf command = BUF_INIT(2 << 20);
	struct exec_result res = { 0 };
	struct error err = { 0 };
	struct seen s;

	(void)state;
	buf_adds(&command, "x='");
	while (command.len < 1000000)
		buf_adds(&command, "0123456789\xc3\xa4\xe2\x82\xac");
	buf_adds(&command, "'; echo ${#x} $0 $#; exit 9");
	for (int plain = 0; plain < 2; plain++) {
		seen_init(&s);
		assert_int_equal(
			run_request(&box,
				    (struct exec_request){
					    .command = buf_str(&command),
					    .plain = plain },
				    &s, &res, NULL, &err),
			0);
		assert_int_equal(res.exit_code, 9);
		assert_non_null(strstr(s.out.ptr, " sh 0\n"));
		seen_release(&s);
	}
	buf_adds(&command, "\n\xff");
	seen_init(&s);
	assert_int_equal(run_request(&box,
				     (struct exec_request){
					     .command = buf_str(&command) },
				     &s, &res, NULL, &err),
			 0);
	assert_int_equal(res.exit_code, 9);
	seen_release(&s);
	buf_release(&command);
}

static void test_directory_and_variables(void **state)
{
	static const char *const env[] = { "ONE=1 \"x\"", "TWO=\n", NULL };
	struct exec_result res = { 0 };
	struct error err = { 0 };
	struct seen s;

	(void)state;
	seen_init(&s);
	assert_int_equal(
		run_request(&box,
			    (struct exec_request){
				    .command = STR("pwd; echo \"$ONE$TWO\""),
				    .cwd = "/tmp",
				    .env = env },
			    &s, &res, NULL, &err),
		0);
	assert_string_equal(s.out.ptr, "/tmp\n1 \"x\"\n\n");
	seen_release(&s);
	seen_init(&s);
	assert_int_equal(
		run_request(&box,
			    (struct exec_request){ .command = STR("echo no"),
						   .cwd = "/nowhere" },
			    &s, &res, NULL, &err),
		0);
	assert_int_equal(res.exit_code, 126);
	assert_string_equal(s.out.ptr, "");
	seen_release(&s);
}

static void test_input(void **state)
{
	struct buf big = BUF_INIT(8 << 20);
	struct exec_result res = { 0 };
	struct error err = { 0 };
	struct seen s;

	(void)state;
	run("cat | wc -c", &s);
	assert_string_equal(str_trim(buf_str(&s.out)).ptr, "0\n");
	seen_release(&s);
	while (big.len < 4 << 20)
		buf_adds(&big, "line of input\n");
	seen_init(&s);
	assert_int_equal(
		run_request(&box,
			    (struct exec_request){ .command = STR("cat"),
						   .input = buf_str(&big) },
			    &s, &res, NULL, &err),
		0);
	assert_int_equal(s.out.len, big.len);
	assert_memory_equal(s.out.ptr, big.ptr, big.len);
	seen_release(&s);
	/* Input that nobody reads. */
	seen_init(&s);
	assert_int_equal(
		run_request(&box,
			    (struct exec_request){ .command = STR("echo hi"),
						   .input = buf_str(&big) },
			    &s, &res, NULL, &err),
		0);
	assert_string_equal(s.out.ptr, "hi\n");
	seen_release(&s);
	seen_init(&s);
	s.answer = "blue\n";
	s.when = "colour?";
	assert_int_equal(
		run_request(&box,
			    (struct exec_request){
				    .command = STR("read -r name; echo colour?;"
						   "read -r c; echo $name $c"),
				    .input = STR("bob\n"),
				    .dialog = true },
			    &s, &res, NULL, &err),
		0);
	assert_string_equal(s.out.ptr, "colour?\nbob blue\n");
	seen_release(&s);
	buf_release(&big);
}

struct spring { /* gives so many bytes; fails at 1 */
	int64_t left;
};

static int64_t spring_pull(void *arg, char *room, size_t len, struct error *err)
{
	struct spring *s = arg;

	if (s->left == 1)
		return error_set(err, ERR_LIMIT, "run dry");
	if ((int64_t)len > s->left)
		len = (size_t)s->left;
	if (s->left % 2 && (int64_t)len == s->left)
		len--;
	memset(room, 'x', len);
	s->left -= (int64_t)len;
	return (int64_t)len;
}

static void test_source(void **state)
{
	struct exec_result res = { 0 };
	struct spring s = { .left = 30000000 };
	struct exec_request req = { .command = STR("wc -c"),
				    .source = spring_pull,
				    .source_arg = &s };
	struct error err = { 0 };
	struct seen seen;

	(void)state;
	seen_init(&seen);
	assert_int_equal(run_request(&box, req, &seen, &res, NULL, &err), 0);
	assert_string_equal(seen.out.ptr, "30000000\n");
	seen_release(&seen);
	seen_init(&seen); /* it ends at once */
	assert_int_equal(run_request(&box, req, &seen, &res, NULL, &err), 0);
	assert_string_equal(seen.out.ptr, "0\n");
	seen_release(&seen);
	s.left = 3000000; /* nobody reads it */
	req.command = STR("exec <&-; sleep 0.1; echo hi; exit 4");
	seen_init(&seen);
	assert_int_equal(run_request(&box, req, &seen, &res, NULL, &err), 0);
	assert_string_equal(seen.out.ptr, "hi\n");
	assert_int_equal(res.exit_code, 4);
	seen_release(&seen);
	s.left = 3000001; /* it fails */
	req.command = STR("cat >/dev/null; sleep 7733");
	seen_init(&seen);
	assert_int_equal(run_request(&box, req, &seen, &res, NULL, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	seen_release(&seen);
	assert_int_equal(processes("7733"), 0);
	s.left = 3000000000; /* it is not read, and time is up */
	req.command = STR("sleep 7734");
	req.timeout_ms = 500;
	seen_init(&seen);
	assert_int_equal(run_request(&box, req, &seen, &res, NULL, &err), 0);
	assert_true(res.timed_out && s.left > 2900000000);
	seen_release(&seen);
}

/* What hides from a kill of the group: sessions, lost parents, an emptied
 * environment. */
static const char tree[] =
	"sleep 7711 & setsid sleep 7711 & (setsid sh -c 'sleep 7711' &) ;"
	"env -i setsid sleep 7711 & env -i sleep 7711 &"
	"sh -c 'trap \"\" TERM HUP INT; sleep 7711; sleep 7711' & "
	"echo started; sleep 7711";

static void test_timeout_kills_the_tree(void **state)
{
	struct exec_result res = { 0 };
	struct error err = { 0 };
	int64_t begun = clock_ms();
	struct seen s;

	(void)state;
	seen_init(&s);
	assert_int_equal(
		run_request(&box,
			    (struct exec_request){ .command = str_of(tree),
						   .timeout_ms = 1000 },
			    &s, &res, NULL, &err),
		0);
	assert_true(res.timed_out);
	assert_int_equal(res.exit_code, 124);
	assert_string_equal(s.out.ptr, "started\n");
	assert_in_range(clock_ms() - begun, 1000, 4000);
	assert_int_equal(processes("7711"), 0);
	seen_release(&s);
}

static void test_cancel_kills_the_tree(void **state)
{
	struct exec_result res = { 0 };
	struct error err = { 0 };
	struct cancel cancel;
	struct stop stop;
	struct seen s;

	(void)state;
	assert_int_equal(cancel_init(&cancel, &err), 0);
	stop = stop_on(&cancel);
	seen_init(&s);
	s.cancel = &cancel; /* as soon as it prints */
	assert_int_equal(
		run_request(&box,
			    (struct exec_request){ .command = str_of(tree) },
			    &s, &res, &stop, &err),
		-1);
	assert_int_equal(err.code, ERR_CANCELLED);
	print_message("cancel: back after %lld ms\n",
		      (long long)(clock_ms() - s.first_ms));
	assert_in_range(clock_ms() - s.first_ms, 0, 100);
	assert_int_equal(processes("7711"), 0);
	seen_release(&s);
	cancel_release(&cancel);
}

/* Whether a process of this machine sleeps for so long, a container's too. No
 * program of the container is asked. */
static bool sleeps_here(const char *seconds)
{
	char *line = xasprintf("cat /proc/[0-9]*/cmdline 2>/dev/null | "
			       "tr '\\0' ' ' | grep -q 'sleep %s'",
			       seconds);
	bool found = system(line) == 0;

	free(line);
	return found;
}

static void test_over_the_users_files_a_cancel_waits_for_the_kill(void **state)
{
	struct exec_result res = { 0 };
	struct error err = { 0 };
	struct cancel cancel;
	struct stop stop;
	struct seen s;

	(void)state;
	assert_int_equal(cancel_init(&cancel, &err), 0);
	stop = stop_on(&cancel);
	seen_init(&s);
	s.cancel = &cancel;
	mounts_add(&box.mounts, "/data", "/home/ann/data");
	assert_int_equal(
		run_request(&box,
			    (struct exec_request){
				    .command = STR("echo a; sleep 7755") },
			    &s, &res, &stop, &err),
		-1);
	assert_false(sleeps_here("775[5]"));
	assert_int_equal(err.code, ERR_CANCELLED);
	mounts_release(&box.mounts);
	seen_release(&s);
	cancel_release(&cancel);
}

static void test_refused_output_kills(void **state)
{
	struct exec_result res = { 0 };
	struct error err = { 0 };
	struct seen s;

	(void)state;
	seen_init(&s);
	s.refuse_after = 5;
	assert_int_equal(
		run_request(
			&box,
			(struct exec_request){
				.command = STR("echo started; sleep 7722") },
			&s, &res, NULL, &err),
		-1);
	assert_int_equal(err.code, ERR_PROTOCOL);
	assert_int_equal(processes("7722"), 0);
	seen_release(&s);
}

static void test_background_child(void **state)
{
	int64_t begun = clock_ms();
	struct seen s;

	(void)state;
	assert_int_equal(run("sleep 7733 & echo begun", &s), 0);
	assert_string_equal(s.out.ptr, "begun\n");
	assert_in_range(clock_ms() - begun, 0, 4000);
	seen_release(&s);
	assert_int_equal(processes("7733"), 1);
	run("pkill -f 'sleep 7733'", &s);
	seen_release(&s);
	assert_int_equal(run("exec >&- 2>&-; sleep 1; exit 5", &s), 5);
	seen_release(&s);
}

static void test_orphans_are_reaped(void **state)
{
	struct seen s;

	(void)state;
	run("(sleep 0.2 &); (setsid sleep 0.2 &); sleep 0.8;"
	    "cat /proc/[0-9]*/stat | grep -c ') Z '",
	    &s);
	assert_string_equal(s.out.ptr, "0\n");
	seen_release(&s);
}

static void test_three_requests(void **state)
{
	struct seen s;
	int requests;
	int connections;

	(void)state;
	run("true", &s);
	seen_release(&s);
	requests = relay.requests;
	connections = relay.connections;
	for (int i = 0; i < 5; i++) {
		run("true", &s);
		seen_release(&s);
	}
	assert_int_equal(relay.requests - requests, 15);
	assert_int_equal(relay.connections - connections, 5);
}

static void *worker(void *arg)
{
	int *bad = arg;

	for (int i = 0; i < 3; i++) {
		struct exec_result res = { 0 };
		struct error err = { 0 };
		struct seen s;

		seen_init(&s);
		if (run_request(&box,
				(struct exec_request){
					.command = STR("echo in; sleep 0.2; "
						       "echo out; exit 4") },
				&s, &res, NULL, &err) < 0 ||
		    res.exit_code != 4 || strcmp(s.out.ptr, "in\nout\n") != 0) {
			print_message("%s: %s\n", err.message, s.out.ptr);
			++*bad;
		}
		seen_release(&s);
	}
	return NULL;
}

static void test_eight_at_once(void **state)
{
	pthread_t threads[8];
	int bad[8] = { 0 };

	(void)state;
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, worker, &bad[i]);
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(bad[i], 0);
	}
}

static int run_all(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exit_codes),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_is_live),
		cmocka_unit_test(test_long_command),
		cmocka_unit_test(test_directory_and_variables),
		cmocka_unit_test(test_input),
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_timeout_kills_the_tree),
		cmocka_unit_test(test_cancel_kills_the_tree),
		cmocka_unit_test(
			test_over_the_users_files_a_cancel_waits_for_the_kill),
		cmocka_unit_test(test_refused_output_kills),
		cmocka_unit_test(test_background_child),
		cmocka_unit_test(test_orphans_are_reaped),
		cmocka_unit_test(test_three_requests),
		cmocka_unit_test(test_eight_at_once),
	};

	return cmocka_run_group_tests(tests, box_start, box_end);
}

int main(int argc, char **argv)
{
	(void)argc;
	return box_main(argv, run_all);
}

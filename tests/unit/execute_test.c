/* execute_test.c - what becomes of a command's output. */
/* SPDX-License-Identifier: MIT */
#include <sys/resource.h>

#include "tool/result.h"
#include "tool_bench.h"

static const struct error network = { .code = ERR_NETWORK,
				      .message = "docker: no answer" };
static const struct error garbled = { .code = ERR_REMOTE,
				      .message = "docker: \xFF!" };
static const struct error cancelled = { .code = ERR_CANCELLED,
					.message = "cancelled" };
static const struct error gone = { .code = ERR_GONE,
				   .message = "the sandbox has ended" };
static const struct error denied = { .code = ERR_REMOTE,
				     .exact = CASE_PERMISSION_DENIED,
				     .message = "permission_denied" };

static void test_execute(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	b.fake.chunks[0] = STR("ok");
	expect(&b, "execute", "{\"command\":\"true\"}", false,
	       "ok\n[Command succeeded with exit code 0]");
	assert_string_equal(b.fake.command.ptr, "true");
	assert_string_equal(b.live.ptr, "ok");
	assert_int_equal(b.fake.timeout_ms, 1800000);
	b.fake.chunks[0] = STR("ok\n");
	b.fake.res.exit_code = 2;
	expect(&b, "execute", "{\"command\":\"x\",\"timeout\":3600}", false,
	       "ok\n[Command failed with exit code 2]");
	assert_int_equal(b.fake.timeout_ms, 3600000);
	b.fake.res.exit_code = -1;
	expect(&b, "execute", "{\"command\":\"x\",\"timeout\":0}", false, "ok");
	assert_int_equal(b.fake.timeout_ms, 86400000);
	b.fake.chunks[0] = STR("");
	b.fake.res.exit_code = 0;
	expect(&b, "execute", "{\"command\":\"x\"}", false,
	       "<no output>\n[Command succeeded with exit code 0]");
	expect(&b, "execute", "{\"command\":\"x\",\"timeout\":-1}", true,
	       "Error: timeout must be non-negative, got -1.");
	expect(&b, "execute", "{\"command\":\"x\",\"timeout\":3601}", true,
	       "Error: timeout 3601s exceeds maximum allowed (3600s).");
	b.provider.max_command = 3;
	expect(&b, "execute", "{\"command\":\"true\"}", true,
	       "Error: the command has 4 bytes, more than the 3 that this "
	       "sandbox accepts. Write it to a file with write_file and run "
	       "that.");
	b.provider.flags = SANDBOX_UNISOLATED;
	call(&b, "execute", "{\"command\":\"x\"}");
	assert_int_equal(b.fake.timeout_ms, 120000);
	bench_release(&b);
}

/* What else it says, and what looks like it, is no end of the command. */
static void test_execute_tells_the_end_apart(void **state)
{
	struct buf end = BUF_INIT(1 << 10);
	struct bench b;

	(void)state;
	bench_init(&b);
	b.env.end = &end;
	b.fake.chunks[0] = STR("x\n[Command is what I am]\n");
	b.fake.res.exit_code = 4;
	strcpy(b.fake.res.notice, "restarted");
	expect(&b, "execute", "{\"command\":\"x\"}", false,
	       "x\n[Command is what I am]\n"
	       "[Command failed with exit code 4]\n[restarted]");
	assert_string_equal(end.ptr, "\n[Command failed with exit code 4]");
	buf_clear(&end);
	b.fake.res.exit_code = -1;
	call(&b, "execute", "{\"command\":\"x\"}");
	assert_int_equal(end.len, 0);
	/* as the result, it is text */
	b.fake.exec_fail = &garbled;
	call(&b, "execute", "{\"command\":\"x\"}");
	assert_non_null(strstr(end.ptr, "docker: \xEF\xBF\xBD!"));
	bench_release(&b);
	buf_release(&end);
}

static void test_execute_ends(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	b.fake.chunks[0] = STR("so far\n");
	b.fake.res =
		(struct exec_result){ .exit_code = 124, .timed_out = true };
	expect(&b, "execute", "{\"command\":\"x\"}", false,
	       "so far\nError: Command timed out after 1800 seconds. For "
	       "long-running commands, re-run using the timeout parameter.\n"
	       "[Command failed with exit code 124]");
	expect(&b, "execute", "{\"command\":\"x\",\"timeout\":5}", false,
	       "so far\nError: Command timed out after 5 seconds (custom "
	       "timeout). The command may be stuck or require more time.\n"
	       "[Command failed with exit code 124]");
	b.fake.res = (struct exec_result){ .notice = "restarted \x1b[1m" };
	expect(&b, "execute", "{\"command\":\"x\"}", false,
	       "so far\n[Command succeeded with exit code 0]\n[restarted ]");
	b.fake.res = (struct exec_result){ 0 };
	b.fake.exec_fail = &network;
	expect(&b, "execute", "{\"command\":\"x\"}", true,
	       "so far\nError: docker: no answer");
	b.fake.exec_fail = &cancelled;
	assert_string_equal(call(&b, "execute", "{\"command\":\"x\"}"),
			    "so far\n[Command was cancelled by the user]");
	assert_int_equal(b.rc, -1);
	assert_true(b.failed);
	assert_int_equal(b.err.code, ERR_CANCELLED);
	b.fake.exec_fail = &gone;
	b.fake.chunks[0] = STR("");
	assert_string_equal(call(&b, "execute", "{\"command\":\"x\"}"),
			    "Error: the sandbox has ended");
	assert_int_equal(b.err.code, ERR_GONE);
	b.fake.fail = &cancelled;
	assert_string_equal(call(&b, "glob", "{\"pattern\":\"x\"}"),
			    "Error: cancelled");
	assert_int_equal(b.rc, -1);
	bench_release(&b);
}

static void test_execute_text(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	/* A sequence, and a character, cut between chunks. Both streams of the
	 * command come in one pipe. */
	b.fake.chunks[0] = STR("E\x1b[3");
	b.fake.chunks[1] = STR("1mred\x1b[0m\0\xC3");
	b.fake.chunks[2] = STR("\xA9!\n\xE2\x82");
	b.fake.chunks[3] = STR("\xAC\xFF\r\n");
	expect(&b, "execute", "{\"command\":\"x\"}", false,
	       "Ered\xC3\xA9!\n\xE2\x82\xAC\xEF\xBF\xBD\n[Command succeeded "
	       "with exit code 0]");
	assert_string_equal(b.live.ptr,
			    "Ered\xC3\xA9!\n\xE2\x82\xAC\xEF\xBF\xBD\n");
	bench_release(&b);
}

static void test_mask(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	b.mask = mask_new();
	assert_true(mask_add(b.mask, "TOKEN", STR("hunter2-secret")));
	b.env.mask = b.mask;
	b.fake.chunks[0] = STR("is hunter2");
	b.fake.chunks[1] = STR("-secret, hun\x1b[0mter2-secret.");
	expect(&b, "execute", "{\"command\":\"x\"}", false,
	       "is [masked:TOKEN], [masked:TOKEN].\n[Command succeeded with "
	       "exit code 0]");
	assert_string_equal(b.live.ptr, "is [masked:TOKEN], [masked:TOKEN].");
	/* what could begin one is not lost at the end */
	b.fake.chunks[1] = STR("-sec");
	expect(&b, "execute", "{\"command\":\"x\"}", false,
	       "is hunter2-sec\n[Command succeeded with exit code 0]");
	assert_string_equal(b.live.ptr, "is hunter2-sec");
	buf_adds(&b.fake.page.text, "hunter2-secret");
	b.fake.page.start_line = b.fake.page.end_line = 1;
	b.fake.page.next_offset = -1;
	expect(&b, "read_file", "{\"file_path\":\"a\"}", false,
	       "1  [masked:TOKEN]");
	bench_release(&b);
}

/* A value that lies across the place where read_file wraps or grep cut. */
static void test_mask_cut(void **state)
{
	char path[] = "/w/a";
	char *text = xcalloc(5100, 1);
	struct bench b;

	(void)state;
	bench_init(&b);
	b.mask = mask_new();
	assert_true(mask_add(b.mask, "TOKEN", STR("hunter2-secret")));
	b.env.mask = b.mask;
	memset(text, 'x', 4995);
	strcat(text, "hunter2-secret");
	buf_adds(&b.fake.page.text, text);
	buf_adds(&b.fake.page.text, "\nlast");
	b.fake.page.start_line = 1;
	b.fake.page.end_line = 2;
	b.fake.page.next_offset = -1;
	call(&b, "read_file", "{\"file_path\":\"a\"}");
	assert_null(strstr(b.out.ptr, "hunt"));
	assert_true(str_ends(buf_str(&b.out), "\n  2  last"));
	text[5000] = '\0';
	b.fake.items[0] = (struct files_match){ path, 7, text };
	call(&b, "grep", "{\"pattern\":\"x\",\"output_mode\":\"content\"}");
	assert_null(strstr(b.out.ptr, "hunt"));
	assert_true(str_ends(buf_str(&b.out), "xxx"));
	free(b.fake.items[0].text);
	bench_release(&b);
}

/* 79,963 characters of output make a result of exactly 80,000. */
static char *long_output(size_t extra)
{
	size_t len = 79963 + extra;
	char *text = xcalloc(len + 1, 1);

	for (size_t i = 0; i < len; i++)
		text[i] = i % 100 == 99 ? '\n' : 'x';
	return text;
}

static void test_evict(void **state)
{
	char *text = long_output(1);
	struct bench b;

	(void)state;
	bench_init(&b);
	b.fake.chunks[0] = (struct str){ text, strlen(text) - 1 };
	call(&b, "execute", "{\"command\":\"x\"}");
	assert_int_equal(b.out.len, RESULT_CHARS);
	assert_int_equal(b.fake.written.len, 0);
	b.fake.chunks[0].len++;
	call(&b, "execute", "{\"command\":\"x\"}");
	assert_true(str_starts(buf_str(&b.out),
			       "Tool result too large, the result of this "
			       "tool call test/call.id was saved in the "
			       "filesystem at this path: "
			       "/tmp/dcode_large_tool_results/thread-1\n\n"));
	assert_string_equal(b.fake.path,
			    "/tmp/dcode_large_tool_results/thread-1");
	assert_int_equal(b.fake.written.len, RESULT_CHARS + 1);
	assert_true(str_ends(buf_str(&b.out),
			     "801  [Command succeeded with exit code 0]\n"));
	assert_non_null(strstr(b.out.ptr, "... [791 lines truncated] ..."));
	assert_true(b.out.len < 4000);
	b.fake.fail = &denied;
	call(&b, "execute", "{\"command\":\"x\"}");
	assert_true(str_chars(buf_str(&b.out)) <= RESULT_CHARS);
	assert_true(b.out.len > 70000);
	assert_non_null(strstr(b.out.ptr, "was not saved (permission_denied)"));
	assert_true(str_ends(buf_str(&b.out), "with exit code 0]"));
	assert_false(b.failed);
	free(text);
	bench_release(&b);
}

/* 100 MB stay within their two halves, and the result says so. */
static void test_flood(void **state)
{
	char *text = long_output(0);
	struct rusage before;
	struct rusage after;
	struct bench b;

	(void)state;
	bench_init(&b);
	b.env.output = NULL;
	b.fake.chunks[0] = (struct str){ text, 79963 };
	b.fake.repeat = 1250;
	getrusage(RUSAGE_SELF, &before);
	call(&b, "execute", "{\"command\":\"x\"}");
	getrusage(RUSAGE_SELF, &after);
	assert_true(b.fake.written.len < 10 * 1024 * 1024 + 200);
	assert_true(b.fake.written.len > 10 * 1024 * 1024 - 200);
	assert_non_null(strstr(b.fake.written.ptr,
			       " bytes of output were dropped here] ..."));
	assert_true(str_ends(buf_str(&b.fake.written),
			     "\n[Command succeeded with exit code 0]\n[Output "
			     "was truncated due to size limits]"));
	print_message("peak memory grew by %ld kB\n",
		      after.ru_maxrss - before.ru_maxrss);
	free(text);
	bench_release(&b);
}

/* The prompt waits for what is done with it. */
static void test_of_a_cancelled_flood_little_is_kept(void **state)
{
	const size_t len = 4 << 20;
	char *text = malloc(len);
	struct bench b;

	(void)state;
	bench_init(&b);
	memset(text, 'x', len);
	memcpy(text, "begin", 5);
	memcpy(text + len - 3, "end", 3);
	b.fake.chunks[0] = (struct str){ text, len };
	b.fake.exec_fail = &cancelled;
	call(&b, "execute", "{\"command\":\"x\"}");
	assert_int_equal(b.rc, -1);
	assert_true(b.out.len <= RESULT_CHARS);
	assert_true(str_starts(buf_str(&b.out), "begin"));
	assert_non_null(strstr(b.out.ptr,
			       "\n\n... [4116304 bytes of output were dropped "
			       "here] ...\n\n"));
	assert_true(str_ends(buf_str(&b.out),
			     "end\n[Command was cancelled by the user]"));
	free(text);
	bench_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_execute),
		cmocka_unit_test(test_execute_tells_the_end_apart),
		cmocka_unit_test(test_execute_ends),
		cmocka_unit_test(test_execute_text),
		cmocka_unit_test(test_mask),
		cmocka_unit_test(test_mask_cut),
		cmocka_unit_test(test_evict),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_of_a_cancelled_flood_little_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

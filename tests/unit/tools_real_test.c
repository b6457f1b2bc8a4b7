/* tools_real_test.c - the tools over a real shell, in a directory of its own.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "config/settings.h"
#include "providers/local/local.h"
#include "tool/result.h"
#include "tool/tool.h"
#include "unit.h"

struct real {
	struct settings *set;
	char dir[32];
	struct sandbox_client client;
	struct sandbox sandbox;
	struct cancel cancel;
	struct stop stop;
	struct tool_env env;
	struct buf out;
	struct buf live;
	bool failed;
	int rc;
};

static void live_output(void *arg, struct str delta)
{
	struct real *r = arg;

	buf_addstr(&r->live, delta);
	if (str_search(delta, STR("CANCEL-ME")) < delta.len)
		cancel_trigger(&r->cancel);
}

static int setup(void **state)
{
	struct real *r = xcalloc(1, sizeof(*r));
	const struct setting_group groups[] = { { 0 } };
	struct settings_input in = { .home = r->dir,
				     .cwd = r->dir,
				     .environ = (char *[]){ NULL },
				     .groups = groups };
	struct error err = { 0 };

	*state = r;
	snprintf(r->dir, sizeof(r->dir), "/tmp/dcode-unit-XXXXXX");
	if (!mkdtemp(r->dir) || cancel_init(&r->cancel, &err) ||
	    settings_load(&r->set, &in, &err))
		return -1;
	r->stop = stop_on(&r->cancel);
	r->out = BUF_INIT(TOOL_RESULT_BYTES);
	r->live = BUF_INIT(RESULT_RAW_BYTES);
	if (sandbox_client_open(&r->client, &none_provider, r->set, NULL,
				&err) ||
	    sandbox_create(&r->sandbox, &r->client,
			   &(struct sandbox_spec){ .label = "dcode-aaaaaaaa" },
			   &r->stop, &err))
		return -1;
	r->env = (struct tool_env){ .sandbox = &r->sandbox,
				    .stop = &r->stop,
				    .output = live_output,
				    .arg = r };
	return 0;
}

static int teardown(void **state)
{
	struct real *r = *state;
	struct error err = { 0 };

	sandbox_release(&r->sandbox);
	sandbox_client_close(&r->client);
	settings_free(r->set);
	cancel_release(&r->cancel);
	path_remove_tree(r->dir, &err);
	buf_release(&r->out);
	buf_release(&r->live);
	free(r);
	return 0;
}

/* The result, the directory's name in it replaced by "DIR". */
static const char *call(struct real *r, const char *name, const char *json)
{
	static const char marker[] = "DIR";
	struct buf shown = BUF_INIT(TOOL_RESULT_BYTES);
	char id[] = "unit_call";
	struct part part = { .kind = PART_TOOL_CALL, .id = id };
	struct error err = { 0 };
	struct str rest;

	part.name = xstrdup(name);
	part.args = xstrdup(json);
	buf_clear(&r->out);
	buf_clear(&r->live);
	r->rc = tool_call(&r->env, &part, &r->out, &r->failed, &err);
	rest = buf_str(&r->out);
	while (rest.len) {
		size_t at = str_search(rest, str_of(r->dir));

		buf_add(&shown, rest.ptr, at);
		if (at < rest.len)
			buf_adds(&shown, marker);
		rest = str_skip(rest, at + strlen(r->dir));
	}
	buf_release(&r->out);
	r->out = shown;
	free(part.name);
	free(part.args);
	return r->out.ptr;
}

static void expect(struct real *r, const char *name, const char *json,
		   const char *want)
{
	assert_string_equal(call(r, name, json), want);
	assert_int_equal(r->failed, str_starts(str_of(want), "Error") ||
					    str_starts(str_of(want), "Path"));
	assert_int_equal(r->rc, 0);
}

static void run(struct real *r, const char *json)
{
	call(r, "execute", json);
	assert_false(r->failed);
	assert_true(str_ends(buf_str(&r->out), "exit code 0]"));
}

static void test_files(void **state)
{
	struct real *r = *state;

	expect(r, "ls", "{\"path\":\".\"}", "No files found");
	expect(r, "write_file",
	       "{\"file_path\":\"sub/a.txt\",\"content\":\"one\\ntwo\\n\"}",
	       "Updated file DIR/sub/a.txt");
	expect(r, "write_file",
	       "{\"file_path\":\"b\\\\ '$(id).py\",\"content\":"
	       "\"`x` $y \\\"z\\\" \\u00e9\"}",
	       "Updated file DIR/b\\ '$(id).py");
	expect(r, "write_file", "{\"file_path\":\".h\",\"content\":\"\"}",
	       "Updated file DIR/.h");
	expect(r, "ls", "{\"path\":\"\"}",
	       "['DIR/.h', \"DIR/b\\\\ '$(id).py\", 'DIR/sub/']");
	expect(r, "read_file", "{\"file_path\":\"b\\\\ '$(id).py\"}",
	       "1  `x` $y \"z\" \xC3\xA9");
	expect(r, "read_file", "{\"file_path\":\"sub/a.txt\",\"limit\":\"1\"}",
	       "1  one\n\n[Read 1 line (lines 1-1 of 2 total). 1 line "
	       "remaining from offset 1.]");
	expect(r, "read_file", "{\"file_path\":\"sub/a.txt\",\"offset\":1}",
	       "2  two");
	expect(r, "read_file", "{\"file_path\":\"sub/a.txt\",\"limit\":0}",
	       "System reminder: no lines were read because `limit` was 0. The "
	       "file was not inspected and may have contents; retry with "
	       "`limit` >= 1 to read it.");
	expect(r, "read_file", "{\"file_path\":\".h\"}",
	       "System reminder: File exists but has empty contents");
	expect(r, "read_file", "{\"file_path\":\"nope\"}",
	       "Error: File 'DIR/nope': file_not_found");
	expect(r, "read_file", "{\"file_path\":\"sub\"}",
	       "Error: File 'DIR/sub': not_a_file");
	expect(r, "read_file", "{\"file_path\":\"sub/a.txt\",\"offset\":5}",
	       "Error: File 'DIR/sub/a.txt': Line offset 5 exceeds file length "
	       "(2 lines)");
	expect(r, "ls", "{\"path\":\"nope\"}",
	       "Error: Path 'DIR/nope': path_not_found");
	expect(r, "ls", "{\"path\":\"sub/a.txt\"}",
	       "Error: Path 'DIR/sub/a.txt': not_a_directory");
}

static void test_binary(void **state)
{
	struct real *r = *state;

	run(r, "{\"command\":\"printf 'a\\\\377\\\\376b' >x.txt; printf "
	       "'\\\\211PNG\\\\000' >x.png\"}");
	call(r, "read_file", "{\"file_path\":\"x.txt\"}");
	assert_true(str_starts(buf_str(&r->out),
			       "Error: File 'DIR/x.txt' is not UTF-8 text"));
	assert_true(r->failed);
	call(r, "read_file", "{\"file_path\":\"x.png\"}");
	assert_true(str_starts(buf_str(&r->out),
			       "[read_file: DIR/x.png was not attached because "
			       "this model does not support image content "
			       "(image/png).]\nIt has 5 bytes."));
	assert_false(r->failed); /* without struct tool_env.media */
}

static void test_edit(void **state)
{
	struct real *r = *state;

	run(r, "{\"command\":\"printf 'a a a\\\\nb\\\\r\\\\n' >f; chmod 750 f; "
	       "printf 'x y\\\\nlast' >g\"}");
	call(r, "edit_file",
	     "{\"file_path\":\"f\",\"old_string\":\"a\",\"new_string\":\"c\"}");
	assert_true(str_starts(buf_str(&r->out),
			       "Error: String 'a' appears multiple times. Use "
			       "replace_all=True to replace all occurrences. "
			       "It appears 3 times in file"));
	expect(r, "edit_file",
	       "{\"file_path\":\"f\",\"old_string\":\"a\",\"new_string\":\"c\","
	       "\"replace_all\":true}",
	       "Successfully replaced 3 instance(s) of the string in 'DIR/f'");
	expect(r, "edit_file",
	       "{\"file_path\":\"f\",\"old_string\":\"zzz\",\"new_string\":"
	       "\"\"}",
	       "Error: String not found in file: 'zzz'");
	call(r, "edit_file",
	     "{\"file_path\":\"g\",\"old_string\":\"last\\n\",\"new_string\":"
	     "\"end\\n\"}");
	assert_true(str_starts(buf_str(&r->out),
			       "Error: old_string ends with a newline, but"));
	expect(r, "edit_file",
	       "{\"file_path\":\"nope\",\"old_string\":\"a\",\"new_string\":"
	       "\"b\"}",
	       "Error: File 'DIR/nope' not found");
	expect(r, "execute", "{\"command\":\"stat -c %a f; cat f | od -c\"}",
	       "750\n0000000   c       c       c  \\n   b  \\r  \\n\n0000011\n"
	       "[Command succeeded with exit code 0]");
}

static void test_delete(void **state)
{
	struct real *r = *state;

	run(r, "{\"command\":\"mkdir -p d/e; touch d/e/f; ln -s nowhere l\"}");
	expect(r, "delete", "{\"file_path\":\"d\"}", "Deleted DIR/d");
	expect(r, "delete", "{\"file_path\":\"l\"}", "Deleted DIR/l");
	expect(r, "delete", "{\"file_path\":\"d\"}",
	       "Error: 'DIR/d' not found");
	expect(r, "ls", "{\"path\":\".\"}", "No files found");
}

static void test_search(void **state)
{
	struct real *r = *state;

	run(r, "{\"command\":\"mkdir -p s/n .g; echo 'y here' >s/b.py; echo "
	       "'no\\nx.*y' >s/n/c.py; echo y >a.py; echo y >.g/x.py; touch "
	       "r.md\"}");
	expect(r, "glob", "{\"pattern\":\"*.py\"}",
	       "['DIR/.g/x.py', 'DIR/a.py', 'DIR/s/b.py', 'DIR/s/n/c.py']");
	expect(r, "glob", "{\"pattern\":\"**/*.py\",\"path\":\"s\"}",
	       "['DIR/s/b.py', 'DIR/s/n/c.py']");
	expect(r, "glob", "{\"pattern\":\"/*.{py,md}\"}",
	       "['DIR/a.py', 'DIR/r.md']");
	expect(r, "glob", "{\"pattern\":\"*.c\"}", "No files found");
	expect(r, "glob", "{\"pattern\":\"../x\"}",
	       "Error: Path 'DIR': invalid_pattern");
	expect(r, "grep", "{\"pattern\":\"y\",\"glob\":\"s/**/*.py\"}",
	       "DIR/s/b.py\nDIR/s/n/c.py");
	expect(r, "grep", "{\"pattern\":\"x.*y\",\"output_mode\":\"content\"}",
	       "DIR/s/n/c.py:\n  2: x.*y");
	expect(r, "grep",
	       "{\"pattern\":\"y\",\"path\":\"s\",\"output_mode\":\"count\"}",
	       "DIR/s/b.py: 1\nDIR/s/n/c.py: 1");
	expect(r, "grep", "{\"pattern\":\"-e zz\"}", "No matches found");
	expect(r, "grep", "{\"pattern\":\"y\",\"path\":\"nope\"}",
	       "Path 'DIR/nope': path_not_found");
	call(r, "grep", "{\"pattern\":\"y\",\"max_count\":1}");
	assert_non_null(strstr(r->out.ptr, "\n\nNote: the search stopped "));
}

static void test_execute(void **state)
{
	struct real *r = *state;

	expect(r, "execute", "{\"command\":\"pwd; echo err >&2; exit 3\"}",
	       "DIR\nerr\n[Command failed with exit code 3]");
	expect(r, "execute", "{\"command\":\"true\"}",
	       "<no output>\n[Command succeeded with exit code 0]");
	expect(r, "execute", "{\"command\":\"cat\"}",
	       "<no output>\n[Command succeeded with exit code 0]");
	expect(r, "execute",
	       "{\"command\":\"echo begun; sleep 60\",\"timeout\":1}",
	       "begun\nError: Command timed out after 1 seconds (custom "
	       "timeout). The command may be stuck or require more time.\n"
	       "[Command failed with exit code 124]");
}

static void test_cancel(void **state)
{
	struct real *r = *state;
	int64_t start = clock_ms();

	call(r, "execute", "{\"command\":\"echo CANCEL-ME; sleep 60\"}");
	assert_int_equal(r->rc, -1);
	assert_true(clock_ms() - start < 5000);
	assert_string_equal(r->out.ptr,
			    "CANCEL-ME\n[Command was cancelled by the user]");
	call(r, "ls", "{\"path\":\".\"}");
	assert_int_equal(r->rc, -1);
	assert_true(r->failed);
	cancel_reset(&r->cancel);
	expect(r, "ls", "{\"path\":\".\"}", "No files found");
}

static void test_evict(void **state)
{
	struct real *r = *state;
	struct buf path = BUF_INIT(4096);
	struct buf json = BUF_INIT(8192);
	const char *at;
	struct stat st;

	call(r, "execute", "{\"command\":\"seq 1 30000\"}");
	assert_false(r->failed);
	at = strstr(r->out.ptr, "at this path: ");
	assert_non_null(at);
	at += strlen("at this path: ");
	buf_add(&path, at, strcspn(at, "\n"));
	assert_non_null(strstr(path.ptr, "large_tool_results/"));
	assert_non_null(strstr(r->out.ptr, "\n5  5\n... [29991 lines truncated]"
					   " ...\n29997  29997\n"));
	buf_adds(&json, "{\"offset\":29998,");
	json_member(&json, "file_path", buf_str(&path));
	buf_addc(&json, '}');
	expect(r, "read_file", json.ptr,
	       "29999  29999\n30000  30000\n30001  [Command succeeded with "
	       "exit code 0]");
	assert_int_equal(unlink(path.ptr), 0);
	*strrchr(path.ptr, '/') = '\0';
	assert_int_equal(stat(path.ptr, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	buf_release(&path);
	buf_release(&json);
}

/* Calls of one answer run side by side. */
static void *reader(void *arg)
{
	static const char *const names[] = { "ls", "read_file", "glob",
					     "grep" };
	static const char *const args[] = {
		"{\"path\":\".\"}",
		"{\"file_path\":\"a\"}",
		"{\"pattern\":\"a\"}",
		"{\"pattern\":\"text\"}",
	};
	const struct real *r = arg;
	size_t *wrong = xcalloc(1, sizeof(*wrong));

	for (size_t i = 0; i < 8; i++) {
		struct buf out = BUF_INIT(TOOL_RESULT_BYTES);
		struct part part = { .kind = PART_TOOL_CALL };
		struct error err = { 0 };
		bool failed;

		part.name = xstrdup(names[i % 4]);
		part.args = xstrdup(args[i % 4]);
		if (tool_call(&r->env, &part, &out, &failed, &err) || failed ||
		    !strstr(out.ptr, i % 4 == 1 ? "1  text" : "/a"))
			++*wrong;
		buf_release(&out);
		free(part.name);
		free(part.args);
	}
	return wrong;
}

static void test_parallel(void **state)
{
	struct real *r = *state;
	pthread_t threads[8];

	run(r, "{\"command\":\"echo text >a\"}");
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, reader, r),
				 0);
	for (size_t i = 0; i < 8; i++) {
		void *wrong;

		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_int_equal(*(size_t *)wrong, 0);
		free(wrong);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define X(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		X(test_files),  X(test_binary), X(test_edit),
		X(test_delete), X(test_search), X(test_execute),
		X(test_cancel), X(test_evict),  X(test_parallel),
#undef X
	};

	(void)signal(SIGPIPE, SIG_IGN); /* as dcode does */
	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

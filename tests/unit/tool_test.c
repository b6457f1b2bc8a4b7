/* tool_test.c - calls of tools over a sandbox of canned answers. */
/* SPDX-License-Identifier: MIT */
#include "tool_bench.h"

static const struct error not_found = { .code = ERR_NOT_FOUND,
					.exact = CASE_FILE_NOT_FOUND,
					.message = "file_not_found" };
static const struct error no_path = { .code = ERR_NOT_FOUND,
				      .exact = CASE_PATH_NOT_FOUND,
				      .message = "path_not_found" };
static const struct error denied = { .code = ERR_REMOTE,
				     .exact = CASE_PERMISSION_DENIED,
				     .message = "permission_denied" };
static const struct error not_a_file = { .code = ERR_REMOTE,
					 .exact = CASE_NOT_A_FILE,
					 .message = "not_a_file" };
static const struct error not_text = { .code = ERR_REMOTE,
				       .exact = CASE_NOT_TEXT,
				       .message = "not_a_text_file" };
static const struct error no_string = { .code = ERR_REMOTE,
					.exact = CASE_STRING_NOT_FOUND,
					.message = "string_not_found" };
static const struct error newline_hint = {
	.code = ERR_REMOTE,
	.exact = CASE_STRING_NOT_FOUND,
	.message = "string_not_found",
	.hint = "old_string ends with a newline, but"
};
static const struct error several = { .code = ERR_REMOTE,
				      .exact = CASE_MULTIPLE_OCCURRENCES,
				      .message = "multiple_occurrences" };
static const struct error network = { .code = ERR_NETWORK,
				      .message = "docker: no answer" };
static const struct error timeout = { .code = ERR_TIMEOUT,
				      .message = "timed out" };

static void test_unknown(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	expect(&b, "nope", "{}", true,
	       "Error: nope is not a valid tool, try one of [ls, read_file, "
	       "write_file, edit_file, delete, glob, grep, execute, "
	       "job_output, job_kill, task, web_search, fetch_url, "
	       "write_todos, "
	       "ask_user, present_plan].");
	expect(&b, "ls", "{}", true,
	       "Error invoking tool 'ls' with kwargs {} with error:\n path: "
	       "Field required\n Please fix the error and try again.");
	expect(&b, "ls", "{", true,
	       "Tool call ls with id test/call.id could not be executed - "
	       "arguments were malformed or truncated.");
	expect(&b, "grep", "{\"pattern\":\"x\",\"max_count\":0}", true,
	       "Error invoking tool 'grep' with kwargs {'pattern': 'x', "
	       "'max_count': 0} with error:\n max_count: Input should be "
	       "greater than 0\n Please fix the error and try again.");
	expect(&b, "read_file", "{\"file_path\":\"~/x\"}", true,
	       "Error: Path traversal not allowed: ~/x");
	assert_int_equal(b.fake.calls, 0);
	bench_release(&b);
}

static void test_ls(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	expect(&b, "ls", "{\"path\":\"src\"}", false, "No files found");
	assert_string_equal(b.fake.path, "/w/src");
	b.fake.names[0] = "/d/a";
	b.fake.names[1] = "/d/b/";
	expect(&b, "ls", "{\"path\":\"/d\"}", false, "['/d/a', '/d/b/']");
	assert_string_equal(b.fake.path, "/d");
	b.fake.fail = &no_path;
	expect(&b, "ls", "{\"path\":\"/x\"}", true,
	       "Error: Path '/x': path_not_found");
	b.fake.fail = &network;
	expect(&b, "ls", "{\"path\":\"/x\"}", true, "Error: docker: no answer");
	bench_release(&b);
}

static void test_read(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	buf_adds(&b.fake.page.text, "one\ntwo");
	b.fake.page.start_line = 1;
	b.fake.page.end_line = 2;
	b.fake.page.total_lines = 2;
	b.fake.page.next_offset = -1;
	expect(&b, "read_file", "{\"file_path\":\"a.txt\"}", false,
	       "1  one\n2  two");
	assert_string_equal(b.fake.path, "/w/a.txt");
	assert_int_equal(b.fake.cap, 100);
	assert_int_equal(b.fake.offset, 0);
	assert_false(b.fake.as_binary);
	b.fake.page.binary = true;
	call(&b, "read_file", "{\"file_path\":\"/a.PNG\"}");
	assert_true(b.fake.as_binary);
	assert_false(b.failed);
	call(&b, "read_file", "{\"file_path\":\"/a.txt\"}");
	assert_true(b.failed);
	b.fake.fail = &not_found;
	expect(&b, "read_file",
	       "{\"file_path\":\"/x\",\"offset\":\"3\",\"limit\":2}", true,
	       "Error: File '/x': file_not_found");
	assert_int_equal(b.fake.offset, 3);
	assert_int_equal(b.fake.cap, 2);
	b.fake.fail = &not_text;
	expect(&b, "read_file", "{\"file_path\":\"/x\"}", true,
	       "Error: File '/x' is not UTF-8 text. Use execute to look at it, "
	       "for example with `od -c` or `file`.");
	bench_release(&b);
}

/* A text with NUL must not end the result early. */
static void test_read_nul(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	buf_add(&b.fake.page.text,
		"a\0b\xFF"
		"c",
		5);
	b.fake.page.start_line = 1;
	b.fake.page.end_line = 1;
	b.fake.page.next_offset = -1;
	expect(&b, "read_file", "{\"file_path\":\"a\"}", false,
	       "1  a\xEF\xBF\xBD"
	       "b\xEF\xBF\xBD"
	       "c");
	bench_release(&b);
}

static void test_write(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	expect(&b, "write_file",
	       "{\"file_path\":\"a\\\\b\",\"content\":\"$(id)`'\\n\"}", false,
	       "Updated file /w/a\\b");
	assert_string_equal(b.fake.written.ptr, "$(id)`'\n");
	b.fake.fail = &denied;
	expect(&b, "write_file", "{\"file_path\":\"/x\",\"content\":\"\"}",
	       true, "Failed to write file '/x': permission_denied");
	expect(&b, "write_file",
	       "{\"file_path\":\"/x\",\"content\":\"a\\u0000b\"}", true,
	       "Error invoking tool 'write_file' with kwargs {'file_path': "
	       "'/x', 'content': 'a'} with error:\n arguments: a string "
	       "contains the character NUL (\\u0000), which cannot be passed "
	       "on\n Please fix the error and try again.");
	bench_release(&b);
}

static void test_arguments_are_read_once(void **state)
{
	struct bench b;
	cJSON *args =
		json_parse(STR("{\"file_path\":\"a\",\"content\":\"x\"}"));

	(void)state;
	bench_init(&b);
	b.env.args = args;
	expect(&b, "write_file", "not JSON", false, "Updated file /w/a");
	assert_string_equal(b.fake.written.ptr, "x");
	b.env.args = NULL;
	call(&b, "write_file", "not JSON");
	assert_true(b.failed);
	cJSON_Delete(args);
	bench_release(&b);
}

#define EDIT "{\"file_path\":\"/x\",\"old_string\":\"a\",\"new_string\":\"b\""

static void test_edit(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	b.fake.count = 3;
	expect(&b, "edit_file", EDIT ",\"replace_all\":\"true\"}", false,
	       "Successfully replaced 3 instance(s) of the string in '/x'");
	assert_string_equal(b.fake.written.ptr, "a>b");
	assert_true(b.fake.all);
	b.fake.fail = &not_found;
	expect(&b, "edit_file", EDIT "}", true, "Error: File '/x' not found");
	assert_false(b.fake.all);
	b.fake.fail = &denied;
	expect(&b, "edit_file", EDIT "}", true,
	       "Error: Permission denied editing file '/x'");
	b.fake.fail = &not_a_file;
	expect(&b, "edit_file", EDIT "}", true,
	       "Error: '/x' is not a regular file");
	b.fake.fail = &not_text;
	expect(&b, "edit_file", EDIT "}", true,
	       "Error: File '/x' is not a text file");
	b.fake.fail = &no_string;
	expect(&b, "edit_file", EDIT "}", true,
	       "Error: String not found in file: 'a'");
	b.fake.fail = &newline_hint;
	expect(&b, "edit_file", EDIT "}", true,
	       "Error: old_string ends with a newline, but");
	b.fake.fail = &several;
	expect(&b, "edit_file", EDIT "}", true,
	       "Error: String 'a' appears multiple times. Use replace_all=True "
	       "to replace all occurrences. It appears 3 times in file: to "
	       "replace one of them, provide a more specific string with "
	       "surrounding context.");
	b.fake.fail = &network;
	expect(&b, "edit_file", EDIT "}", true,
	       "Error editing file '/x': docker: no answer");
	bench_release(&b);
}

static void test_delete(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	expect(&b, "delete", "{\"file_path\":\"a\"}", false, "Deleted /w/a");
	assert_int_equal(b.fake.calls, 1);
	expect(&b, "delete", "{\"file_path\":\".\"}", true,
	       "Error deleting file '/w': it holds the working directory");
	expect(&b, "delete", "{\"file_path\":\"/\"}", true,
	       "Error deleting file '/': it holds the working directory");
	assert_int_equal(b.fake.calls, 1);
	b.fake.fail = &not_found;
	expect(&b, "delete", "{\"file_path\":\"/m.txt\"}", true,
	       "Error: '/m.txt' not found");
	b.fake.fail = &denied;
	expect(&b, "delete", "{\"file_path\":\"/m\"}", true,
	       "Error deleting file '/m': permission_denied");
	bench_release(&b);
}

static void test_glob(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	expect(&b, "glob", "{\"pattern\":\"*.c\",\"path\":null}", false,
	       "No files found");
	assert_string_equal(b.fake.path, "/w");
	b.fake.names[0] = "/w/a.c";
	b.fake.incomplete = true;
	expect(&b, "glob", "{\"pattern\":\"*.c\"}", false,
	       "['/w/a.c']\n\nNote: the search stopped early because it hit "
	       "its time limit. The paths above are valid but incomplete. "
	       "Narrow the search (a more specific pattern or a narrower path) "
	       "to see the rest.");
	b.fake.fail = &timeout;
	expect(&b, "glob", "{\"pattern\":\"*.c\"}", true,
	       "Error: glob timed out after 10.0s. Try a more specific pattern "
	       "or a narrower path.");
	b.fake.fail = &no_path;
	expect(&b, "glob", "{\"pattern\":\"*\",\"path\":\"q\"}", true,
	       "Error: Path '/w/q': path_not_found");
	bench_release(&b);
}

static void test_grep(void **state)
{
	char path[] = "/w/a";
	char text[] = "y|z";
	struct bench b;

	(void)state;
	bench_init(&b);
	expect(&b, "grep", "{\"pattern\":\"y\"}", false, "No matches found");
	assert_string_equal(b.fake.path, "/w");
	assert_string_equal(b.fake.written.ptr, "(none)");
	assert_int_equal(b.fake.cap, 1000);
	expect(&b, "grep", "{\"pattern\":\"y|z\",\"max_count\":5}", false,
	       "No matches found\n\nNote: grep matches literal text, not "
	       "regex, so characters like `|`, `.*`, and `\\.` are searched "
	       "verbatim. Search for the literal text you need instead; for "
	       "`|` alternation, run a separate search per alternative.");
	assert_int_equal(b.fake.cap, 5);
	b.fake.items[0] = (struct files_match){ path, 7, text };
	expect(&b, "grep", "{\"pattern\":\"y|z\",\"glob\":\"*.c\"}", false,
	       "/w/a");
	assert_string_equal(b.fake.written.ptr, "*.c");
	b.fake.incomplete = true;
	expect(&b, "grep", "{\"pattern\":\"y\",\"output_mode\":\"content\"}",
	       false,
	       "/w/a:\n  7: y|z\n\nNote: the search stopped early (it hit its "
	       "time limit or the maximum match count). The matches above are "
	       "valid but incomplete. Narrow the search (a more specific "
	       "pattern or a narrower path), or raise max_count, to see the "
	       "rest.");
	b.fake.fail = &no_path;
	expect(&b, "grep", "{\"pattern\":\"y\",\"output_mode\":\"count\"}",
	       true, "Path '/w': path_not_found\n\nPartial matches:\n/w/a: 1");
	b.fake.items[0].path = NULL;
	expect(&b, "grep", "{\"pattern\":\"y\"}", true,
	       "Path '/w': path_not_found");
	b.fake.fail = &timeout;
	expect(&b, "grep", "{\"pattern\":\"y\"}", true,
	       "Error: grep timed out after 35s. Try a more specific pattern "
	       "or a narrower path.");
	bench_release(&b);
}

static bool is_listed(const cJSON *list, const char *name)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, list)
		if (!strcmp(item->valuestring, name))
			return true;
	return false;
}

static const char *type_of(const cJSON *property)
{
	const cJSON *any = cJSON_GetArrayItem(json_get(property, "anyOf"), 0);

	return json_string(any ? any : property, "type", "");
}

/* What the model is told and what is checked are the same. */
static void test_schemas(void **state)
{
	static const char *const types[] = { "", "string", "integer", "boolean",
					     "array" };

	(void)state;
	for (size_t i = 0; tools[i]; i++) {
		char *text = tool_schema(tools[i], true);
		cJSON *schema = json_parse(str_of(text));
		const cJSON *all = json_get(schema, "properties");
		int n = 0;

		assert_string_equal(json_string(schema, "type", ""), "object");
		for (const struct tool_arg *a = tools[i]->args; a->name; a++) {
			const cJSON *one = json_get(all, a->name);

			assert_string_equal(type_of(one), types[a->type]);
			assert_int_equal(is_listed(json_get(schema, "required"),
						   a->name),
					 a->required);
			assert_int_equal(!a->required,
					 json_get(one, "default") != NULL);
			n++;
		}
		assert_int_equal(cJSON_GetArraySize(all), n);
		cJSON_Delete(schema);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_ls),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_read_nul),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_edit),
		cmocka_unit_test(test_delete),
		cmocka_unit_test(test_glob),
		cmocka_unit_test(test_grep),
		cmocka_unit_test(test_arguments_are_read_once),
		cmocka_unit_test(test_schemas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

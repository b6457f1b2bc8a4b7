/* mcp_test.c - entries, names, lists and results of MCP servers. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "mcp/entry.h"
#include "mcp/mcp.h"
#include "mcp/server.h"
#include "unit.h"

static void read_text(struct mcp_entries *e, const char *text, bool project)
{
	const struct mcp_place place = { "/r/.mcp.json", "/r", project };
	struct error err = { 0 };

	assert_int_equal(mcp_entries_read(e, str_of(text), &place, &err), 0);
}

static void test_what_cannot_be_used_says_why(void **state)
{
	static const struct {
		const char *entry, *why;
	} cases[] = {
		{ "\"a\":5", "not an object" },
		{ "\"a/b\":{\"command\":\"x\"}", "its name" },
		{ "\" a\":{\"command\":\"x\"}", "its name" },
		{ "\"a\":{}", "neither" },
		{ "\"a\":{\"command\":\"x\",\"args\":[1]}", "args" },
		{ "\"a\":{\"command\":\"x\",\"env\":{\"A\":1}}", "env" },
		{ "\"a\":{\"command\":\"x\",\"env\":{\"A=B\":\"1\"}}", "env" },
		{ "\"a\":{\"command\":\"x\\u001b[2J\"}", "control" },
		{ "\"a\":{\"command\":\"x\",\"args\":[\"\\u202e\"]}",
		  "hidden" },
		{ "\"a\":{\"url\":\"file:///x\"}", "not an http" },
		{ "\"a\":{\"url\":\"http://x\",\"headers\":{\"A\":\"b\\nC: "
		  "d\"}}",
		  "line break" },
		{ "\"a\":{\"type\":\"ws\",\"url\":\"http://x\"}", "sse" },
		{ "\"a\":{\"url\":\"http://x\",\"auth\":\"basic\"}", "oauth" },
		{ "\"a\":{\"url\":\"http://x\",\"oauth\":7}", "oauth" },
		{ "\"a\":{\"url\":\"http://x\",\"oauth\":{\"callbackPort\":"
		  "65536}}",
		  "callbackPort" },
		{ "\"a\":{\"type\":\"ws\",\"url\":\"http://x\"}", "type" },
		{ "\"a\":{\"command\":\"x\",\"allowedTools\":[]}", "patterns" },
		{ "\"a\":{\"command\":\"x\",\"allowedTools\":[\"a\"],"
		  "\"disabledTools\":[\"b\"]}",
		  "only one" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mcp_entries e = { 0 };
		struct buf text = BUF_INIT(1 << 12);

		buf_addf(&text, "{\"mcpServers\":{%s}}", cases[i].entry);
		read_text(&e, text.ptr, false);
		assert_int_equal(e.n, 1);
		assert_non_null(e.list[0].wrong);
		assert_non_null(strstr(e.list[0].wrong, cases[i].why));
		mcp_entries_release(&e);
		buf_release(&text);
	}
}

static void check_tools(const struct mcp_entry *e, const char *offered)
{
	for (const char *name = "abc"; *name; name++) {
		const char tool[] = { *name, '\0' };

		assert_int_equal(mcp_entry_offers(e, tool),
				 strchr(offered, *name) != NULL);
	}
}

static void test_filters_of_other_programs_count(void **state)
{
	static const struct {
		const char *members, *offered;
	} cases[] = {
		{ "\"allowedTools\":[\"a\"]", "a" },
		{ "\"includeTools\":[\"a\",\"b\"]", "ab" },
		{ "\"excludeTools\":[\"a\"]", "bc" },
		{ "\"includeTools\":[\"a\",\"b\"],\"excludeTools\":[\"b\"]",
		  "a" },
		{ "\"disabledTools\":[],\"autoApprove\":[]", "abc" },
		{ "\"allowedTools\":[\"c\"],\"disabledTools\":[]", "c" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mcp_entries e = { 0 };
		struct buf text = BUF_INIT(1 << 12);

		buf_addf(&text,
			 "{\"mcpServers\":{\"s\":{\"command\":\"x\",%s}}}",
			 cases[i].members);
		read_text(&e, text.ptr, false);
		assert_null(e.list[0].wrong);
		assert_null(e.list[0].ignored);
		check_tools(&e.list[0], cases[i].offered);
		mcp_entries_release(&e);
		buf_release(&text);
	}
}

static void test_a_directory_of_a_repository_is_one_of_it(void **state)
{
	static const struct {
		const char *cwd;
		bool project, used;
	} cases[] = {
		{ "sub/x", true, true },      { "./sub", true, true },
		{ "/tmp", true, false },      { "~/x", true, false },
		{ "../x", true, false },      { "a/../../x", true, false },
		{ "${HOME}/x", true, false }, { "/tmp", false, true },
		{ "~/x", false, true },       { "${HOME}/x", false, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mcp_entries e = { 0 };
		struct buf text = BUF_INIT(1 << 12);

		buf_addf(&text,
			 "{\"mcpServers\":{\"s\":{\"command\":\"x\",\"cwd\":\"%"
			 "s\","
			 "\"timeout\":5,\"trust\":false}}}",
			 cases[i].cwd);
		read_text(&e, text.ptr, cases[i].project);
		assert_null(e.list[0].wrong);
		assert_int_equal(e.list[0].cwd != NULL, cases[i].used);
		assert_string_equal(e.list[0].ignored,
				    cases[i].used ? "\"timeout\""
						  : "\"timeout\", \"cwd\"");
		mcp_entries_release(&e);
		buf_release(&text);
	}
}

static void test_a_later_entry_takes_the_place_of_one_before(void **state)
{
	struct mcp_entries e = { 0 };
	char hash[MCP_HASH];

	(void)state;
	read_text(&e,
		  "{\"mcpServers\":{\"a\":{\"command\":\"x\"},\"b\":{\"url\":"
		  "\"http://h/\"}}}",
		  false);
	assert_int_equal(e.n, 2);
	assert_null(e.list[0].wrong);
	assert_int_equal(e.list[1].kind, MCP_HTTP);
	memcpy(hash, e.list[0].hash, sizeof(hash));
	read_text(&e, "{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}", true);
	assert_int_equal(e.n, 2);
	assert_true(e.list[0].project);
	assert_string_not_equal(e.list[0].hash, hash);
	mcp_entries_release(&e);
}

static void test_what_a_login_needs_is_read(void **state)
{
	struct mcp_entries e = { 0 };

	(void)state;
	read_text(&e,
		  "{\"mcpServers\":{\"a\":{\"type\":\"sse\",\"url\":"
		  "\"https://a/\",\"auth\":\"oauth\",\"oauth\":{"
		  "\"clientId\":\"i\",\"clientSecret\":\"${S}\","
		  "\"scope\":\"x y\",\"callbackPort\":1234}}}}",
		  false);
	assert_null(e.list[0].wrong);
	assert_int_equal(e.list[0].kind, MCP_SSE);
	assert_true(e.list[0].wants_login);
	assert_string_equal(e.list[0].client_id, "i");
	assert_string_equal(e.list[0].client_secret, "${S}");
	assert_string_equal(e.list[0].scope, "x y");
	assert_int_equal(e.list[0].callback_port, 1234);
	mcp_entries_release(&e);
}

static void test_text_that_is_no_such_file_is_an_error(void **state)
{
	static const char *const texts[] = { "",
					     "[]",
					     "{}",
					     "{\"mcpServers\":[]}",
					     "{\"mcpServers\":{}} x",
					     "\xff" };
	const struct mcp_place place = { "/f", "/", false };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct mcp_entries e = { 0 };
		struct error err = { 0 };

		assert_int_equal(
			mcp_entries_read(&e, str_of(texts[i]), &place, &err),
			-1);
		assert_int_equal(err.code, ERR_CONFIG);
		assert_int_equal(e.n, 0);
	}
}

static bool is_taken(void *arg, const char *name)
{
	return arg && !strcmp(arg, name);
}

static void test_names_fit_and_differ(void **state)
{
	char room[MCP_SHOWN_NAME];
	char other[MCP_SHOWN_NAME];
	char tool[200];

	(void)state;
	mcp_name("fs", "read-file", is_taken, NULL, room);
	assert_string_equal(room, "fs_read-file");
	mcp_name("fs", "a.b", is_taken, NULL, room);
	mcp_name("fs", "a/b", is_taken, NULL, other);
	assert_memory_equal(room, "fs_a_b_", 7);
	assert_string_not_equal(room, other);
	mcp_name("read", "file", is_taken, (void *)"read_file", room);
	assert_memory_equal(room, "read_file_", 10);
	memset(tool, 'x', sizeof(tool));
	tool[sizeof(tool) - 1] = '\0';
	mcp_name("s", tool, is_taken, NULL, room);
	tool[sizeof(tool) - 2] = 'y';
	mcp_name("s", tool, is_taken, NULL, other);
	assert_int_equal(strlen(room), 64);
	assert_string_not_equal(room, other);
}

static void test_a_list_reads_what_it_writes(void **state)
{
	static const char text[] =
		"{\"tools\":[{\"name\":\"a\",\"description\":\"d\\u001b[1m\","
		"\"inputSchema\":{\"type\":\"object\",\"$schema\":\"x\"},"
		"\"annotations\":{\"readOnlyHint\":true}},{\"name\":\"a\"},"
		"{\"name\":\"b\",\"annotations\":{\"readOnlyHint\":true,"
		"\"destructiveHint\":true}},{\"name\":\"off\"},7]}";
	struct mcp_entries e = { 0 };
	struct mcp_list one = { 0 };
	struct mcp_list two = { 0 };
	struct buf written = BUF_INIT(1 << 12);
	struct buf again = BUF_INIT(1 << 12);
	struct error err = { 0 };
	cJSON *tree = json_parse(str_of(text));

	(void)state;
	read_text(&e,
		  "{\"mcpServers\":{\"a\":{\"command\":\"x\","
		  "\"disabledTools\":[\"o*\"]}}}",
		  false);
	assert_int_equal(mcp_list_read(&one, e.list, tree, &err), 0);
	assert_int_equal(one.n, 2);
	assert_int_equal(one.left_out, 2);
	assert_true(one.items[0].reads);
	assert_false(one.items[1].reads);
	assert_string_equal(one.items[0].description, "d");
	assert_null(strstr(one.items[0].schema, "$schema"));
	cJSON_Delete(tree);
	mcp_list_write(&one, &written);
	tree = json_parse(buf_str(&written));
	assert_int_equal(mcp_list_read(&two, e.list, tree, &err), 0);
	mcp_list_read_lost(&two, tree);
	assert_int_equal(two.left_out, 2);
	mcp_list_write(&two, &again);
	assert_string_equal(written.ptr, again.ptr);
	cJSON_Delete(tree);
	mcp_list_release(&one);
	mcp_list_release(&two);
	mcp_entries_release(&e);
	buf_release(&written);
	buf_release(&again);
}

static void check_result(const char *text, const char *want, bool fails)
{
	struct buf out = BUF_INIT(1 << 16);
	cJSON *tree = json_parse(str_of(text));

	assert_non_null(tree);
	assert_int_equal(mcp_result_read(tree, NULL, &out), fails);
	assert_string_equal(out.ptr, want);
	cJSON_Delete(tree);
	buf_release(&out);
}

static void test_results_are_text(void **state)
{
	(void)state;
	check_result("{}", "(the tool returned nothing)", false);
	check_result("{\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
		     "{\"type\":\"text\",\"text\":\"b\"}],"
		     "\"structuredContent\":{\"x\":1},\"isError\":true}",
		     "a\nb", true);
	check_result("{\"structuredContent\":{\"x\":1}}", "{\"x\":1}", false);
	check_result("{\"content\":{\"type\":\"text\",\"text\":\"a\"}}",
		     "(the tool returned nothing)", false);
	check_result("{\"content\":[{\"type\":\"image\",\"data\":\"AAAA\"}]}",
		     "[image of unknown type, 3 bytes: not shown]", false);
	check_result("{\"content\":[5,{\"type\":\"resource\"}]}",
		     "[content of the unknown type ]\n[resource  <>]", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_cannot_be_used_says_why),
		cmocka_unit_test(
			test_a_later_entry_takes_the_place_of_one_before),
		cmocka_unit_test(test_filters_of_other_programs_count),
		cmocka_unit_test(test_a_directory_of_a_repository_is_one_of_it),
		cmocka_unit_test(test_text_that_is_no_such_file_is_an_error),
		cmocka_unit_test(test_what_a_login_needs_is_read),
		cmocka_unit_test(test_names_fit_and_differ),
		cmocka_unit_test(test_a_list_reads_what_it_writes),
		cmocka_unit_test(test_results_are_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

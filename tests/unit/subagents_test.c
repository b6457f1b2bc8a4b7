/* subagents_test.c - which subagents are found where, and what they may. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "subagents/subagents.h"
#include "unit.h"

struct place { /* a home with a project beside it */
	char top[32];
	char *config, *cwd;
	struct subagents found;
};

static void make_dir(const struct place *p, const char *name)
{
	struct error err = { 0 };
	char *dir = path_join(p->top, name);

	assert_int_equal(path_mkdirs(dir, 0755, &err), 0);
	free(dir);
}

static int make_place(void **state)
{
	struct place *p = xcalloc(1, sizeof(*p));

	snprintf(p->top, sizeof(p->top), "/tmp/dcode-agents.XXXXXX");
	assert_non_null(mkdtemp(p->top));
	p->config = path_join(p->top, "home/.deepagents");
	p->cwd = path_join(p->top, "project/sub");
	make_dir(p, "project/sub");
	make_dir(p, "project/.git");
	*state = p;
	return 0;
}

static int drop_place(void **state)
{
	struct place *p = *state;
	struct error err = { 0 };

	subagents_release(&p->found);
	assert_int_equal(path_remove_tree(p->top, &err), 0);
	free(p->config);
	free(p->cwd);
	free(p);
	return 0;
}

#define USER "home/.deepagents/agent/agents/"
#define PROJECT "project/.deepagents/agents/"

/* agents/NAME/AGENTS.md below one of the two. */
static void put(const struct place *p, const char *below, const char *name,
		const char *text)
{
	struct error err = { 0 };
	char *dir = xasprintf("%s%s", below, name);
	char *file = xasprintf("%s/%s/AGENTS.md", p->top, dir);

	make_dir(p, dir);
	assert_int_equal(path_write(file, str_of(text), 0644, &err), 0);
	free(file);
	free(dir);
}

static const struct subagent *find(struct place *p, const char *name)
{
	const struct subagents_request q = { p->config, "agent", p->cwd };

	subagents_release(&p->found);
	subagents_read(&p->found, &q);
	return subagents_find(&p->found, name);
}

static void test_a_general_one_is_always_there_and_first(void **state)
{
	struct place *p = *state;

	assert_non_null(find(p, SUBAGENT_GENERAL));
	assert_int_equal(p->found.n, 1);
	put(p, USER, "aaa", "---\ndescription: first by name\n---\nbody\n");
	(void)find(p, "aaa");
	assert_string_equal(p->found.list[0].name, SUBAGENT_GENERAL);
	assert_int_equal(p->found.n, 2);
}

static void test_a_file_says_name_model_tools_and_limits(void **state)
{
	struct place *p = *state;
	const struct subagent *k;

	put(p, USER, "folder",
	    "---\nname: reviewer\ndescription: Reviews code\n"
	    "model: anthropic:claude-haiku-4-5\ntools: Read, Bash\n"
	    "sandbox: own\nmax_turns: 7\nmax_usd: 0.50\n---\n\nYou review.\n");
	k = find(p, "reviewer");
	assert_non_null(k);
	assert_null(subagents_find(&p->found, "folder"));
	assert_string_equal(k->description, "Reviews code");
	assert_string_equal(k->model, "anthropic:claude-haiku-4-5");
	assert_string_equal(k->body, "You review.");
	assert_true(k->apart);
	assert_int_equal(k->max_turns, 7);
	assert_true(k->max_usd > 0.49 && k->max_usd < 0.51);
	assert_null(k->root);
	assert_true(subagent_has_tool(k, "read_file", NULL));
	assert_true(subagent_has_tool(k, "execute", NULL));
	assert_false(subagent_has_tool(k, "write_file", NULL));
}

static void test_tools_of_servers_go_by_the_names_that_people_know(void **state)
{
	static const struct {
		const char *line;
		bool search, other, reads;
	} cases[] = {
		{ "tools: bug_search", true, false, false },
		{ "tools: mcp__bug__search, Read", true, false, true },
		{ "tools: bug_*", true, true, false },
		{ "tools: mcp__bug", true, true, false },
		{ "tools: mcp__bug__*", true, true, false },
		{ "tools: mcp__bu, mcp__, mcp", false, false, false },
		{ "disallowedTools: [read, 'mcp__bug__s*']", false, true,
		  false },
		{ "tools: bug_*, Read\ndisallowedTools: bug_search", false,
		  true, true },
	};
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = xasprintf("---\ndescription: d\n%s\n---\n",
				       cases[i].line);
		const struct subagent *k;

		put(p, USER, "one", text);
		k = find(p, "one");
		assert_non_null(k);
		assert_int_equal(
			subagent_has_tool(k, "bug_search", "mcp__bug__search"),
			cases[i].search);
		assert_int_equal(
			subagent_has_tool(k, "bug_new", "mcp__bug__new"),
			cases[i].other);
		assert_int_equal(subagent_has_tool(k, "read_file", NULL),
				 cases[i].reads);
		free(text);
	}
}

static void test_the_project_takes_precedence_over_the_user(void **state)
{
	struct place *p = *state;
	const struct subagent *k;

	put(p, USER, "both", "---\ndescription: the user's\n---\n");
	put(p, PROJECT, "both", "---\ndescription: the project's\n---\n");
	k = find(p, "both");
	assert_non_null(k);
	assert_string_equal(k->description, "the project's");
	assert_non_null(k->root);
}

static void test_what_is_wrong_is_left_out_with_a_line(void **state)
{
	static const char *const wrong[][2] = {
		{ "no front matter\n", "left out" },
		{ "---\nname: x\n---\n", "no description" },
		{ "---\nname: ''\ndescription: d\n---\n", "a line of" },
		{ "---\nname:\ndescription: d\n---\n", "not text" },
		{ "---\nname: [a]\ndescription: d\n---\n", "not text" },
		{ "---\nname: a/b\ndescription: d\n---\n", "a line of" },
		{ "---\ndescription: d\nmodel: [a]\n---\n", "not text" },
		{ "---\ndescription: d\nsandbox: daytona\n---\n", "shared" },
		{ "---\ndescription: d\nmax_turns: 0\n---\n", "max_turns" },
		{ "---\ndescription: d\nmax_usd: x\n---\n", "max_usd" },
		{ "---\ndescription: d\ntools: {a: b}\n---\n", "not a list" },
		{ "---\ndescription: d\ntools: 5\n---\n", "not a list" },
		{ "---\ndescription: \"d\n---\n", "left out" },
	};
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		put(p, USER, "one", wrong[i][0]);
		assert_null(find(p, "one"));
		assert_int_equal(p->found.n, 1);
		assert_int_equal(p->found.n_problems, 1);
		assert_non_null(strstr(p->found.problems[0], wrong[i][1]));
		assert_non_null(strstr(p->found.problems[0], "one/AGENTS.md"));
	}
	put(p, USER, "one", "---\ndescription: right\n---\n");
	assert_non_null(find(p, "one")); /* the control */
	assert_int_equal(p->found.n_problems, 0);
}

static void test_a_projects_link_out_of_it_is_not_followed(void **state)
{
	static const char text[] = "---\ndescription: secret notes\n---\n";
	struct place *p = *state;
	char *outside = path_join(p->top, "outside/AGENTS.md");
	char *leak = path_join(p->top, PROJECT "leak/AGENTS.md");
	char *inside = path_join(p->top, PROJECT "inside/AGENTS.md");
	struct error err = { 0 };

	make_dir(p, "outside");
	make_dir(p, PROJECT "leak");
	make_dir(p, PROJECT "inside");
	assert_int_equal(path_write(outside, str_of(text), 0644, &err), 0);
	assert_int_equal(symlink(outside, leak), 0);
	put(p, "project/", "notes", text);
	assert_int_equal(symlink("../../../notes/AGENTS.md", inside), 0);
	assert_null(find(p, "leak"));
	assert_int_equal(p->found.n_problems, 1);
	assert_non_null(strstr(p->found.problems[0], "leads out"));
	assert_non_null(subagents_find(&p->found, "inside")); /* the control */
	free(outside);
	free(leak);
	free(inside);
}

static void test_a_file_that_is_too_large_is_left_out(void **state)
{
	static const char head[] = "---\ndescription: d\n---\n";
	struct buf text = BUF_INIT(SIZE_MAX / 2);
	struct place *p = *state;

	buf_adds(&text, head);
	while (text.len < SUBAGENT_FILE_MAX)
		buf_addc(&text, 'x');
	put(p, USER, "fits", text.ptr);
	buf_addc(&text, 'x');
	put(p, USER, "large", text.ptr);
	assert_null(find(p, "large"));
	assert_non_null(subagents_find(&p->found, "fits"));
	buf_release(&text);
}

static void test_a_name_may_have_spaces(void **state)
{
	struct place *p = *state;

	put(p, USER, "x", "---\nname: Code Reviewer\ndescription: d\n---\n");
	assert_non_null(find(p, "Code Reviewer"));
	assert_int_equal(p->found.n_problems, 0);
}

static void test_a_second_file_of_the_same_name_is_a_line(void **state)
{
	struct place *p = *state;

	put(p, USER, "a", "---\nname: both\ndescription: one\n---\n");
	put(p, PROJECT, "c", "---\nname: both\ndescription: over\n---\n");
	assert_string_equal(find(p, "both")->description, "over");
	assert_int_equal(p->found.n_problems, 0); /* the control */
	put(p, USER, "b", "---\nname: both\ndescription: two\n---\n");
	assert_string_equal(find(p, "both")->description, "over");
	assert_int_equal(p->found.n_problems, 1);
	assert_non_null(strstr(p->found.problems[0], "a/AGENTS.md is left"));
	assert_non_null(strstr(p->found.problems[0], "b/AGENTS.md already "
						     "uses the name"));
}

static void test_the_model_is_told_names_and_descriptions(void **state)
{
	struct buf out = BUF_INIT(1 << 16);
	struct place *p = *state;

	put(p, USER, "tester",
	    "---\ndescription: \"Runs \\e[31mtests\"\n---\n");
	(void)find(p, "tester");
	subagents_describe(&p->found, &out);
	assert_non_null(strstr(out.ptr, "\n- tester: Runs "));
	assert_non_null(strstr(out.ptr, "\n- general-purpose: "));
	assert_null(strchr(out.ptr, '\x1b'));
	buf_release(&out);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, drop_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_general_one_is_always_there_and_first),
		TEST(test_a_file_says_name_model_tools_and_limits),
		TEST(test_tools_of_servers_go_by_the_names_that_people_know),
		TEST(test_the_project_takes_precedence_over_the_user),
		TEST(test_what_is_wrong_is_left_out_with_a_line),
		TEST(test_a_projects_link_out_of_it_is_not_followed),
		TEST(test_a_file_that_is_too_large_is_left_out),
		TEST(test_a_name_may_have_spaces),
		TEST(test_a_second_file_of_the_same_name_is_a_line),
		TEST(test_the_model_is_told_names_and_descriptions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

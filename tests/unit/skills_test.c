/* skills_test.c - front matter, and which skills are found where. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "skills/front_matter.h"
#include "skills/skills.h"
#include "unit.h"

struct place { /* a home with a project below it */
	char top[32];
	char *home, *config, *cwd;
};

static int make_place(void **state)
{
	struct place *p = xcalloc(1, sizeof(*p));
	struct error err = { 0 };
	char *git;

	snprintf(p->top, sizeof(p->top), "/tmp/dcode-skills.XXXXXX");
	assert_non_null(mkdtemp(p->top));
	p->home = xasprintf("%s/home", p->top);
	p->config = xasprintf("%s/home/.deepagents", p->top);
	p->cwd = xasprintf("%s/project/sub", p->top);
	git = xasprintf("%s/project/.git", p->top);
	assert_int_equal(path_mkdirs(p->home, 0755, &err), 0);
	assert_int_equal(path_mkdirs(p->cwd, 0755, &err), 0);
	assert_int_equal(path_mkdirs(git, 0755, &err), 0);
	free(git);
	*state = p;
	return 0;
}

static int drop_place(void **state)
{
	struct place *p = *state;
	struct error err = { 0 };

	assert_int_equal(path_remove_tree(p->top, &err), 0);
	free(p->home);
	free(p->config);
	free(p->cwd);
	free(p);
	return 0;
}

/* A file of the place, with its directories. */
static void put(const struct place *p, const char *name, const char *text)
{
	struct error err = { 0 };
	char *path = path_join(p->top, name);
	char *dir = xstrdup(path);

	*strrchr(dir, '/') = '\0';
	assert_int_equal(path_mkdirs(dir, 0755, &err), 0);
	assert_int_equal(path_write(path, str_of(text), 0644, &err), 0);
	free(dir);
	free(path);
}

static void put_skill(const struct place *p, const char *source,
		      const char *name, const char *description)
{
	char *file = xasprintf("%s/%s/SKILL.md", source, name);
	char *text = xasprintf("---\nname: %s\ndescription: %s\n---\nDo it.\n",
			       name, description);

	put(p, file, text);
	free(file);
	free(text);
}

static void put_link(const struct place *p, const char *name,
		     const char *target)
{
	char *path = path_join(p->top, name);
	char *whole = path_join(p->top, target);

	assert_int_equal(symlink(whole, path), 0);
	free(path);
	free(whole);
}

static struct skills read_from(const struct place *p, const char *allowed)
{
	const char *list[] = { allowed };
	struct skills_request r = { p->config, "agent", p->home,
				    p->cwd,    list,    allowed ? 1 : 0 };
	struct skills s = { 0 };

	skills_read(&s, &r);
	return s;
}

static void expect(const struct skills *s, const char *name, const char *said)
{
	const struct skill *k = skills_find(s, str_of(name));

	assert_non_null(k);
	assert_string_equal(k->description, said);
}

static bool complains(const struct skills *s, const char *words)
{
	for (size_t i = 0; i < s->n_problems; i++)
		if (strstr(s->problems[i], words))
			return true;
	return false;
}

static void places_have_the_order_of_the_reference(void **state)
{
	const struct place *p = *state;
	static const char *const sources[] = {
		"home/.deepagents/agent/skills", "home/.agents/skills",
		"project/.deepagents/skills",    "project/.agents/skills",
		"home/.claude/skills",           "project/.claude/skills",
	};

	for (size_t i = 0; i < 6; i++) {
		char number[8];
		struct skills s;

		snprintf(number, sizeof(number), "p%zu", i);
		put_skill(p, sources[i], "same", number);
		put_skill(p, sources[i], number, "own");
		s = read_from(p, NULL);
		assert_int_equal(s.n, i + 2);
		expect(&s, "same", number);
		assert_int_equal(skills_find(&s, STR("same"))->hides_user,
				 i == 2 || i == 3 || i == 5);
		skills_release(&s);
	}
}

static void bad_ones_are_named_and_left_out(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "no front matter", "first line is not ---" },
		{ "---\nname: a\ndescription: b\n", "does not end" },
		{ "---\nname: [a\ndescription: b\n---\n", "not YAML" },
		{ "---\n- a\n---\n", "not a list of \"key" },
		{ "---\nname: a\n---\n", "no description" },
		{ "---\nname: a\ndescription: ''\n---\n", "no description" },
		{ "---\nname: a\ndescription: ~\n---\n", "no description" },
		{ "---\ndescription: b\n---\n", "no name" },
		{ "---\nname: {a: b}\ndescription: b\n---\n", "no name" },
		{ "---\nname: \"a\\e[31m\"\ndescription: b\n---\n",
		  "lowercase" },
		{ "---\nname: \"a\\0b\"\ndescription: b\n---\n", "lowercase" },
		{ "---\nname: ../a\ndescription: b\n---\n", "path comp" },
		{ "---\nname: a`b\ndescription: b\n---\n", "lowercase" },
		{ "---\nname: .a\ndescription: b\n---\n", "lowercase" },
		{ "---\nname: a\ndescription: \x1b[31m\n---\n", "not YAML" },
	};
	const struct place *p = *state;

	put_skill(p, "home/.agents/skills", "caf\xC3\xA9-2", "good");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct skills s;

		put(p, "project/.agents/skills/x/SKILL.md", bad[i].text);
		s = read_from(p, NULL);
		assert_int_equal(s.n, 1);
		expect(&s, "caf\xC3\xA9-2", "good");
		assert_int_equal(s.n_problems, 1);
		if (!complains(&s, bad[i].why))
			fail_msg("%zu: %s", i, s.problems[0]);
		assert_true(complains(&s, "skills/x/SKILL.md"));
		assert_null(strchr(s.problems[0], '\x1b'));
		skills_release(&s);
	}
}

static void odd_names_are_named_and_used(void **state)
{
	static const char *const odd[] = {
		"My-Skill", "a--b", "a_b", "a skill 2.0", "-a", "\xE6\xBC\xA2"
	};
	const struct place *p = *state;

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		char *text = xasprintf("---\nname: %s\ndescription: b\n---\n",
				       odd[i]);
		struct skills s;

		put(p, "home/.agents/skills/x/SKILL.md", text);
		s = read_from(p, NULL);
		expect(&s, odd[i], "b");
		assert_int_equal(s.n_problems, 1);
		assert_true(complains(&s, "x/SKILL.md is used, but"));
		skills_release(&s);
		free(text);
	}
}

static void fields_are_clean_single_lines_of_their_sizes(void **state)
{
	const struct place *p = *state;
	char *text = xcalloc(1, 4096);
	struct skills s;
	const struct skill *k;
	char *longest = xcalloc(1, 2001);

	memset(longest, 'd', 2000);
	snprintf(text, 4096,
		 "---\nname: one\nlicense: 1.5\ncompatibility: |\n  a\n  b\n"
		 "allowed-tools: \"Bash  Read, Write\"\nmetadata:\n  a: [x]\n"
		 "  b: c\ndescription: %s\n---\n",
		 longest);
	put(p, "home/.agents/skills/one/SKILL.md", text);
	put(p, "home/.agents/skills/two/SKILL.md",
	    "---\r\nname: two\r\nallowed-tools: [Bash, 3, Read]\r\n"
	    "description: \"a\\e]0;x\\a\\u202eb\\n  c\"\r\n---\r\nx\r\n");
	s = read_from(p, NULL);
	k = skills_find(&s, STR("one"));
	assert_non_null(k);
	assert_int_equal(strlen(k->description), 1024);
	assert_string_equal(k->license, "1.5");
	assert_string_equal(k->compatibility, "a b");
	assert_string_equal(k->tools, "Bash, Read, Write");
	k = skills_find(&s, STR("two"));
	assert_non_null(k);
	assert_string_equal(k->description, "ab c");
	assert_string_equal(k->tools, "Bash, Read");
	assert_int_equal(s.n_problems, 0);
	skills_release(&s);
	free(longest);
	free(text);
}

static void links_of_a_project_stay_in_the_project(void **state)
{
	const struct place *p = *state;
	struct skills s;

	put_skill(p, "home/secret", "stolen", "of the user");
	put_skill(p, "project/lib", "shared", "of the project");
	put_skill(p, "project/.claude/skills", "plain", "no link");
	put(p, "project/.claude/skills/file/x", "");
	put_link(p, "project/.claude/skills/out", "home/secret/stolen");
	put_link(p, "project/.claude/skills/in", "project/lib/shared");
	put_link(p, "project/.claude/skills/file/SKILL.md",
		 "home/secret/stolen/SKILL.md");
	put_link(p, "project/.agents", "home");
	s = read_from(p, NULL);
	assert_int_equal(s.n, 2);
	expect(&s, "plain", "no link");
	expect(&s, "shared", "of the project");
	assert_true(complains(&s, "outside of the project"));
	assert_true(complains(&s, "leads out of its directory"));
	skills_release(&s);
}

static void links_of_the_user_lead_where_he_allows(void **state)
{
	const struct place *p = *state;
	char *allowed = path_join(p->top, "home/dev");
	struct skills s;

	put_skill(p, "home/dev", "mine", "elsewhere");
	put_skill(p, "home/.agents/skills", "plain", "no link");
	put_link(p, "home/.agents/skills/mine", "home/dev/mine");
	s = read_from(p, NULL);
	assert_int_equal(s.n, 1);
	assert_true(complains(&s, "extra_allowed_dirs"));
	skills_release(&s);
	s = read_from(p, allowed);
	assert_int_equal(s.n, 2);
	expect(&s, "mine", "elsewhere");
	assert_int_equal(s.n_problems, 0);
	skills_release(&s);
	free(allowed);
}

/* Attack: what runs in a sandbox with the project's directory puts a link in
 * the place of a skill before its files are sent. */
static void a_skill_that_became_a_link_is_not_opened(void **state)
{
	const struct place *p = *state;
	struct error err = { 0 };
	struct buf text = BUF_INIT(1 << 20);
	char *skills = path_join(p->top, "project/.claude");
	char *moved = path_join(p->top, "home/moved");
	size_t body;
	struct skills s;

	put_skill(p, "project/.claude/skills", "plain", "no link");
	s = read_from(p, NULL);
	assert_int_equal(s.n, 1);
	assert_int_equal(skill_read_text(&s.list[0], &text, &body, &err), 0);
	assert_string_equal(text.ptr + body, "Do it.\n");
	assert_int_equal(rename(skills, moved), 0);
	assert_int_equal(symlink(moved, skills), 0);
	assert_int_equal(skill_read_text(&s.list[0], &text, &body, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	skills_release(&s);
	buf_release(&text);
	free(skills);
	free(moved);
}

static void the_prompt_is_the_same_for_the_same_skills(void **state)
{
	const struct place *p = *state;
	struct buf one = BUF_INIT(1 << 20);
	struct buf two = BUF_INIT(1 << 20);
	struct skills s;

	put_skill(p, "home/.agents/skills", "b", "second");
	put_skill(p, "home/.agents/skills", "a", "first");
	s = read_from(p, NULL);
	assert_int_equal(skills_add_prompt(&s, "/there", &one), 0);
	skills_release(&s);
	s = read_from(p, NULL);
	assert_int_equal(skills_add_prompt(&s, "/there", &two), 0);
	skills_release(&s);
	assert_string_equal(one.ptr, two.ptr);
	assert_non_null(strstr(one.ptr, "- **a**: first\n  -> Read "
					"`/there/a/SKILL.md`\n- **b**"));
	buf_release(&one);
	buf_release(&two);
}

static void fields_of_front_matter_have_their_kinds(void **state)
{
	struct front_matter f = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		front_matter_read(&f,
				  STR("---\na: x\nb: 1\nc: \nd: [p, 2, q]\n"
				      "e: {k: v, l: [1], m: n}\nf: '1'\n"
				      "a: last\n---\nbody\n"),
				  &err),
		0);
	assert_int_equal(f.n, 6);
	assert_string_equal(front_matter_field(&f, "a")->items[0], "last");
	assert_int_equal(front_matter_field(&f, "b")->kind, FRONT_NUMBER);
	assert_int_equal(front_matter_field(&f, "c")->kind, FRONT_NULL);
	assert_int_equal(front_matter_field(&f, "d")->n, 2);
	assert_int_equal(front_matter_field(&f, "e")->kind, FRONT_MAP);
	assert_int_equal(front_matter_field(&f, "f")->kind, FRONT_TEXT);
	assert_null(front_matter_field(&f, "g"));
	front_matter_release(&f);
}

static void a_file_of_windows_is_read(void **state)
{
	static const char text[] = "\xEF\xBB\xBF---\r\na: x\r\nb: y\r\n"
				   "---\r\nbody\r\n";
	struct front_matter f = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(front_matter_read(&f, str_of(text), &err), 0);
	assert_string_equal(front_matter_field(&f, "a")->items[0], "x");
	assert_string_equal(text + f.body, "body\r\n");
	front_matter_release(&f);
}

/* As PyYAML's safe_load() gives them. */
static void aliases_and_merged_maps_are_written_out(void **state)
{
	static const struct {
		const char *yaml, *key, *value;
	} cases[] = {
		{ "a: &x one\nb: *x\n", "b", "one" },
		{ "a: &x 1\nb: &x 2\nc: *x\n", "c", "2" },
		{ "t: &t [p, &q r]\nb: *q\n", "b", "r" },
		{ "t: &t [p, r]\nb: *t\n", "b", "p" },
		{ "a: &x one\nb: [*x, two]\n", "b", "one" },
		{ "k: &k b\n*k : v\n", "b", "v" },
		{ "m: &m {b: in}\n<<: *m\n", "b", "in" },
		{ "m: &m {b: in}\nb: out\n<<: *m\n", "b", "out" },
		{ "<<: [{b: first}, {b: second}]\n", "b", "first" },
		{ "<<: {b: first}\n<<: {b: second}\n", "b", "second" },
		{ "m: &m {b: in}\nn: &n {<<: *m, c: x}\n<<: *n\n", "b", "in" },
		{ "'<<': b\n", "<<", "b" },
		{ "l: &l [*l]\nb: x\n", "b", "x" },
		{ "b: !!str 1\n", "b", "1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = xasprintf("---\n%s---\nbody", cases[i].yaml);
		struct front_matter f = { 0 };
		struct error err = { 0 };
		const struct front_field *field;

		assert_int_equal(front_matter_read(&f, str_of(text), &err), 0);
		field = front_matter_field(&f, cases[i].key);
		assert_non_null(field);
		assert_true(field->n > 0);
		assert_string_equal(field->items[0], cases[i].value);
		front_matter_release(&f);
		free(text);
	}
}

/* ten = [one * 10], and so on: ten to the fifth merges, or texts of 40 KB. */
static char *write_bomb(bool merged)
{
	struct buf b = BUF_INIT(FRONT_MATTER_MAX);

	buf_adds(&b, "---\n");
	if (merged) {
		buf_adds(&b, "a0: &a0 {x: y}\n");
		for (int i = 1; i <= 5; i++) {
			buf_addf(&b, "a%d: &a%d\n  <<: [", i, i);
			for (int k = 0; k < 10; k++)
				buf_addf(&b, "*a%d, ", i - 1);
			buf_adds(&b, "]\n");
		}
		buf_adds(&b, "<<: *a5\n");
	} else {
		buf_adds(&b, "a: &a ");
		for (int i = 0; i < 40000; i++)
			buf_addc(&b, 'x');
		buf_adds(&b, "\nb: [");
		for (int i = 0; i < 200; i++)
			buf_adds(&b, "*a, ");
		buf_adds(&b, "]\n");
	}
	buf_adds(&b, "---\n");
	return buf_detach(&b);
}

static void aliases_have_their_limits(void **state)
{
	char *texts = write_bomb(false);
	char *maps = write_bomb(true);
	const struct {
		const char *text, *said;
	} cases[] = {
		{ texts, "is larger than 256 KiB with its aliases" },
		{ maps, "too many maps" },
		{ "---\na: &a\n  <<: *a\n  b: c\n<<: *a\n---\n",
		  "into itself" },
		{ "---\n&m\na: b\n<<: *m\n---\n", "into itself" },
		{ "---\na: *nowhere\n---\n", "*nowhere without a &nowhere" },
		{ "---\na: *b\nb: &b x\n---\n", "*b without a &b before it" },
		{ "---\n<<: x\n---\n", "not a map" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct front_matter f = { 0 };
		struct error err = { 0 };

		assert_int_equal(
			front_matter_read(&f, str_of(cases[i].text), &err), -1);
		assert_non_null(strstr(err.message, cases[i].said));
		assert_int_equal(f.n, 0);
	}
	free(texts);
	free(maps);
}

int main(void)
{
#define IN_PLACE(f) cmocka_unit_test_setup_teardown(f, make_place, drop_place)
	const struct CMUnitTest tests[] = {
		IN_PLACE(places_have_the_order_of_the_reference),
		IN_PLACE(bad_ones_are_named_and_left_out),
		IN_PLACE(odd_names_are_named_and_used),
		IN_PLACE(fields_are_clean_single_lines_of_their_sizes),
		IN_PLACE(links_of_a_project_stay_in_the_project),
		IN_PLACE(links_of_the_user_lead_where_he_allows),
		IN_PLACE(a_skill_that_became_a_link_is_not_opened),
		IN_PLACE(the_prompt_is_the_same_for_the_same_skills),
		cmocka_unit_test(fields_of_front_matter_have_their_kinds),
		cmocka_unit_test(a_file_of_windows_is_read),
		cmocka_unit_test(aliases_and_merged_maps_are_written_out),
		cmocka_unit_test(aliases_have_their_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* ask_risk_test.c - what the question about a command says that it touches. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/chat/ask.h"
#include "tool/table.h"
#include "unit.h"

/* Returns what the question says of a command in /w. The caller frees it. */
static char *risks_of(const struct tool *tool, const char *command)
{
	cJSON *args = cJSON_CreateObject();
	struct approval a = { .tool = tool, .args = args, .workdir = "/w" };
	struct buf out = BUF_INIT(1 << 12);

	cJSON_AddStringToObject(args, "command", command);
	buf_adds(&out, "");
	ask_add_risks(&a, &out);
	cJSON_Delete(args);
	return buf_detach(&out);
}

static void expect(const char *command, const char *want)
{
	char *got = risks_of(&tool_execute, command);

	assert_string_equal(got, want);
	free(got);
}

static void known_words_are_named(void **state)
{
	(void)state;
	expect("rm -rf build", "deletes (rm)");
	expect("cd x && /bin/rm y", "deletes (rm)");
	expect("git -C . push origin main", "publishes (git push)");
	expect("git reset --hard", "discards changes (git reset)");
	expect("git reset a.c", "");
	expect("find . -name x -delete", "deletes (find -delete)");
	expect("sudo -n rm x", "as another user (sudo), deletes (rm)");
	expect("A=1 timeout -k 5 10 curl x", "network (curl)");
	expect("ls | xargs -n 1 rm", "deletes (rm)");
	expect("curl x | sh", "runs what it reads (| sh), network (curl)");
	expect("sh -c 'rm x'", "deletes (rm)");
	expect("bash -lc 'cd x; rm y'", "deletes (rm)");
	expect("find . -exec rm {} ;", "deletes (rm)");
	expect("echo $(rm x)", "deletes (rm)");
	expect("if true; then kill 1; fi", "ends processes (kill)");
}

static void paths_outside_the_directory_are_named(void **state)
{
	(void)state;
	expect("cat /etc/hosts", "paths outside (/etc/hosts)");
	expect("cat /w/a /w", "");
	expect("cat /w/../b", "paths outside (/w/../b)");
	expect("cat /wide", "paths outside (/wide)");
	expect("ls ../x", "paths outside (../x)");
	expect("cp a ~/b", "paths outside (~/b)");
	expect("echo x >> ~/.bashrc", "writes outside (~/.bashrc)");
	expect("echo x >/tmp/y 2>/dev/null", "writes outside (/tmp/y)");
	expect("make 2>&1 >/dev/null", "");
}

static void other_text_is_not_called_a_risk(void **state)
{
	(void)state;
	expect("make test", "");
	expect("git commit -m 'rm the push'", "");
	expect("grep -rn rm src", "");
	expect("echo sudo", "");
	expect("", "");
}

static void only_commands_are_read(void **state)
{
	char *got = risks_of(&tool_write_file, "rm x");

	(void)state;
	assert_string_equal(got, "");
	free(got);
}

static void hostile_text_ends(void **state)
{
	struct buf text = BUF_INIT(1 << 20);
	char *got;

	(void)state;
	for (int i = 0; i < 20000; i++)
		buf_adds(&text, "$(`sh -c 'eval \">");
	got = risks_of(&tool_execute, text.ptr);
	free(got);
	expect("rm \xff\x01>", "deletes (rm)");
	buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_words_are_named),
		cmocka_unit_test(paths_outside_the_directory_are_named),
		cmocka_unit_test(other_text_is_not_called_a_risk),
		cmocka_unit_test(only_commands_are_read),
		cmocka_unit_test(hostile_text_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

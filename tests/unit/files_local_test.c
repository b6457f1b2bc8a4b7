/* files_local_test.c - file operations in a real local sandbox. */
/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/str.h"
#include "files_calls.h"
#include "local_sandbox.h"
#include "providers/local/jail.h"
#include "sandbox/files/files.h"
#include "unit.h"

static void works(int rc, const struct error *err)
{
	if (rc)
		fail_msg("%s", err->message);
}

static void writes_and_reads(void **state)
{
	struct sandbox *sb = *state;
	struct stop stop = stop_on(NULL);
	struct error err = { 0 };
	struct files_page page;
	struct files_names list;
	struct files_matches lines;
	char path[500];
	int64_t n;

	snprintf(path, sizeof(path), "%s/a b/f.txt", sb->workdir);
	works(files_write(sb, path, false, STR("one\ntwo\n"), &stop, &err),
	      &err);
	works(EDIT(sb, path, STR("two"), STR("2"), false, &n, &stop, &err),
	      &err);
	works(READ(sb, path, 0, 9, false, &page, &stop, &err), &err);
	assert_string_equal(page.text.ptr, "one\n2");
	buf_release(&page.text);
	works(files_ls(sb, sb->workdir, &list, &stop, &err), &err);
	assert_int_equal(list.n, 1);
	files_names_release(&list);
	works(GLOB(sb, sb->workdir, "**/*.txt", &list, &stop, &err), &err);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.names[0], path);
	files_names_release(&list);
	works(GREP(sb, sb->workdir, "2", NULL, 9, &lines, &stop, &err), &err);
	assert_int_equal(lines.n, 1);
	assert_int_equal(lines.items[0].line, 2);
	files_matches_release(&lines);
	works(files_delete(sb, path, false, &stop, &err), &err);
	assert_int_equal(files_delete(sb, path, false, &stop, &err), -1);
	assert_string_equal(err.message, "file_not_found");
}

static void writes_much(void **state)
{
	struct sandbox *sb = *state;
	struct stop stop = stop_on(NULL);
	struct buf data = BUF_INIT(8 << 20);
	struct error err = { 0 };
	struct files_page page;
	char path[500];

	for (int i = 0; i < 5000000; i++)
		buf_addc(&data, i % 64 ? 'x' : '\n');
	snprintf(path, sizeof(path), "%s/big", sb->workdir);
	works(files_write(sb, path, false, buf_str(&data), &stop, &err), &err);
	works(READ(sb, path, 78000, 5, false, &page, &stop, &err), &err);
	assert_int_equal(page.end_line, 78005);
	buf_release(&page.text);
	buf_release(&data);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_and_reads),
		cmocka_unit_test(writes_much),
	};

	if (argc > 1 && !strcmp(argv[1], JAIL_ARGUMENT))
		return jail_main(argc, argv);
	(void)signal(SIGPIPE, SIG_IGN); /* as dcode does */
	ids_init();
	(void)box_home; /* of the other tests */
	return cmocka_run_group_tests(tests, box_setup, box_teardown);
}

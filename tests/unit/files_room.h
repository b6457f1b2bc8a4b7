/* files_room.h - a directory of its own for a test, on each kind of shell. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_FILES_ROOM_H
#define TESTS_UNIT_FILES_ROOM_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/ids.h"
#include "base/path.h"
#include "sandbox/files/files.h"
#include "shell_sandbox.h"
#include "unit.h"

#define BUSYBOX "/usr/bin/busybox"

static const char noise[] =
	"echo 'Welcome @dcode: to the machine'; echo warn >&2; ";

static struct shell_kind kinds[] = {
	{ .name = "dash", .shell = { "/bin/dash" }, .path = "/usr/bin:/bin" },
	{ .name = "bash",
	  .shell = { "/bin/bash", "--posix" },
	  .path = "/usr/bin:/bin" },
	{ .name = "busybox" }, /* no applet has a link: see group_setup() */
	{ .name = "dash with busybox alone", .shell = { "/bin/dash" } },
	{ .name = "text over dash",
	  .shell = { "/bin/dash" },
	  .path = "/usr/bin:/bin",
	  .noise = noise,
	  .mangle = true },
	{ .name = "text over busybox", .noise = noise, .mangle = true },
	{ .name = "text without base64", .noise = noise, .mangle = true },
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Where seconds are spent on each kind, a test runs on every third, beginning
 * behind that of the test before it; with DCODE_TEST_LONG on all. */
__attribute__((unused)) static int kind_step(void)
{
	return getenv("DCODE_TEST_LONG") ? 1 : 3;
}

__attribute__((unused)) static int kind_first(void)
{
	static int turn;

	return turn++ % kind_step();
}

/* One test, on one kind, in a directory of its own. */
struct room {
	struct sandbox_client client;
	struct sandbox sb;
	struct shell_state state;
	struct stop stop;
	struct error err;
	char *dir;
	char path[600];
	bool bytes;
};

static char tools[64];
static char bare[128]; /* has sh and busybox */
static char poor[128]; /* has sh and the applets but base64 */

__attribute__((unused)) static void link_poor(void)
{
	static const char *const applets[] = {
		"sh",  "ls",       "cat",   "head", "tail",  "sed",
		"tr",  "grep",     "wc",    "cp",   "mkdir", "mv",
		"rm",  "readlink", "cksum", "od",   "dd",    "find",
		"cut", "chmod",    "sort",  "comm", "xargs", "sha256sum",
		"tar", "id",       "env",   "uniq", "gzip",  "rmdir",
		NULL
	};

	for (int i = 0; applets[i]; i++) {
		char *name = xasprintf("%s/%s", poor, applets[i]);

		assert_int_equal(symlink(BUSYBOX, name), 0);
		free(name);
	}
}

__attribute__((unused)) static int group_setup(void **arg)
{
	char *name;

	(void)arg;
	ids_init();
	snprintf(tools, sizeof(tools), "/tmp/files_test.XXXXXX");
	if (!mkdtemp(tools))
		return -1;
	snprintf(bare, sizeof(bare), "%s/bare", tools);
	snprintf(poor, sizeof(poor), "%s/poor", tools);
	if (mkdir(bare, 0755) || mkdir(poor, 0755))
		return -1;
	name = xasprintf("%s/busybox", bare);
	assert_int_equal(symlink(BUSYBOX, name), 0);
	free(name);
	name = xasprintf("%s/sh", bare);
	assert_int_equal(symlink(BUSYBOX, name), 0);
	free(name);
	link_poor();
	for (int i = 0; i < KINDS; i++) {
		if (kinds[i].path)
			continue;
		if (!kinds[i].shell[0]) {
			kinds[i].shell[0] = BUSYBOX;
			kinds[i].shell[1] = "sh";
		}
		kinds[i].path = strstr(kinds[i].name, "without") ? poor : bare;
	}
	return 0;
}

__attribute__((unused)) static int group_teardown(void **arg)
{
	struct error err = { 0 };

	(void)arg;
	return path_remove_tree(tools, &err);
}

__attribute__((unused)) static void enter(struct room *r, int kind)
{
	*r = (struct room){ .stop = stop_on(NULL) };
	r->bytes = !kinds[kind].mangle;
	r->client.provider = r->bytes ? &shell_bytes : &shell_text;
	r->state.kind = &kinds[kind];
	r->sb.client = &r->client;
	r->sb.priv = &r->state;
	r->dir = xasprintf("%s/it's %%s $(x) \"q\" %s.XXXXXX", tools,
			   "\xc3\xa9\xff");
	assert_non_null(mkdtemp(r->dir));
	print_message("  on %s\n", kinds[kind].name);
}

__attribute__((unused)) static void leave(struct room *r)
{
	free(r->dir);
}

__attribute__((unused)) static const char *in(struct room *r, const char *name)
{
	snprintf(r->path, sizeof(r->path), "%s/%s", r->dir, name);
	return r->path;
}

__attribute__((unused)) static void put(struct room *r, const char *name,
					struct str data, mode_t mode)
{
	FILE *f = fopen(in(r, name), "wb");

	assert_non_null(f);
	if (data.len)
		assert_int_equal(fwrite(data.ptr, 1, data.len, f), data.len);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(r->path, mode), 0);
}

__attribute__((unused)) static void holds(struct room *r, const char *name,
					  struct str want)
{
	struct buf got = BUF_INIT(64 << 20);
	struct error err = { 0 };

	assert_int_equal(path_read(in(r, name), &got, &err), 0);
	assert_int_equal(got.len, want.len);
	if (want.len)
		assert_memory_equal(got.ptr, want.ptr, want.len);
	buf_release(&got);
}

__attribute__((unused)) static void make_dir(struct room *r, const char *name)
{
	assert_int_equal(mkdir(in(r, name), 0755), 0);
}

#define WORKS(r, call)                                                         \
	do {                                                                   \
		(r)->err = (struct error){ 0 };                                \
		if (call)                                                      \
			fail_msg("%s", (r)->err.message);                      \
	} while (0)

/* Nothing of ours may stay behind. */
__attribute__((unused)) static void is_tidy(struct room *r)
{
	struct files_names list;

	WORKS(r, files_ls(&r->sb, r->dir, &list, &r->stop, &r->err));
	for (size_t i = 0; i < list.n; i++)
		assert_null(strstr(list.names[i], "/.dcode-"));
	files_names_release(&list);
}

#define FAILS(r, call, text)                                                   \
	do {                                                                   \
		(r)->err = (struct error){ 0 };                                \
		assert_int_equal(call, -1);                                    \
		assert_string_equal((r)->err.message, text);                   \
	} while (0)

__attribute__((unused)) static void listed(struct room *r,
					   const struct files_names *list,
					   const char *const *names, size_t n)
{
	if (list->n != n)
		for (size_t i = 0; i < list->n; i++)
			print_message("got %s\n", list->names[i]);
	assert_int_equal(list->n, n);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(list->names[i], in(r, names[i]));
}

#endif

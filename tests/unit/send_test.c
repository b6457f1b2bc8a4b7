/* send_test.c - a tree goes into a sandbox, and later what changed in it. */
/* SPDX-License-Identifier: MIT */
#include "files_room.h"
#include "worktree/send.h"

#define ODD "it's \\n\n \xff\xc3\xa9 -x $(y)"

struct sent { /* a tree of the user's, and its copy */
	struct room room;
	char *home;
	char *state; /* dcode's */
	char *root;
	struct workspace w;
	struct selection s;
	struct sync_result result;
	struct buf said;
};

static void write_here(struct sent *t, const char *name, struct str data,
		       mode_t mode)
{
	char *path = path_join(t->root, name);
	struct error err = { 0 };

	(void)unlink(path);
	assert_int_equal(path_write(path, data, mode, &err), 0);
	free(path);
}

static void run_shell(struct sent *t, const char *script)
{
	char *all = xasprintf("cd \"$(cat %s/place)\" && { %s\n}\n", t->state,
			      script);
	char *place = path_join(t->state, "place");
	char *file = path_join(t->state, "script");
	char *line = xasprintf("ROOT='%s' sh %s 2>&1", t->root, file);
	struct error err = { 0 };

	assert_int_equal(path_write(place, str_of(t->room.dir), 0600, &err), 0);
	assert_int_equal(path_write(file, str_of(all), 0600, &err), 0);
	/* NOLINTNEXTLINE(cert-env33-c): a command of the test's own */
	if (pclose(popen(line, "r")) != 0)
		fail_msg("%s", all);
	free(all);
	free(place);
	free(file);
	free(line);
}

static void fill(struct sent *t)
{
	char *sub = path_join(t->root, "src/deep");
	char *link_path = path_join(t->root, "link");
	struct error err = { 0 };

	assert_int_equal(path_mkdirs(sub, 0755, &err), 0);
	write_here(t, "a", STR("one\n"), 0644);
	write_here(t, "-b", STR("two\r\n\0\xff"), 0644);
	write_here(t, "run", STR("#!/bin/sh\n"), 0755);
	write_here(t, "src/empty", STR(""), 0644);
	write_here(t, "src/deep/" ODD, STR("odd\n"), 0644);
	write_here(t, "src/deep/only", STR("here\n"), 0644);
	write_here(t, ".env", STR("SECRET=1\n"), 0644);
	assert_int_equal(symlink("../away", link_path), 0);
	free(sub);
	free(link_path);
}

static void select_now(struct sent *t)
{
	struct select_request r = { 0 };
	struct error err = { 0 };

	select_release(&t->s);
	if (select_files(&t->s, &t->w, &r, &t->room.stop, &err) < 0)
		fail_msg("%s", err.message);
}

static void begin(struct sent *t, int kind)
{
	struct error err = { 0 };

	*t = (struct sent){ .said = BUF_INIT(1 << 16) };
	enter(&t->room, kind);
	t->home = xasprintf("%s/home.XXXXXX", tools);
	assert_non_null(mkdtemp(t->home));
	t->state = xasprintf("%s/state.XXXXXX", tools);
	assert_non_null(mkdtemp(t->state));
	t->root = path_join(t->state, "tree");
	t->room.state.home = t->home;
	t->room.sb.workdir = t->room.dir;
	fill(t);
	if (workspace_open(&t->w, t->state, t->root, "dcode-abcd2345",
			   &t->room.stop, &err) < 0)
		fail_msg("%s", err.message);
	select_now(t);
}

static void end(struct sent *t)
{
	sync_result_release(&t->result);
	select_release(&t->s);
	workspace_close(&t->w);
	buf_release(&t->said);
	free(t->home);
	free(t->state);
	free(t->root);
	leave(&t->room);
}

static struct send_result send_tree(struct sent *t)
{
	struct send_request r = { .sandbox = &t->room.sb };
	struct send_result result;
	struct error err = { 0 };

	if (workspace_send(&t->w, &t->s, &r, &result, &t->room.stop, &err) < 0)
		fail_msg("%s", err.message);
	return result;
}

static bool has_git(const struct sent *t)
{
	return strstr(t->room.state.kind->path, "/usr/bin");
}

static void the_tree_arrives_byte_by_byte(void **arg)
{
	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct sent t;
		struct listing l = { 0 };
		struct error err = { 0 };
		struct send_result result;

		begin(&t, k);
		put(&t.room, "earlier", STR("image's"), 0644);
		result = send_tree(&t);
		assert_int_equal(result.repository, has_git(&t));
		assert_int_equal(t.room.state.executes, 1);
		run_shell(&t, "diff -r --no-dereference -x .git -x earlier"
			      " -x .env . \"$ROOT\" && [ -x run ] &&"
			      " [ ! -x a ] && [ ! -e .env ] &&"
			      " ! ls -A | grep dcode-");
		assert_int_equal(
			workspace_read_listing(&t.w, &l, &t.room.stop, &err),
			0);
		assert_int_equal(l.n, 7);
		listing_release(&l);
		assert_int_equal(workspace_read_exclude(&t.w, &t.said, &err),
				 0);
		assert_non_null(strstr(t.said.ptr, "/earlier\n"));
		if (has_git(&t))
			run_shell(&t, "git status --porcelain | grep -v"
				      " earlier; [ $(git log --oneline |"
				      " wc -l) = 1 ] && git log | grep -q"
				      " 'tree, as it was when dcode'");
		end(&t);
	}
}

/* "t path|d path|k path|": sent, deleted, kept */
static const char *sync_now(struct sent *t, bool force)
{
	struct sync_request r = { .sandbox = &t->room.sb, .force = force };
	struct error err = { 0 };

	sync_result_release(&t->result);
	t->room.state.executes = 0;
	if (workspace_sync(&t->w, &r, &t->result, &t->room.stop, &err) < 0)
		fail_msg("%s", err.message);
	buf_clear(&t->said);
	for (size_t i = 0; i < t->result.n_taken; i++)
		buf_addf(&t->said, "t %s|", t->result.taken[i]);
	for (size_t i = 0; i < t->result.n_deleted; i++)
		buf_addf(&t->said, "d %s|", t->result.deleted[i]);
	for (size_t i = 0; i < t->result.n_kept; i++)
		buf_addf(&t->said, "k %s|", t->result.kept[i]);
	buf_adds(&t->said, "");
	return t->said.len ? t->said.ptr : "";
}

static void remove_here(struct sent *t, const char *name)
{
	char *path = path_join(t->root, name);

	assert_int_equal(unlink(path), 0);
	free(path);
}

static void changes_of_one_side_are_taken_and_of_both_kept(void **arg)
{
	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct sent t;

		begin(&t, k);
		(void)send_tree(&t);
		assert_string_equal(sync_now(&t, false), "");
		assert_int_equal(t.room.state.executes, 0);
		put(&t.room, "a", STR("agent's\n"), 0644);
		put(&t.room, "run", STR("#!/bin/sh\n"), 0755);
		write_here(&t, "a", STR("local\n"), 0644);
		write_here(&t, "run", STR("#!/bin/sh\n"), 0644);
		write_here(&t, "new", STR("new\n"), 0644);
		write_here(&t, "src/deep/" ODD, STR("odder\n"), 0644);
		remove_here(&t, "src/empty");
		remove_here(&t, "link");
		assert_string_equal(sync_now(&t, false),
				    "t new|t run|t src/deep/" ODD
				    "|d link|d src/empty|k a|");
		assert_true(t.room.state.executes <= 3);
		run_shell(&t, "[ \"$(cat a)\" = \"agent's\" ] && [ ! -x run ]"
			      " && [ ! -e src/empty ] && [ ! -L link ] &&"
			      " cmp new \"$ROOT/new\" && diff -r src"
			      " \"$ROOT/src\"");
		assert_string_equal(sync_now(&t, false), "k a|");
		assert_string_equal(sync_now(&t, true), "t a|");
		run_shell(&t, "cmp a \"$ROOT/a\"");
		assert_string_equal(sync_now(&t, false), "");
		end(&t);
	}
}

static void a_lost_listing_is_sent_again(void **arg)
{
	struct sent t;

	(void)arg;
	begin(&t, 0);
	(void)send_tree(&t);
	run_shell(&t, "rm -r ../home.*/.dcode");
	write_here(&t, "a", STR("local\n"), 0644);
	assert_string_equal(sync_now(&t, false), "t a|");
	run_shell(&t, "cmp a \"$ROOT/a\"");
	end(&t);
}

static void ten_changed_files_cost_three_commands_and_64_kib(void **arg)
{
	enum { FILES = 10, BYTES = 1000, BEYOND = 64 << 10 };

	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct sent t;
		char room[BYTES];

		begin(&t, k);
		(void)send_tree(&t);
		t.room.state.longest = 0;
		for (int i = 0; i < FILES; i++) {
			char name[] = "file-0";

			name[5] = (char)('0' + i);
			ids_random(room, BYTES - 1);
			write_here(&t, name, str_of(room), 0644);
		}
		(void)sync_now(&t, false);
		assert_int_equal(t.result.n_taken, FILES);
		assert_true(t.room.state.executes >= 1);
		assert_true(t.room.state.executes <= 3);
		assert_true(t.room.state.longest * 3 <= FILES * BYTES + BEYOND);
		end(&t);
	}
}

static int note(void *arg, const struct odb_record *r, struct error *err)
{
	(void)err;
	buf_addf(arg, "%o>%o %s|", r->old_mode, r->new_mode, r->path);
	return 0;
}

static void the_base_becomes_what_both_sides_share(void **arg)
{
	struct sent t;
	char before[GIT_OID];
	struct listing l = { 0 };
	struct error err = { 0 };

	(void)arg;
	begin(&t, 0);
	(void)send_tree(&t);
	memcpy(before, t.w.base, sizeof(before));
	put(&t.room, "a", STR("agent's\n"), 0644);
	write_here(&t, "a", STR("local\n"), 0644);
	write_here(&t, "-b", STR("local\n"), 0755);
	remove_here(&t, "src/empty");
	(void)sync_now(&t, false);
	buf_clear(&t.said);
	assert_int_equal(odb_tree_diff(&t.w.git, before, t.w.base,
				       &(struct odb_sink){ note, &t.said },
				       &t.room.stop, &err),
			 0);
	assert_string_equal(t.said.ptr, "100644>100755 -b|100644>0 src/empty|");
	assert_int_equal(workspace_read_listing(&t.w, &l, &t.room.stop, &err),
			 0);
	assert_null(listing_find(&l, "src/empty"));
	assert_int_equal(listing_find(&l, "-b")->mode, LISTING_PROGRAM);
	listing_release(&l);
	end(&t);
}

static void what_may_hold_secrets_stays_though_the_base_has_it(void **arg)
{
	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct sent t;

		begin(&t, k);
		write_here(&t, "plain", STR("x\n"), 0644);
		write_here(&t, "pem", STR("x\n"), 0644);
		select_now(&t);
		(void)send_tree(&t);
		write_here(&t, "plain", STR("y\n"), 0644);
		write_here(&t, "pem", STR("-----BEGIN PRIVATE KEY-----\n"),
			   0644);
		assert_string_equal(sync_now(&t, false), "t plain|");
		assert_int_equal(t.result.n_held, 1);
		assert_string_equal(t.result.held[0], "pem");
		run_shell(&t, "[ \"$(cat pem)\" = x ]");
		end(&t);
	}
}

static void a_link_to_a_directory_is_replaced_and_not_followed(void **arg)
{
	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct sent t;

		begin(&t, k);
		run_shell(&t, "ln -s src \"$ROOT/current\"");
		(void)send_tree(&t);
		run_shell(&t, "ln -sfn src/deep \"$ROOT/current\"");
		assert_string_equal(sync_now(&t, false), "t current|");
		run_shell(&t, "[ \"$(readlink current)\" = src/deep ] &&"
			      " [ ! -e src/current ] && [ ! -L src/current ]");
		end(&t);
	}
}

/* Calls fn where no file may grow beyond so many blocks of 512 bytes, which a
 * shell's writes and tar's meet like a full disk. */
static int with_blocks(struct sent *t, int blocks, int (*fn)(struct sent *t))
{
	const struct shell_kind *kind = t->room.state.kind;
	struct shell_kind full = *kind;
	char limit[128];
	int rc;

	snprintf(limit, sizeof(limit), "trap '' XFSZ; ulimit -f %d; %s", blocks,
		 kind->noise ? kind->noise : "");
	full.noise = limit;
	t->room.state.kind = &full;
	rc = fn(t);
	t->room.state.kind = kind;
	return rc;
}

static int try_send(struct sent *t)
{
	struct send_request r = { .sandbox = &t->room.sb };
	struct send_result result;

	t->room.err = (struct error){ 0 };
	return workspace_send(&t->w, &t->s, &r, &result, &t->room.stop,
			      &t->room.err);
}

static int try_sync(struct sent *t)
{
	struct sync_request r = { .sandbox = &t->room.sb };

	t->room.err = (struct error){ 0 };
	sync_result_release(&t->result);
	return workspace_sync(&t->w, &r, &t->result, &t->room.stop,
			      &t->room.err);
}

/* The least size of a file at which it works; fewer blocks fail in words. */
static int first_that_works(struct sent *t, int (*fn)(struct sent *t))
{
	enum { BLOCKS_MAX = 1 << 14 };
	int blocks = 0;

	while (with_blocks(t, blocks, fn) < 0) {
		assert_true(
			strstr(t->room.err.message, "has no room for the") ||
			strstr(t->room.err.message, "unpacking the "));
		assert_null(strstr(t->room.err.message, "no tar"));
		blocks = blocks ? blocks * 2 : 1;
		assert_true(blocks < BLOCKS_MAX);
	}
	return blocks;
}

static void a_full_disk_never_reads_as_a_whole_tree(void **arg)
{
	enum { FILES = 50, BYTES = 3000 };
	char bytes[BYTES + 1];

	(void)arg;
	memset(bytes, 'x', BYTES);
	bytes[BYTES] = '\0';
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct sent t;

		begin(&t, k);
		for (int i = 0; i < FILES; i++) {
			char name[40];

			snprintf(name, sizeof(name), "of-the-image-%d", i);
			put(&t.room, name, STR("x"), 0644);
			snprintf(name, sizeof(name), "file-%d", i);
			write_here(&t, name, str_of(bytes), 0644);
		}
		select_now(&t);
		assert_true(first_that_works(&t, try_send) > BYTES / 512);
		run_shell(&t, "diff -r --no-dereference -x .git -x .env"
			      " -x 'of-*' . \"$ROOT\"");
		assert_int_equal(
			workspace_read_exclude(&t.w, &t.said, &t.room.err), 0);
		assert_non_null(strstr(t.said.ptr, "/of-the-image-49\n"));
		write_here(&t, "file-7", STR("changed\n"), 0644);
		assert_true(first_that_works(&t, try_sync) > BYTES / 512);
		assert_int_equal(t.result.n_taken, 1);
		run_shell(&t, "cmp file-7 \"$ROOT/file-7\"");
		end(&t);
	}
}

/* A git whose add fails at its end, as on a full disk. */
static void a_repository_that_failed_half_way_is_not_left(void **arg)
{
	struct send_request r = { 0 };
	struct send_result result;
	struct sent t;

	(void)arg;
	begin(&t, 0);
	r.sandbox = &t.room.sb;
	t.room.state.kind = &(struct shell_kind){
		.name = "dash, git cannot commit",
		.shell = { "/bin/dash" },
		.path = "/usr/bin:/bin",
		.noise = "git() { case $* in *commit*) return 1;; esac;"
			 " command git \"$@\"; }; ",
	};
	assert_int_equal(workspace_send(&t.w, &t.s, &r, &result, &t.room.stop,
					&t.room.err),
			 0);
	assert_true(result.git_failed && !result.repository);
	run_shell(&t, "[ ! -e .git ] && [ -x run ]");
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tree_arrives_byte_by_byte),
		cmocka_unit_test(
			changes_of_one_side_are_taken_and_of_both_kept),
		cmocka_unit_test(
			ten_changed_files_cost_three_commands_and_64_kib),
		cmocka_unit_test(
			what_may_hold_secrets_stays_though_the_base_has_it),
		cmocka_unit_test(
			a_link_to_a_directory_is_replaced_and_not_followed),
		cmocka_unit_test(a_lost_listing_is_sent_again),
		cmocka_unit_test(a_full_disk_never_reads_as_a_whole_tree),
		cmocka_unit_test(a_repository_that_failed_half_way_is_not_left),
		cmocka_unit_test(the_base_becomes_what_both_sides_share),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}

/* scan_test.c - what differs in a sandbox is found, named and brought. */
/* SPDX-License-Identifier: MIT */
#include <sys/socket.h>

#include "archive/archive.h"
#include "files_room.h"
#include "worktree/fetch_commit.h"
#include "worktree/listing.h"

#define ODD "it's \\n\n \xff\xc3\xa9 -x $(y)"

struct tree { /* one that was sent to a sandbox of some kind */
	struct room room;
	struct listing base;
	struct buf text;
	char root[LISTING_HASH];
	char *home;
	struct scan_request request;
	struct scan scan;
	struct buf files; /* "MODE PATH=BYTES|" of the archive, in its order */
};

static void base_file(struct tree *t, const char *name, const char *data,
		      mode_t mode)
{
	char hash[LISTING_HASH];

	put(&t->room, name, str_of(data), mode);
	listing_digest(str_of(data), hash);
	listing_add(&t->base, mode & 0100 ? LISTING_PROGRAM : LISTING_FILE,
		    hash, str_of(name));
}

static void base_link(struct tree *t, const char *name, const char *target)
{
	char hash[LISTING_HASH];

	assert_int_equal(symlink(target, in(&t->room, name)), 0);
	listing_digest(str_of(target), hash);
	listing_add(&t->base, LISTING_LINK, hash, str_of(name));
}

static void fill_base(struct tree *t)
{
	make_dir(&t->room, "src");
	make_dir(&t->room, "src/deep");
	make_dir(&t->room, ".git");
	put(&t->room, ".git/HEAD", STR("not ours"), 0644);
	base_file(t, "a", "one\n", 0644);
	base_file(t, "-b", "two\n", 0644);
	base_file(t, "run", "#!/bin/sh\n", 0755);
	base_file(t, "src/empty", "", 0644);
	base_file(t, "src/deep/" ODD, "odd\n", 0644);
	base_file(t, "back\\slash", "x", 0644);
	base_file(t, ".gitignore", "*.o\n/out/\n", 0644);
	base_link(t, "link", "a");
	base_link(t, "dangling", "no\nwhere");
}

static void begin(struct tree *t, int kind)
{
	*t = (struct tree){ .text = BUF_INIT(1 << 20),
			    .files = BUF_INIT(16 << 20),
			    .scan = { .spool = -1 } };
	enter(&t->room, kind);
	t->home = xasprintf("%s/home.XXXXXX", tools);
	assert_non_null(mkdtemp(t->home));
	t->room.state.home = t->home;
	t->room.sb.workdir = t->room.dir;
	fill_base(t);
	listing_write(&t->base, &t->text);
	listing_root(&t->base, t->root);
	t->request = (struct scan_request){ .sandbox = &t->room.sb,
					    .root = t->root,
					    .listing = buf_str(&t->text),
					    .file_max = 1 << 20,
					    .total_max = 8 << 20,
					    .scratch = tools };
}

static void end(struct tree *t)
{
	scan_release(&t->scan);
	listing_release(&t->base);
	buf_release(&t->text);
	buf_release(&t->files);
	free(t->home);
	leave(&t->room);
}

static int on_entry(void *arg, const struct archive_item *item,
		    struct error *err)
{
	struct tree *t = arg;

	(void)err;
	buf_addf(&t->files, "%o %s=", item->mode & 0777,
		 item->path.len > 2 ? item->path.ptr + 2 : "");
	if (item->target)
		buf_addf(&t->files, "->%s|", item->target);
	else if (!item->size)
		buf_addc(&t->files, '|');
	return item->size > 0;
}

static int on_data(void *arg, struct str bytes, struct error *err)
{
	struct tree *t = arg;

	(void)err;
	buf_addstr(&t->files, bytes);
	buf_addc(&t->files, '|');
	return 0;
}

static int64_t pull(void *arg, char *room, size_t len, struct error *err)
{
	struct tree *t = arg;

	return scan_pull(&t->scan, room, len, err);
}

static void unpack(struct tree *t)
{
	const struct archive_visitor v = { pull, on_entry, on_data, t };

	buf_clear(&t->files);
	if (t->scan.left)
		WORKS(&t->room, archive_visit(&v, &t->room.err));
}

/* How many commands it took. */
static int scan(struct tree *t)
{
	int before = t->room.state.executes;

	scan_release(&t->scan);
	WORKS(&t->room,
	      scan_run(&t->scan, &t->request, &t->room.stop, &t->room.err));
	unpack(t);
	return t->room.state.executes - before;
}

static bool says(const struct tree *t, char kind, const char *path)
{
	for (size_t i = 0; i < t->scan.n; i++)
		if (t->scan.records[i].kind == kind &&
		    !strcmp(t->scan.records[i].path, path))
			return true;
	return false;
}

static size_t count(const struct tree *t, char kind)
{
	size_t n = 0;

	for (size_t i = 0; i < t->scan.n; i++)
		n += t->scan.records[i].kind == kind;
	return n;
}

static void brings(const struct tree *t, const char *entry)
{
	char *whole = xasprintf("%s|", entry);

	if (!t->files.len || !strstr(t->files.ptr, whole))
		fail_msg("no \"%s\" in \"%s\"", whole,
			 t->files.len ? t->files.ptr : "");
	free(whole);
}

/* The sandbox's git says what is ignored, or nobody there can. */
static bool has_git(const struct tree *t)
{
	return t->room.state.kind->path &&
	       !strcmp(t->room.state.kind->path, "/usr/bin:/bin");
}

static void a_tree_without_changes_costs_one_command(void **arg)
{
	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct tree t;

		begin(&t, k);
		assert_true(scan(&t) > 1); /* the listing goes there once */
		assert_true(t.scan.same);
		assert_int_equal(scan(&t), 1);
		assert_true(t.scan.same);
		put(&t.room, "a", STR("other\n"), 0644);
		assert_int_equal(scan(&t), 1);
		assert_false(t.scan.same);
		end(&t);
	}
}

static void every_kind_of_change_comes_back(void **arg)
{
	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct tree t;

		begin(&t, k);
		put(&t.room, "a", STR("changed"), 0644);
		put(&t.room, "src/deep/" ODD, STR("even"), 0644);
		put(&t.room, "back\\slash", STR("y"), 0644);
		assert_int_equal(chmod(in(&t.room, "run"), 0644), 0);
		assert_int_equal(chmod(in(&t.room, "src/empty"), 0700), 0);
		assert_int_equal(unlink(in(&t.room, "-b")), 0);
		make_dir(&t.room, "-b");
		assert_int_equal(unlink(in(&t.room, "dangling")), 0);
		assert_int_equal(unlink(in(&t.room, "link")), 0);
		assert_int_equal(symlink("run", in(&t.room, "link")), 0);
		(void)scan(&t);
		assert_int_equal(count(&t, SCAN_GONE), 2);
		assert_true(says(&t, SCAN_GONE, "-b"));
		assert_true(says(&t, SCAN_GONE, "dangling"));
		brings(&t, "644 a=changed");
		brings(&t, "644 back\\slash=y");
		brings(&t, "644 run=#!/bin/sh\n");
		brings(&t, "700 src/empty=");
		brings(&t, "777 link=->run");
		brings(&t, "644 src/deep/" ODD "=even");
		assert_int_equal(count(&t, SCAN_CHANGED), 6);
		end(&t);
	}
}

static void new_files_come_back_and_ignored_ones_stay(void **arg)
{
	static const char *const wanted[] = { "new", "src/n\xff" };

	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct tree t;

		begin(&t, k);
		t.request.exclude = STR("*.log\n");
		put(&t.room, "new", STR("fresh"), 0644);
		put(&t.room, "src/n\xff", STR("bytes"), 0755);
		put(&t.room, "x.o", STR("object"), 0644);
		put(&t.room, "x.log", STR("log"), 0644);
		make_dir(&t.room, "out");
		put(&t.room, "out/y", STR("built"), 0644);
		(void)scan(&t);
		if (has_git(&t)) {
			assert_int_equal(count(&t, SCAN_NEW), 2);
			assert_int_equal(count(&t, SCAN_UNDECIDED), 0);
			assert_int_equal(count(&t, SCAN_IGNORED), 4);
			assert_true(says(&t, SCAN_IGNORED, ""));
			assert_true(says(&t, SCAN_IGNORED, "out/"));
			assert_true(says(&t, SCAN_IGNORED, "x.log"));
			assert_true(says(&t, SCAN_IGNORED, "x.o"));
			assert_int_equal(scan(&t), 1);
			t.request.names = true;
			(void)scan(&t);
		}
		assert_int_equal(count(&t, SCAN_UNDECIDED), 5);
		assert_true(says(&t, SCAN_UNDECIDED, "out/y"));
		assert_int_equal(t.files.len, 0);
		scan_release(&t.scan);
		WORKS(&t.room, scan_fetch(&t.scan, &t.request, wanted, 2,
					  &t.room.stop, &t.room.err));
		unpack(&t);
		brings(&t, "644 new=fresh");
		brings(&t, "755 src/n\xff=bytes");
		assert_null(strstr(t.files.ptr, "x.o"));
		end(&t);
	}
}

static void what_is_no_file_is_named_and_stays(void **arg)
{
	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct tree t;

		begin(&t, k);
		t.request.file_max = 1000;
		assert_int_equal(mkfifo(in(&t.room, "fifo"), 0644), 0);
		assert_int_equal(unlink(in(&t.room, "a")), 0);
		assert_int_equal(mkfifo(in(&t.room, "a"), 0644), 0);
		put(&t.room, "core", STR(""), 0644);
		assert_int_equal(truncate(in(&t.room, "core"), 5000), 0);
		put(&t.room, "run", STR(""), 0755);
		assert_int_equal(truncate(in(&t.room, "run"), 6000), 0);
		put(&t.room, "s\1x", STR("n"), 0644);
		make_dir(&t.room, "sub");
		make_dir(&t.room, "sub/.git");
		put(&t.room, "sub/.git/HEAD", STR("ref: refs/heads/main\n"),
		    0644);
		make_dir(&t.room, "sub/.git/objects");
		make_dir(&t.room, "sub/.git/refs");
		put(&t.room, "sub/file", STR("theirs"), 0644);
		(void)scan(&t);
		assert_true(says(&t, SCAN_SPECIAL, "fifo"));
		assert_true(says(&t, SCAN_SPECIAL, "a"));
		assert_false(says(&t, SCAN_GONE, "a"));
		assert_true(says(&t, SCAN_BIG, "run"));
		assert_true(says(&t, SCAN_NAME, "s\1x"));
		assert_true(says(&t, SCAN_REPOSITORY, "sub"));
		if (has_git(&t))
			assert_true(says(&t, SCAN_BIG, "core"));
		assert_int_equal(t.files.len, 0);
		for (size_t i = 0; i < t.scan.n; i++)
			assert_null(strstr(t.scan.records[i].path, ".git/"));
		end(&t);
	}
}

/* git follows none of the three; what is beside them is a positive control. */
static void a_git_file_that_leads_elsewhere_is_a_repository(void **arg)
{
	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct tree t;

		begin(&t, k);
		make_dir(&t.room, "gitfile");
		put(&t.room, "gitfile/.git", STR("gitdir: /nowhere\n"), 0644);
		put(&t.room, "gitfile/file", STR("theirs"), 0644);
		make_dir(&t.room, "empty");
		make_dir(&t.room, "empty/.git");
		put(&t.room, "empty/" ODD, STR("theirs"), 0644);
		make_dir(&t.room, "plain");
		put(&t.room, "plain/file", STR("ours"), 0644);
		(void)scan(&t);
		assert_true(says(&t, SCAN_REPOSITORY, "gitfile"));
		assert_true(says(&t, SCAN_REPOSITORY, "empty"));
		assert_int_equal(count(&t, SCAN_REPOSITORY), 2);
		if (has_git(&t)) {
			brings(&t, "644 plain/file=ours");
			assert_int_equal(count(&t, SCAN_NEW), 1);
			assert_int_equal(count(&t, SCAN_IGNORED), 0);
		}
		end(&t);
	}
}

static void more_than_the_limit_does_not_come(void **arg)
{
	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct tree t;
		char *big = xcalloc(1, 3001);

		begin(&t, k);
		memset(big, 'x', 3000);
		put(&t.room, "a", (struct str){ big, 3000 }, 0644);
		(void)scan(&t);
		assert_true(says(&t, SCAN_CHANGED, "a"));
		t.request.total_max = 2000;
		scan_release(&t.scan);
		assert_int_equal(scan_run(&t.scan, &t.request, &t.room.stop,
					  &t.room.err),
				 -1);
		assert_int_equal(t.room.err.code, ERR_LIMIT);
		free(big);
		end(&t);
	}
}

static void the_tree_is_left_as_it_was(void **arg)
{
	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct tree t;
		struct files_names list;

		begin(&t, k);
		t.room.state.home = t.room.dir; /* as some vendors have it */
		put(&t.room, "a", STR("changed"), 0644);
		(void)scan(&t);
		(void)scan(&t);
		brings(&t, "644 a=changed");
		WORKS(&t.room, files_ls(&t.room.sb, t.room.dir, &list,
					&t.room.stop, &t.room.err));
		assert_int_equal(list.n, 9);
		files_names_release(&list);
		end(&t);
	}
}

/* Runs scan_run() where no file may grow beyond so many blocks of 512 bytes,
 * which a shell's writes meet like a full disk. */
static int scan_with_blocks(struct tree *t, int blocks)
{
	const struct shell_kind *kind = t->room.state.kind;
	struct shell_kind full = *kind;
	char limit[128];
	int rc;

	snprintf(limit, sizeof(limit), "trap '' XFSZ; ulimit -f %d; %s", blocks,
		 kind->noise ? kind->noise : "");
	full.noise = limit;
	t->room.state.kind = &full;
	scan_release(&t->scan);
	rc = scan_run(&t->scan, &t->request, &t->room.stop, &t->room.err);
	t->room.state.kind = kind;
	return rc;
}

static void a_full_disk_never_reads_as_fewer_changes(void **arg)
{
	enum { FILES = 150, BLOCKS_MAX = 1 << 14 };

	(void)arg;
	for (int k = kind_first(); k < KINDS; k += kind_step()) {
		struct tree t;
		int failed = 0;
		int blocks = 0;

		begin(&t, k);
		for (int i = 0; i < FILES; i++) {
			char name[16];

			snprintf(name, sizeof(name), "new%d", i);
			put(&t.room, name, STR("more"), 0644);
		}
		put(&t.room, "a", STR("changed"), 0644);
		assert_int_equal(unlink(in(&t.room, "run")), 0);
		(void)scan(&t);
		for (; scan_with_blocks(&t, blocks) < 0; failed++)
			blocks = blocks ? blocks * 2 : 1;
		assert_true(failed > 2 && blocks < BLOCKS_MAX);
		assert_true(says(&t, SCAN_CHANGED, "a"));
		assert_true(says(&t, SCAN_GONE, "run"));
		assert_int_equal(
			count(&t, SCAN_NEW) + count(&t, SCAN_UNDECIDED), FILES);
		end(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_without_changes_costs_one_command),
		cmocka_unit_test(every_kind_of_change_comes_back),
		cmocka_unit_test(new_files_come_back_and_ignored_ones_stay),
		cmocka_unit_test(what_is_no_file_is_named_and_stays),
		cmocka_unit_test(
			a_git_file_that_leads_elsewhere_is_a_repository),
		cmocka_unit_test(more_than_the_limit_does_not_come),
		cmocka_unit_test(the_tree_is_left_as_it_was),
		cmocka_unit_test(a_full_disk_never_reads_as_fewer_changes),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}

/* stat_cache_test.c - unchanged files are not read again, changed ones are. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "unit.h"
#include "worktree/stat_cache.h"
#include "worktree/stream_files.h"

struct place {
	char top[64];
	char *file;  /* the cache's */
	char *other; /* a file of a tree */
	struct timespec later;
};

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int begin(void **arg)
{
	struct place *p = xcalloc(1, sizeof(*p));

	ids_init();
	snprintf(p->top, sizeof(p->top), "/tmp/stat_cache_test.XXXXXX");
	if (!mkdtemp(p->top))
		return -1;
	p->file = path_join(p->top, "files.stat");
	p->other = path_join(p->top, "file");
	clock_gettime(CLOCK_REALTIME, &p->later);
	p->later.tv_sec += 10; /* as if it were read then */
	write_text(p->other, "bytes");
	*arg = p;
	return 0;
}

static int end(void **arg)
{
	struct place *p = *arg;
	struct error err = { 0 };
	int rc = path_remove_tree(p->top, &err);

	free(p->file);
	free(p->other);
	free(p);
	return rc;
}

static struct stat look(const struct place *p)
{
	struct stat st;

	assert_int_equal(lstat(p->other, &st), 0);
	return st;
}

static void keep(const struct place *p, const struct timespec *began)
{
	struct stat_cache *c = stat_cache_open(p->file);
	struct stat_cached read = { .keyless = true };
	struct stat st = look(p);

	listing_digest(STR("bytes"), read.hash);
	stat_cache_put(c, "a/b", &st, &read, began);
	stat_cache_close(c);
}

static bool knows(const struct place *p)
{
	struct stat_cache *c = stat_cache_open(p->file);
	struct stat_cached known;
	char hash[LISTING_HASH];
	struct stat st = look(p);
	bool found = stat_cache_get(c, "a/b", &st, &known);

	listing_digest(STR("bytes"), hash);
	if (found) {
		assert_string_equal(known.hash, hash);
		assert_true(known.keyless);
	}
	assert_false(stat_cache_get(c, "a/c", &st, &known));
	stat_cache_close(c);
	return found;
}

static void a_file_is_known_until_it_changes(void **arg)
{
	struct place *p = *arg;
	struct stat st;

	keep(p, &p->later);
	assert_true(knows(p));
	assert_int_equal(stat(p->file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(chmod(p->other, 0755), 0);
	assert_false(knows(p));
}

static void an_edit_of_the_same_size_and_time_is_seen(void **arg)
{
	struct place *p = *arg;
	struct stat st = look(p);
	struct timespec old[2] = { st.st_atim, st.st_mtim };

	keep(p, &p->later);
	assert_true(knows(p));
	write_text(p->other, "BYTES");
	assert_int_equal(utimensat(AT_FDCWD, p->other, old, 0), 0);
	assert_true(look(p).st_mtim.tv_nsec == st.st_mtim.tv_nsec);
	assert_false(knows(p));
}

static void another_file_under_the_name_is_seen(void **arg)
{
	struct place *p = *arg;
	struct stat st = look(p);
	struct timespec old[2] = { st.st_atim, st.st_mtim };
	char *new = path_join(p->top, "new");

	keep(p, &p->later);
	assert_true(knows(p));
	write_text(new, "BYTES");
	assert_int_equal(utimensat(AT_FDCWD, new, old, 0), 0);
	assert_int_equal(rename(new, p->other), 0);
	assert_false(knows(p));
	free(new);
}

static void a_file_that_is_younger_than_two_seconds_is_not_kept(void **arg)
{
	struct place *p = *arg;
	struct timespec began;

	clock_gettime(CLOCK_REALTIME, &began);
	keep(p, &began);
	assert_false(knows(p));
	began.tv_sec += 2;
	keep(p, &began);
	assert_false(knows(p));
	began.tv_sec += 2;
	keep(p, &began);
	assert_true(knows(p));
}

static void a_file_that_is_not_whole_or_not_ours_is_none(void **arg)
{
	struct place *p = *arg;
	struct buf text = BUF_INIT(1 << 16);
	struct error err = { 0 };

	keep(p, &p->later);
	assert_int_equal(path_read(p->file, &text, &err), 0);
	for (size_t i = 0; i < text.len; i++) {
		struct str cut = { text.ptr, i };

		text.ptr[i] ^= 1;
		assert_int_equal(
			path_write(p->file, buf_str(&text), 0600, &err), 0);
		assert_false(knows(p));
		text.ptr[i] ^= 1;
		assert_int_equal(path_write(p->file, cut, 0600, &err), 0);
		assert_false(knows(p));
	}
	assert_int_equal(path_write(p->file, buf_str(&text), 0622, &err), 0);
	assert_false(knows(p));
	assert_int_equal(unlink(p->file), 0);
	assert_int_equal(mkfifo(p->file, 0600), 0);
	assert_false(knows(p));
	assert_int_equal(unlink(p->file), 0);
	assert_int_equal(path_write(p->file, buf_str(&text), 0600, &err), 0);
	assert_true(knows(p));
	buf_release(&text);
}

static void paths_that_nobody_asks_for_any_more_go(void **arg)
{
	struct place *p = *arg;
	struct stat_cached read = { .keyless = true };
	struct stat st = look(p);
	struct stat_cache *c;

	keep(p, &p->later);
	for (int i = 0; i < 2; i++) { /* asked for, then not */
		c = stat_cache_open(p->file);
		if (i == 0)
			assert_true(stat_cache_get(c, "a/b", &st, &read));
		stat_cache_put(c, i ? "z" : "0", &st, &read, &p->later);
		stat_cache_close(c);
		assert_int_equal(knows(p), i == 0);
	}
}

enum { FILES = 50 };

/* The names of files that a reading of the tree opens, each followed by "|";
 * and what it finds, but for the first time. */
static void read_tree(const char *state, const char *root, struct buf *opened,
		      struct listing *found)
{
	char events[1 << 16];
	struct workspace w = { 0 };
	struct selection s;
	struct select_request q = { 0 };
	struct file_reader_request r = { .workspace = &w };
	struct file_reader *p;
	struct stop stop = stop_on(NULL);
	struct error err = { 0 };
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	ssize_t n;

	assert_true(inotify_add_watch(watch, root, IN_OPEN) >= 0);
	assert_int_equal(workspace_open(&w, state, root, "l", &stop, &err), 0);
	assert_int_equal(select_files(&s, &w, &q, &stop, &err), 0);
	r.files = s.files;
	r.n = s.n;
	assert_int_equal(file_reader_open(&p, &r, &err), 0);
	assert_int_equal(file_reader_run(p, &stop, &err), 0);
	listing_release(found);
	*found = *file_reader_listing(p);
	*file_reader_listing(p) = (struct listing){ 0 };
	file_reader_close(p);
	select_release(&s);
	workspace_close(&w);
	buf_clear(opened);
	n = read(watch, events, sizeof(events));
	for (ssize_t at = 0; at < n;) {
		struct inotify_event e;

		memcpy(&e, events + at, sizeof(e));
		if (!(e.mask & IN_ISDIR))
			buf_addf(opened, "%s|", events + at + sizeof(e));
		at += (ssize_t)(sizeof(e) + e.len);
	}
	buf_adds(opened, "");
	close(watch);
}

static void a_second_reading_opens_what_changed_alone(void **arg)
{
	struct place *p = *arg;
	char *root = path_join(p->top, "tree");
	struct buf opened = BUF_INIT(1 << 16);
	struct listing found = { 0 };
	struct listing again = { 0 };
	struct error err = { 0 };
	char name[128];

	assert_int_equal(path_mkdirs(root, 0755, &err), 0);
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "%s/file%d", root, i);
		write_text(name, "text");
	}
	sleep(4); /* until their times are old enough */
	read_tree(p->top, root, &opened, &found);
	assert_non_null(strstr(opened.ptr, "file7|"));
	assert_int_equal(found.n, FILES);
	read_tree(p->top, root, &opened, &again);
	assert_null(strstr(opened.ptr ? opened.ptr : "", "file"));
	assert_int_equal(again.n, FILES);
	for (size_t i = 0; i < FILES; i++)
		assert_string_equal(found.entries[i].hash,
				    again.entries[i].hash);
	write_text(name, "TEXT");
	read_tree(p->top, root, &opened, &again);
	assert_non_null(strstr(opened.ptr, "file49|"));
	assert_null(strstr(opened.ptr, "file48|"));
	assert_string_not_equal(listing_find(&again, "file49")->hash,
				listing_find(&found, "file49")->hash);
	listing_release(&found);
	listing_release(&again);
	buf_release(&opened);
	free(root);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_known_until_it_changes),
		TEST(an_edit_of_the_same_size_and_time_is_seen),
		TEST(another_file_under_the_name_is_seen),
		TEST(a_file_that_is_younger_than_two_seconds_is_not_kept),
		TEST(a_file_that_is_not_whole_or_not_ours_is_none),
		TEST(paths_that_nobody_asks_for_any_more_go),
		TEST(a_second_reading_opens_what_changed_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

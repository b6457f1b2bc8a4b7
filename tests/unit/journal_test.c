/* journal_test.c - writes that fail on the way leave the tree as it was. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "unit.h"
#include "worktree/journal.h"
#include "worktree/listing.h"

struct room {
	char top[64];
	char *root, *store;
	struct stop stop;
	struct journal journal;
};

static char *in_room(const struct room *r, const char *name)
{
	return xasprintf("%s/%s", r->top, name);
}

static void write_text(const char *path, const char *text)
{
	struct error err = { 0 };

	assert_int_equal(path_write(path, str_of(text), 0644, &err), 0);
}

static void assert_holds(const struct room *r, const char *name,
			 const char *text)
{
	char *path = in_room(r, name);
	struct buf out = BUF_INIT(1000);
	struct error err = { 0 };

	assert_int_equal(path_read(path, &out, &err), 0);
	assert_string_equal(out.ptr, text);
	buf_release(&out);
	free(path);
}

static int fail_base(void *arg, const struct apply_plan *p, struct error *err)
{
	(void)arg;
	(void)p;
	return error_set(err, ERR_SYSTEM, "no base");
}

static void drop_line(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

static struct treefile file_of(const char *text)
{
	struct treefile t = { .mode = NAME_FILE,
			      .perm = 0644,
			      .mtime.tv_nsec = UTIME_OMIT };
	char hex[LISTING_HASH];

	listing_digest(str_of(text), hex);
	for (size_t i = 0; i < TREEFILE_HASH; i++) {
		char byte[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

		t.hash[i] = (unsigned char)strtoul(byte, NULL, 16);
	}
	return t;
}

/* A sealed journal that has "a" changed from "old" to "new", and written. */
static void write_change(struct room *r)
{
	struct journal_hooks hooks = { .line = drop_line,
				       .set_base = fail_base };
	struct journal *j = &r->journal;
	struct error err = { 0 };
	struct plan_change *c;
	char *path;

	r->stop = stop_cleanup(INT32_MAX);
	strcpy(r->top, "/tmp/dcode-journal-XXXXXX");
	assert_non_null(mkdtemp(r->top));
	r->root = in_room(r, "root");
	r->store = in_room(r, "store");
	assert_int_equal(mkdir(r->root, 0755), 0);
	path = in_room(r, "root/a");
	write_text(path, "old");
	free(path);
	*j = (struct journal){ .lock = -1, .root = -1 };
	assert_int_equal(
		journal_open(j, r->store, r->root, &hooks, &r->stop, &err), 0);
	assert_int_equal(journal_begin(j, &err), 0);
	c = plan_add(&j->plan, "a");
	c->before = file_of("old");
	c->after = file_of("new");
	path = journal_file(j, "before", c->id);
	write_text(path, "old");
	free(path);
	path = journal_file(j, "after", c->id);
	write_text(path, "new");
	free(path);
	assert_int_equal(journal_seal(j, &err), 0);
	assert_int_equal(journal_write(j, &err), 0);
	assert_holds(r, "root/a", "new");
}

static void close_room(struct room *r)
{
	struct error err = { 0 };

	journal_close(&r->journal);
	assert_int_equal(path_remove_tree(r->top, &err), 0);
	free(r->root);
	free(r->store);
}

static void test_what_cannot_be_marked_done_is_taken_back(void **state)
{
	struct error err = { 0 };
	struct room r;
	char *in_the_way;

	(void)state;
	write_change(&r);
	in_the_way = in_room(&r, "store/journal/done");
	assert_int_equal(mkdir(in_the_way, 0755), 0);
	assert_int_equal(journal_finish(&r.journal, &err), -1);
	assert_non_null(strstr(err.message, "nothing was changed"));
	assert_holds(&r, "root/a", "old");
	assert_int_equal(access(in_the_way, F_OK), -1);
	free(in_the_way);
	close_room(&r);
}

static void test_what_is_done_stays_when_the_base_cannot_be_moved(void **state)
{
	struct error err = { 0 };
	struct room r;

	(void)state;
	write_change(&r);
	r.journal.plan.label = xstrdup("dcode-abcdefgh");
	memset(r.journal.plan.base_after, 'a', 40);
	assert_int_equal(journal_finish(&r.journal, &err), -1);
	assert_non_null(strstr(err.message, "the files are written"));
	assert_holds(&r, "root/a", "new");
	close_room(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_cannot_be_marked_done_is_taken_back),
		cmocka_unit_test(
			test_what_is_done_stays_when_the_base_cannot_be_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

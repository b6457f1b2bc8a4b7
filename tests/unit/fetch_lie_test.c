/* fetch_lie_test.c - what a sandbox answers is not believed. */
/* SPDX-License-Identifier: MIT */
#include "fetch_tree.h"

enum { BLOCK = 512, MODES = 07777 };

/* A header of a tar archive, and the bytes. */
static void add_entry(struct tree *t, const char *name, char type,
		      unsigned mode, const char *target, struct str data)
{
	char h[BLOCK] = { 0 };
	unsigned sum = 8 * ' ';

	snprintf(h, 100, "%s", name);
	snprintf(h + 100, 8, "%07o", mode & MODES);
	snprintf(h + 108, 8, "%07o", 0u);
	snprintf(h + 116, 8, "%07o", 0u);
	snprintf(h + 124, 12, "%011zo", data.len);
	snprintf(h + 136, 12, "%011o", 0u);
	h[156] = type;
	snprintf(h + 157, 100, "%s", target);
	memcpy(h + 257, "ustar\00000", 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += i < 148 || i >= 156 ? (unsigned char)h[i] : 0;
	snprintf(h + 148, 8, "%06o", sum);
	buf_add(&t->tar, h, BLOCK);
	buf_addstr(&t->tar, data);
	while (t->tar.len % BLOCK)
		buf_addc(&t->tar, '\0');
}

static void add_file(struct tree *t, const char *name, struct str data)
{
	buf_addf(&t->report, "n %s\n", name);
	add_entry(t, name, '0', 0644, "", data);
}

static void end_report(struct tree *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->report.len; i++)
		n += t->report.ptr[i] == '\n';
	buf_addf(&t->report, "e %zu %zu\n", t->n, n);
}

static int lie(struct sandbox *sb, const struct exec_request *req,
	       struct exec_result *res, const struct stop *stop,
	       struct error *err)
{
	struct tree *t = sb->priv;
	struct buf out = BUF_INIT(16 << 20);
	size_t at = str_search(req->command, STR("nonce=")) + 6;
	int rc;

	(void)stop;
	for (int i = 0; i < 2 * BLOCK; i++)
		buf_addc(&t->tar, '\0');
	buf_addf(&out, "\n@dcode:%.16s:r\n", req->command.ptr + at);
	if (!t->unended)
		end_report(t);
	buf_addstr(&out, buf_str(&t->report));
	buf_addstr(&out, buf_str(&t->tar));
	buf_addf(&out, "\n@dcode:%.16s=ok inline %zu %zu\n",
		 req->command.ptr + at, t->report.len, t->tar.len);
	rc = req->output(req->arg, EXEC_STDOUT, buf_str(&out), NULL, err);
	*res = (struct exec_result){ 0 };
	buf_release(&out);
	return rc;
}

static const struct sandbox_ops lying_ops = { .execute = lie };
static const struct sandbox_provider lying = { .name = "lying",
					       .flags = SANDBOX_STDIN,
					       .max_command = 120 << 10,
					       .ops = &lying_ops };

static void begin_lie(struct tree *t)
{
	begin(t, 0);
	t->room.client.provider = &lying;
	t->room.sb.priv = t;
	add_file(t, "honest", STR("yes"));
}

static void names_that_leave_the_tree_are_refused(void **arg)
{
	static const struct {
		const char *path, *why;
	} bad[] = {
		{ "../up", "leads out of the working tree" },
		{ "/etc/passwd", "leads out of the working tree" },
		{ "src/../../up", "leads out of the working tree" },
		{ ".git/hooks/post-checkout", "is inside .git" },
		{ "src/.GiT/config", "is inside .git" },
		{ ".g\xe2\x80\x8cit/config", "is inside .git" },
		{ "GIT~1/config", "is inside .git" },
		{ ".git. /config", "is inside .git" },
	};
	struct tree t;

	(void)arg;
	begin_lie(&t);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		add_file(&t, bad[i].path, STR("evil"));
	add_entry(&t, "unannounced", '0', 0644, "", STR("evil"));
	fetch(&t);
	differs(&t, "A	honest|");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		refuses(&t, bad[i].path, bad[i].why);
	refuses(&t, "unannounced", "was not in the list of changes");
	end(&t);
}

static void links_devices_and_modes_are_refused(void **arg)
{
	struct tree t;

	(void)arg;
	begin_lie(&t);
	buf_adds(&t.report, "n up\nn abs\nn good\nn dev\nn suid\nn hard\n"
			    "n far\n");
	add_entry(&t, "up", '2', 0777, "../secret", STR(""));
	add_entry(&t, "abs", '2', 0777, "/etc/passwd", STR(""));
	add_entry(&t, "good", '2', 0777, "src/x", STR(""));
	add_entry(&t, "dev", '3', 0644, "", STR(""));
	add_entry(&t, "suid", '0', 04755, "", STR("x"));
	add_entry(&t, "hard", '1', 0644, "../../etc/passwd", STR(""));
	add_entry(&t, "far", '1', 0644, "honest", STR(""));
	fetch(&t);
	differs(&t, "A	far|A	good|A	honest|");
	contains(&t, "far", STR("yes"));
	refuses(&t, "up", "is a link that may lead out of the working tree");
	refuses(&t, "abs", "is a link that leads out of the working tree");
	refuses(&t, "dev", "is neither a plain file nor a link");
	refuses(&t, "suid", "has the setuid, setgid or sticky bit");
	refuses(&t, "hard", "is a link to a file that was not fetched");
	end(&t);
}

static void one_name_is_one_file(void **arg)
{
	struct tree t;

	(void)arg;
	begin_lie(&t);
	add_file(&t, "twice", STR("first"));
	add_file(&t, "twice", STR("second"));
	add_file(&t, "both", STR("file"));
	add_file(&t, "both/below", STR("in it"));
	add_file(&t, "dir/below", STR("in it"));
	add_file(&t, "dir", STR("file"));
	fetch(&t);
	differs(&t, "A	both|A	dir/below|A	honest|A	twice|");
	contains(&t, "twice", STR("first"));
	refuses(&t, "twice", "appears twice");
	refuses(&t, "both/below", "is a file and a directory at once");
	refuses(&t, "dir", "is a file and a directory at once");
	end(&t);
}

static void what_was_never_sent_is_no_deletion(void **arg)
{
	struct tree t;

	(void)arg;
	begin_lie(&t);
	buf_adds(&t.report, "d .env\nd ../../x\nd src/x\nd src\n");
	fetch(&t);
	differs(&t, "A	honest|D	src/x|");
	end(&t);
}

/* A sparse file says that it is of a size that never comes. */
static void add_sparse(struct tree *t, const char *name, const char *size)
{
	static const char map[BLOCK] = "0\n"; /* no bytes but zeros */
	struct buf head = BUF_INIT(BLOCK);

	buf_addf(&t->report, "n %s\n", name);
	buf_addf(&head, "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n");
	buf_addf(&head, "%zu GNU.sparse.name=%s\n",
		 strlen(name) + strlen("00 GNU.sparse.name=\n"), name);
	buf_addf(&head, "%zu GNU.sparse.realsize=%s\n",
		 strlen(size) + strlen("00 GNU.sparse.realsize=\n"), size);
	add_entry(t, "pax", 'x', 0644, "", buf_str(&head));
	add_entry(t, name, '0', 0644, "", (struct str){ map, BLOCK });
	buf_release(&head);
}

static void a_file_that_explodes_is_refused(void **arg)
{
	struct tree t;

	(void)arg;
	begin_lie(&t);
	add_sparse(&t, "bomb", "99999999999");
	add_sparse(&t, "small", "10000");
	fetch(&t);
	differs(&t, "A	honest|A	small|");
	refuses(&t, "bomb", "is larger than allowed");
	end(&t);
	begin_lie(&t);
	for (int i = 0; i < 5; i++) {
		char name[] = "bomb0";

		name[4] = (char)('0' + i);
		add_sparse(&t, name, "1000000");
	}
	fails(&t, ERR_LIMIT);
	end(&t);
}

static void add_links(struct tree *t, const char *to, int n)
{
	for (int i = 0; i < n; i++) {
		char name[16];

		snprintf(name, sizeof(name), "link%03d", i);
		buf_addf(&t->report, "n %s\n", name);
		add_entry(t, name, '1', 0644, to, STR(""));
	}
}

static void each_hard_link_counts_as_its_file(void **arg)
{
	enum { SIZE = 10000, LINKS = 200 };
	static const char bytes[SIZE];
	struct tree t;

	(void)arg;
	for (int extra = 0; extra < 2; extra++) {
		begin_lie(&t);
		t.request.total_max = SIZE * (LINKS + 1) + 3;
		add_file(&t, "file", (struct str){ bytes, SIZE });
		add_links(&t, "./file", LINKS + extra);
		if (extra) {
			fails(&t, ERR_LIMIT);
		} else {
			fetch(&t);
			contains(&t, "link199", (struct str){ bytes, SIZE });
			assert_int_equal(t.f.n_refused, 0);
		}
		end(&t);
	}
}

static void a_hard_link_needs_a_file_before_it(void **arg)
{
	struct tree t;

	(void)arg;
	begin_lie(&t);
	buf_adds(&t.report, "n src/l\nn s\n");
	add_entry(&t, "src/l", '2', 0777, "../a", STR(""));
	add_entry(&t, "s", '1', 0777, "src/l", STR(""));
	add_links(&t, "late", 1);
	add_file(&t, "late", STR("bytes"));
	fetch(&t);
	differs(&t, "A	honest|A	late|A	src/l|");
	refuses(&t, "s", "is a link to a file that was not fetched");
	refuses(&t, "link000", "is a link to a file that was not fetched");
	end(&t);
}

static void a_broken_answer_changes_nothing(void **arg)
{
	struct tree t;

	(void)arg;
	begin_lie(&t);
	add_file(&t, "cut", STR("some bytes"));
	t.tar.len -= BLOCK + 100;
	fails(&t, ERR_PROTOCOL);
	end(&t);
	begin_lie(&t);
	buf_adds(&t.report, "no such record\n");
	fails(&t, ERR_PROTOCOL);
	end(&t);
	begin_lie(&t);
	t.tar.len = 0;
	buf_adds(&t.tar, "\x1f\x8b\x08 a compressed stream");
	fails(&t, ERR_PROTOCOL);
	end(&t);
}

static void a_report_that_was_cut_is_refused(void **arg)
{
	static const struct {
		const char *end;
		bool whole;
	} ends[] = {
		{ "", false },          { "e 4 0\n", false },
		{ "e 3 1\n", false },   { "e 4 1\nn x\n", false },
		{ "e 4 1 1\n", false }, { "e 4 1\n", true },
	};

	(void)arg;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		struct tree t;

		begin_lie(&t);
		t.unended = true;
		buf_adds(&t.report, ends[i].end);
		if (ends[i].whole)
			fetch(&t);
		else
			fails(&t, ERR_PROTOCOL);
		end(&t);
	}
}

static void an_empty_answer_is_not_an_unchanged_tree(void **arg)
{
	struct tree t;

	(void)arg;
	begin_lie(&t);
	t.unended = true;
	t.report.len = t.tar.len = 0;
	fails(&t, ERR_PROTOCOL);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_leave_the_tree_are_refused),
		cmocka_unit_test(links_devices_and_modes_are_refused),
		cmocka_unit_test(one_name_is_one_file),
		cmocka_unit_test(what_was_never_sent_is_no_deletion),
		cmocka_unit_test(a_file_that_explodes_is_refused),
		cmocka_unit_test(each_hard_link_counts_as_its_file),
		cmocka_unit_test(a_hard_link_needs_a_file_before_it),
		cmocka_unit_test(a_broken_answer_changes_nothing),
		cmocka_unit_test(a_report_that_was_cut_is_refused),
		cmocka_unit_test(an_empty_answer_is_not_an_unchanged_tree),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}

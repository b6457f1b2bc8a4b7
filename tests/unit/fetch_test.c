/* fetch_test.c - what a sandbox changed becomes a commit, and no more. */
/* SPDX-License-Identifier: MIT */
#include "files_room.h"
#include "workspace/fetch.h"

enum { BLOCK = 512, MODES = 07777 };

struct tree { /* sent to a sandbox of some kind, or to one that lies */
	struct room room;
	struct workspace w;
	struct listing base;
	struct odb_change changes[16];
	struct str bytes[16];
	size_t n;
	char *state;
	struct fetch_request request;
	struct fetch f;
	/* What the lying one answers. */
	struct buf report, tar;
};

static int64_t read_str(void *arg, char *room, size_t len, struct error *err)
{
	struct str *s = arg;
	size_t n = len < s->len ? len : s->len;

	(void)err;
	if (n)
		memcpy(room, s->ptr, n);
	*s = str_skip(*s, n);
	return (int64_t)n;
}

static void base_file(struct tree *t, const char *name, struct str data,
		      mode_t mode)
{
	unsigned git = mode & 0100 ? LISTING_PROGRAM : LISTING_FILE;
	char hash[LISTING_HASH];

	put(&t->room, name, data, mode);
	listing_digest(data, hash);
	listing_add(&t->base, git, hash, str_of(name));
	t->bytes[t->n] = data;
	t->changes[t->n] = (struct odb_change){ .path = str_of(name),
						.mode = git,
						.size = (int64_t)data.len,
						.read = read_str,
						.arg = &t->bytes[t->n] };
	t->n++;
}

static void begin(struct tree *t, int kind)
{
	struct odb_commit_info info = { .message = "base\n" };
	char oid[GIT_OID];

	*t = (struct tree){ .report = BUF_INIT(1 << 20),
			    .tar = BUF_INIT(8 << 20) };
	enter(&t->room, kind);
	t->state = xasprintf("%s/state.XXXXXX", tools);
	assert_non_null(mkdtemp(t->state));
	t->room.state.home = t->state;
	t->room.sb.workdir = t->room.dir;
	make_dir(&t->room, "src");
	base_file(t, "a", STR("one\r\n\0two"), 0644);
	base_file(t, "run", STR("#!/bin/sh\n"), 0755);
	base_file(t, "src/x", STR("x\n"), 0644);
	base_file(t, ".gitignore", STR("*.o\n"), 0644);
	WORKS(&t->room, workspace_open(&t->w, t->state, tools, "dcode-abcd2345",
				       &t->room.stop, &t->room.err));
	info.ref = t->w.base_ref;
	WORKS(&t->room, odb_commit(&t->w.git, &info, t->changes, t->n, oid,
				   &t->room.stop, &t->room.err));
	WORKS(&t->room,
	      workspace_set_base(&t->w, oid, &t->room.stop, &t->room.err));
	WORKS(&t->room,
	      workspace_write_listing(&t->w, &t->base, oid, &t->room.err));
	t->request = (struct fetch_request){ .sandbox = &t->room.sb,
					     .exclude = STR("*.log"),
					     .file_max = 1 << 20,
					     .total_max = 4 << 20 };
}

static void end(struct tree *t)
{
	fetch_release(&t->f);
	workspace_close(&t->w);
	listing_release(&t->base);
	buf_release(&t->report);
	buf_release(&t->tar);
	free(t->state);
	leave(&t->room);
}

static void fetch(struct tree *t)
{
	fetch_release(&t->f);
	WORKS(&t->room, fetch_changes(&t->w, &t->request, &t->f, &t->room.stop,
				      &t->room.err));
}

static void fails(struct tree *t, enum err code)
{
	assert_int_equal(fetch_changes(&t->w, &t->request, &t->f, &t->room.stop,
				       &t->room.err),
			 -1);
	assert_int_equal(t->room.err.code, code);
}

/* Against what git prints of base and theirs: "A new|M a|". */
static void differs(struct tree *t, const char *want)
{
	const char *argv[] = { "diff",    "--name-status", "--no-renames",
			       t->w.base, t->f.theirs,     NULL };
	struct buf out = BUF_INIT(1 << 16);
	struct git_request r = { .argv = argv, .out = &out };

	WORKS(&t->room, git_run(&t->w.git, &r, &t->room.stop, &t->room.err));
	for (size_t i = 0; i < out.len; i++)
		if (out.ptr[i] == '\n')
			out.ptr[i] = '|';
	assert_string_equal(out.len ? out.ptr : "", want);
	buf_release(&out);
}

static void contains(struct tree *t, const char *path, struct str want)
{
	char *name = xasprintf("%s:%s", t->f.theirs, path);
	const char *argv[] = { "cat-file", "blob", name, NULL };
	struct buf out = BUF_INIT(1 << 16);
	struct git_request r = { .argv = argv, .out = &out };

	WORKS(&t->room, git_run(&t->w.git, &r, &t->room.stop, &t->room.err));
	assert_true(str_eq(buf_str(&out), want));
	buf_release(&out);
	free(name);
}

static const char *why(const struct fetch_item *items, size_t n,
		       const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(items[i].path, path))
			return items[i].why;
	return "not named";
}

static void refuses(const struct tree *t, const char *path, const char *reason)
{
	assert_string_equal(why(t->f.refused, t->f.n_refused, path), reason);
}

static void names(const struct tree *t, const char *path, const char *reason)
{
	assert_string_equal(why(t->f.left, t->f.n_left, path), reason);
}

static void changes_become_a_commit_on_the_base(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct tree t;
		const struct str bytes = STR("\0\r\nnew\xff");

		begin(&t, k);
		fetch(&t);
		assert_true(t.f.same);
		assert_string_equal(t.f.theirs, t.w.base);
		put(&t.room, "a", bytes, 0755);
		put(&t.room, "n w", STR("new"), 0644);
		put(&t.room, "twin", STR("same bytes"), 0644);
		assert_int_equal(unlink(in(&t.room, "run")), 0);
		assert_int_equal(symlink("a", in(&t.room, "run")), 0);
		assert_int_equal(unlink(in(&t.room, "src/x")), 0);
		put(&t.room, "x.o", STR("object"), 0644);
		put(&t.room, "x.log", STR("log"), 0644);
		fetch(&t);
		assert_false(t.f.same);
		differs(&t, "M	a|A	n w|T	run|D	src/x|A	"
			    "twin|");
		contains(&t, "a", bytes);
		contains(&t, "run", STR("a"));
		assert_int_equal(t.f.ignored, 2);
		assert_int_equal(t.f.n_refused + t.f.n_left, 0);
		end(&t);
	}
}

static void an_undone_change_is_no_change(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct tree t;

		begin(&t, k);
		put(&t.room, "run", STR("other"), 0755);
		fetch(&t);
		assert_false(t.f.same);
		put(&t.room, "run", STR("#!/bin/sh\n"), 0755);
		fetch(&t);
		assert_true(t.f.same);
		differs(&t, "");
		end(&t);
	}
}

static void hard_links_and_named_ignored_files_come(void **arg)
{
	static const char *const include[] = { "*.o" };

	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct tree t;
		char *one;

		begin(&t, k);
		put(&t.room, "one", STR("linked"), 0644);
		one = xstrdup(in(&t.room, "one"));
		assert_int_equal(link(one, in(&t.room, "two")), 0);
		put(&t.room, "x.o", STR("object"), 0644);
		put(&t.room, "x.log", STR("log"), 0644);
		t.request.include = include;
		t.request.n_include = 1;
		fetch(&t);
		differs(&t, "A	one|A	two|A	x.o|");
		contains(&t, "one", STR("linked"));
		contains(&t, "two", STR("linked"));
		assert_int_equal(t.f.ignored, 1);
		free(one);
		end(&t);
	}
}

static void what_no_tree_can_hold_is_named(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct tree t;

		begin(&t, k);
		t.request.file_max = 100;
		put(&t.room, "core", STR(""), 0644);
		assert_int_equal(truncate(in(&t.room, "core"), 5000), 0);
		put(&t.room, "a", STR(""), 0644);
		assert_int_equal(truncate(in(&t.room, "a"), 5000), 0);
		assert_int_equal(mkfifo(in(&t.room, "fifo"), 0644), 0);
		put(&t.room, "run", STR("new"), 0755);
		assert_int_equal(chmod(in(&t.room, "run"), 04755), 0);
		make_dir(&t.room, ".GIT");
		put(&t.room, ".GIT/config", STR("x"), 0644);
		assert_int_equal(symlink("/etc", in(&t.room, "out")), 0);
		put(&t.room, "ok", STR("fine"), 0644);
		fetch(&t);
		differs(&t, "A	ok|");
		names(&t, "core", "is larger than it may be");
		names(&t, "a", "is larger than it may be");
		names(&t, "fifo", "is a pipe, a socket or a device");
		refuses(&t, "run", "has the setuid, setgid or sticky bit");
		refuses(&t, ".GIT/config", "is inside .git");
		refuses(&t, "out", "is a link that leaves the tree");
		end(&t);
	}
}

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
	t->room.host.provider = &lying;
	t->room.sb.priv = t;
	add_file(t, "honest", STR("yes"));
}

static void names_that_leave_the_tree_are_refused(void **arg)
{
	static const struct {
		const char *path, *why;
	} bad[] = {
		{ "../up", "leaves the tree" },
		{ "/etc/passwd", "leaves the tree" },
		{ "src/../../up", "leaves the tree" },
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
	refuses(&t, "up", "is a link that may leave the tree");
	refuses(&t, "abs", "is a link that leaves the tree");
	refuses(&t, "dev", "is neither a plain file nor a link");
	refuses(&t, "suid", "has the setuid, setgid or sticky bit");
	refuses(&t, "hard", "is a link to a file that did not come");
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
	refuses(&t, "twice", "comes twice");
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
	refuses(&t, "bomb", "is larger than it may be");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_become_a_commit_on_the_base),
		cmocka_unit_test(an_undone_change_is_no_change),
		cmocka_unit_test(hard_links_and_named_ignored_files_come),
		cmocka_unit_test(what_no_tree_can_hold_is_named),
		cmocka_unit_test(names_that_leave_the_tree_are_refused),
		cmocka_unit_test(links_devices_and_modes_are_refused),
		cmocka_unit_test(one_name_is_one_file),
		cmocka_unit_test(what_was_never_sent_is_no_deletion),
		cmocka_unit_test(a_file_that_explodes_is_refused),
		cmocka_unit_test(a_broken_answer_changes_nothing),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}

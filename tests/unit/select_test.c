/* select_test.c - which files of a tree are sent, and that they are read once.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "select_place.h"
#include "unit.h"
#include "worktree/stream_files.h"

static void test_tracked_and_untracked_files_go_as_they_are_now(void **state)
{
	struct place *p = *state;

	run_script(p, "git init -q; printf 'x.o\\nkept.o\\n' >.gitignore\n"
		      "echo g >.git/info/exclude; mkdir -p d ../home\n"
		      "printf 'glob\\n' >../home/ignore\n"
		      "git config --global core.excludesFile '~/ignore'\n"
		      "echo a >a; echo b >d/b; echo c >gone; echo k >kept.o\n"
		      "ln -s ../away link; printf 'r\\r\\n\\0' >crlf\n"
		      "git add .; git add -f kept.o; git commit -qm x\n"
		      "rm gone; echo new >d/new; chmod 755 d/b; echo x >x.o\n"
		      "echo i >g; echo i >glob; mkfifo pipe\n"
		      "mkdir -p nest/.git; echo n >nest/n\n"
		      "printf y >\"$(printf 'n\\nl \\377\"\\\\')\"\n");
	assert_string_equal(list_files(p),
			    ".gitignore|a|crlf|*d/b|d/new|kept.o|@link|"
			    "n\nl \377\"\\|-nest|");
	assert_true(p->s.is_repository);
}

static void test_secrets_are_left_out_unless_they_are_included(void **state)
{
	static const char *const patterns[] = { ".env", "deep/id_rsa" };
	struct place *p = *state;
	struct select_request r = { .include = patterns, .n_include = 2 };

	run_script(p,
		   "git init -q; echo .env >.gitignore; mkdir deep .aws\n"
		   "for f in .env .env.local .env.example deep/id_rsa id_x.c"
		   " deep/id_rsa.pub .netrc .npmrc .pypirc .aws/config"
		   " .env.sample .env.template; do echo $f >$f; done\n"
		   "printf 'cert\\n-----BEGIN RSA PRIVATE KEY-----\\n' >pem\n"
		   "printf 'x = \"-----BEGIN RSA PRIVATE KEY-----\"' >a.c\n"
		   "printf '{\"k\":\"-----BEGIN PRIVATE KEY-----\\\\nMIIE' "
		   ">sa.json\n"
		   "printf 'k: |\n  -----BEGIN PRIVATE KEY-----\n' >k.yaml\n"
		   "(head -c 900000 /dev/zero | tr '\\0' '\\n';"
		   " echo '-----BEGIN PRIVATE KEY-----') >late\n"
		   "truncate -s 101M big; truncate -s 100M fits\n"
		   "git init -q nested; echo n >nested/n\n");
	assert_string_equal(
		list_files(p),
		".env.example|.env.sample|.env.template|.gitignore|a.c|"
		"deep/id_rsa.pub|fits|id_x.c|"
		"-.aws/config|-.env.local|-.netrc|-.npmrc|-.pypirc|-big|"
		"-deep/id_rsa|-k.yaml|-late|-nested|-pem|-sa.json|");
	assert_non_null(strstr(list_with(p, &r), ".env|.env.example|"));
	assert_non_null(strstr(p->text.ptr, "|deep/id_rsa|"));
	assert_non_null(strstr(p->text.ptr, "|-.env.local|"));
}

static void test_bare_repositories_in_the_tree_are_left_out(void **state)
{
	static const char *const patterns[] = { "mirror.git" };
	static const char *const files[] = { "t/fix.git/config" };
	struct place *p = *state;
	struct select_request r = { .include = patterns, .n_include = 1 };

	run_script(p, "git init -q; mkdir -p t/fix.git/refs t/fix.git/objects\n"
		      "echo k >t/k; echo h >t/fix.git/HEAD\n"
		      "for d in refs objects .; do echo x >t/fix.git/$d/config;"
		      " done; git add .; git commit -qm x\n"
		      "git clone -q --bare . mirror.git; mkdir -p half/refs\n"
		      "echo h >half/HEAD; echo r >half/refs/x\n");
	assert_string_equal(list_files(p), "half/HEAD|half/refs/x|t/k|"
					   "-mirror.git|-t/fix.git|");
	assert_true(p->s.left[0].asked);
	assert_non_null(strstr(list_with(p, &r), "|mirror.git/config|"));
	assert_non_null(strstr(p->text.ptr, "|-t/fix.git|"));
	r.include = files;
	assert_non_null(strstr(list_with(p, &r), "|t/fix.git/config|t/k|"));
}

static void test_the_inside_of_a_bare_repository_is_no_tree(void **state)
{
	struct place *p = *state;
	struct select_request r = { 0 };
	struct error err = { 0 };

	run_script(p, "git init -q --bare ..; echo a >a\n");
	open_tree(p);
	assert_int_equal(select_files(&p->s, &p->w, &r, &p->stop, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.message, "inside a bare git repository"));
	run_script(p, "git init -q\n"); /* a tree of its own */
	assert_string_equal(list_files(p), "a|");
	run_script(p, "rm -r .git ../refs\n");
	assert_string_equal(list_files(p), "a|");
}

static void test_a_directory_without_git_minus_what_is_ignored(void **state)
{
	struct place *p = *state;

	run_script(p,
		   "mkdir d; echo '*.o' >.gitignore; echo big >.dcodeignore\n"
		   "echo '/only' >d/.dcodeignore\n"
		   "touch a a.o big d/b d/big d/only only\n");
	assert_string_equal(list_files(p), ".dcodeignore|.gitignore|a|"
					   "d/.dcodeignore|d/b|only|");
	assert_false(p->s.is_repository);
}

static void test_files_of_submodules_go_as_plain_files(void **state)
{
	struct place *p = *state;

	run_script(p,
		   "git init -q ../lib; cd ../lib; echo l >l;"
		   " echo '*.o' >.gitignore; git add .; git commit -qm x\n"
		   "cd ../tree; git init -q; git submodule -q add ../lib sub\n"
		   "git commit -qm x; echo o >sub/x.o; echo n >sub/new\n");
	assert_string_equal(list_files(p), ".gitmodules|sub/.gitignore|sub/l|"
					   "sub/new|");
	assert_int_equal(p->s.submodules, 1);
}

static void test_worktrees_sparse_and_split_indexes_are_read(void **state)
{
	struct place *p = *state;

	run_script(p, "cd ..; rmdir tree; git init -q main; cd main\n"
		      "mkdir in out; echo a >in/a; echo b >out/b; echo c >c\n"
		      "git add .; git commit -qm x\n"
		      "git worktree add -q ../tree; cd ../tree\n"
		      "git sparse-checkout set --cone --sparse-index in\n"
		      "echo n >n\n");
	assert_string_equal(list_files(p), "c|in/a|n|");
	assert_int_equal(p->s.sparse, 1);
	assert_true(p->s.is_repository);
	run_script(p, "git sparse-checkout disable\n"
		      "git update-index --split-index; echo m >m; git add m\n"
		      "ls $(git rev-parse --git-dir)/sharedindex.*\n");
	assert_string_equal(list_files(p), "c|in/a|m|n|out/b|");
}

static void test_a_git_file_that_is_not_answered_is_not_followed(void **state)
{
	struct place *p = *state;

	run_script(p, "git init -q ../other; cd ../other; echo o >secret-name\n"
		      "git add .; git commit -qm x; cd ../tree\n"
		      "echo \"gitdir: $D/other/.git\" >.git; echo a >a\n"
		      "echo a >secret-name; echo secret-name >.gitignore\n");
	assert_string_equal(list_files(p), ".gitignore|a|");
	assert_false(p->s.is_repository);
}

static void test_a_commondir_counts_only_where_git_would_make_it(void **state)
{
	struct place *p = *state;
	const char *planted = "git init -q $D/plain; rm -rf .git\n"
			      "mkdir -p $D/fake; echo $D/tree/.git"
			      " >$D/fake/gitdir\n"
			      "echo \"gitdir: $D/fake\" >.git\n"
			      "echo ref: refs/heads/main >$D/fake/HEAD\n"
			      "echo $D/plain/.git >$D/fake/commondir\n"
			      "echo a >a\n";

	run_script(p, planted);
	assert_string_equal(list_files(p), "a|");
	assert_false(p->s.is_repository);
	assert_non_null(p->s.refused);
	/* The control: without it the directory counts by itself. */
	run_script(p, "rm $D/fake/commondir; cp -r $D/plain/.git/. $D/fake\n");
	assert_string_equal(list_files(p), "a|");
	assert_true(p->s.is_repository);
	assert_null(p->s.refused);
}

/* A sparse index, whose directories need the objects. */
static const char sparse[] =
	"git init -q; mkdir in out; echo a >in/a; echo b >out/b\n"
	"git add .; git commit -qm x\n"
	"git sparse-checkout set --cone --sparse-index in\n";

static void test_a_pipe_among_the_objects_hangs_nothing(void **state)
{
	static const char *const pipes[] = { "info/alternates", "pack/x.idx",
					     "aa/bb", "info/other" };
	struct place *p = *state;
	int64_t began = clock_ms();

	run_script(p, sparse);
	assert_string_equal(list_files(p), "in/a|"); /* the control */
	for (size_t i = 0; i < 4; i++) {
		char *script =
			xasprintf("cd .git/objects; mkdir -p aa pack info"
				  " $D/lent/info; rm -f info/alternates\n"
				  "[ %s != info/other ] ||"
				  " { echo $D/lent >info/alternates;"
				  " mkfifo $D/lent/info/alternates; exit; }\n"
				  "mkfifo %s\n",
				  pipes[i], pipes[i]);
		char *undo = xasprintf("cd .git/objects; rm -f %s\n", pipes[i]);

		run_script(p, script);
		assert_string_equal(list_files(p), "in/a|");
		run_script(p, undo);
		free(script);
		free(undo);
	}
	assert_true(clock_ms() - began < 60000);
}

static void test_alternates_that_lead_nowhere_are_passed_over(void **state)
{
	struct place *p = *state;

	run_script(p, sparse);
	run_script(p, "echo /nonexistent >.git/objects/info/alternates\n");
	assert_string_equal(list_files(p), "in/a|");
}

static void test_submodules_that_cannot_be_read_are_named(void **state)
{
	struct place *p = *state;

	run_script(p,
		   "git init -q ../lib; cd ../lib; echo l >l; git add .;"
		   " git commit -qm x\n"
		   "cd ../tree; git init -q; git submodule -q add ../lib a\n"
		   "git submodule -q add ../lib b; git submodule -q add ../lib"
		   " c; git commit -qm x; git submodule -q deinit -f b\n"
		   "echo gitdir: $D/lib/.git >c/.git\n");
	assert_string_equal(list_files(p), ".gitmodules|a/l|-b|-c|");
	assert_int_equal(p->s.submodules, 1);
}

static void test_no_link_on_the_way_is_followed(void **state)
{
	struct place *p = *state;

	run_script(p, "git init -q; mkdir d ../away; echo a >d/a; git add .\n"
		      "git commit -qm x; rm -r d; echo s >../away/a\n"
		      "ln -s ../away d\n");
	assert_string_equal(list_files(p), "@d|");
}

static void test_reading_leaves_the_users_repository_as_it_is(void **state)
{
	struct place *p = *state;

	run_script(p, "git init -q; echo a >a; git add .; git commit -qm x\n"
		      "sleep 0.1; touch a; find .git -type f | sort |"
		      " xargs sha256sum >../before\n");
	assert_string_equal(list_files(p), "a|");
	run_script(p, "find .git -type f | sort | xargs sha256sum |"
		      " cmp - ../before\n");
}

static void trailer(void *arg, struct listing *read, struct buf *out)
{
	(void)arg;
	listing_write(read, out);
}

static void read_stream(struct place *p, struct file_reader *pass,
			struct buf *out)
{
	struct error err = { 0 };
	char room[1000];
	int64_t n;

	(void)p;
	while ((n = file_reader_pull(pass, room, sizeof(room), &err)) > 0)
		buf_add(out, room, (size_t)n);
	if (n < 0)
		fail_msg("%s", err.message);
}

static void test_a_stream_has_the_size_that_was_said(void **state)
{
	struct place *p = *state;
	struct file_reader_request r = { .workspace = &p->w,
					 .tar_trailer = ".dcode-list",
					 .trailer = trailer,
					 .trailer_size = 1 << 16 };
	struct buf out = BUF_INIT(1 << 20);
	struct error err = { 0 };
	struct file_reader *pass;
	int64_t size;
	char *file;

	run_script(p,
		   "mkdir -p d/$(printf %0200d 1); echo a >a; touch empty\n"
		   "ln -s $(printf %0300d 1) d/l; head -c 70000 /dev/zero"
		   " >d/$(printf %0200d 1)/$(printf %0150d 2); echo gone >g\n"
		   "echo shrinks >s; chmod 755 a\n");
	(void)list_files(p);
	run_script(p, "rm g; : >s; echo longer >a\n");
	r.files = p->s.files;
	r.n = p->s.n;
	assert_int_equal(file_reader_open(&pass, &r, &err), 0);
	size = file_reader_size(pass, &err);
	read_stream(p, pass, &out);
	assert_int_equal(size, (int64_t)out.len);
	file = path_join(p->directory, "out.tar");
	assert_int_equal(path_write(file, buf_str(&out), 0600, &err), 0);
	run_script(p, "mkdir ../x; tar -xf ../out.tar -C ../x; cd ../x\n"
		      "mv .dcode-list ../list\n"
		      "{ find . -type f | while read -r f; do m=100644;"
		      " [ ! -x $f ] || m=100755; h=$(sha256sum <$f);"
		      " echo $m ${h%% *} ${f#./}; done\n"
		      "h=$(readlink -n d/l | sha256sum)\n"
		      "echo 120000 ${h%% *} d/l; } | LC_ALL=C sort |"
		      " cmp - ../list\n");
	free(file);
	file_reader_close(pass);
	buf_release(&out);
}

static int read_blob(void *arg, const struct odb_record *r, struct error *err)
{
	struct place *p = arg;
	const char *argv[] = { "cat-file", "blob", r->new_oid, NULL };
	struct git_request q = { .argv = argv, .out = &p->text };

	buf_addf(&p->text, "%o %s=", r->new_mode, r->path);
	return git_run(&p->w.git, &q, &p->stop, err);
}

static void test_a_snapshot_has_the_raw_bytes_and_the_extra_paths(void **state)
{
	static const char *const extra[] = { ".env", "ignored", "absent" };
	struct place *p = *state;
	struct select_request r = { .extra = extra, .n_extra = 3 };
	struct listing l = { 0 };
	struct snapshot snapshot = { .ref = "refs/dcode/x/ours", .read = &l };
	const char *oid = snapshot.commit;
	struct error err = { 0 };

	run_script(p, "git init -q; echo '* text eol=lf' >.gitattributes\n"
		      "echo ignored >.gitignore; printf 'a\\r\\n' >a\n"
		      "printf E >.env; printf i >ignored; ln -s away l\n");
	open_tree(p);
	if (workspace_snapshot(&p->w, &r, &snapshot, &p->stop, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(odb_tree_diff(&p->w.git, NULL, oid,
				       &(struct odb_sink){ read_blob, p },
				       &p->stop, &err),
			 0);
	assert_string_equal(p->text.ptr,
			    "100644 .env=E100644 .gitattributes=* text eol=lf\n"
			    "100644 .gitignore=ignored\n100644 a=a\r\n"
			    "100644 ignored=i120000 l=away");
	assert_int_equal(l.n, 6);
	listing_release(&l);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_tracked_and_untracked_files_go_as_they_are_now),
		TEST(test_secrets_are_left_out_unless_they_are_included),
		TEST(test_bare_repositories_in_the_tree_are_left_out),
		TEST(test_the_inside_of_a_bare_repository_is_no_tree),
		TEST(test_a_directory_without_git_minus_what_is_ignored),
		TEST(test_files_of_submodules_go_as_plain_files),
		TEST(test_worktrees_sparse_and_split_indexes_are_read),
		TEST(test_a_git_file_that_is_not_answered_is_not_followed),
		TEST(test_a_commondir_counts_only_where_git_would_make_it),
		TEST(test_a_pipe_among_the_objects_hangs_nothing),
		TEST(test_alternates_that_lead_nowhere_are_passed_over),
		TEST(test_submodules_that_cannot_be_read_are_named),
		TEST(test_no_link_on_the_way_is_followed),
		TEST(test_reading_leaves_the_users_repository_as_it_is),
		TEST(test_a_stream_has_the_size_that_was_said),
		TEST(test_a_snapshot_has_the_raw_bytes_and_the_extra_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* apply_history_test.c - random edits on both sides, against git merge. */
/* SPDX-License-Identifier: MIT */
#include "base/ids.h"
#include "histories.h"
#include "unit.h"
#include "worktree/apply.h"

/* DCODE_HISTORIES and DCODE_HISTORY_SEED choose others; 1,000 take minutes. */
enum { HISTORIES = 24, HISTORIES_LONG = 60 };

struct room {
	char top[64];
	char *root, *store, *git_dir, *program;
	struct git git;
	struct stop stop;
};

static char *in_room(const struct room *r, const char *name)
{
	return xasprintf("%s/%s", r->top, name);
}

static void run_shell(const struct room *r, const char *script)
{
	char *line = xasprintf("cd '%s' && export GIT_CONFIG_GLOBAL=/dev/null "
			       "GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a "
			       "GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a "
			       "GIT_COMMITTER_EMAIL=a@b && %s",
			       r->top, script);

	assert_int_equal(system(line), 0);
	free(line);
}

static void open_room(struct room *r)
{
	struct error err = { 0 };

	*r = (struct room){ .top = "/tmp/dcode-history-XXXXXX",
			    .stop = stop_cleanup(INT32_MAX) };
	assert_non_null(mkdtemp(r->top));
	r->root = in_room(r, "root");
	r->store = in_room(r, "store");
	r->git_dir = in_room(r, "store/git");
	assert_int_equal(git_find(NULL, &r->program, &err), 0);
	r->git = (struct git){ .program = r->program, .dir = r->git_dir };
	run_shell(r, "mkdir base");
	assert_int_equal(git_init(&r->git, &r->stop, &err), 0);
}

static void close_room(struct room *r)
{
	struct error err = { 0 };

	assert_int_equal(path_remove_tree(r->top, &err), 0);
	free(r->root);
	free(r->store);
	free(r->git_dir);
	free(r->program);
}

/* base, root (the local side), remote; plain has the merge of git itself, with
 * markers of the usual size, since a tree does not choose it for dcode. */
static void make_sides(struct room *r, uint64_t seed)
{
	char *base = in_room(r, "base");
	char *remote = in_room(r, "remote");

	uint64_t kind = seed % 2 ? HISTORY_ATTRIBUTES : 0;

	history_run(base, (3 * seed + 1) | kind, 12);
	run_shell(r, "cp -a base root && cp -a base remote");
	history_run(r->root, (3 * seed + 2) | kind, (unsigned)(seed % 6));
	history_run(remote, (3 * seed + 3) | kind, 1 + (unsigned)(seed % 7));
	run_shell(r, "git init -q -b local plain && cd plain && "
		     "echo '* -text -eol -ident -filter "
		     "-working-tree-encoding !conflict-marker-size' "
		     ">.git/info/attributes && "
		     "side() { find . -mindepth 1 -maxdepth 1 ! -name .git "
		     "-exec rm -rf {} + && cp -a ../$1/. . && "
		     /* Else files of the same size and second count as
		      * unchanged: cp keeps their times. */
		     "rm -f .git/index && git add -A -f && "
		     "git commit -q --allow-empty -m $1; } && "
		     "side base && git branch sandbox && side root && "
		     "git checkout -q sandbox && side remote && "
		     "git checkout -q local && "
		     "{ git merge -q -m m sandbox >/dev/null 2>&1 || "
		     "[ $? = 1 ] || touch ../failed; }");
	run_shell(r, "mkdir root/.git && echo index-$$ > root/.git/index");
	free(base);
	free(remote);
}

static void replace_all(struct buf *out, struct str text, struct str from,
			struct str to)
{
	for (;;) {
		size_t at = str_search(text, from);

		buf_addstr(out, (struct str){ text.ptr, at });
		if (at == text.len)
			return;
		buf_addstr(out, to);
		text = str_skip(text, at + from.len);
	}
}

/* One line for each file and directory; marker labels as dcode has them. */
static void describe(struct buf *out, const char *top, bool exact)
{
	struct trees_list l;

	trees_read(&l, top);
	for (size_t i = 0; i < l.n; i++) {
		const struct trees_item *it = &l.items[i];

		replace_all(out, str_of(it->path), STR("~HEAD"), STR("~local"));
		buf_addf(out, " %o", trees_mode(&it->st));
		if (exact)
			buf_addf(out, " %o", (unsigned)it->st.st_mode);
		if (exact && !S_ISDIR(it->st.st_mode))
			buf_addf(out, " %lld.%ld",
				 (long long)it->st.st_mtim.tv_sec,
				 it->st.st_mtim.tv_nsec);
		buf_addc(out, '\n');
		replace_all(out, buf_str(&it->bytes), STR("< HEAD"),
			    STR("< local"));
		buf_addc(out, '\n');
	}
	trees_release(&l);
}

static void same(const struct room *r, const struct buf *a, const struct buf *b,
		 const char *what, uint64_t seed)
{
	if (str_eq(buf_str(a), buf_str(b)))
		return;
	fail_msg("%s differs for seed %llu: see %s", what,
		 (unsigned long long)seed, r->top);
}

static void on_line(void *arg, const char *text)
{
	(void)arg;
	fail_msg("unexpected: %s", text);
}

static int set_base(void *arg, const struct apply_plan *p, struct error *err)
{
	const struct room *r = arg;

	return odb_ref_set(&r->git, "refs/dcode/box/base", p->base_after,
			   &r->stop, err);
}

static void apply_once(struct room *r, struct apply_result *result,
		       uint64_t seed)
{
	struct journal_hooks hooks = { r, on_line, set_base };
	struct journal j = { .lock = -1, .root = -1 };
	char base[GIT_OID], ours[GIT_OID], theirs[GIT_OID];
	char *base_dir = in_room(r, "base");
	char *remote = in_room(r, "remote");
	struct error err = { 0 };
	struct apply_request q = { .git = &r->git,
				   .label = "box",
				   .base = base,
				   .ours = ours,
				   .theirs = theirs,
				   .base_before = base,
				   .conflicts = true };
	struct merge_sides sides = { .base = base,
				     .ours = ours,
				     .theirs = theirs };

	trees_commit(&r->git, base_dir, "refs/dcode/box/base", base);
	trees_commit(&r->git, r->root, "refs/test/ours", ours);
	trees_commit(&r->git, remote, "refs/dcode/box/sandbox", theirs);
	free(base_dir);
	free(remote);
	if (journal_open(&j, r->store, r->root, &hooks, &r->stop, &err) < 0 ||
	    merge_compute(&result->merge, &r->git, &sides, &r->stop, &err) <
		    0 ||
	    apply_merge(result, &j, &q, &r->stop, &err) < 0)
		fail_msg("seed %llu: %s", (unsigned long long)seed,
			 err.message);
	journal_close(&j);
	if (result->applied == result->merge.unwritable)
		fail_msg("seed %llu was not applied: see %s",
			 (unsigned long long)seed, r->top);
}

static void undo_once(struct room *r, uint64_t seed)
{
	struct journal_hooks hooks = { r, on_line, set_base };
	struct journal j = { .lock = -1, .root = -1 };
	struct apply_undo_request request = { 0 };
	struct apply_result result = { 0 };
	struct error err = { 0 };

	if (journal_open(&j, r->store, r->root, &hooks, &r->stop, &err) < 0 ||
	    apply_undo(&result, &j, &request, &err) < 0)
		fail_msg("undo, seed %llu: %s", (unsigned long long)seed,
			 err.message);
	journal_close(&j);
	assert_true(result.applied);
	apply_result_release(&result);
}

static void read_index(const struct room *r, struct buf *out)
{
	char *path = in_room(r, "root/.git/index");
	struct error err = { 0 };

	assert_int_equal(path_read(path, out, &err), 0);
	free(path);
}

/* git merge gave up halfway; dcode writes nothing. */
static bool git_failed(const struct room *r)
{
	char *mark = in_room(r, "failed");
	bool failed = access(mark, F_OK) == 0;

	free(mark);
	return failed;
}

static size_t one_history(uint64_t seed)
{
	struct buf before = BUF_INIT(64 << 20), after = BUF_INIT(64 << 20);
	struct buf merged = BUF_INIT(64 << 20);
	struct apply_result result = { 0 };
	struct room r;
	char *plain;
	size_t conflicts;

	open_room(&r);
	make_sides(&r, seed);
	plain = in_room(&r, "plain");
	describe(&merged, plain, false);
	describe(&before, r.root, true);
	read_index(&r, &before);
	apply_once(&r, &result, seed);
	assert_true(!git_failed(&r) || result.merge.unwritable);
	describe(&after, r.root, false);
	if (result.applied)
		same(&r, &merged, &after, "the tree", seed);
	buf_clear(&after);
	if (result.applied && result.n)
		undo_once(&r, seed);
	describe(&after, r.root, true);
	read_index(&r, &after);
	same(&r, &before, &after, "what undo restored", seed);
	conflicts = result.merge.n;
	apply_result_release(&result);
	buf_release(&before);
	buf_release(&after);
	buf_release(&merged);
	free(plain);
	close_room(&r);
	return conflicts;
}

static void random_histories_merge_as_git_does_and_come_back(void **arg)
{
	const char *count = getenv("DCODE_HISTORIES");
	const char *seed = getenv("DCODE_HISTORY_SEED");
	uint64_t n = count                       ? strtoull(count, NULL, 10)
		     : getenv("DCODE_TEST_LONG") ? HISTORIES_LONG
						 : HISTORIES;
	uint64_t first = seed ? strtoull(seed, NULL, 10) : 1;
	unsigned with_conflicts = 0;

	(void)arg;
	ids_init();
	for (uint64_t i = 0; i < n; i++)
		with_conflicts += one_history(first + i) > 0;
	print_message("%llu histories, %u with conflicts\n",
		      (unsigned long long)n, with_conflicts);
	/* Both kinds were met. */
	assert_true(n < HISTORIES || (with_conflicts && with_conflicts < n));
}

/* Git's own merge gives up; dcode is to list conflicts, not to fail. */
static void a_merge_that_git_gives_up_lists_conflicts(void **arg)
{
	static const uint64_t seeds[] = { 900232 };

	(void)arg;
	ids_init();
	for (size_t i = 0; i < sizeof(seeds) / sizeof(*seeds); i++)
		assert_true(one_history(seeds[i]) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_merge_that_git_gives_up_lists_conflicts),
		cmocka_unit_test(
			random_histories_merge_as_git_does_and_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

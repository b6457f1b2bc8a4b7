/* rewrite_test.c - commits without what is never sent, and a git that lies. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "unit.h"
#include "worktree/rewrite.h"

#define KEY "-----BEGIN OPENSSH PRIVATE KEY-----"
#define GIT "git -c user.name=A -c user.email=a@b.c"
#define COMMIT GIT " add -Af . && " GIT " commit -qm"

/* Three commits: the second holds secrets by name and by content. */
static const char history[] =
	"git init -q -b main . && echo one >kept && mkdir d && echo x >d/f "
	"&& " COMMIT " first && echo TOKEN=byname >.env && mkdir deep && "
	"printf '%s\\nbycontent\\n' '" KEY
	"' >deep/k.txt && echo open >open && " COMMIT
	" second && rm .env deep/k.txt && echo two >kept && " COMMIT
	" 'third sekretword'";

struct place {
	char *top; /* has tree/, state/ and the scripts */
	char *root;
	char *state;
	char *git; /* the program */
	struct workspace w;
	struct selection files;
	struct rewrite_request r;
	struct rewritten out;
	struct stop stop;
	struct error err;
};

/* What a script in the tree prints, at most so much. */
static void run_shell(const struct place *p, const char *script, char *room,
		      size_t size)
{
	char *line = xasprintf("cd '%s' && TOP='%s' && { %s\n} 2>&1", p->root,
			       p->top, script);
	/* NOLINTNEXTLINE(cert-env33-c): a command of the test's own */
	FILE *f = popen(line, "r");
	size_t n = f ? fread(room, 1, size - 1, f) : 0;

	room[n] = '\0';
	if (!f || pclose(f) != 0)
		fail_msg("%s: %s", script, room);
	free(line);
}

static void begin(struct place *p, const char *script)
{
	struct select_request select = { 0 };
	char room[1024];

	*p = (struct place){ .stop = stop_on(NULL), .r = { .most = 100 } };
	p->top = xstrdup("/tmp/rewrite-test.XXXXXX");
	assert_non_null(mkdtemp(p->top));
	p->root = path_join(p->top, "tree");
	p->state = path_join(p->top, "state");
	assert_int_equal(mkdir(p->root, 0700), 0);
	assert_int_equal(mkdir(p->state, 0700), 0);
	run_shell(p, script, room, sizeof(room));
	assert_int_equal(workspace_open(&p->w, p->state, p->root, "dcode-a",
					&p->stop, &p->err),
			 0);
	if (select_files(&p->files, &p->w, &select, &p->stop, &p->err) < 0)
		fail_msg("%s", p->err.message);
	p->r.files = &p->files;
	p->git = p->w.program; /* p->w.git has it, too */
	p->w.program = xstrdup(p->git);
}

static void end(struct place *p)
{
	struct error ignored = { 0 };

	rewritten_release(&p->out);
	select_release(&p->files);
	workspace_close(&p->w);
	(void)path_remove_tree(p->top, &ignored);
	free(p->top);
	free(p->root);
	free(p->state);
	free(p->git);
}

static int rewrite(struct place *p)
{
	p->err = (struct error){ 0 };
	rewritten_release(&p->out);
	return rewrite_commits(&p->out, &p->w, &p->r, &p->stop, &p->err);
}

static void rewrite_well(struct place *p)
{
	if (rewrite(p) < 0)
		fail_msg("%s", p->err.message);
}

/* All objects of the pack, as text, in $TOP/objects. */
static void unpack(struct place *p)
{
	char *file = path_join(p->top, "pack");
	struct buf pack = BUF_INIT(16 << 20);
	char room[1024];
	size_t len = (size_t)(p->out.size - p->out.names_size);
	char *to = buf_room(&pack, len);

	assert_int_equal(pread(p->out.fd, to, len, p->out.names_size), len);
	buf_added(&pack, len);
	assert_int_equal(path_write(file, buf_str(&pack), 0600, &p->err), 0);
	run_shell(p,
		  "rm -rf $TOP/new && git init -q --bare $TOP/new && "
		  "git -C $TOP/new index-pack --stdin <$TOP/pack >/dev/null && "
		  "git -C $TOP/new cat-file --batch-all-objects --batch"
		  " >$TOP/objects",
		  room, sizeof(room));
	buf_release(&pack);
	free(file);
}

static bool has(struct place *p, const char *text)
{
	char *script =
		xasprintf("grep -acF -e '%s' $TOP/objects || true", text);
	char room[64];

	run_shell(p, script, room, sizeof(room));
	free(script);
	return strcmp(room, "0\n") != 0;
}

static void names_and_contents_are_left_out_and_the_rest_is_there(void **arg)
{
	struct place p;

	(void)arg;
	begin(&p, history);
	rewrite_well(&p);
	assert_int_equal(p.out.commits, 3);
	assert_int_equal(p.out.changed, 1);
	assert_int_equal(p.out.missing, 0);
	assert_int_equal(p.out.names_size, 0);
	unpack(&p);
	assert_false(has(&p, "byname"));
	assert_false(has(&p, "bycontent"));
	assert_false(has(&p, "deep"));
	assert_true(has(&p, "one") && has(&p, "open") && has(&p, "second"));
	end(&p);
}

static void an_include_takes_a_name_and_a_content_along(void **arg)
{
	static const char *const include[] = { ".env", "k.txt" };
	struct place p;

	(void)arg;
	begin(&p, history);
	p.r.include = include;
	p.r.n_include = 2;
	rewrite_well(&p);
	assert_int_equal(p.out.changed, 0);
	unpack(&p);
	assert_true(has(&p, "byname") && has(&p, "bycontent"));
	end(&p);
}

static void words_are_masked_and_their_commits_counted(void **arg)
{
	struct mask *mask = mask_new();
	struct place p;

	(void)arg;
	begin(&p, history);
	(void)mask_add(mask, "WORD", STR("sekretword"));
	p.r.mask = mask;
	rewrite_well(&p);
	assert_int_equal(p.out.changed, 2);
	unpack(&p);
	assert_false(has(&p, "sekretword"));
	assert_true(has(&p, "third"));
	mask_free(mask);
	end(&p);
}

static void so_many_commits_go_and_what_the_tree_lacks_is_named(void **arg)
{
	struct place p;
	char room[64];

	(void)arg;
	begin(&p, history);
	run_shell(&p, "rm d/f", room, sizeof(room));
	select_release(&p.files);
	assert_int_equal(select_files(&p.files, &p.w,
				      &(struct select_request){ 0 }, &p.stop,
				      &p.err),
			 0);
	p.r.most = 1;
	rewrite_well(&p);
	assert_int_equal(p.out.commits, 1);
	assert_int_equal(p.out.names_size, strlen("d/f\n"));
	unpack(&p);
	assert_false(has(&p, "one"));
	assert_true(has(&p, "two"));
	end(&p);
}

static void a_tree_without_commits_has_no_history(void **arg)
{
	struct place p;

	(void)arg;
	begin(&p, "git init -q . && echo x >x");
	rewrite_well(&p);
	assert_int_equal(p.out.commits, 0);
	assert_int_equal(p.out.size, 0);
	end(&p);
}

/* A git whose answer to one command goes through a filter. */
static void spoil(struct place *p, const char *command, const char *filter)
{
	char *file = path_join(p->top, "git");
	char *script = xasprintf("#!/bin/sh\ncase \" $* \" in\n*\" %s \"*) '%s'"
				 " \"$@\" | { %s; } ;;\n*) exec '%s' \"$@\" ;;"
				 "\nesac\n",
				 command, p->git, filter, p->git);

	assert_int_equal(path_write(file, str_of(script), 0700, &p->err), 0);
	free(p->w.program);
	p->w.program = file;
	free(script);
}

#define OID "0123456789012345678901234567890123456789"

static void an_answer_of_git_that_is_cut_or_made_up_is_an_error(void **arg)
{
	static const struct {
		const char *command, *filter;
	} wrong[] = {
		{ "rev-list", "sed s/^./z/ | tr a-f g" },
		{ "rev-list", "echo not an id" },
		{ "diff-tree", "head -c -1" },
		{ "diff-tree", "head -c 100" },
		{ "diff-tree", "true" },
		{ "diff-tree", "cat; echo one more" },
		{ "diff-tree", "printf ':100644 100644 a b M\\0kept\\0'" },
		{ "diff-tree", "echo x; printf ':1 2\\0kept\\0'" },
		{ "diff-tree",
		  "echo x; printf ':0 100644 " OID " x\\ny A\\0k\\0'" },
		{ "diff-tree", "echo x; echo x; echo x; printf :unended" },
		{ "cat-file", "head -c -1" },
		{ "cat-file", "head -c 60" },
		{ "cat-file", "true" },
		{ "cat-file", "cat; echo " OID " blob 0; echo" },
		{ "cat-file", "cat; echo " OID " missing" },
		{ "cat-file", "echo " OID " commit 99999999999999999999" },
		{ "cat-file", "echo " OID " commit -5" },
		{ "cat-file", "tr '\\0-\\377' ' '" },
	};

	(void)arg;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct place p;

		begin(&p, history);
		spoil(&p, wrong[i].command, wrong[i].filter);
		if (rewrite(&p) == 0 || p.err.code == ERR_NONE)
			fail_msg("%s: %s", wrong[i].command, wrong[i].filter);
		assert_int_equal(p.out.fd, -1);
		spoil(&p, "cat-file", "cat"); /* a filter as such is none */
		rewrite_well(&p);
		assert_int_equal(p.out.commits, 3);
		end(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			names_and_contents_are_left_out_and_the_rest_is_there),
		cmocka_unit_test(an_include_takes_a_name_and_a_content_along),
		cmocka_unit_test(words_are_masked_and_their_commits_counted),
		cmocka_unit_test(
			so_many_commits_go_and_what_the_tree_lacks_is_named),
		cmocka_unit_test(a_tree_without_commits_has_no_history),
		cmocka_unit_test(
			an_answer_of_git_that_is_cut_or_made_up_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

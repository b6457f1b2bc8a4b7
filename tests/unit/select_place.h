/* select_place.h - a tree and what select_files() finds in it. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_SELECT_PLACE_H
#define TESTS_UNIT_SELECT_PLACE_H

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "unit.h"
#include "worktree/select.h"

struct place {
	char directory[64];
	struct workspace w;
	struct stop stop;
	struct selection s;
	struct buf text; /* what the last list() says */
};

/* Runs a script with the directory as $D, its git free of the user's. */
static inline void run_script(const struct place *p, const char *script)
{
	char *all = xasprintf(
		"cd '%s' && D=$(pwd) && export D HOME=$D/home"
		" GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a"
		" GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a"
		" GIT_ALLOW_PROTOCOL=file && set -e\nmkdir -p home tree\n"
		"cd tree\n%s",
		p->directory, script);
	char *file = path_join(p->directory, "script");
	char *line = xasprintf("sh %s >/dev/null 2>%s.said", file, file);
	struct error err = { 0 };

	assert_int_equal(path_write(file, str_of(all), 0700, &err), 0);
	/* NOLINTNEXTLINE(cert-env33-c): a command of the test's own */
	if (pclose(popen(line, "r")) != 0) {
		struct buf said = BUF_INIT(1 << 16);
		char *name = xasprintf("%s.said", file);

		(void)path_read(name, &said, &err);
		fail_msg("%s\n%s", all, said.len ? said.ptr : "");
	}
	free(all);
	free(file);
	free(line);
}

static inline int setup(void **state)
{
	struct place *p = xcalloc(1, sizeof(*p));

	snprintf(p->directory, sizeof(p->directory), "/tmp/dcode-sel-XXXXXX");
	assert_non_null(mkdtemp(p->directory));
	p->stop = stop_cleanup(60000);
	p->text = BUF_INIT(1 << 20);
	*state = p;
	return 0;
}

static inline int teardown(void **state)
{
	struct place *p = *state;
	struct error ignored = { 0 };

	select_release(&p->s);
	workspace_close(&p->w);
	(void)path_remove_tree(p->directory, &ignored);
	buf_release(&p->text);
	free(p);
	return 0;
}

static inline void open_tree(struct place *p)
{
	char *root = path_join(p->directory, "tree");
	struct error err = { 0 };

	if (!p->w.root && workspace_open(&p->w, p->directory, root,
					 "dcode-abcd2345", &p->stop, &err) < 0)
		fail_msg("%s", err.message);
	free(root);
}

/* "mode path|" of what is selected, then "-path|" of what is left out. */
static inline const char *list_with(struct place *p,
				    const struct select_request *r)
{
	struct error err = { 0 };

	open_tree(p);
	select_release(&p->s);
	if (select_files(&p->s, &p->w, r, &p->stop, &err) < 0)
		fail_msg("%s", err.message);
	buf_clear(&p->text);
	for (size_t i = 0; i < p->s.n; i++)
		buf_addf(&p->text, "%s%s|",
			 p->s.files[i].mode == LISTING_LINK      ? "@"
			 : p->s.files[i].mode == LISTING_PROGRAM ? "*"
								 : "",
			 p->s.files[i].path);
	for (size_t i = 0; i < p->s.n_left; i++)
		buf_addf(&p->text, "-%s|", p->s.left[i].path);
	buf_adds(&p->text, "");
	return p->text.ptr ? p->text.ptr : "";
}

static inline const char *list_files(struct place *p)
{
	char *home = path_join(p->directory, "home");
	struct select_request r = { .home = home };
	const char *text = list_with(p, &r);

	free(home);
	return text;
}

#endif

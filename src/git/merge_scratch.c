/* merge_scratch.c - where git merges by the attributes of the local tree. */
/* SPDX-License-Identifier: MIT */
#include "git/merge_scratch.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "git/named_files.h"

enum { INFO_MAX = 2 << 20 };

/* The last lines of info/attributes win over all others. A marker's size has no
 * limit in git: one of 300 MB, of a hostile tree, fills memory and disk. */
#define ALWAYS_OFF                                                             \
	"* -ident -filter -working-tree-encoding !conflict-marker-size\n"
#define LINE_ENDS_OFF "* -text -eol\n"

/* The user's own lines of info/attributes come before those of dcode. */
static int write_info(const struct merge_scratch *s,
		      const struct merge_scratch_request *r, struct error *err)
{
	struct buf text = BUF_INIT(INFO_MAX);
	char *info = path_join(s->git_dir, "info");
	char *file = path_join(info, "attributes");
	int rc = path_mkdirs(info, 0700, err);

	buf_addstr(&text, r->attributes->info);
	buf_adds(&text, "\n" ALWAYS_OFF);
	if (!r->line_ends)
		buf_adds(&text, LINE_ENDS_OFF);
	if (rc == 0)
		rc = buf_check(&text, "info/attributes", err);
	if (rc == 0)
		rc = path_write(file, buf_str(&text), 0600, err);
	buf_release(&text);
	free(info);
	free(file);
	return rc;
}

static int make_git_dir(struct merge_scratch *s, const struct git *g,
			const struct merge_scratch_request *r,
			const struct stop *stop, struct error *err)
{
	s->object_env = xasprintf("GIT_OBJECT_DIRECTORY=%s/objects", g->dir);
	s->env[0] = s->object_env;
	s->git.dir = s->git_dir;
	s->git.work_tree = s->tree;
	s->git.env = s->env;
	if (write_info(s, r, err) < 0)
		return -1;
	return git_init(&s->git, stop, err);
}

int merge_scratch_open(struct merge_scratch *s, const struct git *g,
		       const struct merge_scratch_request *r,
		       const struct stop *stop, struct error *err)
{
	const struct merge_attributes *a = r->attributes;
	const struct named_files files = { .name = ".gitattributes",
					   .tree = r->ours,
					   .first = a->global };
	struct error ignored = { 0 };
	size_t n = 0;
	int rc;

	*s = (struct merge_scratch){ .git = *g,
				     .dir = path_join(g->dir, "merge") };
	s->git_dir = path_join(s->dir, "git");
	s->tree = path_join(s->dir, "tree");
	(void)path_remove_tree(s->dir, &ignored); /* of one that was killed */
	rc = path_mkdirs(s->tree, 0700, err);
	if (rc == 0)
		rc = named_files_write(&files, g, s->tree, &n, stop, err);
	if (rc == 0 && (n || a->info.len || a->global.len || r->line_ends))
		rc = make_git_dir(s, g, r, stop, err);
	return rc;
}

void merge_scratch_close(struct merge_scratch *s)
{
	struct error ignored = { 0 };

	(void)path_remove_tree(s->dir, &ignored);
	free(s->dir);
	free(s->git_dir);
	free(s->tree);
	free(s->object_env);
	*s = (struct merge_scratch){ 0 };
}

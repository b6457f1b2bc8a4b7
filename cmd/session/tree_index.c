/* tree_index.c - an index of dcode's own, to make one tree of another. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/tree_index.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

enum { INFO_MAX = 256 << 20 };

#define NO_OID "0000000000000000000000000000000000000000"

void tree_index_init(struct tree_index *t, const struct git *g,
		     const char *directory, const char *name)
{
	char *lock; /* a killed git leaves it */

	*t = (struct tree_index){ .git = *g,
				  .file = path_join(directory, name),
				  .info = BUF_INIT(INFO_MAX) };
	t->git.index = t->file;
	lock = xasprintf("%s.lock", t->file);
	unlink(t->file);
	unlink(lock);
	free(lock);
}

void tree_index_release(struct tree_index *t)
{
	unlink(t->file);
	free(t->file);
	buf_release(&t->info);
}

int tree_index_read(struct tree_index *t, const char *tree,
		    const struct stop *stop, struct error *err)
{
	const char *argv[] = { "read-tree", tree, NULL };
	struct git_request r = { .argv = argv };

	return git_run(&t->git, &r, stop, err);
}

void tree_index_forget(struct tree_index *t, struct str path)
{
	buf_adds(&t->info, "0 " NO_OID "\t");
	buf_addstr(&t->info, path);
	buf_addc(&t->info, '\0');
}

void tree_index_set(struct tree_index *t, struct str mode, struct str oid,
		    struct str path)
{
	buf_addstr(&t->info, mode);
	buf_addc(&t->info, ' ');
	buf_addstr(&t->info, oid);
	buf_addc(&t->info, '\t');
	buf_addstr(&t->info, path);
	buf_addc(&t->info, '\0');
}

int tree_index_update(struct tree_index *t, const struct stop *stop,
		      struct error *err)
{
	const char *argv[] = { "update-index", "-z", "--index-info", NULL };
	struct git_request r = { .argv = argv };
	int rc = buf_check(&t->info, "the list of changes", err);

	r.input = buf_str(&t->info);
	if (rc == 0 && t->info.len)
		rc = git_run(&t->git, &r, stop, err);
	buf_clear(&t->info);
	return rc;
}

int tree_index_write(struct tree_index *t, char tree[GIT_OID],
		     const struct stop *stop, struct error *err)
{
	const char *argv[] = { "write-tree", NULL };
	struct buf out = BUF_INIT(256);
	int rc = git_ask(&t->git, argv, &out, stop, err);

	if (rc == 0 && (!out.len || out.len >= GIT_OID))
		rc = error_set(err, ERR_SYSTEM, "git write-tree: no tree");
	if (rc == 0)
		memcpy(tree, out.ptr, out.len + 1);
	buf_release(&out);
	return rc;
}

/* rewrite_list.c - which commits are rewritten, and in which order. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "worktree/odb.h"
#include "worktree/rewrite_impl.h"

enum {
	LIST_MAX = 256 << 20,  /* bytes of ids */
	TEXT_MAX = 4 << 20,    /* of one commit */
	TEXTS_MAX = 512 << 20, /* of them all */
};

static bool copy_oid(char out[GIT_OID], struct str s)
{
	if (s.len != 40 && s.len != 64)
		return false;
	snprintf(out, GIT_OID, "%.*s", (int)s.len, s.ptr);
	return true;
}

struct by_oid {
	const char *oid;
	size_t i;
};

static int compare_oids(const void *a, const void *b)
{
	return strcmp(((const struct by_oid *)a)->oid,
		      ((const struct by_oid *)b)->oid);
}

/* Parents that are not among the commits are cut off. */
static void find_parents(struct rewrite *k, const struct by_oid *sorted,
			 struct old_commit *c, struct str rest)
{
	struct str one;

	c->parents = k->n_parents;
	while (str_split(&rest, ' ', &one)) {
		char oid[GIT_OID];
		struct by_oid key = { .oid = oid };
		const struct by_oid *found = NULL;

		if (copy_oid(oid, one))
			found = bsearch(&key, sorted, k->n, sizeof(key),
					compare_oids);
		if (!found)
			continue;
		k->parents = xrealloc(k->parents, k->n_parents + 1,
				      sizeof(*k->parents));
		k->parents[k->n_parents++] = found->i;
		c->n_parents++;
	}
}

/* Lines of an id and those of its parents. */
static int parse_list(struct rewrite *k, struct str text, struct error *err)
{
	struct str rest = text;
	struct str line;
	struct by_oid *sorted;
	size_t i = 0;

	while (str_split(&rest, '\n', &line))
		k->n += line.len != 0;
	k->commits = xcalloc(k->n + 1, sizeof(*k->commits));
	sorted = xcalloc(k->n + 1, sizeof(*sorted));
	for (rest = text; str_split(&rest, '\n', &line) && i < k->n; i++) {
		struct str oid = { line.ptr, str_find(line, ' ') };

		if (!copy_oid(k->commits[i].oid, oid)) {
			free(sorted);
			return error_set(err, ERR_PROTOCOL,
					 "git rev-list: a broken answer");
		}
		sorted[i] = (struct by_oid){ k->commits[i].oid, i };
	}
	if (k->n)
		qsort(sorted, k->n, sizeof(*sorted), compare_oids);
	i = 0;
	for (rest = text; str_split(&rest, '\n', &line) && i < k->n; i++)
		find_parents(k, sorted, &k->commits[i],
			     str_skip(line, str_find(line, ' ') + 1));
	free(sorted);
	return 0;
}

/* The next parent that was not reached yet, as *p. */
static bool next_parent(struct rewrite *k, struct old_commit *c, size_t *p)
{
	while (c->visited < c->n_parents) {
		*p = k->parents[c->parents + c->visited++];
		if (!k->commits[*p].reached)
			return true;
	}
	return false;
}

/* By date, a parent may come before a child of its: depth first it does not. */
static void sort_commits(struct rewrite *k)
{
	size_t *stack = xcalloc(k->n + 1, sizeof(*stack));
	size_t depth = 0;
	size_t done = 0;

	k->order = xcalloc(k->n + 1, sizeof(*k->order));
	for (size_t i = 0; i < k->n; i++) {
		size_t at = i;

		if (!k->commits[i].reached)
			stack[depth++] = i;
		while (depth) {
			k->commits[stack[depth - 1]].reached = true;
			if (next_parent(k, &k->commits[stack[depth - 1]], &at))
				stack[depth++] = at;
			else
				k->order[done++] = stack[--depth];
		}
	}
	free(stack);
}

struct text_run {
	struct rewrite *k;
	size_t i;
	int64_t total;
};

static int begin_text(void *arg, const struct odb_object *o, struct error *err)
{
	struct text_run *r = arg;
	struct old_commit *c = &r->k->commits[o->i];

	r->i = o->i;
	r->total += o->size;
	if (strcmp(o->type, "commit") != 0)
		return error_set(err, ERR_NOT_FOUND,
				 "commit %s is missing here", c->oid);
	if (o->size > TEXT_MAX || r->total > TEXTS_MAX)
		return error_set(err, ERR_LIMIT, "commit %s is too large",
				 c->oid);
	c->text = xcalloc(1, (size_t)o->size + 1);
	return 0;
}

static int take_text(void *arg, struct str bytes, struct error *err)
{
	struct text_run *r = arg;
	struct old_commit *c = &r->k->commits[r->i];

	(void)err;
	memcpy(c->text + c->text_len, bytes.ptr, bytes.len);
	c->text_len += bytes.len;
	return 0;
}

static int begin_tree(void *arg, const struct odb_object *o, struct error *err)
{
	struct text_run *r = arg;

	(void)err;
	r->k->commits[o->i].absent = strcmp(o->type, "tree") != 0;
	return 0;
}

static int read_texts(struct rewrite *k, struct error *err)
{
	struct text_run r = { .k = k };
	struct odb_reader texts = { begin_text, take_text, .arg = &r };
	struct odb_reader trees = { .begin = begin_tree, .arg = &r };
	struct buf names = BUF_INIT(LIST_MAX);
	int rc;

	for (size_t i = 0; i < k->n; i++)
		buf_addf(&names, "%s\n", k->commits[i].oid);
	rc = odb_read(&k->git, buf_str(&names), &texts, k->stop, err);
	buf_clear(&names);
	for (size_t i = 0; rc == 0 && i < k->n; i++) {
		struct old_commit *c = &k->commits[i];
		struct str text = { c->text, c->text_len };
		struct str line = { text.ptr, str_find(text, '\n') };

		if (!str_starts(line, "tree ") ||
		    !copy_oid(c->tree, str_skip(line, 5)))
			rc = error_set(err, ERR_PROTOCOL,
				       "commit %s has no tree", c->oid);
		buf_addf(&names, "%s\n", c->tree);
	}
	if (rc == 0)
		rc = odb_read(&k->git, buf_str(&names), &trees, k->stop, err);
	buf_release(&names);
	return rc;
}

int rewrite_list(struct rewrite *k, struct error *err)
{
	char *most = xasprintf("--max-count=%" PRId64, k->r->most);
	const char *argv[] = { "rev-list", most, "--parents", k->user.head,
			       NULL };
	struct buf text = BUF_INIT(LIST_MAX);
	struct git_request r = { .argv = argv, .out = &text };
	int rc = git_run(&k->git, &r, k->stop, err);

	if (rc == 0)
		rc = parse_list(k, buf_str(&text), err);
	if (rc == 0)
		rc = read_texts(k, err);
	if (rc == 0)
		sort_commits(k);
	if (rc == 0 && k->n && k->commits[0].absent)
		rc = error_set(err, ERR_NOT_FOUND,
			       "the tree of commit %s is missing here",
			       k->commits[0].oid);
	free(most);
	buf_release(&text);
	return rc;
}

/* rewrite_read.c - reads the user's last commits and filters what is sent. */
/* SPDX-License-Identifier: MIT */
/*
 * Four git commands are used: rev-list for the commits and their parents,
 * cat-file for their texts (and which trees exist), diff-tree for the changes
 * against the first parent, and cat-file for the blobs. Paths that are never
 * sent are removed from the changes, with the rules of select.c. Blobs that
 * contain a secret or are too large are marked. The commits are ordered so that
 * parents come before children.
 *
 * All counts are limited, because a hostile repository may have endless trees.
 */
#include "worktree/rewrite_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/str.h"
#include "worktree/name.h"
#include "worktree/odb.h"

enum {
	LIST_MAX = 256 << 20,  /* bytes of ids */
	TEXT_MAX = 4 << 20,    /* bytes of one commit */
	TEXTS_MAX = 512 << 20, /* bytes of all commits */
	CHANGES_MAX = 2000000,
	PATHS_MAX = 256 << 20,
	HELD_MAX = 1 << 20, /* bytes of one change */
	NAMES_MAX = 512 << 20,
	SHA1_DIGITS = 40,
	DIFF_MS = 3600000,
	DIFF_DATA = 1 << 30, /* memory limit of git in bytes */
};

static bool copy_oid(char out[GIT_OID], struct str s)
{
	if (s.len != 40 && s.len != 64)
		return false;
	snprintf(out, GIT_OID, "%.*s", (int)s.len, s.ptr);
	return true;
}

struct commit_id {
	const char *oid;
	size_t i;
};

static int compare_oids(const void *a, const void *b)
{
	return strcmp(((const struct commit_id *)a)->oid,
		      ((const struct commit_id *)b)->oid);
}

/* Finds the indexes of a commit's parents. Parents outside of the list are cut
 * off. */
static void find_parents(struct rewrite *k, const struct commit_id *sorted,
			 struct old_commit *c, struct str rest)
{
	struct str one;

	c->parents = k->n_parents;
	while (str_split(&rest, ' ', &one)) {
		char oid[GIT_OID];
		struct commit_id key = { .oid = oid };
		const struct commit_id *found = NULL;

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

/* Parses one line per commit: its id and those of its parents. */
static int parse_list(struct rewrite *k, struct str text, struct error *err)
{
	struct str rest = text;
	struct str line;
	struct commit_id *sorted;
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
					 "unexpected output of git rev-list");
		}
		sorted[i] = (struct commit_id){ k->commits[i].oid, i };
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

/* Sets *p to the next parent that was not visited yet. False: there is none. */
static bool next_parent(struct rewrite *k, struct old_commit *c, size_t *p)
{
	while (c->visited < c->n_parents) {
		*p = k->parents[c->parents + c->visited++];
		if (!k->commits[*p].reached)
			return true;
	}
	return false;
}

/* Orders commits depth first, so that parents come before children. rev-list
 * orders by date, and a parent may have a later date than its child. */
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

/* An odb_reader callback: begins the text of a commit. */
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

static int add_text(void *arg, struct str bytes, struct error *err)
{
	struct text_run *r = arg;
	struct old_commit *c = &r->k->commits[r->i];

	(void)err;
	memcpy(c->text + c->text_len, bytes.ptr, bytes.len);
	c->text_len += bytes.len;
	return 0;
}

/* An odb_reader callback: if a partial clone lacks a commit's tree, the commit
 * is cut off. */
static int note_tree(void *arg, const struct odb_object *o, struct error *err)
{
	struct text_run *r = arg;

	(void)err;
	r->k->commits[o->i].absent = strcmp(o->type, "tree") != 0;
	return 0;
}

/* Reads the texts of all commits, and checks which of their trees exist. */
static int read_texts(struct rewrite *k, struct error *err)
{
	struct text_run r = { .k = k };
	struct odb_reader texts = { begin_text, add_text, .arg = &r };
	struct odb_reader trees = { .begin = note_tree, .arg = &r };
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

static int list_commits(struct rewrite *k, struct error *err)
{
	char *most = xasprintf("--max-count=%" PRId64, k->most);
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

const struct old_commit *rewrite_parent(const struct rewrite *k,
					const struct old_commit *c)
{
	for (size_t i = 0; i < c->n_parents; i++) {
		const struct old_commit *p =
			&k->commits[k->parents[c->parents + i]];

		if (!p->absent)
			return p;
	}
	return NULL;
}

static bool is_included(const struct rewrite *k, const char *path)
{
	for (size_t i = 0; i < k->n_include; i++)
		if (glob_match(k->globs[i], str_of(path)))
			return true;
	return false;
}

/* Returns why a path is never sent, whatever its content; else NULL. *asked: an
 * --include pattern matches the path. */
static const char *refuse_path(const struct rewrite *k, const char *path,
			       unsigned mode, bool *asked)
{
	struct str none = { "", 0 };
	const char *why = name_refuse(str_of(path), mode);

	*asked = false;
	if (!why && select_is_own(k->w, path))
		why = "is dcode's own";
	if (!why)
		*asked = is_included(k, path);
	if (!why && !*asked)
		why = select_secret(path, 0, none);
	return why;
}

/* Converts modes of old trees, such as 0100664, to git's current ones. */
static unsigned plain_mode(unsigned mode)
{
	if (S_ISREG(mode))
		return mode & S_IXUSR ? NAME_PROGRAM : NAME_FILE;
	return mode;
}

/* Parser for diff-tree --stdin: for each commit a line with two trees, then its
 * changes. */
struct diff_run {
	struct rewrite *k;
	struct buf held;
	size_t next;           /* position in order of the next commit */
	struct old_commit *at; /* commit whose changes are being read */
	size_t cap;
	size_t cap_blobs;
};

static void add_blob(struct diff_run *d, struct str oid)
{
	struct rewrite *k = d->k;

	if (k->n_blobs == d->cap_blobs) {
		d->cap_blobs = d->cap_blobs ? d->cap_blobs * 2 : 1024;
		k->blobs = xrealloc(k->blobs, d->cap_blobs, sizeof(*k->blobs));
	}
	k->blobs[k->n_blobs] = (struct old_blob){ .is_missing = false };
	snprintf(k->blobs[k->n_blobs++].oid, GIT_OID, "%.*s", (int)oid.len,
		 oid.ptr);
}

static bool is_oid(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!memchr("0123456789abcdef", s.ptr[i], 16))
			return false;
	return s.len == SHA1_DIGITS;
}

/* Parses ":OLDMODE NEWMODE OLDOID NEWOID STATUS" and a path. */
static int add_change(struct diff_run *d, const char *head, const char *path,
		      struct error *err)
{
	struct rewrite *k = d->k;
	struct str rest = str_of(head);
	struct str part[5];
	struct tree_change *one;
	unsigned mode;
	bool asked = false;

	for (int i = 0; i < 5; i++)
		if (!str_split(&rest, ' ', &part[i]) ||
		    (i == 3 && !is_oid(part[i])))
			return error_set(err, ERR_PROTOCOL,
					 "unexpected output of git diff-tree");
	mode = plain_mode((unsigned)strtoul(part[1].ptr, NULL, 8));
	if (mode)
		bare_repo_add(&k->bare, str_of(path));
	if (refuse_path(k, path, mode ? mode : NAME_FILE, &asked)) {
		/* An entry that is refused (a submodule) may have replaced a
		 * file, which is then deleted. */
		if (!mode || name_refuse(str_of(path), NAME_FILE))
			return 0;
		mode = 0;
	}
	if (k->n_changes == CHANGES_MAX)
		return error_set(err, ERR_LIMIT,
				 "the commits change more than"
				 " %d files",
				 CHANGES_MAX);
	if (k->n_changes == d->cap) {
		d->cap = d->cap ? d->cap * 2 : 1024;
		k->changes = xrealloc(k->changes, d->cap, sizeof(*k->changes));
	}
	one = &k->changes[k->n_changes++];
	*one = (struct tree_change){ .path = k->paths.len,
				     .blob = k->n_blobs,
				     .mode = mode,
				     .asked = asked };
	buf_add(&k->paths, path, strlen(path) + 1);
	if (mode)
		add_blob(d, part[3]);
	d->at->n_changes++;
	return buf_check(&k->paths, "the names in the commits", err);
}

static int begin_commit(struct diff_run *d, struct error *err)
{
	struct rewrite *k = d->k;

	while (d->next < k->n && k->commits[k->order[d->next]].absent)
		d->next++;
	if (d->next == k->n)
		return error_set(
			err, ERR_PROTOCOL,
			"git diff-tree printed more commits than requested");
	d->at = &k->commits[k->order[d->next++]];
	d->at->changes = k->n_changes;
	return 0;
}

/* Parses the first record. Returns its length; 0: incomplete; -1. */
static int64_t parse_record(struct diff_run *d, char *text, size_t len,
			    struct error *err)
{
	char *end = memchr(text, text[0] == ':' ? '\0' : '\n', len);
	char *path = end ? end + 1 : NULL;

	if (!end)
		return 0;
	if (text[0] != ':')
		return begin_commit(d, err) < 0 ? -1 : path - text;
	end = memchr(path, '\0', len - (size_t)(path - text));
	if (!end)
		return 0;
	if (!d->at)
		return error_set(
			err, ERR_PROTOCOL,
			"git diff-tree printed a change without a commit");
	if (add_change(d, text, path, err) < 0)
		return -1;
	return end + 1 - text;
}

static int parse_diff(void *arg, struct str chunk, struct error *err)
{
	struct diff_run *d = arg;
	size_t done = 0;
	int64_t n = 1;

	buf_addstr(&d->held, chunk);
	if (buf_check(&d->held, "a name", err) < 0)
		return -1;
	while (n > 0 && done < d->held.len) {
		n = parse_record(d, d->held.ptr + done, d->held.len - done,
				 err);
		done += n > 0 ? (size_t)n : 0;
	}
	buf_consume(&d->held, done);
	return n < 0 ? -1 : 0;
}

/* Runs diff-tree for all commits, parents first, each against its first
 * available parent. */
static int read_changes(struct rewrite *k, struct error *err)
{
	const char *argv[] = { "diff-tree",    "--stdin", "-r",
			       "-z",           "--raw",   "--no-renames",
			       "--full-index", NULL };
	struct diff_run d = { .k = k, .held = BUF_INIT(HELD_MAX) };
	struct buf pairs = BUF_INIT(NAMES_MAX);
	struct git_request r = { .argv = argv,
				 .sink = parse_diff,
				 .sink_arg = &d,
				 .timeout_ms = DIFF_MS,
				 .data_max = DIFF_DATA };
	int rc;

	for (size_t i = 0; i < k->n; i++) {
		const struct old_commit *c = &k->commits[k->order[i]];
		const struct old_commit *p = rewrite_parent(k, c);

		if (!c->absent)
			buf_addf(&pairs, "%s %s\n",
				 p ? p->tree : ODB_EMPTY_TREE, c->tree);
	}
	r.input = buf_str(&pairs);
	rc = git_run(&k->git, &r, k->stop, err);
	while (d.next < k->n && k->commits[k->order[d.next]].absent)
		d.next++;
	if (rc == 0 && (d.next < k->n || d.held.len))
		rc = error_set(
			err, ERR_PROTOCOL,
			"git diff-tree printed fewer commits than requested");
	buf_release(&pairs);
	buf_release(&d.held);
	return rc;
}

static int compare_blobs(const void *a, const void *b)
{
	return strcmp(((const struct old_blob *)a)->oid,
		      ((const struct old_blob *)b)->oid);
}

/* Makes the list of blobs unique and updates the indexes in the changes. */
static void unite_blobs(struct rewrite *k)
{
	struct old_blob *all = k->blobs;
	size_t n = 0;

	if (!k->n_blobs)
		return;
	k->blobs = xcalloc(k->n_blobs, sizeof(*all));
	memcpy(k->blobs, all, k->n_blobs * sizeof(*all));
	qsort(k->blobs, k->n_blobs, sizeof(*all), compare_blobs);
	for (size_t i = 0; i < k->n_blobs; i++)
		if (!n || strcmp(k->blobs[n - 1].oid, k->blobs[i].oid) != 0)
			k->blobs[n++] = k->blobs[i];
	k->n_blobs = n;
	for (size_t i = 0; i < k->n_changes; i++) {
		struct tree_change *c = &k->changes[i];
		const struct old_blob *b;

		if (!c->mode)
			continue;
		b = bsearch(&all[c->blob], k->blobs, n, sizeof(*all),
			    compare_blobs);
		c->blob = b ? (size_t)(b - k->blobs) : 0;
	}
	free(all);
}

struct check_run {
	struct rewrite *k;
	size_t *which; /* indexes of the requested blobs */
	size_t n;
	size_t at;
	struct buf head;
};

/* An odb_reader callback that receives only sizes. */
static int note_size(void *arg, const struct odb_object *o, struct error *err)
{
	struct rewrite *k = arg;
	struct old_blob *b = &k->blobs[o->i];
	struct str none = { "", 0 };

	(void)err;
	b->is_missing = strcmp(o->type, "blob") != 0;
	b->is_secret = o->size > 0 && select_secret("x", o->size, none);
	k->missing += b->is_missing;
	return 0;
}

static void end_content(struct check_run *c)
{
	struct old_blob *b = &c->k->blobs[c->which[c->at]];

	b->is_secret = select_secret("x", 0, buf_str(&c->head)) != NULL;
	buf_clear(&c->head);
}

static int begin_content(void *arg, const struct odb_object *o,
			 struct error *err)
{
	struct check_run *c = arg;

	if (o->i)
		end_content(c);
	c->at = o->i;
	if (o->i >= c->n || strcmp(o->type, "blob") != 0)
		return error_set(err, ERR_PROTOCOL,
				 "git cat-file: an object disappeared");
	return 0;
}

static int add_content(void *arg, struct str bytes, struct error *err)
{
	struct check_run *c = arg;

	(void)err;
	buf_addstr(&c->head, bytes); /* a buf drops bytes beyond its max */
	return 0;
}

/* Reads all sizes, then the contents of the blobs that are small enough. */
static int check_blobs(struct rewrite *k, struct error *err)
{
	struct check_run c = { .k = k, .head = BUF_INIT(SELECT_HEAD) };
	struct odb_reader sizes = { .begin = note_size, .arg = k };
	struct odb_reader contents = { begin_content, add_content, .arg = &c };
	struct buf names = BUF_INIT(NAMES_MAX);
	int rc;

	for (size_t i = 0; i < k->n_blobs; i++)
		buf_addf(&names, "%s\n", k->blobs[i].oid);
	rc = odb_read(&k->git, buf_str(&names), &sizes, k->stop, err);
	buf_clear(&names);
	c.which = xcalloc(k->n_blobs + 1, sizeof(*c.which));
	for (size_t i = 0; i < k->n_blobs; i++) {
		if (k->blobs[i].is_missing || k->blobs[i].is_secret)
			continue;
		c.which[c.n++] = i;
		buf_addf(&names, "%s\n", k->blobs[i].oid);
	}
	if (rc == 0 && c.n)
		rc = odb_read(&k->git, buf_str(&names), &contents, k->stop,
			      err);
	if (rc == 0 && c.n)
		end_content(&c);
	free(c.which);
	buf_release(&c.head);
	buf_release(&names);
	return rc;
}

/* Removes bare repositories, as in the tree, unless an --include pattern names
 * the file or its directory. Several commits may have added the parts of
 * one. */
static void leave_repositories(struct rewrite *k)
{
	for (size_t i = 0; k->bare.n && i < k->n_changes; i++) {
		struct tree_change *c = &k->changes[i];
		const char *path = k->paths.ptr + c->path;
		int len = c->mode && !c->asked
				  ? bare_repo_find(&k->bare, NULL, path)
				  : 0;
		char *top;

		if (len <= 0)
			continue;
		top = xstrndup(path, (size_t)len - 1);
		if (!is_included(k, top))
			c->mode = 0;
		free(top);
	}
}

static int filter_changes(struct rewrite *k, struct error *err)
{
	k->paths = BUF_INIT(PATHS_MAX);
	if (read_changes(k, err) < 0)
		return -1;
	leave_repositories(k);
	unite_blobs(k);
	return check_blobs(k, err);
}

int rewrite_read(struct rewrite *k, struct error *err)
{
	if (list_commits(k, err) < 0)
		return -1;
	return filter_changes(k, err);
}

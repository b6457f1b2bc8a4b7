/* changes_select.c - dcode apply --patch, --interactive and --partial. */
/* SPDX-License-Identifier: MIT */

/*
 * These options replace or reduce the sandbox's changes before the merge.
 * --patch reads them from a file (changes_read_patch()). --interactive asks for
 * each file and hunk (changes_pick()). --partial leaves out files if a file or
 * directory of the user is in their way (changes_leave_out()). Each option
 * builds a tree in a separate index and sets ch->theirs to it. The merge itself
 * is the same.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/secret.h"
#include "cmd/session/changes.h"
#include "worktree/odb.h"

enum {
	PATCH_MAX = 512 << 20,
	INFO_MAX = 256 << 20, /* bytes of queued changes to one index */
};

#define NO_OID "0000000000000000000000000000000000000000"

/* Deletes the index file and its lock, in case a killed git has left them. */
void tree_index_init(struct tree_index *t, const struct git *g,
		     const char *directory, const char *name)
{
	char *lock; /* git refuses to run while it exists */

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

/* Queues a removal: git update-index --index-info removes paths with mode 0. */
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

/* Stores the tree in dcode's repository and returns its id. */
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

/* Sets theirs to the tree of the index: as a commit on the base or, for a
 * patch, which has no base, as a bare tree. */
static int set_their_tree(struct change_set *ch, struct tree_index *index,
			  const struct stop *stop, struct error *err)
{
	const struct workspace *w = ch->workspace;
	char tree[GIT_OID];
	const char *commit[] = { "commit-tree", tree,    "-p", w->base,
				 "-m",          "dcode", NULL };
	struct buf out = BUF_INIT(256);
	int rc = tree_index_update(index, stop, err);

	if (rc == 0)
		rc = tree_index_write(index, tree, stop, err);
	if (rc == 0 && !ch->given[CHANGES_PATCH])
		rc = git_ask(&w->git, commit, &out, stop, err);
	if (rc == 0)
		snprintf(ch->theirs, sizeof(ch->theirs), "%s",
			 ch->given[CHANGES_PATCH] ? tree : out.ptr);
	buf_release(&out);
	return rc;
}

/* Prepares paths that git apply --3way could not merge. base gets the version
 * that the patch expects (stage 1), theirs the patched version (stage 3), so
 * that the final merge finds the same conflicts. */
static int split_conflicts(struct tree_index *base, struct tree_index *theirs,
			   struct str unmerged, const struct stop *stop,
			   struct error *err)
{
	struct str entry;

	while (str_split(&unmerged, '\0', &entry)) {
		struct str info = { entry.ptr, str_find(entry, '\t') };
		struct str path = str_skip(entry, info.len + 1);
		struct str mode = { 0 }, oid = { 0 }, stage = { 0 };

		(void)(str_split(&info, ' ', &mode) &&
		       str_split(&info, ' ', &oid) &&
		       str_split(&info, ' ', &stage));
		tree_index_forget(base, path);
		tree_index_forget(theirs, path);
		if (str_is(stage, "1"))
			tree_index_set(base, mode, oid, path);
		if (str_is(stage, "3"))
			tree_index_set(theirs, mode, oid, path);
	}
	if (tree_index_update(base, stop, err) < 0)
		return -1;
	return tree_index_update(theirs, stop, err);
}

/* True if the input contains no patch. */
static bool is_empty(const struct git *g, struct str patch,
		     const struct stop *stop)
{
	const char *argv[] = { "apply", "--numstat", "--allow-empty", "-",
			       NULL };
	struct buf out = BUF_INIT(PATCH_MAX);
	struct git_request r = { .argv = argv, .input = patch, .out = &out };
	struct error ignored = { 0 };
	bool empty = git_run(g, &r, stop, &ignored) == 0 && !out.len;

	buf_release(&out);
	return empty;
}

/* Applies the patch to the index. left receives the unmerged entries (git
 * ls-files -u), which become conflicts. */
static int apply_patch(const struct git *g, struct str patch, struct buf *left,
		       const struct stop *stop, struct error *err)
{
	const char *argv[] = { "apply",
			       "--cached",
			       "--3way",
			       "--binary",
			       "--whitespace=nowarn",
			       "-",
			       NULL };
	const char *unmerged[] = { "ls-files", "-u", "-z", NULL };
	struct git_request r = { .argv = argv, .input = patch };
	struct git_request list = { .argv = unmerged, .out = left };
	struct error why = { 0 };

	if (git_run(g, &r, stop, err) == 0)
		return 0;
	if (git_run(g, &list, stop, &why) == 0 && left->len)
		return 0;
	if (is_empty(g, patch, stop))
		return error_set(err, ERR_USAGE, "the input contains no patch");
	return error_wrap(err, "the patch does not apply here");
}

/* Reads all of standard input. */
static int read_stdin(struct buf *patch, const struct stop *stop,
		      struct error *err)
{
	char chunk[65536];

	for (;;) {
		struct pollfd set[2] = {
			{ .fd = STDIN_FILENO, .events = POLLIN },
			{ .fd = stop_fd(stop), .events = POLLIN }
		};
		ssize_t n;

		if (poll(set, 2, stop_poll_ms(stop, -1)) < 0 && errno != EINTR)
			return error_errno(err, "reading standard input");
		if (stop_check(stop, err) < 0)
			return -1;
		if (!set[0].revents)
			continue;
		n = read(STDIN_FILENO, chunk, sizeof(chunk));
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return error_errno(err, "reading standard input");
		if (n == 0)
			return buf_check(patch, "the patch", err);
		if (n > 0)
			buf_add(patch, chunk, (size_t)n);
		if (patch->over)
			return buf_check(patch, "the patch", err);
	}
}

/* Sets base to the user's tree as the patch expects it, and theirs to that tree
 * with the patch applied. */
int changes_read_patch(struct change_merge *m, struct error *err)
{
	const struct workspace *w = m->changes->workspace;
	const char *file = m->changes->given[CHANGES_PATCH];
	const struct stop *stop = m->stop;
	struct tree_index mine, theirs;
	struct buf patch = BUF_INIT(PATCH_MAX);
	struct buf left = BUF_INIT(64 << 20);
	int rc = strcmp(file, "-") != 0 ? path_read(file, &patch, err)
					: read_stdin(&patch, stop, err);

	tree_index_init(&mine, &w->git, w->directory, "patch.base");
	tree_index_init(&theirs, &w->git, w->directory, "patch.theirs");
	if (rc == 0)
		rc = tree_index_read(&mine, m->ours, stop, err);
	if (rc == 0)
		rc = tree_index_read(&theirs, m->ours, stop, err);
	if (rc == 0)
		rc = apply_patch(&theirs.git, buf_str(&patch), &left, stop,
				 err);
	if (rc == 0)
		rc = split_conflicts(&mine, &theirs, buf_str(&left), stop, err);
	if (rc == 0)
		rc = tree_index_write(&mine, m->base, stop, err);
	if (rc == 0)
		rc = tree_index_write(&theirs, m->changes->theirs, stop, err);
	tree_index_release(&mine);
	tree_index_release(&theirs);
	buf_release(&patch);
	buf_release(&left);
	return rc;
}

struct partial {
	struct change_set *changes;
	char **mine; /* paths that the user created or changed, sorted */
	size_t n_mine;
	size_t first; /* index in changes->left_out of the first path added
			 by this call */
	struct tree_index index;
};

/* Appends path to p->mine, which grows by doubling. */
static void add_user_path(struct partial *p, const char *path)
{
	if (!(p->n_mine & (p->n_mine - 1)))
		p->mine = xrealloc(p->mine, p->n_mine ? 2 * p->n_mine : 1,
				   sizeof(*p->mine));
	p->mine[p->n_mine++] = xstrdup(path);
}

/* odb_tree_diff() callback: records a path that the user created or changed
 * since the tree was sent. A deleted path cannot be in the way. */
static int add_user_change(void *arg, const struct odb_record *d,
			   struct error *err)
{
	struct partial *p = arg;

	(void)err;
	if (d->new_mode)
		add_user_path(p, d->path);
	return 0;
}

/* True if a directory above path is a file or link of the user. */
static bool is_below_user_path(const struct partial *p, const char *path)
{
	char *above = xstrdup(path);
	bool found = false;
	char *slash;

	while (!found && (slash = strrchr(above, '/'))) {
		const char *key = above;

		*slash = '\0';
		found = p->n_mine && bsearch(&key, p->mine, p->n_mine,
					     sizeof(*p->mine), str_compare);
	}
	free(above);
	return found;
}

static bool is_below(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	return !strncmp(path, directory, len) && path[len] == '/';
}

/* True if path is a directory in which the user created or changed files. */
static bool is_above_user_path(const struct partial *p, const char *path)
{
	for (size_t i = 0; i < p->n_mine; i++)
		if (is_below(p->mine[i], path))
			return true;
	return false;
}

/* True if the merge has found a file or directory of the user at path that was
 * never sent. */
static bool is_blocked(const struct partial *p, const char *path)
{
	const struct apply_result *r = &p->changes->result;

	for (size_t i = 0; i < r->n_blocked; i++)
		if (!strcmp(r->blocked[i], path))
			return true;
	return false;
}

/* True if path is below a path that was left out. Then the user's directory
 * stays whole. The diff lists the upper path first. */
static bool is_below_left_out(const struct partial *p, const char *path)
{
	const struct change_set *ch = p->changes;

	for (size_t i = p->first; i < ch->n_left_out; i++)
		if (is_below(path, ch->left_out[i]))
			return true;
	return false;
}

/* odb_tree_diff() callback: leaves out one change of the sandbox if a file,
 * link or directory of the user is in its way. */
static int check_change(void *arg, const struct odb_record *d,
			struct error *err)
{
	struct partial *p = arg;
	struct change_set *ch = p->changes;
	char mode[16];

	(void)err;
	if (!(d->new_mode &&
	      (is_above_user_path(p, d->path) || is_blocked(p, d->path))) &&
	    !is_below_user_path(p, d->path) && !is_below_left_out(p, d->path))
		return 0;
	apply_add_path(&ch->left_out, &ch->n_left_out, d->path);
	if (d->old_mode) {
		snprintf(mode, sizeof(mode), "%o", d->old_mode);
		tree_index_set(&p->index, str_of(mode), str_of(d->old_oid),
			       str_of(d->path));
	} else {
		tree_index_forget(&p->index, str_of(d->path));
	}
	return 0;
}

/* Sorts the user's paths for bsearch(). */
int changes_leave_out(struct change_merge *m, struct error *err)
{
	struct change_set *ch = m->changes;
	const struct workspace *w = ch->workspace;
	const struct stop *stop = m->stop;
	struct partial p = { .changes = ch, .first = ch->n_left_out };
	int rc;

	tree_index_init(&p.index, &w->git, w->directory, "partial.index");
	rc = odb_tree_diff(&w->git, m->base, m->ours,
			   &(struct odb_sink){ add_user_change, &p }, stop,
			   err);
	for (size_t i = 0; i < ch->result.n_blocked; i++)
		add_user_path(&p, ch->result.blocked[i]);
	if (rc == 0 && p.n_mine)
		qsort(p.mine, p.n_mine, sizeof(*p.mine), str_compare);
	if (rc == 0)
		rc = tree_index_read(&p.index, ch->theirs, stop, err);
	if (rc == 0)
		rc = odb_tree_diff(&w->git, m->base, ch->theirs,
				   &(struct odb_sink){ check_change, &p }, stop,
				   err);
	if (rc == 0 && ch->n_left_out > p.first)
		rc = set_their_tree(ch, &p.index, stop, err) < 0 ? -1 : 1;
	tree_index_release(&p.index);
	for (size_t i = 0; i < p.n_mine; i++)
		free(p.mine[i]);
	free(p.mine);
	return rc;
}

enum {
	PICKED_MAX = 256 << 20, /* bytes of the patch shown to the user */
	SHOWN_BYTES = 1 << 20,
	HEADER_PARTS = 2, /* parts of a header: before and after the lines that
			     change the mode */
};

struct picked_file {
	struct str text;
	struct str name;
	size_t group; /* index of the first file that can only be accepted
			 together with this one; else its own */
};

struct picking {
	struct change_set *changes;
	const struct stop *stop;
	struct picked_file *files; /* owned */
	size_t n_files;
	struct buf picked; /* patch with the accepted changes */
	size_t taken;
	bool quit; /* the user quit: accept nothing more */
};

/* Cuts the text before the next line that starts with begins off *rest. The
 * first line of *rest does not count. */
static struct str cut_before(struct str *rest, const char *begins)
{
	struct str piece = { rest->ptr, rest->len };
	size_t at = 0;

	for (;;) {
		size_t line = str_find(str_skip(*rest, at), '\n') + 1;

		at += line;
		if (at >= rest->len)
			break;
		if (str_starts(str_skip(*rest, at), begins)) {
			piece.len = at;
			break;
		}
	}
	*rest = str_skip(*rest, piece.len);
	return piece;
}

/* Prints text from the sandbox with secrets masked and control characters
 * visible. */
static void show_text(const struct picking *p, struct str text)
{
	struct buf line = BUF_INIT(SHOWN_BYTES);

	app_clean(p->changes->app, CLEAN_NAMES, text, &line);
	fwrite(line.ptr ? line.ptr : "", 1, line.len, stderr);
	if (line.over)
		fputs("\n... (the rest is not shown)\n", stderr);
	buf_release(&line);
}

/* Reads a line and returns its first byte, 0 for an empty line. */
static int read_answer(const struct picking *p, char *answer, struct error *err)
{
	char c = 0;
	bool first = true;

	*answer = 0;
	while (c != '\n') {
		struct pollfd set[2] = {
			{ .fd = STDIN_FILENO, .events = POLLIN },
			{ .fd = stop_fd(p->stop), .events = POLLIN }
		};
		ssize_t n;

		if (poll(set, 2, -1) < 0 && errno != EINTR)
			return error_errno(err, "reading the answer");
		if (stop_check(p->stop, err) < 0)
			return -1;
		if (!set[0].revents)
			continue;
		n = io_read(STDIN_FILENO, &c, 1);
		if (n <= 0)
			return error_set(err, ERR_CANCELLED, "no answer");
		if (first && c != '\n')
			*answer = c;
		first = false;
	}
	return 0;
}

/* Asks until the answer is y, n, a, d or q. */
static int prompt_change(struct picking *p, const char *what, char *answer,
			 struct error *err)
{
	for (;;) {
		fprintf(stderr, "Apply this %s [y,n,a,d,q,?]? ", what);
		if (read_answer(p, answer, err) < 0)
			return -1;
		if (*answer && strchr("ynadq", *answer))
			return 0;
		fputs("y - apply it\nn - skip it\na - apply it and the rest of "
		      "this file\nd - skip it and the rest of this file\nq - "
		      "skip it and all the rest\n",
		      stderr);
	}
}

/* Adds an accepted hunk, "@@ -5,3 +6,4 @@". Its new line number depends on the
 * hunks accepted before, so it is computed again. */
static void add_hunk(struct picking *p, struct str hunk, long *shift)
{
	size_t end = str_find(hunk, '\n');
	char head[128];
	long old, old_n = 1, new_n = 1, at;
	char *s = head;

	snprintf(head, sizeof(head), "%.*s", (int)end, hunk.ptr);
	old = strtol(s + 4, &s, 10);
	if (*s == ',')
		old_n = strtol(s + 1, &s, 10);
	(void)strtol(s + 2, &s, 10);
	if (*s == ',')
		new_n = strtol(s + 1, &s, 10);
	at = old + *shift + (old_n == 0) - (new_n == 0);
	buf_addf(&p->picked, "@@ -%ld,%ld +%ld,%ld @@", old, old_n, at, new_n);
	buf_addstr(&p->picked, str_skip(hunk, end));
	*shift += new_n - old_n;
	p->taken++;
}

/* True for changes that cannot be split: binary files, modes, and new or
 * deleted files. */
static bool is_whole(struct str header, struct str hunks)
{
	return !hunks.len ||
	       str_search(header, STR("\nnew file mode ")) < header.len ||
	       str_search(header, STR("\ndeleted file mode ")) < header.len;
}

static bool is_taken(char answer)
{
	return answer == 'y' || answer == 'a';
}

/* Asks for each hunk of a file. Adds the file's header before the first
 * accepted hunk. answer is the user's answer to an earlier question about this
 * file: 'a' accepts and 'd' declines all remaining hunks. */
static int pick_hunks(struct picking *p, struct str hunks, char answer,
		      struct str *header, struct error *err)
{
	long shift = 0;

	while (hunks.len && answer != 'd' && !p->quit) {
		struct str hunk = cut_before(&hunks, "@@ ");

		if (answer != 'a') {
			show_text(p, hunk);
			if (prompt_change(p, "hunk", &answer, err) < 0)
				return -1;
		}
		p->quit = answer == 'q';
		if (!is_taken(answer))
			continue;
		for (int i = 0; i < HEADER_PARTS; i++)
			buf_addstr(&p->picked, header[i]);
		memset(header, 0, HEADER_PARTS * sizeof(*header));
		add_hunk(p, hunk, &shift);
	}
	return 0;
}

/* Asks for a mode change separately from the hunks. */
static int pick_parts(struct picking *p, struct str header, struct str hunks,
		      struct error *err)
{
	struct str rest = header;
	struct str parts[HEADER_PARTS] = { { 0 } };
	struct str mode;
	char answer = 0;

	parts[0] = cut_before(&rest, "old mode ");
	mode = cut_before(&rest, "index ");
	parts[1] = rest;
	show_text(p, header);
	if (mode.len && prompt_change(p, "mode change", &answer, err) < 0)
		return -1;
	p->quit = answer == 'q';
	if (is_taken(answer)) {
		buf_addstr(&p->picked, parts[0]);
		buf_addstr(&p->picked, mode);
		parts[0] = (struct str){ 0 };
		p->taken++;
	}
	return pick_hunks(p, hunks, answer, parts, err);
}

/* Asks once for changes that can only be accepted together, such as a file
 * replaced by a link, or by a directory with its files. */
static int pick_whole(struct picking *p, size_t from, size_t n,
		      struct error *err)
{
	struct picked_file *files = p->files;
	char answer = 0;
	char what[64];

	snprintf(what, sizeof(what), n > 1 ? "change to %zu paths" : "file", n);
	for (size_t i = from; i < p->n_files; i++)
		if (files[i].group == from)
			show_text(p, files[i].text);
	if (prompt_change(p, what, &answer, err) < 0)
		return -1;
	p->quit = answer == 'q';
	for (size_t i = from; is_taken(answer) && i < p->n_files; i++)
		if (files[i].group == from)
			buf_addstr(&p->picked, files[i].text);
	p->taken += is_taken(answer);
	return 0;
}

/* Asks about one file, together with its group. Skips a file that was handled
 * with its group before. */
static int pick_file(struct picking *p, size_t at, struct error *err)
{
	struct str rest = p->files[at].text;
	struct str header = cut_before(&rest, "@@ ");
	size_t n = 0;

	for (size_t i = at; i < p->n_files; i++)
		n += p->files[i].group == at;
	if (!n) /* handled with an earlier file of its group */
		return 0;
	return n > 1 || is_whole(header, rest)
		       ? pick_whole(p, at, n, err)
		       : pick_parts(p, header, rest, err);
}

/* Returns NAME of "diff --git a/NAME b/NAME", with git's quoting but without
 * the closing quote. */
static struct str read_name(struct str text)
{
	struct str line = { text.ptr, str_find(text, '\n') };
	struct str both = str_skip(line, strlen("diff --git "));
	bool quoted = str_starts(both, "\"");

	both.len = (both.len - 1) / 2 - quoted;
	return str_skip(both, strlen("a/") + quoted);
}

/* Adds a file of the patch. If a file became a link, the patch deletes the name
 * and then adds it: both get one group. */
static void add_file(struct picking *p, struct str text)
{
	struct picked_file *last, *f;

	if (p->n_files % 256 == 0)
		p->files =
			xrealloc(p->files, p->n_files + 256, sizeof(*p->files));
	f = &p->files[p->n_files];
	*f = (struct picked_file){ text, read_name(text), p->n_files };
	last = p->n_files++ ? f - 1 : NULL;
	if (last && last->name.len == f->name.len &&
	    !memcmp(last->name.ptr, f->name.ptr, f->name.len))
		f->group = last->group;
}

/* Compares names, which are not NUL-terminated. A prefix of another name sorts
 * first. */
static int by_name(const void *a, const void *b)
{
	const struct picked_file *x = *(const struct picked_file *const *)a;
	const struct picked_file *y = *(const struct picked_file *const *)b;
	size_t n = x->name.len < y->name.len ? x->name.len : y->name.len;
	int order = memcmp(x->name.ptr, y->name.ptr, n);

	return order ? order
		     : (x->name.len > y->name.len) -
			       (x->name.len < y->name.len);
}

/* Puts a file into the group of a changed path that is a directory above it:
 * there the sandbox replaced a directory with a file, or a file with a
 * directory. */
static void group_files(struct picking *p)
{
	const struct picked_file **order =
		xcalloc(p->n_files + 1, sizeof(struct picked_file *));

	for (size_t i = 0; i < p->n_files; i++)
		order[i] = &p->files[i];
	if (p->n_files)
		qsort(order, p->n_files, sizeof(struct picked_file *), by_name);
	for (size_t i = 0; i < p->n_files; i++) {
		struct picked_file *f = &p->files[i];
		struct picked_file above = *f;
		const struct picked_file *key = &above;

		for (above.name.len = 0; above.name.len < f->name.len;) {
			struct str rest = str_skip(f->name, above.name.len + 1);
			const struct picked_file **found;

			above.name.len += 1 + str_find(rest, '/');
			found = bsearch(&key, order, p->n_files,
					sizeof(struct picked_file *), by_name);
			if (found && (*found)->group < f->group)
				f->group = (*found)->group;
		}
	}
	free(order);
}

/* Sets theirs to the base plus the accepted changes. */
static int set_picked(struct picking *p, struct error *err)
{
	struct workspace *w = p->changes->workspace;
	const char *apply[] = { "apply", "--cached", "--whitespace=nowarn", "-",
				NULL };
	struct git_request r = { .argv = apply, .input = buf_str(&p->picked) };
	struct tree_index index;
	int rc;

	tree_index_init(&index, &w->git, w->directory, "pick.index");
	rc = tree_index_read(&index, w->base, p->stop, err);
	if (rc == 0)
		rc = git_run(&index.git, &r, p->stop, err);
	if (rc == 0)
		rc = set_their_tree(p->changes, &index, p->stop, err);
	tree_index_release(&index);
	return rc;
}

/* Splits the sandbox's diff into files and asks about each. */
int changes_pick(struct change_set *ch, const struct stop *stop,
		 struct error *err)
{
	const char *argv[] = { "diff-tree",    "-p",
			       "--binary",     "--full-index",
			       "--no-renames", ch->workspace->base,
			       ch->theirs,     NULL };
	struct picking p = { .changes = ch,
			     .stop = stop,
			     .picked = BUF_INIT(PICKED_MAX) };
	struct buf patch = BUF_INIT(PICKED_MAX);
	struct git_request r = { .argv = argv, .out = &patch };
	struct str rest;
	int rc;

	if (ch->app->unattended || !secret_terminal(ch->app)) {
		error_set(err, ERR_USAGE, "--interactive needs a terminal");
		return error_hint(err, "Without it, everything is applied.");
	}
	rc = git_run(&ch->workspace->git, &r, stop, err);
	rest = buf_str(&patch);
	while (rc == 0 && rest.len)
		add_file(&p, cut_before(&rest, "diff --git "));
	group_files(&p);
	for (size_t i = 0; rc == 0 && i < p.n_files && !p.quit; i++)
		rc = pick_file(&p, i, err);
	ch->none_picked = ch->nothing = !p.taken;
	if (rc == 0 && p.taken)
		rc = set_picked(&p, err);
	free(p.files);
	buf_release(&patch);
	buf_release(&p.picked);
	return rc;
}

/* bring_pick.c - dcode apply --interactive: which files and hunks come. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/visible.h"
#include "cmd/secret.h"
#include "cmd/session/bring.h"
#include "cmd/session/tree_index.h"

enum {
	PATCH_MAX = 256 << 20,
	SHOWN_BYTES = 1 << 20,
	HEADER_PARTS = 2, /* before and after a change of mode */
};

struct picked_file {
	struct str text;
	struct str name;
	size_t group; /* the first file that it comes with: itself, mostly */
};

struct picking {
	struct bring *bring;
	const struct stop *stop;
	struct picked_file *files; /* owned */
	size_t n_files;
	struct buf picked; /* a patch of what was taken */
	size_t taken;
	bool quit; /* nothing more is taken */
};

/* Up to the next line that begins so; from at least byte 1 on. */
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

static void show(const struct picking *p, struct str text)
{
	struct buf masked = BUF_INIT(PATCH_MAX);
	struct buf line = BUF_INIT(SHOWN_BYTES);

	mask_text(p->bring->app->mask, text, &masked);
	for (struct str rest = buf_str(&masked), one;
	     str_split(&rest, '\n', &one);) {
		visible_line(one, &line);
		buf_addc(&line, '\n');
	}
	fwrite(line.ptr ? line.ptr : "", 1, line.len, stderr);
	if (line.over)
		fputs("\n... (the rest is not shown)\n", stderr);
	buf_release(&masked);
	buf_release(&line);
}

/* One line of the user's; its first byte, 0 for an empty one. */
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

static int ask(struct picking *p, const char *what, char *answer,
	       struct error *err)
{
	for (;;) {
		fprintf(stderr, "Take this %s [y,n,a,d,q,?]? ", what);
		if (read_answer(p, answer, err) < 0)
			return -1;
		if (*answer && strchr("ynadq", *answer))
			return 0;
		fputs("y - take it\nn - leave it\n"
		      "a - take it and all that follows of this file\n"
		      "d - leave it and all that follows of this file\n"
		      "q - leave it and all that follows\n",
		      stderr);
	}
}

/* "@@ -5,3 +6,4 @@": the new start follows from what was taken before. */
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

/* Binary files, modes and whole files have no parts. */
static bool is_whole(struct str header, struct str hunks)
{
	return !hunks.len ||
	       str_search(header, STR("\nnew file mode ")) < header.len ||
	       str_search(header, STR("\ndeleted file mode ")) < header.len;
}

static bool takes(char answer)
{
	return answer == 'y' || answer == 'a';
}

static int pick_hunks(struct picking *p, struct str hunks, char answer,
		      struct str *header, struct error *err)
{
	long shift = 0;

	while (hunks.len && answer != 'd' && !p->quit) {
		struct str hunk = cut_before(&hunks, "@@ ");

		if (answer != 'a') {
			show(p, hunk);
			if (ask(p, "hunk", &answer, err) < 0)
				return -1;
		}
		p->quit = answer == 'q';
		if (!takes(answer))
			continue;
		for (int i = 0; i < HEADER_PARTS; i++)
			buf_addstr(&p->picked, header[i]);
		memset(header, 0, HEADER_PARTS * sizeof(*header));
		add_hunk(p, hunk, &shift);
	}
	return 0;
}

/* A mode that changes with the contents is asked for by itself. */
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
	show(p, header);
	if (mode.len && ask(p, "change of mode", &answer, err) < 0)
		return -1;
	p->quit = answer == 'q';
	if (takes(answer)) {
		buf_addstr(&p->picked, parts[0]);
		buf_addstr(&p->picked, mode);
		parts[0] = (struct str){ 0 };
		p->taken++;
	}
	return pick_hunks(p, hunks, answer, parts, err);
}

/* What comes as a whole, with what it cannot come without: a file that became
 * a link, or a directory with all in it. */
static int pick_whole(struct picking *p, size_t from, size_t n,
		      struct error *err)
{
	struct picked_file *files = p->files;
	char answer = 0;
	char what[64];

	snprintf(what, sizeof(what), n > 1 ? "change of %zu parts" : "file", n);
	for (size_t i = from; i < p->n_files; i++)
		if (files[i].group == from)
			show(p, files[i].text);
	if (ask(p, what, &answer, err) < 0)
		return -1;
	p->quit = answer == 'q';
	for (size_t i = from; takes(answer) && i < p->n_files; i++)
		if (files[i].group == from)
			buf_addstr(&p->picked, files[i].text);
	p->taken += takes(answer);
	return 0;
}

static int pick_file(struct picking *p, size_t at, struct error *err)
{
	struct str rest = p->files[at].text;
	struct str header = cut_before(&rest, "@@ ");
	size_t n = 0;

	for (size_t i = at; i < p->n_files; i++)
		n += p->files[i].group == at;
	if (!n) /* with an earlier one */
		return 0;
	return n > 1 || is_whole(header, rest)
		       ? pick_whole(p, at, n, err)
		       : pick_parts(p, header, rest, err);
}

/* The name of "diff --git a/NAME b/NAME", as git quotes it, without the quote
 * at its end. */
static struct str read_name(struct str text)
{
	struct str line = { text.ptr, str_find(text, '\n') };
	struct str both = str_skip(line, strlen("diff --git "));
	bool quoted = str_starts(both, "\"");

	both.len = (both.len - 1) / 2 - quoted;
	return str_skip(both, strlen("a/") + quoted);
}

/* A file that became a link is a deletion and an addition of one name. */
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

/* Those below a name come with the file that was there, or that is now. */
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

/* The base with what was taken, as a commit on it. */
static int make_theirs(struct picking *p, struct error *err)
{
	struct bring *b = p->bring;
	struct workspace *w = b->workspace;
	const char *apply[] = { "apply", "--cached", "--whitespace=nowarn", "-",
				NULL };
	char tree[GIT_OID];
	const char *commit[] = { "commit-tree", tree,    "-p", w->base,
				 "-m",          "dcode", NULL };
	struct git_request r = { .argv = apply, .input = buf_str(&p->picked) };
	struct buf out = BUF_INIT(256);
	struct tree_index index;
	int rc;

	tree_index_init(&index, &w->git, w->directory, "pick.index");
	rc = tree_index_read(&index, w->base, p->stop, err);
	if (rc == 0)
		rc = git_run(&index.git, &r, p->stop, err);
	if (rc == 0)
		rc = tree_index_write(&index, tree, p->stop, err);
	if (rc == 0)
		rc = git_ask(&w->git, commit, &out, p->stop, err);
	if (rc == 0)
		snprintf(b->theirs, sizeof(b->theirs), "%s", out.ptr);
	tree_index_release(&index);
	buf_release(&out);
	return rc;
}

int bring_pick(struct bring *b, const struct stop *stop, struct error *err)
{
	const char *argv[] = { "diff-tree",    "-p",
			       "--binary",     "--full-index",
			       "--no-renames", b->workspace->base,
			       b->theirs,      NULL };
	struct picking p = { .bring = b,
			     .stop = stop,
			     .picked = BUF_INIT(PATCH_MAX) };
	struct buf patch = BUF_INIT(PATCH_MAX);
	struct git_request r = { .argv = argv, .out = &patch };
	struct str rest;
	int rc;

	if (b->app->unattended || !secret_terminal(b->app)) {
		error_set(err, ERR_USAGE, "--interactive needs a terminal");
		return error_hint(err, "Without it, everything is applied.");
	}
	rc = git_run(&b->workspace->git, &r, stop, err);
	rest = buf_str(&patch);
	while (rc == 0 && rest.len)
		add_file(&p, cut_before(&rest, "diff --git "));
	group_files(&p);
	for (size_t i = 0; rc == 0 && i < p.n_files && !p.quit; i++)
		rc = pick_file(&p, i, err);
	b->none_picked = b->nothing = !p.taken;
	if (rc == 0 && p.taken)
		rc = make_theirs(&p, err);
	free(p.files);
	buf_release(&patch);
	buf_release(&p.picked);
	return rc;
}

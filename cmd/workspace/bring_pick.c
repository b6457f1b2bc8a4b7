/* bring_pick.c - dcode apply --interactive: which files and hunks come. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/visible.h"
#include "cmd/secret.h"
#include "cmd/workspace/bring.h"
#include "cmd/workspace/tree_index.h"

enum { PATCH_MAX = 256 << 20, SHOWN_BYTES = 1 << 20 };

struct picking {
	struct bring *bring;
	const struct stop *stop;
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
		n = read(STDIN_FILENO, &c, 1);
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

static int pick_file(struct picking *p, struct str file, struct error *err)
{
	struct str rest = file;
	struct str header = cut_before(&rest, "@@ ");
	bool whole = is_whole(header, rest);
	bool begun = false;
	long shift = 0;
	char answer = 0;

	show(p, whole ? file : header);
	if (whole) {
		if (ask(p, "file", &answer, err) < 0)
			return -1;
		p->quit = answer == 'q';
		if (answer == 'y' || answer == 'a') {
			buf_addstr(&p->picked, file);
			p->taken++;
		}
		return 0;
	}
	while (rest.len && answer != 'd' && !p->quit) {
		struct str hunk = cut_before(&rest, "@@ ");

		if (answer != 'a') {
			show(p, hunk);
			if (ask(p, "hunk", &answer, err) < 0)
				return -1;
		}
		p->quit = answer == 'q';
		if (answer != 'y' && answer != 'a')
			continue;
		if (!begun)
			buf_addstr(&p->picked, header);
		begun = true;
		add_hunk(p, hunk, &shift);
	}
	return 0;
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
		return error_hint(err, "Without it all is applied.");
	}
	rc = git_run(&b->workspace->git, &r, stop, err);
	rest = buf_str(&patch);
	while (rc == 0 && rest.len && !p.quit)
		rc = pick_file(&p, cut_before(&rest, "diff --git "), err);
	b->nothing = !p.taken;
	if (rc == 0 && p.taken)
		rc = make_theirs(&p, err);
	buf_release(&patch);
	buf_release(&p.picked);
	return rc;
}

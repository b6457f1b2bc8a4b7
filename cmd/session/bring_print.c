/* bring_print.c - tells what an apply did, to people and to programs. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/json.h"
#include "base/str.h"
#include "cmd/print.h"
#include "cmd/session/bring.h"

enum {
	SHOWN_MOST = 100, /* files that get a line; --json has all */
	PATH_BYTES = 1 << 14,
};

static void print_paths(const struct bring *b, char *const *list, size_t n,
			const char *after)
{
	for (size_t i = 0; i < n && i < SHOWN_MOST; i++)
		print_name(b->app, "  ", list[i], after);
	if (n > SHOWN_MOST)
		fprintf(stderr, "  ... and %zu more\n", n - SHOWN_MOST);
}

static void print_files(const struct bring *b)
{
	const struct apply_result *r = &b->result;

	for (size_t i = 0; i < r->n && i < SHOWN_MOST; i++) {
		const char before[] = { ' ', ' ', r->files[i].letter, ' ',
					'\0' };

		print_name(b->app, before, r->files[i].path,
			   r->files[i].unstaged ? "  (not staged)" : "");
	}
	if (r->n > SHOWN_MOST)
		fprintf(stderr, "  ... and %zu more\n", r->n - SHOWN_MOST);
	for (size_t i = 0; i < r->n; i++)
		if (r->files[i].secret)
			print_name(b->app, "Warning: ", r->files[i].path,
				   " contains a known secret");
}

static void print_conflicts(const struct bring *b)
{
	const struct merge *m = &b->result.merge;

	fprintf(stderr, "%zu conflict%s:\n", m->n, m->n == 1 ? "" : "s");
	for (size_t i = 0; i < m->n && i < SHOWN_MOST; i++) {
		char kind[80];

		snprintf(kind, sizeof(kind), "  (%s)", m->conflicts[i].kind);
		print_name(b->app, "  ", m->conflicts[i].path, kind);
	}
	if (m->n > SHOWN_MOST)
		fprintf(stderr, "  ... and %zu more\n", m->n - SHOWN_MOST);
}

static void print_hint(const struct bring *b)
{
	const struct apply_result *r = &b->result;

	const char *line = NULL;

	if (r->merge.unwritable)
		line = "Nothing was written: a file and a directory have the "
		       "same name. Move one away and apply again; dcode apply "
		       "--partial applies the rest.";
	else if (r->n_blocked)
		line = "Nothing was written. Move them away and apply again; "
		       "dcode apply --partial applies the rest.";
	else if (r->n_changed)
		line = "Nothing was written. Apply again.";
	else if (b->options.branch && r->merge.n)
		line = "No commit was made. dcode apply --conflicts writes "
		       "them to the working tree.";
	else if (r->merge.n && !r->applied)
		line = "Nothing was written. dcode apply --conflicts writes "
		       "them with markers.";
	if (line)
		app_print_advice(b->app, line);
}

static void print_undo(const struct bring *b)
{
	const struct apply_result *r = &b->result;

	if (r->n_changed) {
		fprintf(stderr, "Changed since then, so not undone:\n");
		print_paths(b, r->changed, r->n_changed, "");
		app_print_advice(
			b->app, "dcode apply --undo --force undoes them, too.");
	}
	if (r->index_changed)
		app_print_advice(b->app, "The index changed since then, so it "
					 "is left as it is: dcode apply --undo "
					 "--force unstages what was applied.");
	if (r->applied && r->n) {
		fprintf(stderr, "Undone: %zu file%s\n", r->n,
			r->n == 1 ? "" : "s");
		print_files(b);
	} else if (r->applied) {
		fputs(r->unstaged ? "Unstaged what was applied.\n"
				  : "Undone: an apply that wrote no file.\n",
		      stderr);
	}
}

static void print_left_out(const struct bring *b)
{
	if (!b->n_left_out)
		return;
	app_print_advice(b->app,
			 b->options.branch
				 ? "Not on the branch, because they are in "
				   "submodules; dcode apply writes them:"
				 : "Left out, because a file or directory of "
				   "yours is in the way:");
	print_paths(b, b->left_out, b->n_left_out, "");
}

/* Conflicts that no markers can show. */
static void print_kept(const struct bring *b)
{
	const struct apply_result *r = &b->result;

	if (!r->applied || !r->n_kept)
		return;
	app_print_advice(b->app, "Your version stays. The sandbox's version is "
				 "only in the sandbox (dcode diff shows it):");
	print_paths(b, r->kept, r->n_kept, "");
}

void bring_print(const struct bring *b, bool undo)
{
	const struct apply_result *r = &b->result;

	if (undo) {
		print_undo(b);
		return;
	}
	if (b->nothing || (!r->n && !r->merge.n && !r->n_blocked &&
			   !r->n_changed && !b->commit[0])) {
		fputs(b->none_picked  ? "Nothing was chosen.\n"
		      : b->n_left_out ? "Nothing else to apply.\n"
				      : "Nothing to apply: you already have "
					"the sandbox's changes.\n",
		      stderr);
		print_left_out(b);
		return;
	}
	if (b->commit[0])
		fprintf(stderr, "Made commit %.12s on branch %s:\n", b->commit,
			b->options.branch);
	else if (r->applied && r->n)
		fprintf(stderr, "Applied %zu file%s:\n", r->n,
			r->n == 1 ? "" : "s");
	if (r->applied || b->commit[0])
		print_files(b);
	print_left_out(b);
	if (r->merge.n)
		print_conflicts(b);
	print_kept(b);
	if (r->n_blocked) {
		fputs("In the way, and never sent to the sandbox:\n", stderr);
		print_paths(b, r->blocked, r->n_blocked, "");
	}
	if (!r->applied && r->n_changed) {
		fputs("Changed during the merge:\n", stderr);
		print_paths(b, r->changed, r->n_changed, "");
	}
	print_hint(b);
	if (r->applied)
		app_print_advice(b->app, "dcode apply --undo undoes it.");
}

static void add_list(const struct bring *b, struct buf *out, const char *key,
		     char *const *list, size_t n)
{
	buf_addf(out, ",\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		buf_adds(out, i ? ",{" : "{");
		print_add_member(b->app, out, "path", list[i]);
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
}

static const char *status_of(const struct bring *b, bool undo)
{
	const struct apply_result *r = &b->result;

	if (undo)
		return r->applied ? r->n_changed || r->index_changed ? "partly"
								     : "undone"
				  : "left";
	if (b->commit[0])
		return "committed";
	if (r->applied)
		return r->merge.n ? "conflicts_written" : "applied";
	if (r->merge.n)
		return "conflicts";
	if (r->n_blocked || r->n_changed)
		return "blocked";
	return "nothing";
}

void bring_json(const struct bring *b, bool undo, struct buf *out)
{
	const struct apply_result *r = &b->result;

	json_member(out, "status", str_of(status_of(b, undo)));
	if (b->commit[0]) {
		buf_addc(out, ',');
		json_member(out, "branch", str_of(b->options.branch));
		buf_addc(out, ',');
		json_member(out, "commit", str_of(b->commit));
	}
	buf_adds(out, ",\"files\":[");
	for (size_t i = 0; i < r->n; i++) {
		const char letter[] = { r->files[i].letter, '\0' };

		buf_adds(out, i ? ",{" : "{");
		print_add_member(b->app, out, "path", r->files[i].path);
		buf_addc(out, ',');
		json_member(out, "change", str_of(letter));
		if (r->files[i].unstaged)
			buf_adds(out, ",\"unstaged\":true");
		buf_adds(out, r->files[i].secret ? ",\"secret\":true}" : "}");
	}
	buf_adds(out, "],\"conflicts\":[");
	for (size_t i = 0; i < r->merge.n; i++) {
		buf_adds(out, i ? ",{" : "{");
		print_add_member(b->app, out, "path",
				 r->merge.conflicts[i].path);
		buf_addc(out, ',');
		json_member(out, "kind", str_of(r->merge.conflicts[i].kind));
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
	add_list(b, out, "in_the_way", r->blocked, r->n_blocked);
	add_list(b, out, "changed", r->changed, r->n_changed);
	add_list(b, out, "left_out", b->left_out, b->n_left_out);
	add_list(b, out, "kept", r->kept, r->applied ? r->n_kept : 0);
}

/* diff.c - dcode diff: what changed in the sandbox, as a git patch. */
/* SPDX-License-Identifier: MIT */
/* tree_session.c finds the sandbox and fetches its changes. Then print_diff()
 * prints them: for a terminal with diffview.h, otherwise with patch_write()
 * (src/worktree/patch.c), which makes a patch that git can apply. */
#include "base/diff.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/str.h"
#include "cmd/appearance.h"
#include "cmd/command.h"
#include "cmd/commands/tree_session.h"
#include "cmd/print.h"
#include "cmd/session/options.h"
#include "markup/diffview.h"
#include "worktree/checkpoint.h"
#include "worktree/patch.h"
#include "worktree/tree_watch.h"

enum {
	LINE_MAX_BYTES = 1 << 20,
	JSON_MAX = 64 << 20,
	HIDDEN_MAX = 16 << 20,
};

struct diff {
	struct app *app;
	const struct args *args;
	struct tree_session tree;
	char before[GIT_OID]; /* the commit to compare with */
	struct fetch fetch;
	struct review review;
	/* stdout is a terminal: masks secrets and makes control characters
	 * visible. draws: also draws the patch, with colours unless the theme
	 * is none. */
	bool terminal, draws;
	struct theme theme;
	struct diffview_stream view;
	struct rows rows; /* drawn, but not printed yet */
	struct mask_stream stream;
	struct buf masked; /* masked text that is not printed yet, because its
			      line is incomplete */
	int64_t turn;      /* show what this turn changed; 0: all changes */
	size_t n_here;     /* changed files, if tools run on this machine */
};

/* Prints the rows that are drawn. */
static void print_rows(struct diff *d)
{
	for (size_t i = 0; i < d->rows.n; i++) {
		struct buf shown = BUF_INIT(8 * LINE_MAX_BYTES);

		if (d->theme.name == THEME_NONE)
			buf_addstr(&shown, rows_view(&d->rows, i).bytes);
		else
			theme_row(&d->theme, &d->rows, i, SIZE_MAX, &shown);
		buf_addc(&shown, '\n');
		fwrite(shown.ptr, 1, shown.len, stdout);
		buf_release(&shown);
	}
	rows_clear(&d->rows);
}

static void print_line_of(struct diff *d, struct str line)
{
	struct buf shown = BUF_INIT(4 * LINE_MAX_BYTES);

	if (d->draws) {
		diffview_line(&d->view, line, &d->rows);
		print_rows(d);
		return;
	}
	visible_line(line, &shown);
	printf("%s\n", shown.len ? shown.ptr : "");
	buf_release(&shown);
}

/* Masks a piece of the patch and prints the lines that are complete now. last:
 * also prints the rest without a newline. */
static int print_piece(struct diff *d, struct str piece, bool last,
		       struct error *err)
{
	struct str rest;
	size_t done = 0;

	mask_pass(mask_values(d->app->mask), &d->stream, piece, last,
		  &d->masked);
	rest = buf_str(&d->masked);
	for (;;) {
		size_t end = str_find(rest, '\n');

		if (end == rest.len && !(last && rest.len) &&
		    rest.len < LINE_MAX_BYTES)
			break;
		print_line_of(d, (struct str){ rest.ptr, end });
		done += end < rest.len ? end + 1 : end;
		rest = str_skip(rest, end + 1);
		if (!rest.len)
			break;
	}
	buf_consume(&d->masked, done);
	return ferror(stdout) ? error_errno(err, "writing standard output") : 0;
}

/* patch_output callback: receives the patch from git. On a terminal it is
 * masked; otherwise it is written unchanged. */
static int on_bytes(void *arg, struct str bytes, struct error *err)
{
	struct diff *d = arg;

	if (d->terminal)
		return print_piece(d, bytes, false, err);
	if (fwrite(bytes.ptr, 1, bytes.len, stdout) != bytes.len)
		return error_errno(err, "writing standard output");
	return 0;
}

/* Runs git diff with the option form: --stat, --name-only, or --patch for a
 * terminal. */
static int print_form(struct diff *d, const char *form, const struct stop *stop,
		      struct error *err)
{
	struct tree_session *t = &d->tree;
	const char *const argv[] = { "diff",          "-M", form, d->before,
				     d->fetch.theirs, "--", NULL };
	const struct git_request r = { .argv = argv,
				       .sink = on_bytes,
				       .sink_arg = d };

	return git_run(&t->workspace.git, &r, stop, err);
}

static void load_theme(struct diff *d)
{
	const struct app_terminal *screen = d->app->terminal;
	const char *term = getenv("TERM");

	if (screen)
		d->theme = *screen->theme;
	else
		appearance_load(d->app, &d->theme, NULL);
	d->theme.links = false;
	if (!d->terminal || (term && !strcmp(term, "dumb")))
		theme_choose(&d->theme, THEME_NONE);
}

/* Draws the patch for a terminal. A line longer than the terminal is wrapped by
 * the terminal, so that it can be copied. */
static int draw_diff(struct diff *d, const struct stop *stop, struct error *err)
{
	const struct diffview look = { .theme = &d->theme,
				       .columns = SIZE_MAX,
				       .numbers = true };
	int rc;

	load_theme(d);
	d->draws = true;
	diffview_begin(&d->view, &look);
	rc = print_form(d, "--patch", stop, err);
	if (rc == 0)
		rc = print_piece(d, (struct str){ 0 }, true, err);
	diffview_end(&d->view, &d->rows);
	print_rows(d);
	rows_release(&d->rows);
	d->draws = false;
	return rc;
}

/* Prints the changes in the requested form. If stdout is not a terminal, the
 * patch is neither masked nor coloured, so that it can be applied. */
static int print_diff(struct diff *d, const struct stop *stop,
		      struct error *err)
{
	const struct patch_output to = { on_bytes, d };
	const struct workspace *w = &d->tree.workspace;
	int rc;

	if (args_flag(d->args, "stat"))
		rc = print_form(d, "--stat", stop, err);
	else if (args_flag(d->args, "name-only"))
		rc = print_form(d, "--name-only", stop, err);
	else if (d->terminal)
		rc = draw_diff(d, stop, err);
	else
		rc = patch_write(&w->git, d->before, d->fetch.theirs, &to, stop,
				 err);
	if (rc == 0 && d->terminal)
		rc = print_piece(d, (struct str){ 0 }, true, err);
	if (rc == 0 && fflush(stdout) != 0)
		rc = error_errno(err, "writing standard output");
	return rc;
}

static void print_json(struct diff *d)
{
	const struct review *v = &d->review;
	struct buf out = BUF_INIT(JSON_MAX);

	buf_addc(&out, '{');
	print_add_member(d->app, &out, "thread", d->tree.thread);
	buf_addc(&out, ',');
	json_member(&out, "sandbox", str_of(d->tree.workspace.label));
	buf_addf(&out, ",\"live\":%s,\"files\":[",
		 d->tree.sandbox ? "true" : "false");
	for (size_t i = 0; i < v->n; i++) {
		const struct review_file *f = &v->files[i];
		const char status[2] = { f->status };

		buf_adds(&out, i ? ",{" : "{");
		print_add_member(d->app, &out, "path", f->path);
		buf_addc(&out, ',');
		json_member(&out, "status", str_of(status));
		buf_addc(&out, ',');
		if (f->from)
			print_add_member(d->app, &out, "from", f->from);
		else
			buf_adds(&out, "\"from\":null");
		buf_adds(&out, ",\"look\":");
		if (f->loud)
			json_quote(&out, str_of(f->loud));
		else
			buf_adds(&out, "null");
		buf_addc(&out, '}');
	}
	buf_adds(&out, "],");
	tree_json(d->app, &d->fetch, &out);
	buf_addc(&out, '}');
	app_envelope("diff", &out);
	buf_release(&out);
}

/* Finds the states before and after a turn, without a request. */
static int find_turn(struct diff *d, const struct stop *stop, struct error *err)
{
	const struct tree_session *t = &d->tree;
	const struct checkpoint_turn turn = { t->thread, d->turn };
	struct checkpoints all = { 0 };
	const char *before;
	const char *after;
	int rc = 0;

	if (t->sandbox) /* the last turn may still be stored */
		rc = background_wait(t->sandbox->background, stop, err);
	if (rc == 0)
		rc = checkpoints_read(&all, &t->workspace, stop, err);
	if (rc == 0 && checkpoint_of_turn(&all, &turn, &before, &after)) {
		memcpy(d->before, before, sizeof(d->before));
		memcpy(d->fetch.theirs, after, sizeof(d->fetch.theirs));
	} else if (rc == 0) {
		rc = error_set(err, ERR_NOT_FOUND,
			       "no changes of turn %" PRId64 " are stored: it "
			       "changed no files, or is too long ago",
			       d->turn);
	}
	checkpoints_release(&all);
	return rc;
}

/* Fetches the sandbox's state and lists the changed files. */
static int read_changes(struct diff *d, const struct stop *stop,
			struct error *err)
{
	struct fetch_request with = { 0 };
	struct protect protect = { 0 };
	const char **include =
		include_read(d->app, d->args, &with.n_include, err);
	int rc = include ? 0 : -1;

	with.include = include;
	if (rc == 0)
		rc = tree_open(&d->tree, d->app,
			       d->args->argc ? d->args->argv[0] : NULL, stop,
			       err);
	if (rc == 0 && d->turn)
		rc = find_turn(d, stop, err);
	else if (rc == 0)
		rc = tree_fetch(&d->tree, d->app, &with, &d->fetch, stop, err);
	if (rc == 0)
		rc = protect_load(&protect, d->app->settings, err);
	free(include);
	if (rc < 0)
		return -1;
	if (!d->turn)
		memcpy(d->before, d->tree.workspace.base, sizeof(d->before));
	d->review.protect = &protect;
	rc = review_read(&d->review, &d->tree.workspace.git, d->before,
			 d->fetch.theirs, stop, err);
	d->review.protect = NULL;
	return rc;
}

static int check_forms(struct diff *d, struct error *err)
{
	const struct args *args = d->args;
	const char *turn = args_value(args, "turn");

	if (turn && (!str_to_int(str_of(turn), &d->turn) || d->turn < 1))
		return error_set(err, ERR_USAGE,
				 "--turn: not the number of a turn: '%s'",
				 turn);
	if (!args_flag(args, "stat") || !args_flag(args, "name-only"))
		return 0;
	return error_set(err, ERR_USAGE,
			 "--stat cannot be combined with --name-only");
}

/* Copies a text without secrets. Returns false for a binary one. */
static bool add_masked(const struct diff *d, struct str text, struct buf *out)
{
	app_clean(d->app, CLEAN_LATER, text, out);
	return str_find(text, '\0') == text.len;
}

/* Draws a file that the tools have changed on this machine. */
static void draw_change(struct diff *d, const char *name, struct str before,
			struct str after, const char *size)
{
	const struct diffview look = { .theme = &d->theme,
				       .columns = SIZE_MAX,
				       .numbers = true,
				       .path = str_of(name) };

	rows_adds(&d->rows, (struct style){ .attrs = ATTR_BOLD }, name);
	rows_adds(&d->rows, (struct style){ .role = STYLE_MUTED }, size);
	rows_end(&d->rows);
	diffview_render(&look, before, after, &d->rows);
	print_rows(d);
}

/* tree_watch_list() callback: prints one changed file. */
static void print_change(void *arg, const struct tree_watch_change *c)
{
	struct diff *d = arg;
	struct buf name = BUF_INIT(LINE_MAX_BYTES);
	struct buf before = BUF_INIT(4 * TREE_WATCH_FILE);
	struct buf after = BUF_INIT(4 * TREE_WATCH_FILE);
	char size[64] = "  binary or large";
	size_t added;
	size_t removed;
	bool text;

	d->n_here++;
	print_add_name(d->app, &name, c->path);
	text = add_masked(d, c->before, &before);
	text = add_masked(d, c->after, &after) && text && c->known;
	if (text) {
		diff_count(buf_str(&before), buf_str(&after), &added, &removed);
		snprintf(size, sizeof(size), "  +%zu -%zu", added, removed);
	} else {
		buf_clear(&before);
		buf_clear(&after);
	}
	if (args_flag(d->args, "name-only"))
		printf("%s\n", name.ptr);
	else if (args_flag(d->args, "stat"))
		printf("%s%s\n", name.ptr, size);
	else
		draw_change(d, name.ptr, buf_str(&before), buf_str(&after),
			    size);
	buf_release(&name);
	buf_release(&before);
	buf_release(&after);
}

/* True for /diff in a chat whose tools run on this machine. */
static bool is_here(const struct app *app, const struct args *args)
{
	return app->chat && !args->argc && !app->json &&
	       app->chat->sandbox->client->provider->flags & SANDBOX_UNISOLATED;
}

/* Prints what differs from git's index. dcode's own git reads it: the user's
 * would run what the repository's configuration names. */
static int print_here(struct diff *d, const struct stop *stop,
		      struct error *err)
{
	struct app *app = d->app;
	const struct tree_comparison k = { print_change, d };
	char *state = app_state_path(app, "", err);
	int rc = state ? 0 : -1;

	load_theme(d);
	if (rc == 0)
		rc = tree_watch_list(state, settings_cwd(app->settings),
				     settings_home(app->settings), &k, stop,
				     err);
	if (rc == 0 && fflush(stdout) != 0)
		rc = error_errno(err, "writing standard output");
	if (rc == 0 && !d->n_here)
		fputs("Nothing differs from git's index.\n", stderr);
	free(state);
	return rc == 0 && d->n_here && args_flag(d->args, "exit-code") ? 1 : rc;
}

/* Prints what differs in the sandbox. */
static int print_sandbox(struct diff *d, const struct stop *stop,
			 struct error *err)
{
	struct app *app = d->app;
	int rc = read_changes(d, stop, err);

	if (rc == 0 && app->json)
		print_json(d);
	else if (rc == 0 && d->review.n)
		rc = print_diff(d, stop, err);
	if (rc == 0 && !app->json && !d->turn) {
		if (!d->review.n)
			fputs("Nothing has changed in the sandbox.\n", stderr);
		loud_print(app, &d->review); /* last, so that the user sees it
					      */
		tree_report(app, &d->fetch, tree_is_gone(&d->tree));
	}
	return rc == 0 && d->review.n && args_flag(d->args, "exit-code") ? 1
									 : rc;
}

static int run(struct app *app, const struct args *args)
{
	struct stop stop = app_stop(app);
	struct error err = { 0 };
	struct diff d = { .app = app,
			  .args = args,
			  .tree = { .anywhere = true,
				    .offline = args_value(args, "turn") },
			  .terminal = isatty(STDOUT_FILENO) != 0,
			  .stream = { .held = BUF_INIT(HIDDEN_MAX) },
			  .masked = BUF_INIT(HIDDEN_MAX) };
	int rc;

	rc = check_forms(&d, &err);
	if (rc == 0)
		rc = is_here(app, args) ? print_here(&d, &stop, &err)
					: print_sandbox(&d, &stop, &err);
	rows_release(&d.rows);
	review_release(&d.review);
	fetch_release(&d.fetch);
	tree_close(&d.tree);
	buf_release(&d.stream.held);
	buf_release(&d.masked);
	return rc < 0 ? app_fail(app, &err) : rc;
}

static const struct arg_row options[] = {
	{ "stat", 0, ARG_FLAG, NULL,
	  "Show only how much of each file changed" },
	{ "name-only", 0, ARG_FLAG, NULL,
	  "Show only the names of changed files" },
	{ "turn", 0, ARG_VALUE, "N", "Show what turn N of the thread changed" },
	{ "include", 0, ARG_VALUE, "PATTERN",
	  "Also show new files that git ignores and that match this pattern" },
	{ "exit-code", 0, ARG_FLAG, NULL,
	  "Exit with status 1 if something changed" },
	ARG_JSON,
	{ 0 },
};

static const struct subcommand subs[] = {
	{ .name = "",
	  .args = "[ID]",
	  .options = options,
	  .most = 1,
	  .run = run },
	{ 0 },
};

const struct command command_diff = {
	.name = "diff",
	.summary = "Show what changed in a sandbox, as a patch",
	.topic = "apply",
	.subs = subs,
};

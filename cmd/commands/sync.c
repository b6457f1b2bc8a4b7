/* sync.c - dcode sync and /sync: sends local changes into the sandbox. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "cmd/command.h"
#include "cmd/commands/tree_session.h"
#include "cmd/print.h"
#include "cmd/session/options.h"
#include "worktree/checkpoint.h"
#include "worktree/send.h"

enum { LIST_MAX = 16 << 20 };

static void print_sum(const struct app *app, const struct sync_result *r)
{
	fprintf(stderr, "%s %zu file%s sent", print_sign(app, GLYPH_CHECK),
		r->n_taken, r->n_taken == 1 ? "" : "s");
	if (r->n_deleted)
		fprintf(stderr, ", %zu deleted in the sandbox", r->n_deleted);
	if (r->n_kept)
		fprintf(stderr,
			"; %zu differ%s in the sandbox and %s not replaced\n",
			r->n_kept, r->n_kept == 1 ? "s" : "",
			r->n_kept == 1 ? "was" : "were");
	else
		fputs("; none differ in the sandbox\n", stderr);
}

/* Prints which files were sent, and why the others were not. */
static void print_result(const struct app *app, const struct sync_result *r,
			 bool force)
{
	const char *kept = force ? " was not sent: it cannot replace what the "
				   "sandbox has at this path"
				 : " also changed in the sandbox, which keeps "
				   "its version (--force sends yours)";
	static const char held[] =
		" is not sent: it may contain secrets, or cannot be read";

	print_names(app, r->taken, r->n_taken, "");
	print_names(app, r->deleted, r->n_deleted, " (deleted)");
	for (size_t i = 0; i < r->n_asked && i < PRINT_NAMES_MOST; i++)
		print_name(app, "  sent because of --include: ", r->asked[i],
			   "");
	for (size_t i = 0; i < r->n_kept; i++)
		print_name(app, "  ", r->kept[i], kept);
	for (size_t i = 0; i < r->n_held; i++)
		print_name(app, "  ", r->held[i], held);
	if (!r->n_taken && !r->n_deleted && !r->n_kept)
		fputs("No local changes to send.\n", stderr);
	else
		print_sum(app, r);
}

/* Adds a list with one element for each name: its bytes in base64 if it is not
 * UTF-8, otherwise null. */
static void add_bytes(const struct app *app, struct buf *out,
		      char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct buf masked = BUF_INIT(LIST_MAX);

		app_clean(app, CLEAN_LATER, str_of(names[i]), &masked);
		buf_adds(out, i ? "," : "");
		if (str_is_utf8(buf_str(&masked))) {
			buf_adds(out, "null");
		} else {
			buf_addc(out, '"');
			json_base64(out, buf_str(&masked));
			buf_addc(out, '"');
		}
		buf_release(&masked);
	}
}

/* Adds a list of names; if one of them is not UTF-8, also a list with their
 * bytes in base64. */
static void add_names(const struct app *app, struct buf *out, const char *key,
		      char *const *names, size_t n)
{
	bool utf8 = true;

	buf_addf(out, "\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		struct buf masked = BUF_INIT(LIST_MAX);

		app_clean(app, CLEAN_LATER, str_of(names[i]), &masked);
		buf_adds(out, i ? "," : "");
		json_quote(out, buf_str(&masked));
		utf8 = utf8 && str_is_utf8(buf_str(&masked));
		buf_release(&masked);
	}
	buf_adds(out, "]");
	if (utf8)
		return;
	buf_addf(out, ",\"%s_base64\":[", key);
	add_bytes(app, out, names, n);
	buf_adds(out, "]");
}

static void print_json(const struct app *app, const struct sync_result *r)
{
	struct buf data = BUF_INIT(LIST_MAX);

	buf_adds(&data, "{");
	add_names(app, &data, "sent", r->taken, r->n_taken);
	buf_adds(&data, ",");
	add_names(app, &data, "deleted", r->deleted, r->n_deleted);
	buf_adds(&data, ",");
	if (r->n_asked) {
		add_names(app, &data, "included", r->asked, r->n_asked);
		buf_adds(&data, ",");
	}
	add_names(app, &data, "kept", r->kept, r->n_kept);
	buf_adds(&data, ",");
	add_names(app, &data, "held", r->held, r->n_held);
	buf_addf(&data, ",\"bytes\":%" PRId64 "}", r->bytes);
	app_envelope("sync", &data);
	buf_release(&data);
}

/* Opens the tree and sends its changes into the sandbox. */
static int sync_tree(struct tree_session *t, struct app *app,
		     const struct args *args, struct sync_result *result,
		     struct error *err)
{
	struct stop stop = app_stop(app);
	struct sync_request q = { .force = args_flag(args, "force") };
	char before[GIT_OID];
	const char **include;
	int rc = tree_open(t, app, args->argc ? args->argv[0] : NULL, &stop,
			   err);

	if (rc < 0)
		return -1;
	if (!t->sandbox) {
		*err = t->gone;
		return error_wrap(err, "cannot read the sandbox");
	}
	include = include_read(app, args, &q.select.n_include, err);
	if (!include)
		return -1;
	q.sandbox = t->sandbox;
	q.select.home = settings_home(app->settings);
	q.select.include = include;
	memcpy(before, t->workspace.base, sizeof(before));
	rc = workspace_sync(&t->workspace, &q, result, &stop, err);
	if (rc == 0)
		rc = checkpoint_note_sync(&t->workspace, before, &stop, err);
	free(include);
	return rc;
}

static int run(struct app *app, const struct args *args)
{
	struct tree_session t = { .living = true };
	struct sync_result result = { 0 };
	struct error err = { 0 };
	int rc = sync_tree(&t, app, args, &result, &err);

	if (rc == 0 && app->json)
		print_json(app, &result);
	else if (rc == 0)
		print_result(app, &result, args_flag(args, "force"));
	if (rc == 0 && result.n_kept)
		rc = 1;
	sync_result_release(&result);
	tree_close(&t);
	return rc < 0 ? app_fail(app, &err) : rc;
}

static const struct arg_row options[] = {
	{ "force", 0, ARG_FLAG, NULL,
	  "If both sides changed a file, send the local version" },
	{ "include", 0, ARG_VALUE, "PATTERN",
	  "Also send files that match this pattern (secret, ignored or large "
	  "files)" },
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

const struct command command_sync = {
	.name = "sync",
	.summary = "Send your changes to a sandbox that has a copy of the "
		   "repository",
	.topic = "apply",
	.subs = subs,
};

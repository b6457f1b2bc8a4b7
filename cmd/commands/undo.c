/* undo.c - dcode undo and /undo: files back to before a turn. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/undo.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/command.h"
#include "cmd/commands/tree_session.h"
#include "cmd/print.h"
#include "session/thread.h"

enum { JSON_MAX = 64 << 20 };

static void add_names(const struct app *app, struct buf *out, const char *key,
		      char *const *names, size_t n)
{
	buf_addf(out, ",\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		buf_adds(out, i ? ",{" : "{");
		print_add_member(app, out, "path", names[i]);
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
}

static void print_json(const struct app *app, const struct tree_session *t,
		       const struct undo_result *u)
{
	struct buf out = BUF_INIT(JSON_MAX);

	buf_addc(&out, '{');
	print_add_member(app, &out, "thread", t->thread);
	buf_addc(&out, ',');
	json_member(&out, "sandbox", str_of(t->workspace.label));
	buf_addf(&out,
		 ",\"turn\":%" PRId64 ",\"turns\":%" PRId64
		 ",\"redo\":%s,\"finished\":%s",
		 u->turn, u->count, u->redo ? "true" : "false",
		 u->finished ? "true" : "false");
	add_names(app, &out, "changed", u->changed, u->n_changed);
	add_names(app, &out, "kept", u->kept, u->n_kept);
	buf_addc(&out, '}');
	app_envelope("undo", &out);
	buf_release(&out);
}

static int parse_turn(const struct args *args, int64_t *turn, struct error *err)
{
	const char *text = args_value(args, "turn");

	if (!text)
		return 0;
	if (args_flag(args, "redo"))
		return error_set(err, ERR_USAGE,
				 "--turn cannot be combined with --redo");
	if (str_to_int(str_of(text), turn) && *turn > 0)
		return 0;
	return error_set(err, ERR_USAGE,
			 "--turn: not the number of a turn: '%s'", text);
}

/* Opens the files of a thread without a sandbox. 1: the thread has one, or none
 * of its tools has written a file. */
static int open_local(struct tree_session *t, struct app *app, const char *name,
		      const struct stop *stop, struct error *err)
{
	const struct app_chat *chat = name ? NULL : app->chat;
	struct error ignored = { 0 };
	struct thread found = { 0 };
	struct settings *set;
	struct store *store;
	int rc = 1;

	if (app_settings(app, &set, err) < 0 || app_store(app, &store, err) < 0)
		return -1;
	if (chat && chat->sandbox->client->provider->flags & SANDBOX_UNISOLATED)
		rc = undo_open_local(&t->workspace, app, settings_cwd(set),
				     chat->thread, stop, err);
	else if (!chat &&
		 thread_find(store, name, settings_cwd(set), &found,
			     &ignored) == 0 &&
		 !found.label[0])
		rc = undo_open_local(&t->workspace, app, found.cwd, found.id,
				     stop, err);
	if (rc == 0)
		t->thread = xstrdup(chat ? chat->thread : found.id);
	else if (rc > 0 && chat &&
		 chat->sandbox->client->provider->flags & SANDBOX_UNISOLATED)
		rc = error_set(err, ERR_NOT_FOUND,
			       "nothing to undo: no file tool has written a "
			       "file in this thread (what commands change on "
			       "this machine cannot be undone)");
	thread_release(&found);
	return rc;
}

/* Opens the tree that the command line names, in a sandbox or here. */
static int open_tree(struct tree_session *t, struct app *app, const char *name,
		     const struct stop *stop, struct error *err)
{
	int rc = open_local(t, app, name, stop, err);

	if (rc <= 0)
		return rc;
	if (tree_open(t, app, name, stop, err) < 0)
		return error_wrap(err, "nothing can be undone");
	if (t->sandbox)
		return 0;
	*err = t->gone;
	return error_wrap(err, "cannot reach the sandbox");
}

static int run(struct app *app, const struct args *args)
{
	struct stop stop = app_stop(app);
	struct tree_session t = { .living = true };
	struct undo_result u = { 0 };
	struct error err = { 0 };
	int64_t turn = 0;
	int rc = parse_turn(args, &turn, &err);

	if (rc == 0)
		rc = open_tree(&t, app, args->argc ? args->argv[0] : NULL,
			       &stop, &err);
	if (rc == 0)
		rc = undo_files(&(struct undo_target){ app, &t.workspace,
						       t.sandbox, t.thread },
				turn, args_flag(args, "redo"), &u, &stop, &err);
	if (rc == 0 && app->json)
		print_json(app, &t, &u);
	else if (rc == 0)
		undo_print(app, app->chat ? NULL : t.thread, &u);
	if (rc == 0 && u.n_kept)
		rc = 1;
	undo_result_release(&u);
	tree_close(&t);
	return rc < 0 ? app_fail(app, &err) : rc;
}

static const struct arg_row options[] = {
	{ "turn", 0, ARG_VALUE, "N",
	  "Undo turn N of the thread and all turns after it" },
	{ "redo", 0, ARG_FLAG, NULL, "Undo the last undo" },
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

const struct command command_undo = {
	.name = "undo",
	.summary = "Undo the file changes of turns",
	.subs = subs,
};

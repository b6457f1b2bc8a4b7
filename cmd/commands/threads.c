/* threads.c - dcode threads: its subcommands, and what they share. */
/* SPDX-License-Identifier: MIT */
#include "cmd/commands/threads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/stop.h"
#include "base/str.h"
#include "cmd/print.h"
#include "cmd/session/saved_patch.h"
#include "model/money.h"
#include "session/ledger.h"

enum { TEXT_MOST = 64 << 20 };

int threads_find(struct app *app, const char *name, struct store **store,
		 struct thread *t, struct error *err)
{
	if (app_store(app, store, err) < 0)
		return -1;
	return thread_find(*store, name, settings_cwd(app->settings), t, err);
}

static bool note_state(void *arg, const struct ledger_row *row)
{
	struct thread_sandbox *box = arg;

	box->state = ledger_state_name(row->state);
	box->exists = row->state != LEDGER_GONE;
	return false;
}

void threads_read_sandbox(struct store *s, const char *name,
			  struct thread_sandbox *box)
{
	struct str label = str_of(name);
	struct error ignored = { 0 };

	*box = (struct thread_sandbox){ .state = "" };
	if (!label.len)
		return;
	if (str_starts(label, "dcode-"))
		label = str_skip(label, strlen("dcode-"));
	snprintf(box->name, sizeof(box->name), "%.*s", (int)label.len,
		 label.ptr);
	box->state = "gone";
	(void)ledger_find(s, name, note_state, box, &ignored);
}

static void add_time(struct buf *out, const char *key, int64_t ms)
{
	time_t when = (time_t)(ms / 1000);
	char text[32] = "";
	struct tm parts;

	if (gmtime_r(&when, &parts))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
	buf_addf(out, ",\"%s\":\"%s.%03dZ\"", key, text, (int)(ms % 1000));
}

static void add_sandbox(struct app *app, struct store *s,
			const struct thread *t, struct buf *out)
{
	struct thread_sandbox box;

	threads_read_sandbox(s, t->label, &box);
	buf_adds(out, ",\"sandbox\":{");
	print_add_member(app, out, "provider", t->provider);
	buf_addc(out, ',');
	print_add_member(app, out, "id", t->sandbox);
	buf_addc(out, ',');
	print_add_member(app, out, "label", t->label);
	buf_addc(out, ',');
	print_add_member(app, out, "state", box.state);
	buf_addc(out, '}');
}

static void add_patch(struct app *app, const struct thread *t, struct buf *out)
{
	char *path = saved_patch_find(app, t->id);

	buf_addc(out, ',');
	if (path)
		print_add_member(app, out, "patch", path);
	else
		buf_adds(out, "\"patch\":null");
	free(path);
}

void threads_add_json(struct app *app, struct store *s, const struct thread *t,
		      struct buf *out)
{
	char money[MONEY_SIZE];

	print_add_member(app, out, "thread_id", t->id);
	buf_addc(out, ',');
	print_add_member(app, out, "title", t->title);
	buf_addc(out, ',');
	print_add_member(app, out, "model", t->model);
	add_time(out, "created_at", t->created);
	add_time(out, "updated_at", t->updated);
	buf_addf(out,
		 ",\"message_count\":%" PRId64 ",\"input_tokens\":%" PRId64
		 ",\"output_tokens\":%" PRId64 ",",
		 t->messages, t->input, t->output);
	buf_addf(out, "\"cost_usd\":%s,",
		 t->cost < 0 || t->unpriced ? "null"
					    : money_json(t->cost, money));
	print_add_member(app, out, "cwd", t->cwd);
	buf_addc(out, ',');
	print_add_member(app, out, "git_branch", t->branch);
	buf_addc(out, ',');
	print_add_member(app, out, "agent", t->agent[0] ? t->agent : "agent");
	add_sandbox(app, s, t, out);
	add_patch(app, t, out);
	buf_addf(out, ",\"in_use_by\":%" PRId64 ",\"imported\":%s,", t->pid,
		 t->imported ? "true" : "false");
	print_add_member(app, out, "origin_id", t->origin);
}

const char *threads_count(int64_t n, char room[THREADS_SHORT])
{
	if (n < 1000)
		snprintf(room, THREADS_SHORT, "%" PRId64, n);
	else if (n < 1000000)
		snprintf(room, THREADS_SHORT, "%.1fk", (double)n / 1e3);
	else
		snprintf(room, THREADS_SHORT, "%.1fM", (double)n / 1e6);
	return room;
}

const char *threads_place(const struct thread *t,
			  const struct thread_sandbox *box,
			  char room[2 * THREADS_SHORT])
{
	snprintf(room, 2 * THREADS_SHORT, "%s%s%s",
		 t->provider[0] ? t->provider : "-", box->state[0] ? " " : "",
		 box->state);
	return room;
}

static const struct arg_row list_options[] = {
	{ "cwd", 0, ARG_OPTIONAL, "PATH",
	  "Only threads of this directory; without DIR: the current one" },
	{ "branch", 0, ARG_VALUE, "NAME", "Only threads of this git branch" },
	{ "agent", 0, ARG_VALUE, "NAME", "Only threads of this agent" },
	{ "sort", 0, ARG_VALUE, "created|updated",
	  "Sort by this, newest first (default updated)" },
	{ "limit", 'n', ARG_VALUE, "N",
	  "Show at most N threads (default 20, or DA_CLI_RECENT_THREADS)" },
	{ "verbose", 'v', ARG_FLAG, NULL,
	  "Also show creation time, git branch and agent" },
	{ "relative", 'r', ARG_FLAG, NULL,
	  "Show times as \"5m ago\" (default)" },
	{ "no-relative", 0, ARG_FLAG, NULL, "Show times as dates" },
	ARG_JSON,
	{ 0 },
};

static const struct arg_row json_options[] = { ARG_JSON, { 0 } };

static const struct arg_row delete_options[] = {
	{ "dry-run", 0, ARG_FLAG, NULL,
	  "Show what would be deleted, delete nothing" },
	ARG_JSON,
	{ 0 },
};

static const struct arg_row prune_options[] = {
	{ "older-than", 0, ARG_VALUE, "AGE",
	  "Delete threads that were last used before this: 90d, 8w, 12h" },
	{ "keep", 0, ARG_VALUE, "N", "Delete all but the N last used threads" },
	{ "dry-run", 0, ARG_FLAG, NULL,
	  "Show what would be deleted, delete nothing" },
	ARG_JSON,
	{ 0 },
};

static const struct arg_row export_options[] = {
	{ "html", 0, ARG_FLAG, NULL,
	  "Write a page for a browser: no scripts, nothing loaded from "
	  "outside" },
	{ "with-patch", 0, ARG_FLAG, NULL,
	  "Include the saved patch of the thread" },
	{ "force", 0, ARG_FLAG, NULL, "Replace FILE if it exists" },
	ARG_JSON,
	{ 0 },
};

static const struct subcommand subs[] = {
	{ .name = "list",
	  .aliases = "ls",
	  .summary = "List the stored threads, last used first",
	  .options = list_options,
	  .flags = SUB_UNRESTRICTED,
	  .run = threads_cmd_list },
	{ .name = "show",
	  .args = "ID",
	  .summary = "Show a thread with its messages; ID is an id, the start "
		     "of one, or latest",
	  .options = json_options,
	  .least = 1,
	  .most = 1,
	  .flags = SUB_UNRESTRICTED,
	  .run = threads_cmd_show },
	{ .name = "rename",
	  .args = "ID TITLE",
	  .summary = "Rename a thread",
	  .options = json_options,
	  .least = 2,
	  .most = -1,
	  .flags = SUB_UNRESTRICTED,
	  .run = threads_cmd_rename },
	{ .name = "delete",
	  .aliases = "rm",
	  .args = "ID...",
	  .summary = "Delete threads with all their messages",
	  .options = delete_options,
	  .least = 1,
	  .most = -1,
	  .flags = SUB_UNRESTRICTED,
	  .run = threads_cmd_delete },
	{ .name = "export",
	  .args = "ID [FILE]",
	  .summary = "Write a thread to a file (- is standard output), with "
		     "known secrets masked",
	  .options = export_options,
	  .least = 1,
	  .most = 2,
	  .flags = SUB_UNRESTRICTED,
	  .run = threads_cmd_export },
	{ .name = "import",
	  .args = "FILE",
	  .summary = "Store an exported thread; - is standard input",
	  .options = json_options,
	  .least = 1,
	  .most = 1,
	  .run = threads_cmd_import },
	{ .name = "prune",
	  .summary = "Delete old threads",
	  .options = prune_options,
	  .flags = SUB_UNRESTRICTED,
	  .run = threads_cmd_prune },
	{ 0 },
};

const struct command command_threads = {
	.name = "threads",
	.summary = "List, show, rename and delete conversations",
	.subs = subs,
};

/* thread_info.c - finds a stored thread and describes where it ran. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/thread_info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/print.h"
#include "cmd/session/saved_patch.h"
#include "model/money.h"
#include "session/ledger.h"

int threads_find(struct app *app, const char *name, struct store **store,
		 struct thread *t, struct error *err)
{
	if (app_store(app, store, err) < 0)
		return -1;
	return thread_find(*store, name, settings_cwd(app->settings), t, err);
}

static bool copy_state(void *arg, const struct ledger_row *row)
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
	(void)ledger_find(s, name, copy_state, box, &ignored);
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

char *threads_short_path(const struct app *app, const char *path)
{
	const char *home = settings_home(app->settings);
	size_t len = home ? strlen(home) : 0;

	if (len > 1 && str_starts(str_of(path), home) &&
	    (path[len] == '/' || !path[len]))
		return xasprintf("~%s", path + len);
	return xstrdup(path);
}

const char *threads_cost(const struct thread *t, char room[2 * THREADS_SHORT])
{
	char sum[MONEY_SIZE];

	if (t->cost < 0)
		return "-";
	if (t->unpriced && !t->cost)
		return "unknown";
	snprintf(room, 2 * THREADS_SHORT, "%s%s", t->unpriced ? ">" : "",
		 t->unpriced && t->cost < METER_DOLLAR / 100
			 ? "$0.00"
			 : money_short(t->cost, sum));
	return room;
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

static void add_sandbox_json(struct app *app, struct store *s,
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
		 ",\"message_count\":%" PRId64 ",\"turns\":%" PRId64
		 ",\"headless\":%s,\"input_tokens\":%" PRId64
		 ",\"output_tokens\":%" PRId64 ",",
		 t->messages, t->turns, t->headless ? "true" : "false",
		 t->input, t->output);
	buf_addf(out, "\"cost_usd\":%s,",
		 t->cost < 0 || t->unpriced ? "null"
					    : money_json(t->cost, money));
	print_add_member(app, out, "cwd", t->cwd);
	buf_addc(out, ',');
	print_add_member(app, out, "git_branch", t->branch);
	buf_addc(out, ',');
	print_add_member(app, out, "agent", t->agent[0] ? t->agent : "agent");
	add_sandbox_json(app, s, t, out);
	add_patch(app, t, out);
	buf_addf(out, ",\"in_use_by\":%" PRId64 ",\"imported\":%s,", t->pid,
		 t->imported ? "true" : "false");
	print_add_member(app, out, "origin_id", t->origin);
}

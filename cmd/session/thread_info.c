/* thread_info.c - finds a stored thread and describes where it ran. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/thread_info.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
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

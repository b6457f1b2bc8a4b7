/* threads_delete.c - dcode threads delete. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/commands/threads.h"
#include "cmd/commands/threads_history_sweep.h"
#include "cmd/print.h"
#include "cmd/session/record_expiry.h"
#include "cmd/session/saved_patch.h"
#include "session/thread_label.h"

struct leaving {
	struct store *store;
	const struct thread *thread;
};

static bool report_label(void *arg, const struct thread_label *l)
{
	const struct leaving *d = arg;
	struct thread_sandbox box;

	threads_read_sandbox(d->store, l->label, &box);
	if (box.exists)
		app_warn("the sandbox of thread %s is still there (%s, %s); "
			 "dcode sandbox rm %s deletes it",
			 d->thread->id, l->provider, box.state, box.name);
	return true;
}

/* Deleting the thread leaves what costs money, and its saved work: say so. */
static void report_left(struct app *app, struct store *s,
			const struct thread *t)
{
	struct leaving d = { s, t };
	struct error ignored = { 0 };
	struct buf line = BUF_INIT(1 << 16);
	char *patch = saved_patch_find(app, t->id);

	(void)thread_label_each(s, t->no, NULL, report_label, &d, &ignored);
	if (patch) {
		print_add_line(app, &line, patch);
		app_warn("its saved patch stays: %s", line.ptr);
	}
	buf_release(&line);
	free(patch);
}

static void report(struct app *app, struct buf *json, const struct thread *t,
		   bool dry)
{
	struct buf title = BUF_INIT(1 << 16);

	if (app->json) {
		buf_adds(json, json->len > 1 ? ",{" : "{");
		print_add_member(app, json, "thread_id", t->id);
		buf_addf(json, ",\"deleted\":%s}", dry ? "false" : "true");
		return;
	}
	print_add_line(app, &title, t->title);
	printf(dry ? "Would delete thread '%s' (%s).\n"
		   : "Thread '%s' deleted (%s).\n",
	       t->id, title.len ? title.ptr : "no title");
	buf_release(&title);
}

/* In the document each name has its outcome; why is on standard error. */
static void report_failed(struct app *app, struct buf *json, const char *name)
{
	buf_adds(json, json->len > 1 ? ",{" : "{");
	print_add_member(app, json, "thread_id", name);
	buf_adds(json, ",\"deleted\":false}");
}

static int refuse_used(const struct thread *t, struct error *err)
{
	error_set(err, ERR_BUSY,
		  "thread %s is in use by the dcode with process id %" PRId64,
		  t->id, t->pid);
	return error_hint(err, "Quit that dcode first.");
}

static int delete_one(struct app *app, const char *name, bool dry,
		      struct buf *json, struct error *err)
{
	struct store *store;
	struct thread t = { 0 };
	int rc = threads_find(app, name, &store, &t, err);

	if (rc == 0 && t.pid)
		rc = refuse_used(&t, err);
	if (rc == 0)
		report_left(app, store, &t);
	if (rc == 0 && !dry)
		rc = thread_delete(store, &t, err);
	if (rc == 0)
		report(app, json, &t, dry);
	thread_release(&t);
	return rc;
}

int threads_cmd_delete(struct app *app, const struct args *args)
{
	bool dry = args_flag(args, "dry-run");
	bool as_json = app->json;
	struct buf json = BUF_INIT(1 << 20);
	int status = 0;

	buf_addc(&json, '[');
	for (int i = 0; i < args->argc; i++) {
		struct error err = { 0 };

		if (delete_one(app, args->argv[i], dry, &json, &err) == 0)
			continue;
		app->json = false; /* one document: errors go to stderr */
		status = app_fail(app, &err);
		app->json = as_json;
		report_failed(app, &json, args->argv[i]);
	}
	if (!dry) {
		unsent_sweep(app);
		history_sweep(app);
	}
	buf_addc(&json, ']');
	if (app->json)
		app_envelope("threads delete", &json);
	buf_release(&json);
	return status;
}

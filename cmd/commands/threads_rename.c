/* threads_rename.c - dcode threads rename. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "cmd/commands/threads.h"
#include "cmd/print.h"

enum { TITLE_MOST = 1 << 16 };

static void report(struct app *app, const struct thread *t)
{
	struct buf out = BUF_INIT(1 << 20);

	if (app->json) {
		buf_addc(&out, '{');
		print_add_member(app, &out, "thread_id", t->id);
		buf_addc(&out, ',');
		print_add_member(app, &out, "title", t->title);
		buf_addc(&out, '}');
		app_envelope("threads rename", &out);
	} else {
		print_add_line(app, &out, t->title);
		printf("Thread '%s' is now \"%s\".\n", t->id, out.ptr);
	}
	buf_release(&out);
}

static int rename_thread(struct app *app, const struct args *args,
			 struct error *err)
{
	struct buf title = BUF_INIT(TITLE_MOST);
	struct store *store;
	struct thread t = { 0 };
	char *id = NULL;
	int rc;

	for (int i = 1; i < args->argc; i++) {
		buf_adds(&title, i > 1 ? " " : "");
		buf_adds(&title, args->argv[i]);
	}
	rc = buf_check(&title, "the title", err);
	if (rc == 0 && !str_trim(buf_str(&title)).len)
		rc = error_set(err, ERR_USAGE, "the title is empty");
	if (rc == 0)
		rc = threads_find(app, args->argv[0], &store, &t, err);
	if (rc == 0)
		rc = thread_rename(store, &t, title.ptr, err);
	if (rc == 0) {
		id = t.id;
		t.id = NULL;
		thread_release(&t);
		rc = thread_find(store, id, NULL, &t, err);
	}
	if (rc == 0)
		report(app, &t);
	thread_release(&t);
	free(id);
	buf_release(&title);
	return rc;
}

int threads_cmd_rename(struct app *app, const struct args *args)
{
	struct error err = { 0 };

	return rename_thread(app, args, &err) == 0 ? 0 : app_fail(app, &err);
}

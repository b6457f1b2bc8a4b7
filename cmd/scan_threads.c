/* scan_threads.c - dcode threads scan: stored threads with credentials. */
/* SPDX-License-Identifier: MIT */
/*
 * A thread of an older dcode, or from before a key was known, can contain what
 * would be masked today. Each text of each message is masked and only the
 * counts are printed, never the text itself.
 */
#include "cmd/scan_threads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "session/thread.h"

struct thread_scan {
	struct app *app;
	struct store *store;
	struct error *err;
	struct buf json;
	char *thread; /* id of the thread that is scanned; owned */
	size_t threads;
	size_t places; /* where something was found */
	size_t turn;
	int rc;
};

/* Where a text stands in a thread. */
struct scan_place {
	const char *where; /* "prompt", "answer", "call" or "result" */
	const struct part *call;
};

static void add_place_json(struct thread_scan *s,
			   const struct scan_place *place, struct str found)
{
	struct buf *out = &s->json;

	buf_adds(out, s->places ? ",{" : "{");
	json_member(out, "thread_id", str_of(s->thread));
	buf_addf(out, ",\"turn\":%zu,", s->turn);
	json_member(out, "where", str_of(place->where));
	if (place->call->name) {
		buf_addc(out, ',');
		json_member(out, "tool", str_of(place->call->name));
	}
	if (place->call->id) {
		buf_addc(out, ',');
		json_member(out, "call_id", str_of(place->call->id));
	}
	buf_addc(out, ',');
	json_member(out, "found", found);
	buf_addc(out, '}');
}

static void print_place(const struct thread_scan *s,
			const struct scan_place *place, struct str found)
{
	struct buf name = BUF_INIT(1 << 12);

	if (place->call->name)
		app_clean(s->app, CLEAN_NAME, str_of(place->call->name), &name);
	printf("%s  turn %zu  %s%s%.*s: %.*s\n", s->thread, s->turn,
	       place->where, name.len ? " of " : "", (int)name.len,
	       name.len ? name.ptr : "", (int)found.len, found.ptr);
	buf_release(&name);
}

static void scan_text(struct thread_scan *s, const struct scan_place *place,
		      const char *text)
{
	struct buf found = BUF_INIT(1 << 14);

	if (text)
		mask_describe(s->app->mask, str_of(text), &found);
	if (found.len && s->app->json)
		add_place_json(s, place, buf_str(&found));
	else if (found.len)
		print_place(s, place, buf_str(&found));
	s->places += found.len > 0;
	buf_release(&found);
}

static bool scan_message(void *arg, struct thread_message *m)
{
	struct thread_scan *s = arg;
	enum role role = m->message.role;

	s->turn += role == ROLE_USER && !m->message.summary &&
		   !m->message.steering;
	for (size_t i = 0; !m->damaged && i < m->message.n; i++) {
		const struct part *p = &m->message.parts[i];
		struct scan_place place = { .call = p };

		place.where = p->kind == PART_TOOL_CALL     ? "call"
			      : p->kind == PART_TOOL_RESULT ? "result"
			      : role == ROLE_USER           ? "prompt"
							    : "answer";
		scan_text(s, &place, p->text);
		scan_text(s, &place, p->args);
	}
	return true;
}

static bool scan_thread(void *arg, struct thread *t)
{
	struct thread_scan *s = arg;

	free(s->thread);
	s->thread = xstrdup(t->id);
	s->turn = 0;
	s->threads++;
	s->rc = thread_each_message(s->store, t->no, scan_message, s, s->err);
	return s->rc == 0;
}

int scan_threads(struct app *app, const struct args *args)
{
	struct error err = { 0 };
	struct thread_scan s = { .app = app,
				 .err = &err,
				 .json = BUF_INIT(SIZE_MAX / 4) };
	struct thread_filter all = { 0 };
	int rc = app_store(app, &s.store, &err);

	(void)args;
	buf_adds(&s.json, "{\"places\":[");
	if (rc == 0)
		rc = thread_each(s.store, &all, scan_thread, &s, &err);
	if (rc == 0)
		rc = s.rc;
	buf_addf(&s.json, "],\"threads\":%zu}", s.threads);
	if (rc == 0 && app->json)
		app_envelope("threads scan", &s.json);
	else if (rc == 0 && s.places)
		printf("%zu of these in %zu threads. `dcode threads delete ID` "
		       "deletes a thread. Replace the credentials, too.\n",
		       s.places, s.threads);
	else if (rc == 0)
		printf("%zu threads scanned, nothing found\n", s.threads);
	free(s.thread);
	buf_release(&s.json);
	if (rc)
		return app_fail(app, &err);
	return s.places ? STATUS_FOUND : 0;
}

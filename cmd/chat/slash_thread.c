/* slash_thread.c - /clear, /resume and /threads: which thread goes on. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/chat/leave.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/commands/threads.h"
#include "cmd/print.h"
#include "cmd/session/conversation.h"
#include "cmd/session/hooks.h"
#include "cmd/session/next.h"

	enum { MOST_LISTED = 200,
	       TEXT_MOST = 1 << 12 };

/* Stored threads as a list to choose from. */
struct thread_choice {
	struct run *run;
	struct store *store;
	struct fuzzy_item items[MOST_LISTED];
	char *ids[MOST_LISTED]; /* owned, and all texts of items */
	size_t n;
};

static struct str own(struct buf *text)
{
	size_t len = text->len;

	return (struct str){ buf_detach(text), len };
}

static bool is_open(const struct thread_choice *c, const struct thread *t)
{
	return !strcmp(t->id, session_id(c->run->session));
}

static bool add_choice(void *arg, struct thread *t)
{
	struct thread_choice *c = arg;
	struct fuzzy_item *item = &c->items[c->n];
	const struct app *app = c->run->app;
	struct buf name = BUF_INIT(TEXT_MOST);
	struct buf other = BUF_INIT(TEXT_MOST);
	struct buf shown = BUF_INIT(TEXT_MOST);
	struct thread_sandbox box;
	char room[2 * THREADS_SHORT];
	char *cwd = threads_short_path(app, t->cwd);

	threads_read_sandbox(c->store, t->label, &box);
	print_add_line(app, &name, t->title[0] ? t->title : "(no title)");
	buf_addf(&shown, "%s%s  ", is_open(c, t) ? "this one, " : "",
		 print_age(t->updated, room));
	buf_adds(&shown, t->pid && !is_open(c, t) ? "in use  " : "");
	print_add_line(app, &shown, t->model);
	buf_addf(&shown, "  %s  ", threads_place(t, &box, room));
	print_add_line(app, &shown, cwd);
	print_add_line(app, &other, t->id);
	buf_addc(&other, ' ');
	print_add_line(app, &other, t->model);
	buf_addc(&other, ' ');
	print_add_line(app, &other, t->cwd);
	c->ids[c->n++] = xstrdup(t->id);
	item->name = own(&name);
	item->alias = own(&other);
	item->summary = own(&shown);
	free(cwd);
	return c->n < MOST_LISTED;
}

static void release_choice(struct thread_choice *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->ids[i]);
		free((char *)c->items[i].name.ptr);
		free((char *)c->items[i].alias.ptr);
		free((char *)c->items[i].summary.ptr);
	}
	free(c);
}

static struct thread_choice *list_threads(struct run *r, struct error *err)
{
	const struct thread_filter all = { .limit = MOST_LISTED };
	struct thread_choice *c = xcalloc(1, sizeof(*c));

	c->run = r;
	if (app_store(r->app, &c->store, err) == 0 &&
	    thread_each(c->store, &all, add_choice, c, err) == 0)
		return c;
	release_choice(c);
	return NULL;
}

static void add_threads(struct run *r, const char *before, struct buf *out)
{
	struct error ignored = { 0 };
	struct thread_choice *c = list_threads(r, &ignored);

	for (size_t i = 0; c && i < c->n; i++) {
		buf_addf(out, "%s%s\t", before, c->ids[i]);
		buf_addstr(out, c->items[i].name);
		buf_addc(out, '\n');
	}
	if (c)
		release_choice(c);
}

void slash_list_threads(struct run *r, struct buf *out)
{
	add_threads(r, "", out);
}

void slash_list_thread_words(struct run *r, struct buf *out)
{
	slash_list_subcommands(&command_threads, out);
	add_threads(r, "-r ", out);
}

/* How the thread that is left can be had again. */
static void print_left(const char *id, bool stored)
{
	if (stored)
		fprintf(stderr, "Previous thread: /resume %s\n", id);
}

bool slash_cmd_clear(struct run *r, int n, char **words)
{
	char *id = xstrdup(session_id(r->session));
	bool stored = session_is_stored(r->session);
	struct stop stop = app_stop(r->app);
	struct error err = { 0 };

	(void)words;
	if (n)
		error_set(&err, ERR_USAGE, "/clear takes no argument");
	else
		run_hooks_end(r, "clear");
	if (n || conversation_begin(r, &err) < 0 ||
	    run_hooks_start(r, "clear", &stop, &err) < 0) {
		(void)app_fail(r->app, &err);
		run_hooks_follow(r);
	} else {
		fprintf(stderr, "Started new thread: %s\n",
			session_id(r->session));
		print_left(id, stored);
	}
	free(id);
	return true;
}

/* The thread's tools run where those of r do. */
static bool is_same_place(const struct run *r, const struct thread *t)
{
	if (r->client.provider->flags & SANDBOX_UNISOLATED)
		return !t->label[0] && (!t->provider[0] || t->imported ||
					!strcmp(t->provider, "none"));
	if (r->box.ours)
		return !strcmp(t->label, r->box.label);
	return !t->imported && !strcmp(t->provider, r->client.provider->name) &&
	       !strcmp(t->sandbox, r->box.sandbox.id);
}

/* Takes *t over. */
static int go_on_with(struct run *r, struct thread *t, struct error *err)
{
	const char *const words[] = { "--resume", t->id };
	char *was;
	bool stored;
	int rc;

	if (is_same_place(r, t)) {
		was = xstrdup(session_id(r->session));
		stored = session_is_stored(r->session);
		rc = conversation_resume(r, t, err);
		if (rc == 0)
			print_left(was, stored);
		free(was);
		return rc;
	}
	rc = next_open(r, words, 2, false, err);
	thread_release(t);
	if (rc < 0)
		return -1;
	chat_ask_exit(r);
	print_left(session_id(r->session), session_is_stored(r->session));
	next_leave(r);
	return 0;
}

struct other_thread {
	const char *id; /* of the one that is not meant */
	struct thread found;
};

static bool note_other(void *arg, struct thread *t)
{
	struct other_thread *o = arg;

	if (!strcmp(t->id, o->id))
		return true;
	o->found = *t;
	*t = (struct thread){ 0 };
	return false;
}

/* "latest" is the last one of this directory but for the chat's own. */
static int find_latest(struct run *r, struct thread *t, struct error *err)
{
	struct other_thread o = { session_id(r->session), { 0 } };
	const struct thread_filter here = { .cwd = settings_cwd(
						    r->app->settings) };
	struct store *store;

	if (app_store(r->app, &store, err) < 0 ||
	    thread_each(store, &here, note_other, &o, err) < 0)
		return -1;
	*t = o.found;
	if (t->id)
		return 0;
	error_set(err, ERR_NOT_FOUND, "this directory has no other thread");
	return error_hint(err, "/resume lists the threads of all directories.");
}

static int find_thread(struct run *r, const char *name, struct thread *t,
		       struct error *err)
{
	struct store *store;

	return strcmp(name, "latest")
		       ? threads_find(r->app, name, &store, t, err)
		       : find_latest(r, t, err);
}

static void resume(struct run *r, const char *name)
{
	struct thread t = { 0 };
	struct error err = { 0 };

	if (find_thread(r, name, &t, &err) < 0) {
		(void)app_fail(r->app, &err);
		return;
	}
	if (!strcmp(t.id, session_id(r->session))) {
		fprintf(stderr, "This is thread %s.\n", t.id);
		thread_release(&t);
		return;
	}
	if (go_on_with(r, &t, &err) < 0)
		(void)app_fail(r->app, &err);
}

static void choose_thread(struct run *r)
{
	struct error err = { 0 };
	struct thread_choice *c = list_threads(r, &err);
	struct pick p = { .title = "Threads" };
	int chosen;

	if (!c) {
		(void)app_fail(r->app, &err);
		return;
	}
	p.items = c->items;
	p.n = c->n;
	if (!c->n)
		fputs("No threads are stored yet.\n", stderr);
	chosen = c->n ? r->pick(r->ui.arg, &p) : -1;
	if (chosen >= 0)
		resume(r, c->ids[chosen]);
	release_choice(c);
}

bool slash_cmd_resume(struct run *r, int n, char **words)
{
	struct error err = { 0 };

	if (n > 1) {
		error_set(&err, ERR_USAGE, "/resume takes one thread at most");
		error_hint(&err, "Type /resume ID, the start of an id, or "
				 "latest. /resume alone lists them.");
		(void)app_fail(r->app, &err);
	} else if (n) {
		resume(r, words[0]);
	} else {
		choose_thread(r);
	}
	return true;
}

static bool is_resume(const char *word)
{
	return !strcmp(word, "-r") || !strcmp(word, "--resume");
}

bool slash_cmd_threads(struct run *r, int n, char **words)
{
	struct error err = { 0 };

	if (!n) {
		choose_thread(r);
	} else if (is_resume(words[0]) && n <= 2) {
		resume(r, n == 2 ? words[1] : "latest");
	} else if (is_resume(words[0])) {
		error_set(&err, ERR_USAGE,
			  "/threads -r [ID] accepts at most one thread ID");
		(void)app_fail(r->app, &err);
	} else {
		app_borrow_terminal(r->app);
		(void)command_run_words(r->app, &command_threads, n, words);
		app_return_terminal(r->app);
	}
	return true;
}

/* slash_thread.c - /clear, /resume and /threads. */
/* SPDX-License-Identifier: MIT */
/*
 * The first part is the list to choose a thread from (pick_thread()). The
 * threads of this directory come first, then those of other directories, then
 * those of runs without a chat (-n), which are hidden at first. The second part
 * switches to a thread: one of the same sandbox keeps the run, one of another
 * sandbox needs a new run. Begin reading at slash_cmd_resume().
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/chat/ends.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/print.h"
#include "cmd/session/conversation.h"
#include "cmd/session/hooks.h"
#include "cmd/session/open.h"
#include "cmd/session/thread_info.h"
#include "providers/registry.h"

enum { HERE, ELSEWHERE, RUNS }; /* fuzzy_item.group */

enum {
	MOST_CHATS = 500,
	MOST_RUNS = 200,
	MOST_LISTED = MOST_CHATS + MOST_RUNS,
	TEXT_MOST = 1 << 14,
	/* Only so many of a thread's last messages are read for the preview. */
	LAST_MESSAGES = 30,
	PREVIEW_LINES = 12,
};

/* Stored threads as a list to choose from. */
struct thread_choice {
	struct run *run;
	struct store *store;
	struct fuzzy_item items[MOST_LISTED]; /* texts owned */
	struct thread threads[MOST_LISTED];   /* of the items */
	size_t n;
	size_t runs; /* how many are in the group of runs of -n */
};

/* The end of a thread. Both texts are owned, and may be NULL. */
struct thread_end {
	char *prompt, *answer;
};

static struct str detach_str(struct buf *text)
{
	size_t len = text->len;

	return (struct str){ buf_detach(text), len };
}

static bool is_open(const struct run *r, const struct thread *t)
{
	return !strcmp(t->id, session_id(r->session));
}

static unsigned find_group(const struct run *r, const struct thread *t)
{
	if (t->headless && !is_open(r, t))
		return RUNS;
	return strcmp(t->cwd, settings_cwd(r->app->settings)) ? ELSEWHERE
							      : HERE;
}

static const char *describe_time(const struct run *r, const struct thread *t,
				 char room[PRINT_AGE])
{
	if (is_open(r, t))
		return "this one";
	return t->pid ? "in use" : print_age(t->updated, room);
}

/* Adds a stored thread to the list. Its id, model, branch and directory can be
 * searched, too. */
static bool add_choice(void *arg, struct thread *t)
{
	struct thread_choice *c = arg;
	struct fuzzy_item *item = &c->items[c->n];
	const struct app *app = c->run->app;
	const char *const searched[] = { t->id, t->model, t->branch, t->cwd };
	struct buf name = BUF_INIT(TEXT_MOST);
	struct buf other = BUF_INIT(TEXT_MOST);
	struct buf cells = BUF_INIT(TEXT_MOST);
	char room[2 * THREADS_SHORT];

	print_add_line(app, &name, t->title[0] ? t->title : "(no title)");
	for (size_t i = 0; i < sizeof(searched) / sizeof(*searched); i++) {
		print_add_line(app, &other, searched[i]);
		buf_addc(&other, ' ');
	}
	buf_addf(&cells, "%s\t", describe_time(c->run, t, room));
	buf_addf(&cells, "%" PRId64 "\t", t->turns);
	buf_addf(&cells, "%s\t", threads_cost(t, room));
	print_add_line(app, &cells, t->branch[0] ? t->branch : "-");
	buf_addc(&cells, '\t');
	item->name = detach_str(&name);
	item->alias = detach_str(&other);
	item->cells = detach_str(&cells);
	item->group = find_group(c->run, t);
	c->runs += item->group == RUNS;
	c->threads[c->n++] = *t;
	*t = (struct thread){ 0 };
	return c->n < MOST_LISTED;
}

static void release_choice(struct thread_choice *c)
{
	for (size_t i = 0; i < c->n; i++) {
		thread_release(&c->threads[i]);
		free((char *)c->items[i].name.ptr);
		free((char *)c->items[i].alias.ptr);
		free((char *)c->items[i].cells.ptr);
	}
	free(c);
}

/* Lists the newest threads, or returns NULL with err. */
static struct thread_choice *list_threads(struct run *r, struct error *err)
{
	const char *here = settings_cwd(r->app->settings);
	const struct thread_filter chats = { .kind = THREADS_OF_CHATS,
					     .first = here,
					     .limit = MOST_CHATS };
	const struct thread_filter runs = { .kind = THREADS_HEADLESS,
					    .first = here,
					    .limit = MOST_RUNS };
	struct thread_choice *c = xcalloc(1, sizeof(*c));

	c->run = r;
	if (app_store(r->app, &c->store, err) == 0 &&
	    thread_each(c->store, &chats, add_choice, c, err) == 0 &&
	    thread_each(c->store, &runs, add_choice, c, err) == 0)
		return c;
	release_choice(c);
	return NULL;
}

static void add_threads(struct run *r, const char *before, struct buf *out)
{
	struct error ignored = { 0 };
	struct thread_choice *c = list_threads(r, &ignored);

	for (size_t i = 0; c && i < c->n; i++) {
		buf_addf(out, "%s%s\t", before, c->threads[i].id);
		buf_addstr(out, c->items[i].name);
		buf_addc(out, '\n');
	}
	if (c)
		release_choice(c);
}

static bool read_end(void *arg, struct thread_message *m)
{
	struct thread_end *end = arg;
	bool prompt = m->message.role == ROLE_USER;
	char *text = NULL;

	if (m->damaged || m->message.role == ROLE_TOOL)
		return true;
	text = prompt ? message_typed(&m->message) : message_text(&m->message);
	if (!str_trim(str_of(text)).len) {
		free(text);
		return true;
	}
	free(end->answer);
	end->answer = prompt ? NULL : text;
	if (prompt) {
		free(end->prompt);
		end->prompt = text;
	}
	return true;
}

/* Adds the beginning of a text, without empty lines. */
static void add_lines(const struct app *app, const char *before,
		      const char *text, int most, struct buf *out)
{
	struct buf clean = BUF_INIT(64 << 20);
	struct str rest;
	struct str line;
	int n = 0;

	app_clean(app, CLEAN_TEXT, str_of(text), &clean);
	rest = buf_str(&clean);
	while (n < most && str_split(&rest, '\n', &line)) {
		if (!str_trim(line).len)
			continue;
		line.len = str_char_offset(line, TEXT_MOST / PREVIEW_LINES / 4);
		buf_adds(out, before);
		buf_addstr(out, line);
		buf_addc(out, '\n');
		n++;
	}
	buf_release(&clean);
}

/* list_view.preview: where the thread ran, and how it ended. */
static void add_preview(void *arg, size_t i, struct buf *out)
{
	struct thread_choice *c = arg;
	const struct app *app = c->run->app;
	const struct thread *t = &c->threads[i];
	struct thread_end end = { 0 };
	struct thread_sandbox box;
	struct error ignored = { 0 };
	char room[2 * THREADS_SHORT];
	char *cwd = threads_short_path(app, t->cwd);

	threads_read_sandbox(c->store, t->label, &box);
	print_add_line(app, out, cwd);
	buf_adds(out, "  ");
	print_add_line(app, out, t->model);
	buf_addf(out, "  %s\n", threads_place(t, &box, room));
	(void)thread_each_message_from(
		c->store, t->no,
		t->messages > LAST_MESSAGES ? t->messages - LAST_MESSAGES : 0,
		read_end, &end, &ignored);
	add_lines(app, "> ", end.prompt ? end.prompt : t->title, 1, out);
	add_lines(app, "", end.answer, PREVIEW_LINES, out);
	free(end.prompt);
	free(end.answer);
	free(cwd);
}

/* Returns the index of the newest thread that neither this dcode nor another
 * one has open; 0 if there is none. */
static size_t find_usable(const struct thread_choice *c)
{
	size_t i = 0;

	while (i < c->n &&
	       (c->threads[i].pid || is_open(c->run, &c->threads[i])))
		i++;
	return i < c->n ? i : 0;
}

/* Lets the user choose a thread. Returns its id, owned; NULL if the user chose
 * none, if there are no threads (printed on stderr), or with err. */
static char *pick_thread(struct run *r, struct error *err)
{
	struct thread_choice *c = list_threads(r, err);
	const struct list_view view = {
		.columns = { { "when", false },
			     { "turns", true },
			     { "cost", true },
			     { "branch", false } },
		.n_columns = 4,
		.name = "first words",
		.groups = { NULL, "Other directories", "Runs of -n" },
		.hidden = c && c->runs == 1 ? "run of -n" : "runs of -n",
		.preview = add_preview,
		.arg = c,
	};
	struct pick p = { .title = "Threads", .view = &view };
	int chosen = -1;
	char *id = NULL;

	if (!c)
		return NULL;
	p.items = c->items;
	p.n = c->n;
	p.selected = find_usable(c);
	if (c->n)
		chosen = r->pick(r->ui.arg, &p);
	else
		fputs("No threads are stored yet.\n", stderr);
	if (chosen >= 0)
		id = xstrdup(c->threads[chosen].id);
	release_choice(c);
	return id;
}

void slash_list_threads(struct run *r, struct buf *out)
{
	add_threads(r, "", out);
}

void slash_list_thread_words(struct run *r, struct buf *out)
{
	slash_list_subcommands(chat_shell_command(r->app, "/threads"), out);
	add_threads(r, "-r ", out);
}

struct other_thread {
	const char *id; /* id of the thread to skip */
	struct thread found;
};

/* Prints how to return to the previous thread. */
static void print_previous_thread(const char *id, bool stored)
{
	if (stored)
		fprintf(stderr, "Previous thread: /resume %s\n", id);
}

bool slash_cmd_clear(struct run *r, int n, char **words)
{
	bool stored = session_stays(r->session);
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
		fprintf(stderr, "Started new thread.%s\n",
			stored ? " Previous thread: /resume lists it" : "");
	}
	return true;
}

/* True if the thread's tools run in the same place as those of r. */
static bool is_same_place(const struct run *r, const struct thread *t)
{
	if (!run_has_sandbox(r))
		return !t->label[0] && (!t->provider[0] || t->imported ||
					sandbox_is_none(t->provider));
	if (r->box.ours)
		return !strcmp(t->label, r->box.label);
	return !t->imported && !strcmp(t->provider, r->client.provider->name) &&
	       !strcmp(t->sandbox, r->box.sandbox.id);
}

/* Continues with *t, of which it takes ownership. */
static int switch_to_thread(struct run *r, struct thread *t, struct error *err)
{
	const char *const words[] = { "--resume", t->id };
	struct stop stop = app_stop(r->app);
	char *was;
	bool stored;
	int rc;

	if (is_same_place(r, t)) {
		was = xstrdup(session_id(r->session));
		stored = session_stays(r->session);
		rc = conversation_resume(r, t, err);
		if (rc == 0) {
			print_previous_thread(was, stored);
			run_hooks_end(r, "resume");
			rc = run_hooks_start(r, "resume", &stop, err);
		}
		free(was);
		return rc;
	}
	rc = next_open(r, words, 2, false, NULL, err);
	thread_release(t);
	if (rc < 0)
		return -1;
	(void)chat_ask_exit(r, false);
	print_previous_thread(session_id(r->session),
			      session_stays(r->session));
	next_leave(r);
	return 0;
}

static bool copy_other_thread(void *arg, struct thread *t)
{
	struct other_thread *o = arg;

	if (!strcmp(t->id, o->id))
		return true;
	o->found = *t;
	*t = (struct thread){ 0 };
	return false;
}

/* Finds the thread for "latest": the last one of this directory other than the
 * chat's own. */
static int find_latest(struct run *r, struct thread *t, struct error *err)
{
	struct other_thread o = { session_id(r->session), { 0 } };
	const struct thread_filter here = { .cwd = settings_cwd(
						    r->app->settings) };
	struct store *store;

	if (app_store(r->app, &store, err) < 0 ||
	    thread_each(store, &here, copy_other_thread, &o, err) < 0)
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

/* Continues with the named thread, unless it is the current one. */
static void resume_thread(struct run *r, const char *name)
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
	if (switch_to_thread(r, &t, &err) < 0)
		(void)app_fail(r->app, &err);
}

/* Lets the user choose a stored thread and resumes it. */
static void choose_thread(struct run *r)
{
	struct error err = { 0 };
	char *id = pick_thread(r, &err);

	if (id)
		resume_thread(r, id);
	else if (err.code)
		(void)app_fail(r->app, &err);
	free(id);
}

bool slash_cmd_resume(struct run *r, int n, char **words)
{
	struct error err = { 0 };

	if (n > 1) {
		error_set(&err, ERR_USAGE,
			  "/resume accepts at most one thread");
		error_hint(&err,
			   "Type /resume ID (the start of an id is enough) or "
			   "/resume latest. /resume alone lists the threads.");
		(void)app_fail(r->app, &err);
	} else if (n) {
		resume_thread(r, words[0]);
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
		resume_thread(r, n == 2 ? words[1] : "latest");
	} else if (is_resume(words[0])) {
		error_set(&err, ERR_USAGE,
			  "/threads -r [ID] accepts at most one thread ID");
		(void)app_fail(r->app, &err);
	} else {
		(void)command_run_at_terminal(
			r->app, chat_shell_command(r->app, "/threads"), n,
			words);
	}
	return true;
}

bool slash_cmd_queue(struct run *r, int n, char **words)
{
	(void)r;
	(void)n;
	(void)words;
	fputs("No message is queued.\n", stderr);
	return true;
}

void slash_list_queue(struct run *r, struct buf *out)
{
	(void)r;
	buf_adds(out, "clear\tdrop all queued messages\n"
		      "drop \tdrop one, by its number\n");
}

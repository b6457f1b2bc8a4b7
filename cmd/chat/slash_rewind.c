/* slash_rewind.c - /rewind: back to before an earlier prompt, in a copy. */
/* SPDX-License-Identifier: MIT */
/*
 * The list of this thread's prompts, newest first. The chosen one becomes the
 * draft, and the chat continues in a new thread with everything before it. The
 * old thread stays as it is. If turns from there on have changed files in the
 * sandbox, the user chooses whether these go back, too, or alone. Begin reading
 * at slash_cmd_rewind().
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/print.h"
#include "cmd/session/conversation.h"
#include "cmd/session/hooks.h"
#include "cmd/session/undo.h"
#include "session/thread.h"

enum {
	MOST_PROMPTS = 500, /* the newest ones are listed */
	MOST_LINE = 1 << 14,
	PREVIEW_LINES = 12,
	MOST_DRAFT = 64 << 20,
};

/* The prompts of a thread, in their order. */
struct prompt_choice {
	const struct app *app;
	struct earlier_prompt {
		char *typed;    /* owned */
		int64_t before; /* number of messages before it */
		int64_t turn;   /* number of prompts up to it */
		int64_t created;
	} prompts[MOST_PROMPTS];
	struct fuzzy_item items[MOST_PROMPTS]; /* newest first; texts owned */
	size_t n;
	int64_t seen;  /* number of messages so far */
	int64_t turns; /* number of prompts among them */
};

static bool add_prompt(void *arg, struct thread_message *m)
{
	struct prompt_choice *c = arg;
	struct earlier_prompt p = { .before = c->seen++,
				    .created = m->created };

	if (m->damaged || m->message.role != ROLE_USER || m->message.steering ||
	    m->message.summary)
		return true;
	p.turn = ++c->turns;
	p.typed = message_typed(&m->message);
	if (str_starts(str_of(p.typed), MESSAGE_PLAN_ACCEPTED) ||
	    str_starts(str_of(p.typed), MESSAGE_PLAN_CHANGED)) {
		free(p.typed);
		return true;
	}
	if (c->n == MOST_PROMPTS) {
		free(c->prompts[0].typed);
		memmove(c->prompts, c->prompts + 1,
			--c->n * sizeof(*c->prompts));
	}
	c->prompts[c->n++] = p;
	return true;
}

/* Returns the prompt that item i is about. */
static const struct earlier_prompt *prompt_of(const struct prompt_choice *c,
					      size_t i)
{
	return &c->prompts[c->n - 1 - i];
}

static struct str detach_str(struct buf *text)
{
	size_t len = text->len;

	return (struct str){ buf_detach(text), len };
}

static void make_items(struct prompt_choice *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct earlier_prompt *p = prompt_of(c, i);
		struct buf name = BUF_INIT(MOST_LINE);
		struct buf cells = BUF_INIT(MOST_LINE);
		char age[PRINT_AGE];

		print_add_line(c->app, &name, p->typed);
		if (!name.len)
			buf_adds(&name, "(no text)");
		buf_addf(&cells, "%s\t", print_age(p->created, age));
		c->items[i].name = detach_str(&name);
		c->items[i].cells = detach_str(&cells);
	}
}

/* list_view.preview: the whole prompt, and what is left out. */
static void add_preview(void *arg, size_t i, struct buf *out)
{
	struct prompt_choice *c = arg;
	const struct earlier_prompt *p = prompt_of(c, i);
	struct buf clean = BUF_INIT(MOST_DRAFT);
	struct str rest;
	struct str line;
	int n = 0;

	buf_addf(out,
		 "keeps the %" PRId64 " messages before it, leaves out %" PRId64
		 "\n",
		 p->before, c->seen - p->before);
	app_clean(c->app, CLEAN_TEXT, str_of(p->typed), &clean);
	rest = buf_str(&clean);
	while (n++ < PREVIEW_LINES && str_split(&rest, '\n', &line)) {
		line.len = str_char_offset(line, MOST_LINE / PREVIEW_LINES / 4);
		buf_addstr(out, line);
		buf_addc(out, '\n');
	}
	buf_release(&clean);
}

static void release_choice(struct prompt_choice *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->prompts[i].typed);
		free((char *)c->items[i].name.ptr);
		free((char *)c->items[i].cells.ptr);
	}
	free(c);
}

/* Makes the prompt the draft of the chat's screen. A chat in lines cannot fill
 * in a line, so it prints the prompt. */
static void return_prompt(struct run *r, const char *typed)
{
	struct buf clean = BUF_INIT(MOST_DRAFT);

	app_clean(r->app, CLEAN_TEXT, str_trim(str_of(typed)), &clean);
	if (r->theme) {
		free(r->draft);
		r->draft = buf_detach(&clean);
		return;
	}
	fprintf(stderr, "The prompt was:\n%s\n", clean.len ? clean.ptr : "");
	buf_release(&clean);
}

/* What to bring back. */
enum rewind_kind { REWIND_BOTH, REWIND_TALK, REWIND_FILES, REWIND_NOTHING };

/* Asks which, if turns from the prompt on have changed files. */
static enum rewind_kind choose_kind(struct run *r, int64_t turns)
{
	char *both = xasprintf(
		"Conversation and files %s (undoes %" PRId64 " turn%s)",
		run_has_sandbox(r) ? "of the sandbox" : "that file tools wrote",
		turns, turns == 1 ? "" : "s");
	const struct fuzzy_item items[] = {
		[REWIND_BOTH] = { .name = str_of(both) },
		[REWIND_TALK] = { .name = STR("Conversation; files stay") },
		[REWIND_FILES] = { .name = STR("Files; the conversation "
					       "stays") },
	};
	const struct pick p = { .title = "Go back with",
				.items = items,
				.n = REWIND_NOTHING };
	int chosen = turns ? r->pick(r->ui.arg, &p) : REWIND_TALK;

	free(both);
	return chosen < 0 ? REWIND_NOTHING : (enum rewind_kind)chosen;
}

/* Continues in a copy of the messages before the prompt. */
static int fork_thread(struct run *r, const struct thread *t,
		       const struct earlier_prompt *p, enum rewind_kind kind,
		       struct error *err)
{
	struct stop stop = app_stop(r->app);

	if (conversation_rewind(r, t, p->before, err) < 0 ||
	    undo_forked(r, t->id, p->turn, kind == REWIND_BOTH, err) < 0)
		return -1;
	fprintf(stderr,
		"Went back to before this prompt, in a new thread: %s\n"
		"%sPrevious thread: /resume %s\n",
		session_id(r->session),
		kind == REWIND_BOTH ? "" : "Files stay as they are now. ",
		t->id);
	return_prompt(r, p->typed);
	run_hooks_end(r, "resume");
	return run_hooks_start(r, "resume", &stop, err);
}

/* Goes back to before the prompt, with what the user chooses. */
static int go_back(struct run *r, const struct thread *t,
		   const struct earlier_prompt *p, struct error *err)
{
	int64_t turns = 0;
	enum rewind_kind kind;
	int rc = undo_count(r, p->turn, &turns, err);

	if (rc < 0)
		return -1;
	kind = choose_kind(r, turns);
	if (kind == REWIND_BOTH || kind == REWIND_FILES)
		rc = undo_in_chat(r, p->turn, err);
	if (rc == 0 && kind != REWIND_FILES && kind != REWIND_NOTHING)
		rc = fork_thread(r, t, p, kind, err);
	return rc;
}

static int choose_prompt(struct run *r, const struct thread *t,
			 struct store *store, struct error *err)
{
	struct prompt_choice *c = xcalloc(1, sizeof(*c));
	const struct list_view view = { .columns = { { "when", false } },
					.n_columns = 1,
					.name = "prompt",
					.preview = add_preview,
					.arg = c };
	struct pick p = { .title = "Go back to before a prompt",
			  .items = c->items,
			  .view = &view };
	int chosen = -1;
	int rc;

	c->app = r->app;
	rc = thread_each_message(store, t->no, add_prompt, c, err);
	if (rc == 0) {
		make_items(c);
		p.n = c->n;
		chosen = c->n ? r->pick(r->ui.arg, &p) : -1;
	}
	if (chosen >= 0)
		rc = go_back(r, t, prompt_of(c, (size_t)chosen), err);
	release_choice(c);
	return rc;
}

bool slash_cmd_rewind(struct run *r, int n, char **words)
{
	struct thread t = { 0 };
	struct error err = { 0 };
	struct store *store;

	(void)words;
	if (n)
		error_set(&err, ERR_USAGE, "/rewind takes no argument");
	else if (session_is_stored(r->session) &&
		 conversation_is_stored(r, &err) &&
		 app_store(r->app, &store, &err) == 0 &&
		 thread_find(store, session_id(r->session), NULL, &t, &err) ==
			 0)
		(void)choose_prompt(r, &t, store, &err);
	else if (!err.code)
		fputs("This thread has no prompt to go back to.\n", stderr);
	if (err.code)
		(void)app_fail(r->app, &err);
	thread_release(&t);
	return true;
}

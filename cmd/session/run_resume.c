/* run_resume.c - a run that goes on with a stored thread. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/print.h"
#include "cmd/secret.h"
#include "cmd/session/run.h"
#include "cmd/threads/threads_cmd.h"
#include "session/history.h"

enum {
	PROMPT_SHOWN = 200, /* characters of the last prompt */
	ANSWER_LINES = 6,   /* the last ones of the last answer */
};

/* The last one of an agent, where one is named. */
static int find_thread(struct run *r, bool latest, const char *agent,
		       struct store **store, struct error *err)
{
	const char *name = r->options.resume;

	if (!latest || !agent)
		return threads_find(r->app, name[0] ? name : NULL, store,
				    &r->thread, err);
	if (app_store(r->app, store, err) < 0)
		return -1;
	return thread_find_latest(*store, settings_cwd(r->app->settings), agent,
				  &r->thread, err);
}

int run_resume_find(struct run *r, struct error *err)
{
	const char *name = r->options.resume;
	bool latest = name && (!name[0] || !strcmp(name, "latest"));
	const char *agent = r->args ? args_value(r->args, "agent") : NULL;
	struct store *store;

	if (!name)
		return 0;
	if (find_thread(r, latest, agent, &store, err) == 0)
		return 0;
	if (!latest || err->code != ERR_NOT_FOUND || r->app->unattended)
		return -1;
	*err = (struct error){ 0 };
	fputs("No earlier thread in this directory; starting a new one.\n",
	      stderr);
	return 0;
}

/* 1 yes, 0 no or nobody to ask. */
static int confirm(const struct run *r, const char *question, struct error *err)
{
	if (!r->interactive || !secret_terminal(r->app))
		return 0;
	return secret_confirm(r->app, question, err);
}

/* The files that the thread speaks of are elsewhere. */
static int check_directory(struct run *r, struct error *err)
{
	const char *here = settings_cwd(r->app->settings);
	struct buf line = BUF_INIT(1 << 16);
	int rc = 0;

	if (!r->thread.cwd[0] || !strcmp(r->thread.cwd, here))
		return 0;
	print_add_line(r->app, &line, r->thread.cwd);
	if (!r->options.quiet)
		app_warn("this thread was last used in %s", line.ptr);
	if (r->interactive) {
		rc = confirm(r, "Continue it in this directory? [y/N] ", err);
		if (rc == 0) {
			error_set(err, ERR_NOT_FOUND,
				  "thread %s was not resumed: it belongs to "
				  "another directory",
				  r->thread.id);
			error_hint(err, "cd %s && dcode -r %s", line.ptr,
				   r->thread.id);
		}
		rc = rc > 0 ? 0 : -1;
	}
	buf_release(&line);
	return rc;
}

/* In use by another: a copy is made where the user wants one. */
static int offer_copy(struct run *r, int64_t pid, struct error *err)
{
	struct error ignored = { 0 };
	int rc;

	if (r->interactive)
		fprintf(stderr,
			"Thread %s is in use by another dcode (pid %" PRId64
			").\n",
			r->thread.id, pid);
	rc = confirm(r, "Continue in a copy? [y/N] ", &ignored);
	if (rc > 0)
		return 0;
	error_wrap(err, "thread %s", r->thread.id);
	return error_hint(err,
			  "-r %s --fork continues in a copy; `dcode threads "
			  "show %s` prints it.",
			  r->thread.id, r->thread.id);
}

int run_resume_begin(struct run *r, struct error *err)
{
	const struct session_info none = { 0 };
	struct store *store;
	int64_t pid = 0;

	if (!r->thread.id)
		return 0;
	if (app_store(r->app, &store, err) < 0 || check_directory(r, err) < 0)
		return -1;
	if (!r->options.fork) {
		if (session_resume(&r->session, store, &r->thread, &none, &pid,
				   err) == 0)
			return 0;
		if (err->code != ERR_BUSY || !pid ||
		    offer_copy(r, pid, err) < 0)
			return -1;
		r->options.fork = true;
	}
	r->session = session_copy(store, &r->thread, &none);
	return 0;
}

static const struct message *last_of(const struct conversation *c,
				     enum role role)
{
	for (size_t i = c->n; i > 0; i--)
		if (c->list[i - 1].role == role && !c->list[i - 1].summary)
			return &c->list[i - 1];
	return NULL;
}

/* The text of a message, masked and without controls. */
static void clean_text(const struct run *r, const struct message *m,
		       struct buf *out)
{
	struct buf masked = BUF_INIT(64 << 20);
	char *text = !m                     ? NULL
		     : m->role == ROLE_USER ? message_typed(m)
					    : message_text(m);

	mask_text(r->app->mask, str_of(text), &masked);
	sanitize_text(str_trim(buf_str(&masked)), out);
	buf_release(&masked);
	free(text);
}

/* From the beginning of the last n lines on. */
static struct str last_lines(struct str text, int n)
{
	size_t at = text.len;

	while (at > 0 && (text.ptr[at - 1] != '\n' || --n > 0))
		at--;
	return str_skip(text, at);
}

static void show_last(struct run *r, const struct conversation *c)
{
	struct buf prompt = BUF_INIT(64 << 20);
	struct buf answer = BUF_INIT(64 << 20);
	struct buf title = BUF_INIT(1 << 12);
	struct str line;
	struct str rest;
	char age[THREADS_SHORT];

	print_add_line(r->app, &title, r->thread.title);
	fprintf(stderr, "%s thread %s: %s (%" PRId64 " messages, %s)\n",
		r->options.fork ? "Copied" : "Resumed", r->thread.id,
		title.len ? title.ptr : "-", r->thread.messages,
		threads_age(r->thread.updated, age));
	clean_text(r, last_of(c, ROLE_USER), &prompt);
	line = buf_str(&prompt);
	line.len = str_find(line, '\n');
	line.len = str_char_offset(line, PROMPT_SHOWN);
	fprintf(stderr, "\n> %.*s%s\n", (int)line.len, line.ptr,
		line.len < prompt.len ? " ..." : "");
	clean_text(r, last_of(c, ROLE_ASSISTANT), &answer);
	rest = last_lines(buf_str(&answer), ANSWER_LINES);
	if (rest.len)
		fprintf(stderr, "%s%.*s\n",
			rest.len < answer.len ? "...\n" : "", (int)rest.len,
			rest.ptr);
	buf_release(&prompt);
	buf_release(&answer);
	buf_release(&title);
}

/* What one vendor has signed or thought means nothing to another. */
static void warn_vendor(const struct run *r)
{
	struct str was = str_of(r->thread.model);
	struct buf line = BUF_INIT(1 << 12);

	was.len = str_find(was, ':');
	if (!was.len || r->options.quiet || str_is(was, r->choice.provider))
		return;
	print_add_line(r->app, &line, r->thread.model);
	app_warn("this thread used %s before; that model's thinking is not "
		 "sent to %s",
		 line.ptr, r->choice.provider);
	buf_release(&line);
}

int run_resume_load(struct run *r, struct error *err)
{
	struct conversation c;
	struct store *store;
	int rc;

	if (!r->thread.id)
		return 0;
	if (app_store(r->app, &store, err) < 0 ||
	    history_load(&c, store, r->thread.no, err) < 0)
		return -1;
	if (c.damaged)
		app_warn("%zu messages of this thread cannot be read and are "
			 "skipped",
			 c.damaged);
	warn_vendor(r);
	rc = run_push_history(r, &c, err);
	/* Large results are files named by a number: the next must be free. */
	r->stored_results = (unsigned)c.results;
	if (rc == 0 && r->interactive)
		show_last(r, &c);
	history_release(&c);
	return rc;
}

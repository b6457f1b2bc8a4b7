/* next.c - replaces a chat's run by another one, including its sandbox. */
/* SPDX-License-Identifier: MIT */

/*
 * In a chat, /resume and /sandbox switch continue with another run. next_open()
 * builds the command line that would open the new run and opens it while the
 * old one still exists. Then it moves what both share to the new run: thread,
 * permissions, MCP servers, hooks. On failure the old run is restored
 * (undo_open()). The caller ends the old run with next_leave().
 */
#include "cmd/session/next.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/options.h"
#include "cmd/session/conversation.h"
#include "cmd/session/grants.h"
#include "cmd/session/hooks.h"
#include "cmd/session/open.h"
#include "cmd/session/run.h"
#include "cmd/session/transfer.h"
#include "sandbox/sandbox.h"

enum { MOST_WORDS = NEXT_WORDS + 24 };

struct next {
	struct run run; /* first member: next_free() casts a run to this */
	struct args args;
	char *words[MOST_WORDS + 1]; /* owned */
	int n;
};

static void add_word(struct next *next, const char *word)
{
	if (next->n < MOST_WORDS)
		next->words[next->n++] = xstrdup(word);
}

/* Copies a flag from r's command line, if it was given there. */
static void add_flag(struct next *next, const struct run *r, const char *name)
{
	const char *value = args_value(r->args, name);
	char *dashed;

	if (!value)
		return;
	dashed = xasprintf("--%s", name);
	add_word(next, dashed);
	free(dashed);
	if (args_row(options_global, name)->kind == ARG_VALUE)
		add_word(next, value);
}

/* Copies flags from r's command line. makes: also the flags for creating a
 * sandbox, so that a new sandbox is like r's. */
static void add_flags(struct next *next, const struct run *r, bool makes)
{
	static const char *const always[] = {
		"shell-allow-list",  "trust-project", "trust-project-hooks",
		"trust-project-mcp", "effort",        "max-retries",
		"mcp-config",        "no-mcp",        "allow-fs-tools",
	};
	static const char *const making[] = { "sandbox-setup", "workspace",
					      "history", "keep", "on-exit" };
	const char *pattern;
	size_t at = 0;

	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		add_flag(next, r, always[i]);
	for (size_t i = 0; makes && i < sizeof(making) / sizeof(*making); i++)
		add_flag(next, r, making[i]);
	while (makes && (pattern = args_next(r->args, "include", &at))) {
		add_word(next, "--include");
		add_word(next, pattern);
	}
}

static bool has_word(const char *const *words, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(words[i], word))
			return true;
	return false;
}

/* The words of the slash command come first, so they take precedence over r's
 * flags. */
static int read_words(struct next *next, const struct run *r,
		      const char *const *words, size_t n, struct error *err)
{
	bool same_thread = next->run.session;
	bool makes = same_thread && !has_word(words, n, "none") &&
		     !has_word(words, n, "--sandbox-id");
	const struct network *network = &r->options.network;
	char *model = run_model_name(r);

	for (size_t i = 0; i < n; i++)
		add_word(next, words[i]);
	add_flags(next, r, makes);
	if (same_thread) {
		add_word(next, "--agent");
		add_word(next, r->options.agent);
		add_word(next, "--model");
		add_word(next, model);
	}
	if (same_thread && r->choice.params) {
		add_word(next, "--model-params");
		add_word(next, r->choice.params);
	}
	free(model);
	if (args_parse(&next->args, options_global, options_run, next->n,
		       next->words, err) < 0 ||
	    run_read_flags(&next->run, &next->args, err) < 0)
		return -1;
	/* Keeps the network limited, even if the new run is of another thread
	 * or acts on this machine. */
	if (network->mode == NETWORK_NONE || network->mode == NETWORK_LIST ||
	    (makes && !next->run.options.network.mode))
		network_copy(&next->run.options.network, network);
	return 0;
}

/* True if r, or r once its plan is accepted, runs every call. */
static bool allows_all_in_time(const struct run *r)
{
	return run_allows_all(r) ||
	       (r->mode == RUN_PLAN && r->before_plan == RUN_YOLO);
}

/* Copies the permissions of r to n. Two cases start without them: n acts on
 * this machine, but r's permission for everything was given for a sandbox; or
 * the user has just declined to run calls without asking in n's sandbox. */
static void copy_permissions(struct run *n, const struct run *r)
{
	bool comes_out = !sandbox_acts_on_host(&r->box.sandbox) &&
			 sandbox_acts_on_host(&n->box.sandbox);

	if (!n->declined && !(comes_out && allows_all_in_time(r))) {
		n->options.yes = r->options.yes;
		n->mode = r->mode;
		n->before_plan = comes_out && r->before_plan == RUN_YOLO
					 ? RUN_MANUAL
					 : r->before_plan;
		return;
	}
	n->options.yes = false;
	n->mode = r->mode == RUN_PLAN ? RUN_PLAN : RUN_MANUAL;
	fputs(n->declined ? "dcode now asks about each call.\n"
			  : "Tools now act on this machine: dcode asks about "
			    "each call again.\n",
	      stderr);
}

/* Moves the thread to n, with its counters. */
static void move_thread(struct run *n, struct run *r)
{
	r->thread = (struct thread){ 0 };
	r->session = NULL;
	n->agent.usage = r->agent.usage;
	n->agent.saved_results = r->agent.saved_results;
	n->agent.finish = r->agent.finish;
	buf_addstr(&n->agent.answer, buf_str(&r->agent.answer));
}

/* Opens n. If n continues r's thread, loads the history into n's model. */
static int open_run(struct run *n, struct run *r, struct error *err)
{
	struct stop stop = app_stop(r->app);

	n->mcp = r->mcp; /* the servers keep running */
	if (run_open(n, &stop, err) < 0)
		return -1;
	if (n->session != r->session)
		return 0;
	n->thread = r->thread;
	return conversation_load(n, err);
}

/* A change of the sandbox does not end the thread, so the hooks get no
 * SessionEnd and SessionStart. */
static int follow_hooks(struct run *n, struct run *r, bool same_thread,
			struct error *err)
{
	struct stop stop = app_stop(r->app);

	if (same_thread) {
		run_hooks_follow(n);
		r->agent.hooks = NULL;
		return 0;
	}
	run_hooks_end(r, "resume");
	return run_hooks_start(n, "resume", &stop, err);
}

/* Undoes a failed next_open(): gives the thread back to r and closes n, or
 * lists n in r->leaving while its sandbox is being deleted. */
static void undo_open(struct run *n, struct run *r)
{
	struct error ignored = { 0 };

	if (n->session && n->session == r->session) {
		(void)run_name_session(r, &ignored);
		n->session = NULL;
		n->thread = (struct thread){ 0 };
	}
	n->mcp = r->mcp ? NULL : n->mcp;
	run_hooks_follow(r); /* open_run() may have attached them to n */
	if (n->box.ending) {
		n->leaving = r->leaving;
		r->leaving = n;
		return;
	}
	run_close(n);
	next_free(n);
}

/* Waits until the sandboxes of failed next_open() calls are deleted. */
static int await_old_sandboxes(struct run *r, struct error *err)
{
	struct stop stop = app_stop(r->app);
	const struct run *n = r->leaving;

	for (; n; n = n->leaving)
		if (lifecycle_await_ending(&n->box, &stop, err) < 0)
			return -1;
	next_finish(r);
	return 0;
}

void next_finish(struct run *r)
{
	while (r->leaving) {
		struct run *n = r->leaving;

		r->leaving = n->leaving;
		run_close(n);
		next_free(n);
	}
}

/* First waits for the deletion of sandboxes that failed calls have left, so
 * that there is at most one besides r's. */
int next_open(struct run *r, const char *const *words, size_t n_words,
	      bool same_thread, struct error *err)
{
	struct next *next;
	struct run *n;

	if (await_old_sandboxes(r, err) < 0)
		return -1;
	next = xcalloc(1, sizeof(*next));
	n = &next->run;
	*n = (struct run){ .app = r->app,
			   .interactive = r->interactive,
			   .stop = r->stop,
			   .theme = r->theme,
			   .show_thinking = r->show_thinking,
			   .ui = r->ui,
			   .pick = r->pick,
			   .raise = r->raise,
			   .go_on = r->go_on,
			   .push = r->push,
			   .steering = r->steering,
			   .on_job_end = r->on_job_end,
			   .args = &next->args,
			   .made = true };
	if (same_thread && !conversation_is_stored(r, err)) {
		undo_open(n, r);
		return -1;
	}
	n->session = same_thread ? r->session : NULL;
	if (read_words(next, r, words, n_words, err) < 0 ||
	    open_run(n, r, err) < 0) {
		undo_open(n, r);
		return -1;
	}
	if (follow_hooks(n, r, same_thread, err) < 0) {
		undo_open(n, r);
		return -1;
	}
	copy_permissions(n, r);
	/* safe, because each grant names its sandbox */
	grants_inherit(&n->grants, &r->grants);
	n->switched = r->switched + !same_thread;
	n->began = r->began;
	if (same_thread)
		move_thread(n, r);
	r->mcp = NULL; /* moved to n */
	r->next = n;
	return 0;
}

void next_leave(struct run *r)
{
	struct error err = { 0 };

	if (run_download(r, &err) < 0)
		(void)app_fail(r->app, &err);
	next_finish(r);
	run_close(r);
}

void next_free(struct run *r)
{
	struct next *next = (struct next *)r;

	if (!r || !r->made)
		return;
	args_release(&next->args);
	for (int i = 0; i < next->n; i++)
		free(next->words[i]);
	free(next);
}

/* run_promise.c - the sandbox of a run as a promise. */
/* SPDX-License-Identifier: MIT */

/*
 * The agent need not wait for its sandbox to ask the model: where the prompt is
 * known to be the same afterwards, run_open() leaves the making to a thread of
 * this file and returns once no question is left. The agent runs as it always
 * does; agent.await, which it calls before the tools of the first answer run,
 * is await() below. Begin reading at run_promise_begin().
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/secret.h"
#include "cmd/session/conversation.h"
#include "cmd/session/jobs.h"
#include "cmd/session/run.h"
#include "cmd/session/yolo.h"
#include "mcp/mcp.h"
#include "sandbox/place.h"
#include "session/consent.h"
#include "tree/user_repo.h"

struct promise {
	struct cancel_chain makes; /* ends the making */
	struct cancel_chain asks;  /* ends the request, where that has failed */
	struct stop stop;          /* of the making */
	char *expected; /* the directory, as the model was told; owned */
	pthread_t thread;
	bool joined; /* the agent's: it has ended */
	/* Under the lock: */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool asked; /* the user has answered what there was to ask */
	bool ended;
	int rc;
	struct error err;
};

static bool is_on(const struct run *r)
{
	struct error ignored = { 0 };
	bool on = false;

	return settings_bool(r->app->settings, NULL, "sandboxes.overlap", &on,
			     &ignored) == 0 &&
	       on;
}

/* What changes the prompt, or has to happen before it, in the sandbox. */
static bool needs_sandbox(const struct run *r)
{
	const struct run_options *o = &r->options;
	bool names_file = o->task && strchr(o->task, '@');
	bool has_tree = o->workspace && !strcmp(o->workspace, "repo");

	return names_file || o->startup ||
	       ((o->apply || o->branch) && !has_tree);
}

/* A question about the sandbox that is asked once there is one. */
static bool asks_later(const struct run *r)
{
	const struct run_options *o = &r->options;

	return r->interactive && ((o->sandbox_id && !o->asks_given) ||
				  (o->yolo && !yolo_acknowledged(r->app)));
}

/* Of servers whose tools are not known from before. */
static bool waits_for_tools(const struct run *r)
{
	struct mcp_status st;

	for (size_t i = 0; r->mcp && i < mcp_count(r->mcp); i++) {
		mcp_server_status(mcp_server(r->mcp, i), &st);
		if (st.state == MCP_STARTING)
			return true;
	}
	return false;
}

bool run_promise_can(struct run *r)
{
	bool attaches = r->options.sandbox_id || r->thread.id;
	struct error err = { 0 };
	struct store *store;
	const char *dir;

	if (!r->promises || r->host.provider->flags & SANDBOX_UNISOLATED ||
	    !is_on(r) || needs_sandbox(r) || asks_later(r) ||
	    waits_for_tools(r) || run_jobs_pending(r))
		return false;
	/* the sandbox of a thread may be gone: then a new one is made */
	dir = place_expect(&r->host, attaches);
	if (!dir || (r->thread.id && !place_expect(&r->host, false)) ||
	    app_store_beside(r->app, &store, &err) < 0)
		return false;
	/* the making has the other connection for itself */
	r->store = store;
	if (r->session)
		session_set_store(r->session, store);
	r->box.sandbox =
		(struct sandbox){ .host = &r->host, .workdir = xstrdup(dir) };
	return true;
}

/* Whether the user will be asked if his tree may be sent. */
static bool asks_about_tree(const struct run *r)
{
	struct error ignored = { 0 };
	bool is_repository = false;
	struct store *store;
	bool asked = false;
	char *root;

	if (!r->interactive || r->options.workspace || r->options.sandbox_id ||
	    !secret_terminal(r->app))
		return false;
	root = user_repo_root(settings_cwd(r->app->settings), &is_repository,
			      &ignored);
	if (root && is_repository)
		asked = app_store(r->app, &store, &ignored) == 0 &&
			consent_get(store, root, r->host.provider->name, &asked,
				    &ignored) >= 0 &&
			asked;
	free(root);
	return is_repository && !asked;
}

void run_promise_answered(struct run *r)
{
	struct promise *p = r->promise;

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->asked = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

void run_promise_begins(void *arg)
{
	struct run *r = arg;

	if (r->promise && !asks_about_tree(r))
		run_promise_answered(r);
}

/* So that a kill before the first answer's end leaves the sandbox to the
 * thread: its own connection may be writing, this one is the making's. */
static void place_thread(struct run *r)
{
	const struct session_info info = {
		.provider = r->host.provider->name,
		.sandbox = r->box.sandbox.id,
		.label = r->box.ours ? r->box.label : "",
	};
	struct error ignored = { 0 };
	struct store *store;

	if (r->session && app_store(r->app, &store, &ignored) == 0)
		(void)session_place_thread(store, session_id(r->session), &info,
					   &ignored);
}

static void *make(void *arg)
{
	struct run *r = arg;
	struct promise *p = r->promise;
	struct error err = { 0 };
	int rc = run_open_sandbox(r, &p->stop, &err);

	if (rc == 0)
		place_thread(r);
	pthread_mutex_lock(&p->lock);
	p->ended = true;
	p->rc = rc;
	p->err = err;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	if (rc < 0)
		cancel_trigger(&p->asks.cancel);
	if (r->came)
		r->came(r->ui.arg);
	return NULL;
}

static void release(struct run *r)
{
	struct promise *p = r->promise;

	r->promise = NULL;
	cancel_chain_release(&p->makes);
	cancel_chain_release(&p->asks);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->changed);
	free(p->expected);
	free(p);
}

static int start(struct run *r, struct error *err)
{
	sigset_t all;
	sigset_t before;
	int rc;

	sigfillset(&all); /* signals are for the other threads */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&r->promise->thread, NULL, make, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0)
		return 0;
	errno = rc;
	return error_errno(err, "starting a thread");
}

bool run_is_promised(const struct run *r)
{
	return r->promise && !r->promise->joined;
}

bool run_has_come(const struct run *r)
{
	struct promise *p = r->promise;
	bool come;

	if (!run_is_promised(r))
		return !p || p->rc == 0;
	pthread_mutex_lock(&p->lock);
	come = p->ended && p->rc == 0 && place_is(&r->box.sandbox, p->expected);
	pthread_mutex_unlock(&p->lock);
	return come;
}

bool run_promise_ended(const struct run *r)
{
	bool ended;

	if (!run_is_promised(r))
		return true;
	pthread_mutex_lock(&r->promise->lock);
	ended = r->promise->ended;
	pthread_mutex_unlock(&r->promise->lock);
	return ended;
}

static void join(struct run *r)
{
	pthread_join(r->promise->thread, NULL);
	r->promise->joined = true;
	r->agent.await = NULL;
}

/* The model was told of another place: what it says is of no use. 1. */
static int ask_anew(struct run *r, struct error *err)
{
	if (r->agent.has_answer && r->session &&
	    session_drop_last(r->session, err) < 0)
		return -1;
	model_close(r->model);
	r->agent.model = r->model = NULL;
	if (run_open_model(r, err) < 0)
		return -1;
	r->agent.model = r->model;
	run_set_window(r);
	return conversation_load(r, err) < 0 ? -1 : 1;
}

static int await(void *arg, struct error *err)
{
	struct run *r = arg;
	const struct promise *p = r->promise;
	struct error ignored = { 0 };

	join(r);
	if (p->rc < 0) {
		*err = p->err;
		return -1;
	}
	if (run_name_session(r, err) < 0)
		return -1;
	(void)session_store_info(r->session, &ignored); /* the next one will */
	if (run_open_rest(r, err) < 0 ||
	    (r->opened && r->opened(r->ui.arg, err) < 0))
		return -1;
	if (!place_is(&r->box.sandbox, p->expected))
		return ask_anew(r, err);
	r->agent.untold_dir = r->box.sandbox.made_dir != NULL;
	return 0;
}

int run_promise_begin(struct run *r, const struct stop *stop, struct error *err)
{
	struct promise *p = xcalloc(1, sizeof(*p));
	bool failed;

	p->expected = r->box.sandbox.workdir;
	r->box.sandbox = (struct sandbox){ 0 };
	p->stop = *stop;
	p->makes = p->asks = (struct cancel_chain){ { { -1, -1 } }, -1 };
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	r->promise = p;
	if (cancel_chain_init(&p->makes, stop->cancel, err) < 0 ||
	    cancel_chain_init(&p->asks, stop->cancel, err) < 0)
		goto fail;
	p->stop.cancel = &p->makes.cancel;
	if (start(r, err) < 0)
		goto fail;
	pthread_mutex_lock(&p->lock);
	while (!p->asked && !p->ended)
		pthread_cond_wait(&p->changed, &p->lock);
	failed = p->ended && p->rc < 0;
	pthread_mutex_unlock(&p->lock);
	r->agent.await = await;
	r->agent.await_arg = r;
	return failed ? await(r, err) : 0;
fail:
	release(r);
	return -1;
}

int run_await(struct run *r, struct error *err)
{
	return run_is_promised(r) && await(r, err) < 0 ? -1 : 0;
}

void run_promise_end(struct run *r)
{
	if (!r->promise)
		return;
	if (!r->promise->joined) {
		cancel_trigger(&r->promise->makes.cancel);
		join(r);
	}
	release(r);
}

/* The agent has ended before its tools: with rc and err. A run without a user
 * ends then, and so does the making; a chat goes on in its sandbox. */
static int settle(struct run *r, int rc, const struct stop *stop,
		  struct error *err)
{
	const struct promise *p = r->promise;
	struct error ignored = { 0 };
	struct error why = { 0 };

	if (rc < 0 && !r->interactive) {
		cancel_trigger(&p->makes.cancel);
		join(r);
		/* why the request was cut, where that was not the user */
		if (p->rc < 0 && err->code == ERR_CANCELLED &&
		    stop_check(stop, &ignored) == 0)
			*err = p->err;
		return -1;
	}
	if (await(r, &why) >= 0)
		return rc;
	if (rc == 0 || stop_check(stop, &ignored) == 0)
		*err = why;
	return -1;
}

int run_agent(struct run *r, const char *prompt, const struct stop *stop,
	      struct error *err)
{
	struct stop both = *stop;
	int rc;

	if (!run_is_promised(r))
		return agent_run(&r->agent, prompt, stop, err);
	both.cancel = &r->promise->asks.cancel;
	rc = agent_run(&r->agent, prompt, &both, err);
	return run_is_promised(r) ? settle(r, rc, stop, err) : rc;
}

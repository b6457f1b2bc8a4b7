/* conversation.c - the model and the thread of a run, and changing them. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/conversation.h"

#include <string.h>

#include "session/history.h"

bool conversation_is_stored(const struct run *r, struct error *err)
{
	if (r->agent.session)
		return true;
	error_set(err, ERR_SYSTEM, "cannot switch: this thread was not saved");
	error_hint(err, "/clear starts a new thread.");
	return false;
}

/* The messages of a copy that has not gone on yet are those of the thread that
 * it was made of. */
static int find_number(const struct run *r, struct store *store, int64_t *no,
		       struct error *err)
{
	struct thread t = { 0 };

	*no = r->thread.id ? r->thread.no : 0;
	if (!session_is_stored(r->session))
		return 0;
	if (thread_find(store, session_id(r->session), NULL, &t, err) < 0)
		return -1;
	*no = t.no;
	thread_release(&t);
	return 0;
}

int conversation_load(struct run *r, struct error *err)
{
	struct conversation c = { 0 };
	struct store *store;
	int64_t no = 0;
	int rc;

	if (app_store_later(r->app, &store, err) < 0 ||
	    find_number(r, store, &no, err) < 0)
		return -1;
	if (!no)
		return 0;
	if (history_load(&c, store, no, err) < 0)
		return -1;
	c.tokens = 0; /* as another model counts */
	rc = run_push_history(r, &c, err);
	history_release(&c);
	return rc;
}

static bool is_about_todos(const struct message *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].name && !strcmp(m->parts[i].name, TODOS_TOOL))
			return true;
	return false;
}

static bool gather_todos(void *arg, struct thread_message *m)
{
	struct conversation *c = arg;

	if (!m->damaged && is_about_todos(&m->message)) {
		history_add(c, &m->message);
		m->message = (struct message){ 0 };
	}
	return true;
}

int conversation_todos(struct run *r, struct todos *t, struct error *err)
{
	struct conversation c = { 0 };
	const struct part *call = NULL;
	struct store *store;
	int64_t no = 0;
	int rc = -1;

	if (app_store_later(r->app, &store, err) == 0 &&
	    find_number(r, store, &no, err) == 0)
		rc = no ? thread_each_message(store, no, gather_todos, &c, err)
			: 0;
	if (rc == 0)
		call = todos_latest(c.list, c.n);
	if (call)
		(void)todos_read(t, call);
	history_release(&c);
	return rc;
}

int conversation_set_model(struct run *r, const char *spec, const char *params,
			   struct error *err)
{
	struct model_choice choice = r->choice;
	struct model *model = r->model;
	struct window window = r->agent.window;

	if (!conversation_is_stored(r, err))
		return -1;
	r->choice = (struct model_choice){ 0 };
	r->model = NULL;
	if (model_choose(&r->choice, r->app->settings, spec, params, err) < 0 ||
	    run_open_model(r, err) < 0 || conversation_load(r, err) < 0 ||
	    run_name_session(r, err) < 0) {
		error_topic(err, "models");
		if (r->model)
			model_close(r->model);
		model_choice_release(&r->choice);
		r->choice = choice;
		r->model = model;
		r->agent.window = window;
		window_probe_free(r->agent.probe);
		r->agent.probe = NULL;
		return -1;
	}
	run_set_window(r);
	run_watch_key(r);
	model_close(model);
	model_choice_release(&choice);
	r->agent.model = r->model;
	return 0;
}

/* What of a run is a conversation. */
struct talk {
	struct session *session;
	struct model *model;
	struct model_choice choice;
	struct thread thread;
	const char *model_option, *params;
	bool fork;
	struct window window;
};

static struct talk take_out(struct run *r)
{
	struct talk t = { r->session,       r->model,
			  r->choice,        r->thread,
			  r->options.model, r->options.model_params,
			  r->options.fork,  r->agent.window };

	r->session = NULL;
	r->model = NULL;
	r->choice = (struct model_choice){ 0 };
	r->thread = (struct thread){ 0 };
	return t;
}

static void release_talk(struct talk *t)
{
	session_free(t->session);
	if (t->model)
		model_close(t->model);
	model_choice_release(&t->choice);
	thread_release(&t->thread);
}

static void put_back(struct run *r, const struct talk *t)
{
	struct talk begun = take_out(r);

	release_talk(&begun);
	r->session = t->session;
	r->model = t->model;
	r->choice = t->choice;
	r->thread = t->thread;
	r->options.model = t->model_option;
	r->options.model_params = t->params;
	r->options.fork = t->fork;
	r->agent.window = t->window;
	window_probe_free(r->agent.probe);
	r->agent.probe = NULL;
	r->box.request.thread = session_id(r->session);
}

/* The agent begins anew, with what the run has now. */
static void begin_agent(struct run *r)
{
	r->agent.model = r->model;
	r->agent.session = r->session;
	r->agent.thread = session_id(r->session);
	r->agent.saved_results = r->stored_results;
	r->agent.usage = (struct usage){ 0 };
	r->agent.finish = 0;
	buf_clear(&r->agent.answer);
	r->switched++;
}

static int open_conversation(struct run *r, struct error *err)
{
	if (run_name_session(r, err) < 0 || run_open_model(r, err) < 0)
		return -1;
	r->box.request.thread = session_id(r->session);
	return 0;
}

int conversation_begin(struct run *r, struct error *err)
{
	struct talk was = take_out(r);

	r->choice = was.choice;
	was.choice = (struct model_choice){ 0 };
	if (open_conversation(r, err) < 0) {
		was.choice = r->choice;
		r->choice = (struct model_choice){ 0 };
		put_back(r, &was);
		return -1;
	}
	release_talk(&was);
	run_set_window(r);
	r->stored_results = 0;
	begin_agent(r);
	return 0;
}

int conversation_resume(struct run *r, struct thread *t, struct error *err)
{
	struct talk was = take_out(r);

	r->thread = *t;
	*t = (struct thread){ 0 };
	r->options.model = r->options.model_params = NULL;
	r->options.fork = false;
	if (run_resume_begin(r, err) < 0 || run_choose_model(r, err) < 0 ||
	    open_conversation(r, err) < 0 || run_resume_load(r, err) < 0) {
		put_back(r, &was);
		return -1;
	}
	release_talk(&was);
	begin_agent(r);
	return 0;
}

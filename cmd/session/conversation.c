/* conversation.c - the model and the thread of a run, and switching them. */
/* SPDX-License-Identifier: MIT */

/*
 * A conversation is a model with its prompt and tools, a thread in the
 * database, and the size of the model's context window. run_open() (open.c)
 * creates one with run_choose_model(), run_name_session(), run_open_model() and
 * run_resume_load(). The conversation_*() functions change it between two
 * prompts and restore the old state on failure.
 *
 * The database holds the authoritative history. Whenever the model changes, the
 * new model's history is rebuilt from it (run_push_history()).
 */
#include "cmd/session/conversation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/prompt.h"
#include "agent/replay.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/hosts.h"
#include "cmd/print.h"
#include "cmd/secret.h"
#include "cmd/session/money.h"
#include "cmd/session/policy.h"
#include "cmd/session/run.h"
#include "cmd/session/skills.h"
#include "cmd/session/tools.h"
#include "cmd/subagents/run_subagents.h"
#include "mcp/mcp.h"
#include "model/catalog.h"
#include "session/history.h"

enum {
	MAX_PROMPT = 1 << 20,
	MOST_TOOLS = 64 + MCP_ALL_TOOLS_MAX,
};

struct offer { /* the tools offered to the model; free with free_offer() */
	struct tool_spec specs[MOST_TOOLS]; /* each with an owned schema */
	size_t n;
	char *task; /* description of the task tool for this run; owned */
	bool runs_commands; /* at least once plan mode is over */
};

/* Adds the tools of list that this run offers. later: also those that are
 * otherwise offered only after a compaction. */
static void add_tools(struct offer *o, struct run *r, bool later,
		      const struct tool *const *list)
{
	for (size_t i = 0; list && list[i] && o->n < MOST_TOOLS; i++) {
		if (!run_offers(r, list[i]) ||
		    (!later && list[i]->flags & TOOL_LATER))
			continue;
		o->runs_commands |= (list[i]->flags & TOOL_RUNS) != 0;
		if (plan_mode_hides(r, list[i]))
			continue;
		o->specs[o->n] = list[i]->spec;
		if (list[i]->flags & TOOL_DELEGATES)
			o->specs[o->n].description = o->task =
				run_subagents_task(r, list[i]);
		o->specs[o->n++].schema = tool_schema(
			list[i],
			list[i]->flags & TOOL_RUNS &&
				hosts_are_offered(
					&r->client,
					/* promised: not there yet */
					r->agent.await ? NULL : &r->box.sandbox,
					&r->options.network));
	}
}

/* Lists every tool that this run offers, built-in and from MCP servers. later
 * as in add_tools(). */
static struct offer *new_offer(struct run *r, bool later)
{
	struct offer *o = xcalloc(1, sizeof(*o));

	r->offers_plan = r->mode == RUN_PLAN;
	add_tools(o, r, later, tools);
	add_tools(o, r, later, run_mcp_tools(r));
	return o;
}

static void free_offer(struct offer *o)
{
	for (size_t i = 0; i < o->n; i++)
		free((char *)o->specs[i].schema);
	free(o->task);
	free(o);
}

/* Drops warnings: with -q only security warnings are printed. */
static void ignore_line(const char *line)
{
	(void)line;
}

/* Builds the system prompt, which depends on the sandbox, skills and tools. */
int run_open_model(struct run *r, struct error *err)
{
	struct prompt_facts facts = {
		.config_dir = settings_dir(r->app->settings),
		.cwd = settings_cwd(r->app->settings),
		.sandbox = &r->box.sandbox,
		.interactive = r->interactive,
		.mask = r->app->mask,
	};
	struct buf prompt = BUF_INIT(MAX_PROMPT);
	struct model_brief brief = { 0 };
	struct meter_model *account = NULL;
	struct offer *offer;
	char *name;
	int rc;

	r->recalls = false;
	if (run_skills_open(r, err) < 0)
		return -1;
	run_subagents_open(r);
	if (run_money_model(r, &account, err) < 0)
		return -1;
	r->account = account;
	offer = new_offer(r, false);
	name = run_model_name(r);
	facts.model = name;
	facts.agent = r->options.agent;
	facts.runs_commands = offer->runs_commands;
	facts.skills = &r->skills->all;
	facts.skills_root = run_skills_root(r);
	prompt_build(&facts, &prompt,
		     r->options.quiet ? ignore_line : app_warn_line);
	brief.system = prompt.ptr;
	brief.tools = offer->specs;
	brief.n_tools = offer->n;
	brief.meter = account;
	brief.mask = r->app->mask;
	brief.cache_key = r->session ? session_id(r->session) : NULL;
	rc = model_open(&r->model, app_http(r->app), &r->choice, &brief, err);
	free_offer(offer);
	buf_release(&prompt);
	free(name);
	return rc;
}

int run_reset_model(void *arg, struct error *err)
{
	struct run *r = arg;
	struct offer *offer = new_offer(r, true);
	int rc = model_reset(r->model, offer->specs, offer->n, err);

	r->recalls = true;
	free_offer(offer);
	return rc;
}

int run_offer_tools(struct run *r, struct error *err)
{
	struct offer *offer = new_offer(r, r->recalls);
	int rc = model_set_tools(r->model, offer->specs, offer->n, err);

	free_offer(offer);
	return rc;
}

/* Creates the session on the first call. Later calls only update its model and
 * sandbox. */
int run_name_session(struct run *r, struct error *err)
{
	struct store *store;
	char *name;
	struct session_info info = {
		.provider = r->client.provider->name,
		.sandbox = run_has_sandbox(r) ? r->box.sandbox.id : NULL,
		.label = r->box.ours ? r->box.label : "",
		.cwd = settings_cwd(r->app->settings),
		.agent = r->options.agent,
		.headless = !r->interactive,
	};

	if (app_store_later(r->app, &store, err) < 0)
		return -1;
	name = run_model_name(r);
	info.model = name;
	if (r->session)
		session_set_info(r->session, &info);
	else
		r->session = session_new(store, &info);
	free(name);
	return 0;
}

/* Returns the model of -M or of the resumed thread; NULL: use the settings. */
const char *run_given_model(const struct run *r)
{
	if (!r->options.model && r->thread.id && r->thread.model[0])
		return r->thread.model;
	return r->options.model;
}

int run_find_model(const struct run *r, struct model_choice *c,
		   struct error *err)
{
	return model_choose(c, r->app->settings, run_given_model(r),
			    r->options.model_params, err);
}

bool run_lacks_key(const struct error *err)
{
	return err->exact == CASE_NO_KEYS || err->exact == CASE_NO_KEY;
}

int run_choose_model(struct run *r, struct error *err)
{
	struct meter_model *account;

	if (run_find_model(r, &r->choice, err) < 0) {
		if (r->thread.id && !r->options.model && !err->hint[0])
			error_hint(err,
				   "-M MODEL continues with another model.");
		error_topic(err, err->code == ERR_AUTH ? "auth" : "models");
		return -1;
	}
	app_mask_model_key(r->app, &r->choice);
	return run_money_model(r, &account, err);
}

enum { SMALL = 8000 }; /* tokens; warn about smaller windows */

/* If the window size is unknown, uses limits that the server reported earlier
 * and learns from its next answers. */
static void open_probe(struct run *r)
{
	struct window *w = &r->agent.window;
	struct server_limits known;
	struct error ignored = { 0 };
	char *path;

	window_probe_free(r->agent.probe);
	r->agent.probe = NULL;
	if (!w->assumed)
		return;
	path = app_state_path(r->app, "model_windows.json", &ignored);
	if (!path)
		return;
	r->agent.probe = window_probe_new(r->model, path);
	if (window_probe_known(r->agent.probe, &known))
		(void)window_learn(w, known.context, known.max_output,
				   model_head_size(r->model));
	free(path);
}

/* Must also be called when only the tools have changed, because their
 * descriptions take up room in the window. */
void run_set_window(struct run *r)
{
	const struct settings *set = r->app->settings;
	const struct window *w = &r->agent.window;
	int64_t before = w->size;
	struct model_facts facts;
	struct error ignored = { 0 };
	int64_t at = WINDOW_AT;

	(void)settings_int(set, NULL, "models.compact_at", &at, &ignored);
	(void)model_facts(set, r->choice.provider, r->choice.model, &facts);
	window_init(&r->agent.window, &facts, at);
	open_probe(r);
	/* Not repeated after a switch to a model with a window of the same
	 * size. */
	if (w->size > 0 && w->size < SMALL && w->size != before && !w->assumed)
		app_warn("Model '%s' has limited context (%" PRId64 " tokens)."
			 " Agent performance may be affected.",
			 r->choice.model, w->size);
}

void run_tell_assumed(const struct run *r)
{
	struct buf clean = BUF_INIT(1 << 16);
	char *line;

	if (!r->agent.window.assumed)
		return;
	line = xasprintf(
		"The context window of %s:%s is unknown; dcode assumes %" PRId64
		" tokens.\nTo set it, add this to ~/.deepagents/config.toml:\n "
		" [models.providers.%s.profile]\n  max_input_tokens = 131072\n",
		r->choice.provider, r->choice.model, r->agent.window.size,
		r->choice.provider);
	sanitize_text(str_of(line), &clean);
	fputs(clean.ptr, stderr);
	buf_release(&clean);
	free(line);
}

/* Loads a stored conversation into r->model, which has no history yet. */
static int run_push_history(struct run *r, const struct conversation *c,
			    struct error *err)
{
	const struct usage seen = { .input = c->tokens };

	if (c->after && run_reset_model(r, err) < 0)
		return -1;
	history_push(c, r->model);
	run_set_window(r);
	if (c->tokens)
		window_report(&r->agent.window, &seen, model_size(r->model));
	return 0;
}

/* If a chat asks for "latest" and there is no thread, it starts a new one. */
int run_resume_find(struct run *r, struct error *err)
{
	const char *name = r->options.resume;
	bool latest = name && (!name[0] || !strcmp(name, "latest"));
	const char *agent = r->args ? args_value(r->args, "agent") : NULL;
	struct store *store;
	int rc;

	if (!name)
		return 0;
	if (app_store(r->app, &store, err) < 0)
		rc = -1;
	else if (latest && agent)
		rc = thread_find_latest(store, settings_cwd(r->app->settings),
					agent, &r->thread, err);
	else
		rc = thread_find(store, name[0] ? name : NULL,
				 settings_cwd(r->app->settings), &r->thread,
				 err);
	if (rc == 0)
		return 0;
	if (!latest || err->code != ERR_NOT_FOUND || r->app->unattended)
		return -1;
	*err = (struct error){ 0 };
	fputs("No earlier thread in this directory; starting a new one.\n",
	      stderr);
	return 0;
}

/* Returns 1 for yes, 0 for no or if there is no user to ask, -1 with err. */
static int confirm_or_decline(const struct run *r, const char *question,
			      struct error *err)
{
	if (!r->interactive || !secret_terminal(r->app))
		return 0;
	return secret_confirm(r->app, question, err);
}

/* Handles a thread that belongs to another directory: the tools will not find
 * its files in this one. A chat asks whether to continue; -n only warns. */
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
		rc = confirm_or_decline(
			r, "Continue it in this directory? [y/N] ", err);
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

/* Asks whether to continue in a copy, because another dcode uses the thread.
 * Returns 0 for yes. */
static int offer_copy(struct run *r, int64_t pid, struct error *err)
{
	struct error ignored = { 0 };
	int rc;

	if (r->interactive)
		fprintf(stderr,
			"Thread %s is in use by another dcode (pid %" PRId64
			").\n",
			r->thread.id, pid);
	rc = confirm_or_decline(r, "Continue in a copy? [y/N] ", &ignored);
	if (rc > 0)
		return 0;
	error_wrap(err, "thread %s", r->thread.id);
	return error_hint(err,
			  "`dcode -r %s --fork` continues in a copy. `dcode "
			  "threads show %s` prints the thread.",
			  r->thread.id, r->thread.id);
}

/* If another dcode uses the thread, continues in a copy if the user agrees. */
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

enum {
	USUAL_ROWS = 24, /* if the terminal does not report its size */
	USUAL_COLUMNS = 80,
	MOST_ROWS = 200,
};

/* Shows the end of a thread as it was. */
static int show_end(struct run *r, struct store *store, const struct thread *t,
		    struct error *err)
{
	struct replay_view view = { .ui = &r->ui,
				    .mask = r->app->mask,
				    .rows = USUAL_ROWS,
				    .columns = USUAL_COLUMNS,
				    .workdir = r->box.sandbox.workdir };
	struct winsize size = { 0 };

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row &&
	    size.ws_col) {
		view.rows = size.ws_row < MOST_ROWS ? size.ws_row : MOST_ROWS;
		view.columns = size.ws_col;
	}
	return replay_thread(&view, store, t, err);
}

static int show_resumed(struct run *r, struct store *store, struct error *err)
{
	struct buf title = BUF_INIT(1 << 12);
	char age[PRINT_AGE];

	if (show_end(r, store, &r->thread, err) < 0)
		return -1;
	print_add_line(r->app, &title, r->thread.title);
	fprintf(stderr, "%s thread %s: %s (%" PRId64 " messages, %s)\n",
		r->options.fork ? "Copied" : "Resumed", r->thread.id,
		title.len ? title.ptr : "-", r->thread.messages,
		print_age(r->thread.updated, age));
	buf_release(&title);
	return 0;
}

/* Warns if the thread's vendor differs from the new model's: signed thinking
 * blocks are then dropped. */
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

/* Loads the stored history into the model. */
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
	/* Results are stored in numbered files: do not reuse the numbers of
	 * this thread. */
	r->stored_results = (unsigned)c.results;
	history_release(&c);
	if (rc == 0 && r->interactive)
		rc = show_resumed(r, store, err);
	return rc;
}

/* The members of struct run that belong to its conversation. They are saved
 * here during a switch, so that a failure can restore them. */
struct thread_state {
	struct session *session;
	struct model *model;
	struct model_choice choice;
	struct thread thread;
	const char *model_option, *params;
	bool fork;
	struct window window;
	struct meter_model *account;
	bool recalls, offers_plan;
};

bool conversation_is_stored(const struct run *r, struct error *err)
{
	if (r->agent.session)
		return true;
	error_set(err, ERR_SYSTEM, "cannot switch: this thread was not saved");
	error_hint(err, "/clear starts a new thread.");
	return false;
}

/* Sets *no to the number of the stored thread whose messages are the run's
 * history, or to 0 if there is none. A copy that has no messages of its own yet
 * uses those of the original thread. */
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

/* Does not use the stored token count. Another model may have counted it, so
 * the size of the history is estimated again. */
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
	c.tokens = 0; /* counted by another model's tokenizer */
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

/* thread_each_message() callback: adds messages that set the todo list. */
static bool gather_todos(void *arg, struct thread_message *m)
{
	struct conversation *c = arg;

	if (!m->damaged && is_about_todos(&m->message)) {
		history_add(c, &m->message);
		m->message = (struct message){ 0 };
	}
	return true;
}

/* Reads only the messages that set the todo list. */
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

/* Opens the new model first and restores the old one on failure. */
int conversation_set_model(struct run *r, const char *spec, const char *params,
			   struct error *err)
{
	struct model_choice choice = r->choice;
	struct model *model = r->model;
	struct window window = r->agent.window;
	struct meter_model *account = r->account;
	bool recalls = r->recalls;
	bool offers_plan = r->offers_plan;

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
		r->account = account;
		r->recalls = recalls;
		r->offers_plan = offers_plan;
		r->agent.window = window;
		window_probe_free(r->agent.probe);
		r->agent.probe = NULL;
		return -1;
	}
	run_set_window(r);
	app_mask_model_key(r->app, &r->choice);
	model_close(model);
	model_choice_release(&choice);
	r->agent.model = r->model;
	return 0;
}

/* Moves the conversation out of the run; the caller owns it. */
static struct thread_state detach_state(struct run *r)
{
	struct thread_state t = { r->session,       r->model,
				  r->choice,        r->thread,
				  r->options.model, r->options.model_params,
				  r->options.fork,  r->agent.window,
				  r->account,       r->recalls,
				  r->offers_plan };

	r->session = NULL;
	r->model = NULL;
	r->choice = (struct model_choice){ 0 };
	r->thread = (struct thread){ 0 };
	return t;
}

static void release_state(struct thread_state *t)
{
	session_free(t->session);
	if (t->model)
		model_close(t->model);
	model_choice_release(&t->choice);
	thread_release(&t->thread);
}

/* Releases the new conversation and restores the saved one. */
static void restore_state(struct run *r, const struct thread_state *t)
{
	struct thread_state begun = detach_state(r);

	release_state(&begun);
	r->session = t->session;
	r->model = t->model;
	r->choice = t->choice;
	r->thread = t->thread;
	r->options.model = t->model_option;
	r->options.model_params = t->params;
	r->options.fork = t->fork;
	r->agent.window = t->window;
	r->account = t->account;
	r->recalls = t->recalls;
	r->offers_plan = t->offers_plan;
	window_probe_free(r->agent.probe);
	r->agent.probe = NULL;
	r->box.request.thread = session_id(r->session);
}

/* Resets the agent's counters for the run's current thread. */
static void reset_agent(struct run *r)
{
	r->agent.model = r->model;
	r->agent.session = r->session;
	r->agent.thread = session_id(r->session);
	r->agent.saved_results = r->stored_results;
	r->agent.usage = (struct usage){ 0 };
	r->agent.finish = 0;
	buf_clear(&r->agent.answer);
	buf_clear(&r->agent.hook_context); /* the hooks' text was for the old
					      thread */
	r->switched++;
}

/* Creates a session and a model without history. */
static int open_conversation(struct run *r, struct error *err)
{
	if (run_name_session(r, err) < 0 || run_open_model(r, err) < 0)
		return -1;
	r->box.request.thread = session_id(r->session);
	return 0;
}

/* Creates the session of a thread with the first messages of *t, and loads
 * them. t NULL: a new, empty thread. */
static int open_copy(struct run *r, const struct thread *t, int64_t messages,
		     struct error *err)
{
	struct store *store;

	if (!t || !messages)
		return open_conversation(r, err);
	return app_store(r->app, &store, err) == 0 &&
			       session_copy_first(&r->session, store, t,
						  messages, err) == 0 &&
			       open_conversation(r, err) == 0 &&
			       session_store_info(r->session, err) == 0 &&
			       conversation_load(r, err) == 0
		       ? 0
		       : -1;
}

/* Starts a thread with the run's model; t and messages as for open_copy(). */
static int begin_thread(struct run *r, const struct thread *t, int64_t messages,
			struct error *err)
{
	struct thread_state was = detach_state(r);

	r->choice = was.choice;
	was.choice = (struct model_choice){ 0 };
	if (open_copy(r, t, messages, err) < 0) {
		was.choice = r->choice;
		r->choice = (struct model_choice){ 0 };
		restore_state(r, &was);
		return -1;
	}
	release_state(&was);
	run_set_window(r);
	/* The sandbox still has the results that were stored in files. */
	r->stored_results = t ? r->agent.saved_results : 0;
	reset_agent(r);
	return 0;
}

int conversation_begin(struct run *r, struct error *err)
{
	return begin_thread(r, NULL, 0, err);
}

int conversation_rewind(struct run *r, const struct thread *t, int64_t messages,
			struct error *err)
{
	struct thread copy = { 0 };
	struct store *store;
	int rc = begin_thread(r, t, messages, err);

	if (rc < 0 || !messages)
		return rc;
	if (app_store(r->app, &store, err) == 0 &&
	    thread_find(store, session_id(r->session), NULL, &copy, err) == 0)
		rc = show_end(r, store, &copy, err);
	else
		rc = -1;
	thread_release(&copy);
	return rc;
}

int conversation_resume(struct run *r, struct thread *t, struct error *err)
{
	struct thread_state was = detach_state(r);

	r->thread = *t;
	*t = (struct thread){ 0 };
	r->options.model = r->options.model_params = NULL;
	r->options.fork = false;
	if (run_resume_begin(r, err) < 0 || run_choose_model(r, err) < 0 ||
	    open_conversation(r, err) < 0 || run_resume_load(r, err) < 0) {
		restore_state(r, &was);
		return -1;
	}
	release_state(&was);
	reset_agent(r);
	return 0;
}

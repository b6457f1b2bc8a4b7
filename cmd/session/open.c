/* open.c - opens and closes a conversation with everything it needs. */
/* SPDX-License-Identifier: MIT */
/*
 * run_read_flags() reads flags and settings. run_open() then opens the parts in
 * order of dependency: money, thread, model, provider, MCP servers, sandbox,
 * conversation. If the sandbox is created in the background, the conversation
 * is opened before it, and open_rest() runs when the sandbox is ready.
 * run_undo() closes in reverse order and may be called after any failure.
 *
 * In a chat, /resume and /sandbox switch continue with another run. next_open()
 * builds the command line that would open the new run and opens it while the
 * old one still exists. Then it moves what both share to the new run: thread,
 * permissions, MCP servers, hooks. On failure the old run is restored
 * (undo_open()). The caller ends the old run with next_leave().
 */
#include "cmd/session/open.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/diff.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/app.h"
#include "cmd/options.h"
#include "cmd/print.h"
#include "cmd/session/agent_choice.h"
#include "cmd/session/conversation.h"
#include "cmd/session/hooks.h"
#include "cmd/session/money.h"
#include "cmd/session/options.h"
#include "cmd/session/policy.h"
#include "cmd/session/run.h"
#include "cmd/session/sandbox.h"
#include "cmd/session/save.h"
#include "cmd/session/skills.h"
#include "cmd/session/tools.h"
#include "cmd/session/transfer.h"
#include "cmd/session/workspace.h"
#include "cmd/subagents/run_subagents.h"
#include "hooks/hooks.h"
#include "sandbox/sandbox.h"
#include "sandbox/tree_changes.h"
#include "worktree/tree_watch.h"

enum { NEXT_WORDS = 8 }; /* maximum number of words for next_open() */

/*
 * For tools that run on this machine (sandbox `none`): the line "changed: a.c,
 * b.c (+12 -3)" below a command. worktree/tree_watch.h finds the files.
 */

/* Names the files that a command has changed. */

static bool is_binary(struct str text)
{
	return text.len && memchr(text.ptr, 0, text.len);
}

static void add_change(void *arg, const struct tree_watch_change *c)
{
	struct changed_files *l = arg;
	size_t added;
	size_t removed;

	changed_files_add(l, str_of(c->path));
	if (!c->known || is_binary(c->before) || is_binary(c->after))
		return;
	diff_count(c->before, c->after, &added, &removed);
	l->added += added;
	l->removed += removed;
	l->counted = true;
}

/* Implements agent.watch; arg is the struct command_changes. */
static void command_changes_watch(void *arg, struct buf *changed,
				  const struct stop *stop)
{
	struct command_changes *c = arg;
	struct error ignored = { 0 };
	struct changed_files l = { .out = changed };
	char *state;

	if (!changed) {
		state = app_state_path(c->app, "", &ignored);
		if (state)
			tree_watch_begin(&c->watch, state,
					 settings_cwd(c->app->settings),
					 settings_home(c->app->settings), stop);
		free(state);
		return;
	}
	tree_watch_end(&c->watch, add_change, &l, stop);
	changed_files_end(&l);
}

static void command_changes_close(struct command_changes *c)
{
	tree_watch_close(&c->watch);
}

enum { PLAN_MOST = 1 << 18 }; /* bytes of a plan */

/* If plan mode has begun or ended, offers the model the tools that fit. */
static int follow_plan_mode(struct run *r, struct error *err)
{
	bool plans = r->mode == RUN_PLAN;

	return r->offers_plan == plans ? 0 : run_offer_tools(r, err);
}

/* agent.add_news callback: plan mode has begun or ended since the model was
 * last told. */
static void add_news(void *arg, struct buf *out)
{
	struct run *r = arg;
	bool plans = r->mode == RUN_PLAN;

	if (plans == r->plans)
		return;
	buf_adds(out, plans ? MESSAGE_NOTE_PLAN : MESSAGE_NOTE_PLAN_OVER);
	r->plans = plans;
}

/* Applies --approval-mode. The model is open: its system prompt describes all
 * tools, because plan mode may end. */
static int begin_mode(struct run *r, struct error *err)
{
	enum run_mode mode = (enum run_mode)r->options.mode;

	if (mode == RUN_MANUAL)
		return 0;
	if (run_check_mode(r, mode, err) < 0)
		return -1;
	r->mode = (int)mode;
	return follow_plan_mode(r, err);
}

/* agent.update_tools callback: if MCP servers have changed their tools, or plan
 * mode has begun or ended, offers the new ones with the next request. */
static int update_tools(void *arg, const struct stop *stop, struct error *err)
{
	struct run *r = arg;

	(void)stop;
	if (r->mcp && run_mcp_update(r) && run_offer_tools(r, err) < 0)
		return -1;
	return follow_plan_mode(r, err);
}

/* Attaches hooks, subagents, web access and MCP to the agent. Must run before
 * the first request, which would otherwise bypass them. */
static void attach_features(struct run *r)
{
	run_hooks_follow(r);
	run_subagents_attach(r);
	run_web_attach(r);
	run_mcp_attach(r);
	r->agent.update_tools = update_tools;
	r->agent.tools_arg = r;
}

/* agent.ran callback. */
static void note_contacts(void *arg, struct sandbox *sb,
			  const struct part *call)
{
	struct run *r = arg;

	host_gate_end_command(&r->gate);
	contacts_note(&r->contacts, session_id(r->session), sb, call);
}

/* Opens the model with prompt and history, the session and the agent. */
static int open_conversation(struct run *r, const struct stop *stop,
			     struct error *err)
{
	if (run_mcp_wait(r, stop, err) < 0 || run_name_session(r, err) < 0 ||
	    run_open_model(r, err) < 0)
		return -1;
	run_set_window(r);
	if (run_resume_load(r, err) < 0)
		return -1;
	r->history_dir = app_state_path(r->app, "conversation_history", err);
	contacts_close(&r->contacts);
	contacts_open(&r->contacts, r->app);
	r->plan.max = PLAN_MOST;
	r->agent = (struct agent){
		.model = r->model,
		.plan = r->app->asker ? &r->plan : NULL,
		.sandbox = &r->box.sandbox,
		.session = r->session,
		.mask = r->app->mask,
		.thread = session_id(r->session),
		.saved_results = r->stored_results,
		.secrets = &r->secrets,
		.ui = r->ui,
		.max_turns = r->options.max_turns,
		.turns_by_policy = r->options.turns_by_policy,
		.meter = r->app->meter,
		.raise = r->raise,
		.raise_arg = r,
		.go_on = r->go_on,
		.go_on_arg = r,
		.push = r->push,
		.push_arg = r,
		.steering = r->steering,
		.add_news = add_news,
		.news_arg = r,
		.answer = BUF_INIT(64 << 20),
		.window = r->agent.window,
		.probe = r->agent.probe,
		.reset = run_reset_model,
		.reset_arg = r,
		.history_dir = r->history_dir,
		.prepare = run_skills_prepare,
		.prepare_arg = r,
		.ran = note_contacts,
		.ran_arg = r,
	};
	attach_features(r);
	return begin_mode(r, err);
}

/* Does the part of run_open() that needs the sandbox. On the thread that waits
 * for the sandbox. */
static int open_rest(struct run *r, struct error *err)
{
	if (run_jobs_open(r, err) < 0 || run_asks_attached(r, err) < 0)
		return -1;
	r->box.request.thread = session_id(r->session);
	if (r->sandbox_ready)
		r->sandbox_ready(r);
	if (r->interactive)
		grants_load(&r->grants, r->app->settings);
	/* piped input must not answer a question about a host */
	if (r->interactive && (r->theme || isatty(STDIN_FILENO)) &&
	    host_gate_open(&r->gate, r->app, &r->box, err) < 0)
		return -1;
	if (settings_list(r->app->settings, NULL, "redact.paths_off",
			  &r->agent.exempt, &r->agent.n_exempt, err) < 0)
		return -1;
	if (!run_has_sandbox(r))
		secret_files_open(&r->secrets, settings_dir(r->app->settings));
	/* with -n nobody could use /forward before the sandbox ends */
	r->agent.names_ports = run_has_sandbox(r) && r->interactive;
	if (!run_has_sandbox(r) && r->interactive) {
		r->changes.app = r->app;
		r->agent.watch = command_changes_watch;
		r->agent.watch_arg = &r->changes;
	}
	return 0;
}

/* Applies --yolo in a chat. Not in open_rest(): when that runs for a sandbox
 * that is created in the background, the user may have chosen another mode. */
static int begin_yolo(struct run *r, struct error *err)
{
	return r->interactive && r->options.yolo && !r->declined
		       ? run_set_mode(r, RUN_YOLO, err)
		       : 0;
}

/* Opens the sandbox and the conversation. If the sandbox can be created in the
 * background, the conversation comes first. */
static int open_both(struct run *r, const struct stop *stop, struct error *err)
{
	if (run_promise_can(r))
		return open_conversation(r, stop, err) < 0 ||
				       begin_yolo(r, err) < 0
			       ? -1
			       : run_promise_begin(r, open_rest, stop, err);
	return run_open_sandbox(r, stop, err) < 0 ||
			       open_conversation(r, stop, err) < 0 ||
			       open_rest(r, err) < 0
		       ? -1
		       : begin_yolo(r, err);
}

/* Call if the model's key is missing (err). Also reports a missing key of the
 * sandbox provider, so that the user can set both at once. */
static void check_sandbox_key(struct run *r, struct error *err)
{
	struct app plain = { .mask = r->app->mask };
	struct sandbox_client client = { 0 };
	struct error why = { 0 };

	if (app_client_check(r->app, r->options.sandbox_as, &client, &why) == 0)
		sandbox_client_close(&client);
	else if (r->app->json)
		error_add(err, "; %s", why.message);
	else
		(void)app_fail(&plain, &why);
}

/* Prints the name of a model that the user did not choose. */
int run_open(struct run *r, const struct stop *stop, struct error *err)
{
	struct settings *set;
	char *name;

	if (app_settings(r->app, &set, err) < 0 ||
	    run_money_begin(r, err) < 0 || run_resume_begin(r, err) < 0)
		return -1;
	if (run_choose_model(r, err) < 0) {
		if (run_lacks_key(err))
			check_sandbox_key(r, err);
		return -1;
	}
	if (r->choice.by_key && !r->made) {
		/* the model is only the first one that has a key */
		name = run_model_name(r);
		print_line(r->app,
			   "Model: %s (the default; -M chooses another)", name);
		free(name);
	}
	if (run_open_client(r, err) < 0 || run_mcp_begin(r, err) < 0)
		return -1;
	run_workspace_remark(r);
	return open_both(r, stop, err);
}

/* Closes whatever was opened. The sandbox is first, because it costs money. */
void run_undo(struct run *r)
{
	struct error ignored = { 0 };

	run_promise_end(r);
	/* A failure was already reported; only a lost sandbox matters here. */
	r->lost = run_end_sandbox(r, &ignored) < 0 && ignored.code == ERR_GONE;
	run_mcp_end(r);
	if (r->opened_client)
		sandbox_client_close(&r->client);
	window_probe_free(r->agent.probe);
	if (r->model)
		model_close(r->model);
	if (r->session)
		session_free(r->session);
	secret_files_release(&r->secrets);
	command_changes_close(&r->changes);
	r->unsaved |= r->saved.failed != NULL;
	saved_work_release(&r->saved);
	free(r->history_dir);
	run_wrote_release(&r->wrote);
	free(r->offer.server);
	buf_release(&r->offer.names);
	free(r->draft);
	free(r->shell_note);
	r->draft = NULL;
	grants_clear(&r->grants);
	buf_release(&r->applied);
	buf_release(&r->plan);
	buf_release(&r->agent.answer);
	buf_release(&r->agent.hook_context);
	buf_release(&r->agent.hook_end.reason);
	hooks_end_session(r->app->hooks, r);
	model_choice_release(&r->choice);
	r->opened_client = false;
	r->client = (struct sandbox_client){ 0 };
	r->model = NULL;
	r->session = NULL;
	r->secrets = (struct secret_files){ 0 };
	r->saved = (struct saved_work){ 0 };
	r->history_dir = NULL;
	r->wrote = (struct run_wrote){ 0 };
	r->agent = (struct agent){ 0 };
	r->choice = (struct model_choice){ 0 };
}

void run_close(struct run *r)
{
	run_undo(r);
	run_subagents_close(r);
	run_skills_close(r);
	contacts_close(&r->contacts);
	host_gate_close(&r->gate);
	run_options_release(&r->options);
	thread_release(&r->thread);
}

/* Reads when a chat creates its sandbox. */
static int read_create(struct run_options *o, const struct settings *set,
		       struct error *err)
{
	const char *word = NULL;

	if (settings_string(set, NULL, "sandboxes.create", &word, err) < 0)
		return -1;
	o->creates_late = !word || !strcmp(word, "first-use");
	if (o->creates_late || !strcmp(word, "start"))
		return 0;
	return error_set(err, ERR_CONFIG,
			 "[sandboxes] create = \"%s\": use first-use or start",
			 word);
}

/* The order matters: the sandbox and the agent are needed by later steps. */
int run_read_flags(struct run *r, const struct args *args, struct error *err)
{
	struct run_options *o = &r->options;
	struct settings *set;
	const char *sandbox;

	if (run_options_read(o, args, err) < 0)
		return -1;
	r->app->trusted = o->trusted;
	if (o->timeout_s)
		r->stop = stop_within(&r->stop, o->timeout_s * 1000);
	if (app_settings(r->app, &set, err) < 0)
		return -1;
	if (o->max_retries && settings_set_flag(set, "retries.max_retries",
						o->max_retries, err) < 0)
		return -1;
	if (o->effort &&
	    settings_set_flag(set, "models.effort", o->effort, err) < 0)
		return -1;
	if (run_policy_apply(o, set, err) < 0 ||
	    run_asks_resolve(o, set, err) < 0)
		return -1;
	if (!o->allow.given && run_allow_resolve(o, set, err) < 0)
		return -1;
	if (run_resume_find(r, err) < 0 ||
	    agent_choose(r->app, args_value(args, "agent"), r->thread.agent,
			 &o->agent, err) < 0 ||
	    run_offer_sandbox(r, args, &sandbox, err) < 0 ||
	    run_sandbox_resolve(o, r->app, sandbox, err) < 0 ||
	    run_exit_resolve(o, r->app, args, err) < 0 ||
	    run_workspace_resolve(o, r->app, args, err) < 0 ||
	    run_options_check(o, err) < 0)
		return -1;
	run_policy_remark(o, set);
	return read_create(o, set, err);
}

/* Replaces a chat's run by another one, including its sandbox. */

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
	      bool same_thread, struct move *move, struct error *err)
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
			   /* a switch fails while the old sandbox exists */
			   .defers = r->defers && !same_thread,
			   .opened = r->opened,
			   .came = r->came,
			   .args = &next->args,
			   .move = move,
			   .moved = move != NULL,
			   .made = true };
	if (same_thread && !conversation_is_stored(r, err)) {
		undo_open(n, r);
		return -1;
	}
	n->session = same_thread ? r->session : NULL;
	if (read_words(next, r, words, n_words, err) < 0) {
		undo_open(n, r);
		return -1;
	}
	if (move) { /* what /sandbox on-exit or a resumed sandbox says */
		n->options.on_exit = r->box.request.on_exit;
		n->options.exit_given = r->options.exit_given;
	}
	if (open_run(n, r, err) < 0) {
		undo_open(n, r);
		return -1;
	}
	n->move = NULL;
	if (follow_hooks(n, r, same_thread, err) < 0 ||
	    (move && session_store_info(n->session, err) < 0)) {
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

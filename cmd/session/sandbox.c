/* sandbox.c - chooses, creates and ends the sandbox of a run. */
/* SPDX-License-Identifier: MIT */

/*
 * Which sandbox is used: the one that a resumed thread owns or that threads
 * share (scope.c), the one that an imported thread names (run_offer_sandbox()),
 * that of
 * --sandbox-id, or a new one. When it is created: run_open_sandbox() creates it
 * at once; run_promise_begin() does so on a thread while the model already
 * works. At the end, run_end_sandbox() uses src/lifecycle, which guarantees
 * that a sandbox is deleted.
 *
 * Background commands outlive a run: run_jobs_open() finds those that earlier
 * runs of the thread have started.
 */
#include "cmd/session/sandbox.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/thread.h"
#include "cmd/print.h"
#include "cmd/secret.h"
#include "cmd/session/conversation.h"
#include "cmd/session/money.h"
#include "cmd/session/move.h"
#include "cmd/session/policy.h"
#include "cmd/session/run.h"
#include "cmd/session/save.h"
#include "cmd/session/saved_patch.h"
#include "cmd/session/scope.h"
#include "cmd/session/skills.h"
#include "cmd/session/transfer.h"
#include "cmd/session/tree.h"
#include "cmd/session/workspace.h"
#include "mcp/mcp.h"
#include "providers/registry.h"
#include "sandbox/jobs/jobs.h"
#include "sandbox/sandbox.h"
#include "session/ledger.h"
#include "session/records.h"
#include "worktree/user_repo.h"

static void add_flag(const struct run *r, const char *flag, const char *name,
		     struct buf *out)
{
	buf_adds(out, flag);
	print_add_line(r->app, out, name);
}

/* If there is no user to ask: prints the flags that would use the sandbox named
 * in the imported thread. given is the value of --sandbox, or NULL. */
static void print_offer_flags(const struct run *r, const char *given)
{
	struct buf line = BUF_INIT(1 << 12);

	add_flag(r, "--sandbox ", r->thread.provider, &line);
	add_flag(r, " --sandbox-id ", r->thread.sandbox, &line);
	fprintf(stderr,
		"This thread was imported. To use the sandbox named in the "
		"imported file, add %s. dcode never deletes that sandbox.%s\n",
		line.ptr,
		!given || sandbox_is_none(given)
			? ""
			: " This run makes a new one.");
	buf_release(&line);
}

/* Returns 1 for yes, 0 for no, -1 with err. */
static int confirm_offer(struct run *r, struct error *err)
{
	struct buf line = BUF_INIT(1 << 12);
	int rc;

	add_flag(r, "", r->thread.provider, &line);
	add_flag(r, " ", r->thread.sandbox, &line);
	fprintf(stderr,
		"This thread was imported, and its file names a sandbox: %s. "
		"If you use it, the\nmodel's commands run there, on the files "
		"in it. dcode never deletes it.\n",
		line.ptr);
	buf_release(&line);
	rc = secret_confirm(r->app, "Use this sandbox? [y/N] ", err);
	return rc;
}

/* Asks only about the sandbox of an imported thread that has not run here
 * yet. */
int run_offer_sandbox(struct run *r, const struct args *args, const char **name,
		      struct error *err)
{
	const char *given = args_value(args, "sandbox");
	const struct thread *t = &r->thread;
	struct run_options *o = &r->options;
	int rc = 0;

	*name = given;
	if (!r->thread.id)
		return 0;
	/* An imported thread that has not run here has no model yet. Its
	 * sandbox is named by a file that someone else may have written, so the
	 * user must agree to use it. */
	if (!t->imported || t->model[0] || !t->sandbox[0]) {
		if (!given && r->thread.model[0] && r->thread.provider[0])
			*name = r->thread.provider;
		return 0;
	}
	if (o->sandbox_id || o->snapshot)
		return 0; /* without --sandbox these flags are an error of
			     run_sandbox_resolve() */
	if (!r->app->unattended && secret_terminal(r->app) &&
	    (!given || !strcmp(given, r->thread.provider)))
		rc = confirm_offer(r, err);
	else if (!o->quiet)
		print_offer_flags(r, given);
	if (rc > 0) {
		*name = r->thread.provider;
		o->sandbox_id = r->thread.sandbox;
	}
	return rc < 0 ? -1 : 0;
}

enum { ASK_MS = 10000 };

struct finding {
	struct run *run;
	struct store *store;
	size_t asked; /* number of jobs whose state the sandbox must be asked
			 for */
};

/* jobs_log.add callback: stores a new job and sets its row and number, which
 * the database assigns. */
static int store_job(void *arg, struct job_record *record, struct error *err)
{
	const struct run *r = arg;
	struct job_row row = { .thread = session_id(r->session),
			       .provider = r->client.provider->name,
			       .sandbox =
				       record->job[0] ? r->box.sandbox.id : "",
			       .job = record->job,
			       .command = record->command,
			       .number = record->number };
	struct store *store;

	if (app_store(r->app, &store, err) < 0 ||
	    job_log_add(store, &row, err) < 0)
		return -1;
	record->row = row.no;
	record->number = row.number;
	return 0;
}

/* jobs_log.update callback. After a failure the model may get the same output
 * or result twice. */
static void update_job(void *arg, const struct job_record *record)
{
	const struct run *r = arg;
	const struct job_row row = { .no = record->row,
				     .read = record->read,
				     .started = record->started,
				     .told = record->told };
	struct error ignored = { 0 };
	struct store *store;

	if (app_store(r->app, &store, &ignored) == 0)
		(void)job_log_update(store, &row, &ignored);
}

static bool store_gone(void *arg, const struct ledger_row *row)
{
	*(bool *)arg = row->state == LEDGER_GONE;
	return false;
}

/* job_log_each() callback: adds a job of this thread or sandbox, started in an
 * earlier run, to the sandbox's list. */
static void adopt_job(void *arg, const struct job_row *row)
{
	struct finding *f = arg;
	struct run *r = f->run;
	bool own = !strcmp(row->thread, session_id(r->session));
	/* row 0: changes are not stored. A job of another thread in the same
	 * sandbox keeps that thread's read position. */
	struct job_record record = { .row = own ? row->no : 0,
				     .number = row->number,
				     .job = row->job,
				     .command = row->command,
				     .read = row->read,
				     .started = row->started,
				     .starting = row->in_use,
				     .told = row->told || !own };
	struct error ignored = { 0 };
	bool gone = false;

	if (!row->job[0]) {
		if (!own || row->told)
			return;
		record.lost = "stopped when dcode exited";
	} else if (strcmp(row->provider, r->client.provider->name) != 0 ||
		   strcmp(row->sandbox, r->box.sandbox.id) != 0) {
		/* The job's sandbox is not used by this run. Unless that
		 * sandbox is gone, the job may still run: do not list it. */
		(void)ledger_find(f->store, row->sandbox, store_gone, &gone,
				  &ignored);
		if (!gone)
			return;
		record.lost = "stopped with its sandbox";
	} else {
		f->asked++;
	}
	jobs_adopt(&r->box.sandbox, &record, r->app->mask);
}

static void print_running_job(void *arg, const struct job_state *s)
{
	struct buf line = BUF_INIT(1 << 16);

	(void)arg;
	if (s->running) {
		jobs_describe(s, &line);
		fprintf(stderr, "job %u is %s: %.200s\n", s->number, line.ptr,
			s->command);
	}
	buf_release(&line);
}

static void mark_unreported(void *arg, const struct job_row *row)
{
	*(bool *)arg = *(bool *)arg || !row->told;
}

/* True if the resumed thread has a job whose end was not reported to the model
 * yet. */
static bool run_jobs_pending(struct run *r)
{
	const struct job_row of = { .thread = r->thread.id };
	struct error ignored = { 0 };
	struct store *store;
	bool any = false;

	if (r->thread.id && app_store(r->app, &store, &ignored) == 0)
		(void)job_log_each(store, &of, mark_unreported, &any, &ignored);
	return any;
}

/* Adds jobs of earlier runs to the sandbox's list and asks the sandbox about
 * their state. */
int run_jobs_open(struct run *r, struct error *err)
{
	const struct jobs_log log = { store_job, update_job, r };
	const struct job_row of = { .thread = session_id(r->session),
				    .provider = r->client.provider->name,
				    .sandbox = r->box.sandbox.id };
	struct finding f = { .run = r };

	jobs_set_log(&r->box.sandbox, &log);
	jobs_set_end(r->box.sandbox.jobs, r->on_job_end, r->ui.arg);
	if (!r->thread.id && !r->options.sandbox_id && !r->box.resumed)
		return 0;
	if (app_store(r->app, &f.store, err) < 0 ||
	    job_log_each(f.store, &of, adopt_job, &f, err) < 0)
		return -1;
	if (!f.asked)
		return 0;
	jobs_refresh(r->box.sandbox.jobs, ASK_MS);
	if (!r->options.quiet)
		jobs_each(r->box.sandbox.jobs, print_running_job, r);
	return 0;
}

enum { STARTUP_MS = 60000 };

/* Failures are only warnings, except a cancellation and the loss of the
 * sandbox. */
int startup_run(struct run *r, const struct stop *stop, struct error *err)
{
	struct stop soon = stop_within(stop, STARTUP_MS);
	struct error why = { 0 };

	if (!r->options.startup)
		return 0;
	if (agent_run_own_command(&r->agent, r->options.startup, NULL, &soon,
				  &why) == 0)
		return 0;
	if (stop_check(stop, err) < 0)
		return -1;
	if (why.code == ERR_GONE) {
		*err = why;
		return -1;
	}
	app_warn("--startup-cmd failed, or did not end within %d s: %s",
		 STARTUP_MS / 1000, why.message);
	return 0;
}

static void on_line(void *arg, const char *line)
{
	const struct run *r = arg;

	if (!r->options.quiet)
		print_progress(r->app, line);
}

static void on_warning(void *arg, const char *line)
{
	(void)arg;
	app_warn_line(line);
}

static void on_setup_output(void *arg, enum exec_stream stream,
			    struct str chunk)
{
	const struct run *r = arg;

	(void)stream;
	if (!r->options.quiet)
		fwrite(chunk.ptr, 1, chunk.len, stderr);
}

/* lifecycle_ui.confirm callback: 1 for yes, 0 for no or without a user. */
static int on_confirm(void *arg, const char *sentence, struct error *err)
{
	const struct run *r = arg;

	if (!r->interactive || !secret_terminal(r->app))
		return 0;
	on_warning(NULL, sentence);
	return secret_confirm(r->app, "Continue? [y/N] ", err);
}

/* lifecycle_ui.changed callback: reports a state change of the sandbox that
 * dcode did not cause. On the keepalive's thread. */
static void on_changed(void *arg, enum sandbox_state state)
{
	struct run *r = arg;

	r->seen = (int)state;
	if (state == STATE_STOPPED)
		app_warn("the sandbox was stopped, by its vendor or from "
			 "outside");
	else if (state == STATE_GONE)
		app_warn("the sandbox is gone: its vendor ended it, or it was "
			 "deleted from outside");
}

/* Fails if dcode's start directory was deleted: tools would act in another
 * directory. */
static int check_directory(struct error *err)
{
	char *cwd = getcwd(NULL, 0);

	if (!cwd) {
		error_errno(err, "finding the current directory");
		return error_hint(err, "Run dcode in a directory that exists.");
	}
	free(cwd);
	return 0;
}

/* Tells the user that the sandbox is gone, and the path of the thread's last
 * saved patch, if there is one. */
static void report_gone(struct run *r, const struct error *why)
{
	char *patch = saved_patch_find(r->app, r->thread.id);
	struct buf line = BUF_INIT(1 << 16);

	buf_addf(&line, "The sandbox of this thread is gone: %s.",
		 why->message);
	if (patch)
		buf_addf(&line, " Its last changes are in %s.", patch);
	buf_adds(&line, " dcode makes a new one, without the old one's files.");
	on_line(r, line.ptr);
	buf_release(&line);
	free(patch);
}

/* If the resumed sandbox was kept or stopped before, does the same at the end
 * of this run, unless a flag or setting says otherwise. */
static void restore_exit_action(struct run *r)
{
	bool stopped = r->box.before == LEDGER_STOPPED ||
		       r->box.before == LEDGER_STOPPING;

	if (r->box.resumed && r->box.was_kept && !r->options.exit_given)
		r->box.request.on_exit =
			stopped ? LIFECYCLE_STOP : LIFECYCLE_KEEP;
}

/* A sandbox that threads share stays, unless a flag or setting says
 * otherwise. */
static void keep_shared(struct run *r)
{
	if (!r->options.exit_given)
		r->box.request.on_exit = sandbox_can_stop(&r->client)
						 ? LIFECYCLE_STOP
						 : LIFECYCLE_KEEP;
}

/* Returns 0, -1, or 1 if the sandbox no longer exists. */
static int resume_own(struct run *r, const struct lifecycle_request *request,
		      const char *label, const struct stop *stop,
		      struct error *err)
{
	struct lifecycle_request own = *request;
	struct error why = { 0 };

	own.resume = label;
	if (lifecycle_open(&r->box, &own, stop, &why) == 0) {
		restore_exit_action(r);
		return 0;
	}
	if (why.code == ERR_GONE && !r->box.ending) {
		report_gone(r, &why);
		return 1;
	}
	*err = why;
	return -1;
}

int run_end_sandbox(struct run *r, struct error *err)
{
	int rc;

	/* a box that is ending belongs to the thread that deletes it */
	if (!r->box.ending) {
		run_money_keep(r);
		run_skills_leave(r);
	}
	if (!r->box.ending && r->session && r->box.sandbox.id)
		contacts_note(&r->contacts, session_id(r->session),
			      &r->box.sandbox, NULL);
	forwards_close(&r->forwards);
	rc = lifecycle_close(&r->box, err);
	run_money_sandbox_end(r);
	run_money_store(r);
	return rc;
}

int run_open_client(struct run *r, struct error *err)
{
	struct store *store;
	char *endpoint = scope_endpoint(r);
	int rc = app_client_at(r->app, r->options.sandbox_as, endpoint,
			       &r->client, err);

	free(endpoint);
	if (rc < 0)
		return -1;
	r->opened_client = true;
	if (!run_has_sandbox(r) && check_directory(err) < 0)
		return -1;
	if (!run_has_sandbox(r))
		return 0;
	if (scope_resolve(r, err) < 0)
		return -1;
	return run_workspace_check(r, err) < 0 ? -1
					       : app_store(r->app, &store, err);
}

/* Background creation of the sandbox. struct promise stands for the sandbox
 * until it exists. If the prompt does not depend on the sandbox, run_open()
 * starts a thread that creates it, and returns once there is no question left
 * for the user. The agent asks the model as usual. Before the first tool runs,
 * the agent calls agent.await, which is await_sandbox() below. Begin reading at
 * run_promise_begin().
 *
 * With [sandboxes] create = "first-use" a chat starts that thread only when a
 * tool call begins to arrive (agent.call_begins), or when something else needs
 * the sandbox (run_await()). Until then r->box.sandbox has only its client and
 * the expected working directory. If the creation fails, the next call tries
 * again. */

struct promise {
	struct cancel_chain makes; /* cancels the creation; also triggered by
				      the caller's stop */
	struct cancel_chain asks; /* cancels the model request; triggered if the
				     creation fails */
	struct stop stop;         /* stop of the creation */
	int (*open_rest)(struct run *r, struct error *err);
	char *expected; /* owned: the working directory that the model was
			 told */
	pthread_t thread;
	bool joined; /* the thread has ended and was joined; used only on the
			agent's thread */
	bool late;   /* created when it is first needed */
	/* the thread was started; used only on the agent's thread. Always true
	 * if not late. */
	bool started;
	/* lock guards the following fields */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool asked; /* the user has answered all questions, or there are none */
	bool ended;
	int rc;
	struct error err;
};

/* True if the user will be asked whether to send the tree. */
static bool may_ask_about_tree(const struct run *r)
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
			consent_get(store, root, r->client.provider->name,
				    &asked, &ignored) >= 0 &&
			asked;
	free(root);
	return is_repository && !asked;
}

/* Records that no question about the tree is left, so that run_promise_begin()
 * may return. Any thread. */
static void set_answered(struct run *r)
{
	struct promise *p = r->promise;

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->asked = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

/* lifecycle_request.begins callback: called when the creation starts. */
static void on_begins(void *arg)
{
	struct run *r = arg;

	if (r->promise && !may_ask_about_tree(r))
		set_answered(r);
}

/* A thread must not leave its sandbox for one that did not get its files. */
static int check_filled(const struct run *r, const struct sandbox *sb,
			struct error *err)
{
	if (!r->move || r->move->filled)
		return 0;
	if (!sb->mounts.n)
		return error_set(err, ERR_CONFIG,
				 "the new sandbox did not get the files");
	error_set(err, ERR_CONFIG,
		  "the new sandbox can write to %s on this machine, so it gets "
		  "no copy of your files",
		  sb->mounts.list[0].path);
	return error_hint(err, "Remove `mounts` (or add \":ro\" to it) and "
			       "`workspace` of this provider from config.toml "
			       "for the move.");
}

/* lifecycle_request.fill callback: sends the tree and runs the uploads. The
 * setup script runs afterwards. */
static int fill_sandbox(void *arg, struct sandbox *sb, const struct stop *stop,
			struct error *err)
{
	struct run *r = arg;

	if (run_workspace_fill(r, sb, set_answered, stop, err) < 0 ||
	    check_filled(r, sb, err) < 0)
		return -1;
	return run_upload(r, sb, stop, err);
}

/* Says which settings about the network are not used on this machine. */
static void warn_unused_network(const struct run *r)
{
	const struct settings *set = r->app->settings;
	const struct toml_value *v = settings_toml(set, "network.allow");

	if (v && !(v->kind == TOML_STRING && !strcmp(v->text, "full")))
		app_warn_line("[network] allow limits sandboxes only: commands "
			      "on this machine reach every host");
	if (settings_toml(set, "secrets"))
		app_warn_line("[secrets] is not used: it is for the requests "
			      "of sandboxes");
}

/* Resumes the thread's own sandbox, or creates or attaches one. */
int run_open_sandbox(struct run *r, const struct stop *stop, struct error *err)
{
	int rc = 1;
	char *label = NULL;
	bool shares = false;
	struct stop limit;
	struct lifecycle_request request = {
		.client = &r->client,
		.mask = r->app->mask,
		.attach_id = r->options.sandbox_id,
		.snapshot = r->options.snapshot,
		.setup = r->options.setup,
		.network = run_has_sandbox(r) ? &r->options.network : NULL,
		.begins = on_begins,
		.begins_arg = r,
		.fill = fill_sandbox,
		.fill_arg = r,
		.before_remove = run_save,
		.before_remove_arg = r,
		.trust_project = r->options.trust_project,
		.on_exit = r->options.on_exit,
		.keep_s = r->options.keep_s,
		.cancels_at_once = r->interactive,
		.ui = { on_line, on_warning, on_setup_output, on_confirm,
			on_changed, r },
	};

	r->seen = STATE_UNKNOWN;
	if (settings_bool(r->app->settings, NULL, "sandboxes.cache_setup",
			  &request.cache_setup, err) < 0)
		return -1;
	if (run_has_sandbox(r) && app_store(r->app, &request.store, err) < 0)
		return -1;
	if (!run_has_sandbox(r))
		warn_unused_network(r);
	if (r->move && request.on_exit == LIFECYCLE_STOP &&
	    !sandbox_needs_probe(&r->client) && !sandbox_can_stop(&r->client))
		request.on_exit = LIFECYCLE_KEEP; /* the old one could */
	if (run_money_sandbox(r, err) < 0)
		return -1;
	limit = run_money_stop(r, stop); /* uploads and the setup script take
					    time, which costs money */
	/* what moves gets a sandbox of its own */
	if (!r->move &&
	    scope_choose(r, request.store, &label, &shares, err) < 0)
		rc = -1;
	if (rc > 0 && label)
		rc = resume_own(r, &request, label, &limit, err);
	free(label);
	if (shares)
		request.scope = r->options.scope;
	if (rc > 0)
		rc = lifecycle_open(&r->box, &request, &limit, err);
	if (rc == 0 && shares && (r->box.resumed || r->box.shared))
		keep_shared(r);
	rc = meter_name_cap(r->app->meter, stop, rc, err);
	if (rc < 0)
		run_money_sandbox_end(r);
	return rc;
}

/* True if the prompt or a step before it needs the sandbox, which then cannot
 * be created in the background. */
static bool needs_sandbox(const struct run *r)
{
	const struct run_options *o = &r->options;
	bool names_file = o->task && strchr(o->task, '@');
	bool has_tree = o->workspace && !strcmp(o->workspace, "repo");

	return names_file || o->startup ||
	       ((o->apply || o->branch) && !has_tree);
}

/* True if the user may have to be asked something when the sandbox is ready. */
static bool may_ask_later(const struct run *r)
{
	const struct run_options *o = &r->options;

	return r->interactive && ((o->sandbox_id && !o->asks_given) ||
				  (o->yolo && !yolo_acknowledged(r->app)));
}

/* True if an MCP server has not listed its tools yet. The wait for the list,
 * which the prompt needs, leaves nothing to gain from background creation. */
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

/* True if this chat creates its sandbox when it is first needed. A setup script
 * or a tree takes long, so with these the creation starts at once; and so it
 * does if threads share the sandbox, since that may raise a question. */
static bool creates_late(struct run *r)
{
	const struct run_options *o = &r->options;

	return r->defers && o->creates_late && !o->setup && !o->sandbox_id &&
	       !o->transfers.n &&
	       (!o->workspace || !strcmp(o->workspace, "none")) && !o->scope &&
	       !scope_has_own(r);
}

bool run_promise_can(struct run *r)
{
	bool may_attach = r->thread.id || r->options.scope;
	bool attaches = r->options.sandbox_id || may_attach;
	struct error err = { 0 };
	bool overlaps = false;
	struct store *store;
	const char *dir;

	if (!run_has_sandbox(r) ||
	    settings_bool(r->app->settings, NULL, "sandboxes.overlap",
			  &overlaps, &err) < 0 ||
	    !overlaps || needs_sandbox(r) || may_ask_later(r) ||
	    run_jobs_pending(r))
		return false;
	if (!creates_late(r) && (!r->promises || waits_for_tools(r)))
		return false;
	/* If the thread's sandbox is gone, a new one is created. The working
	 * directory must be known in both cases, because the model is told. */
	dir = place_expect(&r->client, attaches);
	if (!dir || (may_attach && !place_expect(&r->client, false)) ||
	    app_store_later(r->app, &store, &err) < 0)
		return false;
	r->box.sandbox = (struct sandbox){ .client = &r->client,
					   .workdir = xstrdup(dir) };
	return true;
}

/* Stores the sandbox with the thread at once, so that -r finds it even if dcode
 * is killed during the first answer. */
static void store_thread_sandbox(struct run *r)
{
	const struct session_info info = {
		.provider = r->client.provider->name,
		.sandbox = r->box.sandbox.id,
		.label = r->box.ours ? r->box.label : "",
	};
	struct error ignored = { 0 };
	struct store *store;

	if (r->session && app_store(r->app, &store, &ignored) == 0)
		(void)session_place_thread(store, session_id(r->session), &info,
					   &ignored);
}

/* Thread function: creates the sandbox. Takes the lock only to publish the
 * result. The session's thread stores the prompt and the answer meanwhile, so
 * this one has a database connection of its own. */
static void *make_sandbox(void *arg)
{
	struct run *r = arg;
	struct promise *p = r->promise;
	struct error err = { 0 };
	int rc;

	app_use_store_beside(r->app);
	rc = run_open_sandbox(r, &p->stop, &err);
	if (rc == 0)
		store_thread_sandbox(r);
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

static void free_promise(struct run *r)
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

/* Waits for the end of the creating thread. Afterwards the result may be read
 * without the lock. */
static void join_creation(struct run *r)
{
	pthread_join(r->promise->thread, NULL);
	r->promise->joined = true;
	r->agent.await = NULL;
}

/* While the sandbox is only expected, r->box.sandbox has its client and its
 * working directory. clear_box() removes them. */
static void expect_box(struct run *r)
{
	r->box.sandbox =
		(struct sandbox){ .client = &r->client,
				  .workdir = xstrdup(r->promise->expected) };
}

static void clear_box(struct run *r)
{
	free(r->box.sandbox.workdir);
	r->box.sandbox = (struct sandbox){ 0 };
}

/* Starts the thread that creates the sandbox. */
static int start_creation(struct run *r, const struct stop *stop,
			  struct error *err)
{
	struct promise *p = r->promise;

	p->stop = *stop;
	if (cancel_chain_init(&p->makes, stop->cancel, err) < 0 ||
	    cancel_chain_init(&p->asks, stop->cancel, err) < 0)
		goto fail;
	p->stop.cancel = &p->makes.cancel;
	clear_box(r);
	p->started = true;
	if (thread_start(&p->thread, make_sandbox, r, err) == 0)
		return 0;
	p->started = false;
	expect_box(r);
fail:
	cancel_chain_release(&p->makes);
	cancel_chain_release(&p->asks);
	return -1;
}

/* Call if a late creation has failed: the next call that needs the sandbox
 * tries again. */
static void expect_again(struct run *r)
{
	struct promise *p = r->promise;
	struct error ignored = { 0 };

	/* waits until what the cancelled creation has made is deleted */
	(void)lifecycle_close(&r->box, &ignored);
	cancel_chain_release(&p->makes);
	cancel_chain_release(&p->asks);
	p->started = p->joined = p->ended = p->asked = false;
	p->rc = 0;
	p->err = (struct error){ 0 };
	expect_box(r);
}

/* Called if the sandbox has another working directory than the model was told.
 * Drops the model's answer and opens the model again. Returns 1: the agent must
 * ask again. -1 with err. */
static int reopen_model(struct run *r, struct error *err)
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

/* agent.await callback: waits for the sandbox before the first tool runs.
 * Returns 1 if the agent must ask the model again. */
static int await_sandbox(void *arg, struct error *err)
{
	struct run *r = arg;
	const struct promise *p = r->promise;
	struct stop stop = app_stop(r->app);
	struct error ignored = { 0 };

	if (!p->started && start_creation(r, &stop, err) < 0)
		return -1;
	join_creation(r);
	if (p->rc < 0) {
		*err = p->err;
		if (p->late) {
			expect_again(r);
			r->agent.await = await_sandbox;
		}
		return -1;
	}
	r->agent.call_begins = NULL;
	if (run_name_session(r, err) < 0)
		return -1;
	/* if this fails, the next message that is stored includes it */
	(void)session_store_info(r->session, &ignored);
	if (p->open_rest(r, err) < 0 ||
	    (r->opened && r->opened(r->ui.arg, err) < 0))
		return -1;
	if (!place_is(&r->box.sandbox, p->expected))
		return reopen_model(r, err);
	r->agent.untold_dir = r->box.sandbox.made_dir != NULL;
	return 0;
}

/* agent.call_begins callback. A failure is reported by await_sandbox(). */
static void on_call(void *arg)
{
	struct run *r = arg;
	struct stop stop = app_stop(r->app);
	struct error ignored = { 0 };

	if (!r->promise->started)
		(void)start_creation(r, &stop, &ignored);
}

/* Creates the promise. If the sandbox is created at once, returns when the user
 * has no question left, or with -1 when the creation has failed. If it is
 * created late, the question about the tree is asked now. */
int run_promise_begin(struct run *r,
		      int (*open_rest)(struct run *r, struct error *err),
		      const struct stop *stop, struct error *err)
{
	struct promise *p = xcalloc(1, sizeof(*p));
	bool failed;

	p->expected = xstrdup(r->box.sandbox.workdir);
	p->open_rest = open_rest;
	p->late = creates_late(r);
	p->makes = p->asks = (struct cancel_chain){ { { -1, -1 } }, -1 };
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	r->promise = p;
	if (p->late ? run_workspace_fill(r, NULL, NULL, stop, err) < 0
		    : start_creation(r, stop, err) < 0) {
		clear_box(r);
		free_promise(r);
		return -1;
	}
	r->agent.await = await_sandbox;
	r->agent.await_arg = r;
	if (p->late) {
		r->agent.call_begins = on_call;
		return 0;
	}
	pthread_mutex_lock(&p->lock);
	while (!p->asked && !p->ended)
		pthread_cond_wait(&p->changed, &p->lock);
	failed = p->ended && p->rc < 0;
	pthread_mutex_unlock(&p->lock);
	return failed ? await_sandbox(r, err) : 0;
}

bool run_is_late(const struct run *r)
{
	return run_is_promised(r) && r->promise->late && !r->promise->started;
}

int run_await(struct run *r, struct error *err)
{
	return run_is_promised(r) && await_sandbox(r, err) < 0 ? -1 : 0;
}

void run_promise_end(struct run *r)
{
	if (!r->promise)
		return;
	if (run_is_late(r)) {
		clear_box(r);
	} else if (!r->promise->joined) {
		cancel_trigger(&r->promise->makes.cancel);
		join_creation(r);
	}
	free_promise(r);
}

/* The agent has ended with rc and err before a tool ran. If it failed, an
 * unattended run cancels the creation. A chat waits for the sandbox and uses it
 * for the next prompt. */
static int settle_promise(struct run *r, int rc, const struct stop *stop,
			  struct error *err)
{
	const struct promise *p = r->promise;
	struct error ignored = { 0 };
	struct error why = { 0 };

	if (!p->started)
		return rc;
	if (rc < 0 && !r->interactive) {
		cancel_trigger(&p->makes.cancel);
		join_creation(r);
		/* if the request was cancelled because the creation had failed,
		 * reports why that failed */
		if (p->rc < 0 && err->code == ERR_CANCELLED &&
		    stop_check(stop, &ignored) == 0)
			*err = p->err;
		return -1;
	}
	if (await_sandbox(r, &why) >= 0)
		return rc;
	if (rc == 0 || stop_check(stop, &ignored) == 0)
		*err = why;
	return -1;
}

/* Returns the note that goes before the next prompt: plan mode is on, or has
 * ended since the last prompt; NULL: neither. Sets run.plans, so call it once
 * for each prompt. */
static const char *take_plan_note(struct run *r)
{
	const char *over = r->plans ? MESSAGE_NOTE_PLAN_OVER : NULL;

	r->plans = r->mode == RUN_PLAN;
	if (r->plans)
		return MESSAGE_NOTE_PLAN;
	r->before_plan = r->mode;
	return over;
}

int run_agent(struct run *r, const char *prompt, const struct stop *stop,
	      struct error *err)
{
	struct stop both = *stop;
	bool told = r->plans;
	const char *plan = take_plan_note(r);
	char *note =
		r->undone && plan ? xasprintf("%s\n%s", plan, r->undone) : NULL;
	int rc;

	r->wrote.turn = false;
	r->agent.note = note ? note : r->undone ? r->undone : plan;
	/* If creating the sandbox fails, the request to the model is cancelled,
	 * too. */
	if (run_is_promised(r) && r->promise->started)
		both.cancel = &r->promise->asks.cancel;
	rc = agent_run(&r->agent, prompt, &both, err);
	r->agent.note = NULL;
	if (!r->agent.sent)
		r->plans = told;
	free(note);
	return run_is_promised(r) ? settle_promise(r, rc, stop, err) : rc;
}

/* move.c - dcode move: a thread continues in another sandbox, with its work. */
/* SPDX-License-Identifier: MIT */
/*
 * The thread's sandbox is opened like that of `dcode diff`, the new one like
 * that of a run (cmd/session/sandbox.c), but without a model. The thread is
 * locked meanwhile. It is given the new sandbox after that is recorded as kept,
 * so that a dcode that is killed before leaves the thread where it was. Begin
 * reading at move_thread().
 */
#include "cmd/session/move.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/command.h"
#include "cmd/options.h"
#include "cmd/print.h"
#include "cmd/secret.h"
#include "cmd/session/money.h"
#include "cmd/session/open.h"
#include "cmd/session/sandbox.h"
#include "cmd/session/target.h"
#include "cmd/session/tree.h"
#include "session/thread.h"

enum { WORDS_MOST = 512, JSON_MAX = 1 << 16 };

struct moving {
	struct app *app;
	const struct args *args; /* of dcode move */
	const char *provider;    /* where the thread goes */
	struct stop stop;
	struct store *store;
	struct thread thread;
	struct session *session; /* locks the thread */
	struct target old;
	struct sandbox old_box; /* attached; id NULL: it is not */
	struct move move;
	struct run run; /* its sandbox is the new one */
	struct args run_args;
	const char *words[WORDS_MOST];
	int n_words;
	char label[16]; /* of the new sandbox */
	char *id;       /* owned; of the new sandbox */
};

static void add_word(struct moving *m, const char *word)
{
	if (m->n_words < WORDS_MOST)
		m->words[m->n_words] = word;
	m->n_words++;
}

/* Reads the flags of a run that makes the new sandbox. */
static int read_flags(struct moving *m, struct error *err)
{
	static const char *const values[][2] = {
		{ "sandbox-setup", "--sandbox-setup" },
		{ "sandbox-network", "--sandbox-network" },
		{ "include", "--include" },
		{ "history", "--history" },
	};
	const char *value;

	add_word(m, "--sandbox");
	add_word(m, m->provider);
	add_word(m, "--workspace");
	add_word(m, "repo");
	add_word(m, "--keep");
	if (args_flag(m->args, "trust-project"))
		add_word(m, "--trust-project");
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		for (size_t at = 0;
		     (value = args_next(m->args, values[i][0], &at));) {
			add_word(m, values[i][1]);
			add_word(m, value);
		}
	if (m->n_words > WORDS_MOST)
		return error_set(err, ERR_USAGE, "more than %d options",
				 (int)WORDS_MOST / 2);
	m->run = (struct run){ .app = m->app,
			       .args = &m->run_args,
			       .stop = m->stop,
			       .interactive = secret_terminal(m->app),
			       .move = &m->move };
	if (args_parse(&m->run_args, options_global, options_run, m->n_words,
		       (char **)m->words, err) < 0)
		return -1;
	return run_read_flags(&m->run, &m->run_args, err);
}

/* Finds the thread and locks it. */
static int find_thread(struct moving *m, struct error *err)
{
	const struct session_info none = { 0 };
	const char *name = m->args->argc ? m->args->argv[0] : NULL;
	struct settings *set;
	int64_t pid = 0;

	if (app_settings(m->app, &set, err) < 0 ||
	    app_store(m->app, &m->store, err) < 0 ||
	    thread_find(m->store, name, settings_cwd(set), &m->thread, err) < 0)
		return -1;
	if (session_resume(&m->session, m->store, &m->thread, &none, &pid,
			   err) == 0)
		return 0;
	if (err->code == ERR_BUSY)
		error_hint(err,
			   "Type /move PROVIDER in the chat that uses it.");
	return -1;
}

/* Connects to the thread's sandbox, without starting it. */
static int find_old(struct moving *m, struct error *err)
{
	const struct args none = { 0 };
	const struct thread *t = &m->thread;

	if (!t->label[0]) {
		error_set(err, ERR_USAGE,
			  sandbox_is_none(t->provider) || !t->provider[0]
				  ? "this thread has no sandbox: its files are "
				    "in its directory"
				  : "dcode did not create this thread's "
				    "sandbox, so it cannot move what is in it");
		return error_hint(err,
				  "`dcode -r %s --sandbox %s --workspace repo` "
				  "continues there.",
				  t->id, m->provider);
	}
	if (target_open(&m->old, m->app, &none, t->label, err) < 0)
		return -1;
	if (m->old.owner_runs)
		return error_set(err, ERR_BUSY,
				 "another dcode (process %lld) uses the "
				 "sandbox of this thread",
				 (long long)m->old.pid);
	return 0;
}

/* Asks, unless --yes was given. Returns 1 for yes. */
static int confirm(struct moving *m, struct error *err)
{
	bool asks = !args_flag(m->args, "yes");

	if (!asks ||
	    (!m->app->unattended && !m->app->json && secret_terminal(m->app)))
		return move_confirm(&m->move, m->old.client.provider->name,
				    m->provider, asks, err);
	error_set(err, ERR_USAGE, "nothing was moved: cannot ask, no terminal");
	return error_hint(err, "--yes moves without asking.");
}

/* Makes the new sandbox and keeps it. */
static int make_new(struct moving *m, struct error *err)
{
	struct run *r = &m->run;
	bool stops;

	if (run_open_sandbox(r, &m->stop, err) < 0)
		return -1;
	snprintf(m->label, sizeof(m->label), "%s", r->box.label);
	m->id = xstrdup(r->box.sandbox.id);
	stops = sandbox_can_stop(&r->client);
	r->box.request.on_exit = stops ? LIFECYCLE_STOP : LIFECYCLE_KEEP;
	r->box.request.thread = m->thread.id;
	return run_end_sandbox(r, err);
}

/* The old sandbox is left as it was. It is never deleted here: other threads
 * may share it, and it has the files that git ignores. */
static void leave_old(struct moving *m)
{
	if (!m->old_box.id)
		return;
	sandbox_release(&m->old_box);
	target_stop_again(&m->old, m->app);
}

static int move_thread(struct moving *m, struct error *err)
{
	struct move *work = &m->move;
	int rc;

	if (find_thread(m, err) < 0 || read_flags(m, err) < 0 ||
	    find_old(m, err) < 0 || run_money_begin(&m->run, err) < 0 ||
	    run_open_client(&m->run, err) < 0)
		return -1;
	if (target_attach(&m->old, &m->old_box, &m->stop, err) < 0)
		return error_wrap(err, "opening the sandbox of the thread");
	work->label = m->old.label;
	work->sandbox = &m->old_box;
	work->include = m->run.options.include;
	work->n_include = m->run.options.n_include;
	rc = move_open(work, settings_cwd(m->app->settings), err);
	if (rc == 0)
		rc = confirm(m, err);
	if (rc <= 0)
		return rc;
	if (make_new(m, err) < 0)
		return error_wrap(err, "the thread was not moved");
	return session_place_thread(
		       m->store, m->thread.id,
		       &(struct session_info){
			       .provider = m->run.client.provider->name,
			       .sandbox = m->id,
			       .label = m->label },
		       err) < 0
		       ? -1
		       : 1;
}

static void print_result(const struct moving *m)
{
	struct buf out = BUF_INIT(JSON_MAX);

	if (!m->app->json) {
		print_line(m->app,
			   "%s Moved thread %s: %zu changed file%s, compared. "
			   "To continue: dcode -r %s",
			   print_sign(m->app, GLYPH_CHECK), m->thread.id,
			   m->move.files, m->move.files == 1 ? "" : "s",
			   m->thread.id);
		move_print_left(&m->move, m->old.client.provider->name);
		if (m->move.ignored)
			print_line(m->app,
				   "Only there: new files that git ignores "
				   "(%lld).",
				   (long long)m->move.ignored);
		print_line(m->app,
			   "The old sandbox is kept as before. To delete it: "
			   "dcode sandbox rm %s",
			   tree_short_name(m->old.label));
		return;
	}
	buf_addc(&out, '{');
	json_member(&out, "thread", str_of(m->thread.id));
	buf_addc(&out, ',');
	json_member(&out, "from", str_of(tree_short_name(m->old.label)));
	buf_addc(&out, ',');
	json_member(&out, "sandbox", str_of(tree_short_name(m->label)));
	buf_addc(&out, ',');
	json_member(&out, "provider", str_of(m->run.client.provider->name));
	buf_addf(&out, ",\"files\":%zu,\"ignored\":%lld}", m->move.files,
		 (long long)m->move.ignored);
	app_envelope("move", &out);
	buf_release(&out);
}

static int run(struct app *app, const struct args *args)
{
	const char *provider = args_value(args, "sandbox");
	struct moving m = { .app = app,
			    .args = args,
			    .provider = provider,
			    .stop = app_stop(app) };
	struct error err = { 0 };
	int rc;

	m.move.app = m.run.app = app;
	m.move.stop = &m.stop;
	if (!provider)
		return command_misuse(&command_move, NULL,
				      "--sandbox PROVIDER says where to");
	if (sandbox_is_none(provider)) {
		error_set(&err, ERR_USAGE,
			  "a thread moves to this machine only in a chat, "
			  "which asks");
		error_hint(&err, "`dcode -r ID`, then /move none. Or `dcode "
				 "apply ID`, then `dcode -r ID --sandbox "
				 "none`.");
		return app_fail(app, &err);
	}
	rc = move_thread(&m, &err);
	if (rc > 0)
		print_result(&m);
	run_close(&m.run);
	leave_old(&m);
	move_close(&m.move);
	target_close(&m.old);
	if (m.session)
		session_free(m.session);
	thread_release(&m.thread);
	args_release(&m.run_args);
	free(m.id);
	if (rc < 0)
		return app_fail(app, &err);
	return rc ? 0 : 1;
}

static const struct arg_row options[] = {
	{ "sandbox", 0, ARG_VALUE, "PROVIDER", "Where the thread goes" },
	{ "sandbox-setup", 0, ARG_VALUE, "PATH",
	  "Run this local script in the new sandbox" },
	{ "sandbox-network", 0, ARG_VALUE, "full|none|HOST",
	  "Hosts that the new sandbox may reach; repeatable" },
	{ "include", 0, ARG_VALUE, "PATTERN",
	  "Also take along files that match this pattern (secret, ignored or "
	  "large files); repeatable" },
	{ "history", 0, ARG_VALUE, "N", "Also send the last N commits" },
	{ "trust-project", 0, ARG_FLAG, NULL,
	  "Trust what this project's files add" },
	{ "yes", 0, ARG_FLAG, NULL, "Do not ask for confirmation" },
	ARG_JSON,
	{ 0 },
};

static const struct subcommand subs[] = {
	{ .name = "",
	  .args = "[THREAD]",
	  .options = options,
	  .most = 1,
	  .run = run },
	{ 0 },
};

const struct command command_move = {
	.name = "move",
	.summary = "Continue a thread in another sandbox, with its files",
	.subs = subs,
};

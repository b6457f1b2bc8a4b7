/* run_sandbox.c - the sandbox of a run: opened, and what its end does to it. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/print.h"
#include "cmd/secret.h"
#include "cmd/session/run_money.h"
#include "cmd/skills/run_skills.h"
#include "cmd/threads/saved_patch.h"

enum { LEAST_KEEP_S = 60 };

int run_keep_time(struct app *app, int64_t *seconds, struct error *err)
{
	struct settings *set;

	if (app_settings(app, &set, err) < 0)
		return -1;
	if (settings_int(set, NULL, "sandboxes.keep_for", seconds, err) < 0)
		return -1;
	if (*seconds >= LEAST_KEEP_S && *seconds <= INT32_MAX)
		return 0;
	return error_set(
		err, ERR_CONFIG,
		"[sandboxes] keep_for = %lld: use seconds, at least %d",
		(long long)*seconds, LEAST_KEEP_S);
}

static int parse_exit(const char *word, enum lifecycle_exit *on_exit)
{
	static const char *const words[] = { [LIFECYCLE_DELETE] = "delete",
					     [LIFECYCLE_STOP] = "stop",
					     [LIFECYCLE_KEEP] = "keep" };

	for (int i = 0; i < (int)(sizeof(words) / sizeof(words[0])); i++)
		if (strcmp(words[i], word) == 0) {
			*on_exit = (enum lifecycle_exit)i;
			return 0;
		}
	return -1;
}

static int exit_of_flags(struct run_options *o, const struct args *args,
			 struct error *err)
{
	const char *word = args_value(args, "on-exit");
	bool keep = args_flag(args, "keep");

	o->exit_given = keep || word;
	if (keep)
		o->on_exit = LIFECYCLE_KEEP;
	if (word && parse_exit(word, &o->on_exit) < 0)
		return error_set(err, ERR_USAGE,
				 "argument --on-exit: invalid choice: '%s' "
				 "(choose from 'delete', 'stop', 'keep')",
				 word);
	if (keep && o->on_exit != LIFECYCLE_KEEP)
		return error_set(err, ERR_USAGE,
				 "--keep cannot be combined with --on-exit %s",
				 word);
	if (!o->exit_given || strcmp(o->sandbox, "none") != 0)
		return 0;
	return error_set(err, ERR_USAGE, "%s requires a --sandbox provider",
			 keep ? "--keep" : "--on-exit");
}

int run_exit_resolve(struct run_options *o, struct app *app,
		     const struct args *args, struct error *err)
{
	const char *word = NULL;
	struct settings *set;

	if (exit_of_flags(o, args, err) < 0 ||
	    app_settings(app, &set, err) < 0 ||
	    run_keep_time(app, &o->keep_s, err) < 0)
		return -1;
	if (o->sandbox_id && o->exit_given && o->on_exit != LIFECYCLE_KEEP)
		return error_set(err, ERR_USAGE,
				 "--on-exit cannot be combined with "
				 "--sandbox-id: that sandbox always stays");
	if (o->exit_given || !strcmp(o->sandbox, "none") || o->sandbox_id)
		return 0;
	if (settings_string(set, NULL, "sandboxes.on_exit", &word, err) < 0)
		return -1;
	o->exit_given = word && word[0];
	if (o->exit_given && parse_exit(word, &o->on_exit) < 0)
		return error_set(err, ERR_CONFIG,
				 "[sandboxes] on_exit = \"%s\": use delete, "
				 "stop or keep",
				 word);
	return 0;
}

static bool on_host(const struct run *r)
{
	return r->host.provider->flags & SANDBOX_UNISOLATED;
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

static int on_confirm(void *arg, const char *sentence, struct error *err)
{
	const struct run *r = arg;

	if (!r->interactive || !secret_terminal(r->app))
		return 0;
	on_warning(NULL, sentence);
	return secret_confirm(r->app, "Continue? [y/N] ", err);
}

static void on_changed(void *arg, enum sandbox_state state)
{
	(void)arg;
	if (state == STATE_STOPPED)
		app_warn("the sandbox was stopped, by its vendor or from "
			 "outside");
	else if (state == STATE_GONE)
		app_warn("the sandbox is gone: its vendor ended it, or it was "
			 "deleted from outside");
}

/* Where the directory is gone, tools must not act in some other one. */
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

/* What of it is still there: its last patch. */
static void say_gone(struct run *r, const struct error *why)
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

/* One that was kept stays so, unless it was said what becomes of it. */
static void stay_as_it_was(struct run *r)
{
	bool stopped = r->box.before == LEDGER_STOPPED ||
		       r->box.before == LEDGER_STOPPING;

	if (r->box.resumed && r->box.was_kept && !r->options.exit_given)
		r->box.request.on_exit =
			stopped ? LIFECYCLE_STOP : LIFECYCLE_KEEP;
}

/* 0, -1, or 1 when there is none any more. */
static int resume_own(struct run *r, const struct lifecycle_request *request,
		      const char *label, const struct stop *stop,
		      struct error *err)
{
	struct lifecycle_request own = *request;
	struct error why = { 0 };

	own.resume = label;
	if (lifecycle_open(&r->box, &own, stop, &why) == 0) {
		stay_as_it_was(r);
		return 0;
	}
	if (why.code == ERR_GONE && !r->box.ending) {
		say_gone(r, &why);
		return 1;
	}
	*err = why;
	return -1;
}

int run_end_sandbox(struct run *r, struct error *err)
{
	int rc;

	run_money_keep(r);
	run_skills_leave(r);
	rc = lifecycle_close(&r->box, err);
	run_money_sandbox_end(r);
	run_money_store(r);
	return rc;
}

int run_open_client(struct run *r, struct error *err)
{
	struct store *store;
	char *endpoint = run_own_endpoint(r);
	int rc = app_client_at(r->app, r->options.sandbox_as, endpoint,
			       &r->host, err);

	free(endpoint);
	if (rc < 0)
		return -1;
	r->opened_client = true;
	if (on_host(r) && check_directory(err) < 0)
		return -1;
	if (on_host(r))
		return 0;
	return run_workspace_check(r, err) < 0 ? -1
					       : app_store(r->app, &store, err);
}

int run_open_sandbox(struct run *r, const struct stop *stop, struct error *err)
{
	int rc = 1;
	char *label;
	struct stop limit;
	struct lifecycle_request request = {
		.host = &r->host,
		.mask = r->app->mask,
		.attach_id = r->options.sandbox_id,
		.snapshot = r->options.snapshot,
		.setup = r->options.setup,
		.network = r->options.network,
		.begins = run_promise_begins,
		.begins_arg = r,
		.fill = run_fill,
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

	if (!on_host(r) && app_store(r->app, &request.store, err) < 0)
		return -1;
	if (run_money_sandbox(r, err) < 0)
		return -1;
	limit = run_money_stop(r, stop); /* uploads and setup cost, too */
	label = run_own_find(r, request.store);
	if (label)
		rc = resume_own(r, &request, label, &limit, err);
	free(label);
	if (rc > 0)
		rc = lifecycle_open(&r->box, &request, &limit, err);
	rc = meter_name_cap(r->app->meter, stop, rc, err);
	if (rc < 0)
		run_money_sandbox_end(r);
	return rc;
}

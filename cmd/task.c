/* task.c - dcode -n: runs one task unattended. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at run_task(), which has the steps of a run in their order. The
 * answer goes to stdout, as text (struct plain) or as JSON events (struct
 * events); all else goes to stderr. There is no user to ask: run_decide()
 * allows or refuses each call. classify_failure() turns an error into the exit
 * status and the word "status" of the JSON result. print_end() prints the
 * result, after the sandbox was deleted, stopped or kept.
 */
#include "cmd/task.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/chat/message.h"
#include "cmd/print.h"
#include "cmd/session/hooks.h"
#include "cmd/session/money.h"
#include "cmd/session/open.h"
#include "cmd/session/policy.h"
#include "cmd/session/run.h"
#include "cmd/session/sandbox.h"
#include "cmd/session/save.h"
#include "cmd/session/transfer.h"
#include "cmd/session/undo.h"
#include "sandbox/sandbox.h"
#include "ui/progress/task_line.h"
#include "ui/streams.h"

enum {
	MAX_PROMPT = 128 << 20, /* bytes of the prompt, including the files that
				   it names */
	HELD_MAX = 64 << 20, /* bytes of the first answer that are held back */
};

enum {
	STATUS_LIMIT = 124,
	RETURN_FAILED = -2, /* result of a run that succeeded, except for a
			       download or --apply */
};

/* The file of --output. Its directory is opened before there is a sandbox: with
 * files that a sandbox shares, a command could put a link in its place, and
 * the answer would replace a file somewhere else. */
struct answer_file {
	int dir; /* 0: no file */
	const char *name;
};

struct task {
	struct run *run;
	struct plain plain;
	struct events events;
	struct task_line status;
	bool json;
	bool begun; /* the sandbox is ready, and the first lines were printed */
	/* With output to a pipe, the first answer is held back until the
	 * sandbox is ready: a run that does not get a sandbox must not print an
	 * answer. */
	bool holds;
	struct buf held;
	struct answer_file file;
};

static int output_failed(const struct task *t)
{
	int number = t->json ? t->events.failed : t->plain.failed;

	return number == ECANCELED ? 0 : number; /* the run was cancelled */
}

static void write_event(struct task *t, const struct agent_event *ev)
{
	if (t->json)
		events_event(&t->events, ev);
	else
		plain_event(&t->plain, ev);
}

static void start_output(struct task *t);

static void on_event(void *arg, const struct agent_event *ev)
{
	struct task *t = arg;

	run_note_event(t->run, ev);
	task_line_event(&t->status, ev);
	if (!t->begun && run_is_promised(t->run) && run_has_come(t->run))
		start_output(t);
	if (t->holds && ev->kind == EVENT_RESTART)
		buf_clear(&t->held);
	if (t->holds && ev->kind == EVENT_TEXT)
		buf_addstr(&t->held, ev->text);
	else
		write_event(t, ev);
	/* end the run: nobody reads answers that still cost money */
	if (output_failed(t))
		cancel_trigger(&t->run->app->cancel);
}

static int on_approve(void *arg, struct approval *a, const struct stop *stop,
		      struct error *err)
{
	struct task *t = arg;
	enum run_verdict verdict;

	return run_decide(t->run, a, &verdict, stop, err);
}

/* Prints the first lines: the model, where tools act, the thread, and what the
 * run may do. */
static void print_start(struct task *t)
{
	struct run *r = t->run;
	char *model = run_model_name(r);
	bool host = !run_has_sandbox(r);
	struct buf place = BUF_INIT(1 << 16);
	char id[IDS_SHOWN];

	buf_adds(&place,
		 host ? "this directory" : ids_shown(r->box.sandbox.id, id));
	run_mounts(r, &place);
	if (r->options.yes && sandbox_acts_on_host(&r->box.sandbox))
		app_warn("--auto-approve: every tool call runs on %s without "
			 "asking",
			 sandbox_is_shared(&r->box.sandbox) ? r->box.sandbox.id
							    : "this machine");
	if (!t->json && !r->options.quiet)
		fprintf(stderr, "dcode: %s, tools in %s, thread %s\n", model,
			place.ptr, session_id(r->session));
	if (t->json)
		events_start(&t->events, session_id(r->session), model,
			     r->client.provider->name,
			     host ? NULL : r->box.sandbox.id);
	buf_clear(&place);
	run_limits(r, &place);
	if (place.len && !r->options.quiet)
		fprintf(stderr, "dcode: this run may %s\n", place.ptr);
	buf_release(&place);
	t->plain.whole_lines = false;
	free(model);
}

/* Called when the sandbox is ready: prints the first lines and the answer that
 * was held back. */
static void start_output(struct task *t)
{
	struct buf held = t->held;

	if (t->begun)
		return;
	t->begun = true;
	print_start(t);
	t->holds = false;
	t->held = (struct buf){ 0 };
	if (held.len) {
		write_event(t, &(struct agent_event){ .kind = EVENT_TEXT,
						      .text = buf_str(&held) });
		write_event(t, &(struct agent_event){ .kind = EVENT_FLUSH });
	}
	buf_release(&held);
}

/* Opens the directory of --output. Only a regular file is replaced. */
static int open_answer_file(struct task *t, struct error *err)
{
	const char *path = t->run->options.output;
	const char *slash = path ? strrchr(path, '/') : NULL;
	char *parent = slash ? xstrndup(path, (size_t)(slash - path) + 1)
			     : xstrdup(".");
	struct stat st;
	int dir = 0;
	int rc = 0;

	if (path) {
		t->file.name = slash ? slash + 1 : path;
		dir = open(parent, O_DIRECTORY | O_CLOEXEC);
	}
	if (dir < 0) {
		rc = error_errno(err, "--output: opening %s", parent);
	} else if (path && !t->file.name[0]) {
		rc = error_set(err, ERR_USAGE,
			       "--output: %s is not the name of a file", path);
	} else if (path &&
		   fstatat(dir, t->file.name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		   !S_ISREG(st.st_mode)) {
		rc = error_set(err, ERR_USAGE,
			       "--output: %s is not a regular file; dcode "
			       "replaces nothing else",
			       path);
	} else if (path && faccessat(dir, ".", W_OK, AT_EACCESS) < 0) {
		rc = error_errno(err, "--output: writing in %s", parent);
	}
	if (rc < 0 && dir > 0)
		close(dir);
	else if (dir > 0)
		t->file.dir = dir;
	free(parent);
	return rc;
}

/* Closes the directory. Writes the last answer first if the run succeeded: the
 * answer of a failed run may be cut. */
static int write_answer_file(struct task *t, bool succeeded, struct error *err)
{
	struct str answer = buf_str(&t->run->agent.answer);
	struct error why = { 0 }; /* names the path by its descriptor */
	char *path;
	int rc = 0;

	if (!t->file.dir)
		return 0;
	path = xasprintf("/proc/self/fd/%d/%s", t->file.dir, t->file.name);
	if (succeeded && answer.len && path_write(path, answer, 0600, &why) < 0)
		rc = error_errno(err, "writing the answer to %s",
				 t->run->options.output);
	close(t->file.dir);
	t->file.dir = 0;
	free(path);
	return rc;
}

static int on_opened(void *arg, struct error *err)
{
	struct task *t = arg;

	if (run_apply_check(t->run, err) < 0)
		return -1;
	start_output(t);
	return 0;
}

static void open_output(struct task *t)
{
	t->json = t->run->app->json;
	t->events.last_only = t->run->app->json_once;
	t->events.began_ms = clock_ms();
	t->plain.quiet = t->run->options.quiet;
	t->plain.ascii = print_is_ascii(t->run->app);
	t->plain.last_only = t->plain.quiet;
	t->plain.no_stream = t->plain.quiet || t->run->options.no_stream;
	t->plain.stop = t->events.stop = &t->run->stop;
	t->plain.whole_lines = isatty(STDOUT_FILENO);
	t->holds = t->json || !isatty(STDOUT_FILENO);
	t->held = BUF_INIT(HELD_MAX);
}

static int output_error(const struct task *t, struct error *err)
{
	errno = output_failed(t);
	(void)error_errno(err, "writing standard output");
	return output_failed(t) == EPIPE ? STATUS_PIPE : 1;
}

/* Sets *status to the word for the JSON result, completes err, and returns the
 * exit status of a failed run. */
static int classify_failure(struct task *t, const struct stop *stop,
			    struct error *err, const char **status)
{
	struct error why = { 0 };
	struct run *r = t->run;

	*status = "error";
	if (output_failed(t))
		return output_error(t, err);
	if (r->options.timeout_s && !app_signal() &&
	    stop_check(stop, &why) < 0 && why.code == ERR_TIMEOUT) {
		*status = "timeout";
		error_set(err, ERR_TIMEOUT,
			  "agent timed out after %llds. Retry with a larger "
			  "--timeout, or use --max-turns for a turn-count "
			  "limit.",
			  (long long)r->options.timeout_s);
		return STATUS_LIMIT;
	}
	if (r->options.timeout_s && err->exact == CASE_NO_TIME) {
		*status = "timeout";
		return STATUS_LIMIT;
	}
	if (err->code == ERR_CANCELLED) {
		*status = "cancelled";
		return 128 + (app_signal() ? app_signal() : 2);
	}
	if (err->exact == CASE_REPEATED_CALLS) {
		*status = "repeated_calls";
		return STATUS_REPEATS;
	}
	if (err->code == ERR_LIMIT && r->options.max_turns &&
	    r->agent.all_turns >= r->options.max_turns) {
		*status = "max_turns";
		return STATUS_LIMIT;
	}
	if (err->code == ERR_BUDGET) {
		*status = "max_usd";
		if (r->session && session_is_stored(r->session))
			(void)error_hint(
				err, "`dcode -r %.40s --max-usd N` continues.",
				session_id(r->session));
		else
			(void)error_hint(err, "Use a higher --max-usd.");
		return STATUS_LIMIT;
	}
	return app_exit_status(err);
}

/* Emits the first event of the JSON output for a run that did not get a
 * sandbox, with what is known. */
static void emit_start(struct task *t)
{
	struct run *r = t->run;
	char *model = r->choice.model ? run_model_name(r) : NULL;

	events_start(&t->events,
		     r->session && session_is_stored(r->session)
			     ? session_id(r->session)
			     : NULL,
		     model, r->options.sandbox, NULL);
	free(model);
}

static void report_error(struct task *t, const struct error *err)
{
	struct buf message = BUF_INIT(1 << 12);

	if (t->json) {
		emit_start(t);
		app_clean(t->run->app, CLEAN_LATER, str_of(err->message),
			  &message);
		events_error(&t->events, error_name(err->code),
			     buf_str(&message), str_of(err->hint));
		buf_release(&message);
	}
	t->run->app->json = false; /* the result event has the error: print it
				      on stderr only */
	if (err->code == ERR_CANCELLED)
		fputs("\nInterrupted\n", stderr);
	else
		(void)app_fail(t->run->app, err);
}

/* Prints what the run cost; at a terminal, also what else it took. */
static void print_cost(struct task *t, bool done)
{
	struct buf line = BUF_INIT(1 << 12);
	struct buf cost = BUF_INIT(1 << 12);

	task_line_add_end(&t->status, done ? "Done in" : "Ended after", &line);
	run_money_line(t->run, &cost);
	if (line.len && cost.len)
		buf_adds(&line, ". ");
	buf_addstr(&line, buf_str(&cost));
	if (line.len && !t->run->options.quiet)
		output_line(buf_str(&line));
	buf_release(&cost);
	buf_release(&line);
}

static void emit_remark(struct task *t)
{
	struct buf line = BUF_INIT(1 << 10);

	if (run_remark_add(t->run, &line))
		events_error(&t->events, "warning", buf_str(&line), STR(""));
	buf_release(&line);
}

/* Prints the last lines on stdout and stderr, after the sandbox was deleted,
 * stopped or kept. */
static int print_end(struct task *t, int rc, int code, const char *status,
		     struct error *err)
{
	struct buf changes = BUF_INIT(1 << 16);
	struct buf reason = BUF_INIT(1 << 12);
	struct buf transfers = BUF_INIT(256 << 20);
	struct run *r = t->run;

	if (!t->json && plain_end(&t->plain) < 0 && rc == 0) {
		/* if the run was stopped, that is why the last write failed */
		(void)stop_check(&r->stop, err);
		code = classify_failure(t, &r->stop, err, &status);
		rc = -1;
	}
	if (rc == 0 && !code)
		code = run_remark_outcome(r, &status, err);
	if (rc < 0 || code)
		report_error(t, err);
	else
		run_remark(r);
	if (!t->json) {
		print_cost(t, rc >= 0 && !code);
		return code;
	}
	emit_start(t);
	if (rc >= 0 && !code)
		emit_remark(t);
	run_transfers_json(r, &transfers);
	events_add(&t->events, "transfers", buf_str(&transfers));
	save_json(&r->saved, &changes);
	events_add(&t->events, "changes", buf_str(&changes));
	events_add(&t->events, "apply", buf_str(&r->applied));
	buf_clear(&changes);
	run_money_json(r, &changes);
	app_clean(r->app, CLEAN_LATER, str_of(err->message), &reason);
	run_remark_json(r, rc < 0, code ? reason.ptr : NULL, &changes);
	buf_release(&reason);
	events_members(&t->events, buf_str(&changes));
	buf_release(&changes);
	buf_release(&transfers);
	if (events_result(&t->events, status,
			  t->begun ? buf_str(&r->agent.answer) : STR(""),
			  r->agent.all_turns, &r->agent.usage, code) < 0 &&
	    rc == 0) {
		(void)stop_check(&r->stop, err);
		code = classify_failure(t, &r->stop, err, &status);
		report_error(t, err);
	}
	return code;
}

int run_fail(struct run *r, struct error *err)
{
	struct task t = { .run = r };
	const char *status;
	int code = classify_failure(&t, &r->stop, err, &status);

	open_output(&t);
	output_obey(&r->app->guard, &r->stop);
	t.plain.guard = &r->app->guard;
	code = print_end(&t, -1, code, status, err);
	output_obey(&t.run->app->guard, NULL);
	events_release(&t.events);
	plain_release(&t.plain);
	buf_release(&t.held);
	return code;
}

/* Downloads and --apply come before the end of the sandbox, which they need. */
int run_task(struct run *r, const char *prompt)
{
	struct task t = { .run = r };
	struct error err = { 0 };
	struct error lost = { 0 };
	struct error ignored = { 0 };
	struct buf whole = BUF_INIT(MAX_PROMPT);
	const char *status = "success";
	int code = 0;
	int rc;

	open_output(&t);
	output_obey(&r->app->guard, &r->stop);
	t.plain.guard = &r->app->guard;
	task_line_begin(&t.status, &r->app->guard, &r->app->meter,
			print_is_ascii(r->app));
	/* Events on a terminal are for a program, which the line would only
	 * disturb. */
	if (!r->options.quiet && !(t.json && isatty(STDOUT_FILENO)))
		task_line_draw(&t.status);
	r->promises = true;
	r->opened = on_opened;
	r->ui = (struct agent_ui){ .event = on_event,
				   .approve = on_approve,
				   .arg = &t };
	rc = open_answer_file(&t, &err);
	if (rc == 0)
		rc = run_branch_check(r, &err);
	if (rc == 0)
		rc = run_hooks_open(r, &err);
	if (rc == 0)
		rc = run_open(r, &r->stop, &err);
	if (rc == 0 && !run_is_promised(r)) {
		rc = on_opened(&t, &err);
		if (rc == 0)
			rc = startup_run(r, &r->stop, &err);
	}
	if (rc == 0)
		rc = run_hooks_start(r, run_hooks_cause(r), &r->stop, &err);
	if (rc == 0)
		rc = mention_attach(r, str_of(r->options.task), str_of(prompt),
				    &whole, &r->stop, &err);
	if (rc == 0)
		task_line_step(&t.status, "waiting for the model");
	if (rc == 0) {
		undo_begin_turn(r);
		rc = run_agent(r, whole.ptr ? whole.ptr : "", &r->stop, &err);
		undo_end_turn(r, rc);
	}
	buf_release(&whole);
	run_promise_end(r); /* a hook may have ended the run before the sandbox
			       was ready */
	if (rc < 0)
		code = classify_failure(&t, &r->stop, &err, &status);
	task_line_step(&t.status, "ending");
	run_hooks_end(r, "other");
	if (run_download(r, &lost) < 0 && rc == 0)
		rc = RETURN_FAILED;
	if (rc == 0 && run_apply_changes(r, &lost) < 0)
		rc = RETURN_FAILED;
	if (rc == RETURN_FAILED) {
		const struct stop signals = app_stop(r->app);

		rc = -1;
		err = lost;
		code = classify_failure(&t, &signals, &err, &status);
	}
	(void)run_end_sandbox(r, &ignored); /* failures were already reported */
	if (rc == 0 && save_check(&r->saved, &err) < 0) {
		rc = -1;
		code = classify_failure(&t, &r->stop, &err, &status);
	}
	if (write_answer_file(&t, rc == 0, &err) < 0) {
		rc = -1;
		code = classify_failure(&t, &r->stop, &err, &status);
	}
	task_line_end(&t.status);
	code = print_end(&t, rc, code, status, &err);
	run_close(r);
	task_line_release(&t.status);
	output_obey(&t.run->app->guard, NULL);
	events_release(&t.events);
	plain_release(&t.plain);
	buf_release(&t.held);
	return code;
}

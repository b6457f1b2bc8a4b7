/* sandbox_use.c - dcode sandbox create, start, stop and exec. */
/* SPDX-License-Identifier: MIT */
/*
 * exec starts a stopped sandbox and stops it again afterwards. Begin reading at
 * sandbox_cmd_exec() and sandbox_cmd_create().
 */
#include "cmd/commands/sandbox_use.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "base/mask/mask.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/stop.h"
#include "base/str.h"
#include "cmd/print.h"
#include "cmd/session/options.h"
#include "cmd/session/run.h"
#include "cmd/session/target.h"
#include "cmd/session/tree.h"
#include "cmd/stdin.h"
#include "providers/registry.h"
#include "sandbox/quote.h"
#include "sandbox/supervise/supervise.h"
#include "worktree/send.h"

enum {
	INPUT_MAX = 256 << 20,  /* bytes of the command's input */
	CAPTURE_MAX = 16 << 20, /* captured bytes per stream, with --json */
	SILENCE_MS = 200,       /* wait for standard input, without --stdin */
	UNKNOWN_STATUS = 125, /* exit status if the provider does not report the
				 command's */
};

struct exec_run {
	struct app *app;
	bool attached;
	struct {
		int fd;
		bool terminal; /* mask and clean the output; otherwise it is
				  passed on unchanged */
		struct buf captured; /* the output, with --json */
	} streams[2];
	/* Mask the output of both streams. If both are terminals, the command
	 * writes them into one pipe: otherwise a secret could be split between
	 * the streams and not be recognised. */
	struct redact_screen shown[2];
};

static int write_all(int fd, struct str data, struct error *err)
{
	while (data.len) {
		ssize_t n = write(fd, data.ptr, data.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, "writing the output");
		data = str_skip(data, (size_t)n);
	}
	return 0;
}

/* Writes or captures what passes the filter of this stream, masked. */
static int show_masked(struct exec_run *run, int i, struct str chunk,
		       enum redact_until until, struct error *err)
{
	struct buf text = BUF_INIT(INPUT_MAX);
	int rc = 0;

	redact_screen_pass(&run->shown[i], run->app->mask, chunk, until, &text);
	if (run->app->json)
		buf_addstr(&run->streams[i].captured, buf_str(&text));
	else if (run->streams[i].terminal)
		rc = write_all(run->streams[i].fd, buf_str(&text), err);
	buf_release(&text);
	return rc;
}

/* exec_request.output callback. Output to a terminal and with --json is masked;
 * output to a pipe or file is unchanged. */
static int on_output(void *arg, enum exec_stream stream, struct str chunk,
		     struct buf *reply, struct error *err)
{
	struct exec_run *run = arg;
	int i = stream == EXEC_STDERR;

	(void)reply;
	if (!run->app->json && !run->streams[i].terminal)
		return write_all(run->streams[i].fd, chunk, err);
	return show_masked(run, i, chunk, REDACT_FINAL, err);
}

/* Writes the text that was held back because it could be the start of a
 * secret. */
static void flush_filters(struct exec_run *run)
{
	struct error ignored = { 0 };

	for (int i = 0; i < 2; i++)
		(void)show_masked(run, i, STR(""), REDACT_END, &ignored);
}

/* True if standard input has data for the command, which is not waited for. Not
 * used with --stdin, which waits. */
static bool has_input(const struct stop *stop)
{
	struct pollfd p[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
			       { .fd = stop_fd(stop), .events = POLLIN } };
	struct stat st;

	if (isatty(STDIN_FILENO) || fstat(STDIN_FILENO, &st) < 0)
		return false;
	if (S_ISREG(st.st_mode))
		return true;
	return io_poll(p, 2, SILENCE_MS) > 0 && p[0].revents;
}

static int read_input(struct buf *input, const struct stop *stop,
		      struct error *err)
{
	if (stdin_read(input, stop, err) < 0)
		return -1;
	return buf_check(input, "standard input", err);
}

/* Builds the command line. A single argument is a shell command; several
 * arguments are quoted and become its words. */
static void command_line(const struct args *args, struct buf *out)
{
	if (args->argc == 2) {
		buf_adds(out, args->argv[1]);
		return;
	}
	for (int i = 1; i < args->argc; i++) {
		if (i > 1)
			buf_addc(out, ' ');
		quote_word(out, str_of(args->argv[i]));
	}
}

static void print_json(struct exec_run *run, const struct target *t,
		       const struct exec_result *res)
{
	struct buf data = BUF_INIT(1 << 28);

	buf_addc(&data, '{');
	json_member(&data, "id", str_of(t->id));
	buf_addf(&data, ",\"exit_status\":%d,\"timed_out\":%s,", res->exit_code,
		 res->timed_out ? "true" : "false");
	json_member(&data, "stdout", buf_str(&run->streams[0].captured));
	buf_addc(&data, ',');
	json_member(&data, "stderr", buf_str(&run->streams[1].captured));
	buf_addf(&data, ",\"truncated\":%s}",
		 run->streams[0].captured.over || run->streams[1].captured.over
			 ? "true"
			 : "false");
	app_envelope("sandbox exec", &data);
	buf_release(&data);
}

/* Reads standard input for the command. Does nothing if there is none or the
 * provider cannot pass it on; with --stdin that is an error. */
static int pass_input(const struct target *t, const struct args *args,
		      struct buf *input, const struct stop *stop,
		      struct error *err)
{
	bool wanted = args_flag(args, "stdin");
	bool able = t->client.provider->flags & SANDBOX_STDIN;

	if (wanted && !able)
		return error_set(err, ERR_USAGE,
				 "provider '%s' cannot pass input to a command",
				 t->client.provider->name);
	if (!wanted && !(able && has_input(stop)))
		return 0;
	return read_input(input, stop, err);
}

/* Prints the notices that came with the command's result, and those that came
 * later, for example when a cancelled command has ended. */
static void print_notices(struct sandbox *sb, const struct exec_result *res)
{
	char late[SANDBOX_NOTICE] = "";

	if (sb->id)
		sandbox_settle(sb, late);
	if (*res->notice)
		app_warn("%s", res->notice);
	if (*late)
		app_warn("%s", late);
}

static void print_notice(void *arg, const char *line)
{
	(void)arg;
	app_warn_line(line);
}

/* Runs the command in the sandbox and prints its notices. */
static int execute_command(struct exec_run *run, struct target *t,
			   const struct args *args, struct exec_result *res,
			   struct error *err)
{
	struct stop stop = app_stop(run->app);
	struct buf line = BUF_INIT(1 << 22);
	struct buf input = BUF_INIT(INPUT_MAX);
	struct sandbox sb = { 0 };
	struct exec_request req = { .output = on_output, .arg = run };
	int rc;

	t->client.one_command = true;
	rc = target_attach(t, &sb, &stop, err);
	if (rc < 0)
		return -1;
	run->attached = true;
	tree_await_commit(run->app, t->label, &sb, &stop);
	rc = pass_input(t, args, &input, &stop, err);
	if (rc == 0) {
		command_line(args, &line);
		req.merged = !run->app->json && run->streams[0].terminal &&
			     run->streams[1].terminal;
		req.command = buf_str(&line);
		req.input = buf_str(&input);
		rc = sandbox_execute(&sb, &req, res, &stop, err);
		print_notices(&sb, res);
	}
	sandbox_check(&sb, true, print_notice, NULL);
	/* In a sandbox that dcode created, do not spend a request on removing
	 * what the command has left behind: the next command does so, or it is
	 * removed without one. */
	if (!t->label[0] || sandbox_isolation(&t->client) == ISOLATION_NONE)
		supervise_leave(&sb);
	sandbox_release(&sb);
	buf_release(&line);
	buf_release(&input);
	return rc;
}

int sandbox_cmd_exec(struct app *app, const struct args *args)
{
	struct exec_run run = { .app = app };
	struct exec_result res = { .exit_code = -1 };
	struct target t = { 0 };
	struct error err = { 0 };
	int rc;

	for (int i = 0; i < 2; i++) {
		run.streams[i].fd = i + STDOUT_FILENO;
		run.streams[i].terminal = isatty(i + STDOUT_FILENO);
		run.streams[i].captured = BUF_INIT(CAPTURE_MAX);
		run.shown[i].screen.eager = !app->json;
	}
	rc = target_open(&t, app, args, args->argv[0], &err);
	if (rc == 0)
		rc = execute_command(&run, &t, args, &res, &err);
	flush_filters(&run);
	if (rc == 0 && app->json)
		print_json(&run, &t, &res);
	if (rc == 0 && res.exit_code < 0)
		app_warn("the provider did not report the exit status");
	for (int i = 0; i < 2; i++)
		buf_release(&run.streams[i].captured);
	if (run.attached)
		target_stop_again(&t, app);
	target_close(&t);
	if (rc < 0)
		return app_fail(app, &err);
	return res.exit_code < 0 ? UNKNOWN_STATUS : res.exit_code;
}

struct made { /* owned */
	char *id, *label, *provider;
};

static void on_progress(void *arg, const char *line)
{
	print_progress(arg, line);
}

static void print_warning(void *arg, const char *line)
{
	(void)arg;
	app_warn_line(line);
}

static void print_output(void *arg, enum exec_stream stream, struct str chunk)
{
	(void)arg;
	(void)stream;
	fwrite(chunk.ptr, 1, chunk.len, stderr);
}

/* Sets *name to the provider of --sandbox or the configured default. Fails if
 * there is neither. */
static int choose_provider(struct app *app, const struct args *args,
			   const char **name, struct error *err)
{
	struct settings *set;

	*name = args_value(args, "sandbox");
	if (*name && **name && !sandbox_is_none(*name))
		return 0;
	if (app_settings(app, &set, err) < 0 ||
	    settings_string(set, NULL, "sandboxes.default", name, err) < 0)
		return -1;
	if (*name && **name && !sandbox_is_none(*name))
		return 0;
	error_set(err, ERR_USAGE, "sandbox create needs a provider");
	return error_hint(err,
			  "Add --sandbox PROVIDER, or set [sandboxes] default "
			  "in config.toml. `dcode provider list` shows all.");
}

static int read_lifetime(const struct args *args, int64_t *seconds,
			 struct error *err)
{
	const char *text = args_value(args, "lifetime");

	*seconds = 0;
	if (!text || (str_to_int(str_of(text), seconds) && *seconds > 0 &&
		      *seconds <= INT32_MAX))
		return 0;
	return error_set(err, ERR_USAGE,
			 "argument --lifetime: '%s' is not a number of seconds",
			 text);
}

/* Creates a sandbox that continues to run when dcode exits. */
static int create_sandbox(struct app *app, const struct args *args,
			  struct made *made, struct error *err)
{
	struct lifecycle_request r = { .snapshot = args_value(args, "snapshot"),
				       .setup = args_value(args, "setup"),
				       .mask = app->mask,
				       .on_exit = LIFECYCLE_KEEP,
				       .ui = { .progress = on_progress,
					       .warn = print_warning,
					       .output = print_output,
					       .arg = app } };
	struct stop stop = app_stop(app);
	struct managed_sandbox box = { 0 };
	struct sandbox_client client = { 0 };
	const char *provider;
	struct settings *set;
	int rc;

	if (choose_provider(app, args, &provider, err) < 0 ||
	    app_settings(app, &set, err) < 0 ||
	    settings_bool(set, NULL, "sandboxes.cache_setup", &r.cache_setup,
			  err) < 0 ||
	    read_lifetime(args, &r.lifetime_s, err) < 0 ||
	    run_keep_time(app, &r.keep_s, err) < 0 ||
	    app_store(app, &r.store, err) < 0 ||
	    app_client(app, provider, &client, err) < 0)
		return -1;
	r.client = &client;
	if (r.lifetime_s)
		r.keep_s = r.lifetime_s;
	rc = lifecycle_open(&box, &r, &stop, err);
	if (rc == 0) {
		made->id = xstrdup(box.sandbox.id);
		made->label = xstrdup(box.label);
		made->provider = xstrdup(client.provider->name);
		rc = lifecycle_close(&box, err);
	}
	sandbox_client_close(&client);
	return rc;
}

int sandbox_cmd_create(struct app *app, const struct args *args)
{
	struct made made = { 0 };
	struct error err = { 0 };
	int rc = create_sandbox(app, args, &made, &err);

	if (rc == 0 && app->json) {
		struct buf data = BUF_INIT(1 << 16);

		buf_addc(&data, '{');
		json_member(&data, "id", str_of(made.id));
		buf_addc(&data, ',');
		json_member(&data, "label", str_of(made.label));
		buf_addc(&data, ',');
		json_member(&data, "provider", str_of(made.provider));
		buf_addc(&data, '}');
		app_envelope("sandbox create", &data);
		buf_release(&data);
	} else if (rc == 0) {
		struct buf id = BUF_INIT(1 << 12);

		sanitize_line(str_of(made.id), &id);
		puts(id.len ? id.ptr : "");
		buf_release(&id);
	}
	free(made.id);
	free(made.label);
	free(made.provider);
	return rc == 0 ? 0 : app_fail(app, &err);
}

/* Fails if the sandbox was deleted or its id is unknown. */
static int check_known(const struct target *t, const char *name,
		       struct error *err)
{
	if (t->label[0] && t->state == LEDGER_GONE) {
		error_set(err, ERR_NOT_FOUND, "sandbox %s has been deleted",
			  name);
		return error_hint(err,
				  "`dcode sandbox list` shows the others.");
	}
	if (t->id)
		return 0;
	error_set(err, ERR_NOT_FOUND, "the id of sandbox %s is unknown", name);
	return error_hint(
		err,
		"`dcode sandbox gc` looks for it and deletes what it finds.");
}

static void print_until(const char *what, const char *name, int64_t ends)
{
	char room[20];

	printf("%s ", what);
	sandbox_cell(name, 0);
	printf("until %s\n", sandbox_time(ends, room));
}

/* Stops a sandbox. Fails if its provider would lose the files. */
static int stop_target(struct app *app, struct target *t,
		       struct lifecycle_stopping *s, struct error *err)
{
	struct stop stop = app_stop(app);
	struct stop limit = stop_within(&stop, LIFECYCLE_STOP_MS);
	struct store *store;

	if (sandbox_probe(&t->client, &stop, err) < 0)
		return -1;
	if (!sandbox_can_stop(&t->client)) {
		error_set(err, ERR_USAGE,
			  "%s cannot stop a sandbox and keep its files",
			  t->client.provider->name);
		return error_hint(err, "`dcode sandbox rm` deletes it.");
	}
	if (target_check_ours(t, true, &stop, err) < 0 ||
	    run_keep_time(app, &s->keep_s, err) < 0 ||
	    app_store(app, &store, err) < 0)
		return -1;
	s->id = t->id;
	s->label = t->label[0] ? t->label : NULL;
	return lifecycle_stop(&t->client, store, s, &limit, err);
}

/* Stops one sandbox. Fails if a dcode uses it and --force is not given. */
static int stop_sandbox(struct app *app, const struct args *args,
			const char *name, struct error *err)
{
	struct lifecycle_stopping s = { 0 };
	struct target t = { 0 };
	int rc = target_open(&t, app, args, name, err);

	if (rc == 0)
		rc = check_known(&t, name, err);
	if (rc == 0)
		rc = target_check_unused(&t, args, "stop", name, err);
	if (rc == 0)
		rc = stop_target(app, &t, &s, err);
	if (rc == 0 && !app->json)
		print_until("stopped", name, s.ends);
	target_close(&t);
	return rc;
}

/* Starts a sandbox that dcode created, in the same way as for a resumed thread,
 * and leaves it running. */
static int resume_owned(struct app *app, struct target *t, struct error *err)
{
	struct lifecycle_request r = { .client = &t->client,
				       .mask = app->mask,
				       .resume = t->label,
				       .on_exit = LIFECYCLE_KEEP,
				       .ui = { .warn = print_warning } };
	struct stop stop = app_stop(app);
	struct managed_sandbox box = { 0 };

	if (run_keep_time(app, &r.keep_s, err) < 0 ||
	    app_store(app, &r.store, err) < 0 ||
	    lifecycle_open(&box, &r, &stop, err) < 0)
		return -1;
	return lifecycle_close(&box, err);
}

static bool copy_expiry(void *arg, const struct ledger_row *row)
{
	*(int64_t *)arg = row->ends;
	return false;
}

/* Starts a stopped sandbox. Fails if the provider's sandboxes only run while a
 * dcode uses them. */
static int start_sandbox(struct app *app, const struct args *args,
			 const char *name, struct error *err)
{
	struct stop stop = app_stop(app);
	struct error ignored = { 0 };
	struct target t = { 0 };
	struct sandbox sb = { 0 };
	struct store *store;
	int64_t ends = 0;
	int rc = target_open(&t, app, args, name, err);

	if (rc == 0)
		rc = check_known(&t, name, err);
	if (rc == 0 && t.client.provider->flags & SANDBOX_BOUND) {
		error_set(err, ERR_USAGE,
			  "a %s sandbox runs only while dcode uses it",
			  t.client.provider->name);
		rc = error_hint(
			err,
			"`dcode sandbox exec %s` starts it for one command.",
			name);
	} else if (rc == 0 && t.label[0]) {
		rc = resume_owned(app, &t, err);
	} else if (rc == 0) {
		rc = target_attach(&t, &sb, &stop, err);
		if (rc == 0)
			sandbox_release(&sb);
	}
	if (rc == 0 && t.label[0] && app_store(app, &store, &ignored) == 0)
		(void)ledger_find(store, t.label, copy_expiry, &ends, &ignored);
	if (rc == 0 && !app->json)
		print_until("started", name, ends);
	target_close(&t);
	return rc;
}

/* Calls one() for each argument. Prints each error as it happens, except the
 * last one, which is returned. */
static int run_for_each(struct app *app, const struct args *args,
			const char *title,
			int (*one)(struct app *app, const struct args *args,
				   const char *name, struct error *err))
{
	struct buf data = BUF_INIT(1 << 20);
	struct error last = { 0 };

	buf_addc(&data, '[');
	for (int i = 0; i < args->argc && last.code != ERR_CANCELLED; i++) {
		struct error err = { 0 };

		if (one(app, args, args->argv[i], &err) < 0) {
			if (last.code && !app->json)
				(void)app_fail(app, &last);
			last = err;
			continue;
		}
		if (data.len > 1)
			buf_addc(&data, ',');
		json_quote(&data, str_of(args->argv[i]));
	}
	buf_addc(&data, ']');
	if (app->json && !last.code)
		app_envelope(title, &data);
	buf_release(&data);
	return last.code ? app_fail(app, &last) : 0;
}

int sandbox_cmd_stop(struct app *app, const struct args *args)
{
	return run_for_each(app, args, "sandbox stop", stop_sandbox);
}

int sandbox_cmd_start(struct app *app, const struct args *args)
{
	return run_for_each(app, args, "sandbox start", start_sandbox);
}

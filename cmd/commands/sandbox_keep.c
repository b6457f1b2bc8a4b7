/* sandbox_keep.c - dcode sandbox create, stop and start. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/stop.h"
#include "base/str.h"
#include "cmd/commands/sandbox.h"
#include "cmd/print.h"
#include "cmd/session/options.h"
#include "cmd/session/run.h"

enum {
	INTERRUPTED_MS = 10000,
	LEAST_KEPT_S = 60,
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

/* --sandbox, else the configured default. */
static int choose_provider(struct app *app, const struct args *args,
			   const char **name, struct error *err)
{
	struct settings *set;

	*name = args_value(args, "sandbox");
	if (*name && **name && strcmp(*name, "none") != 0)
		return 0;
	if (app_settings(app, &set, err) < 0 ||
	    settings_string(set, NULL, "sandboxes.default", name, err) < 0)
		return -1;
	if (*name && **name && strcmp(*name, "none") != 0)
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

struct made { /* owned */
	char *id, *label, *provider;
};

static int make(struct app *app, const struct args *args, struct made *made,
		struct error *err)
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
	int rc;

	if (choose_provider(app, args, &provider, err) < 0 ||
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
	int rc = make(app, args, &made, &err);

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

static void say_until(const char *what, const char *name, int64_t ends)
{
	char room[20];

	printf("%s ", what);
	sandbox_cell(name, 0);
	printf("until %s\n", sandbox_time(ends, room));
}

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

static int stop_one(struct app *app, const struct args *args, const char *name,
		    struct error *err)
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
		say_until("stopped", name, s.ends);
	target_close(&t);
	return rc;
}

/* After Ctrl-C the user waits, and another one is not needed. */
static struct stop stop_for_stopping(struct app *app)
{
	struct stop signals = app_stop(app);
	struct error ignored = { 0 };

	return stop_check(&signals, &ignored) == 0
		       ? stop_within(&signals, LIFECYCLE_STOP_MS)
		       : stop_cleanup(INTERRUPTED_MS);
}

static bool was_stopped(const struct target *t)
{
	return t->open && t->label[0] &&
	       (t->state == LEDGER_STOPPED || t->state == LEDGER_STOPPING) &&
	       !(t->client.provider->flags & SANDBOX_BOUND);
}

void target_stop_again(const struct target *t, struct app *app)
{
	struct stop stop = stop_for_stopping(app);
	struct lifecycle_stopping s = { .label = t->label };
	const struct args none = { 0 };
	struct error err = { 0 };
	struct target now = { 0 };
	int64_t left = t->ends - clock_unix_ms() / 1000;

	if (!was_stopped(t))
		return;
	if (target_open(&now, app, &none, t->label, &err) == 0 &&
	    now.owner_runs) {
		app_warn("sandbox %s keeps running: another dcode uses it "
			 "(`dcode sandbox stop %s` stops it)",
			 t->label, t->label);
	} else if (!err.code && now.state == LEDGER_LIVE) {
		print_line(app, "Stopping the sandbox again: %s", now.id);
		s.id = now.id;
		s.keep_s = left > LEAST_KEPT_S ? left : LEAST_KEPT_S;
		(void)lifecycle_stop(&now.client, now.store, &s, &stop, &err);
	}
	if (err.code)
		app_warn("sandbox %s may still be running: %s (`dcode sandbox "
			 "stop %s` stops it)",
			 t->label, err.message, t->label);
	target_close(&now);
}

/* Takes it over, as a resumed thread does, and leaves it running. */
static int start_ours(struct app *app, struct target *t, struct error *err)
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

static bool copy_end(void *arg, const struct ledger_row *row)
{
	*(int64_t *)arg = row->ends;
	return false;
}

static int start_one(struct app *app, const struct args *args, const char *name,
		     struct error *err)
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
			  "a sandbox of %s runs only while a dcode uses it",
			  t.client.provider->name);
		rc = error_hint(
			err,
			"`dcode sandbox exec %s` starts it for one command.",
			name);
	} else if (rc == 0 && t.label[0]) {
		rc = start_ours(app, &t, err);
	} else if (rc == 0) {
		rc = target_attach(&t, &sb, &stop, err);
		if (rc == 0)
			sandbox_release(&sb);
	}
	if (rc == 0 && t.label[0] && app_store(app, &store, &ignored) == 0)
		(void)ledger_find(store, t.label, copy_end, &ends, &ignored);
	if (rc == 0 && !app->json)
		say_until("started", name, ends);
	target_close(&t);
	return rc;
}

/* The same for each; the errors of all but the last are said at once. */
static int each_one(struct app *app, const struct args *args, const char *title,
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
	return each_one(app, args, "sandbox stop", stop_one);
}

int sandbox_cmd_start(struct app *app, const struct args *args)
{
	return each_one(app, args, "sandbox start", start_one);
}

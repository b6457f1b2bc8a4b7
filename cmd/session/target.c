/* target.c - finds the sandbox named on a command line. */
/* SPDX-License-Identifier: MIT */
/*
 * A name on the command line is a label, short name, id or unique prefix of a
 * sandbox in the ledger. With --sandbox it can also be any id of that provider.
 * A command opens a target, attaches to its sandbox, and at the end stops the
 * sandbox again if attaching has started it. Begin reading at target_open().
 */
#include "cmd/session/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/stop.h"
#include "base/str.h"
#include "cmd/print.h"
#include "providers/registry.h"

enum {
	INTERRUPTED_MS = 10000, /* time for stopping a sandbox after Ctrl-C */
	LEAST_KEPT_S = 60,
};

void sandbox_cell(const char *text, int width)
{
	struct buf shown = BUF_INIT(1 << 16);

	sanitize_line(str_of(text), &shown);
	printf("%-*s ", width, shown.len ? shown.ptr : "-");
	buf_release(&shown);
}

const char *sandbox_time(int64_t seconds, char room[20])
{
	time_t when = (time_t)seconds;
	struct tm parts;

	if (seconds <= 0 || !localtime_r(&when, &parts) ||
	    !strftime(room, 20, "%Y-%m-%d %H:%M", &parts))
		snprintf(room, 20, "-");
	return room;
}

const char *sandbox_state_name(enum sandbox_state state)
{
	static const char *const names[] = {
		[STATE_UNKNOWN] = "unknown", [STATE_STARTING] = "starting",
		[STATE_RUNNING] = "running", [STATE_STOPPED] = "stopped",
		[STATE_GONE] = "gone",
	};

	return names[state];
}

struct found {
	struct target *target;
	char *provider;
	char *endpoint;
};

static bool fill_target(void *arg, const struct ledger_row *row)
{
	struct found *f = arg;
	struct target *t = f->target;

	f->provider = xstrdup(row->provider);
	f->endpoint = xstrdup(row->endpoint);
	snprintf(t->label, sizeof(t->label), "%s", row->label);
	t->id = row->id[0] ? xstrdup(row->id) : NULL;
	t->note = row->note[0] ? xstrdup(row->note) : NULL;
	t->state = row->state;
	t->pid = row->pid;
	t->owner_runs = row->owned_by_live;
	t->held = row->held;
	t->ends = row->ends;
	return false;
}

/* Returns the provider that --sandbox names, or NULL. */
static const char *named_provider(const struct args *args)
{
	const char *name = args_value(args, "sandbox");

	return name && name[0] && !sandbox_is_none(name) ? name : NULL;
}

/* ledger_find_attached() callback: fills the target from a sandbox that
 * --sandbox-id named in an earlier run, or adds the dcode that uses the
 * sandbox. */
static void fill_attached(void *arg, const struct ledger_attached *row)
{
	struct found *f = arg;
	struct target *t = f->target;

	if (!f->provider) {
		f->provider = xstrdup(row->provider);
		f->endpoint = xstrdup(row->endpoint);
		t->id = xstrdup(row->id);
	}
	if (row->user && !t->owner_runs &&
	    !strcmp(row->provider, f->provider)) {
		t->pid = row->user;
		t->owner_runs = true;
	}
}

/* Searches the sandboxes that dcode created, then those that --sandbox-id
 * named. The second list also says which dcode uses a sandbox of the first. */
static int find_known(struct found *f, struct store *store, const char *name,
		      struct error *err)
{
	struct error ignored = { 0 };
	int rc = ledger_find(store, name, fill_target, f, err);

	if (rc < 0 && err->code == ERR_NOT_FOUND)
		return ledger_find_attached(store, name, fill_attached, f, err);
	if (rc == 0 && f->target->id)
		(void)ledger_find_attached(store, f->target->id, fill_attached,
					   f, &ignored);
	return rc;
}

static bool is_provider(const char *provider, const char *name)
{
	const struct sandbox_provider *p = sandbox_provider_find(provider);

	return !strcmp(provider, name) ||
	       (p && p->also && !strcmp(p->also, name));
}

/* With --sandbox, a name that is not in the ledger counts as an id of that
 * provider. */
static int find_target(struct found *f, struct app *app, const char *name,
		       const char *provider, struct error *err)
{
	struct store *store;
	int rc;

	if (app_store(app, &store, err) < 0)
		return -1;
	f->target->store = store;
	rc = find_known(f, store, name, err);
	if (rc == 0 && provider && !is_provider(f->provider, provider)) {
		target_close(f->target);
		free(f->provider);
		free(f->endpoint);
		f->provider = f->endpoint = NULL;
		rc = error_set(err, ERR_NOT_FOUND,
			       "the sandbox belongs to another provider");
	}
	if (rc == 0 || err->code != ERR_NOT_FOUND)
		return rc;
	if (!provider) {
		error_set(err, ERR_NOT_FOUND, "unknown sandbox %s", name);
		return error_hint(
			err, "`dcode sandbox list` shows all. With --sandbox "
			     "PROVIDER you can use any id of that provider.");
	}
	f->target->store = store;
	f->provider = xstrdup(provider);
	f->target->id = xstrdup(name);
	return 0;
}

bool target_is_known(struct app *app, const char *name)
{
	struct target t = { 0 };
	struct found f = { .target = &t };
	struct error ignored = { 0 };
	struct store *store;
	bool known = app_store(app, &store, &ignored) == 0 &&
		     find_known(&f, store, name, &ignored) == 0;

	free(f.provider);
	free(f.endpoint);
	target_close(&t);
	return known;
}

/* Sets the error for a sandbox that was created at another endpoint than its
 * provider is configured for now. Returns -1. */
static int is_elsewhere(const struct sandbox_client *client, const char *name,
			const char *endpoint, struct error *err)
{
	const struct sandbox_provider *p = client->provider;
	const char *now = lifecycle_endpoint(client);

	if (now[0])
		error_set(err, ERR_USAGE,
			  "sandbox %s is at %s, but %s is configured for %s",
			  name, endpoint, p->name, now);
	else
		error_set(err, ERR_USAGE,
			  "sandbox %s is at %s, for which %s is no longer "
			  "configured",
			  name, endpoint, p->name);
	/* slurm without a login node has a file's path as its endpoint, which
	 * is not an address to set */
	if (p->url_key && endpoint[0] != '/')
		return error_hint(err,
				  "Set %s = \"%s\" in "
				  "[sandboxes.providers.%s.params] of "
				  "config.toml first.",
				  p->url_key, endpoint, p->name);
	if (p->url_env && p->url_env[0])
		return error_hint(err, "Set %s=%s first.", p->url_env[0],
				  endpoint);
	return error_hint(err, "Configure %s for %s first.", p->name, endpoint);
}

int target_open(struct target *t, struct app *app, const struct args *args,
		const char *name, struct error *err)
{
	struct found f = { .target = t };
	int rc = find_target(&f, app, name, named_provider(args), err);

	if (rc == 0)
		rc = app_client_at(app, f.provider, f.endpoint, &t->client,
				   err);
	t->open = rc == 0;
	if (rc == 0 && f.endpoint &&
	    strcmp(f.endpoint, lifecycle_endpoint(&t->client)) != 0)
		rc = is_elsewhere(&t->client, name, f.endpoint, err);
	free(f.provider);
	free(f.endpoint);
	if (rc < 0)
		target_close(t);
	return rc;
}

void target_close(struct target *t)
{
	if (t->open)
		sandbox_client_close(&t->client);
	free(t->id);
	free(t->note);
	*t = (struct target){ 0 };
}

/* Records in the ledger that this dcode uses the sandbox, so that another one
 * does not stop it meanwhile. */
static void record_use(const struct target *t)
{
	struct error ignored = { 0 };

	if (t->label[0] && !(t->client.provider->flags & SANDBOX_BOUND))
		(void)ledger_attached(t->store, t->client.provider->name,
				      lifecycle_endpoint(&t->client), t->id,
				      t->label, &ignored);
}

/* If the sandbox is stopped, attaching starts it. */
int target_attach(struct target *t, struct sandbox *sb, const struct stop *stop,
		  struct error *err)
{
	if (t->label[0] && t->state == LEDGER_GONE) {
		error_set(err, ERR_NOT_FOUND, "sandbox %s has been deleted",
			  t->label);
		return error_hint(err,
				  "`dcode sandbox list` shows the others.");
	}
	if (!t->id) {
		error_set(err, ERR_NOT_FOUND,
			  "the id of sandbox %s is unknown: creating it failed "
			  "or was interrupted",
			  t->label);
		return error_hint(err, "`dcode sandbox gc` looks for it and "
				       "deletes what it finds.");
	}
	record_use(t);
	lifecycle_mark_started(&t->client, t->store, t->id);
	if (sandbox_attach(sb, &t->client, t->id, stop, err) == 0) {
		lifecycle_restore_start(sb, t->store);
		return 0;
	}
	sandbox_release(sb);
	return -1;
}

/* Returns the limit for stopping a sandbox. After Ctrl-C the time is shorter,
 * because the user is waiting, and the stop is not cancelled by that Ctrl-C. */
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

/* Reads the ledger again, because another dcode may have begun to use the
 * sandbox. */
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

static void mark_if_ours(void *arg, const struct sandbox_info *info)
{
	bool *ours = arg;

	*ours = *ours || strncmp(info->label, "dcode-", 6) == 0;
}

/* Looks for dcode's label at the provider if the ledger does not have the id:
 * it may be any sandbox of the account. */
int target_check_ours(struct target *t, bool stops, const struct stop *stop,
		      struct error *err)
{
	bool ours = false;
	const struct info_sink sink = { mark_if_ours, &ours };
	char id[IDS_SHOWN];

	if (t->label[0] || !sandbox_can_get(&t->client))
		return 0;
	if (sandbox_get(&t->client, t->id, &sink, stop, err) < 0)
		return -1;
	if (ours)
		return 0;
	error_set(err, ERR_USAGE, "dcode did not make %s, so it is not %s",
		  ids_shown(t->id, id), stops ? "stopped" : "deleted");
	return error_hint(err, "%s it with the tools of %s.",
			  stops ? "Stop" : "Delete", t->client.provider->name);
}

/* Fails if another process uses the sandbox, which would be interrupted. */
int target_check_unused(const struct target *t, const struct args *args,
			const char *verb, const char *name, struct error *err)
{
	if (!t->owner_runs || (t->label[0] && t->state == LEDGER_GONE) ||
	    args_flag(args, "force"))
		return 0;
	error_set(err, ERR_USAGE,
		  "sandbox %s is in use by the dcode with process id %lld",
		  name, (long long)t->pid);
	return error_hint(
		err,
		"Quit that dcode first, or run dcode sandbox %s --force %s.",
		verb, name);
}

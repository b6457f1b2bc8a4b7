/* sandbox.c - dcode sandbox: its subcommands, and finding a sandbox. */
/* SPDX-License-Identifier: MIT */
#include "cmd/commands/sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"

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

/* The provider that --sandbox names, or NULL. */
static const char *named_provider(const struct args *args)
{
	const char *name = args_value(args, "sandbox");

	return name && name[0] && strcmp(name, "none") != 0 ? name : NULL;
}

/* A sandbox that --sandbox-id named in an earlier run. */
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

/* Looks in both lists: the second also has the users of our sandboxes. */
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
		rc = error_set(err, ERR_NOT_FOUND, "not of this provider");
	}
	if (rc == 0 || err->code != ERR_NOT_FOUND)
		return rc;
	if (!provider) {
		error_set(err, ERR_NOT_FOUND, "unknown sandbox %s", name);
		return error_hint(
			err, "`dcode sandbox list` shows all; with --sandbox "
			     "PROVIDER any id of that provider works.");
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

/* The provider is configured for another engine, host or account than the
 * sandbox is at, or for none any more. */
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
			  "sandbox %s is at %s, but %s is no longer configured "
			  "for that",
			  name, endpoint, p->name);
	/* slurm without a login node is known by its file. */
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

/* Another dcode that has started it is not to stop it meanwhile. */
static void note_use(const struct target *t)
{
	struct error ignored = { 0 };

	if (t->label[0] && !(t->client.provider->flags & SANDBOX_BOUND))
		(void)ledger_attached(t->store, t->client.provider->name,
				      lifecycle_endpoint(&t->client), t->id,
				      t->label, &ignored);
}

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
	note_use(t);
	lifecycle_mark_started(&t->client, t->store, t->id);
	if (sandbox_attach(sb, &t->client, t->id, stop, err) == 0) {
		lifecycle_restore_start(sb, t->store);
		return 0;
	}
	sandbox_release(sb);
	return -1;
}

#define OF_PROVIDER                                                            \
	{                                                                      \
		"sandbox", 0, ARG_VALUE, "TYPE",                               \
			"Provider of an ID that dcode sandbox list "           \
			"does not show"                                        \
	}

static const struct arg_row list_options[] = {
	{ "all", 0, ARG_FLAG, NULL, "List deleted ones too" },
	{ "sandbox", 0, ARG_VALUE, "TYPE",
	  "Ask this provider instead of this machine's records" },
	ARG_JSON,
	{ 0 },
};

static const struct arg_row sandbox_options[] = { OF_PROVIDER,
						  ARG_JSON,
						  { 0 } };

static const struct arg_row copy_options[] = {
	{ "bring", 0, ARG_VALUE, "NAME",
	  "Copy files and directories of this name too, such as .git, out of a "
	  "sandbox; repeatable" },
	OF_PROVIDER,
	ARG_JSON,
	{ 0 },
};

static const struct arg_row exec_options[] = {
	OF_PROVIDER,
	{ "stdin", 0, ARG_FLAG, NULL,
	  "Pass standard input to the command, however long it takes" },
	ARG_JSON,
	{ 0 },
};

static const struct arg_row snapshot_options[] = {
	{ "force", 0, ARG_FLAG, NULL, "Replace a snapshot of the same name" },
	OF_PROVIDER,
	ARG_JSON,
	{ 0 },
};

static const struct arg_row rm_options[] = {
	{ "force", 0, ARG_FLAG, NULL, "Also if another dcode uses it" },
	OF_PROVIDER,
	ARG_JSON,
	{ 0 },
};

static const struct arg_row create_options[] = {
	{ "sandbox", 0, ARG_VALUE, "TYPE",
	  "Provider (default: [sandboxes].default)" },
	{ "snapshot", 0, ARG_VALUE, "NAME", "Start from this snapshot" },
	{ "setup", 0, ARG_VALUE, "PATH", "Run this local script in it first" },
	{ "lifetime", 0, ARG_VALUE, "SECONDS",
	  "Time until it ends by itself; it is kept that long" },
	ARG_JSON,
	{ 0 },
};

static const struct arg_row stop_options[] = {
	{ "force", 0, ARG_FLAG, NULL, "Also if another dcode uses it" },
	OF_PROVIDER,
	ARG_JSON,
	{ 0 },
};

static const struct arg_row gc_options[] = {
	{ "dry-run", 0, ARG_FLAG, NULL,
	  "Show what would be deleted, delete nothing" },
	{ "sandbox", 0, ARG_VALUE, "TYPE", "Only sandboxes of this provider" },
	ARG_JSON,
	{ 0 },
};

static const struct subcommand subs[] = {
	{ .name = "list",
	  .aliases = "ls",
	  .summary = "List the sandboxes that dcode made or was given",
	  .options = list_options,
	  .flags = SUB_UNRESTRICTED,
	  .run = sandbox_cmd_list },
	{ .name = "info",
	  .args = "ID",
	  .summary = "Show one sandbox; ID is an id, the start of one, or the "
		     "listed name",
	  .options = sandbox_options,
	  .least = 1,
	  .most = 1,
	  .flags = SUB_UNRESTRICTED,
	  .run = sandbox_cmd_info },
	{ .name = "exec",
	  .args = "ID -- COMMAND...",
	  .summary = "Run a command in a sandbox; a single argument goes to "
		     "the shell",
	  .options = exec_options,
	  .least = 2,
	  .most = -1,
	  .run = sandbox_cmd_exec },
	{ .name = "cp",
	  .args = "SRC DST",
	  .summary = "Copy files and directories. One side is ID:PATH; - is a "
		     "stream: a file's bytes, or a tar of a directory",
	  .options = copy_options,
	  .least = 2,
	  .most = 2,
	  .run = sandbox_cmd_copy },
	{ .name = "create",
	  .summary = "Create a sandbox that stays, and print its id",
	  .options = create_options,
	  .run = sandbox_cmd_create },
	{ .name = "stop",
	  .args = "ID...",
	  .summary = "Stop sandboxes; their files stay",
	  .options = stop_options,
	  .least = 1,
	  .most = -1,
	  .flags = SUB_UNRESTRICTED,
	  .run = sandbox_cmd_stop },
	{ .name = "start",
	  .args = "ID...",
	  .summary = "Start stopped sandboxes again",
	  .options = sandbox_options,
	  .least = 1,
	  .most = -1,
	  .run = sandbox_cmd_start },
	{ .name = "snapshot",
	  .args = "ID NAME",
	  .summary = "Save a sandbox's state, for --sandbox-snapshot-name",
	  .options = snapshot_options,
	  .least = 2,
	  .most = 2,
	  .run = sandbox_cmd_snapshot },
	{ .name = "rm",
	  .args = "ID...",
	  .summary = "Delete sandboxes",
	  .options = rm_options,
	  .least = 1,
	  .most = -1,
	  .flags = SUB_UNRESTRICTED,
	  .run = sandbox_cmd_delete },
	{ .name = "gc",
	  .summary = "Delete what crashed runs left behind, and kept sandboxes "
		     "past their time",
	  .options = gc_options,
	  .flags = SUB_UNRESTRICTED,
	  .run = sandbox_cmd_gc },
	{ 0 },
};

const struct command command_sandbox = {
	.name = "sandbox",
	.summary = "List, use and delete sandboxes",
	.topic = "sandboxes",
	.subs = subs,
};

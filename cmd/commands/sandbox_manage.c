/* sandbox_manage.c - dcode sandbox rm, snapshot and gc. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/str.h"
#include "cmd/commands/sandbox.h"
#include "cmd/session/record_expiry.h"
#include "cmd/session/save.h"

static void note_label(void *arg, const struct sandbox_info *info)
{
	bool *ours = arg;

	*ours = *ours || strncmp(info->label, "dcode-", 6) == 0;
}

/* An id that is not in the ledger may be anything of that provider's. */
int target_check_ours(struct target *t, bool stops, const struct stop *stop,
		      struct error *err)
{
	bool ours = false;
	const struct info_sink sink = { note_label, &ours };
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

/* Its work would end under another process, or another user's hands. */
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

static int already_deleted(const char *name, struct error *err)
{
	error_set(err, ERR_NOT_FOUND, "sandbox %s is already deleted", name);
	return error_hint(err, "`dcode sandbox list` shows the others.");
}

/* Before its work is saved, which takes a while: nobody takes it over then. */
static int claim_removal(const struct target *t, const struct args *args,
			 struct store *store, struct error *err)
{
	enum ledger_spared spared = args_flag(args, "force")
					    ? LEDGER_SPARE_NONE
					    : LEDGER_SPARE_USED;

	if (!t->label[0] ||
	    ledger_claim_removal(store, t->label, spared, err) == 0)
		return 0;
	if (err->code == ERR_BUSY)
		return -1;
	/* A ledger that cannot be written is no reason to leave a machine. */
	*err = (struct error){ 0 };
	return 0;
}

static int delete_one(struct app *app, const struct args *args,
		      const char *name, struct error *err)
{
	struct stop stop = app_stop(app);
	struct target t = { 0 };
	struct error why = { 0 };
	struct store *store;
	int lost = 0;
	int rc;

	if (app_store(app, &store, err) < 0 ||
	    target_open(&t, app, args, name, err) < 0)
		return -1;
	rc = target_check_unused(&t, args, "rm", name, err);
	if (rc == 0)
		rc = target_check_ours(&t, false, &stop, err);
	if (rc == 0 && t.label[0] && t.state == LEDGER_GONE)
		rc = already_deleted(name, err);
	else if (rc == 0 && !t.id)
		rc = error_set(err, ERR_NOT_FOUND,
			       "the id of sandbox %s is unknown: `dcode "
			       "sandbox gc` looks for it",
			       name);
	if (rc == 0)
		rc = claim_removal(&t, args, store, err);
	if (rc == 0)
		lost = save_removed(app, &t.client, t.id, t.label, &why);
	if (rc == 0)
		rc = lifecycle_remove(&t.client, store, t.id,
				      t.label[0] ? t.label : NULL, &stop, err);
	if (rc == 0 && lost < 0) {
		rc = lost;
		*err = why;
		(void)error_wrap(err, "removed %s", name);
	}
	target_close(&t);
	return rc;
}

int sandbox_cmd_delete(struct app *app, const struct args *args)
{
	struct buf data = BUF_INIT(1 << 20);
	struct error first = { 0 };

	buf_adds(&data, "{\"removed\":[");
	for (int i = 0; i < args->argc; i++) {
		struct error err = { 0 };

		if (delete_one(app, args, args->argv[i], &err) < 0) {
			if (first.code && !app->json)
				(void)app_fail(app, &first);
			first = err;
			if (err.code == ERR_CANCELLED)
				break;
			continue;
		}
		if (data.ptr[data.len - 1] != '[')
			buf_addc(&data, ',');
		json_quote(&data, str_of(args->argv[i]));
		if (!app->json) {
			fputs("removed ", stdout);
			sandbox_cell(args->argv[i], 0);
			putchar('\n');
		}
	}
	unsent_sweep(app);
	buf_adds(&data, "]}");
	if (app->json && !first.code)
		app_envelope("sandbox rm", &data);
	buf_release(&data);
	return first.code ? app_fail(app, &first) : 0;
}

static int no_snapshots(const char *provider, struct error *err)
{
	error_set(err, ERR_USAGE, "provider '%s' has no snapshots", provider);
	return error_hint(err, "`dcode provider list` shows which have them.");
}

int sandbox_cmd_snapshot(struct app *app, const struct args *args)
{
	const char *name = args->argv[1];
	struct stop stop = app_stop(app);
	struct sandbox sb = { 0 };
	struct target t = { 0 };
	struct error err = { 0 };
	int rc = target_open(&t, app, args, args->argv[0], &err);

	if (rc == 0)
		rc = sandbox_probe(&t.client, &stop, &err);
	if (rc == 0 && !sandbox_can_snapshot(&t.client))
		rc = no_snapshots(t.client.provider->name, &err);
	if (rc == 0)
		rc = target_attach(&t, &sb, &stop, &err);
	if (rc == 0) {
		rc = sandbox_snapshot(&sb, name, args_flag(args, "force"),
				      &stop, &err);
		sandbox_release(&sb);
	}
	if (rc == 0 && app->json) {
		struct buf data = BUF_INIT(1 << 16);

		buf_addc(&data, '{');
		json_member(&data, "id", str_of(t.id));
		buf_addc(&data, ',');
		json_member(&data, "snapshot", str_of(name));
		buf_addc(&data, '}');
		app_envelope("sandbox snapshot", &data);
		buf_release(&data);
	} else if (rc == 0) {
		printf("snapshot %s: use it with --sandbox %s "
		       "--sandbox-snapshot-name %s\n",
		       name, t.client.provider->name, name);
	}
	target_close(&t);
	return rc == 0 ? 0 : app_fail(app, &err);
}

static const char *const outcomes[] = {
	[GC_REMOVED] = "removed",
	[GC_WOULD] = "would remove",
	[GC_ABSENT] = "already gone",
	[GC_LEFT] = "left",
};

struct collection {
	struct app *app;
	struct buf items;
	size_t n;
	bool unsaved; /* work of one that was deleted could not be saved */
};

static int open_host(void *arg, const char *provider,
		     struct sandbox_client *client, struct error *err)
{
	struct collection *c = arg;

	return app_client(c->app, provider, client, err);
}

static void before_remove(void *arg, struct sandbox_client *client,
			  const struct gc_item *item)
{
	struct collection *c = arg;

	struct error said = { 0 };

	c->unsaved |=
		save_removed(c->app, client, item->id, item->label, &said) < 0;
}

static void each(void *arg, const struct gc_item *item)
{
	struct collection *c = arg;
	const struct {
		const char *key, *value;
	} cells[] = {
		{ "outcome", outcomes[item->outcome] },
		{ "provider", item->provider },
		{ "label", item->label },
		{ "id", item->id },
		{ "reason", item->reason },
	};
	size_t n = sizeof(cells) / sizeof(cells[0]);

	if (!c->app->json) {
		for (size_t i = 0; i < n; i++)
			if (cells[i].value[0])
				sandbox_cell(cells[i].value, i ? 0 : 12);
		putchar('\n');
	}
	buf_adds(&c->items, c->n++ ? ",{" : "{");
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_addc(&c->items, ',');
		json_member(&c->items, cells[i].key, str_of(cells[i].value));
	}
	buf_addc(&c->items, '}');
}

int sandbox_cmd_gc(struct app *app, const struct args *args)
{
	const char *provider = args_value(args, "sandbox");
	struct collection c = { .app = app, .items = BUF_INIT(16 << 20) };
	struct gc_request request = {
		.provider = provider && provider[0] ? provider : NULL,
		.dry_run = args_flag(args, "dry-run"),
		.client = open_host,
		.before_remove = before_remove,
		.each = each,
		.arg = &c,
	};
	struct stop stop = app_stop(app);
	struct error err = { 0 };
	const struct sandbox_provider *only = NULL;
	struct registry *registry;
	size_t left = 0;
	int rc = app_store(app, &request.store, &err);

	if (rc == 0)
		rc = app_providers(app, &registry, &err);
	buf_addf(&c.items, "{\"dry_run\":%s,\"items\":[",
		 request.dry_run ? "true" : "false");
	if (rc == 0 && request.provider) {
		only = registry_find(registry, request.provider);
		if (!only)
			rc = app_unknown_provider(app, request.provider, &err);
	}
	if (rc == 0) {
		request.provider = only ? only->name : NULL;
		request.providers = registry_list(registry);
		rc = lifecycle_gc(&request, &left, &stop, &err);
	}
	if (rc == 0 && !request.dry_run) {
		unsent_sweep(app);
		records_tidy(app, &stop);
	}
	buf_addf(&c.items, "],\"left\":%zu}", left);
	if (rc == 0 && app->json)
		app_envelope("sandbox gc", &c.items);
	else if (rc == 0 && !c.n)
		puts("Nothing to delete.");
	buf_release(&c.items);
	if (rc < 0)
		return app_fail(app, &err);
	return left || c.unsaved ? 1 : 0;
}

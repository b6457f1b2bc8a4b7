/* sandbox.c - dcode sandbox: list, info, cp, snapshot, rm and gc. */
/* SPDX-License-Identifier: MIT */
/*
 * session/target.c finds the sandboxes that the command line names. create,
 * start, stop and exec are in sandbox_use.c, forward and url in
 * session/forwards.c. Begin reading at the table subs,
 * at the end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/command.h"
#include "cmd/commands/sandbox_use.h"
#include "cmd/session/copy.h"
#include "cmd/session/forwards.h"
#include "cmd/session/save.h"
#include "cmd/session/secret_list.h"
#include "cmd/session/shell.h"
#include "cmd/session/target.h"
#include "cmd/session/tree.h"
#include "cmd/session/workspace.h"
#include "sandbox/snapshot.h"
#include "sandbox/supervise/supervise.h"
#include "session/records.h"

enum { LISTED_ID = 14 }; /* bytes of an id that are shown in the list */

struct sandbox_table {
	struct store *store; /* for finding the threads that use a sandbox */
	struct buf json;
	bool as_json;
	const char *provider; /* list only its sandboxes; NULL: all */
	size_t n;
};

struct known_ids { /* arg of add_known() */
	struct sandbox_table *table;
	struct store *store;
	bool all; /* also list sandboxes that this installation of dcode did not
		     create */
};

struct known_row { /* arg of copy_row_facts() */
	const char *provider, *id;
	struct sandbox_info *info;
	char label[64];
	bool found;
};

struct facts { /* copy of a struct sandbox_info */
	bool any;
	enum sandbox_state state;
	char *label, *owner, *image;
	int64_t created, ends;
	enum sandbox_isolation isolation;
};

/* Prints the time since created (Unix seconds) as "3 d", "5 h" or "12 min". */
static void print_age(int64_t created)
{
	int64_t minutes = (clock_unix_ms() / 1000 - created) / 60;

	if (minutes >= 2 * 24 * 60)
		printf("%" PRId64 " d", minutes / (24 * 60));
	else if (minutes >= 2 * 60)
		printf("%" PRId64 " h", minutes / 60);
	else
		printf("%" PRId64 " min", minutes < 0 ? 0 : minutes);
}

/* Prints who uses the sandbox: a running dcode, or the user, who has kept it.
 * "has ended" means nobody, so that gc may delete it. */
static void print_owner(const struct ledger_row *row)
{
	char room[20];

	if (row->state == LEDGER_GONE) {
		fputs("-", stdout);
		return;
	}
	if (row->owned_by_live) {
		printf("dcode %" PRId64, row->pid);
	} else if (row->kept) {
		fputs(row->held ? "kept, " : "was kept, ", stdout);
		print_age(row->created);
		printf(" old, until %s", sandbox_time(row->ends, room));
	} else {
		fputs("has ended", stdout);
	}
	if (row->note[0]) {
		fputs("  ", stdout);
		sandbox_cell(row->note, 0);
	}
}

static const char *short_name(const char *label)
{
	return strncmp(label, "dcode-", 6) ? label : label + 6;
}

static void add_member(struct buf *out, const char *key, const char *value)
{
	json_member(out, key, str_of(value));
	buf_addc(out, ',');
}

static bool add_thread(void *arg, const struct thread_label *l)
{
	add_member(arg, "thread", l->thread);
	return false; /* the newest thread is passed first and is enough */
}

/* Adds the member "thread". kept is the thread's id in the ledger, which only a
 * kept sandbox has; otherwise the thread is found by the sandbox's label. */
static void member_thread(struct buf *out, struct store *store,
			  const char *label, const char *kept)
{
	struct error ignored = { 0 };
	size_t before = out->len;

	if (!kept[0] && label[0])
		(void)thread_label_each(store, 0, label, add_thread, out,
					&ignored);
	if (out->len == before)
		add_member(out, "thread", kept);
}

static void row_json(struct buf *out, struct store *store,
		     const struct ledger_row *row)
{
	buf_addc(out, '{');
	add_member(out, "name", short_name(row->label));
	add_member(out, "label", row->label);
	add_member(out, "provider", row->provider);
	add_member(out, "id", row->id);
	add_member(out, "endpoint", row->endpoint);
	add_member(out, "state", ledger_state_name(row->state));
	add_member(out, "note", row->note);
	member_thread(out, store, row->label, row->thread);
	buf_addf(out,
		 "\"created\":%" PRId64 ",\"ends\":%" PRId64 ",\"pid\":%" PRId64
		 ",\"owner_runs\":%s,\"kept\":%s}",
		 row->created, row->ends, row->pid,
		 row->owned_by_live ? "true" : "false",
		 row->held ? "true" : "false");
}

static void print_header(void)
{
	printf("%-9s %-10s %-14s %-9s %-16s %s\n", "NAME", "PROVIDER", "ID",
	       "STATE", "CREATED", "OWNER");
}

/* ledger_each() callback: adds a row to the list, unless the sandbox is gone or
 * of another provider. */
static bool add_row(void *arg, const struct ledger_row *row)
{
	struct sandbox_table *l = arg;
	char room[20];
	char id[IDS_SHOWN];

	if (row->state < LEDGER_INTENT || row->state > LEDGER_STOPPED ||
	    (l->provider && strcmp(l->provider, row->provider) != 0))
		return true;
	if (l->as_json) {
		if (l->n++)
			buf_addc(&l->json, ',');
		row_json(&l->json, l->store, row);
		return true;
	}
	if (!l->n++)
		print_header();
	ids_shown(row->id, id);
	id[LISTED_ID] = '\0';
	sandbox_cell(short_name(row->label), 9);
	sandbox_cell(row->provider, 10);
	sandbox_cell(id, LISTED_ID);
	sandbox_cell(ledger_state_name(row->state), 9);
	sandbox_cell(sandbox_time(row->created, room), 16);
	print_owner(row);
	putchar('\n');
	return true;
}

/* sandbox_list() callback: adds a sandbox that the provider reports with this
 * installation's label. The ledger may not contain it. */
static void add_listed(void *arg, const struct sandbox_info *info)
{
	struct sandbox_table *l = arg;
	char room[20];
	char id[IDS_SHOWN];

	if (l->as_json) {
		if (l->n++)
			buf_addc(&l->json, ',');
		buf_addc(&l->json, '{');
		add_member(&l->json, "name", short_name(info->label));
		add_member(&l->json, "label", info->label);
		add_member(&l->json, "provider", l->provider);
		add_member(&l->json, "id", info->id);
		add_member(&l->json, "owner", info->owner);
		add_member(&l->json, "state", sandbox_state_name(info->state));
		add_member(&l->json, "image", info->image);
		member_thread(&l->json, l->store,
			      info->label ? info->label : "", "");
		buf_addf(&l->json,
			 "\"created\":%" PRId64 ",\"ends\":%" PRId64 "}",
			 info->created, info->ends);
		return;
	}
	if (!l->n++)
		printf("%-9s %-10s %-14s %-9s %-16s %s\n", "NAME", "PROVIDER",
		       "ID", "STATE", "CREATED", "IMAGE");
	ids_shown(info->id, id);
	id[LISTED_ID] = '\0';
	sandbox_cell(short_name(info->label), 9);
	sandbox_cell(l->provider, 10);
	sandbox_cell(id, LISTED_ID);
	sandbox_cell(sandbox_state_name(info->state), 9);
	sandbox_cell(sandbox_time(info->created, room), 16);
	sandbox_cell(info->image, 0);
	putchar('\n');
}

/* ledger_each() callback: completes what is known about an id from its row.
 * Returns false when the row was found. */
static bool copy_row_facts(void *arg, const struct ledger_row *row)
{
	struct known_row *k = arg;

	if (strcmp(row->provider, k->provider) != 0 ||
	    strcmp(row->id, k->id) != 0)
		return true;
	k->found = true;
	snprintf(k->label, sizeof(k->label), "%s", row->label);
	k->info->label = k->label;
	if (!k->info->created)
		k->info->created = row->created;
	if (!k->info->ends)
		k->info->ends = row->ends;
	return false;
}

/* sandbox_list() callback for a provider that does not report labels. Adds the
 * sandbox if the ledger has its id, or if all are listed. */
static void add_known(void *arg, const struct sandbox_info *item)
{
	struct known_ids *k = arg;
	struct sandbox_info info = *item;
	struct known_row row = { .provider = k->table->provider,
				 .id = item->id,
				 .info = &info };
	struct error ignored = { 0 };

	if (ledger_each(k->store, true, copy_row_facts, &row, &ignored) == 0 &&
	    row.found)
		info.owner = store_owner(k->store);
	if (row.found || k->all)
		add_listed(k->table, &info);
}

/* Lists the sandboxes that the provider of --sandbox reports. all: also those
 * that this installation of dcode did not create. */
static int query_provider(struct sandbox_table *l, struct app *app,
			  struct store *store, bool all, struct error *err)
{
	struct known_ids known = { .table = l, .store = store, .all = all };
	const struct info_sink sink = { add_listed, l };
	const struct info_sink ids = { add_known, &known };
	struct sandbox_client client = { 0 };
	struct stop stop = app_stop(app);
	int rc;

	if (app_client(app, l->provider, &client, err) < 0)
		return -1;
	l->provider = client.provider->name;
	rc = sandbox_probe(&client, &stop, err);
	if (rc < 0)
		; /* the error is reported below */
	else if (sandbox_can_list(&client))
		rc = sandbox_list(&client, all ? NULL : store_owner(store),
				  &sink, &stop, err);
	else if (sandbox_can_list_ids(&client))
		rc = sandbox_list_ids(&client, &ids, &stop, err);
	else
		rc = ledger_each(store, all, add_row, l, err);
	sandbox_client_close(&client);
	return rc;
}

/* The following functions implement the subcommands. args does not contain the
 * subcommand's name. They return the exit status. */
static int sandbox_cmd_list(struct app *app, const struct args *args)
{
	const char *provider = args_value(args, "sandbox");
	bool all = args_flag(args, "all");
	struct sandbox_table l = {
		.json = BUF_INIT(64 << 20),
		.as_json = app->json,
		.provider = provider && provider[0] ? provider : NULL,
	};
	struct store *store;
	struct error err = { 0 };
	int rc = app_store(app, &store, &err);

	buf_addc(&l.json, '[');
	l.store = rc == 0 ? store : NULL;
	if (rc == 0)
		rc = l.provider ? query_provider(&l, app, store, all, &err)
				: ledger_each(store, all, add_row, &l, &err);
	buf_addc(&l.json, ']');
	if (rc == 0 && app->json)
		app_envelope("sandbox list", &l.json);
	else if (rc == 0 && !l.n)
		puts("No sandboxes.");
	buf_release(&l.json);
	return rc == 0 ? 0 : app_fail(app, &err);
}

/* sandbox_get() callback: copies the first sandbox that the provider
 * reports. */
static void copy_facts(void *arg, const struct sandbox_info *info)
{
	struct facts *f = arg;

	if (f->any)
		return;
	*f = (struct facts){
		.any = true,
		.state = info->state,
		.label = xstrdup(info->label),
		.owner = xstrdup(info->owner),
		.image = xstrdup(info->image),
		.created = info->created,
		.ends = info->ends,
		.isolation = info->isolation,
	};
}

static const char *text_or_empty(const char *s)
{
	return s ? s : "";
}

static void facts_json(const struct target *t, const struct facts *f)
{
	const char *source =
		sandbox_isolation_source(t->client.provider, f->isolation);
	struct buf out = BUF_INIT(1 << 20);

	buf_addc(&out, '{');
	add_member(&out, "name", short_name(text_or_empty(f->label)));
	add_member(&out, "label", text_or_empty(f->label));
	add_member(&out, "provider", t->client.provider->name);
	add_member(&out, "id", text_or_empty(t->id));
	add_member(&out, "state", sandbox_state_name(f->state));
	add_member(&out, "ledger",
		   t->label[0] ? ledger_state_name(t->state) : "");
	add_member(&out, "image", text_or_empty(f->image));
	buf_adds(&out, "\"isolation\":");
	isolation_json(&out, f->isolation);
	buf_addc(&out, ',');
	add_member(&out, "isolation_source", text_or_empty(source));
	add_member(&out, "owner", text_or_empty(f->owner));
	add_member(&out, "note", text_or_empty(t->note));
	buf_addf(&out,
		 "\"created\":%" PRId64 ",\"ends\":%" PRId64 ",\"pid\":%" PRId64
		 ",\"owner_runs\":%s,\"kept_until\":%" PRId64 "}",
		 f->created, f->ends, t->pid, t->owner_runs ? "true" : "false",
		 t->held ? t->ends : 0);
	app_envelope("sandbox info", &out);
	buf_release(&out);
}

static void print_facts(struct app *app, const struct target *t,
			const struct facts *f)
{
	const char *ledger = t->label[0] ? ledger_state_name(t->state) : "";
	const char *state = sandbox_state_name(f->state);
	const char *source =
		sandbox_isolation_source(t->client.provider, f->isolation);
	char room[20];
	char id[IDS_SHOWN];

	if (app->json) {
		facts_json(t, f);
		return;
	}
	printf("provider  %s\nid        ", t->client.provider->name);
	sandbox_cell(ids_shown(text_or_empty(t->id), id), 0);
	printf("\nlabel     ");
	sandbox_cell(text_or_empty(f->label), 0);
	printf("\nstate     %s\nimage     ", state);
	sandbox_cell(text_or_empty(f->image), 0);
	printf("\nisolation %s%s%s%s", isolation_name(f->isolation),
	       source ? " (" : "", text_or_empty(source), source ? ")" : "");
	printf("\ncreated   %s\n", sandbox_time(f->created, room));
	printf("expires   %s\n", sandbox_time(f->ends, room));
	if (t->held && !t->owner_runs)
		printf("record    %s, kept until %s\n", ledger,
		       sandbox_time(t->ends, room));
	else if (ledger[0])
		printf("record    %s, %s by dcode process %" PRId64 "\n",
		       ledger, t->owner_runs ? "in use" : "last used", t->pid);
	if (t->note) {
		printf("note      ");
		sandbox_cell(t->note, 0);
		putchar('\n');
	}
}

/* Shows what the provider and the ledger know about a sandbox. */
static int sandbox_cmd_info(struct app *app, const struct args *args)
{
	struct stop stop = app_stop(app);
	struct target t = { 0 };
	struct facts f = { 0 };
	const struct info_sink sink = { copy_facts, &f };
	struct error err = { 0 };
	int rc = target_open(&t, app, args, args->argv[0], &err);

	if (rc == 0 && t.id && sandbox_can_get(&t.client))
		rc = sandbox_get(&t.client, t.id, &sink, &stop, &err);
	if (rc < 0 && err.code == ERR_NOT_FOUND && t.label[0]) {
		rc = 0; /* without the provider's facts, the ledger's are still
			   useful */
		f.state = STATE_GONE;
	}
	if (rc == 0) {
		if (!f.label)
			f.label = xstrdup(t.label);
		if (!f.isolation)
			f.isolation = sandbox_isolation(&t.client);
		print_facts(app, &t, &f);
	}
	free(f.label);
	free(f.owner);
	free(f.image);
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
	bool unsaved; /* work of a deleted sandbox could not be saved */
};

static int already_deleted(const char *name, struct error *err)
{
	error_set(err, ERR_NOT_FOUND, "sandbox %s is already deleted", name);
	return error_hint(err, "`dcode sandbox list` shows the others.");
}

/* Marks the sandbox as being removed before its work is saved. That takes a
 * while, in which another dcode could begin to use it. */
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
	/* a ledger that cannot be written must not prevent the deletion of a
	 * sandbox that costs money */
	*err = (struct error){ 0 };
	return 0;
}

/* Saves the work of a sandbox and deletes it. If saving fails, deletes it all
 * the same and reports the failure afterwards. */
static int delete_sandbox(struct app *app, const struct args *args,
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

/* Deletes all named sandboxes. Continues after an error, but not after an
 * interrupt. */
static int sandbox_cmd_delete(struct app *app, const struct args *args)
{
	struct buf data = BUF_INIT(1 << 20);
	struct error first = { 0 };

	buf_adds(&data, "{\"removed\":[");
	for (int i = 0; i < args->argc; i++) {
		struct error err = { 0 };

		if (delete_sandbox(app, args, args->argv[i], &err) < 0) {
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

static int fail_no_snapshots(const char *provider, struct error *err)
{
	error_set(err, ERR_USAGE, "provider '%s' does not support snapshots",
		  provider);
	return error_hint(err, "`dcode provider list` shows which have them.");
}

static int sandbox_cmd_snapshot(struct app *app, const struct args *args)
{
	const char *name = args->argv[1];
	struct stop stop = app_stop(app);
	struct sandbox sb = { 0 };
	struct target t = { 0 };
	struct error err = { 0 };
	int rc = target_open(&t, app, args, args->argv[0], &err);

	if (rc == 0)
		rc = sandbox_probe(&t.client, &stop, &err);
	if (rc == 0 && !snapshot_can_make(&t.client))
		rc = fail_no_snapshots(t.client.provider->name, &err);
	if (rc == 0)
		rc = target_attach(&t, &sb, &stop, &err);
	if (rc == 0) {
		rc = snapshot_make(&sb, name, args_flag(args, "force"), &stop,
				   &err);
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

/* Prints what gc did with one sandbox. */
static void print_gc_item(void *arg, const struct gc_item *item)
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

static int sandbox_cmd_gc(struct app *app, const struct args *args)
{
	const char *provider = args_value(args, "sandbox");
	struct collection c = { .app = app, .items = BUF_INIT(16 << 20) };
	struct gc_request request = {
		.provider = provider && provider[0] ? provider : NULL,
		.dry_run = args_flag(args, "dry-run"),
		.all_snapshots = args_flag(args, "setup"),
		.client = open_host,
		.before_remove = before_remove,
		.each = print_gc_item,
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

/* Parses "ID:PATH". An id may contain colons and slashes, as with ssh, so the
 * longest ID that names a known sandbox is used. If none does, ID ends at the
 * first colon, which must be before the first slash. Returns the path and sets
 * *id (owned); NULL if the argument is a local path. */
static const char *remote_side(struct app *app, const char *argument, char **id)
{
	const char *colon = strchr(argument, ':');
	const char *slash = strchr(argument, '/');

	for (size_t n = strlen(argument); n-- > 1;) {
		if (argument[n] != ':')
			continue;
		*id = xstrndup(argument, n);
		if (target_is_known(app, *id))
			return argument + n + 1;
		free(*id);
		*id = NULL;
	}
	if (!colon || colon == argument || (slash && slash < colon))
		return NULL;
	*id = xstrndup(argument, (size_t)(colon - argument));
	return colon + 1;
}

static void print_summary(struct app *app, const struct copy *c)
{
	struct buf data = BUF_INIT(1 << 10);

	if (!app->json)
		return;
	buf_addf(&data,
		 "{\"files\":%" PRId64 ",\"directories\":%" PRId64
		 ",\"links\":%" PRId64 ",\"skipped\":%" PRId64 "}",
		 c->files, c->directories, c->links, c->skipped);
	app_envelope("sandbox cp", &data);
	buf_release(&data);
}

/* Copies from the sandbox if from is not NULL, otherwise into it. */
static int copy_sides(struct app *app, const struct args *args, const char *id,
		      const char *from, const char *to, struct error *err)
{
	struct stop stop = app_stop(app);
	struct target t = { 0 };
	struct sandbox sb = { 0 };
	struct copy c = { .sb = &sb, .stop = &stop, .disk = -1 };
	const char *bring[ARGS_MOST + 1];
	size_t at = 0;
	int rc = copy_read_limit(&c, app, err);

	c.incoming.bring = bring;
	while ((bring[c.incoming.n_bring] = args_next(args, "bring", &at)))
		c.incoming.n_bring++;

	if (rc == 0)
		rc = target_open(&t, app, args, id, err);
	if (rc == 0)
		rc = target_attach(&t, &sb, &stop, err);
	if (rc < 0) {
		target_close(&t);
		return -1;
	}
	rc = from ? copy_down(&c, from, args->argv[1], err)
		  : copy_up(&c, args->argv[0], to, err);
	free(c.target);
	supervise_leave(&sb);
	sandbox_release(&sb);
	target_stop_again(&t, app);
	target_close(&t);
	if (c.unread)
		return STATUS_PIPE;
	if (rc == 0 && c.skipped)
		rc = error_set(err, ERR_REMOTE, "%" PRId64 " not copied",
			       c.skipped);
	else if (rc == 0)
		print_summary(app, &c);
	return rc;
}

static int sandbox_cmd_copy(struct app *app, const struct args *args)
{
	char *id = NULL;
	const char *from = remote_side(app, args->argv[0], &id);
	const char *to = from ? NULL : remote_side(app, args->argv[1], &id);
	struct error err = { 0 };
	char *second = NULL;
	int rc;

	if (from && remote_side(app, args->argv[1], &second)) {
		free(id);
		free(second);
		return command_misuse(&command_sandbox, "cp",
				      "sandbox cp: only one side can be a"
				      " sandbox");
	}
	if (!from && !to)
		return command_misuse(&command_sandbox, "cp",
				      "sandbox cp: one side must be ID:PATH");
	if (app->json && from && !strcmp(args->argv[1], "-")) {
		free(id);
		return command_misuse(&command_sandbox, "cp",
				      "sandbox cp: --json cannot be combined "
				      "with a copy to standard output");
	}
	rc = copy_sides(app, args, id, from, to, &err);
	free(id);
	return rc >= 0 ? rc : app_fail(app, &err);
}

#define OF_PROVIDER                                                            \
	{                                                                      \
		"sandbox", 0, ARG_VALUE, "TYPE",                               \
			"Provider of the sandbox; needed if dcode sandbox "    \
			"list does not show the ID"                            \
	}
static const struct arg_row list_options[] = {
	{ "all", 0, ARG_FLAG, NULL, "Also list deleted sandboxes" },
	{ "sandbox", 0, ARG_VALUE, "TYPE",
	  "List the sandboxes that this provider reports, not those in this "
	  "machine's records" },
	ARG_JSON,
	{ 0 },
};

static const struct arg_row sandbox_options[] = { OF_PROVIDER,
						  ARG_JSON,
						  { 0 } };

static const struct arg_row copy_options[] = {
	{ "bring", 0, ARG_VALUE, "NAME",
	  "Also copy files and directories with this name, such as .git, out "
	  "of a sandbox; repeatable" },
	OF_PROVIDER,
	ARG_JSON,
	{ 0 },
};

static const struct arg_row exec_options[] = {
	OF_PROVIDER,
	{ "stdin", 0, ARG_FLAG, NULL,
	  "Wait for all of standard input and pass it to the command" },
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
	{ "force", 0, ARG_FLAG, NULL,
	  "Delete the sandbox even if another dcode is using it" },
	OF_PROVIDER,
	ARG_JSON,
	{ 0 },
};

static const struct arg_row create_options[] = {
	{ "sandbox", 0, ARG_VALUE, "TYPE",
	  "Provider (default: [sandboxes].default)" },
	{ "snapshot", 0, ARG_VALUE, "NAME", "Start from this snapshot" },
	{ "setup", 0, ARG_VALUE, "PATH",
	  "Run this local script in the new sandbox" },
	{ "lifetime", 0, ARG_VALUE, "SECONDS",
	  "Time after which the sandbox ends by itself" },
	ARG_JSON,
	{ 0 },
};

static const struct arg_row url_options[] = {
	{ "open", 0, ARG_FLAG, NULL,
	  "Show the port in a browser, through 127.0.0.1 unless --public is "
	  "given, until Ctrl-C" },
	{ "public", 0, ARG_FLAG, NULL,
	  "Open the port to anybody who knows the address, until Ctrl-C if the "
	  "vendor can close it" },
	{ "token", 0, ARG_FLAG, NULL,
	  "Also print the header that requests need: it is a secret" },
	OF_PROVIDER,
	ARG_JSON,
	{ 0 },
};

static int list_secrets(struct app *app, const struct args *args)
{
	return secret_list_print(app, args_value(args, "sandbox"));
}

static void print_notice(void *arg, const char *line)
{
	(void)arg;
	if (*line)
		app_warn_line(line);
}

/* Keeps the sandbox from expiring while the shell is open. A time that the user
 * gave it is not shortened. */
static void keep_alive(struct managed_sandbox *box, const struct target *t)
{
	int64_t left = t->ends - clock_unix_ms() / 1000;
	int64_t usual = t->client.provider->lifetime_s;

	if (t->label[0])
		lifecycle_keepalive_start(box, left > usual ? left : usual);
}

static int run_shell(struct app *app, struct target *t, struct exec_result *res,
		     struct error *err)
{
	struct managed_sandbox box = { 0 };
	struct stop stop = app_stop(app);
	char late[SANDBOX_NOTICE] = "";
	int rc;

	if (target_attach(t, &box.sandbox, &stop, err) < 0)
		return -1;
	tree_await_commit(app, t->label, &box.sandbox, &stop);
	keep_alive(&box, t);
	rc = shell_run(app, &box.sandbox, res, err);
	lifecycle_keepalive_stop(&box);
	sandbox_settle(&box.sandbox, late);
	print_notice(NULL, res->notice);
	print_notice(NULL, late);
	sandbox_check(&box.sandbox, true, print_notice, NULL);
	sandbox_release(&box.sandbox);
	target_stop_again(t, app);
	return rc;
}

static int open_shell(struct app *app, const struct args *args)
{
	struct exec_result res = { .exit_code = -1 };
	struct target t = { 0 };
	struct error err = { 0 };
	int rc = target_open(&t, app, args, args->argv[0], &err);

	if (rc == 0)
		rc = run_shell(app, &t, &res, &err);
	target_close(&t);
	if (rc < 0)
		return app_fail(app, &err);
	if (res.exit_code < 0)
		app_warn("the provider did not report the exit status");
	return res.exit_code < 0 ? SHELL_UNKNOWN : res.exit_code;
}

static const struct arg_row network_options[] = {
	{ "sandbox", 0, ARG_VALUE, "TYPE",
	  "Provider of the new sandbox (default: [sandboxes].default)" },
	{ "sandbox-network", 0, ARG_VALUE, "full|none|HOST",
	  "check: the list of the new sandbox; may be repeated" },
	ARG_JSON,
	{ 0 },
};

static const struct arg_row stop_options[] = {
	{ "force", 0, ARG_FLAG, NULL,
	  "Stop the sandbox even if another dcode is using it" },
	OF_PROVIDER,
	ARG_JSON,
	{ 0 },
};

static const struct arg_row gc_options[] = {
	{ "dry-run", 0, ARG_FLAG, NULL,
	  "Show what would be deleted, delete nothing" },
	{ "setup", 0, ARG_FLAG, NULL,
	  "Also delete all snapshots of setup scripts" },
	{ "sandbox", 0, ARG_VALUE, "TYPE", "Only sandboxes of this provider" },
	ARG_JSON,
	{ 0 },
};

static const struct subcommand subs[] = {
	{ .name = "list",
	  .aliases = "ls",
	  .summary = "List the sandboxes that dcode created or attached to",
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
	  .summary = "Run a command in a sandbox; a single argument is run by "
		     "the shell",
	  .options = exec_options,
	  .least = 2,
	  .most = -1,
	  .run = sandbox_cmd_exec },
	{ .name = "shell",
	  .args = "ID",
	  .summary = "Open a shell in a sandbox, on this terminal; ~. ends it",
	  .options = sandbox_options,
	  .least = 1,
	  .most = 1,
	  .run = open_shell },
	{ .name = "cp",
	  .args = "SRC DST",
	  .summary = "Copy files and directories; SRC or DST is ID:PATH. With "
		     "- instead of a local path: a file's bytes, or a "
		     "directory as tar, on standard input or output",
	  .options = copy_options,
	  .least = 2,
	  .most = 2,
	  .run = sandbox_cmd_copy },
	{ .name = "create",
	  .summary = "Create a sandbox that stays after this command, and "
		     "print its id",
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
	{ .name = "forward",
	  .args = "ID [LOCAL:]PORT...",
	  .summary = "Open ports of a sandbox on 127.0.0.1 of this machine, "
		     "until Ctrl-C",
	  .options = sandbox_options,
	  .least = 2,
	  .most = -1,
	  .run = sandbox_cmd_forward },
	{ .name = "url",
	  .args = "ID PORT",
	  .summary = "Print the address at which the vendor answers for a port "
		     "of a sandbox",
	  .options = url_options,
	  .least = 2,
	  .most = 2,
	  .run = sandbox_cmd_url },
	{ .name = "network",
	  .args = "presets | check HOST | log [THREAD|ID]",
	  .summary = "List the presets of hosts; say whether a new sandbox "
		     "could reach a host, and which setting decides; list what "
		     "the commands of a thread or sandbox connected to",
	  .options = network_options,
	  .least = 1,
	  .most = 2,
	  .flags = SUB_UNRESTRICTED,
	  .run = sandbox_cmd_network },
	{ .name = "secrets",
	  .args = "",
	  .summary = "List [secrets] without their values; with --sandbox, say "
		     "whether that provider can hold them",
	  .options = network_options,
	  .flags = SUB_UNRESTRICTED,
	  .run = list_secrets },
	{ .name = "rm",
	  .args = "ID...",
	  .summary = "Delete sandboxes",
	  .options = rm_options,
	  .least = 1,
	  .most = -1,
	  .flags = SUB_UNRESTRICTED,
	  .run = sandbox_cmd_delete },
	{ .name = "gc",
	  .summary = "Delete expired sandboxes and leftovers of crashed runs",
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

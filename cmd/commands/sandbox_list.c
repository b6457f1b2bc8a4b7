/* sandbox_list.c - dcode sandbox list and info. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/commands/sandbox.h"
#include "session/thread_label.h"

enum { LISTED_ID = 14 }; /* bytes of an id in a row */

/* "3 d", "5 h" or "12 min". */
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

/* Who answers for it: a dcode that runs, the user, or nobody but gc. */
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

struct sandbox_table {
	struct store *store; /* for the threads of those in use */
	struct buf json;
	bool as_json;
	const char *provider; /* only this one, or NULL */
	size_t n;
};

static const char *short_name(const char *label)
{
	return strncmp(label, "dcode-", 6) ? label : label + 6;
}

static void member(struct buf *out, const char *key, const char *value)
{
	json_member(out, key, str_of(value));
	buf_addc(out, ',');
}

static bool add_thread(void *arg, const struct thread_label *l)
{
	member(arg, "thread", l->thread);
	return false; /* the newest one */
}

/* The ledger names the thread of what is kept; who uses a sandbox now is known
 * by its label. */
static void member_thread(struct buf *out, struct store *store,
			  const char *label, const char *kept)
{
	struct error ignored = { 0 };
	size_t before = out->len;

	if (!kept[0] && label[0])
		(void)thread_label_each(store, 0, label, add_thread, out,
					&ignored);
	if (out->len == before)
		member(out, "thread", kept);
}

static void row_json(struct buf *out, struct store *store,
		     const struct ledger_row *row)
{
	buf_addc(out, '{');
	member(out, "name", short_name(row->label));
	member(out, "label", row->label);
	member(out, "provider", row->provider);
	member(out, "id", row->id);
	member(out, "endpoint", row->endpoint);
	member(out, "state", ledger_state_name(row->state));
	member(out, "note", row->note);
	member_thread(out, store, row->label, row->thread);
	buf_addf(out,
		 "\"created\":%" PRId64 ",\"ends\":%" PRId64 ",\"pid\":%" PRId64
		 ",\"owner_runs\":%s,\"kept\":%s}",
		 row->created, row->ends, row->pid,
		 row->owned_by_live ? "true" : "false",
		 row->held ? "true" : "false");
}

static void head(void)
{
	printf("%-9s %-10s %-14s %-9s %-16s %s\n", "NAME", "PROVIDER", "ID",
	       "STATE", "CREATED", "OWNER");
}

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
		head();
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

/* What a provider has under our label, whether or not the ledger knows it. */
static void add_listed(void *arg, const struct sandbox_info *info)
{
	struct sandbox_table *l = arg;
	char room[20];
	char id[IDS_SHOWN];

	if (l->as_json) {
		if (l->n++)
			buf_addc(&l->json, ',');
		buf_addc(&l->json, '{');
		member(&l->json, "name", short_name(info->label));
		member(&l->json, "label", info->label);
		member(&l->json, "provider", l->provider);
		member(&l->json, "id", info->id);
		member(&l->json, "owner", info->owner);
		member(&l->json, "state", sandbox_state_name(info->state));
		member(&l->json, "image", info->image);
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

struct known_ids { /* arg of add_known() */
	struct sandbox_table *table;
	struct store *store;
	bool all; /* also those that are not ours */
};

struct known_row { /* arg of see_row() */
	const char *provider, *id;
	struct sandbox_info *info;
	char label[64];
	bool found;
};

static bool see_row(void *arg, const struct ledger_row *row)
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

/* One of a list without labels: the ledger knows which of them are ours. */
static void add_known(void *arg, const struct sandbox_info *item)
{
	struct known_ids *k = arg;
	struct sandbox_info info = *item;
	struct known_row row = { .provider = k->table->provider,
				 .id = item->id,
				 .info = &info };
	struct error ignored = { 0 };

	if (ledger_each(k->store, true, see_row, &row, &ignored) == 0 &&
	    row.found)
		info.owner = store_owner(k->store);
	if (row.found || k->all)
		add_listed(k->table, &info);
}

/* --sandbox NAME: the provider itself is asked; --all: other owners' too. */
static int ask_provider(struct sandbox_table *l, struct app *app,
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
		; /* told below */
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

int sandbox_cmd_list(struct app *app, const struct args *args)
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
		rc = l.provider ? ask_provider(&l, app, store, all, &err)
				: ledger_each(store, all, add_row, &l, &err);
	buf_addc(&l.json, ']');
	if (rc == 0 && app->json)
		app_envelope("sandbox list", &l.json);
	else if (rc == 0 && !l.n)
		puts("No sandboxes.");
	buf_release(&l.json);
	return rc == 0 ? 0 : app_fail(app, &err);
}

struct facts { /* copied out of struct sandbox_info */
	bool any;
	enum sandbox_state state;
	char *label, *owner, *image;
	int64_t created, ends;
	enum sandbox_isolation isolation;
};

static void keep(void *arg, const struct sandbox_info *info)
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

static const char *text(const char *s)
{
	return s ? s : "";
}

static void facts_json(const struct target *t, const struct facts *f)
{
	const char *source =
		sandbox_isolation_source(t->client.provider, f->isolation);
	struct buf out = BUF_INIT(1 << 20);

	buf_addc(&out, '{');
	member(&out, "name", short_name(text(f->label)));
	member(&out, "label", text(f->label));
	member(&out, "provider", t->client.provider->name);
	member(&out, "id", text(t->id));
	member(&out, "state", sandbox_state_name(f->state));
	member(&out, "ledger", t->label[0] ? ledger_state_name(t->state) : "");
	member(&out, "image", text(f->image));
	buf_adds(&out, "\"isolation\":");
	isolation_json(&out, f->isolation);
	buf_addc(&out, ',');
	member(&out, "isolation_source", text(source));
	member(&out, "owner", text(f->owner));
	member(&out, "note", text(t->note));
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
	sandbox_cell(ids_shown(text(t->id), id), 0);
	printf("\nlabel     ");
	sandbox_cell(text(f->label), 0);
	printf("\nstate     %s\nimage     ", state);
	sandbox_cell(text(f->image), 0);
	printf("\nisolation %s%s%s%s", isolation_name(f->isolation),
	       source ? " (" : "", text(source), source ? ")" : "");
	printf("\ncreated   %s\n", sandbox_time(f->created, room));
	printf("ends by   %s\n", sandbox_time(f->ends, room));
	if (t->held && !t->owner_runs)
		printf("ledger    %s, kept until %s\n", ledger,
		       sandbox_time(t->ends, room));
	else if (ledger[0])
		printf("ledger    %s, its dcode (%" PRId64 ") %s\n", ledger,
		       t->pid, t->owner_runs ? "runs" : "has ended");
	if (t->note) {
		printf("note      ");
		sandbox_cell(t->note, 0);
		putchar('\n');
	}
}

int sandbox_cmd_info(struct app *app, const struct args *args)
{
	struct stop stop = app_stop(app);
	struct target t = { 0 };
	struct facts f = { 0 };
	const struct info_sink sink = { keep, &f };
	struct error err = { 0 };
	int rc = target_open(&t, app, args, args->argv[0], &err);

	if (rc == 0 && t.id && sandbox_can_get(&t.client))
		rc = sandbox_get(&t.client, t.id, &sink, &stop, &err);
	if (rc < 0 && err.code == ERR_NOT_FOUND && t.label[0]) {
		rc = 0; /* the ledger still has something to say */
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

/* gc.c - deletes sandboxes left by dead processes of this installation. */
/* SPDX-License-Identifier: MIT */

/*
 * Two lists are compared: ledger rows without a running owner, and the
 * sandboxes that each provider lists under this installation's owner id. A
 * sandbox in either list is deleted, unless it is kept and its end is not
 * reached. If a create was interrupted before it returned an id, its sandbox is
 * found only in the provider's list. Begin reading at lifecycle_gc(), then
 * clean_provider().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lifecycle/lifecycle.h"
#include "session/store.h"

/* While a row is younger than this, an engine may still be creating its
 * sandbox, even if the process that requested it is dead. */
enum {
	YOUNG_S = 120,
	LATE_MS = 3000,
	LATE_POLL_MS = 200,
};

struct left { /* a copied ledger row without a running owner; owned */
	char *label, *provider, *id, *endpoint;
	int64_t created; /* Unix seconds */
	bool handled;
	bool is_snapshot; /* of a setup script; label is its name */
};
struct listed { /* a copied entry of a provider's list */
	char *id, *label;
};
struct gc {
	const struct gc_request *request;
	const struct stop *stop;
	struct left *rows;
	size_t n_rows;
	struct left *kept; /* snapshots that stay */
	size_t n_kept;
	struct listed *list;
	size_t n_list;
	size_t failures;
};

static bool add_row(void *arg, const struct ledger_row *row)
{
	struct gc *gc = arg;

	if (row->owned_by_live || row->held)
		return true;
	gc->rows = xrealloc(gc->rows, gc->n_rows + 1, sizeof(*gc->rows));
	gc->rows[gc->n_rows++] = (struct left){
		.label = xstrdup(row->label),
		.provider = xstrdup(row->provider),
		.id = xstrdup(row->id),
		.endpoint = xstrdup(row->endpoint),
		.created = row->created,
	};
	return true;
}

/* The number of rows of the same provider and endpoint that were used later and
 * stay. */
static size_t count_later(const struct gc *gc,
			  const struct ledger_snapshot *row)
{
	size_t n = 0;

	for (size_t i = 0; i < gc->n_kept; i++)
		n += !strcmp(gc->kept[i].provider, row->provider) &&
		     !strcmp(gc->kept[i].endpoint, row->endpoint);
	return n;
}

/* Adds a snapshot of a setup script if it is incomplete, old or one too
 * many. */
static bool add_snapshot(void *arg, const struct ledger_snapshot *row)
{
	struct gc *gc = arg;
	bool stays = row->state == LEDGER_SNAPSHOT_READY &&
		     !gc->request->all_snapshots && !row->expired &&
		     count_later(gc, row) < LIFECYCLE_SNAPSHOTS;
	struct left **list = stays ? &gc->kept : &gc->rows;
	size_t *n = stays ? &gc->n_kept : &gc->n_rows;

	if (row->owned_by_live)
		return true;
	*list = xrealloc(*list, *n + 1, sizeof(**list));
	(*list)[(*n)++] = (struct left){
		.label = xstrdup(row->name),
		.provider = xstrdup(row->provider),
		.id = xstrdup(row->name),
		.endpoint = xstrdup(row->endpoint),
		.created = row->created,
		.is_snapshot = true,
	};
	return true;
}

static void add_listed(void *arg, const struct sandbox_info *info)
{
	struct gc *gc = arg;

	/* The provider should have filtered by owner: check it again. */
	if (strcmp(info->owner, store_owner(gc->request->store)) != 0 ||
	    strncmp(info->label, "dcode-", 6) != 0 || info->state == STATE_GONE)
		return;
	gc->list = xrealloc(gc->list, gc->n_list + 1, sizeof(*gc->list));
	gc->list[gc->n_list++] =
		(struct listed){ xstrdup(info->id), xstrdup(info->label) };
}

static void release_list(struct gc *gc)
{
	for (size_t i = 0; i < gc->n_list; i++) {
		free(gc->list[i].id);
		free(gc->list[i].label);
	}
	free(gc->list);
	gc->list = NULL;
	gc->n_list = 0;
}

static void release_rows(struct left *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(rows[i].label);
		free(rows[i].provider);
		free(rows[i].id);
		free(rows[i].endpoint);
	}
	free(rows);
}

static void report_item(struct gc *gc, const struct gc_item *item)
{
	if (item->outcome == GC_LEFT)
		gc->failures++;
	if (gc->request->each)
		gc->request->each(gc->request->arg, item);
}

static struct left *find_row(struct gc *gc, const char *label)
{
	for (size_t i = 0; i < gc->n_rows; i++)
		if (!strcmp(gc->rows[i].label, label))
			return &gc->rows[i];
	return NULL;
}

struct label_owner {
	bool known; /* the ledger has this label */
	bool alive; /* has a running owner, or is held for the user */
	bool gone;  /* deletion confirmed, possibly after the list was made */
};

static bool note_owner(void *arg, const struct ledger_row *row)
{
	struct label_owner *owner = arg;

	owner->known = true;
	owner->gone = row->state == LEDGER_GONE;
	owner->alive = (row->owned_by_live || row->held) && !owner->gone;
	return false;
}

/* Reads the ledger again after the provider has listed, because a process may
 * have written its row and created its sandbox since gc started. True if the
 * sandbox must not be deleted. */
static bool is_alive(struct gc *gc, const char *label,
		     struct label_owner *owner)
{
	struct error err = { 0 };

	*owner = (struct label_owner){ 0 };
	if (ledger_find(gc->request->store, label, note_owner, owner, &err) < 0)
		/* unknown: do not delete it */
		return err.code != ERR_NOT_FOUND;
	return owner->alive;
}

/* Nobody knows whether a sandbox without a row had objects of the account. */
static void clean_account(struct gc *gc, struct sandbox_client *client,
			  struct gc_item *item, struct error *err)
{
	const struct sandbox_ops *ops = client->provider->ops;

	if (!ops->clean || !item->label[0] ||
	    ops->clean(client, item->label, gc->stop, err) == 0)
		return;
	item->outcome = GC_LEFT;
	item->reason = err->message;
}

/* Deletes one sandbox, or with dry_run only reports it. in_ledger: its row is
 * claimed first. */
static void remove_one(struct gc *gc, struct sandbox_client *client,
		       const struct gc_item *item, bool in_ledger)
{
	struct gc_item done = *item;
	struct error err = { 0 };

	/* Delete the sandbox even if the ledger cannot be written. */
	if (in_ledger && !gc->request->dry_run &&
	    ledger_claim_removal(gc->request->store, item->label,
				 LEDGER_SPARE_HELD, &err) < 0 &&
	    err.code == ERR_BUSY)
		return; /* another process has taken it over in the meantime */
	err = (struct error){ 0 };
	done.outcome = GC_REMOVED;
	if (!gc->request->dry_run && gc->request->before_remove && item->id[0])
		gc->request->before_remove(gc->request->arg, client, item);
	if (gc->request->dry_run) {
		done.outcome = GC_WOULD;
	} else if (lifecycle_remove(client, gc->request->store, item->id,
				    in_ledger ? item->label : NULL, gc->stop,
				    &err) < 0) {
		done.outcome = GC_LEFT;
		done.reason = err.message;
	} else if (!in_ledger) {
		clean_account(gc, client, &done, &err);
	}
	report_item(gc, &done);
}

static bool is_absent(struct gc *gc, struct sandbox_client *client,
		      const char *id)
{
	struct error err = { 0 };

	return sandbox_can_get(client) &&
	       sandbox_get(client, id, NULL, gc->stop, &err) < 0 &&
	       err.code == ERR_NOT_FOUND;
}

static void clean_listed(struct gc *gc, struct sandbox_client *client)
{
	for (size_t i = 0; i < gc->n_list; i++) {
		struct gc_item item = {
			.provider = client->provider->name,
			.label = gc->list[i].label,
			.id = gc->list[i].id,
			.reason = "",
		};
		struct left *row = find_row(gc, item.label);
		struct label_owner owner;

		if (is_alive(gc, item.label, &owner) ||
		    (owner.gone && is_absent(gc, client, item.id)))
			continue;
		if (row)
			row->handled = true;
		remove_one(gc, client, &item, owner.known);
	}
}

struct strangers { /* arg of note_stranger() */
	struct gc *gc;
	const char *provider;
	struct buf ids; /* separated by ", ": sandboxes without a ledger row */
	const char *id; /* the id being looked up */
	bool known;
};

static bool match_id(void *arg, const struct ledger_row *row)
{
	struct strangers *s = arg;

	s->known =
		!strcmp(row->provider, s->provider) && !strcmp(row->id, s->id);
	return !s->known;
}

static void note_stranger(void *arg, const struct sandbox_info *info)
{
	struct strangers *s = arg;
	struct error ignored = { 0 };

	s->id = info->id;
	s->known = false;
	if (ledger_each(s->gc->request->store, true, match_id, s, &ignored) <
		    0 ||
	    s->known)
		return;
	buf_addf(&s->ids, "%s%.60s", s->ids.len ? ", " : "", info->id);
}

/* Explains why a row stays if its create was interrupted before it returned an
 * id. A list without labels does not show which sandbox belongs to the row, so
 * the user has to check. */
static void explain_unknown_id(struct gc *gc, struct sandbox_client *client,
			       char *reason, size_t room)
{
	struct strangers s = { .gc = gc,
			       .provider = client->provider->name,
			       .ids = BUF_INIT(160) };
	const struct info_sink sink = { note_stranger, &s };
	struct error ignored = { 0 };

	snprintf(reason, room,
		 "its id is unknown, and the provider cannot list sandboxes");
	if (sandbox_can_list_ids(client) &&
	    sandbox_list_ids(client, &sink, gc->stop, &ignored) == 0)
		snprintf(reason, room, "its id is unknown; %s%s%s",
			 s.ids.len ? "the provider also has "
				   : "dcode knows all sandboxes that the "
				     "provider lists",
			 s.ids.len ? s.ids.ptr : "", s.ids.over ? ", ..." : "");
	buf_release(&s.ids);
}

/* Handles a ledger row that was not in the provider's list. listing: the
 * provider can list, so a missing sandbox is really gone. */
static void clean_row(struct gc *gc, struct sandbox_client *client,
		      const struct left *row, bool listing)
{
	struct gc_item item = {
		.provider = row->provider,
		.label = row->label,
		.id = row->id,
		.outcome = GC_ABSENT,
		.reason = "",
	};
	int (*clean)(struct sandbox_client *, const char *, const struct stop *,
		     struct error *) = client->provider->ops->clean;
	struct error err = { 0 };
	char reason[256];

	if (row->id[0] && !(listing && gc->request->dry_run)) {
		remove_one(gc, client, &item, true);
		return;
	}
	if (!row->id[0] && !listing) {
		explain_unknown_id(gc, client, reason, sizeof(reason));
		item.outcome = GC_LEFT;
		item.reason = reason;
	} else if (!gc->request->dry_run &&
		   ((clean &&
		     (clean(client, row->label, gc->stop, &err) < 0 ||
		      ledger_set_objects(gc->request->store, row->label, false,
					 &err) < 0)) ||
		    ledger_gone(gc->request->store, row->label, &err) < 0)) {
		item.outcome = GC_LEFT;
		item.reason = err.message;
	}
	report_item(gc, &item);
}

/* Reports a row that cannot be checked: the provider does not answer, or the
 * sandbox belongs to another engine. */
static void report_left(struct gc *gc, const struct left *row,
			const char *reason)
{
	report_item(gc, &(struct gc_item){
				.provider = row->provider,
				.label = row->label,
				.id = row->id,
				.outcome = GC_LEFT,
				.reason = reason,
			});
}

static void report_all_left(struct gc *gc, const char *provider,
			    const char *reason)
{
	for (size_t i = 0; i < gc->n_rows; i++)
		if (!strcmp(gc->rows[i].provider, provider) &&
		    !gc->rows[i].handled)
			report_left(gc, &gc->rows[i], reason);
}

static void clean_snapshot(struct gc *gc, struct sandbox_client *client,
			   const struct left *row)
{
	struct gc_item item = {
		.provider = row->provider,
		.label = row->label,
		.id = "",
		.outcome = GC_REMOVED,
		.reason = "",
	};
	struct error err = { 0 };

	if (gc->request->dry_run) {
		item.outcome = GC_WOULD;
	} else if (lifecycle_snapshot_remove(client, gc->request->store,
					     row->label, gc->stop, &err) < 0) {
		item.outcome = GC_LEFT;
		item.reason = err.message;
	}
	report_item(gc, &item);
}

/* Handles the remaining ledger rows of this client's provider and engine. Rows
 * of another engine are reported as left. */
static void clean_rows(struct gc *gc, struct sandbox_client *client,
		       bool listing)
{
	const char *endpoint = lifecycle_endpoint(client);

	for (size_t i = 0; i < gc->n_rows; i++) {
		struct left *row = &gc->rows[i];
		char reason[256];

		if (row->handled ||
		    strcmp(row->provider, client->provider->name) != 0)
			continue;
		if (!strcmp(row->endpoint, endpoint)) {
			if (row->is_snapshot)
				clean_snapshot(gc, client, row);
			else
				clean_row(gc, client, row, listing);
			continue;
		}
		if (client->also)
			/* clean_provider() handles it under the main name */
			continue;
		snprintf(reason, sizeof(reason),
			 "it belongs to %s: configure the provider for that "
			 "first",
			 row->endpoint);
		report_left(gc, row, reason);
	}
}

static bool has_rows(const struct gc *gc, const char *provider)
{
	for (size_t i = 0; i < gc->n_rows; i++)
		if (!strcmp(gc->rows[i].provider, provider))
			return true;
	return false;
}

static bool is_listed(const struct gc *gc, const char *label)
{
	for (size_t i = 0; i < gc->n_list; i++)
		if (!strcmp(gc->list[i].label, label))
			return true;
	return false;
}

/* True if a sandbox was requested a moment ago and is not listed yet. */
static bool awaits_listing(const struct gc *gc,
			   const struct sandbox_client *client)
{
	int64_t now = clock_unix_ms() / 1000;

	for (size_t i = 0; i < gc->n_rows; i++) {
		const struct left *row = &gc->rows[i];

		if (!row->id[0] && now - row->created < YOUNG_S &&
		    !strcmp(row->provider, client->provider->name) &&
		    !strcmp(row->endpoint, lifecycle_endpoint(client)) &&
		    !is_listed(gc, row->label))
			return true;
	}
	return false;
}

static int list_ours(struct gc *gc, struct sandbox_client *client,
		     struct error *err)
{
	const char *owner = store_owner(gc->request->store);
	const struct info_sink sink = { add_listed, gc };
	int64_t until = clock_ms() + LATE_MS;

	for (;;) {
		release_list(gc);
		if (sandbox_list(client, owner, &sink, gc->stop, err) < 0)
			return -1;
		if ((!client->endpoint && !sandbox_needs_probe(client)) ||
		    !awaits_listing(gc, client) || clock_ms() >= until)
			return 0;
		if (stop_sleep(gc->stop, LATE_POLL_MS, err) < 0)
			return -1;
	}
}

/* True if the provider can list, as known without starting it. */
static bool can_list(const struct sandbox_client *client)
{
	return client->provider->flags & SANDBOX_LIST &&
	       sandbox_can_list(client);
}

/* Cleans up one provider. A provider that does not answer and has no rows is
 * not in use: it is reported only if the user named it. An external provider
 * program without rows is started only if it is known to support listing. */
static void clean_provider(struct gc *gc, const struct sandbox_provider *p)
{
	const struct gc_request *r = gc->request;
	struct sandbox_client client = { .provider = p };
	struct error err = { 0 };
	bool listing = can_list(&client);

	if (!listing && !has_rows(gc, p->name) &&
	    !(r->provider && sandbox_needs_probe(&client)))
		return;
	if (r->client(r->arg, p->name, &client, &err) < 0) {
		report_all_left(gc, p->name, err.message);
		return;
	}
	/* Only a list finds the sandbox of an interrupted create. */
	if (sandbox_probe(&client, gc->stop, &err) < 0) {
		report_all_left(gc, p->name, err.message);
		sandbox_client_close(&client);
		return;
	}
	listing = can_list(&client);
	if (listing && list_ours(gc, &client, &err) < 0) {
		report_all_left(gc, p->name, err.message);
	} else {
		clean_listed(gc, &client);
		clean_rows(gc, &client, listing);
	}
	release_list(gc);
	sandbox_client_close(&client);
}

/* True if rows of this provider belong to the engine of its second name (such
 * as podman for docker) and its first name uses another engine. */
static bool has_second_engine_rows(const struct gc *gc,
				   const struct sandbox_client *also)
{
	const struct gc_request *r = gc->request;
	const char *endpoint = lifecycle_endpoint(also);
	struct sandbox_client client = { 0 };
	struct error ignored = { 0 };
	bool found = false;

	for (size_t i = 0; i < gc->n_rows && !found; i++)
		found = !strcmp(gc->rows[i].provider, also->provider->name) &&
			!strcmp(gc->rows[i].endpoint, endpoint);
	if (!found ||
	    r->client(r->arg, also->provider->name, &client, &ignored) < 0)
		return found;
	found = strcmp(endpoint, lifecycle_endpoint(&client)) != 0;
	sandbox_client_close(&client);
	return found;
}

/* Cleans up the engine of the second name. Call before clean_provider(), which
 * reports the remaining rows. */
static void clean_second_engine(struct gc *gc, const struct sandbox_provider *p)
{
	const struct gc_request *r = gc->request;
	struct sandbox_client client = { 0 };
	struct error ignored = { 0 };

	if (!p->also || !has_rows(gc, p->name) ||
	    r->client(r->arg, p->also, &client, &ignored) < 0)
		return;
	if (client.provider == p && has_second_engine_rows(gc, &client) &&
	    list_ours(gc, &client, &ignored) == 0) {
		clean_listed(gc, &client);
		clean_rows(gc, &client, true);
	}
	release_list(gc);
	sandbox_client_close(&client);
}

int lifecycle_gc(const struct gc_request *request, size_t *left,
		 const struct stop *stop, struct error *err)
{
	struct gc gc = { .request = request, .stop = stop };
	const struct sandbox_provider *const *all = request->providers;
	int rc = ledger_each(request->store, false, add_row, &gc, err);

	if (rc == 0)
		rc = ledger_snapshot_each(request->store, add_snapshot, &gc,
					  err);

	for (size_t i = 0; rc == 0 && all[i]; i++) {
		const struct sandbox_provider *p = all[i];

		if ((p->flags & SANDBOX_UNISOLATED) ||
		    (request->provider && strcmp(request->provider, p->name)))
			continue;
		rc = stop_check(stop, err);
		if (rc == 0) {
			clean_second_engine(&gc, p);
			clean_provider(&gc, p);
		}
	}
	*left = gc.failures;
	release_rows(gc.rows, gc.n_rows);
	release_rows(gc.kept, gc.n_kept);
	release_list(&gc);
	return rc;
}

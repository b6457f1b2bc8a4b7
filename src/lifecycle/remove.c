/* remove.c - a sandbox's deletion, confirmed. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lifecycle/lifecycle_impl.h"
#include "session/session.h"

enum {
	SEARCH_MS = 150,  /* for what an interrupted create may have made; */
	SEARCH_TRIES = 6, /* the pauses double: 4.65 s, on a slow engine */
};

struct label_search {
	const char *label;
	char *id; /* owned, NULL: not found */
};

static void match(void *arg, const struct sandbox_info *info)
{
	struct label_search *search = arg;

	if (search->id || strcmp(info->label, search->label) != 0 ||
	    info->state == STATE_GONE)
		return;
	search->id = xstrdup(info->id);
}

/* Deletes what is listed under our label. A list may be late, and a proxy may
 * say 404 to a DELETE: where the provider still describes it, it is there. */
static int remove_listed(struct sandbox_client *client, const char *id,
			 const struct stop *stop, struct error *err)
{
	struct error ignored = { 0 };
	int rc = sandbox_remove(client, id, stop, err);

	if (rc <= 0 || !sandbox_can_get(client) ||
	    sandbox_get(client, id, NULL, stop, &ignored) < 0)
		return rc;
	return error_set(
		err, ERR_REMOTE,
		"%s: deleting it was answered with 404, but it still exists",
		client->provider->name);
}

/* The provider knows no such id: the create may have told a wrong one, so ours
 * is looked for by its label before the row goes. */
static int remove_labelled(struct sandbox_client *client, struct store *store,
			   const char *label, const struct stop *stop,
			   struct error *err)
{
	struct label_search search = { .label = label };
	const struct info_sink sink = { match, &search };
	int rc = 0;

	if (sandbox_can_list(client))
		rc = sandbox_list(client, store_owner(store), &sink, stop, err);
	if (rc == 0 && search.id)
		rc = ledger_created(store, label, search.id, err);
	if (rc == 0 && search.id)
		rc = remove_listed(client, search.id, stop, err);
	free(search.id);
	return rc < 0 ? -1 : 0;
}

int lifecycle_remove(struct sandbox_client *client, struct store *store,
		     const char *id, const char *label, const struct stop *stop,
		     struct error *err)
{
	struct error ignored = { 0 };
	int rc;

	/* A ledger that cannot be written is no reason to leave a machine. */
	if (label)
		(void)ledger_removing(store, label, &ignored);
	rc = sandbox_remove(client, id, stop, err);
	if (rc > 0 && label)
		rc = remove_labelled(client, store, label, stop, err);
	if (!label)
		return rc < 0 ? -1 : 0;
	if (rc == 0)
		return ledger_gone(store, label, err);
	(void)ledger_note(store, label, err->message, &ignored);
	return -1;
}

bool lifecycle_was_cut(const struct error *err)
{
	return err->code == ERR_CANCELLED || err->code == ERR_TIMEOUT ||
	       err->code == ERR_NETWORK || err->code == ERR_PROTOCOL ||
	       err->code == ERR_SYSTEM;
}

/* After a create that told no id: looks for a sandbox with our label. */
static int remove_by_label(struct managed_sandbox *box, const struct error *why,
			   const struct stop *limit, struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	struct label_search search = { .label = box->label };
	const struct info_sink sink = { match, &search };
	int tries = lifecycle_was_cut(why) ? SEARCH_TRIES : 1;
	int rc = 0;

	if (why->nothing_made)
		return ledger_gone(r->store, box->label, err);
	if (!sandbox_can_list(r->client))
		return error_set(err, ERR_REMOTE,
				 "creating it was interrupted");
	for (int i = 0; i < tries && !search.id && rc == 0; i++) {
		if (i && stop_sleep(limit, (int64_t)SEARCH_MS << (i - 1), err))
			return -1;
		rc = sandbox_list(r->client, store_owner(r->store), &sink,
				  limit, err);
	}
	if (search.id)
		rc = lifecycle_remove(r->client, r->store, search.id,
				      box->label, limit, err);
	else if (rc == 0 && lifecycle_was_cut(why))
		rc = error_set(
			err, ERR_REMOTE,
			"creating it was interrupted, and nothing exists yet");
	else if (rc == 0)
		rc = ledger_gone(r->store, box->label, err);
	free(search.id);
	return rc;
}

/* What the vendor's key is called; "" where it has none. */
static void name_keys(const struct sandbox_provider *p, struct buf *names)
{
	const struct setting *row = p->settings;

	for (; row && row->key; row++)
		if (row->flags & SETTING_SECRET && row->env)
			buf_addf(names, "%s%s", names->len ? ", " : "",
				 row->env);
}

static void warn_left(const struct managed_sandbox *box,
		      const struct error *why)
{
	struct buf names = BUF_INIT(256);
	const char *which = box->sandbox.id ? box->sandbox.id : box->label;

	if (why->code == ERR_AUTH)
		name_keys(box->request.client->provider, &names);
	if (why->code == ERR_AUTH)
		lifecycle_warn(box,
			       "Cleanup failed for sandbox %s: %s. It still "
			       "exists: set a valid key%s%.*s%s, then `dcode "
			       "sandbox gc` deletes it.",
			       which, why->message, names.len ? " (" : "",
			       (int)names.len, names.len ? names.ptr : "",
			       names.len ? ")" : "");
	else
		lifecycle_warn(box,
			       "Cleanup failed for sandbox %s: %s. `dcode"
			       " sandbox gc` deletes it.",
			       which, why->message);
	buf_release(&names);
}

int lifecycle_dispose(struct managed_sandbox *box, const struct error *why,
		      struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	struct stop limit = stop_cleanup(LIFECYCLE_CLEANUP_MS);
	struct error ignored = { 0 };
	int rc;

	if (!box->ours)
		return 0;
	box->ours = false;
	if (box->resumed && why->code) {
		lifecycle_put_back(box, why);
		return 0;
	}
	if (box->sandbox.id) {
		rc = lifecycle_remove(r->client, r->store, box->sandbox.id,
				      box->label, &limit, err);
	} else {
		rc = remove_by_label(box, why, &limit, err);
		if (rc < 0)
			(void)ledger_note(r->store, box->label, err->message,
					  &ignored);
	}
	if (rc < 0)
		warn_left(box, err);
	return rc;
}

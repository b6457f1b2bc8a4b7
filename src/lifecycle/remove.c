/* remove.c - deletes or stops a sandbox by its id, with its ledger row. */
/* SPDX-License-Identifier: MIT */

/*
 * Functions that need a provider's client, the store and an id, but no open
 * sandbox. They are used by gc, `dcode sandbox rm, stop, start` and
 * lifecycle.c. Each step is written to the ledger before the vendor is asked
 * and confirmed afterwards: after a crash in between, gc completes it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "lifecycle/lifecycle.h"
#include "session/store.h"

enum {
	/* An engine may still be creating the sandbox of an interrupted
	 * request. The pauses double: 4.65 s in total. */
	SEARCH_MS = 150,
	SEARCH_TRIES = 6,
};

struct label_search {
	const char *label;
	char *id; /* owned, NULL: not found */
};

static void match_label(void *arg, const struct sandbox_info *info)
{
	struct label_search *search = arg;

	if (search->id || strcmp(info->label, search->label) != 0 ||
	    info->state == STATE_GONE)
		return;
	search->id = xstrdup(info->id);
}

/* Deletes a listed sandbox. A list may be outdated, and a proxy may answer a
 * DELETE with 404: if the provider still describes the sandbox, it exists. */
static int remove_listed(struct sandbox_client *client, const char *id,
			 const struct stop *stop, struct error *err)
{
	struct error ignored = { 0 };
	int rc = sandbox_remove(client, id, stop, err);

	if (rc <= 0 || !sandbox_can_get(client) ||
	    sandbox_get(client, id, NULL, stop, &ignored) < 0)
		return rc;
	return error_set(err, ERR_REMOTE,
			 "%s reports that the sandbox does not exist (HTTP "
			 "404), but still finds it",
			 client->provider->name);
}

/* The provider does not know the id. The create may have returned a wrong one,
 * so search for the label before closing the row. */
static int remove_labelled(struct sandbox_client *client, struct store *store,
			   const char *label, const struct stop *stop,
			   struct error *err)
{
	struct label_search search = { .label = label };
	const struct info_sink sink = { match_label, &search };
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

static bool note_objects(void *arg, const struct ledger_row *row)
{
	*(bool *)arg = row->objects;
	return false;
}

/* Deletes the objects that the account has of a sandbox that is gone, and
 * closes its row. */
static int close_row(struct sandbox_client *client, struct store *store,
		     const char *label, const struct stop *stop,
		     struct error *err)
{
	const struct sandbox_ops *ops = client->provider->ops;
	struct error ignored = { 0 };
	bool objects = false;

	(void)ledger_find(store, label, note_objects, &objects, &ignored);
	if (!objects || !ops->clean)
		return ledger_gone(store, label, err);
	if (ops->clean(client, label, stop, err) == 0 &&
	    ledger_set_objects(store, label, false, err) == 0)
		return ledger_gone(store, label, err);
	(void)ledger_note(store, label, err->message, &ignored);
	return -1;
}

int lifecycle_remove(struct sandbox_client *client, struct store *store,
		     const char *id, const char *label, const struct stop *stop,
		     struct error *err)
{
	struct error ignored = { 0 };
	int rc;

	/* Delete the sandbox even if the ledger cannot be written. */
	if (label)
		(void)ledger_removing(store, label, &ignored);
	rc = sandbox_remove(client, id, stop, err);
	if (rc > 0 && label)
		rc = remove_labelled(client, store, label, stop, err);
	if (!label)
		return rc < 0 ? -1 : 0;
	if (rc == 0)
		return close_row(client, store, label, stop, err);
	(void)ledger_note(store, label, err->message, &ignored);
	return -1;
}

bool lifecycle_was_cut(const struct error *err)
{
	return err->code == ERR_CANCELLED || err->code == ERR_TIMEOUT ||
	       err->code == ERR_NETWORK || err->code == ERR_PROTOCOL ||
	       err->code == ERR_SYSTEM;
}

int lifecycle_remove_unnamed(struct sandbox_client *client, struct store *store,
			     const char *label, const struct error *why,
			     const struct stop *stop, struct error *err)
{
	struct label_search search = { .label = label };
	const struct info_sink sink = { match_label, &search };
	const struct sandbox_ops *ops = client->provider->ops;
	int tries = lifecycle_was_cut(why) ? SEARCH_TRIES : 1;
	struct error ignored = { 0 };
	int rc = 0;

	if (why->nothing_made) {
		/* The server refused the sandbox, but may have made other
		 * objects before. */
		if (ops->clean && (why->http_status || why->grpc_status))
			(void)ops->clean(client, label, stop, &ignored);
		(void)ledger_set_objects(store, label, false, &ignored);
		return ledger_gone(store, label, err);
	}
	if (!sandbox_can_list(client))
		return error_set(err, ERR_REMOTE,
				 "creating it was interrupted");
	for (int i = 0; i < tries && !search.id && rc == 0; i++) {
		if (i && stop_sleep(stop, (int64_t)SEARCH_MS << (i - 1), err))
			return -1;
		rc = sandbox_list(client, store_owner(store), &sink, stop, err);
	}
	if (search.id)
		rc = lifecycle_remove(client, store, search.id, label, stop,
				      err);
	else if (rc == 0 && lifecycle_was_cut(why))
		rc = error_set(
			err, ERR_REMOTE,
			"creating it was interrupted, and nothing exists yet");
	else if (rc == 0 && ops->clean &&
		 (rc = ops->clean(client, label, stop, err)) == 0)
		rc = ledger_set_objects(store, label, false, err);
	if (rc == 0 && !search.id)
		rc = ledger_gone(store, label, err);
	free(search.id);
	return rc;
}

static int64_t unix_now(void)
{
	return clock_unix_ms() / 1000;
}

/* Sets the row's state according to the vendor's answer in err. Returns -1. */
static int note_failure(struct store *store, const struct lifecycle_stopping *s,
			struct error *err)
{
	struct error ignored = { 0 };

	if (!s->label)
		return -1;
	if (err->code == ERR_GONE) {
		(void)ledger_gone(store, s->label, &ignored);
		return -1;
	}
	(void)ledger_kept(store, s->label,
			  lifecycle_was_cut(err) ? LEDGER_STOPPING
						 : LEDGER_LIVE,
			  s->ends, &ignored);
	(void)ledger_note(store, s->label, err->message, &ignored);
	return -1;
}

int lifecycle_stop(struct sandbox_client *client, struct store *store,
		   struct lifecycle_stopping *s, const struct stop *stop,
		   struct error *err)
{
	int64_t wanted = s->keep_s > 0 ? s->keep_s : LIFECYCLE_KEEP_S;
	int64_t vendor_s = wanted;
	int rc;

	s->ends = unix_now() + wanted;
	if (s->label && ledger_keep(store, s->label, LEDGER_STOPPING, s->ends,
				    s->thread, err) < 0)
		return -1;
	rc = sandbox_stop(client, s->id, &vendor_s, stop, err);
	if (rc > 0)
		rc = error_set(err, ERR_GONE, "%s: the sandbox has ended",
			       client->provider->name);
	if (rc < 0)
		return note_failure(store, s, err);
	s->vendor_ends = vendor_s > 0;
	if (vendor_s > 0 && vendor_s < wanted)
		s->ends = unix_now() + vendor_s;
	return s->label ? ledger_kept(store, s->label, LEDGER_STOPPED, s->ends,
				      err)
			: 0;
}

struct stopped {
	const char *provider;
	char label[16];
	int64_t ends;
};

static bool note_stopped(void *arg, const struct ledger_row *row)
{
	struct stopped *s = arg;

	if ((row->state == LEDGER_STOPPED || row->state == LEDGER_STOPPING) &&
	    !row->owned_by_live && !strcmp(row->provider, s->provider)) {
		snprintf(s->label, sizeof(s->label), "%s", row->label);
		s->ends = row->ends;
	}
	return false;
}

void lifecycle_mark_started(const struct sandbox_client *client,
			    struct store *store, const char *id)
{
	struct stopped s = { .provider = client->provider->name };
	struct error ignored = { 0 };

	if (client->provider->flags & SANDBOX_BOUND ||
	    ledger_find(store, id, note_stopped, &s, &ignored) < 0 ||
	    !s.label[0])
		return;
	(void)ledger_kept(store, s.label, LEDGER_LIVE, s.ends, &ignored);
}

void lifecycle_restore_start(struct sandbox *sb, struct store *store)
{
	struct error ignored = { 0 };
	char *dir = NULL;

	if (store &&
	    ledger_start_dir(store, sb->client->provider->name, sb->id, &dir,
			     &ignored) == 0 &&
	    dir)
		(void)sandbox_move(sb, str_of(dir));
	free(dir);
}

const char *lifecycle_endpoint(const struct sandbox_client *client)
{
	return client->endpoint ? client->endpoint : "";
}

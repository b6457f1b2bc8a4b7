/* keep.c - sandboxes that outlive their dcode: kept, stopped, taken over. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "lifecycle/lifecycle_impl.h"
#include "sandbox/background.h"
#include "session/session.h"

enum { SHOWN_MS = 300 }; /* a wait that is longer is named */

static int64_t unix_now(void)
{
	return clock_unix_ms() / 1000;
}

/* What became of the request is in err; the row says it as it is. */
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

static const char *shown_time(int64_t seconds, char room[20])
{
	time_t when = (time_t)seconds;
	struct tm parts;

	if (!localtime_r(&when, &parts) ||
	    !strftime(room, 20, "%Y-%m-%d %H:%M", &parts))
		snprintf(room, 20, "-");
	return room;
}

/* The last lines: what was kept, until when, and what to type. */
static void say_kept(const struct managed_sandbox *box, bool stopped,
		     const struct lifecycle_stopping *s)
{
	char room[64];
	char until[20];
	char id[IDS_SHOWN];

	lifecycle_say(box, "✓ %s sandbox %s: %s, until %s%s",
		      lifecycle_title(box, room),
		      stopped ? "stopped, its files are kept" : "kept running",
		      ids_shown(s->id, id), shown_time(s->ends, until),
		      !stopped && s->vendor_ends &&
				      !sandbox_can_extend(box->request.client)
			      ? " at the latest"
			      : "");
	if (!s->vendor_ends)
		lifecycle_say(box,
			      "  %s has no expiry of its own: `dcode sandbox "
			      "gc` deletes it after that date",
			      lifecycle_title(box, room));
	if (s->thread)
		lifecycle_say(box, "  continue:  dcode -r %s", s->thread);
	lifecycle_say(box, "  delete it: dcode sandbox rm %s",
		      ids_shown(s->id, id));
}

struct end {
	int64_t ends;
};

static void note_end(void *arg, const struct sandbox_info *info)
{
	((struct end *)arg)->ends = info->ends;
}

static bool note_row_end(void *arg, const struct ledger_row *row)
{
	((struct end *)arg)->ends = row->ends;
	return false;
}

/* As far as the vendor lets it run on without a dcode, in Unix seconds; ends:
 * when it does so far. */
static int64_t extend_far(struct managed_sandbox *box, int64_t ends,
			  int64_t wanted, const struct stop *stop)
{
	const struct lifecycle_request *r = &box->request;
	struct end told = { 0 };
	const struct info_sink sink = { note_end, &told };
	struct error ignored = { 0 };
	int64_t now = unix_now();

	if (sandbox_can_extend(r->client)) {
		if (sandbox_extend(&box->sandbox, wanted, stop, &ignored) == 0)
			ends = now + wanted;
		else if (sandbox_extend(&box->sandbox, box->lifetime_s, stop,
					&ignored) == 0)
			ends = now + box->lifetime_s;
	}
	if (sandbox_can_get(r->client) &&
	    sandbox_get(r->client, box->sandbox.id, &sink, stop, &ignored) ==
		    0 &&
	    told.ends > now && told.ends < ends)
		ends = told.ends;
	return ends;
}

static int64_t wanted_time(const struct managed_sandbox *box)
{
	const struct lifecycle_request *r = &box->request;
	int64_t wanted = r->keep_s > 0 ? r->keep_s : LIFECYCLE_KEEP_S;
	unsigned flags = r->client->provider->flags;

	if (flags & SANDBOX_STAYS)
		return wanted;
	if (flags & SANDBOX_RENEWS)
		wanted = box->lifetime_s;
	return wanted < LIFECYCLE_KEEP_RUNNING_S ? wanted
						 : LIFECYCLE_KEEP_RUNNING_S;
}

static int keep_running(struct managed_sandbox *box, const struct stop *stop,
			struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	bool stays = r->client->provider->flags & SANDBOX_STAYS;
	int64_t wanted = wanted_time(box);
	struct lifecycle_stopping s = { .id = box->sandbox.id,
					.label = box->label,
					.thread = r->thread,
					.ends = unix_now() + wanted,
					.vendor_ends = !stays };
	struct end row = { 0 };

	if (ledger_find(r->store, box->label, note_row_end, &row, err) < 0 ||
	    ledger_keep(r->store, box->label, LEDGER_LIVE, s.ends, r->thread,
			err) < 0)
		return -1;
	if (!stays)
		s.ends = extend_far(box, row.ends, wanted, stop);
	if (ledger_kept(r->store, box->label, LEDGER_LIVE, s.ends, err) < 0)
		return -1;
	say_kept(box, false, &s);
	return 0;
}

static int stop_and_keep(struct managed_sandbox *box, const struct stop *stop,
			 struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	struct lifecycle_stopping s = { .id = box->sandbox.id,
					.label = box->label,
					.thread = r->thread,
					.keep_s = r->keep_s };
	char room[64];
	char id[IDS_SHOWN];

	lifecycle_say(box, "Stopping %s sandbox %s...",
		      lifecycle_title(box, room), ids_shown(s.id, id));
	if (lifecycle_stop(r->client, r->store, &s, stop, err) < 0)
		return -1;
	say_kept(box, true, &s);
	return 0;
}

int lifecycle_leave(struct managed_sandbox *box, struct error *err)
{
	const struct sandbox_client *client = box->request.client;
	struct stop limit = stop_cleanup(LIFECYCLE_STOP_MS);
	bool stops = box->request.on_exit == LIFECYCLE_STOP ||
		     client->provider->flags & SANDBOX_BOUND;
	char id[IDS_SHOWN];
	int rc;

	box->ours = false;
	if (stops && !sandbox_can_stop(client)) {
		lifecycle_warn(box,
			       "%s cannot stop a sandbox and keep its files: "
			       "it is kept running",
			       client->provider->name);
		stops = false;
	}
	rc = stops ? stop_and_keep(box, &limit, err)
		   : keep_running(box, &limit, err);
	if (rc < 0 && err->code == ERR_GONE)
		lifecycle_warn(box, "Nothing is kept: %s", err->message);
	else if (rc < 0)
		lifecycle_warn(box,
			       "Keeping sandbox %s failed: %s. `dcode sandbox "
			       "list` shows its state.",
			       ids_shown(box->sandbox.id, id), err->message);
	return rc;
}

struct own { /* of a row, copied */
	char *id, *provider, *endpoint;
	bool kept;
	int64_t user; /* pid of a dcode that uses it by --sandbox-id, or 0 */
};

static bool copy_own(void *arg, const struct ledger_row *row)
{
	struct own *own = arg;

	own->id = xstrdup(row->id);
	own->provider = xstrdup(row->provider);
	own->endpoint = xstrdup(row->endpoint);
	own->kept = row->kept;
	return false;
}

static void note_user(void *arg, const struct ledger_attached *row)
{
	struct own *own = arg;

	if (!strcmp(row->provider, own->provider) && !strcmp(row->id, own->id))
		own->user = row->user;
}

static int check_own(const struct own *own, const struct sandbox_client *client,
		     const char *label, struct error *err)
{
	if (strcmp(own->provider, client->provider->name) != 0) {
		error_set(err, ERR_USAGE, "sandbox %s belongs to %s, not to %s",
			  label, own->provider, client->provider->name);
		return error_hint(err, "Use --sandbox %s.", own->provider);
	}
	if (strcmp(own->endpoint, lifecycle_endpoint(client)) != 0)
		return error_set(
			err, ERR_USAGE,
			"sandbox %s belongs to %s: configure %s for that first",
			label, own->endpoint, own->provider);
	if (!own->user)
		return 0;
	error_set(err, ERR_BUSY,
		  "sandbox %s is in use by the dcode with process id %lld",
		  label, (long long)own->user);
	return error_hint(err, "Quit that dcode first.");
}

static int find_own(struct managed_sandbox *box, struct own *own,
		    struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	struct error ignored = { 0 };

	if (ledger_find(r->store, r->resume, copy_own, own, err) < 0) {
		if (err->code == ERR_NOT_FOUND)
			err->code = ERR_GONE;
		return -1;
	}
	if (own->id[0])
		(void)ledger_find_attached(r->store, own->id, note_user, own,
					   &ignored);
	return check_own(own, r->client, r->resume, err);
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

static int attach_own(struct managed_sandbox *box, const char *id,
		      const struct stop *stop, struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	bool stopped =
		box->before == LEDGER_STOPPED || box->before == LEDGER_STOPPING;
	struct error ignored = { 0 };
	char room[64];
	char shown[IDS_SHOWN];

	lifecycle_say(box,
		      stopped ? "Starting %s sandbox %s again..."
			      : "Connecting to %s sandbox %s...",
		      lifecycle_title(box, room), ids_shown(id, shown));
	if (sandbox_attach(&box->sandbox, r->client, id, stop, err) == 0) {
		lifecycle_restore_start(&box->sandbox, r->store);
		lifecycle_say(box, "✓ %s sandbox ready: %s",
			      lifecycle_title(box, room),
			      ids_shown(box->sandbox.id, shown));
		return 0;
	}
	if (err->code == ERR_NOT_FOUND)
		err->code = ERR_GONE;
	if (err->code == ERR_GONE)
		(void)ledger_gone(r->store, box->label, &ignored);
	return -1;
}

int lifecycle_resume(struct managed_sandbox *box, int64_t lifetime_s,
		     const struct stop *stop, struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	struct own own = { 0 };
	int rc = find_own(box, &own, err);

	if (rc == 0)
		rc = ledger_claim(r->store, r->resume, unix_now() + lifetime_s,
				  &box->before, err);
	if (rc == 0) {
		snprintf(box->label, sizeof(box->label), "%s", r->resume);
		box->ours = box->resumed = true;
		box->was_kept = own.kept;
		rc = attach_own(box, own.id, stop, err);
	}
	free(own.id);
	free(own.provider);
	free(own.endpoint);
	return rc;
}

void lifecycle_put_back(struct managed_sandbox *box, const struct error *why)
{
	struct store *store = box->request.store;
	bool runs = box->sandbox.id || lifecycle_was_cut(why);
	struct end row = { 0 };
	struct error ignored = { 0 };

	box->ours = false;
	if (why->code == ERR_GONE || !box->was_kept ||
	    ledger_find(store, box->label, note_row_end, &row, &ignored) < 0)
		return;
	(void)ledger_kept(store, box->label, runs ? LEDGER_LIVE : box->before,
			  row.ends, &ignored);
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

void lifecycle_end_background(struct managed_sandbox *box, bool stays)
{
	struct error why = { 0 };

	if (background_end(&box->sandbox.background,
			   stays ? LIFECYCLE_STOP_MS : 0, &why) < 0 &&
	    (stays || why.code != ERR_CANCELLED))
		lifecycle_warn(box, "%s", why.message);
}

void lifecycle_await_kills(struct managed_sandbox *box)
{
	struct stop soon = stop_cleanup(SHOWN_MS);
	struct stop ever = stop_on(NULL);
	struct error ignored = { 0 };

	if (sandbox_await_kills(&box->sandbox, &soon, &ignored) == 0)
		return;
	lifecycle_say(box, "Waiting for the interrupted command to end...");
	(void)sandbox_await_kills(&box->sandbox, &ever, &ignored);
}

void lifecycle_save(struct managed_sandbox *box)
{
	const struct lifecycle_request *r = &box->request;
	struct stop limit = stop_cleanup(LIFECYCLE_SAVE_MS);

	if (box->ours && box->sandbox.id && r->before_remove)
		r->before_remove(r->before_remove_arg, &box->sandbox, &limit);
}

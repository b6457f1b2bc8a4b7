/* lifecycle.c - a sandbox from intent to confirmed end, whatever happens. */
/* SPDX-License-Identifier: MIT */
#include "lifecycle/lifecycle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/str.h"
#include "lifecycle/lifecycle_impl.h"
#include "sandbox/supervise/supervise.h"
#include "session/session.h"

enum {
	LIFETIME_MAX_S = 366 * 86400,
};

/* Gives tell the masked line. */
__attribute__((format(printf, 3, 0))) static void
say(const struct managed_sandbox *box,
    void (*tell)(void *arg, const char *line), const char *fmt, va_list ap)
{
	struct buf line = BUF_INIT(1 << 20);
	struct buf masked = BUF_INIT(1 << 20);
	va_list again;
	char *room;
	int len;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	room = len < 0 ? NULL : buf_room(&line, (size_t)len + 1);
	if (room) {
		(void)vsnprintf(room, (size_t)len + 1, fmt, ap);
		buf_added(&line, (size_t)len);
		mask_text(box->request.mask, buf_str(&line), &masked);
		tell(box->request.ui.arg, masked.ptr ? masked.ptr : "");
	}
	buf_release(&line);
	buf_release(&masked);
}

void lifecycle_say(const struct managed_sandbox *box, const char *fmt, ...)
{
	va_list ap;

	if (!box->request.ui.progress)
		return;
	va_start(ap, fmt);
	say(box, box->request.ui.progress, fmt, ap);
	va_end(ap);
}

void lifecycle_warn(const struct managed_sandbox *box, const char *fmt, ...)
{
	va_list ap;

	if (!box->request.ui.warn)
		return;
	va_start(ap, fmt);
	say(box, box->request.ui.warn, fmt, ap);
	va_end(ap);
}

const char *lifecycle_title(const struct managed_sandbox *box, char room[64])
{
	snprintf(room, 64, "%s", sandbox_client_name(box->request.client));
	if (room[0] >= 'a' && room[0] <= 'z')
		room[0] = (char)(room[0] - 'a' + 'A');
	return room;
}

const char *lifecycle_endpoint(const struct sandbox_client *client)
{
	return client->endpoint ? client->endpoint : "";
}

static void forward(void *arg, const char *line)
{
	lifecycle_say(arg, "%s", line);
}

/* The request's, else the configured one, else the provider's. */
static int choose_lifetime(const struct lifecycle_request *r, int64_t *seconds,
			   struct error *err)
{
	const struct sandbox_provider *p = r->client->provider;
	const struct setting *row = r->client->settings ? p->settings : NULL;

	*seconds = r->lifetime_s;
	for (; *seconds <= 0 && row && row->key; row++)
		if (!strcmp(row->key, "lifetime") &&
		    settings_int(r->client->settings, p->name, row->key,
				 seconds, err) < 0)
			return -1;
	if (*seconds <= 0)
		*seconds = p->lifetime_s;
	if (*seconds > LIFETIME_MAX_S)
		*seconds = LIFETIME_MAX_S;
	return 0;
}

static int create(struct managed_sandbox *box, int64_t lifetime_s,
		  const struct stop *stop, struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	const struct sandbox_provider *p = r->client->provider;
	struct sandbox_spec spec = {
		.label = box->label,
		.owner = store_owner(r->store),
		.snapshot = r->snapshot,
		.network = r->network,
		.lifetime_s = lifetime_s,
		.progress = forward,
		.arg = box,
	};
	struct error failure = { 0 };
	char room[64];
	char id[IDS_SHOWN];

	if (stop_check(stop, err) < 0)
		return -1;
	if (ledger_intend(r->store, p->name, lifecycle_endpoint(r->client),
			  spec.lifetime_s, box->label, err) < 0)
		return -1;
	box->ours = true;
	lifecycle_say(box, "Starting %s sandbox...",
		      lifecycle_title(box, room));
	if (sandbox_create(&box->sandbox, r->client, &spec, stop, err) < 0) {
		if (box->sandbox.id)
			(void)ledger_created(r->store, box->label,
					     box->sandbox.id, &failure);
		return -1;
	}
	if (r->cancels_at_once)
		box->sandbox.doomed_by = stop->cancel;
	if (ledger_created(r->store, box->label, box->sandbox.id, err) < 0)
		return -1;
	lifecycle_say(box, "✓ %s sandbox ready: %s", lifecycle_title(box, room),
		      ids_shown(box->sandbox.id, id));
	return 0;
}

static int attach(struct managed_sandbox *box, const struct stop *stop,
		  struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	struct error ignored = { 0 };
	char room[64];
	char id[IDS_SHOWN];

	lifecycle_say(box, "Connecting to %s sandbox %s...",
		      lifecycle_title(box, room), r->attach_id);
	if (r->store)
		lifecycle_mark_started(r->client, r->store, r->attach_id);
	if (sandbox_attach(&box->sandbox, r->client, r->attach_id, stop, err) <
	    0)
		return -1;
	lifecycle_restore_start(&box->sandbox, r->store);
	/* For the commands that name it later: the work goes on without. */
	if (r->store &&
	    ledger_attached(r->store, r->client->provider->name,
			    lifecycle_endpoint(r->client), box->sandbox.id,
			    r->attach_id, &ignored) < 0)
		lifecycle_say(box, "cannot record this sandbox: %s",
			      ignored.message);
	lifecycle_say(box, "✓ %s sandbox ready: %s", lifecycle_title(box, room),
		      ids_shown(box->sandbox.id, id));
	return 0;
}

static int check_keeping(const struct lifecycle_request *r, struct error *err)
{
	const struct sandbox_provider *p = r->client->provider;

	if (!(p->flags & SANDBOX_ATTACH))
		return error_set(err, ERR_USAGE,
				 "a sandbox of %s cannot be kept, because "
				 "dcode cannot attach to it again",
				 p->name);
	/* What a program can is known once it has been started. */
	if (r->on_exit != LIFECYCLE_STOP || sandbox_needs_probe(r->client) ||
	    sandbox_can_stop(r->client))
		return 0;
	error_set(err, ERR_USAGE, "%s cannot stop a sandbox and keep its files",
		  p->name);
	return error_hint(err, "Keep it running: --on-exit keep");
}

/* Errors that can be found without calling the vendor. */
static int check(const struct lifecycle_request *r, struct error *err)
{
	const struct sandbox_provider *p = r->client->provider;

	if (r->attach_id && r->snapshot)
		return error_set(err, ERR_USAGE,
				 "snapshot_name cannot be combined with"
				 " sandbox_id; snapshots only apply when"
				 " creating a fresh sandbox");
	if (r->attach_id && !(p->flags & SANDBOX_ATTACH))
		return error_set(err, ERR_USAGE,
				 "--sandbox-id is not supported by provider"
				 " '%s'",
				 p->name);
	if (r->snapshot && !(p->flags & SANDBOX_SNAPSHOT))
		return error_set(err, ERR_USAGE,
				 "--sandbox-snapshot-name is not supported by"
				 " provider '%s'",
				 p->name);
	if (r->on_exit != LIFECYCLE_DELETE && check_keeping(r, err) < 0)
		return -1;
	if (r->setup && (p->flags & SANDBOX_UNISOLATED))
		return error_set(err, ERR_USAGE,
				 "--sandbox-setup requires a --sandbox"
				 " provider");
	return 0;
}

static int begin(struct managed_sandbox *box, int64_t lifetime_s,
		 const struct stop *stop, struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	struct sandbox_spec none = { .label = "", .owner = "" };

	if (r->client->provider->flags & SANDBOX_UNISOLATED)
		return sandbox_create(&box->sandbox, r->client, &none, stop,
				      err);
	if (r->resume)
		return lifecycle_resume(box, lifetime_s, stop, err);
	return r->attach_id ? attach(box, stop, err)
			    : create(box, lifetime_s, stop, err);
}

static void warn_line(void *arg, const char *line)
{
	lifecycle_warn(arg, "%s", line);
}

void lifecycle_abandon(struct managed_sandbox *box, bool saves,
		       const struct error *why)
{
	bool deletes = box->ours && !box->resumed && box->sandbox.id;
	struct error ignored = { 0 };
	char room[64];
	char id[IDS_SHOWN];

	lifecycle_keepalive_stop(box);
	lifecycle_end_background(box, false);
	if (!box->ours)
		supervise_leave(&box->sandbox);
	else if (saves && !box->resumed)
		lifecycle_save(box);
	if (deletes)
		lifecycle_say(box, "Terminating %s sandbox %s...",
			      lifecycle_title(box, room),
			      ids_shown(box->sandbox.id, id));
	/* It warns where it fails. */
	if (lifecycle_dispose(box, why, &ignored) == 0 && deletes)
		lifecycle_say(box, "✓ %s sandbox terminated",
			      lifecycle_title(box, room));
	sandbox_release(&box->sandbox);
}

int lifecycle_open(struct managed_sandbox *box,
		   const struct lifecycle_request *request,
		   const struct stop *stop, struct error *err)
{
	struct setup_script script;
	struct error failure = { 0 };
	int64_t lifetime_s = 0;
	int rc;

	setup_script_init(&script);
	*box = (struct managed_sandbox){ .request = *request };
	rc = check(request, &failure);
	if (rc == 0 && request->setup)
		rc = lifecycle_setup_read(box, &script, &failure);
	if (rc == 0)
		rc = choose_lifetime(request, &lifetime_s, &failure);
	if (rc == 0 && request->begins)
		request->begins(request->begins_arg);
	if (rc == 0)
		rc = begin(box, lifetime_s, stop, &failure);
	box->lifetime_s = lifetime_s;
	if (rc == 0) {
		lifecycle_keepalive_start(box, lifetime_s);
		sandbox_check(&box->sandbox, false, warn_line, box);
	}
	if (rc == 0 && request->fill)
		rc = request->fill(request->fill_arg, &box->sandbox, stop,
				   &failure);
	if (rc == 0 && request->setup)
		rc = lifecycle_setup_run(box, &script, stop, &failure);
	setup_script_release(&script);
	box->sandbox.doomed_by = NULL;
	if (rc == 0)
		return 0;
	*err = failure;
	box->none_made = !box->sandbox.id && !box->resumed &&
			 (!box->ours || failure.nothing_made ||
			  !lifecycle_was_cut(&failure));
	if (request->cancels_at_once && box->request.store && stop->cancel &&
	    cancel_triggered(stop->cancel) &&
	    lifecycle_ending_start(box, &failure))
		return -1;
	lifecycle_abandon(box, true, &failure);
	*box = (struct managed_sandbox){ .none_made = box->none_made };
	return -1;
}

/* What its commands leave behind is not deleted with it: nothing isolates the
 * sandbox from a machine that stays, as far as its provider says. Where nothing
 * outlives a request, no process does. */
static bool shares_machine(const struct managed_sandbox *box)
{
	const struct sandbox_client *client = box->request.client;

	return !(client->provider->flags & SANDBOX_UNISOLATED) &&
	       !(client->lacks & SANDBOX_LEAVES) &&
	       sandbox_isolation(client) <= ISOLATION_NONE;
}

int lifecycle_close(struct managed_sandbox *box, struct error *err)
{
	struct error none = { 0 };
	char notice[SANDBOX_NOTICE] = "";
	char room[64];
	char id[IDS_SHOWN];
	bool stays;
	int rc;

	if (!box->request.client)
		return 0;
	if (box->ending) {
		lifecycle_ending_finish(box);
		return 0;
	}
	stays = !box->ours ||
		(box->request.on_exit != LIFECYCLE_DELETE && box->sandbox.id);
	lifecycle_end_jobs(box);
	lifecycle_keepalive_stop(box);
	lifecycle_end_background(box, stays);
	lifecycle_await_kills(box);
	if (stays)
		sandbox_settle(&box->sandbox, notice);
	if (*notice)
		lifecycle_warn(box, "%s", notice);
	if (!stays)
		lifecycle_save(box);
	sandbox_check(&box->sandbox, true, warn_line, box);
	if (!stays)
		lifecycle_say(box, "Terminating %s sandbox %s...",
			      lifecycle_title(box, room),
			      ids_shown(box->sandbox.id, id));
	if (stays || shares_machine(box))
		supervise_leave(&box->sandbox);
	rc = stays && box->ours ? lifecycle_leave(box, err)
				: lifecycle_dispose(box, &none, err);
	if (!stays && rc == 0)
		lifecycle_say(box, "✓ %s sandbox terminated",
			      lifecycle_title(box, room));
	sandbox_release(&box->sandbox);
	*box = (struct managed_sandbox){ 0 };
	return rc;
}

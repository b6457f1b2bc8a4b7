/* lifecycle.c - a sandbox from intent to confirmed end, whatever fails. */
/* SPDX-License-Identifier: MIT */
/*
 * A managed sandbox is one that this process opened: created, taken over from
 * its thread, or attached to by id. lifecycle_open() writes the intent into the
 * ledger, creates the sandbox, fills it and runs the setup script. After any
 * failure what was created is deleted, or the ledger has a row for gc.
 * lifecycle_close() ends running jobs, then keeps, stops or deletes the
 * sandbox. If the user interrupts a create, the deletion runs on its own
 * thread, so that the prompt returns at once. Begin reading at
 * lifecycle_open().
 *
 * setup.c runs the setup script, remove.c deletes and stops a sandbox by its
 * id, gc.c deletes what dead processes left, keepalive.c extends a sandbox's
 * lifetime.
 */
#include "lifecycle/lifecycle.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "base/thread.h"
#include "sandbox/jobs/jobs.h"
#include "sandbox/reach.h"
#include "sandbox/setup/setup.h"
#include "sandbox/supervise/supervise.h"
#include "session/store.h"

/* True if lifecycle_close() will stop the sandbox and keep its files. */
static bool is_stopped(const struct managed_sandbox *box)
{
	return box->ours && box->request.on_exit == LIFECYCLE_STOP &&
	       sandbox_can_stop(box->request.client);
}

/* Tells the user what happens to one running background job when the sandbox is
 * closed. */
static void report_job(void *arg, const struct job_state *job)
{
	const struct managed_sandbox *box = arg;
	bool stays = !box->ours || (box->request.on_exit != LIFECYCLE_DELETE &&
				    box->sandbox.id);

	if (!job->running)
		return;
	if (!job->stays || !stays)
		lifecycle_warn(box,
			       "ending job %u, which is still running: %.200s",
			       job->number, job->command);
	else if (is_stopped(box) &&
		 !(box->request.client->provider->flags & SANDBOX_FREEZES))
		lifecycle_warn(box,
			       "job %u is still running and ends when its "
			       "sandbox is stopped: %.200s",
			       job->number, job->command);
	else if (is_stopped(box))
		lifecycle_say(box,
			      "job %u is paused with its sandbox and continues "
			      "when that is started: %.200s",
			      job->number, job->command);
	else
		lifecycle_say(box,
			      "job %u keeps running in the sandbox: %.200s",
			      job->number, job->command);
}

/* True if processes can outlive the sandbox because it is a directory on a
 * machine that continues to exist. If the client lacks SANDBOX_LEAVES, no
 * process outlives the request that started it. */
static bool shares_machine(const struct managed_sandbox *box)
{
	const struct sandbox_client *client = box->request.client;

	return !(client->provider->flags & SANDBOX_UNISOLATED) &&
	       !(client->lacks & SANDBOX_LEAVES) &&
	       sandbox_isolation(client) <= ISOLATION_NONE;
}

/* Warns that a deletion failed. If the key was refused, the hint is different:
 * gc would fail too. */
static void warn_left(const struct managed_sandbox *box,
		      const struct error *why)
{
	const struct setting *row = box->request.client->provider->settings;
	const char *which = box->sandbox.id ? box->sandbox.id : box->label;
	/* environment variables that hold the vendor's key */
	struct buf names = BUF_INIT(256);

	for (; row && row->key; row++)
		if (row->flags & SETTING_SECRET && row->env)
			buf_addf(&names, "%s%s", names.len ? ", " : "",
				 row->env);
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

struct kept_until { /* Unix seconds, from the ledger or the vendor */
	int64_t ends;
};

static bool note_row_end(void *arg, const struct ledger_row *row)
{
	((struct kept_until *)arg)->ends = row->ends;
	return false;
}

/* If a sandbox was taken over but could not be used, restores its ledger row,
 * so that the next attempt finds it. */
static void restore_row(struct managed_sandbox *box, const struct error *why)
{
	struct store *store = box->request.store;
	bool runs = box->sandbox.id || lifecycle_was_cut(why);
	struct kept_until row = { 0 };
	struct error ignored = { 0 };

	box->ours = false;
	if (why->code == ERR_GONE || !box->was_kept ||
	    ledger_find(store, box->label, note_row_end, &row, &ignored) < 0)
		return;
	(void)ledger_kept(store, box->label, runs ? LEDGER_LIVE : box->before,
			  row.ends, &ignored);
}

/* Deletes a sandbox that this process created, or restores one that was taken
 * over; warns if that fails. why: the error that ended its use; code 0:
 * none. */
static int dispose_sandbox(struct managed_sandbox *box, const struct error *why,
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
		restore_row(box, why);
		return 0;
	}
	if (box->sandbox.id) {
		rc = lifecycle_remove(r->client, r->store, box->sandbox.id,
				      box->label, &limit, err);
	} else {
		rc = lifecycle_remove_unnamed(r->client, r->store, box->label,
					      why, &limit, err);
		if (rc < 0)
			(void)ledger_note(r->store, box->label, err->message,
					  &ignored);
	}
	if (rc < 0)
		warn_left(box, err);
	return rc;
}

enum {
	/* a deletion that takes longer continues in the background */
	PROMPT_MS = 10,
	SHOWN_MS = 300,      /* a wait longer than this is announced */
	LINES_MAX = 1 << 20, /* bytes of buffered messages */
};

struct lifecycle_ending {
	/* Used only by the thread until `ended` is triggered. Store, mask and
	 * screen must not be used by two threads, so the caller's are saved
	 * here meanwhile. */
	struct managed_sandbox *box;
	struct error why;
	struct store *store;   /* the thread's own connection; owned */
	struct store *callers; /* the caller's store; borrowed */
	struct mask *mask;
	struct lifecycle_ui ui;
	/* messages not printed yet: 'p' or 'w', text, NUL */
	struct buf lines;
	struct cancel ended; /* triggered when the thread is done */
	pthread_t thread;
};

static void add_line(struct lifecycle_ending *e, char kind, const char *line)
{
	buf_addc(&e->lines, kind);
	buf_add(&e->lines, line, strlen(line) + 1);
}

static void store_progress(void *arg, const char *line)
{
	add_line(arg, 'p', line);
}

static void store_warning(void *arg, const char *line)
{
	add_line(arg, 'w', line);
}

/* Waits for background uploads if the sandbox continues to exist; otherwise
 * cancels them. */
static void end_background(struct managed_sandbox *box, bool stays)
{
	struct error why = { 0 };

	if (background_end(&box->sandbox.background,
			   stays ? LIFECYCLE_STOP_MS : 0, &why) < 0 &&
	    (stays || why.code != ERR_CANCELLED))
		lifecycle_warn(box, "%s", why.message);
}

/* Lets the caller fetch work from a sandbox that is about to be deleted. */
static void save_work(struct managed_sandbox *box)
{
	const struct lifecycle_request *r = &box->request;
	struct stop limit = stop_cleanup(LIFECYCLE_SAVE_MS);

	if (box->ours && box->sandbox.id && r->before_remove)
		r->before_remove(r->before_remove_arg, &box->sandbox, &limit);
}

/* Returns the provider's name with a capital letter: "Docker". */
static const char *title_of(const struct managed_sandbox *box, char room[64])
{
	snprintf(room, 64, "%s", sandbox_client_name(box->request.client));
	if (room[0] >= 'a' && room[0] <= 'z')
		room[0] = (char)(room[0] - 'a' + 'A');
	return room;
}

/* After a failed opening: deletes what it created, or leaves the row to gc.
 * saves: call request.before_remove first. */
static void abandon_opening(struct managed_sandbox *box, bool saves,
			    const struct error *why)
{
	bool deletes = box->ours && !box->resumed && box->sandbox.id;
	struct error ignored = { 0 };
	char room[64];
	char id[IDS_SHOWN];

	lifecycle_keepalive_stop(box);
	end_background(box, false);
	if (!box->ours)
		supervise_leave(&box->sandbox);
	else if (saves && !box->resumed)
		save_work(box);
	if (deletes)
		lifecycle_say(box, "Terminating %s sandbox %s...",
			      title_of(box, room),
			      ids_shown(box->sandbox.id, id));
	/* It warns if it fails. */
	if (dispose_sandbox(box, why, &ignored) == 0 && deletes)
		lifecycle_say(box, "✓ %s sandbox terminated",
			      title_of(box, room));
	sandbox_release(&box->sandbox);
}

static void *delete_on_thread(void *arg)
{
	struct lifecycle_ending *e = arg;
	struct error ignored = { 0 };

	/* A failure is ignored: each later use of the store tries again. */
	(void)store_ready(e->store, &ignored);
	abandon_opening(e->box, false, &e->why);
	cancel_trigger(&e->ended);
	return NULL;
}

/* Returns store, mask and ui to the caller's thread. */
static void restore_caller(struct lifecycle_ending *e)
{
	e->box->request.store = e->callers;
	e->box->request.mask = e->mask;
	e->box->request.ui = e->ui;
}

static void release_ending(struct lifecycle_ending *e)
{
	buf_release(&e->lines);
	cancel_release(&e->ended);
	store_close(e->store);
	free(e);
}

int lifecycle_await_ending(const struct managed_sandbox *box,
			   const struct stop *stop, struct error *err)
{
	const struct lifecycle_ending *e = box->ending;
	struct managed_sandbox callers = { .ending = NULL };
	struct stop soon = stop_within(stop, SHOWN_MS);
	char room[64];

	if (!e || cancel_await(&e->ended, &soon, err) == 0)
		return 0;
	if (stop_check(stop, err) < 0)
		return -1;
	callers.request =
		(struct lifecycle_request){ .ui = e->ui, .mask = e->mask };
	lifecycle_say(&callers,
		      "Waiting for the interrupted %s sandbox to be deleted...",
		      title_of(box, room));
	return cancel_await(&e->ended, stop, err);
}

/* Waits for the thread, prints its messages, and zeroes box. */
static void finish_ending(struct managed_sandbox *box)
{
	struct lifecycle_ending *e = box->ending;
	struct stop ever = stop_on(NULL);
	struct error ignored = { 0 };
	size_t at = 0;

	if (!e)
		return;
	(void)lifecycle_await_ending(box, &ever, &ignored);
	pthread_join(e->thread, NULL);
	restore_caller(e);
	box->ending = NULL;
	while (at < e->lines.len) {
		const char *line = e->lines.ptr + at + 1;

		if (e->lines.ptr[at] == 'w')
			lifecycle_warn(box, "%s", line);
		else
			lifecycle_say(box, "%s", line);
		at += strlen(line) + 2;
	}
	release_ending(e);
	*box = (struct managed_sandbox){ .none_made = box->none_made };
}

/* Calls abandon_opening() on a thread, without saving: no agent has worked in
 * the sandbox yet. Messages are buffered for finish_ending(), which the
 * caller's thread calls. False: no thread could be started, and nothing was
 * done. */
static bool start_ending(struct managed_sandbox *box, const struct error *why)
{
	struct lifecycle_ending *e = xcalloc(1, sizeof(*e));
	struct lifecycle_request *r = &box->request;
	struct stop prompt = stop_cleanup(PROMPT_MS);
	struct error ignored = { 0 };

	*e = (struct lifecycle_ending){ .box = box,
					.why = *why,
					.store = store_again(r->store),
					.callers = r->store,
					.mask = r->mask,
					.ui = r->ui,
					.lines = BUF_INIT(LINES_MAX),
					.ended = { { -1, -1 } } };
	r->store = e->store;
	r->mask = NULL;
	r->resume = NULL; /* the caller may free it before the thread ends */
	r->ui = (struct lifecycle_ui){ .progress = store_progress,
				       .warn = store_warning,
				       .arg = e };
	if (cancel_init(&e->ended, &ignored) < 0 ||
	    thread_start(&e->thread, delete_on_thread, e, &ignored) < 0) {
		restore_caller(e);
		release_ending(e);
		return false;
	}
	box->ending = e;
	if (cancel_await(&e->ended, &prompt, &ignored) == 0)
		finish_ending(box);
	return true;
}

enum { LIFETIME_MAX_S = 366 * 86400 };

static void forward_progress(void *arg, const char *line)
{
	lifecycle_say(arg, "%s", line);
}

/* Returns the request's lifetime, else the configured one, else the provider's
 * default. */
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

struct rivals { /* looks for another sandbox of the scope that is in use */
	const struct managed_sandbox *box;
	bool found;
};

static bool note_rival(void *arg, const struct ledger_row *row)
{
	struct rivals *r = arg;
	const struct lifecycle_request *q = &r->box->request;

	r->found |= row->owned_by_live && strcmp(row->label, r->box->label) &&
		    !strcmp(row->scope, q->scope) &&
		    !strcmp(row->provider, q->client->provider->name) &&
		    !strcmp(row->endpoint, lifecycle_endpoint(q->client));
	return !r->found;
}

/* Gives the new row its scope. If two processes do so at the same time, one
 * sandbox is shared at most. */
static int share_sandbox(struct managed_sandbox *box, struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	struct rivals rivals = { .box = box };

	if (!r->scope)
		return 0;
	if (ledger_set_scope(r->store, box->label, r->scope, err) < 0 ||
	    ledger_each(r->store, false, note_rival, &rivals, err) < 0)
		return -1;
	box->shared = !rivals.found;
	if (box->shared)
		return 0;
	lifecycle_say(box, "Another dcode has just made the shared sandbox, so "
			   "this one is for this thread alone.");
	return ledger_set_scope(r->store, box->label, "", err);
}

/* Records which network the sandbox will get: not every vendor tells it later.
 * Nothing is written if none was chosen. */
static int record_network(const struct managed_sandbox *box, struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	struct buf lines = BUF_INIT(1 << 20);
	struct network network = { 0 };
	int rc = network_choose(&network, r->client, r->network, err);

	if (rc == 0 && network.mode != NETWORK_DEFAULT) {
		network_print_lines(&network, &lines);
		rc = ledger_set_network(r->store, box->label,
					lines.len ? lines.ptr : "none\n", err);
	}
	network_release(&network);
	buf_release(&lines);
	return rc;
}

/* The ledger row is written before the request and gets the id afterwards:
 * after a crash in between, gc searches for the row's label. */
static int create_sandbox(struct managed_sandbox *box, int64_t lifetime_s,
			  const struct stop *stop, struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	struct sandbox_spec spec = {
		.label = box->label,
		.owner = store_owner(r->store),
		.snapshot = r->snapshot,
		.network = r->network,
		.lifetime_s = lifetime_s,
		.progress = forward_progress,
		.arg = box,
	};
	struct error failure = { 0 };
	char room[64];
	char id[IDS_SHOWN];

	if (stop_check(stop, err) < 0)
		return -1;
	if (ledger_intend(r->store, r->client->provider->name,
			  lifecycle_endpoint(r->client), spec.lifetime_s,
			  box->label, err) < 0 ||
	    share_sandbox(box, err) < 0 || record_network(box, err) < 0 ||
	    (sandbox_stores_secrets(r->client) &&
	     ledger_set_objects(r->store, box->label, true, err) < 0))
		return -1;
	box->ours = true;
	lifecycle_say(box, "Starting %s sandbox...", title_of(box, room));
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
	lifecycle_say(box, "✓ %s sandbox ready: %s", title_of(box, room),
		      ids_shown(box->sandbox.id, id));
	return 0;
}

struct own { /* a copied ledger row of a sandbox that dcode created */
	char *id, *provider, *endpoint, *hosts, *network;
	bool kept;
	bool in_use;  /* by a running dcode, which owns it */
	int64_t user; /* pid of a dcode that uses it with --sandbox-id, or 0 */
};

static bool copy_own(void *arg, const struct ledger_row *row)
{
	struct own *own = arg;

	own->id = xstrdup(row->id);
	own->provider = xstrdup(row->provider);
	own->endpoint = xstrdup(row->endpoint);
	own->hosts = xstrdup(row->hosts);
	own->network = xstrdup(row->network);
	own->kept = row->kept;
	own->in_use = row->owned_by_live;
	return false;
}

static void release_own(struct own *own)
{
	free(own->id);
	free(own->provider);
	free(own->endpoint);
	free(own->hosts);
	free(own->network);
}

static void note_user(void *arg, const struct ledger_attached *row)
{
	struct own *own = arg;

	if (!strcmp(row->provider, own->provider) && !strcmp(row->id, own->id))
		own->user = row->user;
}

/* Checks the network of the sandbox of --sandbox-id, which another dcode of
 * this user may have created. */
static int check_attached(struct managed_sandbox *box, const struct stop *stop,
			  struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	struct sandbox *sb = &box->sandbox;
	struct reach_record record = { 0 };
	struct error ignored = { 0 };
	struct own own = { 0 };
	int rc;

	if (r->store &&
	    ledger_find(r->store, sb->id, copy_own, &own, &ignored) == 0 &&
	    !strcmp(own.id, sb->id) &&
	    !strcmp(own.provider, r->client->provider->name) &&
	    !strcmp(own.endpoint, lifecycle_endpoint(r->client))) {
		record = (struct reach_record){ .given = own.network,
						.added = own.hosts };
		record.in_use =
			(ledger_find_attached(r->store, sb->id, note_user, &own,
					      &ignored) < 0 &&
			 ignored.code != ERR_NOT_FOUND) ||
			own.in_use || own.user;
	}
	record.instead = "Start a new sandbox: leave out --sandbox-id.";
	rc = reach_check_attached(sb, &record, stop, err);
	release_own(&own);
	return rc;
}

/* Attaches to the sandbox of --sandbox-id and records that in the ledger. */
static int attach_sandbox(struct managed_sandbox *box, const struct stop *stop,
			  struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	struct error ignored = { 0 };
	char room[64];
	char id[IDS_SHOWN];

	lifecycle_say(box, "Connecting to %s sandbox %s...",
		      title_of(box, room), r->attach_id);
	if (r->store)
		lifecycle_mark_started(r->client, r->store, r->attach_id);
	if (sandbox_attach(&box->sandbox, r->client, r->attach_id, stop, err) <
	    0)
		return -1;
	lifecycle_restore_start(&box->sandbox, r->store);
	/* For later commands that name the sandbox by its id; a failure does
	 * not matter. */
	if (r->store &&
	    ledger_attached(r->store, r->client->provider->name,
			    lifecycle_endpoint(r->client), box->sandbox.id,
			    r->attach_id, &ignored) < 0)
		lifecycle_say(box, "cannot record this sandbox: %s",
			      ignored.message);
	lifecycle_say(box, "✓ %s sandbox ready: %s", title_of(box, room),
		      ids_shown(box->sandbox.id, id));
	return check_attached(box, stop, err);
}

/* Fails if the provider does not support the chosen --on-exit. */
static int check_keeping(const struct lifecycle_request *r, struct error *err)
{
	const struct sandbox_provider *p = r->client->provider;

	if (!(p->flags & SANDBOX_ATTACH))
		return error_set(err, ERR_USAGE,
				 "a sandbox of %s cannot be kept, because "
				 "dcode cannot attach to it again",
				 p->name);
	/* What an external provider supports is known only after it was
	 * started. */
	if (r->on_exit != LIFECYCLE_STOP || sandbox_needs_probe(r->client) ||
	    sandbox_can_stop(r->client))
		return 0;
	error_set(err, ERR_USAGE, "%s cannot stop a sandbox and keep its files",
		  p->name);
	return error_hint(err, "Keep it running: --on-exit keep");
}

/* Reports errors that can be found without calling the vendor. */
static int check_request(const struct lifecycle_request *r, struct error *err)
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
	if (!r->attach_id && !r->resume &&
	    sandbox_check_limits(r->client, r->network, err) < 0)
		return -1;
	if (r->setup && (p->flags & SANDBOX_UNISOLATED))
		return error_set(err, ERR_USAGE,
				 "--sandbox-setup requires a --sandbox"
				 " provider");
	return 0;
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

static int64_t unix_now(void)
{
	return clock_unix_ms() / 1000;
}

static int check_resumed(struct managed_sandbox *box, const struct own *own,
			 const struct stop *stop, struct error *err)
{
	char *instead =
		xasprintf("`dcode apply %s` fetches its changes, `dcode "
			  "sandbox rm %s` deletes it; then -r makes a "
			  "new one.",
			  box->label, box->label);
	const struct reach_record record = { .given = own->network,
					     .added = own->hosts,
					     .resumed = true,
					     .instead = instead };
	int rc = reach_check_attached(&box->sandbox, &record, stop, err);

	free(instead);
	return rc;
}

/* Attaches to the thread's sandbox, and starts it if it was stopped. */
static int attach_own(struct managed_sandbox *box, const struct own *own,
		      const struct stop *stop, struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	bool stopped =
		box->before == LEDGER_STOPPED || box->before == LEDGER_STOPPING;
	struct error ignored = { 0 };
	char room[64], shown[IDS_SHOWN];

	lifecycle_say(box,
		      stopped ? "Starting %s sandbox %s again..."
			      : "Connecting to %s sandbox %s...",
		      title_of(box, room), ids_shown(own->id, shown));
	if (sandbox_attach(&box->sandbox, r->client, own->id, stop, err) == 0) {
		lifecycle_restore_start(&box->sandbox, r->store);
		lifecycle_say(box, "✓ %s sandbox ready: %s",
			      title_of(box, room),
			      ids_shown(box->sandbox.id, shown));
		return check_resumed(box, own, stop, err);
	}
	if (err->code == ERR_NOT_FOUND)
		err->code = ERR_GONE;
	if (err->code == ERR_GONE)
		(void)ledger_gone(r->store, box->label, &ignored);
	return -1;
}

/* Attaches to the sandbox that request.resume names, and claims its row. */
static int resume_sandbox(struct managed_sandbox *box, int64_t lifetime_s,
			  const struct stop *stop, struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	struct error ignored = { 0 };
	struct own own = { 0 };
	int rc = ledger_find(r->store, r->resume, copy_own, &own, err);

	if (rc < 0 && err->code == ERR_NOT_FOUND)
		err->code = ERR_GONE;
	if (rc == 0 && own.id[0])
		(void)ledger_find_attached(r->store, own.id, note_user, &own,
					   &ignored);
	if (rc == 0)
		rc = check_own(&own, r->client, r->resume, err);
	if (rc == 0)
		rc = ledger_claim(r->store, r->resume, unix_now() + lifetime_s,
				  &box->before, err);
	if (rc == 0) {
		snprintf(box->label, sizeof(box->label), "%s", r->resume);
		box->ours = box->resumed = true;
		box->was_kept = own.kept;
		rc = attach_own(box, &own, stop, err);
	}
	release_own(&own);
	return rc;
}

/* Creates, takes over or attaches to the sandbox, as the request says. */
static int open_sandbox(struct managed_sandbox *box, int64_t lifetime_s,
			const struct stop *stop, struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	struct sandbox_spec none = { .label = "", .owner = "" };

	if (r->client->provider->flags & SANDBOX_UNISOLATED)
		return sandbox_create(&box->sandbox, r->client, &none, stop,
				      err);
	if (!r->resume && !r->attach_id)
		return create_sandbox(box, lifetime_s, stop, err);
	return r->resume ? resume_sandbox(box, lifetime_s, stop, err)
			 : attach_sandbox(box, stop, err);
}

static void warn_line(void *arg, const char *line)
{
	lifecycle_warn(arg, "%s", line);
}

/* Like open_sandbox(), but starts from the setup script's snapshot if there is
 * one. If that is gone when the sandbox is created, the script runs instead. */
static int open_prepared(struct managed_sandbox *box,
			 struct lifecycle_setup *setup, int64_t lifetime_s,
			 const struct stop *stop, struct error *err)
{
	struct error failure = { 0 };
	struct error ignored = { 0 };
	int rc;

	lifecycle_setup_find(box, setup, stop);
	if (!setup->cached)
		return open_sandbox(box, lifetime_s, stop, err);
	box->request.snapshot = setup->name;
	rc = open_sandbox(box, lifetime_s, stop, &failure);
	box->request.snapshot = NULL;
	if (rc < 0 && !box->sandbox.id && stop_check(stop, &ignored) == 0)
		lifecycle_setup_find(box, setup, stop);
	if (rc == 0 || setup->cached || !box->ours) {
		*err = failure;
		return rc;
	}
	if (dispose_sandbox(box, &failure, err) < 0)
		return -1;
	sandbox_release(&box->sandbox);
	return open_sandbox(box, lifetime_s, stop, err);
}

int lifecycle_open(struct managed_sandbox *box,
		   const struct lifecycle_request *request,
		   const struct stop *stop, struct error *err)
{
	struct lifecycle_setup setup = { .name = "" };
	struct error failure = { 0 };
	int64_t lifetime_s = 0;
	int rc;

	setup_script_init(&setup.script);
	*box = (struct managed_sandbox){ .request = *request };
	rc = check_request(request, &failure);
	if (rc == 0 && request->setup)
		rc = lifecycle_setup_read(box, &setup, &failure);
	if (rc == 0)
		rc = choose_lifetime(request, &lifetime_s, &failure);
	if (rc == 0 && request->begins)
		request->begins(request->begins_arg);
	if (rc == 0)
		rc = open_prepared(box, &setup, lifetime_s, stop, &failure);
	box->lifetime_s = lifetime_s;
	if (rc == 0) {
		lifecycle_keepalive_start(box, lifetime_s);
		sandbox_check(&box->sandbox, false, warn_line, box);
	}
	/* a snapshot must not contain the user's files */
	if (rc == 0 && setup.name[0])
		rc = lifecycle_setup_run(box, &setup, stop, &failure);
	if (rc == 0 && request->fill)
		rc = request->fill(request->fill_arg, &box->sandbox, stop,
				   &failure);
	if (rc == 0 && request->setup && !setup.name[0])
		rc = lifecycle_setup_run(box, &setup, stop, &failure);
	setup_script_release(&setup.script);
	free(setup.dir);
	box->sandbox.doomed_by = NULL;
	if (rc == 0)
		return 0;
	*err = failure;
	/* a create that was cut may have reached the provider */
	box->none_made = !box->sandbox.id && !box->resumed &&
			 (!box->ours || failure.nothing_made ||
			  !lifecycle_was_cut(&failure));
	/* After Ctrl-C the user gets the prompt at once: a thread deletes what
	 * was created. lifecycle_close() waits for it. */
	if (request->cancels_at_once && box->request.store && stop->cancel &&
	    cancel_triggered(stop->cancel) && start_ending(box, &failure))
		return -1;
	abandon_opening(box, true, &failure);
	*box = (struct managed_sandbox){ .none_made = box->none_made };
	return -1;
}

/* Waits until every cancelled command has been killed, or killing it has been
 * given up. Longer waits are announced. */
static void await_kills(struct managed_sandbox *box)
{
	struct stop soon = stop_cleanup(SHOWN_MS);
	struct stop ever = stop_on(NULL);
	struct error ignored = { 0 };

	if (sandbox_await_kills(&box->sandbox, &soon, &ignored) == 0)
		return;
	lifecycle_say(box, "Waiting for the interrupted command to end...");
	(void)sandbox_await_kills(&box->sandbox, &ever, &ignored);
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

/* Prints the last lines of a run: what was kept, until when, and how to
 * continue. */
static void print_kept(const struct managed_sandbox *box, bool stopped,
		       const struct lifecycle_stopping *s)
{
	char room[64];
	char until[20];
	char id[IDS_SHOWN];

	lifecycle_say(box, "✓ %s sandbox %s: %s, until %s%s",
		      title_of(box, room),
		      stopped ? "stopped, its files are kept" : "kept running",
		      ids_shown(s->id, id), shown_time(s->ends, until),
		      !stopped && s->vendor_ends &&
				      !sandbox_can_extend(box->request.client)
			      ? " at the latest"
			      : "");
	if (!s->vendor_ends)
		lifecycle_say(box,
			      "  %s sets no expiry: `dcode sandbox gc` "
			      "deletes it after that date",
			      title_of(box, room));
	if (s->thread)
		lifecycle_say(box, "  continue:  dcode -r %s", s->thread);
	lifecycle_say(box, "  delete it: dcode sandbox rm %s",
		      ids_shown(s->id, id));
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

	lifecycle_say(box, "%s %s sandbox %s...", /* keep may mean to stop */
		      r->on_exit == LIFECYCLE_STOP ? "Stopping" : "Keeping",
		      title_of(box, room), ids_shown(s.id, id));
	if (lifecycle_stop(r->client, r->store, &s, stop, err) < 0)
		return -1;
	print_kept(box, true, &s);
	return 0;
}

/* Returns how many seconds to keep a running sandbox. If it costs money and
 * nobody extends it, at most a day. */
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

static void note_end(void *arg, const struct sandbox_info *info)
{
	((struct kept_until *)arg)->ends = info->ends;
}

/* Extends the lifetime of a sandbox that dcode is about to leave, as far as the
 * vendor allows. Returns the Unix second at which it ends. ends: the currently
 * known end. */
static int64_t extend_lifetime(struct managed_sandbox *box, int64_t ends,
			       int64_t wanted, const struct stop *stop)
{
	const struct lifecycle_request *r = &box->request;
	struct kept_until told = { 0 };
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

/* Keeps the sandbox running. Writes the ledger row before and after asking the
 * vendor: after a crash in between, the row has the longer time. */
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
	struct kept_until row = { 0 };

	if (ledger_find(r->store, box->label, note_row_end, &row, err) < 0 ||
	    ledger_keep(r->store, box->label, LEDGER_LIVE, s.ends, r->thread,
			err) < 0)
		return -1;
	if (!stays)
		s.ends = extend_lifetime(box, row.ends, wanted, stop);
	if (ledger_kept(r->store, box->label, LEDGER_LIVE, s.ends, err) < 0)
		return -1;
	print_kept(box, false, &s);
	return 0;
}

/* Keeps or stops the sandbox, as on_exit says. */
static int keep_or_stop(struct managed_sandbox *box, struct error *err)
{
	const struct sandbox_client *client = box->request.client;
	struct stop limit = stop_cleanup(LIFECYCLE_STOP_MS);
	bool stops = box->request.on_exit == LIFECYCLE_STOP ||
		     client->provider->flags & SANDBOX_BOUND;
	char id[IDS_SHOWN];
	int rc;

	box->ours = false;
	if (stops && !sandbox_can_stop(client)) {
		lifecycle_warn(
			box,
			"%s cannot stop a sandbox and keep its files, so "
			"dcode keeps it running",
			client->provider->name);
		stops = false;
	}
	rc = stops ? stop_and_keep(box, &limit, err)
		   : keep_running(box, &limit, err);
	if (rc < 0 && err->code == ERR_GONE)
		lifecycle_warn(box, "The sandbox was not kept: %s",
			       err->message);
	else if (rc < 0)
		lifecycle_warn(box,
			       "Keeping sandbox %s failed: %s. `dcode sandbox "
			       "list` shows its state.",
			       ids_shown(box->sandbox.id, id), err->message);
	return rc;
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
		finish_ending(box);
		return 0;
	}
	stays = !box->ours ||
		(box->request.on_exit != LIFECYCLE_DELETE && box->sandbox.id);
	jobs_each(box->sandbox.jobs, report_job, box);
	if (stays ? !box->ours : shares_machine(box))
		jobs_remove(box->sandbox.jobs, !stays);
	(void)jobs_end(&box->sandbox.jobs);
	lifecycle_keepalive_stop(box);
	end_background(box, stays);
	await_kills(box);
	if (stays)
		sandbox_settle(&box->sandbox, notice);
	if (*notice)
		lifecycle_warn(box, "%s", notice);
	if (!stays)
		save_work(box);
	sandbox_check(&box->sandbox, true, warn_line, box);
	if (!stays)
		lifecycle_say(box, "Terminating %s sandbox %s...",
			      title_of(box, room),
			      ids_shown(box->sandbox.id, id));
	if (stays || shares_machine(box))
		supervise_leave(&box->sandbox);
	rc = stays && box->ours ? keep_or_stop(box, err)
				: dispose_sandbox(box, &none, err);
	if (!stays && rc == 0)
		lifecycle_say(box, "✓ %s sandbox terminated",
			      title_of(box, room));
	sandbox_release(&box->sandbox);
	*box = (struct managed_sandbox){ 0 };
	return rc;
}

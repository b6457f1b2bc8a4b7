/* ledger.c - records every sandbox from intent to confirmed deletion. */
/* SPDX-License-Identifier: MIT */
/*
 * Most functions are one statement of SQL on the tables of sandboxes and
 * snapshots. A change is on the disk when its function returns (run_change()).
 * Begin reading at ledger_intend(), ledger_created(), ledger_removing() and
 * ledger_gone(), which are called in this order. Those that decide between
 * processes follow: ledger_claim() and ledger_claim_removal() change a row only
 * if it is still as this process read it (change_as_read()).
 */
#include "session/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/stop.h"
#include "session/sql.h"

enum {
	SHORT_NAME = 8, /* characters after "dcode-" */
	/* index of the column "whole" of SQL_LEDGER_FIND, after
	 * LEDGER_COLUMNS */
	WHOLE = 17,
};

static int64_t unix_now(void)
{
	return clock_unix_ms() / 1000;
}

const char *ledger_state_name(enum ledger_state state)
{
	static const char *const names[] = {
		[LEDGER_INTENT] = "creating",   [LEDGER_LIVE] = "live",
		[LEDGER_REMOVING] = "removing", [LEDGER_GONE] = "gone",
		[LEDGER_STOPPING] = "stopping", [LEDGER_STOPPED] = "stopped",
	};

	return state >= LEDGER_INTENT && state <= LEDGER_STOPPED ? names[state]
								 : "unknown";
}

int ledger_intend(struct store *s, const char *provider, const char *endpoint,
		  int64_t lifetime_s, char label[16], struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_LEDGER_ADD, err);
	char name[SHORT_NAME + 1];
	struct process self = { 0 };
	int64_t created = unix_now();

	if (!st)
		return -1;
	process_self(&self);
	ids_random(name, SHORT_NAME);
	snprintf(label, 16, "dcode-%s", name);
	store_bind(st, 1, label);
	store_bind(st, 2, provider);
	store_bind(st, 3, endpoint);
	sqlite3_bind_int(st, 4, LEDGER_INTENT);
	sqlite3_bind_int64(st, 5, created);
	sqlite3_bind_int64(st, 6, lifetime_s > 0 ? created + lifetime_s : 0);
	sqlite3_bind_int64(st, 7, self.pid);
	sqlite3_bind_int64(st, 8, self.started);
	store_bind(st, 9, self.place);
	return store_run_durably(s, st, err);
}

/* Runs a statement whose first parameter is the label. ERR_NOT_FOUND if it
 * changed no row. */
static int run_change(struct store *s, sqlite3_stmt *st, const char *label,
		      struct error *err)
{
	store_bind(st, 1, label);
	if (store_run_durably(s, st, err) < 0)
		return -1;
	if (sqlite3_changes(s->db) != 1)
		return error_set(err, ERR_NOT_FOUND, "unknown sandbox %s",
				 label);
	return 0;
}

static int set_state(struct store *s, const char *label,
		     enum ledger_state state, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_LEDGER_STATE, err);

	if (!st)
		return -1;
	sqlite3_bind_int(st, 2, state);
	sqlite3_bind_int64(st, 3, unix_now());
	return run_change(s, st, label, err);
}

int ledger_created(struct store *s, const char *label, const char *id,
		   struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_LEDGER_CREATED, err);

	if (!st)
		return -1;
	sqlite3_bind_int(st, 2, LEDGER_LIVE);
	sqlite3_bind_int64(st, 3, unix_now());
	store_bind(st, 4, id);
	return run_change(s, st, label, err);
}

int ledger_removing(struct store *s, const char *label, struct error *err)
{
	return set_state(s, label, LEDGER_REMOVING, err);
}

int ledger_gone(struct store *s, const char *label, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_DROP_START_DIR, err);

	if (!st)
		return -1;
	store_bind(st, 1, label);
	if (store_run(s, st, err) < 0)
		return -1;
	st = store_sql(s, SQL_LEDGER_GONE, err);
	if (!st)
		return -1;
	sqlite3_bind_int(st, 2, LEDGER_GONE);
	sqlite3_bind_int64(st, 3, unix_now());
	sqlite3_bind_int(st, 4, LEDGER_REMOVING);
	return run_change(s, st, label, err);
}

int ledger_set_start_dir(struct store *s, const char *provider, const char *id,
			 const char *dir, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_SET_START_DIR, err);

	if (!st)
		return -1;
	store_bind(st, 1, provider);
	store_bind(st, 2, id);
	store_bind(st, 3, dir);
	return store_run(s, st, err);
}

int ledger_start_dir(struct store *s, const char *provider, const char *id,
		     char **dir, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_START_DIR, err);

	*dir = NULL;
	if (!st)
		return -1;
	store_bind(st, 1, provider);
	store_bind(st, 2, id);
	if (sqlite3_step(st) == SQLITE_ROW)
		*dir = xstrdup(store_text(st, 0));
	sqlite3_reset(st);
	return 0;
}

/* Sets one column of a row to a text. */
static int set_text(struct store *s, enum statement which, const char *label,
		    const char *text, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, which, err);

	if (!st)
		return -1;
	store_bind(st, 2, text);
	return run_change(s, st, label, err);
}

int ledger_note(struct store *s, const char *label, const char *note,
		struct error *err)
{
	return set_text(s, SQL_LEDGER_NOTE, label, note, err);
}

int ledger_set_objects(struct store *s, const char *label, bool objects,
		       struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_LEDGER_OBJECTS, err);

	if (!st)
		return -1;
	sqlite3_bind_int(st, 2, objects);
	return run_change(s, st, label, err);
}

int ledger_add_host(struct store *s, const char *label, const char *host,
		    struct error *err)
{
	return set_text(s, SQL_LEDGER_HOST, label, host, err);
}

int ledger_set_scope(struct store *s, const char *label, const char *scope,
		     struct error *err)
{
	return set_text(s, SQL_LEDGER_SCOPE, label, scope, err);
}

int ledger_set_network(struct store *s, const char *label, const char *network,
		       struct error *err)
{
	return set_text(s, SQL_LEDGER_NETWORK, label, network, err);
}

/* Reads the columns in the order of LEDGER_COLUMNS. */
static void read_row(sqlite3_stmt *st, const struct process *self,
		     struct ledger_row *row)
{
	struct process owner = { .pid = sqlite3_column_int64(st, 7),
				 .started = sqlite3_column_int64(st, 8) };

	snprintf(owner.place, sizeof(owner.place), "%s", store_text(st, 9));
	*row = (struct ledger_row){
		.label = store_text(st, 0),
		.provider = store_text(st, 1),
		.id = store_text(st, 2),
		.endpoint = store_text(st, 3),
		.state = (enum ledger_state)sqlite3_column_int(st, 4),
		.created = sqlite3_column_int64(st, 5),
		.ends = sqlite3_column_int64(st, 6),
		.pid = owner.pid,
		.owned_by_live = owner.pid > 0 && process_lives(&owner, self),
		.note = store_text(st, 10),
		.kept = sqlite3_column_int(st, 11),
		.thread = store_text(st, 12),
		.objects = sqlite3_column_int(st, 13),
		.hosts = store_text(st, 14),
		.scope = store_text(st, 15),
		.network = store_text(st, 16),
	};
	row->held = row->kept && row->ends > unix_now() &&
		    row->state != LEDGER_REMOVING && row->state != LEDGER_GONE;
}

int ledger_each(struct store *s, bool all,
		bool (*each)(void *arg, const struct ledger_row *row),
		void *arg, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_LEDGER_EACH, err);
	struct process self = { 0 };
	int rc;

	if (!st)
		return -1;
	process_self(&self);
	sqlite3_bind_int(st, 1, all);
	sqlite3_bind_int(st, 2, LEDGER_GONE);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct ledger_row row;

		read_row(st, &self, &row);
		if (!each(arg, &row))
			break;
	}
	return store_finish(s, st, rc, err);
}

/* True if the next row matches as well as the first, so that the name is
 * ambiguous. Deleted sandboxes do not count: some providers reuse their ids. */
static bool is_ambiguous(sqlite3_stmt *st, bool whole, bool gone)
{
	if (sqlite3_step(st) != SQLITE_ROW || gone)
		return false;
	return (sqlite3_column_int(st, WHOLE) != 0) == whole &&
	       sqlite3_column_int(st, 4) != LEDGER_GONE;
}

static int set_ambiguous(const char *name, struct error *err)
{
	error_set(err, ERR_USAGE, "several sandboxes match %s", name);
	return error_hint(
		err, "Type more of the id. `dcode sandbox list` shows them.");
}

int ledger_find(struct store *s, const char *name,
		bool (*each)(void *arg, const struct ledger_row *row),
		void *arg, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_LEDGER_FIND, err);
	struct process self = { 0 };
	bool several = false;
	int rc;

	if (!st)
		return -1;
	store_bind(st, 1, name);
	sqlite3_bind_int(st, 2, LEDGER_GONE);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		several =
			is_ambiguous(st, sqlite3_column_int(st, WHOLE) != 0,
				     sqlite3_column_int(st, 4) == LEDGER_GONE);
	if (rc == SQLITE_ROW && !several) {
		struct ledger_row row;

		sqlite3_reset(st); /* resetting keeps the bindings */
		rc = sqlite3_step(st);
		process_self(&self);
		if (rc == SQLITE_ROW) {
			read_row(st, &self, &row);
			/* result ignored: there is only one row */
			(void)each(arg, &row);
		}
	}
	if (store_finish(s, st, rc, err) < 0)
		return -1;
	if (several)
		return set_ambiguous(name, err);
	if (rc != SQLITE_ROW)
		return error_set(err, ERR_NOT_FOUND, "unknown sandbox %s",
				 name);
	return 0;
}

static int set_kept(struct store *s, enum statement which, const char *label,
		    const struct ledger_row *row, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, which, err);

	if (!st)
		return -1;
	sqlite3_bind_int(st, 2, row->state);
	sqlite3_bind_int64(st, 3, unix_now());
	sqlite3_bind_int64(st, 4, row->ends);
	if (row->thread)
		store_bind(st, 5, row->thread);
	return run_change(s, st, label, err);
}

int ledger_keep(struct store *s, const char *label, enum ledger_state state,
		int64_t ends, const char *thread, struct error *err)
{
	const struct ledger_row row = { .state = state,
					.ends = ends,
					.thread = thread };

	return set_kept(s, SQL_LEDGER_KEEP, label, &row, err);
}

int ledger_kept(struct store *s, const char *label, enum ledger_state state,
		int64_t ends, struct error *err)
{
	const struct ledger_row row = { .state = state, .ends = ends };

	return set_kept(s, SQL_LEDGER_KEPT, label, &row, err);
}

int ledger_price(struct store *s, const char *label, int64_t usd_s,
		 struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_LEDGER_PRICE, err);

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 2, usd_s);
	return run_change(s, st, label, err);
}

static bool copy_row(void *arg, const struct ledger_row *row)
{
	struct ledger_row *copy = arg;

	*copy = *row; /* its strings end with this call: do not use them */
	copy->id = row->id[0] ? "known" : "";
	return false;
}

static int set_in_use(const char *label, const struct ledger_row *row,
		      struct error *err)
{
	error_set(err, ERR_BUSY,
		  "sandbox %s is in use by the dcode with process id %lld",
		  label, (long long)row->pid);
	return error_hint(err, "Quit that dcode first.");
}

/* Runs a statement that changes the row only if it is still as this process
 * read it. ERR_BUSY if another dcode has changed it meanwhile. */
static int change_as_read(struct store *s, sqlite3_stmt *st, const char *label,
			  struct error *err)
{
	if (run_change(s, st, label, err) == 0)
		return 0;
	if (err->code == ERR_NOT_FOUND)
		error_set(err, ERR_BUSY,
			  "another dcode has just started to use sandbox %s",
			  label);
	return -1;
}

static int check_free(const char *label, const struct ledger_row *row,
		      struct error *err)
{
	if (row->state == LEDGER_GONE || row->state == LEDGER_REMOVING)
		return error_set(err, ERR_GONE, "sandbox %s has been deleted",
				 label);
	if (!row->id[0])
		return error_set(err, ERR_GONE,
				 "the id of sandbox %s is unknown: creating it "
				 "failed or was interrupted",
				 label);
	return row->owned_by_live ? set_in_use(label, row, err) : 0;
}

int ledger_claim(struct store *s, const char *label, int64_t ends,
		 enum ledger_state *before, struct error *err)
{
	struct process self = { 0 };
	struct ledger_row row = { .id = "" };
	sqlite3_stmt *st;

	if (ledger_find(s, label, copy_row, &row, err) < 0 ||
	    check_free(label, &row, err) < 0)
		return -1;
	st = store_sql(s, SQL_LEDGER_CLAIM, err);
	if (!st)
		return -1;
	*before = row.state;
	process_self(&self);
	sqlite3_bind_int(st, 2, LEDGER_LIVE);
	sqlite3_bind_int64(st, 3, unix_now());
	sqlite3_bind_int64(st, 4, ends);
	sqlite3_bind_int64(st, 5, self.pid);
	sqlite3_bind_int64(st, 6, self.started);
	store_bind(st, 7, self.place);
	sqlite3_bind_int(st, 8, row.state);
	sqlite3_bind_int64(st, 9, row.pid);
	return change_as_read(s, st, label, err);
}

int ledger_claim_removal(struct store *s, const char *label,
			 enum ledger_spared spared, struct error *err)
{
	struct ledger_row row = { .id = "" };
	sqlite3_stmt *st;

	if (ledger_find(s, label, copy_row, &row, err) < 0)
		return -1;
	if (spared >= LEDGER_SPARE_USED && row.owned_by_live &&
	    row.state != LEDGER_GONE)
		return set_in_use(label, &row, err);
	if (spared >= LEDGER_SPARE_HELD && row.held)
		return error_set(err, ERR_BUSY, "sandbox %s is kept", label);
	st = store_sql(s, SQL_LEDGER_CLAIM_REMOVAL, err);
	if (!st)
		return -1;
	sqlite3_bind_int(st, 2, LEDGER_REMOVING);
	sqlite3_bind_int64(st, 3, unix_now());
	sqlite3_bind_int(st, 4, row.state);
	sqlite3_bind_int64(st, 5, row.pid);
	return change_as_read(s, st, label, err);
}

int ledger_attached(struct store *s, const char *provider, const char *endpoint,
		    const char *id, const char *name, struct error *err)
{
	sqlite3_stmt *trim = store_sql(s, SQL_ATTACHED_TRIM, err);
	sqlite3_stmt *st = store_sql(s, SQL_ATTACHED_ADD, err);
	struct process self = { 0 };

	if (!st || !trim)
		return -1;
	process_self(&self);
	store_bind(st, 1, provider);
	store_bind(st, 2, endpoint);
	store_bind(st, 3, id);
	store_bind(st, 4, name);
	sqlite3_bind_int64(st, 5, self.pid);
	sqlite3_bind_int64(st, 6, self.started);
	store_bind(st, 7, self.place);
	if (store_run(s, st, err) < 0)
		return -1;
	return store_run(s, trim, err);
}

static bool same_column(sqlite3_stmt *st, int column, const char *text)
{
	return strcmp(store_text(st, column), text) == 0;
}

/* Finds a sandbox that was attached to. Fails if several different ones match
 * the name equally well. */
int ledger_find_attached(struct store *s, const char *name,
			 void (*found)(void *arg,
				       const struct ledger_attached *row),
			 void *arg, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_ATTACHED_FIND, err);
	struct ledger_attached row = { 0 };
	struct process self = { 0 };
	char *first[3] = { NULL }; /* provider, endpoint, id: owned */
	bool whole = false;
	bool several = false;
	int rc;

	if (!st)
		return -1;
	process_self(&self);
	store_bind(st, 1, name);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct process user = { .pid = sqlite3_column_int64(st, 3),
					.started =
						sqlite3_column_int64(st, 4) };

		if (!first[0]) {
			for (int i = 0; i < 3; i++)
				first[i] = xstrdup(store_text(st, i));
			whole = sqlite3_column_int(st, 6);
		} else if (!same_column(st, 0, first[0]) ||
			   !same_column(st, 1, first[1]) ||
			   !same_column(st, 2, first[2])) {
			several |= whole == (sqlite3_column_int(st, 6) != 0);
			continue;
		}
		snprintf(user.place, sizeof(user.place), "%s",
			 store_text(st, 5));
		if (user.pid != self.pid && process_lives(&user, &self))
			row.user = user.pid;
	}
	rc = store_finish(s, st, rc, err);
	if (rc == 0 && several)
		rc = set_ambiguous(name, err);
	else if (rc == 0 && !first[0])
		rc = error_set(err, ERR_NOT_FOUND, "unknown sandbox %s", name);
	row.provider = first[0];
	row.endpoint = first[1];
	row.id = first[2];
	if (rc == 0)
		found(arg, &row);
	for (int i = 0; i < 3; i++)
		free(first[i]);
	return rc;
}

/* Two processes that make a key at once both read the one that was stored
 * first. */
int ledger_setup_key(struct store *s, unsigned char key[LEDGER_SETUP_KEY],
		     struct error *err)
{
	char hex[2 * LEDGER_SETUP_KEY + 1];
	sqlite3_stmt *st;
	size_t n = 0;

	for (int attempt = 0; attempt < 2; attempt++) {
		st = store_sql(s, SQL_SETUP_KEY, err);
		if (!st)
			return -1;
		if (sqlite3_step(st) == SQLITE_ROW &&
		    sodium_hex2bin(key, LEDGER_SETUP_KEY, store_text(st, 0),
				   strlen(store_text(st, 0)), NULL, &n,
				   NULL) < 0)
			n = 0;
		sqlite3_reset(st);
		if (n == LEDGER_SETUP_KEY)
			return 0;
		st = attempt ? NULL : store_sql(s, SQL_SETUP_KEY_ADD, err);
		if (!st)
			break;
		randombytes_buf(key, LEDGER_SETUP_KEY);
		sodium_bin2hex(hex, sizeof(hex), key, LEDGER_SETUP_KEY);
		store_bind(st, 1, hex);
		if (store_run_durably(s, st, err) < 0)
			return -1;
	}
	return error_set(err, ERR_SYSTEM,
			 "the key for names of snapshots is damaged");
}

int ledger_snapshot_intend(struct store *s, const char *name,
			   const char *provider, const char *endpoint,
			   struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_SNAPSHOT_ADD, err);
	struct process self = { 0 };

	if (!st)
		return -1;
	process_self(&self);
	store_bind(st, 1, name);
	store_bind(st, 2, provider);
	store_bind(st, 3, endpoint);
	sqlite3_bind_int(st, 4, LEDGER_SNAPSHOT_INTENT);
	sqlite3_bind_int64(st, 5, unix_now());
	sqlite3_bind_int64(st, 6, self.pid);
	sqlite3_bind_int64(st, 7, self.started);
	store_bind(st, 8, self.place);
	if (store_run_durably(s, st, err) < 0)
		return -1;
	return sqlite3_changes(s->db) == 1
		       ? 0
		       : error_set(err, ERR_BUSY,
				   "another dcode is making snapshot %s", name);
}

static int run_snapshot(struct store *s, sqlite3_stmt *st, const char *name,
			struct error *err)
{
	store_bind(st, 1, name);
	if (store_run_durably(s, st, err) < 0)
		return -1;
	return sqlite3_changes(s->db) == 1
		       ? 0
		       : error_set(err, ERR_BUSY,
				   "another dcode has just changed snapshot %s",
				   name);
}

int ledger_snapshot_claim(struct store *s,
			  const struct ledger_snapshot *as_read,
			  enum ledger_snapshot_state state, struct error *err)
{
	struct process self = { 0 };
	sqlite3_stmt *st;

	process_self(&self);
	if (as_read->owned_by_live && as_read->pid != self.pid)
		return error_set(err, ERR_BUSY,
				 "the dcode with process id %lld uses snapshot "
				 "%s",
				 (long long)as_read->pid, as_read->name);
	st = store_sql(s, SQL_SNAPSHOT_CLAIM, err);
	if (!st)
		return -1;
	sqlite3_bind_int(st, 2, state);
	sqlite3_bind_int64(st, 3, self.pid);
	sqlite3_bind_int64(st, 4, self.started);
	store_bind(st, 5, self.place);
	sqlite3_bind_int(st, 6, as_read->state);
	sqlite3_bind_int64(st, 7, as_read->pid);
	return run_snapshot(s, st, as_read->name, err);
}

int ledger_snapshot_ready(struct store *s, const char *name, const char *id,
			  const char *dir, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_SNAPSHOT_SETTLE, err);

	if (!st)
		return -1;
	sqlite3_bind_int(st, 2, LEDGER_SNAPSHOT_READY);
	store_bind(st, 3, id);
	store_bind(st, 4, dir);
	sqlite3_bind_int64(st, 5, unix_now());
	return run_snapshot(s, st, name, err);
}

int ledger_snapshot_release(struct store *s, const char *name,
			    struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_SNAPSHOT_RELEASE, err);

	return st ? run_snapshot(s, st, name, err) : -1;
}

int ledger_snapshot_used(struct store *s, const char *name, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_SNAPSHOT_USED, err);

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 2, unix_now());
	return run_snapshot(s, st, name, err);
}

int ledger_snapshot_drop(struct store *s, const char *name, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_SNAPSHOT_DROP, err);

	return st ? run_snapshot(s, st, name, err) : -1;
}

int ledger_snapshot_each(struct store *s,
			 bool (*each)(void *arg,
				      const struct ledger_snapshot *row),
			 void *arg, struct error *err)
{
	sqlite3_stmt *st = store_sql(s, SQL_SNAPSHOT_EACH, err);
	struct process self = { 0 };
	int rc;

	if (!st)
		return -1;
	process_self(&self);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct process owner = { .pid = sqlite3_column_int64(st, 8),
					 .started =
						 sqlite3_column_int64(st, 9) };
		struct ledger_snapshot row = {
			.name = store_text(st, 0),
			.provider = store_text(st, 1),
			.endpoint = store_text(st, 2),
			.state = (enum ledger_snapshot_state)sqlite3_column_int(
				st, 3),
			.id = store_text(st, 4),
			.dir = store_text(st, 5),
			.created = sqlite3_column_int64(st, 6),
			.used = sqlite3_column_int64(st, 7),
			.pid = owner.pid,
		};

		snprintf(owner.place, sizeof(owner.place), "%s",
			 store_text(st, 10));
		row.expired = row.created + LEDGER_SNAPSHOT_S < unix_now() ||
			      row.created - LEDGER_SNAPSHOT_S > unix_now();
		row.owned_by_live =
			owner.pid > 0 && process_lives(&owner, &self);
		if (!each(arg, &row))
			break;
	}
	return store_finish(s, st, rc, err);
}

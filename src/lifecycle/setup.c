/* setup.c - runs a sandbox's setup script, or starts from its snapshot. */
/* SPDX-License-Identifier: MIT */

/*
 * lifecycle_open() calls lifecycle_setup_read() first, then
 * lifecycle_setup_find(), and lifecycle_setup_run() when the sandbox exists.
 *
 * With [sandboxes] cache_setup, lifecycle_setup_run() makes a snapshot after
 * the script, before the user's files are sent. The next sandbox of the same
 * provider, settings and script starts from it, and the script does not run.
 * Whoever can write to the vendor's account can also put a snapshot there under
 * any name, so only one is used that has a row in the ledger and the id that
 * the vendor gave it when dcode made it. The row is written before each request
 * about the snapshot: gc.c deletes what a killed process left.
 */
#include "sandbox/setup/setup.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mask/mask.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "lifecycle/lifecycle.h"
#include "sandbox/snapshot.h"
#include "session/store.h"

void lifecycle_tell(const struct managed_sandbox *box, bool warns,
		    const char *fmt, ...)
{
	const struct lifecycle_ui *ui = &box->request.ui;
	void (*tell)(void *, const char *) = warns ? ui->warn : ui->progress;
	char *line;
	va_list ap;

	if (!tell)
		return;
	va_start(ap, fmt);
	line = xvasprintf(fmt, ap);
	va_end(ap);
	tell(ui->arg, line);
	free(line);
}

enum {
	/* If the script's output is not shown, up to this many bytes are
	 * buffered: its last lines are shown if it fails. */
	TAIL_MAX = 64 << 10,
	TAIL_KEPT = 8 << 10,
};

struct script_values {
	struct managed_sandbox *box;
	/* variables whose values come from the user: "A, B" */
	struct buf names;
	struct buf all; /* the same, and those of the project */
};

struct script_sink { /* shows the script's output as it arrives */
	const struct managed_sandbox *box;
	struct redact_screen shown;
	struct buf text; /* text of one chunk */
	struct buf tail;
};

static struct setup_value find_value(void *arg, const char *name)
{
	const struct script_values *r = arg;
	const struct settings *set = r->box->request.client->settings;
	enum setting_source source;
	struct setup_value v = { 0 };

	if (!set)
		return v;
	v.text = settings_setup_value(set, name, &source);
	v.foreign = source == SOURCE_DOTENV_PROJECT;
	return v;
}

static void note_value(void *arg, const char *name,
		       const struct setup_value *value)
{
	struct script_values *r = arg;
	struct mask *mask = r->box->request.mask;

	buf_addf(&r->all, "%s%s", r->all.len ? ", " : "", name);
	if (!value->foreign)
		buf_addf(&r->names, "%s%s", r->names.len ? ", " : "", name);
	if (mask && mask_add(mask, name, str_of(value->text)))
		return;
	lifecycle_warn(
		r->box,
		"setup script: the value of %s is too short, so dcode does "
		"not mask it in output",
		name);
}

static void warn_about_script(void *arg, const char *line)
{
	const struct script_values *r = arg;

	lifecycle_warn(r->box, "%s", line);
}

/* Asks before the script gets the user's values in an account that the project
 * chose: if a repository supplies the vendor's key, it owns the account and can
 * read those values there. */
static int check_account(const struct script_values *r, struct error *err)
{
	const struct lifecycle_request *request = &r->box->request;
	const struct sandbox_client *client = request->client;
	struct buf question = BUF_INIT(4096);
	char *key;
	int rc = 0;

	if (!client->project_key || !r->names.len || request->trust_project)
		return 0;
	key = settings_credential_name(client->settings, client->project_key);
	buf_addf(&question,
		 "The setup script sends %s to a sandbox of %s. That sandbox "
		 "runs in the account of the key %s, which comes from this "
		 "project.",
		 r->names.ptr, client->provider->name, key);
	if (request->ui.confirm)
		rc = request->ui.confirm(request->ui.arg, question.ptr, err);
	if (rc == 0) {
		error_set(err, ERR_USAGE,
			  "not allowed: the setup script receives your %s, but "
			  "its sandbox belongs to the owner of %s",
			  r->names.ptr, key);
		rc = error_hint(err,
				"Set %s yourself (export it, or dcode auth set "
				"%s), or use --trust-project.",
				client->project_key, client->provider->name);
	}
	buf_release(&question);
	free(key);
	return rc < 0 ? -1 : 0;
}

/* The name of a snapshot covers all that decides what the script makes. It is a
 * keyed hash: other users of the account see the names, and without a key they
 * could test guesses about a script. */

static void add_part(crypto_generichash_state *hash, struct str part)
{
	uint64_t len = part.len;

	crypto_generichash_update(hash, (const unsigned char *)&len,
				  sizeof(len));
	crypto_generichash_update(hash, (const unsigned char *)part.ptr,
				  part.len);
}

/* Adds the value of a provider's setting. All count: an image, a size, a user
 * and a key change what a script makes, or where. */
static int add_setting(crypto_generichash_state *hash,
		       const struct settings *set, const char *group,
		       const struct setting *row, struct error *err)
{
	const char *const *list = NULL;
	const char *text = NULL;
	char number[24] = "";
	int64_t integer = 0;
	bool flag = false;
	size_t n = 0;
	int rc = 0;

	add_part(hash, str_of(row->key));
	if (row->type == SETTING_STRING)
		rc = settings_string(set, group, row->key, &text, err);
	else if (row->type == SETTING_INT)
		rc = settings_int(set, group, row->key, &integer, err);
	else if (row->type == SETTING_BOOL)
		rc = settings_bool(set, group, row->key, &flag, err);
	else if (row->type == SETTING_LIST)
		rc = settings_list(set, group, row->key, &list, &n, err);
	if (rc < 0)
		return -1;
	snprintf(number, sizeof(number), "%lld",
		 row->type == SETTING_BOOL ? flag : (long long)integer);
	add_part(hash, str_of(text ? text : number));
	for (size_t i = 0; i < n; i++)
		add_part(hash, str_of(list[i]));
	return 0;
}

static int add_network(crypto_generichash_state *hash,
		       const struct managed_sandbox *box, struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	struct network network = { 0 };
	struct buf text = BUF_INIT(1 << 20);
	int rc = sandbox_choose_network(r->client, r->network, &network, err);

	if (rc == 0) {
		network_print_lines(&network, &text);
		add_part(hash, buf_str(&text));
	}
	network_release(&network);
	buf_release(&text);
	return rc;
}

enum { NAME_HASH = 16 }; /* bytes */

static int name_snapshot(const struct managed_sandbox *box,
			 struct lifecycle_setup *setup, struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	const struct sandbox_provider *p = r->client->provider;
	const struct setting *row = r->client->settings ? p->settings : NULL;
	unsigned char key[LEDGER_SETUP_KEY];
	unsigned char sum[NAME_HASH];
	crypto_generichash_state hash;
	char hex[2 * NAME_HASH + 1];
	int rc = ledger_setup_key(r->store, key, err);

	if (rc < 0)
		return -1;
	crypto_generichash_init(&hash, key, sizeof(key), sizeof(sum));
	add_part(&hash, str_of(p->name));
	add_part(&hash, str_of(lifecycle_endpoint(r->client)));
	for (; rc == 0 && row && row->key; row++)
		rc = add_setting(&hash, r->client->settings, p->name, row, err);
	if (rc == 0)
		rc = add_network(&hash, box, err);
	add_part(&hash, buf_str(&setup->script.text));
	add_part(&hash, buf_str(&setup->script.exports));
	crypto_generichash_final(&hash, sum, sizeof(sum));
	sodium_bin2hex(hex, sizeof(hex), sum, sizeof(sum));
	sodium_memzero(key, sizeof(key));
	if (rc == 0)
		snprintf(setup->name, sizeof(setup->name), "dcode-setup-%s",
			 hex);
	return rc;
}

/* True if a variable of this entry NAME=value certainly holds no secret. */
static bool is_harmless(const char *entry)
{
	static const char *const names[] = {
		"LANG=", "LANGUAGE=", "LC_", "TZ=", "TERM=", "DEBIAN_FRONTEND="
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_starts(str_of(entry), names[i]))
			return true;
	return false;
}

/* Adds the names of the variables that the provider's params set inside: the
 * script can write their values to disk, and an engine saves them with the
 * image. */
static int add_variables(const struct managed_sandbox *box, struct buf *names,
			 struct error *err)
{
	const struct sandbox_client *client = box->request.client;
	const struct setting *row =
		client->settings ? client->provider->settings : NULL;
	const char *const *list;
	size_t n;

	for (; row && row->key; row++) {
		if (row->type != SETTING_LIST || strcmp(row->key, "env") != 0)
			continue;
		n = 0;
		if (settings_list(client->settings, client->provider->name,
				  row->key, &list, &n, err) < 0)
			return -1;
		for (size_t i = 0; i < n; i++)
			if (!is_harmless(list[i]))
				buf_addf(names, "%s%.*s",
					 names->len ? ", " : "",
					 (int)strcspn(list[i], "="), list[i]);
	}
	return 0;
}

/* Decides whether the script's result may be kept. A script that receives
 * values may write them to disk, and a snapshot is readable for everybody in
 * the account: then nothing is kept. */
static int plan_cache(const struct managed_sandbox *box,
		      struct lifecycle_setup *setup,
		      const struct script_values *values, struct error *err)
{
	const struct sandbox_client *client = box->request.client;

	if (snapshot_can_remove(client) && !values->all.len)
		return name_snapshot(box, setup, err);
	if (values->all.len)
		lifecycle_say(box,
			      "cache_setup is not used: the setup script "
			      "receives %s, which could end up in the snapshot",
			      values->all.ptr);
	else
		lifecycle_say(box,
			      "cache_setup is not used: %s cannot make and "
			      "delete snapshots of a running sandbox",
			      sandbox_client_name(client));
	return 0;
}

/* Reads and expands request.setup. Values that the script gets are masked from
 * then on. If the project's .env chooses the account in which the script runs,
 * the user is asked before a value is inserted: ERR_USAGE if the user
 * refuses. */
int lifecycle_setup_read(struct managed_sandbox *box,
			 struct lifecycle_setup *setup, struct error *err)
{
	const struct lifecycle_request *request = &box->request;
	struct script_values r = { box, BUF_INIT(1024), BUF_INIT(4096) };
	struct setup_values values = { find_value, note_value,
				       warn_about_script, &r };
	bool caches = request->cache_setup && !request->attach_id &&
		      !request->resume && !request->snapshot;
	struct buf text = BUF_INIT(SETUP_MAX);
	int rc = setup_read(request->setup, &text, err);

	if (rc == 0)
		rc = setup_expand(buf_str(&text), &values, &setup->script, err);
	if (rc == 0)
		rc = check_account(&r, err);
	if (rc == 0 && caches)
		rc = add_variables(box, &r.all, err);
	if (rc == 0 && caches)
		rc = plan_cache(box, setup, &r, err);
	buf_release(&r.names);
	buf_release(&r.all);
	buf_release(&text);
	return rc;
}

static void show_output(struct script_sink *s, enum exec_stream stream)
{
	const struct lifecycle_ui *ui = &s->box->request.ui;

	if (ui->output && s->text.len) {
		ui->output(ui->arg, stream, buf_str(&s->text));
	} else {
		buf_addstr(&s->tail, buf_str(&s->text));
		if (s->tail.len > TAIL_MAX / 2)
			buf_consume(&s->tail, s->tail.len - TAIL_KEPT);
	}
	buf_clear(&s->text);
}

/* The door of a setup script's output: shows what passes the filter, masked. */
static void filter_output(struct script_sink *s, enum exec_stream stream,
			  struct str chunk, enum redact_until until)
{
	redact_screen_pass(&s->shown, s->box->request.mask, chunk, until,
			   &s->text);
	show_output(s, stream);
}

static void receive_output(void *arg, enum exec_stream stream, struct str chunk)
{
	struct script_sink *s = arg;

	while (chunk.len) {
		struct str piece = chunk;

		if (piece.len > TAIL_MAX / 4)
			piece.len = TAIL_MAX / 4;
		filter_output(s, stream, piece, REDACT_FINAL);
		chunk = str_skip(chunk, piece.len);
	}
}

static int report_failed_script(const struct script_sink *s, int exit_code,
				struct error *err)
{
	struct str tail = str_trim(buf_str(&s->tail));

	if (tail.len)
		lifecycle_say(s->box, "Setup script failed (exit %d):\n%.*s",
			      exit_code, (int)tail.len, tail.ptr);
	else
		lifecycle_say(s->box, "Setup script failed (exit %d)",
			      exit_code);
	return error_set(err, ERR_REMOTE, "Setup failed - aborting");
}

/* Reports that tools now start in the directory where the script ended, and
 * records it in the ledger for processes that attach later. */
static void report_start_dir(struct managed_sandbox *box)
{
	struct error err = { 0 };
	struct buf line = BUF_INIT(8192);

	sanitize_line(str_of(box->sandbox.workdir), &line);
	lifecycle_say(box,
		      "Tools and commands start in %s, where the setup "
		      "script ended",
		      line.ptr);
	if (box->request.store &&
	    ledger_set_start_dir(
		    box->request.store, box->request.client->provider->name,
		    box->sandbox.id, box->sandbox.workdir, &err) < 0)
		lifecycle_warn(box, "%s", err.message);
	buf_release(&line);
}

/* Runs the setup script and shows its output. A script that fails is an
 * error. */
static int run_script(struct managed_sandbox *box,
		      const struct setup_script *script,
		      const struct stop *stop, struct error *err)
{
	struct script_sink s = {
		.box = box,
		.shown.screen.eager = true,
		.text = BUF_INIT(8 << 20),
		.tail = BUF_INIT(TAIL_MAX),
	};
	struct stop limit = stop_within(stop, LIFECYCLE_SETUP_MS);
	struct setup_sink sink = { receive_output, &s };
	struct exec_result res = { 0 };
	int rc;

	lifecycle_say(box, "Running setup script: %s...", box->request.setup);
	rc = setup_run(&box->sandbox, script, &sink, &res, &limit, err);
	filter_output(&s, EXEC_STDOUT, STR(""), REDACT_END);
	buf_release(&s.text);
	if (*res.notice)
		lifecycle_warn(box, "%s", res.notice);
	if (rc < 0)
		error_wrap(err, "setup script");
	else if (res.exit_code != 0)
		rc = report_failed_script(&s, res.exit_code, err);
	else
		lifecycle_say(box, "✓ Setup complete");
	if (rc == 0 && box->sandbox.made_dir)
		report_start_dir(box);
	buf_release(&s.tail);
	return rc;
}

struct row_copy { /* a copied row; owned strings, or NULL: there is none */
	const char *name;
	char *provider, *endpoint, *id, *dir;
	struct ledger_snapshot row;
};

static bool copy_row(void *arg, const struct ledger_snapshot *row)
{
	struct row_copy *copy = arg;

	if (strcmp(row->name, copy->name) != 0)
		return true;
	copy->row = *row;
	copy->row.name = copy->name;
	copy->row.provider = copy->provider = xstrdup(row->provider);
	copy->row.endpoint = copy->endpoint = xstrdup(row->endpoint);
	copy->row.id = copy->id = xstrdup(row->id);
	copy->row.dir = copy->dir = xstrdup(row->dir);
	return false;
}

static void release_row(struct row_copy *copy)
{
	free(copy->provider);
	free(copy->endpoint);
	free(copy->id);
	free(copy->dir);
}

/* For so many seconds after its process has died, a vendor may still work on a
 * snapshot that is not listed yet. */
enum { MAKING_S = 600 };

/* Deletes the snapshot of a row, and the row. settled: the vendor does not work
 * on a request about it any more. */
static int remove_row(struct sandbox_client *client, struct store *store,
		      const struct ledger_snapshot *row, bool settled,
		      const struct stop *stop, struct error *err)
{
	int64_t age = clock_unix_ms() / 1000 - row->created;
	struct error ignored = { 0 };
	int rc = 0;
	/* A row with INTENT has no snapshot: if one has its name, it belongs to
	 * somebody else. */
	bool requests = row->state != LEDGER_SNAPSHOT_INTENT;
	enum ledger_snapshot_state state =
		requests ? LEDGER_SNAPSHOT_REMOVING : LEDGER_SNAPSHOT_INTENT;

	if (ledger_snapshot_claim(store, row, state, err) < 0)
		return -1;
	if (requests)
		rc = snapshot_remove(client, row->name,
				     row->id[0] ? row->id : NULL, stop, err);
	if (rc > 0 && !settled && !row->id[0] && age < MAKING_S)
		rc = error_set(err, ERR_BUSY,
			       "snapshot %s may still be in the making",
			       row->name);
	if (rc >= 0)
		return ledger_snapshot_drop(store, row->name, err);
	(void)ledger_snapshot_release(store, row->name, &ignored);
	return -1;
}

static int remove_named(struct sandbox_client *client, struct store *store,
			const char *name, bool settled, const struct stop *stop,
			struct error *err)
{
	struct row_copy copy = { .name = name };
	int rc = ledger_snapshot_each(store, copy_row, &copy, err);

	if (rc == 0 && copy.provider)
		rc = remove_row(client, store, &copy.row, settled, stop, err);
	release_row(&copy);
	return rc;
}

int lifecycle_snapshot_remove(struct sandbox_client *client,
			      struct store *store, const char *name,
			      const struct stop *stop, struct error *err)
{
	return remove_named(client, store, name, false, stop, err);
}

/* Returns 1 if the vendor still has the snapshot that dcode made, 0 if it is
 * gone or another one has its name. */
static int check_snapshot(const struct managed_sandbox *box,
			  const struct ledger_snapshot *row,
			  const struct stop *stop, struct error *err)
{
	char *id = NULL;
	int rc = snapshot_find(box->request.client, row->name, &id, stop, err);

	if (rc > 0 && strcmp(id, row->id) != 0) {
		lifecycle_warn(box,
			       "the snapshot %s was replaced at %s, so dcode "
			       "does not use it and runs the setup script",
			       row->name, row->provider);
		rc = 0;
	}
	free(id);
	return rc;
}

void lifecycle_setup_find(const struct managed_sandbox *box,
			  struct lifecycle_setup *setup,
			  const struct stop *stop)
{
	const struct lifecycle_request *r = &box->request;
	struct row_copy copy = { .name = setup->name };
	const struct ledger_snapshot *row = &copy.row;
	struct error err = { 0 };
	int rc;

	setup->cached = false;
	if (!setup->name[0])
		return;
	rc = ledger_snapshot_each(r->store, copy_row, &copy, &err);
	if (rc == 0 && copy.provider && row->state == LEDGER_SNAPSHOT_READY &&
	    !row->expired)
		rc = check_snapshot(box, row, stop, &err);
	if (rc > 0) {
		setup->cached = true;
		free(setup->dir);
		setup->dir = xstrdup(row->dir);
		(void)ledger_snapshot_used(r->store, setup->name, &err);
	} else if (rc == 0 && copy.provider && !row->owned_by_live) {
		/* What is left of it is deleted, so that its name is free. */
		rc = remove_row(r->client, r->store, row, false, stop, &err);
	}
	if (rc < 0) {
		lifecycle_say(box, "cache_setup is not used this time: %s",
			      err.message);
		setup->name[0] = '\0';
	}
	release_row(&copy);
}

struct crowd { /* counts the snapshots of one provider and endpoint */
	const struct sandbox_client *client;
	size_t n;
	char name[LIFECYCLE_SNAPSHOT_NAME]; /* one that is too many, or "" */
};

static bool count_snapshot(void *arg, const struct ledger_snapshot *row)
{
	struct crowd *c = arg;

	if (strcmp(row->provider, c->client->provider->name) != 0 ||
	    strcmp(row->endpoint, lifecycle_endpoint(c->client)) != 0 ||
	    row->owned_by_live ||
	    (++c->n <= LIFECYCLE_SNAPSHOTS && !row->expired))
		return true;
	snprintf(c->name, sizeof(c->name), "%s", row->name);
	return false;
}

/* Deletes the snapshots that are too old, and those used longest ago if there
 * are too many. What cannot be deleted now is left to gc. */
static void limit_snapshots(const struct managed_sandbox *box,
			    const struct stop *stop)
{
	const struct lifecycle_request *r = &box->request;
	struct error ignored = { 0 };
	struct crowd c;

	do {
		c = (struct crowd){ .client = r->client };
	} while (ledger_snapshot_each(r->store, count_snapshot, &c, &ignored) ==
			 0 &&
		 c.name[0] &&
		 lifecycle_snapshot_remove(r->client, r->store, c.name, stop,
					   &ignored) == 0);
}

/* Makes the snapshot of a row with LEDGER_SNAPSHOT_INTENT. 1: something else
 * has its name. */
static int make_snapshot(struct managed_sandbox *box,
			 const struct ledger_snapshot *row,
			 const struct stop *stop, struct error *err)
{
	const struct lifecycle_request *r = &box->request;
	struct sandbox *sb = &box->sandbox;
	char *id = NULL;
	int rc = snapshot_find(r->client, row->name, &id, stop, err);

	if (rc == 0)
		rc = ledger_snapshot_claim(r->store, row,
					   LEDGER_SNAPSHOT_MAKING, err);
	if (rc == 0)
		rc = snapshot_make(sb, row->name, false, stop, err);
	if (rc == 0) {
		rc = snapshot_find(r->client, row->name, &id, stop, err);
		if (rc == 0)
			rc = error_set(err, ERR_REMOTE,
				       "the snapshot was not made");
		else if (rc > 0)
			rc = ledger_snapshot_ready(
				r->store, row->name, id,
				sb->made_dir ? sb->workdir : NULL, err);
	}
	free(id);
	return rc;
}

/* Makes a snapshot of what the script has left. A failure is only a line for
 * the user: the sandbox itself is ready. */
static void save_snapshot(struct managed_sandbox *box,
			  const struct lifecycle_setup *setup,
			  const struct stop *stop)
{
	const struct lifecycle_request *r = &box->request;
	struct row_copy copy = { .name = setup->name };
	struct stop limit = stop_cleanup(LIFECYCLE_CLEANUP_MS);
	struct error ignored = { 0 };
	struct error err = { 0 };
	int rc;

	if (box->sandbox.mounts.n) {
		lifecycle_say(box,
			      "cache_setup is not used: the script may "
			      "have written to your own directories, which "
			      "a snapshot does not contain");
		return;
	}
	rc = ledger_snapshot_intend(r->store, setup->name,
				    r->client->provider->name,
				    lifecycle_endpoint(r->client), &err);
	if (rc == 0)
		rc = ledger_snapshot_each(r->store, copy_row, &copy, &err);
	if (rc == 0 && copy.provider) {
		lifecycle_say(box,
			      "Saving a snapshot after the setup script...");
		rc = make_snapshot(box, &copy.row, stop, &err);
	}
	if (rc == 0) {
		lifecycle_say(box,
			      "✓ Snapshot saved with everything that the "
			      "script wrote: for %d days, sandboxes start from "
			      "it and the script does not run",
			      LEDGER_SNAPSHOT_S / 86400);
		limit_snapshots(box, stop);
	} else if (rc > 0) {
		lifecycle_warn(box,
			       "%s has a snapshot %s that this dcode did not "
			       "make: it is not used, and not replaced",
			       r->client->provider->name, setup->name);
		(void)ledger_snapshot_drop(r->store, setup->name, &ignored);
	} else if (copy.provider) {
		lifecycle_say(box, "The snapshot was not saved: %s",
			      err.message);
		(void)ledger_snapshot_release(r->store, setup->name, &ignored);
		if (stop_check(stop, &ignored) == 0)
			(void)remove_named(r->client, r->store, setup->name,
					   !lifecycle_was_cut(&err), &limit,
					   &ignored);
	}
	release_row(&copy);
}

int lifecycle_setup_run(struct managed_sandbox *box,
			const struct lifecycle_setup *setup,
			const struct stop *stop, struct error *err)
{
	if (setup->cached) {
		lifecycle_say(box, "✓ Started from the snapshot that the setup "
				   "script left: it does not run again");
		if (setup->dir && setup->dir[0] &&
		    sandbox_move(&box->sandbox, str_of(setup->dir)))
			report_start_dir(box);
		return 0;
	}
	if (run_script(box, &setup->script, stop, err) < 0) {
		if (setup->name[0] && box->request.fill &&
		    err->code == ERR_REMOTE)
			error_hint(err, "With [sandboxes] cache_setup the "
					"script runs before your files are "
					"sent. If it needs them, set "
					"cache_setup = false.");
		return -1;
	}
	if (setup->name[0])
		save_snapshot(box, setup, stop);
	return 0;
}

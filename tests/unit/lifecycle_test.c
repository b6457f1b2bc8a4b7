/* lifecycle_test.c - whatever fails: gone, or in the ledger for gc. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ids.h"
#include "base/path.h"
#include "fake_store.h"
#include "lifecycle/lifecycle.h"
#include "session/session.h"
#include "session/sql.h"
#include "unit.h"

struct scene {
	struct fake_store f;
	char *script; /* a path */
	struct settings *set;
	struct mask *mask;
	struct cancel cancel;
	struct buf lines; /* progress */
	struct buf warnings;
	struct buf output;
};

static void progress(void *arg, const char *line)
{
	struct scene *s = arg;

	buf_addf(&s->lines, "%s\n", line);
}

static void warn(void *arg, const char *line)
{
	struct scene *s = arg;

	buf_addf(&s->warnings, "%s\n", line);
}

static void output(void *arg, enum exec_stream stream, struct str chunk)
{
	struct scene *s = arg;

	(void)stream;
	buf_addstr(&s->output, chunk);
}

static void write_script(struct scene *s, const char *text)
{
	struct error err = { 0 };

	assert_int_equal(path_write(s->script, str_of(text), 0600, &err), 0);
}

static int set_up(void **state)
{
	static char token[] = "DEPLOY_TOKEN=s3cret-token-value";
	static char shorty[] = "SHORTY=abc";
	static char *env[] = { token, shorty, NULL };
	static const struct setting_group groups[] = {
		{ .rows = settings_core }, { 0 }
	};
	struct scene *s = xcalloc(1, sizeof(*s));
	struct error err = { 0 };

	fake_store_open(&s->f);
	s->script = path_join(s->f.dir, "setup.sh");
	assert_int_equal(settings_load(&s->set,
				       &(struct settings_input){
					       .home = s->f.dir,
					       .cwd = s->f.dir,
					       .environ = env,
					       .groups = groups,
				       },
				       &err),
			 0);
	s->f.client.settings = s->set;
	s->mask = mask_new();
	assert_int_equal(cancel_init(&s->cancel, &err), 0);
	s->lines = BUF_INIT(1 << 20);
	s->warnings = BUF_INIT(1 << 20);
	s->output = BUF_INIT(1 << 20);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	fake_store_close(&s->f);
	settings_free(s->set);
	mask_free(s->mask);
	cancel_release(&s->cancel);
	buf_release(&s->lines);
	buf_release(&s->warnings);
	buf_release(&s->output);
	free(s->script);
	free(s);
	return 0;
}

static struct lifecycle_request request(struct scene *s)
{
	return (struct lifecycle_request){
		.client = &s->f.client,
		.store = s->f.store,
		.mask = s->mask,
		.ui = { progress, warn, output, NULL, NULL, s },
	};
}

struct rows {
	int n;
	enum ledger_state state;
	char label[16];
	char note[200];
};

static bool count(void *arg, const struct ledger_row *row)
{
	struct rows *rows = arg;

	rows->n++;
	rows->state = row->state;
	snprintf(rows->label, sizeof(rows->label), "%s", row->label);
	snprintf(rows->note, sizeof(rows->note), "%s", row->note);
	return true;
}

static struct rows rows_of(struct scene *s, bool all)
{
	struct rows rows = { 0 };
	struct error err = { 0 };

	assert_int_equal(ledger_each(s->f.store, all, count, &rows, &err), 0);
	return rows;
}

static void has(const struct buf *text, const char *what)
{
	if (!text->ptr || !strstr(text->ptr, what))
		fail_msg("no \"%s\" in: %s", what, text->ptr);
}

static void from_start_to_end(void **state)
{
	struct scene *s = *state;
	struct lifecycle_request r = request(s);
	struct stop stop = stop_on(&s->cancel);
	struct error err = { 0 };
	struct managed_sandbox box = { 0 };

	write_script(s, "#!/bin/sh\necho \"got $DEPLOY_TOKEN\"\n"
			"echo '${SHORTY}' > made\n");
	r.setup = s->script;
	assert_int_equal(lifecycle_open(&box, &r, &stop, &err), 0);
	assert_int_equal(rows_of(s, false).n, 1);
	assert_int_equal(rows_of(s, false).state, LEDGER_LIVE);
	assert_string_equal(rows_of(s, false).label, box.label);
	assert_true(box.ours);
	assert_int_equal(fake_alive(), 1);
	has(&s->lines, "Starting Fake sandbox...\n");
	has(&s->lines, "✓ Fake sandbox ready: machine-1\n");
	has(&s->lines, "Running setup script: ");
	has(&s->lines, "✓ Setup complete\n");
	assert_string_equal(s->output.ptr, "got [masked:DEPLOY_TOKEN]\n");
	has(&s->warnings, "SHORTY");
	assert_int_equal(lifecycle_close(&box, &err), 0);
	assert_int_equal(fake_alive(), 0);
	assert_int_equal(rows_of(s, false).n, 0);
	assert_int_equal(rows_of(s, true).n, 1);
	assert_int_equal(lifecycle_close(&box, &err), 0);
	assert_int_equal(fake.calls, 3);
}

static void missing_script_first(void **state)
{
	struct scene *s = *state;
	struct lifecycle_request r = request(s);
	struct stop stop = stop_on(&s->cancel);
	struct error err = { 0 };
	struct managed_sandbox box = { 0 };

	r.setup = "/no/such/file";
	assert_int_equal(lifecycle_open(&box, &r, &stop, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_string_equal(err.message, "Setup script not found: "
					 "/no/such/file");
	assert_int_equal(fake.calls, 0);
	assert_int_equal(rows_of(s, true).n, 0);
	assert_null(s->lines.ptr);
}

static void failing_script_deletes(void **state)
{
	struct scene *s = *state;
	struct lifecycle_request r = request(s);
	struct stop stop = stop_on(&s->cancel);
	struct error err = { 0 };
	struct managed_sandbox box = { 0 };

	write_script(s, "echo ${DEPLOY_TOKEN}; exit 7\n");
	r.setup = s->script;
	r.ui.output = NULL; /* then it is in the lines */
	assert_int_equal(lifecycle_open(&box, &r, &stop, &err), -1);
	assert_string_equal(err.message, "Setup failed - aborting");
	assert_int_equal(err.code, ERR_REMOTE);
	has(&s->lines, "Setup script failed (exit 7):\n"
		       "[masked:DEPLOY_TOKEN]\n");
	assert_int_equal(fake_alive(), 0);
	assert_int_equal(rows_of(s, false).n, 0);
	assert_int_equal(rows_of(s, true).n, 1);
}

static void attached_is_kept(void **state)
{
	struct scene *s = *state;
	struct lifecycle_request r = request(s);
	struct stop stop = stop_on(&s->cancel);
	struct error err = { 0 };
	struct managed_sandbox box = { 0 };
	char id[32];

	fake_add("other", "other", id);
	write_script(s, "echo ran");
	r.setup = s->script;
	r.attach_id = id;
	assert_int_equal(lifecycle_open(&box, &r, &stop, &err), 0);
	assert_false(box.ours);
	has(&s->output, "ran");
	assert_int_equal(lifecycle_close(&box, &err), 0);
	assert_int_equal(fake_alive(), 1);
	write_script(s, "exit 1");
	assert_int_equal(lifecycle_open(&box, &r, &stop, &err), -1);
	assert_int_equal(fake_alive(), 1);
	assert_int_equal(rows_of(s, true).n, 0);
	r.attach_id = "nothing";
	assert_int_equal(lifecycle_open(&box, &r, &stop, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void refusals(void **state)
{
	struct scene *s = *state;
	struct lifecycle_request r = request(s);
	struct stop stop = stop_on(&s->cancel);
	struct error err = { 0 };
	struct managed_sandbox box = { 0 };

	r.snapshot = "x";
	assert_int_equal(lifecycle_open(&box, &r, &stop, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	r.attach_id = "y";
	assert_int_equal(lifecycle_open(&box, &r, &stop, &err), -1);
	assert_non_null(strstr(err.message, "cannot be combined"));
	cancel_trigger(&s->cancel);
	r = request(s);
	assert_int_equal(lifecycle_open(&box, &r, &stop, &err), -1);
	assert_int_equal(err.code, ERR_CANCELLED);
	assert_int_equal(fake.calls, 0);
	assert_int_equal(rows_of(s, true).n, 0);
}

static int host(void *arg, const char *provider, struct sandbox_client *h,
		struct error *err)
{
	struct scene *s = arg;

	if (strcmp(provider, "fake") != 0)
		return error_set(err, ERR_CONFIG, "not configured");
	*h = s->f.client;
	return 0;
}

static void no_item(void *arg, const struct gc_item *item)
{
	struct scene *s = arg;

	buf_addf(&s->output, "%s %s %s %d %s\n", item->provider, item->label,
		 item->id, (int)item->outcome, item->reason);
}

static size_t gc(struct scene *s, bool dry_run)
{
	struct gc_request g = { .store = s->f.store,
				.providers = fake_providers,
				.dry_run = dry_run,
				.client = host,
				.each = no_item,
				.arg = s };
	struct stop stop = stop_cleanup(10000);
	struct error err = { 0 };
	size_t left = 99;

	buf_clear(&s->output);
	if (lifecycle_gc(&g, &left, &stop, &err) < 0)
		fail_msg("%s", err.message);
	return left;
}

/* The ledger's owner is this process: pretend that it died. */
static void orphan(struct scene *s)
{
	assert_int_equal(sqlite3_exec(s->f.store->db,
				      "UPDATE ledger SET started=1", NULL, NULL,
				      NULL),
			 SQLITE_OK);
}

static const enum err kinds[] = { ERR_NETWORK, ERR_REMOTE, ERR_AUTH,
				  ERR_TIMEOUT, ERR_GONE,   ERR_CANCELLED };

/* One open and close with call n failing; true while n was reached. */
static bool torture(void **state, int n, enum err kind, bool after)
{
	struct scene *s;
	struct lifecycle_request r;
	struct stop stop;
	struct error err = { 0 };
	struct managed_sandbox box = { 0 };
	bool reached;
	struct rows rows;

	set_up(state);
	s = *state;
	stop = stop_on(&s->cancel);
	write_script(s, "echo ran");
	r = request(s);
	r.setup = s->script;
	fake.fail_at = n;
	fake.fail_with = kind;
	fake.fail_after = after;
	fake.forgets_id = n % 2 == 0 || kind == ERR_TIMEOUT;
	if (kind == ERR_CANCELLED)
		fake.cancel_at_call = &s->cancel;
	r.cancels_at_once = after;
	(void)lifecycle_open(&box, &r, &stop, &err);
	(void)lifecycle_close(&box, &err);
	reached = fake.calls >= n;
	rows = rows_of(s, false);
	if (fake_alive() != 0 && rows.n == 0)
		fail_msg("call %d, %s: lost", n, error_name(kind));
	if (rows.n) {
		assert_true(rows.note[0] != '\0');
		has(&s->warnings, "sandbox gc");
	}
	fake.fail_at = 0;
	orphan(s);
	assert_int_equal(gc(s, false), 0);
	assert_int_equal(fake_alive(), 0);
	assert_int_equal(rows_of(s, false).n, 0);
	tear_down(state);
	return reached;
}

static void fails_at_every_step(void **state)
{
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		int n = 1;

		while (torture(state, n, kinds[k], false))
			n++;
		assert_in_range(n, 4, 9);
		n = 1;
		while (torture(state, n, kinds[k], true))
			n++;
		assert_in_range(n, 4, 9);
	}
}

static void retries_keep_the_label(void **state)
{
	struct scene *s = *state;
	struct lifecycle_request r = request(s);
	struct stop stop = stop_on(&s->cancel);
	struct error err = { 0 };
	struct managed_sandbox box = { 0 };

	fake.fail_at = 1;
	fake.fail_for = 1;
	fake.fail_with = ERR_NETWORK;
	fake.fail_after = true;
	assert_int_equal(lifecycle_open(&box, &r, &stop, &err), 0);
	assert_int_equal(fake.made, 1);
	assert_int_equal(fake.calls, 3);
	assert_int_equal(lifecycle_close(&box, &err), 0);
	assert_int_equal(fake_alive(), 0);
}

static void gc_touches_only_ours(void **state)
{
	struct scene *s = *state;
	struct lifecycle_request r = request(s);
	struct stop stop = stop_on(&s->cancel);
	struct error err = { 0 };
	struct managed_sandbox live = { 0 };
	struct managed_sandbox dead = { 0 };
	char id[32];

	fake_add("dcode-aaaaaaaa", "somebody else", id);
	fake_add("theirs", store_owner(s->f.store), id);
	fake_add("dcode-bbbbbbbb", store_owner(s->f.store), id); /* no row */
	assert_int_equal(lifecycle_open(&dead, &r, &stop, &err), 0);
	orphan(s);
	assert_int_equal(lifecycle_open(&live, &r, &stop, &err), 0);
	assert_int_equal(fake_alive(), 5);
	assert_int_equal(gc(s, true), 0); /* dry */
	assert_int_equal(fake_alive(), 5);
	has(&s->output, dead.label);
	has(&s->output, "dcode-bbbbbbbb");
	assert_null(strstr(s->output.ptr, live.label));
	assert_null(strstr(s->output.ptr, "dcode-aaaaaaaa"));
	assert_int_equal(gc(s, false), 0);
	assert_int_equal(fake_alive(), 3);
	assert_true(fake_find("machine-1") >= 0);
	assert_true(fake_find("machine-2") >= 0);
	assert_true(fake_find(live.sandbox.id) >= 0);
	assert_int_equal(rows_of(s, false).n, 1);
	assert_int_equal(gc(s, false), 0);
	assert_int_equal(fake_alive(), 3);
	sandbox_release(&dead.sandbox);
	assert_int_equal(lifecycle_close(&live, &err), 0);
}

static void gc_of_the_silent(void **state)
{
	struct scene *s = *state;
	struct error err = { 0 };
	char label[16];

	assert_int_equal(ledger_intend(s->f.store, "fake", "", 0, label, &err),
			 0);
	orphan(s);
	fake.fail_at = 1;
	fake.fail_with = ERR_NETWORK;
	assert_int_equal(gc(s, false), 1);
	assert_int_equal(rows_of(s, false).n, 1);
	assert_int_equal(gc(s, false), 0);
	assert_int_equal(rows_of(s, false).n, 0);
	/* A provider that cannot be opened, with a row. */
	assert_int_equal(ledger_intend(s->f.store, "poor", "", 0, label, &err),
			 0);
	orphan(s);
	assert_int_equal(gc(s, false), 1);
	has(&s->output, "not configured");
	/* Another engine of the same provider. */
	assert_int_equal(ledger_gone(s->f.store, label, &err), 0);
	assert_int_equal(ledger_intend(s->f.store, "fake", "tcp://other", 0,
				       label, &err),
			 0);
	assert_int_equal(ledger_created(s->f.store, label, "machine-1", &err),
			 0);
	orphan(s);
	assert_int_equal(gc(s, false), 1);
	has(&s->output, "tcp://other");
	assert_int_equal(rows_of(s, false).n, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(from_start_to_end),
		TEST(missing_script_first),
		TEST(failing_script_deletes),
		TEST(attached_is_kept),
		TEST(refusals),
		cmocka_unit_test(fails_at_every_step),
		TEST(retries_keep_the_label),
		TEST(gc_touches_only_ours),
		TEST(gc_of_the_silent),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

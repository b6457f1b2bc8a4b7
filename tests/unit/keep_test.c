/* keep_test.c - what is kept is neither lost nor left without an end. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/ids.h"
#include "base/path.h"
#include "fake_store.h"
#include "lifecycle/lifecycle.h"
#include "session/session.h"
#include "session/sql.h"
#include "unit.h"

struct scene {
	struct fake_store f;
	struct buf lines; /* progress and warnings */
};

static void note_line(void *arg, const char *line)
{
	struct scene *s = arg;

	buf_addf(&s->lines, "%s\n", line);
}

static int set_up(void **state)
{
	struct scene *s = xcalloc(1, sizeof(*s));

	fake_store_open(&s->f);
	s->lines = BUF_INIT(1 << 20);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	fake_store_close(&s->f);
	buf_release(&s->lines);
	free(s);
	return 0;
}

static struct lifecycle_request request(struct scene *s,
					enum lifecycle_exit on_exit)
{
	return (struct lifecycle_request){
		.client = &s->f.client,
		.store = s->f.store,
		.on_exit = on_exit,
		.ui = { .progress = note_line, .warn = note_line, .arg = s },
	};
}

static void has(struct scene *s, const char *what)
{
	if (!s->lines.ptr || !strstr(s->lines.ptr, what))
		fail_msg("no \"%s\" in:\n%s", what, s->lines.ptr);
}

struct seen {
	enum ledger_state state;
	bool held, live;
	int64_t ends;
	char label[16], thread[40], note[200];
};

static bool see(void *arg, const struct ledger_row *row)
{
	struct seen *seen = arg;

	seen->state = row->state;
	seen->held = row->held;
	seen->live = row->owned_by_live;
	seen->ends = row->ends;
	snprintf(seen->label, sizeof(seen->label), "%s", row->label);
	snprintf(seen->thread, sizeof(seen->thread), "%s", row->thread);
	snprintf(seen->note, sizeof(seen->note), "%s", row->note);
	return true;
}

/* The only row. */
static struct seen row_of(struct scene *s)
{
	struct seen seen = { 0 };
	struct error err = { 0 };

	assert_int_equal(ledger_each(s->f.store, true, see, &seen, &err), 0);
	return seen;
}

static void sql(struct scene *s, const char *text)
{
	assert_int_equal(sqlite3_exec(s->f.store->db, text, NULL, NULL, NULL),
			 SQLITE_OK);
}

static int open_fake(void *arg, const char *provider,
		     struct sandbox_client *client, struct error *err)
{
	(void)arg;
	(void)provider;
	(void)err;
	*client = (struct sandbox_client){ .provider = &fake_provider };
	return 0;
}

static const struct sandbox_provider *const all[] = { &fake_provider, NULL };

static void gc(struct scene *s)
{
	struct gc_request g = { .store = s->f.store,
				.providers = all,
				.client = open_fake };
	struct stop stop = stop_cleanup(10000);
	struct error err = { 0 };
	size_t left = 99;

	assert_int_equal(lifecycle_gc(&g, &left, &stop, &err), 0);
	assert_int_equal(left, 0);
}

/* A sandbox that was opened and closed with this. */
static void make(struct scene *s, enum lifecycle_exit on_exit)
{
	struct lifecycle_request r = request(s, on_exit);
	struct stop stop = stop_cleanup(10000);
	struct managed_sandbox box = { 0 };
	struct error err = { 0 };

	r.thread = "a-thread";
	assert_int_equal(lifecycle_open(&box, &r, &stop, &err), 0);
	assert_int_equal(lifecycle_close(&box, &err), 0);
}

static int resume(struct scene *s, struct managed_sandbox *box,
		  const char *label, enum lifecycle_exit on_exit,
		  struct error *err)
{
	struct lifecycle_request r = request(s, on_exit);
	struct stop stop = stop_cleanup(10000);

	r.resume = label;
	return lifecycle_open(box, &r, &stop, err);
}

static void test_a_stopped_one_is_held_until_its_end(void **state)
{
	struct scene *s = *state;
	struct seen row;

	make(s, LIFECYCLE_STOP);
	row = row_of(s);
	assert_int_equal(row.state, LEDGER_STOPPED);
	assert_true(row.held && !row.live);
	assert_true(row.ends > time(NULL) + LIFECYCLE_KEEP_S - 60);
	assert_string_equal(row.thread, "a-thread");
	assert_true(fake.machines[0].stopped);
	has(s, "stopped, its files are kept: machine-1, until 20");
	has(s, "dcode -r a-thread");
	has(s, "dcode sandbox rm machine-1");
	gc(s);
	assert_int_equal(fake_alive(), 1);
	sql(s, "UPDATE ledger SET ends = 5");
	gc(s);
	assert_int_equal(fake_alive(), 0);
	assert_int_equal(row_of(s).state, LEDGER_GONE);
}

static void
test_a_running_one_is_held_as_far_as_its_vendor_lets_it(void **state)
{
	struct scene *s = *state;
	struct seen row;

	make(s, LIFECYCLE_KEEP);
	row = row_of(s);
	assert_int_equal(row.state, LEDGER_LIVE);
	assert_true(row.held && !row.live);
	/* It cannot be extended: until the end that it was made with. */
	assert_in_range(row.ends, time(NULL),
			time(NULL) + fake_provider.lifetime_s);
	assert_false(fake.machines[0].stopped);
	gc(s);
	assert_int_equal(fake_alive(), 1);
}

static void test_a_deletion_that_was_begun_is_finished_by_gc(void **state)
{
	struct scene *s = *state;
	struct error err = { 0 };

	make(s, LIFECYCLE_STOP);
	assert_int_equal(ledger_removing(s->f.store, row_of(s).label, &err), 0);
	assert_false(row_of(s).held);
	gc(s);
	assert_int_equal(fake_alive(), 0);
}

static void test_a_stopped_one_is_taken_over_and_started(void **state)
{
	struct scene *s = *state;
	struct managed_sandbox box = { 0 };
	struct managed_sandbox other = { 0 };
	struct error err = { 0 };
	struct seen row;

	make(s, LIFECYCLE_STOP);
	row = row_of(s);
	assert_int_equal(resume(s, &box, row.label, LIFECYCLE_DELETE, &err), 0);
	assert_true(box.ours && box.resumed && box.was_kept);
	assert_int_equal(box.before, LEDGER_STOPPED);
	assert_string_equal(box.sandbox.id, "machine-1");
	assert_false(fake.machines[0].stopped);
	assert_int_equal(row_of(s).state, LEDGER_LIVE);
	assert_true(row_of(s).held && row_of(s).live);
	/* It has one user. */
	assert_int_equal(resume(s, &other, row.label, LIFECYCLE_DELETE, &err),
			 -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_int_equal(row_of(s).state, LEDGER_LIVE);
	assert_int_equal(lifecycle_close(&box, &err), 0);
	assert_int_equal(fake_alive(), 0);
	assert_int_equal(row_of(s).state, LEDGER_GONE);
}

static void test_what_a_crash_left_is_taken_over(void **state)
{
	struct scene *s = *state;
	struct lifecycle_request r = request(s, LIFECYCLE_DELETE);
	struct stop stop = stop_cleanup(10000);
	struct managed_sandbox crashed = { 0 };
	struct managed_sandbox box = { 0 };
	struct error err = { 0 };

	assert_int_equal(lifecycle_open(&crashed, &r, &stop, &err), 0);
	sql(s, "UPDATE ledger SET started = 1"); /* as if it had died */
	assert_int_equal(resume(s, &box, crashed.label, LIFECYCLE_STOP, &err),
			 0);
	assert_false(box.was_kept);
	assert_int_equal(lifecycle_close(&box, &err), 0);
	assert_int_equal(row_of(s).state, LEDGER_STOPPED);
	assert_true(row_of(s).held);
	sandbox_release(&crashed.sandbox);
}

static void test_one_that_is_gone_is_told_and_its_row_closed(void **state)
{
	struct scene *s = *state;
	struct managed_sandbox box = { 0 };
	struct error err = { 0 };
	struct seen row;

	make(s, LIFECYCLE_STOP);
	row = row_of(s);
	fake.machines[0].id[0] = '\0';
	for (int i = 0; i < 2; i++) {
		err = (struct error){ 0 };
		assert_int_equal(
			resume(s, &box, row.label, LIFECYCLE_DELETE, &err), -1);
		assert_int_equal(err.code, ERR_GONE);
		assert_int_equal(row_of(s).state, LEDGER_GONE);
	}
	err = (struct error){ 0 };
	assert_int_equal(
		resume(s, &box, "dcode-aaaaaaaa", LIFECYCLE_DELETE, &err), -1);
	assert_int_equal(err.code, ERR_GONE);
}

static void test_a_resume_that_fails_changes_nothing(void **state)
{
	struct scene *s = *state;
	struct managed_sandbox box = { 0 };
	struct error err = { 0 };
	struct seen before;

	make(s, LIFECYCLE_STOP);
	before = row_of(s);
	fake.fail_at = fake.calls + 1;
	fake.fail_with = ERR_AUTH;
	assert_int_equal(resume(s, &box, before.label, LIFECYCLE_DELETE, &err),
			 -1);
	assert_int_equal(err.code, ERR_AUTH);
	assert_int_equal(row_of(s).state, LEDGER_STOPPED);
	assert_true(row_of(s).held && !row_of(s).live);
	/* Nobody knows whether the vendor started it: then it may run. */
	fake.fail_at = fake.calls + 1;
	fake.fail_with = ERR_NETWORK;
	assert_int_equal(resume(s, &box, before.label, LIFECYCLE_DELETE, &err),
			 -1);
	assert_int_equal(row_of(s).state, LEDGER_LIVE);
	assert_true(row_of(s).held && !row_of(s).live);
	assert_true(row_of(s).ends >= before.ends);
	gc(s);
	assert_int_equal(fake_alive(), 1);
}

static const enum err kinds[] = { ERR_NETWORK, ERR_REMOTE, ERR_AUTH,
				  ERR_TIMEOUT, ERR_GONE,   ERR_CANCELLED };

/* Opened, then stopped with call n failing; true while n was reached. */
static bool stop_fails_at(void **state, int n, enum err kind, bool after)
{
	struct lifecycle_request r;
	struct stop stop = stop_cleanup(10000);
	struct managed_sandbox box = { 0 };
	struct error err = { 0 };
	struct scene *s;
	struct seen row;
	bool reached;

	set_up(state);
	s = *state;
	r = request(s, LIFECYCLE_STOP);
	assert_int_equal(lifecycle_open(&box, &r, &stop, &err), 0);
	fake.fail_at = fake.calls + n;
	fake.fail_with = kind;
	fake.fail_after = after;
	(void)lifecycle_close(&box, &err);
	reached = fake.calls >= fake.fail_at;
	row = row_of(s);
	if (kind == ERR_GONE && reached) {
		assert_int_equal(row.state, LEDGER_GONE);
		has(s, "was not kept");
	} else {
		assert_true(row.held && !row.live);
		assert_true(row.state == LEDGER_STOPPED || row.note[0]);
		gc(s); /* nothing of it is deleted */
		assert_int_equal(fake_alive(), 1);
	}
	tear_down(state);
	return reached;
}

static void test_a_stop_that_fails_leaves_a_row_that_says_so(void **state)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (int after = 0; after < 2; after++) {
			int n = 1;

			while (stop_fails_at(state, n, kinds[i], after))
				n++;
			assert_true(n > 1);
		}
}

/* Another dcode that wants the sandbox of label while gc is at work. */
struct rival {
	struct scene *scene;
	char label[16];
	/* gc knows it by its row alone; taken when the provider is opened,
	 * else before the removal. */
	bool unlisted;
	struct managed_sandbox box;
	enum err answer;
};

static void take_over(struct rival *rival)
{
	struct error err = { 0 };

	(void)resume(rival->scene, &rival->box, rival->label, LIFECYCLE_DELETE,
		     &err);
	rival->answer = err.code;
}

static int open_and_take(void *arg, const char *provider,
			 struct sandbox_client *client, struct error *err)
{
	static struct sandbox_provider unlisted;
	struct rival *rival = arg;

	unlisted = fake_provider;
	unlisted.flags &= ~(unsigned)SANDBOX_LIST;
	(void)open_fake(NULL, provider, client, err);
	if (rival->unlisted) {
		client->provider = &unlisted;
		take_over(rival);
	}
	return 0;
}

static void take_before_removal(void *arg, struct sandbox_client *client,
				const struct gc_item *item)
{
	struct rival *rival = arg;

	(void)client;
	(void)item;
	if (!rival->unlisted)
		take_over(rival);
}

/* gc, of one whose time is over, with such a rival. */
static void gc_with(struct rival *rival)
{
	struct scene *s = rival->scene;
	struct gc_request g = { .store = s->f.store,
				.providers = all,
				.client = open_and_take,
				.before_remove = take_before_removal,
				.arg = rival };
	struct stop stop = stop_cleanup(10000);
	struct error err = { 0 };
	size_t left = 99;

	make(s, LIFECYCLE_STOP);
	sql(s, "UPDATE ledger SET ends = 5");
	snprintf(rival->label, sizeof(rival->label), "%s", row_of(s).label);
	assert_int_equal(lifecycle_gc(&g, &left, &stop, &err), 0);
	assert_int_equal(left, 0);
}

static void test_gc_leaves_one_that_was_taken_over_meanwhile(void **state)
{
	struct rival rival = { .scene = *state, .unlisted = true };
	struct error err = { 0 };

	gc_with(&rival);
	assert_int_equal(rival.answer, 0);
	assert_int_equal(fake_alive(), 1);
	assert_int_equal(row_of(*state).state, LEDGER_LIVE);
	assert_int_equal(lifecycle_close(&rival.box, &err), 0);
	assert_int_equal(fake_alive(), 0);
}

static void test_nobody_takes_over_what_gc_saves_and_deletes(void **state)
{
	struct rival rival = { .scene = *state };

	gc_with(&rival);
	assert_int_equal(rival.answer, ERR_GONE);
	assert_int_equal(fake_alive(), 0);
	assert_int_equal(row_of(*state).state, LEDGER_GONE);
}

static int claim(struct scene *s, enum ledger_spared spared)
{
	struct error err = { 0 };
	int rc =
		ledger_claim_removal(s->f.store, row_of(s).label, spared, &err);

	assert_int_equal(err.code, rc < 0 ? ERR_BUSY : 0);
	assert_int_equal(row_of(s).state == LEDGER_REMOVING, rc == 0);
	return rc;
}

static void test_a_removal_spares_what_it_was_told_to(void **state)
{
	struct scene *s = *state;
	struct managed_sandbox box = { 0 };
	struct error err = { 0 };

	make(s, LIFECYCLE_STOP);
	assert_int_equal(claim(s, LEDGER_SPARE_HELD), -1);
	assert_int_equal(resume(s, &box, row_of(s).label, LIFECYCLE_STOP, &err),
			 0);
	assert_int_equal(claim(s, LEDGER_SPARE_USED), -1);
	assert_int_equal(claim(s, LEDGER_SPARE_NONE), 0);
	assert_int_equal(lifecycle_close(&box, &err), 0);
	assert_int_equal(claim(s, LEDGER_SPARE_USED), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_stopped_one_is_held_until_its_end),
		TEST(test_a_running_one_is_held_as_far_as_its_vendor_lets_it),
		TEST(test_a_deletion_that_was_begun_is_finished_by_gc),
		TEST(test_a_stopped_one_is_taken_over_and_started),
		TEST(test_what_a_crash_left_is_taken_over),
		TEST(test_one_that_is_gone_is_told_and_its_row_closed),
		TEST(test_a_resume_that_fails_changes_nothing),
		TEST(test_gc_leaves_one_that_was_taken_over_meanwhile),
		TEST(test_nobody_takes_over_what_gc_saves_and_deletes),
		TEST(test_a_removal_spares_what_it_was_told_to),
		cmocka_unit_test(
			test_a_stop_that_fails_leaves_a_row_that_says_so),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

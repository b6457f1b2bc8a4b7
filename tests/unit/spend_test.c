/* spend_test.c - what a thread has cost, stored once, whatever fails. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "session/ledger.h"
#include "session/records.h"
#include "session/session.h"
#include "session/sql.h"
#include "session/thread.h"
#include "store_open.h"
#include "unit.h"

struct room {
	char dir[32];
	struct store *store;
	struct session *session;
	struct meter *meter;
	int64_t thread;
};

static int64_t now_ms;

static int64_t fake_clock(void)
{
	return now_ms;
}

static void append(struct session *s)
{
	struct message m = { .role = ROLE_USER };
	struct usage u = { 0 };
	struct error err = { 0 };

	message_add(&m, PART_TEXT)->text = xstrdup("x");
	if (session_append(s, &m, &u, &err) < 0)
		fail_msg("%s", err.message);
	message_release(&m);
}

static int set_up(void **state)
{
	struct room *r = xcalloc(1, sizeof(*r));
	struct error err = { 0 };
	char *path;

	memcpy(r->dir, "/tmp/dcode-spend-XXXXXX", 24);
	assert_non_null(mkdtemp(r->dir));
	path = path_join(r->dir, "dcode.db");
	assert_int_equal(store_open(&r->store, path, NULL, &err), 0);
	free(path);
	r->session = session_new(
		r->store, &(struct session_info){ .model = "m", .cwd = "/" });
	now_ms = 1000;
	r->meter = meter_new(fake_clock);
	*state = r;
	return 0;
}

static int tear_down(void **state)
{
	struct room *r = *state;
	struct error err = { 0 };

	meter_free(r->meter);
	session_free(r->session);
	store_close(r->store);
	assert_int_equal(path_remove_tree(r->dir, &err), 0);
	free(r);
	return 0;
}

static const struct model_facts facts = {
	.priced = true,
	.price = { 3000000, 15000000, 300000, 3750000 },
};

/* One answer of 100 tokens in and 10 out: $0.00045. */
static void answer(struct room *r, const char *name, bool priced)
{
	struct model_facts f = facts;
	struct meter_call call = { .input = 100, .output = 10 };
	struct error err = { 0 };
	struct meter_model *mm;

	f.priced = priced;
	mm = meter_model(r->meter, name, &f);
	assert_int_equal(meter_reserve(mm, &call, &err), 0);
	meter_settle(mm, &call, METER_DONE,
		     &(struct usage){ .input = 100, .output = 10 });
}

enum { ANSWER = 450000000 };

static int store(struct room *r)
{
	struct error err = { 0 };

	return spend_store(r->session, r->meter, &err);
}

struct sum {
	int64_t cost, ms, calls, lines;
	bool priced;
};

static void add(void *arg, const struct meter_line *l)
{
	struct sum *s = arg;

	s->cost += l->cost;
	s->ms += l->ms;
	s->calls += l->calls;
	s->priced &= l->priced;
	s->lines++;
}

static struct sum stored(struct room *r)
{
	struct sum s = { .priced = true };
	struct error err = { 0 };
	int64_t no = 0;

	(void)session_store(r->session, &no);
	if (spend_each(r->store, no, add, &s, &err) < 0)
		fail_msg("%s", err.message);
	return s;
}

static void test_each_cost_is_stored_once(void **state)
{
	struct room *r = *state;
	struct sum s;

	answer(r, "a:m", true);
	assert_int_equal(store(r), 0); /* there is no thread yet: it waits */
	append(r->session);
	assert_int_equal(store(r), 0);
	assert_int_equal(store(r), 0);
	s = stored(r);
	assert_int_equal(s.cost, ANSWER);
	answer(r, "a:m", true);
	answer(r, "b:m", true);
	(void)meter_sandbox_begin(r->meter, "box", 1000000, false);
	now_ms += 2000;
	assert_int_equal(store(r), 0);
	assert_int_equal(store(r), 0);
	s = stored(r);
	assert_int_equal(s.cost, 3 * ANSWER + 2000000);
	assert_int_equal(s.ms, 2000);
	assert_int_equal(s.calls, 3);
	assert_int_equal(s.lines, 3);
}

static void run_sql(struct room *r, const char *sql)
{
	assert_int_equal(sqlite3_exec(r->store->db, sql, NULL, NULL, NULL),
			 SQLITE_OK);
}

static void test_what_could_not_be_stored_is_stored_later(void **state)
{
	struct room *r = *state;
	struct sum s;

	append(r->session);
	answer(r, "a:m", true);
	answer(r, "b:m", true);
	run_sql(r, "CREATE TRIGGER full BEFORE INSERT ON spend"
		   " WHEN NEW.name='b:m' BEGIN"
		   " SELECT RAISE(FAIL, 'disk full'); END;");
	assert_int_equal(store(r), -1);
	assert_int_equal(store(r), -1);
	assert_int_equal(stored(r).cost, ANSWER); /* that of a:m, once */
	answer(r, "b:m", true);
	run_sql(r, "DROP TRIGGER full");
	assert_int_equal(store(r), 0);
	s = stored(r);
	assert_int_equal(s.cost, 3 * ANSWER);
	assert_int_equal(s.calls, 3);
}

static void test_an_answer_without_a_price_is_told(void **state)
{
	struct room *r = *state;

	append(r->session);
	answer(r, "a:m", true);
	assert_int_equal(store(r), 0);
	assert_true(stored(r).priced);
	answer(r, "a:m", false);
	assert_int_equal(store(r), 0);
	assert_false(stored(r).priced);
	assert_int_equal(stored(r).cost, ANSWER);
}

/* A kept sandbox that has stood unused for so many seconds. */
static void keep(struct room *r, char label[16], enum ledger_state how,
		 int64_t seconds, int64_t ends_in)
{
	int64_t now = clock_unix_ms() / 1000;
	struct error err = { 0 };
	char *sql;

	assert_int_equal(ledger_intend(r->store, "box", "", 60, label, &err),
			 0);
	assert_int_equal(ledger_created(r->store, label, "id", &err), 0);
	assert_int_equal(ledger_keep(r->store, label, how, now + ends_in,
				     session_id(r->session), &err),
			 0);
	assert_int_equal(ledger_price(r->store, label, 1000000, &err), 0);
	assert_int_equal(ledger_kept(r->store, label, how, now + ends_in, &err),
			 0);
	sql = xasprintf("UPDATE ledger SET changed=changed-%lld"
			" WHERE label='%s'",
			(long long)seconds, label);
	run_sql(r, sql);
	free(sql);
}

static void test_a_kept_sandbox_costs_until_it_is_used_again(void **state)
{
	struct room *r = *state;
	enum ledger_state before;
	char label[16];
	struct error err = { 0 };
	struct sum s;

	append(r->session);
	keep(r, label, LEDGER_LIVE, 3600, 9999);
	assert_int_equal(stored(r).ms, 0);
	assert_int_equal(ledger_claim(r->store, label, 0, &before, &err), 0);
	s = stored(r);
	assert_in_range(s.ms, 3600000, 3630000);
	assert_int_equal(s.cost, s.ms / 1000 * 1000000);
	/* from here on the run that uses it counts */
	assert_int_equal(ledger_gone(r->store, label, &err), 0);
	assert_int_equal(stored(r).ms, s.ms);
}

static void test_a_kept_sandbox_costs_until_it_is_deleted(void **state)
{
	struct room *r = *state;
	char label[16];
	struct error err = { 0 };

	append(r->session);
	keep(r, label, LEDGER_LIVE, 600, 9999);
	assert_int_equal(
		ledger_claim_removal(r->store, label, LEDGER_SPARE_NONE, &err),
		0);
	assert_in_range(stored(r).ms, 600000, 630000);
	assert_int_equal(ledger_gone(r->store, label, &err), 0);
	assert_in_range(stored(r).ms, 600000, 630000);
}

static void test_a_kept_sandbox_costs_no_longer_than_it_lives(void **state)
{
	struct room *r = *state;
	char label[16];
	struct error err = { 0 };

	append(r->session);
	keep(r, label, LEDGER_LIVE, 7200, -3600); /* it ended an hour ago */
	assert_int_equal(ledger_gone(r->store, label, &err), 0);
	assert_in_range(stored(r).ms, 3570000, 3600000);
}

static void test_a_stopped_sandbox_costs_nothing(void **state)
{
	struct room *r = *state;
	enum ledger_state before;
	char label[16];
	struct error err = { 0 };

	append(r->session);
	keep(r, label, LEDGER_STOPPED, 3600, 9999);
	assert_int_equal(ledger_claim(r->store, label, 0, &before, &err), 0);
	assert_int_equal(stored(r).lines, 0);
}

static void test_a_kept_sandbox_without_a_price_is_told(void **state)
{
	struct room *r = *state;
	char label[16];
	struct error err = { 0 };

	append(r->session);
	keep(r, label, LEDGER_LIVE, 60, 9999);
	assert_int_equal(ledger_price(r->store, label, -1, &err), 0);
	assert_int_equal(ledger_gone(r->store, label, &err), 0);
	assert_in_range(stored(r).ms, 60000, 90000);
	assert_int_equal(stored(r).cost, 0);
	assert_false(stored(r).priced);
}

#define IN_A_ROOM(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_ROOM(test_each_cost_is_stored_once),
		IN_A_ROOM(test_what_could_not_be_stored_is_stored_later),
		IN_A_ROOM(test_an_answer_without_a_price_is_told),
		IN_A_ROOM(test_a_kept_sandbox_costs_until_it_is_used_again),
		IN_A_ROOM(test_a_kept_sandbox_costs_until_it_is_deleted),
		IN_A_ROOM(test_a_kept_sandbox_costs_no_longer_than_it_lives),
		IN_A_ROOM(test_a_stopped_sandbox_costs_nothing),
		IN_A_ROOM(test_a_kept_sandbox_without_a_price_is_told),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* ending_test.c - an interrupted opening returns at once, leaving nothing. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/ids.h"
#include "fake_store.h"
#include "lifecycle/lifecycle.h"
#include "unit.h"

struct scene {
	struct fake_store f;
	struct cancel cancel;
	struct cancel gate; /* the vendor deletes nothing before */
	struct buf said;    /* progress and warnings */
	struct lifecycle_request request;
	struct managed_sandbox box;
};

static void say(void *arg, const char *line)
{
	struct scene *s = arg;

	buf_addf(&s->said, "%s\n", line);
}

static int set_up(void **state)
{
	struct scene *s = xcalloc(1, sizeof(*s));
	struct error err = { 0 };

	fake_store_open(&s->f);
	assert_int_equal(cancel_init(&s->cancel, &err), 0);
	assert_int_equal(cancel_init(&s->gate, &err), 0);
	s->said = BUF_INIT(1 << 16);
	s->request = (struct lifecycle_request){
		.client = &s->f.client,
		.store = s->f.store,
		.cancels_at_once = true,
		.ui = { .progress = say, .warn = say, .arg = s },
	};
	fake.removal_waits = &s->gate;
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	fake_store_close(&s->f);
	cancel_release(&s->cancel);
	cancel_release(&s->gate);
	buf_release(&s->said);
	free(s);
	return 0;
}

static bool note_state(void *arg, const struct ledger_row *row)
{
	*(enum ledger_state *)arg = row->state;
	return true;
}

static enum ledger_state row_state(struct scene *s)
{
	enum ledger_state state = LEDGER_GONE;
	struct error err = { 0 };

	assert_int_equal(
		ledger_each(s->f.store, false, note_state, &state, &err), 0);
	return state;
}

/* The user interrupts when the vendor is called for the nth time. */
static void interrupt_at(struct scene *s, int n, bool forgets_id)
{
	struct stop stop = stop_on(&s->cancel);
	struct error err = { 0 };

	fake.fail_at = n;
	fake.fail_with = ERR_CANCELLED;
	fake.fail_after = true;
	fake.forgets_id = forgets_id;
	fake.cancel_at_call = &s->cancel;
	assert_int_equal(lifecycle_open(&s->box, &s->request, &stop, &err), -1);
	assert_int_equal(err.code, ERR_CANCELLED);
}

/* It has returned although the vendor has not deleted anything. */
static void check_pending(struct scene *s)
{
	struct stop at_once = stop_cleanup(50);
	struct error err = { 0 };

	assert_non_null(s->box.ending);
	assert_int_equal(lifecycle_await_ending(&s->box, &at_once, &err), -1);
	assert_int_equal(err.code, ERR_TIMEOUT);
	assert_int_equal(fake_alive(), 1);
	assert_int_not_equal(row_state(s), LEDGER_GONE);
}

static void check_gone(struct scene *s)
{
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };

	assert_int_equal(lifecycle_await_ending(&s->box, &ever, &err), 0);
	assert_int_equal(lifecycle_close(&s->box, &err), 0);
	assert_null(s->box.ending);
	assert_int_equal(fake_alive(), 0);
	assert_int_equal(row_state(s), LEDGER_GONE);
	assert_int_equal(lifecycle_close(&s->box, &err), 0);
}

static void a_create_that_told_its_id(void **state)
{
	struct scene *s = *state;

	interrupt_at(s, 1, false);
	check_pending(s);
	cancel_trigger(&s->gate);
	check_gone(s);
}

static void a_create_that_is_found_by_its_label(void **state)
{
	struct scene *s = *state;

	interrupt_at(s, 1, true);
	check_pending(s);
	cancel_trigger(&s->gate);
	check_gone(s);
}

/* It would clean up, with a deadline alone, which no interrupt shortens. */
static int fill(void *arg, struct sandbox *sb, const struct stop *stop,
		struct error *err)
{
	const struct exec_request req = { .command = STR("rm -f x") };
	struct stop own = stop_cleanup(1000);
	struct error ignored = { 0 };
	struct exec_result res;
	struct scene *s = arg;
	int calls = fake.calls;

	cancel_trigger(&s->cancel);
	assert_int_equal(sandbox_execute(sb, &req, &res, &own, &ignored), -1);
	assert_int_equal(fake.calls, calls);
	return stop_check(stop, err);
}

static int fill_well(void *arg, struct sandbox *sb, const struct stop *stop,
		     struct error *err)
{
	(void)arg;
	(void)sb;
	return stop_check(stop, err);
}

/* One that was opened is not deleted by the interrupt of a later turn. */
static void an_opened_one_can_be_cleaned_up(void **state)
{
	const struct exec_request req = { .command = STR("true") };
	struct scene *s = *state;
	struct stop stop = stop_on(&s->cancel);
	struct stop own = stop_cleanup(10000);
	struct error err = { 0 };
	struct exec_result res;

	s->request.fill = fill_well;
	assert_int_equal(lifecycle_open(&s->box, &s->request, &stop, &err), 0);
	cancel_trigger(&s->cancel);
	assert_int_equal(
		sandbox_execute(&s->box.sandbox, &req, &res, &own, &err), 0);
	cancel_trigger(&s->gate);
	assert_int_equal(lifecycle_close(&s->box, &err), 0);
}

static void the_sending_of_a_tree(void **state)
{
	struct scene *s = *state;
	struct stop stop = stop_on(&s->cancel);
	struct error err = { 0 };

	s->request.fill = fill;
	s->request.fill_arg = s;
	assert_int_equal(lifecycle_open(&s->box, &s->request, &stop, &err), -1);
	check_pending(s);
	cancel_trigger(&s->gate);
	check_gone(s);
}

/* Said by the thread that waits, for others may not mask or print. */
static void what_cannot_be_deleted_is_named_when_it_is_waited_for(void **state)
{
	struct scene *s = *state;
	struct error err = { 0 };

	fake.fail_for = 10;
	interrupt_at(s, 1, false);
	assert_null(strstr(s->said.ptr, "gc"));
	cancel_trigger(&s->gate);
	assert_int_equal(lifecycle_close(&s->box, &err), 0);
	assert_non_null(strstr(s->said.ptr, "`dcode sandbox gc` deletes it"));
	assert_int_equal(row_state(s), LEDGER_REMOVING);
}

static void a_wait_that_is_long_is_named(void **state)
{
	struct scene *s = *state;
	struct stop soon = stop_cleanup(600);
	struct error err = { 0 };

	interrupt_at(s, 1, false);
	assert_int_equal(lifecycle_await_ending(&s->box, &soon, &err), -1);
	assert_non_null(strstr(s->said.ptr, "Waiting for the interrupted Fake "
					    "sandbox to be deleted...\n"));
	cancel_trigger(&s->gate);
	check_gone(s);
}

/* A failure that nobody interrupted has been cleaned up on return. */
static void a_failure_is_waited_for(void **state)
{
	struct scene *s = *state;
	struct stop stop = stop_on(&s->cancel);
	struct error err = { 0 };

	cancel_trigger(&s->gate);
	fake.fail_at = 1;
	fake.fail_with = ERR_REMOTE;
	fake.fail_after = true;
	assert_int_equal(lifecycle_open(&s->box, &s->request, &stop, &err), -1);
	assert_null(s->box.ending);
	assert_int_equal(fake_alive(), 0);
	assert_int_equal(row_state(s), LEDGER_GONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_create_that_told_its_id),
		TEST(a_create_that_is_found_by_its_label),
		TEST(the_sending_of_a_tree),
		TEST(an_opened_one_can_be_cleaned_up),
		TEST(what_cannot_be_deleted_is_named_when_it_is_waited_for),
		TEST(a_wait_that_is_long_is_named),
		TEST(a_failure_is_waited_for),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

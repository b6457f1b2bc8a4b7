/* background_test.c - the first command waits for work in the background. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"
#include "sandbox/exec.h"
#include "sandbox/sandbox.h"
#include "unit.h"

enum { SHORT_MS = 50 };

static int fake_execute(struct sandbox *sb, const struct exec_request *req,
			struct exec_result *res, const struct stop *stop,
			struct error *err)
{
	(void)sb;
	(void)req;
	(void)stop;
	(void)err;
	res->exit_code = 0;
	return 0;
}

static const struct sandbox_ops fake_ops = { .execute = fake_execute };
static const struct sandbox_provider fake = { .name = "fake",
					      .workdir = "/work",
					      .ops = &fake_ops };
struct work {
	struct sandbox *sb;
	struct cancel go; /* the work ends once it is triggered */
	bool fails;
	bool cancelled;
	bool released;
};

static int execute(struct sandbox *sb, const struct stop *stop,
		   struct error *err)
{
	struct exec_request req = { .command = STR("true") };
	struct exec_result res;

	*err = (struct error){ 0 };
	return sandbox_execute(sb, &req, &res, stop, err);
}

/* Runs a command of its own, then waits to be let go or cancelled. */
static int run(void *arg, const struct stop *stop, struct error *err)
{
	struct work *w = arg;
	struct error ignored = { 0 };

	(void)execute(w->sb, stop, err);
	while (!cancel_triggered(&w->go) && !err->code &&
	       stop_check(stop, err) == 0)
		(void)stop_sleep(stop, 1, &ignored);
	w->cancelled = err->code == ERR_CANCELLED;
	if (w->fails)
		return error_set(err, ERR_REMOTE, "it failed");
	return err->code ? -1 : 0;
}

static void release(void *arg)
{
	((struct work *)arg)->released = true;
}

struct place {
	struct sandbox_client client;
	struct sandbox sb;
	struct work work;
};

static void start(struct place *p, bool fails)
{
	struct background_work work = { run, release, &p->work };
	struct error err = { 0 };

	*p = (struct place){ .client = { .provider = &fake },
			     .work = { .sb = &p->sb, .fails = fails } };
	p->sb = (struct sandbox){ .client = &p->client };
	assert_int_equal(cancel_init(&p->work.go, &err), 0);
	assert_int_equal(background_start(&p->sb.background, &work, &err), 0);
}

static void test_a_command_waits_until_the_work_has_ended(void **state)
{
	struct stop soon = stop_cleanup(SHORT_MS);
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };
	struct place p;

	(void)state;
	start(&p, false);
	assert_int_equal(execute(&p.sb, &soon, &err), -1);
	assert_int_equal(err.code, ERR_TIMEOUT);
	cancel_trigger(&p.work.go);
	assert_int_equal(execute(&p.sb, &ever, &err), 0);
	assert_int_equal(background_end(&p.sb.background, 0, &err), 0);
	assert_true(p.work.released && !p.work.cancelled);
	assert_int_equal(execute(&p.sb, &ever, &err), 0);
	cancel_release(&p.work.go);
	sandbox_release(&p.sb);
}

static void test_a_failure_of_the_work_does_not_end_commands(void **state)
{
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };
	struct place p;

	(void)state;
	start(&p, true);
	cancel_trigger(&p.work.go);
	assert_int_equal(execute(&p.sb, &ever, &err), 0);
	assert_int_equal(background_end(&p.sb.background, 0, &err), -1);
	assert_int_equal(err.code, ERR_REMOTE);
	cancel_release(&p.work.go);
	sandbox_release(&p.sb);
}

static void test_a_failure_is_said_once_and_when_it_has_happened(void **state)
{
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };
	struct place p;

	(void)state;
	start(&p, true);
	assert_int_equal(background_failed(p.sb.background, &err), 0);
	cancel_trigger(&p.work.go);
	assert_int_equal(background_wait(p.sb.background, &ever, &err), 0);
	assert_int_equal(background_failed(p.sb.background, &err), -1);
	assert_int_equal(err.code, ERR_REMOTE);
	assert_int_equal(background_failed(p.sb.background, &err), 0);
	assert_int_equal(background_end(&p.sb.background, 0, &err), 0);
	assert_int_equal(background_failed(NULL, &err), 0);
	cancel_release(&p.work.go);
	sandbox_release(&p.sb);
}

static void test_another_work_is_waited_for_too(void **state)
{
	struct background_work work = { run, release, NULL };
	struct stop soon = stop_cleanup(SHORT_MS);
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };
	struct work next;
	struct place p;

	(void)state;
	start(&p, true);
	cancel_trigger(&p.work.go);
	assert_int_equal(execute(&p.sb, &ever, &err), 0);
	cancel_reset(&p.work.go);
	next = (struct work){ .sb = &p.sb, .go = p.work.go };
	work.arg = &next;
	assert_int_equal(background_start(&p.sb.background, &work, &err), 0);
	assert_int_equal(background_failed(p.sb.background, &err), 0);
	assert_int_equal(execute(&p.sb, &soon, &err), -1);
	assert_int_equal(err.code, ERR_TIMEOUT);
	cancel_trigger(&p.work.go);
	assert_int_equal(execute(&p.sb, &ever, &err), 0);
	assert_int_equal(background_end(&p.sb.background, 0, &err), 0);
	assert_true(next.released && !next.cancelled);
	cancel_release(&p.work.go);
	sandbox_release(&p.sb);
}

static void test_a_sandbox_that_is_left_cancels_the_work(void **state)
{
	struct error err = { 0 };
	struct place p;

	(void)state;
	start(&p, false);
	assert_int_equal(background_end(&p.sb.background, 0, &err), -1);
	assert_int_equal(err.code, ERR_CANCELLED);
	assert_true(p.work.cancelled && p.work.released);
	cancel_release(&p.work.go);
	sandbox_release(&p.sb);
	start(&p, false);
	sandbox_release(&p.sb);
	assert_true(p.work.cancelled && p.work.released);
	cancel_release(&p.work.go);
	/* there is none */
	assert_int_equal(background_end(&p.sb.background, 0, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_command_waits_until_the_work_has_ended),
		cmocka_unit_test(
			test_a_failure_of_the_work_does_not_end_commands),
		cmocka_unit_test(
			test_a_failure_is_said_once_and_when_it_has_happened),
		cmocka_unit_test(test_another_work_is_waited_for_too),
		cmocka_unit_test(test_a_sandbox_that_is_left_cancels_the_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

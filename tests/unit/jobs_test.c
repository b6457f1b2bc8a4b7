/* jobs_test.c - commands in the background: output by offset, ends, kills. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/str.h"
#include "sandbox/jobs/jobs.h"
#include "sandbox_fake.h"

/* A command prints what it says, then waits for the test, or for its end. */
struct stage {
	struct cancel go;
	size_t repeat; /* of the text */
};

static struct stage stage;

static int fake_execute(struct sandbox *sb, const struct exec_request *req,
			struct exec_result *res, const struct stop *stop,
			struct error *err)
{
	(void)sb;
	for (size_t i = 0; i < stage.repeat; i++)
		(void)req->output(req->arg, EXEC_STDOUT, req->command, NULL,
				  err);
	while (!cancel_triggered(&stage.go)) {
		if (stop_check(stop, err) < 0)
			return -1;
		(void)stop_sleep(stop, 1, err);
		*err = (struct error){ 0 };
	}
	(void)req->output(req->arg, EXEC_STDERR, STR("end\n"), NULL, err);
	res->exit_code = 3;
	return 0;
}

struct place {
	struct sandbox_client client;
	struct sandbox sb;
	struct mask *mask;
	struct buf out;
	struct job_state state;
};

static void open_place(struct place *p)
{
	struct error err = { 0 };

	*p = (struct place){ .out = BUF_INIT(64 << 20) };
	stage = (struct stage){ .repeat = 1 };
	assert_int_equal(cancel_init(&stage.go, &err), 0);
	fake_open(&p->sb, &p->client);
}

static void close_place(struct place *p)
{
	(void)jobs_end(&p->sb.jobs);
	sandbox_release(&p->sb);
	buf_release(&p->out);
	cancel_release(&stage.go);
}

static unsigned begin(struct place *p, const char *command)
{
	const struct job_order order = { .req.command = str_of(command),
					 .mask = p->mask };
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };
	unsigned number = 0;

	assert_int_equal(jobs_start(&p->sb, &order, &number, &ever, &err), 0);
	return number;
}

static int end(struct place *p, unsigned number, bool told, struct error *err)
{
	const struct job_kill what = { number, told, 60000 };
	struct stop ever = stop_on(NULL);

	return jobs_kill(p->sb.jobs, &what, &ever, &p->state, err);
}

static int64_t look(struct place *p, unsigned number, int64_t from, size_t most,
		    int64_t wait_ms)
{
	const struct job_read what = { number, from, most, wait_ms };
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };

	buf_clear(&p->out);
	return jobs_read(p->sb.jobs, &what, &ever, &p->out, &p->state, &err) < 0
		       ? -1
		       : p->state.bytes;
}

/* Until the job has printed so much. */
static void await_bytes(struct place *p, unsigned number, int64_t bytes)
{
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };

	while (look(p, number, 0, 1, 0) < bytes)
		(void)stop_sleep(&ever, 1, &err);
}

static void test_output_is_read_by_offset(void **state)
{
	struct place p;
	unsigned a;

	(void)state;
	open_place(&p);
	a = begin(&p, "one\ntwo\n");
	assert_int_equal(a, 1);
	await_bytes(&p, a, 8);
	assert_int_equal(look(&p, a, 4, 100, 0), 8);
	assert_string_equal(p.out.ptr, "two\n");
	assert_int_equal(p.state.from, 4);
	assert_true(p.state.running);
	cancel_trigger(&stage.go);
	(void)look(&p, a, -1, 100, 60000);
	assert_string_equal(p.out.ptr, "end\n");
	assert_false(p.state.running);
	assert_int_equal(p.state.result.exit_code, 3);
	assert_int_equal(look(&p, a, 0, 6, 0), 12);
	assert_string_equal(p.out.ptr, "one\n");
	assert_int_equal(look(&p, 7, 0, 6, 0), -1);
	close_place(&p);
}

static void test_the_newest_output_is_kept_with_its_offsets(void **state)
{
	static char text[(1 << 20) + 1];
	struct place p;
	unsigned a;

	(void)state;
	open_place(&p);
	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, "begin", 5);
	stage.repeat = 20;
	a = begin(&p, text);
	await_bytes(&p, a, 20 << 20);
	(void)look(&p, a, 0, 10, 0);
	assert_true(p.state.from >= 12 << 20);
	assert_true(p.state.first == p.state.from);
	(void)look(&p, a, 19 << 20, 6, 0);
	assert_string_equal(p.out.ptr, "beginx");
	close_place(&p);
}

static void test_a_kill_ends_one_and_spares_the_others(void **state)
{
	struct error err = { 0 };
	struct place p;
	unsigned a;
	unsigned b;

	(void)state;
	open_place(&p);
	a = begin(&p, "a");
	b = begin(&p, "b");
	assert_int_equal(end(&p, a, true, &err), 0);
	assert_false(p.state.running);
	assert_true(p.state.killed);
	(void)look(&p, b, 0, 10, 0);
	assert_true(p.state.running);
	assert_int_equal(end(&p, 9, true, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	/* One that has ended by itself was not killed. */
	cancel_trigger(&stage.go);
	(void)look(&p, b, 0, 10, 60000);
	assert_int_equal(end(&p, b, true, &err), 0);
	assert_false(p.state.killed);
	close_place(&p);
}

static void note(void *arg, const struct job_state *s)
{
	struct buf *out = arg;

	buf_addf(out, "%u ", s->number);
	jobs_describe(s, out);
	buf_addf(out, ": %s\n", s->command);
}

static void test_an_end_is_told_once(void **state)
{
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };
	struct place p;

	(void)state;
	open_place(&p);
	(void)begin(&p, "make\x1b[31m\nall");
	jobs_take_ended(p.sb.jobs, note, &p.out);
	assert_int_equal(p.out.len, 0);
	cancel_trigger(&stage.go);
	while (!p.out.len) {
		(void)stop_sleep(&ever, 1, &err);
		jobs_take_ended(p.sb.jobs, note, &p.out);
	}
	assert_string_equal(p.out.ptr,
			    "1 ended with exit code 3 after 0 s: make all\n");
	buf_clear(&p.out);
	jobs_take_ended(p.sb.jobs, note, &p.out);
	assert_int_equal(p.out.len, 0);
	jobs_take_ended(NULL, note, &p.out);
	close_place(&p);
}

static void count_end(void *arg)
{
	atomic_fetch_add((atomic_int *)arg, 1);
}

static void note_shown(void *arg, const struct job_state *s)
{
	buf_adds(arg, s->shown ? "shown before: " : "not shown: ");
	note(arg, s);
}

static void test_an_end_is_shown_once_and_told_all_the_same(void **state)
{
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };
	atomic_int ends = 0;
	struct place p;

	(void)state;
	open_place(&p);
	jobs_show_ended(NULL, note, &p.out);
	(void)begin(&p, "a");
	jobs_set_end(p.sb.jobs, count_end, &ends);
	jobs_show_ended(p.sb.jobs, note, &p.out);
	assert_int_equal(p.out.len, 0);
	cancel_trigger(&stage.go);
	while (!atomic_load(&ends))
		(void)stop_sleep(&ever, 1, &err);
	jobs_show_ended(p.sb.jobs, note, &p.out);
	jobs_show_ended(p.sb.jobs, note, &p.out);
	assert_string_equal(p.out.ptr,
			    "1 ended with exit code 3 after 0 s: a\n");
	buf_clear(&p.out);
	jobs_take_ended(p.sb.jobs, note_shown, &p.out);
	assert_string_equal(
		p.out.ptr,
		"shown before: 1 ended with exit code 3 after 0 s: a\n");
	assert_int_equal(atomic_load(&ends), 1);
	close_place(&p);
}

static void test_what_was_told_or_killed_by_the_user_is_not_shown(void **state)
{
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };
	struct place p;
	unsigned a;

	(void)state;
	open_place(&p);
	a = begin(&p, "a");
	(void)begin(&p, "b");
	assert_int_equal(end(&p, a, false, &err), 0);
	cancel_trigger(&stage.go);
	while (!p.out.len || !strstr(p.out.ptr, ": b")) {
		(void)stop_sleep(&ever, 1, &err);
		jobs_take_ended(p.sb.jobs, note_shown, &p.out);
	}
	assert_string_equal(
		p.out.ptr,
		"shown before: 1 was killed after 0 s: a\n"
		"not shown: 2 ended with exit code 3 after 0 s: b\n");
	buf_clear(&p.out);
	jobs_show_ended(p.sb.jobs, note, &p.out);
	assert_int_equal(p.out.len, 0);
	close_place(&p);
}

static void test_a_kill_by_the_user_is_told_to_the_model(void **state)
{
	struct error err = { 0 };
	struct place p;
	unsigned a;
	unsigned b;

	(void)state;
	open_place(&p);
	a = begin(&p, "a");
	b = begin(&p, "b");
	assert_int_equal(end(&p, a, true, &err), 0);
	jobs_take_ended(p.sb.jobs, note, &p.out);
	assert_int_equal(p.out.len, 0);
	assert_int_equal(end(&p, b, false, &err), 0);
	jobs_take_ended(p.sb.jobs, note, &p.out);
	assert_string_equal(p.out.ptr, "2 was killed after 0 s: b\n");
	close_place(&p);
}

static void test_too_many_are_refused_and_all_end_with_the_sandbox(void **state)
{
	struct job_order order = { .req.command = STR("x") };
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };
	unsigned number = 0;
	struct place p;

	(void)state;
	open_place(&p);
	for (int i = 0; i < JOBS_MOST; i++)
		(void)begin(&p, "x");
	assert_int_equal(jobs_start(&p.sb, &order, &number, &ever, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_int_equal(jobs_end(&p.sb.jobs), JOBS_MOST);
	assert_null(p.sb.jobs);
	assert_int_equal(jobs_end(&p.sb.jobs), 0);
	close_place(&p);
}

/* More than are stored: the oldest that has ended goes. */
static void test_numbers_go_on_and_old_ones_are_forgotten(void **state)
{
	struct place p;
	unsigned last = 0;

	(void)state;
	open_place(&p);
	cancel_trigger(&stage.go);
	for (int i = 0; i < JOBS_STORED + 3; i++) {
		last = begin(&p, "x");
		(void)look(&p, last, 0, 10, 60000);
		assert_false(p.state.running);
	}
	assert_int_equal(last, JOBS_STORED + 3);
	assert_int_equal(look(&p, 3, 0, 10, 0), -1);
	assert_int_equal(look(&p, 4, 0, 10, 0), 5);
	close_place(&p);
}

/* A log on a slow disk; it is for one thread at a time. */
static atomic_int inside;
static atomic_int most_inside;

static int slow_add(void *arg, struct job_record *r, struct error *err)
{
	struct stop ever = stop_on(NULL);
	int now = ++inside;

	(void)arg;
	(void)r;
	if (now > most_inside)
		most_inside = now;
	(void)stop_sleep(&ever, 20, err);
	inside--;
	return 0;
}

static void no_update(void *arg, const struct job_record *r)
{
	(void)arg;
	(void)r;
}

static void *begin_one(void *arg)
{
	const struct job_order order = { .req.command = STR("x") };
	struct stop ever = stop_on(NULL);
	struct error err = { 0 };
	struct place *p = arg;
	unsigned number = 0;

	(void)jobs_start(&p->sb, &order, &number, &ever, &err);
	return NULL;
}

static void count_job(void *arg, const struct job_state *s)
{
	unsigned *n = arg;

	n[0]++;
	assert_true(s->number > n[1]);
	n[1] = s->number;
}

/* As subagents do: the one place that is left is for one of them. */
static void test_several_begin_at_once_one_after_the_other(void **state)
{
	const struct jobs_log log = { slow_add, no_update, NULL };
	pthread_t threads[4];
	struct place p;
	unsigned seen[2] = { 0 }; /* how many, and the last number */

	(void)state;
	open_place(&p);
	cancel_trigger(&stage.go);
	for (int i = 0; i < JOBS_STORED - 1; i++)
		(void)look(&p, begin(&p, "x"), 0, 10, 60000);
	most_inside = 0;
	jobs_set_log(&p.sb, &log);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, begin_one, &p), 0);
	for (size_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(most_inside, 1);
	jobs_each(p.sb.jobs, count_job, seen);
	assert_int_equal(seen[0], JOBS_STORED);
	assert_int_equal(seen[1], JOBS_STORED + 3);
	close_place(&p);
}

static void test_of_many_that_are_found_again_the_newest_stay(void **state)
{
	struct job_record r = { .job = "",
				.command = "x",
				.lost = "stopped when dcode exited" };
	struct place p;

	(void)state;
	open_place(&p);
	for (r.number = 1; r.number <= JOBS_STORED + 6; r.number++) {
		r.told = r.number != 2;
		jobs_adopt(&p.sb, &r, p.mask);
	}
	assert_int_equal(look(&p, JOBS_STORED + 6, 0, 10, 0), 0);
	assert_int_equal(look(&p, 2, 0, 10, 0), 0); /* nobody knows its end */
	assert_int_equal(look(&p, 1, 0, 10, 0), -1);
	close_place(&p);
}

static void test_secrets_are_masked_in_output_and_command(void **state)
{
	struct place p;
	unsigned a;

	(void)state;
	open_place(&p);
	p.mask = mask_new();
	assert_true(mask_add(p.mask, "KEY", STR("hunter2hunter2")));
	cancel_trigger(&stage.go);
	a = begin(&p, "echo hunter2hunter2");
	(void)look(&p, a, 0, 100, 60000);
	assert_null(strstr(p.out.ptr, "hunter2"));
	assert_null(strstr(p.state.command, "hunter2"));
	assert_non_null(strstr(p.state.command, "echo "));
	close_place(&p);
	mask_free(p.mask);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output_is_read_by_offset),
		cmocka_unit_test(
			test_the_newest_output_is_kept_with_its_offsets),
		cmocka_unit_test(test_a_kill_ends_one_and_spares_the_others),
		cmocka_unit_test(test_an_end_is_told_once),
		cmocka_unit_test(
			test_an_end_is_shown_once_and_told_all_the_same),
		cmocka_unit_test(
			test_what_was_told_or_killed_by_the_user_is_not_shown),
		cmocka_unit_test(test_a_kill_by_the_user_is_told_to_the_model),
		cmocka_unit_test(
			test_too_many_are_refused_and_all_end_with_the_sandbox),
		cmocka_unit_test(test_numbers_go_on_and_old_ones_are_forgotten),
		cmocka_unit_test(test_secrets_are_masked_in_output_and_command),
		cmocka_unit_test(
			test_several_begin_at_once_one_after_the_other),
		cmocka_unit_test(
			test_of_many_that_are_found_again_the_newest_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

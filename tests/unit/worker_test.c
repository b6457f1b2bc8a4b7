/* worker_test.c - threads that ask the user: one at a time, and withdrawn. */
/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <pthread.h>

#include "cmd/chat/worker.h"
#include "unit.h"

enum { NEVER_MS = 60000, QUIET_MS = 300 };

struct asking {
	struct worker *worker;
	struct cancel cancel;
	pthread_t thread;
	int answer;
};

static void *ask(void *arg)
{
	struct asking *a = arg;
	struct stop stop = stop_on(&a->cancel);

	a->answer = worker_ask(a->worker, a, &stop);
	return NULL;
}

static void begin(struct asking *a, struct worker *w)
{
	struct error err = { 0 };

	*a = (struct asking){ .worker = w };
	assert_int_equal(cancel_init(&a->cancel, &err), 0);
	assert_int_equal(pthread_create(&a->thread, NULL, ask, a), 0);
}

static void end(struct asking *a)
{
	pthread_join(a->thread, NULL);
	cancel_release(&a->cancel);
}

/* The next notice, and whose it is; 0: none came in this time. */
static int next(struct worker *w, int ms, struct asking **whose)
{
	struct pollfd p = { .fd = eventq_fd(w->events), .events = POLLIN };
	struct queued *item;
	int notice;

	if (poll(&p, 1, ms) <= 0)
		return 0;
	item = eventq_take(w->events);
	assert_non_null(item);
	notice = item->notice;
	*whose = item->arg;
	queued_free(item);
	return notice;
}

static void open_worker(struct worker *w)
{
	struct error err = { 0 };

	*w = (struct worker){ .events = eventq_new(&err) };
	assert_non_null(w->events);
	assert_int_equal(worker_start(w, &err), 0);
}

static void close_worker(struct worker *w)
{
	worker_stop(w);
	eventq_free(w->events);
}

static void test_of_two_that_ask_each_has_its_own_answer(void **state)
{
	struct asking both[2];
	struct asking *first;
	struct asking *second;
	struct worker w;

	(void)state;
	open_worker(&w);
	begin(&both[0], &w);
	begin(&both[1], &w);
	assert_int_equal(next(&w, NEVER_MS, &first), NOTICE_QUESTION);
	assert_int_equal(next(&w, QUIET_MS, &second), 0);
	worker_answer(&w, 7);
	assert_int_equal(next(&w, NEVER_MS, &second), NOTICE_QUESTION);
	assert_ptr_not_equal(first, second);
	worker_answer(&w, 8);
	end(&both[0]);
	end(&both[1]);
	assert_int_equal(first->answer, 7);
	assert_int_equal(second->answer, 8);
	close_worker(&w);
}

static void test_a_question_is_withdrawn_when_who_asks_is_stopped(void **state)
{
	struct asking one;
	struct asking *whose;
	struct worker w;

	(void)state;
	open_worker(&w);
	begin(&one, &w);
	assert_int_equal(next(&w, NEVER_MS, &whose), NOTICE_QUESTION);
	assert_int_equal(next(&w, QUIET_MS, &whose), 0); /* control */
	cancel_trigger(&one.cancel);
	assert_int_equal(next(&w, NEVER_MS, &whose), NOTICE_WITHDRAWN);
	assert_ptr_equal(whose, &one);
	worker_answer(&w, 3);
	end(&one);
	assert_int_equal(one.answer, 3);
	close_worker(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_two_that_ask_each_has_its_own_answer),
		cmocka_unit_test(
			test_a_question_is_withdrawn_when_who_asks_is_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

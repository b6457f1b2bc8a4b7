/* early_test.c - a prompt that is sent before what its tools act on is there.
 */
/* SPDX-License-Identifier: MIT */
#include <poll.h>

#include "agent/early.h"
#include "model_server.h"

enum { DEADLINE_MS = 20000 };

struct world {
	struct agent agent;
	struct sandbox sandbox;
	struct cancel cancel;
	struct stop stop; /* of the user */
	struct buf text, result;
	int results;
};

/* The asker's thread, until it has ended; then the test's. */
static void on_event(void *arg, const struct agent_event *ev)
{
	struct world *w = arg;

	if (ev->kind == EVENT_TEXT)
		buf_addstr(&w->text, ev->text);
	if (ev->kind == EVENT_TOOL_RESULT) {
		w->results += ev->failed;
		buf_addstr(&w->result, ev->text);
	}
}

static void begin(struct world *w, struct server *s, const char *script,
		  bool fatal)
{
	struct error err = { 0 };

	load(s, script);
	*w = (struct world){ .text = BUF_INIT(1 << 16),
			     .result = BUF_INIT(1 << 16) };
	assert_int_equal(cancel_init(&w->cancel, &err), 0);
	w->stop = stop_on(&w->cancel);
	w->stop = stop_within(&w->stop, DEADLINE_MS);
	w->agent = (struct agent){ .model = open_model(s, "anthropic", NULL, 0),
				   .sandbox = &w->sandbox,
				   .ui = { .event = on_event, .arg = w },
				   .answer = BUF_INIT(1 << 16) };
	assert_int_equal(early_begin(&w->agent, &w->stop, fatal, &err), 0);
}

static void end(struct world *w)
{
	early_end(&w->agent);
	assert_null(w->agent.early);
	model_close(w->agent.model);
	cancel_release(&w->cancel);
	buf_release(&w->agent.answer);
	buf_release(&w->text);
	buf_release(&w->result);
}

/* Whether what goes on beside was told to end, in time. */
static bool ends_beside(const struct world *w)
{
	struct stop beside = early_stop(&w->agent, &w->stop);
	struct pollfd p = { .fd = stop_fd(&beside), .events = POLLIN };

	return poll(&p, 1, DEADLINE_MS) > 0;
}

static void test_the_answer_is_that_of_the_next_run(void **state)
{
	struct error err = { 0 };
	struct world w;

	begin(&w, *state, "[{\"text\":\"hello\"}]", true);
	assert_true(early_send(w.agent.early, "hi"));
	assert_false(early_send(w.agent.early, "more"));
	assert_int_equal(agent_run(&w.agent, "hi", &w.stop, &err), 0);
	assert_null(w.agent.early);
	assert_string_equal(w.text.ptr, "hello");
	assert_int_equal(w.agent.turns, 1);
	assert_int_equal(count(*state, "answered"), 1);
	end(&w);
}

static void test_without_a_prompt_the_run_asks_by_itself(void **state)
{
	struct error err = { 0 };
	struct world w;

	begin(&w, *state, "[{\"text\":\"hello\"}]", true);
	assert_false(early_close(&w.agent));
	assert_false(early_send(w.agent.early, "too late"));
	assert_int_equal(agent_run(&w.agent, "hi", &w.stop, &err), 0);
	assert_string_equal(w.text.ptr, "hello");
	end(&w);
}

static void test_a_request_that_fails_ends_what_goes_on_beside(void **state)
{
	struct error why = { 0 };
	struct world w;

	begin(&w, *state,
	      "[{\"text\":\"x\",\"fault\":{\"status\":400,\"times\":9}}]",
	      true);
	assert_true(early_send(w.agent.early, "hi"));
	assert_true(ends_beside(&w));
	error_set(&why, ERR_CANCELLED, "cancelled");
	early_fail(&w.agent, &why);
	assert_int_not_equal(why.code, ERR_CANCELLED);
	assert_non_null(strstr(why.message, "400"));
	end(&w);
}

static void test_in_a_chat_it_goes_on(void **state)
{
	struct model_reply reply = { 0 };
	struct error err = { 0 };
	struct world w;

	begin(&w, *state,
	      "[{\"text\":\"x\",\"fault\":{\"status\":400,\"times\":9}}]",
	      false);
	assert_true(early_send(w.agent.early, "hi"));
	early_await(&w.agent);
	assert_false(cancel_triggered(early_stop(&w.agent, &w.stop).cancel));
	assert_int_equal(early_take(&w.agent, &reply, &err), -1);
	assert_non_null(strstr(err.message, "400"));
	end(&w);
}

static void test_what_was_too_long_is_left_to_the_run(void **state)
{
	struct model_reply reply = { 0 };
	struct error err = { 0 };
	struct world w;

	begin(&w, *state,
	      "[{\"text\":\"x\",\"fault\":{\"status\":400,\"times\":9,"
	      "\"body\":{\"type\":\"error\",\"error\":{"
	      "\"type\":\"invalid_request_error\",\"message\":"
	      "\"prompt is too long: 210000 tokens > 200000 maximum\"}}}}]",
	      true);
	assert_true(early_send(w.agent.early, "hi"));
	early_await(&w.agent);
	assert_false(cancel_triggered(early_stop(&w.agent, &w.stop).cancel));
	assert_int_equal(early_take(&w.agent, &reply, &err), -1);
	assert_string_equal(err.reason, MODEL_TOO_LONG);
	end(&w);
}

static void test_a_cancel_ends_both(void **state)
{
	struct error why = { 0 };
	struct world w;

	begin(&w, *state,
	      "[{\"text\":\"x\",\"fault\":{\"stall_after_bytes\":0,"
	      "\"heartbeat_ms\":20}}]",
	      true);
	assert_true(early_send(w.agent.early, "hi"));
	cancel_trigger(&w.cancel);
	assert_true(ends_beside(&w));
	error_set(&why, ERR_CANCELLED, "cancelled");
	early_fail(&w.agent, &why);
	assert_int_equal(why.code, ERR_CANCELLED);
	end(&w);
}

static void test_calls_that_cannot_run_get_results_that_say_so(void **state)
{
	struct error why = { 0 };
	struct world w;

	begin(&w, *state,
	      "[{\"text\":\"looking\",\"tool_calls\":["
	      "{\"name\":\"ls\",\"args\":{\"path\":\"/\"}},"
	      "{\"name\":\"ls\",\"args\":{\"path\":\"/x\"}}]}]",
	      true);
	assert_true(early_send(w.agent.early, "hi"));
	early_await(&w.agent);
	error_set(&why, ERR_REMOTE, "no credit");
	early_fail(&w.agent, &why);
	assert_string_equal(why.message, "no credit");
	assert_int_equal(w.results, 2);
	assert_non_null(strstr(w.result.ptr, "has not run"));
	assert_non_null(strstr(w.result.ptr, "no credit"));
	assert_string_equal(w.agent.answer.ptr, "looking");
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_answer_is_that_of_the_next_run),
		cmocka_unit_test(test_without_a_prompt_the_run_asks_by_itself),
		cmocka_unit_test(
			test_a_request_that_fails_ends_what_goes_on_beside),
		cmocka_unit_test(test_in_a_chat_it_goes_on),
		cmocka_unit_test(test_what_was_too_long_is_left_to_the_run),
		cmocka_unit_test(test_a_cancel_ends_both),
		cmocka_unit_test(
			test_calls_that_cannot_run_get_results_that_say_so),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

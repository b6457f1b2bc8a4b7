/* await_test.c - the first answer, and the sandbox that its tools wait for. */
/* SPDX-License-Identifier: MIT */
#include "agent/agent.h"
#include "model_server.h"

enum { DEADLINE_MS = 20000 };

struct world {
	struct agent agent;
	struct sandbox sandbox;
	struct stop stop;
	struct server *server;
	struct buf text, result;
	int asked;    /* requests when the sandbox was waited for */
	int awaited;  /* how often it was */
	int refused;  /* results of calls that have not run */
	int restarts; /* answers that are void */
};

static void on_event(void *arg, const struct agent_event *ev)
{
	struct world *w = arg;

	if (ev->kind == EVENT_TEXT)
		buf_addstr(&w->text, ev->text);
	if (ev->kind == EVENT_RESTART)
		w->restarts++;
	if (ev->kind == EVENT_TOOL_RESULT) {
		w->refused += ev->failed;
		buf_addstr(&w->result, ev->text);
	}
}

static void begin(struct world *w, struct server *s, const char *script)
{
	load(s, script);
	*w = (struct world){ .server = s,
			     .text = BUF_INIT(1 << 16),
			     .result = BUF_INIT(1 << 16) };
	w->stop = stop_cleanup(DEADLINE_MS);
	w->agent = (struct agent){ .model = open_model(s, "anthropic", NULL, 0),
				   .sandbox = &w->sandbox,
				   .ui = { .event = on_event, .arg = w },
				   .await_arg = w,
				   .answer = BUF_INIT(1 << 16) };
}

static void end(struct world *w)
{
	model_close(w->agent.model);
	buf_release(&w->agent.answer);
	buf_release(&w->text);
	buf_release(&w->result);
}

static int comes(void *arg, struct error *err)
{
	struct world *w = arg;

	(void)err;
	w->awaited++;
	w->asked = count(w->server, "answered");
	return 0;
}

static void test_the_answer_is_there_before_the_sandbox(void **state)
{
	struct error err = { 0 };
	struct world w;

	begin(&w, *state,
	      "[{\"tool_calls\":[{\"name\":\"write_todos\",\"args\":"
	      "{\"todos\":[]}}]},{\"text\":\"done\"}]");
	w.agent.await = comes;
	assert_int_equal(agent_run(&w.agent, "hi", &w.stop, &err), 0);
	assert_int_equal(w.asked, 1);
	assert_int_equal(w.awaited, 1);
	assert_null(w.agent.await);
	assert_int_equal(w.agent.turns, 2);
	assert_string_equal(w.text.ptr, "done");
	end(&w);
}

static int fails(void *arg, struct error *err)
{
	(void)arg;
	return error_set(err, ERR_REMOTE, "no credit");
}

static void test_calls_that_cannot_run_get_results_that_say_so(void **state)
{
	struct error err = { 0 };
	struct world w;

	begin(&w, *state,
	      "[{\"text\":\"looking\",\"tool_calls\":["
	      "{\"name\":\"ls\",\"args\":{\"path\":\"/\"}},"
	      "{\"name\":\"ls\",\"args\":{\"path\":\"/x\"}}]}]");
	w.agent.await = fails;
	assert_int_equal(agent_run(&w.agent, "hi", &w.stop, &err), -1);
	assert_string_equal(err.message, "no credit");
	assert_int_equal(w.refused, 2);
	assert_non_null(strstr(w.result.ptr, "has not run"));
	assert_non_null(strstr(w.result.ptr, "no credit"));
	assert_string_equal(w.agent.answer.ptr, "looking");
	assert_int_equal(w.agent.turns, 1);
	end(&w);
}

/* As a run does it: another model, with the history so far. */
static int is_elsewhere(void *arg, struct error *err)
{
	struct message prompt = { .role = ROLE_USER };
	struct world *w = arg;

	(void)err;
	w->awaited++;
	model_close(w->agent.model);
	w->agent.model = open_model(w->server, "anthropic", NULL, 0);
	message_add(&prompt, PART_TEXT)->text = xstrdup("hi");
	model_push(w->agent.model, &prompt);
	message_release(&prompt);
	return 1;
}

static void test_a_model_told_of_another_place_is_asked_anew(void **state)
{
	struct error err = { 0 };
	struct world w;

	begin(&w, *state,
	      "{\"turns\":[{\"text\":\"there\"}],\"repeat\":true,"
	      "\"by\":\"count\"}");
	w.agent.await = is_elsewhere;
	assert_int_equal(agent_run(&w.agent, "hi", &w.stop, &err), 0);
	assert_int_equal(w.awaited, 1);
	assert_int_equal(w.restarts, 1);
	assert_int_equal(count(*state, "answered"), 2);
	assert_int_equal(w.agent.turns, 1);
	assert_string_equal(w.agent.answer.ptr, "there");
	end(&w);
}

/* agent_steering.take: a message with a file. Stopped, it is not sent. */
static int takes(void *arg, struct buf *prompt, const struct stop *stop,
		 struct error *err)
{
	struct world *w = arg;
	struct buf bytes = BUF_INIT(64);

	(void)stop;
	if (w->awaited++)
		return 0;
	buf_adds(prompt, "look");
	buf_adds(&bytes, "%PDF-1.4\n%%EOF\n");
	assert_non_null(message_add_media(&w->agent.attached, "a.pdf", &bytes));
	buf_release(&bytes);
	return w->asked ? error_set(err, ERR_CANCELLED, "stopped") : 1;
}

static void settles(void *arg)
{
	(void)arg;
}

/* stopped: the user stops the turn before the message is sent */
static void steer(struct server *s, bool stopped)
{
	struct error err = { 0 };
	struct world w;

	begin(&w, s,
	      "[{\"tool_calls\":[{\"name\":\"write_todos\",\"args\":"
	      "{\"todos\":[]}}]},{\"text\":\"done\"}]");
	w.asked = stopped;
	w.agent.steering = (struct agent_steering){ takes, settles, &w };
	assert_int_equal(agent_run(&w.agent, "hi", &w.stop, &err),
			 stopped ? -1 : 0);
	assert_true(w.agent.sent);
	assert_int_equal(w.agent.attached.n, 0);
	assert_int_equal(w.agent.turns, stopped ? 1 : 2);
	end(&w);
}

static void test_the_files_of_a_message_that_is_not_sent_go(void **state)
{
	steer(*state, false);
	steer(*state, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_answer_is_there_before_the_sandbox),
		cmocka_unit_test(
			test_calls_that_cannot_run_get_results_that_say_so),
		cmocka_unit_test(
			test_a_model_told_of_another_place_is_asked_anew),
		cmocka_unit_test(
			test_the_files_of_a_message_that_is_not_sent_go),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

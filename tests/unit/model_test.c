/* model_test.c - both wires against the emulator: answers and quirks. */
/* SPDX-License-Identifier: MIT */
#include "model_server.h"

static void a_conversation(void **state)
{
	static const char script[] =
		"[{\"thinking\":[\"first I think \\u00e4\",\"and again\"],"
		"\"text\":\"let me see\",\"tool_calls\":[{\"name\":\"ls\","
		"\"args\":{\"path\":\".\"}},{\"name\":\"execute\",\"args\":{"
		"\"command\":\"true\\n\"}}],\"usage\":{\"input\":7,\"output\":"
		"3,\"cache_read\":11,\"cache_write\":0},"
		"\"quirks\":[\"reasoning_content\"]},"
		"{\"thinking\":\"hm\",\"tool_calls\":[{\"name\":\"ls\","
		"\"args\":{}}],\"expect\":[\"result [24]\",\"result 3\"]},"
		"{\"text\":\"done\",\"expect\":[\"result\"]},"
		"{\"text\":\"bye\",\"expect\":[\"one more.*and more\"]}]";

	for (size_t w = 0; w < 2; w++) {
		struct server *s = *state;
		struct model *m;
		struct outcome o;

		load(s, script);
		m = open_model(s, wires[w], "{\"temperature\":0.5}", 0);
		push_text(m, ROLE_USER, "go");
		ask(m, &o);
		expect_text(&o, "let me see");
		assert_int_equal(o.reply.finish, FINISH_TOOLS);
		assert_int_equal(o.reply.usage.input, 7);
		assert_int_equal(o.reply.usage.cache_read, 11);
		assert_int_equal(o.reply.usage.output, 3);
		assert_true(o.seen.thinking.len > 20);
		model_push(m, &o.reply.message);
		push_results(m, &o.reply.message);
		outcome_release(&o);
		ask(m, &o);
		expect_text(&o, "");
		assert_int_equal(o.reply.finish, FINISH_TOOLS);
		model_push(m, &o.reply.message);
		push_results(m, &o.reply.message);
		outcome_release(&o);
		ask(m, &o);
		expect_text(&o, "done");
		assert_int_equal(o.reply.finish, FINISH_STOP);
		model_push(m, &o.reply.message);
		outcome_release(&o);
		push_text(m, ROLE_USER, "one more");
		push_text(m, ROLE_USER, "and more");
		ask(m, &o);
		expect_text(&o, "bye");
		outcome_release(&o);
		model_close(m);
		assert_int_equal(count(s, "requests"), 4);
	}
}

static const char *const quirks[] = {
	"crlf",
	"no_space",
	"comments",
	"pings",
	"unknown",
	"no_done",
	"no_usage",
	"empty_choices",
	"no_index",
	"zero_index",
	"late_null_id",
	"no_id",
	"args_object",
	"repeat_name",
	"stop_with_calls",
	"content_list",
	"reasoning_content",
	"no_stream",
	"no_last_newline",
	"no_index\",\"no_id",
	"late_null_id\",\"crlf\",\"no_space",
};

static void quirks_of_imitators(void **state)
{
	for (size_t i = 0; i < sizeof(quirks) / sizeof(quirks[0]); i++)
		for (size_t chunk = 0; chunk < 3; chunk++) {
			static const int sizes[] = { 0, 1, 7 };
			struct outcome o;
			char script[600];
			const struct message *m = &o.reply.message;

			snprintf(script, sizeof(script),
				 "[{\"text\":\"see: \\u00e4\\ud83d\\ude00\","
				 "\"tool_calls\":[{\"name\":\"ls\",\"args\":{"
				 "\"path\":\"a b\"}},{\"name\":\"ls\",\"args\":"
				 "{\"path\":\"c\"}}],\"quirks\":[\"%s\"],"
				 "\"chunk_bytes\":%d}]",
				 quirks[i], sizes[chunk]);
			ask_once(*state, "openai-chat", script, 0, &o);
			if (o.rc < 0 || m->n != 3)
				fail_msg("%s: %s (%zu parts)", quirks[i],
					 o.err.message, m->n);
			assert_string_equal(m->parts[0].text,
					    "see: \xC3\xA4\xF0\x9F\x98\x80");
			for (int c = 1; c < 3; c++) {
				cJSON *args =
					json_parse(str_of(m->parts[c].args));

				assert_false(m->parts[c].bad_args);
				assert_string_equal(m->parts[c].name, "ls");
				assert_string_equal(
					json_string(args, "path", ""),
					c == 1 ? "a b" : "c");
				cJSON_Delete(args);
			}
			assert_string_not_equal(m->parts[1].id, m->parts[2].id);
			assert_int_equal(o.reply.finish, FINISH_TOOLS);
			outcome_release(&o);
		}
}

static void stop_reasons(void **state)
{
	static const struct {
		const char *wire, *stop;
		enum finish finish;
	} rows[] = {
		{ "anthropic", "end_turn", FINISH_STOP },
		{ "anthropic", "max_tokens", FINISH_LENGTH },
		{ "anthropic", "refusal", FINISH_REFUSAL },
		{ "anthropic", "stop_sequence", FINISH_STOP },
		{ "anthropic", "from_the_future", FINISH_STOP },
		{ "openai-chat", "stop", FINISH_STOP },
		{ "openai-chat", "length", FINISH_LENGTH },
		{ "openai-chat", "content_filter", FINISH_REFUSAL },
		{ "openai-chat", "tool_calls", FINISH_STOP }, /* none there */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char script[200];
		struct outcome o;

		snprintf(script, sizeof(script),
			 "[{\"text\":\"x\",\"stop\":\"%s\"}]", rows[i].stop);
		ask_once(*state, rows[i].wire, script, 0, &o);
		expect_text(&o, "x");
		assert_int_equal(o.reply.finish, rows[i].finish);
		outcome_release(&o);
	}
}

/* What was no JSON must still be acceptable when it is sent back. */
static void bad_arguments(void **state)
{
	for (size_t w = 0; w < 2; w++) {
		struct server *s = *state;
		struct outcome o;
		struct model *m;

		load(s, "[{\"tool_calls\":[{\"name\":\"ls.x\",\"raw_args\":"
			"\"{\\\"path\\\": oops\"},{\"name\":\"ls\","
			"\"raw_args\":\"\"}]},{\"text\":\"ok\"}]");
		m = open_model(s, wires[w], NULL, 0);
		push_text(m, ROLE_USER, "go");
		ask(m, &o);
		expect_text(&o, "");
		assert_true(o.reply.message.parts[0].bad_args);
		assert_string_equal(o.reply.message.parts[0].args,
				    "{\"path\": oops");
		assert_false(o.reply.message.parts[1].bad_args);
		assert_string_equal(o.reply.message.parts[1].args, "{}");
		model_push(m, &o.reply.message);
		push_results(m, &o.reply.message);
		outcome_release(&o);
		ask(m, &o);
		expect_text(&o, "ok");
		outcome_release(&o);
		model_close(m);
	}
}

/* Each prompt that was refused is out of the next request: also one that grew
 * onto the prompt before it. */
static void forgets_what_was_refused(void **state)
{
	static const char *const prompts[] = { "first", "second", "third" };
	static const char *const stops[] = { "refusal", "content_filter" };

	for (size_t w = 0; w < 2; w++) {
		struct model *m;
		char script[400];

		snprintf(script, sizeof(script),
			 "{\"by\":\"count\",\"turns\":[{\"text\":\"no\","
			 "\"stop\":\"%s\"},{\"text\":\"no\",\"stop\":\"%s\","
			 "\"expect\":[\"^lead\\\\s*second$\"]},"
			 "{\"text\":\"ok\",\"expect\":"
			 "[\"^lead\\\\s*third$\"]}]}",
			 stops[w], stops[w]);
		load(*state, script);
		m = open_model(*state, wires[w], NULL, 0);
		push_text(m, ROLE_USER, "lead");
		for (size_t i = 0; i < 3; i++) {
			struct outcome o;

			push_text(m, ROLE_USER, prompts[i]);
			ask(m, &o);
			expect_text(&o, i < 2 ? "no" : "ok");
			model_push(m, &o.reply.message);
			if (o.reply.finish == FINISH_REFUSAL)
				model_forget_prompt(m);
			outcome_release(&o);
		}
		model_close(m);
	}
}

static void server_without_stream_options(void **state)
{
	struct outcome o;

	ask_once(*state, "openai-chat",
		 "{\"turns\":[{\"text\":\"ok\"}],\"refuse\":"
		 "[\"stream_options\"]}",
		 0, &o);
	expect_text(&o, "ok");
	assert_int_equal(o.seen.restarts, 0);
	outcome_release(&o);
	assert_int_equal(count(*state, "requests"), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_conversation),
		cmocka_unit_test(quirks_of_imitators),
		cmocka_unit_test(stop_reasons),
		cmocka_unit_test(bad_arguments),
		cmocka_unit_test(forgets_what_was_refused),
		cmocka_unit_test(server_without_stream_options),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

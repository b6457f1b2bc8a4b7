/* model_test.c - every wire against the emulator: answers and quirks. */
/* SPDX-License-Identifier: MIT */
#include "media_files.h"
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

	for (size_t w = 0; w < N_WIRES; w++) {
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

/* What the server says of them: type, size and a hash of what arrived. */
#define SEEN_PNG "file image/png 29 7c58cf77"
#define SEEN_PDF "file application/pdf 111 34d84754"

static void push_read_file(struct model *m, const struct message *reply)
{
	struct message msg = { .role = ROLE_TOOL };

	for (size_t i = 0; i < reply->n; i++) {
		struct part *p = message_add(&msg, PART_TOOL_RESULT);

		p->id = xstrdup(reply->parts[i].id);
		p->name = xstrdup(reply->parts[i].name);
		p->text = xstrdup("[a file]");
		add_media(&msg, "a b_c.pdf", i ? PNG_3X2 : PDF_2_PAGES);
	}
	model_push(m, &msg);
	message_release(&msg);
}

static void files_of_users_and_of_results_reach_every_server(void **state)
{
	static const char script[] =
		"[{\"expect\":[\"" SEEN_PNG "\",\"look\"],\"tool_calls\":["
		"{\"name\":\"ls\",\"args\":{}},{\"name\":\"ls\",\"args\":"
		"{}}]},{\"expect\":[\"" SEEN_PDF "\",\"" SEEN_PNG
		"\"],\"text\":\"seen\"},{\"text\":\"bye\",\"expect\":["
		"\"" SEEN_PDF ".*more\"]}]";

	for (size_t w = 0; w < N_WIRES; w++) {
		struct message ask_it = { .role = ROLE_USER };
		struct outcome o;
		struct model *m;

		load(*state, script);
		m = open_model(*state, wires[w], NULL, 0);
		add_media(&ask_it, "a.png", PNG_3X2);
		message_add(&ask_it, PART_TEXT)->text = xstrdup("look");
		model_push(m, &ask_it);
		message_release(&ask_it);
		ask(m, &o);
		expect_text(&o, "");
		model_push(m, &o.reply.message);
		push_read_file(m, &o.reply.message);
		outcome_release(&o);
		ask(m, &o);
		expect_text(&o, "seen");
		model_push(m, &o.reply.message);
		outcome_release(&o);
		ask_it = (struct message){ .role = ROLE_USER };
		add_media(&ask_it, "b.pdf", PDF_2_PAGES);
		model_push(m, &ask_it);
		message_release(&ask_it);
		push_text(m, ROLE_USER, "one more");
		ask(m, &o);
		expect_text(&o, "bye");
		outcome_release(&o);
		model_close(m);
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
		{ "openai-responses", "stop", FINISH_STOP },
		{ "openai-responses", "max_output_tokens", FINISH_LENGTH },
		{ "openai-responses", "content_filter", FINISH_REFUSAL },
		{ "openai-responses", "refusal", FINISH_REFUSAL },
		{ "bedrock", "end_turn", FINISH_STOP },
		{ "bedrock", "max_tokens", FINISH_LENGTH },
		{ "bedrock", "guardrail_intervened", FINISH_REFUSAL },
		{ "bedrock", "content_filtered", FINISH_REFUSAL },
		{ "bedrock", "model_context_window_exceeded", FINISH_WINDOW },
		{ "gemini", "STOP", FINISH_STOP },
		{ "gemini", "MAX_TOKENS", FINISH_LENGTH },
		{ "gemini", "SAFETY", FINISH_REFUSAL },
		{ "gemini", "PROHIBITED_CONTENT", FINISH_REFUSAL },
		{ "gemini", "FROM_THE_FUTURE", FINISH_STOP },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char script[200];
		struct outcome o;

		snprintf(script, sizeof(script),
			 "[{\"text\":\"x\",\"stop\":\"%s\"}]", rows[i].stop);
		ask_once(*state, rows[i].wire, script, 0, &o);
		expect_text(&o, "x");
		assert_int_equal(o.reply.finish, rows[i].finish);
		if (rows[i].finish == FINISH_REFUSAL &&
		    strcmp(rows[i].stop, "refusal") != 0)
			assert_string_equal(o.reply.reason, rows[i].stop);
		outcome_release(&o);
	}
}

/* What was no JSON must still be acceptable when it is sent back. */
static void bad_arguments(void **state)
{
	for (size_t w = 0; w < N_TEXT_ARGS; w++) {
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
	static const char *const stops[N_WIRES] = { "refusal", "content_filter",
						    "refusal",
						    "guardrail_intervened",
						    "SAFETY" };

	for (size_t w = 0; w < N_WIRES; w++) {
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

static void a_responses_server_may_send_less_or_more(void **state)
{
	static const char *const odd[] = { "no_deltas",      "no_stream",
					   "crlf",           "no_space",
					   "comments",       "unknown",
					   "no_last_newline" };

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct outcome o;
		char script[500];
		const struct part *p;

		snprintf(script, sizeof(script),
			 "[{\"thinking\":[\"one\",\"two\"],\"text\":\"see\","
			 "\"tool_calls\":[{\"name\":\"ls\",\"args\":{\"path\":"
			 "\"a\"}},{\"name\":\"ls\",\"args\":{}}],\"usage\":{"
			 "\"input\":7,\"output\":5,\"cache_read\":3,"
			 "\"cache_write\":2,\"reasoning\":4},"
			 "\"chunk_bytes\":7,\"quirks\":[\"%s\"]}]",
			 odd[i]);
		ask_once(*state, "openai-responses", script, 0, &o);
		if (o.rc < 0 || o.reply.message.n != 5)
			fail_msg("%s: %s (%zu parts)", odd[i], o.err.message,
				 o.reply.message.n);
		p = o.reply.message.parts;
		assert_string_equal(p[0].text, "one");
		assert_non_null(strstr(p[1].replay, "gAAAA0_1+/=="));
		assert_null(strstr(p[1].replay, "\"id\""));
		assert_string_equal(p[2].text, "see");
		assert_string_equal(p[2].replay, "{\"phase\":\"commentary\"}");
		assert_string_equal(p[3].args, "{\"path\": \"a\"}");
		assert_string_equal(p[4].args, "{}");
		assert_int_equal(o.reply.usage.input, 7);
		assert_int_equal(o.reply.usage.cache_read, 3);
		assert_int_equal(o.reply.usage.cache_write, 2);
		assert_int_equal(o.reply.usage.output, 5);
		assert_int_equal(o.reply.usage.reasoning, 4);
		assert_int_equal(o.reply.finish, FINISH_TOOLS);
		outcome_release(&o);
	}
}

static void a_call_that_the_output_limit_cut_is_not_run(void **state)
{
	static const char *const stops[N_TEXT_ARGS] = { "max_tokens", "length",
							"max_output_tokens",
							"max_tokens" };

	for (size_t i = 0; i < N_TEXT_ARGS; i++) {
		struct outcome o;
		char script[300];

		snprintf(
			script, sizeof(script),
			"[{\"tool_calls\":[{\"name\":\"ls\",\"raw_args\":\"{}\""
			"},{\"name\":\"ls\",\"raw_args\":\"{\\\"path\\\": "
			"\\\"a\"}],\"stop\":\"%s\"}]",
			stops[i]);
		ask_once(*state, wires[i], script, 0, &o);
		expect_text(&o, "");
		assert_int_equal(o.reply.message.n, 2);
		assert_false(o.reply.message.parts[0].bad_args);
		assert_true(o.reply.message.parts[1].bad_args);
		assert_true(o.reply.cut_call);
		outcome_release(&o);
		/* within its name, and not at all */
		snprintf(script, sizeof(script),
			 "[{\"tool_calls\":[{\"name\":\"ls\",\"raw_args\":\"\""
			 "}],\"stop\":\"%s\"}]",
			 stops[i]);
		ask_once(*state, wires[i], script, 0, &o);
		assert_true(o.reply.message.parts[0].bad_args);
		assert_true(o.reply.cut_call);
		outcome_release(&o);
		snprintf(script, sizeof(script),
			 "[{\"tool_calls\":[{\"name\":\"ls\",\"raw_args\":"
			 "\"{}\"}],\"stop\":\"%s\"}]",
			 stops[i]);
		ask_once(*state, wires[i], script, 0, &o);
		assert_false(o.reply.message.parts[0].bad_args);
		assert_false(o.reply.cut_call);
		outcome_release(&o);
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
		cmocka_unit_test(
			files_of_users_and_of_results_reach_every_server),
		cmocka_unit_test(quirks_of_imitators),
		cmocka_unit_test(stop_reasons),
		cmocka_unit_test(bad_arguments),
		cmocka_unit_test(forgets_what_was_refused),
		cmocka_unit_test(a_responses_server_may_send_less_or_more),
		cmocka_unit_test(a_call_that_the_output_limit_cut_is_not_run),
		cmocka_unit_test(server_without_stream_options),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

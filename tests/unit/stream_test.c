/* stream_test.c - recorded streams, cut at any byte, give the same reply. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/ids.h"
#include "base/path.h"
#include "base/str.h"
#include "model/draft.h"
#include "model/exchange.h"
#include "model/money.h"

static const struct model_choice choice = { .provider = (char *)"test" };

/* Runs one stream in pieces of size bytes; size 0: in one. */
static int run(const struct wire *wire, struct str bytes, size_t size,
	       struct model_reply *reply, struct error *err)
{
	struct exchange x;
	int rc = 0;

	exchange_init(&x, wire, &choice, NULL, 60000);
	x.response.status = 200;
	if (wire->aws)
		snprintf(x.response.content_type,
			 sizeof(x.response.content_type),
			 "application/vnd.amazon.eventstream");
	while (bytes.len && rc == 0) {
		size_t n = size && size < bytes.len ? size : bytes.len;

		rc = exchange_data(&x, (struct str){ bytes.ptr, n }, err);
		bytes = str_skip(bytes, n);
	}
	rc = exchange_end(&x, rc, err);
	*reply = (struct model_reply){ 0 };
	if (rc == 0)
		draft_finish(&x.draft, reply, NULL, wire->replay);
	exchange_release(&x);
	return rc;
}

/* The reply as one text, with finish and usage before it. */
static void describe(const struct model_reply *reply, struct buf *out)
{
	buf_addf(out, "%d ", reply->finish);
	usage_to_json(&reply->usage, out);
	buf_addc(out, ' ');
	message_to_json(&reply->message, out);
}

static void read_stream(const char *name, struct buf *out)
{
	struct error err = { 0 };
	char path[200];

	snprintf(path, sizeof(path), "tests/data/streams/%s%s", name,
		 strchr(name, '.') ? "" : ".sse");
	if (path_read(path, out, &err) < 0)
		fail_msg("%s", err.message);
}

#define USAGE(in, out, read, write)                                            \
	"{\"input_tokens\":" #in ",\"output_tokens\":" #out                    \
	",\"cache_read_tokens\":" #read ",\"cache_write_tokens\":" #write "}"
#define SAID " {\"role\":\"assistant\",\"parts\":["
#define CALL(id, name, args)                                                   \
	"{\"kind\":\"tool_call\",\"id\":\"" id "\",\"name\":\"" name           \
	"\",\"args\":\"" args "\"}"

static const struct {
	const struct wire *wire;
	const char *name, *want;
} golden[] = {
	{ &wire_anthropic, "anthropic-thinking-tools",
	  "2 " USAGE(25, 89, 100, 3) SAID
	  "{\"kind\":\"thinking\",\"text\":\"Let me \\\"see\\\"\\nü → 😀\","
	  "\"replay\":\"{\\\"type\\\":\\\"thinking\\\",\\\"thinking\\\":\\\""
	  "Let me \\\\\\\"see\\\\\\\"\\\\nü → 😀\\\",\\\"signature\\\":"
	  "\\\"EqQBCkY+/==\\\"}\"},"
	  "{\"kind\":\"thinking\",\"text\":\"\",\"replay\":\"{\\\"type\\\":"
	  "\\\"redacted_thinking\\\",\\\"data\\\":\\\"EmwKAhgB+/"
	  "=\\\"}\"}," CALL(
		  "toolu_1", "ls",
		  "{\\\"path\\\": \\\"/a b\\\"}") "," CALL("toolu_2", "noargs",
							   "{}") "]}" },
	{ &wire_anthropic, "anthropic-text",
	  "3 " USAGE(25, 15, 100, 3) SAID
	  "{\"kind\":\"text\",\"text\":\"Hello, wörld\"}]}" },
	{ &wire_openai_chat, "openai-tools",
	  "2 " USAGE(18, 17, 64, 0) SAID
		  CALL("call_a", "ls", "{\\\"path\\\":\\\"x\\\"}") "," CALL(
			  "call_b", "execute",
			  "{\\\"command\\\":"
			  "\\\"a\\\\nb\\\"}") "]"
					      "}" },
	{ &wire_openai_chat, "openai-text",
	  "1 " USAGE(0, 0, 0, 0) SAID
	  "{\"kind\":\"text\",\"text\":\"Hello 😀\"}]}" },
	{ &wire_openai_chat, "deepseek-reasoning",
	  "2 " USAGE(30, 9, 20, 0) SAID
	  "{\"kind\":\"thinking\",\"text\":\"Hm, ls.\",\"replay\":"
	  "\"{\\\"reasoning_content\\\":\\\"Hm, ls.\\\"}\"},"
	  "{\"kind\":\"text\",\"text\":\"Looking.\"}," CALL("call_0", "ls",
							    "{}") "]}" },
	{ &wire_openai_chat, "gemini-calls",
	  "2 " USAGE(5, 2, 0, 0) SAID
	  "{\"kind\":\"tool_call\",\"id\":\"function-call-1\",\"name\":\"ls\","
	  "\"args\":\"{\\\"path\\\":\\\"a\\\"}\",\"replay\":"
	  "\"{\\\"extra_content\\\":{\\\"google\\\":{\\\"thought_signature\\\""
	  ":\\\"AbC+/=\\\"}}}\"}," CALL("function-call-2", "ls",
					"{\\\"path\\\":\\\"b\\\"}") "]}" },
	{ &wire_openai_chat, "openrouter-details",
	  "2 " USAGE(0, 0, 0, 0) SAID
	  "{\"kind\":\"thinking\",\"text\":\"Hello\",\"replay\":"
	  "\"{\\\"reasoning_details\\\":[{\\\"format\\\":\\\"a-v1\\\","
	  "\\\"type\\\":\\\"reasoning.text\\\",\\\"signature\\\":\\\"sig+/"
	  "=\\\","
	  "\\\"index\\\":0,\\\"text\\\":\\\"Hello\\\"},"
	  "{\\\"type\\\":\\\"reasoning.encrypted\\\",\\\"data\\\":\\\"QUJD"
	  "\\\",\\\"id\\\":\\\"r1\\\",\\\"index\\\":1}]}\"}," CALL("t1", "ls",
								   "{}") "]}" },
	{ &wire_openai_chat, "mistral-content-list",
	  "1 " USAGE(5, 2, 0, 0) SAID
	  "{\"kind\":\"thinking\",\"text\":\"Why not\"},"
	  "{\"kind\":\"text\",\"text\":\"Because.\"}]}" },
	{ &wire_anthropic, "anthropic-interleaved",
	  "2 " USAGE(6, 9, 7, 0) SAID
	  "{\"kind\":\"thinking\",\"text\":\"hm\",\"replay\":\"{"
	  "\\\"type\\\":\\\"thinking\\\",\\\"thinking\\\":\\\"hm\\\","
	  "\\\"signature\\\":\\\"SIG==\\\"}\"}," CALL(
		  "t1", "ls",
		  "{\\\"path\\\":\\\"a\\\"}") "," CALL("t2", "ls",
						       "{\\\"path\\\":"
						       "\\\"b\\\"}") "]}" },
	{ &wire_openai_chat, "openai-interleaved",
	  "2 " USAGE(36, 50, 64, 0)
		  SAID CALL("b", "ls", "{\\\"path\\\":\\\"b\\\"}") "," CALL(
			  "a", "execute",
			  "{\\\"command\\\":\\\"a\\\"}") ",{\"kind\":\"text\","
							 "\"text\":\"between\"}"
							 "]}" },
	{ &wire_openai_responses, "responses-tools",
	  "2 {\"input_tokens\":25,\"output_tokens\":89,\"cache_read_tokens\":"
	  "100,\"cache_write_tokens\":3,\"reasoning_tokens\":64}" SAID
	  "{\"kind\":\"thinking\",\"text\":\"Let me \\\"see\\\"\\nü\","
	  "\"replay\":\"{\\\"type\\\":\\\"reasoning\\\",\\\"summary\\\":"
	  "[{\\\"type\\\":\\\"summary_text\\\",\\\"text\\\":\\\"Let me "
	  "\\\\\\\"see\\\\\\\"\\\\nü\\\"}],\\\"encrypted_content\\\":"
	  "\\\"gAAAA0_0+/==\\\"}\"},"
	  "{\"kind\":\"thinking\",\"text\":\"and\",\"replay\":"
	  "\"{\\\"type\\\":\\\"reasoning\\\",\\\"summary\\\":[{"
	  "\\\"type\\\":\\\"summary_text\\\",\\\"text\\\":\\\"and"
	  "\\\"}],\\\"encrypted_content\\\":\\\"gAAAA0_1+/==\\\"}\"},"
	  "{\"kind\":\"text\",\"text\":\"See: 😀\",\"replay\":"
	  "\"{\\\"phase\\\":\\\"commentary\\\"}\"}," CALL(
		  "call_a", "ls",
		  "{\\\"path\\\": \\\"/a b\\\"}") "," CALL("call_b", "noargs",
							   "{}") "]}" },
	{ &wire_bedrock, "bedrock-tools.frames",
	  "2 " USAGE(25, 89, 100, 3) SAID
	  "{\"kind\":\"thinking\",\"text\":\"Let me \\\"see\\\"\\nü\","
	  "\"replay\":\"{\\\"reasoningContent\\\":{\\\"reasoningText\\\":"
	  "{\\\"text\\\":\\\"Let me \\\\\\\"see\\\\\\\"\\\\nü\\\","
	  "\\\"signature\\\":\\\"sig+/0_0==\\\"}}}\"},"
	  "{\"kind\":\"thinking\",\"text\":\"\",\"replay\":\"{"
	  "\\\"reasoningContent\\\":{\\\"redactedContent\\\":"
	  "\\\"ZGF0YQ==\\\"}}\"},"
	  "{\"kind\":\"text\",\"text\":\"See: 😀\"}," CALL(
		  "call_a", "ls",
		  "{\\\"path\\\": \\\"/a b\\\"}") "," CALL("call_b", "noargs",
							   "{}") "]}" },
	{ &wire_gemini, "gemini-signed",
	  "2 {\"input_tokens\":25,\"output_tokens\":89,\"cache_read_tokens\":"
	  "100,\"cache_write_tokens\":0,\"reasoning_tokens\":64}" SAID
	  "{\"kind\":\"thinking\",\"text\":\"Let me \\\"see\\\"\\nü\"},"
	  "{\"kind\":\"text\",\"text\":\"See: 😀\"},"
	  "{\"kind\":\"tool_call\",\"id\":\"call_a\",\"name\":\"ls\","
	  "\"args\":\"{\\\"path\\\":\\\"/a b\\\"}\",\"replay\":"
	  "\"{\\\"thoughtSignature\\\":\\\"c2ln0+/==\\\"}\"}," CALL(
		  "call_b", "noargs", "{}") "]}" },
	{ &wire_gemini, "gemini-text",
	  "1 " USAGE(10, 5, 0, 0) SAID
	  "{\"kind\":\"thinking\",\"text\":\"hm\"},"
	  "{\"kind\":\"text\",\"text\":\"I cannot.\"},"
	  "{\"kind\":\"text\",\"text\":\"\",\"replay\":"
	  "\"{\\\"thoughtSignature\\\":\\\"c2ln0+/==\\\"}\"}]}" },
	{ &wire_openai_chat, "refusal",
	  "4 " USAGE(0, 0, 0, 0) SAID
	  "{\"kind\":\"text\",\"text\":\"I cannot.\"}]}" },
};

static void golden_streams(void **state)
{
	static const size_t sizes[] = { 0, 1, 7, 64, 1021 };

	(void)state;
	for (size_t i = 0; i < 5 * sizeof(golden) / sizeof(golden[0]); i++) {
		struct buf bytes = BUF_INIT(1 << 20);
		struct buf got = BUF_INIT(1 << 20);
		struct model_reply reply;
		struct error err = { 0 };

		read_stream(golden[i / 5].name, &bytes);
		if (run(golden[i / 5].wire, buf_str(&bytes), sizes[i % 5],
			&reply, &err) < 0)
			fail_msg("%s: %s", golden[i / 5].name, err.message);
		describe(&reply, &got);
		assert_string_equal(got.ptr, golden[i / 5].want);
		model_reply_release(&reply);
		buf_release(&got);
		buf_release(&bytes);
	}
}

/* A stream cut anywhere is never a reply: not before its last event but one
 * (the end mark), and nowhere inside an event. */
static void cut_anywhere(void **state)
{
	static const struct {
		const struct wire *wire;
		const char *name, *last; /* from here on it may be whole */
	} rows[] = {
		{ &wire_anthropic, "anthropic-text", "event: message_stop" },
		{ &wire_openai_chat, "openai-tools", "\"tool_calls\"}]" },
		{ &wire_openai_responses, "responses-tools",
		  "event: response.completed" },
		{ &wire_gemini, "gemini-signed", "\"finishReason\"" },
		{ &wire_bedrock, "bedrock-tools.frames", "stopReason" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf bytes = BUF_INIT(1 << 20);
		struct model_reply reply;
		size_t end;
		size_t whole = 0;

		read_stream(rows[i].name, &bytes);
		end = str_search(buf_str(&bytes), str_of(rows[i].last));
		assert_true(end < bytes.len);
		for (size_t n = 0; n <= bytes.len; n++) {
			struct error err = { 0 };
			int rc = run(rows[i].wire, (struct str){ bytes.ptr, n },
				     0, &reply, &err);

			if (n <= end)
				assert_int_equal(rc, -1);
			whole += rc == 0;
			model_reply_release(&reply);
		}
		assert_true(whole > 0);
		buf_release(&bytes);
	}
}

static void calls_of_ollama(void **state)
{
	struct buf bytes = BUF_INIT(1 << 20);
	struct model_reply reply;
	struct error err = { 0 };

	(void)state;
	read_stream("ollama-calls", &bytes);
	assert_int_equal(
		run(&wire_openai_chat, buf_str(&bytes), 1, &reply, &err), 0);
	assert_int_equal(reply.finish, FINISH_TOOLS);
	assert_int_equal(reply.message.n, 2);
	assert_string_equal(reply.message.parts[0].args, "{\"path\":\"a\"}");
	assert_string_equal(reply.message.parts[1].args, "{\"path\":\"b\"}");
	assert_string_not_equal(reply.message.parts[0].id,
				reply.message.parts[1].id);
	model_reply_release(&reply);
	buf_release(&bytes);
}

static void arguments_of_all_kinds(void **state)
{
	static const struct {
		bool bad;
		const char *args;
	} want[] = {
		{ false, "{\"x\":\"line\\nbreak\"}" }, /* was a raw newline */
		{ true, "{\"x\":" },
		{ true, "[1]" },
		{ false, "{\"y\":1}" }, /* was inside a string */
		{ false, "{\"z\":1}" }, /* came twice, with a used id */
		{ true, "" },           /* the limit came before its end */
	};
	struct buf bytes = BUF_INIT(1 << 20);
	struct model_reply reply;
	struct error err = { 0 };

	(void)state;
	read_stream("bad-arguments", &bytes);
	assert_int_equal(
		run(&wire_openai_chat, buf_str(&bytes), 7, &reply, &err), 0);
	assert_int_equal(reply.message.n, 6);
	for (size_t i = 0; i < 6; i++) {
		assert_string_equal(reply.message.parts[i].args, want[i].args);
		assert_int_equal(reply.message.parts[i].bad_args, want[i].bad);
	}
	assert_string_not_equal(reply.message.parts[3].id,
				reply.message.parts[4].id);
	model_reply_release(&reply);
	buf_release(&bytes);
}

/* Half a pair of surrogates, NUL, and what only looks like them. */
static void odd_escapes(void **state)
{
	static const char sse[] =
		"data: "
		"{\"choices\":[{\"delta\":{\"content\":\"a\\ud83d|\\ude00|"
		"\\ud83d\\ude00|\\u0000|\\\\ud83d|\\\\u0000\"},"
		"\"finish_reason\":\"stop\"}]}\n\n";
	struct model_reply reply;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(run(&wire_openai_chat, str_of(sse), 0, &reply, &err),
			 0);
	assert_string_equal(reply.message.parts[0].text,
			    "a\xEF\xBF\xBD|\xEF\xBF\xBD|\xF0\x9F\x98\x80|"
			    "\xEF\xBF\xBD|\\ud83d|\\u0000");
	model_reply_release(&reply);
}

static void strict_json(void **state)
{
	static const char *const good[] = {
		"{}",   " [1, -0.5e+3, \"a\\u00e4\\ud83d\\ude00\\n\", null] ",
		"true", "{\"a\":{\"b\":[]},\"c\":false}",
		"0",
	};
	static const char *const bad[] = {
		"",         "{",       "{\"a\":1,}",  "[1,]",
		"01",       "1.",      "-",           "+1",
		"\"\n\"",   "\"\\x\"", "\"\\ud83d\"", "\"\\ude00\"",
		"\"\xFF\"", "{} {}",   "{a:1}",       "nul",
		"\"\\",     "[1 2]",   "\"\\u00g0\"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!args_strict(str_of(good[i])))
			fail_msg("refused: %s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (args_strict(str_of(bad[i])))
			fail_msg("taken: %s", bad[i]);
}

static void caps(void **state)
{
	struct buf bytes = BUF_INIT(64 << 20);
	struct model_reply reply;
	struct error err = { 0 };

	(void)state;
	for (int i = 0; i < DRAFT_MAX_CALLS + 1; i++)
		buf_addf(&bytes,
			 "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{"
			 "\"index\":%d,\"id\":\"c%d\",\"function\":{\"name\":"
			 "\"x\"}}]}}]}\n\n",
			 i, i);
	assert_int_equal(
		run(&wire_openai_chat, buf_str(&bytes), 0, &reply, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	buf_clear(&bytes);
	for (int i = 0; i < 17; i++) {
		buf_adds(&bytes, "data: {\"choices\":[{\"delta\":{\"content\":"
				 "\"");
		memset(buf_room(&bytes, 1 << 20), 'x', 1 << 20);
		buf_added(&bytes, 1 << 20);
		buf_adds(&bytes, "\"}}]}\n\n");
	}
	assert_int_equal(
		run(&wire_openai_chat, buf_str(&bytes), 0, &reply, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	buf_release(&bytes);
}

static void message_round_trip(void **state)
{
	static const char json[] =
		"{\"role\":\"tool\",\"parts\":[{\"kind\":\"text\",\"text\":"
		"\"a\\\"\\n\\u0001ä\"},{\"kind\":\"tool_call\",\"id\":\"i\","
		"\"name\":\"n\",\"args\":\"{\",\"replay\":\"{}\",\"bad_args\":"
		"true},{\"kind\":\"tool_result\",\"text\":\"\",\"id\":\"i\","
		"\"failed\":true}]}";
	static const char *const damaged[] = {
		"",
		"{}",
		"[]",
		"{\"role\":\"user\"}",
		"{\"role\":\"x\",\"parts\":[]}",
		"{\"role\":\"user\",\"parts\":[1]}",
		"{\"role\":\"user\",\"parts\":[{\"kind\":\"x\"}]}",
	};
	struct buf out = BUF_INIT(4096);
	struct error err = { 0 };
	struct message m;

	(void)state;
	assert_int_equal(message_from_json(&m, str_of(json), &err), 0);
	assert_int_equal(m.n, 3);
	message_to_json(&m, &out);
	assert_string_equal(out.ptr, json);
	message_release(&m);
	buf_release(&out);
	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		assert_int_equal(
			message_from_json(&m, str_of(damaged[i]), &err), -1);
		assert_int_equal(m.n, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_streams),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(calls_of_ollama),
		cmocka_unit_test(arguments_of_all_kinds),
		cmocka_unit_test(odd_escapes),
		cmocka_unit_test(strict_json),
		cmocka_unit_test(caps),
		cmocka_unit_test(message_round_trip),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

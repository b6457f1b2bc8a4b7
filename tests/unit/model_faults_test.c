/* model_faults_test.c - every wire against the emulator: what goes wrong. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "model_server.h"

/* Fault, and how often the sink must be told of a restart. */
static const struct {
	const char *fault;
	int restarts;
	const char *why; /* part of what the user reads */
} mended[] = {
	{ "{\"status\":529,\"retry_after\":\"0\"}", 1, "HTTP 529" },
	{ "{\"status\":503,\"times\":2,\"retry_after\":\"0\"}", 2, "3 of 4" },
	{ "{\"status\":409,\"retry_after\":\"0\"}", 1, "HTTP 409" },
	{ "{\"status\":408,\"retry_after\":\"0\"}", 1, "HTTP 408" },
	{ "{\"status\":429,\"body\":{\"error\":{\"message\":\"Please try again "
	  "in 5ms\"}}}",
	  1, "HTTP 429" },
	{ "{\"cut_after_bytes\":0}", 1, "" },
	{ "{\"cut_after_bytes\":1}", 1, "" },
	{ "{\"cut_after_bytes\":700}", 1, "" },
	{ "{\"cut_after_bytes\":0,\"clean\":true}", 1, "ended before" },
	{ "{\"cut_after_bytes\":700,\"clean\":true}", 1, "ended before" },
	{ "{\"stall_after_bytes\":0}", 1, "stalled" },
	{ "{\"stall_after_bytes\":700}", 1, "stalled" },
	{ "{\"stall_after_bytes\":700,\"heartbeat_ms\":30}", 1, "heartbeats" },
	{ "{\"garbage\":\"data: {oops\\n\\n\"}", 1, "not a JSON" },
	{ "{\"garbage\":\"data: 17\\n\\n\"}", 1, "not a JSON" },
	{ "{\"error_event\":{\"type\":\"overloaded_error\",\"message\":"
	  "\"Overloaded\"}}",
	  1, "Overloaded" },
	{ "{\"error_event\":{\"code\":502,\"message\":\"upstream\"}}", 1,
	  "upstream" },
	/* the first one strikes a reused connection: net/ replays by itself */
	{ "{\"reset\":true,\"times\":2}", 1, "" },
	{ "{\"reset\":true,\"after_bytes\":700}", 1, "" },
};

static void mends_faults(void **state)
{
	for (size_t i = 0; i < N_WIRES * sizeof(mended) / sizeof(mended[0]);
	     i++) {
		const char *wire = wires[i % N_WIRES];
		char script[600];
		struct server *s = *state;
		struct outcome o;

		/* frames have neither comments nor lines */
		if (strcmp(wire, "bedrock") == 0 &&
		    (strstr(mended[i / N_WIRES].fault, "heartbeat") ||
		     strstr(mended[i / N_WIRES].fault, "garbage")))
			continue;
		snprintf(script, sizeof(script),
			 "[{\"text\":\"a whole answer, with some length to it, "
			 "so that cuts fall inside\",\"fault\":%s}]",
			 mended[i / N_WIRES].fault);
		s->idle_ms = strstr(script, "stall") ? 400 : 0;
		ask_once(s, wire, script, 3, &o);
		s->idle_ms = 0;
		if (o.rc < 0 ||
		    o.seen.restarts != mended[i / N_WIRES].restarts ||
		    !strstr(o.seen.why, mended[i / N_WIRES].why))
			fail_msg("%s %s: rc %d, %d restarts: %s / %s", wire,
				 mended[i / N_WIRES].fault, o.rc,
				 o.seen.restarts, o.seen.why, o.err.message);
		expect_text(&o, "a whole answer, with some length to it, so "
				"that cuts fall inside");
		outcome_release(&o);
		assert_in_range(count(*state, "requests"),
				mended[i / N_WIRES].restarts + 1,
				mended[i / N_WIRES].restarts + 2);
	}
}

static const struct {
	const char *fault;
	enum err code;
	const char *message, *hint;
	long requests; /* with two retries allowed */
} fatal[] = {
	{ "{\"status\":401,\"times\":9}", ERR_AUTH, "EMULATED_API_KEY",
	  "EMULATED_API_KEY", 1 },
	{ "{\"status\":403,\"times\":9}", ERR_AUTH, "HTTP 403",
	  "EMULATED_API_KEY", 1 },
	{ "{\"status\":404,\"times\":9}", ERR_NOT_FOUND, "HTTP 404",
	  "claude-emulated", 1 },
	{ "{\"status\":400,\"times\":9,\"body\":{\"error\":{\"message\":"
	  "\"prompt is too long: 9 tokens > 8 maximum\"}}}",
	  ERR_LIMIT, "prompt is too long", "context window", 1 },
	{ "{\"status\":400,\"times\":9,\"body\":{\"error\":{\"code\":"
	  "\"context_length_exceeded\",\"message\":\"no\"}}}",
	  ERR_LIMIT, "HTTP 400", "context window", 1 },
	{ "{\"status\":413,\"times\":9}", ERR_LIMIT, "HTTP 413",
	  "context window", 1 },
	{ "{\"status\":429,\"times\":9,\"body\":{\"error\":{\"code\":"
	  "\"insufficient_quota\",\"message\":\"pay\"}}}",
	  ERR_LIMIT, "pay", "billing", 1 },
	{ "{\"status\":500,\"times\":9,\"retry_after\":\"0\"}", ERR_REMOTE,
	  "HTTP 500", "Request id req_emulated", 3 },
	{ "{\"status\":429,\"times\":9,\"retry_after\":\"9999\"}", ERR_LIMIT,
	  "HTTP 429", "", 1 },
	{ "{\"error_event\":{\"type\":\"invalid_request_error\",\"message\":"
	  "\"no\"},\"times\":9}",
	  ERR_REMOTE, "invalid_request_error: no", "", 1 },
	{ "{\"error_event\":{\"type\":\"x\",\"message\":\"maximum context "
	  "length is 9\"},\"times\":9}",
	  ERR_LIMIT, "maximum context", "context window", 1 },
	{ "{\"cut_after_bytes\":400,\"times\":9}", ERR_NETWORK, "emulated", "",
	  3 },
	{ "{\"status\":200,\"body\":\"<html>\",\"times\":9}", ERR_PROTOCOL,
	  "answered instead of the model", "HTTPS_PROXY", 1 },
	{ "{\"status\":403,\"times\":9,\"body\":{\"error\":{\"message\":"
	  "\"The token has expired\"}}}",
	  ERR_AUTH, "EMULATED_API_KEY was refused: ", "to a valid key", 1 },
	{ "{\"status\":403,\"times\":9,\"body\":{\"error\":{\"message\":"
	  "\"no access to the model\"}}}",
	  ERR_AUTH, "EMULATED_API_KEY has no access: ", "claude-emulated", 1 },
	{ "{\"status\":400,\"times\":9,\"body\":{\"message\":\"The provided "
	  "model identifier is invalid.\"}}",
	  ERR_NOT_FOUND, "HTTP 400", "claude-emulated", 1 },
	{ "{\"status\":429,\"times\":9,\"body\":{\"error\":{\"message\":"
	  "\"Please retry in 36s\",\"details\":[{\"violations\":[{\"quotaId\":"
	  "\"GenerateRequestsPerDayPerProject\"}]}]}}}",
	  ERR_LIMIT, "HTTP 429", "for today", 1 },
	{ "{\"status\":429,\"times\":9,\"retry_after\":\"0\"}", ERR_LIMIT,
	  "HTTP 429", "limit of requests", 3 },
	{ "{\"status\":529,\"times\":9,\"retry_after\":\"0\"}", ERR_REMOTE,
	  "HTTP 529", "overloaded", 3 },
	{ "{\"status\":503,\"times\":9,\"retry_after\":\"0\"}", ERR_REMOTE,
	  "HTTP 503", "overloaded", 3 },
	{ "{\"status\":403,\"times\":9,\"body\":\"<!DOCTYPE html><title>Sign"
	  " in\\u001b[1m</title>\"}",
	  ERR_PROTOCOL, "a web page \"Sign in\" answered", "HTTPS_PROXY", 1 },
	{ "{\"status\":200,\"times\":9,\"body\":\"<html><head><TITLE>Log "
	  "in</TITLE>\"}",
	  ERR_PROTOCOL, "a web page \"Log in\" answered", "HTTPS_PROXY", 1 },
	{ "{\"status\":302,\"body\":\"moved\",\"times\":9}", ERR_REMOTE,
	  "HTTP 302", "address", 1 },
};

static void names_what_is_wrong(void **state)
{
	for (size_t i = 0; i < N_WIRES * sizeof(fatal) / sizeof(fatal[0]);
	     i++) {
		const char *wire = wires[i % N_WIRES];
		char script[500];
		struct model *m;
		struct outcome o;

		snprintf(script, sizeof(script),
			 "[{\"text\":\"an answer of some length, many words\","
			 "\"fault\":%s}]",
			 fatal[i / N_WIRES].fault);
		load(*state, script);
		m = open_model(*state, wire, NULL, 2);
		push_text(m, ROLE_USER, "hello");
		ask(m, &o);
		if (o.rc == 0 || o.err.code != fatal[i / N_WIRES].code ||
		    !strstr(o.err.message, fatal[i / N_WIRES].message) ||
		    !strstr(o.err.hint, fatal[i / N_WIRES].hint) ||
		    strstr(o.err.message, "sk-secret"))
			fail_msg("%s %s: %d %s / %s", wire,
				 fatal[i / N_WIRES].fault, o.err.code,
				 o.err.message, o.err.hint);
		assert_int_equal(o.reply.message.n, 0);
		assert_int_equal(count(*state, "requests"),
				 fatal[i / N_WIRES].requests);
		outcome_release(&o);
		load(*state, "[{\"text\":\"fine\"}]"); /* the next prompt */
		push_text(m, ROLE_USER, "again");
		ask(m, &o);
		expect_text(&o, "fine");
		outcome_release(&o);
		model_close(m);
	}
}

static void *cancel_soon(void *arg)
{
	usleep(100000);
	cancel_trigger(arg);
	return NULL;
}

static void cancel_of_a_hung_stream(void **state)
{
	struct server *s = *state;
	struct model_reply reply = { 0 };
	struct error err = { 0 };
	struct cancel cancel;
	struct stop stop;
	struct model *m;
	pthread_t thread;
	int64_t began;

	load(s, "[{\"text\":\"x\",\"fault\":{\"stall_after_bytes\":300}}]");
	assert_int_equal(cancel_init(&cancel, &err), 0);
	stop = stop_on(&cancel);
	m = open_model(s, "anthropic", NULL, 4);
	push_text(m, ROLE_USER, "go");
	began = clock_ms();
	pthread_create(&thread, NULL, cancel_soon, &cancel);
	assert_int_equal(model_stream(m, NULL, &reply, &stop, &err), -1);
	assert_int_equal(err.code, ERR_CANCELLED);
	assert_true(clock_ms() - began < 5000);
	pthread_join(thread, NULL);
	model_close(m);
	cancel_release(&cancel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mends_faults),
		cmocka_unit_test(names_what_is_wrong),
		cmocka_unit_test(cancel_of_a_hung_stream),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

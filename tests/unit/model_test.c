/* model_test.c - both wires against the emulator, with its faults. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/model.h"

struct server {
	pid_t pid;
	char url[64];
	struct http *http;
};

struct seen { /* what the sink was told */
	struct buf text, thinking;
	int restarts;
	char why[600];
};

static const char *const wires[] = { "anthropic", "openai-chat" };

static void on_text(void *arg, struct str delta)
{
	struct seen *s = arg;

	buf_addstr(&s->text, delta);
}

static void on_thinking(void *arg, struct str delta)
{
	struct seen *s = arg;

	buf_addstr(&s->thinking, delta);
}

static void on_restart(void *arg, const char *why)
{
	struct seen *s = arg;

	s->restarts++;
	snprintf(s->why, sizeof(s->why), "%s", why);
	buf_clear(&s->text);
	buf_clear(&s->thinking);
}

static void start(struct server *s, const char *dir)
{
	char script[128];
	char port[128];
	FILE *f;
	int n = 0;

	snprintf(script, sizeof(script), "%s/script", dir);
	snprintf(port, sizeof(port), "%s/port", dir);
	f = fopen(script, "w");
	assert_non_null(f);
	fputs("[]", f);
	fclose(f);
	s->pid = fork();
	if (s->pid == 0) {
		execl("/usr/bin/python3", "python3", "tests/emulators/model.py",
		      "--script", script, "--port-file", port, (char *)NULL);
		_exit(127);
	}
	for (int i = 0; i < 1000 && !n; i++) {
		usleep(10000);
		f = fopen(port, "r");
		if (f && fscanf(f, "%d", &n) != 1)
			n = 0;
		if (f)
			fclose(f);
	}
	assert_true(n > 0);
	snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%d", n);
	unlink(script);
	unlink(port);
}

static int setup(void **state)
{
	struct server *s = xcalloc(1, sizeof(*s));
	char dir[] = "/tmp/model_test.XXXXXX";

	ids_init();
	assert_non_null(mkdtemp(dir));
	start(s, dir);
	rmdir(dir);
	s->http = http_new(NULL);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct server *s = *state;

	kill(s->pid, SIGTERM);
	waitpid(s->pid, NULL, 0);
	http_free(s->http);
	free(s);
	return 0;
}

static void load(struct server *s, const char *script)
{
	struct str body = str_of(script);
	struct stop stop = stop_within(&(struct stop){ NULL, INT64_MAX }, 5000);
	struct http_response res = { 0 };
	struct error err = { 0 };
	char url[80];
	struct http_request req = {
		.method = "POST",
		.url = url,
		.segments = &body,
		.n_segments = 1,
	};

	snprintf(url, sizeof(url), "%s/_script", s->url);
	if (http_do(s->http, &req, &res, &stop, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(res.status, 200);
	http_response_release(&res);
}

/* "requests" or "answered", as the server counts. */
static int count(struct server *s, const char *what)
{
	struct stop stop = stop_within(&(struct stop){ NULL, INT64_MAX }, 5000);
	struct http_response res = { 0 };
	struct error err = { 0 };
	char url[80];
	struct http_request req = { .method = "GET", .url = url };
	cJSON *tree;
	int n;

	snprintf(url, sizeof(url), "%s/_state", s->url);
	assert_int_equal(http_do(s->http, &req, &res, &stop, &err), 0);
	tree = json_parse(buf_str(&res.body));
	n = (int)json_int(tree, what, -1);
	cJSON_Delete(tree);
	http_response_release(&res);
	return n;
}

static struct model *open_model(struct server *s, const char *wire,
				const char *params, int retries)
{
	static const struct tool_spec tools[] = {
		{ "ls", "Lists.",
		  "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":"
		  "\"string\"}},\"required\":[\"path\"]}" },
		{ "execute", "Runs.",
		  "{\"type\":\"object\",\"properties\":{\"command\":{\"type\":"
		  "\"string\"}}}" },
	};
	struct model_choice c = {
		.provider = (char *)"emulated",
		.model = (char *)"claude-emulated",
		.wire = (char *)wire,
		.base_url = s->url,
		.api_key = (char *)"sk-secret",
		.key_env = (char *)"EMULATED_API_KEY",
		.params = (char *)params,
		.max_retries = retries,
		.idle_ms = 150,
		.backoff_ms = 10,
	};
	struct error err = { 0 };
	struct model *m = NULL;

	if (model_open(&m, s->http, &c, "You are a test \"model\".\n", tools, 2,
		       &err) < 0)
		fail_msg("%s", err.message);
	return m;
}

static void push_text(struct model *m, enum role role, const char *text)
{
	struct message msg = { .role = role };

	message_add(&msg, PART_TEXT)->text = xstrdup(text);
	model_push(m, &msg);
	message_release(&msg);
}

/* Answers every call of the reply, the first one as failed. */
static void push_results(struct model *m, const struct message *reply)
{
	struct message msg = { .role = ROLE_TOOL };

	for (size_t i = 0; i < reply->n; i++) {
		struct part *p;

		if (reply->parts[i].kind != PART_TOOL_CALL)
			continue;
		p = message_add(&msg, PART_TOOL_RESULT);
		p->id = xstrdup(reply->parts[i].id);
		p->name = xstrdup(reply->parts[i].name);
		p->text = xasprintf("result %zu \"\xC3\xA4\"\n", i);
		p->failed = msg.n == 1;
	}
	model_push(m, &msg);
	message_release(&msg);
}

struct outcome {
	struct seen seen;
	struct model_reply reply;
	struct error err;
	int rc;
};

static void ask(struct model *m, struct outcome *o)
{
	struct model_sink sink = {
		.text = on_text,
		.thinking = on_thinking,
		.restart = on_restart,
		.arg = &o->seen,
	};
	struct stop stop = { NULL, INT64_MAX };

	*o = (struct outcome){
		.seen = { .text = BUF_INIT(1 << 26),
			  .thinking = BUF_INIT(1 << 26) },
	};
	stop = stop_within(&stop, 30000);
	o->rc = model_stream(m, &sink, &o->reply, &stop, &o->err);
}

static void outcome_release(struct outcome *o)
{
	model_reply_release(&o->reply);
	buf_release(&o->seen.text);
	buf_release(&o->seen.thinking);
}

static void expect_text(struct outcome *o, const char *text)
{
	char *got;

	if (o->rc < 0)
		fail_msg("%s (%s)", o->err.message, o->err.hint);
	got = message_text(&o->reply.message);
	assert_string_equal(got, text);
	assert_int_equal(o->seen.text.len, strlen(text));
	if (text[0])
		assert_memory_equal(o->seen.text.ptr, text, strlen(text));
	free(got);
}

/* One question to a fresh conversation. */
static void ask_once(struct server *s, const char *wire, const char *script,
		     int retries, struct outcome *o)
{
	struct model *m;

	load(s, script);
	m = open_model(s, wire, NULL, retries);
	push_text(m, ROLE_USER, "hello");
	ask(m, o);
	model_close(m);
}

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

/* Fault, and how often the sink must be told of a restart. */
static const struct {
	const char *fault;
	int restarts;
	const char *why; /* part of what the user reads */
} mended[] = {
	{ "{\"status\":529,\"retry_after\":\"0\"}", 1, "HTTP 529" },
	{ "{\"status\":503,\"times\":2,\"retry_after\":\"0\"}", 2, "2 of 3" },
	{ "{\"status\":409,\"retry_after\":\"0\"}", 1, "HTTP 409" },
	{ "{\"status\":408,\"retry_after\":\"0\"}", 1, "HTTP 408" },
	{ "{\"status\":429,\"body\":{\"error\":{\"message\":\"Please try again "
	  "in 5ms\"}}}",
	  1, "HTTP 429" },
	{ "{\"cut_after_bytes\":0}", 1, "" },
	{ "{\"cut_after_bytes\":1}", 1, "" },
	{ "{\"cut_after_bytes\":700}", 1, "" },
	{ "{\"cut_after_bytes\":0,\"clean\":true}", 1, "no event stream" },
	{ "{\"cut_after_bytes\":700,\"clean\":true}", 1, "ended before" },
	{ "{\"stall_after_bytes\":0}", 1, "stalled" },
	{ "{\"stall_after_bytes\":700}", 1, "stalled" },
	{ "{\"stall_after_bytes\":700,\"heartbeat_ms\":30}", 1, "heartbeats" },
	{ "{\"garbage\":\"data: {oops\\n\\n\"}", 1, "no JSON" },
	{ "{\"garbage\":\"data: 17\\n\\n\"}", 1, "no JSON" },
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
	for (size_t i = 0; i < 2 * sizeof(mended) / sizeof(mended[0]); i++) {
		const char *wire = wires[i % 2];
		char script[600];
		struct outcome o;

		snprintf(script, sizeof(script),
			 "[{\"text\":\"a whole answer, with some length to it, "
			 "so that cuts fall inside\",\"fault\":%s}]",
			 mended[i / 2].fault);
		ask_once(*state, wire, script, 3, &o);
		if (o.rc < 0 || o.seen.restarts != mended[i / 2].restarts ||
		    !strstr(o.seen.why, mended[i / 2].why))
			fail_msg("%s %s: rc %d, %d restarts: %s / %s", wire,
				 mended[i / 2].fault, o.rc, o.seen.restarts,
				 o.seen.why, o.err.message);
		expect_text(&o, "a whole answer, with some length to it, so "
				"that cuts fall inside");
		outcome_release(&o);
		assert_in_range(count(*state, "requests"),
				mended[i / 2].restarts + 1,
				mended[i / 2].restarts + 2);
	}
}

static const struct {
	const char *fault;
	enum err code;
	const char *message, *hint;
	int requests; /* with two retries allowed */
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
	  "HTTP 500", "request id req_emulated", 3 },
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
};

static void names_what_is_wrong(void **state)
{
	for (size_t i = 0; i < 2 * sizeof(fatal) / sizeof(fatal[0]); i++) {
		const char *wire = wires[i % 2];
		char script[400];
		struct outcome o;

		snprintf(script, sizeof(script),
			 "[{\"text\":\"an answer of some length, many words\","
			 "\"fault\":%s}]",
			 fatal[i / 2].fault);
		ask_once(*state, wire, script, 2, &o);
		assert_int_equal(o.rc, -1);
		if (o.err.code != fatal[i / 2].code ||
		    !strstr(o.err.message, fatal[i / 2].message) ||
		    !strstr(o.err.hint, fatal[i / 2].hint) ||
		    strstr(o.err.message, "sk-secret"))
			fail_msg("%s %s: %d %s / %s", wire, fatal[i / 2].fault,
				 o.err.code, o.err.message, o.err.hint);
		assert_int_equal(o.reply.message.n, 0);
		assert_int_equal(count(*state, "requests"),
				 fatal[i / 2].requests);
		outcome_release(&o);
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
	assert_true(clock_ms() - began < 250);
	pthread_join(thread, NULL);
	model_close(m);
	cancel_release(&cancel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_conversation),
		cmocka_unit_test(mends_faults),
		cmocka_unit_test(names_what_is_wrong),
		cmocka_unit_test(quirks_of_imitators),
		cmocka_unit_test(stop_reasons),
		cmocka_unit_test(bad_arguments),
		cmocka_unit_test(server_without_stream_options),
		cmocka_unit_test(cancel_of_a_hung_stream),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

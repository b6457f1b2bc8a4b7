/* model_server.h - a conversation with the emulator, for tests of src/model. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_SERVER_H
#define TESTS_MODEL_SERVER_H

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
	int64_t idle_ms; /* of models that are opened; 0: as long as it takes */
};

struct seen { /* what the sink was told */
	struct buf text, thinking;
	int restarts;
	char why[600];
};

static const char *const wires[] = { "anthropic", "openai-chat",
				     "openai-responses", "bedrock", "gemini" };
enum {
	N_WIRES = sizeof(wires) / sizeof(wires[0]),
	N_TEXT_ARGS = N_WIRES - 1, /* the last sends arguments as objects */
};

static inline void on_text(void *arg, struct str delta)
{
	struct seen *s = arg;

	buf_addstr(&s->text, delta);
}

static inline void on_thinking(void *arg, struct str delta)
{
	struct seen *s = arg;

	buf_addstr(&s->thinking, delta);
}

static inline void on_restart(void *arg, const char *why)
{
	struct seen *s = arg;

	s->restarts++;
	snprintf(s->why, sizeof(s->why), "%s", why);
	buf_clear(&s->text);
	buf_clear(&s->thinking);
}

static inline void start(struct server *s, const char *dir)
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

static inline int setup(void **state)
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

static inline int teardown(void **state)
{
	struct server *s = *state;

	kill(s->pid, SIGTERM);
	waitpid(s->pid, NULL, 0);
	http_free(s->http);
	free(s);
	return 0;
}

static inline void load(struct server *s, const char *script)
{
	struct str body = str_of(script);
	struct stop stop =
		stop_within(&(struct stop){ .deadline = INT64_MAX }, 5000);
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
static inline int count(struct server *s, const char *what)
{
	struct stop stop =
		stop_within(&(struct stop){ .deadline = INT64_MAX }, 5000);
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

static inline struct model *open_model(struct server *s, const char *wire,
				       const char *params, int retries)
{
	static const struct tool_spec offered[] = {
		{ "ls", "Lists.",
		  "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":"
		  "\"string\"}},\"required\":[\"path\"]}",
		  NULL },
		{ "execute", "Runs.",
		  "{\"type\":\"object\",\"properties\":{\"command\":{\"type\":"
		  "\"string\"}}}",
		  NULL },
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
		.idle_ms = s->idle_ms ? s->idle_ms : 60000,
		.backoff_ms = 10,
	};
	const struct model_brief brief = {
		.system = "You are a test \"model\".\n",
		.tools = offered,
		.n_tools = 2,
	};
	struct error err = { 0 };
	struct model *m = NULL;

	if (model_open(&m, s->http, &c, &brief, &err) < 0)
		fail_msg("%s", err.message);
	return m;
}

static inline void push_text(struct model *m, enum role role, const char *text)
{
	struct message msg = { .role = role };

	message_add(&msg, PART_TEXT)->text = xstrdup(text);
	model_push(m, &msg);
	message_release(&msg);
}

/* Answers every call of the reply, the first one as failed. */
static inline void push_results(struct model *m, const struct message *reply)
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

static inline void ask(struct model *m, struct outcome *o)
{
	struct model_sink sink = {
		.text = on_text,
		.thinking = on_thinking,
		.restart = on_restart,
		.arg = &o->seen,
	};
	struct stop stop = { .deadline = INT64_MAX };

	*o = (struct outcome){
		.seen = { .text = BUF_INIT(1 << 26),
			  .thinking = BUF_INIT(1 << 26) },
	};
	stop = stop_within(&stop, 30000);
	o->rc = model_stream(m, &sink, &o->reply, &stop, &o->err);
}

static inline void outcome_release(struct outcome *o)
{
	model_reply_release(&o->reply);
	buf_release(&o->seen.text);
	buf_release(&o->seen.thinking);
}

static inline void expect_text(struct outcome *o, const char *text)
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
static inline void ask_once(struct server *s, const char *wire,
			    const char *script, int retries, struct outcome *o)
{
	struct model *m;

	load(s, script);
	m = open_model(s, wire, NULL, retries);
	push_text(m, ROLE_USER, "hello");
	ask(m, o);
	model_close(m);
}

#endif

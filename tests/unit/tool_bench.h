/* tool_bench.h - one call of a tool over the fake sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_TOOL_BENCH_H
#define UNIT_TOOL_BENCH_H

#include "tool_fake.h"
#include "unit.h"

struct bench { /* everything of one test */
	struct fake fake;
	struct sandbox_provider provider;
	struct sandbox_client client;
	struct sandbox sandbox;
	struct stop stop;
	struct mask *mask;
	struct buf live;
	struct tool_env env;
	struct buf out;
	bool failed;
	struct error err;
	int rc;
	_Atomic unsigned saved;
	char workdir[8];
};

static void live_output(void *arg, struct str delta)
{
	buf_addstr(arg, delta);
}

static void bench_init(struct bench *b)
{
	*b = (struct bench){ .workdir = "/w" };
	b->fake.written = BUF_INIT(1 << 26);
	b->fake.command = BUF_INIT(1 << 20);
	b->fake.page.text = BUF_INIT(1 << 20);
	b->provider = (struct sandbox_provider){ .name = "fake",
						 .max_command = 1000 };
	b->client.provider = &b->provider;
	b->sandbox = (struct sandbox){ .client = &b->client,
				       .workdir = b->workdir,
				       .priv = &b->fake };
	b->stop = stop_on(NULL);
	b->live = BUF_INIT(1 << 20);
	b->out = BUF_INIT(TOOL_RESULT_BYTES);
	b->env = (struct tool_env){ .sandbox = &b->sandbox,
				    .stop = &b->stop,
				    .thread = "thread",
				    .saved = &b->saved,
				    .output = live_output,
				    .arg = &b->live };
}

static void bench_release(struct bench *b)
{
	buf_release(&b->fake.written);
	buf_release(&b->fake.command);
	buf_release(&b->fake.page.text);
	buf_release(&b->live);
	buf_release(&b->out);
	mask_free(b->mask);
}

static const char *call(struct bench *b, const char *name, const char *json)
{
	char id[] = "test/call.id";
	struct part part = { .kind = PART_TOOL_CALL, .id = id };

	part.name = xstrdup(name);
	part.args = xstrdup(json);
	buf_clear(&b->out);
	buf_clear(&b->live);
	b->err = (struct error){ 0 };
	b->rc = tool_call(&b->env, &part, &b->out, &b->failed, &b->err);
	free(part.name);
	free(part.args);
	assert_false(b->out.over);
	assert_true(b->out.len > 0);
	return b->out.ptr;
}

static void expect(struct bench *b, const char *name, const char *json,
		   bool failed, const char *want)
{
	assert_string_equal(call(b, name, json), want);
	assert_int_equal(b->failed, failed);
	assert_int_equal(b->rc, 0);
	assert_int_equal(b->err.code, 0);
}

#endif

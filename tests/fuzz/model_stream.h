/* model_stream.h - what must hold for any stream, on any wire. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_MODEL_STREAM_H
#define TESTS_MODEL_STREAM_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/draft.h"
#include "model/exchange.h"

static inline void require(bool fact)
{
	if (!fact)
		abort();
}

static inline int run_stream(const struct wire *wire, struct str bytes,
			     size_t step, struct model_reply *reply)
{
	static const struct model_choice choice = { .provider = (char *)"x",
						    .model = (char *)"m" };
	struct exchange x;
	struct error err = { 0 };
	int rc = 0;

	*reply = (struct model_reply){ 0 };
	exchange_init(&x, wire, &choice, NULL, INT64_MAX);
	x.response.status = 200;
	while (bytes.len && rc == 0) {
		size_t n = step && step < bytes.len ? step : bytes.len;

		rc = exchange_data(&x, (struct str){ bytes.ptr, n }, &err);
		bytes = str_skip(bytes, n);
	}
	rc = exchange_end(&x, rc, &err);
	require(rc == 0 || (err.code && err.message[0]));
	if (rc == 0)
		draft_finish(&x.draft, reply, NULL, wire->replay);
	exchange_release(&x);
	return rc;
}

static inline bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static inline void same_reply(const struct model_reply *a,
			      const struct model_reply *b)
{
	require(a->finish == b->finish && a->message.n == b->message.n);
	require(memcmp(&a->usage, &b->usage, sizeof(a->usage)) == 0);
	for (size_t i = 0; i < a->message.n; i++) {
		const struct part *p = &a->message.parts[i];
		const struct part *q = &b->message.parts[i];

		require(p->kind == q->kind && p->bad_args == q->bad_args);
		require(same_text(p->text, q->text));
		require(same_text(p->name, q->name));
		require(same_text(p->args, q->args));
		require(same_text(p->replay, q->replay));
	}
}

/* The next request is JSON, whatever the reply was, on this wire. */
static inline void next_request(const struct wire *wire,
				const struct message *reply)
{
	/* with all that a model may ask of the history */
	struct model_choice choice = {
		.model = (char *)"anthropic.claude-gemini-9",
		.base_url = (char *)"http://x",
	};
	struct model_brief brief = { .system = "s" };
	struct wire_head in = { .choice = &choice, .brief = &brief };
	struct message user = { .role = ROLE_USER };
	struct message results = { .role = ROLE_TOOL };
	struct history h = { .bytes = BUF_INIT(1 << 28) };
	struct buf all = BUF_INIT(1 << 28);

	message_add(&user, PART_TEXT)->text = xstrdup("go \"\xFF");
	if (wire->begin)
		wire->begin(&choice, &h);
	wire->head(&in, &all);
	wire->push(&h, &user);
	wire->push(&h, reply);
	for (size_t i = 0; i < reply->n; i++) {
		struct part *p;

		if (reply->parts[i].kind != PART_TOOL_CALL)
			continue;
		require(reply->parts[i].id && reply->parts[i].name);
		require(reply->parts[i].bad_args ||
			args_strict(str_of(reply->parts[i].args)));
		p = message_add(&results, PART_TOOL_RESULT);
		p->id = xstrdup(reply->parts[i].id);
		p->text = xstrdup("r");
	}
	wire->push(&h, results.n ? &results : &user);
	wire->push(&h, &user);
	if (wire->mark) {
		buf_add(&all, h.bytes.ptr, h.block_end);
		buf_adds(&all, wire->mark);
	}
	buf_addstr(&all,
		   str_skip(buf_str(&h.bytes), wire->mark ? h.block_end : 0));
	buf_adds(&all, wire->tail);
	for (const struct wire_option *o = wire->options; o && o->name; o++)
		buf_adds(&all, o->member);
	buf_addc(&all, '}');
	require(args_strict(buf_str(&all)));
	message_release(&user);
	message_release(&results);
	buf_release(&h.bytes);
	buf_release(&all);
}

static inline void stored(const struct message *m)
{
	struct buf once = BUF_INIT(1 << 28);
	struct buf twice = BUF_INIT(1 << 28);
	struct message again;
	struct error err = { 0 };

	message_to_json(m, &once);
	require(args_strict(buf_str(&once)));
	require(message_from_json(&again, buf_str(&once), &err) == 0);
	message_to_json(&again, &twice);
	require(str_eq(buf_str(&once), buf_str(&twice)));
	message_release(&again);
	buf_release(&once);
	buf_release(&twice);
}

/* The first byte chooses the length of the chunks; the rest is the stream. */
static inline int fuzz_stream(const struct wire *wire, const uint8_t *data,
			      size_t size)
{
	struct model_reply whole;
	struct model_reply parts;
	struct str bytes;
	int rc;

	if (!size)
		return 0;
	bytes = (struct str){ (const char *)data + 1, size - 1 };
	rc = run_stream(wire, bytes, 0, &whole);
	require(run_stream(wire, bytes, data[0] % 17 + 1u, &parts) == rc);
	if (rc == 0) {
		same_reply(&whole, &parts);
		for (size_t i = 0; wires[i]; i++)
			next_request(wires[i], &whole.message);
		stored(&whole.message);
	}
	model_reply_release(&whole);
	model_reply_release(&parts);
	return 0;
}

#endif

/* jsonrpc_fuzz.c - a child's output, however it is cut; and entry points. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "providers/external/provider_config.h"
#include "rpc/jsonrpc.c" /* for feed_lines() */
#include "sandbox/sandbox.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What became of it: which messages came to the only call, in short. */
static void feed(const struct jsonrpc_peer *peer, struct str text, size_t piece,
		 struct buf *out)
{
	struct pending call = { .id = 1, .progress = 5, .event = -1 };
	const cJSON *note;
	struct jsonrpc w = { .peer = peer,
			     .queue = BUF_INIT(JSONRPC_QUEUE),
			     .wake = -1,
			     .calls = &call,
			     .last_id = 3,
			     .line = BUF_INIT(JSONRPC_LINE),
			     .tail = BUF_INIT(16 * JSONRPC_TAIL) };

	while (text.len) {
		size_t n = piece < text.len ? piece : text.len;

		feed_lines(&w, (struct str){ text.ptr, n });
		text = str_skip(text, n);
	}
	cJSON_ArrayForEach (note, call.notes)
		json_print(out, note);
	cJSON_Delete(call.notes);
	if (call.answer)
		json_print(out, call.answer);
	cJSON_Delete(call.answer);
	buf_addf(out, " %d %s", w.broken, w.why.message);
	for (const char *c = w.why.message; *c; c++)
		if ((unsigned char)*c < ' ')
			abort();
	buf_addstr(out, buf_str(&w.queue));
	buf_release(&w.queue);
	buf_release(&w.line);
	buf_release(&w.tail);
}

/* As an MCP server's are, but for the words. */
static void on_own_message(void *arg, const cJSON *message, struct buf *reply)
{
	const cJSON *id = json_get(message, "id");

	(void)arg;
	if (id)
		json_print(reply, id);
}

static void feed_both_ways(const struct jsonrpc_peer *peer, struct str text)
{
	struct buf whole = BUF_INIT(1 << 22);
	struct buf cut = BUF_INIT(1 << 22);

	feed(peer, text, text.len ? text.len : 1, &whole);
	feed(peer, text, 3, &cut);
	if (!str_eq(buf_str(&whole), buf_str(&cut)))
		abort();
	buf_release(&whole);
	buf_release(&cut);
}

static void on_point(void *arg, const struct entry_point *e)
{
	(void)arg;
	if (class_path_ok(e->object) &&
	    (!str_is_utf8(e->object) ||
	     str_find(e->object, ':') == e->object.len))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct jsonrpc_peer provider = { .name = "the provider" };
	static const struct jsonrpc_peer server = { .name = "the server",
						    .receive = on_own_message,
						    .lenient = true };
	struct str text = { (const char *)data, size };

	feed_both_ways(&provider, text);
	feed_both_ways(&server, text);
	entry_points_parse(text, "deepagents_code.sandbox_providers", "p",
			   on_point, NULL);
	return 0;
}

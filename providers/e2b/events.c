/* events.c - what envd tells about a running process. */
/* SPDX-License-Identifier: MIT */
#include "providers/e2b/events.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "base/json.h"
#include "base/sanitize.h"
#include "base/str.h"

static int add_base64(struct buf *out, const char *text, struct error *err)
{
	size_t len = strlen(text);
	size_t most = len / 4 * 3 + 3;
	size_t got = 0;
	char *room = buf_room(out, most);

	if (!room)
		return error_set(err, ERR_LIMIT,
				 "the answer is larger than %zu bytes",
				 out->max);
	buf_added(out, 0);
	if (sodium_base642bin((unsigned char *)room, most, text, len, NULL,
			      &got, NULL, sodium_base64_VARIANT_ORIGINAL))
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: not base64");
	buf_added(out, got);
	return 0;
}

static int on_event(struct e2b_events *e, const cJSON *event, struct error *err)
{
	const char *text = json_string(json_get(event, "data"), "stdout", NULL);

	if (json_get(event, "start"))
		e->started = true;
	if (json_get(event, "end"))
		e->exited = true;
	return text ? add_base64(e->out, text, err) : 0;
}

/* How the stream ended. */
static void on_last(struct e2b_events *e, const cJSON *tree)
{
	const cJSON *error = json_get(tree, "error");
	struct buf words = BUF_INIT(sizeof(e->message) - 1);

	if (!error)
		return;
	snprintf(e->code, sizeof(e->code), "%s",
		 json_string(error, "code", "unknown"));
	sanitize_text(str_of(json_string(error, "message", "")), &words);
	snprintf(e->message, sizeof(e->message), "%s",
		 words.ptr ? words.ptr : "");
	buf_release(&words);
}

static int on_message(void *arg, struct str json, bool last, struct error *err)
{
	struct e2b_events *e = arg;
	cJSON *tree = json_parse(json);
	int rc = 0;

	if (!tree)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: a message that "
				 "is not JSON");
	if (last)
		on_last(e, tree);
	else
		rc = on_event(e, json_get(tree, "event"), err);
	cJSON_Delete(tree);
	return rc;
}

int e2b_events_feed(struct e2b_events *e, struct str chunk, struct error *err)
{
	e->stream.last = ENVELOPE_CONNECT_LAST;
	return envelope_feed(&e->stream, chunk, on_message, e, err);
}

int e2b_events_end(const struct e2b_events *e, struct error *err)
{
	if (!e->stream.ended)
		return error_set(err, ERR_NETWORK,
				 "the answer ends in the middle");
	if (e->code[0])
		return error_set(err, ERR_REMOTE, "%s: %s", e->code,
				 e->message);
	if (!e->exited)
		return error_set(err, ERR_PROTOCOL,
				 "unexpected server response: the command did "
				 "not end");
	return 0;
}

void e2b_events_release(struct e2b_events *e)
{
	envelope_release(&e->stream);
}

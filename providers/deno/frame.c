/* frame.c - one message of Deno's JSON-RPC, told apart: pure. */
/* SPDX-License-Identifier: MIT */
#include "providers/deno/frame.h"

#include <inttypes.h>
#include <string.h>

#include <sodium.h>

#include "base/str.h"

static int no_message(struct error *err, const char *what)
{
	return error_set(err, ERR_PROTOCOL, "unexpected server response: %s",
			 what);
}

static int decode(struct buf *out, const char *text, size_t max,
		  struct error *err)
{
	size_t len = strlen(text);
	size_t most = len / 4 * 3 + 3;
	size_t got = 0;
	char *room;

	out->max = most;
	room = buf_room(out, most);
	buf_added(out, 0);
	if (sodium_base642bin((unsigned char *)room, most, text, len, NULL,
			      &got, NULL, sodium_base64_VARIANT_ORIGINAL))
		return no_message(err, "no base64");
	buf_added(out, got);
	if (got > max)
		return error_set(err, ERR_LIMIT,
				 "the answer is larger than %zu bytes", max);
	return 0;
}

/* {"constructorName":"NotFound","message":M,"code":"ENOENT",...} */
static void take_failure(struct deno_frame *f, const cJSON *error)
{
	const char *name = json_string(error, "constructorName", "");

	f->failed = true;
	f->code = json_string(error, "code", name);
	f->message = json_string(error, "message", "");
}

static int take_reply(struct deno_frame *f, struct error *err)
{
	const cJSON *result = json_get(f->tree, "result");
	const cJSON *fault = json_get(f->tree, "error");

	f->word = DENO_REPLY;
	f->id = json_int(f->tree, "id", -1);
	if (f->id < 0)
		return no_message(
			err, fault ? json_string(fault, "message", "a refusal")
				   : "a reply to nothing");
	if (!result && cJSON_IsObject(fault)) {
		take_failure(f, fault);
		return 0;
	}
	f->ok = json_get(result, "ok");
	if (!f->ok && cJSON_IsObject(json_get(result, "error")))
		take_failure(f, json_get(result, "error"));
	else if (!f->ok)
		return no_message(err, "a reply without a result");
	return 0;
}

static int take_stream(struct deno_frame *f, const char *event, size_t max,
		       struct error *err)
{
	const cJSON *params = json_get(f->tree, "params");
	const char *data = json_string(params, "data", NULL);

	f->id = json_int(params, "streamId", -1);
	if (f->id < 0)
		return no_message(err, "a stream without a number");
	if (strcmp(event, "enqueue") == 0) {
		f->word = DENO_DATA;
		return data ? decode(&f->data, data, max, err)
			    : no_message(err, "a stream without data");
	}
	if (strcmp(event, "end") == 0 || strcmp(event, "error") == 0) {
		f->word = DENO_END;
		f->failed = event[1] == 'r';
	} else if (strcmp(event, "cancel") == 0) {
		f->word = DENO_CANCEL;
	}
	return 0;
}

int deno_frame_parse(struct deno_frame *f, struct str text, size_t max,
		     struct error *err)
{
	static const char stream[] = "$sandbox.stream.";
	const char *method;

	*f = (struct deno_frame){ .id = -1, .code = "", .message = "" };
	if (str_is(text, "pong"))
		return 0;
	f->tree = json_parse(text);
	if (!cJSON_IsObject(f->tree))
		return no_message(err, "no message");
	method = json_string(f->tree, "method", NULL);
	if (!method)
		return take_reply(f, err);
	if (strncmp(method, stream, sizeof(stream) - 1) == 0)
		return take_stream(f, method + sizeof(stream) - 1, max, err);
	return 0;
}

void deno_frame_release(struct deno_frame *f)
{
	cJSON_Delete(f->tree);
	buf_release(&f->data);
	*f = (struct deno_frame){ 0 };
}

void deno_frame_ask(struct buf *out, int64_t id, const char *method,
		    struct str params)
{
	buf_adds(out, "{\"jsonrpc\":\"2.0\",");
	if (id >= 0)
		buf_addf(out, "\"id\":%" PRId64 ",", id);
	json_member(out, "method", str_of(method));
	buf_adds(out, ",\"params\":");
	buf_addstr(out, params);
	buf_addc(out, '}');
}

void deno_frame_base64(struct buf *out, struct str bytes)
{
	size_t len = sodium_base64_ENCODED_LEN(bytes.len,
					       sodium_base64_VARIANT_ORIGINAL);
	char *room = buf_room(out, len);

	if (!room)
		return; /* out->over tells */
	sodium_bin2base64(room, len, (const unsigned char *)bytes.ptr,
			  bytes.len, sodium_base64_VARIANT_ORIGINAL);
	buf_added(out, len - 1);
}

/* http_exec.c - commands as supervised jobs of a described service. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "net/sse.h"
#include "providers/external/http_provider.h"
#include "providers/external/json_pointer.h"
#include "sandbox/supervise/supervise.h"

enum {
	COMMAND_MAX = 96 << 10, /* Linux takes 128 KiB in one argument */
	ANSWER_MAX = 1 << 20,
	HELD_MAX = 8 << 20, /* bytes of a held command's output */
	SLACK_MS = 10000,
	MEMORY_MAX = 1 << 20,
	MEMORY_S = 7 * 24 * 3600,
};

/* What is not text is the service's own framing: our answers are ASCII. */
static void add_text(struct buf *out, struct str body)
{
	for (size_t i = 0; i < body.len; i++) {
		unsigned char c = (unsigned char)body.ptr[i];

		if (c >= ' ' || c == '\n' || c == '\r' || c == '\t')
			buf_addc(out, (char)c);
	}
}

struct event_reader { /* of a streamed answer */
	const struct http_operation *op;
	struct buf *out;
	bool ended; /* an event had the exit status */
};

/* One event's document. One without output says something else. */
static int parse_event(struct event_reader *r, struct str document,
		       struct error *err)
{
	const struct http_operation *op = r->op;
	cJSON *tree = json_parse(document);
	const cJSON *text = json_pointer_get(tree, op->output);
	int rc = 0;

	if (cJSON_IsString(text) && !op->base64)
		buf_adds(r->out, text->valuestring);
	else if (cJSON_IsString(text) &&
		 !json_decode_base64(r->out, str_of(text->valuestring)))
		rc = error_set(err, ERR_PROTOCOL,
			       "the command's output is not base64");
	if (op->exit_code &&
	    cJSON_IsNumber(json_pointer_get(tree, op->exit_code)))
		r->ended = true;
	cJSON_Delete(tree);
	return rc;
}

static int on_event(void *arg, struct str event, struct str data,
		    struct error *err)
{
	(void)event;
	return parse_event(arg, data, err);
}

/* An answer of events, which may have been cut off at any of them. */
static int parse_stream(const struct http_operation *op, struct str body,
			struct buf *out, struct error *err)
{
	struct event_reader r = { .op = op, .out = out };
	struct str line;
	struct sse sse;
	int rc = 0;

	if (op->stream == STREAM_SSE) {
		sse_init(&sse);
		rc = sse_feed(&sse, body, on_event, &r, err);
		if (rc == 0) /* the last one may lack its empty line */
			rc = sse_feed(&sse, STR("\n\n"), on_event, &r, err);
		sse_release(&sse);
	} else {
		while (rc == 0 && str_split(&body, '\n', &line))
			rc = parse_event(&r, line, err);
	}
	if (rc == 0 && op->exit_code && !r.ended)
		rc = error_set(err, ERR_NETWORK,
			       "the answer ended before an exit status at %s",
			       op->exit_code);
	return rc < 0 ? rc : buf_check(out, "the answer", err);
}

/* Appends the output in an answer of execute. */
static int parse_output(const struct http_operation *op, struct str body,
			struct buf *out, struct error *err)
{
	cJSON *tree = NULL;
	const cJSON *text;
	int rc = 0;

	if (op->stream)
		return parse_stream(op, body, out, err);
	if (!op->output) {
		add_text(out, body);
		return buf_check(out, "the answer", err);
	}
	tree = json_parse(body);
	text = json_pointer_get(tree, op->output);
	if (!cJSON_IsString(text))
		rc = error_set(err, ERR_PROTOCOL,
			       "the answer has no output of the command at %s",
			       op->output);
	else if (op->exit_code &&
		 !cJSON_IsNumber(json_pointer_get(tree, op->exit_code)))
		rc = error_set(err, ERR_PROTOCOL,
			       "the answer has no exit status at %s",
			       op->exit_code);
	else if (!op->base64)
		buf_adds(out, text->valuestring);
	else if (!json_decode_base64(out, str_of(text->valuestring)))
		rc = error_set(err, ERR_PROTOCOL,
			       "the command's output is not base64");
	cJSON_Delete(tree);
	return rc < 0 ? rc : buf_check(out, "the answer", err);
}

/* Gives err the code by which the supervisor asks again: when the service was
 * busy, or its own time limit came. */
static void classify_failure(int status, struct error *err)
{
	if (err->code == ERR_CANCELLED)
		return;
	if (status == 404 || status == 410)
		err->code = ERR_GONE;
	else if (status == 408 || status == 425 || status == 429 ||
		 status >= 500)
		err->code = ERR_NETWORK;
}

static int call_once(struct sandbox *sb, struct str command, int64_t wait_ms,
		     struct buf *out, const struct stop *stop,
		     struct error *err)
{
	const struct http_service *t = http_service_of(sb->client);
	struct http_call c = http_service_call(sb->client, sb, OP_EXECUTE);
	struct http_response res = {
		.body = BUF_INIT(4 * (t->held ? HELD_MAX : ANSWER_MAX)),
	};
	char seconds[24];
	int rc;

	snprintf(seconds, sizeof(seconds), "%" PRId64,
		 (wait_ms + SLACK_MS / 2 + 999) / 1000);
	c.ask.timeout_ms = wait_ms + SLACK_MS;
	c.values.is[VALUE_COMMAND] = command;
	c.values.is[VALUE_TIMEOUT] = str_of(seconds);
	rc = http_call_send(&c, &res, NULL, stop, err);
	if (rc < 0)
		classify_failure(res.status, err);
	else
		rc = parse_output(&t->p->operations[OP_EXECUTE],
				  buf_str(&res.body), out, err);
	http_response_release(&res);
	return rc;
}

/* struct supervisor.call. The first call of a sandbox that was attached to
 * without a question may find that it does not run yet: a job is started once,
 * however often it is asked for. */
static int call(void *arg, struct str command, int64_t wait_ms, struct buf *out,
		const struct stop *stop, struct error *err)
{
	struct sandbox *sb = arg;
	struct http_box *box = sb->priv;
	bool unsure = box && box->unsure;
	int rc = call_once(sb, command, wait_ms, out, stop, err);

	if (unsure)
		box->unsure = false;
	if (rc < 0 && unsure && err->code == ERR_GONE)
		return error_set(err, ERR_NOT_FOUND, "unknown sandbox '%.100s'",
				 sb->id);
	if (rc == 0 || !unsure || err->code == ERR_CANCELLED)
		return rc;
	*err = (struct error){ 0 };
	if (http_provider_wait(sb, stop, err) < 0)
		return -1;
	return call_once(sb, command, wait_ms, out, stop, err);
}

static struct supervisor supervisor_of(struct sandbox *sb)
{
	bool held = http_service_of(sb->client)->held;

	return (struct supervisor){
		.call = call,
		.arg = sb,
		.max_command = COMMAND_MAX,
		.max_answer = held ? HELD_MAX : ANSWER_MAX,
		.held = held,
	};
}

/* What earlier runs found out, in ~/.deepagents/.state/services.json:
 * {"acme https://boxes.example.org/v1":{"held":false,"at":1795687200}}. Owned;
 * NULL where there is none. */
static cJSON *read_memory(const struct sandbox_client *client, char **file)
{
	const struct settings *set = http_service_of(client)->settings;
	struct buf text = BUF_INIT(MEMORY_MAX);
	struct error ignored = { 0 };
	cJSON *all = NULL;

	*file = path_join(settings_dir(set), ".state/services.json");
	if (path_read_regular(*file, &text, &ignored) == 0)
		all = json_parse(buf_str(&text));
	buf_release(&text);
	if (cJSON_IsObject(all))
		return all;
	cJSON_Delete(all);
	return NULL;
}

static char *memory_key(const struct sandbox_client *client)
{
	return xasprintf("%s %s", client->provider->name, client->endpoint);
}

/* 1 held, 0 not, -1 nobody knows. */
static int recall_held(const struct sandbox_client *client)
{
	const struct http_service *t = http_service_of(client);
	int64_t now = clock_unix_ms() / 1000;
	char *key = memory_key(client);
	char *file;
	cJSON *all;
	const cJSON *entry;
	int64_t age;
	int held = -1;

	if (t->p->operations[OP_EXECUTE].outlives) {
		free(key);
		return t->p->operations[OP_EXECUTE].outlives == OUTLIVES_NO;
	}
	all = read_memory(client, &file);
	entry = json_get(all, key);
	age = now - json_int(entry, "at", 0);
	if (entry && age >= 0 && age < MEMORY_S)
		held = cJSON_IsTrue(json_get(entry, "held"));
	cJSON_Delete(all);
	free(file);
	free(key);
	return held;
}

/* What cannot be kept is found out again. */
static void remember_held(const struct sandbox_client *client, bool held)
{
	char *file;
	cJSON *all = read_memory(client, &file);
	cJSON *entry = cJSON_CreateObject();
	char *key = memory_key(client);
	int64_t now = clock_unix_ms() / 1000;
	struct error ignored = { 0 };
	char *text;

	if (!all)
		all = cJSON_CreateObject();
	cJSON_AddBoolToObject(entry, "held", held);
	cJSON_AddNumberToObject(entry, "at", (double)now);
	cJSON_DeleteItemFromObjectCaseSensitive(all, key);
	cJSON_AddItemToObject(all, key, entry);
	text = cJSON_PrintUnformatted(all);
	if (text)
		(void)path_write(file, str_of(text), 0600, &ignored);
	cJSON_free(text);
	cJSON_Delete(all);
	free(file);
	free(key);
}

bool http_provider_knows_held(const struct sandbox_client *client)
{
	return recall_held(client) >= 0;
}

void http_provider_probe_held(struct sandbox *sb, const struct stop *stop)
{
	struct http_service *t = http_service_of(sb->client);
	int held = recall_held(sb->client);

	if (held < 0) {
		const struct supervisor s = supervisor_of(sb);

		held = supervise_probe(&s, stop);
		remember_held(sb->client, held);
	}
	t->held = held;
	if (held)
		sb->client->lacks |= SANDBOX_LIVE;
}

int http_provider_execute(struct sandbox *sb, const struct exec_request *req,
			  struct exec_result *res, const struct stop *stop,
			  struct error *err)
{
	const struct supervisor s = supervisor_of(sb);

	return supervise_execute(sb, req, res, &s, stop, err);
}

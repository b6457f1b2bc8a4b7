/* bedrock.c - AWS Bedrock's ConverseStream: requests and streamed answers. */
/* SPDX-License-Identifier: MIT */
/*
 * Requests first: write_head() writes the fixed start of a request,
 * push_message() appends one message. Then answers: parse_event() is called for
 * each event. wire_bedrock, at the end, lists the functions.
 * bedrock_account_sign() signs the requests; exchange.c extracts the events
 * from AWS's frames. Source: @aws-sdk/client-bedrock-runtime 3.1164.0
 * (models/models_0.d.ts, enums.d.ts) and docs.aws.amazon.com/bedrock
 * (API_runtime_ConverseStream, prompt-caching), read 2026-11-22. A request may
 * have four cache points: one is after the tools, one after the system prompt,
 * two are in the history. The last event, "metadata", has the token counts.
 *
 * The account: bedrock_account_open() finds the key and the region;
 * bedrock_account_sign() makes the headers of a request. The time used for
 * signatures is corrected, because AWS refuses them if this machine's clock is
 * wrong by minutes. Sources of the error codes and texts:
 * @smithy/service-error-classification (CLOCK_SKEW_ERROR_CODES); aws/aws-sdk-go
 * issue 859, aws/aws-sdk-js issue 2565; read 2026-11-23.
 */
#include "model/wires/bedrock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aws/credentials.h"
#include "aws/sigv4.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/stop.h"
#include "base/str.h"
#include "config/settings_env.h"
#include "model/draft.h"
#include "model/failure.h"
#include "model/message.h"
#include "model/model.h"
#include "model/params.h"
#include "model/wire.h"

#define CACHE_POINT ",{\"cachePoint\":{\"type\":\"default\"}}"

/* Signs requests to Bedrock: AWS key, region and time. */

enum {
	/* a smaller difference is not corrected: AWS accepts five minutes */
	LEAST_S = 240,
	MOST_S = 24 * 3600,
};

/* How many seconds AWS's clock is ahead of this machine's. All accounts share
 * it, because it is the machine's clock that is wrong. */
static atomic_llong ahead_s;

static int64_t machine_now(void)
{
	return clock_unix_ms() / 1000;
}

/* Returns the corrected Unix time for signatures. Any thread. */
static int64_t bedrock_clock_now(void)
{
	return machine_now() + atomic_load(&ahead_s);
}

static bool blames_clock(const char *error_type)
{
	static const char *const types[] = {
		"AuthFailure",          "InvalidSignature",
		"RequestExpired",       "RequestInTheFuture",
		"RequestTimeTooSkewed", "SignatureDoesNotMatch",
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strncmp(error_type, types[i], strlen(types[i])) == 0)
			return true;
	return false;
}

/* Parses a time of this format. Returns Unix seconds, or 0 if text has another
 * format. */
static int64_t read_time(const char *text, const char *format)
{
	struct tm tm = { 0 };

	return strptime(text, format, &tm) ? timegm(&tm) : 0;
}

/* Parses a Date header: "Mon, 23 Nov 2026 07:58:35 GMT". */
static int64_t read_date(const char *date)
{
	return read_time(date, "%a, %d %b %Y %H:%M:%S GMT");
}

/* Finds AWS's time in the error text: "Signature expired: A is now earlier than
 * B (20261123T075835Z - 5 min.)", "Signature not yet current: A is still later
 * than B (... + 15 min.)". */
static int64_t read_words(struct str body)
{
	enum { LEN = 16 };
	char text[LEN + 1];

	for (size_t at = 0; at + LEN < body.len; at++) {
		if (body.ptr[at] != '(')
			continue;
		memcpy(text, body.ptr + at + 1, LEN);
		text[LEN] = '\0';
		if (read_time(text, "%Y%m%dT%H%M%SZ") > 0)
			return read_time(text, "%Y%m%dT%H%M%SZ");
	}
	return 0;
}

bool bedrock_clock_correct(const char *error_type, const char *date,
			   struct str body)
{
	const int64_t named[] = { read_date(date), read_words(body) };

	if (!blames_clock(error_type))
		return false;
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		int64_t off = named[i] - bedrock_clock_now();
		int64_t ahead = named[i] - machine_now();

		if (named[i] <= 0 || (off < LEAST_S && off > -LEAST_S) ||
		    ahead > MOST_S || ahead < -MOST_S)
			continue;
		atomic_store(&ahead_s, ahead);
		return true;
	}
	return false;
}

struct bedrock_account {
	/* zeroed if an API key is sent instead of a signature */
	struct aws aws;
	char *region;
	char *key_id; /* id of the key that was used last, or NULL */
};

static const char *get_env(const void *arg, const char *name)
{
	return settings_env(arg, name);
}

static const char *get_credential(const void *arg, const char *name,
				  const char **project)
{
	return settings_credential(arg, name, project);
}

static char **program_env(const void *arg)
{
	return settings_environ(arg, NULL);
}

/* True for a region such as "us-west-2". Accepts no other characters, because
 * the region becomes part of a host name. */
static bool is_region(const char *region)
{
	size_t len = strlen(region);

	return len > 3 && len <= 32 && region[0] != '-' &&
	       strspn(region, "abcdefghijklmnopqrstuvwxyz-0123456789") == len;
}

/* Finds the region. The first of these counts: config.toml, the environment,
 * the profile. */
static int find_region(struct bedrock_account *a, const struct settings *set,
		       const char *region, struct error *err)
{
	static const char *const names[] = { "AWS_REGION",
					     "AWS_DEFAULT_REGION" };

	for (size_t i = 0; i < 2 && !region; i++)
		region = settings_env(set, names[i]);
	if (!region)
		region = a->aws.region;
	if (!region) {
		(void)error_set(err, ERR_CONFIG,
				"provider bedrock has no AWS region");
		return error_hint(err,
				  "Set AWS_REGION (for example us-east-1), or "
				  "region in [models.providers.bedrock].");
	}
	if (!is_region(region))
		return error_set(err, ERR_CONFIG, "not an AWS region: '%.60s'",
				 region);
	a->region = xstrdup(region);
	return 0;
}

int bedrock_account_open(struct model_choice *c, const struct settings *set,
			 const char *region, struct error *err)
{
	const struct aws_env env = { .arg = set,
				     .get = get_env,
				     .get_any = get_credential,
				     .program_env = program_env,
				     .free_env = settings_environ_free,
				     .home = settings_home(set) };
	struct bedrock_account *a = xcalloc(1, sizeof(*a));

	c->aws = a;
	if (!c->api_key && aws_open(&a->aws, &env, NULL, err) < 0)
		return -1;
	if (a->aws.project_key && !c->project_key) {
		c->project_key = a->aws.project_key;
		if (!c->key_from)
			c->key_from = settings_credential_name(
				set, a->aws.project_key);
	}
	return find_region(a, set, region, err);
}

void bedrock_account_free(struct bedrock_account *a)
{
	if (!a)
		return;
	aws_close(&a->aws);
	free(a->region);
	free(a->key_id);
	free(a);
}

char *bedrock_account_url(const struct bedrock_account *a)
{
	return xasprintf("https://bedrock-runtime.%s.amazonaws.com%s",
			 a->region,
			 strncmp(a->region, "cn-", 3) == 0 ? ".cn" : "");
}

void bedrock_account_secrets(const struct bedrock_account *a,
			     const char *out[3])
{
	size_t n = 0;

	if (a && a->aws.now.secret)
		out[n++] = a->aws.now.secret;
	if (a && a->aws.now.token)
		out[n++] = a->aws.now.token;
	out[n] = NULL;
}

static void add_own(struct signed_request *r, const char *name,
		    const char *value)
{
	if (value)
		r->own[r->n_own++] = xasprintf("%s: %s", name, value);
}

/* Splits an address into the host with its port (*host, owned) and the path
 * (returned). Both are part of the signature. */
static struct str split_url(const char *url, char **host)
{
	struct str rest = str_of(url);
	struct str name;

	rest = str_skip(rest, str_search(rest, STR("://")) + 3);
	name = (struct str){ rest.ptr, str_find(rest, '/') };
	*host = xstrndup(name.ptr, name.len);
	return str_skip(rest, name.len);
}

/* Signs the request and fills r->lines. */
static void sign_lines(const struct bedrock_account *a,
		       const struct aws_credentials *c,
		       struct signed_request *r)
{
	const struct sigv4_key key = { c->id, c->secret };
	const char *lines[5] = { "Content-Type: application/json" };
	struct buf value = BUF_INIT(16 << 10);
	char when[SIGV4_TIME];
	char *host;
	struct sigv4_request q = { .method = "POST",
				   .target = split_url(r->url, &host),
				   .headers = lines,
				   .body = buf_str(&r->body),
				   .region = a->region,
				   .service = "bedrock",
				   .time = bedrock_clock_now() };

	sigv4_time(q.time, when);
	add_own(r, "Host", host);
	add_own(r, "X-Amz-Date", when);
	add_own(r, "X-Amz-Security-Token", c->token);
	for (size_t i = 0; i < r->n_own; i++)
		lines[i + 1] = r->own[i];
	sigv4_authorize(&q, &key, &value);
	add_own(r, "Authorization", value.ptr);
	buf_wipe(&value);
	free(host);
}

int bedrock_account_sign(struct bedrock_account *a, struct http *http,
			 struct signed_request *r, const struct stop *stop,
			 struct error *err)
{
	struct aws_credentials key = { 0 };
	size_t n = 0;

	if (buf_check(&r->body, "the conversation", err) < 0)
		return -1;
	a->aws.http = http;
	if (aws_get(&a->aws, &key, stop, err) < 0)
		return -1;
	free(a->key_id);
	a->key_id = xstrdup(key.id);
	sign_lines(a, &key, r);
	aws_credentials_release(&key);
	for (; r->headers[n] && n + r->n_own < SIGNED_HEADERS; n++)
		r->lines[n] = r->headers[n];
	for (size_t i = 0; i < r->n_own; i++)
		r->lines[n++] = r->own[i];
	r->lines[n] = NULL;
	return 0;
}

void signed_request_release(struct signed_request *r)
{
	for (size_t i = 0; i < r->n_own; i++)
		mem_wipe(r->own[i]);
	buf_release(&r->body);
	r->n_own = 0;
}

bool bedrock_account_renew(struct bedrock_account *a)
{
	return a->key_id && aws_forget(&a->aws, a->key_id);
}

static void write_url(const struct model_choice *c, struct buf *out)
{
	buf_adds(out, "/model/");
	wire_escape(out, c->model, "");
	buf_adds(out, "/converse-stream");
}

static bool is_claude(const char *model)
{
	return strstr(model, "anthropic.claude-") != NULL;
}

/* True if dcode may use cache points: for Claude 3.5 Haiku, Claude 3.7 and
 * later, and Nova. If the model is the ARN of an inference profile, its real
 * model is not known: false. */
static bool has_cache(const char *model)
{
	static const char *const old[] = { "claude-v",
					   "claude-instant",
					   "claude-3-haiku",
					   "claude-3-sonnet",
					   "claude-3-opus",
					   "claude-3-5",
					   NULL };

	for (size_t i = 0; old[i]; i++)
		if (strstr(model, old[i]))
			return strstr(model, "claude-3-5-haiku") != NULL;
	return is_claude(model) || strstr(model, "amazon.nova-") != NULL;
}

static void init_history(const struct model_choice *c, struct history *h)
{
	h->marks = has_cache(c->model);
}

static const struct {
	const char *from, *group, *to;
} places[] = {
	/* Python client's names and the vendor's own */
	{ "max_tokens", "inferenceConfig", "maxTokens" },
	{ "maxTokens", "inferenceConfig", "maxTokens" },
	{ "temperature", "inferenceConfig", "temperature" },
	{ "top_p", "inferenceConfig", "topP" },
	{ "topP", "inferenceConfig", "topP" },
	{ "stop", "inferenceConfig", "stopSequences" },
	{ "stop_sequences", "inferenceConfig", "stopSequences" },
	{ "thinking", "additionalModelRequestFields", "thinking" },
	{ "output_config", "additionalModelRequestFields", "output_config" },
	{ "top_k", "additionalModelRequestFields", "top_k" },
	{ "reasoning_effort", "additionalModelRequestFields",
	  "reasoning_effort" },
};

/* Moves the user's parameters to the objects in which the vendor expects
 * them. */
static void fit_params(const struct model_choice *c, cJSON *params)
{
	static const char *const not_sent[] = { "toolConfig", "region_name",
						"credentials_profile_name" };

	(void)c;
	for (size_t i = 0; i < sizeof(not_sent) / sizeof(not_sent[0]); i++)
		cJSON_DeleteItemFromObjectCaseSensitive(params, not_sent[i]);
	params_rename(params, "additional_model_request_fields",
		      "additionalModelRequestFields");
	params_rename(params, "guardrail_config", "guardrailConfig");
	params_rename(params, "guardrails", "guardrailConfig");
	params_rename(params, "performance_config", "performanceConfig");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		params_nest(params, places[i].from, places[i].group,
			    places[i].to);
}

static void write_tools(const struct wire_head *in, struct buf *out)
{
	for (size_t i = 0; i < in->brief->n_tools; i++) {
		buf_adds(out, i ? "," : "");
		buf_adds(out, "{\"toolSpec\":{");
		wire_tool(out, &in->brief->tools[i],
			  ",\"inputSchema\":{\"json\":");
		buf_adds(out, "}}}");
	}
	/* only for Claude: Nova refuses a cache point after the tools */
	if (has_cache(in->choice->model) && is_claude(in->choice->model))
		buf_adds(out, CACHE_POINT);
}

/* Writes the start of a request, up to the first message. */
static void write_head(const struct wire_head *in, struct buf *out)
{
	buf_addc(out, '{');
	wire_params(in->params, out);
	if (in->brief->system && in->brief->system[0]) {
		buf_adds(out, "\"system\":[{");
		json_member(out, "text", str_of(in->brief->system));
		buf_addc(out, '}');
		if (has_cache(in->choice->model))
			buf_adds(out, CACHE_POINT);
		buf_adds(out, "],");
	}
	if (in->brief->n_tools) {
		buf_adds(out, "\"toolConfig\":{\"tools\":[");
		write_tools(in, out);
		buf_adds(out, "]},");
	}
	buf_adds(out, "\"messages\":[");
}

static void put_text(struct buf *out, const char *text)
{
	buf_addc(out, '{');
	json_member(out, "text",
		    str_of(wire_is_blank(text) ? "(empty)" : text));
	buf_addc(out, '}');
}

static void put_call(struct buf *out, const struct part *p)
{
	buf_adds(out, "{\"toolUse\":{\"toolUseId\":");
	wire_short_id(out, p->id);
	buf_adds(out, ",\"name\":");
	wire_name(out, p->name);
	buf_adds(out, ",\"input\":");
	wire_args(out, p);
	buf_adds(out, "}}");
}

/* Writes a file. A document's name must be unique in the request and have only
 * letters, digits, spaces, "-", "()" and "[]" (API_runtime_DocumentBlock, read
 * 2026-11-23). dcode does not send the file's own name: as that page warns, a
 * name could contain instructions for the model. */
static void put_media(struct buf *out, const struct part *p)
{
	if (media_is_pdf(p->type))
		buf_addf(out,
			 "{\"document\":{\"format\":\"pdf\",\"name\":"
			 "\"document-%zu\",\"source\":{\"bytes\":",
			 out->len);
	else
		buf_addf(out,
			 "{\"image\":{\"format\":\"%s\",\"source\":{"
			 "\"bytes\":",
			 p->type + strlen("image/"));
	wire_base64(out, p);
	buf_adds(out, "}}}");
}

static void put_result(struct buf *out, const struct part *p, size_t n)
{
	buf_adds(out, "{\"toolResult\":{\"toolUseId\":");
	wire_short_id(out, p->id);
	buf_adds(out, ",\"content\":[");
	put_text(out, p->text);
	for (size_t i = 1; i <= n; i++) {
		buf_addc(out, ',');
		put_media(out, p + i);
	}
	buf_adds(out, p->failed ? "],\"status\":\"error\"}}" : "]}}");
}

static void put_empty(struct buf *out)
{
	put_text(out, NULL);
}

static const struct wire_blocks form = {
	.thinking = "{\"reasoningContent\":",
	.put_text = put_text,
	.put_media = put_media,
	.put_call = put_call,
	.put_result = put_result,
	.put_empty = put_empty,
};

static void push_message(struct history *h, const struct message *m)
{
	wire_push_blocks(h, m, &form);
	if (m->role != ROLE_ASSISTANT && h->marks)
		h->block_end = h->bytes.len;
}

static int on_start(struct draft *d, const cJSON *tree, struct error *err)
{
	const cJSON *call = json_get(json_get(tree, "start"), "toolUse");
	struct draft_part *p;

	if (!call)
		return 0;
	p = draft_part(d, PART_TOOL_CALL,
		       json_int(tree, "contentBlockIndex", 0), err);
	if (!p)
		return -1;
	draft_name(&p->id, json_string(call, "toolUseId", NULL));
	draft_name(&p->name, json_string(call, "name", NULL));
	return 0;
}

static int add_reasoning(struct draft *d, const cJSON *delta, int64_t key,
			 struct error *err)
{
	const char *redacted = json_string(delta, "redactedContent", NULL);
	const char *sign = json_string(delta, "signature", NULL);
	struct draft_part *p = draft_open(d, PART_THINKING, key, err);

	if (!p)
		return -1;
	p->redacted = p->redacted || redacted;
	buf_adds(&p->extra, redacted ? redacted : sign ? sign : "");
	if (buf_check(&p->extra, "the model's reasoning", err) < 0)
		return -1;
	return draft_add(d, p, str_of(json_string(delta, "text", "")), err);
}

/* Adds a delta to the part with its index. */
static int on_delta(struct draft *d, const cJSON *tree, struct error *err)
{
	const cJSON *delta = json_get(tree, "delta");
	const cJSON *reasoning = json_get(delta, "reasoningContent");
	const char *text = json_string(delta, "text", NULL);
	const char *input =
		json_string(json_get(delta, "toolUse"), "input", NULL);
	int64_t key = json_int(tree, "contentBlockIndex", 0);
	struct draft_part *p;

	if (reasoning)
		return add_reasoning(d, reasoning, key, err);
	if (text) {
		p = draft_open(d, PART_TEXT, key, err);
		return p ? draft_add(d, p, str_of(text), err) : -1;
	}
	p = input ? draft_find(d, PART_TOOL_CALL, key) : NULL;
	return p ? draft_add(d, p, str_of(input), err) : 0;
}

static const struct draft_reason reasons[] = {
	{ "tool_use", FINISH_TOOLS },
	{ "max_tokens", FINISH_LENGTH },
	{ "guardrail_intervened", FINISH_REFUSAL },
	{ "content_filtered", FINISH_REFUSAL },
	{ "refusal", FINISH_REFUSAL },
	{ "model_context_window_exceeded", FINISH_WINDOW },
	{ 0 },
};

static int on_stop(struct draft *d, const cJSON *tree, struct error *err)
{
	const char *reason = json_string(tree, "stopReason", "");

	if (str_starts(str_of(reason), "malformed_"))
		return error_set(err, ERR_REMOTE,
				 "the model wrote an answer that cannot be "
				 "read (%.60s)",
				 reason);
	draft_stopped(d, reason, reasons);
	return 0;
}

/* Reads the token counts. They are in the last event, so the answer is
 * complete. */
static int on_metadata(struct draft *d, const cJSON *tree, struct error *err)
{
	const cJSON *usage = json_get(tree, "usage");

	(void)err;
	d->usage = (struct usage){
		.input = wire_tokens(usage, "inputTokens", 0),
		.output = wire_tokens(usage, "outputTokens", 0),
		.cache_read = wire_tokens(usage, "cacheReadInputTokens", 0),
		.cache_write = wire_tokens(usage, "cacheWriteInputTokens", 0),
	};
	d->done = d->finish != 0;
	return 0;
}

static const struct {
	const char *event;
	int (*parse)(struct draft *d, const cJSON *tree, struct error *err);
} events[] = {
	{ "contentBlockStart", on_start },  { "contentBlockDelta", on_delta },
	{ "messageStop", on_stop },         { "metadata", on_metadata },
	{ "exception", failure_in_stream },
};

static int parse_event(struct draft *d, struct str event, struct str data,
		       struct error *err)
{
	const cJSON *tree = draft_parse(d, data, err);
	int rc = 0;

	if (!tree)
		return -1;
	d->progress++;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (str_is(event, events[i].event))
			rc = events[i].parse(d, tree, err);
	return rc;
}

static bool is_complete(const struct draft *d)
{
	return d->finish != 0;
}

/* Writes reasoning in the form in which it is sent back. The vendor accepts it
 * only with a signature, so unsigned reasoning is left out. */
static void write_replay(const struct draft_part *p, struct buf *out)
{
	if (p->kind != PART_THINKING || !p->extra.len)
		return;
	buf_adds(out, "{\"reasoningContent\":{");
	if (p->redacted) {
		json_member(out, "redactedContent", buf_str(&p->extra));
	} else {
		buf_adds(out, "\"reasoningText\":{");
		json_member(out, "text", buf_str(&p->text));
		buf_addc(out, ',');
		json_member(out, "signature", buf_str(&p->extra));
		buf_addc(out, '}');
	}
	buf_adds(out, "}}");
}

const struct wire wire_bedrock = {
	.name = "bedrock",
	.url = write_url,
	.aws = true,
	.idle_ms = 300000, /* long: models may think without sending anything */
	.betas = "anthropic-beta: ",
	.auth = "Authorization: Bearer ",
	.mark = CACHE_POINT,
	.tail = "]}]",
	.params = fit_params,
	.begin = init_history,
	.head = write_head,
	.push = push_message,
	.event = parse_event,
	.complete = is_complete,
	.replay = write_replay,
};

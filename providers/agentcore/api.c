/* api.c - signed requests to AgentCore, and what went wrong. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <sodium.h>

#include "aws/sigv4.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/retry.h"
#include "providers/agentcore/agentcore.h"

enum {
	TRIES = 4,
	ANSWER_MAX = 4 << 20,
	SKEW_S = 300, /* how wrong a clock AWS takes */
	HEADERS = 8,
};

/* What the answer's head says. */
struct head {
	struct agentcore_ask *ask;
	int64_t date; /* Unix seconds, 0 unknown */
};

static void copy(char *out, size_t room, struct str s)
{
	snprintf(out, room, "%.*s", (int)s.len, s.ptr ? s.ptr : "");
}

/* "ValidationException:http://...", "x#ValidationException": the name. */
static struct str name_of(struct str type)
{
	size_t mark = str_find(type, '#');

	type.len = str_find(type, ':');
	if (mark < type.len)
		type = str_skip(type, mark + 1);
	return str_trim(type);
}

static int64_t http_date(struct str value)
{
	char text[64];
	struct tm tm = { 0 };

	copy(text, sizeof(text), value);
	if (!strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm))
		return 0;
	return timegm(&tm);
}

static void on_header(void *arg, struct str line)
{
	struct head *h = arg;
	size_t colon = str_find(line, ':');
	struct str name = { line.ptr, colon };
	struct str value = str_trim(str_skip(line, colon + 1));

	if (str_is_nocase(name, "x-amzn-errortype"))
		copy(h->ask->type, AGENTCORE_TYPE, name_of(value));
	else if (str_is_nocase(name, "content-type"))
		copy(h->ask->content_type, sizeof(h->ask->content_type), value);
	else if (str_is_nocase(name, "date"))
		h->date = http_date(value);
}

static int on_data(void *arg, struct str chunk, struct error *err)
{
	struct head *h = arg;

	return h->ask->rest.data(h->ask->rest.arg, chunk, err);
}

/* The request's own headers, and those that sign it. */
struct signed_head {
	char *lines[HEADERS];
	size_t n;
};

static void add_header(struct signed_head *s, const char *name,
		       const char *value)
{
	if (value)
		s->lines[s->n++] = xasprintf("%s: %s", name, value);
}

static void sign_request(struct agentcore *a, const struct agentcore_ask *ask,
			 const struct aws_credentials *c, struct signed_head *s)
{
	const struct sigv4_key key = { c->id, c->secret };
	char *target = xasprintf("%s%s%s", a->prefix, a->path, ask->rest.path);
	const char *lines[HEADERS + 1] = { NULL };
	struct sigv4_request r = { .method = ask->rest.method,
				   .target = str_of(target),
				   .headers = lines,
				   .body = ask->rest.body,
				   .region = a->region,
				   .service = "bedrock-agentcore" };
	struct buf value = BUF_INIT(16 << 10);
	char when[SIGV4_TIME];

	pthread_mutex_lock(&a->lock);
	r.time = clock_unix_ms() / 1000 + a->skew_s;
	pthread_mutex_unlock(&a->lock);
	sigv4_time(r.time, when);
	add_header(s, "Host", a->host);
	add_header(s, "X-Amz-Date", when);
	add_header(s, "X-Amz-Security-Token", c->token);
	add_header(s, "x-amzn-code-interpreter-session-id", ask->session);
	for (size_t i = 0; i < s->n; i++)
		lines[i] = s->lines[i];
	if (ask->rest.body.len)
		lines[s->n] = "Content-Type: application/json";
	sigv4_authorize(&r, &key, &value);
	add_header(s, "Authorization", value.ptr);
	buf_wipe(&value);
	free(target);
}

/* Some answers have the error's name only in their body. */
static void parse_error_name(struct agentcore_ask *ask, struct str body)
{
	cJSON *tree = ask->type[0] ? NULL : json_parse(body);
	const char *type = json_string(tree, "__type", NULL);

	if (!type)
		type = json_string(tree, "code", "");
	if (tree)
		copy(ask->type, AGENTCORE_TYPE, name_of(str_of(type)));
	cJSON_Delete(tree);
}

struct request_tries {
	struct retry retry;
	struct aws_credentials key; /* of the current try */
	int64_t date;               /* of its answer; 0 unknown */
	bool renewed;
	bool adjusted;
};

/* One try, signed for now. */
static int send_once(struct agentcore *a, struct agentcore_ask *ask,
		     struct request_tries *t, struct http_response *res,
		     const struct stop *stop, struct error *err)
{
	char *path = xasprintf("%s%s", a->path, ask->rest.path);
	const char *lines[HEADERS + 1] = { NULL };
	struct signed_head s = { .n = 0 };
	struct head head = { .ask = ask };
	struct rest_ask rest = ask->rest;
	int rc;

	sign_request(a, ask, &t->key, &s);
	for (size_t i = 0; i < s.n; i++)
		lines[i] = s.lines[i];
	rest.path = path;
	rest.headers = lines;
	rest.flags &= ~(unsigned)REST_AGAIN;
	ask->type[0] = '\0';
	ask->content_type[0] = '\0';
	rest.header = on_header;
	rest.data = ask->rest.data ? on_data : NULL;
	rest.arg = &head;
	ask->tries++;
	rc = rest_call(&a->api, &rest, res, stop, err);
	ask->status = res->status;
	if (rc < 0 && res->status >= 400)
		parse_error_name(ask, buf_str(&res->body));
	t->date = head.date;
	for (size_t i = 0; i < s.n; i++)
		mem_wipe(s.lines[i]);
	free(path);
	return rc;
}

static bool is_type(const struct agentcore_ask *ask, const char *type)
{
	return strcasecmp(ask->type, type) == 0;
}

/* True when a wrong clock of this machine was the cause: the server's is used
 * from now on. */
static bool adjust_clock(struct agentcore *a, const struct agentcore_ask *ask,
			 int64_t date)
{
	int64_t ahead = date - clock_unix_ms() / 1000;
	bool wrong;

	if (ask->status != 403 || !date ||
	    !(is_type(ask, "InvalidSignatureException") ||
	      is_type(ask, "SignatureDoesNotMatch") ||
	      is_type(ask, "RequestExpired") ||
	      is_type(ask, "RequestTimeTooSkewed")))
		return false;
	pthread_mutex_lock(&a->lock);
	wrong = ahead - a->skew_s > SKEW_S || a->skew_s - ahead > SKEW_S;
	if (wrong)
		a->skew_s = ahead;
	pthread_mutex_unlock(&a->lock);
	return wrong;
}

static bool is_expired(const struct agentcore_ask *ask)
{
	return (ask->status == 403 || ask->status == 401 ||
		ask->status == 400) &&
	       (is_type(ask, "ExpiredTokenException") ||
		is_type(ask, "ExpiredToken"));
}

/* Whether a failed request is sent again; waits before that. */
static bool shall_repeat(struct agentcore *a, const struct agentcore_ask *ask,
			 struct request_tries *t, const struct stop *stop,
			 struct error *err)
{
	if (!t->renewed && is_expired(ask) && aws_forget(&a->aws, t->key.id)) {
		t->renewed = true;
		return true;
	}
	if (!t->adjusted && adjust_clock(a, ask, t->date)) {
		t->adjusted = true;
		return true;
	}
	if (ask->rest.flags & REST_ONCE ||
	    (!(ask->rest.flags & REST_AGAIN) && ask->status != 429))
		return false;
	return retry_is_transient(err) && retry_after(&t->retry, stop, err);
}

static void add_hint(const struct agentcore_ask *ask, struct error *err)
{
	if (err->code == ERR_AUTH && is_expired(ask))
		error_hint(err, "The AWS key has expired: get a new one (aws "
				"sso login, or new AWS_... variables).");
	else if (err->code == ERR_AUTH && !err->hint[0])
		error_hint(
			err,
			"Check the AWS key: it needs bedrock-agentcore:Start-, "
			"Invoke-, Get-, List- and StopCodeInterpreterSession.");
	if (is_type(ask, "ServiceQuotaExceededException"))
		err->code = ERR_LIMIT;
}

int agentcore_call(struct agentcore *a, struct agentcore_ask *ask, cJSON **tree,
		   const struct stop *stop, struct error *err)
{
	struct http_response res = { .body = BUF_INIT(ANSWER_MAX) };
	struct request_tries t = { .retry = { .max = TRIES } };
	bool more;
	int rc;

	do {
		struct error why = { 0 };

		ask->status = 0;
		t.key = (struct aws_credentials){ 0 };
		more = false;
		rc = aws_get(&a->aws, &t.key, stop, &why);
		if (rc == 0) {
			rc = send_once(a, ask, &t, &res, stop, &why);
			more = rc < 0 && shall_repeat(a, ask, &t, stop, &why);
		}
		aws_credentials_release(&t.key);
		if (rc < 0 && !more)
			*err = why;
	} while (more);
	if (rc < 0)
		add_hint(ask, err);
	if (tree)
		*tree = NULL;
	if (rc == 0 && tree && res.body.len) {
		*tree = json_parse(buf_str(&res.body));
		if (!*tree) {
			rc = error_set(err, ERR_PROTOCOL,
				       "%s: the answer is not JSON",
				       ask->rest.what);
			err->http_status = ask->status;
		}
	}
	http_response_release(&res);
	return rc;
}

void agentcore_token(const char *kind, const char *id, char out[AGENTCORE_HASH])
{
	char *text = xasprintf("dcode %s %s", kind, id);
	unsigned char hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, (const unsigned char *)text, strlen(text));
	sodium_bin2hex(out, AGENTCORE_HASH, hash, sizeof(hash));
	free(text);
}

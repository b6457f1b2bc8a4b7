/* bedrock_account.c - signs requests to Bedrock: AWS key, region and time. */
/* SPDX-License-Identifier: MIT */
/* bedrock_account_open() finds the key and the region; bedrock_account_sign()
 * makes the headers of a request. The first part corrects the time used for
 * signatures, because AWS refuses them if this machine's clock is wrong by
 * minutes. Sources of the error codes and texts:
 * @smithy/service-error-classification (CLOCK_SKEW_ERROR_CODES); aws/aws-sdk-go
 * issue 859, aws/aws-sdk-js issue 2565; read 2026-11-23. */
#include "model/wires/bedrock_account.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aws/credentials.h"
#include "aws/sigv4.h"
#include "base/mem.h"
#include "base/stop.h"
#include "base/str.h"
#include "config/settings_env.h"

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

/* retry.c - which failures to retry, and how long to wait. */
/* SPDX-License-Identifier: MIT */
/*
 * First what a failure means: retry_worthy() for a response,
 * retry_is_transient() and retry_was_refused() for an error. Then the pause: a
 * server may ask for one in a header or in the text of its error
 * (find_pause()), else it doubles with each try (backoff_ms()). Begin reading
 * at retry_next_ms(), which chooses between the two.
 */
#include "net/retry.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/str.h"
#include "net/grpc.h"

enum {
	FIRST_MS = 500,
	LONGEST_MS = 30000,
	/* longer pauses that a server asks for are not waited */
	WISH_MAX_MS = 600000,
	PATIENCE_MS = 5000,
	WISH_JITTER_MS = 250, /* spreads the retries of many clients */
};

/* True if the account has no credit left. OpenAI answers 429 for that too, and
 * waiting does not help (learn.microsoft.com, Dev Proxy, "OpenAI
 * insufficient_quota", read 2026-11-20). */
static bool is_quota(const struct http_response *res)
{
	static const char *const keys[] = { "code", "type" };
	cJSON *tree = json_parse(buf_str(&res->body));
	const cJSON *error = json_get(tree, "error");
	bool quota = false;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		quota = quota ||
			!strcmp(json_string(error ? error : tree, keys[i], ""),
				"insufficient_quota");
	cJSON_Delete(tree);
	return quota;
}

static bool is_passing_http(int status)
{
	return status == 408 || status == 425 || status == 429 ||
	       (status >= 500 && status != 501 && status != 505);
}

bool retry_worthy(int rc, const struct http_response *res,
		  const struct error *err)
{
	if (rc < 0)
		return err->code == ERR_NETWORK || err->code == ERR_UNREACHABLE;
	if (res->status == 429)
		return !is_quota(res);
	return is_passing_http(res->status);
}

/* Parses a decimal number ("17", "1.5") at the start of *s and skips it.
 * Returns it in thousandths, or -1 if *s does not start with a digit. */
static int64_t parse_number(struct str *s)
{
	int64_t whole = 0;
	int64_t scale = 1000;
	bool point = false;
	size_t i = 0;

	for (; i < s->len && i < 12; i++) {
		if (s->ptr[i] == '.' && !point && i) {
			point = true;
			continue;
		}
		if (!isdigit((unsigned char)s->ptr[i]))
			break;
		if (point)
			scale /= 10;
		else
			whole *= 10;
		whole += (s->ptr[i] - '0') * (point ? scale : 1000);
	}
	*s = str_skip(*s, i);
	return i ? whole : -1;
}

static const struct {
	const char *word;
	int64_t ms;
} units[] = {
	/* A unit must come before those that are its beginning: "minutes"
	 * before "min". */
	{ "milliseconds", 1 }, { "millisecond", 1 }, { "ms", 1 },
	{ "minutes", 60000 },  { "minute", 60000 },  { "min", 60000 },
	{ "m", 60000 },        { "seconds", 1000 },  { "second", 1000 },
	{ "sec", 1000 },       { "s", 1000 },        { "hours", 3600000 },
	{ "hour", 3600000 },   { "h", 3600000 },
};

static bool starts_nocase(struct str s, const char *word, size_t len)
{
	return s.len >= len && strncasecmp(s.ptr, word, len) == 0;
}

/* Parses a unit of time at the start of *s and skips it. Returns it in ms, or 0
 * if there is none. */
static int64_t parse_unit(struct str *s)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		struct str word = str_of(units[i].word);

		if (!starts_nocase(*s, word.ptr, word.len))
			continue;
		*s = str_skip(*s, word.len);
		return units[i].ms;
	}
	return 0;
}

static struct str skip_spaces(struct str s)
{
	while (s.len && s.ptr[0] == ' ')
		s = str_skip(s, 1);
	return s;
}

/* Parses a duration ("1m30.5s", "17 seconds"). Returns ms, or -1 if there is
 * none. */
static int64_t parse_duration(struct str s)
{
	int64_t total = -1;

	for (;;) {
		int64_t number;
		int64_t unit;

		s = skip_spaces(s);
		number = parse_number(&s);
		if (number < 0)
			return total;
		s = skip_spaces(s);
		unit = parse_unit(&s);
		if (!unit)
			return total;
		total = (total < 0 ? 0 : total) + (number * unit + 999) / 1000;
	}
}

/* Finds the pause that the server asks for in its error text, in ms; -1 if
 * none. */
static int64_t find_pause(struct str text)
{
	static const char *const leads[] = { "again in ", "retry in ",
					     "retry after ", "again after ",
					     /* google.rpc.RetryInfo */
					     "\"retryDelay\":\"",
					     "\"retryDelay\": \"" };

	for (size_t at = 0; at < text.len; at++) {
		struct str rest = str_skip(text, at);

		for (size_t i = 0; i < sizeof(leads) / sizeof(*leads); i++) {
			struct str lead = str_of(leads[i]);
			int64_t found;

			if (!starts_nocase(rest, lead.ptr, lead.len))
				continue;
			found = parse_duration(str_skip(rest, lead.len));
			if (found >= 0)
				return found;
		}
	}
	return -1;
}

int64_t retry_wish(const struct http_response *res)
{
	if (res->retry_after_ms >= 0)
		return res->retry_after_ms;
	if (res->status < 400)
		return -1;
	return find_pause(buf_str(&res->body));
}

static int64_t backoff_ms(const struct retry *r)
{
	int64_t ms = r->base_ms > 0 ? r->base_ms : FIRST_MS;

	for (int i = 1; i < r->attempt && ms < LONGEST_MS; i++)
		ms *= 2;
	if (ms > LONGEST_MS)
		ms = LONGEST_MS;
	return ms / 2 + ids_below((uint32_t)(ms / 2) + 1);
}

bool retry_possible(const struct retry *r, const struct http_response *res)
{
	int64_t most = r->most_ms > 0 ? r->most_ms : WISH_MAX_MS;

	return r->attempt < r->max && (!res || retry_wish(res) <= most);
}

int64_t retry_next_ms(struct retry *r, const struct http_response *res)
{
	int64_t wish = res ? retry_wish(res) : -1;
	struct retry next = *r;

	int64_t pause;

	next.attempt++;
	if (r->wait_ms)
		return r->wait_ms;
	pause = backoff_ms(&next);
	if (wish >= 0 && (!r->patient || pause < wish))
		pause = wish + ids_below(WISH_JITTER_MS);
	else if (wish >= 0 && pause > wish + PATIENCE_MS)
		pause = wish + PATIENCE_MS;
	r->wait_ms = pause;
	return pause;
}

bool retry_wait(struct retry *r, const struct http_response *res,
		const struct stop *stop, struct error *err)
{
	int64_t ms;

	if (!retry_possible(r, res))
		return false;
	ms = retry_next_ms(r, res);
	r->attempt++;
	r->wait_ms = 0;
	return stop_sleep(stop, ms, err) == 0;
}

bool retry_is_transient(const struct error *err)
{
	if (err->exhausted)
		return false;
	switch (err->grpc_status) {
	case GRPC_CANCELLED:
	case GRPC_UNKNOWN:
	case GRPC_DEADLINE_EXCEEDED:
	case GRPC_INTERNAL:
	case GRPC_UNAVAILABLE:
		return true;
	case 0:
		break;
	default:
		return false;
	}
	return err->code == ERR_NETWORK || err->code == ERR_PROTOCOL ||
	       is_passing_http(err->http_status);
}

bool retry_was_refused(const struct error *err)
{
	int status = err->http_status;

	switch (err->grpc_status) {
	case GRPC_INVALID_ARGUMENT:
	case GRPC_NOT_FOUND:
	case GRPC_PERMISSION_DENIED:
	case GRPC_RESOURCE_EXHAUSTED:
	case GRPC_FAILED_PRECONDITION:
	case GRPC_OUT_OF_RANGE:
	case GRPC_UNIMPLEMENTED:
	case GRPC_UNAUTHENTICATED:
		return true;
	case 0:
		break;
	default:
		return false;
	}
	/* After 408, 425 and 499 the request may have been executed; after 409,
	 * an earlier attempt of it may have been. */
	return status >= 400 && status < 499 && status != 408 &&
	       status != 409 && status != 425;
}

int retry_sleep(const struct error *why, int64_t ms, const struct stop *stop,
		struct error *err)
{
	int64_t wish = why->retry_after_ms;
	struct error told = *why;
	const char *limit = "longer than 10 minutes";

	if (wish <= ms)
		return stop_sleep(stop, ms, err);
	if (stop->deadline != INT64_MAX && stop->deadline - clock_ms() < wish)
		limit = "longer than the time that is left";
	else if (wish <= WISH_MAX_MS)
		return stop_sleep(stop, wish + ids_below(WISH_JITTER_MS), err);
	error_add(&told, " (the server asks to wait %lld s, %s)",
		  (long long)(wish + 999) / 1000, limit);
	told.exhausted = true;
	*err = told;
	return -1;
}

bool retry_after(struct retry *r, const struct stop *stop, struct error *err)
{
	struct error why = *err;

	if (r->attempt >= r->max) {
		err->exhausted = true;
		return false;
	}
	r->attempt++;
	return retry_sleep(&why, backoff_ms(r), stop, err) == 0;
}

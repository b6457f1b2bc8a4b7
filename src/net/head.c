/* head.c - what an answer's head tells us, line by line. */
/* SPDX-License-Identifier: MIT */
#include "net/head.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum {
	RETRY_AFTER_MAX = 86400000, /* ms: a day */
	BODY_MAX = 1 << 20,         /* bytes of a collected body by default */
};

void head_reset(struct http_response *res)
{
	res->status = 0;
	res->retry_after_ms = -1;
	res->began = false;
	res->content_type[0] = '\0';
	res->request_id[0] = '\0';
	res->location[0] = '\0';
	buf_clear(&res->body);
	if (!res->body.max)
		res->body.max = BODY_MAX;
}

static void copy(char *to, size_t room, struct str from)
{
	size_t len = from.len < room ? from.len : room - 1;

	if (len)
		memcpy(to, from.ptr, len);
	to[len] = '\0';
}

/* RFC 9110 §10.2.3: seconds or a date. retry-after-ms is what the clients of
 * OpenAI and Anthropic read first (_base_client.py, read 2026-11-20). */
static void on_retry_after(struct http_response *res, struct str value,
			   bool in_ms, const struct curl_api *api)
{
	char text[64];
	char *end;
	double amount;
	time_t when;

	copy(text, sizeof(text), value);
	amount = strtod(text, &end);
	if (end != text && !*end) {
		if (!in_ms)
			amount *= 1000;
	} else {
		when = api->getdate(text, NULL);
		if (when < 0)
			return;
		amount = (double)when * 1000 - (double)clock_unix_ms();
		if (amount < 0)
			amount = 0;
	}
	if (!(amount >= 0))
		return;
	if (amount > RETRY_AFTER_MAX)
		amount = RETRY_AFTER_MAX;
	res->retry_after_ms = (int64_t)amount;
}

/* Daytona says which of its limits it was: Retry-After-Sandbox-Create (its
 * document, 2026-11). */
static bool is_retry_after(struct str name)
{
	size_t len = strlen("retry-after");

	if (name.len > len && name.ptr[len] == '-')
		name.len = len;
	return str_is_nocase(name, "retry-after");
}

void head_field(struct http_response *res, struct str line,
		const struct curl_api *api)
{
	size_t colon = str_find(line, ':');
	struct str name = str_trim((struct str){ line.ptr, colon });
	struct str value = str_trim(str_skip(line, colon + 1));

	if (str_is_nocase(name, "content-type"))
		copy(res->content_type, sizeof(res->content_type), value);
	else if (str_is_nocase(name, "request-id") ||
		 str_is_nocase(name, "x-request-id"))
		copy(res->request_id, sizeof(res->request_id), value);
	else if (str_is_nocase(name, "location"))
		copy(res->location, sizeof(res->location), value);
	else if (str_is_nocase(name, "retry-after-ms"))
		on_retry_after(res, value, true, api);
	else if (is_retry_after(name) && res->retry_after_ms < 0)
		on_retry_after(res, value, false, api);
}

void head_status(struct http_response *res, struct str line)
{
	struct str rest = str_skip(line, str_find(line, ' ') + 1);
	int status = 0;

	for (size_t i = 0; i < 3 && i < rest.len; i++)
		if (rest.ptr[i] >= '0' && rest.ptr[i] <= '9')
			status = status * 10 + (rest.ptr[i] - '0');
	res->status = status;
	res->content_type[0] = '\0';
	res->request_id[0] = '\0';
	res->location[0] = '\0';
	res->retry_after_ms = -1;
}

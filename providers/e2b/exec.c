/* exec.c - commands as supervised jobs over envd's process stream. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/e2b/e2b.h"
#include "providers/e2b/events.h"
#include "providers/kit/body.h"

enum {
	BODY_MAX = 4 << 20,
	SLACK_MS = 8000,   /* beyond the time that a request is held */
	STDIN_SINCE = 300, /* envd 0.3.0 knows the field */
	USER_MAX = 256,
};

static int compose(struct sandbox *sb, struct str command, struct buf *out,
		   struct error *err)
{
	struct buf json = BUF_INIT(BODY_MAX);
	int version = e2b_version(sb);
	int rc;

	buf_adds(&json, "{\"process\":{\"cmd\":\"/bin/sh\",\"args\":[\"-c\",");
	shell_argument_add(&json, command);
	buf_adds(&json, "],\"cwd\":\"/\"}");
	if (!version || version >= STDIN_SINCE)
		buf_adds(&json, ",\"stdin\":false");
	buf_addc(&json, '}');
	envelope_add(out, buf_str(&json));
	rc = buf_check(&json, "the command", err);
	buf_release(&json);
	return rc < 0 ? -1 : buf_check(out, "the command", err);
}

/* "Authorization: Basic BASE64(user:)", owned, or NULL. */
static char *user_header(struct sandbox *sb)
{
	const char *user = e2b_user(sb);
	char *text;
	char *header;
	char code[512];

	if (!user || strlen(user) > USER_MAX)
		return NULL;
	text = xasprintf("%s:", user);
	sodium_bin2base64(code, sizeof(code), (const unsigned char *)text,
			  strlen(text), sodium_base64_VARIANT_ORIGINAL);
	header = xasprintf("Authorization: Basic %s", code);
	free(text);
	return header;
}

static int on_data(void *arg, struct str chunk, struct error *err)
{
	return e2b_events_feed(arg, chunk, err);
}

/* Names of errors that may go away by themselves, or with a living sandbox. */
static bool passing(const char *code)
{
	static const char *const names[] = {
		"unavailable", "unauthenticated", "not_found",
		"aborted",     "canceled",        "deadline_exceeded",
		"internal",    "unknown",         "resource_exhausted",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i], code) == 0)
			return true;
	return false;
}

static bool may_be_gone(const char *code)
{
	return !strcmp(code, "unavailable") ||
	       !strcmp(code, "unauthenticated") || !strcmp(code, "not_found");
}

/* struct supervisor.call: one process, its output to the end. */
int e2b_call(void *arg, struct str command, int64_t wait_ms, struct buf *out,
	     const struct stop *stop, struct error *err)
{
	struct sandbox *sb = arg;
	struct buf body = BUF_INIT(BODY_MAX + ENVELOPE_HEAD);
	struct e2b_events events = { .out = out };
	struct http_response res = { .retry_after_ms = -1 };
	char *user = user_header(sb);
	char *limit = xasprintf("Connect-Timeout-Ms: %lld",
				(long long)wait_ms + SLACK_MS);
	const char *const headers[] = { "Connect-Protocol-Version: 1",
					"Keepalive-Ping-Interval: 50", limit,
					user, NULL };
	struct rest_ask ask = {
		.method = "POST",
		.path = "/process.Process/Start",
		.type = "application/connect+json",
		.what = "running the command",
		.data = on_data,
		.arg = &events,
		.headers = headers,
		.timeout_ms = wait_ms + SLACK_MS,
	};
	int rc;

	vendor_touch(sb, stop);
	rc = compose(sb, command, &body, err);
	ask.body = buf_str(&body);
	if (rc == 0) {
		rc = rest_call(vendor_server(sb), &ask, &res, stop, err);
		if (rc == 0)
			rc = e2b_events_end(&events, err);
		if (rc < 0 && err->code != ERR_CANCELLED &&
		    err->code != ERR_LIMIT && passing(events.code))
			err->code = ERR_NETWORK;
		if (rc < 0)
			rc = vendor_exec_failed(sb, res.status,
						may_be_gone(events.code), stop,
						err);
	}
	e2b_events_release(&events);
	http_response_release(&res);
	buf_release(&body);
	free(limit);
	free(user);
	return rc;
}

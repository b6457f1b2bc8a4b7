/* bedrock_clock.c - AWS's time, where this machine's clock is wrong. */
/* SPDX-License-Identifier: MIT */
/* Codes and texts: @smithy/service-error-classification (CLOCK_SKEW_ERROR_
 * CODES); aws/aws-sdk-go issue 859, aws/aws-sdk-js issue 2565; read
 * 2026-11-23. */
#include "model/wires/bedrock_clock.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/stop.h"

enum {
	LEAST_S = 240, /* AWS bears five minutes */
	MOST_S = 24 * 3600,
};

/* What AWS's clock is ahead of this machine's, in seconds: one for all
 * accounts, for it is the machine's fault. */
static atomic_llong ahead_s;

static int64_t machine_now(void)
{
	return clock_unix_ms() / 1000;
}

int64_t bedrock_clock_now(void)
{
	return machine_now() + atomic_load(&ahead_s);
}

static bool is_about_time(const char *error_type)
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

/* 0 where it is none. */
static int64_t read_time(const char *text, const char *format)
{
	struct tm tm = { 0 };

	return strptime(text, format, &tm) ? timegm(&tm) : 0;
}

/* "Mon, 23 Nov 2026 07:58:35 GMT" */
static int64_t read_date(const char *date)
{
	return read_time(date, "%a, %d %b %Y %H:%M:%S GMT");
}

/* "Signature expired: A is now earlier than B (20261123T075835Z - 5 min.)",
 * "Signature not yet current: A is still later than B (... + 15 min.)" */
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

	if (!is_about_time(error_type))
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

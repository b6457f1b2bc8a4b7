/* error.c - how dcode functions report failure. */
/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
	[ERR_NONE] = "none",           [ERR_USAGE] = "usage",
	[ERR_CONFIG] = "config",       [ERR_AUTH] = "auth",
	[ERR_NOT_FOUND] = "not_found", [ERR_LIMIT] = "limit",
	[ERR_NETWORK] = "network",     [ERR_PROTOCOL] = "protocol",
	[ERR_REMOTE] = "remote",       [ERR_TIMEOUT] = "timeout",
	[ERR_CANCELLED] = "cancelled", [ERR_GONE] = "sandbox_gone",
	[ERR_SYSTEM] = "system",       [ERR_UNREACHABLE] = "unreachable",
	[ERR_BUSY] = "busy",           [ERR_POLICY] = "policy",
	[ERR_BUDGET] = "budget",       [ERR_REFUSED] = "refused",
	[ERR_UNGUARDED] = "unguarded",
};

const char *error_name(enum err code)
{
	return names[code];
}

/* Appends text, cut to the space that is left. */
static void append_text(char *to, size_t size, const char *text)
{
	size_t used = strlen(to);
	size_t len = strlen(text);

	if (len > size - used - 1)
		len = size - used - 1;
	memcpy(to + used, text, len);
	to[used + len] = '\0';
}

/* Resets all fields except the message: the arguments of the format string may
 * point into it. */
static void reset_fields(struct error *err, enum err code)
{
	err->code = code;
	err->exact = CASE_NONE;
	err->http_status = 0;
	err->grpc_status = 0;
	err->retry_after_ms = 0;
	err->exhausted = false;
	err->nothing_made = false;
	err->hint[0] = '\0';
	err->topic = NULL;
}

int error_set(struct error *err, enum err code, const char *fmt, ...)
{
	va_list ap;

	reset_fields(err, code);
	va_start(ap, fmt);
	vsnprintf(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	return -1;
}

int error_set_case(struct error *err, enum err code, enum err_case exact,
		   const char *message)
{
	error_set(err, code, "%s", message);
	return error_case(err, exact);
}

int error_case(struct error *err, enum err_case exact)
{
	err->exact = exact;
	return -1;
}

/* What a user can do about an errno, or "". */
static const char *way_out(int number)
{
	switch (number) {
	case ENOSPC:
		return "Free some space on its disk (df -h).";
	case EDQUOT:
	case EFBIG:
		return "Delete files, or ask for a higher limit (quota -s, "
		       "ulimit -f).";
	case ENOLCK:
		return "Its file system does not support locks. Use a "
		       "directory on a local disk.";
	case EROFS:
		return "Its file system is mounted read-only (findmnt -T "
		       "PATH).";
	case EMFILE:
		return "Allow more open files: ulimit -n 4096.";
	default:
		return "";
	}
}

int error_errno(struct error *err, const char *fmt, ...)
{
	char text[128];
	int number = errno;
	const char *reason = strerror_r(number, text, sizeof(text));
	va_list ap;

	reset_fields(err, number == ENOENT ? ERR_NOT_FOUND : ERR_SYSTEM);
	va_start(ap, fmt);
	vsnprintf(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	append_text(err->message, sizeof(err->message), ": ");
	append_text(err->message, sizeof(err->message), reason);
	return error_hint(err, "%s", way_out(number));
}

void error_topic(struct error *err, const char *topic)
{
	if (!err->topic)
		err->topic = topic;
}

int error_hint(struct error *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
	return -1;
}

int error_add(struct error *err, const char *fmt, ...)
{
	char text[sizeof(err->message)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	append_text(err->message, sizeof(err->message), text);
	return -1;
}

int error_wrap(struct error *err, const char *fmt, ...)
{
	char whole[sizeof(err->message)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(whole, sizeof(whole), fmt, ap);
	va_end(ap);
	append_text(whole, sizeof(whole), ": ");
	append_text(whole, sizeof(whole), err->message);
	memcpy(err->message, whole, sizeof(whole));
	return -1;
}

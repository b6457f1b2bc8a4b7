/* error.c - the one way a dcode function reports failure. */
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
	[ERR_SYSTEM] = "system",
};

const char *error_name(enum err code)
{
	return names[code];
}

int error_set(struct error *err, enum err code, const char *fmt, ...)
{
	va_list ap;

	err->code = code;
	err->hint[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	return -1;
}

int error_errno(struct error *err, const char *fmt, ...)
{
	char text[128];
	int number = errno;
	const char *reason = strerror_r(number, text, sizeof(text));
	size_t used;
	va_list ap;

	err->code = number == ENOENT ? ERR_NOT_FOUND : ERR_SYSTEM;
	err->hint[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	used = strlen(err->message);
	snprintf(err->message + used, sizeof(err->message) - used, ": %s",
		 reason);
	return -1;
}

int error_hint(struct error *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
	return -1;
}

int error_wrap(struct error *err, const char *fmt, ...)
{
	char whole[sizeof(err->message)];
	size_t used;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(whole, sizeof(whole), fmt, ap);
	va_end(ap);
	used = strlen(whole);
	snprintf(whole + used, sizeof(whole) - used, ": %s", err->message);
	memcpy(err->message, whole, sizeof(whole));
	return -1;
}

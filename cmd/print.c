/* print.c - prints untrusted text without secrets and control characters. */
/* SPDX-License-Identifier: MIT */
#include "cmd/print.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/sanitize.h"
#include "base/str.h"

enum { TEXT_MAX = 64 << 20, LINE_BYTES = 1 << 16 };

void print_add_line(const struct app *app, struct buf *out, const char *text)
{
	app_clean(app, CLEAN_LINE, str_of(text), out);
}

void print_add_name(const struct app *app, struct buf *out, const char *name)
{
	app_clean(app, CLEAN_NAME, str_of(name), out);
}

void print_add_member(const struct app *app, struct buf *out, const char *key,
		      const char *text)
{
	struct buf masked = BUF_INIT(TEXT_MAX);

	app_clean(app, CLEAN_LATER, str_of(text), &masked);
	json_member_bytes(out, key, buf_str(&masked));
	buf_release(&masked);
}

void print_text(const struct app *app, const char *before, const char *text,
		const char *after)
{
	struct buf line = BUF_INIT(TEXT_MAX);

	buf_adds(&line, before);
	print_add_line(app, &line, text);
	buf_adds(&line, after);
	output_line(buf_str(&line));
	buf_release(&line);
}

void print_name(const struct app *app, const char *before, const char *name,
		const char *after)
{
	struct buf line = BUF_INIT(TEXT_MAX);

	buf_adds(&line, before);
	print_add_name(app, &line, name);
	buf_adds(&line, after);
	output_line(buf_str(&line));
	buf_release(&line);
}

bool print_is_ascii(const struct app *app)
{
	const char *value = NULL;
	struct error ignored = { 0 };

	if (!app->settings || settings_string(app->settings, NULL, "ui.glyphs",
					      &value, &ignored) < 0)
		return false;
	if (value && strcmp(value, "auto") != 0)
		return !strcmp(value, "ascii");
	return !theme_locale_is_utf8();
}

const char *print_sign(const struct app *app, enum glyph sign)
{
	const struct theme t = { .ascii = print_is_ascii(app) };

	return theme_glyph(&t, sign);
}

/* If line begins with a check mark, skips it and returns the mark to print in
 * its place, which is ASCII if print_is_ascii(). Otherwise returns "". */
static const char *skip_sign(const struct app *app, const char **line)
{
	const struct theme t = { .ascii = false };
	const char *check = theme_glyph(&t, GLYPH_CHECK);

	if (!str_starts(str_of(*line), check))
		return "";
	*line += strlen(check);
	return print_sign(app, GLYPH_CHECK);
}

void print_progress(const struct app *app, const char *line)
{
	struct buf text = BUF_INIT(TEXT_MAX);
	const char *sign = skip_sign(app, &line);

	buf_adds(&text, sign);
	sanitize_line(str_of(line), &text);
	output_line(buf_str(&text));
	buf_release(&text);
}

void print_line(const struct app *app, const char *fmt, ...)
{
	char text[LINE_BYTES];
	const char *line = text;
	const char *sign;
	va_list ap;

	if (app->quiet)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	sign = skip_sign(app, &line);
	print_text(app, sign, line, "");
}

const char *print_age(int64_t ms, char room[PRINT_AGE])
{
	static const struct {
		int64_t seconds;
		const char *unit;
	} units[] = {
		{ 365 * 86400, "y" }, { 30 * 86400, "mo" }, { 86400, "d" },
		{ 3600, "h" },        { 60, "m" },          { 1, "s" },
	};
	int64_t age = (clock_unix_ms() - ms) / 1000;
	size_t i = 0;

	while (units[i].seconds > 1 && age < units[i].seconds)
		i++;
	snprintf(room, PRINT_AGE, "%" PRId64 "%s ago",
		 age > 0 ? age / units[i].seconds : 0, units[i].unit);
	return room;
}

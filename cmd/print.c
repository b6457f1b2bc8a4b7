/* print.c - prints untrusted text without secrets and control characters. */
/* SPDX-License-Identifier: MIT */
#include "cmd/print.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/json.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "term/rows.h"

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

void print_names(const struct app *app, char *const *names, size_t n,
		 const char *after)
{
	for (size_t i = 0; i < n && i < PRINT_NAMES_MOST; i++)
		print_name(app, "  ", names[i], after);
	if (n > PRINT_NAMES_MOST)
		fprintf(stderr, "  ... and %zu more%s\n", n - PRINT_NAMES_MOST,
			after);
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

static size_t columns_of(int fd)
{
	struct winsize size = { 0 };

	return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* Returns the width for a table on stdout: of the terminal, or of the chat's
 * screen. 0: stdout is not a terminal, so nothing is cut. */
static size_t table_columns(const struct app *app)
{
	size_t columns = columns_of(STDOUT_FILENO);

	/* A screen that has not lent the terminal reads stdout from a pipe. */
	return !columns && app->terminal ? columns_of(STDIN_FILENO) : columns;
}

void print_item(struct str line)
{
	/* A chat's screen wraps what it reads from a pipe. */
	struct wrap w = { .columns = columns_of(STDOUT_FILENO),
			  .words = true,
			  .soft = true };
	struct rows whole = { 0 };
	struct rows rows = { 0 };

	rows_add(&whole, (struct style){ 0 }, line);
	rows_close(&whole);
	w.rest.text = rows_indent(line);
	if (w.columns)
		wrap_rows(&whole, &w, &rows);
	else
		rows_append(&rows, &whole, 0, whole.n);
	for (size_t i = 0; i < rows.n; i++) {
		struct str row = rows_view(&rows, i).bytes;

		printf("%.*s\n", (int)row.len, row.ptr);
	}
	rows_release(&whole);
	rows_release(&rows);
}

enum { GAP = 2 /* cells between columns */, LEAST_LAST = 24 };

void print_table_open(struct print_table *t, const struct app *app,
		      const struct print_column *columns, size_t n)
{
	*t = (struct print_table){ .app = app, .columns = columns, .n = n };
	for (size_t i = 0; i < n; i++) {
		t->width[i] = columns[i].width;
		t->shown[i] = true;
	}
}

/* Returns the shown column to leave out next; 0: none. */
static size_t least_important(const struct print_table *t)
{
	size_t last = 0;

	for (size_t i = 0; i < t->n; i++)
		if (t->shown[i] && t->columns[i].rank > t->columns[last].rank)
			last = i;
	return last;
}

void print_table_head(struct print_table *t)
{
	int room = (int)table_columns(t->app);
	size_t end = t->n - 1;
	int used = 0;
	size_t last;

	for (size_t i = 0; i < end; i++)
		used += t->shown[i] ? t->width[i] + GAP : 0;
	while (room && used + LEAST_LAST > room &&
	       (last = least_important(t))) {
		t->shown[last] = false;
		used -= t->width[last] + GAP;
	}
	if (room)
		t->width[end] = room > used ? room - used : 1;
	for (size_t i = 0; i < end; i++)
		if (t->shown[i])
			printf("%*s%*s",
			       t->columns[i].right ? t->width[i] : -t->width[i],
			       t->columns[i].head, GAP, "");
	puts(t->columns[end].head);
}

void print_table_cell(const struct print_table *t, size_t column,
		      const char *text, const char *mark)
{
	struct str dots = str_of(print_sign(t->app, GLYPH_ELLIPSIS));
	size_t room = (size_t)t->width[column];
	struct buf line = BUF_INIT(LINE_BYTES);
	struct str shown;
	int pad;

	if (!t->shown[column])
		return;
	print_add_line(t->app, &line, text[0] ? text : "-");
	shown = buf_str(&line);
	room -= strlen(mark) < room ? strlen(mark) : room;
	if (t->width[column] && width_cells(shown) > room) {
		room -= width_cells(dots) < room ? width_cells(dots) : room;
		shown.len = width_prefix(shown, room);
		while (shown.len && shown.ptr[shown.len - 1] == ' ')
			shown.len--;
	} else {
		dots.len = 0;
	}
	pad = t->width[column] - (int)width_cells(shown) -
	      (int)width_cells(dots) - (int)strlen(mark);
	pad = pad > 0 ? pad : 0;
	printf("%*s%.*s%.*s%s", t->columns[column].right ? pad : 0, "",
	       (int)shown.len, shown.ptr, (int)dots.len, dots.ptr, mark);
	if (column + 1 < t->n)
		printf("%*s", GAP + (t->columns[column].right ? 0 : pad), "");
	buf_release(&line);
}

/* parser.c - md4c, and the tables that it does not accept itself. */
/* SPDX-License-Identifier: MIT */
/*
 * md4c is loaded when first needed. Its versions 0.4 require three characters
 * in each cell of the second line of a table. md4c_run() adds them where md4c
 * then sees a table. Begin reading at widen_tables().
 */
#include "markup/parser.h"

#include <stdint.h>
#include <string.h>

#include "base/library.h"
#include "base/str.h"

enum {
	DELIMITER_LEAST = 3, /* characters in each cell of a delimiter row */
	PROBES_MOST = 32,    /* rows of a text that md4c is asked about */
};

static const struct library library = {
	.name = "libmd4c",
	.files = { "libmd4c.so.0" },
	.package = "libmd4c0",
	.needed = "0.3",
};

md4c_parse *md4c_load(struct error *err)
{
	static const struct library_symbol symbol = { "md_parse", 0 };
	md4c_parse *parse = NULL;

	if (library_load(&library, &symbol, 1, &parse, err) < 0)
		return NULL;
	return parse;
}

/* Removes the bars around a line of a table. */
static struct str strip_bars(struct str line)
{
	line = str_trim(line);
	if (str_starts(line, "|"))
		line = str_skip(line, 1);
	if (str_ends(line, "|") && !str_ends(line, "\\|"))
		line.len--;
	return line;
}

/* Returns the length of the ":", "-" and ":" at the front of text; 0 if there
 * is no "-". */
static size_t delimiter_cell(struct str text)
{
	size_t colon = str_starts(text, ":");
	size_t n = colon;

	while (n < text.len && text.ptr[n] == '-')
		n++;
	if (n == colon)
		return 0;
	return n + (n < text.len && text.ptr[n] == ':');
}

/* Sets delimits and narrow for a line without the bars around it. */
static void read_delimiter(struct str line, struct table_line *t)
{
	do {
		size_t len = delimiter_cell(line);

		t->narrow = t->narrow || len < DELIMITER_LEAST;
		line = str_trim(str_skip(line, len));
		if (!len || (line.len && line.ptr[0] != '|'))
			return;
		line = str_trim(str_skip(line, 1));
	} while (line.len);
	t->delimits = true;
}

struct table_line table_line(struct str line)
{
	struct table_line t = { .cells = 1 };
	bool bar = str_find(line, '|') < line.len;

	line = str_trim(strip_bars(line));
	for (size_t i = 0; i < line.len; i++) {
		if (line.ptr[i] == '\\')
			i++;
		else
			t.cells += line.ptr[i] == '|';
	}
	if (bar)
		read_delimiter(line, &t);
	return t;
}

/* Skips the marks of quotes and list items in front of a table's line. */
static struct str skip_marks(struct str line)
{
	for (;;) {
		size_t n = 0;

		line = str_trim(line);
		while (n < line.len && line.ptr[n] >= '0' && line.ptr[n] <= '9')
			n++;
		if (str_starts(line, ">"))
			line = str_skip(line, 1);
		else if (n + 1 < line.len && line.ptr[n + 1] == ' ' &&
			 strchr(n ? ".)" : "-+*", line.ptr[n]))
			line = str_skip(line, n + 1);
		else
			return line;
	}
}

/* A parse that finds out whether a byte of its text is shown. */
struct probe {
	const char *at;
	bool shown;
};

static int probe_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE size,
		      void *arg)
{
	struct probe *p = arg;
	uintptr_t from = (uintptr_t)text;

	(void)type;
	p->shown = (uintptr_t)p->at - from < size;
	return p->shown;
}

static int probe_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	(void)type, (void)detail, (void)arg;
	return 0;
}

static int probe_span(MD_SPANTYPE type, void *detail, void *arg)
{
	(void)type, (void)detail, (void)arg;
	return 0;
}

/* True if the last line of text, which begins at `from`, makes the line above
 * a table. md4c shows it as text if not: in code, for example. */
static bool makes_table(md4c_parse *parse, struct str text, size_t from)
{
	static const MD_PARSER parser = {
		.flags = MD4C_FLAGS,
		.enter_block = probe_block,
		.leave_block = probe_block,
		.enter_span = probe_span,
		.leave_span = probe_span,
		.text = probe_text,
	};
	struct str line = str_skip(text, from);
	struct probe p = { line.ptr + str_find(line, '-'), false };

	return parse(text.ptr, (MD_SIZE)text.len, &parser, &p) == 0 && !p.shown;
}

/* Appends a delimiter row with at least DELIMITER_LEAST characters in each
 * cell. */
static void add_wide(struct str line, struct buf *out)
{
	while (line.len) {
		size_t len = delimiter_cell(line);
		size_t colon = len && line.ptr[0] == ':';

		buf_add(out, line.ptr, len ? colon : 1);
		for (size_t n = len; n && n < DELIMITER_LEAST; n++)
			buf_addc(out, '-');
		buf_add(out, line.ptr + colon, len - colon);
		line = str_skip(line, len ? len : 1);
	}
}

/* Copies text with narrow delimiter rows widened. */
static void widen_tables(md4c_parse *parse, struct str text, struct buf *out)
{
	struct str above = { 0 };
	size_t probes = 0;

	while (text.len) {
		struct str line = { text.ptr, str_find(text, '\n') };
		size_t from = out->len;
		struct table_line t = table_line(skip_marks(line));

		text = str_skip(text, line.len);
		if (t.delimits && t.narrow &&
		    t.cells == table_line(skip_marks(above)).cells &&
		    probes++ < PROBES_MOST)
			add_wide(line, out);
		if (out->len == from ||
		    !makes_table(parse, buf_str(out), from)) {
			out->len = from;
			buf_addstr(out, line);
		}
		if (text.len)
			buf_addc(out, '\n');
		text = str_skip(text, 1);
		above = line;
	}
}

int md4c_run(md4c_parse *parse, struct str text, const MD_PARSER *parser,
	     void *arg)
{
	struct buf wide = { .max = SIZE_MAX / 4 };
	int rc;

	widen_tables(parse, text, &wide);
	rc = parse(wide.ptr ? wide.ptr : "", (MD_SIZE)wide.len, parser, arg);
	buf_release(&wide);
	return rc;
}

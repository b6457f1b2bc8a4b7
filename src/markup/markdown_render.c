/* markdown_render.c - blocks of Markdown as rows. */
/* SPDX-License-Identifier: MIT */
#include "markup/markdown_render.h"

#include <stdio.h>

#include "markup/highlight.h"
#include "markup/letters.h"
#include "markup/levels.h"
#include "markup/table.h"
#include "term/rows.h"

enum {
	TEXT_MAX = 1 << 20, /* bytes of one code block, address or link text */
	ROWS_MOST = 50000,  /* of one text: much more than it can need */
	RULE = 40,          /* cells of a rule */
};

/* Breaks up "]:", so that no definition of a reference swallows its line; as a
 * control character it never gets into a row. */
#define NO_REFERENCE "\x01"

struct render {
	const struct markdown_look *look;
	struct rows *out;
	struct levels levels;
	struct rows line; /* text of the block at hand, not wrapped yet */
	struct rows *into;
	struct table table;
	struct buf code;
	struct highlight highlight;
	struct buf link_text;
	struct buf address;
	int links; /* links and images within each other */
	int bold, italic, strike, mono;
	unsigned heading; /* 1 to 6, or 0 */
	bool in_code;
	size_t item;    /* number of the first item, or 0 */
	size_t letters; /* of the source, that were shown */
};

static const struct style muted = { .role = STYLE_MUTED };

/* Wraps the rows of line into place. */
static void flush_line(struct render *r)
{
	struct wrap w;

	if (!r->line.n)
		return;
	w = levels_begin(&r->levels, r->look->columns, r->out);
	for (size_t i = 0; i < r->line.n; i++) {
		wrap_row(&r->line, i, &w, r->out);
		w.first = w.rest;
	}
	rows_clear(&r->line);
}

static struct style text_style(const struct render *r)
{
	struct style s = { .role = STYLE_PLAIN };

	if (r->heading)
		s = (struct style){ ATTR_BOLD, STYLE_HEADING };
	if (r->heading == 1)
		s.attrs |= ATTR_UNDERLINE;
	if (r->links)
		s.role = STYLE_LINK;
	if (r->mono)
		s.role = STYLE_CODE;
	s.attrs |= (r->bold ? ATTR_BOLD : 0) | (r->italic ? ATTR_ITALIC : 0) |
		   (r->strike ? ATTR_STRIKE : 0);
	return s;
}

static void add_text(struct render *r, struct str text)
{
	if (r->links)
		rows_add_link(r->into, text_style(r), text,
			      buf_str(&r->address));
	else
		rows_add(r->into, text_style(r), text);
	if (r->links)
		buf_addstr(&r->link_text, text);
}

static void begin_link(struct render *r, const MD_ATTRIBUTE *address)
{
	if (r->links++)
		return;
	r->link_text.max = r->address.max = TEXT_MAX;
	buf_clear(&r->link_text);
	buf_clear(&r->address);
	md4c_add_attribute(&r->address, address);
}

/* Whether what is shown of a link tells where it leads. */
static bool shows_address(struct str text, struct str address)
{
	return str_eq(text, address) ||
	       (str_starts(address, "mailto:") &&
		str_eq(text, str_skip(address, sizeof("mailto:") - 1)));
}

static void end_link(struct render *r, const MD_ATTRIBUTE *address,
		     const MD_ATTRIBUTE *title)
{
	struct buf shown = BUF_INIT(TEXT_MAX);

	md4c_add_attribute(&shown, address);
	r->links--;
	if (!shows_address(buf_str(&r->link_text), buf_str(&shown)) ||
	    title->size) {
		if (title->size) {
			buf_adds(&shown, " \"");
			md4c_add_attribute(&shown, title);
			buf_addc(&shown, '"');
		}
		rows_adds(r->into, muted, " (");
		rows_add_link(r->into, muted, buf_str(&shown),
			      buf_str(&r->address));
		rows_add(r->into, muted, STR(")"));
		r->letters +=
			letters_count(
				(struct str){ address->text, address->size }) +
			letters_count((struct str){ title->text, title->size });
	}
	buf_release(&shown);
}

static void begin_list(struct render *r, bool tight, size_t number)
{
	if (!r->levels.n && r->item && number != LEVELS_UNORDERED)
		number = r->item;
	levels_list(&r->levels, tight, number);
}

static void begin_item(struct render *r, const MD_BLOCK_LI_DETAIL *item)
{
	r->letters += item->is_task && item->task_mark != ' ';
	levels_item(&r->levels, item, r->look->theme);
}

static void begin_code(struct render *r, const MD_BLOCK_CODE_DETAIL *code)
{
	struct buf info = BUF_INIT(TEXT_MAX);
	struct wrap w;

	r->in_code = true;
	md4c_add_attribute(&info, &code->info);
	highlight_begin(&r->highlight, buf_str(&info));
	if (info.len && r->look->unnamed) {
		r->letters += letters_count(
			(struct str){ code->info.text, code->info.size });
	} else if (info.len) {
		rows_add(&r->line, muted, str_trim(buf_str(&info)));
		w = levels_begin(&r->levels, r->look->columns, r->out);
		wrap_rows(&r->line, &w, r->out);
		rows_clear(&r->line);
		r->levels.gap = false;
		r->letters += letters_count(
			(struct str){ code->info.text, code->info.size });
	}
	r->code.max = TEXT_MAX;
	buf_clear(&r->code);
	buf_release(&info);
}

static void end_code(struct render *r)
{
	struct wrap w = levels_begin(&r->levels, r->look->columns, r->out);
	struct str rest = buf_str(&r->code);
	struct str line;

	r->in_code = false;
	w.words = false;
	while (str_split(&rest, '\n', &line)) {
		highlight_line(&r->highlight, line, &r->line);
		rows_end(&r->line);
		wrap_row(&r->line, 0, &w, r->out);
		rows_clear(&r->line);
		w.first = w.rest;
	}
}

static void add_rule(struct render *r)
{
	const char *bar = theme_glyph(r->look->theme, GLYPH_BOX_H);
	struct wrap w = levels_begin(&r->levels, r->look->columns, r->out);
	size_t taken = width_cells(w.rest.text);

	for (size_t i = taken; i < r->look->columns && i < taken + RULE; i++)
		rows_adds(&r->line, muted, bar);
	if (r->line.n)
		wrap_row(&r->line, 0, &w, r->out);
	rows_clear(&r->line);
}

static void begin_table(struct render *r, const MD_BLOCK_TABLE_DETAIL *table)
{
	r->table.columns = table->col_count;
	r->into = &r->table.cells;
}

static void end_table(struct render *r)
{
	struct wrap w = levels_begin(&r->levels, r->look->columns, r->out);

	table_render(&r->table, r->look->theme, &w, r->out);
	table_release(&r->table);
	r->into = &r->line;
}

static void begin_cell(struct render *r, const MD_BLOCK_TD_DETAIL *cell,
		       bool head)
{
	size_t column = r->table.cells.n % r->table.columns;

	r->table.align[column] = cell->align == MD_ALIGN_RIGHT    ? TABLE_RIGHT
				 : cell->align == MD_ALIGN_CENTER ? TABLE_CENTRE
								  : TABLE_LEFT;
	r->bold += head;
}

/* Not 0 ends the parser: what there is so far is dropped. */
static int check(const struct render *r)
{
	return r->levels.n >= LEVELS_MOST || r->out->n > ROWS_MOST ||
	       r->table.columns > TABLE_COLUMNS ||
	       r->table.cells.n > TABLE_CELLS || r->code.over ||
	       r->link_text.over;
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	struct render *r = arg;
	const MD_BLOCK_UL_DETAIL *ul = detail;
	const MD_BLOCK_OL_DETAIL *ol = detail;

	if (check(r))
		return 1;
	flush_line(r);
	if (type == MD_BLOCK_QUOTE)
		levels_quote(&r->levels, r->look->theme);
	else if (type == MD_BLOCK_UL)
		begin_list(r, ul->is_tight, LEVELS_UNORDERED);
	else if (type == MD_BLOCK_OL)
		begin_list(r, ol->is_tight, ol->start);
	else if (type == MD_BLOCK_LI)
		begin_item(r, detail);
	else if (type == MD_BLOCK_CODE)
		begin_code(r, detail);
	else if (type == MD_BLOCK_HR)
		add_rule(r);
	else if (type == MD_BLOCK_TABLE)
		begin_table(r, detail);
	else if (type == MD_BLOCK_TH || type == MD_BLOCK_TD)
		begin_cell(r, detail, type == MD_BLOCK_TH);
	else if (type == MD_BLOCK_H)
		r->heading = ((MD_BLOCK_H_DETAIL *)detail)->level;
	return check(r);
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	struct render *r = arg;

	(void)detail;
	flush_line(r);
	if (type == MD_BLOCK_CODE)
		end_code(r);
	else if (type == MD_BLOCK_TABLE)
		end_table(r);
	else if (type == MD_BLOCK_TH || type == MD_BLOCK_TD)
		rows_end(r->into);
	if (type == MD_BLOCK_TH)
		r->bold--;
	if (type == MD_BLOCK_H)
		r->heading = 0;
	if (type == MD_BLOCK_QUOTE || type == MD_BLOCK_UL ||
	    type == MD_BLOCK_OL || type == MD_BLOCK_LI)
		levels_close(&r->levels, r->look->columns, r->out);
	return check(r);
}

static int *span_count(struct render *r, MD_SPANTYPE type)
{
	if (type == MD_SPAN_STRONG)
		return &r->bold;
	if (type == MD_SPAN_EM)
		return &r->italic;
	return type == MD_SPAN_DEL ? &r->strike : &r->mono;
}

static int enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct render *r = arg;
	const MD_SPAN_A_DETAIL *a = detail;
	const MD_SPAN_IMG_DETAIL *img = detail;

	if (type == MD_SPAN_IMG)
		rows_add(r->into, muted, STR("image: "));
	if (type == MD_SPAN_A || type == MD_SPAN_IMG)
		begin_link(r, type == MD_SPAN_A ? &a->href : &img->src);
	else
		++*span_count(r, type);
	return check(r);
}

static int leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct render *r = arg;
	const MD_SPAN_A_DETAIL *a = detail;
	const MD_SPAN_IMG_DETAIL *img = detail;

	if (type == MD_SPAN_A)
		end_link(r, &a->href, &a->title);
	else if (type == MD_SPAN_IMG)
		end_link(r, &img->src, &img->title);
	else
		--*span_count(r, type);
	return check(r);
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE size,
		   void *arg)
{
	struct render *r = arg;
	struct buf plain = BUF_INIT(TEXT_MAX);

	if (type != MD_TEXT_BR && type != MD_TEXT_SOFTBR)
		r->letters += letters_count((struct str){ text, size });
	if (r->in_code) {
		md4c_add_text(&r->code, type, (struct str){ text, size });
	} else if (type == MD_TEXT_BR && r->into == &r->line) {
		rows_end(r->into);
	} else if (type == MD_TEXT_BR || type == MD_TEXT_SOFTBR) {
		add_text(r, STR(" "));
	} else {
		md4c_add_text(&plain, type, (struct str){ text, size });
		for (size_t i = 0; i < plain.len; i++)
			if (plain.ptr[i] == '\n')
				plain.ptr[i] = ' ';
		add_text(r, buf_str(&plain));
	}
	buf_release(&plain);
	return check(r);
}

static const MD_PARSER parser = {
	.flags = MD4C_FLAGS,
	.enter_block = enter_block,
	.leave_block = leave_block,
	.enter_span = enter_span,
	.leave_span = leave_span,
	.text = on_text,
};

/* The source with its definitions of references broken up. */
static void prepare(struct str text, struct buf *out)
{
	size_t at;

	out->max = SIZE_MAX / 4;
	while ((at = str_search(text, STR("]:"))) < text.len) {
		buf_add(out, text.ptr, at + 1);
		buf_adds(out, NO_REFERENCE);
		text = str_skip(text, at + 1);
	}
	buf_addstr(out, text);
}

static bool parse(struct render *r, struct str text)
{
	struct buf source = { 0 };
	bool whole;

	prepare(text, &source);
	whole = r->look->parse && source.len <= UINT32_MAX / 2 &&
		r->look->parse(source.ptr ? source.ptr : "",
			       (MD_SIZE)source.len, &parser, r) == 0 &&
		r->letters >= letters_count_source(text);
	buf_release(&source);
	return whole;
}

void markdown_render(const struct markdown_look *look, struct str text,
		     size_t item, struct rows *out)
{
	struct rows own = { 0 };
	struct render r = { .look = look, .out = &own, .item = item };

	r.into = &r.line;
	if (parse(&r, text))
		rows_append(out, &own, 0, own.n);
	else
		markdown_render_plain(look, text, (struct style){ 0 }, out);
	rows_release(&own);
	rows_release(&r.line);
	table_release(&r.table);
	levels_release(&r.levels);
	buf_release(&r.code);
	buf_release(&r.link_text);
	buf_release(&r.address);
}

void markdown_render_plain(const struct markdown_look *look, struct str text,
			   struct style style, struct rows *out)
{
	struct wrap w = { .columns = look->columns, .words = true };
	struct rows lines = { 0 };

	while (text.len && text.ptr[text.len - 1] == '\n')
		text.len--;
	rows_add(&lines, style, text);
	wrap_rows(&lines, &w, out);
	rows_release(&lines);
}

/* html_markdown.c - Markdown that nobody vouches for, as HTML. */
/* SPDX-License-Identifier: MIT */
#include "ui/html_markdown.h"

#include <string.h>

#include "ui/html_diff.h"

enum {
	INPUT_MAX = 128 << 10,  /* bytes: some of its loops are quadratic */
	OUTPUT_MAX = 2 << 20,   /* bytes: definitions can be used often */
	DEPTH_MAX = 64,         /* elements within each other */
	ADDRESS_MAX = 16 << 10, /* bytes of one address */
	TEXT_MAX = OUTPUT_MAX,
};

struct html_blocks {
	struct html page; /* of this text alone: nothing is written yet */
	struct buf text;  /* of the element at hand, not escaped yet */
	int depth;
	bool in_diff; /* text is a code block of a diff */
};

static const char *const blocks[] = {
	[MD_BLOCK_QUOTE] = "blockquote",
	[MD_BLOCK_UL] = "ul",
	[MD_BLOCK_OL] = "ol",
	[MD_BLOCK_LI] = "li",
	[MD_BLOCK_P] = "p",
	[MD_BLOCK_TABLE] = "table",
	[MD_BLOCK_THEAD] = "thead",
	[MD_BLOCK_TBODY] = "tbody",
	[MD_BLOCK_TR] = "tr",
	[MD_BLOCK_TH] = "th",
	[MD_BLOCK_TD] = "td",
};

static const char *const spans[] = {
	[MD_SPAN_EM] = "em",
	[MD_SPAN_STRONG] = "strong",
	[MD_SPAN_CODE] = "code",
	[MD_SPAN_DEL] = "del",
};

int html_markdown_load(struct html *h, struct error *err)
{
	h->markdown = md4c_load(err);
	return h->markdown ? 0 : -1;
}

/* A key may be cut by marks of Markdown and be whole again without them, so
 * what is left of the text is masked once more. */
static void flush_text(struct html_blocks *m)
{
	if (m->in_diff)
		html_diff(&m->page, buf_str(&m->text));
	else
		html_text(&m->page, buf_str(&m->text));
	buf_clear(&m->text);
}

/* One that nothing runs from, and that holds no secret. */
static bool may_link(const struct html_blocks *m, const struct buf *address)
{
	static const char *const schemes[] = { "https://", "http://",
					       "mailto:" };
	struct buf masked = BUF_INIT(SIZE_MAX / 4);
	struct str s = buf_str(address);
	bool known = false;

	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
		size_t len = strlen(schemes[i]);

		if (s.len > len &&
		    str_is_nocase((struct str){ s.ptr, len }, schemes[i]))
			known = true;
	}
	if (!known || address->over)
		return false;
	mask_text(m->page.mask, s, &masked);
	known = str_eq(buf_str(&masked), s);
	buf_release(&masked);
	return known;
}

static void enter_link(struct html_blocks *m, const MD_ATTRIBUTE *href)
{
	struct buf address = BUF_INIT(ADDRESS_MAX);

	md4c_add_attribute(&address, href);
	if (may_link(m, &address)) {
		html_markup(&m->page, "<a rel=\"noopener noreferrer nofollow\""
				      " href=\"");
		html_address(&m->page, buf_str(&address));
		html_markup(&m->page, "\">");
	}
	buf_release(&address);
}

/* shown: an image, whose address is never followed. */
static void leave_link(struct html_blocks *m, const MD_ATTRIBUTE *href,
		       bool shown)
{
	struct buf address = BUF_INIT(ADDRESS_MAX);

	md4c_add_attribute(&address, href);
	if (!shown && may_link(m, &address)) {
		html_markup(&m->page, "</a>");
	} else {
		html_markup(&m->page, " <span class=\"url\">(");
		html_text(&m->page, buf_str(&address));
		html_markup(&m->page, ")</span>");
	}
	buf_release(&address);
}

static bool is_diff_block(const MD_BLOCK_CODE_DETAIL *code)
{
	struct buf name = BUF_INIT(64);
	bool is_diff;

	md4c_add_attribute(&name, &code->lang);
	is_diff = str_is(buf_str(&name), "diff") ||
		  str_is(buf_str(&name), "patch");
	buf_release(&name);
	return is_diff;
}

/* The page's own headings are the first two. */
static unsigned heading_level(const MD_BLOCK_H_DETAIL *heading)
{
	return heading->level < 4 ? heading->level + 2 : 6;
}

/* Depth counts what is open; past the limits the parser is told to end. */
static int go_on(struct html_blocks *m, int deeper)
{
	m->depth += deeper;
	return m->depth > DEPTH_MAX || m->page.out.over || m->text.over;
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	struct html_blocks *m = arg;
	const MD_BLOCK_LI_DETAIL *item = detail;
	const MD_BLOCK_TD_DETAIL *cell = detail;

	flush_text(m);
	if (type == MD_BLOCK_DOC)
		return 0;
	if (type == MD_BLOCK_HR)
		html_markup(&m->page, "<hr>\n");
	else if (type == MD_BLOCK_H)
		html_markupf(&m->page, "<h%u>", heading_level(detail));
	else if (type == MD_BLOCK_CODE)
		m->in_diff = is_diff_block(detail);
	else if (type == MD_BLOCK_OL)
		html_markupf(&m->page, "<ol start=\"%u\">",
			     ((MD_BLOCK_OL_DETAIL *)detail)->start);
	else if ((type == MD_BLOCK_TD || type == MD_BLOCK_TH) &&
		 cell->align == MD_ALIGN_RIGHT)
		html_markupf(&m->page, "<%s class=\"r\">", blocks[type]);
	else if (type != MD_BLOCK_HTML)
		html_markupf(&m->page, "<%s>", blocks[type]);
	if (type == MD_BLOCK_CODE && !m->in_diff)
		html_markup(&m->page, "<pre><code>");
	if (type == MD_BLOCK_LI && item->is_task)
		html_markup(&m->page,
			    item->task_mark == ' ' ? "&#x2610; " : "&#x2611; ");
	return go_on(m, 1);
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	struct html_blocks *m = arg;

	flush_text(m);
	if (type == MD_BLOCK_H)
		html_markupf(&m->page, "</h%u>\n", heading_level(detail));
	else if (type == MD_BLOCK_CODE && !m->in_diff)
		html_markup(&m->page, "</code></pre>\n");
	else if (type != MD_BLOCK_DOC && type != MD_BLOCK_HTML &&
		 type != MD_BLOCK_HR && type != MD_BLOCK_CODE)
		html_markupf(&m->page, "</%s>\n", blocks[type]);
	m->in_diff = false;
	return go_on(m, type == MD_BLOCK_DOC ? 0 : -1);
}

static int enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct html_blocks *m = arg;

	flush_text(m);
	if (type == MD_SPAN_A)
		enter_link(m, &((MD_SPAN_A_DETAIL *)detail)->href);
	else if (type == MD_SPAN_IMG)
		html_markup(&m->page, "<span class=\"url\">image:</span> ");
	else
		html_markupf(&m->page, "<%s>", spans[type]);
	return go_on(m, 1);
}

static int leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct html_blocks *m = arg;

	flush_text(m);
	if (type == MD_SPAN_A)
		leave_link(m, &((MD_SPAN_A_DETAIL *)detail)->href, false);
	else if (type == MD_SPAN_IMG)
		leave_link(m, &((MD_SPAN_IMG_DETAIL *)detail)->src, true);
	else
		html_markupf(&m->page, "</%s>", spans[type]);
	return go_on(m, -1);
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE size,
		   void *arg)
{
	struct html_blocks *m = arg;

	if (type == MD_TEXT_BR) {
		flush_text(m);
		html_markup(&m->page, "<br>\n");
	} else {
		md4c_add_text(&m->text, type, (struct str){ text, size });
	}
	return go_on(m, 0);
}

static const MD_PARSER parser = {
	.flags = MD4C_FLAGS,
	.enter_block = enter_block,
	.leave_block = leave_block,
	.enter_span = enter_span,
	.leave_span = leave_span,
	.text = on_text,
};

static bool parse(const struct html *h, struct str text, struct html_blocks *m)
{
	if (!h->markdown || text.len > INPUT_MAX)
		return false;
	return h->markdown(text.ptr, (MD_SIZE)text.len, &parser, m) == 0 &&
	       !m->page.out.over;
}

void html_markdown(struct html *h, struct str text)
{
	struct html_blocks m = {
		.page = { .out = BUF_INIT(OUTPUT_MAX), .mask = h->mask },
		.text = BUF_INIT(TEXT_MAX),
	};
	struct buf masked = BUF_INIT(SIZE_MAX / 4);

	mask_text(h->mask, text, &masked);
	if (!masked.len || parse(h, buf_str(&masked), &m)) {
		html_markup(h, m.page.out.ptr ? m.page.out.ptr : "");
	} else {
		html_markup(h, "<div class=\"plain\">");
		html_escape(h, buf_str(&masked));
		html_markup(h, "</div>\n");
	}
	buf_release(&masked);
	buf_release(&m.text);
	buf_release(&m.page.out);
}

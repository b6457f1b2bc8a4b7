/* html.c - a conversation as an HTML page that is safe to open. */
/* SPDX-License-Identifier: MIT */
/*
 * From top to bottom: escaping, diffs, Markdown, the page. Begin reading at
 * html_page_message().
 */
#include "ui/html.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <sodium.h>
#include <utf8proc.h>

#include "base/diff.h"
#include "base/json.h"
#include "base/sanitize.h"
#include "model/message.h"
#include "ui/summary.h"

static void flush_output(struct html *h)
{
	if (!h->failed && h->out.len)
		h->failed = h->write(h->arg, buf_str(&h->out), &h->err) < 0;
	buf_clear(&h->out);
}

static void flush_full(struct html *h)
{
	if (h->write && h->out.len >= HTML_PIECE)
		flush_output(h);
}

/* Appends dcode's own markup without escaping. */
static void html_markup(struct html *h, const char *markup)
{
	buf_adds(&h->out, markup);
	flush_full(h);
}

__attribute__((format(printf, 2, 3))) static void
html_markupf(struct html *h, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	html_markup(h, line);
}

/* Returns the number of bytes at the front that need no escaping. */
static size_t plain_bytes(struct str s)
{
	size_t n = 0;

	while (n < s.len) {
		unsigned char c = (unsigned char)s.ptr[n];

		if ((c < 0x20 && c != '\n' && c != '\t') || c >= 0x7F ||
		    strchr("&<>\"'", c))
			break;
		n++;
	}
	return n < HTML_PIECE ? n : HTML_PIECE;
}

/* Returns the character reference of a special character, or NULL. */
static const char *find_reference(unsigned char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

/* Appends a visible name for a control character. Unicode has a picture for
 * each ASCII control, from U+2400 on. */
static void add_invisible(struct buf *out, utf8proc_int32_t c)
{
	buf_adds(out, "<span class=\"c\">");
	if (c < 0x20)
		buf_addf(out, "&#x%x;", 0x2400 + (unsigned)c);
	else if (c == 0x7F)
		buf_adds(out, "&#x2421;");
	else
		buf_addf(out, "U+%04X", (unsigned)c);
	buf_adds(out, "</span>");
}

/* Escapes the first character, at which plain_bytes() stopped, and returns its
 * length in bytes. */
static size_t add_character(struct buf *out, struct str s)
{
	const char *escaped = find_reference((unsigned char)s.ptr[0]);
	utf8proc_int32_t c;
	utf8proc_ssize_t n;

	if (escaped) {
		buf_adds(out, escaped);
		return 1;
	}
	n = utf8proc_iterate((const utf8proc_uint8_t *)s.ptr,
			     s.len < 4 ? (utf8proc_ssize_t)s.len : 4, &c);
	if (n <= 0) {
		buf_adds(out, "\xEF\xBF\xBD");
		return 1;
	}
	if (c == '\r' && s.len > 1 && s.ptr[1] == '\n')
		return 1;
	if (c < 0x20 || (c >= 0x7F && c < 0xA0) ||
	    sanitize_is_invisible((uint32_t)c))
		add_invisible(out, c);
	else
		buf_add(out, s.ptr, (size_t)n);
	return (size_t)n;
}

/* Escapes text that has already been masked. */
static void html_escape(struct html *h, struct str text)
{
	while (text.len && !h->failed) {
		size_t n = plain_bytes(text);

		if (n)
			buf_add(&h->out, text.ptr, n);
		else
			n = add_character(&h->out, text);
		text = str_skip(text, n);
		flush_full(h);
	}
}

/* Returns a copy of text with secrets masked. All text must be masked here
 * before html_escape() writes it to the page. */
static struct buf mask_copy(const struct html *h, struct str text)
{
	struct buf masked = BUF_INIT(SIZE_MAX / 4);

	mask_text(h->mask, text, &masked);
	return masked;
}

void html_text(struct html *h, struct str text)
{
	struct buf masked = mask_copy(h, text);

	html_escape(h, buf_str(&masked));
	buf_release(&masked);
}

/* Appends an address as an attribute's value. Characters outside RFC 3986
 * become %XX. */
static void html_address(struct html *h, struct str address)
{
	for (size_t i = 0; i < address.len; i++) {
		unsigned char c = (unsigned char)address.ptr[i];
		bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
			     (c >= 'a' && c <= 'z') ||
			     (c && strchr("-._~:/?#[]@!$()*+,;=%", c));

		if (c == '&')
			buf_adds(&h->out, "&amp;");
		else if (plain)
			buf_addc(&h->out, (char)c);
		else
			buf_addf(&h->out, "%%%02X", c);
	}
	flush_full(h);
}

int html_end(struct html *h, struct error *err)
{
	flush_output(h);
	buf_release(&h->out);
	if (!h->failed)
		return 0;
	*err = h->err;
	return -1;
}

enum { CONTEXT = 3 }; /* unchanged lines shown around an edit */

static const char *const classes[] = {
	[DIFF_CONTEXT] = NULL, [DIFF_ADDED] = "add", [DIFF_REMOVED] = "del",
	[DIFF_HUNK] = "at",    [DIFF_HEAD] = "head",
};

static void add_diff_line(struct html *h, const char *class, char sign,
			  struct str line)
{
	if (class)
		html_markupf(h, "<span class=\"%s\">", class);
	if (sign)
		buf_addc(&h->out, sign);
	html_escape(h, line);
	html_markup(h, class ? "</span>\n" : "\n");
}

void html_diff(struct html *h, struct str text)
{
	struct buf masked = mask_copy(h, text);
	struct str rest = buf_str(&masked);
	struct str line;
	bool in_hunk = false;

	html_markup(h, "<pre class=\"diff\">");
	while (str_split(&rest, '\n', &line))
		add_diff_line(h, classes[diff_line_kind(line, &in_hunk)], 0,
			      line);
	html_markup(h, "</pre>\n");
	buf_release(&masked);
}

/* Skips n lines common to both texts and shows those next to a change. */
static void add_same(struct html *h, struct str *old_rest, struct str *new_rest,
		     size_t n, bool begin, bool end)
{
	struct str line;

	for (size_t i = 0; i < n; i++) {
		str_split(old_rest, '\n', &line);
		str_split(new_rest, '\n', &line);
		if ((!begin && i < CONTEXT) || (!end && i + CONTEXT >= n))
			add_diff_line(h, NULL, ' ', line);
	}
}

static void add_lines(struct html *h, enum diff_kind kind, struct str *rest,
		      size_t n)
{
	struct str line;

	while (n-- && str_split(rest, '\n', &line))
		add_diff_line(h, classes[kind], kind == DIFF_ADDED ? '+' : '-',
			      line);
}

void html_diff_edit(struct html *h, struct str before, struct str after)
{
	struct buf old_text = mask_copy(h, before);
	struct buf new_text = mask_copy(h, after);
	struct diff_steps steps = { 0 };
	struct str old_rest = buf_str(&old_text);
	struct str new_rest = buf_str(&new_text);

	diff_lines(old_rest, new_rest, &steps);
	html_markup(h, "<pre class=\"diff\">");
	for (size_t i = 0; i < steps.n; i++) {
		add_same(h, &old_rest, &new_rest, steps.items[i].same, i == 0,
			 i + 1 == steps.n);
		add_lines(h, DIFF_REMOVED, &old_rest, steps.items[i].n_old);
		add_lines(h, DIFF_ADDED, &new_rest, steps.items[i].n_new);
	}
	html_markup(h, "</pre>\n");
	diff_steps_release(&steps);
	buf_release(&old_text);
	buf_release(&new_text);
}

enum {
	INPUT_MAX = 128 << 10,  /* bytes; md4c has some quadratic loops */
	OUTPUT_MAX = 2 << 20,   /* bytes; links may repeat a definition */
	DEPTH_MAX = 64,         /* nested elements */
	ADDRESS_MAX = 16 << 10, /* bytes of one address */
	TEXT_MAX = OUTPUT_MAX,
};

struct html_blocks {
	struct html page; /* HTML of this text, not yet written */
	struct buf text;  /* text of the current element, not yet escaped */
	int depth;
	bool in_diff; /* text is a code block with a diff */
	bool in_table;
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

/* Writes the element's text. It is masked once more, because a secret that
 * Markdown marks have split is complete again without them. */
static void flush_text(struct html_blocks *m)
{
	if (m->in_diff)
		html_diff(&m->page, buf_str(&m->text));
	else
		html_text(&m->page, buf_str(&m->text));
	buf_clear(&m->text);
}

/* True for an address that runs no code and contains no secret. */
static bool may_link(const struct html_blocks *m, const struct buf *address)
{
	static const char *const schemes[] = { "https://", "http://",
					       "mailto:" };
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
	return !mask_holds(m->page.mask, s);
}

/* Begins a link, unless its address is not allowed. */
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

/* Ends a link, or an image (shown is true). Shows the address in parentheses if
 * it is an image's or may not be a link. */
static void end_link(struct html_blocks *m, const MD_ATTRIBUTE *href,
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

/* Returns the level of a heading in the text. Levels 1 and 2 are reserved for
 * the page's own headings. */
static unsigned heading_level(const MD_BLOCK_H_DETAIL *heading)
{
	return heading->level < 4 ? heading->level + 2 : 6;
}

/* Adjusts the nesting depth. Nonzero stops the parser because a limit is
 * exceeded. */
static int change_depth(struct html_blocks *m, int deeper)
{
	m->depth += deeper;
	return m->depth > DEPTH_MAX || m->page.out.over || m->text.over;
}

/* md4c callback: writes a block's opening tag. Nonzero stops the parser. */
static int enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	struct html_blocks *m = arg;
	const MD_BLOCK_LI_DETAIL *item = detail;
	const MD_BLOCK_TD_DETAIL *cell = detail;

	flush_text(m);
	if (type == MD_BLOCK_DOC)
		return 0;
	m->in_table = m->in_table || type == MD_BLOCK_TABLE;
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
	return change_depth(m, 1);
}

/* md4c callback: writes a block's closing tag. Nonzero stops the parser. */
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
	m->in_table = m->in_table && type != MD_BLOCK_TABLE;
	return change_depth(m, type == MD_BLOCK_DOC ? 0 : -1);
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
	return change_depth(m, 1);
}

static int leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct html_blocks *m = arg;

	flush_text(m);
	if (type == MD_SPAN_A)
		end_link(m, &((MD_SPAN_A_DETAIL *)detail)->href, false);
	else if (type == MD_SPAN_IMG)
		end_link(m, &((MD_SPAN_IMG_DETAIL *)detail)->src, true);
	else
		html_markupf(&m->page, "</%s>", spans[type]);
	return change_depth(m, -1);
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *text, MD_SIZE size,
		   void *arg)
{
	struct html_blocks *m = arg;

	if (type == MD_TEXT_BR) {
		flush_text(m);
		html_markup(&m->page, "<br>\n");
	} else {
		md4c_add_text(&m->text, type, (struct str){ text, size },
			      m->in_table);
	}
	return change_depth(m, 0);
}

static const MD_PARSER parser = {
	.flags = MD4C_FLAGS,
	.enter_block = enter_block,
	.leave_block = leave_block,
	.enter_span = enter_span,
	.leave_span = leave_span,
	.text = on_text,
};

static bool parse_markdown(const struct html *h, struct str text,
			   struct html_blocks *m)
{
	if (!h->markdown || text.len > INPUT_MAX)
		return false;
	return md4c_run(h->markdown, text, &parser, m) == 0 &&
	       !m->page.out.over;
}

void html_markdown(struct html *h, struct str text)
{
	struct html_blocks m = {
		.page = { .out = BUF_INIT(OUTPUT_MAX), .mask = h->mask },
		.text = BUF_INIT(TEXT_MAX),
	};
	struct buf masked = mask_copy(h, text);

	if (!masked.len || parse_markdown(h, buf_str(&masked), &m)) {
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

/* The page's content security policy contains the hash of exactly these bytes.
 */
static const char style[] =
	":root{color-scheme:light dark;--fg:#1f2328;--dim:#59636e;"
	"--bg:#fff;--box:#f6f8fa;--line:#d1d9e0;--user:#eef4ff;"
	"--add:#dafbe1;--del:#ffebe9;--at:#0550ae;--bad:#a40e26}"
	"@media(prefers-color-scheme:dark){:root{--fg:#e6edf3;--dim:#9198a1;"
	"--bg:#0d1117;--box:#151b23;--line:#3d444d;--user:#121d2f;"
	"--add:#12361f;--del:#45171b;--at:#79c0ff;--bad:#ff8182}}"
	"*{box-sizing:border-box}"
	"body{margin:0 auto;max-width:56rem;padding:1rem;background:var(--bg);"
	"color:var(--fg);font:1rem/1.55 system-ui,sans-serif;"
	"overflow-wrap:anywhere}"
	"h1{font-size:1.4rem;margin:0}h2{font-size:.8rem;margin:0 0 .4rem;"
	"color:var(--dim);text-transform:uppercase;letter-spacing:.05em}"
	"h3,h4,h5,h6{font-size:1.05rem;margin:1rem 0 .4rem}"
	"header{border-bottom:1px solid var(--line);padding-bottom:.8rem}"
	".meta,.url,.c{color:var(--dim);font-size:.85em}"
	".meta{margin:.3rem 0 0}"
	"section{margin:1.2rem 0}"
	".user{background:var(--user);border-radius:.5rem;"
	"padding:.7rem .9rem}"
	".plain{white-space:pre-wrap}"
	"details{border:1px solid var(--line);border-radius:.5rem;"
	"margin:.5rem 0;background:var(--box)}"
	"summary{cursor:pointer;padding:.4rem .7rem;font:.85rem/1.4 "
	"ui-monospace,monospace}"
	"details>div{padding:.2rem .7rem .5rem}"
	"pre{margin:.4rem 0;padding:.6rem;overflow-x:auto;background:"
	"var(--box);border-radius:.4rem;white-space:pre;"
	"overflow-wrap:normal}"
	"pre,code{font:.85rem/1.45 ui-monospace,monospace}"
	"p code,li code,td code{background:var(--box);padding:.1em .3em;"
	"border-radius:.3em}"
	"details pre{padding:0;max-height:40rem;overflow:auto}"
	".add,.del,.at,.head{display:inline-block;min-width:100%}"
	".add{background:var(--add)}.del{background:var(--del)}"
	".at{color:var(--at)}.head{color:var(--dim)}"
	".failed>summary{color:var(--bad)}"
	"table{border-collapse:collapse;display:block;overflow-x:auto}"
	"th,td{border:1px solid var(--line);padding:.2rem .5rem;"
	"text-align:left}.r{text-align:right}"
	"blockquote{margin:.5rem 0;padding-left:.8rem;border-left:.2rem solid "
	"var(--line);color:var(--dim)}"
	"hr{border:0;border-top:1px solid var(--line)}"
	"a{color:var(--at)}"
	".todos{list-style:none;margin:.3rem 0;padding:0}"
	"@media print{details pre{max-height:none}}";

/* Adds the content security policy, which allows only the style with this hash.
 */
static void add_policy(struct html *h)
{
	unsigned char hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, (const unsigned char *)style,
			   sizeof(style) - 1);
	html_markup(h, "<meta http-equiv=\"Content-Security-Policy\" "
		       "content=\"default-src 'none'; base-uri 'none'; "
		       "form-action 'none'; style-src 'sha256-");
	json_base64(&h->out, (struct str){ (const char *)hash, sizeof(hash) });
	html_markup(h, "'\">\n");
}

/* Appends text on one line, without control characters that a terminal or title
 * bar would obey. */
static void add_text_line(struct html *h, const char *text)
{
	struct buf line = BUF_INIT(64 << 10);

	sanitize_line(str_of(text), &line);
	html_text(h, buf_str(&line));
	buf_release(&line);
}

static void add_date(struct html *h, int64_t unix_ms)
{
	time_t when = (time_t)(unix_ms / 1000);
	char text[32];
	struct tm tm;

	if (unix_ms <= 0 || !gmtime_r(&when, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &tm))
		return;
	html_markup(h, text);
}

static void add_meta(struct html *h, const struct html_page *page)
{
	html_markup(h, "<p class=\"meta\">");
	add_text_line(h, page->model && page->model[0] ? page->model
						       : "model unknown");
	html_markup(h, page->created > 0 ? " &#183; " : "");
	add_date(h, page->created);
	if (page->updated / 60000 > page->created / 60000) {
		html_markup(h, " &#8211; ");
		add_date(h, page->updated);
	}
	html_markupf(h,
		     " &#183; %" PRId64 " messages &#183; %" PRId64
		     " tokens in, %" PRId64 " out</p>\n",
		     page->messages, page->input, page->output);
}

void html_page_begin(struct html *h, const struct html_page *page)
{
	const char *title =
		page->title && page->title[0] ? page->title : "Untitled";

	html_markup(h, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
		       "<meta charset=\"utf-8\">\n");
	add_policy(h);
	html_markup(h, "<meta name=\"referrer\" content=\"no-referrer\">\n"
		       "<meta http-equiv=\"x-dns-prefetch-control\" "
		       "content=\"off\">\n"
		       "<meta name=\"viewport\" content=\"width=device-width, "
		       "initial-scale=1\">\n"
		       "<meta name=\"robots\" content=\"noindex\">\n"
		       "<meta name=\"generator\" content=\"dcode " DCODE_VERSION
		       "\">\n<title>");
	add_text_line(h, title);
	html_markup(h, "</title>\n<style>");
	html_markup(h, style);
	html_markup(h, "</style>\n</head>\n<body>\n<header>\n<h1>");
	add_text_line(h, title);
	html_markup(h, "</h1>\n");
	add_meta(h, page);
	html_markup(h, "</header>\n<main>\n");
}

static void begin_fold(struct html *h, const char *class)
{
	html_markupf(h, "<details class=\"%s\"><summary>", class);
}

/* Adds preformatted text; a unified diff is coloured. */
static void add_pre(struct html *h, struct str text)
{
	if (diff_lines_are_unified(text)) {
		html_diff(h, text);
		return;
	}
	/* The HTML parser drops a line end right after the tag. */
	html_markup(h, "<pre>\n");
	html_text(h, text);
	html_markup(h, "</pre>\n");
}

/* Adds one argument: a string as text, any other value as JSON. */
static void add_argument(struct html *h, const cJSON *item)
{
	struct buf json = BUF_INIT(SIZE_MAX / 4);

	html_markup(h, "<div class=\"meta\">");
	html_text(h, str_of(item->string));
	html_markup(h, "</div>");
	if (!cJSON_IsString(item))
		json_print(&json, item);
	add_pre(h, cJSON_IsString(item) ? str_of(item->valuestring)
					: buf_str(&json));
	buf_release(&json);
}

/* Adds a call's arguments. Old and new text of an edit, and a file's content,
 * are shown as a diff. */
static void add_arguments(struct html *h, const cJSON *args)
{
	const char *old = json_string(args, "old_string", NULL);
	const char *new = json_string(args, "new_string", NULL);
	const char *content = json_string(args, "content", NULL);
	const cJSON *item;

	cJSON_ArrayForEach (item, args) {
		bool shown = cJSON_IsString(item) &&
			     ((old && new && item->valuestring == old) ||
			      (old && new && item->valuestring == new) ||
			      item->valuestring == content);

		if (!shown)
			add_argument(h, item);
	}
	if (old && new)
		html_diff_edit(h, str_of(old), str_of(new));
	if (content)
		html_diff_edit(h, (struct str){ 0 }, str_of(content));
}

/* Adds the todo list that a call sets. Returns false if it sets none. */
static bool add_todos(struct html *h, const struct part *call)
{
	static const char *const marks[] = {
		[TODO_PENDING] = "&#x2610; ",
		[TODO_IN_PROGRESS] = "&#x25B8; ",
		[TODO_COMPLETED] = "&#x2611; ",
	};
	struct todos t = { 0 };

	if (!todos_read(&t, call))
		return false;
	html_markup(h, "<ul class=\"todos\">\n");
	for (size_t i = 0; i < t.n; i++) {
		html_markup(h, "<li>");
		html_markup(h, marks[t.list[i].status]);
		add_text_line(h, t.list[i].content);
		html_markup(h, "</li>\n");
	}
	html_markup(h, "</ul>\n");
	todos_release(&t);
	return true;
}

/* Adds a tool call as a closed fold, its summary visible. */
static void add_call(struct html *h, const struct part *call)
{
	struct buf summary = BUF_INIT(4 << 10);
	cJSON *args = call->args ? json_parse(str_of(call->args)) : NULL;

	begin_fold(h, "call");
	summary_of_call(call, NULL, &summary);
	add_text_line(h, summary.ptr);
	html_markup(h, "</summary><div>\n");
	if (!add_todos(h, call)) {
		if (cJSON_IsObject(args))
			add_arguments(h, args);
		else
			add_pre(h, str_of(call->args));
	}
	html_markup(h, "</div></details>\n");
	cJSON_Delete(args);
	buf_release(&summary);
}

static void add_result(struct html *h, const struct part *result)
{
	begin_fold(h, result->failed ? "failed" : "result");
	html_markup(h, result->failed ? "failed: " : "result: ");
	add_text_line(h, result->name ? result->name : "?");
	html_markupf(h, " (%zu bytes)</summary><div>\n",
		     str_of(result->text).len);
	add_pre(h, str_of(result->text));
	html_markup(h, "</div></details>\n");
}

static void add_plain(struct html *h, struct str text)
{
	html_markup(h, "<div class=\"plain\">");
	html_text(h, text);
	html_markup(h, "</div>\n");
}

/* Adds a part of a message. Only the model's own text is rendered as Markdown.
 */
static void add_part(struct html *h, enum role role, const struct part *p)
{
	struct str text = str_of(p->text);

	switch (p->kind) {
	case PART_TEXT:
		if (role == ROLE_ASSISTANT)
			html_markdown(h, text);
		else
			add_plain(h, text);
		return;
	case PART_THINKING:
		if (!str_trim(text).len)
			return;
		begin_fold(h, "thinking");
		html_markup(h, "thinking</summary><div>\n");
		add_plain(h, text);
		html_markup(h, "</div></details>\n");
		return;
	case PART_TOOL_CALL:
		add_call(h, p);
		return;
	case PART_TOOL_RESULT:
		add_result(h, p);
		return;
	case PART_MEDIA: /* the page must not load anything */
		add_plain(h, text);
		return;
	}
}

void html_page_message(struct html *h, const struct message *message)
{
	static const char *const heads[] = {
		[ROLE_USER] = "<section class=\"user\"><h2>User</h2>\n",
		[ROLE_ASSISTANT] = "<section><h2>Assistant</h2>\n",
		[ROLE_TOOL] = "<section>\n",
	};

	html_markup(h, heads[message->role]);
	for (size_t i = 0; i < message->n; i++)
		add_part(h, message->role, &message->parts[i]);
	if (message->refused)
		html_markup(h, "<p class=\"meta\">refused: no longer part of "
			       "the conversation</p>\n");
	if (message->cut)
		html_markup(h, "<p class=\"meta\">interrupted: the rest of "
			       "this answer is missing</p>\n");
	html_markup(h, "</section>\n");
}

void html_page_compaction(struct html *h, int64_t created)
{
	html_markup(h, "<p class=\"meta compacted\">");
	add_date(h, created);
	html_markup(h, created > 0 ? " &#183; " : "");
	html_markup(h, "compacted here: the model sees a summary of the "
		       "messages above and the newest of them in full</p>\n");
}

void html_page_patch(struct html *h, const char *name, struct str patch)
{
	html_markup(h, "<section><h2>Patch</h2>\n");
	begin_fold(h, "result");
	add_text_line(h, name);
	html_markupf(h, " (%zu bytes)</summary><div>\n", patch.len);
	html_diff(h, patch);
	html_markup(h, "</div></details>\n</section>\n");
}

void html_page_end(struct html *h)
{
	html_markup(h, "</main>\n</body>\n</html>\n");
}

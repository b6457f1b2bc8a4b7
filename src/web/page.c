/* page.c - converts a page to text that a model can read. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at page_read(), at the end: it decodes the charset and converts
 * HTML to Markdown. The input is untrusted and parsed with libxml2, so this
 * runs in a separate process (page_reader_read()).
 */
#include "web/page.h"

#include <ctype.h>
#include <errno.h>
#include <iconv.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#include <libxml/HTMLparser.h>

#include "base/error.h"
#include "base/library.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/stop.h"
#include "base/str.h"
#include "web/url.h"

/* libxml2 is loaded at run time: it depends on ICU, and loading both takes
 * longer than the rest of start-up. */
struct xml_api {
	void (*init_parser)(void);
	htmlDocPtr (*html_read_memory)(const char *text, int len,
				       const char *url, const char *encoding,
				       int options);
	xmlNodePtr (*root)(const xmlDoc *doc);
	void (*free_doc)(xmlDocPtr doc);
};

/* libxml2 2.14 changed its ABI, but not that of the functions used here. */
static const struct library library = {
	.name = "libxml2",
	.files = { "libxml2.so.2", "libxml2.so.16" },
	.package = "libxml2",
	.needed = "2.9",
};

static const struct library_symbol symbols[] = {
	{ "xmlInitParser", offsetof(struct xml_api, init_parser) },
	{ "htmlReadMemory", offsetof(struct xml_api, html_read_memory) },
	{ "xmlDocGetRootElement", offsetof(struct xml_api, root) },
	{ "xmlFreeDoc", offsetof(struct xml_api, free_doc) },
};

static struct xml_api loaded;

static struct error why; /* why loading failed, if code is set */

enum { PAGE_READER_MS = 10000 };

static void load_library(void)
{
	if (library_load(&library, symbols, sizeof(symbols) / sizeof(*symbols),
			 &loaded, &why) == 0)
		loaded.init_parser();
}

/* Returns libxml2's functions, or NULL with err: what to install. Any thread.
 * The library stays loaded. */
static const struct xml_api *xml_api_get(struct error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load_library);
	if (!why.code)
		return &loaded;
	*err = why;
	return NULL;
}

enum { META_BYTES = 1024 };

/* Charsets that dcode converts. The server chooses the charset, so others are
 * not passed to iconv: the C library has about a hundred converters, and rare
 * ones had bugs (CVE-2024-2961). */
static const char *const known[][2] = {
	{ "utf-8", "UTF-8" },
	{ "utf8", "UTF-8" },
	{ "us-ascii", "CP1252" },
	{ "ascii", "CP1252" },
	{ "iso-8859-1", "CP1252" },
	{ "latin1", "CP1252" },
	{ "windows-1250", "CP1250" },
	{ "windows-1251", "CP1251" },
	{ "windows-1252", "CP1252" },
	{ "windows-1253", "CP1253" },
	{ "windows-1254", "CP1254" },
	{ "windows-1255", "CP1255" },
	{ "windows-1256", "CP1256" },
	{ "windows-1257", "CP1257" },
	{ "windows-1258", "CP1258" },
	{ "iso-8859-2", "ISO-8859-2" },
	{ "iso-8859-3", "ISO-8859-3" },
	{ "iso-8859-4", "ISO-8859-4" },
	{ "iso-8859-5", "ISO-8859-5" },
	{ "iso-8859-6", "ISO-8859-6" },
	{ "iso-8859-7", "ISO-8859-7" },
	{ "iso-8859-8", "ISO-8859-8" },
	{ "iso-8859-9", "CP1254" },
	{ "iso-8859-15", "ISO-8859-15" },
	{ "koi8-r", "KOI8-R" },
	{ "koi8-u", "KOI8-U" },
	{ "shift_jis", "CP932" },
	{ "shift-jis", "CP932" },
	{ "sjis", "CP932" },
	{ "euc-jp", "EUC-JP" },
	{ "iso-2022-jp", "ISO-2022-JP" },
	{ "gb2312", "GB18030" },
	{ "gbk", "GB18030" },
	{ "gb18030", "GB18030" },
	{ "big5", "BIG5-HKSCS" },
	{ "euc-kr", "CP949" },
	{ "utf-16", "UTF-16LE" },
	{ "utf-16le", "UTF-16LE" },
	{ "utf-16be", "UTF-16BE" },
};

static const char *find_known(struct str name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (str_is_nocase(name, known[i][0]))
			return known[i][1];
	return NULL;
}

/* Finds the name after "charset=" in text, with or without quotes. */
static const char *find_named(struct str text)
{
	static const char key[] = "charset";
	const size_t len = sizeof(key) - 1;
	const char *found = NULL;

	for (size_t i = 0; !found && i + len < text.len; i++) {
		struct str rest;
		struct str word;

		if (strncasecmp(text.ptr + i, key, len) != 0)
			continue;
		rest = str_trim(str_skip(text, i + len));
		if (!str_starts(rest, "="))
			continue;
		rest = str_trim(str_skip(rest, 1));
		if (str_starts(rest, "\"") || str_starts(rest, "'"))
			rest = str_skip(rest, 1);
		word = (struct str){ rest.ptr, 0 };
		while (word.len < rest.len &&
		       (isalnum((unsigned char)rest.ptr[word.len]) ||
			rest.ptr[word.len] == '-' || rest.ptr[word.len] == '_'))
			word.len++;
		found = find_known(word);
	}
	return found;
}

/* Finds the charset as charset_decode() describes and returns iconv's name for
 * it. Skips a byte order mark. */
static const char *find_charset(struct str *text, const char *type)
{
	struct str head = { text->ptr,
			    text->len < META_BYTES ? text->len : META_BYTES };
	const char *name;

	if (str_starts(head, "\xEF\xBB\xBF")) {
		*text = str_skip(*text, 3);
		return "UTF-8";
	}
	if (str_starts(head, "\xFF\xFE") || str_starts(head, "\xFE\xFF")) {
		*text = str_skip(*text, 2);
		return head.ptr[0] == '\xFF' ? "UTF-16LE" : "UTF-16BE";
	}
	name = find_named(str_of(type));
	if (!name && strcasestr(type, "html")) {
		name = find_named(head);
		/* The meta element was found by reading the text as ASCII, so
		 * this is not UTF-16. */
		if (name && !strncmp(name, "UTF-16", 6))
			name = "UTF-8";
	}
	if (!name)
		name = str_is_utf8(*text) ? "UTF-8" : "CP1252";
	return name;
}

/* Converts text with iconv; an invalid byte becomes U+FFFD. */
static void convert_text(iconv_t cd, struct str text, struct buf *out)
{
	char *from = (char *)text.ptr;
	size_t left = text.len;

	while (left) {
		char room[4096];
		char *to = room;
		size_t free_bytes = sizeof(room);
		size_t n = iconv(cd, &from, &left, &to, &free_bytes);

		buf_add(out, room, sizeof(room) - free_bytes);
		if (n != (size_t)-1 || errno == E2BIG)
			continue;
		buf_adds(out, "\xEF\xBF\xBD");
		if (errno == EINVAL)
			return;
		from++;
		left--;
	}
}

/* Appends text as UTF-8; invalid bytes become U+FFFD. The charset comes from a
 * byte order mark, else from type ("text/html; charset=x"), else from a meta
 * element in the first 1024 bytes. Otherwise it is UTF-8 if all of text is
 * valid, else windows-1252 (WHATWG Encoding, read 2026-11). An unknown charset
 * is ignored. */
static void charset_decode(struct str text, const char *type, struct buf *out)
{
	const char *name = find_charset(&text, type);
	/* UTF-8 is converted too: libxml2 would read the whole page as Latin-1
	 * because of one invalid byte. */
	iconv_t cd = iconv_open("UTF-8", name);

	if (cd == (iconv_t)-1)
		cd = iconv_open("UTF-8", "UTF-8");
	if (cd == (iconv_t)-1)
		return; /* out of memory */
	convert_text(cd, text, out);
	iconv_close(cd);
}

enum { QUOTES_MAX = 8, LISTS_MAX = 16 };

struct writer { /* state of the Markdown output */
	struct buf *out;
	const struct web_url *url;
	int breaks; /* line breaks to write before the next text */
	bool space; /* a space is due before the next text */
	bool begun; /* something was written */
	/* the current line has text; if not, its prefix must still be
	 * written */
	bool in_line;
	int pre;               /* depth of elements that preserve white space */
	unsigned quotes;       /* depth of block quotes */
	unsigned lists;        /* depth of lists */
	int number[LISTS_MAX]; /* number of the next item, per list; 0:
				* unordered */
	const char *mark;      /* prefix of the next text: "## " */
};

enum kind {
	KIND_INLINE = 1,
	KIND_SKIP,  /* omitted with all its content */
	KIND_LINE,  /* starts and ends a line */
	KIND_BLOCK, /* starts and ends a line, with empty lines around */
	KIND_HEADING,
	KIND_LIST,
	KIND_ITEM,
	KIND_PRE,
	KIND_QUOTE,
	KIND_BREAK,
	KIND_RULE,
	KIND_LINK,
	KIND_IMAGE,
	KIND_CODE,
	KIND_STRONG,
	KIND_EMPHASIS,
	KIND_CELL,
};

static const struct {
	const char *name;
	enum kind kind;
} elements[] = {
	{ "a", KIND_LINK },         { "address", KIND_BLOCK },
	{ "applet", KIND_SKIP },    { "article", KIND_BLOCK },
	{ "aside", KIND_BLOCK },    { "audio", KIND_SKIP },
	{ "b", KIND_STRONG },       { "blockquote", KIND_QUOTE },
	{ "br", KIND_BREAK },       { "canvas", KIND_SKIP },
	{ "center", KIND_BLOCK },   { "code", KIND_CODE },
	{ "datalist", KIND_SKIP },  { "dd", KIND_LINE },
	{ "details", KIND_BLOCK },  { "div", KIND_LINE },
	{ "dl", KIND_BLOCK },       { "dt", KIND_LINE },
	{ "em", KIND_EMPHASIS },    { "embed", KIND_SKIP },
	{ "fieldset", KIND_BLOCK }, { "figcaption", KIND_LINE },
	{ "figure", KIND_BLOCK },   { "footer", KIND_BLOCK },
	{ "form", KIND_BLOCK },     { "h1", KIND_HEADING },
	{ "h2", KIND_HEADING },     { "h3", KIND_HEADING },
	{ "h4", KIND_HEADING },     { "h5", KIND_HEADING },
	{ "h6", KIND_HEADING },     { "head", KIND_SKIP },
	{ "header", KIND_BLOCK },   { "hr", KIND_RULE },
	{ "i", KIND_EMPHASIS },     { "iframe", KIND_SKIP },
	{ "img", KIND_IMAGE },      { "kbd", KIND_CODE },
	{ "li", KIND_ITEM },        { "main", KIND_BLOCK },
	{ "math", KIND_SKIP },      { "nav", KIND_BLOCK },
	{ "noscript", KIND_SKIP },  { "object", KIND_SKIP },
	{ "ol", KIND_LIST },        { "option", KIND_SKIP },
	{ "p", KIND_BLOCK },        { "pre", KIND_PRE },
	{ "script", KIND_SKIP },    { "section", KIND_BLOCK },
	{ "select", KIND_SKIP },    { "strong", KIND_STRONG },
	{ "style", KIND_SKIP },     { "summary", KIND_LINE },
	{ "svg", KIND_SKIP },       { "table", KIND_BLOCK },
	{ "td", KIND_CELL },        { "template", KIND_SKIP },
	{ "textarea", KIND_SKIP },  { "th", KIND_CELL },
	{ "title", KIND_SKIP },     { "tr", KIND_LINE },
	{ "ul", KIND_LIST },        { "video", KIND_SKIP },
};

static const char *const headings[] = { "# ",    "## ",    "### ",
					"#### ", "##### ", "###### " };

static struct str find_attribute(const xmlNode *node, const char *name)
{
	for (const xmlAttr *a = node->properties; a; a = a->next)
		if (!strcasecmp((const char *)a->name, name))
			return a->children
				       ? str_of((const char *)
							a->children->content)
				       : STR("");
	return (struct str){ NULL, 0 };
}

/* True for elements that a reader does not see: hidden, or display:none. */
static bool is_hidden(const xmlNode *node)
{
	struct str style = find_attribute(node, "style");
	bool none = false;

	for (size_t i = 0; i + 7 < style.len && !none; i++)
		if (!strncasecmp(style.ptr + i, "display", 7)) {
			struct str rest = str_trim(str_skip(style, i + 7));

			rest = str_starts(rest, ":")
				       ? str_trim(str_skip(rest, 1))
				       : STR("");
			none = rest.len >= 4 &&
			       !strncasecmp(rest.ptr, "none", 4);
		}
	return none || find_attribute(node, "hidden").ptr;
}

static enum kind kind_of(const xmlNode *node)
{
	if (is_hidden(node))
		return KIND_SKIP;
	for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++)
		if (!strcasecmp((const char *)node->name, elements[i].name))
			return elements[i].kind;
	return KIND_INLINE;
}

static void request_breaks(struct writer *w, int n)
{
	if (w->breaks < n)
		w->breaks = n;
	w->space = false;
}

static void begin_line(struct writer *w)
{
	for (unsigned i = 0; i < w->quotes && i < QUOTES_MAX; i++)
		buf_adds(w->out, "> ");
	for (unsigned i = 1; i < w->lists && i < LISTS_MAX; i++)
		buf_adds(w->out, "  ");
	w->in_line = true;
}

/* Writes what must precede the text: pending line breaks, prefix, space and
 * mark. Call before every output. */
static void begin_text(struct writer *w)
{
	for (; w->begun && w->breaks > 0; w->breaks--) {
		buf_addc(w->out, '\n');
		w->in_line = false;
	}
	w->breaks = 0;
	if (!w->in_line)
		begin_line(w);
	else if (w->space)
		buf_addc(w->out, ' ');
	w->space = false;
	w->begun = true;
	if (w->mark)
		buf_adds(w->out, w->mark);
	w->mark = NULL;
}

static void write_literal(struct writer *w, const char *text)
{
	begin_text(w);
	buf_adds(w->out, text);
}

/* Writes text of a <pre> element, line by line. */
static void write_verbatim(struct writer *w, struct str text)
{
	struct str line;
	bool first = true;

	while (str_split(&text, '\n', &line)) {
		if (!first)
			request_breaks(w, w->breaks + 1);
		first = false;
		if (line.len) {
			begin_text(w);
			buf_addstr(w->out, line);
		}
	}
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

/* Writes text and collapses white space, except in a <pre> element. */
static void write_text(struct writer *w, struct str text)
{
	if (w->pre) {
		write_verbatim(w, text);
		return;
	}
	for (size_t i = 0; i < text.len;) {
		size_t end = i;

		if (is_space(text.ptr[i])) {
			w->space = w->in_line && w->begun && !w->breaks;
			i++;
			continue;
		}
		while (end < text.len && !is_space(text.ptr[end]))
			end++;
		begin_text(w);
		buf_addstr(w->out, (struct str){ text.ptr + i, end - i });
		i = end;
	}
}

static void write_item(struct writer *w)
{
	int *number = w->lists && w->lists <= LISTS_MAX
			      ? &w->number[w->lists - 1]
			      : NULL;

	request_breaks(w, 1);
	begin_text(w);
	if (number && *number)
		buf_addf(w->out, "%d. ", (*number)++);
	else
		buf_adds(w->out, "- ");
}

static void enter_list(struct writer *w, const xmlNode *node)
{
	bool numbered = !strcasecmp((const char *)node->name, "ol");

	request_breaks(w, w->lists ? 1 : 2);
	if (w->lists < LISTS_MAX)
		w->number[w->lists] = numbered ? 1 : 0;
	w->lists++;
}

static void write_image(struct writer *w, const xmlNode *node)
{
	struct str alt = str_trim(find_attribute(node, "alt"));

	if (!alt.len)
		return;
	write_literal(w, "[image: ");
	write_text(w, alt);
	buf_adds(w->out, "]");
}

/* True for links that fetch_url could follow. */
static bool has_address(const xmlNode *node)
{
	struct str href = str_trim(find_attribute(node, "href"));

	return href.len && href.ptr[0] != '#' &&
	       (href.len < 11 || strncasecmp(href.ptr, "javascript:", 11)) &&
	       (href.len < 5 || strncasecmp(href.ptr, "data:", 5));
}

static void write_address(struct writer *w, const xmlNode *node)
{
	struct buf address = BUF_INIT(URL_BYTES);

	if (web_url_join(w->url, find_attribute(node, "href"), &address))
		buf_addf(w->out, "](%s)", address.ptr);
	else
		buf_adds(w->out, "]");
	buf_release(&address);
}

/* Starts a block element: line breaks, prefix, heading mark. */
static void enter_block(struct writer *w, const xmlNode *node, enum kind kind)
{
	if (kind == KIND_LIST) {
		enter_list(w, node);
	} else if (kind == KIND_ITEM) {
		write_item(w);
	} else if (kind == KIND_LINE) {
		request_breaks(w, 1);
	} else if (kind == KIND_HEADING) {
		request_breaks(w, 2);
		w->mark = headings[node->name[1] - '1'];
	} else if (kind == KIND_PRE) {
		request_breaks(w, 2);
		write_literal(w, "```");
		request_breaks(w, 1);
		w->pre++;
	} else {
		request_breaks(w, 2);
		w->quotes += kind == KIND_QUOTE;
	}
}

/* Starts an element: writes what precedes its content. */
static void start_element(struct writer *w, const xmlNode *node, enum kind kind)
{
	switch (kind) {
	case KIND_INLINE:
		break;
	case KIND_BREAK:
		request_breaks(w, w->breaks + 1);
		break;
	case KIND_RULE:
		request_breaks(w, 2);
		write_literal(w, "---");
		request_breaks(w, 2);
		break;
	case KIND_LINK:
		if (has_address(node))
			write_literal(w, "[");
		break;
	case KIND_IMAGE:
		write_image(w, node);
		break;
	case KIND_CODE:
		if (!w->pre)
			write_literal(w, "`");
		break;
	case KIND_STRONG:
		write_literal(w, "**");
		break;
	case KIND_EMPHASIS:
		write_literal(w, "*");
		break;
	case KIND_CELL:
		if (w->in_line && !w->breaks)
			write_literal(w, " | ");
		break;
	default:
		enter_block(w, node, kind);
	}
}

/* Appends a closing mark directly after the text, before a pending space. */
static void close_mark(struct writer *w, const char *mark)
{
	bool space = w->space;

	w->space = false;
	buf_adds(w->out, mark);
	w->space = space;
}

/* Ends an element: writes what follows its content. */
static void end_element(struct writer *w, const xmlNode *node, enum kind kind)
{
	switch (kind) {
	case KIND_LINK:
		if (has_address(node))
			write_address(w, node);
		break;
	case KIND_CODE:
		if (!w->pre)
			close_mark(w, "`");
		break;
	case KIND_STRONG:
		close_mark(w, "**");
		break;
	case KIND_EMPHASIS:
		close_mark(w, "*");
		break;
	case KIND_LIST:
		w->lists--;
		request_breaks(w, w->lists ? 1 : 2);
		break;
	case KIND_PRE:
		w->pre--;
		w->breaks = 0;
		request_breaks(w, 1);
		write_literal(w, "```");
		request_breaks(w, 2);
		break;
	case KIND_LINE:
	case KIND_ITEM:
		request_breaks(w, 1);
		break;
	case KIND_QUOTE:
	case KIND_BLOCK:
	case KIND_HEADING:
		w->mark = NULL;
		request_breaks(w, 2);
		w->quotes -= kind == KIND_QUOTE;
		break;
	default:
		break;
	}
}

/* Returns the next node in document order. Ends the elements that lie before
 * it. */
static const xmlNode *next_node(struct writer *w, const xmlNode *node,
				const xmlNode *root)
{
	while (node != root && !node->next) {
		node = node->parent;
		if (node->type == XML_ELEMENT_NODE)
			end_element(w, node, kind_of(node));
	}
	return node == root ? NULL : node->next;
}

/* Converts the tree below root, without recursion: pages may nest deeply. */
static void convert_tree(struct writer *w, const xmlNode *root)
{
	const xmlNode *node = root;

	while (node && !w->out->over) {
		enum kind kind = KIND_SKIP;

		if (node->type == XML_TEXT_NODE ||
		    node->type == XML_CDATA_SECTION_NODE)
			write_text(w, str_of((const char *)node->content));
		else if (node->type == XML_ELEMENT_NODE)
			kind = kind_of(node);
		if (kind != KIND_SKIP)
			start_element(w, node, kind);
		if (kind != KIND_SKIP && node->children) {
			node = node->children;
			continue;
		}
		if (kind != KIND_SKIP)
			end_element(w, node, kind);
		node = next_node(w, node, root);
	}
}

/* Writes the title of the head, which is not part of the visible page. */
static void write_title(struct writer *w, const xmlNode *root)
{
	for (const xmlNode *n = root->children; n; n = n->next) {
		if (n->type != XML_ELEMENT_NODE ||
		    strcasecmp((const char *)n->name, "head") != 0)
			continue;
		for (const xmlNode *t = n->children; t; t = t->next) {
			if (t->type != XML_ELEMENT_NODE || !t->children ||
			    strcasecmp((const char *)t->name, "title") != 0)
				continue;
			buf_adds(w->out, "Title: ");
			w->begun = w->in_line = true;
			write_text(w,
				   str_of((const char *)t->children->content));
			request_breaks(w, 2);
			return;
		}
	}
}

/* Appends what a person would see of the page, as Markdown: headings,
 * paragraphs, lists, code, tables and links with absolute addresses. Omits
 * scripts, styles, form values, frames and hidden elements. text is UTF-8.
 * Loads nothing that the page refers to. ERR_SYSTEM if libxml2 is missing,
 * ERR_PROTOCOL if it cannot parse the page. */
static int html_read(const struct web_url *url, struct str text,
		     struct buf *out, struct error *err)
{
	const int options = HTML_PARSE_RECOVER | HTML_PARSE_NOERROR |
			    HTML_PARSE_NOWARNING | HTML_PARSE_NONET |
			    HTML_PARSE_IGNORE_ENC | HTML_PARSE_COMPACT;
	const struct xml_api *api = xml_api_get(err);
	struct writer w = { .out = out, .url = url };
	const xmlNode *root;
	htmlDocPtr doc;

	if (!api)
		return -1;
	if (!str_trim(text).len)
		return 0;
	doc = text.len > INT_MAX
		      ? NULL
		      : api->html_read_memory(text.ptr, (int)text.len, NULL,
					      "UTF-8", options);
	root = doc ? api->root(doc) : NULL;
	if (root) {
		write_title(&w, root);
		convert_tree(&w, root);
		if (w.begun)
			buf_addc(out, '\n');
	}
	if (doc)
		api->free_doc(doc);
	return root ? 0
		    : error_set(err, ERR_PROTOCOL,
				"the page cannot be read as HTML");
}

enum { SNIFF_BYTES = 1024 };

static struct str cut_parameters(const char *type)
{
	struct str s = str_of(type);

	s.len = str_find(s, ';');
	return str_trim(s);
}

static bool ends_nocase(struct str s, const char *end)
{
	size_t len = strlen(end);

	return s.len >= len && strncasecmp(s.ptr + s.len - len, end, len) == 0;
}

bool page_is_text(const char *type)
{
	static const char *const others[] = {
		"application/json",       "application/xml",
		"application/javascript", "application/ecmascript",
		"application/x-ndjson",   "application/yaml",
		"application/x-yaml",     "application/toml",
		"application/x-sh",       "application/sql",
		"application/graphql",    "application/x-javascript",
	};
	struct str s = cut_parameters(type);

	if (!s.len || (s.len > 5 && strncasecmp(s.ptr, "text/", 5) == 0) ||
	    ends_nocase(s, "+json") || ends_nocase(s, "+xml") ||
	    ends_nocase(s, "+yaml"))
		return true;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (str_is_nocase(s, others[i]))
			return true;
	return false;
}

/* True if page_read() treats body as HTML. */
static bool page_is_html(const char *type, struct str body)
{
	struct str s = cut_parameters(type);

	if (s.len)
		return str_is_nocase(s, "text/html") ||
		       str_is_nocase(s, "application/xhtml+xml");
	body = str_trim(body);
	return (body.len > 9 && !strncasecmp(body.ptr, "<!doctype", 9)) ||
	       (body.len > 5 && !strncasecmp(body.ptr, "<html", 5));
}

/* True if there is a NUL near the beginning: not text, whatever the type
 * says. */
static bool is_binary(struct str text)
{
	text.len = text.len < SNIFF_BYTES ? text.len : SNIFF_BYTES;
	return str_find(text, '\0') < text.len;
}

int page_read(const struct web_url *url, const char *type, struct str body,
	      struct buf *out, struct error *err)
{
	struct buf text = BUF_INIT(out->max);
	int rc = 0;

	charset_decode(body, type, &text);
	if (is_binary(buf_str(&text)))
		rc = error_set(
			err, ERR_USAGE,
			"refusing to read %.300s: it is not text (type: %s)",
			url->text, *type ? type : "not given");
	else if (page_is_html(type, body))
		rc = html_read(url, buf_str(&text), out, err);
	else
		buf_addstr(out, buf_str(&text));
	buf_release(&text);
	return rc;
}

/* Reads a page in a separate process that can be killed. */

enum {
	TYPE_BYTES = 4096,
	/* bytes of a page; fetch.c stops earlier, at FETCH_BYTES */
	BODY_BYTES = 8 << 20,
	TEXT_BYTES = 40 << 20, /* bytes of the page as text */
	/* limit in case dcode is gone and cannot kill the process */
	CPU_SECONDS = 60,
	FAILED = 3, /* exit status: the reason is on standard error */
};

/* Writes the process's input: the URL and the type, each on a line, then the
 * body. */
static void write_input(const struct web_url *url, const char *type,
			struct str body, struct buf *input)
{
	struct str t = str_of(type);

	buf_addf(input, "%s\n", url->text);
	t.len = t.len < TYPE_BYTES ? t.len : TYPE_BYTES;
	for (size_t i = 0; i < t.len; i++)
		buf_addc(input, (char)(t.ptr[i] == '\n' ? ' ' : t.ptr[i]));
	buf_addc(input, '\n');
	buf_addstr(input, body);
}

/* Turns the process's output and exit status into the result. */
static int read_answer(const struct proc_run *run, const struct web_url *url,
		       struct buf *out, struct error *err)
{
	struct str said = str_trim(buf_str(&run->err));

	if (run->failed.code) {
		*err = run->failed;
		return -1;
	}
	if (run->timed_out)
		return error_set(err, ERR_LIMIT,
				 "cannot read %.300s: parsing its HTML takes "
				 "longer than %d s",
				 url->text, PAGE_READER_MS / 1000);
	if (run->status == FAILED && said.len)
		return error_set(err, ERR_USAGE, "%.*s", (int)said.len,
				 said.ptr);
	if (run->status)
		return error_set(err, ERR_PROTOCOL,
				 "cannot read %.300s: the HTML parser ended "
				 "with status %d",
				 url->text, run->status);
	buf_addstr(out, buf_str(&run->out));
	return 0;
}

int page_reader_read(const struct web_url *url, const char *type,
		     struct str body, struct buf *out, const struct stop *stop,
		     struct error *err)
{
	char *const argv[] = { (char *)"dcode", (char *)PAGE_READER_ARGUMENT,
			       NULL };
	const char *libraries = getenv("LD_LIBRARY_PATH");
	char *path =
		xasprintf("LD_LIBRARY_PATH=%s", libraries ? libraries : "");
	/* The process parses untrusted input, so of the user's variables it
	 * gets only LD_LIBRARY_PATH. */
	char *const env[] = { (char *)"PATH=/usr/bin:/bin",
			      libraries ? path : NULL, NULL };
	struct buf input = BUF_INIT(body.len + URL_BYTES + TYPE_BYTES + 2);
	struct proc_run run = { .program = "/proc/self/exe",
				.argv = argv,
				.env = env,
				.ms = PAGE_READER_MS,
				.ends_over = true,
				.out = BUF_INIT(TEXT_BYTES),
				.err = BUF_INIT(1000) };
	struct proc_run *const all[] = { &run };
	int rc;

	if (!page_is_html(type, body)) {
		rc = page_read(url, type, body, out, err);
		goto out;
	}
	write_input(url, type, body, &input);
	run.input = buf_str(&input);
	rc = proc_run_all(all, 1, stop, err);
	if (rc == 0)
		rc = read_answer(&run, url, out, err);
	buf_release(&run.out);
	buf_release(&run.err);
out:
	buf_release(&input);
	free(path);
	return rc;
}

static int read_input(struct buf *in, struct error *err)
{
	char room[65536];
	ssize_t n;

	while ((n = read(STDIN_FILENO, room, sizeof(room))) > 0)
		buf_add(in, room, (size_t)n);
	if (n < 0)
		return error_errno(err, "reading the page");
	return buf_check(in, "the page", err);
}

/* Splits the input into URL, type and body, and converts the body. */
static int read_page(struct str input, struct buf *out, struct error *err)
{
	struct web_url url;
	struct str text;
	struct str line;
	char *type;
	int rc;

	if (!str_split(&input, '\n', &text) || !str_split(&input, '\n', &line))
		return error_set(err, ERR_PROTOCOL, "no page to read");
	if (web_url_parse(&url, text, err) < 0)
		return -1;
	type = xstrndup(line.len ? line.ptr : "", line.len);
	rc = page_read(&url, type, input, out, err);
	free(type);
	return rc;
}

/* Limits its own CPU time first: dcode may be gone and unable to kill it. */
int page_reader_main(void)
{
	const struct rlimit cpu = { CPU_SECONDS, CPU_SECONDS };
	struct buf input = BUF_INIT(BODY_BYTES + URL_BYTES + TYPE_BYTES);
	struct buf out = BUF_INIT(TEXT_BYTES);
	struct error err = { 0 };
	int rc;

	(void)setrlimit(RLIMIT_CPU, &cpu);
	rc = read_input(&input, &err);
	if (rc == 0)
		rc = read_page(buf_str(&input), &out, &err);
	if (rc < 0)
		fprintf(stderr, "%s%s%s\n", err.message,
			err.hint[0] ? ". " : "", err.hint);
	else if (out.len && fwrite(out.ptr, 1, out.len, stdout) != out.len)
		rc = -1;
	if (fflush(stdout))
		rc = -1;
	buf_release(&input);
	buf_release(&out);
	return rc < 0 ? FAILED : 0;
}

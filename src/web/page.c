/* page.c - what a server sends, as text for a model. */
/* SPDX-License-Identifier: MIT */
#include "web/page.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "web/charset.h"
#include "web/html.h"

enum { SNIFF_BYTES = 1024 };

static struct str essence(const char *type)
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
	struct str s = essence(type);

	if (!s.len || (s.len > 5 && strncasecmp(s.ptr, "text/", 5) == 0) ||
	    ends_nocase(s, "+json") || ends_nocase(s, "+xml") ||
	    ends_nocase(s, "+yaml"))
		return true;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (str_is_nocase(s, others[i]))
			return true;
	return false;
}

bool page_is_html(const char *type, struct str body)
{
	struct str s = essence(type);

	if (s.len)
		return str_is_nocase(s, "text/html") ||
		       str_is_nocase(s, "application/xhtml+xml");
	body = str_trim(body);
	return (body.len > 9 && !strncasecmp(body.ptr, "<!doctype", 9)) ||
	       (body.len > 5 && !strncasecmp(body.ptr, "<html", 5));
}

/* What says that it is text, but is not. */
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
		rc = error_set(err, ERR_USAGE,
			       "%.300s claims to be %s, but is not text: it is "
			       "not read",
			       url->text, *type ? type : "without a type");
	else if (page_is_html(type, body))
		rc = html_read(url, buf_str(&text), out, err);
	else
		buf_addstr(out, buf_str(&text));
	buf_release(&text);
	return rc;
}

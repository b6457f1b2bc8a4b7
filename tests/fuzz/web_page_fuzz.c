/* web_page_fuzz.c - any page gives text, within its bounds. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>

#include "base/sanitize.h"
#include "base/str.h"
#include "web/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OUT_BYTES = 1 << 20 };

static void require(bool fact)
{
	if (!fact)
		abort();
}

/* The first byte says which type the server claims. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const types[] = {
		"text/html; charset=utf-8",
		"text/html",
		"",
		"application/xhtml+xml; charset=\"utf-16\"",
		"text/html; charset=shift_jis",
		"text/html; charset=iso-8859-1",
		"text/plain; charset=utf-16le",
		"text/html; charset=utf-7",
	};
	struct buf out = BUF_INIT(OUT_BYTES);
	struct buf clean = BUF_INIT(4 * OUT_BYTES);
	struct web_url url = { 0 };
	struct error err = { 0 };
	const char *type;
	int rc;

	if (!size)
		return 0;
	require(web_url_parse(&url, STR("https://a.example/b/c?d"), &err) == 0);
	type = types[data[0] % (sizeof(types) / sizeof(types[0]))];
	rc = page_read(&url, type,
		       (struct str){ (const char *)data + 1, size - 1 }, &out,
		       &err);
	/* Not that libxml2 is missing. */
	require(rc == 0 || err.code == ERR_USAGE || err.code == ERR_PROTOCOL);
	require(out.len <= OUT_BYTES);
	/* As web/fetch.c hands it on: libxml2 cuts a character now and then. */
	sanitize_text(buf_str(&out), &clean);
	require(str_is_utf8(buf_str(&clean)));
	require(str_find(buf_str(&clean), '\033') == clean.len);
	buf_release(&clean);
	buf_release(&out);
	return 0;
}

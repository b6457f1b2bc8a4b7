/* failure_page.c - a page for people, in place of a model's answer. */
/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <strings.h>

#include "base/sanitize.h"
#include "base/str.h"
#include "model/failure/failure.h"

bool failure_is_page(struct str type, struct str body)
{
	static const char *const starts[] = { "<!doctype html", "<html" };

	if (type.len >= 9 && !strncasecmp(type.ptr, "text/html", 9))
		return true;
	body = str_trim(body);
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		size_t len = strlen(starts[i]);

		if (body.len >= len && !strncasecmp(body.ptr, starts[i], len))
			return true;
	}
	return false;
}

/* Appends the title of a page, one clean line in quotation marks. */
static void add_title(struct str page, struct buf *out)
{
	struct buf line = BUF_INIT(160);
	size_t at = 0;

	while (at + 6 < page.len && strncasecmp(page.ptr + at, "<title", 6))
		at++;
	if (at + 6 >= page.len)
		return;
	page = str_skip(page, at);
	page = str_skip(page, str_find(page, '>') + 1);
	page.len = str_find(page, '<');
	if (page.len > 120)
		page.len = 120;
	page.len = str_utf8_prefix(page);
	sanitize_line(str_trim(page), &line);
	if (line.len)
		buf_addf(out, " \"%s\"", line.ptr);
	buf_release(&line);
}

int failure_of_page(const struct model_choice *c, int status, struct str page,
		    struct error *err)
{
	struct buf title = BUF_INIT(200);

	add_title(page, &title);
	(void)error_set(
		err, ERR_PROTOCOL,
		"%s: a web page%s answered instead of the model (HTTP %d)",
		c->provider, title.len ? title.ptr : "", status);
	buf_release(&title);
	err->http_status = status;
	return error_hint(
		err,
		"It may be a proxy, a sign-in page or another server: check "
		"the network, HTTPS_PROXY and %.80s%s%.80s",
		c->base_url, c->url_from ? ", " : "",
		c->url_from ? c->url_from : "");
}

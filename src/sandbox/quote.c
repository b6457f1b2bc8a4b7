/* quote.c - quotes bytes so that any POSIX shell reads them back exactly. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/quote.h"

#include "base/json.h"
#include "base/str.h"

enum { FRAME = 64 /* bytes around the content in quote_content() */ };

static bool is_plain(unsigned char c)
{
	return (c >= ' ' && c < 0x7f) || c == '\n' || c == '\t';
}

void quote_word(struct buf *out, struct str s)
{
	buf_addc(out, '\'');
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == '\'')
			buf_adds(out, "'\\''");
		else
			buf_addc(out, s.ptr[i]);
	}
	buf_addc(out, '\'');
}

/* One byte inside the single-quoted format of printf. A leading "-" would be
 * an option to some shells. */
static void format_byte(struct buf *out, unsigned char c, bool first)
{
	if (!is_plain(c) || (first && c == '-'))
		buf_addf(out, "\\%03o", c);
	else if (c == '\'')
		buf_adds(out, "'\\''");
	else if (c == '%')
		buf_adds(out, "%%");
	else if (c == '\\')
		buf_adds(out, "\\\\");
	else
		buf_addc(out, (char)c);
}

static size_t format_size(struct str s)
{
	size_t size = 0;

	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (!is_plain(c) || c == '-' || c == '\'')
			size += 4;
		else
			size += c == '%' || c == '\\' ? 2 : 1;
	}
	return size;
}

static void write_printf(struct buf *out, struct str s)
{
	buf_adds(out, "printf '");
	for (size_t i = 0; i < s.len; i++)
		format_byte(out, (unsigned char)s.ptr[i], i == 0);
	buf_addc(out, '\'');
}

void quote_assign(struct buf *out, const char *name, struct str s)
{
	bool simple = true;

	for (size_t i = 0; i < s.len && simple; i++)
		simple = is_plain((unsigned char)s.ptr[i]);
	buf_addf(out, "%s=", name);
	if (simple) {
		quote_word(out, s);
	} else {
		/* $() drops newlines at the end, so a full stop is added and
		 * removed again. */
		buf_adds(out, "$(");
		write_printf(out, s);
		buf_addf(out, "; printf .); %s=${%s%%.}", name, name);
	}
	buf_addc(out, '\n');
}

size_t quote_content_size(struct str bytes, bool base64)
{
	size_t octal = format_size(bytes);
	size_t coded = (bytes.len + 2) / 3 * 4;

	return FRAME + (base64 && coded < octal ? coded : octal);
}

bool quote_content(struct buf *out, struct str bytes, bool base64)
{
	size_t octal = format_size(bytes);
	size_t coded = (bytes.len + 2) / 3 * 4;

	base64 = base64 && coded < octal;
	buf_adds(out, "text() { ");
	if (!bytes.len)
		buf_adds(out, ":");
	else if (!base64)
		write_printf(out, bytes);
	if (base64) {
		buf_adds(out, "printf %s '");
		json_base64(out, bytes);
		buf_adds(out, "' | base64 -d");
	}
	buf_adds(out, "; }\n");
	return base64;
}

void quote_script(struct buf *out, struct str text)
{
	struct str line;

	while (str_split(&text, '\n', &line)) {
		line = str_trim(line);
		if (!line.len || line.ptr[0] == '#')
			continue;
		buf_addstr(out, line);
		buf_addc(out, '\n');
	}
}

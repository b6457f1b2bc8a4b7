/* shapes_fuzz.c - credentials found in a stream equal those in the whole. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mask/mask.h"
#include "base/shapes/shapes.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Beginnings and parts of forms, which a fuzzer does not guess. */
static const char *const parts[] = {
	"ghp_",        "AKIA",
	"xoxb-",       "eyJ",
	"sk-",         "T3BlbkFJ",
	"-----BEGIN ", "PRIVATE KEY-----",
	"-----END",    "://u:",
	"@h/",         "Authorization: Basic ",
	"curl -u a:",  "Cookie: a=",
	":A",          ".atlasv1.",
	"Q~",          "sig=",
	"%3D",         "aws_secret_key=",
	"Bearer ",     "AGE-SECRET-KEY-1",
	"hvs.",        "SG.",
	"twilio SK",   "MTIz",
};

/* Bytes from 0x80 on become a part, or a run of characters. */
static void expand(struct str in, struct buf *out)
{
	static const char run[] = "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0fX";

	for (size_t i = 0; i < in.len; i++) {
		unsigned c = (unsigned char)in.ptr[i];

		if (c < 0x80)
			buf_addc(out, in.ptr[i]);
		else if (c - 0x80 < sizeof(parts) / sizeof(*parts))
			buf_adds(out, parts[c - 0x80]);
		else
			buf_add(out, run, c % 32 + 1);
	}
}

/* First line: a pattern; first byte of the second: bytes of a chunk. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = { (const char *)data, size };
	struct shapes *shapes = shapes_new();
	struct mask *m = mask_new();
	struct buf text = BUF_INIT(1 << 20);
	struct buf whole = BUF_INIT(1 << 20);
	struct buf streamed = BUF_INIT(1 << 20);
	struct mask_stream s = { 0 };
	struct error ignored = { 0 };
	struct str head = { 0 };
	char pattern[1100] = "";
	size_t step;

	if (str_split(&rest, '\n', &head) && head.len < sizeof(pattern))
		memcpy(pattern, head.ptr, head.len);
	(void)shapes_add(shapes, pattern, &ignored);
	mask_set_shapes(m, shapes);
	expand(rest, &text);
	mask_text(m, buf_str(&text), &whole);
	step = rest.len ? (unsigned char)rest.ptr[0] % 61 + 1 : 1;
	for (rest = buf_str(&text); rest.len;) {
		size_t len = rest.len < step ? rest.len : step;

		mask_feed(m, &s, (struct str){ rest.ptr, len }, &streamed);
		rest = str_skip(rest, len);
	}
	mask_end(m, &s, &streamed);
	if (!str_eq(buf_str(&whole), buf_str(&streamed)))
		abort();
	buf_release(&text);
	buf_release(&whole);
	buf_release(&streamed);
	mask_free(m);
	return 0;
}

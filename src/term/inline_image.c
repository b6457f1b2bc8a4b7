/* inline_image.c - shows an image in a terminal that decodes it itself. */
/* SPDX-License-Identifier: MIT */
#include "term/inline_image.h"

#include <stdlib.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"

enum {
	/* https://sw.kovidgoyal.net/kitty/graphics-protocol/, "Remote client":
	 * at most 4,096 bytes of base64 in a sequence. */
	KITTY_CHUNK = 4096,
};

enum image_way { WAY_NONE, WAY_KITTY, WAY_ITERM };

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

/* Returns the protocol of the terminal, as its variables tell. */
static enum image_way find_way(void)
{
	struct str term = str_of(getenv("TERM"));
	struct str program = str_of(getenv("TERM_PROGRAM"));

	if (is_set("TMUX") || is_set("STY") || str_starts(term, "tmux") ||
	    str_starts(term, "screen"))
		return WAY_NONE;
	if (str_is(term, "xterm-kitty") || is_set("KITTY_WINDOW_ID") ||
	    str_is(program, "ghostty"))
		return WAY_KITTY;
	if (str_is(program, "iTerm.app") || str_is(program, "WezTerm") ||
	    str_is(str_of(getenv("LC_TERMINAL")), "iTerm2"))
		return WAY_ITERM;
	return WAY_NONE;
}

/* kitty: a=T shows the image now, f=100 is PNG, q=2 asks for no replies. */
static void add_kitty(struct str code, struct buf *out)
{
	bool first = true;

	while (code.len) {
		size_t n = code.len < KITTY_CHUNK ? code.len : KITTY_CHUNK;

		buf_adds(out, "\x1b_G");
		if (first)
			buf_addf(out, "a=T,f=100,q=2,r=%d,", INLINE_IMAGE_ROWS);
		buf_addf(out, "m=%d;", n < code.len);
		buf_add(out, code.ptr, n);
		buf_adds(out, "\x1b\\");
		code = str_skip(code, n);
		first = false;
	}
}

bool inline_image_encode(struct str image, struct buf *out)
{
	static const char png[] = "\x89PNG";
	enum image_way way = find_way();
	size_t size;
	char *code;

	if (way == WAY_NONE || image.len > INLINE_IMAGE_MOST ||
	    (way == WAY_KITTY && !str_starts(image, png)))
		return false;
	size = sodium_base64_ENCODED_LEN(image.len,
					 sodium_base64_VARIANT_ORIGINAL);
	code = xcalloc(size, 1);
	sodium_bin2base64(code, size, (const unsigned char *)image.ptr,
			  image.len, sodium_base64_VARIANT_ORIGINAL);
	if (way == WAY_KITTY) {
		add_kitty(str_of(code), out);
	} else {
		/* https://iterm2.com/documentation-images.html */
		buf_addf(out,
			 "\x1b]1337;File=inline=1;size=%zu;height=%d;"
			 "preserveAspectRatio=1:",
			 image.len, INLINE_IMAGE_ROWS);
		buf_adds(out, code);
		buf_addc(out, '\a');
	}
	free(code);
	return true;
}

/* html.h - writes text that nobody vouches for into a page of HTML. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_HTML_H
#define UI_HTML_H

#include "base/mask/mask.h"
#include "base/str.h"
#include "markup/markdown_render.h"

/*
 * A page on its way out. Start from HTML_INIT(); what was added is written in
 * pieces, so that a page of any length takes little memory. The first failure
 * stays, and all that follows is dropped.
 */
struct html {
	struct buf out;          /* not written yet */
	const struct mask *mask; /* borrowed, or NULL */
	int (*write)(void *arg, struct str piece, struct error *err);
	void *arg;
	md4c_parse *markdown; /* html_markdown_load() */
	bool failed;
	struct error err; /* when failed */
};

enum { HTML_PIECE = 64 << 10 /* bytes gathered before they are written */ };
#define HTML_INIT(masked, writer, argument)                                    \
	((struct html){ .out = BUF_INIT(64 * HTML_PIECE),                      \
			.mask = (masked),                                      \
			.write = (writer),                                     \
			.arg = (argument) })

/* Markup of our own, as it is. */
void html_markup(struct html *h, const char *markup);
void html_markupf(struct html *h, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Text, with known secrets masked, escaped for an element's content. Controls
 * and what reorders or hides text are shown by their name; bytes that are no
 * UTF-8 become U+FFFD; CR before LF is dropped. */
void html_text(struct html *h, struct str text);
/* The same for what is masked already. */
void html_escape(struct html *h, struct str text);
/* An address for the value of an attribute: what is not in the characters of
 * RFC 3986 as %XX. */
void html_address(struct html *h, struct str address);
/* Writes what is left and releases the memory; 0, or -1 with the first failure
 * of all. */
int html_end(struct html *h, struct error *err);

#endif

/* html.h - a conversation as a page of HTML that nobody has to trust. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_HTML_H
#define UI_HTML_H

/*
 * What `dcode threads export` writes. All text of the conversation is masked
 * and escaped here; the page runs no script and loads nothing. Begin reading at
 * html_page_begin().
 */
#include "base/mask/mask.h"
#include "base/str.h"
#include "markup/markdown_render.h"
#include "model/message.h"

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
/* Text, with known secrets masked, escaped for an element's content. Controls
 * and what reorders or hides text are shown by their name; bytes that are no
 * UTF-8 become U+FFFD; CR before LF is dropped. */
void html_text(struct html *h, struct str text);
/* Writes what is left and releases the memory; 0, or -1 with the first failure
 * of all. */
int html_end(struct html *h, struct error *err);

/* Loads libmd4c, once before html_markdown(). -1 with what to install. */
int html_markdown_load(struct html *h, struct error *err);
/*
 * CommonMark with tables, struck text and task lists. Raw HTML is shown as
 * text. Only http, https and mailto addresses become links; of any other
 * link, and of every image, the text and the address are shown. What is too
 * large, too deep or grows too much is shown as it was written.
 */
void html_markdown(struct html *h, struct str text);

/* A unified diff, masked. */
void html_diff(struct html *h, struct str text);
/* What replaces one text by another; lines that both begin or end with are
 * shown as context, three at most. */
void html_diff_edit(struct html *h, struct str before, struct str after);

struct html_page { /* what its head says; strings borrowed, NULL: unknown */
	const char *title;
	const char *model;
	int64_t created, updated; /* Unix ms; 0: unknown */
	int64_t messages;
	int64_t input, output; /* tokens; input counts the cached ones too */
};

/*
 * A page without scripts that loads nothing: a policy within it (CSP) forbids
 * both, and names the only style by its hash. Call html_markdown_load() first,
 * then these in order, and html_end() last.
 */
void html_page_begin(struct html *h, const struct html_page *page);
void html_page_message(struct html *h, const struct message *message);
/* The messages so far gave way to a summary; created: Unix ms, 0: unknown. */
void html_page_compaction(struct html *h, int64_t created);
/* The patch of a thread, masked like all else. */
void html_page_patch(struct html *h, const char *name, struct str patch);
void html_page_end(struct html *h);

#endif

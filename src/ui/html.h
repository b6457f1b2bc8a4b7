/* html.h - a conversation as an HTML page that is safe to open. */
/* SPDX-License-Identifier: MIT */
#ifndef UI_HTML_H
#define UI_HTML_H

/*
 * The output of `dcode threads export`. All text of the conversation is masked
 * and escaped here; the page runs no script and loads nothing. Begin reading at
 * html_page_begin().
 */
#include "base/mask/mask.h"
#include "base/str.h"
#include "markup/markdown_render.h"
#include "model/message.h"

/*
 * A page being written. Initialise with HTML_INIT(). Output is written in
 * pieces, so that a page of any length needs little memory. After the first
 * failure, everything else is dropped.
 */
struct html {
	struct buf out;          /* not written yet */
	const struct mask *mask; /* borrowed, or NULL */
	int (*write)(void *arg, struct str piece, struct error *err);
	void *arg;
	md4c_parse *markdown; /* set by html_markdown_load() */
	bool failed;
	struct error err; /* set if failed */
};

enum { HTML_PIECE = 64 << 10 /* bytes gathered before they are written */ };
#define HTML_INIT(masked, writer, argument)                                    \
	((struct html){ .out = BUF_INIT(64 * HTML_PIECE),                      \
			.mask = (masked),                                      \
			.write = (writer),                                     \
			.arg = (argument) })
/* Appends text, with known secrets masked, escaped for an element's content.
 * Control characters and characters that reorder or hide text are shown by
 * name. Bytes that are not UTF-8 become U+FFFD; CR before LF is dropped. */
void html_text(struct html *h, struct str text);
/* Writes the remaining output and frees the memory. Returns 0, or -1 with the
 * first failure. */
int html_end(struct html *h, struct error *err);

/* Loads libmd4c; call once before html_markdown(). On failure returns -1 with
 * what to install. */
int html_markdown_load(struct html *h, struct error *err);
/*
 * Renders CommonMark with tables, strikethrough and task lists. Raw HTML is
 * shown as text. Only http, https and mailto addresses become links; for other
 * links and for images, the text and the address are shown. Text that is too
 * large, too deeply nested or expands too much is shown as it was written.
 */
void html_markdown(struct html *h, struct str text);

/* Appends a unified diff, masked. */
void html_diff(struct html *h, struct str text);
/* Appends the difference between two texts. At most three common lines before
 * and after are shown as context. */
void html_diff_edit(struct html *h, struct str before, struct str after);

struct html_page { /* facts for the page's head; strings borrowed, NULL: unknown
		    */
	const char *title;
	const char *model;
	int64_t created, updated; /* Unix ms; 0: unknown */
	int64_t messages;
	int64_t input, output; /* tokens; input includes the cached ones */
};

/*
 * A page without scripts that loads nothing: its content security policy
 * forbids both and allows only the style with its hash. Call
 * html_markdown_load() first, then these functions in order, and html_end()
 * last.
 */
void html_page_begin(struct html *h, const struct html_page *page);
/* message: masked, see thread_export(). */
void html_page_message(struct html *h, const struct message *message);
/* Marks where the messages so far were replaced by a summary; created: Unix ms,
 * 0: unknown. */
void html_page_compaction(struct html *h, int64_t created);
/* Appends the patch of a thread, masked. */
void html_page_patch(struct html *h, const char *name, struct str patch);
void html_page_end(struct html *h);

#endif

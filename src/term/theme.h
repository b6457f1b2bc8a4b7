/* theme.h - what rows look like: colours, glyphs, and the bytes of a row. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_THEME_H
#define TERM_THEME_H

/*
 * Rows (rows.h) say what a text is; this says what that looks like on a
 * terminal: colours of the user's palette, glyphs in UTF-8 or ASCII, links.
 */
#include "term/rows.h"

enum theme_name {
	THEME_AUTO, /* what fits the terminal */
	THEME_DARK,
	THEME_LIGHT,
	THEME_NONE, /* attributes, no colours */
	N_THEMES,
};

/* Signs of the screen's own; ASCII where the locale has no UTF-8. */
enum glyph {
	GLYPH_BULLET,
	GLYPH_ELLIPSIS,
	GLYPH_CHECK,
	GLYPH_CROSS,
	GLYPH_WARNING,
	GLYPH_ARROW,
	GLYPH_PROMPT,
	GLYPH_TOOL,   /* before a tool call */
	GLYPH_RESULT, /* before what belongs to it */
	GLYPH_DOT,    /* between parts of a line */
	GLYPH_QUOTE,  /* bar before quoted text */
	GLYPH_BOX_H,
	GLYPH_BOX_V,
	GLYPH_BOX_TOP_LEFT,
	GLYPH_BOX_TOP_RIGHT,
	GLYPH_BOX_BOTTOM_LEFT,
	GLYPH_BOX_BOTTOM_RIGHT,
	GLYPH_BOX_CROSS,
	GLYPH_BOX_LEFT,   /* a line to the right begins */
	GLYPH_BOX_RIGHT,  /* one to the left begins */
	GLYPH_BOX_TOP,    /* one down begins */
	GLYPH_BOX_BOTTOM, /* one up begins */
	GLYPH_TASK_OPEN,  /* a task that is open */
	GLYPH_TASK_DONE,  /* one that is done */
	GLYPH_TASK_NOW,   /* one that is at work */
	N_GLYPHS,
};

struct theme {
	enum theme_name name;   /* that is drawn: not THEME_AUTO */
	enum theme_name chosen; /* by the user */
	enum theme_name own;    /* that THEME_AUTO stands for */
	bool ascii;             /* glyphs in ASCII */
	bool links;             /* OSC 8 */
};

/*
 * From the environment: NO_COLOR (https://no-color.org) set and not empty is
 * THEME_NONE; COLORFGBG (rxvt, konsole: "foreground;background") tells a light
 * background; else dark. LC_ALL, LC_CTYPE or LANG, the first that is set, says
 * whether glyphs are UTF-8. The Linux console shows no links.
 */
void theme_init(struct theme *t);
/* The user's choice. THEME_NONE of NO_COLOR stays what THEME_AUTO is. */
void theme_choose(struct theme *t, enum theme_name chosen);
/* "auto", "dark", "light", "none"; false when it is no theme. */
bool theme_parse(struct str name, enum theme_name *found);
const char *theme_name(enum theme_name name);
/* The theme for a background that the terminal told, 0xRRGGBB, where nothing
 * else was chosen; THEME_NONE stays. */
void theme_background(struct theme *t, uint32_t rgb);
/* Appends the escape sequence that sets exactly this style (SGR 0 first). */
void theme_style(const struct theme *t, struct style style, struct buf *out);
/* Appends row i, cut to so many cells (SIZE_MAX: whole), with its styles and
 * links; nothing moves the cursor, so it suits a pager, too. */
void theme_row(const struct theme *t, const struct rows *rows, size_t i,
	       size_t cells, struct buf *out);
const char *theme_glyph(const struct theme *t, enum glyph glyph);
/* Frame n of the sign that moves while something is waited for; any n. One
 * cell wide. */
const char *theme_spinner(const struct theme *t, size_t n);

#endif

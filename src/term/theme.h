/* theme.h - the look of rows: colours, glyphs, and the bytes of a row. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_THEME_H
#define TERM_THEME_H

/*
 * Rows (rows.h) name the role of a text. A theme defines its look on a
 * terminal: colours of the user's palette, glyphs in UTF-8 or ASCII, links.
 */
#include "term/rows.h"

enum theme_name {
	THEME_AUTO, /* chosen to suit the terminal */
	THEME_DARK,
	THEME_LIGHT,
	THEME_NONE,         /* attributes only, no colours */
	THEME_DEUTERANOPIA, /* blue and orange instead of green and red */
	THEME_CONTRAST,     /* no dim text, and the strongest differences */
	THEME_USER,         /* the colours of theme.user */
	N_THEMES,
};

/* dcode's own glyphs; ASCII if the locale is not UTF-8. */
enum glyph {
	GLYPH_BULLET,
	GLYPH_ELLIPSIS,
	GLYPH_CHECK,
	GLYPH_CROSS,
	GLYPH_WARNING,
	GLYPH_ARROW,
	GLYPH_PROMPT,
	GLYPH_TOOL,   /* before a tool call */
	GLYPH_RESULT, /* before a call's result */
	GLYPH_DOT,    /* between the parts of a line */
	GLYPH_QUOTE,  /* bar before quoted text */
	GLYPH_BOX_H,
	GLYPH_BOX_V,
	GLYPH_BOX_TOP_LEFT,
	GLYPH_BOX_TOP_RIGHT,
	GLYPH_BOX_BOTTOM_LEFT,
	GLYPH_BOX_BOTTOM_RIGHT,
	GLYPH_BOX_CROSS,
	GLYPH_BOX_LEFT,   /* left end of a horizontal line */
	GLYPH_BOX_RIGHT,  /* right end of a horizontal line */
	GLYPH_BOX_TOP,    /* top end of a vertical line */
	GLYPH_BOX_BOTTOM, /* bottom end of a vertical line */
	GLYPH_TASK_OPEN,  /* task not yet begun */
	GLYPH_TASK_DONE,  /* completed task */
	GLYPH_TASK_NOW,   /* task in progress */
	N_GLYPHS,
};

/* The colours that the terminal can show. */
enum theme_depth {
	DEPTH_16, /* those of the user's palette */
	DEPTH_256,
	DEPTH_RGB,
};

enum { THEME_NAME_BYTES = 32, THEME_COLOUR_SET = 1 << 24 };

/* A theme of the user's own. Colours are 0xRRGGBB | THEME_COLOUR_SET; where one
 * is 0, the theme dark or light has the colour. */
struct theme_user {
	char name[THEME_NAME_BYTES];
	bool light;
	uint32_t text[N_STYLES];
	/* backgrounds of differences: added and removed lines, and their words
	   that differ */
	uint32_t lines[2], words[2];
};

struct theme {
	enum theme_name name;   /* the theme in use: never THEME_AUTO */
	enum theme_name chosen; /* the user's choice */
	enum theme_name own;    /* the theme that THEME_AUTO stands for */
	unsigned choices; /* how often a theme was chosen: after that, rows look
			     different */
	struct theme_user user; /* for THEME_USER */
	enum theme_depth depth;
	bool ascii;       /* use ASCII glyphs */
	bool links;       /* OSC 8 links are supported */
	bool opens_links; /* the terminal is known to show the address of an
			     OSC 8 link, so it need not be printed */
};

/*
 * Initialises from the environment. A non-empty NO_COLOR (https://no-color.org)
 * selects THEME_NONE. COLORFGBG (rxvt, konsole: "foreground;background") may
 * indicate a light background; the default is dark. The first of LC_ALL,
 * LC_CTYPE and LANG that is set decides whether glyphs are UTF-8. The Linux
 * console gets no links. COLORTERM and TERM tell the colours that the terminal
 * can show; only the backgrounds of differences need more than 16. Variables of
 * the terminal, or FORCE_HYPERLINK, tell whether it opens links.
 */
void theme_init(struct theme *t);
/* True if the locale of the environment (LC_ALL, LC_CTYPE, LANG) is UTF-8. */
bool theme_locale_is_utf8(void);
/* Sets the user's choice. With NO_COLOR, THEME_AUTO still means THEME_NONE. */
void theme_choose(struct theme *t, enum theme_name chosen);
/* Chooses colours of the user's own. */
void theme_choose_user(struct theme *t, const struct theme_user *colours);
/* Parses the name of a built-in theme. Returns false for any other name. */
bool theme_parse(struct str name, enum theme_name *found);
/* Returns the name of a built-in theme, except THEME_USER. */
const char *theme_name(enum theme_name name);
/* Adapts THEME_AUTO to the background colour that the terminal reported,
 * 0xRRGGBB. THEME_NONE does not change. */
void theme_background(struct theme *t, uint32_t rgb);
/* Appends the escape sequence that sets exactly this style, beginning with SGR
 * 0. */
void theme_style(const struct theme *t, struct style style, struct buf *out);
/* Appends row i with its styles and links, cut to `cells` cells (SIZE_MAX:
 * whole). Contains no cursor movement, so it also suits a pager. */
void theme_row(const struct theme *t, const struct rows *rows, size_t i,
	       size_t cells, struct buf *out);
const char *theme_glyph(const struct theme *t, enum glyph glyph);
/* Appends a horizontal line of this many cells, with a title near its beginning
 * unless it is empty: "-- sh ------". The title is cleaned, and cut
 * if it does not fit. */
void theme_add_rule(const struct theme *t, struct str title, size_t cells,
		    struct buf *out);
/* Returns frame n of the spinner, for any n. One cell wide. */
const char *theme_spinner(const struct theme *t, size_t n);

#endif

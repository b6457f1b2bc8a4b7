/* theme.c - the look of rows: colours, glyphs, and the bytes of a row. */
/* SPDX-License-Identifier: MIT */
#include "term/theme.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

static const char *const names[N_THEMES] = { "auto", "dark", "light", "none" };

/* SGR parameters. Only the 16 colours of the user's palette are used, so that
 * the user's settings apply. A role's attributes are used without colours, too.
 * Text on a coloured background has its own colours: see grounds. */
struct appearance {
	const char *dark, *light;
	uint8_t attrs;
};

static const struct appearance looks[N_STYLES] = {
	[STYLE_PLAIN] = { "", "", 0 },
	[STYLE_ACCENT] = { "36", "34", 0 },
	[STYLE_MUTED] = { "", "", ATTR_DIM },
	[STYLE_OK] = { "32", "32", 0 },
	[STYLE_WARN] = { "33", "33", 0 },
	[STYLE_ERROR] = { "31", "31", 0 },
	[STYLE_CODE] = { "36", "34", 0 },
	[STYLE_LINK] = { "94", "34", ATTR_UNDERLINE },
	[STYLE_HEADING] = { "", "", ATTR_BOLD },
	[STYLE_USER] = { "96", "34", 0 },
	[STYLE_TOOL] = { "", "", ATTR_BOLD },
	[STYLE_ADDED] = { "32", "32", 0 },
	[STYLE_REMOVED] = { "31", "31", 0 },
	[STYLE_KEYWORD] = { "35", "35", 0 },
	[STYLE_STRING] = { "32", "32", 0 },
	[STYLE_COMMENT] = { "", "", ATTR_DIM },
	[STYLE_NUMBER] = { "33", "36", 0 },
};

/* A colour for terminals with 16 million of them, and its number among 256. */
struct shade {
	uint32_t rgb; /* 0xRRGGBB */
	uint8_t number;
};

/* A text's colours depend on the theme's background, not on the terminal's:
 * they can be read even if the terminal's background was guessed wrong. */
struct ground {
	struct shade dark, light;
};

static const struct ground line_grounds[2] = {
	/* added, removed */
	{ { 0x10331E, 22 }, { 0xDAFBE1, 194 } },
	{ { 0x431A1E, 52 }, { 0xFFEBE9, 224 } },
};

static const struct ground word_grounds[2] = {
	{ { 0x1B6638, 28 }, { 0xA0E6B0, 157 } },
	{ { 0x8A2A31, 88 }, { 0xFFB8B3, 217 } },
};

/* The colours of code on these backgrounds. */
static const struct ground ground_texts[N_STYLES] = {
	[STYLE_PLAIN] = { { 0xE6EDF3, 255 }, { 0x1F2328, 235 } },
	[STYLE_ADDED] = { { 0x7EE787, 120 }, { 0x0E5A26, 22 } },
	[STYLE_REMOVED] = { { 0xFFB3AD, 217 }, { 0x8E1519, 88 } },
	[STYLE_KEYWORD] = { { 0xE2C5FF, 183 }, { 0x5A2CA0, 54 } },
	[STYLE_STRING] = { { 0xB6DCFF, 153 }, { 0x0A3069, 18 } },
	[STYLE_COMMENT] = { { 0xC4CCD4, 251 }, { 0x444C56, 238 } },
	[STYLE_NUMBER] = { { 0xFFD08A, 222 }, { 0x7A2E00, 88 } },
};

static const struct {
	const char *utf8, *ascii;
} glyphs[N_GLYPHS] = {
	[GLYPH_BULLET] = { "•", "*" },
	[GLYPH_ELLIPSIS] = { "…", "..." },
	[GLYPH_CHECK] = { "✓", "+" },
	[GLYPH_CROSS] = { "✗", "x" },
	[GLYPH_WARNING] = { "⚠", "!" },
	[GLYPH_ARROW] = { "→", "->" },
	[GLYPH_PROMPT] = { "❯", ">" },
	[GLYPH_TOOL] = { "⏺", "*" },
	[GLYPH_RESULT] = { "⎿", "|" },
	[GLYPH_DOT] = { "·", "-" },
	[GLYPH_QUOTE] = { "│", "|" },
	[GLYPH_BOX_H] = { "─", "-" },
	[GLYPH_BOX_V] = { "│", "|" },
	[GLYPH_BOX_TOP_LEFT] = { "┌", "+" },
	[GLYPH_BOX_TOP_RIGHT] = { "┐", "+" },
	[GLYPH_BOX_BOTTOM_LEFT] = { "└", "+" },
	[GLYPH_BOX_BOTTOM_RIGHT] = { "┘", "+" },
	[GLYPH_BOX_CROSS] = { "┼", "+" },
	[GLYPH_BOX_LEFT] = { "├", "+" },
	[GLYPH_BOX_RIGHT] = { "┤", "+" },
	[GLYPH_BOX_TOP] = { "┬", "+" },
	[GLYPH_BOX_BOTTOM] = { "┴", "+" },
	[GLYPH_TASK_OPEN] = { "☐", "[ ]" },
	[GLYPH_TASK_DONE] = { "☑", "[x]" },
	[GLYPH_TASK_NOW] = { "▸", "[>]" },
};

static bool locale_is_utf8(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *value = NULL;

	for (size_t i = 0; i < 3 && (!value || !*value); i++)
		value = getenv(variables[i]);
	return value &&
	       (strcasestr(value, "utf-8") || strcasestr(value, "utf8"));
}

/* COLORFGBG ends in the number of the background colour; 7 and 15 are white. */
static bool background_is_light(void)
{
	const char *value = getenv("COLORFGBG");
	const char *last = value ? strrchr(value, ';') : NULL;

	return last && (!strcmp(last, ";7") || !strcmp(last, ";15"));
}

/* Guesses the colours of the terminal. GNU screen may not pass on what the
 * terminal behind it can show. */
static enum theme_depth guess_depth(const char *term)
{
	static const char *const rgb[] = { "kitty", "alacritty", "foot",
					   "ghostty", "direct" };
	const char *colours = getenv("COLORTERM");

	if (!term)
		term = "";
	if (colours && strncmp(term, "screen", 6) != 0 &&
	    (!strcmp(colours, "truecolor") || !strcmp(colours, "24bit")))
		return DEPTH_RGB;
	for (size_t i = 0; i < sizeof(rgb) / sizeof(*rgb); i++)
		if (strstr(term, rgb[i]))
			return DEPTH_RGB;
	return strstr(term, "256") ? DEPTH_256 : DEPTH_16;
}

static long env_number(const char *name)
{
	const char *value = getenv(name);

	return value ? strtol(value, NULL, 10) : 0;
}

/* True if the terminal is known to open OSC 8 links. tmux and GNU screen may
 * have another terminal behind them than these variables say. FORCE_HYPERLINK
 * is the variable of npm's supports-hyperlinks and others: 0 means no. */
static bool opens_links(const char *term)
{
	static const char *const terms[] = { "kitty", "alacritty", "foot",
					     "ghostty", "wezterm" };
	static const char *const programs[] = { "iTerm.app", "WezTerm",
						"vscode", "ghostty" };
	const char *forced = getenv("FORCE_HYPERLINK");
	const char *program = getenv("TERM_PROGRAM");

	if (forced && *forced)
		return strcmp(forced, "0") != 0;
	if (!term || getenv("TMUX") || !strncmp(term, "screen", 6) ||
	    !strncmp(term, "tmux", 4))
		return false;
	for (size_t i = 0; i < sizeof(terms) / sizeof(*terms); i++)
		if (strstr(term, terms[i]))
			return true;
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (program && !strcmp(program, programs[i]))
			return true;
	/* VTE 0.50 and Konsole 20.12 were the first. */
	return getenv("WT_SESSION") || env_number("VTE_VERSION") >= 5000 ||
	       env_number("KONSOLE_VERSION") >= 201200;
}

void theme_init(struct theme *t)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	*t = (struct theme){ .own = THEME_DARK,
			     .depth = guess_depth(term),
			     .ascii = !locale_is_utf8(),
			     .links = !term || strcmp(term, "linux") != 0,
			     .opens_links = opens_links(term) };
	if (no_color && *no_color)
		t->own = THEME_NONE;
	else if (background_is_light())
		t->own = THEME_LIGHT;
	theme_choose(t, THEME_AUTO);
}

void theme_choose(struct theme *t, enum theme_name chosen)
{
	t->chosen = chosen;
	t->name = chosen == THEME_AUTO ? t->own : chosen;
}

bool theme_parse(struct str name, enum theme_name *found)
{
	for (size_t i = 0; i < N_THEMES; i++) {
		if (str_is(name, names[i])) {
			*found = (enum theme_name)i;
			return true;
		}
	}
	return false;
}

const char *theme_name(enum theme_name name)
{
	return names[name];
}

void theme_background(struct theme *t, uint32_t rgb)
{
	/* Luminance by the weights of ITU-R BT.709, in ten-thousandths. */
	uint32_t light = 2126 * (rgb >> 16 & 0xFF) + 7152 * (rgb >> 8 & 0xFF) +
			 722 * (rgb & 0xFF);

	if (t->own != THEME_NONE)
		t->own = light > 1275000 ? THEME_LIGHT : THEME_DARK;
	theme_choose(t, t->chosen);
}

static void add_shade(const struct theme *t, const char *kind,
		      const struct ground *g, struct buf *out)
{
	struct shade c = t->name == THEME_LIGHT ? g->light : g->dark;

	if (t->depth == DEPTH_RGB)
		buf_addf(out, ";%s;2;%u;%u;%u", kind, c.rgb >> 16 & 0xFF,
			 c.rgb >> 8 & 0xFF, c.rgb & 0xFF);
	else
		buf_addf(out, ";%s;5;%u", kind, c.number);
}

/* Sets the colours of a text in a difference. Where there are no backgrounds,
 * the whole line has the colour of its side, and words that differ are shown in
 * reverse. */
static void add_ground(const struct theme *t, struct style style,
		       struct buf *out)
{
	bool is_removed = style.attrs & ATTR_REMOVED;
	bool is_word = style.attrs & ATTR_CHANGED;
	enum style_role role = is_removed ? STYLE_REMOVED : STYLE_ADDED;
	const struct ground *text = &ground_texts[style.role];

	if (t->depth != DEPTH_16 && t->name != THEME_NONE) {
		add_shade(t, "38",
			  text->dark.rgb ? text : &ground_texts[STYLE_PLAIN],
			  out);
		add_shade(t, "48",
			  &(is_word ? word_grounds : line_grounds)[is_removed],
			  out);
		return;
	}
	if (is_word)
		buf_adds(out, ";7");
	if (t->name != THEME_NONE)
		buf_addf(out, ";%s",
			 t->name == THEME_LIGHT ? looks[role].light
						: looks[role].dark);
}

void theme_style(const struct theme *t, struct style style, struct buf *out)
{
	/* Indexed by the bit of ATTR_..., lowest first. */
	static const char *const codes[] = {
		";1", ";2", ";3", ";4", ";9", ";7"
	};
	const struct appearance *look =
		&looks[style.role < N_STYLES ? style.role : 0];
	const char *colour = t->name == THEME_LIGHT ? look->light : look->dark;
	bool on_ground = style.attrs & (ATTR_ADDED | ATTR_REMOVED);
	unsigned attrs = style.attrs | (on_ground ? 0 : look->attrs);

	buf_adds(out, "\x1b[0");
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (attrs & 1U << i)
			buf_adds(out, codes[i]);
	if (on_ground) {
		add_ground(t, style, out);
	} else if (*colour && t->name != THEME_NONE) {
		buf_addc(out, ';');
		buf_adds(out, colour);
	}
	buf_addc(out, 'm');
}

const char *theme_glyph(const struct theme *t, enum glyph glyph)
{
	return t->ascii ? glyphs[glyph].ascii : glyphs[glyph].utf8;
}

const char *theme_spinner(const struct theme *t, size_t n)
{
	static const char *const utf8[] = { "⠋", "⠙", "⠹", "⠸", "⠼",
					    "⠴", "⠦", "⠧", "⠇", "⠏" };
	static const char *const ascii[] = { "|", "/", "-", "\\" };

	return t->ascii ? ascii[n % 4] : utf8[n % 10];
}

static bool is_plain(struct style s)
{
	return !s.attrs && s.role == STYLE_PLAIN;
}

static void add_span(const struct theme *t, const struct rows *rows,
		     const struct span *span, struct str text, struct buf *out)
{
	struct str address = rows_link(rows, span);
	bool links = t->links && address.len;

	if (!is_plain(span->style))
		theme_style(t, span->style, out);
	if (links) {
		buf_adds(out, "\x1b]8;;");
		buf_addstr(out, address);
		buf_adds(out, "\x1b\\");
	}
	buf_addstr(out, text);
	if (links)
		buf_adds(out, "\x1b]8;;\x1b\\");
	if (!is_plain(span->style))
		buf_adds(out, "\x1b[0m");
}

void theme_row(const struct theme *t, const struct rows *rows, size_t i,
	       size_t cells, struct buf *out)
{
	struct row_view v = rows_view(rows, i);
	size_t len = width_prefix(v.bytes, cells);

	for (size_t k = 0; k < v.n_spans && len; k++) {
		struct str text = { v.bytes.ptr, v.spans[k].len };

		if (text.len > len)
			text.len = len;
		add_span(t, rows, &v.spans[k], text, out);
		v.bytes = str_skip(v.bytes, text.len);
		len -= text.len;
	}
}

/* theme.c - the look of rows: colours, glyphs, and the bytes of a row. */
/* SPDX-License-Identifier: MIT */
#include "term/theme.h"

#include <stdlib.h>
#include <string.h>

#include "base/sanitize.h"
#include "base/str.h"

/* The built-in themes; theme_user.name is the name of the user's theme. */
static const char *const names[THEME_USER] = {
	"auto", "dark", "light", "none", "deuteranopia", "high-contrast",
};

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

/* What the accessible themes change; a row without colours and attributes is
 * that of looks. */
static const struct appearance deuteranopia[N_STYLES] = {
	[STYLE_OK] = { "94", "34", 0 },
	[STYLE_ERROR] = { "33", "33", ATTR_BOLD },
	[STYLE_ADDED] = { "94", "34", 0 },
	[STYLE_REMOVED] = { "33", "33", 0 },
	[STYLE_STRING] = { "96", "36", 0 },
};

static const struct appearance contrast[N_STYLES] = {
	[STYLE_ACCENT] = { "96", "34", ATTR_BOLD },
	[STYLE_MUTED] = { "97", "30", 0 },
	[STYLE_OK] = { "92", "34", ATTR_BOLD },
	[STYLE_WARN] = { "93", "35", ATTR_BOLD },
	[STYLE_ERROR] = { "91", "31", ATTR_BOLD },
	[STYLE_CODE] = { "96", "34", 0 },
	[STYLE_LINK] = { "96", "34", ATTR_UNDERLINE },
	[STYLE_USER] = { "97", "30", ATTR_BOLD },
	[STYLE_ADDED] = { "92", "34", ATTR_BOLD },
	[STYLE_REMOVED] = { "91", "31", ATTR_BOLD },
	[STYLE_KEYWORD] = { "95", "35", ATTR_BOLD },
	[STYLE_STRING] = { "92", "34", 0 },
	[STYLE_COMMENT] = { "97", "30", ATTR_ITALIC },
	[STYLE_NUMBER] = { "93", "31", 0 },
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

/* Each: added, removed. */
struct grounds {
	struct ground lines[2], words[2];
};

static const struct grounds usual_grounds = {
	{ { { 0x10331E, 22 }, { 0xDAFBE1, 194 } },
	  { { 0x431A1E, 52 }, { 0xFFEBE9, 224 } } },
	{ { { 0x185A32, 28 }, { 0xA0E6B0, 157 } },
	  { { 0x8A2A31, 88 }, { 0xFFB8B3, 217 } } },
};

static const struct grounds deuteranopia_grounds = {
	{ { { 0x0B2E4F, 17 }, { 0xDDF0FF, 195 } },
	  { { 0x453000, 58 }, { 0xFFF0D6, 230 } } },
	{ { { 0x154A7D, 25 }, { 0xA6D3FF, 153 } },
	  { { 0x6B4600, 94 }, { 0xFFCF8A, 222 } } },
};

static const struct grounds contrast_grounds = {
	{ { { 0x002A00, 22 }, { 0xE6FFE6, 195 } },
	  { { 0x330000, 52 }, { 0xFFECEC, 230 } } },
	{ { { 0x004A00, 22 }, { 0xB0FFB0, 157 } },
	  { { 0x640000, 52 }, { 0xFFD0D0, 224 } } },
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

static const struct ground contrast_text = { { 0xFFFFFF, 231 },
					     { 0x000000, 16 } };

static const struct ground deuteranopia_added = { { 0x9CCFFF, 153 },
						  { 0x0A3C78, 18 } };

static const struct ground deuteranopia_removed = { { 0xFFC875, 222 },
						    { 0x5C3A00, 58 } };

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

bool theme_locale_is_utf8(void)
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
			     .ascii = !theme_locale_is_utf8(),
			     .links = !term || strcmp(term, "linux") != 0,
			     .opens_links = opens_links(term) };
	if (no_color && *no_color)
		t->own = THEME_NONE;
	else if (background_is_light())
		t->own = THEME_LIGHT;
	theme_choose(t, THEME_AUTO);
}

/* True if the colours are those for a light background. */
static bool is_light(const struct theme *t)
{
	bool adapts =
		t->name == THEME_DEUTERANOPIA || t->name == THEME_CONTRAST;

	if (t->name == THEME_USER)
		return t->user.light;
	return t->name == THEME_LIGHT || (adapts && t->own == THEME_LIGHT);
}

void theme_choose(struct theme *t, enum theme_name chosen)
{
	t->choices++;
	t->chosen = chosen;
	t->name = chosen == THEME_AUTO ? t->own : chosen;
}

void theme_choose_user(struct theme *t, const struct theme_user *colours)
{
	t->user = *colours;
	theme_choose(t, THEME_USER);
}

bool theme_parse(struct str name, enum theme_name *found)
{
	for (size_t i = 0; i < THEME_USER; i++) {
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

static uint32_t squared_distance(uint32_t a, uint32_t b)
{
	uint32_t sum = 0;

	for (int shift = 0; shift <= 16; shift += 8) {
		int d = (int)(a >> shift & 0xFF) - (int)(b >> shift & 0xFF);

		sum += (uint32_t)(d * d);
	}
	return sum;
}

/* Returns the nearest of the colours 16 to 255 of xterm: a cube with six levels
 * of each colour, and 24 greys. */
static unsigned nearest_of_256(uint32_t rgb)
{
	static const uint8_t levels[] = { 0, 95, 135, 175, 215, 255 };
	uint32_t least = UINT32_MAX;
	unsigned found = 16;

	for (unsigned i = 16; i < 256; i++) {
		unsigned cube = i - 16;
		uint32_t grey = 8 + 10 * (i - 232);
		uint32_t c = i >= 232 ? grey << 16 | grey << 8 | grey
				      : (uint32_t)levels[cube / 36] << 16 |
						(uint32_t)levels[cube / 6 % 6]
							<< 8 |
						levels[cube % 6];

		if (squared_distance(rgb, c) < least) {
			least = squared_distance(rgb, c);
			found = i;
		}
	}
	return found;
}

/* Returns the SGR parameter of the nearest of the 16 colours of xterm. */
static unsigned nearest_of_16(uint32_t rgb)
{
	static const uint32_t colours[] = {
		0x000000, 0xCD0000, 0x00CD00, 0xCDCD00, 0x0000EE, 0xCD00CD,
		0x00CDCD, 0xE5E5E5, 0x7F7F7F, 0xFF0000, 0x00FF00, 0xFFFF00,
		0x5C5CFF, 0xFF00FF, 0x00FFFF, 0xFFFFFF
	};
	unsigned found = 0;

	for (unsigned i = 1; i < 16; i++)
		if (squared_distance(rgb, colours[i]) <
		    squared_distance(rgb, colours[found]))
			found = i;
	return found < 8 ? 30 + found : 90 + found - 8;
}

/* Adds a colour of the user's own. kind: "38" for text, "48" for a
 * background. */
static void add_rgb(const struct theme *t, const char *kind, uint32_t rgb,
		    struct buf *out)
{
	if (t->depth == DEPTH_RGB)
		buf_addf(out, ";%s;2;%u;%u;%u", kind, rgb >> 16 & 0xFF,
			 rgb >> 8 & 0xFF, rgb & 0xFF);
	else if (t->depth == DEPTH_256)
		buf_addf(out, ";%s;5;%u", kind, nearest_of_256(rgb & 0xFFFFFF));
	else
		buf_addf(out, ";%u", nearest_of_16(rgb & 0xFFFFFF));
}

static void add_shade(const struct theme *t, const char *kind,
		      const struct ground *g, struct buf *out)
{
	struct shade c = is_light(t) ? g->light : g->dark;

	if (t->depth == DEPTH_RGB)
		add_rgb(t, kind, c.rgb, out);
	else
		buf_addf(out, ";%s;5;%u", kind, c.number);
}

static const struct appearance *find_look(const struct theme *t,
					  enum style_role role)
{
	const struct appearance *own =
		t->name == THEME_DEUTERANOPIA ? &deuteranopia[role]
		: t->name == THEME_CONTRAST   ? &contrast[role]
					      : NULL;

	return own && (own->dark || own->attrs) ? own : &looks[role];
}

/* Returns the user's own colour of a role, or 0. */
static uint32_t user_text(const struct theme *t, enum style_role role)
{
	return t->name == THEME_USER ? t->user.text[role] : 0;
}

static void add_text_colour(const struct theme *t, enum style_role role,
			    struct buf *out)
{
	const struct appearance *look = find_look(t, role);
	const char *colour = is_light(t) ? look->light : look->dark;

	if (user_text(t, role))
		add_rgb(t, "38", user_text(t, role), out);
	else if (*colour && t->name != THEME_NONE)
		buf_addf(out, ";%s", colour);
}

static const struct grounds *find_grounds(const struct theme *t)
{
	return t->name == THEME_DEUTERANOPIA ? &deuteranopia_grounds
	       : t->name == THEME_CONTRAST   ? &contrast_grounds
					     : &usual_grounds;
}

/* Returns the colour of text on a background of this theme. */
static const struct ground *find_ground_text(const struct theme *t,
					     enum style_role role)
{
	if (t->name == THEME_CONTRAST || !ground_texts[role].dark.rgb)
		return &contrast_text;
	if (t->name == THEME_DEUTERANOPIA && role == STYLE_ADDED)
		return &deuteranopia_added;
	if (t->name == THEME_DEUTERANOPIA && role == STYLE_REMOVED)
		return &deuteranopia_removed;
	return &ground_texts[role];
}

/* Sets the colours of a text in a difference. Where there are no backgrounds,
 * the whole line has the colour of its side, and words that differ are shown in
 * reverse. */
static void add_ground(const struct theme *t, struct style style,
		       struct buf *out)
{
	const struct grounds *g = find_grounds(t);
	bool is_removed = style.attrs & ATTR_REMOVED;
	bool is_word = style.attrs & ATTR_CHANGED;
	uint32_t own = (is_word ? t->user.words : t->user.lines)[is_removed];

	if (t->depth == DEPTH_16 || t->name == THEME_NONE) {
		if (is_word)
			buf_adds(out, ";7");
		add_text_colour(t, is_removed ? STYLE_REMOVED : STYLE_ADDED,
				out);
		return;
	}
	if (is_word && t->name == THEME_CONTRAST)
		buf_adds(out, ";1;4");
	if (user_text(t, style.role))
		add_rgb(t, "38", user_text(t, style.role), out);
	else
		add_shade(t, "38", find_ground_text(t, style.role), out);
	if (t->name == THEME_USER && own)
		add_rgb(t, "48", own, out);
	else
		add_shade(t, "48", &(is_word ? g->words : g->lines)[is_removed],
			  out);
}

void theme_style(const struct theme *t, struct style style, struct buf *out)
{
	/* Indexed by the bit of ATTR_..., lowest first. */
	static const char *const codes[] = {
		";1", ";2", ";3", ";4", ";9", ";7"
	};
	enum style_role role = style.role < N_STYLES ? style.role : 0;
	bool on_ground = style.attrs & (ATTR_ADDED | ATTR_REMOVED);
	unsigned attrs = style.attrs;

	if (!on_ground && !(user_text(t, role) && role != STYLE_LINK))
		attrs |= find_look(t, role)->attrs;
	buf_adds(out, "\x1b[0");
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (attrs & 1U << i)
			buf_adds(out, codes[i]);
	if (on_ground)
		add_ground(t, style, out);
	else
		add_text_colour(t, role, out);
	buf_addc(out, 'm');
}

const char *theme_glyph(const struct theme *t, enum glyph glyph)
{
	return t->ascii ? glyphs[glyph].ascii : glyphs[glyph].utf8;
}

static void add_bars(const struct theme *t, size_t n, struct buf *out)
{
	while (n--)
		buf_adds(out, theme_glyph(t, GLYPH_BOX_H));
}

void theme_add_rule(const struct theme *t, struct str title, size_t cells,
		    struct buf *out)
{
	enum { BEFORE = 2, AROUND = BEFORE + 3 }; /* "-- title -" */
	struct buf clean = BUF_INIT(4096);
	struct str shown;

	title.len = title.len < 1024 ? title.len : 1024;
	sanitize_line(title, &clean);
	shown = str_trim(buf_str(&clean));
	shown.len = cells > AROUND ? width_prefix(shown, cells - AROUND) : 0;
	if (shown.len) {
		add_bars(t, BEFORE, out);
		buf_addc(out, ' ');
		buf_addstr(out, shown);
		buf_addc(out, ' ');
		cells -= BEFORE + 2 + width_cells(shown);
	}
	add_bars(t, cells, out);
	buf_release(&clean);
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

/* Appends text; ROWS_CUT is not in every character set. */
static void add_text(const struct theme *t, struct str text, struct buf *out)
{
	size_t at;

	while (t->ascii && (at = str_search(text, STR(ROWS_CUT))) < text.len) {
		buf_add(out, text.ptr, at);
		buf_addc(out, '>');
		text = str_skip(text, at + strlen(ROWS_CUT));
	}
	buf_addstr(out, text);
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
	add_text(t, text, out);
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

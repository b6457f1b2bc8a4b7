/* appearance.c - what the user chose for the screen: colours, glyphs. */
/* SPDX-License-Identifier: MIT */
#include "cmd/appearance.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "config/toml.h"
#include "config/toml_value.h"
#include "ui/calls/toolview.h"

enum { MOST_STORED = 64 }; /* bytes read of the stored theme's name */

static const char file_name[] = "theme";

/* A key of [themes.NAME], and the member of struct theme_user that it sets. */
struct colour_key {
	const char *name;
	size_t offset;
};

#define TEXT(role)                                                             \
	(offsetof(struct theme_user, text) + (role) * sizeof(uint32_t))
#define LINES(i) (offsetof(struct theme_user, lines) + (i) * sizeof(uint32_t))
#define WORDS(i) (offsetof(struct theme_user, words) + (i) * sizeof(uint32_t))

static const struct colour_key colour_keys[] = {
	{ "accent", TEXT(STYLE_ACCENT) },   { "added", TEXT(STYLE_ADDED) },
	{ "added_background", LINES(0) },   { "added_word", WORDS(0) },
	{ "code", TEXT(STYLE_CODE) },       { "comment", TEXT(STYLE_COMMENT) },
	{ "error", TEXT(STYLE_ERROR) },     { "keyword", TEXT(STYLE_KEYWORD) },
	{ "link", TEXT(STYLE_LINK) },       { "muted", TEXT(STYLE_MUTED) },
	{ "number", TEXT(STYLE_NUMBER) },   { "primary", TEXT(STYLE_USER) },
	{ "removed", TEXT(STYLE_REMOVED) }, { "removed_background", LINES(1) },
	{ "removed_word", WORDS(1) },       { "string", TEXT(STYLE_STRING) },
	{ "success", TEXT(STYLE_OK) },      { "warning", TEXT(STYLE_WARN) },
};

/* Keys of a theme that need no warning. The second row is of the Python
 * program, which shares config.toml. */
static const char *const other_keys[] = {
	"dark",         "label", "background", "foreground", "mode_bash",
	"mode_command", "panel", "secondary",  "skill",      "skill_hover",
	"surface",      "tool",  "tool_hover",
};

/* Parses "#1a7f37". */
static bool parse_colour(const struct toml_value *v, uint32_t *colour)
{
	char *end;

	if (v->kind != TOML_STRING || v->text_len != 7 || v->text[0] != '#' ||
	    strspn(v->text + 1, "0123456789abcdefABCDEF") != 6)
		return false;
	*colour = (uint32_t)strtoul(v->text + 1, &end, 16) | THEME_COLOUR_SET;
	return true;
}

/* Prints a warning about a value, with its file and line. app NULL: none. */
static void warn_value(struct app *app, const char *theme,
		       const struct toml_value *v, const char *advice)
{
	const struct settings_file *files;
	size_t n = app ? settings_files(app->settings, &files) : 0;
	const char *path = "config.toml";

	if (!app)
		return;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(files[i].name, "config.toml"))
			path = files[i].path;
	app_warn("%s:%d: [themes.%s] %s: %s", path, v->line, theme, v->key,
		 advice);
}

static void read_key(struct app *app, const struct toml_value *v,
		     struct theme_user *theme)
{
	for (size_t i = 0; i < sizeof(colour_keys) / sizeof(*colour_keys);
	     i++) {
		const struct colour_key *k = &colour_keys[i];
		uint32_t colour = 0;

		if (strcmp(v->key, k->name) != 0)
			continue;
		if (!parse_colour(v, &colour))
			warn_value(app, theme->name, v,
				   "use a colour such as \"#1a7f37\"");
		memcpy((char *)theme + k->offset, &colour, sizeof(colour));
		return;
	}
	for (size_t i = 0; i < sizeof(other_keys) / sizeof(*other_keys); i++)
		if (!strcmp(v->key, other_keys[i]))
			return;
	warn_value(app, theme->name, v, "unknown key; ignored");
}

/* Reads the user's own theme with this name. Returns false if there is none.
 * warns: prints what is wrong with it. */
static bool read_user_theme(struct app *app, struct str name, bool warns,
			    struct theme_user *theme)
{
	const struct toml_value *all = settings_toml(app->settings, "themes");
	const struct toml_value *own = NULL;
	const struct toml_value *dark;

	*theme = (struct theme_user){ 0 };
	for (size_t i = 0; all && i < all->n_items; i++)
		if (str_is(name, all->items[i].key))
			own = &all->items[i];
	if (!own || own->kind != TOML_TABLE || name.len >= THEME_NAME_BYTES)
		return false;
	memcpy(theme->name, name.ptr, name.len);
	dark = toml_get(own, "dark");
	theme->light = dark && dark->kind == TOML_BOOL && !dark->integer;
	for (size_t i = 0; i < own->n_items; i++)
		read_key(warns ? app : NULL, &own->items[i], theme);
	return true;
}

/* The default themes of the Python program have other names. A theme of the
 * user's own may not hide a built-in one. */
static bool use_theme(struct app *app, struct theme *t, struct str name,
		      bool warns)
{
	struct theme_user own;
	enum theme_name found;

	if (str_is(name, "langchain"))
		name = STR("dark");
	else if (str_is(name, "langchain-light"))
		name = STR("light");
	if (theme_parse(name, &found))
		theme_choose(t, found);
	else if (read_user_theme(app, name, warns, &own))
		theme_choose_user(t, &own);
	else
		return false;
	return true;
}

bool appearance_try(struct app *app, struct theme *t, struct str name)
{
	return use_theme(app, t, name, false);
}

const char *appearance_theme(const struct theme *t)
{
	return t->name == THEME_USER ? t->user.name : theme_name(t->name);
}

void appearance_list_themes(struct app *app, struct buf *out)
{
	static const char *const notes[THEME_USER] = {
		[THEME_AUTO] = "like the terminal's background",
		[THEME_NONE] = "without colours",
		[THEME_DEUTERANOPIA] = "blue and orange for green and red",
		[THEME_CONTRAST] = "no dim text, strong differences",
	};
	const struct toml_value *all = settings_toml(app->settings, "themes");

	for (int i = 0; i < THEME_USER; i++)
		buf_addf(out, "%s\t%s\n", theme_name((enum theme_name)i),
			 notes[i] ? notes[i] : "");
	for (size_t i = 0; all && i < all->n_items; i++) {
		const struct toml_value *v = &all->items[i];

		if (v->kind != TOML_TABLE || strlen(v->key) != v->key_len ||
		    v->key_len >= THEME_NAME_BYTES)
			continue;
		app_clean(app, CLEAN_NAME, str_of(v->key), out);
		buf_adds(out, "\tof config.toml\n");
	}
}

/* Appends the names of all themes: "auto, dark, light". */
static void add_names(struct app *app, struct buf *out)
{
	struct buf list = BUF_INIT(1 << 14);
	struct str rest;
	struct str line;

	appearance_list_themes(app, &list);
	rest = buf_str(&list);
	while (str_split(&rest, '\n', &line)) {
		line.len = str_find(line, '\t');
		buf_addf(out, "%s%.*s", out->len ? ", " : "", (int)line.len,
			 line.ptr);
	}
	buf_release(&list);
}

/* Chooses the theme that /theme stored. */
static void choose_stored(struct app *app, struct theme *t)
{
	struct buf text = BUF_INIT(MOST_STORED);
	struct error ignored = { 0 };
	char *path = app_state_path(app, file_name, &ignored);

	if (path && path_read(path, &text, &ignored) == 0)
		(void)use_theme(app, t, str_trim(buf_str(&text)), true);
	buf_release(&text);
	free(path);
}

/* Returns the value of [ui] theme, or NULL if it is not set. */
static const char *get_theme_setting(struct app *app)
{
	const char *value = NULL;
	struct error err = { 0 };

	if (settings_string(app->settings, NULL, "ui.theme", &value, &err) < 0)
		(void)app_fail(app, &err);
	return value && value[0] ? value : NULL;
}

/* Uses [ui] theme, else the theme that /theme stored. NO_COLOR takes
 * precedence. */
static void load_theme(struct app *app, struct theme *t)
{
	const char *value = get_theme_setting(app);
	struct buf names = BUF_INIT(1 << 14);

	if (!value)
		choose_stored(app, t);
	else if (!use_theme(app, t, str_of(value), true)) {
		add_names(app, &names);
		app_warn("[ui] theme = \"%s\": use one of %s", value,
			 names.len ? names.ptr : "");
	}
	if (t->own == THEME_NONE)
		theme_choose(t, THEME_AUTO);
	buf_release(&names);
}

static void load_glyphs(struct app *app, struct theme *t)
{
	const char *value = NULL;
	struct error err = { 0 };

	if (settings_string(app->settings, NULL, "ui.glyphs", &value, &err) < 0)
		(void)app_fail(app, &err);
	else if (!strcmp(value, "ascii") || !strcmp(value, "unicode"))
		t->ascii = value[0] == 'a';
	else if (strcmp(value, "auto") != 0)
		app_warn("[ui] glyphs = \"%s\": use auto, unicode or ascii",
			 value);
}

/* Returns [ui] output_lines. */
static size_t load_output_lines(struct app *app)
{
	int64_t lines = TOOLVIEW_LINES;
	struct error err = { 0 };

	if (settings_int(app->settings, NULL, "ui.output_lines", &lines, &err) <
	    0)
		(void)app_fail(app, &err);
	if (lines < 0 || lines > TOOLVIEW_MOST_LINES) {
		app_warn("[ui] output_lines = %lld: use 0 to %d",
			 (long long)lines, TOOLVIEW_MOST_LINES);
		lines = TOOLVIEW_LINES;
	}
	return (size_t)lines;
}

void appearance_load(struct app *app, struct theme *t, size_t *output_lines)
{
	theme_init(t);
	load_theme(app, t);
	load_glyphs(app, t);
	if (output_lines)
		*output_lines = load_output_lines(app);
}

static int store_theme(struct app *app, const char *name, struct error *err)
{
	char *path = app_state_path(app, file_name, err);
	char *state = path ? app_state_path(app, "", err) : NULL;
	int rc = state ? path_mkdirs(state, 0700, err) : -1;

	if (rc == 0)
		rc = path_write(path, str_of(name), 0600, err);
	free(state);
	free(path);
	return rc;
}

int appearance_choose(struct app *app, struct theme *t, const char *name,
		      struct error *err)
{
	struct buf names = BUF_INIT(1 << 14);
	const char *value;

	if (!use_theme(app, t, str_of(name), true)) {
		add_names(app, &names);
		error_set(err, ERR_USAGE, "unknown theme: %.40s", name);
		(void)error_hint(err, "Type /theme and one of %s.",
				 names.len ? names.ptr : "");
		buf_release(&names);
		return -1;
	}
	value = get_theme_setting(app);
	name = t->chosen == THEME_USER ? t->user.name : theme_name(t->chosen);
	if (value && strcmp(value, name) != 0)
		app_warn("[ui] theme = \"%s\" is set and applies again in the "
			 "next session",
			 value);
	return store_theme(app, name, err);
}

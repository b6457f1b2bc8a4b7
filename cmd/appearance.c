/* appearance.c - what the user chose for the screen: colours, glyphs. */
/* SPDX-License-Identifier: MIT */
#include "cmd/appearance.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/str.h"
#include "ui/calls/toolview.h"

enum { MOST_STORED = 64 }; /* bytes read of the stored theme's name */

static const char file_name[] = "theme";

/* The Python dcode shares config.toml: its two default themes are accepted. */
static bool parse_name(struct str name, enum theme_name *found)
{
	if (str_is(name, "langchain"))
		name = STR("dark");
	else if (str_is(name, "langchain-light"))
		name = STR("light");
	return theme_parse(name, found);
}

/* Reads the theme that /theme stored. */
static bool read_stored(struct app *app, enum theme_name *found)
{
	struct buf text = BUF_INIT(MOST_STORED);
	struct error ignored = { 0 };
	char *path = app_state_path(app, file_name, &ignored);
	bool known = path && path_read(path, &text, &ignored) == 0 &&
		     theme_parse(str_trim(buf_str(&text)), found);

	buf_release(&text);
	free(path);
	return known;
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
	enum theme_name name = THEME_AUTO;
	bool known = value ? parse_name(str_of(value), &name)
			   : read_stored(app, &name);

	if (value && !known)
		app_warn("[ui] theme = \"%s\": use auto, dark, light or none",
			 value);
	if (known && t->own != THEME_NONE)
		theme_choose(t, name);
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

static int store_theme(struct app *app, enum theme_name name, struct error *err)
{
	char *path = app_state_path(app, file_name, err);
	char *state = path ? app_state_path(app, "", err) : NULL;
	int rc = state ? path_mkdirs(state, 0700, err) : -1;

	if (rc == 0)
		rc = path_write(path, str_of(theme_name(name)), 0600, err);
	free(state);
	free(path);
	return rc;
}

int appearance_choose(struct app *app, struct theme *t, const char *name,
		      struct error *err)
{
	const char *value;
	enum theme_name chosen;

	if (!parse_name(str_of(name), &chosen)) {
		error_set(err, ERR_USAGE, "unknown theme: %.40s", name);
		return error_hint(err,
				  "Type /theme auto, dark, light or none.");
	}
	theme_choose(t, chosen);
	value = get_theme_setting(app);
	if (value && strcmp(value, theme_name(chosen)) != 0)
		app_warn("[ui] theme = \"%s\" is set and applies again in the "
			 "next session",
			 value);
	return store_theme(app, chosen, err);
}

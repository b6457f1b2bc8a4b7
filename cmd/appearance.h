/* appearance.h - what the user chose for the screen: colours, glyphs. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_APPEARANCE_H
#define CMD_APPEARANCE_H

#include "cmd/app.h"
#include "term/theme.h"

/* Loads the theme from [ui] theme, else the stored one; NO_COLOR takes
 * precedence over both. Glyphs come from [ui] glyphs. *output_lines gets [ui]
 * output_lines (see struct toolview_look), unless it is NULL. An invalid value
 * prints a warning. */
void appearance_load(struct app *app, struct theme *t, size_t *output_lines);
/* Returns the name of the theme that is in use. */
const char *appearance_theme(const struct theme *t);
/* Appends the names of all themes, those of [themes] in config.toml too, each
 * with a note: "none\twithout colours\n". */
void appearance_list_themes(struct app *app, struct buf *out);
/* Uses this theme until another is chosen, and prints no warning about it.
 * False: the name is unknown. */
bool appearance_try(struct app *app, struct theme *t, struct str name);
/* Switches to this theme and stores it for later sessions. -1 with err:
 * ERR_USAGE if the name is unknown, or the theme could not be stored. */
int appearance_choose(struct app *app, struct theme *t, const char *name,
		      struct error *err);

#endif

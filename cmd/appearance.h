/* appearance.h - the colours and glyphs that the user chose for the screen. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_APPEARANCE_H
#define CMD_APPEARANCE_H

#include "cmd/app.h"
#include "term/theme.h"

/* Loads the theme from [ui] theme, else the stored one; NO_COLOR takes
 * precedence over both. Glyphs come from [ui] glyphs. An invalid value prints a
 * warning. */
void appearance_load(struct app *app, struct theme *t);
/* Switches to this theme and stores it for later sessions. -1 with err:
 * ERR_USAGE if the name is unknown, or the theme could not be stored. */
int appearance_choose(struct app *app, struct theme *t, const char *name,
		      struct error *err);

#endif

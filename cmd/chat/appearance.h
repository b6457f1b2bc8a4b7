/* appearance.h - which colours and signs the user wants on the screen. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_APPEARANCE_H
#define CMD_CHAT_APPEARANCE_H

#include "cmd/app.h"
#include "term/theme.h"

/* The theme of [ui] theme, else the one that was stored; NO_COLOR takes
 * precedence over both. Signs as [ui] glyphs says. A value that is none is a
 * warning. */
void appearance_load(struct app *app, struct theme *t);
/* Draws with this theme from now on, and stores it for the next sessions. -1
 * with err: ERR_USAGE, it is no theme, or it could not be stored. */
int appearance_choose(struct app *app, struct theme *t, const char *name,
		      struct error *err);

#endif

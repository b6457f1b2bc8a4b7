/* elsewhere.h - the user's own editor and pager, which take the terminal. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_ELSEWHERE_H
#define CMD_CHAT_ELSEWHERE_H

#include "cmd/chat/live_state.h"
#include "cmd/manual.h"

/* The draft in $VISUAL, $EDITOR or vi. A status other than 0 keeps the draft
 * as it was. */
void elsewhere_edit(struct live *l);
/* The same of any text: see external_edit_text(). */
bool elsewhere_edit_text(struct live *l, struct buf *text);
/* The newest call with all of its output: above the live part, or in $PAGER
 * (less -R) when it is longer than the screen. */
void elsewhere_show_call(struct live *l);
/* The same of a page of the manual, behind the slash command of its name. */
void elsewhere_show_page(struct live *l, const struct manual_page *page);

#endif

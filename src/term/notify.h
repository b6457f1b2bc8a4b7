/* notify.h - calls a user who looks elsewhere. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_NOTIFY_H
#define TERM_NOTIFY_H

#include <stdbool.h>

#include "base/buf.h"

enum notify_way { NOTIFY_OFF, NOTIFY_BELL, NOTIFY_DESKTOP, N_NOTIFY_WAYS };
enum notify_event { NOTIFY_TURN, NOTIFY_QUESTION };

/* "off", "bell", "desktop"; false when it is none. */
bool notify_parse(struct str name, enum notify_way *found);
/*
 * What to send to the terminal: constants. NOTIFY_DESKTOP is OSC 777 of rxvt
 * where TERM or VTE_VERSION say that it is known, else OSC 9 of iTerm2, which
 * most others have; in tmux both are passed through, where its
 * allow-passthrough lets them, behind a bell.
 */
struct str notify_text(enum notify_way way, enum notify_event event);

#endif

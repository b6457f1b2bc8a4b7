/* notify.c - calls a user who looks elsewhere. */
/* SPDX-License-Identifier: MIT */
#include "term/notify.h"

#include <stdlib.h>

#include "base/str.h"

#define TURN "the turn has ended"
#define QUESTION "a question waits"
#define OSC_9(text) "\x1b]9;dcode: " text "\x1b\\"
#define OSC_777(text) "\x1b]777;notify;dcode;" text "\x1b\\"
/* tmux(1), allow-passthrough: ESC is doubled. */
#define TMUX_9(text) "\a\x1bPtmux;\x1b\x1b]9;dcode: " text "\a\x1b\\"

bool notify_parse(struct str name, enum notify_way *found)
{
	static const char *const names[] = { "off", "bell", "desktop" };

	for (size_t i = 0; i < N_NOTIFY_WAYS; i++) {
		if (str_is(name, names[i])) {
			*found = (enum notify_way)i;
			return true;
		}
	}
	return false;
}

static bool has_osc_777(void)
{
	const char *vte = getenv("VTE_VERSION");

	return (vte && vte[0]) || str_starts(str_of(getenv("TERM")), "rxvt") ||
	       str_starts(str_of(getenv("TERM")), "foot");
}

struct str notify_text(enum notify_way way, enum notify_event event)
{
	bool asks = event == NOTIFY_QUESTION;

	if (way == NOTIFY_OFF)
		return (struct str){ 0 };
	if (way == NOTIFY_BELL)
		return STR("\a");
	if (getenv("TMUX"))
		return asks ? STR(TMUX_9(QUESTION)) : STR(TMUX_9(TURN));
	if (has_osc_777())
		return asks ? STR(OSC_777(QUESTION)) : STR(OSC_777(TURN));
	return asks ? STR(OSC_9(QUESTION)) : STR(OSC_9(TURN));
}

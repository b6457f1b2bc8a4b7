/* live_notify.h - whether, and when, a user who looks elsewhere is called. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_LIVE_LIVE_NOTIFY_H
#define CMD_LIVE_LIVE_NOTIFY_H

#include <stdint.h>

#include "term/tty.h"

enum live_focus {
	LIVE_FOCUS_UNKNOWN, /* the terminal has not told */
	LIVE_FOCUS_HERE,
	LIVE_FOCUS_ELSEWHERE,
};

struct live_notify {
	enum notify_way way;
	enum live_focus focus;
	int64_t after_ms; /* without a key */
	int64_t rang;     /* for the question that was opened then */
};

#endif

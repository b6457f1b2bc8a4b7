/* keys.h - parses a terminal's input into text, keys, pastes and replies. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_KEYS_H
#define TERM_KEYS_H

/*
 * Turns bytes from the terminal, split at any position, into events. The table
 * in editor.c defines what keys do. Begin reading at keys_feed().
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum key_name {
	KEY_NONE,
	KEY_CHAR, /* a character with Ctrl, Alt or Super */
	KEY_ENTER,
	KEY_TAB,
	KEY_BACKSPACE,
	KEY_ESCAPE,
	KEY_UP,
	KEY_DOWN,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_HOME,
	KEY_END,
	KEY_INSERT,
	KEY_DELETE,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_F1, /* F12 is KEY_F1 + 11 */
	KEY_F12 = KEY_F1 + 11,
};

enum { KEY_SHIFT = 1, KEY_ALT = 2, KEY_CTRL = 4, KEY_SUPER = 8 };

struct key {
	enum key_name name;
	uint32_t c;    /* character of KEY_CHAR; ASCII letters in lower case */
	unsigned mods; /* KEY_SHIFT ... */
};

enum key_event_kind {
	KEY_EVENT_TEXT,        /* text: printable UTF-8 that was typed */
	KEY_EVENT_KEY,         /* key */
	KEY_EVENT_PASTE_BEGIN, /* bracketed paste */
	KEY_EVENT_PASTE,       /* text: any bytes of the paste */
	KEY_EVENT_PASTE_END,
	KEY_EVENT_BACKGROUND,  /* value: 0xRRGGBB, from the reply to OSC 11 */
	KEY_EVENT_KITTY_FLAGS, /* value: from the reply to CSI ? u */
	KEY_EVENT_DEVICE, /* the reply to CSI c, which every terminal sends */
	KEY_EVENT_MODE,   /* value: the number of a private mode; state: from
			     DECRPM (1 set, 2 reset, 0 unknown) */
	KEY_EVENT_FOCUS,  /* value: 1 if the window got the focus, 0 if it lost
			     it */
};

struct key_event {
	enum key_event_kind kind;
	struct key key;
	struct str text; /* borrowed until the callback returns */
	uint32_t value;
	uint32_t state;
};

struct key_sink {
	void (*event)(void *context, const struct key_event *event);
	void *context;
};

/* An unfinished sequence is given up KEYS_WAIT_MS after its last byte; a lone
 * ESC then counts as the Esc key. Times are rounded down to milliseconds, so
 * that key is reported 25 to 26 ms after its byte. */
enum { KEYS_WAIT_MS = 26, KEYS_SEQUENCE_MAX = 96 };

/* The state between two reads, of fixed size. Zero-initialise. */
struct key_reader {
	bool erase_is_bs; /* set by the caller: the Backspace key sends 0x08
			     (termios VERASE), so 0x08 does not mean
			     Ctrl+Backspace */

	unsigned char state;
	bool alt;   /* ESC preceded the introducer */
	bool stale; /* the wait has ended: the rest of the sequence is discarded
		     */
	bool late;  /* a lone ESC was reported and nothing has arrived since */
	bool over;  /* the sequence is too long to be stored and is ignored */
	unsigned char introducer; /* '[', 'O', ']', 'P', 'X', '^', '_' */
	unsigned char len;        /* bytes in sequence */
	unsigned char skip;       /* missing bytes of an X10 mouse report */
	unsigned char matched;    /* bytes seen of a paste's end mark */
	unsigned char part_len;
	unsigned char part[4]; /* an unfinished UTF-8 sequence */
	char sequence[KEYS_SEQUENCE_MAX];
	int64_t last_ms; /* time of the last byte */
	int64_t late_ms; /* time when a lone ESC was reported */
};

/*
 * Turns bytes read at now_ms (any steady clock) into events, which the sink
 * gets before this returns. The parts of a sequence may arrive up to
 * KEYS_WAIT_MS apart. If the rest arrives later, it is discarded and never
 * becomes text. Runs in linear time.
 */
void keys_feed(struct key_reader *k, struct str bytes, int64_t now_ms,
	       struct key_sink sink);
/* True until the end of a paste has arrived. */
bool keys_in_paste(const struct key_reader *k);
/* Returns when keys_timeout() must be called; INT64_MAX: not needed. */
int64_t keys_deadline(const struct key_reader *k);
/* Handles a sequence whose rest did not arrive; does nothing before the
 * deadline. */
void keys_timeout(struct key_reader *k, int64_t now_ms, struct key_sink sink);

#endif

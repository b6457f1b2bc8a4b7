/* keys.h - what a terminal sends, as text, keys, pastes and replies. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_KEYS_H
#define TERM_KEYS_H

/*
 * Bytes of the terminal, cut anywhere, become events. What the keys mean
 * is in the table of editor.c. Begin reading at keys_feed().
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
	KEY_F1, /* to KEY_F1 + 11 */
	KEY_F12 = KEY_F1 + 11,
};

enum { KEY_SHIFT = 1, KEY_ALT = 2, KEY_CTRL = 4, KEY_SUPER = 8 };

struct key {
	enum key_name name;
	uint32_t c;    /* of KEY_CHAR; letters of ASCII in lower case */
	unsigned mods; /* KEY_SHIFT ... */
};

enum key_event_kind {
	KEY_EVENT_TEXT,        /* text: printable UTF-8 that was typed */
	KEY_EVENT_KEY,         /* key */
	KEY_EVENT_PASTE_BEGIN, /* bracketed paste */
	KEY_EVENT_PASTE,       /* text: any bytes of it */
	KEY_EVENT_PASTE_END,
	KEY_EVENT_BACKGROUND,  /* value: 0xRRGGBB, the answer to OSC 11 */
	KEY_EVENT_KITTY_FLAGS, /* value: the answer to CSI ? u */
	KEY_EVENT_DEVICE, /* the answer to CSI c; every terminal gives it */
	KEY_EVENT_MODE,   /* value: a private mode's number, state: of
			     DECRPM (1 set, 2 reset, 0 unknown) */
	KEY_EVENT_FOCUS,  /* value: 1 the window has it, 0 it lost it */
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

/* KEYS_WAIT_MS after the last byte of an unfinished sequence nothing more is
 * expected: a lone ESC is the key then. Whole milliseconds are cut off, so it
 * acts 25 to 26 ms after its byte. */
enum { KEYS_WAIT_MS = 26, KEYS_SEQUENCE_MAX = 96 };

/* The state between two reads; bounded. Zero-initialise. */
struct key_reader {
	bool erase_is_bs; /* set by the caller: the Backspace key sends 0x08
			     (termios VERASE), so it is not Ctrl+Backspace */

	unsigned char state;
	bool alt;   /* ESC stood before the introducer */
	bool stale; /* the wait ended: the rest is swallowed */
	bool late;  /* a lone ESC has acted, nothing came since */
	bool over;  /* the sequence is longer than kept: it means nothing */
	unsigned char introducer; /* '[', 'O', ']', 'P', 'X', '^', '_' */
	unsigned char len;        /* bytes in sequence */
	unsigned char skip;       /* bytes of an X10 mouse report to come */
	unsigned char matched;    /* bytes of the end mark of a paste */
	unsigned char part_len;
	unsigned char part[4]; /* an unfinished UTF-8 sequence */
	char sequence[KEYS_SEQUENCE_MAX];
	int64_t last_ms; /* when the last byte came */
	int64_t late_ms; /* when a lone ESC acted */
};

/*
 * Turns bytes that were read at now_ms (any steady clock) into events, which
 * the sink gets before this returns. Pieces of one sequence may be as far
 * apart as KEYS_WAIT_MS; the rest of one that comes later is swallowed and
 * never becomes text. Work is linear in the bytes.
 */
void keys_feed(struct key_reader *k, struct str bytes, int64_t now_ms,
	       struct key_sink sink);
/* The end of a paste has not come. */
bool keys_in_paste(const struct key_reader *k);
/* When keys_timeout() has to be called; INT64_MAX: nothing is awaited. */
int64_t keys_deadline(const struct key_reader *k);
/* Acts on what was awaited in vain; nothing before the deadline. */
void keys_timeout(struct key_reader *k, int64_t now_ms, struct key_sink sink);

#endif

/* keys_impl.h - what finished sequences mean: for keys.c only. */
/* SPDX-License-Identifier: MIT */
#ifndef TERM_KEYS_IMPL_H
#define TERM_KEYS_IMPL_H

#include "term/keys.h"

enum { /* struct key_reader.state */
       GROUND = 0,
       ESCAPE,        /* after ESC; alt: after two */
       CSI,           /* ECMA-48 5.4: until 0x40..0x7E */
       SS3,           /* until a letter */
       STRING,        /* OSC, DCS, SOS, PM, APC: until BEL or ST */
       STRING_ESCAPE, /* ESC within such a string */
       MOUSE,         /* the bytes of an X10 mouse report */
       LATE,          /* a lone ESC has acted; a rest may follow */
       PASTE,
};

/* What a sequence is, beyond its events. */
enum key_sequence {
	KEY_SEQUENCE_UNKNOWN,
	KEY_SEQUENCE_KNOWN,
	KEY_SEQUENCE_PASTE, /* begins a paste */
	KEY_SEQUENCE_MOUSE, /* three bytes follow */
};

void keys_emit_key(struct key_sink sink, enum key_name name, uint32_t c,
		   unsigned mods);
/* A character that came with modifiers, as Ctrl+Shift+Z or as text. */
void keys_emit_char(struct key_sink sink, uint32_t c, unsigned mods);
/* body: what stands between CSI and final. extra: mods of a leading ESC. A
 * sink without a function only learns what it is. */
enum key_sequence keys_decode_csi(struct str body, char final, unsigned extra,
				  struct key_sink sink);
enum key_sequence keys_decode_ss3(struct str body, char final, unsigned extra,
				  struct key_sink sink);
void keys_decode_osc(struct str body, struct key_sink sink);
/* Bytes of the character at p, which becomes *c; 0: it is none, n + 1: its end
 * is missing. */
size_t keys_next_char(const unsigned char *p, size_t n, uint32_t *c);
/* Of a broken character: the bytes that could have begun one, or its first. */
size_t keys_broken_length(const unsigned char *p, size_t n);
/* Writes c as UTF-8 to out and returns its bytes; 0: it is no character. */
size_t keys_encode(uint32_t c, char out[4]);

#endif

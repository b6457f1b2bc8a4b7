/* keys.c - parses a terminal's input into text, keys, pastes and replies. */
/* SPDX-License-Identifier: MIT */
/*
 * From top to bottom: decoding characters, the meaning of complete sequences,
 * and the state machine that finds where a sequence ends. Begin reading at
 * keys_feed(), which passes each byte to the function of the reader's state.
 */
#include "term/keys.h"

#include <string.h>

#include "base/str.h"

enum { /* struct key_reader.state */
       GROUND = 0,
       ESCAPE,        /* after ESC; with alt set, after two ESCs */
       CSI,           /* ECMA-48 5.4: ends at 0x40..0x7E */
       SS3,           /* ends at a letter */
       STRING,        /* OSC, DCS, SOS, PM, APC: ends at BEL or ST */
       STRING_ESCAPE, /* after ESC within a STRING */
       MOUSE,         /* bytes of an X10 mouse report */
       LATE, /* a lone ESC was reported as a key; the rest of a sequence may
		follow */
       PASTE,
};

/* What a sequence means to the state machine, apart from the events that it
 * emits. */
enum key_sequence {
	KEY_SEQUENCE_UNKNOWN,
	KEY_SEQUENCE_KNOWN,
	KEY_SEQUENCE_PASTE, /* begins a paste */
	KEY_SEQUENCE_MOUSE, /* three more bytes follow */
};

/* Decodes the character at p into *c and returns its length in bytes. 0:
 * invalid; n + 1: incomplete. */
static size_t next_char(const unsigned char *p, size_t n, uint32_t *c)
{
	static const unsigned char bits[] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
	size_t want = p[0] < 0x80   ? 1
		      : p[0] < 0xC2 ? 0
		      : p[0] < 0xE0 ? 2
		      : p[0] < 0xF0 ? 3
		      : p[0] < 0xF5 ? 4
				    : 0;

	if (!want)
		return 0;
	*c = p[0] & bits[want];
	for (size_t i = 1; i < want; i++) {
		if (i == n)
			return n + 1;
		if ((p[i] & 0xC0) != 0x80)
			return 0;
		*c = *c << 6 | (p[i] & 0x3F);
		/* Overlong form, surrogate, or above U+10FFFF. */
		if (i == 1 && ((p[0] == 0xE0 && p[1] < 0xA0) ||
			       (p[0] == 0xED && p[1] > 0x9F) ||
			       (p[0] == 0xF0 && p[1] < 0x90) ||
			       (p[0] == 0xF4 && p[1] > 0x8F)))
			return 0;
	}
	return want;
}

/* Returns how many bytes to skip at an invalid character: those that could
 * begin a valid one, but at least one. */
static size_t broken_length(const unsigned char *p, size_t n)
{
	size_t len = n < 3 ? n : 3;
	uint32_t c;

	while (len > 1 && next_char(p, len, &c) <= len)
		len--;
	return len;
}

/* Writes c as UTF-8 and returns its length; 0: not a character. */
static size_t encode_utf8(uint32_t c, char out[4])
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
		return 0;
	if (c < 0x800) {
		out[0] = (char)(0xC0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3F));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xE0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3F));
		out[2] = (char)(0x80 | (c & 0x3F));
		return 3;
	}
	out[0] = (char)(0xF0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3F));
	out[2] = (char)(0x80 | (c >> 6 & 0x3F));
	out[3] = (char)(0x80 | (c & 0x3F));
	return 4;
}

/*
 * Sources, read 2026-11-22: [x] xterm ctlseqs, "PC-Style Function Keys" and
 * "Alt and Meta Keys"; [k] kitty "Comprehensive keyboard handling in
 * terminals"; [t] tmux input-keys.c; [l] Linux drivers/tty/vt/keyboard.c and
 * defkeymap; [r] rxvt-unicode rxvt(7), "Key Codes"; [v] DEC VT220, VT520.
 *
 * Kinds: '[' CSI ... c, 'O' SS3 c, '~' CSI n ~, 'u' CSI n u, 'L' CSI [ c.
 */
static const struct sequence {
	char kind;
	uint16_t code;
	uint8_t name;
	uint8_t mods;
} sequences[] = {
	{ '[', 'A', KEY_UP, 0 }, /* [x] cursor keys, normal mode */
	{ '[', 'B', KEY_DOWN, 0 },
	{ '[', 'C', KEY_RIGHT, 0 },
	{ '[', 'D', KEY_LEFT, 0 },
	{ '[', 'H', KEY_HOME, 0 },
	{ '[', 'F', KEY_END, 0 },
	{ '[', 'P', KEY_F1, 0 }, /* [x] with modifiers, [k] without */
	{ '[', 'Q', KEY_F1 + 1, 0 },
	{ '[', 'R', KEY_F1 + 2, 0 },
	{ '[', 'S', KEY_F1 + 3, 0 },
	{ '[', 'Z', KEY_TAB, KEY_SHIFT }, /* [x] */
	{ '[', 'a', KEY_UP, KEY_SHIFT },  /* [r] */
	{ '[', 'b', KEY_DOWN, KEY_SHIFT },
	{ '[', 'c', KEY_RIGHT, KEY_SHIFT },
	{ '[', 'd', KEY_LEFT, KEY_SHIFT },
	{ 'O', 'A', KEY_UP, 0 }, /* [x] [t] application mode */
	{ 'O', 'B', KEY_DOWN, 0 },
	{ 'O', 'C', KEY_RIGHT, 0 },
	{ 'O', 'D', KEY_LEFT, 0 },
	{ 'O', 'H', KEY_HOME, 0 },
	{ 'O', 'F', KEY_END, 0 },
	{ 'O', 'P', KEY_F1, 0 }, /* [x] [v] */
	{ 'O', 'Q', KEY_F1 + 1, 0 },
	{ 'O', 'R', KEY_F1 + 2, 0 },
	{ 'O', 'S', KEY_F1 + 3, 0 },
	{ 'O', 'M', KEY_ENTER, 0 },     /* [v] keypad; its digits below */
	{ 'O', 'a', KEY_UP, KEY_CTRL }, /* [r] */
	{ 'O', 'b', KEY_DOWN, KEY_CTRL },
	{ 'O', 'c', KEY_RIGHT, KEY_CTRL },
	{ 'O', 'd', KEY_LEFT, KEY_CTRL },
	{ '~', 1, KEY_HOME, 0 }, /* [v] [l] [t] */
	{ '~', 2, KEY_INSERT, 0 },
	{ '~', 3, KEY_DELETE, 0 },
	{ '~', 4, KEY_END, 0 },
	{ '~', 5, KEY_PAGE_UP, 0 },
	{ '~', 6, KEY_PAGE_DOWN, 0 },
	{ '~', 7, KEY_HOME, 0 }, /* [r] */
	{ '~', 8, KEY_END, 0 },
	{ '~', 11, KEY_F1, 0 }, /* [r] [v] */
	{ '~', 12, KEY_F1 + 1, 0 },
	{ '~', 13, KEY_F1 + 2, 0 },
	{ '~', 14, KEY_F1 + 3, 0 },
	{ '~', 15, KEY_F1 + 4, 0 }, /* [x] [v] */
	{ '~', 17, KEY_F1 + 5, 0 },
	{ '~', 18, KEY_F1 + 6, 0 },
	{ '~', 19, KEY_F1 + 7, 0 },
	{ '~', 20, KEY_F1 + 8, 0 },
	{ '~', 21, KEY_F1 + 9, 0 },
	{ '~', 23, KEY_F1 + 10, 0 },
	{ '~', 24, KEY_F12, 0 },
	{ 'L', 'A', KEY_F1, 0 }, /* [l] */
	{ 'L', 'B', KEY_F1 + 1, 0 },
	{ 'L', 'C', KEY_F1 + 2, 0 },
	{ 'L', 'D', KEY_F1 + 3, 0 },
	{ 'L', 'E', KEY_F1 + 4, 0 },
	{ 'u', 8, KEY_BACKSPACE, 0 }, /* [x] modifyOtherKeys */
	{ 'u', 9, KEY_TAB, 0 },       /* [k] */
	{ 'u', 13, KEY_ENTER, 0 },
	{ 'u', 27, KEY_ESCAPE, 0 },
	{ 'u', 127, KEY_BACKSPACE, 0 },
	{ 'u', 57414, KEY_ENTER, 0 }, /* [k] keypad */
	{ 'u', 57417, KEY_LEFT, 0 },
	{ 'u', 57418, KEY_RIGHT, 0 },
	{ 'u', 57419, KEY_UP, 0 },
	{ 'u', 57420, KEY_DOWN, 0 },
	{ 'u', 57421, KEY_PAGE_UP, 0 },
	{ 'u', 57422, KEY_PAGE_DOWN, 0 },
	{ 'u', 57423, KEY_HOME, 0 },
	{ 'u', 57424, KEY_END, 0 },
	{ 'u', 57425, KEY_INSERT, 0 },
	{ 'u', 57426, KEY_DELETE, 0 },
};

/* Characters of the keypad's keys. [v] sends them as SS3 j to y, and "=" as SS3
 * X; [k] sends the code points 57399 to 57416. */
static const char vt_keypad[] = "*+,-./0123456789";

static const char kitty_keypad[] = "0123456789./*-+\r=,";

enum { PARAMS = 4, SUBS = 3, PARAM_MAX = 0x1FFFFF };

struct params {
	uint32_t value[PARAMS][SUBS];
	size_t n; /* number of parameters */
	char prefix;
	char intermediate;
};

static const struct sequence *find_sequence(char kind, uint32_t code)
{
	for (size_t i = 0; i < sizeof(sequences) / sizeof(*sequences); i++)
		if (sequences[i].kind == kind && sequences[i].code == code)
			return &sequences[i];
	return NULL;
}

static void emit_event(struct key_sink sink, const struct key_event *event)
{
	if (sink.event)
		sink.event(sink.context, event);
}

static void emit_key(struct key_sink sink, enum key_name name, uint32_t c,
		     unsigned mods)
{
	emit_event(sink, &(struct key_event){ .kind = KEY_EVENT_KEY,
					      .key = { name, c, mods } });
}

static void emit_value(struct key_sink sink, enum key_event_kind kind,
		       uint32_t value, uint32_t state)
{
	emit_event(sink, &(struct key_event){ .kind = kind,
					      .value = value,
					      .state = state });
}

static bool is_upper(uint32_t c)
{
	return c >= 'A' && c <= 'Z';
}

/* Emits a character with modifiers, as a key such as Ctrl+Shift+Z or as text.
 */
static void emit_char(struct key_sink sink, uint32_t c, unsigned mods)
{
	char bytes[4];
	size_t len;

	if (c < 0x20 || (c >= 0x7F && c < 0xA0))
		return;
	if (mods & ~(unsigned)KEY_SHIFT) {
		if (is_upper(c))
			emit_key(sink, KEY_CHAR, c + 32, mods | KEY_SHIFT);
		else
			emit_key(sink, KEY_CHAR, c, mods);
		return;
	}
	if (mods && c >= 'a' && c <= 'z')
		c -= 32;
	len = encode_utf8(c, bytes);
	if (len)
		emit_event(sink, &(struct key_event){ .kind = KEY_EVENT_TEXT,
						      .text = { bytes, len } });
}

/* Parses the parameters of a CSI sequence: numbers separated by ";", each with
 * subparameters after ":". */
static void parse_params(struct str body, struct params *p)
{
	size_t sub = 0;

	*p = (struct params){ 0 };
	/* a private prefix: one of < = > ? (ECMA-48 5.4.1) */
	if (body.len && body.ptr[0] >= '<' && body.ptr[0] <= '?') {
		p->prefix = body.ptr[0];
		body = str_skip(body, 1);
	}
	p->n = body.len > 0;
	for (size_t i = 0; i < body.len; i++) {
		char c = body.ptr[i];

		if (c == ';' && p->n < PARAMS) {
			p->n++;
			sub = 0;
		} else if (c == ':' && sub < SUBS) {
			sub++;
		} else if (c >= '0' && c <= '9' && sub < SUBS) {
			uint32_t *v = &p->value[p->n - 1][sub];

			*v = *v * 10 + (uint32_t)(c - '0');
			if (*v > PARAM_MAX)
				*v = PARAM_MAX;
		} else if (c < '0') {
			p->intermediate = c;
		}
	}
}

/* Decodes the parameter for modifiers. [x] and [k]: it is 1 plus the sum of
 * Shift 1, Alt 2, Ctrl 4, Super 8, Hyper 16, Meta 32. Caps Lock 64 and Num Lock
 * 128 are ignored. */
static unsigned parse_mods(uint32_t value)
{
	unsigned bits = value ? value - 1 : 0;

	return (bits & 15) | (bits & 48 ? KEY_SUPER : 0);
}

static enum key_sequence emit_found(const struct sequence *s, unsigned mods,
				    struct key_sink sink)
{
	if (!s)
		return KEY_SEQUENCE_UNKNOWN;
	emit_key(sink, (enum key_name)s->name, 0, s->mods | mods);
	return KEY_SEQUENCE_KNOWN;
}

/* Decodes a key of the kitty protocol. [k] The parameters are code:shifted:base
 * ; modifiers:event ; text. For a character outside ASCII, shortcuts use the
 * key's position on the standard layout. */
static enum key_sequence decode_kitty(const uint32_t code[SUBS], unsigned mods,
				      uint32_t text, struct key_sink sink)
{
	const struct sequence *s = find_sequence('u', code[0]);
	uint32_t c = code[0];

	if (s)
		return emit_found(s, mods, sink);
	if (c >= 57399 && c <= 57416)
		c = (unsigned char)kitty_keypad[c - 57399];
	else if (c >= 57344 && c <= 63743)
		return KEY_SEQUENCE_KNOWN; /* a key without a function here */
	else if (mods & ~(unsigned)KEY_SHIFT)
		c = c > 0x7F && code[2] ? code[2] : c;
	else if (text)
		return emit_char(sink, text, 0), KEY_SEQUENCE_KNOWN;
	else if (mods && code[1])
		return emit_char(sink, code[1], 0), KEY_SEQUENCE_KNOWN;
	emit_char(sink, c, mods);
	return KEY_SEQUENCE_KNOWN;
}

/* Decodes CSI n ~: a key, the begin of a paste, or modifyOtherKeys. */
static enum key_sequence decode_tilde(const struct params *p, unsigned mods,
				      struct key_sink sink)
{
	const uint32_t code[SUBS] = { p->value[2][0], 0, 0 };

	if (p->value[0][0] == 200)
		return KEY_SEQUENCE_PASTE;
	if (p->value[0][0] == 201)
		return KEY_SEQUENCE_KNOWN;
	if (p->value[0][0] == 27 && p->n >= 3) /* [x] modifyOtherKeys */
		return decode_kitty(code, mods, 0, sink);
	return emit_found(find_sequence('~', p->value[0][0]), mods, sink);
}

/* Decodes a reply of the terminal with the prefix "?". */
static enum key_sequence decode_reply(const struct params *p, char final,
				      struct key_sink sink)
{
	if (p->prefix != '?')
		return KEY_SEQUENCE_KNOWN;
	if (final == 'u')
		emit_value(sink, KEY_EVENT_KITTY_FLAGS, p->value[0][0], 0);
	else if (final == 'c')
		emit_value(sink, KEY_EVENT_DEVICE, p->value[0][0], 0);
	else if (final == 'y' && p->intermediate == '$')
		emit_value(sink, KEY_EVENT_MODE, p->value[0][0],
			   p->value[1][0]);
	return KEY_SEQUENCE_KNOWN;
}

/* Returns the modifiers that rxvt encodes in the final byte. [r] A CSI sequence
 * with a number ends in ^ for Ctrl, $ for Shift, @ for both. */
static unsigned rxvt_mods(char final)
{
	return final == '^'   ? KEY_CTRL
	       : final == '$' ? KEY_SHIFT
	       : final == '@' ? KEY_CTRL | KEY_SHIFT
			      : 0;
}

/* body: the bytes between CSI and final. extra: modifiers from a leading ESC.
 * With an empty sink, only the sequence's kind is determined. */
static enum key_sequence decode_csi(struct str body, char final, unsigned extra,
				    struct key_sink sink)
{
	struct params p;
	unsigned mods;

	if (body.len && body.ptr[0] == '[')
		return emit_found(find_sequence('L', (unsigned char) final),
				  extra, sink);
	parse_params(body, &p);
	if (p.prefix)
		return decode_reply(&p, final, sink);
	if (p.intermediate)
		return KEY_SEQUENCE_UNKNOWN;
	mods = parse_mods(p.value[1][0]) | extra;
	if (p.value[1][1] == 3) /* [k] the key was released */
		return KEY_SEQUENCE_KNOWN;
	if (final == '~')
		return decode_tilde(&p, mods, sink);
	if (final == 'u')
		return decode_kitty(p.value[0], mods, p.value[2][0], sink);
	if (rxvt_mods(final) && p.n)
		return emit_found(find_sequence('~', p.value[0][0]),
				  rxvt_mods(final) | extra, sink);
	if ((final == 'I' || final == 'O') && !body.len) {
		emit_value(sink, KEY_EVENT_FOCUS, final == 'I', 0);
		return KEY_SEQUENCE_KNOWN;
	}
	if (final == 'M' && !body.len)
		return KEY_SEQUENCE_MOUSE;
	/* F3, with modifiers, has 1 as its first parameter; other values are
	 * the reply with the cursor position. */
	if (final == 'R' && p.value[0][0] > 1)
		return KEY_SEQUENCE_KNOWN;
	return emit_found(find_sequence('[', (unsigned char) final), mods,
			  sink);
}

/* Decodes SS3: function keys and the keypad in application mode. */
static enum key_sequence decode_ss3(struct str body, char final, unsigned extra,
				    struct key_sink sink)
{
	struct params p;
	unsigned mods;

	/* Old xterm and Konsole send SS3 5 P for Ctrl+F1. */
	parse_params(body, &p);
	mods = parse_mods(p.value[p.n ? p.n - 1 : 0][0]) | extra;
	if (final >= 'j' && final <= 'y')
		emit_char(sink, (unsigned char)vt_keypad[final - 'j'], mods);
	else if (final == 'X')
		emit_char(sink, '=', mods);
	else
		return emit_found(find_sequence('O', (unsigned char) final),
				  mods, sink);
	return KEY_SEQUENCE_KNOWN;
}

/* Parses one to four hexadecimal digits and scales them to eight bits. */
static bool parse_channel(struct str s, uint32_t *value)
{
	uint32_t v = 0;

	if (s.len < 1 || s.len > 4)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		const char *digits = "0123456789abcdef";
		const char *d = strchr(digits, s.ptr[i] | 0x20);

		if (!d)
			return false;
		v = v * 16 + (uint32_t)(d - digits);
	}
	*value = v * 255 / ((1U << 4 * s.len) - 1);
	return true;
}

/* [x] Reply to OSC 11: "11;rgb:RRRR/GGGG/BBBB", or rgba: with a fourth channel.
 */
static void decode_osc(struct str body, struct key_sink sink)
{
	uint32_t channel[3];
	struct str item;
	size_t n = 0;

	if (str_starts(body, "11;rgb:"))
		body = str_skip(body, 7);
	else if (str_starts(body, "11;rgba:"))
		body = str_skip(body, 8);
	else
		return;
	while (n < 3 && str_split(&body, '/', &item))
		if (!parse_channel(item, &channel[n++]))
			return;
	if (n == 3)
		emit_value(sink, KEY_EVENT_BACKGROUND,
			   channel[0] << 16 | channel[1] << 8 | channel[2], 0);
}

enum {
	LONE_BRACKET_MS = 100, /* a person needs longer between Esc and [ */
	/* The missing rest of a string, or of a sequence of ESC and one byte,
	 * is discarded if it arrives within this time. */
	STALE_MS = 1000,
	ESC = 0x1B,
};

#define PASTE_END "\x1b[201~"
static bool is_string_introducer(unsigned char c)
{
	return c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_';
}

static void emit_text(struct key_sink sink, enum key_event_kind kind,
		      struct str text)
{
	const struct key_event event = { .kind = kind, .text = text };

	if (text.len || kind != KEY_EVENT_PASTE)
		sink.event(sink.context, &event);
}

static void start_sequence(struct key_reader *k, unsigned char state,
			   unsigned char introducer)
{
	k->state = state;
	k->introducer = introducer;
	k->len = 0;
	k->over = false;
	k->stale = false;
	k->late = false;
}

static void store_byte(struct key_reader *k, unsigned char b)
{
	if (k->len < sizeof(k->sequence))
		k->sequence[k->len++] = (char)b;
	else
		k->over = true;
}

static void begin_paste(struct key_reader *k, struct key_sink sink)
{
	start_sequence(k, PASTE, 0);
	k->matched = 0;
	emit_text(sink, KEY_EVENT_PASTE_BEGIN, (struct str){ 0 });
}

/* Handles an 8-bit C1 control, raw or as UTF-8. */
static void begin_c1(struct key_reader *k, uint32_t c)
{
	k->alt = false;
	if (c == 0x9B)
		start_sequence(k, CSI, '[');
	else if (c == 0x8F)
		start_sequence(k, SS3, 'O');
	else if (c == 0x90 || c == 0x98 || (c >= 0x9D && c <= 0x9F))
		start_sequence(k, STRING, (unsigned char)(c - 0x40));
}

static void emit_control(const struct key_reader *k, unsigned char b,
			 unsigned mods, struct key_sink sink)
{
	if (b == '\r')
		emit_key(sink, KEY_ENTER, 0, mods);
	else if (b == '\t')
		emit_key(sink, KEY_TAB, 0, mods);
	else if (b == 0x7F)
		emit_key(sink, KEY_BACKSPACE, 0, mods);
	else if (b == 0x08)
		emit_key(sink, KEY_BACKSPACE, 0,
			 mods | (k->erase_is_bs ? 0 : KEY_CTRL));
	else if (b == 0)
		emit_key(sink, KEY_CHAR, ' ', mods | KEY_CTRL);
	else if (b <= 26)
		emit_key(sink, KEY_CHAR, b + 96U, mods | KEY_CTRL);
	else
		emit_key(sink, KEY_CHAR, b + 64U, mods | KEY_CTRL);
}

static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7F && c < 0xA0);
}

/* Handles a character that is not ordinary text: a control or an invalid one.
 */
static void ground_char(struct key_reader *k, struct str bytes, uint32_t c,
			struct key_sink sink)
{
	unsigned mods = k->alt ? KEY_ALT : 0;

	k->alt = false;
	if (c >= 0x80 && c < 0xA0)
		begin_c1(k, c);
	else if (is_control(c))
		emit_control(k, (unsigned char)c, mods, sink);
	else if (mods)
		emit_char(sink, c, mods);
	else
		emit_text(sink, KEY_EVENT_TEXT, bytes);
}

/* Completes a character that began in the previous input. Returns the number of
 * bytes used. */
static size_t ground_part(struct key_reader *k, struct str bytes,
			  struct key_sink sink)
{
	unsigned char whole[4];
	uint32_t c = 0;
	size_t len;

	memcpy(whole, k->part, k->part_len);
	whole[k->part_len] = (unsigned char)bytes.ptr[0];
	len = next_char(whole, k->part_len + 1U, &c);
	if (len > k->part_len + 1U) {
		k->part[k->part_len] = whole[k->part_len];
		k->part_len++;
		return 1;
	}
	k->part_len = 0;
	if (len) {
		ground_char(k, (struct str){ (const char *)whole, len }, c,
			    sink);
		return 1;
	}
	ground_char(k, STR("\xEF\xBF\xBD"), 0xFFFD, sink);
	return 0;
}

/* Handles text and controls. Returns the number of bytes used. */
static size_t handle_ground(struct key_reader *k, struct str bytes,
			    struct key_sink sink)
{
	const unsigned char *p = (const unsigned char *)bytes.ptr;
	size_t n = 0;
	size_t len = 0;
	uint32_t c = 0;

	if (k->part_len)
		return ground_part(k, bytes, sink);
	while (!k->alt && n < bytes.len) {
		len = next_char(p + n, bytes.len - n, &c);
		if (!len || len > bytes.len - n || is_control(c))
			break;
		n += len;
	}
	if (n) {
		emit_text(sink, KEY_EVENT_TEXT, (struct str){ bytes.ptr, n });
		return n;
	}
	if (p[0] == ESC && !k->alt) {
		start_sequence(k, ESCAPE, 0);
		return 1;
	}
	len = next_char(p, bytes.len, &c);
	/* the rest of the character has not arrived yet */
	if (len > bytes.len) {
		memcpy(k->part, p, bytes.len);
		k->part_len = (unsigned char)bytes.len;
		return bytes.len;
	}
	if (len)
		ground_char(k, (struct str){ bytes.ptr, len }, c, sink);
	/* not UTF-8: a C1 control in one byte, or a broken character */
	else if (p[0] >= 0x80 && p[0] < 0xA0)
		ground_char(k, (struct str){ 0 }, p[0], sink);
	else
		ground_char(k, STR("\xEF\xBF\xBD"), 0xFFFD, sink);
	return len ? len : broken_length(p, bytes.len);
}

/* Handles the byte after ESC. Returns the number of bytes used. */
static size_t handle_escape(struct key_reader *k, unsigned char b,
			    struct key_sink sink)
{
	if (b == '[') {
		start_sequence(k, CSI, b);
	} else if (b == 'O') {
		start_sequence(k, SS3, b);
	} else if (is_string_introducer(b)) {
		if (k->alt)
			emit_key(sink, KEY_ESCAPE, 0, 0);
		k->alt = false;
		start_sequence(k, STRING, b);
	} else if (b == ESC) {
		if (k->alt)
			emit_key(sink, KEY_ESCAPE, 0, 0);
		k->alt = true;
	} else {
		/* Legacy encoding of Alt: ESC before the key. With two ESCs,
		 * the first one was the Esc key. */
		if (k->alt)
			emit_key(sink, KEY_ESCAPE, 0, 0);
		k->alt = true;
		start_sequence(k, GROUND, 0);
		return 0;
	}
	return 1;
}

/* Decodes a complete sequence and emits its events. */
static void finish_sequence(struct key_reader *k, unsigned char final,
			    struct key_sink sink)
{
	unsigned extra = k->alt ? KEY_ALT : 0;
	struct str body = { k->sequence, k->len };
	enum key_sequence what = KEY_SEQUENCE_UNKNOWN;
	/* A sequence that arrived too late has no effect, unless it begins a
	 * paste: the pasted text was not typed. */
	struct key_sink to = k->stale ? (struct key_sink){ 0 } : sink;

	if (!k->over)
		what = k->state == SS3
			       ? decode_ss3(body, (char) final, extra, to)
			       : decode_csi(body, (char) final, extra, to);
	k->alt = false;
	start_sequence(k, GROUND, 0);
	if (what == KEY_SEQUENCE_MOUSE) {
		k->state = MOUSE;
		k->skip = 3;
	}
	if (what == KEY_SEQUENCE_PASTE)
		begin_paste(k, sink);
}

/* True for a control or a byte beyond ASCII: it aborts the sequence and is then
 * handled as ordinary input. */
static bool aborts_sequence(unsigned char b)
{
	return b < 0x20 || b >= 0x7F;
}

/* Handles a byte of a CSI or SS3 sequence. Returns the number of bytes used. */
static size_t control_sequence(struct key_reader *k, unsigned char b,
			       struct key_sink sink)
{
	bool first = k->len == 0;
	bool final = b >= 0x40;

	if (aborts_sequence(b)) {
		k->alt = false;
		start_sequence(k, GROUND, 0);
		return 0;
	}
	if (k->state == SS3)
		final = b < '0' || b > ';';
	/* Linux sends CSI [ A. rxvt sends CSI 3 $, which ends at $; in a reply
	 * to DECRQM, $ does not end the sequence. */
	else if (b == '[' && first && !k->stale)
		final = false;
	else if (b == '$' && !first && k->sequence[0] >= '0' &&
		 k->sequence[0] <= '9')
		final = true;
	if (!final) {
		store_byte(k, b);
		return 1;
	}
	finish_sequence(k, b, sink);
	return 1;
}

/* True if b may belong to the control string. After a pause at the string's
 * very beginning, only a byte that can begin a terminal's reply does; any other
 * byte was typed. */
static bool may_continue(const struct key_reader *k, unsigned char b)
{
	if (!k->stale || k->len)
		return true;
	if (k->introducer == ']')
		return b >= '0' && b <= '9';
	return k->introducer == 'P' && strchr("01>!", b) && b;
}

/* Handles a byte of a control string, which ends at BEL or ST. Returns the
 * number of bytes used. */
static size_t control_string(struct key_reader *k, unsigned char b,
			     struct key_sink sink)
{
	if (k->state == STRING_ESCAPE) {
		bool ended = b == '\\';

		if (ended && !k->stale && !k->over && k->introducer == ']')
			decode_osc((struct str){ k->sequence, k->len }, sink);
		start_sequence(k, ended ? GROUND : ESCAPE, 0);
		return ended;
	}
	if (b == 0x07 || b == 0x9C) {
		k->state = STRING_ESCAPE;
		return control_string(k, '\\', sink);
	}
	if (b == ESC) {
		k->state = STRING_ESCAPE;
		return 1;
	}
	if (b < 0x20 || b == 0x7F || !may_continue(k, b)) {
		start_sequence(k, GROUND, 0);
		return 0;
	}
	store_byte(k, b);
	return 1;
}

/* The bytes held as a possible escape sequence were ordinary keys: emit them.
 */
static void release_late(struct key_reader *k, struct key_sink sink)
{
	struct str text = { k->sequence, k->len };

	start_sequence(k, GROUND, 0);
	if (text.len)
		emit_text(sink, KEY_EVENT_TEXT, text);
}

/* After a lone ESC, "[A" and "OA" may have been typed. They count as the rest
 * of a sequence only if no further byte follows. */
static void finish_late(struct key_reader *k, unsigned char b, bool last,
			struct key_sink sink)
{
	struct key_sink quiet = { 0 };
	struct str body = { k->sequence + 1, k->len - 1U };
	enum key_sequence what = k->introducer == 'O'
					 ? decode_ss3(body, (char)b, 0, quiet)
					 : decode_csi(body, (char)b, 0, quiet);

	if (what == KEY_SEQUENCE_PASTE) {
		begin_paste(k, sink);
	} else if (what == KEY_SEQUENCE_UNKNOWN || (!body.len && !last)) {
		store_byte(k, b);
		release_late(k, sink);
	} else {
		start_sequence(k, GROUND, 0);
	}
}

/* Handles a byte after a lone ESC was reported: it was typed, or it belongs to
 * a sequence that was split after ESC. next: the following byte, or -1. */
static size_t handle_late(struct key_reader *k, unsigned char b, int next,
			  struct key_sink sink)
{
	if (!k->len) {
		k->introducer = b;
		store_byte(k, b);
		return 1;
	}
	if (k->over || aborts_sequence(b)) {
		release_late(k, sink);
		return 0;
	}
	/* "]" and "P" may have been typed. Replies of a terminal continue with
	 * digits and ";" (OSC), or with "|", "+" or "$" (DCS). */
	if (k->introducer == ']' || k->introducer == 'P') {
		bool digit = b >= '0' && b <= '9';
		bool sure = k->len > 1 &&
			    strchr(k->introducer == ']' ? ";" : "|+$", b);

		if (sure) {
			k->state = STRING;
			k->stale = true;
		} else if (!digit && !(k->introducer == 'P' && b == '>')) {
			release_late(k, sink);
			return 0;
		}
		store_byte(k, b);
	} else if (b >= 0x40) {
		finish_late(k, b, next < 0 || next == ESC, sink);
	} else {
		store_byte(k, b);
	}
	return 1;
}

/* Passes on pasted bytes until the end mark. Returns the number of bytes used.
 */
static size_t handle_paste(struct key_reader *k, struct str bytes,
			   struct key_sink sink)
{
	const char *esc;
	size_t n;

	while (k->matched && bytes.len) {
		if (bytes.ptr[0] != PASTE_END[k->matched]) {
			/* Not the end mark. A new match can begin here at the
			 * earliest, because ESC occurs in the mark only as its
			 * first byte. */
			emit_text(sink, KEY_EVENT_PASTE,
				  (struct str){ PASTE_END, k->matched });
			k->matched = 0;
			return 0;
		}
		if (++k->matched == sizeof(PASTE_END) - 1) {
			k->matched = 0;
			start_sequence(k, GROUND, 0);
			emit_text(sink, KEY_EVENT_PASTE_END, (struct str){ 0 });
		}
		return 1;
	}
	esc = memchr(bytes.ptr, ESC, bytes.len);
	n = esc ? (size_t)(esc - bytes.ptr) : bytes.len;
	emit_text(sink, KEY_EVENT_PASTE, (struct str){ bytes.ptr, n });
	k->matched = esc != NULL;
	return n + (esc != NULL);
}

static bool may_be_late(unsigned char b)
{
	return b == '[' || b == 'O' || b == ']' || b == 'P';
}

/* Passes the next bytes to the function of the current state. Returns the
 * number of bytes used. */
static size_t handle_bytes(struct key_reader *k, struct str bytes,
			   struct key_sink sink)
{
	unsigned char b = (unsigned char)bytes.ptr[0];

	switch (k->state) {
	case ESCAPE:
		return handle_escape(k, b, sink);
	case CSI:
	case SS3:
		return control_sequence(k, b, sink);
	case STRING:
	case STRING_ESCAPE:
		return control_string(k, b, sink);
	case MOUSE:
		if (!--k->skip)
			start_sequence(k, GROUND, 0);
		return 1;
	case LATE:
		return handle_late(
			k, b, bytes.len > 1 ? (unsigned char)bytes.ptr[1] : -1,
			sink);
	case PASTE:
		return handle_paste(k, bytes, sink);
	default:
		return handle_ground(k, bytes, sink);
	}
}

void keys_feed(struct key_reader *k, struct str bytes, int64_t now_ms,
	       struct key_sink sink)
{
	if (!bytes.len)
		return;
	keys_timeout(k, now_ms, sink);
	/* Parameters of a sequence are never typed text, however late they
	 * arrive. */
	if (k->stale && now_ms - k->last_ms > STALE_MS &&
	    !(k->state == CSI && k->len))
		start_sequence(k, GROUND, 0);
	if (k->late && may_be_late((unsigned char)bytes.ptr[0]))
		start_sequence(k, LATE, 0);
	k->late = false;
	k->last_ms = now_ms;
	while (bytes.len)
		bytes = str_skip(bytes, handle_bytes(k, bytes, sink));
}

bool keys_in_paste(const struct key_reader *k)
{
	return k->state == PASTE;
}

int64_t keys_deadline(const struct key_reader *k)
{
	if (k->state == GROUND || k->state == PASTE || k->stale)
		return INT64_MAX;
	return k->last_ms + KEYS_WAIT_MS;
}

void keys_timeout(struct key_reader *k, int64_t now_ms, struct key_sink sink)
{
	if (now_ms < keys_deadline(k))
		return;
	switch (k->state) {
	case ESCAPE:
		if (k->alt)
			emit_key(sink, KEY_ESCAPE, 0, 0);
		emit_key(sink, KEY_ESCAPE, 0, 0);
		k->alt = false;
		start_sequence(k, GROUND, 0);
		k->late = true;
		k->late_ms = now_ms;
		return;
	case LATE:
		if (k->introducer == '[' &&
		    (k->len > 1 || k->last_ms - k->late_ms < LONE_BRACKET_MS))
			start_sequence(k, CSI, '[');
		else
			release_late(k, sink);
		break;
	case MOUSE:
		start_sequence(k, GROUND, 0);
		return;
	default:
		if (!k->len && k->introducer)
			emit_char(sink, k->introducer, KEY_ALT);
		break;
	}
	k->alt = false;
	k->stale = k->state != GROUND;
}

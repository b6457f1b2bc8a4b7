/* key_decode.c - the table of the sequences that terminals send. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "term/keys_impl.h"

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

/* [v] SS3 j to y and X; [k] 57399 to 57416. */
static const char vt_keypad[] = "*+,-./0123456789";
static const char kitty_keypad[] = "0123456789./*-+\r=,";

enum { PARAMS = 4, SUBS = 3, PARAM_MAX = 0x1FFFFF };

struct params {
	uint32_t value[PARAMS][SUBS];
	size_t n; /* parameters that are there */
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

static void emit(struct key_sink sink, const struct key_event *event)
{
	if (sink.event)
		sink.event(sink.context, event);
}

void keys_emit_key(struct key_sink sink, enum key_name name, uint32_t c,
		   unsigned mods)
{
	emit(sink, &(struct key_event){ .kind = KEY_EVENT_KEY,
					.key = { name, c, mods } });
}

static void emit_value(struct key_sink sink, enum key_event_kind kind,
		       uint32_t value, uint32_t state)
{
	emit(sink, &(struct key_event){
			   .kind = kind, .value = value, .state = state });
}

static bool is_upper(uint32_t c)
{
	return c >= 'A' && c <= 'Z';
}

void keys_emit_char(struct key_sink sink, uint32_t c, unsigned mods)
{
	char bytes[4];
	size_t len;

	if (c < 0x20 || (c >= 0x7F && c < 0xA0))
		return;
	if (mods & ~(unsigned)KEY_SHIFT) {
		if (is_upper(c))
			keys_emit_key(sink, KEY_CHAR, c + 32, mods | KEY_SHIFT);
		else
			keys_emit_key(sink, KEY_CHAR, c, mods);
		return;
	}
	if (mods && c >= 'a' && c <= 'z')
		c -= 32;
	len = keys_encode(c, bytes);
	if (len)
		emit(sink, &(struct key_event){ .kind = KEY_EVENT_TEXT,
						.text = { bytes, len } });
}

static void parse_params(struct str body, struct params *p)
{
	size_t sub = 0;

	*p = (struct params){ 0 };
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

/* [x] and [k]: 1 and the sum of Shift 1, Alt 2, Ctrl 4, Super 8, Hyper 16,
 * Meta 32; Caps Lock 64 and Num Lock 128 say nothing here. */
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
	keys_emit_key(sink, (enum key_name)s->name, 0, s->mods | mods);
	return KEY_SEQUENCE_KNOWN;
}

/* [k] code:shifted:base ; modifiers:event ; text. Of a character outside
 * ASCII the key's place on the standard layout counts for shortcuts. */
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
		return KEY_SEQUENCE_KNOWN; /* a key that has no use here */
	else if (mods & ~(unsigned)KEY_SHIFT)
		c = c > 0x7F && code[2] ? code[2] : c;
	else if (text)
		return keys_emit_char(sink, text, 0), KEY_SEQUENCE_KNOWN;
	else if (mods && code[1])
		return keys_emit_char(sink, code[1], 0), KEY_SEQUENCE_KNOWN;
	keys_emit_char(sink, c, mods);
	return KEY_SEQUENCE_KNOWN;
}

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

/* [r] CSI n and ^ Ctrl, $ Shift, @ both. */
static unsigned rxvt_mods(char final)
{
	return final == '^'   ? KEY_CTRL
	       : final == '$' ? KEY_SHIFT
	       : final == '@' ? KEY_CTRL | KEY_SHIFT
			      : 0;
}

enum key_sequence keys_decode_csi(struct str body, char final, unsigned extra,
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
	if (final == 'R' && p.value[0][0] > 1) /* a cursor position */
		return KEY_SEQUENCE_KNOWN;
	return emit_found(find_sequence('[', (unsigned char) final), mods,
			  sink);
}

enum key_sequence keys_decode_ss3(struct str body, char final, unsigned extra,
				  struct key_sink sink)
{
	struct params p;
	unsigned mods;

	/* Old xterm and Konsole: SS3 5 P for Ctrl+F1. */
	parse_params(body, &p);
	mods = parse_mods(p.value[p.n ? p.n - 1 : 0][0]) | extra;
	if (final >= 'j' && final <= 'y')
		keys_emit_char(sink, (unsigned char)vt_keypad[final - 'j'],
			       mods);
	else if (final == 'X')
		keys_emit_char(sink, '=', mods);
	else
		return emit_found(find_sequence('O', (unsigned char) final),
				  mods, sink);
	return KEY_SEQUENCE_KNOWN;
}

/* One to four hexadecimal digits, scaled to eight bits. */
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

/* [x] OSC 11: "11;rgb:RRRR/GGGG/BBBB", or rgba: with a fourth. */
void keys_decode_osc(struct str body, struct key_sink sink)
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

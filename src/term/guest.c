/* guest.c - output of a program that draws on the user's terminal itself. */
/* SPDX-License-Identifier: MIT */
/*
 * base/sanitize.h finds the sequences. pass_sequence() decides about each.
 */
#include "term/guest.h"

#include <string.h>

#include "base/str.h"

/* What ESC c (a full reset) becomes: a soft reset and an empty screen. */
#define SOFT_RESET "\x1b[!p\x1b[?7h\x1b[H\x1b[2J"

/* Private modes that pass (xterm, ctlseqs, "DECSET"): cursor keys, reverse
 * video, autowrap, blinking, cursor, mouse, focus, alternate screen, bracketed
 * paste, synchronized updates. GUEST_MODES_OFF has to reset each. */
static const unsigned modes[] = { 1,    5,    7,    12,   25,   1000, 1002,
				  1003, 1004, 1006, 1049, 2004, 2026 };

static bool is_mode(int64_t n)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (modes[i] == n)
			return true;
	return false;
}

/* Passes those of the private modes that may. */
static void pass_modes(struct guest *g, struct str list, char final)
{
	struct str word;
	int64_t n;

	while (str_split(&list, ';', &word)) {
		if (!str_to_int(word, &n) || !is_mode(n))
			continue;
		if (n == 1049)
			g->is_alternate = final == 'h';
		buf_addf(g->out, "\x1b[?%d%c", (int)n, final);
	}
}

/* True for a control sequence without prefix and intermediate bytes that may
 * pass. ED 3 would erase the user's scrollback, and CSI T with five numbers
 * starts a way to report the mouse that waits for an answer. */
static bool is_plain_passed(struct str numbers, char final)
{
	switch (final) {
	case 'J':
		return str_find(numbers, '3') == numbers.len;
	case 'T':
		return str_find(numbers, ';') == numbers.len;
	case 'h':
	case 'l':
		return str_is(numbers, "4");
	case 's':
	case 'u':
		return !numbers.len;
	default:
		return strchr("@ABCDEFGHIKLMPSXZ`abdefmr", final) != NULL;
	}
}

/* Passes a control sequence; s follows CSI. */
static void pass_csi(struct guest *g, struct str s)
{
	static const char digits[] = "0123456789:;";
	struct str numbers = s;
	char prefix = 0;
	char final = s.ptr[s.len - 1];

	if (s.len > 1 && s.ptr[0] >= '<' && s.ptr[0] <= '?') {
		prefix = s.ptr[0];
		numbers = str_skip(numbers, 1);
	}
	numbers.len = 0;
	while (numbers.ptr + numbers.len < s.ptr + s.len - 1 &&
	       strchr(digits, numbers.ptr[numbers.len]))
		numbers.len++;
	if (prefix == '?' && (final == 'h' || final == 'l') &&
	    numbers.len + 2 == s.len)
		pass_modes(g, numbers, final);
	else if ((!prefix && numbers.len + 1 == s.len &&
		  is_plain_passed(numbers, final)) ||
		 str_is(s, "!p") ||
		 (numbers.len <= 1 && numbers.len + 2 == s.len && !prefix &&
		  str_ends(s, " q")))
		buf_addf(g->out, "\x1b[%.*s", (int)s.len, s.ptr);
}

/* Implements sanitize_sink.sequence. */
static void pass_sequence(void *arg, struct str s)
{
	static const char *const passed[] = { "7",  "8",  "D",  "E",  "M",
					      "=",  ">",  "#8", "(0", "(A",
					      "(B", ")0", ")A", ")B" };
	struct guest *g = arg;

	if (s.ptr[0] == '[') {
		if (s.len > 1)
			pass_csi(g, str_skip(s, 1));
		return;
	}
	if (str_is(s, "c"))
		buf_adds(g->out, SOFT_RESET);
	for (size_t i = 0; i < sizeof(passed) / sizeof(*passed); i++)
		if (str_is(s, passed[i]))
			buf_addf(g->out, "\x1b%s", passed[i]);
}

/* Implements sanitize_sink.text. */
static void pass_text(void *arg, struct str bytes, uint32_t c)
{
	const struct guest *g = arg;

	(void)c;
	buf_addstr(g->out, bytes);
}

/* Implements sanitize_sink.control. */
static void pass_control(void *arg, enum sanitize_kind kind, unsigned char c,
			 const int *n)
{
	const struct guest *g = arg;

	(void)kind;
	(void)n;
	buf_addc(g->out, (char)c);
}

void guest_init(struct guest *g)
{
	*g = (struct guest){ .sink = { .text = pass_text,
				       .control = pass_control,
				       .sequence = pass_sequence,
				       .arg = g } };
	g->clean.sink = &g->sink;
}

void guest_feed(struct guest *g, struct str chunk, struct buf *out)
{
	g->out = out;
	sanitize_feed(&g->clean, chunk, out);
	g->out = NULL;
}

/* keys_test.c - the bytes of terminals are the keys that were pressed. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "term/keys.h"
#include "unit.h"

#define S(literal)                                                             \
	{                                                                      \
		"" literal, sizeof(literal) - 1                                \
	}

static const char *const names[] = {
	"none", "char",  "enter", "tab", "backspace", "escape", "up",   "down",
	"left", "right", "home",  "end", "insert",    "delete", "pgup", "pgdn",
};

/* Events as words: "text(a) C-left M-c(b) paste< bytes >". */
static void note(void *context, const struct key_event *e)
{
	struct buf *out = context;

	switch (e->kind) {
	case KEY_EVENT_TEXT:
	case KEY_EVENT_PASTE:
		buf_addstr(out, e->text);
		return;
	case KEY_EVENT_PASTE_BEGIN:
		buf_adds(out, "<paste:");
		return;
	case KEY_EVENT_PASTE_END:
		buf_adds(out, ">");
		return;
	case KEY_EVENT_KEY:
		break;
	default:
		buf_addf(out, "<reply %d %x %u>", (int)e->kind, e->value,
			 e->state);
		return;
	}
	buf_addf(out, "<%s%s%s%s", e->key.mods & KEY_SHIFT ? "S-" : "",
		 e->key.mods & KEY_ALT ? "A-" : "",
		 e->key.mods & KEY_CTRL ? "C-" : "",
		 e->key.mods & KEY_SUPER ? "W-" : "");
	if (e->key.name >= KEY_F1)
		buf_addf(out, "F%d>", (int)e->key.name - KEY_F1 + 1);
	else if (e->key.name == KEY_CHAR && e->key.c < 0x7F)
		buf_addf(out, "%c>", (int)e->key.c);
	else if (e->key.name == KEY_CHAR)
		buf_addf(out, "U+%X>", e->key.c);
	else
		buf_addf(out, "%s>", names[e->key.name]);
}

struct bench {
	struct key_reader keys;
	struct buf out;
	struct key_sink sink;
};

static void bench_init(struct bench *b)
{
	*b = (struct bench){ .out = BUF_INIT(1 << 24) };
	b->sink = (struct key_sink){ note, &b->out };
	buf_adds(&b->out, "");
}

static void feed(struct bench *b, const char *bytes, int64_t now)
{
	keys_feed(&b->keys, str_of(bytes), now, b->sink);
}

static void expect(struct bench *b, const char *events)
{
	assert_string_equal(b->out.ptr, events);
	buf_clear(&b->out);
	buf_adds(&b->out, "");
}

static const struct {
	struct str in;
	const char *out;
} cases[] = {
	{ S("plain \xC3\xA9 \xF0\x9F\x98\x80"),
	  "plain \xC3\xA9 \xF0\x9F\x98\x80" },
	{ S("a\rb\tc\x7F"), "a<enter>b<tab>c<backspace>" },
	{ S("\x01\n\x1A\x1C\x1F"), "<C-a><C-j><C-z><C-\\><C-_>" },
	{ S("\0"), "<C- >" },
	{ S("\x08"), "<C-backspace>" },
	{ S("\x1b\r\x1b\x7F\x1b\x08"),
	  "<A-enter><A-backspace><A-C-backspace>" },
	{ S("\x1b"
	    "f\x1b"
	    "B\x1b\xC3\xA9"),
	  "<A-f><S-A-b><A-U+E9>" },
	/* xterm */
	{ S("\x1b[A\x1b[B\x1b[C\x1b[D"), "<up><down><right><left>" },
	{ S("\x1bOA\x1bOB\x1bOC\x1bOD\x1bOH\x1bOF"),
	  "<up><down><right><left><home><end>" },
	{ S("\x1b[1;5C\x1b[1;3D\x1b[1;2A\x1b[1;6H"),
	  "<C-right><A-left><S-up><S-C-home>" },
	{ S("\x1b[H\x1b[F\x1b[Z"), "<home><end><S-tab>" },
	{ S("\x1b[3~\x1b[3;5~\x1b[2~\x1b[5~\x1b[6~"),
	  "<delete><C-delete><insert><pgup><pgdn>" },
	{ S("\x1bOP\x1bOS\x1b[15~\x1b[24~\x1b[1;2P\x1b[24;5~"),
	  "<F1><F4><F5><F12><S-F1><C-F12>" },
	{ S("\x1b[27;2;13~\x1b[27;5;13~\x1b[27;6;90~\x1b[27;2;33~"),
	  "<S-enter><C-enter><S-C-z>!" },
	/* kitty */
	{ S("\x1b[13;2u\x1b[27u\x1b[9;2u\x1b[127;5u\x1b[13;5u"),
	  "<S-enter><escape><S-tab><C-backspace><C-enter>" },
	{ S("\x1b[97;5u\x1b[122;6u\x1b[97;3u\x1b[95;5u"),
	  "<C-a><S-C-z><A-a><C-_>" },
	{ S("\x1b[97;2u\x1b[49:33;2u\x1b[233;1u\x1b[97;65u\x1b[;;97u"),
	  "A!\xC3\xA9"
	  "aa" },
	{ S("\x1b[97;5:1u\x1b[97;5:2u\x1b[97;5:3u"), "<C-a><C-a>" },
	{ S("\x1b[1089::99;5u"), "<C-c>" },
	{ S("\x1b[57414u\x1b[57417;5u\x1b[57402u\x1b[57441;2u"),
	  "<enter><C-left>3" },
	{ S("\x1b[1;1:1A\x1b[1;5:3A\x1b[3;1:2~"), "<up><delete>" },
	/* Linux console */
	{ S("\x1b[[A\x1b[[E\x1b[1~\x1b[4~"), "<F1><F5><home><end>" },
	/* rxvt */
	{ S("\x1b[a\x1b[d\x1bOa\x1bOd\x1b[7~\x1b[8~\x1b[11~"),
	  "<S-up><S-left><C-up><C-left><home><end><F1>" },
	{ S("\x1b[3^\x1b[3$\x1b[3@"), "<C-delete><S-delete><S-C-delete>" },
	{ S("\x1b\x1b[A\x1b\x1bOC\x1b\x1b[3~"), "<A-up><A-right><A-delete>" },
	/* Keypads */
	{ S("\x1bOM\x1bOp\x1bOy\x1bOk\x1bOX"), "<enter>09+=" },
	/* 8-bit, raw and as UTF-8 */
	{ S("\x9B"
	    "A\xC2\x9B"
	    "B\x8F"
	    "P"),
	  "<up><down><F1>" },
	{ S("\xC2\x85.\x85.\xFF.\xED\xA0\x80."),
	  "..\xEF\xBF\xBD.\xEF\xBF\xBD\xEF\xBF\xBD." },
	/* Answers */
	{ S("\x1b]11;rgb:1e1e/2d2d/ffff\x1b\\.\x1b]11;rgb:0/8/f\a"),
	  "<reply 5 1e2dff 0>.<reply 5 88ff 0>" },
	{ S("\x1b]11;rgb:gg/0/0\a\x1b]12;rgb:0/0/0\a."), "." },
	{ S("\x1b[?5u\x1b[?62;22c\x1b[?2026;2$y\x1b[I\x1b[O"),
	  "<reply 6 5 0><reply 7 3e 0><reply 8 7ea 2>"
	  "<reply 9 1 0><reply 9 0 0>" },
	{ S("\x1bP>|tmux 3.3a\x1b\\.\x1b_Gi=1;OK\x1b\\.\x1b[12;1R."), "..." },
	/* Unknown and broken ones are no text */
	{ S("\x1b[99999999999999999999x\x1b[5;5;5;5;5;5;5q.\x1b[<0;1;1M."),
	  ".." },
	{ S("\x1b[M !!.\x1b[12\x03.\x1b]0;x\x03."), ".<C-c>.<C-c>." },
	{ S("\x1b[1;\x1b[A\x1b[\xC3\xA9."), "<up>\xC3\xA9." },
	/* Pastes */
	{ S("\x1b[200~a\rb\x1b[31m\0\xFF\x1b[201\x1b[201~c"),
	  "<paste:a\rb\x1b[31m" },
	{ S("\x1b[200~\x1b[201~.\x1b[201~."), "<paste:>.." },
};

static void run_case(size_t i, size_t piece, struct buf *out)
{
	struct key_reader k = { 0 };
	struct str in = cases[i].in;
	struct key_sink sink = { note, out };
	int64_t now = 5;

	buf_clear(out);
	for (size_t n = in.len; n; n = in.len) {
		n = n > piece ? piece : n;
		keys_feed(&k, (struct str){ in.ptr, n }, now, sink);
		in = str_skip(in, n);
		now += 20;
	}
	assert_int_equal(keys_deadline(&k), INT64_MAX);
}

static void test_each_sequence_is_its_key_at_once_and_in_pieces(void **state)
{
	struct buf out = BUF_INIT(10000);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (size_t piece = 1; piece < 12; piece++) {
			run_case(i, piece == 11 ? 1000 : piece, &out);
			buf_adds(&out, "");
			if (strcmp(out.ptr, cases[i].out))
				print_error("case %zu, pieces of %zu\n", i,
					    piece);
			assert_string_equal(out.ptr, cases[i].out);
		}
	buf_release(&out);
}

static void test_a_paste_arrives_byte_by_byte_as_it_was(void **state)
{
	static const struct str content =
		S("x\x1b[200~\x1b\x1b[201\x1b[20\x1b[A\0\xFF\r\n\x03");
	struct buf bytes = BUF_INIT(1000);

	(void)state;
	buf_adds(&bytes, "\x1b[200~");
	buf_addstr(&bytes, content);
	buf_adds(&bytes, "\x1b[201~.");
	for (size_t cut = 0; cut <= bytes.len; cut++) {
		struct bench b;
		struct str all = buf_str(&bytes);

		bench_init(&b);
		keys_feed(&b.keys, (struct str){ all.ptr, cut }, 0, b.sink);
		keys_feed(&b.keys, str_skip(all, cut), 25, b.sink);
		assert_int_equal(b.out.len, 7 + content.len + 2);
		assert_memory_equal(b.out.ptr + 7, content.ptr, content.len);
		assert_string_equal(b.out.ptr + 7 + content.len, ">.");
		buf_release(&b.out);
	}
	buf_release(&bytes);
}

static void test_a_lone_escape_acts_25_to_30_ms_after_its_byte(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	feed(&b, "\x1b", 1000);
	assert_in_range(keys_deadline(&b.keys), 1025, 1030);
	keys_timeout(&b.keys, 1025, b.sink);
	expect(&b, "");
	keys_timeout(&b.keys, 1026, b.sink);
	expect(&b, "<escape>");
	assert_int_equal(keys_deadline(&b.keys), INT64_MAX);
	keys_timeout(&b.keys, 9999, b.sink);
	expect(&b, "");
	/* Twice at once, and without a timer before the next byte. */
	feed(&b, "\x1b\x1b", 2000);
	feed(&b, "x", 2100);
	expect(&b, "<escape><escape>x");
	buf_release(&b.out);
}

static void test_pieces_20_ms_apart_are_a_key_later_ones_no_text(void **state)
{
	static const char *const whole[] = {
		"\x1b[A",
		"\x1bOA",
		"\x1b[1;5C",
		"\x1b[13;2u",
		"\x1b[3~",
		"\x1b]11;rgb:0/0/0\x1b\\",
		"\x1bP>|tmux 3.3a\x1b\\",
		"\x1b[?62;22c",
		"\x1b[27;2;13~",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++)
		for (size_t cut = 1; cut < strlen(whole[i]); cut++) {
			struct bench b;
			struct str all = str_of(whole[i]);

			bench_init(&b);
			keys_feed(&b.keys, (struct str){ all.ptr, cut }, 0,
				  b.sink);
			keys_timeout(&b.keys, 40, b.sink);
			keys_feed(&b.keys, str_skip(all, cut), 60, b.sink);
			keys_timeout(&b.keys, 90, b.sink);
			feed(&b, "t", 200);
			assert_int_equal(b.out.ptr[b.out.len - 1], 't');
			if (cut == 1) {
				expect(&b, "<escape>t");
			} else {
				/* Nothing, or Alt with the introducer. */
				assert_true(b.out.len == 1 ||
					    b.out.ptr[1] == 'A' ||
					    b.out.ptr[1] == 'S');
				assert_null(strstr(b.out.ptr + 1, "rgb"));
			}
			buf_release(&b.out);
		}
}

static void test_three_late_pieces_of_an_arrow_are_no_text(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	feed(&b, "\x1b", 0);
	feed(&b, "[", 60);
	feed(&b, "A", 120);
	feed(&b, "t", 200);
	expect(&b, "<escape>t");
	buf_release(&b.out);
}

static void test_what_is_typed_after_escape_is_kept(void **state)
{
	static const char *const typed[] = {
		"[", "O", "[x] done",  "OK go", "OPEN",   "[Aha", "Over",
		"]", "P", "[link](x)", "O",     "Pascal", "]]",   "[1] note",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(typed) / sizeof(*typed); i++) {
		struct bench b;

		bench_init(&b);
		feed(&b, "\x1b", 0);
		keys_timeout(&b.keys, 30, b.sink);
		feed(&b, typed[i], 500);
		keys_timeout(&b.keys, 526, b.sink);
		feed(&b, "hello", 700);
		assert_true(str_starts(buf_str(&b.out), "<escape>"));
		assert_memory_equal(b.out.ptr + 8, typed[i], strlen(typed[i]));
		assert_string_equal(b.out.ptr + 8 + strlen(typed[i]), "hello");
		buf_release(&b.out);
	}
}

static void test_a_paste_that_begins_late_is_still_a_paste(void **state)
{
	static const char begin[] = "\x1b[200~";

	(void)state;
	for (size_t cut = 1; cut < sizeof(begin) - 1; cut++) {
		struct bench b;
		struct buf rest = BUF_INIT(100);

		bench_init(&b);
		buf_adds(&rest, begin + cut);
		buf_adds(&rest, "rm -rf\r\x1b[201~");
		keys_feed(&b.keys, (struct str){ begin, cut }, 0, b.sink);
		feed(&b, rest.ptr, 500);
		assert_non_null(strstr(b.out.ptr, "<paste:rm -rf\r>"));
		buf_release(&b.out);
		buf_release(&rest);
	}
}

static void test_an_alt_key_that_looks_like_an_introducer(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	feed(&b, "\x1b_", 0);
	keys_timeout(&b.keys, 26, b.sink);
	feed(&b, "next", 200);
	expect(&b, "<A-_>next");
	feed(&b, "\x1b]", 1000);
	feed(&b, "word", 1100);
	expect(&b, "<A-]>word");
	feed(&b, "\x1b[", 2000);
	feed(&b, "later", 4000);
	expect(&b, "<A-[>later");
	buf_release(&b.out);
}

static void test_backspace_is_what_the_terminal_says(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b);
	feed(&b, "\x08", 0);
	expect(&b, "<C-backspace>");
	b.keys.erase_is_bs = true;
	feed(&b, "\x08", 0);
	expect(&b, "<backspace>");
	buf_release(&b.out);
}

static void test_an_endless_sequence_is_swallowed_in_linear_time(void **state)
{
	struct bench b;
	char *many = malloc(1 << 20);

	(void)state;
	bench_init(&b);
	memset(many, '1', 1 << 20);
	feed(&b, "\x1b[", 0);
	for (int i = 0; i < 10; i++)
		keys_feed(&b.keys, (struct str){ many, 1 << 20 }, 1, b.sink);
	feed(&b, "~.", 2);
	expect(&b, ".");
	feed(&b, "\x1b]11;", 3);
	for (int i = 0; i < 10; i++)
		keys_feed(&b.keys, (struct str){ many, 1 << 20 }, 4, b.sink);
	feed(&b, "\a.", 5);
	expect(&b, ".");
	buf_release(&b.out);
	free(many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_each_sequence_is_its_key_at_once_and_in_pieces),
		cmocka_unit_test(test_a_paste_arrives_byte_by_byte_as_it_was),
		cmocka_unit_test(
			test_a_lone_escape_acts_25_to_30_ms_after_its_byte),
		cmocka_unit_test(
			test_pieces_20_ms_apart_are_a_key_later_ones_no_text),
		cmocka_unit_test(
			test_three_late_pieces_of_an_arrow_are_no_text),
		cmocka_unit_test(test_what_is_typed_after_escape_is_kept),
		cmocka_unit_test(
			test_a_paste_that_begins_late_is_still_a_paste),
		cmocka_unit_test(test_an_alt_key_that_looks_like_an_introducer),
		cmocka_unit_test(test_backspace_is_what_the_terminal_says),
		cmocka_unit_test(
			test_an_endless_sequence_is_swallowed_in_linear_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* vi_test.c - the keys of vi edit a draft as vi does. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "editor/vi.h"
#include "unit.h"

#define ESC "\x1b"
#define NI "\xE4\xBD\xA0" /* a wide character */

/* What is typed, and the text with a bar before the caret. */
static const struct {
	const char *keys, *text;
} edits[] = {
	{ "abc", "abc|" },
	{ "abc" ESC, "ab|c" },
	{ "one two" ESC "0", "|one two" },
	{ "  one" ESC "^", "  |one" },
	{ "one two" ESC "0wx", "one |wo" },
	{ "one two three" ESC "02w", "one two |three" },
	{ "one two" ESC "0e", "on|e two" },
	{ "one two" ESC "b", "one |two" },
	{ "a.b c" ESC "0w", "a|.b c" },
	{ "a.b c" ESC "0W", "a.b |c" },
	{ "one two" ESC "hhh", "one| two" },
	{ "one two" ESC "0l", "o|ne two" },
	{ "one two" ESC "0dw", "|two" },
	{ "one two three" ESC "02dw", "|three" },
	{ "one two three" ESC "0d2w", "|three" },
	{ "one two" ESC "0de", "| two" },
	{ "one two" ESC "db", "one |o" },
	{ "one two" ESC "0wD", "one| " },
	{ "one two" ESC "0d$", "|" },
	{ "one two" ESC "d0", "|o" },
	{ "one two" ESC "d^", "|o" },
	{ "one two" ESC "0cwthree", "three| two" },
	{ "one two" ESC "0Cx", "x|" },
	{ "one two" ESC "0sx", "x|ne two" },
	{ "one\ntwo" ESC "kSx", "x|\ntwo" },
	{ "one\ntwo" ESC "ccx", "one\nx|" },
	{ "one\ntwo" ESC "kdd", "|two" },
	{ "one\ntwo" ESC "dd", "|one" },
	{ "one\ntwo\nthree" ESC "kk2dd", "|three" },
	{ "one\ntwo\nthree" ESC "kkdj", "|three" },
	{ "one\ntwo" ESC "k0dw", "|\ntwo" },
	{ "one\ntwo" ESC "kyyp", "one\n|one\ntwo" },
	{ "one\ntwo" ESC "yyP", "one\n|two\ntwo" },
	{ "one\ntwo" ESC "ggx", "|ne\ntwo" },
	{ "one\ntwo" ESC "ggGx", "one\n|wo" },
	{ "ab" ESC "0xp", "b|a" },
	{ "ab" ESC "0x3p", "baa|a" },
	{ "one two" ESC "0ywP", "one| one two" },
	{ "a(b)c" ESC "0f)x", "a(b|c" },
	{ "a(b)c" ESC "0dt)", "|)c" },
	{ "a(b)c" ESC "0df)", "|c" },
	{ "a(b)c" ESC "F(x", "a|b)c" },
	{ "a(b)c" ESC "T(x", "a(|)c" },
	{ "a.b.c" ESC "0f.;x", "a.b|c" },
	{ "a.b.c" ESC "0f.;,x", "a|b.c" },
	{ "a.b.c" ESC "02f.x", "a.b|c" },
	{ "ab" ESC "0fzx", "|b" },
	{ "abc" ESC "0rx", "|xbc" },
	{ "abc" ESC "02rx", "x|xc" },
	{ "abc" ESC "05rx", "|abc" },
	{ "abc" ESC "0r" NI, "|" NI "bc" },
	{ "bc" ESC "0ia", "a|bc" },
	{ "ac" ESC "0ab", "ab|c" },
	{ " bc" ESC "Ia", " a|bc" },
	{ "ab" ESC "0Ac", "abc|" },
	{ "a\nc" ESC "kob", "a\nb|\nc" },
	{ "a\nc" ESC "Ob", "a\nb|\nc" },
	{ "abc" ESC "3X", "|c" },
	{ "abc" ESC "xu", "ab|c" },
	{ "one two" ESC "0dwu", "|one two" },
	{ "one two" ESC "0dwuU", "|two" },
	{ NI NI ESC "x", "|" NI },
	{ NI " " NI ESC "0wx", NI "| " },
	{ "abc" ESC "2", "ab|c" },
	{ "abc" ESC "d" ESC "x", "a|b" },
	{ "abc" ESC "10h", "|abc" },
	{ "" ESC "xdwddp", "|" },
	{ "" ESC "ix", "x|" },
	{ "one two three" ESC "0wdiw", "one | three" },
	{ "one two three" ESC "0wdaw", "one |three" },
	{ "one two" ESC "daw", "on|e" },
	{ "one  two" ESC "03ldiw", "one|two" },
	{ "one  two x" ESC "03ldaw", "one| x" },
	{ "a-b c" ESC "0diW", "| c" },
	{ "one two" ESC "0ciwx", "x| two" },
	{ "one two" ESC "0yiwP", "on|eone two" },
	{ "say \"a b\" now" ESC "0di\"", "say \"|\" now" },
	{ "say \"a b\" now" ESC "0da\"", "say |now" },
	{ "say \"a\\\"b\" now" ESC "0ci\"x", "say \"x|\" now" },
	{ "'a' 'b'" ESC "di'", "'a' '|'" },
	{ "no quote" ESC "di\"", "no quot|e" },
	{ "f(a, (b))" ESC "0f,di(", "f(|)" },
	{ "f(a, (b))" ESC "0fbda(", "f(a, |)" },
	{ "f(a, (b))" ESC "cibx", "f(x|)" },
	{ "f(a)" ESC "0f(di)", "f(|)" },
	{ "a[1] {x}" ESC "0f1di]", "a[|] {x}" },
	{ "{\nx\n}" ESC "kdi{", "{|}" },
	{ "<a>" ESC "hdi<", "<|>" },
	{ "f(a" ESC "di(", "f(|a" },
	{ "one two three" ESC "0dw.", "|three" },
	{ "one two three" ESC "0x..", "| two three" },
	{ "one two three" ESC "0cwx" ESC "w.", "x |x three" },
	{ "one two" ESC "0ciwxy\x7f" ESC "w.", "x |x" },
	{ "one\ntwo\nthree" ESC "ggdd.", "|three" },
	{ "ab" ESC "0ix" ESC "2.", "|xxxab" },
	{ "a\nb" ESC "ox" ESC "k.", "a\nb\n|x\nx" },
	{ "abc" ESC ".", "ab|c" },
	{ "one two three" ESC "0yw.", "|one two three" },
	{ "one two three" ESC "0vld", "|e two three" },
	{ "one two three" ESC "0ved", "| two three" },
	{ "one two" ESC "vbd", "one| " },
	{ "one two" ESC "0vecx", "x| two" },
	{ "one two" ESC "0wvey0P", "tw|oone two" },
	{ "one two" ESC "0wviwd", "one| " },
	{ "f(a, b)" ESC "0favi(d", "f(|)" },
	{ "one two" ESC "0vlohd", "|e two" },
	{ "one two" ESC "0vl" ESC "x", "o|e two" },
	{ "one\ntwo\nthree" ESC "ggVjd", "|three" },
	{ "one\ntwo\nthree" ESC "kVcx", "one\nx|\nthree" },
	{ "one\ntwo" ESC "kVyp", "one\n|one\ntwo" },
	{ "one\ntwo" ESC "ggvjd", "|wo" },
	{ "one" ESC "0vvx", "|ne" },
	{ "one two" ESC "0vGd", "|ne two" },
};

static void press(struct vi *v, struct editor *e, const char *keys)
{
	for (; *keys; keys += str_char_offset(str_of(keys), 1)) {
		struct key_event event = {
			.kind = KEY_EVENT_TEXT,
			.text = { keys, str_char_offset(str_of(keys), 1) },
		};

		if (*keys == ESC[0]) {
			event.kind = KEY_EVENT_KEY;
			event.key.name = KEY_ESCAPE;
		} else if (*keys == '\x7f') {
			event.kind = KEY_EVENT_KEY;
			event.key.name = KEY_BACKSPACE;
		} else if (*keys == '\n') {
			event.kind = KEY_EVENT_KEY;
			event.key = (struct key){ KEY_ENTER, 0, KEY_ALT };
		}
		(void)vi_event(v, e, &event);
	}
}

static void test_each_command_edits_as_in_vi(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(edits) / sizeof(*edits); i++) {
		struct buf text = BUF_INIT(1000);
		struct buf all = BUF_INIT(1000);
		struct vi v = { .on = true };
		struct editor e = { 0 };

		press(&v, &e, edits[i].keys);
		editor_text(&e, &all);
		buf_addstr(&text, editor_before(&e, 1000));
		buf_addc(&text, '|');
		buf_addstr(&text, str_skip(buf_str(&all), e.caret));
		if (strcmp(text.ptr, edits[i].text) != 0)
			print_error("%s\n", edits[i].keys);
		assert_string_equal(text.ptr, edits[i].text);
		buf_release(&text);
		buf_release(&all);
		vi_release(&v);
		editor_release(&e);
	}
}

static enum editor_result result_of(struct vi *v, struct editor *e,
				    enum key_name name)
{
	return vi_event(v, e,
			&(struct key_event){ .kind = KEY_EVENT_KEY,
					     .key = { name, 0, 0 } });
}

static void test_escape_and_enter_reach_the_caller(void **state)
{
	struct vi v = { .on = true };
	struct editor e = { 0 };

	(void)state;
	press(&v, &e, "one");
	assert_int_equal(result_of(&v, &e, KEY_ESCAPE), EDITOR_CHANGED);
	assert_true(v.normal);
	press(&v, &e, "d");
	assert_int_equal(result_of(&v, &e, KEY_ESCAPE), EDITOR_CHANGED);
	assert_int_equal(result_of(&v, &e, KEY_ESCAPE), EDITOR_ESCAPE);
	assert_int_equal(result_of(&v, &e, KEY_UP), EDITOR_OLDER);
	assert_int_equal(vi_event(&v, &e,
				  &(struct key_event){ .kind = KEY_EVENT_TEXT,
						       .text = STR("k") }),
			 EDITOR_OLDER);
	assert_int_equal(result_of(&v, &e, KEY_ENTER), EDITOR_SUBMIT);
	assert_false(v.normal); /* the next draft begins in insert mode */
	vi_release(&v);
	editor_release(&e);
}

static void check_text(struct editor *e, const char *expected)
{
	struct buf all = BUF_INIT(1000);

	editor_text(e, &all);
	assert_string_equal(all.len ? all.ptr : "", expected);
	buf_release(&all);
}

static void test_a_deleted_paste_is_not_put_into_the_next_draft(void **state)
{
	struct vi v = { .on = true };
	struct editor e = { 0 };

	(void)state;
	editor_paste_begin(&e);
	editor_paste_feed(&e, STR("a\nb\nc\nd\n"));
	editor_paste_end(&e);
	press(&v, &e, ESC "ddP");
	check_text(&e, "a\nb\nc\nd\n\n"); /* into the same one it is */
	press(&v, &e, "dd");
	editor_reset(&e);
	press(&v, &e, "P");
	check_text(&e, "");
	press(&v, &e, "ione" ESC "dd"); /* the control */
	editor_reset(&e);
	press(&v, &e, "P");
	check_text(&e, "one\n");
	vi_release(&v);
	editor_release(&e);
}

/* Random commands on a text with all kinds of characters, also pastes. */
static void test_random_commands_keep_the_text_whole(void **state)
{
	static const char *const keys[] = {
		"h",         "j", "k", "l", "w", "b", "e",  "W",   "B", "E",
		"0",         "^", "$", "x", "X", "d", "c",  "y",   "p", "P",
		"u",         "U", "i", "a", "I", "A", "o",  "O",   "r", "f",
		"t",         "F", "T", ";", ",", "s", "S",  "D",   "C", "Y",
		"G",         "g", "2", "9", " ", NI,  "\n", ESC,   ESC, ESC,
		"e\xCC\x81", "v", "V", ".", "(", ")", "\"", "\x7f"
	};
	uint32_t random = 1;
	struct vi v = { .on = true };
	struct editor e = { 0 };

	(void)state;
	editor_paste_begin(&e);
	editor_paste_feed(&e, STR("a\nb\nc\nd\n"));
	editor_paste_end(&e);
	for (int i = 0; i < 200000; i++) {
		struct buf all = BUF_INIT(64 << 20);

		random = random * 1664525U + 1013904223U;
		press(&v, &e,
		      keys[(random >> 8) % (sizeof(keys) / sizeof(*keys))]);
		assert_true(e.caret <= gap_len(&e.text));
		if (i % 100 == 0) {
			editor_text(&e, &all);
			assert_true(str_is_utf8(buf_str(&all)));
			if (all.len > 2000)
				editor_set(&e, STR("one two\nthree"));
		}
		buf_release(&all);
	}
	vi_release(&v);
	editor_release(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_command_edits_as_in_vi),
		cmocka_unit_test(test_escape_and_enter_reach_the_caller),
		cmocka_unit_test(
			test_a_deleted_paste_is_not_put_into_the_next_draft),
		cmocka_unit_test(test_random_commands_keep_the_text_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

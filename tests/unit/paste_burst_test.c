/* paste_burst_test.c - pastes without marks are pastes, typed keys are keys. */
/* SPDX-License-Identifier: MIT */
#include "base/str.h"
#include "editor/paste_burst.h"
#include "unit.h"

static struct paste_burst burst;
static struct key_reader keys;
static struct buf seen;
static int64_t now;

/* Text as it is, "<paste:...>", "<enter>", and a letter for other keys. */
static void note(void *context, const struct key_event *e)
{
	(void)context;
	switch (e->kind) {
	case KEY_EVENT_TEXT:
	case KEY_EVENT_PASTE:
		buf_addstr(&seen, e->text);
		break;
	case KEY_EVENT_PASTE_BEGIN:
		buf_adds(&seen, "<paste:");
		break;
	case KEY_EVENT_PASTE_END:
		buf_adds(&seen, ">");
		break;
	default:
		buf_adds(&seen, e->key.name == KEY_ENTER ? "<enter>" : "<key>");
		break;
	}
}

static const struct key_sink sink = { note, NULL };

static int start(void **state)
{
	(void)state;
	keys = (struct key_reader){ 0 };
	seen = BUF_INIT(1 << 20);
	now = 1000;
	return 0;
}

static int finish(void **state)
{
	(void)state;
	paste_burst_release(&burst);
	burst = (struct paste_burst){ 0 };
	buf_release(&seen);
	return 0;
}

static void feed(const char *bytes)
{
	paste_burst_feed(&burst, &keys, str_of(bytes), now, sink);
}

static void pass(int ms)
{
	now += ms;
	if (now >= paste_burst_deadline(&burst))
		paste_burst_timeout(&burst, &keys, now, sink);
}

static void expect(const char *want)
{
	assert_string_equal(seen.ptr ? seen.ptr : "", want);
}

static void one_line_and_more_is_a_paste_if_it_could_answer(void **state)
{
	(void)state;
	feed("y\ra\r");
	pass(PASTE_BURST_HOLD_MS);
	expect("y<enter>a<enter>");
	buf_clear(&seen);
	burst.strict = true;
	feed("y\r");
	expect("y<enter>");
	buf_clear(&seen);
	pass(100);
	feed("y\ra\r");
	pass(PASTE_BURST_END_MS);
	expect("<paste:y\ra\r>");
}

static void lines_in_one_read_are_one_paste(void **state)
{
	(void)state;
	feed("one\rtwo\rthree\r");
	assert_true(paste_burst_is_on(&burst, &keys));
	pass(10);
	feed("four\rfive");
	pass(PASTE_BURST_END_MS);
	assert_false(paste_burst_is_on(&burst, &keys));
	expect("<paste:one\rtwo\rthree\rfour\rfive>");
}

static void a_line_and_enter_are_keys(void **state)
{
	(void)state;
	feed("/quit\r");
	expect(""); /* more might follow */
	pass(PASTE_BURST_HOLD_MS);
	expect("/quit<enter>");
	feed("hi\r"); /* too short to be held */
	expect("/quit<enter>hi<enter>");
}

static void a_line_end_with_more_soon_after_it_is_a_paste(void **state)
{
	(void)state;
	feed("first line\r");
	pass(5);
	feed("second line\r");
	pass(5);
	feed("third");
	pass(PASTE_BURST_END_MS);
	expect("<paste:first line\rsecond line\rthird>");
}

static void keys_that_arrive_alone_without_a_pause_are_a_paste(void **state)
{
	static const char *const parts[] = { "a", "b", "c", "d",  "\r",
					     "e", "f", "g", "\r", "h" };

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		feed(parts[i]);
		pass(1);
	}
	pass(PASTE_BURST_END_MS);
	expect("abcd<paste:\refg\rh>");
}

static void typed_keys_are_keys(void **state)
{
	static const char *const parts[] = {
		"h", "e", "l", "l", "o", "\r", "\x1b", "[A", "\x03", "\x7f"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		feed(parts[i]);
		pass(parts[i][0] == '\x1b' ? 1 : 60);
		if (parts[i][0] == '\r')
			expect("hello<enter>");
	}
	expect("hello<enter><key><key><key>");
}

static void
enter_before_the_next_words_is_a_key_after_a_short_stall(void **state)
{
	(void)state;
	feed("\rthe next message");
	pass(PASTE_BURST_HOLD_MS);
	expect("<enter>the next message");
}

static void enter_pressed_several_times_is_no_paste(void **state)
{
	(void)state;
	feed("/quit");
	feed("\r\r\rk\r");
	pass(PASTE_BURST_HOLD_MS);
	expect("/quit<enter><enter><enter>k<enter>");
}

static void a_key_ends_the_paste(void **state)
{
	(void)state;
	feed("one\rtwo\rthree");
	feed("\x03");
	expect("<paste:one\rtwo\rthree><key>");
	feed("four words\r");
	feed("\x1b[A");
	expect("<paste:one\rtwo\rthree><key>four words<enter><key>");
}

static void marked_pastes_are_left_alone(void **state)
{
	(void)state;
	feed("\x1b[200~one\rtwo\r");
	feed("three\rfour\r");
	feed("\x1b[201~");
	expect("<paste:one\rtwo\rthree\rfour\r>");
}

static void a_character_may_be_split(void **state)
{
	(void)state;
	feed("\xE4\xBD");
	feed("\xA0 one\rtwo\r");
	pass(PASTE_BURST_HOLD_MS);
	expect("\xE4\xBD\xA0 one<enter>two<enter>");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_line_and_more_is_a_paste_if_it_could_answer),
		TEST(lines_in_one_read_are_one_paste),
		TEST(a_line_and_enter_are_keys),
		TEST(a_line_end_with_more_soon_after_it_is_a_paste),
		TEST(keys_that_arrive_alone_without_a_pause_are_a_paste),
		TEST(typed_keys_are_keys),
		TEST(enter_before_the_next_words_is_a_key_after_a_short_stall),
		TEST(enter_pressed_several_times_is_no_paste),
		TEST(a_key_ends_the_paste),
		TEST(marked_pastes_are_left_alone),
		TEST(a_character_may_be_split),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* ask_user_test.c - what the model asks, and what it is told of the answers. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "cmd/chat/ask_inquiry.h"
#include "markup.h"
#include "tool_bench.h"
#include "unit.h"

#define TEXT "{\"question\":\"Name?\",\"type\":\"text\"}"
#define CITY                                                                   \
	"{\"question\":\"City?\",\"type\":\"multiple_choice\",\"choices\":["   \
	"{\"value\":\"Rome\"},{\"value\":\"Oslo\"}]}"
#define SOME                                                                   \
	"{\"question\":\"Which?\",\"type\":\"multi_select\",\"choices\":["     \
	"{\"value\":\"Boston, MA\"},{\"value\":\"b\"},{\"value\":\"c\"}]"      \
	",\"required\":false}"
#define ASK(items) "{\"questions\":[" items "]}"

struct user { /* what he does */
	enum inquiry_end end;
	const char *keys; /* for the dialog: see press() */
	size_t asked;
};

static void event(struct inquiry_dialog *d, const struct key_event *ev,
		  bool *over, enum inquiry_end *end)
{
	assert_false(*over);
	*over = inquiry_dialog_event(d, ev, end);
}

/* "v" Down, "^" Up, "!" Enter, "~" Escape, "|" Tab; else text. */
static void press(struct inquiry_dialog *d, const char *keys, bool *over,
		  enum inquiry_end *end)
{
	static const enum key_name names[128] = {
		['v'] = KEY_DOWN,   ['^'] = KEY_UP,  ['!'] = KEY_ENTER,
		['~'] = KEY_ESCAPE, ['|'] = KEY_TAB,
	};

	for (; *keys; keys++) {
		enum key_name name = names[(unsigned char)*keys];
		struct key_event ev = { .kind = KEY_EVENT_TEXT,
					.text = { keys, 1 } };

		if (name)
			ev = (struct key_event){ .kind = KEY_EVENT_KEY,
						 .key = { .name = name } };
		event(d, &ev, over, end);
	}
}

static int ask(void *arg, struct inquiry *q, enum inquiry_end *end,
	       const struct stop *stop, struct error *err)
{
	struct user *u = arg;
	struct inquiry_dialog d;
	bool over = false;

	(void)stop;
	(void)err;
	u->asked += q->n;
	*end = u->end;
	if (!u->keys)
		return 0;
	inquiry_dialog_open(&d, q);
	d.keys = QUESTION_LETTERS;
	press(&d, u->keys, &over, end);
	assert_true(over);
	inquiry_dialog_close(&d);
	return 0;
}

static void says(const char *args, struct user u, const char *want)
{
	struct bench b;

	bench_init(&b);
	b.env.ask = ask;
	b.env.ask_arg = &u;
	assert_string_equal(call(&b, "ask_user", args), want);
	assert_false(b.failed);
	bench_release(&b);
}

static void test_answers_are_told_question_by_question(void **state)
{
	(void)state;
	says(ASK(TEXT), (struct user){ .keys = "Alice!" },
	     "Q: Name?\nA: Alice");
	says(ASK(TEXT "," CITY), (struct user){ .keys = "Bob!2" },
	     "Q: Name?\nA: Bob\n\nQ: City?\nA: Oslo");
}

static void test_a_choice_is_made_by_arrows_numbers_or_own_words(void **state)
{
	(void)state;
	says(ASK(CITY), (struct user){ .keys = "!" }, "Q: City?\nA: Rome");
	says(ASK(CITY), (struct user){ .keys = "v!" }, "Q: City?\nA: Oslo");
	says(ASK(CITY), (struct user){ .keys = "vv!Paris!" },
	     "Q: City?\nA: Paris");
	says(ASK(CITY), (struct user){ .keys = "vvParis!" },
	     "Q: City?\nA: Paris");
	says(ASK(CITY), (struct user){ .keys = "9xvv!Pa~^^!" },
	     "Q: City?\nA: Rome");
}

static void test_several_are_marked(void **state)
{
	(void)state;
	says(ASK(SOME), (struct user){ .keys = " vv !" },
	     "Q: Which?\nA: [\"Boston, MA\", \"c\"]");
	says(ASK(SOME), (struct user){ .keys = "122!" },
	     "Q: Which?\nA: [\"Boston, MA\"]");
	says(ASK(SOME), (struct user){ .keys = "2vvvv!more!" },
	     "Q: Which?\nA: [\"b\", \"more\"]");
	says(ASK(SOME), (struct user){ .keys = "!" }, "Q: Which?\nA: []");
}

static void test_what_is_required_is_asked_for_again(void **state)
{
	(void)state;
	says(ASK(TEXT), (struct user){ .keys = "! !x!" }, "Q: Name?\nA: x");
	says(ASK(TEXT "," CITY), (struct user){ .keys = "|2Ann!!" },
	     "Q: Name?\nA: Ann\n\nQ: City?\nA: Oslo");
}

static void test_a_user_who_declines_is_told_of(void **state)
{
	(void)state;
	says(ASK(TEXT "," CITY), (struct user){ .keys = "Bob!~~" },
	     "Q: Name?\nA: (cancelled)\n\nQ: City?\nA: (cancelled)\n\nThe "
	     "user declined to answer. Do not ask the same again: continue "
	     "with what is known and name what you assume, or end your turn.");
}

static void test_without_a_user_it_is_refused(void **state)
{
	struct user gone = { .end = INQUIRY_NOBODY };
	struct bench b;

	(void)state;
	bench_init(&b);
	for (int i = 0; i < 2; i++) {
		expect(&b, "ask_user", ASK(TEXT), true,
		       "Error: nobody can answer: no user is at a terminal. "
		       "Make a reasonable assumption, name it at the end, "
		       "and continue.");
		b.env.ask = ask;
		b.env.ask_arg = &gone;
	}
	assert_int_equal(gone.asked, 1);
	bench_release(&b);
}

static void test_wrong_questions_are_refused_unasked(void **state)
{
	static const char *const wrong[][2] = {
		{ "{\"questions\":[]}", "requires at least one question" },
		{ ASK("{\"question\":\" \",\"type\":\"text\"}"),
		  "questions.0.question: question text must not be blank" },
		{ ASK("{\"question\":\"a\",\"type\":\"choice\"}"),
		  "questions.0.type: Input should be 'text'" },
		{ ASK(TEXT ",{\"question\":\"a\",\"type\":\"multi_select\"}"),
		  "questions.1: a multi_select question requires a non-empty "
		  "'choices' list" },
		{ ASK("{\"question\":\"a\",\"type\":\"text\",\"choices\":"
		      "[{\"value\":\"x\"}]}"),
		  "must not define 'choices'" },
		{ ASK("{\"question\":\"a\",\"type\":\"text\",\"required\":"
		      "\"true\"}"),
		  "questions.0.required: Input should be a valid boolean" },
		{ ASK("{\"question\":\"a\",\"type\":\"multiple_choice\","
		      "\"choices\":[\"x\"]}"),
		  "questions.0.choice: Input should be a valid string" },
		{ ASK("4"), "questions.0.question" },
		{ ASK(TEXT "," TEXT "," TEXT "," TEXT "," TEXT "," TEXT "," TEXT
			   "," TEXT "," TEXT "," TEXT "," TEXT),
		  "questions: at most 10" },
	};
	struct user u = { 0 };
	struct bench b;

	(void)state;
	bench_init(&b);
	b.env.ask = ask;
	b.env.ask_arg = &u;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_non_null(
			strstr(call(&b, "ask_user", wrong[i][0]), wrong[i][1]));
		assert_true(b.failed);
	}
	assert_int_equal(u.asked, 0);
	bench_release(&b);
}

static void shows(struct inquiry_dialog *d, const char *want)
{
	struct theme theme = { .ascii = true };
	struct rows rows = { 0 };
	size_t caret[2];
	char *shown;

	inquiry_dialog_render(d, &theme, &rows, 40, 20, caret);
	shown = markup(&rows);
	assert_string_equal(shown, want);
	assert_true(caret[0] < rows.n);
	free(shown);
	rows_release(&rows);
}

static void test_the_question_stands_above_its_choices(void **state)
{
	struct inquiry q = { .items = { { .question =
						  "City\x1b[31m?\nOne of them.",
					  .kind = INQUIRY_SEVERAL,
					  .choices = { "Rome", "Oslo\nIt" },
					  .n_choices = 2,
					  .answer = BUF_INIT(99) } },
			     .n = 1 };
	struct inquiry_dialog d;
	enum inquiry_end end;
	bool over = false;

	(void)state;
	inquiry_dialog_open(&d, &q);
	d.keys = QUESTION_LETTERS;
	press(&d, " v", &over, &end);
	shows(&d, "{bold warn|The model asks (1 of 1), not required}\n"
		  "  City?\n  One of them.\n"
		  "  [x] 1 Rome\n"
		  "{bold accent|> [ ] 2 Oslo It}\n"
		  "  [ ] in your own words ...\n"
		  "{bold warn|Space marks  Enter answers  Esc declines}\n");
	inquiry_dialog_close(&d);
}

static void test_a_small_screen_holds_the_question(void **state)
{
	struct inquiry q = { .items = { { .question = "a b c d e f g h i j k l",
					  .kind = INQUIRY_CHOICE,
					  .answer = BUF_INIT(99) } },
			     .n = 1 };
	struct theme theme = { .ascii = true };
	struct inquiry_dialog d;

	(void)state;
	for (int i = 0; i < INQUIRY_CHOICES; i++)
		q.items[0].choices[q.items[0].n_choices++] = "long enough text";
	inquiry_dialog_open(&d, &q);
	d.keys = QUESTION_LETTERS;
	for (size_t columns = 1; columns < 30; columns++)
		for (size_t rows = 1; rows < 24; rows++) {
			struct rows out = { 0 };
			size_t caret[2];

			inquiry_dialog_render(&d, &theme, &out, columns, rows,
					      caret);
			assert_true(out.n <= rows);
			assert_true(caret[0] < out.n);
			rows_release(&out);
		}
	inquiry_dialog_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_are_told_question_by_question),
		cmocka_unit_test(
			test_a_choice_is_made_by_arrows_numbers_or_own_words),
		cmocka_unit_test(test_several_are_marked),
		cmocka_unit_test(test_what_is_required_is_asked_for_again),
		cmocka_unit_test(test_a_user_who_declines_is_told_of),
		cmocka_unit_test(test_without_a_user_it_is_refused),
		cmocka_unit_test(test_wrong_questions_are_refused_unasked),
		cmocka_unit_test(test_the_question_stands_above_its_choices),
		cmocka_unit_test(test_a_small_screen_holds_the_question),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

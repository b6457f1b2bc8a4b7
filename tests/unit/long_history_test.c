/* long_history_test.c - a long history is in a file, and sent all the same. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/conversation.c"
#include "unit.h"

enum { TURNS = 300, PROMPT_EVERY = 7, FORGET_AT = 150 };

static struct model *open_one(const struct wire *wire)
{
	const struct model_choice choice = {
		.provider = (char *)"emulated",
		.model = (char *)"claude-emulated",
		.wire = (char *)wire->name,
		.base_url = (char *)"http://127.0.0.1:1",
		.api_key = (char *)"sk-secret",
	};
	const struct model_brief brief = { .system = "Be short." };
	struct model *m = NULL;
	struct error err = { 0 };

	if (model_open(&m, NULL, &choice, &brief, &err) < 0)
		fail_msg("%s", err.message);
	return m;
}

static char *body_of(const struct model *m)
{
	struct str pieces[MAX_SEGMENTS];
	struct buf out = BUF_INIT(SIZE_MAX);
	size_t n = list_segments(m, pieces);

	for (size_t i = 0; i < n; i++)
		buf_addstr(&out, pieces[i]);
	return buf_detach(&out);
}

/* Step n of the conversation: a prompt, an answer with a call, or its result.
 */
static struct message make_step(size_t n)
{
	struct message m = { .role = n % PROMPT_EVERY == 0 ? ROLE_USER
				     : n % 2               ? ROLE_ASSISTANT
							   : ROLE_TOOL };
	struct part *p = message_add(&m, m.role == ROLE_TOOL ? PART_TOOL_RESULT
							     : PART_TEXT);

	p->text = xcalloc(n * 37 % 5000 + 2, 1);
	memset(p->text, 'a' + (int)(n % 26), n * 37 % 5000 + 1);
	if (m.role == ROLE_ASSISTANT) {
		p = message_add(&m, PART_TOOL_CALL);
		p->args = xstrdup("{\"path\":\"a\"}");
	}
	if (m.role != ROLE_USER) {
		p->id = xasprintf("call_%zu", (n + 1) / 2);
		p->name = xstrdup("ls");
	}
	return m;
}

static void must_be_equal(struct model *m, struct model *in_memory, size_t n)
{
	char *ours = body_of(m);
	char *theirs = body_of(in_memory);

	if (strcmp(ours, theirs) != 0)
		fail_msg("%s, step %zu: %zu and %zu bytes", m->wire->name, n,
			 strlen(ours), strlen(theirs));
	assert_int_equal(model_size(m), model_size(in_memory));
	free(ours);
	free(theirs);
}

static void step(struct model *m, struct model *in_memory, size_t n)
{
	struct message next = make_step(n);

	model_push(m, &next);
	setenv("TMPDIR", "/nowhere", 1);
	model_push(in_memory, &next);
	unsetenv("TMPDIR");
	message_release(&next);
	if (n % 5 == 0) { /* as after an answered request */
		m->marked = last_mark(m);
		in_memory->marked = last_mark(in_memory);
	}
}

/* in_memory cannot make a file, so it is also what a full disk leads to. */
static void requests_are_the_same_from_a_file_and_from_memory(void **state)
{
	(void)state;
	for (size_t w = 0; wires[w]; w++) {
		struct model *m = open_one(wires[w]);
		struct model *in_memory = open_one(wires[w]);

		for (size_t n = 0; n < TURNS; n++) {
			step(m, in_memory, n);
			must_be_equal(m, in_memory, n);
			assert_true(m->history.bytes.len <=
				    MAX_IN_MEMORY + 6000);
		}
		assert_true(m->older.end > 3 * MAX_IN_MEMORY);
		assert_int_equal(in_memory->older.end, 0);
		forget_history(m);
		assert_int_equal(m->older.end, 0);
		model_close(m);
		model_close(in_memory);
	}
}

/* n_more: steps after the prompt that is forgotten. */
static void forget_after(const struct wire *wire, size_t n_more)
{
	struct model *m = open_one(wire);
	struct model *in_memory = open_one(wire);
	size_t prompt = FORGET_AT - FORGET_AT % PROMPT_EVERY;

	for (size_t n = 0; n <= prompt; n++)
		step(m, in_memory, n);
	for (size_t n = 0; n < n_more; n++)
		step(m, in_memory, n % 2 ? 2 : 1);
	for (size_t n = 0; n < n_more / 4; n++)
		step(m, in_memory, 135); /* an answer of 4,996 bytes */
	model_forget_prompt(m);
	model_forget_prompt(in_memory);
	must_be_equal(m, in_memory, prompt);
	for (size_t n = prompt; n < TURNS; n++)
		step(m, in_memory, n);
	must_be_equal(m, in_memory, TURNS);
	model_close(m);
	model_close(in_memory);
}

static void a_prompt_is_forgotten_wherever_it_is(void **state)
{
	(void)state;
	for (size_t w = 0; wires[w]; w++)
		for (size_t n = 0; n < 200; n += 23)
			forget_after(wires[w], n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			requests_are_the_same_from_a_file_and_from_memory),
		cmocka_unit_test(a_prompt_is_forgotten_wherever_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

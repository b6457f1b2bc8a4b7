/* history_test.c - whatever was stored, the next request is valid. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "session/history.h"
#include "session/session.h"
#include "session/thread.h"
/* clang-format off: cmocka needs the standard headers before it */
#include "history_vendors.h"
#include "store_open.h"
#include "unit.h"
/* clang-format on */

static struct message text_message(enum role role, const char *text)
{
	struct message m = { .role = role };

	message_add(&m, PART_TEXT)->text = xstrdup(text);
	return m;
}

static void add_text(struct conversation *c, enum role role, const char *text)
{
	struct message m = text_message(role, text);

	history_add(c, &m);
}

static void add_call(struct message *m, const char *id, const char *args)
{
	struct part *p = message_add(m, PART_TOOL_CALL);

	p->id = xstrdup(id);
	p->name = xstrdup("ls");
	p->args = xstrdup(args);
}

static void add_result(struct message *m, const char *id, const char *text)
{
	struct part *p = message_add(m, PART_TOOL_RESULT);

	p->id = xstrdup(id);
	p->name = xstrdup("ls");
	p->text = xstrdup(text);
}

/* An answer of the vendor with one call. */
static void add_answer(struct conversation *c, const char *id,
		       const char *origin)
{
	struct message m = { .role = ROLE_ASSISTANT };

	m.origin = xstrdup(origin);
	add_call(&m, id, "{\"path\":\"/\"}");
	history_add(c, &m);
}

static void add_thought(struct message *m, const char *origin,
			const char *replay)
{
	struct part *p = message_add(m, PART_THINKING);

	p->text = xstrdup("hmm");
	p->replay = xstrdup(replay);
	free(m->origin);
	m->origin = xstrdup(origin);
}

struct sending {
	const struct wire *wire;
	struct history history;
	const char *origin;
};

static void push(void *arg, const struct message *m)
{
	struct sending *s = arg;

	wire_push(s->wire, &s->history, s->origin, m);
}

/* The messages of the next request, with a new prompt; owned. */
static char *request(const struct conversation *c, const char *origin)
{
	const struct vendor *v = vendor_of(origin);
	struct sending s = { .wire = v->wire,
			     .history.bytes = BUF_INIT(64 << 20),
			     .origin = origin };
	struct message prompt = text_message(ROLE_USER, "go on");
	char *out;

	history_send(c, origin, push, &s);
	push(&s, &prompt);
	buf_adds(&s.history.bytes, "");
	out = xasprintf("%s%s%s", v->before, s.history.bytes.ptr, v->after);
	message_release(&prompt);
	buf_release(&s.history.bytes);
	return out;
}

static void must_be_valid(const struct conversation *c, const char *origin)
{
	char *text = request(c, origin);
	cJSON *messages = json_parse(str_of(text));
	const char *bad =
		messages ? vendor_of(origin)->check(messages) : "no JSON";

	if (bad)
		fail_msg("%s: %s: %s", origin, bad, text);
	cJSON_Delete(messages);
	free(text);
}

static void must_be_valid_everywhere(const struct conversation *c)
{
	for (size_t i = 0; i < N_VENDORS; i++)
		must_be_valid(c, vendors[i].origin);
}

static bool is_sent(const struct conversation *c, const char *origin,
		    const char *text)
{
	char *all = request(c, origin);
	bool found = strstr(all, text) != NULL;

	free(all);
	return found;
}

static void test_the_checks_see_what_is_wrong(void **state)
{
	static const char *const bad[][2] = {
		{ CLAUDE, "[]" },
		{ CLAUDE, "[{\"role\":\"assistant\",\"content\":[]}]" },
		{ CLAUDE, "[{\"role\":\"user\",\"content\":[{\"type\":\"text\""
			  ",\"text\":\" \"}]}]" },
		{ CLAUDE, "[{\"role\":\"user\",\"content\":[{\"type\":"
			  "\"tool_result\",\"tool_use_id\":\"a\"}]}]" },
		{ KIMI, "[]" },
		{ KIMI, "[{\"role\":\"system\"},{\"role\":\"assistant\","
			"\"content\":\"x\"},{\"role\":\"user\"}]" },
		{ KIMI, "[{\"role\":\"system\"},{\"role\":\"user\"},{\"role\":"
			"\"tool\",\"tool_call_id\":\"a\"}]" },
		{ KIMI, "[{\"role\":\"user\"},{\"role\":\"user\"}]" },
		{ GPT, "[]" },
		{ GPT, "[{\"type\":\"reasoning\"},{\"type\":\"message\","
		       "\"role\":\"user\",\"content\":\"x\"}]" },
		{ GPT, "[{\"type\":\"function_call\",\"call_id\":\"a\","
		       "\"arguments\":\"{}\"},{\"type\":\"message\",\"role\":"
		       "\"user\",\"content\":\"x\"}]" },
		{ GPT, "[{\"type\":\"function_call_output\",\"call_id\":\"a\""
		       "}]" },
		{ BEDROCK, "[]" },
		{ BEDROCK, "[{\"role\":\"user\",\"content\":[{\"toolResult\":"
			   "{\"toolUseId\":\"a\"}}]}]" },
		{ GEMINI, "[]" },
		{ GEMINI, "[{\"role\":\"model\",\"parts\":[{\"text\":\"x\"}]"
			  "},{\"role\":\"user\",\"parts\":[{\"text\":\"x\"}]"
			  "}]" },
		{ GEMINI, "[{\"role\":\"user\",\"parts\":[{"
			  "\"functionResponse\":{\"id\":\"a\"}}]}]" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cJSON *tree = json_parse(str_of(bad[i][1]));

		assert_non_null(vendor_of(bad[i][0])->check(tree));
		cJSON_Delete(tree);
	}
}

static void test_a_call_without_a_result_gets_one_that_says_so(void **state)
{
	struct conversation c = { 0 };
	struct message some = { .role = ROLE_TOOL };
	struct message calls = { .role = ROLE_ASSISTANT };

	(void)state;
	add_text(&c, ROLE_USER, "hello");
	add_call(&calls, "a", "{}");
	add_call(&calls, "b", "{}");
	history_add(&c, &calls);
	add_result(&some, "b", "done b");
	history_add(&c, &some);
	add_text(&c, ROLE_USER, "and?");
	add_answer(&c, "c", CLAUDE);
	history_repair(&c);
	assert_int_equal(c.n, 6);
	assert_int_equal(c.list[2].n, 2);
	assert_string_equal(c.list[2].parts[0].text, "done b");
	assert_string_equal(c.list[2].parts[1].id, "a");
	assert_true(c.list[2].parts[1].failed);
	assert_non_null(strstr(c.list[2].parts[1].text, "outcome"));
	assert_non_null(strstr(c.list[2].parts[1].text, "unknown"));
	assert_string_equal(c.list[5].parts[0].id, "c");
	must_be_valid_everywhere(&c);
	history_release(&c);
}

static void test_results_without_a_call_go(void **state)
{
	struct conversation c = { 0 };
	struct message stray = { .role = ROLE_TOOL };
	struct message twice = { .role = ROLE_TOOL };

	(void)state;
	add_result(&stray, "x", "stray");
	history_add(&c, &stray);
	add_text(&c, ROLE_USER, "hello");
	add_answer(&c, "a", CLAUDE);
	add_result(&twice, "a", "first");
	add_result(&twice, "a", "second");
	history_add(&c, &twice);
	history_repair(&c);
	assert_int_equal(c.n, 3);
	assert_false(is_sent(&c, CLAUDE, "stray"));
	assert_false(is_sent(&c, CLAUDE, "second"));
	assert_true(is_sent(&c, CLAUDE, "first"));
	must_be_valid_everywhere(&c);
	history_release(&c);
}

static void test_a_refused_prompt_stays_out_after_a_resume(void **state)
{
	struct conversation c = { 0 };
	struct message refusal = text_message(ROLE_ASSISTANT, "I cannot");

	(void)state;
	add_text(&c, ROLE_USER, "good");
	add_text(&c, ROLE_ASSISTANT, "fine");
	add_text(&c, ROLE_USER, "forbidden");
	add_answer(&c, "a", CLAUDE);
	refusal.refused = true;
	history_add(&c, &refusal);
	history_repair(&c);
	assert_int_equal(c.n, 2);
	assert_false(is_sent(&c, CLAUDE, "forbidden"));
	assert_true(is_sent(&c, CLAUDE, "fine"));
	must_be_valid_everywhere(&c);
	history_release(&c);
}

static void test_extras_go_to_their_own_vendor_only(void **state)
{
	static const char signed_by[] =
		"{\"type\":\"thinking\",\"thinking\":\"hmm\","
		"\"signature\":\"SIG\"}";
	struct conversation c = { 0 };
	struct message claude = text_message(ROLE_ASSISTANT, "one");
	struct message kimi = { .role = ROLE_ASSISTANT };
	struct message gpt = { .role = ROLE_ASSISTANT };

	(void)state;
	add_text(&c, ROLE_USER, "a");
	add_thought(&claude, CLAUDE, signed_by);
	message_add(&claude, PART_TEXT)->text = xstrdup("end");
	history_add(&c, &claude);
	add_text(&c, ROLE_USER, "b");
	add_thought(&kimi, KIMI, "{\"reasoning_content\":\"mine\"}");
	message_add(&kimi, PART_TEXT)->text = xstrdup("two");
	history_add(&c, &kimi);
	add_text(&c, ROLE_USER, "c");
	add_thought(&gpt, GPT,
		    "{\"type\":\"reasoning\",\"encrypted_content\":\"ENC\"}");
	message_add(&gpt, PART_TEXT)->text = xstrdup("three");
	history_add(&c, &gpt);
	history_repair(&c);
	assert_true(is_sent(&c, GPT, "ENC"));
	assert_false(is_sent(&c, "openai-responses azure_openai", "ENC"));
	assert_false(is_sent(&c, CLAUDE, "ENC"));
	assert_false(is_sent(&c, KIMI, "ENC"));
	assert_true(is_sent(&c, CLAUDE, "SIG"));
	assert_false(is_sent(&c, "anthropic bedrock", "SIG"));
	assert_false(is_sent(&c, KIMI, "SIG"));
	assert_false(is_sent(&c, GPT, "SIG"));
	assert_true(is_sent(&c, KIMI, "mine"));
	assert_false(is_sent(&c, CLAUDE, "mine"));
	assert_false(is_sent(&c, "openai-chat deepseek", "mine"));
	must_be_valid_everywhere(&c);
	history_release(&c);
}

static void test_results_of_another_vendors_calls_end_in_an_answer(void **state)
{
	struct conversation c = { 0 };
	struct message result = { .role = ROLE_TOOL };

	(void)state;
	add_text(&c, ROLE_USER, "a");
	add_answer(&c, "id", KIMI);
	add_result(&result, "id", "files");
	history_add(&c, &result);
	history_repair(&c);
	assert_true(is_sent(&c, CLAUDE, "(interrupted)"));
	must_be_valid_everywhere(&c);
	free(c.list[1].origin);
	c.list[1].origin = xstrdup(CLAUDE);
	assert_false(is_sent(&c, CLAUDE, "(interrupted)"));
	must_be_valid_everywhere(&c);
	history_release(&c);
}

static void test_what_is_spliced_into_requests_is_checked(void **state)
{
	struct conversation c = { 0 };
	struct message m = { .role = ROLE_ASSISTANT };
	struct message results = { .role = ROLE_TOOL };

	(void)state;
	add_text(&c, ROLE_USER, "a");
	add_thought(&m, CLAUDE, "{\"type\":\"thinking\"},{\"evil\":1");
	add_call(&m, "same", "{\"a\":1}}],\"evil\":[{");
	add_call(&m, "same", "{\"b\":2}");
	add_call(&m, "", "[]");
	history_add(&c, &m);
	add_result(&results, "same", "one");
	add_result(&results, "same", "two");
	history_add(&c, &results);
	history_repair(&c);
	assert_null(c.list[1].parts[0].replay);
	assert_true(c.list[1].parts[1].bad_args);
	assert_string_equal(c.list[1].parts[2].args, "{\"b\":2}");
	assert_string_not_equal(c.list[1].parts[1].id, c.list[1].parts[2].id);
	assert_string_equal(c.list[2].parts[1].id, c.list[1].parts[2].id);
	assert_string_equal(c.list[2].parts[1].text, "two");
	must_be_valid_everywhere(&c);
	history_release(&c);
}

/* One turn as an agent stores it. */
static void add_turn(struct conversation *c, unsigned turn)
{
	const struct vendor *v = &vendors[ids_below(N_VENDORS)];
	struct message m = { .role = ROLE_ASSISTANT };
	struct message results = { .role = ROLE_TOOL };
	unsigned calls = ids_below(4);
	char id[24];

	if (ids_below(2))
		add_thought(&m, v->origin, v->thought);
	if (ids_below(2))
		message_add(&m, PART_TEXT)->text =
			xstrdup(ids_below(4) ? "text" : " ");
	m.refused = !ids_below(12);
	for (unsigned i = 0; i < calls && !m.refused; i++) {
		snprintf(id, sizeof(id), "call.%u", turn * 4 + i);
		if (!ids_below(6))
			snprintf(id, sizeof(id), "call_%u", ids_below(3));
		add_call(&m, id, ids_below(5) ? "{}" : "no JSON");
		add_result(&results, id, "result");
	}
	history_add(c, &m);
	if (results.n)
		history_add(c, &results);
	message_release(&results);
	if (!calls || !ids_below(5))
		add_text(c, ROLE_USER, ids_below(5) ? "prompt" : "");
}

/* Rows that are lost, doubled or cut off, as crashes and others leave them. */
static void damage(struct conversation *c)
{
	size_t cut = ids_below((uint32_t)c->n + 1);

	while (c->n > cut)
		message_release(&c->list[--c->n]);
	for (unsigned i = ids_below(4); i && c->n > 1; i--) {
		size_t at = ids_below((uint32_t)c->n);
		size_t other = ids_below((uint32_t)c->n);
		struct message m = c->list[at];

		c->list[at] = c->list[other];
		c->list[other] = m;
		if (ids_below(2))
			message_release(&c->list[--c->n]);
		else if (c->list[at].n && ids_below(2))
			c->list[at].role = 1 + ids_below(3);
	}
}

static void test_random_histories_cut_anywhere_are_valid(void **state)
{
	enum { ROUNDS = 4000 };

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct conversation c = { 0 };
		unsigned turns = ids_below(12);

		add_text(&c, ROLE_USER, "hello");
		for (unsigned i = 0; i < turns; i++)
			add_turn(&c, i);
		damage(&c);
		history_repair(&c);
		must_be_valid_everywhere(&c);
		history_repair(&c); /* nothing is left to do */
		must_be_valid_everywhere(&c);
		history_release(&c);
	}
}

static void test_a_sound_conversation_is_sent_as_it_was_before(void **state)
{
	char dir[] = "/tmp/dcode-unit-XXXXXX";
	char *path = path_join(mkdtemp(dir), "dcode.db");
	struct session_info info = { .model = "m", .cwd = "/" };
	struct conversation before = { 0 };
	struct conversation after = { 0 };
	struct message result = { .role = ROLE_TOOL };
	struct session *session;
	struct store *s = NULL;
	struct error err = { 0 };
	struct thread t;
	char *one;
	char *two;

	(void)state;
	add_text(&before, ROLE_USER, "hello");
	add_answer(&before, "a.b:1", KIMI);
	add_result(&result, "a.b:1", "files\n\xc3\xa4");
	history_add(&before, &result);
	add_text(&before, ROLE_ASSISTANT, "done");
	assert_int_equal(store_open(&s, path, NULL, &err), 0);
	session = session_new(s, &info);
	for (size_t i = 0; i < before.n; i++)
		assert_int_equal(
			session_append(session, &before.list[i], NULL, &err),
			0);
	assert_int_equal(thread_find(s, session_id(session), NULL, &t, &err),
			 0);
	assert_int_equal(history_load(&after, s, t.no, &err), 0);
	assert_int_equal(after.damaged, 0);
	one = request(&before, KIMI);
	two = request(&after, KIMI);
	assert_string_equal(one, two);
	must_be_valid_everywhere(&after);
	free(one);
	free(two);
	thread_release(&t);
	session_free(session);
	store_close(s);
	history_release(&before);
	history_release(&after);
	assert_int_equal(path_remove_tree(dir, &err), 0);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_checks_see_what_is_wrong),
		cmocka_unit_test(
			test_a_call_without_a_result_gets_one_that_says_so),
		cmocka_unit_test(test_results_without_a_call_go),
		cmocka_unit_test(
			test_a_refused_prompt_stays_out_after_a_resume),
		cmocka_unit_test(test_extras_go_to_their_own_vendor_only),
		cmocka_unit_test(
			test_results_of_another_vendors_calls_end_in_an_answer),
		cmocka_unit_test(test_what_is_spliced_into_requests_is_checked),
		cmocka_unit_test(test_random_histories_cut_anywhere_are_valid),
		cmocka_unit_test(
			test_a_sound_conversation_is_sent_as_it_was_before),
	};

	ids_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

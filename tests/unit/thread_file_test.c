/* thread_file_test.c - what one dcode exports another reads, and no more. */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/mask/mask.h"
#include "base/mem.h"
#include "base/str.h"
#include "model/message.h"
#include "session/thread_file.h"
#include "unit.h"

#define HEAD "{\"format\":\"dcode-thread\",\"version\":1,"
#define USER                                                                   \
	"{\"role\":\"user\",\"parts\":[{\"kind\":\"text\",\"text\":\"x\"}]}"

enum { MANY = 200001, DEEP = 2000 };

static struct buf messages; /* as they were told, one a line */
static struct buf patch;

static int keep_message(void *arg, struct message *m, int64_t created,
			struct error *err)
{
	(void)arg, (void)err;
	buf_addf(&messages, "%" PRId64 " ", created);
	message_to_json(m, &messages);
	buf_addc(&messages, '\n');
	return 0;
}

static int keep_patch(void *arg, struct str bytes, struct error *err)
{
	(void)arg, (void)err;
	buf_addstr(&patch, bytes);
	return 0;
}

/* Reads text in pieces of step bytes. 0, or -1 with *err. */
static int parse(struct str text, size_t step, struct thread_file *head,
		 struct error *err)
{
	static struct thread_reader *r; /* head borrows from it */
	const struct thread_reader_sink sink = { keep_message, keep_patch,
						 NULL };
	int rc = 0;

	thread_reader_free(r);
	r = NULL;
	buf_release(&messages);
	buf_release(&patch);
	messages = BUF_INIT(64 << 20);
	patch = BUF_INIT(64 << 20);
	*err = (struct error){ 0 };
	if (!head)
		return 0;
	r = thread_reader_new(&sink);
	while (text.len && rc == 0) {
		size_t n = text.len < step ? text.len : step;

		rc = thread_reader_feed(r, (struct str){ text.ptr, n }, err);
		text = str_skip(text, n);
	}
	return rc < 0 ? rc : thread_reader_end(r, head, err);
}

static void refused(const char *text, const char *why)
{
	struct thread_file head;
	struct error err;

	if (parse(str_of(text), 7, &head, &err) == 0)
		fail_msg("taken: %.200s", text);
	assert_true(err.code == ERR_USAGE || err.code == ERR_LIMIT ||
		    err.code == ERR_PROTOCOL); /* it was cut off */
	if (!strstr(err.message, why))
		fail_msg("\"%s\" is not in \"%s\" for %.200s", why, err.message,
			 text);
}

static const char *taken(const char *text)
{
	struct thread_file head;
	struct error err;

	if (parse(str_of(text), 7, &head, &err) < 0)
		fail_msg("%s: %.200s", err.message, text);
	buf_adds(&messages, "");
	return messages.ptr;
}

static void add_part(struct message *m, enum part_kind kind, const char *text)
{
	struct part *p = message_add(m, kind);

	p->text = xstrdup(text);
	if (kind == PART_TOOL_CALL || kind == PART_TOOL_RESULT) {
		p->id = xstrdup("call 1");
		p->name = xstrdup("execute");
	}
	if (kind == PART_TOOL_CALL)
		p->args = xstrdup(text);
	p->failed = kind == PART_TOOL_RESULT;
	p->replay = xstrdup("{\"signature\":\"s\"}");
}

static void write_thread(struct buf *out)
{
	const struct thread_file head = {
		.id = "019a0000-0000-7000-8000-000000000000",
		.title = "a \"title\"\n</script>",
		.provider = "docker",
		.sandbox = "abc:1",
		.patch = "x.patch",
		.created = 1700000000000,
	};
	struct message user = { .role = ROLE_USER };
	struct message model = { .role = ROLE_ASSISTANT };
	struct message tool = { .role = ROLE_TOOL };

	add_part(&user, PART_TEXT, "h\xC3\xA9llo \x1b \xE2\x80\xAE \\ \"");
	add_part(&model, PART_THINKING, "hm");
	add_part(&model, PART_TOOL_CALL, "{\"command\":\"ls \\\"x\\\"\"}");
	add_part(&tool, PART_TOOL_RESULT, "");
	thread_file_begin(&head, out);
	thread_file_message(&user, 1700000000001, true, out);
	thread_file_message(&model, 0, false, out);
	thread_file_message(&tool, 0, false, out);
	thread_file_patch((struct str){ "a\0b", 3 }, true, out);
	thread_file_patch(STR("cd"), false, out);
	thread_file_end(out);
	message_release(&user);
	message_release(&model);
	message_release(&tool);
}

static void what_was_written_is_read_back_however_it_is_cut(void **state)
{
	struct buf file = BUF_INIT(1 << 20);
	struct thread_file head;
	struct error err;

	(void)state;
	write_thread(&file);
	for (size_t step = 1; step < file.len + 40; step += 1 + step / 9) {
		assert_int_equal(parse(buf_str(&file), step, &head, &err), 0);
		assert_string_equal(head.id,
				    "019a0000-0000-7000-8000-000000000000");
		assert_string_equal(head.title, "a \"title\"\n</script>");
		assert_string_equal(head.provider, "docker");
		assert_string_equal(head.sandbox, "abc:1");
		assert_string_equal(head.patch, "x.patch");
		assert_true(head.created == 1700000000000);
		assert_true(
			str_eq(buf_str(&patch), (struct str){ "a\0bcd", 5 }));
		assert_string_equal(
			messages.ptr,
			"1700000000001 {\"role\":\"user\",\"parts\":[{\"kind\":"
			"\"text\",\"text\":\"h\xC3\xA9llo \\u001b \\u202e \\\\ "
			"\\\"\"}]}\n"
			"0 {\"role\":\"assistant\",\"parts\":[{\"kind\":"
			"\"thinking\",\"text\":\"hm\"},{\"kind\":\"tool_call\","
			"\"id\":\"call 1\",\"name\":\"execute\",\"args\":"
			"\"{\\\"command\\\":\\\"ls \\\\\\\"x\\\\\\\"\\\"}\"}]}"
			"\n"
			"0 {\"role\":\"tool\",\"parts\":[{\"kind\":"
			"\"tool_result\",\"text\":\"\",\"id\":\"call 1\","
			"\"name\":\"execute\",\"failed\":true}]}\n");
	}
	buf_release(&file);
}

static void the_order_of_the_members_does_not_matter(void **state)
{
	(void)state;
	taken("{ \"messages\" : [ " USER " ] , \"more\" : {\"a\":[1,{}]},\n"
	      "\"version\":1 ,\"format\":\"dcode-thread\", \"n\":-1.5e3} \n");
	taken(HEAD "\"messages\":[" USER "],\"x\":null,\"y\":[]}");
}

static void what_is_no_such_file_is_refused_with_its_line(void **state)
{
	(void)state;
	refused("", "no JSON object");
	refused("[]", "line 1: ");
	refused("PK\x03\x04", "line 1: ");
	refused("{}", "\"format\" is missing");
	refused("{\"format\":\"dcode-thread\",\"messages\":[" USER "]}",
		"\"version\" is missing");
	refused(HEAD "\"messages\":[]}", "\"messages\" is missing or empty");
	refused("{\n\"format\":\"other\"}", "line 2: \"format\" is not");
	refused("{\"format\":\"dcode-thread\",\"version\":2,\"messages\":7}",
		"unknown format version");
	refused(HEAD "\"messages\":[" USER "]", "the end is missing");
	refused(HEAD "\"messages\":[" USER "]}}", "line 1: ");
	refused(HEAD "\"messages\":[" USER "],}", "line 1: ");
	refused(HEAD "\"messages\":[" USER " " USER "]}", "line 1: ");
	refused(HEAD "\"messages\":{\"a\":" USER "}}", "line 1: ");
	refused(HEAD "\"messages\":[" USER "],\"messages\":[" USER "]}",
		"twice");
	refused(HEAD "\"messages\":[\n" USER ",\n{\"role\":\"user\",\"parts\":"
		     "[{\"kind\":\"text\",\"text\":\"\xFF\"}]}]}",
		"line 3: not valid JSON in UTF-8");
	refused(HEAD "\"messages\":[{\"role\":\"user\n\"}]}", "control");
	refused(HEAD "\"messages\":[tru]}", "line 1: ");
}

static void a_message_that_none_can_be_is_refused_by_its_number(void **state)
{
	static const char *const wrong[][2] = {
		{ "7", "message 2 has an unknown role" },
		{ "{\"role\":\"system\",\"parts\":[]}",
		  "message 2 has an unknown role" },
		{ "{\"role\":\"user\",\"parts\":[{\"kind\":\"image\"}]}",
		  "message 2 has an unknown role" },
		{ "{\"role\":\"user\"}", "message 2 has an unknown role" },
		{ "{\"role\":\"user\",\"parts\":[{\"kind\":\"tool_result\","
		  "\"id\":\"1\",\"name\":\"x\"}]}",
		  "message 2 has a part that its role does not allow" },
		{ "{\"role\":\"user\",\"parts\":[{\"kind\":\"thinking\"}]}",
		  "message 2 has a part that its role does not allow" },
		{ "{\"role\":\"tool\",\"parts\":[{\"kind\":\"text\"}]}",
		  "message 2 has a part that its role does not allow" },
		{ "{\"role\":\"assistant\",\"parts\":[{\"kind\":\"tool_call\","
		  "\"name\":\"x\"}]}",
		  "message 2 has a tool call whose id" },
		{ "{\"role\":\"assistant\",\"parts\":[{\"kind\":\"tool_call\","
		  "\"id\":\"1\"}]}",
		  "message 2 has a tool call whose name" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		char *text = xasprintf(HEAD "\"messages\":[" USER ",\n%s]}",
				       wrong[i][0]);

		refused(text, wrong[i][1]);
		refused(text, "line 2: ");
		free(text);
	}
}

static void a_sandbox_has_to_have_a_name(void **state)
{
	static const char *const wrong[] = {
		"{\"provider\":\"docker\"}",
		"{\"provider\":\"docker\",\"id\":\"\"}",
		"{\"provider\":\"docker\",\"id\":\"../x\"}",
		"{\"provider\":\"docker\",\"id\":\"-x\"}",
		"{\"provider\":\"do cker\",\"id\":\"x\"}",
		"{\"provider\":\"docker\",\"id\":\"x?y=1\"}",
		"{\"provider\":\"docker\",\"id\":7}",
		"[]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		char *text = xasprintf(HEAD "\"sandbox\":%s,\"messages\":[" USER
					    "]}",
				       wrong[i]);

		refused(text, "\"sandbox\" is not");
		free(text);
	}
	taken(HEAD "\"sandbox\":{\"provider\":\"docker\",\"id\":\"x-1\"},"
		   "\"messages\":[" USER "]}");
}

static void arguments_that_are_no_object_are_marked(void **state)
{
	static const char call[] =
		HEAD "\"messages\":[{\"role\":\"assistant\",\"parts\":[{"
		     "\"kind\":\"tool_call\",\"id\":\"1\",\"name\":\"x\","
		     "\"bad_args\":%s,\"args\":\"%s\"}]}]}";
	char *text = xasprintf(call, "false", "[1]");
	char *deep = xcalloc(2 * (size_t)DEEP + 1, 1);

	(void)state;
	assert_non_null(strstr(taken(text), "\"bad_args\":true"));
	free(text);
	text = xasprintf(call, "true", "{}");
	assert_null(strstr(taken(text), "bad_args"));
	free(text);
	memset(deep, '[', DEEP);
	memset(deep + DEEP, ']', DEEP);
	text = xasprintf(call, "false", deep);
	assert_non_null(strstr(taken(text), "\"bad_args\":true"));
	free(text);
	free(deep);
}

static void what_only_a_vendor_reads_is_dropped(void **state)
{
	(void)state;
	taken(HEAD "\"messages\":[{\"role\":\"assistant\",\"parts\":[{\"kind\":"
		   "\"thinking\",\"text\":\"t\",\"replay\":\"{}\",\"wire\":"
		   "\"anthropic\",\"args\":\"{}\"}]}]}");
	assert_string_equal(messages.ptr,
			    "0 {\"role\":\"assistant\",\"parts\":[{\"kind\":"
			    "\"thinking\",\"text\":\"t\"}]}\n");
}

static void a_refusal_stays_one(void **state)
{
	(void)state;
	taken(HEAD "\"messages\":[" USER ",{\"role\":\"assistant\",\"parts\":"
		   "[],\"refused\":true,\"origin\":\"anthropic\"}]}");
	assert_string_equal(messages.ptr,
			    "0 " USER "\n0 {\"role\":\"assistant\","
			    "\"refused\":true,\"parts\":[]}\n");
}

static void sizes_and_depths_have_limits(void **state)
{
	struct buf text = BUF_INIT(64 << 20);

	(void)state;
	buf_adds(&text, HEAD "\"messages\":[");
	for (int i = 0; i < DEEP; i++)
		buf_addc(&text, '[');
	refused(text.ptr, "nested too deep");
	buf_clear(&text);
	buf_adds(&text, HEAD "\"ignored\":");
	for (int i = 0; i < DEEP; i++)
		buf_adds(&text, "{\"a\":");
	refused(text.ptr, "nested too deep");
	buf_clear(&text);
	buf_adds(&text, HEAD "\"messages\":[[");
	for (int i = 0; i < MANY; i++)
		buf_adds(&text, "1,");
	refused(text.ptr, "too many values");
	buf_clear(&text);
	buf_adds(&text, HEAD "\"messages\":[\"");
	for (int i = 0; i < (33 << 20) / 16; i++)
		buf_adds(&text, "0123456789abcdef");
	refused(text.ptr, "larger than 33554432 bytes");
	buf_clear(&text);
	buf_adds(&text, HEAD "\"messages\":[" USER);
	for (int i = 0; i < MANY; i++)
		buf_adds(&text, "," USER);
	refused(text.ptr,
		"message 200001 is beyond the allowed number of messages");
	buf_release(&text);
}

static const char *masked(const char *json)
{
	static char text[1000];
	struct mask *m = mask_new();
	struct buf out = BUF_INIT(sizeof(text) - 1);

	mask_add(m, "API_KEY", STR("se\"cr\\et/1"));
	mask_add(m, "PIN_KEY", STR("12345678"));
	mask_add(m, "N\"AME_KEY", STR("x\":{\"y\":\"z"));
	mask_json(m, str_of(json), &out);
	snprintf(text, sizeof(text), "%s", out.ptr);
	buf_release(&out);
	mask_free(m);
	return text;
}

static void secrets_in_json_are_masked_however_they_are_escaped(void **state)
{
	(void)state;
	assert_string_equal(masked("{\"a\":\"x se\\\"cr\\\\et/1 y\"}"),
			    "{\"a\":\"x [masked:API_KEY] y\"}");
	assert_string_equal(masked("{\"a\":\"s\\u0065\\u0022cr\\\\et\\/1\"}"),
			    "{\"a\":\"[masked:API_KEY]\"}");
	assert_string_equal(masked("{\"se\\\"cr\\\\et/1\":[]}"),
			    "{\"[masked:API_KEY]\":[]}");
	assert_string_equal(masked("{\"a\":12345678,\"b\":-1.5e3}"),
			    "{\"a\":\"[masked:PIN_KEY]\",\"b\":-1.5e3}");
	assert_string_equal(
		masked("{\"x\":{\"y\":\"z\"}}"),
		"{\"masked\":\"{\\\"[masked:N\\\"AME_KEY]\\\"}}\"}");
	/* what holds none is as it was, odd as it may be written */
	assert_string_equal(masked("{ \"\\u0061\" : [1.0, \"\\/\"] }"),
			    "{ \"\\u0061\" : [1.0, \"\\/\"] }");
	assert_string_equal(masked("\"\\ud83d\\ude00 \\ud800 12345678\""),
			    "\"\xF0\x9F\x98\x80 \xEF\xBF\xBD "
			    "[masked:PIN_KEY]\"");
}

static void a_masked_message_keeps_nothing_for_vendors(void **state)
{
	struct mask *mask = mask_new();
	struct message m = { .role = ROLE_ASSISTANT };
	struct message out;

	(void)state;
	mask_add(mask, "TOKEN", STR("abcdefgh"));
	add_part(&m, PART_TEXT, "an abcdefgh");
	add_part(&m, PART_TOOL_CALL, "{\"command\":\"\\u0061bcdefgh\"}");
	m.refused = true;
	m.origin = xstrdup("anthropic");
	message_mask(mask, &m, &out);
	assert_true(out.refused);
	assert_null(out.origin);
	assert_string_equal(out.parts[0].text, "an [masked:TOKEN]");
	assert_null(out.parts[0].replay);
	assert_string_equal(out.parts[1].args,
			    "{\"command\":\"[masked:TOKEN]\"}");
	message_release(&m);
	message_release(&out);
	mask_free(mask);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			what_was_written_is_read_back_however_it_is_cut),
		cmocka_unit_test(the_order_of_the_members_does_not_matter),
		cmocka_unit_test(what_is_no_such_file_is_refused_with_its_line),
		cmocka_unit_test(
			a_message_that_none_can_be_is_refused_by_its_number),
		cmocka_unit_test(a_sandbox_has_to_have_a_name),
		cmocka_unit_test(arguments_that_are_no_object_are_marked),
		cmocka_unit_test(what_only_a_vendor_reads_is_dropped),
		cmocka_unit_test(a_refusal_stays_one),
		cmocka_unit_test(sizes_and_depths_have_limits),
		cmocka_unit_test(
			secrets_in_json_are_masked_however_they_are_escaped),
		cmocka_unit_test(a_masked_message_keeps_nothing_for_vendors),
	};
	struct error err;
	int failed;

	ids_init();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	parse((struct str){ 0 }, 1, NULL, &err);
	return failed;
}

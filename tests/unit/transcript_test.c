/* transcript_test.c - what an agent does, as rows of a conversation. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/diff.h"
#include "base/mem.h"
#include "markup.h"
#include "tool/result.h"
#include "ui/summary.h"
#include "ui/transcript.h"
#include "unit.h"

static const struct theme theme;

static struct transcript begin(void)
{
	struct transcript t;

	transcript_init(&t, &theme, 50);
	return t;
}

static void text(struct transcript *t, enum agent_event_kind kind,
		 const char *delta)
{
	transcript_event(
		t, &(struct agent_event){ .kind = kind, .text = str_of(delta) },
		0);
}

static struct part call_of(const char *id, const char *name, const char *args)
{
	return (struct part){ .kind = PART_TOOL_CALL,
			      .id = (char *)id,
			      .name = (char *)name,
			      .args = (char *)args };
}

static void tool(struct transcript *t, enum agent_event_kind kind,
		 const struct part *call, const char *delta, int64_t now)
{
	transcript_event(t,
			 &(struct agent_event){ .kind = kind,
						.call = call,
						.text = str_of(delta) },
			 now);
}

static void shows(struct transcript *t, const char *expected)
{
	char *shown = markup(&t->done);

	assert_string_equal(shown, expected);
	free(shown);
	rows_clear(&t->done);
}

static void shows_live(struct transcript *t, size_t max, int64_t now,
		       const char *expected)
{
	struct rows rows = { 0 };
	char *shown;

	transcript_live(t, max, now, NULL, &rows);
	shown = rows_text(&rows);
	assert_string_equal(shown, expected);
	free(shown);
	rows_release(&rows);
}

static void parts_stand_apart(void **state)
{
	struct transcript t = begin();

	(void)state;
	transcript_user(&t, STR("Hello\nthere\n"));
	text(&t, EVENT_TEXT, "Hi **you**");
	shows_live(&t, 9, 0, "Hi you\n");
	text(&t, EVENT_TEXT, "\n\nmore");
	text(&t, EVENT_TURN, "");
	text(&t, EVENT_TEXT, "again");
	transcript_end_turn(&t, 0);
	shows(&t, "{bold user|\xE2\x9D\xAF Hello}\n{bold user|  there}\n\n"
		  "Hi {bold|you}\n\nmore\n\nagain\n");
	shows_live(&t, 9, 0, "");
	transcript_release(&t);
}

static void a_long_message_shows_its_beginning_and_size(void **state)
{
	struct transcript t = begin();
	struct buf said = BUF_INIT(1 << 20);

	(void)state;
	for (int i = 0; i < 12; i++)
		buf_addf(&said, "%d\n", i);
	transcript_user(&t, buf_str(&said));
	assert_int_equal(t.done.n, 12); /* all of it */
	rows_clear(&t.done);
	for (int i = 12; i < 70000; i++)
		buf_addf(&said, "%d\n", i);
	transcript_user(&t, buf_str(&said));
	assert_int_equal(t.done.n, 1 + 6 + 1 + 3);
	rows_consume(&t.done, 6);
	shows(&t, "{bold user|  5}\n"
		  "{muted|  \xE2\x80\xA6 69991 more lines, 0.4 MB in all}\n"
		  "{bold user|  69997}\n{bold user|  69998}\n"
		  "{bold user|  69999}\n");
	buf_clear(&said);
	for (int i = 0; i < 3000; i++)
		buf_adds(&said, "\xC3\xA9\xC3\xA9");
	transcript_user(&t, buf_str(&said));
	assert_in_range(t.done.bytes.len, 4096, 4096 + 1000);
	assert_true(str_is_utf8(buf_str(&t.done.bytes)));
	buf_release(&said);
	transcript_release(&t);
}

static void of_a_command_that_is_done_the_last_lines_stay(void **state)
{
	struct transcript t = begin();
	struct part call =
		call_of("1", "execute", "{\"command\":\"make\\ntest\"}");

	(void)state;
	tool(&t, EVENT_TOOL_CALL, &call, "", 1000);
	shows_live(&t, 9, 1000,
		   "\xE2\x8F\xBA execute make \xE2\x80\xA6\n"
		   "  \xE2\x8E\xBF 0.0 s\n");
	for (int i = 0; i < 3000; i++)
		tool(&t, EVENT_TOOL_OUTPUT, &call, "line\n", 1000);
	tool(&t, EVENT_TOOL_OUTPUT, &call, "last", 1000);
	shows_live(&t, 99, 3500,
		   "\xE2\x8F\xBA execute make \xE2\x80\xA6\n"
		   "    line\n    line\n    line\n    line\n    last\n"
		   "  \xE2\x8E\xBF 3001 lines, 2.5 s\n");
	shows_live(&t, 2, 3500, "    last\n  \xE2\x8E\xBF 3001 lines, 2.5 s\n");
	assert_int_equal(t.done.n, 0);
	tool(&t, EVENT_TOOL_RESULT, &call,
	     "...\n[Command succeeded with exit code 0]", 3100);
	shows(&t, "{tool|\xE2\x8F\xBA}{muted| }{bold tool|execute} make "
		  "\xE2\x80\xA6\n"
		  "{muted|    line}\n{muted|    line}\n{muted|    line}\n"
		  "{muted|    line}\n{muted|    last}\n"
		  "{muted|  \xE2\x8E\xBF 3001 lines (Ctrl+O shows all), exit "
		  "0, 2.1 s}\n");
	shows_live(&t, 9, 0, "");
	transcript_release(&t);
}

static void the_time_of_a_question_is_not_that_of_the_call(void **state)
{
	struct transcript t = begin();
	struct part call = call_of("1", "execute", "{\"command\":\"x\"}");

	(void)state;
	tool(&t, EVENT_TOOL_CALL, &call, "", 1000);
	transcript_waited(&t, 60000);
	tool(&t, EVENT_TOOL_RESULT, &call,
	     "\n[Command succeeded with exit code 0]", 63500);
	shows(&t, "{tool|\xE2\x8F\xBA}{muted| }{bold tool|execute} x\n"
		  "{muted|  \xE2\x8E\xBF exit 0, 2.5 s}\n");
	transcript_release(&t);
}

static void a_command_that_fails_shows_its_end(void **state)
{
	struct transcript t = begin();
	struct part call = call_of("1", "execute", "{\"command\":\"x\"}");

	(void)state;
	tool(&t, EVENT_TOOL_CALL, &call, "", 0);
	tool(&t, EVENT_TOOL_OUTPUT, &call, "no x\n", 0);
	tool(&t, EVENT_TOOL_RESULT, &call,
	     "no x\n[Command failed with exit code 127]", 90500);
	shows(&t, "{tool|\xE2\x8F\xBA}{muted| }{bold tool|execute} x\n"
		  "{muted|    no x}\n{muted|  \xE2\x8E\xBF }"
		  "{error|1 line, exit 127, 1 min 30 s}\n");
	transcript_release(&t);
}

static void ends(struct transcript *t, const char *output,
		 const struct agent_event *end)
{
	struct part call = call_of("1", "execute", "{\"command\":\"x\"}");
	struct agent_event ev = *end;

	ev.kind = EVENT_TOOL_RESULT;
	ev.call = &call;
	tool(t, EVENT_TOOL_CALL, &call, "", 0);
	tool(t, EVENT_TOOL_OUTPUT, &call, output, 0);
	transcript_event(t, &ev, 2000);
}

static void an_interrupted_command_says_so_with_its_last_line(void **state)
{
	struct transcript t = begin();

	(void)state;
	t.look.lines = 0;
	ends(&t, "one\ntwo\n\n",
	     &(struct agent_event){ .failed = true,
				    .interrupted = true,
				    .ran_ms = 3210,
				    .text = STR("one\ntwo\n[Command was"),
				    .end = STR("\n[Command was") });
	shows(&t, "{tool|\xE2\x8F\xBA}{muted| }{bold tool|execute} x\n"
		  "{muted|    two}\n{muted|  \xE2\x8E\xBF }{error|3 lines "
		  "(Ctrl+O shows all), interrupted after}\n"
		  "    {error|3.2 s}\n");
	ends(&t, "",
	     &(struct agent_event){ .failed = true,
				    .interrupted = true,
				    .ran_ms = -1,
				    .text = STR("Tool call 1 was") });
	shows(&t, "{tool|\xE2\x8F\xBA}{muted| }{bold tool|execute} x\n"
		  "{muted|  \xE2\x8E\xBF }{error|not run: interrupted}\n");
	transcript_release(&t);
}

static void a_command_that_timed_out_says_so(void **state)
{
	struct transcript t = begin();

	(void)state;
	ends(&t, "one\n",
	     &(struct agent_event){
		     .text = STR("one\nError: Command timed out\nmore"),
		     .end = STR("\nError: Command timed out\nmore") });
	shows(&t, "{tool|\xE2\x8F\xBA}{muted| }{bold tool|execute} x\n"
		  "{muted|    one}\n{muted|  \xE2\x8E\xBF }"
		  "{error|1 line, Error: Command timed out}\n");
	transcript_release(&t);
}

static void a_result_that_was_stored_shows_its_last_lines(void **state)
{
	struct transcript t = begin();

	(void)state;
	t.look.lines = 1;
	ends(&t, "",
	     &(struct agent_event){
		     .text = STR("one\ntwo\n[Command succeeded with exit "
				 "code 0]") });
	shows(&t, "{tool|\xE2\x8F\xBA}{muted| }{bold tool|execute} x\n"
		  "{muted|    two}\n{muted|  \xE2\x8E\xBF 2 lines (Ctrl+O "
		  "shows all), exit 0, 2.0 s}\n");
	transcript_release(&t);
}

static void a_long_line_takes_two_rows_for_each_line(void **state)
{
	struct transcript t = begin();
	struct buf line = BUF_INIT(10000);

	(void)state;
	t.look.lines = 1;
	for (int i = 0; i < 2000; i++)
		buf_adds(&line, "ab");
	ends(&t, line.ptr, &(struct agent_event){ .end = STR("\nx") });
	assert_int_equal(t.done.n, 4);
	buf_release(&line);
	transcript_release(&t);
}

static void a_file_tool_is_one_line(void **state)
{
	struct transcript t = begin();
	struct part call = call_of("1", "read_file", "{\"file_path\":\"a.c\"}");

	(void)state;
	tool(&t, EVENT_TOOL_CALL, &call, "", 0);
	tool(&t, EVENT_TOOL_RESULT, &call, "1\n2\n", 999);
	shows(&t, "{tool|\xE2\x8F\xBA}{muted| }{bold tool|read_file} a.c"
		  "{muted| (2 lines)}\n");
	tool(&t, EVENT_TOOL_CALL, &call, "", 0);
	tool(&t, EVENT_TOOL_RESULT, &call, "1", 2500);
	shows(&t, "{tool|\xE2\x8F\xBA}{muted| }{bold tool|read_file} a.c"
		  "{muted| (1 line, 2.5 s)}\n");
	transcript_release(&t);
}

static void a_list_of_names_says_how_many_it_has(void **state)
{
	static const struct {
		const char *tool, *result, *size;
	} cases[] = {
		{ "ls", "['/w/a', '/w/it\\'s', \"/w/o'x\", '/w/d/']",
		  "4 entries" },
		{ "ls", "['/w/a']", "1 entry" },
		{ "ls", "No files found", "0 entries" },
		{ "glob",
		  "['/a', '/b']\n\nNote: 3 files that git ignores ...\n"
		  "[Commands run in sh.]",
		  "2 files" },
		{ "glob",
		  "['/a']\n\nNote: the search stopped early. The paths above "
		  "are valid but incomplete.",
		  "more than 1 file" },
		{ "glob", "No files found\n\nNote: 3 files", "0 files" },
		{ "glob", "['/a", "1 line" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct transcript t = begin();
		struct part call = call_of("1", cases[i].tool, "{}");
		char *shown;

		tool(&t, EVENT_TOOL_CALL, &call, "", 0);
		tool(&t, EVENT_TOOL_RESULT, &call, cases[i].result, 1);
		shown = rows_text(&t.done);
		assert_non_null(strchr(shown, '('));
		assert_memory_equal(strchr(shown, '(') + 1, cases[i].size,
				    strlen(cases[i].size));
		assert_string_equal(strrchr(shown, ')'), ")\n");
		free(shown);
		transcript_release(&t);
	}
}

static void a_note_for_the_model_is_not_a_line_of_a_result(void **state)
{
	static const char *const results[] = {
		"1  a\n2  b\n\n[Read 2 lines (lines 1-2 of 5 total).]",
		"1  a\n2  b\n[Commands run in sh on Linux, as the user root.]",
		("1  a\n2  b\n\n[Read 2 lines.]\n[Commands run in sh.]\n[The "
		 "setup script ended in /a.]"),
		"1  [Read \n2  [Commands run in sh.]",
		"a\n\n",
	};
	struct part call = call_of("1", "read_file", "{\"file_path\":\"a.c\"}");

	(void)state;
	for (size_t i = 0; i < sizeof(results) / sizeof(*results); i++) {
		struct transcript t = begin();

		tool(&t, EVENT_TOOL_CALL, &call, "", 0);
		tool(&t, EVENT_TOOL_RESULT, &call, results[i], 1);
		shows(&t, "{tool|\xE2\x8F\xBA}{muted| }{bold tool|read_file}"
			  " a.c{muted| (2 lines)}\n");
		transcript_release(&t);
	}
}

static void several_calls_at_once_stay_apart(void **state)
{
	struct transcript t = begin();
	struct part a = call_of("a", "execute", "{\"command\":\"one\"}");
	struct part b = call_of("b", "execute", "{\"command\":\"two\"}");
	struct part c = call_of("c", "ls", "{\"path\":\"/x\"}");

	(void)state;
	tool(&t, EVENT_TOOL_CALL, &a, "", 0);
	tool(&t, EVENT_TOOL_CALL, &b, "", 0);
	tool(&t, EVENT_TOOL_CALL, &c, "", 0);
	tool(&t, EVENT_TOOL_OUTPUT, &a, "of ", 0);
	tool(&t, EVENT_TOOL_OUTPUT, &b, "of two\n", 0);
	tool(&t, EVENT_TOOL_OUTPUT, &a, "one\n", 0);
	shows_live(&t, 20, 0,
		   "\xE2\x8F\xBA execute one\n    of one\n"
		   "  \xE2\x8E\xBF 0.0 s\n"
		   "\xE2\x8F\xBA execute two\n    of two\n"
		   "  \xE2\x8E\xBF 0.0 s\n"
		   "\xE2\x8F\xBA ls /x\n  \xE2\x8E\xBF 0.0 s\n");
	tool(&t, EVENT_TOOL_RESULT, &b, "", 0);
	shows(&t, "{tool|\xE2\x8F\xBA}{muted| }{bold tool|execute} two\n"
		  "{muted|    of two}\n"
		  "{muted|  \xE2\x8E\xBF 1 line, 0.0 s}\n");
	transcript_end_turn(&t, 0);
	shows(&t, "{tool|\xE2\x8F\xBA}{muted| }{bold tool|execute} one\n"
		  "{muted|  \xE2\x8E\xBF }{error|stopped}\n"
		  "{tool|\xE2\x8F\xBA}{muted| }{bold tool|ls} /x\n"
		  "{muted|  \xE2\x8E\xBF }{error|stopped}\n");
	transcript_release(&t);
}

static void an_edit_is_shown_as_a_diff(void **state)
{
	struct transcript t = begin();
	struct part call = call_of("1", "edit_file",
				   "{\"file_path\":\"a.c\",\"old_string\":"
				   "\"x = 1;\",\"new_string\":\"x = 2;\"}");

	(void)state;
	tool(&t, EVENT_TOOL_CALL, &call, "", 0);
	tool(&t, EVENT_TOOL_RESULT, &call, "Successfully replaced", 0);
	shows(&t, "{tool|\xE2\x8F\xBA}{muted| }{bold tool|edit_file} a.c +1 -1"
		  "\n{on- removed|- }{on-|x = }{on- lit number|1}{on-|;}\n"
		  "{on+ added|+ }{on+|x = }{on+ lit number|2}{on+|;}\n");
	transcript_release(&t);
}

static void a_file_that_is_overwritten_has_the_size_of_its_diff(void **state)
{
	static const struct {
		const char *before, *after, *size;
		size_t rows;
	} cases[] = {
		{ "", "a\nb\nc\n", " +3", 4 },
		{ "a\nx\nc\n", "a\nb\nc\n", " +1 -1", 5 },
		{ "a\nb\nc\n", "a\nb\nc\n", " (unchanged)", 1 },
	};
	struct part call =
		call_of("1", "write_file",
			"{\"file_path\":\"a\",\"content\":\"a\\nb\\nc\\n\"}");

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		size_t k = i / 2;
		struct transcript t = begin();
		struct tool_change change = { 0 };
		struct agent_event ev = { .kind = EVENT_TOOL_RESULT,
					  .call = &call,
					  .text = STR("Updated file"),
					  .change = &change };
		struct buf stored = BUF_INIT(1000);
		char *line = xasprintf("write_file a%s\n", cases[k].size);
		char *shown;

		if (i % 2) { /* a thread that is resumed */
			diff_store(str_of(cases[k].before),
				   str_of(cases[k].after), &stored);
			tool_change_store(&change, buf_str(&stored));
		} else {
			tool_change_set(&change, str_of(cases[k].before),
					str_of(cases[k].after));
		}
		tool(&t, EVENT_TOOL_CALL, &call, "", 0);
		transcript_event(&t, &ev, 0);
		assert_int_equal(t.done.n, cases[k].rows);
		shown = rows_text(&t.done);
		assert_non_null(strstr(shown, line));
		free(shown);
		free(line);
		buf_release(&stored);
		tool_change_release(&change);
		transcript_release(&t);
	}
}

static void a_failed_edit_shows_why_and_no_diff(void **state)
{
	struct transcript t = begin();
	struct part call =
		call_of("1", "write_file",
			"{\"file_path\":\"a\",\"content\":\"x\\n\"}");

	(void)state;
	tool(&t, EVENT_TOOL_CALL, &call, "", 0);
	transcript_event(&t,
			 &(struct agent_event){ .kind = EVENT_TOOL_RESULT,
						.call = &call,
						.failed = true,
						.text = STR("Error: no\nx") },
			 0);
	shows(&t, "{tool|\xE2\x8F\xBA}{muted| }{bold tool|write_file} a\n"
		  "{muted|  \xE2\x8E\xBF }{error|Error: no}\n");
	transcript_release(&t);
}

static void a_missing_file_is_named_in_words(void **state)
{
	struct transcript t = begin();
	struct part call = call_of("1", "read_file", "{\"file_path\":\"a\"}");
	struct agent_event ev = {
		.kind = EVENT_TOOL_RESULT,
		.call = &call,
		.failed = true,
		.text = STR("Error: File '/a': file_not_found"),
	};
	struct buf line = BUF_INIT(100);

	(void)state;
	tool(&t, EVENT_TOOL_CALL, &call, "", 0);
	transcript_event(&t, &ev, 0);
	shows(&t, "{tool|\xE2\x8F\xBA}{muted| }{bold tool|read_file} a\n"
		  "{muted|  \xE2\x8E\xBF }{error|Error: File '/a': no such "
		  "file}\n");
	summary_of_result(&ev, &line);
	assert_string_equal(line.ptr, "Error: File '/a': no such file");
	/* only a code at the end of an error */
	buf_clear(&line);
	ev.text = STR("Error: 'x: file_not_found' is odd");
	summary_of_result(&ev, &line);
	assert_string_equal(line.ptr, "Error: 'x: file_not_found' is odd");
	/* wrong arguments: the reasons, without the arguments */
	buf_clear(&line);
	ev.text = STR("Error invoking tool 'delete' with kwargs {'path': 'a'} "
		      "with error:\n file_path: Field required\n n: Input "
		      "should be greater than 0\n Please fix the error and try "
		      "again.");
	summary_of_result(&ev, &line);
	assert_string_equal(line.ptr,
			    "wrong arguments: file_path is missing; n: Input "
			    "should be greater than 0");
	buf_clear(&line);
	ev.text = STR("Error invoking tool 'delete' with kwargs {'path': 'a'}");
	summary_of_result(&ev, &line);
	assert_string_equal(line.ptr, ev.text.ptr);
	buf_release(&line);
	transcript_release(&t);
}

static void an_edit_of_a_known_file_has_its_line_numbers(void **state)
{
	struct part call = call_of("1", "edit_file",
				   "{\"file_path\":\"a\",\"old_string\":\"c\","
				   "\"new_string\":\"C\"}");
	struct toolview_look look = { .theme = &theme,
				      .columns = 40,
				      .lines = TOOLVIEW_LINES };
	struct str content = STR("a\nb\nc\nd\n");
	struct tool_change change = { 0 };
	struct rows rows = { 0 };
	char *shown;

	(void)state;
	tool_change_set(&change, content, STR("a\nb\nC\nd\n"));
	assert_true(toolview_diff(&call, &change, &look, &rows));
	shown = rows_text(&rows);
	assert_string_equal(shown, "1   a\n2   b\n3 - c\n3 + C\n4   d\n");
	free(shown);
	rows_clear(&rows);
	call = call_of("1", "write_file",
		       "{\"file_path\":\"a\",\"content\":\"a\\nb\\nd\\n\"}");
	tool_change_set(&change, content, STR("a\nb\nd\n"));
	assert_true(toolview_diff(&call, &change, &look, &rows));
	shown = rows_text(&rows);
	assert_string_equal(shown, "1   a\n2   b\n3 - c\n3   d\n");
	free(shown);
	call = call_of("1", "ls", "{\"path\":\"a\"}");
	assert_false(toolview_diff(&call, &change, &look, &rows));
	tool_change_release(&change);
	rows_release(&rows);
}

static void each_tool_says_what_matters(void **state)
{
	static const struct {
		const char *tool, *args, *line;
	} cases[] = {
		{ "execute", "{\"command\":\"ls -l\",\"timeout\":5}", "ls -l" },
		{ "read_file", "{\"file_path\":\"a\"}", "a" },
		{ "read_file",
		  "{\"file_path\":\"a\",\"offset\":9,\"limit\":20}",
		  "a after line 9, 20 lines" },
		{ "grep",
		  "{\"pattern\":\"x\",\"path\":\"src\",\"glob\":\"*.c\"}",
		  "x in src (*.c)" },
		{ "grep", "{\"pattern\":\"x\",\"path\":null}", "x" },
		{ "glob", "{\"pattern\":\"**\"}", "**" },
		{ "delete", "{\"file_path\":\"/a\"}", "/a" },
		{ "delete", "{\"file_path\":\"/work/dir/a b\"}", "a b" },
		{ "ls", "{\"path\":\"/work/dir\"}", "." },
		{ "ls", "{\"path\":\"/work/directory\"}", "/work/directory" },
		{ "ls", "{\"path\":\"/work/dir//etc\"}", "/work/dir//etc" },
		{ "ls", "{\"path\":\"/work/dir/~\"}", "/work/dir/~" },
		{ "ls", "{\"path\":\"/work/dir/a/../../x\"}",
		  "/work/dir/a/../../x" },
		{ "grep",
		  "{\"pattern\":\"/work/dir/x\",\"path\":\"/work/dir/src\"}",
		  "/work/dir/x in src" },
		{ "made_up", "{\"a\":1}", "{\"a\":1}" },
		{ "ls", "no json\nat all", "no json \xE2\x80\xA6" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct buf out = BUF_INIT(1 << 16);
		cJSON *args = json_parse(str_of(cases[i].args));

		tool_summary_add(
			&(struct summary_call){ tool_find(cases[i].tool), args,
						str_of(cases[i].args),
						"/work/dir" },
			&out);
		buf_addc(&out, '\0');
		assert_string_equal(out.ptr, cases[i].line);
		cJSON_Delete(args);
		buf_release(&out);
	}
	/* every tool has a row for it */
	for (size_t i = 0; tools[i]; i++)
		assert_non_null(tools[i]->summary);
}

static void thinking_is_folded_to_its_first_words(void **state)
{
	struct transcript t = begin();

	(void)state;
	text(&t, EVENT_THINKING, "I should first look\nat all of the files");
	shows_live(&t, 9, 0, "I should first look\nat all of the files\n");
	text(&t, EVENT_THINKING, " of the whole tree and read them.");
	text(&t, EVENT_TEXT, "Done");
	text(&t, EVENT_TURN, "");
	shows(&t,
	      "{dim italic muted|Thinking: I should first look at all of "
	      "the files}\n{dim italic muted|of the whole tree \xE2\x80\xA6 "
	      "(16 words)}\n\nDone\n");
	t.show_thinking = true;
	text(&t, EVENT_THINKING, "one\ntwo");
	text(&t, EVENT_TURN, "");
	shows(&t, "\n{dim italic muted|one}\n{dim italic muted|two}\n");
	transcript_release(&t);
}

static void an_answer_that_begins_again_is_said(void **state)
{
	struct transcript t = begin();

	(void)state;
	text(&t, EVENT_RESTART, "cut");
	shows(&t, "{warn|\xE2\x9A\xA0 Retrying: cut}\n");
	text(&t, EVENT_TEXT, "```\nhalf");
	text(&t, EVENT_RESTART, "cut");
	text(&t, EVENT_TEXT, "whole");
	text(&t, EVENT_TURN, "");
	shows(&t, "\n{muted|" BARS_40 "}\n{code|half}\n{muted|" BARS_40
		  "}\n\n{warn|\xE2\x9A\xA0 Retrying: "
		  "cut}\n{warn|\xE2\x9A\xA0 The connection broke; the answer "
		  "starts over.}\n{warn|  Ignore the text above.}\n\n"
		  "whole\n");
	text(&t, EVENT_WARNING, "careful\x1b[2J");
	shows(&t, "\n{warn|\xE2\x9A\xA0 careful}\n");
	transcript_release(&t);
}

static void tries_that_fail_alike_take_one_row(void **state)
{
	struct transcript t = begin();

	(void)state;
	text(&t, EVENT_RESTART, "busy; trying again in 1 s (waited 0 of 9 s)");
	shows(&t, "{warn|\xE2\x9A\xA0 Retrying: busy}\n");
	text(&t, EVENT_RESTART, "busy; trying again in 2 s (waited 1 of 9 s)");
	text(&t, EVENT_FLUSH, "");
	text(&t, EVENT_RESTART, "busy; trying again in 4 s (waited 3 of 9 s)");
	shows(&t, "");
	text(&t, EVENT_RESTART, "cut; trying again (attempt 2 of 5)");
	shows(&t, "{warn|\xE2\x9A\xA0 Retrying: cut}\n");
	transcript_end_turn(&t, 0);
	text(&t, EVENT_RESTART, "cut; trying again");
	shows(&t, "{warn|\xE2\x9A\xA0 Retrying: cut}\n");
	transcript_release(&t);
}

static void only_what_went_wrong_has_the_sign_of_a_warning(void **state)
{
	struct transcript t = begin();
	struct agent_event job = { .kind = EVENT_JOB, .text = STR("job 1 x") };

	(void)state;
	transcript_event(&t, &job, 0);
	shows(&t, "{muted|\xE2\x9C\x93 job 1 x}\n");
	job.failed = true;
	transcript_event(&t, &job, 0);
	shows(&t, "{warn|\xE2\x9A\xA0 job 1 x}\n");
	text(&t, EVENT_COMPACT, "compacted");
	shows(&t, "{muted|\xE2\x80\xA2 compacted}\n");
	transcript_release(&t);
}

/* Adds the call that runs in full; false: none does. */
static bool running_call(const struct transcript *t, struct rows *out)
{
	struct call_record r;

	if (!transcript_running_call(t, 0, 0, &r))
		return false;
	toolview_full(&r, &t->look, out);
	call_record_release(&r);
	return true;
}

static void the_newest_call_is_kept_in_full_up_to_a_limit(void **state)
{
	struct transcript t = begin();
	struct part a = call_of("a", "execute", "{\"command\":\"one\\ntwo\"}");
	struct rows rows = { 0 };
	char *shown;

	(void)state;
	assert_false(running_call(&t, &rows));
	tool(&t, EVENT_TOOL_CALL, &a, "", 0);
	tool(&t, EVENT_TOOL_OUTPUT, &a, "out\n", 0);
	assert_true(running_call(&t, &rows));
	shown = rows_text(&rows);
	assert_string_equal(shown,
			    "\xE2\x8F\xBA execute one \xE2\x80\xA6 (runs)\n"
			    "  command: one\n  two\nout\n");
	free(shown);
	for (int i = 0; i < 300000; i++)
		tool(&t, EVENT_TOOL_OUTPUT, &a, "12345\n", 0);
	assert_true(t.views[0].output.len <= CALL_LOG_OUTPUT);
	assert_true(t.views[0].tail.cap <= 4 * TOOLVIEW_TAIL);
	rows_clear(&rows);
	assert_true(running_call(&t, &rows));
	assert_non_null(strstr(rows.bytes.ptr, "751428 more bytes were not "
					       "kept"));
	rows_release(&rows);
	transcript_release(&t);
}

static void a_diff_that_a_command_prints_is_coloured_in_full(void **state)
{
	struct transcript t = begin();
	struct part a = call_of("a", "execute", "{\"command\":\"d\"}");
	struct rows rows = { 0 };
	char *shown;

	(void)state;
	tool(&t, EVENT_TOOL_CALL, &a, "", 0);
	tool(&t, EVENT_TOOL_OUTPUT, &a, "--- a\n+++ b\n@@ -1 +1 @@\n-c\n+d\n",
	     0);
	assert_true(running_call(&t, &rows));
	shown = markup(&rows);
	assert_non_null(strstr(shown, "{on- removed|1 - }{on-|c}\n"
				      "{on+ added|1 + }{on+|d}\n"));
	free(shown);
	rows_release(&rows);
	transcript_release(&t);
}

static void finished_calls_are_kept_with_their_output_and_edit(void **state)
{
	struct transcript t = begin();
	struct part a = call_of("a", "execute", "{\"command\":\"make\"}");
	struct part b = call_of("b", "edit_file",
				"{\"file_path\":\"f\",\"old_string\":\"x\","
				"\"new_string\":\"y\"}");
	struct tool_change change = { 0 };
	struct rows rows = { 0 };
	struct call_record r;
	char *shown;

	(void)state;
	tool(&t, EVENT_TOOL_CALL, &a, "", 0);
	tool(&t, EVENT_TOOL_OUTPUT, &a, "out\n", 0);
	tool(&t, EVENT_TOOL_RESULT, &a,
	     "out\n[Command failed with exit code 2]", 0);
	tool(&t, EVENT_TOOL_CALL, &b, "", 0);
	tool_change_set(&change, STR("1\nx\n"), STR("1\ny\n"));
	transcript_event(&t,
			 &(struct agent_event){ .kind = EVENT_TOOL_RESULT,
						.call = &b,
						.change = &change },
			 0);
	assert_int_equal(t.log.n, 2);
	assert_false(transcript_running_call(&t, 0, 0, &r));
	call_log_read(&t.log, &t.log.list[0], &r);
	assert_string_equal(r.title, "execute: make");
	assert_string_equal(r.state, "exit 2");
	assert_string_equal(r.output.ptr, "out\n");
	call_record_release(&r);
	call_log_read(&t.log, &t.log.list[1], &r);
	toolview_full(&r, &t.look, &rows);
	shown = rows_text(&rows);
	assert_non_null(strstr(shown, "1   1\n2 - x\n2 + y\n"));
	free(shown);
	call_record_release(&r);
	rows_release(&rows);
	tool_change_release(&change);
	transcript_release(&t);
}

static void the_log_of_calls_has_a_limit(void **state)
{
	struct call_log log = { 0 };
	struct call_record r = { .call = { .name = (char *)"ls" } };
	struct call_record last;

	(void)state;
	r.output = BUF_INIT(100);
	for (int i = 0; i < CALL_LOG_MOST + 5; i++) {
		buf_clear(&r.output);
		buf_addf(&r.output, "n-%d", i);
		call_log_add(&log, &r);
	}
	assert_int_equal(log.n, CALL_LOG_MOST);
	call_log_read(&log, &log.list[0], &last);
	assert_string_equal(last.output.ptr, "n-5");
	call_record_release(&last);
	log.texts.end = CALL_LOG_BYTES;
	call_log_add(&log, &r);
	call_log_read(&log, &log.list[log.n - 1], &last);
	assert_int_equal(last.output.len, 0);
	assert_int_equal(last.cut, r.output.len);
	call_record_release(&last);
	call_log_clear(&log);
	buf_release(&r.output);
}

static void change_rows(struct transcript *t, struct part *call,
			const char *final, const char *rest)
{
	transcript_event(t,
			 &(struct agent_event){ .kind = EVENT_TOOL_OUTPUT,
						.call = call,
						.text = str_of(final),
						.end = str_of(rest) },
			 0);
}

static void rows_that_change_show_their_last_state(void **state)
{
	/* What the agent sends of "10%\r50%" and of lines that stay. */
	static const struct {
		const char *final, *rest, *shown;
	} cases[] = {
		{ "", "50%", "    50%\n" },
		{ "100%\nok\n", "", "    100%\n    ok\n" },
		{ "one\n", "two", "    one\n    two\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct transcript t = begin();
		struct part a = call_of("a", "execute", "{\"command\":\"d\"}");
		struct rows rows = { 0 };
		char *shown;

		tool(&t, EVENT_TOOL_CALL, &a, "", 0);
		change_rows(&t, &a, "", "10%");
		transcript_live(&t, 9, 0, NULL, &rows);
		shown = rows_text(&rows);
		assert_non_null(strstr(shown, "    10%\n"));
		free(shown);
		rows_clear(&rows);
		change_rows(&t, &a, cases[i].final, cases[i].rest);
		transcript_live(&t, 9, 0, NULL, &rows);
		shown = rows_text(&rows);
		assert_non_null(strstr(shown, cases[i].shown));
		assert_null(strstr(shown, "10%"));
		free(shown);
		rows_clear(&rows);
		assert_true(running_call(&t, &rows));
		shown = rows_text(&rows);
		assert_null(strstr(shown, "10%"));
		free(shown);
		rows_release(&rows);
		transcript_release(&t);
	}
}

static void a_long_session_does_not_grow(void **state)
{
	struct transcript t = begin();
	struct part a = call_of("a", "execute", "{\"command\":\"one\"}");
	size_t before = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		transcript_user(&t, STR("question"));
		text(&t, EVENT_TEXT, "an *answer*\n\n- of\n- several\n");
		tool(&t, EVENT_TOOL_CALL, &a, "", 0);
		tool(&t, EVENT_TOOL_OUTPUT, &a, "output\n", 0);
		tool(&t, EVENT_TOOL_RESULT, &a, "output\n", 0);
		transcript_end_turn(&t, 0);
		rows_clear(&t.done);
		if (i == 20)
			before = t.done.bytes.cap + t.done.cap_spans;
	}
	assert_int_equal(t.done.bytes.cap + t.done.cap_spans, before);
	assert_int_equal(t.n_views, 0);
	transcript_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_missing_file_is_named_in_words),
		cmocka_unit_test(parts_stand_apart),
		cmocka_unit_test(a_long_message_shows_its_beginning_and_size),
		cmocka_unit_test(of_a_command_that_is_done_the_last_lines_stay),
		cmocka_unit_test(
			the_time_of_a_question_is_not_that_of_the_call),
		cmocka_unit_test(a_command_that_fails_shows_its_end),
		cmocka_unit_test(
			an_interrupted_command_says_so_with_its_last_line),
		cmocka_unit_test(a_command_that_timed_out_says_so),
		cmocka_unit_test(a_result_that_was_stored_shows_its_last_lines),
		cmocka_unit_test(a_long_line_takes_two_rows_for_each_line),
		cmocka_unit_test(a_file_tool_is_one_line),
		cmocka_unit_test(a_list_of_names_says_how_many_it_has),
		cmocka_unit_test(
			a_file_that_is_overwritten_has_the_size_of_its_diff),
		cmocka_unit_test(
			a_note_for_the_model_is_not_a_line_of_a_result),
		cmocka_unit_test(several_calls_at_once_stay_apart),
		cmocka_unit_test(an_edit_is_shown_as_a_diff),
		cmocka_unit_test(a_failed_edit_shows_why_and_no_diff),
		cmocka_unit_test(an_edit_of_a_known_file_has_its_line_numbers),
		cmocka_unit_test(each_tool_says_what_matters),
		cmocka_unit_test(thinking_is_folded_to_its_first_words),
		cmocka_unit_test(an_answer_that_begins_again_is_said),
		cmocka_unit_test(tries_that_fail_alike_take_one_row),
		cmocka_unit_test(
			only_what_went_wrong_has_the_sign_of_a_warning),
		cmocka_unit_test(the_newest_call_is_kept_in_full_up_to_a_limit),
		cmocka_unit_test(
			a_diff_that_a_command_prints_is_coloured_in_full),
		cmocka_unit_test(rows_that_change_show_their_last_state),
		cmocka_unit_test(
			finished_calls_are_kept_with_their_output_and_edit),
		cmocka_unit_test(the_log_of_calls_has_a_limit),
		cmocka_unit_test(a_long_session_does_not_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* plain_test.c - what reaches standard output, also after a retry. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mask/mask.h"
#include "base/str.h"
#include "ui/streams.h"

static int saved[2];
static char names[2][32];
static struct mask *mask;
static struct output_guard guard;

static void begin(void)
{
	for (int i = 0; i < 2; i++) {
		int fd;

		strcpy(names[i], "/tmp/plain_test.XXXXXX");
		fd = mkstemp(names[i]);
		fflush(i ? stderr : stdout);
		saved[i] = dup(i + 1);
		dup2(fd, i + 1);
		close(fd);
	}
	output_guard(&guard, &mask);
}

/* What was written to fd 1 and 2 since begin(). */
static void end(char out[2][2000])
{
	output_release(&guard);
	for (int i = 0; i < 2; i++) {
		int fd = open(names[i], O_RDONLY);
		ssize_t n = read(fd, out[i], 1999);

		out[i][n > 0 ? n : 0] = '\0';
		close(fd);
		unlink(names[i]);
		dup2(saved[i], i + 1);
		close(saved[i]);
	}
}

static void say(struct plain *p, enum agent_event_kind kind, const char *text)
{
	plain_event(
		p, &(struct agent_event){ .kind = kind, .text = str_of(text) });
}

static void answers_stand_on_their_own_lines(void **state)
{
	struct plain p = { .guard = &guard };
	char out[2][2000];

	(void)state;
	begin();
	say(&p, EVENT_TEXT, "one");
	say(&p, EVENT_TEXT, " two\x1b[31m");
	say(&p, EVENT_FLUSH, "");
	say(&p, EVENT_TURN, "");
	say(&p, EVENT_TEXT, "three\n");
	say(&p, EVENT_TURN, "");
	plain_end(&p);
	end(out);
	assert_string_equal(out[0], "one two\nthree\n");
	assert_string_equal(out[1], "");
	plain_release(&p);
}

static void equal_repetition_is_printed_once(void **state)
{
	struct plain p = { .guard = &guard };
	char out[2][2000];

	(void)state;
	begin();
	say(&p, EVENT_TEXT, "Hello wor");
	say(&p, EVENT_RESTART, "cut");
	say(&p, EVENT_TEXT, "Hel");
	say(&p, EVENT_TEXT, "lo world");
	say(&p, EVENT_TURN, "");
	plain_end(&p);
	end(out);
	assert_string_equal(out[0], "Hello world\n");
	assert_non_null(strstr(out[1], "Retrying: cut"));
	plain_release(&p);
}

static void another_answer_is_printed_whole(void **state)
{
	struct plain p = { .guard = &guard };
	char out[2][2000];

	(void)state;
	begin();
	say(&p, EVENT_TEXT, "Hello wor");
	say(&p, EVENT_RESTART, "cut");
	say(&p, EVENT_TEXT, "Help");
	say(&p, EVENT_TEXT, " is near");
	say(&p, EVENT_TURN, "");
	plain_end(&p);
	end(out);
	assert_string_equal(out[0], "Hello wor\nHelp is near\n");
	plain_release(&p);
}

static void a_void_answer_is_not_buffered_output(void **state)
{
	struct plain p = { .guard = &guard, .no_stream = true, .quiet = true };
	char out[2][2000];

	(void)state;
	begin();
	say(&p, EVENT_TEXT, "Hello wor");
	say(&p, EVENT_FLUSH, "");
	say(&p, EVENT_RESTART, "cut");
	say(&p, EVENT_TEXT, "Bye");
	say(&p, EVENT_TURN, "");
	plain_end(&p);
	end(out);
	assert_string_equal(out[0], "Bye\n");
	assert_string_equal(out[1], "");
	plain_release(&p);
}

static void output_of_tool(struct plain *p, const char *text)
{
	const struct part call = { .id = (char *)"1", .name = (char *)"ls" };

	plain_event(p, &(struct agent_event){ .kind = EVENT_TOOL_OUTPUT,
					      .call = &call,
					      .text = str_of(text) });
}

static void lines_of_others_begin_after_a_tools_output(void **state)
{
	struct plain p = { .guard = &guard };
	char out[2][2000];

	(void)state;
	begin();
	output_of_tool(&p, "par");
	output_of_tool(&p, "tial");
	fputs("Warning: one\n", stderr);
	output_of_tool(&p, "second");
	plain_end(&p);
	end(out);
	assert_string_equal(out[1], "partial\nWarning: one\nsecond\n");
	plain_release(&p);
}

/* Both streams are one file: every text has its own line. */
static void streams_of_one_file_share_no_line(void **state)
{
	struct plain p = { .guard = &guard };
	char out[2][2000];

	(void)state;
	begin();
	fflush(stdout);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	output_release(&guard);
	output_guard(&guard, &mask);
	say(&p, EVENT_TEXT, "An answer");
	say(&p, EVENT_FLUSH, "");
	fputs("Warning: one\n", stderr);
	say(&p, EVENT_TEXT, " goes on");
	say(&p, EVENT_FLUSH, "");
	output_of_tool(&p, "of a tool");
	say(&p, EVENT_TEXT, "The end");
	say(&p, EVENT_TURN, "");
	plain_end(&p);
	end(out);
	assert_string_equal(out[1], "An answer\nWarning: one\n goes on\n"
				    "of a tool\nThe end\n");
	plain_release(&p);
}

static void a_status_line_gives_way_to_every_text(void **state)
{
	struct plain p = { .guard = &guard };
	char out[2][2000];

	(void)state;
	begin();
	output_status(&guard, STR("at work"));
	output_status(&guard, STR("still"));
	fputs("Warning: one\n", stderr);
	output_of_tool(&p, "of a tool");
	output_status(&guard, STR("not within a line"));
	output_of_tool(&p, "\n");
	output_status(&guard, STR("again"));
	plain_end(&p);
	end(out);
	assert_string_equal(out[1], "\rat work\x1b[K\rstill\x1b[K\r\x1b[K"
				    "Warning: one\nof a tool\n"
				    "\ragain\x1b[K\r\x1b[K");
	plain_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_stand_on_their_own_lines),
		cmocka_unit_test(equal_repetition_is_printed_once),
		cmocka_unit_test(another_answer_is_printed_whole),
		cmocka_unit_test(a_void_answer_is_not_buffered_output),
		cmocka_unit_test(lines_of_others_begin_after_a_tools_output),
		cmocka_unit_test(streams_of_one_file_share_no_line),
		cmocka_unit_test(a_status_line_gives_way_to_every_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

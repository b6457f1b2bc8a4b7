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

#include "base/str.h"
#include "ui/streams.h"

static int saved[2];
static char names[2][32];

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
}

/* What was written to fd 1 and 2 since begin(). */
static void end(char out[2][2000])
{
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
	struct plain p = { 0 };
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
	struct plain p = { 0 };
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
	struct plain p = { 0 };
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
	struct plain p = { .no_stream = true, .quiet = true };
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_stand_on_their_own_lines),
		cmocka_unit_test(equal_repetition_is_printed_once),
		cmocka_unit_test(another_answer_is_printed_whole),
		cmocka_unit_test(a_void_answer_is_not_buffered_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

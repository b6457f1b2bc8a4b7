/* tty_test.c - a terminal is as it was after a kill at any moment. */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include "base/buf.h"
#include "base/str.h"
#include "term/tty.h"
#include "unit.h"

#define PUSH "\x1b[22;2t"
#define POP "\x1b[23;2t"

/* Sets a title, and then one whose text cannot be read: the process gets
 * SIGSEGV while dcode stores the title. */
static void die_in_title(int terminal, bool first)
{
	struct str unreadable = { mmap(NULL, 4096, PROT_NONE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
				  10 };
	struct tty t;
	struct error err = { 0 };

	(void)signal(SIGSEGV, SIG_DFL); /* not cmocka's */
	setenv("TERM", "xterm-256color", 1);
	if (login_tty(terminal) < 0 || tty_open(&t, 0, 1, &err) < 0)
		_exit(1);
	if (!first)
		tty_set_title(&t, STR("earlier"));
	tty_set_title(&t, unreadable);
	_exit(2);
}

/* Returns all that the process wrote to its terminal. It must die of SIGSEGV.
 */
static struct buf output_of(bool first)
{
	struct buf all = BUF_INIT(1 << 16);
	char piece[4096];
	int master, slave, status;
	ssize_t n;
	pid_t pid;

	assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
	pid = fork();
	if (pid == 0) {
		close(master);
		die_in_title(slave, first);
	}
	close(slave);
	while ((n = read(master, piece, sizeof(piece))) > 0)
		buf_add(&all, piece, (size_t)n);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	close(master);
	return all;
}

static void test_a_kill_while_the_title_changes_restores_it(void **state)
{
	struct buf out = output_of(false);

	(void)state;
	assert_non_null(strstr(out.ptr, PUSH));
	assert_non_null(strstr(out.ptr, "earlier"));
	assert_non_null(strstr(strstr(out.ptr, "earlier"), POP));
	buf_release(&out);
}

/* The control: no title was changed, and the stack has no entry of dcode's. */
static void test_a_kill_before_the_first_title_changes_none(void **state)
{
	struct buf out = output_of(true);

	(void)state;
	assert_null(strstr(out.ptr, POP));
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_kill_while_the_title_changes_restores_it),
		cmocka_unit_test(
			test_a_kill_before_the_first_title_changes_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

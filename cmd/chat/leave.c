/* leave.c - what both kinds of chat do with the work at their end. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/leave.h"

#include <signal.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

#include "base/str.h"
#include "cmd/chat/input.h"

bool chat_ends(enum err code)
{
	return code == ERR_GONE || app_signal() == SIGTERM ||
	       app_signal() == SIGHUP || app_signal() == SIGQUIT;
}

void chat_ask_exit(struct run *r)
{
	struct chat_input in = { .cancel = &r->app->cancel,
				 .typed = BUF_INIT(CHAT_MAX_LINE) };
	struct buf line = BUF_INIT(CHAT_MAX_LINE);
	char answer;

	if (r->options.exit_given || !r->box.ours || app_signal() ||
	    r->box.request.on_exit != LIFECYCLE_DELETE ||
	    !(r->host.provider->flags & SANDBOX_ATTACH) ||
	    !isatty(STDIN_FILENO) || !run_has_unreturned_work(r))
		return;
	app_borrow_terminal(r->app);
	(void)tcflush(STDIN_FILENO, TCIFLUSH); /* typed before the question */
	fprintf(stderr, "\nDelete the sandbox, %skeep it? [D/%sk] ",
		sandbox_can_stop(&r->host) ? "stop it, or " : "or ",
		sandbox_can_stop(&r->host) ? "s/" : "");
	if (chat_read_line(&in, &line) == 1) {
		struct str word = str_trim(buf_str(&line));

		answer = word.len ? word.ptr[0] : 'd';
		if (answer == 's' || answer == 'S')
			r->box.request.on_exit = LIFECYCLE_STOP;
		else if (answer == 'k' || answer == 'K')
			r->box.request.on_exit = LIFECYCLE_KEEP;
	} else {
		fputc('\n', stderr);
	}
	app_return_terminal(r->app);
	buf_release(&line);
	buf_release(&in.typed);
}

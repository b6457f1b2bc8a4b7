/* pager.c - shows long output in the user's pager, like git and man. */
/* SPDX-License-Identifier: MIT */
#include "cmd/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"

enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127 }; /* exit statuses of sh */

/* True if the shell command runs less, which can show colours. */
static bool is_less(const char *line)
{
	struct str program = str_trim(str_of(line));
	size_t slash;

	program.len = str_find(program, ' ');
	while ((slash = str_find(program, '/')) < program.len)
		program = str_skip(program, slash + 1);
	return str_is(program, "less");
}

char *pager_line(const char *usual, bool *colours)
{
	const char *own = getenv("PAGER");
	const char *line = own ? own : usual;

	*colours = is_less(line);
	if (!str_trim(str_of(line)).len)
		return NULL;
	return own && *colours ? xasprintf("%s -R", own) : xstrdup(line);
}

/* Returns the shell command of the pager, or NULL if none is to be used. If
 * $PAGER is not set, uses less if it is installed. Owned. */
static char *choose_line(bool *colours)
{
	const char *term = getenv("TERM");
	char *less = NULL;
	char *line = NULL;

	if (!term || !strcmp(term, "dumb"))
		return NULL;
	if (!getenv("PAGER"))
		less = proc_find("less", getenv("PATH"));
	if (less || getenv("PAGER"))
		line = pager_line("less -FR", colours);
	free(less);
	return line;
}

/* Starts the pager and redirects standard output to it. */
static int spawn_pager(struct pager_output *p, char *line)
{
	char *argv[] = { (char *)"sh", (char *)"-c", line, NULL };
	int fds[] = { -1, STDOUT_FILENO, STDERR_FILENO };
	struct error ignored = { 0 };
	int ends[2];
	int rc;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	fds[0] = ends[0];
	fflush(stdout);
	rc = proc_spawn_user(argv, fds, &p->pid, &ignored);
	close(ends[0]);
	p->stdout_ = rc < 0 ? -1 : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (p->stdout_ >= 0)
		rc = dup2(ends[1], STDOUT_FILENO);
	close(ends[1]);
	return rc < 0 || p->stdout_ < 0 ? -1 : 0;
}

void pager_begin(struct pager_output *p, bool wanted)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	bool terminal = isatty(STDOUT_FILENO);
	bool colours = false;
	char *line = terminal && wanted ? choose_line(&colours) : NULL;

	*p = (struct pager_output){ .stdout_ = -1, .colours = terminal };
	sigaction(SIGINT, NULL, &p->interrupt);
	if (line)
		sigaction(SIGINT, &ignore, NULL);
	if (line && spawn_pager(p, line) == 0)
		p->colours = colours;
	free(line);
}

bool pager_end(struct pager_output *p)
{
	int status = 0;

	fflush(stdout);
	if (p->stdout_ >= 0) {
		/* The user may quit before the end: drops output that is not
		 * written yet. */
		__fpurge(stdout);
		clearerr(stdout);
		(void)dup2(p->stdout_, STDOUT_FILENO);
		close(p->stdout_);
	}
	while (p->pid > 0 && waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &p->interrupt, NULL);
	status = proc_exit_code(status);
	return status != NOT_EXECUTABLE && status != NOT_FOUND;
}

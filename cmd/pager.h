/* pager.h - shows long output in the user's pager. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_PAGER_H
#define CMD_PAGER_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct pager_output {
	pid_t pid;                  /* 0: no pager, output is not redirected */
	int stdout_;                /* the original standard output */
	bool colours;               /* the pager can show colours */
	struct sigaction interrupt; /* the action for SIGINT before: while the
				       pager runs, it alone handles SIGINT */
};

/* Returns the shell command in $PAGER or, if PAGER is not set, usual. NULL if
 * PAGER is empty. *colours: the program can show colours. Owned. */
char *pager_line(const char *usual, bool *colours);
/* Redirects standard output to $PAGER or less -FR until pager_end(). Does
 * nothing if output is not a terminal, no pager is available, PAGER is empty,
 * or wanted is false. */
void pager_begin(struct pager_output *p, bool wanted);
/* Waits until the user quits the pager. False: the pager program was not found
 * and nothing was shown. */
bool pager_end(struct pager_output *p);

#endif

/* pager.h - long output through the user's pager. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_PAGER_H
#define CMD_PAGER_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct pager_output {
	pid_t pid;    /* 0: there is none, output goes where it went */
	int stdout_;  /* the terminal meanwhile */
	bool colours; /* what is written may be styled */
	struct sigaction interrupt; /* SIGINT's before: it is the pager's */
};

/* The shell's line that runs $PAGER, or usual where that is not set; NULL where
 * it is set to nothing. colours: the program shows them. Owned. */
char *pager_line(const char *usual, bool *colours);
/* Until pager_end() standard output goes to $PAGER, or to less -FR. At no
 * terminal, without such a program, with $PAGER set to nothing, or unless
 * wanted, it stays. */
void pager_begin(struct pager_output *p, bool wanted);
/* Waits until the user has left the pager. False: there is no such program, and
 * nothing was shown. */
bool pager_end(struct pager_output *p);

#endif

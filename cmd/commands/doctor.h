/* doctor.h - what dcode doctor has found, check by check. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_COMMANDS_DOCTOR_H
#define CMD_COMMANDS_DOCTOR_H

#include "cmd/app.h"

enum verdict { FINE, REMARK, BROKEN };

struct report {
	struct app *app;
	struct buf json;
	bool broken;
};

/* Prints a check, or keeps it for --json; text is cleaned. */
void doctor_add(struct report *r, const char *section, const char *name,
		enum verdict verdict, const char *text);
/* What the terminal can do, as far as it tells, and what tmux keeps from it.
 * Waits for its answers half a second at most. */
void doctor_check_terminal(struct report *r);

#endif

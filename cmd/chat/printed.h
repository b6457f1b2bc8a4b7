/* printed.h - what the program prints while a screen is up. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_PRINTED_H
#define CMD_CHAT_PRINTED_H

#include "base/buf.h"
#include "base/error.h"

/* Standard output and error lead into a pipe, so that a line that any code
 * prints becomes rows above the live part instead of breaking it. */
struct printed {
	int real[2]; /* standard output and error as they were */
	int fd;      /* the pipe's end for reading, to poll; -1: not open */
	int in;      /* its other end */
};

int printed_open(struct printed *p, struct error *err);
/* Appends what is there now, without waiting. */
void printed_read(struct printed *p, struct buf *out);
/* The real ones again, and back into the pipe: for what asks at the terminal
 * itself. */
void printed_suspend(struct printed *p);
void printed_resume(struct printed *p);
/* The real ones again, for good. A zeroed one is fine. */
void printed_close(struct printed *p);

#endif

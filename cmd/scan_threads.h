/* scan_threads.h - dcode threads scan: stored threads with credentials. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SCAN_THREADS_H
#define CMD_SCAN_THREADS_H

#include "cmd/app.h"
#include "cmd/args.h"

/* Lists where stored threads have what would be masked today. Returns the exit
 * status: STATUS_FOUND if there is anything. */
int scan_threads(struct app *app, const struct args *args);

#endif

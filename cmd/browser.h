/* browser.h - shows an address in the user's browser. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_BROWSER_H
#define CMD_BROWSER_H

#include <sys/types.h>

#include "cmd/app.h"

/* Starts the browser with this address, which the caller has checked. Returns
 * its process id, which the caller may reap; 0 if no browser was started,
 * because there is none, or it would not appear on the user's screen. */
pid_t browser_open(struct app *app, char *url);

#endif

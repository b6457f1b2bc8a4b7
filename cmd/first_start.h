/* first_start.h - at the first start without a model: asks for a key, or offers
 * a model server on this machine. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_FIRST_START_H
#define CMD_FIRST_START_H

#include "cmd/session/run.h"

/* Call before a chat opens its screen. If no model has a key and a user is at
 * the terminal, asks for a key or offers the models of a local server. Returns
 * 1 to start the chat, which reports what is still missing; 0 if the user quit;
 * -1 with err. */
int run_first_start(struct run *r, struct error *err);

#endif

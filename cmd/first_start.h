/* first_start.h - at the first start without a model: asks for a key, or offers
 * a model server on this machine. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_FIRST_START_H
#define CMD_FIRST_START_H

#include "cmd/session/run.h"

/* Call before a chat opens its screen. If no model has a key and a user is at
 * the terminal, asks for a key or offers a local model server. 1: start the
 * chat, which reports anything still missing. 0: the user quit. */
int run_first_start(struct run *r, struct error *err);

#endif

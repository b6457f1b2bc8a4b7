/* first_start.h - a chat that has no model yet: asks for a key, or offers a
 * model server of this machine. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_FIRST_START_H
#define CMD_FIRST_START_H

#include "cmd/session/run.h"

/* Before a chat has its screen: if no model has a key and somebody sits at the
 * terminal, offers to paste one, or a model server of this machine. 1: begin
 * the chat, which says itself what is still missing. 0: the user has left. */
int run_first_start(struct run *r, struct error *err);

#endif

/* slash_choose.h - choosing one of many in a chat of lines. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_SLASH_CHOOSE_H
#define CMD_CHAT_SLASH_CHOOSE_H

#include "cmd/chat/input.h"
#include "cmd/chat/slash_cmd.h"

/* Prints the items with numbers and reads a number, or letters that only one
 * has, else those that have them are printed. The index, or -1. */
int choose_line(const struct pick *p, struct chat_input *in);

#endif

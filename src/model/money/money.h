/* money.h - amounts in trillionths of a US dollar, read and shown. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_MONEY_H
#define MODEL_MONEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { MONEY_SIZE = 32 };

/* "$12.40", "<$0.01", "$0.00". Returns room. */
const char *money_short(int64_t amount, char room[MONEY_SIZE]);
/* The same with four digits after the point below one dollar: "$0.0042". */
const char *money_exact(int64_t amount, char room[MONEY_SIZE]);
/* A JSON number of dollars: "12.4", "0.000001". */
const char *money_json(int64_t amount, char room[MONEY_SIZE]);
/* "2", "0.5", "$1.25": false where it is no amount above zero and up to a
 * million dollars. */
bool money_read(struct str text, int64_t *amount);

#endif

/* args.h - the arguments of a tool call, as models and servers spell them. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_ARGS_H
#define MODEL_ARGS_H

#include <stdbool.h>

#include "base/buf.h"

/* True when text is one JSON value by the letter of RFC 8259. cJSON takes more
 * (control characters in strings, "01", bytes that are no UTF-8), vendors do
 * not. */
bool args_strict(struct str text);
/*
 * Makes the arguments the JSON of an object. Nothing at all and "null" mean
 * {}; what only cJSON understands is written anew; an object inside a string
 * is taken out; the same object twice is one. False, and *args untouched,
 * when it is no object.
 */
bool args_repair(struct buf *args);

#endif

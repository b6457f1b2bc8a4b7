/* key_help.h - the most useful keys, shown below an empty prompt after "?". */
/* SPDX-License-Identifier: MIT */
#ifndef EDITOR_KEY_HELP_H
#define EDITOR_KEY_HELP_H

#include "term/rows.h"

/* Appends the keys in as many columns as fit, at most max_rows rows. If not all
 * fit, the last ones are left out. */
void key_help_render(size_t columns, size_t max_rows, struct rows *rows);

#endif

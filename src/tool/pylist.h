/* pylist.h - values as Python prints them, which models read well. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_PYLIST_H
#define TOOL_PYLIST_H

#include "base/json.h"

/* 'text', or "text" when it has a ' and no "; backslashes and what cannot be
 * printed are escaped, a byte that is no UTF-8 as \xNN. */
void pylist_string(struct buf *out, struct str s);
/*
 * ['a', 'b']. When the names have more than RESULT_CHARS code points together
 * only the first n * RESULT_CHARS / total are listed, and then
 * result_truncated.
 */
void pylist_names(struct buf *out, char *const *names, size_t n);
/* A JSON value as Python's repr of it; strings longer than max code points
 * are cut and end in "...". */
void pylist_value(struct buf *out, const cJSON *value, size_t max);

#endif

/* letters.h - counts letters, to tell whether some were lost. */
/* SPDX-License-Identifier: MIT */
#ifndef MARKUP_LETTERS_H
#define MARKUP_LETTERS_H

#include "base/str.h"

/* ASCII letters and digits, and bytes of all other characters. */
size_t letters_count(struct str text);
/* Those of a text of Markdown but the numbers of its list items, which are
 * counted anew when it is shown. */
size_t letters_count_source(struct str text);

#endif

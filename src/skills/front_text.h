/* front_text.h - fields of front matter as clean lines. */
/* SPDX-License-Identifier: MIT */
#ifndef SKILLS_FRONT_TEXT_H
#define SKILLS_FRONT_TEXT_H

#include "skills/front_matter.h"

/* A text or number as one line without controls, of at most so many
 * characters; NULL where there is none, or it is empty. Owned. */
char *front_text(const struct front_matter *f, const char *key, size_t chars);
/* The same of words between blanks and commas, or of a list: "a, b". */
char *front_words(const struct front_matter *f, const char *key, size_t chars);

#endif

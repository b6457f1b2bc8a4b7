/* front_matter.h - the YAML between two lines of "---" that a file begins with.
 */
/* SPDX-License-Identifier: MIT */
#ifndef SKILLS_FRONT_MATTER_H
#define SKILLS_FRONT_MATTER_H

#include <stdbool.h>

#include "base/buf.h"

enum { FRONT_MATTER_MAX = 64 << 10 }; /* bytes up to its end */

enum front_kind {
	FRONT_TEXT = 1,
	FRONT_NULL,
	FRONT_NUMBER, /* or a boolean: its text as it is written */
	FRONT_LIST,
	FRONT_MAP,
};

/* Texts are as they were written: not clean, and with U+0001 for NUL. */
struct front_field {
	char *key;
	enum front_kind kind;
	/* One text or number, or the texts of a list; of a map nothing. */
	char **items;
	size_t n;
};

struct front_matter { /* start from { 0 } */
	/* Each key once: of two values the last, of merged ones ("<<") the
	 * first, behind those that are written out. */
	struct front_field *fields;
	size_t n;
	size_t body; /* where the text behind it begins */
};

/*
 * text is a file, or so much of its beginning. -1 with ERR_CONFIG: it has
 * none, or it is larger than FRONT_MATTER_MAX, no YAML, or no mapping; with
 * ERR_SYSTEM where libyaml is missing. Aliases are written out, to 256 KiB of
 * texts and 256 merged maps at most. Any thread.
 */
int front_matter_read(struct front_matter *f, struct str text,
		      struct error *err);
/* NULL: there is none of this name. */
const struct front_field *front_matter_field(const struct front_matter *f,
					     const char *key);
void front_matter_release(struct front_matter *f);

/* A text or number as one line without controls, of at most so many
 * characters; NULL where there is none, or it is empty. Owned. */
char *front_text(const struct front_matter *f, const char *key, size_t chars);
/* The same of words between blanks and commas, or of a list: "a, b". */
char *front_words(const struct front_matter *f, const char *key, size_t chars);

#endif

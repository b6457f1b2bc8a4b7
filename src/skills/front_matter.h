/* front_matter.h - parses the YAML front matter of a file into fields. */
/* SPDX-License-Identifier: MIT */
#ifndef SKILLS_FRONT_MATTER_H
#define SKILLS_FRONT_MATTER_H

#include <stdbool.h>

#include "base/buf.h"

/* maximum bytes up to the end of the front matter */
enum { FRONT_MATTER_MAX = 64 << 10 };

enum front_kind {
	FRONT_TEXT = 1,
	FRONT_NULL,
	FRONT_NUMBER, /* a number or a boolean; items has it as written */
	FRONT_LIST,
	FRONT_MAP,
};

/* Texts are not sanitised: they may contain control characters. U+0001 replaces
 * NUL. */
struct front_field {
	char *key;
	enum front_kind kind;
	/* The text, the number, or the texts of a list; none for a map. */
	char **items;
	size_t n;
};

struct front_matter { /* initialise with { 0 } */
	/* Each key occurs once. If a key is written twice, its last value
	 * counts; if several merged maps ("<<") have it, the first; and a key
	 * of the map itself is stronger than a merged one. */
	struct front_field *fields;
	size_t n;
	size_t body; /* offset of the text after the front matter */
};

/*
 * Parses the front matter of text, which is a file or its beginning. Fails with
 * ERR_CONFIG if there is none, or if it is larger than FRONT_MATTER_MAX, not
 * YAML or not a mapping; with ERR_SYSTEM if libyaml is missing. Aliases are
 * expanded, up to 256 KiB of text and 256 merged maps. Any thread.
 */
int front_matter_read(struct front_matter *f, struct str text,
		      struct error *err);
/* Returns the field, or NULL. */
const struct front_field *front_matter_field(const struct front_matter *f,
					     const char *key);
void front_matter_release(struct front_matter *f);

/* Returns a text or number as one line without control characters, of at most
 * chars characters; NULL if it is missing or empty. Owned. */
char *front_text(const struct front_matter *f, const char *key, size_t chars);
/* Like front_text(), for a list or for words separated by blanks or commas.
 * Returns "a, b". */
char *front_words(const struct front_matter *f, const char *key, size_t chars);

#endif

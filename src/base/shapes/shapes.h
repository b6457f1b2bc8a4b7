/* shapes.h - finds strings that have the form of a credential. */
/* SPDX-License-Identifier: MIT */
#ifndef BASE_SHAPES_SHAPES_H
#define BASE_SHAPES_SHAPES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/*
 * A set of forms: the built-in kinds (shape_rows.c) without those that were
 * turned off, and patterns that were added. Only base/mask/mask.h uses it to
 * hide what it finds. After it is built, any number of threads may use it.
 */
struct shapes;

struct shapes *shapes_new(void); /* with all built-in kinds */
void shapes_free(struct shapes *s);
/* Turns a built-in kind off; its name in any case, or "all". False if there is
 * no such kind. */
bool shapes_turn_off(struct shapes *s, const char *kind);
/*
 * Adds a pattern: characters that stand for themselves, and sets like
 * "[A-Za-z0-9]{32}", "{20,40}" or "{20,}" (at most 65536). A backslash makes
 * the next character stand for itself. The part in parentheses is hidden;
 * without them, all but the text before the first set. The pattern begins with
 * at least 3 characters that stand for themselves, and hides at least 8 bytes.
 * Otherwise fails with ERR_USAGE.
 */
int shapes_add(struct shapes *s, const char *pattern, struct error *err);

enum {
	SHAPES_CONTEXT = 128, /* bytes before a match that are looked at */
	SHAPES_KINDS = 128,   /* more than there are kinds */
	SHAPES_PAIRS = (UCHAR_MAX + 1) * (UCHAR_MAX + 1) / 64,
};

/* What is written for the hidden bytes, before the kind and "]". */
#define SHAPE_MARK "\xE2\x80\xA6[masked:"

struct shape_hit {
	size_t keep; /* bytes at the front that stay readable */
	size_t len;  /* bytes of keep and of what is hidden */
	int kind;    /* for shapes_kind() */
};

enum shape_result {
	SHAPE_NONE,
	SHAPE_HIT,
	SHAPE_MAYBE, /* more bytes after text decide */
};

/* Matches at text[at], and fills in *hit for SHAPE_HIT. The longest match wins.
 * text has at least the SHAPES_CONTEXT bytes before `at`, or its true
 * beginning. last: nothing follows text. */
enum shape_result shapes_match(const struct shapes *s, struct str text,
			       size_t at, bool last, struct shape_hit *hit);
/* Returns a bit set of SHAPES_PAIRS numbers: bit a << 8 | b for each pair of
 * bytes a and b that forms begin with (place 0), or that are their second and
 * third byte (place 1). */
const uint64_t *shapes_pairs(const struct shapes *s, int place);
/* Returns the name of a kind, from 0 on: "GitHub token". NULL after the last.
 * An "s" makes it plural. */
const char *shapes_kind(int kind);

#endif

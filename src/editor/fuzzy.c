/* fuzzy.c - the choices that a few typed letters mean, best first. */
/* SPDX-License-Identifier: MIT */
#include "editor/fuzzy.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum {
	TEXT_MAX = 512,
	SCORE_FOUND = 100000, /* more than all that is taken off */
	SCORE_BESIDE = 40,    /* the letter before is the one before */
	SCORE_WORD = 30,      /* the letter begins a word */
	SCORE_WHOLE = 50000,  /* the text is the letters */
	SCORE_BEGIN = 20000,  /* it begins with them */
};

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool begins_word(struct str text, size_t i)
{
	return !i || strchr("/_-. :", text.ptr[i - 1]);
}

/* The letters from the first one, which is at start, on; 0: they are not. */
static int score_from(struct str letters, struct str text, size_t start)
{
	int score = SCORE_FOUND;
	size_t at = start;

	for (size_t i = 0; i < letters.len; i++) {
		size_t before = at;

		while (at < text.len &&
		       lower(text.ptr[at]) != lower(letters.ptr[i]))
			at++;
		if (at == text.len)
			return 0;
		if (begins_word(text, at))
			score += SCORE_WORD;
		if (i && at == before)
			score += SCORE_BESIDE;
		score -= (int)(at - before);
		at++;
	}
	if (start == 0 && at == letters.len)
		score += text.len == letters.len ? SCORE_WHOLE : SCORE_BEGIN;
	return score - (int)text.len / 4;
}

int fuzzy_score(struct str letters, struct str text)
{
	int best = 0;

	if (text.len > TEXT_MAX)
		text.len = TEXT_MAX;
	if (!letters.len)
		return 1;
	for (size_t i = 0; i < text.len; i++) {
		int score;

		if (lower(text.ptr[i]) != lower(letters.ptr[0]))
			continue;
		score = score_from(letters, text, i);
		if (!score) /* nor from any later place */
			break;
		best = score > best ? score : best;
	}
	return best;
}

static int score_item(struct str letters, const struct fuzzy_item *item)
{
	int best = fuzzy_score(letters, item->name);
	struct str rest = item->alias;
	struct str alias;

	while (str_split(&rest, ' ', &alias)) {
		int score = fuzzy_score(letters, alias);

		best = score > best ? score : best;
	}
	return best;
}

size_t fuzzy_rank(struct str letters, const struct fuzzy_item *items, size_t n,
		  size_t *order, size_t max)
{
	int *scores = max ? xcalloc(max, sizeof(*scores)) : NULL;
	size_t found = 0;

	for (size_t i = 0; i < n && max; i++) {
		int score = score_item(letters, &items[i]);
		size_t at = found;

		while (at && scores[at - 1] < score)
			at--;
		if (!score || at == max)
			continue;
		found += found < max;
		memmove(scores + at + 1, scores + at,
			(found - at - 1) * sizeof(*scores));
		memmove(order + at + 1, order + at,
			(found - at - 1) * sizeof(*order));
		scores[at] = score;
		order[at] = i;
	}
	free(scores);
	return found;
}

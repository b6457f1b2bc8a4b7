/* nearest.c - the name that a mistyped word was probably meant to be. */
/* SPDX-License-Identifier: MIT */
#include "base/nearest.h"

#include <stdint.h>

#include "base/str.h"

enum { LONGEST = 63 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static char low(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Optimal string alignment; row i holds the distances of a's first i bytes. */
size_t nearest_distance(struct str a, struct str b)
{
	size_t rows[3][LONGEST + 1];

	if (a.len > LONGEST || b.len > LONGEST)
		return a.len > b.len ? a.len : b.len;
	for (size_t j = 0; j <= b.len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a.len; i++) {
		size_t *now = rows[i % 3];
		const size_t *last = rows[(i + 2) % 3];
		const size_t *before = rows[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= b.len; j++) {
			char x = low(a.ptr[i - 1]);
			char y = low(b.ptr[j - 1]);

			now[j] = least(last[j - 1] + (x != y),
				       least(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && x == low(b.ptr[j - 2]) &&
			    low(a.ptr[i - 2]) == y)
				now[j] = least(now[j], before[j - 2] + 1);
		}
	}
	return rows[a.len % 3][b.len];
}

const char *nearest_name(struct str word, const char *const *names, size_t n)
{
	const char *best = NULL;
	size_t distance = SIZE_MAX;

	for (size_t i = 0; i < n; i++) {
		size_t d = nearest_distance(word, str_of(names[i]));

		if (d < distance) {
			distance = d;
			best = names[i];
		}
	}
	return best;
}

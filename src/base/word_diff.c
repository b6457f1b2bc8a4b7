/* word_diff.c - finds the words that differ between two versions of a line. */
/* SPDX-License-Identifier: MIT */
/*
 * The common beginning and end are left out first. The words between them are
 * compared with the classic table of the longest common subsequence. Begin
 * reading at word_diff_lines().
 */
#include "base/word_diff.h"

#include <stdint.h>
#include <string.h>

enum {
	WORDS_MOST = 64,     /* words compared one by one, in each line */
	PART_MOST = 8 << 10, /* bytes of these words */
	/* Lines with less in common, in percent of the longer one, are not
	   versions of one line. */
	LEAST_COMMON = 25,
};

/* The words of the part of a line that differs. */
struct word_part {
	struct str line;
	size_t from, to; /* the part, in bytes of the line */
	size_t n;
	size_t begin[WORDS_MOST + 1]; /* offsets in the line; the last is the
					 end of the last word */
	bool differs[WORDS_MOST];
};

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

/* True if position i is inside a word. */
static bool is_inside_word(struct str s, size_t i)
{
	return i > 0 && i < s.len && is_word(s.ptr[i - 1]) && is_word(s.ptr[i]);
}

/* Sets the parts that differ: without the common beginning and end, but with
 * whole words. */
static void set_parts(struct word_part *a, struct word_part *b)
{
	struct str x = a->line;
	struct str y = b->line;
	size_t least = x.len < y.len ? x.len : y.len;
	size_t head = 0;
	size_t tail = 0;

	while (head < least && x.ptr[head] == y.ptr[head])
		head++;
	while (head && (is_inside_word(x, head) || is_inside_word(y, head)))
		head--;
	while (tail < least - head &&
	       x.ptr[x.len - tail - 1] == y.ptr[y.len - tail - 1])
		tail++;
	while (tail && (is_inside_word(x, x.len - tail) ||
			is_inside_word(y, y.len - tail)))
		tail--;
	a->from = b->from = head;
	a->to = x.len - tail;
	b->to = y.len - tail;
}

/* Returns the length of the first word, run of spaces or sign of s. */
static size_t word_length(struct str s)
{
	size_t n = 1;

	if (is_word(s.ptr[0]))
		while (n < s.len && is_word(s.ptr[n]))
			n++;
	else if (s.ptr[0] == ' ')
		while (n < s.len && s.ptr[n] == ' ')
			n++;
	return n;
}

/* Splits the part. Returns false if it is too long. */
static bool split_part(struct word_part *w)
{
	size_t at = w->from;

	if (w->to - w->from > PART_MOST)
		return false;
	for (w->n = 0; at < w->to; w->n++) {
		if (w->n == WORDS_MOST)
			return false;
		w->begin[w->n] = at;
		w->differs[w->n] = true;
		at += word_length((struct str){ w->line.ptr + at, w->to - at });
	}
	w->begin[w->n] = at;
	return true;
}

static struct str get_word(const struct word_part *w, size_t i)
{
	return (struct str){ w->line.ptr + w->begin[i],
			     w->begin[i + 1] - w->begin[i] };
}

/* Unmarks the words that both parts have in common, in this order. */
static void unmark_common(struct word_part *a, struct word_part *b)
{
	/* longest[i][j]: most common words of a from word i on and of b from
	 * word j on. */
	static _Thread_local uint8_t longest[WORDS_MOST + 1][WORDS_MOST + 1];
	size_t i;
	size_t j;

	memset(longest, 0, sizeof(longest));
	for (i = a->n; i-- > 0;) {
		for (j = b->n; j-- > 0;) {
			uint8_t down = longest[i + 1][j];
			uint8_t right = longest[i][j + 1];

			if (str_eq(get_word(a, i), get_word(b, j)))
				longest[i][j] =
					(uint8_t)(longest[i + 1][j + 1] + 1);
			else
				longest[i][j] = down > right ? down : right;
		}
	}
	for (i = j = 0; i < a->n && j < b->n;) {
		if (str_eq(get_word(a, i), get_word(b, j)))
			a->differs[i++] = b->differs[j++] = false;
		else if (longest[i + 1][j] >= longest[i][j + 1])
			i++;
		else
			j++;
	}
}

static bool is_blank(struct str s)
{
	return s.len && s.ptr[0] == ' ';
}

/* Marks a common space between two words that differ, so that a replaced
 * phrase is one range. */
static void join_phrases(struct word_part *w)
{
	for (size_t i = 1; i + 1 < w->n; i++)
		if (w->differs[i - 1] && w->differs[i + 1] &&
		    is_blank(get_word(w, i)))
			w->differs[i] = true;
}

static void add_range(struct word_ranges *r, size_t begin, size_t end)
{
	if (begin == end)
		return;
	if (r->n &&
	    (r->items[r->n - 1].end == begin || r->n == WORD_DIFF_RANGES)) {
		r->items[r->n - 1].end = end;
		return;
	}
	r->items[r->n].begin = begin;
	r->items[r->n++].end = end;
}

static void add_ranges(const struct word_part *w, struct word_ranges *r)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->differs[i])
			add_range(r, w->begin[i], w->begin[i + 1]);
}

static size_t count_visible(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++)
		n += s.ptr[i] != ' ';
	return n;
}

static size_t count_differing(struct str line, const struct word_ranges *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += count_visible(
			(struct str){ line.ptr + r->items[i].begin,
				      r->items[i].end - r->items[i].begin });
	return n;
}

/* True if enough of both lines is common. */
static bool are_versions(struct str a, const struct word_ranges *in_a,
			 struct str b, const struct word_ranges *in_b)
{
	size_t all_a = count_visible(a);
	size_t all_b = count_visible(b);
	size_t same_a = all_a - count_differing(a, in_a);
	size_t same_b = all_b - count_differing(b, in_b);
	size_t same = same_a < same_b ? same_a : same_b;
	size_t all = all_a > all_b ? all_a : all_b;

	return same * 100 >= all * LEAST_COMMON;
}

bool word_diff_lines(struct str old_line, struct str new_line,
		     struct word_ranges *removed, struct word_ranges *added)
{
	struct word_part a = { .line = old_line };
	struct word_part b = { .line = new_line };

	*removed = *added = (struct word_ranges){ 0 };
	set_parts(&a, &b);
	if (split_part(&a) && split_part(&b)) {
		unmark_common(&a, &b);
		join_phrases(&a);
		join_phrases(&b);
		add_ranges(&a, removed);
		add_ranges(&b, added);
	} else {
		add_range(removed, a.from, a.to);
		add_range(added, b.from, b.to);
	}
	if (are_versions(old_line, removed, new_line, added))
		return true;
	*removed = *added = (struct word_ranges){ 0 };
	return false;
}

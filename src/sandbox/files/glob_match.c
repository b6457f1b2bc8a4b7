/* glob_match.c - file name patterns of glob and grep; no I/O. */
/* SPDX-License-Identifier: MIT */

/*
 * A pattern is expanded into alternatives without braces. Each alternative is
 * split into segments, which are matched from the front. glob_filter() at the
 * end extracts the part of a pattern that find(1) can check, so that the
 * sandbox sends fewer names.
 */
#include "sandbox/files/glob_match.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum {
	ALTERNATIVES = 1000,
	/* maximum bytes of a pattern, before and after expansion */
	PATTERN_MAX = 2048,
	NESTING = 64, /* maximum nesting of braces; deeper ones are literal */
};

struct alternative {
	char *text;           /* owned */
	struct str *segments; /* slices of text; array owned */
	size_t n;
};

struct glob {
	bool by_path;
	bool hidden;
	struct alternative *alternatives;
	size_t n;
	bool *now; /* scratch: states of the segment automaton */
	bool *next;
};

static int expand_group(struct glob *g, struct str s, size_t open, size_t close,
			int depth, struct error *err);

/* Returns the index of the "}" that closes the "{" at from, or s.len. *commas:
 * number of commas at this level. */
static size_t find_closing(struct str s, size_t from, int *commas)
{
	int depth = 0;

	*commas = 0;
	for (size_t i = from; i < s.len; i++) {
		if (s.ptr[i] == '{')
			depth++;
		else if (s.ptr[i] == '}' && --depth == 0)
			return i;
		else if (s.ptr[i] == ',' && depth == 1)
			(*commas)++;
	}
	return s.len;
}

static int add_alternative(struct glob *g, struct str text, struct error *err)
{
	if (g->n >= ALTERNATIVES || text.len > PATTERN_MAX)
		return error_set(err, ERR_USAGE, "pattern_too_broad");
	g->alternatives =
		xrealloc(g->alternatives, g->n + 1, sizeof(*g->alternatives));
	g->alternatives[g->n++] =
		(struct alternative){ .text = xstrndup(text.len ? text.ptr : "",
						       text.len) };
	return 0;
}

/* Takes the next character. A byte that is not UTF-8 becomes a value outside of
 * Unicode. */
static uint32_t read_char(struct str *s)
{
	unsigned char lead = (unsigned char)s->ptr[0];
	size_t len = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
	uint32_t c = lead;

	if (len > 1 &&
	    (s->len < len || !str_is_utf8((struct str){ s->ptr, len })))
		len = 1;
	if (len == 1 && lead >= 0x80)
		c += 0x110000;
	if (len > 1)
		c = lead & (0xffu >> (len + 1));
	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((unsigned char)s->ptr[i] & 0x3f);
	*s = str_skip(*s, len);
	return c;
}

/* s starts after "[". True if it is a character class: *hit tells whether c is
 * in it, *rest is the pattern after it. */
static bool class_match(struct str s, uint32_t c, struct str *rest, bool *hit)
{
	bool negated = s.len && (s.ptr[0] == '!' || s.ptr[0] == '^');
	bool first = true;

	*hit = false;
	if (negated)
		s = str_skip(s, 1);
	for (; s.len && (first || s.ptr[0] != ']'); first = false) {
		uint32_t low = read_char(&s);
		uint32_t high = low;

		if (s.len > 1 && s.ptr[0] == '-' && s.ptr[1] != ']') {
			s = str_skip(s, 1);
			high = read_char(&s);
		}
		if (c >= low && c <= high)
			*hit = true;
	}
	if (!s.len)
		return false; /* not closed: "[" is literal */
	*hit = *hit != negated;
	*rest = str_skip(s, 1);
	return true;
}

/* Matches one character of name with the front of pattern and skips both. */
static bool match_char(struct str *pattern, struct str *name)
{
	struct str p = *pattern;
	struct str n = *name;
	uint32_t want;
	uint32_t c;
	bool hit;

	if (!p.len || !n.len)
		return false;
	want = read_char(&p);
	c = read_char(&n);
	if (want != '[' || !class_match(p, c, &p, &hit))
		hit = want == '?' || want == c;
	*pattern = p;
	*name = n;
	return hit;
}

static int expand_braces(struct glob *g, struct str s, size_t from, int depth,
			 struct error *err)
{
	for (size_t i = from; i < s.len; i++) {
		int commas;
		size_t close;

		if (s.ptr[i] != '{')
			continue;
		close = find_closing(s, i, &commas);
		if (close == s.len || !commas)
			continue; /* braces without a comma are literal */
		if (depth >= NESTING)
			return error_set(err, ERR_USAGE, "pattern_too_broad");
		return expand_group(g, s, i, close, depth, err);
	}
	return add_alternative(g, s, err);
}

/* Replaces s[open..close] by each of its alternatives and expands the rest. */
static int expand_group(struct glob *g, struct str s, size_t open, size_t close,
			int depth, struct error *err)
{
	size_t start = open + 1;
	int nested = 0;
	int rc = 0;

	for (size_t i = open + 1; i <= close && !rc; i++) {
		struct buf one = BUF_INIT(2 * PATTERN_MAX);

		if (s.ptr[i] == '{')
			nested++;
		if (s.ptr[i] == '}' && i < close)
			nested--;
		if (i < close && (s.ptr[i] != ',' || nested))
			continue;
		buf_add(&one, s.ptr, open);
		buf_add(&one, s.ptr + start, i - start);
		buf_addstr(&one, str_skip(s, close + 1));
		rc = expand_braces(g, buf_str(&one), open, depth + 1, err);
		buf_release(&one);
		start = i + 1;
	}
	return rc;
}

/* Splits an alternative at "/". */
static int split_alternative(struct glob *g, struct alternative *a,
			     struct error *err)
{
	struct str rest = str_of(a->text);
	struct str segment;
	bool directory = str_ends(rest, "/");

	a->segments = xcalloc(rest.len + 2, sizeof(*a->segments));
	while (str_split(&rest, '/', &segment)) {
		if (str_is(segment, ".."))
			return error_set(err, ERR_USAGE, "invalid_pattern");
		if (segment.len)
			a->segments[a->n++] = segment;
	}
	/* Only files are matched, and no file's path ends in "/". */
	if (g->by_path && directory)
		a->n = 0;
	return 0;
}

void glob_free(struct glob *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->n; i++) {
		free(g->alternatives[i].segments);
		free(g->alternatives[i].text);
	}
	free(g->alternatives);
	free(g->now);
	free(g->next);
	free(g);
}

int glob_new(struct glob **out, struct str pattern, unsigned flags,
	     struct error *err)
{
	struct glob *g = xcalloc(1, sizeof(*g));
	size_t longest = 0;
	int rc;

	g->by_path = str_find(pattern, '/') < pattern.len;
	g->hidden = flags & GLOB_HIDDEN && !g->by_path;
	if (pattern.len > PATTERN_MAX)
		rc = error_set(err, ERR_USAGE, "pattern_too_broad");
	else
		rc = expand_braces(g, pattern, 0, 0, err);
	/* Braces may also be part of a file name. */
	if (!rc && g->n > 1 && g->n < ALTERNATIVES)
		rc = add_alternative(g, pattern, err);
	for (size_t i = 0; i < g->n && !rc; i++) {
		rc = split_alternative(g, &g->alternatives[i], err);
		if (g->alternatives[i].n > longest)
			longest = g->alternatives[i].n;
	}
	if (rc) {
		glob_free(g);
		return -1;
	}
	g->now = xcalloc(longest + 1, sizeof(*g->now));
	g->next = xcalloc(longest + 1, sizeof(*g->next));
	*out = g;
	return 0;
}

/* Matches one segment with one name. On a mismatch only the last "*" is
 * retried, which is sufficient and limits the cost to length times length. */
static bool segment_match(struct str pattern, struct str name, bool hidden)
{
	struct str star = { 0 };
	struct str from = { 0 };
	bool starred = false;

	if (str_eq(pattern, name))
		/* equal bytes match even if they contain "[" or "*" */
		return true;
	if (!hidden && name.len && name.ptr[0] == '.' &&
	    (!pattern.len || pattern.ptr[0] != '.'))
		return false;
	while (name.len || pattern.len) {
		if (pattern.len && pattern.ptr[0] == '*') {
			pattern = str_skip(pattern, 1);
			star = pattern;
			from = name;
			starred = true;
			continue;
		}
		if (match_char(&pattern, &name))
			continue;
		if (!starred || !from.len)
			return false;
		read_char(&from);
		name = from;
		pattern = star;
	}
	return true;
}

static bool is_globstar(struct str segment)
{
	return str_is(segment, "**");
}

/* Advances the automaton by one name of the path. now[i]: the first i segments
 * can match the names so far. False: no match is possible any more. */
static bool advance_match(struct glob *g, const struct alternative *a,
			  struct str name)
{
	bool alive = false;
	bool *swap;

	memset(g->next, 0, (a->n + 1) * sizeof(*g->next));
	for (size_t i = 0; i < a->n; i++) {
		bool deep = is_globstar(a->segments[i]);

		/* "**" may match no directory at all. */
		if (deep && g->now[i] && i + 1 < a->n)
			g->now[i + 1] = true;
		if (!g->now[i])
			continue;
		if (deep && name.len && name.ptr[0] != '.') {
			g->next[i] = true;
			g->next[i + 1] |= i + 1 == a->n;
			alive = true;
		}
		if (!deep && segment_match(a->segments[i], name, false)) {
			g->next[i + 1] = true;
			alive = true;
		}
	}
	swap = g->now;
	g->now = g->next;
	g->next = swap;
	return alive;
}

static bool path_match(struct glob *g, const struct alternative *a,
		       struct str path)
{
	struct str name;

	if (!a->n)
		return false;
	memset(g->now, 0, (a->n + 1) * sizeof(*g->now));
	g->now[0] = true;
	while (str_split(&path, '/', &name)) {
		/* More names follow, so a complete match so far is not a
		 * match. */
		g->now[a->n] = false;
		if (!advance_match(g, a, name))
			return false;
	}
	return g->now[a->n];
}

bool glob_match(struct glob *g, struct str path)
{
	const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
	struct str name = path;

	if (slash)
		name = str_skip(path, (size_t)(slash - path.ptr) + 1);
	for (size_t i = 0; i < g->n; i++) {
		const struct alternative *a = &g->alternatives[i];
		bool hit;

		if (g->by_path)
			hit = path_match(g, a, path);
		else
			hit = a->n &&
			      segment_match(a->segments[0], name, g->hidden);
		if (hit)
			return true;
	}
	return false;
}

/* True for characters with a special meaning. A comma has one only inside
 * braces, but treating it as special elsewhere is harmless. */
static bool is_special(char c)
{
	return c && strchr("*?[]{},\\", c);
}

/* False if certainly no name that starts with "." matches, so that hidden
 * directories can be skipped. */
static bool may_be_hidden(struct str pattern)
{
	for (size_t i = 0; i < pattern.len; i++)
		if (pattern.ptr[i] == '.' &&
		    (!i || strchr("/{},", pattern.ptr[i - 1])))
			return true;
	return false;
}

/* Appends the pattern without its empty segments, which have no effect. */
static void drop_empty_segments(struct str pattern, struct buf *out)
{
	struct str segment;
	bool first = true;

	while (str_split(&pattern, '/', &segment)) {
		if (!segment.len)
			continue;
		if (!first)
			buf_addc(out, '/');
		buf_addstr(out, segment);
		first = false;
	}
}

void glob_filter(struct str pattern, struct glob_filter *filter)
{
	bool by_path = str_find(pattern, '/') < pattern.len;
	struct buf clean = BUF_INIT(pattern.len + 1);
	size_t from = 0;
	size_t to;

	drop_empty_segments(pattern, &clean);
	filter->test = by_path ? "-path" : "-name";
	filter->prune = by_path && !may_be_hidden(pattern);
	filter->like = BUF_INIT(pattern.len + 16);
	if (by_path)
		buf_adds(&filter->like, ".//./");
	to = clean.len;
	while (from < clean.len && !is_special(clean.ptr[from]))
		from++;
	while (to > from && !is_special(clean.ptr[to - 1]))
		to--;
	filter->is_path = by_path && from == clean.len;
	filter->exact = !by_path;
	for (size_t i = from; i < to; i++)
		filter->exact &=
			clean.ptr[i] == '*' || !is_special(clean.ptr[i]);
	if (filter->exact) {
		buf_addstr(&filter->like, buf_str(&clean));
		goto out;
	}
	buf_add(&filter->like, clean.ptr ? clean.ptr : "", from);
	if (from < clean.len) {
		buf_addc(&filter->like, '*');
		/* "**" and the "/" after it may match nothing. */
		to += clean.ptr[to] == '/';
		buf_add(&filter->like, clean.ptr + to, clean.len - to);
	}
out:
	buf_release(&clean);
}

/* listing.c - the list of a tree's files: a sorted text that both sides
 * hash. */
/* SPDX-License-Identifier: MIT */
/*
 * dcode and a shell script in the sandbox compute this text separately and
 * compare its hash. So its order is that of LC_ALL=C sort over whole lines,
 * which differs from the order of the paths: entries are stored by path
 * (listing_sort()) and reordered when they are written. A text from a sandbox
 * is untrusted; listing_parse() checks every line.
 */
#include "worktree/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"

enum {
	/* mode of an entry that removes earlier ones of its path */
	DROPPED = 0,
	MODE_DIGITS = 6,
	HASH_DIGITS = LISTING_HASH - 1,
	PATH_AT = MODE_DIGITS + 1 + HASH_DIGITS + 1,
};

#define LINE_END '\1' /* replaces a newline within a path */

void listing_digest(struct str bytes, char out[LISTING_HASH])
{
	unsigned char hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, (const unsigned char *)bytes.ptr, bytes.len);
	sodium_bin2hex(out, LISTING_HASH, hash, sizeof(hash));
}

bool listing_path_ok(struct str path)
{
	struct str rest = path;
	struct str part;

	if (!path.len || path.len > LISTING_PATH ||
	    path.ptr[path.len - 1] == '/' || memchr(path.ptr, '\0', path.len) ||
	    memchr(path.ptr, LINE_END, path.len))
		return false;
	while (str_split(&rest, '/', &part))
		if (!part.len || str_is(part, ".") || str_is(part, ".."))
			return false;
	return true;
}

void listing_add(struct listing *l, unsigned mode, const char *hash,
		 struct str path)
{
	struct listing_entry *e;
	char *owned = xstrndup(path.ptr, path.len);

	if (l->n == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 256;
		l->entries = xrealloc(l->entries, l->cap, sizeof(*l->entries));
	}
	if (l->n && strcmp(l->entries[l->n - 1].path, owned) >= 0)
		l->unsorted = true;
	e = &l->entries[l->n++];
	*e = (struct listing_entry){ .path = owned, .mode = mode };
	snprintf(e->hash, sizeof(e->hash), "%s", hash);
}

void listing_drop(struct listing *l, const char *path)
{
	listing_add(l, DROPPED, "", str_of(path));
	l->unsorted = true;
}

static int by_path(const void *a, const void *b)
{
	const struct listing_entry *x = a;
	const struct listing_entry *y = b;
	int order = strcmp(x->path, y->path);

	if (order)
		return order;
	return x->mode == y->mode ? 0 : x->mode < y->mode ? -1 : 1;
}

/* Of equal paths the last one wins, so the order in which they were added must
 * be known: the mode stores it while they are sorted. */
void listing_sort(struct listing *l)
{
	unsigned *modes;
	size_t kept = 0;

	if (!l->unsorted)
		return;
	modes = xcalloc(l->n, sizeof(*modes));
	for (size_t i = 0; i < l->n; i++) {
		modes[i] = l->entries[i].mode;
		l->entries[i].mode = (unsigned)i;
	}
	qsort(l->entries, l->n, sizeof(*l->entries), by_path);
	for (size_t i = 0; i < l->n; i++) {
		struct listing_entry *e = &l->entries[i];

		e->mode = modes[e->mode];
		if (e->mode == DROPPED ||
		    (i + 1 < l->n && !strcmp(e->path, e[1].path)))
			free(e->path);
		else
			l->entries[kept++] = *e;
	}
	l->n = kept;
	l->unsorted = false;
	free(modes);
}

static bool read_mode(struct str text, unsigned *mode)
{
	if (str_is(text, "100644"))
		*mode = LISTING_FILE;
	else if (str_is(text, "100755"))
		*mode = LISTING_PROGRAM;
	else if (str_is(text, "120000"))
		*mode = LISTING_LINK;
	else
		return false;
	return true;
}

static bool is_hash(const char *s)
{
	for (int i = 0; i < HASH_DIGITS; i++)
		if ((s[i] < '0' || s[i] > '9') && (s[i] < 'a' || s[i] > 'f'))
			return false;
	return true;
}

static void swap_bytes(char *s, size_t len, char from, char to)
{
	for (size_t i = 0; i < len; i++)
		if (s[i] == from)
			s[i] = to;
}

static bool add_line(struct listing *l, struct str line)
{
	char hash[LISTING_HASH];
	struct listing_entry *e;
	unsigned mode;
	size_t len;

	if (line.len <= PATH_AT || line.len > PATH_AT + LISTING_PATH ||
	    memchr(line.ptr, '\0', line.len))
		return false;
	if (!read_mode((struct str){ line.ptr, MODE_DIGITS }, &mode) ||
	    line.ptr[MODE_DIGITS] != ' ' || line.ptr[PATH_AT - 1] != ' ' ||
	    !is_hash(line.ptr + MODE_DIGITS + 1))
		return false;
	memcpy(hash, line.ptr + MODE_DIGITS + 1, HASH_DIGITS);
	hash[HASH_DIGITS] = '\0';
	listing_add(l, mode, hash, str_skip(line, PATH_AT));
	e = &l->entries[l->n - 1];
	len = strlen(e->path);
	swap_bytes(e->path, len, LINE_END, '\n');
	l->unsorted = true; /* lines are not in the order of the paths */
	return listing_path_ok((struct str){ e->path, len });
}

int listing_parse(struct listing *l, struct str text, struct error *err)
{
	struct str line;
	size_t before;

	if (text.len > LISTING_MAX)
		return error_set(err, ERR_PROTOCOL,
				 "the listing is larger than %d MiB",
				 LISTING_MAX >> 20);
	if (text.len && text.ptr[text.len - 1] != '\n')
		return error_set(err, ERR_PROTOCOL,
				 "the listing is incomplete");
	while (text.len) {
		line = (struct str){ text.ptr, str_find(text, '\n') };
		text = str_skip(text, line.len + 1);
		if (l->n == LISTING_FILES)
			return error_set(err, ERR_PROTOCOL,
					 "the listing has more than %d files",
					 LISTING_FILES);
		if (!add_line(l, line))
			return error_set(err, ERR_PROTOCOL,
					 "line %zu of the listing is invalid",
					 l->n + 1);
	}
	before = l->n;
	listing_sort(l);
	if (l->n != before)
		return error_set(err, ERR_PROTOCOL,
				 "the listing names a path twice");
	return 0;
}

const struct listing_entry *listing_find(struct listing *l, const char *path)
{
	size_t low = 0;
	size_t high;

	listing_sort(l);
	high = l->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(path, l->entries[middle].path);

		if (order == 0)
			return &l->entries[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/* Compares whole lines as bytes; a newline in a path is written as the byte
 * 1. */
static int by_line(const void *a, const void *b)
{
	const struct listing_entry *x = *(const struct listing_entry *const *)a;
	const struct listing_entry *y = *(const struct listing_entry *const *)b;
	const unsigned char *p = (const unsigned char *)x->path;
	const unsigned char *q = (const unsigned char *)y->path;
	int order = (x->mode > y->mode) - (x->mode < y->mode);

	if (!order)
		order = strcmp(x->hash, y->hash);
	if (order)
		return order;
	while (*p && *p == *q) {
		p++;
		q++;
	}
	return (*p == '\n' ? 1 : *p) - (*q == '\n' ? 1 : *q);
}

void listing_write(struct listing *l, struct buf *out)
{
	const struct listing_entry **order;

	listing_sort(l);
	order = xcalloc(l->n + 1, sizeof(const struct listing_entry *));
	for (size_t i = 0; i < l->n; i++)
		order[i] = &l->entries[i];
	qsort(order, l->n, sizeof(const struct listing_entry *), by_line);
	for (size_t i = 0; i < l->n; i++) {
		size_t from;

		buf_addf(out, "%06o %s ", order[i]->mode, order[i]->hash);
		from = out->len;
		buf_adds(out, order[i]->path);
		if (!out->over)
			swap_bytes(out->ptr + from, out->len - from, '\n',
				   LINE_END);
		buf_addc(out, '\n');
	}
	free(order);
}

void listing_root(struct listing *l, char out[LISTING_HASH])
{
	struct buf text = BUF_INIT(LISTING_MAX);

	listing_write(l, &text);
	listing_digest(buf_str(&text), out);
	buf_release(&text);
}

int listing_compare(struct listing *before, struct listing *after,
		    int (*each)(void *arg, const struct listing_entry *before,
				const struct listing_entry *after,
				struct error *err),
		    void *arg, struct error *err)
{
	size_t i = 0;
	size_t j = 0;
	int rc = 0;

	listing_sort(before);
	listing_sort(after);
	while (rc == 0 && (i < before->n || j < after->n)) {
		const struct listing_entry *a =
			i < before->n ? &before->entries[i] : NULL;
		const struct listing_entry *b =
			j < after->n ? &after->entries[j] : NULL;
		int order = !a ? 1 : !b ? -1 : strcmp(a->path, b->path);

		i += order <= 0;
		j += order >= 0;
		if (order)
			rc = each(arg, order < 0 ? a : NULL,
				  order > 0 ? b : NULL, err);
		else if (a->mode != b->mode || strcmp(a->hash, b->hash) != 0)
			rc = each(arg, a, b, err);
	}
	return rc;
}

void listing_release(struct listing *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->entries[i].path);
	free(l->entries);
	*l = (struct listing){ 0 };
}

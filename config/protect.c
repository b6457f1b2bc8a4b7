/* protect.c - names of files that can make programs run on the user's
 * machine. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at protect_matches(). A name is folded before it is compared
 * (fold_name()) and may be a short name (is_short_name()), because file systems
 * of macOS and Windows take several spellings for the same file: a pattern for
 * .git also has to find .GIT and GIT~1.
 */
#include "config/protect.h"

#include <stdint.h>
#include <string.h>

#include "base/str.h"

enum { NAME_BYTES = 1024, SHORT_NAME = 6 };

bool protect_is_plain(const char *pattern)
{
	return !strchr(pattern, '*');
}

int protect_load(struct protect *p, const struct settings *set,
		 struct error *err)
{
	bool own = settings_source(set, "local", "protect") != SOURCE_NONE;

	if (settings_list(set, own ? "local" : NULL, "protect", &p->patterns,
			  &p->n, err) < 0)
		return -1;
	for (size_t i = 0; i < p->n; i++) {
		const char *name = p->patterns[i];

		if (strchr(name, '/') || !name[strspn(name, ".")])
			return error_set(err, ERR_CONFIG,
					 "protect: not a file name: \"%s\"",
					 name);
	}
	return 0;
}

/* Decodes a UTF-8 sequence into *c and returns its length. An invalid byte
 * counts as a sequence of length 1; its value equals no character. */
static size_t decode_utf8(const unsigned char *p, size_t len, uint32_t *c)
{
	size_t n = p[0] < 0x80   ? 1
		   : p[0] < 0xC2 ? 0
		   : p[0] < 0xE0 ? 2
		   : p[0] < 0xF0 ? 3
		   : p[0] < 0xF5 ? 4
				 : 0;

	*c = n == 1 ? p[0] : p[0] & (0x7Fu >> n);
	for (size_t i = 1; i < n; i++) {
		if (i >= len || (p[i] & 0xC0) != 0x80)
			n = 0;
		else
			*c = *c << 6 | (p[i] & 0x3Fu);
	}
	if (!n)
		*c = 0x110000 + p[0];
	return n ? n : 1;
}

/* True for characters that file systems ignore in comparisons: HFS+ (git's
 * list), and ext4 and f2fs with case folding (Unicode's
 * Default_Ignorable_Code_Point). */
static bool is_ignored(uint32_t c)
{
	static const struct {
		uint32_t first;
		uint32_t last;
	} ranges[] = {
		{ 0x00AD, 0x00AD },   { 0x034F, 0x034F },
		{ 0x061C, 0x061C },   { 0x115F, 0x1160 },
		{ 0x17B4, 0x17B5 },   { 0x180B, 0x180F },
		{ 0x200B, 0x200F },   { 0x202A, 0x202E },
		{ 0x2060, 0x206F },   { 0x3164, 0x3164 },
		{ 0xFE00, 0xFE0F },   { 0xFEFF, 0xFEFF },
		{ 0xFFA0, 0xFFA0 },   { 0xFFF0, 0xFFF8 },
		{ 0x1BCA0, 0x1BCA3 }, { 0x1D173, 0x1D17A },
		{ 0xE0000, 0xE0FFF },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

/* Returns c in lower case. Besides A to Z, only the two characters below have
 * an ASCII letter as their lower case. */
static uint32_t fold_case(uint32_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c + ('a' - 'A');
	if (c == 0x17F) /* long s */
		return 's';
	return c == 0x212A ? 'k' : c; /* KELVIN SIGN */
}

/* Returns the name as a file system would compare it: letters in ASCII lower
 * case, ignored characters removed, others unchanged. */
static struct str fold_name(struct str name, char room[NAME_BYTES])
{
	const unsigned char *p = (const unsigned char *)name.ptr;
	size_t n = 0;

	for (size_t i = 0; i < name.len;) {
		uint32_t c;
		size_t step = decode_utf8(p + i, name.len - i, &c);
		uint32_t low = fold_case(c);

		/* NTFS: what follows the colon is the name of an alternate
		 * stream */
		if (low == ':')
			break;
		if (n + step > NAME_BYTES)
			break;
		if (low < 0x80) {
			room[n++] = (char)low;
		} else if (!is_ignored(c)) {
			memcpy(room + n, p + i, step);
			n += step;
		}
		i += step;
	}
	while (n > 1 && (room[n - 1] == '.' || room[n - 1] == ' '))
		n--;
	return (struct str){ room, n };
}

/* Matches a pattern with "*". Both arguments must be folded. Backtracks only to
 * the last star, so that the time is bounded. */
static bool matches_wildcard(struct str pattern, struct str name)
{
	size_t star = SIZE_MAX;
	size_t again = 0;
	size_t p = 0;
	size_t n = 0;

	while (n < name.len) {
		if (p < pattern.len && pattern.ptr[p] == '*') {
			star = p++;
			again = n;
		} else if (p < pattern.len && pattern.ptr[p] == name.ptr[n]) {
			p++;
			n++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			n = ++again;
		} else {
			return false;
		}
	}
	while (p < pattern.len && pattern.ptr[p] == '*')
		p++;
	return p == pattern.len;
}

/* True if name may be the pattern's short name on FAT or NTFS: VSCODE~1 for
 * ".vscode". */
static bool is_short_name(struct str pattern, struct str name)
{
	size_t tilde = str_find(name, '~');
	size_t star = str_find(pattern, '*');
	char letters[SHORT_NAME];
	size_t n = 0;

	for (size_t i = 0; i < star && n < SHORT_NAME; i++)
		if (pattern.ptr[i] != '.')
			letters[n++] = pattern.ptr[i];
	if (!n || tilde < n || tilde > SHORT_NAME || tilde + 1 >= name.len ||
	    (tilde > n && star == pattern.len))
		return false;
	return !memcmp(letters, name.ptr, n) && name.ptr[tilde + 1] >= '0' &&
	       name.ptr[tilde + 1] <= '9';
}

static bool matches_name(const char *pattern, struct str folded)
{
	char room[NAME_BYTES];
	struct str wanted = fold_name(str_of(pattern), room);

	return matches_wildcard(wanted, folded) ||
	       is_short_name(wanted, folded);
}

bool protect_matches(const struct protect *p, struct str name)
{
	char room[NAME_BYTES];
	struct str folded = fold_name(name, room);

	for (size_t i = 0; i < p->n; i++)
		if (matches_name(p->patterns[i], folded))
			return true;
	return false;
}

bool protect_is_git(struct str name)
{
	char room[NAME_BYTES];

	return matches_name(".git", fold_name(name, room));
}

struct str protect_find(const struct protect *p, struct str path)
{
	struct str name;

	while (str_split(&path, '/', &name))
		if (protect_is_git(name) || protect_matches(p, name))
			return name;
	return (struct str){ 0 };
}

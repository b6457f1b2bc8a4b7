/* histories.h - random edits of a directory, the same for the same seed. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_HISTORIES_H
#define TESTS_UNIT_HISTORIES_H

#include "trees.h"

struct history {
	uint64_t state;
	const char *top;
	struct trees_list now; /* of top, read before each edit */
	bool attributes;       /* .gitattributes are among the edits */
};

static inline unsigned history_below(struct history *h, unsigned bound)
{
	h->state ^= h->state << 13;
	h->state ^= h->state >> 7;
	h->state ^= h->state << 17;
	return (unsigned)((h->state >> 11) % bound);
}

static inline char *history_full(const struct history *h, const char *path)
{
	return xasprintf("%s/%s", h->top, path);
}

/* A name that often meets one that is there. */
static inline char *history_name(struct history *h)
{
	static const char *const names[] = {
		"a",         "b.txt",       "Makefile", "dir/a",    "dir/b",
		"dir/sub/c", "dir/sub/d",   "x y",      "\xff\xfe", "q\"uote",
		"new\nline", "\xc3\xa4/e",  "dir2/a",   "dir2/b",   "tab\t/t",
		"-dash",     "dir/sub/e/f", "b",        "lib/m.c",  "lib/n.c",
	};
	enum { N = sizeof(names) / sizeof(*names) };

	if (history_below(h, 6) == 0)
		return xasprintf("%s%u", names[history_below(h, N)],
				 history_below(h, 4));
	return xstrdup(names[history_below(h, N)]);
}

static inline void history_text(struct history *h, struct buf *out)
{
	unsigned kind = history_below(h, 5);
	unsigned lines = 5 + history_below(h, 30);

	if (kind == 0)
		for (unsigned i = 0; i < 40 + history_below(h, 400); i++)
			buf_addc(out, (char)history_below(h, 256));
	if (kind == 0)
		buf_addc(out, '\0');
	for (unsigned i = 0; kind && i < lines; i++)
		buf_addf(out, "line %u of %u%s", i, history_below(h, 3),
			 kind == 1 ? "\r\n" : "\n");
	if (kind == 2 && history_below(h, 2))
		buf_adds(out, "no line end");
}

/* Parents are made; what is in the way stays, and then nothing is written. */
static inline void history_write(struct history *h, const char *path,
				 struct str bytes)
{
	char *full = history_full(h, path);
	char *parent = xstrdup(full);
	struct error err = { 0 };
	struct stat st;

	*strrchr(parent, '/') = '\0';
	if (path_mkdirs(parent, 0755, &err) == 0 &&
	    (lstat(full, &st) < 0 || S_ISREG(st.st_mode)))
		(void)path_write(full, bytes, history_below(h, 4) ? 0644 : 0755,
				 &err);
	free(parent);
	free(full);
}

static inline void history_add(struct history *h)
{
	struct buf text = BUF_INIT(1 << 20);
	char *name = history_name(h);

	history_text(h, &text);
	history_write(h, name, buf_str(&text));
	buf_release(&text);
	free(name);
}

/* Any of what is there; NULL without any. */
static inline const struct trees_item *history_pick(struct history *h,
						    mode_t type)
{
	size_t n = h->now.n;
	size_t first = n ? history_below(h, (unsigned)n) : 0;

	for (size_t i = 0; i < n; i++) {
		const struct trees_item *it = &h->now.items[(first + i) % n];

		if ((it->st.st_mode & S_IFMT) == type)
			return it;
	}
	return NULL;
}

static inline void history_edit(struct history *h)
{
	const struct trees_item *it = history_pick(h, S_IFREG);
	struct buf out = BUF_INIT(1 << 22);
	struct error err = { 0 };
	struct str rest, line;
	char *full;

	if (!it)
		return;
	rest = buf_str(&it->bytes);
	while (str_split(&rest, '\n', &line)) {
		unsigned what = history_below(h, 12);

		if (what == 0)
			buf_addf(&out, "inserted %u\n", history_below(h, 9));
		if (what == 1)
			continue;
		buf_addstr(&out, line);
		if (what == 2)
			buf_adds(&out, " changed");
		if (rest.len || it->bytes.ptr[it->bytes.len - 1] == '\n')
			buf_addc(&out, '\n');
	}
	full = history_full(h, it->path);
	(void)path_write(full, buf_str(&out), it->st.st_mode & 0777, &err);
	free(full);
	buf_release(&out);
}

static inline void history_line_ends(struct history *h)
{
	const struct trees_item *it = history_pick(h, S_IFREG);
	struct buf out = BUF_INIT(1 << 22);

	if (!it)
		return;
	for (size_t i = 0; i < it->bytes.len; i++) {
		char c = it->bytes.ptr[i];
		bool cr = i && it->bytes.ptr[i - 1] == '\r';

		if (c == '\n' && !cr)
			buf_addc(&out, '\r');
		buf_addc(&out, c);
	}
	history_write(h, it->path, buf_str(&out));
	buf_release(&out);
}

static inline void history_rename(struct history *h, mode_t type)
{
	const struct trees_item *it = history_pick(h, type);
	char *to = history_name(h);
	char *from = it ? history_full(h, it->path) : NULL;
	char *full = history_full(h, to);
	char *parent = xstrdup(full);
	struct error err = { 0 };

	*strrchr(parent, '/') = '\0';
	if (from && path_mkdirs(parent, 0755, &err) == 0)
		(void)rename(from, full);
	free(parent);
	free(from);
	free(full);
	free(to);
}

static inline void history_mode(struct history *h)
{
	const struct trees_item *it = history_pick(h, S_IFREG);
	char *full = it ? history_full(h, it->path) : NULL;

	if (full)
		assert_int_equal(chmod(full, it->st.st_mode ^ 0111), 0);
	free(full);
}

static inline void history_link(struct history *h)
{
	static const char *const targets[] = { "a", "missing", "sub/c",
					       "\xff" };
	const struct trees_item *it = history_pick(h, S_IFREG);
	char *name =
		history_below(h, 2) && it ? xstrdup(it->path) : history_name(h);
	char *full = history_full(h, name);

	(void)unlink(full);
	(void)!symlink(targets[history_below(h, 4)], full);
	free(full);
	free(name);
}

static inline void history_delete(struct history *h, mode_t type)
{
	const struct trees_item *it = history_pick(h, type);
	char *full = it ? history_full(h, it->path) : NULL;
	struct error err = { 0 };

	if (full)
		assert_int_equal(path_remove_tree(full, &err), 0);
	free(full);
}

/* A file where a directory was, or the other way round. */
static inline void history_swap_kind(struct history *h)
{
	mode_t type = history_below(h, 2) ? S_IFREG : S_IFDIR;
	const struct trees_item *it = history_pick(h, type);
	char *full = it ? history_full(h, it->path) : NULL;
	char *inner = it ? xasprintf("%s%s", it->path,
				     type == S_IFREG ? "/inner" : "")
			 : NULL;
	struct error err = { 0 };

	if (full) {
		assert_int_equal(path_remove_tree(full, &err), 0);
		history_write(h, inner, STR("swapped\n"));
	}
	free(full);
	free(inner);
}

static inline void history_prune(const char *top)
{
	char *command = xasprintf("find '%s' -mindepth 1 -type d -empty "
				  "-not -path '*/.git/*' -delete",
				  top);

	assert_int_equal(system(command), 0);
	free(command);
}

/* Lines that say how git merges: its own drivers, and one that nobody
 * defines. */
static inline void history_attributes(struct history *h)
{
	static const char *const patterns[] = { "*",   "a",       "b.txt",
						"dir", "*.txt",   "sub/*",
						"*.c", "Makefile" };
	static const char *const values[] = {
		"merge=union",
		"-merge",
		"binary",
		"merge=binary",
		"merge=text",
		"merge",
		"!merge",
		"merge=nobodys",
		"conflict-marker-size=12",
		"odd",
		"-diff merge=union",
		"merge=union text eol=crlf ident working-tree-encoding=UTF-16",
	};
	static const char *const names[] = { ".gitattributes",
					     "dir/.gitattributes",
					     "dir/sub/.gitattributes" };
	struct buf text = BUF_INIT(1 << 16);

	if (history_below(h, 3) == 0)
		buf_adds(&text, "[attr]odd -merge\n");
	for (unsigned i = 0; i < 1 + history_below(h, 3); i++)
		buf_addf(&text, "%s %s\n", patterns[history_below(h, 8)],
			 values[history_below(h, 12)]);
	history_write(h, names[history_below(h, 3)], buf_str(&text));
	buf_release(&text);
}

static inline void history_step(struct history *h)
{
	if (h->attributes && history_below(h, 6) == 0) {
		history_attributes(h);
		return;
	}
	switch (history_below(h, 14)) {
	case 0:
	case 1:
		history_add(h);
		break;
	case 2:
		history_rename(h, S_IFREG);
		break;
	case 3:
		history_rename(h, S_IFDIR);
		break;
	case 4:
		history_mode(h);
		break;
	case 5:
		history_link(h);
		break;
	case 6:
		history_delete(h, S_IFREG);
		break;
	case 7:
		history_delete(h, history_below(h, 3) ? S_IFLNK : S_IFDIR);
		break;
	case 8:
		history_line_ends(h);
		break;
	case 9:
		history_swap_kind(h);
		break;
	default:
		history_edit(h);
	}
}

/* A seed with this bit has .gitattributes among its files. */
#define HISTORY_ATTRIBUTES ((uint64_t)1 << 40)

static inline void history_run(const char *top, uint64_t seed, unsigned steps)
{
	struct history h = { .state = seed * 0x9e3779b97f4a7c15u + 1,
			     .top = top,
			     .attributes = seed & HISTORY_ATTRIBUTES };

	for (unsigned i = 0; i < 20; i++)
		(void)history_below(&h, 2);
	for (unsigned i = 0; i < steps; i++) {
		trees_read(&h.now, top);
		history_step(&h);
		trees_release(&h.now);
	}
	history_prune(top);
}

#endif

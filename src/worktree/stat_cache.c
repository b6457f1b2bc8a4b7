/* stat_cache.c - caches file hashes, so that files need not be read again. */
/* SPDX-License-Identifier: MIT */
/*
 * The cache file is a list sorted by path, followed by a hash of the list. A
 * truncated or foreign file counts as empty: that only costs time. New entries
 * are collected in memory and merged when the cache is closed. Entries that
 * were neither found nor put are dropped then, so entries of deleted files do
 * not accumulate.
 */
#include "worktree/stat_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

enum {
	FILE_MAX = 512 << 20, /* bytes */
	HASH = crypto_hash_sha256_BYTES,
	UNSURE_S = 2,
};

/* Increase the number when the rules for finding private keys change: all files
 * are then read again. */
#define MAGIC "dcode stat 2\n"

/* An entry in the file, followed by its path and a NUL: in this machine's byte
 * order, without padding. */
struct stat_fields {
	int64_t size;
	int64_t mtime[2]; /* seconds, nanoseconds */
	int64_t ctime[2];
	uint64_t inode;
	uint64_t device;
	uint32_t mode;
	uint32_t keyless;
	unsigned char hash[HASH];
};

struct stat_entry {
	const char *path; /* slice of text, or owned */
	struct stat_fields fixed;
	bool used;
};

struct stat_entries {
	struct stat_entry *list;
	size_t n;
	size_t cap;
};

struct stat_cache {
	char *file;
	bool loaded;
	struct buf text;         /* contents of the cache file */
	struct stat_entries old; /* sorted by path */
	struct stat_entries put; /* new entries; their paths are owned */
};

struct stat_cache *stat_cache_open(const char *file)
{
	struct stat_cache *c = xcalloc(1, sizeof(*c));

	c->file = xstrdup(file);
	c->text = BUF_INIT(FILE_MAX);
	return c;
}

static struct stat_entry *add_entry(struct stat_entries *all)
{
	if (all->n == all->cap) {
		all->cap = all->cap ? all->cap * 2 : 256;
		all->list = xrealloc(all->list, all->cap, sizeof(*all->list));
	}
	all->list[all->n] = (struct stat_entry){ 0 };
	return &all->list[all->n++];
}

/* Returns -1 also if there are more than FILE_MAX bytes. */
static int read_all(int fd, struct buf *out)
{
	char room[64 << 10];
	ssize_t n;

	do {
		n = read(fd, room, sizeof(room));
		if (n > 0)
			buf_add(out, room, (size_t)n);
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 || out->over ? -1 : 0;
}

/* Reads the cache file. False if it is damaged or other users could have
 * written it. */
static bool read_file(struct stat_cache *c)
{
	int fd = open(c->file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	unsigned char hash[HASH];
	struct stat st;
	bool good = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		    st.st_uid == geteuid() && !(st.st_mode & 022) &&
		    read_all(fd, &c->text) == 0;
	struct str text = buf_str(&c->text);

	if (fd >= 0)
		close(fd);
	if (!good || text.len < sizeof(MAGIC) - 1 + HASH ||
	    !str_starts(text, MAGIC))
		return false;
	text.len -= HASH;
	crypto_hash_sha256(hash, (const unsigned char *)text.ptr, text.len);
	return memcmp(hash, text.ptr + text.len, HASH) == 0;
}

/* Loads the file when the cache is first used. */
static void load(struct stat_cache *c)
{
	struct str rest;

	if (c->loaded)
		return;
	c->loaded = true;
	if (!read_file(c))
		return;
	rest = buf_str(&c->text);
	rest.len -= HASH;
	rest = str_skip(rest, sizeof(MAGIC) - 1);
	while (rest.len > sizeof(struct stat_fields)) {
		struct stat_entry *e = add_entry(&c->old);
		const char *end;

		memcpy(&e->fixed, rest.ptr, sizeof(e->fixed));
		rest = str_skip(rest, sizeof(e->fixed));
		end = memchr(rest.ptr, '\0', rest.len);
		if (!end) {
			c->old.n = 0;
			return;
		}
		e->path = rest.ptr;
		rest = str_skip(rest, (size_t)(end - rest.ptr) + 1);
	}
}

static void describe(const struct stat *st, struct stat_fields *f)
{
	*f = (struct stat_fields){
		.size = st->st_size,
		.mtime = { st->st_mtim.tv_sec, st->st_mtim.tv_nsec },
		.ctime = { st->st_ctim.tv_sec, st->st_ctim.tv_nsec },
		.inode = st->st_ino,
		.device = st->st_dev,
		.mode = st->st_mode,
	};
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct stat_entry *)a)->path,
		      ((const struct stat_entry *)b)->path);
}

bool stat_cache_get(struct stat_cache *c, const char *path,
		    const struct stat *st, struct stat_cached *known)
{
	struct stat_entry wanted = { .path = path };
	struct stat_entry *e;

	load(c);
	describe(st, &wanted.fixed);
	e = c->old.n ? bsearch(&wanted, c->old.list, c->old.n, sizeof(wanted),
			       by_path)
		     : NULL;
	if (!e || memcmp(&e->fixed, &wanted.fixed,
			 offsetof(struct stat_fields, keyless)))
		return false;
	e->used = true;
	known->keyless = e->fixed.keyless == 1;
	sodium_bin2hex(known->hash, sizeof(known->hash), e->fixed.hash, HASH);
	return true;
}

/* False if a file's time is so close to the time of reading that a later change
 * could leave it unchanged. */
static bool is_settled(const struct timespec *t, const struct timespec *began)
{
	return t->tv_sec < began->tv_sec - UNSURE_S;
}

void stat_cache_put(struct stat_cache *c, const char *path,
		    const struct stat *st, const struct stat_cached *read,
		    const struct timespec *began)
{
	struct stat_entry *e;

	if (!is_settled(&st->st_mtim, began) ||
	    !is_settled(&st->st_ctim, began))
		return;
	load(c);
	e = add_entry(&c->put);
	e->path = xstrdup(path);
	describe(st, &e->fixed);
	e->fixed.keyless = read->keyless;
	(void)sodium_hex2bin(e->fixed.hash, HASH, read->hash,
			     strlen(read->hash), NULL, NULL, NULL);
}

static void add_bytes(struct buf *out, const struct stat_entry *e)
{
	buf_add(out, (const char *)&e->fixed, sizeof(e->fixed));
	buf_add(out, e->path, strlen(e->path) + 1);
}

/* Merges both lists by path; new entries take precedence. If two entries have
 * the same path, either may be used: a wrong one does not match the file. */
static void merge(struct stat_cache *c, struct buf *out)
{
	size_t i = 0;

	qsort(c->put.list, c->put.n, sizeof(*c->put.list), by_path);
	for (size_t k = 0; k < c->put.n; k++) {
		const struct stat_entry *e = &c->put.list[k];

		if (k && !strcmp(e->path, c->put.list[k - 1].path))
			continue;
		for (; i < c->old.n && by_path(&c->old.list[i], e) < 0; i++)
			if (c->old.list[i].used)
				add_bytes(out, &c->old.list[i]);
		if (i < c->old.n && !by_path(&c->old.list[i], e))
			i++;
		add_bytes(out, e);
	}
	for (; i < c->old.n; i++)
		if (c->old.list[i].used)
			add_bytes(out, &c->old.list[i]);
}

/* The file is not synced: a damaged one counts as empty. */
static void write_file(const char *file, struct str text)
{
	char *part = xasprintf("%s.XXXXXX", file);
	int fd = mkostemp(part, O_CLOEXEC);
	bool whole = fd >= 0 && io_write_all(fd, text.ptr, text.len) == 0;

	if (fd >= 0 && (close(fd) < 0 || !whole || rename(part, file) < 0))
		(void)unlink(part);
	free(part);
}

static void write_all(struct stat_cache *c)
{
	struct buf out = BUF_INIT(FILE_MAX);
	unsigned char hash[HASH];

	buf_adds(&out, MAGIC);
	merge(c, &out);
	if (!out.over) {
		crypto_hash_sha256(hash, (const unsigned char *)out.ptr,
				   out.len);
		buf_add(&out, (const char *)hash, HASH);
	}
	if (!out.over)
		write_file(c->file, buf_str(&out));
	buf_release(&out);
}

void stat_cache_close(struct stat_cache *c)
{
	if (!c)
		return;
	if (c->put.n)
		write_all(c);
	for (size_t i = 0; i < c->put.n; i++)
		free((char *)c->put.list[i].path);
	free(c->put.list);
	free(c->old.list);
	buf_release(&c->text);
	free(c->file);
	free(c);
}

/* copy_sieve.c - a tar stream out of a sandbox, without the names that nobody
 * asked for: read entry by entry, judged in judge(), and written anew. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/copy_sieve.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"

enum {
	FLUSH = 64 << 10,      /* bytes that are written at once */
	SET_FIRST = 1 << 8,    /* slots */
	SET_MOST = 1 << 20,    /* paths; each has four slots at most */
	NAME_BYTES = PATH_MAX, /* of a path in the archive, with NUL */
};

/* Paths that were seen, as keyed hashes of them: whoever names the entries
 * cannot choose where they fall. */
struct path_set {
	uint64_t *slots; /* owned; 0: free */
	size_t n;
	size_t size; /* slots: a power of two */
	unsigned char key[crypto_shorthash_KEYBYTES];
};

static uint64_t hash_of(const struct path_set *s, struct str path)
{
	unsigned char out[crypto_shorthash_BYTES];
	uint64_t hash;

	_Static_assert(sizeof(out) == sizeof(hash), "a hash is 64 bits");
	crypto_shorthash(out, (const unsigned char *)path.ptr, path.len,
			 s->key);
	memcpy(&hash, out, sizeof(hash));
	return hash ? hash : 1;
}

/* Where hash is, or would be. */
static uint64_t *slot_of(const struct path_set *s, uint64_t hash)
{
	size_t i = (size_t)hash & (s->size - 1);

	while (s->slots[i] && s->slots[i] != hash)
		i = (i + 1) & (s->size - 1);
	return &s->slots[i];
}

static bool path_set_has(const struct path_set *s, struct str path)
{
	return s->n && *slot_of(s, hash_of(s, path));
}

static void path_set_grow(struct path_set *s)
{
	struct path_set old = *s;

	if (!s->size)
		randombytes_buf(s->key, sizeof(s->key));
	s->size = old.size ? old.size * 2 : SET_FIRST;
	s->slots = xcalloc(s->size, sizeof(*s->slots));
	for (size_t i = 0; i < old.size; i++)
		if (old.slots[i])
			*slot_of(s, old.slots[i]) = old.slots[i];
	free(old.slots);
}

static int path_set_add(struct path_set *s, struct str path, struct error *err)
{
	uint64_t *slot;
	uint64_t hash;

	if (s->n == SET_MOST)
		return error_set(err, ERR_LIMIT,
				 "the copy has more than %d links, or names "
				 "that are left out",
				 SET_MOST);
	if (s->n * 2 >= s->size)
		path_set_grow(s);
	hash = hash_of(s, path);
	slot = slot_of(s, hash);
	s->n += !*slot;
	*slot = hash;
	return 0;
}

/* Whether a directory that path lies in was seen. */
static bool path_set_above(const struct path_set *s, struct str path)
{
	for (size_t i = 0; s->n && i < path.len; i++)
		if (path.ptr[i] == '/' &&
		    path_set_has(s, (struct str){ path.ptr, i }))
			return true;
	return false;
}

struct sieve {
	struct copy *copy; /* borrowed */
	struct archive_stream *out;
	copy_write *write;
	void *arg;
	archive_pull *pull;
	void *from;
	struct path_set
		links; /* what passed as a link; may lead to a directory */
	struct path_set gone; /* did not pass; those below .git are not in it */
	int64_t bytes;        /* of all files that passed */
	int64_t skipped;
	struct buf path; /* of the entry at hand, plain */
	struct buf original;
};

static int flush(struct sieve *s, struct error *err)
{
	struct buf *out = archive_stream_out(s->out);
	int rc = out->len ? s->write(s->arg, buf_str(out), err) : 0;

	buf_clear(out);
	return rc;
}

static int flush_much(struct sieve *s, struct error *err)
{
	return archive_stream_out(s->out)->len < FLUSH ? 0 : flush(s, err);
}

/* Why an entry is left out whatever its name is; NULL: only its name counts. */
static const char *judge(struct sieve *s, const struct archive_item *item)
{
	const char *why = archive_plain_path(item->path.ptr, &s->path);
	struct str path = buf_str(&s->path);
	struct str original;

	if (why)
		return why;
	if (!item->original && !S_ISREG(item->mode) && !S_ISLNK(item->mode) &&
	    !S_ISDIR(item->mode))
		return "it is neither a file, a link nor a directory";
	if (!path.len && !S_ISDIR(item->mode))
		return "it has no name of its own";
	if (!item->original && S_ISLNK(item->mode) &&
	    (!item->target || !item->target[0] ||
	     strlen(item->target) >= PATH_MAX))
		return "the link leads nowhere";
	if (path_set_above(&s->links, path) ||
	    (S_ISDIR(item->mode) && path_set_has(&s->links, path)))
		return "a link is where its directory should be";
	if (!item->original)
		return NULL;
	if (archive_plain_path(item->original, &s->original) ||
	    !s->original.len)
		return "it is a link to a file outside";
	original = buf_str(&s->original);
	if (path_set_above(&s->links, original) ||
	    path_set_has(&s->gone, original))
		return "it is a link to what is not copied";
	return NULL;
}

/* 1: it does not pass, and was told; 0: it does. */
static int leave_out(struct sieve *s, const struct archive_item *item,
		     struct error *err)
{
	const char *why = judge(s, item);
	struct archive_item plain = *item;
	struct str path = buf_str(&s->path);
	struct str name = item->path;

	plain.path = path;
	if (why) {
		while (str_starts(name, "./") && name.len > 2)
			name = str_skip(name, 2);
		copy_tell_left_out(s->copy, name, why);
		s->skipped++;
	} else if (!path.len || !incoming_leaves_out(&s->copy->incoming, &plain,
						     &name, &why)) {
		return 0;
	} else {
		if (why)
			copy_tell_left_out(s->copy, name, why);
		/* A link to what is in it names it itself. */
		if (name.len < path.len)
			return 1;
	}
	return path.len && path_set_add(&s->gone, path, err) < 0 ? -1 : 1;
}

/* As it was named, for those who pick one: with the "./" that tar begins with.
 */
static const char *spell(const char *raw, const struct buf *plain,
			 char room[NAME_BYTES + 2])
{
	if (strncmp(raw, "./", 2) && plain->len)
		return plain->ptr;
	memcpy(room, "./", 3);
	if (plain->len)
		memcpy(room + 2, plain->ptr, plain->len + 1);
	return room;
}

static int on_entry(void *arg, const struct archive_item *item,
		    struct error *err)
{
	struct sieve *s = arg;
	char path[NAME_BYTES + 2];
	char original[NAME_BYTES + 2];
	struct archive_header header = {
		.link = item->target,
		.directory = !item->original && S_ISDIR(item->mode),
		.mode = (int)item->mode & 0777,
		.size = item->size,
		.mtime = item->mtime > 0 ? item->mtime : 0,
	};
	bool is_file = !item->original && S_ISREG(item->mode);
	int left = leave_out(s, item, err);

	if (left)
		return left < 0 ? -1 : 0;
	/* A sparse file may say that it is larger than all that comes. */
	if (copy_check_size(s->copy, s->bytes, item->size, err) < 0)
		return -1;
	s->bytes += item->size;
	header.path = spell(item->path.ptr, &s->path, path);
	if (item->original)
		header.original = spell(item->original, &s->original, original);
	if ((item->target ||
	     (item->original &&
	      path_set_has(&s->links, buf_str(&s->original)))) &&
	    path_set_add(&s->links, buf_str(&s->path), err) < 0)
		return -1;
	if (archive_stream_entry(s->out, &header, err) < 0 ||
	    flush_much(s, err) < 0)
		return -1;
	return is_file;
}

static int on_data(void *arg, struct str bytes, struct error *err)
{
	struct sieve *s = arg;

	return archive_stream_data(s->out, bytes, err) < 0 ? -1
							   : flush_much(s, err);
}

struct sieve *sieve_open(struct copy *c, const char *source, copy_write *write,
			 void *arg, struct error *err)
{
	struct sieve *s = xcalloc(1, sizeof(*s));

	s->copy = c;
	s->write = write;
	s->arg = arg;
	s->path = BUF_INIT(NAME_BYTES - 1);
	s->original = BUF_INIT(NAME_BYTES - 1);
	s->out = archive_stream_open(false, err);
	if (s->out && incoming_open_stream(&c->incoming, source, err) == 0)
		return s;
	sieve_close(s);
	return NULL;
}

static int64_t on_pull(void *arg, char *room, size_t len, struct error *err)
{
	struct sieve *s = arg;

	return s->pull(s->from, room, len, err);
}

int sieve_run(struct sieve *s, archive_pull *pull, void *arg, struct error *err)
{
	const struct archive_visitor v = { on_pull, on_entry, on_data, s };

	s->pull = pull;
	s->from = arg;
	return archive_visit(&v, err);
}

int sieve_end(struct sieve *s, struct error *err)
{
	return archive_stream_end(s->out, err) < 0 ? -1 : flush(s, err);
}

void sieve_close(struct sieve *s)
{
	if (!s)
		return;
	s->copy->skipped += s->skipped;
	incoming_close(&s->copy->incoming);
	archive_stream_close(s->out);
	buf_release(&s->path);
	buf_release(&s->original);
	free(s->links.slots);
	free(s->gone.slots);
	free(s);
}

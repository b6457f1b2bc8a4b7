/* tar.c - files as a gzipped tar stream of known length. */
/* SPDX-License-Identifier: MIT */
#include "providers/vercel/tar.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum {
	RECORD = 512,
	NAME_FIELD = 100,
	STORED_MAX = 65535, /* bytes of a stored block, RFC 1951 §3.2.4 */
	STORED_HEAD = 5,
	GZIP_HEAD = 10,
	GZIP_TAIL = 8,
	HEAD_MAX = 1 << 20, /* of the headers of one entry */
	SLICES = 8,
};

#define OCTAL_MAX INT64_C(077777777777) /* of the size's eleven digits */

struct vercel_tar {
	struct transfer *const *files;
	size_t n;
	size_t next;
	struct transfer *file; /* whose bytes come */
	struct transfer *failed;
	int64_t left;    /* of its bytes */
	struct buf head; /* headers and padding that come before them */
	int64_t raw;     /* bytes of the whole archive */
	int64_t done;    /* of them */
	struct buf out;
	bool begun;
	bool trailed; /* the archive's end is in head */
	bool ended;   /* the gzip's end is in out */
	uint32_t crc;
	uint32_t table[SLICES][256];
};

/* CRC-32 of RFC 1952, eight bytes at a time. */
static void make_table(struct vercel_tar *t)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c & 1 ? c >> 1 ^ 0xEDB88320 : c >> 1;
		t->table[0][i] = c;
	}
	for (int s = 1; s < SLICES; s++)
		for (int i = 0; i < 256; i++) {
			uint32_t c = t->table[s - 1][i];

			t->table[s][i] = c >> 8 ^ t->table[0][c & 255];
		}
}

static void add_crc(struct vercel_tar *t, const char *data, size_t len)
{
	const unsigned char *p = (const unsigned char *)data;
	uint32_t c = ~t->crc;

	for (; len >= SLICES; len -= SLICES, p += SLICES) {
		uint32_t low =
			c ^ (p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
			     (uint32_t)p[3] << 24);

		c = t->table[7][low & 255] ^ t->table[6][low >> 8 & 255] ^
		    t->table[5][low >> 16 & 255] ^ t->table[4][low >> 24] ^
		    t->table[3][p[4]] ^ t->table[2][p[5]] ^ t->table[1][p[6]] ^
		    t->table[0][p[7]];
	}
	for (; len; len--)
		c = c >> 8 ^ t->table[0][(c ^ *p++) & 255];
	t->crc = ~c;
}

static void add_zeros(struct buf *b, size_t n)
{
	char *room = n ? buf_room(b, n) : NULL;

	if (!room)
		return;
	memset(room, 0, n);
	buf_added(b, n);
}

static size_t padding(int64_t size)
{
	return (size_t)((RECORD - size % RECORD) % RECORD);
}

struct entry {
	struct str name;
	int64_t size;
	int mode;
	char type;
};

static void add_header(struct buf *b, const struct entry *e)
{
	char h[RECORD] = { 0 };
	int64_t size = e->size <= OCTAL_MAX ? e->size : 0;
	unsigned sum = 0;

	memcpy(h, e->name.ptr,
	       e->name.len < NAME_FIELD ? e->name.len : NAME_FIELD);
	snprintf(h + 100, 8, "%07o", (unsigned)e->mode & 07777);
	snprintf(h + 108, 8, "%07o", 0);
	snprintf(h + 116, 8, "%07o", 0);
	snprintf(h + 124, 12, "%011" PRIo64, (uint64_t)size);
	snprintf(h + 136, 12, "%011" PRIo64,
		 (uint64_t)(clock_unix_ms() / 1000) & OCTAL_MAX);
	memset(h + 148, ' ', 8);
	h[156] = e->type;
	memcpy(h + 257,
	       "ustar\0"
	       "00",
	       8);
	for (size_t i = 0; i < sizeof(h); i++)
		sum += (unsigned char)h[i];
	snprintf(h + 148, 8, "%06o", sum);
	buf_add(b, h, sizeof(h));
}

/* "LENGTH key=value\n", the length being that of all of it. */
static void add_record(struct buf *b, const char *key, struct str value)
{
	size_t rest = strlen(key) + value.len + 3;
	size_t len = rest + 1;
	char digits[24];

	while ((size_t)snprintf(digits, sizeof(digits), "%zu", len) + rest !=
	       len)
		len++;
	buf_addf(b, "%s %s=", digits, key);
	buf_addstr(b, value);
	buf_addc(b, '\n');
}

static void add_entry(struct buf *b, const struct transfer *f)
{
	struct str name = str_of(f->path);
	struct buf pax = BUF_INIT(HEAD_MAX);
	struct entry e = { .size = f->size,
			   .mode = f->mode ? f->mode : 0644,
			   .type = '0' };
	char size[24];

	while (name.len && *name.ptr == '/')
		name = str_skip(name, 1);
	e.name = name;
	if (name.len > NAME_FIELD)
		add_record(&pax, "path", name);
	snprintf(size, sizeof(size), "%" PRId64, f->size);
	if (f->size > OCTAL_MAX)
		add_record(&pax, "size", str_of(size));
	if (pax.len) {
		const struct entry x = { .name = STR("pax"),
					 .size = (int64_t)pax.len,
					 .mode = 0644,
					 .type = 'x' };

		add_header(b, &x);
		buf_addstr(b, buf_str(&pax));
		add_zeros(b, padding(x.size));
	}
	add_header(b, &e);
	buf_release(&pax);
}

struct vercel_tar *vercel_tar_new(struct transfer *const *files, size_t n)
{
	struct vercel_tar *t = xcalloc(1, sizeof(*t));

	t->files = files;
	t->n = n;
	t->head = BUF_INIT(HEAD_MAX);
	t->out = BUF_INIT(STORED_MAX + 64);
	make_table(t);
	for (size_t i = 0; i < n; i++) {
		add_entry(&t->head, files[i]);
		t->raw += (int64_t)t->head.len + files[i]->size +
			  (int64_t)padding(files[i]->size);
		buf_clear(&t->head);
	}
	t->raw += (int64_t)2 * RECORD;
	return t;
}

int64_t vercel_tar_size(const struct vercel_tar *t)
{
	int64_t blocks = (t->raw + STORED_MAX - 1) / STORED_MAX;

	return GZIP_HEAD + t->raw + blocks * STORED_HEAD + GZIP_TAIL;
}

/* 0 with what comes next in head or left; 1 at the archive's end. */
static int next_part(struct vercel_tar *t)
{
	if (t->file) {
		add_zeros(&t->head, padding(t->file->size));
		t->file = NULL;
	} else if (t->next < t->n) {
		t->file = t->files[t->next++];
		t->left = t->file->size;
		add_entry(&t->head, t->file);
	} else if (!t->trailed) {
		add_zeros(&t->head, (size_t)2 * RECORD);
		t->trailed = true;
	} else {
		return 1;
	}
	return 0;
}

static int64_t read_file(struct vercel_tar *t, char *room, size_t len,
			 struct error *err)
{
	size_t want = (int64_t)len < t->left ? len : (size_t)t->left;
	int64_t n = t->file->read(t->file->arg, room, want, err);

	if (n == 0)
		n = error_set(err, ERR_SYSTEM, "the file became shorter");
	if (n < 0 || (size_t)n > want) {
		t->failed = t->file;
		return -1;
	}
	t->left -= n;
	return n;
}

/* Bytes of the archive, as many as fit unless it ends. */
static int64_t fill(struct vercel_tar *t, char *room, size_t len,
		    struct error *err)
{
	size_t got = 0;

	while (got < len) {
		if (t->head.len) {
			size_t n = len - got < t->head.len ? len - got
							   : t->head.len;

			memcpy(room + got, t->head.ptr, n);
			buf_consume(&t->head, n);
			got += n;
		} else if (t->file && t->left) {
			int64_t n = read_file(t, room + got, len - got, err);

			if (n < 0)
				return -1;
			got += (size_t)n;
		} else if (next_part(t)) {
			break;
		}
	}
	return (int64_t)got;
}

static void add_le(struct buf *b, uint32_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		buf_addc(b, (char)(value >> 8 * i & 255));
}

/* The next stored block, or the end, in out. */
static int next_block(struct vercel_tar *t, struct error *err)
{
	static const char head[GZIP_HEAD] = { 0x1F, (char)0x8B, 8, 0, 0,
					      0,    0,          0, 0, 3 };
	int64_t left = t->raw - t->done;
	uint32_t n = left < STORED_MAX ? (uint32_t)left : STORED_MAX;
	char *room;

	if (!t->begun)
		buf_add(&t->out, head, sizeof(head));
	t->begun = true;
	if (!n) {
		add_le(&t->out, t->crc, 4);
		add_le(&t->out, (uint32_t)t->raw, 4);
		t->ended = true;
		return 0;
	}
	buf_addc(&t->out, n == left);
	add_le(&t->out, n, 2);
	add_le(&t->out, ~n, 2);
	room = buf_room(&t->out, n);
	if (!room || fill(t, room, n, err) != (int64_t)n)
		return -1;
	add_crc(t, room, n);
	buf_added(&t->out, n);
	t->done += n;
	return 0;
}

int64_t vercel_tar_pull(void *arg, char *room, size_t len, struct error *err)
{
	struct vercel_tar *t = arg;
	size_t n;

	while (!t->out.len && !t->ended)
		if (next_block(t, err) < 0)
			return -1;
	n = t->out.len < len ? t->out.len : len;
	if (n)
		memcpy(room, t->out.ptr, n);
	buf_consume(&t->out, n);
	return (int64_t)n;
}

struct transfer *vercel_tar_failed(const struct vercel_tar *t)
{
	return t->failed;
}

void vercel_tar_free(struct vercel_tar *t)
{
	if (!t)
		return;
	buf_release(&t->head);
	buf_release(&t->out);
	free(t);
}

/* file_source.c - the bytes of a file that goes up, held while it is small. */
/* SPDX-License-Identifier: MIT */
#include "providers/kit/file_source.h"

#include <string.h>

#include "sandbox/transfer.h"

static int note_failure(struct file_source *s, const struct error *err)
{
	s->failed = true;
	s->why = *err;
	return -1;
}

int file_source_open(struct file_source *s, struct transfer *f,
		     int64_t held_max, struct error *err)
{
	*s = (struct file_source){ .file = f, .is_held = f->size <= held_max };
	if (!s->is_held)
		return 0;
	s->held.max = (size_t)f->size;
	if (transfer_read_all(f, &s->held, (size_t)f->size, err) < 0)
		return note_failure(s, err);
	return 0;
}

int64_t file_source_read(void *arg, char *room, size_t len, struct error *err)
{
	struct file_source *s = arg;
	int64_t n = s->file->size - s->sent;

	if (n > (int64_t)len)
		n = (int64_t)len;
	if (n <= 0)
		return 0;
	if (s->is_held)
		memcpy(room, s->held.ptr + s->sent, (size_t)n);
	else
		n = transfer_read(s->file, room, (size_t)n, err);
	if (n < 0)
		return note_failure(s, err);
	s->sent += n;
	return n;
}

void file_source_release(struct file_source *s)
{
	buf_release(&s->held);
}

/* cloud_files.h - files into a vendor's sandbox and back, right and wrong. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_CLOUD_FILES_H
#define UNIT_CLOUD_FILES_H

#include "cloud_box.h"

/* A file of n bytes whose byte i is i * 31 / 7, as source and sink. */
struct moved {
	int64_t size;
	int64_t at;
	bool wrong;
};

static char byte_at(int64_t i)
{
	return (char)(i * 31 / 7);
}

static int64_t give(void *arg, char *room, size_t len, struct error *err)
{
	struct moved *m = arg;
	int64_t n = 0;

	(void)err;
	for (; n < (int64_t)len && m->at < m->size; n++)
		room[n] = byte_at(m->at++);
	return n;
}

static int go_back(void *arg, struct error *err)
{
	struct moved *m = arg;

	(void)err;
	m->at = 0;
	return 0;
}

static int take(void *arg, struct str chunk, struct error *err)
{
	struct moved *m = arg;

	(void)err;
	for (size_t i = 0; i < chunk.len; i++)
		m->wrong |= chunk.ptr[i] != byte_at(m->at++);
	return 0;
}

/* There and back again. */
static inline void cloud_round(struct sandbox *sb, const char *path,
			       int64_t size, int mode)
{
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };
	struct moved up = { .size = size };
	struct moved down = { .size = size };
	struct transfer f = { .path = path,
			      .size = size,
			      .mode = mode,
			      .read = give,
			      .rewind = go_back,
			      .arg = &up };

	assert_int_equal(sandbox_upload(sb, &f, 1, &stop, &err), 0);
	assert_int_equal(f.error, FILE_OK);
	f = (struct transfer){ .path = path, .write = take, .arg = &down };
	assert_int_equal(sandbox_download(sb, &f, 1, &stop, &err), 0);
	assert_int_equal(f.error, FILE_OK);
	assert_int_equal(down.at, size);
	assert_false(down.wrong);
}

struct cloud_refusal {
	const char *path;
	enum file_error up;
	enum file_error down;
};

/* What is said of each, first of reading it. */
static inline void cloud_refused(struct sandbox *sb,
				 const struct cloud_refusal *cases, size_t n)
{
	struct stop stop = stop_cleanup(60000);
	struct error err = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct moved m = { .size = 3 };
		struct transfer f = { .path = cases[i].path,
				      .write = take,
				      .arg = &m };

		assert_int_equal(sandbox_download(sb, &f, 1, &stop, &err), 0);
		assert_int_equal(f.error, cases[i].down);
		f = (struct transfer){ .path = cases[i].path,
				       .size = 3,
				       .read = give,
				       .arg = &m };
		m.at = 0;
		assert_int_equal(sandbox_upload(sb, &f, 1, &stop, &err), 0);
		assert_int_equal(f.error, cases[i].up);
		/* One that a command cannot carry. */
		m = (struct moved){ .size = 3 << 20 };
		f.size = m.size;
		assert_int_equal(sandbox_upload(sb, &f, 1, &stop, &err), 0);
		assert_int_equal(f.error, cases[i].up);
	}
}

#endif

/* transfer_test.c - uploads and downloads over execute. */
/* SPDX-License-Identifier: MIT */
#include "files_room.h"
#include "sandbox/transfer.h"

struct bytes {
	struct buf data;
	size_t at;
};

static int64_t give(void *arg, char *room, size_t len, struct error *err)
{
	struct bytes *b = arg;

	(void)err;
	if (len > b->data.len - b->at)
		len = b->data.len - b->at;
	if (len)
		memcpy(room, b->data.ptr + b->at, len);
	b->at += len;
	return (int64_t)len;
}

static int accept_bytes(void *arg, struct str chunk, struct error *err)
{
	struct bytes *b = arg;

	(void)err;
	buf_addstr(&b->data, chunk);
	return 0;
}

static void transfers(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct bytes up = { .data = BUF_INIT(1 << 20) };
		struct bytes down[4] = { 0 };
		struct transfer in_[4] = { 0 };
		char *paths[4];
		struct room r;

		enter(&r, k);
		for (int i = 0; i < 200000; i++)
			buf_addc(&up.data, (char)((i % 1000) * i % 253));
		paths[0] = xstrdup(in(&r, "new/deep/f"));
		paths[1] = xstrdup("relative");
		paths[2] = xstrdup(r.dir);
		paths[3] = xstrdup(in(&r, "new/empty"));
		for (int i = 0; i < 4; i++)
			in_[i] = (struct transfer){ .path = paths[i],
						    .size = i ? 0 : 200000,
						    .mode = 0751,
						    .read = give,
						    .arg = &up };
		WORKS(&r, sandbox_upload(&r.sb, in_, 4, &r.stop, &r.err));
		assert_int_equal(in_[0].error, FILE_OK);
		assert_int_equal(in_[1].error, FILE_INVALID_PATH);
		assert_int_equal(in_[2].error, FILE_IS_DIRECTORY);
		assert_int_equal(in_[3].error, FILE_OK);
		holds(&r, "new/deep/f", buf_str(&up.data));
		{
			struct stat st;

			assert_int_equal(stat(paths[0], &st), 0);
			assert_int_equal(st.st_mode & 07777, 0751);
		}
		assert_in_range(r.state.longest, 1, shell_text.max_command);
		free(paths[1]);
		paths[1] = xstrdup(in(&r, "missing"));
		for (int i = 0; i < 4; i++) {
			down[i].data = BUF_INIT(1 << 20);
			in_[i] = (struct transfer){ .path = paths[i],
						    .write = accept_bytes,
						    .arg = &down[i] };
		}
		assert_int_equal(
			sandbox_download(&r.sb, in_, 4, &r.stop, &r.err), 0);
		assert_int_equal(in_[0].error, FILE_OK);
		assert_int_equal(in_[1].error, FILE_NOT_FOUND);
		assert_int_equal(in_[2].error, FILE_IS_DIRECTORY);
		assert_int_equal(in_[3].error, FILE_OK);
		assert_int_equal(down[0].data.len, up.data.len);
		assert_memory_equal(down[0].data.ptr, up.data.ptr, up.data.len);
		assert_int_equal(down[3].data.len, 0);
		for (int i = 0; i < 4; i++) {
			buf_release(&down[i].data);
			free(paths[i]);
		}
		buf_release(&up.data);
		is_tidy(&r);
		leave(&r);
	}
}

static int64_t give_some(void *arg, char *room, size_t len, struct error *err)
{
	int64_t *left = arg;

	if (*left < 0)
		return error_set(err, ERR_SYSTEM, "bad sector");
	if ((int64_t)len > *left)
		len = (size_t)*left;
	memset(room, 'x', len);
	*left -= (int64_t)len;
	return (int64_t)len;
}

/* A file that does not give what it promised: told, nothing stays there, and
 * the next one goes on. */
static void promises(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		int64_t left[3] = { 90000, -1, 90001 };
		struct transfer in_[3] = { 0 };
		char *paths[3];
		struct room r;

		enter(&r, k);
		for (int i = 0; i < 3; i++) {
			paths[i] = xasprintf("%s/f%d", r.dir, i);
			in_[i] = (struct transfer){ .path = paths[i],
						    .size = 90001,
						    .read = give_some,
						    .arg = &left[i] };
		}
		WORKS(&r, sandbox_upload(&r.sb, in_, 3, &r.stop, &r.err));
		assert_int_equal(in_[0].error, FILE_OTHER);
		assert_string_equal(
			in_[0].detail,
			"the file became shorter while it was read");
		assert_int_equal(in_[1].error, FILE_OTHER);
		assert_string_equal(in_[1].detail, "bad sector");
		assert_int_equal(in_[2].error, FILE_OK);
		assert_int_equal(access(paths[0], F_OK), -1);
		assert_int_equal(access(paths[1], F_OK), -1);
		assert_int_equal(access(paths[2], F_OK), 0);
		for (int i = 0; i < 3; i++)
			free(paths[i]);
		is_tidy(&r);
		leave(&r);
	}
}

/* Another way fills the part; what is there changes only once it is whole. */
static void part(struct room *r, const char *name, mode_t before)
{
	char *path = xstrdup(in(r, name));
	struct transfer f = { .path = path, .size = 8, .mode = 0640 };
	struct transfer_part p = { .path = BUF_INIT(0) };
	struct stat st;

	if (before)
		put(r, name, STR("old"), before);
	WORKS(r, transfer_begin(&r->sb, &f, &p, &r->stop, &r->err));
	assert_int_equal(f.error, FILE_OK);
	assert_true(str_starts(buf_str(&p.path), r->dir));
	put(r, strrchr(p.path.ptr, '/') + 1, STR("1234"), 0600);
	assert_int_equal(transfer_finish(&r->sb, &f, &p, &r->stop, &r->err), 1);
	assert_int_equal(stat(path, &st), before ? 0 : -1);
	if (before)
		holds(r, name, STR("old"));
	transfer_drop(&r->sb, &f, &p);
	assert_int_equal(access(p.path.ptr, F_OK), -1);
	WORKS(r, transfer_begin(&r->sb, &f, &p, &r->stop, &r->err));
	put(r, strrchr(p.path.ptr, '/') + 1,
	    STR("1234\0"
		"678"),
	    0600);
	WORKS(r, transfer_finish(&r->sb, &f, &p, &r->stop, &r->err));
	assert_int_equal(f.error, FILE_OK);
	holds(r, name,
	      STR("1234\0"
		  "678"));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, before ? before : 0640);
	buf_release(&p.path);
	free(path);
}

static void parts(void **arg)
{
	(void)arg;
	for (int k = 0; k < KINDS; k++) {
		struct transfer_part p = { .path = BUF_INIT(0) };
		struct transfer f = { .size = 8 };
		struct room r;

		enter(&r, k);
		part(&r, "new", 0);
		part(&r, "old", 0751);
		f.path = r.dir;
		WORKS(&r, transfer_begin(&r.sb, &f, &p, &r.stop, &r.err));
		assert_int_equal(f.error, FILE_IS_DIRECTORY);
		buf_release(&p.path);
		f.path = "/etc/passwd/x";
		WORKS(&r, transfer_begin(&r.sb, &f, &p, &r.stop, &r.err));
		assert_int_equal(f.error, FILE_INVALID_PATH);
		buf_release(&p.path);
		is_tidy(&r);
		leave(&r);
	}
}

struct source {
	int64_t answers[3];
	size_t at;
	bool says; /* why it fails */
};

static int64_t answer(void *arg, char *room, size_t len, struct error *err)
{
	struct source *s = arg;
	int64_t n = s->answers[s->at++];

	if (n < 0 && s->says)
		return error_set(err, ERR_SYSTEM, "its own words");
	for (int64_t i = 0; i < n && i < (int64_t)len; i++)
		room[i] = 'x';
	return n;
}

/* A source that ends early, fails or boasts. */
static void sources(void **state)
{
	static const struct {
		struct source source;
		const char *message; /* NULL: it is well */
	} cases[] = {
		{ { { 2, 3, 0 }, 0, false }, NULL },
		{ { { 2, 0, 0 }, 0, false }, "became shorter" },
		{ { { 2, -1, 0 }, 0, true }, "its own words" },
		{ { { 2, -1, 0 }, 0, false }, "cannot be read" },
		{ { { 2, 4, 0 }, 0, false }, "cannot be read" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct source source = cases[i].source;
		struct transfer f = { .read = answer, .arg = &source };
		struct buf out = BUF_INIT(5);
		struct error err = { 0 };
		int rc = transfer_read_all(&f, &out, 5, &err);

		assert_int_equal(rc, cases[i].message ? -1 : 0);
		assert_int_equal(out.len, rc ? 2 : 5);
		if (cases[i].message)
			assert_non_null(strstr(err.message, cases[i].message));
		buf_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(transfers),
		cmocka_unit_test(promises),
		cmocka_unit_test(parts),
		cmocka_unit_test(sources),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}

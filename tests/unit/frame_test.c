/* frame_test.c - helper replies, cut anywhere and hidden in noise. */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/str.h"
#include "sandbox/frame.h"
#include "sandbox/quote.h"
#include "unit.h"

struct got {
	struct buf body;
	struct buf statuses;
};

static int on_body(void *arg, struct str bytes, struct error *err)
{
	struct got *g = arg;

	(void)err;
	buf_addstr(&g->body, bytes);
	return 0;
}

static int on_status(void *arg, const char *status, struct error *err)
{
	struct got *g = arg;

	(void)err;
	buf_adds(&g->statuses, status);
	buf_addc(&g->statuses, ';');
	return 0;
}

static int parse(struct str wire, size_t step, struct got *g, unsigned *done)
{
	struct frame_sink sink = { on_body, on_status, g };
	struct error err = { 0 };
	struct frame f;
	int rc = 0;

	*g = (struct got){ BUF_INIT(1 << 20), BUF_INIT(4096) };
	frame_init(&f, "abcdefgh");
	for (size_t i = 0; i < wire.len && !rc; i += step) {
		size_t len = wire.len - i < step ? wire.len - i : step;

		rc = frame_feed(&f, (struct str){ wire.ptr + i, len }, &sink,
				&err);
	}
	*done = f.done;
	frame_release(&f);
	return rc;
}

static void frames(void **arg)
{
	const struct {
		struct str wire;
		struct str body;
		const char *statuses;
	} cases[] = {
		{ STR("\n@dcode:abcdefgh:r\na\0\n@dcode:other=x\xff"
		      "\n@dcode:abcdefgh=ok 1\n"),
		  STR("a\0\n@dcode:other=x\xff"), "ok 1;" },
		{ STR("profile\n@dcode:zz:\nnoise @dcode:abcdefgh:b\nYWI=\nYw="
		      "=\r\n@dcode:abcdefgh=ok\r\ntail"),
		  STR("ab\x63"), "ok;" },
		{ STR("@dcode:abcdefgh:x\n 61 62\n63 \n@dcode:abcdefgh=e\n"),
		  STR("abc"), "e;" },
		{ STR("\n@dcode:abcdefgh:r\n\n@dcode:abcdefgh=file 3\n"
		      "\n@dcode:abcdefgh:r\nz\n@dcode:abcdefgh=ok\n"),
		  STR("z"), "file 3;ok;" },
	};

	(void)arg;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t step = 1; step <= cases[i].wire.len; step++) {
			struct got g;
			unsigned done;

			assert_int_equal(parse(cases[i].wire, step, &g, &done),
					 0);
			assert_int_equal(g.body.len, cases[i].body.len);
			assert_memory_equal(g.body.ptr, cases[i].body.ptr,
					    g.body.len);
			assert_string_equal(g.statuses.ptr, cases[i].statuses);
			buf_release(&g.body);
			buf_release(&g.statuses);
		}
}

static void broken_frames(void **arg)
{
	struct buf wire = BUF_INIT(8192);
	struct got g;
	unsigned done;

	(void)arg;
	assert_int_equal(parse(STR("@dcode:abcdefgh:q\n"), 3, &g, &done), -1);
	buf_adds(&wire, "@dcode:abcdefgh:r\n\n@dcode:abcdefgh=");
	while (wire.len < 3000)
		buf_addc(&wire, 'x');
	assert_int_equal(parse(buf_str(&wire), 100, &g, &done), -1);
	assert_int_equal(parse(STR("@dcode:abcdefgh:r\nabc"), 2, &g, &done), 0);
	assert_int_equal(done, 0);
	buf_release(&g.body);
	buf_release(&wire);
}

static void quoting(void **arg)
{
	struct buf out = BUF_INIT(1 << 16);

	(void)arg;
	quote_assign(&out, "a", STR("it's $(x)\n"));
	assert_string_equal(out.ptr, "a='it'\\''s $(x)\n'\n");
	buf_clear(&out);
	quote_assign(&out, "a", STR("-\xff%\\'\n"));
	assert_string_equal(out.ptr,
			    "a=$(printf '\\055\\377%%\\\\'\\''\n'; printf .); "
			    "a=${a%.}\n");
	buf_clear(&out);
	assert_false(quote_content(&out, STR("plain text"), true));
	assert_true(out.len <= quote_content_size(STR("plain text"), true));
	buf_clear(&out);
	assert_true(quote_content(&out, STR("\1\2\3\4\5\6\7\x10\xff"), true));
	assert_non_null(strstr(out.ptr, "base64 -d"));
	buf_clear(&out);
	assert_false(quote_content(&out, STR("\1\2\3\4\5\6\7\x10\0"), false));
	assert_non_null(strstr(out.ptr, "\\000"));
	assert_true(out.len <=
		    quote_content_size(STR("\1\2\3\4\5\6\7\x10\0"), false));
	buf_release(&out);
}

struct seen {
	struct buf paths;
	int left;
};

static bool on_path(void *arg, struct str path)
{
	struct seen *s = arg;

	buf_addstr(&s->paths, path);
	buf_addc(&s->paths, '|');
	return --s->left > 0;
}

static void path_lists(void **arg)
{
	struct str wire = STR(".//./a\n.//./b/c\nd\n.//./e:1:\n//\n");

	(void)arg;
	for (size_t step = 1; step <= wire.len; step++) {
		struct seen s = { BUF_INIT(100), 9 };
		struct path_records p = { 0 };

		for (size_t i = 0; i < wire.len; i += step)
			assert_true(path_records_feed(
				&p,
				(struct str){ wire.ptr + i,
					      wire.len - i < step ? wire.len - i
								  : step },
				on_path, &s));
		path_records_end(&p, true, on_path, &s);
		assert_string_equal(s.paths.ptr, "a|b/c\nd|e:1:|");
		assert_true(p.incomplete);
		buf_release(&s.paths);
	}
	{
		struct seen s = { BUF_INIT(100), 9 };
		struct path_records p = { 0 };

		path_records_feed(&p, STR(".//./a\n.//./cut"), on_path, &s);
		path_records_end(&p, false, on_path, &s);
		assert_string_equal(s.paths.ptr, "a|");
		assert_true(p.incomplete);
		buf_release(&s.paths);
	}
}

static void match_records(void **arg)
{
	struct match_record m;
	struct str rest = STR("garbage\n.//./t/f\0"
			      "12:needle:x\0y\n.//./cut");

	(void)arg;
	assert_true(match_record_next(&rest, MATCH_NULL, &m));
	assert_true(str_is(m.path, "t/f"));
	assert_int_equal(m.line, 12);
	assert_int_equal(m.text.len, 10);
	assert_false(match_record_next(&rest, MATCH_NULL, &m));
	rest = STR(".//./foo:bar.txt:3:http://x:80:\n\0.//./a:1:\0"
		   "7:t\n.//./b:0:x\n.//./c:5:\n");
	assert_true(match_record_next(&rest, MATCH_COLON, &m));
	assert_true(str_is(m.path, "foo:bar.txt"));
	assert_true(str_is(m.text, "http://x:80:"));
	assert_true(match_record_next(&rest, MATCH_COLON, &m));
	assert_true(str_is(m.path, "a:1:"));
	assert_int_equal(m.line, 7);
	assert_true(match_record_next(&rest, MATCH_COLON, &m));
	assert_true(str_is(m.path, "c"));
	assert_int_equal(m.text.len, 0);
	assert_false(match_record_next(&rest, MATCH_COLON, &m));
	rest = STR("x\n3:y\n");
	assert_true(match_record_next(&rest, MATCH_FILE, &m));
	assert_int_equal(m.line, 3);
	assert_true(str_is(m.text, "y"));
	assert_false(match_record_next(&rest, MATCH_FILE, &m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames),
		cmocka_unit_test(broken_frames),
		cmocka_unit_test(quoting),
		cmocka_unit_test(path_lists),
		cmocka_unit_test(match_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* redact_stream_test.c - no order of chunks and streams shows a secret. */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mask/mask.h"
#include "base/str.h"

static const char secret[] = "tok-5ecre7-value";

/* Cuts at a and b; the middle comes with the other stream, or with a sequence
 * before it. */
static void try_cut(const struct mask *m, size_t a, size_t b, size_t stream,
		    const char *between)
{
	struct redact_stream s = { 0 };
	struct buf out = BUF_INIT(1000);

	redact_stream_feed(&s, m, 0, STR("plain \xC3\xA9 "), &out);
	redact_stream_feed(&s, m, 0, (struct str){ secret, a }, &out);
	redact_stream_feed(&s, m, stream, str_of(between), &out);
	redact_stream_feed(&s, m, stream, (struct str){ secret + a, b - a },
			   &out);
	redact_stream_feed(&s, m, 0, str_of(secret + b), &out);
	redact_stream_feed(&s, m, 1, STR("\x1b[1m\nEND\n"), &out);
	redact_stream_end(&s, m, &out);
	assert_non_null(strstr(out.ptr, "plain \xC3\xA9 "));
	assert_non_null(strstr(out.ptr, "END\n"));
	assert_null(strchr(out.ptr, '\x1b'));
	if (m)
		assert_null(strstr(out.ptr, secret));
	else
		assert_non_null(strstr(out.ptr, secret));
	buf_release(&out);
}

static void every_cut(void **state)
{
	struct mask *m = mask_new();
	size_t len = strlen(secret);

	(void)state;
	assert_true(mask_add(m, "TOKEN", str_of(secret)));
	for (size_t a = 0; a < len; a++)
		for (size_t b = a; b <= len; b++) {
			try_cut(m, a, b, 0, "");
			try_cut(m, a, b, 1, "");
			try_cut(m, a, b, 0, "\x1b[31m");
			try_cut(m, a, b, 1, "\x1b]0;x\x07");
			try_cut(NULL, a, b, 1, ""); /* it would be seen */
		}
	mask_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_cut) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* redact_screen_test.c - no order of chunks and sequences shows a secret. */
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

static void pass(struct redact_screen *s, const struct mask *m,
		 struct str chunk, enum redact_until until, struct buf *out)
{
	redact_screen_pass(s, m, chunk, until, out);
}

static void check_output(const struct mask *m, struct buf *out)
{
	assert_non_null(strstr(out->ptr, "plain \xC3\xA9 "));
	assert_non_null(strstr(out->ptr, "END\n"));
	assert_null(strchr(out->ptr, '\x1b'));
	if (m)
		assert_null(strstr(out->ptr, secret));
	else
		assert_non_null(strstr(out->ptr, secret));
	buf_release(out);
}

/* Cuts at a and b; a sequence comes before the middle. */
static void try_cut(const struct mask *m, size_t a, size_t b, bool eager,
		    const char *between)
{
	struct redact_screen s = { .screen.eager = eager };
	struct buf out = BUF_INIT(1000);

	pass(&s, m, STR("plain \xC3\xA9 "), REDACT_FINAL, &out);
	pass(&s, m, (struct str){ secret, a }, REDACT_FINAL, &out);
	pass(&s, m, str_of(between), REDACT_FINAL, &out);
	pass(&s, m, (struct str){ secret + a, b - a }, REDACT_FINAL, &out);
	pass(&s, m, str_of(secret + b), REDACT_FINAL, &out);
	pass(&s, m, STR("\x1b[1m\nEND\n"), REDACT_FINAL, &out);
	pass(&s, m, STR(""), REDACT_END, &out);
	check_output(m, &out);
}

/* Writes the end of the value first, and then its beginning on the left of
 * it. */
static void try_backwards(const struct mask *m, size_t a)
{
	struct redact_screen s = { .screen.eager = true };
	struct buf out = BUF_INIT(1000);
	struct buf text = BUF_INIT(1000);

	buf_adds(&text, "plain \xC3\xA9 ");
	buf_addf(&text, "\n\x1b[%zuC%s\r%.*s\nEND\n", a, secret + a, (int)a,
		 secret);
	pass(&s, m, buf_str(&text), REDACT_FINAL, &out);
	pass(&s, m, STR(""), REDACT_END, &out);
	check_output(m, &out);
	buf_release(&text);
}

static void every_cut(void **state)
{
	struct mask *m = mask_new();
	size_t len = strlen(secret);

	(void)state;
	assert_true(mask_add(m, "TOKEN", str_of(secret)));
	for (size_t a = 0; a < len; a++)
		for (size_t b = a; b <= len; b++) {
			try_cut(m, a, b, false, "");
			try_cut(m, a, b, true, "");
			try_cut(m, a, b, false, "\x1b[31m");
			try_cut(m, a, b, true, "\x1b]0;x\x07");
			try_cut(NULL, a, b, true, ""); /* it would be seen */
		}
	for (size_t a = 1; a < len; a++) {
		try_backwards(m, a);
		try_backwards(NULL, a);
	}
	mask_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_cut) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* shapes_test.c - strings with the form of a credential are masked. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "base/mask/mask.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/shapes/shapes.h"
#include "base/str.h"
#include "unit.h"

#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

static const char base62[] = DIGITS UPPER LOWER;

static void add_random(struct buf *out, const char *alphabet, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_addc(out, alphabet[randombytes_uniform(
				      (uint32_t)strlen(alphabet))]);
}

static void add_checked(struct buf *out)
{
	size_t from = out->len;
	uint32_t crc = UINT32_MAX;
	char sum[7] = "";

	add_random(out, base62, 30);
	for (size_t i = from; i < out->len; i++) {
		crc ^= (unsigned char)out->ptr[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320U : 0);
	}
	crc = ~crc;
	for (int i = 5; i >= 0; i--, crc /= 62)
		sum[i] = base62[crc % 62];
	buf_adds(out, sum);
}

static void add_base64(struct buf *out, const char *text)
{
	char room[256];

	sodium_bin2base64(room, sizeof(room), (const unsigned char *)text,
			  strlen(text),
			  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	buf_adds(out, room);
}

static void add_bech32(struct buf *out)
{
	/* Data of zeros and its checksum; BIP 173 has the algorithm. */
	static const char digits[] = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";
	static const uint32_t g[] = { 0x3B6A57B2, 0x26508E6D, 0x1EA119FA,
				      0x3D4233DD, 0x2A1462B3 };
	const char *name = "age-secret-key-";
	unsigned char v[15 + 1 + 15 + 52 + 6] = { 0 };
	uint32_t sum = 1;
	size_t n = 0;

	for (size_t i = 0; i < 15; i++)
		v[n++] = (unsigned char)(name[i] >> 5);
	n++;
	for (size_t i = 0; i < 15; i++)
		v[n++] = name[i] & 31;
	for (size_t i = 0; i < 52; i++) {
		v[n++] = (unsigned char)randombytes_uniform(32);
		buf_addc(out, digits[v[n - 1]]);
	}
	for (size_t i = 0; i < sizeof(v); i++) {
		uint32_t top = sum >> 25;

		sum = (sum & 0x1FFFFFF) << 5 ^ v[i];
		for (unsigned bit = 0; bit < 5; bit++)
			sum ^= top >> bit & 1 ? g[bit] : 0;
	}
	sum ^= 1;
	for (int i = 5; i >= 0; i--)
		buf_addc(out, digits[sum >> 5 * i & 31]);
}

static void add_key(struct buf *out)
{
	for (int i = 0; i < 3; i++) {
		buf_addc(out, '\n');
		add_random(out, UPPER LOWER DIGITS "+/", 64);
	}
	buf_addc(out, '\n');
}

static void add_special(struct buf *out, char what)
{
	switch (what) {
	case 'C':
		add_checked(out);
		break;
	case 'E':
		add_bech32(out);
		break;
	case 'K':
		add_key(out);
		break;
	case 'P':
		add_base64(out, "alice:hunter22222");
		break;
	case 'D':
		add_base64(out, "123456789012345678");
		break;
	case 'J':
		add_base64(out, "{\"typ\":\"JWT\",\"alg\":\"HS256\"}");
		buf_addc(out, '.');
		add_base64(out, "{\"sub\":\"1234567890\",\"iat\":1516239022}");
		buf_addc(out, '.');
		add_random(out, UPPER LOWER DIGITS "_-", 42);
		buf_addc(out, 'x');
		break;
	default:
		fail_msg("unknown form %c", what);
	}
}

/* Makes a credential of this form. */
static void add_form(struct buf *out, struct str form)
{
	static const struct {
		char name;
		const char *alphabet;
	} sets[] = {
		{ 'a', UPPER LOWER DIGITS },
		{ 'u', UPPER LOWER DIGITS "_-" },
		{ 'b', UPPER LOWER DIGITS "+/" },
		{ 'h', "0123456789abcdef" },
		{ 'H', UPPER DIGITS },
		{ 'A', UPPER "234567" },
		{ 'd', DIGITS },
		{ 'l', UPPER LOWER },
		{ 'i', LOWER DIGITS },
	};

	while (form.len) {
		size_t i = 0;
		size_t n = 0;

		if (form.ptr[0] != '%') {
			buf_addc(out, form.ptr[0]);
			form = str_skip(form, 1);
			continue;
		}
		while (i < sizeof(sets) / sizeof(*sets) &&
		       sets[i].name != form.ptr[1])
			i++;
		if (i == sizeof(sets) / sizeof(*sets)) {
			add_special(out, form.ptr[1]);
			form = str_skip(form, 2);
			continue;
		}
		for (form = str_skip(form, 2);
		     form.len && form.ptr[0] >= '0' && form.ptr[0] <= '9';
		     form = str_skip(form, 1))
			n = 10 * n + (size_t)(form.ptr[0] - '0');
		add_random(out, sets[i].alphabet, n - 1);
		/* no '-' at the end, which is less clear a case */
		add_random(out, sets[i].name == 'u' ? base62 : sets[i].alphabet,
			   1);
	}
}

struct sample {
	struct str kind, keeps, form, flags;
};

static bool is(const struct sample *s, const char *flag)
{
	return str_search(s->flags, str_of(flag)) < s->flags.len;
}

/* Text that is needed around some kinds. */
static const char *before_of(const struct sample *s)
{
	static const char *const pairs[][2] = {
		{ "twilio", "TWILIO_KEY=" },
		{ "mailgun", "mailgun: " },
		{ "vault", "VAULT_TOKEN=" },
		{ "bot", "/bot123456789" },
		{ "terraform", "token = \"abcDEF12345678" },
		{ "azure", "ab.8" },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (is(s, pairs[i][0]))
			return pairs[i][1];
	return "";
}

static const char *after_of(const struct sample *s)
{
	if (is(s, "key"))
		return "-----END EC PRIVATE KEY-----";
	return is(s, "url") ? "@example.com/" : "";
}

/* Masks in one piece, and cut at one place. Both must be the same. */
static void mask_both(const struct mask *m, struct str text, struct buf *out)
{
	struct buf parts = BUF_INIT(1 << 20);

	mask_text(m, text, out);
	for (size_t cut = 0; cut <= text.len; cut++) {
		struct mask_stream s = { 0 };

		buf_clear(&parts);
		mask_feed(m, &s, (struct str){ text.ptr, cut }, &parts);
		mask_feed(m, &s, str_skip(text, cut), &parts);
		mask_end(m, &s, &parts);
		assert_true(str_eq(buf_str(&parts), buf_str(out)));
	}
	buf_release(&parts);
}

static bool is_masked(const struct mask *m, const char *before,
		      struct str token, const char *after)
{
	struct buf text = BUF_INIT(1 << 20);
	struct buf out = BUF_INIT(1 << 20);
	bool found;

	buf_adds(&text, before);
	buf_addstr(&text, token);
	buf_adds(&text, after);
	mask_both(m, buf_str(&text), &out);
	found = str_search(buf_str(&out), str_of(SHAPE_MARK)) < out.len;
	buf_release(&text);
	buf_release(&out);
	return found;
}

static void check_positive(const struct mask *m, const struct sample *s,
			   struct str token)
{
	struct buf text = BUF_INIT(1 << 20);
	struct buf want = BUF_INIT(1 << 20);
	struct buf out = BUF_INIT(1 << 20);

	for (int i = 0; i < 2; i++) {
		buf_addf(&text, "a line %s", before_of(s));
		buf_addstr(&text, token);
		buf_addf(&text, "%s\nmore\n", after_of(s));
		buf_addf(&want, "a line %s%.*s" SHAPE_MARK "%.*s]%s\nmore\n",
			 before_of(s), (int)s->keeps.len, s->keeps.ptr,
			 (int)s->kind.len, s->kind.ptr, after_of(s));
	}
	mask_both(m, buf_str(&text), &out);
	if (!str_is(s->kind, "Discord token")) /* keeps its number */
		assert_string_equal(out.ptr, want.ptr);
	else
		assert_non_null(strstr(out.ptr, SHAPE_MARK "Discord token]"));
	buf_clear(&text);
	mask_text(m, buf_str(&out), &text);
	assert_true(str_eq(buf_str(&text), buf_str(&out)));
	buf_release(&text);
	buf_release(&want);
	buf_release(&out);
}

static void check_near(const struct mask *m, const struct sample *s,
		       struct buf *token)
{
	struct str whole = buf_str(token);
	struct str less = { whole.ptr, whole.len - 1 };
	char *longer = xasprintf("%sx%s", is(s, "key") ? "" : "y", after_of(s));
	bool surrounded = before_of(s)[0] || after_of(s)[0];

	if (!is(s, "loose") && !is(s, "key") && !is(s, "url"))
		assert_false(is_masked(m, before_of(s), less, ""));
	if (!is(s, "more") && !surrounded)
		assert_false(is_masked(m, "", whole, longer));
	if (!is(s, "inner") && !surrounded && !is(s, "key"))
		assert_false(is_masked(m, "x", whole, ""));
	if (is(s, "sum")) {
		char *at = &token->ptr[token->len - 10];

		*at = *at == 'Q' ? 'P' : 'Q';
		assert_false(is_masked(m, "", whole, ""));
	}
	free(longer);
}

static void each_form_is_masked_and_its_near_misses_are_not(void **state)
{
	struct mask *m = mask_new();
	struct buf file = BUF_INIT(1 << 16);
	struct error err = { 0 };
	struct str rest;
	struct str line;
	size_t n = 0;

	(void)state;
	assert_int_equal(path_read("tests/data/credentials", &file, &err), 0);
	rest = buf_str(&file);
	while (str_split(&rest, '\n', &line)) {
		struct buf token = BUF_INIT(1 << 12);
		struct sample s = { 0 };

		if (!line.len || line.ptr[0] == '#')
			continue;
		str_split(&line, '|', &s.kind);
		str_split(&line, '|', &s.keeps);
		str_split(&line, '|', &s.form);
		str_split(&line, '|', &s.flags);
		add_form(&token, s.form);
		print_message("%.*s\n", (int)s.form.len, s.form.ptr);
		check_positive(m, &s, buf_str(&token));
		check_near(m, &s, &token);
		buf_release(&token);
		n++;
	}
	assert_true(n > 70);
	buf_release(&file);
	mask_free(m);
}

/* Beginnings of forms, again and again, cost little more than other text. */
static void many_beginnings_are_passed_quickly(void **state)
{
	static const char *const parts[] = {
		"curl ", "Cookie: ", "-eyJ",
		"ya29.", "xoxp-",    "-----BEGIN RSA PRIVATE KEY-----\n",
		"://a:", "-hvs",     "-----BEGIN ",
	};
	struct mask *m = mask_new();

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		struct buf text = BUF_INIT(1 << 20);
		struct buf out = BUF_INIT(1 << 21);
		clock_t start = clock();

		while (text.len < 1 << 19)
			buf_adds(&text, parts[i]);
		mask_text(m, buf_str(&text), &out);
		print_message(
			"%s %ld ms\n", parts[i],
			(long)((clock() - start) * 1000 / CLOCKS_PER_SEC));
		/* without limits it grows with the square of the length */
		assert_true(clock() - start < 10 * CLOCKS_PER_SEC);
		buf_release(&text);
		buf_release(&out);
	}
	mask_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			each_form_is_masked_and_its_near_misses_are_not),
		cmocka_unit_test(many_beginnings_are_passed_quickly),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

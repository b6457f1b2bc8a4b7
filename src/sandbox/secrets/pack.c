/* pack.c - secrets as bytes, for the process that puts them into requests. */
/* SPDX-License-Identifier: MIT */
/*
 * Each text is a length of four bytes and its bytes; a length of NONE means
 * that there is no text. A list is its length and its texts. Both processes are
 * the same program.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/str.h"
#include "sandbox/secrets/secrets.h"

enum { LIST_MAX = NETWORK_RULES_MAX };
static const uint32_t NONE = UINT32_MAX;

static void add_number(struct buf *out, uint32_t n)
{
	buf_add(out, &n, sizeof(n));
}

static void add_text(struct buf *out, const char *text)
{
	add_number(out, text ? (uint32_t)strlen(text) : NONE);
	buf_adds(out, text ? text : "");
}

static void add_list(struct buf *out, const char *const *list)
{
	uint32_t n = 0;

	while (list && list[n])
		n++;
	add_number(out, n);
	for (uint32_t i = 0; i < n; i++)
		add_text(out, list[i]);
}

void secrets_pack(const struct secrets *s, struct buf *out)
{
	add_number(out, (uint32_t)s->n);
	for (size_t i = 0; i < s->n; i++) {
		const struct secret *one = &s->list[i];
		struct buf hosts = BUF_INIT(out->max);

		network_print_lines(&one->hosts, &hosts);
		add_text(out, one->name);
		add_text(out, hosts.ptr);
		add_text(out, one->header);
		add_text(out, one->format);
		add_list(out, one->paths);
		add_list(out, one->methods);
		add_text(out, one->placeholder);
		add_text(out, one->value);
		add_text(out, one->signs ? "" : NULL);
		add_text(out, one->key);
		add_text(out, one->key_placeholder);
		add_text(out, one->token);
		add_text(out, one->token_placeholder);
		buf_release(&hosts);
	}
}

static bool take_number(struct str *in, uint32_t *n)
{
	if (in->len < sizeof(*n))
		return false;
	memcpy(n, in->ptr, sizeof(*n));
	*in = str_skip(*in, sizeof(*n));
	return true;
}

/* *text is NULL if there is none. */
static bool take_text(struct str *in, char **text)
{
	uint32_t n;

	*text = NULL;
	if (!take_number(in, &n))
		return false;
	if (n == NONE)
		return true;
	if (n > in->len)
		return false;
	*text = xstrndup(in->ptr, n);
	*in = str_skip(*in, n);
	return true;
}

static bool take_list(struct str *in, const char ***list)
{
	uint32_t n;

	if (!take_number(in, &n) || n > LIST_MAX)
		return false;
	*list = n ? xcalloc(n + 1, sizeof(**list)) : NULL;
	for (uint32_t i = 0; i < n; i++)
		if (!take_text(in, (char **)&(*list)[i]))
			return false;
	return true;
}

/* The same, into locked memory. */
static bool take_locked(struct str *in, char **text)
{
	char *plain = NULL;
	bool ok = take_text(in, &plain);

	if (plain) {
		size_t size = strlen(plain) + 1;

		*text = sodium_malloc(size);
		ok = *text;
		if (ok)
			memcpy(*text, plain, size);
	}
	mem_wipe(plain);
	return ok;
}

static bool take_secret(struct str *in, struct secret *s)
{
	struct error ignored = { 0 };
	char *hosts = NULL;
	char *signs = NULL;
	bool ok =
		take_text(in, &s->name) && take_text(in, &hosts) && hosts &&
		network_parse_lines(&s->hosts, str_of(hosts), &ignored) == 0 &&
		take_text(in, &s->header) && take_text(in, &s->format) &&
		take_list(in, &s->paths) && take_list(in, &s->methods) &&
		take_text(in, &s->placeholder) && take_locked(in, &s->value) &&
		s->value && s->placeholder && take_text(in, &signs) &&
		take_locked(in, &s->key) &&
		take_text(in, &s->key_placeholder) &&
		take_locked(in, &s->token) &&
		take_text(in, &s->token_placeholder);

	s->signs = signs;
	free(signs);
	free(hosts);
	return ok && !s->signs == !s->key && !s->key == !s->key_placeholder &&
	       !s->token == !s->token_placeholder;
}

int secrets_unpack(struct secrets *s, struct str in, struct error *err)
{
	uint32_t n;
	bool ok = take_number(&in, &n) && n <= SECRETS_MAX;

	secrets_release(s);
	s->list = ok ? xcalloc(n + 1, sizeof(*s->list)) : NULL;
	for (uint32_t i = 0; ok && i < n; i++)
		ok = take_secret(&in, &s->list[s->n++]);
	if (ok && !in.len)
		return 0;
	secrets_release(s);
	return error_set(err, ERR_PROTOCOL, "damaged secrets");
}

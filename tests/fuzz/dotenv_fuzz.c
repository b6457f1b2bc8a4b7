/* dotenv_fuzz.c - any .env file gives only names and values that may be. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "config/dotenv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact)
{
	if (!fact)
		abort();
}

static const char *lookup(void *arg, const char *name)
{
	(void)arg;
	return name[0] == 'H' ? "/home/user" : NULL;
}

static void check(struct str text, enum dotenv_owner owner)
{
	struct dotenv d = { 0 };
	struct dotenv_input in = { text, "f", owner, lookup, NULL };
	int lines = 1;

	for (size_t i = 0; i < text.len; i++)
		lines += text.ptr[i] == '\n';
	dotenv_parse(&d, &in);
	require(d.n_warnings <= DOTENV_MOST_WARNINGS + 1);
	for (size_t i = 0; i < d.n; i++) {
		struct str name = str_of(d.vars[i].name);

		require(name.len > 0 && str_find(name, '=') == name.len);
		require(!dotenv_denied(name, owner));
		require(strlen(d.vars[i].value) <= DOTENV_LARGEST_VALUE);
		require(d.vars[i].line >= 1 && d.vars[i].line <= lines);
		require(dotenv_get(&d, name) == d.vars[i].value);
	}
	for (size_t i = 0; i < d.n_warnings; i++)
		require(str_starts(str_of(d.warnings[i]), "f:") &&
			str_is_utf8(str_of(d.warnings[i])));
	dotenv_release(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };

	check(text, DOTENV_USER);
	check(text, DOTENV_PROJECT);
	return 0;
}

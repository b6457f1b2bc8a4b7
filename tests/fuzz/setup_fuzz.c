/* setup_fuzz.c - any bytes can be expanded; without values they stay. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "sandbox/setup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *some(void *arg, const char *name)
{
	(void)arg;
	return strlen(name) % 2 ? "value" : NULL;
}

static const char *none(void *arg, const char *name)
{
	(void)arg;
	(void)name;
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str script = { (const char *)data, size };
	struct setup_values values = { .value = some };
	struct buf out = BUF_INIT(1 << 20);
	struct error err = { 0 };
	bool cr = memchr(data, '\r', size) != NULL;

	(void)setup_expand(script, &values, &out, &err);
	buf_clear(&out);
	values.value = none;
	if (setup_expand(script, &values, &out, &err) == 0 && !cr &&
	    !str_eq(buf_str(&out), script))
		abort();
	buf_release(&out);
	return 0;
}

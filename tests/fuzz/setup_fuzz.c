/* setup_fuzz.c - any bytes can be expanded; without values they stay. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "sandbox/setup/setup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct setup_value some(void *arg, const char *name)
{
	bool foreign = strlen(name) % 3 == 0;
	struct setup_value v = { foreign ? "$(\n'value" : "value", foreign };

	(void)arg;
	return strlen(name) % 2 ? v : (struct setup_value){ 0 };
}

static struct setup_value none(void *arg, const char *name)
{
	(void)arg;
	(void)name;
	return (struct setup_value){ 0 };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str script = { (const char *)data, size };
	struct setup_values values = { .value = some };
	struct setup_script out = { BUF_INIT(1 << 20), BUF_INIT(1 << 20) };
	struct error err = { 0 };
	bool cr = memchr(data, '\r', size) != NULL;

	(void)setup_expand(script, &values, &out, &err);
	setup_script_release(&out);
	setup_script_init(&out);
	values.value = none;
	if (setup_expand(script, &values, &out, &err) == 0 && !cr &&
	    (out.exports.len || !str_eq(buf_str(&out.text), script)))
		abort();
	setup_script_release(&out);
	return 0;
}

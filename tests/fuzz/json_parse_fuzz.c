/* json_parse_fuzz.c - json_parse() is like cJSON's parser. */
/* SPDX-License-Identifier: MIT */
#include <stdint.h>

#include "tests/fuzz/json_same.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct json_pool pool;

	json_same(&pool, (struct str){ (const char *)data, size });
	(void)json_parse_error_line((struct str){ (const char *)data, size });
	return 0;
}

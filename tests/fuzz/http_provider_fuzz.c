/* http_provider_fuzz.c - any value in any template stays one value. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "providers/external/http_provider.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void in_json(const char *text, const struct http_values *v)
{
	char key[] = "k";
	struct toml_value item = {
		.kind = TOML_STRING,
		.key = key,
		.key_len = 1,
		.text = (char *)text,
		.text_len = strlen(text),
	};
	struct toml_value table = {
		.kind = TOML_TABLE,
		.items = &item,
		.n_items = 1,
	};
	struct buf out = BUF_INIT(1 << 20);
	struct error err = { 0 };

	if (http_text_body(&out, &table, v, &err) == 0) {
		cJSON *tree = json_parse(buf_str(&out));

		if (!tree || cJSON_GetArraySize(tree) > 1)
			abort();
		cJSON_Delete(tree);
	}
	buf_release(&out);
}

static void in_path(const char *text, const struct http_values *v)
{
	struct http_values none = { 0 };
	struct buf out = BUF_INIT(1 << 20);
	struct buf bare = BUF_INIT(1 << 20);
	struct error err = { 0 };
	size_t before = 0;
	size_t after = 0;

	if (http_text_path(&out, text, v, &err) == 0 &&
	    http_text_path(&bare, text, &none, &err) == 0) {
		for (size_t i = 0; i < out.len; i++)
			after += strchr("/?&#", out.ptr[i]) != NULL;
		for (size_t i = 0; i < bare.len; i++)
			before += strchr("/?&#", bare.ptr[i]) != NULL;
		if (before != after)
			abort();
	}
	buf_release(&out);
	buf_release(&bare);
}

/* The template up to the first NUL; what follows is every value. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);
	struct str rest = { (const char *)data, size };
	struct http_values v = { 0 };
	struct error err = { 0 };

	rest = str_skip(rest, strlen(text) + 1);
	for (int i = 0; i < VALUES; i++)
		v.is[i] = i == VALUE_TIMEOUT || i == VALUE_LIFETIME ? STR("7")
								    : rest;
	if (http_text_check(text, ~0U, &err) == 0) {
		in_json(text, &v);
		in_path(text, &v);
	}
	(void)http_text_check_shell(text, ~0U, &err);
	free(text);
	return 0;
}

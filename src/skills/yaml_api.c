/* yaml_api.c - libyaml, loaded when the first file with YAML is read. */
/* SPDX-License-Identifier: MIT */
#include "skills/yaml_api.h"

#include <stddef.h>

#include "base/library.h"

static const struct library library = {
	.name = "libyaml",
	.files = { "libyaml-0.so.2" },
	.package = "libyaml-0-2",
	.needed = "0.1",
};

static const struct library_symbol symbols[] = {
#define SYMBOL(member)                                                         \
	{                                                                      \
		"yaml_" #member, offsetof(struct yaml_api, member)             \
	}
	SYMBOL(parser_initialize),
	SYMBOL(parser_delete),
	SYMBOL(parser_set_input_string),
	SYMBOL(parser_parse),
	SYMBOL(event_delete),
#undef SYMBOL
};

int yaml_load(struct yaml_api *api, struct error *err)
{
	return library_load(&library, symbols,
			    sizeof(symbols) / sizeof(*symbols), api, err);
}

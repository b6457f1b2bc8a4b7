/* yaml_api.c - libyaml, loaded when the first file with YAML is read. */
/* SPDX-License-Identifier: MIT */
#include "skills/yaml_api.h"

#include <dlfcn.h>
#include <string.h>

/* ISO C has no cast from an object's pointer to a function's. */
static int bind(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);

	if (symbol)
		memcpy(function, &symbol, sizeof(symbol));
	return symbol ? 0 : -1;
}

int yaml_load(struct yaml_api *api, struct error *err)
{
	void *l = dlopen("libyaml-0.so.2", RTLD_LAZY | RTLD_LOCAL);

	if (l &&
	    bind(l, "yaml_parser_initialize", &api->parser_initialize) == 0 &&
	    bind(l, "yaml_parser_delete", &api->parser_delete) == 0 &&
	    bind(l, "yaml_parser_set_input_string",
		 &api->parser_set_input_string) == 0 &&
	    bind(l, "yaml_parser_parse", &api->parser_parse) == 0 &&
	    bind(l, "yaml_event_delete", &api->event_delete) == 0)
		return 0;
	error_set(err, ERR_SYSTEM, "loading libyaml: %s", dlerror());
	return error_hint(err, "install it: apt install libyaml-0-2");
}

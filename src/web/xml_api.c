/* xml_api.c - libxml2, loaded when the first HTML page is read. */
/* SPDX-License-Identifier: MIT */
#include "web/xml_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static struct xml_api api;
static bool loaded;

/* ISO C has no cast from an object's pointer to a function's. */
static bool bind(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);

	if (symbol)
		memcpy(function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

static void load(void)
{
	/* libxml2 2.14 changed its ABI, but none of what is used here. */
	void *l = dlopen("libxml2.so.2", RTLD_LAZY | RTLD_LOCAL);

	if (!l)
		l = dlopen("libxml2.so.16", RTLD_LAZY | RTLD_LOCAL);
	loaded = l && bind(l, "xmlInitParser", &api.init_parser) &&
		 bind(l, "htmlReadMemory", &api.html_read_memory) &&
		 bind(l, "xmlDocGetRootElement", &api.root) &&
		 bind(l, "xmlFreeDoc", &api.free_doc);
	if (loaded)
		api.init_parser();
}

const struct xml_api *xml_api_get(struct error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	if (loaded)
		return &api;
	error_set(err, ERR_SYSTEM, "HTML cannot be read: libxml2 is missing");
	error_hint(err, "install it: apt install libxml2");
	return NULL;
}

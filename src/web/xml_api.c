/* xml_api.c - libxml2, loaded when the first HTML page is read. */
/* SPDX-License-Identifier: MIT */
#include "web/xml_api.h"

#include <pthread.h>
#include <stddef.h>

#include "base/library.h"

/* libxml2 2.14 changed its ABI, but none of what is used here. */
static const struct library library = {
	.name = "libxml2",
	.files = { "libxml2.so.2", "libxml2.so.16" },
	.package = "libxml2",
	.needed = "2.9",
};

static const struct library_symbol symbols[] = {
	{ "xmlInitParser", offsetof(struct xml_api, init_parser) },
	{ "htmlReadMemory", offsetof(struct xml_api, html_read_memory) },
	{ "xmlDocGetRootElement", offsetof(struct xml_api, root) },
	{ "xmlFreeDoc", offsetof(struct xml_api, free_doc) },
};

static struct xml_api api;
static struct error why; /* code is set: it is not loaded */

static void load(void)
{
	if (library_load(&library, symbols, sizeof(symbols) / sizeof(*symbols),
			 &api, &why) == 0)
		api.init_parser();
}

const struct xml_api *xml_api_get(struct error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	if (!why.code)
		return &api;
	*err = why;
	return NULL;
}

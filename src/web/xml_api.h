/* xml_api.h - libxml2, loaded when the first HTML page is read. */
/* SPDX-License-Identifier: MIT */
#ifndef WEB_XML_API_H
#define WEB_XML_API_H

#include <libxml/HTMLparser.h>

#include "base/error.h"

/* It brings ICU along, which costs more than the rest of a start. */
struct xml_api {
	void (*init_parser)(void);
	htmlDocPtr (*html_read_memory)(const char *text, int len,
				       const char *url, const char *encoding,
				       int options);
	xmlNodePtr (*root)(const xmlDoc *doc);
	void (*free_doc)(xmlDocPtr doc);
};

/* NULL with what to install. Any thread; the library stays. */
const struct xml_api *xml_api_get(struct error *err);

#endif

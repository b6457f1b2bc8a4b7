/* yaml_api.h - libyaml, loaded when the first file with YAML is read. */
/* SPDX-License-Identifier: MIT */
#ifndef SKILLS_YAML_API_H
#define SKILLS_YAML_API_H

#include <yaml.h>

#include "base/error.h"

/* The functions of yaml.h without their prefix. */
struct yaml_api {
	int (*parser_initialize)(yaml_parser_t *parser);
	void (*parser_delete)(yaml_parser_t *parser);
	void (*parser_set_input_string)(yaml_parser_t *parser,
					const unsigned char *input,
					size_t size);
	int (*parser_parse)(yaml_parser_t *parser, yaml_event_t *event);
	void (*event_delete)(yaml_event_t *event);
};

/* -1 with what to install. Any thread; the library stays. */
int yaml_load(struct yaml_api *api, struct error *err);

#endif

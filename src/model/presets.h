/* presets.h - vendors that need only a key and no configuration. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_PRESETS_H
#define MODEL_PRESETS_H

#include <stdbool.h>

#include "config/settings.h"

enum { PRESET_URLS = 2 };

struct preset {
	const char *name;  /* NULL ends the table */
	const char *alias; /* another name, or NULL */
	/* name of the protocol, see wire.h; NULL: dcode does not support it */
	const char *wire;
	/* the wire to use at the vendor's own address; NULL: `wire` */
	const char *own_wire;
	/* the vendor's address for own_wire; NULL: base_url */
	const char *own_base_url;
	/* the vendor's address; its path is added to a user's address that has
	 * none; NULL: the user must give an address */
	const char *base_url;
	/* path added to a user's address that has none, if base_url is NULL */
	const char *base_path;
	const char *url_env[PRESET_URLS]; /* unused ones are NULL */
	/* Header for the key, if it differs from that of the wire; else
	 * NULL. */
	const char *auth;
	/* Variable that holds a token instead of a key, or NULL. A token is
	 * sent in the wire's header. */
	const char *token_env;
	/* Variables with the version of an API whose versions are dates
	 * (Azure's). If one is set and the user's address has no path,
	 * dated_path is added to it. */
	const char *version_env[2];
	const char *dated_path;
	bool keyless; /* works without a key */
	/* Requests are made in a Google Cloud project, with a token instead of
	 * a key. */
	bool google_cloud;
	/* Not NULL if the user's address may be "host:port" without a scheme,
	 * as the vendor's server accepts it. This port (":11434") is added if
	 * the address has none. NULL: the address must be a URL. */
	const char *listen_port;
	bool calls_alone; /* refuses a message with both text and tool calls */
	/* needs reasoning_content in each answer of the history, even in those
	 * of other models */
	bool thoughts;
};

extern const struct preset presets[];
/* Finds a preset by name or alias; NULL if unknown. */
const struct preset *preset_find(const char *name);
/* Returns the variable with the preset's key, from the row credentials.NAME of
 * settings_core. NULL if the preset needs no key. */
const char *preset_key_env(const struct preset *p);
/* Returns the provider that a model name without provider belongs to, or
 * NULL. */
const char *preset_infer(const char *model);
/* Returns the wire that replaces a class of the Python program
 * ("langchain_openai:ChatOpenAI"), or NULL. */
const char *preset_class_wire(const char *class_path);

/* Returns the table [models.providers.NAME], found by the provider's name or
 * alias. NULL if there is none or it is not a table. */
const struct toml_value *model_config(const struct settings *set,
				      const char *name);

#endif

/* presets.h - vendors that need only a key and no configuration. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_PRESETS_H
#define MODEL_PRESETS_H

#include <stdbool.h>

#include "config/settings.h"

struct preset {
	const char *name;         /* NULL ends the table */
	const char *alias;        /* another name, or NULL */
	const char *wire;         /* NULL: dcode does not support its
				   * protocol */
	const char *own_wire;     /* wire at the vendor's own address; NULL:
				   * wire */
	const char *own_base_url; /* address for own_wire; NULL: base_url */
	const char *base_url;  /* its path is added to a user's address without
				  one; NULL: the user must give an address */
	const char *base_path; /* the default path, if base_url is NULL */
	const char *url_env[2];
	/* Header of the key if it differs from the wire's, or NULL. */
	const char *auth;
	/* Variable of a token, which is sent in the wire's header; or NULL. */
	const char *token_env;
	/* If one of these variables is set: an API of that version, below
	 * dated_path of an address without a path. */
	const char *version_env[2];
	const char *dated_path;
	bool keyless; /* works without a key */
	/* Requests are made in a Google Cloud project, with a token. */
	bool google_cloud;
	/* Set if the address may be "host:port" without a scheme, as the
	 * vendor's server accepts it. ":11434" is added if there is no port.
	 * NULL: the address must be a URL. */
	const char *listen_port;
	bool calls_alone; /* refuses text together with tool calls */
	/* needs reasoning_content in each answer, including other models' */
	bool thoughts;
};

extern const struct preset presets[];
/* Finds a preset by name or alias; NULL if unknown. */
const struct preset *preset_find(const char *name);
/* The variable of the preset's key, from the row credentials.NAME of
 * settings_core. NULL if it needs none. */
const char *preset_key_env(const struct preset *p);
/* The provider that a bare model name belongs to, or NULL. */
const char *preset_infer(const char *model);
/* The wire that replaces a Python class ("langchain_openai:ChatOpenAI"), or
 * NULL. */
const char *preset_class_wire(const char *class_path);

/* Returns [models.providers.NAME], found by the provider's name or alias. NULL
 * if it is missing or not a table. */
const struct toml_value *model_config(const struct settings *set,
				      const char *name);

#endif

/* presets.h - vendors that need no configuration but a key. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_PRESETS_H
#define MODEL_PRESETS_H

#include <stdbool.h>

#include "config/settings.h"

struct preset {
	const char *name;         /* NULL ends the table */
	const char *alias;        /* another name for it, or NULL */
	const char *wire;         /* NULL: dcode does not speak its protocol */
	const char *own_wire;     /* the one at base_url itself; NULL: wire */
	const char *own_base_url; /* its address, NULL: base_url */
	const char *base_url;  /* its path is added to a user's address without
				  one; NULL: the user must give an address */
	const char *base_path; /* that path, if base_url is NULL */
	const char *url_env[2];
	/* The header of its key, if it is not the wire's, or NULL. */
	const char *auth;
	/* The variable of a token, which goes into the wire's header, or
	 * NULL. */
	const char *token_env;
	/* If one of these is set: an API of that version, below dated_path of
	 * an address without a path. */
	const char *version_env[2];
	const char *dated_path;
	bool keyless; /* works without a key */
	/* Requests are made in a project of Google Cloud, with a token. */
	bool google_cloud;
	/* The address may be "host:port" without a scheme, as the vendor's own
	 * server accepts it; ":11434" is added if there is no port. NULL: it
	 * must be a URL. */
	const char *listen_port;
	bool calls_alone; /* refuses text beside tool calls in a request */
	/* needs reasoning_content on each answer, also those of others */
	bool thoughts;
};

extern const struct preset presets[];
/* By name or alias; NULL if unknown. */
const struct preset *preset_find(const char *name);
/* The variable of its key: the row credentials.NAME of settings_core, or NULL
 * when it has none. */
const char *preset_key_env(const struct preset *p);
/* The provider that a bare model name belongs to, or NULL. */
const char *preset_infer(const char *model);
/* The wire of a Python class ("langchain_openai:ChatOpenAI"), or NULL. */
const char *preset_class_wire(const char *class_path);

/* [models.providers.NAME], by the provider's own name or its alias; NULL if
 * there is none or it is not a table. */
const struct toml_value *model_config(const struct settings *set,
				      const char *name);

#endif

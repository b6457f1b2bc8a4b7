/* presets.h - vendors that need no configuration but a key. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_PRESETS_H
#define MODEL_PRESETS_H

#include <stdbool.h>

struct preset {
	const char *name;      /* NULL ends the table */
	const char *alias;     /* another name for it, or NULL */
	const char *wire;      /* NULL: a protocol that we do not speak */
	const char *base_url;  /* its path also completes a user's address that
				  has none; NULL: the user must give one */
	const char *base_path; /* where base_url is NULL */
	const char *url_env[2];
	bool keyless; /* works without a key */
	/* An address may be "host:port" without a scheme, as the vendor's own
	 * server reads it; ":11434" is added where the port is left out. NULL:
	 * it must be a URL. */
	const char *listen_port;
	bool calls_alone; /* refuses text beside tool calls in a request */
	/* wants reasoning_content on each answer, those of others too */
	bool thoughts;
};

extern const struct preset presets[];
/* By name or alias; NULL when there is none. */
const struct preset *preset_find(const char *name);
/* The variable of its key: the row credentials.NAME of settings_core, or NULL
 * when it has none. */
const char *preset_key_env(const struct preset *p);
/* The provider that a bare model name belongs to, or NULL. */
const char *preset_infer(const char *model);
/* The wire of a Python class ("langchain_openai:ChatOpenAI"), or NULL. */
const char *preset_class_wire(const char *class_path);

#endif

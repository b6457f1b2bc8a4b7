/* presets.h - vendors that need no configuration but a key. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_PRESETS_H
#define MODEL_PRESETS_H

#include <stdbool.h>

struct preset {
	const char *name;         /* NULL ends the table */
	const char *alias;        /* another name for it, or NULL */
	const char *wire;         /* NULL: a protocol that we do not speak */
	const char *own_wire;     /* the one at base_url itself; NULL: wire */
	const char *own_base_url; /* its address, NULL: base_url */
	const char *base_url;  /* its path also completes a user's address that
				  has none; NULL: the user must give one */
	const char *base_path; /* where base_url is NULL */
	const char *url_env[2];
	/* The header of its key on its own wire, where it is not the wire's,
	 * or NULL; with it the variable of a token that goes as the wire has
	 * it, or NULL. */
	const char *auth;
	const char *token_env;
	/* One of these is set: an API of that version, below dated_path of an
	 * address without a path. */
	const char *version_env[2];
	const char *dated_path;
	bool keyless; /* works without a key */
	/* Requests are made in a project of Google Cloud, with a token. */
	bool google_cloud;
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

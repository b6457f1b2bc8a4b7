/* provider_config.h - how an external provider is found and started. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_EXTERNAL_PROVIDER_CONFIG_H
#define PROVIDERS_EXTERNAL_PROVIDER_CONFIG_H

#include "sandbox/sandbox.h"

/* From config.toml, a package's entry points or a program's name. */
struct provider_config {
	char *name;       /* owned, as all below but the tables */
	char *workdir;    /* absolute, or NULL: the provider says it */
	char *package;    /* to install when it is missing, or NULL */
	char *class_path; /* "module.path:Class", or NULL */
	char **command;   /* NULL-terminated, or NULL */
	char *origin;     /* of all this: "FILE:3", "acme-1.2", a path */
	unsigned flags;   /* SANDBOX_ATTACH, SANDBOX_SNAPSHOT */
	bool certain;     /* flags are config.toml's, not a guess */
	const struct toml_value *params;  /* of config.toml, or NULL */
	const struct toml_value *http;    /* of config.toml, or NULL */
	enum sandbox_isolation isolation; /* of config.toml */
};
/* Reads [sandboxes.providers.NAME] of file, each key checked. base: the
 * built-in provider of that name, whose abilities are the default, or NULL.
 * ERR_CONFIG: "FILE:3:5: KEY must be ..."; d has to be released in any case. */
int provider_config_read(struct provider_config *d,
			 const struct toml_value *entry, const char *file,
			 const struct sandbox_provider *base,
			 struct error *err);
void provider_config_release(struct provider_config *d);

enum { PROVIDER_ID_MAX = 512 }; /* bytes of a sandbox's id */
/* True for an id that an external provider may give a sandbox: UTF-8 without
 * controls and white space. */
bool provider_config_id_ok(const char *id);

/* A provider made at run time; the registry owns it. */
struct made_provider {
	struct sandbox_provider base;
	void (*free)(struct made_provider *made);
};

/* Each takes over what d holds. NULL with ERR_CONFIG, which names the key, when
 * something is wrong in d; then d is released by the caller. */
struct made_provider *process_provider_new(struct provider_config *d,
					   struct error *err);
struct made_provider *http_provider_new(struct provider_config *d,
					struct error *err);
/* Replaces directory, package and params by those that d has. */
void process_provider_overlay(struct made_provider *made,
			      struct provider_config *d);

#endif

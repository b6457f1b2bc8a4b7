/* provider_config.h - what is known of an external provider before it runs. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_EXTERNAL_PROVIDER_CONFIG_H
#define PROVIDERS_EXTERNAL_PROVIDER_CONFIG_H

#include "sandbox/sandbox.h"

/* What config.toml, a package or a file's name say of one. */
struct provider_config {
	char *name;       /* owned, as all below but the tables */
	char *workdir;    /* absolute, or NULL: the provider says it */
	char *package;    /* to install when it is missing, or NULL */
	char *class_path; /* "module.path:Class", or NULL */
	char **command;   /* NULL-terminated, or NULL */
	char *origin;     /* where that stands: "FILE:3", "acme-pkg 1.2" */
	unsigned flags;   /* SANDBOX_ATTACH, SANDBOX_SNAPSHOT */
	bool certain;     /* flags were written down, not assumed */
	const struct toml_value *params; /* of config.toml, or NULL */
	const struct toml_value *http;   /* of config.toml, or NULL */
};
void provider_config_release(struct provider_config *d);
/* Reads an entry with its types checked; base: the built-in provider of that
 * name, whose checks stay, or NULL. ERR_CONFIG: "FILE:3:5: KEY must be ...";
 * d has to be released in any case. */
int provider_config_read(struct provider_config *d,
			 const struct toml_value *entry, const char *file,
			 const struct sandbox_provider *base,
			 struct error *err);

enum { PROVIDER_ID_MAX = 512 }; /* bytes of a sandbox's id */
/* Is this a sandbox's id as an external provider may give it: UTF-8 without
 * controls and white space? */
bool provider_config_id_ok(const char *id);

/* A provider made at run time; the registry owns it. */
struct made_provider {
	struct sandbox_provider base;
	void (*free)(struct made_provider *made);
};

/* Each takes what it needs of d out of it (and may leave the rest). NULL with
 * ERR_CONFIG when it cannot be: the message names the key. */
struct made_provider *process_provider_new(struct provider_config *d,
					   struct error *err);
struct made_provider *http_provider_new(struct provider_config *d,
					struct error *err);
/* For one of its own that a package or a program's name declares: directory,
 * package and params are d's where d has them. */
void process_provider_overlay(struct made_provider *made,
			      struct provider_config *d);

#endif

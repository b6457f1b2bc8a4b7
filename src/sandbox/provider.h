/* provider.h - what the program knows of a provider before it is used. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_PROVIDER_H
#define SANDBOX_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>

#include "config/settings.h"
#include "sandbox/info.h"
#include "sandbox/isolation.h"

struct sandbox_ops; /* sandbox.h */

struct sandbox_region {
	const char *name; /* "eu" */
	const char *url;
};

/* How --workspace bind gives a sandbox the user's own directory. */
struct sandbox_binding {
	/* The provider's setting that asks for it, and its value; NULL: the
	 * directory itself, which only a new sandbox can get. */
	const char *key;
	const char *value;
	/* The setting of where the directory is in the sandbox. A linked
	 * worktree has to be at its own path, for git. NULL: the provider sees
	 * to that. */
	const char *path_key;
	/* Something else mounts it, which may be on another machine or map
	 * users: a file that is made there shows both. It cannot mount a
	 * submodule's repository. */
	bool by_engine;
};

/* Static description; a row of providers/table.c. */
struct sandbox_provider {
	const char *name; /* "docker" */
	/* A second name that users may say, or NULL: "podman". It is this
	 * provider in the ledger, in labels and in config.toml; open() is told
	 * by sandbox_client.also. */
	const char *also;
	const char *also_summary;
	const char *summary; /* one line for provider list */
	const char *noun;    /* of what an id is the number: "job"; or NULL */
	const char *workdir; /* default inside, absolute; NULL: the user's */
	unsigned flags;      /* SANDBOX_... */
	size_t max_command;  /* bytes of exec_request.command it can carry */
	int64_t lifetime_s;  /* default backstop */
	const struct setting *settings; /* rows, or NULL */
	const struct sandbox_ops *ops;
	/* Variables that may name its server, the strongest first, NULL ends;
	 * or NULL. */
	const char *const *url_env;
	/* The setting that may name it instead ("host"), or NULL. */
	const char *url_key;
	/* Names that its address may be given by (dcode auth set --base-url);
	 * ends in { 0 }, or NULL. */
	const struct sandbox_region *regions;
	/* What its vendor has published for what create() asks for with these
	 * settings; snapshot: another one than theirs, or NULL. Leaves *price
	 * alone where nobody knows. NULL: nobody does. */
	int (*price)(const struct settings *set, const char *snapshot,
		     struct sandbox_price *price, struct error *err);
	/* What keeps its commands from its host, as the vendor documents it. */
	enum sandbox_isolation isolation;
	/* Where its vendor says so, and when that was read; or NULL. */
	const char *isolation_source;
	const struct sandbox_binding *binding; /* NULL: not supported */
	/* Its own page of the manual, or NULL: that of all vendors. */
	const char *topic;
};
extern const struct sandbox_provider *const sandbox_providers[]; /* NULL ends;
							providers/table.c */
const struct sandbox_provider *sandbox_provider_find(const char *name);
/* By either of its names. */
bool sandbox_provider_is_built_in(const char *name);

#endif

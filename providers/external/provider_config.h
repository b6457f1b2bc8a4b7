/* provider_config.h - how an external provider is found and started. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_EXTERNAL_PROVIDER_CONFIG_H
#define PROVIDERS_EXTERNAL_PROVIDER_CONFIG_H

#include "base/json.h"
#include "base/str.h"
#include "config/settings.h"
#include "config/toml.h"
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
 * ERR_CONFIG: "FILE:3:5: KEY must be ..."; release d in any case. */
int provider_config_read(struct provider_config *d,
			 const struct toml_value *entry, const char *file,
			 const struct sandbox_provider *base,
			 struct error *err);
void provider_config_release(struct provider_config *d);

enum { PROVIDER_ID_MAX = 512 }; /* bytes of a sandbox's id */
/* True for an id that an external provider may give a sandbox: UTF-8 without
 * control characters and white space. */
bool provider_config_id_ok(const char *id);

/* A provider made at run time; the registry owns it. */
struct made_provider {
	struct sandbox_provider base;
	void (*free)(struct made_provider *made);
};

/* Each owns what d holds from then on. NULL with ERR_CONFIG, which names the
 * key, when something is wrong in d; then the caller releases d. */
struct made_provider *process_provider_new(struct provider_config *d,
					   struct error *err);
struct made_provider *http_provider_new(struct provider_config *d,
					struct error *err);
/* Replaces directory, package and params by those that d has. */
void process_provider_overlay(struct made_provider *made,
			      struct provider_config *d);

/* Tables of config.toml as JSON. */

/* How strings become JSON; NULL: unchanged. */
struct params_strings {
	/* True leaves the member out. */
	bool (*omit)(const void *arg, const char *text);
	int (*add)(const void *arg, const char *text, struct buf *out,
		   struct error *err);
	const void *arg;
};
/* Appends a table (NULL: an empty one) as an object. ERR_CONFIG for values that
 * JSON cannot hold: a string with NUL, a number that is not finite. */
int params_json(const struct toml_value *table,
		const struct params_strings *strings, struct buf *out,
		struct error *err);
/* Checks that a provider knows all params. known: name -> "string", "integer",
 * "number", "boolean", "array" or "object". ERR_CONFIG names line and key. */
int params_check(const struct toml_value *table, const cJSON *known,
		 const char *provider, struct error *err);

/* Python: the interpreter and the script that run provider classes, and the
 * entry points by which installed packages name such classes. */

/* Below ~/.deepagents: a virtual environment, with bin/python3 and packages in
 * lib/python3.N/site-packages, or only packages in site-packages. */
#define PYTHON_HOME "python"

/* Absolute, owned. */
char *python_home(const struct settings *set);
/* The interpreter: python_home()'s, that of the active virtual environment,
 * or python3 on PATH; absolute, owned. NULL when python3 is not installed. */
char *python_program(const struct settings *set);
/* A descriptor to read the host script from, the caller's; -1 with err. */
int python_script(struct error *err);
/* The arguments that make an interpreter read the script from descriptor 3 and
 * serve this class; NULL-terminated, owned. */
char **python_argv(const struct settings *set, const char *program,
		   const char *class_path);
/* Each directory that may hold Python packages of the user: of python_home(),
 * PYTHONPATH, the active virtual environment. dir is borrowed. */
void python_each_site(const struct settings *set,
		      void (*each)(void *arg, const char *dir), void *arg);

/*
 * "*.dist-info/entry_points.txt" (and "*.egg-info/...") as the Python packaging
 * guide specifies it (packaging.python.org, entry points specification, read
 * 2026-11). dcode reads them itself: no Python is started.
 */
struct entry_point { /* borrowed for the call */
	struct str name;
	struct str object; /* "module.path:Class", without extras */
	const char *package;
};
/* The entry points of a group in one file's text, which is package's. */
void entry_points_parse(struct str text, const char *group, const char *package,
			void (*each)(void *arg, const struct entry_point *e),
			void *arg);
/* The entry points of a group in all packages of a directory. */
void entry_points_read(const char *dir, const char *group,
		       void (*each)(void *arg, const struct entry_point *e),
		       void *arg);
/* True for "module.path:Class" and nothing else. */
bool class_path_ok(struct str s);

#endif

/* provider_config.h - finds an external provider and reads how to start it. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_EXTERNAL_PROVIDER_CONFIG_H
#define PROVIDERS_EXTERNAL_PROVIDER_CONFIG_H

#include "base/json.h"
#include "base/str.h"
#include "config/settings.h"
#include "config/toml.h"
#include "sandbox/sandbox.h"

/* Describes a provider from config.toml, a package's entry points or a
 * program's name. */
struct provider_config {
	char *name;       /* owned, like all members that are not const */
	char *workdir;    /* absolute; NULL: the provider chooses it */
	char *package;    /* package to install if it is missing, or NULL */
	char *class_path; /* "module.path:Class", or NULL */
	char **command;   /* NULL-terminated, or NULL */
	char *origin;   /* where this was found: "FILE:3", "acme-1.2", a path */
	unsigned flags; /* SANDBOX_ATTACH, SANDBOX_SNAPSHOT: what it supports */
	/* flags come from config.toml; false: they are a guess */
	bool certain;
	const struct toml_value *params;  /* from config.toml, or NULL */
	const struct toml_value *http;    /* from config.toml, or NULL */
	enum sandbox_isolation isolation; /* from config.toml */
};
/* Reads and checks [sandboxes.providers.NAME] of file. base is the built-in
 * provider of that name, whose flags are the default; or NULL. ERR_CONFIG:
 * "FILE:3:5: KEY must be ...". The caller releases d, even on failure. */
int provider_config_read(struct provider_config *d,
			 const struct toml_value *entry, const char *file,
			 const struct sandbox_provider *base,
			 struct error *err);
void provider_config_release(struct provider_config *d);

enum { PROVIDER_ID_MAX = 512 }; /* bytes of a sandbox's id */
/* True for an id that an external provider may give a sandbox: UTF-8 without
 * control characters and white space, and not "." or "..", which a URL cannot
 * have as a segment: the sandbox could not be deleted. */
bool provider_config_id_ok(const char *id);

/* A provider created at run time. The registry owns it. */
struct made_provider {
	struct sandbox_provider base;
	void (*free)(struct made_provider *made);
};

/* Creates a provider and takes ownership of the members of d. If d is invalid:
 * NULL with ERR_CONFIG, which names the key, and the caller still releases
 * d. */
struct made_provider *process_provider_new(struct provider_config *d,
					   struct error *err);
struct made_provider *http_provider_new(struct provider_config *d,
					struct error *err);
/* Replaces directory, package and params of the provider by those in d, where d
 * has them. */
void process_provider_overlay(struct made_provider *made,
			      struct provider_config *d);

/* Conversion of config.toml tables to JSON. */

/* How strings are converted; NULL: unchanged. */
struct params_strings {
	/* Returns true to leave the member out. */
	bool (*omit)(const void *arg, const char *text);
	int (*add)(const void *arg, const char *text, struct buf *out,
		   struct error *err);
	const void *arg;
};
/* Appends a table as an object (NULL: an empty one). ERR_CONFIG for values that
 * JSON cannot represent: a string with NUL, a number that is not finite. */
int params_json(const struct toml_value *table,
		const struct params_strings *strings, struct buf *out,
		struct error *err);
/* Checks that the provider knows all params. known maps each name to "string",
 * "integer", "number", "boolean", "array" or "object". ERR_CONFIG names line
 * and key. */
int params_check(const struct toml_value *table, const cJSON *known,
		 const char *provider, struct error *err);

/* Python: the interpreter and host script that run provider classes, and the
 * entry points by which installed packages name such classes. */

/* Name below ~/.deepagents of a virtual environment (with bin/python3, and
 * packages in lib/python3.N/site-packages). It may also be a plain directory
 * with packages in site-packages. */
#define PYTHON_HOME "python"

/* Returns the absolute path of PYTHON_HOME, owned by the caller. */
char *python_home(const struct settings *set);
/* Returns the interpreter's absolute path, owned by the caller: that of
 * python_home(), of the active virtual environment, or python3 on PATH. NULL if
 * python3 is not installed. */
char *python_program(const struct settings *set);
/* Returns a descriptor from which the host script can be read, owned by the
 * caller; -1 with err. */
int python_script(struct error *err);
/* Returns arguments that make an interpreter read the script from descriptor 3
 * and serve this class. NULL-terminated, owned by the caller. */
char **python_argv(const struct settings *set, const char *program,
		   const char *class_path);
/* Calls each for every directory that may contain the user's Python packages:
 * those of python_home(), PYTHONPATH and the active virtual environment. dir is
 * borrowed. */
void python_each_site(const struct settings *set,
		      void (*each)(void *arg, const char *dir), void *arg);

/* An entry of "*.dist-info/entry_points.txt" (and "*.egg-info/..."), as the
 * Python packaging guide specifies it (packaging.python.org, entry points
 * specification, read 2026-11). dcode parses these files without starting
 * Python. */
struct entry_point { /* its strings are valid during the call of each() */
	struct str name;
	struct str object; /* "module.path:Class", without extras */
	const char *package;
};
/* Calls each for every entry point of a group in text, a file of package. */
void entry_points_parse(struct str text, const char *group, const char *package,
			void (*each)(void *arg, const struct entry_point *e),
			void *arg);
/* Calls each for every entry point of a group, in all packages of a
 * directory. */
void entry_points_read(const char *dir, const char *group,
		       void (*each)(void *arg, const struct entry_point *e),
		       void *arg);
/* True if s is exactly of the form "module.path:Class". */
bool class_path_ok(struct str s);

#endif

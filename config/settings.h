/* settings.h - every option's value, resolved once, with its source. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_SETTINGS_H
#define CONFIG_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "config/dotenv.h"
#include "config/toml.h"
#include "config/vault.h"

enum setting_type {
	SETTING_STRING,
	SETTING_INT,
	SETTING_BOOL,
	SETTING_LIST, /* of strings; a plain string is split at commas */
	SETTING_TABLE,
};

enum {
	SETTING_SECRET = 1 << 0, /* shown only as configured or not */
	SETTING_REQUIRED = 1 << 1,
	SETTING_PREFIX_ONLY = 1 << 2, /* only DEEPAGENTS_CODE_X is read */
	SETTING_ENV_ONLY = 1 << 3,    /* config.toml is not read */
	SETTING_PAIRS = 1 << 4,       /* a list whose entries are NAME=value */
	SETTING_SERVICE = 1 << 5,     /* a key of no model's and no sandbox's */
};

/* One row drives the resolver, dcode config, doctor and the help. */
struct setting {         /* an array of these ends in { 0 } */
	const char *key; /* "models.default"; in a provider's rows the
			    parameter's name: "image" */
	enum setting_type type;
	unsigned flags;
	const char *env;      /* "DAYTONA_API_KEY", or NULL */
	const char *fallback; /* as written in TOML ("\"python:3\"", "3600"),
				 or NULL */
	const char *help;     /* one line */
	const char *unit;     /* "seconds", or NULL */
	const char *example;  /* as in TOML; NULL: the fallback is one */
	/* For providers/kit/body.h: where the value goes in the request that
	 * creates a sandbox ("resources.vcpus"), and the least integer. */
	const char *field;
	int64_t least;
};

/* The machine's policy, shared with the Python program. Nothing leads it
 * elsewhere: who may write to /etc decides. */
#define SETTINGS_POLICY_FILE "/etc/dcode/managed_config.toml"

/* Immutable once loaded, but for settings_set_flag(); any thread may read. */
struct settings;

/* How stored keys are opened, when the first one is needed. Called on the
 * thread that needs it. */
struct settings_store {
	struct vault_ask ask;           /* for a passphrase */
	void (*warn)(const char *line); /* they cannot be opened */
	/* Each stored key, to be masked. */
	void (*found)(void *arg, const char *name, const char *value);
	/* The name whose stored address this variable stands for, or NULL. */
	const char *(*url_owner)(const char *variable);
	void *arg;
};

struct settings_input {
	const char *home; /* the user's home, or NULL */
	const char *cwd;
	char **environ; /* NAME=value; copied */
	/* NULL-terminated list of arrays: the core's rows and one per
	 * provider, the latter named by provider. */
	const struct setting_group *groups;
	const struct settings_store *store; /* borrowed; NULL: not used */
	bool quiet; /* no warnings about keys that nothing reads */
};
struct setting_group {    /* ends in { 0 } */
	const char *name; /* NULL for the core; else "docker": keys stand
			     for sandboxes.providers.docker.params.KEY */
	const char *also; /* NULL, or a second name of that table: "podman" */
	const struct setting *rows;
};

/* Reads config.toml, .env files and the environment. A broken file is not a
 * failure: it becomes a warning, see settings_warnings(). -1 only when there
 * is no home directory. */
int settings_load(struct settings **s, const struct settings_input *in,
		  struct error *err);
void settings_free(struct settings *s);

/* Each "file:line:column: what is wrong" or other remark, in order; of many the
 * last says how many more there are. */
size_t settings_warnings(const struct settings *s, const char *const **list);
/* NULL, or a line that names the settings of the Python program in config.toml
 * that dcode does not have: no warning, as the file may be used by both. */
const char *settings_foreign(const struct settings *s);
/* NULL, or why config.toml could not be used ("invalid TOML syntax:
 * file:3:5: ..."): flags that depend on it must say so. */
const char *settings_broken(const struct settings *s);
/* NULL, or why config.toml does not restrict what it was to, with its place: it
 * does not parse, or a key that restricts has the wrong type. Whoever runs
 * anything must refuse, or ask. */
const char *settings_unguarded(const struct settings *s);
/* NULL, or why the policy cannot be honoured, with its place: whoever runs
 * anything must refuse. */
const char *settings_policy_error(const struct settings *s);
/* What the policy itself says, or NULL. */
const struct toml_value *settings_policy(const struct settings *s,
					 const char *dotted);
/* The files that were looked for, in the order of their strength. */
enum settings_file_state {
	SETTINGS_FILE_OK,
	SETTINGS_FILE_MISSING,
	SETTINGS_FILE_DISABLED, /* startup.read_project_dotenv = false */
	SETTINGS_FILE_BROKEN,   /* see settings_warnings() */
};
struct settings_file {
	const char *name; /* "project .env" */
	const char *path;
	enum settings_file_state state;
};
size_t settings_files(const struct settings *s,
		      const struct settings_file **list);
const char *settings_home(const struct settings *s); /* the user's home */
const char *settings_cwd(const struct settings *s);
const char *settings_dir(const struct settings *s); /* ~/.deepagents */

/* DEEPAGENTS_CODE_NAME if it exists, even empty, else the stored key or
 * address that NAME stands for, else NAME; empty is NULL. Variables are those
 * that were exported, then those of the user's .env: never a project's, which
 * only the two functions below return. Borrowed. */
const char *settings_env(const struct settings *s, const char *name);
/* The same of a key that is of use but not needed: nobody is asked for the
 * passphrase of the stored keys because of it. */
const char *settings_env_unasked(const struct settings *s, const char *name);
/* NAME alone, "" when it is empty. */
const char *settings_env_plain(const struct settings *s, const char *name);
enum setting_source settings_env_source(const struct settings *s,
					const char *name);

/* A vendor's credential: settings_env(); else, where the user has no credential
 * of this vendor, not even an empty one, that of the project's .env, and then
 * *project (may be NULL) is set to the variable's name, unless it is set. */
const char *settings_credential(const struct settings *s, const char *variable,
				const char **project);
/* A value for a setup script: settings_env_plain(), else the project's. */
const char *settings_setup_value(const struct settings *s, const char *name,
				 enum setting_source *source);
/* Where a credential comes from, for messages: "X_API_KEY of
 * /home/me/app/.env", "DEEPAGENTS_CODE_X_API_KEY", "the key stored by ...".
 * Owned. */
char *settings_credential_name(const struct settings *s, const char *variable);

/* Where an address comes from, for messages: "X_URL", or "X_URL,
 * /home/me/.deepagents/.env line 3". Owned. */
char *settings_address_name(const struct settings *s, const char *variable);

/* A key that can be stored: one for each secret variable. */
struct settings_credential {
	const char *name;     /* to store it under: "daytona" */
	const char *variable; /* "DAYTONA_API_KEY" */
	const char *group;    /* the sandbox provider's name, else NULL */
	bool required;
	bool service; /* neither a model's nor a sandbox's */
};
/* All of them, until each returns false. Does not open the store. */
void settings_each_credential(const struct settings *s,
			      bool (*each)(void *arg,
					   const struct settings_credential *c),
			      void *arg);

/* dcode has changed the stored keys: they are read anew. What was borrowed
 * stays good. One thread only. */
void settings_store_changed(struct settings *s);
/* What is stored under a name; opens the store. Borrowed, or NULL. */
const struct vault_entry *settings_vault_entry(const struct settings *s,
					       const char *name);

/* The raw value in config.toml, or NULL. */
const struct toml_value *settings_toml(const struct settings *s,
				       const char *dotted);
/* A flag of this run: goes over everything else. The key must be a row. */
int settings_set_flag(struct settings *s, const char *key, const char *value,
		      struct error *err);

/*
 * Resolved rows: flag, DEEPAGENTS_CODE_X, X, config.toml, default. For a
 * provider's row pass its name as group, NULL for the core's. *value is NULL
 * (or untouched for int and bool) when nothing is set: test the source.
 * -1 with ERR_CONFIG when the value has the wrong type: the message names
 * where it came from.
 */
int settings_string(const struct settings *s, const char *group,
		    const char *key, const char **value, struct error *err);
/* The same of an absolute path: ERR_CONFIG for any other. */
int settings_directory(const struct settings *s, const char *group,
		       const char *key, const char **value, struct error *err);
int settings_int(const struct settings *s, const char *group, const char *key,
		 int64_t *value, struct error *err);
/* What it is where nobody has set it; 0 where its row says none. */
int64_t settings_int_default(const struct settings *s, const char *key);
int settings_bool(const struct settings *s, const char *group, const char *key,
		  bool *value, struct error *err);
/* A list of strings; *list and its strings are owned by settings. */
int settings_list(const struct settings *s, const char *group, const char *key,
		  const char *const **list, size_t *n, struct error *err);
enum setting_source settings_source(const struct settings *s, const char *group,
				    const char *key);
const char *setting_source_name(enum setting_source source); /* "env" */
/* The variable that a value came from, with its prefix; else NULL. */
const char *settings_variable(const struct settings *s, const char *group,
			      const char *key);
/*
 * Values to mask: of SETTING_SECRET rows that are set; of variables that
 * config.toml names by some *_env key or as ${NAME}; of members of config.toml
 * and (from 8 bytes on) variables whose own name looks secret.
 */
void settings_each_secret(const struct settings *s,
			  void (*each)(void *arg, const char *name,
				       const char *value),
			  void *arg);

/* "string", "integer", "boolean", "list" or "table". */
const char *setting_type_name(enum setting_type type);

/* Whether a name's last word is KEY, TOKEN, SECRET, PASSWORD or the like. */
bool setting_looks_secret(const char *name);

extern const struct setting settings_core[]; /* config/schema.c */

/* A key within a table of settings_core. Whoever reads the table looks for it;
 * unknown ones are told from these rows, and the manual lists them. */
struct setting_key {
	const char *table; /* "models.providers.NAME": NAME is any */
	const char *key;
	const char *type; /* "string", "number", "list", ... */
	const char *unit; /* or NULL, as the next two */
	const char *fallback;
	const char *example;
	const char *help;
};
extern const struct setting_key settings_keys[]; /* config/schema.c */

#endif

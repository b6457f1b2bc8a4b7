/* settings.h - resolves the value of every setting, with its source. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_SETTINGS_H
#define CONFIG_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "config/dotenv.h"
#include "config/setting.h"
#include "config/toml.h"
#include "config/vault.h"

/* The machine's policy file; the Python program reads it too. Its path is
 * fixed: only who may write to /etc can set the policy. */
#define SETTINGS_POLICY_FILE "/etc/dcode/managed_config.toml"

/* Immutable once loaded, except for settings_set_flag(). Any thread may
 * read. */
struct settings;

/* How the stored keys are opened. That happens when the first key is needed, on
 * the thread that needs it. */
struct settings_store {
	struct vault_ask ask; /* asks for the passphrase */
	/* called if the store cannot be opened */
	void (*warn)(const char *line);
	/* Called for each stored key when the store is opened, so that the
	 * caller can mask the key in output. */
	void (*found)(void *arg, const char *name, const char *value);
	/* Returns the vendor whose server this variable sets, or NULL. *first:
	 * an address stored with the vendor's key replaces this variable. */
	const char *(*url_owner)(const char *variable, bool *first);
	void *arg;
};

struct settings_input {
	const char *home; /* the user's home, or NULL */
	const char *cwd;
	char **environ; /* NAME=value; copied */
	/* One array of rows for the core and one for each provider; ends with {
	 * 0 }. */
	const struct setting_group *groups;
	const struct settings_store *store; /* borrowed; NULL: no stored keys */
	bool quiet;                         /* do not warn about unknown keys */
};
/* Reads config.toml, .env files and the environment. An invalid file causes a
 * warning, not an error; see settings_warnings(). Fails only if there is no
 * home directory. */
int settings_load(struct settings **s, const struct settings_input *in,
		  struct error *err);
void settings_free(struct settings *s);

/* Returns the warnings in order, each "file:line:column: what is wrong" or
 * other text. If there are too many, the last one says how many were left
 * out. */
size_t settings_warnings(const struct settings *s, const char *const **list);
/* Returns a line that names the settings in config.toml that only the Python
 * program has, or NULL. It is not a warning, since both programs may use the
 * file. */
const char *settings_foreign(const struct settings *s);
/* Returns why config.toml could not be used ("invalid TOML syntax: file:3:5:
 * ..."), or NULL. Code for a flag that needs the file must report it. */
const char *settings_broken(const struct settings *s);
/* Returns why a restriction in config.toml is not in effect, and where it is,
 * or NULL. Either the file does not parse, or a restricting key has the wrong
 * type. Code that runs anything must then refuse or ask. */
const char *settings_unguarded(const struct settings *s);
/* Returns why the policy cannot be enforced, and where, or NULL. Code that runs
 * anything must then refuse. */
const char *settings_policy_error(const struct settings *s);
/* Returns a value in the policy file itself, or NULL. */
const struct toml_value *settings_policy(const struct settings *s,
					 const char *dotted);
size_t settings_files(const struct settings *s,
		      const struct settings_file **list);
const char *settings_home(const struct settings *s); /* the user's home */
const char *settings_cwd(const struct settings *s);
const char *settings_dir(const struct settings *s); /* ~/.deepagents */

/* Returns a variable's value: DEEPAGENTS_CODE_NAME if it is set, even if empty;
 * else the stored key or address for NAME; else NAME. NULL if the value is
 * empty. Looks in exported variables and then in the user's .env, never in a
 * project's: only settings_credential() and settings_setup_value() read that.
 * Borrowed. */
const char *settings_env(const struct settings *s, const char *name);
/* Like settings_env(), for a key that is useful but not required: never asks
 * for the passphrase of the stored keys, so it may not find a stored one. */
const char *settings_env_unasked(const struct settings *s, const char *name);
/* Returns NAME only, without prefix or stored keys; "" if it is empty. */
const char *settings_env_plain(const struct settings *s, const char *name);
enum setting_source settings_env_source(const struct settings *s,
					const char *name);

/* Returns a vendor's credential: settings_env(), else the value in the
 * project's .env. The latter is used only if the user has set no credential of
 * this vendor, not even an empty one. Then *project (project may be NULL)
 * becomes the variable's name, unless it is set already. */
const char *settings_credential(const struct settings *s, const char *variable,
				const char **project);
/* Returns a value for a setup script: settings_env_plain(), else the value in
 * the project's .env. */
const char *settings_setup_value(const struct settings *s, const char *name,
				 enum setting_source *source);
/* Returns the source of a credential for messages: "X_API_KEY of
 * /home/me/app/.env", "DEEPAGENTS_CODE_X_API_KEY", "the key stored by ...".
 * Owned. */
char *settings_credential_name(const struct settings *s, const char *variable);

/* Returns the source of an address for messages: "X_URL", or "X_URL,
 * /home/me/.deepagents/.env line 3". Owned. */
char *settings_address_name(const struct settings *s, const char *variable);

/* True if a variable must not choose the server that a key is sent to: it is
 * exported for all programs, and the key was stored for dcode alone. A name
 * that begins with DEEPAGENTS_CODE_ is for dcode alone, too. */
bool settings_address_is_shared(const struct settings *s, const char *variable);
/* Returns a sentence which says that the vendor's stored key goes to `used` and
 * not to the address in `variable`, and what to type. Owned. NULL if the
 * variable sets no other address. */
char *settings_address_unused(const struct settings *s, const char *vendor,
			      const char *variable, const char *used);

/* A credential that can be stored. There is one for each secret variable. */
struct settings_credential {
	const char *name;     /* name in the store: "daytona" */
	const char *variable; /* "DAYTONA_API_KEY" */
	const char *group;    /* name of the sandbox provider, else NULL */
	bool required;
	bool service; /* for neither a model nor a sandbox */
};
/* Calls each for every credential until each returns false. Does not open the
 * store. */
void settings_each_credential(const struct settings *s,
			      bool (*each)(void *arg,
					   const struct settings_credential *c),
			      void *arg);

/* Reads the stored keys again after dcode changed them. Values borrowed before
 * stay valid. Call on one thread only. */
void settings_store_changed(struct settings *s);
/* Hides a value that code found elsewhere, as those of the store are. Any
 * thread. */
void settings_hide(const struct settings *s, const char *name,
		   const char *value);
/* Returns the entry stored under a name. Opens the store. Borrowed, or NULL. */
const struct vault_entry *settings_vault_entry(const struct settings *s,
					       const char *name);

/* Returns the raw value in config.toml, or NULL. */
const struct toml_value *settings_toml(const struct settings *s,
				       const char *dotted);
/* Sets a value from a flag, which overrides all other sources except the
 * policy. The key must be in the schema. */
int settings_set_flag(struct settings *s, const char *key, const char *value,
		      struct error *err);

/*
 * Read a resolved setting. If several sources set it, the first of these
 * counts: policy, flag, DEEPAGENTS_CODE_X, X, config.toml, default. group is a
 * provider's name for its rows, NULL for the core's. If nothing is set, *value
 * is NULL for strings and unchanged for int and bool; call settings_source() to
 * find out. Fails with ERR_CONFIG if the value has the wrong type; the message
 * says where the value comes from.
 */
int settings_string(const struct settings *s, const char *group,
		    const char *key, const char **value, struct error *err);
/* Like settings_string(), for an absolute path. ERR_CONFIG for other paths. */
int settings_directory(const struct settings *s, const char *group,
		       const char *key, const char **value, struct error *err);
int settings_int(const struct settings *s, const char *group, const char *key,
		 int64_t *value, struct error *err);
/* Returns the default of the setting; 0 if it has none. */
int64_t settings_int_default(const struct settings *s, const char *key);
int settings_bool(const struct settings *s, const char *group, const char *key,
		  bool *value, struct error *err);
/* Reads a list of strings. settings owns *list and its strings. */
int settings_list(const struct settings *s, const char *group, const char *key,
		  const char *const **list, size_t *n, struct error *err);
enum setting_source settings_source(const struct settings *s, const char *group,
				    const char *key);
const char *setting_source_name(enum setting_source source); /* "env" */
/* Returns the name of the variable that set the value, including a prefix; NULL
 * if the value came from another source. */
const char *settings_variable(const struct settings *s, const char *group,
			      const char *key);
/*
 * Calls each for all values that must be masked in output: values of
 * SETTING_SECRET rows; variables that config.toml names in *_env keys or as
 * ${NAME}; members of config.toml with a secret-looking name; and variables
 * with such a name and a value of at least 8 bytes.
 */
void settings_each_secret(const struct settings *s,
			  void (*each)(void *arg, const char *name,
				       const char *value),
			  void *arg);

/* Returns "string", "integer", "boolean", "list" or "table". */
const char *setting_type_name(enum setting_type type);

/* True if the name's last word is KEY, TOKEN, SECRET, PASSWORD or similar. */
bool setting_looks_secret(const char *name);

extern const struct setting settings_core[]; /* config/schema.c */

/* A key inside a table setting. The code that uses the table reads the key
 * itself. These rows only serve to find unknown keys and to list the keys in
 * the manual. */
struct setting_key {
	const char *table; /* "models.providers.NAME", where NAME is any name */
	const char *key;
	const char *type; /* "string", "number", "list", ... */
	const char *unit; /* NULL: none; also for the next two */
	const char *fallback;
	const char *example;
	const char *help;
};
extern const struct setting_key settings_keys[]; /* config/schema.c */

#endif

/* settings_slots.h - the loaded settings: files, variables, a slot a row. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_SETTINGS_SLOTS_H
#define CONFIG_SETTINGS_SLOTS_H

/*
 * Only for the five settings*.c files; other code uses settings.h.
 * settings_load() makes one slot for each row of the schema and resolves it.
 * settings_files.c reads config.toml, the policy and the .env files before
 * that. settings_stored.c answers for keys that dcode auth stored. Begin with
 * struct settings.
 */
#include <pthread.h>

#include "config/dotenv.h"
#include "config/hash.h"
#include "config/setting.h"
#include "config/toml.h"
#include "config/vault.h"

struct settings_store;

/* One row of the schema and the value of its first source that sets one. */
struct setting_slot {
	const struct setting *row;
	const char *group; /* borrowed; NULL for the core */
	char *path;        /* full key in config.toml; owned */
	enum setting_source source;
	/* value from a flag, a variable or a stored key; borrowed */
	const char *text;
	const struct toml_value *toml; /* value in config.toml, or &fallback */
	char *flag;                    /* owned */
	struct toml_value fallback;    /* owned */
	char **list; /* owned: the strings of a SETTING_LIST */
	size_t n_list;
};

enum { FILE_POLICY, FILE_CONFIG, FILE_PROJECT_ENV, FILE_USER_ENV, FILES };

struct settings {
	char *home; /* owned, as are the next two */
	char *cwd;
	char *dir;
	struct env env; /* exported variables and the user's .env */
	/* Variables of the project's .env. They are not in env, so that
	 * ordinary look-ups do not find them: see settings_stored.c. */
	struct dotenv project;
	struct toml_value config; /* empty table if missing or invalid */
	char *broken;             /* owned, or NULL */
	char *unguarded;          /* owned, or NULL: settings_unguarded() */
	/* the machine's policy; its values are in config, too */
	struct toml_value policy;
	char *policy_error; /* owned, or NULL */
	char **warnings;    /* owned */
	size_t n_warnings;
	size_t untold; /* number of warnings that were left out */
	char *foreign; /* owned, or NULL: see settings_foreign() */
	struct settings_file files[FILES]; /* paths owned */
	/* borrowed; used only while loading */
	const struct setting_group *groups;
	struct setting_slot *slots; /* owned */
	size_t n_slots;
	struct hash slot_index; /* maps a row's key to indexes of slots */
	const struct settings_store *store; /* borrowed, or NULL */
	pthread_mutex_t vault_lock;         /* guards the next two fields */
	bool vault_tried;
	struct vault *vault; /* owned; NULL if it is not open */
	/* Vaults that were open before dcode changed the store; owned. They
	 * stay open, because values in them are borrowed. */
	struct vault **old_vaults;
	size_t n_old_vaults;
};

/* In settings_guard.c. -1 with err: the value does not have the type; the error
 * starts with where to look, "DEEPAGENTS_CODE_X" or "file:3:5: models.default".
 * If no source sets the slot, a string becomes NULL and other values stay
 * unchanged. */
int setting_slot_string(const struct settings *s,
			const struct setting_slot *slot, const char **value,
			struct error *err);
int setting_slot_int(const struct settings *s, const struct setting_slot *slot,
		     int64_t *value, struct error *err);
int setting_slot_bool(const struct settings *s, const struct setting_slot *slot,
		      bool *value, struct error *err);
int setting_slot_list(const struct settings *s, const struct setting_slot *slot,
		      struct error *err);
/* Checks the slot's value against the type of its row. */
int setting_slot_check(const struct settings *s,
		       const struct setting_slot *slot, struct error *err);
/* Returns the variable that sets the row, exported or in the user's .env. NULL
 * if there is none or its value is empty. Borrowed. */
const struct env_var *setting_slot_variable(const struct settings *s,
					    const struct setting *row);

/* settings_files.c */
void settings_warn(struct settings *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void settings_read_config(struct settings *s);
void settings_read_dotenv(struct settings *s, bool project);

/* True if an entry of sandboxes.providers defines a provider of the user's own,
 * a program or a service. Its params can have any names. */
static inline bool entry_is_user_defined(const struct toml_value *entry)
{
	return toml_get(entry, "command") || toml_get(entry, "class_path") ||
	       toml_get(entry, "http");
}

/* settings_guard.c */
/* Sets *fault to the first restricting section of root that is not a table, or
 * to the first restricting key in such a table with the wrong type. Does
 * nothing if *fault is set already. The caller owns *fault. file: FILE_CONFIG
 * or FILE_POLICY. */
void settings_guard_tables(const struct settings *s, int file,
			   const struct toml_value *root, char **fault);
/* Like settings_guard_tables(), for the values that config.toml sets. Call
 * after all rows are resolved. */
void settings_guard_values(struct settings *s);

/* settings_files.c. Warns about unknown keys in config.toml. */
void settings_check_unknown(struct settings *s);
/* Adds the Python program's variables to the line that settings_foreign()
 * returns. */
void settings_check_variables(struct settings *s);

void settings_read_policy(struct settings *s);
void settings_check_policy(struct settings *s);
/* In settings_stored.c. Returns this row's value in the project's .env if the
 * user has no credential of the same vendor; else NULL. */
const char *setting_slot_project(const struct settings *s,
				 const struct setting_slot *slot);

/* Returns the key or address that `dcode auth set` stored for this variable;
 * NULL if there is none or DEEPAGENTS_CODE_variable overrides it. Borrowed. */
const char *settings_stored(const struct settings *s, const char *variable);
/* Returns the array of variables that an entry of sandboxes.providers requests
 * as credentials, or NULL. */
const struct toml_value *settings_credentials(const struct toml_value *entry);
void settings_store_close(struct settings *s);

#endif

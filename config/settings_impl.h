/* settings_impl.h - what the parts of settings share; not for others. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_SETTINGS_IMPL_H
#define CONFIG_SETTINGS_IMPL_H

#include <pthread.h>

#include "config/dotenv.h"
#include "config/hash.h"
#include "config/settings.h"

/* One row and the strongest layer that sets it. */
struct setting_slot {
	const struct setting *row;
	const char *group; /* borrowed; NULL for the core */
	char *path;        /* owned; the whole key in config.toml */
	enum setting_source source;
	const char *text;              /* of a flag or variable; borrowed */
	const struct toml_value *toml; /* of config.toml or the default */
	char *flag;                    /* owned */
	struct toml_value fallback;    /* owned */
	char **list;                   /* owned: SETTING_LIST's strings */
	size_t n_list;
};

enum { FILE_POLICY, FILE_CONFIG, FILE_PROJECT_ENV, FILE_USER_ENV, FILES };

struct old_vault {
	struct vault *vault; /* owned */
};

struct settings {
	char *home; /* owned, as the next two */
	char *cwd;
	char *dir;
	struct env env; /* exported, and the user's .env */
	/* The project's .env, apart from env so that no other look-up finds
	 * it: see settings_stored.c. */
	struct dotenv project;
	struct toml_value config; /* an empty table when missing or broken */
	char *broken;             /* owned, or NULL */
	char *unguarded;          /* owned, or NULL: settings_unguarded() */
	struct toml_value policy; /* the machine's; what it sets is in config,
				     too */
	char *policy_error;       /* owned, or NULL */
	char **warnings;          /* owned */
	size_t n_warnings;
	size_t untold; /* warnings beyond the most that are told */
	char *foreign; /* owned, or NULL: see settings_foreign() */
	struct settings_file files[FILES];  /* paths owned */
	const struct setting_group *groups; /* borrowed while it is loaded */
	struct setting_slot *slots;         /* owned */
	size_t n_slots;
	struct hash slot_index; /* a row's key: its numbers in slots */
	const struct settings_store *store; /* borrowed, or NULL */
	pthread_mutex_t vault_lock;         /* guards the next two */
	bool vault_tried;
	struct vault *vault;          /* owned; NULL when it cannot be opened */
	struct old_vault *old_vaults; /* owned; before changes of our own */
	size_t n_old_vaults;
};

/* settings_files.c */
void settings_warn(struct settings *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void settings_read_config(struct settings *s);
void settings_read_dotenv(struct settings *s, bool project);

/* *fault, where it is still NULL, becomes (owned) the first
 * section of root that restricts and is not a table, or part of a table that
 * has the wrong type. file: FILE_CONFIG or FILE_POLICY. */
void settings_guard_tables(const struct settings *s, int file,
			   const struct toml_value *root, char **fault);
/* Once every row is resolved: the same of rows that config.toml sets. */
void settings_guard_values(struct settings *s);

/* Warns about keys of the user's file. */
void settings_check_unknown(struct settings *s);
/* Adds variables of the Python program to the line about its settings. */
void settings_check_variables(struct settings *s);

void settings_read_policy(struct settings *s);
void settings_check_policy(struct settings *s);
/* 0 when text can be read as the row's type. */
int setting_slot_check(const struct settings *s,
		       const struct setting_slot *slot, struct error *err);

/* settings_stored.c: where the user has no credential of that vendor, the
 * project's value of this row; else NULL. */
const char *setting_slot_project(const struct settings *s,
				 const struct setting_slot *slot);

/* Of dcode auth set, for this variable; NULL where a
 * prefixed one overrules it. Borrowed. */
const char *settings_stored(const struct settings *s, const char *variable);
/* The array of variables that an entry of sandboxes.providers wants handed
 * over, or NULL. */
const struct toml_value *settings_credentials(const struct toml_value *entry);
void settings_store_close(struct settings *s);

#endif

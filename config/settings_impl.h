/* settings_impl.h - what the parts of settings share; not for others. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_SETTINGS_IMPL_H
#define CONFIG_SETTINGS_IMPL_H

#include <pthread.h>

#include "config/dotenv.h"
#include "config/env.h"
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
	 * it: see settings_project.c. */
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
/* An empty table when there is no file. -1: ERR_SYSTEM, or what toml_parse()
 * says. */
int settings_read_toml(struct settings_file *file, struct toml_value *root,
		       struct error *err);
void settings_read_config(struct settings *s);
/* [sandboxes.providers.podman] becomes the table of docker, which is the same
 * provider, unless it describes one of its own. */
void settings_join_names(struct settings *s, const struct settings_file *file,
			 struct toml_value *root);
void settings_read_dotenv(struct settings *s, bool project);

/* settings_guard.c: *fault, where it is still NULL, becomes (owned) the first
 * section of root that restricts and is not a table, or part of a table that
 * has the wrong type. file: FILE_CONFIG or FILE_POLICY. */
void settings_guard_tables(const struct settings *s, int file,
			   const struct toml_value *root, char **fault);
/* Once every row is resolved: the same of rows that config.toml sets. */
void settings_guard_values(struct settings *s);

/* settings_unknown.c: warns about keys of the user's file. */
void settings_check_unknown(struct settings *s);
/* Adds variables of the Python program to the line about its settings. */
void settings_check_variables(struct settings *s);

/* policy.c */
void settings_read_policy(struct settings *s);
void settings_check_policy(struct settings *s);

/* settings_value.c */
struct setting_slot *setting_slot_find(const struct settings *s,
				       const char *group, const char *key);
/* Finds the strongest layer anew. */
void setting_slot_resolve(struct settings *s, struct setting_slot *slot);
void setting_slot_release(struct setting_slot *slot);
/* 0 when text can be read as the row's type. */
int setting_slot_check(const struct settings *s,
		       const struct setting_slot *slot, struct error *err);

/* settings_project.c: where the user has no credential of that vendor, the
 * project's value of this row; else NULL. */
const char *setting_slot_project(const struct settings *s,
				 const struct setting_slot *slot);

/* settings_stored.c: of dcode auth set, for this variable; NULL where a
 * prefixed one overrules it. Borrowed. */
const char *settings_stored(const struct settings *s, const char *variable);
const char *settings_stored_url(const struct settings *s, const char *variable);
/* There are stored keys that could not be opened when one was looked for. */
bool settings_store_failed(const struct settings *s);
/* True when config.toml names this variable as the key of a model vendor, or
 * of a service that dcode itself asks. */
bool settings_names_key(const struct settings *s, const char *variable);
/* The array of variables that an entry of sandboxes.providers wants handed
 * over, or NULL. */
const struct toml_value *settings_credentials(const struct toml_value *entry);
void settings_store_close(struct settings *s);

/* As settings_each_secret(), but for what only looks secret. */
void settings_each_key(const struct settings *s,
		       void (*each)(void *arg, const char *name,
				    const char *value),
		       void *arg);

#endif

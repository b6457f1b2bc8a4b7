/* setting.h - one setting: its row in the schema; the files with values. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_SETTING_H
#define CONFIG_SETTING_H

/*
 * config/schema.c and each provider have an array of rows. settings.h finds the
 * value of a row; this header is for code that only describes settings.
 */
#include <stdint.h>

enum setting_type {
	SETTING_STRING,
	SETTING_INT,
	SETTING_BOOL,
	SETTING_LIST, /* list of strings; a plain string is split at commas */
	SETTING_TABLE,
};

enum {
	SETTING_SECRET = 1 << 0, /* show only whether it is set */
	SETTING_REQUIRED = 1 << 1,
	SETTING_PREFIX_ONLY = 1 << 2, /* read only DEEPAGENTS_CODE_X */
	SETTING_ENV_ONLY = 1 << 3,    /* ignore config.toml */
	SETTING_PAIRS = 1 << 4,       /* a list of NAME=value entries */
	/* a key for a service other than a model or a sandbox */
	SETTING_SERVICE = 1 << 5,
};

/* Defines one setting. Used to resolve its value, by dcode config and doctor,
 * and in the help. */
struct setting { /* arrays of this end with { 0 } */
	/* "models.default"; for a provider the parameter's name: "image" */
	const char *key;
	enum setting_type type;
	unsigned flags;
	const char *env; /* "DAYTONA_API_KEY", or NULL */
	/* default as written in TOML ("\"python:3\"", "3600"), or NULL */
	const char *fallback;
	const char *help;    /* one line */
	const char *unit;    /* "seconds", or NULL */
	const char *example; /* as in TOML; NULL: fallback is the example */
	/* For providers/kit/rest.h: the value is sent as this member of the
	 * create request ("resources.vcpus"). minimum: the smallest value of an
	 * integer. */
	const char *field;
	int64_t least;
};

struct setting_group { /* arrays of this end with { 0 } */
	/* NULL for the core; else a provider ("docker"), whose keys mean
	 * sandboxes.providers.docker.params.KEY */
	const char *name;
	/* another name of the provider's table: "podman"; or NULL */
	const char *also;
	const struct setting *rows;
};

/* The files that dcode looks for: the policy, config.toml, the project's .env,
 * the user's .env. */
enum settings_file_state {
	SETTINGS_FILE_OK,
	SETTINGS_FILE_MISSING,
	/* not read: startup.read_project_dotenv = false */
	SETTINGS_FILE_DISABLED,
	SETTINGS_FILE_BROKEN, /* see settings_warnings() */
};
struct settings_file {
	const char *name; /* "project .env" */
	const char *path;
	enum settings_file_state state;
};

#endif

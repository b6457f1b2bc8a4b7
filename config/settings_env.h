/* settings_env.h - the environment that a program of the user's is given. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_SETTINGS_ENV_H
#define CONFIG_SETTINGS_ENV_H

#include "config/settings.h"

/*
 * What was exported, and the .env files' variables below it: NAME=value,
 * NULL-terminated, owned. Of a sandbox provider's program (or NULL) also the
 * keys, stored ones too, that its entry in config.toml names as credentials, or
 * that the built-in provider of this name takes; no other stored key.
 */
char **settings_environ(const struct settings *s, const char *provider);
/* Zeroes before it frees: some are secret. */
void settings_environ_free(char **env);

#endif

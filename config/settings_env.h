/* settings_env.h - the environment that a program of the user's is given. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_SETTINGS_ENV_H
#define CONFIG_SETTINGS_ENV_H

struct settings;

/*
 * Environments for programs, from what was exported alone: NAME=value,
 * NULL-terminated, owned. No variable of a .env file is in them. A list of
 * names that are dangerous there cannot be complete: KUBECONFIG,
 * DOTNET_STARTUP_HOOKS, LUA_INIT and PYTHONPLATLIBDIR all run code.
 */
/*
 * For programs that dcode starts by itself (a provider's, Python, pip, bwrap,
 * credential_process): PATH has no empty or relative entry. For a sandbox
 * provider's program (else NULL) there are also the keys, stored ones too, that
 * its entry in config.toml names as credentials, or that the built-in provider
 * of this name takes; no other stored key.
 */
char **settings_environ(const struct settings *s, const char *provider);
/* The same without the keys that dcode itself takes or config.toml names: for a
 * program that passes on to others what its own configuration tells it to
 * (SendEnv of ssh). */
char **settings_environ_keyless(const struct settings *s);
/* For commands of the user's and of the model on this machine: as exported. */
char **settings_environ_exported(const struct settings *s);
/* Zeroes before it frees: some are secret. */
/* For what a repository brings and the user allowed (hooks, MCP servers): HOME,
 * LOGNAME, PATH (absolute entries), SHELL, TERM, USER, LANG, LC_* and TMPDIR.
 * Keys that were exported are no business of such a program. */
char **settings_environ_project(const struct settings *s);
void settings_environ_free(char **env);
/* The value of a variable that was exported, else NULL. Borrowed. */
const char *settings_exported(const struct settings *s, const char *name);

/* Once the settings are loaded: overwrites in the process's own environment,
 * which /proc and every library can read, what must never be shown. */
void settings_wipe_environ(const struct settings *s, char **environ);

#endif

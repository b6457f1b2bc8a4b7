/* settings_env.h - makes the environments of programs that dcode starts. */
/* SPDX-License-Identifier: MIT */
#ifndef CONFIG_SETTINGS_ENV_H
#define CONFIG_SETTINGS_ENV_H

struct settings;

/*
 * Environments for programs: NAME=value strings, NULL-terminated, owned. They
 * contain only exported variables. Variables of .env files are left out, since
 * no list of dangerous names could be complete: KUBECONFIG,
 * DOTNET_STARTUP_HOOKS, LUA_INIT and PYTHONPLATLIBDIR all make programs run
 * code.
 */
/*
 * For programs that dcode starts for its own work (a provider's program,
 * Python, pip, bwrap, credential_process). PATH has no empty or relative
 * entries. provider: the sandbox provider whose program is started, or NULL.
 * Its program also gets its keys, including stored ones: those that its entry
 * in config.toml names as credentials, or that the built-in provider of this
 * name uses. Other stored keys are never added.
 */
char **settings_environ(const struct settings *s, const char *provider);
/* Like settings_environ(), but without the variables whose keys dcode uses or
 * config.toml names. For a program whose own configuration may pass variables
 * on to another machine (SendEnv of ssh). */
char **settings_environ_keyless(const struct settings *s);
/* For commands of the user and of the model on this machine: all exported
 * variables. */
char **settings_environ_exported(const struct settings *s);
/* For programs that a repository defines and the user allowed (hooks, MCP
 * servers): only HOME, LOGNAME, PATH (absolute entries), SHELL, TERM, USER,
 * LANG, LC_* and TMPDIR. Such programs must not get exported keys. */
char **settings_environ_project(const struct settings *s);
/* Zeroes the strings before it frees them, since some are secret. */
void settings_environ_free(char **env);
/* Returns the value of an exported variable, else NULL. Borrowed. */
const char *settings_exported(const struct settings *s, const char *name);

/* Call after the settings are loaded. Overwrites secrets in the process's own
 * environment, which /proc and every library can read. */
void settings_wipe_environ(const struct settings *s, char **environ);

#endif

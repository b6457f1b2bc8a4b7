/* settings_env.c - the environment that a program of the user's is given. */
/* SPDX-License-Identifier: MIT */
#include "config/settings_env.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/mem.h"
#include "config/settings_impl.h"

char **settings_environ(const struct settings *s)
{
	char **env = xcalloc(s->env.n + 1, sizeof(*env));

	for (size_t i = 0; i < s->env.n; i++)
		env[i] = xasprintf("%s=%s", s->env.vars[i].name,
				   s->env.vars[i].value);
	return env;
}

void settings_environ_free(char **env)
{
	for (char **e = env; e && *e; e++) {
		sodium_memzero(*e, strlen(*e));
		free(*e);
	}
	free(env);
}

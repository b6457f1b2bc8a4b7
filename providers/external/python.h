/* python.h - the interpreter and the script that run provider classes. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_EXTERNAL_PYTHON_H
#define PROVIDERS_EXTERNAL_PYTHON_H

#include "config/settings.h"

/* Below ~/.deepagents: a virtual environment, with bin/python3 and packages in
 * lib/python3.N/site-packages, or only packages in site-packages. */
#define PYTHON_HOME "python"

/* Absolute, owned. */
char *python_home(const struct settings *set);
/* The interpreter: python_home()'s, that of the active virtual environment,
 * or python3 on PATH; absolute, owned. NULL when there is none. */
char *python_program(const struct settings *set);
/* A descriptor to read the host script from, the caller's; -1 with err. */
int python_script(struct error *err);
/* The arguments that make an interpreter read the script from descriptor 3 and
 * serve this class; NULL-terminated, owned. */
char **python_argv(const struct settings *set, const char *program,
		   const char *class_path);
/* Each directory that may hold Python packages of the user: of python_home(),
 * PYTHONPATH, the active virtual environment. dir is borrowed. */
void python_each_site(const struct settings *set,
		      void (*each)(void *arg, const char *dir), void *arg);

#endif

/* setup_values.h - expands setup scripts, and records what they received. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_SETUP_VALUES_H
#define UNIT_SETUP_VALUES_H

#include <stdio.h>

#include "sandbox/setup/setup.h"
#include "unit.h"

<<<<<<< HEAD
struct script_env {
=======
struct setup_env {
>>>>>>> b85608c0 (tests: the values of a setup script have a name of their own)
	int used;
	int notes;
	char last[200];
};

/* The test's own: what a name stands for. */
static struct setup_value value(void *arg, const char *name);

static void used(void *arg, const char *name, const struct setup_value *v)
{
<<<<<<< HEAD
	struct script_env *env = arg;
=======
	struct setup_env *env = arg;
>>>>>>> b85608c0 (tests: the values of a setup script have a name of their own)

	assert_string_equal(v->text, value(NULL, name).text);
	env->used++;
}

static void note(void *arg, const char *line)
{
<<<<<<< HEAD
	struct script_env *env = arg;
=======
	struct setup_env *env = arg;
>>>>>>> b85608c0 (tests: the values of a setup script have a name of their own)

	env->notes++;
	snprintf(env->last, sizeof(env->last), "%s", line);
}

<<<<<<< HEAD
static void expand(const char *script, struct script_env *env,
=======
static void expand(const char *script, struct setup_env *env,
>>>>>>> b85608c0 (tests: the values of a setup script have a name of their own)
		   struct setup_script *out)
{
	struct setup_values values = { value, used, note, env };
	struct error err = { 0 };

<<<<<<< HEAD
	*env = (struct script_env){ 0 };
=======
	*env = (struct setup_env){ 0 };
>>>>>>> b85608c0 (tests: the values of a setup script have a name of their own)
	setup_script_init(out);
	assert_int_equal(setup_expand(str_of(script), &values, out, &err), 0);
}

#endif

/* setup_values.h - expands setup scripts, and records what they received. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_SETUP_VALUES_H
#define UNIT_SETUP_VALUES_H

#include <stdio.h>

#include "sandbox/setup/setup.h"
#include "unit.h"

struct script_env {
	int used;
	int notes;
	char last[200];
};

/* The test's own: what a name stands for. */
static struct setup_value value(void *arg, const char *name);

static void used(void *arg, const char *name, const struct setup_value *v)
{
	struct script_env *env = arg;

	assert_string_equal(v->text, value(NULL, name).text);
	env->used++;
}

static void note(void *arg, const char *line)
{
	struct script_env *env = arg;

	env->notes++;
	snprintf(env->last, sizeof(env->last), "%s", line);
}

static void expand(const char *script, struct script_env *env,
		   struct setup_script *out)
{
	struct setup_values values = { value, used, note, env };
	struct error err = { 0 };

	*env = (struct script_env){ 0 };
	setup_script_init(out);
	assert_int_equal(setup_expand(str_of(script), &values, out, &err), 0);
}

#endif

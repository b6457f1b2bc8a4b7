/* default_model.h - dcode --default-model and --clear-default-model. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_DEFAULT_MODEL_H
#define CMD_DEFAULT_MODEL_H

#include "cmd/app.h"
#include "cmd/args.h"

bool models_default_is_asked(const struct args *args);
/* Shows, sets or clears [models].default in config.toml. Returns the exit
 * status. */
int models_default(struct app *app, const struct args *args);

/* Sets the default to "provider:model" and prints nothing. */
int models_default_store(struct app *app, const char *spec, struct error *err);

#endif

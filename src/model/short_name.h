/* short_name.h - "sonnet" for claude-sonnet-5-5, and each vendor's default. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_SHORT_NAME_H
#define MODEL_SHORT_NAME_H

/*
 * A short name is some parts of a model's name in their order, such as "opus",
 * "gemini-flash" or "opus-4.8" (parts are separated by "-" and "."). It
 * stands for the first model with these parts in the built-in table, where the
 * newest model of a family comes first. A model whose name ends in the last
 * part has priority: "sonnet-5" is claude-sonnet-5, not claude-sonnet-5-5. The
 * first part alone ("claude", "gpt") and the provider's name stand for the
 * vendor's default.
 */
#include <stdbool.h>

#include "base/str.h"

/* Returns the model that a short name stands for, and its provider. usable says
 * whether the user can use a provider; such a provider has priority. NULL if it
 * is not a short name. The results are static. */
const char *short_name_find(struct str name,
			    bool (*usable)(void *arg, const char *provider),
			    void *arg, const char **provider);
/* Returns the default model of a provider: the newest of the family that the
 * vendor describes as the one for demanding work. NULL: it has none. */
const char *short_name_default(const char *provider);
/* Returns the part of a model's name that is a short name for it, or an empty
 * text: "opus" for the newest Opus. */
struct str short_name_of(const char *provider, const char *model);

#endif

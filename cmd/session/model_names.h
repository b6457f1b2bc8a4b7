/* model_names.h - the models that the user can choose from. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_SESSION_MODEL_NAMES_H
#define CMD_SESSION_MODEL_NAMES_H

/*
 * For /model and its completion: the model in use, those of config.toml, those
 * of the built-in table, those that the server of the model in use offers, and
 * those of earlier threads. Vendors with a key come first, and of a family the
 * newest.
 */
#include "cmd/session/run.h"
#include "editor/choices.h"

enum { MODEL_NAMES_MAX = 600, MODEL_NAMES_TOKENS = 16 };

struct model_names {
	struct run *run;
	struct fuzzy_item items[MODEL_NAMES_MAX]; /* texts owned */
	size_t n;
};

/* Lists the models; the first one is in use. The first call for a server asks
 * it for its list, for a few seconds at most; a failure is not an error. Free
 * the result with model_names_free(). */
struct model_names *model_names_list(struct run *r);
/* True if the model in use is in the built-in table, in config.toml or in what
 * its server is known to offer, or if none of them has a model of its provider.
 * Otherwise sets near to the name most like it, if one is within two letters.
 * Asks no server. */
bool model_names_has(struct run *r, struct buf *near);
void model_names_free(struct model_names *m);
/* Formats a number of tokens as "1.05M" or "200k", or "-" for 0. */
const char *model_names_write_tokens(int64_t n, char room[MODEL_NAMES_TOKENS]);

#endif

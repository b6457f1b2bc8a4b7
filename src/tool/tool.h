/* tool.h - what the model can call. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_TOOL_H
#define TOOL_TOOL_H

#include "base/json.h"
#include "base/mask.h"
#include "model/model.h"
#include "sandbox/sandbox.h"

enum {
	TOOL_READS = 1 << 0,  /* changes nothing: may run beside others */
	TOOL_ASKS = 1 << 1,   /* needs approval on the user's own machine */
	TOOL_EVICTS = 1 << 2, /* a result too large goes to a file */
};

struct tool_env { /* all borrowed for the call */
	struct sandbox *sandbox;
	const struct stop *stop;
	const struct mask *mask;
	/* Live output of execute: cleaned of nothing, masked already. */
	void (*output)(void *arg, struct str delta);
	void *arg;
};

/* One row of the table in table.c. run returns 0 with the text for the model
 * in out, or -1: err->message is then the whole result text, marked as
 * failed, except ERR_CANCELLED and ERR_GONE, which end the turn. */
struct tool {
	struct tool_spec spec;
	unsigned flags;
	int (*run)(const struct tool_env *env, const cJSON *args,
		   struct buf *out, struct error *err);
};

extern const struct tool *const tools[]; /* NULL ends; spec order */
const struct tool *tool_find(const char *name);
/*
 * Everything about one call: unknown tool, arguments that are no object,
 * missing or mistyped parameters (words of spec/agent.md §10), run, masking,
 * eviction. Always fills *out with the result text; *failed says its kind.
 * -1 only for ERR_CANCELLED and ERR_GONE (out still holds a result).
 */
int tool_call(const struct tool_env *env, const struct part *call,
	      struct buf *out, bool *failed, struct error *err);

#endif

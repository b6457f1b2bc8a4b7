/* hooks_file.h - parses hooks.json: events, matchers and commands. */
/* SPDX-License-Identifier: MIT */
#ifndef HOOKS_HOOKS_FILE_H
#define HOOKS_HOOKS_FILE_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

enum hook_event {
	HOOK_SESSION_START,
	HOOK_USER_PROMPT_SUBMIT,
	HOOK_SESSION_END,
	HOOK_PERMISSION_REQUEST,
	HOOK_NOTIFICATION,
	HOOK_PRE_TOOL_USE,
	HOOK_POST_TOOL_USE,
	HOOK_POST_TOOL_USE_FAILURE,
	HOOK_PRE_COMPACT,
	HOOK_STOP,
	HOOK_SUBAGENT_START,
	HOOK_SUBAGENT_STOP,
	N_HOOK_EVENTS,
};

enum {
	/* bytes that are read of each output stream of a hook */
	HOOK_OUTPUT_MAX = 100000,
	HOOK_FILE_MAX = 1 << 20,
	HOOK_MOST = 200, /* hooks per file */
};

struct hook_handler { /* One command in hooks.json. */
	enum hook_event event;
	bool project;
	/* exact names to match, separated by '|' or ','; or NULL; owned */
	char *names;
	/* regular expression to match, as written; or NULL; owned */
	char *pattern;
	regex_t regex; /* the compiled pattern, if has_regex */
	bool has_regex;
	char *command; /* command line for sh -c, or NULL */
	char **argv;   /* owned, NULL-terminated; or NULL */
	int64_t timeout_ms;
	char *status; /* line to show when the hook starts; or NULL */
	/* For guards: why the hook cannot be run, so that it refuses; else
	 * NULL. Owned. */
	char *broken;
};

struct hook_list {
	struct hook_handler *list; /* owned; hooks of the project come first */
	size_t n;
};

struct hook_file { /* borrowed */
	const char *path;
	bool project;
	void (*warn)(const char *line);
};

const char *hook_event_name(enum hook_event event);
/* True for guards: events whose hooks may refuse. If a hook of such an event
 * cannot be run, the call or the prompt is refused. */
bool hook_event_guards(enum hook_event event);
/*
 * Adds the handlers in a file's text. A faulty handler is reported through
 * file->warn and left out; but a faulty handler of a guard is added with
 * `broken` set, so that it refuses. ERR_CONFIG if nothing in the file can be
 * used.
 */
int hook_file_parse(struct hook_list *list, struct str text,
		    const struct hook_file *file, struct error *err);
/* Compiles the patterns of this file's handlers. Reports a faulty pattern
 * through file->warn. Its handler then never matches, but a handler of a guard
 * gets `broken` set and refuses. A project's patterns must not be compiled
 * before the user has allowed the project. Attack: a repository that the user
 * only looks at has a pattern that takes all memory or hours to compile. */
void hook_list_compile(struct hook_list *list, const struct hook_file *file);
void hook_list_release(struct hook_list *list);
/* True if the handler matches value: a tool's name, a cause or a trigger; NULL
 * if the event has none. */
bool hook_matches(const struct hook_handler *h, const char *value);

#endif

/* hooks_file.h - hooks.json as a list of commands and what they wait for. */
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
	HOOK_OUTPUT_MAX = 100000, /* bytes of each stream */
	HOOK_FILE_MAX = 1 << 20,
	HOOK_MOST = 200, /* in one file */
};

struct hook_handler { /* one command of hooks.json */
	enum hook_event event;
	bool project;
	char *names;   /* exact ones, between '|' or ','; or NULL; owned */
	char *pattern; /* of regex; or NULL; owned */
	regex_t regex; /* when has_regex: pattern, compiled */
	bool has_regex;
	char *command; /* for sh -c; or NULL */
	char **argv;   /* owned, NULL-terminated; or NULL */
	int64_t timeout_ms;
	char *status; /* or NULL */
	/* Why it cannot run; or NULL. Only of guards: they refuse what they
	 * were to judge. Owned. */
	char *broken;
};

struct hook_list {
	struct hook_handler *list; /* owned: the project's first */
	size_t n;
};

struct hook_file { /* borrowed */
	const char *path;
	bool project;
	void (*warn)(const char *line);
};

const char *hook_event_name(enum hook_event event);
/* True for events whose hooks may refuse: without an answer of such a hook the
 * call or the prompt does not go ahead. */
bool hook_event_guards(enum hook_event event);
/*
 * Adds the handlers of a file's text. A faulty one is reported to warn and left
 * out; a faulty guard is kept as broken, which refuses. ERR_CONFIG: nothing of
 * the file can be used.
 */
int hook_file_parse(struct hook_list *list, struct str text,
		    const struct hook_file *file, struct error *err);
/* Compiles the patterns of this file's handlers. One with a faulty pattern is
 * reported to warn and never matches; a guard with one is broken. Attack: a
 * pattern that takes all memory, or hours, in a file of a repository that the
 * user only looks at. So a project's are compiled once it is allowed. */
void hook_list_compile(struct hook_list *list, const struct hook_file *file);
void hook_list_release(struct hook_list *list);
/* Whether the handler waits for value: a tool, a cause, a trigger; NULL for an
 * event without one. */
bool hook_matches(const struct hook_handler *h, const char *value);

#endif

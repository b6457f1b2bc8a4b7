/* file.c - reads hooks.json. */
/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "hooks/hooks_impl.h"

enum {
	USUAL_S = 600,
	PROMPT_S = 30, /* of UserPromptSubmit: a user waits */
	LONGEST_S = 86400,
	MOST_COMPLAINTS = 20, /* about one file */
};

static const char *const names[N_HOOK_EVENTS] = {
	[HOOK_SESSION_START] = "SessionStart",
	[HOOK_USER_PROMPT_SUBMIT] = "UserPromptSubmit",
	[HOOK_SESSION_END] = "SessionEnd",
	[HOOK_PERMISSION_REQUEST] = "PermissionRequest",
	[HOOK_NOTIFICATION] = "Notification",
	[HOOK_PRE_TOOL_USE] = "PreToolUse",
	[HOOK_POST_TOOL_USE] = "PostToolUse",
	[HOOK_POST_TOOL_USE_FAILURE] = "PostToolUseFailure",
	[HOOK_PRE_COMPACT] = "PreCompact",
	[HOOK_STOP] = "Stop",
	[HOOK_SUBAGENT_START] = "SubagentStart",
	[HOOK_SUBAGENT_STOP] = "SubagentStop",
};

const char *hook_event_name(enum hook_event event)
{
	return names[event];
}

struct hooks_reader {
	struct hook_list *list;
	const char *file;
	bool project;
	void (*warn)(const char *line);
	size_t n; /* of this file */
	size_t complaints;
};

static void complain(struct hooks_reader *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A file of a repository may have a hundred thousand faults. */
static void complain(struct hooks_reader *r, const char *fmt, ...)
{
	char what[400] = "more is wrong with it";
	char *line;
	va_list ap;

	if (r->complaints++ > MOST_COMPLAINTS)
		return;
	va_start(ap, fmt);
	if (r->complaints <= MOST_COMPLAINTS)
		vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	line = xasprintf("%s: %s", r->file, what);
	r->warn(line);
	free(line);
}

static void release_handler(struct hook_handler *h)
{
	if (h->has_regex)
		regfree(&h->regex);
	for (char **word = h->argv; word && *word; word++)
		free(*word);
	free(h->argv);
	free(h->names);
	free(h->pattern);
	free(h->command);
	free(h->status);
}

void hook_list_release(struct hook_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		release_handler(&list->list[i]);
	free(list->list);
	*list = (struct hook_list){ 0 };
}

void hook_list_compile(struct hook_list *list, const char *file, bool project,
		       void (*warn)(const char *line))
{
	struct hooks_reader r = { list, file, project, warn, 0, 0 };

	for (size_t i = 0; i < list->n; i++)
		if (list->list[i].project == project &&
		    !hook_match_compile(&list->list[i]))
			complain(&r,
				 "a hook of %s is left out: its matcher is no "
				 "regular expression",
				 names[list->list[i].event]);
}

static bool read_argv(struct hook_handler *h, const cJSON *argv)
{
	int n = cJSON_GetArraySize(argv);
	const cJSON *word;
	int i = 0;

	if (!cJSON_IsArray(argv) || !n)
		return false;
	h->argv = xcalloc((size_t)n + 1, sizeof(char *));
	cJSON_ArrayForEach (word, argv) {
		if (!cJSON_IsString(word))
			return false;
		h->argv[i++] = xstrdup(word->valuestring);
	}
	return h->argv[0][0] != '\0';
}

static bool read_timeout(struct hook_handler *h, const cJSON *timeout)
{
	double seconds =
		h->event == HOOK_USER_PROMPT_SUBMIT ? PROMPT_S : USUAL_S;

	if (timeout && !cJSON_IsNull(timeout)) {
		if (!cJSON_IsNumber(timeout) || !(timeout->valuedouble > 0))
			return false;
		seconds = timeout->valuedouble;
	}
	if (seconds > LONGEST_S)
		seconds = LONGEST_S;
	h->timeout_ms = (int64_t)(seconds * 1000);
	if (!h->timeout_ms)
		h->timeout_ms = 1;
	return true;
}

/* NULL, or why the hook cannot be used. */
static const char *read_handler(struct hook_handler *h, const char *matcher,
				const cJSON *hook)
{
	const cJSON *argv = json_get(hook, "argv");
	const char *command = json_string(hook, "command", NULL);
	const char *why = NULL;

	if (!cJSON_IsObject(hook))
		return "it is no object";
	if (strcmp(json_string(hook, "type", "command"), "command") != 0)
		return "dcode knows only hooks of the type \"command\"";
	if (argv && !cJSON_IsNull(argv) && !read_argv(h, argv))
		return "argv has to be a list of strings";
	if (!h->argv && (!command || !str_trim(str_of(command)).len))
		return "it has no command";
	if (!read_timeout(h, json_get(hook, "timeout")))
		return "timeout has to be a number of seconds above 0";
	if (!hook_match_parse(h, matcher, &why))
		return why;
	if (!h->argv)
		h->command = xstrdup(command);
	h->status = xstrdup(json_string(hook, "statusMessage", NULL));
	return NULL;
}

static void add_handler(struct hooks_reader *r, enum hook_event event,
			const char *matcher, const cJSON *hook)
{
	struct hook_list *list = r->list;
	struct hook_handler h = { .event = event, .project = r->project };
	const char *why = read_handler(&h, matcher, hook);

	if (!why && ++r->n > HOOK_MOST)
		why = "there are too many";
	if (why) {
		complain(r, "a hook of %s is left out: %s", names[event], why);
		release_handler(&h);
		return;
	}
	list->list = xrealloc(list->list, list->n + 1, sizeof(*list->list));
	list->list[list->n++] = h;
}

static void add_event(struct hooks_reader *r, enum hook_event event,
		      const cJSON *groups)
{
	const cJSON *group;
	const cJSON *hook;

	if (!cJSON_IsArray(groups))
		complain(r, "%s has to be a list", names[event]);
	cJSON_ArrayForEach (group, groups) {
		const cJSON *matcher = json_get(group, "matcher");
		const cJSON *hooks = json_get(group, "hooks");

		if (!cJSON_IsArray(hooks) ||
		    (matcher && !cJSON_IsString(matcher) &&
		     !cJSON_IsNull(matcher))) {
			complain(r,
				 "a group of %s is left out: it is {\"matcher\""
				 ": TEXT, \"hooks\": [...]}",
				 names[event]);
			continue;
		}
		cJSON_ArrayForEach (hook, hooks)
			add_handler(r, event,
				    matcher ? matcher->valuestring : NULL,
				    hook);
	}
}

static void add_named(struct hooks_reader *r, const cJSON *groups)
{
	for (int i = 0; i < N_HOOK_EVENTS; i++)
		if (!strcmp(names[i], groups->string)) {
			add_event(r, (enum hook_event)i, groups);
			return;
		}
	complain(r, "there is no event '%.60s'", groups->string);
}

void hook_file_parse(struct hook_list *list, struct str text, const char *file,
		     bool project, void (*warn)(const char *line))
{
	struct hooks_reader r = { list, file, project, warn, 0, 0 };
	cJSON *tree = json_parse(text);
	const cJSON *events = json_get(tree, "hooks");
	const cJSON *groups;

	if (!tree)
		complain(&r,
			 "it is no JSON from line %zu on (comments and "
			 "trailing commas are none): none of its hooks runs",
			 json_error_line(text));
	else if (cJSON_IsArray(tree))
		complain(&r, "this is the old format (a list of commands with "
			     "events), which is not read any more: write "
			     "{\"hooks\": {\"PreToolUse\": [...]}}");
	else if (!cJSON_IsObject(events))
		complain(&r, "\"hooks\" has to be an object of events");
	else
		cJSON_ArrayForEach (groups, events)
			add_named(&r, groups);
	cJSON_Delete(tree);
}

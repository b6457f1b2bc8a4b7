/* hooks_file.c - parses hooks.json: events, matchers and commands. */
/* SPDX-License-Identifier: MIT */
/*
 * A guard is an event whose hooks may refuse. If one of its hooks cannot be
 * parsed, it must not let everything through: a handler that refuses replaces
 * it. Begin reading at hook_file_parse(). The matchers, which are names or a
 * regular expression, come first.
 */
#include "hooks/hooks_file.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "hooks/hook_program.h"

/* Part of the warning about a guard that cannot be parsed. */
#define REFUSES "is invalid, so everything that it guards is refused"

enum { LONGEST_VALUE = 1024 /* bytes that a pattern is tried on */ };

/* True if a matcher is a list of names. The rule is Claude Code's: a matcher
 * that has only letters, digits, "_", "-", "|" and "," is a list, any other is
 * a regular expression. */
static bool is_list_of_names(const char *matcher)
{
	for (; *matcher; matcher++)
		if (!isalnum((unsigned char)*matcher) &&
		    !strchr("_-|,", *matcher))
			return false;
	return true;
}

/* Converts a pattern of Python's syntax to POSIX: replaces \d and (?:...),
 * which POSIX does not have. */
static char *to_posix(const char *pattern)
{
	struct buf out = BUF_INIT(1 << 16);
	bool in_set = false;

	for (; *pattern; pattern++) {
		if (*pattern == '\\' && pattern[1] == 'd') {
			buf_adds(&out, in_set ? "0-9" : "[0-9]");
			pattern++;
		} else if (*pattern == '\\' && pattern[1]) {
			buf_addc(&out, *pattern++);
			buf_addc(&out, *pattern);
		} else if (!in_set && !strncmp(pattern, "(?:", 3)) {
			buf_addc(&out, '(');
			pattern += 2;
		} else {
			in_set = in_set ? *pattern != ']' : *pattern == '[';
			buf_addc(&out, *pattern);
		}
	}
	return buf_detach(&out);
}

/* Stores the matcher as names, or as a pattern that is compiled later. False
 * with *why if the event has no matchers. */
static bool parse_matcher(struct hook_handler *h, const char *matcher,
			  const char **why)
{
	bool any = !matcher || !matcher[0] || !strcmp(matcher, "*");

	if (any)
		return true;
	if (h->event == HOOK_USER_PROMPT_SUBMIT || h->event == HOOK_STOP) {
		*why = "this event does not support a matcher";
		return false;
	}
	if (is_list_of_names(matcher))
		h->names = xstrdup(matcher);
	else
		h->pattern = to_posix(matcher);
	return true;
}

/* Compiles the pattern. False if it is not a regular expression. */
static bool compile_pattern(struct hook_handler *h)
{
	if (h->pattern && !h->has_regex)
		h->has_regex = !regcomp(&h->regex, h->pattern,
					REG_EXTENDED | REG_NOSUB);
	return !h->pattern || h->has_regex;
}

bool hook_matches(const struct hook_handler *h, const char *value)
{
	struct str rest = str_of(h->names);

	if (!h->names && !h->pattern)
		return true;
	if (h->pattern && !h->has_regex)
		/* A guard whose pattern cannot be compiled matches
		 * everything. */
		return h->broken != NULL;
	if (!value)
		return false;
	/* A value that is too long for the pattern counts as a match. Attack:
	 * an MCP server gives a tool such a long name that the hook that should
	 * refuse it does not match. */
	if (h->has_regex)
		return strlen(value) > LONGEST_VALUE ||
		       regexec(&h->regex, value, 0, NULL, 0) == 0;
	while (rest.len) {
		size_t len = 0;

		while (len < rest.len && !strchr("|,", rest.ptr[len]))
			len++;
		if (len && str_is((struct str){ rest.ptr, len }, value))
			return true;
		rest = str_skip(rest, len + 1);
	}
	return false;
}

enum {
	USUAL_S = 600,
	/* default time limit of UserPromptSubmit: the user is waiting */
	PROMPT_S = 30,
	LONGEST_S = 86400,
	MOST_COMPLAINTS = 20, /* maximum number of warnings per file */
	/* an unknown event is a misspelling if it differs from a known one by
	 * at most so many letters */
	MISSPELLED = 2,
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

struct hooks_reader {
	struct hook_list *list;
	const struct hook_file *file;
	size_t n; /* number of hooks in this file */
	size_t complaints;
	/* per guard event: a broken handler that matches everything has been
	 * added, so a second one is not needed */
	bool has_broken[N_HOOK_EVENTS];
};

static const char bad_matcher[] = "its matcher is not a regular expression";

const char *hook_event_name(enum hook_event event)
{
	return names[event];
}

bool hook_event_guards(enum hook_event event)
{
	return event == HOOK_PRE_TOOL_USE || event == HOOK_PERMISSION_REQUEST ||
	       event == HOOK_USER_PROMPT_SUBMIT;
}

/* Reports a fault. At most MOST_COMPLAINTS times, because the file of a
 * repository may have a hundred thousand faults. */
__attribute__((format(printf, 2, 3))) static void
complain(struct hooks_reader *r, const char *fmt, ...)
{
	char what[400] = "it has further errors";
	char *line;
	va_list ap;

	if (r->complaints++ > MOST_COMPLAINTS)
		return;
	va_start(ap, fmt);
	if (r->complaints <= MOST_COMPLAINTS)
		vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	line = xasprintf("%s: %s", r->file->path, what);
	r->file->warn(line);
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
	free(h->broken);
}

void hook_list_release(struct hook_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		release_handler(&list->list[i]);
	free(list->list);
	*list = (struct hook_list){ 0 };
}

void hook_list_compile(struct hook_list *list, const struct hook_file *file)
{
	struct hooks_reader r = { .list = list, .file = file };

	for (size_t i = 0; i < list->n; i++) {
		struct hook_handler *h = &list->list[i];

		if (h->project != file->project || compile_pattern(h))
			continue;
		if (hook_event_guards(h->event) && !h->broken)
			h->broken = xstrdup(bad_matcher);
		complain(&r, "a %s hook %s: %s", names[h->event],
			 h->broken ? REFUSES : "is ignored", bad_matcher);
	}
}

/* Reads argv. False unless it is a list of strings whose first one is not
 * empty. */
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

/* Reads the timeout in seconds; fractions are allowed. False if it is not a
 * positive number. */
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

/* Reads one hook into h. Returns NULL, or the reason why it is invalid. */
static const char *read_handler(struct hook_handler *h, const char *matcher,
				const cJSON *hook)
{
	const cJSON *argv = json_get(hook, "argv");
	const char *command = json_string(hook, "command", NULL);
	const char *why = NULL;

	if (!parse_matcher(h, matcher, &why))
		return why;
	if (!cJSON_IsObject(hook))
		return "it is not an object";
	if (strcmp(json_string(hook, "type", "command"), "command") != 0)
		return "dcode knows only hooks of type \"command\"";
	if (argv && !cJSON_IsNull(argv) && !read_argv(h, argv))
		return "argv must be a list of strings";
	if (!h->argv && (!command || !str_trim(str_of(command)).len))
		return "it has no command";
	if (!read_timeout(h, json_get(hook, "timeout")))
		return "timeout must be a number of seconds above 0";
	if (!h->argv)
		h->command = xstrdup(command);
	if (!h->project)
		why = hook_program_fault((const char *const *)h->argv,
					 h->command);
	if (why)
		return why;
	h->status = xstrdup(json_string(hook, "statusMessage", NULL));
	return NULL;
}

static void append_handler(struct hook_list *list, struct hook_handler h)
{
	list->list = xrealloc(list->list, list->n + 1, sizeof(*list->list));
	list->list[list->n++] = h;
}

/* Reports a fault in a hook of this event. For a guard, also adds a handler
 * that refuses, unless one that refuses everything was added before. h: what
 * was read of the hook, of which this takes ownership; NULL: the hook could
 * have matched anything. */
static void add_fault(struct hooks_reader *r, enum hook_event event,
		      struct hook_handler *h, const char *why)
{
	struct hook_handler any = { .event = event,
				    .project = r->file->project };
	bool guards = hook_event_guards(event);

	complain(r, "a %s hook %s: %s", names[event],
		 guards ? REFUSES : "is ignored", why);
	if (h && (!guards || r->has_broken[event]))
		release_handler(h);
	if (!guards || r->has_broken[event])
		return;
	any = h ? *h : any;
	any.broken = xstrdup(why);
	r->has_broken[event] = !any.names && !any.pattern;
	append_handler(r->list, any);
}

/* Adds one hook of a group, or reports why it is invalid. */
static void add_handler(struct hooks_reader *r, enum hook_event event,
			const char *matcher, const cJSON *hook)
{
	struct hook_handler h = { .event = event, .project = r->file->project };
	const char *why = read_handler(&h, matcher, hook);

	if (++r->n > HOOK_MOST) {
		release_handler(&h);
		add_fault(r, event, NULL, "there are too many hooks");
	} else if (why) {
		add_fault(r, event, &h, why);
	} else {
		append_handler(r->list, h);
	}
}

/* Adds all groups of an event: {"matcher": TEXT, "hooks": [...]}. */
static void add_event(struct hooks_reader *r, enum hook_event event,
		      const cJSON *groups)
{
	const cJSON *group;
	const cJSON *hook;

	if (!cJSON_IsArray(groups))
		add_fault(r, event, NULL, "the event must be a list");
	cJSON_ArrayForEach (group, groups) {
		const cJSON *matcher = json_get(group, "matcher");
		const cJSON *hooks = json_get(group, "hooks");

		if (!cJSON_IsArray(hooks) ||
		    (matcher && !cJSON_IsString(matcher) &&
		     !cJSON_IsNull(matcher))) {
			add_fault(r, event, NULL,
				  "its group is not {\"matcher\": TEXT, "
				  "\"hooks\": [...]}");
			continue;
		}
		cJSON_ArrayForEach (hook, hooks)
			add_handler(r, event,
				    matcher ? matcher->valuestring : NULL,
				    hook);
	}
}

/* Adds the groups of one event. Unknown events are only reported, because other
 * programs may have more events. But a misspelled guard ("PreToolUes") refuses
 * everything, because it would never run although the user relies on it. */
static void add_groups(struct hooks_reader *r, const cJSON *groups)
{
	for (int i = 0; i < N_HOOK_EVENTS; i++)
		if (!strcmp(names[i], groups->string)) {
			add_event(r, (enum hook_event)i, groups);
			return;
		}
	complain(r, "unknown event '%.60s'", groups->string);
	for (int i = 0; i < N_HOOK_EVENTS; i++)
		if (hook_event_guards((enum hook_event)i) &&
		    nearest_distance(str_of(groups->string),
				     str_of(names[i])) <= MISSPELLED)
			add_fault(r, (enum hook_event)i, NULL,
				  "its event name is misspelled");
}

int hook_file_parse(struct hook_list *list, struct str text,
		    const struct hook_file *file, struct error *err)
{
	struct hooks_reader r = { .list = list, .file = file };
	cJSON *tree = json_parse(text);
	const cJSON *events = json_get(tree, "hooks");
	const cJSON *groups;
	int rc = 0;

	if (!tree)
		rc = error_set(err, ERR_CONFIG,
			       "%s is not JSON from line %zu on (comments and "
			       "trailing commas are not allowed)",
			       file->path, json_parse_error_line(text));
	else if (cJSON_IsArray(tree))
		rc = error_set(err, ERR_CONFIG,
			       "%s has the old format (a list of commands with "
			       "events), which dcode no longer reads: write "
			       "{\"hooks\": {\"PreToolUse\": [...]}}",
			       file->path);
	else if (!cJSON_IsObject(events) && (tree->child || events))
		rc = error_set(err, ERR_CONFIG,
			       "%s: \"hooks\" must be an object of events",
			       file->path);
	else
		cJSON_ArrayForEach (groups, events)
			add_groups(&r, groups);
	cJSON_Delete(tree);
	return rc;
}

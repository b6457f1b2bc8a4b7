/* file.c - reads hooks.json. */
/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "base/str.h"
#include "hooks/hooks_impl.h"

enum {
	USUAL_S = 600,
	PROMPT_S = 30, /* of UserPromptSubmit: a user waits */
	LONGEST_S = 86400,
	MOST_COMPLAINTS = 20, /* about one file */
	MISSPELLED = 2,       /* letters */
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

bool hook_event_guards(enum hook_event event)
{
	return event == HOOK_PRE_TOOL_USE || event == HOOK_PERMISSION_REQUEST ||
	       event == HOOK_USER_PROMPT_SUBMIT;
}

struct hooks_reader {
	struct hook_list *list;
	const struct hook_file *file;
	size_t n; /* of this file */
	size_t complaints;
	bool has_broken[N_HOOK_EVENTS]; /* one for each guard is enough */
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

static const char bad_matcher[] = "its matcher is not a regular expression";

void hook_list_compile(struct hook_list *list, const struct hook_file *file)
{
	struct hooks_reader r = { .list = list, .file = file };

	for (size_t i = 0; i < list->n; i++) {
		struct hook_handler *h = &list->list[i];

		if (h->project != file->project || hook_match_compile(h))
			continue;
		if (hook_event_guards(h->event) && !h->broken)
			h->broken = xstrdup(bad_matcher);
		complain(&r, "a hook of %s %s: %s", names[h->event],
			 h->broken ? "cannot run" : "is ignored", bad_matcher);
	}
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

/* A word of a shell that assigns ("A=b") comes before the command. */
static bool is_assignment(struct str word)
{
	size_t equals = str_find(word, '=');

	if (!equals || equals == word.len)
		return false;
	for (size_t i = 0; i < equals; i++)
		if (!isalnum((unsigned char)word.ptr[i]) && word.ptr[i] != '_')
			return false;
	return true;
}

/* Words that stand before the command that they run. */
static bool is_prefix(struct str word)
{
	static const char *const words[] = { "exec", "command", "env",  "time",
					     "nice", "nohup",   "sudo", "!",
					     "{",    "then",    "if" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (str_is(word, words[i]))
			return true;
	return false;
}

/* Appends "$(...)" from its dollar sign on; how many bytes that is. */
static size_t add_substitution(struct str text, struct buf *word)
{
	size_t depth = 0;
	size_t i = 0;

	do {
		depth += text.ptr[i] == '(';
		depth -= text.ptr[i] == ')';
		buf_addc(word, text.ptr[i++]);
	} while (i < text.len && (depth || i < 2));
	return i;
}

/* Takes a word off the front, with its quotes, and appends it without them. */
static void take_word(struct str *rest, struct buf *word)
{
	char quote = 0;

	buf_clear(word);
	while (rest->len) {
		char c = rest->ptr[0];
		size_t taken = 1;

		if (!quote && strchr(" \t\n;|&<>()", c))
			break;
		if (quote != '\'' && str_starts(*rest, "$("))
			taken = add_substitution(*rest, word);
		else if (c == '\\' && quote != '\'' && rest->len > 1)
			buf_addc(word, rest->ptr[taken++]);
		else if (quote ? c == quote : c == '"' || c == '\'')
			quote = quote ? 0 : c;
		else
			buf_addc(word, c);
		*rest = str_skip(*rest, taken);
	}
}

/* The program of a shell's command, without what stands before it. */
static void find_program_word(const char *command, struct buf *word)
{
	struct str rest = str_of(command);

	do {
		while (rest.len && strchr(" \t\n(", rest.ptr[0]))
			rest = str_skip(rest, 1);
		take_word(&rest, word);
	} while (rest.len &&
		 (is_assignment(buf_str(word)) || is_prefix(buf_str(word))));
}

/* Hooks start in the session's directory, where a relative path is a file of
 * the repository, which the user's own hooks.json never means. */
static bool is_relative(struct str word)
{
	static const char *const absolute[] = { "/", "~", "$HOME/",
						"${HOME}/" };

	if (str_find(word, '/') == word.len)
		return false;
	for (size_t i = 0; i < sizeof(absolute) / sizeof(*absolute); i++)
		if (str_starts(word, absolute[i]))
			return false;
	return true;
}

static bool runs_relative(const struct hook_handler *h)
{
	struct buf word = BUF_INIT(HOOK_FILE_MAX);
	bool relative;

	if (h->argv) {
		buf_adds(&word, h->argv[0]);
		relative = word.ptr[0] != '/' && strchr(word.ptr, '/');
	} else {
		find_program_word(h->command, &word);
		relative = is_relative(buf_str(&word));
	}
	buf_release(&word);
	return relative;
}

/* NULL, or why the hook cannot be used. */
static const char *read_handler(struct hook_handler *h, const char *matcher,
				const cJSON *hook)
{
	const cJSON *argv = json_get(hook, "argv");
	const char *command = json_string(hook, "command", NULL);
	const char *why = NULL;

	if (!hook_match_parse(h, matcher, &why))
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
	if (!h->project && runs_relative(h))
		return "its program must be an absolute path or a name on PATH";
	h->status = xstrdup(json_string(hook, "statusMessage", NULL));
	return NULL;
}

static void append(struct hook_list *list, struct hook_handler h)
{
	list->list = xrealloc(list->list, list->n + 1, sizeof(*list->list));
	list->list[list->n++] = h;
}

/* Something of this event cannot be used. A guard that nobody runs would let
 * everything through: its place takes one that refuses. h: what was read of it,
 * taken over; NULL: it could have matched anything. */
static void add_fault(struct hooks_reader *r, enum hook_event event,
		      struct hook_handler *h, const char *why)
{
	struct hook_handler any = { .event = event,
				    .project = r->file->project };
	bool guards = hook_event_guards(event);

	complain(r, "a hook of %s %s: %s", names[event],
		 guards ? "cannot run, so it refuses" : "is ignored", why);
	if (h && (!guards || r->has_broken[event]))
		release_handler(h);
	if (!guards || r->has_broken[event])
		return;
	any = h ? *h : any;
	any.broken = xstrdup(why);
	r->has_broken[event] = !any.names && !any.pattern;
	append(r->list, any);
}

static void add_handler(struct hooks_reader *r, enum hook_event event,
			const char *matcher, const cJSON *hook)
{
	struct hook_handler h = { .event = event, .project = r->file->project };
	const char *why = read_handler(&h, matcher, hook);

	if (++r->n > HOOK_MOST) {
		release_handler(&h);
		add_fault(r, event, NULL, "there are too many");
	} else if (why) {
		add_fault(r, event, &h, why);
	} else {
		append(r->list, h);
	}
}

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

/* Another program's event is none of ours. Attack: "PreToolUes", whose guard
 * nobody would run. */
static void add_named(struct hooks_reader *r, const cJSON *groups)
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
				  "its name is misspelled");
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
			       file->path, json_error_line(text));
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
			add_named(&r, groups);
	cJSON_Delete(tree);
	return rc;
}

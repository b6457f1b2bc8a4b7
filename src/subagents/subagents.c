/* subagents.c - the subagents that were read: finding and telling them. */
/* SPDX-License-Identifier: MIT */
#include "subagents/subagents.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

enum {
	LIST_MAX = 48 << 10, /* bytes of what the model is told */
	PATTERN_MAX = 256,
};

void subagents_release(struct subagents *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct subagent *k = &s->list[i];

		free(k->name);
		free(k->description);
		free(k->model);
		free(k->tools);
		free(k->denied);
		free(k->body);
		free(k->file);
		free(k->head);
		free(k->root);
	}
	for (size_t i = 0; i < s->n_problems; i++)
		free(s->problems[i]);
	free(s->list);
	free(s->problems);
	*s = (struct subagents){ 0 };
}

const struct subagent *subagents_find(const struct subagents *s,
				      const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->list[i].name, name))
			return &s->list[i];
	return NULL;
}

void subagents_describe(const struct subagents *s, struct buf *out)
{
	size_t begin = out->len;

	buf_adds(out, "\n\nThe subagents, by name:");
	for (size_t i = 0; i < s->n; i++) {
		const struct subagent *k = &s->list[i];

		if (out->len - begin + strlen(k->description) > LIST_MAX)
			break;
		buf_addf(out, "\n- %s: ", k->name);
		buf_adds(out, k->description);
		if (k->tools)
			buf_addf(out, " (Tools: %s)",
				 k->tools[0] ? k->tools : "none");
	}
}

/* Names of Claude Code's tools, whose files look the same. */
static const char *own_name(struct str word)
{
	static const char *const names[][2] = {
		{ "Bash", "execute" },
		{ "BashOutput", "job_output" },
		{ "KillShell", "job_kill" },
		{ "Read", "read_file" },
		{ "Write", "write_file" },
		{ "Edit", "edit_file" },
		{ "MultiEdit", "edit_file" },
		{ "LS", "ls" },
		{ "WebFetch", "fetch_url" },
		{ "WebSearch", "web_search" },
		{ "TodoWrite", "write_todos" },
		{ "AskUserQuestion", "ask_user" },
		{ "Agent", "task" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_is_nocase(word, names[i][0]))
			return names[i][1];
	return NULL;
}

/* "mcp__SERVER" stands for all tools of that server. */
static bool is_server_of(struct str word, const char *hook_name)
{
	struct str name = str_of(hook_name);

	return str_starts(word, "mcp__") && name.len > word.len + 2 &&
	       !memcmp(name.ptr, word.ptr, word.len) &&
	       str_starts(str_skip(name, word.len), "__");
}

bool subagent_word_means(struct str word, const char *tool,
			 const char *hook_name)
{
	char pattern[PATTERN_MAX];
	const char *own;

	word = str_trim(word);
	own = own_name(word);
	if (str_is_nocase(word, tool) || (own && !strcmp(own, tool)))
		return true;
	if (!word.len || word.len >= sizeof(pattern))
		return false;
	memcpy(pattern, word.ptr, word.len);
	pattern[word.len] = '\0';
	return fnmatch(pattern, tool, 0) == 0 ||
	       (hook_name && (fnmatch(pattern, hook_name, 0) == 0 ||
			      is_server_of(word, hook_name)));
}

static bool is_among(const char *words, const char *tool, const char *hook_name)
{
	struct str rest = str_of(words);
	struct str word;

	while (str_split(&rest, ',', &word))
		if (subagent_word_means(word, tool, hook_name))
			return true;
	return false;
}

bool subagent_has_tool(const struct subagent *k, const char *tool,
		       const char *hook_name)
{
	return (!k->tools || is_among(k->tools, tool, hook_name)) &&
	       !(k->denied && is_among(k->denied, tool, hook_name));
}

/* subagents.c - the subagents that were read: finding and telling them. */
/* SPDX-License-Identifier: MIT */
#include "subagents/subagents.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

enum { LIST_MAX = 48 << 10 }; /* bytes of what the model is told */

void subagents_release(struct subagents *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct subagent *k = &s->list[i];

		free(k->name);
		free(k->description);
		free(k->model);
		free(k->tools);
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
		{ "Read", "read_file" },
		{ "Write", "write_file" },
		{ "Edit", "edit_file" },
		{ "LS", "ls" },
		{ "WebFetch", "fetch_url" },
		{ "WebSearch", "web_search" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str_is(word, names[i][0]))
			return names[i][1];
	return NULL;
}

bool subagent_has_tool(const struct subagent *k, const char *tool)
{
	struct str rest = str_of(k->tools);
	struct str word;

	if (!k->tools)
		return true;
	while (str_split(&rest, ',', &word)) {
		struct str name = str_trim(word);
		const char *own = own_name(name);

		if (str_is(name, "*") || str_is_nocase(name, tool) ||
		    (own && !strcmp(own, tool)))
			return true;
	}
	return false;
}

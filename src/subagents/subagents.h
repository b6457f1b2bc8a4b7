/* subagents.h - AGENTS.md files of subagents: who can be given work. */
/* SPDX-License-Identifier: MIT */
#ifndef SUBAGENTS_SUBAGENTS_H
#define SUBAGENTS_SUBAGENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum {
	SUBAGENT_FILE_MAX = 128 << 10, /* bytes of an AGENTS.md */
	SUBAGENT_NAME_MAX = 64,        /* bytes */
};

/* Always there, unless a file has this name. */
#define SUBAGENT_GENERAL "general-purpose"

/* Texts are owned. */
struct subagent {
	char *name;        /* one clean word */
	char *description; /* one clean line */
	char *model;       /* "anthropic:claude-haiku-4-5", or NULL */
	char *tools;       /* "execute, read_file"; NULL: as its caller */
	char *denied;      /* the same of those that it has not; or NULL */
	char *body;        /* what it is told of itself; or NULL */
	char *file;        /* NULL: it is built in */
	char *head;        /* the front matter, as it is written; or NULL */
	char *root; /* of the project that brought it; NULL: the user's */
	bool apart; /* always in a sandbox of its own */
	int64_t max_turns; /* 0: no limit of its own */
	double max_usd;    /* 0: none */
};

struct subagents {             /* start from { 0 } */
	struct subagent *list; /* the general one, then by name */
	size_t n;
	char **problems; /* a line each: what was left out, and why */
	size_t n_problems;
};

struct subagents_request {      /* all borrowed */
	const char *config_dir; /* ~/.deepagents */
	const char *agent;      /* "agent" */
	const char *cwd;
};

/*
 * Reads CONFIG_DIR/AGENT/agents/NAME/AGENTS.md, then
 * .deepagents/agents/NAME/AGENTS.md of the project's root, which takes
 * precedence. What cannot be used becomes a problem, never an error. A
 * project's links are followed within the project only. Any thread.
 */
void subagents_read(struct subagents *s, const struct subagents_request *r);
void subagents_release(struct subagents *s);
const struct subagent *subagents_find(const struct subagents *s,
				      const char *name);
/* Appends the list as the model is told it, behind what task says of itself. */
void subagents_describe(const struct subagents *s, struct buf *out);
/* Whether its file lets it have the tool of this name, which hooks call
 * hook_name: "mcp__SERVER__TOOL", or NULL. */
bool subagent_has_tool(const struct subagent *k, const char *tool,
		       const char *hook_name);
/* Whether a word of tools or denied is a name, or a pattern (fnmatch), of it.
 */
bool subagent_word_means(struct str word, const char *tool,
			 const char *hook_name);

#endif

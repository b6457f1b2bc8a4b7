/* subagents.h - reads AGENTS.md files that define subagents. */
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

/* Name of the built-in subagent. A file that defines this name replaces it. */
#define SUBAGENT_GENERAL "general-purpose"

/* Texts are owned. */
struct subagent {
	char *name;        /* one word without control characters */
	char *description; /* one line without control characters */
	char *model;       /* "anthropic:claude-haiku-4-5", or NULL */
	/* tools that it may have: "execute, read_file"; NULL: those of the
	 * parent */
	char *tools;
	/* tools that it must not have, in the same form; or NULL */
	char *denied;
	char *body; /* instructions for the subagent, or NULL */
	char *file; /* path of the AGENTS.md; NULL: built in */
	char *head; /* the front matter of the file as written, or NULL */
	/* root of the project that contains the file; NULL: a file of the
	 * user */
	char *root;
	bool apart; /* always runs in its own sandbox, not in its parent's */
	int64_t max_turns; /* 0: no limit except the parent's */
	double max_usd;    /* 0: no limit except the parent's */
};

struct subagents { /* initialise with { 0 } */
	/* general-purpose first, the others sorted by name */
	struct subagent *list;
	size_t n;
	/* one line for each file that was left out, with the reason */
	char **problems;
	size_t n_problems;
};

struct subagents_request {      /* all borrowed */
	const char *config_dir; /* ~/.deepagents */
	const char *agent;      /* name of the agent, usually "agent" */
	const char *cwd;
};

/*
 * Reads CONFIG_DIR/AGENT/agents/NAME/AGENTS.md, then
 * .deepagents/agents/NAME/AGENTS.md of the project's root. A subagent of the
 * project replaces one of the user with the same name. A file that cannot be
 * used is added to problems and is not an error. A project's links may only
 * lead into the project. Any thread.
 */
void subagents_read(struct subagents *s, const struct subagents_request *r);
void subagents_release(struct subagents *s);
const struct subagent *subagents_find(const struct subagents *s,
				      const char *name);
/* Appends the list of subagents for the model. It follows the description of
 * the task tool. */
void subagents_describe(const struct subagents *s, struct buf *out);
/* True if the subagent may have the tool, according to its file. hook_name: the
 * tool's name in hooks ("mcp__SERVER__TOOL"), or NULL. */
bool subagent_has_tool(const struct subagent *k, const char *tool,
		       const char *hook_name);
/* True if the word, from `tools` or `denied`, is the tool's name or a pattern
 * (fnmatch) that matches it. */
bool subagent_word_means(struct str word, const char *tool,
			 const char *hook_name);

#endif

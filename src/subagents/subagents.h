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

/* Built in, unless a file defines this name. */
#define SUBAGENT_GENERAL "general-purpose"

/* Texts are owned. */
struct subagent {
	char *name;        /* one word without control characters */
	char *description; /* one line without control characters */
	char *model;       /* "anthropic:claude-haiku-4-5", or NULL */
	char *tools;  /* "execute, read_file"; NULL: the same as the parent */
	char *denied; /* tools it must not have, in the same form; or NULL */
	char *body;   /* instructions for the subagent, or NULL */
	char *file;   /* path of the AGENTS.md; NULL: built in */
	char *head;   /* the front matter as written, or NULL */
	/* root of the project that contains the file; NULL: the user's own */
	char *root;
	bool apart;        /* always runs in its own sandbox */
	int64_t max_turns; /* 0: no own limit */
	double max_usd;    /* 0: no own limit */
};

struct subagents {             /* start from { 0 } */
	struct subagent *list; /* the general-purpose one first, then by name */
	size_t n;
	/* one line for each file that was left out, with the reason */
	char **problems;
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
 * precedence. An unusable file is added to problems and is not an error. A
 * project's links may lead only into the project. Any thread.
 */
void subagents_read(struct subagents *s, const struct subagents_request *r);
void subagents_release(struct subagents *s);
const struct subagent *subagents_find(const struct subagents *s,
				      const char *name);
/* Appends the list of subagents for the model, to follow the description of the
 * task tool. */
void subagents_describe(const struct subagents *s, struct buf *out);
/* True if the subagent's file allows the tool. hook_name is the tool's name in
 * hooks ("mcp__SERVER__TOOL"), or NULL. */
bool subagent_has_tool(const struct subagent *k, const char *tool,
		       const char *hook_name);
/* True if a word of tools or denied is the tool's name or a pattern (fnmatch)
 * that matches it. */
bool subagent_word_means(struct str word, const char *tool,
			 const char *hook_name);

#endif

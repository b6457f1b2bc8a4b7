/* prompt.h - the system prompt, and the AGENTS.md files that join it. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_PROMPT_H
#define AGENT_PROMPT_H

#include "sandbox/sandbox.h"
#include "skills/skills.h"

struct prompt_facts {           /* all borrowed */
	const char *config_dir; /* ~/.deepagents */
	const char *cwd;        /* the user's working directory */
	const char *model;      /* "anthropic:claude-opus-5" */
	const struct sandbox *sandbox;
	bool interactive;
	bool runs_commands; /* the model is offered a tool that does */
	/* Of a subagent: what its file says of it, "" for nothing. Else NULL.
	 */
	const char *subagent;
	const char *agent;           /* whose memory: "agent" */
	const struct skills *skills; /* or NULL */
	const char *skills_root;     /* as skills_add_prompt() has it */
};

/*
 * Appends the system prompt. AGENTS.md files are read here, from the user's
 * disk: ~/.deepagents/AGENT/, then .deepagents/ and the directory itself, from
 * the root of the repository down to cwd, so that the nearest is last. A link
 * that leaves the repository is not followed, and above cwd a file of another
 * user is not read. 128 KiB each, 256 KiB of the repository's together, of
 * which the nearest stay. Each unreadable or oversized one gives a line to
 * warn.
 */
void prompt_build(const struct prompt_facts *facts, struct buf *out,
		  void (*warn)(const char *line));

/* How many bytes of a system prompt, at its end, are of AGENTS.md files; and
 * how many, before these, of the list of skills. */
size_t prompt_memory(struct str system);
size_t prompt_skills(struct str system);

#endif

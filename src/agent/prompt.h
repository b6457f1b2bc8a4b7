/* prompt.h - the system prompt, including AGENTS.md files. */
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
	bool runs_commands; /* the model has a tool that runs commands */
	/* For a subagent: the instructions from its file, or "". Otherwise
	 * NULL. */
	const char *subagent;
	/* name of the agent whose AGENTS.md is read: "agent" */
	const char *agent;
	const struct skills *skills; /* or NULL */
	const char *skills_root;     /* root argument of skills_add_prompt() */
};

/*
 * Appends the system prompt. Reads AGENTS.md files from the user's disk: first
 * ~/.deepagents/AGENT/, then from the repository's root down to cwd each
 * directory's .deepagents/ and the directory itself, so that the nearest is
 * last. Links out of the repository are not followed, and files of another user
 * above cwd are not read. Limits: 128 KiB per file, 256 KiB for all files of
 * the repository; the nearest files are kept. Calls warn with one line for each
 * file that is unreadable or too large.
 */
void prompt_build(const struct prompt_facts *facts, struct buf *out,
		  void (*warn)(const char *line));

/* Return the bytes of the AGENTS.md files at the end of a system prompt, and of
 * the list of skills before them. */
size_t prompt_memory(struct str system);
size_t prompt_skills(struct str system);

#endif

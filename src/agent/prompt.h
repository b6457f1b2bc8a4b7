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
	/* instructions from a subagent's file, or ""; NULL if it is not a
	 * subagent */
	const char *subagent;
	/* name of the agent, usually "agent": its AGENTS.md is read */
	const char *agent;
	const struct skills *skills; /* or NULL */
	const char *skills_root;     /* skills_add_prompt() gets this as root */
	const struct mask *mask;     /* known secrets; or NULL */
};

/*
 * Appends the system prompt. Reads AGENTS.md files from the user's disk: first
 * ~/.deepagents/AGENT/AGENTS.md, where AGENT is facts->agent. Then, in each
 * directory from the repository's root down to cwd, .deepagents/AGENTS.md and
 * AGENTS.md, so that the nearest is last. Links that lead out of the repository
 * are not followed, and files of another user above cwd are not read. Limits:
 * 128 KiB per file, 256 KiB for all files of the repository; if they exceed
 * that, the nearest ones are used. Calls warn with one line for each file that
 * is unreadable or too large, or contains a known secret, which is masked later
 * (model_brief.mask).
 */
void prompt_build(const struct prompt_facts *facts, struct buf *out,
		  void (*warn)(const char *line));

/* How many bytes of a system prompt are the AGENTS.md files at its end, and the
 * list of skills before them. */
size_t prompt_memory(struct str system);
size_t prompt_skills(struct str system);

#endif

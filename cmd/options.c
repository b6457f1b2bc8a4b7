/* options.c - tables of the command line options, global and for runs. */
/* SPDX-License-Identifier: MIT */
#include "cmd/options.h"

#include <string.h>

const struct arg_row options_global[] = {
	{ "non-interactive", 'n', ARG_VALUE, "TEXT",
	  "Do this task without asking, print the answer and exit" },
	{ "message", 'm', ARG_VALUE, "TEXT",
	  "Start the chat with this message" },
	{ "resume", 'r', ARG_OPTIONAL, "ID",
	  "Resume a thread: its id, the start of its id, or latest; without "
	  "ID: the last thread of this directory" },
	{ "fork", 0, ARG_FLAG, NULL,
	  "With -r: continue in a copy; the thread stays unchanged" },
	{ "agent", 'a', ARG_VALUE, "NAME",
	  "Use the AGENTS.md and skills of this agent (~/.deepagents/NAME)" },
	{ "skill", 's', ARG_VALUE, "NAME",
	  "Start with this skill; the text of -n or -m says what to do with "
	  "it" },
	{ "model", 'M', ARG_VALUE, "SPEC",
	  "Model, as provider:name, name or short name (opus)" },
	{ "default-model", 0, ARG_OPTIONAL, "MODEL",
	  "Store MODEL as the default and exit; without MODEL: show it" },
	{ "clear-default-model", 0, ARG_FLAG, NULL,
	  "Delete the stored default model and exit" },
	{ "model-params", 0, ARG_VALUE, "JSON",
	  "Merge these fields into each model request" },
	{ "effort", 0, ARG_VALUE, "LEVEL",
	  "Reasoning effort: none, minimal, low, medium, high, xhigh or max, "
	  "if the model supports it" },
	{ "max-retries", 0, ARG_VALUE, "N",
	  "Retry a failed model request up to N times (default 4)" },
	{ "sandbox", 0, ARG_OPTIONAL, "TYPE",
	  "Run tools in a sandbox: a name from dcode provider list, or none "
	  "(this machine, the default); without TYPE: [sandboxes].default" },
	{ "sandbox-id", 0, ARG_VALUE, "ID",
	  "Use this existing sandbox; dcode never deletes it" },
	{ "sandbox-snapshot-name", 0, ARG_VALUE, "NAME",
	  "Start the sandbox from this snapshot" },
	{ "sandbox-setup", 0, ARG_VALUE, "PATH",
	  "Run this local script in the sandbox first; ${NAME} is filled in "
	  "from your environment" },
	{ "workspace", 0, ARG_VALUE, "repo|none|bind",
	  "Files in the sandbox: repo copies the git working tree, none starts "
	  "empty, bind mounts this directory (local and docker only)" },
	{ "include", 0, ARG_VALUE, "PATTERN",
	  "With --workspace repo: also send files that match this pattern "
	  "(secret, ignored or large files); repeatable" },
	{ "history", 0, ARG_VALUE, "N",
	  "Also send the last N commits, without files that are never sent "
	  "(default 0)" },
	{ "apply", 0, ARG_FLAG, NULL,
	  "With -n: merge the sandbox's changes into the working tree at the "
	  "end" },
	{ "branch", 0, ARG_VALUE, "NAME",
	  "With -n: commit the sandbox's changes to this new branch" },
	{ "push", 0, ARG_FLAG, NULL,
	  "With -n and --branch: push the branch with your own git, without "
	  "asking" },
	{ "pr", 0, ARG_FLAG, NULL,
	  "With --push: also open a pull request (GitHub) or merge request "
	  "(GitLab)" },
	{ "remote", 0, ARG_VALUE, "NAME",
	  "With --push: push to this remote instead of origin" },
	{ "upload", 0, ARG_VALUE, "LOCAL[:REMOTE]",
	  "Copy this file or directory into the sandbox first; repeatable" },
	{ "download", 0, ARG_VALUE, "REMOTE[:LOCAL]",
	  "Copy this out of the sandbox at the end; repeatable" },
	{ "keep", 0, ARG_FLAG, NULL, "Same as --on-exit keep" },
	{ "on-exit", 0, ARG_VALUE, "delete|stop|keep",
	  "At the end: delete the sandbox, stop it (files stay) or keep it "
	  "running" },
	{ "sandbox-network", 0, ARG_VALUE, "full|none|HOST",
	  "Hosts that a new sandbox may reach: full, none, crates.io, "
	  "*.npmjs.org, preset:python; repeatable" },
	{ "shell-allow-list", 'S', ARG_VALUE, "LIST",
	  "Run these commands without asking: a,b,c, or recommended (these can "
	  "read any file), or all" },
	{ "allow-fs-tools", 0, ARG_VALUE, "LIST",
	  "File and command tools that the model gets: all (default), or some "
	  "of ls, read_file, write_file, edit_file, delete, glob, grep and "
	  "execute" },
	{ "startup-cmd", 0, ARG_VALUE, "COMMAND",
	  "Run this command where the tools run, before the first prompt" },
	{ "auto-approve", 'y', ARG_FLAG, NULL,
	  "Approve every tool call, also on this machine" },
	{ "yolo", 0, ARG_FLAG, NULL,
	  "Same as -y, but a chat first asks you to confirm" },
	{ "approval-mode", 0, ARG_VALUE, "manual|auto-edit|plan",
	  "Start in this mode; with plan the model only reads, and writes a "
	  "plan" },
	{ "trust-project", 0, ARG_FLAG, NULL,
	  "Trust what this project's files add: keys, hooks, servers" },
	{ "trust-project-hooks", 0, ARG_FLAG, NULL,
	  "Run this project's hooks without asking, this time" },
	{ "trust-project-mcp", 0, ARG_FLAG, NULL,
	  "Start this project's MCP servers without asking, this time" },
	{ "mcp-config", 0, ARG_VALUE, "PATH",
	  "Also start the MCP servers in this file" },
	{ "no-mcp", 0, ARG_FLAG, NULL, "Start no MCP servers" },
	{ "max-usd", 0, ARG_VALUE, "N",
	  "Stop a task (status 124), or ask in a chat, before spending more "
	  "than this in US dollars" },
	{ "max-turns", 0, ARG_VALUE, "N",
	  "Stop after N model turns (exit status 124)" },
	{ "timeout", 0, ARG_VALUE, "SECONDS",
	  "Stop after this time (exit status 124)" },
	{ "quiet", 'q', ARG_FLAG, NULL, "Print only the last answer" },
	{ "no-stream", 0, ARG_FLAG, NULL,
	  "Print the answer at the end instead of as it arrives" },
	{ "plain", 0, ARG_FLAG, NULL,
	  "Chat line by line, without a screen (for screen readers)" },
	{ "json", 0, ARG_FLAG, NULL,
	  "Print JSON: with -n, one event per line" },
	{ "output-format", 0, ARG_VALUE, "FORMAT",
	  "text; stream-json (same as --json); json: with -n, only the result, "
	  "as one JSON object" },
	{ "output", 'o', ARG_VALUE, "FILE",
	  "With -n: also write the last answer to this file, replacing it" },
	{ "stdin", 0, ARG_FLAG, NULL,
	  "Wait for the end of standard input, however long it takes" },
	{ "install", 0, ARG_VALUE, "NAME", "Same as dcode install NAME" },
	{ "version", 'v', ARG_FLAG, NULL, "Print the version" },
	{ "help", 'h', ARG_FLAG, NULL,
	  "Print this help, or the help of a command" },
	{ 0 },
};

const struct arg_row options_run[] = {
	{ "force", 0, ARG_FLAG, NULL,
	  "Let --upload and --download replace files, and let downloads add to "
	  "existing directories" },
	{ "bring", 0, ARG_VALUE, "NAME",
	  "Let --download also copy files and directories with this name, such "
	  "as .git; repeatable" },
	{ 0 },
};

bool options_is_everywhere(const char *name)
{
	static const char *const names[] = {
		"quiet", "json", "output-format", "version", "install", "help",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

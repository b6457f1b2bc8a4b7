/* options.c - the options of a run, and which of them every command has. */
/* SPDX-License-Identifier: MIT */
#include "cmd/options.h"

#include <string.h>

const struct arg_row options_global[] = {
	{ "non-interactive", 'n', ARG_VALUE, "TEXT",
	  "Do this one task without asking, print the answer, exit" },
	{ "message", 'm', ARG_VALUE, "TEXT",
	  "Begin the chat with this message" },
	{ "resume", 'r', ARG_OPTIONAL, "ID",
	  "Go on with a thread: an id, its beginning, or latest; bare: the "
	  "last "
	  "one of this directory" },
	{ "fork", 0, ARG_FLAG, NULL,
	  "With -r: go on in a copy, the thread stays as it is" },
	{ "agent", 'a', ARG_VALUE, "NAME",
	  "Whose AGENTS.md and skills are used: ~/.deepagents/NAME" },
	{ "skill", 's', ARG_VALUE, "NAME",
	  "Begin with this skill; the text of -n or -m is what is wanted of "
	  "it" },
	{ "model", 'M', ARG_VALUE, "SPEC",
	  "Model, as provider:name or name (anthropic:claude-opus-5)" },
	{ "default-model", 0, ARG_OPTIONAL, "MODEL",
	  "Store MODEL as the one that is used without -M, and end; bare: "
	  "show it" },
	{ "clear-default-model", 0, ARG_FLAG, NULL,
	  "Store none any more, and end" },
	{ "model-params", 0, ARG_VALUE, "JSON",
	  "Fields merged into each model request" },
	{ "effort", 0, ARG_VALUE, "LEVEL",
	  "How much the model thinks: none, minimal, low, medium, high, xhigh "
	  "or max, as it takes them" },
	{ "max-retries", 0, ARG_VALUE, "N",
	  "Model retries after a failure (default 4)" },
	{ "sandbox", 0, ARG_OPTIONAL, "TYPE",
	  "Where tools run: none (this machine, the default) or a provider of "
	  "dcode provider list; bare: [sandboxes].default" },
	{ "sandbox-id", 0, ARG_VALUE, "ID",
	  "Use this existing sandbox; it is never deleted" },
	{ "sandbox-snapshot-name", 0, ARG_VALUE, "NAME",
	  "Start the sandbox from this snapshot" },
	{ "sandbox-setup", 0, ARG_VALUE, "PATH",
	  "Run this local script in the sandbox first; ${NAME} comes from "
	  "your environment" },
	{ "workspace", 0, ARG_VALUE, "repo|none|bind",
	  "What the sandbox has of this directory: a copy of the git working "
	  "tree, nothing, or the directory itself (local, docker)" },
	{ "include", 0, ARG_VALUE, "PATTERN",
	  "Send this with --workspace repo although it is a secret, ignored "
	  "or large; repeatable" },
	{ "history", 0, ARG_VALUE, "N",
	  "Send the last N commits too, without what is never sent; 0, the "
	  "default: none" },
	{ "apply", 0, ARG_FLAG, NULL,
	  "With -n: merge what the sandbox changed into the working tree at "
	  "the end" },
	{ "branch", 0, ARG_VALUE, "NAME",
	  "With -n: make a commit of it on this new branch" },
	{ "upload", 0, ARG_VALUE, "LOCAL[:REMOTE]",
	  "Copy this file or directory into the sandbox first; repeatable" },
	{ "download", 0, ARG_VALUE, "REMOTE[:LOCAL]",
	  "Copy this out of the sandbox at the end; repeatable" },
	{ "keep", 0, ARG_FLAG, NULL, "The same as --on-exit keep" },
	{ "on-exit", 0, ARG_VALUE, "delete|stop|keep",
	  "What the end does with the sandbox; stop keeps its files, keep also "
	  "what runs in it" },
	{ "sandbox-network", 0, ARG_VALUE, "full|none",
	  "Network of the sandbox; default: the provider's" },
	{ "shell-allow-list", 'S', ARG_VALUE, "LIST",
	  "Commands that need no approval: a,b,c or recommended (they read "
	  "any file) or all" },
	{ "allow-fs-tools", 0, ARG_VALUE, "LIST",
	  "The file tools that the model has: all (default), or some of ls, "
	  "read_file, write_file, edit_file, delete, glob, grep, execute" },
	{ "startup-cmd", 0, ARG_VALUE, "COMMAND",
	  "Run this where the tools run, before the first prompt" },
	{ "auto-approve", 'y', ARG_FLAG, NULL,
	  "Approve every tool call, also on this machine" },
	{ "yolo", 0, ARG_FLAG, NULL,
	  "The same; a chat asks once whether that is meant" },
	{ "trust-project", 0, ARG_FLAG, NULL,
	  "Trust what this project's files bring in: keys, hooks, servers" },
	{ "trust-project-hooks", 0, ARG_FLAG, NULL,
	  "Run this project's hooks without asking, this time" },
	{ "trust-project-mcp", 0, ARG_FLAG, NULL,
	  "Start this project's MCP servers without asking, this time" },
	{ "mcp-config", 0, ARG_VALUE, "PATH",
	  "Also start the MCP servers of this file" },
	{ "no-mcp", 0, ARG_FLAG, NULL, "Start no MCP server" },
	{ "max-usd", 0, ARG_VALUE, "N",
	  "End a task (status 124), or ask in a chat, before more US dollars "
	  "than this are spent" },
	{ "max-turns", 0, ARG_VALUE, "N",
	  "Give up after N model turns (exit status 124)" },
	{ "timeout", 0, ARG_VALUE, "SECONDS",
	  "Give up after this time (exit status 124)" },
	{ "quiet", 'q', ARG_FLAG, NULL, "Print nothing but the last answer" },
	{ "no-stream", 0, ARG_FLAG, NULL, "Print the answer once, at the end" },
	{ "plain", 0, ARG_FLAG, NULL,
	  "Chat line by line, without a screen: for screen readers" },
	{ "json", 0, ARG_FLAG, NULL,
	  "Machine output: with -n one JSON event per line" },
	{ "output-format", 0, ARG_VALUE, "FORMAT",
	  "text, or stream-json (the same as --json)" },
	{ "stdin", 0, ARG_FLAG, NULL,
	  "Read standard input to its end, however long it takes" },
	{ "install", 0, ARG_VALUE, "NAME", "The same as dcode install NAME" },
	{ "version", 'v', ARG_FLAG, NULL, "Print the version" },
	{ "help", 'h', ARG_FLAG, NULL, "Print this help, or a command's" },
	{ 0 },
};

const struct arg_row options_run[] = {
	{ "force", 0, ARG_FLAG, NULL,
	  "Let --upload and --download replace files, and downloads add to "
	  "directories" },
	{ "bring", 0, ARG_VALUE, "NAME",
	  "Let --download bring files and directories of this name, such as "
	  ".git, too; repeatable" },
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

/* slash_table.h - the commands of the chat, a row each. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_SLASH_TABLE_H
#define CMD_CHAT_SLASH_TABLE_H

#include "cmd/command.h"
#include "cmd/session/run.h"

enum slash_group {
	GROUP_TALK,
	GROUP_SANDBOX,
	GROUP_SETTINGS,
	GROUP_CHAT,
	N_GROUPS
};

/* A row is all that a command needs: /help, completion and suggestions come
 * from it. One of command, run and show is set; none where each kind of chat
 * has its own way. */
struct slash_command {
	const char *name;    /* "/quit" */
	const char *aliases; /* "/q /exit", or NULL */
	const char *args;    /* "NAME", as /help shows them */
	const char *summary; /* one line */
	enum slash_group group;
	/* The command of the shell that it is. */
	const struct command *command;
	const char *bare; /* the subcommand when none is named, or NULL */
	/* The rest of the line is one word, as it was typed: quotes and
	 * backslashes have no meaning. */
	bool raw;
	/* words: what was typed after the name, NULL-terminated. False when
	 * the chat is over. */
	bool (*run)(struct run *r, int n, char **words);
	/* Touches nothing that a turn uses, so that it need not wait for the
	 * end of one. */
	void (*show)(struct run *r, int n, char **words, size_t columns,
		     struct buf *out);
	/* Of a show: it needs the sandbox, so that it waits for what opens,
	 * changes or leaves that. */
	bool needs_sandbox;
	/* What its argument can be, as slash_cmd.h says; or NULL. */
	void (*list)(struct run *r, struct buf *out);
};

extern const struct slash_command slash_commands[];
extern const size_t slash_n_commands;

#endif

/* slash_cmd.h - the commands of the chat: their table, and a function each. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_SLASH_CMD_H
#define CMD_CHAT_SLASH_CMD_H

#include "cmd/command.h"
#include "cmd/session/run.h"
#include "editor/choices.h"

enum slash_group {
	GROUP_TALK,
	GROUP_SANDBOX,
	GROUP_SETTINGS,
	GROUP_CHAT,
	N_GROUPS
};

/* A row is all that a command needs: /help, completion and suggestions come
 * from it. run or show does the work, else command; with neither, each kind of
 * chat has its own way. A run that hands words on to the shell's command names
 * that one, too. */
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
	/* For a show that needs the sandbox: it waits while the sandbox is
	 * opened, changed or left. */
	bool needs_sandbox;
	/* Lists the values of its argument (see slash_list_* below), or NULL.
	 */
	void (*list)(struct run *r, struct buf *out);
};

/* Ends in { 0 }. Code of the chat reads app.slash instead. */
extern const struct slash_command slash_commands[];

/* A choice for run.pick: what is shown is masked and in one line each. */
struct pick {
	const char *title;
	const struct fuzzy_item *items;
	size_t n, selected; /* selected: where to begin; n: nowhere */
	bool asks; /* the program wants to know; the last item does the least */
};

/*
 * One command each, on the thread that the chat's work is done on; words: what
 * was typed after the name, NULL-terminated. They say what they did, and what
 * failed, on stderr. False when the chat is over.
 */
bool slash_cmd_clear(struct run *r, int n, char **words);
bool slash_cmd_compact(struct run *r, int n, char **words);
bool slash_cmd_context(struct run *r, int n, char **words);
bool slash_cmd_copy(struct run *r, int n, char **words);
bool slash_cmd_cost(struct run *r, int n, char **words);
bool slash_cmd_download(struct run *r, int n, char **words);
bool slash_cmd_effort(struct run *r, int n, char **words);
bool slash_cmd_mcp(struct run *r, int n, char **words);
bool slash_cmd_model(struct run *r, int n, char **words);
bool slash_cmd_quit(struct run *r, int n, char **words);
bool slash_cmd_reload(struct run *r, int n, char **words);
bool slash_cmd_resume(struct run *r, int n, char **words);
bool slash_cmd_sandbox(struct run *r, int n, char **words);
bool slash_cmd_threads(struct run *r, int n, char **words);
bool slash_cmd_tokens(struct run *r, int n, char **words);
bool slash_cmd_todos(struct run *r, int n, char **words);
bool slash_cmd_upload(struct run *r, int n, char **words);

/* run.raise; arg is the run: asks whether to go on beyond the cap, by as much
 * again. */
bool slash_raise_cap(void *arg);
/* The same when nothing happens but that the sandbox costs: -1 with ERR_BUDGET,
 * and the chat ends, unless the user goes on. */
int slash_raise_idle(struct run *r, struct error *err);
enum { SLASH_CAP_STATUS = 124 }; /* of the chat that ends so */
/* run.go_on; arg is the run: asks whether a model that repeats a failing call
 * may go on. */
bool slash_go_on(void *arg, const struct error *why);

/* These only say or switch something that no turn uses: any thread that does
 * not draw at the same time. */
void slash_cmd_agents(struct run *r, int n, char **words, size_t columns,
		      struct buf *out);
void slash_cmd_help(struct run *r, int n, char **words, size_t columns,
		    struct buf *out);
void slash_cmd_jobs(struct run *r, int n, char **words, size_t columns,
		    struct buf *out);
void slash_cmd_theme(struct run *r, int n, char **words, size_t columns,
		     struct buf *out);
void slash_cmd_thinking(struct run *r, int n, char **words, size_t columns,
			struct buf *out);
void slash_cmd_version(struct run *r, int n, char **words, size_t columns,
		       struct buf *out);

/* Append the possible last words of a command, one line each: the word, a tab,
 * a description. */
void slash_list_efforts(struct run *r, struct buf *out);
void slash_list_mcp(struct run *r, struct buf *out);
void slash_list_models(struct run *r, struct buf *out);
void slash_list_threads(struct run *r, struct buf *out);
void slash_list_thread_words(struct run *r, struct buf *out);
void slash_list_sandbox_words(struct run *r, struct buf *out);
void slash_list_modes(struct run *r, struct buf *out);
void slash_list_themes(struct run *r, struct buf *out);
void slash_list_topics(struct run *r, struct buf *out);
/* Files of the user's directory, and of where the tools run. */
void slash_list_here(struct run *r, struct buf *out);
void slash_list_there(struct run *r, struct buf *out);
void slash_list_subcommands(const struct command *c, struct buf *out);

/* Commands of the chat, on the thread that its work is done on; words: what was
 * typed after the name. They return true: the chat goes on. */
bool approvals_command(struct run *r, int n, char **words); /* /approvals */
bool approvals_mode(struct run *r, int n, char **words);    /* /mode */
bool approvals_manual(struct run *r, int n, char **words);
bool approvals_auto_edit(struct run *r, int n, char **words);
bool approvals_yolo(struct run *r, int n, char **words);

#endif

/* slash_cmd.h - the table of the chat's commands, and their functions. */
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

/* One command. /help, completion and suggestions are made from this table. run
 * or show executes the command, else `command` of the shell does; without any
 * of them, each kind of chat handles it itself. If run passes its words on to
 * the shell's command, `command` is set, too. */
struct slash_command {
	const char *name;    /* "/quit" */
	const char *aliases; /* "/q /exit", or NULL */
	const char *args;    /* "NAME", as /help shows them */
	const char *summary; /* one line */
	enum slash_group group;
	/* The shell's command that this one runs, or NULL. */
	const struct command *command;
	const char *bare; /* default subcommand, or NULL */
	/* Changes the thread, the sandbox, files, or what may run. Such a
	 * command is never suggested for another that was mistyped. */
	bool acts;
	/* The rest of the line is one word, exactly as typed: quotes and
	 * backslashes are ordinary characters. */
	bool raw;
	/* words: the typed words after the name, NULL-terminated. Returns false
	 * when the chat is over. */
	bool (*run)(struct run *r, int n, char **words);
	/* Set instead of run for a command that uses nothing that a turn uses.
	 * It can then run during a turn. With both, run is for the command
	 * without an argument in a chat with a screen: it opens a list. */
	void (*show)(struct run *r, int n, char **words, size_t columns,
		     struct buf *out);
	/* show needs the sandbox: it waits while the sandbox is being opened,
	 * changed or left. */
	bool needs_sandbox;
	/* Creates the sandbox first if nothing has needed it yet. */
	bool awaits;
	/* Opens a list if it has no argument. The arguments that `list` offers
	 * are ids, which nobody knows by heart. */
	bool opens_list;
	/* Lists the possible arguments (see slash_list_* below), or NULL. */
	void (*list)(struct run *r, struct buf *out);
};

/* The last row is { 0 }. Other code of the chat reads app.slash instead. */
extern const struct slash_command slash_commands[];

/* A choice for run.pick. The caller has masked the texts and made each one
 * line: they are shown as they are. */
struct pick {
	const char *title;
	const struct fuzzy_item *items;
	size_t n, selected; /* selected: index of the initial item, or n for
			       none */
	bool asks; /* dcode needs an answer; the first item is the safe one */
	/* Not NULL: the user may type another item. run.pick appends it here
	 * and returns n. */
	struct buf *typed;
	const struct list_view *view; /* how to draw it, or NULL */
	/* Called with view.arg on the thread that draws before the list opens;
	 * it may set title and selected. May be NULL. */
	void (*opens)(void *arg);
	/* Called with view.arg on the thread that draws when the list closes;
	 * chosen: -1 if nothing was. May be NULL. */
	void (*closed)(void *arg, int chosen);
};

/*
 * One function for each command, run on the thread that does the chat's work.
 * words: the typed words after the name, NULL-terminated. Results and failures
 * are printed on stderr. Returns false when the chat is over.
 */
bool slash_cmd_clear(struct run *r, int n, char **words);
bool slash_cmd_compact(struct run *r, int n, char **words);
void slash_cmd_forward(struct run *r, int n, char **words, size_t columns,
		       struct buf *out);
bool slash_cmd_context(struct run *r, int n, char **words);
bool slash_cmd_copy(struct run *r, int n, char **words);
bool slash_cmd_cost(struct run *r, int n, char **words);
bool slash_cmd_download(struct run *r, int n, char **words);
bool slash_cmd_effort(struct run *r, int n, char **words);
bool slash_cmd_mcp(struct run *r, int n, char **words);
bool slash_cmd_network(struct run *r, int n, char **words);
bool slash_cmd_model(struct run *r, int n, char **words);
bool slash_cmd_push(struct run *r, int n, char **words);
/* The chat with a screen handles /queue itself; this is for one without. */
bool slash_cmd_queue(struct run *r, int n, char **words);
bool slash_cmd_quit(struct run *r, int n, char **words);
bool slash_cmd_reload(struct run *r, int n, char **words);
bool slash_cmd_resume(struct run *r, int n, char **words);
bool slash_cmd_rewind(struct run *r, int n, char **words);
bool slash_cmd_sandbox(struct run *r, int n, char **words);
bool slash_cmd_move(struct run *r, int n, char **words);
/* Offers the providers. */
void slash_list_providers(struct run *r, struct buf *out);
bool slash_cmd_threads(struct run *r, int n, char **words);
bool slash_cmd_theme_list(struct run *r, int n, char **words);
bool slash_cmd_tokens(struct run *r, int n, char **words);
bool slash_cmd_todos(struct run *r, int n, char **words);
bool slash_cmd_shell(struct run *r, int n, char **words);
bool slash_cmd_upload(struct run *r, int n, char **words);

/* Asks whether to raise the cap while only the idle sandbox costs money. Unless
 * the user continues, returns -1 with ERR_BUDGET and the chat ends. */
int slash_raise_idle(struct run *r, struct error *err);
enum { SLASH_CAP_STATUS = 124 }; /* exit status if the cap ends the chat */
/* Sets the questions that a turn may ask the user: run.raise, run.go_on and
 * run.push. */
void slash_set_questions(struct run *r);
/* Implements run.push; arg is the run. Does what /push BRANCH does, because git
 * push in the sandbox asked for it. */
void slash_push_asked(void *arg, const char *branch, struct buf *told);

/* These only print or change something that no turn uses. They may run on any
 * thread while no other thread draws. */
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

/* Append the possible values of a command's last word, one line each: the word,
 * a tab, a description. */
void slash_list_efforts(struct run *r, struct buf *out);
void slash_list_grants(struct run *r, struct buf *out);
void slash_list_mcp(struct run *r, struct buf *out);
void slash_list_models(struct run *r, struct buf *out);
void slash_list_threads(struct run *r, struct buf *out);
void slash_list_thread_words(struct run *r, struct buf *out);
void slash_list_sandbox_words(struct run *r, struct buf *out);
void slash_list_modes(struct run *r, struct buf *out);
void slash_list_network(struct run *r, struct buf *out);
void slash_list_queue(struct run *r, struct buf *out);
void slash_list_themes(struct run *r, struct buf *out);
void slash_list_topics(struct run *r, struct buf *out);
/* Lists files of the user's directory and of the place where the tools run. */
void slash_list_here(struct run *r, struct buf *out);
void slash_list_there(struct run *r, struct buf *out);
void slash_list_subcommands(const struct command *c, struct buf *out);

/* More commands, on the thread that does the chat's work; words: the typed
 * words after the name. They return true: the chat continues. */
bool approvals_command(struct run *r, int n, char **words); /* /approvals */
bool approvals_mode(struct run *r, int n, char **words);    /* /mode */
bool approvals_manual(struct run *r, int n, char **words);
bool approvals_auto_edit(struct run *r, int n, char **words);
bool approvals_plan(struct run *r, int n, char **words);
bool approvals_yolo(struct run *r, int n, char **words);

#endif

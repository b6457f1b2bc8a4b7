/* slash.c - the commands of the chat that begin with a slash. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/slash.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "base/str.h"
#include "cmd/chat/input.h"
#include "cmd/command.h"
#include "cmd/secret.h"

enum {
	WORDS_MOST = 16, /* after a command's name */
	SHOWN_MOST = 60, /* bytes of an unknown command */
	HELP_COLUMN = 27,
};

/* A row is all that a command needs: /help and suggestions come from it. */
struct slash_command {
	const char *name;    /* "/quit" */
	const char *alias;   /* "/q", or NULL */
	const char *args;    /* "NAME", as /help shows them */
	const char *summary; /* one line */
	/* The command of the shell that it is, or NULL: run is called. */
	const struct command *command;
	const char *bare; /* the subcommand when none is named, or NULL */
	/* words: what was typed after the name, NULL-terminated. False when
	 * the chat is over. */
	bool (*run)(struct run *r, int n, char **words);
};

static bool print_help(struct run *r, int n, char **words);
static bool end_chat(struct run *r, int n, char **words);

static bool upload(struct run *r, int n, char **words)
{
	run_transfer_words(r, true, n, words);
	return true;
}

static bool download(struct run *r, int n, char **words)
{
	run_transfer_words(r, false, n, words);
	return true;
}

static bool ask_always(struct run *r, int n, char **words)
{
	(void)n;
	(void)words;
	r->mode = RUN_MANUAL;
	if (r->options.yes)
		fputs("-y was given: everything is allowed until dcode ends.\n",
		      stderr);
	return true;
}

static bool ask_never(struct run *r, int n, char **words)
{
	struct error err = { 0 };
	int rc = run_check_yolo(r, &err);

	(void)n;
	(void)words;
	if (rc == 0)
		rc = secret_confirm(r->app,
				    "Run every call on this machine without "
				    "asking? [y/N] ",
				    &err);
	if (rc < 0)
		(void)app_fail(r->app, &err);
	else if (rc > 0)
		r->mode = RUN_YOLO;
	return true;
}

static bool change_theme(struct run *r, int n, char **words)
{
	enum theme_name name;

	if (!r->theme)
		fputs("This chat has no screen.\n", stderr);
	else if (n == 1 && theme_parse(str_of(words[0]), &name))
		r->theme->name = name;
	else
		fprintf(stderr, "The theme is %s. /theme dark|light|none\n",
			theme_name(r->theme->name));
	return true;
}

static bool switch_thinking(struct run *r, int n, char **words)
{
	(void)n;
	(void)words;
	if (!r->theme) {
		fputs("This chat has no screen.\n", stderr);
		return true;
	}
	*r->show_thinking = !*r->show_thinking;
	fprintf(stderr, "Thinking is shown %s.\n",
		*r->show_thinking ? "in full" : "by its first words");
	return true;
}

static bool print_tokens(struct run *r, int n, char **words)
{
	const struct usage *u = &r->agent.usage;

	(void)n;
	(void)words;
	fprintf(stderr,
		"%" PRId64 " tokens in, %" PRId64 " of them read from the "
		"cache and %" PRId64 " written to it; %" PRId64 " out\n",
		u->input + u->cache_read + u->cache_write, u->cache_read,
		u->cache_write, u->output);
	return true;
}

static const struct slash_command slash_commands[] = {
	{ .name = "/help",
	  .args = "",
	  .summary = "Print this",
	  .run = print_help },
	{ .name = "/quit",
	  .alias = "/q",
	  .args = "",
	  .summary = "Leave (also exit, Ctrl-D)",
	  .run = end_chat },
	{ .name = "/upload",
	  .args = "LOCAL [REMOTE]",
	  .summary = "Copy a file or directory into the sandbox",
	  .run = upload },
	{ .name = "/download",
	  .args = "[--force] REMOTE [LOCAL]",
	  .summary = "Copy a file or directory out of the sandbox",
	  .run = download },
	{ .name = "/diff",
	  .args = "[--stat|...]",
	  .summary = "What changed in the sandbox, as a patch",
	  .command = &command_diff },
	{ .name = "/apply",
	  .args = "[--undo|...]",
	  .summary = "Merge that into the working tree, or take it back",
	  .command = &command_apply },
	{ .name = "/sync",
	  .args = "[--force]",
	  .summary = "Send what changed here into the sandbox",
	  .command = &command_sync },
	{ .name = "/threads",
	  .args = "[list|show|...]",
	  .summary = "Conversations that are stored",
	  .command = &command_threads,
	  .bare = "list" },
	{ .name = "/sandbox",
	  .args = "[list|info|...]",
	  .summary = "Sandboxes: list, info, exec, cp, stop, rm, gc, ...",
	  .command = &command_sandbox,
	  .bare = "list" },
	{ .name = "/config",
	  .args = "[get KEY|path]",
	  .summary = "Settings, with where each comes from",
	  .command = &command_config },
	{ .name = "/manual",
	  .args = "",
	  .summary = "Ask before each call that acts on this machine",
	  .run = ask_always },
	{ .name = "/yolo",
	  .args = "",
	  .summary = "Run every call on this machine without asking",
	  .run = ask_never },
	{ .name = "/theme",
	  .args = "[dark|light|none]",
	  .summary = "The colours of the screen",
	  .run = change_theme },
	{ .name = "/thinking",
	  .args = "",
	  .summary = "Show what the model thinks in full, or its first words",
	  .run = switch_thinking },
	{ .name = "/tokens",
	  .args = "",
	  .summary = "What this session has used",
	  .run = print_tokens },
	{ .name = "/version",
	  .alias = "/about",
	  .args = "",
	  .summary = "The version of dcode",
	  .command = &command_version },
	{ .name = "/install",
	  .args = "NAME",
	  .summary = "Make a provider ready to use",
	  .command = &command_install },
	{ .name = "/auth",
	  .args = "[set PROVIDER|...]",
	  .summary = "Stored API keys: list, status, set, remove, path",
	  .command = &command_auth,
	  .bare = "list" },
};

enum { N_COMMANDS = sizeof(slash_commands) / sizeof(*slash_commands) };

static bool print_help(struct run *r, int n, char **words)
{
	(void)r;
	(void)n;
	(void)words;
	fputs("Type a message and Enter. A line that ends in \\ goes on. "
	      "Ctrl-C interrupts.\n",
	      stderr);
	for (size_t i = 0; i < N_COMMANDS; i++)
		args_text(stderr, slash_commands[i].summary,
			  fprintf(stderr, "%s %s", slash_commands[i].name,
				  slash_commands[i].args),
			  HELP_COLUMN);
	return true;
}

static bool end_chat(struct run *r, int n, char **words)
{
	(void)r;
	(void)n;
	(void)words;
	return false;
}

/* Up to the first blank or line break. */
static struct str first_word(struct str line)
{
	struct str word = { line.ptr, 0 };

	while (word.len < line.len && word.ptr[word.len] != ' ' &&
	       word.ptr[word.len] != '\t' && word.ptr[word.len] != '\n')
		word.len++;
	return word;
}

static const struct slash_command *find_command(struct str line)
{
	struct str word = first_word(line);

	if (str_is_nocase(line, "exit"))
		word = STR("/quit");
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (str_is_nocase(word, slash_commands[i].name) ||
		    (slash_commands[i].alias &&
		     str_is_nocase(word, slash_commands[i].alias)))
			return &slash_commands[i];
	return NULL;
}

bool slash_is_command(struct str line)
{
	struct str word = first_word(line);

	if (str_is_nocase(line, "exit"))
		return true;
	if (word.len < 2 || !isalpha((unsigned char)word.ptr[1]))
		return false;
	for (size_t i = 2; i < word.len; i++)
		if (!isalnum((unsigned char)word.ptr[i]) &&
		    word.ptr[i] != '-' && word.ptr[i] != '_')
			return false;
	return word.ptr[0] == '/';
}

static void report_unknown(struct str word)
{
	const char *names[N_COMMANDS];

	for (size_t i = 0; i < N_COMMANDS; i++)
		names[i] = slash_commands[i].name;
	fprintf(stderr,
		"Unknown command: %.*s. Did you mean %s? /help lists all.\n",
		(int)(word.len < SHOWN_MOST ? word.len : SHOWN_MOST), word.ptr,
		nearest_name(word, names, N_COMMANDS));
}

/* Takes a word off the front of rest. Blanks, quotes and backslashes are as in
 * a shell, but that nothing is expanded. Owned, or NULL at the end. */
static char *split_word(struct str *rest)
{
	struct buf word = BUF_INIT(CHAT_MAX_LINE);
	char quote = '\0';

	*rest = str_trim(*rest);
	if (!rest->len)
		return NULL;
	for (; rest->len; *rest = str_skip(*rest, 1)) {
		char c = rest->ptr[0];

		if (!quote && isspace((unsigned char)c))
			break;
		if (quote ? c == quote : c == '"' || c == '\'') {
			quote = quote ? '\0' : c;
			continue;
		}
		if (c == '\\' && quote != '\'' && rest->len > 1) {
			*rest = str_skip(*rest, 1);
			c = rest->ptr[0];
		}
		buf_addc(&word, c);
	}
	return buf_detach(&word);
}

bool slash_run(struct run *r, struct str line)
{
	const struct slash_command *s = find_command(line);
	struct str name = first_word(line);
	struct str rest = str_skip(line, name.len);
	char *words[WORDS_MOST + 1] = { NULL };
	bool goes_on = true;
	int n = 0;

	if (!s) {
		report_unknown(name);
		return true;
	}
	while (n < WORDS_MOST && (words[n] = split_word(&rest)))
		n++;
	if (!n && s->bare)
		words[n++] = xstrdup(s->bare);
	if (s->run)
		goes_on = s->run(r, n, words);
	else
		(void)command_run_words(r->app, s->command, n, words);
	fflush(stdout);
	while (n)
		free(words[--n]);
	return goes_on;
}

size_t slash_list(struct fuzzy_item **list)
{
	*list = xcalloc(N_COMMANDS, sizeof(**list));
	for (size_t i = 0; i < N_COMMANDS; i++)
		(*list)[i] = (struct fuzzy_item){
			.name = str_of(slash_commands[i].name),
			.alias = str_of(slash_commands[i].alias),
			.summary = str_of(slash_commands[i].summary),
		};
	return N_COMMANDS;
}

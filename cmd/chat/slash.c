/* slash.c - the commands of the chat that begin with a slash. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/slash.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "base/str.h"
#include "cmd/command.h"

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
	/* words: what was typed after the name. False when the chat is over. */
	bool (*run)(struct run *r, struct str words);
};

static bool print_help(struct run *r, struct str words);
static bool end_chat(struct run *r, struct str words);

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

static bool print_help(struct run *r, struct str words)
{
	(void)r;
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

static bool end_chat(struct run *r, struct str words)
{
	(void)r;
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

/* rest: what follows the name; options are as in the shell. */
static void run_command(struct app *app, const struct slash_command *s,
			struct str rest)
{
	char *words[WORDS_MOST + 1] = { NULL };
	struct str word;
	int n = 0;

	while (n < WORDS_MOST && str_split(&rest, ' ', &word))
		if (word.len)
			words[n++] = xstrndup(word.ptr, word.len);
	if (!n && s->bare)
		words[n++] = xstrdup(s->bare);
	(void)command_run_words(app, s->command, n, words);
	fflush(stdout);
	for (int i = 0; i < n; i++)
		free(words[i]);
}

bool slash_run(struct run *r, struct str line)
{
	const struct slash_command *s = find_command(line);
	struct str word = first_word(line);
	struct str words = str_trim(str_skip(line, word.len));

	if (s && s->run)
		return s->run(r, words);
	if (s)
		run_command(r->app, s, words);
	else
		report_unknown(word);
	return true;
}

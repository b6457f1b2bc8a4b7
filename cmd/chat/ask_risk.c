/* ask_risk.c - names what a command touches, for the question about it. */
/* SPDX-License-Identifier: MIT */
/*
 * Reads only the text of the command: programs that delete, publish or use the
 * network, and paths outside the working directory. What a program does
 * besides is unknown, so that a command without such words is not called
 * harmless: then there is no row at all. Begin reading at ask_add_risks().
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/shell_line.h"
#include "base/str.h"
#include "cmd/chat/ask.h"

enum {
	DEPTH = 4,           /* of commands within commands */
	EXAMPLE_CHARS = 24,  /* shown of a word */
	EXAMPLE_BYTES = 128, /* of a word, or a program with its subcommand */
	MOST_READ = 64 << 10,
	MOST_INNER = 256 << 10,
};

/* The worst first: a narrow window cuts the row. */
enum risk {
	RISK_ROOT,
	RISK_DELETES,
	RISK_DISCARDS,
	RISK_PUBLISHES,
	RISK_CODE,
	RISK_WRITES,
	RISK_SYSTEM,
	RISK_NETWORK,
	RISK_PROCESSES,
	RISK_RIGHTS,
	RISK_OUTSIDE,
	N_RISKS,
};

static const char *const names[N_RISKS] = {
	[RISK_ROOT] = "as another user",
	[RISK_DELETES] = "deletes",
	[RISK_DISCARDS] = "discards changes",
	[RISK_PUBLISHES] = "publishes",
	[RISK_CODE] = "runs what it reads",
	[RISK_WRITES] = "writes outside",
	[RISK_SYSTEM] = "system",
	[RISK_NETWORK] = "network",
	[RISK_PROCESSES] = "ends processes",
	[RISK_RIGHTS] = "permissions",
	[RISK_OUTSIDE] = "paths outside",
};

/* A program, and the subcommand and the word that it must have; NULL: any. */
static const struct risky {
	const char *program, *sub, *word;
	enum risk risk;
} programs[] = {
	{ "rm", NULL, NULL, RISK_DELETES },
	{ "rmdir", NULL, NULL, RISK_DELETES },
	{ "unlink", NULL, NULL, RISK_DELETES },
	{ "shred", NULL, NULL, RISK_DELETES },
	{ "find", NULL, "-delete", RISK_DELETES },
	{ "git", "clean", NULL, RISK_DELETES },
	{ "git", "rm", NULL, RISK_DELETES },
	{ "git", "branch", "-D", RISK_DELETES },
	{ "git", "reset", "--hard", RISK_DISCARDS },
	{ "git", "checkout", "--", RISK_DISCARDS },
	{ "git", "checkout", "-f", RISK_DISCARDS },
	{ "git", "restore", NULL, RISK_DISCARDS },
	{ "git", "stash", "drop", RISK_DISCARDS },
	{ "git", "stash", "clear", RISK_DISCARDS },
	{ "git", "push", NULL, RISK_PUBLISHES },
	{ "npm", "publish", NULL, RISK_PUBLISHES },
	{ "cargo", "publish", NULL, RISK_PUBLISHES },
	{ "twine", "upload", NULL, RISK_PUBLISHES },
	{ "docker", "push", NULL, RISK_PUBLISHES },
	{ "gh", NULL, NULL, RISK_NETWORK },
	{ "dd", NULL, NULL, RISK_SYSTEM },
	{ "mount", NULL, NULL, RISK_SYSTEM },
	{ "crontab", NULL, NULL, RISK_SYSTEM },
	{ "systemctl", NULL, NULL, RISK_SYSTEM },
	{ "shutdown", NULL, NULL, RISK_SYSTEM },
	{ "reboot", NULL, NULL, RISK_SYSTEM },
	{ "apt", NULL, NULL, RISK_SYSTEM },
	{ "apt-get", NULL, NULL, RISK_SYSTEM },
	{ "curl", NULL, NULL, RISK_NETWORK },
	{ "wget", NULL, NULL, RISK_NETWORK },
	{ "ssh", NULL, NULL, RISK_NETWORK },
	{ "scp", NULL, NULL, RISK_NETWORK },
	{ "sftp", NULL, NULL, RISK_NETWORK },
	{ "rsync", NULL, NULL, RISK_NETWORK },
	{ "nc", NULL, NULL, RISK_NETWORK },
	{ "git", "clone", NULL, RISK_NETWORK },
	{ "git", "fetch", NULL, RISK_NETWORK },
	{ "git", "pull", NULL, RISK_NETWORK },
	{ "pip", "install", NULL, RISK_NETWORK },
	{ "pip3", "install", NULL, RISK_NETWORK },
	{ "npm", "install", NULL, RISK_NETWORK },
	{ "npm", "ci", NULL, RISK_NETWORK },
	{ "npx", NULL, NULL, RISK_NETWORK },
	{ "cargo", "install", NULL, RISK_NETWORK },
	{ "go", "get", NULL, RISK_NETWORK },
	{ "kill", NULL, NULL, RISK_PROCESSES },
	{ "pkill", NULL, NULL, RISK_PROCESSES },
	{ "killall", NULL, NULL, RISK_PROCESSES },
	{ "chmod", NULL, NULL, RISK_RIGHTS },
	{ "chown", NULL, NULL, RISK_RIGHTS },
	{ "sudo", NULL, NULL, RISK_ROOT },
	{ "doas", NULL, NULL, RISK_ROOT },
	{ "su", NULL, NULL, RISK_ROOT },
};

/* Words before a program that only start it. */
static const char *const starters[] = {
	"sudo",    "doas",  "env",     "nohup", "time",   "nice", "exec",
	"command", "xargs", "timeout", "then",  "setsid", "do",   "while",
	"else",    "if",    "until",   "elif",  "{",      "!",
};

static const char *const shells[] = { "sh",  "bash", "dash",
				      "zsh", "ksh",  "busybox" };

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

/* What was found: the first word for each risk, "" if there is none. */
struct findings {
	const char *workdir;
	char words[N_RISKS][EXAMPLE_BYTES];
};

static bool is_one_of(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(word, list[i]))
			return true;
	return false;
}

static void note(struct findings *f, enum risk risk, const char *word,
		 const char *sub)
{
	struct str shown = str_of(word);

	shown.len = str_char_offset(shown, EXAMPLE_CHARS);
	if (!f->words[risk][0])
		snprintf(f->words[risk], EXAMPLE_BYTES, "%.*s%s%s",
			 (int)shown.len, word, sub ? " " : "", sub ? sub : "");
}

/* Returns the name of a program without its directory. */
static const char *base_name(const char *word)
{
	const char *slash = strrchr(word, '/');

	return slash ? slash + 1 : word;
}

/* True for "NAME=value". */
static bool is_assignment(const char *word)
{
	size_t n = 0;

	while (isalnum((unsigned char)word[n]) || word[n] == '_')
		n++;
	return n && word[n] == '=';
}

/* Returns the index of the program: behind assignments, and behind starters
 * with their options and numbers ("timeout -k 5 10 rm"). */
static size_t find_program(struct findings *f, const struct shell_words *w)
{
	bool starts = false;
	size_t i = 0;

	for (; i < w->n; i++) {
		const char *name = base_name(w->list[i].text);

		if (is_one_of(name, starters, COUNT(starters))) {
			starts = true;
			if (!strcmp(name, "sudo") || !strcmp(name, "doas"))
				note(f, RISK_ROOT, name, NULL);
		} else if (!is_assignment(name) &&
			   !(starts && (name[0] == '-' ||
					isdigit((unsigned char)name[0])))) {
			break;
		}
	}
	return i;
}

/* Returns the index of a program's subcommand: "push" of "git -C . push". */
static size_t find_sub(const struct shell_words *w, size_t program)
{
	size_t i = program + 1;

	while (i < w->n && w->list[i].text[0] == '-')
		i += strcasecmp(w->list[i].text, "-c") ? 1 : 2;
	return i;
}

static bool has_word(const struct shell_words *w, const char *word)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->list[i].text, word))
			return true;
	return false;
}

/* True if a path is outside the working directory, as far as its text says. */
static bool is_outside(const struct findings *f, const char *path)
{
	size_t n = f->workdir ? strlen(f->workdir) : 0;

	if (!strncmp(path, "/dev/", 5))
		return strcmp(path, "/dev/null") != 0 &&
		       strncmp(path, "/dev/std", 8) != 0 &&
		       strncmp(path, "/dev/fd/", 8) != 0;
	if (path[0] == '~' || !strncmp(path, "$HOME", 5) ||
	    !strncmp(path, "${HOME}", 7) || !strcmp(path, "..") ||
	    !strncmp(path, "../", 3))
		return true;
	return path[0] == '/' && (strstr(path, "/..") || !n ||
				  strncmp(path, f->workdir, n) != 0 ||
				  (path[n] && path[n] != '/'));
}

static void read_commands(struct findings *f, struct str text, int depth);

static void read_program(struct findings *f, const struct shell_words *w,
			 size_t at, int depth)
{
	const char *name = base_name(w->list[at].text);
	size_t sub = find_sub(w, at);
	const char *word = sub < w->n ? w->list[sub].text : "";

	for (size_t i = 0; i < COUNT(programs); i++) {
		const struct risky *p = &programs[i];

		if (!strcmp(p->program, name) &&
		    (!p->sub || !strcmp(p->sub, word)) &&
		    (!p->word || has_word(w, p->word)))
			note(f, p->risk, name, p->sub ? p->sub : p->word);
	}
	if (!strncmp(name, "mkfs", 4))
		note(f, RISK_SYSTEM, name, NULL);
	if (is_one_of(name, shells, COUNT(shells)) && at + 1 == w->n && w->pipe)
		note(f, RISK_CODE, "|", name);
	if (!strcmp(name, "eval"))
		note(f, RISK_CODE, name, NULL);
	/* sh -c 'rm x', eval 'rm x', find -exec rm */
	for (size_t i = at + 1; i < w->n; i++) {
		const char *before = w->list[i - 1].text;

		if (!strcmp(before, "eval") || !strcmp(before, "-exec") ||
		    (before[0] == '-' && before[1] != '-' &&
		     str_ends(str_of(before), "c") &&
		     is_one_of(name, shells, COUNT(shells))))
			read_commands(f, str_of(w->list[i].text), depth + 1);
	}
}

static void read_words(struct findings *f, const struct shell_words *w,
		       int depth)
{
	size_t at = find_program(f, w);

	if (at < w->n)
		read_program(f, w, at, depth);
	for (size_t i = at + 1; i < w->n; i++)
		if (!(w->list[i].literal && w->list[i].text[0] == '~') &&
		    is_outside(f, w->list[i].text))
			note(f, RISK_OUTSIDE, w->list[i].text, NULL);
}

/* Finds ">file" and ">>file" outside the working directory, which
 * shell_line_next() leaves out. */
static void read_outputs(struct findings *f, struct str text)
{
	char path[EXAMPLE_BYTES];

	while ((text = str_skip(text, str_find(text, '>'))).len) {
		size_t n = 0;

		while (text.len && strchr("> |&\"'", text.ptr[0]))
			text = str_skip(text, 1);
		while (n < text.len && n + 1 < sizeof(path) &&
		       !strchr(" \t\n;|&<>)\"'", text.ptr[n]))
			n++;
		if (n)
			memcpy(path, text.ptr, n);
		path[n] = '\0';
		if (n && is_outside(f, path))
			note(f, RISK_WRITES, path, NULL);
	}
}

/* Reads the commands of a text, and those within them. */
static void read_commands(struct findings *f, struct str text, int depth)
{
	struct shell_line line = { .rest = text,
				   .inner = BUF_INIT(MOST_INNER) };

	if (depth < DEPTH)
		read_outputs(f, text);
	while (depth < DEPTH && line.rest.len) {
		struct shell_words w = { 0 };

		shell_line_next(&line, &w);
		read_words(f, &w, depth);
		shell_words_release(&w);
	}
	if (line.inner.len)
		read_commands(f, buf_str(&line.inner), depth + 1);
	buf_release(&line.inner);
}

void ask_add_risks(const struct approval *a, struct buf *out)
{
	struct findings f = { .workdir = a->workdir };
	struct str text = str_of(json_string(a->args, "command", ""));

	if (!(a->tool->flags & TOOL_RUNS))
		return;
	if (text.len > MOST_READ)
		text.len = MOST_READ;
	read_commands(&f, text, 0);
	for (size_t i = 0; i < N_RISKS; i++)
		if (f.words[i][0])
			buf_addf(out, "%s%s (%s)", out->len ? ", " : "",
				 names[i], f.words[i]);
}

/* hook_program.c - which file a hook's command line runs. */
/* SPDX-License-Identifier: MIT */
/*
 * Hooks start in the session's directory. Code in the user's own hooks.json
 * must therefore be text of the line or a file with an absolute path:
 * "./check.sh", "sh check.sh", "cat x | sh" and "$(cat x)" would run code of
 * whichever repository the user works in. Begin reading at
 * hook_program_fault().
 *
 * base/shell_line.c splits a line into commands. find_program() skips what may
 * come before the program. Files that a program only reads ("cat ./x") may be
 * relative; whose output is code (fault_of_source()) may not read them. What
 * cannot be told counts as a file of the repository.
 */
#include "hooks/hook_program.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/shell_line.h"
#include "base/str.h"

enum {
	WORD_MAX = 1 << 20,
	DEEPEST = 4, /* "sh -c" within "sh -c" */
};

/* What the last command was. */
enum cd_state {
	CD_NOT,
	CD_ENTERED, /* "cd /DIRECTORY" */
	CD_OR,      /* that, and "||" */
	CD_EXITED,  /* that, and "exit" */
};

/* A command line, and what was learnt from its beginning. */
struct hook_line {
	struct shell_line shell;
	const char *whole; /* the outermost line, where variables are set */
	int depth;         /* "sh -c" within "sh -c" */
	/* Why the input of a pipe may be a file of the repository, or NULL. */
	const char *source;
	/* In a directory that does not depend on the start directory: up to
	 * the end of this "&&", or of the group. */
	bool elsewhere;
	bool stays;
	enum cd_state cd;
	bool cd_is_sure; /* its directory is always there */
	int cd_group;    /* shell.group there */
	bool compound;   /* there was an "if", a loop or the like */
};

/* Interpreters that run a file named by their first argument. */
static const struct interpreter {
	const char *name; /* a version may follow: "python3.11" */
	/* letters of options after which no file is run: its code, or the name
	 * of a module, is the next argument or comes from standard input */
	const char *code;
	/* letters of options with a value that is not run */
	const char *value;
	/* letters of options whose value is a file that is run */
	const char *file;
	bool shell; /* the value of -c is a command */
	bool text;  /* without -f the first argument is the program's text */
	/* letter of an option whose value is not of this directory unless it
	 * has a slash */
	char library;
} interpreters[] = {
	{ "sh", "s", "oO", "", true, false, 0 },
	{ "bash", "s", "oO", "", true, false, 0 },
	{ "dash", "s", "oO", "", true, false, 0 },
	{ "ash", "s", "oO", "", true, false, 0 },
	{ "zsh", "s", "oO", "", true, false, 0 },
	{ "ksh", "s", "oO", "", true, false, 0 },
	{ "mksh", "s", "oO", "", true, false, 0 },
	{ "fish", "", "", "C", true, false, 0 },
	{ "python", "cmV", "WX", "", false, false, 0 },
	{ "pypy", "cmV", "WX", "", false, false, 0 },
	{ "perl", "eEvV", "Mm", "I", false, false, 0 },
	{ "ruby", "ev", "", "rI", false, false, 'r' },
	{ "node", "epcv", "", "r", false, false, 0 },
	{ "nodejs", "epcv", "", "r", false, false, 0 },
	{ "php", "rlv", "d", "f", false, false, 0 },
	{ "lua", "v", "e", "l", false, false, 0 },
	{ "luajit", "v", "e", "l", false, false, 0 },
	{ "tclsh", "", "", "", false, false, 0 },
	{ "Rscript", "e", "", "", false, false, 0 },
	{ "awk", "", "Fv", "f", false, true, 0 },
	{ "gawk", "", "Fv", "f", false, true, 0 },
	{ "mawk", "", "Fv", "f", false, true, 0 },
	{ "sed", "", "el", "f", false, true, 0 },
	{ "expect", "c", "", "f", false, false, 0 },
	{ "julia", "eE", "", "L", false, false, 0 },
};

/* Programs and words of a shell that run the command behind them. */
static const struct prefix {
	const char *name;
	const char *value;   /* letters of options with a value */
	const char *command; /* letters of options whose value is a command */
	int arguments;       /* that come before the command */
} prefixes[] = {
	{ "!", "", "", 0 },
	{ "{", "", "", 0 },
	{ "if", "", "", 0 },
	{ "then", "", "", 0 },
	{ "elif", "", "", 0 },
	{ "else", "", "", 0 },
	{ "while", "", "", 0 },
	{ "until", "", "", 0 },
	{ "do", "", "", 0 },
	{ "builtin", "", "", 0 },
	{ "busybox", "", "", 0 },
	{ "chronic", "", "", 0 },
	{ "chroot", "", "", 1 },
	{ "chrt", "TPD", "", 1 },
	{ "command", "", "", 0 },
	{ "coproc", "", "", 0 },
	{ "doas", "uC", "", 0 },
	{ "env", "uC", "S", 0 },
	{ "exec", "a", "", 0 },
	{ "export", "", "", 0 },
	{ "flock", "wE", "c", 1 },
	{ "ionice", "cnpPu", "", 0 },
	{ "ltrace", "aAeFlnopsuxX", "", 0 },
	{ "nice", "n", "", 0 },
	{ "nohup", "", "", 0 },
	{ "parallel", "jIaS", "", 0 },
	{ "prlimit", "", "", 0 },
	{ "runuser", "ugGsw", "c", 0 },
	{ "script", "EIOBTmo", "c", 0 },
	{ "setarch", "", "", 0 },
	{ "setpriv", "", "", 0 },
	{ "setsid", "", "", 0 },
	{ "sg", "", "c", 1 },
	{ "ssh-agent", "aEtP", "", 0 },
	{ "stdbuf", "ioe", "", 0 },
	{ "strace", "aAbeEIoOpPsSuUX", "", 0 },
	{ "su", "gGswT", "c", 1 },
	{ "sudo", "ugpCcDhRrTtU", "", 0 },
	{ "systemd-run", "HMpuE", "", 0 },
	{ "taskset", "", "", 1 },
	{ "time", "fo", "", 0 },
	{ "timeout", "ks", "", 1 },
	{ "unshare", "GSRw", "", 0 },
	{ "watch", "nq", "", 0 },
	{ "xargs", "adEILnPs", "", 0 },
};

/* Their long options with a value that is an argument of its own. */
static const char *const long_values[] = {
	"--adjustment", "--chdir", "--class",    "--classdata", "--error",
	"--format",     "--group", "--groups",   "--input",     "--interval",
	"--kill-after", "--login", "--max-args", "--max-procs", "--mode",
	"--output",     "--regid", "--reuid",    "--shell",     "--signal",
	"--timeout",    "--unset", "--unit",     "--user",      "--wait",
};

/* Variables that name code for the programs that a command starts. */
static const char *const code_variables[] = {
	"BASH_ENV",   "ENV",     "LD_LIBRARY_PATH", "LD_PRELOAD",
	"NODE_PATH",  "PATH",    "PERL5LIB",        "PYTHONHOME",
	"PYTHONPATH", "RUBYLIB", "PYTHONSTARTUP",
};

/* Programs of PATH that run no file that an argument names. */
static const char *const readers[] = {
	":",           "[",         "[[",         "ack",      "ag",
	"awk",         "basename",  "bat",        "black",    "cat",
	"cd",          "chgrp",     "chmod",      "chown",    "clang-format",
	"cmp",         "comm",      "cp",         "csplit",   "curl",
	"cut",         "date",      "dd",         "df",       "diff",
	"dirname",     "du",        "echo",       "egrep",    "eval",
	"exit",        "expr",      "false",      "fd",       "fgrep",
	"file",        "find",      "flake8",     "fold",     "for",
	"gh",          "git",       "gofmt",      "grep",     "gzip",
	"head",        "hexdump",   "iconv",      "install",  "jq",
	"kill",        "ln",        "local",      "logger",   "ls",
	"md5sum",      "mkdir",     "mktemp",     "mv",       "nl",
	"notify-send", "od",        "paste",      "patch",    "printf",
	"pwd",         "pyflakes",  "read",       "readlink", "realpath",
	"return",      "rg",        "rm",         "rmdir",    "rsync",
	"ruff",        "rustfmt",   "scp",        "seq",      "set",
	"sha1sum",     "sha256sum", "shellcheck", "shfmt",    "shift",
	"sleep",       "sort",      "split",      "stat",     "strings",
	"tac",         "tail",      "tee",        "test",     "touch",
	"tr",          "trap",      "tree",       "true",     "truncate",
	"umask",       "uniq",      "unzip",      "wait",     "wc",
	"wget",        "xmllint",   "xxd",        "xz",       "yamllint",
	"yq",          "zcat",      "zip",
};

static const char program_fault[] =
	"its program must be an absolute path or a name on PATH";
static const char file_fault[] =
	"the file that it runs must be an absolute path, since a relative one "
	"may be a file of the repository";
static const char output_fault[] =
	"its code must be text of the line or a file with an absolute path, "
	"since what a command prints may come from a file of the repository";
static const char size_fault[] =
	"it is too long or too deeply nested to be checked: write it to a file "
	"and run that by its absolute path";
static const char variable_fault[] =
	"a variable that names programs or code must have absolute paths, "
	"since a relative one may be in the repository";

/* Decides by what separates two commands where the second one runs, and what
 * its input is. */
static void settle_operators(struct hook_line *l)
{
	enum shell_operator op = l->shell.before;

	if (l->shell.lowest < l->cd_group) {
		l->elsewhere = l->stays = false;
		l->cd = CD_NOT;
	}
	if (l->shell.closed) /* the input is that of all commands in it */
		l->source = output_fault;

	if (l->cd == CD_ENTERED && op == SHELL_AND)
		l->elsewhere = true;
	else if (op == SHELL_NEXT &&
		 (l->cd == CD_EXITED || (l->cd == CD_ENTERED && l->cd_is_sure)))
		l->elsewhere = l->stays = true;
	else if (op != SHELL_AND && op != SHELL_PIPE && !l->stays)
		l->elsewhere = false;
	l->cd = l->cd == CD_ENTERED && op == SHELL_OR ? CD_OR : CD_NOT;
}

struct hook_target {
	size_t at; /* the program's index */
	/* the command that a prefix runs ("su -c COMMAND"); no text: none */
	struct shell_word command;
	bool xargs; /* arguments follow that come from its input */
};

/* Returns the length of the name of an assignment ("A=b"), which may precede a
 * shell command; 0 for any other word. */
static size_t assigned_name(struct str word)
{
	size_t equals = str_find(word, '=');

	if (equals == word.len)
		return 0;
	for (size_t i = 0; i < equals; i++)
		if (!isalnum((unsigned char)word.ptr[i]) && word.ptr[i] != '_')
			return 0;
	return equals;
}

static const struct prefix *find_prefix(const char *word)
{
	const char *name = word[0] == '/' ? path_name(word) : word;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strcmp(name, prefixes[i].name))
			return &prefixes[i];
	return NULL;
}

static bool is_long_value(const char *option)
{
	for (size_t i = 0; i < sizeof(long_values) / sizeof(*long_values); i++)
		if (!strcmp(option, long_values[i]))
			return true;
	return false;
}

/* Skips an option of a prefix at *i, and its value. Returns the value if it is
 * a command. */
static struct shell_word skip_option(const struct shell_words *w,
				     const struct prefix *p, size_t *i)
{
	struct shell_word word = w->list[*i];
	const char *option = word.text;
	bool is_command = !strcmp(option, "--command") ||
			  !strcmp(option, "--session-command");

	if (option[1] == '-') {
		*i += is_command || is_long_value(option);
		return is_command ? w->list[*i] : (struct shell_word){ 0 };
	}
	for (char *c = word.text + 1; *c; c++) {
		is_command = strchr(p->command, *c) != NULL;
		if (!is_command && !strchr(p->value, *c))
			continue;
		/* the value may follow at once: "-n5" */
		*i += !c[1];
		word.text = c + 1;
		if (is_command)
			return c[1] ? word : w->list[*i];
		break;
	}
	return (struct shell_word){ 0 };
}

/* Finds the program: the first word after assignments and prefixes. Its index
 * is w->n if there is none. */
static struct hook_target find_program(const struct shell_words *w)
{
	const struct prefix *p = NULL;
	int arguments = 0;
	struct hook_target f = { 0 };

	for (; f.at < w->n; f.at++) {
		const char *word = w->list[f.at].text;
		const struct prefix *next = find_prefix(word);

		if (w->list[f.at].mark) {
			f.at += w->list[f.at].mark == '<';
		} else if (assigned_name(str_of(word))) {
			continue;
		} else if (p && word[0] == '-') {
			f.command = skip_option(w, p, &f.at);
			if (f.command.text)
				return f;
		} else if (arguments > 0) {
			arguments--;
		} else if (next) {
			p = next;
			arguments = p->arguments;
			f.xargs |= !strcmp(p->name, "xargs") ||
				   !strcmp(p->name, "parallel");
		} else {
			return f;
		}
	}
	f.xargs &= p && strcmp(p->name, "xargs") != 0;
	f.at = w->n;
	return f;
}

/* True for a path that does not depend on the start directory. Literal, "~" and
 * "$HOME" are names of directories there. "~+" is that directory, and
 * /proc/self/cwd leads to it. */
static bool is_absolute(const char *path, bool literal)
{
	static const char *const absolute[] = { "/", "~", "$HOME/",
						"${HOME}/" };
	static const char *const relative[] = { "/proc/", "/dev/fd/",
						"/dev/stdin", "~+", "~-" };

	for (size_t i = 0; i < sizeof(relative) / sizeof(*relative); i++)
		if (str_starts(str_of(path), relative[i]))
			return false;
	for (size_t i = 0; i < sizeof(absolute) / sizeof(*absolute); i++)
		if ((!literal || !i) && str_starts(str_of(path), absolute[i]))
			return true;
	return !literal && (!strcmp(path, "$HOME") || !strcmp(path, "${HOME}"));
}

static bool is_relative(const struct shell_word *word)
{
	return !is_absolute(word->text, word->literal);
}

static bool has_slash(const char *word)
{
	return strchr(word, '/') != NULL;
}

/* True for "./x" and the like behind one of the characters, or at the start,
 * which counts as a blank. */
static bool names_relative(const char *text, const char *behind)
{
	static const char *const starts[] = { "./", "../", "$PWD/", "${PWD}/" };

	for (const char *at = text; *at; at++)
		for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
			if (str_starts(str_of(at), starts[i]) &&
			    strchr(behind, at == text ? ' ' : at[-1]))
				return true;
	return false;
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* True if the line may give the variable a value: its name is in it without a
 * "$". */
static bool sets_variable(const char *line, struct str name)
{
	struct str rest = str_of(line);
	size_t at;

	while ((at = str_search(rest, name)) < rest.len) {
		const char *found = rest.ptr + at;
		char before = found > line ? found[-1] : ' ';

		if (before == '{' && found - 1 > line)
			before = found[-2];
		if (before != '$' && !is_name_char(before) &&
		    !is_name_char(found[name.len]))
			return true;
		rest = str_skip(rest, at + 1);
	}
	return false;
}

/* True for "}", and for ":-WORD}" with a word that is not a path. */
static bool ends_variable(const char *at)
{
	if (*at == ':' && at[1] == '-')
		for (at += 2; is_name_char(*at) || strchr(".+-", *at); at++)
			if (!*at)
				return false;
	return *at == '}';
}

/* True if a variable in the text may have a value that the line gives it, or
 * one of its arguments. */
static bool expands_line(const char *text, const char *line)
{
	for (const char *at = strchr(text, '$'); at; at = strchr(at + 1, '$')) {
		bool braces = at[1] == '{';
		struct str name = { at + 1 + braces, 0 };

		while (is_name_char(name.ptr[name.len]))
			name.len++;
		/* a command, or a number that the shell sets */
		if (at[1] && strchr("($?#!-", at[1]))
			at++;
		else if (!name.len || isdigit((unsigned char)name.ptr[0]) ||
			 (braces && !ends_variable(name.ptr + name.len)) ||
			 sets_variable(line, name))
			return true;
	}
	return false;
}

static const struct interpreter *find_interpreter(const char *word)
{
	const char *name = path_name(word);

	for (size_t i = 0; i < sizeof(interpreters) / sizeof(*interpreters);
	     i++)
		if (path_is_version_of(name, interpreters[i].name))
			return &interpreters[i];
	return NULL;
}

/* What the options of an interpreter say about the next argument. */
enum meaning {
	SKIP,    /* an option without a value */
	VALUE,   /* the next argument is a value that is not run */
	FILE_IS, /* the next argument is a file that is run */
	COMMAND, /* the next argument is a shell command */
	CODE,    /* the next argument is code, or nothing is run */
	INPUT,   /* the code comes from standard input */
};

static enum meaning meaning_of_long(const char *option)
{
	static const char *const files[] = { "--require",   "--import",
					     "--loader",    "--rcfile",
					     "--init-file", "--file" };
	static const char *const code[] = { "--eval", "--print", "--check",
					    "--version", "--help" };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(option, files[i]))
			return FILE_IS;
	for (size_t i = 0; i < sizeof(code) / sizeof(*code); i++)
		if (!strcmp(option, code[i]))
			return CODE;
	return SKIP;
}

static enum meaning meaning_of(const struct interpreter *p, const char *option)
{
	if (option[0] == '-' && option[1] == '-')
		return meaning_of_long(option);
	for (const char *c = option + 1; *c; c++) {
		if (p->shell && *c == 'c')
			return COMMAND;
		if (p->shell && *c == 's')
			return INPUT;
		if (strchr(p->code, *c) || (p->shell && *c == 'n'))
			return CODE;
		/* a value may follow the letter at once: "-Wignore" */
		if (strchr(p->file, *c))
			return c[1] ? SKIP : FILE_IS;
		if (strchr(p->value, *c))
			return c[1] ? SKIP : VALUE;
	}
	return !option[1] ? INPUT : SKIP;
}

/* True if the value of an option names a file or directory of the start
 * directory. */
static bool is_relative_value(const struct interpreter *p, char letter,
			      const char *value, bool literal)
{
	return !is_absolute(value, literal) &&
	       (letter != p->library || has_slash(value));
}

/* True if "-r./x" or "--require=./x" names a relative file. */
static bool has_relative_value(const struct interpreter *p,
			       const struct shell_word *word)
{
	const char *option = word->text;
	const char *equals = strchr(option, '=');

	if (option[1] == '-') {
		char *name = xstrndup(option, equals ? equals - option : 0);
		bool file = meaning_of_long(name) == FILE_IS;

		free(name);
		return equals && (file || has_slash(equals)) &&
		       !is_absolute(equals + 1, word->literal);
	}
	return option[1] && strchr(p->file, option[1]) && option[2] &&
	       is_relative_value(p, option[1], option + 2, word->literal);
}

static const char *fault_of(const char *command, const struct hook_line *outer);
static const char *fault_of_output(const char *text,
				   const struct hook_line *line);

/* Checks text that is run. Of languages other than a shell's only the paths in
 * quotes are looked at. */
static const char *fault_of_code(const struct shell_word *code, bool shell,
				 const struct hook_line *l)
{
	const char *fault = NULL;

	if (!code->text)
		return NULL;
	if (code->output)
		fault = fault_of_output(code->text, l);
	else if (code->expands && expands_line(code->text, l->whole))
		fault = output_fault;
	if (fault)
		return fault;
	if (shell)
		return fault_of(code->text, l);
	return names_relative(code->text, "'\"`") ? file_fault : NULL;
}

/* Checks code that comes from the command's standard input. */
static const char *fault_of_input(const struct shell_words *w, bool shell,
				  const struct hook_line *l)
{
	for (size_t i = w->n; i-- > 0;) {
		struct shell_word word = w->list[i];

		if (word.mark == 'h') {
			word.text = w->here;
			return fault_of_code(&word, shell, l);
		}
		if (word.mark == '<' && i + 1 < w->n)
			return w->list[i + 1].output
				       ? fault_of_output(w->list[i + 1].text, l)
			       : is_relative(&w->list[i + 1]) ? file_fault
							      : NULL;
	}
	return w->pipe ? l->source : output_fault;
}

/* A script, as an argument that is run: "<(...)" is one, too. */
static const char *fault_of_script(const struct shell_word *script,
				   const struct hook_line *l)
{
	if (str_starts(str_of(script->text), "<(") && script->output)
		return fault_of_output(script->text, l);
	return is_relative(script) ? file_fault : NULL;
}

/* Checks an argument whose meaning an option before it has told. */
static const char *fault_of_value(const struct interpreter *p, enum meaning m,
				  const struct shell_word *option,
				  const struct hook_line *l)
{
	const struct shell_word *value = option + 1;
	struct shell_word code = *option;

	if (m == COMMAND)
		return fault_of_code(value, true, l);
	if (m == FILE_IS)
		return value->text && is_relative_value(
					      p,
					      option->text
						      [strlen(option->text) -
						       1],
					      value->text, value->literal)
			       ? file_fault
			       : NULL;
	if (p->shell) /* -n: nothing is run */
		return NULL;
	/* the code may follow the letter at once: -e1 */
	code.text = option->text + strcspn(option->text, p->code);
	code.text += *code.text != 0;
	if (!*code.text || option->text[1] == '-')
		code = *value;
	return fault_of_code(&code, false, l);
}

/* Checks what an interpreter with these arguments runs. args ends with a NULL
 * text. */
static const char *fault_of_interpreter(const struct interpreter *p,
					const struct shell_word *args,
					const struct shell_words *w,
					const struct hook_line *l)
{
	bool by_option = p->text;

	for (; args->text; args++) {
		const char *word = args->text;
		bool option = word[0] == '-' || (p->shell && *word == '+');
		enum meaning m = option ? meaning_of(p, word) : SKIP;
		const char *fault;

		if (args->mark) {
			args += args->mark == '<' && args[1].text;
			continue;
		}
		if (m == INPUT)
			return fault_of_input(w, p->shell, l);
		/* The first word that is not an option is the script, unless
		 * that is text (as with awk) or came with an option. */
		if (!option)
			return by_option ? NULL : fault_of_script(args, l);
		if (has_relative_value(p, args))
			return file_fault;
		if (m == SKIP)
			continue;
		fault = m == VALUE ? NULL : fault_of_value(p, m, args, l);
		if (fault || m == CODE || m == COMMAND)
			return fault;
		args += args[1].text != NULL;
		by_option = by_option || (m == FILE_IS && p->text);
	}
	return by_option ? NULL : fault_of_input(w, p->shell, l);
}

/* True if a variable names code ("PATH=.:$PATH") in a relative directory. Other
 * variables at the start of a directory are trusted, but not $PWD. */
static bool has_relative_code(const struct shell_word *word)
{
	struct str value = str_of(word->text);
	struct str name = { value.ptr, assigned_name(value) };
	struct str part;
	bool is_code = false;

	if (!name.len)
		return false;
	for (size_t i = 0; i < sizeof(code_variables) / sizeof(*code_variables);
	     i++)
		is_code |= str_is(name, code_variables[i]);
	value = str_skip(value, name.len + 1);
	while (is_code && str_split(&value, ':', &part))
		if (!str_starts(part, "/") && !str_starts(part, "~") &&
		    (!str_starts(part, "$") || str_starts(part, "$PWD") ||
		     str_starts(part, "${PWD") || str_starts(part, "$(")))
			return true;
	return false;
}

/* Checks what follows "-exec" of find, and the argument of eval and trap. */
static const char *fault_of_arguments(const struct shell_words *w, size_t at,
				      const struct hook_line *l)
{
	const char *program = path_name(w->list[at].text);
	bool find = !strcmp(program, "find");
	bool eval = !strcmp(program, "eval");
	struct buf line = BUF_INIT(WORD_MAX);
	const char *fault = NULL;

	if (!find && !eval && strcmp(program, "trap") != 0)
		return NULL;
	for (size_t i = at + 1; i < w->n && !fault; i++) {
		const char *word = w->list[i].text;

		if (find && (str_starts(str_of(word), "-exec") ||
			     str_starts(str_of(word), "-ok")))
			buf_addc(&line, '\n');
		else if (!find || line.len)
			buf_addf(&line, "%s ", word);
		if (eval && w->list[i].output)
			fault = fault_of_output(word, l);
		if (!find && !eval)
			break;
	}
	if (!fault && line.len)
		fault = fault_of(line.ptr, l);
	buf_release(&line);
	return fault;
}

static bool is_reader(const struct shell_words *w, size_t at)
{
	const char *name = w->list[at].text;
	bool git = !strcmp(name, "git");

	for (size_t i = at + 1; git && i < w->n; i++)
		if (!strcmp(w->list[i].text, "-c") ||
		    str_starts(str_of(w->list[i].text), "--exec-path"))
			return false;
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++)
		if (!strcmp(name, readers[i]))
			return true;
	return false;
}

/* True for a name in which nothing can be replaced, like "{}" of find -exec. */
static bool is_placeholder(const char *program)
{
	static const char *const known[] = {
		":", ".", "[", "[[", "]]", "{", "}"
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(program, known[i]))
			return false;
	for (const char *c = program; *c; c++)
		if (isalnum((unsigned char)*c))
			return false;
	return true;
}

/* Checks the program, which comes from PATH, a variable, or a command. */
static const char *fault_of_program(const struct shell_words *w, size_t at,
				    const struct hook_line *l)
{
	const struct shell_word *program = &w->list[at];
	const char *name = program->text;
	bool absolute = has_slash(name) && !is_relative(program);
	bool is_output = program->output && str_ends(str_of(name), ")");
	bool reads = is_reader(w, at);

	if (has_slash(name) && !absolute && !is_output)
		return program_fault;
	if (absolute)
		return NULL;
	if (is_placeholder(name) ||
	    (program->output && fault_of_output(name, l)) ||
	    (program->expands && expands_line(name, l->whole)))
		return output_fault;
	/* an interpreter perhaps: "$SHELL x" */
	if ((program->expands || program->output) && at + 1 < w->n &&
	    w->list[at + 1].text[0] != '-' && is_relative(&w->list[at + 1]))
		return file_fault;
	for (size_t i = at + 1; i < w->n && !reads; i++)
		if (!w->list[i - 1].mark &&
		    names_relative(w->list[i].text, " =!,:"))
			return file_fault;
	return NULL;
}

static const char *fault_of_words(const struct shell_words *w, bool shell,
				  const struct hook_line *l)
{
	struct hook_target f = find_program(w);
	const char *program = f.at < w->n ? w->list[f.at].text : "";
	const struct interpreter *p = find_interpreter(program);
	bool sources =
		shell && (!strcmp(program, ".") || !strcmp(program, "source"));
	const char *fault;

	if (w->is_cut)
		return size_fault;
	for (size_t i = 0; i < f.at; i++)
		if (has_relative_code(&w->list[i]))
			return variable_fault;
	if (f.command.text)
		return fault_of_code(&f.command, true, l);
	if (f.at == w->n)
		return f.xargs ? output_fault : NULL;
	if (sources)
		return f.at + 1 < w->n ? fault_of_script(&w->list[f.at + 1], l)
				       : NULL;
	if (p && (!has_slash(program) || !is_relative(&w->list[f.at])))
		return fault_of_interpreter(p, w->list + f.at + 1, w, l);
	fault = fault_of_program(w, f.at, l);
	return fault ? fault : fault_of_arguments(w, f.at, l);
}

/* Why the output of a command may have text of the repository's files, if that
 * is run. NULL for text of the line, and for files with absolute paths. */
static const char *fault_of_source(const struct shell_words *w,
				   const struct hook_line *l)
{
	struct hook_target f = find_program(w);
	const char *name = f.at < w->n ? path_name(w->list[f.at].text) : "";
	bool prints = !strcmp(name, "echo") || !strcmp(name, "printf");
	bool copies = !strcmp(name, "cat") || !strcmp(name, "curl") ||
		      !strcmp(name, "wget") ||
		      (f.at < w->n && has_slash(w->list[f.at].text));
	struct buf text = BUF_INIT(WORD_MAX);
	const char *fault = NULL;
	bool files = false;

	if (!strcmp(name, "true") || !strcmp(name, ":"))
		return NULL;
	if (!prints && !copies)
		return output_fault;
	for (size_t i = f.at + 1; i < w->n && !fault; i++) {
		const struct shell_word *word = &w->list[i];

		if (prints)
			buf_addf(&text, "%s ", word->text);
		files |= word->text[0] != '-';
		if (word->output ||
		    (word->expands && expands_line(word->text, l->whole)))
			fault = output_fault;
		else if (copies && word->text[0] != '-' && is_relative(word) &&
			 !strstr(word->text, "://"))
			fault = output_fault;
	}
	if (!fault && prints)
		fault = fault_of(text.ptr ? text.ptr : "", l);
	else if (!fault && !strcmp(name, "cat") && !files)
		fault = w->pipe ? l->source : output_fault;
	buf_release(&text);
	return fault;
}

/* The same for the commands in "$(...)", "`...`" and "<(...)" of a text. */
static const char *fault_of_output(const char *text,
				   const struct hook_line *outer)
{
	struct buf inner = BUF_INIT(WORD_MAX);
	struct hook_line l = { .whole = outer->whole,
			       .depth = outer->depth + 1,
			       .shell = { .inner = BUF_INIT(WORD_MAX) } };
	const char *fault = NULL;

	shell_line_add_inner(str_of(text), &inner);
	l.shell.rest = buf_str(&inner);
	while (!fault && l.shell.rest.len) {
		struct shell_words w = { 0 };

		shell_line_next(&l.shell, &w);
		fault = w.n ? fault_of_source(&w, &l) : NULL;
		l.source = fault;
		shell_words_release(&w);
	}
	buf_release(&l.shell.inner);
	buf_release(&inner);
	return fault;
}

/* The index of the directory that "cd" enters, or 0 if this is not a "cd". */
static size_t find_directory(const struct shell_words *w)
{
	size_t at = 1;

	if (w->n < 2 || strcmp(w->list[0].text, "cd") != 0)
		return 0;
	while (at + 1 < w->n && (!strcmp(w->list[at].text, "--") ||
				 !strcmp(w->list[at].text, "-P") ||
				 !strcmp(w->list[at].text, "-L")))
		at++;
	return at;
}

/* True if the command leads back to the start directory, perhaps. */
static bool leads_back(const struct shell_words *w)
{
	size_t at = find_directory(w);
	const char *name = w->n ? w->list[0].text : "";

	if (at)
		return is_relative(&w->list[at]) &&
		       (strchr("-$`~", w->list[at].text[0]) ||
			w->list[at].output || w->list[at].expands);
	for (size_t i = 0; i < w->n; i++)
		if (strstr(w->list[i].text, "OLDPWD") ||
		    str_starts(str_of(w->list[i].text), "~-"))
			return true;
	return !strcmp(name, "pushd") || !strcmp(name, "popd");
}

/* Notes a "cd" into an absolute directory. If that does not exist, the rest of
 * the line is in the repository: only what follows by "&&" is elsewhere, unless
 * "|| exit" ends the line. */
static void note_directory(struct hook_line *l, const struct shell_words *w)
{
	static const char *const compounds[] = { "if",    "while", "until",
						 "for",   "case",  "{",
						 "select" };
	size_t at = find_directory(w);
	const char *name = w->n ? w->list[0].text : "";
	bool exits = !strcmp(name, "exit") || !strcmp(name, "return");

	for (size_t i = 0; i < sizeof(compounds) / sizeof(*compounds); i++)
		l->compound |= !strcmp(name, compounds[i]);
	if (leads_back(w))
		l->elsewhere = l->stays = false;
	if (l->cd == CD_OR && exits && !l->compound) {
		l->cd = CD_EXITED;
	} else if (at && !is_relative(&w->list[at]) &&
		   (l->shell.before == SHELL_NEXT ||
		    l->shell.before == SHELL_AND)) {
		l->cd = CD_ENTERED;
		l->cd_is_sure = !strcmp(w->list[at].text, "/") &&
				l->shell.before == SHELL_NEXT && !l->compound;
		l->cd_group = l->shell.group;
	} else {
		l->cd = CD_NOT;
	}
}

static const char *fault_of(const char *command, const struct hook_line *outer)
{
	struct hook_line l = { .whole = outer ? outer->whole : command,
			       .depth = outer ? outer->depth + 1 : 0,
			       .shell = { .rest = str_of(command),
					  .inner = BUF_INIT(WORD_MAX) } };
	const char *fault = l.depth > DEEPEST ? size_fault : NULL;

	while (!fault && l.shell.rest.len) {
		struct shell_words w = { 0 };

		shell_line_next(&l.shell, &w);
		settle_operators(&l);
		note_directory(&l, &w);
		if (!l.elsewhere)
			fault = fault_of_words(&w, true, &l);
		if (!l.elsewhere)
			l.source = fault_of_source(&w, &l);
		else if (!w.pipe)
			l.source = NULL;
		shell_words_release(&w);
	}
	if (!fault && l.shell.inner.len)
		fault = fault_of(l.shell.inner.ptr, &l);
	buf_release(&l.shell.inner);
	return fault;
}

const char *hook_program_fault(const char *const *argv, const char *command)
{
	struct hook_line line = { .whole = "" };
	struct shell_words w = { 0 };
	const char *fault;

	if (!argv)
		return fault_of(command, NULL);
	for (size_t i = 0; argv[i]; i++)
		shell_words_add(&w,
				(struct shell_word){ .text = xstrdup(argv[i]),
						     .literal = true });
	fault = fault_of_words(&w, false, &line);
	shell_words_release(&w);
	return fault;
}

/* hook_program.c - which file a hook's command line runs. */
/* SPDX-License-Identifier: MIT */
/*
 * Hooks start in the session's directory. A relative path in the user's own
 * hooks.json would therefore run a file of whichever repository he works in:
 * "./check.sh", and "bash ./check.sh" or "python3 check.py" too. Arguments that
 * a program only reads ("cat ./x") are not checked. Begin reading at
 * hook_program_fault(). parse_words() splits a command line as a shell would,
 * as far as that matters here; find_program() skips what may come before the
 * program; runs_relative_script() knows the options of interpreters.
 */
#include "hooks/hook_program.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

enum {
	WORD_MAX = 1 << 20,
	MOST_WORDS = 64, /* words of one command that are looked at */
	DEEPEST = 4,     /* "sh -c" within "sh -c" */
};

struct hook_word {
	char *text; /* owned, without its quotes; NULL after the last word */
	/* no shell expands a "~" or "$HOME" at its start */
	bool literal;
};

struct hook_words {
	struct hook_word list[MOST_WORDS + 1];
	size_t n;
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
} interpreters[] = {
	{ "sh", "s", "oO", "", true, false },
	{ "bash", "s", "oO", "", true, false },
	{ "dash", "s", "oO", "", true, false },
	{ "ash", "s", "oO", "", true, false },
	{ "zsh", "s", "oO", "", true, false },
	{ "ksh", "s", "oO", "", true, false },
	{ "mksh", "s", "oO", "", true, false },
	{ "fish", "", "", "C", true, false },
	{ "python", "cm", "WX", "", false, false },
	{ "pypy", "cm", "WX", "", false, false },
	{ "perl", "eE", "Mm", "I", false, false },
	{ "ruby", "e", "", "rI", false, false },
	{ "node", "epc", "", "r", false, false },
	{ "nodejs", "epc", "", "r", false, false },
	{ "php", "rl", "d", "f", false, false },
	{ "lua", "", "e", "l", false, false },
	{ "luajit", "", "e", "l", false, false },
	{ "tclsh", "", "", "", false, false },
	{ "Rscript", "e", "", "", false, false },
	{ "awk", "", "Fv", "f", false, true },
	{ "gawk", "", "Fv", "f", false, true },
	{ "mawk", "", "Fv", "f", false, true },
	{ "sed", "", "el", "f", false, true },
	{ "expect", "c", "", "f", false, false },
	{ "julia", "eE", "", "L", false, false },
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

static void words_release(struct hook_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->list[i].text);
	*w = (struct hook_words){ 0 };
}

static void add_word(struct hook_words *w, struct str text, bool literal)
{
	if (w->n < MOST_WORDS)
		w->list[w->n++] = (struct hook_word){
			xstrndup(text.ptr ? text.ptr : "", text.len), literal
		};
}

/* Appends the "$(...)" or "`...`" at the start of text to word, and the command
 * in it to inner. Returns its length. */
static size_t add_substitution(struct str text, struct buf *word,
			       struct buf *inner)
{
	bool backtick = text.ptr[0] == '`';
	size_t depth = 0;
	size_t i = 0;

	do {
		depth += text.ptr[i] == '(';
		depth -= text.ptr[i] == ')';
		i++;
	} while (i < text.len &&
		 (backtick ? text.ptr[i] != '`' : depth || i < 2));
	i += backtick && i < text.len;
	buf_add(word, text.ptr, i);
	if (i > 2)
		buf_add(inner, text.ptr + 2 - backtick, i - 3 + backtick);
	buf_addc(inner, '\n');
	return i;
}

/* True if quotes at the start of the text keep a shell from expanding "~" or
 * "$HOME" there. Double quotes do not stop "$HOME". */
static bool starts_literally(struct str text)
{
	static const char *const starts[] = { "'", "\\", "\"~", "\"\\" };
	size_t end = 0;

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		if (str_starts(text, starts[i]))
			return true;
	if (!str_starts(text, "~"))
		return false;
	while (end < text.len && !strchr("/'\"\\ \t\n;|&<>()", text.ptr[end]))
		end++;
	return end < text.len && strchr("'\"\\", text.ptr[end]);
}

/* Removes a word from the front and sets word to it, without its quotes.
 * inner: the commands whose output is a part of it. Returns
 * hook_word.literal. */
static bool cut_word(struct str *rest, struct buf *word, struct buf *inner)
{
	bool literal = starts_literally(*rest);
	char quote = 0;

	buf_clear(word);
	while (rest->len) {
		char c = rest->ptr[0];
		size_t taken = 1;

		if (!quote && strchr(" \t\n;|&<>()", c))
			break;
		if (quote != '\'' && (c == '`' || str_starts(*rest, "$(")))
			taken = add_substitution(*rest, word, inner);
		else if (c == '\\' && quote != '\'' && rest->len > 1)
			buf_addc(word, rest->ptr[taken++]);
		else if (quote ? c == quote : c == '"' || c == '\'')
			quote = quote ? 0 : c;
		else
			buf_addc(word, c);
		*rest = str_skip(*rest, taken);
	}
	return literal;
}

static bool is_number(struct str word)
{
	for (size_t i = 0; i < word.len; i++)
		if (!isdigit((unsigned char)word.ptr[i]))
			return false;
	return true;
}

/* Removes a redirection. The file of "<FILE" stays, as the words "<" and FILE,
 * because an interpreter runs it. False after "<<" or "<(": the input is part
 * of the command line, and behind "<<" nothing more is read. */
static bool skip_redirection(struct hook_words *w, struct str *rest,
			     struct buf *word, struct buf *inner)
{
	bool input = rest->ptr[0] == '<';
	bool literal;

	*rest = str_skip(*rest, 1);
	if (input && rest->len && strchr("<(", rest->ptr[0])) {
		if (rest->ptr[0] == '<')
			rest->len = 0;
		return false;
	}
	while (rest->len && strchr(" \t>&|", rest->ptr[0]))
		*rest = str_skip(*rest, 1);
	if (str_starts(*rest, "("))
		return false;
	literal = cut_word(rest, word, inner);
	if (input) {
		add_word(w, STR("<"), false);
		add_word(w, buf_str(word), literal);
	}
	return true;
}

/* Removes the first simple command from a shell command and splits it into
 * words. */
static void parse_words(struct hook_words *w, struct str *rest,
			struct buf *inner)
{
	struct buf word = BUF_INIT(WORD_MAX);

	while (rest->len) {
		char c = rest->ptr[0];

		if (c == '<' || c == '>') {
			if (!skip_redirection(w, rest, &word, inner))
				break;
		} else if (w->n && strchr("\n;|&)", c)) {
			break;
		} else if (c == '#') {
			*rest = str_skip(*rest, str_find(*rest, '\n'));
		} else if (str_starts(*rest, "\\\n")) {
			*rest = str_skip(*rest, 2);
		} else if (strchr(" \t\n;|&()", c)) {
			*rest = str_skip(*rest, 1);
		} else {
			bool literal = cut_word(rest, &word, inner);

			/* the 2 of "2>FILE" is not a word */
			if (!rest->len || !strchr("<>", rest->ptr[0]) ||
			    !is_number(buf_str(&word)))
				add_word(w, buf_str(&word), literal);
		}
	}
	buf_release(&word);
}

struct hook_target {
	size_t at; /* the program's index */
	/* the command that a prefix runs ("su -c COMMAND"), or NULL */
	const char *command;
};

/* True for an assignment ("A=b"), which may precede a shell command. */
static bool is_assignment(struct str word)
{
	size_t equals = str_find(word, '=');

	if (!equals || equals == word.len)
		return false;
	for (size_t i = 0; i < equals; i++)
		if (!isalnum((unsigned char)word.ptr[i]) && word.ptr[i] != '_')
			return false;
	return true;
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
 * a command, else NULL. */
static const char *skip_option(const struct hook_words *w,
			       const struct prefix *p, size_t *i)
{
	const char *option = w->list[*i].text;
	bool is_command = !strcmp(option, "--command") ||
			  !strcmp(option, "--session-command");

	if (option[1] == '-') {
		*i += is_command || is_long_value(option);
		return is_command ? w->list[*i].text : NULL;
	}
	for (const char *c = option + 1; *c; c++) {
		is_command = strchr(p->command, *c) != NULL;
		if (!is_command && !strchr(p->value, *c))
			continue;
		/* the value may follow at once: "-n5" */
		*i += !c[1];
		if (is_command)
			return c[1] ? c + 1 : w->list[*i].text;
		break;
	}
	return NULL;
}

/* Finds the program: the first word after assignments and prefixes. Its index
 * is w->n if there is none. */
static struct hook_target find_program(const struct hook_words *w)
{
	const struct prefix *p = NULL;
	int arguments = 0;
	struct hook_target f = { 0 };

	for (; f.at < w->n; f.at++) {
		const char *word = w->list[f.at].text;
		const struct prefix *next = find_prefix(word);

		if (!strcmp(word, "<")) {
			f.at++;
		} else if (is_assignment(str_of(word))) {
			continue;
		} else if (p && word[0] == '-') {
			f.command = skip_option(w, p, &f.at);
			if (f.command)
				return f;
		} else if (arguments > 0) {
			arguments--;
		} else if (next) {
			p = next;
			arguments = p->arguments;
		} else {
			return f;
		}
	}
	f.at = w->n;
	return f;
}

/* True for a path that does not depend on the start directory. Literal, "~" and
 * "$HOME" are names of directories there. */
static bool is_absolute(const char *path, bool literal)
{
	static const char *const absolute[] = { "/", "~", "$HOME/",
						"${HOME}/" };

	for (size_t i = 0; i < sizeof(absolute) / sizeof(*absolute); i++)
		if ((!literal || !i) && str_starts(str_of(path), absolute[i]))
			return true;
	return !literal && (!strcmp(path, "$HOME") || !strcmp(path, "${HOME}"));
}

static bool is_relative(const struct hook_word *word)
{
	return !is_absolute(word->text, word->literal);
}

static bool has_slash(const char *word)
{
	return strchr(word, '/') != NULL;
}

static const struct interpreter *find_interpreter(const char *word)
{
	const char *name = path_name(word);

	for (size_t i = 0; i < sizeof(interpreters) / sizeof(*interpreters);
	     i++) {
		size_t n = strlen(interpreters[i].name);

		if (!strncmp(name, interpreters[i].name, n) &&
		    !name[n + strspn(name + n, "0123456789.")])
			return &interpreters[i];
	}
	return NULL;
}

/* What the options of an interpreter say about the next argument. */
enum meaning {
	SKIP,    /* an option without a value */
	VALUE,   /* the next argument is a value that is not run */
	FILE_IS, /* the next argument is a file that is run */
	COMMAND, /* the next argument is a shell command */
	CODE,    /* no file is run */
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
		if (strchr(p->code, *c) || (p->shell && *c == 'n'))
			return CODE;
		/* a value may follow the letter at once: "-Wignore" */
		if (strchr(p->file, *c))
			return c[1] ? SKIP : FILE_IS;
		if (strchr(p->value, *c))
			return c[1] ? SKIP : VALUE;
	}
	return SKIP;
}

/* True if "-r./x" or "--require=./x" names a relative file. */
static bool has_relative_value(const struct interpreter *p,
			       const struct hook_word *word)
{
	const char *option = word->text;
	const char *equals = strchr(option, '=');

	if (option[1] == '-')
		return equals && has_slash(equals) &&
		       !is_absolute(equals + 1, word->literal);
	return option[1] && strchr(p->file, option[1]) && option[2] &&
	       (has_slash(option) || option[2] == '.') &&
	       !is_absolute(option + 2, word->literal);
}

static const char *fault_of(const char *command, int depth);

/* True if the interpreter runs a file with a relative path. args ends with a
 * NULL text. */
static bool runs_relative_script(const struct interpreter *p,
				 const struct hook_word *args, int depth)
{
	bool by_option = false;
	bool by_input = false; /* only arguments follow */

	for (; args->text; args++) {
		const char *word = args->text;
		bool option = (word[0] == '-' || (p->shell && *word == '+')) &&
			      word[1];
		enum meaning m = option ? meaning_of(p, word) : SKIP;

		/* the interpreter reads the script from this file */
		if (!strcmp(word, "<"))
			return args[1].text && is_relative(args + 1);
		/* The code is the next argument, or nothing is run
		 * (--version). */
		if (!by_input && m == CODE && !strchr(word, 's'))
			return false;
		by_input |= !strcmp(word, "-") || m == CODE;
		if (by_input)
			continue;
		/* The first word that is not an option is the script, unless
		 * that is text (as with awk) or came with an option. */
		if (!option)
			return !(p->text || by_option) && is_relative(args);
		if (has_relative_value(p, args))
			return true;
		if (m == SKIP)
			continue;
		if (!(++args)->text)
			return false;
		if (m == COMMAND)
			return fault_of(args->text, depth + 1) != NULL;
		if (m == FILE_IS && is_relative(args) &&
		    (has_slash(args->text) || p->text))
			return true;
		by_option = by_option || (m == FILE_IS && p->text);
	}
	return false;
}

/* True if a variable names code ("PATH=.:$PATH") in a relative directory. Other
 * variables at the start of a directory are trusted, but not $PWD. */
static bool has_relative_code(const struct hook_word *word)
{
	struct str value = str_of(word->text);
	struct str name = { value.ptr, str_find(value, '=') };
	struct str part;
	bool is_code = false;

	if (!is_assignment(value))
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
static const char *fault_of_arguments(const struct hook_words *w, size_t at,
				      int depth)
{
	const char *program = path_name(w->list[at].text);
	bool find = !strcmp(program, "find");
	bool eval = !strcmp(program, "eval");
	struct buf line = BUF_INIT(WORD_MAX);
	const char *fault;

	if (!find && !eval && strcmp(program, "trap") != 0)
		return NULL;
	for (size_t i = at + 1; i < w->n; i++) {
		const char *word = w->list[i].text;

		if (find && (str_starts(str_of(word), "-exec") ||
			     str_starts(str_of(word), "-ok")))
			buf_addc(&line, '\n');
		else if (!find || line.len)
			buf_addf(&line, "%s ", word);
		if (!find && !eval)
			break;
	}
	fault = line.len ? fault_of(line.ptr, depth + 1) : NULL;
	buf_release(&line);
	return fault;
}

static const char *fault_of_words(const struct hook_words *w, bool shell,
				  int depth)
{
	struct hook_target f = find_program(w);
	const char *program = f.at < w->n ? w->list[f.at].text : "";
	const struct interpreter *p = find_interpreter(program);
	bool sources =
		shell && (!strcmp(program, ".") || !strcmp(program, "source"));

	for (size_t i = 0; i < f.at; i++)
		if (has_relative_code(&w->list[i]))
			return "a variable that names programs or code must "
			       "have absolute paths, since a relative one may "
			       "be in the repository";
	if (f.command)
		return fault_of(f.command, depth + 1);
	if (f.at == w->n)
		return NULL;
	if (has_slash(program) && is_relative(&w->list[f.at]))
		return "its program must be an absolute path or a name on PATH";
	if ((sources && f.at + 1 < w->n && is_relative(&w->list[f.at + 1])) ||
	    (p && runs_relative_script(p, w->list + f.at + 1, depth)))
		return "the file that it runs must be an absolute path, since "
		       "a relative one may be a file of the repository";
	return fault_of_arguments(w, f.at, depth);
}

/* True for "cd /DIRECTORY": a relative path behind it is below that. */
static bool changes_directory(const struct hook_words *w)
{
	return w->n > 1 && !strcmp(w->list[0].text, "cd") &&
	       !is_relative(&w->list[1]);
}

static const char *fault_of(const char *command, int depth)
{
	struct str rest = str_of(command);
	struct buf inner = BUF_INIT(WORD_MAX);
	const char *fault = NULL;
	bool elsewhere = false;

	if (depth > DEEPEST)
		return NULL;
	while (!fault && !elsewhere && rest.len) {
		struct hook_words w = { 0 };

		parse_words(&w, &rest, &inner);
		elsewhere = changes_directory(&w);
		fault = fault_of_words(&w, true, depth);
		words_release(&w);
	}
	if (!fault && inner.len)
		fault = fault_of(inner.ptr, depth + 1);
	buf_release(&inner);
	return fault;
}

const char *hook_program_fault(const char *const *argv, const char *command)
{
	struct hook_words w = { 0 };
	const char *fault;

	if (!argv)
		return fault_of(command, 0);
	for (size_t i = 0; argv[i]; i++)
		add_word(&w, str_of(argv[i]), true);
	fault = fault_of_words(&w, false, 0);
	words_release(&w);
	return fault;
}

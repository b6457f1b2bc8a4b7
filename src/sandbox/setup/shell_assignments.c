/* shell_assignments.c - which variables a shell script assigns itself. */
/* SPDX-License-Identifier: MIT */

/*
 * A lexer for sh that reads a script once and collects the assigned names. The
 * first half defines how a word of a command affects the following words. The
 * second half follows quotes, substitutions and here-documents. The header says
 * why a regular expression is not enough. Begin reading at assigned_find().
 */
#include "sandbox/setup/shell_assignments.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum expecting { /* How the next words of the current command are to be read. */
		 WORDS,
		 COMMAND,  /* assignments may follow, then the command's name */
		 VALUES,   /* after export: NAME=value assigns */
		 DECLARED, /* after local: NAME=value and a bare NAME assign */
		 TARGETS,  /* after read: each NAME is assigned */
		 /* after for: the next word is assigned, if it is a NAME */
		 ONE_TARGET,
		 /* after getopts: the word after the next one is assigned */
		 SECOND_WORD,
		 PRINTF, /* after printf: -v makes the next word a target */
};

struct word {
	struct str text; /* the word up to its first quote or expansion */
	struct str name; /* the NAME that text begins with, or empty */
	bool whole;      /* text is the whole word */
	bool assignment; /* NAME=, NAME+= or NAME[...]= */
};
struct word_effect {
	enum expecting next;
	bool assigns;   /* word.name is assigned */
	bool skip_next; /* the next word is an option's value */
	/* change of the number of open case commands: 1, -1 (esac) or 0 */
	int cases;
};

static bool starts_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

struct str name_prefix(struct str s)
{
	size_t n = 0;

	while (n < s.len && (starts_name(s.ptr[n]) ||
			     (n && s.ptr[n] >= '0' && s.ptr[n] <= '9')))
		n++;
	return (struct str){ s.ptr, n };
}

struct keyword {
	const char *name;
	enum expecting next;
	int cases;
};

/* Reserved words and commands that change how the next words are read. All
 * other commands have plain arguments. */
static const struct keyword keywords[] = {
	{ "!", COMMAND, 0 },          { "builtin", COMMAND, 0 },
	{ "case", WORDS, 1 },         { "command", COMMAND, 0 },
	{ "declare", DECLARED, 0 },   { "do", COMMAND, 0 },
	{ "elif", COMMAND, 0 },       { "else", COMMAND, 0 },
	{ "esac", COMMAND, -1 },      { "export", VALUES, 0 },
	{ "for", ONE_TARGET, 0 },     { "getopts", SECOND_WORD, 0 },
	{ "if", COMMAND, 0 },         { "let", VALUES, 0 },
	{ "local", DECLARED, 0 },     { "mapfile", DECLARED, 0 },
	{ "printf", PRINTF, 0 },      { "read", TARGETS, 0 },
	{ "readarray", DECLARED, 0 }, { "readonly", VALUES, 0 },
	{ "select", ONE_TARGET, 0 },  { "then", COMMAND, 0 },
	{ "time", COMMAND, 0 },       { "typeset", DECLARED, 0 },
	{ "until", COMMAND, 0 },      { "while", COMMAND, 0 },
	{ "{", COMMAND, 0 },
};

static struct word_effect in_command(const struct word *w)
{
	if (w->assignment)
		return (struct word_effect){ .next = COMMAND, .assigns = true };
	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
		if (w->whole && str_is(w->text, keywords[i].name))
			return (struct word_effect){
				.next = keywords[i].next,
				.cases = keywords[i].cases,
			};
	return (struct word_effect){ .next = WORDS };
}

/* True for options of read that take the next word as their value. */
static bool takes_value(struct str option)
{
	return option.len > 1 && option.ptr[0] == '-' &&
	       strchr("dinNptu", option.ptr[option.len - 1]);
}

/* Returns how a word of a command affects the next words, and whether it
 * assigns its name. */
static struct word_effect word_effect(enum expecting now, const struct word *w)
{
	struct word_effect e = { .next = now };
	bool named = w->whole && w->name.len && w->name.len == w->text.len;

	switch (now) {
	case COMMAND:
		return in_command(w);
	case VALUES:
		e.assigns = w->assignment;
		break;
	case DECLARED:
		e.assigns = w->assignment || named;
		break;
	case TARGETS:
		e.assigns = named;
		e.skip_next = w->whole && takes_value(w->text);
		break;
	case ONE_TARGET:
		e.assigns = named;
		e.next = WORDS;
		break;
	case SECOND_WORD:
		e.next = ONE_TARGET;
		break;
	case PRINTF:
		e.next = w->whole && str_is(w->text, "-v") ? ONE_TARGET : WORDS;
		break;
	case WORDS:
		break;
	}
	return e;
}

enum { DEEPEST = 64, HEREDOCS = 8, INDEX_MAX = 256 /* of NAME[...]= */ };

enum context_kind {
	IN_COMMANDS, /* ends at context.end: ')', '`' or 0 */
	IN_QUOTES,   /* double quotes */
	IN_BRACES,   /* ${...} */
	IN_SUM,      /* ((...)) or $((...)) */
	IN_ARRAY,    /* NAME=(...) */
};

struct context {
	enum context_kind kind;
	char end;
	enum expecting expecting;
	int cases; /* open case...esac: a ')' there ends a pattern */
	int depth; /* number of open parentheses within arithmetic */
};

struct lexer {
	struct assigned *out;
	struct str s;
	size_t at;
	struct context stack[DEEPEST];
	int top;
	bool in_word;
	/* true if the next word is a redirection's target or an option's
	 * value */
	bool skip_word;
	struct {
		/* as written in the script, with its quotes */
		struct str delimiter;
		bool tabs; /* "<<-": leading tabs of the body are removed */
	} heredocs[HEREDOCS];
	int n_heredocs;
};

/* Adds a name to the result, which may contain it already. */
static void add_name(struct lexer *l, struct str name)
{
	struct assigned *a = l->out;

	if (!name.len)
		return;
	if (a->n == a->room) {
		a->room = a->room ? a->room * 2 : 16;
		a->names = xrealloc(a->names, a->room, sizeof(*a->names));
	}
	a->names[a->n++] = name;
}

static char peek_char(const struct lexer *l, size_t ahead)
{
	return ahead < l->s.len - l->at ? l->s.ptr[l->at + ahead] : '\0';
}

static struct context *top_context(struct lexer *l)
{
	return &l->stack[l->top];
}

static void push_context(struct lexer *l, enum context_kind kind, char end,
			 size_t skip)
{
	l->at += skip;
	if (l->top + 1 == DEEPEST)
		return;
	l->stack[++l->top] = (struct context){
		.kind = kind,
		.end = end,
		.expecting = kind == IN_COMMANDS ? COMMAND : WORDS,
	};
	l->in_word = false;
	l->skip_word = false;
}

static void pop_context(struct lexer *l, size_t skip)
{
	l->at += skip;
	if (l->top)
		l->top--;
	l->in_word = true;
	l->skip_word = false;
}

/* Handles "${": ${NAME=x} and ${NAME:=x} assign NAME. */
static void open_braces(struct lexer *l)
{
	struct str name = name_prefix(str_skip(l->s, l->at + 2));
	struct str rest = str_skip(l->s, l->at + 2 + name.len);

	if (str_starts(rest, "=") || str_starts(rest, ":="))
		add_name(l, name);
	push_context(l, IN_BRACES, '}', 2);
}

/* Skips '...' from the opening quote. Without a closing quote only the quote
 * itself is skipped. */
static void skip_single(struct lexer *l, bool escapes)
{
	size_t i = l->at + 1;

	while (i < l->s.len && l->s.ptr[i] != '\'')
		i += escapes && l->s.ptr[i] == '\\' ? 2 : 1;
	l->at = i < l->s.len ? i + 1 : l->at + 1;
}

/* Handles $. True if it starts an expansion. */
static bool scan_dollar(struct lexer *l)
{
	char next = peek_char(l, 1);

	if (next == '(' && peek_char(l, 2) == '(')
		push_context(l, IN_SUM, ')', 3);
	else if (next == '(')
		push_context(l, IN_COMMANDS, ')', 2);
	else if (next == '{')
		open_braces(l);
	else if (next == '$' || next == '#' || next == '?')
		l->at += 2;
	else
		return false;
	return true;
}

/* Handles expansions that are also performed in double quotes. */
static bool scan_expansion(struct lexer *l)
{
	char c = peek_char(l, 0);

	if (c == '\\') {
		l->at += l->s.len - l->at > 1 ? 2 : 1;
		return true;
	}
	if (c == '`') {
		if (top_context(l)->kind == IN_COMMANDS &&
		    top_context(l)->end == '`')
			pop_context(l, 1);
		else
			push_context(l, IN_COMMANDS, '`', 1);
		return true;
	}
	return c == '$' && scan_dollar(l);
}

/* True if an operator that assigns to an arithmetic NAME follows. */
static bool assigns_in_sum(struct str rest)
{
	static const char *const operators[] = { "+=", "-=", "*=",  "/=",
						 "%=", "&=", "|=",  "^=",
						 "++", "--", "<<=", ">>=" };

	while (rest.len && (rest.ptr[0] == ' ' || rest.ptr[0] == '\t'))
		rest = str_skip(rest, 1);
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++)
		if (str_starts(rest, operators[i]))
			return true;
	return str_starts(rest, "=") && !str_starts(rest, "==");
}

static void sum_step(struct lexer *l)
{
	struct str name = name_prefix(str_skip(l->s, l->at));
	char c = peek_char(l, 0);

	if (scan_expansion(l))
		return;
	if (name.len) {
		bool before =
			l->at >= 2 && (!memcmp(l->s.ptr + l->at - 2, "++", 2) ||
				       !memcmp(l->s.ptr + l->at - 2, "--", 2));

		l->at += name.len;
		if (before || assigns_in_sum(str_skip(l->s, l->at)))
			add_name(l, name);
		return;
	}
	if (c == ')' && top_context(l)->depth == 0) {
		pop_context(l, peek_char(l, 1) == ')' ? 2 : 1);
		return;
	}
	top_context(l)->depth += (c == '(') - (c == ')');
	l->at++;
}

static void quotes_step(struct lexer *l)
{
	if (scan_expansion(l))
		return;
	if (peek_char(l, 0) == '"')
		pop_context(l, 1);
	else
		l->at++;
}

static bool is_quoted(const struct lexer *l)
{
	for (int i = l->top; i >= 0; i--) {
		if (l->stack[i].kind == IN_COMMANDS)
			return false;
		if (l->stack[i].kind == IN_QUOTES)
			return true;
	}
	return false;
}

static void braces_step(struct lexer *l)
{
	char c = peek_char(l, 0);

	if (scan_expansion(l))
		return;
	if (c == '}')
		pop_context(l, 1);
	else if (c == '"')
		push_context(l, IN_QUOTES, '"', 1);
	else if (c == '\'' && !is_quoted(l))
		skip_single(l, false);
	else
		l->at++;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool ends_word(char c)
{
	return !c || is_blank(c) || strchr("\n;&|()<>", c);
}

/* Records a here-document, whose body starts on the next line. */
static void scan_heredoc(struct lexer *l)
{
	bool tabs = peek_char(l, 2) == '-';
	size_t start = l->at + (tabs ? 3 : 2);
	size_t end;

	while (start < l->s.len && is_blank(l->s.ptr[start]))
		start++;
	end = start;
	while (end < l->s.len && !ends_word(l->s.ptr[end]))
		end++;
	l->at = end;
	if (end == start || (l->s.ptr[start] >= '0' && l->s.ptr[start] <= '9'))
		/* Not a here-document: a shift such as 1<<2 in text that was
		 * not recognised as arithmetic. */
		return;
	if (l->n_heredocs == HEREDOCS)
		return;
	l->heredocs[l->n_heredocs].delimiter =
		(struct str){ l->s.ptr + start, end - start };
	l->heredocs[l->n_heredocs++].tabs = tabs;
}

/* True if the line equals the delimiter without its quotes. */
static bool is_delimiter(struct str line, struct str delimiter)
{
	size_t at = 0;

	if (str_ends(line, "\r"))
		line.len--;
	for (size_t i = 0; i < delimiter.len; i++) {
		if (strchr("'\"\\", delimiter.ptr[i]))
			continue;
		if (at == line.len || line.ptr[at++] != delimiter.ptr[i])
			return false;
	}
	return at == line.len;
}

/* At a line's start: skips the bodies of the here-documents that were recorded.
 * A body whose end is missing is not skipped. */
static void skip_heredocs(struct lexer *l)
{
	for (int i = 0; i < l->n_heredocs; i++) {
		struct str rest = str_skip(l->s, l->at);
		struct str line;

		while (str_split(&rest, '\n', &line)) {
			while (l->heredocs[i].tabs && str_starts(line, "\t"))
				line = str_skip(line, 1);
			if (!is_delimiter(line, l->heredocs[i].delimiter))
				continue;
			l->at = rest.ptr ? (size_t)(rest.ptr - l->s.ptr)
					 : l->s.len;
			break;
		}
	}
	l->n_heredocs = 0;
}

static void scan_newline(struct lexer *l)
{
	l->at++;
	l->in_word = false;
	l->skip_word = false;
	top_context(l)->expecting = COMMAND;
	skip_heredocs(l);
}

/* Handles < and > with their operands. */
static void scan_redirection(struct lexer *l)
{
	char c = peek_char(l, 0);

	if (c == '<' && peek_char(l, 1) == '<' && peek_char(l, 2) != '<') {
		scan_heredoc(l);
	} else if (peek_char(l, 1) == '(') {
		push_context(l, IN_COMMANDS, ')', 2);
		return;
	} else {
		while (strchr("<>&|", peek_char(l, 0)) && peek_char(l, 0))
			l->at++;
		l->skip_word = true;
	}
	l->in_word = false;
}

/* Handles "(" and ")": arrays, sums, subshells and the patterns of case. */
static void scan_parenthesis(struct lexer *l)
{
	struct context *c = top_context(l);

	if (peek_char(l, 0) == '(') {
		bool array = l->in_word && l->s.ptr[l->at - 1] == '=';
		bool sum = peek_char(l, 1) == '(' && c->expecting == COMMAND;

		if (array) {
			push_context(l, IN_ARRAY, ')', 1);
			return;
		}
		/* for what follows the ')': f() { local x; } */
		c->expecting = COMMAND;
		push_context(l, sum ? IN_SUM : IN_COMMANDS, ')', sum ? 2 : 1);
		return;
	}
	if (c->end == ')' && c->cases == 0) {
		pop_context(l, 1);
		if (top_context(l)->kind == IN_COMMANDS)
			l->in_word =
				l->at < l->s.len && !ends_word(peek_char(l, 0));
		return;
	}
	l->at++;
	l->in_word = false;
	c->expecting = COMMAND;
}

/* True for NAME=, NAME+= and NAME[...]=. */
static bool is_assignment(struct str text, struct str name)
{
	struct str rest = str_skip(text, name.len);

	if (!name.len)
		return false;
	if (str_starts(rest, "[") && rest.len > INDEX_MAX)
		rest.len = INDEX_MAX;
	if (str_starts(rest, "["))
		rest = str_skip(rest, str_find(rest, ']') + 1);
	return str_starts(rest, "=") || str_starts(rest, "+=");
}

/* Handles a word up to its first quote or expansion: records an assignment and
 * determines what the next words mean. */
static void scan_word(struct lexer *l)
{
	struct context *c = top_context(l);
	size_t end = l->at;
	struct word w = { 0 };
	struct word_effect e;

	while (end < l->s.len && !ends_word(l->s.ptr[end]) &&
	       !strchr("'\"\\$`", l->s.ptr[end]))
		end++;
	w.text = (struct str){ l->s.ptr + l->at, end - l->at };
	w.whole = end == l->s.len || ends_word(l->s.ptr[end]);
	w.name = name_prefix(w.text);
	w.assignment = is_assignment(str_skip(l->s, l->at), w.name);
	l->at = end;
	l->in_word = true;
	if (l->skip_word) {
		l->skip_word = false;
		return;
	}
	e = word_effect(c->expecting, &w);
	c->expecting = e.next;
	c->cases += e.cases;
	if (c->cases < 0)
		c->cases = 0;
	l->skip_word = e.skip_next;
	if (e.assigns)
		add_name(l, w.name);
}

/* Handles quotes and expansions inside or at the start of a word. True if there
 * was one. */
static bool scan_quotation(struct lexer *l)
{
	char c = peek_char(l, 0);

	if (!strchr("'\"\\$`", c) || !c)
		return false;
	if (!l->in_word && !(c == '`' && top_context(l)->end == '`'))
		/* the word begins with this quote or expansion: its text is
		 * empty */
		scan_word(l);
	if (c == '$' && peek_char(l, 1) == '\'') {
		l->at++;
		skip_single(l, true);
	} else if (c == '\'') {
		skip_single(l, false);
	} else if (c == '"') {
		push_context(l, IN_QUOTES, '"', 1);
	} else if (!scan_expansion(l)) {
		l->at++;
	}
	return true;
}

/* Handles the next token in a list of commands. */
static void commands_step(struct lexer *l)
{
	char c = peek_char(l, 0);

	if (c == '\\' && peek_char(l, 1) == '\n') {
		l->at += 2;
	} else if (scan_quotation(l)) {
		return;
	} else if (c == '\n') {
		scan_newline(l);
	} else if (is_blank(c)) {
		l->at++;
		l->in_word = false;
	} else if (c == '#' && !l->in_word) {
		l->at += str_find(str_skip(l->s, l->at), '\n');
	} else if (strchr(";&|", c) && c) {
		l->at++;
		l->in_word = false;
		top_context(l)->expecting = COMMAND;
	} else if (c == '<' || c == '>') {
		scan_redirection(l);
	} else if (c == '(' || c == ')') {
		scan_parenthesis(l);
	} else if (l->in_word || !c) {
		l->at++;
	} else {
		scan_word(l);
	}
}

/* Skips the words of an array: they assign nothing. */
static void array_step(struct lexer *l)
{
	char c = peek_char(l, 0);

	if (scan_expansion(l))
		return;
	if (c == ')')
		pop_context(l, 1);
	else if (c == '"')
		push_context(l, IN_QUOTES, '"', 1);
	else if (c == '\'')
		skip_single(l, false);
	else
		l->at++;
}

static int by_bytes(const void *a, const void *b)
{
	const struct str *x = a;
	const struct str *y = b;
	size_t len = x->len < y->len ? x->len : y->len;
	int order = memcmp(x->ptr, y->ptr, len);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

void assigned_find(struct assigned *a, struct str script)
{
	static void (*const step[])(struct lexer * l) = {
		[IN_COMMANDS] = commands_step, [IN_QUOTES] = quotes_step,
		[IN_BRACES] = braces_step,     [IN_SUM] = sum_step,
		[IN_ARRAY] = array_step,
	};
	struct lexer l = { .out = a, .s = script };

	l.stack[0] =
		(struct context){ .kind = IN_COMMANDS, .expecting = COMMAND };
	while (l.at < l.s.len)
		step[top_context(&l)->kind](&l);
	if (a->n)
		qsort(a->names, a->n, sizeof(*a->names), by_bytes);
}

bool assigned_has(const struct assigned *a, struct str name)
{
	return a->n &&
	       bsearch(&name, a->names, a->n, sizeof(*a->names), by_bytes);
}

void assigned_release(struct assigned *a)
{
	free(a->names);
	*a = (struct assigned){ 0 };
}

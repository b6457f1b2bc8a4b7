/* shell_line.c - the simple commands of a shell's command line. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at shell_line_next(). It skips the operators before a command
 * and splits the command into words. cut_word() removes the quotes of a word,
 * read_redirection() and read_here() read what gives a command its input.
 * Nothing is expanded.
 */
#include "base/shell_line.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum { WORD_MAX = 1 << 20 };

void shell_words_release(struct shell_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->list[i].text);
	free(w->here);
	*w = (struct shell_words){ 0 };
}

/* Takes ownership of the word's text. */
void shell_words_add(struct shell_words *w, struct shell_word word)
{
	if (w->n < SHELL_WORDS_MAX)
		w->list[w->n++] = word;
	else
		free(word.text);
	w->is_cut |= w->n == SHELL_WORDS_MAX;
}

/* Appends the "$(...)", "<(...)" or "`...`" at the start of text to word, and
 * the command in it to inner. Returns its length. */
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

static bool starts_substitution(struct str text)
{
	return str_starts(text, "`") || str_starts(text, "$(") ||
	       str_starts(text, "<(") || str_starts(text, ">(");
}

/* Appends the commands whose output is a part of the text to inner. */
void shell_line_add_inner(struct str text, struct buf *inner)
{
	struct buf ignored = BUF_INIT(WORD_MAX);

	while (text.len)
		text = str_skip(
			text, starts_substitution(text)
				      ? add_substitution(text, &ignored, inner)
				      : 1);
	buf_release(&ignored);
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

/* Removes a word from the front of the line and returns it without its
 * quotes. */
static struct shell_word cut_word(struct shell_line *l)
{
	struct shell_word w = { .literal = starts_literally(l->rest) };
	struct buf text = BUF_INIT(WORD_MAX);
	char quote = 0;

	while (l->rest.len) {
		char c = l->rest.ptr[0];
		size_t taken = 1;

		if (!quote && strchr(" \t\n;|&<>()", c))
			break;
		if (quote != '\'' && (c == '`' || str_starts(l->rest, "$("))) {
			taken = add_substitution(l->rest, &text, &l->inner);
			w.output = true;
		} else if (c == '\\' && quote != '\'' && l->rest.len > 1) {
			buf_addc(&text, l->rest.ptr[taken++]);
		} else if (quote ? c == quote : c == '"' || c == '\'') {
			quote = quote ? 0 : c;
		} else {
			w.expands |= c == '$' && quote != '\'';
			buf_addc(&text, c);
		}
		l->rest = str_skip(l->rest, taken);
	}
	w.text = xstrndup(text.ptr ? text.ptr : "", text.len);
	buf_release(&text);
	return w;
}

static bool is_number(const char *word)
{
	return !word[strspn(word, "0123456789")];
}

static void skip_blanks(struct shell_line *l, const char *blanks)
{
	while (l->rest.len && strchr(blanks, l->rest.ptr[0]))
		l->rest = str_skip(l->rest, 1);
}

/* Finds the text of "<<END" behind the end of this line, and has the parser
 * skip it there. */
static struct str find_here_text(struct shell_line *l, const char *end,
				 bool tabs)
{
	struct str rest = str_skip(l->rest, str_find(l->rest, '\n'));
	struct str text;

	if (l->here_at) { /* behind the text of another one */
		rest = l->here_rest;
	} else if (rest.len) {
		l->here_at = rest.ptr;
		rest = str_skip(rest, 1);
	}
	text = (struct str){ rest.ptr, 0 };
	while (rest.len) {
		struct str line = { rest.ptr, str_find(rest, '\n') };
		size_t whole = line.len + (line.len < rest.len);

		rest = str_skip(rest, whole);
		while (tabs && str_starts(line, "\t"))
			line = str_skip(line, 1);
		if (str_is(line, end))
			break;
		text.len += whole;
	}
	l->here_rest = rest;
	return text;
}

/* Reads "<<END" or "<<<WORD". Its text becomes w->here, and the words of the
 * command get the mark "<<". */
static void read_here(struct shell_words *w, struct shell_line *l)
{
	bool string = str_starts(l->rest, "<<<");
	bool tabs = !string && str_starts(l->rest, "<<-");
	struct shell_word word;
	struct str text;
	const char *from;

	l->rest = str_skip(l->rest, 2 + (string || tabs));
	skip_blanks(l, " \t");
	from = l->rest.ptr;
	word = cut_word(l);
	free(w->here);
	if (string) {
		w->here = word.text;
	} else {
		/* quotes in END: nothing is replaced in the text */
		bool quoted = strlen(word.text) != (size_t)(l->rest.ptr - from);

		text = find_here_text(l, word.text, tabs);
		w->here = xstrndup(text.ptr ? text.ptr : "", text.len);
		free(word.text);
		word.expands = !quoted && strchr(w->here, '$');
		word.output = !quoted &&
			      (strstr(w->here, "$(") || strchr(w->here, '`'));
		if (word.output)
			shell_line_add_inner(text, &l->inner);
	}
	word.text = xstrdup("");
	word.mark = 'h';
	shell_words_add(w, word);
}

/* Removes a redirection. The file of "<FILE" stays, as the mark "<" and FILE,
 * because an interpreter runs it. "<(...)" is a word. */
static void read_redirection(struct shell_words *w, struct shell_line *l)
{
	bool input = l->rest.ptr[0] == '<';
	struct shell_word word;

	if (str_starts(l->rest, "<<")) {
		read_here(w, l);
		return;
	}
	if (starts_substitution(l->rest)) {
		struct buf text = BUF_INIT(WORD_MAX);

		l->rest = str_skip(l->rest,
				   add_substitution(l->rest, &text, &l->inner));
		shell_words_add(w, (struct shell_word){
					   .text = xstrndup(text.ptr, text.len),
					   .output = true });
		buf_release(&text);
		return;
	}
	l->rest = str_skip(l->rest, 1);
	skip_blanks(l, " \t>&|");
	if (starts_substitution(l->rest)) /* "< <(...)" */
		read_redirection(w, l);
	word = cut_word(l);
	if (input) {
		shell_words_add(w, (struct shell_word){ .text = xstrdup(""),
							.mark = '<' });
		shell_words_add(w, word);
	} else {
		free(word.text);
	}
}

/* Removes the first simple command from the line and splits it into words. */
static void parse_words(struct shell_words *w, struct shell_line *l)
{
	while (l->rest.len) {
		char c = l->rest.ptr[0];

		if (c == '<' || c == '>') {
			read_redirection(w, l);
		} else if (str_starts(l->rest, "&>")) {
			l->rest = str_skip(l->rest, 1);
		} else if (strchr("\n;|&()", c)) {
			break;
		} else if (c == '#') {
			l->rest = str_skip(l->rest, str_find(l->rest, '\n'));
		} else if (str_starts(l->rest, "\\\n")) {
			l->rest = str_skip(l->rest, 2);
		} else if (strchr(" \t", c)) {
			l->rest = str_skip(l->rest, 1);
		} else {
			struct shell_word word = cut_word(l);

			/* the 2 of "2>FILE" is not a word */
			if (!l->rest.len || !strchr("<>", l->rest.ptr[0]) ||
			    !is_number(word.text))
				shell_words_add(w, word);
			else
				free(word.text);
		}
	}
}

/* Reads an operator at the start of the line. Returns its length, or 0. */
static size_t read_operator(struct shell_line *l)
{
	static const struct {
		const char *text;
		enum shell_operator op;
	} operators[] = { { "&&", SHELL_AND },       { "||", SHELL_OR },
			  { "|&", SHELL_PIPE },      { "|", SHELL_PIPE },
			  { "&", SHELL_BACKGROUND }, { ";", SHELL_NEXT },
			  { "\n", SHELL_NEXT } };

	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
		enum shell_operator op = operators[i].op;

		if (!str_starts(l->rest, operators[i].text))
			continue;
		/* a new line behind "&&" or "|" is a blank */
		if (operators[i].text[0] != '\n' || l->before == SHELL_NONE)
			l->before = op;
		return strlen(operators[i].text);
	}
	return 0;
}

/* Skips what separates commands, and sets l->before. */
static void skip_operators(struct shell_line *l)
{
	l->before = SHELL_NONE;
	l->lowest = l->group;
	l->closed = false;
	while (l->rest.len) {
		char c = l->rest.ptr[0];
		size_t n = read_operator(l);

		if (l->here_at == l->rest.ptr) {
			l->rest = l->here_rest;
			l->here_at = NULL;
			continue;
		}
		if (c == '#')
			n = str_find(l->rest, '\n');
		else if (strchr(" \t()", c))
			n = 1;
		else if (str_starts(l->rest, "\\\n"))
			n = 2;
		l->group += c == '(';
		l->group -= c == ')';
		if (l->group < l->lowest)
			l->lowest = l->group;
		l->closed |= c == ')';
		if (!n)
			break;
		l->rest = str_skip(l->rest, n);
	}
	if (l->before == SHELL_NONE)
		l->before = SHELL_NEXT;
}

void shell_line_next(struct shell_line *l, struct shell_words *w)
{
	skip_operators(l);
	parse_words(w, l);
	w->pipe = l->before == SHELL_PIPE;
}

/* shell_word.c - what one word of a command does to the next ones. */
/* SPDX-License-Identifier: MIT */
#include "sandbox/setup/shell_word.h"

#include <string.h>

#include "base/str.h"

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

/* Words in command position that do not leave it at "arguments follow". */
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

/* Options of read whose value is the next word. */
static bool takes_value(struct str option)
{
	return option.len > 1 && option.ptr[0] == '-' &&
	       strchr("dinNptu", option.ptr[option.len - 1]);
}

struct word_effect word_effect(enum expecting now, const struct word *w)
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

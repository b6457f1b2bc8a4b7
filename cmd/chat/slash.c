/* slash.c - the commands of the chat that begin with a slash. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/slash.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "base/str.h"
#include "base/words.h"
#include "cmd/chat/input.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/chat/slash_table.h"
#include "skills/skills.h"

enum {
	SIMILAR = 2,     /* letters that a suggestion may differ by */
	WORDS_MOST = 64, /* after a command's name */
	SHOWN_MOST = 60, /* characters of an unknown command */
	SHOWN_BYTES = 1 << 20,
	COLUMNS = 80, /* without a screen */
};

static const char skill_prefix[] = "/skill:";

/* Up to the first blank or line break. */
static struct str first_word(struct str line)
{
	struct str word = { line.ptr, 0 };

	while (word.len < line.len && word.ptr[word.len] != ' ' &&
	       word.ptr[word.len] != '\t' && word.ptr[word.len] != '\n')
		word.len++;
	return word;
}

static bool has_name(const struct slash_command *s, struct str word)
{
	struct str rest = str_of(s->aliases);
	bool found = str_is_nocase(word, s->name);
	struct str alias;

	while (!found && str_split(&rest, ' ', &alias)) {
		char *name = xstrndup(alias.ptr, alias.len);

		found = str_is_nocase(word, name);
		free(name);
	}
	return found;
}

static const struct slash_command *find_command(struct str line)
{
	struct str word = first_word(line);

	if (str_is_nocase(line, "exit"))
		word = STR("/quit");
	for (size_t i = 0; i < slash_n_commands; i++)
		if (has_name(&slash_commands[i], word))
			return &slash_commands[i];
	return NULL;
}

bool slash_is_command(struct str line)
{
	struct str word = first_word(line);

	if (str_is_nocase(line, "exit"))
		return true;
	if (word.len > 1 && skill_builtin_find(str_skip(word, 1)))
		return false;
	if (word.len < 2 || !isalpha((unsigned char)word.ptr[1]))
		return false;
	for (size_t i = 2; i < word.len; i++)
		if (!isalnum((unsigned char)word.ptr[i]) &&
		    word.ptr[i] != '-' && word.ptr[i] != '_')
			return false;
	return word.ptr[0] == '/';
}

/* A guess that is far off, or that would allow everything or end the chat, is
 * worse than none. */
static bool is_suggested(struct str word, const char *name)
{
	return strcmp(name, "/yolo") != 0 && strcmp(name, "/quit") != 0 &&
	       nearest_distance(word, str_of(name)) <= SIMILAR;
}

static void add_unknown(struct str word, struct buf *out)
{
	const char **names = xcalloc(slash_n_commands, sizeof(*names));
	const char *near;

	for (size_t i = 0; i < slash_n_commands; i++)
		names[i] = slash_commands[i].name;
	word.len = str_char_offset(word, SHOWN_MOST);
	near = nearest_name(word, names, slash_n_commands);
	buf_adds(out, "Unknown command ");
	buf_addstr(out, word);
	buf_adds(out, ". ");
	if (is_suggested(word, near))
		buf_addf(out, "Did you mean %s? ", near);
	buf_adds(out, "/help lists all.\n");
	free(names);
}

/* The words after the name, NULL-terminated; free_words() ends them. */
static int split_words(const struct slash_command *s, struct str rest,
		       char *words[WORDS_MOST + 1])
{
	int n = 0;

	rest = str_trim(rest);
	if (s->raw && rest.len)
		words[n++] = xstrndup(rest.ptr, rest.len);
	while (!s->raw && n < WORDS_MOST && (words[n] = words_take(&rest)))
		n++;
	if (!n && s->bare)
		words[n++] = xstrdup(s->bare);
	words[n] = NULL;
	return n;
}

static void free_words(char **words)
{
	while (*words)
		free(*words++);
}

bool slash_show(struct run *r, struct str line, size_t columns, struct buf *out)
{
	const struct slash_command *s = find_command(line);
	struct str name = first_word(line);
	char *words[WORDS_MOST + 1];
	int n;

	if (!s) {
		add_unknown(name, out);
		return true;
	}
	if (!s->show)
		return false;
	n = split_words(s, str_skip(line, name.len), words);
	s->show(r, n, words, columns, out);
	free_words(words);
	return true;
}

bool slash_needs_sandbox(struct str line)
{
	const struct slash_command *s = find_command(line);

	return s && s->needs_sandbox;
}

bool slash_is(struct str line, const char *name)
{
	const struct slash_command *s = find_command(str_trim(line));

	return s && slash_is_command(str_trim(line)) &&
	       str_is(str_of(s->name), name);
}

void slash_enter(struct run *r)
{
	r->here = (struct app_chat){ session_id(r->session), r->box.label,
				     &r->box.sandbox, r->options.include,
				     r->options.n_include };
	r->app->chat = &r->here;
}

/* What a new thread does not need to know, and what a moved one must. */
static void tell_model(const struct run *r, unsigned switched, struct buf *told)
{
	if (r->switched != switched)
		buf_clear(told);
	else if (r->made)
		buf_adds(told, MESSAGE_NOTE_MOVED);
}

static bool run_command(struct run *r, const struct slash_command *s, int n,
			char **words)
{
	bool goes_on = true;

	if (s->run) {
		goes_on = s->run(r, n, words);
	} else if (s->command) {
		app_borrow_terminal(r->app);
		(void)command_run_words(r->app, s->command, n, words);
		fflush(stdout);
		app_return_terminal(r->app);
	}
	fflush(stdout);
	return goes_on;
}

bool slash_run(struct run *r, struct str line, struct buf *told)
{
	const struct slash_command *s = find_command(line);
	struct str rest = str_skip(line, first_word(line).len);
	struct buf shown = BUF_INIT(SHOWN_BYTES);
	unsigned switched = r->switched;
	char *words[WORDS_MOST + 1];
	bool goes_on;

	if (slash_show(r, line, COLUMNS, &shown)) {
		fwrite(shown.ptr, 1, shown.len, stderr);
		buf_release(&shown);
		return true;
	}
	goes_on = run_command(r, s, split_words(s, rest, words), words);
	free_words(words);
	if (r->next || r->switched != switched)
		tell_model(r->next ? r->next : r, switched, told);
	slash_enter(r->next ? r->next : r);
	return goes_on;
}

bool slash_has_arguments(struct str command)
{
	const struct slash_command *s = find_command(command);

	return s && (s->list || s->command);
}

void slash_list_arguments(struct run *r, struct str command, struct buf *out)
{
	const struct slash_command *s = find_command(command);

	if (s && s->list)
		s->list(r, out);
	else if (s && s->command)
		slash_list_subcommands(s->command, out);
}

/* Bytes of the texts that slash_list() owns. */
static size_t count_builtins(size_t *texts)
{
	size_t n = 0;

	for (; skill_builtins[n].name; n++)
		*texts += strlen(skill_builtins[n].name) + sizeof("/");
	return n;
}

static size_t skill_texts(const struct skills *skills)
{
	size_t bytes = 0;

	for (size_t i = 0; i < skills->n; i++)
		bytes += strlen(skill_prefix) + strlen(skills->list[i].name) +
			 strlen(skills->list[i].description);
	return bytes;
}

static struct str put_text(char **at, const char *a, const char *b)
{
	struct str whole = { *at, strlen(a) + strlen(b) };

	memcpy(*at, a, strlen(a));
	memcpy(*at + strlen(a), b, strlen(b));
	*at += whole.len;
	return whole;
}

size_t slash_list(const struct skills *skills, struct fuzzy_item **list)
{
	size_t n = skills ? skills->n : 0;
	size_t texts = skills ? skill_texts(skills) : 0;
	size_t n_builtins = count_builtins(&texts);
	size_t all = slash_n_commands + n_builtins + n;
	struct fuzzy_item *item;
	char *at;

	/* The texts lie behind the items. */
	*list = xcalloc(1, all * sizeof(**list) + texts);
	at = (char *)(*list + all);
	for (size_t i = 0; i < slash_n_commands; i++)
		(*list)[i] = (struct fuzzy_item){
			.name = str_of(slash_commands[i].name),
			.alias = str_of(slash_commands[i].aliases),
			.args = str_of(slash_commands[i].args),
			.summary = str_of(slash_commands[i].summary),
		};
	item = *list + slash_n_commands;
	for (size_t i = 0; i < n_builtins; i++, item++) {
		item->name = put_text(&at, "/", skill_builtins[i].name);
		item->summary = str_of(skill_builtins[i].description);
	}
	for (size_t i = 0; i < n; i++, item++) {
		const struct skill *s = &skills->list[i];

		item->name = put_text(&at, skill_prefix, s->name);
		item->summary = put_text(&at, s->description, "");
	}
	return all;
}

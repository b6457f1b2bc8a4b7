/* completion.c - choosing with a few typed letters; the popup below a draft. */
/* SPDX-License-Identifier: MIT */
#include "editor/completion.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "term/rows.h"

enum {
	TEXT_MAX = 512,
	SCORE_FOUND = 100000, /* larger than all deductions together */
	SCORE_BESIDE = 40, /* bonus for a letter right after the previous one */
	SCORE_WORD = 30,   /* bonus for a letter that begins a word */
	SCORE_WHOLE = 50000, /* bonus if the letters are the whole text */
	SCORE_BEGIN = 20000, /* bonus if the text begins with the letters */
};

static char to_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool begins_word(struct str text, size_t i)
{
	return !i || strchr("/_-. :", text.ptr[i - 1]);
}

/* Scores the letters if the first one is at start; 0 if they do not all follow.
 */
static int score_from(struct str letters, struct str text, size_t start)
{
	int score = SCORE_FOUND;
	size_t at = start;

	for (size_t i = 0; i < letters.len; i++) {
		size_t before = at;

		while (at < text.len &&
		       to_lower(text.ptr[at]) != to_lower(letters.ptr[i]))
			at++;
		if (at == text.len)
			return 0;
		if (begins_word(text, at))
			score += SCORE_WORD;
		if (i && at == before)
			score += SCORE_BESIDE;
		score -= (int)(at - before);
		at++;
	}
	if (start == 0 && at == letters.len)
		score += text.len == letters.len ? SCORE_WHOLE : SCORE_BEGIN;
	return score - (int)text.len / 4;
}

int fuzzy_score(struct str letters, struct str text)
{
	int best = 0;

	if (text.len > TEXT_MAX)
		text.len = TEXT_MAX;
	if (!letters.len)
		return 1;
	for (size_t i = 0; i < text.len; i++) {
		int score;

		if (to_lower(text.ptr[i]) != to_lower(letters.ptr[0]))
			continue;
		score = score_from(letters, text, i);
		if (!score) /* if they do not all follow here, they do not after
			       a later start either */
			break;
		best = score > best ? score : best;
	}
	return best;
}

enum { FOUND_WITHIN = 1, FOUND_AT_WORD, FOUND_AT_BEGIN, FOUND_WHOLE };

/* Returns where the text has the letters side by side; 0: nowhere. */
static int find_letters(struct str letters, struct str text)
{
	int best = 0;

	for (size_t i = 0; i + letters.len <= text.len && best < 2; i++)
		if (!strncasecmp(text.ptr + i, letters.ptr, letters.len))
			best = i ? FOUND_WITHIN + begins_word(text, i)
				 : FOUND_AT_BEGIN + (letters.len == text.len);
	return best;
}

/* Returns the best score among the item's name and aliases. */
static int score_item(int (*score_of)(struct str letters, struct str text),
		      struct str letters, const struct fuzzy_item *item)
{
	int best = score_of(letters, item->name);
	struct str rest = item->alias;
	struct str alias;

	while (str_split(&rest, ' ', &alias)) {
		int score = score_of(letters, alias);

		best = score > best ? score : best;
	}
	return best;
}

/* As fuzzy_rank(). score_of: returns 0 for an item that does not match. */
static size_t rank_by(int (*score_of)(struct str letters,
				      const struct fuzzy_item *item),
		      struct str letters, const struct fuzzy_item *items,
		      size_t n, size_t *order, size_t max)
{
	int *scores = max ? xcalloc(max, sizeof(*scores)) : NULL;
	size_t found = 0;

	for (size_t i = 0; i < n && max; i++) {
		int score = score_of(letters, &items[i]);
		size_t at = found;

		while (at && scores[at - 1] < score)
			at--;
		if (!score || at == max)
			continue;
		found += found < max;
		memmove(scores + at + 1, scores + at,
			(found - at - 1) * sizeof(*scores));
		memmove(order + at + 1, order + at,
			(found - at - 1) * sizeof(*order));
		scores[at] = score;
		order[at] = i;
	}
	free(scores);
	return found;
}

static int score_names(struct str letters, const struct fuzzy_item *item)
{
	return score_item(fuzzy_score, letters, item);
}

size_t fuzzy_rank(struct str letters, const struct fuzzy_item *items, size_t n,
		  size_t *order, size_t max)
{
	return rank_by(score_names, letters, items, n, order, max);
}

static const struct style plain = { 0, STYLE_PLAIN };

static const struct style muted = { 0, STYLE_MUTED };

enum { TOKEN_MAX = 512 };

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == PASTES_LEAD;
}

/* True if an odd number of backslashes precedes the byte. */
static bool is_escaped(struct str s, size_t at)
{
	size_t n = 0;

	while (n < at && s.ptr[at - 1 - n] == '\\')
		n++;
	return n % 2;
}

/* Returns the word before the caret. A space after a backslash does not end it.
 */
static struct str last_word(struct str before)
{
	size_t i = before.len;

	while (i && (!is_blank(before.ptr[i - 1]) || is_escaped(before, i - 1)))
		i--;
	return str_skip(before, i);
}

/* True for characters of a file name that get a backslash, so that the mention
 * is read completely (cmd/chat/message.c) and people see where it ends. */
static bool needs_backslash(struct str name, size_t at)
{
	unsigned char c = (unsigned char)name.ptr[at];
	bool is_last = at + 1 == name.len;

	if (c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	    (c >= 'A' && c <= 'Z') || strchr("_~/-+@=%#", c))
		return false;
	return is_last || !strchr(".:", c);
}

static bool is_file(enum complete_kind kind)
{
	return kind == COMPLETE_FILE || kind == COMPLETE_PATH;
}

static const struct fuzzy_item *items_of(const struct completer *c)
{
	if (c->kind == COMPLETE_ARGUMENT)
		return c->arguments;
	return c->kind == COMPLETE_COMMAND ? c->commands : c->files;
}

static size_t count_of(const struct completer *c)
{
	if (c->kind == COMPLETE_ARGUMENT)
		return c->n_arguments;
	return c->kind == COMPLETE_COMMAND ? c->n_commands : c->n_files;
}

/* Lists the items that have the letters side by side, the equally good ones in
 * their order: models with the newest first. */
static size_t rank_found(const struct completer *c, struct str letters,
			 size_t *order)
{
	size_t n = 0;

	for (int found = FOUND_WHOLE; found; found--)
		for (size_t i = 0; i < count_of(c) && n < COMPLETE_MATCHES; i++)
			if (score_item(find_letters, letters,
				       &items_of(c)[i]) == found)
				order[n++] = i;
	return n;
}

enum {
	FILE_NAME = 400000,   /* more than letters anywhere in a path score */
	FILE_FOUND = 1000000, /* more than all that is added or deducted here */
	FILE_RECENT = 20000,  /* bonus for each later choice */
	FILE_DEPTH = 600,     /* deduction for each directory */
};

static size_t count_bytes(struct str s, char c)
{
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++)
		n += s.ptr[i] == c;
	return n;
}

static struct str last_name(struct str path)
{
	size_t at = path.len;

	while (at && path.ptr[at - 1] != '/')
		at--;
	return str_skip(path, at);
}

/* Scores a path by its name. Best first: the letters are the whole name, the
 * name without its ending, its beginning, any part of it, or match as in
 * fuzzy_score(). If letters contain a slash, the path is matched instead. Of
 * equal matches, files that were chosen before come first, then those nearest
 * to the top. */
static int score_file(struct str letters, const struct fuzzy_item *item)
{
	struct str path = item->name;
	bool is_dir = str_ends(path, "/");
	bool whole = str_find(letters, '/') < letters.len;
	int score = fuzzy_score(letters, path);
	int bonus = (int)item->recent * FILE_RECENT -
		    (int)(count_bytes(path, '/') - is_dir) * FILE_DEPTH;
	struct str name;
	size_t stem;
	int found;

	/* do not offer the typed directory itself, only its contents */
	if (!score || (is_dir && str_eq(letters, path)))
		return 0;
	if (!letters.len)
		return FILE_FOUND + bonus;
	path.len -= is_dir;
	name = last_name(path);
	found = find_letters(letters, whole ? item->name : name);
	stem = name.len ? 1 + str_find(str_skip(name, 1), '.') : 0;
	if (found == FOUND_AT_BEGIN && !whole && stem == letters.len)
		found = FOUND_WHOLE;
	if (found)
		return (found + 1) * FILE_FOUND + bonus - (int)path.len;
	found = whole ? 0 : fuzzy_score(letters, name);
	return found ? FILE_NAME + found : score;
}

/* Ranks the choices. Commands and arguments that only resemble the letters are
 * listed only if none contains them. */
static void rank_tokens(struct completer *c, struct str letters)
{
	c->selected = 0;
	c->moved = false;
	c->n = is_file(c->kind) || !letters.len
		       ? 0
		       : rank_found(c, letters, c->order);
	if (!c->n)
		c->n = rank_by(is_file(c->kind) ? score_file : score_names,
			       letters, items_of(c), count_of(c), c->order,
			       COMPLETE_MATCHES);
}

static void close_popup(struct completer *c)
{
	c->kind = COMPLETE_NONE;
	c->n = 0;
}

static enum complete_kind kind_of(const struct editor *e, struct str word)
{
	if (!word.len || word.len > TOKEN_MAX)
		return COMPLETE_NONE;
	if (word.ptr[0] == '/' && word.len == e->caret)
		return COMPLETE_COMMAND;
	if (word.ptr[0] == '@')
		return COMPLETE_FILE;
	/* The first word is the command itself. */
	return gap_byte(&e->text, 0) == '!' && word.len < e->caret &&
			       word.ptr[0] != '-'
		       ? COMPLETE_PATH
		       : COMPLETE_NONE;
}

/* Splits a one-line draft into its slash command and the rest. Returns false
 * unless the caret is after the command and a space. */
static bool split_command(const struct editor *e, struct str before,
			  struct str *command, struct str *rest)
{
	size_t end = 0;

	if (before.len != e->caret || !before.len || before.ptr[0] != '/' ||
	    memchr(before.ptr, '\n', before.len))
		return false;
	while (end < before.len && !is_blank(before.ptr[end]))
		end++;
	*command = (struct str){ before.ptr, end };
	*rest = str_skip(before, end);
	if (!rest->len)
		return false;
	while (rest->len && rest->ptr[0] == ' ')
		*rest = str_skip(*rest, 1);
	return true;
}

static bool opens_list(const struct completer *c, struct str command)
{
	for (size_t i = 0; i < c->n_commands; i++)
		if (str_eq(c->commands[i].name, command))
			return c->commands[i].opens_list;
	return false;
}

/* Returns true if the argument of a command is being typed, and updates its
 * choices. */
static bool update_argument(struct completer *c, struct editor *e)
{
	struct str rest;
	struct str command;

	if (!c->list_arguments ||
	    !split_command(e, editor_before(e, TOKEN_MAX + 1), &command, &rest))
		return false;
	if (!str_eq(buf_str(&c->command), command)) {
		c->n_arguments = 0;
		c->command.max = TOKEN_MAX + 1;
		buf_clear(&c->command);
		buf_addstr(&c->command, command);
		/* It may call complete_set_arguments() before it returns. */
		c->list_arguments(c->context, command);
	}
	if (c->dismissed || (!rest.len && opens_list(c, command))) {
		close_popup(c);
		return true;
	}
	c->kind = COMPLETE_ARGUMENT;
	c->token = rest.len;
	rank_tokens(c, rest);
	if (c->n == 1 && str_eq(items_of(c)[c->order[0]].name, rest))
		close_popup(c); /* the argument is already complete */
	return true;
}

static void forget_files(struct completer *c)
{
	if (is_file(c->kind))
		close_popup(c);
	free(c->files);
	buf_release(&c->paths);
	c->files = NULL;
	c->n_files = 0;
	c->listed = false;
}

/* The list of the files that git ignores is for one word. */
static void end_word(struct completer *c)
{
	if (c->ignored)
		forget_files(c);
	c->asked = c->asked && !c->ignored;
	c->ignored = false;
}

/* As complete_update(), but keeps the files of a word that has ended. */
static void update_choices(struct completer *c, struct editor *e)
{
	struct str word = last_word(editor_before(e, TOKEN_MAX + 1));
	enum complete_kind kind =
		e->recalled ? COMPLETE_NONE : kind_of(e, word);
	struct buf path = BUF_INIT(TOKEN_MAX);

	c->cycles = false;
	if (!e->recalled && !is_file(kind) && update_argument(c, e))
		return;
	if (kind == COMPLETE_NONE)
		c->dismissed = false;
	if (kind == COMPLETE_NONE || c->dismissed) {
		close_popup(c);
		return;
	}
	/* list_files() may call complete_set_files() before it returns. */
	if (is_file(kind) && !c->asked && c->list_files) {
		c->asked = true;
		c->list_files(c->context);
	}
	c->kind = kind;
	c->token = word.len;
	if (kind == COMPLETE_COMMAND) {
		/* After the slash alone, show all commands in their order. */
		rank_tokens(c, word.len > 1 ? word : (struct str){ 0 });
		return;
	}
	for (size_t i = kind == COMPLETE_FILE; i < word.len; i++)
		if (word.ptr[i] != '\\' || is_escaped(word, i))
			buf_addc(&path, word.ptr[i]);
	rank_tokens(c, buf_str(&path));
	/* Request files that git ignores only if no other file matches the
	 * path. */
	if (!c->n && c->listed && !c->ignored && path.len && c->list_files) {
		c->ignored = true;
		c->list_files(c->context);
		c->kind = kind;
		rank_tokens(c, buf_str(&path));
	}
	buf_release(&path);
}

void complete_update(struct completer *c, struct editor *e)
{
	if (c->cycles)
		end_word(c);
	update_choices(c, e);
	if (!is_file(c->kind) && !c->dismissed)
		end_word(c);
}

bool complete_is_begun(struct editor *e)
{
	struct str before = editor_before(e, TOKEN_MAX + 1);
	struct str command;
	struct str rest;

	return kind_of(e, last_word(before)) != COMPLETE_NONE ||
	       split_command(e, before, &command, &rest);
}

static void forget_arguments(struct completer *c)
{
	if (c->kind == COMPLETE_ARGUMENT)
		close_popup(c);
	free(c->arguments);
	buf_release(&c->texts);
	c->arguments = NULL;
	c->n_arguments = 0;
}

void complete_forget(struct completer *c)
{
	forget_files(c);
	forget_arguments(c);
	buf_clear(&c->command);
	c->asked = false;
}

void complete_set_arguments(struct completer *c, struct str command,
			    struct str lines)
{
	struct str rest;
	struct str line;

	if (!str_eq(command, buf_str(&c->command)))
		return; /* the user is now typing another command */
	forget_arguments(c);
	c->texts = BUF_INIT(COMPLETE_BYTES);
	buf_addstr(&c->texts, lines);
	rest = buf_str(&c->texts);
	while (str_split(&rest, '\n', &line) &&
	       c->n_arguments < COMPLETE_FILES) {
		size_t tab = str_find(line, '\t');

		if (!line.len)
			continue;
		if (!(c->n_arguments & (c->n_arguments - 1)))
			c->arguments = xrealloc(
				c->arguments,
				c->n_arguments ? c->n_arguments * 2 : 1,
				sizeof(*c->arguments));
		c->arguments[c->n_arguments++] = (struct fuzzy_item){
			.name = { line.ptr, tab },
			.summary = str_skip(line, tab + 1),
		};
	}
}

static void add_file(struct completer *c, struct str name)
{
	struct str recent = buf_str(&c->recent);
	struct str chosen;
	unsigned n = 0;

	if (!name.len || c->n_files >= COMPLETE_FILES)
		return;
	if (!(c->n_files & (c->n_files - 1)))
		c->files = xrealloc(c->files, c->n_files ? c->n_files * 2 : 1,
				    sizeof(*c->files));
	c->files[c->n_files] = (struct fuzzy_item){ .name = name };
	while (str_split(&recent, '\n', &chosen)) {
		n++;
		if (str_eq(chosen, name))
			c->files[c->n_files].recent = n;
	}
	c->n_files++;
}

void complete_set_files(struct completer *c, struct str paths)
{
	struct str last = { 0 };
	size_t from = 0;

	forget_files(c);
	c->asked = c->listed = true;
	c->paths = BUF_INIT(COMPLETE_BYTES);
	buf_addstr(&c->paths, paths);
	for (size_t i = 0; i < c->paths.len; i++) {
		struct str path = { c->paths.ptr + from, i + 1 - from };
		char end = c->paths.ptr[i];

		/* Directories are named by the first file in them. */
		if (end == '/' && !(last.len >= path.len &&
				    !memcmp(last.ptr, path.ptr, path.len)))
			add_file(c, path);
		if (end != '\n' && end != '\0')
			continue;
		path.len--;
		add_file(c, path);
		last = path;
		from = i + 1;
	}
}

/* Inserts a command or an argument. Returns the length of what was inserted. */
static size_t insert_word(struct completer *c, struct editor *e)
{
	struct buf text = BUF_INIT(TOKEN_MAX);
	size_t len;

	buf_addstr(&text, items_of(c)[c->order[c->selected]].name);
	buf_addc(&text, ' ');
	editor_replace_before(e, c->token, buf_str(&text));
	len = text.len;
	buf_release(&text);
	return len;
}

/* Appends a file as it is written in a message, "@path", or in a command. */
static void add_mention(const struct completer *c, struct str name,
			struct buf *out)
{
	if (c->kind == COMPLETE_FILE)
		buf_addc(out, '@');
	for (size_t i = 0; i < name.len; i++) {
		if (needs_backslash(name, i))
			buf_addc(out, '\\');
		buf_addc(out, name.ptr[i]);
	}
}

/* Keeps the choice for the order of later lists, the newest last. */
static void note_recent(struct completer *c, size_t i)
{
	struct str name = c->files[i].name;
	struct buf kept = BUF_INIT(COMPLETE_BYTES);
	struct str rest = buf_str(&c->recent);
	struct str line;
	size_t n = 0;

	while (str_split(&rest, '\n', &line))
		n += !str_eq(line, name);
	rest = buf_str(&c->recent);
	while (str_split(&rest, '\n', &line)) {
		if (str_eq(line, name) || n-- >= COMPLETE_RECENT)
			continue;
		buf_addstr(&kept, line);
		buf_addc(&kept, '\n');
	}
	buf_addstr(&kept, name);
	buf_addc(&kept, '\n');
	buf_release(&c->recent);
	c->recent = kept;
}

/* Inserts a file; a directory can be completed further. Returns the length of
 * what was inserted. */
static size_t insert_file(struct completer *c, struct editor *e)
{
	size_t chosen = c->order[c->selected];
	struct str name = c->files[chosen].name;
	struct buf text = BUF_INIT(2 * name.len + 2);
	size_t len = c->token;

	add_mention(c, name, &text);
	if (!str_ends(name, "/"))
		buf_addc(&text, ' ');
	/* Do not insert a name with control characters. */
	if (pastes_is_clean(buf_str(&text))) {
		editor_replace_before(e, c->token, buf_str(&text));
		len = text.len;
		note_recent(c, chosen);
	}
	buf_release(&text);
	return len;
}

/* The popup stays if there is nothing to complete further and other choices can
 * replace this one. */
static void accept_choice(struct completer *c, struct editor *e, bool cycles)
{
	enum complete_kind kind = c->kind;
	bool ignored = c->ignored;
	size_t selected = c->selected;
	size_t n = c->n;
	size_t order[COMPLETE_MATCHES];
	size_t len;

	memcpy(order, c->order, n * sizeof(*order));
	len = is_file(kind) ? insert_file(c, e) : insert_word(c, e);
	if (!cycles || n < 2 || kind == COMPLETE_COMMAND) {
		complete_update(c, e);
		return;
	}
	update_choices(c, e);
	/* The indexes in order hold until another list is requested. */
	if (c->n || c->ignored != ignored)
		return;
	memcpy(c->order, order, n * sizeof(*order));
	c->n = n;
	c->kind = kind;
	c->selected = selected;
	c->token = len;
	c->cycles = true;
}

/* True if the typed text is this item, by name or alias. */
static bool is_typed(const struct completer *c, const struct fuzzy_item *item,
		     struct str typed)
{
	struct buf mention = BUF_INIT(2 * item->name.len + 1);
	struct str rest = item->alias;
	struct str alias;
	bool same;

	while (str_split(&rest, ' ', &alias))
		if (str_eq(typed, alias))
			return true;
	if (!is_file(c->kind))
		return str_eq(typed, item->name);
	add_mention(c, item->name, &mention);
	same = str_eq(typed, buf_str(&mention));
	buf_release(&mention);
	return same;
}

/* True if Enter sends the draft because a choice is completely typed. An
 * argument, or a word of a command, need not be in the list. */
static bool is_complete(const struct completer *c, struct editor *e)
{
	struct str typed = editor_before(e, c->token);

	if (c->moved)
		return is_typed(c, &items_of(c)[c->order[c->selected]], typed);
	if (c->kind == COMPLETE_ARGUMENT || c->kind == COMPLETE_PATH ||
	    str_ends(typed, "/"))
		return true;
	for (size_t i = 0; i < c->n; i++)
		if (is_typed(c, &items_of(c)[c->order[i]], typed))
			return true;
	return false;
}

/* Handles Enter while a choice is not completely typed. Never inserts a command
 * that is only similar, because commands act. Returns false if Enter also sends
 * what was inserted. */
static bool take_choice(struct completer *c, struct editor *e)
{
	struct str typed = editor_before(e, c->token);
	bool sends = false;
	size_t n = 0;

	c->enter = COMPLETE_TOOK;
	for (size_t i = 0; i < c->n && c->kind == COMPLETE_COMMAND; i++) {
		if (score_item(find_letters, typed, &items_of(c)[c->order[i]]) <
		    FOUND_AT_BEGIN)
			continue;
		c->selected = !n++ && !c->moved ? i : c->selected;
	}
	if (c->kind == COMPLETE_COMMAND && !c->moved && n != 1) {
		c->enter = n ? COMPLETE_SEVERAL : COMPLETE_UNKNOWN;
		return true;
	}
	sends = c->kind == COMPLETE_COMMAND &&
		!items_of(c)[c->order[c->selected]].acts;
	accept_choice(c, e, false);
	if (sends)
		close_popup(c);
	return !sends;
}

static bool is_ctrl(struct key key, char c)
{
	return key.name == KEY_CHAR && key.mods == KEY_CTRL &&
	       key.c == (uint32_t)c;
}

/* Selects the next choice or the one before. If Tab has inserted the last one,
 * it is replaced. */
static void step_choice(struct completer *c, struct editor *e, bool down)
{
	c->selected = (c->selected + (down ? 1 : c->n - 1)) % c->n;
	c->moved = true;
	if (c->cycles)
		accept_choice(c, e, true);
}

bool complete_key(struct completer *c, struct editor *e, struct key key)
{
	if (!c->n)
		return false;
	if (is_ctrl(key, 'p'))
		key = (struct key){ .name = KEY_UP };
	if (is_ctrl(key, 'n'))
		key = (struct key){ .name = KEY_DOWN };
	if (key.mods)
		return false;
	switch (key.name) {
	case KEY_UP:
	case KEY_DOWN:
		step_choice(c, e, key.name == KEY_DOWN);
		return true;
	case KEY_ESCAPE:
		c->dismissed = true;
		close_popup(c);
		return true;
	case KEY_ENTER:
		if (c->cycles || is_complete(c, e)) {
			close_popup(c);
			return false;
		}
		return take_choice(c, e);
	case KEY_TAB:
		if (c->cycles)
			step_choice(c, e, true);
		else
			accept_choice(c, e, true);
		return true;
	default:
		return false;
	}
}

enum {
	MOST_LEFT = 34,      /* cells of names and arguments */
	LEAST_FOR_ARGS = 60, /* columns */
	LEAST_FOR_WHOLE = 6, /* rows; with fewer, no description is repeated */
	MOST_WHOLE = 3,      /* rows of a description below the choices */
};

/* How the choices are divided into columns. */
struct choice_columns {
	size_t columns; /* of the window */
	size_t left;    /* cells of names and arguments */
	bool args;      /* arguments are shown */
};

static size_t left_cells(const struct fuzzy_item *item, bool args)
{
	return width_cells(item->name) +
	       (args && item->args.len ? 1 + width_cells(item->args) : 0);
}

/* Returns the cells for a description. */
static size_t summary_room(const struct choice_columns *at)
{
	return at->columns > at->left + 5 ? at->columns - at->left - 5 : 0;
}

/* Adds a row with all its texts cut to the width. The left column has the same
 * width in all rows. */
static void add_choice(const struct completer *c, size_t i,
		       const struct choice_columns *at, struct rows *rows)
{
	const struct fuzzy_item *item = &items_of(c)[c->order[i]];
	bool selected = i == c->selected;
	struct style name = { selected ? ATTR_REVERSE : 0, STYLE_ACCENT };
	size_t left = at->columns > 3 ? at->columns - 3 : 1;
	size_t most = item->summary.len && at->left < left ? at->left : left;
	size_t used;

	rows_adds(rows, muted, "  ");
	used = cut_text_add(rows, name, item->name, left);
	/* Cut before the summary, which says more. */
	if (at->args && item->args.len && used + 1 < most) {
		rows_adds(rows, muted, " ");
		used += 1 +
			cut_text_add(rows, muted, item->args, most - used - 1);
	}
	while (item->summary.len && used < at->left + 2 && used < left) {
		rows_adds(rows, muted, " ");
		used++;
	}
	(void)cut_text_add(rows, muted, item->summary, left - used);
	rows_close(rows);
}

/* Sets the width of the left column. No name is cut for the sake of the
 * descriptions. */
static void measure_left(const struct completer *c, struct choice_columns *at)
{
	size_t most = at->columns / 3 < MOST_LEFT ? at->columns / 3 : MOST_LEFT;

	at->left = 0;
	for (size_t i = 0; i < c->n; i++) {
		const struct fuzzy_item *item = &items_of(c)[c->order[i]];
		size_t left = left_cells(item, at->args);
		size_t name = width_cells(item->name);

		at->left = left > at->left ? left : at->left;
		most = name > most ? name : most;
	}
	at->left = at->left < most ? at->left : most;
}

/* In a narrow window, arguments are left out if a description would be cut for
 * them: it says more. */
static struct choice_columns lay_out(const struct completer *c, size_t columns)
{
	struct choice_columns at = { .columns = columns, .args = true };

	measure_left(c, &at);
	for (size_t i = 0; i < c->n && columns < LEAST_FOR_ARGS; i++)
		if (width_cells(items_of(c)[c->order[i]].summary) >
		    summary_room(&at))
			at.args = false;
	if (!at.args)
		measure_left(c, &at);
	return at;
}

/* Adds the whole description of the selected choice if its row has only a part
 * of it. */
static void add_whole_summary(const struct completer *c,
			      const struct choice_columns *at,
			      struct rows *rows)
{
	struct str text = items_of(c)[c->order[c->selected]].summary;
	struct wrap w = { .columns = at->columns, .words = true };
	struct rows line = { 0 };

	if (width_cells(text) <= summary_room(at))
		return;
	w.first.text = w.rest.text = STR("  ");
	rows_add(&line, plain, text);
	rows_close(&line);
	wrap_rows(&line, &w, rows);
	rows_release(&line);
}

void complete_render(const struct completer *c, size_t columns, size_t max_rows,
		     struct rows *rows)
{
	struct choice_columns at = lay_out(c, columns);
	struct rows whole = { 0 };
	char place[80]; /* of the shown choices among all of them */
	size_t first;
	size_t room;
	size_t n;
	bool more;

	if (!c->n)
		return;
	if (max_rows >= LEAST_FOR_WHOLE)
		add_whole_summary(c, &at, &whole);
	if (whole.n > MOST_WHOLE)
		rows_clear(&whole);
	room = max_rows - whole.n;
	if (room > COMPLETE_ROWS)
		room = COMPLETE_ROWS + 1;
	more = room > 1 && c->n > (room > COMPLETE_ROWS ? COMPLETE_ROWS : room);
	n = c->n < room - more ? c->n : room - more;
	first = c->selected < n ? 0 : c->selected + 1 - n;
	for (size_t i = first; i < first + n; i++)
		add_choice(c, i, &at, rows);
	if (more) {
		snprintf(place, sizeof(place), "  %zu-%zu of %zu%s", first + 1,
			 first + n, c->n, c->n == COMPLETE_MATCHES ? "+" : "");
		cut_text_add(rows, muted, str_of(place), columns);
		rows_close(rows);
	}
	rows_append(rows, &whole, 0, whole.n);
	rows_release(&whole);
}

void complete_release(struct completer *c)
{
	complete_forget(c);
	buf_release(&c->command);
	buf_release(&c->recent);
	*c = (struct completer){ 0 };
}

/* slash.c - finds and runs the chat's slash commands. */
/* SPDX-License-Identifier: MIT */
/*
 * The table is in cmd/slash_table.c, a layer above the chat, and is reached
 * through app.slash, which main() sets. The functions are in slash_model.c,
 * slash_sandbox.c, slash_thread.c and slash_settings.c. A command that also
 * exists in the shell runs through the shell's table. Begin reading at
 * slash_run().
 */
#include "cmd/chat/slash.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/chat/ends.h"
#include "cmd/chat/message.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/manual.h"
#include "cmd/session/sandbox.h"
#include "skills/skills.h"

enum {
	MOST_FILES = 5000,
	MOST_DEEP = 8, /* levels of nested directories */
	LIST_BYTES = 4 << 20,
};

void slash_list_subcommands(const struct command *c, struct buf *out)
{
	const struct subcommand *bare = command_sub(c, NULL);

	for (size_t i = 0; c->subs[i].name; i++)
		if (c->subs[i].name[0])
			buf_addf(out, "%s\t%s\n", c->subs[i].name,
				 c->subs[i].summary ? c->subs[i].summary : "");
	for (const struct arg_row *o = bare ? bare->options : NULL;
	     o && o->name; o++)
		if (o->help)
			buf_addf(out, "--%s\t%s\n", o->name, o->help);
}

/* Appends path as one completion, quoted for the command line. Skips a path
 * with control characters. */
static void add_path(struct str path, struct buf *out)
{
	struct buf clean = BUF_INIT(LIST_BYTES);

	sanitize_line(path, &clean);
	if (str_eq(buf_str(&clean), path)) {
		for (size_t i = 0; i < path.len; i++) {
			char c = path.ptr[i];

			if (c == ' ' || c == '\\' || c == '"' || c == '\'')
				buf_addc(out, '\\');
			buf_addc(out, c);
		}
		buf_adds(out, "\t\n");
	}
	buf_release(&clean);
}

/* Lists one directory below top and its subdirectories, without hidden names.
 */
static void walk_directory(const char *top, const char *below, int deep,
			   size_t *n, struct buf *out)
{
	char *path = below[0] ? path_join(top, below) : xstrdup(top);
	DIR *d = opendir(path);
	const struct dirent *e;

	while (d && *n < MOST_FILES && (e = readdir(d))) {
		char *name = below[0] ? path_join(below, e->d_name)
				      : xstrdup(e->d_name);

		if (e->d_name[0] != '.') {
			add_path(str_of(name), out);
			(*n)++;
		}
		if (e->d_name[0] != '.' && e->d_type == DT_DIR && deep)
			walk_directory(top, name, deep - 1, n, out);
		free(name);
	}
	if (d)
		closedir(d);
	free(path);
}

void slash_list_here(struct run *r, struct buf *out)
{
	size_t n = 0;

	walk_directory(settings_cwd(r->app->settings), "", MOST_DEEP, &n, out);
}

void slash_list_there(struct run *r, struct buf *out)
{
	struct buf names = BUF_INIT(LIST_BYTES);
	struct stop stop = app_stop(r->app);
	struct error ignored = { 0 };
	struct str rest;
	struct str line;

	if (mention_list(r, true, &names, &stop, &ignored) == 0) {
		rest = buf_str(&names);
		while (str_split(&rest, '\n', &line))
			if (line.len)
				add_path(line, out);
	}
	buf_release(&names);
}

enum {
	SIMILAR = 2, /* edit distance at which a command is still suggested */
	WORDS_MOST = 64, /* arguments of a command */
	SHOWN_MOST = 60, /* characters shown of an unknown command */
	SHOWN_BYTES = 1 << 20,
	COLUMNS = 80, /* width of the output without a screen */
};

static const char skill_prefix[] = "/skill:";

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

/* Finds the command that line begins with, by name or alias; or NULL. */
static const struct slash_command *find_command(const struct app *app,
						struct str line)
{
	struct str word = message_first_word(line);

	if (str_is_nocase(line, "exit"))
		word = STR("/quit");
	for (const struct slash_command *s = app->slash; s->name; s++)
		if (has_name(s, word))
			return s;
	return NULL;
}

static size_t count_commands(const struct app *app)
{
	size_t n = 0;

	while (app->slash[n].name)
		n++;
	return n;
}

/* Appends a note that the command is unknown, with a suggestion if one is close
 * and does no harm. */
static void add_unknown(const struct app *app, struct str word, struct buf *out)
{
	const char **names = xcalloc(count_commands(app) + 1, sizeof(*names));
	const char *near;
	size_t n = 0;

	for (const struct slash_command *s = app->slash; s->name; s++)
		if (!s->acts)
			names[n++] = s->name;
	word.len = str_char_offset(word, SHOWN_MOST);
	near = nearest_name(word, names, n);
	buf_adds(out, "Unknown command ");
	buf_addstr(out, word);
	buf_adds(out, ". ");
	if (near && nearest_distance(word, str_of(near)) <= SIMILAR)
		buf_addf(out, "Did you mean %s? ", near);
	buf_adds(out, "/help lists all.\n");
	free(names);
}

/* Splits the text after the command's name into NULL-terminated words and
 * returns their number; release with free_words(). */
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
	const struct slash_command *s = find_command(r->app, line);
	struct str name = message_first_word(line);
	char *words[WORDS_MOST + 1];
	bool shows;
	int n;

	if (!s) {
		add_unknown(r->app, name, out);
		return true;
	}
	if (!s->show)
		return false;
	n = split_words(s, str_skip(line, name.len), words);
	shows = n || !s->run || !r->theme;
	if (shows)
		s->show(r, n, words, columns, out);
	free_words(words);
	return shows;
}

bool slash_needs_sandbox(const struct app *app, struct str line)
{
	const struct slash_command *s = find_command(app, line);

	return s && s->needs_sandbox;
}

bool slash_is(const struct app *app, struct str line, const char *name)
{
	const struct slash_command *s = find_command(app, str_trim(line));

	return s && message_is_command(str_trim(line)) &&
	       str_is(str_of(s->name), name);
}

/* After a switch to another thread, drops the texts for the old one. If the
 * thread moved to another sandbox, tells the model. */
static void update_model_notes(const struct run *r, unsigned switched,
			       struct buf *told)
{
	if (r->switched != switched)
		buf_clear(told);
	else if (r->made)
		buf_adds(told, !r->moved            ? MESSAGE_NOTE_MOVED
			       : run_has_sandbox(r) ? MESSAGE_NOTE_MOVED_WORK
						    : MESSAGE_NOTE_MOVED_HERE);
}

static bool run_command(struct run *r, const struct slash_command *s, int n,
			char **words)
{
	bool goes_on = true;

	if (s->run) {
		goes_on = s->run(r, n, words);
	} else if (s->command) {
		(void)command_run_at_terminal(r->app, s->command, n, words);
	}
	fflush(stdout);
	return goes_on;
}

bool slash_run(struct run *r, struct str line, struct buf *told)
{
	const struct slash_command *s = find_command(r->app, line);
	struct str rest = str_skip(line, message_first_word(line).len);
	struct buf shown = BUF_INIT(SHOWN_BYTES);
	struct error err = { 0 };
	unsigned switched = r->switched;
	char *words[WORDS_MOST + 1];
	bool goes_on;

	if (s && s->awaits && run_await(r, &err) < 0) {
		(void)app_fail(r->app, &err);
		return true;
	}
	if (slash_show(r, line, COLUMNS, &shown) || !s) {
		fwrite(shown.ptr, 1, shown.len, stderr);
		buf_release(&shown);
		return true;
	}
	goes_on = run_command(r, s, split_words(s, rest, words), words);
	free_words(words);
	if (r->shell_note)
		buf_adds(told, r->shell_note);
	free(r->shell_note);
	r->shell_note = NULL;
	if (r->next || r->switched != switched)
		update_model_notes(r->next ? r->next : r, switched, told);
	chat_enter(r->next ? r->next : r);
	return goes_on;
}

bool slash_has_arguments(const struct app *app, struct str command)
{
	const struct slash_command *s = find_command(app, command);

	return s && (s->list || s->command);
}

void slash_list_arguments(struct run *r, struct str command, struct buf *out)
{
	const struct slash_command *s = find_command(r->app, command);

	if (s && s->list)
		s->list(r, out);
	else if (s && s->command)
		slash_list_subcommands(s->command, out);
}

/* Returns the number of built-in skills and adds the bytes of their names to
 * *texts. */
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

static struct str append_joined(char **at, const char *a, const char *b)
{
	struct str whole = { *at, strlen(a) + strlen(b) };

	memcpy(*at, a, strlen(a));
	memcpy(*at + strlen(a), b, strlen(b));
	*at += whole.len;
	return whole;
}

size_t slash_list(const struct app *app, const struct skills *skills,
		  struct fuzzy_item **list)
{
	size_t n_commands = count_commands(app);
	size_t n = skills ? skills->n : 0;
	size_t texts = skills ? skill_texts(skills) : 0;
	size_t n_builtins = count_builtins(&texts);
	size_t all = n_commands + n_builtins + n;
	struct fuzzy_item *item;
	char *at;

	/* One allocation: the items, followed by their texts. */
	*list = xcalloc(1, all * sizeof(**list) + texts);
	at = (char *)(*list + all);
	for (size_t i = 0; i < n_commands; i++)
		(*list)[i] = (struct fuzzy_item){
			.name = str_of(app->slash[i].name),
			.alias = str_of(app->slash[i].aliases),
			.args = str_of(app->slash[i].args),
			.summary = str_of(app->slash[i].summary),
			.opens_list = app->slash[i].opens_list,
			.acts = app->slash[i].acts,
		};
	item = *list + n_commands;
	for (size_t i = 0; i < n_builtins; i++, item++) {
		item->name = append_joined(&at, "/", skill_builtins[i].name);
		item->summary = str_of(skill_builtins[i].description);
		item->acts = true; /* the model gets a request */
	}
	for (size_t i = 0; i < n; i++, item++) {
		const struct skill *s = &skills->list[i];

		item->name = append_joined(&at, skill_prefix, s->name);
		item->summary = append_joined(&at, s->description, "");
		item->acts = true;
	}
	return all;
}

enum {
	COLUMN = 29,
	LIST_MOST = 1 << 12, /* bytes */
	NARROW = 60, /* columns; below this width the summary is on its own line
		      */
};

/* Appends text wrapped to columns, each line indented. at: the column at the
 * end of out; from the indent on, the text begins on a new line. */
static void add_wrapped(struct buf *out, struct str text, size_t at,
			size_t indent, size_t columns)
{
	struct str word;

	if (at && at >= indent) {
		buf_addc(out, '\n');
		at = 0;
	}
	for (; at < indent; at++)
		buf_addc(out, ' ');
	while (str_split(&text, ' ', &word)) {
		if (at > indent && at + 1 + word.len > columns) {
			buf_addc(out, '\n');
			for (at = 0; at < indent; at++)
				buf_addc(out, ' ');
		} else if (at > indent) {
			buf_addc(out, ' ');
			at++;
		}
		buf_addstr(out, word);
		at += word.len;
	}
	buf_addc(out, '\n');
}

static void add_help(const struct slash_command *s, size_t columns,
		     struct buf *out)
{
	size_t indent = columns < NARROW ? 6 : COLUMN;
	size_t begin = out->len;

	buf_addf(out, "  %s%s%s%s%s", s->name, s->aliases ? " " : "",
		 s->aliases ? s->aliases : "", s->args ? " " : "",
		 s->args ? s->args : "");
	add_wrapped(out, str_of(s->summary), out->len - begin, indent, columns);
}

void slash_add_usage(const struct app *app, const char *name, size_t columns,
		     struct buf *out)
{
	name += name[0] == '/';
	for (const struct slash_command *s = app->slash; s->name; s++)
		if (!strcmp(s->name + 1, name))
			add_help(s, columns, out);
}

/* Appends a help topic as plain text. The chat with a screen shows manual pages
 * itself. */
static void add_topic(const struct app *app, const char *topic, size_t columns,
		      struct buf *out)
{
	const struct manual_page *page = manual_find(topic);
	struct buf list = BUF_INIT(LIST_MOST);
	struct rows rows = { 0 };
	struct error err = { 0 };
	size_t before = out->len;
	struct theme theme;

	slash_add_usage(app, topic, columns, out);
	if (page) {
		theme_init(&theme);
		manual_render(page,
			      &(struct manual_look){ &theme, columns, "/help" },
			      &rows);
		rows_close(&rows);
		buf_adds(out, out->len > before ? "\n" : "");
	} else if (out->len == before) {
		manual_unknown(topic, app->commands, &err);
		manual_add_topics(&list);
		buf_addf(out, "%s\n", err.message);
		add_wrapped(out, buf_str(&list), 0, 0, columns);
	}
	for (size_t i = 0; i < rows.n; i++) {
		buf_addstr(out, rows_view(&rows, i).bytes);
		buf_addc(out, '\n');
	}
	rows_release(&rows);
	buf_release(&list);
}

void slash_list_topics(struct run *r, struct buf *out)
{
	(void)r;
	for (const struct manual_page *p = manual_pages; p->name; p++) {
		struct str summary = manual_summary(p);

		buf_addf(out, "%s\t%.*s\n", p->name, (int)summary.len,
			 summary.ptr);
	}
}

void slash_cmd_help(struct run *r, int n, char **words, size_t columns,
		    struct buf *out)
{
	static const char *const titles[N_GROUPS] = {
		[GROUP_TALK] = "Conversation",
		[GROUP_SANDBOX] = "Sandbox and files",
		[GROUP_SETTINGS] = "Settings",
		[GROUP_CHAT] = "Chat",
	};
	struct buf list = BUF_INIT(LIST_MOST);

	if (n) {
		add_topic(r->app, words[0], columns, out);
		return;
	}
	add_wrapped(out,
		    STR("Type a message and press Enter. A line that ends in "
			"\\ continues on the next one. Ctrl-C interrupts."),
		    0, 0, columns);
	if (r->theme)
		add_wrapped(
			out,
			STR("Esc stops the agent, Ctrl-R searches earlier "
			    "messages, Ctrl-X opens an editor, Ctrl-O lists "
			    "the tool calls, Shift-Tab changes the mode, @ "
			    "names a file, !COMMAND runs a command, !!COMMAND "
			    "runs it without telling the model."),
			0, 0, columns);
	for (int group = 0; group < N_GROUPS; group++) {
		buf_addf(out, "%s\n", titles[group]);
		for (const struct slash_command *s = r->app->slash; s->name;
		     s++)
			if ((int)s->group == group)
				add_help(s, columns, out);
	}
	manual_add_topics(&list);
	buf_adds(out, "Manual (/help TOPIC)\n");
	add_wrapped(out, buf_str(&list), 0, 2, columns);
	buf_release(&list);
}

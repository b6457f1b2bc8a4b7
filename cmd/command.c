/* command.c - runs one command and prints its usage and help. */
/* SPDX-License-Identifier: MIT */

/*
 * A command is a row with subcommands (command.h). Most functions here work on
 * one such row. command_find(), command_resolve() and command_name_owners()
 * search all rows, which their caller passes. The table of all rows is in
 * table.c. Begin reading at command_run().
 */
#include "cmd/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/options.h"
#include "cmd/reference.h"
#include "ui/streams.h"

enum { SUMMARY_COLUMN = 10 };

static bool has_alias(const struct subcommand *sub, const char *name)
{
	struct str rest = str_of(sub->aliases);
	struct str alias;

	while (str_split(&rest, ' ', &alias))
		if (alias.len && str_is(alias, name))
			return true;
	return false;
}

const struct subcommand *command_sub(const struct command *c, const char *name)
{
	name = name ? name : "";
	for (const struct subcommand *s = c->subs; s->name; s++)
		if (!strcmp(s->name, name) || has_alias(s, name))
			return s;
	return NULL;
}

const struct command *command_find(const struct command *const *all,
				   const char *name)
{
	for (size_t i = 0; all[i]; i++)
		if (!strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}

/* Counts the words of a line that are neither options nor their values. own are
 * the options that are known besides the global ones. Returns -1 if the line
 * has other options. */
static int count_words(int argc, char **argv, const struct arg_row *own)
{
	struct args args;
	struct error ignored = { 0 };
	int rc = args_parse(&args, options_global, own, argc, argv, &ignored);
	int n = args.argc;

	args_release(&args);
	return rc < 0 ? -1 : n;
}

/* True if the last word of the line is its nth word that is neither an option
 * nor an option's value. The values depend on the subcommand, so one subcommand
 * of c for which this holds is enough. */
static bool is_nth_word(const struct command *c, int n, int argc, char **argv)
{
	for (const struct subcommand *s = c->subs; s->name; s++)
		if (count_words(argc, argv, s->options) == n)
			return true;
	return false;
}

/* Returns the subcommand that the nth word of the line names. Otherwise the
 * subcommand without a name, or NULL if c has none. */
static const struct subcommand *find_sub(const struct command *c, int n,
					 int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		const struct subcommand *s = command_sub(c, argv[i]);

		if (s && argv[i][0] &&
		    count_words(i + 1, argv, s->options) == n)
			return s;
	}
	return command_sub(c, NULL);
}

/* Appends the command as the user types it: "sandbox rm", "config". */
static void add_title(struct buf *out, const struct command *c,
		      const struct subcommand *sub)
{
	buf_addf(out, "%s%s%s", c->name, sub->name[0] ? " " : "", sub->name);
}

static void print_usage(const struct command *c, const struct subcommand *sub,
			const char *lead)
{
	size_t sub_len = strlen(sub->name);
	size_t title = strlen(c->name) + (sub_len ? 1 + sub_len : 0);
	struct buf line = BUF_INIT(1 << 12);
	int at;

	command_usage(&line, c, sub);
	at = printf("%s dcode %.*s", lead, (int)title, line.ptr);
	if (line.len > title)
		args_text(stdout, line.ptr + title + 1, at, at + 1);
	else
		putchar('\n');
	buf_release(&line);
}

static void print_options(const struct subcommand *sub)
{
	if (sub->name[0]) {
		int at = printf("\n%s", sub->name);

		args_text(stdout, sub->summary ? sub->summary : "", at,
			  SUMMARY_COLUMN);
	} else if (sub->options) {
		puts("\nOptions:");
	}
	if (sub->options)
		args_help(stdout, sub->options);
}

static void print_subcommand(const struct command *c,
			     const struct subcommand *sub)
{
	print_usage(c, sub, "usage:");
	putchar('\n');
	args_text(stdout, sub->summary ? sub->summary : c->summary, 0, 0);
	if (sub->options) {
		puts("\nOptions:");
		args_help(stdout, sub->options);
	}
}

/* Prints the usage of all subcommands, the summary, then the options of
 * each. */
int command_help(const struct command *c, const struct subcommand *sub)
{
	const char *lead = "usage:";

	if (sub && sub->name[0]) {
		print_subcommand(c, sub);
		return 0;
	}
	for (const struct subcommand *s = c->subs; s->name; s++) {
		print_usage(c, s, lead);
		lead = "      ";
	}
	putchar('\n');
	args_text(stdout, c->summary, 0, 0);
	for (const struct subcommand *s = c->subs; s->name; s++)
		print_options(s);
	if (c->topic)
		printf("\nMore: dcode help %s\n", c->topic);
	return 0;
}

/* Checks the number of arguments, then runs the subcommand. */
static int run_checked(struct app *app, const struct command *c,
		       const struct subcommand *sub, const struct args *args)
{
	struct buf title = BUF_INIT(256);
	int rc;

	add_title(&title, c, sub);
	if (args->argc < sub->least) {
		rc = command_misuse(c, sub->name, "%s needs %s", title.ptr,
				    sub->args);
	} else if (sub->most >= 0 && args->argc > sub->most) {
		rc = sub->flags & SUB_SECRET
			     ? command_misuse(c, sub->name,
					      "do not put a key on the command "
					      "line: other users could see it")
			     : command_misuse(c, sub->name,
					      "unexpected argument: %s",
					      args->argv[sub->most]);
	} else {
		rc = sub->run(app, args);
	}
	buf_release(&title);
	return rc;
}

int command_run(struct app *app, const struct command *c,
		const struct subcommand *sub, const struct args *args)
{
	const char *word = args->argc ? args->argv[0] : NULL;
	bool several = !sub || sub != c->subs || sub[1].name;
	struct args rest = *args;

	if (!sub && !word)
		return command_help(c, NULL);
	if (!sub || (several && word && command_sub(c, word) != sub))
		return command_no_sub(c, word);
	if (several && word) {
		rest.argc--;
		rest.argv++;
	}
	return run_checked(app, c, sub, &rest);
}

/* --json in the line applies to this command only, not to the chat. */
int command_run_words(struct app *app, const struct command *c, int argc,
		      char **argv)
{
	const struct subcommand *sub = find_sub(c, 1, argc, argv);
	bool json = app->json;
	struct args args;
	struct error err = { 0 };
	int status;

	if (args_parse(&args, sub ? sub->options : NULL, NULL, argc, argv,
		       &err) < 0) {
		status = command_refuse(c, sub ? sub->name : NULL, &err);
	} else {
		app->json = args_flag(&args, "json");
		status = command_run(app, c, sub, &args);
		app->json = json;
	}
	args_release(&args);
	return status;
}

int command_run_at_terminal(struct app *app, const struct command *c, int argc,
			    char **argv)
{
	int status;

	app_borrow_terminal(app);
	status = command_run_words(app, c, argc, argv);
	fflush(stdout);
	app_return_terminal(app);
	return status;
}

static void add_option_usage(struct buf *out, const struct arg_row *rows)
{
	for (const struct arg_row *r = rows; r && r->name; r++) {
		if (!r->help)
			continue;
		if (r->letter)
			buf_addf(out, " [-%c", r->letter);
		else
			buf_addf(out, " [--%s", r->name);
		buf_addf(out, "%s%s]", r->metavar ? " " : "",
			 r->metavar ? r->metavar : "");
	}
}

/* Options are placed before the "--" of "ID -- COMMAND", because none are
 * parsed after it. */
void command_usage(struct buf *out, const struct command *c,
		   const struct subcommand *sub)
{
	struct str args = str_of(sub->args);
	size_t dashes = str_search(args, STR("-- "));

	struct str before = str_trim((struct str){ args.ptr, dashes });

	add_title(out, c, sub);
	if (before.len)
		buf_addf(out, " %.*s", (int)before.len, before.ptr);
	add_option_usage(out, sub->options);
	if (dashes < args.len)
		buf_addf(out, " %s", args.ptr + dashes);
}

/* Appends the usage of the subcommand name or, if it is unknown, the names of
 * all subcommands. */
static void add_usage(struct buf *out, const struct command *c,
		      const char *name)
{
	const struct subcommand *sub = command_sub(c, name);
	const char *between = " ";

	if (sub) {
		command_usage(out, c, sub);
		return;
	}
	buf_adds(out, c->name);
	for (sub = c->subs; sub->name; sub++) {
		if (!sub->name[0])
			continue;
		buf_addf(out, "%s%s", between, sub->name);
		between = "|";
	}
	buf_adds(out, " ...");
}

/* Prints usage, error, hint and manual page on stderr. */
int command_refuse(const struct command *c, const char *sub,
		   const struct error *err)
{
	struct buf text = BUF_INIT(1 << 12);

	buf_adds(&text, "usage: dcode ");
	if (c)
		add_usage(&text, c, sub);
	else
		buf_adds(&text, "[options] [COMMAND ...]");
	buf_adds(&text, "\ndcode: error: ");
	sanitize_message(str_of(err->message), &text);
	if (err->hint[0]) {
		buf_addc(&text, '\n');
		sanitize_message(str_of(err->hint), &text);
	}
	if (err->topic)
		buf_addf(&text, "\nMore: dcode help %s", err->topic);
	output_line(buf_str(&text));
	buf_release(&text);
	return 2;
}

int command_misuse(const struct command *c, const char *sub, const char *fmt,
		   ...)
{
	struct error err = { 0 };
	char line[sizeof(err.message)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	error_set(&err, ERR_USAGE, "%s", line);
	return command_refuse(c, sub, &err);
}

int command_no_sub(const struct command *c, const char *word)
{
	struct error err = { 0 };
	char name[64];

	snprintf(name, sizeof(name), "%s %s", c->name, word);
	if (reference_command(name, &err))
		return command_refuse(c, NULL, &err);
	return command_misuse(c, word, "unknown command '%s %s'", c->name,
			      word);
}

void command_resolve(const struct command *const *all, int argc, char **argv,
		     const struct command **c, const struct subcommand **sub)
{
	*c = NULL;
	*sub = NULL;
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const struct command *found = command_find(all, argv[i]);

		if (!found || !is_nth_word(found, 1, i + 1, argv))
			continue;
		*c = found;
		*sub = find_sub(found, 2, argc, argv);
		return;
	}
}

/* Sets the hint to a list of all subcommands that have this option. */
void command_name_owners(const struct command *const *all, const char *option,
			 struct error *err)
{
	struct buf names = BUF_INIT(400);

	for (size_t i = 0; all[i]; i++) {
		const struct subcommand *s = all[i]->subs;

		for (; s->name; s++) {
			const struct arg_row *r = args_row(s->options, option);

			if (!r || !r->help)
				continue;
			buf_adds(&names, names.len ? ", dcode " : "dcode ");
			add_title(&names, all[i], s);
		}
	}
	if (names.len)
		error_hint(err, "--%s is an option of %s", option, names.ptr);
	buf_release(&names);
}

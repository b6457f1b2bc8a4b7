/* help.c - dcode help: prints options, commands and pages, as text or JSON. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at run_help(). Its word is a command or a page of the manual;
 * if it is both, the command's usage is printed before the page.
 * scripts/docs/gendocs.py makes man pages and completions from
 * command_help_json().
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/json.h"
#include "base/str.h"
#include "cmd/appearance.h"
#include "cmd/command.h"
#include "cmd/manual.h"
#include "cmd/options.h"
#include "cmd/pager.h"
#include "model/catalog.h"
#include "model/presets.h"
#include "providers/registry.h"
#include "term/theme.h"

enum {
	TOPIC_COLUMN = 15,
	USAGE_COLUMN = 39,
	TOPICS_COLUMN = 10, /* indent of further lines of topics */
	COLUMNS = 80,       /* page width if stdout is not a terminal */
	COLUMNS_MOST = 100, /* maximum width: longer lines are hard to read */
	PAGE_MOST = 4 << 20,
};

static void add_option(struct buf *out, const struct arg_row *r)
{
	char letter[2] = { r->letter, '\0' };

	buf_addc(out, '{');
	json_member(out, "name", str_of(r->name));
	buf_addc(out, ',');
	json_member(out, "letter", str_of(letter));
	buf_addc(out, ',');
	json_member(out, "value", str_of(r->metavar ? r->metavar : ""));
	buf_addf(out, ",\"value_optional\":%s,",
		 r->kind == ARG_OPTIONAL ? "true" : "false");
	json_member(out, "help", str_of(r->help));
	buf_addc(out, '}');
}

static void add_options(struct buf *out, const char *key,
			const struct arg_row *rows)
{
	const char *between = "";

	buf_addf(out, ",\"%s\":[", key);
	for (; rows && rows->name; rows++) {
		if (!rows->help)
			continue;
		buf_adds(out, between);
		add_option(out, rows);
		between = ",";
	}
	buf_addc(out, ']');
}

static void add_usage(struct buf *out, const struct command *c,
		      const struct subcommand *sub)
{
	struct buf usage = BUF_INIT(1 << 12);

	command_usage(&usage, c, sub);
	json_member(out, "usage", buf_str(&usage));
	buf_addc(out, ',');
	json_member(out, "args", str_of(sub->args));
	buf_release(&usage);
}

/* Appends the names that a TYPE or PROVIDER argument can have. */
static void add_names(struct buf *out)
{
	buf_adds(out, ",\"sandboxes\":[");
	for (size_t i = 0; sandbox_providers[i]; i++) {
		buf_adds(out, i ? "," : "");
		json_quote(out, str_of(sandbox_providers[i]->name));
		if (sandbox_providers[i]->also) {
			buf_addc(out, ',');
			json_quote(out, str_of(sandbox_providers[i]->also));
		}
	}
	buf_adds(out, "],\"models\":[");
	for (const struct preset *p = presets; p->name; p++) {
		buf_adds(out, p == presets ? "" : ",");
		json_quote(out, str_of(p->name));
	}
	buf_addc(out, ']');
}

/* Adds a model's name, after its short name if it has one. */
static void add_known(void *arg, const char *provider, const char *model,
		      const struct model_facts *facts)
{
	struct str word = short_name_of(provider, model);
	struct buf *out = arg;

	(void)facts;
	buf_adds(out, str_ends(buf_str(out), "[") ? "" : ",");
	if (word.len) {
		json_quote(out, word);
		buf_addc(out, ',');
	}
	json_quote(out, str_of(model));
}

/* Appends the models of the built-in table, for completion. */
static void add_models(struct buf *out)
{
	buf_adds(out, ",\"known_models\":[");
	model_facts_each(NULL, add_known, out);
	buf_addc(out, ']');
}

static void add_topic(struct buf *out, const struct manual_page *page)
{
	buf_addc(out, '{');
	json_member(out, "name", str_of(page->name));
	buf_addf(out, ",\"section\":%d,", manual_section(page));
	json_member(out, "summary", manual_summary(page));
}

static void add_topics(struct buf *out)
{
	buf_adds(out, ",\"topics\":[");
	for (const struct manual_page *p = manual_pages; p->name; p++) {
		buf_adds(out, p == manual_pages ? "" : ",");
		add_topic(out, p);
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
}

static void add_subcommand(struct buf *out, const struct command *c,
			   const struct subcommand *sub)
{
	buf_addc(out, '{');
	json_member(out, "name", str_of(sub->name));
	buf_addc(out, ',');
	json_member(out, "summary", str_of(sub->summary));
	buf_addc(out, ',');
	add_usage(out, c, sub);
	add_options(out, "options", sub->options);
	buf_addc(out, '}');
}

/* Appends a command as JSON. The usage and options of its subcommand without a
 * name become members of the command. */
static void add_command(struct buf *out, const struct command *c)
{
	const struct subcommand *bare = command_sub(c, NULL);
	const char *between = "";

	buf_addc(out, '{');
	json_member(out, "name", str_of(c->name));
	buf_addc(out, ',');
	json_member(out, "summary", str_of(c->summary));
	buf_addc(out, ',');
	if (bare)
		add_usage(out, c, bare);
	else
		json_member(out, "usage", str_of(""));
	add_options(out, "options", bare ? bare->options : NULL);
	buf_adds(out, ",\"subcommands\":[");
	for (const struct subcommand *s = c->subs; s->name; s++) {
		if (!s->name[0])
			continue;
		buf_adds(out, between);
		add_subcommand(out, c, s);
		between = ",";
	}
	buf_adds(out, "]}");
}

/* c NULL: prints all commands, options, provider names and topics. */
int command_help_json(const struct command *const *all, const struct command *c)
{
	struct buf data = BUF_INIT(1 << 20);

	if (c) {
		add_command(&data, c);
	} else {
		buf_adds(&data, "{\"commands\":[");
		for (size_t i = 0; all[i]; i++) {
			buf_adds(&data, i ? "," : "");
			add_command(&data, all[i]);
		}
		buf_addc(&data, ']');
		add_options(&data, "options", options_global);
		add_options(&data, "run_options", options_run);
		add_names(&data);
		add_models(&data);
		add_topics(&data);
		buf_adds(&data, ",\"version\":\"" DCODE_VERSION "\"}");
	}
	app_envelope("help", &data);
	buf_release(&data);
	return 0;
}

static size_t page_columns(void)
{
	struct winsize size = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col)
		return COLUMNS;
	return size.ws_col < COLUMNS_MOST ? size.ws_col : COLUMNS_MOST;
}

/* Renders one page for the width of the terminal. Uses colours only if the
 * pager can show them. */
static void print_page(struct app *app, const struct manual_page *page,
		       size_t columns, bool colours)
{
	struct error ignored = { 0 };
	struct buf text = BUF_INIT(PAGE_MOST);
	struct settings *set;
	struct rows rows = { 0 };
	struct theme theme;

	theme_init(&theme);
	if (colours && app_settings(app, &set, &ignored) == 0)
		appearance_load(app, &theme, NULL);
	theme.links = false; /* few pagers support hyperlinks */
	manual_render(page,
		      &(struct manual_look){ &theme, columns, "dcode help" },
		      &rows);
	rows_close(&rows);
	for (size_t i = 0; i < rows.n; i++) {
		if (colours)
			theme_row(&theme, &rows, i, SIZE_MAX, &text);
		else
			buf_addstr(&text, rows_view(&rows, i).bytes);
		buf_addc(&text, '\n');
	}
	fwrite(text.ptr, 1, text.len, stdout);
	buf_release(&text);
	rows_release(&rows);
}

/* Shows the page in the pager. If a command has the page's name, its usage
 * comes first. Without a usable pager prints directly. */
static int show_page(struct app *app, const struct command *c,
		     const struct manual_page *page)
{
	size_t columns = page_columns();
	struct pager_output pager;
	bool shown = false;

	for (int again = 0; again < 2 && !shown; again++) {
		pager_begin(&pager, !again);
		if (c) {
			command_help(c, NULL);
			putchar('\n');
		}
		print_page(app, page, columns, pager.colours);
		shown = pager_end(&pager);
	}
	return 0;
}

static void add_member(struct buf *out, const char *name, const char *text)
{
	buf_addc(out, ',');
	json_member(out, name, str_of(text));
}

/* Appends one setting as JSON. */
static void add_setting(struct buf *out, const char *group,
			const struct setting *row)
{
	char key[160];

	if (row->flags & SETTING_ENV_ONLY)
		return;
	snprintf(key, sizeof(key), "%s%s%s%s",
		 group ? "sandboxes.providers." : "", group ? group : "",
		 group ? ".params." : "", row->key);
	buf_adds(out, out->ptr[out->len - 1] == '}' ? ",{" : "{");
	json_member(out, "key", str_of(key));
	add_member(out, "type", setting_type_name(row->type));
	add_member(out, "unit", row->unit);
	add_member(out, "default", row->fallback);
	add_member(out, "example", row->example);
	buf_adds(out, ",\"env\":\"");
	if (row->env && row->flags & SETTING_PREFIX_ONLY)
		buf_adds(out, "DEEPAGENTS_CODE_");
	buf_addf(out, "%s\"", row->env ? row->env : "");
	add_member(out, "help", row->help);
	buf_addc(out, '}');
}

/* Appends every setting of config.toml. scripts/docs/gentoml.py reads this. */
static void add_settings(struct buf *out)
{
	buf_adds(out, ",\"settings\":[");
	for (const struct setting *row = settings_core; row->key; row++)
		add_setting(out, NULL, row);
	for (size_t i = 0; sandbox_providers[i]; i++)
		for (const struct setting *row = sandbox_providers[i]->settings;
		     row && row->key; row++)
			add_setting(out, sandbox_providers[i]->name, row);
	for (const struct setting_key *k = settings_keys; k->key; k++) {
		buf_addf(out, ",{\"key\":\"%s.%s\"", k->table, k->key);
		add_member(out, "type", k->type);
		add_member(out, "unit", k->unit);
		add_member(out, "default", k->fallback);
		add_member(out, "example", k->example);
		add_member(out, "env", "");
		add_member(out, "help", k->help);
		buf_addc(out, '}');
	}
	buf_addc(out, ']');
}

static int page_json(const struct manual_page *page)
{
	struct buf data = BUF_INIT(PAGE_MOST);

	add_topic(&data, page);
	buf_addc(&data, ',');
	json_member(&data, "text",
		    (struct str){ (const char *)page->text, page->len });
	if (!strcmp(page->name, "toml"))
		add_settings(&data);
	buf_addc(&data, '}');
	app_envelope("help", &data);
	buf_release(&data);
	return 0;
}

static int refuse_topic(const struct command *const *all, const char *word)
{
	struct buf list = BUF_INIT(PAGE_MOST);
	struct error err = { 0 };
	int status;

	manual_unknown(word, all, &err);
	status = command_refuse(&command_help_all, NULL, &err);
	manual_add_topics(&list);
	args_text(stderr, list.ptr ? list.ptr : "", fprintf(stderr, "Topics:"),
		  TOPICS_COLUMN);
	fputs("`dcode help` lists the commands.\n", stderr);
	buf_release(&list);
	return status;
}

static void list_topics(void)
{
	puts("\nTopics (dcode help TOPIC):");
	for (const struct manual_page *p = manual_pages; p->name; p++) {
		struct str summary = manual_summary(p);
		char line[160];

		snprintf(line, sizeof(line), "%.*s", (int)summary.len,
			 summary.ptr);
		args_text(stdout, line, printf("  %s", p->name), TOPIC_COLUMN);
	}
}

/* Shows a page, a command's help or, without arguments, the overview. */
static int run_help(struct app *app, const struct args *args)
{
	const char *word = args->argc ? args->argv[0] : NULL;
	const struct command *c =
		word ? command_find(app->commands, word) : NULL;
	const struct manual_page *page = word ? manual_find(word) : NULL;
	const struct subcommand *sub = NULL;

	if (word && !c && !page)
		return refuse_topic(app->commands, word);
	if (args->argc > 1) {
		sub = c ? command_sub(c, args->argv[1]) : NULL;
		if (!c)
			return command_misuse(&command_help_all, NULL,
					      "unexpected argument: %s",
					      args->argv[1]);
		if (!sub)
			return command_no_sub(c, args->argv[1]);
	}
	if (app->json)
		return c || !page ? command_help_json(app->commands, c)
				  : page_json(page);
	if (page && !sub)
		return show_page(app, c, page);
	if (c)
		return command_help(c, sub);
	args_text(stdout, "chat in this directory",
		  printf("usage: dcode [options]"), USAGE_COLUMN);
	args_text(stdout, "one task, then exit",
		  printf("       dcode -n TEXT [options]"), USAGE_COLUMN);
	args_text(stdout, "the same with piped text",
		  printf("       some-command | dcode [options]"),
		  USAGE_COLUMN);
	puts("       dcode COMMAND [options]\n\nCommands:");
	for (size_t i = 0; app->commands[i]; i++)
		args_text(stdout, app->commands[i]->summary,
			  printf("  %s", app->commands[i]->name), 13);
	puts("\nOptions:");
	args_help(stdout, options_global);
	args_help(stdout, options_run);
	putchar('\n');
	args_text(stdout,
		  "Exit status: 0 done, 1 error, 2 wrong usage; for a task "
		  "also 3 no answer, 4 all calls refused, 5 one call kept "
		  "failing; 78 forbidden by the policy of this machine, 124 "
		  "--timeout, --max-turns or --max-usd reached, 130 Ctrl-C, "
		  "141 the reader of the output is gone, 128+N signal N.",
		  0, 0);
	args_text(stdout,
		  "Configuration: ~/.deepagents/config.toml; see dcode config.",
		  0, 0);
	list_topics();
	return 0;
}

static int run_version(struct app *app, const struct args *args)
{
	struct buf data = BUF_INIT(256);

	(void)args;
	if (!app->json) {
		puts("dcode " DCODE_VERSION);
		return 0;
	}
	buf_adds(&data, "{\"version\":\"" DCODE_VERSION "\"}");
	app_envelope("version", &data);
	buf_release(&data);
	return 0;
}

static const struct arg_row json_option[] = { ARG_JSON, { 0 } };

static const struct subcommand help_subs[] = {
	{ .name = "",
	  .args = "[COMMAND [SUBCOMMAND]|TOPIC]",
	  .options = json_option,
	  .most = 2,
	  .flags = SUB_EXPLAINS,
	  .run = run_help },
	{ 0 },
};

const struct command command_help_all = {
	.name = "help",
	.summary = "Show this help, a command's, or a page of the manual",
	.subs = help_subs,
};

static const struct subcommand version_subs[] = {
	{ .name = "",
	  .options = json_option,
	  .flags = SUB_EXPLAINS,
	  .run = run_version },
	{ 0 },
};

const struct command command_version = {
	.name = "version",
	.summary = "Print the version",
	.subs = version_subs,
};

/* help.c - dcode help: the tables of options and commands, for people or not.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "cmd/command.h"
#include "cmd/options.h"

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

static void add_options(struct buf *out, const struct arg_row *rows)
{
	const char *between = "";

	buf_adds(out, ",\"options\":[");
	for (; rows && rows->name; rows++) {
		if (!rows->help)
			continue;
		buf_adds(out, between);
		add_option(out, rows);
		between = ",";
	}
	buf_addc(out, ']');
}

static void add_command(struct buf *out, const struct command *c)
{
	buf_addc(out, '{');
	json_member(out, "name", str_of(c->name));
	buf_addc(out, ',');
	json_member(out, "summary", str_of(c->summary));
	buf_addc(out, ',');
	json_member(out, "usage", str_of(c->usage ? c->usage : ""));
	add_options(out, c->options);
	buf_addc(out, '}');
}

int command_help_json(const struct command *c)
{
	struct buf data = BUF_INIT(1 << 20);

	if (c) {
		add_command(&data, c);
	} else {
		buf_adds(&data, "{\"commands\":[");
		for (size_t i = 0; commands[i]; i++) {
			buf_adds(&data, i ? "," : "");
			add_command(&data, commands[i]);
		}
		buf_addc(&data, ']');
		add_options(&data, options_global);
		buf_addc(&data, '}');
	}
	app_envelope("help", &data);
	buf_release(&data);
	return 0;
}

static int run_help(struct app *app, const struct args *args)
{
	const struct command *c = NULL;

	if (args->argc) {
		c = command_find(args->argv[0]);
		if (!c)
			return command_misuse(&command_help_all, NULL,
					      "there is no command '%s'",
					      args->argv[0]);
	}
	if (app->json)
		return command_help_json(c);
	if (c)
		return command_help(c);
	puts("usage: dcode [options]                 chat in this directory\n"
	     "       dcode -n TEXT [options]         one task, then exit\n"
	     "       some-command | dcode [options]  the same with piped text\n"
	     "       dcode COMMAND [options]\n"
	     "\nCommands:");
	for (size_t i = 0; commands[i]; i++)
		args_text(stdout, commands[i]->summary,
			  printf("  %s", commands[i]->name), 13);
	puts("\nOptions:");
	args_help(stdout, options_global);
	puts("\nExit status: 0 done, 1 error, 2 wrong use, 78 the policy of "
	     "the\n"
	     "machine, 124 --timeout or --max-turns, 130 Ctrl-C, 141 nobody\n"
	     "reads the output, 128+N signal N.\n"
	     "Configuration: ~/.deepagents/config.toml; see dcode config.");
	return 0;
}

const struct command command_help_all = {
	.name = "help",
	.summary = "This help, or a command's",
	.usage = "[COMMAND] [--json]",
	.run = run_help,
};

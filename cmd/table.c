/* table.c - the subcommands, and what is said about them. */
/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clean.h"
#include "base/str.h"
#include "cmd/command.h"
#include "cmd/options.h"

const struct command *const commands[] = {
	&command_auth,    &command_config,
	&command_doctor,  &command_help_all,
	&command_install, &command_provider,
	&command_sandbox, &command_uninstall,
	&command_version, NULL,
};

const struct command *command_find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

/* Each line of usage after "dcode NAME". */
static void print_usage(FILE *out, const struct command *c)
{
	const char *line = c->usage ? c->usage : "";
	const char *lead = "usage:";

	do {
		int len = (int)strcspn(line, "\n");

		fprintf(out, "%s dcode %s%s%.*s\n", lead, c->name,
			len ? " " : "", len, line);
		line += len;
		line += *line == '\n';
		lead = "      ";
	} while (*line);
}

int command_misuse(const struct command *c, const char *fmt, ...)
{
	struct buf text = BUF_INIT(1 << 12);
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	clean_line(str_of(line), &text);
	print_usage(stderr, c);
	fprintf(stderr, "dcode: error: %s\n", text.len ? text.ptr : "");
	buf_release(&text);
	return 2;
}

int command_help(const struct command *c)
{
	print_usage(stdout, c);
	putchar('\n');
	args_text(stdout, c->summary, 0, 0);
	if (c->options) {
		puts("\nOptions:");
		args_help(stdout, c->options);
	}
	return 0;
}

static int run_version(struct app *app, const struct args *args)
{
	if (args->argc)
		return command_misuse(&command_version,
				      "unrecognized arguments: %s",
				      args->argv[0]);
	if (app->json) {
		struct buf data = BUF_INIT(256);

		buf_adds(&data, "{\"version\":\"" DCODE_VERSION "\"}");
		app_envelope("version", &data);
		buf_release(&data);
		return 0;
	}
	puts("dcode " DCODE_VERSION);
	return 0;
}

const struct command command_version = {
	.name = "version",
	.summary = "Print the version",
	.usage = "[--json]",
	.run = run_version,
};

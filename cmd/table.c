/* table.c - the subcommands, and what is said about them. */
/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/sanitize.h"
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

/* The usage of a line without what explains it. */
static int usage_len(const char *line)
{
	int len = (int)strcspn(line, "\n");

	for (int i = 0; i + 1 < len; i++)
		if (line[i] == ' ' && line[i + 1] == ' ')
			return i;
	return len;
}

/* How long the subcommand's name is that a line begins with; 0: it has none. */
static size_t name_len(const char *line)
{
	size_t n = strspn(line, "abcdefghijklmnopqrstuvwxyz");

	return line[n] == ' ' || line[n] == '\n' || !line[n] ? n : 0;
}

/* The line that is about sub, or names of all there are, or the first. */
static void add_usage(struct buf *out, const char *usage, const char *sub)
{
	struct buf names = BUF_INIT(400);

	if (sub && !strcmp(sub, "ls"))
		sub = "list";
	for (const char *line = usage; *line;
	     line += strcspn(line, "\n"), line += *line == '\n') {
		size_t n = name_len(line);

		if (n && sub && strlen(sub) == n && !strncmp(sub, line, n)) {
			buf_addf(out, " %.*s", usage_len(line), line);
			buf_release(&names);
			return;
		}
		if (n)
			buf_addf(&names, "%s%.*s", names.len ? "|" : "", (int)n,
				 line);
	}
	if (names.len && (sub || name_len(usage)))
		buf_addf(out, " %s ...", names.ptr);
	else if (*usage)
		buf_addf(out, " %.*s", usage_len(usage), usage);
	buf_release(&names);
}

int command_refuse(const struct command *c, const char *sub,
		   const struct error *err)
{
	struct buf text = BUF_INIT(1 << 12);

	buf_adds(&text, "usage: dcode ");
	buf_adds(&text, c ? c->name : "[options] [COMMAND ...]");
	if (c && c->usage)
		add_usage(&text, c->usage, sub);
	buf_adds(&text, "\ndcode: error: ");
	sanitize_message(str_of(err->message), &text);
	if (err->hint[0]) {
		buf_addc(&text, '\n');
		sanitize_message(str_of(err->hint), &text);
	}
	fprintf(stderr, "%s\n", text.ptr);
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
		return command_misuse(&command_version, NULL,
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

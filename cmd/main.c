/* main.c - reads the command line and hands over to one command. */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/proc.h"
#include "base/str.h"
#include "cmd/command.h"
#include "cmd/options.h"
#include "cmd/policy.h"
#include "cmd/reference.h"
#include "cmd/run.h"
#include "providers/local/jail.h"

/* A standard stream that the caller closed would become our first pipe or the
 * database. Input is then at its end, writing to output fails. */
static int fill_standard_streams(void)
{
	static const int modes[] = { O_RDONLY, O_RDONLY, O_WRONLY };

	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) < 0)
			return -1;
	return 0;
}

/* The command's name is the first word that is neither an option nor an
 * option's value: found by reading the line once without its own options. */
static const struct command *which(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		struct args before;
		struct error ignored = { 0 };
		const struct command *c = command_find(argv[i]);
		int rc;
		int n;

		if (!strcmp(argv[i], "--"))
			return NULL;
		if (!c)
			continue;
		rc = args_parse(&before, options_global, NULL, i + 1, argv,
				&ignored);
		n = before.argc;
		args_release(&before);
		if (rc == 0 && n == 1)
			return c;
		if (rc < 0 || n > 1)
			return NULL;
	}
	return NULL;
}

static int help(struct app *app, const struct command *c,
		const struct args *args)
{
	if (!c)
		return command_help_all.run(app, args);
	return app->json ? command_help_json(c) : command_help(c);
}

static bool installs(const struct command *c)
{
	return c == &command_install || c == &command_uninstall;
}

/* Flags that mean nothing elsewhere. */
static int no_install(const struct args *args)
{
	if (args_flag(args, "package"))
		fputs("Error: --package requires `dcode install <package> "
		      "--package` (or the `--install <package>` alias).\n",
		      stderr);
	else
		fprintf(stderr, "Error: --%s requires `dcode install`.\n",
			args_flag(args, "yes") ? "yes" : "offline");
	return 2;
}

/* --install NAME is dcode install NAME. */
static int install(struct app *app, const struct command *c, struct args *args)
{
	struct args alike = *args;
	char *name[] = { (char *)args_value(args, "install"), NULL };

	if (c || args->argc)
		return command_misuse(&command_install, NULL,
				      "--install and a command are mutually "
				      "exclusive");
	alike.argc = 1;
	alike.argv = name;
	return command_install.run(app, &alike);
}

static int no_command(const char *name)
{
	struct error err = { 0 };

	if (!reference_command(name, &err)) {
		error_set(&err, ERR_USAGE, "there is no command '%s'", name);
		error_hint(&err, "For one task: dcode -n \"...\". All "
				 "commands: dcode help");
	}
	return command_refuse(NULL, NULL, &err);
}

/* Words before the one that is wrong say what it was meant for. */
static int refuse_line(const struct command *c, const struct args *args,
		       struct error *err)
{
	if (!c && args->argc)
		(void)reference_command(args->argv[0], err);
	return command_refuse(c, c && args->argc > 1 ? args->argv[1] : NULL,
			      err);
}

static int dispatch(struct app *app, const struct command *c, struct args *args)
{
	const char *format = args_value(args, "output-format");
	struct error err = { 0 };

	if (format && strcmp(format, "text") && strcmp(format, "stream-json")) {
		error_set(&err, ERR_USAGE,
			  "argument --output-format: invalid choice: '%s' "
			  "(choose from 'text', 'stream-json')",
			  format);
		return command_refuse(c, NULL, &err);
	}
	app->json = args_flag(args, "json") ||
		    (format && !strcmp(format, "stream-json"));
	app->quiet = args_flag(args, "quiet");
	if (args_flag(args, "version")) {
		args->argc = 0; /* whatever else there is */
		return command_version.run(app, args);
	}
	if (args_flag(args, "help"))
		return help(app, c, args);
	if (policy_check(app, c, args, &err) < 0)
		return app_fail(app, &err);
	if (args_value(args, "install"))
		return install(app, c, args);
	if (!installs(c) &&
	    (args_flag(args, "package") || args_flag(args, "yes") ||
	     args_flag(args, "offline")))
		return no_install(args);
	if (!c) {
		if (!args->argc)
			return run_chat_or_task(app, args);
		return no_command(args->argv[0]);
	}
	args->argc--;
	memmove(args->argv, args->argv + 1,
		(size_t)(args->argc + 1) * sizeof(*args->argv));
	return c->run(app, args);
}

/* Nothing may be lost unsaid: a full disk, a closed descriptor. */
static int end_output(int status)
{
	bool lost;

	errno = 0;
	lost = fflush(stdout) != 0;
	lost |= ferror(stdout) != 0;
	if (!lost || status)
		return status;
	if (errno == EPIPE)
		return STATUS_PIPE;
	fputs("Error: writing standard output failed\n", stderr);
	return 1;
}

int main(int argc, char **argv)
{
	struct app app;
	struct args args;
	struct error err = { 0 };
	const struct command *c;
	int status;

	proc_protect();
	if (fill_standard_streams() < 0)
		return 1;
	if (argc > 1 && !strcmp(argv[1], "--jail-supervisor"))
		return jail_main(argc, argv);
	if (app_init(&app, &err) < 0)
		return app_fail(&app, &err);
	c = which(argc - 1, argv + 1);
	if (args_parse(&args, options_global, c ? c->options : NULL, argc - 1,
		       argv + 1, &err) < 0)
		status = refuse_line(c, &args, &err);
	else
		status = dispatch(&app, c, &args);
	args_release(&args);
	app_release(&app);
	return end_output(status);
}

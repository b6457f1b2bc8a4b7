/* main.c - parses the command line and runs one command. */
/* SPDX-License-Identifier: MIT */
/*
 * Begin reading at main() and dispatch_line(). Some options stand for commands
 * (--install) or end the program at once (--version). run_chat_or_task()
 * (cmd/start.c) runs a line without a command.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/proc.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/command.h"
#include "cmd/credential.h"
#include "cmd/default_model.h"
#include "cmd/manual.h"
#include "cmd/options.h"
#include "cmd/policy.h"
#include "cmd/reference.h"
#include "cmd/session/mcp_servers.h"
#include "cmd/session/run.h"
#include "cmd/start.h"
#include "egress/egress.h"
#include "mcp/link.h"
#include "providers/local/jail.h"
#include "web/page.h"

/* Opens /dev/null for standard streams that the caller has closed. Otherwise
 * the first pipe or the database would get such a number, and be written to by
 * mistake. Input is empty, and output fails. */
static int fill_standard_streams(void)
{
	static const int modes[] = { O_RDONLY, O_RDONLY, O_WRONLY };

	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) < 0)
			return -1;
	return 0;
}

/* A parsed command line. */
struct line {
	const struct command *c;      /* NULL: the line names no command */
	const struct subcommand *sub; /* NULL: missing or unknown */
	struct args args;             /* first word: the command's name */
};

/* If the line does not name a command, parses it twice: first with the options
 * of dcode install, because of --install NAME, then as a run. */
static int parse_line(struct line *l, int argc, char **argv, struct error *err)
{
	const struct arg_row *own = NULL;
	int rc;

	command_resolve(commands, argc, argv, &l->c, &l->sub);
	if (l->sub)
		own = l->sub->options;
	else if (!l->c)
		own = command_install.subs->options;
	rc = args_parse(&l->args, options_global, own, argc, argv, err);
	if (l->c || args_value(&l->args, "install"))
		return rc;
	args_release(&l->args);
	*err = (struct error){ 0 };
	return args_parse(&l->args, options_global, options_run, argc, argv,
			  err);
}

static int print_help(struct app *app, const struct line *l)
{
	if (!l->c)
		return command_help_all.subs->run(app, &l->args);
	return app->json ? command_help_json(commands, l->c)
			 : command_help(l->c, l->sub);
}

/* Runs --install NAME as dcode install NAME. */
static int run_install(struct app *app, const struct line *l)
{
	struct args alike = l->args;
	char *name[] = { (char *)args_value(&l->args, "install"), NULL };

	if (l->c || l->args.argc)
		return command_misuse(&command_install, NULL,
				      "--install and a command are mutually "
				      "exclusive");
	alike.argc = 1;
	alike.argv = name;
	return command_run(app, &command_install, command_install.subs, &alike);
}

static int refuse_command(const char *name)
{
	struct error err = { 0 };

	if (!reference_command(name, &err)) {
		error_set(&err, ERR_USAGE, "unknown command '%s'", name);
		if (manual_find(name))
			error_hint(&err,
				   "There is a manual page: dcode help %s",
				   name);
		else
			error_hint(&err, "For one task: dcode -n \"...\". All "
					 "commands: dcode help");
	}
	return command_refuse(NULL, NULL, &err);
}

/* Prints why the line is wrong, and the usage of the command that it names. */
static int refuse_line(const struct line *l, struct error *err)
{
	const struct args *args = &l->args;
	const char *word = l->c && args->argc > 1 ? args->argv[1] : NULL;

	if (!l->c && args->argc)
		(void)reference_command(args->argv[0], err);
	if (args->unknown[0])
		command_name_owners(commands, args->unknown, err);
	if (word && l->c->subs[1].name && !command_sub(l->c, word))
		return command_no_sub(l->c, word);
	return command_refuse(l->c, l->sub ? l->sub->name : NULL, err);
}

/* Fails if the line names a command and has an option that only applies to a
 * run. */
static int check_options(const struct line *l, struct error *err)
{
	const struct args *args = &l->args;

	for (size_t i = 0; i < args->n; i++) {
		const struct arg_row *row = args->found[i].row;

		if (options_is_everywhere(row->name) ||
		    args_row(options_global, row->name) != row)
			continue;
		error_set(err, ERR_USAGE,
			  "--%s cannot be used with dcode %s%s%s", row->name,
			  l->c ? l->c->name : "install",
			  l->sub && l->sub->name[0] ? " " : "",
			  l->sub ? l->sub->name : "");
		command_name_owners(commands, row->name, err);
		return -1;
	}
	return 0;
}

/* Handles the global options and the policy. Then runs the command or, without
 * one, a chat or task. */
static int dispatch_line(struct app *app, struct line *l)
{
	struct args *args = &l->args;
	const char *format = args_value(args, "output-format");
	struct error err = { 0 };

	app->json_once = format && !strcmp(format, "json");
	if (format && !app->json_once && strcmp(format, "text") &&
	    strcmp(format, "stream-json")) {
		error_set(&err, ERR_USAGE,
			  "argument --output-format: invalid choice: '%s' "
			  "(choose from 'text', 'json', 'stream-json')",
			  format);
		return command_refuse(l->c, NULL, &err);
	}
	if (args_flag(args, "json") && app->json_once) {
		error_set(&err, ERR_USAGE,
			  "--json prints each event, --output-format json only "
			  "the result: use one of them");
		return command_refuse(l->c, NULL, &err);
	}
	app->json = args_flag(args, "json") || app->json_once ||
		    (format && !strcmp(format, "stream-json"));
	app->quiet = args_flag(args, "quiet");
	if (args_flag(args, "version"))
		return command_version.subs->run(app, args);
	if (args_flag(args, "help"))
		return print_help(app, l);
	if ((l->c || args_value(args, "install")) && check_options(l, &err) < 0)
		return command_refuse(l->c ? l->c : &command_install,
				      l->sub ? l->sub->name : NULL, &err);
	/* Version and help work under any policy, even a broken one. */
	app->unattended = !l->c && args_value(args, "non-interactive");
	if (policy_check(app, l->sub, &err) < 0)
		return app_fail(app, &err);
	if (args_value(args, "install"))
		return run_install(app, l);
	if (!l->c && !args->argc && models_default_is_asked(args))
		return models_default(app, args);
	if (!l->c)
		return args->argc ? refuse_command(args->argv[0])
				  : run_chat_or_task(app, args);
	args->argc--;
	memmove(args->argv, args->argv + 1,
		(size_t)(args->argc + 1) * sizeof(*args->argv));
	return command_run(app, l->c, l->sub, args);
}

/* True if the reader of stdout has closed the pipe. After an earlier failed
 * write errno no longer tells. */
static bool is_reader_gone(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return io_poll(&p, 1, 0) > 0 && (p.revents & POLLERR);
}

/* Flushes stdout, reports lost output (full disk, closed pipe) and returns the
 * exit status. */
static int end_output(int status)
{
	bool lost;

	errno = 0;
	lost = fflush(stdout) != 0;
	lost |= ferror(stdout) != 0;
	if (!lost || status)
		return status;
	if (errno == EPIPE || is_reader_gone())
		return STATUS_PIPE;
	fputs("Error: writing standard output failed\n", stderr);
	return 1;
}

/* dcode also starts itself as a helper process. The first argument then says
 * which helper. */
int main(int argc, char **argv)
{
	struct app app;
	struct line line = { 0 };
	struct error err = { 0 };
	int status;

	proc_protect();
	if (fill_standard_streams() < 0)
		return 1;
	if (argc > 1 && !strcmp(argv[1], "--jail-supervisor"))
		return jail_main(argc, argv);
	if (argc > 1 && !strcmp(argv[1], MCP_GUARD_ARGUMENT))
		return mcp_guard_main(argc, argv);
	if (argc > 1 && !strcmp(argv[1], EGRESS_ARGUMENT))
		return egress_main(argc, argv);
	if (argc > 1 && !strcmp(argv[1], PAGE_READER_ARGUMENT))
		return page_reader_main();
	if (app_init(&app, &err) < 0)
		return app_fail(&app, &err);
	app.commands = commands;
	app.keys = credential_store(&app);
	app.slash = slash_commands;
	if (parse_line(&line, argc - 1, argv + 1, &err) < 0)
		status = refuse_line(&line, &err);
	else
		status = dispatch_line(&app, &line);
	args_release(&line.args);
	logins_release(&app);
	app_release(&app);
	return end_output(status);
}

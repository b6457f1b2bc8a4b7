/* mcp.c - dcode mcp: the servers whose tools the model is offered. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cmd/command.h"
#include "cmd/commands/mcp_login.h"
#include "cmd/print.h"
#include "cmd/session/mcp_servers.h"
#include "cmd/session/mcp_show.h"

enum { OUTPUT_MAX = 64 << 20 };

/* Whether the line names this server, or none at all. */
static bool is_named(const struct args *args, const char *name)
{
	for (int i = 0; i < args->argc; i++)
		if (!strcmp(args->argv[i], name))
			return true;
	return !args->argc;
}

static int check_names(const struct mcp *m, const struct args *args,
		       struct error *err)
{
	for (int i = 0; i < args->argc; i++) {
		bool found = false;

		for (size_t k = 0; m && k < mcp_count(m); k++)
			found |= !strcmp(
				args->argv[i],
				mcp_server_entry(mcp_server(m, k))->name);
		if (found)
			continue;
		error_set(err, ERR_NOT_FOUND, "unknown MCP server '%.64s'",
			  args->argv[i]);
		return error_hint(err, "`dcode mcp list` shows all.");
	}
	return 0;
}

static void print_servers(struct app *app, struct mcp *m,
			  const struct args *args, const char *command,
			  bool names)
{
	struct buf out = BUF_INIT(OUTPUT_MAX);
	size_t shown = 0;

	buf_adds(&out, app->json ? "[" : "");
	for (size_t i = 0; m && i < mcp_count(m); i++) {
		struct mcp_server *s = mcp_server(m, i);

		if (!is_named(args, mcp_server_entry(s)->name))
			continue;
		if (app->json) {
			buf_adds(&out, shown++ ? "," : "");
			mcp_show_json(app, s, &out);
		} else {
			mcp_show(app, s, names, &out);
		}
	}
	buf_adds(&out, app->json ? "]" : "");
	if (app->json)
		app_envelope(command, &out);
	else if (out.len)
		fputs(out.ptr, stdout);
	else
		puts("No MCP server is configured. `dcode mcp config` lists "
		     "the files that can name one.");
	buf_release(&out);
}

static int list(struct app *app, const struct args *args)
{
	struct error err = { 0 };
	struct mcp *m;

	if (servers_open(app, args_value(args, "mcp-config"), false, &m, &err) <
	    0)
		return app_fail(app, &err);
	print_servers(app, m, args, "mcp list", false);
	mcp_free(m);
	return 0;
}

/* Whether all of those that were asked for have started. */
static bool all_ready(struct mcp *m, const struct args *args)
{
	for (size_t i = 0; m && i < mcp_count(m); i++) {
		struct mcp_server *s = mcp_server(m, i);
		struct mcp_status st;

		mcp_server_status(s, &st);
		if (is_named(args, mcp_server_entry(s)->name) &&
		    st.state != MCP_READY &&
		    (st.state != MCP_OFF || args->argc))
			return false;
	}
	return true;
}

static int test(struct app *app, const struct args *args)
{
	struct stop stop = app_stop(app);
	struct error err = { 0 };
	struct mcp *m;
	int rc;
	int status;

	if (servers_open(app, args_value(args, "mcp-config"), true, &m, &err) <
	    0)
		return app_fail(app, &err);
	rc = check_names(m, args, &err);
	for (size_t i = 0; rc == 0 && m && i < mcp_count(m); i++)
		if (is_named(args, mcp_server_entry(mcp_server(m, i))->name))
			mcp_server_start(mcp_server(m, i));
	if (rc == 0 && m)
		rc = mcp_wait(m, &stop, &err);
	if (rc == 0)
		print_servers(app, m, args, "mcp test", true);
	status = rc < 0 ? app_fail(app, &err) : !all_ready(m, args);
	mcp_free(m);
	return status;
}

static bool print_place(void *arg, const struct mcp_place *p)
{
	struct app *app = arg;
	struct buf line = BUF_INIT(1 << 14);

	print_add_line(app, &line, p->file);
	printf("%s %s\n",
	       access(p->file, F_OK) == 0 ? "[found]  " : "[missing]",
	       line.ptr);
	buf_release(&line);
	return true;
}

static int print_places(struct app *app, const struct args *args)
{
	struct error err = { 0 };
	struct settings *set;

	if (app_settings(app, &set, &err) < 0)
		return app_fail(app, &err);
	puts("For each server, the last of these files that names it counts:");
	servers_each_place(app, args_value(args, "mcp-config"), print_place,
			   app);
	return 0;
}

#define CONFIG_ROW                                                             \
	{                                                                      \
		"mcp-config", 0, ARG_VALUE, "PATH",                            \
			"Use the servers of this file too"                     \
	}

static const struct arg_row options[] = { CONFIG_ROW, ARG_JSON, { 0 } };
static const struct arg_row login_options[] = {
	CONFIG_ROW,
	{ "no-browser", 0, ARG_FLAG, NULL,
	  "Open no browser: print the address and ask for the final one" },
	{ "client-id", 0, ARG_VALUE, "ID",
	  "Use this client, which is already registered there" },
	{ "scope", 0, ARG_VALUE, "SCOPE", "Permissions to ask for" },
	{ 0 }
};
static const struct arg_row config_options[] = { CONFIG_ROW, { 0 } };

static const struct subcommand subs[] = {
	{ .name = "list",
	  .aliases = "ls",
	  .summary = "List the servers without starting them",
	  .options = options,
	  .flags = SUB_UNRESTRICTED,
	  .run = list },
	{ .name = "test",
	  .args = "[NAME...]",
	  .summary = "Start servers and show their tools, or what went wrong",
	  .options = options,
	  .most = -1,
	  .run = test },
	{ .name = "login",
	  .args = "[NAME]",
	  .summary = "Log in to a server by OAuth, in a browser; without NAME: "
		     "list the logins",
	  .options = login_options,
	  .most = 1,
	  .run = mcp_login },
	{ .name = "logout",
	  .args = "NAME",
	  .summary = "Delete a server's tokens and revoke them",
	  .least = 1,
	  .most = 1,
	  .flags = SUB_UNRESTRICTED,
	  .run = mcp_logout },
	{ .name = "config",
	  .summary = "List the files that can name servers",
	  .options = config_options,
	  .flags = SUB_UNRESTRICTED,
	  .run = print_places },
	{ 0 },
};

const struct command command_mcp = {
	.name = "mcp",
	.summary = "List and test MCP servers, and log in to them",
	.subs = subs,
};

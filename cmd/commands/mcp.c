/* mcp.c - dcode mcp: MCP servers, their tools, and logging in to them. */
/* SPDX-License-Identifier: MIT */
/*
 * A login opens the login page in a browser. Then it waits until the browser is
 * redirected to a local port, or until the user pastes the address.
 * session/mcp_servers.c finds the servers. Begin reading at the table at the
 * end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "cmd/app.h"
#include "cmd/args.h"
#include "cmd/browser.h"
#include "cmd/command.h"
#include "cmd/print.h"
#include "cmd/session/mcp_servers.h"
#include "config/settings_env.h"
#include "mcp/entry.h"
#include "mcp/link.h"
#include "oauth/callback.h"

enum {
	LOGIN_MS = 600000, /* time for the user to log in with the browser */
	URL_MAX = 64 << 10,
};

struct login_visit { /* a login in progress */
	struct app *app;
	const struct args *args;
	const struct mcp_entry *entry;
	struct stop stop;
	struct mcp_challenge challenge;
	struct oauth_issuer issuer;
	struct oauth_grant grant;
	struct oauth_attempt attempt;
	struct oauth_callback callback;
	pid_t browser; /* process id; 0: no browser was started */
};

/* ---- the login ---- */

static int check_address(const char *url, struct error *err)
{
	struct error why = { 0 };

	if (oauth_check_url("its \"url\"", url, &why) == 0)
		return 0;
	*err = why;
	return error_hint(err, "dcode sends login tokens only over https, or "
			       "to this machine.");
}

/* Sends a request without a token. The server's answer, the challenge, tells
 * how to log in. */
static int fetch_challenge(struct login_visit *v, struct error *err)
{
	const struct mcp_link_setup setup = {
		.entry = v->entry,
		.settings = v->app->settings,
		.http = app_http(v->app),
		.cwd = settings_cwd(v->app->settings),
	};
	struct stop soon = stop_within(&v->stop, logins_net(v->app, "").ms);

	if (mcp_challenge_get(&setup, &v->challenge, &soon, err) < 0)
		return error_wrap(err, "asking %s", v->entry->name);
	if (v->challenge.has_key)
		return error_set(err, ERR_CONFIG,
				 "%s has an Authorization header in its entry, "
				 "so a login would not be used",
				 v->entry->name);
	if (v->challenge.status == 401 ||
	    (v->challenge.status < 300 && v->entry->wants_login))
		return check_address(v->challenge.url, err);
	error_set(err, ERR_CONFIG,
		  "%s does not ask for a login: it answered HTTP %d",
		  v->entry->name, v->challenge.status);
	return error_hint(
		err,
		"If it needs one later, add \"auth\": \"oauth\" to its entry.");
}

static int expand_value(struct login_visit *v, const char *text, char **out,
			struct error *err)
{
	struct buf value = BUF_INIT(MCP_VALUE_MAX);
	int rc = mcp_expand(v->entry, v->app->settings, text, &value, err);

	*out = buf_detach(&value);
	return rc;
}

/* Sets the OAuth client id: that of --client-id or of the server's entry. If
 * there is none, registers a new client. */
static int find_client(struct login_visit *v, const struct oauth_net *net,
		       struct error *err)
{
	const struct mcp_entry *e = v->entry;
	const char *given = args_value(v->args, "client-id");
	struct oauth_grant *g = &v->grant;
	int rc = 0;

	if (given)
		g->client_id = xstrdup(given);
	else if (e->client_id)
		rc = expand_value(v, e->client_id, &g->client_id, err);
	if (rc == 0 && !given && e->client_id && e->client_secret) {
		rc = expand_value(v, e->client_secret, &g->client_secret, err);
		g->how = v->issuer.basic || !v->issuer.post ? OAUTH_BASIC
							    : OAUTH_POST;
	}
	if (rc < 0 || g->client_id)
		return rc;
	if (v->issuer.register_url)
		return oauth_register(net, &v->issuer, v->attempt.redirect, g,
				      &v->stop, err);
	error_set(err, ERR_CONFIG,
		  "%.200s does not let programs register themselves",
		  v->issuer.issuer);
	return error_hint(
		err, "Register dcode there with the redirect address "
		     "http://127.0.0.1/callback, then use --client-id ID, or "
		     "put \"oauth\": {\"clientId\": \"ID\"} into its entry.");
}

/* Chooses the scope to ask for: that of --scope, of the server's entry, or of
 * the server. */
static void choose_scope(struct login_visit *v)
{
	const char *scope = args_value(v->args, "scope");

	if (!scope)
		scope = v->entry->scope;
	if (scope) {
		free(v->issuer.scope);
		v->issuer.scope = xstrdup(scope);
	}
	if (v->issuer.scope)
		v->grant.scope = xstrdup(v->issuer.scope);
}

static void show_address(struct login_visit *v, const char *url)
{
	fprintf(stderr,
		"Open this address in a browser, to log in to %s:\n\n%s\n\n",
		v->entry->name, url);
	if (v->browser > 0)
		fprintf(stderr, "dcode has asked your browser to open it. ");
	fprintf(stderr, "If the last page does not load, copy its address from "
			"the browser and\npaste it here.\n");
}

/* Prints the address of the login page and waits for the code, which comes with
 * the redirect or from an address that the user pastes. */
static int wait_answer(struct login_visit *v, struct buf *code,
		       struct error *err)
{
	const struct oauth_expected expected = {
		.state = v->attempt.state,
		.issuer = v->issuer.issuer,
		.names_itself = v->issuer.names_itself,
	};
	struct stop stop = stop_within(&v->stop, LOGIN_MS);
	struct buf url = BUF_INIT(URL_MAX);
	bool reads = !v->app->chat || v->app->terminal;
	int rc;

	oauth_authorize_url(&v->issuer, &v->grant, &v->attempt, &url);
	rc = buf_check(&url, "the address of the login", err);
	if (rc == 0) {
		app_borrow_terminal(v->app);
		v->browser = args_flag(v->args, "no-browser")
				     ? 0
				     : browser_open(v->app, url.ptr);
		show_address(v, url.ptr);
		rc = oauth_callback_wait(&v->callback,
					 reads ? STDIN_FILENO : -1, &expected,
					 code, &stop, err);
		app_return_terminal(v->app);
	}
	if (rc < 0 && err->code == ERR_TIMEOUT)
		error_set(err, ERR_TIMEOUT, "nobody logged in within %d min",
			  LOGIN_MS / 60000);
	if (v->browser > 0)
		(void)waitpid(v->browser, NULL, WNOHANG);
	buf_release(&url);
	return rc;
}

/* Performs the OAuth login and stores its tokens. */
static int log_in(struct login_visit *v, struct error *err)
{
	struct oauth_net net = logins_net(v->app, v->challenge.url);
	struct buf code = BUF_INIT(1 << 14);
	int rc = oauth_discover(&net, str_of(v->challenge.header), &v->issuer,
				&v->stop, err);

	if (rc == 0)
		choose_scope(v);
	if (rc == 0)
		rc = find_client(v, &net, err);
	if (rc == 0) {
		v->grant.token_url = xstrdup(v->issuer.token_url);
		v->grant.resource = xstrdup(v->issuer.resource);
		if (v->issuer.revoke_url)
			v->grant.revoke_url = xstrdup(v->issuer.revoke_url);
		rc = wait_answer(v, &code, err);
	}
	if (rc == 0)
		rc = oauth_exchange(&net, &v->attempt, buf_str(&code),
				    &v->grant, &v->stop, err);
	if (rc == 0)
		rc = logins_add(v->app, v->entry, v->challenge.url, &v->grant,
				err);
	buf_wipe(&code);
	return rc;
}

/* Logs in to one server: reads its challenge, listens for the redirect, and
 * exchanges the code for tokens. */
static int run_login(struct login_visit *v, struct error *err)
{
	int rc = fetch_challenge(v, err);

	if (rc == 0)
		rc = oauth_callback_open(&v->callback, v->entry->callback_port,
					 err);
	if (rc == 0) {
		oauth_attempt_init(&v->attempt, v->callback.port);
		rc = log_in(v, err);
		oauth_callback_close(&v->callback);
		oauth_attempt_release(&v->attempt);
	}
	mcp_challenge_release(&v->challenge);
	oauth_issuer_release(&v->issuer);
	oauth_grant_release(&v->grant);
	return rc;
}

/* ---- the commands ---- */

/* Finds a server by name. Fails if logging in to it is not possible. */
static int find_entry(const struct mcp *m, const char *name,
		      const struct mcp_entry **e, struct error *err)
{
	struct mcp_server *s = NULL;
	struct mcp_status st;

	for (size_t i = 0; m && i < mcp_count(m); i++)
		if (!strcmp(mcp_server_entry(mcp_server(m, i))->name, name))
			s = mcp_server(m, i);
	if (!s) {
		error_set(err, ERR_NOT_FOUND, "unknown MCP server '%.64s'",
			  name);
		return error_hint(err, "`dcode mcp list` shows all.");
	}
	*e = mcp_server_entry(s);
	mcp_server_status(s, &st);
	if (st.state == MCP_OFF || st.state == MCP_FAILED) {
		*err = st.why;
		return error_wrap(err, "%s", name);
	}
	if ((*e)->kind == MCP_STDIO)
		return error_set(
			err, ERR_CONFIG,
			"%s is a program on this machine and needs no login",
			name);
	return 0;
}

static int list_logins(struct app *app, const struct mcp *m)
{
	for (size_t i = 0; m && i < mcp_count(m); i++) {
		const struct mcp_entry *e = mcp_server_entry(mcp_server(m, i));

		if (e->kind != MCP_STDIO)
			printf("%s: %s\n", e->name,
			       logins_has(app, e) ? "logged in"
						  : "not logged in");
	}
	return 0;
}

/* The following functions implement subcommand.run. */
static int mcp_login(struct app *app, const struct args *args)
{
	struct login_visit v = { .app = app, .args = args };
	struct error err = { 0 };
	struct mcp *m = NULL;
	int rc;
	int status = 0;

	v.stop = app_stop(app);
	rc = servers_open(app, args_value(args, "mcp-config"), true, &m, &err);
	if (rc == 0 && !args->argc) {
		status = list_logins(app, m);
	} else if (rc == 0) {
		rc = find_entry(m, args->argv[0], &v.entry, &err);
		if (rc == 0)
			rc = run_login(&v, &err);
		if (rc == 0)
			printf("Logged in to %s.\n", v.entry->name);
		(void)fflush(stdout); /* a chat prints its messages elsewhere:
					 keep the order */
	}
	if (rc < 0)
		status = app_fail(app, &err);
	mcp_free(m);
	return status;
}

static int mcp_logout(struct app *app, const struct args *args)
{
	struct error err = { 0 };
	struct settings *set;
	int n = -1;

	if (app_settings(app, &set, &err) == 0)
		n = logins_remove(app, args->argv[0], &err);
	if (n < 0)
		return app_fail(app, &err);
	printf("%s %s.\n",
	       n ? "Deleted the login to" : "No login is stored for",
	       args->argv[0]);
	return 0;
}

enum { OUTPUT_MAX = 64 << 20 };

#define CONFIG_ROW                                                             \
	{                                                                      \
		"mcp-config", 0, ARG_VALUE, "PATH",                            \
			"Also use the servers in this file"                    \
	}
static const struct arg_row options[] = { CONFIG_ROW, ARG_JSON, { 0 } };

static const struct arg_row login_options[] = {
	CONFIG_ROW,
	{ "no-browser", 0, ARG_FLAG, NULL,
	  "Do not open a browser: print the login URL, then ask for the URL of "
	  "the last page" },
	{ "client-id", 0, ARG_VALUE, "ID",
	  "OAuth client id that is already registered with the server" },
	{ "scope", 0, ARG_VALUE, "SCOPE", "Permissions to ask for" },
	{ 0 }
};

static const struct arg_row config_options[] = { CONFIG_ROW, { 0 } };

/* True if the command line names this server, or no server at all. */
static bool is_named(const struct args *args, const char *name)
{
	for (int i = 0; i < args->argc; i++)
		if (!strcmp(args->argv[i], name))
			return true;
	return !args->argc;
}

/* Fails if the command line names a server that does not exist. */
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

/* Prints the servers that the command line names. names: also their tools. */
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

static int list_servers(struct app *app, const struct args *args)
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

/* True if all requested servers have started. */
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

/* Starts the servers and reports which of them work. */
static int test_servers(struct app *app, const struct args *args)
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
	puts("If several of these files name the same server, the last one is "
	     "used:");
	servers_each_place(app, args_value(args, "mcp-config"), print_place,
			   app);
	return 0;
}

static const struct subcommand subs[] = {
	{ .name = "list",
	  .aliases = "ls",
	  .summary = "List the servers without starting them",
	  .options = options,
	  .flags = SUB_UNRESTRICTED,
	  .run = list_servers },
	{ .name = "test",
	  .args = "[NAME...]",
	  .summary = "Start servers and show their tools, or what went wrong",
	  .options = options,
	  .most = -1,
	  .run = test_servers },
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

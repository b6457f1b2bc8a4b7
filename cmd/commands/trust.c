/* trust.c - dcode trust: lists and revokes permissions of repositories. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/json.h"
#include "base/str.h"
#include "cmd/command.h"
#include "cmd/print.h"
#include "cmd/project_trust.h"

struct trust_listing {
	struct app *app;
	struct buf data;
	size_t n;
};

static void print_record(struct trust_listing *l, const struct trust_record *r)
{
	struct buf line = BUF_INIT(1 << 16);
	time_t when = (time_t)r->when;
	struct tm day = { 0 };
	char date[16] = "";

	gmtime_r(&when, &day);
	(void)strftime(date, sizeof(date), "%Y-%m-%d", &day);
	buf_addf(&line, "%-10s  ", date);
	print_add_line(l->app, &line, r->kind);
	buf_adds(&line, "  ");
	print_add_line(l->app, &line, r->name);
	buf_adds(&line, "  ");
	print_add_line(l->app, &line, r->file);
	puts(line.ptr);
	buf_release(&line);
}

static bool on_record(void *arg, const struct trust_record *r)
{
	struct trust_listing *l = arg;

	if (!l->app->json)
		print_record(l, r);
	buf_adds(&l->data, l->n++ ? ",{" : "{");
	json_member(&l->data, "kind", str_of(r->kind));
	buf_addc(&l->data, ',');
	json_member_bytes(&l->data, "root", str_of(r->root));
	buf_addc(&l->data, ',');
	json_member_bytes(&l->data, "file", str_of(r->file));
	buf_addc(&l->data, ',');
	json_member(&l->data, "name", str_of(r->name));
	buf_addf(&l->data, ",\"allowed_at\":%lld}", (long long)r->when);
	return true;
}

static int list_allowed(struct app *app, const struct args *args)
{
	struct trust_listing l = { app, BUF_INIT(16 << 20), 0 };
	struct error err = { 0 };
	struct trust *t;
	int rc;

	(void)args;
	buf_addc(&l.data, '[');
	rc = project_trust_open(app, &t, &err);
	if (rc == 0)
		rc = trust_list(t, on_record, &l, &err);
	buf_addc(&l.data, ']');
	if (rc == 0 && app->json)
		app_envelope("trust list", &l.data);
	else if (rc == 0 && !l.n)
		puts("You have not allowed anything from a repository.");
	buf_release(&l.data);
	return rc < 0 ? app_fail(app, &err) : 0;
}

/* If the directory no longer exists, the argument is used as typed. */
static int forget_project(struct app *app, const struct args *args)
{
	bool all = args_flag(args, "all");
	char *real = args->argc ? realpath(args->argv[0], NULL) : NULL;
	const char *root = real || !args->argc ? real : args->argv[0];
	struct error err = { 0 };
	struct trust *t;
	int n;

	if (all == (args->argc > 0)) {
		free(real);
		return command_misuse(&command_trust, "forget",
				      "trust forget needs DIR or --all");
	}
	n = project_trust_open(app, &t, &err);
	if (n == 0)
		n = trust_forget(t, root, &err);
	if (n >= 0 && !app->quiet)
		printf("Forgotten: %d\n", n);
	free(real);
	return n < 0 ? app_fail(app, &err) : 0;
}

static const struct arg_row list_options[] = { ARG_JSON, { 0 } };
static const struct arg_row forget_options[] = {
	{ "all", 0, ARG_FLAG, NULL, "Forget all repositories" },
	{ 0 },
};

static const struct subcommand subs[] = {
	{ .name = "list",
	  .aliases = "ls",
	  .summary = "List what you allowed, by repository",
	  .options = list_options,
	  .flags = SUB_UNRESTRICTED,
	  .run = list_allowed },
	{ .name = "forget",
	  .aliases = "revoke",
	  .args = "[DIR]",
	  .summary = "Ask again about the repository at DIR",
	  .options = forget_options,
	  .most = 1,
	  .flags = SUB_UNRESTRICTED,
	  .run = forget_project },
	{ 0 },
};

const struct command command_trust = {
	.name = "trust",
	.summary = "List or revoke permissions for hooks and MCP servers of "
		   "repositories",
	.subs = subs,
};

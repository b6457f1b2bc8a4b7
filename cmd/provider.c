/* provider.c - dcode provider: what sandboxes there are, how good. */
/* SPDX-License-Identifier: MIT */
#include "cmd/provider.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/sanitize.h"
#include "base/str.h"

static const struct {
	unsigned flag;
	const char *name;
} capabilities[] = {
	{ SANDBOX_ATTACH, "attach" },    { SANDBOX_SNAPSHOT, "snapshot" },
	{ SANDBOX_LIVE, "live-output" }, { SANDBOX_STDIN, "stdin" },
	{ SANDBOX_NETWORK, "network" },  { SANDBOX_LIST, "list" },
};

void provider_capabilities(struct buf *out, unsigned flags, bool json)
{
	const char *between = "";

	for (size_t i = 0; i < sizeof(capabilities) / sizeof(*capabilities);
	     i++) {
		if (!(flags & capabilities[i].flag))
			continue;
		buf_adds(out, between);
		if (json)
			json_quote(out, str_of(capabilities[i].name));
		else
			buf_adds(out, capabilities[i].name);
		between = json ? "," : ", ";
	}
}

void provider_table(unsigned flags)
{
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(*capabilities);
	     i++)
		printf("  %-24s %s\n", capabilities[i].name,
		       flags & capabilities[i].flag ? "yes" : "no");
}

struct listed_provider { /* of the list */
	const struct sandbox_provider *p;
	const char *origin;
	struct buf endpoint;
	enum sandbox_isolation isolation;
	struct error why; /* it is not ready */
};

/* Opens it with these settings. Sends no request. */
static void open_listed(struct app *app, struct listed_provider *e)
{
	struct sandbox_client host = { 0 };

	e->isolation = e->p->isolation;
	if (app_client_check(app, e->p->name, &host, &e->why) < 0)
		return;
	e->isolation = sandbox_isolation(&host);
	buf_adds(&e->endpoint, host.endpoint ? host.endpoint : "");
	sandbox_client_close(&host);
}

static void add_json(struct buf *out, const struct listed_provider *e)
{
	const struct sandbox_provider *p = e->p;
	const char *source = sandbox_isolation_source(p, e->isolation);

	buf_addc(out, '{');
	json_member(out, "name", str_of(p->name));
	buf_addc(out, ',');
	json_member(out, "summary", str_of(p->summary));
	buf_addc(out, ',');
	json_member(out, "origin", str_of(e->origin));
	buf_adds(out, ",\"workdir\":");
	if (p->workdir)
		json_quote(out, str_of(p->workdir));
	else
		buf_adds(out, "null");
	buf_adds(out, ",\"isolation\":");
	isolation_json(out, e->isolation);
	buf_adds(out, ",\"isolation_source\":");
	if (source)
		json_quote(out, str_of(source));
	else
		buf_adds(out, "null");
	buf_adds(out, ",\"capabilities\":[");
	provider_capabilities(out, p->flags, true);
	buf_addf(out, "],\"ready\":%s,", e->why.code ? "false" : "true");
	json_member(out, "endpoint", buf_str(&e->endpoint));
	buf_addc(out, ',');
	json_member(out, "missing", str_of(e->why.message));
	buf_addc(out, ',');
	json_member(out, "hint", str_of(e->why.hint));
	buf_addc(out, '}');
}

static void print(const struct listed_provider *e)
{
	const struct sandbox_provider *p = e->p;
	const char *source = sandbox_isolation_source(p, e->isolation);
	struct buf line = BUF_INIT(1 << 12);
	struct buf shown = BUF_INIT(1 << 12);
	const int at = 11;

	printf("%-10s %s\n", p->name, p->summary);
	printf("           workdir: %s\n",
	       p->workdir ? p->workdir : "the current directory");
	printf("           isolation: %s%s%s%s\n", isolation_name(e->isolation),
	       source ? " (" : "", source ? source : "", source ? ")" : "");
	provider_capabilities(&line, p->flags, false);
	if (line.len)
		printf("           can: %s\n", line.ptr);
	buf_clear(&line);
	sanitize_line(str_of(e->origin), &line);
	if (strcmp(e->origin, "built in") != 0)
		printf("           from: %s\n", line.ptr);
	buf_clear(&line);
	if (e->why.code)
		buf_addf(&line, "not ready: %s", e->why.message);
	else
		buf_addf(&line, "ready%s%s", e->endpoint.len ? ": " : "",
			 e->endpoint.len ? e->endpoint.ptr : "");
	sanitize_text(buf_str(&line), &shown);
	args_text(stdout, shown.ptr, 0, at);
	if (e->why.hint[0])
		args_text(stdout, e->why.hint, 0, at);
	buf_release(&line);
	buf_release(&shown);
}

/* The rest in one sentence, by name. */
static void print_rest(const struct buf *names, size_t n)
{
	struct buf text = BUF_INIT(1 << 15);

	buf_addf(&text, "%zu more %s not ready (", n, n == 1 ? "is" : "are");
	sanitize_line(buf_str(names), &text);
	buf_adds(&text, "): dcode provider list -v says what is missing");
	if (n)
		args_text(stdout, text.ptr, 0, 0);
	buf_release(&text);
}

static int list(struct app *app, const struct args *args)
{
	bool verbose = args_flag(args, "verbose");
	const struct sandbox_provider *const *all;
	struct buf data = BUF_INIT(1 << 20);
	struct buf rest = BUF_INIT(1 << 14);
	struct registry *registry;
	struct error err = { 0 };
	size_t n = 0;

	if (app_providers(app, &registry, &err) < 0)
		return app_fail(app, &err);
	all = registry_list(registry);
	buf_addc(&data, '[');
	for (size_t i = 0; all[i]; i++) {
		struct listed_provider e = { .p = all[i],
					     .origin = registry_origin(registry,
								       all[i]),
					     .endpoint = BUF_INIT(1 << 12) };

		open_listed(app, &e);
		if (app->json) {
			if (i)
				buf_addc(&data, ',');
			add_json(&data, &e);
		} else if (e.why.code && !verbose) {
			buf_addf(&rest, "%s%s", n++ ? ", " : "", all[i]->name);
		} else {
			print(&e);
		}
		buf_release(&e.endpoint);
	}
	buf_addc(&data, ']');
	if (app->json)
		app_envelope("provider list", &data);
	else
		print_rest(&rest, n);
	buf_release(&rest);
	buf_release(&data);
	return 0;
}

static const struct arg_row list_options[] = {
	{ "verbose", 'v', ARG_FLAG, NULL,
	  "Also those that are not ready, and why" },
	ARG_JSON,
	{ 0 },
};

static const struct arg_row test_options[] = {
	{ "quick", 0, ARG_FLAG, NULL, "Leave out the slow checks" },
	{ "large", 0, ARG_FLAG, NULL,
	  "Also 100 MB of output and a file of 1 GiB" },
	{ "only", 0, ARG_VALUE, "TEXT",
	  "Only the checks with this in their name" },
	{ "snapshot", 0, ARG_VALUE, "NAME",
	  "Also make this snapshot, which stays, and start from it" },
	ARG_JSON,
	{ 0 },
};

static const struct subcommand subs[] = {
	{ .name = "list",
	  .aliases = "ls",
	  .summary = "Which are ready here",
	  .options = list_options,
	  .flags = SUB_UNRESTRICTED,
	  .run = list },
	{ .name = "test",
	  .args = "TYPE",
	  .summary = "Make a sandbox, check what the provider promises, "
		     "delete it",
	  .options = test_options,
	  .least = 1,
	  .most = 1,
	  .run = provider_test },
	{ 0 },
};

const struct command command_provider = {
	.name = "provider",
	.summary = "The sandbox providers: which are ready here, and whether "
		   "one keeps its promises",
	.subs = subs,
};

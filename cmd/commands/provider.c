/* provider.c - dcode provider: lists and tests sandbox providers. */
/* SPDX-License-Identifier: MIT */
/*
 * `dcode provider test` runs the checks of src/contract/ (what every provider
 * must do) with a real account. Begin reading at the table at the end.
 */
#include "cmd/commands/provider.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/print.h"
#include "contract/contract.h"

static const struct {
	unsigned flag;
	const char *name;
} capabilities[] = {
	{ SANDBOX_ATTACH, "attach" },    { SANDBOX_SNAPSHOT, "snapshot" },
	{ SANDBOX_LIVE, "live-output" }, { SANDBOX_STDIN, "stdin" },
	{ SANDBOX_NETWORK, "network" },  { SANDBOX_LIST, "list" },
};

struct listed_provider { /* one row of the list */
	const struct sandbox_provider *p;
	bool also; /* the row is for the provider's second name */
	const char *origin;
	struct buf endpoint;
	enum sandbox_isolation isolation;
	struct error why; /* why the provider is not ready */
};

struct provider_table {
	struct app *app;
	struct registry *registry;
	bool verbose;
	struct buf data; /* the list as JSON */
	struct buf rest; /* names of providers that are not ready, for one
			    sentence */
	size_t n_rest;
};

static const struct arg_row list_options[] = {
	{ "verbose", 'v', ARG_FLAG, NULL,
	  "Also list those that are not ready, and why" },
	ARG_JSON,
	{ 0 },
};

static const struct arg_row test_options[] = {
	{ "quick", 0, ARG_FLAG, NULL, "Skip the slow checks" },
	{ "large", 0, ARG_FLAG, NULL,
	  "Also test 100 MB of output and a file of 1 GiB" },
	{ "only", 0, ARG_VALUE, "TEXT",
	  "Run only checks whose name contains TEXT" },
	{ "snapshot", 0, ARG_VALUE, "NAME",
	  "Also create this snapshot (it is not deleted) and start a sandbox "
	  "from it" },
	ARG_JSON,
	{ 0 },
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

/* Prints each capability and whether the provider has it. */
static void provider_table(unsigned flags)
{
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(*capabilities);
	     i++)
		printf("  %-24s %s\n", capabilities[i].name,
		       flags & capabilities[i].flag ? "yes" : "no");
}

static const char *name_of(const struct listed_provider *e)
{
	return e->also ? e->p->also : e->p->name;
}

static const char *summary_of(const struct listed_provider *e)
{
	return e->also ? e->p->also_summary : e->p->summary;
}

/* Checks whether the provider can be opened with the current settings. Sends no
 * request. */
static void open_listed(struct app *app, struct listed_provider *e)
{
	struct sandbox_client client = { 0 };

	e->isolation = e->p->isolation;
	if (app_client_check(app, name_of(e), &client, &e->why) < 0)
		return;
	e->isolation = sandbox_isolation(&client);
	buf_adds(&e->endpoint, client.endpoint ? client.endpoint : "");
	sandbox_client_close(&client);
}

static void add_provider_json(struct buf *out, const struct listed_provider *e)
{
	const struct sandbox_provider *p = e->p;
	const char *source = sandbox_isolation_source(p, e->isolation);

	buf_addc(out, '{');
	json_member(out, "name", str_of(name_of(e)));
	buf_addc(out, ',');
	if (e->also) {
		json_member(out, "alias_of", str_of(p->name));
		buf_addc(out, ',');
	}
	json_member(out, "summary", str_of(summary_of(e)));
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

static void print_ready(const struct listed_provider *e)
{
	struct buf line = BUF_INIT(1 << 12);
	struct buf shown = BUF_INIT(1 << 12);
	const int at = 11;

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

/* Prints a provider with its working directory, isolation and capabilities. */
static void print_provider(const struct listed_provider *e)
{
	const struct sandbox_provider *p = e->p;
	const char *source = sandbox_isolation_source(p, e->isolation);
	struct buf line = BUF_INIT(1 << 12);

	printf("%-10s %s\n", name_of(e), summary_of(e));
	if (e->also) {
		print_ready(e);
		return;
	}
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
	buf_release(&line);
	print_ready(e);
}

/* Prints the names of the providers that are not ready in one sentence. */
static void print_rest(const struct buf *names, size_t n)
{
	struct buf text = BUF_INIT(1 << 15);

	buf_addf(&text, "%zu more %s not ready (", n, n == 1 ? "is" : "are");
	sanitize_line(buf_str(names), &text);
	buf_adds(&text, "): dcode provider list -v shows what is missing");
	if (n)
		args_text(stdout, text.ptr, 0, 0);
	buf_release(&text);
}

/* Adds a provider to the list. Without -v, one that is not ready is only named
 * at the end. */
static void add_row(struct provider_table *t, const struct sandbox_provider *p,
		    bool also)
{
	struct listed_provider e = { .p = p,
				     .also = also,
				     .origin = registry_origin(t->registry, p),
				     .endpoint = BUF_INIT(1 << 12) };

	open_listed(t->app, &e);
	if (t->app->json) {
		buf_adds(&t->data, t->data.len > 1 ? "," : "");
		add_provider_json(&t->data, &e);
	} else if (e.why.code && !t->verbose) {
		buf_addf(&t->rest, "%s%s", t->n_rest++ ? ", " : "",
			 name_of(&e));
	} else {
		print_provider(&e);
	}
	buf_release(&e.endpoint);
}

/* Adds rows for the second names of providers that belong between provider i
 * and the next one in the order of names. */
static void add_second_names(struct provider_table *t,
			     const struct sandbox_provider *const *all,
			     size_t i)
{
	for (size_t k = 0; all[k]; k++) {
		const char *also = all[k]->also;

		if (also && strcmp(also, all[i]->name) > 0 &&
		    (!all[i + 1] || strcmp(also, all[i + 1]->name) < 0) &&
		    registry_find(t->registry, also) == all[k])
			add_row(t, all[k], true);
	}
}

static int list_providers(struct app *app, const struct args *args)
{
	struct provider_table t = { .app = app,
				    .verbose = args_flag(args, "verbose"),
				    .data = BUF_INIT(1 << 20),
				    .rest = BUF_INIT(1 << 14) };
	const struct sandbox_provider *const *all;
	struct error err = { 0 };

	if (app_providers(app, &t.registry, &err) < 0)
		return app_fail(app, &err);
	buf_addc(&t.data, '[');
	all = registry_list(t.registry);
	for (size_t i = 0; all[i]; i++) {
		add_row(&t, all[i], false);
		add_second_names(&t, all, i);
	}
	buf_addc(&t.data, ']');
	if (app->json)
		app_envelope("provider list", &t.data);
	else
		print_rest(&t.rest, t.n_rest);
	buf_release(&t.rest);
	buf_release(&t.data);
	return 0;
}

struct test {
	struct app *app;
	struct buf json;
};

static const char *verdict_word(enum contract_verdict verdict, bool json)
{
	switch (verdict) {
	case CONTRACT_OK:
		return "ok";
	case CONTRACT_FAIL:
		return json ? "fail" : "FAIL";
	case CONTRACT_NA:
		break;
	}
	return "n/a";
}

static void add_json(struct buf *out, const struct contract_result *r,
		     struct str reason)
{
	buf_adds(out, out->len ? ",{" : "{");
	json_member(out, "name", str_of(r->name));
	buf_addc(out, ',');
	json_member(out, "status", str_of(verdict_word(r->verdict, true)));
	buf_addf(out, ",\"ms\":%lld,", (long long)r->ms);
	json_member(out, "reason", reason);
	buf_addc(out, '}');
}

static void on_check(void *arg, const struct contract_result *r)
{
	struct test *t = arg;
	struct buf shown = BUF_INIT(1 << 14);

	print_add_line(t->app, &shown, r->reason);
	if (t->app->json) {
		add_json(&t->json, r, buf_str(&shown));
	} else {
		printf("%-4s %-24s %6lld ms", verdict_word(r->verdict, false),
		       r->name, (long long)r->ms);
		printf("%s%s\n", shown.len ? "  " : "",
		       shown.len ? shown.ptr : "");
		fflush(stdout); /* show each result at once, even if stdout is a
				   pipe */
	}
	buf_release(&shown);
}

static void on_progress(void *arg, const char *line)
{
	struct test *t = arg;

	if (!t->app->quiet && !t->app->json)
		print_progress(t->app, line);
}

static void on_warning(void *arg, const char *line)
{
	(void)arg;
	app_warn_line(line);
}

static void print_number(const char *what, int64_t number, const char *unit)
{
	if (number >= 0)
		printf("  %-24s %8lld %s\n", what, (long long)number, unit);
}

static void print_summary(const struct sandbox_client *client,
			  const struct contract_summary *s)
{
	const struct sandbox_provider *p = client->provider;

	printf("\nisolation of %s: %s\n", p->name,
	       isolation_name(sandbox_isolation(client)));
	printf("\n%s can:\n", p->name);
	provider_table(p->flags & ~client->lacks);
	printf("\nlatencies:\n");
	print_number("create", s->create_ms, "ms");
	print_number("quick command, median", s->command_ms, "ms");
	print_number("remove, confirmed", s->remove_ms, "ms");
	print_number("upload", s->upload_kib_s, "KiB/s");
	print_number("download", s->download_kib_s, "KiB/s");
	printf("\n%zu ok, %zu failed, %zu n/a\n", s->passed, s->failed,
	       s->absent);
}

static void add_number(struct buf *out, const char *key, int64_t number)
{
	if (number < 0)
		buf_addf(out, ",\"%s\":null", key);
	else
		buf_addf(out, ",\"%s\":%lld", key, (long long)number);
}

static void print_summary_json(struct test *t,
			       const struct sandbox_client *client,
			       const struct contract_summary *s)
{
	struct buf data = BUF_INIT(1 << 20);

	buf_addc(&data, '{');
	json_member(&data, "provider", str_of(client->provider->name));
	buf_addc(&data, ',');
	json_member(&data, "endpoint", str_of(lifecycle_endpoint(client)));
	buf_adds(&data, ",\"isolation\":");
	isolation_json(&data, sandbox_isolation(client));
	buf_adds(&data, ",\"checks\":[");
	buf_addstr(&data, buf_str(&t->json));
	buf_adds(&data, "],\"capabilities\":[");
	provider_capabilities(&data, client->provider->flags & ~client->lacks,
			      true);
	buf_addf(&data,
		 "],\"passed\":%zu,\"failed\":%zu,\"not_applicable\":%zu",
		 s->passed, s->failed, s->absent);
	add_number(&data, "create_ms", s->create_ms);
	add_number(&data, "command_ms", s->command_ms);
	add_number(&data, "remove_ms", s->remove_ms);
	add_number(&data, "upload_kib_s", s->upload_kib_s);
	add_number(&data, "download_kib_s", s->download_kib_s);
	buf_addc(&data, '}');
	app_envelope("provider test", &data);
	buf_release(&data);
}

/* Runs the checks and prints the summary. Returns the exit status, or -1 with
 * err. */
static int run_contract(struct test *t, struct sandbox_client *client,
			const struct args *args, struct error *err)
{
	struct stop stop = app_stop(t->app);
	struct contract_request request = {
		.client = client,
		.mask = t->app->mask,
		.snapshot = args_value(args, "snapshot"),
		.quick = args_flag(args, "quick"),
		.large = args_flag(args, "large"),
		.only = args_value(args, "only"),
		.ui = { .progress = on_progress, .warn = on_warning, .arg = t },
		.each = on_check,
		.arg = t,
	};
	struct contract_summary summary;

	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it is open */
	if (!(client->provider->flags & SANDBOX_UNISOLATED) &&
	    app_store(t->app, &request.store, err) < 0)
		return -1;
	if (contract_run(&request, &summary, &stop, err) < 0)
		return -1;
	if (t->app->json)
		print_summary_json(t, client, &summary);
	else
		print_summary(client, &summary);
	return summary.failed ? 1 : 0;
}

/* Runs dcode provider test NAME and returns the exit status. */
static int provider_test(struct app *app, const struct args *args)
{
	struct test t = { .app = app, .json = BUF_INIT(1 << 20) };
	struct sandbox_client client = { 0 };
	struct error err = { 0 };
	const char *only = args_value(args, "only");
	int rc;

	if (only && !contract_knows(only))
		rc = error_set(&err, ERR_USAGE,
			       "no check has '%.100s' in its name", only);
	else
		rc = app_client(app, args->argv[0], &client, &err);
	if (rc == 0) {
		rc = run_contract(&t, &client, args, &err);
		sandbox_client_close(&client);
	}
	buf_release(&t.json);
	return rc < 0 ? app_fail(app, &err) : rc;
}

static const struct subcommand subs[] = {
	{ .name = "list",
	  .aliases = "ls",
	  .summary = "List the providers that are ready here",
	  .options = list_options,
	  .flags = SUB_UNRESTRICTED,
	  .run = list_providers },
	{ .name = "test",
	  .args = "TYPE",
	  .summary = "Create a sandbox, test the features that the provider "
		     "declares, and delete the sandbox",
	  .options = test_options,
	  .least = 1,
	  .most = 1,
	  .run = provider_test },
	{ 0 },
};

const struct command command_provider = {
	.name = "provider",
	.summary = "List sandbox providers, and test one",
	.topic = "providers",
	.subs = subs,
};

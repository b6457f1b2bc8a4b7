/* provider_test.c - dcode provider test: the contract, one line per check. */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/commands/provider.h"
#include "cmd/print.h"
#include "contract/contract.h"

struct test {
	struct app *app;
	struct buf json;
};

static const char *word(enum contract_verdict verdict, bool json)
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
	json_member(out, "status", str_of(word(r->verdict, true)));
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
		printf("%-4s %-24s %6lld ms", word(r->verdict, false), r->name,
		       (long long)r->ms);
		printf("%s%s\n", shown.len ? "  " : "",
		       shown.len ? shown.ptr : "");
		fflush(stdout); /* as it happens, also into a pipe */
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

	printf("\n%s isolates by: %s\n", p->name,
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

static int test(struct test *t, struct sandbox_client *client,
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

int provider_test(struct app *app, const struct args *args)
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
		rc = test(&t, &client, args, &err);
		sandbox_client_close(&client);
	}
	buf_release(&t.json);
	return rc < 0 ? app_fail(app, &err) : rc;
}

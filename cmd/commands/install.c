/* install.c - dcode install and uninstall: sets up a provider or model. */
/* SPDX-License-Identifier: MIT */
/*
 * For a built-in provider, dcode checks its programs, key and connection and
 * names what is missing. install_package.c installs packages. Begin reading at
 * the tables at the end.
 */
#include "cmd/commands/install.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/credential.h"
#include "cmd/print.h"
#include "cmd/secret.h"
#include "model/presets.h"
#include "providers/registry.h"

enum { CALL_MS = 10000 };

struct check {
	const struct install *in;
	const char *name;
	const char *origin; /* where the provider comes from, as in
			       registry_origin() */
	bool ready;
	bool verified;
	bool cannot_tell; /* the provider cannot be asked whether the key is
			     valid, except by creating a sandbox */
	struct buf endpoint;
	struct error why;
	int64_t ms; /* duration of the request */
};

struct missing {
	const struct check *check;
	bool stored;  /* the user has just stored a key */
	bool skipped; /* the user did not enter a key */
};

static void print_check_line(const struct check *c, bool good, const char *text)
{
	struct buf shown = BUF_INIT(1 << 13);

	sanitize_line(str_of(text), &shown);
	if (!c->in->app->json)
		printf("%s %s\n",
		       print_sign(c->in->app, good ? GLYPH_CHECK : GLYPH_CROSS),
		       shown.len ? shown.ptr : "");
	buf_release(&shown);
}

static bool is_built_in(const char *origin)
{
	return !strcmp(origin, "built in");
}

static void mark_origin(const struct check *c)
{
	struct buf line = BUF_INIT(1 << 12);
	struct buf shown = BUF_INIT(1 << 12);

	buf_addf(&line, "Sandbox provider '%s' comes from %s.", c->name,
		 c->origin);
	sanitize_line(buf_str(&line), &shown);
	printf("%s\n", shown.ptr);
	buf_release(&line);
	buf_release(&shown);
}

/* settings_each_credential() callback: asks for a required key of the provider
 * if it is missing. Returns false if the user does not enter it. */
static bool prompt_missing_key(void *arg, const struct settings_credential *c)
{
	struct missing *m = arg;
	struct app *app = m->check->in->app;
	struct buf label = BUF_INIT(1024);
	struct error err = { 0 };
	enum credential_state state;

	if (!c->group || strcmp(c->group, m->check->name) != 0)
		return true;
	/* not required: one of several keys of which any will do; ask only for
	 * the first */
	if (!c->required && strcmp(c->name, m->check->name) != 0)
		return true;
	state = credential_state(app->settings, c->name, c->variable, &label);
	buf_release(&label);
	if (state != CREDENTIAL_MISSING)
		return true;
	if (credential_ask(app, c->name, &err) == 0) {
		printf("Stored credential for %s.\n", c->name);
		m->stored = true;
		return true;
	}
	m->skipped = true;
	if (err.code == ERR_CANCELLED)
		return false;
	fprintf(stderr, "%s\n", err.message);
	return false;
}

/* settings_each_credential() callback: prints a key of the provider and its
 * source, if there is one. */
static bool print_key(void *arg, const struct settings_credential *c)
{
	const struct check *check = arg;
	struct buf label = BUF_INIT(1024);
	struct buf line = BUF_INIT(2048);
	enum credential_state state;

	if (!c->group || strcmp(c->group, check->name) != 0)
		return true;
	state = credential_state(check->in->app->settings, c->name, c->variable,
				 &label);
	buf_addf(&line, "%s: %s", c->variable, label.ptr);
	if (state != CREDENTIAL_MISSING)
		print_check_line(check, true, line.ptr);
	buf_release(&label);
	buf_release(&line);
	return true;
}

/* Sends the cheapest request that needs a valid key: lists the sandboxes with
 * the owner id of an installation of dcode that does not exist. */
static int query_provider(struct check *c, struct sandbox_client *client)
{
	static const char nobody[] = "00000000-0000-4000-8000-000000000000";
	struct stop stop = app_stop(c->in->app);
	int64_t begin = clock_ms();
	const struct sandbox_ops *ops = client->provider->ops;
	int rc = 0;

	if (c->in->offline || !sandbox_can_list(client) ||
	    client->provider->flags & SANDBOX_UNISOLATED)
		return 0;
	stop = stop_within(&stop, CALL_MS);
	if (ops->self_test)
		rc = ops->self_test(client, &stop, &c->why);
	if (rc == 0)
		rc = sandbox_list(client, nobody, NULL, &stop, &c->why);
	c->ms = clock_ms() - begin;
	/* whether an external provider can list is only known once it has
	 * started */
	c->cannot_tell = rc < 0 && !sandbox_can_list(client);
	if (c->cannot_tell) {
		c->why = (struct error){ 0 };
		return 0;
	}
	c->verified = rc == 0;
	if (rc < 0 && c->why.code == ERR_TIMEOUT)
		error_set(&c->why, ERR_TIMEOUT, "no answer within %d s",
			  CALL_MS / 1000);
	return rc;
}

/* settings_each_credential() callback: prints how to store a missing key. If
 * any of several keys will do, only the first is named. */
static bool print_store(void *arg, const struct settings_credential *c)
{
	const struct check *check = arg;
	struct buf label = BUF_INIT(1024);

	if (c->group && !strcmp(c->group, check->name) &&
	    (c->required || !strcmp(c->name, check->name)) &&
	    credential_state(check->in->app->settings, c->name, c->variable,
			     &label) == CREDENTIAL_MISSING)
		printf("  or store it: dcode auth set %s\n", c->name);
	buf_release(&label);
	return true;
}

/* settings_each_credential() callback: reports a missing environment variable
 * that config.toml names for an external provider. */
static bool report_missing_key(void *arg, const struct settings_credential *c)
{
	struct check *check = arg;
	struct buf label = BUF_INIT(1024);

	if (c->group && !strcmp(c->group, check->name) && c->required &&
	    credential_state(check->in->app->settings, c->name, c->variable,
			     &label) == CREDENTIAL_MISSING) {
		error_set(&check->why, ERR_AUTH, "%s: %s is not set",
			  check->name, c->variable);
		error_hint(&check->why,
			   "export %s=..., or put it into "
			   "~/.deepagents/.env",
			   c->variable);
	}
	buf_release(&label);
	return check->why.code == ERR_NONE;
}

/* Opens the provider and sends it a test request. Returns 0 if it is ready. */
static int open_and_query(struct check *c)
{
	struct sandbox_client client = { 0 };

	c->why = (struct error){ 0 };
	buf_clear(&c->endpoint);
	if (!is_built_in(c->origin))
		settings_each_credential(c->in->app->settings,
					 report_missing_key, c);
	if (c->why.code)
		return -1;
	if (app_client(c->in->app, c->name, &client, &c->why) < 0)
		return -1;
	buf_adds(&c->endpoint, client.endpoint ? client.endpoint : "");
	c->ready = query_provider(c, &client) == 0;
	sandbox_client_close(&client);
	return c->ready ? 0 : -1;
}

static void report_json(const struct check *c, struct buf *out)
{
	buf_addc(out, '{');
	json_member(out, "name", str_of(c->name));
	buf_addf(out, ",\"built_in\":%s,\"ready\":%s,\"verified\":%s,",
		 is_built_in(c->origin) ? "true" : "false",
		 c->ready ? "true" : "false", c->verified ? "true" : "false");
	json_member(out, "endpoint", buf_str(&c->endpoint));
	buf_addc(out, ',');
	json_member(out, "missing", str_of(c->why.message));
	buf_addc(out, ',');
	json_member(out, "hint", str_of(c->why.hint));
	buf_addc(out, '}');
}

/* Prints the result of the check and, if the provider is not ready, what to
 * do. */
static void report_check(const struct check *c)
{
	const char *at = c->endpoint.len ? c->endpoint.ptr : c->name;
	struct buf line = BUF_INIT(1 << 12);

	settings_each_credential(c->in->app->settings, print_key, (void *)c);
	if (c->verified)
		buf_addf(&line, "%s answered in %lld ms", at, (long long)c->ms);
	else if (c->cannot_tell)
		buf_addf(&line,
			 "%s started in %lld ms (it cannot list sandboxes; the "
			 "first run shows whether it works)",
			 at, (long long)c->ms);
	else if (c->ready)
		buf_addf(&line, "%s%s", at,
			 c->in->offline ? ": not checked (--offline)" : "");
	else
		buf_addf(&line, "%s", c->why.message);
	print_check_line(c, c->ready, line.ptr);
	buf_release(&line);
	if (c->ready) {
		printf("'%s' is ready: dcode --sandbox %s\n", c->name, c->name);
		return;
	}
	if (c->why.hint[0])
		printf("  %s\n", c->why.hint);
	if (c->why.code == ERR_AUTH)
		settings_each_credential(c->in->app->settings, print_store,
					 (void *)c);
	printf("'%s' is not ready.\n", c->name);
}

/* Checks the provider, fills out with JSON and returns the exit status. */
static int check_provider(const struct install *in, const char *name,
			  struct buf *out)
{
	struct check c = { .in = in,
			   .name = name,
			   .endpoint = BUF_INIT(1 << 12) };
	struct missing m = { .check = &c };
	struct registry *registry;
	struct settings *set;
	int rc;

	if (app_settings(in->app, &set, &c.why) < 0)
		return app_fail(in->app, &c.why);
	if (app_providers(in->app, &registry, &c.why) < 0)
		return app_fail(in->app, &c.why);
	c.origin = registry_origin(registry, registry_find(registry, name));
	if (!in->app->json && is_built_in(c.origin))
		printf("Sandbox provider '%s' is built in.\n", name);
	else if (!in->app->json)
		mark_origin(&c);
	rc = open_and_query(&c);
	if (rc < 0 && c.why.code == ERR_AUTH && !in->app->json &&
	    secret_terminal(in->app)) {
		fflush(stdout);
		settings_each_credential(set, prompt_missing_key, &m);
		if (m.stored) {
			settings_store_changed(set);
			rc = open_and_query(&c);
		}
	}
	if (in->app->json)
		report_json(&c, out);
	else
		report_check(&c);
	buf_release(&c.endpoint);
	if (rc < 0 && c.why.code == ERR_CANCELLED)
		return app_signal() ? 128 + app_signal() : 130;
	return rc < 0 ? 1 : 0;
}

/* Checks a built-in provider and reports what is missing. Returns the exit
 * status. */
static int install_builtin(const struct install *in,
			   const struct sandbox_provider *provider)
{
	struct buf data = BUF_INIT(1 << 16);
	bool also = provider->also && !strcmp(in->name, provider->also);
	int status = check_provider(in, also ? provider->also : provider->name,
				    &data);

	if (in->app->json)
		app_envelope("install", &data);
	buf_release(&data);
	return status;
}

/* Checks all sandbox providers. Returns 0 only if all are ready. */
static int install_all(const struct install *in)
{
	struct buf data = BUF_INIT(1 << 20);
	size_t n = 0;
	size_t ready = 0;
	int status = 0;

	buf_addc(&data, '[');
	for (size_t i = 0; sandbox_providers[i] && status < 2; i++) {
		if (sandbox_providers[i]->flags & SANDBOX_UNISOLATED)
			continue;
		if (n++)
			buf_addc(&data, ',');
		if (n > 1 && !in->app->json)
			putchar('\n');
		status = check_provider(in, sandbox_providers[i]->name, &data);
		ready += status == 0;
	}
	buf_addc(&data, ']');
	if (in->app->json)
		app_envelope("install", &data);
	else
		printf("\n%zu of %zu sandbox providers are ready.\n", ready, n);
	buf_release(&data);
	if (status >= 2)
		return status;
	return ready == n ? 0 : 1;
}

/* Returns the gcloud command that logs in to Google Cloud, for models whose
 * token comes from there; otherwise an empty text. */
static const char *login_hint(const struct credential *c,
			      enum credential_state state)
{
	const struct preset *p = preset_find(c->name);

	if (!p || !p->google_cloud)
		return "";
	return state == CREDENTIAL_OPTIONAL
		       ? "  after gcloud auth login, with "
			 "GOOGLE_CLOUD_PROJECT set\n"
		       : "  or install the Google Cloud CLI, and run gcloud "
			 "auth login\n";
}

static void model_json(const char *name, enum credential_state state,
		       struct str label, struct buf *data)
{
	buf_addc(data, '{');
	json_member(data, "name", str_of(name));
	buf_addf(data, ",\"built_in\":true,\"ready\":%s,\"verified\":false,",
		 state == CREDENTIAL_MISSING ? "false" : "true");
	json_member(data, "credential", label);
	buf_addc(data, '}');
}

/* Sets up a model vendor. in->name is known to be one. */
static int install_model(const struct install *in)
{
	struct buf label = BUF_INIT(1024);
	struct buf data = BUF_INIT(1 << 12);
	struct credential c;
	struct error err = { 0 };
	enum credential_state state;
	bool asks = !in->app->json && secret_terminal(in->app);

	if (credential_find(&c, in->app, in->name, &err) < 0)
		return app_fail(in->app, &err);
	if (!in->app->json)
		printf("Model provider '%s' is built in.\n", in->name);
	fflush(stdout);
	state = credential_state(in->app->settings, c.name, c.variable, &label);
	if (state == CREDENTIAL_MISSING && asks &&
	    credential_ask(in->app, c.name, &err) == 0) {
		settings_store_changed(in->app->settings);
		buf_clear(&label);
		state = credential_state(in->app->settings, c.name, c.variable,
					 &label);
	}
	if (in->app->json)
		model_json(in->name, state, buf_str(&label), &data);
	if (in->app->json)
		app_envelope("install", &data);
	else if (state == CREDENTIAL_MISSING)
		printf("%s %s is not set\n  export it, or store it: dcode auth "
		       "set %s\n%s'%s' is not ready.\n",
		       print_sign(in->app, GLYPH_CROSS), c.variable, c.name,
		       login_hint(&c, state), in->name);
	else
		printf("%s %s: %s\n%s'%s' is ready (the first request shows "
		       "whether the key is valid): dcode -M %s:MODEL\n",
		       print_sign(in->app, GLYPH_CHECK), c.variable, label.ptr,
		       state == CREDENTIAL_OPTIONAL ? login_hint(&c, state)
						    : "",
		       in->name, in->name);
	buf_release(&data);
	buf_release(&label);
	credential_release(&c);
	return state == CREDENTIAL_MISSING;
}

/* Reports whether a model vendor is ready, in one line or one JSON object. */
static bool report_model(struct app *app, const struct credential *c,
			 struct buf *data)
{
	struct buf label = BUF_INIT(1024);
	enum credential_state state =
		credential_state(app->settings, c->name, c->variable, &label);
	bool ready = state != CREDENTIAL_MISSING;

	if (app->json)
		model_json(c->name, state, buf_str(&label), data);
	else if (ready)
		printf("%s %s: %s\n", print_sign(app, GLYPH_CHECK), c->name,
		       label.ptr);
	else
		printf("%s %s: %s is not set (dcode auth set %s)\n",
		       print_sign(app, GLYPH_CROSS), c->name, c->variable,
		       c->name);
	buf_release(&label);
	return ready;
}

/* Reports all model vendors without asking for keys. */
static int install_models(const struct install *in)
{
	struct buf data = BUF_INIT(1 << 20);
	struct error err = { 0 };
	size_t n = 0;
	size_t ready = 0;

	buf_addc(&data, '[');
	for (const struct preset *p = presets; p->name; p++) {
		struct credential c;

		if (!p->wire)
			continue;
		if (credential_find(&c, in->app, p->name, &err) < 0) {
			buf_release(&data);
			return app_fail(in->app, &err);
		}
		if (n++)
			buf_addc(&data, ',');
		ready += report_model(in->app, &c, &data);
		credential_release(&c);
	}
	buf_addc(&data, ']');
	if (in->app->json)
		app_envelope("install", &data);
	else
		printf("\n%zu of %zu model providers are ready.\n", ready, n);
	buf_release(&data);
	return ready == n ? 0 : 1;
}

/* Names that the Python program installs and that are neither sandbox providers
 * nor model vendors. */
static const struct {
	const char *name, *why;
} not_here[] = {
	{ "media", "images and PDF files need no setup, and dcode does not "
		   "support other media" },
	{ "quickjs", "dcode has no JavaScript interpreter" },
};

static const struct arg_row options[] = {
	{ "package", 0, ARG_FLAG, NULL,
	  "Install a third-party provider: a Python package, wheel, sdist, "
	  "folder or executable" },
	{ "yes", 0, ARG_FLAG, NULL, "Do not ask for confirmation" },
	{ "force", 0, ARG_FLAG, NULL, NULL }, /* same as --yes */
	{ "offline", 0, ARG_FLAG, NULL, "Do not contact any server" },
	ARG_JSON,
	{ 0 },
};

static const struct arg_row uninstall_options[] = {
	{ "yes", 0, ARG_FLAG, NULL, "Do not ask for confirmation" },
	{ 0 },
};

/* True if name matches the regular expression
 * ^[A-Za-z0-9](?:[-_.A-Za-z0-9]*[A-Za-z0-9])?$ */
static bool is_valid_name(const char *name)
{
	static const char inner[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-_.";
	size_t len = strlen(name);

	return len && len <= 200 && strspn(name, inner) == len &&
	       !strchr("-_.", name[0]) && !strchr("-_.", name[len - 1]);
}

/* Finds a model vendor by the Python program's name for it, which has dashes:
 * "google-genai" is google_genai. */
static const struct preset *model_of(const char *name)
{
	char *alike = xstrdup(name);
	const struct preset *p;

	for (char *c = alike; *c; c++)
		*c = *c == '-' ? '_' : *c;
	p = preset_find(alike);
	free(alike);
	return p;
}

static int refuse_name(const char *name)
{
	struct buf text = BUF_INIT(1024);

	sanitize_line(str_of(name), &text);
	fprintf(stderr,
		"Error: Invalid extra name '%.200s'. Extra names must be "
		"alphanumeric with `-`, `_`, or `.` (PEP 508).\n",
		text.len ? text.ptr : "");
	buf_release(&text);
	return 2;
}

/* Does not suggest to install a package of this name. Attack: someone publishes
 * a package under a name that users are likely to mistype. */
static int refuse_unknown(const char *name)
{
	fprintf(stderr,
		"Error: '%s' is not a known extra.\nKnown extras:", name);
	for (size_t i = 0; sandbox_providers[i]; i++)
		if (!(sandbox_providers[i]->flags & SANDBOX_UNISOLATED))
			fprintf(stderr, " %s", sandbox_providers[i]->name);
	fprintf(stderr, " all-sandboxes");
	for (const struct preset *p = presets; p->name; p++)
		if (p->wire)
			fprintf(stderr, " %s", p->name);
	fprintf(stderr, " all-providers\nFor a third-party provider: dcode "
			"install PACKAGE --package\n");
	return 2;
}

/* Refuses a name that only the Python program supports. */
static int refuse_unsupported(const struct install *in, const char *why)
{
	struct error err = { 0 };

	error_set(&err, ERR_CONFIG, "cannot set up '%s': %s", in->name, why);
	error_hint(&err, "No package adds support for it. `dcode install "
			 "all-providers` lists the supported vendors.");
	return app_fail(in->app, &err);
}

/* Sets up a model vendor. Fails if dcode does not support its protocol. */
static int install_vendor(const struct install *in, const struct preset *p)
{
	struct install model = *in;

	if (!p->wire)
		return refuse_unsupported(
			in,
			"dcode does not support its API. Use a gateway such as "
			"LiteLLM, declared in [models.providers.NAME]");
	model.name = p->name;
	return install_model(&model);
}

/* Returns the exit status: 0 ready, 1 not ready, 2 wrong usage, 130
 * interrupted. */
static int install_named(const struct install *in)
{
	const struct sandbox_provider *p;
	struct registry *registry;
	struct error err = { 0 };

	if (in->package)
		return install_package(in);
	if (!is_valid_name(in->name))
		return refuse_name(in->name);
	if (!strcmp(in->name, "all-sandboxes"))
		return install_all(in);
	if (!strcmp(in->name, "all-providers"))
		return install_models(in);
	if (app_providers(in->app, &registry, &err) < 0)
		return app_fail(in->app, &err);
	p = registry_find(registry, in->name);
	if (p)
		return install_builtin(in, p);
	for (size_t i = 0; i < sizeof(not_here) / sizeof(*not_here); i++)
		if (!strcmp(not_here[i].name, in->name))
			return refuse_unsupported(in, not_here[i].why);
	if (!model_of(in->name))
		return refuse_unknown(in->name);
	return install_vendor(in, model_of(in->name));
}

static int run(struct app *app, const struct args *args)
{
	struct install in = {
		.app = app,
		.name = args->argv[0],
		.package = args_flag(args, "package"),
		.yes = args_flag(args, "yes") || args_flag(args, "force"),
		.offline = args_flag(args, "offline"),
	};

	return in.package && !in.name[0] ? refuse_name(in.name)
					 : install_named(&in);
}

static int run_uninstall(struct app *app, const struct args *args)
{
	struct install in = {
		.app = app,
		.name = args->argv[0],
		.yes = args_flag(args, "yes"),
	};

	return is_valid_name(in.name) ? install_uninstall(&in)
				      : refuse_name(in.name);
}

static const struct subcommand subs[] = {
	{ .name = "",
	  .args = "PROVIDER",
	  .options = options,
	  .least = 1,
	  .most = 1,
	  .run = run },
	{ 0 },
};

const struct command command_install = {
	.name = "install",
	.summary = "Set up a provider: check its programs and key, and make "
		   "one test call. PROVIDER may also be all-sandboxes or "
		   "all-providers; --package installs a third-party one",
	.topic = "providers",
	.subs = subs,
};

static const struct subcommand uninstall_subs[] = {
	{ .name = "",
	  .args = "PROVIDER",
	  .options = uninstall_options,
	  .least = 1,
	  .most = 1,
	  .run = run_uninstall },
	{ 0 },
};

const struct command command_uninstall = {
	.name = "uninstall",
	.summary = "Remove a provider that --package installed",
	.topic = "providers",
	.subs = uninstall_subs,
};

/* doctor.c - dcode doctor: checks the setup without any request. */
/* SPDX-License-Identifier: MIT */
#include "cmd/commands/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/commands/provider.h"
#include "model/model.h"
#include "providers/local/local.h"

void doctor_add(struct report *r, const char *section, const char *name,
		enum verdict verdict, const char *text)
{
	static const char *const words[] = { "ok", "remark", "broken" };
	static const char *const marks[] = { " ok ", " -- ", "FAIL" };
	struct buf shown = BUF_INIT(1 << 14);

	sanitize_message(str_of(text), &shown);
	r->broken |= verdict == BROKEN;
	if (!r->app->json) {
		int at = printf("[%s] %-14s %-15s", marks[verdict], section,
				name);

		args_text(stdout, shown.len ? shown.ptr : "", at, at + 1);
		buf_release(&shown);
		return;
	}
	buf_adds(&r->json, r->json.len ? ",{" : "{");
	json_member(&r->json, "section", str_of(section));
	buf_addc(&r->json, ',');
	json_member(&r->json, "name", str_of(name));
	buf_addc(&r->json, ',');
	json_member(&r->json, "status", str_of(words[verdict]));
	buf_addc(&r->json, ',');
	json_member(&r->json, "text", buf_str(&shown));
	buf_addc(&r->json, '}');
	buf_release(&shown);
}

static void add_check_with_hint(struct report *r, const char *section,
				const char *name, enum verdict verdict,
				const struct error *err)
{
	struct buf text = BUF_INIT(1 << 12);

	buf_adds(&text, err->message);
	if (err->hint[0])
		buf_addf(&text, " (%s)", err->hint);
	doctor_add(r, section, name, verdict, text.ptr);
	buf_release(&text);
}

static void check_program(struct report *r)
{
	struct utsname u;
	char platform[256] = "unknown";

	if (uname(&u) == 0)
		snprintf(platform, sizeof(platform), "%s %s %s", u.sysname,
			 u.release, u.machine);
	doctor_add(r, "program", "version", FINE, "dcode " DCODE_VERSION);
	doctor_add(r, "program", "platform", FINE, platform);
}

static void check_configuration(struct report *r, const struct settings *set)
{
	const char *dir = settings_dir(set);
	const char *const *warnings;
	size_t n = settings_warnings(set, &warnings);
	struct buf text = BUF_INIT(1 << 13);
	enum verdict verdict = FINE;
	struct stat st;

	buf_adds(&text, dir);
	if (stat(dir, &st) < 0) {
		verdict = REMARK;
		buf_adds(&text,
			 " does not exist yet; dcode creates it when needed");
	} else if (access(dir, R_OK | W_OK | X_OK) < 0) {
		verdict = BROKEN;
		buf_adds(&text, " cannot be written");
	}
	doctor_add(r, "configuration", "data directory", verdict, text.ptr);
	buf_release(&text);
	if (settings_policy_error(set))
		doctor_add(r, "configuration", "managed config", BROKEN,
			   settings_policy_error(set));
	if (settings_broken(set))
		doctor_add(r, "configuration", "config.toml", BROKEN,
			   settings_broken(set));
	else
		doctor_add(r, "configuration", "config.toml", FINE,
			   "readable, or does not exist");
	for (size_t i = 0; i < n && r->app->json; i++) /* else on stderr */
		doctor_add(r, "configuration", "warning", REMARK, warnings[i]);
	if (settings_foreign(set) && r->app->json)
		doctor_add(r, "configuration", "warning", REMARK,
			   settings_foreign(set));
}

static void check_model(struct report *r, const struct settings *set)
{
	struct model_choice choice = { 0 };
	struct error err = { 0 };
	char text[256];

	if (model_choose(&choice, set, NULL, NULL, &err) < 0) {
		add_check_with_hint(r, "model", "default", REMARK, &err);
		return;
	}
	snprintf(text, sizeof(text), "%s:%s at %s", choice.provider,
		 choice.model, choice.base_url);
	doctor_add(r, "model", "default", FINE, text);
	if (choice.project_key)
		doctor_add(r, "model", "key", REMARK, choice.key_from);
	model_choice_release(&choice);
}

/* A provider that is ready: its address, key, workdir, capabilities. */
static void describe(struct report *r, const struct sandbox_client *client,
		     const char *origin)
{
	const struct sandbox_provider *p = client->provider;
	struct buf text = BUF_INIT(1 << 12);
	char *key;

	buf_addf(&text, "%s (%s)", p->summary, origin);
	if (client->endpoint && client->endpoint[0])
		buf_addf(&text, "; at %s", client->endpoint);
	key = client->project_key
		      ? settings_credential_name(client->settings,
						 client->project_key)
		      : NULL;
	if (key)
		buf_addf(&text, "; with %s", key);
	free(key);
	buf_addf(&text, "; in %s; ",
		 p->workdir ? p->workdir : "the current directory");
	provider_capabilities(&text, p->flags, false);
	doctor_add(r, "sandbox", p->name, FINE, text.ptr);
	buf_release(&text);
}

/* A provider that is not ready: why, and its capabilities. */
static void describe_missing(struct report *r, const struct sandbox_provider *p,
			     const struct error *err)
{
	struct buf text = BUF_INIT(1 << 12);

	buf_adds(&text, err->message);
	if (err->hint[0])
		buf_addf(&text, " (%s)", err->hint);
	buf_addf(&text, "; in %s; ",
		 p->workdir ? p->workdir : "the current directory");
	provider_capabilities(&text, p->flags, false);
	doctor_add(r, "sandbox", p->name, REMARK, text.ptr);
	buf_release(&text);
}

static void describe_limits(struct report *r,
			    const struct sandbox_client *client)
{
	struct buf text = BUF_INIT(1 << 12);

	local_describe_limits(client, &text);
	doctor_add(r, "sandbox", "local limits", FINE, text.ptr);
	buf_release(&text);
}

static void check_sandboxes(struct report *r, struct registry *registry,
			    bool verbose)
{
	const struct sandbox_provider *const *all = registry_list(registry);
	struct buf rest = BUF_INIT(1 << 14);
	size_t n = 0;

	for (size_t i = 0; all[i]; i++) {
		const struct sandbox_provider *p = all[i];
		struct sandbox_client client = { 0 };
		struct error err = { 0 };

		if (app_client_check(r->app, p->name, &client, &err) < 0) {
			if (verbose || r->app->json)
				describe_missing(r, p, &err);
			else
				buf_addf(&rest, "%s%s", n++ ? ", " : "",
					 p->name);
			continue;
		}
		describe(r, &client, registry_origin(registry, p));
		if (p == &local_provider)
			describe_limits(r, &client);
		sandbox_client_close(&client);
	}
	if (n) {
		char *count = xasprintf("%zu more", n);

		buf_adds(&rest,
			 ": not ready; dcode doctor -v shows what is missing");
		doctor_add(r, "sandbox", count, FINE, rest.ptr);
		free(count);
	}
	buf_release(&rest);
}

static int run(struct app *app, const struct args *args)
{
	struct report r = { .app = app, .json = BUF_INIT(1 << 20) };
	struct registry *registry;
	struct settings *set;
	struct error err = { 0 };

	if (app_settings(app, &set, &err) < 0 ||
	    app_providers(app, &registry, &err) < 0)
		return app_fail(app, &err);
	app_tell_foreign(app);
	check_program(&r);
	check_configuration(&r, set);
	check_model(&r, set);
	doctor_check_terminal(&r);
	check_sandboxes(&r, registry, args_flag(args, "verbose"));
	if (app->json) {
		struct buf data = BUF_INIT(1 << 21);

		buf_addf(&data, "{\"healthy\":%s,\"checks\":[",
			 r.broken ? "false" : "true");
		buf_addstr(&data, buf_str(&r.json));
		buf_adds(&data, "]}");
		app_envelope("doctor", &data);
		buf_release(&data);
	}
	buf_release(&r.json);
	return r.broken ? 1 : 0;
}

static const struct arg_row options[] = {
	{ "verbose", 'v', ARG_FLAG, NULL,
	  "Also list the sandboxes that are not ready, and why" },
	ARG_JSON,
	{ 0 },
};

static const struct subcommand subs[] = {
	{ .name = "", .options = options, .flags = SUB_EXPLAINS, .run = run },
	{ 0 },
};

const struct command command_doctor = {
	.name = "doctor",
	.summary = "Check configuration, credentials and sandboxes",
	.topic = "chat",
	.subs = subs,
};

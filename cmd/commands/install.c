/* install.c - dcode install and uninstall: what a name means. */
/* SPDX-License-Identifier: MIT */
#include "cmd/commands/install.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "model/presets.h"

/* ^[A-Za-z0-9](?:[-_.A-Za-z0-9]*[A-Za-z0-9])?$ */
static bool name_ok(const char *name)
{
	static const char inner[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-_.";
	size_t len = strlen(name);

	return len && len <= 200 && strspn(name, inner) == len &&
	       !strchr("-_.", name[0]) && !strchr("-_.", name[len - 1]);
}

/* As names of extras are written: "google-genai" is google_genai. */
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

/* Extras of the Python program that are no provider. */
static const struct {
	const char *name, *why;
} not_here[] = {
	{ "media", "dcode shows the model no images or other media" },
	{ "quickjs", "dcode has no JavaScript interpreter" },
};

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

/* No package is suggested by this name: in the index it is a stranger's. */
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
	fprintf(stderr, " all-providers\n"
			"For a provider that somebody else publishes: dcode "
			"install PACKAGE --package\n");
	return 2;
}

/* A name that the Python program knows, and dcode has nothing for. */
static int refuse_unsupported(const struct install *in, const char *why)
{
	struct error err = { 0 };

	error_set(&err, ERR_CONFIG, "cannot set up '%s': %s", in->name, why);
	error_hint(&err, "No package adds it. `dcode install all-providers` "
			 "lists the supported vendors.");
	return app_fail(in->app, &err);
}

static int install_vendor(const struct install *in, const struct preset *p)
{
	struct install model = *in;

	if (!p->wire)
		return refuse_unsupported(
			in, "dcode speaks Anthropic Messages and OpenAI "
			    "Chat Completions only; a gateway such as "
			    "LiteLLM, declared in [models.providers."
			    "NAME], reaches its models");
	model.name = p->name;
	return install_model(&model);
}

/* The exit status: 0 ready, 1 not, 2 wrong use, 130. */
static int install_named(const struct install *in)
{
	const struct sandbox_provider *p;
	struct registry *registry;
	struct error err = { 0 };

	if (in->package)
		return install_package(in);
	if (!name_ok(in->name))
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

	return name_ok(in.name) ? install_uninstall(&in) : refuse_name(in.name);
}

static const struct arg_row options[] = {
	{ "package", 0, ARG_FLAG, NULL,
	  "Install a third-party provider: a Python package, wheel, sdist, "
	  "folder or executable" },
	{ "yes", 0, ARG_FLAG, NULL, "Do not ask for confirmation" },
	{ "force", 0, ARG_FLAG, NULL, NULL }, /* the same */
	{ "offline", 0, ARG_FLAG, NULL, "Contact no server" },
	ARG_JSON,
	{ 0 },
};

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

static const struct arg_row uninstall_options[] = {
	{ "yes", 0, ARG_FLAG, NULL, "Do not ask for confirmation" },
	{ 0 },
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

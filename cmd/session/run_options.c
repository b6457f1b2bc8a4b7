/* run_options.c - the flags of a run, read and checked. */
/* SPDX-License-Identifier: MIT */
#include "cmd/session/run_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cmd/session/fs_tools.h"
#include "model/catalog.h"
#include "model/money.h"
#include "model/params.h"
#include "sandbox/setup/setup.h"
#include "trust/trust.h"

enum { NAMES_SHOWN = 200 };

static int integer(const struct args *args, const char *name, int64_t least,
		   int64_t *value, struct error *err)
{
	const char *text = args_value(args, name);

	if (!text)
		return 0;
	if (!str_to_int(str_of(text), value))
		return error_set(err, ERR_USAGE,
				 "argument --%s: invalid int value: '%s'", name,
				 text);
	if (*value < least)
		return error_set(err, ERR_USAGE,
				 "argument --%s: must be a %s integer "
				 "(>= %d), got %s",
				 name, least ? "positive" : "non-negative",
				 (int)least, text);
	if (*value > INT32_MAX)
		return error_set(err, ERR_USAGE,
				 "argument --%s: %s is too large", name, text);
	return 0;
}

static int amount(const struct args *args, const char *name, int64_t *value,
		  struct error *err)
{
	const char *text = args_value(args, name);

	if (!text || money_read(str_of(text), value))
		return 0;
	return error_set(err, ERR_USAGE,
			 "argument --%s: must be an amount in US dollars above "
			 "0, such as 5 or 0.50, got '%s'",
			 name, text);
}

static int network(struct run_options *o, const char *text, struct error *err)
{
	if (!text)
		return 0;
	if (!strcmp(text, "full"))
		o->network = NETWORK_FULL;
	else if (!strcmp(text, "none"))
		o->network = NETWORK_NONE;
	else
		return error_set(err, ERR_USAGE,
				 "argument --sandbox-network: invalid choice: "
				 "'%s' (choose from 'full', 'none')",
				 text);
	return 0;
}

static int check_together(const struct run_options *o, struct error *err)
{
	if (o->apply && o->branch)
		return error_set(
			err, ERR_USAGE,
			"--apply cannot be combined with --branch: --apply "
			"writes to the working tree, --branch does not");
	if (o->no_mcp && o->mcp_config)
		return error_set(err, ERR_USAGE,
				 "--no-mcp and --mcp-config are mutually "
				 "exclusive. Use one or the other.");
	if (o->resume && !o->resume[0] && o->resume != args_bare)
		return error_set(err, ERR_USAGE,
				 "argument -r/--resume: ID is empty; bare -r "
				 "means the last thread of this directory");
	if (o->sandbox_id && !o->sandbox_id[0])
		return error_set(err, ERR_USAGE,
				 "argument --sandbox-id: must not be empty");
	if (o->sandbox_id && o->snapshot)
		return error_set(
			err, ERR_USAGE,
			"--sandbox-snapshot-name cannot be combined with "
			"--sandbox-id; snapshots only apply when creating a "
			"fresh sandbox");
	if (o->sandbox_id && o->network)
		return error_set(err, ERR_USAGE,
				 "--sandbox-network cannot be combined with "
				 "--sandbox-id: a sandbox keeps the network "
				 "that it was made with");
	return 0;
}

static unsigned trusted_kinds(const struct args *args)
{
	unsigned kinds = 0;

	if (args_flag(args, "trust-project"))
		kinds |= TRUST_ALL;
	if (args_flag(args, "trust-project-hooks"))
		kinds |= TRUST_HOOK;
	if (args_flag(args, "trust-project-mcp"))
		kinds |= TRUST_MCP;
	return kinds;
}

static int check_words(const struct run_options *o, struct error *err)
{
	if (o->task && !str_trim(str_of(o->task)).len)
		return error_set(err, ERR_USAGE,
				 "argument -n/--non-interactive: the task is "
				 "empty. Say what to do: -n \"fix the "
				 "tests\"; for a chat leave -n out");
	if (o->task && o->message)
		return error_set(err, ERR_USAGE,
				 "--message begins a chat and cannot be "
				 "combined with --non-interactive (-n); give "
				 "the whole task to -n");
	if (o->skill && !o->skill[0])
		return error_set(err, ERR_USAGE,
				 "argument -s/--skill: NAME is empty; `dcode "
				 "skills list` shows all");
	if (o->fork && !o->resume)
		return error_set(err, ERR_USAGE,
				 "--fork requires --resume (-r)");
	return 0;
}

int run_options_read(struct run_options *o, const struct args *args,
		     struct error *err)
{
	const char *allow = args_value(args, "shell-allow-list");
	int64_t retries;

	*o = (struct run_options){
		.task = args_value(args, "non-interactive"),
		.message = args_value(args, "message"),
		.resume = args_value(args, "resume"),
		.fork = args_flag(args, "fork"),
		.skill = args_value(args, "skill"),
		.startup = args_value(args, "startup-cmd"),
		.model = args_value(args, "model"),
		.model_params = args_value(args, "model-params"),
		.effort = args_value(args, "effort"),
		.max_retries = args_value(args, "max-retries"),
		.sandbox_id = args_value(args, "sandbox-id"),
		.snapshot = args_value(args, "sandbox-snapshot-name"),
		.setup = args_value(args, "sandbox-setup"),
		.yes = args_flag(args, "auto-approve"),
		.yolo = args_flag(args, "yolo"),
		.quiet = args_flag(args, "quiet"),
		.no_stream = args_flag(args, "no-stream"),
		.plain = args_flag(args, "plain"),
		.read_stdin = args_flag(args, "stdin"),
		.trust_project = args_flag(args, "trust-project"),
		.trusted = trusted_kinds(args),
		.mcp_config = args_value(args, "mcp-config"),
		.no_mcp = args_flag(args, "no-mcp"),
		.apply = args_flag(args, "apply"),
		.branch = args_value(args, "branch"),
	};
	if (transfer_options_read(&o->transfers, args, err) < 0)
		return -1;
	if (check_words(o, err) < 0)
		return -1;
	if (integer(args, "max-turns", 1, &o->max_turns, err) < 0 ||
	    amount(args, "max-usd", &o->max_usd, err) < 0 ||
	    integer(args, "timeout", 1, &o->timeout_s, err) < 0 ||
	    integer(args, "max-retries", 0, &retries, err) < 0 ||
	    fs_tools_parse(args_value(args, "allow-fs-tools"), &o->fs_tools,
			   err) < 0 ||
	    network(o, args_value(args, "sandbox-network"), err) < 0)
		return -1;
	if (allow && allow_list_parse(&o->allow, allow, err) < 0)
		return -1;
	return check_together(o, err);
}

int run_options_check(const struct run_options *o, struct error *err)
{
	cJSON *params = NULL;
	int rc = o->setup ? setup_check(o->setup, err) : 0;

	if (rc == 0)
		rc = transfer_options_check(&o->transfers, err);
	if (rc == 0 && o->effort && !effort_level(o->effort))
		rc = effort_unknown("--effort", o->effort, err);
	if (rc == 0 && o->model_params)
		rc = params_merge(&params, NULL, "", o->model_params, err);
	cJSON_Delete(params);
	return rc;
}

void run_options_release(struct run_options *o)
{
	allow_list_release(&o->allow);
	transfer_options_release(&o->transfers);
	free(o->agent);
	o->agent = NULL;
	free(o->include);
	o->include = NULL;
	o->n_include = 0;
}

static void add_broken(const struct settings *set, struct error *err)
{
	size_t used = strlen(err->message);
	struct buf note = BUF_INIT(sizeof(err->message));

	if (!settings_broken(set))
		return;
	buf_addf(&note,
		 "\nNote: ~/.deepagents/config.toml could not be used (%s); "
		 "any providers or default it declared were ignored.",
		 settings_broken(set));
	if (note.len >= sizeof(err->message) - used)
		note.ptr[note.len = sizeof(err->message) - used - 1] = '\0';
	memcpy(err->message + used, note.ptr, note.len + 1);
	buf_release(&note);
}

/* All that there are, as far as they fit. */
static void add_names(struct registry *registry, struct buf *names)
{
	const struct sandbox_provider *const *all = registry_list(registry);
	const char *between = "";

	for (size_t i = 0; all[i]; i++) {
		if (all[i]->flags & SANDBOX_UNISOLATED)
			continue;
		if (names->len + strlen(all[i]->name) > NAMES_SHOWN) {
			buf_adds(names, ", ...");
			return;
		}
		buf_adds(names, between);
		buf_adds(names, all[i]->name);
		between = ", ";
		if (all[i]->also &&
		    registry_find(registry, all[i]->also) == all[i])
			buf_addf(names, ", %s", all[i]->also);
	}
}

static int unknown(struct app *app, struct registry *registry, const char *name,
		   struct error *err)
{
	const char *similar = app_similar_provider(app, name);
	struct buf names = BUF_INIT(NAMES_SHOWN + 32);

	add_names(registry, &names);
	error_set(err, ERR_USAGE,
		  "Unknown sandbox provider '%.64s'.%s%s%s\n"
		  "Available providers: %s",
		  name, similar ? " Did you mean " : "", similar ? similar : "",
		  similar ? "?" : "", names.ptr);
	error_hint(err,
		   "To add one of a package: dcode install PACKAGE --package. "
		   "To add one of your own: [sandboxes.providers.%.64s] in "
		   "~/.deepagents/config.toml.",
		   name);
	error_topic(err, "sandboxes");
	buf_release(&names);
	add_broken(app->settings, err);
	return -1;
}

static int check_host(const struct run_options *o, struct error *err)
{
	static const char text[] = "%s requires a --sandbox provider";

	if (o->snapshot)
		return error_set(err, ERR_USAGE, text,
				 "--sandbox-snapshot-name");
	if (o->sandbox_id)
		return error_set(err, ERR_USAGE, text, "--sandbox-id");
	if (o->setup)
		return error_set(err, ERR_USAGE, text, "--sandbox-setup");
	if (o->network)
		return error_set(err, ERR_USAGE, text, "--sandbox-network");
	if (o->transfers.n)
		return error_set(err, ERR_USAGE, text,
				 o->transfers.list[0].uploads ? "--upload"
							      : "--download");
	return 0;
}

static int check_flags(const struct run_options *o,
		       const struct sandbox_provider *p, struct error *err)
{
	static const char text[] = "%s is not supported by provider '%s'";

	if (p->flags & SANDBOX_UNISOLATED)
		return check_host(o, err);
	if (o->snapshot && !(p->flags & SANDBOX_SNAPSHOT))
		return error_set(err, ERR_USAGE, text,
				 "--sandbox-snapshot-name", p->name);
	if (o->sandbox_id && !(p->flags & SANDBOX_ATTACH))
		return error_set(err, ERR_USAGE, text, "--sandbox-id", p->name);
	if (o->network && !(p->flags & SANDBOX_NETWORK))
		return error_set(err, ERR_USAGE, text, "--sandbox-network",
				 p->name);
	return 0;
}

int run_sandbox_resolve(struct run_options *o, struct app *app,
			const char *flag, struct error *err)
{
	const struct sandbox_provider *p;
	struct registry *registry = NULL;
	struct settings *set;
	const char *name = flag;

	if (app_settings(app, &set, err) < 0)
		return -1;
	if (!flag)
		name = "none";
	if (flag == args_bare) {
		if (settings_string(set, NULL, "sandboxes.default", &name,
				    err) < 0)
			return -1;
		if (!name || !name[0]) {
			error_set(err, ERR_USAGE,
				  "--sandbox was given with no value but no "
				  "[sandboxes].default is configured in "
				  "~/.deepagents/config.toml. Pass a provider "
				  "name explicitly or set "
				  "[sandboxes].default.");
			add_broken(set, err);
			return -1;
		}
	}
	if (!strcmp(name, "none"))
		p = sandbox_provider_find(name);
	else if (app_providers(app, &registry, err) < 0)
		return -1;
	else
		p = registry_find(registry, name);
	if (!p) {
		(void)unknown(app, registry, name, err);
		if (flag == args_bare &&
		    settings_policy(set, "sandboxes.default"))
			err->code = ERR_POLICY;
		return -1;
	}
	o->sandbox = p->name;
	o->sandbox_as = p->also && !strcmp(name, p->also) ? p->also : p->name;
	return check_flags(o, p, err);
}

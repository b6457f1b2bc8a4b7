/* run_policy.c - what may run without a question, and what the machine limits.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "cmd/mcp/show.h"
#include "cmd/session/fs_tools.h"
#include "cmd/session/run.h"
#include "cmd/session/run_mcp.h"
#include "cmd/session/run_web.h"
#include "sandbox/rights.h"

static bool on_host(const struct run *r)
{
	return sandbox_acts_on_host(&r->box.sandbox);
}

/* In a run without anybody to ask, on the user's own files, the model is
 * offered only what it may use. */
bool run_offers(const struct run *r, const struct tool *tool)
{
	if ((tool->flags & TOOL_INTERACTIVE && !r->interactive) ||
	    !fs_tools_permit(r->options.fs_tools, tool->spec.name))
		return false;
	if (run_web_has(tool))
		return run_web_offers(r, tool);
	if (tool->flags & TOOL_FOREIGN)
		return r->interactive || r->options.yes ||
		       !(tool->flags & TOOL_ASKS) || run_mcp_allows(r, tool);
	if (tool->with && !run_offers(r, tool_find(tool->with)))
		return false;
	return r->interactive || !on_host(r) || r->options.yes ||
	       !(tool->flags & TOOL_ASKS) || r->options.allow.given;
}

static void refuse_command(const struct run *r, const char *command,
			   struct buf *reason)
{
	buf_addf(reason,
		 "Shell command rejected: `%.400s` is not in the allow-list. "
		 "Allowed commands: ",
		 command);
	allow_list_names(&r->options.allow, reason);
	buf_adds(reason, ". Please use an allowed command or try another "
			 "approach.");
}

static bool runs_command(const struct approval *a)
{
	return a->tool->flags & TOOL_RUNS;
}

static bool is_listed(const struct run *r, const struct approval *a)
{
	return allow_list_permits(&r->options.allow,
				  str_of(json_string(a->args, "command", "")));
}

/* What is offered but may not be: words for the model. */
static void explain_refusal(const struct run *r, struct approval *a)
{
	if (runs_command(a) && r->options.allow.given)
		refuse_command(r, json_string(a->args, "command", ""),
			       &a->reason);
	else if (runs_command(a))
		buf_adds(&a->reason,
			 "Shell commands are not permitted in non-interactive "
			 "mode without a --shell-allow-list. Use "
			 "--shell-allow-list to specify allowed commands.");
	else if (run_web_has(a->tool))
		run_web_refuse(a, &a->reason);
	else if (a->tool->flags & TOOL_FOREIGN)
		buf_addf(
			&a->reason,
			"%s is not permitted in non-interactive mode: it acts "
			"on the user's own machine. Tell the user to run with "
			"--auto-approve, or to name the tool in [mcp] allow of "
			"config.toml.",
			a->tool->spec.name);
	else if (a->place.len)
		buf_addf(&a->reason,
			 "%s is not permitted in non-interactive mode on %s. "
			 "Tell the user to run with --auto-approve.",
			 a->tool->spec.name, a->place.ptr);
	else if (sandbox_is_shared(&r->box.sandbox))
		buf_addf(&a->reason,
			 "%s is not permitted in non-interactive mode on %s, "
			 "which is not isolated. Only reading tools are; tell "
			 "the user to run with --auto-approve.",
			 a->tool->spec.name, a->machine);
	else
		buf_addf(&a->reason,
			 "%s is not permitted in non-interactive mode on the "
			 "user's own machine. Only reading tools are; tell the "
			 "user to run with --auto-approve or with a --sandbox.",
			 a->tool->spec.name);
}

/* Acts on the user's machine whatever the sandbox is, which therefore allows
 * nothing: only what the user has said of this tool, or of all, does. */
static enum run_verdict decide_foreign(const struct run *r,
				       const struct approval *a)
{
	bool asks = a->tool->flags & TOOL_ASKS ||
		    (r->interactive && r->options.reviews_all);

	if (!asks || run_allows_all(r))
		return RUN_ALLOW;
	if (run_web_has(a->tool) ? run_web_allows(r, a)
				 : run_mcp_allows(r, a->tool))
		return RUN_ALLOW;
	return RUN_ASK;
}

/* Decides without asking anybody: allowed, refused, or to be asked about. */
static int decide_call(struct run *r, struct approval *a,
		       enum run_verdict *verdict, const struct stop *stop,
		       struct error *err)
{
	bool host = r->host.provider->flags & SANDBOX_UNISOLATED;
	bool listed = runs_command(a) && r->options.allow.given;
	bool reviews = r->interactive && r->options.reviews_all;

	/* Of a model that calls what it was not offered. */
	if (!fs_tools_permit(r->options.fs_tools, a->tool->spec.name)) {
		buf_addf(&a->reason,
			 "%s is not available in this run (--allow-fs-tools).",
			 a->tool->spec.name);
		*verdict = RUN_REFUSE;
		return 0;
	}
	*verdict = RUN_ALLOW;
	if (a->tool->flags & TOOL_SESSION)
		return 0;
	if (a->tool->flags & TOOL_FOREIGN) {
		*verdict = decide_foreign(r, a);
		return 0;
	}
	if (!(a->tool->flags & TOOL_ASKS)) {
		if (host && a->tool->path_arg)
			*verdict = run_decide_reading(r, a);
		if (*verdict == RUN_ALLOW && reviews && !run_allows_all(r))
			*verdict = RUN_ASK;
		return 0;
	}
	if (run_allows_all(r))
		return 0;
	if (listed && is_listed(r, a) && !reviews)
		return 0;
	/* Unattended, the list also limits commands in a sandbox. */
	if (!on_host(r) && !run_asks(r) && (!listed || r->interactive))
		return 0;
	*verdict = RUN_ASK;
	if (a->tool->path_arg && run_offers(r, a->tool))
		return run_decide_writing(r, a, verdict, stop, err);
	return 0;
}

/* A grant of such a call holds in every sandbox: it acts in none. */
static void set_foreign_place(const struct run *r, struct approval *a)
{
	const struct mcp_entry *e;

	a->machine = "this machine";
	a->sandbox = NULL;
	a->mounted = NULL;
	a->workdir = settings_cwd(r->app->settings);
	buf_clear(&a->place);
	if (run_web_has(a->tool)) {
		run_web_place(r, a, &a->place);
		return;
	}
	e = mcp_server_entry(mcp_server_of(a->tool));
	buf_addf(&a->place, "the MCP server %s%s: ", e->name,
		 e->project ? ", the project's" : "");
	mcp_show_command(r->app, e, &a->place);
}

/* A hook's word counts as the user's, whose it is; but what the machine's
 * policy wants to be asked about is asked about. */
static void judge_by_hooks(struct run *r, struct approval *a,
			   enum run_verdict *verdict)
{
	struct error ignored = { 0 };

	if (*verdict == RUN_ALLOW && a->hook_asks) {
		*verdict = RUN_ASK;
		if (!r->interactive)
			buf_adds(&a->reason,
				 "A hook requires approval for this call, and "
				 "nobody can be asked.");
	} else if (*verdict == RUN_ASK && a->hook_allows &&
		   run_check_yolo(r, &ignored) == 0) {
		*verdict = RUN_ALLOW;
	}
}

int run_decide(struct run *r, struct approval *a, enum run_verdict *verdict,
	       const struct stop *stop, struct error *err)
{
	if (!a->acts_in)
		a->acts_in = &r->box.sandbox;
	a->machine = on_host(r) ? "this machine" : r->host.provider->name;
	/* A grant holds on that machine alone. */
	if (sandbox_is_shared(a->acts_in))
		a->machine = sandbox_called(a->acts_in, a->called,
					    sizeof(a->called));
	a->sandbox = on_host(r) ? NULL : a->acts_in->id;
	a->workdir = a->acts_in->workdir;
	a->mounted = run_bound_directory(a->acts_in);
	if (a->tool->flags & TOOL_FOREIGN)
		set_foreign_place(r, a);
	a->mask = r->app->mask;
	if (decide_call(r, a, verdict, stop, err) < 0)
		return -1;
	judge_by_hooks(r, a, verdict);
	if (*verdict == RUN_ASK && !r->interactive)
		*verdict = RUN_REFUSE;
	if (*verdict == RUN_ASK)
		buf_clear(&a->reason); /* that is for the user to say */
	if (*verdict == RUN_REFUSE && !a->reason.len)
		explain_refusal(r, a);
	a->allowed = *verdict == RUN_ALLOW;
	return 0;
}

void run_limits(const struct run *r, struct buf *out)
{
	const struct allow_list *allow = &r->options.allow;

	if (r->options.yes || (!on_host(r) && !allow->given))
		return;
	if (!allow->given) {
		buf_adds(out,
			 "only read files in the working directory (-S LIST "
			 "allows commands and changes there, -y everything)");
		return;
	}
	buf_adds(out,
		 allow->all ? "run any command" : "run only these commands: ");
	allow_list_names(allow, out);
	if (on_host(r))
		buf_adds(out,
			 ", and change files in the working directory, but not "
			 "in .git or protected names (-y allows everything)");
}

static int forbidden(const char *flag, const char *key,
		     const struct toml_value *v, struct error *err)
{
	return error_set(err, ERR_POLICY,
			 "%s is not allowed on this machine: %s:%d sets %s",
			 flag, SETTINGS_POLICY_FILE, v->line, key);
}

/* -y would go over each of these. */
static int check_yes(const struct settings *set, const char *what,
		     struct error *err)
{
	static const char *const keys[] = { "startup.mode", "shell.allow_list",
					    "startup.yolo_switcher" };

	static const char *const asking[][2] = {
		{ "approvals.sandbox", "ask" },
		{ "approvals.review", "all" },
	};
	const struct toml_value *v;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		v = settings_policy(set, keys[i]);
		if (v && !(v->kind == TOML_BOOL && v->integer))
			return forbidden(what, keys[i], v, err);
	}
	for (size_t i = 0; i < sizeof(asking) / sizeof(asking[0]); i++) {
		v = settings_policy(set, asking[i][0]);
		if (v && v->kind == TOML_STRING &&
		    !strcmp(v->text, asking[i][1]))
			return forbidden(what, asking[i][0], v, err);
	}
	return 0;
}

bool run_allows_all(const struct run *r)
{
	return r->options.yes || r->mode == RUN_YOLO;
}

int run_check_yolo(const struct run *r, struct error *err)
{
	return check_yes(r->app->settings, "yolo", err);
}

bool run_may_auto_edit(const struct run *r)
{
	return !settings_policy(r->app->settings, "startup.mode");
}

const char *run_mode_name(enum run_mode mode)
{
	static const char *const names[] = {
		[RUN_MANUAL] = "manual",
		[RUN_AUTO_EDIT] = "auto-edit",
		[RUN_YOLO] = "yolo",
	};

	return names[mode];
}

int run_policy_apply(struct run_options *o, const struct settings *set,
		     struct error *err)
{
	const struct toml_value *list =
		settings_policy(set, "shell.allow_list");
	const struct toml_value *steps =
		settings_policy(set, "runtime.recursion_limit");

	if (o->yes && check_yes(set, "--auto-approve (-y)", err) < 0)
		return -1;
	if (o->yolo && check_yes(set, "--yolo", err) < 0)
		return -1;
	if (list && o->allow.given)
		return forbidden("--shell-allow-list (-S)", "shell.allow_list",
				 list, err);
	/* A turn is two steps: the model's answer, and its tools. */
	if (steps && (!o->max_turns || o->max_turns > steps->integer / 2))
		o->max_turns = steps->integer / 2;
	return 0;
}

void run_policy_remark(const struct run_options *o, const struct settings *set)
{
	const struct toml_value *box =
		settings_policy(set, "sandboxes.default");

	if (box && box->kind == TOML_STRING && box->text[0] &&
	    !strcmp(o->sandbox, "none"))
		app_warn("[sandboxes] default is '%s', but tools run on this "
			 "machine: --sandbox was not given",
			 box->text);
}

/* policy.c - decides which tool calls run, are refused, or need approval. */
/* SPDX-License-Identifier: MIT */
/*
 * A call is decided by the user's flags and settings, the allow-list, grants of
 * earlier answers, the hooks and, above all, the machine's policy file.
 * run_decide() combines them for one call. A task calls it directly. The chat
 * calls it in judge() (cmd/chat/ask.c), and asks the user if the verdict is
 * RUN_ASK. run_offers() decides which tools the model gets at all. On the
 * user's own machine paths count too (decide_reading(), decide_writing()): with
 * all links resolved, a path must be inside the working directory and not
 * protected.
 *
 * The chat asks the user (cmd/chat). Two questions are asked here: about a
 * sandbox that others may use (run_asks_attached()), and before a user's first
 * yolo (run_set_mode()).
 *
 * In plan mode (RUN_PLAN) the model has only tools that read. run_decide()
 * refuses all other calls, also those of subagents. Each prompt begins
 * with a note that asks for a plan; if the user changes the mode in the middle
 * of a turn, the next result ends with it. A chat then asks whether to carry it
 * out: see cmd/chat/plan_review.c. That approves no call: the earlier mode
 * returns, and the calls of the plan are judged in it like any others.
 */
#include "cmd/session/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/hosts.h"
#include "cmd/print.h"
#include "cmd/secret.h"
#include "cmd/session/mcp_servers.h"
#include "cmd/session/options.h"
#include "cmd/session/run.h"
#include "cmd/session/skills.h"
#include "cmd/session/tools.h"
#include "config/protect.h"
#include "providers/registry.h"
#include "sandbox/files/files.h"
#include "sandbox/sandbox.h"
#include "session/ledger.h"
#include "tool/paths.h"
#include "tool/result.h"
#include "tool/table.h"

enum { OPENS_BYTES = 1 << 13 }; /* of the hosts of a call */

/* Returns the file that records the user's yolo confirmation. */
static char *yolo_file(struct app *app)
{
	struct error ignored = { 0 };

	return app_state_path(app, "yolo-acknowledged", &ignored);
}

/* yolo needs one confirmation per user, remembered in a file. */
bool yolo_acknowledged(struct app *app)
{
	char *name = yolo_file(app);
	bool known = name && access(name, F_OK) == 0;

	free(name);
	return known;
}

void yolo_acknowledge(struct app *app)
{
	struct error err = { 0 };
	char *name = yolo_file(app);
	char *state = app_state_path(app, "", &err);

	app->yolo_confirmed = true;
	if (!name || !state || path_mkdirs(state, 0700, &err) < 0 ||
	    path_write(name, STR("acknowledged\n"), 0600, &err) < 0)
		(void)app_fail(app, &err);
	free(state);
	free(name);
}

/* Returns the path of the file that the tool will use, resolved like the tool
 * does. NULL if the tool would refuse the path. Owned. */
static char *written_path(const struct approval *a)
{
	struct error ignored = { 0 };
	const char *written = json_string(a->args, a->tool->path_arg, ".");
	char *path;

	(void)paths_resolve(a->acts_in->workdir, written, &path, &ignored);
	return path;
}

/* Resolves every link of path on this machine. If path does not exist, resolves
 * the longest part that exists. NULL if that fails. Owned. */
static char *real_path(const char *path)
{
	char *real = realpath(path, NULL);
	char *up;
	char *whole;

	if (real)
		return real;
	up = xstrdup(path);
	while (!real && up[0]) {
		*strrchr(up, '/') = '\0';
		real = realpath(up[0] ? up : "/", NULL);
	}
	whole = real ? xasprintf("%s%s", real[1] ? real : "", path + strlen(up))
		     : NULL;
	free(up);
	free(real);
	return whole;
}

/* Decides about a tool that reads a file on the user's machine. Sets
 * a->real_path if the path contains links. */
static enum run_verdict decide_reading(const struct run *r, struct approval *a)
{
	char *path = written_path(a);
	char *real = path ? real_path(path) : NULL;
	char *workdir = realpath(r->box.sandbox.workdir, NULL);
	enum run_verdict verdict = RUN_ASK;

	if (!path) {
		verdict = RUN_ALLOW;
	} else if (!real || !workdir) {
		buf_addf(&a->reason, "%s cannot be resolved", path);
		verdict = RUN_REFUSE;
	} else if (secret_files_hold(&r->secrets, real)) {
		buf_addf(&a->reason,
			 "%s contains the user's keys: no tool may read it.",
			 real);
		verdict = RUN_REFUSE;
	} else if (run_allows_all(r) || paths_contain(workdir, real) ||
		   evict_is_own(session_id(r->session), real) ||
		   run_skills_may_read(r, real)) {
		verdict = RUN_ALLOW;
	} else {
		buf_addstr(&a->place, str_of(real));
		buf_addf(&a->reason,
			 "%s is outside the working directory, where %s is not "
			 "permitted in non-interactive mode. Use files of the "
			 "working directory, or tell the user to run with "
			 "--auto-approve or with a command for it in "
			 "--shell-allow-list.",
			 real, a->tool->spec.name);
	}
	if (real && strcmp(real, path) != 0)
		a->real_path = real;
	else
		free(real);
	free(workdir);
	free(path);
	return verdict;
}

/* Returns the first protected name in the path, or an empty string. If a
 * directory is deleted, also checks the names in it. */
static struct str protected_name(const struct protect *p,
				 const struct files_target *t)
{
	struct str rest = str_of(t->real + strlen(t->workdir));
	struct str below = buf_str(&t->below);
	struct str name = protect_find(p, rest);
	struct str line;

	while (!name.len && str_split(&below, '\n', &line))
		name = protect_find(p, line);
	rest = str_of(t->workdir);
	while (!name.len && str_split(&rest, '/', &line))
		if (protect_is_git(line))
			name = line;
	return name;
}

/* Appends why a write to the target needs approval; nothing if an unattended
 * run may do it. */
static void find_objection(const struct protect *p, const char *own,
			   const struct files_target *t, struct buf *why)
{
	struct str name = { 0 };

	if (own &&
	    (paths_contain(own, t->real) || paths_contain(t->real, own))) {
		buf_adds(why, "dcode's own files");
		return;
	}

	if (!paths_contain(t->workdir, t->real) ||
	    paths_contain(t->real, t->workdir)) {
		buf_adds(why, "outside the working directory");
		return;
	}
	name = protected_name(p, t);
	if (name.len) {
		buf_adds(why, "protected: ");
		sanitize_line(name, why);
	} else if (t->git) {
		buf_adds(why, "inside a git repository's own files");
	} else if (t->kind == TARGET_FILE && t->names > 1) {
		buf_addf(why, "a file with %lld hard links",
			 (long long)t->names);
	}
}

/* Appends the resolved target for the question to the user, for example
 * "/home/ann/.bashrc (outside the working directory)". Appends nothing if the
 * path in the call already shows the same. */
static void describe_target(const struct run *r, const char *path,
			    const struct files_target *t, struct str why,
			    struct buf *place)
{
	const struct sandbox_mounts *m = &r->box.sandbox.mounts;

	if (!why.len && !strcmp(path, t->real) && t->kind != TARGET_LINK)
		return;
	buf_adds(place, t->real);
	for (size_t i = 0; i < m->n; i++)
		if (paths_contain(m->list[i].inside, t->real))
			buf_addf(place, " = %s%s on this machine",
				 m->list[i].path,
				 t->real + strlen(m->list[i].inside));
	if (t->kind == TARGET_LINK)
		buf_adds(place, " (the link itself, not its target)");
	if (why.len)
		buf_addf(place, " (%.*s)", (int)why.len, why.ptr);
}

/* True if the call may run without a question in auto-edit mode. False for
 * deletions: in a chat the names in a deleted directory are not checked for
 * protected ones. */
static bool is_plain_edit(const struct approval *a, struct str why)
{
	return !why.len && !(a->tool->flags & TOOL_DELETES);
}

/* Decides about a write from the target that the sandbox has resolved. Sets
 * a->place, a->auto_edit and a->real_path. */
static int decide_target(struct run *r, struct approval *a, const char *path,
			 struct files_target *t, enum run_verdict *verdict,
			 struct error *err)
{
	struct protect protect;
	char *own; /* dcode's own directory, which must not be written to;
		      DEEPAGENTS_HOME may have moved it */
	struct buf why = BUF_INIT(1 << 12);

	if (protect_load(&protect, r->app->settings, err) < 0)
		return -1;
	own = run_has_sandbox(r)
		      ? NULL
		      : realpath(settings_dir(r->app->settings), NULL);
	find_objection(&protect, own, t, &why);
	free(own);
	describe_target(r, path, t, buf_str(&why), &a->place);
	a->auto_edit = is_plain_edit(a, buf_str(&why));
	if ((!why.len && !r->interactive) ||
	    (a->auto_edit && r->mode == RUN_AUTO_EDIT))
		*verdict = RUN_ALLOW;
	a->real_path = t->real;
	t->real = NULL;
	buf_release(&why);
	return 0;
}

/* Decides about a tool that writes or deletes. The sandbox resolves the links
 * of the path, because only it can see them; that takes one round trip. */
static int decide_writing(struct run *r, struct approval *a,
			  enum run_verdict *verdict, const struct stop *stop,
			  struct error *err)
{
	bool deletes = a->tool->flags & TOOL_DELETES;
	struct files_target target = { 0 };
	char *path = written_path(a);
	unsigned how = deletes ? RESOLVE_SELF : 0;
	int rc = 0;

	if (deletes && !r->interactive)
		how |= RESOLVE_BELOW;
	*verdict = path ? RUN_ASK : RUN_ALLOW;
	if (path)
		rc = files_resolve(a->acts_in, path, how, &target, stop, err);
	if (path && rc == 0) {
		rc = decide_target(r, a, path, &target, verdict, err);
	} else if (rc < 0 && err->code != ERR_CANCELLED) {
		*verdict = RUN_REFUSE;
		(void)result_file_failed(&a->reason, "Path", path, err);
		rc = 0;
	}
	files_target_release(&target);
	free(path);
	return rc;
}

/* True if this chat asks before some calls unless its mode is yolo. False if it
 * never asks, because the calls run in a sandbox. */
bool run_asks(const struct run *r)
{
	return r->interactive &&
	       (sandbox_acts_on_host(&r->box.sandbox) ||
		r->options.asks_in_sandbox || r->options.reviews_all);
}

/* ledger_find() callback: sets r->box_known if the row is of this provider. */
static bool mark_box_known(void *arg, const struct ledger_row *row)
{
	struct run *r = arg;

	if (!strcmp(row->provider, r->client.provider->name))
		r->box_known = true;
	return true;
}

/* Sets r->box_known if the ledger says that dcode created the attached
 * sandbox. */
static int find_in_ledger(struct run *r, struct error *err)
{
	struct store *store;

	if (app_store(r->app, &store, err) < 0)
		return -1;
	if (ledger_find(store, r->box.sandbox.id, mark_box_known, r, err) < 0 &&
	    err->code != ERR_NOT_FOUND)
		return -1;
	*err = (struct error){ 0 };
	return 0;
}

/* Asks before a chat runs calls without asking in a sandbox that dcode did not
 * create: others may be working in it. */
int run_asks_attached(struct run *r, struct error *err)
{
	struct buf line = BUF_INIT(1 << 12);
	int rc;

	if (!r->interactive || !r->options.sandbox_id ||
	    r->options.asks_given || run_asks(r) || run_allows_all(r))
		return 0;
	if (find_in_ledger(r, err) < 0)
		return -1;
	if (r->box_known)
		return 0;
	buf_adds(&line, "This dcode did not create the sandbox ");
	print_add_line(r->app, &line, r->options.sandbox_id);
	fprintf(stderr,
		"%s\nIf you answer no, dcode asks before every call that "
		"changes something in the sandbox.\nTo stop being asked, set "
		"[approvals] sandbox = \"auto\" or \"ask\".\n",
		line.ptr);
	buf_release(&line);
	rc = secret_confirm(r->app, "Run calls in it without asking? [y/N] ",
			    err);
	r->declined = rc == 0;
	r->options.asks_in_sandbox = r->declined;
	return rc < 0 ? -1 : 0;
}

/* Returns 0 also if the user declines; then the mode stays. */
int run_set_mode(struct run *r, enum run_mode mode, struct error *err)
{
	int rc = 1;

	if (run_check_mode(r, mode, err) < 0)
		return -1;
	if (mode == RUN_YOLO && !yolo_acknowledged(r->app)) {
		rc = secret_confirm(r->app,
				    "yolo runs every call without asking, on "
				    "this machine too. Allow it? [y/N] ",
				    err);
		if (rc > 0)
			yolo_acknowledge(r->app);
	}
	if (rc > 0)
		r->mode = (int)mode;
	if (rc > 0 && mode == RUN_YOLO)
		r->app->yolo_confirmed = true;
	if (rc > 0 && mode != RUN_PLAN)
		r->before_plan = (int)mode;
	return rc < 0 ? -1 : 0;
}

static bool on_host(const struct run *r)
{
	return sandbox_acts_on_host(&r->box.sandbox);
}

/* An unattended run that acts on the user's own files offers only tools that it
 * may use. */
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

/* Tells the model why a command was refused, so that it can try another. */
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

/* Tells the model why the call was refused, although the tool was offered. */
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
			 "which is not isolated. Only tools that read are "
			 "permitted. Tell the user to run with --auto-approve.",
			 a->tool->spec.name, a->machine);
	else
		buf_addf(&a->reason,
			 "%s is not permitted in non-interactive mode on the "
			 "user's own machine. Only tools that read are "
			 "permitted. Tell the user to run with --auto-approve "
			 "or with a --sandbox.",
			 a->tool->spec.name);
}

/* Decides about tools that act on the user's machine even if there is a
 * sandbox. Only permission for this tool, or for everything, allows them. */
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

/* Decides from the options, settings and paths whether the call is allowed,
 * refused or needs approval. Asks nobody. */
static int decide_call(struct run *r, struct approval *a,
		       enum run_verdict *verdict, const struct stop *stop,
		       struct error *err)
{
	bool listed = runs_command(a) && r->options.allow.given;
	bool reviews = r->interactive && r->options.reviews_all;

	/* a model may call a tool that it was not offered */
	if (!fs_tools_permit(r->options.fs_tools, a->tool->spec.name)) {
		buf_addf(&a->reason,
			 "%s is not available in this run (--allow-fs-tools).",
			 a->tool->spec.name);
		*verdict = RUN_REFUSE;
		return 0;
	}
	if (plan_mode_refuses(r, a->tool, &a->reason)) {
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
		if (!run_has_sandbox(r) && a->tool->path_arg)
			*verdict = decide_reading(r, a);
		if (*verdict == RUN_ALLOW && reviews && !run_allows_all(r))
			*verdict = RUN_ASK;
		return 0;
	}
	if (run_allows_all(r))
		return 0;
	if (listed && !reviews &&
	    allow_list_permits(&r->options.allow,
			       str_of(json_string(a->args, "command", ""))))
		return 0;
	/* The allow-list also limits the commands of an unattended run in a
	 * sandbox. */
	if (!on_host(r) && !run_asks(r) && (!listed || r->interactive))
		return 0;
	*verdict = RUN_ASK;
	if (a->tool->path_arg && run_offers(r, a->tool))
		return decide_writing(r, a, verdict, stop, err);
	return 0;
}

/* For a call that acts outside the sandbox, sets the place for the question and
 * for grants. It has no sandbox's id, so a grant is valid with every
 * sandbox. */
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

/* Applies the hooks' decision. A hook may approve a call like the user, except
 * if the machine's policy forbids yolo. */
static void apply_hook_decision(struct run *r, struct approval *a,
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
		   run_check_mode(r, RUN_YOLO, &ignored) == 0) {
		*verdict = RUN_ALLOW;
	}
}

/* A call that names hosts outside the network list is always asked about: no
 * mode, flag, hook or earlier answer opens a host. */
static void decide_hosts(struct run *r, struct approval *a,
			 enum run_verdict *verdict)
{
	int found;

	buf_clear(&a->opens);
	a->opens.max = OPENS_BYTES;
	if (*verdict == RUN_REFUSE || !runs_command(a))
		return;
	found = hosts_read(a->acts_in, a->args, &a->opens, &a->reason);
	if (found)
		*verdict = found < 0 ? RUN_REFUSE : RUN_ASK;
	if (found > 0 && !r->interactive) {
		contacts_refuse(&r->contacts, buf_str(&a->opens));
		buf_clear(&a->reason);
		buf_addf(&a->reason,
			 "Error: these hosts are not in the network list, and "
			 "nobody can be asked in non-interactive mode: %s",
			 a->opens.ptr);
	}
}

/* Without a user, a call that needs approval is refused. */
int run_decide(struct run *r, struct approval *a, enum run_verdict *verdict,
	       const struct stop *stop, struct error *err)
{
	if (!a->acts_in)
		a->acts_in = &r->box.sandbox;
	a->machine = on_host(r) ? "this machine" : r->client.provider->name;
	/* a grant for a shared machine must not match another one */
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
	apply_hook_decision(r, a, verdict);
	decide_hosts(r, a, verdict);
	if (*verdict == RUN_ASK && !r->interactive)
		*verdict = RUN_REFUSE;
	if (*verdict == RUN_ASK)
		buf_clear(&a->reason); /* the reason is for the model; a
					  question does not use it */
	if (*verdict == RUN_REFUSE && !a->reason.len)
		explain_refusal(r, a);
	a->allowed = *verdict == RUN_ALLOW;
	return 0;
}

/* For the first lines of an unattended run. */
void run_limits(const struct run *r, struct buf *out)
{
	const struct allow_list *allow = &r->options.allow;

	if (r->mode == RUN_PLAN) {
		buf_adds(out, "only read, and write a plan (--approval-mode "
			      "plan)");
		return;
	}
	if (r->options.yes || (!on_host(r) && !allow->given))
		return;
	if (!allow->given) {
		buf_adds(out, "only read files in the working directory (-S "
			      "LIST also allows these commands and file "
			      "changes, -y allows everything)");
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

static int refuse_by_policy(const char *flag, const char *key,
			    const struct toml_value *v, struct error *err)
{
	return error_set(err, ERR_POLICY,
			 "%s is not allowed on this machine: %s:%d sets %s",
			 flag, SETTINGS_POLICY_FILE, v->line, key);
}

/* ERR_POLICY if -y or yolo (what) would bypass one of these settings. */
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
			return refuse_by_policy(what, keys[i], v, err);
	}
	for (size_t i = 0; i < sizeof(asking) / sizeof(asking[0]); i++) {
		v = settings_policy(set, asking[i][0]);
		if (v && v->kind == TOML_STRING &&
		    !strcmp(v->text, asking[i][1]))
			return refuse_by_policy(what, asking[i][0], v, err);
	}
	return 0;
}

/* Flags may be stricter than the policy, but not less strict. */
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
		return refuse_by_policy("--shell-allow-list (-S)",
					"shell.allow_list", list, err);
	/* One turn has two steps: the model's answer and its tool calls. */
	if (steps && (!o->max_turns || o->max_turns > steps->integer / 2)) {
		o->max_turns = steps->integer / 2;
		o->turns_by_policy = true;
	}
	return 0;
}

void run_policy_remark(const struct run_options *o, const struct settings *set)
{
	const struct toml_value *box =
		settings_policy(set, "sandboxes.default");

	if (box && box->kind == TOML_STRING && box->text[0] &&
	    sandbox_is_none(o->sandbox))
		app_warn("[sandboxes] default is '%s', but tools run on this "
			 "machine: --sandbox was not given",
			 box->text);
}

int run_check_mode(const struct run *r, enum run_mode mode, struct error *err)
{
	const struct settings *set = r->app->settings;
	const struct toml_value *manual = settings_policy(set, "startup.mode");

	if (mode == RUN_YOLO)
		return check_yes(set, "yolo", err);
	if (mode == RUN_AUTO_EDIT && manual)
		return error_set(
			err, ERR_POLICY,
			"auto-edit is not allowed on this machine: %s:%d sets "
			"startup.mode",
			SETTINGS_POLICY_FILE, manual->line);
	return 0;
}

void run_end_plan(struct run *r)
{
	struct error ignored = { 0 };
	enum run_mode mode = (enum run_mode)r->before_plan;

	r->mode =
		run_check_mode(r, mode, &ignored) == 0 ? (int)mode : RUN_MANUAL;
}

/* Plan mode: the model reads and plans, and changes nothing. */

/* True for a tool that plan mode permits: it only reads, or acts on the
 * conversation alone. The web tools are among them. */
static bool permits_tool(const struct tool *tool)
{
	/* Only the server itself claims that its tool just reads. */
	if (tool->flags & TOOL_FOREIGN)
		return run_web_has(tool);
	if (tool == &tool_job_kill)
		return false;
	return tool->flags & (TOOL_READS | TOOL_SESSION);
}

bool plan_mode_hides(const struct run *r, const struct tool *tool)
{
	if (tool == &tool_present_plan)
		return r->mode != RUN_PLAN || !r->app->asker;
	return r->mode == RUN_PLAN && !permits_tool(tool);
}

bool plan_mode_refuses(const struct run *r, const struct tool *tool,
		       struct buf *reason)
{
	if (!plan_mode_hides(r, tool))
		return false;
	if (tool == &tool_present_plan) {
		buf_adds(reason, "Refused: not in plan mode\n"
				 "There is no plan to accept: the user has "
				 "left plan mode. Do the work.");
		return true;
	}
	/* The user sees the first line, the model all. */
	buf_addf(reason,
		 "Refused: plan mode\n"
		 "%s is not available in plan mode: only tools that read are. "
		 "Do not try another way to change something. Write the plan; "
		 "the user decides about it.",
		 tool->spec.name);
	return true;
}

const char *plan_mode_note(const struct run *r)
{
	return r->mode == RUN_PLAN ? MESSAGE_NOTE_PLAN : NULL;
}

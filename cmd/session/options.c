/* options.c - reads the options of a run from the command line and settings. */
/* SPDX-License-Identifier: MIT */

/*
 * This file does not need a sandbox, a model or a key. run_options_read() reads
 * the flags and checks each one. The *_resolve() functions add settings and
 * provider defaults, in the order in which run_read_flags() (open.c) calls
 * them. policy.c enforces the machine's policy file. Begin reading at
 * run_options_read().
 *
 * fs_tools_parse() and run_sandbox_resolve() use the reference program's
 * wording for usage errors, because the flags are the same.
 */
#include "cmd/session/options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/app.h"
#include "cmd/session/copy.h"
#include "cmd/session/mode.h"
#include "model/catalog.h"
#include "model/money.h"
#include "model/params.h"
#include "providers/registry.h"
#include "sandbox/bind.h"
#include "sandbox/setup/setup.h"
#include "trust/trust.h"
#include "worktree/user_repo.h"

enum { FS_TOOLS_ALL = 0, FS_NAMES_BYTES = 200 };

/* Name i has bit 1 << (i + 1). */
static const char *const fs_tool_names[] = { "ls",         "read_file",
					     "write_file", "edit_file",
					     "delete",     "glob",
					     "grep",       "execute" };

enum { N_FS_TOOLS = sizeof(fs_tool_names) / sizeof(*fs_tool_names) };

/* Returns a tool's bit, 0 if --allow-fs-tools does not cover the tool. */
static unsigned fs_tool_bit(struct str name)
{
	for (unsigned i = 0; i < N_FS_TOOLS; i++)
		if (str_is_nocase(name, fs_tool_names[i]))
			return 1u << (i + 1);
	return 0;
}

static int refuse_unknown(const struct buf *unknown, struct error *err)
{
	struct buf valid = BUF_INIT(FS_NAMES_BYTES);

	for (size_t i = 0; i < N_FS_TOOLS; i++)
		buf_addf(&valid, "%s%s", i ? ", " : "", fs_tool_names[i]);
	error_set(err, ERR_USAGE,
		  "--allow-fs-tools has unknown tool name(s): %s. Valid "
		  "names: %s",
		  unknown->ptr, valid.ptr);
	buf_release(&valid);
	return -1;
}

/* Parses the list of names. *n is their number, *all is set if one is "all".
 * Unknown names are appended to the buffer. */
static unsigned read_names(const char *text, size_t *n, bool *all,
			   struct buf *unknown)
{
	struct str rest = str_of(text);
	struct str name;
	unsigned bits = 0;

	while (str_split(&rest, ',', &name)) {
		name = str_trim(name);
		if (!name.len)
			continue;
		(*n)++;
		if (str_is_nocase(name, "all")) {
			*all = true;
		} else if (!fs_tool_bit(name)) {
			buf_adds(unknown, unknown->len ? ", " : "");
			buf_addstr(unknown, name);
		}
		bits |= fs_tool_bit(name);
	}
	return bits;
}

/* Parses "all" or a comma-separated list, ignoring case. text NULL means all.
 * Errors use the reference's wording for --allow-fs-tools (ERR_USAGE). */
static int fs_tools_parse(const char *text, unsigned *bits, struct error *err)
{
	struct buf unknown = BUF_INIT(FS_NAMES_BYTES);
	bool all = false;
	size_t n = 0;
	int rc = 0;

	*bits = FS_TOOLS_ALL;
	if (!text)
		return 0;
	*bits = read_names(text, &n, &all, &unknown);
	if (!str_trim(str_of(text)).len)
		rc = error_set(err, ERR_USAGE,
			       "--allow-fs-tools requires a value");
	else if (!n)
		rc = error_set(err, ERR_USAGE,
			       "--allow-fs-tools list must contain at least "
			       "one non-empty tool name");
	else if (all && n > 1)
		rc = error_set(err, ERR_USAGE,
			       "--allow-fs-tools: 'all' cannot be combined "
			       "with other tool names");
	else if (unknown.len)
		rc = refuse_unknown(&unknown, err);
	else if (!all && !(*bits & fs_tool_bit(STR("read_file"))))
		rc = error_set(err, ERR_USAGE,
			       "--allow-fs-tools must include 'read_file': "
			       "long results are read with it");
	if (all)
		*bits = FS_TOOLS_ALL;
	buf_release(&unknown);
	return rc;
}

bool fs_tools_permit(unsigned bits, const char *name)
{
	unsigned bit = fs_tool_bit(str_of(name));

	return bits == FS_TOOLS_ALL || !bit || bits & bit;
}

static void add_pattern(const char ***all, size_t *n, const char *pattern)
{
	*all = xrealloc(*all, *n + 1, sizeof(**all));
	(*all)[(*n)++] = pattern;
}

const char **include_read(struct app *app, const struct args *args, size_t *n,
			  struct error *err)
{
	const char *const *names = NULL;
	const char **all;
	const char *one;
	struct settings *set;
	size_t n_names;
	size_t at = 0;

	*n = 0;
	if (app_settings(app, &set, err) < 0 ||
	    settings_list(set, NULL, "workspace.include", &names, &n_names,
			  err) < 0)
		return NULL;
	all = xcalloc(1, sizeof(*all));
	for (size_t i = 0; i < n_names; i++)
		add_pattern(&all, n, names[i]);
	for (size_t i = 0; app->chat && i < app->chat->n_include; i++)
		add_pattern(&all, n, app->chat->include[i]);
	while (args && (one = args_next(args, "include", &at)))
		add_pattern(&all, n, one);
	return all;
}

/* Settings of [workspace] that limit fetches and saved patches. */
static const struct limit {
	const char *key;
	const char *name;
	const char *unit;
	int64_t least;
} fetch_mb = { "workspace.fetch_mb", "fetch_mb", "MiB", 1 },
  file_mb = { "workspace.file_mb", "file_mb", "MiB", 1 },
  patches_days = { "workspace.patches_days", "patches_days", "days", 0 },
  patches_mb = { "workspace.patches_mb", "patches_mb", "MiB", 0 };

/* Reads a size limit. On -1 *value is the default, and err suggests it. */
static int read_limit(const struct settings *set, const struct limit *l,
		      int64_t *value, struct error *err)
{
	int64_t normal = settings_int_default(set, l->key);
	int rc = settings_int(set, NULL, l->key, value, err);

	if (rc == 0 && (*value < l->least || *value > INT64_MAX >> 22))
		rc = error_set(err, ERR_CONFIG,
			       "[workspace] %s = %" PRId64
			       ": use %s, at least %" PRId64,
			       l->name, *value, l->unit, l->least);
	if (rc == 0)
		return 0;
	*value = normal;
	return error_hint(err, "Set [workspace] %s = %" PRId64 ", its default.",
			  l->name, normal);
}

/* Checks all size limits before the run needs one. */
static int limits_check(const struct settings *set, struct error *err)
{
	int64_t ignored;

	if (read_limit(set, &fetch_mb, &ignored, err) < 0 ||
	    read_limit(set, &file_mb, &ignored, err) < 0 ||
	    read_limit(set, &patches_days, &ignored, err) < 0)
		return -1;
	return read_limit(set, &patches_mb, &ignored, err);
}

int limits_read(const struct settings *set, struct fetch_request *r,
		struct error *err)
{
	int64_t total, file;

	if (read_limit(set, &fetch_mb, &total, err) < 0 ||
	    read_limit(set, &file_mb, &file, err) < 0)
		return -1;
	r->total_max = total << 20;
	r->file_max = file << 20;
	return 0;
}

/* Returns bytes. An invalid setting must not prevent saving the work of a
 * sandbox that is about to be deleted. */
static int64_t read_or_default(const struct settings *set,
			       const struct limit *l)
{
	struct error err = { 0 };
	int64_t mib;

	if (read_limit(set, l, &mib, &err) < 0)
		app_warn("%s; using %" PRId64 " MiB", err.message, mib);
	return mib << 20;
}

void limits_read_or_default(const struct settings *set, struct fetch_request *r)
{
	r->total_max = read_or_default(set, &fetch_mb);
	r->file_max = read_or_default(set, &file_mb);
}

enum { SPEC_BYTES = 1 << 16, ENTRY_BYTES = 64 << 20 };

/* Cuts LOCAL or REMOTE off *text, with the colon after it. "\:" stands for a
 * literal colon. Owned. */
static char *split_side(const char **text)
{
	struct buf side = BUF_INIT(SPEC_BYTES);

	for (; **text && **text != ':'; ++*text) {
		if (**text == '\\' && (*text)[1] == ':')
			++*text;
		buf_addc(&side, **text);
	}
	*text += **text == ':';
	return buf_detach(&side);
}

int transfer_option_set(struct transfer_option *t, const char *option,
			const char *first, const char *second,
			struct error *err)
{
	const char *home = getenv("HOME");
	const char *local = t->uploads ? first : second;

	t->local = path_expand(local[0] ? local : ".", home ? home : "/");
	t->remote = xstrdup(t->uploads ? second : first);
	t->entries = BUF_INIT(ENTRY_BYTES);
	if (!first[0])
		return error_set(err, ERR_USAGE, "argument %s: %s is empty",
				 option, t->uploads ? "LOCAL" : "REMOTE");
	if (!t->uploads && !strcmp(second, "-"))
		return error_set(err, ERR_USAGE,
				 "argument %s: LOCAL must be a file or "
				 "directory, not standard output",
				 option);
	return 0;
}

void transfer_option_release(struct transfer_option *t)
{
	free(t->local);
	free(t->remote);
	free(t->target);
	buf_release(&t->entries);
}

/* Reads all uses of one option: "--upload" or "--download". */
static int add_all(struct transfer_options *t, const struct args *args,
		   const char *name, struct error *err)
{
	const char *spec;
	size_t at = 0;
	int rc = 0;

	while (rc == 0 && (spec = args_next(args, name + 2, &at))) {
		struct transfer_option *last = &t->list[t->n++];
		char *first = split_side(&spec);

		last->uploads = !strcmp(name, "--upload");
		last->force = t->force;
		last->bring = t->bring;
		last->n_bring = t->n_bring;
		rc = transfer_option_set(last, name, first, spec, err);
		free(first);
	}
	return rc;
}

/* Reads --upload and --download. ERR_USAGE. Always release t afterwards. */
static int transfer_options_read(struct transfer_options *t,
				 const struct args *args, struct error *err)
{
	const char *name;
	size_t at = 0;

	t->list = xcalloc(ARGS_MOST, sizeof(*t->list));
	t->bring = xcalloc(ARGS_MOST, sizeof(*t->bring));
	while ((name = args_next(args, "bring", &at)))
		t->bring[t->n_bring++] = name;
	if (t->n_bring && !args_value(args, "download"))
		return error_set(err, ERR_USAGE,
				 "--bring requires --download: it adds files "
				 "of this name, such as .git");
	t->force = args_flag(args, "force");
	if (t->force && !args_value(args, "download") &&
	    !args_value(args, "upload"))
		return error_set(err, ERR_USAGE,
				 "--force requires --upload or --download: it "
				 "lets them replace files");
	if (add_all(t, args, "--upload", err) < 0)
		return -1;
	return add_all(t, args, "--download", err);
}

/* Fails unless the destination's directory exists. */
static int check_parent(const char *target, struct error *err)
{
	const char *slash = strrchr(target, '/');
	char *parent = slash ? xstrndup(target, (size_t)(slash - target) + 1)
			     : xstrdup(".");
	struct stat st;
	int rc = 0;

	if (stat(parent, &st) < 0)
		rc = error_errno(err, "%s", parent);
	else if (!S_ISDIR(st.st_mode))
		rc = error_set(err, ERR_USAGE, "%s is not a directory", parent);
	free(parent);
	return rc;
}

/* Checks that the source is readable or the target does not exist. */
static int check_transfer(const struct transfer_option *t, bool force,
			  struct error *err)
{
	struct incoming in = { .bring = t->bring, .n_bring = t->n_bring };
	char *target;
	int rc;

	if (t->uploads)
		return copy_check_local(t->local, err);
	target = copy_local_target(t->local, t->remote);
	rc = check_parent(target, err);
	if (rc == 0)
		rc = incoming_check(&in, target, err);
	if (rc == 0 && !force)
		rc = copy_check_free(target, err);
	free(target);
	return rc;
}

/* Returns the destination in a canonical form, in which two of them can be
 * compared. Owned. */
static char *resolve_destination(const struct transfer_option *t)
{
	char *target = t->uploads ? copy_join(t->remote, true, t->local)
				  : copy_local_target(t->local, t->remote);
	char *slash = t->uploads ? NULL : strrchr(target, '/');
	char *parent = slash ? xstrndup(target, (size_t)(slash - target) + 1)
			     : xstrdup(".");
	char *real = t->uploads ? NULL : realpath(parent, NULL);
	char *place = real ? path_join(real, slash ? slash + 1 : target)
			   : xstrdup(target);

	free(target);
	free(parent);
	free(real);
	return place;
}

/* Refuses two uploads or two downloads with the same destination. */
static int check_two(const struct transfer_option *a,
		     const struct transfer_option *b, struct error *err)
{
	char *first = resolve_destination(a);
	char *second = resolve_destination(b);
	int rc = 0;

	if (a->uploads == b->uploads && !strcmp(first, second)) {
		error_set(err, ERR_USAGE, "%s and %s both go to %s",
			  a->uploads ? a->local : a->remote,
			  a->uploads ? b->local : b->remote, first);
		rc = error_hint(err,
				"Choose another destination for one of them.");
	}
	free(first);
	free(second);
	return rc;
}

/* Before a sandbox is created, finds missing sources, existing targets and
 * transfers to the same destination. */
static int transfer_options_check(const struct transfer_options *t,
				  struct error *err)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct transfer_option *one = &t->list[i];
		int rc = check_transfer(one, t->force, err);

		for (size_t k = 0; k < i && rc == 0; k++)
			rc = check_two(&t->list[k], one, err);
		if (rc < 0) {
			err->code = ERR_USAGE;
			return error_wrap(err, "argument %s",
					  one->uploads ? "--upload"
						       : "--download");
		}
	}
	return 0;
}

static void transfer_options_release(struct transfer_options *t)
{
	for (size_t i = 0; i < t->n; i++)
		transfer_option_release(&t->list[i]);
	free(t->list);
	free(t->bring);
	*t = (struct transfer_options){ 0 };
}

/* True for a linked worktree: its .git has the repository's absolute path. */
static bool is_worktree(const struct settings *set, const char *root)
{
	struct bind_git git;
	bool is = bind_git_find(&git, set, root) &&
		  strcmp(git.git_dir, git.common) != 0;

	bind_git_release(&git);
	return is;
}

/* Sets a parameter of the chosen provider, with the precedence of a flag. */
static int set_param(const struct run_options *o, struct settings *set,
		     const char *key, const char *value, struct error *err)
{
	char *path =
		xasprintf("sandboxes.providers.%s.params.%s", o->sandbox, key);
	int rc = settings_set_flag(set, path, value, err);

	free(path);
	return rc;
}

/* Mounts the directory in a new sandbox. A linked worktree keeps its path,
 * because it refers to its repository by absolute paths. */
static int bind_new(struct run_options *o, const struct sandbox_binding *b,
		    struct settings *set, struct error *err)
{
	bool is_repository;
	char *root;
	int rc;

	if (o->sandbox_id)
		return error_set(err, ERR_USAGE,
				 "--workspace bind needs a new sandbox and "
				 "cannot be combined with --sandbox-id");
	root = user_repo_root(settings_cwd(set), &is_repository, err);
	if (!root)
		return -1;
	rc = set_param(o, set, b->key, root, err);
	if (rc == 0 && b->path_key && is_worktree(set, root) &&
	    settings_source(set, o->sandbox, b->path_key) <= SOURCE_DEFAULT)
		rc = set_param(o, set, b->path_key, root, err);
	free(root);
	return rc;
}

/* Turns --workspace bind (by_flag) or the setting into a parameter of the
 * provider, which checks it. */
static int run_bind_resolve(struct run_options *o, struct settings *set,
			    bool by_flag, struct error *err)
{
	const struct sandbox_provider *p = sandbox_provider_find(o->sandbox);
	const struct sandbox_binding *b = p ? p->binding : NULL;

	if (b && b->value)
		return set_param(o, set, b->key, b->value, err);
	if (b && (by_flag || !o->sandbox_id))
		return bind_new(o, b, set, err);
	if (!by_flag) {
		/* Only the flag is an error if the provider cannot bind. */
		o->workspace = NULL;
		return 0;
	}
	error_set(err, ERR_USAGE,
		  "--workspace bind is not supported by provider '%s'",
		  o->sandbox);
	return error_hint(err, "Use --workspace repo, which sends a copy.");
}

enum { HISTORY_MOST = 100000 }; /* commits */

static bool is_mode(const char *word)
{
	return !strcmp(word, "repo") || !strcmp(word, "none") ||
	       !strcmp(word, "bind");
}

/* Collects the patterns of the setting, then those of --include. */
static int read_include(struct run_options *o, const struct settings *set,
			const struct args *args, struct error *err)
{
	const char *const *names = NULL;
	const char *one;
	size_t n = 0;
	size_t at = 0;

	if (settings_list(set, NULL, "workspace.include", &names, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		add_pattern(&o->include, &o->n_include, names[i]);
	while ((one = args_next(args, "include", &at)))
		add_pattern(&o->include, &o->n_include, one);
	return 0;
}

/* Reads --history or the setting; number of commits. */
static int read_history(struct run_options *o, const struct settings *set,
			const struct args *args, struct error *err)
{
	const char *flag = args_value(args, "history");

	if (settings_int(set, NULL, "workspace.history", &o->history, err) < 0)
		return -1;
	if (!flag && o->history >= 0 && o->history <= HISTORY_MOST)
		return 0;
	if (!flag)
		return error_set(err, ERR_CONFIG,
				 "[workspace] history = %" PRId64
				 ": use 0 to %d",
				 o->history, HISTORY_MOST);
	if (!str_to_int(str_of(flag), &o->history) || o->history < 0 ||
	    o->history > HISTORY_MOST)
		return error_set(err, ERR_USAGE,
				 "argument --history: use 0 to %d, not '%s'",
				 HISTORY_MOST, flag);
	return 0;
}

/* Returns a given flag that needs the tree in the sandbox, or NULL. */
static const char *tree_flag(const struct run_options *o,
			     const struct args *args, bool unattended)
{
	if (unattended && o->apply)
		return "--apply";
	if (unattended && o->branch)
		return "--branch";
	if (args_value(args, "include"))
		return "--include";
	return args_value(args, "history") && o->history ? "--history" : NULL;
}

/* Refuses such a flag unless the tree is sent, the user may be asked to send
 * it, or a resumed thread may already have it. */
static int check_tree(const struct run_options *o, const struct args *args,
		      bool unattended, struct error *err)
{
	const char *flag = tree_flag(o, args, unattended);
	bool may_send = o->workspace ? !strcmp(o->workspace, "repo")
				     : !unattended || o->resume;

	if (!flag || (may_send && !sandbox_is_none(o->sandbox)))
		return 0;
	error_set(err, ERR_USAGE,
		  "%s requires --workspace repo and a --sandbox provider",
		  flag);
	if (o->push)
		return error_hint(err,
				  "Without them the changes are in this "
				  "directory: push them with your own git.");
	return -1;
}

int run_workspace_resolve(struct run_options *o, struct app *app,
			  const struct args *args, struct error *err)
{
	const char *flag = args_value(args, "workspace");
	struct settings *set;

	if (app_settings(app, &set, err) < 0 ||
	    settings_string(set, NULL, "workspace.mode", &o->workspace, err) <
		    0 ||
	    read_include(o, set, args, err) < 0 ||
	    read_history(o, set, args, err) < 0)
		return -1;
	if (o->workspace && !is_mode(o->workspace))
		return error_set(err, ERR_CONFIG,
				 "[workspace] mode = \"%s\": use repo, none or"
				 " bind",
				 o->workspace);
	if (flag && !is_mode(flag))
		return error_set(err, ERR_USAGE,
				 "argument --workspace: invalid choice: '%s' "
				 "(choose from 'repo', 'none', 'bind')",
				 flag);
	if (flag)
		o->workspace = flag;
	/* On this machine the tools already work in the tree. A setting is
	 * ignored, because it is meant for runs with a sandbox; a flag is
	 * refused. */
	if (sandbox_is_none(o->sandbox)) {
		o->workspace = NULL;
		if (flag && strcmp(flag, "none") != 0)
			return error_set(err, ERR_USAGE,
					 "--workspace requires a --sandbox "
					 "provider");
	}
	if (check_tree(o, args, app->unattended, err) < 0)
		return -1;
	if (!sandbox_is_none(o->sandbox) && limits_check(set, err) < 0)
		return -1;
	if (o->workspace && !strcmp(o->workspace, "bind"))
		return run_bind_resolve(o, set, flag != NULL, err);
	return 0;
}

enum { NAMES_SHOWN = 200 };

/* least is the minimum, 0 or 1. Leaves *value unchanged without the flag. */
static int read_integer(const struct args *args, const char *name,
			int64_t least, int64_t *value, struct error *err)
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

/* Parses an amount in US dollars. *amount is in trillionths of a dollar. */
static int read_amount(const struct args *args, const char *name,
		       int64_t *value, struct error *err)
{
	const char *text = args_value(args, name);

	if (!text || money_read(str_of(text), value))
		return 0;
	return error_set(err, ERR_USAGE,
			 "argument --%s: must be an amount in US dollars above "
			 "0, such as 5 or 0.50, got '%s'",
			 name, text);
}

int run_read_network(struct network *n, const struct args *args,
		     struct error *err)
{
	const char *list[ARGS_MOST];
	const char *entry;
	size_t count = 0;
	size_t at = 0;

	while (count < ARGS_MOST &&
	       (entry = args_next(args, "sandbox-network", &at)))
		list[count++] = entry;
	if (!count)
		return 0;
	if (network_parse(n, list, count, err) < 0)
		return error_wrap(err, "argument --sandbox-network");
	n->source = xstrdup("--sandbox-network");
	return 0;
}

/* Refuses flags that exclude each other. */
static int check_together(const struct run_options *o, struct error *err)
{
	if (o->apply && o->branch)
		return error_set(
			err, ERR_USAGE,
			"--apply cannot be combined with --branch: --apply "
			"writes to the working tree, --branch does not");
	if (o->push && !o->branch)
		return error_set(err, ERR_USAGE, "--push needs --branch NAME");
	if ((o->remote || o->pr) && !o->push)
		return error_set(err, ERR_USAGE, "--%s needs --push",
				 o->pr ? "pr" : "remote");
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
	if (o->sandbox_id && o->network.mode)
		return error_set(err, ERR_USAGE,
				 "--sandbox-network cannot be combined with "
				 "--sandbox-id: a sandbox keeps the network "
				 "that it was made with");
	return 0;
}

/* Returns the kinds (trust.h) that --trust-project... allows without asking. */
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

/* Refuses empty values and flags that have no effect. */
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

/* Reads --approval-mode. Without a chat only "plan" differs from "manual",
 * because nobody is asked. */
static int read_mode(struct run_options *o, const char *word, struct error *err)
{
	static const enum run_mode modes[] = { RUN_MANUAL, RUN_AUTO_EDIT,
					       RUN_PLAN };
	size_t i = 0;

	if (!word)
		return 0;
	while (i < 3 && strcmp(word, mode_name(modes[i])) != 0)
		i++;
	if (i == 3)
		return error_set(err, ERR_USAGE,
				 "--approval-mode %s: use manual, auto-edit or "
				 "plan",
				 word);
	if (o->task && modes[i] == RUN_AUTO_EDIT)
		return error_set(err, ERR_USAGE,
				 "--approval-mode auto-edit needs a chat; with "
				 "-n use -S LIST or -y");
	o->mode = (int)modes[i];
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
		.push = args_flag(args, "push"),
		.pr = args_flag(args, "pr"),
		.remote = args_value(args, "remote"),
		.output = args_value(args, "output"),
	};
	if (transfer_options_read(&o->transfers, args, err) < 0)
		return -1;
	if (check_words(o, err) < 0)
		return -1;
	if (read_integer(args, "max-turns", 1, &o->max_turns, err) < 0 ||
	    read_amount(args, "max-usd", &o->max_usd, err) < 0 ||
	    read_integer(args, "timeout", 1, &o->timeout_s, err) < 0 ||
	    read_integer(args, "max-retries", 0, &retries, err) < 0 ||
	    fs_tools_parse(args_value(args, "allow-fs-tools"), &o->fs_tools,
			   err) < 0 ||
	    run_read_network(&o->network, args, err) < 0)
		return -1;
	if (allow && allow_list_parse(&o->allow, allow, err) < 0)
		return -1;
	if (read_mode(o, args_value(args, "approval-mode"), err) < 0)
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
	network_release(&o->network);
	free(o->agent);
	free(o->scope);
	o->agent = o->scope = NULL;
	free(o->include);
	o->include = NULL;
	o->n_include = 0;
}

/* If config.toml could not be read, the provider or default may be missing for
 * that reason: appends a note, cut to the room in the message. */
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

/* Appends the names of all providers, up to NAMES_SHOWN bytes. */
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

/* Lists the known providers and suggests the most similar one. */
static int refuse_provider(struct app *app, struct registry *registry,
			   const char *name, struct error *err)
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

/* Refuses flags about a sandbox if tools run on this machine. */
static int refuse_without_sandbox(const struct run_options *o,
				  struct error *err)
{
	static const char text[] = "%s requires a --sandbox provider";

	if (o->snapshot)
		return error_set(err, ERR_USAGE, text,
				 "--sandbox-snapshot-name");
	if (o->sandbox_id)
		return error_set(err, ERR_USAGE, text, "--sandbox-id");
	if (o->setup)
		return error_set(err, ERR_USAGE, text, "--sandbox-setup");
	if (o->network.mode)
		return error_set(err, ERR_USAGE, text, "--sandbox-network");
	if (o->transfers.n)
		return error_set(err, ERR_USAGE, text,
				 o->transfers.list[0].uploads ? "--upload"
							      : "--download");
	return 0;
}

/* Refuses flags that the chosen provider does not support. */
static int check_flags(const struct run_options *o,
		       const struct sandbox_provider *p, struct error *err)
{
	static const char text[] = "%s is not supported by provider '%s'";

	if (p->flags & SANDBOX_UNISOLATED)
		return refuse_without_sandbox(o, err);
	if (o->snapshot && !(p->flags & SANDBOX_SNAPSHOT))
		return error_set(err, ERR_USAGE, text,
				 "--sandbox-snapshot-name", p->name);
	if (o->sandbox_id && !(p->flags & SANDBOX_ATTACH))
		return error_set(err, ERR_USAGE, text, "--sandbox-id", p->name);
	if (o->network.mode && !(p->flags & SANDBOX_NETWORK))
		return error_set(err, ERR_USAGE, text, "--sandbox-network",
				 p->name);
	return 0;
}

/* flag NULL: tools run on this machine. args_bare: uses the default provider of
 * the settings. */
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
	/* The registry reads files of the user's providers: without a sandbox
	 * it is not needed. */
	if (sandbox_is_none(name))
		p = sandbox_provider_find(name);
	else if (app_providers(app, &registry, err) < 0)
		return -1;
	else
		p = registry_find(registry, name);
	if (!p) {
		(void)refuse_provider(app, registry, name, err);
		if (flag == args_bare &&
		    settings_policy(set, "sandboxes.default"))
			err->code = ERR_POLICY;
		return -1;
	}
	o->sandbox = p->name;
	o->sandbox_as = p->also && !strcmp(name, p->also) ? p->also : p->name;
	return check_flags(o, p, err);
}

int run_allow_resolve(struct run_options *o, const struct settings *set,
		      struct error *err)
{
	const char *const *names;
	struct buf text = BUF_INIT(1 << 16);
	size_t n = 0;
	int rc = settings_list(set, NULL, "shell.allow_list", &names, &n, err);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		buf_adds(&text, i ? "," : "");
		buf_adds(&text, names[i]);
	}
	if (text.len)
		rc = allow_list_parse(&o->allow, text.ptr, err);
	if (rc < 0 &&
	    settings_source(set, NULL, "shell.allow_list") == SOURCE_POLICY) {
		err->code = ERR_POLICY;
		error_wrap(err, SETTINGS_POLICY_FILE);
	}
	buf_release(&text);
	return rc;
}

/* Reads a setting that has two possible words. *second: it is words[1]. */
static int read_word(const struct settings *set, const char *key,
		     const char *const words[2], bool *second,
		     struct error *err)
{
	const char *value = NULL;

	*second = false;
	if (settings_string(set, NULL, key, &value, err) < 0)
		return -1;
	if (!value)
		return 0;
	*second = !strcmp(value, words[1]);
	if (*second || !strcmp(value, words[0]))
		return 0;
	return error_set(err,
			 settings_policy(set, key) ? ERR_POLICY : ERR_CONFIG,
			 "%s is '%.40s', but can only be \"%s\" or \"%s\"", key,
			 value, words[0], words[1]);
}

int run_asks_resolve(struct run_options *o, const struct settings *set,
		     struct error *err)
{
	static const char *const places[] = { "auto", "ask" };
	static const char *const calls[] = { "changes", "all" };

	if (read_word(set, "approvals.sandbox", places, &o->asks_in_sandbox,
		      err) < 0 ||
	    read_word(set, "approvals.review", calls, &o->reviews_all, err) < 0)
		return -1;
	o->asks_given = settings_source(set, NULL, "approvals.sandbox") >
			SOURCE_DEFAULT;
	return 0;
}

enum { LEAST_KEEP_S = 60 };

int run_keep_time(struct app *app, int64_t *seconds, struct error *err)
{
	struct settings *set;

	if (app_settings(app, &set, err) < 0)
		return -1;
	if (settings_int(set, NULL, "sandboxes.keep_for", seconds, err) < 0)
		return -1;
	if (*seconds >= LEAST_KEEP_S && *seconds <= INT32_MAX)
		return 0;
	return error_set(
		err, ERR_CONFIG,
		"[sandboxes] keep_for = %lld: use seconds, at least %d",
		(long long)*seconds, LEAST_KEEP_S);
}

static int parse_exit(const char *word, enum lifecycle_exit *on_exit)
{
	static const char *const words[] = { [LIFECYCLE_DELETE] = "delete",
					     [LIFECYCLE_STOP] = "stop",
					     [LIFECYCLE_KEEP] = "keep" };

	for (int i = 0; i < (int)(sizeof(words) / sizeof(words[0])); i++)
		if (strcmp(words[i], word) == 0) {
			*on_exit = (enum lifecycle_exit)i;
			return 0;
		}
	return -1;
}

/* Reads --keep and --on-exit. Sets o->exit_given if either was given. */
static int exit_of_flags(struct run_options *o, const struct args *args,
			 struct error *err)
{
	const char *word = args_value(args, "on-exit");
	bool keep = args_flag(args, "keep");

	o->exit_given = keep || word;
	if (keep)
		o->on_exit = LIFECYCLE_KEEP;
	if (word && parse_exit(word, &o->on_exit) < 0)
		return error_set(err, ERR_USAGE,
				 "argument --on-exit: invalid choice: '%s' "
				 "(choose from 'delete', 'stop', 'keep')",
				 word);
	if (keep && o->on_exit != LIFECYCLE_KEEP)
		return error_set(err, ERR_USAGE,
				 "--keep cannot be combined with --on-exit %s",
				 word);
	if (!o->exit_given || !sandbox_is_none(o->sandbox))
		return 0;
	return error_set(err, ERR_USAGE, "%s requires a --sandbox provider",
			 keep ? "--keep" : "--on-exit");
}

/* A sandbox given by --sandbox-id is always kept. */
int run_exit_resolve(struct run_options *o, struct app *app,
		     const struct args *args, struct error *err)
{
	const char *word = NULL;
	struct settings *set;

	if (exit_of_flags(o, args, err) < 0 ||
	    app_settings(app, &set, err) < 0 ||
	    run_keep_time(app, &o->keep_s, err) < 0)
		return -1;
	if (o->sandbox_id && o->exit_given && o->on_exit != LIFECYCLE_KEEP)
		return error_set(err, ERR_USAGE,
				 "--on-exit cannot be combined with "
				 "--sandbox-id: that sandbox always stays");
	if (o->exit_given || sandbox_is_none(o->sandbox) || o->sandbox_id)
		return 0;
	if (settings_string(set, NULL, "sandboxes.on_exit", &word, err) < 0)
		return -1;
	o->exit_given = word && word[0];
	if (o->exit_given && parse_exit(word, &o->on_exit) < 0)
		return error_set(err, ERR_CONFIG,
				 "[sandboxes] on_exit = \"%s\": use delete, "
				 "stop or keep",
				 word);
	return 0;
}

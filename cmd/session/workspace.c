/* workspace.c - sends the user's tree into the sandbox of a run. */
/* SPDX-License-Identifier: MIT */
/*
 * run_workspace_fill() runs before the setup script. If the tree was sent to
 * this sandbox before, only its changes are sent (sync_tree()). Otherwise the
 * user may be asked whether to send it (confirm_send()), once per tree and
 * provider. With --workspace bind nothing is sent, because the user's directory
 * is mounted in the sandbox (run_bind_begin()).
 *
 * For each sandbox dcode records what was sent to it and what was last seen in
 * it (LABEL.listing, LABEL.unsent, refs). The records stay after the sandbox
 * was deleted, because its work may still be needed. Once a day records_sweep()
 * deletes the records of deleted sandboxes, if their work was fetched or they
 * are very old. records_pack() and records_tidy() compact dcode's git
 * repositories. Begin reading at sweep_expired().
 */
#include "cmd/session/workspace.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "base/ids.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/sanitize.h"
#include "base/str.h"
#include "cmd/app.h"
#include "cmd/print.h"
#include "cmd/secret.h"
#include "cmd/session/changes.h"
#include "cmd/session/move.h"
#include "cmd/session/run.h"
#include "cmd/session/undo.h"
#include "sandbox/bind.h"
#include "sandbox/exec.h"
#include "session/ledger.h"
#include "session/records.h"
#include "worktree/checkpoint.h"
#include "worktree/send.h"
#include "worktree/server_git.h"
#include "worktree/user_repo.h"
#include "worktree/workspace.h"

/* Expires the records of deleted sandboxes. */

#define ENDING ".unsent"
#define LISTING ".listing"
#define SEEN ".seen"
#define STAMP "swept"

enum {
	LABELS_MOST = 8, /* labels per sweep, because each one starts git */
	SWEEP_MS = 5000,
	PACK_MS = 30000,
	TREE_MS = 100000, /* time for one tree in records_tidy(); shorter than
			     another dcode waits for the tree's lock */
	LOST_TIMES = 12, /* records of work that was never fetched are kept this
			    many times as long */
	DAY_S = 86400,
	DAYS_MOST = 100000,
};

static bool store_existence(void *arg, const struct ledger_row *row)
{
	*(bool *)arg = row->state != LEDGER_GONE;
	return false;
}

/* True if the ledger has no sandbox of this label that may still exist. False
 * if the ledger cannot be read. */
static bool is_gone(struct store *s, const char *label)
{
	struct error why = { 0 };
	bool exists = false;

	if (ledger_find(s, label, store_existence, &exists, &why) < 0)
		return why.code == ERR_NOT_FOUND;
	return !exists;
}

static bool store_gone(void *arg, const struct ledger_row *row)
{
	*(bool *)arg = row->state == LEDGER_GONE;
	return false;
}

/* True only if the ledger says that the sandbox of this label is gone. An
 * unknown label does not count: the ledger may have been lost, while the
 * sandbox still exists. */
static bool is_known_gone(struct store *s, const char *label)
{
	struct error ignored = { 0 };
	bool gone = false;

	if (str_starts(str_of(label), CHECKPOINT_LOCAL)) /* has no sandbox */
		return true;
	return ledger_find(s, label, store_gone, &gone, &ignored) == 0 && gone;
}

/* Deletes each LABEL.unsent in directory whose sandbox is gone. */
static void sweep_directory(struct store *s, const char *directory)
{
	DIR *d = opendir(directory);
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		struct str name = str_of(entry->d_name);
		char *label;
		char *file;

		if (!str_ends(name, ENDING))
			continue;
		label = xstrndup(name.ptr, name.len - (sizeof(ENDING) - 1));
		file = path_join(directory, entry->d_name);
		if (is_gone(s, label))
			(void)unlink(file);
		free(label);
		free(file);
	}
	if (d)
		closedir(d);
}

/* Visits the workspace directory of every tree. */
void unsent_sweep(struct app *app)
{
	struct error ignored = { 0 };
	char *all = app_state_path(app, "workspaces", &ignored);
	DIR *d = all ? opendir(all) : NULL;
	struct dirent *entry;
	struct store *s;

	if (d && app_store(app, &s, &ignored) == 0)
		while ((entry = readdir(d))) {
			char *one = path_join(all, entry->d_name);

			if (entry->d_name[0] != '.')
				sweep_directory(s, one);
			free(one);
		}
	if (d)
		closedir(d);
	free(all);
}

struct old_labels {
	struct store *store;
	int64_t before; /* Unix seconds: listings that were last written before
			   this expire */
	int64_t lost;   /* Unix seconds: the same for sandboxes whose work was
			   never fetched */
	char *labels[LABELS_MOST];
	size_t n;
	uint32_t seen; /* number of labels passed to add_label() */
};

/* True if the listing was last written before this time. Each use of the
 * sandbox rewrites the listing. */
static bool is_old(int dir, const char *listing, int64_t before)
{
	struct stat st;

	return fstatat(dir, listing, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_mtime < before;
}

/* Reservoir sampling: every label has the same chance. In a fixed order, labels
 * that must be kept because of unfetched work could fill all slots in every
 * sweep. */
static void add_label(struct old_labels *o, char *label)
{
	size_t at =
		o->n < LABELS_MOST ? o->n : randombytes_uniform(o->seen + 1);

	o->seen++;
	if (at >= LABELS_MOST) {
		free(label);
		return;
	}
	if (at < o->n)
		free(o->labels[at]);
	else
		o->n++;
	o->labels[at] = label;
}

/* Selects some labels with an old listing whose sandbox is gone for certain. */
static void find_old(struct old_labels *o, const char *directory)
{
	DIR *d = opendir(directory);
	const struct dirent *entry;

	while (d && (entry = readdir(d))) {
		struct str name = str_of(entry->d_name);
		char *label;

		if (!str_ends(name, LISTING) ||
		    !is_old(dirfd(d), entry->d_name, o->before))
			continue;
		label = xstrndup(name.ptr, name.len - (sizeof(LISTING) - 1));
		if (is_known_gone(o->store, label))
			add_label(o, label);
		else
			free(label);
	}
	if (d)
		closedir(d);
}

static bool has_file(const struct workspace *w, const char *ending)
{
	char *file = xasprintf("%s/%s%s", w->directory, w->label, ending);
	bool has = access(file, F_OK) == 0;

	free(file);
	return has;
}

/* True if the user's tree has the work that was last seen in the sandbox, or if
 * nobody ever looked for work. False if there is a list of work seen, but not
 * its commit, which was lost. */
static bool has_come_back(const struct workspace *w, const struct stop *stop)
{
	char theirs[GIT_OID] = "";
	struct error why = { 0 };

	if (odb_ref_get(&w->git, w->theirs_ref, theirs, stop, &why) < 0)
		return why.code == ERR_NOT_FOUND && !has_file(w, SEEN);
	return !strcmp(theirs, w->base);
}

/* Deletes the refs first and the files last: the next sweep finds a label by
 * its listing. */
static void remove_records(const struct workspace *w, const struct stop *stop)
{
	struct str label = str_of(w->label);
	DIR *d = opendir(w->directory);
	struct error ignored = { 0 };
	char *branch_ref = odb_ref_name(w->label, "branch");
	const struct dirent *entry;

	(void)odb_ref_set(&w->git, w->theirs_ref, NULL, stop, &ignored);
	(void)odb_ref_set(&w->git, branch_ref, NULL, stop, &ignored);
	free(branch_ref);
	(void)checkpoints_remove(w, stop, &ignored);
	if (odb_ref_set(&w->git, w->base_ref, NULL, stop, &ignored) == 0)
		while (d && (entry = readdir(d)))
			if (str_starts(str_of(entry->d_name), w->label) &&
			    entry->d_name[label.len] == '.')
				(void)unlinkat(dirfd(d), entry->d_name, 0);
	if (d)
		closedir(d);
}

/* Deletes the records of one label if they are expired. Holds the base's lock
 * meanwhile, because an apply or undo may be moving the base. */
static void sweep_label(const struct workspace *w, const char *label,
			int64_t lost, const struct stop *stop)
{
	struct workspace one = *w;
	struct error ignored = { 0 };
	char *listing = xasprintf("%s/%s" LISTING, w->directory, label);
	int lock;

	one.label = (char *)label;
	one.base_ref = odb_ref_name(label, "base");
	one.theirs_ref = odb_ref_name(label, "sandbox");
	lock = workspace_lock_base(&one, stop, &ignored);
	if (lock >= 0) {
		if (is_old(AT_FDCWD, listing, lost) ||
		    has_come_back(&one, stop))
			remove_records(&one, stop);
		close(lock);
	}
	free(one.base_ref);
	free(one.theirs_ref);
	free(listing);
}

/* True if the last sweep was a day ago or more. Then updates the stamp file,
 * whose modification time is that of the last sweep. */
static bool is_due(const struct workspace *w)
{
	char *file = path_join(w->directory, STAMP);
	struct error ignored = { 0 };
	struct stat st;
	time_t now = time(NULL);
	bool due = lstat(file, &st) < 0 || st.st_mtime > now ||
		   now - st.st_mtime >= DAY_S;

	if (due && path_write(file, STR(""), 0600, &ignored) < 0)
		due = false;
	free(file);
	return due;
}

/* Nothing expires if patches_days is not a valid number of days. */
static void sweep_expired(struct app *app, const struct workspace *w)
{
	struct old_labels o = { 0 };
	struct stop stop = stop_cleanup(SWEEP_MS);
	struct error ignored = { 0 };
	int64_t days = 0;

	if (settings_int(app->settings, NULL, "workspace.patches_days", &days,
			 &ignored) < 0 ||
	    days < 1 || days >= DAYS_MOST ||
	    app_store(app, &o.store, &ignored) < 0)
		return;
	o.before = time(NULL) - days * DAY_S;
	o.lost = time(NULL) - LOST_TIMES * days * DAY_S;
	find_old(&o, w->directory);
	for (size_t i = 0; i < o.n; i++) {
		sweep_label(w, o.labels[i], o.lost, &stop);
		free(o.labels[i]);
	}
}

/* At most once a day per tree: deletes the records (listings, lists, refs) of a
 * few sandboxes of w's tree. These sandboxes are gone according to the ledger,
 * their work was fetched, and they were not used for patches_days. Records of
 * work that was never fetched expire after twelve times as long. Costs one
 * stat() if not due, otherwise reads one directory. */
static void records_sweep(struct app *app, const struct workspace *w)
{
	if (is_due(w))
		sweep_expired(app, w);
}

/* Runs at the end of a command: limited in time, and errors are not
 * reported. */
void records_pack(struct app *app)
{
	struct stop signals = app_stop(app);
	struct stop stop = stop_within(&signals, PACK_MS);
	struct error ignored = { 0 };
	bool repository;
	char *root = user_repo_root(settings_cwd(app->settings), &repository,
				    &ignored);
	char *state = app_state_path(app, "", &ignored);
	struct workspace w = { 0 };

	if (root && state && stop_check(&signals, &ignored) == 0 &&
	    workspace_pack_is_due(state, root) &&
	    workspace_open(&w, state, root, WORKSPACE_NO_SANDBOX, &stop,
			   &ignored) == 0) {
		print_line(app, "Compacting dcode's copy of this tree...");
		(void)workspace_pack(&w, &stop, &ignored);
		workspace_close(&w);
	}
	free(root);
	free(state);
}

/* Expires records and packs the repository of one tree. Another dcode may be
 * waiting for the tree, so the time is limited. */
static void tidy_tree(struct app *app, const char *state, const char *key,
		      const struct stop *stop)
{
	struct stop limit = stop_within(stop, TREE_MS);
	struct error err = { 0 };
	struct workspace w = { 0 };

	if (workspace_open_key(&w, state, settings_cwd(app->settings), key,
			       &limit, &err) < 0)
		return;
	sweep_expired(app, &w);
	if (workspace_pack(&w, &limit, &err) < 0 && err.code != ERR_CANCELLED)
		app_warn("%s: %s", w.git_dir, err.message);
	workspace_close(&w);
}

void records_tidy(struct app *app, const struct stop *stop)
{
	struct error ignored = { 0 };
	char *state = app_state_path(app, "", &ignored);
	char *all = state ? path_join(state, "workspaces") : NULL;
	DIR *d = all ? opendir(all) : NULL;
	const struct dirent *entry;
	struct settings *set;

	while (d && app_settings(app, &set, &ignored) == 0 &&
	       stop_check(stop, &ignored) == 0 && (entry = readdir(d)))
		if (entry->d_name[0] != '.')
			tidy_tree(app, state, entry->d_name, stop);
	if (d)
		closedir(d);
	free(all);
	free(state);
}

/* Sends the tree. */

enum { PROBE_MS = 30000 };

/* Creates an empty file with this name in the sandbox's working directory.
 * Returns 1 if that is not permitted, -1 with err. */
static int make_probe(struct sandbox *sb, const char *name,
		      const struct stop *stop, struct error *err)
{
	char *script = xasprintf("umask 077; : >%s", name);
	struct exec_request req = { .command = str_of(script),
				    .plain = true,
				    .timeout_ms = PROBE_MS };
	struct exec_result res = { 0 };
	int rc = sandbox_execute(sb, &req, &res, stop, err);

	free(script);
	return rc < 0 ? -1 : res.exit_code != 0;
}

/* Creates a file in the sandbox and looks for it in dir on this machine. That
 * tells whether the engine mounted this machine's directory, and who owns new
 * files. Asking the engine does not: it may run in a virtual machine or map
 * users. */
static int try_mounted(struct sandbox *sb, const char *dir,
		       const struct stop *stop, struct error *err)
{
	char random[17];
	char *name;
	char *here;
	struct stat st;
	int rc;

	ids_random(random, 16);
	name = xasprintf(".dcode-%s", random);
	here = path_join(dir, name);
	rc = make_probe(sb, name, stop, err);
	if (rc > 0) {
		app_warn("the sandbox's user cannot write to %s", dir);
		rc = 0;
	} else if (rc == 0 && lstat(here, &st) < 0) {
		rc = error_set(
			err, ERR_CONFIG,
			"the container engine sees a different directory at "
			"%s: it may run on another machine or in a VM",
			dir);
		error_hint(err, "Use --workspace repo, which sends a copy.");
	} else if (rc == 0 && st.st_uid != geteuid()) {
		app_warn("in %s, files made by the sandbox belong to user %lu, "
			 "not to you",
			 dir, (unsigned long)st.st_uid);
	}
	if (rc == 0)
		(void)unlink(here);
	free(name);
	free(here);
	return rc;
}

/* Warns if git does not work in the mounted directory, or if it makes files
 * outside the directory readable. */
static void warn_git_limits(const struct sandbox *sb, const char *dir)
{
	struct bind_git git;
	bool is_outside = bind_git_find(&git, sb->client->settings, dir);
	const struct sandbox_binding *b = sb->client->provider->binding;
	const char *why = git.limit;

	if (is_outside && strcmp(sb->workdir, dir) != 0)
		why = "the repository is outside this directory, and the "
		      "directory has another path in the sandbox";
	else if (is_outside && b && b->by_engine &&
		 !strcmp(git.git_dir, git.common))
		why = "the submodule's repository is outside this directory "
		      "(--sandbox local supports that)";
	if (why)
		app_warn("git does not work in %s in this sandbox: %s. "
			 "--workspace repo sends a copy of the repository",
			 dir, why);
	else if (is_outside && strcmp(git.root, dir) != 0)
		app_warn("git needs the whole working tree: the sandbox can "
			 "read all of %s, but write only to %s",
			 git.root, dir);
	bind_git_release(&git);
}

/* Records that the user's directory is mounted in the sandbox. If a container
 * engine mounted it, first checks that it is this machine's directory, and
 * warns if new files will not belong to the user. */
static int run_bind_begin(struct run *r, struct sandbox *sb,
			  const struct stop *stop, struct error *err)
{
	const struct sandbox_binding *b = r->client.provider->binding;
	const char *dir = run_bound_directory(sb);
	char *state;
	int rc = 0;

	if (!dir) {
		if (r->options.workspace &&
		    !strcmp(r->options.workspace, "bind"))
			app_warn("this sandbox was made without the directory; "
				 "--workspace bind only affects new ones");
		return 0;
	}
	if (b && b->by_engine)
		rc = try_mounted(sb, dir, stop, err);
	if (rc == 0)
		warn_git_limits(sb, dir);
	state = path_join(settings_dir(r->app->settings), ".state");
	if (rc == 0 && r->box.label[0])
		rc = workspace_note_bound(state, dir, r->box.label, err);
	sb->names_changes = r->interactive;
	free(state);
	return rc;
}

enum {
	NAMES_SHOWN = 10, /* names of unsent files that are shown in the summary
			     line */
	NAMES_LISTED = 1000,  /* names of unsent files that are printed,
				 including that line */
	RATE_LEAST = 1 << 20, /* bytes; for less, no rate is shown */
	LINE_MAX_BYTES = 8192,
	UNSENT_MAX = 256 << 20,
	REDRAW_MS = 200,
};

/* State of one run_workspace_fill(): the tree and the progress line. */
struct filling {
	struct run *r;
	void (*decided)(struct run *r); /* as in run_workspace_fill() */
	struct workspace w;
	struct selection s;
	const char *name; /* last component of the tree's path */
	int64_t began;    /* clock_ms() when sending began */
	int64_t drawn;
	bool draws;
	bool told_left; /* the names of files that are not sent were printed
			   with the question */
};

/* SEND_ASKED: send the tree if the user agrees. */
enum decision { SEND_NOTHING, SEND_ASKED, SEND_TREE };

/* Returns MB/s since sending began. */
static double compute_rate(const struct filling *f, int64_t bytes)
{
	int64_t ms = clock_ms() - f->began;

	return (double)bytes / 1e3 / (double)(ms > 0 ? ms : 1);
}

/* Redraws the progress line, at most once every REDRAW_MS. */
static void on_progress(void *arg, size_t files, int64_t bytes)
{
	struct filling *f = arg;
	int64_t now = clock_ms();
	char size[32];

	if (!f->draws || (now - f->drawn < REDRAW_MS && files < f->s.n))
		return;
	f->drawn = now;
	str_format_size(bytes, size);
	fprintf(stderr, "\r\033[KSending %zu of %zu files, %s, %.1f MB/s",
		files, f->s.n, size, compute_rate(f, bytes));
}

/* Writes the names of all unsent files to LABEL.unsent in the workspace's
 * directory. */
static void list_in_file(const struct filling *f)
{
	char *file = xasprintf("%s/%s.unsent", f->w.directory, f->w.label);
	struct buf text = BUF_INIT(UNSENT_MAX);
	struct error err = { 0 };

	unsent_sweep(f->r->app); /* deletes old lists */
	for (size_t i = 0; i < f->s.n_left; i++) {
		sanitize_line(str_of(f->s.left[i].path), &text);
		buf_addf(&text, " (%s)\n", f->s.left[i].why);
	}
	if (path_write(file, buf_str(&text), 0600, &err) < 0)
		app_warn("cannot store the list of files that are not sent: %s",
			 err.message);
	else
		print_line(f->r->app, "    and %zu more; %s lists all",
			   f->s.n_left - NAMES_LISTED, file);
	buf_release(&text);
	free(file);
}

/* Prints the names that did not fit into the summary line. */
static void list_unsent(const struct filling *f)
{
	for (size_t i = NAMES_SHOWN; i < f->s.n_left && i < NAMES_LISTED; i++)
		print_line(f->r->app, "    %.4000s (%s)", f->s.left[i].path,
			   f->s.left[i].why);
	if (f->s.n_left > NAMES_LISTED)
		list_in_file(f);
}

/* Prints which files were sent only because of --include. */
static void report_asked(const struct filling *f)
{
	struct buf names = BUF_INIT(LINE_MAX_BYTES / 2);

	for (size_t i = 0; i < f->s.n_asked && i < NAMES_SHOWN; i++)
		buf_addf(&names, "%s%.200s (%s)", i ? ", " : "",
			 f->s.asked[i].path, f->s.asked[i].why);
	if (f->s.n_asked > NAMES_SHOWN)
		buf_addf(&names, ", and %zu more", f->s.n_asked - NAMES_SHOWN);
	if (f->s.n_asked)
		print_line(f->r->app, "  %zu included: %s", f->s.n_asked,
			   names.len ? names.ptr : "");
	buf_release(&names);
}

/* Prints for example "3 not sent: .env (a file of secrets), ...". */
static void report_unsent(const struct filling *f)
{
	struct buf names = BUF_INIT(LINE_MAX_BYTES / 2);
	bool can_ask = false;

	for (size_t i = 0; i < f->s.n_left; i++) {
		can_ask |= f->s.left[i].asked;
		if (i < NAMES_SHOWN)
			buf_addf(&names, "%s%.200s (%s)", i ? ", " : "",
				 f->s.left[i].path, f->s.left[i].why);
	}
	if (f->s.n_left > NAMES_SHOWN)
		buf_adds(&names, ", and these");
	if (f->s.n_left)
		print_line(f->r->app, "  %zu not sent: %s%s", f->s.n_left,
			   names.len ? names.ptr : "",
			   can_ask ? "; to send one: --include PATTERN" : "");
	list_unsent(f);
	report_asked(f);
	if (f->s.refused)
		print_line(f->r->app,
			   "  %s %s: it is sent without a repository", f->name,
			   f->s.refused);
	if (f->s.sparse)
		print_line(f->r->app, "  %zu left out by the sparse checkout",
			   f->s.sparse);
	if (f->s.submodules)
		print_line(f->r->app,
			   "  the files of %zu submodule%s are sent as plain "
			   "files",
			   f->s.submodules, f->s.submodules == 1 ? "" : "s");
	buf_release(&names);
}

/* With --history: prints how many commits were sent, or why none. */
static void report_history(const struct filling *f,
			   const struct send_result *res)
{
	const struct rewritten *h = &res->history;

	if (f->r->options.history <= 0)
		return;
	if (res->unwritten.code)
		app_warn("the history of %s is not sent: %s", f->name,
			 res->unwritten.message);
	else if (!h->commits)
		print_line(f->r->app, "  no history: %s has no commits",
			   f->name);
	else if (res->no_git)
		print_line(f->r->app, "  no history: the sandbox has no git");
	else if (!res->has_history && !res->deferred)
		app_warn("git in the sandbox rejected the history of %s",
			 f->name);
	else
		print_line(f->r->app,
			   "  history: %zu commit%s%s, %zu of them rewritten "
			   "to leave out files that are not sent",
			   h->commits, h->commits == 1 ? "" : "s",
			   h->is_shallow ? " of a shallow clone" : "",
			   h->changed);
	if (h->missing)
		print_line(f->r->app,
			   "  %zu earlier file versions are not sent: this "
			   "partial clone does not have them",
			   h->missing);
}

/* Prints the result, with everything that was not sent. */
static void report_sent(const struct filling *f, const struct send_result *res)
{
	char rate[32] = "";
	char size[32];
	size_t pointers;

	str_format_size(f->s.bytes, size);
	if (f->s.bytes >= RATE_LEAST)
		snprintf(rate, sizeof(rate), " (%.1f MB/s)",
			 compute_rate(f, f->s.bytes));
	print_line(f->r->app, "✓ Sent %s: %zu file%s, %s%s", f->name, f->s.n,
		   f->s.n == 1 ? "" : "s", size, rate);
	if (!f->told_left)
		report_unsent(f);
	pointers = select_count_pointers(&f->s, &f->w);
	if (pointers)
		print_line(f->r->app,
			   "  %zu file%s only a Git LFS pointer: the contents "
			   "are missing here, so they are not sent",
			   pointers, pointers == 1 ? " is" : "s are");
	report_history(f, res);
	if (res->changed)
		app_warn("%zu file%s of %s changed while being sent",
			 res->changed, res->changed == 1 ? "" : "s", f->name);
	if (res->git_failed)
		app_warn("git in the sandbox could not create a repository");
}

/* Sends the whole tree. */
static int send_tree(struct filling *f, struct sandbox *sb,
		     const struct stop *stop, struct error *err)
{
	struct send_request q = { .sandbox = sb,
				  .home = settings_home(f->r->app->settings),
				  .history = f->r->options.history,
				  .include = f->r->options.include,
				  .n_include = f->r->options.n_include,
				  .mask = f->r->app->mask,
				  .may_defer =
					  !f->r->options.setup && !f->r->move,
				  .progress = on_progress,
				  .arg = f };
	struct error ignored = { 0 };
	struct send_result result;
	int rc;

	f->began = clock_ms();
	f->draws = !f->r->options.quiet &&
		   (isatty(STDERR_FILENO) || f->r->app->terminal);
	on_progress(f, 0, 0);
	/* without the list dcode refuses to push, and nothing else */
	(void)server_git_record(&f->w, q.home, stop, &ignored);
	rc = workspace_send(&f->w, &f->s, &q, &result, stop, err);
	if (f->draws)
		fputs("\r\033[K", stderr);
	if (rc < 0)
		return error_wrap(err, "sending %s", f->name);
	report_sent(f, &result);
	return 0;
}

/* Prints what a later run sent, and which files in the sandbox it did not
 * replace. */
static void report_kept(struct run *r, const struct sync_result *result)
{
	char size[32];

	str_format_size(result->bytes, size);
	if (result->n_taken)
		print_line(r->app, "✓ Sent your changes: %zu file%s, %s",
			   result->n_taken, result->n_taken == 1 ? "" : "s",
			   size);
	if (result->n_deleted)
		print_line(r->app, "✓ Deleted in the sandbox too: %zu file%s",
			   result->n_deleted,
			   result->n_deleted == 1 ? "" : "s");
	for (size_t i = 0; i < result->n_asked && i < NAMES_SHOWN; i++)
		print_line(r->app, "  sent because of --include: %.4000s",
			   result->asked[i]);
	for (size_t i = 0; i < result->n_kept && i < NAMES_SHOWN; i++)
		app_warn("%s changed here and in the sandbox: the sandbox "
			 "keeps its version",
			 result->kept[i]);
	if (result->n_kept > NAMES_SHOWN)
		app_warn("%zu more files changed here and in the sandbox",
			 result->n_kept - NAMES_SHOWN);
	for (size_t i = 0; i < result->n_held && i < NAMES_SHOWN; i++)
		app_warn("%s is not sent: it may contain secrets (--include "
			 "sends it), or cannot be read",
			 result->held[i]);
}

static struct select_request selection_of(const struct run *r)
{
	return (struct select_request){
		.home = settings_home(r->app->settings),
		.include = r->options.include,
		.n_include = r->options.n_include,
	};
}

static int sync_tree(struct filling *f, struct sandbox *sb,
		     const struct stop *stop, struct error *err)
{
	struct sync_request q = { .sandbox = sb, .select = selection_of(f->r) };
	struct sync_result result = { 0 };
	char before[GIT_OID];
	int rc;

	memcpy(before, f->w.base, sizeof(before));
	rc = workspace_sync(&f->w, &q, &result, stop, err);
	if (rc == 0)
		rc = checkpoint_note_sync(&f->w, before, stop, err);
	if (rc == 0)
		report_kept(f->r, &result);
	sync_result_release(&result);
	return rc < 0 ? error_wrap(err, "sending what changed in %s", f->name)
		      : 0;
}

/* Appends for example "2,005 files". */
static void add_count(size_t n, struct buf *out)
{
	char digits[32];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%zu", n);

	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf_addc(out, ',');
		buf_addc(out, digits[i]);
	}
	buf_adds(out, n == 1 ? " file" : " files");
}

/* Appends for example "59 kB". */
static void add_size(int64_t bytes, struct buf *out)
{
	if (bytes < 1000)
		buf_addf(out, "%" PRId64 " byte%s", bytes,
			 bytes == 1 ? "" : "s");
	else if (bytes < 10000)
		buf_addf(out, "%.1f kB", (double)bytes / 1e3);
	else if (bytes < 1000000)
		buf_addf(out, "%" PRId64 " kB", bytes / 1000);
	else if (bytes < 10000000)
		buf_addf(out, "%.1f MB", (double)bytes / 1e6);
	else
		buf_addf(out, "%" PRId64 " MB", bytes / 1000000);
}

/* Prints where the user's answer is stored and how to change it. */
static void print_saved_answer(const struct run *r, const char *root,
			       bool is_copied)
{
	const char *home = settings_home(r->app->settings);
	const char *dir = settings_dir(r->app->settings);
	size_t n = strlen(home);
	bool below = !strncmp(dir, home, n) && dir[n] == '/';

	print_line(r->app, "Answer saved for %s: %s. To %s: --workspace %s",
		   strrchr(root, '/') + 1, is_copied ? "copy" : "do not copy",
		   is_copied ? "start empty" : "copy it after all",
		   is_copied ? "none" : "repo");
	print_line(r->app, "  stored in %s%s/.state/dcode.db", below ? "~" : "",
		   below ? dir + n : dir);
}

/* Returns 1 if the user agrees to send the tree, 0 if not, -1 with err. Asks
 * once per tree and provider, and stores the answer. */
static int confirm_send(struct filling *f, struct error *err)
{
	struct run *r = f->r;
	const char *provider = r->client.provider->name;
	struct buf question = BUF_INIT(1024);
	struct store *store;
	bool asked;
	int rc;

	if (app_store(r->app, &store, err) < 0)
		return -1;
	rc = consent_get(store, f->w.root, provider, &asked, err);
	if (rc == 0 && asked && !r->tree_asked)
		print_line(r->app,
			   "The sandbox starts empty, because you declined to "
			   "copy %s earlier. To copy it: --workspace repo",
			   f->name);
	if (rc < 0 || asked)
		return rc;
	buf_adds(&question, "Copy this repository (");
	add_count(f->s.n, &question);
	buf_adds(&question, ", ");
	add_size(f->s.bytes, &question);
	buf_adds(&question, ") into the sandbox? [y/N] ");
	report_unsent(f);
	f->told_left = true;
	rc = secret_confirm_first(r->app, question.ptr, err);
	if (rc >= 0 && consent_set(store, f->w.root, provider, rc > 0, err) < 0)
		rc = -1;
	if (rc >= 0)
		print_saved_answer(r, f->w.root, rc > 0);
	buf_release(&question);
	return rc;
}

/* A user who starts a chat with --workspace may have changed an earlier answer.
 * If so, stores the new one. */
static void remember_flag(const struct run *r, const char *root)
{
	const char *provider = r->client.provider->name;
	const char *mode = args_value(r->args, "workspace");
	bool copied = mode && !strcmp(mode, "repo");
	struct error ignored = { 0 };
	struct store *store;
	bool asked = false;
	int was;

	if (!r->interactive || !mode || r->made ||
	    app_store(r->app, &store, &ignored) < 0)
		return;
	was = consent_get(store, root, provider, &asked, &ignored);
	if (was < 0 || !asked || was == copied ||
	    consent_set(store, root, provider, copied, &ignored) < 0)
		return;
	print_saved_answer(r, root, copied);
}

/* Opens the workspace. If a dcode was killed while it applied changes to this
 * tree, first finishes or undoes that apply. */
static int open_tree(struct filling *f, const char *root, const char *label,
		     const struct stop *stop, struct error *err)
{
	struct run *r = f->r;
	char *state = path_join(settings_dir(r->app->settings), ".state");
	int rc;

	f->w.on_wait = app_warn_line;
	rc = workspace_open(&f->w, state, root, label, stop, err);
	free(state);
	if (rc == 0)
		rc = changes_recover(r->app, &f->w, stop, err);
	if (rc == 0)
		records_sweep(r->app, &f->w);
	if (rc == 0)
		f->name = strrchr(f->w.root, '/') + 1;
	return rc;
}

static void print_empty(const struct run *r, const char *root)
{
	print_line(r->app,
		   "The sandbox starts empty. --workspace repo copies %s into "
		   "it.",
		   strrchr(root, '/') + 1);
}

/* True if the sandbox is new for certain and there is no user to ask. */
static bool is_new_unattended(const struct run *r)
{
	return !r->thread.id && !r->options.sandbox_id &&
	       !(r->interactive && secret_terminal(r->app));
}

/* Prints nothing unless the sandbox is new for certain: another one may have
 * the tree already. */
void run_workspace_remark(const struct run *r)
{
	bool is_repository = false;
	struct error ignored = { 0 };
	char *root;

	if (r->options.workspace || !is_new_unattended(r) ||
	    !run_has_sandbox(r))
		return;
	root = user_repo_root(settings_cwd(r->app->settings), &is_repository,
			      &ignored);
	if (root && is_repository)
		print_empty(r, root);
	free(root);
}

/* Without --workspace and the setting: asks a user at a terminal whether to
 * send a repository; in all other cases sends nothing. */
static enum decision choose_what_to_send(const struct run *r,
					 bool is_repository, const char *root)
{
	const char *mode = r->options.workspace;

	if (mode)
		return strcmp(mode, "repo") ? SEND_NOTHING : SEND_TREE;
	if (!is_repository)
		return SEND_NOTHING;
	if (r->interactive && secret_terminal(r->app))
		return SEND_ASKED;
	if (r->box.resumed)
		print_line(r->app,
			   "%s is not in the sandbox. To copy it: --workspace "
			   "repo",
			   strrchr(root, '/') + 1);
	else if (!is_new_unattended(r))
		print_empty(r, root);
	return SEND_NOTHING;
}

/* Sends the tree or, if the sandbox has it, only its changes. Returns 0 also if
 * the user declines, -1 with err. */
static int fill_tree(struct filling *f, struct sandbox *sb, const char *root,
		     enum decision decision, const struct stop *stop,
		     struct error *err)
{
	struct select_request q = selection_of(f->r);
	int rc = open_tree(f, root, f->r->box.label, stop, err);

	f->told_left = f->r->tree_asked;
	if (rc == 0 && f->w.base[0])
		return sync_tree(f, sb, stop, err);
	if (rc == 0)
		rc = select_files(&f->s, &f->w, &q, stop, err);
	if (rc == 0)
		rc = decision == SEND_TREE ? 1 : confirm_send(f, err);
	if (rc >= 0)
		f->decided(f->r);
	if (rc > 0)
		rc = send_tree(f, sb, stop, err);
	return rc;
}

/* Opens the workspace without a sandbox, and asks. */
static int ask_about_tree(struct filling *f, const char *root,
			  const struct stop *stop, struct error *err)
{
	struct select_request q = selection_of(f->r);
	int rc = open_tree(f, root, WORKSPACE_NO_SANDBOX, stop, err);

	if (rc == 0)
		rc = select_files(&f->s, &f->w, &q, stop, err);
	if (rc == 0)
		rc = confirm_send(f, err);
	select_release(&f->s);
	workspace_close(&f->w);
	return rc < 0 ? -1 : 0;
}

/* Asks now, for a sandbox that is created later. */
static int ask_early(struct run *r, const struct stop *stop, struct error *err)
{
	struct filling f = { .r = r };
	bool is_repository;
	char *root;
	int rc = 0;

	if (!secret_terminal(r->app))
		return 0;
	root = user_repo_root(settings_cwd(r->app->settings), &is_repository,
			      err);
	if (!root)
		return -1;
	if (is_repository)
		remember_flag(r, root);
	if (is_repository && !r->options.workspace)
		rc = ask_about_tree(&f, root, stop, err);
	r->tree_asked = rc == 0 && is_repository;
	free(root);
	return rc;
}

/* Starts the first commit in the sandbox, in the background. If there is a
 * setup script, waits for the commit, so that the script finds a complete
 * repository. */
static int commit_tree(struct filling *f, struct sandbox *sb,
		       const struct stop *stop, struct error *err)
{
	int rc = commit_begin(&f->w, sb, err);

	if (rc == 0 && f->r->options.setup)
		rc = background_wait(sb->background, stop, err);
	return rc;
}

/* True if the sandbox already has the tree, so that only changes need to be
 * sent. False with --workspace none, which sends nothing. */
static bool was_sent(const struct run *r, const char *root)
{
	const char *mode = r->options.workspace;
	char *state;
	bool sent;

	if (mode && strcmp(mode, "repo") != 0)
		return false;
	state = path_join(settings_dir(r->app->settings), ".state");
	sent = workspace_exists(state, root, r->box.label);
	free(state);
	return sent;
}

/* Refuses a home directory and "/". Not called for git repositories. */
static int check_project(const struct run *r, const char *root,
			 struct error *err)
{
	char *home = realpath(settings_home(r->app->settings), NULL);
	bool is_project = strcmp(root, "/") && (!home || strcmp(root, home));

	free(home);
	if (is_project)
		return 0;
	error_set(err, ERR_USAGE,
		  "refusing to send %s: not a project directory (home or "
		  "system directory)",
		  root);
	return error_hint(err, "Change to a project directory, run git init "
			       "here, or use --workspace none.");
}

int run_workspace_check(const struct run *r, struct error *err)
{
	const char *mode = r->options.workspace;
	bool is_repository;
	char *root;
	int rc = 0;

	if (!mode || strcmp(mode, "repo") != 0)
		return 0;
	root = user_repo_root(settings_cwd(r->app->settings), &is_repository,
			      err);
	if (!root)
		return -1;
	if (!is_repository)
		rc = check_project(r, root, err);
	free(root);
	return rc;
}

/* The first turn has no checkpoint yet: see undo.h. */
static void note_acting(const struct workspace *w, const struct stop *stop)
{
	char *file = xasprintf("%s/%s." UNDO_ACTING, w->directory, w->label);
	struct error ignored = { 0 };

	if (checkpoint_note_first(w, stop, &ignored) == 0)
		(void)path_write(file, STR("1 -\n"), 0600, &ignored);
	free(file);
}

/* Mounts the directory, sends the tree, asks the user, or leaves the sandbox
 * empty, as the options say. */
int run_workspace_fill(struct run *r, struct sandbox *sb,
		       void (*decided)(struct run *r), const struct stop *stop,
		       struct error *err)
{
	struct filling f = { .r = r, .decided = decided };
	const char *mode = r->options.workspace;
	enum decision decision;
	bool is_repository;
	char *root;
	int rc = 0;

	if (!run_has_sandbox(r))
		return 0;
	if (!sb)
		return ask_early(r, stop, err);
	if (sb->mounts.n || (mode && !strcmp(mode, "bind")))
		return run_bind_begin(r, sb, stop, err);
	if (!r->box.label[0]) {
		if (!mode || strcmp(mode, "repo") != 0)
			return 0;
		return error_set(err, ERR_USAGE,
				 "--workspace repo needs a sandbox that dcode "
				 "created, but --sandbox-id names another one");
	}
	root = user_repo_root(settings_cwd(r->app->settings), &is_repository,
			      err);
	if (!root)
		return -1;
	decision = was_sent(r, root)
			   ? SEND_TREE
			   : choose_what_to_send(r, is_repository, root);
	if (decision == SEND_TREE && !is_repository)
		rc = check_project(r, root, err);
	if (rc == 0 && is_repository)
		remember_flag(r, root);
	if (rc == 0 && decision != SEND_NOTHING)
		rc = fill_tree(&f, sb, root, decision, stop, err);
	if (rc == 0 && f.w.label)
		rc = commit_tree(&f, sb, stop, err);
	if (rc == 0 && f.w.label && r->move)
		rc = r->move->fill(r->move, &f.w, sb, err);
	sb->names_changes = r->interactive && f.w.label && f.w.base[0];
	if (rc == 0 && f.w.label && f.w.base[0] && !r->box.resumed && !r->move)
		note_acting(&f.w, stop);
	select_release(&f.s);
	workspace_close(&f.w);
	free(root);
	return rc < 0 ? -1 : 0;
}

/* record_expiry.c - expires the records of deleted sandboxes. */
/* SPDX-License-Identifier: MIT */

/*
 * For each sandbox dcode records what was sent to it and what was last seen in
 * it (LABEL.listing, LABEL.unsent, refs). The records stay after the sandbox
 * was deleted, because its work may still be needed. Once a day records_sweep()
 * deletes the records of deleted sandboxes, if their work was fetched or they
 * are very old. records_pack() and records_tidy() compact dcode's git
 * repositories. Begin reading at sweep_expired().
 */
#include "cmd/session/record_expiry.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/app.h"
#include "cmd/print.h"
#include "session/ledger.h"
#include "worktree/user_repo.h"
#include "worktree/workspace.h"

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

void records_sweep(struct app *app, const struct workspace *w)
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

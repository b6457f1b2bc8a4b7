/* workspace.c - a working tree of the user and its copy in a sandbox. */
/* SPDX-License-Identifier: MIT */
/*
 * Manages the store of a tree, STATE/workspaces/KEY, and its base: the commit
 * that the tree and a sandbox share, with its listing. All other code of this
 * directory gets an open struct workspace. workspace_pack() packs the store's
 * repository from time to time. Two dcodes may open the same tree:
 * the use lock prevents one from packing the repository meanwhile, the base
 * lock prevents them from updating a base at the same time.
 */
#include "worktree/workspace.h"

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
#include "worktree/git.h"

enum {
	KEY_DIGITS = 16,
	LOCK_MS = 10000,
	PACKED_MS = 120000, /* time to wait while another dcode is packing */
	SILENT_MS = 1000,   /* time to wait before the user is told */
};

enum { /* packing */
       DAY_S = 86400,
       PACKS_MAX = 20,
       /* loose objects in one of the 256 directories: about 2000 in total */
       LOOSE_MAX = 8,
       GROWTH_MIN = 64 << 20, /* bytes */
       PACK_MS = 3600000,
};

/* file with the total bytes of the packs after the last packing */
#define PACK_STAMP "packed"
#define OF_COMMIT "commit " /* start of the first line of a listing */

/* Returns STATE/workspaces/KEY, owned. */
static char *make_directory(const char *state, const char *root)
{
	char hash[LISTING_HASH];

	listing_digest(str_of(root), hash);
	return xasprintf("%s/workspaces/%.*s", state, KEY_DIGITS, hash);
}

static struct stat_cache *open_cache(const char *directory)
{
	char *file = path_join(directory, "files.stat");
	struct stat_cache *cache = stat_cache_open(file);

	free(file);
	return cache;
}

/* Takes a shared lock on use.lock until the workspace is closed. */
static int lock_use(struct workspace *w, const struct stop *stop,
		    struct error *err)
{
	char *file = path_join(w->directory, "use.lock");
	struct stop brief = stop_within(stop, SILENT_MS);
	struct stop wait = stop_within(stop, PACKED_MS);
	struct error why = { 0 };
	int fd = path_lock_shared(file, &brief, &why);

	if (fd < 0 && why.code == ERR_TIMEOUT && stop_check(stop, err) == 0) {
		if (w->on_wait)
			w->on_wait("waiting for another dcode, which compacts "
				   "its copy of this tree");
		fd = path_lock_shared(file, &wait, err);
	} else if (fd < 0) {
		*err = why;
	}
	free(file);
	w->in_use = fd + 1;
	return fd < 0 ? -1 : 0;
}

/* Opens dcode's repository. Does not run a git from below avoid. */
static int open_git(struct workspace *w, const char *avoid,
		    const struct stop *stop, struct error *err)
{
	struct error why = { 0 };
	int rc;

	if (git_find(avoid, &w->program, err) < 0 || lock_use(w, stop, err) < 0)
		return -1;
	w->git_dir = path_join(w->directory, "git");
	w->git = (struct git){ .program = w->program, .dir = w->git_dir };
	w->cache = open_cache(w->directory);
	if (git_init(&w->git, stop, err) < 0)
		return -1;
	w->base_ref = odb_ref_name(w->label, "base");
	w->theirs_ref = odb_ref_name(w->label, "sandbox");
	rc = odb_ref_get(&w->git, w->base_ref, w->base, stop, &why);
	if (rc == 0 || why.code == ERR_NOT_FOUND)
		return 0;
	*err = why;
	return -1;
}

char *workspace_label_file(const char *state, const char *root,
			   const char *label, const char *kind)
{
	char *real = realpath(root, NULL);
	char *directory = real ? make_directory(state, real) : NULL;
	char *file = directory && label[0]
			     ? xasprintf("%s/%s.%s", directory, label, kind)
			     : NULL;

	free(real);
	free(directory);
	return file;
}

/* True if a file exists. Frees its path, which may be NULL. */
static bool has_file(char *file)
{
	bool exists = file && access(file, F_OK) == 0;

	free(file);
	return exists;
}

bool workspace_exists(const char *state, const char *root, const char *label)
{
	return has_file(workspace_label_file(state, root, label, "listing"));
}

bool workspace_is_bound(const char *state, const char *root, const char *label)
{
	return has_file(workspace_label_file(state, root, label, "bound"));
}

int workspace_note_bound(const char *state, const char *root, const char *label,
			 struct error *err)
{
	char *file = workspace_label_file(state, root, label, "bound");
	char *directory =
		file ? xstrndup(file, (size_t)(strrchr(file, '/') - file))
		     : NULL;
	int rc = file ? path_mkdirs(directory, 0700, err)
		      : error_errno(err, "%s", root);

	if (rc == 0)
		rc = path_write(file, STR(""), 0600, err);
	free(directory);
	free(file);
	return rc;
}

int workspace_open(struct workspace *w, const char *state, const char *root,
		   const char *label, const struct stop *stop,
		   struct error *err)
{
	*w = (struct workspace){ .root = realpath(root, NULL),
				 .on_wait = w->on_wait };
	if (!w->root)
		return error_errno(err, "%s", root);
	w->label = xstrdup(label);
	w->branch = xstrdup("");
	w->directory = make_directory(state, w->root);
	if (path_mkdirs(w->directory, 0700, err) == 0 &&
	    open_git(w, w->root, stop, err) == 0)
		return 0;
	workspace_close(w);
	return -1;
}

/* Returns the directory with the newest listing of the label, owned, or NULL.
 * If a thread was continued in another directory, there are two. */
static char *find_label(const char *state, const char *label)
{
	char *all = path_join(state, "workspaces");
	DIR *d = label[0] ? opendir(all) : NULL;
	struct dirent *entry;
	char *newest = NULL;
	time_t when = 0;

	while (d && (entry = readdir(d))) {
		char *one = path_join(all, entry->d_name);
		char *file = xasprintf("%s/%s.listing", one, label);
		struct stat st;

		if (entry->d_name[0] != '.' && lstat(file, &st) == 0 &&
		    (!newest || st.st_mtime > when)) {
			free(newest);
			newest = xstrdup(one);
			when = st.st_mtime;
		}
		free(file);
		free(one);
	}
	if (d)
		closedir(d);
	free(all);
	return newest;
}

int workspace_open_label(struct workspace *w, const char *state,
			 const char *avoid, const char *label,
			 const struct stop *stop, struct error *err)
{
	int rc;

	*w = (struct workspace){ .directory = find_label(state, label),
				 .on_wait = w->on_wait };
	if (!w->directory)
		return 1;
	w->root = xstrdup("");
	w->label = xstrdup(label);
	w->branch = xstrdup("");
	rc = open_git(w, avoid, stop, err);
	if (rc == 0 && !w->base[0])
		rc = error_set(err, ERR_CONFIG, "%s has no base for %s",
			       w->directory, label);
	if (rc < 0)
		workspace_close(w);
	return rc;
}

int workspace_open_key(struct workspace *w, const char *state,
		       const char *avoid, const char *key,
		       const struct stop *stop, struct error *err)
{
	char *all = path_join(state, "workspaces");

	*w = (struct workspace){ .root = xstrdup(""),
				 .directory = path_join(all, key),
				 .label = xstrdup(WORKSPACE_NO_SANDBOX),
				 .branch = xstrdup(""),
				 .on_wait = w->on_wait };
	free(all);
	if (open_git(w, avoid, stop, err) == 0)
		return 0;
	workspace_close(w);
	return -1;
}

static DIR *open_below(const char *dir, const char *name)
{
	char *path = path_join(dir, name);
	DIR *d = opendir(path);

	free(path);
	return d;
}

struct pack_sizes {
	size_t packs;
	int64_t bytes;
};

static struct pack_sizes read_packs(const char *dir)
{
	DIR *d = open_below(dir, "objects/pack");
	struct pack_sizes s = { 0 };
	const struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d)))
		if (str_ends(str_of(e->d_name), ".pack") &&
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) ==
			    0) {
			s.packs++;
			s.bytes += st.st_size;
		}
	if (d)
		closedir(d);
	return s;
}

/* Counts the loose objects in one of the 256 directories. Object names are
 * hashes, so the others contain about as many. */
static size_t count_loose(const char *dir)
{
	DIR *d = open_below(dir, "objects/17");
	const struct dirent *e;
	size_t n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

/* True if the repository was packed less than a day ago. Else *bytes is the
 * size of its packs after the last packing, or 0 if it was never packed. */
static bool was_packed_today(const char *dir, int64_t *bytes)
{
	char *file = path_join(dir, PACK_STAMP);
	struct buf text = BUF_INIT(64);
	struct error ignored = { 0 };
	time_t now = time(NULL);
	struct stat st;
	bool today = lstat(file, &st) == 0 && st.st_mtime <= now &&
		     now - st.st_mtime < DAY_S;

	*bytes = 0;
	if (!today && path_read(file, &text, &ignored) == 0)
		(void)str_to_int(str_trim(buf_str(&text)), bytes);
	buf_release(&text);
	free(file);
	return today;
}

/* True if the repository in dir has many packs or loose objects, or has more
 * than doubled in size since it was last packed. False until a day after
 * pack(). Only reads directories. */
static bool is_pack_due(const char *dir)
{
	struct pack_sizes s;
	int64_t before;

	if (was_packed_today(dir, &before))
		return false;
	s = read_packs(dir);
	return s.packs > PACKS_MAX || count_loose(dir) > LOOSE_MAX ||
	       (before && s.bytes > GROWTH_MIN + 2 * before);
}

/* Records the current size of the packs; the file's time is the time of
 * packing. */
static int write_stamp(const char *dir, struct error *err)
{
	char *file = path_join(dir, PACK_STAMP);
	struct buf text = BUF_INIT(64);
	int rc;

	buf_addf(&text, "%lld\n", (long long)read_packs(dir).bytes);
	rc = path_write(file, buf_str(&text), 0600, err);
	buf_release(&text);
	free(file);
	return rc;
}

/* Makes one pack of all referenced objects, another of unreferenced ones from
 * the last two weeks, and deletes the rest. No other dcode may use g meanwhile.
 * The next call deletes what an interrupted one has left. */
static int pack(const struct git *g, const struct stop *stop, struct error *err)
{
	/* Without a search for deltas, repacking is as fast as a copy. Loose
	 * objects are already compressed. */
	static const char *const repack[] = {
		"-c",         "pack.compression=1",
		"repack",     "-d",
		"-q",         "-n",
		"--cruft",    "--cruft-expiration=2.weeks.ago",
		"--window=0", NULL
	};
	/* Also deletes incomplete files of a killed git. */
	static const char *const prune[] = { "prune", "--expire=2.weeks.ago",
					     NULL };
	static const char *const refs[] = { "pack-refs", "--all", "--prune",
					    NULL };
	static const char *const *const steps[] = { repack, prune, refs };
	struct error ignored = { 0 };

	/* Written first: if packing fails, it is tried again in a day, not at
	 * once. */
	if (write_stamp(g->dir, err) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		const struct git_request r = { .argv = steps[i],
					       .timeout_ms = PACK_MS };

		if (git_run(g, &r, stop, err) < 0)
			return -1;
	}
	(void)write_stamp(g->dir, &ignored);
	return 0;
}

bool workspace_pack_is_due(const char *state, const char *root)
{
	char *real = realpath(root, NULL);
	char *directory = real ? make_directory(state, real) : NULL;
	char *git_dir = directory ? path_join(directory, "git") : NULL;
	bool due = git_dir && is_pack_due(git_dir);

	free(real);
	free(directory);
	free(git_dir);
	return due;
}

/* True if an apply was not completed or undone. */
static bool has_journal(const struct workspace *w)
{
	return has_file(path_join(w->directory, "journal")) ||
	       has_file(path_join(w->directory, "journal.new"));
}

int workspace_pack(struct workspace *w, const struct stop *stop,
		   struct error *err)
{
	if (!is_pack_due(w->git_dir) || has_journal(w) ||
	    path_lock_upgrade(w->in_use - 1) < 0)
		return 0;
	return pack(&w->git, stop, err);
}

void workspace_close(struct workspace *w)
{
	stat_cache_close(w->cache);
	if (w->in_use)
		close(w->in_use - 1);
	free(w->root);
	free(w->directory);
	free(w->label);
	free(w->program);
	free(w->git_dir);
	free(w->base_ref);
	free(w->theirs_ref);
	free(w->branch);
	*w = (struct workspace){ 0 };
}

int workspace_lock(const struct workspace *w, const struct stop *stop,
		   struct error *err)
{
	char *file = path_join(w->directory, "base.lock");
	struct stop wait = stop_within(stop, LOCK_MS);
	int fd = path_lock(file, &wait, err);

	free(file);
	return fd;
}

int workspace_lock_base(struct workspace *w, const struct stop *stop,
			struct error *err)
{
	int fd = workspace_lock(w, stop, err);

	if (fd < 0 ||
	    odb_ref_get(&w->git, w->base_ref, w->base, stop, err) == 0)
		return fd;
	close(fd);
	return -1;
}

int workspace_set_base(struct workspace *w, const char *commit,
		       const struct stop *stop, struct error *err)
{
	if (odb_ref_set(&w->git, w->base_ref, commit, stop, err) < 0)
		return -1;
	memcpy(w->base, commit, strlen(commit) + 1);
	return 0;
}

struct relisted {
	unsigned mode; /* 0: deleted */
	char *path;
};

struct relist {
	struct relisted *list;
	struct odb_file *blobs; /* of the paths that are not deleted */
	size_t n, n_blobs, cap, cap_blobs;
};

static size_t grown(size_t cap)
{
	return cap ? cap * 2 : 64;
}

/* An odb_sink: collects the changed paths. */
static int add_relisted(void *arg, const struct odb_record *d,
			struct error *err)
{
	struct relist *c = arg;

	(void)err;
	if (c->n == c->cap) {
		c->cap = grown(c->cap);
		c->list = xrealloc(c->list, c->cap, sizeof(*c->list));
	}
	c->list[c->n++] = (struct relisted){ d->new_mode, xstrdup(d->path) };
	if (!d->new_mode)
		return 0;
	if (c->n_blobs == c->cap_blobs) {
		c->cap_blobs = grown(c->cap_blobs);
		c->blobs = xrealloc(c->blobs, c->cap_blobs, sizeof(*c->blobs));
	}
	c->blobs[c->n_blobs] = (struct odb_file){ 0 };
	memcpy(c->blobs[c->n_blobs++].oid, d->new_oid, strlen(d->new_oid) + 1);
	return 0;
}

/* Updates the listing. Blobs are in the order of the changes that have one. */
static void change_listing(struct listing *l, const struct relist *c)
{
	size_t blob = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct relisted *one = &c->list[i];
		char hex[LISTING_HASH];

		if (!one->mode) {
			listing_drop(l, one->path);
			continue;
		}
		sodium_bin2hex(hex, sizeof(hex), c->blobs[blob++].hash,
			       ODB_HASH);
		listing_add(l, one->mode, hex, str_of(one->path));
	}
}

int workspace_relist(struct listing *l, const struct git *g, const char *before,
		     const char *after, const struct stop *stop,
		     struct error *err)
{
	struct relist c = { 0 };
	int rc = odb_tree_diff(g, before, after,
			       &(struct odb_sink){ add_relisted, &c }, stop,
			       err);

	if (rc == 0)
		rc = odb_write_files(g, c.blobs, c.n_blobs, stop, err);
	if (rc == 0)
		change_listing(l, &c);
	for (size_t i = 0; i < c.n; i++)
		free(c.list[i].path);
	free(c.list);
	free(c.blobs);
	return rc;
}

static char *listing_file(const struct workspace *w)
{
	return xasprintf("%s/%s.listing", w->directory, w->label);
}

/* True if the listing belongs to w->base. Skips its first line, which names the
 * commit. A listing without that line is assumed to match. */
static bool is_of_base(const struct workspace *w, struct str *text)
{
	struct str line;

	if (!str_starts(*text, OF_COMMIT))
		return true;
	(void)str_split(text, '\n', &line);
	line = str_skip(line, sizeof(OF_COMMIT) - 1);
	return !w->base[0] || str_is(line, w->base);
}

int workspace_read_listing(const struct workspace *w, struct listing *l,
			   const struct stop *stop, struct error *err)
{
	struct buf file = BUF_INIT(LISTING_MAX);
	char *path = listing_file(w);
	int rc = path_read(path, &file, err);
	struct str text = buf_str(&file);

	if (rc == 0 && !is_of_base(w, &text))
		rc = workspace_relist(l, &w->git, NULL, w->base, stop, err);
	else if (rc == 0 && listing_parse(l, text, err) < 0)
		rc = error_wrap(err, "%s", path);
	buf_release(&file);
	free(path);
	return rc;
}

int workspace_write_listing(const struct workspace *w, struct listing *l,
			    const char *commit, struct error *err)
{
	struct buf text = BUF_INIT(LISTING_MAX);
	char *file = listing_file(w);
	int rc;

	buf_addf(&text, OF_COMMIT "%s\n", commit);
	listing_write(l, &text);
	rc = buf_check(&text, "the listing", err);
	if (rc == 0)
		rc = path_write(file, buf_str(&text), 0600, err);
	buf_release(&text);
	free(file);
	return rc;
}

static char *uploaded_file(const struct workspace *w)
{
	return xasprintf("%s/%s.uploaded", w->directory, w->label);
}

int workspace_read_uploaded(struct listing *l, const struct workspace *w,
			    struct error *err)
{
	struct buf text = BUF_INIT(LISTING_MAX);
	char *file = uploaded_file(w);
	int rc = access(file, F_OK) == 0 ? path_read(file, &text, err) : 0;

	if (rc == 0 && listing_parse(l, buf_str(&text), err) < 0)
		rc = error_wrap(err, "%s", file);
	buf_release(&text);
	free(file);
	return rc;
}

/* Adds entries to LABEL.uploaded. The caller holds base.lock. */
static int add_uploaded(const struct listing *l, const struct workspace *w,
			struct error *err)
{
	struct buf text = BUF_INIT(LISTING_MAX);
	char *file = uploaded_file(w);
	struct listing all = { 0 };
	int rc = workspace_read_uploaded(&all, w, err);

	for (size_t i = 0; rc == 0 && i < l->n; i++)
		listing_add(&all, l->entries[i].mode, l->entries[i].hash,
			    str_of(l->entries[i].path));
	listing_write(&all, &text);
	if (rc == 0)
		rc = buf_check(&text, "the list of uploads", err);
	if (rc == 0)
		rc = path_write(file, buf_str(&text), 0600, err);
	listing_release(&all);
	buf_release(&text);
	free(file);
	return rc;
}

int workspace_add_uploaded(const struct listing *l, const struct workspace *w,
			   const struct stop *stop, struct error *err)
{
	int lock = workspace_lock(w, stop, err);
	int rc = lock < 0 ? -1 : add_uploaded(l, w, err);

	if (lock >= 0)
		close(lock);
	return rc;
}

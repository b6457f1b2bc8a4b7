/* workspace.h - a working tree of the user and its copy in a sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_WORKSPACE_H
#define WORKTREE_WORKSPACE_H

#include "worktree/git.h"
#include "worktree/listing.h"
#include "worktree/odb.h"
#include "worktree/stat_cache.h"

/*
 * Everything that dcode stores about a tree is in STATE/workspaces/KEY/. KEY is
 * 16 hexadecimal digits of the SHA-256 of the real path of the tree's root.
 *   git/           dcode's own bare repository, for git_run() and odb_...
 *   LABEL.listing  "commit OID", and the listing of the base, the state that
 *                  the tree and the sandbox share
 *   LABEL.seen     files that the last fetch refused or left (fetch.c)
 *   LABEL.uncommitted  exists while the sandbox's git has not committed the
 *                  tree (send.c)
 *   LABEL.included paths that were sent only because of an --include pattern
 *                  (send.c)
 *   LABEL.uploaded listing of the files that the user uploaded himself
 *   LABEL.remotes  the remotes of the user's repository when the tree was sent
 *                  (server_git.h)
 *   LABEL.pushed   the branch that was pushed for the sandbox (push.h)
 *   LABEL.turns    locked while a checkpoint is made or restored
 *   LABEL.undoing  an undo that has begun (checkpoint.h)
 *   LABEL.undone   text about undone changes that the model is not told yet
 *   LABEL.perms    permissions of files that a tool has written without a
 *                  sandbox (turn_files.c)
 *   LABEL.acting   a turn has no checkpoint yet
 *   LABEL.unsent   names of all files that were not sent, if there were too
 *                  many to print
 *   LABEL.bound    the tree itself is mounted into the sandbox: nothing was
 *                  sent
 *   push.XXXXXX/   git directory of a push that is running (server_git.h)
 *   files.stat     hashes of the tree's files (worktree/stat_cache.h)
 *   base.lock      locked while a base is updated or a LABEL list is extended
 *   use.lock       shared lock while a dcode has the tree open; exclusive lock
 *                  while git/ is packed
 *   swept          its time is that of the last search for expired records
 * Commits in git/:
 *   refs/dcode/LABEL/base     the exact bytes of the files in LABEL.listing
 *   refs/dcode/LABEL/sandbox  what the last fetch found in the sandbox
 *   refs/dcode/LABEL/branch   an earlier .../sandbox: the last one that was
 *                             committed to a branch of the user
 *   refs/dcode/LABEL/turns/...  states after turns (checkpoint.h)
 * LABEL is the sandbox's label in the ledger ("dcode-abcd2345").
 */
struct workspace {
	/* owned: real path of the tree's root; "" if unknown */
	char *root;
	char *directory;    /* owned: .../workspaces/KEY */
	char *label;        /* owned */
	char *program;      /* owned: git */
	char *git_dir;      /* owned */
	struct git git;     /* for git_dir, without index and work tree */
	char *base_ref;     /* owned: refs/dcode/LABEL/base */
	char *theirs_ref;   /* owned: refs/dcode/LABEL/sandbox */
	char base[GIT_OID]; /* the commit of base_ref; "": none */
	/* owned: the user's branch when the tree was sent, without refs/heads/;
	 * "": none or detached */
	char *branch;
	char head[GIT_OID];       /* the user's HEAD at that time, or "" */
	struct stat_cache *cache; /* owned: cache of the tree's files */
	int in_use;               /* 1 + descriptor of use.lock; 0: none */
	/* Set before opening: receives a message if opening has to wait. */
	void (*on_wait)(const char *line);
};

/* Label of a workspace without a sandbox: the local tree. */
#define WORKSPACE_NO_SANDBOX "here"

/* Opens the workspace of a tree and creates what is missing. state: directory
 * of dcode's state; root: any path of the tree's root. ERR_CONFIG if git is
 * missing. Sets all of *w except on_wait, which the caller has set; on -1 *w is
 * empty. */
int workspace_open(struct workspace *w, const char *state, const char *root,
		   const char *label, const struct stop *stop,
		   struct error *err);
/* Returns the path of the file LABEL.KIND, owned; NULL if root does not
 * exist. */
char *workspace_label_file(const char *state, const char *root,
			   const char *label, const char *kind);
/* True if a tree was sent to the sandbox of this label. Creates nothing. */
bool workspace_exists(const char *state, const char *root, const char *label);
/* workspace_note_bound() records that the user's tree itself is mounted into
 * the sandbox of this label, so that nothing was sent; workspace_is_bound() is
 * true if that was recorded. */
int workspace_note_bound(const char *state, const char *root, const char *label,
			 struct error *err);
bool workspace_is_bound(const char *state, const char *root, const char *label);
/*
 * Opens the store of a label, wherever its tree is or was: to read the base,
 * and to fetch the sandbox's changes. The tree itself is not accessible: root
 * is "". Does not run a git from below avoid. 1: not found; on -1 and 1 w is
 * empty.
 */
int workspace_open_label(struct workspace *w, const char *state,
			 const char *avoid, const char *label,
			 const struct stop *stop, struct error *err);
/* Opens a directory of STATE/workspaces by its name, without a label: w gets
 * WORKSPACE_NO_SANDBOX. */
int workspace_open_key(struct workspace *w, const char *state,
		       const char *avoid, const char *key,
		       const struct stop *stop, struct error *err);
void workspace_close(struct workspace *w); /* w may be zeroed */
/* True if workspace_pack() would have work to do. Does not start git. */
bool workspace_pack_is_due(const char *state, const char *root);
/* If workspace_pack_is_due(), nobody else has the tree open and no apply is
 * unfinished: packs git/ and deletes objects that were not referenced for two
 * weeks. Afterwards w can only be closed. */
int workspace_pack(struct workspace *w, const struct stop *stop,
		   struct error *err);
/*
 * Call before updating a base, so that two dcodes do not overwrite each other's
 * update: locks the bases of all labels and reads w->base again. Hold it only
 * while writing, and take no other lock meanwhile. Returns a descriptor, to be
 * closed, or -1: ERR_TIMEOUT after ten seconds.
 */
int workspace_lock_base(struct workspace *w, const struct stop *stop,
			struct error *err);
/* Takes the same lock without reading the base, to extend a list of a label. */
int workspace_lock(const struct workspace *w, const struct stop *stop,
		   struct error *err);
/* Makes commit the base: the state that both sides share. */
int workspace_set_base(struct workspace *w, const char *commit,
		       const struct stop *stop, struct error *err);
/* workspace_read_listing() reads the base's listing; workspace_write_listing()
 * replaces it on disk, with the id of its commit. If that commit is not the
 * base, after a crash, the listing is made from the base. */
int workspace_read_listing(const struct workspace *w, struct listing *l,
			   const struct stop *stop, struct error *err);
int workspace_write_listing(const struct workspace *w, struct listing *l,
			    const char *commit, struct error *err);
/* Converts the listing of before into that of after. before NULL: l is empty,
 * and all files of after are read. On -1 l is unchanged. */
int workspace_relist(struct listing *l, const struct git *g, const char *before,
		     const char *after, const struct stop *stop,
		     struct error *err);
/* Reads LABEL.uploaded, the listing of files that the user uploaded into the
 * sandbox's tree. A fetch treats them as the agent's work only if they have
 * changed. Adds to l, which is initialised with { 0 }. */
int workspace_read_uploaded(struct listing *l, const struct workspace *w,
			    struct error *err);
/* Adds the entries of l, or replaces them. Several dcodes may do this at
 * once. */
int workspace_add_uploaded(const struct listing *l, const struct workspace *w,
			   const struct stop *stop, struct error *err);

#endif

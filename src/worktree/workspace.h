/* workspace.h - a working tree of the user's, and its copy in a sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_WORKSPACE_H
#define WORKTREE_WORKSPACE_H

#include "worktree/git.h"
#include "worktree/listing.h"
#include "worktree/odb.h"
#include "worktree/stat_cache.h"

/*
 * Everything that dcode keeps of a tree is in STATE/workspaces/KEY/, KEY being
 * 16 hexadecimal digits of the SHA-256 of the real path of its root:
 *   git/           a bare repository of dcode's own, for git_run() and odb_...
 *   LABEL.listing  "commit OID", and what both sides share as a listing
 *   LABEL.seen     what was refused and left when it was last asked
 *   LABEL.uncommitted  the sandbox has no commit of it yet (send.c)
 *   LABEL.included what went only because an include names it (send.c)
 *   LABEL.uploaded files that the user put there himself
 *   LABEL.unsent   what was not sent, where that is too much for a screen
 *   files.stat     hashes of its files (worktree/stat_cache.h)
 *   LABEL.bound    that sandbox has the tree itself: nothing was sent
 *   base.lock      held while a base moves, or a list of a label is added to
 *   use.lock       held, shared, while the tree is open; alone to pack git/
 *   swept          its time: when old records were last looked for
 * refs/dcode/LABEL/base is a commit with the exact bytes of that listing,
 * refs/dcode/LABEL/sandbox one with what was last seen in the sandbox,
 * refs/dcode/LABEL/branch one whose work stands on a branch of the user's.
 * LABEL is the sandbox's in the ledger ("dcode-abcd2345").
 */
struct workspace {
	char *root;         /* owned: the real path of the tree's root; or "",
			       if it is not known */
	char *directory;    /* owned: .../workspaces/KEY */
	char *label;        /* owned */
	char *program;      /* owned: git */
	char *git_dir;      /* owned */
	struct git git;     /* of git_dir, without index and work tree */
	char *base_ref;     /* owned: refs/dcode/LABEL/base */
	char *theirs_ref;   /* owned: refs/dcode/LABEL/sandbox */
	char base[GIT_OID]; /* the commit base_ref names; "": there is none */
	char *branch;       /* owned: the user's when the tree was sent, with
			       refs/heads/ taken off; "": none, detached */
	char head[GIT_OID]; /* his HEAD then, or "" */
	struct stat_cache *cache; /* owned: of the tree's files */
	int in_use;               /* 1 + the descriptor of use.lock; 0: none */
	/* Set before it is opened: gets a line if opening has to wait. */
	void (*on_wait)(const char *line);
};

/* The label of a workspace without a sandbox: the tree here. */
#define WORKSPACE_NO_SANDBOX "here"

/* state is the directory of dcode's state; root any path of the tree's root.
 * Makes what is missing. ERR_CONFIG if there is no git. w is zeroed before,
 * except on_wait; on -1 it is empty. */
int workspace_open(struct workspace *w, const char *state, const char *root,
		   const char *label, const struct stop *stop,
		   struct error *err);
/* True when a tree was sent to the sandbox of this label: nothing is made. */
bool workspace_exists(const char *state, const char *root, const char *label);
/* Notes that the sandbox of this label has the tree itself, and asks. */
int workspace_note_bound(const char *state, const char *root, const char *label,
			 struct error *err);
bool workspace_is_bound(const char *state, const char *root, const char *label);
/*
 * Opens the store of a label, wherever its tree is or was: to read the base,
 * and to fetch what the sandbox has. The tree itself is out of reach: root is
 * "". No git below avoid is run. 1: there is none; on -1 and 1 w is empty.
 */
int workspace_open_label(struct workspace *w, const char *state,
			 const char *avoid, const char *label,
			 const struct stop *stop, struct error *err);
/* Opens one directory of STATE/workspaces by its name, without a label: w has
 * WORKSPACE_NO_SANDBOX. */
int workspace_open_key(struct workspace *w, const char *state,
		       const char *avoid, const char *key,
		       const struct stop *stop, struct error *err);
void workspace_close(struct workspace *w); /* a zeroed one is fine */
/* Whether workspace_pack() would have work to do: starts no git. */
bool workspace_pack_is_due(const char *state, const char *root);
/* Packs git/ and deletes what nothing has named for two weeks, where that is
 * due (worktree/git.h), nobody else has the tree open, and no apply waits to be
 * finished. After it w can only be closed. */
int workspace_pack(struct workspace *w, const struct stop *stop,
		   struct error *err);
/*
 * Around each move of the base, so that two dcodes do not undo each other's:
 * locks the base of every label here, and reads w->base again. Held for as long
 * as it takes to write; nothing else is locked meanwhile. A descriptor, to be
 * closed, or -1: ERR_TIMEOUT after ten seconds.
 */
int workspace_lock_base(struct workspace *w, const struct stop *stop,
			struct error *err);
/* That lock alone, to add to a list of a label. */
int workspace_lock(const struct workspace *w, const struct stop *stop,
		   struct error *err);
/* Makes commit the base: what both sides share from now on. */
int workspace_set_base(struct workspace *w, const char *commit,
		       const struct stop *stop, struct error *err);
/* The listing of the base, and its replacement on the disk, which says of which
 * commit it is. If that is not the base, after a crash, the base is read. */
int workspace_read_listing(const struct workspace *w, struct listing *l,
			   const struct stop *stop, struct error *err);
int workspace_write_listing(const struct workspace *w, struct listing *l,
			    const char *commit, struct error *err);
/* Makes the listing of before that of after. before NULL: l is empty, and all
 * of after is read. On -1 l has not changed. */
int workspace_relist(struct listing *l, const struct git *g, const char *before,
		     const char *after, const struct stop *stop,
		     struct error *err);
/* LABEL.uploaded: files that the user put into the sandbox's tree himself, as a
 * listing. A fetch takes them for the agent's work only if they are different.
 * Adds to l, which starts from { 0 }. */
int workspace_read_uploaded(struct listing *l, const struct workspace *w,
			    struct error *err);
/* Adds what is in l, or replaces it. Two dcodes may do it at once. */
int workspace_add_uploaded(const struct listing *l, const struct workspace *w,
			   const struct stop *stop, struct error *err);
/* A path below the root that the kernel may be given: owned. */
char *workspace_path(const struct workspace *w, const char *name);

#endif

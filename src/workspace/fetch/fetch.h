/* fetch.h - brings what changed in a sandbox into dcode's own repository. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKSPACE_FETCH_H
#define WORKSPACE_FETCH_H

#include "sandbox/sandbox.h"
#include "workspace/workspace.h"

struct fetch_request { /* all borrowed */
	struct sandbox *sandbox;
	struct str exclude; /* patterns of the user's, beside .gitignore */
	/* Patterns as in .gitignore of ignored new files that come as well. */
	const char *const *include;
	size_t n_include;
	int64_t file_max;  /* bytes of one file */
	int64_t total_max; /* of all that come */
	/* Files that make a first answer large are only listed in later:
	 * fetch_later() brings them. */
	bool small_first;
};

struct fetch_item { /* what does not come, untrusted; owned */
	char *path;
	const char *why; /* static, goes on after the path: "is a pipe ..." */
	int64_t size;    /* of a file that is too large, else 0 */
};

struct fetch {                /* start from { 0 } */
	bool same;            /* nothing differs from the base */
	char theirs[GIT_OID]; /* the commit of what is there, or the base */
	/* Names, links and modes that nothing of the user's may be given. */
	struct fetch_item *refused;
	size_t n_refused;
	/* Too large, unreadable, no file, or another repository. */
	struct fetch_item *left;
	size_t n_left;
	struct fetch_item *later; /* with small_first: not come yet */
	size_t n_later;
	int64_t bytes;   /* of the files that came */
	int64_t ignored; /* new files that git ignores */
	/* The first of these: a directory of which nothing comes is one item,
	 * "dir/" with the number of its files as size; of a file size is 0. */
	struct fetch_item *ignored_names;
	size_t n_ignored_names;
	char *recalled; /* owned: what why of recalled items points to */
};

/*
 * Makes w->theirs_ref a commit on top of the base with what the sandbox has
 * now: one command and at most one download there; one more of each when its
 * image has no git, or with include, and again where there are new .gitignore
 * files then, and a command where uploads stay behind. Nothing of the user's is
 * written.
 * ERR_LIMIT: more than total_max would come. Release f in any case.
 */
int fetch_changes(struct workspace *w, const struct fetch_request *r,
		  struct fetch *f, const struct stop *stop, struct error *err);
/*
 * Brings the files of f->later, the smallest first, until total_max or the end
 * of stop: f->theirs and w->theirs_ref then have all that came. The rest is in
 * f->left, and f->later is empty. -1 with err: why it ended early.
 */
int fetch_later(struct workspace *w, const struct fetch_request *r,
		struct fetch *f, const struct stop *stop, struct error *err);
void fetch_release(struct fetch *f);

/* Why a file is in left that was in later. */
#define FETCH_NO_TIME "did not come in the time there was"

/* fetch_changes() keeps what it refused and left, beside the commit theirs.
 * This reads it again, when the sandbox cannot be asked any more: f->theirs is
 * set by the caller, and nothing is added where another commit was kept. What
 * an earlier dcode did not refuse, a bare repository, is refused now: f->theirs
 * is then a commit without it. */
int fetch_recall(struct workspace *w, struct fetch *f, const struct stop *stop,
		 struct error *err);

#endif

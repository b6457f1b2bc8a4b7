/* fetch_commit.h - checks the files that a sandbox sent and commits them. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_FETCH_COMMIT_H
#define WORKTREE_FETCH_COMMIT_H

#include "worktree/fetched.h"
#include "worktree/scan.h"

struct announced {        /* a path whose contents the sandbox announced */
	const char *path; /* borrowed from a record */
	bool seen;        /* its file came, or the reason why not is known */
	bool taken;       /* it is in the commit */
	bool is_file;     /* a file with its own content of size bytes came */
	bool is_linked;   /* hard links to it came */
	int64_t size;
	/* owned; set only while hard links are added */
	struct fetch_entry *entry;
};

struct fetching { /* state of a fetch; the first five are borrowed */
	struct workspace *w;
	const struct fetch_request *request;
	struct fetch *f;
	const struct stop *stop;
	const char *ref; /* ref to which the commits are written */
	struct scan scan;
	struct listing base, uploaded;
	struct odb_commit *commit; /* NULL between two commits */
	struct announced *names;   /* sorted by path; owned */
	size_t n;
	int64_t bytes; /* bytes received */
	/* Hard links and, at the same index, their targets. */
	struct fetch_item *links, *originals;
	size_t n_links, n_originals;
};

/* Adds an item. path is copied; why is static. */
void fetch_note(struct fetch_item **list, size_t *n, const char *path,
		const char *why);
void fetch_items_release(struct fetch_item **items, size_t *n);
/* Returns the index of path in g->names, or of the first name after it. */
size_t fetch_seek_name(const struct fetching *g, const char *path);

/* Makes a commit on top of parent of the files in g->scan's archive that are
 * announced and harmless; the others are refused or left. gone: also applies
 * the reported deletions. f->theirs is then that commit. */
int fetch_commit_archive(struct fetching *g, const char *parent, bool gone,
			 struct error *err);

/* Removes files from f->theirs that still have the contents and mode with which
 * the user uploaded them. The base's version is restored, if there is one. */
int fetch_drop_uploaded(struct fetching *g, struct error *err);
/* Removes changes inside a bare repository from f->theirs and refuses them. The
 * parts of a repository may be spread over the base, f->theirs and the user's
 * tree, so all three are searched together. */
int fetch_refuse_repositories(struct fetching *g, struct error *err);

#endif

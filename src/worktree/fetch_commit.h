/* fetch_commit.h - the files that a sandbox sent, checked, as a commit. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_FETCH_COMMIT_H
#define WORKTREE_FETCH_COMMIT_H

#include "worktree/fetched.h"
#include "worktree/scan.h"

struct announced { /* a path whose bytes the sandbox says that it sends */
	const char *path; /* a record's */
	bool seen;        /* it came, or why it does not is known */
	bool taken;       /* it is in the commit */
	bool is_file;     /* its own bytes came, size of them */
	bool is_linked;   /* hard links to it came */
	int64_t size;
	struct fetch_entry *entry; /* owned; set only while links are made */
};

struct fetching { /* one fetch at work; the first five are borrowed */
	struct workspace *w;
	const struct fetch_request *request;
	struct fetch *f;
	const struct stop *stop;
	const char *ref; /* that the commits go to */
	struct scan scan;
	struct listing base, uploaded;
	struct odb_commit *commit; /* NULL between two */
	struct announced *names;   /* sorted by path; owned */
	size_t n;
	int64_t bytes; /* that came */
	/* Hard links and, under the same index, what they are links to. */
	struct fetch_item *links, *originals;
	size_t n_links, n_originals;
};

/* path is copied; why is static. */
void fetch_note(struct fetch_item **list, size_t *n, const char *path,
		const char *why);
void fetch_items_release(struct fetch_item **items, size_t *n);

/* Notes the files of g->scan that the sandbox names but does not send, with
 * the reason. */
void fetch_note_records(struct fetching *g);
/* Replaces g->names by the paths of the records of these two kinds, sorted,
 * each once. */
void fetch_announce_all(struct fetching *g, char kind, char other);
/* Adds a path behind all others, so in order; it is borrowed. */
void fetch_announce(struct fetching *g, const char *path);
/* Notes ignored files that stay behind, sorted paths. A directory is one item
 * if the base has nothing in it and nothing of g->names comes from it. */
void fetch_collapse_ignored(struct fetching *g, const char *const *paths,
			    size_t n);

/* Makes a commit on top of parent of the files in the archive of g->scan that
 * are announced and harmless; the rest is refused or left. gone: also of the
 * deletions that it reports. f->theirs is the commit then. */
int fetch_commit_archive(struct fetching *g, const char *parent, bool gone,
			 struct error *err);

/* Takes files that still have the bytes and the mode that the user uploaded
 * out of theirs: the base's file is there then, or none. */
int fetch_drop_uploaded(struct fetching *g, struct error *err);
/* Takes uploads whose bytes the sandbox has not changed off the lists of files
 * that stay behind: the user has them. One command, if there is such a name;
 * without an answer all of them stay listed. */
void fetch_forget_unchanged(struct fetching *g);
/* Takes what differs from the base and is in a bare repository out of theirs
 * again, and refuses it. The files of a repository may be spread over the
 * base, theirs and the user's tree: all three are looked at together. */
int fetch_refuse_repositories(struct fetching *g, struct error *err);

#endif

/* fetch_impl.h - what the parts of a fetch share; not for others. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKSPACE_FETCH_IMPL_H
#define WORKSPACE_FETCH_IMPL_H

#include "workspace/fetch/fetch.h"
#include "workspace/scan.h"

struct fetch_entry { /* of a tree */
	unsigned mode;
	char oid[GIT_OID];
};

struct announced { /* a path whose bytes the sandbox says that it sends */
	const char *path; /* a record's */
	bool seen;        /* it came, or why it does not is known */
	bool taken;       /* it is in the commit */
	bool is_file;     /* its own bytes came, size of them */
	bool is_linked;   /* hard links to it came */
	int64_t size;
	struct fetch_entry *entry; /* owned; NULL until commit_links() */
};

struct fetching {
	struct workspace *w;
	const struct fetch_request *request;
	struct fetch *f;
	const struct stop *stop;
	struct scan scan;
	struct listing base, uploaded;
	struct odb_commit *commit; /* NULL between two */
	const char *ref;           /* that the commits go to */
	struct announced *names;   /* sorted by path; owned */
	size_t n;
	int64_t bytes; /* that came */
	/* Hard links and, under the same index, what they are links to. */
	struct fetch_item *links, *originals;
	size_t n_links, n_originals;
};

void fetch_note(struct fetch_item **list, size_t *n, const char *path,
		const char *why);
void fetch_items_release(struct fetch_item **items, size_t *n);
void fetch_refuse(struct fetching *g, const char *path, const char *why);
void fetch_leave(struct fetching *g, const char *path, const char *why);

/* One that git ignores, or with a slash at its end n of a directory; "": there
 * are n in all. */
void fetch_note_ignored(struct fetch *f, const char *path, int64_t n);
/* Notes these, sorted, which are not among g->names. */
void fetch_collapse_ignored(struct fetching *g, const char *const *paths,
			    size_t n);

/* A commit on top of parent, g->commit, and its end with what came of it: it
 * becomes theirs when that is 0. */
int fetch_begin_commit(struct fetching *g, const char *parent,
		       struct error *err);
int fetch_end_commit(struct fetching *g, int rc, struct error *err);

/* For fetch_recall(). */
int fetch_remember(const struct workspace *w, const struct fetch *f,
		   struct error *err);

/* g->names anew, sorted, each once: of the records of these two kinds. */
void fetch_announce_all(struct fetching *g, char kind, char other);
/* Adds a path, in order; it is borrowed. */
void fetch_announce(struct fetching *g, const char *path);
/* The index of path, or of the first name after it. */
size_t fetch_seek_name(const struct fetching *g, const char *path);
struct announced *fetch_find_name(const struct fetching *g, const char *path);

/* The archive of g->scan as a commit on top of parent. gone: also the
 * deletions that it reports. */
int fetch_commit_scan(struct fetching *g, const char *parent, bool gone,
		      struct error *err);
/* Hard links: a second commit gives them the bytes of the files that came,
 * all looked up in one go. */
int fetch_commit_links(struct fetching *g, struct error *err);

/* Takes out of g->names what git ignores here, what is in another repository,
 * and what name_refuse() does not allow; what include names stays. New
 * .gitignore files count: with one among the names, they come first, r being
 * the request of the scan. */
int fetch_drop_ignored(struct fetching *g, const struct scan_request *r,
		       struct error *err);
/* With one more command: the bytes of these names, to a commit on top of
 * parent. */
int fetch_pack(struct fetching *g, const struct scan_request *r,
	       const char *parent, struct error *err);

/* Takes out of theirs what is as the user uploaded it, bytes and mode: there
 * the base's file stays, or none. */
int fetch_drop_uploaded(struct fetching *g, struct error *err);
/* Takes what is still as the user uploaded it, by its bytes, out of what is
 * said to stay behind: he has it. One command, where there is such a name. */
void fetch_drop_kept(struct fetching *g);
/* Whether a link is as it was uploaded: then it is not taken, nor refused,
 * wherever it leads. */
bool fetch_is_uploaded_link(struct fetching *g, const char *path,
			    const char *target);

/* Takes what differs from the base and is in a bare repository out of theirs
 * again, and refuses it. One is what the base, theirs, and the user's tree have
 * together. */
int fetch_refuse_repositories(struct fetching *g, struct error *err);

#endif

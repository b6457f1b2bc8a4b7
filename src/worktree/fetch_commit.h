/* fetch_commit.h - asks a sandbox what changed, checks it and commits it. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_FETCH_COMMIT_H
#define WORKTREE_FETCH_COMMIT_H

#include "sandbox/sandbox.h"
#include "worktree/fetched.h"

enum scan_kind { /* kinds of records of scripts/sandbox/workspace_scan.sh */
		 SCAN_CHANGED = 'c', /* its content is in the archive */
		 SCAN_NEW = 'n',  /* like SCAN_CHANGED, and not in the base */
		 SCAN_GONE = 'd', /* in the base, not in the sandbox */
		 SCAN_UNDECIDED = '?',  /* new; unknown whether it is ignored */
		 SCAN_UNREADABLE = 'u', /* its content could not be read */
		 SCAN_BIG = 'b',        /* has n bytes, more than file_max */
		 SCAN_SPECIAL = 's',    /* a pipe, a device, a socket */
		 SCAN_REPOSITORY = 'r', /* another repository in the tree */
		 /* a name that a listing cannot contain */
		 SCAN_NAME = 'x',
		 /* n new files that git ignores: in total or, with a path,
		  * below it */
		 SCAN_IGNORED = 'i',
};

struct scan_record {
	char kind; /* enum scan_kind */
	int64_t n;
	char *path; /* owned by the scan */
};

struct scan_request { /* all borrowed */
	struct sandbox *sandbox;
	/* root hash of the listing that both sides share */
	const char *root;
	struct str listing;  /* its text: sent if the sandbox has lost it */
	struct str exclude;  /* patterns as in git's info/exclude */
	bool names;          /* do not ask the sandbox's git what is ignored */
	int64_t file_max;    /* bytes of one file */
	int64_t total_max;   /* maximum bytes of all files */
	const char *scratch; /* a directory of dcode for the spool */
};

struct scan { /* the sandbox's answer: untrusted */
	bool same;
	struct scan_record *records;
	size_t n;
	int spool; /* descriptor of the archive; -1: none */
	int64_t left;
};

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

/*
 * Sends one command to the sandbox, with a download if the answer is large. If
 * the sandbox has lost its listing, it needs an upload and a second command.
 * ERR_LIMIT if more than total_max would be received. Release s in any case.
 */
int scan_run(struct scan *s, const struct scan_request *r,
	     const struct stop *stop, struct error *err);
/* Requests an archive of only these files, for example those that
 * SCAN_UNDECIDED listed. */
int scan_fetch(struct scan *s, const struct scan_request *r,
	       const char *const *paths, size_t n, const struct stop *stop,
	       struct error *err);
/* An archive_pull of a struct scan: reads the archive. */
int64_t scan_pull(void *scan, char *room, size_t len, struct error *err);
void scan_release(struct scan *s);

#endif

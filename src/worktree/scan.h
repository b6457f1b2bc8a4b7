/* scan.h - asks a sandbox what differs there from the tree that was sent. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_SCAN_H
#define WORKTREE_SCAN_H

#include "sandbox/sandbox.h"

enum scan_kind { /* the records of scripts/sandbox/workspace_scan.sh */
		 SCAN_CHANGED = 'c',    /* its bytes are in the archive */
		 SCAN_NEW = 'n',        /* the same, and the base has it not */
		 SCAN_GONE = 'd',       /* the base has it, the sandbox not */
		 SCAN_UNDECIDED = '?',  /* new; whether ignored is not known */
		 SCAN_UNREADABLE = 'u', /* nothing is known of its bytes */
		 SCAN_BIG = 'b',        /* of n bytes, more than file_max */
		 SCAN_SPECIAL = 's',    /* a pipe, a device, a socket */
		 SCAN_REPOSITORY = 'r', /* another repository in the tree */
		 SCAN_NAME = 'x',       /* a name that no listing can hold */
		 SCAN_IGNORED = 'i',    /* n new files that git ignores: in all,
					   or,    with a path, there */
};

struct scan_record {
	char kind; /* enum scan_kind */
	int64_t n;
	char *path; /* owned by the scan */
};

struct scan_request { /* all borrowed */
	struct sandbox *sandbox;
	const char *root;    /* hash of the listing that both sides share */
	struct str listing;  /* its text: sent where the sandbox has lost it */
	struct str exclude;  /* patterns as in git's info/exclude */
	bool names;          /* do not ask the sandbox's git what is ignored */
	int64_t file_max;    /* bytes of one file */
	int64_t total_max;   /* of all that come */
	const char *scratch; /* a directory of dcode's for what comes */
};

struct scan { /* what the sandbox says: nothing of it is to be believed */
	bool same;
	struct scan_record *records;
	size_t n;
	int spool; /* of the archive; -1: there is none */
	int64_t left;
};

/*
 * One command in the sandbox, and a download where the answer is large; where
 * the sandbox has lost its listing, an upload and a second command. ERR_LIMIT
 * when more than total_max would come. Release it in any case.
 */
int scan_run(struct scan *s, const struct scan_request *r,
	     const struct stop *stop, struct error *err);
/* An archive of these files alone, as SCAN_UNDECIDED named them. */
int scan_fetch(struct scan *s, const struct scan_request *r,
	       const char *const *paths, size_t n, const struct stop *stop,
	       struct error *err);
/* The archive: an archive_pull of a struct scan. */
int64_t scan_pull(void *scan, char *room, size_t len, struct error *err);
void scan_release(struct scan *s);

#endif

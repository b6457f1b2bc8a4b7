/* scan.h - asks a sandbox for the differences from the tree that was sent. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_SCAN_H
#define WORKTREE_SCAN_H

#include "sandbox/sandbox.h"

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

/* carry.h - files of the tree, as one stream, to a script in the sandbox. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_CARRY_H
#define WORKTREE_CARRY_H

#include "sandbox/helper.h"
#include "worktree/pass.h"

enum { CARRY_ARGS = 4, CARRY_SAID = 256 << 10 };

struct carry { /* all borrowed for the call */
	struct sandbox *sandbox;
	struct workspace *workspace;
	const struct selected *files;
	size_t n;
	/* The text that goes along as the last entry, and its most bytes. */
	void (*trailer)(void *arg, struct listing *read, struct buf *out);
	size_t trailer_size;
	/* A file that goes along under the trailer's name and ".git"; size 0:
	 * none. */
	int attachment;
	int64_t attachment_size;
	/* May be NULL; bytes of files, of them all. */
	void (*progress)(void *arg, size_t files, int64_t bytes);
	void *arg;
	/* Gets the files. Its ref may have them though the sandbox has not. */
	const struct odb_commit_info *commit;
	const char *const *deleted; /* and loses these paths */
	size_t n_deleted;
	/* Its arguments are the working directory, the trailer's name, "1" for
	 * gzip, where the second part of the stream is, and args. */
	enum helper_script script;
	struct str args[CARRY_ARGS];
};

struct carried {
	char status[HELPER_STATUS];
	struct buf said;     /* the script's body: release it */
	struct listing read; /* what was sent: release it */
	char oid[GIT_OID];   /* the commit, when the status is "ok ..." */
	size_t changed;      /* files that changed while they were read */
	bool committed;      /* the commit's ref may have been set */
};

/*
 * Through the script's standard input where the provider has one; inline in
 * its text where it is small enough; else by the provider's upload, gzipped
 * when a first piece goes at less than 20 MB/s or the tree is small. Each file
 * is read once for stream and commit. -1: nothing arrived for good. carried is
 * to be released in any case.
 */
int carry_run(const struct carry *c, struct carried *out,
	      const struct stop *stop, struct error *err);
/* The error of a status that is not "ok ...": what is "the tree". -1. */
int carried_failed(const struct carried *out, const char *what,
		   struct error *err);
void carried_release(struct carried *out);

#endif

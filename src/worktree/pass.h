/* pass.h - one reading of selected files: into a commit, a listing, a tar. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_PASS_H
#define WORKTREE_PASS_H

#include "worktree/select.h"

struct pass_request { /* all borrowed until pass_close() */
	struct workspace *workspace;
	const struct selected *files;
	size_t n;
	struct odb_commit *commit; /* gets every file; NULL: none */
	/* Makes it a tar stream, whose last entry, of this name, is a text
	 * that trailer() appends once all files were read; NULL: none. */
	const char *tar_trailer;
	void (*trailer)(void *arg, struct listing *read, struct buf *out);
	size_t trailer_size; /* the most bytes that it appends */
	/* Before it, a file of this many bytes, named with ".git" after the
	 * trailer's name; 0: none. */
	int attachment;
	int64_t attachment_size;
	bool gzip;
	/* After each file, for a line of progress. */
	void (*progress)(void *arg, size_t files, int64_t bytes);
	void *arg;
};

/*
 * Files are read once: what goes into commit and tar is the same, even if they
 * change meanwhile. One that is gone then is left out of both; one that became
 * longer is cut where it ended when it was selected, one that became shorter
 * is filled with zeros when that happens during the reading.
 */
struct pass;
int pass_open(struct pass **p, const struct pass_request *r, struct error *err);
/* Reads all of it, without tar. */
int pass_run(struct pass *p, const struct stop *stop, struct error *err);
/* The tar stream, to its end: an archive_pull of a struct pass. */
int64_t pass_pull(void *pass, char *room, size_t len, struct error *err);
/* The bytes that a tar stream without gzip has, exactly: what files lack is
 * made good by zeros at its end. -1 with err. */
int64_t pass_size(struct pass *p, struct error *err);
/* What was read, once the end was reached. */
struct listing *pass_listing(struct pass *p);
/* How many files changed while they were read. */
size_t pass_changed(const struct pass *p);
void pass_close(struct pass *p); /* NULL is fine */

#endif

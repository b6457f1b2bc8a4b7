/* stream_files.h - selected files of the tree, read once: into a commit, a
 * listing, a tar stream. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_STREAM_FILES_H
#define WORKTREE_STREAM_FILES_H

#include "sandbox/helper.h"
#include "worktree/select.h"

struct file_reader_request { /* all borrowed until file_reader_close() */
	struct workspace *workspace;
	const struct selected *files;
	size_t n;
	struct odb_commit *commit; /* gets every file; NULL: none */
	/* Name of the last entry of a tar stream: a text that trailer()
	 * appends once all files were read. NULL: no tar stream. */
	const char *tar_trailer;
	void (*trailer)(void *arg, struct listing *read, struct buf *out);
	size_t trailer_size; /* the most bytes that it appends */
	/* A file of this many bytes goes before it, under the trailer's name
	 * and ".git"; 0: none. */
	int attachment;
	int64_t attachment_size;
	bool gzip;
	/* After each file, for a line of progress. */
	void (*progress)(void *arg, size_t files, int64_t bytes);
	void *arg;
};

/*
 * Files are read once: commit and tar get the same bytes, even if files change
 * meanwhile. A file that is gone by then is left out of both. One that became
 * longer is cut where it ended when it was selected; one that becomes shorter
 * while it is read is filled with zeros.
 */
struct file_reader;
int file_reader_open(struct file_reader **p,
		     const struct file_reader_request *r, struct error *err);
/* Reads all of it, without tar. */
int file_reader_run(struct file_reader *p, const struct stop *stop,
		    struct error *err);
/* The tar stream, to its end: an archive_pull of a struct file_reader. */
int64_t file_reader_pull(void *reader, char *room, size_t len,
			 struct error *err);
/* The exact size of a tar stream without gzip; if files turn out shorter, zeros
 * follow its end. -1 with err. */
int64_t file_reader_size(struct file_reader *p, struct error *err);
/* The listing of what was read; complete at the end. */
struct listing *file_reader_listing(struct file_reader *p);
void file_reader_close(struct file_reader *p); /* NULL is fine */

enum { STREAM_ARGS = 4, STREAM_SAID_MAX = 256 << 10 };

struct stream_request { /* all borrowed for the call */
	struct sandbox *sandbox;
	struct workspace *workspace;
	const struct selected *files;
	size_t n;
	/* The text that goes along as the last entry, and its size at most. */
	void (*trailer)(void *arg, struct listing *read, struct buf *out);
	size_t trailer_size;
	/* A file that goes along under the trailer's name and ".git"; size 0:
	 * none. */
	int attachment;
	int64_t attachment_size;
	/* May be NULL; bytes of files, of them all. */
	void (*progress)(void *arg, size_t files, int64_t bytes);
	void *arg;
	/* Gets the files. Its ref may have them even if the sandbox has not. */
	const struct odb_commit_info *commit;
	const char *const *deleted; /* and loses these paths */
	size_t n_deleted;
	/* Its arguments are the working directory, the trailer's name, "1" for
	 * gzip, where the second part of the stream is, and args. */
	enum helper_script script;
	struct str args[STREAM_ARGS];
};

struct stream_result {
	char status[HELPER_STATUS];
	struct buf said;     /* the script's body: release it */
	struct listing read; /* what was sent: release it */
	char oid[GIT_OID];   /* the commit, when the status is "ok ..." */
	size_t changed;      /* files that changed while they were read */
	bool committed;      /* the commit's ref may have been set */
};

/*
 * Sends the files: through the script's standard input if the provider has
 * one; inline in its text if they are few bytes; else by the provider's upload,
 * gzipped if a first piece goes at less than 20 MB/s or the tree is small. On
 * -1 nothing stays there. Release out in any case.
 */
int stream_files(const struct stream_request *c, struct stream_result *out,
		 const struct stop *stop, struct error *err);
/* Sets the error for a status that is not "ok ..."; what: "the tree". -1. */
int stream_failed(const struct stream_result *out, const char *what,
		  struct error *err);
void stream_result_release(struct stream_result *out);

struct snapshot {
	const char *ref;      /* names the commit from then on */
	struct listing *read; /* out: what is in it; NULL is fine */
	char commit[GIT_OID]; /* out */
};
/*
 * Makes a commit of the selection that a sandbox would get, with r->extra: raw
 * bytes. Its parent is the base, if there is one.
 */
int workspace_snapshot(struct workspace *w, const struct select_request *r,
		       struct snapshot *snapshot, const struct stop *stop,
		       struct error *err);

#endif

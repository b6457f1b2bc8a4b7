/* stream_files.h - reads selected files once for a commit, a listing and a
 * tar. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_STREAM_FILES_H
#define WORKTREE_STREAM_FILES_H

#include "sandbox/helper.h"
#include "worktree/select.h"

struct file_reader_request { /* all borrowed until file_reader_close() */
	struct workspace *workspace;
	const struct selected *files;
	size_t n;
	struct odb_commit *commit; /* receives every file; NULL: no commit */
	/* Name of the last entry of the tar stream: a text that trailer()
	 * appends after all files were read. NULL: no tar stream. */
	const char *tar_trailer;
	void (*trailer)(void *arg, struct listing *read, struct buf *out);
	size_t trailer_size; /* maximum bytes that trailer() appends */
	/* Descriptor of a file of this many bytes that is sent before the
	 * trailer, named like it plus ".git"; size 0: none. */
	int attachment;
	int64_t attachment_size;
	bool gzip;
	/* Called after each file, to show progress. */
	void (*progress)(void *arg, size_t files, int64_t bytes);
	void *arg;
};

/*
 * Each file is read once: commit and tar get the same bytes, even if files
 * change meanwhile. A file that no longer exists is left out of both. One that
 * has grown is cut at the size that it had when it was selected; one that
 * shrinks while it is read is filled with zeros.
 */
struct file_reader;
int file_reader_open(struct file_reader **p,
		     const struct file_reader_request *r, struct error *err);
/* Reads all files, without a tar stream. */
int file_reader_run(struct file_reader *p, const struct stop *stop,
		    struct error *err);
/* An archive_pull of a struct file_reader: returns the tar stream. */
int64_t file_reader_pull(void *reader, char *room, size_t len,
			 struct error *err);
/* Returns the exact size of a tar stream without gzip; if files become shorter,
 * zeros follow its end. -1 with err. */
int64_t file_reader_size(struct file_reader *p, struct error *err);
/* Returns the listing of the files read so far; complete at the end. */
struct listing *file_reader_listing(struct file_reader *p);
void file_reader_close(struct file_reader *p); /* p may be NULL */

enum { STREAM_ARGS = 4, STREAM_SAID_MAX = 256 << 10 };

struct stream_request { /* all borrowed for the call */
	struct sandbox *sandbox;
	struct workspace *workspace;
	const struct selected *files;
	size_t n;
	/* Appends the text of the last entry, at most trailer_size bytes. */
	void (*trailer)(void *arg, struct listing *read, struct buf *out);
	size_t trailer_size;
	/* A file that is sent with the trailer's name plus ".git"; size 0:
	 * none. */
	int attachment;
	int64_t attachment_size;
	/* bytes: of the files so far, in total. May be NULL. */
	void (*progress)(void *arg, size_t files, int64_t bytes);
	void *arg;
	/* Commit that receives the files. Its ref may contain them even if the
	 * sandbox does not. */
	const struct odb_commit_info *commit;
	const char *const *deleted; /* paths to delete in the commit */
	size_t n_deleted;
	/* The script's arguments are the working directory, the trailer's name,
	 * "1" for gzip, the path of the stream's second part, and args. */
	enum helper_script script;
	struct str args[STREAM_ARGS];
};

struct stream_result {
	char status[HELPER_STATUS];
	struct buf said;     /* output of the script: the caller releases it */
	struct listing read; /* files that were sent: the caller releases it */
	char oid[GIT_OID];   /* the commit, if the status is "ok ..." */
	size_t changed;      /* files that changed while they were read */
	bool committed;      /* the commit's ref may have been set */
};

/*
 * Sends the files: through the script's standard input if the provider supports
 * that; inside the command if there are few bytes; else with the provider's
 * upload, compressed if a first piece is slower than 20 MB/s or the tree is
 * small. On -1 no uploaded file remains in the sandbox. Release out in any
 * case.
 */
int stream_files(const struct stream_request *c, struct stream_result *out,
		 const struct stop *stop, struct error *err);
void stream_result_release(struct stream_result *out);

/* Uploads bytes as a file that only its owner may read. */
int stream_file(struct sandbox *sb, const char *path, struct str bytes,
		const struct stop *stop, struct error *err);

struct snapshot {
	const char *ref;      /* ref that will name the commit */
	struct listing *read; /* out: the committed files; may be NULL */
	char commit[GIT_OID]; /* out */
};
/*
 * Commits the files that a sandbox would get, and those of r->extra, without
 * converting their bytes. The commit's parent is the base, if there is one.
 */
int workspace_snapshot(struct workspace *w, const struct select_request *r,
		       struct snapshot *snapshot, const struct stop *stop,
		       struct error *err);

#endif

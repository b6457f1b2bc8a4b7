/* transfer.h - files in and out for providers without a file API. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_TRANSFER_H
#define SANDBOX_TRANSFER_H

#include "sandbox/sandbox.h"

/* Like sandbox_ops.upload and .download, but with execute and in constant
 * memory. -1 if the sandbox cannot be reached; files that were not transferred
 * have an error. */
int transfer_upload(struct sandbox *sb, struct transfer *files, size_t n,
		    const struct stop *stop, struct error *err);
int transfer_download(struct sandbox *sb, struct transfer *files, size_t n,
		      const struct stop *stop, struct error *err);

/* Sets the error of one file. Also for file APIs. */
void transfer_fail(struct transfer *f, enum file_error code,
		   const char *detail);
/* Clears f's error. False, with FILE_INVALID_PATH, unless the path is
 * absolute. */
bool transfer_path_ok(struct transfer *f);
/* True if trying the next file is pointless after this error. */
bool transfer_fatal(const struct error *e);
struct transfer_mover {
	/* Moves one file. Returns 0 if it was moved or f's error is set; else
	 * -1, and the caller sets that error from err. */
	int (*move)(const void *arg, struct sandbox *sb, struct transfer *f,
		    const struct stop *stop, struct error *err);
	const void *arg;
};
/* Moves each file with a valid path, in order. A fatal error is set for the
 * remaining files too, and returned. */
int transfer_each(struct sandbox *sb, struct transfer *files, size_t n,
		  const struct transfer_mover *m, const struct stop *stop,
		  struct error *err);
/* Reads at most want bytes (not 0) of the file to upload. Returns their number,
 * or -1 with an error, also at the end of the file. */
int64_t transfer_read(const struct transfer *f, char *room, size_t want,
		      struct error *err);
/* Appends exactly the next want bytes, which must fit. */
int transfer_read_all(const struct transfer *f, struct buf *out, size_t want,
		      struct error *err);
/* A download whose first bytes may arrive again after a broken connection. */
struct transfer_sink {         /* set file; the rest is { 0 } */
	struct transfer *file; /* borrowed */
	int64_t got;           /* bytes passed to the file */
	int64_t skip;          /* bytes to skip: the file has them already */
	bool failed;           /* the file's own write() failed */
};
/* Writes the next bytes; arg is the struct transfer_sink. */
int transfer_sink_write(void *arg, struct str chunk, struct error *err);
/* True if transfer_upload() needs only one request. */
bool transfer_fits(const struct sandbox *sb, int64_t size);

/*
 * A file API writes in place. If it is cut off, half a file remains, and late
 * writes may arrive after the file has been sent again. So each attempt writes
 * a part with a new name next to the target, which is then put in place as in
 * transfer_upload().
 */
struct transfer_part {
	char id[17];
	struct buf path; /* the caller releases */
};
/* Chooses a part for f and creates its parent directories. If f cannot be
 * written, f->error says why. Returns 0, or -1 like transfer_upload(). */
int transfer_begin(struct sandbox *sb, struct transfer *f,
		   struct transfer_part *p, const struct stop *stop,
		   struct error *err);
/* Returns 0 if f is in place or f->error says why not; 1 if bytes of the part
 * are missing; -1 as above. */
int transfer_finish(struct sandbox *sb, struct transfer *f,
		    const struct transfer_part *p, const struct stop *stop,
		    struct error *err);
/* Deletes the part within two seconds; failures are ignored. */
void transfer_drop(struct sandbox *sb, const struct transfer *f,
		   const struct transfer_part *p);
/* Turns staged, a path in the sandbox that was written by other means, into the
 * file f: with its mode, links, directories and errors, which every API
 * describes differently. staged is not deleted. -1 if the sandbox cannot be
 * reached. */
int transfer_place(struct sandbox *sb, struct transfer *f, const char *staged,
		   const struct stop *stop, struct error *err);
/* transfer_stage() returns a new path for such a file, owned: in /tmp, or next
 * to f if others must not read it (api_only). transfer_unstage() deletes the
 * file within ten seconds. */
char *transfer_stage(const struct transfer *f);
void transfer_unstage(struct sandbox *sb, const char *staged);

#endif

/* transfer.h - files in and out for providers without a file API. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_TRANSFER_H
#define SANDBOX_TRANSFER_H

#include "sandbox/sandbox.h"

/* As sandbox_ops.upload and .download, over execute, in constant memory.
 * -1 when the sandbox cannot be reached; what was not moved says so. */
int transfer_upload(struct sandbox *sb, struct transfer *files, size_t n,
		    const struct stop *stop, struct error *err);
int transfer_download(struct sandbox *sb, struct transfer *files, size_t n,
		      const struct stop *stop, struct error *err);

/* What the two, and file APIs, say of one file. */
void transfer_fail(struct transfer *f, enum file_error code,
		   const char *detail);
/* Clears f's error; false, and FILE_INVALID_PATH, unless it is absolute. */
bool transfer_path_ok(struct transfer *f);
/* True when going on with the next file is useless after this error. */
bool transfer_fatal(const struct error *e);
struct transfer_mover {
	/* -1 when it could not even tell the file's own error. */
	int (*move)(const void *arg, struct sandbox *sb, struct transfer *f,
		    const struct stop *stop, struct error *err);
	const void *arg;
};
/* Moves each file with a good path, one after the other. After a fatal error
 * the rest of the files get it too, and it is returned. */
int transfer_each(struct sandbox *sb, struct transfer *files, size_t n,
		  const struct transfer_mover *m, const struct stop *stop,
		  struct error *err);
/* At most want bytes (not 0) of the file that goes up: how many, or -1 with an
 * error, also when it has no more. */
int64_t transfer_read(const struct transfer *f, char *room, size_t want,
		      struct error *err);
/* Appends the next want bytes, which have to fit. */
int transfer_read_all(const struct transfer *f, struct buf *out, size_t want,
		      struct error *err);
/* A file that comes down, whose beginning may come again after a cut. */
struct transfer_sink {         /* set file; the rest is { 0 } */
	struct transfer *file; /* borrowed */
	int64_t got;           /* bytes given to the file */
	int64_t skip;          /* bytes to come that it has already */
	bool failed;           /* the file's own write() did */
};
/* More of it; arg is the struct transfer_sink. */
int transfer_sink_write(void *arg, struct str chunk, struct error *err);
/* True when transfer_upload() needs one request only. */
bool transfer_fits(const struct sandbox *sb, int64_t size);

/*
 * A file API writes in place: cut, it leaves half a file, and what it had
 * still to write may come when the file has long been sent again. So it
 * writes a part beside the target, of a new name in each try, which then is
 * put in place like transfer_upload()'s.
 */
struct transfer_part {
	char id[17];
	struct buf path; /* the caller releases */
};
/* Chooses a part for f, makes the parents. What f would be refused for is
 * said in f->error. 0, or -1 as transfer_upload(). */
int transfer_begin(struct sandbox *sb, struct transfer *f,
		   struct transfer_part *p, const struct stop *stop,
		   struct error *err);
/* 0 when f is in place or f->error says why not; 1 when the part has not all
 * its bytes; -1 as above. */
int transfer_finish(struct sandbox *sb, struct transfer *f,
		    const struct transfer_part *p, const struct stop *stop,
		    struct error *err);
/* Deletes the part, as well as it can, within two seconds. */
void transfer_drop(struct sandbox *sb, const struct transfer *f,
		   const struct transfer_part *p);
/* What another way wrote to staged, a path in the sandbox, becomes the file f:
 * with its mode, links, folders and errors, which no API describes alike.
 * staged stays. -1 when the sandbox cannot be reached. */
int transfer_place(struct sandbox *sb, struct transfer *f, const char *staged,
		   const struct stop *stop, struct error *err);
/* A new path for such a file, owned: in /tmp, or beside f where others must
 * not read it (api_only). And its end, within ten seconds. */
char *transfer_stage(const struct transfer *f);
void transfer_unstage(struct sandbox *sb, const char *staged);

#endif

/* archive.h - trees as tar streams, out of this machine and into it. */
/* SPDX-License-Identifier: MIT */
#ifndef ARCHIVE_ARCHIVE_H
#define ARCHIVE_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct archive_counts {
	int64_t files, directories, links;
	int64_t skipped; /* each was told to archive_log.skipped */
};

/* One entry of a stream, borrowed for the call. */
struct archive_item {
	struct str path; /* as it stands there */
	unsigned mode;   /* with its type, as in stat; a hard link's has none */
	int64_t size;    /* bytes that data() gets, for a file */
	int64_t mtime;   /* Unix seconds; 0 where it says none */
	const char *target;   /* of a symbolic link, else NULL */
	const char *original; /* of a hard link: an earlier path, else NULL */
};
/* Hears of entries by their names, raw. On the thread of the call. */
struct archive_log {
	/* One that is left out, and why. */
	void (*skipped)(void *arg, struct str name, const char *why);
	/* A file or link that is whole. NULL: nobody wants to know. */
	void (*carried)(void *arg, struct str name);
	/* Asked by a writer before each entry, of its type: why it is to be
	 * left out, a directory with all in it; or NULL. May be NULL. */
	const char *(*refuse)(void *arg, struct str name, mode_t type);
	void *arg;
	/* Asked before an entry is unpacked, whose path is relative and plain:
	 * true leaves it out, neither counted nor told as skipped. May be
	 * NULL. */
	bool (*leaves_out)(void *arg, const struct archive_item *item);
};

/* Gives at most len bytes into room; 0 at the end, -1 with err. */
typedef int64_t archive_pull(void *arg, char *room, size_t len,
			     struct error *err);

/* What a name in an archive means below the directory that it is unpacked
 * into: its path without "." and doubled slashes goes to out, empty for that
 * directory itself. NULL, or why it cannot be used: static text. */
const char *archive_plain_path(const char *name, struct buf *out);

/* Checks that archives can be handled here: ERR_SYSTEM with what to install. */
int archive_check(struct error *err);

/*
 * What is in a directory, as a tar stream in GNU's format, which every tar
 * reads (long names too; names are bytes). Links stay links; owners, devices,
 * sockets and the setuid bits are left out. A file that changes while it is
 * read is told as skipped, and the stream stays whole. Memory does not grow
 * with the tree.
 */
struct archive_writer;
/* Takes over the descriptor dir, whatever it returns. log is borrowed. */
int archive_writer_open(struct archive_writer **w, int dir,
			const struct archive_log *log, struct error *err);
/* The stream, to be pulled from the thread of the writer: archive_pull. */
int64_t archive_writer_pull(void *w, char *room, size_t len, struct error *err);
struct archive_counts archive_writer_counts(const struct archive_writer *w);
void archive_writer_close(struct archive_writer *w); /* NULL is fine */

/*
 * A tar stream in GNU's format that its user writes: an entry, its bytes, the
 * next. What is not yet consumed of it is in archive_stream_out(), at most
 * some KiB more than one call wrote.
 */
struct archive_header {
	const char *path;
	const char *link;     /* where a symbolic link leads; NULL: a file */
	const char *original; /* of a hard link: an earlier path, else NULL */
	bool directory;
	int mode;      /* permission bits */
	int64_t size;  /* bytes that follow through archive_stream_data() */
	int64_t mtime; /* Unix seconds, not negative */
};
struct archive_stream;
/* NULL with err when libarchive is missing. */
struct archive_stream *archive_stream_open(bool gzip, struct error *err);
/* The same as ustar entries, with a pax header where a name or a size needs
 * one, in gzip that stores them. */
struct archive_stream *archive_stream_open_pax(struct error *err);
int archive_stream_entry(struct archive_stream *s,
			 const struct archive_header *item, struct error *err);
int archive_stream_data(struct archive_stream *s, struct str bytes,
			struct error *err);
int archive_stream_end(struct archive_stream *s, struct error *err);
struct buf *archive_stream_out(struct archive_stream *s);
void archive_stream_close(struct archive_stream *s); /* NULL is fine */

/* An archive of one entry, as engines take and give them. */
struct archive_single {
	int mode; /* with its type: S_IFDIR | 0755 */
	int64_t uid;
	int64_t gid;
	char *link; /* owned: where a symbolic link leads; or NULL */
};
/* The first entry of a tar archive, of which the beginning is enough, and its
 * bytes if data is not NULL, as far as they are there. ERR_PROTOCOL. */
int archive_single_read(struct str bytes, struct archive_single *out,
			struct buf *data, struct error *err);
/* Appends an archive whose one entry has no bytes: a directory. */
int archive_single_write(const struct archive_single *e, const char *name,
			 struct buf *out, struct error *err);

/*
 * Unpacks a tar stream that nobody vouches for, below the directory dir
 * (borrowed). A compressed stream is an error: nobody asked for it, and what it
 * grows to is not known. Nothing is written outside and no link is followed,
 * neither of the archive's nor of those already there: entries that are
 * absolute, have "..", go through a link, are links that lead out, devices or
 * pipes are skipped. Files are replaced whole, by rename; they get their time
 * and their permission bits under our umask, never setuid; directories always
 * stay ours to write to. Reads the stream to its end. -1: the stream, or no
 * room: what was unpacked until then stays.
 */
struct archive_input {
	archive_pull *pull;
	/* Asked before an entry takes this many bytes of the disk; -1 (err
	 * filled) ends it. NULL: it may take any number. */
	int (*store)(void *arg, int64_t bytes, struct error *err);
	void *arg;
};
int archive_extract(const struct archive_input *from, int dir,
		    const struct archive_log *log,
		    struct archive_counts *counts, struct error *err);

/* Reads a tar stream that nobody vouches for, or several in a row, entry by
 * entry, and writes nothing. A compressed stream is an error, as above. */
struct archive_visitor {
	archive_pull *pull;
	/* 1: its bytes are wanted; 0: go on; -1 (err filled) ends it. */
	int (*entry)(void *arg, const struct archive_item *item,
		     struct error *err);
	/* Exactly item->size bytes in all, zeros where it is sparse; -1 ends
	 * it. */
	int (*data)(void *arg, struct str bytes, struct error *err);
	void *arg;
};
int archive_visit(const struct archive_visitor *v, struct error *err);

#endif

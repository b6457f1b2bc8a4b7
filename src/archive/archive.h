/* archive.h - directory trees as tar streams: packed and unpacked. */
/* SPDX-License-Identifier: MIT */
#ifndef ARCHIVE_ARCHIVE_H
#define ARCHIVE_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/*
 * In this order: archive_writer packs a directory of this machine (write.c),
 * archive_stream builds a stream entry by entry (stream.c), archive_single is
 * for a stream of one entry (stream.c), archive_extract() unpacks an untrusted
 * stream into a directory (read.c), and archive_visit() reads one without
 * writing anything (read.c). libarchive is loaded on first use (api.h).
 */

struct archive_counts {
	int64_t files, directories, links;
	int64_t skipped; /* each was reported to archive_log.skipped */
};

/* One entry of a stream, borrowed for the call. */
struct archive_item {
	/* as in the archive; normalised when passed to leaves_out() */
	struct str path;
	/* with its type, like st_mode; without a type for a hard link */
	unsigned mode;
	int64_t size;         /* file: number of bytes passed to data() */
	int64_t mtime;        /* Unix seconds; 0 if missing */
	const char *target;   /* of a symbolic link, else NULL */
	const char *original; /* of a hard link: an earlier path, else NULL */
};
/* Receives the raw names of entries, on the calling thread. */
struct archive_log {
	/* Called for an entry that is skipped, with the reason. */
	void (*skipped)(void *arg, struct str name, const char *why);
	/* Called for a file or link that was completely transferred. May be
	 * NULL. */
	void (*carried)(void *arg, struct str name);
	/* Called by a writer before each entry. Returns the reason to skip it
	 * (a directory with its contents), or NULL. May be NULL. */
	const char *(*refuse)(void *arg, struct str name, mode_t type);
	void *arg;
	/* Called before an entry is unpacked. Its path is relative and
	 * normalised. True: leave it out without counting or reporting it. May
	 * be NULL. */
	bool (*leaves_out)(void *arg, const struct archive_item *item);
};

/* Writes at most len bytes into room and returns their number; 0 at the end, -1
 * with err. */
typedef int64_t archive_pull(void *arg, char *room, size_t len,
			     struct error *err);

/* Normalises a name of an archive relative to the target directory: out gets
 * the path without "." and doubled slashes, "" for that directory itself.
 * Returns NULL, or why the name is refused: static text. */
const char *archive_plain_path(const char *name, struct buf *out);

/* Checks that libarchive is available. ERR_SYSTEM says what to install. */
int archive_check(struct error *err);

/*
 * Packs a directory as a tar stream in GNU format, which every tar can read
 * (long names too; names are bytes). Symbolic links are stored as links.
 * Owners, devices, sockets and setuid bits are left out. A file that changes
 * while it is read is reported as skipped, and the stream stays valid. Memory
 * use does not depend on the tree's size.
 */
struct archive_writer;
/* Takes over the descriptor dir, even on failure. log is borrowed. */
int archive_writer_open(struct archive_writer **w, int dir,
			const struct archive_log *log, struct error *err);
/* An archive_pull: returns the next bytes of the stream. Call it on the thread
 * that opened the writer. */
int64_t archive_writer_pull(void *w, char *room, size_t len, struct error *err);
struct archive_counts archive_writer_counts(const struct archive_writer *w);
void archive_writer_close(struct archive_writer *w); /* NULL is fine */

/*
 * Builds a tar stream in GNU format entry by entry: an entry, its bytes, the
 * next. archive_stream_out() holds the bytes that are not consumed yet: at most
 * some KiB more than one call wrote.
 */
struct archive_header {
	const char *path;
	const char *link;     /* target of a symbolic link; NULL: a file */
	const char *original; /* of a hard link: an earlier path, else NULL */
	bool directory;
	int mode;      /* permission bits */
	int64_t size;  /* bytes that follow in archive_stream_data() */
	int64_t mtime; /* Unix seconds, not negative */
};
struct archive_stream;
/* Returns NULL with err if libarchive is missing. */
struct archive_stream *archive_stream_open(bool gzip, struct error *err);
/* Like archive_stream_open(), but with ustar entries, pax headers for long
 * names and sizes, and gzip without compression. */
struct archive_stream *archive_stream_open_pax(struct error *err);
int archive_stream_entry(struct archive_stream *s,
			 const struct archive_header *item, struct error *err);
int archive_stream_data(struct archive_stream *s, struct str bytes,
			struct error *err);
int archive_stream_end(struct archive_stream *s, struct error *err);
struct buf *archive_stream_out(struct archive_stream *s);
void archive_stream_close(struct archive_stream *s); /* NULL is fine */

/* An archive of one entry, as used by container engines. */
struct archive_single {
	int mode; /* with its type: S_IFDIR | 0755 */
	int64_t uid;
	int64_t gid;
	char *link; /* owned: target of a symbolic link; or NULL */
};
/* Reads the first entry of a tar archive, which may be incomplete, and, if data
 * is not NULL, as many of its bytes as there are. Fails with ERR_PROTOCOL. */
int archive_single_read(struct str bytes, struct archive_single *out,
			struct buf *data, struct error *err);
/* Appends an archive whose single entry has no content: a directory. */
int archive_single_write(const struct archive_single *e, const char *name,
			 struct buf *out, struct error *err);

/*
 * Unpacks an untrusted tar stream below the directory dir (borrowed). A
 * compressed stream is an error: its unpacked size is unknown. Nothing is
 * written outside dir, and no symbolic link is followed, neither of the archive
 * nor of the directory: entries are skipped if they are absolute, contain "..",
 * go through a link, are links that lead out, devices or pipes. Files are
 * replaced atomically by rename. They get their time and their permission bits
 * under dcode's umask, never setuid; directories always stay writable for the
 * user. Reads the stream to its end. -1: the stream is invalid or cannot be
 * read, the disk cannot be written, or store() refused. What was unpacked
 * before stays.
 */
struct archive_input {
	archive_pull *pull;
	/* Called before an entry uses this many bytes of disk; -1 (err filled)
	 * stops the unpacking. NULL: no limit. */
	int (*store)(void *arg, int64_t bytes, struct error *err);
	void *arg;
};
int archive_extract(const struct archive_input *from, int dir,
		    const struct archive_log *log,
		    struct archive_counts *counts, struct error *err);

/* Reads an untrusted tar stream, or several concatenated ones, entry by entry,
 * and writes nothing. A compressed stream is an error. */
struct archive_visitor {
	archive_pull *pull;
	/* 1: pass its bytes to data(); 0: skip them; -1 (err filled) stops. */
	int (*entry)(void *arg, const struct archive_item *item,
		     struct error *err);
	/* Receives exactly item->size bytes in total, with zeros for holes of a
	 * sparse file; -1 stops. */
	int (*data)(void *arg, struct str bytes, struct error *err);
	void *arg;
};
int archive_visit(const struct archive_visitor *v, struct error *err);

#endif

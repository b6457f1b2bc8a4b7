/* odb.h - dcode's own git repository: commits of exact bytes, and the diffs
 * between them. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_ODB_H
#define WORKTREE_ODB_H

#include <stdint.h>

#include "worktree/git.h"

enum { ODB_HASH = 32 }; /* bytes of SHA-256 */
#define ODB_EMPTY_TREE "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

/* Quotes a path, of any bytes, as C does: git fast-import reads names so. */
void odb_quote_path(struct buf *out, struct str path);
/* "refs/dcode/LABEL/base": WHICH is "base" or "sandbox". Owned. */
char *odb_ref_name(const char *label, const char *which);
/* ERR_NOT_FOUND if there is no such reference. */
int odb_ref_get(const struct git *g, const char *ref, char oid[GIT_OID],
		const struct stop *stop, struct error *err);
/* oid NULL deletes it; a missing reference is fine. */
int odb_ref_set(const struct git *g, const char *ref, const char *oid,
		const struct stop *stop, struct error *err);

/*
 * A commit, written file by file through git fast-import: the bytes go in as
 * they are. On success ref (which it replaces) names the new commit; after a
 * failure or odb_commit_abort() it is what it was.
 */
struct odb_commit_info {
	const char *ref;
	const char *parent; /* a commit whose tree it begins with; NULL: it is
			       empty, and the commit a root */
	const char *second; /* a second parent, or NULL */
	const char *message;
	int64_t time;  /* Unix seconds; 0: now */
	bool unsynced; /* a power cut may lose it: hundreds of MB take a busy
			  disk many seconds */
};
struct odb_commit;
int odb_commit_begin(struct odb_commit **c, const struct git *g,
		     const struct odb_commit_info *info,
		     const struct stop *stop, struct error *err);
/* A file or link (mode 0100644, 0100755, 0120000) of size bytes, which follow
 * through odb_commit_data(), all of them. */
int odb_commit_file(struct odb_commit *c, unsigned mode, struct str path,
		    int64_t size, struct error *err);
int odb_commit_data(struct odb_commit *c, struct str bytes, struct error *err);
/* A file or link whose bytes are in the repository already. */
int odb_commit_blob(struct odb_commit *c, unsigned mode, struct str path,
		    const char *oid, struct error *err);
/* Deletes a file, or a directory with all in it. */
int odb_commit_delete(struct odb_commit *c, struct str path, struct error *err);
/* Deletes all that its parent has. */
int odb_commit_clear(struct odb_commit *c, struct error *err);
/* No file follows: git writes the rest while the caller does something else. */
int odb_commit_done(struct odb_commit *c, struct error *err);
/* Frees c, whatever it returns. */
int odb_commit_end(struct odb_commit *c, char oid[GIT_OID], struct error *err);
void odb_commit_abort(struct odb_commit *c); /* NULL is fine */

struct odb_change {
	struct str path;
	unsigned mode;   /* 0: deleted */
	const char *oid; /* of bytes that are there; or NULL: */
	int64_t size;    /* bytes that read() gives */
	int64_t (*read)(void *arg, char *room, size_t len, struct error *err);
	void *arg;
};
/* A whole commit in one call. */
struct odb_changes {
	const struct odb_change *list;
	size_t n;
};
int odb_commit(const struct git *g, const struct odb_commit_info *info,
	       const struct odb_changes *changes, char oid[GIT_OID],
	       const struct stop *stop, struct error *err);

struct odb_record {                    /* borrowed for the callback */
	unsigned old_mode, new_mode;   /* 0: not there on that side */
	const char *old_oid, *new_oid; /* "" where it is not there */
	const char *path;
};
struct odb_sink {
	int (*each)(void *arg, const struct odb_record *r, struct error *err);
	void *arg;
};
/* Reports what differs between two trees or commits, by path, without renames.
 * before NULL: all that is in after. ERR_PROTOCOL for a path that a listing
 * cannot have. */
int odb_tree_diff(const struct git *g, const char *before, const char *after,
		  const struct odb_sink *sink, const struct stop *stop,
		  struct error *err);

struct odb_object {
	size_t i;        /* of the names, from 0 */
	const char *oid; /* borrowed for the callback */
	const char *type;
	int64_t size; /* -1: no such object; oid and type are "" */
};

struct odb_reader {
	int (*begin)(void *arg, const struct odb_object *o, struct error *err);
	/* Bytes of the object that began. NULL: only sizes are asked for. */
	int (*data)(void *arg, struct str bytes, struct error *err);
	void *arg;
	/* Of odb_read(). */
	struct buf line;
	size_t next;
	size_t asked;
	int64_t left; /* bytes of the object, with the line end after it */
};
/* Reads many objects with one git. names: one a line, each with its line end.
 * Objects come in that order; each begins once, or it is ERR_PROTOCOL. */
int odb_read(const struct git *g, struct str names, struct odb_reader *b,
	     const struct stop *stop, struct error *err);

struct named_files {      /* all borrowed */
	const char *name; /* ".gitignore" */
	const char *tree; /* or commit */
	struct str first; /* goes before the lines of the root's file, which
			     is then always made */
	/* True for a path that is left out; or NULL. */
	bool (*skip)(const char *path);
};

/*
 * Writes the files of this name below directory, for git to read. The directory
 * is made and holds no links; links of that name are left out, as git does.
 * Limits: the first MiB of a file, the first 10,000 files of a tree, and of
 * these the first 64 MiB. Starts git three times. *n, which may be NULL, is how
 * many there are.
 */
int odb_write_named_files(const struct named_files *f, const struct git *g,
			  const char *directory, size_t *n,
			  const struct stop *stop, struct error *err);

struct odb_file {
	char oid[GIT_OID];
	char *path; /* owned; must not exist; NULL: only hash */
	unsigned char hash[ODB_HASH]; /* out: of the bytes */
};
/* Writes each blob to its file, 0600. */
int odb_write_files(const struct git *g, struct odb_file *list, size_t n,
		    const struct stop *stop, struct error *err);

#endif

/* odb.h - dcode's own git repository: writes and reads exact commits. */
/* SPDX-License-Identifier: MIT */
#ifndef WORKTREE_ODB_H
#define WORKTREE_ODB_H

#include <stdint.h>

#include "worktree/git.h"

enum { ODB_HASH = 32 }; /* bytes of SHA-256 */
#define ODB_EMPTY_TREE "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

/* Appends a path of any bytes, quoted like a C string, as git fast-import reads
 * it. */
void odb_quote_path(struct buf *out, struct str path);
/* Returns "refs/dcode/LABEL/WHICH"; WHICH is a name such as "base" or
 * "sandbox". Owned. */
char *odb_ref_name(const char *label, const char *which);
/* Returns ERR_NOT_FOUND if the reference does not exist. */
int odb_ref_get(const struct git *g, const char *ref, char oid[GIT_OID],
		const struct stop *stop, struct error *err);
/* Sets a reference; oid NULL deletes it. Deleting a missing one is not an
 * error. */
int odb_ref_set(const struct git *g, const char *ref, const char *oid,
		const struct stop *stop, struct error *err);

/*
 * A commit that is written file by file with git fast-import, without
 * conversion. On success ref, whose old value is replaced, names the new
 * commit. After a failure or odb_commit_abort() it is unchanged.
 */
struct odb_commit_info {
	const char *ref;
	/* commit whose tree it starts with; NULL: it starts empty, as a root
	 * commit */
	const char *parent;
	const char *second; /* a second parent, or NULL */
	const char *message;
	int64_t time; /* Unix seconds; 0: now */
	/* do not sync: a power failure may lose it, but hundreds of MB would
	 * take a busy disk many seconds */
	bool unsynced;
};
struct odb_commit;
int odb_commit_begin(struct odb_commit **c, const struct git *g,
		     const struct odb_commit_info *info,
		     const struct stop *stop, struct error *err);
/* Begins a file or link (mode 0100644, 0100755, 0120000) of size bytes, which
 * the caller then passes to odb_commit_data() completely. */
int odb_commit_file(struct odb_commit *c, unsigned mode, struct str path,
		    int64_t size, struct error *err);
int odb_commit_data(struct odb_commit *c, struct str bytes, struct error *err);
/* Adds a file or link whose content is already in the repository. */
int odb_commit_blob(struct odb_commit *c, unsigned mode, struct str path,
		    const char *oid, struct error *err);
/* Deletes a file, or a directory with its contents. */
int odb_commit_delete(struct odb_commit *c, struct str path, struct error *err);
/* Deletes everything that the parent contains. */
int odb_commit_clear(struct odb_commit *c, struct error *err);
/* Call after the last file: git finishes the commit while the caller does
 * something else. */
int odb_commit_done(struct odb_commit *c, struct error *err);
/* Finishes the commit and returns its id. Frees c in any case. */
int odb_commit_end(struct odb_commit *c, char oid[GIT_OID], struct error *err);
void odb_commit_abort(struct odb_commit *c); /* c may be NULL */

struct odb_record {                    /* borrowed for the callback */
	unsigned old_mode, new_mode;   /* 0: absent on that side */
	const char *old_oid, *new_oid; /* "" if absent on that side */
	const char *path;
};
struct odb_sink {
	int (*each)(void *arg, const struct odb_record *r, struct error *err);
	void *arg;
};
/* Reports the differences between two trees or commits, sorted by path, without
 * renames. before NULL: reports everything in after. ERR_PROTOCOL for a path
 * that a listing cannot contain. */
int odb_tree_diff(const struct git *g, const char *before, const char *after,
		  const struct odb_sink *sink, const struct stop *stop,
		  struct error *err);

struct odb_object {
	size_t i;        /* index of the name, from 0 */
	const char *oid; /* borrowed for the callback */
	const char *type;
	int64_t size; /* -1: the object does not exist; oid and type are "" */
};

struct odb_reader {
	int (*begin)(void *arg, const struct odb_object *o, struct error *err);
	/* Receives the current object's bytes. NULL: only sizes are read. */
	int (*data)(void *arg, struct str bytes, struct error *err);
	void *arg;
	/* Internal to odb_read(). */
	struct buf line;
	size_t next;
	size_t asked;
	int64_t left; /* bytes of the object still to come, with its newline */
};
/* Reads many objects with one git process. names: one per line, each with a
 * newline. Objects arrive in that order; begin is called once for each,
 * otherwise the result is ERR_PROTOCOL. */
int odb_read(const struct git *g, struct str names, struct odb_reader *b,
	     const struct stop *stop, struct error *err);

struct named_files {      /* all borrowed */
	const char *name; /* ".gitignore" */
	const char *tree; /* a tree or commit */
	/* written before the lines of the root's file, which is then always
	 * created */
	struct str first;
	/* Returns true for a path to leave out; or NULL. */
	bool (*skip)(const char *path);
};

/*
 * Writes the files with this name below directory, for git to read. Creates the
 * directory, which must not contain links. Links with that name are left out,
 * as in git. Limits: the first MiB of a file, the first 10,000 files of a tree,
 * and of these the first 64 MiB. Starts git three times. *n, which may be NULL,
 * is the number of files.
 */
int odb_write_named_files(const struct named_files *f, const struct git *g,
			  const char *directory, size_t *n,
			  const struct stop *stop, struct error *err);

struct odb_file {
	char oid[GIT_OID];
	char *path; /* owned; must not exist; NULL: only hash */
	unsigned char hash[ODB_HASH]; /* out: SHA-256 of the content */
};
/* Writes each blob to its file, with mode 0600. */
int odb_write_files(const struct git *g, struct odb_file *list, size_t n,
		    const struct stop *stop, struct error *err);

#endif

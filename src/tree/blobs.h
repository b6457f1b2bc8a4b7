/* blobs.h - many objects of a repository into files, by one git. */
/* SPDX-License-Identifier: MIT */
#ifndef TREE_BLOBS_H
#define TREE_BLOBS_H

#include "git/git.h"
#include "tree/treefile.h"

struct blobs_file {
	char oid[GIT_OID];
	char *path; /* owned; must not exist; NULL: only hash */
	unsigned char hash[TREEFILE_HASH]; /* out: SHA-256 of the bytes */
};

/* Writes each blob to its file, 0600. */
int blobs_write(const struct git *g, struct blobs_file *list, size_t n,
		const struct stop *stop, struct error *err);

#endif

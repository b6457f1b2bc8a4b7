/* commit_files.h - makes a commit of files in memory, for tests. */
/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_COMMIT_FILES_H
#define TESTS_UNIT_COMMIT_FILES_H

#include "worktree/odb.h"

struct commit_file {
	struct str path;
	unsigned mode; /* 0: deleted */
	struct str bytes;
};

static int commit_files(const struct git *g, const struct odb_commit_info *info,
			const struct commit_file *files, size_t n,
			char oid[GIT_OID], const struct stop *stop,
			struct error *err)
{
	struct odb_commit *c;
	int rc = 0;

	if (odb_commit_begin(&c, g, info, stop, err) < 0)
		return -1;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		const struct commit_file *f = &files[i];

		if (!f->mode) {
			rc = odb_commit_delete(c, f->path, err);
			continue;
		}
		rc = odb_commit_file(c, f->mode, f->path, (int64_t)f->bytes.len,
				     err);
		if (rc == 0)
			rc = odb_commit_data(c, f->bytes, err);
	}
	if (rc == 0)
		return odb_commit_end(c, oid, err);
	odb_commit_abort(c);
	return -1;
}

#endif

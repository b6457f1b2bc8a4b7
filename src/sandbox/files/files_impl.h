/* files_impl.h - what the files_*.c share. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_FILES_IMPL_H
#define SANDBOX_FILES_IMPL_H

#include "sandbox/files/files.h"
#include "sandbox/helper.h"

enum { FILES_HELPER_MS = 120000 };

/* A file's first head bytes, content, its last tail bytes. */
struct files_change {
	int64_t head;
	int64_t tail;
	struct str content;
	const char *mark; /* what the file must still look like, or "" */
	bool exact;       /* the path is real: see files_resolve() */
	/* NULL: what the file held is not asked for. */
	struct files_before *before;
	/* NULL, or what a file that put.sh calls special held: then nothing was
	 * written, is_special is set, and mark_now is what it looks like. */
	struct buf *special;
	bool is_special;
	char mark_now[64];
};
/* As files_write(); -1 "changed" when mark does not fit any more. */
int files_put(struct sandbox *sb, const char *path, struct files_change *change,
	      const struct stop *stop, struct error *err);

/* 0 for "ok", -1 with the status or a timeout. */
int files_answered(const struct helper *h, struct error *err);

/* Appends root/name. */
void files_names_add(struct files_names *list, const char *root,
		     struct str name);
void files_names_sort(struct files_names *list);

#endif

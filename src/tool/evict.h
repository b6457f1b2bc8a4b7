/* evict.h - moves a result too large for the model into a file. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_EVICT_H
#define TOOL_EVICT_H

#include "tool/tool.h"

enum {
	EVICT_ID_BYTES = 128,   /* of a call's id in a file name */
	EVICT_EDGE_LINES = 5,   /* of the preview, at each end */
	EVICT_LINE_CHARS = 1000 /* of each line in it */
};

/*
 * A text beyond RESULT_CHARS is written to a file of the sandbox that
 * read_file can read, in a directory of mode 0700 outside the working
 * directory where one can be had (scripts/sandbox/results_dir.sh), and
 * replaced by its name and a preview. When that fails, or save is false, the
 * text is cut in its middle instead, so that one result can never fill the
 * model's context.
 */
void evict_apply(const struct tool_env *env, const char *id, bool save,
		 struct buf *text);

/* The name of a thread's n-th such file: calls' ids come from the model, and
 * two runs may use the same ones. Without a thread a random name. */
void evict_name(const char *thread, unsigned n, struct buf *out);
/* True for such a file of this thread, on this machine. real: without links. */
bool evict_is_own(const char *thread, const char *real);
/* The head and tail lines, numbered. */
void evict_preview(struct str text, struct buf *out);
/* The head and tail of the text, RESULT_CHARS code points together. */
void evict_clip(const char *why, struct str text, struct buf *out);

#endif

/* result.h - limits and words that the results of several tools share. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_RESULT_H
#define TOOL_RESULT_H

#include "base/error.h"
#include "tool/tool.h"

enum {
	RESULT_CHARS = 80000,        /* code points: 20,000 tokens of 4 */
	RESULT_RAW_BYTES = 64 << 20, /* of a result before it is cut */
	RESULT_ECHO_CHARS = 200,     /* of an argument repeated in an error */
	RESULT_FILE_MS = 300000      /* longest file operation */
};

/* "... [results truncated, try being more specific with your parameters]" */
extern const char result_truncated[];

/* Appends at most chars code points of text; true when all of it fitted. */
bool result_clip(struct str text, size_t chars, struct buf *out);
/* Appends text, and where it has more than RESULT_CHARS code points only
 * those, a line break and result_truncated. */
void result_add_limited(struct str text, struct buf *out);
/* Whether err says something about the file, rather than about the way to
 * the sandbox: err->message is then one of the codes of sandbox/files/files.h.
 */
bool result_is_file_error(const struct error *err);
/* The result of a failed files_...(): "Error: Path '/x': path_not_found", or
 * "Error: " and the words of the transport. Returns -1. noun: "Path". */
int result_file_failed(struct buf *out, const char *noun, const char *path,
		       const struct error *err);
/* Masks each line by itself, so that their number stays: for text whose lines
 * are wrapped or numbered before the whole result is masked. */
void result_mask_lines(const struct mask *m, struct buf *text);
/* Whether text holds a value to hide: it must not leave the machine. */
bool result_holds_secret(const struct mask *m, const char *text);
/* env->real_path, else an argument that is a path, resolved against the
 * working directory; where it is missing the working directory itself. Owned
 * in *path, NULL on failure. */
int result_path(const struct tool_env *env, const cJSON *args, const char *name,
		char **path, struct error *err);

#endif

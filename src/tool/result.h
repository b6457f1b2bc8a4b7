/* result.h - limits and words that the results of several tools share. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_RESULT_H
#define TOOL_RESULT_H

#include "base/error.h"
#include "sandbox/files/files.h"
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
/* "Note: 3 files that git ignores were left out ...", with two line breaks
 * before; nothing where there are none. */
void result_note_left(const struct files_left *left, struct buf *out);
/* env->real_path, else an argument that is a path, resolved against the
 * working directory; where it is missing the working directory itself. Owned
 * in *path, NULL on failure. */
int result_path(const struct tool_env *env, const cJSON *args, const char *name,
		char **path, struct error *err);

/* Copies both; leaves it unknown where one is larger or no UTF-8 text. */
void tool_change_set(struct tool_change *c, struct str before,
		     struct str after);
/* What is shown of it, without the values that are masked. */
void tool_change_mask(struct tool_change *c, const struct mask *m);
void tool_change_release(struct tool_change *c);

/* Values as Python prints them, which models read well. */

/* 'text', or "text" when it has a ' and no "; backslashes and what cannot be
 * printed are escaped, a byte that is no UTF-8 as \xNN. */
void pylist_string(struct buf *out, struct str s);
/*
 * ['a', 'b']. When the names have more than RESULT_CHARS code points together
 * only the first n * RESULT_CHARS / total are listed, and then
 * result_truncated.
 */
void pylist_names(struct buf *out, char *const *names, size_t n);
/* A JSON value as Python's repr of it; strings longer than max code points
 * are cut and end in "...". */
void pylist_value(struct buf *out, const cJSON *value, size_t max);

enum { NUMBERING_WRAP = 5000 }; /* code points of a line in one row */

/*
 * Rows of a marker, right-justified to the widest one, two spaces, and text.
 * A line beyond NUMBERING_WRAP goes on in rows marked N.1, N.2, ...
 */
struct numbering {
	struct buf text; /* rows joined by LF, none at the end */
	size_t *ends;    /* owned: bytes of text up to the end of each line */
	size_t n;        /* lines */
};

/* Lines of text: what LF separates, an empty last one not counted. */
size_t numbering_count(struct str text);
/* The first n lines of text (missing ones are empty), the first of them with
 * the number first. The caller releases nb, which need not be initialised. */
void numbering_render(struct numbering *nb, struct str text, int64_t first,
		      size_t n);
void numbering_release(struct numbering *nb);

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

/* result.h - helpers for tool results: limits, lists, numbering, large
 * results. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_RESULT_H
#define TOOL_RESULT_H

#include "base/error.h"
#include "sandbox/files/files.h"
#include "tool/tool.h"

enum {
	/* maximum code points of a result, about 20,000 tokens. Other limits:
	 * CAPTURE_HALF and LIVE_MAX (execute.c), for the output of commands. */
	RESULT_CHARS = 80000,
	/* maximum bytes of a result before it is cut */
	RESULT_RAW_BYTES = 64 << 20,
	/* code points of an argument repeated in an error */
	RESULT_ECHO_CHARS = 200,
	RESULT_FILE_MS = 300000 /* time limit of a file operation */
};

/* "... [results truncated, try being more specific with your parameters]" */
extern const char result_truncated[];

/* Appends up to chars code points of text. True if all of it fitted. */
bool result_clip(struct str text, size_t chars, struct buf *out);
/* Appends text. If it has more than RESULT_CHARS code points, appends only that
 * many, a line break and result_truncated. */
void result_add_limited(struct str text, struct buf *out);
/* True if err is about the file, not about the connection to the sandbox.
 * err->message is then one of the codes of sandbox/files/files.h. */
bool result_is_file_error(const struct error *err);
/* Appends the result of a failed files_...() call: "Error: Path '/x':
 * path_not_found", or "Error: " and the transport's message. Returns -1. noun:
 * "Path". */
int result_file_failed(struct buf *out, const char *noun, const char *path,
		       const struct error *err);
/* Appends a line with secrets masked; arg points to a pointer to the mask. If
 * the line was cut in transit (not whole), its end may be the beginning of a
 * secret and is dropped. */
void result_mask_line(void *arg, struct str line, bool whole, struct buf *out);
/* Masks each line separately, so the number of lines stays the same. For text
 * that is wrapped or numbered: a secret that is split by that would not be
 * found when the whole result is masked. */
void result_mask_lines(const struct mask *m, struct buf *text);
/* Appends two line breaks and "Note: 3 files that git ignores were left out
 * ...". Appends nothing if none were left out. */
void result_note_left(const struct files_left *left, struct buf *out);
/* Sets *path to env->real_path if that is set. Otherwise to the named argument,
 * resolved against the working directory, or to that directory if the argument
 * is missing. Owned; NULL on failure. */
int result_path(const struct tool_env *env, const cJSON *args, const char *name,
		char **path, struct error *err);

/* Copies both texts into c. If one is too large or not UTF-8, c stays
 * unknown. */
void tool_change_set(struct tool_change *c, struct str before,
		     struct str after);
/* Sets the change to one that was stored with its call, see part.change. */
void tool_change_store(struct tool_change *c, struct str stored);
/* Copies a change. Returns false if there is nothing to copy. */
bool tool_change_copy(struct tool_change *c, const struct tool_change *from);
void tool_change_release(struct tool_change *c);

/* The last line of the result of a command that the user cancelled. */
#define RESULT_CANCELLED "[Command was cancelled by the user]"
/* Appends the result of a call that the user cancelled, before it ran or while
 * it ran. */
void result_add_cancelled(const struct part *call, bool ran, struct buf *out);
/* True if result is that text for this call, or ends in RESULT_CANCELLED. */
bool result_is_cancelled(const struct part *call, struct str result, bool *ran);
/* Returns result without the words "Tool call NAME with id ID" at its start,
 * which are for the model. */
struct str result_without_id(const struct part *call, struct str result);

/* The pylist functions print values like Python, which models read well. */

/* Appends 'text', or "text" if it contains ' but not ". Backslashes and
 * unprintable characters are escaped, bytes that are not UTF-8 as \xNN. */
void pylist_string(struct buf *out, struct str s);
/*
 * Appends ['a', 'b']. If the names have more than RESULT_CHARS code points in
 * total, lists only the first n * RESULT_CHARS / total of them, followed by
 * result_truncated. Without names: "No files found".
 */
void pylist_names(struct buf *out, char *const *names, size_t n);
/* Counts the names in a text that begins as pylist_names() writes it. *whole:
 * none is missing. Returns false if the text is something else. */
bool pylist_count(struct str text, size_t *n, bool *whole);
/* Appends a JSON value as Python's repr. Strings longer than max code points
 * are cut and end with "...". */
void pylist_value(struct buf *out, const cJSON *value, size_t max);

/* code points of a line that fit into one row */
enum { NUMBERING_WRAP = 5000 };

/*
 * Numbered rows. Each is a marker (the line's number), right-aligned to the
 * widest one, two spaces, and text. A line longer than NUMBERING_WRAP continues
 * in rows marked N.1, N.2, ...
 */
struct numbering {
	struct buf text; /* rows separated by LF, without one at the end */
	/* owned; for each line, the offset in text where its last row ends */
	size_t *ends;
	size_t n; /* number of lines */
};

/* Counts the lines separated by LF. An empty last line is not counted. */
size_t numbering_count(struct str text);
/* Numbers the first n lines of text; the first gets the number `first`. Lines
 * that text does not have are empty. nb need not be initialised; the caller
 * releases it. */
void numbering_render(struct numbering *nb, struct str text, int64_t first,
		      size_t n);
void numbering_release(struct numbering *nb);

enum {
	/* code points of the call's id that are repeated */
	EVICT_ID_BYTES = 128,
	EVICT_EDGE_LINES = 5,   /* lines at each end of the preview */
	EVICT_LINE_CHARS = 1000 /* code points of each preview line */
};

/*
 * Saves a text longer than RESULT_CHARS as a file in the sandbox, which
 * read_file can read, and replaces it by the file's path and a preview. The
 * directory has mode 0700 and is outside the working directory if possible
 * (scripts/sandbox/results_dir.sh). If saving fails, or save is false, removes
 * the middle of the text instead. So one result can never fill the model's
 * context.
 */
void evict_apply(const struct tool_env *env, const char *id, bool save,
		 struct buf *text);

/* Appends the file name of a thread's n-th saved result. It does not use the
 * call's id, because that comes from the model, and two runs may use the same.
 * Without a thread the name is random. */
void evict_name(const char *thread, unsigned n, struct buf *out);
/* True if this local file is a saved result of the thread, so the model may
 * read it. real must be a real path. */
bool evict_is_own(const char *thread, const char *real);
/* Appends the first and the last EVICT_EDGE_LINES lines of text, numbered. */
void evict_preview(struct str text, struct buf *out);
/* Appends the beginning and end of the text, RESULT_CHARS code points in
 * total. */
void evict_clip(const char *why, struct str text, struct buf *out);

#endif

/* files.h - file operations for the tools, each one helper call. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_FILES_H
#define SANDBOX_FILES_H

#include "sandbox/files/text.h"
#include "sandbox/sandbox.h"

/*
 * All paths are absolute and normalised by the caller. The helper
 * (scripts/sandbox, POSIX sh and busybox) only moves bytes; this file's
 * functions interpret them. Failures of the file itself return -1 with
 * ERR_NOT_FOUND, ERR_REMOTE, ... and err->message is a bare code for which the
 * tool layer has a text ("file_not_found", "permission_denied", "not_a_file",
 * "path_not_found", "not_a_directory", "is_directory", "not_a_text_file",
 * "string_not_found", "multiple_occurrences", "link_loop", "path_changed",
 * "changed" (in two attempts the file changed between reading and writing),
 * "failed"; ERR_USAGE "invalid_pattern" and "pattern_too_broad"), or the
 * message of rm or of a page's limits. Failures of the transport have their own
 * messages and ERR_NETWORK, ERR_TIMEOUT, ERR_CANCELLED, ERR_GONE or
 * ERR_PROTOCOL.
 */

enum { FILES_BINARY_BYTES = 512000, FILES_COUNT_BYTES = 1 << 20 };

struct files_window { /* which part of a file to read */
	const char *path;
	int64_t offset; /* lines to skip; negative counts as 0 */
	int64_t limit;  /* number of lines to read */
	bool as_binary; /* the extension decides, see spec/agent.md §1.2 */
	/* maximum bytes of a binary file; 0: FILES_BINARY_BYTES */
	int64_t most;
};
/* The caller releases page->text. */
int files_read(struct sandbox *sb, const struct files_window *window,
	       struct files_page *page, const struct stop *stop,
	       struct error *err);
/* Creates parent directories, overwrites, preserves the mode, follows symbolic
 * links. exact: path comes from files_resolve(). If a part of it has been
 * replaced by a link since then, the link is not followed and the error is
 * "path_changed". */
int files_write(struct sandbox *sb, const char *path, bool exact,
		struct str content, const struct stop *stop, struct error *err);
struct files_before { /* content of a file before it was overwritten */
	/* previous content, up to text.max; empty for a new file */
	struct buf text;
	bool known; /* false: it was larger than that, or unreadable */
};
struct files_writing {
	const char *path;
	bool exact;
	struct str content;
	/* NULL, or filled in; the caller releases its text */
	struct files_before *before;
	/* Filled in if the old file's form was preserved: the text that was
	 * written, and a description of what was preserved. The caller sets max
	 * and releases both. */
	struct buf written;
	struct buf kept;
};
/*
 * Like files_write(), and returns the previous content in the same round trip.
 * An existing file keeps its encoding, byte order mark and line ends (the kind
 * that most of its lines have), and has a line break at its end only if it had
 * one before. A file that is not UTF-8 with LF needs a second round trip. An
 * empty content empties the file.
 */
int files_overwrite(struct sandbox *sb, struct files_writing *writing,
		    const struct stop *stop, struct error *err);
struct files_edited {
	const char *encoding; /* the file's encoding, static; NULL: UTF-8 */
	/* describes text that nearly matches; the caller releases it */
	struct buf near;
};
struct files_replacement { /* A text to replace in a file. */
	const char *path;
	struct str old;
	struct str new;
	bool all;
	bool exact; /* see files_write() */
	/* Receives the file's text before and after the edit; NULL: not
	 * wanted. */
	void (*made)(void *arg, struct str before, struct str after);
	void *arg;
	struct files_edited *result; /* filled in; NULL: not wanted */
};
/* Replaces old by new within the file's encoding and line ends (text.h). Writes
 * atomically: renames over the resolved target, but writes in place if the file
 * has several hard links. *count: number of replacements; for string_not_found
 * (possibly with a hint in err) and multiple_occurrences the number found. */
int files_edit(struct sandbox *sb, const struct files_replacement *change,
	       int64_t *count, const struct stop *stop, struct error *err);
/* Appends the whole file to out. ERR_LIMIT if it is larger than out's max. */
int files_load(struct sandbox *sb, const char *path, bool exact,
	       struct buf *out, const struct stop *stop, struct error *err);
int files_delete(struct sandbox *sb, const char *path, bool exact,
		 const struct stop *stop, struct error *err);

struct files_target {  /* What a path refers to, as found by files_resolve(). */
	char *real;    /* owned; absolute, every link resolved */
	char *workdir; /* owned; the sandbox's workdir, links resolved */
	enum {
		TARGET_NONE = 1,
		TARGET_FILE,
		TARGET_DIR,
		TARGET_LINK,
		TARGET_OTHER
	} kind;
	int64_t names; /* number of hard links of the file */
	/* the path is inside a git directory, judged by that directory's
	 * contents */
	bool git;
	struct buf below; /* paths below the directory, one per line */
};
enum {
	RESOLVE_SELF = 1 << 0, /* do not follow a link at the end of path */
	/* fill below; ERR_LIMIT if there are too many paths */
	RESOLVE_BELOW = 1 << 1,
};
/* Resolves path. The caller always calls files_target_release(). Fails with the
 * same codes as writing: "not_a_directory", "link_loop", "permission_denied",
 * ... */
int files_resolve(struct sandbox *sb, const char *path, unsigned how,
		  struct files_target *target, const struct stop *stop,
		  struct error *err);
void files_target_release(struct files_target *target);

struct files_left { /* files skipped by a search because git ignores them */
	int64_t n;
	/* n is an upper bound: some names might not have matched */
	bool at_most;
	bool no_git; /* git is missing: some files may be tracked */
	/* The patterns took too long: ignored files may have been searched. */
	bool slow;
};
struct files_names { /* owned strings, sorted by bytes */
	char **names;
	size_t n;
	/* entries are missing: limit or unreadable directory */
	bool incomplete;
	struct files_left left; /* set by files_glob() */
};
void files_names_release(struct files_names *list);
/* Lists absolute paths. Directories end in "/"; links to directories do not. */
int files_ls(struct sandbox *sb, const char *path, struct files_names *list,
	     const struct stop *stop, struct error *err);
struct files_search {
	const char *root; /* a directory; files_grep() also accepts a file */
	/* files_glob(): a pattern of file names (glob_match.h). files_grep():
	 * literal text; if it contains a newline it matches nothing, if it is
	 * empty it matches every line. */
	const char *pattern;
	/* files_grep(): pattern of the file names to search, NULL for all. A
	 * pattern without "/" also matches hidden names. */
	const char *glob;
	int64_t cap;  /* files_grep(): maximum number of matches */
	bool ignored; /* include files that git ignores */
	/* files_grep(): converts a line for display before it is cut; NULL:
	 * unchanged. whole: the sandbox sent the line to its end. */
	void (*clean)(void *arg, struct str line, bool whole, struct buf *out);
	void *arg;
};
/*
 * files_glob() and files_grep() skip what git ignores
 * (scripts/sandbox/search.sh: nested .gitignore, info/exclude, the user's
 * exclude file; tracked files are never skipped if git is available), unless
 * the pattern of names is the path of one file. They never enter a ".git",
 * unless root is or lies in one. Repositories within the tree follow their own
 * patterns.
 */
/* Returns absolute paths of the regular files below root that match. A link
 * counts if it points to a regular file below root. At most 10,000, within 5
 * s. */
int files_glob(struct sandbox *sb, const struct files_search *search,
	       struct files_names *list, const struct stop *stop,
	       struct error *err);

struct files_match {
	char *path; /* absolute, owned */
	int64_t line;
	/* owned, UTF-8; a longer line is cut to its first 5000 characters, or
	 * to as many around its first match, between "..." */
	char *text;
};
struct files_matches { /* sorted by path, then line */
	struct files_match *items;
	size_t n;
	bool incomplete;
	struct files_left left;
};
void files_matches_release(struct files_matches *list);
/* Does not follow links. Takes at most 30 s. */
int files_grep(struct sandbox *sb, const struct files_search *search,
	       struct files_matches *list, const struct stop *stop,
	       struct error *err);

/* Time limit of each helper, also used by find.c. */
enum { FILES_HELPER_MS = 120000 };
struct helper;
/* Returns 0 for status "ok", else -1 with the helper's status. ERR_TIMEOUT if
 * the helper timed out. */
int files_answered(const struct helper *h, struct error *err);

#endif

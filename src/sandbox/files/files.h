/* files.h - file operations for the tools, each one helper call. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_FILES_H
#define SANDBOX_FILES_H

#include "sandbox/files/text.h"
#include "sandbox/sandbox.h"

/*
 * All paths are absolute and already normalised by the tool layer. The helper
 * (scripts/sandbox, POSIX sh and busybox) only moves bytes; what they mean is
 * decided here. Failures of the file itself return -1 with ERR_NOT_FOUND,
 * ERR_REMOTE, ... and err->message is the bare code that the tool layer words
 * ("file_not_found", "permission_denied", "not_a_file", "path_not_found",
 * "not_a_directory", "is_directory", "not_a_text_file", "string_not_found",
 * "multiple_occurrences", "link_loop", "path_changed", "changed" (twice between
 * being seen and being written), "failed"; ERR_USAGE "invalid_pattern" and
 * "pattern_too_broad") or what rm or a page's limits say; failures of the
 * transport keep their own words and have ERR_NETWORK, ERR_TIMEOUT,
 * ERR_CANCELLED, ERR_GONE or ERR_PROTOCOL.
 */

enum { FILES_BINARY_BYTES = 512000, FILES_COUNT_BYTES = 1 << 20 };

struct files_window { /* what to read of a file */
	const char *path;
	int64_t offset; /* lines before it; negative counts as 0 */
	int64_t limit;  /* lines */
	bool as_binary; /* by the extension, see spec/agent.md §1.2 */
	int64_t most;   /* bytes of a binary one; 0: FILES_BINARY_BYTES */
};
/* The caller releases page->text. */
int files_read(struct sandbox *sb, const struct files_window *window,
	       struct files_page *page, const struct stop *stop,
	       struct error *err);
/* Makes parents, overwrites, keeps the mode, writes through a link. exact:
 * path comes from files_resolve(); a link that has come into it since then is
 * not followed but gives "path_changed". */
int files_write(struct sandbox *sb, const char *path, bool exact,
		struct str content, const struct stop *stop, struct error *err);
struct files_before {    /* what a file held that was overwritten */
	struct buf text; /* at most its max; nothing for a new file */
	bool known;      /* false: it was larger, or cannot be read */
};
struct files_writing {
	const char *path;
	bool exact;
	struct str content;
	struct files_before *before; /* filled; the caller releases its text */
	/* Of a file that had something to keep: the text that was written, and
	 * what was kept, in words. The caller sets max, and releases. */
	struct buf written;
	struct buf kept;
};
/*
 * The same, and gives back what was there, in the same round trip. A file that
 * is replaced keeps its encoding, byte order mark and line ends (those that
 * most of its lines have), and a line break at its end or none; one that has
 * other than UTF-8 with LF takes a second round trip. An empty content empties
 * it.
 */
int files_overwrite(struct sandbox *sb, struct files_writing *writing,
		    const struct stop *stop, struct error *err);
struct files_edited {
	const char *encoding; /* static; NULL for UTF-8 */
	struct buf near;      /* what nearly matches, in words; the caller
				 releases it */
};
struct files_replacement { /* what to replace in a file, by what */
	const char *path;
	struct str old;
	struct str new;
	bool all;
	bool exact; /* as in files_write() */
	/* What the file held and holds then; NULL: not asked for. */
	void (*made)(void *arg, struct str before, struct str after);
	void *arg;
	struct files_edited *result; /* filled; NULL: not asked for */
};
/* Replaces old by new, atomically (rename on the resolved target; in place
 * when it has several links), within the file's own encoding and line ends
 * (text.h). *count: replacements; on string_not_found (maybe with a hint
 * that advises) and multiple_occurrences the number found. */
int files_edit(struct sandbox *sb, const struct files_replacement *change,
	       int64_t *count, const struct stop *stop, struct error *err);
/* All of a file, into out; ERR_LIMIT when it has more bytes than out may. */
int files_load(struct sandbox *sb, const char *path, bool exact,
	       struct buf *out, const struct stop *stop, struct error *err);
int files_delete(struct sandbox *sb, const char *path, bool exact,
		 const struct stop *stop, struct error *err);

struct files_target {  /* where an operation on a path acts */
	char *real;    /* owned; absolute, every link resolved */
	char *workdir; /* owned; the sandbox's, without links */
	enum {
		TARGET_NONE = 1,
		TARGET_FILE,
		TARGET_DIR,
		TARGET_LINK,
		TARGET_OTHER
	} kind;
	int64_t names;    /* of the file; more than 1: it has hard links */
	bool git;         /* lies where git keeps its data, by its contents */
	struct buf below; /* what lies in the directory, a path a line */
};
enum {
	RESOLVE_SELF = 1 << 0,  /* of a link the link, not its target */
	RESOLVE_BELOW = 1 << 1, /* fill below; ERR_LIMIT where it is too much */
};
/* The caller calls files_target_release() in any case. Fails as writing
 * would: "not_a_directory", "link_loop", "permission_denied", ... */
int files_resolve(struct sandbox *sb, const char *path, unsigned how,
		  struct files_target *target, const struct stop *stop,
		  struct error *err);
void files_target_release(struct files_target *target);

struct files_left { /* files that a search left out since git ignores them */
	int64_t n;
	bool at_most; /* not all of n would have matched the names asked for */
	bool no_git;  /* without git: a tracked file may be among them */
};
struct files_names { /* one owned string per entry, sorted by bytes */
	char **names;
	size_t n;
	bool incomplete; /* a limit or an unreadable directory cut the list */
	struct files_left left; /* of files_glob() */
};
void files_names_release(struct files_names *list);
/* Absolute paths; directories end in "/" (links to them do not). */
int files_ls(struct sandbox *sb, const char *path, struct files_names *list,
	     const struct stop *stop, struct error *err);
struct files_search {
	const char *root;    /* a directory; for files_grep() or a file */
	const char *pattern; /* names (glob_match.h); for files_grep() a literal
				text: one with a newline matches nothing, an
				empty one every line */
	const char *glob;    /* files_grep(): which names, NULL for all; one
				without "/" matches hidden names, too */
	int64_t cap;         /* files_grep(): most matches kept */
	bool ignored;        /* also what git ignores */
	/* files_grep(): makes a line fit to be shown, before it is cut; NULL:
	 * as it is. whole: nothing was cut off at its end before. */
	void (*clean)(void *arg, struct str line, bool whole, struct buf *out);
	void *arg;
};
/*
 * Both leave out what git ignores (scripts/sandbox/search.sh: nested
 * .gitignore, info/exclude, the user's own exclude file; a tracked file counts
 * although a pattern names it, except without git), and never enter a ".git" -
 * unless root is or lies in one of these. Repositories within the tree follow
 * their own patterns.
 */
/* Regular files below root that match; absolute. Links count when they name a
 * regular file below root. At most 10,000, within 5 s. */
int files_glob(struct sandbox *sb, const struct files_search *search,
	       struct files_names *list, const struct stop *stop,
	       struct error *err);

struct files_match {
	char *path; /* absolute, owned */
	int64_t line;
	char *text; /* owned, UTF-8; of a line that is longer the first 5000
		       characters, or as many around its first match between
		       "..." */
};
struct files_matches { /* sorted by path, then line */
	struct files_match *items;
	size_t n;
	bool incomplete;
	struct files_left left;
};
void files_matches_release(struct files_matches *list);
/* No links are followed. Within 30 s. */
int files_grep(struct sandbox *sb, const struct files_search *search,
	       struct files_matches *list, const struct stop *stop,
	       struct error *err);

/* For find.c: every helper of this room may take that long. */
enum { FILES_HELPER_MS = 120000 };
struct helper;
/* 0 for "ok"; -1 with the helper's status, or after a timeout. */
int files_answered(const struct helper *h, struct error *err);

#endif

/* trust.h - checks whether the user allowed what a repository wants to run. */
/* SPDX-License-Identifier: MIT */
#ifndef TRUST_TRUST_H
#define TRUST_TRUST_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * Attack: a repository that the user clones, pulls or reviews contains an entry
 * (a hook, an MCP server, a subagent's model). As soon as dcode opens the
 * repository, the entry starts a program on the user's machine, or sends
 * exported variables to a server. Or the entry is harmless when the user allows
 * it, and later the entry, or a file that it runs, is changed.
 *
 * So dcode must not start, connect to or request anything of that kind without
 * TRUST_ALLOWED from trust_check() immediately before. The user is asked once
 * and sees the whole entry. A hash (the fingerprint) of these facts is stored:
 * the kind; the real path of the repository's root; the entry's text; and, for
 * each word of its command line that may name something in the repository, what
 * is there (a file's content and link targets, a directory, or nothing). So
 * equal entries in two repositories are two questions, and the user is asked
 * again if a file changes, appears, disappears or becomes a link. Not covered:
 * files that those files load, which the question mentions, and changes between
 * the check and the start.
 */
enum trust_kind {
	TRUST_MCP = 1 << 0,
	TRUST_HOOK = 1 << 1,
	TRUST_SUBAGENT = 1 << 2, /* a subagent's model or sandbox */
	TRUST_ALL = (1 << 3) - 1,
};

/* Something in a repository's files that would start a program or send data.
 * All borrowed. */
struct trust_entry {
	enum trust_kind kind;
	const char *root; /* absolute path of the repository */
	const char *dir; /* directory in which the program starts; NULL: root */
	/* the file that contains the entry, for the question */
	const char *file;
	const char *name; /* name of the entry in the file */
	struct str text;  /* the complete entry as written */
	/* The command line, each word a string. Values of its environment may
	 * follow. A shell command is one word. n_words is 0 if nothing is
	 * started. */
	const char *const *words;
	size_t n_words;
	/* A command of the entry names no file of the repository, so changes of
	 * what it runs are not noticed. The question says so; see
	 * trust_names_file(). */
	bool unnamed;
	/* the $PATH in which the program is looked up, or NULL */
	const char *path;
	/* Names of exported variables that the program would get, or that would
	 * be sent. Shown with the question. */
	const char *const *variables;
	size_t n_variables;
};

enum trust_verdict {
	TRUST_ALLOWED = 1,
	TRUST_ASK,     /* trust_ask() can ask the user */
	TRUST_REFUSED, /* the user refused, or nobody can be asked */
};

struct trust_ui {
	/* Asks the user about the entry. files: one line for each file whose
	 * content is included in the fingerprint, or "". Returns 1 for yes, 0
	 * for no, -1 with err. */
	int (*ask)(void *arg, const struct trust_entry *e, const char *files,
		   struct error *err);
	bool (*can_ask)(void *arg);
	/* called if the store cannot be read or written */
	void (*warn)(const char *line);
	void *arg;
};

/* The entries that the user has allowed, stored in one file. Any thread.
 * trust_ask() asks on the calling thread. */
struct trust;

/* store: path of the file, of mode 0600, which is read when the first entry is
 * checked. allowed: kinds that options of this run allow without asking
 * (--trust-project: TRUST_ALL). */
struct trust *trust_new(const char *store, unsigned allowed,
			const struct trust_ui *ui);
void trust_free(struct trust *t);

/* Checks an entry. Reads the files that it names each time, so call it before
 * every start. If there is too much to hash (hundreds of files, or more than
 * 256 MiB), the entry is TRUST_REFUSED, and only an option such as
 * --trust-project allows it. */
enum trust_verdict trust_check(struct trust *t, const struct trust_entry *e);
/*
 * Like trust_check(), but asks the user if necessary. A yes is stored
 * permanently, a no until trust_free(). The answer is about the files as they
 * were when the question was asked. Returns -1 only if the question was
 * cancelled. If the store cannot be written, warns, and the answer is valid for
 * this run.
 */
int trust_ask(struct trust *t, const struct trust_entry *e,
	      enum trust_verdict *verdict, struct error *err);
/* Appends one line for an entry that is TRUST_REFUSED or TRUST_ASK: why it does
 * not run, and what to type. "hook \"x\" of /a/.deepagents/hooks.json does not
 * run: ..." */
void trust_explain(struct trust *t, const struct trust_entry *e,
		   struct buf *out);
/* Appends the package and module runners in a command line ("npx, python3 -m").
 * They may run code from the start directory that the command line does not
 * name. A shell command is one word. */
void trust_add_runners(const char *const *words, size_t n, struct buf *out);
/* True if the command line names a file of the repository; that file's content
 * is then checked. False, for example, for make and npm test: what they run may
 * change in the repository without another question. */
bool trust_names_file(const struct trust_entry *e);
/* Returns "hook", "MCP server" and the like. */
const char *trust_kind_name(enum trust_kind kind);

struct trust_record { /* borrowed for the call */
	const char *kind, *root, *file, *name;
	int64_t when; /* Unix seconds */
};
/* Calls each for the stored records, oldest first, until it returns false. -1
 * if the file cannot be read. */
int trust_list(struct trust *t,
	       bool (*each)(void *arg, const struct trust_record *r), void *arg,
	       struct error *err);
/* True if the user has ever allowed anything of this kind in the repository at
 * root, or an option of this run allows the kind. */
bool trust_is_known(struct trust *t, enum trust_kind kind, const char *root);
/* Removes the stored answers for the repository at root (NULL: for all).
 * Returns their number, or -1. */
int trust_forget(struct trust *t, const char *root, struct error *err);

#endif

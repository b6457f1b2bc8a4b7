/* trust.h - what a repository wants to run here, and whether the user let it.
 */
/* SPDX-License-Identifier: MIT */
#ifndef TRUST_TRUST_H
#define TRUST_TRUST_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * The attack: a repository that the user clones, pulls or reviews brings along
 * an entry that starts a program on his machine or sends what he exported to an
 * address (a hook, an MCP server, a subagent's model), and has it run by being
 * opened; or is harmless when the user allows it, and changes the entry, or a
 * file that the entry runs, afterwards.
 *
 * So nothing of that kind may be started, connected to or asked for without
 * TRUST_ALLOWED from trust_check() right before. The user is asked once, with
 * the whole entry. What is remembered is a hash of: the kind, the repository's
 * root with its links resolved, the entry's text, and of each word of its
 * command line that can name something in the repository what is there: a
 * file's content and where links lead, a directory, or nothing. So two
 * repositories with equal entries are asked about apart, and a file that
 * changes, comes, goes, or becomes a link is asked about again. What those
 * files load in turn is not covered; the question says so. Neither is a change
 * between the check and the start.
 */
enum trust_kind {
	TRUST_MCP = 1 << 0,
	TRUST_HOOK = 1 << 1,
	TRUST_SUBAGENT = 1 << 2, /* its model or sandbox */
	TRUST_ALL = (1 << 3) - 1,
};

struct trust_entry { /* all borrowed */
	enum trust_kind kind;
	const char *root; /* of the repository; absolute */
	const char *dir;  /* that it starts in; NULL: root */
	const char *file; /* that holds the entry: for the question */
	const char *name; /* of the entry in it */
	struct str text;  /* all of it, as the file has it */
	/* Its command line; values of its environment may follow, and a
	 * shell's command is one word. n_words 0: it starts nothing. */
	const char *const *words;
	size_t n_words;
	/* An entry of several commands: one of them names no file of the
	 * repository, which the question says; see trust_names_file(). */
	bool unnamed;
	const char *path; /* $PATH that its program is looked for in, or NULL */
	/* For the question: names of exported variables that it would be given
	 * or would send. */
	const char *const *variables;
	size_t n_variables;
};

enum trust_verdict {
	TRUST_ALLOWED = 1,
	TRUST_ASK,     /* trust_ask() can settle it */
	TRUST_REFUSED, /* the user said no, or nobody can be asked */
};

struct trust_ui {
	/* Shows the question with the entry, of which files (line by line, ""
	 * for none) are remembered by content: 1 yes, 0 no, -1 with err. */
	int (*ask)(void *arg, const struct trust_entry *e, const char *files,
		   struct error *err);
	bool (*can_ask)(void *arg);
	void (*warn)(const char *line); /* the store cannot be used */
	void *arg;
};

/* What is allowed, in one file of the user's. Any thread, but for the
 * question, which is asked on the thread of trust_ask(). */
struct trust;

/* store: the file, 0600, which is not read before the first entry is checked.
 * allowed: kinds that flags of this run allow (--trust-project: TRUST_ALL). */
struct trust *trust_new(const char *store, unsigned allowed,
			const struct trust_ui *ui);
void trust_free(struct trust *t);

/* Reads the entry's files each time: for something that is started often, too.
 * Command lines that cannot be remembered (hundreds of files, or larger than
 * 256 MiB) are TRUST_REFUSED; only a flag allows them. */
enum trust_verdict trust_check(struct trust *t, const struct trust_entry *e);
/*
 * trust_check(), then the question where one is due. A yes is stored for good,
 * a no is remembered until trust_free(). What is allowed is what was there
 * when the question was put. -1 only when the question was cancelled; a store
 * that cannot be written is a warning, and the answer holds for this run.
 */
int trust_ask(struct trust *t, const struct trust_entry *e,
	      enum trust_verdict *verdict, struct error *err);
/* Why a TRUST_REFUSED or TRUST_ASK entry does not run and what to type, for a
 * line on stderr: "hook \"x\" of /a/.deepagents/hooks.json does not run: ..."
 */
void trust_explain(struct trust *t, const struct trust_entry *e,
		   struct buf *out);
/* Appends the package and module runners among the words of a command line
 * ("npx, python3 -m"), a shell's command being one word: what they run may come
 * from the directory that they start in, and no file of it is named. */
void trust_add_runners(const char *const *words, size_t n, struct buf *out);
/* Whether the command line names a file of the repository, whose content is
 * remembered. Of one that names none (make, npm test), any change of the
 * repository runs without another question. */
bool trust_names_file(const struct trust_entry *e);
/* "hook", "MCP server" */
const char *trust_kind_name(enum trust_kind kind);

struct trust_record { /* borrowed for the call */
	const char *kind, *root, *file, *name;
	int64_t when; /* Unix seconds */
};
/* What is stored, oldest first, until each returns false. -1: the file cannot
 * be read. */
int trust_list(struct trust *t,
	       bool (*each)(void *arg, const struct trust_record *r), void *arg,
	       struct error *err);
/* Whether anything of this kind was ever allowed in the repository at root, or
 * a flag of this run allows it. */
bool trust_is_known(struct trust *t, enum trust_kind kind, const char *root);
/* Forgets what was allowed in the repository at root (NULL: in all); how many,
 * or -1. */
int trust_forget(struct trust *t, const char *root, struct error *err);

#endif

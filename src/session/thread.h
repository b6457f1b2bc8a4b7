/* thread.h - lists, finds, locks and deletes stored conversations. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_THREAD_H
#define SESSION_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/message.h"
#include "model/model.h"

struct store; /* session/session.h */

/* strings owned, never NULL once filled; initialise with { 0 } */
struct thread {
	int64_t no; /* row ID in this database */
	char *id;   /* UUIDv7 */
	char *title;
	char *model;    /* "anthropic:claude-opus-5" */
	char *provider; /* of the sandbox: "docker"; "none", or "" if unknown */
	char *sandbox;  /* its id, or "" */
	char *label;    /* its ledger label if dcode created it, else "" */
	char *cwd;
	char *branch;             /* git branch in cwd, or "" */
	char *agent;              /* "coder"; "": the default agent */
	int64_t created, updated; /* Unix ms */
	int64_t messages;
	int64_t turns;         /* how many of the messages are prompts */
	bool headless;         /* used only by runs without a chat (-n) */
	int64_t input, output; /* tokens; input includes cached ones */
	/* Costs on this machine, in trillionths of a US dollar, as far as
	 * prices are known; -1: not counted. */
	int64_t cost;
	bool unpriced; /* a part has no known price */
	int64_t pid;   /* the running dcode that uses it, or 0 */
	/* Imported from a file. sandbox is then only a claim of the file's
	 * author, not a sandbox of this installation. origin: the thread's id
	 * where it was exported, or "". */
	bool imported;
	char *origin;
};
void thread_release(struct thread *t);

enum thread_kind {
	THREADS_ANY,
	THREADS_OF_CHATS,
	THREADS_HEADLESS, /* used only by runs without a chat */
};

struct thread_filter {
	enum thread_kind kind;
	const char *first; /* threads of this directory come first, or NULL */
	const char *cwd, *branch; /* exact match; NULL: any */
	const char *agent;        /* exact match; NULL: any */
	const char *below;        /* this directory and those below it */
	bool by_created;          /* sort by creation; else by last change */
	int64_t limit;            /* 0: all */
};
/* Calls each for the matching threads, newest first. each returns false to
 * stop. It may take over *t and leave { 0 } in it. */
int thread_each(struct store *s, const struct thread_filter *f,
		bool (*each)(void *arg, struct thread *t), void *arg,
		struct error *err);
/*
 * Finds a thread by its id, a prefix of it, or "latest" (also NULL): the last
 * changed thread of the directory cwd (NULL: of all). ERR_NOT_FOUND with
 * similar ids as the hint; ERR_USAGE for "" and for an ambiguous prefix.
 */
int thread_find(struct store *s, const char *name, const char *cwd,
		struct thread *t, struct error *err);

/* Finds "latest" among the threads of this agent (NULL: any). */
int thread_find_latest(struct store *s, const char *cwd, const char *agent,
		       struct thread *t, struct error *err);

struct thread_message {
	int64_t no;
	int64_t created; /* Unix ms */
	struct usage usage;
	struct message message;
	bool damaged; /* the row could not be parsed: message is empty */
};
/* Calls each for the messages of a thread, in order. each returns false to
 * stop. It may take over m->message and leave { 0 } in it. */
int thread_each_message(struct store *s, int64_t no,
			bool (*each)(void *arg, struct thread_message *m),
			void *arg, struct error *err);

/* Like thread_each_message(), but skips the first messages. */
int thread_each_message_from(struct store *s, int64_t no, int64_t skip,
			     bool (*each)(void *arg, struct thread_message *m),
			     void *arg, struct error *err);

/* Counts the prompts of a thread: the user's messages, without those that were
 * sent while the agent worked. */
int thread_count_prompts(struct store *s, int64_t no, int64_t *n,
			 struct error *err);

/* Messages of a thread that leave the store for a file or a page. */
struct thread_export {
	int64_t no;
	int64_t skip; /* number of first messages to leave out */
	const struct mask *mask;
	bool (*each)(void *arg, struct thread_message *m);
	void *arg;
};
/* Like thread_each_message(), with secrets masked (message_mask()). */
int thread_export(struct store *s, const struct thread_export *x,
		  struct error *err);

/* Sets the title, converted to one clean line. */
int thread_rename(struct store *s, const struct thread *t, const char *title,
		  struct error *err);
/* Deletes a thread with all its messages. ERR_BUSY when another running dcode
 * uses it. */
int thread_delete(struct store *s, const struct thread *t, struct error *err);

struct thread_prune {
	int64_t before; /* delete threads last changed before this, Unix ms */
	int64_t keep;   /* delete all but this many newest threads; -1: off */
	bool dry_run;
};
/* Deletes threads by age or number, the oldest last. Threads in use stay. each
 * is called for every thread that is (or with dry_run would be) deleted. */
int thread_prune(struct store *s, const struct thread_prune *p,
		 void (*each)(void *arg, const struct thread *t), void *arg,
		 struct error *err);

/* Returns the first words of a text as one clean line of at most 72 characters,
 * owned. */
char *thread_title(const char *text);

struct compaction_mark {
	int64_t after;   /* number of messages before it */
	int64_t created; /* Unix ms */
};
/* initialise with { 0 }; call compaction_marks_release() at the end */
struct compaction_marks {
	struct compaction_mark *list; /* in order */
	size_t n;
	size_t at; /* cursor of compaction_next() */
};
/* Lists the positions at which the thread with row ID no was compacted. */
int compaction_list(struct store *s, int64_t no, struct compaction_marks *out,
		    struct error *err);
/* Returns the next mark that is reached after this many messages, or NULL.
 * Advances m->at. */
const struct compaction_mark *compaction_next(struct compaction_marks *m,
					      int64_t messages);
/* Appends [{"after":12,"created":1790000000000},...]. */
void compaction_marks_json(const struct compaction_marks *m, struct buf *out);
void compaction_marks_release(struct compaction_marks *m);

/* Passes the last compaction of the thread with row ID no to each: its body,
 * and the number of messages that it replaces. each is not called if there is
 * none. */
int compaction_find(struct store *s, int64_t no,
		    void (*each)(void *arg, struct str body, int64_t after),
		    void *arg, struct error *err);

#endif

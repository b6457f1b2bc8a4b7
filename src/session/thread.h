/* thread.h - stored conversations: listed, found, locked, deleted. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_THREAD_H
#define SESSION_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/message.h"
#include "model/model.h"

struct store; /* session/session.h */

struct thread { /* strings owned, never NULL once filled; start from { 0 } */
	int64_t no; /* in this database only */
	char *id;   /* UUIDv7 */
	char *title;
	char *model;    /* "anthropic:claude-opus-5" */
	char *provider; /* of the sandbox: "docker"; "none", or "" if unknown */
	char *sandbox;  /* its id, or "" */
	char *label;    /* its ledger label when dcode made it, else "" */
	char *cwd;
	char *branch;             /* git's in cwd, or "" */
	char *agent;              /* "coder"; "": the default one */
	int64_t created, updated; /* Unix ms */
	int64_t messages;
	int64_t input, output; /* tokens; input counts the cached ones too */
	/* What it has cost here, in trillionths of a US dollar, as far as there
	 * were prices; -1: that was not counted. */
	int64_t cost;
	bool unpriced; /* ... and something of it had none */
	int64_t pid;   /* the living dcode that uses it, or 0 */
	/* From a file: sandbox is then an offer of whoever wrote it, made by
	 * none of ours, and origin the id that the thread had there, or "". */
	bool imported;
	char *origin;
};
void thread_release(struct thread *t);

struct thread_filter {
	const char *cwd, *branch; /* exactly these; NULL: any */
	const char *agent;        /* the same */
	const char *below;        /* of this directory and those in it */
	bool by_created;          /* order; else by the last change */
	int64_t limit;            /* 0: all */
};
/* Newest first. each returns false to stop; it may take *t over and leave
 * { 0 }. */
int thread_each(struct store *s, const struct thread_filter *f,
		bool (*each)(void *arg, struct thread *t), void *arg,
		struct error *err);
/*
 * Fills *t with the thread that name means: an id, the beginning of one, or
 * "latest" (also NULL): the last changed one of the directory cwd (NULL: of
 * all). ERR_NOT_FOUND with near ids as the hint, ERR_USAGE for "" and when
 * several begin so.
 */
int thread_find(struct store *s, const char *name, const char *cwd,
		struct thread *t, struct error *err);

/* The same of "latest", of this agent (NULL: any) alone. */
int thread_find_latest(struct store *s, const char *cwd, const char *agent,
		       struct thread *t, struct error *err);

struct thread_message {
	int64_t no;
	int64_t created; /* Unix ms */
	struct usage usage;
	struct message message;
	bool damaged; /* it could not be read: message is empty */
};
/* In order. each returns false to stop; it may take m->message over and leave
 * { 0 }. */
int thread_each_message(struct store *s, int64_t no,
			bool (*each)(void *arg, struct thread_message *m),
			void *arg, struct error *err);

/* The same without the first skip messages. */
int thread_each_message_from(struct store *s, int64_t no, int64_t skip,
			     bool (*each)(void *arg, struct thread_message *m),
			     void *arg, struct error *err);

/* title is made one clean line. */
int thread_rename(struct store *s, const struct thread *t, const char *title,
		  struct error *err);
/* With all its messages. ERR_BUSY when another living dcode uses it. */
int thread_delete(struct store *s, const struct thread *t, struct error *err);

struct thread_prune {
	int64_t before; /* delete what was last changed before, Unix ms */
	int64_t keep;   /* delete all but so many newest ones; -1: off */
	bool dry_run;
};
/* Deletes threads by age or number, oldest last; those in use stay. each is
 * told of every one that is (or, dry, would be) deleted. */
int thread_prune(struct store *s, const struct thread_prune *p,
		 void (*each)(void *arg, const struct thread *t), void *arg,
		 struct error *err);

/* The first words of a text as one clean line of at most 72 characters.
 * Owned. */
char *thread_title(const char *text);

struct compaction_mark {
	int64_t after;   /* messages of the thread before it */
	int64_t created; /* Unix ms */
};
struct compaction_marks { /* start from { 0 }; compaction_marks_release() */
	struct compaction_mark *list; /* in their order */
	size_t n;
	size_t at; /* the next one, for whoever goes through the messages */
};
/* Where the thread no was compacted. */
int compaction_list(struct store *s, int64_t no, struct compaction_marks *out,
		    struct error *err);
/* The next mark that stands behind so many messages, or NULL. Moves m->at. */
const struct compaction_mark *compaction_next(struct compaction_marks *m,
					      int64_t messages);
/* [{"after":12,"created":1790000000000},...] */
void compaction_marks_json(const struct compaction_marks *m, struct buf *out);
void compaction_marks_release(struct compaction_marks *m);

/* The last compaction of the thread no: its body goes to each, and of how many
 * messages it takes the place. Not called when there is none. */
int compaction_find(struct store *s, int64_t no,
		    void (*each)(void *arg, struct str body, int64_t after),
		    void *arg, struct error *err);

#endif

/* session.h - a stored conversation that is in use. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "base/error.h"
#include "model/message.h"
#include "model/model.h"
#include "session/store.h"

struct session;            /* one thread in the store */
struct session_info {      /* copied; NULL is treated as "" */
	const char *model; /* "anthropic:claude-opus-5" */
	const char *cwd;
	/* name of the sandbox's provider; "none": tools run on this machine */
	const char *provider;
	const char *sandbox; /* the sandbox's id */
	/* the sandbox's label in the ledger, if dcode created it for this
	 * thread */
	const char *label;
	const char *agent; /* the agent whose memory and skills it uses */
	bool headless;     /* the run has no chat (-n) */
};
/* Creates a thread with a UUIDv7 as its id. Nothing is stored before the first
 * append. */
struct session *session_new(struct store *s, const struct session_info *info);
struct thread; /* session/thread.h */
/*
 * Continues a stored thread, which this process locks until session_free().
 * ERR_BUSY when another running dcode uses it; *pid is that process. info
 * replaces the stored info at the next append.
 */
int session_resume(struct session **out, struct store *s,
		   const struct thread *t, const struct session_info *info,
		   int64_t *pid, struct error *err);
/* Creates a thread that starts with the messages of t, copied at the first
 * append. */
struct session *session_copy(struct store *s, const struct thread *t,
			     const struct session_info *info);
/* Like session_copy() with only the first messages of t, which are stored at
 * once, so that they are the thread's history. Deleted by session_free() if
 * nothing was appended. */
int session_copy_first(struct session **out, struct store *s,
		       const struct thread *t, int64_t messages,
		       struct error *err);
/* Replaces the thread's info; stored with the next append. */
void session_set_info(struct session *s, const struct session_info *info);
/* Stores which sandbox a thread uses, if the thread's session uses another
 * connection to the database. Does nothing if the thread is not stored yet. */
int session_place_thread(struct store *s, const char *id,
			 const struct session_info *info, struct error *err);
/* Stores changed info now, if the thread is stored, so that it survives a
 * crash. */
int session_store_info(struct session *s, struct error *err);
const char *session_id(const struct session *s);
/* True if the thread is in the database. */
bool session_is_stored(const struct session *s);
/* True if the thread stays in the database after session_free(). */
bool session_stays(const struct session *s);
/* Stores a message, which survives SIGKILL when this returns. */
int session_append(struct session *s, const struct message *m,
		   const struct usage *u, struct error *err);
/* Stores an answer while it streams: each call replaces what the last one
 * stored, so that the answer survives if dcode is killed. session_append()
 * replaces the draft. m->cut must be set. */
int session_draft(struct session *s, const struct message *m,
		  struct error *err);
/* Deletes the draft, because the answer is discarded. */
int session_drop_draft(struct session *s, struct error *err);
/* Deletes the message that session_append() has just stored. */
int session_drop_last(struct session *s, struct error *err);
/* Ends the draft without a session_append(): what was stored last stays as the
 * answer. */
void session_keep_draft(struct session *s);
/* A transaction: everything stored in between is stored, or nothing is. */
int session_begin(struct session *s, struct error *err);
int session_commit(struct session *s, struct error *err);
void session_rollback(struct session *s);
/* Stores a compaction: a model that continues the thread starts with body, made
 * by history_to_json(), instead of the messages stored so far, which are kept.
 * u: tokens used to make it, or NULL. */
int session_compact(struct session *s, struct str body, const struct usage *u,
		    struct error *err);
/* Returns the database, with the thread for history_load() in *no. For a copy
 * without its own messages that is the original thread. *no is 0 if nothing is
 * stored. */
struct store *session_store(const struct session *s, int64_t *no);
/* session_free() deletes the thread: its only prompt goes back to the user. */
void session_discard(struct session *s);
void session_free(struct session *s);

enum { BRANCH_SIZE = 256 };
/* Reads HEAD of the repository that contains directory, without running git. ""
 * if there is none, or no branch is checked out. For display only: long names
 * are cut. */
void branch_read(const char *directory, char out[BRANCH_SIZE]);

#endif

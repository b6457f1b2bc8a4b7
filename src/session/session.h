/* session.h - one stored conversation while it is used, and its database. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "base/error.h"
#include "model/message.h"
#include "model/model.h"
#include "session/store.h"

struct session;            /* one thread in the store */
struct session_info {      /* copied; NULL counts as "" */
	const char *model; /* "anthropic:claude-opus-5" */
	const char *cwd;
	const char *provider; /* of the sandbox, "none" on this machine */
	const char *sandbox;  /* its id */
	const char *label;    /* in the ledger, when dcode made it for us */
	const char *agent;    /* whose memory and skills it has */
};
/* A new thread; its id is a UUIDv7. Nothing is written before the first
 * append. */
struct session *session_new(struct store *s, const struct session_info *info);
struct thread; /* session/thread.h */
/*
 * Goes on with a stored thread, which this process then uses until
 * session_free(). ERR_BUSY when another living dcode uses it, *pid says which.
 * info takes the place of what is stored with the next append.
 */
int session_resume(struct session **out, struct store *s,
		   const struct thread *t, const struct session_info *info,
		   int64_t *pid, struct error *err);
/* A new thread that begins with the messages of t as they are when it is first
 * appended to. */
struct session *session_copy(struct store *s, const struct thread *t,
			     const struct session_info *info);
/* It goes on over another connection to the same database. */
void session_set_store(struct session *s, struct store *store);
/* Replaces what is told of it, with the next append. */
void session_set_info(struct session *s, const struct session_info *info);
/* Of a thread that another connection writes to: its sandbox is there. A thread
 * that is not stored yet stays so. */
int session_place_thread(struct store *s, const char *id,
			 const struct session_info *info, struct error *err);
/* Stores that now, where anything of the thread is stored: so that a crash
 * leaves the thread with its sandbox. */
int session_store_info(struct session *s, struct error *err);
const char *session_id(const struct session *s);
/* Whether anything of it is in the database. */
bool session_is_stored(const struct session *s);
/* On return the message survives SIGKILL. */
int session_append(struct session *s, const struct message *m,
		   const struct usage *u, struct error *err);
/* The same for the answer that arrives: each call stores more of it in place of
 * what the last one stored, so that a thread whose dcode was killed has it.
 * session_append() replaces it by what it appends. m->cut is set. */
int session_draft(struct session *s, const struct message *m,
		  struct error *err);
/* The answer so far is void: nothing of it stays. */
int session_drop_draft(struct session *s, struct error *err);
/* The same of what session_append() has just stored. */
int session_drop_last(struct session *s, struct error *err);
/* No more of it will come: it stays as it is. */
void session_keep_draft(struct session *s);
/* What is stored between the two is stored at once, or not at all. */
int session_begin(struct session *s, struct error *err);
int session_commit(struct session *s, struct error *err);
void session_rollback(struct session *s);
/* From now on a model that goes on with the thread begins with body, which is
 * history_to_json() of a conversation, in place of all that is stored so far;
 * that stays. u (or NULL): what making it took. */
int session_compact(struct session *s, struct str body, const struct usage *u,
		    struct error *err);
/* The thread in its database, as history_load() wants it: of a copy that has
 * not been appended to, the one whose messages it has. *no is 0 while nothing
 * is stored of it. */
struct store *session_store(const struct session *s, int64_t *no);
void session_free(struct session *s);

enum { BRANCH_SIZE = 256 };
/* Reads HEAD of the repository that directory is in, without git. "" when there
 * is none, or no branch is checked out. For display: names are cut. */
void branch_read(const char *directory, char out[BRANCH_SIZE]);

#endif

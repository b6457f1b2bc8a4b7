/* thread_transcript.h - writes a thread as lines of JSON, for hooks to read. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_THREAD_TRANSCRIPT_H
#define SESSION_THREAD_TRANSCRIPT_H

#include "base/mask/mask.h"
#include "session/session.h"

/*
 * One JSON object per line, like the Python program's transcript_path
 * (deepagents_code/hooks/transcript.py, read 2026-11-23): schema_version 1,
 * sequence from 0, record_id, timestamp, thread_id, role (user, assistant,
 * tool), content, and for a tool's result name and tool_call_id. content is a
 * string or, for an answer with calls, a list of {"type":"text"} and
 * {"type":"tool_use"}. Secrets are masked. Pictures are only named. The file
 * may lag behind the conversation.
 */
struct thread_transcript;

/* Takes over store, which must not be used elsewhere. Copies dir, borrows
 * mask. */
struct thread_transcript *thread_transcript_new(struct store *store,
						const struct mask *mask,
						const char *dir);
void thread_transcript_free(struct thread_transcript *t);
/* Updates DIR/THREAD.jsonl (0600) and returns its path, owned; NULL if it
 * cannot be written. May be called by one thread at a time. */
char *thread_transcript_write(struct thread_transcript *t, const char *thread);

#endif

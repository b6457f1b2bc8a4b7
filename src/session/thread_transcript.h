/* thread_transcript.h - a thread as a file of lines, for hooks to read. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_THREAD_TRANSCRIPT_H
#define SESSION_THREAD_TRANSCRIPT_H

#include "base/mask/mask.h"
#include "session/session.h"

/*
 * One JSON object a line, as the Python program's transcript_path has them
 * (deepagents_code/hooks/transcript.py, read 2026-11-23): schema_version 1,
 * sequence from 0, record_id, timestamp, thread_id, role (user, assistant,
 * tool), content, and name and tool_call_id of a tool's result. content is a
 * text, or of an answer with calls a list of {"type":"text"} and
 * {"type":"tool_use"}. Secrets are masked; pictures are named only. The file
 * may lag behind the conversation.
 */
struct thread_transcript;

/* store is taken over, for this alone; dir is copied, mask borrowed. */
struct thread_transcript *thread_transcript_new(struct store *store,
						const struct mask *mask,
						const char *dir);
void thread_transcript_free(struct thread_transcript *t);
/* Brings DIR/THREAD.jsonl (0600) up to date: its path, owned; NULL where it
 * cannot be written. One thread at a time. */
char *thread_transcript_write(struct thread_transcript *t, const char *thread);

#endif

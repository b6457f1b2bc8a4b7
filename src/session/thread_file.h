/* thread_file.h - exports a thread to a file and imports it. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_THREAD_FILE_H
#define SESSION_THREAD_FILE_H

#include <stdint.h>

#include "base/error.h"
#include "base/mask/mask.h"
#include "model/message.h"
#include "session/session.h"
#include "session/thread.h"

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

/*
 * One JSON object in UTF-8:
 *   format    "dcode-thread"
 *   version   1
 *   thread    {"id","title","created"}; created in Unix ms
 *   sandbox   {"provider","id"} in which the messages were made; absent if
 *             there was none
 *   compactions  [{"after","created"}]; absent if there are none. From the time
 *             "created" on, a model had a summary of the first "after" messages
 *             instead of these. Only for readers of the file: an import has
 *             all messages
 *   messages  as message_to_json() writes them, each with "created"
 *   patch     {"name"}, and patch_base64 its bytes: a list of strings, each
 *             encoded separately
 * A reader ignores unknown members. The file contains no settings, permissions,
 * addresses or keys, and nothing that only a vendor can read.
 */
enum {
	THREAD_FILE_VERSION = 1,
	THREAD_FILE_CHUNK = 48 << 10, /* bytes of a patch in one string */
};

struct thread_file {    /* strings borrowed, NULL or "": none */
	const char *id; /* id in the exporting installation */
	const char *title;
	const char *provider, *sandbox;
	const char *patch; /* its file name without a directory */
	int64_t created;   /* Unix ms, 0: unknown */
	/* may be NULL; the reader does not fill it */
	const struct compaction_marks *compactions;
};

/* To write a file, call begin, message for each message (masked by the caller),
 * patch for each chunk of the patch if head->patch is set, and end. They append
 * to out. */
void thread_file_begin(const struct thread_file *head, struct buf *out);
void thread_file_message(const struct message *m, int64_t created, bool first,
			 struct buf *out);
void thread_file_patch(struct str chunk, bool first, struct buf *out);
void thread_file_end(struct buf *out);

/*
 * Parses untrusted bytes, fed in chunks of any size. Messages and chunks of the
 * patch are passed to the sink when they are complete, before the whole file is
 * known to be valid. Sizes, depth and numbers are limited. Parts that only a
 * vendor can read are dropped. Errors name the line.
 */
struct thread_reader;
struct thread_reader_sink { /* each may be NULL; -1 stops the reading */
	/* The sink may take m over; what it leaves is released. */
	int (*message)(void *arg, struct message *m, int64_t created,
		       struct error *err);
	int (*patch)(void *arg, struct str bytes, struct error *err);
	void *arg;
};
struct thread_reader *thread_reader_new(const struct thread_reader_sink *sink);
void thread_reader_free(struct thread_reader *r);
/* Parses the next bytes. ERR_USAGE if they are not part of a thread file,
 * ERR_LIMIT if the file is too large. */
int thread_reader_feed(struct thread_reader *r, struct str bytes,
		       struct error *err);
/* Call at the end of the file. *head is borrowed from the reader. */
int thread_reader_end(struct thread_reader *r, struct thread_file *head,
		      struct error *err);

struct thread_import {
	struct store *store; /* borrowed */
	char id[37];         /* id of the new thread */
	int64_t no;
	int64_t now; /* Unix ms */
};

/*
 * Starts a thread with a new id. Of head only title, date, original id and the
 * claimed sandbox are stored. Other processes cannot write until
 * thread_import_end(), which commits. ERR_LIMIT if there is no room for this
 * many bytes of messages.
 */
int thread_import_begin(struct thread_import *in, struct store *s,
			const struct thread_file *head, const char *cwd,
			size_t bytes, struct error *err);
/* Adds a message. created: Unix ms, 0: now. */
int thread_import_add(struct thread_import *in, const struct message *m,
		      int64_t created, struct error *err);
/* Ends the import. whole: commits; otherwise everything is rolled back. */
int thread_import_end(struct thread_import *in, bool whole, struct error *err);

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

/* message.h - a message of the conversation, in vendor-neutral form. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_MESSAGE_H
#define MODEL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mask/mask.h"

enum role { ROLE_USER = 1, ROLE_ASSISTANT, ROLE_TOOL };
enum part_kind {
	PART_TEXT = 1,
	PART_THINKING,
	PART_TOOL_CALL,
	PART_TOOL_RESULT,
	/* An image or PDF file of the user, or of the tool result before it. */
	PART_MEDIA,
};

struct part { /* every pointer is owned by the part; unused ones are NULL */
	enum part_kind kind;
	char *text;    /* text, thinking, or the tool's result; for media:
			* the line of media_describe() that represents it */
	char *id;      /* on calls and results: the call's id */
	char *name;    /* on calls and results: the tool's name; on media:
			* the file's */
	char *args;    /* on calls: the arguments as the model wrote them; valid
			  JSON of an object unless bad_args */
	char *replay;  /* JSON that the vendor wants back unchanged (a whole
			  thinking block), or NULL */
	bool bad_args; /* on calls: args is not a JSON object */
	bool failed;   /* on results: the tool failed */
	/* For media only: */
	const char *type; /* from media_type(), static */
	char *bytes;
	size_t n_bytes;
};

struct message {
	enum role role;
	struct part *parts; /* owned */
	size_t n;
	/* On answers: the wire and vendor that made it (model_origin()). Its
	 * replay members are sent only there. Owned, or NULL: unknown. */
	char *origin;
	bool refused; /* on answers: the model refused the prompt */
	bool cut;     /* on answers: incomplete; it has no calls */
	bool summary; /* written by dcode, replaces older messages */
};

/* Appends a zeroed part of this kind. The pointer is valid until the next one
 * is added. */
struct part *message_add(struct message *m, enum part_kind kind);
/* Appends a file and takes ownership of its bytes. NULL, with nothing appended,
 * if media_type() does not know its type. */
struct part *message_add_media(struct message *m, const char *name,
			       struct buf *bytes);
/* Moves a part from another message and zeroes it there. */
void message_move(struct message *to, struct part *from);
/* Counts the files that belong to the result parts[i]. */
size_t message_count_media(const struct message *m, size_t i);
/* Returns the size in bytes of all files of the message. */
size_t message_media_bytes(const struct message *m);
void message_release(struct message *m);
struct message message_copy(const struct message *m);
/* All text parts, joined; owned. */
char *message_text(const struct message *m);
/* What dcode adds to a prompt: a note on a line before the user's text, and the
 * referenced files after it. */
#define MESSAGE_NOTE_MOVED                                                     \
	"The tools act on another machine or sandbox than before, as the "     \
	"system prompt says: files that were written there are not here.\n"
#define MESSAGE_FILES "\n\n## Referenced Files\n"
/* The user's text in a prompt as it was typed; owned. */
char *message_typed(const struct message *m);
/* Convert to and from the stored form:
 * {"role":"assistant","parts":[{"kind":"text",...}]}. */
void message_to_json(const struct message *m, struct buf *out);
int message_from_json(struct message *m, struct str json, struct error *err);

/* The arguments of a call with secrets masked; valid JSON unless bad_args.
 * Owned; NULL if it has none. */
char *message_masked_args(const struct mask *mask, const struct part *call);
/*
 * The way in: masks a prompt or the results of an answer's calls before they
 * are stored and sent. Bytes of files stay as they are. True if there was a
 * secret.
 */
bool message_admit(const struct mask *mask, struct message *m);
/* Sets *out to a copy of m with secrets masked; arguments of calls stay valid
 * JSON. replay and origin are omitted: only the vendor can read a replay, so it
 * cannot be masked. The caller releases *out. */
void message_mask(const struct mask *mask, const struct message *m,
		  struct message *out);

#endif

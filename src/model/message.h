/* message.h - a message of the conversation, independent of vendors. */
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
	/* An image or a PDF file of the user's, or of the result before it. */
	PART_MEDIA,
};

struct part { /* every pointer is owned by the part; unused ones are NULL */
	enum part_kind kind;
	char *text;    /* text, thinking, or the result of the tool; of media:
			  the line that stands for it, media_describe() */
	char *id;      /* of the call, on calls and results */
	char *name;    /* of the tool, on calls and results; of the file */
	char *args;    /* on calls: the arguments as the model wrote them; valid
			  JSON of an object unless bad_args */
	char *replay;  /* JSON that the vendor wants back unchanged (a whole
			  thinking block), or NULL */
	bool bad_args; /* on calls: args is not a JSON object */
	bool failed;   /* on results */
	/* On media: */
	const char *type; /* of media_type(), static */
	char *bytes;
	size_t n_bytes;
};

struct message {
	enum role role;
	struct part *parts; /* owned */
	size_t n;
	/* On answers: which wire and vendor made it (model_origin()); its
	 * replay members go to no other. Owned, or NULL: unknown. */
	char *origin;
	bool refused; /* on answers: the model refused the prompt before it */
	bool cut;     /* on answers: its end never came; it has no calls */
	bool summary; /* dcode's, in place of older messages */
};

/* Appends a zeroed part of this kind and returns it (valid until the next). */
struct part *message_add(struct message *m, enum part_kind kind);
/* Appends a file with these bytes, which it takes over. NULL, and nothing is
 * appended, for a type that media_type() does not know. */
struct part *message_add_media(struct message *m, const char *name,
			       struct buf *bytes);
/* Moves a part from another message, leaving a zeroed one behind. */
void message_move(struct message *to, struct part *from);
/* How many of the parts that follow the result parts[i] are its files. */
size_t message_count_media(const struct message *m, size_t i);
void message_release(struct message *m);
struct message message_copy(const struct message *m);
/* All text parts joined; owned. */
char *message_text(const struct message *m);
/* What dcode adds to a prompt: a note on a line before its words, and the files
 * that it names behind them. */
#define MESSAGE_NOTE_MOVED                                                     \
	"The tools act on another machine or sandbox than before, as the "     \
	"system prompt says: files that were written there are not here.\n"
#define MESSAGE_FILES "\n\n## Referenced Files\n"
/* The words of a prompt alone, as they were typed; owned. */
char *message_typed(const struct message *m);
/* The stored form: {"role":"assistant","parts":[{"kind":"text",...}]}. */
void message_to_json(const struct message *m, struct buf *out);
int message_from_json(struct message *m, struct str json, struct error *err);

/*
 * Fills *out with a copy of m, secrets masked; arguments of calls stay valid
 * JSON. replay and origin are left out: only the vendor can read a replay, so
 * that it cannot be masked. The caller releases it.
 */
void message_mask(const struct mask *mask, const struct message *m,
		  struct message *out);

#endif

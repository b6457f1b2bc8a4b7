/* draft.h - an answer while it arrives. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_DRAFT_H
#define MODEL_DRAFT_H

#include "model/model.h"

enum {                            /* per answer; above these: ERR_LIMIT */
       DRAFT_MAX_TEXT = 16 << 20, /* bytes of text and thinking */
       DRAFT_MAX_ARGS = 8 << 20,  /* bytes of a call's arguments */
       DRAFT_MAX_CALLS = 256,
       DRAFT_MAX_PARTS = 1024,
       DRAFT_MAX_NAME = 256, /* bytes of a call's id, and of its name */
};

/* Thinking that a model writes into its answer: "<think>\n...\n</think>\n\nThe
 * answer". Sent by servers that do not separate reasoning. Tags count only at
 * the beginning of an answer: elsewhere, for example in a code block, they are
 * text. */
struct think_tags { /* initialize to { 0 } */
	enum think_at {
		THINK_BEGIN, /* only white space so far, or part of a tag */
		THINK_INSIDE,
		THINK_BEHIND, /* white space after the closing tag */
		THINK_OVER,   /* everything from here on is text */
	} at;
	size_t tag;      /* index of the open tag's pair */
	struct buf held; /* bytes that may be the start of a tag */
};

struct draft_part {
	enum part_kind kind;
	int64_t key;      /* the vendor's index, or one that the wire chose */
	struct buf text;  /* text, thinking, or arguments */
	struct buf extra; /* data that the wire must send back, such as a
			   * signature */
	char *id, *name;  /* owned; for calls, or NULL */
	bool redacted;    /* extra is the data of a redacted thinking block */
};

struct draft {
	struct draft_part *parts; /* owned */
	size_t n, room;
	size_t calls; /* number of parts that are calls */
	size_t bytes; /* bytes of text and thinking */
	struct think_tags tags;
	struct buf thought; /* thinking found in tags: becomes the first part */
	struct usage usage;
	enum finish finish; /* 0 until the server has sent it */
	char reason[40];    /* the vendor's word for finish, or "" */
	bool done;          /* the vendor's own end mark was seen */
	int status;         /* HTTP status of an error in the stream; or 0 */
	bool refuses;       /* contains a refusal, whatever finish says */
	bool fatal;         /* a retry would fail the same way */
	uint64_t progress;  /* number of events other than heartbeats */
	const struct model_sink *sink; /* borrowed, or NULL */
	/* For error messages; borrowed, or NULL. */
	const struct model_choice *choice;
};

void draft_init(struct draft *d, const struct model_sink *sink);
void draft_release(struct draft *d);
/* Adds a part, valid until the next one is added. NULL with ERR_LIMIT. */
struct draft_part *draft_part(struct draft *d, enum part_kind kind, int64_t key,
			      struct error *err);
/* Returns the last part of this kind and key, or NULL. */
struct draft_part *draft_find(struct draft *d, enum part_kind kind,
			      int64_t key);
/* Returns draft_find()'s part, or adds one. */
struct draft_part *draft_open(struct draft *d, enum part_kind kind, int64_t key,
			      struct error *err);
/* Appends a delta to a part and sends text and thinking to the sink. Tagged
 * thinking at the beginning of the text ("<think>") is separated. */
int draft_add(struct draft *d, struct draft_part *p, struct str delta,
	      struct error *err);
/* Sets *field if it is not set yet. NULL and values that are too long are
 * ignored. */
void draft_name(char **field, const char *value);

struct draft_reason {
	const char *reason;
	enum finish finish;
};
/* Sets finish by a table that ends with { 0 }; FINISH_STOP if nothing matches.
 * A NULL reason is ignored. */
void draft_stopped(struct draft *d, const char *reason,
		   const struct draft_reason *rows);

struct call_ids {    /* ids of a conversation's calls; start from { 0 } */
	char **list; /* owned */
	size_t n;
};
void call_ids_add(struct call_ids *ids, const struct message *m);
void call_ids_release(struct call_ids *ids);

/* Moves the parts to reply->message. Empty parts are left out, arguments are
 * repaired, and a refusal loses its calls. Calls get ids that are unique in
 * this message and earlier (may be NULL). replay appends the data to send back
 * to the vendor with a part, or nothing. The draft is empty afterwards. */
void draft_finish(struct draft *d, struct model_reply *reply,
		  const struct call_ids *earlier,
		  void (*replay)(const struct draft_part *p, struct buf *out));

/* True if text is one JSON value exactly as RFC 8259 says. cJSON accepts more
 * (control characters in strings, "01", invalid UTF-8), vendors do not. */
bool args_strict(struct str text);
/* Converts the arguments of a call to a JSON object. Empty text and "null"
 * become {}. JSON that only cJSON accepts is printed again. An object inside a
 * string is extracted. The same object twice becomes one. False, with *args
 * unchanged, if it is not an object. */
bool args_repair(struct buf *args);

#endif

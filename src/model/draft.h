/* draft.h - a reply while it arrives. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_DRAFT_H
#define MODEL_DRAFT_H

#include "model/model.h"

enum {                            /* of one reply; beyond is ERR_LIMIT */
       DRAFT_MAX_TEXT = 16 << 20, /* bytes of text and thinking */
       DRAFT_MAX_ARGS = 8 << 20,  /* bytes of one call's arguments */
       DRAFT_MAX_CALLS = 256,
       DRAFT_MAX_PARTS = 1024,
       DRAFT_MAX_NAME = 256, /* bytes of a call's id and name */
};

/*
 * Thinking that a model writes into its answer: "<think>\n...\n</think>\n\nThe
 * answer" from servers that do not separate reasoning. Only tags at the
 * beginning of an answer count: elsewhere, also within a code fence, they are
 * text.
 */
struct think_tags { /* from { 0 } */
	enum think_at {
		THINK_BEGIN, /* only white space so far, or half a tag */
		THINK_INSIDE,
		THINK_BEHIND, /* white space after the closing tag */
		THINK_OVER,   /* everything that follows is text */
	} at;
	size_t tag;      /* the pair that it is within */
	struct buf held; /* bytes that may be the beginning of a tag */
};

struct draft_part {
	enum part_kind kind;
	int64_t key;      /* the vendor's index; the wire may use others */
	struct buf text;  /* text, thinking, or arguments */
	struct buf extra; /* the wire's data for replay: a signature */
	char *id, *name;  /* owned; of calls, or NULL */
	bool redacted;    /* extra is the data of a redacted thinking block */
};

struct draft {
	struct draft_part *parts; /* owned */
	size_t n, room;
	size_t calls; /* how many of them are calls */
	size_t bytes; /* of text and thinking */
	struct think_tags tags;
	struct buf thought; /* thinking in tags: the reply's first part */
	struct usage usage;
	enum finish finish; /* 0 until the server has said it */
	char reason[40];    /* the vendor's word for that, or "" */
	bool done;          /* the vendor's own end mark was seen */
	int status;         /* HTTP's, of an error in the stream; or 0 */
	bool refuses;       /* it has a refusal, whatever finish says */
	bool fatal;         /* a retry would bring the same error */
	uint64_t progress;  /* events other than heartbeats */
	const struct model_sink *sink; /* borrowed, or NULL */
	/* For the messages of failures; borrowed, or NULL. */
	const struct model_choice *choice;
};

void draft_init(struct draft *d, const struct model_sink *sink);
void draft_release(struct draft *d);
/* Adds a part; NULL with ERR_LIMIT. Valid until the next one is added. */
struct draft_part *draft_part(struct draft *d, enum part_kind kind, int64_t key,
			      struct error *err);
/* The last part of this kind and key, or NULL. */
struct draft_part *draft_find(struct draft *d, enum part_kind kind,
			      int64_t key);
/* draft_find(), else draft_part(). */
struct draft_part *draft_open(struct draft *d, enum part_kind kind, int64_t key,
			      struct error *err);
/* Adds a delta to a part and shows text and thinking to the sink. Thinking that
 * begins an answer as text ("<think>") becomes thinking. */
int draft_add(struct draft *d, struct draft_part *p, struct str delta,
	      struct error *err);
/* Sets *field unless it is set. NULL and values that are too long are ignored.
 */
void draft_name(char **field, const char *value);

struct draft_reason {
	const char *reason;
	enum finish finish;
};
/* Sets finish by the rows, which { 0 } ends, or to FINISH_STOP if none matches.
 * NULL is ignored. */
void draft_stopped(struct draft *d, const char *reason,
		   const struct draft_reason *rows);

struct call_ids {    /* of a conversation; start from { 0 } */
	char **list; /* owned */
	size_t n;
};
void call_ids_add(struct call_ids *ids, const struct message *m);
void call_ids_release(struct call_ids *ids);

/*
 * Moves the parts to reply->message. Empty ones are left out, arguments are
 * repaired, a refusal keeps no calls. Calls get ids that neither this message
 * nor earlier has (NULL: none came before). replay appends what goes back to
 * the vendor with a part, or nothing. The draft is empty afterwards.
 */
void draft_finish(struct draft *d, struct model_reply *reply,
		  const struct call_ids *earlier,
		  void (*replay)(const struct draft_part *p, struct buf *out));

/* True if text is one JSON value by the letter of RFC 8259. cJSON accepts more
 * (control characters in strings, "01", bytes that are not UTF-8), vendors do
 * not. */
bool args_strict(struct str text);
/*
 * Makes the arguments of a call the JSON of an object. Empty text and "null"
 * become {}; what only cJSON accepts is written anew; an object inside a string
 * is taken out; the same object twice becomes one. False, and *args untouched,
 * if it is not an object.
 */
bool args_repair(struct buf *args);

#endif

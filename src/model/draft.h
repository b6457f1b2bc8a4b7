/* draft.h - a reply while it arrives. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_DRAFT_H
#define MODEL_DRAFT_H

#include "model/model.h"
#include "model/think_tags.h"

enum {                            /* of one reply; beyond is ERR_LIMIT */
       DRAFT_MAX_TEXT = 16 << 20, /* bytes of text and thinking */
       DRAFT_MAX_ARGS = 8 << 20,  /* bytes of one call's arguments */
       DRAFT_MAX_CALLS = 256,
       DRAFT_MAX_PARTS = 1024,
       DRAFT_MAX_NAME = 256, /* bytes of a call's id and name */
};

struct draft_part {
	enum part_kind kind;
	int64_t key;      /* the vendor's index, -1 when it is over */
	struct buf text;  /* text, thinking, or arguments */
	struct buf extra; /* the wire's own, for replay: a signature */
	char *id, *name;  /* owned; of calls, or NULL */
	bool redacted;    /* extra is the data of a redacted thinking block */
};

struct draft {
	struct draft_part *parts; /* owned */
	size_t n, room;
	size_t calls; /* how many of them are calls */
	size_t bytes; /* of text and thinking */
	struct think_tags tags;
	struct buf thought; /* what they held: the first part of the reply */
	struct usage usage;
	enum finish finish; /* 0 until the server said */
	char reason[40];    /* its word for that, or "" */
	bool done;          /* the vendor's own end mark was seen */
	int status;         /* HTTP's, of an error in the stream; or 0 */
	bool refuses;       /* it has a refusal, whatever finish says */
	bool fatal;         /* the error just returned will come again */
	uint64_t progress;  /* events that were no mere heartbeat */
	const struct model_sink *sink; /* borrowed, or NULL */
	/* For what is said of a failure; borrowed, or NULL. */
	const struct model_choice *choice;
};

void draft_init(struct draft *d, const struct model_sink *sink);
void draft_release(struct draft *d);
/* A new part, or NULL with ERR_LIMIT. Valid until the next one. */
struct draft_part *draft_part(struct draft *d, enum part_kind kind, int64_t key,
			      struct error *err);
/* The last part of this kind and key, or NULL. */
struct draft_part *draft_find(struct draft *d, enum part_kind kind,
			      int64_t key);
/* Adds a delta to a part and shows text and thinking to the sink. Thinking that
 * begins an answer as text ("<think>") becomes thinking. */
int draft_add(struct draft *d, struct draft_part *p, struct str delta,
	      struct error *err);
/* Sets what was not set yet; too long or NULL is ignored. */
void draft_name(char **field, const char *value);

struct draft_reason {
	const char *reason;
	enum finish finish;
};
/* Sets finish by the rows, which { 0 } ends; FINISH_STOP where none fits.
 * reason NULL: nothing was said. */
void draft_stopped(struct draft *d, const char *reason,
		   const struct draft_reason *rows);

struct call_ids {    /* of a conversation; start from { 0 } */
	char **list; /* owned */
	size_t n;
};
void call_ids_add(struct call_ids *ids, const struct message *m);
void call_ids_release(struct call_ids *ids);

/*
 * The parts become reply->message: empty ones are left out, arguments are put
 * right, calls get ids that neither this message nor earlier has (NULL: none
 * came before), a refusal keeps no calls. replay writes what goes back to the
 * vendor with this part, or nothing. The draft is empty afterwards.
 */
void draft_finish(struct draft *d, struct model_reply *reply,
		  const struct call_ids *earlier,
		  void (*replay)(const struct draft_part *p, struct buf *out));

#endif

/* draft.h - an answer while it arrives. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_DRAFT_H
#define MODEL_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_parse.h"
#include "model/model.h"

/* Ids that wire_id() writes in the same way count as one. The set contains only
 * their hashes. Two different ids with the same hash count as one, too: then a
 * new call gets a random id, which does no harm. Initialize to { 0 }. */
struct call_ids {
	uint64_t *slots; /* owned; 0: free */
	size_t n;
	size_t room; /* number of slots: 0, or a power of two above 2 * n */
};

enum { /* limits per answer; beyond them: ERR_LIMIT */
       DRAFT_MAX_TEXT = 16 << 20, /* bytes of text and thinking */
       DRAFT_MAX_ARGS = 8 << 20,  /* bytes of a call's arguments */
       DRAFT_MAX_CALLS = 256,
       DRAFT_MAX_PARTS = 1024,
       DRAFT_MAX_NAME = 256, /* bytes of a call's id, and of its name */
};

/* Finds thinking that a model writes into its answer:
 * "<think>\n...\n</think>\n\nThe answer". Servers that do not separate
 * reasoning send that. Tags count only at the beginning of an answer:
 * elsewhere, for example in a code block, they are text. The template of some
 * models puts the opening tag into the prompt, so that the answer has only
 * "...\n</think>\n\n": a line of the first text that is a closing tag, not in a
 * code block and without an opening tag above it, ends thinking, too. */
struct think_tags { /* initialize to { 0 } */
	enum think_at {
		/* only white space so far, perhaps with the beginning of a
		 * tag */
		THINK_BEGIN,
		THINK_INSIDE,
		THINK_BEHIND, /* white space after the closing tag */
		THINK_OVER,   /* everything from here on is text */
	} at;
	size_t tag; /* index of the tag pair that is open */
	/* bytes kept back: they may be the beginning of a tag */
	struct buf held;
	/* Only the closing tag is looked for: lines of the first text that are
	 * complete up to `line`. */
	bool may_close;
	bool fenced; /* in a code block there */
	size_t line;
};

struct draft_part {
	enum part_kind kind;
	int64_t key;      /* the vendor's index, or one that the wire chose */
	struct buf text;  /* text, thinking, or arguments */
	struct buf extra; /* data that the wire must send back, such as a
			   * signature */
	char *id, *name;  /* owned; set for calls, else NULL */
	bool redacted;    /* extra is the data of a redacted thinking block */
};

struct draft {
	struct json_pool json;    /* the event that is being parsed */
	struct draft_part *parts; /* owned */
	size_t n, room;
	size_t calls; /* number of parts that are calls */
	size_t bytes; /* bytes of text and thinking */
	struct think_tags tags;
	/* thinking found between tags; becomes the message's first part */
	struct buf thought;
	struct usage usage;
	enum finish finish; /* 0 until the server has sent the reason */
	char reason[40];    /* the vendor's word for finish, or "" */
	/* the vendor's mark for the end of the answer was received */
	bool done;
	int status;        /* HTTP status of an error in the stream; or 0 */
	bool refuses;      /* contains a refusal, whatever finish says */
	bool fatal;        /* a retry would fail the same way */
	uint64_t progress; /* number of events other than heartbeats */
	const struct model_sink *sink; /* borrowed, or NULL */
	/* Borrowed, or NULL. Only used in error messages. */
	const struct model_choice *choice;
};

void draft_init(struct draft *d, const struct model_sink *sink);
void draft_release(struct draft *d);
/* Parses the JSON object of an event. It is valid until the draft's next event.
 * NULL with ERR_PROTOCOL if it is not a JSON object. NUL and unpaired
 * surrogates become U+FFFD; the latter come from servers that cut text by
 * UTF-16 units. */
const cJSON *draft_parse(struct draft *d, struct str data, struct error *err);
/* Calls parse with the object of an event. */
int draft_feed(struct draft *d, struct str data,
	       int (*parse)(struct draft *d, const cJSON *tree,
			    struct error *err),
	       struct error *err);
/* Adds a part, valid until the next one is added. NULL with ERR_LIMIT. */
struct draft_part *draft_part(struct draft *d, enum part_kind kind, int64_t key,
			      struct error *err);
/* Returns the last part of this kind and key, or NULL. */
struct draft_part *draft_find(struct draft *d, enum part_kind kind,
			      int64_t key);
/* Returns the part that draft_find() finds, or adds one. */
struct draft_part *draft_open(struct draft *d, enum part_kind kind, int64_t key,
			      struct error *err);
/* Appends a delta to a part and sends text and thinking to the sink. Tagged
 * thinking at the beginning of the text ("<think>") is separated. */
int draft_add(struct draft *d, struct draft_part *p, struct str delta,
	      struct error *err);
/* Sets *field unless it is set already. Ignores NULL and a value that is too
 * long. */
void draft_name(char **field, const char *value);

struct draft_reason {
	const char *reason;
	enum finish finish;
};
/* Sets d->finish to the row of the table that has this reason; FINISH_STOP if
 * none has. The table ends with { 0 }. A NULL reason is ignored. */
void draft_stopped(struct draft *d, const char *reason,
		   const struct draft_reason *rows);

/* Moves the parts to reply->message. Leaves out empty parts, repairs arguments,
 * and removes the calls if the answer is a refusal. Calls get ids that are
 * unique in this message and among `earlier` (may be NULL). replay appends what
 * must be sent back to the vendor with a part, or nothing. The draft is empty
 * afterwards. */
void draft_finish(struct draft *d, struct model_reply *reply,
		  const struct call_ids *earlier,
		  void (*replay)(const struct draft_part *p, struct buf *out));

/* True if text is one JSON value exactly as RFC 8259 defines it. Vendors accept
 * nothing else, but cJSON does (control characters in strings, "01", invalid
 * UTF-8). */
bool args_strict(struct str text);
/* Converts the arguments of a call to a JSON object. Empty text and "null"
 * become {}. Text that only cJSON accepts is printed again as JSON. An object
 * inside a string is extracted. An object that was sent twice becomes one.
 * False, with *args unchanged, if the arguments are not an object. */
bool args_repair(struct buf *args);

/* Adds the id. False if the set had it already. */
bool call_ids_add(struct call_ids *ids, const char *id);
bool call_ids_has(const struct call_ids *ids, const char *id);
void call_ids_release(struct call_ids *ids);

#endif

/* wire.h - what differs between the vendors' protocols. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_WIRE_H
#define MODEL_WIRE_H

#include <cjson/cJSON.h>

#include "model/model.h"

struct draft;      /* model/draft.h */
struct draft_part; /* the same */

/* The conversation as it goes over the wire, each message written once. */
struct history {
	struct buf bytes;
	enum role last;      /* what the bytes end in; 0 at the start */
	size_t block_end;    /* where a cache mark can go in after the last user
				block; 0: nowhere */
	bool calls_alone;    /* text beside tool calls is left out */
	bool thoughts;       /* an answer came with reasoning_content */
	bool wants_thoughts; /* every answer needs that member, also the answers
				of other vendors */
	bool sign_calls;     /* a call must have a signature, or say why not */
	bool marks;          /* block_end is set: the model has a cache */
	bool result_media;   /* results contain files; else files follow them */
	bool no_ids;         /* calls and results are sent without ids */
	unsigned lacks;      /* MODEL_TAKES_...: such files become text */
	bool hides;          /* every file becomes a line of text */
};

struct history_point { /* where the history can be cut off again */
	size_t len, block_end;
	enum role last;
	char end[2]; /* what the bytes ended in: a later message may join */
};

struct wire_head { /* what the fixed front of a request is made of */
	const struct model_choice *choice;
	const cJSON *params; /* object or NULL, already without our own keys */
	const struct model_brief *brief;
};

/* A member that some servers refuse, or that some require. The request is sent
 * again the other way after the server's complaint, and so are all later ones.
 */
struct wire_option {
	const char *name;      /* in the user's params it overrides this */
	const char *member;    /* with the comma before it */
	bool at_first;         /* sent until refused; else not until required */
	const char *complaint; /* part of the body of a 400 or 422 */
	const char *why;       /* shown to the user when it flips, or NULL */
};

struct wire {
	const char *name;
	const char *path; /* "/chat/completions"; NULL: see url */
	/* Adds what follows base_url, where the path depends on the model. */
	void (*url)(const struct model_choice *choice, struct buf *out);
	/* A dated API has the path below each deployment: Azure's. */
	bool deployments;
	/* Completes an address without a path where the preset has none:
	 * "/v1"; NULL: addresses of this wire stay as they are. */
	const char *base_path;
	/* Requests are signed for AWS, unless there is a key; answers are its
	 * event streams. */
	bool aws;
	const char *refuses; /* a media_type() that is never taken, or NULL */
	int64_t idle_ms;     /* silence before a stream counts as stalled */
	const char *betas;   /* header of each of params.betas */
	const char *auth;    /* the header's name and what precedes the key */
	const char *version; /* one more header, or NULL */
	const char *mark;    /* cache mark for history.block_end, or NULL */
	const char *tail;    /* closes the messages; options and "}" follow */
	const struct wire_option *options; /* ends with a NULL name; or NULL */
	/* Gives the user's parameters the names and places that this wire has
	 * for them; a null stands for an option that is not to be sent. NULL:
	 * nothing to do. */
	void (*params)(const struct model_choice *choice, cJSON *params);
	/* Sets what the model asks of the history, or NULL. */
	void (*begin)(const struct model_choice *choice, struct history *h);
	/* Everything up to the first message of the history. */
	void (*head)(const struct wire_head *in, struct buf *out);
	void (*push)(struct history *h, const struct message *m);
	/* One event of the stream. -1 voids the answer (draft->fatal: for
	 * good). */
	int (*event)(struct draft *d, struct str event, struct str data,
		     struct error *err);
	/* True when the stream may end here. */
	bool (*complete)(const struct draft *d);
	/* See draft_finish(). */
	void (*replay)(const struct draft_part *p, struct buf *out);
};

/* A row for each wire; wire_NAME is defined in wires/NAME.c. */
#define WIRES(ROW)                                                             \
	ROW(anthropic)                                                         \
	ROW(openai_chat)                                                       \
	ROW(openai_responses)                                                  \
	ROW(gemini)                                                            \
	ROW(bedrock)

#define WIRE_DECLARE(name) extern const struct wire wire_##name;
WIRES(WIRE_DECLARE)
extern const struct wire *const wires[]; /* NULL ends */
/* NULL for an unknown name. */
const struct wire *wire_find(const char *name);
/* The names as a user may type them: "anthropic" or "openai-chat" ... */
void wire_names(struct buf *out);
/*
 * Pushes a message to a model of this origin. What only the vendor that made it
 * understands (replay: signatures, its form of thinking) is left out for
 * others; a message of unknown origin counts as the model's own. Files that the
 * model does not accept become a line of text each.
 */
void wire_push(const struct wire *w, struct history *h, const char *origin,
	       const struct message *m);

/*
 * Parts of requests. Each appends to out.
 */
/* Members of params, each followed by a comma. */
void wire_params(const cJSON *params, struct buf *out);
/* Adds prompt_cache_key and a comma for OpenAI's own server, which finds cached
 * prompts by a key of the conversation, unless the user's params have one. */
void wire_put_cache_key(const struct wire_head *in, struct buf *out);
/* The name, the description and the schema of a tool; before is what precedes
 * the schema: a comma and the name of its member. */
void wire_tool(struct buf *out, const struct tool_spec *tool,
	       const char *before);
/* Opens the next block of a message: one more of the same role, or the first of
 * a new one, {"role":NAME,LIST:[. */
void wire_open_block(struct history *h, enum role role, const char *name,
		     const char *list);
/* "data:image/png;base64,..." as a JSON string. */
void wire_data_url(struct buf *out, const struct part *media);
/* The bytes in base64 as a JSON string. */
void wire_base64(struct buf *out, const struct part *media);
/* Text of a URL's path, percent-encoded but for letters, digits, "-._~" and the
 * characters of keep. */
void wire_escape(struct buf *out, const char *text, const char *keep);
/* The arguments of a call as the JSON of an object, even if they are not. */
void wire_args(struct buf *out, const struct part *call);
/* A name as a JSON string of [A-Za-z0-9_-]: at most 64 bytes, never empty. */
void wire_name(struct buf *out, const char *name);
/* The same for the id of a call, of any length. */
void wire_id(struct buf *out, const char *id);
/* The same with at most 64 bytes: the end of a longer id becomes its hash. */
void wire_short_id(struct buf *out, const char *id);
/* True if wire_id() maps both to the same id. */
bool wire_same_id(const char *a, const char *b);

/* Messages as lists of blocks: Anthropic's form, and Bedrock's. Each function
 * appends a block. */
struct wire_blocks {
	/* Thinking is this vendor's if its replay begins so. */
	const char *thinking;
	void (*put_text)(struct buf *out, const char *text);
	void (*put_media)(struct buf *out, const struct part *p);
	void (*put_call)(struct buf *out, const struct part *p);
	/* n files follow the result p and are part of it. */
	void (*put_result)(struct buf *out, const struct part *p, size_t n);
	void (*put_empty)(struct buf *out); /* for a message without parts */
};
/* Appends a message. Results are blocks of the user. Thinking at the end of a
 * message is left out: both vendors refuse it there. */
void wire_push_blocks(struct history *h, const struct message *m,
		      const struct wire_blocks *f);
/* True for text that both vendors refuse as a block: only white space, or
 * NULL. */
bool wire_is_blank(const char *text);

/*
 * Parts of answers.
 */
/* The JSON object of one event; NULL with ERR_PROTOCOL if it is anything else.
 * Half a surrogate pair (from servers that cut text by UTF-16 units) and NUL
 * become U+FFFD. The caller deletes it. */
cJSON *wire_parse(struct str data, struct error *err);
/* A count of tokens within [0, INT32_MAX]; fallback if there is none. */
int64_t wire_tokens(const cJSON *usage, const char *key, int64_t fallback);

#endif

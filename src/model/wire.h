/* wire.h - the interface of the vendors' protocols. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_WIRE_H
#define MODEL_WIRE_H

#include <cjson/cJSON.h>

#include "model/model.h"

struct draft;      /* model/draft.h */
struct draft_part; /* model/draft.h */

/* The conversation as it is sent, or its end: see struct model. Each message is
 * written once. */
struct history {
	struct buf bytes;
	enum role last; /* role of the last message; 0 at the start */
	/* offset after the last user block at which a cache mark can be
	 * inserted; 0: none */
	size_t block_end;
	bool calls_alone; /* leave out the text in a message with tool calls */
	bool thoughts;    /* an answer had reasoning_content */
	/* every answer needs that member, even those of other vendors */
	bool wants_thoughts;
	/* each call needs a signature; calls without one get a marker
	 * instead */
	bool sign_calls;
	bool marks; /* the model has a cache: set block_end */
	/* files are part of tool results; otherwise they follow the results */
	bool result_media;
	bool no_ids; /* send calls and results without ids */
	/* MODEL_TAKES_... bits: replace such files by a line of text */
	unsigned lacks;
	bool hides; /* replace every file by a line of text */
};

struct history_point { /* an end of the conversation, to be cut back to */
	/* positions of that end and of the cache mark before it; 0: none */
	size_t len, block_end;
	enum role last;
	/* the two bytes before that end: a later message may change them */
	char end[2];
};

struct wire_head { /* input for writing a request's head, its fixed start */
	const struct model_choice *choice;
	/* an object without the parameters meant for dcode; or NULL */
	const cJSON *params;
	const struct model_brief *brief;
};

/* A member of requests that some servers refuse or require. When a server
 * complains about it, dcode sends it, or stops sending it, from then on. */
struct wire_option {
	/* a parameter with which the user decides about the member */
	const char *name;
	const char *member; /* the member as JSON, with a leading comma */
	/* true: sent until a server refuses it; false: omitted until a server
	 * requires it */
	bool at_first;
	/* text in the body of a 400 or 422 that means this member */
	const char *complaint;
	const char *why; /* shown to the user when the option changes,
			  * or NULL */
};

struct wire {
	const char *name;
	/* appended to base_url: "/chat/completions"; NULL: see url */
	const char *path;
	/* Appends what follows base_url, if that depends on the model. */
	void (*url)(const struct model_choice *choice, struct buf *out);
	/* In Azure's form of addresses, the path is below each deployment. */
	bool deployments;
	/* Path added to an address that has none, if the preset has none
	 * either: "/v1". NULL: addresses for this wire are used unchanged. */
	const char *base_path;
	/* Requests are signed for AWS unless there is an API key. Answers are
	 * AWS event streams. */
	bool aws;
	/* a type of media_type() that the vendor never accepts, or NULL */
	const char *refuses;
	int64_t idle_ms; /* a stream stalls after this silence */
	/* name of the header that is sent for each of params.betas, with ":
	 * " */
	const char *betas;
	const char *auth;    /* header name and the text before the key */
	const char *version; /* another header of each request, or NULL */
	/* JSON of a cache mark, inserted at history.block_end; or NULL */
	const char *mark;
	/* JSON that closes the list of messages; options and "}" follow */
	const char *tail;
	/* rows end with a NULL name; or NULL */
	const struct wire_option *options;
	/* Renames and moves the user's parameters as this protocol needs. A
	 * parameter with the name of an option and the value null means: do not
	 * send that option. NULL: nothing to do. */
	void (*params)(const struct model_choice *choice, cJSON *params);
	/* Sets the members of h that say what the model requires. May be
	 * NULL. */
	void (*begin)(const struct model_choice *choice, struct history *h);
	/* Writes everything that precedes the first message. */
	void (*head)(const struct wire_head *in, struct buf *out);
	void (*push)(struct history *h, const struct message *m);
	/* Handles one event of the stream. On -1 the answer is discarded, and
	 * retried unless draft->fatal is set. */
	int (*event)(struct draft *d, struct str event, struct str data,
		     struct error *err);
	/* True if the answer is complete. */
	bool (*complete)(const struct draft *d);
	/* See draft_finish(): appends what must be sent back with the part. */
	void (*replay)(const struct draft_part *p, struct buf *out);
};

/* All wires, one row each. wire_NAME is defined in wires/NAME.c. */
#define WIRES(ROW)                                                             \
	ROW(anthropic)                                                         \
	ROW(openai_chat)                                                       \
	ROW(openai_responses)                                                  \
	ROW(gemini)                                                            \
	ROW(bedrock)

#define WIRE_DECLARE(name) extern const struct wire wire_##name;
WIRES(WIRE_DECLARE)
extern const struct wire *const wires[]; /* ends with NULL */
/* Returns the wire of this name, or NULL. */
const struct wire *wire_find(const char *name);
/* Appends the names of all wires as a choice: "anthropic" or "openai-chat"
 * ... */
void wire_names(struct buf *out);
/* Adds a message to the history. origin: the wire and vendor of this model.
 * Data that only its own vendor understands (replay: signatures, thinking) is
 * left out if the message has another origin; an unknown origin counts as this
 * one. A file that the model does not accept becomes a line of text. */
void wire_push(const struct wire *w, struct history *h, const char *origin,
	       const struct message *m);

/* Parts of requests. Each function appends to out. */
/* Appends the members of params, each followed by a comma. */
void wire_params(const cJSON *params, struct buf *out);
/* Appends prompt_cache_key and a comma for OpenAI's own server, which finds
 * cached prompts by this key of the conversation. Appends nothing for other
 * servers or if params has one. */
void wire_put_cache_key(const struct wire_head *in, struct buf *out);
/* Appends the name, description and schema of a tool. before: text to write
 * before the schema, a comma and its member name. */
void wire_tool(struct buf *out, const struct tool_spec *tool,
	       const char *before);
/* Starts a block in the last message if that has the same role. Otherwise
 * starts a new message, {"role":NAME,LIST:[, and a block in it. */
void wire_open_block(struct history *h, enum role role, const char *name,
		     const char *list);
/* Appends "data:image/png;base64,..." as a JSON string. */
void wire_data_url(struct buf *out, const struct part *media);
/* Appends the bytes in base64 as a JSON string. */
void wire_base64(struct buf *out, const struct part *media);
/* Appends text with percent-encoding for a URL's path. Letters, digits, "-._~"
 * and the characters in keep are not encoded. */
void wire_escape(struct buf *out, const char *text, const char *keep);
/* Appends the arguments of a call as a JSON object. If they are not one, they
 * become a string in an object. */
void wire_args(struct buf *out, const struct part *call);
/* Appends a name as a JSON string of [A-Za-z0-9_-], 1 to 64 bytes. */
void wire_name(struct buf *out, const char *name);
/* Like wire_name(), for the id of a call, without a length limit. */
void wire_id(struct buf *out, const char *id);
/* Like wire_id(), but at most 64 bytes: in a longer id, a hash replaces the
 * end. */
void wire_short_id(struct buf *out, const char *id);
/* Returns the 64-bit FNV-1a hash of the id as wire_id() writes it. */
uint64_t wire_hash_id(const char *id);

/* Messages as lists of blocks, for the protocols of Anthropic and Bedrock. Each
 * put_ function appends a block. */
struct wire_blocks {
	/* Beginning of `replay` in this vendor's own thinking parts. Other
	 * thinking is not sent. */
	const char *thinking;
	void (*put_text)(struct buf *out, const char *text);
	void (*put_media)(struct buf *out, const struct part *p);
	void (*put_call)(struct buf *out, const struct part *p);
	/* Appends a result. The n files that follow p in the message are part
	 * of it. */
	void (*put_result)(struct buf *out, const struct part *p, size_t n);
	void (*put_empty)(struct buf *out); /* for a message without parts */
};
/* Appends a message. Tool results become blocks of a user message. Thinking at
 * the end of a message is left out: Anthropic and Bedrock refuse it there. */
void wire_push_blocks(struct history *h, const struct message *m,
		      const struct wire_blocks *f);
/* True for text that Anthropic and Bedrock refuse as a block: NULL or only
 * white space. */
bool wire_is_blank(const char *text);

/*
 * Parts of answers.
 */
/* Returns a token count, limited to 0..INT32_MAX. Returns fallback if usage
 * does not have it. */
int64_t wire_tokens(const cJSON *usage, const char *key, int64_t fallback);

#endif

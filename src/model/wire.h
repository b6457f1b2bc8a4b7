/* wire.h - the interface of the vendors' protocols. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_WIRE_H
#define MODEL_WIRE_H

#include <cjson/cJSON.h>

#include "model/model.h"

struct draft;      /* model/draft.h */
struct draft_part; /* model/draft.h */

/* The conversation as sent; each message is serialized once. */
struct history {
	struct buf bytes;
	enum role last;      /* role of the last message; 0 at the start */
	size_t block_end;    /* where a cache mark can be inserted after the
			      * last user block; 0: nowhere */
	bool calls_alone;    /* omit text beside tool calls */
	bool thoughts;       /* an answer had reasoning_content */
	bool wants_thoughts; /* every answer needs that member, including
			      * other vendors' answers */
	bool sign_calls;     /* each call needs a signature, or a marker in
			      * its place */
	bool marks;          /* set block_end: the model has a cache */
	bool result_media;   /* results contain files; otherwise files follow
			      * them */
	bool no_ids;         /* send calls and results without ids */
	unsigned lacks;      /* MODEL_TAKES_...: replace such files by text */
	bool hides;          /* replace every file by a line of text */
};

struct history_point { /* a point to which the history can be cut back */
	size_t len, block_end;
	enum role last;
	char end[2]; /* the last bytes before it: a later message may change
		      * them */
};

struct wire_head { /* input for the fixed start of a request */
	const struct model_choice *choice;
	const cJSON *params; /* object or NULL, without dcode's own keys */
	const struct model_brief *brief;
};

/* A member that some servers refuse or require. After the server's complaint
 * this request and all later ones are sent the other way. */
struct wire_option {
	const char *name;      /* the user's parameter that overrides this
				* option */
	const char *member;    /* the JSON, with a leading comma */
	bool at_first;         /* true: sent until refused; false: omitted
				* until required */
	const char *complaint; /* text in the body of a 400 or 422 */
	const char *why;       /* shown to the user when the option changes,
				* or NULL */
};

struct wire {
	const char *name;
	const char *path; /* "/chat/completions"; NULL: see url */
	/* Appends what follows base_url if the path depends on the model. */
	void (*url)(const struct model_choice *choice, struct buf *out);
	/* Azure: in a dated API the path is below each deployment. */
	bool deployments;
	/* Completes an address without a path if the preset has none: "/v1".
	 * NULL: addresses of this wire are used unchanged. */
	const char *base_path;
	/* Requests are signed for AWS unless there is a key; answers are AWS
	 * event streams. */
	bool aws;
	const char *refuses; /* a media_type() that is never accepted, or
			      * NULL */
	int64_t idle_ms;     /* silence before a stream counts as stalled */
	const char *betas;   /* header for each of params.betas */
	const char *auth;    /* header name and the text before the key */
	const char *version; /* an additional header, or NULL */
	const char *mark;    /* cache mark for history.block_end, or NULL */
	const char *tail;    /* closes the messages; options and "}" follow
			      * it */
	const struct wire_option *options; /* ends with a NULL name; or NULL */
	/* Renames and moves the user's parameters as this wire needs. A null
	 * means that an option is not sent. NULL: nothing to do. */
	void (*params)(const struct model_choice *choice, cJSON *params);
	/* Sets what the model requires of the history. May be NULL. */
	void (*begin)(const struct model_choice *choice, struct history *h);
	/* Writes everything before the first message. */
	void (*head)(const struct wire_head *in, struct buf *out);
	void (*push)(struct history *h, const struct message *m);
	/* Handles one event of the stream. -1 discards the answer
	 * (draft->fatal: no retry). */
	int (*event)(struct draft *d, struct str event, struct str data,
		     struct error *err);
	/* True if the answer is complete. */
	bool (*complete)(const struct draft *d);
	/* See draft_finish(). */
	void (*replay)(const struct draft_part *p, struct buf *out);
};

/* One row per wire; wire_NAME is defined in wires/NAME.c. */
#define WIRES(ROW)                                                             \
	ROW(anthropic)                                                         \
	ROW(openai_chat)                                                       \
	ROW(openai_responses)                                                  \
	ROW(gemini)                                                            \
	ROW(bedrock)

#define WIRE_DECLARE(name) extern const struct wire wire_##name;
WIRES(WIRE_DECLARE)
extern const struct wire *const wires[]; /* NULL ends */
/* Returns NULL for an unknown name. */
const struct wire *wire_find(const char *name);
/* Appends the names that a user may type: "anthropic" or "openai-chat" ... */
void wire_names(struct buf *out);
/* Adds a message for a model of this origin. Data that only its own vendor
 * understands (replay: signatures, thinking) is omitted for others; a message
 * of unknown origin counts as the model's own. Files that the model does not
 * accept become a line of text each. */
void wire_push(const struct wire *w, struct history *h, const char *origin,
	       const struct message *m);

/* Parts of requests. Each function appends to out. */
/* Appends the members of params, each followed by a comma. */
void wire_params(const cJSON *params, struct buf *out);
/* Appends prompt_cache_key and a comma for OpenAI's own server, which finds
 * cached prompts by the conversation's key, unless params has one. */
void wire_put_cache_key(const struct wire_head *in, struct buf *out);
/* Appends the name, description and schema of a tool. before is written before
 * the schema: a comma and its member name. */
void wire_tool(struct buf *out, const struct tool_spec *tool,
	       const char *before);
/* Starts a block: another one in the last message if it has the same role,
 * otherwise in a new message, {"role":NAME,LIST:[. */
void wire_open_block(struct history *h, enum role role, const char *name,
		     const char *list);
/* Appends "data:image/png;base64,..." as a JSON string. */
void wire_data_url(struct buf *out, const struct part *media);
/* Appends the bytes in base64 as a JSON string. */
void wire_base64(struct buf *out, const struct part *media);
/* Appends text percent-encoded for a URL's path, except letters, digits, "-._~"
 * and the characters in keep. */
void wire_escape(struct buf *out, const char *text, const char *keep);
/* Appends the arguments of a call as a JSON object, even if they are not
 * one. */
void wire_args(struct buf *out, const struct part *call);
/* Appends a name as a JSON string of [A-Za-z0-9_-], 1 to 64 bytes. */
void wire_name(struct buf *out, const char *name);
/* Like wire_name(), for the id of a call, without a length limit. */
void wire_id(struct buf *out, const char *id);
/* Like wire_id(), with at most 64 bytes: the end of a longer id is replaced by
 * a hash. */
void wire_short_id(struct buf *out, const char *id);
/* True if wire_id() maps both to the same id. */
bool wire_same_id(const char *a, const char *b);

/* Messages as lists of blocks, as Anthropic and Bedrock have them. Each
 * function appends a block. */
struct wire_blocks {
	/* The start of replay by which this vendor's thinking is recognized. */
	const char *thinking;
	void (*put_text)(struct buf *out, const char *text);
	void (*put_media)(struct buf *out, const struct part *p);
	void (*put_call)(struct buf *out, const struct part *p);
	/* The n files after the result p are part of it. */
	void (*put_result)(struct buf *out, const struct part *p, size_t n);
	void (*put_empty)(struct buf *out); /* for a message without parts */
};
/* Appends a message. Results are user blocks. Thinking at the end of a message
 * is omitted, because both vendors refuse it. */
void wire_push_blocks(struct history *h, const struct message *m,
		      const struct wire_blocks *f);
/* True for text that both vendors refuse as a block: NULL or only white
 * space. */
bool wire_is_blank(const char *text);

/*
 * Parts of answers.
 */
/* Parses the JSON object of an event. NULL with ERR_PROTOCOL if it is something
 * else. NUL and unpaired surrogates (from servers that cut text by UTF-16
 * units) become U+FFFD. The caller deletes it. */
cJSON *wire_parse(struct str data, struct error *err);
/* Calls parse with the object of an event. */
int wire_feed(struct draft *d, struct str data,
	      int (*parse)(struct draft *d, const cJSON *tree,
			   struct error *err),
	      struct error *err);
/* Returns a token count, limited to 0..INT32_MAX; fallback if there is none. */
int64_t wire_tokens(const cJSON *usage, const char *key, int64_t fallback);

#endif

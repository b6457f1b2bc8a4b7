/* model.h - a conversation with a model of any vendor; answers are streamed. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/stop.h"
#include "config/settings.h"
#include "model/message.h"
#include "net/http.h"

struct tool_notes;   /* model/tool_set.h */
struct tool_server { /* origin of a tool that is not dcode's own */
	const char *name;
	/* must outlive every model to which the tool is offered */
	struct tool_notes *notes;
};

struct tool_spec {
	const char *name;
	const char *description;
	const char *schema; /* JSON Schema of the arguments */
	/* NULL: the tool is dcode's own and is sent unchanged. Other tools are
	 * adapted to the vendor or left out of requests: see tool_set.h. */
	const struct tool_server *server;
};

struct usage {         /* token counts, summed over requests */
	int64_t input; /* without the cached tokens */
	int64_t output;
	int64_t cache_read;
	int64_t cache_write;
	int64_t reasoning; /* part of output; 0 if not reported */
};

enum finish {
	FINISH_STOP = 1, /* the model ended its turn */
	FINISH_TOOLS,    /* the model waits for tool results */
	FINISH_LENGTH,   /* cut by the output token limit */
	FINISH_REFUSAL,  /* content filter or refusal */
	FINISH_WINDOW,   /* cut at the end of the context window */
};

struct model_reply { /* zero before use; model_reply_release() frees it */
	struct message message; /* complete; empty if model_stream() failed */
	struct usage usage;
	enum finish finish;
	/* The last call was cut by the output limit or the window. Its
	 * arguments are incomplete: bad_args is set. */
	bool cut_call;
	char reason[40]; /* the vendor's word for `finish` ("SAFETY"), or "" */
};
void model_reply_release(struct model_reply *r);

struct model_wait {      /* before an answer is requested again */
	int64_t ms;      /* until then; 0: none */
	int attempt;     /* number of the retry, from 1; 0: unknown */
	int of;          /* retries at most; 0: as many as a time allows */
	int64_t left_ms; /* of that time; 0: it is not limited by one */
};

/* all called on the thread of model_stream(); deltas are borrowed for the
 * call */
struct model_sink {
	void (*text)(void *arg, struct str delta);
	void (*thinking)(void *arg, struct str delta);
	/* Discard what was received of this answer, if anything: it starts over
	 * after a wait. why is one line for the user. */
	void (*restart)(void *arg, const char *why);
	/* What was received of this answer as text is thinking: discard it. It
	 * comes again as thinking, and then the answer. May be NULL. */
	void (*thought)(void *arg);
	/* A tool call begins to arrive. May be NULL. */
	void (*call)(void *arg);
	/* Called before restart. May be NULL. */
	void (*waits)(void *arg, const struct model_wait *wait);
	/* The request was sent, and other work can be done until the answer
	 * begins. Called once per attempt; may be NULL. */
	void (*sent)(void *arg);
	/* A line for the user, not about the answer; may be NULL. */
	void (*notice)(void *arg, const char *line);
	/* Called after the deltas of each received chunk, so that the receiver
	 * can write out what it has collected. May be NULL. */
	void (*flush)(void *arg);
	/* keep is called before each wait for data, to store the answer so far
	 * when that is due. keep_in returns the ms until it is due; -1: there
	 * is nothing to store. Both may be NULL. */
	void (*keep)(void *arg);
	int64_t (*keep_in)(void *arg);
	void *arg;
};

struct bedrock_account;
struct vertex_account;

/* Which model is used, at which address and with which key (spec/cli.md §8). */
struct model_choice {   /* strings are owned; freed by model_choice_release() */
	char *provider; /* "anthropic" */
	char *model;    /* "claude-opus-5" */
	char *wire;     /* name of the protocol, see wire.h: "anthropic" */
	char *base_url; /* without a trailing slash */
	/* version of an API with dates as versions (Azure's), or NULL */
	char *version;
	/* the setting that base_url comes from; for messages; may be NULL */
	char *url_from;
	/* advice if a variable sets an address that is not used, because the
	 * key is stored; may be NULL */
	char *url_unused;
	char *api_key; /* NULL if none is needed */
	char *key_env; /* name of the variable that the key is from, or NULL */
	/* where it was set, for messages: settings_credential_name() */
	char *key_from;
	/* If api_key comes from a project's .env: the variable's name, borrowed
	 * from the settings. NULL: the key is the user's own. */
	const char *project_key;
	/* Signs requests if there is no api_key; NULL: not AWS. Owned. A model
	 * opened with this choice borrows it. */
	struct bedrock_account *aws;
	/* Set for requests to Vertex AI, in a Google Cloud project; else NULL.
	 * Provides a token if there is no api_key. Owned. A model opened with
	 * this choice borrows it. */
	struct vertex_account *vertex;
	/* Nobody chose this model. It is the default of the first vendor that
	 * the user has a key for. */
	bool by_key;
	char *params; /* JSON object merged into requests, or NULL */
	unsigned
		/* MODEL_TAKES_... bits: file types that the model is known not
		 * to accept */
		lacks;
	int max_retries;
	/* How long one turn may wait for a busy server (429 and 529), with any
	 * number of retries. 0: such failures count against max_retries like
	 * others. */
	int64_t busy_ms;
	/* a stream stalls after this silence, or after 5 times as long with
	 * only heartbeats */
	int64_t idle_ms;
	/* wait before the first retry; 0: the default of net/retry.h */
	int64_t backoff_ms;
};
/* Sets *name (owned) to the full name "provider:model" of a spec. Does not look
 * for a key. ERR_CONFIG, ERR_POLICY. */
int model_full_name(const struct settings *set, const char *spec, char **name,
		    struct error *err);
/* Chooses the model and finds its address and key. spec: the value of --model,
 * or NULL. params: the value of --model-params, or NULL. ERR_CONFIG for an
 * invalid spec or params, ERR_USAGE for an unknown effort, ERR_AUTH if there is
 * no key; messages as in spec/cli.md §8. */
int model_choose(struct model_choice *c, const struct settings *set,
		 const char *spec, const char *params, struct error *err);
void model_choice_release(struct model_choice *c);

/* A conversation with one model. Each pushed message is converted once to the
 * bytes of the vendor's protocol, and only these are stored. A turn sends them
 * without copying. Not thread-safe. */
struct model;
struct meter_model;  /* model/money.h */
struct mask;         /* base/mask/mask.h */
struct model_brief { /* written into the fixed head of requests */
	const char *system;
	const struct tool_spec *tools;
	size_t n_tools;
	/* Counts the cost of its requests; NULL: not counted. Must outlive the
	 * model. */
	struct meter_model *meter;
	/* Known secrets, which are masked in system and tools; NULL: none. Must
	 * outlive the model. Messages are masked where they enter. */
	const struct mask *mask;
	/* Identifies the conversation to vendors that cache by a key; NULL: a
	 * random one is made. */
	const char *cache_key;
};
int model_open(struct model **m, struct http *http,
	       const struct model_choice *choice,
	       const struct model_brief *brief, struct error *err);
void model_close(struct model *m);
/* Appends a message. The caller must keep user and assistant turns in order and
 * push a result for every call. Consecutive user and tool messages are joined
 * if the vendor requires that. If the history exceeds 1 GiB, model_stream()
 * fails with ERR_LIMIT. */
void model_push(struct model *m, const struct message *message);
/* Discards the history; the caller then pushes the messages again. If tools is
 * not NULL, these are offered from now on. The system text and what was learned
 * about the server stay. On -1 (ERR_LIMIT) nothing has changed. */
int model_reset(struct model *m, const struct tool_spec *tools, size_t n_tools,
		struct error *err);
/* True if requests offer a tool of this name to the model. Do not call during
 * model_stream(). */
bool model_offers(const struct model *m, const char *tool);
/* Replaces the tools and keeps the history. On -1 (ERR_LIMIT) nothing has
 * changed. */
int model_set_tools(struct model *m, const struct tool_spec *tools,
		    size_t n_tools, struct error *err);
/* Opens another conversation with the same choice of model and the same account
 * of costs. It must be closed before m. */
int model_open_beside(struct model **out, const struct model *m,
		      const struct model_brief *brief, struct error *err);
/* model_size(): bytes of the next request, to estimate its tokens (a file
 * counts as model_media_weight()). model_head_size(): bytes of the fixed head
 * in it. */
size_t model_size(const struct model *m);
size_t model_head_size(const struct model *m);
/* Returns how many bytes of text cost about as many tokens as the file. */
size_t model_media_weight(const struct model *m, const struct part *p);
/* The system text given at model_open(). Borrowed. */
const char *model_system(const struct model *m);
/* The wire and vendor of this model. Answers store it as their origin.
 * Borrowed. */
const char *model_origin(const struct model *m);
/* Removes the last ROLE_USER message and everything after it. Needed after a
 * refusal: the vendor refuses every request with that prompt in its history
 * (platform.claude.com/docs, "Handle streaming refusals", read 2026-11-20). */
void model_forget_prompt(struct model *m);
/* While hidden is true, pushed files are replaced by a line of text each. */
void model_hide_files(struct model *m, bool hidden);
/* True if the history has files that were not hidden. */
bool model_has_files(const struct model *m);
/* Starts to connect to the server before the request is ready: see
 * http_dial(). */
void model_dial(struct model *m, const struct stop *stop);
/* Requests the next assistant message; the caller then pushes it. Retries
 * failures (408, 409, 5xx, stalls, broken streams) up to choice->max_retries
 * times, and a busy server (429, 529) for up to choice->busy_ms. A broken or
 * malformed stream never becomes a reply. ERR_BUDGET if the cap may not cover a
 * request, retries included: see meter_reserve(). */
int model_stream(struct model *m, const struct model_sink *sink,
		 struct model_reply *reply, const struct stop *stop,
		 struct error *err);
/* Call from the sink during model_stream(). Counts the request as if its answer
 * ended now, for meter_each_new(). So the stored cost is right even if the
 * process is killed. */
void model_note_cost(struct model *m);

#endif

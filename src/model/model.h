/* model.h - a conversation with a model of any vendor; answers are streamed. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/stop.h"
#include "config/settings.h"
#include "model/message.h"
#include "net/http.h"

struct tool_notes;   /* model/tool_set.h */
struct tool_server { /* where a tool that is not dcode's own comes from */
	const char *name;
	struct tool_notes *notes; /* must outlive the models that are offered
				   * the tool */
};

struct tool_spec {
	const char *name;
	const char *description;
	const char *schema; /* JSON Schema of the arguments */
	/* NULL: the tool is dcode's own. Other tools are adapted to the vendor
	 * or left out of requests: see tool_set.h. */
	const struct tool_server *server;
};

struct usage {         /* tokens, summed over requests */
	int64_t input; /* without cached tokens */
	int64_t output;
	int64_t cache_read;
	int64_t cache_write;
	int64_t reasoning; /* part of output; 0 if not reported */
};

enum finish {
	FINISH_STOP = 1, /* the model ended its turn */
	FINISH_TOOLS,    /* it waits for tool results */
	FINISH_LENGTH,   /* cut by the output token limit */
	FINISH_REFUSAL,  /* content filter or refusal */
	FINISH_WINDOW,   /* cut at the end of the context window */
};

struct model_reply {            /* zero before use; model_reply_release()
				 * after */
	struct message message; /* complete, or empty if -1 was returned */
	struct usage usage;
	enum finish finish;
	/* The last call was cut by the output limit or the window; its
	 * arguments are bad_args. */
	bool cut_call;
	char reason[40]; /* the vendor's word for finish ("SAFETY"), or "" */
};
void model_reply_release(struct model_reply *r);

struct model_sink { /* called on the calling thread; deltas are borrowed for
		     * the call */
	void (*text)(void *arg, struct str delta);
	void (*thinking)(void *arg, struct str delta);
	/* Discard what was streamed of this answer (perhaps nothing): a retry
	 * begins after a wait. why is one line for the user. */
	void (*restart)(void *arg, const char *why);
	/* Called before restart if the retry waits this many ms; may be
	 * NULL. */
	void (*waits)(void *arg, int64_t ms);
	/* The request was sent; other work can be done now. Called once per
	 * attempt; may be NULL. */
	void (*sent)(void *arg);
	/* A line for the user, not about the answer; may be NULL. */
	void (*notice)(void *arg, const char *line);
	/* Called once per chunk received, after its deltas, so that the
	 * receiver can write out what it collected. May be NULL. */
	void (*flush)(void *arg);
	/* keep is called before each wait for data, to store the answer so far
	 * if that is due. keep_in returns the ms until it is due; -1: nothing
	 * to store. Both may be NULL. */
	void (*keep)(void *arg);
	int64_t (*keep_in)(void *arg);
	void *arg;
};

struct bedrock_account;
struct vertex_account;

/* Which model, at which address, with which key (spec/cli.md §8). */
struct model_choice {   /* strings are owned; model_choice_release() */
	char *provider; /* "anthropic" */
	char *model;    /* "claude-opus-5" */
	char *wire;     /* a name of wire.h: "anthropic" */
	char *base_url; /* without a trailing slash */
	char *version;  /* version of a dated API below base_url, or NULL */
	char *url_from; /* the setting that base_url comes from, for
			 * messages; or NULL */
	char *api_key;  /* or NULL if none is needed */
	char *key_env;  /* the variable of the key, and where it was set: */
	char *key_from; /* as settings_credential_name(), for messages */
	/* If api_key comes from a project's .env: its variable, borrowed from
	 * the settings. NULL: the key is the user's own. */
	const char *project_key;
	/* Signs requests if there is no api_key; or NULL. Owned, and borrowed
	 * by a model opened with it. */
	struct bedrock_account *aws;
	/* For requests in a Google Cloud project, else NULL. Provides a token
	 * if there is no api_key. Owned, and borrowed by a model opened with
	 * it. */
	struct vertex_account *vertex;
	/* Nobody chose this model: it is the default of the first vendor with a
	 * key. */
	bool by_key;
	char *params; /* JSON object merged into requests, or NULL */
	unsigned
		lacks; /* MODEL_TAKES_... that the model is known not to take */
	int max_retries;
	/* How long one turn may wait because of 429 and 529, with any number of
	 * retries. 0: they count as other failures. */
	int64_t busy_ms;
	int64_t idle_ms;    /* silence that counts as a stall; also 5 times
			     * as long with only heartbeats */
	int64_t backoff_ms; /* before the first retry; 0: as in net/retry.h */
};
/* Sets *name to "provider:model" of a spec, owned. Does not look for a key.
 * ERR_CONFIG, ERR_POLICY. */
int model_full_name(const struct settings *set, const char *spec, char **name,
		    struct error *err);
/* spec: --model or NULL. params: --model-params or NULL. ERR_CONFIG for an
 * invalid spec or params, ERR_USAGE for an unknown effort, ERR_AUTH for missing
 * credentials; messages as in spec/cli.md §8. */
int model_choose(struct model_choice *c, const struct settings *set,
		 const char *spec, const char *params, struct error *err);
void model_choice_release(struct model_choice *c);

/* A conversation with one model. Each pushed message is serialized once for the
 * wire, and only those bytes are kept; a turn sends them without copying. Not
 * thread-safe. */
struct model;
struct meter_model;  /* model/money.h */
struct model_brief { /* written into the fixed head of requests */
	const char *system;
	const struct tool_spec *tools;
	size_t n_tools;
	/* The account for its requests; NULL: they are not counted. Must
	 * outlive the model. */
	struct meter_model *meter;
	/* Identifies the conversation to vendors that cache by a key; NULL:
	 * random. */
	const char *cache_key;
};
int model_open(struct model **m, struct http *http,
	       const struct model_choice *choice,
	       const struct model_brief *brief, struct error *err);
void model_close(struct model *m);
/* Appends a message. The caller must keep user and assistant turns in order and
 * push a result for every call. Consecutive user and tool messages are joined
 * if the vendor needs it. Above 1 GiB model_stream() fails with ERR_LIMIT. */
void model_push(struct model *m, const struct message *message);
/* Discards the history, which is then pushed again. tools non-NULL: offers
 * these from now on. The system text and what was learned about the server
 * stay. On -1 (ERR_LIMIT) nothing has changed. */
int model_reset(struct model *m, const struct tool_spec *tools, size_t n_tools,
		struct error *err);
/* True if requests offer a tool of this name. Not during model_stream(). */
bool model_offers(const struct model *m, const char *tool);
/* Replaces the tools and keeps the history. On -1 (ERR_LIMIT) nothing has
 * changed. */
int model_set_tools(struct model *m, const struct tool_spec *tools,
		    size_t n_tools, struct error *err);
/* Opens another conversation with the same model and account. It must be closed
 * before m. */
int model_open_beside(struct model **out, const struct model *m,
		      const struct model_brief *brief, struct error *err);
/* Bytes of the next request, to estimate its tokens (files count as
 * model_media_weight()), and of its fixed head. */
size_t model_size(const struct model *m);
size_t model_head_size(const struct model *m);
/* Bytes of text that cost about as many tokens as the file. */
size_t model_media_weight(const struct model *m, const struct part *p);
/* The system text given at model_open(). Borrowed. */
const char *model_system(const struct model *m);
/* The wire and vendor, stored as the origin of answers. Borrowed. */
const char *model_origin(const struct model *m);
/* Removes the last ROLE_USER message and everything after it. A vendor that
 * refused a prompt keeps refusing while it is in the history
 * (platform.claude.com/docs, "Handle streaming refusals", read 2026-11-20). */
void model_forget_prompt(struct model *m);
/* While hidden is set, each pushed file is replaced by a line of text. */
void model_hide_files(struct model *m, bool hidden);
/* True if the history has files that were not hidden. */
bool model_has_files(const struct model *m);
/* Starts to connect to the server before the request is ready: see
 * http_dial(). */
void model_dial(struct model *m, const struct stop *stop);
/* Requests the next assistant message; push it afterwards. Retries failures
 * (408, 409, 5xx, stalls, broken streams) up to choice->max_retries times, and
 * a busy server (429, 529) for up to choice->busy_ms. A broken or malformed
 * stream never becomes a reply. ERR_BUDGET if the cap may not cover a request,
 * retries included: see meter_reserve(). */
int model_stream(struct model *m, const struct model_sink *sink,
		 struct model_reply *reply, const struct stop *stop,
		 struct error *err);
/* Call from the sink during model_stream(). Counts the request as if it were
 * cut now, for meter_each_new(): so the stored cost is right even if the
 * process is killed. */
void model_note_cost(struct model *m);

#endif

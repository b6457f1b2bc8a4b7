/* model.h - one streamed answer, from any vendor. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/stop.h"
#include "config/settings.h"
#include "model/message.h"
#include "net/http.h"

struct tool_notes;   /* model/tool_set.h */
struct tool_server { /* who brought a tool that is not dcode's own */
	const char *name;
	struct tool_notes *notes; /* outlives the models that are offered it */
};

struct tool_spec {
	const char *name;
	const char *description;
	const char *schema; /* JSON Schema of the arguments, as text */
	/* Or NULL: dcode's own. What others bring is made to fit the vendor,
	 * or left out of requests: see tool_set.h. */
	const struct tool_server *server;
};

struct usage {         /* tokens, summed over what was asked */
	int64_t input; /* not counting the cached ones */
	int64_t output;
	int64_t cache_read;
	int64_t cache_write;
	int64_t reasoning; /* part of output; 0 where nobody said */
};

enum finish {
	FINISH_STOP = 1, /* the model is done with its turn */
	FINISH_TOOLS,    /* it wants tool results */
	FINISH_LENGTH,   /* cut by the output token limit */
	FINISH_REFUSAL,  /* content filter or refusal */
	FINISH_WINDOW,   /* cut where the context window ends */
};

struct model_reply {            /* zeroed before; model_reply_release() after */
	struct message message; /* complete, or empty when -1 was returned */
	struct usage usage;
	enum finish finish;
	/* Where the output limit or the window cut the last call: its arguments
	 * are bad_args then. */
	bool cut_call;
	char reason[40]; /* the vendor's word for finish ("SAFETY"), or "" */
};
void model_reply_release(struct model_reply *r);

struct model_sink { /* on the calling thread, deltas borrowed for the call */
	void (*text)(void *arg, struct str delta);
	void (*thinking)(void *arg, struct str delta);
	/* What was streamed of this answer so far (perhaps nothing) is void: a
	 * retry begins, after a wait. why is one line for the user. */
	void (*restart)(void *arg, const char *why);
	/* Before restart, where a wait of so many ms follows; may be NULL. */
	void (*waits)(void *arg, int64_t ms);
	/* The request is on its way: time for work of one's own. Once per
	 * attempt; may be NULL. */
	void (*sent)(void *arg);
	/* A line for the user that is not about the answer; may be NULL. */
	void (*notice)(void *arg, const char *line);
	/* All that has arrived was delivered; may be NULL. Called once per
	 * chunk read from the network, so that the receiver can write out
	 * what it gathered. */
	void (*flush)(void *arg);
	/* Before each wait for more: time to store what has arrived, where that
	 * is due; and in how many ms it will be, -1: nothing waits to be
	 * stored. Both may be NULL. */
	void (*keep)(void *arg);
	int64_t (*keep_in)(void *arg);
	void *arg;
};

struct bedrock_account;
struct vertex_account;

/* Which model, where, with what key: the outcome of spec/cli.md §8. */
struct model_choice {   /* strings owned; model_choice_release() */
	char *provider; /* "anthropic" */
	char *model;    /* "claude-opus-5" */
	char *wire;     /* a name of wire.h: "anthropic" */
	char *base_url; /* without a trailing slash */
	char *version;  /* of a dated API below base_url, or NULL */
	char *url_from; /* the setting it is from, for messages; or NULL */
	char *api_key;  /* or NULL where none is needed */
	char *key_env;  /* the variable it is of, and where it came from: */
	char *key_from; /* as settings_credential_name(), for messages */
	/* The variable of a project's .env that api_key came from, or NULL:
	 * the user's own; borrowed from the settings. */
	const char *project_key;
	/* Signs the requests where there is no api_key, or NULL. Owned; a model
	 * that was opened with it borrows it. */
	struct bedrock_account *aws;
	/* Where the requests are made in a project of Google Cloud, else NULL;
	 * gives them a token where there is no api_key. The same. */
	struct vertex_account *vertex;
	/* Nobody chose it: it is the usual one of the first vendor that has a
	 * key. */
	bool by_key;
	char *params; /* JSON object merged into the request, or NULL */
	unsigned
		lacks; /* MODEL_TAKES_... that the model is known not to take */
	int max_retries;
	/* How long 429 and 529 are waited for in one turn, however many retries
	 * that takes; 0: they count as other failures. */
	int64_t busy_ms;
	int64_t idle_ms;    /* no byte for so long is a stall; 5 times as long
			       with nothing but heartbeats is one too */
	int64_t backoff_ms; /* before the first retry; 0: as net/retry.h */
};
/*
 * spec is --model or NULL; params --model-params or NULL. ERR_USAGE for a bad
 * spec, ERR_AUTH for missing credentials, with the texts of spec/cli.md §8.
 */
/* "provider:model" of a spec, owned, without asking for a key. ERR_CONFIG,
 * ERR_POLICY. */
int model_full_name(const struct settings *set, const char *spec, char **name,
		    struct error *err);
int model_choose(struct model_choice *c, const struct settings *set,
		 const char *spec, const char *params, struct error *err);
void model_choice_release(struct model_choice *c);

/*
 * A conversation with one model. What is pushed is serialized once, for the
 * wire, and kept as those bytes only; a turn sends them without copying.
 * One thread at a time.
 */
struct model;
struct meter_model;  /* model/money.h */
struct model_brief { /* copied into the request's fixed head */
	const char *system;
	const struct tool_spec *tools;
	size_t n_tools;
	/* The account that its requests are on; NULL: they are not counted.
	 * Outlives the model. */
	struct meter_model *meter;
	/* What the requests of one conversation have in common, for vendors
	 * that find their cache by it; NULL: made up. */
	const char *cache_key;
};
int model_open(struct model **m, struct http *http,
	       const struct model_choice *choice,
	       const struct model_brief *brief, struct error *err);
void model_close(struct model *m);
/* The wire wants user and assistant turns in order and a result for every
 * call: the caller keeps that. Consecutive user and tool messages are joined
 * where the vendor needs it. Past 1 GiB model_stream() fails with ERR_LIMIT. */
void model_push(struct model *m, const struct message *message);
/* Forgets all that was pushed: the history is pushed anew. With tools (NULL:
 * as they are) it is offered these from now on; its system text and what was
 * learned of the server stay. On -1 (ERR_LIMIT) all is as it was. */
int model_reset(struct model *m, const struct tool_spec *tools, size_t n_tools,
		struct error *err);
/* Whether requests offer a tool of this name. Not while it is asked. */
bool model_offers(const struct model *m, const char *tool);
/* The same history with other tools. On -1 (ERR_LIMIT) all is as it was. */
int model_set_tools(struct model *m, const struct tool_spec *tools,
		    size_t n_tools, struct error *err);
/* Another conversation with the same model, over the same account; it ends
 * before m does. */
int model_open_beside(struct model **out, const struct model *m,
		      const struct model_brief *brief, struct error *err);
/* Bytes of the next request, for an estimate of its tokens (files count as
 * model_media_weight()), and of its fixed head. */
size_t model_size(const struct model *m);
size_t model_head_size(const struct model *m);
/* Bytes of text that cost this model about as many tokens as the file. */
size_t model_media_weight(const struct model *m, const struct part *p);
/* The system text that it was opened with. Borrowed. */
const char *model_system(const struct model *m);
/* The wire and the vendor, as the origin of its answers. Borrowed. */
const char *model_origin(const struct model *m);
/* Takes the last ROLE_USER message, and all after it, out again: what a vendor
 * has refused it refuses for as long as it is there
 * (platform.claude.com/docs, "Handle streaming refusals", read 2026-11-20). */
void model_forget_prompt(struct model *m);
/* Files that are pushed while it is set become a line of text each. */
void model_hide_files(struct model *m, bool hidden);
/* Whether the history has files that were not hidden. */
bool model_has_files(const struct model *m);
/* error.reason where the vendor may have refused a file of the history. */
#define MODEL_FILE_REFUSED "file_refused"
/* error.reason where the conversation no longer fits the context window. */
#define MODEL_TOO_LONG "context_too_long"
/* error.reason, with ERR_TIMEOUT, where the server asks for a wait that is
 * longer than stop leaves: nothing was waited for. */
#define MODEL_NO_TIME "no_time"
/* error.reason where the server has no model of that name. */
#define MODEL_UNKNOWN "unknown_model"
/* The same of model_choose(): no vendor has a key, or this one has none. */
#define MODEL_NO_KEYS "no_keys"
#define MODEL_NO_KEY "no_key"
/* Begins to connect to the server while something else is done before the
 * request: see http_dial(). */
void model_dial(struct model *m, const struct stop *stop);
/*
 * Asks for the next assistant message; push it afterwards. Retries by itself
 * (408, 409, 5xx, stalls, cuts) within choice->max_retries, and as long as
 * choice->busy_ms says where the server is busy (429, 529). A cut or malformed
 * stream is never a reply. ERR_BUDGET before a request, also one that repeats
 * another, that the cap may not pay for: see meter_reserve().
 */
int model_stream(struct model *m, const struct model_sink *sink,
		 struct model_reply *reply, const struct stop *stop,
		 struct error *err);
/* While model_stream() runs, from its sink: the request counts as if it were
 * cut now, for meter_each_new(), so that what is stored of a run that is killed
 * has its cost. */
void model_note_cost(struct model *m);

#endif

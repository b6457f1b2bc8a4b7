/* tool.h - what the model can call. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_TOOL_H
#define TOOL_TOOL_H

#include "base/json.h"
#include "base/mask/mask.h"
#include "model/model.h"
#include "sandbox/sandbox.h"
#include "tool/paths.h"

enum {
	TOOL_READS = 1 << 0,   /* changes nothing: may run beside others */
	TOOL_ASKS = 1 << 1,    /* needs approval on the user's own machine */
	TOOL_EVICTS = 1 << 2,  /* a result too large goes to a file */
	TOOL_RUNS = 1 << 3,    /* runs a command line: its argument "command" */
	TOOL_DELETES = 1 << 4, /* acts on a link itself, and on what is below */
	/* Acts on the conversation, neither in the sandbox nor on files: runs
	 * without approval. */
	TOOL_SESSION = 1 << 5,
	TOOL_SINGLE = 1 << 6,      /* several in one answer: all are refused */
	TOOL_INTERACTIVE = 1 << 7, /* asks the user, who sees the result */
	TOOL_LATER = 1 << 8,       /* offered once the history was compacted */
	/* Acts on the user's machine, whatever the sandbox is: by way of a
	 * program of somebody else's, or on the web. */
	TOOL_FOREIGN = 1 << 9,
	/* Hands work to a subagent: several of one answer run side by side. */
	TOOL_DELEGATES = 1 << 10,
};

enum {
	/* No result is longer (80,000 code points and what is said about the
	 * rest; a code point has 4 bytes at most). */
	TOOL_RESULT_BYTES = 1 << 20
};

struct tool_recall {         /* what read_history wants of the conversation */
	int64_t from;        /* number of the first message, from 1 */
	int64_t limit;       /* messages */
	int64_t skip;        /* bytes of the first message */
	const char *pattern; /* only messages with this text; or NULL */
};

struct tool_delegation {   /* what task wants done; borrowed */
	const char *type;  /* the subagent's name */
	const char *order; /* all that it is told */
	bool apart;        /* in a sandbox of its own */
};

/* What a call does to a text file, as the sandbox has it. */
enum { TOOL_CHANGE_BYTES = 1 << 20 /* of a file that is compared */ };

struct tool_change { /* zeroed: not known */
	struct buf before, after;
	bool known;
};

/* What the model asks the user with ask_user. */
enum {
	INQUIRY_MOST = 10,            /* questions of a call */
	INQUIRY_CHOICES = 20,         /* of a question */
	INQUIRY_TEXT_CHARS = 2000,    /* of a question, and of a choice */
	INQUIRY_ANSWER_BYTES = 64000, /* of what the user types to one */
};

enum inquiry_kind {
	INQUIRY_TEXT,   /* in the user's own words */
	INQUIRY_CHOICE, /* one of the choices, or own words */
	INQUIRY_SEVERAL /* any of them */
};

struct inquiry_item {
	const char *question; /* any UTF-8 of the model's; borrowed */
	enum inquiry_kind kind;
	bool required;
	const char *choices[INQUIRY_CHOICES]; /* borrowed */
	size_t n_choices;
	/* Out: what was chosen, and what was typed: empty, or one of them. */
	bool chosen[INQUIRY_CHOICES];
	struct buf answer; /* UTF-8; max is INQUIRY_ANSWER_BYTES */
};

struct inquiry {
	struct inquiry_item items[INQUIRY_MOST];
	size_t n;
};

enum inquiry_end {
	INQUIRY_ANSWERED,
	INQUIRY_DECLINED, /* the user does not want to */
	INQUIRY_NOBODY,   /* input has ended, or is no terminal */
};

struct web; /* web/fetch.h */

struct tool_env {                /* all borrowed for the call */
	const struct tool *tool; /* the one that is called: see tool_call() */
	/* Beside those of the table, NULL-terminated; or NULL. */
	const struct tool *const *more;
	struct sandbox *sandbox;
	const struct stop *stop;
	const struct mask *mask;
	/* Where a file tool acts instead of the path it was called with: real,
	 * every link resolved; a link found there now is an error. Or NULL. */
	const char *real_path;
	const char *thread; /* its id names files of large results, or NULL */
	_Atomic unsigned
		*saved; /* how many such files this thread has, or NULL */
	const struct secret_files *secrets; /* left out of searches; or NULL */
	/* Out: what a call that succeeded did to a file, where the tool has
	 * seen both. May be NULL. */
	struct tool_change *change;
	/* Out: the lines of execute's result about the command's end, without
	 * its output and notices; not masked. May be NULL. */
	struct buf *end;
	/* Live output of execute: plain text as a terminal shows it at last
	 * (base/screen_text.h), masked. May be NULL. On the thread that runs
	 * the call. */
	void (*output)(void *arg, struct str delta);
	/* Instead of output, for who can draw again: rest follows all deltas so
	 * far, in the place of the last rest. */
	void (*redraw)(void *arg, struct str delta, struct str rest);
	/* Appends what is stored of the conversation. May be NULL. */
	int (*recall)(void *arg, const struct tool_recall *what,
		      struct buf *out, struct error *err);
	/* Has a subagent do it: its last words into out. -1 as struct tool.run
	 * has it. NULL: a subagent itself calls, which has none. */
	int (*delegate)(void *arg, const struct tool_delegation *what,
			struct buf *out, struct error *err);
	/* Whether the model is offered a tool of this name. NULL: all are. */
	bool (*offers)(void *arg, const char *tool);
	void *arg;
	int *exit_code; /* out: of execute's command; may be NULL */
	/* Out: files for the model, which belong to the result. NULL: they
	 * are not shown. */
	struct message *media;
	/* A subagent calls, in the sandbox of its caller: that one is told of
	 * the jobs in it. */
	bool shares_sandbox;
	/* Asks the user and waits, at most until stop: then -1. Never two at
	 * once. NULL: nobody can answer. */
	int (*ask)(void *arg, struct inquiry *q, enum inquiry_end *end,
		   const struct stop *stop, struct error *err);
	void *ask_arg;
	const struct web *web; /* NULL: there is none */
};

enum tool_arg_type { ARG_STRING = 1, ARG_INT, ARG_BOOL, ARG_LIST };

/* One parameter; an array of these ends in { 0 }. */
struct tool_arg {
	const char *name;
	enum tool_arg_type type;
	const char *description;    /* for the model, or NULL */
	bool required;              /* else it may be missing or null */
	bool positive;              /* ARG_INT: at least 1 */
	const char *const *choices; /* ARG_STRING: NULL-terminated, or NULL */
	/* JSON: what the model is told that counts without it. NULL: null. */
	const char *fallback;
	const char *items; /* ARG_LIST: the JSON Schema of an element */
	/* ARG_LIST: appends " NAME.0.member: why\n" for each wrong one. */
	void (*check)(const cJSON *value, struct buf *wrong);
};

/*
 * One row of the table in table.c. args have passed the rows of .args: what
 * is there has its type. run returns 0 with the text for the model in out, or
 * -1 with err filled: the failed result is then out, or err->message when out
 * is empty. ERR_CANCELLED and ERR_GONE end the turn.
 */
struct tool {
	struct tool_spec spec; /* schema NULL: see tool_schema() */
	const struct tool_arg *args;
	const char *with;     /* offered only where this tool is; or NULL */
	const char *path_arg; /* names the file it acts on; NULL: none */
	/* What a call is for, on one line for people: "{argument}" stands for
	 * its value, "[...]" is left out where an argument in it is missing or
	 * false; for true nothing stands. */
	const char *summary;
	/* Arguments that hold what it takes out of the file and what it puts
	 * there; NULL: none; only new_arg: that is all of the file then. */
	const char *old_arg;
	const char *new_arg;
	const char *hook_name; /* what hooks call it, or NULL: hooks/hooks.c */
	unsigned flags;
	int (*run)(const struct tool_env *env, const cJSON *args,
		   struct buf *out, struct error *err);
};

extern const struct tool *const tools[]; /* NULL ends; spec order */
const struct tool *tool_find(const char *name);
/* The same among these, too: NULL-terminated, or NULL. */
const struct tool *tool_find_among(const struct tool *const *more,
				   const char *name);
/* The JSON Schema of its rows, for struct tool_spec, or its own one. Owned by
 * the caller. */
char *tool_schema(const struct tool *tool);
/*
 * Everything about one call: unknown tool, arguments that are no object,
 * missing or mistyped parameters, run, masking, eviction. Always fills *out
 * (empty before; give it room for TOOL_RESULT_BYTES) with the result: UTF-8
 * without NUL; *failed says its kind. -1 only for ERR_CANCELLED and ERR_GONE
 * (out still holds a result).
 */
int tool_call(const struct tool_env *env, const struct part *call,
	      struct buf *out, bool *failed, struct error *err);

/* The row of the file that a tool acts on. */
#define ARG_FILE_PATH                                                          \
	{                                                                      \
		.name = "file_path", .type = ARG_STRING, .required = true,     \
		.description = "The file: absolute, or relative to the "       \
			       "working directory."                            \
	}

#endif

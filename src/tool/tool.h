/* tool.h - the interface of the tools that the model can call. */
/* SPDX-License-Identifier: MIT */
#ifndef TOOL_TOOL_H
#define TOOL_TOOL_H

#include "base/json.h"
#include "base/mask/mask.h"
#include "model/model.h"
#include "sandbox/sandbox.h"
#include "tool/paths.h"

enum {
	TOOL_READS = 1 << 0, /* changes nothing, so calls may run in parallel */
	TOOL_ASKS = 1 << 1,  /* needs approval on the user's own machine */
	/* a result that is too large is saved as a file */
	TOOL_EVICTS = 1 << 2,
	/* runs the command line in its argument "command" */
	TOOL_RUNS = 1 << 3,
	/* acts on a link itself, and on everything below a directory */
	TOOL_DELETES = 1 << 4,
	/* Acts only on the conversation, not on the sandbox or files: needs no
	 * approval. */
	TOOL_SESSION = 1 << 5,
	/* if one answer has several calls, all are refused */
	TOOL_SINGLE = 1 << 6,
	/* asks the user, who therefore sees the result */
	TOOL_INTERACTIVE = 1 << 7,
	TOOL_LATER = 1 << 8, /* offered only after the history was compacted */
	/* Acts on the user's machine, whatever the sandbox is: through an
	 * external program, or on the web. */
	TOOL_FOREIGN = 1 << 9,
	/* Runs a subagent: several calls of one answer run in parallel. */
	TOOL_DELEGATES = 1 << 10,
};

enum {
	/* Maximum bytes of a result: 80,000 code points of up to 4 bytes, and
	 * notes about what was left out. */
	TOOL_RESULT_BYTES = 1 << 20
};

struct tool_recall {         /* arguments of read_history */
	int64_t from;        /* number of the first message to read, from 1 */
	int64_t limit;       /* number of messages */
	int64_t skip;        /* bytes of the first message to skip */
	const char *pattern; /* only messages with this text; or NULL */
};

struct tool_delegation {   /* arguments of task; borrowed */
	const char *type;  /* the subagent's name */
	const char *order; /* all that the subagent is told */
	bool apart;        /* run in its own sandbox */
};

/* The change that a call makes to a text file of the sandbox. */
enum { TOOL_CHANGE_BYTES = 1 << 20 /* largest file compared */ };

struct tool_change { /* zero-initialised: unknown */
	struct buf before, after;
	bool known;
};

/* The questions of one ask_user call. */
enum {
	INQUIRY_MOST = 10,         /* questions per call */
	INQUIRY_CHOICES = 20,      /* choices per question */
	INQUIRY_TEXT_CHARS = 2000, /* characters of a question or a choice */
	/* bytes that the user can type per question */
	INQUIRY_ANSWER_BYTES = 64000,
};

enum inquiry_kind {
	INQUIRY_TEXT,   /* the user types text */
	INQUIRY_CHOICE, /* one of the choices, or typed text */
	INQUIRY_SEVERAL /* any number of the choices */
};

struct inquiry_item {
	const char *question; /* any UTF-8 from the model; borrowed */
	enum inquiry_kind kind;
	bool required;
	const char *choices[INQUIRY_CHOICES]; /* borrowed */
	size_t n_choices;
	/* Out: the chosen items and the typed text. At most one choice or text,
	 * except for INQUIRY_SEVERAL. */
	bool chosen[INQUIRY_CHOICES];
	struct buf answer; /* UTF-8; max is INQUIRY_ANSWER_BYTES */
};

struct inquiry {
	struct inquiry_item items[INQUIRY_MOST];
	size_t n;
};

enum inquiry_end {
	INQUIRY_ANSWERED,
	INQUIRY_DECLINED, /* the user declined to answer */
	INQUIRY_NOBODY,   /* input has ended, or is not a terminal */
};

struct web; /* web/fetch.h */

struct tool_env {                /* all borrowed for the call */
	const struct tool *tool; /* the called tool; set by tool_call() */
	/* Tools in addition to the table, NULL-terminated; or NULL. */
	const struct tool *const *more;
	struct sandbox *sandbox;
	const struct stop *stop;
	const struct mask *mask;
	/* The real path that a file tool must act on instead of its path
	 * argument. If a link is now found there, the tool fails. Or NULL. */
	const char *real_path;
	/* id used in file names of saved results, or NULL */
	const char *thread;
	_Atomic unsigned
		*saved; /* number of saved results of this thread, or NULL */
	/* excluded from searches; or NULL */
	const struct secret_files *secrets;
	/* Out: the change that a successful call made to a file, if the tool
	 * knows both versions. May be NULL. */
	struct tool_change *change;
	/* Out: the lines of execute's result about the command's end, without
	 * output and notices; not masked. May be NULL. */
	struct buf *end;
	/* Receives live output of execute: masked text as a terminal would show
	 * it at the end (base/screen_text.h). Called on the thread that runs
	 * the call. May be NULL. */
	void (*output)(void *arg, struct str delta);
	/* Used instead of output by readers that can redraw: rest follows all
	 * deltas so far and replaces the previous rest. */
	void (*redraw)(void *arg, struct str delta, struct str rest);
	/* Appends stored messages of the conversation. May be NULL. */
	int (*recall)(void *arg, const struct tool_recall *what,
		      struct buf *out, struct error *err);
	/* Runs a subagent and appends its last text to out. Returns -1 like
	 * tool.run. NULL in a subagent, which cannot start others. */
	int (*delegate)(void *arg, const struct tool_delegation *what,
			struct buf *out, struct error *err);
	/* True if the model is offered a tool of this name. NULL: all tools are
	 * offered. */
	bool (*offers)(void *arg, const char *tool);
	void *arg;
	int *exit_code; /* out: exit code of execute's command; may be NULL */
	/* Out: files of the result that the model is shown. NULL: files are not
	 * shown. */
	struct message *media;
	/* The caller is a subagent in its parent's sandbox. The parent is told
	 * when jobs end. */
	bool shares_sandbox;
	/* Asks the user and waits for the answer. Returns -1 if stop ended the
	 * wait. Never called twice at once. NULL: nobody can answer. */
	int (*ask)(void *arg, struct inquiry *q, enum inquiry_end *end,
		   const struct stop *stop, struct error *err);
	void *ask_arg;
	const struct web *web; /* NULL: no web access */
};

enum tool_arg_type { ARG_STRING = 1, ARG_INT, ARG_BOOL, ARG_LIST };

/* One parameter. A list of these ends with { 0 }. */
struct tool_arg {
	const char *name;
	enum tool_arg_type type;
	const char *description;    /* for the model, or NULL */
	bool required;              /* false: may be missing or null */
	bool positive;              /* ARG_INT: at least 1 */
	const char *const *choices; /* ARG_STRING: NULL-terminated, or NULL */
	/* JSON: the default, as told to the model. NULL: null. */
	const char *fallback;
	const char *items; /* ARG_LIST: JSON Schema of an element */
	/* ARG_LIST: appends " NAME.0.member: why\n" for each invalid
	 * element. */
	void (*check)(const cJSON *value, struct buf *wrong);
};

/*
 * A tool. args have been checked against .args, so existing members have their
 * type. run returns 0 with the result in out; or -1 with err, and the failed
 * result in out, or in err->message if out is empty. ERR_CANCELLED and ERR_GONE
 * end the turn.
 */
struct tool {
	struct tool_spec spec; /* schema is NULL: see tool_schema() */
	const struct tool_arg *args;
	const char *with; /* offered only together with this tool; or NULL */
	/* name of the argument with the file's path; NULL: none */
	const char *path_arg;
	/* One line that describes a call to people. "{argument}" is replaced by
	 * its value. "[...]" is dropped if an argument in it is missing or
	 * false; true is replaced by nothing. */
	const char *summary;
	/* Names of the arguments with the removed and the inserted text, or
	 * NULL. If only new_arg is set, it is the file's whole new content. */
	const char *old_arg;
	const char *new_arg;
	const char *hook_name; /* name in hooks, or NULL: see hooks/hooks.c */
	unsigned flags;
	int (*run)(const struct tool_env *env, const cJSON *args,
		   struct buf *out, struct error *err);
};

/* NULL-terminated, in the order that the model sees */
extern const struct tool *const tools[];
const struct tool *tool_find(const char *name);
/* Finds a tool in the table or in more, which is NULL-terminated or NULL. */
const struct tool *tool_find_among(const struct tool *const *more,
				   const char *name);
/* Returns the JSON Schema made from the tool's rows, or the tool's own schema.
 * The caller owns it. */
char *tool_schema(const struct tool *tool);
/*
 * Runs one call: handles unknown tools and invalid arguments, runs the tool,
 * masks the result and saves it to a file if it is too large. *out must be
 * empty and have room for TOOL_RESULT_BYTES. It always gets a result: UTF-8
 * without NUL; *failed says whether the call failed. Returns -1 only for
 * ERR_CANCELLED and ERR_GONE, also with a result.
 */
int tool_call(const struct tool_env *env, const struct part *call,
	      struct buf *out, bool *failed, struct error *err);

/* The row for the path of a tool that acts on a file. */
#define ARG_FILE_PATH                                                          \
	{                                                                      \
		.name = "file_path", .type = ARG_STRING, .required = true,     \
		.description = "The file: absolute, or relative to the "       \
			       "working directory."                            \
	}

#endif

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
	/* needs approval if the sandbox acts on the user's machine */
	TOOL_ASKS = 1 << 1,
	/* a result that is too large is saved as a file */
	TOOL_EVICTS = 1 << 2,
	/* runs the command line in its argument "command" */
	TOOL_RUNS = 1 << 3,
	/* acts on a link itself, not its target, and on everything in a
	 * directory */
	TOOL_DELETES = 1 << 4,
	/* Acts only on the conversation, not on the sandbox or files: needs no
	 * approval. */
	TOOL_SESSION = 1 << 5,
	/* may be called once per answer: of several calls, all are refused */
	TOOL_SINGLE = 1 << 6,
	/* asks the user questions: the UI shows the answers in full */
	TOOL_INTERACTIVE = 1 << 7,
	/* offered only once the history has been compacted */
	TOOL_LATER = 1 << 8,
	/* Acts outside of the sandbox: on the user's machine, through an MCP
	 * server, or on the web. */
	TOOL_FOREIGN = 1 << 9,
	/* runs a subagent; several calls of one answer run in parallel */
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
	const char *pattern; /* only messages that contain this text; or NULL */
};

struct tool_delegation {   /* arguments of task; borrowed */
	const char *type;  /* the subagent's name */
	const char *order; /* the prompt: all that the subagent is told */
	bool apart;        /* run in its own sandbox */
};

/* The change that a call makes to a text file of the sandbox. */
enum { TOOL_CHANGE_BYTES = 1 << 20 /* largest file compared */ };

struct tool_change { /* A change, unknown if zero-initialised. */
	struct buf before, after;
	/* Instead of both, of a call of an earlier run: see part.change. */
	struct buf stored;
	bool known; /* before and after are set */
	bool none;  /* the call failed, and has certainly changed nothing */
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
	/* Out: the user's answer, the chosen items and typed text. Except for
	 * INQUIRY_SEVERAL either one item or text. */
	bool chosen[INQUIRY_CHOICES];
	struct buf answer; /* UTF-8; max is INQUIRY_ANSWER_BYTES */
};

struct inquiry {
	struct inquiry_item items[INQUIRY_MOST];
	size_t n;
};

/* Ends the result of ask_user if the user declined. The chat shows
 * "You did not answer" in its place. */
#define INQUIRY_DECLINED_TEXT                                                  \
	"The user declined to answer. Do not ask the same again: continue "    \
	"with what is known and name what you assume, or end your turn."

enum inquiry_end {
	INQUIRY_ANSWERED,
	INQUIRY_DECLINED, /* the user declined to answer */
	INQUIRY_NOBODY,   /* input has ended, or is not a terminal */
};

struct web; /* web/fetch.h */

/* The argument of execute that names hosts which the network list lacks. */
#define TOOL_HOSTS "hosts"

struct tool_env {                /* all borrowed for the call */
	const struct tool *tool; /* the called tool; set by tool_call() */
	/* the call's arguments as args_read() returned them; NULL: tool_call()
	 * reads them */
	const cJSON *args;
	/* more tools than those of table.c, NULL-terminated; or NULL */
	const struct tool *const *more;
	struct sandbox *sandbox;
	const struct stop *stop;
	const struct mask *mask;
	/* NULL, or the real path that a file tool must act on instead of its
	 * path argument. The tool fails if part of it has become a link
	 * since. */
	const char *real_path;
	/* id used in file names of saved results, or NULL */
	const char *thread;
	_Atomic unsigned
		/* number of results of this thread that were saved; or NULL */
		*saved;
	/* files that searches must leave out; or NULL */
	const struct secret_files *secrets;
	/* hosts that are open while execute's command runs, one per line, as
	 * the user has approved them; or NULL */
	const char *opens;
	const char *caller; /* the subagent that makes the call; or NULL */
	/* Out, unless NULL: the change that a successful call made to a file,
	 * if the tool knows both versions. */
	struct tool_change *change;
	/* Out, unless NULL: the lines at the end of execute's result that say
	 * how the command ended, without output and notices; not masked. */
	struct buf *end;
	/* Out, unless NULL: in a sandbox that has the user's tree, the files
	 * that the command changed, as changed_files_add() writes them; not
	 * masked. */
	struct buf *changed;
	/* Out, unless NULL: the branch that the command wanted to push with git
	 * (sandbox/tree_changes.h). Set only with `changed`. */
	struct buf *push;
	/* Out, unless NULL: the ports on which something listens since the
	 * command. Set only with `changed`. */
	struct listen_note *listens;
	/* Out, unless NULL: what was masked in the result by its form: "2
	 * GitHub tokens". */
	struct buf *masked;
	/* Receives live output of execute, unless NULL: masked text, of which a
	 * terminal would show the same in the end (base/screen_text.h). Called
	 * on the thread that runs the call. */
	void (*output)(void *arg, struct str delta);
	/* Used instead of output by a UI that can redraw. delta: text to
	 * append, as for output. rest: unfinished text that follows it and
	 * replaces the previous rest. */
	void (*redraw)(void *arg, struct str delta, struct str rest);
	/* Appends stored messages of the conversation; for read_history. May be
	 * NULL. */
	int (*recall)(void *arg, const struct tool_recall *what,
		      struct buf *out, struct error *err);
	/* Runs a subagent and appends its last text to out. Returns -1 like
	 * tool.run. NULL in a subagent, which cannot start other subagents. */
	int (*delegate)(void *arg, const struct tool_delegation *what,
			struct buf *out, struct error *err);
	/* True if the model is offered a tool of this name. NULL: all tools are
	 * offered. */
	bool (*offers)(void *arg, const char *tool);
	void *arg;
	int *exit_code; /* out: exit code of execute's command; may be NULL */
	/* Out: files for the model to see with the result. NULL: the model
	 * cannot see files. */
	struct message *media;
	/* The caller is a subagent that uses its parent's sandbox. The parent,
	 * not the subagent, is told when background jobs end. */
	bool shares_sandbox;
	/* Asks the user and waits for the answer. Returns -1 if stop ended the
	 * wait. The caller makes one call at a time. NULL: nobody can
	 * answer. */
	int (*ask)(void *arg, struct inquiry *q, enum inquiry_end *end,
		   const struct stop *stop, struct error *err);
	void *ask_arg;
	/* Out: the plan that present_plan gives the user, not masked. NULL:
	 * nobody can accept one. */
	struct buf *plan;
	const struct web *web; /* NULL: no web access */
};

enum tool_arg_type { ARG_STRING = 1, ARG_INT, ARG_BOOL, ARG_LIST };

/* One parameter of a tool. A list of parameters ends with { 0 }. */
struct tool_arg {
	const char *name;
	enum tool_arg_type type;
	const char *description; /* for the model, or NULL */
	bool required;           /* false: may be missing or null */
	bool positive;           /* ARG_INT: at least 1 */
	bool for_hosts; /* the model is told of it only if the sandbox has a
			   list of hosts */
	const char *const *choices; /* ARG_STRING: NULL-terminated, or NULL */
	/* the default as JSON, which the model is told; NULL: the default is
	 * null */
	const char *fallback;
	const char *items; /* ARG_LIST: JSON Schema of an element */
	/* ARG_LIST: appends " NAME.0.member: why\n" for each invalid
	 * element. */
	void (*check)(const cJSON *value, struct buf *wrong);
};

/*
 * A tool. run gets args that have been checked against .args, so members that
 * exist have the right type. It returns 0 with the result in out, or -1 with
 * err and the failed result in out, or in err->message if out is empty.
 * ERR_CANCELLED and ERR_GONE end the turn.
 */
struct tool {
	struct tool_spec spec; /* schema may be NULL: see tool_schema() */
	const struct tool_arg *args;
	/* name of a tool without which this one is not offered; or NULL */
	const char *with;
	/* name of the argument with the file's path; NULL: none */
	const char *path_arg;
	/* One line that describes a call to people. "{argument}" is replaced by
	 * the argument's value, or by nothing if that is true. "[...]" is
	 * dropped if an argument in it is missing or false. */
	const char *summary;
	/* Names of the arguments that contain the text to remove and the text
	 * to insert, or NULL. If only new_arg is set, that argument is the
	 * whole new content of the file. */
	const char *old_arg;
	const char *new_arg;
	/* What a result of pylist_names() lists: the word for one, and for
	 * several. NULL: the result is text. */
	const char *lists[2];
	/* the tool's name in hooks; NULL: see hook_tool_name() */
	const char *hook_name;
	unsigned flags;
	int (*run)(const struct tool_env *env, const cJSON *args,
		   struct buf *out, struct error *err);
};

/* NULL-terminated, in the order that the model sees */
extern const struct tool *const tools[];
const struct tool *tool_find(const char *name);
/* Finds a tool in the table or in more, a NULL-terminated list or NULL. */
const struct tool *tool_find_among(const struct tool *const *more,
				   const char *name);
/* Returns the JSON Schema made from the tool's parameters, or the tool's own
 * schema if it has one. hosts: the sandbox has a list of hosts. The caller owns
 * it. */
char *tool_schema(const struct tool *tool, bool hosts);
/*
 * Runs one call: handles unknown tools and invalid arguments, runs the tool,
 * masks the result and saves it to a file if it is too large. *out must be
 * empty and have room for TOOL_RESULT_BYTES. It always gets a result: UTF-8
 * without NUL; *failed says whether the call failed. Returns -1 only for
 * ERR_CANCELLED and ERR_GONE, also with a result.
 */
int tool_call(const struct tool_env *env, const struct part *call,
	      struct buf *out, bool *failed, struct error *err);

/* Parameter of the tools that act on a file. */
#define ARG_FILE_PATH                                                          \
	{                                                                      \
		.name = "file_path", .type = ARG_STRING, .required = true,     \
		.description = "The file: absolute, or relative to the "       \
			       "working directory."                            \
	}

#endif

/* agent.h - the loop: ask the model, run its tools, until it is done. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "agent/policy.h"
#include "agent/window.h"
#include "model/model.h"
#include "model/server.h"
#include "sandbox/sandbox.h"
#include "session/session.h"
#include "tool/tool.h"

enum agent_event_kind {
	EVENT_TEXT = 1,    /* text: delta */
	EVENT_THINKING,    /* text: delta */
	EVENT_RESTART,     /* text: why the answer so far is void */
	EVENT_TOOL_CALL,   /* call */
	EVENT_TOOL_OUTPUT, /* call, text: delta, masked */
	EVENT_TOOL_RESULT, /* call, text: result, failed */
	EVENT_TURN,        /* usage of one answer */
	EVENT_FLUSH,       /* no more data is waiting: draw now */
	EVENT_WARNING,     /* text: what went wrong without ending the run */
	EVENT_FILE,        /* text: name of a file attached to the prompt */
	EVENT_COMPACT,     /* text: line about the compaction; compact */
	EVENT_TERMINAL,    /* text: a terminal sequence printed by a hook */
	EVENT_JOB,         /* text: describes a background command that ended */
	/* call: the task call; text: one line to show; subagent */
	EVENT_SUBAGENT,
};
struct compact_step { /* one step of a compaction */
	bool over;    /* true when it is complete, false when it begins */
	bool excerpt; /* messages were excerpted, without a model's summary */
	size_t messages;
	/* estimated input tokens; after is set when over */
	int64_t before, after;
};
struct agent_event;
struct subagent_step { /* progress of the subagent that runs a task call */
	const char *type;
	unsigned number; /* of the subagent within this run, from 1 */
	/* What the subagent did: EVENT_TOOL_CALL, _RESULT, EVENT_TURN,
	 * EVENT_COMPACT, EVENT_RESTART or EVENT_WARNING. NULL when it starts or
	 * ends. */
	const struct agent_event *event;
	bool over;
	const char *end; /* with over: "success", or why the subagent failed */
};
struct agent_event { /* everything is borrowed and valid only during the call */
	enum agent_event_kind kind;
	struct str text;
	const struct part *call; /* on EVENT_TOOL_* */
	const struct usage *usage;
	int64_t wait_ms; /* EVENT_RESTART: delay before the next try; 0: none */
	bool failed;
	/* EVENT_TOOL_RESULT: the change to a file, masked; or NULL. */
	const struct tool_change *change;
	/* EVENT_TOOL_RESULT of a command that the user typed: the tool's line
	 * about the command's end, with the exit code, masked. It may or may
	 * not be a part of text. EVENT_TOOL_OUTPUT, if ui.redraws: the
	 * unfinished output after all text so far; it replaces the previous
	 * event's end. */
	struct str end;
	/* EVENT_TOOL_RESULT: the user declined the call; see approval_why() */
	bool declined;
	/* EVENT_TOOL_CALL, emitted again: arguments changed by the user or a
	 * hook */
	bool edited;
	struct compact_step compact;
	const struct subagent_step *subagent; /* not set in queued events */
};

/* Callbacks run on the agent's thread or one of its tool threads, never two at
 * once. approve is called before each call of a known tool with valid
 * arguments; it returns -1 when the run was cancelled. */
struct agent_ui {
	void (*event)(void *arg, const struct agent_event *ev);
	int (*approve)(void *arg, struct approval *a, const struct stop *stop,
		       struct error *err);
	void *arg;
	/* EVENT_TOOL_OUTPUT puts output that may still change into end */
	bool redraws;
	/* Like tool_env.ask; NULL: nobody can answer. */
	int (*ask)(void *arg, struct inquiry *q, enum inquiry_end *end,
		   const struct stop *stop, struct error *err);
	/* the UI shows agent_event.change; if false, tools do not compute it */
	bool changes;
	bool apart; /* event may be called while approve or ask is running */
};

struct agent;
struct delegation { /* one call of the task tool; all borrowed */
	struct agent *parent;
	const struct part *call;
	const struct tool_delegation *what;
	const struct stop *stop;
};

enum {
	/* after so many failures of one call the model gets a note */
	REPEATS_NOTE = 3,
	REPEATS_END = 6, /* after so many the user is asked, or the run ends */
	REPEATS_KEPT = 16,
};

/* Failing calls since the prompt. Initialise with { 0 }. Used by one thread. */
struct repeats {
	struct repeated_call {
		uint64_t call; /* a hash of name and arguments */
		unsigned failures;
	} list[REPEATS_KEPT];
	size_t next;    /* slot that the next new call overwrites */
	unsigned worst; /* most failures of a single call */
	char name[64];  /* name of that call's tool */
};

struct conversation; /* session/history.h */
struct hooks;        /* hooks/hooks.h */
struct hooked_end {
	bool ends; /* a hook asked to end the run */
	struct buf reason;
};

/* The caller fills the fields and owns what they point to. "out": agent_run()
 * writes it. "internal": used only by src/agent. */
struct agent {
	struct model *model;
	struct sandbox *sandbox;
	struct session *session;
	const struct mask *mask;
	const char *thread; /* the session's id, or NULL */
	_Atomic unsigned
		saved_results; /* large results saved as sandbox files */
	/* the model was told another working directory than sandbox->workdir */
	bool untold_dir;
	/* internal: the model has been told the sandbox's facts */
	bool told_facts;
	const struct secret_files *secrets; /* or NULL */
	struct agent_ui ui;
	/* Files that go with the next prompt. That prompt takes ownership. */
	struct message attached;
	/* counts the cost of all requests and sandboxes, or NULL */
	struct meter *meter;
	/* Asked when a request could exceed the cost cap. True: the cap was
	 * raised, send the request. NULL: the cap is never raised. */
	bool (*raise)(void *arg);
	void *raise_arg;
	/* Asked when the model repeats a failing call. True: continue the run.
	 * why is text for the user. NULL: the run ends. */
	bool (*go_on)(void *arg, const struct error *why);
	void *go_on_arg;
	struct repeats repeats; /* internal: since the prompt */
	/* out, including subagents: calls that would write or run something,
	 * and how many of these were refused */
	_Atomic unsigned acts, refused_acts;
	bool thought;       /* out: the last answer contains thinking */
	int64_t max_turns;  /* model turns per agent_run, 0: no cap */
	struct usage usage; /* out: total */
	int64_t turns;      /* out: model turns of the last run */
	struct buf answer;  /* out: text of the last assistant message */
	enum finish finish; /* out: why the last answer ended */
	char reason[40];    /* out: the vendor's finish reason, or "" */
	int64_t wait_ms;    /* internal: delay before the next try */
	/* internal: consecutive answers that were cut inside a call */
	int cuts;
	/* internal: the partial answer of a failed request */
	struct message cut;
	struct window window;
	/* Asks the server for the size of an assumed window, or NULL. */
	struct window_probe *probe;
	/* Empties the model's history like model_reset(), and offers the
	 * read_history tool from then on. NULL: model_reset() is used. */
	int (*reset)(void *arg, struct error *err);
	void *reset_arg;
	/* Directory for the text of messages removed from histories, or
	 * NULL. */
	const char *history_dir;
	/* Called before approved calls run, to make what they need available.
	 * remark is put before their results. Returns 0 to run them; 1 if none
	 * may run, with remark as their result; -1 with ERR_CANCELLED or
	 * ERR_GONE to end the turn. NULL: nothing to prepare. */
	int (*prepare)(void *arg, const struct part *const *calls, size_t n,
		       struct buf *remark, const struct stop *stop,
		       struct error *err);
	void *prepare_arg;
	/* Tools in addition to the built-in table, NULL-terminated; or NULL. */
	const struct tool *const *more;
	/* Called before each request to update `more` and the tools offered to
	 * the model. NULL: they never change. */
	int (*update_tools)(void *arg, const struct stop *stop,
			    struct error *err);
	/* Called after each request has been sent. May be NULL. */
	void (*request_sent)(void *arg);
	/* Waits for the sandbox. Called once: after the first answer, or
	 * earlier if something needs the sandbox. Returns 0 when it is ready; 1
	 * if its directory differs from the one the model was told: the agent
	 * then has a new model with the stored history; -1 with err if there is
	 * no sandbox. NULL: the sandbox is ready. */
	int (*await)(void *arg, struct error *err);
	void *await_arg;
	/* Set while await() runs: the last stored answer becomes void if the
	 * sandbox has a different directory. await() then drops it before it
	 * loads the history. */
	bool has_answer;
	void *tools_arg;       /* argument of update_tools and request_sent */
	const struct web *web; /* or NULL */
	/* Runs a subagent, like tool_env.delegate; several may run at once.
	 * NULL: no subagents. */
	int (*delegate)(void *arg, const struct delegation *d, struct buf *out,
			struct error *err);
	void *delegate_arg;
	/* The parent if this agent is a subagent, or NULL. The turns of both
	 * count towards the parent's max_turns. */
	struct agent *parent;
	/* Id and type that hooks get for a subagent's actions; or NULL. */
	const char *hook_id, *hook_type;
	/* internal: turns including those of subagents */
	_Atomic int64_t all_turns;
	/* Without a session: the history, needed for compaction. NULL: this
	 * agent's history cannot be compacted. */
	struct conversation *memory;
	struct hooks *hooks; /* or NULL */
	/* internal: text that hooks add to the next prompt; owned */
	struct buf hook_context;
	struct hooked_end hook_end; /* internal */
	/* a hook ended the last run before the model was done */
	bool hook_ended;
};
/*
 * Runs one prompt until the model is done. Returns 0 when the model finished;
 * -1 with ERR_CANCELLED, ERR_LIMIT (max_turns), ERR_BUDGET, ERR_GONE, or the
 * model's error. In every case the history stays valid for the vendor: each
 * call has a result.
 */
int agent_run(struct agent *a, const char *prompt, const struct stop *stop,
	      struct error *err);

/*
 * Runs a command that the user typed, like the execute tool and with the same
 * events, but without approval. told gets the text for the model, to be sent
 * with the next prompt; NULL: the model is not told. Returns -1 with
 * ERR_CANCELLED or ERR_GONE.
 */
int agent_run_own_command(struct agent *a, const char *command,
			  struct buf *told, const struct stop *stop,
			  struct error *err);

/* For src/agent. Stores a message. If that fails, the user is warned and the
 * run continues without storing. */
void agent_store(struct agent *a, const struct message *m,
		 const struct usage *usage);
/* Stops storing this thread and warns the user. */
void agent_not_stored(struct agent *a, const struct error *err);
/* True for a subagent that uses its parent's sandbox. The parent is then told
 * when background jobs end. */
static inline bool agent_shares_sandbox(const struct agent *a)
{
	return a->parent && a->parent->sandbox == a->sandbox;
}
/* Emits a warning: "what: " followed by the error's message. */
void agent_warn(struct agent *a, const char *what, const struct error *err);

#endif

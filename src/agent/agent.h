/* agent.h - the loop: ask the model, run its tools, until it is done. */
/* SPDX-License-Identifier: MIT */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "agent/policy.h"
#include "agent/window.h"
#include "model/model.h"
#include "model/server.h"
#include "sandbox/ports/ports.h"
#include "session/session.h"
#include "tool/tool.h"

/* What an event is about. The comments say which members of struct agent_event
 * are set. */
enum agent_event_kind {
	EVENT_TEXT = 1,  /* text: a piece of the answer */
	EVENT_THINKING,  /* text: a piece of the model's thinking */
	EVENT_RESTART,   /* text: why the answer received so far is discarded */
	EVENT_TOOL_CALL, /* call: the call that begins */
	EVENT_TOOL_OUTPUT, /* call; text: a piece of its output, masked */
	EVENT_TOOL_RESULT, /* call; text: the result; failed */
	EVENT_TURN,        /* usage: that of one answer */
	EVENT_FLUSH,       /* no more data is waiting: draw now */
	EVENT_WARNING,     /* text: what went wrong without ending the run */
	EVENT_FILE,        /* text: name of a file attached to the prompt */
	EVENT_COMPACT,     /* text: line about the compaction; compact */
	EVENT_TERMINAL,    /* text: a terminal sequence printed by a hook */
	EVENT_JOB,         /* text: describes a background command that ended */
	/* call: the call of task; text: one line to show; subagent */
	EVENT_SUBAGENT,
	EVENT_PROMPT,   /* text: an earlier prompt of a resumed thread */
	EVENT_REPLAYED, /* the earlier events of a resumed thread are complete:
			   returns when they are on the screen */
};
struct compact_step { /* Beginning or end of a compaction. */
	bool over;    /* true when it is complete, false when it begins */
	/* an excerpt of the messages was made instead of a model's summary */
	bool excerpt;
	size_t messages;
	/* estimated input tokens; after is only set at the end */
	int64_t before, after;
};
struct agent_event;
/* Progress of the subagent that runs a call of the task tool. */
struct subagent_step {
	const char *type;
	unsigned number; /* number of the subagent in this run, from 1 */
	/* The event of the subagent: EVENT_TOOL_CALL, EVENT_TOOL_RESULT,
	 * EVENT_TURN, EVENT_COMPACT, EVENT_RESTART or EVENT_WARNING. NULL when
	 * the subagent starts or ends. */
	const struct agent_event *event;
	bool over;
	/* when it is over: "success", or why the subagent failed */
	const char *end;
};
struct subagent_progress {
	unsigned number; /* the one that /agents shows */
	bool calls;      /* a call of the subagent is running */
	int64_t tokens;  /* of the subagent so far, partly estimated */
};
/* Everything is borrowed and valid only during the call of agent_ui.event. */
struct agent_event {
	enum agent_event_kind kind;
	struct str text;
	const struct part *call; /* set for EVENT_TOOL_... */
	/* EVENT_TOOL_CALL, EVENT_TOOL_RESULT: the directory in which the tools
	 * run; NULL: unknown */
	const char *workdir;
	const struct usage *usage;
	struct model_wait wait; /* EVENT_RESTART: before the next try */
	/* EVENT_RESTART: the text so far is thinking, which comes again as
	 * that; the answer follows in the same stream */
	bool thought;
	bool failed;
	/* EVENT_TOOL_RESULT: the change that was made to a file, masked; or
	 * NULL. */
	const struct tool_change *change;
	/* EVENT_TOOL_RESULT of a command: the lines that say how it ended, with
	 * the exit code, masked. They need not be a part of text.
	 *
	 * EVENT_TOOL_OUTPUT if ui.redraws: unfinished output that follows all
	 * text so far. It replaces the `end` of the previous event.
	 *
	 * EVENT_SUBAGENT: what the subagent is doing: its newest call,
	 * "answering" or the like. */
	struct str end;
	struct subagent_progress progress; /* EVENT_SUBAGENT */
	/* EVENT_TOOL_RESULT: the call failed, and has certainly changed no
	 * file */
	bool unchanged;
	/* EVENT_TOOL_RESULT: the user declined the call; see
	 * approval_read_decline() */
	bool declined;
	/* EVENT_TOOL_RESULT of a command: "a.c, b.c (+12 −3)", the files that
	 * it has changed in the user's tree, masked; or empty */
	struct str changed;
	/* EVENT_TOOL_RESULT of a command: the ports on which something listens
	 * in the sandbox since then */
	struct listen_note listens;
	/* EVENT_TOOL_RESULT: only known values are masked in text */
	bool exempt;
	/* EVENT_TOOL_RESULT of a command that the user typed */
	bool own;
	/* EVENT_TOOL_RESULT: the call was interrupted, perhaps before it ran */
	bool interrupted;
	int64_t ran_ms; /* EVENT_TOOL_RESULT: how long the call ran; -1: not */
	/* EVENT_TOOL_CALL, emitted a second time: the user or a hook has
	 * changed the arguments */
	bool edited;
	/* It happened earlier, and is shown again because its thread is
	 * resumed. An EVENT_TOOL_RESULT follows no EVENT_TOOL_OUTPUT. */
	bool replayed;
	struct compact_step compact;
	/* EVENT_SUBAGENT: NULL if only `end` and `progress` have changed. In
	 * queued events: only with a result of a subagent's call. */
	const struct subagent_step *subagent;
};

/* Callbacks run on the agent's thread or one of its tool threads, never two at
 * once. approve is called before each call of a known tool with valid
 * arguments; it returns -1 when the run was cancelled. */
struct agent_ui {
	void (*event)(void *arg, const struct agent_event *ev);
	int (*approve)(void *arg, struct approval *a, const struct stop *stop,
		       struct error *err);
	void *arg;
	/* EVENT_TOOL_OUTPUT passes output that may still change in `end` */
	bool redraws;
	/* Like tool_env.ask; NULL: nobody can answer. */
	int (*ask)(void *arg, struct inquiry *q, enum inquiry_end *end,
		   const struct stop *stop, struct error *err);
	/* the UI shows agent_event.change; if false, it is not computed */
	bool changes;
	/* event may be called on another thread while approve or ask is
	 * running */
	bool apart;
};

struct agent;
struct delegation { /* One call of the task tool. All borrowed. */
	struct agent *parent;
	const struct part *call;
	unsigned number; /* from agent.number_delegate */
	const struct tool_delegation *what;
	const struct stop *stop;
};

enum {
	/* after so many failures of the same call, the model gets a note */
	REPEATS_NOTE = 3,
	/* after so many, the user is asked whether to go on, or the run ends */
	REPEATS_END = 6,
	REPEATS_KEPT = 16,
};

/* Calls that failed since the user's prompt. Initialise with { 0 }. Used by one
 * thread. */
struct repeats {
	struct repeated_call {
		uint64_t call; /* a hash of name and arguments */
		unsigned failures;
	} list[REPEATS_KEPT];
	size_t next;    /* slot that the next new call overwrites */
	unsigned worst; /* most failures of a single call */
	char name[64];  /* tool of the call that failed most often */
};

/* Takes messages that the user sends into a running turn. Called on the agent's
 * thread, after the results of a batch of calls are stored. */
struct agent_steering {
	/* Appends the next message to prompt; its files go to agent.attached.
	 * Returns 1; 0 if there is none; -1 with err. NULL: there are none. */
	int (*take)(void *arg, struct buf *prompt, const struct stop *stop,
		    struct error *err);
	/* The message is stored, or a hook has refused it. If the turn ends
	 * before this call, the message was not sent. */
	void (*settle)(void *arg);
	void *arg;
};

struct conversation; /* session/history.h */
struct hooks;        /* hooks/hooks.h */
struct hooked_end {
	bool ends; /* a hook asked to end the run */
	struct buf reason;
};

/* The caller fills the fields and owns what they point to. "out": agent_run()
 * writes the field. "internal": only src/agent uses it. */
struct agent {
	struct model *model;
	struct sandbox *sandbox;
	struct session *session;
	const struct mask *mask;
	const char *thread; /* the session's id, or NULL */
	_Atomic unsigned
		/* how many large results were saved as files in the sandbox */
		saved_results;
	/* set if the model was told another working directory than
	 * sandbox->workdir */
	bool untold_dir;
	/* internal: the model has been told the sandbox's facts */
	bool told_facts;
	const struct secret_files *secrets; /* or NULL */
	/* patterns of files that are read with only known values masked */
	const char *const *exempt;
	size_t n_exempt;
	struct agent_ui ui;
	struct buf *plan; /* as in tool_env; or NULL */
	/* Files to send with the next prompt. agent_run() takes ownership, and
	 * drops them if it sends no prompt. */
	struct message attached;
	/* counts the cost of all requests and sandboxes, or NULL */
	struct meter *meter;
	/* Called when a request could exceed the cost cap. True: the user has
	 * raised the cap, so the request is sent. NULL: the cap is never
	 * raised. */
	bool (*raise)(void *arg);
	void *raise_arg;
	/* Called when the model repeats a failing call too often; why is text
	 * for the user. True: the run goes on. NULL: the run ends. */
	bool (*go_on)(void *arg, const struct error *why);
	void *go_on_arg;
	struct agent_steering steering;
	/* Text for the model before each prompt, such as a MESSAGE_NOTE; NULL:
	 * none. */
	const char *note;
	/* Appends what the model has to know before its next request, such as
	 * that the user has changed the mode. Called after each batch of calls
	 * of the main agent; NULL: nothing. */
	void (*add_news)(void *arg, struct buf *out);
	void *news_arg;
	/* internal: calls that have failed since the prompt */
	struct repeats repeats;
	/* Out, subagents included: the number of calls that would write or run
	 * something, and how many of these were refused. */
	_Atomic unsigned acts, refused_acts;
	bool thought; /* out: the last answer contains thinking */
	/* maximum answers of the model per agent_run(), 0: no maximum */
	int64_t max_turns;
	bool turns_by_policy; /* the machine's policy sets max_turns */
	struct usage usage;   /* out: sum of all runs */
	int64_t turns; /* out: number of the model's answers in the last run */
	bool sent;     /* out: the prompt of the last run is in the history; no
			  hook has refused it */
	struct buf answer;      /* out: text of the last assistant message */
	enum finish finish;     /* out: why the last answer ended */
	char reason[40];        /* out: the vendor's finish reason, or "" */
	struct model_wait wait; /* internal: before the next try */
	/* internal: answers in a row that the output limit cut inside a call */
	int cuts;
	/* internal: what arrived of an answer before its request failed */
	struct message cut;
	struct window window;
	/* Asks the model's server for its window size, if window.size is only
	 * assumed; or NULL. */
	struct window_probe *probe;
	/* Empties the model's history like model_reset() and also offers the
	 * read_history tool from then on. NULL: model_reset() is called. */
	int (*reset)(void *arg, struct error *err);
	void *reset_arg;
	/* Directory for the text of messages that compactions remove, or
	 * NULL. */
	const char *history_dir;
	/* Called before approved calls run, to prepare what they need, such as
	 * files in the sandbox. remark gets text that is put before their
	 * results. Returns 0 to run them; 1 if none may run, with remark as
	 * their result; -1 with ERR_CANCELLED or ERR_GONE to end the turn.
	 * NULL: nothing to prepare. */
	int (*prepare)(void *arg, const struct part *const *calls, size_t n,
		       struct buf *remark, const struct stop *stop,
		       struct error *err);
	void *prepare_arg;
	/* Called before (changed is NULL) and after each command of the execute
	 * tool, on the thread that runs it: appends the names of the files that
	 * it has changed in the user's tree. NULL: they are not named. */
	void (*watch)(void *arg, struct buf *changed, const struct stop *stop);
	void *watch_arg;
	/* Called before and after each call of a tool that writes or deletes a
	 * file of this machine, without a sandbox, on the thread that runs it,
	 * with the file's absolute path. NULL: nobody wants to know. */
	void (*writes)(void *arg, const char *path, bool after);
	void *writes_arg;
	/* tells the user on which ports commands begin to listen */
	bool names_ports;
	/* Called when a command wanted to push this branch with git: asks the
	 * user, and appends what the model is told. On the thread of
	 * agent_run(). NULL: nothing is pushed. */
	void (*push)(void *arg, const char *branch, struct buf *told);
	void *push_arg;
	/* Called before (call is NULL) and after each command of the execute
	 * tool, on the thread that runs it. NULL: nobody wants to know. */
	void (*ran)(void *arg, struct sandbox *sb, const struct part *call);
	void *ran_arg;
	/* more tools than those of tool/table.c, NULL-terminated; or NULL */
	const struct tool *const *more;
	/* Called before each request: updates `more`, and the tools that the
	 * model is offered. NULL: they never change. */
	int (*update_tools)(void *arg, const struct stop *stop,
			    struct error *err);
	/* Called after each request has been sent. May be NULL. */
	void (*request_sent)(void *arg);
	/* Waits until the sandbox that is being created is ready. Called once:
	 * after the first answer (with call_begins: after the first one with
	 * tool calls), or earlier if something needs the sandbox.
	 * Returns 0 when it is ready; 1 if its working directory differs from
	 * the one that the model was told, and a->model is now a new model with
	 * the stored history; -1 with err if there is no sandbox. NULL: the
	 * sandbox is ready. */
	int (*await)(void *arg, struct error *err);
	void *await_arg;
	/* The sandbox is only created once it is needed: called with await_arg
	 * when a tool call begins to arrive, so that the creation begins before
	 * the answer is complete. Called for each call, until await is NULL.
	 * NULL: it is being created already. */
	void (*call_begins)(void *arg);
	/* Set while await() runs if an answer has been stored. If the sandbox
	 * has another directory than the model was told, that answer is wrong:
	 * await() removes it before it loads the history. */
	bool has_answer;
	void *tools_arg;       /* passed to update_tools and request_sent */
	const struct web *web; /* or NULL */
	/* Runs a subagent, like tool_env.delegate. Called on several threads at
	 * once. NULL: no subagents. */
	int (*delegate)(void *arg, const struct delegation *d, struct buf *out,
			struct error *err);
	/* Returns the number of the next subagent. Called on the agent's
	 * thread before delegate, in the order of the calls. */
	unsigned (*number_delegate)(void *arg);
	void *delegate_arg; /* passed to both */
	/* The parent if this agent is a subagent, or NULL. A subagent's turns
	 * count towards the max_turns of its parent. */
	struct agent *parent;
	const char
		*label; /* "reviewer 2": of a subagent, for people; or NULL */
	/* Id and type of the subagent, which hooks get with its actions; or
	 * NULL. */
	const char *hook_id, *hook_type;
	/* internal: this agent's turns and those of its subagents */
	_Atomic int64_t all_turns;
	/* The history of an agent without a session; compaction needs it. NULL:
	 * without a session, the history cannot be compacted. */
	struct conversation *memory;
	struct hooks *hooks; /* or NULL */
	/* internal: text from hooks to add to the next prompt; owned */
	struct buf hook_context;
	struct hooked_end hook_end; /* internal */
	/* out: a hook ended the last run before the model was done */
	bool hook_ended;
};
/*
 * Sends a prompt, and runs the model's calls until it makes none. Returns 0
 * when the model finished; -1 with ERR_CANCELLED, ERR_LIMIT (max_turns),
 * ERR_BUDGET, ERR_GONE, or the model's error. In every case the history stays
 * valid for the vendor: each call has a result.
 */
int agent_run(struct agent *a, const char *prompt, const struct stop *stop,
	      struct error *err);

/*
 * Runs a command that the user typed, like the execute tool and with the same
 * events, but without approval. told gets text that the caller must send with
 * the next prompt, so that the model knows of the command; NULL: the model is
 * not told. Returns -1 with ERR_CANCELLED or ERR_GONE.
 */
int agent_run_own_command(struct agent *a, const char *command,
			  struct buf *told, const struct stop *stop,
			  struct error *err);

/* True for a subagent that uses its parent's sandbox. Only the parent is then
 * told when background jobs end. */
static inline bool agent_shares_sandbox(const struct agent *a)
{
	return a->parent && a->parent->sandbox == a->sandbox;
}
/* Emits a warning: "what: " followed by the error's message. */
void agent_warn(struct agent *a, const char *what, const struct error *err);

#endif

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
	EVENT_TOOL_CALL,   /* part */
	EVENT_TOOL_OUTPUT, /* part, text: delta, masked */
	EVENT_TOOL_RESULT, /* part, text: result, failed */
	EVENT_TURN,        /* usage of one answer */
	EVENT_FLUSH,       /* nothing more has arrived: show what there is */
	EVENT_WARNING,     /* text: what went wrong without ending the run */
	EVENT_FILE,        /* text: a file that goes with the prompt */
	EVENT_COMPACT,     /* text: what happens to the history; compact */
	EVENT_TERMINAL,    /* text: a sequence of a hook's, for a terminal */
	EVENT_JOB,         /* text: a background command that has ended */
	EVENT_SUBAGENT,    /* part: of task; text: a line of it; subagent */
};
struct compact_step { /* of the conversation, made shorter */
	bool over;    /* it has happened, else it begins */
	bool excerpt; /* no model has summarised it */
	size_t messages;
	int64_t before, after; /* input tokens, about; after: once it is over */
};
struct agent_event;
struct subagent_step { /* of one that works for a call of task */
	const char *type;
	unsigned number; /* of the run, from 1 */
	/* What it did: EVENT_TOOL_CALL, _RESULT, EVENT_TURN, EVENT_COMPACT,
	 * EVENT_RESTART or EVENT_WARNING. NULL: it begins, or it is over. */
	const struct agent_event *event;
	bool over;
	const char *end; /* with over: "success", or what kept it from that */
};
struct agent_event { /* all borrowed for the call */
	enum agent_event_kind kind;
	struct str text;
	const struct part *call; /* on EVENT_TOOL_* */
	const struct usage *usage;
	int64_t wait_ms; /* EVENT_RESTART: before the next try; 0: none */
	bool failed;
	/* EVENT_TOOL_RESULT: what it did to a file, masked; or NULL. */
	const struct tool_change *change;
	/* EVENT_TOOL_RESULT of a command of the user's own: what the tool says
	 * of its end, with the exit code; masked, a part of text or not.
	 * EVENT_TOOL_OUTPUT, where ui.redraws: what follows all text so far, in
	 * the place of the last one's. */
	struct str end;
	bool declined; /* EVENT_TOOL_RESULT: by the user; see approval_why() */
	bool edited;   /* EVENT_TOOL_CALL, again: as the user has changed it */
	struct compact_step compact;
	const struct subagent_step *subagent; /* not in a queue */
};

/* Called on the agent's thread or one of its tool threads, never two at once.
 * approve is asked before each call of a known tool whose arguments are right;
 * -1 when the run was cancelled. */
struct agent_ui {
	void (*event)(void *arg, const struct agent_event *ev);
	int (*approve)(void *arg, struct approval *a, const struct stop *stop,
		       struct error *err);
	void *arg;
	bool redraws; /* EVENT_TOOL_OUTPUT says in end what may still change */
	/* As tool_env.ask; NULL: nobody can answer. */
	int (*ask)(void *arg, struct inquiry *q, enum inquiry_end *end,
		   const struct stop *stop, struct error *err);
	bool changes; /* agent_event.change is shown; else none is asked for */
	bool apart;   /* event may be called while approve or ask are */
};

struct agent;
struct delegation { /* of a call of task; borrowed */
	struct agent *parent;
	const struct part *call;
	const struct tool_delegation *what;
	const struct stop *stop;
};

enum {
	REPEATS_NOTE = 3, /* failures of one call: the model is told */
	REPEATS_END = 6,  /* the user is asked, or the run ends */
	REPEATS_KEPT = 16,
};

/* error.reason where a run ends for it. */
#define REPEATS_REASON "repeated_calls"

/* From { 0 }. One thread. */
struct repeats {
	struct repeated_call {
		uint64_t call; /* a hash of name and arguments */
		unsigned failures;
	} list[REPEATS_KEPT];
	size_t next;    /* the one that is forgotten next */
	unsigned worst; /* the most failures of a call */
	char name[64];  /* of its tool */
};

struct conversation; /* session/history.h */
struct hooks;        /* hooks/hooks.h */
struct hooked_end {
	bool ends; /* a hook wants the agent to end */
	struct buf reason;
};

struct agent { /* filled by the caller; all borrowed */
	struct model *model;
	struct sandbox *sandbox;
	struct session *session;
	const struct mask *mask;
	const char *thread; /* id of the session, or NULL */
	_Atomic unsigned
		saved_results; /* large ones, in files of the sandbox */
	bool untold_dir;       /* the model was told of another one than
				  sandbox->workdir */
	bool told_facts;       /* its own: the model has those of its sandbox */
	const struct secret_files *secrets; /* or NULL */
	struct agent_ui ui;
	/* Files that go with the next prompt, which takes them over. */
	struct message attached;
	struct meter *meter; /* what all of it costs, or NULL */
	/* Asked when a request could pass the cap: true when it was raised, and
	 * the request is to be sent. NULL: it never is. */
	bool (*raise)(void *arg);
	void *raise_arg;
	/* Asked when the model repeats a call that fails: true when it may go
	 * on. why is for the user. NULL: it may not. */
	bool (*go_on)(void *arg, const struct error *why);
	void *go_on_arg;
	struct repeats repeats; /* its own: since the prompt */
	/* out, with those of subagents: calls that would write or run
	 * something, and those of them that were refused */
	_Atomic unsigned acts, refused_acts;
	bool thought;       /* out: the last answer has thinking */
	int64_t max_turns;  /* model turns per agent_run, 0: no cap */
	struct usage usage; /* out: total */
	int64_t turns;      /* out: model turns of the last run */
	struct buf answer;  /* out: text of the last assistant message */
	enum finish finish; /* out: of the last answer */
	char reason[40];    /* out: the vendor's word for it, or "" */
	int64_t wait_ms;    /* its own: before the next try */
	int cuts; /* its own: answers in a row that ended within a call */
	struct message cut; /* its own: of the last answer, where it failed */
	struct window window;
	/* Asks the server for the size of an assumed window, or NULL. */
	struct window_probe *probe;
	/* Empties the model's history, as model_reset(), and offers
	 * read_history from now on. NULL: model_reset(). */
	int (*reset)(void *arg, struct error *err);
	void *reset_arg;
	/* Where what was taken out of histories stays readable, or NULL. */
	const char *history_dir;
	/* Called before calls that were approved run: what they need has to be
	 * there. remark is put before their results. 1: none of them runs, and
	 * remark is the result. -1 with ERR_CANCELLED or ERR_GONE ends the
	 * turn. NULL: nothing has to. */
	int (*prepare)(void *arg, const struct part *const *calls, size_t n,
		       struct buf *remark, const struct stop *stop,
		       struct error *err);
	void *prepare_arg;
	/* Tools beside those of the table, NULL-terminated; or NULL. */
	const struct tool *const *more;
	/* Before each request: brings `more`, and what the model is offered, up
	 * to date. NULL: they never change. */
	int (*update_tools)(void *arg, const struct stop *stop,
			    struct error *err);
	/* Each request, once it is on its way. May be NULL. */
	void (*request_sent)(void *arg);
	/* Waits for the sandbox: called once, after the first answer, or before
	 * what else needs it. 1: the model was told of another place, and the
	 * agent has a new one, with the history that is stored; -1: there is
	 * none, and err says why. NULL: it is there. */
	int (*await)(void *arg, struct error *err);
	void *await_arg;
	/* While await() is called: an answer is stored that is void if the
	 * sandbox is at another place. It is dropped before the history is read
	 * again, which would hold it else. */
	bool has_answer;
	void *tools_arg;       /* of both */
	const struct web *web; /* or NULL */
	/* Runs a subagent: as tool_env.delegate, several at once. NULL: there
	 * are none. */
	int (*delegate)(void *arg, const struct delegation *d, struct buf *out,
			struct error *err);
	void *delegate_arg;
	/* Whose subagent it is, or NULL. The turns of both count towards
	 * max_turns of the parent. */
	struct agent *parent;
	/* A subagent's, as hooks are told of what it does; or NULL. */
	const char *hook_id, *hook_type;
	_Atomic int64_t all_turns; /* its own: with those of subagents */
	/* Where there is no session: the history, so that it can be compacted.
	 * NULL: it cannot. */
	struct conversation *memory;
	struct hooks *hooks;        /* or NULL */
	struct buf hook_context;    /* its own: for the next prompt; owned */
	struct hooked_end hook_end; /* its own */
	bool hook_ended; /* the last run, before the model was done */
};
/*
 * One prompt to its end. 0 when the model finished; -1 with ERR_CANCELLED,
 * ERR_LIMIT (max_turns), ERR_BUDGET, ERR_GONE, or the model's error. The
 * history is valid for the vendor whatever happened: every call has its result.
 */
int agent_run(struct agent *a, const char *prompt, const struct stop *stop,
	      struct error *err);

/*
 * Runs it as the execute tool would, with the same events, and without asking:
 * the user has typed it. told (may be NULL: the model never learns of it) gets
 * what the model is told with the next prompt. -1 with ERR_CANCELLED, ERR_GONE.
 */
int agent_run_own_command(struct agent *a, const char *command,
			  struct buf *told, const struct stop *stop,
			  struct error *err);

/* For src/agent. Stores a message; a thread that cannot be stored is no reason
 * to stop the work: the user is warned. */
void agent_store(struct agent *a, const struct message *m,
		 const struct usage *usage);
/* From now on nothing is stored: the user is warned. */
void agent_not_stored(struct agent *a, const struct error *err);
/* A subagent without a sandbox of its own: its caller is told of the jobs. */
static inline bool agent_shares_sandbox(const struct agent *a)
{
	return a->parent && a->parent->sandbox == a->sandbox;
}
/* Emits a warning: "what: " and the error's message. */
void agent_warn(struct agent *a, const char *what, const struct error *err);

#endif

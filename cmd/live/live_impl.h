/* live_impl.h - what the parts of the chat with a screen share; not for
 * others. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_LIVE_IMPL_H
#define CMD_CHAT_LIVE_IMPL_H

#include "cmd/chat/ask.h"
#include "cmd/chat/choice.h"
#include "cmd/chat/dialog.h"
#include "cmd/chat/inquiry_dialog.h"
#include "cmd/chat/message.h"
#include "cmd/chat/printed.h"
#include "cmd/chat/worker.h"
#include "cmd/live/live.h"
#include "cmd/live/live_ahead.h"
#include "cmd/live/live_notify.h"
#include "cmd/slash/slash_cmd.h"
#include "editor/choices.h"
#include "editor/editor.h"
#include "editor/prompt_history.h"
#include "term/keys.h"
#include "term/screen.h"
#include "term/theme.h"
#include "ui/status.h"
#include "ui/transcript.h"

enum { LIVE_MAX_PRINTED = 16 << 20 }; /* bytes that wait to be shown */
enum { LIVE_QUIET_MS = 500 }; /* without a key, before a question is shown */

enum live_state {
	LIVE_OPENING, /* model, sandbox and setup are got ready */
	LIVE_IDLE,
	LIVE_WORKING, /* a job runs */
	LIVE_CLOSING,
};

enum job_kind {
	JOB_PROMPT = MESSAGE_PROMPT,
	JOB_SLASH = MESSAGE_SLASH,
	JOB_COMMAND = MESSAGE_COMMAND,
	JOB_HIDDEN_COMMAND = MESSAGE_HIDDEN_COMMAND,
	JOB_GIVEN = MESSAGE_GIVEN,
	JOB_FILES,     /* lists them, for completion */
	JOB_ARGUMENTS, /* the same of those of a command, its text */
	JOB_CAP,       /* asks whether the sandbox may cost more */
};

/* What the user has sent, and that has not begun. */
struct waiting {
	enum job_kind kind;
	char *text; /* owned */
};

struct live {
	struct run *run;
	struct eventq *events;
	struct worker worker;
	struct printed printed;
	struct theme theme;
	struct screen screen;
	struct key_reader keys;
	struct editor editor;
	char prompt[8]; /* of the editor */
	struct prompt_history history;
	struct history_search search;
	struct completer completer;
	struct fuzzy_item *commands; /* owned: the slash commands */
	bool lists_files;            /* completion asks for them */
	char *lists_arguments;       /* owned: ... for those of this command */
	struct selection_list picker;
	const struct pick
		*asked_pick; /* a command's; it is shown, or soon is */
	bool picking;
	struct transcript transcript;
	struct rows live; /* the live part, as it was drawn */

	enum live_state state;
	struct waiting *queue; /* owned; the first is the next */
	size_t n_queue;
	bool held;          /* the queue waits for Enter: a turn was stopped */
	struct waiting now; /* the job that runs */
	struct live_ahead ahead;
	char wait[128];     /* what is waited for */
	int64_t since;      /* clock_ms() when it began */
	int64_t retries_at; /* clock_ms() when the model is asked again; 0 */
	int64_t began;      /* clock_ms() when the job did */
	int64_t typed;      /* clock_ms() of the last key */
	int64_t drafted; /* the same of the last one that changed the draft */
	size_t calls;    /* tools that run */

	struct question *asked;        /* it is shown, or soon is */
	int64_t asked_at;              /* clock_ms() when the worker asked */
	struct inquiry *asked_inquiry; /* the same of the model's */
	struct inquiry_dialog inquiry;
	struct dialog dialog;
	const struct app_question *asked_choice; /* the program's own */
	struct choice_dialog choice;
	int64_t opened; /* clock_ms() when the dialog was */
	bool focused;   /* an arrow key has moved the focus to it */
	struct live_notify notify;

	bool unopened; /* the opening was stopped: the next job opens first */
	bool stopping; /* Ctrl-C or Esc has cancelled the job */
	bool refused;  /* ... since the user said no to a call */
	bool asks;     /* tools act on this machine: calls are asked about */
	bool armed;    /* one more Ctrl-C leaves */
	bool kitty;    /* the terminal has the keyboard protocol of kitty */
	bool confirms; /* the next key says whether everything is allowed */
	int64_t confirmed_at; /* clock_ms() since when */
	bool lent;            /* the worker has the terminal */
	bool gone;            /* the terminal: nothing can be read from it */
	bool over;            /* the chat ends */
	int status;

	struct buf text;    /* printed, the last line not yet ended */
	struct usage usage; /* of the thread */
	int64_t context;    /* tokens of the last request and its answer */
	unsigned switched;  /* run->switched, as it was seen last */
	/* For the status line; owned. */
	char *model, *place, *directory, *branch;
	int64_t window; /* tokens of the model's context; 0: not known */
	int64_t ends;   /* clock_ms() when the sandbox does; 0: not known */

	/* The worker's: while a job runs nobody else touches them. */
	struct asker asker;
	struct buf told;  /* what the model learns with the next prompt */
	struct buf files; /* of the working directory, a path a line */
	struct error err;
	bool reopens; /* it has been tried to open the run */
	bool left;    /* a slash command has ended the chat */
	bool offers;  /* at the end, a choice of what becomes of the sandbox */
	int failed;   /* exit status of the closing job, 0: it went well */
};

/* live_jobs.c: on the worker's thread; arg is the struct live. */
int live_job_open(void *arg);
int live_job_run(void *arg); /* l->now */
int live_job_close(void *arg);
void live_on_event(void *arg, const struct agent_event *ev);
int live_on_approve(void *arg, struct approval *a, const struct stop *stop,
		    struct error *err);
enum dialog_answer live_ask(void *arg, struct question *q,
			    const struct stop *stop); /* asker.ask */

/* live_commands.c: what slash commands do to the screen. */
/* run.pick; on the worker's thread. */
int live_pick(void *arg, const struct pick *p);
/* Opens the list that a command waits for. */
void live_open_pick(struct live *l, int64_t now);
/* A key while a list is shown. */
void live_on_picker(struct live *l, const struct key_event *ev);
/* Answers the command with -1: its job was stopped. */
void live_drop_pick(struct live *l);
/* A command that need not wait runs at once: true. */
bool live_run_at_once(struct live *l, const char *text);
/* After each command: the run may be another one, or in another thread. */
void live_follow_run(struct live *l);

/* live_done.c: the worker has ended what it was given. */
void live_done(struct live *l);

/* live_queue.c */
/* Sends what was typed, or puts it behind what waits. text is taken over. */
void live_submit(struct live *l, char *text);
/* The same for what may come from a pipe: it is never a command. */
void live_submit_prompt(struct live *l, const char *text);
/* Model, sandbox and setup, again where that was stopped. */
void live_open(struct live *l);
/* Begins the next job when nothing runs. */
void live_next(struct live *l);
void live_take_next(struct live *l); /* the first that waits, into now */
void live_ask_cap(struct live *l);   /* begins JOB_CAP */
/* live_cap.c: asks in time, and ends the chat where that was in vain. */
int64_t live_cap_at(const struct live *l); /* clock_ms() when it is to look */
void live_watch_cap(struct live *l);
void live_end_at_cap(struct live *l);
/* Lists the files for completion when nothing runs; arg is the struct live. */
void live_list_files(void *arg);
void live_list_arguments(void *arg, struct str command);
/* The newest message that waits, into the editor; false: none does. */
bool live_take_back(struct live *l);
/* Cancels what runs. */
void live_stop_job(struct live *l);

/* live_status.c: what the status line says, before there is a run, of one that
 * is open, and after each turn. */
void live_status_begin(struct live *l);
void live_status_opened(struct live *l);
void live_status_refresh(struct live *l);
void live_status_release(struct live *l);
void live_status_add(const struct live *l, struct rows *out);
/* clock_ms() when the line changes by itself; INT64_MAX: it does not. */
int64_t live_status_changes_at(const struct live *l);

/* live_wait.c */
void live_set_wait(struct live *l, const char *what);
/* Whole lines that the program has printed name the step that it is at. */
void live_follow_lines(struct live *l, struct str lines);
/* "x waiting for the model  12 s, Esc stops it", while something is waited for;
 * in place of its name a line that is not ended, as one of progress. */
void live_add_wait(const struct live *l, struct rows *out);
int64_t live_wait_moves_at(const struct live *l);

/* live_notify.c */
void live_notify_load(struct live *l);
void live_notify_focus(struct live *l, bool has);
/* A turn has ended. */
void live_notify_turn(struct live *l);
/* Once for each question, at live_notify_at(): clock_ms() or INT64_MAX. */
void live_notify_question(struct live *l, int64_t now);
int64_t live_notify_at(const struct live *l);
/* live_answer.c: what is typed at a question. */
void live_on_answer(struct live *l, const struct key_event *ev);
void live_withdraw_question(struct live *l); /* what asked was stopped */
/* All of what is asked about, above the live part. */
void live_show_question(struct live *l);
/* app_asker.choose, on the worker's thread; arg is the struct live. */
int live_choose(void *arg, const struct app_question *q, struct error *err);
void live_on_choice(struct live *l, const struct key_event *ev);
void live_drop_choice(struct live *l); /* nobody answers it */

/* live_focus.c: a half-written message never answers a question. */
/* The worker waits for an answer, whether it is shown yet or not. */
bool live_is_asked(const struct live *l);
/* A question is shown. */
bool live_has_question(const struct live *l);
/* Opens what is asked, once nothing has been typed for a while. */
void live_open_question(struct live *l, int64_t now);
/* A message is being written, or looked for in the history. */
bool live_is_drafting(const struct live *l);
/* None is, and none was a moment ago: a single key may mean something. */
bool live_is_left_alone(const struct live *l);
/* Whose the keys are now, for what is shown. */
enum question_keys live_question_keys(const struct live *l);
enum live_key {
	LIVE_KEY_DRAFT,
	LIVE_KEY_QUESTION,
	LIVE_KEY_TAKEN, /* it has moved the focus, and that was all */
};
/* Whose a key is while a question is shown; it may move the focus. */
enum live_key live_key_is_for(struct live *l, const struct key_event *ev);

/* live_inquiry.c: what the model asks; agent_ui.ask, on the worker's thread. */
int live_inquire(void *arg, struct inquiry *q, enum inquiry_end *end,
		 const struct stop *stop, struct error *err);
void live_open_inquiry(struct live *l, int64_t now);
void live_on_inquiry(struct live *l, const struct key_event *ev);
/* Answers the model's tool that the turn was stopped. */
void live_drop_inquiry(struct live *l);

/* live_keys.c: what is typed. */
void live_on_key(void *arg, const struct key_event *ev);

/* live_draw.c */
/* What was printed and said becomes rows above the live part. */
void live_print(struct live *l);
/* The result of a command of the user's own, which is not folded. */
void live_show_own(struct live *l, const struct agent_event *ev);
/* Rows, wrapped, and a line of the chat's own among them. */
void live_print_rows(struct live *l, const struct rows *rows);
void live_say(struct live *l, struct style style, const char *text);
void live_draw(struct live *l);
/* When the live part has to change by itself; INT64_MAX: it stands still. */
int64_t live_redraw_at(const struct live *l);

/* The terminal as it is without a screen; screen_resume() brings it back. What
 * the program prints meanwhile is shown then. */
void live_leave_screen(struct live *l);
/* The same for code that asks there itself: what is printed reaches it. */
void live_suspend(struct live *l);
void live_resume(struct live *l);

#endif

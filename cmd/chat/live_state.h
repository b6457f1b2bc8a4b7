/* live_state.h - the chat with a screen: its state, and doors between rooms. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_LIVE_STATE_H
#define CMD_CHAT_LIVE_STATE_H

/*
 * live.c has the loop. Below it, each calling only those behind it:
 * live_keys.c (what keys do), live_jobs.c (what runs and what waits),
 * live_question.c (questions and answers), live_screen.c (what is drawn). They
 * share struct live, which belongs to the screen's thread but for its last
 * part, the worker's.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmd/chat/ask.h"
#include "cmd/chat/ask_screen.h"
#include "cmd/chat/message.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/chat/worker.h"
#include "cmd/manual.h"
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

/* Standard output and error lead into a pipe, so that a line that any code
 * prints becomes rows above the live part instead of breaking it. */
struct printed {
	int real[2]; /* standard output and error as they were */
	int fd;      /* the pipe's end for reading, to poll; -1: not open */
	int in;      /* its other end */
};

/* A message that is sent while the sandbox is being made. */
struct live_ahead {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool listens;   /* the worker takes a message; under the lock */
	bool sent;      /* it has taken live.now; the same */
	char step[128]; /* then: what the sandbox is waited for */
};

/* Whether, and when, a user who looks elsewhere is called. */
enum live_focus {
	LIVE_FOCUS_UNKNOWN, /* the terminal has not told */
	LIVE_FOCUS_HERE,
	LIVE_FOCUS_ELSEWHERE,
};

struct live_notify {
	enum notify_way way;
	enum live_focus focus;
	int64_t after_ms; /* without a key */
	int64_t rang;     /* for the question that was opened then */
};

/* A message that waits in the queue. */
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

/* live_jobs.c: what runs, and what waits its turn. */
/* Sends what was typed, or puts it behind what waits. text is taken over. */
void live_submit(struct live *l, char *text);
/* The same for what may come from a pipe: it is never a command. */
void live_submit_prompt(struct live *l, const char *text);
/* Model, sandbox and setup, again where that was stopped. */
void live_open(struct live *l);
/* Begins the next job when nothing runs. */
void live_next(struct live *l);
/* The worker has ended what it was given. */
void live_done(struct live *l);
/* Cancels what runs. */
void live_stop_job(struct live *l);
/* The newest message that waits, into the editor; false: none does. */
bool live_take_back(struct live *l);
/* Lists the files for completion when nothing runs; arg is the struct live. */
void live_list_files(void *arg);
void live_list_arguments(void *arg, struct str command);
/* While the run is opened: sends the first message that waits, where it needs
 * no sandbox. */
void live_send_ahead(struct live *l);
/* run.came and run.opened; arg is the struct live. */
void live_on_came(void *arg);
int live_on_opened(void *arg, struct error *err);
/* The sandbox is there: the turn of what was sent goes on. */
void live_go_on(struct live *l);
/* Asks in time whether the sandbox may cost more, and ends the chat where that
 * was in vain; clock_ms() when it is to look. */
int64_t live_cap_at(const struct live *l);
void live_watch_cap(struct live *l);
/* On the worker's thread; arg is the struct live. */
int live_job_close(void *arg);
void live_on_event(void *arg, const struct agent_event *ev);
int live_on_approve(void *arg, struct approval *a, const struct stop *stop,
		    struct error *err);
enum dialog_answer live_ask(void *arg, struct question *q,
			    const struct stop *stop); /* asker.ask */
int live_pick(void *arg, const struct pick *p);       /* run.pick */
/* Opens the list that a command waits for. */
void live_open_pick(struct live *l, int64_t now);
/* A key while a list is shown. */
void live_on_picker(struct live *l, const struct key_event *ev);
/* run.on_job_end; arg is the struct live, whose queue outlives the run. */
void live_on_job_end(void *arg);
/* A line for each that has ended, once. While the worker has a job it waits:
 * the model may be told first. */
void live_show_ended(struct live *l);

/* live_keys.c: what keys do. */
/* key_sink.event; arg is the struct live. */
void live_on_key(void *arg, const struct key_event *ev);
/* Opens what is asked, once nothing has been typed for a while. */
void live_open_question(struct live *l, int64_t now);

/* live_question.c: questions, and answers to them. */
/* One key at the question that is shown. */
void live_answer_call(struct live *l, const struct key_event *ev);
void live_answer_choice(struct live *l, const struct key_event *ev);
void live_answer_inquiry(struct live *l, const struct key_event *ev);
/* Prints all of the calls that are asked about above the live part. */
void live_show_question(struct live *l);
void live_open_inquiry(struct live *l, int64_t now);
void live_withdraw_question(struct live *l); /* what asked was stopped */
/* app_asker.choose, on the worker's thread; arg is the struct live. */
int live_choose(void *arg, const struct app_question *q, struct error *err);
void live_drop_choice(struct live *l); /* nobody answers it */
/* What the model asks; agent_ui.ask, on the worker's thread. */
int live_inquire(void *arg, struct inquiry *q, enum inquiry_end *end,
		 const struct stop *stop, struct error *err);
/* Answers the model's tool that the turn was stopped. */
void live_drop_inquiry(struct live *l);
void live_notify_load(struct live *l);
/* A turn has ended. */
void live_notify_turn(struct live *l);
/* Once for each question, at live_notify_at(): clock_ms() or INT64_MAX. */
void live_notify_question(struct live *l, int64_t now);
int64_t live_notify_at(const struct live *l);

/* live_screen.c: what is shown, and whose the keys are. */
/* The worker waits for an answer, whether it is shown yet or not. */
bool live_is_asked(const struct live *l);
/* A question is shown. */
bool live_has_question(const struct live *l);
/* A message is being written, or looked for in the history. */
bool live_is_drafting(const struct live *l);
/* Nothing is being written, and nothing was a moment ago: a single key may be
 * an answer. */
bool live_is_left_alone(const struct live *l);
/* Who gets the keys now. */
enum question_keys live_question_keys(const struct live *l);
/* Moves printed text and finished rows above the live part. */
void live_print(struct live *l);
/* The result of a command of the user's own, which is not folded. */
void live_show_own(struct live *l, const struct agent_event *ev);
void live_say(struct live *l, struct style style, const char *text);
void live_draw(struct live *l);
/* When the live part has to change by itself; INT64_MAX: it stands still. */
int64_t live_redraw_at(const struct live *l);
/* Sets the progress line. */
void live_set_wait(struct live *l, const char *what);
/* Fill the status line: before the run is open, when it is, and after each
 * turn. */
void live_status_begin(struct live *l);
void live_status_opened(struct live *l);
void live_status_refresh(struct live *l);
void live_status_release(struct live *l);

int printed_open(struct printed *p, struct error *err);
/* Appends what is there now, without waiting. */
void printed_read(struct printed *p, struct buf *out);
/* The real ones again, for good. A zeroed one is fine. */
void printed_close(struct printed *p);

/* The draft in $VISUAL, $EDITOR or vi. A status other than 0 keeps the draft
 * as it was. */
void elsewhere_edit(struct live *l);
/* The same of any text: see external_edit_text(). */
bool elsewhere_edit_text(struct live *l, struct buf *text);
/* The newest call with all of its output: above the live part, or in $PAGER
 * (less -R) when it is longer than the screen. */
void elsewhere_show_call(struct live *l);
/* The same of a page of the manual, behind the slash command of its name. */
void elsewhere_show_page(struct live *l, const struct manual_page *page);

/* The same for code that asks there itself: what is printed reaches it. */
void live_suspend(struct live *l);
void live_resume(struct live *l);

#endif

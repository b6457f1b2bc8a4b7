/* live_impl.h - what the parts of the chat with a screen share; not for
 * others. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_LIVE_IMPL_H
#define CMD_CHAT_LIVE_IMPL_H

#include "cmd/chat/dialog.h"
#include "cmd/chat/grants.h"
#include "cmd/chat/live.h"
#include "cmd/chat/message.h"
#include "cmd/chat/printed.h"
#include "cmd/chat/worker.h"
#include "editor/complete.h"
#include "editor/editor.h"
#include "editor/prompt_history.h"
#include "editor/selection_list.h"
#include "term/keys.h"
#include "term/screen.h"
#include "term/theme.h"
#include "ui/status.h"
#include "ui/transcript.h"

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
	JOB_FILES, /* lists them, for completion */
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
	struct completer completer;
	struct fuzzy_item *commands; /* owned: the slash commands */
	bool lists_files;            /* completion asks for them */
	struct selection_list picker;
	struct fuzzy_item *found; /* owned: what is picked from */
	bool picking;
	struct transcript transcript;
	struct rows live; /* the live part, as it was drawn */

	enum live_state state;
	struct waiting *queue; /* owned; the first is the next */
	size_t n_queue;
	bool held;          /* the queue waits for Enter: a turn was stopped */
	struct waiting now; /* the job that runs */
	char wait[64];      /* what is waited for */
	int64_t since;      /* clock_ms() when it began */
	int64_t typed;      /* clock_ms() of the last key */
	size_t calls;       /* tools that run */

	struct approval *asked; /* its question is shown, or soon is */
	struct dialog dialog;
	int64_t opened; /* clock_ms() when the dialog was */

	bool stopping; /* Ctrl-C or Esc has cancelled the job */
	bool refused;  /* ... since the user said no to a call */
	bool asks;     /* tools act on this machine: calls are asked about */
	bool armed;    /* one more Ctrl-C leaves */
	bool kitty;    /* the terminal has the keyboard protocol of kitty */
	bool confirms; /* the next key says whether everything is allowed */
	bool acknowledged; /* ... and it was, once */
	bool lent;         /* the worker has the terminal */
	bool gone;         /* the terminal: nothing can be read from it */
	bool over;         /* the chat ends */
	int status;

	struct buf text;    /* printed, the last line not yet ended */
	struct usage usage; /* of the thread */
	int64_t context;    /* tokens of the last request and its answer */
	char *model, *place, *branch; /* for the status line; owned */

	/* The worker's: while a job runs nobody else touches them. */
	struct grants grants;
	struct buf told;  /* what the model learns with the next prompt */
	struct buf files; /* of the working directory, a path a line */
	struct error err;
	bool left;   /* a slash command has ended the chat */
	bool offers; /* at the end, a choice of what becomes of the sandbox */
	int failed;  /* exit status of the closing job, 0: it went well */
	struct app_chat here; /* for slash commands */
};

/* live_jobs.c: on the worker's thread; arg is the struct live. */
int live_job_open(void *arg);
int live_job_run(void *arg); /* l->now */
int live_job_close(void *arg);
void live_on_event(void *arg, const struct agent_event *ev);
int live_on_approve(void *arg, struct approval *a, const struct stop *stop,
		    struct error *err);

/* live_queue.c */
/* Sends what was typed, or puts it behind what waits. text is taken over. */
void live_submit(struct live *l, char *text);
/* The same for what may come from a pipe: it is never a command. */
void live_submit_prompt(struct live *l, const char *text);
/* Begins the next job when nothing runs. */
void live_next(struct live *l);
/* Lists the files for completion when nothing runs; arg is the struct live. */
void live_list_files(void *arg);
/* The newest message that waits, into the editor; false: none does. */
bool live_take_back(struct live *l);
/* Cancels what runs. */
void live_stop_job(struct live *l);
void live_set_wait(struct live *l, const char *what);

/* live_keys.c: what is typed. */
void live_on_key(void *arg, const struct key_event *ev);

/* live_draw.c */
/* What was printed and said becomes rows above the live part. */
void live_print(struct live *l);
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

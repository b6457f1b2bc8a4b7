/* live_state.h - the chat with a screen: its state and shared functions. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_LIVE_STATE_H
#define CMD_CHAT_LIVE_STATE_H

/*
 * live.c has the loop. It calls the files below, and each of them calls only
 * those that follow: live_keys.c (keys), live_jobs.c (jobs, and messages into
 * the running turn), live_question.c (questions and answers), live_screen.c
 * (drawing), live_queue.c (which messages steer). They share struct live. It
 * belongs to the screen's thread, except for its last part, which belongs to
 * the worker. The types of its parts are in live_parts.h.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cmd/chat/ask.h"
#include "cmd/chat/ask_inquiry.h"
#include "cmd/chat/ask_screen.h"
#include "cmd/chat/call_menu.h"
#include "cmd/chat/live_parts.h"
#include "cmd/chat/message.h"
#include "cmd/chat/side_job.h"
#include "cmd/chat/slash_cmd.h"
#include "cmd/chat/worker.h"
#include "cmd/manual.h"
#include "editor/choices.h"
#include "editor/editor.h"
#include "editor/history_search.h"
#include "editor/key_help.h"
#include "editor/paste_burst.h"
#include "editor/prompt_history.h"
#include "editor/vi.h"
#include "term/keys.h"
#include "term/screen.h"
#include "term/theme.h"
#include "ui/progress/turn.h"
#include "ui/status.h"
#include "ui/transcript.h"

struct live {
	struct run *run;
	struct eventq *events;
	struct worker worker;
	struct printed printed;
	struct theme theme;
	struct screen screen;
	struct key_reader keys;
	struct paste_burst burst;
	struct editor editor;
	struct vi vi;   /* the keys of vi for the editor */
	char prompt[8]; /* the editor's prompt */
	struct prompt_history history;
	struct history_search search;
	struct completer completer;
	struct fuzzy_item *commands; /* owned: the slash commands */
	bool lists_files;            /* completion needs the list of files */
	struct side_job *listing;    /* lists them; or NULL */
	bool lists_ignored;          /* it lists files that git ignores, too */
	char *lists_arguments; /* owned: completion needs the arguments of this
				  command; or NULL */
	struct selection_list picker;
	const struct pick *asked_pick; /* the list that a command asked for;
					  shown now or soon */
	bool picking;
	struct transcript transcript;
	struct call_menu calls_menu; /* Ctrl+O */
	struct rows live;            /* the live part as last drawn */

	enum live_state state;
	struct waiting *queue; /* owned; in the order of sending */
	size_t n_queue;
	unsigned numbered; /* waiting.number of the newest message */
	struct live_steering steering;
	bool held;          /* a turn was stopped: the queue waits for Enter */
	struct waiting now; /* the running job */
	struct live_ahead ahead;
	char wait[128];     /* text of the progress row */
	int64_t since;      /* clock_ms() when the step in wait began */
	int64_t retries_at; /* clock_ms() of the next retry of the model; 0:
			       none */
	int64_t began;      /* clock_ms() when the job began */
	int64_t typed;      /* clock_ms() of the last key */
	int64_t drafted; /* clock_ms() of the last key that changed the draft */
	int64_t sent;    /* clock_ms() of the key that sent the last message */
	struct turn turn; /* numbers of the job, if it is a message */

	struct question *asked; /* question about calls; shown now or soon */
	int64_t asked_at;       /* clock_ms() when the worker asked */
	struct inquiry *asked_inquiry; /* question of the model */
	struct inquiry_dialog inquiry;
	struct dialog dialog;
	const struct app_question *asked_choice; /* question of dcode itself */
	struct choice_dialog choice;
	int64_t opened; /* clock_ms() when the dialog was opened */
	bool focused;   /* an arrow key has moved the focus to the question */
	struct live_letter letter;
	struct live_notify notify;

	bool unopened; /* the opening was stopped: the next job opens the run
			  first */
	bool stopping; /* Ctrl-C or Esc has cancelled the job */
	bool refused;  /* the job was cancelled because the user declined a call
			*/
	bool asks;   /* calls are asked about, because tools act on this machine
		      */
	bool armed;  /* one more Ctrl-C leaves the chat */
	bool leaves; /* Ctrl+D, Ctrl-C or /quit, once more, leaves in spite of
			a queue */
	bool helps;  /* "?" at an empty prompt shows the keys */
	bool kitty;  /* the terminal supports kitty's keyboard protocol */
	const char *note;     /* what the last key did not do, and why; or
				 NULL */
	bool confirms;        /* the next key confirms or declines yolo mode */
	bool rewinds;         /* one more Esc lists the prompts to go back to */
	int64_t confirmed_at; /* clock_ms() when the question about yolo mode
				 was opened */
	bool lent;            /* the worker is using the terminal */
	bool gone; /* the terminal is gone: nothing can be read from it */
	bool over; /* the chat is ending */
	int status;

	struct buf text; /* captured output; its last line may be unfinished */
	struct usage usage; /* usage of the whole thread */
	int64_t context;    /* tokens of the last request and its answer */
	unsigned switched;  /* run->switched when it was last checked */
	/* Texts of the status line; owned. */
	struct status_order status_order;
	struct side_job *clipboard; /* reads it for Ctrl+V; or NULL */
	char *model, *place, *directory, *branch;
	int64_t window; /* the model's context window in tokens; 0: unknown */
	int64_t ends;   /* clock_ms() when the sandbox expires; 0: unknown */

	/* Private to the worker: while a job runs, no other thread may use
	 * these. */
	struct asker asker;
	struct buf told; /* text that the model gets with the next prompt */
	struct buf arguments; /* result of the last JOB_ARGUMENTS, one per line
			       */
	struct error err;
	/* the sandbox is created when something needs it, see run_is_late(); a
	 * copy for the screen's thread */
	bool late;
	bool reopens; /* opening the run has been attempted before */
	/* the last opening was interrupted, and the message that was sent
	 * meanwhile is in the queue again */
	bool returned;
	bool left;   /* a slash command ended the chat */
	bool offers; /* at the end, ask what to do with the sandbox */
	bool stays;  /* at the end, the user returned to the chat */
	int failed;  /* exit status of the closing job; 0: success */
};

/* Returns the meter. While the opening job runs, it may be creating it: NULL.
 */
static inline struct meter *live_meter(const struct live *l)
{
	return l->state == LIVE_OPENING ? NULL : l->run->app->meter;
}

/* True if the worker waits for an answer, even if the question is not shown
 * yet. */
static inline bool live_is_asked(const struct live *l)
{
	return l->asked || l->asked_inquiry || l->asked_choice || l->asked_pick;
}

/* True if a question is shown. */
static inline bool live_has_question(const struct live *l)
{
	return l->dialog.asked || l->inquiry.asked || l->choice.asked ||
	       l->picking;
}

/* True while a message is being written or the history is searched. */
static inline bool live_is_drafting(const struct live *l)
{
	return !editor_is_empty(&l->editor) || l->search.on || l->calls_menu.on;
}

/* Returns when single keys may answer again, as clock_ms(). */
static inline int64_t live_pause_ends(const struct live *l)
{
	return l->drafted + LIVE_DRAFT_MS;
}

/* live_jobs.c: jobs and the queue. */
/* Sends text, or appends it to the queue. Takes ownership of text. later: a
 * message waits for the end of the running turn. */
void live_submit(struct live *l, char *text, bool later);
/* Like live_submit() for text that may come from a pipe: it is never run as a
 * command. */
void live_submit_prompt(struct live *l, const char *text);
/* Starts the job that opens model, sandbox and setup; also after an interrupted
 * attempt. */
void live_open(struct live *l);
/* Starts the next queued job if none is running. */
void live_next(struct live *l);
/* Call when the worker's job has ended. */
void live_done(struct live *l);
/* Cancels the running job. */
void live_stop_job(struct live *l);
/* Moves the newest queued message into the editor. Returns false if the queue
 * is empty. */
bool live_take_back(struct live *l);
/* Leaves the chat. If messages are queued, only when called a second time. */
void live_leave(struct live *l);
/* Prints the messages that were not sent, at the end of the chat. */
void live_say_unsent(struct live *l);
/* Lists the files for completion, also while a turn runs; arg is the struct
 * live. */
void live_list_files(void *arg);
void live_list_arguments(void *arg, struct str command);
/* While the run is being opened: sends the first queued message if it does not
 * need the sandbox. */
void live_send_ahead(struct live *l);
/* Implements run.came and run.opened; arg is the struct live. */
void live_on_came(void *arg);
int live_on_opened(void *arg, struct error *err);
/* Call when the sandbox exists while a message that was sent ahead is running:
 * its turn continues as a normal job. */
void live_go_on(struct live *l);
/* live_watch_cap() asks whether the sandbox may cost more before the cap is
 * reached, and ends the chat if nobody answers. live_cap_at() returns when to
 * call it, as clock_ms(). */
int64_t live_cap_at(const struct live *l);
void live_watch_cap(struct live *l);
/* Closes the run, on the worker's thread; arg is the struct live. With offers
 * only asks before, and sets stays. */
int live_job_close(void *arg);
void live_on_event(void *arg, const struct agent_event *ev);
int live_on_approve(void *arg, struct approval *a, const struct stop *stop,
		    struct error *err);
enum dialog_answer live_ask(void *arg, struct question *q,
			    const struct stop *stop); /* asker.ask */
int live_pick(void *arg, const struct pick *p);       /* run.pick */
/* Opens the list that a command is waiting for. */
void live_open_pick(struct live *l, int64_t now);
/* Handles a key while a list is shown. */
void live_on_picker(struct live *l, const struct key_event *ev);
/* Implements run.on_job_end; arg is the struct live, whose queue outlives the
 * run. */
void live_on_job_end(void *arg);
/* Prints one line for each background job that has ended. Does nothing while
 * the worker has a job, since the model may have to be told first. */
void live_show_ended(struct live *l);

/* Answers NOTICE_STEERING, and NOTICE_STEERED (prepared), which shows the
 * message that was handed over. */
void live_hand_over(struct live *l, bool prepared);
/* Returns run.steering for this chat. */
struct agent_steering live_steering_of(struct live *l);

/* live_queue.c: which of the waiting messages steer. */
/* True if a turn runs that can take messages. */
bool live_queue_can_steer(const struct live *l);
/* True if message i is sent into the running turn. */
bool live_queue_steers(const struct live *l, size_t i);

/* live_keys.c: the effect of keys. */
/* Implements key_sink.event; arg is the struct live. */
void live_on_key(void *arg, const struct key_event *ev);
/* Call in each round of the loop. Shows a pending question if nothing was typed
 * for LIVE_QUIET_MS. Lets a letter answer at live.letter.at. */
void live_update_question(struct live *l, int64_t now);

/* live_question.c: questions, and answers to them. */
/* Handles a key while a question about calls is shown. */
void live_answer_call(struct live *l, const struct key_event *ev);
void live_answer_choice(struct live *l, const struct key_event *ev);
void live_answer_inquiry(struct live *l, const struct key_event *ev);
/* Shows the question that the worker waits for: live.asked, asked_inquiry or
 * asked_choice. */
void live_open_dialog(struct live *l);
/* The worker no longer needs an answer, for example because its turn was
 * stopped. which: one of the three questions; NULL: each of them. */
void live_drop_question(struct live *l, const void *which);
/* Implements app_asker.choose, on the worker's thread; arg is the struct live.
 */
int live_choose(void *arg, const struct app_question *q, struct error *err);
/* Implements agent_ui.ask for the model's questions, on the worker's thread. */
int live_inquire(void *arg, struct inquiry *q, enum inquiry_end *end,
		 const struct stop *stop, struct error *err);
void live_notify_load(struct live *l);
/* Notifies a user who is away that a turn has ended. */
void live_notify_turn(struct live *l);
/* Notifies once for each question. Call at live_notify_at(), a clock_ms() time
 * or INT64_MAX. */
void live_notify_question(struct live *l, int64_t now);
int64_t live_notify_at(const struct live *l);

/* live_screen.c: drawing, and who gets the keys. */
/* True if no message is being written or was a moment ago: a single key may be
 * an answer. */
bool live_is_left_alone(const struct live *l);
/* Returns who gets the keys now. */
enum question_keys live_question_keys(const struct live *l);
/* Moves captured output and finished rows above the live part. */
void live_print(struct live *l);
void live_say(struct live *l, struct style style, const char *text);
void live_draw(struct live *l);
/* Returns when the live part must change by itself, as clock_ms(); INT64_MAX:
 * never. */
int64_t live_redraw_at(const struct live *l);
/* Sets the progress line. */
void live_set_wait(struct live *l, const char *what);
/* Update the status line: before the run is open, once it is, and after each
 * turn. */
void live_status_begin(struct live *l);
void live_status_opened(struct live *l);
void live_status_refresh(struct live *l);
void live_status_release(struct live *l);

int printed_open(struct printed *p, struct error *err);
/* Appends the output available now, without waiting. */
void printed_read(struct printed *p, struct buf *out);
/* Restores the original output streams for good. p may be zeroed. */
void printed_close(struct printed *p);

/* Opens the draft in $VISUAL, $EDITOR or vi. If the editor exits with a status
 * other than 0, the draft is unchanged. */
void elsewhere_edit(struct live *l);
/* Opens a text in the user's own editor; see external_edit_text(). */
bool elsewhere_edit_text(struct live *l, struct buf *text);
/* Shows rows in $PAGER (less -R), so that they do not stay in the scrollback;
 * above the live part if there is no pager. Closes the last row. */
void elsewhere_show_rows(struct live *l, struct rows *rows);
/* Shows a manual page, after the usage of the slash command of that name: above
 * the live part, or in the pager if it is longer than the screen. */
void elsewhere_show_page(struct live *l, const struct manual_page *page);

/* Suspends the screen for code that uses the terminal itself. Its output goes
 * to the terminal directly. */
void live_suspend(struct live *l);
void live_resume(struct live *l);

#endif

/* worker.h - the chat's second thread, for the agent and all that blocks. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_WORKER_H
#define CMD_CHAT_WORKER_H

#include <pthread.h>

#include "base/stop.h"
#include "ui/eventq.h"

/* Notices from the worker to the loop, in the event queue. worker_answer()
 * answers those that need it. */
enum worker_notice {
	NOTICE_DONE = 1,  /* the job has ended */
	NOTICE_QUESTION,  /* arg: struct approval; needs an answer */
	NOTICE_WITHDRAWN, /* that question is cancelled: answer it if it is open
			   */
	NOTICE_INQUIRY,   /* arg: struct inquiry; needs an answer */
	NOTICE_CHOICE,    /* arg: const struct app_question; needs an answer */
	NOTICE_PICK,      /* arg: const struct pick; needs an answer */
	NOTICE_LISTENS,   /* a message may be sent while the run is being opened
			   */
	NOTICE_OPENED,    /* the run's sandbox exists; needs an answer */
	NOTICE_STEERING,  /* a message for the running turn may be queued; needs
			     an answer */
	NOTICE_STEERED,   /* that message was prepared: show it; needs an answer
			   */
	NOTICE_BORROW,    /* needs the terminal; worker_answer() lends it */
	NOTICE_RETURN, /* returns the terminal; worker_answer() takes it back */
	NOTICE_SHOWN,  /* the answer: all events before it are on the screen */
	NOTICE_JOB,    /* a command in the background has ended */
	NOTICE_SIDE_JOB, /* a struct side_job has ended */
};

struct worker {                /* initialise with events set, the rest zeroed */
	struct eventq *events; /* borrowed */
	/* private */
	pthread_t thread;
	pthread_mutex_t turn; /* held by the thread that asks or has the
				 terminal; recursive */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int (*run)(void *arg); /* the current job; NULL: none */
	void *arg;
	int result;    /* result of the last job */
	bool quits;    /* no more jobs will follow */
	bool answered; /* the pending question has an answer */
	int answer;
	int borrowed; /* nesting depth of worker_borrow_terminal() */
};

/* Call on the loop's thread. The worker blocks all signals, so that the loop's
 * thread gets them. */
int worker_start(struct worker *w, struct error *err);
/* Starts a job. The previous one must have ended (NOTICE_DONE). */
void worker_run(struct worker *w, int (*run)(void *arg), void *arg);
void worker_answer(struct worker *w, int answer);
/* Waits until the job and the thread have ended. */
void worker_stop(struct worker *w);

/* Call on the worker's thread or on one of its tools' threads. Waits for the
 * answer, which always arrives. Only one thread at a time can ask or borrow the
 * terminal. If stop ends the wait, the question is withdrawn. */
int worker_ask(struct worker *w, void *question, const struct stop *stop);
/* Asks the model's questions. Returns an enum inquiry_end, or -1 if stopped. */
int worker_inquire(struct worker *w, struct inquiry *q);
/* Asks a question of dcode itself and returns the index of the answer, or -1. A
 * borrowed terminal is returned first. */
int worker_choose(struct worker *w, const void *question,
		  const struct stop *stop);
/* Lets the user choose from a list. Returns the index passed to
 * worker_answer(), or -1. */
int worker_pick(struct worker *w, const void *pick);
/* Asks for a message of the user for the running turn. True if the loop has
 * handed one over. */
bool worker_steer(struct worker *w);
/* Sends NOTICE_OPENED, NOTICE_STEERED or NOTICE_SHOWN, and waits until the loop
 * has handled it.
 */
void worker_tell(struct worker *w, enum worker_notice notice);
/* Suspends the screen for code that uses the terminal itself, until
 * worker_return_terminal() was called as often. arg is the worker. */
void worker_borrow_terminal(void *arg);
void worker_return_terminal(void *arg);

#endif

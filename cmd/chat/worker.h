/* worker.h - the chat's second thread: the agent's, and of all that waits. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_WORKER_H
#define CMD_CHAT_WORKER_H

#include <pthread.h>

#include "base/stop.h"
#include "ui/eventq.h"

/* Notices from the worker to the loop, in the event queue. */
enum worker_notice {
	NOTICE_DONE = 1,  /* the job has ended */
	NOTICE_QUESTION,  /* arg: struct approval; worker_answer() */
	NOTICE_WITHDRAWN, /* of such a question: answer it, if it is open */
	NOTICE_INQUIRY,   /* arg: struct inquiry; worker_answer() */
	NOTICE_CHOICE,    /* arg: const struct app_question; worker_answer() */
	NOTICE_PICK,      /* arg: const struct pick; worker_answer() */
	NOTICE_LISTENS,   /* a message may be sent while the run is opened */
	NOTICE_OPENED,    /* its sandbox is there; worker_answer() */
	NOTICE_BORROW,    /* wants the terminal; worker_answer() lends it */
	NOTICE_RETURN,    /* gives it back; worker_answer() takes it */
	NOTICE_JOB,       /* a command in the background has ended */
};

struct worker {                /* zeroed; the queue set */
	struct eventq *events; /* borrowed */
	/* its own */
	pthread_t thread;
	pthread_mutex_t turn; /* of who asks, or has the terminal: recursive */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int (*run)(void *arg); /* the job, NULL: none */
	void *arg;
	int result;    /* of the last job */
	bool quits;    /* there will be no more jobs */
	bool answered; /* what it waits for */
	int answer;
	int borrowed; /* how often, one within the other */
};

/* On the loop's thread. The worker takes no signals: they reach the loop. */
int worker_start(struct worker *w, struct error *err);
/* Begins a job; the one before has ended (NOTICE_DONE, then its result). */
void worker_run(struct worker *w, int (*run)(void *arg), void *arg);
void worker_answer(struct worker *w, int answer);
/* Waits for the end of the job and of the thread. */
void worker_stop(struct worker *w);

/* On the worker's thread, or one of its tools': waits for the answer, which
 * always comes. Of several threads that ask, or borrow the terminal, one does
 * so at a time. When stop ends it, the question is withdrawn. */
int worker_ask(struct worker *w, void *question, const struct stop *stop);
/* The same for what the model asks: enum inquiry_end, or -1: stopped. */
int worker_inquire(struct worker *w, struct inquiry *q);
/* The same for a question of the program's own: the index of the answer, or
 * -1. A terminal that is borrowed is given back for it. */
int worker_choose(struct worker *w, const void *question,
		  const struct stop *stop);
/* The same for a list to choose from: what worker_answer() says, an index or
 * -1. */
int worker_pick(struct worker *w, const void *pick);
/* The same where the message that a run was opened with goes on in it. */
void worker_tell_opened(struct worker *w);
/* The terminal as it is without a screen, until as many calls of the second:
 * for what asks there itself. arg is the worker. */
void worker_borrow_terminal(void *arg);
void worker_return_terminal(void *arg);

#endif

/* worker.c - the chat's second thread, for the agent and all that blocks. */
/* SPDX-License-Identifier: MIT */
#include "cmd/chat/worker.h"

#include <stdio.h>

#include "base/thread.h"

enum { LOOK_MS = 100 /* between checks whether to stop waiting */ };

/* The worker's thread: runs one job after the other. */
static void *run_worker(void *arg)
{
	struct worker *w = arg;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		int result;

		while (!w->run && !w->quits)
			pthread_cond_wait(&w->changed, &w->lock);
		if (!w->run)
			break;
		pthread_mutex_unlock(&w->lock);
		result = w->run(w->arg);
		fflush(stdout);
		pthread_mutex_lock(&w->lock);
		w->result = result;
		w->run = NULL;
		eventq_notify(w->events, NOTICE_DONE, NULL);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int worker_start(struct worker *w, struct error *err)
{
	pthread_mutexattr_t nested;

	pthread_mutexattr_init(&nested);
	pthread_mutexattr_settype(&nested, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&w->turn, &nested);
	pthread_mutexattr_destroy(&nested);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	return thread_start(&w->thread, run_worker, w, err);
}

void worker_run(struct worker *w, int (*run)(void *arg), void *arg)
{
	pthread_mutex_lock(&w->lock);
	w->run = run;
	w->arg = arg;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

void worker_answer(struct worker *w, int answer)
{
	pthread_mutex_lock(&w->lock);
	w->answer = answer;
	w->answered = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

void worker_stop(struct worker *w)
{
	pthread_mutex_lock(&w->lock);
	w->quits = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	pthread_mutex_destroy(&w->turn);
}

/* Sends the notice and waits for its answer. If stop ends the wait, withdraws
 * the question and returns the answer to the withdrawn question. stop may be
 * NULL. */
static int wait_for_answer(struct worker *w, enum worker_notice notice,
			   void *arg, const struct stop *stop)
{
	struct error ignored = { 0 };
	int answer;

	fflush(stdout);
	pthread_mutex_lock(&w->turn);
	pthread_mutex_lock(&w->lock);
	w->answered = false;
	eventq_notify(w->events, (int)notice, arg);
	while (!w->answered && stop) {
		thread_wait(&w->changed, &w->lock, LOOK_MS);
		if (w->answered || stop_check(stop, &ignored) == 0)
			continue;
		eventq_notify(w->events, NOTICE_WITHDRAWN, arg);
		stop = NULL;
	}
	while (!w->answered)
		pthread_cond_wait(&w->changed, &w->lock);
	answer = w->answer;
	pthread_mutex_unlock(&w->lock);
	pthread_mutex_unlock(&w->turn);
	return answer;
}

int worker_ask(struct worker *w, void *question, const struct stop *stop)
{
	return wait_for_answer(w, NOTICE_QUESTION, question, stop);
}

int worker_inquire(struct worker *w, struct inquiry *q)
{
	return wait_for_answer(w, NOTICE_INQUIRY, q, NULL);
}

int worker_choose(struct worker *w, const void *question,
		  const struct stop *stop)
{
	bool lent;
	int answer;

	pthread_mutex_lock(&w->turn);
	lent = w->borrowed > 0;
	if (lent)
		(void)wait_for_answer(w, NOTICE_RETURN, NULL, NULL);
	answer = wait_for_answer(w, NOTICE_CHOICE, (void *)question, stop);
	if (lent)
		(void)wait_for_answer(w, NOTICE_BORROW, NULL, NULL);
	pthread_mutex_unlock(&w->turn);
	return answer;
}

int worker_pick(struct worker *w, const void *pick)
{
	return wait_for_answer(w, NOTICE_PICK, (void *)pick, NULL);
}

void worker_tell(struct worker *w, enum worker_notice notice)
{
	(void)wait_for_answer(w, notice, NULL, NULL);
}

bool worker_steer(struct worker *w)
{
	return wait_for_answer(w, NOTICE_STEERING, NULL, NULL);
}

void worker_borrow_terminal(void *arg)
{
	struct worker *w = arg;

	pthread_mutex_lock(&w->turn); /* held until the terminal is returned */
	if (w->borrowed++ == 0)
		(void)wait_for_answer(w, NOTICE_BORROW, NULL, NULL);
}

void worker_return_terminal(void *arg)
{
	struct worker *w = arg;

	if (--w->borrowed == 0)
		(void)wait_for_answer(w, NOTICE_RETURN, NULL, NULL);
	pthread_mutex_unlock(&w->turn);
}

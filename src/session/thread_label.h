/* thread_label.h - the sandboxes that a thread has had, by their labels. */
/* SPDX-License-Identifier: MIT */
#ifndef SESSION_THREAD_LABEL_H
#define SESSION_THREAD_LABEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct store; /* session/session.h */

struct thread_label { /* strings borrowed for the callback */
	const char *label;
	const char *provider;
	const char *cwd;    /* where the thread was when it last used it */
	const char *branch; /* git's there, or "" */
	const char *thread; /* its id */
};
/* Those of the thread no (0: of any), or one with this label (NULL: all), the
 * last one first. each returns false to stop. A thread keeps them when it goes
 * on with another sandbox. */
int thread_label_each(struct store *s, int64_t no, const char *label,
		      bool (*each)(void *arg, const struct thread_label *l),
		      void *arg, struct error *err);

#endif

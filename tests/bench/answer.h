/* answer.h - canned model answers, as HTTP chunks of server-sent events. */
/* SPDX-License-Identifier: MIT */
#ifndef BENCH_ANSWER_H
#define BENCH_ANSWER_H

#include <stddef.h>

enum wire { WIRE_OPENAI, WIRE_ANTHROPIC };

struct answer {      /* zeroed before, answer_release() after */
	char *bytes; /* the whole HTTP answer, owned */
	size_t len;
	size_t cap;
	size_t *ends; /* offset behind each event, owned */
	size_t n_ends;
};
void answer_text(struct answer *a, enum wire wire, long tokens);
/* calls of execute, the first one with the number id in its name. */
void answer_calls(struct answer *a, enum wire wire, long calls,
		  const char *command, long id);
void answer_release(struct answer *a);

#endif

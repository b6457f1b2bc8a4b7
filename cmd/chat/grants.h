/* grants.h - calls that the user has allowed for the rest of the session. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_CHAT_GRANTS_H
#define CMD_CHAT_GRANTS_H

#include "agent/agent.h"

enum { GRANT_BYTES = 32 };

/* Zeroed: none. A call is the same when tool, every argument and the place
 * where it acts are. One thread. */
struct grants {
	unsigned char (*list)[GRANT_BYTES]; /* owned */
	size_t n, cap;
};

void grants_add(struct grants *g, const struct approval *a);
bool grants_have(const struct grants *g, const struct approval *a);
void grants_release(struct grants *g);

#endif

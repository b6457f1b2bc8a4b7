/* hosts.h - hosts outside the network list that a tool call asks for. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_HOSTS_H
#define CMD_HOSTS_H

#include "base/json.h"
#include "sandbox/sandbox.h"

/* True if the model is told that it can name hosts with a call: the sandbox
 * has, or a new one would get, a list that can be changed while it runs. sb:
 * NULL while another thread creates it. flag: see network_choose(). */
bool hosts_are_offered(struct sandbox_client *client, struct sandbox *sb,
		       const struct network *flag);
/* Reads the hosts of execute's arguments. Returns 1 if some are not in the
 * sandbox's list, with them in opens, one per line; 0 if none are. -1 if the
 * call must be refused, with the text for the model in reason: not a host,
 * denied by the list, beyond the machine's policy. */
int hosts_read(struct sandbox *sb, const cJSON *args, struct buf *opens,
	       struct buf *reason);

#endif

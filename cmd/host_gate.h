/* host_gate.h - asks about a host that a command has tried to reach. */
/* SPDX-License-Identifier: MIT */
#ifndef CMD_HOST_GATE_H
#define CMD_HOST_GATE_H

/*
 * With [network] ask the connection waits in dcode's proxy (egress/egress.h)
 * while the user is asked. The answer opens the host for the command, for the
 * sandbox, or also for later sandboxes of this directory: network.project_hosts
 * in the user's config.toml.
 */
#include <pthread.h>

#include "cmd/app.h"
#include "lifecycle/lifecycle.h"
#include "sandbox/sandbox.h"

struct host_gate { /* initialise with { 0 } */
	struct app *app;
	struct sandbox *sandbox; /* borrowed */
	struct network_gate gate;
	char **never; /* owned: hosts that the user refused for this session */
	size_t n_never;
	unsigned asked_about;            /* command of the last question */
	unsigned in_command, in_session; /* questions */
	bool told;                       /* that there are no more */
	pthread_mutex_t lock;            /* of what follows */
	const struct cancel *asked;      /* ends the open question; or NULL */
	unsigned number;                 /* of the command that it shows */
};
/* Starts to ask about the sandbox's hosts, if the settings say so, and if dcode
 * created the sandbox and its own proxy enforces a list there. g must not move
 * until the sandbox is closed. */
int host_gate_open(struct host_gate *g, struct app *app,
		   struct managed_sandbox *box, struct error *err);
/* Call after a command: withdraws the question about it. */
void host_gate_end_command(struct host_gate *g);
void host_gate_close(struct host_gate *g);

#endif

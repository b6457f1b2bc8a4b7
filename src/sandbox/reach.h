/* reach.h - which hosts a running sandbox may reach, and has reached. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_REACH_H
#define SANDBOX_REACH_H

/*
 * sandbox_create() decides about the hosts of a new sandbox
 * (network/network.h). These functions read and change what one may reach that
 * exists. sb->network is the list that holds between commands; a command may
 * have more hosts while it runs, which every program in the sandbox may reach
 * then.
 */
#include "sandbox/sandbox.h"

/* Asks the vendor for sb->network, unless it is known. */
int reach_read(struct sandbox *sb, const struct stop *stop, struct error *err);
/* After an attach: fails if it may reach more than network_require() says. */
int reach_check_attached(struct sandbox *sb, const struct stop *stop,
			 struct error *err);
/* Lets a running sandbox reach one more host. */
int reach_allow_host(struct sandbox *sb, struct str host,
		     const struct stop *stop, struct error *err);
/* True if the sandbox has a list of hosts that can be changed. */
bool reach_can_open(const struct sandbox *sb);
/* Call before a command. hosts: one per line, which are open until
 * reach_end(); or NULL. command: any address that no other running command
 * has. Fails also if hosts of an earlier command could not be closed. */
int reach_begin(struct sandbox *sb, const char *hosts, const void *command,
		const struct stop *stop, struct error *err);
/* Call after a command: closes its hosts again, also if it was cancelled. */
int reach_end(struct sandbox *sb, const void *command, struct error *err);
/* Calls sandbox_ops.take_contacts. False if the vendor reports nothing. */
bool reach_take_contacts(struct sandbox *sb, struct network_contacts *c);

#endif

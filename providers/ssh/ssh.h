/* ssh.h - declarations shared by the files of the ssh provider. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_SSH_SSH_H
#define PROVIDERS_SSH_SSH_H

#include <pthread.h>

#include "providers/held/held.h"
#include "sandbox/ports/ports.h"

/* dcode runs the user's ssh program with the user's configuration (ssh(1),
 * ssh_config(5) of OpenSSH, read 2026-11-23). A sandbox's id is HOST/LABEL. The
 * id HOST means the host itself, on which no sandbox is created. All sandboxes
 * of a host share one connection. */
enum {
	SSH_HOST = 256, /* bytes, including NUL */
	SSH_LABEL = 32,
};

struct ssh_host { /* a host that a sandbox or a list has asked for */
	char *name;
	struct held *held;
	struct ssh_host *next;
};

struct ssh_client { /* sandbox_client.priv points to it */
	const struct settings *settings;
	const char *host;    /* from the settings, or NULL */
	const char *workdir; /* from the settings, or NULL */
	const char *config;
	const char *isolate; /* "bwrap", "podman", or NULL */
	const char *image;
	char *program;
	int64_t start_ms;     /* limit for a login, in ms */
	pthread_mutex_t lock; /* guards hosts */
	struct ssh_host *hosts;
};

extern const struct sandbox_provider ssh_provider;

/* connect.c */

/* Refuses host names that ssh could take for an option, or that contain special
 * characters of a shell. */
int ssh_check_host(const char *host, struct error *err);
/* Returns the stream to a host. The first call on it starts ssh. */
struct held *ssh_held(struct ssh_client *c, const char *host,
		      struct error *err);
/* Returns a stream, owned by the caller, to a machine that command reaches from
 * the host. command ends in a sh on that machine. far describes that sh; its
 * path, argv, env and name are not used. */
struct held *ssh_stream(const struct ssh_client *c, const char *host,
			const char *command, const struct held_program *far,
			struct error *err);

/* Connects to a port of the host's loopback interface, by `ssh -W` (ssh(1),
 * OpenSSH 9.2, read 2026-11-27). */
int ssh_dial(const struct ssh_client *c, const char *host, unsigned port,
	     struct port_link *link, struct error *err);

/* Runs req->command, a text of sh, on the host: with a terminal (`ssh -tt`), or
 * without one as ports_run_program() does. ERR_NETWORK also if it exits with
 * 255. */
int ssh_run(const struct ssh_client *c, const char *host,
	    const struct exec_request *req, struct exec_result *res,
	    const struct stop *stop, struct error *err);

#endif

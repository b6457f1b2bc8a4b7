/* ssh.h - directories on a host that ssh reaches: what its two rooms share. */
/* SPDX-License-Identifier: MIT */
#ifndef PROVIDERS_SSH_SSH_H
#define PROVIDERS_SSH_SSH_H

#include <pthread.h>

#include "providers/held/held.h"
#include "sandbox/sandbox.h"

/*
 * The program ssh is the user's own, with the user's own configuration
 * (ssh(1), ssh_config(5) of OpenSSH, read 2026-11-23). A sandbox is called
 * HOST/LABEL, or HOST for a host that is used as it is: nothing is made there.
 * All of one host share one connection.
 */
enum {
	SSH_HOST = 256, /* bytes with NUL */
	SSH_LABEL = 32,
};

struct ssh_name {
	char host[SSH_HOST];
	char label[SSH_LABEL]; /* "" : the host itself */
};

struct ssh_host { /* one that was asked for */
	char *name;
	struct held *held;
	struct ssh_host *next;
};

struct ssh_client { /* sandbox_client.priv */
	const struct settings *settings;
	const char *host;    /* of the settings, or NULL */
	const char *workdir; /* the same */
	const char *config;
	const char *isolate; /* "bwrap", "podman", or NULL */
	const char *image;
	char *program;
	int64_t start_ms;     /* for a login */
	pthread_mutex_t lock; /* for hosts */
	struct ssh_host *hosts;
};

struct ssh_box { /* sandbox.priv */
	struct ssh_name name;
	struct held *held;    /* the client's */
	bool offline;         /* its commands have no network */
	pthread_mutex_t lock; /* for jobs */
	/* Of a host as it is: the names of the commands that ran there, with a
	 * space before each. */
	struct buf jobs;
};

extern const struct sandbox_provider ssh_provider;

/* connect.c */

/* Refuses what ssh could take for an option, or a shell for its own. */
int ssh_check_host(const char *host, struct error *err);
/* "HOST/LABEL", "HOST", or "LABEL" on the configured host. */
int ssh_parse_id(const struct ssh_client *c, const char *id,
		 struct ssh_name *name, struct error *err);
/* The stream to a host. Starts nothing: the first call does. */
struct held *ssh_held(struct ssh_client *c, const char *host,
		      struct error *err);
/* The same to a command that ends in another machine's sh: far says of it what
 * it says of a program, but for path, argv, env and name. The caller's. */
struct held *ssh_stream(const struct ssh_client *c, const char *host,
			const char *command, const struct held_program *far,
			struct error *err);

#endif

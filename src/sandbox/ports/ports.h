/* ports.h - TCP ports of a sandbox, reached from the user's machine. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_PORTS_PORTS_H
#define SANDBOX_PORTS_PORTS_H

#include <sys/types.h>

#include "sandbox/sandbox.h"

/*
 * A server in a sandbox listens on a port. A forward (forward.c) is a listener
 * on 127.0.0.1 of the user's machine. For each connection it connects to the
 * server in the way that the provider has (sandbox_ops.dial): through the
 * network namespace, if the sandbox runs on this machine (inside.c), or through
 * a command that copies bytes (relay.c). Or it passes HTTP requests on to an
 * address of the vendor (sandbox_ops.port_url), with the vendor's token, which
 * neither the client nor the user sees. Only the user starts a forward: an
 * agent cannot open a way to the user's machine.
 */

struct relay;
/* A connection that sandbox_ops.dial has made. Initialise with PORT_LINK_NONE.
 * Before the sandbox is released, close the descriptors, then call end. */
struct port_link {
	int fd; /* owned: a connected, non-blocking stream socket */
	/* owned: what the program says about failures; -1: there is none */
	int said;
	/* Ends what copies the bytes, if fd is not the connection itself, else
	 * NULL. May be set after a failure, too. */
	void (*end)(struct port_link *link);
	/* internal */
	struct relay *relay;
	pid_t pid;
};
#define PORT_LINK_NONE ((struct port_link){ .fd = -1, .said = -1 })

/* An address at which the vendor answers for a port, to requests with the token
 * alone. Zero-initialise. All owned. */
struct port_url {
	char *url;   /* https, or http to this machine, without a final slash */
	char *token; /* the whole value of the header */
	const char *header; /* static: name of the header for the token */
	const char *more; /* static: further header lines with CRLF, or NULL */
	int64_t until;    /* clock_ms() at which to ask again; 0: never */
};

/* Enters a network namespace, for a process that ends soon: it must have one
 * thread and cannot return. The namespace's owner is the sandbox's user
 * namespace, which is entered first unless it is this process's own. -1 with
 * errno. */
int ports_enter(int namespace_fd);
/* For providers: connects in the network namespace of the process `inside`.
 * ERR_USAGE if this process may not enter it. */
int ports_dial_inside(pid_t inside, unsigned port, struct port_link *link,
		      const struct stop *stop, struct error *err);
/* For providers with SANDBOX_STDIN: connects through a command. */
int ports_dial_by_command(struct sandbox *sb, unsigned port,
			  struct port_link *link, const struct stop *stop,
			  struct error *err);
/* For providers: connects to the standard streams of a program, which is killed
 * at the end, and when the calling thread ends. path, argv and env as for
 * execve(2). */
int ports_dial_by_program(const char *path, char *const *argv, char *const *env,
			  struct port_link *link, struct error *err);

/* What the first bytes of a connection to a forward are. */
enum ports_greeting {
	GREETING_MORE,    /* not decided yet: read more */
	GREETING_GOOD,    /* not HTTP, or HTTP for this machine */
	GREETING_REFUSED, /* HTTP for another host */
};
/*
 * Attack (DNS rebinding): a page on the user's browser names a host whose
 * address becomes 127.0.0.1, and reads what the forward answers. The browser
 * sends that host's name: only localhost, 127.0.0.1 and [::1] are served.
 */
enum { PORTS_GREETING_MAX = 64 << 10 }; /* a longer head is refused */
enum ports_greeting ports_read_greeting(struct str seen);

struct forward;
/* True if forward_open() can work. */
bool forward_is_possible(const struct sandbox_client *client);
struct forward_request {
	struct sandbox *sandbox; /* borrowed until forward_close() */
	unsigned port;           /* in the sandbox */
	unsigned local;          /* on this machine; 0: port, or a free one */
	/* Called with a line for the user when a connection fails, at most once
	 * a second. On another thread. */
	void (*warn)(void *arg, const char *line);
	void *arg;
};
/* Begins to listen. ERR_BUSY: the local port is in use. */
int forward_open(struct forward **f, const struct forward_request *r,
		 struct error *err);
/* The ports, here and in the sandbox. */
unsigned forward_local(const struct forward *f);
unsigned forward_port(const struct forward *f);
/* The number of connections that are open now. */
unsigned forward_count(struct forward *f);
/* Ends all connections and stops listening. NULL is allowed. */
void forward_close(struct forward *f);

/* Parses "[LOCAL:]PORT"; *local is 0 without LOCAL. */
int forward_parse(const char *text, unsigned *local, unsigned *port,
		  struct error *err);

#endif

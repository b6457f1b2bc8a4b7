/* ports.h - TCP ports of a sandbox, reached from the user's machine. */
/* SPDX-License-Identifier: MIT */
#ifndef SANDBOX_PORTS_PORTS_H
#define SANDBOX_PORTS_PORTS_H

#include <sys/types.h>

#include "sandbox/sandbox.h"

/*
 * A server in a sandbox listens on a port. A forward (forward.c) is a listener
 * on 127.0.0.1 of the user's machine. For each connection it connects to the
 * server in the way that the provider has (port_ops.dial): through the
 * network namespace, if the sandbox runs on this machine (inside.c), or through
 * a command that copies bytes (relay.c). Or it passes HTTP requests on to an
 * address of the vendor (port_ops.url), with the vendor's token, which
 * neither the client nor the user sees. Only the user starts a forward: an
 * agent cannot open a way to the user's machine.
 */

struct relay;
/* A connection that port_ops.dial has made. Initialise with PORT_LINK_NONE.
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

/* An address at which the vendor answers for a port. Zero-initialise, and
 * release with port_url_release(). */
struct port_url {
	/* owned: https, or http to this machine, without a final slash */
	char *url;
	/* owned: the whole value of the header. NULL: the address is public,
	 * so anybody who knows it reaches the port */
	char *token;
	const char *header; /* static: name of the header for the token */
	char *more;         /* owned: further header lines with CRLF, or NULL */
	/* owned: what port_ops.withdraw needs for a public address, or NULL;
	 * safe in a path */
	char *handle;
	int64_t until; /* clock_ms() at which to ask again; 0: never */
};
void port_url_release(struct port_url *u);
/* For providers: true if what a vendor calls the port's host is a host name and
 * nothing more. Attack: an answer with a path or a user name in it would be
 * another address than the one that the user is shown. */
bool port_host_ok(const char *host);
/* For providers: sets the header and its value, prefix and token. ERR_PROTOCOL
 * if the token is missing or cannot be a header's value. header and prefix are
 * static. */
int port_url_set_token(struct port_url *u, const char *header,
		       const char *prefix, const char *token,
		       struct error *err);

/* A provider's ways to a port. NULL means not supported. All block and obey
 * stop. */
struct port_ops {
	/* Connects to a TCP port; ERR_NOT_FOUND: nothing listens there. */
	int (*dial)(struct sandbox *sb, unsigned port, struct port_link *link,
		    const struct stop *stop, struct error *err);
	/* Asks for an address at which the vendor passes on HTTP to a port, for
	 * requests with a token. */
	int (*url)(struct sandbox *sb, unsigned port, struct port_url *u,
		   const struct stop *stop, struct error *err);
	/* Opens a port to anybody who knows the address; u gets no token. Only
	 * ports_ask_url() calls it. */
	int (*publish)(struct sandbox *sb, unsigned port, struct port_url *u,
		       const struct stop *stop, struct error *err);
	/* Closes what publish opened. Returns 1 if it must stay open. NULL: the
	 * vendor cannot. */
	int (*withdraw)(struct sandbox *sb, unsigned port,
			const struct port_url *u, const struct stop *stop,
			struct error *err);
	/* why there is neither dial nor url, and what would help; or NULL */
	const char *why_none;
};

/* Returns the provider's ways to a port, never NULL. */
static inline const struct port_ops *
ports_ops(const struct sandbox_client *client)
{
	static const struct port_ops none;
	const struct port_ops *ops = client->provider->ops->ports;

	return ops ? ops : &none;
}

/*
 * Attack: anybody who learns a public address reaches the server in the
 * sandbox, and addresses leak. So an address is public only if the user asked
 * for that by name (is_public); otherwise it answers to its token alone.
 * ERR_USAGE, with a hint, if the provider has no such address.
 */
int ports_ask_url(struct sandbox *sb, unsigned port, bool is_public,
		  struct port_url *u, const struct stop *stop,
		  struct error *err);
/* Closes a public address. Returns 1 if it works until the sandbox ends,
 * because the vendor cannot close it, or it was open before. */
int ports_close_url(struct sandbox *sb, unsigned port, const struct port_url *u,
		    const struct stop *stop, struct error *err);

/* Enters a network namespace, for a process that ends soon: it must have one
 * thread and cannot return. The namespace's owner is the sandbox's user
 * namespace, which is entered first unless it is this process's own. -1 with
 * errno. */
int ports_enter(int namespace_fd);
/* For providers: connects in the network namespace of the process `inside`.
 * ERR_USAGE if this process may not enter it. */
int ports_dial_inside(pid_t inside, unsigned port, struct port_link *link,
		      const struct stop *stop, struct error *err);
/* sandbox_execute() or the like, with live output and a source. */
typedef int ports_run(struct sandbox *sb, const struct exec_request *req,
		      struct exec_result *res, const struct stop *stop,
		      struct error *err);
/* For providers: connects through a command in the sandbox, which run starts on
 * a thread of its own. */
int ports_dial_by_command(struct sandbox *sb, ports_run *run, unsigned port,
			  struct port_link *link, const struct stop *stop,
			  struct error *err);
/* For providers: connects to the standard streams of a program, which is killed
 * at the end, and when the calling thread ends. path, argv and env as for
 * execve(2). */
int ports_dial_by_program(const char *path, char *const *argv, char *const *env,
			  struct port_link *link, struct error *err);

/* For run of ports_dial_by_command(): runs a program of this machine, whose
 * standard streams carry the request's source and output. program: path, argv
 * and env. It is killed at the end. ERR_NETWORK with what it said if it ends
 * without any output. */
struct proc_spec;
int ports_run_program(const struct proc_spec *program,
		      const struct exec_request *req, const struct stop *stop,
		      struct error *err);

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

/* The TCP ports on which something listens in a sandbox, as far as its commands
 * have reported them: see tree_changes.h. */
struct listeners;
struct listen_note {
	char text[96]; /* "3000 (only on its loopback)", or "" */
};
/* Reads a report "ADDRESS:PORT UID ...", in the hexadecimal form of
 * /proc/net/tcp. It is untrusted: only numbers are used, and few of them.
 * before: what was there before the first command, which is not reported. own:
 * only the listeners of this user; NULL: all. note gets the ports that are new.
 * Thread-safe. */
void listeners_read(struct sandbox *sb, struct str report, bool before,
		    const char *own, struct listen_note *note);
/* True until listeners_read() was called with before. */
bool listeners_are_new(struct sandbox *sb);

struct forward;
/* Fails with ERR_USAGE and a hint if forward_open() cannot work. */
int forward_check(const struct sandbox_client *client, struct error *err);
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
